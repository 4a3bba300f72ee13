#!/bin/sh
# tfy serve: what a process of its own answers: a run as it was at a record, two runs compared, and the states of a program;
# and what was counted.
. "$here/lib.sh"
. "$here/serve_lib.sh"
cat >shop.tfy <<'END'
error Refused { why: string }
tool price(name: string) -> int pure = exec ["sh", "-c", "echo $1 | wc -c", "sh", "${name}"]
workflow order(names: list<string>) -> int {
    var sum = 0
    for name in names {
        let one = yield price(name)
        sum += one
    }
    if sum > 10 { fail Refused(why: "too much") }
    return sum
}
workflow secret_plan() -> int { return 1 }
/// Takes its time, each time.
workflow busy(n: int) -> int {
    var i = 0
    var length = 0
    while i < n {
        let text = "${i} of ${n}"
        length += text.len()
        i += 1
    }
    return length
}
END
export TFY_DB="$PWD/runs.db"
serves shop.tfy --listen 127.0.0.1:0
start() { post /v1/programs/shop/workflows/order/runs "{\"args\":{\"names\":$1}}" -H 'Prefer: wait=20'; id=$(member id); }
start '["tea","cup"]'
one=$id
start '["teapot","saucer"]'
two=$id
check "a run has failed" is state failed

ask "http://x/v1/runs/$one/at/record-3"
check "a run as it was at a record of its own" says 200 '"record":3'
check "... with the variables of then" is frames.0.locals.1.value 4
check "... and what it asked for" is asked.tool price
lsn=$(member lsn)
ask "http://x/v1/runs/$one/at/$lsn"
check "... and at the same one by its number in the database" is record 3
ask "http://x/v1/runs/$two/at/failure"
check "... and where it failed" is raising.why "too much"
ask "http://x/v1/runs/$one/at/end"
check "... and at its end" says 200 '"state":"completed"'
ask "http://x/v1/runs/$one/at/999"
check "a record that is none is refused" says 422 /problems/not-possible
check "... in the words of tfy" says 422 "no record"
ask "http://x/v1/runs/$one/at/yesterday"
check "... and a place that is none" says 400 "record-N of the run"
ask "http://x/v1/runs/ffffffff/at/1"
check "... and a run" says 404
ask "http://x/v1/runs/$one/at/1?step=2"
check "... and a parameter" says 400 unknown

ask "http://x/v1/compare?a=$one&b=$two"
check "two runs are compared" is same false
ask "http://x/v1/compare?a=$one&b=$one"
check "... one with itself" is same true
ask "http://x/v1/compare?a=$one"
check "... one alone cannot be" says 400 "a and b"
ask "http://x/v1/compare?a=$one&b=ffffffff"
check "... nor with none" says 404

# ---- what was counted ----

# node WORKFLOW CALLEE MEMBER: of a point in ./out.
node() { python3 -c 'import json, sys
workflow = next(w for w in json.load(open("out"))["workflows"] if w["name"] == sys.argv[1])
print(next(n for n in workflow["nodes"] if n["callee"] == sys.argv[2]).get(sys.argv[3]))' "$@"; }
graph=/v1/programs/shop/graph
ask "http://x$graph" -H "Tfy-After: $lsn"
check "the states of a program" says 200 '"program":"shop"'
check "... with how many steps ended at a point" [ "$(node order price count)" = 4 ]
check "... and how many failed" [ "$(node order price failed)" = 0 ]
check "... and how often a way was taken" python3 -c '
import json
edges = next(w for w in json.load(open("out"))["workflows"] if w["name"] == "order")["edges"]
ways = {(e["from"], e["to"]): e.get("count") for e in edges if "to" in e}
price = "order/tool/price/1"
assert ways[(None, price)] == 2 and ways[(price, price)] == 2, ways'
version=$(member version)
ask "http://x$graph?version=000000000000"
check "... of a version that no run has: 404" says 404 "no run of shop has version"
ask "http://x/v1/programs/shp/graph"
check "... of a program that is not there: 404" says 404 "no program shp"
ask "http://x$graph?verson=1"
check "... with a parameter that is none: 400" says 400 "version"
ask "http://x/v1/stats"
check "runs are counted" python3 -c '
import json
one, = json.load(open("out"))["stats"]
assert (one["started"], one["count"], one["failed"]) == (2, 2, 1) and one["p95"] >= one["p50"] >= 0, one'
ask "http://x/v1/stats?by=day,workflow"
check "... by day and workflow" sh -c 'grep -qE "\"begins\":\"[0-9-]*T00:00:00.000Z\",\"program\":\"shop\",\"workflow\":\"order\"" out'
ask "http://x/v1/stats?by=workflow,"
check "... a comma too many is none" says 200 '"workflow":"order"'
ask "http://x/v1/stats?by=workflow,size"
check "... what is not counted so: 400" says 400 "hour, day, workflow, model, point"
# points FILTER…: PROGRAM/VERSION/POINT=COUNT of each in ./out.
points() { python3 -c 'import json
print(*sorted("%s/%s/%s=%d" % (s["program"], s["version"], s["point"], s["count"]) for s in json.load(open("out"))["stats"]))'; }
ask "http://x/v1/stats?by=point&workflow=order"
check "... by the points of a workflow" sh -c 'printf "%s\n" "$1" | grep -qF "shop/$2/order/tool/price/1=4"' sh "$(points)" "$version"
check "... with how long steps took there" sh -c 'grep -qE "\"p50\":[0-9]+" out && ! grep -qF "\"workflow\":\"secret_plan\"" out'
ask "http://x/v1/stats?by=day,point&limit=1"
check "... and by the day, so many of them" sh -c 'grep -q T00:00:00.000Z out && [ "$(grep -o "\"point\":" out | wc -l)" = 1 ]'
ask "http://x/v1/stats?by=point,model"
check "... and not by the model" says 400 "goes with hour or day alone"
ask "http://x/v1/stats?after=2999-01-01T00:00:00Z"
check "... of a time to come" is stats '[]'
ask "http://x/v1/stats?after=tomorrow"
check "... of a time that is none: 400" says 400 "a time such as"

url=$(sed -n 's/^tfy serve: serving .* and \(http.*\)$/\1/p' served)
some=$(tfy token create some --roles viewer --only 'shop.order')
none=$(tfy token create none --roles viewer --only 'other.*')
as() { status=$(curl -sS --max-time 20 -o out -D head -w '%{http_code}' -H "Authorization: Bearer $1" "$url$2" 2>err); }
as "$some" "$graph"
check "a token sees the states of its workflows" sh -c 'grep -q "\"name\":\"order\"" out && ! grep -q secret_plan out'
as "$none" "$graph"
check "... and to another one the program is not there" says 404 "no program shop"
as "$none" "/v1/programs/other/graph?version=$version"
check "... not by its version, either" says 404
as "$some" "/v1/stats?by=point&limit=1"
check "... and the counts of their points" is stats.0.workflow order
as "$none" "/v1/stats?by=point"
check "... others see none of them" is stats '[]'
as "$none" /v1/stats
check "... nor counts" is stats '[]'

mv shop.tfy old.tfy
sed 's/sum > 10/sum > 99/' old.tfy >shop.tfy
ends
serves shop.tfy
ask "http://x$graph"
check "a new version was never anywhere" [ "$(node order price count)" = None ]
ask "http://x$graph?version=$version"
check "... and an old one is drawn from the log" [ "$(node order price count)" = 4 ]

python3 - <<'END'
import os, re, threading
from unix_http import Unix
statuses = []
def ask(path):
    client = Unix(os.environ["TFY_DB"] + "-live/http")
    client.request("GET", path)
    answer = client.getresponse()
    answer.read()
    statuses.append(answer.status)
client = Unix(os.environ["TFY_DB"] + "-live/http")
client.request("GET", "/v1/runs?limit=1&workflow=order")
id = re.search(r'"id":"([^"]+)"', client.getresponse().read().decode()).group(1)
threads = [threading.Thread(target=ask, args=("/v1/runs/%s/at/1" % id if i % 2 else "/v1/compare?a=%s&b=%s" % (id, id),)) for i in range(12)]
for t in threads: t.start()
for t in threads: t.join()
print(sorted(set(statuses)), file=open("statuses", "w"))
END
check "of many at once some are put off, and none is lost" sh -c 'grep -qE "^\[(200|200, 422|200, 422, 503|200, 503|422, 503|503)\]$" statuses'
ask http://x/healthz
check "... and the server works on" says 200

# ---- a replay that takes too long ----
post /v1/programs/shop/workflows/busy/runs '{"args":{"n":8000000}}'
busy=$(member id)
tries=0
until ask "http://x/v1/runs/$busy" && [ "$(member state)" = completed ] || [ $((tries += 1)) -gt 600 ]; do sleep 0.05; done
check "a run has worked for seconds" is state completed
ends
export TFY_TEST_CHILD_MS=1000
serves shop.tfy
unset TFY_TEST_CHILD_MS
began=$(date +%s%N)
ask "http://x/v1/runs/$busy/at/end"
took=$((($(date +%s%N) - began) / 1000000))
check "a replay that takes longer than its time is refused" says 503 /problems/too-long
check "... saying how long that is" says 503 "it was not done within 1 s"
check "... when the time is over, and not before" sh -c "[ $took -ge 1000 ] && [ $took -lt 8000 ]"
check "... and its process is ended" sh -c '! pgrep -f "replay $1" >/dev/null' sh "$busy"
curl -s --unix-socket "$TFY_DB-live/http" "http://x/v1/runs/$one/at/end" >/dev/null &
ends
check "the server ends while a child works" [ $? = 0 ]
check "... and leaves no child" sh -c '! pgrep -f "replay $1" >/dev/null' sh "$one"
