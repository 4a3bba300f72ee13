#!/bin/sh
# tfy serve: what people do to runs over HTTP: questions and their answers, signals, cancelling, forks, steps in doubt; and what is in a
# run's log.
. "$here/lib.sh"
. "$here/serve_lib.sh"
cat >shop.tfy <<'END'
error Refused { why: string }

workflow charge(what: string) -> string {
    if yield approve("charge ${what}?", details: "twice as much as before") { return "charged ${what}" }
    fail Refused(why: "no")
}

enum Colour { red, green }

workflow paint() -> string {
    let colour: Colour = yield approve("which colour?")
    return "${colour}"
}

workflow two() -> string {
    let first = yield approve("the first?")
    let second = yield approve("the second?")
    return "${first} ${second}"
}

workflow waits() -> string {
    print("waiting")
    let value: string = yield signal("go")
    return value
}

tool pay(amount: int) -> string once = exec ["sh", "-c", "echo paid ${amount} >>paid; sleep 3"]

workflow pays(amount: int) -> string { return yield pay(amount) }

tool double(n: int) -> int pure = exec ["sh", "-c", "echo $(( 2 * ${n} ))"]

workflow sums(n: int) -> int {
    var sum = 0
    for i in 1..n {
        let more = yield double(i)
        sum += more
    }
    return sum
}
END
start() { post "/v1/programs/shop/workflows/$1/runs" "{\"args\":$2}"; id=$(member id); lsn=$(tr -d '\r' <head | sed -n 's/^[Tt]fy-[Ll]sn: //p'); }
asks() { # RUN: waits for its question: $question is the path of the open one
    tries=0
    until ask "http://x/v1/questions?run=$1" && [ "$(member questions)" != "[]" ] || [ $((tries += 1)) -gt 200 ]; do sleep 0.02; done
    question=/v1/questions/$1/$(member questions.0.task)/$(member questions.0.step)
    digest=$(member questions.0.digest)
}
serves shop.tfy

# ---- questions ----

start charge '{"what":"ann"}'
asks "$id"
check "a question is listed" is questions.0.question 'charge ann?'
check "... with its details" is questions.0.details 'twice as much as before'
check "... its answers" is questions.0.answers '["yes", "no"]'
check "... and its run" is questions.0.workflow charge
ask http://x/metrics
check "... and is a figure" sh -c 'grep -qx "tfy_questions_open 1" out && grep -qx "tfy_in_doubt 0" out && grep -qE "^tfy_question_oldest_seconds [0-9]+\.[0-9]{3}$" out'
ask "http://x$question"
check "it is there by itself" is question 'charge ann?'
check "... with what it is about" has_header "etag: \"$digest\"\$"
post "$question/answer" '{"answer":"maybe"}'
check "an answer is one of its answers" says 422 /problems/unknown-answer
check "... which are named" grep -q 'yes, no' out
post "$question/answer" '{"answers":"yes"}'
check "an answer is named answer" says 422 "did you mean 'answer'?"
post "$question/answer" '{}'
check "... and is given" says 422 '"path":"$.answer"'
post "$question/answer" '{"answer":"yes"}' -H 'If-Match: "0123456789abcdef"'
check "an answer to another question is refused" says 412 /problems/changed
check "... with the question as it is" is question.question 'charge ann?'
post "$question/answer" '{"answer":true}' -H "If-Match: \"$digest\""
check "an answer to this one is taken" says 200
check "... and is durable" has_header 'tfy-lsn: [0-9]+$'
check "the run goes on" settled "$id" completed
check "... with it" is result 'charged ann'
post "$question/answer" '{"answer":"no"}'
check "a question is answered once" says 409 /problems/answered
check "... and who did is told" grep -q "$(id -un) answered 'yes' at 20" out
check "... to programs, too" is answer.by "$(id -un)"
ask "http://x$question"
check "an answered question has its answer" is answer.answer yes
run tfy history "$id" --json
check "the log says who answered, and how" grep -q "\"answer\":\"yes\",\"by\":\"$(id -un)\",\"via\":{\"how\":\"unix\"}" out
start two '{}'
asks "$id"
old=$digest
post "$question/answer" '{"answer":"yes"}'
first=$question
tries=0
until asks "$id" && [ "$question" != "$first" ] || [ $((tries += 1)) -gt 50 ]; do sleep 0.02; done
post "$first/answer" '{"answer":"no"}'
check "the answer to the first is not one to the second" says 409 /problems/answered
post "$question/answer" '{"answer":"no"}' -H "If-Match: \"$old\""
check "... whatever it looks like" says 412 /problems/changed
post "$question/answer" '{"answer":"no","why":"because"}'
check "a reason goes with approvals of calls" says 422 'a reason is given'
post "$question/answer" '{"answer":false}'
check "no is an answer" says 200
check "... and counts" settled "$id" completed
start paint '{}'
asks "$id"
check "cases are answers" is questions.0.answers '["red", "green"]'
post "$question/answer" '{"answer":"green"}'
check "... and one is taken" says 200
post "/v1/questions/$id/1.1/7/answer" '{"answer":"yes"}'
check "a step that asks nothing cannot be answered" sh -c 'grep -q "/problems/\(not-found\|ended\)" out'
ask "http://x/v1/questions/$id/1.1/7"
check "... nor shown" says 404 'asks nothing'
post "/v1/questions/$id/1/x/answer" '{"answer":"yes"}'
check "... and a step is a number" says 404
for n in 1 2 3 4 5; do start charge "{\"what\":\"page $n\"}"; done
asks "$id"
ask "http://x/v1/questions?limit=2"
check "the oldest question is first" is questions.0.question 'charge page 1?'
next=$(member next)
ask "http://x/v1/questions?limit=2&cursor=$next"
check "... and there are pages" is questions.0.question 'charge page 3?'
ask "http://x/v1/runs?cursor=$next"
check "... whose cursors are theirs" says 400 'begin anew'

# ---- signals ----

start waits '{}'
waits=$id
post "/v1/runs/$waits/signals" '{"name":"go","value":7}'
check "a signal's value fits its wait" says 422 '"path":"$.value"'
post "/v1/runs/$waits/signals" '{"value":"x"}'
check "a signal has a name" says 422 '"path":"$.name"'
post "/v1/runs/$waits/signals" '{"name":"go","value":"went","id":"s1"}'
check "a signal is taken" says 200 "$waits"
check "... and the run goes on" settled "$waits" completed
check "... with it" is result went
post "/v1/runs/$waits/signals" '{"name":"go","value":"went","id":"s1"}'
check "a signal that is sent again is fine" says 200 "$waits"
post "/v1/runs/$waits/signals" '{"name":"go","value":"went"}'
check "another one comes too late" says 409 /problems/ended
post "/v1/runs/00000000-0000-0000-0000-000000000000/signals" '{"name":"go"}'
check "a run is there" says 404
run tfy history "$waits" --json
check "the log says who sent it" grep -q '"name":"go","value":"went","id":"s1","by":"[^"]*","via":{"how":"unix"}' out

# ---- what is in the log ----

ask "http://x/v1/runs/$waits/output"
check "what it printed is there" is output.0.text waiting
ask "http://x/v1/runs/$waits/records"
check "its records are there" is records.0.type InstructionStart
check "... with their place" grep -q '"workflow":"waits","type":"StepStart","step":[0-9]*,"point":"waits/[^"]*","line":23' out
ask "http://x/v1/runs/$waits/records?type=Signal,Woke"
check "... by type" [ "$(grep -o '"type":' out | wc -l)" = 2 ]
record=$(member records.0.lsn)
ask "http://x/v1/runs/$waits/records?limit=1"
check "... a page at a time" [ "$(member next)" = "$(member records.0.lsn)" ]
ask "http://x/v1/runs/$waits/records?type=Signul"
check "... of types that there are" says 400 'not a type of records'
ask "http://x/v1/runs/$waits/records?tusk=1"
check "... by parameters that there are" says 400 "did you mean 'task'?"
ask "http://x/v1/records/$record"
check "one record is there by its number" is payload.value went
ask "http://x/v1/records/99999999"
check "... if there is one" says 404
ask "http://x/v1/records/last"
check "... which is a number" says 404
ask "http://x/v1/records/1"
check "the database has records, too" is type Opened
start sums '{"n":4}'
sums=$id
settled "$sums" completed >/dev/null
ask "http://x/v1/runs/$sums/timeline"
check "a timeline has a span for each" python3 -c '
import json
t = json.load(open("out"))
s = t["spans"]
n = len(s["what"])
assert n >= 3 and all(len(s[c]) == n for c in ("task", "kind", "from", "took", "step", "failed")), s
assert t["tasks"] == [{"task": "1", "workflow": "sums"}]
assert [t["kinds"][k] for k in s["kind"]].count("tool") >= 3'
start waits '{}'
waits=$id
tries=0
until ask "http://x/v1/runs/$waits/tasks" && grep -q '"waits_for":"signal"' out || [ $((tries += 1)) -gt 100 ]; do sleep 0.02; done
check "the tasks of a run are there" is tasks.0.signal go
check "... without commands" sh -c '! grep -q "\"next\"" out'
ask "http://x/v1/runs/$waits/source"
check "the source of its program is there" says 200 'yield signal('
check "... file by file" is files.0.file shop.tfy
ask "http://x/v1/runs/01a2063c-0000-7000-8000-000000000000/source"
check "... of a run that there is" says 404

# ---- cancelling ----

post "/v1/runs/$waits/cancel" '{"task":"1.9"}'
check "a task that is not there cannot be cancelled" says 404
post "/v1/runs/$waits/cancel" '{"forse":true}'
check "... nor by other words" says 422 "did you mean 'force'?"
post "/v1/runs/$waits/cancel" '{}'
check "a run is cancelled" says 200
check "... and ends" settled "$waits" cancelled
post "/v1/runs/$waits/cancel" '{}'
check "... once" says 409 /problems/ended
run tfy history "$waits" --json
check "the log says who did that" grep -q '"why":"killed","by":"[^"]*","via":{"how":"unix"}' out

# ---- again, and forks ----

post "/v1/runs/$sums/again" '{}'
check "a run starts again" says 201 '"workflow":"sums"'
again=$(member id)
check "... as another one" [ "$again" != "$sums" ]
check "... with the same arguments" settled "$again" completed
check "... and result" is result 12
post "/v1/runs/$sums/again" '{"n":3}'
check "... and no others" says 422
post "/v1/runs/$sums/fork" '{"step":2,"value":100}'
check "a run forks at a step, with another result" says 201 '"workflow":"sums"'
fork=$(member id)
check "... says where it is" has_header "location: /v1/runs/$fork\$"
check "... and goes on by itself" settled "$fork" completed
check "... with that result" [ "$(member result)" -gt 100 ]
check "... started by who forked it" is by "$(id -un)"
run tfy history "$fork" --json
check "... as the log says" grep -q '"fork_of":.*"by":"[^"]*","via":{"how":"unix"}' out
post "/v1/runs/$sums/fork" '{"step":2,"value":"x"}'
check "... whose type fits" says 422 '"path":"$.value"'
post "/v1/runs/$sums/fork" '{"step":99}'
check "... at a step that there is" says 404
post "/v1/runs/$sums/fork" '{}'
check "... which is given" says 422 '"path":"$.step"'

# ---- a step in doubt ----

start pays '{"amount":5}'
pays=$id
tries=0
until [ -s paid ] || [ $((tries += 1)) -gt 200 ]; do sleep 0.02; done
kill -9 "$server"
wait "$server" 2>/dev/null
serves shop.tfy
tries=0
until ask "http://x/v1/runs?attention=in_doubt" && [ "$(member runs)" != "[]" ] || [ $((tries += 1)) -gt 200 ]; do sleep 0.02; done
check "a step is in doubt" is runs.0.id "$pays"
post "/v1/runs/$pays/steps/1/1/resolve" '{"how":"perhaps"}'
check "it is resolved by done, retry or fail" says 422 '"path":"$.how"'
post "/v1/runs/$pays/steps/1/1/resolve" '{"how":"done","value":7}'
check "... with a result that fits" says 422 '"path":"$.value"'
post "/v1/runs/$pays/steps/1/9/resolve" '{"how":"fail"}'
check "... where there is doubt" says 409 /problems/not-in-doubt
post "/v1/runs/$pays/steps/1/1/resolve" '{"how":"done","value":"by hand"}'
check "... and is" says 200
check "... and the run goes on" settled "$pays" completed
check "... with it" is result 'by hand'
check "... and nothing is done twice" [ "$(cat paid)" = 'paid 5' ]
run tfy history "$pays" --json
check "the log says who resolved it" grep -q '"how":"done","value":"by hand","by":"[^"]*","via":{"how":"unix"}' out

# ---- a kill between the answer and the run ----

start two '{}'
asks "$id"
post "$question/answer" '{"answer":"yes"}'
kill -9 "$server"
wait "$server" 2>/dev/null
serves shop.tfy
post "$question/answer" '{"answer":"no"}'
check "an answer that was confirmed holds after a kill" says 409 /problems/answered
ends
run tfy verify
check "the log is sound" ended 0
