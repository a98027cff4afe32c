#!/usr/bin/env bash
# Both commands of the README on a Debian 12 that has nothing: debootstrap, a clone of HEAD in it, ./dev run until a browser's
# view would have data, then ./dev test. `tests/fresh.sh run` or `tests/fresh.sh test` does one of them. Needs root. The machine
# it makes lives in a folder of its own and is removed at the end; VIEWGATE_FRESH_DIR keeps it (and starts from it next time).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
what=${1:-both}
keep=${VIEWGATE_FRESH_DIR:-}
dir=${keep:-$(mktemp -d /var/tmp/viewgate-fresh.XXXXXX)}
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -oE 'https?://[^ ]+/debian/?( |$)' | head -1 || true)

inside() { (enter "$@"); }
enter() {
  exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LANG=C.UTF-8 npm_config_cafile=/etc/ssl/certs/ca-certificates.crt \
    NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt chroot "$dir" "$@"
}

cleanup() {
  local m
  for m in proc dev/pts dev/shm dev sys; do mountpoint -q "$dir/$m" && umount -l "$dir/$m"; done
  [ -n "$keep" ] || rm -rf --one-file-system "$dir"
}
trap cleanup EXIT

if [ ! -x "$dir/usr/bin/apt-get" ]; then
  echo "── debootstrap of bookworm"
  debootstrap --variant=minbase --include=ca-certificates,git bookworm "$dir" "$mirror" >"$dir.log" 2>&1 || { tail -20 "$dir.log"; exit 1; }
  rm -f "$dir.log"
  chmod 755 "$dir"  # its root, which others than root must be able to enter; mktemp's is 0700, and not every debootstrap sets it
fi
for m in proc sys dev dev/pts dev/shm; do mountpoint -q "$dir/$m" || mount --rbind "/$m" "$dir/$m" 2>/dev/null || mount --bind "/$m" "$dir/$m"; done
mount --make-rslave "$dir/dev" 2>/dev/null || true
mount --make-rslave "$dir/sys" 2>/dev/null || true
cp -L /etc/resolv.conf "$dir/etc/resolv.conf"
# The fresh machine trusts whom this one trusts, so that the registries answer behind a proxy of a workplace too.
cp -L /etc/ssl/certs/ca-certificates.crt "$dir/etc/ssl/certs/ca-certificates.crt"
rm -rf "$dir/src"
git clone -q --no-hardlinks . "$dir/src"

run_once() {
  local from url
  from=$(date +%s)
  echo "── ./dev run"
  enter /bin/bash -c 'cd /src && exec ./dev run' >"$dir/run.log" 2>&1 &
  local pid=$!
  until url=$(grep -oE 'http://[0-9.:]+/[^ ]*' "$dir/run.log" | tail -1) && [ -n "$url" ] && grep -q 'live at' "$dir/run.log"; do
    kill -0 "$pid" 2>/dev/null || { tail -40 "$dir/run.log"; echo "./dev run ended"; exit 1; }
    [ $(($(date +%s) - from)) -lt 1800 ] || { tail -40 "$dir/run.log"; echo "./dev run took over 30 minutes"; exit 1; }
    sleep 1
  done
  echo "   $(($(date +%s) - from)) s from clone to $url"
  inside /usr/bin/node /src/demo/probe.mjs "$url"   # opens the page's view with the SDK and waits for records and commits
  echo "   $(($(date +%s) - from)) s from clone to records and commits in a client"
  kill -TERM "$pid"   # a job in the background of a script does not hear SIGINT
  wait "$pid" || true
}

case $what in
  run) run_once; run_once ;;
  test) echo "── ./dev test"; inside /bin/bash -c 'cd /src && ./dev test' ;;
  both) run_once; run_once; echo "── ./dev test"; inside /bin/bash -c 'cd /src && ./dev test' ;;
  *) echo "tests/fresh.sh [run|test|both]" >&2; exit 2 ;;
esac
echo "fresh: all as promised"
