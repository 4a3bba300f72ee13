#!/bin/sh
# MCP servers, over standard files and HTTP, of both kinds, that behave well and badly: tfy mcp tools, call and pull.
. "$here/lib.sh"
export no_proxy='*' PYTHONDONTWRITEBYTECODE=1

# tools MODE, calls MODE [JSON]: with a server that is a process.
tools() { run timeout 60 tfy mcp tools -- python3 "$here/mcp_server.py" stdio "$1"; }
calls()
{
    given=${2:-}
    [ -n "$given" ] || given='{"text": "hello"}'
    run timeout 60 tfy mcp call --timeout 20s echo "$given" -- python3 "$here/mcp_server.py" stdio "$1"
}

tools modern
check "the tools of a server" ended 0
check "... sorted, with hints and the first line of what they do" \
    printed_exactly "$(printf 'add   idempotent                Does add.\necho  reads only                Does echo.')"
run timeout 60 tfy mcp tools --json -- python3 "$here/mcp_server.py" stdio modern
check "... as JSON" sh -c 'python3 -c "import json,sys; assert [t[\"name\"] for t in json.load(sys.stdin)] == [\"add\", \"echo\"]" <out'
for mode in older older,june silent exits; do
    tools $mode
    check "a server of the older kind: $mode" ended 0
    check "... has its tools" printed "Does echo."
done
tools older,ancient
check "a revision that nobody speaks here" ended 69 "speaks revision 2024-11-05 of the protocol, which is not known here"
tools future
check "revisions that nobody knows yet" ended 69 "speaks only newer revisions"
tools pages
check "a list of several pages" ended 0
check "... is whole" [ "$(wc -l <out)" = 2 ]
tools endless
check "a list without end" ended 65 "more than 512 pages"
tools many
check "10,000 tools" ended 65 "more than 512 tools"
tools twice
check "a name that is there twice" ended 65 "'echo' twice"
tools nameless
check "a tool without a name" ended 65 "without a name"
tools hostile
check "what a server writes is left as it is for a program" sh -c 'grep -q "$(printf "\033]0;owned")" out'
check "... and shown to a person as what it is" sh -c '
    python3 "$1/on_terminal.py" /dev/null tfy mcp tools -- python3 "$1/mcp_server.py" stdio hostile >seen 2>&1
    ! grep -q "$(printf "\033]0;owned")" seen' sh "$here"

calls modern
check "a call" ended 0
check "... gives its text" printed_exactly hello
for mode in older garbage older,garbage double; do
    calls $mode
    check "a call: $mode" ended 0
    check "... gives its text" printed_exactly hello
done
calls garbage
check "... and what is no message is told" ended 0 "wrote what is not a message: it is not JSON: starting"
calls double
check "... and what nobody waits for" ended 0 "answered a request that nobody waits for"
calls state
check "a request says who asks" printed '"io.modelcontextprotocol/protocolVersion": "2026-07-28"'
check "... and what it can do" printed '"io.modelcontextprotocol/clientCapabilities": {"elicitation"'
calls older,state
check "... to an older server it does not" sh -c '! grep -q io.modelcontextprotocol out'
calls error
check "a tool that fails" ended 1 "'echo' failed: it broke"
calls refuses
check "a request that is refused" ended 1 "no such tool (code -32602)"
calls task
check "a result of a kind that was not asked for" ended 65 "a result of kind 'task'"
calls parts
check "parts that are not texts" printed_exactly "$(printf 'look:\n[image image/png, 6,001 bytes]\n[resource_link file:///x]\n[resource text/plain, 3 bytes]')"
run timeout 60 tfy mcp call --json echo '{}' -- python3 "$here/mcp_server.py" stdio structured
check "structured content" printed '"sum": 3'
run timeout 60 tfy mcp call --timeout 2s echo '{}' -- python3 "$here/mcp_server.py" stdio progress
check "a server that tells its progress is not silent" ended 0
check "... and answers" printed_exactly through

# Questions.
answered() { printf "$1" | timeout 60 tfy mcp call echo '{}' -- python3 "$here/mcp_server.py" stdio "$2" >out 2>err; status=$?; }
answered '{"name": "ann"}\n' input
check "a server that asks for more is answered" ended 0 "who are you?"
check "... and its state comes back" printed_exactly '[{"q": {"action": "accept", "content": {"name": "ann"}}}, "s\u00e9"]'
answered '\n' input
check "... with defaults" printed '"content": {"name": "bob"}'
answered '' input
check "... or declined" printed '{"action": "decline"}'
answered 'nonsense\n[]\n1\n' input
check "... and what is no answer is declined" printed '{"action": "decline"}'
answered '\n\n\n\n\n\n\n\n\n\n' input,rounds
check "a server that always asks again" ended 65 "more than 8 times"
answered '{"name": "ann"}\n' older,asks
check "an older server that asks" ended 0 "who are you?"
check "... is answered, and refused what is not offered" printed_exactly \
    '{"ping.answer": {}, "q1.answer": {"action": "accept", "content": {"name": "ann"}}, "s.answer": {"code": -32601, "message": "this client does not offer that"}}'

# Servers that end, and that do not.
calls dies
check "a server that dies" ended 69 "exited with status 7"
check "... and its last words" ended 69 "last words"
calls killed
check "a server that is killed" ended 69 "was ended by signal 9"
calls closes
check "a server that closes its output" ended 69 "closed its standard output"
run timeout 60 tfy mcp call --timeout 1s echo '{}' -- python3 "$here/mcp_server.py" stdio hangs
check "a server that hangs" ended 69 "did not answer within 1000 ms"
calls floods
check "a line without end" ended 69 "wrote a line above 8 MiB"
run timeout 60 tfy mcp call --timeout 2s echo '{}' -- python3 "$here/mcp_server.py" stdio chatters
check "messages without end" ended 69 "did not answer"
calls deep
check "a server is not asked for its tools by a call" ended 0
tools deep
check "a schema 1,000 levels deep" ended 69 "nests more than 128 levels"
run timeout 60 tfy mcp tools -- ./no-such-server
check "a server that is not there" ended 69 "cannot be started: cannot run './no-such-server'"
run timeout 60 tfy mcp tools -- false
check "a command that is no server" ended 69 "exited with status 1"
run timeout 60 tfy mcp tools -- cat
check "a command that repeats what it hears" ended 69
living() { while read -r one; do kill -0 "$one" 2>/dev/null && echo "$one"; done <pids; }
none_lives() { [ -z "$(living)" ]; }
check "no server is left" within 10 none_lives
check "... of many" [ "$(wc -l <pids)" -ge 40 ]

# What is typed wrong.
run tfy mcp tools ftp://x.example/
check "an address that is none" ended 64 "not an http or https address"
run tfy mcp tools http://127.0.0.1:1/ more
check "a word too much" ended 64 "'more' is too much"
run tfy mcp call echo '[1]' http://127.0.0.1:1/
check "arguments that are not an object" ended 64 "are a JSON object"
run tfy mcp call echo '{}' --
check "no server at all" ended 64
run tfy mcp call --timeout soon echo '{}' http://127.0.0.1:1/
check "a time that is none" ended 64 "--timeout takes a time"
run tfy mcp tools http://127.0.0.1:1/mcp
check "nobody at the address" ended 69 "cannot be reached"

# The file.
pull() { run timeout 60 tfy mcp pull "$@"; }
server() { echo python3 "$here/mcp_server.py" stdio "$1"; }
# shellcheck disable=SC2046 # words
pull docs -- $(server modern)
check "tools are pulled" ended 0
check "... with what the server says of them" printed "echo: pure"
check "... into a file" sh -c 'python3 -c "
import json
file = json.load(open(\"docs.mcp.json\"))
assert list(file) == [\"server\", \"revision\", \"time\", \"tools\"]
assert file[\"server\"] == {\"name\": \"fake\", \"version\": \"1.2\"} and file[\"revision\"] == \"2026-07-28\"
assert [tool[\"name\"] for tool in file[\"tools\"]] == [\"add\", \"echo\"]"'
cp docs.mcp.json before
# shellcheck disable=SC2046
pull docs -- $(server modern)
check "... which stays as it is when nothing has changed" cmp before docs.mcp.json
# shellcheck disable=SC2046
pull docs --check -- $(server modern)
check "a check finds nothing" ended 0
check "... and says nothing" [ ! -s out ]
# shellcheck disable=SC2046
pull docs --check -- $(server changed)
check "a check of a changed server" ended 1
check "... names what differs" printed_exactly "$(printf 'add is gone\nadded is new\necho has another description')"
check "... and writes nothing" cmp before docs.mcp.json
# shellcheck disable=SC2046
pull docs --check -- $(server deepish)
check "a schema that is too deep is told as new" printed_exactly "deep is new"
sed 's/"text": {/"other": {/' before >docs.mcp.json
# shellcheck disable=SC2046
pull docs --check -- $(server modern)
check "another schema" printed "echo has another schema"
for mode in deepish circle itself network; do
    # shellcheck disable=SC2046
    pull other -- $(server $mode)
    check "a schema that is refused: $mode" ended 65 "cannot be used: its schema"
    check "... is in no file" [ ! -e other.mcp.json ]
done
echo '{' >docs.mcp.json
# shellcheck disable=SC2046
pull docs --check -- $(server modern)
check "a broken file" ended 65 "docs.mcp.json:"
echo '{"tools": [1]}' >docs.mcp.json
# shellcheck disable=SC2046
pull docs --check -- $(server modern)
check "a file of something else" ended 65 "not a list of tools"
# shellcheck disable=SC2046
pull none --check -- $(server modern)
check "a file that is not there" ended 69 "is not there"
# shellcheck disable=SC2046
pull ../docs -- $(server modern)
check "a name that is a path" ended 64 "is not a name"

# Over HTTP.
serves()
{
    rm -f port port.log
    python3 "$here/mcp_server.py" http port "$1" 2>server.err &
    server=$!
    within 20 test -s port
    url=http://127.0.0.1:$(cat port)/mcp
}
ends() { kill "$server" && wait "$server" 2>/dev/null; }
asks() { run timeout 60 tfy mcp call --timeout 20s echo '{"text": "hello"}' "$url"; }
for mode in modern sse older older,sse older,june older,stateless older,no_get; do
    serves $mode
    run timeout 60 tfy mcp tools "$url"
    check "over HTTP, tools: $mode" ended 0
    asks
    check "... and a call" printed_exactly hello
    ends
done
serves modern,header
run timeout 60 tfy mcp call region '{"region": "süd"}' "$url"
check "a header of the schema" grep -q 'tools/call.*mcp-method=tools/call mcp-name=region mcp-param-region==?base64?c8O8ZA==?=' port.log
check "... and a tool whose header cannot be made is left out" ended 0 "the tool 'wrong' is left out"
run timeout 60 tfy mcp call wrong '{}' "$url"
check "... and is not called" ended 69 "has no tool 'wrong'"
run timeout 60 tfy mcp call regoin '{}' "$url"
check "a name that is nearly one" ended 69 "did you mean 'region'?"
ends
serves older
asks
check "a session is named in each request" grep -q 'tools/call mcp-protocol-version=2025-11-25 mcp-session-id=session-0' port.log
check "... and older servers get no header of newer ones" sh -c '! grep -q "tools/call.*mcp-method" port.log'
ends
serves older,forgets
asks
check "a session that the server has forgotten is begun anew" ended 0
check "... and the call comes through" printed_exactly hello
check "... once" [ "$(grep -c '^tools/call.*session-1' port.log)" = 1 ]
ends
serves older,resumes
asks
check "a stream that broke is continued" printed_exactly hello
check "... at its newest whole event" grep -q 'GET.*last-event-id=first' port.log
ends
serves older,asks
printf '{"name": "ann"}\n' | timeout 60 tfy mcp call echo '{}' "$url" >out 2>err
check "questions over HTTP" printed '"q1.answer": {"action": "accept", "content": {"name": "ann"}}'
ends
for words in "cut:ended its stream before it answered" "drops:broke off its answer" "big:sent a message above 8 MiB" \
    "plain:answered HTTP 200 without a message" "login:needs a login: tfy mcp login http:" "forbidden:refuses access (HTTP 403)" \
    "broken:answered HTTP 500: because" "redirects:answered with a redirect (HTTP 302)"; do
    serves "${words%%:*}"
    asks
    check "over HTTP: ${words%%:*}" ended 69 "${words#*:}"
    [ "${words%%:*}" != drops ] || check "... and it is not asked twice" [ "$(grep -c '^tools/call' port.log)" = 1 ]
    ends
done

# A server that others wrote.
everything=$here/../../build/npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js
if [ ! -f "$everything" ] || ! command -v node >/dev/null; then
    echo "skipped: server-everything, which './dev test' installs"
    exit 0
fi
run timeout 60 tfy mcp tools -- node "$everything" stdio
check "server-everything: its tools" printed "Returns the sum of two numbers"
run timeout 60 tfy mcp call get-sum '{"a": 1, "b": 2}' -- node "$everything" stdio
check "... and a call" printed "The sum of 1 and 2 is 3."
run timeout 60 tfy mcp call get-tiny-image '{}' -- node "$everything" stdio
check "... and an image" printed "[image image/png, "
