#!/bin/sh
# Where output goes, and what happens when it cannot go there.
. "$here/lib.sh"
cat >talk.tfy <<'END'
workflow main(lines: int = 3) -> int {
    for i in 0..lines {
        print("line ${i}")
    }
    log("a remark", level: "warn")
    return lines
}

workflow fails(why: string) {
    yield
    fail Broken(why)
}

error Broken

workflow panics() -> int {
    let xs = [1]
    let i = xs.len() + 2
    return xs[i]
}
END
run tfy run talk.tfy
check "data on stdout" sh -c 'printf "line 0\nline 1\nline 2\n3\n" | diff - out'
check "remarks on stderr" grep -q "a remark" err
run tfy run talk.tfy --events
check "--events: JSON lines on stderr" grep -q '"stage":"Completed"' err
run tfy run talk.tfy --workflow fails --why "no good"
check "a run that fails: 1, error, file and line" ended 1 "fails failed: Broken: no good (talk.tfy:11)"
check "... names its workflow" grep -q "fails failed" err
check "... and prints no result" [ ! -s out ]
run tfy run talk.tfy --workflow panics
check "a panic: 1" ended 1 "talk.tfy:19"

status=0
tfy run talk.tfy >&- 2>err </dev/null || status=$?
check "stdout closed: 74" [ "$status" = 74 ]
check "... and said" grep -q "standard output" err
run tfy output last
check "... but nothing is lost" printed "line 2"
{ tfy run talk.tfy --lines 20000 2>err </dev/null; echo $? >code; } | head -n 1 >out
check "a reader that leaves early: 74" [ "$(cat code)" = 74 ]
check "... got its line" printed_exactly "line 0"
run sh -c 'tfy output last | tail -n 1'
check "... and the run went on to its end" printed "line 19999"
status=0
tfy ps >/dev/full 2>err </dev/null || status=$?
check "a full disk behind stdout: 74" [ "$status" = 74 ]
tfy run talk.tfy >/dev/full 2>err </dev/null || true
check "... of a run: its lines are in the log, and it says so" grep -q "cannot write to standard output .*'tfy output'" err
status=0
tfy run talk.tfy <&- >out 2>err || status=$?
check "stdin closed" [ "$status" = 0 ]
check "... changes nothing" printed "line 2"
status=0
tfy run talk.tfy 2>&- >out </dev/null || status=$?
check "stderr closed" [ "$status" = 0 ]
