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
    var sum = 0
    for i in 1..rounds {
        let one = spawn look(i)
        let looked = yield join(one)
        sum = sum + looked
        yield save("orders", Order(id: "o${i}"))
    }
    let paid = yield pay(sum)
    let number = yield uuid()
    print("number ${number}")
    let word: string = yield signal("go")
    let yes = yield join(asked)
    for i in 1..12 {
        let again = spawn look(i)
        let looked = yield join(again)
    }
    return "${early} ${sum} ${paid} ${word} ${yes}"
}

workflow person() -> bool {
    return yield approve("go on?")
}
TFY
result='"early 29435 done heard true"'

# Killed in the once step: it is in flight, a question is open, and rows were saved by steps whose records go.
run tfy run shop.tfy
tfy signal last early '"early"' >out 2>&1
start tfy resume last --wait
check "it pays" within 10 sh -c '[ -s paid ]'
kill -9 "$pid"
finish 2>/dev/null
cp -r .tfy whole
run tfy gc --compact
check "gc --compact" ended 0 "1 run begins now at its snapshot"
pay=$(sql "select step from history where type='StepStart' and what='pay'")

# export, import
run tfy wal export last -o left
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
run tfy replay last --db there.db
check "... and replays" printed " 0 divergences"
run tfy wal export last -o again --db there.db
run tfy wal import again/*.run --db third.db
run tfy wal export last -o third --db third.db
check "exported again it is the same" diff -r again third

# ends_well DB: what was under way goes on, to the end of the original.
ends_well()
{
    tfy resolve last "$pay" --done '"done"' --db "$1" && tfy approve last --db "$1" && tfy signal last go '"heard"' --db "$1" || return 1
    [ "$(tfy resume last --db "$1" 2>said | tail -n 1)" = "$result" ] || { cat said; return 1; }
    tfy replay last --db "$1" >said 2>&1 && grep -q " 0 divergences" said && sound "$1"
}
check "it goes on there to its end" ends_well there.db
run tfy gc --compact --db there.db
check "... and is compacted there" ended 0 "1 run begins now at its snapshot"
check "... soundly" sound there.db
cp -r .tfy compacted
run tfy resume last
ends_well .tfy/runs.db >out 2>&1

# inspected DB: what inspect says, but for the numbers of records.
inspected() { tfy inspect last --db "$1" | sed "s/record [0-9]*/record N/; s/ --db [^ ]*//"; tfy output last --db "$1" 2>/dev/null; }
run tfy wal export last -o ended
run tfy wal import ended/*.run --db ended.db
check "a run that has ended is imported" ended 0
check "... and looks as it did" [ "$(inspected .tfy/runs.db)" = "$(inspected ended.db)" ]
run tfy gc --keep 0 --archive old.db --db ended.db
check "it is archived" ended 0 "1 run with"
check "... soundly" sound old.db
check "... and looks as it did" [ "$(inspected .tfy/runs.db)" = "$(inspected old.db)" ]
run tfy replay last --db old.db
check "... and replays" printed " 0 divergences"

# What was changed in what an export wrote: each in a directory of its own, none is taken, and nothing is written.
cat >bad.py <<'PY'
import json, shutil, subprocess, sys
changes = {
    "a gap with another chain": lambda head, gaps: gaps[0].update(chain="0" * 16),
    "a gap behind other records": lambda head, gaps: gaps[1].update({"from": gaps[0]["from"]}),
    "a gap behind another record": lambda head, gaps: gaps[2].update(below=gaps[2]["below"] - 1),
    "a gap that points forward": lambda head, gaps: gaps[0].update(below=gaps[0]["lsn"] + 1),
    "two gaps of one record": lambda head, gaps: gaps.insert(1, gaps[0]),
    "gaps in another order": lambda head, gaps: gaps.reverse(),
    "a gap that is not told": lambda head, gaps: gaps.pop(3),
    "a gap of no record": lambda head, gaps: gaps.append(dict(gaps[-1], lsn=10**15)),
    "a gap behind the snapshot": lambda head, gaps: gaps[-1].update(lsn=head["base"] + 1),
    "a chain that is none": lambda head, gaps: gaps[0].update(chain="-1"),
    "numbers beyond all bounds": lambda head, gaps: gaps[0].update(lsn=-2**63, below=2**63 - 1),
    "gaps that are none": lambda head, gaps: head.update(gaps="none"),
    "gaps without a snapshot": lambda head, gaps: head.pop("base"),
    "a snapshot without gaps": lambda head, gaps: head.pop("gaps"),
    "a snapshot that is none": lambda head, gaps: head.update(base=gaps[-1]["lsn"]),
    "a snapshot that is not there": lambda head, gaps: head.update(base=10**15),
    "a first record that was changed": lambda head, gaps: change(head, "wal", '"rounds":30', '"rounds":31'),
    "a task that the snapshot has": lambda head, gaps: head["tasks"].pop(1),
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
check "nothing was written" [ "$(wc -l <changes) $(ls none.db 2>/dev/null)" = "19 " ]

# Killed around each commit: the run is there whole or not at all, and comes in when it is tried again.
killed()
{
    rm -f killed.db*
    TFY_TEST_KILL=$1 tfy wal import left/*.run --db killed.db >out 2>&1 && return 2
    tfy wal import left/*.run --db killed.db >out 2>&1 || grep -q "has run .* already" out || return 1
    [ "$(sql 'select count(*) from gap' killed.db)" = "$(sql 'select count(*) from gap' compacted/runs.db)" ] && sound killed.db
}
commit=1
while killed before:$commit && killed after:$commit; do commit=$((commit + 1)); done
killed before:$commit
check "killed around each of its commits" [ "$? $((commit > 2))" = "2 1" ]
check "... it goes on to its end" ends_well killed.db
