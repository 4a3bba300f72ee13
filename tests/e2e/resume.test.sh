#!/bin/sh
# A run that was killed, interrupted or left waiting goes on where it stopped.
. "$here/lib.sh"
cp "$EXAMPLES/hello/hello.tfy" "$EXAMPLES/hello/expected" .
tfy build hello.tfy -o hello

# SIGKILL at several moments: whatever was printed before and after is the golden output, nothing twice.
for pause in 0.0 0.2 1.1 2.3; do
    rm -rf .tfy
    start tfy run hello.tfy
    within 20 grep -q hello out
    sleep "$pause"
    kill -KILL "$pid"
    finish
    check "killed after $pause s" ended 137
    cp out before
    run tfy resume last
    check "... resumes with 0" ended 0
    cat before out >both
    check "... and the whole output is there once" diff expected both
    run tfy replay last
    check "... and replays: 0 divergences" printed " 0 divergences, 0 effects performed"
done

run tfy resume last
check "resuming a finished run says so" ended 0 "already ended"
run tfy resume 12345678
check "resuming a run that is not there: 69" ended 69
run tfy --json resume
check "an option before the command: 64" ended 64
run tfy --db x.db resume
check "--db may stand before the command" ended 69 "x.db"
run tfy resume --db nowhere.db
check "resuming in a database that is not there: 69" ended 69
check "... does not make one" [ ! -e nowhere.db ]

# Ctrl-C, and what a service manager sends.
for signal in INT TERM; do
    rm -rf .tfy
    start env --default-signal=INT ./hello
    within 20 grep -q hello out
    kill -"$signal" "$pid"
    finish
    check "SIG$signal: 130" ended 130 "interrupted; continue with: tfy resume"
    check "SIG$signal: a ShutdownMarker" [ "$(records ShutdownMarker)" = 1 ]
    run ./hello resume last
    check "a built program resumes itself after SIG$signal" ended 0
    check "... to its result" printed '"goodbye, world"'
done

# The file may have changed or gone: the run goes on with the code it began with.
rm -rf .tfy
start tfy run hello.tfy --name ann
within 20 grep -q hello out
kill -KILL "$pid"
finish
sed -i 's/goodbye/farewell/; s/still here/never/' hello.tfy
run tfy resume last
check "a resumed run runs the code it began with" printed '"goodbye, ann"'
run tfy replay last --program hello.tfy
check "replay against a changed program: 65" ended 65
check "... names the first difference" printed "1 divergence,"
check "... and both texts" printed "never"
check "... with its source line" grep -q 'line [0-9]' out
run tfy replay last --json
check "replay --json" sh -c 'grep -q "\"divergences\":0" out'

# Several unfinished runs of two programs in one database.
rm -rf .tfy
cat >first.tfy <<'END'
workflow main(n: int) -> int {
    yield sleep(1500ms)
    print("first ${n}")
    return n
}
END
cat >second.tfy <<'END'
workflow main() {
    yield sleep(1500ms)
    print("second")
}
END
for n in 1 2; do
    start tfy run first.tfy --n $n
    within 20 sh -c '[ "$(sqlite3 -readonly .tfy/runs.db "select count(*) from history where type=\"TaskYield\"" 2>/dev/null)" = '$n' ]'
    kill -KILL "$pid"
    finish
done
start tfy run second.tfy
within 20 sh -c '[ "$(sqlite3 -readonly .tfy/runs.db "select count(*) from history where type=\"TaskYield\"" 2>/dev/null)" = 3 ]'
kill -KILL "$pid"
finish
run tfy resume --all
check "resume --all: 0" ended 0
check "... took up all three" sh -c 'printf "first 1\nfirst 2\nsecond\n" | diff - out'
run tfy resume --all
check "resume --all with nothing to do: 0" ended 0

# Two processes want the same database.
rm -rf .tfy
start tfy run hello.tfy
within 20 grep -q hello out
cp out first.out
status=0
tfy run first.tfy --n 1 --db .tfy/runs.db >out2 2>err2 </dev/null || status=$?
check "a held database: 75" [ "$status" = 75 ]
check "... names who holds it" grep -q "held by pid" err2
check "ps looks on meanwhile" sh -c 'tfy ps | grep -q main'
kill -KILL "$pid"
finish
run tfy run first.tfy --n 1
check "a killed owner holds nothing" ended 0
