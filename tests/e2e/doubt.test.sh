#!/bin/sh
# A crash in the middle of a step that must not happen twice.
. "$here/lib.sh"
cat >once.tfy <<'END'
tool act(wait: string) -> string once = exec ["sh", "-c", "echo begun >>ledger; sleep \$1; echo done >>ledger; echo result", "act", wait]

workflow main(wait: string = "5") -> string {
    print("before")
    let said = yield act(wait)
    print("after")
    return said.trim()
}
END
crash()
{
    rm -rf .tfy ledger
    start tfy run once.tfy
    within 20 grep -q begun ledger
    kill -KILL "$pid"
    finish
}

crash
check "the tool ends with the process" within 5 sh -c '! pgrep -f "sleep 5" -P 1'
run tfy resume last
check "resume does not repeat it: 75" ended 75 "tfy resolve"
check "... and has not" [ "$(cat ledger)" = begun ]
check "... but records InDoubt" [ "$(records InDoubt)" = 1 ]
run tfy inspect last
check "inspect shows the command" printed "tfy resolve"
run tfy ps --state doubt --json
check "ps has the state doubt" python3 -c 'import json; r = json.load(open("out")); exit([x["state"] for x in r] != ["doubt"])'
run tfy ps --state unfinished
check "... which is one of the unfinished" sh -c 'sed 1d out | grep -q "  doubt  "'
run tfy ps --state stopped
check "... and nothing else" ended 0 "no run of .tfy/runs.db is of that kind"
step=$(sqlite3 .tfy/runs.db "select step from history where type='InDoubt'")
run tfy resolve last 99 --retry
check "another step is not in doubt" ended 1
before=$(records Resolved)
run tfy resolve last "$step" --done 5
check "a result of the wrong type is refused: 65" ended 65 "step $step returns string, got 5"
check "... and nothing is recorded" [ "$(records Resolved)" = "$before" ]
tfy backup kept.db >check.out
run tfy resolve last "$step" --done '"by hand"'
check "resolve --done: 0" ended 0
run tfy resume last
check "... its result is taken" sh -c 'printf "after\n\"by hand\"\n" | diff - out'
check "... the tool did not run again" [ "$(cat ledger)" = begun ]
run tfy replay last
check "... and it replays: 0 divergences" printed " 0 divergences, 0 effects performed"

# An older tfy recorded such a result; it decides nothing. The log is written here as that one wrote it: exported, changed, its chain made anew.
tfy adopt --db kept.db --force 2>check.out
tfy resolve last "$step" --done '"by hand"' --db kept.db 2>check.out && tfy wal export last -o old --db kept.db >check.out && python3 "$here/forge.py" old/*.run '"value":"by hand"' '"value":5' >made 2>&1
run tfy wal import old/*.run --db old.db
check "a log that an older tfy wrote can be read" ended 0
run tfy resume last --db old.db
check "... and its result of the wrong type decides nothing: 75" ended 75 "does not fit: act returns string"
check "... the step is in doubt as before" grep -q "resolve" err
run tfy inspect last --db old.db
check "... inspect says so beside the run's state" grep -q "^state      stopped, .*, 1 step in doubt$" out

tfy kill last --db old.db 2>check.out
run tfy ps --db old.db --state doubt
check "... and so does ps, behind a kill, too" printed "  doubt  "

# A live process looks too.
crash
start tfy resume last --wait
within 20 sh -c '[ "$(sqlite3 -readonly .tfy/runs.db "select count(*) from history where type=\"InDoubt\"")" = 1 ] && test -S .tfy/runs.db-live/owner'
tfy resolve last "$step" --done '{"a":1}' 2>said
check "a live process refuses it too: 65" [ "$?" = 65 ]
check "... in the same words" grep -qx "tfy: step $step returns string, got an object" said
check "... records nothing" [ "$(records Resolved)" = 0 ]
tfy ps --state doubt >said
check "... and its run is in doubt" grep -q "  doubt  " said
tfy resolve last "$step" --done '"by hand"' 2>said
finish
check "... and takes one that fits" printed '"by hand"'
run tfy ps --state doubt
check "... until it is resolved" ended 0 "no run of"

# Of a step that returns nothing only null can be said.
cat >void.tfy <<'END'
enum Kind { small, large }

tool act() once = exec ["sh", "-c", "echo begun >>ledger; sleep 5"]
tool weigh() -> Kind once = exec ["sh", "-c", "echo weighed >>ledger; sleep 5"]

workflow main() -> Kind {
    yield act()
    let kind = yield weigh()
    return kind
}
END
rm -rf .tfy ledger
start tfy run void.tfy
within 20 grep -q begun ledger
kill -KILL "$pid"
finish
run tfy resume last
run tfy resolve last 1 --done 1
check "a step that returns nothing is done with null only" ended 65 "step 1 returns nothing"
run tfy resolve last 1 --done null
check "... which is taken" ended 0
start tfy resume last
within 20 grep -q weighed ledger
kill -KILL "$pid"
finish
run tfy resume last
run tfy resolve last 2 --done '"huge"'
check "a case that the type does not have is refused" ended 65 'step 2 returns Kind'
run tfy resolve last 2 --done '"small"'
run tfy resume last
check "... one that it has is taken" printed '"small"'

crash
run tfy resume last
run tfy resolve last "$step" --retry
run tfy resume last
check "resolve --retry runs it again" printed '"result"'
check "... once" [ "$(grep -c begun ledger)" = 2 ]

crash
run tfy resume last
run tfy resolve last "$step" --fail
run tfy resume last
check "resolve --fail fails the step" ended 1 "ToolError"

# With a probe nobody needs to be asked.
cp "$EXAMPLES/ledger/ledger.tfy" "$EXAMPLES/ledger/ledger.c" .
rm -rf .tfy
sed -i 's/&& printf paid/\&\& sleep 3 \&\& printf paid/' ledger.tfy
start tfy run ledger.tfy ledger.c --to ann --cents 5
within 20 [ -s ledger.txt ]
kill -KILL "$pid"
finish
run tfy resume last ledger.c
check "the probe answers: 0" ended 0
check "... with the recorded result" printed '"paid"'
check "... and nothing was booked twice" [ "$(wc -l <ledger.txt)" = 1 ]

# A child's step in doubt is named by its task; the command that is shown is the one to type.
cat >child.tfy <<'END'
tool act() -> string once = exec ["sh", "-c", "echo begun >>ledger; sleep 5; echo result"]

workflow child() -> string {
    let said = yield act()
    return said.trim()
}

workflow main() -> string {
    let c = spawn child()
    let said = yield join(c)
    return said
}
END
rm -rf .tfy ledger
start tfy run child.tfy
within 20 grep -q begun ledger
kill -KILL "$pid"
finish
run tfy resume last
check "a child's step in doubt: 75" ended 75 "tfy resolve"
command=$(sed -n 's/^  \(tfy resolve .*\) --done JSON.*/\1/p' err)
run $command --done '"by hand"'
check "... the command that is shown resolves it" ended 0
run tfy resume last
check "... and its result is taken" printed '"by hand"'

# A kill that a finally holds back leaves its step in doubt, and there is still a way to answer.
cat >held.tfy <<'END'
tool act() -> string once = exec ["sh", "-c", "echo begun >>ledger; sleep 5; echo result"]

workflow main() {
    try {
        yield sleep(1ms)
    } finally {
        let said = yield act()
        print("cleaned with ${said.trim()}")
    }
}
END
rm -rf .tfy ledger
start tfy run held.tfy
within 20 grep -q begun ledger
kill -KILL "$pid"
finish
run tfy resume last
step=$(sqlite3 .tfy/runs.db "select step from history where type='InDoubt'")
run tfy kill last
check "a run in doubt is killed: 0" ended 0
run tfy resume last
check "... its finally still waits: 75" ended 75 "tfy resolve"
run tfy resolve last "$step" --done '"by hand"'
check "... and can be answered" ended 0
run tfy resume last
check "... then the finally runs to its end" printed "cleaned with by hand"
run tfy replay last
check "... and it replays: 0 divergences" printed " 0 divergences, 0 effects performed"

# Beside a task that sleeps, a step in doubt is told at once, and again by every resume.
cat >beside.tfy <<'END'
tool act() -> string once = exec ["sh", "-c", "echo begun >>ledger; sleep 5; echo result"]

workflow naps() {
    yield sleep(1h)
}

workflow child() -> string {
    let said = yield act()
    return said.trim()
}

workflow main() -> string {
    let t = spawn naps()
    let c = spawn child()
    let said = yield join(c)
    kill(t)
    return said
}
END
rm -rf .tfy ledger
start tfy run beside.tfy
within 20 grep -q begun ledger
kill -KILL "$pid"
finish
for resume in first second; do
    start tfy resume last --events
    check "$resume resume: it is told while others sleep" within 20 grep -q "^child, line 8: step 1 (act) may have happened" err
    check "... with what to type" grep -q "^  tfy resolve [0-9a-f-]* 1 --task 1.2 --done JSON|--retry|--fail" err
    check "... once" [ "$(grep -c "^child, line 8" err)" = 1 ]
    check "... and as a live event" within 20 grep -q '"stage":"AwaitingUserApproval","message":"step 1 (act) may have happened: tfy resolve' err
    check "inspect shows it" sh -c 'tfy inspect last | grep -q "resolve .* --retry"'
    [ $resume = second ] || kill -TERM "$pid"
    [ $resume = second ] || finish
done
check "it is answered to the live process" tfy resolve last 1 --task 1.2 --done '"by hand"'
finish
check "... which goes on" printed '"by hand"'
