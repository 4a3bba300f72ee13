#!/bin/sh
# MCP servers that want to know more from people in the middle of a call, and that make tasks of calls.
. "$here/lib.sh"
export no_proxy='*' PYTHONDONTWRITEBYTECODE=1
cp "$here/mcp_server.py" .

# program MODE CLASS [POLICIES]: p.tfy, which calls one tool of a server of that mode.
program()
{
    echo "mcp fake = exec [\"python3\", \"mcp_server.py\", \"stdio\", \"$1\"] { echo: $2 }" >p.tfy
    echo "workflow main() -> string { return yield fake.echo(\"x\") ${3:-} }" >>p.tfy
    [ -s fake.mcp.json ] || tfy mcp pull p.tfy >/dev/null
    rm -rf .tfy cancelled task.json
    : >counted
}
runs() { run timeout 60 tfy run p.tfy "$@"; }
resumes() { run timeout 60 tfy resume --db .tfy/runs.db; }
approve() { run tfy approve --db .tfy/runs.db last "$@"; }
calls() { wc -l <counted; }
replays()
{
    run tfy replay --db .tfy/runs.db
    ended 0
}

for class in once idempotent pure; do
    program input $class
    runs </dev/null
    check "a server's question stops the run ($class)" ended 75 "fake asks: who are you?"
    check "... with what it wants to know" ended 75 'name: string, who; usually "bob"'
    check "... recorded" [ "$(records McpRound)" = 1 ]
    approve '{"nam": "ann"}'
    check "an answer with another field" ended 64 "'nam' is not asked for"
    approve '{"name": 1}'
    check "... of another type" ended 64 "'name' must be: string"
    approve nobody
    check "... that is no object" ended 64 "it takes a JSON object, yes or no"
    run tfy inspect --db .tfy/runs.db last
    check "it is shown how to answer" grep -q "approve .* JSON" out
    run tfy gc --db .tfy/runs.db --compact
    approve '{"name": "ann"}'
    check "an answer that fits" ended 0 "continue with"
    resumes
    check "the call goes on with the answer and the server's state" printed_exactly \
        '"[{\"q\": {\"action\": \"accept\", \"content\": {\"name\": \"ann\"}}}, \"s\\u00e9\"]"'
    check "... made twice, under one key" [ "$(calls) $(sort counted | uniq | wc -l)" = "2 1" ]
    check "... and replays" replays
done
# Snapshots while a call waits.
beside()
{
    program "$1" once
    sed -i 2d p.tfy
    cat >>p.tfy <<'END'
workflow asks() -> string { return yield fake.echo("x") }
tool nap() pure = exec ["sleep", "1"]
workflow main() -> string {
    let asking = spawn asks()
    yield nap()
    for _ in 1..60 { let _t = yield now() }
    return yield join(asking)
}
END
}
export TFY_SNAPSHOT_EVERY=20
beside input
runs </dev/null
run tfy gc --db .tfy/runs.db --compact
check "a run is compacted while a question is open" ended 0 "1 run now starts at its snapshot"
tfy inspect --db .tfy/runs.db last >out
check "... keeps the question" printed "who are you"
approve yes
resumes
check "... and goes on, with the usual values" printed '{\"name\": \"bob\"}'
check "... from where it was" [ "$(calls)" = 2 ]
check "... and replays" replays
beside tasks,endless_task
start tfy run p.tfy
within 20 [ "$(sqlite3 -readonly .tfy/runs.db "select count(*) from history where type='Snapshot'" 2>/dev/null || echo 0)" -gt 1 ]
kill -9 "$pid"
finish
run tfy gc --db .tfy/runs.db --compact
check "... while a task is away" ended 0 "1 run now starts at its snapshot"
sed -i s/,endless_task// p.tfy
run timeout 60 tfy resume --db .tfy/runs.db --with p.tfy
check "... which is asked for its end" printed '"done null"'
check "... and not begun again" [ "$(calls)" = 1 ]
unset TFY_SNAPSHOT_EVERY
program input once
runs --yes </dev/null
check "--yes does not answer servers" ended 75
run tfy deny --db .tfy/runs.db last
resumes
check "a denied question is declined" printed '{\"action\": \"decline\"}'
program input,two once
runs </dev/null
check "two questions at once: the first" ended 75 "first: string"
approve '{"first": "ann"}'
resumes
check "... the second" ended 75 "last: string"
approve '{"last": "bee"}'
resumes
check "... both are answered" printed '{\"first\": \"ann\"}'
check "... in one call" [ "$(calls)" = 2 ]
program input,consent once
runs </dev/null
check "an address to consent to" ended 75 "to open at auth.example: https://auth.example/login?x=1"
approve '{}'
check "... takes yes or no" ended 64 "yes, no"
approve yes
resumes
check "... is accepted" printed '{\"action\": \"accept\"}'
program input,stateless once
runs
check "a server that only wants its state back gets it" printed '[null, \"s\\u00e9\"]'
program input,rounds idempotent
echo y >answer
runs </dev/null
n=0
while [ $status = 75 ] && [ $n -lt 12 ]; do
    approve yes
    resumes
    n=$((n + 1))
done
check "a server that always asks again" ended 1 "the server asked more than 8 times"
check "... was answered 8 times" [ $n = 8 ]
program input,samples once
runs
check "a request that is not offered" ended 1 "asks for 'sampling/createMessage', which is not offered"
program input,plenty once
runs
check "questions without measure" ended 1 "asks 9 things at once; 8 are allowed"

# Answered while the process lives.
program input once
start timeout 60 tfy run p.tfy
within 20 grep -q "who are you" err
approve '{"name": 1}'
check "a running process refuses what does not fit" ended 64 "'name' must be: string"
approve '{"name": "cid"}'
check "... takes what does" ended 0

# Tasks.
program tasks once
runs
check "a task is asked for its end" printed_exactly '"done null"'
check "... recorded" [ "$(records McpTask)" = 1 ]
check "... and the tool was called once" [ "$(calls)" = 1 ]
check "... and replays" replays
for class in once pure; do
    program tasks,endless_task $class
    start tfy run p.tfy
    within 20 [ -s task.json ]
    within 20 [ "$(records McpTask 2>/dev/null || echo 0)" = 1 ]
    kill -9 "$pid"
    finish
    sed -i s/,endless_task// p.tfy
    run timeout 60 tfy resume --db .tfy/runs.db --with p.tfy
    check "a task outlives the process that waits for it ($class)" ended 0
    check "... its tool is not called again" [ "$(calls)" = 1 ]
    check "... and it ends" printed '"done null"'
done
program tasks,asks_more once
runs </dev/null
check "a task asks" ended 75 "fake asks: who are you?"
approve '{"name": "ann"}'
resumes
check "... is told the answer" printed 'done {\"q\": {\"action\": \"accept\", \"content\": {\"name\": \"ann\"}}}'
check "... without another call" [ "$(calls)" = 1 ]
check "... and replays" replays
program tasks,fails once
runs
check "a task that fails" ended 1 "'fake.echo' failed: no paper"
program tasks,ends once
runs
check "a task that its server cancels" ended 1 "'fake.echo' was cancelled by its server"
program tasks,forgotten once
runs </dev/null
check "a task that its server does not know any more may have been done" ended 75 "may have happened"
program tasks,endless_task idempotent 'timeout 2s'
runs
check "a task whose time is up" ended 1 "had no answer in time"
check "... is cancelled" [ -s cancelled ]
