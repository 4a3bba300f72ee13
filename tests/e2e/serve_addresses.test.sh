#!/bin/sh
# tfy serve and machines elsewhere: 64 connections from one address at most; one more is not accepted, and others are. In a network of its
# own, with addresses that are not loopback's.
. "$here/lib.sh"
. "$here/serve_lib.sh"
cat >shop.tfy <<'END'
workflow order(n: int) -> int { return n }
END
tfy build --shared shop.tfy -o shop.so || exit 1
openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=server -keyout server.key -out server.crt -days 2 2>/dev/null || exit 1
cat >clients.py <<'END'
import select, socket, time

def connect(source):
    client = socket.socket()
    client.bind((source, 0))
    client.connect(("10.9.8.7", 8443))
    return client

def is_open(client):
    """The library closes at once what it does not accept."""
    ready, _, _ = select.select([client], [], [], 0)
    try: return not ready or client.recv(1) != b""
    except ConnectionError: return False

near = [connect("10.9.8.8") for _ in range(80)]
deadline = time.time() + 10
while sum(map(is_open, near)) > 64 and time.time() < deadline: time.sleep(0.05)
time.sleep(0.3)
left = sum(map(is_open, near))
assert left == 64, left
far = connect("10.9.8.9")
time.sleep(0.3)
assert is_open(far)
for client in near: client.close()
time.sleep(0.5)
again = connect("10.9.8.8")
time.sleep(0.3)
assert is_open(again)
END
cat >network.sh <<'END'
. "$here/lib.sh"
. "$here/serve_lib.sh"
ip link set lo up && ip addr add 10.9.8.7/24 dev lo && ip addr add 10.9.8.8/24 dev lo && ip addr add 10.9.8.9/24 dev lo || exit 99
serves shop.so --listen 10.9.8.7:8443 --tls-cert server.crt --tls-key server.key
check "one address has 64 connections at most, and another one its own" python3 clients.py
ends
check "the server ends in order" [ $? = 0 ]
END
unshare -rn sh network.sh 2>&1
[ $? != 99 ] || echo "skipped: no name spaces here"
