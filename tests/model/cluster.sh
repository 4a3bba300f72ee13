#!/bin/sh
# tests/model/cluster.sh [large]: the models of a lease (lease.pml) and of mail (mail.pml). The rules as they are have no counterexample among
# all orders of events; each broken rule has one. "large" tries larger sizes and three workers; the others need minutes, and three workers may need
# more than an hour; 1 GB of memory. Needs spin and a C compiler.
set -u
here=$(cd "$(dirname "$0")" && pwd)

# One trial a line: name, model, what must happen, sizes and macros. "holds": nothing breaks among all orders. "bits": nothing breaks in a
# search that keeps one bit a state, which may miss some. Anything else: a part of the assertion that breaks.
trials()
{
    cat <<END
lease_once            lease holds       -DL=1 -DN=3
lease_repeatable      lease holds       -DL=1 -DN=3 -DIDEMPOTENT
REACH                 lease began       -DL=1 -DN=3 -DIDEMPOTENT -DREACH
NO_FENCE              lease owner==     -DL=1 -DN=3 -DNO_FENCE
ANY_NUMBER            lease owner==     -DL=1 -DN=3 -DANY_NUMBER
RESEND_NEW            lease owner==     -DL=1 -DN=3 -DRESEND_NEW
FROM_ANSWER           lease tool[       -DL=1 -DN=2 -DIDEMPOTENT -DFROM_ANSWER
NO_KILL               lease tool[       -DL=1 -DN=2 -DIDEMPOTENT -DNO_KILL
EARLY_RELEASE         lease tool[       -DL=1 -DN=2 -DIDEMPOTENT -DEARLY_RELEASE
WAIT=L                lease tool[       -DL=1 -DN=2 -DIDEMPOTENT -DWAIT=L
STALE,NO_CONDITION    lease tool[       -DL=1 -DN=2 -DIDEMPOTENT -DSTALE -DNO_CONDITION
TOOLS_ONLY,NO_CHECK   lease tool[       -DL=1 -DN=2 -DIDEMPOTENT -DTOOLS_ONLY -DNO_CHECK
LOSSY_FAILOVER        lease began       -DL=1 -DN=3 -DLOSSY_FAILOVER
mail                  mail  holds       -DMAILS=2
mail_NO_CONDITION     mail  ready       -DMAILS=2 -DNO_CONDITION
mail_NO_WAKE          mail  ready       -DMAILS=2 -DNO_WAKE
mail_SPLIT            mail  recorded    -DMAILS=2 -DSPLIT
END
    [ "$1" = large ] || return 0
    cat <<END
lease_once_4          lease holds       -DL=1 -DN=4
lease_repeatable_4    lease holds       -DL=1 -DN=4 -DIDEMPOTENT
lease_once_long       lease holds       -DL=2 -DN=3
lease_repeatable_long lease holds       -DL=2 -DN=3 -DIDEMPOTENT
lease_three           lease bits        -DL=1 -DN=2 -DW=3
mail_4                mail  holds       -DMAILS=4
END
}

# explore NAME MODEL EXPECTED DEFINES…: one trial, in the current directory: what it says, and "ok" or "not ok", are in ./said.
explore()
{
    name=$1 model=$2 expected=$3
    shift 3
    case $expected in
    holds) how=-O1 table=22 ;;
    bits) how="-O1 -DBITSTATE" table=33 ;;
    *) how="-O0 -DT_REVERSE -DP_REVERSE" table=18 ;; # this order of search happens to find them soonest
    esac
    # The verifier is generated code: its warnings are nobody's.
    { spin "$@" -a "$here/$model.pml" && ${CC:-cc} -w -DSAFETY -DNOFAIR $how -o pan pan.c; } >out 2>&1 &&
        ./pan -m10000 -w$table >out 2>&1
    broken=$(sed -n 's/^pan:1: \(.*\) (at depth.*/\1/p' out)
    case $expected in
    holds | bits) grep -q 'errors: 0$' out && ! grep -qE 'max search depth too small|Search not completed|out of memory' out ;;
    *) case $broken in *"$expected"*) ;; *) false ;; esac ;;
    esac && verdict=ok || verdict="not ok"
    states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' out)
    {
        echo "$verdict $name: ${broken:-nothing breaks}, ${states:-no} states"
        [ "$verdict" = ok ] || sed -n '1,12p' out
    } >said
}

if [ "${1:-}" = --trial ]; then # --trial SIZE NUMBER DIRECTORY: for xargs below
    mkdir "$4/$3" && cd "$4/$3" || exit 1
    explore $(trials "$2" | sed -n "$3p")
    exit 0
fi
size=${1:-small}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
count=$(trials "$size" | wc -l)
at_once=2
[ "$size" != large ] || at_once=1
seq "$count" | xargs -P "$at_once" -I '{}' sh "$here/cluster.sh" --trial "$size" '{}' "$scratch"
for number in $(seq "$count"); do cat "$scratch/$number/said"; done >"$scratch/all"
cat "$scratch/all"
passed=$(grep -c '^ok ' "$scratch/all")
echo "$passed passed, $((count - passed)) failed"
[ "$passed" = "$count" ]
