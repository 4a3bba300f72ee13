#!/bin/sh
# Waits that the endpoint of a model asks for: recorded, parked, killed, and continued to the same instant.
. "$here/lib.sh"
case ${CFLAGS:-} in
*sanitize*)
    echo "skipped: the clock is set by a library, and one before the sanitizer's own is not to be had"
    exit 0
    ;;
esac
cat >work.tfy <<'END'
prompt p(n: int) -> string { user "question ${n}" }
workflow main() -> string {
    let text = yield p(1)
    return text
}
workflow hurried() -> string {
    var said = ""
    try { said = yield p(2) timeout 2s } catch _: Timeout { said = "late" }
    return said
}
workflow bounded() -> string {
    with budget(calls: 1) {
        let text = yield p(3)
        return text
    }
}
END
# Each request is a line of ./requests. While there is a file ./busy it has no time for a day.
cat >server.py <<'END'
import http.server, json, os
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args): pass
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        busy = os.path.exists("busy")
        with open("requests", "a") as log: log.write("busy\n" if busy else "asked\n")
        answer = {"error": {"message": "later"}} if busy else {"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}],
                                                               "usage": {"prompt_tokens": 5, "completion_tokens": 5}}
        data = json.dumps(answer).encode()
        self.send_response(429 if busy else 200)
        if busy: self.send_header("Retry-After", "86400")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print("http://127.0.0.1:%d/v1" % server.server_address[1], flush=True)
server.serve_forever()
END
python3 server.py >address &
server=$!
trap 'kill $server' EXIT
within 10 [ -s address ]
TFY_LLM_URL=$(cat address)
export TFY_LLM_URL no_proxy=127.0.0.1
${CC:-cc} -O1 -fPIC -shared -o clock.so "$here/../fault/inject.c" -lpthread
tfy build work.tfy -o work
asked() { grep -c "$1" requests; }
waits() { tfy inspect last 2>/dev/null | grep -q "waits until .*, as the model's endpoint asks"; }
tomorrow() { env CLOCK=86500 LD_PRELOAD="$PWD/clock.so" "$@"; }
begin() { # a workflow that waits, until it is killed
    rm -rf .tfy
    : >requests
    touch busy
    start ./work run --workflow "$1"
    within 10 waits
    kill -9 "$pid"
    finish
}

begin main
check "the wait is recorded" [ "$(records TaskYield)" = 1 ]
run tfy inspect last
check "... and inspect says for what and until when" printed ", as the model's endpoint asks"
run tfy inspect last --json
check "... also in JSON" grep -q '"waits_for": *"endpoint"' out
until=$(sqlite3 .tfy/runs.db "select payload->>'due' from wal where type=14")
start ./work resume last
sleep 1
kill -9 "$pid"
finish
check "a resume waits on, and asks nobody" [ "$(asked busy)" = 1 ]
rm busy
run tomorrow ./work resume last
check "... and asks when the time has come" printed '"ok"'
check "... once" [ "$(asked .)" = 2 ]
check "... without another wait" [ "$(sqlite3 .tfy/runs.db "select group_concat(payload->>'due') from wal where type=14")" = "$until" ]
check "the answer's record counts both requests" [ "$(sqlite3 .tfy/runs.db "select payload->>'tries' from wal where type=2")" = 2 ]
run ./work replay last
check "... and is replayed" printed " 0 divergences"
run tfy verify
check "... and fits its rules" ended 0
run tfy fork last --at 1
check "a fork begins behind the wait" ended 0

begin hurried
run ./work resume last
check "a timeout ends the wait" printed '"late"'
check "... which asks nobody again" [ "$(asked .)" = 1 ]
run ./work replay last
check "... in a replay, too" printed " 0 divergences"

begin bounded
rm busy
run tomorrow ./work resume last
check "what was put down for a request that was sent away is free again" printed '"ok"'
run ./work replay last
check "... in a replay, too" printed " 0 divergences"

# A run that waits leaves memory; whoever wakes it finds the same instant.
rm -rf .tfy
: >requests
touch busy
start env TFY_PARK_AFTER=200 ./work run
parked() { [ "$(sqlite3 .tfy/runs.db "select count(*) from run join wal where type=14 and parked=payload->>'due'")" = 1 ]; }
check "a run that waits leaves memory until then" within 10 parked
kill -9 "$pid"
finish
rm busy
run tomorrow ./work resume --all
check "... and comes back" [ "$(sqlite3 .tfy/runs.db "select payload->>'value' from wal where type=7")" = ok ]
check "... with the requests that it had sent" [ "$(sqlite3 .tfy/runs.db "select payload->>'tries' from wal where type=2")" = 2 ]
run ./work replay last
check "... and is replayed" printed " 0 divergences"

# Killed around each commit, it asks again only when nobody knows that it must wait.
killed() { # PLACE:N; 2: it is not reached before the wait is over
    rm -rf .tfy
    : >requests
    touch busy
    TFY_TEST_KILL=$1 ./work run >out 2>err &
    trial=$!
    within 10 sh -c "! kill -0 $trial || '$TFY' inspect last 2>/dev/null | grep -q 'waits until'"
    reached=0
    if kill -9 $trial 2>/dev/null; then reached=2; fi
    wait $trial 2>/dev/null
    noted=$(records TaskYield)
    rm busy
    if [ -z "$(sqlite3 .tfy/runs.db 'select id from run')" ]; then return $reached; fi
    tomorrow ./work resume last >out 2>err || return 1
    grep -q '"ok"' out || return 1
    [ "$(asked asked)" = 1 ] && [ "$(records TaskYield)" = "${noted:-0}" ] || return 1
    ./work replay last | grep -q " 0 divergences" || return 1
    return $reached
}
commit=1
while killed before:$commit && killed after:$commit; do commit=$((commit + 1)); done
killed before:$commit
check "killed around each commit of the wait" [ "$? $((commit > 1))" = "2 1" ]
