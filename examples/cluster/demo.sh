#!/bin/sh
# A thousand runs on two workers over one PostgreSQL, of which one worker is killed and one is frozen. `./dev demo --cluster` builds and calls
# this. The PostgreSQL is made in a temporary directory, as a user that is not root, and is removed at the end; the two workers
# stand for two machines. ORDERS: how many runs.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tfy=${TFY:-$here/../../build/tfy}
orders=${ORDERS:-1000}
work=$(mktemp -d "${TMPDIR:-/tmp}/tfy-cluster.XXXXXX")
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
finish() {
    status=$?
    trap - EXIT
    kill -KILL ${east:-} ${west:-} 2>/dev/null || true
    [ -z "${server:-}" ] || { kill -INT "$server" 2>/dev/null && wait "$server" 2>/dev/null; } || true
    rm -rf "$work"
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT TERM

# ---- a database ----

for bin in /usr/lib/postgresql/17/bin /usr/lib/postgresql/16/bin /usr/lib/postgresql/15/bin /usr/bin; do
    [ ! -x "$bin/initdb" ] || break
done
user=$(id -un postgres 2>/dev/null || echo nobody) as=
if [ "$(id -u)" = 0 ]; then as="setpriv --reuid $user --regid $(id -gn "$user") --clear-groups"; fi
mkdir "$work/pg" "$work/shared"
[ -z "$as" ] || { chmod 755 "$work"; chown "$user" "$work/pg"; }
cd "$work/pg"
$as "$bin/initdb" -D data -U tfy -A trust --no-instructions -E UTF8 --locale=C >"$work/initdb.log" 2>&1 || { cat "$work/initdb.log" >&2; exit 1; }
$as "$bin/postgres" -D data -c listen_addresses= -c unix_socket_directories="$work/pg" >"$work/postgres.log" 2>&1 &
server=$!
cd "$work/shared"
sql() { psql -h "$work/pg" -U tfy -d "${2:-tfy}" -qAtc "$1"; }
until sql "create database tfy" postgres 2>/dev/null; do kill -0 "$server" || { cat "$work/postgres.log" >&2; exit 1; }; sleep 0.1; done
export TFY_DB="postgresql:///tfy?host=$work/pg&user=tfy"

say "One PostgreSQL, and a program"
cp "$here/orders.tfy" .
"$tfy" db create "$TFY_DB" --lease 4s
"$tfy" deploy orders.tfy

# ---- workers ----

begin() { "$tfy" worker orders.tfy --name "$1" --drain 10s 2>>"$work/$1.log" & }
say "$orders orders"
seq "$orders" | xargs -P 4 -I{} "$tfy" start orders --customer "customer {}" --cents {} >started
echo "$(wc -l <started) runs are started"
say "Two workers, east and west"
begin east; east=$!
begin west; west=$!
done_count() { sql "select count(*) from tfy.run where state >= 12"; }
until_done() { until [ "$(done_count)" -ge "$1" ]; do sleep 0.2; done; }
until_done $((orders / 4))
echo "$(done_count) have ended"

say "West is frozen, as a machine that hangs: the kernel kills its process at the deadline of its lease"
for child in $(pgrep -P "$west"); do kill -STOP "$child"; done
until_done $((orders / 2))
echo "$(done_count) have ended"
say "East is killed, with everything it runs, as if its machine lost power"
kill -STOP "$east" # a machine that is gone cannot say that its processes are
pkill -KILL -P "$east" || true
kill -KILL "$east"
wait "$east" 2>/dev/null || true
east=
begin north; east=$!
doubtful() { "$tfy" ps --state doubt --limit 100000 --json | sed -n 's/.*"run": *"\([0-9a-f-]*\)".*/\1/p'; }
tries=0
until [ "$(($(done_count) + $(doubtful | wc -l)))" -ge "$orders" ]; do # the others wait for a person
    sleep 0.5
    [ $((tries += 1)) -lt 600 ] || { echo "the runs do not end" >&2; exit 1; }
done
sql "select '  session ' || id || ' of ' || worker || ': ' || coalesce(why, 'it lives') from tfy.session order by id"

# ---- what is in doubt ----

say "What a person has to say: charges that had begun, and whose end nobody knows"
last=-1
: >"$work/resolved"
while [ "$(done_count)" -lt "$orders" ]; do
    for run in $(doubtful); do
        if grep -q "^end $run/1/2 " ledger.txt; then
            echo "  $run: the ledger has its end; it is done"
            "$tfy" resolve "$run" 2 --done "\"charged $("$tfy" inspect "$run" --json | sed -n 's/.*"cents": *\([0-9]*\).*/\1/p' | head -1)\""
        else
            echo "  $run: the ledger has no end; it is tried again"
            "$tfy" resolve "$run" 2 --retry
        fi
    done >>"$work/resolved" 2>&1
    sleep 0.5
    [ "$(done_count)" != "$last" ] || [ $((tries += 1)) -lt 300 ] || { cat "$work/resolved"; echo "runs do not end" >&2; exit 1; }
    last=$(done_count)
done
grep '^  ' "$work/resolved" || echo "  nothing"

# ---- the ledger ----

say "The ledger, which the tools wrote outside the database"
resolved=$(sql "select count(*) from tfy.history where type = 'Resolved'")
awk -v orders="$orders" -v resolved="$resolved" '
    $1 == "begin" { begun[$2]++; all++ }
    $3 < fence[$2] { late++ } # an older owner worked beside a newer one
    $3 > fence[$2] { fence[$2] = $3 }
    END {
        for (key in begun) { keys++; again += begun[key] - 1 }
        printf "  %d orders, %d charged, %d charges begun again (%d were resolved by a person), %d by a former owner\n", orders, keys, again, resolved, late
        exit keys != orders || again > resolved || late > 0
    }' ledger.txt
echo "  $(done_count) runs have ended, $(sql "select count(*) from tfy.run where state = 12") of them completed"

say "One of them: tfy history RUN"
"$tfy" history "$(sed -n 's/^  \([0-9a-f-]*\):.*/\1/p' "$work/resolved" | tail -n 1 | grep . || head -n 1 started)"
kill -TERM $east $west
wait $east $west || true
