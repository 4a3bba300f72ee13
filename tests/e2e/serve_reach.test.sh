#!/bin/sh
# tfy serve: how far the tools of a program may go, as the configuration says it; starts only narrow it.
. "$here/lib.sh"
. "$here/serve_lib.sh"
mkdir outside work && echo hidden >outside/text && outside=$PWD/outside && cd work && mkdir elsewhere || exit 1
cat >shop.tfy <<'END'
tool attempt(script: trusted string) -> ExecResult idempotent = exec ["sh", "-c", script]
workflow main(script: string) -> int {
    let done = yield attempt(script)
    return done.code
}
workflow place() -> string {
    let done = yield exec(["pwd"])
    return done.out.trim()
}
workflow fetch(url: string) -> string {
    let text = yield http("GET", url)
    return "${text.status}"
}
workflow model() -> string { return yield llm("x") }
END
cp shop.tfy bare.tfy
echo '// another one' >>bare.tfy
# trying PROGRAM SCRIPT MEMBERS: the exit status of the tool, in ./out
trying() { post "/v1/programs/$1/workflows/main/runs" "{\"args\":{\"script\":\"$2\"}${3:-}}" -H 'Prefer: wait=20'; }
gives() { is result "$1"; }
config() { printf '%s\n' "$1" >serve.json; }
wrong() # CONFIG TEXT
{
    config "$1"
    run tfy serve --check --config serve.json shop.tfy
    check "refused: $1" ended 64 "$2"
}

# ---- what the configuration says ----
config "{\"programs\": {\"shop\": {\"file\": \"shop.tfy\", \"sandbox\": \"readonly\", \"grant\": [\"attempt:reads=$outside\"], \"root\": \"elsewhere\"},
  \"bare\": {\"file\": \"bare.tfy\"}}}"
serves --config serve.json --no-tcp
trying shop 'echo x >file'
check "a program that is readonly writes nothing" gives 2
trying shop "cat $outside/text"
check "... and reads what it is granted" gives 0
trying bare 'echo x >file'
check "another program is as it is without" gives 0
trying bare "cat $outside/text"
check "... and has no grant" gives 1
post /v1/programs/shop/workflows/place/runs '{"args":{}}' -H 'Prefer: wait=20'
check "each works in its own directory" is result "$(realpath elsewhere)"
shop=$(member id)
post /v1/programs/bare/workflows/place/runs '{"args":{}}' -H 'Prefer: wait=20'
check "... or in the server's" is result "$(realpath .)"
run tfy inspect "$shop"
check "it is recorded with the run" printed " --sandbox readonly --grant attempt:reads=$(realpath "$outside")"

# ---- a start narrows ----
trying bare 'echo x >file' ',"sandbox":"readonly"'
check "a start narrows" gives 2
trying shop 'true' ',"sandbox":"workspace"'
check "... and does not widen" says 422 '"path":"$.sandbox"'
check "... which is told" says 422 "that is 'readonly'"
trying bare 'true' ',"sandbox":"open"'
check "... beyond what a program without a word has, either" says 422 "that is 'workspace'"
trying bare 'true' ',"sandbox":"shut"'
check "... nor is nonsense taken" says 422 "readonly, workspace or open"
post /v1/programs/bare/workflows/fetch/runs '{"args":{"url":"http://127.0.0.1:1/"},"network":"none"}' -H 'Prefer: wait=20'
check "a network is narrowed" says 200 "'--network none' does not allow 127.0.0.1:1"
again=$(member id)
post "/v1/runs/$again/again" '{}' -H 'Prefer: wait=20'
check "the same again is as narrow" says 200 "'--network none' does not allow 127.0.0.1:1"
ends

# ---- lists and budgets ----
config '{"programs": {"shop": {"file": "shop.tfy", "network": "127.0.0.1:1,127.0.0.1:2", "budget": "calls=2,tokens=1k"}}}'
serves --config serve.json --no-tcp
start() { post /v1/programs/shop/workflows/fetch/runs "{\"args\":{\"url\":\"http://127.0.0.1:$1/\"}${2:-}}" -H 'Prefer: wait=20'; }
start 3
check "a list of hosts holds" says 200 "does not allow 127.0.0.1:3"
start 2 ',"network":"127.0.0.1:1"'
check "... a start takes a part of it" says 200 "does not allow 127.0.0.1:2"
start 2 ',"network":"127.0.0.1:3"'
check "... and nothing else" says 422 '"path":"$.network"'
start 2 ',"network":"any"'
check "... least of all" says 422 '"path":"$.network"'
start 2 ',"budget":"calls=3"'
check "a budget is no larger" says 422 '"path":"$.budget"'
start 2 ',"budget":"calls=many"'
check "... and is one" says 422 '"path":"$.budget"'
start 2 ',"budget":"calls=1"'
run tfy inspect "$(member id)"
check "a smaller one holds for its run, with what it leaves alone" grep -qx 'budget     tokens=1000,calls=1' out
start 2 ',"budget":"calls=9","network":"any"'
check "several mistakes are told at once, each with its path" sh -c 'grep -q "\$.budget" out && grep -q "\$.network" out'
ends

# ---- secrets of a program ----
cat >asks.tfy <<'END'
tool reveal() -> ExecResult idempotent = exec ["sh", "-c", "printf %s $KEY | wc -c"] env { "KEY": secret("KEY") }
workflow main() -> string {
    let done = yield reveal()
    return done.out.trim()
}
workflow look(path: string) -> string { return yield read_file(path) }
END
cp asks.tfy others.tfy
echo '// another one' >>others.tfy
(umask 077 && echo KEY=four >first.keys && echo KEY=eleven--and >second.keys)
config '{"programs": {"asks": {"file": "asks.tfy", "secrets": "first.keys"}, "others": {"file": "others.tfy", "secrets": "second.keys"}}}'
serves --config serve.json --no-tcp
reveal() { post "/v1/programs/$1/workflows/main/runs" '{"args":{}}' -H 'Prefer: wait=20'; }
reveal asks
check "a program has its secrets" is result 4
reveal others
check "... and another one its own" is result 11
post /v1/programs/others/workflows/look/runs '{"args":{"path":"first.keys"}}' -H 'Prefer: wait=20'
check "nobody reads those of another one" sh -c 'grep -q "belongs to the runtime" out && ! grep -q four out'
post /v1/programs/others/workflows/look/runs '{"args":{"path":"second.keys"}}' -H 'Prefer: wait=20'
check "... nor its own" says 200 "belongs to the runtime"
ends
wrong '{"programs": {"shop": {"secrets": "nowhere"}}}' '$.programs.shop.secrets: it cannot be read: No such file or directory'

# ---- what holds for all ----
cat >models.json <<'END'
{"models": {"default": {"api": "chat", "url": "http://127.0.0.1:1/v1", "model": "any"}}}
END
config '{"models": "models.json", "search": false, "drain": "90s", "compile": "8s", "programs": {"shop": {"file": "shop.tfy"}},
  "followers": {"bus": {"to": "nats://127.0.0.1:4222"}}}'
run tfy serve --print-config --config serve.json --listen 127.0.0.1:8434
check "--print-config prints what holds" printed '"drain": "90s"'
check "... with what nobody said" printed '"compile": "8s"'
check "... and what the command line says" printed '"address": "127.0.0.1:8434"'
cp out printed.json
run tfy serve --print-config --config printed.json
check "... as a file that says the same" cmp out printed.json
sed -i '/followers/d; s/},$/}}/' serve.json
serves --config serve.json --no-tcp
ask 'http://x/v1/runs?q=ann'
check "a server that is not to search keeps no words" says 400 '\"search\": false'
ask 'http://x/v1/runs?state=completed'
check "... and lists runs" says 200 '"runs"'
post /v1/programs/shop/workflows/model/runs '{"args":{}}' -H 'Prefer: wait=20'
check "the models are those of its file" says 200 '127.0.0.1:1'
ends

# ---- a compiler that hangs ----
mkdir bin
cat >bin/slow <<'END'
#!/bin/sh
[ ! -e hang ] || exec sleep 3471
exec $compiler "$@"
END
chmod +x bin/slow
hangs() { pgrep -f "^sleep 3471" >/dev/null; }
was_cc=${CC-}
export compiler="${CC:-cc}" CC="$PWD/bin/slow"
serves --config serve.json --no-tcp
sed -i "s|\[ ! -e hang|[ ! -e '$PWD/hang'|" bin/slow
touch hang
deploying() { curl -sS --unix-socket "$TFY_DB-live/http" -o deployed -w '%{http_code}' -X PUT -H 'Content-Type: application/json' -d '{"files":[{"path":"x.tfy","text":"workflow main() -> int { return 5 }"}]}' http://x/v1/programs/late >answered; }
deploying &
deploys=$!
within 10 hangs
ask http://x/v1/programs
check "while a compiler hangs, others are answered" says 200 '"name":"shop"'
check "... and it does hang" hangs
wait "$deploys"
check "its time is bounded" grep -qx 422 answered
check "... which is told" grep -q 'it was not compiled within 8.0 s' deployed
check "... and nothing of it is left" within 5 sh -c '! pgrep -f "^sleep 3471" >/dev/null'
rm hang
deploying
check "the same can be deployed later" grep -qx 201 answered
ends
unset compiler
if [ -n "$was_cc" ]; then CC=$was_cc; else unset CC; fi

# ---- mistakes ----
wrong '{"programs": {"shop": {"sandbox": "shut"}}}' 'serve.json:1: $.programs.shop.sandbox: it is readonly, workspace or open'
wrong '{"programs": {"shop": {"sandbox": true}}}' '$.programs.shop.sandbox'
wrong '{"programs": {"shop": {"netwrk": "none"}}}' "did you mean 'network'"
wrong '{"programs": {"shop": {"network": "*"}}}' "'*' names no host"
wrong '{"programs": {"shop": {"grant": ["attempt:eats=x"]}}}' '$.programs.shop.grant[0]: it is not TOOL:reads=PATH'
wrong '{"programs": {"shop": {"grant": [1]}}}' '$.programs.shop.grant[0]'
wrong '{"programs": {"shop": {"budget": "5"}}}' '$.programs.shop.budget'
wrong '{"programs": {"shop": {"root": "nowhere"}}}' '$.programs.shop.root: there is no such directory'
wrong '{"models": "nowhere.json"}' '$.models: it cannot be read'
wrong '{"search": "yes"}' '$.search'
wrong '{"compile": "500ms"}' '$.compile: a program is given a second at least'
wrong '{"programs": {"shop": {"runners": "yes"}}}' '$.programs.shop.runners'
config '{"programs": {"shop": {"grant": ["attemp:reads=/srv"]}}}'
run tfy serve --config serve.json --no-tcp shop.tfy
check "a grant is for a tool that there is" ended 69 "shop.tfy runs no tool 'attemp'; did you mean 'attempt'?"
