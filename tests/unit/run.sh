#!/bin/sh
# tests/unit/run.sh BUILD: runs every unit test program of a build, three at a time, those that wait for clocks and disks first, and sums up their TAP lines. A program that ends badly
# without a "not ok" line counts as one failure.
set -u
build=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export CMOCKA_MESSAGE_OUTPUT=TAP scratch

find "$build/tests" -maxdepth 1 -type f -name 'unit_*' -perm -u+x 2>/dev/null |
    sed 's,.*/unit_\(effects_[cp]\|hub_c\|wal_[dp]\|wal_cl\|wal_s[ht]\),0 &,; t; s,.*/unit_\(llm_http\|core\),1 &,; t; s,^,2 ,' | sort | sed 's/^..//' | xargs -r -n 1 -P 3 sh -c '
    name=$(basename "$1")
    timeout -k 5 300 "$1" >"$scratch/$name.out" 2>"$scratch/$name.err" </dev/null
    echo $? >"$scratch/$name.status"' sh

passed=0
failed=0
for status in "$scratch"/*.status; do
    [ -e "$status" ] || continue
    out=${status%.status}.out
    name=$(basename "${status%.status}")
    good=$(grep -c '^ok ' "$out")
    bad=$(grep '^not ok ' "$out" | grep -vc '# SKIP')
    sed -n "s/^not ok [0-9]* # SKIP /skipped $name: /p" "$out" # counted neither way
    code=$(cat "$status")
    if [ "$bad" = 0 ] && [ "$code" != 0 ]; then
        bad=1
        echo "not ok $name: exit status $code"
    fi
    if [ "$bad" != 0 ]; then
        sed "s/^/  /" "$out" "${status%.status}.err" | tail -n 200
    fi
    passed=$((passed + good))
    failed=$((failed + bad))
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
