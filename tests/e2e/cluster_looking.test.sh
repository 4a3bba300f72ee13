#!/bin/sh
# Commands that make, check, read and answer a database of PostgreSQL.
. "$here/lib.sh"
. "$here/postgres_lib.sh"

# ---- making and checking ----

run tfy db check "$TFY_DB"
check "a database without tables: 69, and what to type" ended 69 "has no tables of Tiffany; run \`tfy db create\`"
run tfy db create runs.db
check "a file is not an address: 64" ended 64 "'runs.db' is not the address of a database of PostgreSQL"
run tfy db create "$TFY_DB" --lease 1s
check "a lease that is too short: 64" ended 64 "3 s to 5 min"
run tfy db create "$TFY_DB" --lease soon
check "... and one that is not a time: 64" ended 64 "--lease takes a time from 3s to 5m, not 'soon'"
run tfy db create "$TFY_DB" --lease 10s
check "the tables are made" ended 0
run tfy db create "$TFY_DB"
check "... once: 65" ended 65 "already"
run tfy db check "$TFY_DB"
check "a check says how it was made" printed "lease      10s"
check "... and that no session lives" printed "sessions   0 alive"
check "... and ends well" ended 0
check "... and warns that it does not sync" ended 0 "fsync is turned off"
run tfy db check "$TFY_DB" --json
check "as JSON" jq -e '.usable and .lease_ms == 10000 and .lossy == false and .sessions == [] and .standbys == 0' out
sql "insert into tfy.session(worker, lease_ms, beat) values ('w', 10000, 3)"
run tfy db check "$TFY_DB" --json
check "a session that lives" jq -e '.sessions == [{"session": 1, "commits": 3, "lease_ms": 10000}]' out
sql "update tfy.session set state = 9"
sql "alter table tfy.run set (autovacuum_enabled = off)"
run tfy db check "$TFY_DB"
check "autovacuum that is turned off is a warning" ended 0 "autovacuum is turned off"
sql "alter table tfy.run reset (autovacuum_enabled)"
sql "update tfy.meta set reads_from = 9, format = 9"
run tfy db check "$TFY_DB"
check "a format of the future: 65" ended 65 "tables have format 9"
sql "update tfy.meta set reads_from = 2, format = 2"
run tfy db check "postgresql:///tfy?host=$pg/nowhere&user=tfy"
check "a server that is not there: 74, in one line" ended 74 "failed: No such file or directory; Is the server running"

# ---- runs that nobody has taken yet ----

cat >looked.tfy <<'END'
tool slow(n: int) -> string once = exec ["sleep", "60"]
workflow main(n: int) -> int {
    print("n is ${n}")
    return n * 2
}
workflow child(n: int) -> int {
    yield sleep(1ms)
    return n
}
workflow family() -> int {
    let a = spawn child(1)
    let b = spawn child(2)
    let x = yield join(a)
    let y = yield join(b)
    return x + y
}
workflow asks() -> string {
    let yes = yield approve("Go on?")
    if !yes { return "no" }
    let name = yield ask("Who?")
    let word: string = yield signal("ready")
    return "${name}: ${word}"
}
workflow doubts() -> string {
    return yield slow(1)
}
END
psql -h "$pg" -U tfy -d tfy -qc "drop schema tfy cascade; drop schema saved cascade" 2>/dev/null
tfy db create "$TFY_DB" --lease 3s >/dev/null

run tfy ps
check "a database without runs" ended 0 "has no runs yet"
tfy deploy looked.tfy >/dev/null
main=$(tfy start looked.main --n 4)
family=$(tfy start looked.family)
asks=$(tfy start looked.asks)
run tfy ps
check "runs that nobody has taken are queued" [ "$(grep -c queued out)" = 3 ]
run tfy inspect "$main"
check "inspect says so" printed "state      queued, 1 records"
check "... and nothing about resuming" sh -c '! grep resume out'
run tfy result "$main"
check "result says so: 75" ended 75 "has not ended; it is queued"
run tfy resume "$main"
check "workers resume: 64" ended 64 "start one: tfy worker FILE.tfy"
run tfy kill "$family" --timeout 100ms
check "a request that nobody takes is accepted: 75" ended 75 "accepted; nobody has taken it yet"
check "... and lies in the database" [ "$(sql "select count(*) from tfy.inbox where verdict is null")" = 1 ]
run tfy kill 77
check "there is no such run: 69" ended 69 "the database has no run '77'"

shows() # STATE SET: what ps says of the run while its row has this
{
    sql "update tfy.run set $2 where uuid = '$main'"
    tfy ps --state "$1" | grep -c "$main"
    sql "update tfy.run set due = 0, held = null where uuid = '$main'"
}
check "one that is due later is waiting" [ "$(shows waiting 'due = 9223372036854775807')" = 1 ]
check "one that is held back is held" [ "$(shows held "held = 'poison'")" = 1 ]
check "both are unfinished" [ "$(shows unfinished "held = 'poison'")" = 1 ]

# ---- runs that a worker executes ----

works()
{
    tfy worker looked.tfy >worker.out 2>&1 &
    worker=$!
}
stands() { [ "$(tfy ps --json | jq -r ".[] | select(.run == \"$1\") | .state")" = "$2" ]; }
works
check "the request that lay there is taken" within 20 stands "$family" cancelled
check "a run ends" within 20 stands "$main" completed
asked() { tfy inspect "$asks" | grep -q "$1"; }
check "a run asks" within 20 asked "Go on?"
run tfy ps --json
check "ps has the result" jq -e '.[] | select(.result == 8) | .ended' out
run tfy ps --state unfinished
check "ps: only what has not ended" [ "$(grep -c looked.tfy out)" = 1 ]
run tfy result "$main"
check "result" printed_exactly 8
run tfy output "$main"
check "output" printed_exactly "n is 4"
run tfy history "$main"
check "history" printed "Claimed"
run tfy inspect "$asks"
check "inspect: what to type" printed "tfy approve $asks --yes"
run tfy stats
check "stats" printed "runs       3, 0 failed, 1 cancelled"
run tfy diff "$main" "$family"
check "diff: 1" ended 1
family=$(tfy start looked.family)
check "a run with children ends" within 20 stands "$family" completed
run tfy tasks "$family"
check "tasks" printed "join"
run tfy timeline "$family" --format text
check "timeline" printed "1.2 child"
run tfy costs
check "costs" ended 0 "no model was asked"
run tfy why "$family" 1
check "why" printed "no model chose it"
run tfy graph "$main"
check "graph of a stored program" printed 'subgraph r0["main"]'
run tfy build "$main" -o again
check "build of a stored program" sh -c 'TFY_DB= ./again --workflow family --result-only | grep -qx 3'

# ---- answers ----

run tfy resolve "$asks" 1 --retry
check "what does not fit is refused by the worker: 1" ended 1 "no step of run $asks is in doubt"
run tfy approve "$asks" --answer perhaps
check "... also what is not an answer: 64" ended 64 "'perhaps' is not an answer to this question"
run tfy approve "$asks"
check "a yes" ended 0 "answered with yes"
check "... leads to the next question" within 20 asked "Who?"
run tfy approve "$asks" Ann
check "a text" ended 0 "answered with Ann"
check "... leads to the signal" within 20 asked "waits for signal ready"
run tfy signal "$asks" ready 5
check "a signal that does not fit: 65" ended 65 "expected string, got 5"
run tfy signal "$asks" ready '"go"' --id first
check "a signal" ended 0 "sent"
run tfy signal "$asks" ready '"go"' --id first
check "... with an id is sent once" ended 0 "sent"
check "... and lies there once" [ "$(sql "select count(*) from tfy.inbox where id = 'first'")" = 1 ]
check "the run ends" within 20 stands "$asks" completed
run tfy result "$asks"
check "... with what it was told" printed_exactly '"Ann: go"'
run tfy signal "$asks" ready '"go"' --id first
check "... and still knows the signal" ended 0 "sent before; step 3 of task 1 took it"
run tfy signal "$asks" ready '"go"'
check "... and takes no other: 1" ended 1 "has already ended"
run tfy deny "$asks"
check "... nor an answer: 1" ended 1 "has already ended"

# ---- a step in doubt ----

doubts=$(tfy start looked.doubts)
check "a run that works is running" within 20 stands "$doubts" running
begun() { tfy inspect "$doubts" | grep -q "waits for the result of slow"; }
check "... and inspect says at what" within 20 begun
run tfy inspect "$doubts"
check "... and in which session" printed "in session"
kill -KILL "$(pgrep -P "$worker")"
check "after a kill it is in doubt" within 30 stands "$doubts" doubt
run tfy resolve "$doubts" 1 --done '"done"'
check "a person resolves it" ended 0 "resolved"
check "... and it ends" within 20 stands "$doubts" completed

# ---- copies ----

run tfy replay "$family"
check "replay" ended 0
check "... compares all" printed "13 records compared, 0 divergences"
run tfy wal export "$family" -o exported
check "export" ended 0
run tfy wal import exported/*.run --db file.db
check "... a file imports it" ended 0 "of 3 tasks"
run tfy verify --db file.db
check "... and is sound" printed "is sound"
run tfy replay last --db file.db
check "... and replays it" printed "13 records compared, 0 divergences"

# ---- a server that is away ----

kill "$worker"
wait "$worker" 2>/dev/null
pg_stops
run tfy ps
check "no server: 74" ended 74 "Is the server running"
run tfy approve "$asks"
check "... also for answers" ended 74 "Is the server running"
