#!/bin/sh
# http tools and the effect http against a server that answers well and badly; secrets in them.
. "$here/lib.sh"
"$build/tests/http_server" --log requests >address 2>/dev/null &
server=$!
export no_proxy="*" NO_PROXY="*"
trap 'kill "$server"' EXIT
within 10 [ -s address ]
base=$(cat address) port=${base##*:}
asked() { grep -cxF -- "$1" requests; }

cat >tools.tfy <<'END'
type Weather { city: string, temp: int }

tool weather(port: int, city: string) -> Weather = http "GET http://127.0.0.1:${port}/json/${city}"
tool elsewhere(port: int) -> string = http "GET http://127.0.0.1:${port}/to/text"
tool order(port: int, what: string) -> HttpResponse = http "POST http://127.0.0.1:${port}/echo" headers {
    "X-What": "one ${what}",
    "Accept": "",
} body "order ${what}"
tool forget(port: int) = http "DELETE http://127.0.0.1:${port}/empty"
tool path(port: int, name: string) -> string once = http "GET http://127.0.0.1:${port}/${name}"
tool file(port: int, dir: string, path: string) = http "GET http://127.0.0.1:${port}/json/${dir}/${+path}"
tool status(port: int, n: int) -> string = http "GET http://127.0.0.1:${port}/status/${n}"

workflow main(port: int) {
    let w = yield weather(port, "a/b c?")
    print("${w}")
    yield file(port, "a/b", "c/d e?q=1&r=%2F%zz\u{e4}")
    let text = yield elsewhere(port)
    print(text.lines()[0])
    let made = yield order(port, "tea") key "the key"
    print(made.body)
    yield forget(port)
    try {
        let s = yield status(port, 503) retry 1 backoff 1ms
        print(s)
    } catch e: ToolError {
        print("${e.tool} ${e.code}: ${e.message}")
    }
    try {
        let t = yield path(port, "to")
        print(t)
    } catch e: ToolError {
        print("${e.code}")
    }
    try {
        let broken = yield weather(port, "nothing")
        print("${broken}")
    } catch e: BadValue {
        print("bad value at ${e.path}")
    }
}
END
run tfy run tools.tfy --port "$port"
check "http tools: 0" [ "$status" = 0 ]
check "values become one part of the address" [ "$(asked 'GET /json/a%2Fb%20c%3F')" = 1 ]
check "... and with a plus as many as it has" [ "$(asked 'GET /json/a%2Fb/c/d%20e?q=1&r=%2F%25zz%C3%A4')" = 1 ]
check "a body is decoded into the type" printed '{"city":"a%2Fb%20c%3F","temp":21}'
check "a GET follows redirects" printed "line one"
check "headers and body go along" printed "X-What: one tea"
check "... the body as it is" printed "order tea"
check "... with the step's key" printed "Idempotency-Key: the%20key"
check "a status that is not 2xx is a ToolError" printed "status 503: GET http://127.0.0.1:$port/status/503 answered HTTP 503: this is 503, as asked for"
check "... and what is pure is tried again" [ "$(asked 'GET /status/503')" = 2 ]
check "what is no JSON of the type is a BadValue" printed "bad value at \$.city"
run tfy replay last
check "replay performs nothing: 0 divergences" printed " 0 divergences, 0 effects performed"

cat >effect.tfy <<'END'
workflow show(base: string, path: string) {
    try {
        let r = yield http("GET", base + path) timeout 500ms
        print("${path} ${r.status} ${r.body.len()} ${r.truncated} ${r.lossy}")
        if path == "/twice" { print(r.headers["x-a"]) }
    } catch e: Timeout {
        print("${path} timeout ${e.in_doubt}")
    } catch e: ToolError {
        print("${path} error ${e.code}: ${e.message}")
    }
}

workflow send(base: string, path: string) {
    try {
        let r = yield http("POST", base + path, body: "x") timeout 500ms
        print("${path} ${r.status}")
    } catch e: Timeout {
        print("${path} timeout ${e.in_doubt}")
    }
}

/// Three a second at one host. Another host is not bound by them, nor is a place without limits.
workflow polite(base: string, other: string) {
    let start = yield now()
    let pages = parallel for i in 1..5 { give yield http("GET", base + "/text?${i}", limit: 2, rate: 3/1s) }
    let mid = yield now()
    let there = parallel for i in 1..4 { give yield http("GET", other + "/text", rate: 3/1s, limit: 2) }
    let free = yield http("GET", base + "/text")
    let end = yield now()
    print("${pages.len()} ${mid - start >= 1s} ${there.len()} ${end - mid < 1s} ${free.status}")
}

/// The fourth request comes from another process.
workflow again(base: string) {
    let start = yield now()
    for i in 1..4 { yield http("GET", base + "/text", rate: 3/1s) }
    let on = yield approve("go on?")
    yield http("POST", base + "/text", rate: 3/1s)
    let end = yield now()
    print("${on} ${end - start >= 1s}")
}

workflow main(base: string) {
    for path in ["/text", "/to/text", "/circle", "/drip", "/half", "/heads", "/garbage", "/twice", "/reset", "/hang", "/huge", "/nope"] {
        yield show(base, path)
    }
    for path in ["/to/text", "/hang"] { yield send(base, path) }
    for url in ["ftp://x/", "http://a b/", "no", "http://127.0.0.1:1/"] { yield show("", url) }
    for headers in [{ "X-A": "one\r\nX-B: two" }, { "hOST": "other.example" }] {
        try {
            let bad = yield http("GET", base, headers: headers)
            print("${bad.status}")
        } catch e: ToolError {
            print(e.message)
        }
    }
}
END
run tfy run effect.tfy --base "$base"
check "the effect http: 0" [ "$status" = 0 ]
check "a redirect is followed" printed "/text 200 18 false false
/to/text 200 18 false false"
check "... but not for ever" printed "/circle error 40: GET $base/circle: it was redirected more than 10 times"
check "slow answers" printed "/drip 200 5 false false"
check "half an answer" printed "/half error 104: GET $base/half: the response broke off"
check "headers without end" printed "/heads error 27:"
check "what is no HTTP" printed "/garbage error 71: GET $base/garbage: the server does not speak HTTP"
check "a header that comes twice, bytes that are no text" printed "/twice 200 3 false true
one, two"
check "a reset" printed "/reset error 104:"
check "a server that hangs" printed "/hang timeout false"
check "an answer without end is cut" printed "/huge 200 1048576 true false"
check "any status is an answer" printed "/nope 404 21 false false"
check "a POST is not redirected" printed "/to/text 302"
check "... in doubt when nobody answers in time" printed "/hang timeout true"
check "... and sent once each" [ "$(asked 'POST /to/text') $(asked 'POST /hang')" = "1 1" ]
check "other protocols are refused" printed "ftp://x/ error 22"
check "nobody there" printed "http://127.0.0.1:1/ error 111"
check "line breaks in headers are refused" printed "the header 'X-A' is not valid"
check "another Host is refused" printed "the header 'hOST' is not set: it comes from the address"

run tfy run effect.tfy --workflow polite --base "$base" --other "http://localhost:$port"
check "limit and rate of http hold for each host" printed_exactly "4 true 3 true 200"
run tfy replay last
check "... and a replay does not wait for them" printed " 0 divergences, 0 effects performed"
TFY_SNAPSHOT_EVERY=2 run tfy run effect.tfy --workflow again --base "$base"
check "a snapshot knows the host's window" [ "$(sqlite3 .tfy/runs.db "select count(*) from wal where type=33 and payload like '%http 0 3/1000 127.0.0.1:$port%'")" -gt 0 ]
tfy approve last >/dev/null 2>&1
run tfy resume last
check "a restart does not evade a rate of http" printed "true true"

# What is kept of an output, and what a file may have, can be set.
cat >most.tfy <<'END'
tool much() -> ExecResult pure = exec ["head", "-c", "3000000", "/dev/zero"]
workflow main(base: string) -> string {
    let r = yield http("GET", base + "/huge")
    let m = yield much()
    var file = "read"
    try {
        yield write_file("big", "x".repeat(3000))
        let text = yield read_file("big")
        file = "${text.len()}"
    } catch e: ToolError {
        file = e.message
    }
    return "${r.body.len()} ${m.out.len()} ${m.truncated} ${file}"
}
END
run tfy run most.tfy --base "$base" --max-output 2M --max-file 2K
check "options set what is kept and read" printed "2097152 2097152 true cannot write 'big': it is larger than 2048 bytes (--max-file SIZE allows more)"
run tfy run most.tfy --base "$base" --max-output 3M
check "... and allow more" printed "3145728 3000000 false 3000"
run tfy replay last
check "... which a replay need not know" printed " 0 divergences"
run tfy run most.tfy --base "$base" --max-output 1T
check "... to a limit" ended 64 "'1T' is not a value of --max-output"

# A POST that is under way when the process dies is in doubt.
cat >post.tfy <<'END'
tool pay(port: int) -> string = http "POST http://127.0.0.1:${port}/hang"
workflow main(port: int) -> string {
    let r = yield pay(port)
    return r
}
END
rm -rf .tfy
before=$(asked 'POST /hang')
start tfy run post.tfy --port "$port"
within 20 sh -c "[ \$(grep -cx 'POST /hang' requests) -gt $before ]"
kill -KILL "$pid"
finish
run tfy resume
check "a POST that was under way is in doubt: 75" ended 75 "tfy resolve"
check "... and not sent again" [ "$(asked 'POST /hang')" = $((before + 1)) ]
run tfy resolve last 1 --done '"paid"'
run tfy resume
check "... until a person says what became of it" printed_exactly '"paid"'

# What an answer, or the lack of one, says about a POST: done, certainly not done (its undo is dropped), or nobody knows (its undo is kept, and a
# person is asked).
cat >ends.tfy <<'END'
type Paid { paid: bool }

tool pay(port: int, path: string) -> Paid = http "POST http://127.0.0.1:${port}/${path}"
tool status(port: int, n: int) -> string = http "POST http://127.0.0.1:${port}/status/${n}"
tool away(port: int) -> string = http "POST http://127.0.0.1:${port}/to/text"

tool sealed(port: int) -> string = http "POST https://127.0.0.1:${port}/text"

workflow main(port: int, path: string = "", n: int = 0) -> string {
    try {
        if path == "sealed" {
            let t = yield sealed(port) undo { print("undo") }
            return t
        }
        if path == "to" {
            let t = yield away(port) undo { print("undo") }
            return t
        }
        if n > 0 {
            let t = yield status(port, n) undo { print("undo") }
            return t
        }
        let p = yield pay(port, path) undo { print("undo") }
        return "${p.paid}"
    } catch e {
        return "caught: ${e.message}"
    }
}
END
in_doubt() { ended 75 "tfy resolve" && ! grep -q undo out; }
not_done() { ended 0 && ! grep -q undo out && printed "caught: $1"; }
ends()
{
    rm -rf .tfy
    run tfy run ends.tfy "$@"
}
for path in reset half garbage text huge heads to; do
    before=$(grep -c '^POST' requests)
    ends --port "$port" --path $path
    check "POST /$path: nobody knows whether it was done" in_doubt
    check "... and it was sent once" [ "$(grep -c '^POST' requests)" = $((before + 1)) ]
done
run tfy resolve last "$(sqlite3 .tfy/runs.db "select step from history where type='InDoubt'")" --fail
run tfy resume last
check "... --fail raises the error" not_done "POST http://127.0.0.1:$port/to/text answered HTTP 302"
run tfy replay last
check "... and it replays" printed " 0 divergences, 0 effects performed"
for n in 500 503; do
    ends --port "$port" --n $n
    check "HTTP $n: nobody knows" in_doubt
done
for n in 400 404 409 429; do
    ends --port "$port" --n $n
    check "HTTP $n is a refusal: not done" not_done "POST http://127.0.0.1:$port/status/$n answered HTTP $n"
done
ends --port 1 --path text
check "nobody listens: not done" not_done "POST http://127.0.0.1:1/text:"
ends --port "$port" --path sealed
check "no secure connection comes about: not done" not_done "POST https://127.0.0.1:$port/text:"

# ---- secrets ----
cat >secret.tfy <<'END'
tool login(port: int, token: string) -> HttpResponse = http "POST http://127.0.0.1:${port}/echo" headers {
    "Authorization": "Bearer ${token}",
    "X-Key": secret("API_KEY"),
} body "${token} and ${secret("API_KEY")}"
tool say(word: string, more: list<string>) -> string = exec ["sh", "-c", "echo a $WORD $0"].concat(more) env { "WORD": word }
tool leak() -> ExecResult = exec ["sh", "-c", "echo out $K; echo err $K >&2; exit 3"] env { "K": secret("API_KEY") }

workflow main(port: int, hostile: string = "secret:API_KEY") {
    let r = yield login(port, secret("TOKEN")) key "k"
    print(r.body)
    let words = yield say("${secret("TOKEN")}!", [hostile])
    print(words)
    let l = yield leak()
    print("${l.code} ${l.out.trim()} ${l.err.trim()}")
    let x = yield exec(["cat"], stdin: secret("TOKEN"))
    print(x.out)
    let f = yield http("GET", "http://127.0.0.1:${port}/to/echo", headers: { "X": secret("TOKEN") })
    print("${f.status}")
}
END
rm -rf .tfy
run env TFY_SECRET_API_KEY=key-12345 tfy run secret.tfy --port "$port"
check "a secret that is missing fails by its name" ended 1 "ToolError: the secret TOKEN is missing; set TFY_SECRET_TOKEN"
check "... before anything is sent" [ "$(asked 'POST /echo')" = 1 ]
printf 'TOKEN=file-67890\nOTHER=x\n' >secrets
chmod 644 secrets
run env TFY_SECRET_API_KEY=key-12345 tfy run secret.tfy --port "$port" --secrets secrets
check "a file that others can read is refused" ended 1 "can be read by others"
chmod 600 secrets
run env TFY_SECRET_API_KEY=key-12345 tfy run secret.tfy --port "$port" --secrets secrets --events
check "secrets from a file and the environment: 0" [ "$status" = 0 ]
check "they reach the request, and are taken out of the answer" printed "Authorization: Bearer [secret:TOKEN]"
check "... the body too" printed "[secret:TOKEN] and [secret:API_KEY]"
check "they reach the environment of a tool; a text that only looks like one does not" printed "a [secret:TOKEN]! secret:API_KEY"
check "they are taken out of both outputs" printed "3 out [secret:API_KEY] err [secret:API_KEY]"
check "they reach stdin" printed "[secret:TOKEN]"
check "with a secret no redirect is followed" printed "302"
check "neither output nor messages hold them" sh -c '! cat out err | grep -q "key-12345\|file-67890"'
check "nor does the database" sh -c '! grep -q "key-12345\|file-67890" .tfy/runs.db .tfy/runs.db-wal 2>/dev/null'
run sqlite3 .tfy/runs.db "select payload from history where payload like '%secret:TOKEN%'"
check "records show the name" printed '"secret:TOKEN"'
run tfy replay last
check "replay needs no secrets" printed " 0 divergences, 0 effects performed"

# ---- tests in the language ----
echo 'tool get(x: string) -> int = http "GET https://h/${x}"' >other.tfy
cat >mocked.tfy <<'END'
import "other.tfy"
tool weather(city: string) -> int = http "GET https://h/${city}"

workflow main() -> int {
    let a = yield http("GET", "x")
    let b = yield http("POST", "y", headers: { "A": secret("K") }) key "k"
    let n = yield weather("x")
    let m = yield other.get("y")
    return a.status + b.status + n + m
}

test "requests are mocked like any step" {
    mock http("GET", _) => HttpResponse(status: 404)
    mock http("POST", "y", { "A": "secret:K" }) => HttpResponse(status: 200, body: "x")
    mock weather("x") => 3
    mock other.get(_) => 4
    let r = yield main()
    assert r == 611
    assert calls(http) == 2
    assert calls(other.get) == 1
}
END
run tfy test mocked.tfy
check "requests and secrets in tests, also of other files" printed "1 passed, 0 failed"
