#!/bin/sh
# tfy serve over PostgreSQL: the same requests as to a server of a file, and the same answers where they have to be; what is not there says so; the
# database away and back; the page, with a worker.
. "$here/lib.sh"
. "$here/postgres_lib.sh"
shared_db=$TFY_DB
. "$here/serve_lib.sh"
cat >shop.tfy <<'END'
tool price(name: string) -> int pure = exec ["echo", "450"]
error Declined { why: string }
/// Places an order, and asks before it charges.
workflow order(customer: string) -> string {
    let cents = yield price(customer)
    print("it is ${cents}")
    if yield approve("Charge ${customer} ${cents} cents?") { return "charged ${customer}" }
    fail Declined(why: "the customer said no")
}
workflow sized() -> string {
    let size: int = yield signal("size")
    return "size ${size}"
}
tool ship(n: int) -> string once = exec ["sh", "-c", "touch shipping; sleep 60"]
workflow ships(n: int) -> string { return yield ship(n) }
workflow bad(why: string) { fail Declined(why: why) }
workflow quick(n: int) -> int {
    yield sleep(1ms)
    return n + 1
}
END
# at NAME: requests go to that server from here on.
at() { export TFY_DB="$PWD/$1"; }
# both PATH: what the two say to the same request. plain: the same without what differs by its nature.
both()
{
    at file; ask "http://x$1"; cp out file.out; file_status=$status
    at shared; ask "http://x$1"; cp out shared.out
}
# both_post PATH BODY OPTIONS…: the same of a change.
both_post()
{
    at file; post "$@"; cp out file.out; file_status=$status
    at shared; post "$@"; cp out shared.out
}
plain() { python3 - "$1" <<'XX'
import json, re, sys
text = open(sys.argv[1]).read()
text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "ID", text)
text = re.sub(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z", "TIME", text)
def clean(of):
    if isinstance(of, list): return [clean(one) for one in of]
    if not isinstance(of, dict): return of
    # numbers of records differ by Claimed, times are times, and a cursor or a record's own number is opaque
    drop = {"lsn", "records", "started", "ended", "asked", "ts", "at", "by", "tid", "request", "seed", "fuel", "next", "session", "next_record", "ms", "digest"}
    return {k: clean(v) for k, v in of.items() if k not in drop}
print(json.dumps(clean(json.loads(text)), indent=1, sort_keys=True))
XX
}
same() { [ "$file_status" = "$status" ] && [ "$status" = "${1:-200}" ] && plain file.out >file.plain && plain shared.out >shared.plain && diff file.plain shared.plain; }

# ---- the same runs in a file and in PostgreSQL ----
at file
serves shop.tfy
file_server=$server
post /v1/programs/shop/workflows/quick/runs '{"args":{"n":4},"labels":{"team":"web"}}' -H 'Idempotency-Key: a'
post /v1/programs/shop/workflows/bad/runs '{"args":{"why":"so"}}' -H 'Idempotency-Key: b'
post /v1/programs/shop/workflows/order/runs '{"args":{"customer":"ann"}}' -H 'Idempotency-Key: c'
file_run=$(member id)
export TFY_DB=$shared_db
tfy db create "$TFY_DB" --lease 6s >/dev/null
run tfy serve shop.tfy
check "programs of a shared database are deployed, not named" ended 64 "tfy deploy shop.tfy"
tfy deploy shop.tfy >/dev/null 2>&1
tfy start shop.quick --n 4 --label team=web --id a >quick.id
tfy start shop.bad --why so --id b >bad.id
tfy start shop.order --customer ann --id c >order.id
order=$(cat order.id)
check "a start with a name is the same run in both" [ "$order" = "$file_run" ]
serves --no-tcp
shared_server=$server
check "it serves a shared database" grep -q "serving postgresql:///tfy" served
ln -s "$(ls -d .tfy/serve-*-live)" shared-live
run tfy serve --no-tcp
check "... once in a directory" ended 69 "another tfy serve of this database runs here"
at shared
ask "http://x/v1/runs/$order"
check "a run that no worker has taken is queued" is state queued
tfy worker shop.tfy --db "$shared_db" --name one 2>one.log &
worker=$!
asks() { ask "http://x/v1/questions" && grep -q Charge out; }
check "a worker takes it, and it asks" within 20 asks
at file
check "... as in the file" within 20 asks
for path in /v1/runs '/v1/runs?sort=started' '/v1/runs?state=failed' '/v1/runs?state=completed&workflow=quick' '/v1/runs?state=running' '/v1/runs?label.team=web' \
    '/v1/runs?attention=question' '/v1/runs?attention=any' '/v1/runs?attention=in_doubt' '/v1/runs?workflow=bad' '/v1/runs?program=shop&workflow=order' '/v1/runs?program=nosuch' "/v1/runs/$order" \
    "/v1/runs/$(cat quick.id)" "/v1/runs/$(cat bad.id)" /v1/questions "/v1/questions?run=$order" "/v1/questions/$order/1/3" "/v1/runs/$order/output" "/v1/runs/$order/source" \
    "/v1/runs/$(cat quick.id)/tasks" /v1/programs /v1/programs/shop; do
    both "$path"
    check "both answer $path alike" same
done
for path in '/v1/runs?nosuch=1' '/v1/runs?state=nosuch' '/v1/runs?limit=0' '/v1/runs?cursor=x'; do
    both "$path"
    check "both refuse $path alike" same 400
done
for path in /v1/runs/01a00000 "/v1/questions/$order/1/1" /v1/programs/nosuch /v1/nosuch; do
    both "$path"
    check "both know nothing of $path" same 404
done
records() { python3 -c 'import json, sys; print(*[r["type"] for r in json.load(open(sys.argv[1]))["records"] if r["type"] not in ("Claimed", "Snapshot")])' "$1"; }
both "/v1/runs/$order/records"
check "the records are the same, but for whose run it is" [ "$(records file.out)" = "$(records shared.out)" ]
both "/v1/runs/$order/timeline"
check "... and so are the spans of time" sh -c 'for f in file shared; do python3 -c "import json, sys; v = json.load(open(sys.argv[1])); print([w for w in v[\"spans\"][\"what\"] if w != \"run\"], v[\"points\"])" $f.out >$f.plain; done; cmp file.plain shared.plain'
at shared
ask "http://x/v1/runs/$order"
etag=$(tr -d '\r' <head | sed -n 's/^[Ee][Tt]ag: //p')
ask "http://x/v1/runs/$order" -H "If-None-Match: $etag"
check "a run that has not changed is not sent twice" [ "$status" = 304 ]
ask "http://x/v1/runs/$order/records/1"
check "a record is there by its number in its run" sh -c 'grep -q InstructionStart out'
ask "http://x/v1/runs/$order/records/99"
check "... or is not" says 404
ask 'http://x/v1/runs?limit=2'
next=$(member next)
ask "http://x/v1/runs?limit=2&cursor=$next"
check "a list has pages" sh -c 'grep -q "\"workflow\":\"quick\"" out && grep -q "\"next\":null" out'
ask "http://x/v1/runs?state=running&cursor=$next"
check "... of which a cursor is for all lists of this kind" says 200

# ---- what changes something ----
started=/v1/programs/shop/workflows
for body in '{"args":{"n":"x"}}' '{"args":{"n":1,"m":2}}' '{"args":{}}' '{"args":{"n":1},"labels":{"tfy.x":"1"}}' '{"args":{"n":1},"priority":101}' '{"n":1}'; do
    both_post $started/quick/runs "$body"
    check "both refuse to start $body alike" same 422
done
both_post $started/quik/runs '{"args":{"n":1}}'
check "both know no workflow of that name" same 404
both_post $started/quick/runs '{"args":{"n":5}}' -H 'Idempotency-Key: a'
check "both refuse a key that is used for something else" same 422
both_post $started/quick/runs '{"args":{"n":4}}' -H 'Idempotency-Key: a'
check "both answer a repeated start with the run, also if tfy start began it" same
check "... and say so" has_header 'idempotency-replayed: true'
both_post $started/quick/runs '{"args":{"n":7}}' -H 'Prefer: wait=20'
check "both wait for the end of a run" same
check "... and have its result" is result 8
check "a change says which record of which run it is" has_header 'tfy-lsn: [0-9a-f-]{36}:1$'
both_post $started/sized/runs '{"args":{}}' -H 'Idempotency-Key: s'
sized=$(member id)
waits() { ask "http://x/v1/runs/$sized/tasks" && grep -q '"waits_for":"signal"' out; }
check "a run waits for a signal" within 20 waits
both_post "/v1/runs/$sized/signals" '{"name":"size","value":"x"}'
check "both refuse a signal of another type alike" same 422
both_post "/v1/runs/$sized/signals" '{"value":1}'
check "... and one without a name" same 422
both_post "/v1/runs/$sized/signals" '{"name":"size","value":4,"id":"s1"}'
check "both take a signal" says 200
at file; settled "$sized" completed >said
at shared
check "... of which the run ends" settled "$sized" completed
both_post "/v1/runs/$sized/signals" '{"name":"size","value":4,"id":"s1"}'
check "the same signal again is the same answer" same
both_post "/v1/runs/$sized/signals" '{"name":"size","value":4,"id":"s2"}'
check "both refuse another signal to a run that has ended" same 409
both_post "/v1/questions/$order/1/3/answer" '{"answer":"maybe"}'
check "both refuse an answer that is none of the question's" same 422
both_post "/v1/questions/$order/1/3/answer" '{"answer":true}' -H 'If-Match: "0123456789abcdef"'
check "... and one to another question" same 412
both_post "/v1/questions/$order/1/2/answer" '{"answer":true}'
check "... and one where nothing is asked" same 404
ask http://x/v1/runs
check "the question is still open" grep -q '"attention":"question"' out
for server_of in file shared; do
    at $server_of
    post $started/order/runs '{"args":{"customer":"bob"}}' -H 'Idempotency-Key: bob'
    bob=$(member id)
    within 20 sh -c "curl -sS --unix-socket $server_of-live/http http://x/v1/questions?run=$bob | grep -q Charge" || echo "nothing is asked of $bob"
done
both_post "/v1/questions/$bob/1/3/answer" '{"answer":true}'
check "both take an answer" says 200
at file; settled "$bob" completed >said
at shared
check "... of which the run ends, too" settled "$bob" completed
both_post "/v1/questions/$bob/1/3/answer" '{"answer":false}'
check "both say who has answered" same 409
ask "http://x/v1/runs/$bob/records?type=Approval"
check "the record has who sent it, and how" grep -q '"answer":"yes","by":"[^"]*","via":{"how":"unix"}' out
ask "http://x/v1/questions?run=$bob"
check "the question is gone" sh -c '! grep -q Charge out'
[ "$(psql -h "$pg" -U tfy -d tfy -qAtc 'select count(*) from tfy.question')" = 1 ] || echo "not ok table question has one row"
both_post "/v1/runs/$bob/again" '{}' -H 'Idempotency-Key: again'
check "a run starts again with the same arguments" says 201
again=$(member id)
both_post "/v1/runs/$again/cancel" '{"task":"7"}'
check "both refuse to cancel a task that is not there" [ "$file_status" = "$status" ]
both_post "/v1/runs/$again/cancel" '{}'
check "both cancel a run" says 200
check "... which ends" settled "$again" cancelled
both_post "/v1/runs/$again/cancel" '{}'
check "... and is not cancelled twice" same 409
both_post "/v1/runs/$order/steps/1/3/resolve" '{"how":"retry"}'
check "both refuse to resolve what nobody doubts" same 409
post "/v1/runs/$order/fork" '{}'
check "a fork is a file's alone" says 501 sqlite-only
post $started/quick/runs '{"args":{"n":1},"concurrency":"x"}'
check "... and so is waiting for each other" says 501 sqlite-only

# ---- started amid crashes ----
cat >client.py <<'XX'
# Starts runs with keys, each until the server says that it has: client.py SOCKET FROM TO
import http.client, json, socket, sys, time
class Local(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(10)
        self.sock.connect(sys.argv[1])
for n in range(int(sys.argv[2]), int(sys.argv[3])):
    while True:
        try:
            to = Local("x")
            to.request("POST", "/v1/programs/shop/workflows/quick/runs", json.dumps({"args": {"n": n}, "labels": {"of": "crash"}}),
                       {"Content-Type": "application/json", "Idempotency-Key": f"crash-{n}"})
            answer = to.getresponse()
            body = json.load(answer)
            if answer.status in (200, 201):
                print(n, body["id"], flush=True)
                break
            assert answer.status == 503, body
        except (OSError, http.client.HTTPException):
            pass
        time.sleep(0.02)
XX
python3 client.py shared-live/http 0 25 >crash.a 2>&1 & client_a=$!
python3 client.py shared-live/http 15 40 >crash.b 2>&1 & client_b=$!
begins() { [ "$(wc -l <crash.a)" -ge "$1" ]; }
for count in 3 8 14; do
    within 20 begins $count || echo "not ok the clients start $count runs"
    kill -KILL $shared_server
    wait $shared_server 2>/dev/null
    export TFY_DB=$shared_db
    serves --no-tcp
    shared_server=$server
done
wait $client_a $client_b
at shared
check "each start is answered, whenever the server is killed" sh -c '[ $(wc -l <crash.a) = 25 ] && [ $(wc -l <crash.b) = 25 ]'
check "... and began once" [ "$(psql -h "$pg" -U tfy -d tfy -qAtc "select count(*) from tfy.run where labels->>'of' = 'crash'") $(cat crash.a crash.b | sort -u | wc -l)" = "40 40" ]
ended() { [ "$(psql -h "$pg" -U tfy -d tfy -qAtc "select count(*) from tfy.run where labels->>'of' = 'crash' and state = 12")" = 40 ]; }
check "... and ended" within 30 ended
post $started/ships/runs '{"args":{"n":1}}'
shipped=$(member id)
check "a tool works" within 20 test -e shipping

# ---- events ----
stream() { curl -sSN --max-time "${2:-3}" --unix-socket shared-live/http "http://x/v1/events?$1" >events 2>/dev/null; true; }
ids() { sed -n 's/^id: //p' events | tr '\n' ' '; }
stream "run=$bob&after=0" 2
check "the events of a run are its records, by their numbers in it" [ "$(ids)" = "0 1 2 3 4 5 6 7 8 " ]
stream "run=$bob&after=5&type=TaskComplete" 2
check "... from one on, and of a type" [ "$(ids)" = "5 8 " ]
stream "run=$bob&after=99" 1
check "... which a run that has no such record says" grep -q '^event: reset' events
curl -sSN --max-time 2 --unix-socket shared-live/http -H 'Last-Event-ID: 7' "http://x/v1/events?run=$bob" >events 2>/dev/null
check "... or behind the last one that a client got" [ "$(ids)" = "7 8 " ]
post $started/sized/runs '{"args":{}}'
live=$(member id)
(stream "run=$live&after=0" 20) & streaming=$!
within 20 sh -c "curl -sS --unix-socket shared-live/http http://x/v1/runs/$live/tasks | grep -q waits_for" || echo "not ok it waits"
post "/v1/runs/$live/signals" '{"name":"size","value":9}'
comes() { grep -q '"type":"TaskComplete"' events; }
check "what is committed comes" within 15 comes
check "... each once, in order" [ "$(ids)" = "$(seq -s ' ' 0 $(sed -n 's/^id: //p' events | tail -1)) " ]
kill $streaming 2>/dev/null
listening() { psql -h "$pg" -U tfy -d tfy -qAtc "select count(*) from pg_stat_activity where query ilike 'listen%'"; }
before=$(listening)
(stream live=1 20) & streaming=$!
listens() { [ "$(listening)" -gt "$before" ]; }
within 10 listens || echo "not ok the server listens"
post $started/quick/runs '{"args":{"n":1}}'
notices() { grep -q '"stage":"Notice","queue":' events; }
check "without a run there are notices" within 15 notices
check "... which have no ids" [ -z "$(ids)" ]
kill $streaming 2>/dev/null
ask "http://x/v1/events?run=01a00000-0000-7000-8000-000000000000"
check "a run that is not there has none" says 404

# ---- what is not there ----
for path in '/v1/runs?q=ann' '/v1/runs?sort=-took' /v1/stats /v1/followers /v1/schedules /v1/records/5; do
    ask "http://x$path"
    check "$path is a file's alone" says 501 sqlite-only
done
at file
ask http://x/v1/cluster
check "workers are of a shared database alone" says 501 postgresql-only
at shared
ask http://x/openapi.json
check "the document has what is served here" sh -c 'grep -q "/v1/cluster" out && ! grep -q "/v1/stats" out && grep -q "workflows/order/runs" out'

# ---- workers ----
ask http://x/v1/cluster
check "workers are there as tfy cluster has them" sh -c 'python3 -c "
import json
v = json.load(open(\"out\"))
assert [w[\"worker\"] for w in v[\"workers\"]] == [\"one\"], v
assert [q[\"owned\"] + q[\"waiting\"] for q in v[\"queues\"]] == [2], v
assert not v[\"takeovers\"], v"'
modules=$here/../../build/npm/node_modules
if [ -d "$modules/playwright-core" ] && command -v chromium >/dev/null; then
    timeout 100 node "$here/page/cluster.mjs" shared-live/http "$modules" "$order" one || check "the browser's part ends" false
fi
pkill -KILL -P "$worker"
kill -KILL "$worker"
tfy worker shop.tfy --db "$shared_db" --name two 2>two.log &
worker=$!
taken_over() { ask http://x/v1/cluster && python3 -c 'import json
v = json.load(open("out")); assert [t["worker"] for t in v["takeovers"]] == ["one"] and v["takeovers"][0]["why"], v'; }
check "a worker that died is among the takeovers" within 20 taken_over
doubtful() { ask 'http://x/v1/runs?attention=in_doubt' && grep -q "$shipped" out; }
check "... and its step is in doubt" within 20 doubtful
post "/v1/runs/$shipped/steps/1/1/resolve" '{"how":"done","value":"it went"}'
check "a person says what happened" says 200
check "... and the run ends" settled "$shipped" completed
check "... with that" is result 'it went'

# ---- the database away and back ----
pg_stops KILL
ask http://x/v1/runs
check "a database that is away is one clear 503" says 503 database-away
post $started/quick/runs '{"args":{"n":1}}'
check "... for a start" says 503 database-away
post "/v1/runs/$order/cancel" '{}'
check "... for a change" says 503 database-away
ask http://x/v1/runs
check "... which says when to ask again" has_header 'retry-after: 1'
ask "http://x/v1/runs/$order/records"
check "... for a history, too" says 503 database-away
ask http://x/healthz
check "... and the process is well" says 200
unready() { ask http://x/readyz && says 503 database-away; }
check "... but not ready" within 10 unready
pg_starts
back() { ask http://x/v1/runs && says 200 "$order"; }
check "it is there again when the database is" within 15 back
ready() { ask http://x/readyz && says 200; }
check "... and ready" within 15 ready
kill -STOP "$pg_pid"
pkill -STOP -P "$pg_pid"
begun=$(date +%s)
ask "http://x/v1/runs"
taken=$(($(date +%s) - begun))
pkill -CONT -P "$pg_pid"
kill -CONT "$pg_pid"
check "a database that does not answer is a 503 within some seconds" sh -c "[ $status = 503 ] && [ $taken -lt 12 ]"
check "... and is there again behind that" within 15 back
kill -TERM "$worker"
for server in $shared_server $file_server; do
    ends
    check "the server ends in order" [ $? = 0 ]
done
wait "$worker"
