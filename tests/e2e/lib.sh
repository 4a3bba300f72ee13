# lib.sh: what the end-to-end tests share. A topic includes it with `. "$here/lib.sh"`.
PATH=$build:$PATH
export PATH

# check NAME COMMAND…: one test; passes when the command succeeds. What it said, and the last `run`, are shown when it fails.
check()
{
    test_name=$1
    shift
    if "$@" >check.out 2>&1; then
        echo "ok $test_name"
    else
        echo "not ok $test_name"
        echo "    failed: $*"
        sed 's/^/    /' check.out
        [ ! -f out ] || head -n 30 out | sed 's/^/    out: /'
        [ ! -f err ] || head -n 30 err | sed 's/^/    err: /'
        [ -z "${status:-}" ] || echo "    status: $status"
    fi
}

# run COMMAND…: keeps stdout in ./out, stderr in ./err, the exit status in $status.
run()
{
    status=0
    "$@" >out 2>err </dev/null || status=$?
}

# start COMMAND…: the same in the background; its process is $pid. finish: waits for it and sets $status.
start()
{
    rm -f out err # so that nobody waits for words of the run before
    "$@" >out 2>err </dev/null &
    pid=$!
}
finish()
{
    status=0
    wait "$pid" || status=$?
}

# ended STATUS [TEXT]: the last run ended so, and its stderr contains the text. printed TEXT: its stdout does.
ended()
{
    [ "$status" = "$1" ] || { echo "ended with $status, not $1"; return 1; }
    [ $# = 1 ] || grep -qF -- "$2" err || { echo "stderr does not say: $2"; return 1; }
}
printed() { grep -qF -- "$1" out; }
printed_exactly() { [ "$(cat out)" = "$1" ]; }

# within SECONDS COMMAND…: waits until the command succeeds.
within()
{
    tries=$(($1 * 20))
    shift
    while ! "$@" >/dev/null 2>&1; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || return 1
        sleep 0.05
    done
}

# How many records of a type the database holds. records TYPE [DB]
records()
{
    sqlite3 -readonly "${2:-.tfy/runs.db}" "select count(*) from history where type='$1'"
}
