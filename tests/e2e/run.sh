#!/bin/sh
# tests/e2e/run.sh BUILD [TOPIC…]: runs the end-to-end tests, each tests/e2e/TOPIC.test.sh in a scratch directory of its own, three at a time, the longest first.
# Programs are compiled without optimisation and debug information unless $CFLAGS is set: the topics are about commands, and
# tests/golden/lang, tests/docs and tests/crash compile as tfy does. E2E_SKIP names topics to leave out. A topic prints "ok NAME" and "not ok NAME" lines; one that ends badly without a "not ok" counts as one failure.
set -u
build=$(cd "$1" && pwd)
shift
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export build here scratch
export TFY_LOGINS="$scratch/logins.json" TFY="$build/tfy" TFYC="$build/tfyc" EXAMPLES="$here/../../examples" XDG_CACHE_HOME="$scratch/.cache" NO_COLOR=1
export CFLAGS="${CFLAGS--O0 -g0 -Wl,-S}"
unset TFY_DB TFY_LLM_URL TFY_LLM_MODEL TFY_LLM_KEY TFY_LLM_KEY_FILE

if [ $# = 0 ]; then
    longest="serve_page cluster_worker demo_cluster examples serve_routes renamed mcp_waits serve_schedules window mcp http mcp_inspector serve_bounds serve_door sockets mcp_programs codegen mcp_http mcp_serve mcp_conformance serve_deploy mcp_review serve_events resume aimock budgets land agents"
    for file in $(printf "$here/%s.test.sh\n" $longest) "$here"/*.test.sh; do
        name=$(basename "$file" .test.sh)
        case " ${E2E_SKIP:-} " in *" $name "*) continue ;; esac
        case " $* " in *" $name "*) continue ;; esac
        [ -e "$file" ] && set -- "$@" "$name"
    done
fi
printf '%s\n' "$@" | grep . | xargs -r -n 1 -P 3 sh -c '
    mkdir "$scratch/$1" && cd "$scratch/$1" || exit 1
    timeout -k 5 300 sh "$here/$1.test.sh" >"$scratch/$1.out" 2>&1 </dev/null
    echo $? >"$scratch/$1.status"' sh

passed=0
failed=0
for status in "$scratch"/*.status; do
    [ -e "$status" ] || continue
    name=$(basename "$status" .status)
    out=$scratch/$name.out
    good=$(grep -c '^ok ' "$out")
    bad=$(grep -c '^not ok ' "$out")
    code=$(cat "$status")
    if [ "$bad" = 0 ] && [ "$code" != 0 ]; then
        bad=1
        echo "not ok $name: exit status $code"
    fi
    sed -n "s/^skipped:* */skipped $name: /p" "$out"
    [ "$bad" = 0 ] || sed "/^ok /d; s/^/  $name: /" "$out"
    passed=$((passed + good))
    failed=$((failed + bad))
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
