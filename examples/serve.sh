#!/bin/sh
# A server with some of the example programs: runs that have ended, one that failed, questions that wait, and a schedule. It prints an
# address that logs a browser in, and stays until it is interrupted. `./dev demo --serve` builds and calls this; what follows are
# options of `tfy serve`, such as --listen 127.0.0.1:9000.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tfy=${TFY:-$here/../build/tfy}
work=$(mktemp -d "${TMPDIR:-/tmp}/tfy-demo.XXXXXX")
server=
finish() {
    [ -z "$server" ] || { kill -TERM "$server" 2>/dev/null && wait "$server"; } || true
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

cd "$work"
for name in approval_chain compute_network person philosophers producer_consumer supervisor; do
    cp "$here/$name/$name.tfy" .
done
cat >serve.json <<'END'
{"programs": {"person": {"limits": {"main": {"max_running": 2, "max_queued": 100}}}},
 "schedules": {"minutely": {"cron": "* * * * *", "start": "producer_consumer.main"},
               "nightly": {"cron": "30 2 * * *", "zone": "Europe/Berlin", "start": "supervisor.main"}}}
END
export TFY_DB="$work/runs.db"
echo "compiling six programs of examples/ ..."
"$tfy" serve ./*.tfy --config serve.json "$@" 2>"$work/served" &
server=$!
until grep -q '^tfy serve: serving' "$work/served"; do
    kill -0 "$server" 2>/dev/null || { cat "$work/served" >&2; exit 1; }
    sleep 0.1
done

start() { "$tfy" start "$@" >>"$work/started"; }
start approval_chain --what "ten chairs" --cents 180000 --label team=office
start approval_chain --what "tea" --cents 1250 --label team=kitchen
start compute_network
start person
start philosophers
start producer_consumer
start supervisor
start supervisor --divisors '[1, 0, 0, 0, 0, 0]'
start supervisor.supervise --divisors '[0, 0, 0, 0, 0, 0]' --most 2

cat <<END

The page of the server, for this browser and the next ten minutes ('tfy token login' prints another address):

    $("$tfy" token login)

    tfy ps --db $TFY_DB
    tfy start approval_chain --what coffee --cents 900 --db $TFY_DB

Interrupt it (Ctrl-C) to end the server and to remove its database.
END
wait "$server"
