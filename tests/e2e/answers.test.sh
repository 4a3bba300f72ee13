#!/bin/sh
# Questions to people: answered to a live process, or into the log of a run that nobody runs.
. "$here/lib.sh"
cat >ask.tfy <<'END'
enum Verdict { keep, drop, redo }

workflow main() -> string {
    let yes = yield approve("go on?")
    if !yes {
        return "stopped"
    }
    let v: Verdict = yield approve("which one?", "there are three")
    return "${v}"
}

type Given { v: Answer<Verdict>, t: Answer<string> }

workflow who() -> Given {
    let v: Answer<Verdict> = yield approve("which?")
    let t: Answer<string> = yield ask("why?")
    return Given(v: v, t: t)
}

/// Asks while another task keeps the process alive.
workflow live() -> string {
    let other = spawn busy()
    let yes = yield approve("live?")
    kill(other)
    return if yes { "yes" } else { "no" }
}

workflow busy() {
    yield sleep(60s)
}

workflow long() -> int {
    try {
        yield sleep(60s)
    } finally {
        print("cleaned up")
    }
    return 1
}
END

run tfy run ask.tfy
check "a question without a terminal: 75" ended 75 "go on?"
check "... with the command that answers" grep -q "tfy approve [0-9a-f-]* " err
run tfy inspect last
check "inspect shows the command" printed "tfy approve"
run tfy approve last --answer maybe
check "an answer that is none: 64" ended 64 "yes, no"
run tfy approve last --task 1.7
check "a task that asks nothing: 1, and which one does" ended 1 "asks nothing; step 1 of task 1 does: --task 1 --step 1"
run tfy approve last
check "approve of a sleeping run: 0" ended 0 "continue with: tfy resume"
run tfy approve last
check "a second answer is refused" ended 1
run tfy resume last
check "resume comes to the next question: 75" ended 75 "which one?"
check "... with its cases" grep -q "keep, drop, redo" err
run tfy approve last --answer drop
check "approve with a case" ended 0
run tfy resume last
check "the run ends with it" printed_exactly '"drop"'
check "both answers name who gave them" [ "$(sqlite3 .tfy/runs.db "select count(*) from wal where payload like '%\"by\":\"$(id -un)\"%'")" = 2 ]
run tfy replay last
check "replay after answers: 0 divergences" printed " 0 divergences, 0 effects performed"
run tfy run ask.tfy --yes
check "--yes answers all" printed_exactly '"keep"'
run tfy run ask.tfy
run tfy deny last
run tfy resume last
check "deny" printed_exactly '"stopped"'

# Who answered, and when: what the records say.
given() { # the times of the newest run's answers, as JSON writes them
    sqlite3 .tfy/runs.db "select strftime('%Y-%m-%dT%H:%M:%fZ', ts/1000.0, 'unixepoch') from wal where type=23 and tid=(select max(tid) from task) order by lsn"
}
run tfy run ask.tfy --workflow who
run tfy approve last --answer yes
check "an Answer<Verdict> is a Verdict to whom it is asked" ended 64 "it takes one of: keep, drop, redo"
run tfy approve last --answer redo
tfy resume last >out2 2>err2
run tfy approve last "because"
run tfy resume last
set -- $(given)
check "Answer<T> is what was recorded" printed_exactly \
    "{\"v\":{\"value\":\"redo\",\"by\":\"$(id -un)\",\"at\":\"$1\"},\"t\":{\"value\":\"because\",\"by\":\"$(id -un)\",\"at\":\"$2\"}}"
run tfy replay last
check "... and replays" printed " 0 divergences"
run tfy fork last --at 1 --set-result '{"value": "keep"}'
check "a fork's answer is what a person says, not the whole of it" ended 65 "step 1 returns Verdict"
run tfy fork last --at 1 --set-result '"keep"'
tfy resume last >out2 2>err2
tfy approve last "so" >out2 2>err2
tfy resume last >out2 2>err2
run tfy result last
check "nobody gave what a fork was given" printed "{\"v\":{\"value\":\"keep\",\"by\":null,\"at\":\"$1\"},\"t\":{\"value\":\"so\",\"by\":\"$(id -un)\""
run tfy run ask.tfy --workflow who --yes
tfy approve last "so" >out2 2>err2
run tfy resume last
check "nor what --yes answered" printed '"v":{"value":"keep","by":null,'

# A live process.
for word in yes no; do
    start tfy run ask.tfy --workflow live
    within 20 grep -q 'live?' err
    tfy approve last --step 7 >out2 2>err2
    check "... a step that asks nothing is refused, with the one that does" grep -q "asks nothing; step 2 of task 1 does: --task 1 --step 2" err2
    status=0
    tfy approve last --$word >out2 2>err2 </dev/null || status=$?
    check "approve --$word of a live run: 0" [ "$status" = 0 ]
    finish
    check "... which ends with it" printed_exactly "\"$word\""
done
check "the socket is gone" [ ! -e .tfy/runs.db-live ]

start tfy run ask.tfy --workflow live
within 20 grep -q 'live?' err
mode=$(stat -c %a .tfy/runs.db-live)/$(stat -c %a .tfy/runs.db-live/owner)
check "socket 0600 in a directory 0700" [ "$mode" = 700/600 ]
kill -KILL "$pid"
finish
check "a killed owner leaves its socket" [ -e .tfy/runs.db-live/owner ]
run tfy approve last
check "... which is not mistaken for a live one" ended 0 "no process runs it now"
run tfy resume last
check "... and is replaced" printed_exactly '"yes"'

# A path longer than a socket's own name may be.
long=$(printf 'd%.0s' $(seq 100))
mkdir -p "$long/$long"
start tfy run --db "$long/$long/runs.db" ask.tfy --workflow live
within 20 grep -q 'live?' err
status=0
tfy approve last --db "$long/$long/runs.db" >out2 2>err2 </dev/null || status=$?
check "a long path: 0" [ "$status" = 0 ]
finish
check "... answered live" printed_exactly '"yes"'

# kill
start tfy run ask.tfy --workflow long
within 20 sh -c '[ "$(sqlite3 -readonly .tfy/runs.db "select type from wal order by lsn desc limit 1")" = 14 ]'
run tfy kill last
check "kill of a live run: 0" ended 0
status=0
wait "$pid" || status=$?
check "... which ends with 1" [ "$status" = 1 ]
run tfy output last
check "... after its cleanup" printed "cleaned up"
run tfy kill last
check "kill of a run that has ended" ended 1
start tfy run ask.tfy --workflow long
within 20 sh -c '[ "$(sqlite3 -readonly .tfy/runs.db "select type from wal order by lsn desc limit 1")" = 14 ]'
kill -KILL "$pid"
finish
run tfy kill last
check "kill of a sleeping run: 0" ended 0 "continue with: tfy resume"
run tfy resume last
check "... is delivered by resume" ended 1 "was cancelled"
check "... with its cleanup" printed "cleaned up"
run tfy replay last
check "... and replays: 0 divergences" printed " 0 divergences, 0 effects performed"
run tfy kill 99999999
check "kill of a run that is not there: 69" ended 69

# The policy `approve`: the question is a step of its own, before the step.
cat >policy.tfy <<'END'
tool drop(name: string) -> ExecResult once dangerous = exec ["sh", "-c", "echo dropped >> dropped"]
workflow main() {
    yield drop("a") approve "drop it?" key "k"
    try {
        yield drop("b") approve "and this?"
    } catch e: Denied {
        print("denied: ${e.message}")
    }
}
END
rm -rf .tfy
run tfy run policy.tfy
check "a dangerous step asks first: 75" ended 75 "main, line 3 asks: drop it?"
check "... and does nothing before" [ ! -e dropped ]
run tfy approve last
run tfy resume
check "a yes lets it be done, then the next is asked" ended 75 "main, line 5 asks: and this?"
check "... once" [ "$(wc -l <dropped)" = 1 ]
run tfy deny last
run tfy resume
check "a no is Denied" printed_exactly "denied: drop was not approved"
check "... and nothing was done" [ "$(wc -l <dropped)" = 1 ]
run tfy replay last
check "... and replays: 0 divergences" printed " 0 divergences, 0 effects performed"

# JSON, in which they travel, has no place for other bytes: a task that cannot be named must not become the whole run.
odd=$(printf '\377x')
refused() { run "$@"; [ "$status" = 64 ] && grep -q "is not UTF-8" err; }
run tfy run ask.tfy
for words in "kill last --task $odd" "kill $odd" "approve $odd" "approve last --answer $odd" "signal last $odd" "signal last go --id $odd" "resolve $odd 1 --retry" "fork $odd --at 1" "fork last --at 1 --task $odd"; do
    check "${words%% *}: what is not UTF-8 is refused: ${words#* }" refused tfy $words
done
run tfy approve last --yes
check "... and the run is as it was" ended 0
