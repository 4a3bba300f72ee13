#!/bin/sh
# tfy publish to OpenTelemetry: spans with stable ids whose parents exist, points, log records, and what a collector refuses.
. "$here/lib.sh"
. "$here/publish_lib.sh"
python3 "$here/publish_sink.py" sent &
sink=$!
trap 'kill $sink $follower 2>/dev/null' EXIT
within 10 [ -e sent.port ]
to=otlp+http://127.0.0.1:$(cat sent.port)
cat >desk.tfy <<'END'
tool price(name: string) -> string pure = exec ["sh", "-c", "echo 5"]
tool charge(n: int) -> string once = exec ["sh", "-c", "echo ok"]
tool bad(n: int) -> string pure = exec ["sh", "-c", "exit 3"]
workflow main() -> string {
    let p = yield price("geheim")
    let c = yield charge(3) approve "go?"
    let t = spawn other(1)
    let o = yield join(t)
    let b = yield bad(1) retry 1
    return "${p} ${c}"
}
workflow other(n: int) -> int {
    yield sleep(20ms)
    return n
}
END
tfy run desk.tfy --yes >/dev/null 2>&1
cp "$EXAMPLES/research/research.tfy" "$EXAMPLES/research/session.jsonl" .
tfy run research.tfy --llm cassette:session.jsonl >/dev/null
# calls TRACEPARENT: another agent calls a workflow in the middle of a span of its own.
calls()
{
    {
        echo '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}}}'
        echo '{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "other", "arguments": {"n": 7},
               "_meta": {"traceparent": "'"$1"'"}}}' | tr -d '\n'
        echo
        within 20 grep -q '"id":2' called
    } | tfy mcp serve desk.tfy --tool other >called 2>>err
}
caller=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
malformed=00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01
: >called
calls "$caller"
check "another agent's call is a run" grep -q '"result":7' called
: >called
calls "$malformed"
tfy serve desk.tfy --no-tcp >served 2>&1 &
server=$!
within 20 grep -q "^tfy serve: serving" served
tfy start desk.other --n 8 --label "traceparent=$malformed" --wait >/dev/null
kill $server
wait $server
# A run of ours calls another one, which knows the span of the call.
cat >depot.tfy <<'END'
/// Fetches an article.
workflow fetch(article: string) -> string { return "fetched ${article}" }
END
cat >buyer.tfy <<'END'
mcp depot = exec ["tfy", "mcp", "serve", "depot.tfy", "--db", "depot.db"] sandbox open { fetch: pure }
workflow buy() -> string { return yield depot.fetch("tea") }
END
tfy mcp pull buyer.tfy >/dev/null 2>&1
tfy run buyer.tfy >/dev/null 2>>err
called_in=$(sqlite3 depot.db "SELECT payload->>'$.labels.traceparent' FROM wal WHERE type = 1")
follows --to "$to/base/"
check "everything is sent" within 20 reaches_head otlp
unfollows
# shape.py [PATH]: what arrived under /base, looked at as the protocol has it; prints the spans.
cat >shape.py <<'END'
import json, re, sqlite3, sys, uuid
base = sys.argv[1]
spans, points, logs = {}, {}, []
def attributes(item):
    found = {}
    for one in item["attributes"]:
        (kind, value), = one["value"].items()
        assert kind in ("stringValue", "intValue", "arrayValue") and (kind != "intValue" or isinstance(value, str))
        assert one["key"] not in found, one
        found[one["key"]] = value
    return found
def scope(one):
    assert {"key": "service.name", "value": {"stringValue": "tfy"}} in one["resource"]["attributes"]
    assert one["schemaUrl"].endswith("/1.41.0")
for line in open("sent"):
    got = json.loads(line)
    if not got["path"].startswith(base) or got["status"] != 200: continue
    body, kind = json.loads(got["body"]), got["path"][len(base):]
    assert {name.lower(): value for name, value in got["headers"].items()}["content-type"] == "application/json"
    if kind == "/v1/traces":
        for resource in body["resourceSpans"]:
            scope(resource)
            for span in resource["scopeSpans"][0]["spans"]:
                assert re.fullmatch("[0-9a-f]{32}", span["traceId"]) and re.fullmatch("[0-9a-f]{16}", span["spanId"])
                assert int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"])
                span["attributes"] = attributes(span)
                key = span["traceId"], span["spanId"]
                assert key not in spans or spans[key] == span, (spans[key], span)
                spans[key] = span
    elif kind == "/v1/metrics":
        for resource in body["resourceMetrics"]:
            scope(resource)
            for metric in resource["scopeMetrics"][0]["metrics"]:
                for point in metric["histogram"]["dataPoints"]:
                    assert len(point["bucketCounts"]) == len(point["explicitBounds"]) + 1
                    assert sum(int(count) for count in point["bucketCounts"]) == int(point["count"]) == 1
                    points.setdefault(metric["name"], []).append((point["sum"], attributes(point)))
    else:
        assert kind == "/v1/logs"
        for resource in body["resourceLogs"]:
            scope(resource)
            logs += resource["scopeLogs"][0]["logRecords"]
# The run of a call is below the span that called; others are traces of their own.
caller = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
called = {span["attributes"]["tfy.run"] for (trace, id), span in spans.items() if trace == caller[0]}
assert len(called) == 1, called
for (trace, id), span in spans.items():
    run = span["attributes"]["tfy.run"]
    assert trace == (caller[0] if run in called else run.replace("-", "")), span
    if span["name"].startswith("invoke_workflow"):
        assert span["parentSpanId"] == (caller[1] if run in called else ""), span
    else:
        assert (trace, span["parentSpanId"]) in spans, span
runs = {str(uuid.UUID(bytes=row[0])) for row in sqlite3.connect("file:runs.db?mode=ro", uri=True).execute("select uuid from run")}
assert {span["attributes"]["tfy.run"] for span in spans.values()} == runs, (runs, spans.keys())
assert caller[0] in {log.get("traceId") for log in logs}
json.dump([list(spans.values()), points, logs], open("found", "w"))
END
check "spans have parents, and ids of their own" python3 shape.py /base
found() { python3 -c "import json
spans, points, logs = json.load(open('found'))
def named(name): return [span for span in spans if span['name'] == name]
$1"; }
check "a run is a trace" found "
main, = [span for span in named('invoke_workflow main') if span['attributes']['tfy.program'] == 'desk']
assert main['attributes']['gen_ai.operation.name'] == 'invoke_workflow' and main['attributes']['gen_ai.workflow.name'] == 'main'
assert main['status'] == {'code': 2, 'message': ''} and main['attributes']['error.type'] == 'ToolError', main
assert len(main['attributes']['tfy.version']) == 12"
check "... in the trace of its caller, if another agent called for it" found "
one, = [span for span in spans if span['parentSpanId'] == 'b7ad6b7169203331']
assert len(named('invoke_workflow other')) == 3 and one in named('invoke_workflow other') and one['attributes']['gen_ai.workflow.name'] == 'other'
assert {span['name'] for span in spans if span['traceId'] == one['traceId']} == {'invoke_workflow other', 'tfy.sleep', 'tfy.task'}"
check "a call of ours is the span that the called run is told" found "
one, = [span for span in spans if span['name'].startswith('execute_tool') and 'fetch' in span['name']]
assert '$called_in' == f'00-{one[\"traceId\"]}-{one[\"spanId\"]}-01', one"
check "a tool has its name and its key" found "
charge, = named('execute_tool charge')
assert charge['attributes']['gen_ai.tool.name'] == 'charge' and charge['attributes']['gen_ai.tool.call.id'].endswith(charge['attributes']['tfy.task'] + '/' + charge['attributes']['tfy.step'])
first, again = named('execute_tool bad')
assert first['status']['code'] == again['status']['code'] == 2 and again['parentSpanId'] == first['spanId']"
check "what a model was asked has its model and tokens" found "
chats = named('chat scripted')
assert len(chats) >= 3 and all(chat['kind'] == 3 and int(chat['attributes']['gen_ai.usage.input_tokens']) > 0 for chat in chats)
assert len(points['gen_ai.client.operation.duration']) == len(chats) and len(points['gen_ai.client.token.usage']) == 2 * len(chats)
assert {about['gen_ai.token.type'] for value, about in points['gen_ai.client.token.usage']} == {'input', 'output'}"
check "other steps have names of ours" found "
assert {'tfy.task', 'tfy.sleep', 'tfy.join', 'tfy.lock'} <= {span['name'] for span in spans}
sleep = named('tfy.sleep')[0]
assert int(sleep['endTimeUnixNano']) - int(sleep['startTimeUnixNano']) >= 15000000"
check "other records are log records, in their traces" found "
assert any(log['eventName'] == 'tfy.record.Retry' and log['severityText'] == 'WARN' and log['attributes'] for log in logs)
ids = {span['spanId'] for span in spans}
assert all(log['spanId'] in ids for log in logs if 'spanId' in log)"
check "no text leaves" sh -c '! grep -qi "bees\|exited with status" sent'
: >said
follows --to "$to/text" --name texts --content
within 20 reaches_head texts
unfollows
check "... unless it was asked for" sh -c 'grep text/v1/traces sent | grep -q "gen_ai.output.messages.*Bees" && grep text/v1/logs sent | grep -q "Topic: bees"'

# ---- kills ----

for i in 1 2 3 4; do
    follows --to "$to/killed" --name killed
    sleep 0.0$((i * 2))
    unfollows KILL
done
follows --to "$to/killed" --name killed
within 20 reaches_head killed
unfollows
check "a repeat is the same in every span" python3 shape.py /killed

# ---- collectors that do not take it ----

: >said
follows --to "$to/busy" --name busy
check "busy is later" within 10 said "/busy/v1/traces answered 503; again in 1.0 s"
check "... and nothing is passed over" [ "$(cursor busy lsn)" = 0 ]
: >sent.well
check "... until it is well" within 20 reaches_head busy
check "... with all" python3 shape.py /busy
unfollows
follows --to "$to/wrong" --name wrong
check "what is refused for good is passed over" within 20 reaches_head wrong
check "... said" said "/wrong/v1/traces answered 400, which drops"
check "... and counted" [ "$(cursor wrong dropped)" -gt 20 ]
unfollows
echo geheim >otlp.key
follows --to "$to/known" --name known --secret-file otlp.key
within 20 reaches_head known
unfollows
check "a token is sent" sh -c 'grep known/v1/traces sent | grep -q "Bearer geheim"'
run tfy publish --to otlp+http://collector.example:4318 --secret-file otlp.key
check "... but not to another machine without TLS" ended 64 "a secret does not go to another machine without TLS: use otlp+https://"
run tfy publish --to redis://127.0.0.1:1 --content
check "texts are a matter of OTLP" sh -c 'grep -q "built without" err || grep -q -- "--content is for otlp+http://" err'
run tfy publish --to "$to?x=1"
check "an address has no parameters" ended 64 "'x' is not known"

# ---- as others read it ----

modules=$here/../../build/npm/node_modules
node=$(ls "$modules"/node-linux-*/bin/node 2>/dev/null | head -n 1)
if [ -n "$node" ] && [ -e "$modules/@opentelemetry/otlp-transformer" ]; then
    check "the published definitions read everything" "$node" "$here/publish_otlp.mjs" sent "$(cd "$modules" && pwd)"
else
    echo "skipped: the definitions of OpenTelemetry are not installed ('./dev test' installs them)"
fi
