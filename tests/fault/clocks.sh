# clocks.sh: the wall clock jumps by a year: no pause is longer for it, and none in a running process is shorter. Sourced by run.sh.

year=31536000
"$tfy" build "$here/naps.tfy" -o "$scratch/naps" || exit 1

# clock NAME CLOCK-OF-RUN CLOCK-OF-RESUME: killed in the middle of its naps ($middle), when the second clock is not "-".
middle=point:4
clock()
{
    begin_trial
    begun=$(date +%s%N)
    if [ "$3" != - ]; then
        TFY_TEST_KILL=$middle TFY_TEST_INLINE=1 loaded "CLOCK=$2" "$scratch/naps" run --db db
        loaded "CLOCK=$3" "$scratch/naps" resume --all --db db
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

# The same while the run is out of memory, where a clock that is set forward is time that went by (unit_core_clock).
export TFY_PARK_AFTER=0
middle=after:2
clock "the clock leaps back while a run is parked" "-$year:150" -
clock "a restart a year later, with a parked run" 0 "$year"
clock "a restart a year earlier, with a parked run" "$year" 0
unset TFY_PARK_AFTER
