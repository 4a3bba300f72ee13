#!/bin/sh
# tests/soak/run.sh [PART…]: the long trials. They can be stopped at any time and begun again: every trial that is done stands in
# soak-results.tsv (program@commit, trial, ok or failed, separated by tabs) and is not done twice for one commit; failed ones are.
#
#   crash    SIGKILL at every commit and stop of every example, and at many moments   (SOAK_MOMENTS of each, 500)
#   calls    SIGKILL at every system call of a run, before it begins and when it is done, and of the process that takes a run up
#   asan     the same of the two programs of the tests, with sanitizers and no dense ones
#   fuzz     every fuzz target for SOAK_FUZZ_SLICES (6) times SOAK_FUZZ_SECONDS (300)
#   unit     every unit test SOAK_REPEATS (50) times, with sanitizers; each minute of a summer by which a schedule may start, and each call of libpq
#   tsan     the threads (pool, the log's writer) and a server with its clients, with the thread sanitizer, SOAK_TSAN (5) times
#   programs generated programs against the interpreter, SOAK_PROGRAMS (100000), a trial for each 2,000 seeds
#   sim      the simulated world, SOAK_SEEDS (100000), a trial for each 1,000 seeds; and with three workers, a tenth of these
#   power    power cuts in the simulated world, amid its writes, until there were SOAK_CUTS (20000); a trial for each 500 seeds
#   flips    every byte of a database and of its -wal file changed, one at a time
#   e2e      every end-to-end topic, with the plain build and with sanitizers (`./dev test` runs each with one of them)
#   planted  every bug of tests/planted, which the simulation has to find
#   fault    every allocation, write, sync and open of runs and of commands made to fail, in SOAK_FAULT_PARTS (40)
#   leaks    the same with the sanitizer for leaks: nothing may be lost on the way out
#   compact  every program of the language's tests killed, compacted, resumed and compared, at SOAK_COMPACT ("3 5 … 29") stops; and so carried to another database, and forked,
#            and resumed with a changed program, with its beginning and without
#   serve    SIGKILL of a server at every commit, and at SOAK_MOMENTS (500) times four moments, while clients use it
#   cell     the attacks on cells, and SOAK_CELLS (1000) cells of which a process is killed at random: nothing is left
#   model    every order of events of the log's model with 2 to SOAK_MISFORTUNES (4) crashes
#   cluster  the same of the models of a lease and of mail, in larger sizes; three workers may need more than an hour. And chaos with real
#            workers (tests/cluster/chaos.py), a trial for each seed, until there were SOAK_TAKEOVERS (2000) of runs and SOAK_RESTARTS (200) of servers
# Without a part: all, in this order.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
results=$root/soak-results.tsv
commit=$(cd "$root" && git rev-parse --short HEAD 2>/dev/null || echo unknown)
[ -z "$(cd "$root" && git status --porcelain -uno 2>/dev/null)" ] || commit=$commit+
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
. "$root/tests/crash/lib.sh"
sanitize="-g -O1 -fsanitize=address,undefined,fuzzer-no-link"
label=@$commit
total_passed=0
total_failed=0

# done_before NAME TRIAL, note NAME TRIAL VERDICT: the results file.
done_before() { grep -qsF "$1$label	$2	ok" "$results"; }
note() { printf '%s\t%s\t%s\n' "$1$label" "$2" "$3" >>"$results"; }

# once_for NAME TRIAL COMMAND…: a trial that is a command of its own.
once_for()
{
    name=$1
    trial=$2
    shift 2
    if done_before "$name" "$trial"; then return 0; fi
    echo "== $name $trial"
    if "$@" >"$scratch/trial.log" 2>&1 </dev/null; then
        note "$name" "$trial" ok
        passed=$((passed + 1))
    else
        cat "$scratch/trial.log"
        note "$name" "$trial" failed
        failed=$((failed + 1))
    fi
}

asan_build()
{
    [ -f "$root/build-soak/build.ninja" ] ||
        CC=clang meson setup "$root/build-soak" "$root" -Doptimization=1 -Db_sanitize=address,undefined -Db_lundef=false -Dpoison=true \
            -Dfuzz=true >"$scratch/setup.log" 2>&1 || { cat "$scratch/setup.log"; exit 1; }
    ninja -j 2 -C "$root/build-soak" --quiet || exit 1
    export ASAN_OPTIONS=detect_stack_use_after_return=1:abort_on_error=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
}

soak_crash()
{
    crash_build "$root/build"
    kinds="--kinds commit,point,double"
    crash_ledger --results "$results" --dense $kinds,drain,mouth,elsewhere --random "${SOAK_MOMENTS:-500}"
    crash_team --results "$results" --dense $kinds,drain,mouth,elsewhere --random "${SOAK_MOMENTS:-500}"
    crash_desk --results "$results" --dense $kinds,drain,mouth,elsewhere --random "${SOAK_MOMENTS:-500}"
    crash_reader --results "$results" $kinds
    crash_orphans --results "$results" $kinds,family
    for folder in "$root"/examples/*/; do
        example=$(basename "$folder")
        # Descriptors do not outlive their process: what these say depends on the kill. The saga needs a server (tests/e2e/examples.test.sh),
        # microvm a virtual machine.
        case $example in code_agent | coder | support | *_server | stdin_loop | saga | microvm) continue ;; esac
        [ -f "$folder/expected" ] && crash_example "$example" --results "$results" $kinds --random "${SOAK_MOMENTS:-500}"
    done
    crash_code_agent --results "$results" $kinds,drain,mouth,elsewhere --random "${SOAK_MOMENTS:-500}"
    crash_support --results "$results" --dense $kinds --random "${SOAK_MOMENTS:-500}"
    crash_land --results "$results" --dense $kinds,call,resume --random "${SOAK_MOMENTS:-500}"
    crash_coder --results "$results" --dense $kinds --random "${SOAK_MOMENTS:-500}"
    label=@$commit-snapshots # each is taken up from a snapshot
    export TFY_SNAPSHOT_EVERY=1
    for program in team desk coder reader; do "crash_$program" --results "$results" --kinds commit,point; done
    unset TFY_SNAPSHOT_EVERY
    label=@$commit
}

soak_serve()
{
    once_for serve commits python3 "$root/tests/crash/serve.py" "$root/build"
    once_for serve moments python3 "$root/tests/crash/serve.py" "$root/build" --every 1000 --moments "${SOAK_MOMENTS:-500}"
}

soak_e2e()
{
    ninja -j 2 -C "$root/build" --quiet || exit 1
    once_for e2e plain sh "$root/tests/e2e/run.sh" "$root/build"
    asan_build
    export CC=clang CFLAGS="$sanitize"
    once_for e2e sanitizers env E2E_SKIP="process_limits serve_bounds small gdb microvm" sh "$root/tests/e2e/run.sh" "$root/build-soak"
}

soak_calls()
{
    crash_build "$root/build"
    crash_ledger --results "$results" --dense --kinds call,resume
    crash_support --results "$results" --dense --kinds call,resume
    crash_coder --results "$results" --dense --kinds call,resume
    for program in team desk code_agent; do "crash_$program" --results "$results" --kinds call,resume; done
}

soak_asan()
{
    asan_build
    export CC=clang CFLAGS="$sanitize"
    label=@$commit-asan
    crash_build "$root/build-soak"
    crash_ledger --results "$results" --random 100
    crash_team --results "$results" --random 100
    crash_code_agent --results "$results" --random 100
    label=@$commit
}

soak_fuzz()
{
    asan_build
    slice=1
    while [ "$slice" -le "${SOAK_FUZZ_SLICES:-6}" ]; do
        once_for fuzz "slice $slice" sh "$root/tests/fuzz/run.sh" "$root/build-soak" "${SOAK_FUZZ_SECONDS:-300}"
        slice=$((slice + 1))
    done
}

soak_unit()
{
    asan_build
    once_for unit "every call of libpq" env PQ_EVERY=1 "$root/build-soak/tests/unit_wal_postgres_faults"
    once_for unit "every minute of a schedule" env CRON_EVERY_MINUTE=1 "$root/build-soak/tests/unit_serve_cron"
    round=1
    while [ "$round" -le "${SOAK_REPEATS:-50}" ]; do
        once_for unit "round $round" sh "$root/tests/unit/run.sh" "$root/build-soak"
        round=$((round + 1))
    done
}

soak_tsan()
{
    tsan=$root/build-tsan
    [ -f "$tsan/build.ninja" ] ||
        CC=clang meson setup "$tsan" "$root" -Doptimization=1 -Db_sanitize=thread -Db_lundef=false >"$scratch/setup.log" 2>&1 ||
        { cat "$scratch/setup.log"; exit 1; }
    units="effects_pool wal_log core_sched core_signal hub_cluster"
    ninja -j 2 -C "$tsan" --quiet tfy tfyc tests/net_client $(printf 'tests/unit_%s ' $units) || exit 1
    # Without the last option every process waits a second before it ends, and some of these tests are hundreds of processes.
    export CC=clang CFLAGS="-g -O1 -fsanitize=thread" TSAN_OPTIONS=halt_on_error=1:exitcode=66:atexit_sleep_ms=0
    round=1
    while [ "$round" -le "${SOAK_TSAN:-5}" ]; do
        for unit in $units; do once_for "$unit tsan" "round $round" setarch -R "$tsan/tests/unit_$unit"; done
        once_for "sockets tsan" "round $round" setarch -R sh "$root/tests/e2e/run.sh" "$tsan" sockets
        round=$((round + 1))
    done
    unset CC CFLAGS TSAN_OPTIONS
}

soak_programs()
{
    asan_build
    export CC=clang CFLAGS="$sanitize"
    seed=1001
    while [ "$seed" -le $((1000 + ${SOAK_PROGRAMS:-100000})) ]; do
        once_for programs "seeds $seed..$((seed + 1999))" sh "$root/tests/diff/run.sh" "$root/build-soak" --tools "$root/build" --seeds "$seed..$((seed + 1999))"
        seed=$((seed + 2000))
    done
}

soak_sim()
{
    seed=1
    while [ "$seed" -le "${SOAK_SEEDS:-100000}" ]; do
        once_for sim "seeds $seed..$((seed + 999))" sh "$root/tests/sim/run.sh" "$root/build" --keep "$scratch/sim" \
            --seeds "$seed..$((seed + 999))"
        seed=$((seed + 1000))
    done
    seed=1
    while [ "$seed" -le $((${SOAK_SEEDS:-100000} / 10)) ]; do
        once_for sim "three workers, seeds $seed..$((seed + 999))" sh "$root/tests/sim/run.sh" "$root/build" --keep "$scratch/workers" \
            --workers 3 --seeds "$seed..$((seed + 999))"
        seed=$((seed + 1000))
    done
}

# Each trial's number of cuts stands behind its seeds in the results.
soak_power()
{
    seed=1
    cuts=0
    while [ "$cuts" -lt "${SOAK_CUTS:-20000}" ]; do
        name="seeds $seed..$((seed + 499))"
        if ! grep -qsF "power$label	$name " "$results"; then
            sh "$root/tests/sim/run.sh" "$root/build" --keep "$scratch/sim" --cuts --seeds "$seed..$((seed + 499))" >"$scratch/trial.log" 2>&1
            status=$?
            here=$(sed -n 's/^\([0-9]*\) power cuts$/\1/p' "$scratch/trial.log")
            if [ "$status" != 0 ] || [ "${here:-0}" = 0 ]; then
                cat "$scratch/trial.log"
                note power "$name" failed
                failed=$((failed + 1))
                return
            fi
            note power "$name $here cuts" ok
            passed=$((passed + 1))
        fi
        cuts=$((cuts + $(sed -n "s/^power$label	$name \([0-9]*\) cuts	ok$/\1/p" "$results" | tail -n 1)))
        seed=$((seed + 500))
    done
    echo "$cuts power cuts"
}

soak_flips()
{
    once_for flips "every byte" env FLIP_EVERY=1 "$root/build/tests/unit_wal_flips"
}

soak_planted()
{
    once_for planted all sh "$root/tests/planted/run.sh"
}

soak_fault()
{
    part=1
    while [ "$part" -le "${SOAK_FAULT_PARTS:-40}" ]; do
        once_for fault "part $part of ${SOAK_FAULT_PARTS:-40}" sh "$root/tests/fault/run.sh" "$root/build" "$part/${SOAK_FAULT_PARTS:-40}"
        part=$((part + 1))
    done
}

# Of the sanitizers only the one that finds leaks: a process starts in a third of the time.
soak_leaks()
{
    [ -f "$root/build-leaks/build.ninja" ] ||
        CC=clang meson setup "$root/build-leaks" "$root" -Doptimization=1 -Db_sanitize=leak -Db_lundef=false >"$scratch/setup.log" 2>&1 ||
        { cat "$scratch/setup.log"; exit 1; }
    ninja -j 2 -C "$root/build-leaks" --quiet tfy tfyc || exit 1
    part=1
    while [ "$part" -le "${SOAK_FAULT_PARTS:-40}" ]; do
        once_for leaks "part $part of ${SOAK_FAULT_PARTS:-40}" env CC=clang CFLAGS="-g -O1 -fsanitize=leak" LSAN_OPTIONS=exitcode=99 sh "$root/tests/fault/run.sh" \
            "$root/build-leaks" "$part/${SOAK_FAULT_PARTS:-40}"
        part=$((part + 1))
    done
}

soak_compact()
{
    for stop in ${SOAK_COMPACT:-3 5 7 11 13 17 19 23 29}; do
        for how in 1 carry fork; do
            once_for compact "stop $stop, $how" env COMPACT=$how TFY_SNAPSHOT_EVERY=1 KILL_AT=point:$stop sh "$root/tests/golden/lang.sh" "$root/build"
        done
        for compact in '' 1; do
            once_for compact "stop $stop, another program${compact:+ for what is left}" env MOVE=1 COMPACT=$compact TFY_SNAPSHOT_EVERY=1 KILL_AT=point:$stop \
                sh "$root/tests/golden/lang.sh" "$root/build"
        done
    done
}

soak_cell()
{
    once_for cell "${SOAK_CELLS:-1000} killed" env CELL_KILLS="${SOAK_CELLS:-1000}" sh "$root/tests/cell/run.sh" "$root/build"
}

soak_model()
{
    crashes=2
    while [ "$crashes" -le "${SOAK_MISFORTUNES:-4}" ]; do
        once_for model "$crashes crashes" sh "$root/tests/model/run.sh" "$crashes"
        crashes=$((crashes + 1))
    done
}

soak_cluster()
{
    soak_chaos
    once_for cluster "large models" sh "$root/tests/model/cluster.sh" large
}

# chaos_count WORD NAME: that figure of a trial in the results.
chaos_count() { sed -n "s/^chaos$label	$2 .*[ ,]\([0-9][0-9]*\) $1.*	ok$/\1/p" "$results" | tail -n 1; }

# What was disturbed stands behind a trial's seed in the results. Failovers are restarts, too.
soak_chaos()
{
    seed=1
    takeovers=0
    restarts=0
    while [ "$takeovers" -lt "${SOAK_TAKEOVERS:-2000}" ] || [ "$restarts" -lt "${SOAK_RESTARTS:-200}" ]; do
        if ! grep -qs "^chaos$label	seed $seed .*	ok$" "$results"; then
            echo "== chaos seed $seed"
            python3 "$root/tests/cluster/chaos.py" "$root/build" --seed "$seed" --seconds "${SOAK_CHAOS_SECONDS:-240}" >"$scratch/trial.log" 2>&1
            status=$?
            figures=$(sed -n 's/^\([0-9]* runs, .*\)$/\1/p' "$scratch/trial.log")
            if [ -z "$figures" ] && grep '^skipped: PostgreSQL' "$scratch/trial.log"; then return; fi
            if [ "$status" != 0 ] || [ -z "$figures" ]; then
                cat "$scratch/trial.log"
                note chaos "seed $seed ${figures:-without figures}" failed
                failed=$((failed + 1))
                return
            fi
            note chaos "seed $seed $figures" ok
            passed=$((passed + 1))
        fi
        takeovers=$((takeovers + $(chaos_count takeovers "seed $seed")))
        restarts=$((restarts + $(chaos_count restarts "seed $seed") + $(chaos_count failovers "seed $seed")))
        seed=$((seed + 1))
    done
    echo "$takeovers takeovers, $restarts restarts"
}

[ $# != 0 ] || set -- crash calls asan fuzz unit tsan programs sim power flips planted fault leaks compact serve cell model cluster
for part in "$@"; do
    passed=0
    failed=0
    case $part in
    crash | calls | asan | fuzz | unit | tsan | programs | sim | power | flips | e2e | planted | fault | leaks | compact | serve | cell | model | cluster) (soak_$part; echo "$passed $failed" >"$scratch/totals") ;;
    *) echo "tests/soak/run.sh: there is no part '$part'; there are crash, calls, asan, fuzz, unit, tsan, programs, sim, power, flips, e2e, planted, fault, leaks, compact, serve, cell, model and cluster" >&2; exit 64 ;;
    esac
    read -r passed failed <"$scratch/totals" || exit 1
    rm -f "$scratch/totals"
    echo "== $part: $passed passed, $failed failed"
    total_passed=$((total_passed + passed))
    total_failed=$((total_failed + failed))
done
echo "$total_passed passed, $total_failed failed"
[ "$total_failed" = 0 ]
