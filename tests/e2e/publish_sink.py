"""A receiver of webhooks and of OTLP, for tests. Usage: publish_sink.py FILE: writes its port to FILE.port, and what it takes to
FILE, a line of JSON for each request. The path says how it behaves: /busy answers 503 until FILE.well exists, /moved redirects,
/wrong answers 400, all else takes what comes."""
import http.server
import json
import os
import sys

out = open(sys.argv[1], "a")


class Sink(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        status, extra = 200, {}
        if self.path.startswith("/busy") and not os.path.exists(sys.argv[1] + ".well"):
            status, extra = 503, {"Retry-After": "1"}
        elif self.path.startswith("/moved"):
            status, extra = 302, {"Location": "/elsewhere"}
        elif self.path.startswith("/wrong"):
            status = 400
        out.write(json.dumps({"path": self.path, "status": status, "headers": dict(self.headers), "body": body}) + "\n")
        out.flush()
        self.send_response(status)
        for name, value in extra.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *words):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *words):  # a client was killed
        pass


server = Server(("127.0.0.1", 0), Sink)
with open(sys.argv[1] + ".part", "w") as file:
    file.write(str(server.server_port))
os.rename(sys.argv[1] + ".part", sys.argv[1] + ".port")
server.serve_forever()
