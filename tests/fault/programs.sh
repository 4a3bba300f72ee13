# programs.sh: runs under faults. Sourced by run.sh.

# A step that found no descriptor has waited for one, so it never counts as failed.
waited() { [ "${fault%%:*}" = files ]; }

# A tool that could not be started, a file that could not be written, has failed: the run has ended, as its program wanted. (For want of memory
# none has.)
failed_for_good() { "$tfy" inspect last --db db 2>/dev/null | grep "ToolError: cannot [a-z]* '" | grep -qv "allocate memory"; }

# Options that a resume needs, too.
again=

# Without faults, until the end. A step in doubt has a probe; where there is nothing yet, the run begins anew.
finished()
{
    tries=0
    while [ "$status" != 0 ] && [ "$tries" -lt 3 ]; do
        tries=$((tries + 1))
        status=0
        "$program" resume last --db db $again >>out 2>err.resume </dev/null || status=$?
        case $status in
        65 | 69)
            status=0
            "$program" run --db db $arguments >>out 2>err.resume </dev/null || status=$?
            ;;
        esac
    done
    [ "$status" = 0 ]
}

# begun KILL: the process of before, which was killed there.
begun() { TFY_TEST_KILL=$1 TFY_TEST_INLINE=1 "$program" run --db db $arguments >>out 2>err </dev/null; }

# run_trial FAULT NAME KILL: run, or kill and resume, under the fault; then finish and compare.
run_trial()
{
    why=
    begin_trial
    if [ -n "$3" ]; then
        begun "$3"
        under "$1" "$program" resume last --db db $again
    else
        under "$1" "$program" run --db db $arguments
    fi
    told
    over=
    if [ -z "$sanitized" ]; then come_to_its_end; fi
    cd .. || exit 1
    judged "$2${3:+ after $3}"
}

# What the run comes to afterwards. (With a sanitizer the question is what the faulty process lost; the rest has been asked without one.)
come_to_its_end()
{
    finished || { ! waited && failed_for_good && over=yes; } || bad "it cannot be finished: $(cat err.resume)"
    "$tfy" output last --db db >output 2>/dev/null
    if [ -z "$why$over" ]; then
        cmp -s output ../expected || bad "it printed something else: $(cat output)"
        eval "$effects" >effects 2>/dev/null
        cmp -s effects ../effects || bad "it did something else: $(cat effects)"
    fi
    # Every line that was said is in the log; the result stands there as JSON.
    while read -r line; do
        grep -qxF -- "$line" output ../result || bad "it said what is not in the log: $line"
    done <out
}

# run_trials NAME KILL SAMPLES: all kinds of faults, in the run or, killed there, in what takes it up.
run_trials()
{
    begin_trial
    if [ -n "$2" ]; then
        begun "$2"
        under "count:$scratch/counts" "$program" resume last --db db $again
    else
        under "count:$scratch/counts" "$program" run --db db $arguments
    fi
    cd .. || exit 1
    faults counts "$3" run_trial "$1" "$2"
}

# program EFFECTS ARGUMENTS FILES…: compiles it, and runs it undisturbed.
program()
{
    effects=$1
    arguments=$2
    shift 2
    program=$scratch/program
    "$tfy" build "$@" -o "$program" || { echo "not ok $1 does not compile"; failed=$((failed + 1)); }
    begin_trial
    "$program" run --db db $arguments >out 2>err </dev/null
    "$tfy" output last --db db >../expected
    tail -n 1 out >../result
    eval "$effects" >../effects
    cd .. || exit 1
}

program "cut -d ' ' -f 2- ledger.txt | sort" "--to ann --cents 250" "$root/examples/ledger/ledger.tfy" "$root/examples/ledger/ledger.c"
run_trials "ledger" "" "malloc=4 write=2 pwrite=2 sync=4 open=2"
run_trials "ledger, resumed," after:2 "malloc=3 write=1 pwrite=2 sync=2 open=1"
program true "" "$root/examples/producer_consumer/producer_consumer.tfy"
run_trials "producers" "" "malloc=4 write=2 pwrite=2 sync=4 open=2"
run_trials "producers, resumed," after:2 "malloc=3 write=1 pwrite=2 sync=2 open=1"
export TFY_SECRET_REACHES_WORD=quiet-please
program "cat notes/*.txt" "" "$here/reaches.tfy"
run_trials "reaches" "" "malloc=4 write=2 pwrite=2 sync=2 open=2 files=12"
run_trials "reaches, resumed," after:3 "malloc=3 write=1 pwrite=1 sync=1 open=1"
program true "" "$here/rests.tfy"
export TFY_SNAPSHOT_EVERY=1
run_trials "rests, from a snapshot," after:6 "malloc=3 write=0 pwrite=1 sync=1 open=0"
export TFY_PARK_AFTER=0
run_trials "rests, parked and back," "" "malloc=3 write=0 pwrite=1 sync=1 open=0"
unset TFY_SNAPSHOT_EVERY TFY_PARK_AFTER
again=--llm=cassette:$here/asks.jsonl
program true "$again" "$here/asks.tfy"
run_trials "asks" "" "malloc=6 write=1 pwrite=1 sync=1 open=1"
run_trials "asks, resumed," after:4 "malloc=6 write=0 pwrite=1 sync=1 open=0"
again=
