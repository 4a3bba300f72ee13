#!/bin/sh
# What the log says of a run afterwards: figures, timeline, tasks; and what a live process says of itself.
. "$here/lib.sh"
cat >work.tfy <<'END'
tool slow(n: int) -> ExecResult idempotent = exec ["sleep", "0.${n}"]
tool bad() -> string idempotent = exec ["false"]

workflow child(n: int) -> int {
    yield sleep(100ms)
    yield slow(n)
    assert n != 3
    return n
}

workflow middle() -> int {
    let c = spawn child(3)
    let v = yield join(c)
    return v
}

workflow main() -> int {
    let _ok = yield approve("go?")
    let a = spawn child(2)
    let m = spawn middle()
    try {
        let _s = yield bad() retry 2 backoff 20ms
    } catch _ {
        print("bad")
    }
    try {
        yield slow(9) timeout 50ms
    } catch _ {
        print("late")
    }
    let _go: string = yield signal("go")
    let x = yield join(a)
    let y = yield join(m)
    return x + y
}
END
tfy build work.tfy -o work

# Every line is a comment of its figure or a value of it; a counter ends in _total; buckets ascend to their count; nothing is said twice.
cat >strict.awk <<'END'
function bad(why) { print FILENAME ":" FNR ": " why ": " $0; failed = 1; exit 1 }
/^# HELP tfy_[a-z_]+ [^ ].*\.$/ { help[$3]++; if (help[$3] > 1) bad("twice"); name = $3; next }
/^# TYPE tfy_[a-z_]+ (counter|gauge|histogram)$/ {
    if ($3 != name) bad("no help before it")
    type = $4
    if ((type == "counter") != (name ~ /_total$/)) bad("a counter, and only one, ends in _total")
    next
}
/^tfy_[a-z_]+(\{[a-z]+="([^"\\]|\\["\\n])*"(,le="[0-9.+Inf]+")?\})? [0-9]+(\.[0-9]+)?$/ {
    of = $1
    sub(/\{.*/, "", of)
    if (type == "histogram") sub(/_(bucket|sum|count)$/, "", of)
    if (of != name) bad("not of " name)
    if (seen[$1]++) bad("twice")
    value = $NF
    if ($1 ~ /_bucket/) { if (value < last) bad("buckets descend"); last = value }
    if ($1 ~ /_count/) { if (value != last) bad("the last bucket is not the count"); last = 0 }
    next
}
{ bad("not understood") }
END
strictly() { awk -f strict.awk "$1"; }

# Debian's promtool says it better, where it can be had: unpacked beside the build, installed nowhere.
promtool=$(command -v promtool) || promtool=$build/promtool
if [ ! -x "$promtool" ] && command -v dpkg-deb >/dev/null; then
    mkdir deb && (cd deb && timeout 60 apt-get download prometheus >/dev/null 2>&1 &&
        dpkg-deb --fsys-tarfile prometheus_*.deb | tar -xf - ./usr/bin/promtool && mv usr/bin/promtool "$build/promtool.new" &&
        mv "$build/promtool.new" "$build/promtool")
    rm -rf deb
fi
checked() { strictly "$1" && { [ ! -x "$promtool" ] || "$promtool" check metrics <"$1"; }; }

run tfy stats
check "no database: 69" ended 69
start ./work run --yes --wait
within 20 sh -c 'tfy inspect last | grep -q "waits for signal"'
within 20 sh -c 'tfy stats --prometheus | grep -q "^tfy_tasks_live 1$"'
run tfy stats --prometheus
cp out live.txt
check "figures of a live process" checked live.txt
check "... with gauges" grep -q '^tfy_runs_live 1$' live.txt
check "... and tools" grep -q '^tfy_tool_failures_total{tool="bad"} 3$' live.txt
tfy signal last go '""' 2>/dev/null
finish
check "the run fails" [ "$status" = 1 ]
run tfy stats last --prometheus
cp out log.txt
check "figures out of the log" checked log.txt
check "... have no gauges" sh -c '! grep -q gauge log.txt'
check "log and process count the same" sh -c '
    counters() { grep -E "^tfy_(tool_(calls|failures|timeouts|retries)_total|questions_total|tasks_started_total|tasks_ended_total..state=.failed)" "$1" | sort; }
    sed -n "/failed/d;p" live.txt >/dev/null; counters live.txt | grep tool >a; counters log.txt | grep tool >b; cmp a b && [ -s a ]'
run tfy stats last --tools
check "tools: calls, failures, retries, time" grep -Eq '^bad +3 +3 +2 +[0-9.]+ s +[0-9.]+ s +[0-9.]+ s$' out
check "... timeouts are failures" grep -Eq '^slow +3 +1 +0 ' out
run tfy stats --tools --json
check "the same as JSON" sh -c 'sqlite3 :memory: "select json_extract(readfile(\"out\"), \"\$.tools[0].tool\"), json_extract(readfile(\"out\"), \"\$.tasks_failed\")" | grep -qx "slow|3"'
run tfy stats --format mermaid
check "a heatmap" grep -q '^  t0\["slow<br/>3 calls, 1 failed, [0-9.]* s"\]:::hot$' out
run tfy stats --format dot
check "... not for dot" ended 64 "mermaid"
run tfy stats 99999999
check "a run that is not there: 69" ended 69

run tfy timeline last
check "a timeline for Mermaid" sh -c '
    head -n 3 out | tr "\n" "|" | grep -q "^gantt|    title main|    dateFormat x|" &&
    sed 1,4d out | grep -vE "^    section [0-9.]+ [a-z]+$|^    [A-Za-z0-9. /_-]+ :(active, |done, |crit, )?[0-9]+, [0-9]+$" && exit 1 || exit 0'
check "... with every task" [ "$(grep -c '    section' out)" = 4 ]
check "... the timeout" grep -q 'slow timeout :crit, ' out
check "... and no time turned round" sh -c 'sed -n "s/.*:[a-z, ]*\([0-9]*\), \([0-9]*\)$/\1 \2/p" out | awk "\$1 >= \$2 { exit 1 }"'
run tfy timeline last --json
check "sleeps and waits are told apart" sh -c 'sqlite3 :memory: "select group_concat(distinct json_extract(value, \"\$.kind\")) from json_each(readfile(\"out\"))" | grep -q sleep && grep -q "\"what\": \"join 1.2\"" out'
run tfy timeline last --format svg
check "a picture" sh -c 'head -n 1 out | grep -q "^<svg xmlns=" && tail -n 1 out | grep -qx "</svg>"'
if command -v python3 >/dev/null; then check "... that is well-formed" python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("out")'; fi
check "... with what failed" grep -q '<title>bad: .*, failed</title>' out
run tfy timeline last --format dot
check "... not for dot" ended 64 "text, mermaid or svg"

run tfy tasks last
check "tasks for Mermaid" sh -c '
    head -n 1 out | grep -qx "flowchart TD" &&
    sed 1d out | grep -vE "^  t[0-9]+\[\"[^\"]+\"\]:::[a-z]+$|^  t[0-9]+ (-->|==>|-\.->)\|[a-z]+\| t[0-9]+$|^  classDef [a-z]+ fill:#[0-9a-f]{6},stroke:#666$" && exit 1 || exit 0'
check "... a panic and where it went" sh -c 'grep -qx "  t3 -.->|panic| t2" out && grep -qx "  t2 -.->|failed| t0" out'
run tfy tasks last --format dot
cp out tasks.dot
if command -v dot >/dev/null; then check "tasks for Graphviz" dot -Tsvg tasks.dot; fi
check "... with joins" grep -q 't0 -> t1 \[label="join", style=bold\];' tasks.dot
run tfy tasks last --json
check "tasks as JSON" sh -c 'sqlite3 :memory: "select count(*) from json_each(readfile(\"out\"), \"\$.edges\") where json_extract(value, \"\$.kind\") = \"failure\"" | grep -qx 2'

# A crash and a resume lie in one timeline, and figures go on.
./work run --yes --wait >/dev/null 2>&1 &
pid=$!
within 20 sh -c 'tfy inspect last | grep -q "waits for signal"'
kill -KILL "$pid"
wait "$pid" 2>/dev/null
run tfy tasks last
check "a run that was killed: unfinished tasks" grep -q '"1 main"\]:::unfinished' out
tfy signal last go '""' 2>/dev/null
run tfy resume last
run tfy timeline last
check "after a resume: one timeline" sh -c '[ "$(grep -c "    section" out)" = 4 ] && grep -q "signal go :done" out'

# The clock was set back by a day while a run went on. Nothing took less than no time.
cat >night.tfy <<'END'
workflow main() {
    print("evening")
    yield sleep(5ms)
    print("morning")
}
END
rm -rf .tfy
run tfy run night.tfy
lsn=$(sqlite3 .tfy/runs.db "select max(lsn) from history where type='TimerFired'")
tfy wal export last -o night >check.out && python3 "$here/forge.py" night/*.run evening evening "$lsn" -86400000 >check.out 2>&1
run tfy wal import night/*.run --db night.db
check "a run whose clock was set back" ended 0
run tfy ps --db night.db
check "ps does not know how long it took" grep -q "completed  .*  ?  " out
check "... and shows no negative time" sh -c '! grep -q -- " -[0-9]" out'
for format in mermaid svg; do
    run tfy timeline last --format $format --db night.db
    check "its timeline as $format has no negative time" sh -c '[ -s out ] && ! grep -qE -- "[\" ]-[0-9]" out'
done
run tfy timeline last --json --db night.db
check "... nor has it as JSON" python3 -c 'import json
for span in json.load(open("out")): assert span["from"] <= span["to"], span'
run tfy stats last --db night.db
check "... nor have its figures" sh -c '[ -s out ] && ! grep -q -- " -[0-9]" out'
