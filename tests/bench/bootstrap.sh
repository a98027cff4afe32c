#!/usr/bin/env bash
# How fast a large view reaches those who open it, and what that costs the writers, on one private PostgreSQL:
#
#   tests/bench/bootstrap.sh BIN [records [records for many clients]]
#
# BIN: where viewgate and bootstrap_bench are built. A view of so many records (1,000,000) of 300 bytes each is read
#  - by psql, as COPY (select to_jsonb …) TO STDOUT, and by one client through the gateway, in turn, three times each;
#  - by one client again and again while pgbench updates single records of the same space, beside pgbench alone;
# and a smaller one (100,000: what 200 clients are sent together is 200 times as much, and loopback is not what is measured) by 200
# clients at once. One line of JSON per measurement, and one with all at the end.
set -euo pipefail
bin=$(realpath "$1")
records=${2:-1000000}
records_for_many=${3:-100000}
# shellcheck source=cluster.sh
source "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/cluster.sh"
start_postgres -c shared_buffers=512MB
database=$(url postgres)

sql postgres "create table public.entries (space text, id int8 primary key, n int8, x text)"
cat >"$directory/model.sql" <<'SQL'
create table entries (like public.entries) with (space = 'space');
create view everything as select id, n, x from entries;
create policy readers on everything using (claims.role = 'reader');
SQL
# Before the table is captured: history is not what is measured.
sql postgres "insert into entries select 'large', g, 0, repeat('x', 260) from generate_series(1, $records) g"
sql postgres "insert into entries select 'small', 1000000000 + g, 0, repeat('x', 260) from generate_series(1, $records_for_many) g"
sql postgres "vacuum (analyze)"
"$bin/viewgate" model apply "$directory/model.sql" --database "$database" >/dev/null

start_gateway "$bin" postgres --snapshot-reuse 0s
token=$("$bin/viewgate" token --auth-key-file "$directory/key" --sub bench --claim role=reader)

now() { date +%s.%N; }
peak_mib() { awk '/^VmHWM/ {printf "%.0f", $2 / 1024}' "/proc/$pid/status"; }
tell() { tee -a "$directory/results"; }
bootstrap() { "$bin/bootstrap_bench" "$address" "$token" "$1" everything "$2"; }
value() { sed "s/.*\"$1\":\([0-9.]*\).*/\1/"; }
middle() { sort -n | sed -n 2p; }

bootstrap small 1 >/dev/null  # the first one finds connections to be made
for _ in 1 2 3; do
  begin=$(now)
  sql postgres "copy (select to_jsonb(r)::text from (select id, n, x from entries where space = 'large') r) to stdout" >/dev/null
  awk -v a="$begin" -v b="$(now)" 'BEGIN {print b - a}' >>"$directory/copy"
  bootstrap large 1 | value seconds >>"$directory/one"
done
awk -v c="$(middle <"$directory/copy")" -v o="$(middle <"$directory/one")" -v n="$records" -v m="$(peak_mib)" \
  'BEGIN {printf "{\"measurement\":\"one\",\"records\":%d,\"copy_seconds\":%.2f,\"bootstrap_seconds\":%.2f,\"rate_of_copy\":%.2f,\"peak_mib\":%d}\n", n, c, o, c / o, m}' | tell

bootstrap small 200 >"$directory/many"
awk -v s="$(value seconds <"$directory/many")" -v b="$(value bytes <"$directory/many")" -v n="$records_for_many" -v m="$(peak_mib)" \
  'BEGIN {printf "{\"measurement\":\"many\",\"records\":%d,\"clients\":200,\"seconds\":%.2f,\"bytes\":%.0f,\"mib_per_second\":%.0f,\"peak_mib\":%d}\n", n, s, b, b / s / 1048576, m}' | tell

cat >"$directory/write.sql" <<SQL
\\set id random(1, $records)
update entries set n = n + 1 where id = :id;
SQL
write() { "$postgres/pgbench" -n -c 4 -j 1 -T 10 -f "$directory/write.sql" "$database" 2>/dev/null | sed -n 's/^tps = \([0-9.]*\).*/\1/p'; }
alone=$(write)
while :; do bootstrap large 1 | value seconds >>"$directory/beside"; done &
reader=$!
beside=$(write)
kill "$reader" 2>/dev/null || true
wait "$reader" 2>/dev/null || true
again=$(write)
awk -v a="$alone" -v b="$beside" -v c="$again" -v r="$(wc -l <"$directory/beside")" \
  'BEGIN {printf "{\"measurement\":\"writers\",\"tps_alone\":%.0f,\"tps_beside\":%.0f,\"tps_again\":%.0f,\"rate_kept\":%.2f,\"bootstraps\":%d}\n", a, b, c, 2 * b / (a + c), r}' | tell
printf '{"bootstrap":[%s]}\n' "$(paste -sd, "$directory/results")"
