# clocks.sh: the wall clock jumps by a year: no pause is longer for it, and none in a running process is shorter. Sourced by run.sh.

year=31536000
"$tfy" build "$here/naps.tfy" -o "$scratch/naps" || exit 1

# clock NAME CLOCK-OF-RUN CLOCK-OF-RESUME: killed in the middle of its naps, when the second clock is not "-".
clock()
{
    begin_trial
    begun=$(date +%s%N)
    if [ "$3" != - ]; then
        TFY_TEST_KILL=point:4 loaded "CLOCK=$2" "$scratch/naps" run --db db
        loaded "CLOCK=$3" "$scratch/naps" resume last --db db
    else
        loaded "CLOCK=$2" "$scratch/naps" run --db db
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
