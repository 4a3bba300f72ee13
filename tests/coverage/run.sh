#!/bin/sh
# Usage: run.sh BUILD
# Which branches of the compiler the tests take. BUILD is configured with -Db_coverage=true. Everything that tests the compiler is run (unit tests,
# golden files, every program of the repository in every mode, end-to-end tests of its commands, generated programs), then a line for each
# file: branches taken at least once, all branches, per cent; the generated lexer and parser are left out, and so are the facts that CHECK and
# the lists hold, whose other outcome is a bug. The last line is the sum.
# docs/coverage.md says why the others are not taken.
set -u
build=$(cd "${1:?usage: run.sh BUILD}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
# Compiled programs are linked with a library that counts.
export CC="${CC:-gcc}" CFLAGS="-g -O0 --coverage" NO_COLOR=1
find "$build" -name '*.gcda' -delete

quietly() { "$@" >"$scratch/log" 2>&1 </dev/null; }

for test in "$build"/tests/unit_dsl_* "$build"/tests/unit_parse_* "$build"/tests/unit_check_* "$build"/tests/unit_codegen_*; do
    [ -x "$test" ] && [ -f "$test" ] && quietly "$test"
done
quietly sh "$root/tests/golden/run.sh" "$build/tfyc"
quietly sh "$root/tests/e2e/run.sh" "$build" compiler completions editors files format limits lsp modules usage

# every_mode FILE: what tfyc can do with a program.
every_mode()
{
    for mode in "-o $scratch/x.c" "-o $scratch/x.c --tests --depfile $scratch/x.d" "-o $scratch/x.c --no-line --no-main" "-o $scratch/x.c --debug" "-o $scratch/x.c --shared" \
        "--layout" "--check --diagnostics=json" \
        "--dump=tokens" "--dump=ast" "--dump=program" "--dump=machine" "--graph=dot" "--graph=mermaid" "--graph=json" "--report" "--report --json" \
        "--format --diff" "--list-files"; do
        quietly "$build/tfyc" $mode "$1"
    done
}
for program in $(find "$root/tests" "$root/examples" -name '*.tfy' | sort); do every_mode "$program"; done
if [ -x "$build/tests/diff/diff_gen" ]; then
    for seed in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        "$build/tests/diff/diff_gen" $seed >"$scratch/seed.tfy" 2>/dev/null && every_mode "$scratch/seed.tfy"
    done
fi

# Broken programs by the thousand, in one process that keeps going: what is understood of a program with mistakes is checked on.
mutants()
{
    echo 'send {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}'
    echo 'read 1'
    for program in $(find "$root/tests/golden" "$root/examples" -name '*.tfy' -size -6k | sort); do
        iconv -f utf-8 -t utf-8 "$program" >/dev/null 2>&1 && awk -v step=3 -f "$root/tests/lsp/mutate.awk" "$program"
    done
    echo end
}
mutants >"$scratch/mutants.lsp"
quietly "$build/tests/lsp_client" "$scratch/mutants.lsp" "$build/tfyc" --lsp

cd "$build" || exit 1
find dsl codegen tfyc.p -name '*.gcda' 2>/dev/null | grep -v -e lexer -e grammar | sort | xargs -r gcov -b -c -t 2>/dev/null |
    awk '/^ *-: *0:Source:/ { file = $0; sub(/^[^S]*Source:(\.\.\/)*/, "", file); next }
        /^branch/ {
            if (counts) all[file]++
            if (counts && / taken [1-9]/) taken[file]++
            next
        }
        /^ *[^:]*: *[0-9]+:/ { counts = file ~ /^(dsl|codegen)\/[a-z_]+\.c$/ && !/CHECK\(|LIST_/ }
        END {
            for (file in all) {
                printf "%5.1f %% %6d of %6d  %s\n", 100 * taken[file] / all[file], taken[file], all[file], file | "sort -n"
                sum += taken[file]; total += all[file]
            }
            close("sort -n")
            if (total) printf "%5.1f %% %6d of %6d  all\n", 100 * sum / total, sum, total
        }'
