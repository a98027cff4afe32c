#!/usr/bin/env bash
# The Debian package on a Debian 12 that has nothing: installed, checked, run, removed and purged. Needs root. `tests/package.sh contents`
# looks into the package only. The package is the one in build/release/package (`./dev package` makes it), or in VIEWGATE_PACKAGE_DIR.
set -euo pipefail
top=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
package=$(realpath "${VIEWGATE_PACKAGE_DIR:-$top/build/release/package}"/viewgate_*.deb)
cd "$top"
fail() { echo "package: $*" >&2; exit 1; }

contents() {
  local list file
  list=$(dpkg-deb --contents "$package")
  for file in ./usr/bin/viewgate ./lib/systemd/system/viewgate.service ./etc/viewgate/viewgate.toml ./usr/share/doc/viewgate/operating.md \
    ./usr/share/doc/viewgate/copyright ./usr/share/doc/viewgate/proxies/nginx.conf; do
    grep -q " $file\$" <<<"$list" || fail "it has no $file"
  done
  # Only where a package may write, and nothing that everybody may write to or that runs as another user.
  if grep -vE ' \./$| \./(usr|lib|etc)/' <<<"$list"; then fail "files in unusual places"; fi
  if grep -E '^(-..[sS]|-.....[sS]|-.......w)' <<<"$list"; then fail "files with unusual rights"; fi
  grep -q '^-rw-r----- root/root .* ./etc/viewgate/viewgate.toml$' <<<"$list" || fail "everybody may read the configuration"
  dpkg-deb --field "$package" Depends | grep -q 'libpq5' || fail "what it depends on was not found"
  [ "$(dpkg-deb --info "$package" conffiles | tr -d ' ')" = /etc/viewgate/viewgate.toml ] || fail "the configuration is no conffile"
  if systemd-analyze verify --man=no --recursive-errors=no packaging/viewgate.service 2>&1 | grep -v '/usr/bin/viewgate is not executable'; then
    fail "the unit is wrong"
  fi
  systemd-analyze security --offline=true --threshold=20 packaging/viewgate.service >/dev/null || fail "the unit's sandbox has holes"
  echo "package: contents and unit as promised"
}

contents
[ "${1:-}" != contents ] || exit 0

dir=$(mktemp -d /var/tmp/viewgate-package.XXXXXX)
chmod 0755 "$dir"
cleanup() {
  local m
  for m in proc dev; do mountpoint -q "$dir/$m" && umount -l "$dir/$m"; done
  rm -rf --one-file-system "$dir"
}
trap cleanup EXIT
inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive chroot "$dir" "$@"; }

mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -oE 'https?://[^ ]+/debian/?( |$)' | head -1 || true)
echo "── debootstrap of bookworm"
debootstrap --variant=minbase --include=ca-certificates bookworm "$dir" $mirror >"$dir.log" 2>&1 || { tail -20 "$dir.log"; fail "no debootstrap"; }
rm -f "$dir.log"
chmod 755 "$dir"  # mktemp's is 0700, and not every debootstrap sets it
for m in proc dev; do mount --bind "/$m" "$dir/$m"; done
cp -L /etc/resolv.conf "$dir/etc/resolv.conf"
cp -L /etc/ssl/certs/ca-certificates.crt "$dir/etc/ssl/certs/ca-certificates.crt"
cp "$package" "$dir/tmp/viewgate.deb"

echo "── installing"
inside apt-get install -y -q --no-install-recommends /tmp/viewgate.deb >"$dir/install.log" 2>&1 || { tail -20 "$dir/install.log"; fail "cannot be installed"; }
inside viewgate version
inside getent passwd viewgate | grep -q ':/nonexistent:/usr/sbin/nologin$' || fail "its user has a home or a shell"
[ "$(inside stat -c '%U %G %a' /etc/viewgate/viewgate.toml)" = "root viewgate 640" ] || fail "the configuration's rights"
# The example is valid, and says what is missing; status 78 is what the unit does not restart for.
status=0
inside viewgate check --config /etc/viewgate/viewgate.toml >"$dir/check.log" 2>&1 || status=$?
{ [ "$status" = 78 ] && grep -q -- '--database must say' "$dir/check.log"; } || { cat "$dir/check.log"; fail "the example configuration"; }

# The environment and the commands of packaging/Containerfile, whose image is made by the same installation.
echo "── serving as its own user, beside a private PostgreSQL"
settings=$(sed -n 's/^ENV //p' packaging/Containerfile | sed 's/:8080$/:18080/')
health=$(sed -n 's/^HEALTHCHECK .* CMD \["\(.*\)"\]$/\1/p' packaging/Containerfile | sed 's/", "/ /g')
[ "$health" = "viewgate healthcheck" ] || fail "the Containerfile's health check is another: $health"
[ "$(grep -l 'podman build --format docker ' packaging/Containerfile docs/operating.md | wc -l)" = 2 ] || fail "podman leaves the health check out of an image of OCI's format"
healthy() { inside env $settings $health; }
inside apt-get install -y -q --no-install-recommends postgresql-15 >"$dir/install.log" 2>&1 || { tail -20 "$dir/install.log"; fail "no PostgreSQL"; }
inside install -d -o viewgate -g viewgate /srv/viewgate
inside sh -c 'echo "create table t (id int4 primary key); create view v as select id from t; create policy p on t using (true);" > /srv/model.sql'
# shellcheck disable=SC2086
env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 $settings chroot --userspec viewgate:viewgate "$dir" \
  viewgate serve --config /etc/viewgate/viewgate.toml --embedded /srv/viewgate/db --apply /srv/model.sql >"$dir/serve.log" 2>&1 &
pid=$!
for _ in $(seq 240); do healthy >/dev/null 2>&1 && break; kill -0 $pid 2>/dev/null || break; sleep 0.5; done
{ kill -0 "$pid" 2>/dev/null && healthy; } || { tail -20 "$dir/serve.log"; fail "it does not come up"; }
kill -TERM "$pid"
wait "$pid" || { tail -20 "$dir/serve.log"; fail "it does not stop with status 0"; }

echo "── a changed configuration outlives another installation and a removal, and goes with a purge"
inside sh -c 'echo "# mine" >> /etc/viewgate/viewgate.toml'
inside apt-get install -y -q --reinstall /tmp/viewgate.deb >"$dir/install.log" 2>&1 || { tail -20 "$dir/install.log"; fail "cannot be installed again"; }
inside grep -q '^# mine$' /etc/viewgate/viewgate.toml || fail "an update overwrites the configuration"
inside sh -c 'chgrp root /etc/viewgate/viewgate.toml && chmod 0600 /etc/viewgate/viewgate.toml && cp -p /etc/viewgate/viewgate.toml /srv'
inside apt-get install -y -q --reinstall /tmp/viewgate.deb >"$dir/install.log" 2>&1 || { tail -20 "$dir/install.log"; fail "cannot be installed again"; }
[ "$(inside stat -c '%U %G %a' /etc/viewgate/viewgate.toml)" = "root root 600" ] || fail "an update changes rights that an operator chose"
inside rm /etc/viewgate/viewgate.toml
inside apt-get install -y -q --reinstall /tmp/viewgate.deb >"$dir/install.log" 2>&1 || { tail -20 "$dir/install.log"; fail "a deleted configuration breaks an update"; }
inside mv /srv/viewgate.toml /etc/viewgate/viewgate.toml
inside apt-get remove -y -q viewgate >"$dir/install.log" 2>&1 || { tail -20 "$dir/install.log"; fail "cannot be removed"; }
[ ! -e "$dir/usr/bin/viewgate" ] || fail "the program stays"
inside grep -q '^# mine$' /etc/viewgate/viewgate.toml || fail "a removal takes the configuration"
inside apt-get purge -y -q viewgate >"$dir/install.log" 2>&1 || { tail -20 "$dir/install.log"; fail "cannot be purged"; }
for left in etc/viewgate lib/systemd/system/viewgate.service usr/share/doc/viewgate; do [ ! -e "$dir/$left" ] || fail "/$left is left"; done
! inside getent passwd viewgate >/dev/null || fail "its user is left"
echo "package: all as promised"
