#!/bin/sh
# tfy serve: clients that take too much: more connections than there may be, a byte a second, nothing at all, and answers that
# nobody reads. Whatever they do, others are answered.
. "$here/lib.sh"
. "$here/serve_lib.sh"
cat >shop.tfy <<'XX'
workflow order(text: string) -> int { print(text); return text.len() }
XX
cat >clients.py <<'XX'
import json, os, resource, select, socket, sys, threading, time
from unix_http import Unix

at = os.environ["TFY_DB"] + "-live/http"
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
results = {}

def connect():
    client = socket.socket(socket.AF_UNIX)
    client.connect(at) # waits while too many others do
    client.settimeout(5)
    return client

def is_closed(client):
    """Whether the other side has ended it."""
    poll = select.poll()
    poll.register(client, select.POLLIN)
    try: return bool(poll.poll(0)) and (client.recv(4096) == b"" or is_closed(client))
    except ConnectionError: return True


def ask():
    """How long an answer takes."""
    since = time.time()
    client = Unix(at, timeout=10)
    client.request("GET", "/healthz")
    assert client.getresponse().status == 200
    client.close()
    return time.time() - since

def many():
    """5,000 that say nothing: the oldest ones make room."""
    clients = [connect() for _ in range(5000)]
    results["a client is answered beside 5,000 idle ones"] = ask() < 5
    deadline, gone = time.time() + 10, 0
    while time.time() < deadline and gone < 2900:
        gone = sum(is_closed(client) for client in clients[:3000])
        time.sleep(0.1)
    results["... for which the oldest ones had to go"] = gone >= 2900 or "%d have gone" % gone
    results["... and not the newest"] = not any(is_closed(client) for client in clients[-200:])
    for client in clients: client.close()

def drips(name, first, drop):
    """Sends a byte a second behind what comes first, until it is dropped."""
    client, since = connect(), time.time()
    client.sendall(first)
    while time.time() < since + 45 and not is_closed(client):
        try: client.sendall(drop)
        except OSError: break
        time.sleep(1)
    took = time.time() - since
    results["%s is dropped after half a minute" % name] = 25 < took < 40 or "after %.1f s" % took
    client.close()

def reads_nothing():
    """Asks for everything, and reads none of it."""
    client = connect()
    client.sendall(b"GET /v1/events?after=0 HTTP/1.1\r\nHost: x\r\n\r\n" )
    for _ in range(200):
        try: client.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n")
        except OSError: break
    time.sleep(20)
    results["a client is answered beside one that reads nothing"] = ask() < 5
    client.close()

work = [threading.Thread(target=drips, args=("a head of a byte a second", b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ", b"a")),
        threading.Thread(target=drips, args=("a body of a byte a second",
                         b"POST /v1/programs/shop/workflows/order/runs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n", b" ")),
        threading.Thread(target=reads_nothing)]
for thread in work: thread.start()
slowest, until = 0, time.time() + 36
while time.time() < until:
    slowest = max(slowest, ask())
    time.sleep(0.25)
for thread in work: thread.join()
results["meanwhile everybody else is answered"] = slowest < 5 or "%.1f s" % slowest
many()
json.dump(results, open("results", "w"))
XX
serves shop.tfy --no-tcp
python3 -c 'import json; print(json.dumps({"args": {"text": "x" * 9000}}))' >big
for i in 1 2 3 4 5 6 7 8; do ask -X POST -H 'Content-Type: application/json' --data-binary @big http://x/v1/programs/shop/workflows/order/runs; done
check "the clients come to an end" python3 clients.py
python3 -c 'import json
for what, how in json.load(open("results")).items(): print("%s\t%s" % (how if how is True else "not: %s" % how, what))' >told
while IFS="$(printf '\t')" read -r how what; do check "$what" test "$how" = True; done <told
check "all were looked at" test "$(wc -l <told)" -ge 7
ask http://x/v1/programs
check "the server is well" says 200 '"name":"shop"'
ends
check "it ends in order" test $? = 0
