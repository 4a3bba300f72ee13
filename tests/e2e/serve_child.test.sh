#!/bin/sh
# tfy serve: what a process of its own answers: a run as it was at a record, and two runs compared.
. "$here/lib.sh"
. "$here/http_lib.sh"
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
END
export TFY_DB="$PWD/runs.db"
serves shop.tfy
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

python3 - <<'END'
import http.client, os, re, socket, threading
class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(os.environ["TFY_DB"] + "-live/http")
statuses = []
def ask(path):
    client = Unix("x")
    client.request("GET", path)
    answer = client.getresponse()
    answer.read()
    statuses.append(answer.status)
client = Unix("x")
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
curl -s --unix-socket "$TFY_DB-live/http" "http://x/v1/runs/$one/at/end" >/dev/null &
ends
check "the server ends while a child works" [ $? = 0 ]
check "... and leaves no child" sh -c '! pgrep -f "replay $1" >/dev/null' sh "$one"
