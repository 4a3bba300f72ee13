#!/bin/sh
# tfy why: which answer of a model chose a step, and what the model was asked.
. "$here/lib.sh"
crash=$here/../crash
cp "$build/tests/crash/ledger_tool" .
TFY_DB=$PWD/runs.db
export TFY_DB
run tfy run "$crash/desk.tfy" --yes --llm "cassette:$crash/desk.jsonl"
check "an agent works" ended 0
step_of() { tfy history last --json | python3 -c '
import json, sys
for line in sys.stdin:
    record = json.loads(line)
    if record["type"] == sys.argv[1] and sys.argv[2] in json.dumps(record["payload"]): break
print(record["task"] + "/" + str(record["step"]))' "$@"; }
run tfy why last "$(step_of StepStart '"who": "carl"')"
check "a step has the call that it performs" grep -qx 'call         pay(who: "carl", amount: 7)' out
check "... the answer that held it" grep -Eqx 'answer       1/[0-9]+ payer.next, line [0-9]+ by scripted' out
check "... and what the model was asked" grep -qx 'instruction  user: settle carl' out
run tfy why last "$(step_of ToolResult '"tool": "add"')" --json
check "a call beside others is found from its own task" python3 -c '
import json
report = json.load(open("out"))
assert report["step"]["task"] == "1.1" and report["answer"]["task"] == "1" and report["answer"]["tool"] == "clerk.next", report
assert [call["args"] for call in report["calls"]] == [{"a": 1, "b": 2}], report
assert report["instruction"] == [{"role": "system", "text": "You keep the books."}, {"role": "user", "text": "pay all"}], report'
run tfy why last "$(step_of StepStart 'go on with the books')"
check "a step of an offered workflow has the call of the workflow" grep -qx 'call         agreed()' out
run tfy why last "$(step_of LLMPlan 'settle carl')"
check "the program's own step was chosen by nobody else" printed "by the program; no model chose it"
run tfy why last 99
check "a step that is not there" ended 69 "task 1 of the run has no step 99"
run tfy why last 1.2/x
check "a step is a number" ended 64 "'1.2/x' is not a step, such as 7, or 1.2/7 of the task 1.2"
run tfy why last 1 --task 1.9
check "a task that is not there" ended 69 "task 1.9 of the run has no step 1"
rm ledger
run tfy run "$crash/desk.tfy" --yes --llm "cassette:$crash/desk.jsonl" --record-prompts digest
run tfy why last "$(step_of StepStart '"who": "carl"')"
check "without the texts it says so" grep -qx 'instruction  (the log does not have it)' out
