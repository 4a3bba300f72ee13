#!/bin/sh
# Signals, and questions that any text answers: to a live process, or into the log of a run that nobody runs.
. "$here/lib.sh"
cat >order.tfy <<'END'
type Order { item: string, n: int }

workflow main() -> string {
    let order: Order = yield signal("order")
    let who = yield ask("who signs?")
    return "${order.n} ${order.item} for ${who}"
}

/// Waits for a signal longer than its root lives.
workflow outlived() {
    let _t = spawn detached waiting()
}

workflow waiting() {
    try {
        let n: int = yield signal("n") timeout 20s
        print("got ${n}")
    } catch e {
        print(e.message)
    }
}

workflow stuck() {
    let c: channel<int> = channel(1)
    let _n = yield c.recv()
}
END

run tfy run order.tfy
check "a run that waits for a signal: 75" ended 75 "waiting for signals"
check "... with the command that sends it" grep -q "tfy signal [0-9a-f-]* order \[JSON\]" err
run tfy inspect last
check "inspect says what it waits for" printed "waits for signal order"
check "... and the command" printed "tfy signal"
run tfy signal last order '{"item":'
check "a value that is no JSON: 64" ended 64 "JSON"
run tfy signal last order '{"item":"bolt","n":"3"}'
check "a value that does not fit the wait: 65, with its path" ended 65 'order.tfy:4 waits for Order: $.n: expected int, got "3"'
run tfy signal last early '[3]'
check "... that fits no wait of the program: 65" ended 65 'order.tfy:4 waits for Order: $: expected Order, got a list of 1'
check "... nothing is recorded" [ "$(sqlite3 .tfy/runs.db "select count(*) from history where type='Signal'")" = 0 ]
run tfy signal last order '{"item":"bolt","n":3}' --id a1
check "a signal to a sleeping run: 0" ended 0 "continue with: tfy resume"
run tfy signal last order '{"item":"nut","n":1}' --id a1
check "sent again under its id: 0" ended 0 "sent"
run tfy inspect last
check "inspect says that it has come" printed "which has come"
run tfy resume last
check "resume comes to a question: 75" ended 75 "who signs?"
check "... with the command that answers" grep -q "tfy approve [0-9a-f-]* --task 1 --step 2 TEXT" err
run tfy inspect last
check "inspect shows it" grep -q "approve [0-9a-f-]* TEXT" out
run tfy approve last
check "an answer without a text: 64" ended 64 "needs a text as its answer"
run tfy approve last "ann b" --yes
check "two answers: 64" ended 64
run tfy approve last "ann b"
check "a text: 0" ended 0 "answered with ann b"
run tfy resume last
check "the run ends with it" printed_exactly '"3 bolt for ann b"'
run tfy replay last
check "replay: 0 divergences" printed " 0 divergences, 0 effects performed"
check "the second signal was none" [ "$(sqlite3 .tfy/runs.db "select count(*) from history where type='Signal'")" = 1 ]
run tfy signal last order
check "a run that has ended: 1" ended 1 "already ended"
run tfy signal 0000nobody order
check "no such run: 69" ended 69

# A live process.
start tfy run order.tfy --workflow outlived
waits_for_n() { tfy inspect last | grep -q "waits for signal n"; }
within 20 waits_for_n
check "a signal to a live run whose root has ended: 0" tfy signal last n 17
finish
check "... which takes it" printed_exactly "got 17"
run tfy replay last
check "replay: 0 divergences" printed " 0 divergences"
start tfy run order.tfy --workflow outlived
within 20 waits_for_n
run tfy signal last n '"x"'
check "a signal of another type: 65, with the path" ended 65 'order.tfy:16 waits for int: $: expected int, got "x"'
run tfy signal last n '{"item":"nut","n":1}'
check "... though another wait of the program would take it" ended 65 'waits for int'
check "... and the next one wakes the task" tfy signal last n 18
finish
check "... with its value" printed_exactly "got 18"

# Sent before its wait began, and of the type of another wait: kept aside, over crashes and snapshots.
rm -rf .tfy
cat >early.tfy <<'END'
workflow main() -> string {
    yield approve("go on?")
    let n: int = yield signal("n")
    let s: string = yield signal("n")
    return "${n} ${s}"
}
END
tfy run early.tfy >out 2>&1
run tfy signal last n '"seven"'
check "a signal that comes early fits a wait of the program" ended 0 "tfy: sent; no process runs it now"
check "... the question is answered" tfy approve last
run tfy resume last
check "... it is kept aside and reported" ended 75 'keeps a signal n aside, which does not fit: early.tfy:3 waits for int: $: expected int, got "seven"'
run tfy inspect last
check "... inspect shows it" printed 'keeps one aside: early.tfy:3 waits for int'
check "... and the command that sends another" grep -q "tfy signal [0-9a-f-]* n .JSON." out
run tfy gc --compact
check "... the run is compacted" ended 0
run tfy inspect last
check "... inspect shows it still" printed 'keeps one aside: early.tfy:3 waits for int'
check "... one that fits" tfy signal last n 7
run tfy inspect last
check "... has come" printed 'waits for signal n, which has come'
run tfy resume last
check "... and the one kept aside reaches the wait it fits" printed_exactly '"7 seven"'
run tfy replay last
check "replay: 0 divergences" printed " 0 divergences"

run tfy run order.tfy --workflow stuck
check "a run that nothing can move: 75" ended 75 "deadlock"

# all_done: every `send` has ended with 0; else what the others said.
send() # NUMBER WORD…
{
    number=$1
    shift
    { exec 9>&-; code=0; "$@" >"sent.$number" 2>&1 </dev/null || code=$?; [ "$code" = 0 ] || echo "$code $(cat "sent.$number")" >>refused; } &
    senders="$senders $!"
}
all_done()
{
    for sender in $senders; do wait "$sender" || :; done
    senders=
    [ ! -e refused ] || { sort refused | uniq -c; return 1; }
}
listens() # PID: it takes connections; the socket has its name before that.
{
    for socket in $(readlink "/proc/$1/fd/"* | sed -n 's/^socket:\[\(.*\)\]$/\1/p'); do
        grep -q " 00010000 .* $socket .*/owner$" /proc/net/unix && return 0
    done
    return 1
}
connections() { [ "$(grep -c '/owner$' /proc/net/unix)" -ge "$1" ]; } # the socket itself is one of them
senders=
rm -rf .tfy
cat >many.tfy <<'END'
workflow main(n: int) -> int {
    var sum = 0
    for _ in 0..n {
        let one: int = yield signal("one")
        sum = sum + one
    }
    return sum
}
END
run tfy run many.tfy --n 30
for i in $(seq 30); do send "$i" tfy signal last one 1 --id "id $i" --timeout 120s; done
check "thirty at once to a sleeping run: all get through" all_done
run tfy resume last
check "... and each counts" printed_exactly 30
run tfy signal last one 1 --id "id 3"
check "a repeat after the end tells what became of the first: 0" ended 0 "sent before; step "
check "... who took it" grep -q "^tfy: sent before; step [0-9]* of task 1 took it$" err
run tfy signal last one 1 --id "id 31"
check "one that is new comes too late: 1" ended 1 "has already ended"
run tfy run many.tfy --n 70
start tfy resume last --wait
within 20 listens "$pid"
kill -STOP "$pid"
for i in $(seq 69); do send "$i" tfy signal last one 1 --timeout 120s; done
check "seventy connect to a process that does not listen now" within 60 connections 66
kill -CONT "$pid"
check "more than the process has places for: all get through" all_done
kill -STOP "$pid"
send 70 tfy signal last one 1 --timeout 120s
send 71 tfy signal last two 1 --timeout 120s
check "two more connect" within 60 connections 3
kill -TERM "$pid"
kill -CONT "$pid"
finish
check "what a process that ends has not heard goes into its log" all_done
run tfy resume last
check "... once" printed_exactly 70
tfy run many.tfy --n 1 >out 2>&1
exec 9<>.tfy/runs.db-tfy
echo "pid $$ (a test)" >&9
python3 -c 'import fcntl, struct; fcntl.fcntl(9, 37, struct.pack("hhqqi4x", 1, 0, 0, 1, 0))' # F_OFD_SETLK
run tfy signal last one 1 --timeout 0s
check "--timeout 0s does not wait: 75" ended 75 "is held by"
send 1 tfy signal last one 1 --timeout 120s
within 20 sh -c 'pgrep -P $0 >/dev/null' $!
exec 9>&-
check "... a longer one waits until the lock is free" all_done
run tfy signal last one 1 --timeout soon
check "a time limit that is none: 64" ended 64 "--timeout takes a time"
