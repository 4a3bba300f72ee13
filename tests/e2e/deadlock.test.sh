#!/bin/sh
# A run that nothing can move says so, with who waits for whom, and ends with 75: at once, after a kill -9, and with --wait too.
. "$here/lib.sh"

cat >circle.tfy <<'END'
workflow grab(first: string, second: string) {
    with lock(first) {
        yield sleep(20ms)
        with lock(second) {
            print("both")
        }
    }
}

workflow main() {
    let a = spawn grab("left", "right")
    let _b = spawn grab("right", "left")
    yield join(a)
}

workflow receiver() {
    let c: channel<int> = channel(1)
    yield c.recv()
}

workflow mixed() {
    spawn receiver()
    let who = yield ask("who?")
    print(who)
}

workflow guarded() {
    try {
        with deadline(50ms) {
            yield receiver()
        }
    } catch _ {
        print("in time")
    }
}
END

circle="  task 1 (main, circle.tfy:13) waits for the end of task 1.1
  task 1.1 (grab, circle.tfy:4) waits for lock \"right\", held by task 1.2
  task 1.2 (grab, circle.tfy:4) waits for lock \"left\", held by task 1.1
  in a cycle: 1.1 -> 1.2 -> 1.1"
graph() { [ "$(grep '^  task\|^  in a' err)" = "$circle" ]; }

run timeout 20 tfy run circle.tfy
check "two tasks that wait for each other: 75" ended 75 "deadlock: nothing can ever run again"
check "... with who waits for whom, and where" graph
check "... and the commands that help" grep -q "^  tfy kill [0-9a-f-]* --task PATH$" err
run timeout 20 tfy resume last
check "a resume says the same: 75" ended 75 "deadlock"
check "... with the same graph" graph
run env TFY_SNAPSHOT_EVERY=1 timeout 20 tfy resume last
check "... also from a snapshot" ended 75 "waits for the end of task 1.1"
run tfy inspect last
check "inspect tells it" [ "$(grep -A4 '^deadlock   nothing could move it any more:$' out | tail -n 4)" = "$circle" ]
check "... and what to type" printed "tfy kill $(sed -n 's/^run *//p' out) --task PATH"
run timeout 20 tfy resume last --wait
check "and so does one that would wait for people: 75" ended 75 "deadlock"
run timeout 20 tfy resume --all
check "and all runs: 75" ended 75 "deadlock"
check "killing one of them: 0" tfy kill last --task 1.2
run timeout 20 tfy resume last
check "... lets the other go on: 0" ended 0
check "... with both locks" printed_exactly both
run tfy replay last
check "replay: 0 divergences" printed " 0 divergences"
run tfy inspect last
check "inspect has forgotten the deadlock" [ "$(grep -c deadlock out)" = 0 ]

run timeout 20 tfy run circle.tfy --workflow receiver
check "nobody sends: 75" ended 75 "waits to receive from channel 1/1, which is empty and to which nobody sends"
run timeout 20 tfy run circle.tfy --workflow mixed
check "somebody waits for a person: no deadlock" ended 75 "waiting for people"
check "... and none is told" [ "$(grep -c deadlock err)" = 0 ]
run timeout 20 tfy run circle.tfy --workflow guarded
check "a deadline ends it: no deadlock" ended 0
check "... in time" printed_exactly "in time"
run timeout 20 tfy resume --all
check "a run that waits beside one in a deadlock: waiting" ended 75 "waiting for people"
check "... and the other is told too" grep -q "task 1 (receiver, circle.tfy:18)" err
start env TFY_PARK_AFTER=0 timeout 20 tfy resume --all --wait
check "one beside others that go on is told at once, and stays" within 10 grep -q "task 1 (receiver, circle.tfy:18)" err
check "... it does not leave memory" [ "$(sqlite3 -readonly .tfy/runs.db 'select count(*) from run where parked>0')" = 0 ]
kill "$pid"
finish

run timeout 20 tfy run "$EXAMPLES/philosophers/philosophers.tfy" --workflow reckless
check "philosophers who all reach to the left first: 75" ended 75 "in a cycle: "
check "... the whole table" [ "$(grep -c "waits for lock \"fork [0-2]\", held by task 1.[1-3]$" err)" = 3 ]
