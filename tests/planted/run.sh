#!/bin/sh
# Usage: run.sh [--time SECONDS] [NAME…]
# Plants each bug of this folder in a copy of the repository, one at a time, builds the runtime and the simulation with it, and runs the
# simulation for so many seconds (40) at most: it has to find the bug. README.md says what each one breaks and which are missed.
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
targets="runtime/libtfy.a tests/sim/libsim.a tests/diff/diff_gen tfyc"
meson setup build >setup.log 2>&1 || { cat setup.log; exit 1; }
build()
{
    # shellcheck disable=SC2086
    ninja -j 2 -C build --quiet $targets >build.log 2>&1 || { cat build.log; return 1; }
}
build || exit 1
{ build/tests/diff/diff_gen --sim 1 120 && cat tests/sim/work.tfy; } >"$scratch/programs.tfy" || exit 1
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
    status=70
    if build; then
        rm -rf "$scratch/sim"
        sh tests/sim/run.sh build --source "$scratch/programs.tfy" --keep "$scratch/sim" --seeds 1..1000000 --time "$seconds" \
            --first >"$scratch/said" 2>&1
        status=$?
    fi
    verdict "$name" "$status" "$(sed -n 's/^not ok - //p' "$scratch/said" | head -n 1)"
    patch -p1 -s -R <"tests/planted/$name.patch" || exit 1
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
