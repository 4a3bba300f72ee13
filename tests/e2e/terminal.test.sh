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
} | timeout 60 script -qfec "./ask" /dev/null >screen 2>err
check "the answers were taken" grep -q '"drop"' screen
check "one that fits nothing is asked for again" grep -q "'maybe' is not an answer" screen
check "details and cases are shown" grep -q "there are two" screen
check "the loop went on meanwhile" grep -q "tick 0" screen
check "what could steer the terminal is not sent to it" sh -c "! grep -q \"\$(printf '\\033')\" screen"
check "the log says where the answers came from" [ "$(sqlite3 .tfy/runs.db "select count(*) from wal where payload like '%\"by\":\"terminal\"%'")" = 2 ]
run ./ask replay last
check "it replays: 0 divergences" printed " 0 divergences, 0 effects performed"
