#!/bin/sh
# Usage: same.sh BUILD OTHER [--seeds A..B]
# e4 of sim.h: two builds, by different compilers, do the same for the same seeds: the traces of BUILD (gcc) and of OTHER (clang, with
# sanitizers, which find what else there is to find) are compared. The last line is "N passed, N failed".
set -u
here=$(cd "$(dirname "$0")" && pwd)
one=${1:?usage: same.sh BUILD OTHER} other=${2:?usage: same.sh BUILD OTHER}
shift 2
[ $# != 0 ] || set -- --seeds 1..24
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
# What a life leaves behind when it dies is no leak.
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_stack_use_after_return=1}:detect_leaks=0"
CC=gcc CFLAGS=-O0 sh "$here/run.sh" "$one" --programs 30 --keep "$work/one" "$@" --hashes >"$work/said" 2>"$work/err" ||
    { cat "$work/err"; exit 1; }
grep '^[0-9]* [0-9a-f]\{16\}$' "$work/said" | sort >"$work/one.traces"
sh "$here/run.sh" "$other" --source "$work/one/programs.tfy" --keep "$work/other" "$@" --hashes >"$work/said" 2>"$work/err" ||
    { cat "$work/err"; exit 1; }
grep '^[0-9]* [0-9a-f]\{16\}$' "$work/said" | sort >"$work/other.traces"
same=$(comm -12 "$work/one.traces" "$work/other.traces" | wc -l)
differ=$(($(wc -l <"$work/one.traces") - same))
comm -3 "$work/one.traces" "$work/other.traces" | head -n 6 | sed 's/^/not ok - the traces of a seed differ: /'
echo "$same passed, $differ failed"
[ "$differ" = 0 ]
