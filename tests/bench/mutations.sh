#!/usr/bin/env bash
# Mutations beside the plain transaction that one would write by hand (lock the head row, insert a commit and a change, update
# the head, NOTIFY), in turn on one private PostgreSQL with fsync on, driven by the same number of clients:
#
#   tests/bench/mutations.sh BIN [seconds] [extra microseconds per flush; else as they are, and 2000]
#
# BIN: where mutation_bench and libslow_flush.so are. One line of JSON per measurement, and at the end one with all: per shape the commits
# per second of both, and their ratio (against the plain one with NOTIFY). The plain transaction is one
# function call per commit by pgbench, prepared: it has no receipts, no replays, no rules, no before.
set -euo pipefail
bin=$(realpath "$1")
seconds=${2:-5}
flushes=(0 2000)
[ -z "${3:-}" ] || flushes=("$3")
# shellcheck source=cluster.sh
source "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/cluster.sh"
cp "$bin/libslow_flush.so" "$directory"

start() {  # extra microseconds per flush
  postgres_environment=("LD_PRELOAD=$directory/libslow_flush.so" "VIEWGATE_FLUSH_US=$1")
  start_postgres -c max_connections=200
}

start 0
sql postgres "create database plain" && sql postgres "create database mutations"
sql plain "
  create table head (space int primary key, sequence bigint not null default 0) with (fillfactor = 50);
  create table commits (space int, sequence bigint, at timestamptz default clock_timestamp(), primary key (space, sequence));
  create table changes (space int, sequence bigint, ordinal int, change jsonb not null, primary key (space, sequence, ordinal));
  insert into head select g, 0 from generate_series(0, 63) g;
  create function append(s int, c jsonb, notify boolean) returns bigint language plpgsql as \$\$
  declare q bigint; begin
    select sequence into q from head where space = s for update; q := q + 1;
    insert into commits (space, sequence) values (s, q); insert into changes values (s, q, 0, c);
    update head set sequence = q where space = s;
    if notify then perform pg_notify('changes', s || ':' || q); end if;
    return q; end \$\$"

plain() {  # spaces clients notify
  printf '\\set s :client_id %% %s\nselect append(:s, jsonb_build_object('"'client', :client_id::int, 'text', repeat('x', 260)"'), %s);\n' \
    "$1" "$3" >"$directory/plain.sql"
  "$postgres/pgbench" -n -M prepared -c "$2" -j 1 -T "$seconds" -f "$directory/plain.sql" "$(url plain)" |
    awk -v s="$1" -v c="$2" -v n="$3" '/tps = /{t=$3} /latency average/{l=$4}
      END{printf "{\"plain\": true, \"spaces\": %d, \"clients\": %d, \"notify\": %s, \"commits_per_second\": %.0f, \"mean_ms\": %.2f}\n", s, c, n, t, l}'
}

stop_postgres

rate() { sed -n 's/.*"commits_per_second": \([0-9]*\).*/\1/p'; }

for flush in "${flushes[@]}"; do
  start "$flush"
  echo "{\"flush_us_longer\": $flush}"
  for shape in "1 1" "1 8" "1 64" "64 64"; do
    read -r spaces clients <<<"$shape"
    plain "$spaces" "$clients" false
    by_hand=$(plain "$spaces" "$clients" true)
    ours=$("$bin/mutation_bench" "$(url mutations)" "$spaces" "$clients" "$seconds")
    printf '%s\n' "$by_hand" "$ours"
    p99=$(sed -n 's/.*"p99_ms": \([0-9.]*\).*/\1/p' <<<"$ours")
    awk -v f="$flush" -v s="$spaces" -v c="$clients" -v p="$(rate <<<"$by_hand")" -v m="$(rate <<<"$ours")" -v q="$p99" \
      'BEGIN {printf "{\"flush_us_longer\":%d,\"spaces\":%d,\"clients\":%d,\"plain\":%d,\"mutations\":%d,\"ratio\":%.2f,\"p99_ms\":%s}\n",
              f, s, c, p, m, m / p, q}' >>"$directory/results"
  done
  stop_postgres
done
awk 'BEGIN {printf "{\"bench\":\"mutations\",\"measured\":["} {printf "%s%s", (NR > 1 ? "," : ""), $0} END {print "]}"}' "$directory/results"
