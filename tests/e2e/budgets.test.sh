#!/bin/sh
# Budgets: what blocks, runs and what they start may ask of models, whatever is killed on the way.
. "$here/lib.sh"
cat >work.tfy <<'END'
prompt p(n: int) -> string { user "question ${n}" }

/// Twice as much.
fn double(n: int) -> int { return 2 * n }

/// Asks on its own.
prompt below(goal: string) -> string { user "below ${goal}" }

prompt agent(goal: string) -> string {
    user goal
    tools { double, below }
}

workflow main(k: int, calls: int) -> string {
    var done = 0
    try {
        with budget(calls: calls) {
            for i in 0..k {
                let _ = yield p(i)
                done += 1
            }
        }
    } catch e: BudgetExceeded {
        return "${done} done; ${e.what} ${e.limit} ${e.spent}; ${e.message}"
    }
    return "${done} done"
}

workflow one(n: int) -> string {
    let answer = yield p(n) retry 3
    return answer
}

workflow side(k: int, tokens: int) -> int {
    with budget(tokens: tokens) {
        let all = parallel for i in 0..k {
            var out = ""
            try { out = yield one(i) } catch _: BudgetExceeded { out = "over" }
            give out
        }
        return all.filter(a => a != "over").len()
    }
}

workflow dollar(k: int) -> string {
    var spent = 0.0
    var answered = 0
    with budget(cost: 10.0) {
        let first = parallel for i in 0..11 { give yield p(i) }
        let rest = parallel for i in 0..k {
            var out = ""
            try { out = yield one(i) retry 2 } catch e: BudgetExceeded { out = "${e.what} ${e.limit} ${e.spent}" }
            give out
        }
        answered = first.len() + rest.filter(a => a == "ok").len()
        for said in rest {
            if said != "ok" && !said.starts_with("cost 10.0 9.") && !said.starts_with("cost 10.0 8.") { return said }
        }
    }
    return "${answered}"
}

workflow nested() -> string {
    var said = ""
    with budget(calls: 4) {
        for i in 0..3 {
            try {
                with budget(calls: 2) {
                    for j in 0..3 { let _ = yield p(i * 3 + j) }
                }
            } catch e: BudgetExceeded {
                said += "${e.limit}/${e.spent} "
            }
        }
    }
    let _ = yield p(50)
    return said
}

workflow asks(goal: string) -> string {
    try {
        with budget(calls: 2) {
            let r = yield agent(goal)
            return r
        }
    } catch e: BudgetExceeded {
        return "over: ${e.spent}"
    }
}

workflow many() -> int {
    var done = 0
    try {
        with budget(calls: 330) {
            for i in 0..400 {
                let _ = yield p(i)
                done += 1
            }
        }
    } catch _: BudgetExceeded {
        print("over")
    }
    return done
}

workflow lied_to() -> int {
    var done = 0
    try {
        with budget(tokens: 20_000) {
            for i in 0..3 {
                let _ = yield p(7000 + i)
                done += 1
            }
        }
    } catch _: BudgetExceeded {}
    return done
}

workflow breaks() -> string {
    var done = 0
    try {
        with budget(calls: 2) {
            for i in 0..2 {
                let _ = yield p(9000 + i)
                done += 1
            }
        }
    } catch e: BudgetExceeded {
        return "${done} done, ${e.spent} spent"
    }
    return "${done} done"
}

workflow wrong(n: int) { with budget(tokens: n) { print("x") } }
workflow cost(most: float) { with budget(cost: most) { print("x") } }
END
python3 -c '
import json
def answer(match, content, **more): print(json.dumps({"match": match, "message": {"content": content}, **more}))
call = [{"id": "a", "type": "function", "function": {"name": "below", "arguments": "{\"goal\": \"it\"}"}}]
print(json.dumps({"match": "agent goal", "message": {"content": None, "tool_calls": call}}))
answer("below it", "fine")
print(json.dumps({"match": "question 9000", "fault": "truncate"}))
for n in range(3): print(json.dumps({"match": "question 9100", "fault": "silent"}))
answer("question 9100", "ok")
for n in range(3): print(json.dumps({"match": "question 9100", "fault": "silent"}))
for n in range(2): answer("question 700", "ok", usage={"prompt_tokens": 2**63 - 1, "completion_tokens": 2**63 - 1})
for n in range(3000): answer("question ", "ok", usage={"prompt_tokens": 60, "completion_tokens": 7940})
' >script
"$build/tests/scripted_server" script --log requests >address &
server=$!
trap 'kill $server' EXIT
await() { tries=0; until [ -s "$1" ] || [ $((tries += 1)) -gt 500 ]; do sleep 0.01; done; }
await address
TFY_LLM_URL=$(cat address) TFY_DB=$PWD/runs.db
export TFY_LLM_URL TFY_DB no_proxy=127.0.0.1
tfy build work.tfy -o work
asked() { grep -c '^POST ' requests; }
posts() { : >requests; }

run ./work run --k 2 --calls 3
check "what fits is asked" printed '"2 done"'
posts
run ./work run --k 5 --calls 3
check "what does not is refused" printed '3 done; calls 3.0 3.0; p may come to 1 call, and 3 of 3 are spent'
check "... and not asked" [ "$(asked)" = 3 ]
run ./work replay last
check "... and replayed" printed " 0 divergences"
run tfy history last
check "what a request may come to is in the log before it" grep -q 'LLMRequest .*p, 82.* tokens at most' out
run tfy verify
check "... and in its rules" ended 0
run ./work run --workflow nested
check "budgets nest: the innermost without room says so" printed '"2.0/2.0 2.0/2.0 4.0/4.0 "'
run ./work replay last
check "... in a replay, too" printed " 0 divergences"

posts
run ./work run --workflow side --k 64 --tokens 90000
check "bodies side by side cannot overshoot" [ "$(asked)" -ge 10 ]
check "... by the endpoint's own count" [ $((8000 * $(asked))) -le 90000 ]
check "... and what is not used is given back" [ "$(cat out)" = "$(asked)" ]
run ./work replay last
check "... in a replay, too" printed " 0 divergences"

sed "s|TFY_URL|$TFY_LLM_URL|" >dollar.json <<'END'
{"models": {"default": {"api": "chat", "url": "TFY_URL", "model": "m", "price": {"in": 100, "out": 100}}}}
END
posts
run env -u TFY_LLM_URL ./work run --workflow dollar --k 64 --models dollar.json
check "64 that want the last dollar do not spend more than there is" [ $((80 * $(asked))) -le 1000 ]
check "... and one gets it" [ "$(asked)" = 12 ]
check "... which the others are told" printed_exactly '"12"'
run ./work replay last
check "... in a replay, too" printed " 0 divergences"

run ./work run --workflow lied_to
check "a count that cannot be meant is not counted" printed 2

posts
run ./work run --workflow breaks
check "a request that breaks stays charged, and the next one is put down" printed '"1 done, 2.0 spent"'
check "... by what was asked" [ "$(asked)" = 2 ]
run ./work replay last
check "... in a replay, too" printed " 0 divergences"
run tfy verify
check "... and in the log's rules" ended 0

cat >breaks.json <<END
{"models": {
  "default": {"api": "chat", "url": "$TFY_LLM_URL/breaks", "model": "m", "then": "other"},
  "other": {"api": "chat", "url": "$TFY_LLM_URL", "model": "m"}}}
END
cat >other.tfy <<'END'
prompt p(n: int) -> string { user "question ${n}" }
workflow main(most: int) -> string {
    try {
        with budget(calls: most) {
            return yield p(9100)
        }
    } catch e: BudgetExceeded {
        return "${e.spent} spent"
    }
}
END
tfy build other.tfy -o other
for most in 4 3; do
    posts
    run env -u TFY_LLM_URL ./other run --most $most --models breaks.json
    sed "s/^/$most: /" out >>others
    check "somebody else who is asked in its place has to be put down, too ($most)" [ "$(asked)" = $most ]
    run ./other replay last
    check "... in a replay, too ($most)" printed " 0 divergences"
done
check "... and is asked where there is room" grep -q '4: "ok"' others
check "... and only there" grep -q '3: "3.0 spent"' others

run ./work run --workflow asks --goal "agent goal"
check "a budget ends an agent, and bounds what it asks for" printed '"over: 2.0"'
run ./work replay last
check "... in a replay, too" printed " 0 divergences"

posts
export TFY_SNAPSHOT_EVERY=100
run ./work run --workflow many
check "a budget holds through snapshots" grep -qx 330 out
check "... as often as it was asked" [ "$(asked)" = 330 ]
check "... of which there were some" [ "$(tfy history last --type Snapshot | grep -c Snapshot)" -gt 0 ]
run ./work replay last --from-snapshot
check "... and a replay that starts at one is the same" printed " 0 divergences"
unset TFY_SNAPSHOT_EVERY
run ./work run --workflow many --llm record:session
run tfy crashtest work.tfy --workflow main --k 4 --calls 3 --llm cassette:session
check "killed at every commit it ends the same" printed "the same, 0 differ"

run ./work run --k 5 --calls 9 --budget calls=2
check "the command line bounds a run" grep -q "calls 2.0 2.0" out
run ./work replay last
check "... also in a replay" printed " 0 divergences"
run tfy inspect last
check "... which inspect shows" printed "budget     calls=2"
for text in cost tokens=0 tokens=-1 calls=1.5x cost=1,cost=2 cost=nan token=5 "" "cost=5," tokens=1e999 calls=0.5; do
    run ./work run --k 1 --calls 1 --budget "$text"
    check "--budget '$text' is refused" ended 64 "it reads like cost=5,tokens=1M,calls=50"
done
run ./work run --workflow wrong --n 0
check "a limit of 0 is a mistake of the program" ended 1 "a budget of 0 tokens: it must be above 0"
run ./work run --workflow cost --most=-1.0
check "... so is a cost below it" ended 1 "it must be above 0"

# A request that a crash loses stays charged.
cat >slow.tfy <<'END'
prompt p(n: int) -> string { user "slow ${n}" }
workflow main() -> string {
    var done = 0
    try {
        with budget(calls: 2) {
            for i in 0..3 {
                let _ = yield p(i)
                done += 1
            }
        }
    } catch e: BudgetExceeded {
        return "${done} done, ${e.spent} spent"
    }
    return "all"
}
END
tfy build slow.tfy -o slow
python3 -c '
import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(8)
print("http://127.0.0.1:%d/v1" % s.getsockname()[1], flush=True)
kept = []
while True: kept.append(s.accept())' >silent &
hole=$!
trap 'kill $server $hole' EXIT
await silent
TFY_LLM_URL=$(cat silent)
start ./slow run
tries=0
until tfy history last 2>/dev/null | grep -q LLMRequest || [ $((tries += 1)) -gt 200 ]; do sleep 0.05; done
kill -9 "$pid"
finish
printf '{"match": "slow", "message": {"content": "ok"}}\n%.0s' 1 2 3 >more
"$build/tests/scripted_server" more >again &
last=$!
trap 'kill $server $hole $last' EXIT
await again
TFY_LLM_URL=$(cat again)
run ./slow resume last
check "what a crash lost stays charged" printed '"1 done, 2.0 spent"'
run ./slow replay last
check "... also in a replay" printed " 0 divergences"
run tfy costs last
check "... and costs tells it" grep -q "^1 request got no count; 8,2[0-9]* tokens stay charged" out
cat >cost.tfy <<'END'
prompt p(n: int) -> string { user "question ${n}" }
workflow main() -> string {
    with budget(cost: 0.5) {
        let answer = yield p(1)
        return answer
    }
}
END
TFY_LLM_URL=$(cat address)
posts
run tfy run cost.tfy --llm record:priced
check "a cost that nobody knows is not read as none" ended 1 "a budget bounds what p costs, and its model, or one that may answer in its place, has no price"
check "... and nothing is asked" [ "$(asked)" = 0 ]
sed 's/with budget(cost: 0.5)/with budget(calls: 5)/' cost.tfy >free.tfy
run tfy run free.tfy --llm record:priced
run tfy run cost.tfy --llm cassette:priced
check "a recorded session costs nothing" printed '"ok"'

cat >chain.json <<END
{"models": {
  "default": {"api": "chat", "url": "$TFY_LLM_URL", "model": "m", "price": {"in": 1, "out": 1}, "then": "dear"},
  "dear": {"api": "chat", "url": "$TFY_LLM_URL", "model": "m", "price": {"in": 100, "out": 100}}}}
END
posts
run env -u TFY_LLM_URL ./work run --workflow one --n 1 --models chain.json --budget cost=0.5
check "whoever may answer in its place is counted with" ended 1 "p may come to 0.82"
check "... and nothing is asked" [ "$(asked)" = 0 ]

# ---- the day ----

TFY_DB=$PWD/day.db
bounds() { # THE BOUNDS OF THE DAY
    rm -f "$TFY_DB"*
    posts
    printf '{"models": {"default": {"api": "chat", "url": "%s", "model": "m", "price": {"in": 1, "out": 1}}}, "day": %s}' \
        "$(cat address)" "$1" >day.json
}
url=$TFY_LLM_URL
unset TFY_LLM_URL
export TFY_MODELS=day.json
bounds '{"calls": 3}'
run ./work run --workflow main --k 2 --calls 9
check "what a day has room for is asked" printed '"2 done"'
run ./work run --workflow main --k 2 --calls 9
check "... whichever run asks" printed '1 done; calls of the day 3.0 3.0; p may come to 1 call, and 3 of 3 are spent; the limit is that of the day'
check "... and no more" [ "$(asked)" = 3 ]
run ./work replay last
check "... also in a replay" printed " 0 divergences"
run env -u TFY_MODELS ./work replay last
check "... which knows no bounds" printed " 0 divergences"
run ./work run --workflow one --n 1
check "... and without another budget" ended 1 "the limit is that of the day, in the file of models"
run tfy verify
check "... and the records fit their rules" ended 0
own() { sqlite3 "$TFY_DB" "select payload->>'day', payload->>'spent' from wal where tid=0 and type=36 order by lsn desc limit 1"; }
check "the sum is in the database's own chain" [ "$(own)" = "$(date -u +%F)|{\"tokens\":24000,\"cost\":24000,\"calls\":3}" ]
run tfy gc --older-than 0s
run ./work run --workflow one --n 1
check "... and stays there when runs are deleted" ended 1 "the limit is that of the day"
case ${CFLAGS:-} in
*sanitize*) ;; # a library before the sanitizer's own is not to be had
*)
    ${CC:-cc} -O1 -fPIC -shared -o clock.so "$here/../fault/inject.c" -lpthread
    run env CLOCK=86400 LD_PRELOAD="$PWD/clock.so" ./work run --workflow one --n 1
    check "the next day has room again" printed '"ok"'
    run ./work run --workflow one --n 1
    check "... and one that is set back to this day has not" ended 1 "the limit is that of the day"
    cat >night.tfy <<'END'
prompt p(n: int) -> string { user "question ${n}" }
workflow main() -> string {
    let _ = yield p(1)
    yield sleep(3s)
    let answer = yield p(2)
    return answer
}
END
    tfy build night.tfy -o night
    bounds '{"calls": 1}'
    run env CLOCK=86400:1500 LD_PRELOAD="$PWD/clock.so" ./night run
    check "midnight comes to a process, too" printed '"ok"'
    run ./night replay last
    check "... and its replay has one day" printed " 0 divergences"
    ;;
esac
bounds '{"tokens": 90000}'
run ./work run --workflow side --k 64 --tokens 9000000
check "bodies side by side cannot overshoot the day" [ "$(asked)" -ge 10 ]
check "... by the endpoint's own count" [ $((8000 * $(asked))) -le 90000 ]
check "... and what is not used is given back" [ "$(cat out)" = "$(asked)" ]
bounds '{"cost": 0.00825}'
run ./work run --workflow main --k 9 --calls 9
check "the cost of a day is bounded" grep -Eq '[1-9] done; cost of the day 0.00825 0.00[0-9]+; p may come to 0.008' out
sed 's/, "price".*}}}/}}/' day.json >unpriced.json
run ./work run --workflow one --n 1 --models unpriced.json
check "... and needs a price" ended 1 "a budget bounds what p costs, and its model, or one that may answer in its place, has no price"
bounds '{"calls": 2}'
sed "s|$(cat address)|$(cat silent)|" day.json >hole.json
start ./slow run --models hole.json
tries=0
until tfy history last 2>/dev/null | grep -q LLMRequest || [ $((tries += 1)) -gt 200 ]; do sleep 0.05; done
kill -9 "$pid"
finish
printf '{"match": "slow", "message": {"content": "ok"}}\n%.0s' 1 2 3 >more
"$build/tests/scripted_server" more >third &
third=$!
trap 'kill $server $hole $last $third' EXIT
await third
sed "s|$(cat address)|$(cat third)|" day.json >again.json
sed 's/calls: 2/calls: 9/' slow.tfy >slower.tfy
run ./slow resume last --models again.json
check "what a crash lost stays charged to the day" printed '"1 done, 2.0 spent"'
run tfy run slower.tfy --models again.json
check "... for all its runs" printed '"0 done, 2.0 spent"'
