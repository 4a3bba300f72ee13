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
plain() { python3 - "$1" <<'XX'
import json, re, sys
text = open(sys.argv[1]).read()
text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "ID", text)
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
records() { python3 -c 'import json, sys; print(*[r["type"] for r in json.load(open(sys.argv[1]))["records"] if r["type"] != "Claimed"])' "$1"; }
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
assert [q[\"owned\"] + q[\"waiting\"] for q in v[\"queues\"]] == [1], v
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

# ---- the database away and back ----
pg_stops KILL
ask http://x/v1/runs
check "a database that is away is one clear 503" says 503 database-away
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
