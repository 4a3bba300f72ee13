#!/bin/sh
# tfy worker: several of them share the runs of one PostgreSQL; processes are killed, frozen and stopped, and what was started is
# done once. The tools have a ledger outside the database.
. "$here/lib.sh"
. "$here/postgres_lib.sh"
cp "$EXAMPLES/cluster/orders.tfy" .
cat >waits.tfy <<'EOF'
workflow naps(n: int) -> int {
    yield sleep(1s)
    return n + 1
}
workflow asks() -> string {
    if yield approve("ship it?") { return "shipped" }
    return "kept"
}
workflow hears() -> int {
    let n: int = yield signal("go")
    return n
}
type Row { n: int }
tool work() -> string pure = exec ["sleep", "1"]
workflow keeps(n: int) -> int {
    yield work()
    yield save("kept", Row(n: n))
    return n
}
EOF
tfy db create "$TFY_DB" --lease 6s >/dev/null
tfy deploy orders.tfy >/dev/null
tfy deploy waits.tfy >/dev/null
begin() { # NAME FILES…: $worker, and NAME.log
    begin_name=$1
    shift
    tfy worker "$@" --name "$begin_name" --drain 5s 2>>"$begin_name.log" &
    worker=$!
}
children() { pgrep -P "$1"; }
unfinished() { [ "$(sql "select count(*) from tfy.run where state < 12")" = 0 ]; }
alive() { [ "$(sql "select count(*) from tfy.session where state = 0")" = "$1" ]; }

# ---- words ----

run tfy worker
check "a worker needs a program" ended 64 "FILE.tfy"
run tfy worker orders.tfy --db "$PWD/file.db"
check "... and a database of PostgreSQL" ended 64 "tfy serve"
run tfy worker orders.tfy --drain soon
check "... and times that are some" ended 64 "not 'soon'"
printf 'workflow main( {' >wrong.tfy
run tfy worker wrong.tfy
check "a program with mistakes starts nothing" ended 65 "wrong.tfy"
run timeout 20 tfy worker orders.tfy --db "postgresql:///none?host=$pg&user=tfy"
check "a database that is not there ends it" sh -c 'grep -q "does not exist" err'

# ---- one worker, two programs ----

begin one orders.tfy waits.tfy
check "each program has a process and a session" within 10 alive 2
run tfy start waits.naps --n 4 --wait
check "a run that sleeps leaves its session, and is done" printed_exactly 5
tfy start waits.asks >asked
check "a question waits" within 10 sh -c 'tfy inspect "$(cat asked)" | grep -q "ship it?"'
run tfy approve "$(cat asked)"
check "... for its answer, which is taken" ended 0
check "... and the run ends" within 10 sh -c 'test "$(tfy result "$(cat asked)")" = "\"shipped\""'
tfy start waits.hears >heard
run tfy signal "$(cat heard)" go 12
check "a signal is taken" ended 0
check "... once" within 10 sh -c 'test "$(tfy result "$(cat heard)")" = 12'
run tfy signal "$(cat heard)" go 13
check "... and not behind the end of its run" ended 1 "already ended"
tfy start waits.naps --n 1 >/dev/null
child=$(children $worker | head -1)
kill -SEGV $child
check "a process that crashes is started again" within 10 grep -q "killed (Segmentation fault); it is started again" one.log
check "... its session ends at once" within 3 sh -c '[ "$(psql -h "$0" -U tfy -d tfy -qAtc "select count(*) from tfy.session where why = '"'its process was killed'"'")" = 1 ]' "$pg"
check "... and its program is executed again" within 10 alive 2
check "... and what it left is done" within 10 unfinished
kill -TERM $worker
wait $worker
check "it ends in order" [ $? = 0 ]
check "... and its sessions with it" alive 0

# ---- three workers, killed and frozen ----

ORDERS=90
seq $ORDERS | xargs -P 4 -I{} tfy start orders --customer "customer {}" --cents {} >started # … before there is a worker
check "all orders are started" [ "$(wc -l <started)" = $ORDERS ]
begin east orders.tfy
east=$worker
begin west orders.tfy
west=$worker
has_ended() { [ "$(sql "select count(*) from tfy.run where state >= 12 and id > 5")" -ge "$1" ]; }
check "workers share them" within 30 has_ended $((ORDERS / 4))
kill -STOP $(children $west)
check "a process that is frozen does not keep the others" within 30 has_ended $((ORDERS / 3))
kill -STOP $east # so that it cannot speak for its process
pkill -KILL -P $east
kill -KILL $east
wait $east 2>/dev/null
check "a process that was frozen is killed at its deadline" within 40 grep -q "killed, as at the end of a lease; it is started again" west.log
check "a worker that is killed is missed after a lease" within 40 sh -c '[ "$(psql -h "$0" -U tfy -d tfy -qAtc "select count(*) from tfy.session where why like '"'it committed nothing%'"'")" -ge 1 ]' "$pg"
settled() # all have ended, or are in doubt
{
    [ "$(sql "select count(*) from tfy.run where state < 12")" = "$(tfy ps --state doubt --limit 1000 --json | grep -c '"run"')" ]
}
check "the other one does what is left" within 60 settled
tfy ps --state doubt --limit 1000 --json | sed -n 's/.*"run": *"\([0-9a-f-]*\)".*/\1/p' >doubtful
check "charges that had begun are in doubt" [ -s doubtful ]
while read -r doubtful; do
    if grep -q "^end $doubtful/1/2 " ledger.txt; then tfy resolve "$doubtful" 2 --done '"charged"'; else tfy resolve "$doubtful" 2 --retry; fi
done <doubtful >resolved 2>&1
check "a person says what happened" [ "$(grep -vc "^" resolved)" = 0 ]
check "... and all runs end" within 60 unfinished
check "... completed" [ "$(sql "select count(*) from tfy.run where state <> 12")" = 0 ]
resolved=$(sql "select count(*) from tfy.history where type = 'Resolved'")
check "no charge began twice but for those, and none beside a newer owner's" awk -v orders=$ORDERS -v resolved="$resolved" '
    $1 == "begin" { begun[$2]++ }
    $3 < fence[$2] { late++ }
    $3 > fence[$2] { fence[$2] = $3 }
    END {
        for (key in begun) { keys++; again += begun[key] - 1 }
        print keys, again, resolved, late + 0
        exit keys != orders || again > resolved || late > 0
    }' ledger.txt
check "each tool knows its fence" sh -c '! grep -qv "^[a-z]* [^ ]* [1-9][0-9]*$" ledger.txt'
check "each owner is in the history" [ "$(sql "select count(*) from tfy.history where type = 'Claimed'")" -ge $ORDERS ]
kill -TERM $west
wait $west
check "the last worker ends in order" [ $? = 0 ]

# ---- the database goes away ----

sql "update tfy.meta set lease_ms = 30000" # however slow the machine is, the server is back before its end
begin last waits.tfy
check "a worker is ready" within 10 alive 1
pg_stops INT
sleep 1
pg_starts
tfy start waits.naps --n 7 >napped
check "a worker goes on when the database is back" within 20 sh -c 'test "$(tfy result "$(cat napped)")" = 8'
check "... in the same session" alive 1
tfy start waits.keeps --n 5 >kept
check "a tool works" within 10 pgrep -f "^sleep 1$"
pg_stops INT
sleep 2
pg_starts
check "a row of a table that could not be read is saved when the database is back" within 20 sh -c 'test "$(tfy result "$(cat kept)")" = 5'
check "... once" [ "$(sql "select count(*) from saved.kept")" = 1 ]
kill -TERM $worker
wait $worker
