#!/usr/bin/env bash
# What viewgate costs and how fast it is, on a private PostgreSQL with fsync on and pgbench's tables at scale 10:
#
#   loadtest/bench.sh BIN capture|latency|fanout|idle|all [seconds]
#
# BIN: where the built programs are. Each measurement ends with one line of JSON.
set -euo pipefail
bin=$(realpath "$1")
name=${2:-all}
seconds=${3:-10}
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
postgres=${VIEWGATE_POSTGRES_BIN:-$(find /usr/lib/postgresql -maxdepth 2 -name bin | sort -V | tail -1)}
directory=$(mktemp -d)
chmod 755 "$directory"
started=()

as_postgres() { if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi; }

finish() {
  local each
  for each in "${started[@]}"; do kill "$each" 2>/dev/null || true; done
  as_postgres "$postgres/pg_ctl" -D "$directory/data" -m immediate stop >/dev/null 2>&1 || true
  rm -rf "$directory"
}
trap finish EXIT

start_postgres() {
  mkdir "$directory/data"
  if [ "$(id -u)" = 0 ]; then chown postgres "$directory" "$directory/data"; fi
  as_postgres "$postgres/initdb" -D "$directory/data" -U bench --auth=trust --encoding=UTF8 --locale=C >/dev/null
  as_postgres "$postgres/pg_ctl" -D "$directory/data" -w -l "$directory/log" \
    -o "-c listen_addresses='' -c unix_socket_directories=$directory -c shared_buffers=256MB -c max_wal_size=4GB" start >/dev/null
}

url() { echo "host=$directory user=bench dbname=$1"; }
sql() { "$postgres/psql" -X -q -A -t -v ON_ERROR_STOP=1 -d "$(url "$1")" -c "$2"; }

# pgbench's tables, the balances at random so that accounts cross zero.
make_bank() {
  sql postgres "create database $1"
  "$postgres/pgbench" -i -q -I dt -s 10 "$(url "$1")" 2>/dev/null
  sql "$1" "insert into pgbench_branches (bid, bbalance) select bid, 0 from generate_series(1, 10) bid;
            insert into pgbench_tellers (tid, bid, tbalance) select tid, (tid - 1) / 10 + 1, 0 from generate_series(1, 100) tid;
            insert into pgbench_accounts (aid, bid, abalance, filler)
              select aid, (aid - 1) / 100000 + 1, floor(random() * 10001)::int - 5000, '' from generate_series(1, 1000000) aid" >/dev/null
  "$postgres/pgbench" -i -q -I vp -s 10 "$(url "$1")" 2>/dev/null
}

capture() { "$bin/viewgate" model apply "$here/../demo/model.sql" --database "$(url "$1")" >/dev/null; }

# Sets pid and address of a gateway before this database.
start_gateway() {
  printf 'the secret of a measurement, of no use to anybody' >"$directory/key"
  rm -f "$directory/ready"
  "$bin/viewgate" serve --database "$(url "$1")" --listen 127.0.0.1:0 --ready-file "$directory/ready" \
    --auth-key-file "$directory/key" --log-level warn 2>>"$directory/gateway.log" >&2 &
  pid=$!
  started+=("$pid")
  local i
  for i in $(seq 300); do
    [ -s "$directory/ready" ] && break
    kill -0 "$pid" 2>/dev/null || { cat "$directory/gateway.log" >&2; exit 1; }
    sleep 0.1
  done
  address=$(cat "$directory/ready")
}

tps() { "$postgres/pgbench" -n -c 8 -j 2 -T "$seconds" "$(url "$1")" 2>/dev/null | sed -n 's/^tps = \([0-9.]*\).*/\1/p'; }
median() { sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }

# Three databases alike, so that no run pays for what another left; interleaved, so that all see the same machine.
bench_capture() {
  local round kind
  for kind in plain captured gateway; do make_bank "$kind"; done
  capture captured
  capture gateway
  start_gateway gateway
  "$bin/viewgate-loadtest" swarm --calm --clients 40 --seconds 100000 --address "$address" --database "$(url gateway)" \
    --key-file "$directory/key" >/dev/null &
  started+=("$!")
  sleep 15  # the bootstraps of forty clients, and what vacuum makes of the fresh tables
  for round in 1 2 3 4 5 6 7; do
    for kind in plain captured gateway; do
      tps "$kind" >>"$directory/tps.$kind"
      printf '  round %d %-9s %s tps\n' "$round" "$kind" "$(tail -1 "$directory/tps.$kind")"
    done
  done
  awk -v p="$(median <"$directory/tps.plain")" -v c="$(median <"$directory/tps.captured")" -v g="$(median <"$directory/tps.gateway")" \
    'BEGIN {printf "{\"bench\":\"capture\",\"tps_plain\":%.0f,\"tps_captured\":%.0f,\"tps_gateway\":%.0f,\"captured_share\":%.3f,\"gateway_share\":%.3f}\n",
            p, c, g, c / p, g / p}'
}

with_gateway() {
  make_bank bank
  capture bank
  start_gateway bank
}

loadtest() { "$bin/viewgate-loadtest" "$@" --address "$address" --database "$(url bank)" --key-file "$directory/key" --pid "$pid"; }

bench_latency() {
  loadtest latency --rate 100 --seconds "$seconds" --lone 5
  loadtest latency --rate 1000 --seconds "$seconds" --lone 0
}
# At a rate that leaves it room, and at one that does not.
bench_fanout() {
  loadtest fanout --clients 1000 --rate 100 --seconds "$seconds"
  loadtest fanout --clients 1000 --rate 1000 --seconds "$seconds"
}
bench_idle() { loadtest idle --clients 1000 --seconds "$seconds"; }

ulimit -n 65536 2>/dev/null || true
start_postgres
case $name in
  capture) bench_capture ;;
  latency | fanout | idle) with_gateway; "bench_$name" ;;
  all) with_gateway; bench_idle; bench_latency; bench_fanout; bench_capture ;;
  *) echo "there is no measurement \"$name\": capture, latency, fanout, idle or all" >&2; exit 64 ;;
esac
