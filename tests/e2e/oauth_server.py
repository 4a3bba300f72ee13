"""oauth_server.py FILE: an MCP server at /mcp that wants a login, and the issuer of its tokens, on one port, which is written
to FILE.

What it does wrong are words in the file `mode`, read with each request; they are looked at where they count. Each request
of a login is a line of the file `requests`: its path, and what was sent. Each call of a tool is a line of `counted`.
GET /forget?access=1 and ?refresh=1 make the tokens of that kind invalid."""
import base64
import hashlib
import json
import os
import secrets
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

TOOLS = [{"name": "echo", "description": "Echoes.", "inputSchema": {
    "type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}}]
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
lock = threading.Lock()
access, refresh, codes, clients = {}, {}, {}, {}


def has(mode):
    try:
        with open("mode") as file:
            return mode in file.read().split()
    except FileNotFoundError:
        return False


def note(file, *what):
    with lock, open(file, "a") as out:
        print(*what, file=out)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", type="application/json", **headers):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def document(self, content, name):
        if has(name + "_huge"):
            content = {**content, "more": "x" * 400000}
        if has(name + "_redirects"):
            self.answer(302, Location="/elsewhere")
        elif has(name + "_500"):
            self.answer(500, {"error": "server_error", "error_description": "\x1b[31mred"})
        elif has(name + "_text"):
            self.answer(200, b"<html>hello", "text/html")
        elif has(name + "_list"):
            self.answer(200, [content])
        elif has(name + "_deep"):
            self.answer(200, b"[" * 100000)
        elif has(name + "_none"):
            self.answer(404, {})
        else:
            self.answer(200, {key: value for key, value in content.items() if value is not None})

    # ---- documents ----

    def resource(self, path):
        servers = [7] if has("server_types") else [] if has("server_nobody") else [base]
        if has("server_local"):
            servers = ["http://as.example"]
        self.document({"resource": "https://other.example/mcp" if has("server_other") else base + path,
                       "authorization_servers": servers, "scopes_supported": ["read", "write", 7, 'a"b']}, "server")

    def issuer(self):
        token = {"issuer_http": "http://as.example/token", "issuer_types": 7, "issuer_user": "https://a:b@as.example/",
                 "issuer_space": "https://as.example/a b"}
        self.document({"issuer": "https://other.example" if has("issuer_other") else base,
                       "authorization_endpoint": base + "/authorize?tenant=1",
                       "token_endpoint": next((token[mode] for mode in token if has(mode)), base + "/token"),
                       "registration_endpoint": None if has("no_registration") else base + "/register",
                       "code_challenge_methods_supported": ["plain"] if has("issuer_plain") else ["S256"],
                       "token_endpoint_auth_methods_supported": ["client_secret_basic"],
                       "authorization_response_iss_parameter_supported": True}, "issuer")

    # ---- the issuer ----

    def authorize(self, query):
        note("requests", "/authorize", json.dumps(query))
        if query["client_id"] not in clients:
            return self.answer(400, b"unknown client", "text/plain")
        code = secrets.token_hex(8)
        codes[code] = query
        back = {"code": code, "state": query["state"], "iss": base}
        if has("state_wrong"):
            back["state"] = "another"
        if has("iss_wrong"):
            back["iss"] = "https://other.example"
        if has("iss_missing"):
            del back["iss"]
        if has("denied"):
            del back["code"]
            back.update(error="access_denied", error_description="you may not")
        tail = "&code=again" if has("code_twice") else "&state=%zz" if has("not_encoded") else ""
        self.answer(302, Location=query["redirect_uri"] + "?" + urlencode(back) + tail)

    def register(self, body):
        note("requests", "/register", body.decode())
        if has("register_refuses"):
            return self.answer(400, {"error": "invalid_redirect_uri", "error_description": "not here"})
        name = "client" + str(len(clients))
        clients[name] = "secret+" + secrets.token_hex(8)
        self.answer(201, {"client_id": 7 if has("register_types") else name, "client_secret": clients[name]})

    def give(self, scope, client):
        name = secrets.token_hex(12)
        access["access-" + name] = scope
        refresh["refresh-" + name] = (scope, client)
        given = {"access_token": "access-" + name, "refresh_token": "refresh-" + name, "token_type": "Bearer",
                 "expires_in": 1 if has("short") else 3600, "scope": scope}
        if has("token_type"):
            given["token_type"] = "mac"
        if has("token_lines"):
            given["access_token"] = "a\r\nX-More: yes"
        if has("token_missing"):
            del given["access_token"]
        self.document(given, "token")

    def client(self):
        kind, _, pair = self.headers.get("Authorization", "").partition(" ")
        name, _, secret = base64.b64decode(pair).decode().partition(":") if kind == "Basic" else ("", "", "")
        name = unquote(name)
        return name if clients.get(name) == unquote(secret) and not has("unknown_client") else None

    def token(self, body):
        form = {key: values[0] for key, values in parse_qs(body.decode()).items()}
        note("requests", "/token", json.dumps(form))
        client = self.client()
        if not client:
            return self.answer(401, {"error": "invalid_client"})
        if form["resource"] not in (base + "/mcp", base + "/second/mcp"):
            return self.answer(400, {"error": "invalid_target"})
        with lock:
            if form["grant_type"] == "refresh_token":
                scope, owner = refresh.pop(form["refresh_token"], (None, None))
                if owner != client:
                    scope = None
            else:
                query = codes.pop(form["code"])
                digest = hashlib.sha256(form["code_verifier"].encode()).digest()
                fits = base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == query["code_challenge"]
                scope = query.get("scope", "") if fits and form["redirect_uri"] == query["redirect_uri"] else None
        if scope is None:
            return self.answer(400, {"error": "invalid_grant"})
        self.give(scope, client)

    # ---- the server ----

    def refuse(self, status, **words):
        words["resource_metadata"] = base + "/.well-known/oauth-protected-resource" + self.path
        if has("named_elsewhere"):
            words["resource_metadata"] = "http://as.example/metadata"
        text = "Basic realm=\"x, y\", Bearer " + ", ".join(f'{key}="{value}"' for key, value in words.items())
        self.answer(status, {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "no"}}, WWW_Authenticate=text)

    def call(self, params):
        if has("asks") and "inputResponses" not in params:
            return {"resultType": "input_required", "requestState": "s1", "inputRequests": {
                "q": {"method": "elicitation/create", "params": {"message": "who?", "requestedSchema": FORM}}}}
        note("counted", json.dumps(params.get("inputResponses")), params.get("requestState"))
        text = self.headers["Authorization"] if has("echoes") else params["arguments"]["text"]
        return {"content": [{"type": "text", "text": text}]}

    def serve(self, request):
        kind, _, token = self.headers.get("Authorization", "").partition(" ")
        method, params = request["method"], request.get("params", {})
        if not has("open") and (kind != "Bearer" or token not in access):
            return self.refuse(401, error="invalid_token", scope="read")
        if method == "tools/call" and has("wants_write") and "write" not in access[token].split():
            return self.refuse(403, error="insufficient_scope", scope="write")
        if has("says_token"):
            return self.answer(500, token.encode(), "text/plain")
        result = {"server/discover": lambda: {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}},
                  "tools/list": lambda: {"tools": TOOLS}, "tools/call": lambda: self.call(params)}.get(method)
        if not result:
            return self.answer(404, {"jsonrpc": "2.0", "id": request.get("id"), "error": {"code": -32601, "message": "?"}})
        self.answer(200, {"jsonrpc": "2.0", "id": request["id"], "result": {"resultType": "complete", **result()}})

    def do_GET(self):
        parts = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        if parts.path.startswith("/.well-known/oauth-protected-resource/"):
            self.resource(parts.path.removeprefix("/.well-known/oauth-protected-resource"))
        elif parts.path == "/.well-known/openid-configuration":
            self.issuer()
        elif parts.path == "/authorize":
            self.authorize(query)
        elif parts.path == "/forget":
            for kind, known in (("access", access), ("refresh", refresh)):
                if kind in query:
                    known.clear()
            self.answer(200)
        else:
            self.answer(404)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path in ("/mcp", "/second/mcp"):
            self.serve(json.loads(body))
        elif self.path == "/register":
            self.register(body)
        elif self.path == "/token":
            self.token(body)
        else:
            self.answer(404)


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *of):
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(*of)


server = Server(("127.0.0.1", 0), Handler)
base = f"http://127.0.0.1:{server.server_port}"
clients["known"] = "pre+secret"
with open(sys.argv[1] + ".new", "w") as port:
    print(server.server_port, file=port)
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
