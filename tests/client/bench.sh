#!/bin/sh
# What the client costs, in one line of JSON. VIEWGATE_BIN: the gateway's program, default build/release/bin/viewgate.
set -eu
cd "$(dirname "$0")"
if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  npm ci --no-audit --no-fund
fi
../../client/build.sh
VIEWGATE_BIN=${VIEWGATE_BIN:-$PWD/../../build/release/bin/viewgate} exec node --expose-gc node_modules/vite-node/vite-node.mjs bench.ts
