#!/bin/sh
# Conversations that become too long for their model: long results are cleared, then the older part is summarised, by recorded numbers alone.
. "$here/lib.sh"
cat >reader.tfy <<'END'
/// A page of the book.
fn page(number: int) -> string { return "page ${number} ".repeat(1125) }

prompt reader(goal: string) -> string {
    model "small"
    system "You read a book."
    user "Read for me: ${goal}"
    tools { page }
    compact "the numbers of ${goal}"
}

/// A conversation over many questions.
prompt talk(chat: thread, said: string) -> string {
    model "small"
    user said
    tools { page }
}

workflow main(goal: string) -> string {
    try {
        var said = ""
        with budget(tokens: 1_000_000) {
            let text = yield reader(goal)
            said = text
        }
        return said
    } catch e: ToolError {
        return "ended: ${e.message}"
    } catch e: BudgetExceeded {
        return "spent: ${e.what}"
    }
}

workflow chat() -> int {
    let r = yield talk(thread(), "turns one")
    let s = yield talk(r.thread, "turns two")
    print(s.value)
    return s.thread.len()
}

workflow weeks() -> int {
    let r = yield talk(thread(), "weeks one")
    var len = 0
    with budget(tokens: 40_000) {
        let s = yield talk(r.thread, "weeks two")
        print(s.value)
        len = s.thread.len()
    }
    return len
}

workflow bounded() -> string {
    try {
        with budget(calls: 4) {
            let text = yield reader("summed")
            return text
        }
    } catch e: BudgetExceeded {
        return "spent: ${e.what}"
    }
}

test "a model that is mocked has no window" {
    mock reader.next(_) => reader.Call.page(1)
    mock reader.next(_) => reader.Call.page(2)
    mock reader.next(_) => reader.Call.answer("read")
    let said = yield main("it")
    assert said == "read"
}
END
python3 - >script <<'END'
import json
def usage(tokens): return {"prompt_tokens": tokens, "completion_tokens": 10}
def page(match, tokens, *numbers):
    calls = [{"id": "id%d" % n, "type": "function", "function": {"name": "page", "arguments": "{\"number\": %d}" % n}} for n in numbers]
    print(json.dumps({"match": match, "usage": usage(tokens), "message": {"content": None, "tool_calls": calls}}))
def text(match, words, tokens=10):
    print(json.dumps({"match": match, "usage": usage(tokens), "answer": words}))
def refuse(match, status=400, words="This model's maximum context length is 9000 tokens."):
    print(json.dumps({"match": match, "fault": str(status), "words": words}))
# 10,000 tokens are the window, and a page is 3,000 of them
for tokens, number in ((100, 1), (1000, 2), (2000, 3), (5000, 4)): page("cleared", tokens, number)
text("cleared", "cleared end")
for tokens, number in ((100, 1), (1000, 2), (2000, 3), (9000, 4)): page("summed", tokens, number)
text("summed", "It was about one.")
page("summed", 9000, 5)
text("summed", "It was about one and two.")
text("summed", "summed end")
for tokens, number in ((100, 1), (1000, 2), (2000, 3), (2000, 4)): page("refused", tokens, number)
refuse("refused")
text("refused", "A refused one.")
text("refused", "refused end")
for number in (1, 2, 3, 4): page("twice", 10, number)
refuse("twice")
text("twice", "A summary.")
refuse("twice", 413, "still too large")
refuse("first")
refuse("plain", 400, "no such model")
for number in (1, 2, 3): page("turns one", 10, number)
text("turns one", "one", 9900)
page("turns two", 19900, 5)
text("turns two", "All about turns.")
text("turns two", "two")
for number in (1, 2, 3, 4): page("weeks one", 10, number)
text("weeks one", "one")
text("weeks two", "All about weeks.")
text("weeks two", "two")
END
"$build/tests/scripted_server" script --log requests >address &
server=$!
trap 'kill $server' EXIT
await() { tries=0; until [ -s "$1" ] || [ $((tries += 1)) -gt 500 ]; do sleep 0.01; done; }
await address
echo '{"models": {"small": {"api": "chat", "url": "'"$(cat address)"'", "model": "m", "window": 10000}}}' >models.json
TFY_DB=$PWD/runs.db no_proxy=127.0.0.1
export TFY_DB no_proxy
# record GOAL [WORKFLOW ARGS…]: a run whose session is kept, and which a replay and the session repeat
record() {
    name=$1
    shift
    [ $# -gt 0 ] || set -- --goal "$name"
    run tfy run reader.tfy --models models.json --llm "record:$name" "$@"
    cp out "$name.out"
    run tfy replay last
    check "$name: it is replayed" printed " 0 divergences"
    run tfy run reader.tfy --llm "cassette:$name" "$@"
    check "$name: its session plays" cmp out "$name.out"
}
# killed NAME ARGS…: the same, killed at every commit
killed() {
    name=$1
    shift
    run tfy crashtest reader.tfy --llm "cassette:$name" "$@"
    check "$name: killed at every commit it asks the same" printed "the same, 0 differ"
}
# asked NAME CODE: Python over `asked`, the messages of each line of the session, and `lines`
asked() { python3 -c '
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
asked = [line["request"]["messages"] for line in lines]
def texts(n): return [message["content"] for message in asked[n]]
exec(sys.argv[2])' "$@"; }

record cleared
check "it ends" grep -q '"cleared end"' cleared.out
check "the oldest result is cleared" asked cleared 'assert texts(4)[3] == "[cleared: page(1), 7,875 bytes; call it again]", texts(4)[3]'
check "... and nothing else is changed" asked cleared 'assert [m for m in asked[4] if m not in asked[3]][1:] and texts(4)[:3] == texts(3)[:3] and texts(4)[4:8] == texts(3)[4:8]'

record summed
check "an older part is summarised" asked summed 'assert texts(5)[2].startswith("[A summary of 2 messages, which are left out:]\n\nIt was about one."), texts(5)[2]'
check "... with what was left out, by tool and count" asked summed 'assert "[Results that are left out: page once. Call a tool again" in texts(5)[2] and "page 2 times" in texts(7)[2], texts(7)[2]'
check "... by the same model, without tools, with what the row asks to keep" asked summed '
ask = lines[4]["request"]
assert ask["model"] == "small" and "tools" not in ask and texts(4)[-1].endswith("Keep above all: the numbers of summed"), ask'
check "... of the messages as they were sent before" asked summed 'assert asked[4][:2] == asked[3][:2] and len(asked[4]) == 5'
check "the first question and the newest rounds are kept byte for byte" asked summed '
assert asked[5][:2] == asked[3][:2] and asked[5][3:7] == asked[3][4:8] and len(asked[5]) == 9, len(asked[5])'
check "a summary is summarised with what came after it" asked summed 'assert "It was about one." in texts(6)[2] and "[A summary of 4 messages" in texts(7)[2]'
check "questions continue each other until then" asked summed 'assert asked[3][: len(asked[2])] == asked[2] and asked[5][:2] == asked[3][:2]'
run tfy run reader.tfy --llm cassette:summed --goal summed
run tfy history last
check "the history has the summary" grep -q "reader.compact by .* a summary beside 7 messages" out
run sqlite3 runs.db "select payload from wal where payload like '%\"why\":\"compact\"%' limit 1"
check "... and why, and how many messages were kept" printed '"why":"compact","kept":7'
run tfy costs last
check "its cost is counted" printed "reader.compact"
run tfy run reader.tfy --llm cassette:summed --workflow bounded
check "a budget counts a summary" printed 'spent: calls'

record refused
check "a refusal for its length does the same, whatever the numbers are" asked refused '
assert lines[4]["too_long"].endswith("maximum context length is 9000 tokens.") and texts(6)[2].startswith("[A summary of 2")'
check "... and the work goes on" grep -q '"refused end"' refused.out
run tfy run reader.tfy --llm cassette:refused --goal refused
run tfy history last
check "... which the history says" printed "too long: the model's endpoint"
record twice
check "... once" grep -q "ended: the model's endpoint .* answered HTTP 413: still too large" twice.out
record first
check "... and only if there is something to leave out" grep -q "ended: .* HTTP 400: This model" first.out
run tfy run reader.tfy --models models.json --goal plain
check "other refusals end it as ever" printed "HTTP 400: no such model"

record turns --workflow chat
check "earlier questions of a conversation are summarised, too" asked turns '
assert texts(6)[0] == "turns two" and "[A summary of 8 messages" in texts(6)[1] and "page 3 times" in texts(6)[1], texts(6)'
check "... and it continues from there" grep -qx 5 turns.out

record weeks --workflow weeks
check "the first question of a call is shortened before it is asked, since nobody has counted it" asked weeks '
assert lines[5]["too_long"] == "the conversation is longer than the window of the model \"small\"".replace(chr(34), chr(39)), lines[5]
assert texts(7)[0] == "weeks two" and "[A summary of 10 messages" in texts(7)[1] and len(asked[7]) == 2, texts(7)'
check "... and it continues from there" grep -qx 3 weeks.out
check "... without having been sent, or charged" sh -c 'test "$(grep -c "weeks two" requests)" = 2'

killed summed --goal summed
export TFY_SNAPSHOT_EVERY=1 # continued from a snapshot each time
killed turns --workflow chat
killed refused --goal refused
killed weeks --workflow weeks
unset TFY_SNAPSHOT_EVERY
run tfy test reader.tfy
check "its tests mock what the model chooses" printed "1 passed, 0 failed"
