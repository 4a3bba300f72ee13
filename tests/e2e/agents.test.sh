#!/bin/sh
# Prompts with tools: the loop that the compiler writes, what the model is told, what is raised, and what is recorded.
. "$here/lib.sh"
cat >agent.tfy <<'END'
type Report { summary: string, files: list<string> }
error Stuck

/// Finds lines that have a word.
tool grep(word: string, path: string = "notes") -> ExecResult pure = exec ["grep", "-n", "--", word, path]

/// Builds the project.
tool make() -> ExecResult idempotent = exec ["echo", "built"]

/// Sends a message.
tool mail(to: string, text: string) -> ExecResult once = exec ["sh", "-c", "echo \"$1\" >>sent", "sh", to]

/// Ends the work: it cannot be done.
workflow give_up(why: string) fails Stuck { fail Stuck(why) }

/// Twice as much.
fn double(n: int, by: int = 2) -> int { return by * n }

prompt helper(goal: string) -> Report fails Stuck {
    system "You help."
    user goal
    tools {
        read_file, grep times 2
        make timeout 1m times 1
        mail approve "mail ${to}?"
        double
        give_up
    }
    rounds 6
    retry 1
}

/// Talks.
prompt talk(chat: thread, said: string) -> string {
    user said
    tools { double }
    retry 1
}

workflow main(goal: string) -> string {
    try {
        let report = yield helper(goal)
        return "${report}"
    } catch e: Stuck {
        return "stuck: ${e.message}"
    } catch e: BadValue {
        return "unfit: ${e.message}"
    } catch e: ToolError {
        return "ended: ${e.message}"
    }
}

prompt asker(goal: string) -> string {
    user goal
    tools { ask, make }
}

workflow asks_back(goal: string) -> string {
    let said = yield asker(goal)
    let code = yield make()
    return "${said} ${code.code}"
}

workflow talk_of(said: string) -> string {
    let r = yield talk(thread(), said)
    return r.value
}

workflow chat() -> int {
    let r = yield talk(thread(), "first")
    let s = yield talk(r.thread, "second")
    print("${r.value} ${s.value} ${s.thread.text()} ${r.thread.len()}")
    return s.thread.messages().len()
}

test "what a model chooses is mocked, and its tools are" {
    mock helper.next(_) => [helper.Call.read_file("a"), helper.Call.grep("x"), helper.Call.double(4)]
    mock helper.next(_) => helper.Call.make
    mock helper.next(_) => helper.Call.answer(Report(summary: "one", files: ["a"]))
    mock read_file("a") => "text"
    mock grep("x", _) => ExecResult()
    mock make() => ExecResult()
    let report = yield helper("it")
    assert report.files == ["a"]
    assert calls(make) == 1 && calls(helper.next) == 3
}

test "it can give up" {
    mock helper.next(_) => helper.Call.give_up("no")
    let said = yield main("it")
    assert said == "stuck: no"
}

test "an agent is mocked as a whole" {
    mock helper(_) => Report(summary: "s", files: [])
    let said = yield main("it")
    assert said.contains("\"s\"")
}
END
echo "one word" >notes
# call NAME ARGS…: an answer of the model that calls tools
calls() {
    printf '{"match": "%s", "message": {"content": null, "tool_calls": [' "$1"
    shift
    comma= n=0
    while [ $# -gt 0 ]; do
        printf '%s{"id": "id%d", "type": "function", "function": {"name": "%s", "arguments": "%s"}}' "$comma" $((n += 1)) "$1" "$(echo "$2" | sed 's/"/\\"/g')"
        comma=', '
        shift 2
    done
    echo ']}}'
}
text() { printf '{"match": "%s", "message": {"content": "%s"}}\n' "$1" "$2"; }
report='{"value": {"summary": "done", "files": ["notes"]}}'
{
    calls whole grep '{"word": "word"}' read_file '{"path": "notes"}' read_file '{"path": "none"}' double '{"n": 21}' bogus '{}'
    calls whole make '{}' make '{}'
    calls whole grep '{"wrd": "x"}'
    text whole hm
    calls whole answer "$report"
    calls stuck give_up '{"why": "no way"}'
    text unfit one
    calls unfit answer '{"value": {"summary": 1}}'
    for round in 1 2 3 4 5 6; do calls endless double '{"n": 1}'; done
    calls asks mail '{"to": "ann", "text": "hi"}' mail '{"to": "bob", "text": "hi"}'
    calls asks answer "$report"
    python3 -c '
import json
def answer(match, *calls, content=None, **more):
    calls = [{"id": id, "type": "function", "function": {"name": "double", "arguments": text}} for id, text in calls]
    message = {"content": content, **({"tool_calls": calls} if calls else {})}
    print(json.dumps({"match": match, "message": message, **more}))
for depth in (126, 500, 2045, 2060):
    answer("deep", ("d%d" % depth, "{\"n\": %s}" % ("[" * depth + "]" * depth)))
answer("deep", content="deep end")
answer("same", *[(id, "{\"n\": %d}" % n) for n, id in enumerate(("call_2", "call_2", "", "call_3"))])
answer("same", content="same end")
answer("blank")
answer("blank", content="")
answer("long", ("whole", "{\"n\": 4}"), ("half", "{\"n\": "), finish_reason="length")
answer("long", content="It is", finish_reason="length")
answer("long", content="long end")'
    calls colour ask '{"question": "Which colour?"}'
    calls colour make '{}'
    text colour "it is blue"
    text first hello
    text second "hello again"
} >script
"$build/tests/scripted_server" script --log requests >address &
server=$!
trap 'kill $server' EXIT
await() { tries=0; until [ -s "$1" ] || [ $((tries += 1)) -gt 500 ]; do sleep 0.01; done; }
await address
TFY_LLM_URL=$(cat address) TFY_DB=$PWD/runs.db
export TFY_LLM_URL TFY_DB no_proxy=127.0.0.1

# Every record of a model's step has the id of its call, and no other record has one.
cat >calls.py <<'END'
import json, sys
held, steps = {}, 0
for line in open(sys.argv[1]):
    record = json.loads(line)
    payload, parent = record["payload"], record["task"].rpartition(".")[0]
    if record["type"] == "LLMPlan": held[record["task"]] = {call["id"]: call["tool"] for call in payload.get("calls", [])}
    if record["type"] not in ("StepStart", "ToolResult") or payload["tool"] == "approve": continue
    if (record["type"] == "StepStart") != (payload["tool"] in ("mail", "ask")): continue
    if not held.get(record["task"]) and not held.get(parent):
        assert "call" not in payload, record
        continue
    assert {**held.get(parent, {}), **held.get(record["task"], {})}[payload["call"]] == payload["tool"], record
    steps += 1
assert steps == int(sys.argv[2]), steps
END

run tfy run agent.tfy --llm record:session --goal whole
check "an agent works to its answer" printed '"{\"summary\":\"done\",\"files\":[\"notes\"]}"'
run tfy history last --type LLMPlan
check "its history has the calls of each answer" grep -q ' -> grep(word: "word"), read_file(path: "notes"), ' out
check "... and what it said" grep -q ' -> "hm"$' out
run tfy inspect last
check "the newest plan of one that only calls is its calls" grep -A3 '^plan ' out
check "... with the tool" grep -q '"tool": "answer"' out
cp session whole
told() { python3 -c '
import json, sys
line = [json.loads(line) for line in open("session")][int(sys.argv[1])]
assert [m for m in line["request"]["messages"] if sys.argv[2] in json.dumps(m)]' "$@"; }
check "what reads runs side by side and is told by its call" told 1 '1:one word'
check "... a file that is not there" grep -q "error: cannot read 'none': there is no such file" session
check "... what a fn gives" grep -q '"content":"42","id":"id4"' session
check "an unknown tool is told, with those that there are" grep -q "there is no tool 'bogus'; there are read_file, grep, make, mail, double, give_up, answer" session
check "a tool is used so often as its row says" grep -q 'error: this tool was used as often as it may be' session
check "arguments that do not fit are told in the decoder's words" grep -q 'the arguments do not fit: there is no parameter \\\\\?"wrd' session
check "an answer without a call is asked for again" grep -q 'Go on: call a tool, or end the work' session
check "each question begins with the bytes of the one before" python3 -c '
import json
last, tools = [], None
for line in open("whole"):
    request = json.loads(line)["request"]
    assert request["messages"][: len(last)] == last and request["tools"] == (tools or request["tools"])
    last, tools = request["messages"], request["tools"]
assert len(last) > 8'
run tfy replay last
check "a replay makes the same turns" printed " 0 divergences"
tfy history last --json >history
check "the records of all its steps have the id of the model's call" python3 calls.py history 4
run tfy run agent.tfy --llm cassette:whole --goal whole
check "a recorded session plays it" printed '"summary\":\"done\"'
run tfy crashtest agent.tfy --llm cassette:whole --goal whole
check "killed at every commit it asks the same and ends the same" printed "the same, 0 differ"

run tfy run agent.tfy --goal stuck
check "an error that the prompt declares ends it" printed '"stuck: no way"'
run tfy run agent.tfy --goal unfit
check "a result that does not fit is asked for again, and then raised" printed 'unfit: $.value'
run tfy run agent.tfy --goal endless
check "after its rounds there is no answer" printed 'ended: helper gave no answer in 6 rounds; it called last: double(1)'
check "... in the last of which only the answer is offered" python3 -c '
import json
offered = [[tool["function"]["name"] for tool in json.loads(line)["tools"]] for line in open("requests") if line.startswith("{")]
assert offered[-1] == ["answer"] and "double" in offered[-2], offered'
run tfy run agent.tfy --goal asks
check "a call that wants a person waits for one, who sees what the model chose" grep -q "sh -c 'echo .*' sh ann" err
run tfy approve last --yes
run tfy resume last
run tfy deny last --why "bob is away"
run tfy resume last
tfy history last --json >history
check "... and its record says which call it was" python3 calls.py history 1
check "... and is told of a no, with its reason" grep -q "error: mail was not approved: bob is away" requests
check "... while the yes was carried out once" [ "$(cat sent)" = ann ]
run tfy run agent.tfy --workflow asks_back --goal colour
run tfy inspect last
check "a person who is asked by a model sees which answer asks" printed "called by the model's answer at 1/1"
run tfy approve last blue
TFY_SNAPSHOT_EVERY=1 run tfy resume last
check "... and is heard, also from a snapshot" printed '"it is blue 0"'
run tfy replay last
check "... and replayed" printed " 0 divergences"
run tfy history last
check "the history says which answer called" grep -q "ToolResult .* make for 1/3 ->" out
check "... and for the program's own steps nothing" grep -q "ToolResult .* make ->" out
run tfy history last --json
cp out history
check "records of steps have the id of the model's call" python3 calls.py history 2
run tfy run agent.tfy --workflow chat
check "a conversation is a value that the next question continues" printed "hello hello again hello again 2"
# mistaken GOAL: a talk with a model that makes mistakes
mistaken() {
    run tfy run agent.tfy --workflow talk_of --said "$1" --llm "record:$1"
    cat out err >"$1.out"
    run tfy replay last
}
mistaken deep
check "arguments that nest too deeply are told" grep -q '"deep end"' deep.out
check "... all of them" [ "$(grep -c 'nest too deeply' deep)" = 4 ]
check "... and replayed" printed " 0 divergences"
run tfy run agent.tfy --workflow talk_of --said deep --llm cassette:deep
check "... and played again" printed '"deep end"'
mistaken same
check "equal and missing ids are made anew" python3 -c '
import json
said = [json.loads(line) for line in open("same")][1]["request"]["messages"]
ids = [call["id"] for message in said for call in message.get("calls", [])]
assert len(set(ids)) == 4 and [m["id"] for m in said if m["role"] == "tool"] == ids, ids'
mistaken blank
check "an answer of nothing is asked for again, and then raised" grep -q "BadValue: the model's answer is empty" blank.out
check "... and replayed" printed " 0 divergences"
mistaken long
check "an answer that is cut off is told" grep -q "Your answer was cut off" long
check "... so is a call that is half of one" grep -q "the answer was cut off before they ended" long
check "... whole calls are performed" grep -q '"content":"8","id":"whole"' long
check "... and the work goes on" grep -q '"long end"' long.out
check "... and is replayed" printed " 0 divergences"

run tfy test agent.tfy
check "its tests mock what the model chooses" printed "3 passed, 0 failed"

cat >else.tfy <<'END'
prompt chat(t: thread, said: string) -> string { user said }
prompt other(said: string, t: thread) -> int { user said }

workflow main() -> string {
    let c = yield chat(thread().say("x"), "hi") else "none"
    let d = yield chat(c.thread, "hi") timeout 1s else { value: "whole", thread: thread() }
    let e = yield other("hi", c.thread.say("y")) else 7
    let f = yield chat(c.thread, "hi") else c
    let g = yield chat(c.thread, "hi") else null
    return "${c.value} ${c.thread.len()} ${d.value} ${d.thread.len()} ${e.value} ${e.thread.len()} ${f.value} ${g == null}"
}

test "else gives a value, and the thread as it was" {
    mock chat.next(_) => fail ToolError("no")
    mock other.next(_) => fail ToolError("no")
    let said = yield main()
    assert said == "none 1 whole 0 7 2 none true"
}
END
run tfy test else.tfy
check "else gives a value, and the thread as it was" printed "1 passed, 0 failed"

# A conversation is a value like others: rows, files, records, channels, arguments and results have it.
cat >kept.tfy <<'END'
type Row { customer: string, chat: thread }
error Unread

workflow reads(chats: channel<thread>) -> int {
    var messages = 0
    while true {
        let chat = yield chats.recv()
        if chat == null { break }
        messages += chat.len()
    }
    return messages
}

workflow main(chat: thread = thread()) -> thread fails Unread {
    let longer = chat.say("hi")
    yield save("chats", Row(customer: "ann", chat: longer))
    yield write_file("chat.json", longer.to_json().to_string())
    let text = yield read_file("chat.json")
    let parsed = text.parse_json()
    if parsed == null { fail Unread() }
    let read: thread? = parsed.decode()
    let chats: channel<thread> = channel(2)
    let reader = spawn reads(chats)
    yield chats.send(longer)
    yield chats.send(read ?? thread())
    chats.close()
    let messages = yield join(reader)
    print("${read == longer} ${chat == longer} ${messages}")
    return longer
}
END
run tfy run kept.tfy --chat '[{"content":"one","role":"user"},{"calls":[{"args":{},"id":"a","tool":"t"}],"content":"","role":"assistant"},{"content":"","id":"a","role":"tool"}]'
check "a conversation is kept, read, sent and given" grep -qx "true false 8" out
check "... and stays a value of its own" [ "$(sqlite3 runs.db 'select json_array_length(chat) from chats')" = 4 ]
run tfy replay last
check "... and is replayed" printed " 0 divergences"
for message in '"x"' '{"content":"x"}' '{"content":"x","role":"system"}' '{"content":1,"role":"user"}' '{"content":"x","role":"tool"}' \
    '{"content":"x","role":"user","calls":[]}' '{"content":"","role":"assistant","calls":[{"id":"a"}]}'; do
    run tfy run kept.tfy --chat "[$message]"
    check "what is no message is refused: $message" ended 64 '--chat[0]: expected a message such as {"content": "hello", "role": "user"}, got'
done

# What reads only, through whatever it reaches, runs beside its neighbours; all else after the other.
cat >reading.tfy <<'END'
type Found { lines: list<string> }

/// Looks.
tool look(word: string) -> string pure = exec ["printf", "%s", word]
/// Notes.
tool note(word: string) -> ExecResult idempotent local = exec ["true", "--", word]

/// Finds.
prompt finder(word: string) -> string {
    user word
    tools { look, read_file, twice }
}
/// Looks two times.
workflow twice(word: string) -> string {
    let all = parallel for i in 0..2 { give yield look("${word}${i}") timeout 5s else again(word) }
    match all.len() {
        2 => { return yield once(all.join(" ")) }
        else => { return "" }
    }
}
workflow once(word: string) -> string {
    if word == "" { return yield twice("x") }
    return yield look(word)
}
fn again(word: string) -> string { return word }

/// Finds, and takes notes.
prompt keeper(word: string) -> string {
    user word
    tools { finder, note }
}
/// Writes, far below.
workflow writes(word: string) -> string {
    try {
        let text = yield once(word)
        return text
    } catch e: ToolError {
        let noted = yield note(e.message)
        return noted.out
    }
}
/// Asks a person.
workflow asks(word: string) -> string {
    let text = yield look(word) approve "look for ${word}?"
    return text
}
/// Says it.
workflow says(word: string) -> string {
    print(word)
    return word
}

prompt lead(goal: string) -> string {
    user goal
    tools { finder, twice, keeper, writes, asks, says }
}

error Stuck
/// Ends the work.
workflow give_up(why: string) fails Stuck { fail Stuck(why) }
prompt ends(goal: string) -> string fails Stuck {
    user goal
    tools { give_up, finder }
}

workflow main(goal: string) -> string { return yield lead(goal) }

test "readers side by side" {
    mock lead.next(_) => [lead.Call.finder("a"), lead.Call.twice("b"), lead.Call.finder("c")]
    mock lead.next(_) => lead.Call.answer("read")
    mock finder("a") => after 60s => "a"
    mock finder("c") => after 60s => "c"
    mock look(_) => after 60s => "l"
    let before = yield now()
    let said = yield main("it")
    let after_all = yield now()
    assert said == "read"
    assert after_all - before < 121s
}

test "what can end the agent is awaited" {
    mock ends.next(_) => [ends.Call.give_up("no"), ends.Call.finder("a")]
    var said = ""
    try { said = yield ends("it") } catch e: Stuck { said = e.message }
    assert said == "no" && calls(finder) == 0
}

test "others one after the other" {
    mock lead.next(_) => [lead.Call.keeper("a"), lead.Call.writes("b"), lead.Call.asks("c"), lead.Call.says("d")]
    mock lead.next(_) => lead.Call.answer("done")
    mock keeper(_) => after 60s => "a"
    mock look(_) => after 60s => "l"
    mock approve(_) => true
    let before = yield now()
    yield main("it")
    let after_all = yield now()
    assert after_all - before >= 180s
}
END
run tfy test reading.tfy
check "agents and workflows that only read run side by side, and no others" printed "3 passed, 0 failed"

# A model that repeats the key it was sent, in a call, and that counts its connections.
cat >model.py <<'END2'
import http.server, json, os, random, time
class Model(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def setup(self):
        super().setup()
        with open("connections", "a") as file: file.write("one\n")
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        said = [m for m in body["messages"] if m["role"] == "tool"]
        args = {"word": os.environ["KEPT"]} if body["messages"][0]["content"].startswith("repeat") else {"word": "w"}
        call = {"id": "c%d" % len(said), "type": "function", "function": {"name": "see", "arguments": json.dumps(args)}}
        message = {"content": "ended"} if len(said) > 5 else {"content": None, "tool_calls": [call]}
        time.sleep(random.random() / 50)
        answer = json.dumps({"model": "m", "choices": [{"finish_reason": "stop", "message": message}]}).encode()
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer)
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
print("http://127.0.0.1:%d/v1" % server.server_address[1], flush=True)
server.serve_forever()
END2
cat >many.tfy <<'END2'
/// Sees a word.
fn see(word: string) -> string { return word }

prompt looker(goal: string) -> string {
    user goal
    tools { see }
}

workflow main(count: int) -> string {
    var said: list<string> = []
    for turn in [count, 1, count] {
        said = parallel for i in 0..turn { give yield looker("look ${i}") }
    }
    return "${said.len()} ${said[0]}"
}

workflow repeat() -> string {
    let said = yield looker("repeat")
    return said
}
END2
KEPT=sk-0123456789-kept python3 model.py >python.address &
servers="$server $!"
trap 'kill $servers' EXIT
await python.address
TFY_LLM_URL=$(cat python.address) TFY_LLM_KEY=sk-0123456789-kept
export TFY_LLM_URL TFY_LLM_KEY
run tfy run many.tfy --count 20
check "agents side by side end" printed '"20 ended"'
check "... and keep their connections while only one of them asks" [ "$(wc -l <connections)" -le 20 ]
run tfy run many.tfy --workflow repeat --llm record:repeated
check "an agent whose model repeats a secret goes on" printed '"ended"'
check "... of which neither the log nor the session has a trace" sh -c '! grep -l sk-0123456789-kept runs.db* repeated'
check "... and its model is told what its tool was given" grep -q '"content":"\[key\]","id":"c0"' repeated
run tfy replay last
check "... and a replay makes the same calls" printed " 0 divergences"
run tfy run many.tfy --workflow repeat --llm cassette:repeated
check "... and the session plays" printed '"ended"'
