#!/bin/sh
# Builds the client (client/dist) and the demo page (demo/dist). Needs a TypeScript compiler: TSC, the one that the tests
# installed, or Debian's node-typescript.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)

if [ -n "${TSC:-}" ]; then
  compiler=$TSC
elif command -v tsc >/dev/null 2>&1; then
  compiler=tsc
elif [ -x "$root/tests/client/node_modules/.bin/tsc" ]; then
  compiler=$root/tests/client/node_modules/.bin/tsc
else
  echo "client/build.sh: no TypeScript compiler found; install node-typescript, or run npm ci in tests/client" >&2
  exit 1
fi

"$compiler" --project "$root/client"
"$compiler" --project "$root/demo"
