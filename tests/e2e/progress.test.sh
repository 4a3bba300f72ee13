#!/bin/sh
# progress: an event that says how far a task is, recorded as the program's own are.
. "$here/lib.sh"
cat >moves.tfy <<'END'
workflow main() -> int {
    progress(0, 2, "reading")
    let _go: string = yield signal("go")
    progress(1, 2)
    progress(-1, 0, "at a loss")
    return 2
}
END
run tfy run moves.tfy --events
check "a run waits" ended 75
check "... and has told how far it is" grep -q '"stage":"Progress","message":"0/2 reading"' err
tfy signal last go '""' 2>/dev/null
run tfy resume last
check "it goes on" ended 0
run tfy output last --json
check "what was told, in order, each once" sh -c 'sed "s/.*\"to\"/\"to\"/" out | tr "\n" " " | grep -qxF "$1"' sh \
    '"to":"pal","stage":"Progress","text":"0/2 reading","done":0,"total":2} "to":"pal","stage":"Progress","text":"1/2","done":1,"total":2} "to":"pal","stage":"Progress","text":"-1 at a loss","done":-1,"total":0} '
run tfy output last
check "none of it is what the run prints" [ ! -s out ]
run tfy history last
check "the history has it" printed "Progress: 0/2 reading"
run tfy replay last
check "replay: 0 divergences" printed " 0 divergences, 0 effects performed"
sed -i 's/progress(1, 2)/progress(2, 2)/' moves.tfy
run tfy replay last --program moves.tfy
check "another number is a divergence" printed "it says {\"to\":\"pal\",\"text\":\"2/2\""
if script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    sed -i 's/progress(0, 2, "reading")/progress(3, 4, "of \\u{1b}[2J it")/' moves.tfy
    TERM=xterm NO_COLOR=1 timeout 20 script -qec "stty cols 100 rows 20; tfy run moves.tfy --wait" /dev/null >screen </dev/null &
    shown=$!
    within 15 grep -q "75 %" screen
    check "a bar is drawn of it" grep -q "\[.*\] 75 %" screen
    tfy signal last go '""' 2>/dev/null
    wait "$shown"
fi
