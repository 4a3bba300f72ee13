#!/bin/sh
# A run that was compacted (tfy gc --compact) is carried like any other: exported, imported, archived, forked and compared, with what is left of it.
. "$here/lib.sh"
export TFY_SNAPSHOT_EVERY=16
sql() { sqlite3 -readonly "${2:-.tfy/runs.db}" "$1"; }
sound() { tfy verify --db "$1" && python3 "$here/read_log.py" "$1"; }

cat >shop.tfy <<'TFY'
type Order { id: string }

tool pay(n: int) -> string once = exec ["sh", "-c", "echo ${n} >>paid; [ -e quick ] || sleep 60; echo paid"]

workflow look(n: int) -> int {
    return 1000 + n
}

workflow main(rounds: int = 30) -> string {
    let asked = spawn person()
    let early: string = yield signal("early")
    let paying = spawn payer(7)
    var sum = 0
    for i in 1..rounds {
        let one = spawn look(i)
        let looked = yield join(one)
        sum = sum + looked
        yield save("orders", Order(id: "o${i}"))
    }
    let word: string = yield signal("go")
    let number = yield uuid()
    print("number ${number}")
    let paid = yield join(paying)
    let yes = yield join(asked)
    for i in 1..12 {
        let again = spawn look(i)
        let _looked = yield join(again)
    }
    return "${early} ${sum} ${paid} ${word} ${yes}"
}

workflow payer(n: int) -> string {
    let paid = yield pay(n)
    return paid
}

workflow person() -> bool {
    return yield approve("go on?")
}
TFY
result='"early 29435 done heard true"'

# Killed with a once step under way, a question open, and rows saved by steps whose records go; all that was there when the newest snapshot was written.
run tfy run shop.tfy
tfy signal last early '"early"' >out 2>&1
start tfy resume last --wait
check "it pays and waits" within 10 sh -c "[ -s paid ] && sqlite3 -readonly .tfy/runs.db \"select payload from wal where type=3\" | grep -q '\"go\"'"
kill -9 "$pid"
finish 2>/dev/null
run tfy gc --compact
check "gc --compact" ended 0 "1 run now starts at its snapshot"
check "... with the step under way" [ "$(sql "select count(*) from wal, run where type=3 and lsn<base and payload like '%pay%'")" = 1 ]
pay=$(sql "select step from history where type='StepStart' and what='pay'")

from=$(sql "select run from history where type='Snapshot' limit 1")

# The step under way, of a fork that is made of it now.
run tfy fork last --task 1.2 --at "$pay"
check "a step under way is in doubt in a fork" ended 0 "step $pay (pay) of task 1.2 was under way in the other run"
run tfy fork "$from" --task 1.2 --at "$pay" --set-result '"said"'
run tfy signal last go '"heard"'
tfy approve last >out 2>&1
run tfy resume last
check "... unless its result is given" printed '"early 29435 said heard true"'

# export, import
run tfy wal export "$from" -o left
check "what is left is exported" ended 0
head=$(echo left/*.run)
check "... and where something is missing" python3 -c '
import json, sys
head = json.load(open(sys.argv[1]))
numbers = [json.loads(line)["lsn"] for task in head["tasks"] for line in open("left/" + task["task_id"] + ".wal")]
assert head["base"] in numbers and len(head["gaps"]) > 3
assert all(gap["lsn"] in numbers and gap["below"] < gap["lsn"] <= head["base"] for gap in head["gaps"])' "$head"
run tfy wal import left/*.run --db there.db --json
check "it is imported" ended 0
check "... with its rows" printed '"rows":29,"in_doubt":1'
check "... into a sound database" sound there.db
run tfy replay "$from" --db there.db
check "... and replays" printed " 0 divergences"
run tfy wal export "$from" -o again --db there.db
run tfy wal import again/*.run --db third.db
run tfy wal export "$from" -o third --db third.db
check "exported again it is the same" diff -r again third

# ends_well DB: what was under way goes on, to the end of the original.
ends_well()
{
    tfy resolve "$from" "$pay" --task 1.2 --done '"done"' --db "$1" && tfy approve "$from" --db "$1" && tfy signal "$from" go '"heard"' --db "$1" || return 1
    [ "$(tfy resume "$from" --db "$1" 2>said | tail -n 1)" = "$result" ] || { cat said; return 1; }
    tfy replay "$from" --db "$1" >said 2>&1 && grep -q " 0 divergences" said && sound "$1"
}
check "it goes on there to its end" ends_well there.db
run tfy gc --compact --db there.db
check "... and is compacted there" ended 0 "1 run now starts at its snapshot"
check "... soundly" sound there.db
run tfy resume "$from"
ends_well .tfy/runs.db >out 2>&1

# inspected DB: what inspect says, but for the numbers of records.
inspected() { tfy inspect "$from" --db "$1" | sed "s/record [0-9]*/record N/; s/ --db [^ ]*//"; tfy output "$from" --db "$1" 2>/dev/null; }
run tfy wal export "$from" -o ended
run tfy wal import ended/*.run --db ended.db
check "a run that has ended is imported" ended 0
check "... and looks as it did" [ "$(inspected .tfy/runs.db)" = "$(inspected ended.db)" ]
run tfy gc --keep 0 --archive old.db --db ended.db
check "it is archived" ended 0 "1 run with"
check "... soundly" sound old.db
check "... and looks as it did" [ "$(inspected .tfy/runs.db)" = "$(inspected old.db)" ]
run tfy replay "$from" --db old.db
check "... and replays" printed " 0 divergences"

# fork
sql "select step, type, payload from history where task='1' and step>0" >steps
steps() { sed -n "s/^\([0-9]*\)|$1.*/\1/p" steps | tail -n 1; }
stood=$(sql "select max(w.step) from wal w join run r where w.tid=r.root and w.lsn<r.base")
# forked_at TASK STEP [OPTION…]: a fork, whose id is then in ./made, goes on to the same end, and replays. FORK_OF: of that run.
forked_at()
{
    task=$1 step=$2
    shift 2
    tfy fork "${fork_of:-$from}" --task "$task" --at "$step" "$@" >made 2>said || { cat said; return 1; }
    fork=$(cat made)
    grep -q "step $pay (pay) of task 1.2 was under way" said && tfy resolve "$fork" "$pay" --task 1.2 --done '"done"'
    tfy approve "$fork"
    tfy signal "$fork" go '"heard"'
    tfy resume "$fork" >ended_as 2>said
    grep -qF "${ends:-$result}" ended_as || { cat ended_as said; return 1; }
    tfy replay "$fork" >said 2>&1 && grep -q " 0 divergences" said
}
number() { tfy output "$1" 2>/dev/null | grep number; }
check "a fork where the run begins goes on to the same end" forked_at 1 "$stood"
first=$(cat made)
check "... it begins at a snapshot of its own" [ "$(sql "select type from run r join wal w on w.lsn=r.base and w.tid=r.root order by id desc limit 1")" = 33 ]
check "... with numbers of its own" [ "$(number "$first")" != "$(number "$from")" ]
check "a fork behind what was printed" forked_at 1 "$(steps JoinResult)"
last=$(cat made)
check "... has the other run's numbers" [ "$(number "$last")" = "$(number "$from")" ]
check "a fork at a question" forked_at 1.1 1
fork_of=$first
check "a fork of a fork" forked_at 1 "$(steps JoinResult)"
check "... has that one's numbers" [ "$(number "$(cat made)")" = "$(number "$first")" ]
fork_of=
ends='"early 29435 done other true"'
check "a fork with another result" forked_at 1 "$(steps Woke)" --set-result '"other"'
ends='"early 29435 by hand heard true"'
check "... of the step that was under way" forked_at 1.2 "$pay" --set-result '"by hand"'
ends=
run tfy fork "$from" --at "$((stood - 1))"
check "no fork within what is gone" ended 1 "what task 1 had done before step $stood cannot be taken apart any more"
run tfy fork "$from" --task 1.1 --at 0
check "... of no task" ended 1 "what task 1.1 had done before step 1 cannot"
run tfy gc --compact
check "forks are compacted" ended 0 "now start at their snapshots"
run tfy wal export "$first" -o forked
run tfy wal import forked/*.run --db there.db
run tfy replay "$first" --db there.db
check "... imported, and replay" printed " 0 divergences"
check "the database is sound" sound .tfy/runs.db

# diff: the same program again, which is whole, and where the payment came to something else.
touch quick
export TFY_SNAPSHOT_EVERY=100000
tfy run shop.tfy >out 2>&1
tfy signal last early '"early"' >out 2>&1
tfy signal last go '"heard"' >out 2>&1
tfy approve last >out 2>&1
run tfy resume last
whole=$(sql "select run from history where type='InstructionStart' order by lsn desc limit 1")
run tfy diff "$from" "$whole"
check "a comparison begins at the snapshot" ended 1
check "... and says so" grep -q "^a was compacted: before its snapshot, [0-9]* records of a and [0-9]* of b are not compared" out
check "... what differs behind it is shown" printed " same, 3 changed, 0 only in a, 0 only in b"
run tfy diff "$whole" "$first" --json
check "... in JSON, too" python3 -c '
import json
d = json.load(open("out"))
assert d["counts"]["changed"] == 3 and d["counts"]["only_a"] == d["counts"]["only_b"] == 0, d["counts"]
assert d["not_compared"]["a"] > d["not_compared"]["b"] > 0 and "base" in d["b"] and "base" not in d["a"]'
run tfy diff "$first" "$last"
check "two that were compacted, of which one got a signal too many" printed " 0 changed, 0 only in a, 1 only in b"

# What was changed in what an export wrote: each in a directory of its own, none is taken, and nothing is written.
cat >bad.py <<'PY'
import json, shutil, subprocess, sys
changes = {
    "a gap behind other records": lambda head, gaps: gaps[1].update({"from": gaps[0]["from"]}),
    "a gap that points forward": lambda head, gaps: gaps[0].update(below=gaps[0]["lsn"] + 1),
    "two gaps of one record": lambda head, gaps: gaps.insert(1, gaps[0]),
    "gaps in another order": lambda head, gaps: gaps.reverse(),
    "a gap of no record": lambda head, gaps: gaps.append(dict(gaps[-1], lsn=10**15)),
    "a chain that is none": lambda head, gaps: gaps[0].update(chain="-1"),
    "numbers beyond all bounds": lambda head, gaps: gaps[0].update(lsn=-2**63, below=2**63 - 1),
    "gaps that are none": lambda head, gaps: head.update(gaps="none"),
    "a snapshot without gaps": lambda head, gaps: head.pop("gaps"),
    "a snapshot that is not there": lambda head, gaps: head.update(base=10**15),
    "a first record that was changed": lambda head, gaps: change(head, "wal", '"rounds":30', '"rounds":31'),
    "a row of a step that is to come": lambda head, gaps: change(head, "saved", '"step":', '"step":9'),
}

def change(head, kind, old, new):
    name = f"{directory}/{head['run']}.{kind}"
    text = open(name).read().replace(old, new)
    open(name, "w").write(text)
    said = subprocess.run(["python3", sys.argv[2], "--sum", name], capture_output=True, text=True).stdout
    head["saved"] = said.strip() if kind == "saved" else head["saved"]

for number, (what, apply) in enumerate(changes.items()):
    directory = f"bad/{number}"
    shutil.copytree("left", directory)
    name = directory + "/" + sys.argv[1]
    head = json.load(open(name))
    apply(head, head["gaps"])
    json.dump(head, open(name, "w"))
    print(number, what)
PY
python3 bad.py "$(basename "$head")" "$here/read_log.py" >changes
while read -r number what; do
    run tfy wal import "bad/$number"/*.run --db none.db
    check "refused: $what" ended 65 "nothing was imported"
done <changes
check "nothing was written" [ "$(wc -l <changes) $(ls none.db 2>/dev/null)" = "12 " ]

# Killed around each commit: the run is there whole or not at all, and comes in when it is tried again.
killed()
{
    rm -f killed.db*
    TFY_TEST_KILL=$1 tfy wal import left/*.run --db killed.db >out 2>&1 && return 2
    tfy wal import left/*.run --db killed.db >out 2>&1 || grep -q "already has run" out || return 1
    [ "$(sql 'select count(*) from gap' killed.db)" = "$(sql 'select count(*) from gap' third.db)" ] && sound killed.db
}
commit=1
while killed before:$commit && killed after:$commit; do commit=$((commit + 1)); done
killed before:$commit
check "killed around each of its commits" [ "$? $((commit > 2))" = "2 1" ]
check "... it goes on to its end" ends_well killed.db
