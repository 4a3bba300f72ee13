#!/bin/sh
# An agent whose model calls a workflow behind tfy mcp serve, either process killed before and after each of its commits: the workflow
# runs once, and the model is asked again for nothing but the answer that the kill lost.
. "$here/lib.sh"
cat >shop.tfy <<'TFY'
tool book(article: string) -> ExecResult idempotent = exec [
    "sh", "-c", "grep -qsF \"$TFY_KEY\" placed || echo \"$0 $TFY_KEY\" >>placed", article,
]

/// Places an order.
workflow place(article: string) -> string {
    yield book(article)
    return "placed ${article}"
}
TFY
# The server; the file `kill` says at which commit its first process dies.
cat >shop.sh <<'SH'
if [ -s kill ] && mkdir begun 2>/dev/null; then
    TFY_TEST_KILL=$(cat kill)
    export TFY_TEST_KILL
else
    echo x >>later
fi
exec tfy mcp serve shop.tfy --db shop.db
SH
cat >p.tfy <<'TFY'
mcp shop = exec ["sh", "shop.sh"] sandbox open { place: once }

type Order { article: string, said: string }

/// Buys what somebody wants.
prompt buyer(wish: string) -> Order {
    user wish
    tools { shop.place }
    rounds 3
}

workflow main(wish: string) -> string {
    let order = yield buyer(wish)
    return "${order.article}: ${order.said}"
}
TFY
# The model answers by what it is told, so it says the same again when it is asked again.
python3 - >script <<'PY'
import json
def call(name, args, **more):
    function = {"name": name, "arguments": json.dumps(args)}
    message = {"content": None, "tool_calls": [{"id": "c", "type": "function", "function": function}]}
    print(json.dumps({"match": "some tea", "times": 1000, "message": message, **more}))
call("answer", {"value": {"article": "tea", "said": "it is placed"}}, told="placed tea")
call("shop_place", {"article": "tea"})
PY
"$build/tests/scripted_server" script --log requests >address &
model=$!
trap 'kill $model' EXIT
within 10 [ -s address ]
all=$PWD url=$(sed 's,/v1$,,' address) no_proxy=127.0.0.1
export no_proxy
run tfy mcp pull p.tfy
check "the server is pulled" ended 0
rm -rf shop.db* later

# works AS COMMAND…: the command, whose requests have a path of their own.
works()
{
    TFY_LLM_URL=$url/$trial/$1
    export TFY_LLM_URL
    shift
    run timeout 60 "$@"
}
asked() { grep -c "^POST /$trial/$1/" "$all/requests"; }
runs() { sqlite3 -readonly "$1" "SELECT count(*) FROM wal WHERE type = 1" 2>/dev/null || echo 0; }

# trial WHO PLACE: in a directory of its own WHO is killed at the place, and the agent works to its end. `first` has the first status
# of the agent, `plans` how many answers of the model were durable then.
trial()
{
    trial=$1-$(echo "$2" | tr -dc 'a-z0-9')
    mkdir "$trial"
    cp p.tfy shop.tfy shop.sh shop.mcp.json "$trial"
    cd "$trial" || exit 1
    if [ "$1" = client ]; then
        TFY_TEST_KILL=$2
        export TFY_TEST_KILL
    else
        echo "$2" >kill
    fi
    works first tfy run p.tfy --wish "some tea"
    unset TFY_TEST_KILL
    echo "$status" >first
    records LLMPlan >plans 2>/dev/null || echo 0 >plans
    if [ "$status" = 137 ] && [ "$(runs .tfy/runs.db)" = 0 ]; then
        works again tfy run p.tfy --wish "some tea"
    elif [ "$status" = 137 ]; then
        works again tfy resume last
    fi
    cd "$all" || exit 1
}

# How many commits each of the two makes in its life.
trial client "count:$all/client.count"
trial server "count:$all/server.count"
commits() { sed -n 's/^before //p' "$all/$1.count"; }
for who in client server; do
    within 10 [ -s $who.count ]
    check "the $who writes at least a start, a step and an end" [ "$(commits $who)" -ge 4 ]
done

for who in client server; do
    for n in $(seq "$(commits $who)"); do
        (trial $who before:$n) &
        before=$!
        (trial $who after:$n) &
        wait $before $!
    done
done

once() { [ "$(wc -l <placed)" = 1 ] && [ "$(runs shop.db)" = 1 ]; }
# The model is asked for two answers, and again for the one that a killed agent had not written down.
asked_well()
{
    first=$(asked first) again=$(asked again) plans=$(cat plans) lost=0
    [ "$(cat first)" = 0 ] || lost=$((first - plans))
    [ $lost = 0 ] || [ $lost = 1 ] && [ $((first - lost)) = "$plans" ] && [ $((plans + again)) = 2 ] && return
    echo "asked $first and $again times; $plans answers were kept"
    return 1
}
kills=0 repeats=0
for who in client server; do
    for n in $(seq "$(commits $who)"); do
        for moment in before after; do
            trial=$who-$moment$n
            cd "$all/$trial" || exit 1
            check "the $who dies $moment its commit $n" printed_exactly '"tea: it is placed"'
            check "... and the workflow ran once" once
            check "... and the model is asked again for what was lost alone" asked_well
            [ "$(cat first)" != 137 ] || kills=$((kills + 1))
            [ $who = client ] || [ ! -e later ] || repeats=$((repeats + 1))
        done
    done
done
cd "$all" || exit 1
check "the agent was killed each time, but perhaps at its end" [ "$kills" -ge $((2 * $(commits client) - 2)) ]
check "the server was begun again" [ "$repeats" -ge 4 ]
