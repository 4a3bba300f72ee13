#!/bin/sh
# Usage: labels.sh BUILD [FIRST..LAST]
# Random programs that put values where only trusted ones may stand, one for each seed. The interpreter marks every value that comes from
# outside, and what is made of it, with a bit. No program that the compiler accepts may bring such a value to a trusted place. Programs that it
# refuses run too, which shows how many of them it refused rightly in that very run. The last line is "N passed, N failed".
set -u
build=$(cd "${1:?usage: labels.sh BUILD [FIRST..LAST]}" && pwd)
seeds=${2:-1..3000}
export build
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
export work
seq "${seeds%%..*}" 250 "${seeds##*..}" | xargs -n 1 -P 2 sh -c '
    "$build/tests/diff/diff_gen" --trust "$1" 250 >"$work/$1.tfy" && timeout 120 "$build/tests/interp/interp" "$work/$1.tfy" --labels \
        >"$work/$1.out" 2>&1 || echo "not ok - programs $1 and the next 249" >>"$work/$1.out"
    rm -f "$work/$1.tfy"' sh
cat "$work"/*.out | grep -v '^[0-9]* accepted' | head -n 40
# A check of few programs that reach a place would show little.
cat "$work"/*.out | awk '
    /^[0-9]+ accepted/ { accepted += $1; reached += $3; refused += $10; rightly += $12; wrong += $19 }
    /^not ok - / { broken++ }
    END {
        bad = wrong + broken + (reached * 2 < accepted) + (rightly * 10 < refused)
        printf "%d accepted, %d of them reach a trusted place; %d refused, %d of them rightly in their run\n", accepted, reached, refused, rightly
        printf "%d passed, %d failed\n", accepted + refused - wrong, bad
        exit bad != 0
    }'
