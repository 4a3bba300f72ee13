#!/bin/sh
# What models' endpoints do besides answering: each end is an outcome of its own, and what the client repeats is seen.
. "$here/lib.sh"
cat >models.tfy <<'END'
type Sum { total: int }

prompt add(what: string) -> Sum {
    user "Add ${what}"
    retry 1
}

workflow main(what: string) -> string {
    try {
        let sum = yield add(what)
        return "${sum.total}"
    } catch e: ToolError {
        return "${e.code}: ${e.message}"
    }
}
END
cat >script <<'END'
{"match": "busy", "fault": "429", "retry_after": 1}
{"match": "busy", "answer": "<think>one and one</think>{\"total\": 2.0}"}
{"match": "long", "answer": "{\"total\": 12", "finish_reason": "length"}
{"match": "bad", "message": {"content": null, "refusal": "I do not add that"}}
END
"$build/tests/scripted_server" script >address &
server=$!
trap 'kill $server' EXIT
await() { tries=0; until [ -s "$1" ] || [ $((tries += 1)) -gt 500 ]; do sleep 0.01; done; }
await address
TFY_LLM_URL=$(cat address) TFY_DB=$PWD/runs.db
export TFY_LLM_URL TFY_DB no_proxy=127.0.0.1

run tfy run models.tfy --events --llm record:session --what busy
check "an answer with thoughts and a 2.0 fits" printed '"2"'
check "the repeat is a live event" grep -q 'add: HTTP 429, asked again in 1.0 s (1 of 3 requests sent)' err
run tfy history last
check "... is in the history" printed ", 2 requests"
run tfy stats
check "... and in the figures" printed "repeats    1 requests to models were sent again"
check "... of Prometheus too" [ "$(tfy stats --prometheus | sed -n 's/^tfy_model_repeats_total //p')" = 1 ]
run tfy run models.tfy --llm record:session --what long
check "an answer that is cut off is not taken" printed "90: the model's answer was cut off after 4 tokens (finish_reason length)"
run tfy replay last
check "... nor in a replay" printed " 0 divergences"
check "its record has what there was" [ "$(sqlite3 "$TFY_DB" "select payload->>'$.answer' from wal where type=2 order by lsn desc limit 1")" = '{"total": 12' ]
run tfy run models.tfy --llm record:session --what bad
check "a refusal is the model's words" printed "1: the model refused: I do not add that; ask in another way"
run tfy replay last
check "... also in a replay" printed " 0 divergences"
for what in long bad; do
    run tfy run models.tfy --llm cassette:session --what $what
    check "a recorded session has it too: $what" grep -q 'cut off\|refused' out
done
