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
    let t = spawn detached waiting()
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
    let n = yield c.recv()
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
run tfy signal last order '{"item":"bolt","n":3}' --id a1
check "a signal to a sleeping run: 0" ended 0 "go on with: tfy resume"
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
check "an answer without a text: 64" ended 64 "any text"
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
check "a signal of another type is taken" tfy signal last n '"x"'
finish
check "... and its value is an error" grep -q "expected int" out

run tfy run order.tfy --workflow stuck
check "a run that nothing can move: 75" ended 75 "deadlock"
