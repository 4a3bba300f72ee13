#!/bin/sh
# What a tool leaves working when everything that watches over it is killed, or when its time is up: it is ended before its step is asked about or
# done again, whatever it did to its parents, session, group and environment.
. "$here/lib.sh"
cat >work.tfy <<'END'
tool act() -> string once = exec ["sh", "act.sh"] probe acted
tool acted(key: string) -> string? pure = exec ["sh", "acted.sh"]
tool hang() -> string pure = exec ["sh", "hang.sh"]

workflow main() -> string {
    return yield act()
}

workflow again() -> string {
    return yield hang() timeout 500ms retry 2 backoff 1ms else "late"
}

workflow failing() -> string {
    return yield hang() retry 2 backoff 1ms else "failed"
}
END
# The work is done by a grandchild, in a session of its own and with an empty environment, and takes as long as ./long says. A tool, and a probe,
# that comes while another grandchild is at work writes that down. The pattern names this directory: other tests run on this machine.
here_works="^sh $PWD/worker.sh" here_hangs="^sleep 3417$$"
export here_works here_hangs
cat >act.sh <<END
! pgrep -f "$here_works" >/dev/null || echo beside >>ledger
echo begun >>ledger
(env -i setsid sh "$PWD/worker.sh" "\$(cat long)" >/dev/null 2>&1 </dev/null &)
while ! [ -e done ]; do sleep 0.05; done
printf result
END
cat >worker.sh <<'END'
trap "" TERM
PATH=/usr/bin:/bin
sleep "$1"
echo done >>ledger
: >done
END
cat >acted.sh <<END
! pgrep -f "$here_works" >/dev/null || echo asked too early >>ledger
if [ -e done ]; then echo '"result"'; else echo null; fi
END
cat >hang.sh <<END
! pgrep -f "$here_hangs" >/dev/null || echo beside >>ledger
echo begun >>ledger
(env -i setsid sleep 3417$$ >/dev/null 2>&1 </dev/null &)
until pgrep -f "$here_hangs" >/dev/null; do sleep 0.02; done
[ ! -e fails ] || exit 1
exec sleep 60
END
tfy build work.tfy -o work

works() { pgrep -f "$here_works" >/dev/null; }
idle() { ! pgrep -f "$here_works|$here_hangs" >/dev/null; }
ledger_is() { [ "$(tr '\n' ' ' <ledger)" = "$1 " ]; }

# Starts the run; its grandchild is at work, and $watcher and $stubs are what watches over it.
begin()
{
    rm -rf .tfy ledger done
    echo "$1" >long
    start ./work run ${held---sandbox open} --workflow main
    within 20 works
    watcher=$(pgrep -P "$pid")
    stubs=$(pgrep -P "$watcher")
}

# What must be true after a resume, whatever was killed.
check_resume()
{
    echo 0 >long
    run ./work resume last ${held---sandbox open}
    check "$1: the resume goes on to the end" printed '"result"'
    check "... after the old tool's end: it was begun twice and done once" ledger_is "begun begun done"
    check "... and nothing is left" idle
}

# Tools without a sandbox: only the watcher finds what they leave. In one, the kernel ends it with the stub.
held=
begin 60
kill -STOP "$watcher"
kill -KILL "$pid" $stubs "$watcher"
finish
check "in a sandbox nothing outlives runtime, watcher and stub" within 5 idle
unset held

begin 60
kill -STOP "$watcher" # so that the three die together
kill -KILL "$pid" $stubs "$watcher"
finish
check "the grandchild outlives runtime, watcher and stub" works
check_resume "all killed"

begin 60
kill -STOP "$watcher"
kill -KILL "$pid" "$watcher"
finish
check_resume "runtime and watcher killed"

begin 60
kill -KILL "$watcher"
finish
check "a dead watcher is a crash: 70, and what to type" ended 70 "; continue with: "
check "... which is said" grep -q "the process that supervises the tools (pid $watcher) was killed" err
check "... no tool is left" idle
check "... and no outcome recorded" [ "$(records ToolResult)$(records ToolError)$(records InDoubt)" = 000 ]
check_resume "watcher killed"

begin 60
kill -KILL $stubs
finish
check "so is a dead stub: 70" ended 70 "; continue with: "
check_resume "stub killed"

begin 1
kill -STOP "$watcher"
kill -KILL "$pid"
finish
within 20 test -e done
kill -CONT "$watcher"
run ./work resume last ${held---sandbox open}
check "work that was done before its end is found by the probe" ledger_is "begun done"

rm -f ledger
run ./work run --sandbox open --workflow again
check "attempts that run out of time are not side by side" ledger_is "begun begun begun"
check "... and the step has its else" printed '"late"'
rm -f ledger
: >fails
run ./work run --sandbox open --workflow failing
check "nor does what a failed attempt left work beside the next" ledger_is "begun begun begun"
check "... and nothing is left at the end" idle
