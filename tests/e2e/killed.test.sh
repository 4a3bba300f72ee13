#!/bin/sh
# An agent that is killed in the midst of an answer's calls: what was done is not repeated, what may be is, and what may not be waits for a
# person, of which the model hears nothing before.
. "$here/lib.sh"
cat >agent.tfy <<'END'
/// Notes a word, and the key of its step.
tool note(word: string) -> string idempotent local =
    exec ["sh", "-c", "echo \"$1 $TFY_KEY\" >>notes; [ -e go ] || sleep 60; echo noted", "sh", word]

/// Looks a word up.
tool look(word: string) -> string pure =
    exec ["sh", "-c", "echo \"$1 $TFY_KEY\" >>looks; [ -e go ] || sleep 60; echo seen", "sh", word]

/// Pays somebody.
tool pay(who: string) -> string once =
    exec ["sh", "-c", "echo \"$1\" >>paid; [ -e go ] || sleep 60; echo receipt", "sh", who]

/// Says at once that it was there.
tool quick(word: string) -> string once = exec ["sh", "-c", "echo \"$1\" >>quick; echo quick", "sh", word]

prompt worker(goal: string) -> string {
    user goal
    tools { note, look, pay, quick, ask }
}

workflow main(goal: string) -> string {
    return yield worker(goal)
}
END
python3 - >script <<'END'
import json
def calls(match, *calls):
    calls = [{"id": "c%d" % n, "type": "function", "function": {"name": name, "arguments": json.dumps(args)}} for n, (name, args) in enumerate(calls)]
    print(json.dumps({"match": match, "message": {"content": None, "tool_calls": calls}}))
def text(match): print(json.dumps({"match": match, "answer": match + " end"}))
calls("notes it", ("quick", {"word": "a"}), ("note", {"word": "b"}), ("quick", {"word": "c"}))
text("notes it")
calls("looks up", ("look", {"word": "x"}), ("look", {"word": "y"}))
text("looks up")
calls("pays", ("quick", {"word": "p"}), ("pay", {"who": "ann"}), ("quick", {"word": "q"}))
text("pays")
calls("asks", ("quick", {"word": "r"}), ("ask", {"question": "Which?"}), ("quick", {"word": "s"}))
text("asks")
END
"$build/tests/scripted_server" script --log requests >address &
server=$!
trap 'kill $server' EXIT
within 10 [ -s address ]
TFY_LLM_URL=$(cat address) TFY_DB=$PWD/runs.db
export TFY_LLM_URL TFY_DB no_proxy=127.0.0.1
tfy build agent.tfy -o agent
asked() { grep -c '^POST ' requests; }
# begin GOAL COMMAND…: the agent, killed as soon as the command succeeds
begin() {
    : >requests
    rm -f go quick notes looks paid
    goal=$1
    shift
    start ./agent run --goal "$goal"
    within 20 "$@"
    kill -9 "$pid"
    finish
    touch go
}
# told: what the newest request tells of the calls
told() { python3 -c '
import json
body = json.loads([line for line in open("requests") if line.startswith("{")][-1])
print(*[message["content"].strip() for message in body["messages"] if message["role"] == "tool"], sep="|")'; }
same() { sort -u "$1" >once && [ "$(wc -l <"$1") $(wc -l <once)" = "$2" ]; }

begin "notes it" grep -q . notes
check "killed in an idempotent call, between two others" [ "$(asked) $(cat quick)" = "1 a" ]
run ./agent resume last
check "... it ends" printed '"notes it end"'
check "... done calls are not repeated, and those behind it follow" [ "$(tr '\n' ' ' <quick)" = "a c " ]
check "... the call is repeated with the same key" same notes "2 1"
check "... and the model is told of each once" [ "$(asked) $(told)" = "2 quick|noted|quick" ]
run ./agent replay last
check "... and it is replayed" printed " 0 divergences"

begin "looks up" sh -c 'grep -q x looks && grep -q y looks'
run ./agent resume last
check "killed in pure calls side by side, it ends" printed '"looks up end"'
check "... they are repeated with the same keys" same looks "4 2"
check "... and the model is told in their order" [ "$(asked) $(told)" = "2 seen|seen" ]

begin pays grep -q . paid
run ./agent resume last
check "killed in a once call, it waits for a person" ended 75 "tfy resolve"
check "... who sees what is in doubt" grep -q "pay" err
check "... and the model hears nothing before" [ "$(asked) $(cat quick) $(cat paid)" = "1 p ann" ]
run tfy resolve last "$(sqlite3 "$TFY_DB" "select step from wal where type=30 order by lsn desc limit 1")" --done '"found in the books"'
check "... what the person found out is recorded" ended 0
run ./agent resume last
check "... and told" [ "$(asked) $(told)" = "2 quick|found in the books|quick" ]
check "... and nothing was done twice" [ "$(tr '\n' ' ' <quick)$(cat paid)" = "p q ann" ]
run ./agent replay last
check "... and it is replayed" printed " 0 divergences"

begin asks sh -c 'tfy inspect last | grep -q Which'
run ./agent resume last
check "killed while a person is asked, the question is open as it was" ended 75 "Which?"
check "... and nobody else is asked" [ "$(asked) $(cat quick)" = "1 r" ]
run tfy approve last "that one"
run ./agent resume last
check "... and its answer is told" [ "$(asked) $(told)" = "2 quick|that one|quick" ]
check "... once" [ "$(tr '\n' ' ' <quick)" = "r s " ]
run tfy verify
check "the log fits its rules" ended 0
