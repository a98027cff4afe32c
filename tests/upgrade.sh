#!/usr/bin/env bash
# A build of an earlier version beside this one, on one database: tests/system/upgrade_test.cpp with the older program. The earlier
# version is the newest tag; where there is none yet, the commit that made the ledger's schema what it is now, since a program
# refuses a schema that is not its own. VIEWGATE_UPGRADE_FROM names another. Its sources and its build stay in build/upgrade.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
top=$PWD
jobs=${VIEWGATE_JOBS:-$(nproc)}
if [ -n "${VIEWGATE_UPGRADE_FROM:-}" ]; then
  from=$VIEWGATE_UPGRADE_FROM
  echo "── upgrade: from $from, as asked"
elif from=$(git describe --tags --abbrev=0 2>/dev/null); then
  echo "── upgrade: from the newest tag, $from"
else
  from=$(git log -1 --format=%h -- ledger/sql)
  echo "── upgrade: there is no tag yet: from $from, the commit that made the ledger's schema what it is now"
fi
old=$top/build/upgrade
mkdir -p "$old"
if [ ! -e "$old/src/.git" ]; then git clone -q --no-hardlinks . "$old/src"; fi
git -C "$old/src" fetch -q --tags origin
git -C "$old/src" checkout -q --detach "$(git rev-parse "$from^{commit}")"
export CCACHE_BASEDIR=$old/src CCACHE_NOHASHDIR=1 CCACHE_COMPILERCHECK=content
(cd "$old/src" && cmake --preset debug >"$old/configure.log" 2>&1) || { cat "$old/configure.log"; exit 1; }
ninja -C "$old/src/build/debug" -j "$jobs" viewgate
VIEWGATE_OLDER="$old/src/build/debug/bin/viewgate" "$top/build/debug/bin/test_system_upgrade"
