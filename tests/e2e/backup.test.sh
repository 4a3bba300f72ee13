#!/bin/sh
# tfy doctor, backup and adopt: what is the matter, a copy beside a live writer, and a copy that becomes a database of its own.
. "$here/lib.sh"
cat >once.tfy <<'END'
tool act(wait: string) -> string once = exec ["sh", "-c", "echo begun >>ledger; sleep \$1; echo result", "act", wait]
workflow main(wait: string = "30") -> string {
    let _yes = yield approve("go on?")
    print("before")
    let said = yield act(wait)
    return said.trim()
}
END
cat >busy.tfy <<'END'
workflow main() -> int {
    for _ in 1..1000000 {
        print("line")
    }
    return 1
}
END
run tfy doctor
check "doctor without a database: 69" ended 69 "there is no database"
run tfy backup copy.db
check "backup without a database: 69" ended 69 "there is no database"
run tfy run once.tfy
run tfy doctor
check "doctor" ended 0
check "... why a run waits" printed "waits for an answer: go on?"
check "... and what to type" printed "type: tfy approve"
start tfy run once.tfy --yes
within 20 grep -q begun ledger
sh -c 'tfy doctor >doctored 2>&1; tfy backup copy.db >backed 2>&1; echo $? >>backed; tfy adopt >adopted 2>&1; echo $? >>adopted'
check "doctor names the writer" grep -q "writer     pid $pid (" doctored
check "... and a step that is under way" grep -q "waits for the result of act" doctored
check "backup beside a live writer" grep -qx 0 backed
check "... says what it has" grep -q "checked: 2 runs" backed
check "nobody adopts what a process holds: 75" grep -qx 75 adopted
kill -KILL "$pid"
finish
check "the copy is private" [ "$(stat -c %a copy.db)" = 600 ]
check "nothing lies beside it" sh -c '! ls copy.db-*'
run tfy verify --db copy.db
check "the copy is sound" ended 0
run tfy inspect last --db copy.db
check "it is there to be looked at" printed "had started act"
run tfy backup copy.db
check "a backup overwrites nothing: 64" ended 64 "copy.db already exists"
run tfy adopt --db copy.db --json
check "adopt" ended 0
check "... makes the step under way InDoubt" printed '"in_doubt": 1'
check "... in the log too" [ "$(records InDoubt copy.db)" = 1 ]
run tfy doctor --db copy.db
check "... doctor says so" printed "in doubt: act may or may not have happened"
run tfy adopt --db copy.db
check "adopted once" ended 0 "is not a copy"
run tfy verify --db copy.db
check "it is sound" ended 0
step=$(sqlite3 copy.db "select step from history where type='InDoubt'")
run tfy resolve last "$step" --done '"by hand"' --db copy.db
run tfy resume last --db copy.db
check "the run goes on in the copy" printed '"by hand"'
check "the tool did not run again" [ "$(cat ledger)" = begun ]

# Whatever is written meanwhile, a backup is one moment.
start tfy run busy.tfy --db busy.db
within 20 sh -c '[ -s busy.db ] && [ "$(sqlite3 busy.db "select max(lsn) from wal")" -gt 1000 ]'
sh -c 'for i in 1 2 3; do tfy backup busy$i.db --db busy.db || exit 1; done' >backed 2>&1
check "three backups under load" sh -c '[ "$(grep -c checked backed)" = 3 ]'
kill -KILL "$pid"
finish
echo no >taken.db
run tfy backup taken.db
check "a name that is taken: 64" ended 64 "taken.db already exists"
run tfy backup no/such/place.db
check "a place that is not there: 74" ended 74 "no/such/place.db"
run tfy backup
check "no name: 64" ended 64 "backup needs FILE"
