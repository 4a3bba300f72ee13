#!/bin/sh
# conformance_server.sh BUILD: runs the MCP conformance suite against `tfy serve --mcp` with everything.tfy, by what both
# revisions require. It passes if nothing fails but what conformance_baseline.yaml names.
set -u
build=$(cd "${1:?usage: conformance_server.sh BUILD}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/conformance_suite.sh"
PATH=$build:$PATH
scratch=$(mktemp -d)
trap 'kill $server $proxy $editor 2>/dev/null; rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
export TFY_DB="$scratch/runs.db" NO_COLOR=1
server='' proxy='' editor=''

# wait_for COMMAND…
wait_for()
{
    tries=0
    until "$@" >/dev/null 2>&1; do
        [ $((tries += 1)) -le 600 ] || { cat server.log; exit 1; }
        sleep 0.05
    done
}

# Whoever deploys the program while it is served: with another tool and another prompt, or without them.
cp "$here/everything.tfy" everything.tfy
mkdir other
{
    cat everything.tfy
    printf '\n/// Added.\nworkflow added() -> string { return "" }\n'
    printf '\n/// Added.\nworkflow added_prompt() -> thread { return thread().say("") }\n'
} >other/everything.tfy
deploys_other()
{
    mv everything.tfy next
    mv other/everything.tfy everything.tfy
    mv next other/everything.tfy
    tfy deploy everything.tfy
}
deploys_when_told()
{
    while sleep 0.05; do
        [ -f change ] || continue
        rm change
        deploys_other
    done
}

tfy serve everything.tfy --mcp --approve client --llm client --hold 300ms --listen 127.0.0.1:0 \
    --task failing_job --task test_tool_with_task --ask-first test_tool_with_task \
    --prompt test_prompt_with_embedded_resource --prompt test_prompt_with_image \
    --resource test://static-text=static_text --resource test://static-binary=static_binary \
    --resource 'test://template/{id}/data=data_of' --resource test://watched-resource=watched >server.log 2>&1 &
server=$!
wait_for grep -q 'http://' server.log
deploys_other >>server.log 2>&1 # both are compiled now
deploys_other >>server.log 2>&1
deploys_when_told >>server.log 2>&1 &
editor=$!
tfy token create suite --roles operator,approver --rate none >token
python3 "$here/with_token.py" port "$(sed -n 's,.*http://127.0.0.1:\([0-9]*\)$,\1,p' server.log)" "$(cat token)" &
proxy=$!
wait_for test -s port

both_revisions server --url "http://127.0.0.1:$(cat port)/mcp"
