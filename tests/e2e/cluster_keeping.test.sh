#!/bin/sh
# tfy fork, compat, move, events, verify and doctor on PostgreSQL.
. "$here/lib.sh"
. "$here/postgres_lib.sh"
tfy db create "$TFY_DB" --lease 3s >/dev/null
cat >shop.tfy <<'END'
tool weigh(n: int) -> int pure = exec ["sh", "-c", "echo $0", "${n}"]
tool charge(n: int) -> string once = exec ["sh", "-c", "echo $0 >>charged; sleep 60", "${n}"]
workflow main(n: int) -> int {
    let a = yield weigh(n)
    let b = yield weigh(a + 1)
    return a + b
}
workflow waits() -> string {
    let yes = yield approve("Go on?")
    return if yes { "gone" } else { "stayed" }
}
workflow pays() -> string {
    return yield charge(5)
}
END
tfy deploy shop.tfy >/dev/null
sum=$(tfy start shop --n 3 --pool fine)
waits=$(tfy start shop.waits --pool fine)
pays=$(tfy start shop.pays --pool fine)
tfy worker shop.tfy --pool fine --drain 100ms 2>worker.log &
worker=$!
stands() { [ "$(tfy ps --json | jq -r ".[] | select(.run == \"$1\") | .state")" = "$2" ]; }
within 20 stands "$sum" completed
check "a run ends" stands "$sum" completed
asked() { tfy inspect "$waits" | grep -q "Go on?"; }
check "one waits for a person" within 20 asked
check "one is in the middle of a once step" within 20 [ -s charged ]

# ---- fork ----

run tfy fork "$sum" --at 1 --set-result 10
check "a run is forked" ended 0 "forked; a worker continues it"
forked=$(cat out)
check "... a worker continues it" within 20 stands "$forked" completed
run tfy result "$forked"
check "... with the result that was set" printed_exactly 21
check "... in the pool of the other one" [ "$(sql "select q.pool from tfy.run r join tfy.queue q on q.id = r.queue where r.uuid = '$forked'")" = fine ]
run tfy diff "$sum" "$forked"
check "both are compared" ended 1
run tfy replay "$forked"
check "it is replayed" ended 0
run tfy fork "$sum" --at 9
check "there is no such step: 69" ended 69 "has no record of step 9"
run tfy fork 77 --at 1
check "there is no such run: 69" ended 69 "the database has no run '77'"
run tfy fork "$sum" --at 1 --set-result '"ten"'
check "a result of another type: 65" [ "$status" = 65 ]
run tfy fork "$pays" --at 1 --json
check "a once step under way is in doubt in the fork" jq -e '.doubts[0].tool == "charge"' out
again=$(jq -r .run out)
doubted() { tfy inspect "$again" | grep -q "tfy resolve"; }
check "... and waits for a person" within 20 doubted
tfy resolve "$again" 1 --done '"paid"' >/dev/null
check "... who says what happened" within 20 stands "$again" completed
check "... and it was done once" [ "$(wc -l <charged)" = 1 ]
check "no session of a fork is left" [ "$(sql "select count(*) from tfy.session where worker = 'tfy fork' and state = 0")" = 0 ]

# ---- compat ----

sed 's/"stayed"/"remained"/' shop.tfy >same.tfy
sed 's/Go on?/Really?/' shop.tfy >other.tfy
run tfy compat "$waits" same.tfy
check "compat: it can continue" ended 0
check "... and where it is" printed "1 task is there"
run tfy compat "$waits" other.tfy
check "compat: it cannot: 1" ended 1
check "... and why" printed "Really?"
run tfy compat "$waits" same.tfy --json
check "compat: all runs of the old program" jq -e '.runs == 2 and .stuck == 0 and .refused_runs == []' out

# ---- move ----

cat >asks.tfy <<'END'
workflow main(n: int) -> string {
    let yes = yield approve("Go on with ${n}?")
    return if yes { "gone" } else { "stayed" }
}
END
sed 's/"stayed"/"remained"/' asks.tfy >asks2.tfy
sed 's/Go on/Carry on/' asks.tfy >asks3.tfy
tfy deploy asks.tfy >/dev/null
TFY_PARK_AFTER=100 tfy worker asks.tfy --name old --drain 100ms 2>old.log &
old=$!
for n in 1 2 3; do tfy start asks --n $n; done >asked
sleeping() { [ "$(tfy ps --state waiting --json | jq '[.[] | select(.file | startswith("asks"))] | length')" = 3 ]; }
check "runs wait for people" within 30 sleeping
first=$(sed -n 1p asked)
hash=$(sql "select encode(p.hash, 'hex') from tfy.run r join tfy.program p on p.id = r.program where r.uuid = '$first'")
run tfy move "$first" asks3.tfy
check "a run does not move to a program with which it cannot continue: 1" ended 1 "0 of 1 unfinished runs were moved"
check "... and why" printed "Carry on"
run tfy move "$hash" asks2.tfy
check "a program is not a run: 64" ended 64 "--all moves all runs of a program"
run tfy move "$first" asks2.tfy --db runs.db
check "in a file, resume moves a run: 64" ended 64 "resume RUN --with"
sql "update tfy.run set waits = 1 where uuid = '$first'"
run tfy move "$first" asks2.tfy
check "one that waits for others to end does not move: 1" ended 1
sql "update tfy.run set waits = 0 where uuid = '$first'"
run tfy move "$first" asks2.tfy
check "a run moves" ended 0 "1 of 1 unfinished runs were moved"
run tfy move --all "$hash" asks2.tfy
check "the others move" ended 0 "2 of 2 unfinished runs were moved"
check "... and wait as before" sleeping
tfy worker asks2.tfy --name new --drain 100ms 2>new.log &
new=$!
while read -r one; do tfy deny "$one" >/dev/null; done <asked
done_all() { [ "$(while read -r one; do tfy result "$one"; done <asked | grep -c remained)" = 3 ]; }
check "a worker of the new version continues them" within 20 done_all
run tfy replay "$first"
check "a run that was moved is replayed" ended 0
kill $old $new
wait $old $new

# ---- events ----

run tfy events
check "there are no events of all runs: 64" ended 64 "events are those of a run"
run tfy watch "$sum"
check "nor is a worker watched: 64" ended 64 "events RUN --follow"
run tfy events "$sum" --type InstructionStart,TaskComplete
check "events of a run" jq -es 'map(.type) == ["InstructionStart", "TaskComplete"] and all(.program == "shop" and .task == "1")' out
check "... with their numbers in the run" jq -es '.[0].lsn == 1' out
run tfy events "$sum" --follow --after 3
check "an ended one is followed to its end" jq -es '.[0].lsn == 4 and .[-1].type == "TaskComplete"' out

# ---- doctor ----

run tfy doctor
check "doctor: the server, the workers, what to type" printed "type: tfy approve $waits --yes"
check "... and nothing of files" sh -c '! grep -q -e -wal out'
check "... fsync is turned off" printed "fsync is turned off"
run tfy doctor --json
check "doctor: as JSON" jq -e '.unfinished_runs == 2 and (.workers | length) == 1 and (.unfinished | length) == 2' out
kill $worker
wait $worker
run tfy doctor
check "doctor: nobody serves the pool" printed "advice     no worker serves pool 'fine', which has 2 runs of shop"
psql -h "$pg" -U tfy -d tfy -qAt <<END >/dev/null &
set application_name = 'forgotten';
begin;
select count(*) from tfy.run;
select pg_sleep(60);
END
holder=$!
opened() { [ "$(sql "select count(*) from pg_stat_activity where application_name = 'forgotten' and xact_start is not null")" = 1 ]; }
within 20 opened
run tfy doctor
check "a transaction that has just begun is none of its business" sh -c '! grep -q forgotten out'
kill $holder

# ---- verify ----

run tfy verify
check "the database is sound" ended 0
check "... with all its runs" printed "in 8 runs"
sql "update tfy.record set payload = '{}' where run = (select id from tfy.run where uuid = '$sum') and lsn = 3"
sql "delete from tfy.record w using tfy.run r where r.id = w.run and r.uuid = '$forked' and w.lsn = r.lsn"
sql "update tfy.task set head = head - 1 where run = (select id from tfy.run where uuid = '$again')"
run tfy verify
check "damage: 65" ended 65
check "... of a record" printed "run $sum: the database is damaged: record"
check "... of a record that is missing" printed "run $forked: the database is damaged: record"
check "... of a row" printed "run $again: the database cannot be read (task 1 of run"
check "... and of how many" printed "3 of 8 runs are damaged"
run tfy verify --json
check "verify: as JSON" jq -e '.sound == false and (.damaged | length) == 3 and .runs == 8' out
run tfy doctor
check "doctor still shows the others" printed "type: tfy approve $waits --yes"
