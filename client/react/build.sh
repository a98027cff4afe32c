#!/bin/sh
# Builds the hooks (client/react/dist) upon the client that they are for; with the compiler and React's types that tests/client installs.
set -eu
cd "$(dirname "$0")"
# The client's types may be there already, as its sources are now.
if [ ! -e ../dist/index.d.ts ] || [ -n "$(find ../src -newer ../dist/index.d.ts)" ]; then
  ../build.sh
fi
exec ../../tests/client/node_modules/.bin/tsc --project . --ignoreDeprecations 5.0
