#!/bin/sh
# Logins at MCP servers over HTTP: what the conformance suite does not try. The browser is curl (tests/mcp/browser).
. "$here/lib.sh"
export no_proxy='*' PYTHONDONTWRITEBYTECODE=1 PATH="$here/../mcp/browser:$PATH" TFY_LOGINS="$PWD/logins.json"
: >counted
python3 "$here/oauth_server.py" port 2>server.err &
server=$!
trap 'kill $server 2>/dev/null' EXIT
within 20 test -s port
base=http://127.0.0.1:$(cat port)
url=$base/mcp

mode() { echo "$*" >mode; }
logs_in() { run timeout 60 tfy mcp login "$url" "$@"; }
calls() { run timeout 60 tfy mcp call echo '{"text": "hello"}' "$url"; }
forget() { curl -sS "$base/forget?$1=1"; }
asked() { grep -c "^$1" requests; } # how often the issuer was asked at a path
since() { : >requests; }
# What the issuer gave: none of it may be anywhere but in the file.
secret_words() { python3 -c '
import json
def walk(x):
    for key, value in x.items():
        if isinstance(value, dict): yield from walk(value)
        elif key in ("access", "refresh", "secret"): yield value
print(*walk(json.load(open("logins.json"))), sep="\n")'; }
told_nothing() { secret_words >secrets && [ -s secrets ] && ! grep -qFf secrets out err; }
member() { python3 -c 'import json, sys
at = json.load(open("logins.json"))["issuers"]
for name in sys.argv[1:]: at = at[name]
print(at if isinstance(at, str) else json.dumps(at))' "$@"; }
entry() { member "$base" servers "$url" "$@"; }

# ---- a login ----

calls
check "a server that wants a login" ended 69 "127.0.0.1' needs a login: tfy mcp login $url"
since
logs_in
check "a person logs in" printed_exactly "logged in to 127.0.0.1 at $base, for read"
check "... after the address was printed" grep -q "^$base/authorize?tenant=1&response_type=code&client_id=client1&" err
check "... and nothing else was told" told_nothing
check "the file is this user's alone" [ "$(stat -c %a logins.json)" = 600 ]
check "... and has the tokens by issuer" sh -c 'python3 -c "import json; print(list(json.load(open(\"logins.json\"))[\"issuers\"]))" | grep -qxF "['"'$base'"']"'
calls
check "a call goes through" printed_exactly hello
logs_in
check "another login keeps the client" [ "$(asked /register) $(asked /authorize)" = "1 2" ]
mode echoes
calls
check "a token that comes back is masked" printed_exactly "Bearer [login]"
mode says_token
calls
check "... in errors, too" ended 69 "answered HTTP 500: [login]"
check "... wholly" told_nothing
mode

# ---- renewing ----

since
forget access
calls
check "a token that is refused is renewed" printed_exactly hello
check "... once" [ "$(asked /token)" = 1 ]
check "... and the new refresh token is kept" sh -c '! grep -qF "$1" requests' sh "$(entry refresh)"
check "... in a file that is still private" [ "$(stat -c %a logins.json)" = 600 ]
mode short
forget access
calls
mode
since
calls
check "one that has expired is renewed before it is sent" [ "$status $(asked /token)" = "0 1" ]
mode short
forget access
calls
mode
since
n=0
while [ $((n += 1)) -le 6 ]; do timeout 60 tfy mcp call echo '{"text": "hello"}' "$url" >many.$n 2>&1 & last=$!; done
wait $last
within 20 sh -c '[ "$(cat many.* | grep -cx hello)" = 6 ]'
check "six processes renew it once" [ "$(cat many.* | grep -cx hello) $(asked /token)" = "6 1" ]
mode token_500
forget access
calls
check "an issuer that fails is named" ended 69 "cannot renew its login: $base: answered HTTP 500: server_error"
check "... and the login is kept" [ -n "$(entry refresh)" ]
mode
logs_in
mode token_lines
forget access
calls
check "... as with one whose token is none" ended 69 "it has no access token that a header can hold"
mode
logs_in
forget access
forget refresh
calls
check "a refresh token that is refused" ended 69 "needs a login: tfy mcp login $url"
check "... is forgotten" [ "$(member "$base" servers)" = "{}" ]
check "... but not the client" [ -n "$(member "$base" client id)" ]

# ---- answers that are not used ----

for words in "state_wrong:an answer to another login" "iss_wrong:from another issuer: https://other.example, not $base" \
    "iss_missing:does not say which issuer it comes from" "denied:refuses the login: access_denied: you may not" \
    "code_twice:an answer that cannot be read" "not_encoded:an answer that cannot be read"; do
    mode "${words%%:*}"
    since
    logs_in
    check "an answer: ${words%%:*}" ended 65 "${words#*:}"
    check "... brings no token" [ "$(asked /token)" = 0 ]
done
for words in "server_other:it is for another server: https://other.example/mcp" "server_types:it does not say who lets people in" \
    "server_nobody:it does not say who lets people in" "server_huge:answered more than 256 KiB" \
    "server_redirects:a redirect (HTTP 302), which is not followed" "server_500:answered HTTP 500: server_error" \
    "server_text:not a JSON object" "server_list:not a JSON object" "server_deep:not a JSON object" \
    "server_none:does not say who lets people in" "server_local:http://as.example cannot be used: it is not an https address" \
    "named_elsewhere:http://as.example/metadata, which cannot be used: it is not an https address" \
    "issuer_other:it is for another issuer: https://other.example" "issuer_http:token_endpoint cannot be used: it is not an https" \
    "issuer_types:token_endpoint cannot be used: it is not an address" "issuer_user:it names a user" \
    "issuer_space:it is not an address" "issuer_plain:does not protect codes by PKCE" "issuer_huge:more than 256 KiB" \
    "issuer_none:does not say how to log in: there is no $base/.well-known/openid-configuration" \
    "issuer_redirects:which is not followed" "issuer_deep:not a JSON object"; do
    mode "${words%%:*}"
    since
    logs_in
    check "a document: ${words%%:*}" ended 65 "${words#*:}"
    check "... is one error" [ "$(wc -l <err) $(wc -l <requests)" = "1 0" ]
done
for words in "token_type:not of the type Bearer" "token_lines:no access token that a header can hold" \
    "token_missing:no access token" "token_huge:more than 256 KiB" "token_text:not a JSON object" "token_500:HTTP 500: server_error"; do
    mode "${words%%:*}"
    logs_in
    check "tokens: ${words%%:*}" ended 65 "$base gave no token: "
    check "... for a reason" ended 65 "${words#*:}"
    check "... are not kept" [ "$(member "$base" servers)" = "{}" ]
done
mode unknown_client
logs_in
check "a client that the issuer has forgotten" ended 65 "$base gave no token: answered HTTP 401: invalid_client"
mode
since
logs_in
check "... is registered anew" [ "$status $(asked /register)" = "0 1" ]
rm logins.json
for words in "register_refuses:answered HTTP 400: invalid_redirect_uri: not here" "register_types:without a client_id" \
    "no_registration:does not register clients by itself"; do
    mode "${words%%:*}"
    logs_in
    check "registration: ${words%%:*}" ended 65 "${words#*:}"
done

# ---- clients that a person names ----

export TFY_SECRET_PRE=pre+secret
logs_in --client-id known --client-secret PRE
check "a client that was registered for the person" ended 0
check "... tells nothing" told_nothing
mode
logs_in --client-id known --client-secret NONE
check "a secret that is not there" ended 69 "set TFY_SECRET_NONE"
logs_in --client-secret PRE
check "a secret without its client" ended 64 "--client-secret needs --client-id"
logs_in --issuer https://as.example
check "an issuer that the server does not name" ended 65 "does not let people in by https://as.example, but by $base"
mode open
logs_in --issuer "$base"
check "a server that asks for no login may have one" ended 0 "log in to 127.0.0.1"
mode open server_none
logs_in
check "... or none" ended 0 "127.0.0.1 needs no login"
run tfy mcp login http://example.com/mcp
check "no token is sent over plain http" ended 64 "it is not an https address"
run tfy mcp login -- http://127.0.0.1:1/
check "a command has no login" ended 64 "only servers over HTTP want logins"
run tfy mcp login hub
check "a name alone" ended 64 "tfy mcp login hub FILE.tfy"
mode

# ---- several clients at one issuer ----

rm logins.json
mode
logs_in
other() { run timeout 60 tfy mcp "$@" "$base/second/mcp"; }
other login --client-id known --client-secret PRE
check "a second server at the issuer, by another client" ended 0
forget access
calls
check "tokens are renewed by the client that they were given to" printed_exactly hello
other call echo '{"text": "hello"}'
check "... each by its own" printed_exactly hello

# ---- rights ----

rm logins.json
logs_in
mode wants_write
calls
check "a call that wants more rights" ended 69 "needs a login: tfy mcp login $url --scope write"
logs_in --scope write
check "... gets them beside the old ones" printed_exactly "logged in to 127.0.0.1 at $base, for read write"
calls
check "... and goes through" printed_exactly hello
logs_in --scope 'a"b'
check "what is not a scope" ended 64 "is not a scope"
mode
chmod 644 logins.json
calls
check "a file that others can read is refused" ended 69 "has no login that can be used: others can read $PWD/logins.json, which has logins; run: chmod 600"
logs_in
check "... in the login, too" ended 65 "others can read"
chmod 600 logins.json
echo '{"issuers": []}' >logins.json
logs_in
check "... as is one of another kind" ended 65 "is not a file of logins"
rm logins.json

# ---- programs ----

cat >p.tfy <<PROGRAM
mcp hub = http "$url" { echo: once }
workflow main() -> string { return yield hub.echo("hello") }
workflow tries() -> string { try { return yield hub.echo("hello") } catch e: ToolError { return e.message } }
PROGRAM
run timeout 60 tfy mcp pull p.tfy
check "the tools of a program's server want a login" ended 69 "needs a login: tfy mcp login hub p.tfy"
run timeout 60 tfy mcp login hub p.tfy
check "a login by the name in a program" printed "logged in to hub at $base"
check "... after which they are pulled" tfy mcp pull p.tfy
cp logins.json kept.json
rm -rf logins.json .tfy
: >counted
run timeout 60 tfy run p.tfy
check "a call without a login waits for a person" ended 75 "hub needs a login: tfy mcp login hub p.tfy"
check "... recorded as a question" [ "$(records McpRound)" = 1 ]
run tfy approve last yse
check "... which takes yes or no" ended 64 "it takes one of: yes, no"
run timeout 60 tfy mcp login hub p.tfy
run tfy approve last
run timeout 60 tfy resume
check "... and goes on behind the login" printed_exactly '"hello"'
check "... with one call" [ "$(wc -l <counted)" = 1 ]
run tfy replay
check "... and replays" ended 0
in_log() { secret_words >secrets; grep -qaFf secrets .tfy/runs.db*; }
check "no token is in the log" sh -c '[ -s secrets ]; ! grep -qaFf secrets .tfy/runs.db*'
secret_words >secrets
forget access
run timeout 60 tfy run p.tfy
check "a token is renewed in a run" printed_exactly '"hello"'
secret_words >>secrets
check "... and none is in the log" sh -c '! grep -qaFf secrets .tfy/runs.db*'
mode echoes
run timeout 60 tfy run p.tfy
check "... not even one that comes back" printed_exactly '"Bearer [login]"'
mode
forget access
forget refresh
run timeout 60 tfy run p.tfy --workflow tries
check "a login that was taken back is asked for" ended 75 "hub needs a login"
run tfy deny last
run timeout 60 tfy resume
check "... and can be denied" printed "was not called, and a person declined: the server needs a login"

mode asks
run timeout 60 tfy mcp login hub p.tfy
: >counted
run timeout 60 tfy run p.tfy
check "a server asks" ended 75 "hub asks: who?"
forget access
forget refresh
run tfy approve last '{"name": "ann"}'
run timeout 60 tfy resume
check "... and its login ends before the answer" ended 75 "hub needs a login"
run timeout 60 tfy mcp login hub p.tfy
run tfy approve last
run timeout 60 tfy resume
check "... which is sent after the next" printed_exactly '"hello"'
check "... with the server's own state" grep -qxF '{"q": {"action": "accept", "content": {"name": "ann"}}} s1' counted
mode wants_write
run timeout 60 tfy run p.tfy
check "a run that wants more rights" ended 75 "hub needs a login: tfy mcp login hub p.tfy --scope write"
mode

cat >peeks.tfy <<'PROGRAM'
tool peek() -> ExecResult pure = exec ["sh", "-c", "cat logins.json; cat kept.json"]
workflow main() -> string {
    let seen = yield peek()
    return seen.out
}
PROGRAM
run timeout 60 tfy run peeks.tfy
check "tools do not see the file of logins" sh -c '[ "$(grep -o refresh- out | wc -l)" = 1 ]'
check "the server had no mishap" [ ! -s server.err ]
