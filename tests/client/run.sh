#!/bin/sh
# The client's tests: build, types, units, then the built gateway: the SDK in Node, and the page in a real browser.
# VIEWGATE_BIN: the gateway's program, default build/debug/bin/viewgate. VIEWGATE_SCREENSHOTS: a folder for pictures.
set -eu
cd "$(dirname "$0")"
# The newer React is beside the other one: its react-dom finds it by itself.
for each in . react19; do
  if [ ! -e "$each/node_modules/.package-lock.json" ] || [ "$each/package-lock.json" -nt "$each/node_modules/.package-lock.json" ]; then
    (cd "$each" && npm ci --no-audit --no-fund)
  fi
done
../../client/build.sh
../../client/react/build.sh
TSC=node_modules/.bin/tsc
"$TSC" --project .
"$TSC" --project ../../gateway/inspector
node_modules/.bin/vitest run unit
VIEWGATE_REACT=react19 node_modules/.bin/vitest run unit/react
node ../../client/pack.mjs
VIEWGATE_PUBLISHED=1 node_modules/.bin/vitest run unit/client unit/writer unit/storage unit/abandoned unit/tabs unit/react
node_modules/.bin/vitest run system browser
