# A PostgreSQL of its own for a topic: with a temporary directory, reached by its socket only, as a user that is not root.
# It ends with the topic. Servers crash here, and machines do not, so it leaves syncing to the kernel.
for pg_bin in /usr/lib/postgresql/17/bin /usr/lib/postgresql/16/bin /usr/lib/postgresql/15/bin /usr/local/pgsql/bin /usr/bin; do
    [ ! -x "$pg_bin/initdb" ] || break
done
if [ ! -x "$pg_bin/initdb" ]; then
    echo "skipped: PostgreSQL is not installed"
    exit 0
fi
pg=$(mktemp -d /tmp/tfy-pg-XXXXXX)
pg_user=$(id -un postgres 2>/dev/null || echo nobody)
pg_as= # what makes another user of root
if [ "$(id -u)" = 0 ]; then
    chown "$pg_user" "$pg"
    pg_as="--reuid $pg_user --regid $(id -gn "$pg_user") --clear-groups"
fi
(cd "$pg" && setpriv $pg_as "$pg_bin/initdb" -D "$pg/data" -U tfy -A trust -N --no-instructions -E UTF8 --locale=C >"$pg/initdb.log" 2>&1) ||
    { cat "$pg/initdb.log"; exit 1; }
pg_starts() # … and is there when this returns
{
    cd "$pg" || return
    setpriv $pg_as --pdeathsig QUIT "$pg_bin/postgres" -D "$pg/data" -c listen_addresses= -c unix_socket_directories="$pg" -c max_connections=40 \
        -c fsync=off >>"$pg/log" 2>&1 &
    pg_pid=$!
    cd "$OLDPWD" || return
    within 20 psql -h "$pg" -U tfy -d postgres -qAtc 'select 1'
}
pg_stops() { kill "-${1:-QUIT}" "$pg_pid"; wait "$pg_pid" 2>/dev/null; }
sql() { psql -h "$pg" -U tfy -d tfy -qAtc "$1"; } # one statement; its rows, a line each
trap 'kill -QUIT "$pg_pid" 2>/dev/null; wait "$pg_pid" 2>/dev/null; rm -rf "$pg"' EXIT
pg_starts
psql -h "$pg" -U tfy -d postgres -qAtc "create database tfy"
export TFY_DB="postgresql:///tfy?host=$pg&user=tfy"
