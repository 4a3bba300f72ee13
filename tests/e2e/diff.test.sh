#!/bin/sh
# Two runs compared: tfy diff.
. "$here/lib.sh"
cat >w.tfy <<'END'
tool say(text: string) -> string pure = exec ["printf", "%s", text]

workflow child(n: int) -> int {
    let _x = yield say("c${n}")
    return n
}

workflow main(word: string = "x", extra: bool = false) -> int {
    let id = yield uuid()
    let at = yield now()
    print("${id} at ${at}")
    let a = spawn child(1)
    let one = yield say(word)
    if extra {
        yield sleep(1ms)
        let _more = yield say("more") as "more"
    }
    print(one)
    let s = yield join(a)
    return s
}
END
tfy run w.tfy >out 2>err && tfy run w.tfy >out 2>err && tfy run w.tfy --word y --extra >out 2>err
mkdir new
sed "s/join(a)/join(a)\n    print(\"joined\")/; s/^workflow main/\n\nworkflow main/" w.tfy >new/w.tfy
tfy run new/w.tfy >out 2>err

run tfy diff 1 2
check "runs that did the same: 0, whatever their uuids and times" ended 0
check "... and all is the same" printed "11 same, 0 changed, 0 only in a, 0 only in b"
run tfy diff 1 3
check "runs that did not: 1" ended 1
check "the first difference" sh -c 'grep -A 1 "^first difference: task 1$" out | grep -q "step 0: InstructionStart"'
check "another argument, known by its digest, and another result" sh -c 'tr "\n" " " <out | grep -qF "line 13: ToolResult say       argument       result (value)         a  \"x\"         b  \"y\""'
check "what is in one only" printed "  + step 6, line 16: ToolResult say"
check "what is shifted is found again" printed "8 same, 3 changed, 0 only in a, 3 only in b"
run tfy diff 3 1
check "the other way round" printed "8 same, 3 changed, 3 only in a, 0 only in b"
run tfy diff 1 4
check "a changed program: points are known by their ids, not by their lines" printed "11 same, 0 changed, 0 only in a, 1 only in b"
run tfy diff 1 3 --json
check "--json" python3 -c '
import json
d = json.load(open("out"))
assert not d["same"] and d["counts"] == {"same": 8, "changed": 3, "only_a": 0, "only_b": 3}, d["counts"]
assert d["first"]["type"] == "InstructionStart" and len(d["steps"]) == 14
result = [s for s in d["steps"] if s["how"] == "changed" and s["type"] == "ToolResult"][0]
assert {"what": "result", "member": "value", "a": "x", "b": "y"} in result["changed"], result
assert result["a"]["line"] == 13 and result["a"]["point"] == "main/tool/say/1"'
tfy fork 3 --at 4 --set-result '"z"' >fork 2>err && tfy resume "$(cat fork)" >out 2>err
run tfy diff 3 "$(cat fork)"
check "a run and what was forked from it share all but what was set, and what follows" printed "12 same, 2 changed, 0 only in a, 0 only in b"
run tfy diff 1 9
check "a run that is not there: 69" ended 69 "has no run '9'"
run tfy diff 1
check "one run alone: 64" ended 64 "diff needs RUN RUN"
