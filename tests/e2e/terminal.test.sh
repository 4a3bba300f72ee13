#!/bin/sh
# Questions on a terminal. `script` lends one.
. "$here/lib.sh"
script -qec true /dev/null >/dev/null 2>err </dev/null || { echo "skipped: no pseudo-terminal can be had here: $(cat err)"; exit 0; }
cat >ask.tfy <<'END'
enum Verdict { keep, drop }

workflow main() -> string {
    let ticker = spawn tick()
    let yes = yield approve("go\u{1b}[2J on?")
    if !yes {
        return "stopped"
    }
    let v: Verdict = yield approve("which one?", "there are two")
    kill(ticker)
    return "${v}"
}

workflow tick() {
    for i in 0..200 {
        yield sleep(50ms)
        log("tick ${i}")
    }
}
END
tfy build ask.tfy -o ask

# type_lines LINE…: what a person types, each line when the program has asked once more; the screen is in ./screen.
type_lines()
{
    asked=0
    for line in "$@"; do
        within 20 sh -c '[ "$(grep -o ") > " screen | wc -l)" -gt '$asked' ]'
        asked=$((asked + 1))
        echo "$line"
    done
}
{
    within 20 grep -q "tick 0" screen # nobody answers faster than that
    type_lines maybe y drop
} | TERM=dumb timeout 60 script -qfec "./ask" /dev/null >screen 2>err
check "the answers were taken" grep -q '"drop"' screen
check "one that fits nothing is asked for again" grep -q "'maybe' is not an answer" screen
check "details and cases are shown" grep -q "there are two" screen
check "the loop went on meanwhile" grep -q "tick 0" screen
check "what could steer the terminal is not sent to it" sh -c "! grep -q \"\$(printf '\\033')\" screen"
check "the log says who answered" [ "$(sqlite3 .tfy/runs.db "select count(*) from wal where payload like '%\"by\":\"$(id -un)\"%'")" = 2 ]
run ./ask replay last
check "it replays: 0 divergences" printed " 0 divergences, 0 effects performed"

# ---- the last line says what a run waits for ----

cat >live.tfy <<'END'
tool slow() -> string idempotent = exec ["sleep", "4"]

workflow side() {
    yield sleep(20s)
}

workflow main() -> string {
    let task = spawn side()
    print("begins")
    for i in 0..4 {
        emit("Files", "${i}/10 of \u{1b}[2J the list")
        yield sleep(400ms)
        log("line ${i}")
    }
    yield slow()
    kill(task)
    return "done"
}
END
tfy build live.tfy -o live
on_terminal() # COLUMNS COMMAND: what a terminal of that width receives, with a name for each code
{
    NO_COLOR=1 timeout 60 script -qfec "stty cols $1 rows 24; $2" /dev/null 2>err </dev/null |
        sed "s/$(printf '\r\033')\\[K/<erase>/g; s/$(printf '\033')\\[K/<end>/g" | tr -d '\r' >"screen.$1"
}
statuses() { sed 's/<erase>/\n/g; s/<end>/\n/g' "screen.$1" | grep -E '^.? ?(\[|sleeps|runs)|^[^ ]* .*(sleeps|runs slow)' >lines; }
export LC_ALL=C.UTF-8
TERM=xterm on_terminal 80 ./live &
TERM=xterm on_terminal 120 ./live &
TERM=dumb on_terminal 81 ./live &
TERM=xterm ./live --db piped.db 2>piped.err >piped.out &
wait
statuses 80
check "it says what the run waits for, and how long" grep -Eq 'sleeps \(line 12\) \+ 1 task, [0-9.]+ s' lines
check "... which tool" grep -Eq 'runs slow \(line 15\) \+ 1 task, [0-9.]+ s' lines
check "a fraction draws a bar" grep -q '\[███░░░░░░░\] 30 %  ' lines
check "the command that shows more comes after 3 s" sh -c 'grep -Eq "3\.[0-9] s  tfy watch shows more" lines && ! grep -Eq " [0-2]\.[0-9] s .*watch" lines'
check "no line is wider than the terminal" python3 -c 'assert max(len(line.rstrip("\n")) for line in open("lines")) < 80'
check "the line is erased before other text" sh -c 'grep -q "<erase>info: line 1$" screen.80 && grep -q "<erase>\"done\"$" screen.80'
check "... and nothing of it is left" sh -c '! sed "s/.*<erase>//" screen.80 | grep -v "<end>" | grep -q "sleeps\|runs"'
statuses 120
check "in a wide terminal it shows what the program says" grep -q '\[██████░░░░░░░░░░░░░░\] 30 %  .*Files: 3/10 of \\u{1b}\[2J the' lines
check "TERM=dumb: no such line" sh -c '! grep -q "sleeps\|<end>" screen.81 && grep -q "info: line 3" screen.81'
check "no terminal: no such line" sh -c '! grep -q "sleeps" piped.err && grep -qx "\"done\"" piped.out'
run tfy replay last
check "it replays: 0 divergences" printed " 0 divergences, 0 effects performed"
