#!/usr/bin/env bash
# How fast the raw log streams, and in how much memory, on one private PostgreSQL:
#
#   tests/bench/stream.sh BIN [changes]
#
# BIN: where the built viewgate is. Two spaces hold so many changes (1,000,000) of about 100 bytes each: one in a single
# commit, one in commits of 100. Each is read by `viewgate log` and over HTTP, there in pages of 10,000 or one commit. Seconds of CPU are those of the program that streams;
# of PostgreSQL's session, apart. One line of JSON per measurement, and one with all at the end.
set -euo pipefail
bin=$(realpath "$1")
changes=${2:-1000000}
# shellcheck source=cluster.sh
source "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/cluster.sh"
start_postgres
database=$(url postgres)

sql postgres "create table public.entries (space text, id int8 primary key, x text)"
cat >"$directory/model.sql" <<'EOF'
create table entries (like public.entries) with (space = 'space');
create view everything as select id, x from entries;
create policy readers on everything using (claims.role = 'reader');
EOF
"$bin/viewgate" model apply "$directory/model.sql" --database "$database" >/dev/null
sql postgres "insert into entries select 'one', g, repeat('x', 60) from generate_series(1, $changes) g"
sql postgres "do \$\$ begin
  for i in 0 .. $changes / 100 - 1 loop
    insert into entries select 'many', 1000000000 + i * 100 + g, repeat('x', 60) from generate_series(1, 100) g;
    commit;
  end loop;
end \$\$"
sql postgres "vacuum (analyze)"

# Ticks of CPU of a process, and of the sessions of PostgreSQL that have ended.
ticks() { sed 's/.*) //' "/proc/$1/stat" | awk '{print $12 + $13}'; }
ended_ticks() { sed 's/.*) //' "/proc/$(head -1 "$directory/data/postmaster.pid")/stat" | awk '{print $14 + $15}'; }
peak_kib() { awk '/^VmHWM/ {print $2}' "/proc/$1/status"; }
now() { date +%s.%N; }
per_second=$(getconf CLK_TCK)

report() {  # door space seconds ticks session-ticks MiB
  awk -v d="$1" -v s="$2" -v t="$3" -v c="$4" -v p="$5" -v m="$6" -v n="$changes" -v hz="$per_second" \
    'BEGIN {printf "{\"door\":\"%s\",\"commits\":\"%s\",\"changes\":%d,\"seconds\":%.2f,\"changes_per_second\":%.0f,\"changes_per_cpu_second\":%.0f,\"postgres_cpu_seconds\":%.2f,\"peak_mib\":%.0f}\n",
            d, s, n, t, n / t, n * hz / c, p / hz, m}' | tee -a "$directory/results"
}

by_command() {  # space
  local begin session end
  session=$(ended_ticks)
  begin=$(now)
  read -r cpu peak < <(python3 - "$bin/viewgate" log --space "$1" --database "$database" <<'EOF'
import os, subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
if status: sys.exit("viewgate log failed")
print(round((usage.ru_utime + usage.ru_stime) * os.sysconf("SC_CLK_TCK")) or 1, usage.ru_maxrss / 1024)
EOF
  )
  end=$(now)
  sleep 1  # until PostgreSQL has reaped the session
  report "viewgate log" "$1" "$(awk -v a="$begin" -v b="$end" 'BEGIN {print b - a}')" "$cpu" "$(($(ended_ticks) - session))" "$peak"
}

by_http() {  # space
  local begin end cpu page after=0
  cpu=$(ticks "$pid")
  begin=$(now)
  while :; do
    exec 3<>"/dev/tcp/${address%:*}/${address##*:}"
    printf 'GET /v1/spaces/%s/log?after=%s&limit=10000 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n' \
      "$1" "$after" "$token" >&3
    page=$(tail -c 200 <&3 | grep -o '"next_cursor".*')
    exec 3>&-
    after=$(sed 's/"next_cursor":"\([0-9]*\)".*/\1/' <<<"$page")
    if grep -q '"has_more":false' <<<"$page"; then break; fi
  done
  end=$(now)
  # The session of PostgreSQL stays open here; what it costs is told by the other door.
  report "http" "$1" "$(awk -v a="$begin" -v b="$end" 'BEGIN {print b - a}')" "$(($(ticks "$pid") - cpu))" 0 \
    "$(awk -v k="$(peak_kib "$pid")" 'BEGIN {print k / 1024}')"
}

for space in one many; do by_command "$space"; done
start_gateway "$bin" postgres --raw-log-claim logs
token=$("$bin/viewgate" token --sub bench --auth-key-file "$directory/key" --claim 'logs:=["*"]')
for space in one many; do by_http "$space"; done
awk 'BEGIN {printf "{\"bench\":\"stream\",\"measured\":["} {printf "%s%s", (NR > 1 ? "," : ""), $0} END {print "]}"}' "$directory/results"
