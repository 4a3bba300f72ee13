#!/bin/sh
# Programs that call tools of MCP servers, killed at every commit and stop: the same end, no call twice, no task forgotten.
. "$here/lib.sh"
export PYTHONDONTWRITEBYTECODE=1
cp "$here/mcp_server.py" .
mkdir copied
cp mcp_server.py copied
for mode in traceless tasks,traceless; do
    echo "mcp fake = exec [\"python3\", \"mcp_server.py\", \"stdio\", \"$mode\"] { echo: once }" >p.tfy
    echo 'workflow main() -> string { return yield fake.echo("x") }' >>p.tfy
    [ -s fake.mcp.json ] || tfy mcp pull p.tfy >/dev/null
    run timeout 120 tfy crashtest p.tfy --real --copy copied --jobs 2
    check "a run has the same end ($mode)" printed " 0 differ"
    run timeout 120 tfy crashtest p.tfy --copy copied --jobs 2
    check "... also with calls that are answered from the first run" printed " 0 differ"
done
