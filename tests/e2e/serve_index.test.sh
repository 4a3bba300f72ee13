#!/bin/sh
# tfy serve while its index lacks what the log has, as one that is made anew does: it says so, and does not say that there is no
# such run.
. "$here/lib.sh"
. "$here/serve_lib.sh"
cat >shop.tfy <<'END'
workflow order(n: int) -> int { yield sleep(1ms); return n }
END
export TFY_TEST_AWAIT_MS=300 TFY_TEST_NEAR=1500
serves shop.tfy --no-tcp
post /v1/programs/shop/workflows/order/runs '{"args":{"n":1}}' -H 'Prefer: wait=10'
check "a run is there" says 200
old=$(member id)

# Somebody else writes the index until ./go is there: the server cannot.
python3 - <<'END' &
import os, sqlite3, time
db = sqlite3.connect(os.environ["TFY_DB"] + "-index", isolation_level=None, timeout=20)
db.execute("BEGIN IMMEDIATE")
open("held", "w").close()
while not os.path.exists("go"): time.sleep(0.05)
db.execute("ROLLBACK")
END
holder=$!
check "the index is held" within 20 test -e held
cat >behind.py <<'END'
import json, os, sys, threading
from unix_http import Unix
at, old = os.environ["TFY_DB"] + "-live/http", sys.argv[1]

def ask(method, path, body=None, **headers):
    client = Unix(at, timeout=40)
    client.request(method, path, body and json.dumps(body), {"Content-Type": "application/json", **headers})
    answer = client.getresponse()
    return answer.status, json.loads(answer.read()), answer.headers

telling = threading.Lock()
def told(name, good, answer):
    with telling: print("%s\t%s" % (name, "yes" if good else "no: %d %s" % answer[:2]), flush=True)
def is_behind(answer): return answer[0] == 503 and answer[1]["type"] == "/problems/index-behind"

answer = ask("POST", "/v1/programs/shop/workflows/order/runs", {"args": {"n": 2}}, Prefer="wait=1")
run = answer[1].get("id", "none")
told("a start is answered as it was when the wait for it is over", answer[0] == 201 and answer[1]["state"] == "running", answer)

def asks(name, path):
    answer = ask("GET", path)
    told(name + ": it is behind", is_behind(answer), answer)
    told(name + ": and when to ask again", answer[2]["Retry-After"] == "1", answer)

def changes():
    answer = ask("POST", "/v1/bulk", {"do": "cancel", "runs": [old, run, "ffffffff"]})
    told("many runs, of which one cannot be looked up: none is changed", is_behind(answer), answer)

def forks():
    answer = ask("POST", "/v1/runs/%s/fork" % old, {"step": 1})
    told("a fork: it is behind", is_behind(answer) and "was made" in answer[1]["detail"], answer)
    told("a fork: and where the run is", answer[2].get("Location", "").startswith("/v1/runs/") and not answer[2]["Retry-After"], answer)
    open("fork", "w").write(answer[2].get("Location", ""))

work = [threading.Thread(target=asks, args=("a run", "/v1/runs/" + run)),
        threading.Thread(target=asks, args=("its first letters", "/v1/runs/" + run[:30])),
        threading.Thread(target=asks, args=("one that may be there", "/v1/runs/ffffffff-0000-4000-8000-000000000000")),
        threading.Thread(target=changes), threading.Thread(target=forks)]
for thread in work: thread.start()
for thread in work: thread.join()
answer = ask("POST", "/v1/bulk", {"do": "again", "runs": [old] * 700})
told("many runs start", answer[0] == 200 and answer[1]["done"] == 700, answer)
answer = ask("GET", "/v1/runs")
told("lists have what there is", answer[0] == 200 and [one["id"] for one in answer[1]["runs"]] == [old], answer)
told("... and say how much they lack", answer[1].get("behind", 0) >= 2000, answer)
answer = ask("GET", "/readyz")
told("the server is not ready then", is_behind(answer), answer)
answer = ask("GET", "/v1/runs/xyz")
told("what is no id at all is not waited for", answer[0] == 404, answer)
open("run", "w").write(run)
END
check "the requests come to an end" sh -c 'python3 behind.py "$1" >told' sh "$old"
while IFS="$(printf '\t')" read -r what how; do check "$what" test "$how" = yes; done <told
check "all were asked" test "$(wc -l <told)" = 15
: >go
wait $holder
run=$(cat run)
check "with the index as it should be the run is there" settled "$run" completed
ask "http://x$(cat fork)"
check "... and the fork" says 200 '"workflow":"order"'
ask "http://x/v1/runs?limit=200"
check "... and lists lack nothing" sh -c '! grep -q behind out && [ "$(grep -o "\"id\"" out | wc -l)" = 200 ]'
ask http://x/readyz
check "... and the server is ready" says 200
ask "http://x/v1/runs/ffffffff-0000-4000-8000-000000000000"
check "... and what is not there is not" says 404 'gc may have removed it'

# ---- names of runs, and places in lists ----

ask "http://x/v1/runs/$(echo "$run" | cut -c1-6)"
check "a start of several ids is none" says 409 /problems/ambiguous
check "... and two of them are named" sh -c '[ "$(grep -oE "[0-9a-f-]{36}" out | sort -u | wc -l)" = 2 ]'
ask "http://x/v1/runs?limit=1"
cursor=$(member next)
ask "http://x/v1/runs?limit=1&cursor=$cursor"
check "a cursor leads to the next page" says 200 '"workflow":"order"'
ask "http://x/v1/runs?limit=1&cursor=$(echo "$cursor" | tr 0-9a-e 1-9a-f)"
check "... and one that was changed nowhere" says 400 'begin anew'
ends
check "it ends in order" test $? = 0
check "the log is sound" tfy verify
rm -f "$TFY_DB"-index*
unset TFY_TEST_AWAIT_MS
serves shop.tfy --no-tcp
ask -H "Tfy-After: 3000" "http://x/v1/runs?limit=1&cursor=$cursor"
check "... nor one of the index before" says 400 'begin anew'
ends
# torn, as a crash of the machine leaves it: a page of it is lost, and it was last found whole before the machine started
cat >tear.py <<'END'
import os, sqlite3
path = os.environ["TFY_DB"] + "-index"
db = sqlite3.connect(path)
(boot,), = db.execute("SELECT boot FROM meta")
assert boot == open("/proc/sys/kernel/random/boot_id").read().strip(), boot
db.execute("UPDATE meta SET boot='before'")
db.commit()
(size,), = db.execute("PRAGMA page_size")
(root,), = db.execute("SELECT rootpage FROM sqlite_schema WHERE name='run_state'")
db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
db.close()
with open(path, "r+b") as file:
    file.seek((root - 1) * size)
    file.write(bytes(size))
END
check "an index says in which run of the machine it was whole" python3 tear.py
serves shop.tfy --no-tcp
ask -H "Tfy-After: 3000" "http://x/v1/runs?state=completed&limit=200"
check "... and one that was torn since is made anew" sh -c '[ "$(grep -o "\"id\"" out | wc -l)" = 200 ]'
ends
run tfy gc --keep 1
serves shop.tfy --no-tcp
tries=0
until ask "http://x/v1/runs/$old" && [ "$status" = 404 ] || [ $((tries += 1)) -gt 200 ]; do sleep 0.02; done
check "a run that gc removed is not there, which is said" says 404 'gc may have removed it'
ends
