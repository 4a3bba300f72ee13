"""mcp_server.py stdio MODE | http FILE MODE: an MCP server for tests, well and badly behaved.

Without more in its mode it speaks 2026-07-28. MODE is words with commas between them:
  older        speaks 2025-11-25; and with `june`, 2025-06-18 alone
  silent       says nothing to server/discover;  exits  ends at it
  future       speaks revisions that nobody knows yet
Words of what it does wrong are where they are looked at. Over HTTP its port is written to FILE, and each request is a line
of the file FILE.log: the method, then the headers that matter."""
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NEWEST = "2026-07-28"
modes = sys.argv[-1].split(",")
sys.setrecursionlimit(10000)
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def has(mode):
    return mode in modes


def older():
    return has("older")


def needs_session():
    return older() and not has("stateless")


def tool(name, **more):
    return {"name": name, "description": f"Does {name}.\nAnd more.", "inputSchema": SCHEMA, **more}


FILTER = {"type": "object", "required": ["kind"],
          "properties": {"kind": {"enum": ["guide", "api"], "type": "string"}, "since": {"type": ["string", "null"]}}}
FIND = {"type": "object", "required": ["query"],
        "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}, "match": {"type": "boolean"},
                       "tags": {"type": "array", "items": {"type": "string"}}, "filter": FILTER, "any": {}}}
FOUND = {"type": "object", "required": ["given", "score"],
         "properties": {"given": {"type": "string"}, "score": {"type": "number"}}}


def deep(levels):
    schema = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def tools():
    if has("many"):
        return [tool(f"tool{i}") for i in range(10000)]
    listed = [tool("echo", annotations={"readOnlyHint": True}), tool("add", annotations={"idempotentHint": True})]
    if has("changed"):
        listed = [tool("added"), {**tool("other" if has("renamed") else "echo"), "description": "Other."}]
    if has("other"):
        listed[0] = {**tool("echo"), "inputSchema": {"type": "object", "properties": {"text": {"type": "integer"}}}}
    if has("typed"):
        listed.append({**tool("find"), "inputSchema": FIND, "outputSchema": FOUND})
    if has("deep"):
        listed.append({**tool("deep"), "inputSchema": deep(1000)})
    if has("deepish"):
        listed.append({**tool("deep"), "inputSchema": deep(40)})
    if has("circle"):
        circle = {"$ref": "#/$defs/a"}
        listed.append({**tool("circle"), "inputSchema": {"type": "object", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": circle},
                                                         "properties": {"x": circle}}})
    if has("itself"):
        listed.append({**tool("itself"), "inputSchema": {"type": "object", "properties": {"x": {"$ref": "#"}}}})
    if has("network"):
        listed.append({**tool("far"), "inputSchema": {"type": "object", "properties": {"x": {"$ref": "http://x.example/a"}}}})
    if has("twice"):
        listed.append(tool("echo"))
    if has("nameless"):
        listed.append({"inputSchema": SCHEMA})
    if has("hostile"):
        listed.append({**tool("hostile"), "description": "\x1b]0;owned\x07\u202etxt"})
    if has("header"):
        region = {"type": "string", "x-mcp-header": "Region"}
        listed.append({**tool("region"), "inputSchema": {"type": "object", "properties": {"region": region}}})
        wrong = {"type": "object", "properties": {"region": {"type": "object", "x-mcp-header": "Region"}}}
        listed.append({**tool("wrong"), "inputSchema": wrong})
    return listed


def complete(result):
    return result if older() else {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **result}


def list_tools(params):
    if has("endless"):
        return complete({"tools": [], "nextCursor": "again"})
    listed = tools()
    if not has("pages"):
        return complete({"tools": listed})
    at = int(params.get("cursor", "0"))
    more = {"nextCursor": str(at + 1)} if at + 1 < len(listed) else {}
    return complete({"tools": listed[at:at + 1], **more})


def question(word="name"):
    schema = {"type": "object", "properties": {word: {"type": "string", "default": "bob", "description": "who"}}}
    return {"method": "elicitation/create", "params": {"message": "who are you?", "requestedSchema": schema}}


class Server:
    """What is the same over both ways. write(message) sends one; asks: what it asked the client, by id."""

    def __init__(self, write):
        self.write = write
        self.asks = {}

    def answer(self, request, result):
        self.write({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def refuse(self, request, code, message, **more):
        self.write({"jsonrpc": "2.0", "id": request.get("id"), "error": {"code": code, "message": message, **more}})

    def discover(self, request):
        if has("silent"):
            return
        if has("exits"):
            os._exit(3)
        if has("future"):
            self.refuse(request, -32022, "no", data={"supported": ["2099-01-01"], "requested": NEWEST})
        elif older():
            self.refuse(request, -32601, "Method not found")
        else:
            info = {"io.modelcontextprotocol/serverInfo": {"name": "fake", "version": "1.2"}}
            able = {"tools": {}, **({"extensions": {"tfy/key": {}}} if has("keyed") else {})}
            self.answer(request, complete({"supportedVersions": [NEWEST], "capabilities": able, "_meta": info}))

    def initialize(self, request):
        if not older() and not has("silent") and not has("exits"):
            self.refuse(request, -32601, "Method not found")
            return
        revision = "2025-06-18" if has("june") else "2024-11-05" if has("ancient") else "2025-11-25"
        self.answer(request, {"protocolVersion": revision, "capabilities": {"tools": {}},
                              "serverInfo": {"name": "fake", "version": "1.0"}})

    def text(self, request, text, **more):
        self.answer(request, complete({"content": [{"type": "text", "text": text}], **more}))

    def call(self, request):
        params = request["params"]
        if os.path.exists("counted"):
            with open("counted", "a") as counted:
                counted.write(params["_meta"]["tfy/key"] + "\n")
        if has("slow"):
            time.sleep(1)
        if has("keyed"):
            self.do_once(params["_meta"]["tfy/key"])
        if has("typed"):
            found = {"given": json.dumps(params["arguments"], sort_keys=True), "score": 2}
            if has("misfit"):
                found = {"given": 1}
            self.answer(request, complete({"content": [], "structuredContent": found}))
        elif has("state"):
            state = json.dumps({"meta": params.get("_meta", {})}, sort_keys=True)
            self.text(request, state)
        elif has("writes"):
            try:
                open("written", "w").close()
                self.text(request, "written")
            except OSError as why:
                self.text(request, why.strerror)
        elif has("secret"):
            self.text(request, "the key is " + os.environ.get("KEY", "not there"), isError=has("error"))
        elif has("error"):
            self.text(request, "it broke", isError=True)
        elif has("refuses"):
            self.refuse(request, -32602, "no such tool")
        elif has("structured"):
            self.answer(request, complete({"content": [{"type": "text", "text": "{}"}], "structuredContent": {"sum": 3}}))
        elif has("parts"):
            self.answer(request, complete({"content": [
                {"type": "text", "text": "look:"},
                {"type": "image", "mimeType": "image/png", "data": "QUJD" * 2000 + "QQ=="},
                {"type": "resource_link", "uri": "file:///x", "name": "x"},
                {"type": "resource", "resource": {"uri": "test://a", "mimeType": "text/plain", "text": "abc"}}]}))
        elif has("task"):
            self.answer(request, {"resultType": "task", "task": {"taskId": "1"}})
        elif has("tasks"):
            self.begin_task(request)
        elif has("input"):
            self.input_required(request)
        elif has("asks"):
            self.asks["q1"] = request
            self.write({"jsonrpc": "2.0", "id": "ping", "method": "ping"})
            self.write({"jsonrpc": "2.0", "id": "s", "method": "sampling/createMessage", "params": {}})
            self.write({"jsonrpc": "2.0", "id": "q1", **question()})
        elif has("progress"):
            self.progress(request)
        else:
            self.text(request, params["arguments"].get("text", "nothing"))

    def do_once(self, key):
        """What it does for a key is a line of the file `done`; the first time it dies before it answers."""
        done = open("done").read().split("\n") if os.path.exists("done") else []
        if key in done:
            return
        with open("done", "a") as file:
            file.write(key + "\n")
        if has("dies_first"):
            os._exit(7)
        if has("slow_first"):
            time.sleep(60)

    def input_required(self, request):
        params = request["params"]
        answers = params.get("inputResponses")
        asked = {"q": question()}
        state = {"requestState": os.environ["KEY"] if has("leaks") else "s\u00e9"}
        if has("two"):
            asked = {"z": question("last"), "a": question("first")}
        if has("consent"):
            asked = {"q": {"method": "elicitation/create", "params": {
                "mode": "url", "message": "sign in", "url": "https://auth.example/login?x=1", "elicitationId": "e1"}}}
        if has("samples"):
            asked = {"q": {"method": "sampling/createMessage", "params": {}}}
        if has("plenty"):
            asked = {f"q{i}": question() for i in range(9)}
        if has("stateless"):
            asked = {}
        again = answers is not None or (has("stateless") and params.get("requestState"))
        if not again or has("rounds"):
            self.answer(request, {"resultType": "input_required", "inputRequests": asked, **state})
        else:
            self.text(request, json.dumps([answers, params.get("requestState")], sort_keys=True))

    # A task outlives the server: it is in a file.
    def task_of(self):
        with open("task.json") as file:
            return json.load(file)

    def keep_task(self, task):
        with open("task.part", "w") as file:
            json.dump(task, file)
        os.rename("task.part", "task.json")

    def begin_task(self, request):
        self.keep_task({"taskId": "t1", "polls": 0, "answers": None})
        self.answer(request, {"resultType": "task", "taskId": "t1", "status": "working", "ttlMs": 60000, "pollIntervalMs": 20})

    def get_task(self, request):
        task = self.task_of()
        task["polls"] += 2 if has("traceless") else 1
        if not has("traceless"):
            self.keep_task(task)
        said = {"resultType": "complete", "taskId": "t1", "status": "working", "ttlMs": 60000}
        if has("forgotten"):
            self.refuse(request, -32602, "no such task")
            return
        if has("asks_more") and task["answers"] is None:
            said.update(status="input_required", inputRequests={"q": question()})
        elif task["polls"] >= 2 and not has("endless_task"):
            result = {"content": [{"type": "text", "text": f"done {json.dumps(task['answers'])}"}]}
            said.update(status="completed", result=result)
            if has("fails"):
                said.update(status="failed", error={"code": -32001, "message": "no paper"})
                del said["result"]
            if has("ends"):
                said.update(status="cancelled")
                del said["result"]
        self.answer(request, said)

    def update_task(self, request):
        task = self.task_of()
        task["answers"] = request["params"]["inputResponses"]
        self.keep_task(task)
        self.answer(request, {"resultType": "complete"})

    def cancel_task(self, request):
        with open("cancelled", "a") as file:
            file.write(request["params"]["taskId"] + "\n")
        self.answer(request, {"resultType": "complete"})

    def progress(self, request):
        token = request["params"]["_meta"]["progressToken"]
        for i in range(5):
            time.sleep(0.6)
            self.write({"jsonrpc": "2.0", "method": "notifications/progress",
                        "params": {"progressToken": token, "progress": i, "message": f"step {i}"}})
        self.text(request, "through")

    def take(self, message):
        """A message of the client."""
        method = message.get("method")
        if method == "server/discover":
            self.discover(message)
        elif method == "initialize":
            self.initialize(message)
        elif method == "tools/list":
            self.answer(message, list_tools(message.get("params", {})))
        elif method == "tools/call":
            self.call(message)
        elif method == "tasks/get":
            self.get_task(message)
        elif method == "tasks/update":
            self.update_task(message)
        elif method == "tasks/cancel":
            self.cancel_task(message)
        elif method is None:
            self.asked(message)
        elif "id" in message:
            self.refuse(message, -32601, "Method not found")

    def asked(self, message):
        self.asks[message["id"] + ".answer"] = message.get("result", message.get("error"))
        if "q1.answer" in self.asks and "ping.answer" in self.asks and "s.answer" in self.asks:
            found = {key: value for key, value in self.asks.items() if key.endswith("answer")}
            self.text(self.asks.pop("q1"), json.dumps(found, sort_keys=True))


# ---- over standard files ----

def line(message):
    text = json.dumps(message)
    if has("garbage"):
        text = "starting…\n{\"half\": \n[]\n\n" + text + "\r"
    print(text, flush=True)
    if has("double") and "id" in message:
        print(text + "\n" + json.dumps({"jsonrpc": "2.0", "id": 4711, "result": {}}), flush=True)


def dies(message):
    """Whether this message is the one at which the server comes to an end, and how."""
    if message.get("method") != "tools/call":
        return
    if has("dies"):
        print("last words", file=sys.stderr, flush=True)
        os._exit(7)
    if has("killed"):
        os.kill(os.getpid(), 9)
    if has("closes"):
        sys.stdout.flush()
        os.close(1)
        time.sleep(60)
    if has("hangs"):
        time.sleep(60)
    if has("floods"):
        while True:
            os.write(1, b"x" * 65536)
    if has("chatters"):
        while True:
            os.write(1, b'{"jsonrpc":"2.0","method":"notifications/x"}\n' * 1000)


def serve_lines():
    server = Server(line)
    if os.access(".", os.W_OK) and not has("traceless"):
        with open("pids", "a") as pids:
            pids.write(f"{os.getpid()}\n")
    for text in sys.stdin:
        message = json.loads(text)
        dies(message)
        server.take(message)


# ---- over HTTP ----

SHOWN = ("mcp-protocol-version", "mcp-method", "mcp-name", "mcp-session-id", "mcp-param-region", "last-event-id")
sessions = []
streams = {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def note(self, what):
        with open(sys.argv[2] + ".log", "a") as log:
            log.write(what + "".join(f" {name}={self.headers[name]}" for name in SHOWN if self.headers[name]) + "\n")

    def reply(self, status, text="", kind="application/json", **headers):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def begin_stream(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def event(self, message, number=None):
        head = f"id: {number}\n" if number else ""
        self.wfile.write(f"{head}data: {json.dumps(message)}\n\n".encode())
        self.wfile.flush()

    def do_GET(self):
        self.note("GET")
        if not older() or has("no_get"):
            self.reply(405)
            return
        number = self.headers["Last-Event-ID"]
        self.begin_stream()
        if number in streams:
            self.event(streams[number], "end")
        else:
            time.sleep(5)

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method = message.get("method", "answer")
        self.note(method)
        if self.misbehave(message):
            return
        if needs_session() and method not in ("initialize", "server/discover") and self.headers["Mcp-Session-Id"] not in sessions:
            self.reply(404, "Session not found", "text/plain")
            return
        if "id" not in message or "method" not in message:
            waiting.take(message) if has("asks") else None
            self.reply(202)
            return
        self.answer(message)

    def misbehave(self, message):
        method = message.get("method")
        for word, status in (("login", 401), ("forbidden", 403), ("broken", 500)):
            if has(word):
                self.reply(status, "because", "text/plain")
                return True
        if has("redirects"):
            self.reply(302, Location="/elsewhere")
            return True
        if method == "tools/call" and has("big"):
            self.reply(200, "{" + " " * (9 << 20))
            return True
        if method == "tools/call" and has("drops"):
            self.close_connection = True
            return True
        if method == "tools/call" and has("plain"):
            self.reply(200, "<html>", "text/html")
            return True
        return False

    def answer(self, message):
        said = []
        method = message["method"]
        streamed = method == "tools/call" and any(has(w) for w in ("sse", "cut", "resumes", "asks", "progress"))
        if streamed:
            self.begin_stream()
        if streamed and has("resumes"):
            Server(said.append).take(message)
            streams["first"] = said[0]
            self.wfile.write(b"id: first\nretry: 200\ndata:\n\nid: second\ndata: {\"half\"")
            return
        if streamed and has("cut"):
            self.wfile.write(b"data: {\"jsonrpc\": \"2.0\", ")
            return
        if streamed and has("asks"):
            waiting.write = self.event
            waiting.take(message)
            time.sleep(2)
            return
        Server(self.event if streamed else said.append).take(message)
        if streamed:
            return
        headers = {}
        if method == "initialize" and not has("stateless"):
            sessions.append(f"session-{len(sessions)}")
            headers["Mcp_Session_Id"] = sessions[-1]
        if method == "tools/list" and has("forgets") and len(sessions) == 1:
            sessions[0] = "gone"
        error = said and said[0].get("error", {}).get("code")
        self.reply(400 if error in (-32601, -32022) else 200, json.dumps(said[0]), **headers)


waiting = Server(None)


def serve_http():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with open(sys.argv[2] + ".part", "w") as file:
        file.write(str(server.server_address[1]))
    os.rename(sys.argv[2] + ".part", sys.argv[2])
    threading.Timer(240, lambda: os._exit(1)).start()
    server.serve_forever()


if sys.argv[1] == "stdio":
    serve_lines()
else:
    serve_http()
