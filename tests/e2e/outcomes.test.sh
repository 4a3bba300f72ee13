#!/bin/sh
# How an attempt ended does not always tell whether it was done: then its undo is kept, its probe asked, and else a person.
. "$here/lib.sh"
cat >acts.tfy <<'END'
tool garbage() -> int once = exec ["sh", "-c", "echo garbage >>ledger; echo no number"]
tool shot() -> string once = exec ["sh", "-c", "echo shot >>ledger; kill -KILL $$"]
tool much() -> string once = exec ["sh", "-c", "echo much >>ledger; head -c 1100000 /dev/zero | tr '\\0' x"]
tool refuses() -> string once = exec ["sh", "-c", "echo refuses >>ledger; exit 3"]
tool absent() -> string once = exec ["/nowhere/at/all"]
tool stops() -> ExecResult once = exec ["sh", "-c", "echo stops >>ledger; kill -KILL $$"]
tool again() -> string idempotent = exec ["sh", "-c", "echo again >>ledger; kill -KILL $$"]

workflow act(which: string) -> string {
    if which == "garbage" {
        let n = yield garbage() undo { print("undo garbage ${n ?? -1}") }
        return "${n}"
    }
    if which == "stops" {
        let r = yield stops() undo { print("undo stops") }
        return "${r.code}"
    }
    if which == "shot" {
        let t = yield shot() undo { print("undo shot") }
        return t
    }
    if which == "much" {
        let t = yield much() undo { print("undo much") }
        return t
    }
    if which == "refuses" {
        let t = yield refuses() undo { print("undo refuses") }
        return t
    }
    if which == "absent" {
        let t = yield absent() undo { print("undo absent") }
        return t
    }
    let t = yield again() undo { print("undo again") }
    return t
}

workflow main(which: string) -> string {
    try {
        let said = yield act(which)
        return said
    } catch e {
        return "caught: ${e.message.lines()[0]}"
    }
}
END
act()
{
    rm -rf .tfy ledger
    run tfy run acts.tfy --which "$1"
}
in_doubt() { ended 75 "tfy resolve" && [ "$(records InDoubt)" = 1 ] && ! grep -q undo out; }
failed_without_undo() { ! grep -q undo out && grep -qF -- "caught: $1" out; }
replays()
{
    run tfy replay last
    printed " 0 divergences, 0 effects performed"
}

act garbage
check "exit 0 and an output that does not decode: in doubt" in_doubt
check "... the record says how it ended" sh -c \
    'sqlite3 .tfy/runs.db "select payload from wal" | grep -q "garbage failed, and may have been done.*BadValue"'
step=$(sqlite3 .tfy/runs.db "select step from history where type='InDoubt'")
run tfy resume last
check "... a resume asks again" ended 75 "tfy resolve"
check "... and does not repeat it" [ "$(wc -l <ledger)" = 1 ]
run tfy resolve last "$step" --done 7
run tfy resume last
check "... --done is its value" printed_exactly '"7"'
check "... and it replays" replays
act garbage
run tfy resolve last "$step" --fail
run tfy resume last
check "--fail raises what it ended with, and drops the undo" failed_without_undo 'not valid JSON'
check "... and it replays" replays
act garbage
run tfy resolve last "$step" --retry
run tfy resume last
check "--retry does it again, and that is in doubt again" ended 75 "tfy resolve"
check "... twice in all" [ "$(wc -l <ledger)" = 2 ]
run tfy kill last
run tfy resume last
check "a kill in doubt runs the undo that was kept" printed "undo garbage -1"
check "... and it replays" replays
act shot
check "ended by a signal: in doubt" in_doubt
act much
check "more output than is kept: in doubt" in_doubt
act refuses
check "a status of its own is a failure: the undo is dropped" failed_without_undo "'refuses' exited with status 3"
act absent
check "so is a tool that cannot be started" failed_without_undo "cannot run '/nowhere/at/all'"
act stops
check "an ExecResult tells of a signal as a value" printed_exactly '"137"'
act again
check "an idempotent step fails at once, and its undo is kept" printed_exactly "undo again
\"caught: 'again' was ended by signal 9\""
check "... and it replays" replays

# A snapshot keeps the error, too.
rm -rf .tfy ledger
run env TFY_SNAPSHOT_EVERY=1 tfy run acts.tfy --which garbage
run env TFY_SNAPSHOT_EVERY=1 tfy resume last
run env TFY_SNAPSHOT_EVERY=1 tfy resolve last "$step" --fail
run env TFY_SNAPSHOT_EVERY=1 tfy resume last
check "a step in doubt that lay in a snapshot fails with its error" failed_without_undo 'not valid JSON'
check "... with the tool called once" [ "$(wc -l <ledger)" = 1 ]

# The probe is asked first, and what it says holds: done, not done, or it does not know either.
cat >probed.tfy <<'END'
tool look(key: string) -> int? pure = exec ["sh", "-c", "echo probed >>asked; cat answer"]
tool pay() -> int once = exec ["sh", "-c", "echo paid >>ledger; kill -KILL $$"] probe look
tool pay_key() -> int once = exec ["sh", "-c", "echo paid >>ledger; kill -KILL $$"]
tool first_unknown() -> int once = exec ["sh", "-c", "[ -e begun ] && exit 5; : >begun; kill -KILL $$"]

workflow main(how: string) -> string {
    try {
        if how == "key" {
            let m = yield pay_key() retry 2 backoff 1ms key "one" undo { print("undo") }
            return "${m}"
        }
        if how == "first" {
            let m = yield first_unknown() retry 1 backoff 1ms key "one" undo { print("undo") }
            return "${m}"
        }
        let n = yield pay() undo { print("undo") }
        return "${n}"
    } catch e {
        return "caught: ${e.message}"
    }
}
END
probed()
{
    rm -rf .tfy ledger asked
    printf '%s' "$1" >answer
    run tfy run probed.tfy --how probe
}
probed 12
check "a probe that finds it: its value" printed_exactly '"12"'
check "... asked once, and nothing is in doubt" [ "$(wc -l <asked) $(records InDoubt)" = "1 0" ]
check "... and it replays" replays
probed null
check "one that does not: the error, and no undo" failed_without_undo "'pay' was ended by signal 9"
check "... and no second attempt" [ "$(wc -l <ledger)" = 1 ]
check "... and it replays" replays
probed nonsense
check "one that fails: in doubt" in_doubt

# retry with a key says that a repetition is harmless: unknown attempts are repeated, and the last one leaves the step in doubt.
rm -rf .tfy ledger
run tfy run probed.tfy --how key
check "retry and key repeat an unknown attempt" [ "$(wc -l <ledger)" = 3 ]
check "... until there is none left: in doubt" in_doubt
run tfy kill last
run tfy resume last
check "... with the undo kept" printed undo
check "... and it replays" replays
rm -rf .tfy
run tfy run probed.tfy --how first
check "a refusal behind an attempt that nobody knows of: in doubt" in_doubt

# A step that waits for a person holds no place of a limit.
cat >limited.tfy <<'END'
tool one(n: int) -> string once limit 1 = exec ["sh", "-c", "[ $1 = 2 ] && echo two || kill -KILL $$", "one", "${n}"]

workflow call(n: int) {
    let t = yield one(n)
    print("${n} ${t.trim()}")
}

workflow main() {
    let first = spawn call(1)
    let second = spawn call(2)
    yield join(second)
    yield join(first)
}
END
rm -rf .tfy
run tfy run limited.tfy
check "a step in doubt holds no place of its tool's limit" printed "2 two"
