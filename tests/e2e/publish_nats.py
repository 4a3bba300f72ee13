"""What a stream of NATS JetStream has. Usage: publish_nats.py PORT STREAM [TOKEN]: prints a line for each message in its order: the
subject, the header Nats-Msg-Id, and the data. It speaks NATS' protocol itself: no client is in Debian."""
import base64
import json
import socket
import sys

port, stream, token = int(sys.argv[1]), sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None
connection = socket.create_connection(("127.0.0.1", port), timeout=10)
lines = connection.makefile("rb")
lines.readline()  # INFO
connection.sendall(b"CONNECT " + json.dumps({"verbose": False, "auth_token": token}).encode() + b"\r\nSUB in 1\r\n")


def ask(subject, question):
    body = json.dumps(question).encode()
    connection.sendall(f"PUB {subject} in {len(body)}\r\n".encode() + body + b"\r\n")


def answer():
    while not (line := lines.readline()).startswith(b"MSG"):
        if line == b"PING\r\n":
            connection.sendall(b"PONG\r\n")
        elif line.startswith(b"-ERR") or not line:
            sys.exit("refused: " + line.decode())
    body = lines.read(int(line.split()[-1]) + 2)
    return json.loads(body)


ask(f"$JS.API.STREAM.INFO.{stream}", {})
info = answer()
if "state" not in info:
    sys.exit(info["error"]["description"])
first, last = info["state"]["first_seq"], info["state"]["last_seq"]
for start in range(first, last + 1, 500):
    numbers = range(start, min(start + 500, last + 1))
    for number in numbers:
        ask(f"$JS.API.STREAM.MSG.GET.{stream}", {"seq": number})
    for number in numbers:
        message = answer().get("message")
        if not message:
            continue
        head = base64.b64decode(message["hdrs"]).decode()
        ids = [line.split(": ", 1)[1] for line in head.split("\r\n") if line.startswith("Nats-Msg-Id: ")]
        print(message["subject"], ids[0], base64.b64decode(message["data"]).decode())
