#!/bin/sh
# Tools that use more than their sandbox grants are ended, and nothing else is. Each tool here has a bound of its own, far below what a machine can bear:
# never put one here that has none.
. "$here/lib.sh"
cat >limits.tfy <<'END'
sandbox default { processes 40 }
sandbox lean { memory "200 MiB" }
sandbox quick { cpu 1s }
sandbox low { files "1 MiB" }
sandbox terse { output "64 KiB" }

const SLEEPS = "i=0; while [ $i -lt 60 ]; do sleep $S & i=$((i + 1)); done; wait"
const FEW = "i=0; while [ $i -lt 20 ]; do sleep 1 & i=$((i + 1)); done; wait; echo few"
const HEAVY = "h() { { head -c 60000000 /dev/zero; sleep $S; } | tail -c 60000000 >/dev/null; }; "
const BUSY = "while :; do :; done"

tool many() -> ExecResult pure = exec ["sh", "-c", "S=20; ${SLEEPS}"]
tool away() -> ExecResult pure = exec ["setsid", "--fork", "--wait", "sh", "-c", "S=20; ${SLEEPS}"]
tool few() -> string pure = exec ["sh", "-c", FEW]
tool free() -> ExecResult once dangerous sandbox open = exec ["sh", "-c", "S=1; ${SLEEPS}"]
tool turns() -> string once dangerous sandbox open = exec ["sh", "-c", "cut -d ' ' -f 41 /proc/$PPID/stat /proc/self/stat"]
tool heavy() -> ExecResult pure sandbox lean = exec ["sh", "-c", "S=20; ${HEAVY} h & h & h & h & wait"]
tool light() -> ExecResult pure sandbox lean = exec ["sh", "-c", "S=1; ${HEAVY} h"]
tool busy() -> ExecResult pure sandbox quick = exec ["sh", "-c", BUSY]
tool large() -> ExecResult pure sandbox low = exec ["sh", "-c", "exec head -c 3000000 /dev/zero >made/large"]
tool wordy() -> ExecResult pure sandbox terse = exec ["sh", "-c", "yes | head -c 3000000"]

workflow process() -> string {
    try {
        let done = yield many()
        return "ended with ${done.code}"
    } catch e: ToolError { return e.message }
}
workflow session() -> string {
    try {
        let done = yield away()
        return "ended with ${done.code}"
    } catch e: ToolError { return e.message }
}
workflow memory() -> string {
    try {
        let done = yield heavy()
        return "ended with ${done.code}"
    } catch e: ToolError { return e.message }
}
workflow processor() -> string {
    try {
        let done = yield busy() timeout 20s
        return "ended with ${done.code}"
    } catch e: ToolError | Timeout { return e.message }
}
workflow size() -> string {
    try {
        let done = yield large()
        return "ended with ${done.code}"
    } catch e: ToolError { return e.message }
}
workflow calm() -> string {
    let words = yield few()
    let done = yield light()
    return "${words.trim()} ${done.code}"
}
workflow unbounded() -> int {
    let done = yield free() approve "go?"
    return done.code
}
workflow waits() -> string {
    let text = yield turns() approve "go?"
    return text
}
workflow main() {
    let r = parallel {
        many: yield process()
        away: yield session()
        heavy: yield memory()
        busy: yield processor()
        large: yield size()
        calm: yield calm()
    }
    print("many: ${r.many}\naway: ${r.away}\nheavy: ${r.heavy}\nbusy: ${r.busy}\nlarge: ${r.large}\ncalm: ${r.calm}")
    let done = yield wordy()
    print("wordy: ${done.out.len()} ${done.truncated}")
}
END
tfy build limits.tfy -o limits || exit 1
mkdir made
# all_of LEVEL
all_of()
{
    rm -rf .tfy made/large
    run timeout 60 ./limits run --sandbox-level "$1"
    check "$1: the run goes on" ended 0
    # As another user than root, a full sandbox's kernel refuses the 41st process itself.
    if [ "$1" = partial ] || [ "$(id -u)" = 0 ]; then
        check "$1: too many processes" printed "many: 'many' was ended: it ran more than 40 processes"
        check "$1: ... in a session of their own" printed "away: 'away' was ended: it ran more than 40 processes"
    fi
    check "$1: too much memory in several processes" printed "heavy: 'heavy' was ended: it used more than 200 MiB of memory"
    check "$1: too much processor time" printed "'busy' was ended: it used more than 1s of processor time"
    check "$1: too large a file" printed "large: 'large' was ended: it wrote a file larger than 1 MiB"
    check "$1: ... which holds what the limit allows" [ "$(stat -c %s made/large)" = 1048576 ]
    check "$1: tools that stay below their limits notice nothing" printed "calm: few 0"
    check "$1: an output is cut" printed "wordy: 65536 true"
}
run ./limits run --workflow calm --sandbox-level full
if [ "$status" = 0 ]; then all_of full; else echo "ok full: skipped, no full sandbox here"; fi
all_of partial
run ./limits run --workflow unbounded --yes
check "an open tool has no limits" printed_exactly 0
# Nobody counts root's processes but the one that looks. It waits for its turn behind none of them.
if [ "$(id -u)" = 0 ] && chrt -r 1 true 2>/dev/null; then
    run ./limits run --workflow waits --yes
    check "root: a look at a tool comes before its processes, which get no such right" printed_exactly '"2\n0\n"'
fi
