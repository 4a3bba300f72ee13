#!/bin/sh
# tfy serve: other services start and signal runs by requests that they have signed.
. "$here/lib.sh"
. "$here/serve_lib.sh"
cat >ci.tfy <<'END'
workflow main(kind: untrusted string, branch: untrusted string, depth: int = 1) -> string { return "${kind} ${branch} ${depth}" }
workflow takes(text: string) -> string { return text }
workflow waits(order: string) -> int {
    let paid: int = yield signal("paid")
    return paid
}
END
printf 'the secret of github\n' >github.key
printf 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n' >bank.key
printf 'ours\n' >ours.key
chmod 600 ./*.key
cat >hooks.json <<'END'
{"hooks": {
  "github": {"scheme": "github", "secret_file": "github.key", "dedupe": "X-GitHub-Delivery", "start": "ci.main",
             "args": {"kind": "$header.X-GitHub-Event", "branch": "$body.ref.name", "depth": 3}},
  "bank": {"scheme": "standard", "secret_file": "bank.key", "signal": "paid", "run": "$body.run", "value": "$body.cents.0"},
  "ours": {"scheme": "hmac:X-Sig", "secret_file": "ours.key", "start": "ci.main", "args": {"kind": "$$x", "branch": "$body"}}}}
END
serves ci.tfy --listen 127.0.0.1:0 --config hooks.json
url=$(sed -n 's/.* and \(http.*\)$/\1/p' served)
cat >sign.py <<'END'
import base64, hashlib, hmac, sys
scheme, body = sys.argv[1], sys.argv[2].encode()
if scheme == "github": print("sha256=" + hmac.new(b"the secret of github", body, hashlib.sha256).hexdigest())
if scheme == "ours": print(base64.b64encode(hmac.new(b"ours", body, hashlib.sha256).digest()).decode())
if scheme == "bank":
    key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    print("v1,AAAA v1," + base64.b64encode(hmac.new(key, sys.argv[3].encode() + b"." + sys.argv[4].encode() + b"." + body, hashlib.sha256).digest()).decode())
END
# hook NAME BODY HEADERS…: nobody's request, over TCP.
hook()
{
    hook_name=$1 hook_body=$2
    shift 2
    status=$(curl -sS --max-time 20 -o out -D head -w '%{http_code}' -X POST -H 'Content-Type: application/json' -d "$hook_body" "$@" "$url/v1/hooks/$hook_name" 2>err)
}
push='{"ref": {"name": "trunk"}, "size": 2}'
signature=$(python3 sign.py github "$push")
hook github "$push" -H "X-Hub-Signature-256: $signature" -H 'X-GitHub-Event: push' -H 'X-GitHub-Delivery: d-1'
check "a signed request starts a run" says 201 '"workflow":"main"'
id=$(member id)
check "... which is the hook's" is by hook/github
check "... and can be found by it" is labels '{"tfy.hook": "github"}'
check "... with what the request has" settled "$id" completed
check "... indeed" is result "push trunk 3"
hook github "$push" -H "X-Hub-Signature-256: $signature" -H 'X-GitHub-Event: push' -H 'X-GitHub-Delivery: d-1'
check "the same delivery again is the same run" says 200 "$id"
check "... and says so" has_header 'Idempotency-Replayed: true'
hook github "$push" -H "X-Hub-Signature-256: $signature" -H 'X-GitHub-Event: push' -H 'X-GitHub-Delivery: d-2'
check "another delivery is another run" says 201
check "... indeed" test "$(member id)" != "$id"
hook github "$push " -H "X-Hub-Signature-256: $signature" -H 'X-GitHub-Event: push'
check "another body is refused" says 401 "the signature does not hold"
hook github "$push" -H "X-Hub-Signature-256: sha256=$(printf '0%.0s' $(seq 64))"
check "... a wrong signature" says 401
hook github "$push"
check "... none" says 401
hook github "$push" -H "X-Hub-Signature-256: $signature" -H 'X-GitHub-Delivery: d-3'
check "what a parameter needs is told" says 422 '$.args.kind'
hook nosuch '{}'
check "a hook that there is not" says 404 "no hook 'nosuch'"
hook github '[1]' -H "X-Hub-Signature-256: $(python3 sign.py github '[1]')"
check "a body that is no object" says 400

hook ours '{"a":1}' -H "X-Sig: $(python3 sign.py ours '{"a":1}')" -H 'Prefer: wait=10'
check "a body is no string" says 422 '$.args.branch'

post /v1/programs/ci/workflows/waits/runs '{"args":{"order":"o-1"}}'
waits=$(member id)
now=$(date +%s)
paid="{\"run\":\"$waits\",\"cents\":[350]}"
bank() { hook bank "$paid" -H "webhook-id: m-1" -H "webhook-timestamp: $1" -H "webhook-signature: $(python3 sign.py bank "$paid" m-1 "$1")"; }
bank $((now - 400))
check "a signature of seven minutes ago is refused" says 401 "five minutes"
bank $((now + 400))
check "... one of the future" says 401 "five minutes"
hook bank "$paid" -H 'webhook-id: m-1' -H "webhook-timestamp: $now" -H 'webhook-signature: v1,AAAA'
check "... and a wrong one" says 401
bank "$now"
check "a signal comes with its value" says 200
check "... and the run has it" settled "$waits" completed
check "... indeed" is result 350
paid='{"run":"ffffffff","cents":[1]}'
bank "$now"
check "a run that there is not" says 404
paid='{"cents":[1]}'
bank "$now"
check "... or is not named" says 422 "does not name the run"
ask 'http://x/v1/audit?limit=5'
check "who signalled is known" says 200 '"by":"hook/bank"'
ends

# ---- the configuration ----
wrong() { echo "$1" >wrong.json; tfy serve ci.tfy --no-tcp --config wrong.json 2>err; [ $? != 0 ] && { grep -qF -- "$2" err || { cat err; return 1; }; }; }
check "a trusted parameter is not filled from outside" wrong '{"hooks":{"h":{"scheme":"github","secret_file":"ours.key","start":"ci.takes","args":{"text":"$body.x"}}}}' "fills 'text' of ci.takes from outside"
check "... also not in part" wrong '{"hooks":{"h":{"scheme":"github","secret_file":"ours.key","start":"ci.main","args":{"depth":["$body.x"]}}}}' "fills 'depth'"
check "what is no reference is told" wrong '{"hooks":{"h":{"scheme":"github","secret_file":"ours.key","start":"ci.main","args":{"kind":"$bdy"}}}}' 'is not $body'
check "... a scheme" wrong '{"hooks":{"h":{"scheme":"gitlab","secret_file":"ours.key","start":"ci.main"}}}' 'hmac:HEADER'
check "... neither start nor signal" wrong '{"hooks":{"h":{"scheme":"github","secret_file":"ours.key"}}}' '"start"'
check "... a signal to no run" wrong '{"hooks":{"h":{"scheme":"github","secret_file":"ours.key","signal":"x"}}}' 'goes with "run"'
check "... no secret" wrong '{"hooks":{"h":{"scheme":"github","start":"ci.main"}}}' 'secret_file'
check "... a file that there is not" wrong '{"hooks":{"h":{"scheme":"github","secret_file":"none.key","start":"ci.main"}}}' 'none.key'
chmod 644 ours.key
check "... one that others can read" wrong '{"hooks":{"h":{"scheme":"github","secret_file":"ours.key","start":"ci.main"}}}' 'chmod 600'
