#!/bin/sh
# GET /v1/events: how many there may be, and clients that read nothing: they are dropped after a while (a minute; here three seconds), cost little memory until then,
# and nobody waits for them: not those who read, nor one who reads slowly.
. "$here/lib.sh"
. "$here/serve_lib.sh"
cat >shop.tfy <<'END'
workflow loud(text: string, times: int) -> int {
    for i in 0..times { print(text) }
    return times
}
END
export TFY_TEST_SLOW_S=3
serves shop.tfy --no-tcp
python3 -c 'import json; print(json.dumps({"args": {"text": "x" * 9000, "times": 500}}))' >loud
cat >clients.py <<'END'
import json, os, re, resource, sys, threading, time
from unix_http import Unix
at, pid = os.environ["TFY_DB"] + "-live/http", sys.argv[1]
SILENT, RUNS, STREAMS = 200, 10, 1200
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

def ask(method, path, body=None):
    client = Unix(at, timeout=40)
    client.request(method, path, body and json.dumps(body), {"Content-Type": "application/json"})
    answer = client.getresponse()
    assert answer.status in (200, 201), answer.read()
    return answer.read().decode()

def listen():
    client = Unix(at, timeout=40)
    client.request("GET", "/v1/events")
    return client, client.getresponse()

def told(name, good, why=""): print("%s\t%s" % (name, "yes" if good else "no: %s" % why), flush=True)
def memory(): return int(re.search(r"VmRSS:\s+(\d+)", open("/proc/%s/status" % pid).read())[1]) >> 10
def listeners(): return int(re.search(r"^tfy_sse_subscribers (\d+)", ask("GET", "/metrics"), re.M)[1])

class Reader(threading.Thread):
    """Reads up to the end of the last run, with a pause after each byte."""
    def __init__(self, pause):
        super().__init__()
        self.client, self.answer = listen()
        self.pause, self.ids, self.ends = pause, [], 0
        self.start()
    def run(self):
        rest = b""
        while self.ends < RUNS:
            piece = self.answer.read1(1 << 17)
            if not piece: return
            *events, rest = (rest + piece).split(b"\n\n")
            for event in events: self.note(event)
            time.sleep(self.pause * len(piece))
    def note(self, event):
        if b"event: record" not in event[:40]: return
        self.ids.append(int(event[4:event.index(b"\n")]))
        self.ends += b'"type":"TaskComplete"' in event
    def all(self):
        self.join(60)
        return self.ends == RUNS and self.ids == list(range(self.ids[0], self.ids[0] + len(self.ids)))

def run_all():
    for _ in range(RUNS): ask("POST", "/v1/programs/shop/workflows/loud/runs", json.load(open("loud")))

all_streams = [listen() for _ in range(STREAMS)]
told("1,200 streams are open", all(answer.status == 200 for _, answer in all_streams) and listeners() == STREAMS, listeners())
client, answer = listen()
told("one more is refused", answer.status == 429 and answer.headers["Retry-After"], answer.status)
for client, _ in all_streams: client.close()
del all_streams, client, answer
deadline = time.time() + 20
while listeners() and time.time() < deadline: time.sleep(0.05)
told("... until there is room", listen()[1].status == 200)

alone = Reader(0)
run_all()
told("a client that reads has every record once, in order", alone.all(), alone.ends)
alone.client.close()
before = memory() # the ring of the newest events is full
quick, slow = Reader(0), Reader(0.1e-6)
silent, since = [listen() for _ in range(SILENT)], time.time()
told("all are listened to", listeners() >= SILENT + 2)
run_all()
told("... and so has one beside silent ones", quick.all(), quick.ends)
grown = memory() - before
told("silent clients cost little memory", grown < 192, "%d MiB" % grown)
while listeners() > 2 and time.time() < since + 20: time.sleep(0.1)
told("silent clients are dropped", listeners() <= 2, listeners())
told("... not before their time", time.time() > since + 2.5, time.time() - since)
told("... and their connections are closed", all(b"" in iter(lambda: one.sock.recv(1 << 20), None) for one, _ in silent))
told("who reads slowly has every record once, in order", slow.all(), slow.ends)
told("... and took longer than a silent one may", time.time() - since > 4, time.time() - since)
END
check "the clients come to an end" sh -c 'python3 clients.py "$1" >told; code=$?; cat told; exit $code' sh "$server"
while IFS="$(printf '\t')" read -r what how; do check "$what" test "$how" = yes; done <told
check "all were looked at" test "$(wc -l <told)" = 12
ends
check "it ends in order" test $? = 0
