#!/bin/sh
# Files that prompts send along: what each wire form gets, what is recorded, and what is refused.
. "$here/lib.sh"
cat >work.tfy <<'END'
/// Twice as much.
fn double(n: int) -> int { return 2 * n }

prompt look(path: string, with_model: trusted string) -> string {
    model with_model
    user "What is in it?"
    file path
    file "plan.pdf"
}

prompt agent(path: string, with_model: trusted string) -> string {
    model with_model
    system "You look."
    user "go"
    file path
    tools { double }
}

prompt again(path: string) -> string {
    model "chat"
    user "again"
    file path
}

END
for model in chat messages responses; do
    cat >>work.tfy <<END
workflow look_$model() -> string {
    let said = yield look("shots/a.png", "$model")
    return said
}
workflow agent_$model() -> string {
    let said = yield agent("shots/a.png", "$model")
    return said
}
END
done
cat >>work.tfy <<'END'
workflow main(path: string) -> string {
    let said = yield look(path, "chat")
    return said
}
workflow patient(path: string) -> string {
    let said = yield again(path) retry 2 backoff 1s
    return said
}
workflow bounded(path: string, tokens: int) -> string {
    var said = ""
    try {
        with budget(tokens: tokens) { said = yield again(path) }
    } catch e: BudgetExceeded { said = "${e.what} ${e.spent}" }
    return said
}
workflow wrong(paths: list<string>) -> string {
    with budget(calls: 9) {
        let said = yield chosen(paths)
        return said
    }
}
prompt chosen(paths: list<string>) -> string {
    model "chat"
    user "one of them"
    file paths[3]
}

test "a file is not read where the model is mocked" {
    mock look(_) => "a cat"
    let said = yield main("none.png")
    assert said == "a cat"
}
END
mkdir shots
printf '\211PNG\r\n\032\nimage' >shots/a.png
printf '%%PDF-1.7 plan' >plan.pdf
printf '\377\330\377photo' >shots/b.jpeg
printf 'GIF89a...' >named.txt
printf 'RIFF1234WEBPVP8' >c.webp
echo "some text" >notes.png
: >empty.gif
printf '\200\001\002\003' >odd.png

cat >server.py <<'END'
import http.server, json, os
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args): pass
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with open("requests", "a") as log: log.write(json.dumps(body) + "\n")
        kind = self.path.rsplit("/", 1)[-1]
        told = "tool_result" in json.dumps(body) or '"role": "tool"' in json.dumps(body) or "function_call_output" in json.dumps(body)
        calls = "tools" in body and not told
        if kind == "completions":
            call = {"id": "c", "type": "function", "function": {"name": "double", "arguments": '{"n": 1}'}}
            message = {"content": None, "tool_calls": [call]} if calls else {"content": "a cat"}
            answer = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": {"prompt_tokens": 9, "completion_tokens": 1}}
        elif kind == "messages":
            part = {"type": "tool_use", "id": "c", "name": "double", "input": {"n": 1}} if calls else {"type": "text", "text": "a cat"}
            answer = {"content": [part], "stop_reason": "end_turn", "usage": {"input_tokens": 9, "output_tokens": 1}}
        else:
            item = {"type": "function_call", "call_id": "c", "name": "double", "arguments": '{"n": 1}'} if calls else \
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a cat"}]}
            answer = {"status": "completed", "output": [item], "usage": {"input_tokens": 9, "output_tokens": 1}}
        status = 200
        if os.path.exists("change"): # the file is another one for the next attempt
            os.rename("change", "shots/changing.png")
            status, answer = 400, {"error": {"message": "no"}}
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print("http://127.0.0.1:%d/v1" % server.server_address[1], flush=True)
server.serve_forever()
END
python3 server.py >address &
server=$!
trap 'kill $server' EXIT
within 10 [ -s address ]
url=$(cat address)
unset TFY_MODELS TFY_LLM_URL
export TFY_DB="$PWD/runs.db" no_proxy=127.0.0.1
mkdir .tfy
cat >.tfy/models.json <<END
{"models": {"chat": {"api": "chat", "url": "$url", "model": "m"}, "messages": {"api": "messages", "url": "$url", "model": "m"},
            "responses": {"api": "responses", "url": "$url", "model": "m"}}}
END
tfy build work.tfy -o work
run tfy test work.tfy
check "a file is not read where the model is mocked" ended 0
for api in chat messages responses; do
    : >requests
    run ./work run --workflow look_$api
    check "$api: files are sent along" printed '"a cat"'
    cp requests "$api.look"
    run ./work replay last
    check "... and a replay reads none" printed " 0 divergences"
    : >requests
    run ./work run --workflow agent_$api
    check "$api: an agent sends them with each question" printed '"a cat"'
    cp requests "$api.agent"
    run ./work replay last
    check "... and is replayed" printed " 0 divergences"
done
cat >look.py <<'END'
import base64, json, sys
api = sys.argv[1]
png, pdf = (base64.b64encode(open(name, "rb").read()).decode() for name in ("shots/a.png", "plan.pdf"))
names = "shots/a.png\nplan.pdf"
def same(got, want): assert got == want, json.dumps(got, indent=1)
look, = [json.loads(line) for line in open(api + ".look")]
first, second = [json.loads(line) for line in open(api + ".agent")]
if api == "chat":
    same(look["messages"][0]["content"], [
        {"type": "text", "text": names}, {"type": "image_url", "image_url": {"url": "data:image/png;base64," + png}},
        {"type": "file", "file": {"filename": "plan.pdf", "file_data": "data:application/pdf;base64," + pdf}}])
    same(look["messages"][1], {"role": "user", "content": "What is in it?"})
    same([m["role"] for m in second["messages"]], ["system", "user", "user", "assistant", "tool"])
    same(second["messages"][:3], first["messages"])
elif api == "messages":
    source = lambda kind, data: {"type": "base64", "media_type": kind, "data": data}
    same(look["messages"][0]["content"], [
        {"type": "text", "text": names}, {"type": "image", "source": source("image/png", png)},
        {"type": "document", "source": source("application/pdf", pdf)},
        {"type": "text", "text": "What is in it?", "cache_control": {"type": "ephemeral"}}])
    same([m["role"] for m in second["messages"]], ["user", "assistant", "user"])
else:
    same(look["input"][0]["content"], [
        {"type": "input_text", "text": names}, {"type": "input_image", "image_url": "data:image/png;base64," + png},
        {"type": "input_file", "filename": "plan.pdf", "file_data": "data:application/pdf;base64," + pdf}])
    same(look["input"][1], {"role": "user", "content": "What is in it?"})
    same(second["input"][:3], first["input"])
END
for api in chat messages responses; do
    check "$api: the request is as its endpoint wants it" python3 look.py $api
done
run ./work run --workflow look_chat
run tfy history last --type LLMPlan --json
check "the record has the path, the kind, the digest and the size" python3 -c '
import json
plan = [json.loads(line) for line in open("out")][-1]
plan = plan.get("payload", plan)
(png, pdf) = plan["files"]
assert png[:2] == ["shots/a.png", "image/png"] and len(png[2]) == 32 and png[3] == 13, png
assert pdf[:2] == ["plan.pdf", "application/pdf"], pdf'
check "... and not the bytes" sh -c '! grep -aq "$(base64 <plan.pdf)" runs.db*'
run tfy verify
check "... and fits its rules" ended 0
for path in shots/b.jpeg named.txt c.webp "$PWD/shots/a.png"; do
    run ./work run --path "$path"
    check "$path is what its bytes say" printed '"a cat"'
done
refused() { # PATH WORDS
    : >requests
    run ./work run --path "$1"
    check "refused: $1" ended 1 "$2"
    check "... and nothing is sent" [ ! -s requests ]
}
refused notes.png "cannot send 'notes.png' to a model: it is text, which belongs in the text of the prompt; what can be sent is png, jpeg, webp, gif and pdf"
refused empty.gif "cannot send 'empty.gif' to a model: it is empty"
refused odd.png "cannot send 'odd.png' to a model: it begins with 80 01 02 03"
refused none.png "cannot send 'none.png': there is no such file or directory"
refused shots "cannot send 'shots': it is a directory"
refused ../outside.png "cannot send '../outside.png': it leads outside the working root"
refused /etc/passwd "cannot send '/etc/passwd': it leads outside the working root"
refused runs.db "cannot send 'runs.db': "
ln -s /etc/passwd link.png
refused link.png "cannot send 'link.png': it leads outside the working root"
{ printf '\211PNG\r\n\032\n'; head -c 17000000 /dev/zero; } >large.png
refused large.png "cannot send 'large.png': it is larger than 16 MiB"
run ./work run --path large.png --max-file 20M
check "... and --max-file allows more" printed '"a cat"'
{ printf '%%PDF-'; head -c 17000000 /dev/zero; } >plan.pdf
run ./work run --path large.png --max-file 20M
check "... but 32 MiB of one request" ended 1 "the files of one request have more than 32 MiB"
printf '%%PDF-1.7 plan' >plan.pdf

cp shots/a.png shots/changing.png
printf '\211PNG\r\n\032\nother' >change
: >requests
run ./work run --workflow patient --path shots/changing.png
check "a file that changes between two attempts is sent as it is then" printed '"a cat"'
check "... with both its contents" [ "$(grep -o 'base64,[A-Za-z0-9+/=]*' requests | sort -u | wc -l)" = 2 ]
run ./work replay last
check "... and is replayed" printed " 0 divergences"
run ./work run --workflow look_chat --llm record:session
check "a session is recorded with the digests" grep -q '"files": *\[' session
check "... without the bytes" sh -c '! grep -q "$(base64 <plan.pdf)" session'
run ./work run --workflow look_chat --llm cassette:session
check "... and plays" printed '"a cat"'
printf '%%PDF-1.7 other' >plan.pdf
run ./work run --workflow look_chat --llm cassette:session
check "... while the files are the same" ended 1 "the recorded session session has no answer for this request"
{ printf '%%PDF-'; head -c 60000 /dev/zero; } >plan.pdf
{ printf '\211PNG\r\n\032\n'; head -c 600000 /dev/zero; } >large.png
run ./work run --workflow bounded --path plan.pdf --tokens 25000
check "a budget counts a third of the bytes" printed '"tokens 0.0"'
run ./work run --workflow bounded --path large.png --tokens 25000
check "... of an image so much as it may come to" printed '"a cat"'
run ./work replay last
check "... and is replayed" printed " 0 divergences"
run ./work run --workflow wrong --paths '["a"]'
check "a row that cannot be evaluated ends the run under a budget, too" ended 1 "index 3"

cat >trust.tfy <<'END'
/// Searches the web.
tool search(words: string) -> string pure = http "GET https://search.example/?q=${words}"
/// Sends a mail.
tool mail(to: string, text: string) -> ExecResult once = exec ["notify", "--", to, text]
prompt clerk(question: string) -> string {
    user question
    file "contract.pdf"
    tools { search, mail }
}
workflow main(question: string) -> string {
    let text = yield clerk(question)
    return text
}
END
run tfy check trust.tfy
check "who is sent a file sees what is private" ended 65 "'clerk' reads what strangers write (search), sees what is private (file) and acts outside (mail)"
cat >rows.tfy <<'END'
prompt a() -> string {
    user "x"
    file 3
    fil "y"
}
workflow main() {}
END
run tfy check rows.tfy
check "a row is checked" ended 65 "string"
check "... and named" ended 65 "unknown row 'fil'; did you mean 'file'?"
