"""with_token.py PORT_FILE PORT TOKEN: passes requests on to a server at 127.0.0.1:PORT, with its token, for clients that
know none. Its own port is written to the file; where a client names that, the server is told its own."""
import socket
import sys
import threading

port_file, target, token = sys.argv[1], int(sys.argv[2]), sys.argv[3]
listener = socket.create_server(("127.0.0.1", 0))
own = listener.getsockname()[1]


def head(file):
    lines = []
    while (line := file.readline()) not in (b"", b"\r\n", b"\n"):
        lines.append(line)
    return lines


def changed(lines):
    yield lines[0]
    for line in lines[1:]:
        name = line.split(b":", 1)[0].lower()
        if name in (b"host", b"origin"):
            line = line.replace(b":%d" % own, b":%d" % target)
        yield line
    yield b"Authorization: Bearer " + token.encode() + b"\r\n\r\n"


def body(lines, file):
    length = next((int(line.split(b":")[1]) for line in lines if line.lower().startswith(b"content-length:")), 0)
    return file.read(length)


def back(server, client):
    try:
        while data := server.recv(65536):
            client.sendall(data)
        client.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def serve(client):
    with client, socket.create_connection(("127.0.0.1", target)) as server:
        threading.Thread(target=back, args=(server, client), daemon=True).start()
        file = client.makefile("rb")
        while lines := head(file):
            server.sendall(b"".join(changed(lines)) + body(lines, file))
        server.shutdown(socket.SHUT_WR)


def quietly(client):
    try:
        serve(client)
    except OSError:
        pass


with open(port_file, "w") as file:
    print(own, file=file)
while True:
    threading.Thread(target=quietly, args=(listener.accept()[0],), daemon=True).start()
