#!/bin/sh
# demo/run.sh VIEWGATE DIR [--scale 10] [--port 8090]: a private PostgreSQL in DIR, the gateway, pgbench's tables and the page.
exec node "$(dirname "$0")/run.mjs" "$@"
