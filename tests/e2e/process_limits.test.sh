#!/bin/sh
# What goes beyond a limit of the process fails alone, is recorded, and is the same in a replay and after a resume, which set none.
. "$here/lib.sh"

cat >limits.tfy <<'END'
workflow child() { yield sleep(10ms) }

workflow many(n: int) -> int {
    var count = 0
    for _ in 0..n {
        spawn child()
        count += 1
    }
    return count
}

workflow grows() {
    var all: list<string> = []
    try {
        while true {
            all = all.push("x".repeat(10000) + "${all.len()}")
            yield
        }
    } catch _ {
        print("never")
    } finally {
        print("cleaned")
    }
}

workflow huge() {
    var s = "x"
    while true { s = s + s }
}

workflow shares() -> int {
    let big = "x".repeat(3000000)
    var all: list<string> = []
    for _ in 0..1000 { all = all.push(big) }
    yield
    var other: list<string> = []
    for _ in 0..300 { other = other.push("y".repeat(10000)) }
    yield
    return all.len() + other.len()
}

workflow main() {
    let g = spawn grows()
    let h = spawn huge()
    let s = spawn shares()
    try { yield join(g) } catch e { print(e.message) }
    try { yield join(h) } catch e { print(e.message) }
    let n = yield join(s)
    print("${n}")
    let m = spawn many(20)
    try { yield join(m) } catch e { print(e.message) }
    let c = spawn wide()
    try { yield join(c) } catch e { print(e.message) }
}

workflow wide() {
    let c: channel<int> = channel(100)
    c.close()
}

workflow waits() {
    let n: int = yield signal("n")
    print("${n}")
}

workflow stopped() {
    let m = spawn many(20)
    try { yield join(m) } catch e { print(e.message) }
    let x = yield ask("go on?")
    print(x)
}
END

run timeout 60 tfy run limits.tfy --max-memory 8M --max-tasks 10 --max-queue 50
check "tasks over a limit fail, the process lives" ended 0
check "... and each says why" printed_exactly "cleaned
Panic: the task uses more memory than a task may (limits.tfy:17)
Panic: memory has run out
1300
Panic: there are 10 tasks already: the limit of this process (limits.tfy:6)
Panic: a channel of this process has room for at most 50 messages, not 100 (limits.tfy:57)"
run tfy replay last
check "replay without limits: 0 divergences" printed " 0 divergences"
run timeout 60 tfy run limits.tfy --workflow many --n 20
check "without a limit there is none" printed_exactly 20

run timeout 60 tfy run limits.tfy --workflow stopped --max-tasks 10
check "a run with a refused spawn waits: 75" ended 75
check "an answer" tfy approve last yes
run timeout 60 tfy resume last
check "resumed without the limit it goes on: 0" ended 0
check "... behind the panic" printed yes

start tfy run limits.tfy --workflow waits --max-queue 2 --wait
waiting() { tfy inspect last | grep -q "waits for signal n"; }
within 20 waiting
tfy signal last other 1
check "a kept signal" tfy signal last other 2
run tfy signal last n 7
check "one more than is kept: refused" ended 1 "keeps 2 signals that no task has taken yet"
kill "$pid"
finish

for value in 0 8X -1 "" 99999999999999999999 8Mi; do
    run tfy run limits.tfy "--max-memory=$value"
    check "--max-memory=$value: 64" ended 64 "--max-memory; it takes"
done
run tfy run limits.tfy --max-tasks 10K
check "tasks are counted without units: 64" ended 64 "--max-tasks; it takes"
