#!/bin/sh
# Usage: run.sh [--time SECONDS] [NAME…]
# Plants each bug of this folder in a copy of the repository, one at a time, builds the runtime with it, and runs what has to find it: the
# simulation, for so many seconds (40) at most, or what the patch names in a line of its head:
#   found by: e2e TOPIC…      tests/e2e/run.sh with these topics
#   found by: unit NAME…      these programs of tests/unit, such as unit_wal_log
#   found by: crash WORD…     tests/crash/run.sh with these words behind the build
#   found by: workers         the simulation of three workers, for so many seconds at most
#   found by: cell            tests/cell/run.sh
#   found by: server          tests/crash/serve.py, every third commit and four trials of random moments
#   found by: chaos NAME      this scenario of tests/cluster/chaos.py, with few runs
#   found by: labels          tests/diff/labels.sh with 10,000 programs
# README.md says what each one breaks and which are missed.
# The last line is "N passed, N failed": found and missed; those that are known to be missed (missed.txt) pass when they are missed.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
seconds=40
[ "${1:-}" != --time ] || { seconds=${2:?run.sh: --time needs a value}; shift 2; }
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
copy=$scratch/tree
mkdir "$copy"
(cd "$root" && git ls-files -z | xargs -0 tar cf - 2>/dev/null) | tar xf - -C "$copy"
cd "$copy" || exit 1
meson setup build >setup.log 2>&1 || { cat setup.log; exit 1; }
build() # TARGET…
{
    ninja -j 2 -C build --quiet "$@" >build.log 2>&1 || { cat build.log; return 1; }
}
simulated="runtime/libtfy.a tests/sim/libsim.a tests/diff/diff_gen tfyc"
# shellcheck disable=SC2086
build $simulated || exit 1
# Some end-to-end tests look at the repository around them.
git init -q . && git add -A && git -c user.name=planted -c user.email=planted@example.invalid commit -q -m planted

# search_by NAME: builds what has to find the bug and runs it; its words are in $scratch/said. 0: nothing was found, 1: found, else it could not run.
search_by()
{
    finder=$(sed -n '2,/^--- /s/^found by: //p' "tests/planted/$1.patch")
    # shellcheck disable=SC2086
    set -- $finder
    case ${1:-sim} in
    sim)
        # shellcheck disable=SC2086
        build $simulated || return 70
        rm -rf "$scratch/sim"
        sh tests/sim/run.sh build --source "$scratch/programs.tfy" --keep "$scratch/sim" --seeds 1..1000000 --time "$seconds" --first
        ;;
    workers)
        # shellcheck disable=SC2086
        build $simulated || return 70
        rm -rf "$scratch/sim"
        sh tests/sim/run.sh build --workers 3 --source "$scratch/workers.tfy" --keep "$scratch/sim" --seeds 1..1000000 --time "$seconds" --first
        ;;
    unit)
        shift
        for test in "$@"; do
            build "tests/$test" || return 70
            CMOCKA_MESSAGE_OUTPUT=TAP timeout -k 5 300 "build/tests/$test" >unit.log 2>&1 || { grep '^not ok' unit.log || echo "not ok - $test"; return 1; }
        done
        return 0
        ;;
    cell)
        build tfy tfyc tfy-cell runtime/libtfy.a tests/cell/cell_attack tests/cell/cell_trials || return 70
        sh tests/cell/run.sh build
        ;;
    server)
        build tfy tfy-serve tfy-publish tfyc tfy-cell runtime/libtfy.a || return 70
        python3 tests/crash/serve.py build --every 3 --moments 4
        ;;
    chaos)
        build tfy tfy-worker tfyc tfy-cell runtime/libtfy.a tests/cluster/chaos_tool || return 70
        python3 tests/cluster/chaos.py build quick --only "$2"
        ;;
    labels)
        build tests/interp/interp tests/diff/diff_gen || return 70
        sh tests/diff/labels.sh build 1..10000
        ;;
    golden)
        build tfyc || return 70
        sh tests/golden/run.sh build/tfyc
        ;;
    e2e | crash)
        build all || return 70
        suite=$1
        shift
        sh "tests/$suite/run.sh" build "$@"
        ;;
    *) return 64 ;;
    esac
}
{ build/tests/diff/diff_gen --sim 1 120 && cat tests/sim/work.tfy tests/sim/sockets.tfy tests/sim/agents.tfy; } >"$scratch/programs.tfy" || exit 1
{ build/tests/diff/diff_gen --sim 1 120 && cat tests/sim/work.tfy tests/sim/cluster.tfy; } >"$scratch/workers.tfy" || exit 1
passed=0 failed=0
verdict() { # NAME STATUS FIRST-LINE: what the simulation ended with
    known=false
    if grep -qx "$1" tests/planted/missed.txt 2>/dev/null; then known=true; fi
    if [ "$2" = 1 ]; then
        passed=$((passed + 1))
        echo "found   $1: $3" | cut -c1-200
    elif [ "$2" = 0 ] && $known; then
        passed=$((passed + 1))
        echo "missed  $1, as known"
    else
        failed=$((failed + 1))
        echo "not ok  $1: ended with status $2"
    fi
}
if [ $# = 0 ]; then
    for patch in tests/planted/*.patch; do set -- "$@" "$(basename "$patch" .patch)"; done
fi
for name in "$@"; do
    patch -p1 -s <"tests/planted/$name.patch" || { echo "not ok  $name: the patch does not apply"; failed=$((failed + 1)); continue; }
    status=0
    search_by "$name" >"$scratch/said" 2>&1 || status=$?
    verdict "$name" "$status" "$(sed -n 's/^[ a-z_:]*not ok -* *//p' "$scratch/said" | head -n 1)"
    patch -p1 -s -R <"tests/planted/$name.patch" || exit 1
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
