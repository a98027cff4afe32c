#!/bin/sh
# The client's tests: build, types, units, then the built gateway: the SDK in Node, and the page in a real browser.
# VIEWGATE_BIN: the gateway's program, default build/debug/bin/viewgate. VIEWGATE_SCREENSHOTS: a folder for pictures.
set -eu
cd "$(dirname "$0")"
if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  npm ci --no-audit --no-fund
fi
../../client/build.sh
../../client/react/build.sh
TSC=node_modules/.bin/tsc
"$TSC" --project .
"$TSC" --project ../../gateway/inspector
node_modules/.bin/vitest run unit
node ../../client/pack.mjs
VIEWGATE_PUBLISHED=1 node_modules/.bin/vitest run unit/client unit/writer unit/storage unit/tabs unit/react
node_modules/.bin/vitest run system browser
