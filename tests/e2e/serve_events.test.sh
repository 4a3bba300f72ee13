#!/bin/sh
# GET /v1/events: records as they become durable, in order, each once; where a stream goes on; what it leaves out; its end.
. "$here/lib.sh"
cat >shop.tfy <<'EOF'
tool price(name: string) -> string pure = exec ["sh", "-c", "echo 5"]
workflow order(customer: string) -> string {
    let p = yield price(customer)
    emit("Thinking", "about ${p}")
    return "${customer}: ${p}"
}
workflow pair() -> int {
    parallel {
        a: yield sleep(1ms)
        b: yield sleep(1ms)
    }
    return 2
}
workflow loud(text: string) { print(text) }
workflow asks() -> bool { return yield approve("go on?") }
EOF
. "$here/serve_lib.sh"
start() { post "/v1/programs/shop/workflows/$1/runs" "{\"args\":${2-{\}}}" -H "Prefer: wait=10"; }
# listen FILE SECONDS QUERY OPTIONS…: in the background.
listen()
{
    listen_file=$1 listen_for=$2 listen_query=$3
    shift 3
    curl -sN --max-time "$listen_for" --unix-socket "$TFY_DB-live/http" "$@" "http://x/v1/events?$listen_query" >"$listen_file" &
    listener=$!
}
hears() { listen "$@" && wait $listener; } # … and waited for
has_line() { grep -qF -- "$2" "$1"; }
within() { # FILE TEXT: it comes within some seconds
    tries=0
    until has_line "$1" "$2"; do [ $((tries += 1)) -le 500 ] || return 1; sleep 0.02; done
}
count() { grep -c "^event: $2\$" "$1"; }
ids() { sed -n 's/^id: //p' "$1"; }
in_order() { ids "$1" | sort -nu | cmp -s - "$1.ids"; }
checked_ids() { ids "$1" >"$1.ids" && in_order "$1"; }

serves shop.tfy
ask 'http://x/v1/events?live=x'
check "live is 0 or 1" says 400 'live is one of 0, 1'
listen live 40 live=1
within live "event: hello"
check "a stream begins with what it is of" sh -c 'grep -q "^data: {\"db\":\"[0-9a-f-]*\",\"epoch\":1,\"head\":2}" live'
start order '{"customer":"ann"}'
first=$(member id)
check "a record comes when it is durable" within live '"type":"TaskComplete"'
check "... with its run and place" has_line live "\"run\":\"$first\",\"task\":\"1\",\"program\":\"shop\",\"workflow\":\"order\",\"type\":\"ToolResult\",\"step\":1,\"point\":\"order/tool/price/1\",\"line\":3,\"payload\":{\"tool\":\"price\""
check "... and its id is its number" sh -c 'sed -n "/^id: /{N;N;p}" live | paste - - - | grep "event: record" | sed "s/.*id: \([0-9]*\).*\"lsn\":\([0-9]*\),.*/\1 \2/" | awk "{ if (\$1 != \$2) exit 1; n++ } END { exit n < 4 }"'
check "... in order, each once" checked_ids live
check "a live event comes to who wants some" within live '"stage":"Thinking"'
check "... behind the record that it tells of" sh -c 'grep -n "\"stage\":\"Thinking\"\|\"stage\":\"Thinking\"}" live | head -1 | grep -q "\"type\":\"Output\""'
head=$(ids live | tail -1)

start pair
hears all 1 after=0
check "nobody else gets live events" [ "$(count all live)" = 0 ]
check "an earlier place is read out of the log" [ "$(count all record)" -ge 12 ]
check "... whole, and in order" sh -c 'sed -n "s/^id: //p" all | awk "{ if (\$1 != NR - 1) exit 1 } END { exit NR < 12 }"'
hears some 1 after=0 -H "Last-Event-ID: $head"
check "the header of a client that comes again counts" [ "$(sed -n 's/^id: //p' some | sed -n 2p)" = $((head + 1)) ]
hears none 1 ""
check "without a place it is from now" [ "$(count none record)" = 0 ]
for place in after=999 after=x after=-1 "after=0&db=00000000-0000-0000-0000-000000000000"; do
    hears reset 1 "$place"
    check "... and so with $place, which is said" sh -c '[ "$(grep -c "^event: reset" reset)" = 1 ] && [ "$(grep -c "^event: record" reset)" = 0 ]'
done

for id in x 999; do
    hears reset 1 after=0 -H "Last-Event-ID: $id"
    check "... and where the client's last id is $id" sh -c '[ "$(grep -c "^event: reset" reset)" = 1 ] && [ "$(grep -c "^event: record" reset)" = 0 ]'
done

# ---- what is left out ----

hears few 1 "after=0&run=$(echo "$first" | cut -c1-36)"
check "a run alone" sh -c '[ "$(grep -c "^event: record" few)" = 5 ] && ! grep -q "\"workflow\":\"pair\"" few'
hears few 1 "after=0&task=1.1"
check "a task, and what is below it" sh -c 'grep -q "\"task\":\"1.1\"" few && ! grep -q "\"task\":\"1.2\"\|\"task\":\"1\"" few'
hears few 1 "after=0&type=ToolResult,TaskExit"
check "types" sh -c 'grep -q "\"type\":\"ToolResult\"" few && grep -q "\"type\":\"TaskExit\"" few && ! grep -q "\"type\":\"Output\"" few'
hears few 1 "after=0&workflow=pair"
check "a workflow" sh -c 'grep -q "\"workflow\":\"pair\"" few && ! grep -q "\"workflow\":\"order\"" few'
hears few 1 "after=0&program=other"
check "a program" [ "$(count few record)" = 0 ]
post /v1/programs/shop/workflows/order/runs '{"args":{"customer":"bob"},"labels":{"team":"web"}}' -H "Prefer: wait=10"
hears few 1 "after=0&label.team=web"
check "a label" sh -c '[ "$(grep -c "^event: record" few)" = 5 ] && ! grep -q "ann" few'
hears few 1 "after=0&label.team=ops"
check "... of another value" [ "$(count few record)" = 0 ]
ask "http://x/v1/events?type=Toolresult"
check "an unknown type is refused" says 400 "did you mean 'ToolResult'"
ask "http://x/v1/events?types=ToolResult"
check "... and an unknown parameter" says 400 "did you mean 'type'"
ask "http://x/v1/events?run=ffffffff"
check "... and a run that there is not" says 404 "gc may have removed it"

start loud "{\"text\":\"$(head -c 20000 /dev/zero | tr '\0' x)\"}"
hears all 1 "after=0&type=Output"
check "a large payload is left out" sh -c 'grep "\"cut\":true,\"href\":\"/v1/records/[0-9]*\"" all | grep -vq payload'
check "... and nothing else is" has_line all '"text":"about 5\n"'

# ---- many, slow, and none ----

rm -f many.*
for i in 1 2 3 4 5 6 7 8; do listen many.$i 20 "after=0&type=TaskComplete"; done
for i in 1 2 3 4 5 6 7 8; do within many.$i "event: hello"; done
ask http://x/metrics
check "the streams are counted" awk '$1 == "tfy_sse_subscribers" { n = $2 } END { exit n < 8 }' out
# Beside them, some that begin to want other types one after the other, and leave again.
types="Retry ToolResult Output,ToolResult TaskComplete all Output InstructionStart all"
begin() { if [ "$2" = all ]; then listen grow.$1 "$3" ""; else listen grow.$1 "$3" "type=$2"; fi; }
i=0
for type in $types; do
    begin $((i += 1)) $type $((1 + i % 3 * 20))
    within grow.$i "event: hello"
    sleep 0.05
done &
growing=$!
python3 - <<'EOF'
import json, os
from unix_http import Unix
client = Unix(os.environ["TFY_DB"] + "-live/http")
for i in range(300):
    client.request("POST", "/v1/programs/shop/workflows/order/runs", json.dumps({"args": {"customer": "c%d" % i}}),
                   {"Content-Type": "application/json"})
    client.getresponse().read()
EOF
wait $growing
done_all() { [ "$(grep -c '^event: record' many.1)" -ge 304 ]; }
tries=0
until done_all || [ $((tries += 1)) -gt 500 ]; do sleep 0.02; done
for i in 1 2 3 4 5 6 7 8; do check "listener $i has every end once" sh -c '[ "$(grep -c "^event: record" many.'$i')" = 304 ] && sed -n "s/^id: //p" many.'$i' | sort -nc'; done

# ---- the end ----

ends
check "the server ends in order" [ $? = 0 ]
wait
check "a stream is told its end" sh -c 'tail -3 many.1 | grep -q "^event: bye"'
i=0
for type in $types; do # a stream has each record of its types between its beginning and the last that it got
    if [ $type = all ]; then tfy events; else tfy events --type $type; fi >of_type
    i=$((i + 1))
    check "what $type listens to is whole" python3 - grow.$i $type <<'EOF'
import json, re, sys
text = open(sys.argv[1]).read()
first = int(re.search(r"^id: (\d+)\nevent: hello", text, re.M).group(1))
got = [int(m) for m in re.findall(r"^id: (\d+)\nevent: record", text, re.M)]
whole = "event: bye" in text
wanted = [n for n in (json.loads(line)["lsn"] for line in open("of_type")) if n > first]
if not whole: wanted = wanted[: len(got)]
assert got == wanted, (got[:5], wanted[:5], len(got), len(wanted))
assert whole or sys.argv[2] not in ("ToolResult", "all") or got
EOF
done
check "... behind the last record" sh -c 'grep -q "\"type\":\"ShutdownMarker\"" live'
run tfy gc --keep 1
serves shop.tfy
hears all 1 after=0
check "what retention removed is a gap" sh -c 'grep -A1 "^event: gap" all | grep -q "^data: {\"from\":3,\"to\":[0-9]*,\"why\":\"compacted\"}"'
check "... and the place behind it goes on" checked_ids all
ends

# ---- silence ----

export TFY_TEST_BEAT_MS=200
serves shop.tfy
listen calm 4 "type=Retry"
within calm "event: hello"
calm=$listener before=$(ids calm | head -1)
start pair
hears all 1 "after=$before"
check "who begins to want other types has what passed the ring" sh -c '[ "$(grep -c "^event: record" all)" -ge 6 ] && sed -n "s/^id: //p" all | awk "NR > 1 && \$1 != last + 1 { exit 1 } { last = \$1 }"'
wait $calm
unset TFY_TEST_BEAT_MS
check "a stream without events has comments" [ "$(grep -c '^:$' calm)" -ge 5 ]
check "... and is told the place that it has come to, once" sh -c '[ "$(sed -n "s/^id: //p" calm | sort -nu | wc -l)" -ge 2 ] && [ "$(grep -c "^event: record" calm)" = 0 ]'
ends

# ---- tfy events ----

run tfy events
check "the same on the command line" has_line out '"type":"TaskComplete"'
check "... each is JSON" python3 -c 'import json; [json.loads(line) for line in open("out")]'
last=$(tail -1 out | sed 's/{"lsn":\([0-9]*\).*/\1/')
run tfy events --after "$last"
check "... behind a record" [ ! -s out ]
run tfy events --type Toolresult
check "... an unknown type is refused" ended 64 "did you mean 'ToolResult'"
run tfy events --after x
check "... and a number that is none" ended 64 "not 'x'"
tfy events --after "$last" --follow >followed &
follower=$!
run tfy run shop.tfy --workflow order --customer eve
check "... and what is recorded from now on" within followed '"workflow":"order","type":"TaskComplete"'
kill $follower
wait $follower 2>/dev/null || true
