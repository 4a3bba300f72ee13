#!/bin/sh
# Programs whose tools are those of MCP servers: their types, outcomes, drift, secrets, sandboxes, kills.
. "$here/lib.sh"
export no_proxy='*' PYTHONDONTWRITEBYTECODE=1
cp "$here/mcp_server.py" .

# program MODE [ATTRIBUTES]: p.tfy, whose server has that mode; its body is read from standard input.
program()
{
    echo "mcp fake = exec [\"python3\", \"mcp_server.py\", \"stdio\", \"$1\"] ${3:-} { ${2:-echo: pure} }"
    cat
} >p.tfy
# with MODE: the same program with another server.
with() { sed -i "1s/\"stdio\", \"[a-z_,]*\"/\"stdio\", \"$1\"/" p.tfy; }
runs() { rm -rf .tfy && run timeout 60 tfy run p.tfy "$@"; }

program modern <<'END'
workflow main(text: string) -> string {
    let first = yield fake.echo(text)
    let last = yield fake.echo("!")
    return first + last
}
END
run tfy run p.tfy --text hi
check "without the file of its tools" ended 65 "tfy mcp pull"
run tfy mcp pull p.tfy
check "they are pulled by the program" ended 0
check "... with what the server proposes" printed "echo: pure"
check "... beside it" [ -s fake.mcp.json ]
run tfy mcp pull --check p.tfy fake
check "they are as they were" ended 0
mkdir sub && cp p.tfy mcp_server.py sub
run tfy mcp pull sub/p.tfy fake
check "a program in another directory has them there" [ -s sub/fake.mcp.json ]
run tfy mcp pull p.tfy other
check "a server that it does not declare" ended 64 "declares no MCP server 'other'"
for mode in modern older older,june garbage double; do
    with $mode
    runs --text hi
    check "a program calls a tool: $mode" printed_exactly '"hi!"'
done
run tfy replay --db .tfy/runs.db
check "... and is replayed without a server" ended 0
sed -i 's/yield fake.echo("!")/fake.echo("!")/' p.tfy
run tfy check p.tfy
check "a call without yield" ended 65 "'fake.echo' suspends"

program error <<'END'
workflow main() -> string {
    try { return yield fake.echo("x") } catch e: ToolError { return "${e.code}: ${e.message}" }
}
END
runs
check "a tool that fails" printed_exactly "\"0: 'fake.echo' failed: it broke\""
with refuses
runs
check "a request that is refused" printed_exactly "\"-32602: 'fake.echo' was refused: no such tool\""
with dies
runs
check "a server that dies, with its last words" printed "exited with status 7; its last words: last words"
with deep
runs
check "a list of tools that is refused" printed "nests more than 128 levels"
with many
runs
check "... that is too long" printed "more than 512 tools"
with floods
runs
check "a line without end" printed "wrote a line above 8 MiB"
with changed
runs
check "another description is a warning" ended 0 "the description of 'fake.echo' has changed since it was pulled"
with changed,renamed
runs
check "a tool that is gone" printed "'fake.echo' is gone since it was pulled; run: tfy mcp pull p.tfy"
with other
runs
check "a tool with another schema" printed "'fake.echo' has changed since it was pulled; run: tfy mcp pull p.tfy"

# Types.
program typed 'find: pure' <<'END'
workflow main() -> string {
    let plain = yield fake.find("a")
    let all = yield fake.find(query: "b", limit: 3, match: true, tags: ["x"], any: json [1],
                              filter: fake.FindFilter(kind: fake.FindFilterKind.api, since: null))
    return "${plain.given} ${all.given} ${all.score}"
}
END
tfy mcp pull p.tfy >/dev/null
runs
check "parameters have types, and what is not given is left out" printed_exactly \
    '"{\"query\": \"a\"} {\"any\": [1], \"filter\": {\"kind\": \"api\"}, \"limit\": 3, \"match\": true, \"query\": \"b\", \"tags\": [\"x\"]} 2.0"'
with typed,misfit
runs
check "a result of another type" ended 1 "BadValue"

# Tools that are declared by hand.
program parts <<'END'
/// Shows it.
tool shot(text: string) -> McpResult pure = mcp "fake" "echo"
tool plain(text: string = "a") -> string pure = mcp "fake" "echo"
workflow main() -> string {
    let all = yield shot("x")
    var said = "${all.structured ?? json []}"
    for part in all.parts {
        match part {
            text(text) => { said += " text ${text}" }
            image(data, mime) => { said += " image ${data.len()} ${mime}" }
            audio(data, mime) => { said += " audio ${data.len()} ${mime}" }
            link(uri, name) => { said += " link ${uri} ${name}" }
            resource(uri, mime, text) => { said += " resource ${uri} ${mime} ${text}" }
        }
    }
    let text = yield plain()
    return said + (if text == all.text { " and the same" } else { "" })
}
test "mocked" {
    mock shot(_) => McpResult(text: "x", parts: [Part.link("u", "n")])
    mock plain(_) => "x"
    let said = yield main()
    assert said == "[] link u n and the same"
}
END
runs
check "a tool by hand gives all of its result" printed_exactly \
    '"[] text look: image 6001 image/png link file:///x x resource test://a text/plain abc and the same"'
run tfy replay --db .tfy/runs.db
check "... which is replayed" ended 0
run tfy test p.tfy
check "... and mocked" ended 0
sed 's/shot(text: string)/shot(text: int, more: int = 0)/; s/shot("x")/shot(1)/; s/plain(text: string = "a")/plain()/' p.tfy >wrong.tfy
run tfy check wrong.tfy
check "its parameters are the server's" ended 65 "'text' is string for the server, and int here"
check "... by name" grep -q "'echo' has no parameter 'more'" err
check "... and all that it needs" grep -q "'echo' needs the parameter 'text', a string" err
check "... with the place in the file" grep -q '^fake.mcp.json:[0-9]*:[0-9]*: note: ' err
sed 's/"fake" "echo"/"fake" "ecko"/; 0,/"fake" "ecko"/s/"fake"/"fak"/' p.tfy >wrong.tfy
run tfy check wrong.tfy
check "a server that is none" ended 65 "no MCP server 'fak' in this file; did you mean 'fake'?"
check "a tool that is none" grep -q "no tool 'ecko' in fake.mcp.json; did you mean 'echo'?" err
{ sed '/^test/,$d' p.tfy; echo 'enum Part { mine }'; echo 'fn of(part: Part) -> string { return "${part}" }'; } >own.tfy
run tfy check own.tfy
check "a program may have a Part of its own" ended 0

# Secrets, and what holds a server.
program secret 'echo: pure' 'env { "KEY": secret("KEY") }' <<'END'
workflow main() -> string {
    try { return yield fake.echo("x") } catch e: ToolError { return e.message }
}
END
run tfy mcp pull p.tfy
check "a secret that is not there" ended 69 'no value for secret("KEY")'
export TFY_SECRET_KEY=very-secret-value
run tfy mcp pull p.tfy
check "... and is" ended 0
runs
check "a secret comes back as its name" printed_exactly '"the key is [secret:KEY]"'
check "... and its use is recorded" [ "$(records Secret)" = 1 ]
with secret,error
runs
check "... from an error, too" printed "the key is [secret:KEY]"
no_secret() { ! grep -rqF very-secret-value .tfy out err; }
check "... and is nowhere" no_secret
unset TFY_SECRET_KEY

program writes 'echo: once' 'sandbox readonly' <<'END'
workflow main() -> string { return yield fake.echo("x") }
END
tfy mcp pull p.tfy >/dev/null
runs
check "a server is held by its sandbox" printed_exactly '"Read-only file system"'
sed -i '1s/readonly/workspace/' p.tfy
runs
check "... or may write" printed_exactly '"written"'

# Kills.
program slow 'echo: idempotent' <<'END'
workflow main() -> string {
    let a = yield fake.echo("a")
    let b = yield fake.echo("b")
    return a + b
}
END
tfy mcp pull p.tfy >/dev/null
: >counted
rm -rf .tfy
start tfy run p.tfy
within 20 [ -s counted ]
kill -9 "$pid"
finish
servers() { pgrep -f "mcp_server.py stdio slow$" >/dev/null; }
no_server() { ! servers; }
check "a server dies with its program" within 10 no_server
run timeout 60 tfy resume --db .tfy/runs.db
check "a killed call of an idempotent tool is made again" ended 0
check "... to the end" grep -q '"ab"' out
check "... under its key" [ "$(sort counted | uniq | wc -l)" = 2 ]
sed -i 's/echo: idempotent/echo: once/' p.tfy
: >counted
rm -rf .tfy
start tfy run p.tfy
within 20 [ -s counted ]
kill -9 "$pid"
finish
run timeout 60 tfy resume --db .tfy/runs.db
check "one of a tool that runs once asks a person" ended 75
check "... and is not made again" [ "$(wc -l <counted)" = 1 ]

# A server that knows calls by their keys.
program keyed,dies_first 'echo: once' <<'END'
workflow main() -> string { return yield fake.echo("x") }
END
tfy mcp pull p.tfy >/dev/null
check "its file says so" grep -q '"keyed": true' fake.mcp.json
: >counted
runs
check "a once call whose server died is made again" printed_exactly '"x"'
check "... under its key" [ "$(sort counted | uniq -c | awk '{ print $1 }')" = 2 ]
check "... and was done once" [ "$(wc -l <done)" = 1 ]
run tfy replay --db .tfy/runs.db
check "... which replays" ended 0
with keyed,slow_first
killed()
{
    rm -rf .tfy done
    start tfy run p.tfy
    within 20 [ -s done ]
    kill -9 "$pid"
    finish
}
killed
run timeout 60 tfy resume --db .tfy/runs.db
check "a killed call of a once tool is made again, without a person" printed_exactly '"x"'
check "... and was done once" [ "$(wc -l <done)" = 1 ]
with slow_first
tfy mcp pull p.tfy >/dev/null
no_keys() { ! grep -q keyed fake.mcp.json; }
check "... of one that does not it says nothing" no_keys
with keyed,slow_first
tfy mcp pull p.tfy >/dev/null
killed
: >counted
sed -i 's/has("keyed")/has("unkeyed")/' mcp_server.py
run timeout 60 tfy resume --db .tfy/runs.db
check "a server that knows them no longer is not called again" ended 75
check "... but a person is asked" [ ! -s counted ]
runs
check "... and a new call says what to do" ended 1 "knew calls by their keys (tfy/key) when it was pulled; run: tfy mcp pull p.tfy"
cp "$here/mcp_server.py" .

# Over HTTP.
serve()
{
    rm -f port
    python3 mcp_server.py http "$PWD/port" "$1" &
    server=$!
    within 10 [ -s port ]
    echo "mcp fake = http \"http://127.0.0.1:$(cat port)/mcp\" headers { \"Authorization\": \"Bearer \${secret(\"KEY\")}\" } { echo: pure }"
    echo 'workflow main() -> string { return yield fake.echo("over HTTP") }'
} >p.tfy
export TFY_SECRET_KEY=very-secret-value
for mode in modern sse older older,resumes; do
    serve $mode
    tfy mcp pull p.tfy >/dev/null
    runs
    check "a server over HTTP: $mode" printed_exactly '"over HTTP"'
    kill $server
done
serve drops
tfy mcp pull p.tfy >/dev/null
runs
check "a connection that breaks" ended 1 "has no answer"
kill $server
