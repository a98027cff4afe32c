#!/usr/bin/env bash
# What viewgate costs and how fast it is, on a private PostgreSQL with fsync on and pgbench's tables at scale 10:
#
#   loadtest/bench.sh BIN capture|latency|fanout|crowd|all|SCENARIO [seconds]
#
# BIN: where the built programs are. SCENARIO: a file of loadtest/scenarios. seconds: of each step, instead of the scenario's.
# Each measurement ends with one line of JSON; VIEWGATE_REPORT names a directory for the reports.
set -euo pipefail
bin=$(realpath "$1")
name=${2:-all}
seconds=${3:-}
# The gateway takes a VIEWGATE_ variable that is none of its settings for a mistake.
reports=${VIEWGATE_REPORT:-}
unset VIEWGATE_REPORT
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
# shellcheck source=../tests/bench/cluster.sh
source "$here/../tests/bench/cluster.sh"
PATH=$postgres:$PATH

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

tps() { "$postgres/pgbench" -n -c 8 -j 2 -T "${seconds:-10}" "$(url "$1")" 2>/dev/null | sed -n 's/^tps = \([0-9.]*\).*/\1/p'; }
median() { sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }

# Three databases alike, so that no run pays for what another left; interleaved, so that all see the same machine.
bench_capture() {
  local round kind
  for kind in plain captured gateway; do make_bank "$kind"; done
  capture captured
  capture gateway
  start_gateway "$bin" gateway
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
  start_gateway "$bin" bank
}

# A look at the metrics, as Prometheus has it; its size in bytes goes into a file, a line each.
scrape() {  # port
  exec 3<>"/dev/tcp/127.0.0.1/$1"
  printf 'GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n' "$(cat "$directory/operators")" >&3
  wc -c <&3 >>"$directory/scrapes"
  exec 3>&-
}

# 10,000 who do nothing, first unseen, then as an operator runs it: the metrics are asked for every five seconds, three times as often as
# Prometheus does by itself.
bench_crowd() {
  local kind port scraper
  make_bank bank
  capture bank
  printf 'the-key-of-the-operators-of-a-measurement' >"$directory/operators"
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  for kind in unseen seen; do
    start_gateway "$bin" bank --admin-listen "127.0.0.1:$port" --admin-key-file "$directory/operators"
    if [ "$kind" = seen ]; then
      while sleep 5; do scrape "$port"; done &
      scraper=$!
      started+=("$scraper")
    fi
    scenario crowd | tee "$directory/crowd.$kind"
    kill "$pid"
    wait "$pid" || true
  done
  kill "$scraper"
  printf '{"bench":"crowd","scrapes":%d,"scrape_bytes":%d,"unseen":%s,"seen":%s}\n' "$(wc -l <"$directory/scrapes")" \
    "$(median <"$directory/scrapes")" "$(tail -1 "$directory/crowd.unseen")" "$(tail -1 "$directory/crowd.seen")"
}

scenario() {  # name
  local arguments=(run "$here/scenarios/$1.toml" --address "$address" --database "$(url bank)" --key-file "$directory/key" --pid "$pid")
  [ -z "$seconds" ] || arguments+=(--seconds "$seconds")
  [ -z "$reports" ] || arguments+=(--report "$reports/$1")
  "$bin/viewgate-loadtest" "${arguments[@]}"
}

ulimit -n 65536 2>/dev/null || true
start_postgres
case $name in
  capture) bench_capture ;;
  latency) with_gateway; scenario latency; seconds='' scenario lone ;;
  fanout) with_gateway; scenario fan-out ;;
  crowd) bench_crowd ;;
  all)
    with_gateway
    for each in idle latency fan-out; do scenario "$each"; done
    seconds='' scenario lone
    bench_capture
    ;;
  *)
    if [ ! -f "$here/scenarios/$name.toml" ]; then
      echo "there is no measurement \"$name\": capture, latency, fanout, crowd, all, or a scenario:" \
        "$(cd "$here/scenarios" && printf '%s ' *.toml | sed 's/\.toml//g')" >&2
      exit 64
    fi
    with_gateway
    scenario "$name"
    ;;
esac
