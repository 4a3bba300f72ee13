#!/bin/sh
# tfy mcp serve: the workflows of a program as tools, for clients of all revisions over standard files.
. "$here/lib.sh"
export PYTHONDONTWRITEBYTECODE=1 TFY_DB="$PWD/runs.db"

cat >offers.tfy <<'END'
type Pair { left: string, right: string }
enum When { early, late }
enum Part { text(text: string), image(data: bytes, mime: string), link(uri: string, name: string), resource(uri: string, mime: string, text: string) }
error Broken

tool note(file: string, n: int) -> ExecResult once = exec ["sh", "-c", "echo \"$1\" >>\"$2\"", "note", "${n}", file]

/// Greets somebody.
workflow hello(name: string) -> string { return "hello ${name}" }

/// Doubles a number.
workflow double(n: int) -> int { return 2 * n }

/// Makes a pair.
workflow pair(left: string, right: string) -> Pair { return Pair(left: left, right: right) }

/// Gives nothing.
workflow quiet() { log("quiet") }

/// Gives many things.
workflow parts() -> list<Part> {
    let data = "AQID".from_base64()
    return [Part.text("a text"), Part.image(data, "image/png"), Part.link("x:1", "one"), Part.resource("x:1", "text/plain", "in it")]
}

/// Fails.
workflow fails() fails Broken { fail Broken("it is broken") }

/// Fails after a while.
workflow late_failure() fails Broken {
    yield sleep(900ms)
    fail Broken("it is broken")
}

/// Divides by nothing.
workflow panics() -> int {
    let none: list<int> = []
    return none[3]
}

/// Divides by nothing after a while.
workflow late_panic() -> int {
    yield sleep(900ms)
    let none: list<int> = []
    return none[3]
}

/// Gives a long text.
workflow long(n: int) -> string { return "0123456789".repeat(n) }

/// Sleeps.
workflow slow(ms: int) -> string {
    yield sleep(1ms * ms)
    return "slept"
}

/// Asks three questions.
workflow asks() -> string {
    let sure = yield approve("sure?")
    let name = yield ask("who?")
    let w: When = yield approve("when?")
    return "${sure} ${name} ${w}"
}

/// Asks two questions at once.
workflow asks_two() -> list<bool> {
    let both = parallel for q in ["one?", "two?"] { give yield approve(q) }
    return both
}

/// Is done if somebody approves.
workflow approved() -> string fails Denied {
    yield note("approved", 1) approve "really?"
    return "done"
}

/// Counts.
workflow counts(n: int) -> string {
    yield note("counted", n)
    return "counted ${n}"
}

/// Counts after a while.
workflow counts_slowly(n: int) -> string {
    yield sleep(900ms)
    yield note("counted_slowly", n)
    return "counted ${n} slowly"
}

workflow hidden() -> string { return "not documented" }

/// Talks with a task, which is not JSON.
workflow talks(to: channel<int>) { yield to.send(1) }
END

# client SCENARIO [OPTION…]: with a server of its own, whose stderr is in ./log.
client()
{
    scenario=$1
    shift
    rm -f counted
    run timeout 100 python3 "$here/mcp_client.py" "$scenario" -- sh -c 'exec tfy mcp serve offers.tfy "$@" 2>>log' sh --hold 400ms "$@"
}
run tfy check offers.tfy
check "the program is one" ended 0
for scenario in discover refused garbage calls tasks task_questions questions without_forms keys many cancels killed killed_asking older older_asked; do
    client $scenario
    check "a client: $scenario" ended 0
done
check "the key is the owner's alone" sh -c '[ "$(stat -c %a runs.db-key)" = 600 ] && [ "$(stat -c %s runs.db-key)" = 32 ]'
check "nothing but the protocol is on stdout" sh -c '! grep -q "not a message" log'
