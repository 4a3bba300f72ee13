#!/bin/sh
# tfy gc --compact: a run that is kept loses what came before its newest snapshot, and nobody who answers, resumes, replays or verifies can tell, but
# for those who ask about the beginning.
. "$here/lib.sh"
db=.tfy/runs.db
sql() { sqlite3 "$db" "$1"; }
rows() { sql 'select count(*) from wal where tid>0'; }
export TFY_SNAPSHOT_EVERY=16

cat >shop.tfy <<'TFY'
tool pay(n: int) -> string once = exec ["sh", "-c", "echo ${n} >>paid; [ ${n} != 29 ] || sleep 60; echo paid"]

workflow look(n: int) -> int {
    print("looked at ${n}")
    return 1000 + n
}

workflow main(rounds: int = 60) -> string {
    let early = spawn look(7000)
    let asked = spawn person()
    var sum = 0
    for i in 1..rounds {
        let one = spawn look(10000 + i)
        let looked = yield join(one)
        sum = sum + looked
        with lock("book") { sum = sum + 1 }
    }
    let paid = yield pay(sum % 100)
    let word: string = yield signal("go")
    let more = yield join(early)
    let yes = yield join(asked)
    for i in 1..12 {
        let again = spawn look(i)
        let _looked = yield join(again)
    }
    return "${sum} ${more} ${paid} ${word} ${yes}"
}

workflow person() -> bool {
    return yield approve("go on?", details: "as asked")
}
TFY
result='"650829 8000 done heard true"'

# Killed in the once step, so that what was asked and what is in doubt lies behind the snapshot.
start tfy run shop.tfy --wait
check "it pays" within 10 sh -c '[ -s paid ]'
kill -9 "$pid"
finish 2>/dev/null
before=$(rows)
cp -r .tfy whole
run tfy gc --compact --dry-run
check "--dry-run says what would go" ended 0 "1 run would start at its snapshot"
check "... and takes nothing out" [ "$(rows)" = "$before" ]
run tfy gc extra.c --keep 1
check "operands go with --compact" ended 64 "without --compact"
run tfy gc --compact
check "gc --compact" ended 0 "1 run now starts at its snapshot"
check "... most of its records go" [ "$((5 * $(rows)))" -lt "$before" ]
check "... and tasks that nobody can ask for" [ "$(sql 'select count(*) from task')" -lt 20 ]
check "... the log tells it" [ "$(sql "select m.value from wal w, json_each(w.payload) m where w.type=34 and m.key like '%why'")" = compacted ]
run tfy verify
check "the database is sound" ended 0
check "... for others, too" python3 "$here/read_log.py" "$db"
run tfy gc --compact
check "again there is nothing to drop" ended 0 "0 runs now start"
run tfy inspect last
check "inspect says so" printed "compacted  up to the snapshot"
check "... and what is asked" printed "waits for an answer: go on?"
run tfy replay last
check "it replays from there" printed " 0 divergences, 0 effects performed"
check "... and says from where" printed "it started at the snapshot that is record"
run tfy replay last --until end --print-locals
check "it can be stepped through" printed "sum: int = 650829"
printf 'print\nnext\nback\nback\ngoto 1\nprint\n' | tfy replay last --step --json >out 2>err
check "from its first record behind the snapshot" python3 -c 'import json; a = [json.loads(l) for l in open("out")]; exit(a[0]["record"] < 3 or a[-1]["record"] != a[0]["record"])'
check "... with nothing before it" grep -q "this is the first record" err
sed 's/yield approve("go on?"/yield approve("stop?"/' shop.tfy >other.tfy
run tfy replay last --program other.tfy
check "a program with another question cannot read the snapshot" printed "another program wrote the snapshot"
run tfy resume last --with other.tfy
check "... nor take the run over" ended 65 "nothing was changed"
run tfy output last
check "output tells what is missing" ended 0 "little is left"

# Everything that was under way goes on.
run tfy resume last
check "the step under way is in doubt" ended 75 "may have happened before the process ended"
run tfy approve last
check "the question can be answered" ended 0
run tfy signal last go '"heard"' --id 1
run tfy gc --compact
run tfy resolve last "$(sql "select step from wal where type=30")" --done '"done"'
check "the step can be resolved" ended 0
run tfy resume last
check "it ends as if nothing had gone" printed "$result"
check "... and prints what was left to print" [ "$(grep -c "looked at" out)" = 11 ]
check "paid once" [ "$(wc -l <paid)" = 1 ]
run tfy replay last
check "the whole rest replays" printed " 0 divergences, 0 effects performed"
run tfy gc --compact
check "a run that has ended is compacted, too" ended 0 "1 run now starts at its snapshot"
run tfy replay last
check "... and replays" printed " 0 divergences, 0 effects performed"
run tfy verify
check "... and is sound" ended 0
run tfy backup copy.db
run tfy adopt --db copy.db
run tfy verify --db copy.db
check "a copy of it is sound" ended 0
run tfy gc --keep 0
check "it can be dropped" ended 0 "1 run with"
check "... with all that was left" [ "$(sql 'select count(*) from gap, wal where wal.tid>0')" = 0 ]
run tfy verify
check "... and the rest is sound" ended 0

# Killed around each commit: the run is as it was or compacted, and goes on.
killed()
{
    if [ -e first ]; then rm -rf .tfy; else mv .tfy first; fi # no copy gets the number of its file, and so passes for it
    cp -r whole .tfy
    mv $db moved && mv moved $db.new && cp $db.new $db && tfy adopt >/dev/null 2>&1
    TFY_TEST_KILL=$1 tfy gc --compact >out 2>&1 && return 1
    tfy verify >out 2>&1 && python3 "$here/read_log.py" $db >out 2>&1 || return 1
    tfy replay last >out 2>&1 || return 1
    tfy gc --compact >out 2>&1 && tfy verify >out 2>&1 && [ "$(rows)" -lt $((before / 5)) ] || return 1
    tfy approve last && tfy signal last go '"heard"' && tfy resolve last "$(sql 'select step from wal where type=30')" --done '"done"'
    [ "$(tfy resume last 2>err | tail -n 1)" = "$result" ] && tfy verify >out 2>&1
}
for place in before:3 after:3 after:4; do check "killed $place" killed $place; done

# A program that cannot be built is no judge of its snapshot: its runs stay whole.
cat >own.tfy <<'TFY'
tool twice(n: int) -> int pure = extern "own_twice"

workflow main() -> int {
    var sum = 0
    for i in 1..40 {
        let one = yield twice(i)
        sum = sum + one
    }
    let _word: string = yield signal("go")
    return sum
}
TFY
cat >own.c <<'C'
#include "tfy.h"
bool own_twice(TfyTask *task, int64_t n, int64_t *out);
bool own_twice(TfyTask *task, int64_t n, int64_t *out)
{
    (void)task;
    *out = 2 * n;
    return true;
}
C
rm -rf .tfy
run tfy run own.tfy own.c
before=$(rows)
run tfy gc --compact
check "a run whose program cannot be built is left whole" ended 0 "stays as it is: its program cannot be compiled"
check "... with all its records" [ "$(rows)" = "$before" ]
run tfy compat last own.tfy own.c
check "compat is told of tools in C" ended 0
run tfy gc --compact own.c
check "... named, its C file lets it go" ended 0 "1 run now starts at its snapshot"
run tfy signal last go '"on"'
run tfy resume last own.c
check "... and the run goes on" printed_exactly 1560

# Beside the process that has the database: it deletes, part by part, what gc asks it to.
cat >ever.tfy <<'TFY'
workflow leaf(n: int) -> int {
    yield
    return n
}

workflow look(n: int) -> int {
    let below = spawn leaf(n)
    let got = yield join(below)
    return 1000 + got
}

workflow main(rounds: int = 40) -> int {
    var sum = 0
    let early = spawn look(7)
    for i in 1..rounds {
        let one = spawn look(i)
        let looked = yield join(one)
        sum = sum + looked
    }
    let word: int = yield signal("go")
    let more = yield join(early)
    return sum + more + word
}
TFY
begin() # KILL: a new run, until it waits or was killed
{
    rm -rf .tfy ended
    (TFY_TEST_KILL=$1 tfy run ever.tfy --wait >live.out 2>live.err; echo $? >ended) &
    pid=$!
    within 20 sh -c '[ -e ended ] || tfy inspect last | grep -q "waits for signal go"'
}
sound() { tfy verify >out 2>&1 && python3 "$here/read_log.py" $db >out 2>&1 && tfy replay last >out 2>&1; }
begin count:places
before=$(rows)
run tfy gc --compact --dry-run
check "a database in use: --dry-run says what would go" ended 0 "1 run would start at its snapshot"
run tfy gc --compact --keep 3
check "... runs are not removed meanwhile: 75" ended 75 "--archive need the database for themselves, --compact alone does not"
check "... and the message says who has it" grep -q "is held by pid" err
(TFY_TEST_GC_PART=9 tfy gc --compact >other.out 2>&1; echo $? >other) &
other=$!
TFY_TEST_GC_PART=9
export TFY_TEST_GC_PART
run tfy gc --compact
wait $other
check "two at once" [ "$status $(cat other)" = "0 0" ]
check "... leave a sound database" sound
run tfy gc --compact
check "again nothing is left to drop" ended 0
check "... most records went" [ $((6 * $(rows))) -lt "$before" ]
check "... and all tasks that nobody can ask for" [ "$(sql 'select count(*) from task')" -lt 12 ]
check "... the log tells it" [ "$(sql "select count(*)>0 from wal w, json_each(w.payload) m where w.type=34 and m.key like '%why' and m.value='compacted'")" = 1 ]
run tfy gc --compact --json
check "--json has the same members" python3 -c 'import json; r = json.load(open("out")); exit(r["compacted"] != [] or r["dry_run"] or r["bytes_before"] < 1)'
tfy signal last go 1 2>said
wait "$pid"
check "the run ends as if nothing had gone" [ "$(cat live.out) $(cat ended)" = "40788 0" ]
check "... soundly" sound
commits=$(sed -n 's/^after //p' places)

# The process is killed around each commit of a compaction: it is as if that had ended there.
killed_beside() # PLACE
{
    begin "$1"
    if tfy gc --compact >out 2>&1 && [ ! -e ended ]; then
        tfy signal last go 1 2>said
        wait "$pid"
        if [ "$(cat ended)" != 0 ]; then # only now, at a commit behind the compaction
            tfy signal last go 1 2>said
            tfy resume last 2>err | tail -n 1 >live.out
        fi
        [ "$(cat live.out)" = 40788 ] && sound
        return
    fi
    wait "$pid"
    [ "$(sql 'select base>0 from run')" = 1 ] && [ $((6 * $(rows))) -gt "$before" ] && echo half >>ends
    sound && tfy gc --compact >out 2>&1 && sound && [ $((6 * $(rows))) -lt "$before" ] || return 1
    tfy signal last go 1 2>said
    [ "$(tfy resume last 2>err | tail -n 1)" = 40788 ] && sound
}
for back in 8 12; do
    for place in before after; do check "killed $place a commit" killed_beside $place:$((commits - back)); done
done
# How many commits come before depends on the machine's speed.
for back in 10 6 14 4 16; do
    grep -qs half ends || killed_beside before:$((commits - back))
done
check "... in the midst of it, too" grep -q half ends
unset TFY_TEST_GC_PART
