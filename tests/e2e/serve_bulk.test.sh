#!/bin/sh
# tfy serve: the same change to many runs.
. "$here/lib.sh"
. "$here/serve_lib.sh"
cat >shop.tfy <<'END'
workflow order(who: string) -> string {
    let size: string = yield signal("size")
    return "${who} ${size}"
}
END
serves shop.tfy --no-tcp
bulk() { bulk_body=$1; shift; post /v1/bulk "$bulk_body" "$@"; }
order() # WHO LABEL
{
    post /v1/programs/shop/workflows/order/runs "{\"args\":{\"who\":\"$1\"},\"labels\":{\"team\":\"$2\"}}"
    id=$(member id)
    lsn=$(sed -n 's/^Tfy-Lsn: *\([0-9]*\).*/\1/Ip' head)
}
states() { ask "http://x/v1/runs?label.team=$1" && python3 -c '
import json; print(*sorted(run["state"] for run in json.load(open("out"))["runs"]))'; }
become() # TEAM STATES
{
    tries=0
    until [ "$(states "$1")" = "$2" ] || [ $((tries += 1)) -gt 200 ]; do sleep 0.02; done
    [ "$(states "$1")" = "$2" ]
}

# ---- by ids ----
order ann web && one=$id
order bob web && two=$id
order eve shop && three=$id
bulk "{\"do\":\"signal\",\"runs\":[\"$one\",\"$two\"],\"signal\":{\"name\":\"size\",\"value\":\"big\",\"id\":\"s1\"}}" -H "Tfy-After: $lsn"
check "a signal goes to the runs that are named" says 200 '"chosen":2'
check "... all" is done 2
check "... durable when it is answered" has_header 'Tfy-Lsn: [0-9]+'
settled "$one" completed
check "they go on with it" is result "ann big"
check "... and no other does" settled "$three" running
settled "$two" completed
bulk "{\"do\":\"cancel\",\"runs\":[\"$one\",\"$three\",\"01a2ffff-0000-7000-8000-000000000000\"]}"
check "what cannot be done to one is told by itself" is done 1
check "... with its status" is refused.0.status 404
check "... of one that has ended, too" is refused.1.status 409
check "... and who it is" is refused.1.run "$one"
check "the others are changed" settled "$three" cancelled

# ---- by a filter ----
for who in a b c; do order $who red; done
order d blue
bulk '{"do":"cancel","filter":{"label.team":"red","state":"running"},"dry_run":true}' -H "Tfy-After: $lsn"
check "a dry run counts" is chosen 3
check "... and does nothing" is done 0
check "... nothing at all" become red "running running running"
bulk '{"do":"cancel","filter":{"label.team":"red","state":"running"}}'
check "a filter chooses" is done 3
check "... what it says" become red "cancelled cancelled cancelled"
check "... alone" become blue running
bulk '{"do":"again","filter":{"label.team":"red","state":"cancelled"}}' -H 'Idempotency-Key: retry-1'
check "runs start again" is done 3
first=$(member started)
check "... with the same labels" become red "cancelled cancelled cancelled running running running"
bulk '{"do":"again","filter":{"label.team":"red","state":"cancelled"}}' -H 'Idempotency-Key: retry-1'
check "with a key they start once" [ "$(member started)" = "$first" ]
check "... however often it is sent" become red "cancelled cancelled cancelled running running running"
ask http://x/v1/audit
check "each is in the audit, with who did it" python3 -c '
import json
signals = [entry["record"]["payload"] for entry in json.load(open("out"))["audit"] if entry["record"]["type"] == "Signal"]
assert [signal["name"] for signal in signals].count("size") == 2 and len(signals) == 6, signals
assert all(signal["by"] and signal["via"]["how"] == "unix" for signal in signals), signals'

# ---- more than are changed at once ----
python3 - "$TFY_DB-live/http" <<'END'
import http.client, json, socket, sys
connection = http.client.HTTPConnection("x")
connection.sock = socket.socket(socket.AF_UNIX)
connection.sock.connect(sys.argv[1])
for i in range(1205):
    connection.request("POST", "/v1/programs/shop/workflows/order/runs",
        json.dumps({"args": {"who": str(i)}, "labels": {"team": "many"}}), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    answer.read()
    assert answer.status == 201
open("lsn", "w").write(answer.headers["Tfy-Lsn"])
END
bulk '{"do":"cancel","filter":{"label.team":"many"}}' -H "Tfy-After: $(cat lsn)"
check "a thousand are changed at once" is done 1000
bulk "{\"do\":\"cancel\",\"filter\":{\"label.team\":\"many\"},\"next\":\"$(member next)\"}"
check "... and the others with what it says next" is done 205
check "... which are all" is next null

# ---- bad input ----
refused() # PATH BODY: a mistake of the body, with its place
{
    bulk "$2"
    check "refused: $2" says 422 "\"path\":\"$1\""
}
refused '$.do' '{"do":"delete","runs":["0000"]}'
refused '$' '{"do":"cancel"}'
refused '$' '{"do":"cancel","runs":["0000"],"filter":{"state":"running"}}'
refused '$.filter' '{"do":"cancel","filter":{}}'
refused '$.filter' '{"do":"cancel","filter":{"stat":"running"}}'
check "... with what was meant" says 422 "did you mean 'state'"
refused '$.filter' '{"do":"cancel","filter":{"state":"open"}}'
refused '$.filter.limit' '{"do":"cancel","filter":{"limit":"5"}}'
refused '$.filter.state' '{"do":"cancel","filter":{"state":1}}'
refused '$.runs' '{"do":"cancel","runs":[]}'
refused '$.runs[0]' '{"do":"cancel","runs":[7]}'
refused '$.next' '{"do":"cancel","runs":["0000"],"next":"x"}'
refused '$.signal' '{"do":"signal","runs":["0000"]}'
refused '$.signal' '{"do":"cancel","runs":["0000"],"signal":{"name":"x"}}'
refused '$.signal.name' '{"do":"signal","runs":["0000"],"signal":{}}'
refused '$.force' '{"do":"again","runs":["0000"],"force":true}'
bulk '{"do":"cancel","filter":{"state":"running"},"next":"r1-2-3"}'
check "a cursor that is none is refused" says 422 "begin anew"
bulk '{"do":"again","filter":{"state":"cancelled"}}' -H "Idempotency-Key: $(printf '%0240d' 1)"
check "so is a key that leaves no room for each run's" says 400 "Idempotency-Key"

# ---- roles ----
ends
serves shop.tfy --listen 127.0.0.1:0
base=$(sed -n 's|.*\(http://127.0.0.1:[0-9]*\).*|\1|p' served | head -n 1)
order f green && foreign=$id
by() # TOKEN BODY
{
    status=$(curl -sS --max-time 20 -o out -w '%{http_code}' -H "Authorization: Bearer $1" -H 'Content-Type: application/json' \
        -H "Tfy-After: $lsn" -d "$2" "$base/v1/bulk" 2>err)
}
by "$(tfy token create seer --roles viewer)" '{"do":"cancel","filter":{"label.team":"green"}}'
check "who only looks changes nothing" says 403
other=$(tfy token create other --roles operator --only 'other.*')
by "$other" '{"do":"cancel","filter":{"label.team":"green"}}'
check "who sees none of them finds none" says 200 '"chosen":0'
by "$other" "{\"do\":\"cancel\",\"runs\":[\"$foreign\"]}"
check "... nor by their ids" is refused.0.status 404
check "... and they go on" settled "$foreign" running
by "$(tfy token create own --roles operator --only 'shop.*')" '{"do":"cancel","filter":{"label.team":"green"}}'
check "an operator changes them" settled "$foreign" cancelled
ends
