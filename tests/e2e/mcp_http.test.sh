#!/bin/sh
# The MCP server at /mcp of tfy serve: the same as over standard files, behind the gate, with tokens and roles.
. "$here/lib.sh"
. "$here/serve_lib.sh"
cp "$here/mcp_offers.tfy" offers.tfy

# client SCENARIO TOKEN
client() { run timeout 100 python3 "$here/mcp_client.py" "$1" http "$port" "$(cat "$2")"; }
opens() # OPTION…: a server, its port and its tokens
{
    serves offers.tfy --mcp --hold 400ms --listen 127.0.0.1:0 "$@"
    port=$(sed -n 's,.*http://127.0.0.1:\([0-9]*\)$,\1,p' served)
}
token() { tfy token create "$@" >"$1" 2>>err; } # NAME OPTION…

opens --approve client
token all --roles operator,approver --rate none
token looks --roles viewer
token one --roles operator --only offers.hello
for scenario in discover refused calls tasks task_questions questions forms without_forms keys many older older_asked headers sessions gone; do
    rm -f counted counted_slowly
    client $scenario all
    check "a client: $scenario" ended 0
done
client viewer looks
check "a viewer starts nothing" ended 0
client limited one
check "a token that sees one workflow" ended 0
check "a client has no standing stream without a session" sh -c '[ "$(curl -sS --max-time 20 -o /dev/null -w "%{http_code}" --unix-socket "$TFY_DB-live/http" http://x/mcp)" = 405 ]'
check "the server ends with clients that wait" ends

opens --approve client --prompt hello --resource 'docs://{id}/page=page' --resource docs://cover=cover
for scenario in prompts resources tells listens older_told older_runs standing; do
    client $scenario all
    check "a client: $scenario" ended 0
done
ends

opens
client people_approve all
check "without --approve client people are asked" ended 0
check "... and the run started is in the log with the token" sh -c 'tfy wal export "$(tfy ps --json | python3 -c "import json, sys; print(json.load(sys.stdin)[0][\"id\"])")" -o run && grep -rq "\"token\":\"all\"" run'
ends

# tfy mcp serve is a client of the process that serves the database.
opens --approve client
for scenario in discover calls tasks task_questions questions forms older older_asked; do
    run timeout 100 python3 "$here/mcp_client.py" "$scenario" -- sh -c 'exec tfy mcp serve offers.tfy 2>>log'
    check "through the server of the database: $scenario" ended 0
done
check "... which is told" grep -q "is served already" log
ends
serves offers.tfy
run sh -c 'echo "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}" | tfy mcp serve offers.tfy'
check "... and one that offers nothing says so" printed "nothing is offered here"
ends

# "mcp" of programs in the configuration.
cat >second.tfy <<'END'
/// Greets somebody else.
workflow hello(name: string) -> string { return "good day ${name}" }
END
cat >serve.json <<'END'
{"listen": [{"address": "127.0.0.1:0"}], "programs": {"offers": {"file": "offers.tfy", "mcp": true}, "second": {"file": "second.tfy"}}}
END
serves --config serve.json
port=$(sed -n 's,.*http://127.0.0.1:\([0-9]*\)$,\1,p' served)
client discover all
check "a program that the configuration offers" ended 0
ends
sed -i 's/"second.tfy"/"second.tfy", "mcp": true/' serve.json
serves --config serve.json
port=$(sed -n 's,.*http://127.0.0.1:\([0-9]*\)$,\1,p' served)
run timeout 60 python3 "$here/mcp_client.py" two_programs http "$port" "$(cat all)"
check "tools of two programs have names of both" ended 0
ends
sed -i 's/, "mcp": true//g' serve.json
serves --config serve.json
ask -X POST -H 'Content-Type: application/json' -d '{}' "http://x/mcp"
check "nothing is offered unless somebody says so" says 404 "nothing is offered here"
ends
serves offers.tfy --mcp --tool hidden --tool nothing
check "a workflow that is not there" grep -q "offers.tfy has no workflow 'nothing'" served
