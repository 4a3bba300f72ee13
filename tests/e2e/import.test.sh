#!/bin/sh
# tfy wal export and import: a run goes into another database and is the same there, finished or not.
. "$here/lib.sh"
cat >team.tfy <<'END'
workflow squares(upto: int, out: channel<int>) {
    for i in 1..upto {
        yield out.send(i * i)
    }
    out.close()
}
workflow waiter(t: task<nothing>) -> int {
    yield join(t)
    return 7
}
workflow main(half: float = 0.1) -> int {
    let numbers: channel<int> = channel(2)
    let t = spawn squares(4, numbers)
    let u = spawn waiter(t)
    let _first = yield numbers.recv()
    print("got one, äöü \u{1F600} \"quoted\" ${half}")
    let _yes = yield approve("go on?")
    let seven = yield join(u)
    return seven
}
END
tfy run team.tfy --yes >out 2>err
TFY_SNAPSHOT_EVERY=3 tfy run team.tfy >out 2>err # a snapshot is a record like any other
tfy run team.tfy --yes --db other.db >out 2>err
run tfy wal export 1 -o done
check "export a finished run" ended 0
run tfy wal export 2 -o half
check "export an unfinished run" ended 0
run tfy wal import done/*.run half/*.run --db other.db
check "import both" ended 0 "of 3 tasks"
run tfy verify --db other.db
check "the database is sound" ended 0
check "... and has them" printed "in 3 runs"
# The same, but for the numbers of records.
same()
{
    rm -rf again
    tfy wal export "$(basename "$1"/*.run .run)" -o again --db other.db >out 2>err || return 1
    for file in "$1"/*.wal; do
        sed 's/"lsn":[0-9]*//' "$file" >left
        sed 's/"lsn":[0-9]*//' "again/$(basename "$file")" | diff left - || return 1
    done
    [ "$(ls "$1" | wc -l)" = "$(ls again | wc -l)" ]
}
check "the finished run is the same" same done
check "the unfinished run is the same" same half
finished=$(basename done/*.run .run)
unfinished=$(basename half/*.run .run)
run tfy replay "$finished" --db other.db
check "it replays" printed " 0 divergences, 0 effects performed"
run tfy output "$finished" --db other.db
check "its output is there" printed "got one"
run tfy wal import done/*.run --db other.db
check "a run that is there is refused: 1" ended 1 "already has run $finished"
run tfy approve "$unfinished" --db other.db
run tfy resume "$unfinished" --db other.db
check "the unfinished run goes on" printed 7
run tfy replay "$unfinished" --db other.db
check "... and replays" printed " 0 divergences"
run tfy wal import half/*.run --db new.db
check "import makes a database" ended 0
run tfy verify --db new.db
check "... a sound one" ended 0

# refused NAME: what is in ./bad is not taken, and nothing is written.
refused()
{
    run tfy wal import bad/*.run --db none.db
    check "$1" ended "${2:-65}" "nothing was imported"
    check "... no database is made" [ ! -e none.db ]
    rm -rf bad
    cp -r half bad
}
cp -r half bad
root=$(basename half/*.run .run).wal
sed -i 's/got one/got two/' "bad/$root" && refused "a changed payload"
sed -i 's/:\([0-9][0-9]\)\.[0-9]*Z/:\1.000Z/' "bad/$root" && refused "changed times"
sed -i '$d' "bad/$root" && refused "a lost line"
sed -i 2d "bad/$root" && refused "a lost line in the middle"
sed -i 's/got one/got ten/' bad/*.run && refused "a changed program"
sed -i 's/"path": "1.1"/"path": "1.3"/' bad/*.run && refused "a task with another path" 69
sed -i 's/"lsn":\([0-9]*\),/"lsn":1\1,/' "bad/$root" && refused "another order"
sed -i 's/"tid": [0-9]*/"tid": 9/' bad/*.run && refused "tasks with one number"
printf '{"format": "tfy run", "v": 1}' >"$(echo bad/*.run)" && refused "half a head"
printf '{"format": "tfy run", "v": 99}' >"$(echo bad/*.run)" && refused "a newer version"
printf 'x' >"$(echo bad/*.run)" && refused "no JSON"
rm "bad/$root" && refused "a file that is missing" 69
printf '{"v":1' >>"bad/$root" && refused "a line that was cut off"

# A step that was under way is in doubt where it is imported, also when a snapshot stands behind its beginning; and so in a copy.
cat >once.tfy <<'END'
tool act() -> string once = exec ["sh", "-c", "echo begun >>ledger; sleep 30"]
workflow beats() {
    for _ in 0..40 {
        yield sleep(20ms)
        print("tick")
    }
}
workflow main() -> string {
    spawn detached beats()
    let said = yield act()
    return said
}
END
hidden() { [ "$(sqlite3 -readonly .tfy/runs.db "select max(lsn*(type='Snapshot')) > max(lsn*(type='StepStart' and what='act')) from history")" = 1 ]; }
start env TFY_SNAPSHOT_EVERY=1 tfy run once.tfy
within 20 grep -q begun ledger
within 20 hidden
tfy wal export last -o once >exported 2>&1
kill -KILL "$pid"
finish
run tfy wal import once/*.run --db new.db --json
check "a step under way is in doubt" printed '"in_doubt":1'
run tfy inspect last --db new.db
check "... and can be resolved" printed "tfy --db new.db resolve"
run tfy verify --db new.db
check "... in a sound database" ended 0
tfy backup copy.db >out 2>err
run tfy adopt --db copy.db --json
check "a copy's step is in doubt as well" printed '"in_doubt": 1'
tfy resolve last --db copy.db "$(sqlite3 copy.db "select step from history where type='InDoubt'")" --fail >out 2>err
run tfy resume last --db copy.db
check "... and can be resolved" ended 1 "main failed"
run tfy replay last --db copy.db
check "... and replays" printed " 0 divergences"
