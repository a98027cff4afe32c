#!/usr/bin/env bash
# Mutations beside the plain transaction that one would write by hand (lock the head row, insert a commit and a change, update
# the head, NOTIFY), in turn on one private PostgreSQL with fsync on, driven by the same number of clients:
#
#   tests/bench/mutations.sh BIN [seconds] [extra microseconds per flush]
#
# BIN: where mutation_bench and libslow_flush.so are. One line of JSON per measurement. The plain transaction is one
# function call per commit by pgbench, prepared: it has no receipts, no replays, no rules, no before.
set -euo pipefail
bin=$(realpath "$1")
seconds=${2:-5}
flush_us=${3:-0}
postgres=${VIEWGATE_POSTGRES_BIN:-$(find /usr/lib/postgresql -maxdepth 2 -name bin | sort -V | tail -1)}
directory=$(mktemp -d)
chmod 755 "$directory"

as_postgres() { if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi; }
finish() {
  as_postgres "$postgres/pg_ctl" -D "$directory/data" -m immediate stop >/dev/null 2>&1 || true
  rm -rf "$directory"
}
trap finish EXIT

mkdir "$directory/data"
cp "$bin/libslow_flush.so" "$directory"
if [ "$(id -u)" = 0 ]; then chown postgres "$directory" "$directory/data"; fi
as_postgres "$postgres/initdb" -D "$directory/data" -U bench --auth=trust --encoding=UTF8 --locale=C >/dev/null
as_postgres env LD_PRELOAD="$directory/libslow_flush.so" VIEWGATE_FLUSH_US="$flush_us" "$postgres/pg_ctl" -D "$directory/data" -w \
  -l "$directory/log" -o "-c listen_addresses='' -c unix_socket_directories=$directory -c shared_buffers=256MB \
  -c max_wal_size=4GB -c max_connections=200" start >/dev/null

url() { echo "host=$directory user=bench dbname=$1"; }
sql() { "$postgres/psql" -X -q -A -t -v ON_ERROR_STOP=1 -d "$(url "$1")" -c "$2"; }

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

echo "{\"flush_us_longer\": $flush_us}"
for shape in "1 1" "1 8" "1 64" "64 64"; do
  read -r spaces clients <<<"$shape"
  plain "$spaces" "$clients" false
  plain "$spaces" "$clients" true
  "$bin/mutation_bench" "$(url mutations)" "$spaces" "$clients" "$seconds"
done
