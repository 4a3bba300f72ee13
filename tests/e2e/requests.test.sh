#!/bin/sh
# What each step sent, in `tfy replay --json`: from the texts that the log keeps, or computed again by the program; and no secret in it.
. "$here/lib.sh"
cat >sends.tfy <<'END'
type Sum { total: int }

const half = "hunter2-"

/// Doubles.
fn double(n: int) -> int { return 2 * n }

prompt add(what: string, path: string) -> Sum {
    model "strong"
    system "You add. ${half.repeat(2)}"
    user "Add ${what}"
    file path
    retry 1
}

prompt worker(goal: string) -> string {
    user goal
    tools { double }
}

tool listed(dir: string) -> string pure = exec [
    "sh", "-c", "echo $1 $TOKEN; cat", "sh", "a\"b",
] stdin "to ${dir} with ${secret("PASS")}" cwd "." env { "TOKEN": secret("PASS"), "MODE": "x" }

tool post(name: string, n: int) -> HttpResponse pure = http "POST http://127.0.0.1:1/things/${name}?n=${n}&key=${secret("PASS")}" headers {
    "Authorization": "Bearer ${secret("PASS")}",
} body "{\"name\": ${name.to_json()}, \"pass\": \"${secret("PASS")}\"}"

workflow main() -> int {
    let out = yield listed("here")
    print(out)
    try {
        yield post("a b/c", 7)
    } catch e: ToolError {
        print("no shop")
    }
    try {
        yield http("GET", "http://127.0.0.1:1/plain", headers: {"X-Key": secret("PASS")})
    } catch e: ToolError {
        print("no page")
    }
    let said = yield llm("Say ${half.repeat(2)}")
    let sum = yield add("one", "note.pdf")
    let work = yield worker("Double 4")
    yield sleep(1ms)
    print("${said} ${work}")
    return sum.total
}
END
printf '%%PDF-1.4\n' >note.pdf
python3 -c '
import json
print(json.dumps({"match": "does not fit", "answer": "{\"total\": 2}", "times": 9}))
print(json.dumps({"match": "Add ", "answer": "{\"total\": \"two\"}", "times": 9}))
print(json.dumps({"match": "Say ", "answer": "said", "times": 9}))
for _ in range(2):
    print(json.dumps({"match": "Double 4", "message": {"content": None, "tool_calls": [
        {"id": "c0", "type": "function", "function": {"name": "double", "arguments": "{\"n\": 4}"}}]}}))
    print(json.dumps({"match": "Double 4", "answer": "eight"}))
' >script
"$build/tests/scripted_server" script >address &
server=$!
trap 'kill $server' EXIT
await() { tries=0; until [ -s "$1" ] || [ $((tries += 1)) -gt 500 ]; do sleep 0.01; done; }
await address
TFY_LLM_URL=$(cat address) TFY_DB=$PWD/runs.db TFY_SECRET_PASS=hunter2-hunter2
export TFY_LLM_URL TFY_DB TFY_SECRET_PASS no_proxy=127.0.0.1

cat >read.py <<'END'
# The requests of a replay by tool, each as the stops show it in turn; equal ones once.
import json, sys
requests = {}
for line in open("out"):
    assert "hunter2-hunter2" not in json.dumps(json.loads(line).get("asked", {}).get("request")), line
    asked = json.loads(line).get("asked")
    if not asked: continue
    told = requests.setdefault(asked["tool"], [])
    if asked.get("request") not in told: told.append(asked.get("request"))
def same(tool, *wanted):
    assert requests[tool] == list(wanted), (tool, requests[tool])
same("listed", {"argv": ["sh", "-c", "echo $1 $TOKEN; cat", "sh", "a\"b"], "stdin": "to here with secret:PASS", "cwd": ".",
                "env": ["TOKEN", "MODE"]})
same("post", {"method": "POST", "url": "http://127.0.0.1:1/things/a%20b%2Fc?n=7&key=secret:PASS", "headers": ["Authorization"],
              "body": "{\"name\": \"a b/c\", \"pass\": \"secret:PASS\"}"})
same("http", {"method": "GET", "url": "http://127.0.0.1:1/plain", "headers": ["X-Key"]})
same("llm", {"model": "default", "user": "Say [secret:PASS]-"})
same("sleep", None)
first, second = requests["worker.next"]
assert first == {"model": "default", "user": "Double 4"}, first
assert [m["role"] for m in second["messages"]] == ["user", "assistant", "tool"], second
assert second["messages"][1]["calls"] == [{"id": "c0", "tool": "double", "args": {"n": 4}}], second
assert second["messages"][0]["content"] == "Double 4" and second["messages"][2]["content"] == "8", second
add = requests["add"]
assert all(r["model"] == "strong" and r["files"] == ["note.pdf"] for r in add), add
assert all(r["system"].startswith("You add. [secret:PASS]-\n\nAnswer with one JSON value") for r in add), add
if sys.argv[1] == "full": # the log says what was sent to each attempt
    last = add[-1]["messages"]
    assert [m["role"] for m in last] == ["user", "user", "assistant", "user"], last
    assert last[2]["content"] == "{\"total\": \"two\"}" and last[3]["content"].startswith("That answer does not fit"), last
else: # the program says how the first began
    assert [r["user"] for r in add] == ["Add one"], add
END

run tfy run sends.tfy
check "it runs" ended 0
run tfy replay last --print-locals --json
check "what each step sent" python3 read.py full
run tfy run sends.tfy --record-prompts=digest
check "it runs, and the log has only digests" sh -c '[ "$(sqlite3 runs.db "select count(*) from wal where type=41 and tid=(select root from run order by id desc limit 1)")" = 0 ]'
run tfy replay last --print-locals --json
check "... what each step sent is computed again" python3 read.py digest
unset TFY_SECRET_PASS
run tfy replay last --print-locals --json
check "a replay that looks changes nothing: it reaches the end" sh -c 'tail -n 1 out | grep -q "\"record\"" && ! grep -q difference out'
check "... and a secret without its value is its name" grep -q '"request":{"argv":.*"stdin":"to here with secret:PASS"' out

# What cannot be computed is not told, and nothing else changes.
cat >odd.tfy <<'END'
tool odd(n: int) -> string pure = exec ["echo", "${10 / n}"]

workflow main(n: int) -> int {
    let task = spawn other(n)
    try {
        yield join(task)
    } catch e: TaskFailed {
        print(e.message)
    }
    for i in 0..3 {
        yield sleep(1ms)
    }
    return n
}

workflow other(n: int) {
    let text = yield odd(n)
    print(text)
}
END
run tfy run odd.tfy --n 0
check "a command whose words cannot be computed" printed 'division by zero'
run tfy replay last --print-locals --json
check "... has no request" sh -c 'grep "\"tool\":\"odd\",\"args\"" out | grep -q "\"attempt\":1}"'
check "... and the replay goes to the end" sh -c 'tail -n 1 out | grep -q "\"state\":\"completed\"" && ! grep -q "\"difference\"" out'
