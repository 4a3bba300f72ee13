#!/bin/sh
# Output that nobody reads: only the task that prints waits.
. "$here/lib.sh"
cat >loud.tfy <<'END'
workflow main() -> string {
    let t = spawn loud()
    let yes = yield approve("go on?")
    kill(t)
    return "answered ${yes}"
}

workflow loud() {
    let line = "x".repeat(1000)
    var i = 0
    while true {
        print("${i} ${line}")
        i += 1
        yield
    }
}

workflow lines(n: int) -> string {
    let line = "x".repeat(1000)
    for i in 0..n {
        print("${i} ${line}")
        log("remark ${i} ${line}")
        yield
    }
    return "end"
}
END
tfy build loud.tfy -o loud
records_of() { records "$1" "$2" 2>/dev/null || echo 0; }
# Its printing has come to a stand: as many records as a moment ago. Each try takes a third of a second, so 6 is about 40 s.
stands() { a=$(records_of Output "$1"); sleep 0.3; [ "$a" -gt 500 ] && [ "$(records_of Output "$1")" = "$a" ]; }
asks() { tfy inspect last --db "$1" | grep -q "go on?"; }
# At most 1 MiB waits for its record or its reader, in lines of 1 kB; 64 kB are in the pipe. In `lines` as much again went to a file.
few() { most=1200; [ "$1" = stdout.db ] || most=2300; [ "$(records Output "$1")" -lt $most ] || { records Output "$1"; return 1; }; }
# Ends the process by SIGTERM and waits for it. A process that does not end is killed, so that the next checks run.
stop()
{
    kill -TERM "$pid"
    { sleep 20 && kill -KILL "$pid"; } >/dev/null 2>&1 & guard=$!
    finish
    kill "$guard"
}

for where in stdout stderr; do
    db=$where.db
    mkfifo $where.pipe
    sleep 600 <$where.pipe & holder=$!
    if [ $where = stdout ]; then
        ./loud --db $db --wait >$where.pipe 2>err </dev/null & pid=$!
    else
        ./loud --db $db --workflow lines --n 1000000 >out 2>$where.pipe </dev/null & pid=$!
    fi
    check "$where nobody reads: the task that prints waits" within 6 stands $db
    if [ $where = stdout ]; then
        check "... a question is asked meanwhile" within 20 asks $db
        check "... and answered at once" timeout 10 tfy approve last --db $db --yes
        answered() { [ "$(records Approval $db)" = 1 ] && [ "$(records Signal $db)" = 1 ]; }
        check "... and the others go on" within 20 answered
    fi
    [ $where = stdout ] || check "... a kill is taken, and ends the run" timeout 10 tfy kill last --db $db
    ended_in_db() { [ "$(records TaskComplete $db)" = 1 ]; }
    check "... the run comes to its end" within 20 ended_in_db
    stop
    check "... and SIGTERM ends the process" [ "$where:$status" = stdout:130 -o "$where:$status" = stderr:1 ]
    check "... having printed little ahead of its reader" few $db
    kill "$holder"
done

# A reader that is stopped and goes on gets every line, once and in order.
mkfifo slow.pipe
cat slow.pipe >got & reader=$!
./loud --db slow.db --workflow lines --n 3000 >slow.pipe 2>err </dev/null & pid=$!
within 20 [ -s got ]
kill -STOP "$reader"
within 6 stands slow.db
kill -CONT "$reader"
finish
wait "$reader"
check "a reader that pauses: 0" [ "$status" = 0 ]
check "... got every line in order" sh -c 'cut -d " " -f 1 got | head -n 3000 | cmp -s - numbers || { seq 0 2999 >numbers; cut -d " " -f 1 got | head -n 3000 | cmp - numbers; }'
check "... and the result last" [ "$(tail -n 1 got)" = '"end"' ]

# The end of a run waits for its reader, and a signal ends that.
mkfifo end.pipe
sleep 600 <end.pipe & holder=$!
./loud --db end.db --workflow lines --n 200 >end.pipe 2>err </dev/null & pid=$!
ended_in_log() { [ "$(records TaskComplete end.db)" = 1 ]; }
within 40 ended_in_log
sleep 0.3
check "a run that has ended waits for its reader" kill -0 "$pid"
stop
check "... until a signal comes: 130, and it says so" ended 130 "before standard output was read"
kill "$holder"
run tfy output last --db end.db
check "... nothing is lost" printed "199 xxx"

# A terminal that is stopped (Ctrl-S).
script -qec true /dev/null >/dev/null 2>err </dev/null || { echo "skipped: no pseudo-terminal can be had here: $(cat err)"; exit 0; }
{
    within 20 sh -c '[ -s screen ]'
    printf '\023'
    within 6 stands tty.db
    timeout 10 tfy kill last --db tty.db >killed 2>&1
    echo $? >killed.status
    printf '\021'
} | timeout 60 script -qfec "./loud --db tty.db --workflow lines --n 1000000" /dev/null >screen 2>err
check "Ctrl-S: a kill is taken all the same" [ "$(cat killed.status)" = 0 ]
