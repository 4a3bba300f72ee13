#!/bin/sh
# Runs every measurement of a build (default: build) and shows its figures against their limits. --tsv: name, measured, limit, ok or short,
# separated by tabs. Ends with 1 when a figure falls short.
set -eu
build=build
tsv=
for word in "$@"; do
    case $word in
    --tsv) tsv=1 ;;
    -*)
        echo "bench: unknown option '$word'; the only one is --tsv" >&2
        exit 64
        ;;
    *) build=$word ;;
    esac
done
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$build" && pwd)
g++ -O2 -std=c++20 -o "$build/tests/bench/coroutine" "$here/coroutine.cc"
figures=$(mktemp)
trap 'rm -f "$figures"' EXIT
trap 'exit 130' INT TERM
status=0
for program in "$build"/tests/bench/bench_*; do
    [ -f "$program" ] && [ -x "$program" ] || continue
    # Databases lie beside the build: a sync must reach a disk, and /tmp may be memory.
    name=${program##*/}
    set --
    [ "$name" != bench_others ] || set -- "$build/tests/bench" "$here"
    [ "$name" != bench_page ] || set -- "$here"
    (cd "$build" && "./tests/bench/$name" "$@") >"$figures" || { echo "bench: $name failed" >&2; status=1; }
    if [ -n "$tsv" ]; then
        cat "$figures"
    else
        awk -F '\t' '{ printf "%-5s %8s  (limit %s)  %s\n", $4, $2, $3, $1 }' "$figures"
    fi
    ! grep -q 'short$' "$figures" || status=1
done
exit "$status"
