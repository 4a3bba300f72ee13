#!/bin/sh
# examples/review, driven by the command lines of the MCP inspector: one process calls it and ends at its question, and a later one gets
# the result of the same run. `--cli` answers no questions, so a person does; `mcpdo` answers them itself.
. "$here/lib.sh"
modules=$here/../../build/npm/node_modules
clients=$modules/@modelcontextprotocol/inspector/clients
node=$(ls -d "$modules"/node-linux-*/bin/node 2>/dev/null | head -n 1)
if [ ! -f "$clients/mcpdo/build/mcp-bin.js" ] || ! "${node:-node}" --version >/dev/null 2>&1; then
    echo "skipped: the MCP inspector, which './dev test' installs"
    exit 0
fi
export HOME="$PWD/home" TFY_DB="$PWD/runs.db" MCP_STORAGE_DIR="$PWD/store" MCP_INSPECTOR_SECRET_STORE=file
export GIT_AUTHOR_DATE="2026-01-01T00:00:00Z" GIT_COMMITTER_DATE="2026-01-01T00:00:00Z"
mkdir "$HOME"

# A repository with a branch that changes two files.
cp "$EXAMPLES"/review/review.tfy "$EXAMPLES"/review/session.jsonl .
git init -q -b main .
git config user.email ann@shop.example
git config user.name ann
mkdir src docs
printf 'int half(int x)\n{\n    return x / 2;\n}\n' >src/half.c
echo "# Halves" >docs/half.md
git add src docs
git commit -qm "halves"
git checkout -qb faster
sed -i 's,x / 2,x >> 1,' src/half.c
echo "Halves numbers, fast." >>docs/half.md
git commit -qam "faster"
git checkout -q main

server="tfy mcp serve review.tfy --db $TFY_DB --hold 400ms --llm cassette:session.jsonl"
newest() { tfy ps | awk 'NR == 2 { print $1 }'; }
asks() { tfy inspect last | grep -q "faster changes much; which part matters?"; }
# A later call or task has the run's result, and there is no other run.
reviewed()
{
    printed "One change, which is wrong for numbers below 0." && printed "-1 >> 1 is -1, and -1 / 2 is 0." &&
        [ "$(newest)" = "$asked" ] && [ "$(tfy ps | grep -c review.tfy)" = "$reviews" ] &&
        tfy inspect "$asked" | grep -q "numbers below 0"
}
reviews=0

# A person answers between the two processes, when no server works.
for era in legacy auto modern; do
    set -- --cli --protocol-era $era --format json --method tools/call --tool-name review \
        --tool-arg branch=faster most=10 --metadata "tfy/key=$era/1/1" -- $server
    start timeout 60 "${node:-node}" "$clients/launcher/build/index.js" "$@"
    within 20 asks
    asked=$(newest) reviews=$((reviews + 1))
    kill $pid
    finish
    check "$era: the call has no result when its client ends" [ ! -s out ]
    check "... and its server has ended" within 20 sh -c 'tfy ps | grep "$1" | grep -q stopped' sh "$asked"
    check "... with the question open" asks
    tfy approve "$asked" '{"path": "src"}' >approved 2>&1
    run timeout 60 "${node:-node}" "$clients/launcher/build/index.js" "$@"
    check "... a later client gets the result of the same run" reviewed
done

# `mcpdo` keeps connections in a daemon. It is killed: one that ends in order cancels what is open.
echo "$server" | python3 -c 'import json, sys
command, *args = sys.stdin.read().split()
json.dump({"mcpServers": {"review": {"command": command, "args": args}}}, sys.stdout)' >mcp.json
mcpdo() { run timeout 60 "${node:-node}" "$clients/mcpdo/build/mcp-bin.js" --format json "$@"; }
connects() { mcpdo --config mcp.json connect review --era $era; }
calls() { mcpdo @review tools/call review branch:=faster most:=10 --metadata "tfy/key=mcpdo/$era/1"; }
question() { sed -n 's/.*"elicitationId": "\(.*\)",/\1/p' out; }
dies()
{
    mcpdo daemon status
    daemon=$(sed -n 's/.*"pid": \([0-9]*\),/\1/p' out)
    [ -n "$daemon" ] && kill -KILL "$daemon"
}
trap 'mcpdo daemon stop' EXIT
for era in legacy modern; do
    connects
    calls
    check "$era: mcpdo is asked" printed "faster changes much; which part matters?"
    asked=$(newest) reviews=$((reviews + 1))
    dies
    check "... its server has ended with it" within 20 sh -c 'tfy ps | grep "$1" | grep -q stopped' sh "$asked"
    check "... with the question open" asks
    connects
    if [ $era = legacy ]; then
        calls
        check "... a later call with the key is asked again" printed "faster changes much; which part matters?"
        mcpdo elicitation/respond "$(question)" path:=src
    else
        mcpdo @review tasks/get "$asked"
        check "... the task of the run waits for an answer" printed '"status": "input_required"'
        mcpdo @review tasks/update "$asked" --input-responses '{"scope": {"action": "accept", "content": {"path": "src"}}}'
        mcpdo @review tasks/result "$asked"
    fi
    check "... the answer of a later process leads to the result of the same run" reviewed
    mcpdo daemon stop
done
check "each run completed, once" [ "$(tfy ps | grep -c completed)" = "$reviews" ]
