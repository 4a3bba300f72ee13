#!/bin/sh
# tfy serve: programs in one process, asked over HTTP on a Unix socket: starts, lists, one run, the OpenAPI document, and what is refused.
. "$here/lib.sh"
cat >shop.tfy <<'END'
/// One article of an order.
type Item { name: string, n: int }

/// Places an order.
workflow order(customer: string, articles: list<Item>) -> string {
    var sum = 0
    for item in articles { sum += item.n }
    return "${customer}: ${sum}"
}

error Refused { why: string }

workflow charge(what: string) -> string {
    if yield approve("charge ${what}?") { return "charged" }
    fail Refused(why: "no")
}
END
cat >ci.tfy <<'END'
tool slow() -> string pure = exec ["sh", "-c", "touch began; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do [ -e go ] || sleep 0.5; done; echo done"]
workflow main() { print("built") }
workflow slowly() -> string { return yield slow() }
END
. "$here/serve_lib.sh"
runs=/v1/programs/shop/workflows/order/runs
order='{"args":{"customer":"ann","articles":[{"name":"tea","n":3}]},"labels":{"team":"web"}}'

serves shop.tfy ci.tfy
check "it says where it serves" grep -q "serving $TFY_DB at $TFY_DB-live/http" served
check "nobody else can reach the socket" sh -c '[ "$(stat -c %a "$TFY_DB-live")" = 700 ] && [ "$(stat -c %a "$TFY_DB-live/http")" = 600 ]'
ask http://x/healthz
check "it is healthy" says 200 '{"status":"ok"}'
ask http://x/readyz
check "... and ready" says 200
ask http://x/metrics
check "it has figures for Prometheus" says 200 'tfy_index_lag_records '
check "... its loop's among them" sh -c 'grep -q "^tfy_runs_started_total" out && [ -z "$(grep "^# TYPE" out | sort | uniq -d)" ]'
check "... in its format" has_header 'content-type: text/plain; version=0.0.4'
check "... with what was asked" sh -c 'grep -qx "tfy_http_requests_total{route=\"GET /healthz\",code=\"200\"} 1" out && grep -qx "tfy_questions_open 0" out'
check "... and how long that took" sh -c '[ "$(sed -n "s/^tfy_http_seconds_count //p" out)" -ge 2 ] && [ "$(sed -n "s/^tfy_http_seconds_count //p" out)" = "$(sed -n "s/^tfy_http_seconds_bucket{le=\"+Inf\"} //p" out)" ]'
ask http://x/nosuch
ask http://x/metrics
check "... also what there is not" grep -qx 'tfy_http_requests_total{route="none",code="404"} 1' out
ask http://x/v1/programs
check "the programs are listed" is programs.1.workflows '["main", "slowly"]'
check "... by their names" is programs.0.name shop

# ---- starts ----

post $runs "$order"
check "a run starts" says 201 '"state":"running"'
check "... with its place" has_header "location: /v1/runs/$(member id)\$"
check "... and the record that it is durable with" has_header 'tfy-lsn: [0-9]+$'
check "... its starter" is by "$(id -un)"
check "... and its labels" is labels '{"team": "web"}'
id=$(member id)
run tfy history "$id" --json
check "the log says who started it, and how" grep -q '"via":{"how":"unix"},"labels":{"team":"web"},"program_name":"shop"' out
lsn=$(tr -d '\r' <head | sed -n 's/^[Tt]fy-[Ll]sn: //p')
check "it ends" settled "$id" completed
check "... with its result" is result 'ann: 3'
check "... and the time" [ "$(member ended)" != null ]

post $runs "$order" -H 'Idempotency-Key: cart-81'
first=$(member id)
check "a key starts a run" says 201
post $runs "$order" -H 'Idempotency-Key: cart-81'
check "... once" says 200 "$first"
check "... and says so" has_header 'idempotency-replayed: true$'
post $runs '{"args":{"customer":"bob","articles":[]}}' -H 'Idempotency-Key: cart-81'
check "... and not with other arguments" says 422 /problems/key-reused
run tfy run shop.tfy --workflow order --id cart-81 --customer ann --articles '[{"name":"tea","n":3}]'
check "the key is the name that --id gives" grep -q "$first" err
cat >many.py <<'END'
import http.client, json, socket, sys, threading
path, answers = sys.argv[1], []
class Local(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(path)
def work(number):
    c = Local("x")
    for i in range(20):
        c.request("POST", "/v1/programs/shop/workflows/order/runs", json.dumps({"args": {"customer": "c%d" % i, "articles": []}}),
                  {"Content-Type": "application/json", "Idempotency-Key": "many-%d" % i})
        r = c.getresponse()
        answers.append((i, r.status, json.loads(r.read())["id"]))
threads = [threading.Thread(target=work, args=(n,)) for n in range(12)]
for t in threads: t.start()
for t in threads: t.join()
assert len(answers) == 240 and all(a[1] in (200, 201) for a in answers), [a for a in answers if a[1] not in (200, 201)]
for i in range(20):
    of = [a for a in answers if a[0] == i]
    assert len({a[2] for a in of}) == 1 and sum(a[1] == 201 for a in of) == 1, of
END
check "of many at the same time with one key one starts" python3 many.py "$TFY_DB-live/http"

post $runs '{"args":{"customr":"ann","articles":[{"name":"tea"}]},"lables":{}}'
check "a member that nobody knows is told, with the one that was meant" says 422 "did you mean 'labels'?"
post $runs '{"args":{"customr":"ann","articles":[{"name":"tea"}]}}'
check "all mistakes are told at once" sh -c 'grep -q "\"path\":\"\$.args.customer\"" out && grep -q "\"path\":\"\$.args.articles\[0\].n\"" out && grep -q "did you mean .customer" out'
check "... as a problem" has_header 'content-type: application/problem\+json'
check "... with the number of the request" grep -q '"request":"r-' out
post $runs '{"args":{"customer":1,"articles":[]}}'
check "another type is told with its path" says 422 '"path":"$.args.customer"'
post $runs '{"args":{"customer":"a","articles":[]},"labels":{"Team":"x","tfy.a":"y","b":7}}'
check "labels have rules" sh -c 'grep -q "labels.Team" out && grep -q "labels.tfy.a" out && grep -q "labels.b" out'
post $runs '{"args":{"customer":"a","customer":"b"}}'
check "a member that is there twice is refused" says 400 'line 1, column'
post $runs '{"args":'
check "what is not JSON is refused, with the place" says 400 'the body is not JSON: line 1'
post $runs '[1]'
check "... and what is not an object" says 400 'not a JSON object'
python3 -c 'print("[" * 200 + "]" * 200)' >deep
post $runs @deep
check "... and what nests deeply" says 400 'nests deeper than 128'
post $runs '{"args":{"customer":"\ud800","articles":[]}}'
check "... and half a character" says 400
post /v1/programs/shopp/workflows/order/runs '{}'
check "a program that is not there" says 404 "did you mean 'shop'?"
post /v1/programs/shop/workflows/ordre/runs '{}'
check "... a workflow" says 404 "did you mean 'order'?"
post $runs "$order" -H 'Idempotency-Key: a b'
check "a key is visible characters" says 400 'visible ASCII'
python3 -c 'print("{\"args\":{\"customer\":\"" + "x" * 1100000 + "\",\"articles\":[]}}")' >large
post $runs @large
check "a body has a bound" says 413 /problems/too-large
ask -X POST -H 'Content-Type: application/json' -H 'Transfer-Encoding: chunked' -H 'Expect:' -d @large "http://x$runs"
check "... also in chunks" says 413 /problems/too-large
ask -X POST -d "$order" "http://x$runs"
check "... and a type" says 415 'application/json'

# ---- lists ----

post /v1/programs/shop/workflows/charge/runs '{"args":{"what":"ann 33.50"}}'
asks=$(member id)
lsn=$(tr -d '\r' <head | sed -n 's/^[Tt]fy-[Ll]sn: //p')
ask -H "Tfy-After: $lsn" "http://x/v1/runs?limit=1"
check "who has just started something sees it" is runs.0.id "$asks"
check "... and there is another page" [ "$(member next)" != null ]
asks_now() { tries=0; until ask "http://x/v1/runs?attention=question" && [ "$(member runs)" != "[]" ] || [ $((tries += 1)) -gt 200 ]; do sleep 0.02; done; is runs.0.id "$asks"; }
check "a run that asks somebody is found by that" asks_now
check "... and says so" is runs.0.attention question
cat >pages.py <<'END'
import json, subprocess, sys, urllib.parse
def get(path):
    return json.loads(subprocess.check_output(["curl", "-sS", "--unix-socket", sys.argv[1], "http://x" + path]))
seen, path = [], "/v1/runs?limit=7"
while path:
    page = get(path)
    seen += [run["id"] for run in page["runs"]]
    path = page["next"] and "/v1/runs?limit=7&cursor=" + urllib.parse.quote(page["next"])
assert len(seen) == len(set(seen)) == 23, len(seen)
END
check "pages have each run once" python3 pages.py "$TFY_DB-live/http"
ask "http://x/v1/runs?workflow=charge&state=running"
check "runs are found by workflow and state" is runs.0.id "$asks"
ask "http://x/v1/runs?label.team=web"
check "... by a label" is runs.0.id "$first"
ask "http://x/v1/runs?q=ann%2033.50"
check "... by words of their arguments" is runs.0.id "$asks"
ask "http://x/v1/runs?q=c1+c1"
check "... and of their results" sh -c 'grep -q "c1: 0" out'
ask "http://x/v1/runs?q=%22"
check "... of which a quote is none" says 200 '"runs":['
ask "http://x/v1/runs?by=nobody-else"
check "nothing is found where nothing is" is runs '[]'
ask "http://x/v1/runs?before=2020-01-01T00:00:00Z"
check "... nor before there was anything" is runs '[]'
ask "http://x/v1/runs?before=yesterday"
check "a time is a time" says 400 'such as 2026-11-23T02:29:11Z'
ask "http://x/v1/runs?stat=failed"
check "a parameter that nobody knows is told" says 400 "did you mean 'state'?"
ask "http://x/v1/runs?state=done"
check "... and a value" says 400 "state is one of queued, running, completed, failed, cancelled"
ask "http://x/v1/runs?limit=0"
check "... and a number" says 400 'limit is a number from 1 to 200'
ask "http://x/v1/runs?cursor=r1-2-3"
check "a cursor of another list is not followed" says 400 'begin anew'

# ---- waiting for the end ----

post /v1/programs/ci/workflows/main/runs '{}' -H 'Prefer: wait=10'
check "a start can wait for the end" says 200 '"state":"completed"'
post /v1/programs/shop/workflows/charge/runs '{"args":{"what":"wait"}}' -H 'Prefer: wait=1' -H 'Idempotency-Key: waits'
check "... for a time" says 201 '"state":"running"'
waited=$(member id)
{ sleep 0.3; tfy approve "$waited" >/dev/null; } &
post /v1/programs/shop/workflows/charge/runs '{"args":{"what":"wait"}}' -H 'Prefer: wait=10' -H 'Idempotency-Key: waits'
check "... and so can one that had happened" says 200 '"result":"charged"'
wait $!
post /v1/programs/ci/workflows/slowly/runs '{}'
slowly=$(member id)
tries=0
until [ -e began ] || [ $((tries += 1)) -gt 200 ]; do sleep 0.02; done
kill -TERM "$server"
ask http://x/readyz
check "a server that ends takes nothing any more" says 503 /problems/draining
post /v1/programs/ci/workflows/main/runs '{}'
check "... no start either" says 503 /problems/draining
touch go
wait "$server"
serves shop.tfy ci.tfy
check "... and what was under way is done" settled "$slowly" completed
{ sleep 0.2; kill -TERM "$server"; } &
post /v1/programs/shop/workflows/charge/runs '{"args":{"what":"end"}}' -H 'Prefer: wait=30'
check "... until the server ends" says 201 '"state":"running"'
left=$(member id)
wait "$server"
serves shop.tfy ci.tfy
ask -H "Tfy-After: 1" "http://x/v1/runs/$left"
check "... and the run is there afterwards" settled "$left" running

# ---- one run ----

ask "http://x/v1/runs/$asks"
check "a run has an ETag" has_header 'etag: "[0-9]+"$'
etag=$(tr -d '\r' <head | sed -n 's/^[Ee][Tt]ag: //p')
ask -H "If-None-Match: $etag" "http://x/v1/runs/$asks"
check "... and nothing is sent again" [ "$status" = 304 ]
run tfy approve "$asks"
check "the command line answers" ended 0
check "... and the run goes on" settled "$asks" completed
ask "http://x/v1/runs/$(echo "$id" | cut -c1-13)"
check "the start of an id is enough" [ "$status" = 200 ] || [ "$status" = 409 ]
ask http://x/v1/runs/00000000-0000-0000-0000-000000000000
check "a run that is not there" says 404 'gc may have removed it'
run tfy output "$(curl -sS --unix-socket "$TFY_DB-live/http" -X POST -H 'Content-Type: application/json' -d '{}' http://x/v1/programs/ci/workflows/main/runs | python3 -c 'import json, sys; print(json.load(sys.stdin)["id"])')"
check "what a program prints is in the log" printed built
check "... and there alone" sh -c '! grep -q built served'

# ---- what is refused before it is read ----

raw() # BYTES with \r\n written out: ./out has the answer
{
    printf "$1" | timeout 5 python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(sys.stdin.buffer.read())
s.shutdown(socket.SHUT_WR)
s.settimeout(3)
got = b""
try:
    while True:
        more = s.recv(65536)
        if not more: break
        got += more
except OSError: pass
sys.stdout.buffer.write(got)' "$TFY_DB-live/http" >out
}
refused() { [ "$(head -c 12 out)" = "HTTP/1.1 $1" ] && [ "$(grep -c '^HTTP/1' out)" = 1 ] || { cat out; return 1; }; }
end='\r\n\r\n'
raw "GET /healthz HTTP/1.1\r\nHost: x${end}"
check "a plain request passes" refused 200
raw "POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked${end}0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x${end}"
check "a body has one length" refused 400
raw "POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nContent-Length: 5${end}abcde"
check "... said once" refused 400
raw "POST /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity${end}0\r\n\r\n"
check "a coding is said once" refused 400
raw "POST /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked${end}0\r\n\r\n"
check "... and is chunked" refused 400
raw "GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y${end}"
check "a request is for one host" refused 400
raw "GET /healthz HTTP/1.1${end}"
check "... and says which" refused 400
raw "GET http://x/healthz HTTP/1.1\r\nHost: x${end}"
check "a target starts with a slash" refused 400
for target in //healthz /v1/../healthz /v1/%%2e%%2e/healthz /v1%%2fruns /healthz%%00 /healthz%%zz /%%ff 'healthz'; do
    raw "GET $target HTTP/1.1\r\nHost: x${end}"
    check "... and is plain: $target" refused 400
done
raw "BREW /healthz HTTP/1.1\r\nHost: x${end}"
check "a method is known" refused 501
raw "DELETE /healthz HTTP/1.1\r\nHost: x${end}"
check "... and can be used" refused 405
check "... or what can is told" grep -q "^Allow: GET, HEAD" out
raw "GET /healthz HTTP/1.1\r\nHost: x\r\nOrigin: https://evil.example${end}"
check "a page of somebody else's is refused" refused 403
raw "GET /healthz HTTP/1.1\r\nHost: x\r\nSec-Fetch-Site: cross-site${end}"
check "... and so is another site" refused 403
linked() { raw "$1 HTTP/1.1\r\nHost: x\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: $2\r\nSec-Fetch-Dest: $3\r\nConnection: close\r\n${4:-}\r\n"; }
linked "GET /" navigate document
check "a link of another site leads to the page" grep -q "^HTTP/1.1 200" out
linked "GET /" navigate iframe
check "... and not into a frame" refused 403
linked "GET /" no-cors script
check "... nor is it read as something else" refused 403
linked "GET /v1/runs" navigate document
check "... nor does it lead anywhere else" refused 403
linked "POST /" navigate document "Content-Type: application/json\r\nContent-Length: 2\r\n"
check "... nor does a form" refused 403
linked "GET /" navigate document "Origin: https://evil.example\r\n"
check "... nor a page that says whose it is" refused 403

# ---- the document ----

ask http://x/openapi.json
cp out openapi.json
check "the document has a path for each workflow" python3 -c '
import json
d = json.load(open("openapi.json"))
assert d["openapi"] == "3.1.0"
post = d["paths"]["/v1/programs/shop/workflows/order/runs"]["post"]
assert post["summary"] == "Places an order.", post
args = post["requestBody"]["content"]["application/json"]["schema"]["properties"]["args"]
assert args["properties"]["articles"]["items"] == {"$ref": "#/components/schemas/shop.Item"}, args
assert d["components"]["schemas"]["shop.Item"]["description"] == "One article of an order."
ids = [o["operationId"] for p in d["paths"].values() for o in p.values()]
assert len(ids) == len(set(ids))
assert "$defs" not in json.dumps(d)'

# ---- ending and starting again ----

post /v1/programs/shop/workflows/charge/runs '{"args":{"what":"bob"}}'
open=$(member id)
run tfy run ci.tfy
check "another process cannot write the database, and is told what can be done" ended 75 "\`tfy start\` starts a run there"
run tfy serve ci.tfy
check "... nor serve it" ended 75 'is held by pid'
ends
check "it ends in order" [ $? = 0 ]
check "... and the socket is gone" [ ! -e "$TFY_DB-live/http" ]
printf 'not an index' >"$TFY_DB-index"
serves shop.tfy ci.tfy
ask -H "Tfy-After: 1" "http://x/v1/runs?limit=200"
check "an index that is torn is made anew" sh -c '[ "$(grep -o "\"id\"" out | wc -l)" -ge 20 ]'
check "an open run is there again" settled "$open" running
run tfy deny "$open"
check "... and goes on" settled "$open" failed
check "... to its error" is error.error Refused
kill -9 "$server"
wait "$server" 2>/dev/null
sqlite3 "$TFY_DB-index" "UPDATE meta SET db=zeroblob(16)" 2>/dev/null
serves shop.tfy
ask -H "Tfy-After: 1" "http://x/v1/runs?limit=200"
check "an index of another database is made anew" sh -c '[ "$(grep -o "\"id\"" out | wc -l)" -ge 20 ]'
post $runs "$order" -H 'Idempotency-Key: cart-81'
check "a key holds after a kill" says 200 "$first"
ends
run tfy verify
check "the log is sound" ended 0
run tfy serve nothing.txt
check "what is not a program is told" ended 64 'serve takes FILE.tfy'
run tfy serve "$TFY_DB"
check "... whatever it is" ended 64 'serve takes FILE.tfy'
cp ci.tfy Ci.tfy
run tfy serve Ci.tfy
check "a program has a name of its kind" ended 69 'Ci: the name of a program starts with a small letter'
mkdir other && cp ci.tfy other/shop.tfy
run tfy serve shop.tfy other/shop.tfy
check "two programs have two names" ended 69 'shop: another program has this name'
