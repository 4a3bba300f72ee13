#!/bin/sh
# Answers that arrive piece by piece: recorded as if they had come whole, seen while they come, and asked for again when they are lost.
. "$here/lib.sh"
unset TFY_LLM_URL TFY_LLM_MODEL TFY_LLM_KEY TFY_LLM_KEY_FILE TFY_MODELS
export TFY_DB="$PWD/runs.db" no_proxy=127.0.0.1

# ---- each wire form, in one piece and in small ones ----

cat >forms.tfy <<'END'
type Report { name: string, n: int }

/// Twice as much.
fn double(n: int) -> int { return n * 2 }

prompt work(what: string) -> Report {
    model "one"
    user what
    tools { double }
}
prompt plain(what: string) -> string {
    model "one"
    user what
}

workflow main() -> string {
    let report = yield work("gö")
    let text = yield plain("hello")
    return "${report.name} ${report.n} ${text}"
}
END
cat >server.py <<'END'
import http.server, json
REPORT, TEXT = {"name": "all of it, ünd more", "n": 42}, "good däy\nto you"
def cut(text, n=3): return [text[i:i + n] for i in range(0, len(text), n)] or [""]
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_): pass
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with open("requests", "a") as log: log.write(json.dumps({"path": self.path, "body": body}) + "\n")
        form = self.path.rsplit("/", 1)[-1]
        calls, text = [], TEXT
        if "tools" in body:
            told = "42" in json.dumps(body.get("messages", body.get("input")))
            calls, text = ([("answer", {"value": REPORT})] if told else [("double", {"n": 21}), ("double", {"n": 4})]), "I try."
        if body.get("stream"): self.stream(getattr(self, "events_" + form)(text, calls))
        else: self.whole(getattr(self, "whole_" + form)(text, calls))
    def whole(self, answer):
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
    def stream(self, events):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in events:
            name = "event: %s\r\n" % event["type"] if "type" in event else ""
            text = event if event == "[DONE]" else json.dumps(event, ensure_ascii=False)
            for data in cut((": ping\r\n\r\n%sdata: %s\r\n\r\n" % (name, text)).encode(), 100):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.write(b"0\r\n\r\n")
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 40}}
    def tool_calls(self, calls):
        return [{"id": "c%d" % i, "type": "function", "function": {"name": name, "arguments": json.dumps(args)}} for i, (name, args) in enumerate(calls)]
    def whole_completions(self, text, calls):
        message = {"role": "assistant", "content": text, "tool_calls": self.tool_calls(calls)} if calls else {"role": "assistant", "content": text}
        return {"model": "chat-1", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}], "usage": self.usage}
    def events_completions(self, text, calls):
        def chunk(delta, reason=None): return {"model": "chat-1", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}], "usage": None}
        yield chunk({"role": "assistant", "content": ""})
        for piece in cut(text): yield chunk({"content": piece})
        for i, call in enumerate(self.tool_calls(calls)):
            args = call["function"]["arguments"]
            yield chunk({"tool_calls": [dict(call, index=i, function={"name": call["function"]["name"], "arguments": ""})]})
            for piece in cut(args): yield chunk({"tool_calls": [{"index": i, "function": {"arguments": piece}}]})
        yield chunk({}, "tool_calls" if calls else "stop")
        yield {"model": "chat-1", "choices": [], "usage": self.usage}
        yield "[DONE]"
    counts = {"input_tokens": 60, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 0, "output_tokens": 10}
    def whole_messages(self, text, calls):
        blocks = [{"type": "text", "text": text}] + [{"type": "tool_use", "id": "c%d" % i, "name": name, "input": args} for i, (name, args) in enumerate(calls)]
        return {"type": "message", "model": "messages-1", "content": blocks, "stop_reason": "tool_use" if calls else "end_turn", "usage": self.counts}
    def events_messages(self, text, calls):
        answer = self.whole_messages(text, calls)
        yield {"type": "message_start", "message": dict(answer, content=[], stop_reason=None, usage=dict(self.counts, output_tokens=1))}
        for i, block in enumerate(answer["content"]):
            args = json.dumps(block.get("input"))
            yield {"type": "content_block_start", "index": i, "content_block": dict(block, text="") if "text" in block else dict(block, input={})}
            for piece in cut(text) if "text" in block else cut(args):
                yield {"type": "content_block_delta", "index": i, "delta": {"type": "text_delta", "text": piece} if "text" in block else {"type": "input_json_delta", "partial_json": piece}}
            yield {"type": "content_block_stop", "index": i}
        yield {"type": "message_delta", "delta": {"stop_reason": answer["stop_reason"]}, "usage": {"output_tokens": 10}}
        yield {"type": "message_stop"}
    def whole_responses(self, text, calls):
        items = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}]
        items += [{"type": "function_call", "id": "fc", "call_id": "c%d" % i, "name": name, "arguments": json.dumps(args)} for i, (name, args) in enumerate(calls)]
        return {"model": "responses-1", "status": "completed", "output": items, "usage": {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 40}, "output_tokens": 10}}
    def events_responses(self, text, calls):
        answer = self.whole_responses(text, calls)
        yield {"type": "response.created", "response": dict(answer, status="in_progress", output=[])}
        for piece in cut(text): yield {"type": "response.output_text.delta", "output_index": 0, "delta": piece}
        for i, item in enumerate(answer["output"]): yield {"type": "response.output_item.done", "output_index": i, "item": item}
        yield {"type": "response.completed", "response": answer}
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print("http://127.0.0.1:%d" % server.server_address[1], flush=True)
server.serve_forever()
END
python3 server.py >address &
server=$!
trap 'kill $server' EXIT
await() { tries=0; until [ -s "$1" ] || [ $((tries += 1)) -gt 500 ]; do sleep 0.02; done; }
await address
tfy build forms.tfy -o forms
for api in chat messages responses; do
    printf '{"models": {"one": {"api": "%s", "url": "%s", "model": "m"}}}' $api "$(cat address)" >stream.json
    printf '{"models": {"one": {"api": "%s", "url": "%s", "model": "m", "stream": false}}}' $api "$(cat address)" >whole.json
    : >requests
    run ./forms run --models whole.json --llm record:whole.$api
    cp out whole.out
    check "$api: \"stream\": false asks for answers in one piece" sh -c '[ "$(wc -l <requests)" = 3 ] && ! grep -q "\"stream\": true" requests'
    : >requests
    run ./forms run --models stream.json --llm record:stream.$api
    [ $api != chat ] || check "chat completions are asked for their tokens, too" grep -q '"stream_options": {"include_usage": true}' requests
    check "$api: an answer in pieces is the answer" cmp out whole.out
    check "$api: ... which was asked for" [ "$(grep -c '"stream": true' requests)" = 3 ]
    check "$api: ... and is recorded byte for byte as in one piece" cmp whole.$api stream.$api
    run ./forms replay last
    check "$api: ... and replays" printed " 0 divergences"
    run env -u TFY_DB ./forms run --llm cassette:stream.$api
    check "$api: ... and plays" cmp out whole.out
done
printf '{"models": {"one": {"api": "chat", "url": "http://h", "model": "m", "stream": 1}}}' >wrong.json
run ./forms run --models wrong.json
check "stream is true or false" ended 65 "'stream' of the model 'one' is true or false"

# ---- what people see ----

cat >seen.tfy <<'END'
workflow main(what: string = "story") -> string {
    let text = yield llm(what)
    return text
}
END
key=sk-open-sesame-0815
cat >script <<END
{"match": "story", "answer": "Once upon a time there was a small program that told $key to everybody, word by word, for the whole of two seconds.", "stream": 1, "delay": 15}
{"match": "lost", "answer": "this is never kept", "stream": 2, "delay": 60, "fault": "cut"}
{"match": "lost", "answer": "found again", "stream": 4, "delay": 60}
{"match": "long", "answer": "The first words leave the screen when others come: at last only these are seen, the ones of the end.", "stream": 5, "delay": 150, "times": 2}
{"match": "refuses", "fault": "no stream", "answer": "in one piece", "times": 2}
{"match": "killed", "answer": "never said to its end", "stream": 2, "delay": 200}
{"match": "killed", "answer": "said again", "stream": 2}
END
"$build/tests/scripted_server" script >scripted &
scripted=$!
trap 'kill $server $scripted' EXIT
await scripted
export TFY_LLM_URL="$(cat scripted)" TFY_LLM_KEY=$key
tfy build seen.tfy -o seen
run ./seen run --events
cp err events
cat >look.py <<'END'
import json, datetime
def ms(event): return datetime.datetime.fromisoformat(event["ts"].replace("Z", "+00:00")).timestamp() * 1000
events = [json.loads(line) for line in open("events") if line.startswith("{")]
says = [event for event in events if event["stage"] == "Says"]
text = "".join(event["message"] for event in says)
assert text == json.load(open("out")), text
assert "[key]" in text and "sesame" not in open("events").read(), text
assert all((event["workflow"], event["line"]) == ("main", 2) for event in says), says[0]
assert len(says) >= 8, len(says)
times = [ms(event) for event in says]
assert not any(later - first < 1000 for first, later in zip(times, times[20:])), times
order = [event["stage"] for event in events]
assert order.index("WaitingForLLM") < order.index("Says") and order.index("Tokens") == len(order) - order[::-1].index("Says"), order
END
check "events of the stage Says have the text, masked, and no more than 20 in a second" python3 look.py
run tfy replay last --events
check "... and are no part of the log" sh -c '! grep -q Says err out && ! strings runs.db* | grep -q "\"stage\""'
run ./seen run --what lost --events --log-level trace
check "an answer that is lost is asked for again" printed '"found again"'
cat >look.py <<'END'
import json
says = [json.loads(line) for line in open("err") if line.startswith("{") and '"Says"' in line]
lost = [i for i, event in enumerate(says) if event.get("void") is True]
assert len(lost) == 1 and lost[0] > 0, says
assert "".join(event["message"] for event in says[lost[0] + 1:]) == "found again", says
assert "this is never kept".startswith("".join(event["message"] for event in says[:lost[0]])), says
END
check "... and what was said of it is void" python3 look.py
check "... and is in no log line" sh -c '! grep -v "^{" err | grep -q "this"'
check "... and in no record" sh -c '! strings runs.db* | grep -q "this is"'
start ./seen run --what long
tries=0
until tfy watch last --json >watched 2>/dev/null && grep -q seq watched || [ $((tries += 1)) -gt 100 ]; do sleep 0.05; done
finish
check "tfy watch gets them" grep -q '"stage":"Says"' watched
run ./seen run --what refuses
check "who gives no streams is asked for one piece" printed '"in one piece"'

# ---- on a terminal ----

if script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    LC_ALL=C.UTF-8 TERM=xterm NO_COLOR=1 timeout 60 script -qfec "stty cols 70 rows 24; ./seen run --what long" /dev/null 2>err </dev/null |
        sed "s/$(printf '\r\033')\\[K/\n/g; s/$(printf '\033')\\[K/\n/g" | tr -d '\r' >screen
    # A busy machine shows fewer of them: each that is shown and has no room for the beginning shows an end.
    cat >look.py <<'END'
import re
text = "The first words leave the screen when others come: at last only these are seen, the ones of the end."
ends = re.findall(r"runs llm \(line 2\), [0-9.]+ s  …(.*?)(?:  tfy watch shows more.*)?$", open("screen").read(), re.M)
assert ends and all(len(end) >= 10 and text.find(end) > 0 for end in ends), ends
END
    check "the last line shows the end of what the model says" python3 look.py
    check "... from its beginning, while there is room" grep -Eq 'runs llm \(line 2\), [0-9.]+ s  The first' screen
    check "... and is not wider than the terminal" python3 -c 'assert max(len(line.rstrip("\n")) for line in open("screen") if " runs llm " in line) < 70'
else
    echo "skipped: no pseudo-terminal can be had here"
fi

# ---- killed while an answer streams ----

cat >killed.tfy <<'END'
workflow main() -> string {
    with budget(calls: 2) {
        let text = yield llm("killed")
        try {
            let more = yield llm("more")
            return more
        } catch e: BudgetExceeded {
            return "${text}, ${e.spent} spent"
        }
    }
}
END
tfy build killed.tfy -o killed
start ./killed run --events
within 20 grep -q '"stage":"Says"' err
kill -9 "$pid"
finish
check "it was killed in a stream" grep -q '"message":"ne' err
run ./killed resume last
check "it is asked again, and the lost request stays charged" printed '"said again, 2.0 spent"'
run ./killed replay last
check "... also in a replay" printed " 0 divergences"
