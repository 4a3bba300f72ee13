"""HTTP over a Unix socket, for the topics of tfy serve: serve_lib.sh has Python find it."""
import http.client
import socket


class Unix(http.client.HTTPConnection):
    def __init__(self, path, host="x", timeout=20):
        super().__init__(host, timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)  # waits where too many others do
        self.sock.settimeout(self.timeout)
