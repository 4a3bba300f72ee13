#!/bin/sh
# The orders of the list of runs: each of them, page by page, with filters beside it that few or many runs have.
. "$here/lib.sh"
. "$here/serve_lib.sh"
cat >answers.py <<'END'
# A model: so many tokens as the question says.
import http.server, json, re
class Answers(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = self.rfile.read(int(self.headers["Content-Length"])).decode()
        n = int(re.search(r"question (\d+)", asked).group(1))
        body = json.dumps({"choices": [{"message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}],
                           "usage": {"prompt_tokens": 10 * n, "completion_tokens": n}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
open("port", "w").write(str(server.server_port))
server.serve_forever()
END
python3 answers.py &
model=$!
trap 'kill $model $server 2>/dev/null' EXIT
within 10 test -s port
cat >models.json <<END
{"models": {"default": {"api": "chat", "url": "http://127.0.0.1:$(cat port)/v1", "model": "m", "stream": false, "price": {"in": 1, "out": 1}}}}
END
cat >shop.tfy <<'END'
prompt p(n: int) -> string { user "question ${n}" }
workflow order(n: int, _word: string) -> int { yield sleep(1ms * n); return n }
workflow asks(n: int, _word: string) -> string { return yield p(n) }
workflow waits(_word: string) { yield sleep(10h) }
END
export no_proxy=127.0.0.1
echo '{"models": "models.json", "programs": {"shop": {"file": "shop.tfy"}}}' >serve.json
serves --config serve.json --no-tcp
cat >orders.py <<'END'
import json, os, sys, time, urllib.parse
from unix_http import Unix
client = Unix(os.environ["TFY_DB"] + "-live/http")

def ask(method, path, body=None, **headers):
    client.request(method, path, body and json.dumps(body), {"Content-Type": "application/json", **headers})
    answer = client.getresponse()
    return answer.status, json.loads(answer.read()), answer.headers

def start(workflow, args, label):
    return ask("POST", "/v1/programs/shop/workflows/%s/runs" % workflow, {"args": args, "labels": {"team": label}})

def told(name, good, what=""): print("%s\t%s" % (name, "yes" if good else "no: %s" % (what,)), flush=True)

def pages(limit=3, **filters):
    """All runs of a list, page by page."""
    runs, cursor = [], None
    while True:
        query = dict(filters, limit=limit, **({"cursor": cursor} if cursor else {}))
        status, body, _ = ask("GET", "/v1/runs?" + urllib.parse.urlencode(query))
        assert status == 200, body
        assert len(body["runs"]) == limit or body["next"] is None, body
        runs += body["runs"]
        cursor = body["next"]
        if not cursor: return runs

for i in range(12):
    for n in (i * 7 % 5, 3): start("order", {"n": n, "_word": "tea" if i % 2 else "teapot"}, "web" if i % 3 else "app")
    start("asks", {"n": i * 5 % 7 // 2, "_word": "cup"}, "web")
start("waits", {"_word": "tea"}, "web")
deadline = time.time() + 20
while len(pages(200, state="completed")) < 36 and time.time() < deadline: time.sleep(0.05)
runs = list(reversed(pages(200)))
assert len(runs) == 37 and runs[-1]["workflow"] == "waits", len(runs)
place = {run["id"]: i for i, run in enumerate(runs)}

def milliseconds(text): return round(time.mktime(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")) * 1000) + int(text[20:23])
values = {
    "started": lambda run: 0,
    "ended": lambda run: run["ended"] and milliseconds(run["ended"]),
    "took": lambda run: run["ended"] and milliseconds(run["ended"]) - milliseconds(run["started"]),
    "tokens": lambda run: run["tokens"]["in"] + run["tokens"]["out"] or None,
    "cost": lambda run: run["cost"],
}
def words(run): return run["workflow"] == "waits" or run["workflow"] == "order" and place[run["id"]] // 3 % 2
filters = {
    "all": ({}, lambda run: True),
    "of a state": ({"state": "completed"}, lambda run: run["state"] == "completed"),
    "of a workflow and a program": ({"workflow": "asks", "program": "shop"}, lambda run: run["workflow"] == "asks"),
    "of a label": ({"label.team": "app"}, lambda run: run["labels"]["team"] == "app"),
    "of a word": ({"q": "cup"}, lambda run: run["workflow"] == "asks"),
    "of the start of words": ({"q": "TEA"}, lambda run: run["workflow"] != "asks"),
    "of a word and a label": ({"q": "cup", "label.team": "web"}, lambda run: run["workflow"] == "asks"),
    "since": ({"after": runs[5]["started"][:19] + "Z"}, lambda run: run["started"][:19] >= runs[5]["started"][:19]),
    "that nothing has": ({"q": "coffee"}, lambda run: False),
}
for name, value in values.items():
    for title, (query, fits) in filters.items():
        want = [run["id"] for run in sorted((run for run in runs if fits(run) and value(run) is not None),
                                            key=lambda run: (value(run), place[run["id"]]))]
        got = [run["id"] for run in pages(sort=name, **query)]
        told("%s: %s" % (name, title), got == want, (len(got), len(want)))
        got = [run["id"] for run in pages(sort="-" + name, **query)]
        told("%s backwards: %s" % (name, title), got == want[::-1], (len(got), len(want)))
told("without one the newest come first", pages() == pages(sort="-started"))
told("tokens are there to be ordered by", sum(1 for run in runs if values["tokens"](run)) > 5)
status, body, _ = ask("GET", "/v1/runs?sort=size")
told("another order is none", status == 400 and "-started, started, -ended" in body["detail"], body)
cursor = ask("GET", "/v1/runs?sort=took&limit=1")[1]["next"]
told("a cursor of another order is not followed", ask("GET", "/v1/runs?sort=-took&cursor=" + cursor)[0] == 400)
status, body, _ = ask("POST", "/v1/bulk", {"do": "cancel", "dry_run": True, "filter": {"state": "running", "sort": "started"}})
told("what is done to many has an order, too", status == 200 and body["chosen"] == 1, body)
END
check "the requests come to an end" sh -c 'python3 orders.py >told'
while IFS="$(printf '\t')" read -r what how; do check "$what" test "$how" = yes; done <told
check "all were asked" test "$(wc -l <told)" = 95
ends
check "it ends in order" test $? = 0
