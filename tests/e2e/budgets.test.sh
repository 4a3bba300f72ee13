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

workflow wrong(n: int) { with budget(tokens: n) { print("x") } }
workflow cost(most: float) { with budget(cost: most) { print("x") } }
END
python3 -c '
import json
def answer(match, content, **more): print(json.dumps({"match": match, "message": {"content": content}, **more}))
call = [{"id": "a", "type": "function", "function": {"name": "below", "arguments": "{\"goal\": \"it\"}"}}]
print(json.dumps({"match": "agent goal", "message": {"content": None, "tool_calls": call}}))
answer("below it", "fine")
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
check "what does not is refused" printed '3 done; calls 3.0 3.0; p may come to 1 calls, and 3 of 3 are spent'
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

run ./work run --workflow lied_to
check "a count that cannot be meant is not counted" printed 2

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
check "a cost that nobody knows is not read as none" ended 1 "a budget bounds what p costs, and its model has no price"
check "... and nothing is asked" [ "$(asked)" = 0 ]
sed 's/with budget(cost: 0.5)/with budget(calls: 5)/' cost.tfy >free.tfy
run tfy run free.tfy --llm record:priced
run tfy run cost.tfy --llm cassette:priced
check "a recorded session costs nothing" printed '"ok"'
