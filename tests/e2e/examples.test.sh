#!/bin/sh
# Every example prints what its golden file says, and its history replays without a difference and without performing anything.
. "$here/lib.sh"

# The command of an example, run in a copy of its folder: `tfy run NAME.tfy` unless a file `command` says otherwise.
try_example()
{
    name=$1
    mkdir "$name"
    cp -R "$EXAMPLES/$name/." "$name"
    cd "$name" || return
    if [ -f command ]; then run sh ./command; else run tfy run "$name.tfy"; fi
    check "$name ends with 0" ended 0
    check "$name prints its golden output" diff expected out
    check "$name says nothing else" [ ! -s err ]
    files=$(ls ./*.c 2>/dev/null)
    run tfy replay last $files
    check "$name replays: 0 divergences, 0 effects performed" grep -q ' 0 divergences, 0 effects performed' out
    check "$name replays with status 0" ended 0
    cd ..
}

# microvm.test.sh tries the one that needs a virtual machine.
for folder in "$EXAMPLES"/*/; do
    [ ! -f "$folder/expected" ] || [ "$(basename "$folder")" = microvm ] || try_example "$(basename "$folder")"
done

# Those whose work a person would miss are killed at some of their places, too. tests/soak kills every example everywhere.
crash_example()
{
    name=$1
    shift
    cd "$name" || return
    run tfy crashtest "$name.tfy" --at 6 --jobs 2 "$@"
    check "$name is the same after each of some kills" ended 0
    check "... and there were some" grep -qE '^[0-9]+ kills \([0-9]+ commits, [1-9][0-9]* stops\): [1-9]' out
    cd ..
}
crash_example rag --copy . --llm cassette:session.jsonl --question "How long is a backup kept?"
crash_example triage --copy . --llm cassette:session.jsonl --yes
crash_example approval_chain --yes --what "ten chairs" --cents 180000

# The saga against its server, which all trials share: every trial books under the same id. What was refused leaves nothing booked, what
# was paid is booked at all three.
cd saga || exit
rm -rf booked address
tfy run server.tfy --db server.db >address 2>server.log &
server=$!
trap 'kill "$server"' EXIT
within 10 [ -s address ]
cd ..
port=$(sed 's/.*://' saga/address)
booked() { (cd saga && find booked -type f | wc -l); }
crash_example saga --port "$port" --guests 9 --real --loose
check "after a saga that fails nothing is booked, wherever it was killed" [ "$(booked)" = 0 ]
crash_example saga --port "$port" --real --loose
check "after one that succeeds everything is, once" [ "$(booked)" = 3 ]
check "the new examples are short enough to be read at once" \
    sh -c 'for f in "$@"; do [ "$(wc -l <"$f")" -le 100 ] || exit 1; done' sh rag/rag.tfy triage/triage.tfy approval_chain/approval_chain.tfy saga/*.tfy

# Every test in an example passes, and every example is in the form of tfy fmt.
tests_pass()
{
    for file in "$EXAMPLES"/*/*.tfy; do
        ! grep -q '^test "' "$file" || tfy test "$file" || return 1
    done
}
check "the tests of the examples pass" tests_pass
