#!/bin/sh
# What must hold for the repository itself, whatever is built.
. "$here/lib.sh"
top=$here/../..

check "every shell script is accepted by sh -n" sh -c 'cd "$1" && for f in dev .ci/run $(find tests examples -name "*.sh"); do sh -n "$f" || exit 1; done' sh "$top"
run sh "$top/dev" no-such-command
check "dev refuses an unknown command with 64" [ "$status" = 64 ]
run sh "$top/dev" help
check "dev help names every command" sh -c 'for c in build demo test bench soak fmt bare clean; do grep -q "^./dev $c " "$1" || exit 1; done' sh out
check "no line is left to be done" sh -c 'cd "$1" && ! grep -rnE "TO""DO|FIX""ME" --include="*.c" --include="*.h" --include="*.y" --include="*.re" dsl codegen runtime' sh "$top"
