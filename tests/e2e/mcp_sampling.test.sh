#!/bin/sh
# --llm client: models' answers from the client of tfy mcp serve; and tools that are always tasks, or ask before they are.
. "$here/lib.sh"
. "$here/serve_lib.sh"
export PYTHONDONTWRITEBYTECODE=1 TFY_DB="$PWD/runs.db"
cp "$here/mcp_sampled.tfy" sampled.tfy

client()
{
    scenario=$1
    shift
    rm -rf runs.db*
    run timeout 100 python3 "$here/mcp_client.py" "$scenario" -- sh -c 'exec tfy mcp serve sampled.tfy "$@" 2>>log' sh --hold 400ms "$@"
}
for scenario in sampled sampled_unable sampled_both older_sampled sampled_killed; do
    client $scenario --llm client
    check "a client: $scenario" ended 0
done
run tfy history last
check "the answer is recorded as that of a model" printed "LLMPlan"
run sh -c 'tfy wal export last -o run && grep -o "\"type\":\"LLMPlan\".*" -r run'
check "... once, with the model that the client names" sh -c '[ "$(grep -c LLMPlan out)" = 1 ] && grep -q "\"model\":\"theirs\"" out'
run tfy replay last
check "... and replayed" printed " 0 divergences, 0 effects performed"
client steps
check "a client: steps" ended 0
client always_tasks --task works --task asks_and_works --ask-first asks_and_works
check "a client: always_tasks" ended 0
run tfy mcp serve sampled.tfy --task nothing </dev/null
check "refused: a task that is not offered" ended 69 "'nothing' is not a tool that is offered"
run tfy run sampled.tfy --workflow says --prompt x --llm client
check "only a server has clients" ended 64 "or client for"

serves sampled.tfy --mcp --approve client --llm client --hold 400ms --listen 127.0.0.1:0
port=$(sed -n 's,.*http://127.0.0.1:\([0-9]*\)$,\1,p' served)
tfy token create all --roles operator,approver --rate none >all 2>>err
for scenario in sampled sampled_both older_sampled steps; do
    run timeout 100 python3 "$here/mcp_client.py" "$scenario" http "$port" "$(cat all)"
    check "over HTTP: $scenario" ended 0
done
run timeout 100 python3 "$here/mcp_client.py" sampled -- sh -c 'exec tfy mcp serve sampled.tfy 2>>log'
check "through the server of the database: sampled" ended 0
ends
