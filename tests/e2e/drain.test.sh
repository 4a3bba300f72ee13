#!/bin/sh
# Signals that end a process: tools under way may finish, nothing else starts.
. "$here/lib.sh"
cat >work.tfy <<'END'
/// Says when it starts, waits for the file `go`, and says when it is done.
tool act(name: string) -> string once = exec ["sh", "-c", "echo begin $1 >>ledger; until [ -e go ]; do sleep 0.05; done; echo end $1 >>ledger; echo done $1", "act", name]

tool fails(name: string) -> string idempotent = exec ["sh", "-c", "echo begin $1 >>ledger; until [ -e go ]; do sleep 0.05; done; exit 3", "fails", name]

workflow main() -> string {
    let t = spawn ticker()
    let said = yield act("one")
    print("after one")
    let more = yield act("two")
    kill(t)
    return said.trim() + more.trim()
}

workflow ticker() {
    while true {
        yield sleep(20ms)
        print("tick")
    }
}

workflow naps() {
    yield sleep(1h)
}

workflow asks() -> string {
    let t = spawn detached ticker()
    let _yes = yield approve("go on?")
    kill(t)
    return "answered"
}

workflow tries() -> string {
    let said = yield fails("again") retry 3 backoff 10ms
    return said
}

workflow many() {
    let a = spawn one("a")
    let b = spawn one("b")
    yield join(a)
    yield join(b)
}

workflow one(name: string) {
    yield act(name)
    print("finished ${name}")
}
END
tfy build work.tfy -o work
fresh() { rm -rf .tfy ledger go; }
begun() { grep -qs "begin $1" ledger; }
told() { grep -q "waiting up to" err; }
sleeps() { tfy inspect last | grep -q sleep; }

for signal in TERM INT HUP; do
    fresh
    start env --default-signal=INT tfy run work.tfy
    within 20 begun one
    kill -$signal "$pid"
    check "SIG$signal: it says what it waits for" within 20 grep -q "interrupted; waiting up to 10 s for act (task 1) to finish; a second signal" err
    touch go
    finish
    check "... ends with 130" ended 130 "interrupted; continue with: tfy resume"
    check "... the tool has finished" grep -q "end one" ledger
    check "... its result is recorded" [ "$(records ToolResult)" = 1 ]
    check "... and nothing else began" sh -c '! grep -q "begin two" ledger && ! grep -q "after one" out'
    check "... and the log says so" [ "$(records ShutdownMarker)" = 1 ]
done
run timeout 60 tfy resume last # a step in doubt would leave the ticker to tick
check "the run goes on, with nothing in doubt" printed '"done onedone two"'
check "... nothing was done twice" [ "$(sort ledger | uniq -d | wc -l)" = 0 ]
run tfy replay last
check "replay: 0 divergences" printed " 0 divergences"

# Sleeps, timers and questions hold nothing up.
fresh
start tfy run work.tfy --workflow naps --grace 1h
within 20 sleeps
kill -TERM "$pid"
finish
check "a sleep is not waited for" ended 130
check "... nor announced" sh -c '! grep -q "waiting up to" err'
fresh
start tfy run work.tfy --workflow asks --wait --grace 1h
within 20 grep -q "go on?" err
kill -TERM "$pid"
finish
check "nor is a question" ended 130
tfy approve last 2>said
run tfy resume last --grace=0s
check "which is answered later" printed '"answered"'

# No retry starts, no matter how the attempt ends.
fresh
start tfy run work.tfy --workflow tries
within 20 begun again
kill -TERM "$pid"
within 20 told
touch go
finish
check "a failed attempt is recorded" [ "$(records ToolResult)" = 1 ]
check "... and not tried again" [ "$(grep -c begin ledger):$status" = 1:130 ]

# The end of the grace period, and none at all.
fresh
start tfy run work.tfy --grace 300ms
within 20 begun one
kill -TERM "$pid"
finish
check "a tool that takes too long is ended: 130" ended 130 "act (task 1) did not finish in time and is ended"
start tfy resume last
in_doubt() { [ "$(records InDoubt)" = 1 ]; }
check "... and in doubt" within 20 in_doubt
kill -TERM "$pid"
finish
fresh
start tfy run work.tfy --grace 0
within 20 begun one
kill -TERM "$pid"
finish
check "--grace 0 ends at once" ended 130
check "... and does not say that it waits" sh -c '! grep -q "waiting up to" err'
run tfy run work.tfy --grace soon
check "--grace takes a duration: 64" ended 64 "--grace takes a time such as 10s"

# Several tools; a second signal; what counts as one.
fresh
start ./work --workflow many --grace 1m
within 20 begun a
within 20 begun b
kill -TERM "$pid"
check "all that is waited for is named" within 20 grep -q "up to 60 s for act (task 1.*), act (task 1" err
kill -HUP "$pid"
sleep 0.3
check "a hangup behind it changes nothing" kill -HUP "$pid"
check "answers are taken meanwhile" tfy kill last --task 1.1
check "... by the same process" kill -0 "$pid"
kill -TERM "$pid"
finish
check "a second signal ends it at once: 143" ended 143
fresh
start timeout 1.5 ./work --workflow many
within 20 begun b
within 20 told
touch go
finish
check "timeout(1), which signals twice, counts as one" [ "$(grep -c end ledger):$(records ToolResult)" = 2:2 ]
check "... and in order" grep -q "interrupted; continue with" err

# Ctrl-C on a terminal reaches the program, not its tools.
fresh
script -qec true /dev/null >/dev/null 2>err </dev/null || { echo "skipped: no pseudo-terminal can be had here: $(cat err)"; exit 0; }
{
    within 20 begun one
    printf '\003'
    within 20 grep -q "waiting up to" screen
    touch go
    within 20 grep -q "continue with" screen
} | timeout 60 script -qfec ./work /dev/null >screen 2>err
check "Ctrl-C: the tool does not hear it" grep -q "end one" ledger
check "... and its result is recorded" [ "$(records ToolResult)" = 1 ]
