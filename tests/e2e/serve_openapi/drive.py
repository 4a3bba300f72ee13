# drive.py SOCKET ANSWERS: asks every route, well and badly, and writes what came as lines of JSON.
import hashlib, hmac, http.client, json, socket, sys, time

at, out = sys.argv[1], open(sys.argv[2], "w")

def ask(method, path, body=None, headers=None, wants=None):
    """wants: the statuses that fit, at least their first digit; the body of the answer comes back."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else b""
    fields = {"Host": "x", "Content-Type": "application/json", "Content-Length": len(raw), **(headers or {})}
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(20)
    connection.connect(at)
    # In one piece: what is refused by its head closes the connection before a body is read.
    connection.sendall(("%s %s HTTP/1.1\r\n" % (method, path) + "".join("%s: %s\r\n" % one for one in fields.items()) + "\r\n").encode() + raw)
    answer = http.client.HTTPResponse(connection, method=method)
    answer.begin()
    stream = "event-stream" in answer.getheader("Content-Type", "")
    text = (answer.read1(65536) if stream else answer.read()).decode()
    connection.close()
    json.dump({"method": method, "path": path.split("?")[0], "status": answer.status, "type": answer.getheader("Content-Type"), "body": text}, out)
    out.write("\n")
    assert wants is None or str(answer.status).startswith(wants), (method, path, answer.status, text)
    return json.loads(text) if "json" in answer.getheader("Content-Type", "") and text else text

def good(method, path, *more): return ask(method, path, *more, wants="2")
def bad(method, path, *more): return ask(method, path, *more, wants="4")
def until(what):
    for _ in range(500):
        found = what()
        if found: return found
        time.sleep(0.02)
    raise AssertionError("it does not come")

order = {"args": {"customer": "ann", "articles": [{"name": "tea", "n": 3, "size": {"case": "made", "width": 3}, "parts": [{"name": "leaf", "n": 1}]}], "rest": {"a": [1]}}, "labels": {"team": "web"}}
for path in ("/healthz", "/readyz", "/metrics", "/openapi.json", "/v1/me"):
    good("GET", path)
    ask("POST", path, {}, None, "4")
for path in ("/v1/programs", "/v1/programs/shop", "/v1/programs/shop/graph", "/v1/stats?by=day,workflow", "/v1/stats?by=model,hour", "/v1/schedules", "/v1/followers", "/v1/tokens"): good("GET", path)
for path in ("/v1/programs?x=1", "/v1/programs/shopp", "/v1/programs/shopp/graph", "/v1/stats?by=year", "/v1/runs?limit=0", "/v1/questions?limit=x", "/v1/audit?limit=x", "/v1/schedules?x=1",
             "/v1/followers?x=1", "/v1/tokens?x=1", "/v1/events?x=1", "/v1/records/x", "/v1/compare?a=x"): bad("GET", path)

start = "/v1/programs/shop/workflows/order/runs"
first = good("POST", start, order, {"Idempotency-Key": "one", "Prefer": "wait=10"})
assert first["state"] == "completed" and first["result"] == {"sizes": [{"case": "made", "width": 3, "note": None}]}, first
good("POST", start, order, {"Idempotency-Key": "one"})
bad("POST", start, {"args": {}}, {"Idempotency-Key": "one"})
bad("POST", start, {"args": {"customer": 1, "articles": [{}], "weight": "x"}, "labels": {"A": 1}})
bad("POST", start, b"{")
good("POST", "/v1/programs/shop/workflows/nothing/runs", {}, {"Prefer": "wait=10"})
run = "/v1/runs/" + first["id"]
for path in ("/v1/runs", "/v1/runs?state=completed&limit=1", run, run + "/records", run + "/timeline", run + "/tasks", run + "/output", run + "/source", run + "/at/end", run + "/at/record-1", "/v1/questions", "/v1/audit", "/v1/events?after=0"): good("GET", path)
for path in ("", "/records", "/timeline", "/tasks", "/output", "/source", "/at/end"): bad("GET", "/v1/runs/01a2063c-0000-7000-8000-000000000000" + path)
again = good("POST", run + "/again", {})
bad("POST", run + "/again", {"x": 1})
good("GET", "/v1/compare?a=%s&b=%s" % (first["id"], until(lambda: ask("GET", "/v1/runs/" + again["id"]).get("ended") and again["id"])))
bad("POST", run + "/cancel", {})
good("GET", "/v1/records/%d" % good("GET", run + "/records")["records"][0]["lsn"])
good("GET", run + "/records/%d" % good("GET", run + "/records")["records"][0]["lsn"])
bad("GET", run + "/records/99999")

asked = good("POST", "/v1/programs/desk/workflows/refund/runs", {"args": {"who": "ann", "cents": 350}})
question = until(lambda: ask("GET", "/v1/questions?run=" + asked["id"])["questions"])[0]
place = "/v1/questions/%s/1/1" % asked["id"]
good("GET", place)
bad("GET", place[:-1] + "9")
bad("POST", place + "/answer", {"answer": "maybe"})
bad("POST", place + "/answer", {"answer": "keep"}, {"If-Match": '"0000"'})
good("POST", place + "/answer", {"answer": "keep"})
bad("POST", place + "/answer", {"answer": "drop"})
until(lambda: ask("GET", "/v1/runs/" + asked["id"]).get("result") == "keep")
good("GET", place)
forked = good("POST", "/v1/runs/" + asked["id"] + "/fork", {"step": 1, "value": "drop"})
bad("POST", "/v1/runs/" + asked["id"] + "/fork", {"step": 99})

for path in ("/v1/programs/desk/graph", "/v1/stats?by=workflow,day", "/v1/stats?by=model", "/v1/questions"): good("GET", path)
of = "/v1/runs/" + forked["id"]
for path in ("/records", "/timeline", "/tasks", "/output", "/at/end", "/at/record-2"): good("GET", of + path)
good("GET", "/v1/compare?a=%s&b=%s" % (asked["id"], forked["id"]))

waits = good("POST", "/v1/programs/desk/workflows/waits/runs", {})
bad("POST", "/v1/runs/" + waits["id"] + "/signals", {"nam": "go"})
good("POST", "/v1/runs/" + waits["id"] + "/signals", {"name": "go", "value": 7, "id": "s-1"})
stuck = good("POST", "/v1/programs/desk/workflows/waits/runs", {})
bad("POST", "/v1/runs/" + stuck["id"] + "/steps/1/1/resolve", {"how": "done", "value": 1})
good("POST", "/v1/runs/" + stuck["id"] + "/cancel", {})

many = [good("POST", "/v1/programs/desk/workflows/waits/runs", {})["id"] for _ in range(2)]
good("POST", "/v1/bulk", {"do": "cancel", "runs": many + ["01a2063c-0000-7000-8000-000000000000"]})
good("POST", "/v1/bulk", {"do": "again", "filter": {"state": "cancelled"}, "dry_run": True})
good("POST", "/v1/bulk", {"do": "signal", "runs": many, "signal": {"name": "go"}})
bad("POST", "/v1/bulk", {"do": "cancel", "filter": {}})

schedule = "/v1/schedules/nightly/"
for what in ("trigger", "pause", "unpause"):
    good("POST", schedule + what, {})
    bad("POST", "/v1/schedules/weekly/" + what, {})
hook = b'{"a": 1}'
signature = "sha256=" + hmac.new(open("hook.key", "rb").read().strip(), hook, hashlib.sha256).hexdigest()
good("POST", "/v1/hooks/github", hook, {"X-Hub-Signature-256": signature, "X-GitHub-Delivery": "d-1"})
bad("POST", "/v1/hooks/github", hook, {"X-Hub-Signature-256": "sha256=00", "X-GitHub-Delivery": "d-2"})

good("POST", "/v1/tokens", {"name": "reader", "roles": ["viewer"]})
bad("POST", "/v1/tokens", {"name": "reader", "roles": ["views"]})
good("GET", "/v1/tokens")
good("POST", "/v1/login", {})
bad("POST", "/v1/login", {"x": 1})
good("DELETE", "/v1/tokens/reader")
bad("DELETE", "/v1/tokens/reader")
bad("POST", "/v1/session", {"code": "x"})

text = open("desk.tfy").read()
good("PUT", "/v1/programs/desk", {"files": [{"path": "desk.tfy", "text": text.replace("cents?", "cents, really?")}]})
bad("PUT", "/v1/programs/desk", {"files": [{"path": "desk.tfy", "text": "workflow main( {"}]})
good("POST", "/v1/programs/desk/move", {})
gone = good("PUT", "/v1/programs/gone", {"files": [{"path": "gone.tfy", "text": "workflow main() {}"}]})
bad("DELETE", "/v1/programs/gone/versions/ffffffffffff")
good("DELETE", "/v1/programs/gone/versions/" + gone["version"])
bad("POST", "/v1/programs/desks/move", {})
bad("POST", "/v1/drain", {"x": 1})
good("POST", "/v1/drain", {})
