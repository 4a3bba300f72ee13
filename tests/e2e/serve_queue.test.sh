#!/bin/sh
# tfy serve: limits of workflows: what waits to begin, in which order, for how long, and across a crash.
. "$here/lib.sh"
. "$here/serve_lib.sh"
cat >shop.tfy <<'END'
workflow order(n: int) -> int {
    let go: int = yield signal("go")
    return n + go
}

workflow ship(n: int) -> int {
    let go: int = yield signal("go")
    return n + go
}

workflow mail(n: int) -> int { return n }

workflow free(n: int) -> int { return n }
END
cat >serve.json <<'END'
{"programs": {"shop": {"limits": {"order": {"max_running": 2, "max_queued": 4}, "ship": {"per_key": 1}, "mail": {"rate": "2/m"}}}},
 "schedules": {"one": {"cron": "0 * * * *", "start": "shop.ship", "args": {"n": 1}, "overlap": "queue", "catch_up": "5h"}}}
END
serve_it() { serves shop.tfy --no-tcp --config serve.json "$@"; }
# start WORKFLOW N [MEMBERS [OPTIONS…]]: $id is the run.
start()
{
    start_path=/v1/programs/shop/workflows/$1/runs start_body="{\"args\":{\"n\":$2}${3:+,$3}}"
    shift 2; [ $# = 0 ] || shift
    post "$start_path" "$start_body" "$@"
    [ "$status" -ge 300 ] || id=$(member id)
}
goes() { post "/v1/runs/$1/signals" '{"name":"go","value":1}' -H "Tfy-After: $(last_lsn)"; }
last_lsn() { ask http://x/v1/events?after=0 --max-time 0.01; python3 - "$TFY_DB" <<'END'
import sqlite3, sys
print(sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True).execute("SELECT max(lsn) FROM wal").fetchone()[0])
END
}
state_of() { ask "http://x/v1/runs/$1"; member state; }
in_state() { tries=0; until [ "$(state_of "$1")" = "$2" ] || [ $((tries += 1)) -gt 200 ]; do sleep 0.02; done; [ "$(state_of "$1")" = "$2" ]; }

# ---- the configuration ----

refuses() { echo "{\"programs\": {\"a\": {\"limits\": {\"b\": $1}}}}" >wrong.json; run tfy serve --check --config wrong.json; shift; ended 64 "$@"; }
check "limits are checked" tfy serve --check --config serve.json
check "... a number is one" refuses '{"max_running": 0}' '$.programs.a.limits.b.max_running: it is not a number from 1 to'
check "... and whole" refuses '{"per_key": "1"}' 'it is not a whole number'
check "... a rate is one" refuses '{"rate": "10"}' 'it is not a rate such as 10/s'
check "... a member is known" refuses '{"max_runing": 1}' "did you mean 'max_running'?"

# ---- max_running, and the order ----

serve_it
start order 1; a=$id
start order 2; b=$id
check "runs begin up to the limit" is state running
start order 3; c=$id
check "... one more is queued" is state queued
check "... and was answered" says 201
start order 4 '"priority":5'; d=$id
start order 5 '"priority":-5'; e=$id
start order 6; f=$id
placed() { ask "http://x/v1/runs/$1" && is place "$2"; }
check "each has its place in the queue: by priority" placed "$d" 1
check "... then in the order of starting" placed "$c" 2
check "..." placed "$f" 3
check "... whatever came before" placed "$e" 4
ask "http://x/v1/runs/$a"
check "... and what has begun has none" sh -c '! grep -q place out'
etag=$(ask "http://x/v1/runs/$e" && tr -d '\r' <head | sed -n 's/^[Ee][Tt]ag: //p')
ask -H "If-None-Match: $etag" "http://x/v1/runs/$e"
check "a place is said anew" says 200 '"place":4'
ask 'http://x/v1/runs?state=queued'
check "lists say so" in_state "$f" queued
run tfy ps --state queued --json
check "... ps, too" [ "$(grep -c '"state":"queued"' out)" = 4 ]
start order 7
check "a full queue refuses" says 429 /problems/busy
check "... and says when to come again" has_header 'retry-after: 1$'
start order 8 '"priority":101'
check "a priority has bounds" says 422 'from -100 to 100'
start order 8 '"concurrency":""'
check "... and a concurrency is a text" says 422 'it is not a text of 1 to 256 bytes'
ask http://x/metrics
check "a figure has its length" grep -qx 'tfy_queue_length{workflow="shop.order"} 4' out
post "/v1/runs/$c/signals" '{"name":"go","value":1}'
check "a signal does not reach what has not begun" says 409 /problems/queued
start free 1
check "other workflows are free" in_state "$id" completed

goes "$a"
check "the first in the queue has the highest priority" in_state "$d" running
check "... and the others wait" in_state "$c" queued
goes "$b"
check "... then comes the oldest" in_state "$c" running
run tfy history "$c" --json
check "its log has its start, and nothing of the queue" sh -c '! grep -q "Admi" out && grep -q "\"queued\":true" out'

# ---- keys ----

start order 9 '' -H 'Idempotency-Key: k9'; g=$id
check "a start with a key is queued" is state queued
start order 9 '' -H 'Idempotency-Key: k9'
check "... once" [ "$status $id" = "200 $g" ]
start order 10
start order 9 '' -H 'Idempotency-Key: k9'
check "... also when the queue is full" [ "$status $id" = "200 $g" ]

# ---- cancelling ----

post "/v1/runs/$e/cancel" '{}'
check "what is queued can be cancelled" in_state "$e" cancelled
run tfy kill "$g"
check "... on the command line, too" in_state "$g" cancelled

# ---- a crash ----

kill -9 "$server"; wait "$server" 2>/dev/null
serve_it
check "after a crash the queue is as it was" in_state "$f" queued
check "... and those that had begun go on" in_state "$c" running
goes "$c"
check "... in the same order" in_state "$f" running
rm -f "$TFY_DB"-index*
ends
rm -f "$TFY_DB"-index*
serve_it
check "... also for an index that is made anew" in_state "$f" running

# ---- per_key ----

start ship 1 '"concurrency":"ann"'; a=$id
start ship 2 '"concurrency":"ann"'; b=$id
check "runs with the same concurrency wait for each other" is state queued
start ship 3 '"concurrency":"ben"'; c=$id
check "... others do not" in_state "$c" running
goes "$a"
check "... and only for each other" in_state "$b" running
goes "$b"
goes "$c"

# ---- rates, and waiting ----

start mail 1; start mail 2
start mail 3; a=$id
check "a rate makes the next wait" is state queued
start mail 4 '' -H 'Prefer: wait=1'
check "one that waits for its end is told that it is queued" says 201 '"state":"queued"'
sed -i 's,"2/m","2/s",' serve.json
kill -HUP "$server"
check "other limits let it begin" in_state "$a" completed
start mail 5 '' -H 'Prefer: wait=10'
check "... and a start waits for it" says 200 '"result":5'
ends

# ---- a schedule that queues ----

back one 1.8
serve_it
tries=0
until ask 'http://x/v1/runs?label.tfy.schedule=one' && [ "$(python3 -c 'import json; print(len(json.load(open("out"))["runs"]))')" = 2 ] || [ $((tries += 1)) -gt 200 ]; do sleep 0.05; done
new=$(member runs.0.id) old=$(member runs.1.id)
check "times of a schedule queue behind each other" in_state "$new" queued
check "... the oldest runs" in_state "$old" running
goes "$old"
check "... then the next" in_state "$new" running
ends
run tfy verify
check "the log is whole" [ "$status" = 0 ]
