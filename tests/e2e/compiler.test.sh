#!/bin/sh
# What the compiler tells beside C: mistakes of many files, mistakes for programs, graphs, weights.
. "$here/lib.sh"
golden=$here/../golden/tools

# query FILE EXPRESSION: of all elements of the JSON array in a file.
query() { sqlite3 :memory: "select $2 from json_each(cast(readfile('$1') as text))"; }

printf 'workflow main() -> int { return "a" }\n' >one.tfy
printf 'workflow main() {\n    let x = y\n    let z: int = "é${3"\n}\n' >two.tfy
printf 'workflow main() {}\n' >fine.tfy
run tfy check one.tfy fine.tfy two.tfy
check "many files: 65" ended 65 "one.tfy:1:"
check "the files behind one with mistakes are checked" ended 65 "two.tfy:3:"
check "the last line counts" test "$(tail -n 1 err)" = "tfyc: 2 of 3 files have mistakes or cannot be read"
run tfy check fine.tfy fine.tfy
check "nothing to say" test ! -s err
run tfy check missing.tfy one.tfy
check "a file that is not there, and the others" ended 69 "one.tfy:1:"
run tfy check --diagnostics=json one.tfy two.tfy
sed 's/$/,/; $s/,$//; 1s/^/[/; $s/$/]/' err >array
check "one object a line" test "$(query array "count(*)")" = "$(wc -l <err)"
check "file, place, severity" grep -qF '{"file":"one.tfy","line":1,"col":33,"end_line":1,"end_col":36,"message":"' err
check "severity and related places" grep -qF '"severity":"error"' err
run tfyc --check --diagnostics=xml one.tfy
check "other kinds are refused" ended 64 "--diagnostics takes json or text"

cat >idle.tfy <<'END'
workflow main(n: int = 1) -> int {
    let idle = n
    return n
}
test "one" { assert 1 == 1 }
END
said="idle.tfy:2:9: warning: the variable 'idle' is never used"
run tfy check idle.tfy
check "a warning, and the program is right" ended 0 "$said"
run tfy run idle.tfy --n 2
check "run warns when it compiles" ended 0 "$said"
run tfy run idle.tfy --n 2
check "and not again" test ! -s err
run tfy replay last --step </dev/null
check "a stored program is not judged" sh -c "! grep warning err"
said="idle.tfy:2:9: error: the variable 'idle' is never used"
rm -f idle
for command in "check" "run" "build -o idle" "test"; do
    run tfy $command --deny-warnings idle.tfy
    check "denied, compiled or not: $command" ended 65 "$said"
done
check "nothing was built" test ! -e idle
run tfy run idle.tfy --n 2 --deny-warnings
check "run takes the word behind the file too" ended 65 "$said"
run tfyc --deny-warnings idle.tfy -o idle.c
check "tfyc writes nothing" sh -c '[ "$1" = 65 ] && [ ! -e idle.c ]' sh "$status"
sed -i 's/idle = n/_idle = n/' idle.tfy
run tfy test --deny-warnings idle.tfy
check "without warnings nothing changes" test "$status" = 0

run tfy graph "$golden/agent.tfy"
check "graph: Mermaid unless told otherwise" cmp -s out "$golden/agent.mermaid"
run tfy graph "$golden/agent.tfy" --format dot
check "graph: Graphviz" cmp -s out "$golden/agent.dot"
if command -v dot >/dev/null 2>&1; then check "Graphviz reads it" sh -c 'dot -Tplain out >/dev/null'; fi
run tfy graph "$golden/agent.tfy" --format json
check "graph: JSON" cmp -s out "$golden/agent.graph"
check "... whose edges lead to nodes that there are" python3 -c '
import json
graph = json.load(open("out"))["workflows"]
names = {w["name"] for w in graph}
assert len(names) == 6, names
for workflow in graph:
    points = {n["point"] for n in workflow["nodes"]} | {None}
    for edge in workflow["edges"]:
        assert edge["from"] in points and (edge["starts"] in names if "starts" in edge else edge["to"] in points), edge'
run tfy graph "$golden/agent.tfy" --json
check "... --json is the same" cmp -s out "$golden/agent.graph"
run tfy graph "$golden/agent.tfy" --json --format dot
check "... and no other format" ended 64 "give one of them"
cat >doubled.tfy <<'END'
export fn doubled(n: int) -> int { return n * 2 }
END
cat >stored.tfy <<'END'
import { doubled } from "doubled.tfy"
workflow main(n: int) -> int {
    yield sleep(1ms)
    return doubled(n)
}
END
run tfy run stored.tfy --n 1 --id stored
run tfy graph stored.tfy --json
mv out given.json
rm doubled.tfy
run tfy graph stored --json
check "... of a run: its program, as the log stores it" cmp -s out given.json
run sh -c 'tfy graph - --json <stored.tfy' # without the file that it imports
check "... of standard input" ended 65 "doubled.tfy"
run tfy graph nowhere --json
check "... of a run that is not there" ended 69 "not a FILE.tfy, a run, or a program's hash"
run tfy graph "$golden/agent.tfy" --format png
check "graph: other formats are refused" ended 64 "mermaid, dot or json"
run tfy graph one.tfy
check "graph of a program with mistakes" ended 65 "one.tfy:1:"

trusted=$here/../golden/trust
run tfy check --trust "$trusted/all.tfy"
check "what a program is trusted with" ended 0 "sees text from outside, and can send to a network"
check "a table of tools" grep -q '^push  *[0-9]*  *once, dangerous  *open  *any' out
run tfy check --trust --json "$trusted/all.tfy"
check "the same as JSON" test "$(sqlite3 :memory: "select json_extract(cast(readfile('out') as text), '$.tools[2].name', '$.warnings[0].workflow')")" = '["push","main"]'
run tfy check --trust --deny-warnings "$trusted/all.tfy"
check "where warnings are denied, it is refused" sh -c '[ "$1" = 65 ] && grep -q "all.tfy:[0-9:]*: error: " err && [ ! -s out ]' sh "$status"
run tfy check --trust one.tfy
check "mistakes come first" sh -c '[ "$1" = 65 ] && [ ! -s out ]' sh "$status"
run tfy check --trust fine.tfy one.tfy
check "of one program" ended 64 "--trust is for one FILE.tfy"
run tfy check --json fine.tfy
check "--json without it" ended 64 "--json goes with --trust"
run tfyc --trust fine.tfy
check "--trust without --check" ended 64 "--trust goes with --check"
told=
for example in "$here"/../../examples/*/*.tfy; do
    "$build/tfyc" --check --trust "$example" >text 2>/dev/null && "$build/tfyc" --check --trust --json "$example" >json 2>/dev/null &&
        [ "$(sed -n '/^TRUSTED CODE$/{n;p}' text)" = "${example##*/}" ] &&
        [ "$(sqlite3 :memory: "select json_valid(cast(readfile('json') as text))")" = 1 ] || told="$told $example"
done
check "the reports of all examples:$told" test -z "$told"
printf 'workflow main(a: untrusted string) {\n    yield sleep(1ms)\n    let b = trust(a, "\033[2J\342\200\256")\n    print(b)\n}\n' >odd.tfy
timeout 60 script -qec "$build/tfyc --check --trust odd.tfy" /dev/null >screen 2>&1 </dev/null
check "a terminal does not obey what a program holds" sh -c 'grep -qF "\\u{1b}[2J" screen && ! grep -q "$(printf "\342\200\256")" screen'

run tfyc --report --json "$golden/agent.tfy"
check "the report as JSON" test "$(query out "group_concat(json_extract(value, '$.frame_bytes'))")" = 56,48,40,96,40,40
check "with what is live" test "$(query out "max(json_array_length(value, '$.points[0].live'))")" = 5

run tfyc --schema plan "$golden/schema.tfy"
check "the schema of a prompt" cmp -s out "$golden/schema.plan"
run tfyc --schema Step "$golden/schema.tfy"
check "the schema of a type" printed '"description": "One step."'
run tfyc --schema grade "$golden/schema.tfy"
check "the doc comments of cases" printed '"description": "How bad it is.\nfine: Nothing to do.\nbad: Wake somebody."'
for name in Step Kind Torn Plain All does does_nothing main; do tfyc --schema $name "$golden/schema_more.tfy"; done >schemas
check "schemas of every kind of type" cmp -s schemas "$golden/schema_more.json"
run tfyc --schema clerk.Call "$golden/offers.tfy"
check "the schema of the calls of an agent" python3 -c '
import json
calls = {c["properties"]["case"]["const"]: c["required"][1:] for c in json.load(open("out"))["schema"]["anyOf"]}
assert calls == {"read_file": ["path"], "double": ["n"], "mail": ["to"], "answer": ["value"]}, calls'
run tfyc --schema double "$golden/offers.tfy"
check "the schema of a fn" python3 -c '
import json
fn = json.load(open("out"))
assert (fn["kind"], fn["description"], fn["result"]) == ("fn", "Twice as much.", {"type": "integer"}), fn
assert fn["parameters"]["properties"] == {"n": {"type": "integer"}} and fn["parameters"]["required"] == ["n"], fn'
printf 'prompt goes_on(chat: thread, said: string) -> string { user said }\nworkflow main() { print("") }\n' >goes_on.tfy
run tfyc --schema goes_on goes_on.tfy
check "a conversation is a list of messages" sh -c 'tr -d " \n" <out | grep -q "\"chat\":{\"type\":\"array\",\"items\":{}}"'
run tfyc --schema clerk.next "$golden/offers.tfy"
check "the parts of an agent have none" ended 64 "no tool, prompt, workflow, fn or type 'clerk.next'"
run tfyc --schema LIMIT "$golden/schema_more.tfy"
check "a const has no schema" ended 64 "no tool, prompt, workflow, fn or type 'LIMIT'"
run tfyc --schema paln "$golden/schema.tfy"
check "an unknown name is nearly known" ended 64 "did you mean 'plan'?"

# Linked with the program: what models are sent, how large frames are.
CC=${CC:-cc}
CFLAGS=${CFLAGS:--g -O1}
tfyc --no-main "$golden/schema.tfy" -o schema.c
check "the probe links" $CC $CFLAGS -std=gnu11 -D_GNU_SOURCE -I "$here/../../runtime" schema.c "$here/compiler_probe.c" -o probe \
    "$build/runtime/libtfy.a" -lsqlite3 -ljansson -lcurl -lpcre2-8 -lpthread -lm
for tool in plan words many_maps simple nothing choose grade; do
    tfyc --schema $tool "$golden/schema.tfy" >"$tool.json"
    check "models are sent the schema of $tool" ./probe schema $tool "$tool.json"
done
tfyc --report --json "$golden/schema.tfy" >report.json
check "frames are as large as told" ./probe frames report.json
