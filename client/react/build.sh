#!/bin/sh
# Builds the hooks (client/react/dist) upon the client that they are for; with the compiler and React's types that tests/client installs.
set -eu
cd "$(dirname "$0")"
../build.sh
exec ../../tests/client/node_modules/.bin/tsc --project . --ignoreDeprecations 5.0
