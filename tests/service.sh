#!/usr/bin/env bash
# The unit of the package under a live systemd: started, watched, reloaded, killed, stopped, in its sandbox. Needs root.
#
#   tests/service.sh BIN      BIN: where the built programs are
#
# systemd runs as the first process of namespaces of its own (processes, mounts, control groups, IPC, names), with the files of this machine
# but for those that it may write to: nothing of it is seen outside, and it ends with its first process. Not the package's are the place
# of the program and of its configuration, the descriptors (not more than this machine allows) and the watchdog's time.
set -euo pipefail
bin=$(realpath "$1")
top=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
[ "$(id -u)" = 0 ] || { echo "service: needs root" >&2; exit 1; }
# shellcheck source=bench/cluster.sh
source "$top/tests/bench/cluster.sh"
group=/sys/fs/cgroup
[ -e $group/cgroup.controllers ] || group=/sys/fs/cgroup/unified
group=$group/viewgate-service-$$
launcher='' init=''

end() {
  [ -z "$init" ] || kill -KILL "$init" 2>/dev/null || true
  [ -z "$launcher" ] || wait "$launcher" 2>/dev/null || true
  # A group whose processes are gone; those of the services are inside of it.
  if [ -d "$group" ]; then find "$group" -depth -type d -exec rmdir {} \; 2>/dev/null || true; fi
  finish
}
trap end EXIT

fail() {
  echo "service: $*" >&2
  tail -20 "$directory/systemd.log" >&2
  [ -z "$init" ] || { inside systemctl status viewgate --no-pager >&2 || true; inside tail -20 /run/viewgate.log >&2 || true; }
  exit 1
}
inside() { nsenter --target "$init" --mount --pid --ipc --uts --cgroup -- "$@"; }
property() { inside systemctl show viewgate --property "$1" --value; }
eventually() {  # what, condition …
  local what=$1
  shift
  for _ in $(seq 600); do
    if "$@"; then return 0; fi
    sleep 0.1
  done
  fail "it never came true that $what"
}
is() { [ "$(property "$1")" = "$2" ]; }
is_another() { [ "$(property "$1")" != "$2" ] && is ActiveState active; }
logged() { inside grep -q "$1" /run/viewgate.log; }

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# What the systemd in there sees at /mnt.
prepare() {
  local root=$directory/root port
  port=$(free_port)
  start_postgres -c listen_addresses=127.0.0.1 -c "port=$port"
  mkdir -p "$root/units"
  cp "$bin/viewgate" "$root/viewgate"
  printf 'a secret of this test, longer than thirty-two bytes' >"$root/key"
  cat >"$root/viewgate.toml" <<EOF
database = "host=127.0.0.1 port=$port user=bench dbname=postgres"
listen = "127.0.0.1:0"
origins = ["https://a.example"]
[auth]
key_file = "/mnt/key"
EOF
  echo "create table t (id int4 primary key); create view v as select id from t; create policy p on v using (true);" >"$root/model.sql"
  "$bin/viewgate" model apply "$root/model.sql" --database "host=127.0.0.1 port=$port user=bench dbname=postgres" >/dev/null
  cp /etc/passwd /etc/group "$root"
  grep -q ^viewgate: /etc/group || echo 'viewgate:x:64123:' >>"$root/group"
  grep -q ^viewgate: /etc/passwd || echo 'viewgate:x:64123:64123::/nonexistent:/usr/sbin/nologin' >>"$root/passwd"
  cp "$top/packaging/viewgate.service" "$root/units"
  mkdir "$root/units/viewgate.service.d"
  cat >"$root/units/viewgate.service.d/test.conf" <<EOF
[Unit]
Description=viewgate, in a test
[Service]
ExecStart=
ExecStart=/mnt/viewgate serve --config /mnt/viewgate.toml
StandardError=append:/run/viewgate.log
LimitNOFILE=$(ulimit -Hn)
RestartSec=100ms
WatchdogSec=15s
EOF
  printf '[Unit]\nDescription=nothing yet\nDefaultDependencies=no\n' >"$root/units/nothing.target"
  chown -R 64123:64123 "$root/key" "$root/viewgate.toml"
  chmod 755 "$root"
}

# As the first process of the namespaces.
# shellcheck disable=SC2016
first='
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs /mnt
cp -a "$1/root/." /mnt
units=/usr/lib/systemd/system
mkdir /mnt/system
for each in basic.target sysinit.target shutdown.target network.target network-online.target; do cp "$units/$each" /mnt/system; done
for each in /run /tmp /var/tmp "$units" /usr/lib/systemd/system-generators /etc/systemd/system; do mount -t tmpfs -o mode=755 tmpfs "$each"; done
chmod 1777 /tmp /var/tmp
cp /mnt/system/* "$units"
cp -r /mnt/units/. /etc/systemd/system
mount --bind /mnt/passwd /etc/passwd
mount --bind /mnt/group /etc/group
umount -R /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -o remount,bind,ro /
exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system --unit=nothing.target --log-target=console --log-level=info
'

start_systemd() {
  mkdir "$group"
  # Into the group first: it is the root of what systemd sees.
  bash -c 'echo $$ >"$1/cgroup.procs" && exec unshare --fork --pid --mount --mount-proc --ipc --uts --cgroup bash -c "$3" first "$2"' \
    launch "$group" "$directory" "$first" >"$directory/systemd.log" 2>&1 </dev/null &
  launcher=$!
  for _ in $(seq 300); do
    init=$(cat "/proc/$launcher/task/$launcher/children" 2>/dev/null | tr -d ' ')
    if [ -n "$init" ] && inside systemctl is-system-running --quiet 2>/dev/null; then return 0; fi
    kill -0 "$launcher" 2>/dev/null || break
    sleep 0.1
  done
  fail "systemd does not come up"
}

prepare
start_systemd
say() { echo "── $*"; }

say "systemd knows it as started once clients are welcome"
inside systemctl start viewgate || fail "it cannot be started"
is ActiveState active || fail "it is $(property ActiveState)"
[[ "$(property StatusText)" == "listening on "* ]] || fail "its status is $(property StatusText)"
[ "$(property User)" = viewgate ] || fail "it runs as $(property User)"
main=$(property MainPID)
[ "$(inside stat -c %U "/proc/$main")" = viewgate ] || fail "it does not run as its user"
for each in 'NoNewPrivs:.*1' 'Seccomp:.*2' 'CapBnd:.*0000000000000000' 'CapEff:.*0000000000000000'; do
  inside grep -qE "^$each" "/proc/$main/status" || fail "the sandbox is not in force: no $each"
done
for each in mnt user uts; do
  [ "$(inside readlink "/proc/$main/ns/$each")" != "$(inside readlink "/proc/1/ns/$each")" ] || fail "it shares the namespace $each with systemd"
done
port=$(property StatusText)
port=${port##*:}
answer=$(python3 -c 'import sys, urllib.request; print(urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/readyz").status)' "$port") || true
[ "$answer" = 200 ] || fail "/readyz answers ${answer:-nothing}"

say "a reload is one for systemd, too"
inside sed -i 's/a.example/b.example/' /mnt/viewgate.toml
inside systemctl reload viewgate || fail "it cannot be reloaded"
eventually "the configuration is taken" logged 'config_reloaded taken=origins'
eventually "it is active again" is ActiveState active
is MainPID "$main" || fail "a reload is a restart"

say "a node that stands still is started again by the watchdog"
inside kill -STOP "$main"
eventually "another one runs" is_another MainPID "$main"
is NRestarts 1 || fail "it was started again $(property NRestarts) times"

say "one that is killed is started again"
main=$(property MainPID)
inside kill -KILL "$main"
eventually "another one runs" is_another MainPID "$main"
is NRestarts 2 || fail "it was started again $(property NRestarts) times"

say "one whose configuration is wrong is not"
inside sed -i 's/^listen.*/listen = 7/' /mnt/viewgate.toml
if inside systemctl restart viewgate 2>/dev/null; then fail "it starts with a wrong configuration"; fi
eventually "it is given up" is ActiveState failed
is ExecMainStatus 78 || fail "its status is $(property ExecMainStatus)"
sleep 1  # ten times RestartSec
is NRestarts 0 || fail "it was started again, which mends nothing"
inside sed -i 's/^listen.*/listen = "127.0.0.1:0"/' /mnt/viewgate.toml

say "it stops when it is asked to"
inside systemctl start viewgate || fail "it cannot be started again"
inside systemctl stop viewgate || fail "it cannot be stopped"
is ActiveState inactive || fail "it is $(property ActiveState)"
is Result success || fail "it ended with $(property Result)"
echo "service: as promised, under $(systemctl --version | head -1)"
