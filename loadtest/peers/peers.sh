#!/usr/bin/env bash
# viewgate beside what users would pick instead, in turn, on one machine in one run:
#
#   loadtest/peers/peers.sh BIN STORE [rounds [seconds]]
#
# BIN: where viewgate, peer_load and rawfan are. STORE: a directory that keeps what is fetched (Debian's nginx, nchan and nats-server
# unpacked, npm's ws and pg, PyPI's socketify, the Go proxy's centrifugo). What cannot be had is said and left out. One line of JSON per measurement; the last line holds all
# medians and the ratios viewgate/other. Figures of different runs are not to be compared.
set -euo pipefail
bin=$(realpath "$1")
mkdir -p "$2"
store=$(realpath "$2")
rounds=${3:-5}
seconds=${4:-5}
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
# shellcheck source=../../tests/bench/cluster.sh
source "$here/../../tests/bench/cluster.sh"
ulimit -n 20000 2>/dev/null || true

skip() { printf 'SKIPPED %s: %s\n' "$1" "$2" >&2; }

# Unpacked and not installed, so that no daemon is started and nothing of the machine changes.
fetch_debian() {
  [ -x "$store/root/usr/sbin/nats-server" ] && [ -x "$store/root/usr/sbin/nginx" ] && return 0
  mkdir -p "$store/deb" "$store/root"
  (cd "$store/deb" && apt-get -o APT::Sandbox::User=root download nginx libnginx-mod-nchan nats-server >/dev/null 2>&1 &&
    for each in *.deb; do dpkg -x "$each" ../root; done)
}
fetch_npm() {
  [ -d "$store/node/node_modules/pg" ] && return 0
  mkdir -p "$store/node"
  (cd "$store/node" && npm install --no-audit --no-fund --loglevel=error ws@8 pg@8 >/dev/null 2>&1)
}

fetch_pypi() {
  [ -d "$store/python/socketify" ] && return 0
  python3 -m pip install -q --target "$store/python" socketify==0.0.31 >/dev/null 2>&1
}

fetch_go() {
  [ -x "$store/go/centrifugo" ] && return 0
  command -v go >/dev/null && echo "centrifugo is being compiled, which takes minutes once" >&2 &&
    GOBIN="$store/go" go install github.com/centrifugal/centrifugo/v6@v6.9.1 >/dev/null 2>&1
}

targets=(viewgate raw floor)
if fetch_debian; then targets+=(nchan nats); else skip "nchan, nats" "apt-get cannot download nginx, libnginx-mod-nchan and nats-server"; fi
if command -v node >/dev/null && fetch_npm; then targets+=(ws); else skip ws "needs node, and ws and pg from npm's registry"; fi
if fetch_pypi; then targets+=(uws); else skip uWebSockets "needs pip, and socketify (which holds its library) from PyPI"; fi
if fetch_go; then targets+=(centrifugo); else skip Centrifugo "needs Go, and the module from its proxy"; fi
skip Zero "there is no adapter for it"

# The server has a core to itself, the client another, where there are two.
server_core=() client_core=()
if [ "$(nproc)" -gt 1 ]; then server_core=(taskset -c 0) client_core=(taskset -c 1); fi
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

wait_for_port() {
  local i
  for i in $(seq 200); do
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return 0
    sleep 0.05
  done
  return 1
}

start_server() {  # command…; sets server
  "${server_core[@]}" "$@" >>"$directory/servers.log" 2>&1 &
  server=$!
  started+=("$server")
}

messages='insert into messages (body) values ($1)'
card() {  # space
  printf "select viewgate.append('%s', jsonb_build_array(jsonb_build_object('collection', 'cards', 'key',
    jsonb_build_array('00000000-0000-4000-8000-000000000001'), 'put', jsonb_build_object('list', 'open', 'title', 't', 'priority', 1,
    'place', 1, 'note', \$1::text))))" "$1"
}

has_shape() {  # target shape
  case $1 in
    raw) [[ $2 == fan* ]] ;;
    floor) [ "$2" = rate ] ;;
    *) true ;;
  esac
}

start_target() {  # target shape; sets server, port, and load: the arguments of peer_load
  local space token direct
  port=$(free_port)
  load=(--address "127.0.0.1:$port")
  case $1 in
    raw)
      start_server "$bin/rawfan" "$port" "${2#fan}"
      load+=(--publish none)
      ;;
    floor)
      start_server "$bin/rawfan" "$port" "$(url messages)"
      load+=(--publish sql --database "$(url messages)" --statement "$messages")
      ;;
    ws)
      start_server env NODE_PATH="$store/node/node_modules" PGHOST="$directory" node "$here/notify_gateway.js" "$port" \
        "postgresql://bench@/messages"
      load+=(--publish sql --database "$(url messages)" --statement "$messages")
      ;;
    nchan)
      mkdir -p "$directory/nchan/logs"
      sed "s,MODULE,$store/root/usr/lib/nginx/modules/ngx_nchan_module.so,; s,PORT,$port," "$here/nchan.conf" >"$directory/nchan/nginx.conf"
      start_server "$store/root/usr/sbin/nginx" -p "$directory/nchan" -c nginx.conf -e nginx.err
      load+=(--path /sub --publish http --publish-path /pub)
      ;;
    centrifugo)
      sed "s/PORT/$port/" "$here/centrifugo.json" >"$directory/centrifugo.json"
      start_server "$store/go/centrifugo" --config "$directory/centrifugo.json"
      load+=(--path /connection/uni_websocket --text '{"subs":{"one":{}}}'
        --publish http --publish-path /api/publish --publish-before '{"channel":"one","data":"' --publish-after '"}')
      ;;
    uws)
      start_server env PYTHONPATH="$store/python" python3 "$here/uwebsockets.py" "$port"
      load+=(--path /sub --publish http --publish-path /pub)
      ;;
    nats)
      direct=$port
      port=$(free_port)
      printf 'listen: "127.0.0.1:%s"\nwebsocket { listen: "127.0.0.1:%s", no_tls: true, compression: false }\nmax_pending: 256MB\nping_interval: "10m"\n' \
        "$direct" "$port" >"$directory/nats.conf"
      start_server "$store/root/usr/sbin/nats-server" -c "$directory/nats.conf"
      load=(--address "127.0.0.1:$port"
        --binary $'CONNECT {"verbose":false,"pedantic":false,"lang":"x","version":"1","protocol":1}\r\nSUB one 1\r\nPING\r\n'
        --publish nats --publish-address "127.0.0.1:$direct" --publish-path one)
      ;;
    viewgate)
      space=run-$((++spaces))
      start_server "$bin/viewgate" serve --database "$(url bank)" --listen "127.0.0.1:$port" --auth-key-file "$directory/key" \
        --threads 1 --log-level warn
      token=$("$bin/viewgate" token --sub reader --claim role=lead --auth-key-file "$directory/key")
      # With its frame and the names of the record about 300 bytes, like the others.
      load+=(--path /v1/socket --subprotocol viewgate.v1 --text "{\"type\":\"hello\",\"protocol\":1,\"token\":\"$token\"}"
        --text "{\"type\":\"subscribe\",\"id\":\"s\",\"space\":\"$space\",\"view\":\"board\"}" --bytes 90
        --publish sql --database "$(url bank)" --statement "$(card "$space")")
      ;;
  esac
}

measure() {  # target shape
  local shape line pids
  has_shape "$1" "$2" || return 0
  start_target "$1" "$2"
  case $2 in
    fan*) shape=(fanout --window "${2#fan}" --clients 1000) ;;
    rate) shape=(rate --rate 100 --clients 200) ;;
    idle) shape=(idle --clients 1000) ;;
  esac
  line=
  if wait_for_port "$port"; then
    # nginx's workers are its children.
    mapfile -t pids < <(echo "$server"; pgrep -P "$server" || true)
    line=$("${client_core[@]}" "$bin/peer_load" "${load[@]}" "${shape[@]}" --seconds "$seconds" --pid "${pids[@]}") || line=
  fi
  if [ -n "$line" ]; then
    printf '{"target":"%s","shape":"%s",%s\n' "$1" "$2" "${line#\{}" | tee -a "$directory/results"
  else
    printf 'FAILED %s %s\n' "$1" "$2" >&2
    cat "$directory"/nchan/nginx.err "$directory/servers.log" 2>/dev/null | tail -3 >&2
  fi
  kill "$server" 2>/dev/null || true
  wait "$server" 2>/dev/null || true
}

start_postgres
printf 'the secret of a measurement, of no use to anybody' >"$directory/key"
sql postgres "create database messages"
sql postgres "create database bank"
sql messages "create table messages (id bigserial primary key, body text not null);
  create function notify() returns trigger language plpgsql as \$\$ begin perform pg_notify('changes', new.body); return new; end \$\$;
  create trigger notify after insert on messages for each row execute function notify()"
sql bank "create table pgbench_accounts (aid int primary key, bid int, abalance int, filler char(84))"
"$bin/viewgate" model apply "$here/../../demo/model.sql" --database "$(url bank)" >/dev/null
spaces=0
: >"$directory/results"
for round in $(seq "$rounds"); do
  for shape in fan1 fan32 rate idle; do
    for target in "${targets[@]}"; do measure "$target" "$shape"; done
  done
done
python3 "$here/ratios.py" "$directory/results"
