#!/bin/sh
# A mock of models' endpoints that others wrote, aimock: all apis, streamed and in one piece, and what endpoints do besides
# answering. Every case is asked of every entry, all side by side, so the waits of one are the waits of all.
. "$here/lib.sh"
modules=$here/../../build/npm/node_modules
node=$(ls "$modules"/node-linux-*/bin/node 2>/dev/null | head -n 1)
if [ -z "$node" ]; then
    echo "skipped: aimock is not installed ('./dev test' installs it)"
    exit 0
fi
apis="chat messages responses" entries=
for api in $apis; do entries="$entries $api $api-whole"; done

cat >work.tfy <<'END'
type Report { summary: string, files: list<string> }

/// Twice as much.
fn double(n: int) -> int { return 2 * n }

/// Notes a word.
tool note(word: string) -> ExecResult once local = exec ["sh", "-c", "echo \"$1\" >>notes", "sh", word]

prompt worker(goal: string, entry: trusted string) -> Report {
    model entry
    system "You help."
    user goal
    tools { double, note }
    rounds 4
}

prompt typed(goal: string, entry: trusted string) -> Report {
    model entry
    user goal
}

prompt plain(goal: string, entry: trusted string) -> string {
    model entry
    user goal
}

/// The case `kind` with an entry of the models: "answer", or "code: message".
workflow one(kind: string, entry: trusted string, at: trusted string) -> string {
    let goal = "${kind}: ${entry}."
    try {
        if kind == "agent" {
            let report = yield worker(goal, at)
            return report.summary
        } else if kind == "typed" {
            let report = yield typed(goal, at)
            return report.summary
        }
        let said = yield plain(goal, at)
        return said
    } catch e: ToolError {
        return "${e.code}: ${e.message}"
    }
}

workflow main(kinds: list<string>, entries: trusted list<string>) {
    let all = parallel for entry in entries {
        give parallel for kind in kinds limit 32 {
            give yield one(kind, entry, entry)
        }
    }
    for n in 0..entries.len() {
        for i in 0..kinds.len() { print("${kinds[i]} ${entries[n]} ${all[n][i]}") }
    }
}

workflow away(entries: trusted list<string>) {
    for entry in entries {
        let said = yield one("say", entry, "${entry}-away")
        let none = yield one("say", entry, "${entry}-gone")
        print("${entry}: ${said} ${none}")
    }
}
END
kinds="say typed thinks counts agent slow busy broken dead refuses garbled drops falls cut dies long filtered"

mkfifo held
NODE_PATH=$modules "$node" "$here/../llm/aimock.js" $entries <held >address &
exec 3>held
within 20 [ -s address ]
url=$(cat address)
unset TFY_MODELS
export TFY_DB="$PWD/runs.db" no_proxy=127.0.0.1

entry() { # NAME URL MORE
    printf '%s"%s": {"api": "%s", "url": "%s", "model": "%s", "price": {"in": 1, "out": 1}%s}' "$comma" "$1" "${1%%-*}" "$2" "$1" "$3"
    comma=', '
}
{
    comma=
    printf '{"models": {'
    for api in $apis; do
        entry $api "$url" ''
        entry $api-whole "$url" ', "stream": false'
        entry $api-away http://127.0.0.1:1 ', "then": "'$api'"'
        entry $api-gone http://127.0.0.1:1 ''
    done
    echo '}}'
} >models.json
list() { printf '"%s"\n' "$@" | paste -sd, | sed 's/.*/[&]/'; }
# asked NAME: how often each case was asked of it
asked() {
    curl -sS "$url/__aimock/journal" | python3 -c '
import collections, json, sys
def text(content): return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or [])
counts = collections.Counter()
for entry in json.load(sys.stdin):
    said = [text(m["content"]) for m in entry["body"]["messages"] if m["role"] == "user"]
    kind, _, name = said[0].rstrip(".").partition(": ")
    if name == sys.argv[1]: counts[kind] += 1
print(" ".join("%s=%d" % (kind, counts[kind]) for kind in sys.argv[2:]))' "$1" $kinds
}

run tfy run work.tfy --events --models models.json --kinds "$(list $kinds)" --entries "$(list $entries)"
check "all cases end" ended 0
# What is said of a stream that breaks depends on how much of it came before.
sed "s#$url[^ ]*#URL#; s#^\(dies .* 104: \)the \(stream\|model\).*\(ended\|closed the connection\).*#\1broken#" out >answers
check "... and a Retry-After is waited for" [ "$(grep -c 'HTTP 429, asked again in 1.0 s' err)" = 6 ]
run tfy replay last
check "... and replay" printed " 0 divergences"
run tfy history last --type LLMPlan --json
mv out plans
for name in $entries; do
    long="finish_reason $(case $name in chat*) echo length ;; messages*) echo max_tokens ;; *) echo incomplete ;; esac)"
    tokens=$(sed -n "s/long $name .* after \([0-9]*\) tokens.*/\1/p" answers)
    filtered="13: a content filter of the endpoint stopped the model's answer (finish_reason content_filter); change what is asked, or ask another endpoint"
    case $name in responses*) filtered="74: the model returned no text (finish_reason failed) at URL" ;; esac
    case $name in
    *-whole) cut="hello, this is a long answer" dies=$cut cuts=1 deaths=1 ;;
    *) cut=hello dies="104: broken" cuts=2 deaths=3 ;;
    esac
    cat >expected <<END
say $name hello
typed $name done
thinks $name hello
counts $name hello
agent $name done
slow $name hello
busy $name hello
broken $name hello
dead $name 500: the model's endpoint URL answered HTTP 500 repeatedly: not now
refuses $name 400: the model's endpoint URL answered HTTP 400: not now
garbled $name 74: the model's endpoint URL answered with something that is not JSON (line 1, column 10)
drops $name hello
falls $name 104: the model's endpoint URL closed the connection in the middle of its answer
cut $name $cut
dies $name $dies
long $name 90: the model's answer was cut off after $tokens tokens ($long); ask for a shorter one, or let the endpoint give longer ones
filtered $name $filtered
END
    grep " $name " answers >actual
    check "$name: what comes of each case" diff expected actual
    asked "$name" >actual
    echo "say=1 typed=1 thinks=1 counts=1 agent=4 slow=1 busy=2 broken=3 dead=3 refuses=1 garbled=1 drops=2 falls=3 cut=$cuts dies=$deaths long=1 filtered=1" >expected
    check "... and how often it was asked" diff expected actual
    check "... the tokens are those that it says" grep -q "\"entry\": *\"$name\".*\"prompt_tokens\": *70" plans
    check "... no tool is used twice" [ "$(grep -c " $name\$" notes)" = 2 ]
done

run tfy run work.tfy --models models.json --workflow away --entries "$(list $apis)"
for name in $apis; do
    check "$name: another is asked in place of one that refuses the connection" grep -q "^$name: hello 111: cannot reach" out
done
exec 3>&-
