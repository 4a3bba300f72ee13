#!/bin/sh
# Sockets that whoever starts tfy serve hands over, as systemd does: a restart loses no connection.
. "$here/lib.sh"
. "$here/serve_lib.sh"
cat >shop.tfy <<'END'
workflow order(n: int) -> int { return n + 1 }
END
tfy build --shared shop.tfy -o shop.so 2>/dev/null
cat >restarts.py <<'END'
# restarts.py: keeps two sockets, starts the server four times one after the other, and asks it all the while.
import atexit, http.client, json, os, signal, socket, subprocess, sys, threading, time
from unix_http import Unix

tcp = socket.socket()
tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
tcp.bind(("127.0.0.1", 0))
tcp.listen(1024)
port = tcp.getsockname()[1]
unix = socket.socket(socket.AF_UNIX)
unix.bind(os.path.abspath("proxy.sock"))
unix.listen(1024)
json.dump({"hosts": ["tfy.example.org"], "listen": [{"unix": os.path.abspath("proxy.sock"), "proxy": True, "user_header": "X-User", "groups_header": "X-Groups", "groups": {"ops": ["operator"]}},
                      {"address": "127.0.0.1:%d" % port}], "programs": {"shop": {"file": "shop.so"}}}, open("serve.json", "w"))

def start():
    def hand_over():
        a, b = os.dup(tcp.fileno()), os.dup(unix.fileno())
        os.dup2(a, 3)
        os.dup2(b, 4)
        os.environ.update(LISTEN_FDS="2", LISTEN_PID=str(os.getpid()), LISTEN_FDNAMES="web:proxy")
        os.execvp("tfy", ["tfy", "serve", "--config", "serve.json"])
    pid = os.fork()
    if not pid: hand_over()
    return pid
def end_it():
    try: os.kill(pid, signal.SIGKILL)
    except ProcessLookupError: pass
atexit.register(end_it)

END_ = threading.Event()
lost, answered, started, runs = [], [0], [0], set()

def keep_asking(number):
    while not END_.is_set():
        connection = Unix("proxy.sock", "tfy.example.org") if number % 2 else http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        try:
            if number % 2:
                body = json.dumps({"args": {"n": answered[0]}})
                connection.request("POST", "/v1/programs/shop/workflows/order/runs", body, {"Content-Type": "application/json", "X-User": "ann", "X-Groups": "ops"})
            else:
                connection.request("GET", "/healthz")
            answer = connection.getresponse()
            text = answer.read()
            if answer.status == 201: runs.add(json.loads(text)["id"])
            if answer.status not in (200, 201, 503): lost.append((answer.status, text))
            answered[0] += 1
        except Exception as why:
            lost.append(repr(why))
        connection.close()
        time.sleep(0.03) # a caller may ask 100 times a second

threads = [threading.Thread(target=keep_asking, args=(i,), daemon=True) for i in range(4)]
pid = start()
for thread in threads: thread.start()
for i in range(3):
    had, wanted = answered[0], time.time() + 20
    while answered[0] < had + 60 and time.time() < wanted: time.sleep(0.01)
    os.kill(pid, signal.SIGTERM)
    status = os.waitpid(pid, 0)[1]
    assert os.waitstatus_to_exitcode(status) == 0, status
    time.sleep(0.2)
    pid = start()
had, wanted = answered[0], time.time() + 20
while answered[0] < had + 60 and time.time() < wanted: time.sleep(0.01)
END_.set()
for thread in threads: thread.join()
seen, path = set(), "/v1/runs?limit=200"
while path:
    connection = Unix("runs.db-live/http", "tfy.example.org")
    connection.request("GET", path)
    page = json.loads(connection.getresponse().read())
    seen |= {run["id"] for run in page["runs"]}
    path = page["next"] and "/v1/runs?limit=200&cursor=" + page["next"]
os.kill(pid, signal.SIGTERM)
os.waitpid(pid, 0)
print(answered[0], "answered,", len(runs), "started,", len(lost), "lost:", lost[:5])
assert not lost and answered[0] >= 240 and len(runs) > 50 and runs <= seen
END
check "a restart loses no connection" python3 restarts.py
check "the socket of a proxy stays, too" [ -S proxy.sock ]

cat >alone.py <<'END'
import os, socket, sys
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen()
fd = os.dup(s.fileno())
os.dup2(fd, 3)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid() + int(sys.argv[1])))
os.execvp("tfy", ["tfy", "serve", "shop.so", "--no-tcp"])
END
timeout 20 python3 alone.py 0 2>err
check "a socket that the configuration does not have is refused" [ $? = 69 ]
check "... by name" grep -qE 'the socket 127.0.0.1:[0-9]+ was handed over, and "listen" does not have it' err
timeout 5 python3 alone.py 1 2>err
check "one that is somebody else's is left alone" grep -q '^tfy serve: serving' err

activate=$(command -v systemd-socket-activate)
if [ -n "$activate" ]; then
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    "$activate" -l "127.0.0.1:$port" -E PATH -E TFY_DB -E XDG_CACHE_HOME "$(command -v tfy)" serve shop.so --listen "127.0.0.1:$port" >activated 2>&1 &
    server=$!
    answers() { [ "$(curl -sS --max-time 10 -o out -w '%{http_code}' "http://127.0.0.1:$port/healthz" 2>err)" = 200 ]; }
    check "systemd's own starts it by the first connection" within 20 answers
    kill "$server"
    wait "$server" 2>/dev/null
else
    echo "skipped: systemd-socket-activate is not installed"
fi

units=$(dirname "$(find "$(dirname "$(command -v tfy)")" -name tfy.service | head -n 1)")
sed "s|^ExecStart=[^ ]*/tfy |ExecStart=$(command -v tfy) |" "$units/tfy.service" >tfy.service
cp "$here/../../runtime/serve/tfy.socket" .
if command -v systemd-analyze >/dev/null 2>&1; then
    run systemd-analyze verify --man=no ./tfy.socket
    check "systemd accepts the units" [ "$status" = 0 -a ! -s err ]
else
    echo "skipped: systemd-analyze is not installed"
fi
