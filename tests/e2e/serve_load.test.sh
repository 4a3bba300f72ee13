#!/bin/sh
# tfy serve under load: a deploy loses no start, and a drain leaves no step in doubt.
. "$here/lib.sh"
. "$here/serve_lib.sh"
cat >shop.tfy <<'XX'
tool charge(n: int) -> string once = exec ["sh", "-c", "sleep 0.05; echo $1 >>charged; echo one", "sh", "${n}"]
workflow order(n: int) -> string {
    let done = yield charge(n)
    return done.trim()
}
XX
sed 's/echo one/echo two/' shop.tfy >second.tfy
cat >load.py <<'XX'
"""load.py SOCKET STARTED SECONDS: four clients start runs until the time is over, or the server takes no more. STARTED gets a
line for each start that was answered with 2xx: its number and its run."""
import http.client, json, sys, threading, time
from unix_http import Unix

at, out, until = sys.argv[1], open(sys.argv[2], "a"), time.time() + float(sys.argv[3])
lock, wrong = threading.Lock(), []

def client(first):
    n = first
    while time.time() < until:
        n += 4
        connection = Unix(at)
        try:
            connection.request("POST", "/v1/programs/shop/workflows/order/runs", json.dumps({"args": {"n": n}}),
                               {"Content-Type": "application/json", "Idempotency-Key": "order-%d" % n})
            answer = connection.getresponse()
            body = json.loads(answer.read())
        except (OSError, http.client.HTTPException):
            return # the server has ended
        if answer.status == 503: return
        with lock:
            if answer.status // 100 == 2: print(n, body["id"], file=out, flush=True)
            else: wrong.append((n, answer.status, body))
        time.sleep(0.005)

start = int(sys.argv[4])
threads = [threading.Thread(target=client, args=(start + i,)) for i in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
for one in wrong[:5]: print(*one)
sys.exit(bool(wrong))
XX
load() { python3 load.py "$TFY_DB-live/http" started "$@" >load.log 2>&1; }
deploy() { python3 -c 'import json, sys; print(json.dumps({"files": [{"path": "shop.tfy", "text": open(sys.argv[1]).read()}]}))' "$1" >body
    ask -X PUT -H 'Content-Type: application/json' --data-binary @body http://x/v1/programs/shop; }
runs() { sqlite3 -readonly "$TFY_DB" "$1"; }
of() { runs "select count(*) from history where type='InstructionStart' and workflow='order'"; }

# ---- deploys ----
serves shop.tfy --no-tcp
load 4 0 &
clients=$!
for file in second.tfy shop.tfy second.tfy; do
    deploy "$file"
    check "a deploy while clients start: $file" test "$status" = 201
    sleep 0.3
done
check "no start is refused" wait "$clients"
check "... and some were asked for" test "$(wc -l <started)" -gt 20
check "each that was answered is a run, and none is two" test "$(of)" = "$(wc -l <started)"
runs_end() { [ "$(runs "select count(*) from run where state < 12")" = 0 ]; }
check "all of them end" within 30 runs_end
check "... with what they started with" sh -c 'sqlite3 -readonly "$TFY_DB" "select json_extract(payload, \"\$.value\"), count(*) from history where type=\"TaskComplete\" group by 1 order by 1" | grep -c "^one|[1-9]\|^two|[1-9]" | grep -qx 2'

# ---- runs that have just started ----
cat >at_once.py <<'XX'
"""at_once.py SOCKET: four clients start runs, and cancel each as soon as they know its id."""
import json, sys, threading
from unix_http import Unix

refused = []
def client():
    connection = Unix(sys.argv[1])
    def post(path):
        connection.request("POST", path, b"{}", {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    for _ in range(100):
        run = post("/v1/programs/waits/workflows/main/runs")[1]["id"]
        status, said = post("/v1/runs/%s/cancel" % run)
        if status != 200: refused.append((status, said))

threads = [threading.Thread(target=client) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
for one in refused[:3]: print(*one)
sys.exit(bool(refused))
XX
echo 'workflow main() -> string { let go: string = yield signal("go"); return go }' >waits.tfy
python3 -c 'import json; print(json.dumps({"files": [{"path": "waits.tfy", "text": open("waits.tfy").read()}]}))' >body
ask -X PUT -H 'Content-Type: application/json' --data-binary @body http://x/v1/programs/waits
check "a run is found as soon as it has started" python3 at_once.py "$TFY_DB-live/http"
check "... and all are cancelled" test "$(runs "select count(*) from run where state < 12")" = 0

# ---- a drain ----
load 20 100000 &
clients=$!
sleep 0.7
ask -X POST -H 'Content-Type: application/json' -d '{}' http://x/v1/drain
check "a drain is taken while clients start" test "$status" = 202
code=0
wait "$server" || code=$?
check "... and the server ends in order" test "$code" = 0
wait "$clients"
check "no start was refused but for the drain" test ! -s load.log
check "each that was answered is a run" test "$(of)" = "$(wc -l <started)"
left=$(runs "select count(*) from run where state < 12")
check "no step is in doubt" test "$(runs "select count(*) from history where type='InDoubt'")" = 0
serves shop.tfy --no-tcp
check "what had not ended ($left) ends after the next start" within 30 runs_end
ask 'http://x/v1/runs?attention=in_doubt'
check "... and nothing waits for a person" says 200 '"runs":[]'
sort charged | uniq -d >twice
check "nobody was charged twice" test ! -s twice
check "... and everybody once" test "$(sort -u charged | wc -l)" = "$(wc -l <started)"
check "the log is sound" tfy verify
ends
check "it ends in order" test $? = 0
