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

# ---- mistakes ----
wrong '{"programs": {"shop": {"sandbox": "shut"}}}' 'serve.json:1: $.programs.shop.sandbox: it is readonly, workspace or open'
wrong '{"programs": {"shop": {"sandbox": true}}}' '$.programs.shop.sandbox'
wrong '{"programs": {"shop": {"netwrk": "none"}}}' "did you mean 'network'"
wrong '{"programs": {"shop": {"network": "*"}}}' "'*' names no host"
wrong '{"programs": {"shop": {"grant": ["attempt:eats=x"]}}}' '$.programs.shop.grant[0]: it is not TOOL:reads=PATH'
wrong '{"programs": {"shop": {"grant": [1]}}}' '$.programs.shop.grant[0]'
wrong '{"programs": {"shop": {"budget": "5"}}}' '$.programs.shop.budget'
wrong '{"programs": {"shop": {"root": "nowhere"}}}' '$.programs.shop.root: there is no such directory'
wrong '{"programs": {"shop": {"runners": "yes"}}}' '$.programs.shop.runners'
config '{"programs": {"shop": {"grant": ["attemp:reads=/srv"]}}}'
run tfy serve --config serve.json --no-tcp shop.tfy
check "a grant is for a tool that there is" ended 69 "shop.tfy runs no tool 'attemp'; did you mean 'attempt'?"
