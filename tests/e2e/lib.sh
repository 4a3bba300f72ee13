# lib.sh: what the end-to-end tests share. A topic includes it with `. "$here/lib.sh"`.

# check NAME COMMAND…: one test; passes when the command succeeds. Its output, and that of the last `run`, is shown when it fails.
check()
{
    test_name=$1
    shift
    if "$@" >check.out 2>&1; then
        echo "ok $test_name"
    else
        echo "not ok $test_name"
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

# said TEXT: the last run's stderr contains the text; printed TEXT: its stdout does; ended N: it ended with N.
said() { grep -qF -- "$1" err; }
printed() { grep -qF -- "$1" out; }
ended() { [ "$status" = "$1" ]; }

# until_true SECONDS COMMAND…: waits until the command succeeds.
until_true()
{
    tries=$(($1 * 20))
    shift
    while ! "$@" >/dev/null 2>&1; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || return 1
        sleep 0.05
    done
}
