#!/bin/sh
# A fact of the runtime that does not hold ends the process, and says which and where; the run goes on as after a kill.
. "$here/lib.sh"
cat >broken.tfy <<'END'
tool breaks() -> int pure = extern "breaks"

workflow main() -> int {
    print("before")
    yield sleep(1ms)
    let n = yield breaks()
    return n + 1
}
END
cat >broken.c <<'END'
#include "broken.h"

#include <unistd.h>

_Noreturn void tfy__check_failed(const char *fact, const char *file, int line);

bool breaks(TfyTask *task, int64_t *out)
{
    (void)task;
    if (access("mended", F_OK) != 0) tfy__check_failed("apples == 3", "../runtime/core/orchard.c", 7);
    *out = 1;
    return true;
}
END

run tfy run broken.tfy broken.c
check "a failed check ends the process with 70" ended 70 "apples == 3 does not hold (runtime/core/orchard.c:7), run "
named=$(sed -n 's/.*, run \([0-9a-f-]*\);.*/\1/p' err)
check "... in one line that says how to go on" [ "$(grep -c 'tfy resume' err)" = 1 ]
# As after a kill, a line that was under way may be missing on the screen; the log has it.
check "... nothing was printed that is not durable" sh -c '[ ! -s out ] || [ "$(cat out)" = before ]'
run tfy output last
check "... what is durable is in the log" printed_exactly before
run tfy inspect last
check "... it named the run" [ "$named" = "$(sed -n 's/^run *//p' out)" ]
check "... which is not finished" grep -q '^state *stopped' out
touch mended
run tfy resume last broken.c
check "... and resumes when the mistake is mended" ended 0
check "... without a word twice" printed_exactly 2
run tfy replay last broken.c
check "... and replays" printed " 0 divergences"
