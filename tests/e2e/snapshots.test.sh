#!/bin/sh
# Snapshots: a run is taken up from its newest one; and parking: a run that waits for long leaves memory and comes back.
. "$here/lib.sh"
cat >count.tfy <<'TFY'
tool look(n: int) -> int pure = exec ["sh", "-c", "echo ${n} >>looked; echo ${n}"]

error Odd { n: int }

workflow each(from: int, list: channel<int>) -> int fails Odd {
    yield list.send(from)
    yield signal("go")
    if from % 2 == 1 { fail Odd(n: from) }
    return from
}

workflow main(rounds: int) -> string fails Odd {
    let list: channel<int> = channel(5)
    let one = spawn each(1, list)
    let other = spawn each(2, list)
    let children = [one, other]
    var texts: list<string> = []
    for i in 1..rounds {
        let n = yield look(i)
        texts = texts.push("${n}")
    }
    with lock("book") {
        let word: string = yield signal("word")
        print("heard ${word}")
    }
    let first = yield list.recv()
    let second = yield list.recv()
    kill(children[0])
    kill(children[1])
    return "${texts.join(",")} ${first ?? 0} ${second ?? 0}"
}
TFY
db=.tfy/runs.db
sql() { sqlite3 "$db" "$1"; }
snapshots() { sql "select count(*) from wal where type=33"; }

TFY_SNAPSHOT_EVERY=4 run tfy run count.tfy --rounds 12
check "it waits for signals" ended 75
check "snapshots were written" test "$(snapshots)" -ge 3
check "one is not a step" test "$(sql "select count(*) from wal where type=33 and point>0")" = 0
run tfy replay last
check "a replay passes over them" printed " 0 divergences, 0 effects performed"

# What stands in front of the newest snapshot is not read: without it the run could not be taken up.
run tfy signal last word '"now"'
newest=$(sql "select max(lsn) from wal where type=33")
cp looked looked.before
TFY_SNAPSHOT_EVERY=4 run tfy resume last
check "taken up from one, it goes on" printed '"1,2,3,4,5,6,7,8,9,10,11 1 2"'
check "and does nothing again" cmp looked looked.before
check "the newest is older than what came then" test "$newest" -lt "$(sql "select max(lsn) from wal")"
run tfy replay last
check "the whole run replays" printed " 0 divergences, 0 effects performed"
run tfy verify
check "and is sound" ended 0

# A fork's tasks have numbers of their own, which its snapshots and what comes behind them go by.
cat >spawns.tfy <<'TFY'
workflow each(n: int) -> int {
    return n
}

workflow main() -> int {
    var sum = 0
    for i in 1..30 {
        let one = spawn each(i)
        let got = yield join(one)
        sum = sum + got
        if i % 10 == 0 { let _go: string = yield signal("go") }
    }
    return sum
}
TFY
export TFY_SNAPSHOT_EVERY=20
run tfy --db f.db run spawns.tfy
tfy --db f.db fork last --at 5 >/dev/null 2>&1
run tfy --db f.db resume last
for n in 1 2; do
    tfy --db f.db signal last go '"on"' 2>/dev/null
    run tfy --db f.db resume last
done
check "a fork with snapshots goes on to its end" printed_exactly 435

# In a finally block: what it goes on with is a value, or an error, or neither.
cat >leaves.tfy <<'TFY'
error Out {}
workflow leave(how: string) -> string fails Out {
    try {
        if how == "error" { fail Out("out") }
        if how == "return" { return "back" }
    } finally {
        let _go: string = yield signal("go")
    }
    return "through"
}

workflow main(how: string) -> string fails Out {
    let left = yield leave(how)
    return left
}
TFY
for how in return through error; do
    TFY_SNAPSHOT_EVERY=1 tfy --db leaves.db run leaves.tfy --how $how >/dev/null 2>&1
    run tfy --db leaves.db replay last --from-snapshot
    check "a snapshot within a finally block, left by: $how" ended 0
done
unset TFY_SNAPSHOT_EVERY

cat >doze.tfy <<'TFY'
workflow nap(ms: int) -> int {
    yield sleep(1ms * ms)
    return ms
}

workflow main() -> int {
    let one = spawn nap(700)
    let two = spawn nap(300)
    yield sleep(500ms)
    print("half")
    let a = yield join(one)
    let b = yield join(two)
    let more: int = yield signal("more")
    return a + b + more
}
TFY
is_parked() { [ -s p.db ] && [ "$(sqlite3 -readonly p.db "select count(*) from run where parked>0" 2>/dev/null)" = 1 ]; }
export TFY_PARK_AFTER=0
start tfy --db p.db run doze.tfy
check "a run that waits leaves memory" within 10 is_parked
finish
check "time brings it back" printed "half"
check "and it waits for its signal" ended 75 "waits for signal more"
run tfy --db p.db signal last more 5
run tfy --db p.db resume last
check "a signal brings it back" printed_exactly 1005
check "it is parked no more" test "$(sqlite3 p.db "select parked from run")" = 0
run tfy --db p.db replay last
check "parked and woken, it replays" printed " 0 divergences, 0 effects performed"

rm -f p.db*
start tfy --db p.db run doze.tfy
check "it is parked" within 10 is_parked
kill -9 "$pid"
finish 2>/dev/null
run timeout 60 tfy --db p.db resume --all
check "killed while it was parked, it goes on with all that is unfinished" printed "half"
check "until it waits for somebody" ended 75 "resume --all"
run tfy --db p.db signal last more 6
run tfy --db p.db resume last
check "to its end" printed_exactly 1006
run tfy --db p.db verify
check "and the database is sound" ended 0
