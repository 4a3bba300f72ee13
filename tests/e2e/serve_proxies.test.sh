#!/bin/sh
# The gate byte by byte: 24 requests that two readers could read in two ways, sent to a listener for proxies directly, and to
# nginx and HAProxy with the configurations that docs/serving.md shows. Whatever a proxy makes of them, nobody comes through
# whom it did not name; plain requests and streams do.
. "$here/lib.sh"
. "$here/serve_lib.sh"
PATH="$PATH:/usr/sbin"
if ! command -v nginx >/dev/null || ! command -v haproxy >/dev/null; then
    echo "skipped: nginx and haproxy are not installed"
    exit 0
fi
cat >shop.tfy <<'END'
workflow order(n: int) -> int { return n + 1 }
END
shown proxy.json
shown tfy.nginx.conf
shown tfy.haproxy.cfg
sed -i "s|/run/tfy/http.sock|$PWD/http.sock|" proxy.json tfy.nginx.conf tfy.haproxy.cfg
port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
nginx_port=$(port) haproxy_port=$(port)
sed -i "s|443 ssl|127.0.0.1:$nginx_port|; /ssl_certificate/d; s|/etc/nginx|$PWD|" tfy.nginx.conf
echo 'ann:{PLAIN}secret' >tfy.users
[ "$(id -u)" != 0 ] || echo 'user root;' >nginx.conf
cat >>nginx.conf <<END
pid $PWD/nginx.pid;
daemon off;
error_log $PWD/nginx.log;
events { }
http {
    access_log off;
    client_body_temp_path $PWD/n1;
    proxy_temp_path $PWD/n2;
    fastcgi_temp_path $PWD/n3;
    uwsgi_temp_path $PWD/n4;
    scgi_temp_path $PWD/n5;
    include $PWD/tfy.nginx.conf;
}
END
sed -i "s|:443 ssl crt .*|127.0.0.1:$haproxy_port|" tfy.haproxy.cfg
serves shop.tfy --config proxy.json
kill -0 "$server" || exit 1
nginx -e "$PWD/nginx.log" -c "$PWD/nginx.conf" >nginx.out 2>&1 &
nginx=$!
haproxy -db -f tfy.haproxy.cfg >haproxy.out 2>&1 &
haproxy=$!
open_port() { python3 -c 'import socket, sys; socket.create_connection(("127.0.0.1", int(sys.argv[1])))' "$1" 2>/dev/null; }
check "nginx takes the configuration" within 10 open_port "$nginx_port"
check "haproxy does" within 10 open_port "$haproxy_port"
cat >gate.py <<'END'
import base64, re, socket, sys
kind, where = sys.argv[1:3]
BASIC = "Authorization: Basic " + base64.b64encode(b"ann:secret").decode() + "\r\n"
START = "/v1/programs/shop/workflows/order/runs"
WHO = "X-Forwarded-User: ann\r\nX-Forwarded-Groups: ops\r\n" if kind == "direct" else BASIC
HOST = "Host: tfy.example.org\r\n"
JSON = "Content-Type: application/json\r\n"
# What an attacker wants to have read as a request of its own: it names somebody whom no proxy named.
BODY = '{"args":{"n":666}}'
EVIL = "POST %s HTTP/1.1\r\n%sX-Forwarded-User: root\r\nX-Forwarded-Groups: ops\r\n%sContent-Length: %d\r\n\r\n%s" % (START, HOST, JSON, len(BODY), BODY)
END = "0\r\n\r\n"

def send(raw):
    s = socket.socket(socket.AF_UNIX) if kind == "direct" else socket.socket()
    s.settimeout(5)
    s.connect(where if kind == "direct" else ("127.0.0.1", int(where)))
    got = b""
    try:
        s.sendall(raw.encode("latin-1"))
        s.shutdown(socket.SHUT_WR)
        while more := s.recv(65536): got += more
    except OSError: pass
    return got.decode("latin-1")
def codes(got): return [int(code) for code in re.findall(r"HTTP/1\.[01] (\d+)", got)]

def post(head, body=""): return "POST %s HTTP/1.1\r\n%s%s%s%s\r\n%s" % (START, HOST, WHO, JSON, head, body)
def get(target="/v1/me", head="", method="GET", host=HOST, version="HTTP/1.1"): return "%s %s %s\r\n%s%s%s\r\n" % (method, target, version, host, WHO, head)
N = len(EVIL)
CASES = [
    ("a length and a coding", 400, post("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", END + EVIL)),
    ("a coding and a length", 400, post("Transfer-Encoding: chunked\r\nContent-Length: %d\r\n" % (5 + N), END + EVIL)),
    ("two lengths", 400, post("Content-Length: 0\r\nContent-Length: %d\r\n" % N, EVIL)),
    ("two lengths alike", 400, post("Content-Length: %d\r\nContent-Length: %d\r\n" % (N, N), EVIL)),
    ("a list of lengths", 400, post("Content-Length: 0, %d\r\n" % N, EVIL)),
    ("a length with a sign", 400, post("Content-Length: +0\r\n", EVIL)),
    ("a length below zero", 400, post("Content-Length: -1\r\n", EVIL)),
    ("a length in hexadecimal", 400, post("Content-Length: 0x0\r\n", EVIL)),
    ("a length too large for a number", 400, post("Content-Length: 99999999999999999999\r\n", EVIL)),
    ("two codings", 400, post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", END + EVIL)),
    ("a list of codings", 400, post("Transfer-Encoding: gzip, chunked\r\n", END + EVIL)),
    ("another coding", 400, post("Transfer-Encoding: xchunked\r\nContent-Length: 4\r\n", END + EVIL)),
    ("a coding with a blank before its colon", 400, post("Transfer-Encoding : chunked\r\nContent-Length: 5\r\n", END + EVIL)),
    ("a coding in a folded line", 400, post("Transfer-Encoding:\r\n chunked\r\nContent-Length: 5\r\n", END + EVIL)),
    ("a chunk whose size is no number", 400, post("Transfer-Encoding: chunked\r\n", "0x0\r\n\r\n" + EVIL)),
    ("a chunk of a size too large", 400, post("Transfer-Encoding: chunked\r\n", "ffffffffffffffffff\r\n" + EVIL)),
    ("two hosts", 400, get(head="Host: evil.example\r\n")),
    ("no host", 400, get(host="")),
    ("a target of another server", 400, get("http://evil.example/v1/me")),
    ("two slashes", 400, get("//v1/me")),
    ("a way up", 400, get("/v1/../v1/me")),
    ("an encoded slash", 400, get("/v1%2fme")),
    ("a NUL in the target", 400, get("/v1/me%00")),
    ("an unknown method", 501, get(method="BREW")),
]
assert len(CASES) == 24
failures = []
for name, wanted, raw in CASES:
    got = send(raw)
    had = codes(got)
    # The library says some of them twice, and closes the connection after that.
    if kind == "direct" and not (had and set(had) <= {wanted, 413 if "too large" in name else wanted}): failures.append((name, had, got[-300:]))
    if "root" in got or 201 in had: failures.append((name, "somebody came through", had, got[-300:]))
    print(kind, name, had)
for failure in failures: print(*failure, sep="\n  ")
assert not failures
END
check "24 requests that are none are refused directly" python3 gate.py direct http.sock
cat check.out >>cases
check "... nothing of them passes nginx" python3 gate.py nginx "$nginx_port"
cat check.out >>cases
check "... nor haproxy" python3 gate.py haproxy "$haproxy_port"
cat check.out >>cases
ask "http://x/v1/runs"
check "no run was started by whom no proxy named" is runs '[]'

web() # PORT PATH OPTIONS…
{
    web_port=$1 web_path=$2
    shift 2
    status=$(curl -sS --max-time 20 -u ann:secret -H 'Host: tfy.example.org' -o out -D head -w '%{http_code}' "$@" "http://127.0.0.1:$web_port$web_path" 2>err)
}
for proxy in nginx:$nginx_port haproxy:$haproxy_port; do
    name=${proxy%:*} port=${proxy#*:}
    web "$port" /v1/me -H 'X-Forwarded-User: root' -H 'X-Forwarded-Groups: staff'
    check "$name says who asks" is name ann
    check "... with the roles of the group" is roles '["operator"]'
    web "$port" /v1/me -H 'X-Forwarded-For: 10.0.0.7'
    check "... whatever the caller says" is name ann
    web "$port" /v1/programs/shop/workflows/order/runs -H 'Content-Type: application/json' -H 'Prefer: wait=10' -d '{"args":{"n":1}}'
    check "... a run starts" says 200 '"result":2'
    web "$port" /v1/programs/shop/workflows/order/runs -H 'Content-Type: application/json' -H 'Transfer-Encoding: chunked' -H 'Origin: https://tfy.example.org' -d '{"args":{"n":1}}'
    check "... with a body in chunks, from our page" says 201 '"by":"ann"'
    web "$port" /healthz -H 'Origin: https://evil.example'
    check "... and not from another" says 403
    status=$(curl -sS --max-time 5 -H 'Host: tfy.example.org' -o out -w '%{http_code}' "http://127.0.0.1:$port/v1/me")
    check "... nobody passes without a password" [ "$status" = 401 ]
    : >events
    curl -sSN --max-time 20 -u ann:secret -H 'Host: tfy.example.org' "http://127.0.0.1:$port/v1/events?workflow=order" >events 2>/dev/null &
    stream=$!
    check "... a stream begins" within 5 grep -q '^event: hello' events
    web "$port" /v1/programs/shop/workflows/order/runs -H 'Content-Type: application/json' -d '{"args":{"n":2}}'
    check "... and has what happens, when it does" within 5 grep -q '"type":"TaskComplete"' events
    kill "$stream"
done
kill "$nginx" "$haproxy"
wait "$nginx" "$haproxy" 2>/dev/null
ends
