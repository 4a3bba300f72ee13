#!/bin/sh
# Who runs next is chosen on the command line; histories are the same under every policy, also when a run is taken up under another one.
. "$here/lib.sh"

cat >order.tfy <<'END'
workflow worker(name: string) {
    print("${name} 1")
    yield
    print("${name} 2")
}

workflow main() {
    spawn worker("low")
    spawn worker("high") with (priority: 2)
}

workflow stops() {
    let first = spawn worker("first")
    let asks = spawn question() with (after: [first], priority: 1)
    spawn worker("last") with (after: [asks])
}

workflow question() {
    let who = yield ask("who?")
    print(who)
}
END

run tfy run order.tfy
check "fifo: turn by turn" printed_exactly "low 1
high 1
low 2
high 2"
run tfy run order.tfy --policy priority
check "priority: the high one first" printed_exactly "high 1
high 2
low 1
low 2"
run tfy replay last
check "replay: 0 divergences" printed " 0 divergences"
run tfy run order.tfy --policy lifo
check "an unknown policy: 64" ended 64 "'lifo' is not a policy; use fifo, priority or deps"

run tfy run order.tfy --workflow stops --policy deps
check "a task after others waits: 75" ended 75 "who?"
check "an answer" tfy approve last Ann
run tfy resume last --policy priority
check "taken up under another policy: 0" ended 0
check "... the last one begins last" printed_exactly "Ann
last 1
last 2"
run tfy replay last
check "replay: 0 divergences" printed " 0 divergences"
