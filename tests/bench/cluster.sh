# A private PostgreSQL with fsync on, and a gateway before it, for the benches. To be sourced:
#
#   start_postgres [-c name=value …]    stop_postgres    url DATABASE    sql DATABASE COMMAND
#   start_gateway BIN DATABASE [flag …] sets pid and address
#
# `directory` is where they live; at the end of the script everything that was started ends, and it is removed.
postgres=${VIEWGATE_POSTGRES_BIN:-$(find /usr/lib/postgresql -maxdepth 2 -name bin | sort -V | tail -1)}
directory=$(mktemp -d)
chmod 755 "$directory"
started=()
postgres_environment=()  # NAME=value, of the server

as_postgres() { if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi; }

finish() {
  local each
  for each in "${started[@]}"; do kill "$each" 2>/dev/null || true; done
  as_postgres "$postgres/pg_ctl" -D "$directory/data" -m immediate stop >/dev/null 2>&1 || true
  rm -rf "$directory"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

start_postgres() {
  if [ ! -d "$directory/data" ]; then
    mkdir "$directory/data"
    if [ "$(id -u)" = 0 ]; then chown postgres "$directory" "$directory/data"; fi
    as_postgres "$postgres/initdb" -D "$directory/data" -U bench --auth=trust --encoding=UTF8 --locale=C >/dev/null
  fi
  as_postgres env "${postgres_environment[@]}" "$postgres/pg_ctl" -D "$directory/data" -w -l "$directory/log" \
    -o "-c listen_addresses='' -c unix_socket_directories=$directory -c shared_buffers=256MB -c max_wal_size=4GB $*" start >/dev/null
}
stop_postgres() { as_postgres "$postgres/pg_ctl" -D "$directory/data" -w -m fast stop >/dev/null; }

url() { echo "host=$directory user=bench dbname=$1"; }
sql() { "$postgres/psql" -X -q -A -t -v ON_ERROR_STOP=1 -d "$(url "$1")" -c "$2"; }

start_gateway() {
  local bin=$1 database=$2 i
  shift 2
  printf 'the secret of a measurement, of no use to anybody' >"$directory/key"
  rm -f "$directory/ready"
  "$bin/viewgate" serve --database "$(url "$database")" --listen 127.0.0.1:0 --ready-file "$directory/ready" \
    --auth-key-file "$directory/key" --log-level warn "$@" 2>>"$directory/gateway.log" >&2 &
  pid=$!
  started+=("$pid")
  for i in $(seq 300); do
    [ -s "$directory/ready" ] && break
    kill -0 "$pid" 2>/dev/null || { cat "$directory/gateway.log" >&2; exit 1; }
    sleep 0.1
  done
  address=$(cat "$directory/ready")
}
