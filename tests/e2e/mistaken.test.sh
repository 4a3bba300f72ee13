#!/bin/sh
# What models do wrong: what an agent's model is told of it, what ends the agent, and what is recorded.
. "$here/lib.sh"
cat >agent.tfy <<'END'
/// A long text.
fn long(n: int) -> string {
    var text = ""
    for i in 0..n { text = "${text}line ${i} of many\n" }
    return text
}

/// Counts.
tool count(n: int) -> ExecResult idempotent local = exec ["sh", "-c", "echo $1 >>counted", "sh", "${n}"]

prompt worker(goal: string) -> string {
    user goal
    tools { long, count }
    rounds 5
    retry 2
}

workflow main(goal: string) -> string {
    try {
        return yield worker(goal)
    } catch e: ToolError | BadValue {
        return "ended: ${e.message}"
    }
}
END
python3 -c '
import json
def answer(match, *calls, text=None, **more):
    message = {"content": text}
    if calls: message["tool_calls"] = [{"id": "i%d" % n, "type": "function", "function": {"name": name, "arguments": args}}
                                       for n, (name, args) in enumerate(calls)]
    print(json.dumps({"match": match, "message": message, **more}))
answer("broken", *[("count", args) for args in ("{\"n\": ", "[1]", "1", "{\"n\": 1, \"n\": 2}", "{\"n\": \"x\"}", "{}",
                                                "{\"n\": 1, \"m\": 2}")])
answer("broken", ("", "{}"), ("Count", "{\"n\": 1}"))
answer("broken", text="broken end")
answer("many", *[("count", "{\"n\": %d}" % n) for n in range(70)])
answer("many", text="many end")
answer("much", ("long", "{\"n\": 5000}"))
answer("much", text="much end")
answer("filtered", text="no", finish_reason="content_filter")
print(json.dumps({"match": "refused", "message": {"content": None, "refusal": "I do not count."}}))
answer("late", ("long", "{\"n\": 1}"))
print(json.dumps({"match": "late", "message": {"content": None, "refusal": "No more."}}))
print(json.dumps({"match": "nothing", "fault": "empty", "times": 9}))
print(json.dumps({"match": "html", "fault": "invalid", "times": 9}))
' >script
"$build/tests/scripted_server" script --log requests >address &
server=$!
trap 'kill $server' EXIT
await() { tries=0; until [ -s "$1" ] || [ $((tries += 1)) -gt 500 ]; do sleep 0.01; done; }
await address
TFY_LLM_URL=$(cat address) TFY_DB=$PWD/runs.db
export TFY_LLM_URL TFY_DB no_proxy=127.0.0.1
tfy build agent.tfy -o agent
# works GOAL: runs it and replays it; what was asked is in GOAL.asked
works() {
    : >requests
    run ./agent run --goal "$1"
    cp out "$1.out"
    cp requests "$1.asked"
    run ./agent replay last
    check "$1: replayed" printed " 0 divergences"
}
# told GOAL: what the newest request tells of calls, a line each
told() { python3 -c '
import json, sys
bodies = [line for line in open(sys.argv[1] + ".asked") if line.startswith("{")]
for message in json.loads(bodies[-1])["messages"]:
    if message["role"] == "tool": print(message["content"][:200].replace("\n", " "))' "$1"; }
asked() { grep -c '^POST ' "$1.asked"; }

works broken
check "broken arguments are told, and the work goes on" grep -q "broken end" broken.out
told broken >told
check "... each by its call" [ "$(wc -l <told)" = 9 ]
check "... text that is not JSON, a list, a number, a name that is there twice" \
    [ "$(grep -c 'the arguments do not fit: they are not a JSON object' told)" = 4 ]
check "... one of another type, one that is missing, one too many" \
    [ "$(grep -c 'do not fit: $.n: expected int' told) $(grep -c 'do not fit: there is no parameter "m"' told)" = "2 1" ]
check "... a tool without a name, and one with another case" \
    [ "$(grep -c "error: there is no tool '.*'; there are long, count, answer" told)" = 2 ]
check "... and none of them is performed" [ ! -e counted ]

works many
check "of an answer 32 calls are performed" [ "$(sort -u counted | wc -l) $(wc -l <counted)" = "32 32" ]
told many >told
check "... the 33rd and those behind it are told" \
    [ "$(grep -c 'error: not performed: an answer has 32 calls at most' told)" = 32 ]
check "... and the work goes on" grep -q "many end" many.out

works much
python3 -c '
import json
body = json.loads([line for line in open("much.asked") if line.startswith("{")][-1])
text = [m["content"] for m in body["messages"] if m["role"] == "tool"][0]
first, rest = text.split("[… ")
print(len(first.encode()), len(rest.split("…]")[1].encode()), rest.split("…]")[0])' >cut
check "of a long result the first 24 KiB and the last 8 are told, with how much is not" \
    grep -Eq '^2[34][0-9]{3} [78][0-9]{3} [0-9]+ of [0-9]+ bytes are left out $' cut

for goal in filtered refused; do
    works $goal
    check "$goal: it ends, and is not tried again" [ "$(asked $goal)" = 1 ]
done
check "a content filter ends the agent" grep -q "ended: .*filter" filtered.out
check "a refusal ends the agent with the model's words" grep -q "ended: the model refused: I do not count" refused.out
works late
check "... in a later round, too" grep -q "ended: the model refused: No more" late.out
works nothing
check "JSON that is no answer ends the agent" grep -q "ended: the answer of the model's endpoint .* has no choices" nothing.out
works html
check "... and so does what is not JSON" \
    grep -q "ended: the model's endpoint .* answered with something that is not JSON" html.out
