#!/bin/sh
# Several runs in one directory at a time: each process writes a database of its own, and commands find a run in any of them.
. "$here/lib.sh"
cat >wait.tfy <<'END'
workflow main(name: string) -> string {
    let n: int = yield signal("go")
    return "${name} ${n}"
}
END
cat >keep.tfy <<'END'
type Row { n: int }
workflow main() {
    yield save("rows", Row(n: 1))
    yield sleep(20ms)
}
END
waits() { tfy ps --json | grep -c '"state":"running"' | grep -qx "$1"; }
ids() { tfy ps --json | python3 -c 'import json, sys; print(*[run["run"] for run in json.load(sys.stdin)])'; }

start tfy run wait.tfy --name one --wait
first=$pid
within 20 waits 1
tfy run wait.tfy --name two --wait >two.out 2>two.err </dev/null &
second=$!
within 20 waits 2
tfy run wait.tfy --name three --wait >three.out 2>three.err </dev/null &
third=$!
check "three runs in one directory at a time" within 20 waits 3
check "... each in a database of its own" [ "$(ls .tfy/*.db | tr '\n' ' ')" = ".tfy/runs-2.db .tfy/runs-3.db .tfy/runs.db " ]
run tfy ps
check "ps lists all, newest first" [ "$(sed -n 's/.*--name //p' out | tr '\n' ' ')" = "three two one " ]
check "ps --json says where" [ "$(tfy ps --json | grep -o '"db":"[^"]*"' | tr '\n' ' ')" = '"db":".tfy/runs-3.db" "db":".tfy/runs-2.db" "db":".tfy/runs.db" ' ]
set -- $(ids)
run tfy inspect last
check "'last' is the newest of all" printed "run        $1"
check "... and the command to type next needs no --db" printed "  tfy signal $1 go [JSON]"
run tfy inspect "$(printf %s "$2" | cut -c1-25)"
check "the beginning of an id finds its database" printed "run        $2"
run tfy inspect 0000
check "a run that none of them has: 69" ended 69 "has no run '0000'"
check "a signal reaches the process of its run" tfy signal "$2" go 2
wait $second
check "... which ends" grep -qx '"two 2"' two.out
run tfy result "$2"
check "result finds it" printed_exactly '"two 2"'
run tfy replay "$2"
check "replay finds it" printed " 0 divergences"
kill -KILL $third
wait $third 2>/dev/null
run tfy signal "$1" go 3
check "a signal to a run whose process is gone" ended 0 "continue with: tfy resume $1"
run tfy resume "$1"
check "resume finds it while others run" printed_exactly '"three 3"'
run tfy run wait.tfy --name four
check "a database that is free again is taken" [ "$(sqlite3 .tfy/runs-2.db 'select count(*) from run')" = 2 ]
check "... and the way on is found by the id" grep -q "tfy signal [0-9a-f-]* go" err
run tfy run keep.tfy
check "a program that saves rows belongs to runs.db: 75" ended 75 ".tfy/runs.db is held by pid $first"
run tfy run wait.tfy --name five --db .tfy/runs.db
check "so does a run of --db" ended 75 "is held by pid $first"
TFY_DB=.tfy/runs.db run tfy run wait.tfy --name five
check "... and of TFY_DB" ended 75 "is held by pid $first"
run tfy resume "$3"
check "a run is resumed by one process" ended 75 "is held by pid $first"
check "the first goes on" tfy signal "$3" go 1
finish
check "... and ends" printed_exactly '"one 1"'
run tfy signal last go 4
run tfy resume --all
check "resume --all goes through all" [ "$(tfy result last)" = '"four 4"' ]
run tfy verify
check "verify checks all" [ "$(grep -c . out)" -ge 3 ] && [ "$status" = 0 ]
run tfy gc --keep 0
check "gc removes from all" ended 0
run tfy ps
check "... nothing is left" ended 0 "no runs yet"
run tfy run keep.tfy
check "a free runs.db takes rows" [ "$(sqlite3 .tfy/runs.db 'select count(*) from rows')" = 1 ]
