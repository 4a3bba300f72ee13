#!/bin/sh
# What a run came to, also when nobody was there to read it: tfy result, and resume of a run that has ended.
. "$here/lib.sh"
cat >result.tfy <<'END'
error Negative { n: int }
type Total { words: list<string>, sum: float, least: float }

workflow main(n: int = 3) -> Total {
    if n < 0 {
        fail Negative("below zero", n: n)
    }
    yield sleep(1ms)
    return {sum: 1.5 * 2.0, words: ["a \"b\"", "ü"], least: 0.1}
}

workflow quiet() {
    print("quiet")
}

workflow asks() -> bool {
    let sure = yield approve("sure?")
    return sure
}
END
cat >parts.tfy <<'END'
import "result.tfy" as other

workflow main() -> int {
    let task = spawn other.main(-1)
    let total = yield join(task)
    return total.words.len()
}
END

run tfy run result.tfy
cp out printed_first
check "the result is printed" ended 0
run tfy result last
check "tfy result prints it again" ended 0
check "... byte for byte" cmp out printed_first
check "... and nothing else" [ ! -s err ]
run tfy resume last
check "so does a resume of the run that has ended: 0" ended 0 "has already ended: it completed"
check "... byte for byte" cmp out printed_first
run tfy result 123456
check "a run that is not there: 69" ended 69

# Killed when the end was on the disk and not on the screen.
rm -rf .tfy
tfy run result.tfy --db count.db >check.out
last=$(TFY_TEST_INLINE=1 TFY_TEST_KILL=count:commits tfy run result.tfy --db count.db >check.out; sed -n 's/^after //p' commits)
killed_behind_the_end()
{
    while [ "$last" -gt 0 ]; do
        rm -rf .tfy
        run env TFY_TEST_INLINE=1 TFY_TEST_KILL=after:"$last" tfy run result.tfy
        [ -s out ] || break
        last=$((last - 1))
    done
    [ "$status" = 137 ] && tfy ps | grep -q completed
}
check "a run is killed between the record of its end and the print" killed_behind_the_end
run tfy result last
check "its result is still to be had" cmp out printed_first
run tfy resume last
check "... by a resume, too" cmp out printed_first
run env PATH=/nowhere "$build/tfy" resume last
check "... which needs no compiler" cmp out printed_first

run tfy run result.tfy --n -1
cp err failed
check "a run that failed" ended 1 "Negative: below zero (result.tfy:6)"
run tfy result last
check "tfy result says why, with its status" ended 1
check "... as the run did" cmp err failed
run tfy resume last
check "resume does, too" ended 1 "main failed: Negative: below zero (result.tfy:6)"
run tfy run result.tfy --workflow quiet
run tfy result last
check "nothing is printed of a workflow that returns nothing" [ "$status" = 0 -a ! -s out -a ! -s err ]
cat >null.tfy <<'END'
workflow main() -> int? { return null }
END
run tfy run null.tfy --db null.db
check "null is printed of one that returns null" printed_exactly null
run tfy result last --db null.db
check "... and printed again" printed_exactly null

run tfy run result.tfy --workflow asks
run tfy result last
check "of one that has not ended: 75" ended 75 "has not ended; it is stopped"
check "... what it waits for" grep -q "waits for an answer: sure?" err
check "... and what to type" grep -q "tfy approve [0-9a-f-]* " err
check "... nothing on stdout" [ ! -s out ]
tfy kill last 2>check.out
run tfy resume last
run tfy result last
check "of one that was cancelled: 1" ended 1 "asks was cancelled"

run tfy run parts.tfy
cp err failed
run tfy result last
check "a place in one of several files is named as the run named it" cmp err failed
