#!/bin/sh
# Usage: run.sh TFYC [DIRECTORY…]
# Runs the compiler on every NAME.tfy below this directory and compares with what stands beside it:
#   NAME.expected  what `tfyc --check NAME.tfy` writes to stderr; it must exit with 65 when there is an error in it, else with 0
#   NAME.ast       what `tfyc --dump ast NAME.tfy` writes to stdout
#   NAME.tokens, NAME.program, NAME.machine    the same of the other stages
#   NAME.mermaid, NAME.dot, NAME.graph, NAME.report    what --graph=mermaid, --graph=dot, --graph=json and --report print
#   NAME.trust, NAME.trust.json    what --check --trust writes, and the same with --json; what goes to stderr comes first
#   NAME.formatted what `tfyc --format` makes of NAME.tfy; formatted again it must stay the same
# lang/ is lang.sh's: those programs run. Prints one line for each failing test, with the difference, and a total. UPDATE=1 writes the
# files anew instead; read the diff.
set -u
case ${1:?usage: run.sh TFYC} in */*) tfyc=$(cd "$(dirname "$1")" && pwd)/$(basename "$1") ;; *) tfyc=$1 ;; esac
shift
cd "$(dirname "$0")" || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT INT TERM
passed=0
failed=0

report() { # NAME, EXPECTED FILE, ACTUAL FILE, PROBLEM
    if [ "${UPDATE:-}" = 1 ]; then
        cp "$3" "$2"
        return
    fi
    if [ -z "$4" ] && cmp -s "$2" "$3"; then
        passed=$((passed + 1))
        return
    fi
    failed=$((failed + 1))
    echo "not ok - $1${4:+: $4}"
    diff -u "$2" "$3" | sed 's/^/#   /'
}

check() {
    "$tfyc" --check "$1.tfy" >"$work/out" 2>"$work/err"
    status=$?
    wanted=0
    grep -q ': error: ' "$1.expected" && wanted=65
    problem=
    [ $status -eq $wanted ] || problem="exit status $status instead of $wanted"
    report "$1" "$1.expected" "$work/err" "$problem"
}

dump() {
    case $2 in
    mermaid | dot) set -- "$1" "$2" --graph="$2" ;;
    graph) set -- "$1" "$2" --graph=json ;;
    report) set -- "$1" "$2" --report ;;
    *) set -- "$1" "$2" --dump="$2" ;;
    esac
    "$tfyc" "$3" "$1.tfy" >"$work/out" 2>"$work/err"
    report "$1 ($2)" "$1.$2" "$work/out" ""
}

trust() { # NAME, SUFFIX, OPTIONS…
    golden=$1.$2
    name=$1
    shift 2
    problem=
    "$tfyc" --check --trust "$@" "$name.tfy" >"$work/said" 2>"$work/out" || problem="exit status $?"
    cat "$work/said" >>"$work/out"
    report "$golden" "$golden" "$work/out" "$problem"
}

formatted() {
    "$tfyc" --format - <"$1.tfy" >"$work/out" 2>"$work/err" || cat "$work/err" >>"$work/out"
    problem=
    "$tfyc" --format - <"$work/out" >"$work/again" 2>&1
    cmp -s "$work/out" "$work/again" || problem="formatted again it differs"
    report "$1 (formatted)" "$1.formatted" "$work/out" "$problem"
}

[ $# -gt 0 ] || set -- .
for file in $(find "$@" -name lang -prune -o -name '*.tfy' -print | sed 's|^\./||' | sort); do
    name=${file%.tfy}
    [ -e "$name.expected" ] && check "$name"
    for stage in tokens ast program machine mermaid dot graph report; do
        [ -e "$name.$stage" ] && dump "$name" "$stage"
    done
    [ -e "$name.trust" ] && trust "$name" trust
    [ -e "$name.trust.json" ] && trust "$name" trust.json --json
    [ -e "$name.formatted" ] && formatted "$name"
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
