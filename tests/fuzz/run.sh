#!/bin/sh
# tests/fuzz/run.sh BUILD SECONDS: runs every fuzz target of a build for so long, two at a time, from the seeds in tests/fuzz/corpus/NAME/ (the formatter's are its golden tests).
set -u
build=$(cd "$1" && pwd)
seconds=$2
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export build seconds here scratch

find "$build/tests" -maxdepth 1 -type f -name 'fuzz_*' -perm -u+x 2>/dev/null | sort | xargs -r -n 1 -P 2 sh -c '
    name=$(basename "$1")
    mkdir -p "$scratch/$name/corpus-new" && cd "$scratch/$name" || exit 1
    seeds=
    [ -d "$here/corpus/$name" ] && seeds=$here/corpus/$name
    [ "$name" != fuzz_format ] || seeds=$here/../golden/format
    "$1" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -max_len=8192 -print_final_stats=1 corpus-new $seeds \
        >log 2>&1 </dev/null
    echo $? >status' sh 2>/dev/null

passed=0
failed=0
for dir in "$scratch"/*/; do
    [ -e "$dir" ] || continue
    name=$(basename "$dir")
    if [ "$(cat "$dir/status" 2>/dev/null)" = 0 ]; then
        passed=$((passed + 1))
        echo "ok $name $(sed -n 's/^stat::number_of_executed_units: */executions: /p' "$dir/log")"
    else
        failed=$((failed + 1))
        echo "not ok $name"
        tail -n 40 "$dir/log"
        for input in "$dir"/crash-* "$dir"/timeout-* "$dir"/oom-* "$dir"/leak-*; do
            [ -e "$input" ] && { echo "the input, base64:"; base64 "$input" | head -n 100; }
        done
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
