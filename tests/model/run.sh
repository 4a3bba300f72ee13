#!/bin/sh
# tests/model/run.sh [MISFORTUNES]: the model of the log (log.pml) with so many crashes, 2 unless told: the protocol as it is has no
# counterexample among all orders of events; with each fault planted there is one. Needs spin and a C compiler.
set -u
here=$(cd "$(dirname "$0")" && pwd)
misfortunes=${1:-2}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
cd "$scratch" || exit 1
passed=0
failed=0

spin -a "$here/log.pml" >spin.log 2>&1 && [ -s pan.c ] || { cat spin.log; exit 1; }
# The verifier is generated code: its warnings are nobody's. No partial order reduction: there is nothing that it could leave out.
${CC:-cc} -O1 -w -DSAFETY -DNOREDUCE -DNOFAIR -o pan pan.c || exit 1

# explored FAULT: every order of events with this fault (0: none); what the verifier says lies in ./out.
explored() { FAULT=$1 MISFORTUNES=$misfortunes ./pan -m100000 >out 2>&1; }

verdict() # WHETHER, NAME
{
    if [ "$1" = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "not ok $2"
        sed -n '1,12p' out
    fi
}

explored 0
states=$(sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' out)
grep -q 'errors: 0$' out && ! grep -qE 'max search depth too small|Search not completed|out of memory' out
verdict $? "the protocol as it is, $misfortunes crashes"
echo "the protocol as it is, $misfortunes crashes: ${states:-no} states"

while read -r name number; do
    explored "$number"
    broken=$(sed -n 's/^pan:1: \(.*\) (at depth.*/\1/p' out)
    [ -n "$broken" ]
    verdict $? "$name was not found"
    echo "$name: ${broken:-nothing}"
done <<END
$(sed -n '/^\/\* ---- faults/,/^\/\* ---- records/s/^#define \([A-Z_]*\)  *\([0-9]*\) .*/\1 \2/p' "$here/log.pml")
END
[ $((passed + failed)) -ge 14 ] || { echo "not ok: faults of log.pml were not tried"; failed=$((failed + 1)); }
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
