#!/bin/sh
# Usage: run.sh BUILD [--tools BUILD] [--seeds A..B] [--crashes N] [--batch N] [--jobs N] [--keep DIR]
# Random programs, one for each seed: what the compiled program does is compared with what the interpreter says that it should do (generator and interpreter are those of --tools, when BUILD has none). A batch
# of programs is one .tfy file, compiled without optimisation and with dead slots poisoned (by tcc, where it is there: half a million lines in a
# second, fifteen times as fast as clang), and run on the virtual clock, linked with the sanitizers. The first N programs (--checked, 60) are
# also compiled with them by clang, which costs five times as much again, and the first N (--crashes, 12) are also killed after several
# turns, resumed and replayed. A program that differs is named with its seed;
# `BUILD/tests/diff/diff_gen SEED` prints it. The last line is "N passed, N failed".
set -u
build=$(cd "${1:?usage: run.sh BUILD [--seeds A..B]}" && pwd)
shift
makers=$build
from=1 to=300 batch=500 jobs=2 keep= crashes=12 checked=60
while [ $# -gt 0 ]; do
    case $1 in
    --seeds) from=${2%%..*} to=${2##*..} ;;
    --tools) makers=$(cd "$2" && pwd) || exit 1 ;;
    --batch) batch=$2 ;;
    --crashes) crashes=$2 ;;
    --checked) checked=$2 ;;
    --jobs) jobs=$2 ;;
    --keep) mkdir -p "$2" && keep=$(cd "$2" && pwd) ;;
    *) echo "run.sh: unknown option '$1'" >&2; exit 64 ;;
    esac
    shift 2 || exit 64
done
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
# A library that was built with sanitizers or for fuzzing wants the program built likewise.
sanitize=-fsanitize=address,undefined
case " ${CFLAGS:-} " in *fuzzer-no-link*) sanitize=$sanitize,fuzzer-no-link ;; esac
# clang needs a third of the time that gcc needs for this.
if [ -z "${CC:-}" ] && command -v clang >/dev/null; then CC=clang; fi
quick=${CC:-cc}
if command -v tcc >/dev/null; then quick=tcc; fi
export build makers work keep sanitize quick CC="${CC:-cc}"
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_stack_use_after_return=1}" UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1

# One batch: FIRST COUNT HOW, which is plain, checked or crash. Its verdicts, a line each, end in $work/FIRST.verdict.
cat >"$work/one.sh" <<'END'
set -u
first=$1 count=$2 how=$3
dir=$work/batch$first$how
mkdir "$dir" && cd "$dir" || exit 1
# The generator and the interpreter never free what they make.
keeper() { ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0" timeout 120 "$@"; }
compiled() { # programs.c
    if [ "$how" = plain ]; then
        "$quick" -w -O0 -DTFY_POISON -I"$build" -c programs.c -o programs.o 2>err || return 1
    else
        "$CC" -w -O0 -g1 $sanitize -DTFY_POISON -I"$build" -c programs.c 2>err || return 1
    fi
    "$CC" $sanitize -z noexecstack -o programs programs.o "$build/tests/diff/libdiff_runner.a" \
        "$build/runtime/libtfy.a" -lsqlite3 -ljansson -lcurl -lpcre2-8 -lm -lpthread 2>err
}
fail() { # the whole batch
    echo "not ok - seeds $first..$((first + count - 1)): $1"
    head -n "${2:-12}" err | cut -c1-300
    [ -z "$keep" ] || cp -r "$dir" "$keep"
    i=0
    while [ $i -lt "$count" ]; do echo bad >>"$work/$first.verdict"; i=$((i + 1)); done
    cd "$work" && rm -rf "$dir"
    exit 0
}
if [ "$how" = crash ]; then
    keeper "$makers/tests/diff/diff_gen" --steady "$first" "$count" >programs.tfy 2>err || fail "no programs"
    "$build/tfyc" programs.tfy -o programs.c --no-main 2>err || fail "tfyc refuses them"
    compiled || fail "the C does not compile"
    timeout 600 ./programs --crash >actual 2>err
    [ $? = 0 ] || fail "killed and resumed, they do otherwise" 60
    sed 's/ .*//' actual >"$work/crash.verdict"
    cd "$work" && rm -rf "$dir"
    exit 0
fi
keeper "$makers/tests/diff/diff_gen" "$first" "$count" >programs.tfy 2>err || fail "no programs"
"$build/tfyc" programs.tfy -o programs.c --no-main 2>err || fail "tfyc refuses them"
keeper "$makers/tests/interp/interp" programs.tfy >expected 2>err || fail "the interpreter fails"
compiled || fail "the C does not compile"
timeout 300 ./programs >actual 2>err
status=$?
# A program's part of both; the shorter file names what is missing.
awk -v first="$first" -v status="$status" '
    FNR == 1 { file++ }
    /^== / { name = $2; if (file == 1) order[++count] = name }
    { text[file, name] = text[file, name] $0 "\n" }
    END {
        for (i = 1; i <= count; i++) {
            name = order[i]
            if (text[1, name] == text[2, name]) { print "ok"; continue }
            print "bad"
            seed = name; sub(/^root_./, "", seed)
            if (shown++ >= 3) { print "not ok - seed " seed > "said"; continue }
            print "not ok - seed " seed ": expected (<), done (>)" > "said"
            printf "%s", text[1, name] > ("e." seed)
            printf "%s", text[2, name] > ("a." seed)
            close("e." seed); close("a." seed); close("said")
            system("diff e." seed " a." seed " | head -n 14 | cut -c1-300 >>said")
        }
    }' expected actual >>"$work/$first.verdict"
[ ! -e said ] || cat said
if [ $status != 0 ]; then
    echo "not ok - seeds $first..$((first + count - 1)): the programs ended with status $status"
    grep -v '^ *$' err | head -n 30 | cut -c1-200
    echo bad >>"$work/$first.verdict"
fi
if [ -n "$keep" ] && grep -q bad "$work/$first.verdict"; then cp -r "$dir" "$keep"; fi
cd "$work" && rm -rf "$dir"
END

# batches FROM TO SIZE HOW
batches()
{
    at=$1
    while [ "$at" -le "$2" ]; do
        count=$3
        [ $((at + count - 1)) -le "$2" ] || count=$(($2 - at + 1))
        echo "$at $count $4"
        at=$((at + count))
    done
}
[ "$checked" -le $((to - from + 1)) ] || checked=$((to - from + 1))
{
    [ "$crashes" = 0 ] || echo "$from $crashes crash"
    batches "$from" $((from + checked - 1)) 30 checked
    batches "$from" "$to" "$batch" plain
} >"$work/batches"
xargs -n 3 -P "$jobs" sh "$work/one.sh" <"$work/batches"
cat "$work"/*.verdict >"$work/verdicts"
passed=$(grep -c '^ok' "$work/verdicts")
failed=$(grep -c '^bad' "$work/verdicts")
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
