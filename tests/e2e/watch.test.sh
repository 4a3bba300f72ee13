#!/bin/sh
# Live activity: the socket's stream, tfy watch on a pipe and on a terminal, log lines.
. "$here/lib.sh"
cat >busy.tfy <<'END'
tool work(n: int) -> ExecResult idempotent = exec ["sh", "-c", "test ${n} != 3"]

workflow child(n: int) -> int {
    yield sleep(200ms)
    let r = yield work(n)
    log("child ${n} \u{1b}[31m", level: "debug")
    assert r.code == 0
    return n
}

workflow main() -> int {
    log("begins")
    emit("Halfway", "to nowhere")
    let a = spawn child(1)
    let b = spawn child(3)
    let _go: string = yield signal("go")
    let x = yield join(a)
    try {
        yield join(b)
    } catch _: TaskFailed {
        log("as expected", level: "warn")
    }
    return x
}

/// More events than the ring keeps.
workflow flood(n: int) -> int {
    let _go: string = yield signal("go")
    for i in 0..n { emit("Flood", "drop ${i} of a flood that nobody reads: ${"x".repeat(2000)}") }
    let _enough: string = yield signal("stop")
    return n
}
END
tfy build busy.tfy -o busy
waits_for_go() { within 20 sh -c 'tfy inspect last | grep -q "waits for signal"'; }
go() { tfy signal last go '""' 2>/dev/null; }

run tfy watch --db none.db
check "nobody runs anything: 69" ended 69 "no process runs anything"
run tfy watch last --since none
check "an event that is none: 64" ended 64 "is not an event"
run tfy watch --task 1.2
check "a task of no run: 64" ended 64 "needs the run"

start ./busy run --wait
waits_for_go
tfy watch last --json >events.json 2>events.err &
watch=$!
tfy watch >events.txt 2>&1 &
watch2=$!
tfy watch last --task 1.2 --json >task.json 2>&1 &
watch3=$!
within 10 grep -q '"Idle","message":"signal"' events.json
within 10 grep -q 'Idle: signal' events.txt
within 10 grep -q 'child begins' task.json
go
finish
check "the run ends, watched or not" [ "$status" = 0 ]
wait "$watch"
check "watch ends with it: 0" [ "$?" = 0 ]
wait "$watch2"
check "... and so does one without a run" [ "$?" = 0 ]
wait "$watch3"
check "numbers ascend without a hole" sh -c 'sed -n "s/^{\"seq\":\([0-9]*\),.*/\1/p" events.json >seqs; seq 1 "$(tail -n 1 seqs)" | cmp - seqs'
check "the first line says where it begins" sh -c 'head -n 1 events.json | grep -q "{\"code\":0,\"epoch\":1,\"pid\":[0-9]*,\"first\":1,\"next\":[0-9]*}"'
check "live tasks come first" [ "$(grep -c '^{"live":true' events.json)" -ge 1 ]
check "log lines reach it, whatever their level" grep -q '"stage":"Log","message":"child 1 \\u001b\[31m".*"level":"debug"' events.json
check "stages of the program's own" grep -q '"stage":"Halfway","message":"to nowhere"' events.json
check "a step in the runtime: it waits and goes on" sh -c 'grep -q "\"Idle\",\"message\":\"sleep\"" events.json && grep -q "\"TaskStep\",\"message\":\"sleep\"" events.json'
check "a tool: begun and done, with its line" grep -q '"ToolExecutionStart","message":"work","workflow":"child","line":5' events.json
check "a failure" grep -q '"TaskFailure","message":"Panic' events.json
check "the run's end" grep -q '"message":"run completed".*"run":"completed"' events.json
check "lines for people, without control characters" sh -c 'grep -q "/1.1 child Log: debug: child 1 \\\\u{1b}\[31m (line 6)$" events.txt && ! grep -q "$(printf "\\033")" events.txt'
check "one task alone" sh -c 'grep -q "/1.2\"" task.json && ! grep -q "task_id\":\"[^\"]*/1\"" task.json && ! grep -q "/1.1\"" task.json'
check "nothing of it is on disk" sh -c '! grep -aq "ToolExecutionStart" .tfy/runs.db* && [ ! -e .tfy/runs.db-live ]'
run tfy watch last
check "a run that has ended" ended 0 "has ended: completed"
run tfy replay last
check "replay: 0 divergences" printed " 0 divergences, 0 effects performed"

# Whoever comes back goes on where it was.
start ./busy run --wait
waits_for_go
tfy watch last --json --since 4 >later.json &
watch=$!
tfy watch last --json --since 1:4 >other.json & # of another opening
watch2=$!
within 10 grep -q '"Idle","message":"signal"' later.json
within 10 grep -q '"Idle","message":"signal"' other.json
run tfy watch 99999999
check "a run that is not there: 69" ended 69
go
finish
wait "$watch" "$watch2"
check "--since begins with its event" [ "$(grep -o '^{"seq":[0-9]*' later.json | head -n 1)" = '{"seq":4' ]
check "... unless it is of another opening" [ "$(grep -o '^{"seq":[0-9]*' other.json | head -n 1)" = '{"seq":1' ]

# A reader that stands still neither stops the run nor makes it grow, and hears what it missed.
start ./busy run --workflow flood --n 3500 --wait
waits_for_go
tfy watch last --json >flood.json &
watch=$!
within 10 grep -q '"Idle","message":"signal"' flood.json
kill -STOP "$watch"
go
within 20 sh -c 'tfy inspect last | grep -q "waits for signal stop"'
check "a watcher that stands still holds nobody up" [ "$?" = 0 ]
kill -CONT "$watch"
within 10 grep -q '"Idle","message":"signal".*"line":32' flood.json
tfy signal last stop '""' 2>/dev/null
finish
wait "$watch"
check "... and sees the end" grep -q '"run":"completed"' flood.json
check "... and the gap" grep -q '^{"gap":true' flood.json
check "numbers and gaps add up" awk -F'[:,}]' '
    /^{"seq"/ { if (expected && $2 != expected) exit 1; expected = $2 + 1 }
    /^{"gap"/ { if ($4 != expected || $6 < $4) exit 1; expected = $6 + 1 }' flood.json

# A process that is killed ends the stream without a last word.
start ./busy run --wait
waits_for_go
tfy watch last >killed.txt 2>killed.err &
watch=$!
within 10 grep -q 'Idle: signal' killed.txt
kill -KILL "$pid"
wait "$watch"
check "the process is killed: 69" [ "$?" = 69 ]
check "... and is not said to have ended" grep -q "ended unexpectedly" killed.err
wait "$pid" 2>/dev/null
go # it must not be the run that "last" means, and that waits, when the next one starts
run ./busy resume last
check "... and goes to its end when it is resumed" ended 0

# On a terminal.
if script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    start ./busy run --wait
    waits_for_go
    TERM=xterm NO_COLOR=1 script -qec "stty cols 100 rows 20; tfy watch last" /dev/null >screen </dev/null &
    watch=$!
    TERM=xterm NO_COLOR= script -qec "stty cols 60 rows 20; tfy watch last" /dev/null >coloured </dev/null &
    watch2=$!
    TERM=dumb script -qec "tfy watch last" /dev/null >dumb </dev/null &
    watch3=$!
    within 30 grep -q "waits: signal (line 16)" screen
    within 30 grep -q "signal" coloured
    within 30 grep -q "signal" dumb
    go
    finish
    wait "$watch" "$watch2" "$watch3"
    escape=$(printf '\033')
    check "a line for each live task, drawn in place" grep -q "${escape}\[[0-9]*A" screen
    check "... with its step and time" grep -q "step [0-9]* *[0-9.]* s" screen
    check "... what is done, counted" grep -q "0 live, 3 ended, 1 failed" screen
    check "... what failed, above" grep -q "1.2 child TaskFailure: Panic" screen
    check "NO_COLOR" sh -c '! grep -q "'"$escape"'\[[0-9;]*m" screen'
    check "colour where it is allowed" grep -q "${escape}\[[0-9;]*m" coloured
    check "no line is wider than the terminal" sh -c 'tr "\r" "\n" <coloured | sed "s/'"$escape"'\[[0-9;?]*[A-Za-z]//g" | grep "step [0-9]" | awk "length(\$0) > 62 { exit 1 }"'
    check "... and the tool or wait comes before the workflow" grep -q "1  *waits: signal (line 16)  Halfway: to nowhere  in main" screen
    check "TERM=dumb: plain lines" sh -c 'grep -q "Completed: run completed" dumb && ! grep -q "'"$escape"'" dumb'
fi

# Keys, on a terminal.
if script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    start ./busy run --wait
    waits_for_go
    {
        within 20 grep -q "arrows choose a task" keys
        printf '\033[B\r' # an arrow, Enter
        within 20 grep -q "    task    " keys
        printf 'q'
        within 20 grep -q "has left" keys
    } | TERM=xterm NO_COLOR=1 timeout 60 script -qfec "stty cols 80 rows 20; tfy watch last; echo has left \$?; stty -a" /dev/null >keys
    check "q leaves, and the run goes on" sh -c 'grep -q "has left 0" keys && kill -0 '"$pid"
    check "an arrow chooses a task" grep -q "> 1 " keys
    check "Enter shows its step" sh -c 'grep -q "    does    waits: signal (line 16)" keys && grep -Eq "    step    [0-9]+, for [0-9.]+ s" keys'
    check "what emit said is shown" grep -q "    says    Halfway: to nowhere" keys
    check "the terminal is as it was" grep -Eq "(^| )echo( |\$)" keys
    go
    finish
fi

# Log lines.
start ./busy run --wait
waits_for_go
go
finish
check "as ever: what the program says, from info on" [ "$(grep -v '^tfy' err | grep '^[a-z]*: ')" = "info: begins
warn: as expected" ]
start ./busy run --wait --log-format json --log-level trace
waits_for_go
kill -KILL "$pid"
wait "$pid" 2>/dev/null
cp err before.err
start tfy resume last --wait --log-format json --log-level trace
within 20 grep -q "Idle: signal" err
go
finish
cat before.err err >lines.json
check "a JSON object on every line" sh -c 'sed "s/.*/&,/" lines.json | { printf "["; cat; printf "0]"; } >all.json; sqlite3 :memory: "select json_valid(readfile(\"all.json\"))" | grep -qx 1'
check "... with level, target and message" grep -q '"level":"WARN","target":"program","message":"as expected"' lines.json
trace=$(sqlite3 .tfy/runs.db "select lower(hex(uuid)) from run order by id desc limit 1")
check "the trace is the run" sh -c '! grep "\"fields\"" lines.json | grep -v "\"trace_id\":\"'"$trace"'\""'
check "a step has the same span before a crash and after it" sh -c '
    span() { grep "Idle: signal" $1 | grep -o "\"span_id\":\"[0-9a-f]*\""; }
    [ "$(span before.err)" = "$(span err)" ] && [ "$(span err)" ]'
check "every parent of a task is a span of the trace" sh -c '
    grep -o "\"span_id\":\"[0-9a-f]*\"" lines.json | sort -u >spans
    grep "\"target\":\"task\"" lines.json | grep -o "\"parent_span_id\":\"[0-9a-f]*\"" | sed s/parent_// | sort -u >parents
    [ -s parents ] && ! comm -23 parents spans | grep -q .'
start env TFY_LOG=program=off ./busy run --wait
waits_for_go
go
finish
check "TFY_LOG=program=off: it says nothing" sh -c '! grep -q "^[a-z]*: begins" err'
run ./busy run --log-level warm
check "a level that is none: 64" ended 64 "is not a level"
run ./busy run --log-format xml
check "a format that is none: 64" ended 64 "json or text"
