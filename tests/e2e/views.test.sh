#!/bin/sh
# Commands that show runs afterwards: what they started with and came to, which of them, in how wide a terminal, to a reader that leaves.
. "$here/lib.sh"
cat >views.tfy <<'END'
error Refused

tool nap(ms: int) -> ExecResult idempotent = exec ["sleep", "0.${ms}"]

workflow child() -> int {
    yield nap(3)
    return 1
}

workflow main(name: string = "a b", n: int = 3) -> string {
    let task = spawn child()
    yield join(task)
    return "${name} ${n}"
}

workflow broken(why: string, share: float = 0.99) {
    yield
    fail Refused("${why}${if share > 1.0 { "!" } else { "" }}")
}

workflow lines(n: int) {
    for i in 0..n { print("line ${i}, which is long enough to fill a pipe with few of its kind") }
}

workflow waits() -> string {
    let go: string = yield signal("go")
    return go
}
END
tfy build views.tfy -o views
sql() { sqlite3 :memory: "select json_extract(readfile('out'), '$1')"; }

# ---- arguments and result of a run that has ended ----

run ./views --n 4
run tfy inspect last
check "inspect shows the arguments, defaults too" printed 'arguments  {"name":"a b","n":4}'
check "... and the result" printed 'result     "a b 4"'
run tfy inspect last --json
check "... as JSON" [ "$(sql '$.args.n')|$(sql '$.result')" = "4|a b 4" ]
run tfy ps --json
check "ps --json has file, arguments and result" [ "$(sql '$[0].file')|$(sql '$[0].args.name')|$(sql '$[0].result')" = "views.tfy|a b|a b 4" ]
run ./views --workflow broken --why "no good"
run tfy inspect last --json
check "why a run failed" [ "$(sql '$.error.error')|$(sql '$.error.message')|$(sql '$.args.why')" = "Refused|no good|no good" ]
check "a float is shown as it was written" sh -c 'grep -qx "    \"share\": 0.99," out || grep -qx "    \"share\": 0.99" out'
run tfy ps --json
check "... in ps --json" [ "$(sql '$[0].error.message')" = "no good" ]
long=$(printf '%02000d' 7)
run ./views --name "$long"
run tfy inspect last
check "a long argument is cut, and says so" sh -c 'grep "^arguments  .* … (--json shows all)$" out && ! grep -q "'"$long"'" out'
run tfy inspect last --json
check "... not in JSON" printed "$long"
run ./views --workflow waits
run tfy inspect last
check "a run that has not ended has no result" sh -c '! grep -q "^result" out && ! grep -q "^arguments" out'

# ---- which runs ----

run tfy ps
check "ps shows file, workflow and arguments, newest first" [ "$(sed 1d out | sed 's/^.*views.tfy/views.tfy/; s/ 00.*…$/ 0/' | tr '\n' '|')" = \
    'views.tfy waits|views.tfy main --name 0|views.tfy broken --why "no good" --share 0.99|views.tfy main --name "a b" --n 4|' ]
run tfy ps --state completed --limit 1
check "--state and --limit" [ "$(sed 1d out | wc -l)" = 1 -a "$(grep -c 'completed .* main --name 00' out)" = 1 ]
run tfy ps --state unfinished --json
check "--state unfinished" [ "$(sql '$[0].state')|$(sql '$[1]')" = "stopped|" ]
run tfy ps --workflow broken
check "--workflow" sh -c '[ "$(wc -l <out)" = 2 ] && grep -q "failed .*broken" out'
run tfy ps --state cancelled
check "none of that kind: an empty list, and why" sh -c '[ ! -s out ] && grep -q "no run of .* is of that kind" err'
run tfy ps --state cancelled --json
check "... as JSON" printed_exactly "[]"
run tfy ps --state complete
check "a state that is none: 64" ended 64 "--state takes one of queued|running|waiting|stopped"
run tfy ps --limit none
check "a number that is none: 64" ended 64 "--limit takes a number from 1 on, not 'none'"

# ---- the records of a run ----

cat >many.tfy <<'END'
tool pay(n: int) -> string once = exec ["printf", "paid %s", "${n}"]
tool bad() -> string idempotent = exec ["false"]

workflow child(n: int) -> int {
    emit("Progress", "half way")
    yield sleep(2ms)
    return n
}

workflow main(name: string = "Ada") -> string {
    let task = spawn child(2)
    let said = yield pay(3)
    log("a remark\u{1b}[31m", level: "warn")
    print(said)
    try { yield bad() retry 1 backoff 5ms } catch _ { print("caught") }
    yield join(task)
    yield approve("go on?")
    return said
}
END
run tfy run many.tfy --yes --db many.db
lines() { sed -E '1d; s/[0-9]{4}-[0-9-]+ [0-9:.]+/T/g' out; }
run tfy history last --db many.db
check "a line for each record" sh -c '[ "$(sed 1d out | wc -l)" = "$(sqlite3 many.db "select count(*) from history where run is not null")" ]'
lines >all
for line in ' 1  T  1            InstructionStart  main(name: "Ada")' '1.1 child(n: 2)' 'Progress: half way' 'sleep until T' 'pay(n: 3)' 'pay -> "paid 3"' \
    'warn: a remark\u{1b}[31m' 'stdout: paid 3' "bad: ToolError: 'bad' exited with status 1" 'attempt 1 failed: ToolError' '1.1 -> 2' 'approve: go on?' '"yes" by --yes'; do
    check "it says: $line" grep -qF -- "$line" all
done
check "the step is written as a place of replay" sh -c 'tfy replay last --db many.db --until "$(grep -F "pay(n: 3)" all | sed "s/.*T  \([^ ]*\).*/\1/")" | grep -q "task 1, step 2"'
run tfy history last --db many.db --task 1.1
check "--task" sh -c '[ "$(sed 1d out | wc -l)" = 4 ] && grep -q TimerFired out'
run tfy history last --db many.db --type ToolResult,Retry --json
check "--type" [ "$(sed -n 's/.*"type":"\([A-Za-z]*\)".*/\1/p' out | sort | uniq -c | tr -s ' \n' ' ')" = " 1 Retry 3 ToolResult " ]
run tfy history last --db many.db --task 1 --steps 2..3
check "--steps" [ "$(lines | sed 's/.*T  \([^ ]*\).*/\1/' | uniq | tr '\n' ' ')" = "1/2 1/3 " ]
run tfy history last --db many.db --limit 3
cp err more
check "a page, and how to go on" grep -q "there are more; see: tfy --db many.db history .* --from 4" more
check "... which goes on there" sh -c '$(sed "s/.*see: //" more) >rest && sed 1d rest | cat out - | sed 1d | sed "s/^ *//; s/ .*//" | tr "\n" " " | grep -qx "$(seq -s " " 1 19) "'
run tfy history last --db many.db --json
check "JSON: whole payloads, a line each" [ "$(sqlite3 :memory: "select group_concat(json_extract(value, '$.payload.value')) from json_each('[' || replace(trim(readfile('out'), char(10)), char(10), ',') || ']') where json_extract(value, '$.type') = 'ToolResult'")" = "paid 3" ]
run tfy history last --db many.db --task 7
check "a task that is none: 69" ended 69 "the run has no task 7"
run tfy history last --db many.db --type Toolresult
check "a type that is none: 64" ended 64 "did you mean 'ToolResult'?"
run tfy history last --db many.db --steps 3-4
check "steps that are none: 64" ended 64 "such as 7, 3..7 or 3.."
run tfy history last --db many.db --from 100
check "nothing fits" ended 0 "none of the 19 records"

# ---- a terminal ----

on_terminal() # COLUMNS COMMAND: what a terminal of that width shows
{
    NO_COLOR=1 TERM=xterm timeout 60 script -qec "stty cols $1 rows 24; $2" /dev/null 2>err </dev/null | tr -d '\r' >screen
}
fits() { python3 -c 'import sys; sys.exit(max(len(line.rstrip("\n")) for line in open("screen")) >= int(sys.argv[1]))' "$1"; }
if script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    for columns in 60 80 100 120 200; do
        on_terminal $columns "tfy ps"
        check "ps fits $columns columns" fits $columns
        on_terminal $columns "tfy history last --db many.db"
        check "history fits $columns columns" fits $columns
    done
    on_terminal 80 "tfy ps"
    check "... with a line for each run" [ "$(wc -l <screen)" = 5 ]
    check "... cut ids still name their runs" sh -c 'sed 1d screen | while read -r id rest; do tfy inspect "$id" || exit 1; done'
    check "... and what was cut ends so" grep -q "main --name 00*…$" screen
fi

# ---- a run of many tasks, while it is live ----

cat >fold.tfy <<'END'
error Bad

tool slow() -> string idempotent = exec ["sleep", "30"]

workflow quick(n: int) -> int { return n }

workflow napper() {
    yield sleep(1h)
}

workflow broken() {
    yield
    fail Bad("no good")
}

workflow main() {
    for i in 0..3000 {
        let task = spawn quick(i)
        yield join(task)
    }
    for i in 0..15 { let task = spawn napper() }
    for i in 0..15 {
        let task = spawn broken()
        try { yield join(task) } catch e { log("bad", level: "trace") }
    }
    try { yield slow() timeout 20s } catch e { print("enough") }
}
END
start tfy run fold.tfy --db fold.db
within 30 sh -c 'tfy inspect last --db fold.db | grep -q "runs slow"'
run tfy inspect last --db fold.db
check "inspect says what a live run does, where and how long" grep -Eq '^    runs slow at line 26, for [0-9.]+ s$' out
check "thousands of completed tasks are a line" [ "$(grep quick out)" = "  3000 tasks quick: completed" ]
check "of others the first are shown" [ "$(grep -c ' napper: unfinished, step 1' out)|$(grep -c '… and 12 more tasks napper: unfinished, at line 8' out)" = "3|1" ]
check "... of those that failed, too" [ "$(grep -c ' broken: failed$' out)" = 4 -a "$(grep -c '    Bad: no good' out)" = 3 ]
check "all that is short" [ "$(wc -l <out)" -lt 40 ]
run tfy inspect last --db fold.db --json
check "JSON has every task, and what it does" [ "$(sql '$.tasks[0].doing.tool')|$(sqlite3 :memory: "select json_array_length(readfile('out'), '$.tasks')")" = "slow|3031" ]
kill -KILL "$pid"
finish 2>/dev/null
run tfy inspect last --db fold.db
check "a run that was killed does nothing" sh -c 'grep -q "state      stopped" out && ! grep -q "    runs " out'

# ---- when tasks did what ----

run tfy timeline last --db many.db
check "a timeline on a pipe is for Mermaid" sh -c 'head -n 1 out | grep -qx gantt'
run env LC_ALL=C tfy timeline last --db many.db --format text
check "as text: a line for each task, an axis and a legend" sh -c '[ "$(wc -l <out)" = 4 ] && sed -n 1p out | grep -Eq "^ +0 +[0-9.]+ s +[0-9.]+ s$" && tail -n 1 out | grep -qx "= run  # tool  \. sleep  - wait  ? person  ~ model  x failed"'
check "... what each did" sh -c 'sed -n 2p out | grep -Eq "^1 main  .*#.*x.* [0-9.]+ s$" && sed -n 3p out | grep -Eq "^1\.1 child  .*\..* [0-9.]+ s$"'
check "... in 100 columns" [ "$(awk 'length > 100' out | wc -l)" = 0 ]
if script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    for columns in 60 80 120; do
        LC_ALL=C.UTF-8 on_terminal $columns "tfy timeline last --db many.db"
        check "a chart fits $columns columns" fits $columns
    done
    check "... on a terminal it is the default" grep -q "^1.1 child  .*·" screen
fi

# ---- figures ----

rm -rf .tfy
run ./views
run tfy stats last --tools --json
check "the first tool of a child task took its time" [ "$(sqlite3 :memory: "select json_extract(readfile('out'), '$.tools[0].seconds') > 0.25")" = 1 ]
run tfy stats last --prometheus
check "... in the histogram, too" grep -q 'tfy_tool_duration_seconds_bucket{tool="nap",le="0.25"} 0$' out

# ---- readers that leave ----

run ./views --workflow lines --n 4000
for command in "tfy ps" "tfy output last" "tfy timeline last" "tfy inspect last --output" "tfy output last --json" "tfy --help"; do
    { sleep 0.1; $command 2>err; echo $? >code; } | true
    check "$command | true: it dies of the pipe, quietly" [ ! -s err -a "$(cat code)" = 141 ]
done
{ sleep 0.1; (trap '' PIPE; exec tfy output last) 2>err; echo $? >code; } | true
check "... unless SIGPIPE was ignored before" sh -c '[ "$(cat code)" = 74 ] && grep -q "cannot write to standard output" err'
{ sleep 0.1; ./views --workflow main 2>err; echo $? >code; } | true
check "a run goes on without its reader, and is quiet about it: 74" [ ! -s err -a "$(cat code)" = 74 ]
check "... to its end" sh -c 'tfy result last | grep -q "a b 3"'

# ---- the list of processes ----

start tfy run --db waits.db views.tfy --wait --workflow waits
within 20 sh -c 'tfy inspect last --db waits.db | grep -q "waits for signal"'
check "the command line of a process shows the file" [ "$(tr '\0' ' ' </proc/$pid/cmdline)" = "tfy run --db waits.db views.tfy --wait --workflow waits " ]
tfy signal last go '"on"' --db waits.db 2>/dev/null
finish
check "it runs as ever" printed_exactly '"on"'
run tfy run views.tfy --workflow waits more
check "a word too many is refused, and it is not the file" ended 64 "unexpected 'more'"
