#!/bin/sh
# tfy serve over TCP: who may come in, and what they may do: tokens, sessions, roles, rules, bounds, audit, and the configuration.
. "$here/lib.sh"
. "$here/serve_lib.sh"
cat >shop.tfy <<'END'
workflow order(n: int) -> int { return n + 1 }

workflow charge(what: string) -> string {
    if yield approve("charge ${what}?") { return "charged ${what}" }
    return "not charged"
}
END
cat >ci.tfy <<'END'
workflow main() -> string {
    if yield approve("build?") { return "built" }
    return "not built"
}
END
cat >serve.json <<'END'
{"listen": [{"address": "127.0.0.1:0"},
            {"unix": "PWD/proxy.sock", "proxy": true, "user_header": "X-User", "groups_header": "X-Groups",
             "groups": {"ops": ["operator", "approver"], "all": ["viewer"]}}],
 "hosts": ["tfy.example.org"],
 "programs": {"shop": {"limits": {"charge": {"not_by_starter": true}}}}}
END
sed -i "s|PWD|$PWD|" serve.json
serve_it() { serves shop.tfy ci.tfy --config serve.json "$@"; base=$(sed -n 's/^tfy serve: serving .* and \(http.*\)$/\1/p' served); port=${base##*:}; }
# web PATH OPTIONS…: asks over TCP.
web()
{
    web_path=$1
    shift
    status=$(curl -sS --max-time 20 -o out -D head -w '%{http_code}' "$@" "$base$web_path" 2>err)
}
as() { as_token=$1; shift; web "$@" -H "Authorization: Bearer $as_token"; }
send() { send_token=$1 send_path=$2 send_body=$3; shift 3; as "$send_token" "$send_path" -H 'Content-Type: application/json' -d "$send_body" "$@"; }
token() { run tfy token create "$@"; cat out; }

# ---- before there is a server ----

run tfy token create early --roles viewer --expires 30d
check "a token is made without a server" sh -c '[ "$(grep -cE "^tfy_early_[a-z2-7]{32}$" out)" = 1 ]'
early=$(cat out)
run tfy token create early --roles viewer
check "... once" ended 64 "there is a token 'early'"
run tfy token create late --roles views
check "a role is one of four" ended 64 'viewer, approver, operator and admin'
run tfy token create Late --roles viewer
check "a name has small letters" ended 64 'a-z, 0-9'
run tfy token create
check "... and is given" ended 64 'name the token'
run tfy token make x
check "a verb is known" ended 64 'create, list, revoke or login'
run tfy token login
check "a login needs a server" ended 69 'no server runs'
check "only its owner reads the tokens" [ "$(stat -c %a "$TFY_DB-serve")" = 600 ]
check "... which are not in it" sh -c '! grep -qa "${1##*_}" "$TFY_DB-serve"' sh "$early"

# ---- tokens ----

serve_it
check "it says where a browser finds it" sh -c 'grep -q "and http://127.0.0.1:[0-9]*$" served'
check "... and a code only on a terminal" sh -c '! grep -q login served'
web /healthz
check "health is everybody's" says 200
web /v1/runs
check "nobody is anonymous" says 401 /problems/unauthenticated
check "... and is told how" has_header 'www-authenticate: bearer'
as "$early" /v1/me
check "a token of before names" is name early
viewer=$(token reader --roles viewer)
operator=$(token ops-1 --roles operator)
approver=$(token boss --roles approver)
admin=$(token root-1 --roles admin)
part=$(token part --roles operator,approver --only 'ci.*')
as "$viewer" /v1/me
check "... and a new one at once" is roles '["viewer"]'
as "${viewer}x" /v1/me
check "a wrong one does not" says 401
as "tfy_reader_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" /v1/me
check "... nor does a guess" says 401
web /v1/me -H "Authorization: Basic x"
check "... nor another scheme" says 401
ask http://x/v1/tokens
check "tokens are listed" sh -c 'grep -q "\"name\":\"ops-1\",\"roles\":\[\"operator\"\]" out'
check "... without secrets" sh -c '! grep -q "${1##*_}" out' sh "$operator"
run tfy token list
check "... on the command line, too" sh -c 'grep -q "^part .*operator.*ci" out'

# ---- roles ----

order=/v1/programs/shop/workflows/order/runs
send "$viewer" "$order" '{"args":{"n":1}}'
check "a viewer starts nothing" says 403 'reader does not have the role operator'
send "$operator" "$order" '{"args":{"n":1}}'
check "an operator does" says 201 '"by":"ops-1"'
id=$(member id)
run tfy history "$id" --json
check "the log says by whom and how" grep -q '"by":"ops-1","via":{"how":"http","token":"ops-1","from":"127.0.0.1"}' out
as "$viewer" "/v1/runs/$id"
check "a viewer looks" says 200
send "$viewer" "/v1/runs/$id/cancel" '{}'
check "... and does not cancel" says 403
send "$approver" "/v1/runs/$id/signals" '{"name":"x"}'
check "an approver sends no signals" says 403
send "$operator" /v1/tokens '{"name":"x","roles":["admin"]}'
check "an operator makes no tokens" says 403
as "$operator" /v1/audit
check "... and does not read the audit" says 403
send "$admin" /v1/tokens '{"name":"made","roles":["viewer"],"only":["shop.*"],"rate":null}'
check "an admin makes them" says 201 '"token":"tfy_made_'
as "$admin" /v1/tokens/made -X DELETE
check "... and revokes them" says 200 made
as "$admin" /v1/tokens/made -X DELETE
check "... once" says 404

# ---- questions, and who may answer ----

send "$operator" /v1/programs/shop/workflows/charge/runs '{"args":{"what":"ann"}}'
id=$(member id) lsn=$(tr -d '\r' <head | sed -n 's/^[Tt]fy-[Ll]sn: //p')
tries=0
until as "$viewer" "/v1/questions?run=$id" && [ "$(member questions)" != "[]" ] || [ $((tries += 1)) -gt 200 ]; do sleep 0.02; done
answer=/v1/questions/$id/1/1/answer
send "$viewer" "$answer" '{"answer":"yes"}'
check "a viewer answers nothing" says 403
send "$operator" "$answer" '{"answer":"yes"}'
check "... nor does an operator" says 403
both=$(token both --roles operator,approver)
send "$both" /v1/programs/shop/workflows/charge/runs '{"args":{"what":"own"}}'
own=$(member id) own_lsn=$(tr -d '\r' <head | sed -n 's/^[Tt]fy-[Ll]sn: //p')
send "$both" "/v1/questions/$own/1/1/answer" '{"answer":"yes"}' -H "Tfy-After: $own_lsn"
check "who started it may not answer, by the rule of the workflow" says 403 'somebody else has to answer'
send "$both" "$answer" '{"answer":"yes"}'
check "... but somebody else may" says 200
me=$(id -un)
post /v1/programs/shop/workflows/charge/runs '{"args":{"what":"mine"}}'
mine=$(member id) lsn=$(tr -d '\r' <head | sed -n 's/^[Tt]fy-[Ll]sn: //p')
post "/v1/questions/$mine/1/1/answer" '{"answer":"yes"}' -H "Tfy-After: $lsn"
check "... not on the socket either" says 403 'somebody else has to answer'
run tfy approve "$mine"
check "... nor on the command line" sh -c 'grep -q "somebody else has to answer" err && [ "$(cat status 2>/dev/null || echo 1)" != 0 ]'
send "$approver" "/v1/questions/$mine/1/1/answer" '{"answer":"yes"}'
check "an approver may" says 200

# ---- a part of the workflows ----

send "$part" "$order" '{"args":{"n":1}}'
check "who sees a part starts nothing else" says 404
send "$part" /v1/programs/ci/workflows/main/runs '{}'
check "... but that" says 201
ci=$(member id) lsn=$(tr -d '\r' <head | sed -n 's/^[Tt]fy-[Ll]sn: //p')
as "$part" /v1/runs -H "Tfy-After: $lsn"
check "their lists have it" sh -c 'grep -q "\"workflow\":\"main\"" out && ! grep -q "\"program\":\"shop\"" out'
as "$part" /v1/programs
check "... the programs" is programs.0.workflows '["main"]'
as "$part" /openapi.json
check "... the document" sh -c 'grep -q "/v1/programs/ci/workflows/main/runs" out && ! grep -q "workflows/charge" out'
as "$part" "/v1/runs?q=ann"
check "... and so has their search" is runs '[]'
for path in "/v1/runs/$id" "/v1/runs/$id/records" "/v1/runs/$id/timeline" "/v1/runs/$id/tasks" "/v1/runs/$id/output" "/v1/questions/$id/1/1"; do
    as "$part" "$path"
    check "the rest is not there: ${path##*/}" says 404
done
send "$part" "/v1/runs/$id/cancel" '{}'
check "... to be changed either" says 404
as "$part" /v1/questions
check "they see their questions" sh -c 'grep -q "build?" out && ! grep -q "charge" out'
as "$viewer" "/v1/runs/$id/records"
record=$(member records.0.lsn)
as "$part" "/v1/records/$record"
check "... and their records" says 404
as "$viewer" /v1/records/1
check "the database's own records are an admin's" says 403

# ---- streams ----

gone=$(token gone --roles viewer)
curl -sSN --max-time 60 -H "Authorization: Bearer $gone" "$base/v1/events" >gone.events 2>/dev/null &
gone_stream=$!
stream() { curl -sSN --max-time 2 -H "Authorization: Bearer $1" "$base/v1/events?after=0&live=1" >events 2>/dev/null; true; }
stream "$part"
check "a stream has what its caller sees" grep -q '"workflow":"main","type":"InstructionStart"' events
check "... and nothing else" sh -c '! grep -q "\"program\":\"shop\"" events'
stream "$viewer"
check "... for viewers all runs" grep -q '"workflow":"charge","type":"Approval"' events
check "... without what was done to the server" sh -c '! grep -q "\"type\":\"Admin\"" events'
stream "$admin"
check "... which admins have" grep -q '"type":"Admin".*"what":"token"' events
web /v1/events
check "... and nobody else any" says 401
run tfy token revoke gone

# ---- sessions ----

run tfy token login
check "a login is an address" grep -qE "^$base/#login=[a-z2-7]{32}$" out
code=$(sed 's/.*=//' out)
json='Content-Type: application/json'
web /v1/session -H "$json" -d "{\"code\":\"$code\"}"
check "its code starts a session" says 201 "\"name\":\"$me\""
check "... in a cookie that pages do not read" has_header 'set-cookie: tfy_session_[0-9a-f]{8}=[a-z2-7]{32}; path=/; httponly; samesite=strict$'
cookie=$(tr -d '\r' <head | sed -n 's/^[Ss]et-[Cc]ookie: \([^;]*\).*/\1/p')
web /v1/session -H "$json" -d "{\"code\":\"$code\"}"
check "... once" says 401
web /v1/me -H "Cookie: a=b; $cookie"
check "the cookie names" is how http
web "$order" -H "Cookie: $cookie" -H "$json" -d '{"args":{"n":1}}'
check "a change by cookie needs a header" says 403 'Tfy-Request'
web "$order" -H "Cookie: $cookie" -H "$json" -H 'Tfy-Request: 1' -d '{"args":{"n":1}}'
check "... which our page sends" says 201
web /v1/me -H "Cookie: $cookie; $cookie"
check "a cookie is there once" says 400
web /v1/session -H "$json" -d "{\"token\":\"$viewer\"}"
viewing=$(tr -d '\r' <head | sed -n 's/^[Ss]et-[Cc]ookie: \([^;]*\).*/\1/p')
check "a token starts a session, too" is roles '["viewer"]'
web "$order" -H "Cookie: $viewing" -H "$json" -H 'Tfy-Request: 1' -d '{"args":{"n":1}}'
check "... of the same roles" says 403
run tfy token revoke reader
web /v1/me -H "Cookie: $viewing"
check "... which ends with it" says 401
as "$viewer" /v1/me
check "... as the token does" says 401
web /v1/session -X DELETE -H "Cookie: $cookie" -H 'Tfy-Request: 1'
check "a session ends" has_header 'set-cookie: .*max-age=0'
web /v1/me -H "Cookie: $cookie"
check "... for good" says 401
web /v1/session -H "Cookie: $cookie" -H "$json" -d '{"code":"x"}'
check "... and nobody is kept from another one" says 401 'the code is not known'

# ---- the gate ----

web /v1/me -H "Host: evil.example:$port"
check "a name that is not ours is refused" says 421 /problems/wrong-host
web /healthz -H "Host: tfy.example.org"
check "... one of the configuration is ours" says 200
web /healthz -H "Host: tfy.example.org:$port"
check "... with the port, too" says 200
web /healthz -H "Host: localhost:$port"
check "... and this machine's" says 200
web /healthz -H "Host: 127.0.0.1:1"
check "... but not another port" says 421
web /healthz -H "Origin: http://evil.example"
check "another page is refused" says 403
web /healthz -H "Origin: https://127.0.0.1:$port"
check "... in another way, too" says 403
web /healthz -H "Origin: http://127.0.0.1:$port" -H 'Sec-Fetch-Site: same-origin'
check "... ours is not" says 200
web /healthz -H 'Sec-Fetch-Site: same-site'
check "another site is refused" says 403
as "$operator" "$order" -H 'Content-Type: text/plain' -d '{"args":{"n":1}}'
check "a form cannot be sent" says 415
send "$operator" "$order" '{"args":{"n":1}}' -H 'Content-Type: text/plain'
check "... nor a body of two types" says 400 'Content-Type is there twice'
as "$operator" /v1/me -H "Authorization: Bearer $admin"
check "... nor two tokens" says 400 'Authorization is there twice'
web /healthz
for header in "content-security-policy: default-src 'none'; script-src 'self'" 'x-content-type-options: nosniff$' 'referrer-policy: no-referrer$' 'cross-origin-opener-policy: same-origin$' 'cross-origin-resource-policy: same-origin$' 'cache-control: no-store$'; do
    check "a browser is told: ${header%%:*}" has_header "$header"
done
check "... and no other page may read it" sh -c '! grep -qi access-control head'
web /healthz -H "X-Long: $(python3 -c 'print("x" * 17000)')"
check "a head has a bound" says 431

# ---- rates and failures ----

brief=$(token brief --roles viewer --expires 2s)
as "$brief" /v1/me
check "a token is good until it expires" says 200 '"name":"brief"'
lapsed() { as "$brief" /v1/me && says 401 'has expired'; }
tries=0
until lapsed || [ $((tries += 1)) -gt 50 ]; do sleep 0.1; done
check "... and not behind that" lapsed
slow=$(token slow --roles viewer --rate 1)
as "$slow" /v1/me; as "$slow" /v1/me; as "$slow" /v1/me
check "a token has a rate" says 429 /problems/busy
check "... and is told when" has_header 'retry-after: 1$'
as "$operator" /v1/me
check "... which is its own" says 200

# ---- audit ----

as "$admin" /v1/audit
check "the audit has who did what" python3 -c '
import json
entries = json.load(open("out"))["audit"]
whats = [e["what"] for e in entries]
assert "token" in whats and "revoke" in whats and "answer" in whats, whats
grant = [e for e in entries if e["what"] == "token"][0]
assert grant["via"]["how"] == "unix" and grant["by"], grant
assert all("secret" not in json.dumps(e) for e in entries)
answer = [e for e in entries if e["what"] == "answer"][0]
assert answer["by"] == "boss" and answer["via"]["token"] == "boss" and answer["record"]["run"], answer'
as "$admin" "/v1/audit?limit=2"
next=$(member next)
newest=$(member audit.1.record.lsn)
as "$admin" "/v1/audit?limit=2&cursor=$next"
check "... in pages" [ "$(member audit.0.record.lsn)" -lt "$newest" ]

# ---- whose a fork is ----

send "$operator" /v1/programs/shop/workflows/charge/runs '{"args":{"what":"theirs"}}'
theirs=$(member id) lsn=$(tr -d '\r' <head | sed -n 's/^[Tt]fy-[Ll]sn: //p')
post "/v1/runs/$theirs/fork" '{"step":0}' -H "Tfy-After: $lsn"
fork=$(member id)
run tfy approve "$fork"
check "whoever forks a run has started that one" grep -q "somebody else has to answer" err
run tfy approve "$theirs"
check "... and not the one that it comes from" [ "$status" = 0 ]

# ---- a proxy ----

proxy() { proxy_path=$1; shift; status=$(curl -sS --max-time 20 --unix-socket proxy.sock -o out -D head -w '%{http_code}' "$@" "http://tfy.example.org$proxy_path" 2>err); }
proxy /v1/me -H 'X-User: carla' -H 'X-Groups: all, ops'
check "a proxy says who it is" is roles '["viewer", "approver", "operator"]'
proxy /v1/me -H 'X-User: carla' -H 'X-Groups: others'
check "... and groups that nobody mapped give nothing" is roles '[]'
proxy /v1/runs -H 'X-User: carla'
check "... nor do none" says 401
proxy /v1/runs -H 'Host: x' -H 'X-User: carla' -H 'X-Groups: all'
check "... for our names" says 421
proxy /v1/programs/shop/workflows/order/runs -H 'X-User: carla' -H 'X-Groups: ops' -H "$json" -H 'X-Forwarded-For: 6.6.6.6, 10.0.0.7' -d '{"args":{"n":1}}'
check "... and is recorded" says 201 '"by":"carla"'
run tfy history "$(member id)" --json
check "... with where they are" grep -q '"via":{"how":"proxy","from":"10.0.0.7"}' out
web /v1/me -H 'X-User: carla' -H 'X-Groups: ops'
check "nobody else says so" says 401

# ---- the configuration, again ----

sed -i 's/"not_by_starter": true/"not_by_starter": false/; s/"tfy.example.org"/"tfy.example.com"/' serve.json
kill -HUP "$server"
tries=0
until grep -q "was read again" served || [ $((tries += 1)) -gt 200 ]; do sleep 0.02; done
web /healthz -H "Host: tfy.example.com"
check "SIGHUP reads it again" says 200
web /healthz -H "Host: tfy.example.org"
check "... whole" says 421
web /healthz
check "... and what is open stays" says 200
send "$both" "/v1/questions/$own/1/1/answer" '{"answer":"yes"}'
check "... with its rules" says 200
printf '{"hosts": ["x"], "hots": []}' >serve.json
kill -HUP "$server"
tries=0
until grep -q "stays as it was" served || [ $((tries += 1)) -gt 200 ]; do sleep 0.02; done
check "... or not at all" grep -q "stays as it was: serve.json:1: \$.hots: it is not known here; did you mean 'hosts'?" served
web /healthz -H "Host: tfy.example.com"
check "... and goes on with the one before" says 200
as "$admin" /v1/audit
check "... which the audit has" grep -q '"what":"config","by":"SIGHUP","via":{"how":"signal"}' out

# ---- the stream of a token that is gone ----

tries=0
while kill -0 "$gone_stream" 2>/dev/null && [ $((tries += 1)) -lt 1500 ]; do sleep 0.02; done
check "a stream ends with its token" sh -c '! kill -0 "$1" 2>/dev/null' sh "$gone_stream"

# ---- a kill ----

kill -9 "$server"
wait "$server" 2>/dev/null
printf '{"listen": [{"address": "127.0.0.1:0"}]}' >serve.json
serve_it
as "$operator" /v1/me
check "a token holds after a kill" is name ops-1
as "$viewer" /v1/me
check "... and one that was revoked does not" says 401
i=0
while [ $i -lt 10 ]; do as wrong /v1/me; i=$((i + 1)); done
as "$operator" /v1/me
check "who fails too often is not heard" says 429 'too many have failed from 127.0.0.1'
check "nothing that it prints is a secret" sh -c '! grep -qE "tfy_[a-z0-9-]+_[a-z2-7]{20}" served'
ends
run tfy token revoke boss
check "a token is revoked without a server" ended 0
run tfy token list --json
check "... and is gone" sh -c '! grep -q boss out'
run tfy verify
check "the log is sound" ended 0
run tfy token list --db "$PWD/serve.json"
check "what is not a database has no tokens" [ "$status" != 0 ]

# ---- what is refused ----

refused() # TEXT OF THE CONFIGURATION, MESSAGE
{
    printf '%s' "$1" >bad.json
    run tfy serve --check --config bad.json
    ended 64 "$2"
}
check "an unknown member is refused with its line and path" refused '{"listen": [
 {"address": "127.0.0.1:1",
  "adress": "x"}]}' "bad.json:3: \$.listen[0].adress: it is not known here; did you mean 'address'?"
check "... a wrong value" refused '{"hosts": "x"}' 'bad.json:1: $.hosts: it is not a list'
check "... an address" refused '{"listen": [{"address": "here"}]}' '$.listen[0].address: it is not ADDRESS:PORT'
check "... what is not JSON" refused '{"hosts": [' 'bad.json:1:'
check "... a member that is there twice" refused '{"hosts": [], "hosts": []}' 'bad.json:1:'
check "... a rule" refused '{"programs": {"shop": {"limits": {"order": {"not_by_start": true}}}}}' "did you mean 'not_by_starter'?"
check "... a role" refused '{"listen": [{"unix": "/tmp/x", "proxy": true, "groups": {"a": ["boss"]}}]}' 'roles are viewer'
check "other machines need TLS" refused '{"listen": [{"address": "0.0.0.0:1"}]}' 'it needs TLS'
check "... or a proxy" sh -c 'printf "{\"listen\": [{\"address\": \"0.0.0.0:1\", \"proxy\": true}]}" >good.json && "$TFY" serve --check --config good.json'
check "a header that names people needs a closed way" refused '{"listen": [{"address": "127.0.0.1:1", "proxy": true, "user_header": "X"}]}' 'only the proxy may reach it'
check "... of a proxy" refused '{"listen": [{"address": "127.0.0.1:1", "user_header": "X"}]}' 'for a listener with "proxy": true'
run tfy serve shop.tfy --listen 10.0.0.1:1
check "the command line has the same rules" ended 64 'it needs TLS'
run tfy serve shop.tfy --config nothing.json
check "a configuration is there" ended 64 'nothing.json: No such file'
serves shop.tfy --no-tcp
check "a server can do without TCP" sh -c 'grep -q "/http$" served'
ends

# ---- a browser ----
mkdir bin
printf '#!/bin/sh\ncp -p "$1" "%s"\necho "$@" >"%s"\n' "$PWD/opened" "$PWD/words" >bin/xdg-open
chmod +x bin/xdg-open
PATH="$PWD/bin:$PATH" serves shop.tfy --listen 127.0.0.1:0 --open
check "--open starts the browser" within 10 test -s words
check "... with a file that nobody else reads" test "$(stat -c %a opened)" = 600
check "... and no code among its words" sh -c '! grep -q login words'
url=$(sed -n 's/.*0;url=\([^#]*\)#login=.*/\1/p' opened)
code=$(sed -n 's/.*0;url=[^#]*#login=\([^"]*\)".*/\1/p' opened)
enter() { curl -sS -o out -w '%{http_code}' -H 'Content-Type: application/json' -d "{\"code\":\"$code\"}" "${url%/}/v1/session"; }
check "... from where the code lets in" test "$(enter)" = 201
check "... once" test "$(enter)" = 401
ends
check "... and the file goes with the server" test ! -e "$TFY_DB-live/open.html"
rm bin/xdg-open
if ! command -v xdg-open >/dev/null; then
    serves shop.tfy --listen 127.0.0.1:0 --open
    check "without xdg-open it says so, and serves" within 10 grep -q 'xdg-open cannot be started; open http' served
    ends
fi
