"""mcp_client.py SCENARIO -- COMMAND… | SCENARIO http PORT TOKEN: a client of `tfy mcp serve` over standard files, or of
`tfy serve --mcp` over HTTP, that asserts what it hears.

A scenario is a function below whose name begins with `do_`; it gets the client, a process that was started already.
What must be known later is a line of standard output."""
import http.client
import json
import queue
import random
import subprocess
import sys
import threading
import time

META = "io.modelcontextprotocol/"
TASKS = META + "tasks"


class Client:
    def __init__(self, command):
        self.command = command
        self.last_id = 0
        self.start()

    def start(self):
        self.server = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, args=(self.server.stdout, self.lines), daemon=True).start()

    @staticmethod
    def read(stdout, lines):
        for line in stdout:
            lines.put(json.loads(line))
        lines.put(None)

    def kill(self):
        self.server.kill()
        self.server.wait()

    def send(self, message):
        text = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.server.stdin.write(text + b"\n")
        self.server.stdin.flush()

    def hear(self, timeout=20):
        message = self.lines.get(timeout=timeout)
        assert message is not None, "the server has ended"
        return message

    def ask(self, method, params=None):
        self.last_id += 1
        self.send({"id": self.last_id, "method": method, **({} if params is None else {"params": params})})
        return self.last_id

    def answer(self, method, params=None):
        """What is heard of this request alone; everything before it is in self.before."""
        number = self.ask(method, params)
        self.before = []
        while True:
            message = self.hear()
            if message.get("id") == number and "method" not in message:
                return message
            self.before.append(message)

    def close(self):
        self.server.stdin.close()
        return self.server.wait(timeout=20)


class Http(Client):
    """Each message is a request of its own; what comes of it is heard as if it came over one connection."""

    def __init__(self, port, token):
        self.port, self.token, self.session, self.revision, self.last_id = port, token, None, None, 0
        self.lines = queue.Queue()
        self.statuses = queue.Queue()

    def headers(self, message):
        params = message.get("params") or {}
        sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.token:
            sent["Authorization"] = f"Bearer {self.token}"
        if self.session:
            return {**sent, "Mcp-Session-Id": self.session, "MCP-Protocol-Version": self.revision}
        named = params.get("_meta", {}).get(META + "protocolVersion", "2026-07-28")
        sent = {**sent, "MCP-Protocol-Version": named, "Mcp-Method": str(message.get("method", ""))}
        name = next((params[member] for member in ("name", "uri", "taskId") if member in params), None)
        return {**sent, "Mcp-Name": name} if isinstance(name, str) else sent

    def post(self, body, headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("POST", "/mcp", body, headers)
        answer = connection.getresponse()
        self.statuses.put(answer.status)
        if answer.headers.get("Mcp-Session-Id"):
            self.session = answer.headers["Mcp-Session-Id"]
        if answer.headers["Content-Type"] == "text/event-stream":
            for line in answer:
                if line.startswith(b"data: "):
                    self.hears(json.loads(line[6:]))
        elif text := answer.read():
            self.hears(json.loads(text))
        connection.close()

    def hears(self, message):
        self.revision = message.get("result", {}).get("protocolVersion", self.revision)
        self.lines.put(message)

    def send(self, message):
        said = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
        headers = self.headers({} if isinstance(message, bytes) else message)
        threading.Thread(target=self.post, args=(said, headers), daemon=True).start()

    def close(self):
        return 0


def meta(**capabilities):
    more = capabilities.pop("more", {})
    return {META + "protocolVersion": "2026-07-28", META + "clientCapabilities": capabilities, **more}


FORMS = {"elicitation": {"form": {}}}
WITH_TASKS = {**FORMS, "extensions": {TASKS: {}}}


def call(name, arguments, capabilities=None, more=None, **params):
    return {"name": name, "arguments": arguments, "_meta": meta(**(capabilities or {}), more=more or {}), **params}


def greet(client, revision="2025-11-25", capabilities=None):
    params = {"protocolVersion": revision, "capabilities": capabilities or {}, "clientInfo": {"name": "test", "version": "1"}}
    result = client.answer("initialize", params)["result"]
    client.send({"method": "notifications/initialized"})
    return result


def text(result):
    return "".join(block["text"] for block in result["content"])


def poll(client, task, *states):
    for _ in range(400):
        got = client.answer("tasks/get", {"taskId": task, "_meta": meta(**WITH_TASKS)})["result"]
        if got["status"] in states:
            return got
        time.sleep(0.05)
    raise AssertionError(f"the task is {got['status']}")


def code(message):
    return message["error"]["code"]


# ---- the newest revision ----


def do_discover(client):
    result = client.answer("server/discover", {"_meta": meta()})["result"]
    assert result["resultType"] == "complete" and result["supportedVersions"][0] == "2026-07-28", result
    assert set(result["capabilities"]["extensions"]) == {TASKS, "tfy/key"}, result
    assert result["_meta"][META + "serverInfo"]["name"] == "tfy"
    tools = {tool["name"]: tool for tool in client.answer("tools/list", {"_meta": meta()})["result"]["tools"]}
    assert "hidden" not in tools and "talks" not in tools, sorted(tools)
    double = tools["double"]
    assert double["description"] == "Doubles a number."
    assert double["inputSchema"]["properties"]["n"]["type"] == "integer" and double["inputSchema"]["required"] == ["n"]
    assert double["outputSchema"]["properties"]["result"]["type"] == "integer"
    assert tools["pair"]["outputSchema"]["properties"]["left"]["type"] == "string"
    assert "outputSchema" not in tools["hello"]
    assert double["annotations"]["readOnlyHint"] and not tools["counts"]["annotations"]["readOnlyHint"], tools["counts"]
    assert not tools["asks"]["annotations"]["readOnlyHint"]


def do_refused(client):
    assert code(client.answer("tools/list", {})) == -32602
    assert code(client.answer("tools/list", {"_meta": {META + "protocolVersion": "2026-07-28"}})) == -32602
    future = client.answer("tools/list", {"_meta": {**meta(), META + "protocolVersion": "2030-01-01"}})
    assert code(future) == -32022 and future["error"]["data"]["requested"] == "2030-01-01"
    assert code(client.answer("tasks/result", {"_meta": meta(**WITH_TASKS)})) == -32601
    assert code(client.answer("tools/call", call("nothing", {}))) == -32602
    assert code(client.answer("tools/call", {"name": "double", "arguments": [1], "_meta": meta()})) == -32602
    assert code(client.answer("tasks/get", {"taskId": "x", "_meta": meta()})) == -32021
    assert code(client.answer("tasks/get", {"taskId": "x", "_meta": meta(**WITH_TASKS)})) == -32602
    unknown = "01a21c18-0111-7be7-b26f-18e324cec8cf"
    assert code(client.answer("tasks/get", {"taskId": unknown, "_meta": meta(**WITH_TASKS)})) == -32602
    assert code(client.answer("tasks/cancel", {"taskId": unknown, "_meta": meta(**WITH_TASKS)})) == -32602


def do_garbage(client):
    client.send(b"this is not JSON")
    assert code(client.hear()) == -32700
    client.send(b"[1, 2]")
    assert code(client.hear()) == -32600
    client.send(b"[" * 1000)
    assert code(client.hear()) == -32600
    client.send(b'{"jsonrpc": "2.0", "id": "s", "method": 5}')
    assert client.hear()["id"] == "s"
    client.send({"method": "notifications/unheard_of"})
    client.send({"id": "nobody-asked", "result": {}})
    client.send(b"")
    assert text(client.answer("tools/call", call("hello", {"name": "ann"}))["result"]) == "hello ann"


def do_calls(client):
    assert text(client.answer("tools/call", call("hello", {"name": "ann"}))["result"]) == "hello ann"
    result = client.answer("tools/call", call("double", {"n": 21}))["result"]
    assert result["structuredContent"] == {"result": 42} and text(result) == "42", result
    result = client.answer("tools/call", call("pair", {"left": "a", "right": "b"}))["result"]
    assert result["structuredContent"] == {"left": "a", "right": "b"}, result
    assert client.answer("tools/call", call("quiet", {}))["result"]["content"] == []
    parts = client.answer("tools/call", call("parts", {}))["result"]["content"]
    assert [part["type"] for part in parts] == ["text", "image", "resource_link", "resource"], parts
    assert parts[1] == {"type": "image", "data": "AQID", "mimeType": "image/png"}
    assert parts[3]["resource"] == {"uri": "x:1", "mimeType": "text/plain", "text": "in it"}
    failed = client.answer("tools/call", call("fails", {}))["result"]
    assert failed["isError"] and text(failed) == "Broken: it is broken", failed
    assert code(client.answer("tools/call", call("panics", {}))) == -32603
    wrong = client.answer("tools/call", call("double", {"n": "many", "m": 1}))["result"]
    assert wrong["isError"] and "n: expected int" in text(wrong) and "m: " in text(wrong), wrong
    long = client.answer("tools/call", call("long", {"n": 5000}))["result"]
    assert len(text(long)) == 50000
    longer = client.answer("tools/call", call("long", {"n": 50}))["result"]
    assert len(text(longer)) == 500


def do_tasks(client):
    number = client.ask("tools/call", call("slow", {"ms": 1500}, WITH_TASKS))
    task = client.hear()["result"]
    assert task["resultType"] == "task" and task["status"] == "working" and "result" not in task, task
    assert isinstance(task["ttlMs"], int) and isinstance(task["pollIntervalMs"], int)
    assert client.answer("tasks/get", {"taskId": task["taskId"], "_meta": meta(**WITH_TASKS)})["result"]["status"] == "working"
    ended = poll(client, task["taskId"], "completed")
    assert text(ended["result"]) == "slept" and ended["resultType"] == "complete", ended
    assert client.answer("tasks/cancel", {"taskId": task["taskId"], "_meta": meta(**WITH_TASKS)})["result"]["resultType"] == "complete"
    assert poll(client, task["taskId"], "completed")["result"]
    assert client.answer("tools/call", call("slow", {"ms": 0}, WITH_TASKS))["result"]["resultType"] == "complete"
    task = client.answer("tools/call", call("slow", {"ms": 60000}, WITH_TASKS))["result"]
    assert set(client.answer("tasks/cancel", {"taskId": task["taskId"], "_meta": meta(**WITH_TASKS)})["result"]) <= {"resultType", "_meta"}
    poll(client, task["taskId"], "cancelled")
    task = client.answer("tools/call", call("late_panic", {}, WITH_TASKS))["result"]
    failed = poll(client, task["taskId"], "failed")
    assert failed["error"]["code"] == -32603 and "result" not in failed, failed
    task = client.answer("tools/call", call("late_failure", {}, WITH_TASKS))["result"]
    assert poll(client, task["taskId"], "completed")["result"]["isError"]


def answers(requests, content):
    return {key: {"action": "accept", "content": content} for key in requests}


def do_task_questions(client):
    task = client.answer("tools/call", call("asks", {}, WITH_TASKS))["result"]
    assert task["resultType"] == "task" and task["status"] == "input_required", task
    keys = []
    for content in ({"confirm": True}, {"answer": "ann"}, {"choice": "late"}):
        got = poll(client, task["taskId"], "input_required")
        [(key, request)] = got["inputRequests"].items()
        assert request["method"] == "elicitation/create" and list(content)[0] in request["params"]["requestedSchema"]["properties"], got
        keys.append(key)
        update = {"taskId": task["taskId"], "inputResponses": {"9/9": {"action": "accept", "content": {}}}, "_meta": meta(**WITH_TASKS)}
        assert client.answer("tasks/update", update)["result"]["resultType"] == "complete"
        assert list(poll(client, task["taskId"], "input_required")["inputRequests"]) == [key]
        update["inputResponses"] = answers([key], content)
        client.answer("tasks/update", update)
        client.answer("tasks/update", update)  # a second answer is ignored
        for _ in range(200):
            got = client.answer("tasks/get", {"taskId": task["taskId"], "_meta": meta(**WITH_TASKS)})["result"]
            if list(got.get("inputRequests", {})) != [key]:
                break
            time.sleep(0.05)
    assert len(set(keys)) == 3, keys
    assert text(poll(client, task["taskId"], "completed")["result"]) == "true ann late"
    task = client.answer("tools/call", call("asks_two", {}, WITH_TASKS))["result"]
    for _ in range(200):
        two = poll(client, task["taskId"], "input_required")["inputRequests"]
        if len(two) == 2:
            break
        time.sleep(0.05)
    first, second = two
    update = {"taskId": task["taskId"], "inputResponses": answers([first], {"confirm": True}), "_meta": meta(**WITH_TASKS)}
    client.answer("tasks/update", update)
    assert list(poll(client, task["taskId"], "input_required")["inputRequests"]) == [second]
    client.answer("tasks/update", {**update, "inputResponses": answers([second], {"confirm": False})})
    assert poll(client, task["taskId"], "completed")["result"]["structuredContent"] == {"result": [True, False]}


def do_questions(client):
    first = client.answer("tools/call", call("asks", {}, FORMS))["result"]
    assert first["resultType"] == "input_required" and list(first["inputRequests"]) == ["1/1"], first
    state = first["requestState"]
    for wrong in (state[:-4] + "AAA=", state[:20] + ("A" if state[20] != "A" else "B") + state[21:], state + "=", "", 5, state[4:]):
        assert code(client.answer("tools/call", call("asks", {}, FORMS, requestState=wrong))) == -32602, wrong
    assert code(client.answer("tools/call", call("double", {"n": 1}, FORMS, requestState=state))) == -32602
    again = client.answer("tools/call", call("asks", {}, FORMS, requestState=state))["result"]
    assert list(again["inputRequests"]) == ["1/1"], again
    bad = client.answer("tools/call", call("asks", {}, FORMS, requestState=state, inputResponses=answers(["1/1"], {"confirm": "perhaps"})))
    assert list(bad["result"]["inputRequests"]) == ["1/1"], bad
    second = client.answer("tools/call", call("asks", {}, FORMS, requestState=state, inputResponses=answers(["1/1"], {"confirm": True})))["result"]
    assert list(second["inputRequests"]) == ["1/2"], second
    third = client.answer("tools/call", call("asks", {}, FORMS, requestState=second["requestState"],
                                             inputResponses={**answers(["1/2"], {"answer": "bob"}), **answers(["1/1"], {"confirm": False})}))["result"]
    assert list(third["inputRequests"]) == ["1/3"], third
    done = client.answer("tools/call", call("asks", {}, FORMS, requestState=third["requestState"], inputResponses=answers(["1/3"], {"choice": "early"})))
    assert text(done["result"]) == "true bob early", done
    before = {**answers(["1/1"], {"confirm": False}), **answers(["1/2"], {"answer": "cy"}), **answers(["1/3"], {"choice": "late"})}
    assert text(client.answer("tools/call", call("asks", {}, FORMS, inputResponses=before))["result"]) == "false cy late"
    first = client.answer("tools/call", call("approved", {}, FORMS))["result"]
    declined = client.answer("tools/call", call("approved", {}, FORMS, requestState=first["requestState"],
                                                inputResponses={key: {"action": "decline"} for key in first["inputRequests"]}))["result"]
    assert declined["isError"] and text(declined).startswith("Denied"), declined


def do_forms(client):
    """A record is a form, and the label of its place its key."""
    first = client.answer("tools/call", call("asks_forms", {}, FORMS))["result"]
    [(key, request)] = first["inputRequests"].items()
    schema = request["params"]["requestedSchema"]
    assert key == "scope" and schema["required"] == ["path"], first
    assert schema["properties"] == {
        "path": {"type": "string"}, "deep": {"type": "boolean", "default": False}, "limit": {"type": "integer", "default": 3},
        "tone": {"type": "string", "enum": ["dry", "warm", "wry"], "default": "warm"}, "why": {"type": "string"}}, schema

    def again(state, key, content):
        return client.answer("tools/call", call("asks_forms", {}, FORMS, requestState=state, inputResponses=answers([key], content)))["result"]

    for wrong in ({}, {"path": 1}, {"path": "a", "tone": "loud"}, {"path": "a", "limit": 1.5}, None, []):
        assert list(again(first["requestState"], "scope", wrong)["inputRequests"]) == ["scope"], wrong
    second = again(first["requestState"], "scope", {"path": "a", "tone": "wry", "other": 1})
    assert list(second["inputRequests"]) == ["scope#2"], second
    assert list(again(second["requestState"], "scope", {"path": "b"})["inputRequests"]) == ["scope#2"]
    done = again(second["requestState"], "scope#2", {"path": "b", "deep": True, "why": "so"})
    assert done["structuredContent"]["result"] == [
        {"path": "a", "deep": False, "limit": 3, "tone": "wry", "why": None},
        {"path": "b", "deep": True, "limit": 3, "tone": "warm", "why": "so"}], done


def do_without_forms(client):
    first = client.answer("tools/call", call("asks", {}))["result"]
    assert first["resultType"] == "input_required" and "inputRequests" not in first and first["requestState"], first
    again = client.answer("tools/call", call("asks", {}, requestState=first["requestState"]))["result"]
    assert again["resultType"] == "input_required", again
    first = client.answer("tools/call", call("slow", {"ms": 800}))["result"]
    assert first["resultType"] == "input_required", first
    while first["resultType"] == "input_required":
        first = client.answer("tools/call", call("slow", {"ms": 800}, requestState=first["requestState"]))["result"]
    assert text(first) == "slept"


def do_keys(client):
    key = {"tfy/key": "0123456789abcdef/1/4"}
    for _ in range(3):
        assert text(client.answer("tools/call", call("counts", {"n": 1}, more=key))["result"]) == "counted 1"
    assert code(client.answer("tools/call", call("counts", {"n": 2}, more=key))) == -32603
    assert text(client.answer("tools/call", call("counts", {"n": 3}))["result"]) == "counted 3"
    assert text(client.answer("tools/call", call("counts", {"n": 3}))["result"]) == "counted 3"
    with open("counted") as counted:
        assert counted.read() == "1\n3\n3\n"


def do_traced(client):
    """The span that a call is part of is a label of its run; what is no span is none."""
    span = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    key = {"tfy/key": "0123456789abcdef/1/9"}
    client.answer("tools/call", call("counts", {"n": 9}, more={"traceparent": span, **key}))
    again = client.answer("tools/call", call("counts", {"n": 9}, more={"traceparent": span.replace("b7", "b8"), **key}))["result"]
    assert text(again) == "counted 9", again
    none = span.replace("b7ad6b7169203331", 16 * "0")
    wrongs = span[:-1], span + "0", span.upper(), span.replace("-", "_"), "", 5, "00-" + 60 * "0", none, "ff" + span[2:], span + "-more"
    for i, wrong in enumerate(wrongs):
        assert text(client.answer("tools/call", call("hello", {"name": str(i)}, more={"traceparent": wrong}))["result"]) == f"hello {i}"
    for _ in range(200):
        runs = client.answer("resources/list", {"_meta": meta()})["result"]["resources"]
        if len([run for run in runs if "completed" in run["description"]]) > len(wrongs):
            break
        time.sleep(0.05)
    labels = [json.loads(client.answer("resources/read", {"uri": run["uri"], "_meta": meta()})["result"]["contents"][0]["text"])["labels"] for run in runs]
    assert [label for label in labels if label] == [{"traceparent": span}], labels


def do_many(client):
    numbers = {client.ask("tools/call", call("double", {"n": i})): i for i in range(200)}
    while numbers:
        message = client.hear()
        assert message["result"]["structuredContent"]["result"] == 2 * numbers.pop(message["id"]), message


def do_cancels(client):
    number = client.ask("tools/call", call("slow", {"ms": 60000}, FORMS))
    time.sleep(0.3)
    client.send({"method": "notifications/cancelled", "params": {"requestId": number}})
    assert text(client.answer("tools/call", call("hello", {"name": "ann"}))["result"]) == "hello ann"
    assert not client.before


def do_prompts(client):
    prompts = {prompt["name"]: prompt for prompt in client.answer("prompts/list", {"_meta": meta()})["result"]["prompts"]}
    assert set(prompts) == {"begins", "asks_first", "hello"}, sorted(prompts)
    assert [(a["name"], a["required"]) for a in prompts["begins"]["arguments"]] == [("about", True), ("tone", False), ("times", False)]
    got = client.answer("prompts/get", call("begins", {"about": "tea", "tone": "wry", "times": "3"}))["result"]
    assert got["messages"] == [{"role": "user", "content": {"type": "text", "text": "Talk about tea, wry, 3 times."}}], got
    assert got["description"] == "Begins a conversation."
    got = client.answer("prompts/get", call("hello", {"name": "ann"}))["result"]
    assert got["messages"][0]["content"]["text"] == "hello ann"
    assert code(client.answer("prompts/get", call("begins", {"tone": "wry"}))) == -32602
    assert code(client.answer("prompts/get", call("double", {"n": "1"}))) == -32602
    first = client.answer("prompts/get", call("asks_first", {}, FORMS))["result"]
    assert first["resultType"] == "input_required", first
    got = client.answer("prompts/get", call("asks_first", {}, FORMS, requestState=first["requestState"], inputResponses=answers(["1/1"], {"answer": "ann"})))
    assert got["result"]["messages"][0]["content"]["text"] == "Talk about ann.", got

    def complete(name, value, prompt="begins"):
        params = {"ref": {"type": "ref/prompt", "name": prompt}, "argument": {"name": name, "value": value}, "_meta": meta()}
        return client.answer("completion/complete", params)["result"]["completion"]

    assert complete("tone", "w") == {"values": ["warm", "wry"], "total": 2, "hasMore": False}
    assert complete("about", "")["values"] == [] and complete("tone", "x")["values"] == [] and complete("a", "", "b")["values"] == []


def do_resources(client):
    def read(uri):
        return client.answer("resources/read", {"uri": uri, "_meta": meta()})

    listed = client.answer("resources/list", {"_meta": meta()})["result"]
    assert listed["ttlMs"] == 0 and "docs://cover" in {one["uri"] for one in listed["resources"]}, listed
    templates = client.answer("resources/templates/list", {"_meta": meta()})["result"]["resourceTemplates"]
    assert {one["uriTemplate"] for one in templates} == {"docs://{id}/page", "tfy://run/{id}", "tfy://run/{id}/output"}, templates
    result = read("docs://7/page")["result"]
    assert result["contents"] == [{"uri": "docs://7/page", "mimeType": "text/plain", "text": "page 7"}] and result["ttlMs"] == 0, result
    assert read("docs://cover")["result"]["contents"] == [{"uri": "docs://cover", "mimeType": "image/png", "blob": "AQID"}]
    assert code(read("docs://0/page")) == -32603
    for unknown in ("docs://7", "docs:///page", "docs://7/8/page", "x", "tfy://run/1", "tfy://run/01a21c18-0111-7be7-b26f-18e324cec8cf"):
        refused = read(unknown)
        assert code(refused) == -32602 and refused["error"]["data"]["uri"] == unknown, refused
    task = client.answer("tools/call", call("slow", {"ms": 60000}, WITH_TASKS))["result"]["taskId"]
    assert json.loads(read("tfy://run/" + task)["result"]["contents"][0]["text"])["state"] == "running"
    assert read("tfy://run/" + task + "/output")["result"]["contents"][0]["text"] == ""
    assert "tfy://run/" + task in {one["uri"] for one in client.answer("resources/list", {"_meta": meta()})["result"]["resources"]}
    client.answer("tasks/cancel", {"taskId": task, "_meta": meta(**WITH_TASKS)})


def do_tells(client):
    result = client.answer("tools/call", call("tells", {}, more={"progressToken": "p", META + "logLevel": "info"}))["result"]
    assert text(result) == "told"
    said = [(message["method"], message["params"]) for message in client.before]
    assert said == [
        ("notifications/message", {"level": "info", "logger": "tells", "data": "starts"}),
        ("notifications/progress", {"progressToken": "p", "progress": 0, "total": 4}),
        ("notifications/progress", {"progressToken": "p", "progress": 3, "total": 4, "message": "nearly there"}),
        ("notifications/progress", {"progressToken": "p", "progress": 100, "message": "who knows"}),
    ], said
    client.answer("tools/call", call("tells", {}))
    assert not client.before, client.before


def do_listens(client):
    task = client.answer("tools/call", call("slow", {"ms": 1000}, WITH_TASKS))["result"]["taskId"]
    wanted = {"toolsListChanged": True, "taskIds": [task], "resourceSubscriptions": ["tfy://run/" + task], "what": 1}
    number = client.ask("subscriptions/listen", {"notifications": wanted, "_meta": meta(**WITH_TASKS)})
    ack = client.hear()
    assert ack["method"] == "notifications/subscriptions/acknowledged", ack
    assert ack["params"] == {"notifications": {**wanted, "what": 1} and {key: wanted[key] for key in list(wanted)[:3]}, "_meta": {META + "subscriptionId": number}}, ack
    heard = set()
    while len(heard) < 2:
        message = client.hear()
        assert message["params"]["_meta"] == {META + "subscriptionId": number}, message
        if message["method"] == "notifications/tasks" and message["params"]["status"] == "completed":
            assert message["params"]["taskId"] == task
            heard.add("task")
        if message["method"] == "notifications/resources/updated":
            assert message["params"]["uri"] == "tfy://run/" + task
            heard.add("resource")


# ---- kills ----


def do_killed(client):
    """Killed between the call and its result: the run goes on, once, and its id answers."""
    key = {"tfy/key": "f00d/1/1"}
    task = client.answer("tools/call", call("counts_slowly", {"n": 7}, WITH_TASKS, more=key))["result"]
    assert task["resultType"] == "task", task
    client.kill()
    client.start()
    ended = poll(client, task["taskId"], "completed")
    assert text(ended["result"]) == "counted 7 slowly", ended
    again = client.answer("tools/call", call("counts_slowly", {"n": 7}, WITH_TASKS, more=key))["result"]
    assert text(again) == "counted 7 slowly"
    with open("counted_slowly") as counted:
        assert counted.read() == "7\n"


def do_killed_often(client):
    """Killed at any moment, again and again, while a client repeats its call: it ran once."""
    moments = random.Random(7)
    for i in range(4):
        key = {"tfy/key": f"beef/{i}/1"}
        for kills in range(6):
            client.ask("tools/call", call("counts", {"n": 100 + i}, more=key))
            time.sleep(moments.random() * 0.12)
            client.kill()
            client.start()
        result = client.answer("tools/call", call("counts", {"n": 100 + i}, more=key))["result"]
        # Of a tool that is used once it may be unknown whether it was; then a person is waited for.
        assert result["resultType"] == "input_required" or text(result) == f"counted {100 + i}", result
    with open("counted") as counted:
        lines = counted.read().split()
        assert lines and len(set(lines)) == len(lines), lines


def do_killed_asking(client):
    first = client.answer("tools/call", call("asks", {}, FORMS))["result"]
    client.kill()
    client.start()
    second = client.answer("tools/call", call("asks", {}, FORMS, requestState=first["requestState"], inputResponses=answers(["1/1"], {"confirm": True})))
    assert list(second["result"]["inputRequests"]) == ["1/2"], second


# ---- older revisions ----


def do_older(client):
    assert code(client.answer("tools/list")) == -32602
    assert client.answer("ping")["result"] == {}
    result = greet(client, "2025-06-18")
    assert result["protocolVersion"] == "2025-06-18" and "tools" in result["capabilities"], result
    result = greet(client, "2024-11-05")
    assert result["protocolVersion"] == "2025-11-25", result
    tools = client.answer("tools/list")["result"]
    assert "resultType" not in tools and {"double", "hello"} <= {tool["name"] for tool in tools["tools"]}
    result = client.answer("tools/call", {"name": "double", "arguments": {"n": 4}})["result"]
    assert result["structuredContent"] == {"result": 8} and "resultType" not in result
    assert code(client.answer("tools/call", {"name": "panics"})) == -32603
    assert code(client.answer("server/discovers")) == -32601
    assert code(client.answer("tasks/get", {"taskId": "x"})) == -32601


def do_older_told(client):
    greet(client)
    client.answer("tools/call", {"name": "tells", "_meta": {"progressToken": 7}})
    assert [message["method"] for message in client.before] == ["notifications/message"] + 3 * ["notifications/progress"], client.before
    client.answer("logging/setLevel", {"level": "error"})
    client.answer("tools/call", {"name": "tells"})
    assert not client.before, client.before
    tools = {tool["name"] for tool in client.answer("tools/list")["result"]["tools"]}
    assert {"run_status", "run_cancel"} <= tools, tools
    assert client.answer("prompts/get", {"name": "begins", "arguments": {"about": "tea"}})["result"]["messages"]
    assert client.answer("resources/read", {"uri": "docs://7/page"})["result"] == {"contents": [{"uri": "docs://7/page", "mimeType": "text/plain", "text": "page 7"}]}


def do_older_runs(client):
    """The tools that show a run which a call has left. Over HTTP there is no stream to hear of changes on."""
    greet(client)
    over_http = isinstance(client, Http)
    number = client.ask("tools/call", {"name": "slow", "arguments": {"ms": 60000}})
    runs = []
    while not runs:
        listed = client.answer("resources/list")["result"]["resources"]
        runs = [one["uri"].rsplit("/", 1)[1] for one in listed if one["name"].startswith("slow ") and "running" in one["description"]]
    status = client.answer("tools/call", {"name": "run_status", "arguments": {"run": runs[0]}})["result"]
    assert "still working" in text(status), status
    client.answer("resources/subscribe", {"uri": "tfy://run/" + runs[0]})
    cancelled = client.answer("tools/call", {"name": "run_cancel", "arguments": {"run": runs[0]}})["result"]
    assert "is cancelled" in text(cancelled), cancelled
    heard = client.before + ([] if any(message.get("id") == number for message in client.before) else [client.hear()])
    while not any(message.get("id") == number for message in heard) or not (over_http or any(message.get("method") for message in heard)):
        heard.append(client.hear())
    assert over_http or any(message.get("params") == {"uri": "tfy://run/" + runs[0]} for message in heard), heard
    status = client.answer("tools/call", {"name": "run_status", "arguments": {"run": runs[0]}})["result"]
    assert status["isError"] and "was cancelled" in text(status), status
    status = client.answer("tools/call", {"name": "run_status", "arguments": {"run": "../.."}})["result"]
    assert status["isError"], status


def do_older_asked(client):
    greet(client, capabilities={"elicitation": {}})
    number = client.ask("tools/call", {"name": "asks"})
    said = []
    for content in ({"confirm": True}, {"answer": "ann"}, {"choice": "late"}):
        asked = client.hear()
        assert asked["method"] == "elicitation/create" and asked["params"]["mode"] == "form", asked
        said.append(asked["id"])
        client.send({"id": asked["id"], "result": {"action": "accept", "content": content}})
    result = client.hear()
    assert result["id"] == number and text(result["result"]) == "true ann late" and len(set(said)) == 3, result
    client.ask("tools/call", {"name": "approved"})
    asked = client.hear()
    client.send({"id": asked["id"], "result": {"action": "cancel"}})
    assert client.hear()["result"]["isError"]


# ---- models of clients ----

MODEL = {"sampling": {}}
TOOLS = {"sampling": {"tools": {}}}


def sampled(content, reason="endTurn"):
    content = {"type": "text", "text": content} if isinstance(content, str) else content
    return {"role": "assistant", "content": content, "model": "theirs", "stopReason": reason}


def do_sampled(client):
    def again(name, arguments, first, content, capabilities=MODEL, reason="endTurn"):
        assert first["resultType"] == "input_required", first
        [key] = first["inputRequests"]
        replies = {key: sampled(content, reason)}
        return client.answer("tools/call", call(name, arguments, capabilities, requestState=first["requestState"], inputResponses=replies))["result"]

    first = client.answer("tools/call", call("says", {"prompt": "hi"}, MODEL))["result"]
    assert first["inputRequests"] == {"1/1": {"method": "sampling/createMessage", "params": {
        "messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 8192}}}, first
    assert text(again("says", {"prompt": "hi"}, first, "hello")) == "it says hello"
    where = {"what": "home"}
    first = client.answer("tools/call", call("plots", where, MODEL))["result"]
    params = first["inputRequests"]["1/1"]["params"]
    assert params["systemPrompt"].startswith("You plot.") and '"x"' in params["systemPrompt"], params
    assert params["modelPreferences"] == {"hints": [{"name": "strong"}]}, params
    second = again("plots", where, first, "somewhere")
    [(key, request)] = second["inputRequests"].items()
    assert key != "1/1" and [one["role"] for one in request["params"]["messages"]] == ["user", "assistant", "user"], second
    late = client.answer("tools/call", call("plots", where, MODEL, requestState=first["requestState"], inputResponses={"1/1": sampled("elsewhere")}))
    assert list(late["result"]["inputRequests"]) == [key], late
    assert again("plots", where, second, '{"x": 1, "y": 2}')["structuredContent"] == {"x": 1, "y": 2}
    goal = {"goal": "add"}
    first = client.answer("tools/call", call("adds", goal, TOOLS))["result"]
    [tool] = first["inputRequests"].popitem()[1]["params"]["tools"]
    assert tool["name"] == "add" and tool["inputSchema"]["properties"]["a"]["type"] == "integer", tool
    first = client.answer("tools/call", call("adds", goal, TOOLS))["result"]
    use = [{"type": "tool_use", "id": f"c{i}", "name": "add", "input": {"a": i, "b": 20}} for i in (1, 2)]
    second = again("adds", goal, first, use, TOOLS, "toolUse")
    [request] = second["inputRequests"].values()
    user, assistant, results = request["params"]["messages"]
    assert [part["type"] for part in assistant["content"]] == ["tool_use"] * 2 and assistant["content"][0]["id"] == "c1", assistant
    assert [(part["toolUseId"], "21" in part["content"][0]["text"]) for part in results["content"]] == [("c1", True), ("c2", False)], results
    assert text(again("adds", goal, second, "21 and 22", TOOLS)) == "21 and 22"
    first = client.answer("tools/call", call("tries", {}, MODEL))["result"]
    assert "neither a text nor a call" in text(again("tries", {}, first, {"type": "image", "data": "", "mimeType": "x/y"}))
    first = client.answer("tools/call", call("hurries", {}, MODEL))["result"]
    time.sleep(0.6)
    assert text(again("hurries", {}, first, "quick")) == "too late"


def do_sampled_unable(client):
    """A client whose model does not answer is told so, and nothing is left of its call."""
    for capabilities, name, lacks in (({}, "says", {"sampling": {}}), (FORMS, "both", {"sampling": {}}), (MODEL, "adds", {"sampling": {"tools": {}}})):
        refused = client.answer("tools/call", call(name, {"says": {"prompt": "x"}, "adds": {"goal": "x"}}.get(name, {}), capabilities))
        assert code(refused) == -32021 and refused["error"]["data"]["requiredCapabilities"] == lacks, refused
    for _ in range(200):
        runs = client.answer("resources/list", {"_meta": meta()})["result"]["resources"]
        if all("cancelled" in run["description"] for run in runs):
            break
        time.sleep(0.05)
    assert len(runs) == 3 and all("cancelled" in run["description"] for run in runs), runs


def do_sampled_both(client):
    """What the client can do, of what a run asks at once."""
    first = client.answer("tools/call", call("both", {}, {**FORMS, **MODEL}))["result"]
    while len(first["inputRequests"]) < 2:
        time.sleep(0.05)
        first = client.answer("tools/call", call("both", {}, {**FORMS, **MODEL}, requestState=first["requestState"]))["result"]
    said = {key: sampled("hello") if request["method"].startswith("sampling") else answers([key], {"answer": "ann"})[key]
            for key, request in first["inputRequests"].items()}
    assert len(said) == 2 and "name" in said, first
    done = client.answer("tools/call", call("both", {}, {**FORMS, **MODEL}, requestState=first["requestState"], inputResponses=said))["result"]
    assert text(done) == "hello, ann", done
    task = client.answer("tools/call", call("says", {"prompt": "x"}, {**WITH_TASKS, **MODEL}))["result"]
    assert task["resultType"] == "task" and task["status"] == "input_required", task
    told = {"taskId": task["taskId"], "_meta": meta(**WITH_TASKS)}
    assert code(client.answer("tasks/get", told)) == -32021
    told["_meta"] = meta(**WITH_TASKS, **MODEL)
    assert list(client.answer("tasks/get", told)["result"]["inputRequests"]) == ["1/1"]
    client.answer("tasks/update", {**told, "inputResponses": {"1/1": sampled("as a task")}})
    assert text(poll(client, task["taskId"], "completed")["result"]) == "it says as a task"


def do_sampled_killed(client):
    """The request is open as it was in the next process, and answered once."""
    first = client.answer("tools/call", call("says", {"prompt": "hi"}, MODEL))["result"]
    client.kill()
    client.start()
    done = client.answer("tools/call", call("says", {"prompt": "hi"}, MODEL, requestState=first["requestState"], inputResponses={"1/1": sampled("again")}))
    assert text(done["result"]) == "it says again", done
    client.kill()
    client.start()
    done = client.answer("tools/call", call("says", {"prompt": "hi"}, MODEL, requestState=first["requestState"]))
    assert text(done["result"]) == "it says again", done


def do_older_sampled(client):
    greet(client, capabilities={"sampling": {}, "elicitation": {}})
    number = client.ask("tools/call", {"name": "both"})
    for _ in range(2):
        asked = client.hear()
        said = sampled("hello") if asked["method"] == "sampling/createMessage" else {"action": "accept", "content": {"answer": "ann"}}
        client.send({"id": asked["id"], "result": said})
    result = client.hear()
    assert result["id"] == number and text(result["result"]) == "hello, ann", result
    client.ask("tools/call", {"name": "tries"})
    asked = client.hear()
    client.send({"id": asked["id"], "error": {"code": -1, "message": "the user said no"}})
    assert "the client lets no model answer: the user said no" in text(client.hear()["result"])
    greet(client)
    assert code(client.answer("tools/call", {"name": "says", "arguments": {"prompt": "x"}})) == -32021


def do_steps(client):
    """In a program that says nothing of how far it is, the steps that are done are counted."""
    for more, said in (({"progressToken": "s"}, [(1, "add"), (2, "again")]), ({}, [])):
        result = client.answer("tools/call", call("sums", {"a": 5}, FORMS, more=more))["result"]
        assert text(result) == "10 7", result
        assert [(one["params"]["progress"], one["params"]["message"]) for one in client.before] == said, client.before


# ---- tools that are tasks ----


def do_always_tasks(client):
    for capabilities in ({}, FORMS):
        refused = client.answer("tools/call", call("works", {"ms": 0}, capabilities))
        assert code(refused) == -32021 and refused["error"]["data"]["requiredCapabilities"] == {"extensions": {TASKS: {}}}, refused
    task = client.answer("tools/call", call("works", {"ms": 0}, WITH_TASKS))["result"]
    assert task["resultType"] == "task" and "result" not in task, task
    assert text(poll(client, task["taskId"], "completed")["result"]) == "worked"
    # What is asked at once comes with the call, and the work is a task.
    slow = {"ms": 900}
    first = client.answer("tools/call", call("asks_and_works", slow, WITH_TASKS))["result"]
    assert first["resultType"] == "input_required" and list(first["inputRequests"]) == ["name"] and "taskId" not in first, first
    replies = answers(["name"], {"answer": "ann"})
    task = client.answer("tools/call", call("asks_and_works", slow, WITH_TASKS, requestState=first["requestState"], inputResponses=replies))["result"]
    assert task["resultType"] == "task" and "requestState" not in task, task
    assert text(poll(client, task["taskId"], "completed")["result"]) == "worked for ann"
    greet(client)
    assert code(client.answer("tools/call", {"name": "works", "arguments": {"ms": 0}})) == -32021


# ---- over HTTP alone ----


def do_headers(client):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call("hello", {"name": "ann"})}).encode()
    right = client.headers({"method": "tools/call", "params": call("hello", {})})

    def status(**changes):
        headers = {**right, **{name.replace("_", "-"): value for name, value in changes.items()}}
        client.post(body, {name: value for name, value in headers.items() if value is not None})
        return client.statuses.get(), client.hear()

    assert status()[0] == 200
    assert status(Mcp_Name="=?base64?aGVsbG8=?=")[0] == 200
    assert status(Mcp_Name=" hello ")[0] == 200
    for changes in ({"Mcp_Name": "double"}, {"Mcp_Name": None}, {"Mcp_Method": "tools/list"}, {"Mcp_Method": None},
                    {"MCP_Protocol_Version": None}, {"MCP_Protocol_Version": "2025-11-25"}, {"Mcp_Name": "=?base64?aGVsbG8?="}):
        answer = status(**changes)
        assert answer[0] == 400 and code(answer[1]) == -32020, (changes, answer)
    assert status(Authorization=None)[0] == 401
    assert status(Origin="http://evil.example")[0] == 403
    client.post(b"{", right)
    assert client.statuses.get() == 400 and code(client.hear()) == -32700
    assert client.answer("no/such", {"_meta": meta()}) and client.statuses.get() == 404


def do_sessions(client):
    greet(client)
    first = client.session
    assert first and len(first) == 32
    client.statuses = queue.Queue()
    assert "tools" in client.answer("tools/list")["result"]

    def delete():
        connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=60)
        connection.request("DELETE", "/mcp", None, client.headers({}))
        answer = connection.getresponse()
        answer.read()
        return answer.status

    assert delete() == 200 and delete() == 404
    client.statuses = queue.Queue()
    client.answer("tools/list")
    assert client.statuses.get() == 404
    client.session = None
    greet(client)
    assert client.session != first


def do_viewer(client):
    assert client.answer("tools/list", {"_meta": meta()})["result"]["tools"]
    refused = client.answer("tools/call", call("hello", {"name": "ann"}))
    assert code(refused) == -32603 and "operator" in refused["error"]["message"], refused


def do_limited(client):
    """A token that sees one workflow alone."""
    [tool] = client.answer("tools/list", {"_meta": meta()})["result"]["tools"]
    assert tool["name"] == "hello", tool
    assert text(client.answer("tools/call", call("hello", {"name": "ann"}))["result"]) == "hello ann"
    assert code(client.answer("tools/call", call("double", {"n": 1}))) == -32602


def do_people_approve(client):
    """The client's user is not asked: people are, here."""
    task = client.answer("tools/call", call("asks", {}, WITH_TASKS))["result"]
    assert task["resultType"] == "task", task
    for _ in range(200):
        got = poll(client, task["taskId"], "working")
        if "statusMessage" in got:
            break
        time.sleep(0.05)
    assert got["statusMessage"] == "it waits for a person" and "inputRequests" not in got, got
    update = {"taskId": task["taskId"], "inputResponses": answers(["1/1"], {"confirm": True}), "_meta": meta(**WITH_TASKS)}
    assert client.answer("tasks/update", update)["result"]["resultType"] == "complete"
    time.sleep(0.3)
    assert poll(client, task["taskId"], "working")["statusMessage"]
    first = client.answer("tools/call", call("asks", {}, FORMS))["result"]
    assert first["resultType"] == "input_required" and "inputRequests" not in first, first


def do_standing(client):
    """What is not part of an answer goes to the standing stream of a session, while there is one."""
    greet(client)
    connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=60)
    connection.request("GET", "/mcp", None, client.headers({}))
    stream = connection.getresponse()
    assert stream.status == 200 and stream.headers["Content-Type"] == "text/event-stream"
    number = client.ask("tools/call", {"name": "slow", "arguments": {"ms": 700}})
    time.sleep(0.3)
    [run] = [one["uri"] for one in client.answer("resources/list")["result"]["resources"] if one["name"].startswith("slow ") and "running" in one["description"]]
    client.answer("resources/subscribe", {"uri": run})
    line = next(line for line in stream if line.startswith(b"data: "))
    assert json.loads(line[6:])["params"] == {"uri": run}, line
    assert client.hear()["id"] == number
    client.answer("resources/unsubscribe", {"uri": run})
    connection.close()
    assert client.answer("ping")["result"] == {}


def do_two_programs(client):
    names = {tool["name"] for tool in client.answer("tools/list", {"_meta": meta()})["result"]["tools"]}
    assert {"offers.hello", "second.hello", "offers.double"} <= names, names
    assert text(client.answer("tools/call", call("second.hello", {"name": "ann"}))["result"]) == "good day ann"
    assert text(client.answer("tools/call", call("offers.hello", {"name": "ann"}))["result"]) == "hello ann"


def do_review(client):
    """examples/review: asked by one process, answered by the next one."""
    arguments = {"branch": "faster", "most": 10}
    first = client.answer("tools/call", call("review", arguments, FORMS))["result"]
    assert first["resultType"] == "input_required" and list(first["inputRequests"]) == ["scope"], first
    client.kill()
    client.start()
    answer = {"scope": {"action": "accept", "content": {"path": "src"}}}
    told = call("review", arguments, FORMS, more={"progressToken": "p"}, requestState=first["requestState"], inputResponses=answer)
    review = client.answer("tools/call", told)["result"]["structuredContent"]
    assert [remark["line"] for remark in review["remarks"]] == [3], review
    steps = [said["params"]["message"] for said in client.before if said["method"] == "notifications/progress"]
    assert "reviewing" in steps, client.before


def do_gone(client):
    """A client that hangs up leaves its run alone."""
    connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=60)
    params = call("counts_slowly", {"n": 9}, FORMS)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    connection.request("POST", "/mcp", body, client.headers({"method": "tools/call", "params": params}))
    time.sleep(0.3)
    connection.close()
    time.sleep(1.5)
    with open("counted_slowly") as counted:
        assert counted.read() == "9\n"


def main():
    scenario = sys.argv[1]
    http_words = sys.argv[3:5] if sys.argv[2] == "http" else None
    client = Http(int(http_words[0]), http_words[1]) if http_words else Client(sys.argv[sys.argv.index("--") + 1 :])
    globals()["do_" + scenario](client)
    assert client.close() == 0, "the server's status"


main()
