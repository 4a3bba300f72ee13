#!/bin/sh
# Each role on each route of tfy serve: the table of who may what, against every route of the document. What is allowed is asked for
# with a body that nobody takes, so that nothing happens.
. "$here/lib.sh"
. "$here/serve_lib.sh"
cat >shop.tfy <<'END'
workflow order(n: int) -> int { return n }
END
serves shop.tfy --listen 127.0.0.1:0
export url="$(sed -n 's/^tfy serve: serving .* and \(http.*\)$/\1/p' served)"
for role in viewer approver operator admin; do tfy token create "the-$role" --roles $role --rate none >"$role.token"; done
ask http://x/openapi.json
mv out openapi.json
cat >roles.py <<'END'
import http.client, json, os, re, urllib.parse
where = urllib.parse.urlparse(os.environ["url"])
ANYBODY, LOOKS = "anybody", "viewer approver operator admin"
TABLE = {
    "GET /healthz": ANYBODY, "GET /readyz": ANYBODY, "GET /metrics": LOOKS, "GET /openapi.json": LOOKS,
    "GET /v1/programs": LOOKS, "GET /v1/programs/{p}": LOOKS, "PUT /v1/programs/{p}": "admin", "POST /v1/programs/{p}/move": "admin",
    "DELETE /v1/programs/{p}/versions/{v}": "admin", "GET /v1/programs/{p}/graph": LOOKS, "GET /v1/stats": LOOKS,
    "POST /v1/programs/{p}/workflows/{w}/runs": "operator admin", "POST /v1/programs/shop/workflows/order/runs": "operator admin", "GET /v1/runs": LOOKS, "GET /v1/runs/{id}": LOOKS,
    "GET /v1/events": LOOKS, "GET /v1/runs/{id}/records": LOOKS, "GET /v1/runs/{id}/timeline": LOOKS, "GET /v1/runs/{id}/tasks": LOOKS,
    "GET /v1/runs/{id}/records/{lsn}": LOOKS, "GET /v1/runs/{id}/output": LOOKS, "GET /v1/runs/{id}/source": LOOKS, "GET /v1/runs/{id}/at/{place}": LOOKS, "GET /v1/compare": LOOKS,
    "POST /v1/runs/{id}/signals": "operator admin", "POST /v1/runs/{id}/cancel": "operator admin", "POST /v1/runs/{id}/fork": "operator admin",
    "POST /v1/runs/{id}/again": "operator admin", "POST /v1/bulk": "operator admin",
    "POST /v1/runs/{id}/steps/{task}/{step}/resolve": "operator admin", "GET /v1/records/{lsn}": LOOKS, "GET /v1/questions": LOOKS,
    "GET /v1/questions/{id}/{task}/{step}": LOOKS, "POST /v1/questions/{id}/{task}/{step}/answer": "approver admin",
    "POST /v1/session": ANYBODY, "DELETE /v1/session": ANYBODY, "POST /v1/login": "admin", "GET /v1/me": ANYBODY, "GET /v1/tokens": "admin",
    "POST /v1/tokens": "admin", "DELETE /v1/tokens/{name}": "admin", "GET /v1/schedules": LOOKS, "POST /v1/schedules/{s}/trigger": "operator admin",
    "POST /v1/schedules/{s}/pause": "operator admin", "POST /v1/schedules/{s}/unpause": "operator admin", "GET /v1/followers": LOOKS,
    "POST /v1/hooks/{h}": ANYBODY, "POST /v1/drain": "admin", "GET /v1/audit": "admin",
}
BY_THEMSELVES = ("POST /v1/session", "DELETE /v1/session", "GET /v1/me", "POST /v1/hooks/{h}") # they say 401 for reasons of their own

def ask(route, token):
    method, path = route.split(" ")
    path = re.sub(r"\{\w+\}", "ffffffff", path)
    client = http.client.HTTPConnection(where.hostname, where.port, timeout=20)
    client.request(method, path, None if method == "GET" else '{"nobody takes this": 1}',
                   {"Content-Type": "application/json", **({"Authorization": "Bearer " + token} if token else {})})
    status = client.getresponse().status
    client.close() # also a stream
    return status

documented = {"%s %s" % (method.upper(), path) for path, of in json.load(open("openapi.json"))["paths"].items() for method in of}
assert documented == set(TABLE), documented ^ set(TABLE)
tokens = {role: open(role + ".token").read().strip() for role in LOOKS.split()}
wrong = []
for route, may in TABLE.items():
    for role in ["nobody", *tokens]:
        status = ask(route, tokens.get(role))
        refused = status == (401 if role == "nobody" else 403)
        if may == ANYBODY: fine = not refused or route in BY_THEMSELVES
        else: fine = refused != (role in may.split())
        if not fine: wrong.append((route, role, status))
assert not wrong, wrong
print(len(TABLE), "routes")
END
check "each role may what its row of the table says, and nothing else" python3 roles.py
ask http://x/v1/tokens
check "nothing has happened meanwhile" sh -c '[ "$(grep -o "\"name\":" out | wc -l)" = 4 ]'
ask http://x/v1/runs
check "... at all" is runs '[]'
ask http://x/readyz
check "... and the server goes on" says 200
ends
