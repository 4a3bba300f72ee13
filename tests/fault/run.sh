#!/bin/sh
# tests/fault/run.sh BUILD [I/N]: every allocation, write, sync and open of a run, and of a run that is taken up again, made to fail, once and
# for ever. The process has to end with a status and a sentence, never by a signal; and then the run goes on, without faults, to the end that it
# would have come to: the same result, everything once that is `once`, and nothing lost that was said. A sample; I/N: of all of them each N-th.
set -u
build=$(cd "${1:?usage: run.sh BUILD [I/N]}" && pwd)
dense=${2:-}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
export XDG_CACHE_HOME="$scratch/cache" NO_COLOR=1
unset TFY_DB TFY_LLM_URL
cd "$scratch" || exit 1
passed=0
failed=0
inject=$scratch/inject.so
${CC:-cc} -O1 -fPIC -shared -o "$inject" "$here/inject.c" -lpthread || exit 1

# under FAULT COMMAND…: with the fault; its status is $status.
under()
{
    fault=$1
    shift
    status=0
    timeout 20 env FAULT="$fault" LD_PRELOAD="$inject" "$@" >>out 2>err </dev/null || status=$?
}

bad() # WHAT
{
    [ -n "$why" ] || why=$1
}

# A process that failed says so, and in the documented way.
told()
{
    case $status in
    0 | 1 | 65 | 69 | 70 | 74 | 75) ;;
    *) bad "it ended with $status" ;;
    esac
    [ "$status" = 0 ] || [ -s err ] || [ "${fault%%:*}" = write ] || bad "it ended with $status and said nothing"
    # A sync that failed while the log was written: how far it is safe. While a new one was made, there was nothing yet.
    case $fault in sync:*) [ "$status" != 74 ] || grep -qE 'the last record (that is safe|on disk) is|cannot be' err || bad "it does not say what is safe" ;; esac
}

# A tool that could not be started has failed: the run has ended, as its program wanted.
failed_for_good() { [ "$status" = 1 ] && grep -q "failed: ToolError: cannot run" err; }

# Without faults, until the end. A step in doubt has a probe; where there is nothing yet, the run begins anew.
finished()
{
    tries=0
    while [ "$tries" -lt 3 ]; do
        tries=$((tries + 1))
        left=$("$build/tfy" ps --db db 2>/dev/null | grep -c .)
        if [ "$left" -gt 0 ]; then "$program" resume last --db db >>out 2>err.resume </dev/null; else "$program" run --db db $arguments >>out 2>err.resume </dev/null; fi
        status=$?
        if [ "$status" = 0 ]; then return 0; fi
    done
    return 1
}

# trial NAME FAULT [KILL]: run, or kill and resume, under the fault; then finish and compare.
trial()
{
    why=
    rm -rf trial && mkdir trial && cd trial || exit 1
    if [ -n "${3:-}" ]; then
        TFY_TEST_KILL=$3 TFY_TEST_INLINE=1 "$program" run --db db $arguments >>out 2>err </dev/null
        under "$2" "$program" resume last --db db
    else
        under "$2" "$program" run --db db $arguments
    fi
    told
    over=
    if failed_for_good; then over=yes; else finished || bad "it cannot be finished: $(cat err.resume)"; fi
    "$build/tfy" output last --db db >output 2>/dev/null
    if [ -z "$why$over" ]; then
        cmp -s output ../expected || bad "it printed something else: $(cat output)"
        eval "$effects" >effects 2>/dev/null
        cmp -s effects ../effects || bad "it did something else: $(cat effects)"
    fi
    # Every line that was said is in the log; the result stands there as JSON.
    while read -r line; do
        grep -qxF -- "$line" output ../result || bad "it said what is not in the log: $line"
    done <out
    cd .. || exit 1
    if [ -z "$why" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "not ok $1 $2${3:+ after $3}: $why"
        sed 's/^/    /' trial/err | head -n 5
    fi
}

# places KIND TOTAL SAMPLE: numbers from 1 to TOTAL, all of them or about as many as SAMPLE, closer at the beginning of each stretch.
places()
{
    awk -v total="$2" -v sample="$3" -v dense="$dense" 'BEGIN {
        split(dense, part, "/")
        step = dense != "" ? part[2] : total <= sample ? 1 : total / sample
        for (at = dense != "" ? part[1] : 1; at <= total; at += step) print int(at)
    }'
}

# faults NAME COUNTS SAMPLES KILL: all kinds, once and for ever in turn.
faults()
{
    while read -r kind total; do
        sample=$(echo "$3" | tr ' ' '\n' | sed -n "s/^$kind=//p")
        turn=0
        for number in $(places "$kind" "$total" "${sample:-3}"); do
            turn=$((turn + 1))
            if [ -n "$dense" ] || [ $((turn % 2)) = 1 ]; then trial "$1" "$kind:$number" $4; fi
            if [ -n "$dense" ] || [ $((turn % 2)) = 0 ]; then trial "$1" "$kind:$number:ever" $4; fi
        done
    done <"$2"
}

# program NAME EFFECTS ARGUMENTS FILES…: an example, with and without a kill before.
program()
{
    name=$1
    effects=$2
    arguments=$3
    shift 3
    program=$scratch/$name
    "$build/tfy" build "$@" -o "$program" || { failed=$((failed + 1)); return; }
    rm -rf trial && mkdir trial && cd trial || exit 1
    under "count:$scratch/counts" "$program" run --db db $arguments
    "$build/tfy" output last --db db >../expected
    tail -n 1 out >../result
    eval "$effects" >../effects
    cd .. && rm -rf trial && mkdir trial && cd trial || exit 1
    TFY_TEST_KILL=after:2 TFY_TEST_INLINE=1 "$program" run --db db $arguments >/dev/null 2>&1 </dev/null
    under "count:$scratch/counts.resume" "$program" resume last --db db
    cd .. || exit 1
    faults "$name" counts "malloc=4 write=2 pwrite=2 sync=4 open=2" ""
    faults "$name, resumed," counts.resume "malloc=3 write=1 pwrite=2 sync=2 open=1" after:2
}

# ---- the wall clock jumps by a year: no pause is longer for it, and none in a running process is shorter ----

year=31536000
"$build/tfy" build "$here/naps.tfy" -o "$scratch/naps" || exit 1

# clock NAME CLOCK-OF-RUN CLOCK-OF-RESUME: killed in the middle of its naps, when the second clock is not "-".
clock()
{
    rm -rf trial && mkdir trial && cd trial || exit 1
    status=0
    begun=$(date +%s%N)
    if [ "$3" != - ]; then
        timeout 20 env TFY_TEST_KILL=point:4 CLOCK="$2" LD_PRELOAD="$inject" "$scratch/naps" run --db db >out 2>err </dev/null
        timeout 20 env CLOCK="$3" LD_PRELOAD="$inject" "$scratch/naps" resume last --db db >>out 2>err </dev/null || status=$?
    else
        timeout 20 env CLOCK="$2" LD_PRELOAD="$inject" "$scratch/naps" run --db db >out 2>err </dev/null || status=$?
    fi
    took=$((($(date +%s%N) - begun) / 1000000))
    good=yes
    [ "$status" = 0 ] && [ "$(sort out | tr '\n' ' ')" = "long short " ] || good=
    [ "$3" != - ] || [ "$took" -ge 600 ] || good=
    cd .. || exit 1
    if [ -n "$good" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "not ok $1: status $status after $took ms: $(tr '\n' ' ' <trial/out) $(cat trial/err)"
    fi
}

clock "the clock leaps forward" "$year:150" -
clock "the clock leaps back" "-$year:150" -
clock "a restart a year later" 0 "$year"
clock "a restart a year earlier" "$year" 0

program ledger "cut -d ' ' -f 2- ledger.txt | sort" "--to ann --cents 250" "$root/examples/ledger/ledger.tfy" "$root/examples/ledger/ledger.c"
program producer_consumer true "" "$root/examples/producer_consumer/producer_consumer.tfy"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
