#!/bin/sh
# tfy crashtest: kills somebody's program everywhere, and finds what is not as it would have been.
. "$here/lib.sh"
export TMPDIR=$PWD

cat >pays.tfy <<'END'
tool add(file: string, line: string) -> string once = exec ["sh", "-c", "echo $1 >>$0; echo done", file, line]
tool look(file: string) -> string pure = exec ["sh", "-c", "cat $0 2>/dev/null; true", file]

workflow main(file: string) -> string {
    let before = yield look(file)
    let slow = spawn other(file)
    yield add(file, "one")
    yield sleep(5s)
    yield join(slow)
    print("before: ${before}")
    return yield look(file)
}

workflow other(file: string) {
    yield add(file, "two") timeout 10s
}
END

# With answers from the first run: nothing happens twice outside, and five seconds take no time.
run tfy crashtest pays.tfy --sandbox open --at 5 --jobs 2 --file "$PWD/book"
check "a program that is right passes" ended 0
check "it says how many kills there were" grep -q '^[0-9][0-9]* kills ([0-9]* commits, [0-9]* stops): [0-9]* the same, 0 differ' out
check "only the first run was real" [ "$(wc -l <book)" = 2 ]
check "nothing is left behind" [ "$(ls -d tfy-crashtest-* 2>/dev/null)" = "" ]

# null is a result: it is printed, and compared.
cat >null.tfy <<'END'
workflow main(say: bool = true) -> int? {
    print("x")
    yield sleep(1s)
    if say { print("y") }
    return null
}
END
run tfy crashtest null.tfy --at 3
check "a program that returns null passes" ended 0
check "... with every kill compared" grep -q '^[0-9][0-9]* kills ([0-9]* commits, [0-9]* stops): [0-9]* the same, 0 differ' out

# Tasks that race: who comes second in the first run comes first when answers take no time. A call gets the answer to what it asks, whoever
# asked it before; what nobody ever asked is named, and nobody waits for it.
cat >races.tfy <<'END'
tool slow(name: string) -> string pure = exec ["sh", "-c", "test $0 = one && sleep 0.3; echo $0", name]
tool look(name: string) -> string pure = exec ["echo", "this is", name]

workflow racer(names: channel<string>, out: channel<string>) {
    let name = yield names.recv()
    let text = yield slow(name ?? "nobody")
    yield out.send(text.trim())
    let rest = yield names.recv()
    if rest == null { return }
    let more = yield slow(rest)
    yield out.send(more.trim())
}

workflow main(all: bool) -> string {
    let names: channel<string> = channel(3)
    let out: channel<string> = channel(3)
    for name in ["one", "two", "three"] { yield names.send(name) }
    names.close()
    let a = spawn racer(names, out)
    let b = spawn racer(names, out)
    let first = yield out.recv()
    var seen = [first ?? ""]
    for _ in 0..2 {
        let next = yield out.recv()
        seen = seen.push(next ?? "")
    }
    yield join(a)
    yield join(b)
    return yield look(if all { seen.sort().join(" ") } else { seen.join(" ") })
}
END
run tfy crashtest races.tfy --all true --loose --at 9
check "the same question has the same answer, whoever asks" ended 0
check "in all trials" printed ' the same, 0 differ'
run tfy crashtest races.tfy --all false --at 9
check "a question that the first run never asked ends the second" ended 65 "task 1 waits for look (line 29), for which the first run has no answer: its tasks race"

# Each trial has keys of its own, and the time of its own; neither is a difference. A further line is one, and so is a further file.
cat >stamps.tfy <<'END'
tool mark(n: int) -> string idempotent = exec ["sh", "-c", "date +%s.%N >stamp; echo $TFY_KEY >key-$0; echo $TFY_KEY", "${n}"]
tool twice(n: int) -> string idempotent = exec ["sh", "-c", "date +%s.%N >stamp; echo $TFY_KEY | tee -a keys", "${n}"]
tool odd() -> string idempotent = exec ["mktemp", "odd.XXXXXX"]
workflow main(how: string) -> string {
    let a = yield mark(1)
    let b = number_of(how)
    if b == 1 { yield twice(2) }
    if b == 2 { yield odd() }
    return "${a.trim()} ${how}"
}
fn number_of(how: string) -> int {
    return if how == "twice" { 1 } else if how == "odd" { 2 } else { 0 }
}
END
run tfy crashtest stamps.tfy --real --how well
check "keys and times are no differences" ended 0 "so only their names are compared"
check "... a file that no two runs leave alike is named" grep -qx './stamp' err
run tfy crashtest stamps.tfy --real --how twice
check "a key written down twice is one" ended 1
check "... named with its file" printed "./keys"
run tfy crashtest stamps.tfy --real --how odd
check "files with names of their own cannot be compared" ended 65 "leave different files"

# However many files there are, the last one counts.
cat >many.tfy <<'END'
tool fill() -> ExecResult idempotent = exec ["sh", "-c", "seq 1000 | xargs touch; echo x >>z"]
workflow main() { yield fill() }
END
run tfy crashtest many.tfy --real --at before:2
check "the last of 1,001 files is compared" ended 1
check "... and named" printed "./z"

# The tool says that it may be repeated, and may not. Real tools work in a copy of a directory.
cat >counts.tfy <<'END'
tool add() -> string idempotent = exec ["sh", "-c", "echo x >>notes; wc -l <notes"]
workflow main() -> string { return yield add() }
END
mkdir project && echo x >project/notes
run tfy crashtest counts.tfy --real --copy project
check "a tool that is no repeatable one is found" ended 1
check "with its effects" printed "the effects differ:"
again=$(sed -n 's/^    to see it again: //p' out | head -n 1)
check "and how to see that again" [ -n "$again" ]
run sh -c "$again"
check "which shows it again" ended 1
check "and only that" printed "1 kill ("
check "the directory was copied" [ "$(cat project/notes)" = x ]
rm -rf tfy-crashtest-*
run tfy crashtest counts.tfy --real --copy project --json --at "${again##*--at }"
check "as JSON" grep -q '^{"kills":[0-9]*,"same":[0-9]*,"differ":[1-9][0-9]*,"unknown":0,"loose":false}$' out
rm -rf tfy-crashtest-*

# Whoever waits for people cannot be compared.
printf 'workflow main() -> bool { return yield approve("go?") }\n' >asks.tfy
run tfy crashtest asks.tfy
check "a program that asks needs --yes" ended 65 "--yes answers every approval with yes"
run tfy crashtest asks.tfy --yes --at after:2
check "and is tested with it" ended 0

run tfy crashtest counts.tfy --at never
check "a place that is none" ended 64 "'never' is not a place"
run tfy crashtest counts.tfy --at point:0
check "places count from one" ended 64 "'point:0' is not a place"
run tfy crashtest counts.tfy --copy nowhere
check "a directory that is not there" ended 64 "there is no directory 'nowhere'"
run tfy crashtest counts.tfy --jobs 1000
check "too many at a time" ended 64 "--jobs takes 1 to 64"
run tfy crashtest nothing.tfy
check "no program" ended 69
