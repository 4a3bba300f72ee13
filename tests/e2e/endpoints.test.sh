#!/bin/sh
# The file of models, and the wire forms that endpoints speak: what is sent in each, and what is read.
. "$here/lib.sh"
cat >work.tfy <<'END'
type Report { summary: string, files: list<string> }

/// Twice as much.
fn double(n: int) -> int { return 2 * n }

prompt agent(goal: string, with_model: trusted string) -> Report {
    model with_model
    system "You help."
    user goal
    tools { double }
    retry 1
}

prompt plain(text: string, with_model: trusted string) -> Report {
    model with_model
    user text
}

END
for model in chat messages responses; do
    cat >>work.tfy <<END
workflow $model() -> string {
    let report = yield agent("go", "$model")
    return report.summary
}
workflow plain_$model() -> string {
    let report = yield plain("tell", "$model")
    return report.summary
}
END
done
cat >>work.tfy <<'END'
workflow main() -> string {
    let said = yield llm("hello", model: "stron")
    return said
}
workflow cost() -> string {
    var done = 0
    try {
        with budget(cost: 0.1235) {
            for i in 0..20 {
                let _ = yield plain("tell ${i}", "messages")
                done += 1
            }
        }
    } catch e: BudgetExceeded {
        return "${done} ${e.what} ${e.limit} ${e.spent}"
    }
    return "all"
}
END

# A server of all three forms: each conversation is a call of a tool, and then the answer. Bodies and headers go to a file.
cat >server.py <<'END'
import http.server, json, sys
REPORT = {"summary": "done", "files": []}
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args): pass
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with open("requests", "a") as log:
            log.write(json.dumps({"path": self.path, "headers": dict(self.headers), "body": body}) + "\n")
        answer, status = getattr(self, "answer_" + self.path.rsplit("/", 1)[-1])(body), 200
        if self.path.startswith("/refuses/"): answer, status = {"error": {"message": "no such model"}}, 404
        late = self.path.startswith("/late/") and "tool_result" in json.dumps(body)
        if self.path.startswith("/busy/") or late: answer, status = {"error": {"message": "later"}}, 503
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if status == 503: self.send_header("Retry-After", "86400")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
    def answer_completions(self, body):
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 40}}
        def say(message, reason): return {"model": "chat-1", "choices": [{"message": message, "finish_reason": reason}], "usage": usage}
        if "tools" not in body: return say({"content": json.dumps(REPORT)}, "stop")
        told = [m for m in body["messages"] if m["role"] == "tool"]
        name, args = ("answer", {"value": REPORT}) if told else ("double", {"n": 21})
        call = {"id": "c%d" % len(told), "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
        return say({"content": None, "tool_calls": [call]}, "tool_calls")
    def answer_messages(self, body):
        usage = {"input_tokens": 60, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 0, "output_tokens": 10}
        def say(content, reason): return {"type": "message", "model": "messages-1", "content": content, "stop_reason": reason, "usage": usage}
        if "tools" not in body: return say([{"type": "text", "text": json.dumps(REPORT)}], "end_turn")
        told = [p for m in body["messages"] for p in m["content"] if p["type"] == "tool_result"]
        name, args = ("answer", {"value": REPORT}) if told else ("double", {"n": 21})
        thoughts = [{"type": "thinking", "thinking": "Twice?", "signature": "c2lnbmVk"}, {"type": "redacted_thinking", "data": "aGlkZGVu"}]
        return say(thoughts * ("thinking" in body) + [{"type": "text", "text": "I try."}, {"type": "tool_use", "id": "c%d" % len(told), "name": name, "input": args}], "tool_use")
    def answer_responses(self, body):
        usage = {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 40}, "output_tokens": 10}
        def say(*output): return {"model": "responses-1", "status": "completed", "output": list(output), "usage": usage}
        if "tools" not in body:
            text = json.dumps(REPORT)
            part = lambda text: {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
            return say({"type": "reasoning", "summary": []}, part(text[:9]), part(text[9:]))
        told = [i for i in body["input"] if i.get("type") == "function_call_output"]
        name, args = ("answer", {"value": REPORT}) if told else ("double", {"n": 21})
        thoughts = [{"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "aGlkZGVu"}, {"type": "reasoning", "id": "r2", "summary": []}]
        return say(*thoughts * ("reasoning" in body), {"type": "function_call", "id": "fc", "call_id": "c%d" % len(told), "name": name, "arguments": json.dumps(args)})
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print("http://127.0.0.1:%d" % server.server_address[1], flush=True)
server.serve_forever()
END
python3 server.py >address &
server=$!
trap 'kill $server' EXIT
tries=0
until [ -s address ] || [ $((tries += 1)) -gt 500 ]; do sleep 0.02; done
url=$(cat address)
unset TFY_LLM_URL TFY_LLM_MODEL TFY_LLM_KEY TFY_LLM_KEY_FILE TFY_MODELS
export TFY_DB="$PWD/runs.db" no_proxy=127.0.0.1 TFY_SECRET_BIG_KEY=sesame-open-big TFY_SECRET_OTHER_KEY=sesame-open-other
mkdir -p .tfy
cat >.tfy/models.json <<END
{"models": {
  "chat": {"api": "chat", "url": "$url/v1", "model": "chat-one", "key": "OTHER_KEY", "window": 32768,
           "price": {"in": 0, "out": 0}},
  "messages": {"api": "messages", "url": "$url", "model": "messages-one", "key": "BIG_KEY", "window": 200000,
               "price": {"in": 3, "cached": 0.3, "out": 15}, "then": "chat"},
  "responses": {"api": "responses", "url": "$url/v1/", "model": "responses-one", "key": "OTHER_KEY"}}}
END
tfy build work.tfy -o work
for api in chat messages responses; do
    : >requests
    run ./work run --workflow $api
    check "$api: tools go there and back" printed '"done"'
    cp requests "$api"
    run ./work replay last
    check "$api: ... and are replayed" printed " 0 divergences"
    run ./work run --workflow plain_$api
    check "$api: a type is asked for, and read" printed '"done"'
done

cat >look.py <<'END'
import json, sys
def requests(name): return [json.loads(line) for line in open(name)]
def same(got, want): assert got == want, json.dumps(got, indent=1)
first, second = requests(sys.argv[1])[:2]
headers, body = {k.lower(): v for k, v in first["headers"].items()}, second["body"]
schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
if sys.argv[1] == "chat":
    same(first["path"], "/v1/chat/completions")
    same(headers["authorization"], "Bearer sesame-open-other")
    same(body["model"], "chat-one")
    same(body["messages"][0], {"role": "system", "content": "You help."})
    same(body["messages"][2], {"role": "assistant", "content": "", "tool_calls": [{"id": "c0", "type": "function", "function": {"name": "double", "arguments": "{\"n\":21}"}}]})
    same(body["messages"][3], {"role": "tool", "content": "42", "tool_call_id": "c0"})
    same(body["tools"][0], {"type": "function", "function": {"name": "double", "description": "Twice as much.", "parameters": schema}})
    same(body["max_tokens"], 8192)
elif sys.argv[1] == "messages":
    kept = {"type": "ephemeral"}
    same(first["path"], "/v1/messages")
    same((headers["x-api-key"], headers["anthropic-version"]), ("sesame-open-big", "2023-06-01"))
    assert "authorization" not in headers
    same(body["model"], "messages-one")
    same(body["system"], [{"type": "text", "text": "You help.", "cache_control": kept}])
    same(body["messages"], [
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "I try."}, {"type": "tool_use", "id": "c0", "name": "double", "input": {"n": 21}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c0", "content": "42", "cache_control": kept}]}])
    same(body["tools"][0], {"name": "double", "description": "Twice as much.", "input_schema": schema})
    same(body["tools"][1]["name"], "answer")
    same(body["tools"][1]["cache_control"], kept)
    same(body["max_tokens"], 8192)
else:
    same(first["path"], "/v1/responses")
    same(headers["authorization"], "Bearer sesame-open-other")
    same(body["input"], [
        {"role": "system", "content": "You help."}, {"role": "user", "content": "go"},
        {"type": "function_call", "call_id": "c0", "name": "double", "arguments": "{\"n\":21}"},
        {"type": "function_call_output", "call_id": "c0", "output": "42"}])
    same(body["tools"][0], {"type": "function", "name": "double", "description": "Twice as much.", "parameters": schema, "strict": False})
    same((body["store"], body["stream"], body["max_output_tokens"]), (False, True, 8192))
END
for api in chat messages responses; do
    check "$api: the request is as its endpoint wants it" python3 look.py $api
done
run ./work run --workflow plain_messages
run tfy history last --type LLMPlan --json
check "the record has the model's name, its tokens and what they cost" python3 -c '
import json
plan = [json.loads(line) for line in open("out")][-1]
plan = plan.get("payload", plan)
assert (plan["entry"], plan["model"]) == ("messages", "messages-1"), plan
assert (plan["prompt_tokens"], plan["cached_tokens"], plan["completion_tokens"]) == (100, 40, 10), plan
assert plan["cost"] == 60 * 3 + 12 + 150, plan'
run tfy history last
check "... and which secret was used" grep -q "Secret .*BIG_KEY by plain" out
check "... and not its value" sh -c '! strings runs.db* | grep sesame'
run ./work run --workflow cost
check "a budget bounds the cost" grep -q "^.[12] cost 0.1235 0.000" out
run ./work replay last
check "... also in a replay" printed " 0 divergences"

# ---- what it cost ----

run tfy costs
check "costs lists the models" grep -Eq '^messages +[0-9]+ +[0-9,]+ +[0-9,]+ +[0-9]+ +0\.[0-9]{4}$' out
check "... those without a price with a dash" grep -Eq '^responses .* -$' out
check "... and a sum" grep -Eq '^total .*\+$' out
check "... of what has no price" grep -q "calls have no price" out
run tfy costs --by day --json
check "by day, as JSON" python3 -c '
import datetime, json
rows = json.load(open("out"))
assert len(rows) <= 2 and rows[-1]["day"] == datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"), rows
assert sum(row["calls"] for row in rows) > 5'
run ./work run --workflow plain_messages
run tfy costs last
check "one run, by prompt" grep -Eq '^plain +1 +100 +40 +10 +0\.0003$' out
run tfy costs last --by workflow --json
check "... or by workflow" python3 -c '
import json
row, = json.load(open("out"))
assert (row["workflow"], row["calls"], row["cached_tokens"], round(row["cost"] * 1e6)) == ("plain_messages", 1, 40, 342), row'
run tfy stats --prometheus
check "Prometheus is told by model" grep -Eq '^tfy_llm_tokens_total\{model="messages",kind="cached"\} [0-9]+0$' out
check "... what it cost, too" grep -Eq '^tfy_llm_cost_total\{model="messages"\} 0\.00[0-9]+$' out
run tfy costs --since 0s
check "nothing in no time" ended 0 "no model was asked in this time"
run tfy costs --since yesterday
check "... and a time is a time" ended 64 "--since takes a time such as 7d or 12h, not 'yesterday'"
run tfy costs --by user
check "... and what there is" ended 64 "run|workflow|prompt|model|day"

# ---- who is asked ----

run ./work run
check "a model that is not in the file is told, with those that are" ended 1 "there is no model 'stron' in the file of models; there are: chat, messages, responses"
run env TFY_LLM_URL="$url" ./work run
check "... also where the environment names an address" ended 1 "there is no model 'stron' in the file of models"
mkdir elsewhere
cp .tfy/models.json elsewhere/mine.json
mv .tfy/models.json .tfy/away.json
run ./work run --workflow plain_chat
check "without a file and an address nobody is asked" ended 1 "no model: set TFY_LLM_URL"
run ./work run --workflow plain_chat --models elsewhere/mine.json
check "--models names a file" printed '"done"'
run env TFY_MODELS=elsewhere/mine.json ./work run --workflow plain_chat
check "... and so does TFY_MODELS" printed '"done"'
run ./work run --workflow plain_chat --models none.json
check "a file that is named must be there" ended 69 "the file of models none.json cannot be read"
: >requests
run env TFY_LLM_URL="$url" ./work run --workflow plain_chat
check "without a file the address of the environment answers to every name" printed '"done"'
check "... which it is sent" grep -q '"model": "chat"' requests
sed 's/"OTHER_KEY"/"NO_SUCH_KEY"/' elsewhere/mine.json >elsewhere/keyless.json
run ./work run --workflow plain_chat --models elsewhere/keyless.json
check "a key that is missing is told" ended 1 "the secret NO_SUCH_KEY is missing; set TFY_SECRET_NO_SUCH_KEY"

# ---- reasoning ----

reasons() { # API [URL [MEMBERS]]: the model thinks, and another one takes its place
    cat >reasons.json <<END
{"models": {
  "chat": {"api": "$1", "url": "$url${2-}", "model": "thinks", "reasoning": "high", "then": "messages"},
  "messages": {"api": "messages", "url": "$url", "model": "other"}}}
END
    : >requests
    run ./work run --workflow chat --models reasons.json
}
bodies='import json; first, second = [json.loads(line)["body"] for line in open("requests")][:2]; '
reasons messages
check "reasoning is asked for" python3 -c "$bodies"'assert first["thinking"] == {"type": "adaptive"} and first["output_config"] == {"effort": "high"}, first'
check "... and sent back as it came" python3 -c "$bodies"'
said = second["messages"][1]["content"]
assert [part["type"] for part in said] == ["thinking", "redacted_thinking", "text", "tool_use"], said
assert said[0] == {"type": "thinking", "thinking": "Twice?", "signature": "c2lnbmVk"} and said[1]["data"] == "aGlkZGVu", said'
run ./work replay last
check "... also after a replay" printed " 0 divergences"
run tfy history last --type LLMPlan --json
check "... from the record" grep -q '"opaque":{"from":"chat","items":\[{"signature":"c2lnbmVk"' out
reasons responses
check "responses: reasoning is asked for, encrypted" python3 -c "$bodies"'assert first["reasoning"] == {"effort": "high"} and first["include"] == ["reasoning.encrypted_content"], first'
check "... and sent back where it is" python3 -c "$bodies"'
assert [item.get("id") for item in second["input"] if item.get("type") == "reasoning"] == ["r1"], second["input"]
assert second["input"][2]["encrypted_content"] == "aGlkZGVu", second["input"]'
reasons chat
check "chat: its effort is said" python3 -c "$bodies"'assert first["reasoning_effort"] == "high", first'
reasons messages /late
check "another model goes on" printed '"done"'
check "... without what it cannot read" python3 -c '
import json
bodies = [json.loads(line)["body"] for line in open("requests")]
assert [body["model"] for body in bodies] == ["thinks", "thinks", "other"], bodies
assert "thinking" in json.dumps(bodies[1]["messages"]) and "thinking" not in json.dumps(bodies[2]), bodies[2]'
reasons messages
cp reasons.json reasons.old
TFY_MODELS=reasons.json run ./work run --workflow chat --llm record:session
run ./work run --workflow chat --llm cassette:session
check "... and a recorded session has it" printed '"done"'
sed 's/"opaque":{[^}]*}[^}]*}\]}/"opaque":7/' session >broken
run ./work run --workflow chat --llm cassette:broken
check "... where it is an object" ended 65 "'opaque' must be an object"
sed 's/"high"/7/' reasons.json >unfit.json
run ./work run --workflow chat --models unfit.json
check "an effort is a text" ended 65 "'reasoning' of the model 'chat' is a text, not empty"

# ---- who is asked instead ----

others() { # A MEMBER then FOR EACH: away has no time for a day, broken does not listen, refused answers 404
    cat >others.json <<END
{"models": {
  "plain": {"api": "chat", "url": "$url", "model": "last"},
  "chat": {"api": "chat", "url": "$url/busy/v1", "model": "away"$1},
  "messages": {"api": "messages", "url": "http://127.0.0.1:1", "model": "broken", "then": "responses"},
  "responses": {"api": "responses", "url": "$url/v1", "model": "other"},
  "wrong": {"api": "chat", "url": "$url/refuses/v1", "model": "refused", "then": "plain"}}}
END
}
others ', "then": "messages"'
: >requests
run ./work run --workflow plain_chat --models others.json
check "one that asks for a day is not waited for where another can be asked" printed '"done"'
check "... nor one that cannot be reached" [ "$(grep -c '^{' requests)" = 2 ]
run tfy history last --type LLMPlan --json
check "... and the record names who had no time" grep -q '"failed": *\["chat", *"messages"\]' out
check "... and all requests are counted" grep -q '"tries": *5' out
run ./work replay last
check "... and replays" printed " 0 divergences"
sed 's/"model": "broken"/"model": "broken", "key": "WRONG_KEY"/' others.json >keyed.json
run env TFY_SECRET_WRONG_KEY="two words" ./work run --workflow plain_chat --models keyed.json
check "one that cannot be asked at all is passed over" printed '"done"'
run tfy history last --type LLMPlan --json
check "... and named" grep -q '"failed": *\["chat", *"messages"\]' out
sed 's/"then": "responses"/"window": 1/' keyed.json >dead.json
run env TFY_SECRET_WRONG_KEY="two words" ./work run --workflow plain_chat --models dead.json
check "... and told where nobody is left" ended 1 "the key for messages is too long, or holds a space"
sed 's/"chat"/"wrong"/' work.tfy >wrong.tfy
: >requests
run tfy run wrong.tfy --workflow plain_chat --models others.json
check "a request that is wrong is sent to nobody else" ended 1 "answered HTTP 404: no such model"
check "... and once" [ "$(grep -c '^{' requests)" = 1 ]

# ---- files that are wrong ----

entry='"api": "chat", "url": "http://h/v1", "model": "m"'
wrong() { # TEXT OF THE FILE, WORDS OF THE MESSAGE
    printf '%s' "$1" >wrong.json
    run ./work run --workflow plain_chat --models wrong.json
    check "refused: $2" ended 65 "wrong.json: $2"
}
wrong '' 'line 1, column 0'
wrong '{"models": {"a": {' 'line 1, column'
wrong '[]' 'it is an object with "models"'
wrong '{"models": {}}' 'it is an object with "models"'
wrong '{"models": {"a": {'"$entry"'}}, "dya": 1}' "the file has an unknown member 'dya'"
wrong '{"models": {"a": 1}}' "the model 'a' is an object"
wrong '{"models": {"a": {'"$entry"', "prize": 1}}}' "the model 'a' has an unknown member 'prize'"
wrong '{"models": {"a": {"url": "http://h", "model": "m"}}}' "the model 'a' lacks 'api'"
wrong '{"models": {"a": {"api": "chat", "model": "m"}}}' "the model 'a' lacks 'url'"
wrong '{"models": {"a": {"api": "chat", "url": "http://h"}}}' "the model 'a' lacks 'model'"
wrong '{"models": {"a": {"api": "soap", "url": "http://h", "model": "m"}}}' "the model 'a' has the unknown api 'soap'; there are chat, messages, responses and embeddings"
wrong '{"models": {"a": {"api": "chat", "url": "file:///etc", "model": "m"}}}' "the url of the model 'a' is not an http or https address"
wrong '{"models": {"a": {'"$entry"', "key": "sk-abc"}}}' "the key of the model 'a' is the name of a secret"
wrong '{"models": {"a": {'"$entry"', "window": 0}}}' "the window of the model 'a' is a number of tokens, above 0"
wrong '{"models": {"a": {'"$entry"', "price": 3}}}' "the price of the model 'a' is"
wrong '{"models": {"a": {'"$entry"', "price": {"in": 1}}}}' "the price of the model 'a' lacks 'out'"
wrong '{"models": {"a": {'"$entry"', "price": {"in": -1, "out": 1}}}}' "the price 'in' of the model 'a' is a number from 0"
wrong '{"models": {"a": {'"$entry"', "then": "b"}}}' "the model 'a' has \"then\": \"b\", and there is no such model"
wrong '{"models": {"a": {'"$entry"', "then": "b"}, "b": {'"$entry"', "then": "a"}}}' "the model 'a' comes to itself by \"then\""
wrong '{"models": {"a": {'"$entry"'}, "a": {'"$entry"'}}}' 'line 1, column'
wrong '{"models": {"a": {'"$entry"'}}, "day": {}}' '"day" is'
wrong '{"models": {"a": {'"$entry"'}}, "day": {"cost": 0}}' "'cost' of \"day\" is a number above 0"
wrong '{"models": {"a": {'"$entry"'}}, "day": {"calls": 1e13}}' "'calls' of \"day\" is a number above 0, and at most"
wrong '{"models": {"a": {'"$entry"'}}, "day": {"hours": 1}}' "\"day\" has an unknown member 'hours'"
vectors='"api": "embeddings", "url": "http://h/v1", "model": "v"'
wrong '{"models": {"a": {'"$entry"', "then": "b"}, "b": {'"$vectors"'}}}' "the model 'a' has \"then\": \"b\", and only one of the two is for embeddings"
echo '{"models": {"chat": {'"$vectors"'}}}' >vectors.json
run ./work run --workflow plain_chat --models vectors.json
check "a model for embeddings is not asked by a prompt" ended 1 "'chat' is a model for embeddings; a prompt needs one that answers"
