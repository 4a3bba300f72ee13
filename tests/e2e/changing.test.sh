#!/bin/sh
# Runs and programs that change: tfyc --layout, tfy compat, tfy resume --with.
. "$here/lib.sh"
cat >old.tfy <<'TFY'
type Offer { city: string, price: int? }

tool find(what: string) -> Offer pure = exec ["sh", "-c", "echo '{\"city\":\"Rome\",\"price\":3}'"]
tool book(city: string) -> string once = exec ["sh", "-c", "echo \$1 >>booked; echo ok", "book", city]

workflow ask_two(offer: Offer) -> bool {
    let first = yield approve("go to ${offer.city}?")
    let second = yield approve("really?")
    return first && second
}

workflow watcher(about: channel<string>) {
    let news = yield about.recv()
    print("heard ${news ?? ""}")
}

workflow main() -> string {
    let offer = yield find("trip")
    let about: channel<string> = channel(2)
    let waits = spawn watcher(about)
    let said = yield book(offer.city)
    let sure = yield ask_two(offer)
    yield about.send("done")
    yield join(waits)
    return if sure { "went" } else { "stayed, ${said.trim()}" }
}
TFY
sql() { sqlite3 .tfy/runs.db "$1"; }

# What may be changed: another workflow before it, a step behind where the run stands, the text of the end.
{
    printf '// grown since\nworkflow before() -> int {\n    yield\n    return 1\n}\n\n'
    sed -e 's/return if sure.*/print("new code")\n    let more = yield find("more")\n    return "new ${more.city} ${said.trim()}"/' old.tfy
} >better.tfy
sed 's/let first = yield approve("go to ${offer.city}?")/let first = yield approve("fly to ${offer.city}?")/' old.tfy >asks.tfy
sed 's/price: int?/price: float?/' old.tfy >types.tfy
sed -e 's/let second = /let middle = "${first}!"\n    let second = /' -e 's/return first \&\& second/return first \&\& second \&\& middle != "no"/' old.tfy >slots.tfy
sed 's/    let said = yield book(offer.city)/    let said = offer.city/' old.tfy >gone.tfy

run tfyc --layout old.tfy
check "tfyc --layout prints what the log keeps" python3 -c 'import json, sys; l = json.load(open("out")); p = [x for x in l["points"] if x["id"] == "main/tool/book/1"][0]; sys.exit(p["callee"] != "book" or p["result"] != "string")'

run tfy compat old.tfy old.tfy
check "a program goes with itself" ended 0
check "... at every point" printed " 0 mapped by name, 0 refused"
run tfy compat old.tfy better.tfy
check "what moved is mapped by name" printed ": 0 same, "
check "... nothing is refused" printed ", 0 refused"
run tfy compat old.tfy types.tfy
check "a type that was changed: 1" ended 1
check "... says where" printed "its result is Offer, and that type was changed"
run tfy compat old.tfy gone.tfy
check "a point that is gone is refused" printed "refused  main/tool/book/1 (line 21): the new program has no such point"
run tfy compat old.tfy nothing.tfy
check "a file that is not there: 69" ended 69
run tfy compat old.tfy
check "two programs are compared: 64" ended 64 "compat needs OLD NEW"

run tfy run old.tfy
run tfy compat last better.tfy
check "tasks are counted where they stand" printed "ask_two/effect/approve/1 (line 7); 1 task is there"
run tfy compat "$(sql 'select substr(lower(hex(hash)),1,12) from program')" better.tfy --json
check "a program is named by its hash" python3 -c 'import json, sys; r = json.load(open("out")); sys.exit(r["stuck"] or r["runs"] != 1)'
run tfy compat last slots.tfy
check "what is refused where nobody stands is no harm: 0" ended 0
run tfy compat nobody better.tfy
check "no run and no program: 69" ended 69 "is not a FILE.tfy, a run"

# What the points alone do not show: a text that a loop has sent already, and one that it will send.
cat >loop.tfy <<'TFY'
tool send(text: string) -> string once = exec ["sh", "-c", "echo \$1 >>sent; echo ok", "send", text]

workflow main(parts: int = 2) -> string {
    for i in 1..parts {
        yield send("part ${i}")
        yield signal("next")
    }
    return "done"
}
TFY
sed 's/part \$/piece $/' loop.tfy >sent.tfy
sed 's/"done"/"all sent"/' loop.tfy >ahead.tfy
export TFY_DB=loop.db
run tfy run loop.tfy
one=$(tfy ps --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["run"])')
run tfy compat last sent.tfy
check "a text that was sent within a loop and was changed: 1" ended 1
check "... which run, and why" printed "refused  run $one: task 1 of $one differs from its log. recorded: record 3, StepStart at step 1"
check "... all points are the same" printed "2 points: 2 same, 0 mapped by name, 0 refused; 0 of 1 unfinished run of the old program can continue"
sed -n 's/^refused  run //p' out >said.compared
run tfy resume last --with sent.tfy --dry-run
check "resume --with --dry-run says the same: 65" ended 65
sed -n 's/^run \(.*\) cannot continue with sent.tfy/\1/p' out >said.tried
check "... word for word" diff said.compared said.tried
run tfy resume last --with sent.tfy
sed -n 's/^tfy: run \(.*\) cannot continue with sent.tfy/\1/p' err >said.moved
check "... and so does resume --with" diff said.compared said.moved
run tfy compat last ahead.tfy
check "a text that lies ahead may be changed: 0" ended 0
check "... says so" printed "; 1 of 1 unfinished run of the old program can continue"
start tfy run loop.tfy --parts 0
finish
start tfy run loop.tfy --parts 3 --wait
within 10 sh -c 'tfy ps | grep -q running'
within 10 sh -c '[ "$(grep -c . sent)" = 2 ]'
run tfy compat loop.tfy sent.tfy --db loop.db --json
check "a program in use: each unfinished run has its verdict" python3 -c 'import json; r = json.load(open("out")); exit(r["runs"] != 2 or len(r["refused_runs"]) != 2 or "recorded" not in r["refused_runs"][0]["reason"])'
run tfy resume last --with ahead.tfy --dry-run
check "... --dry-run needs no owner" printed "can continue with ahead.tfy"
kill "$pid"
finish
sed 's/part \${i}/part ${if parts > 2 { i + 1 } else { i }}/' loop.tfy >third.tfy
run tfy compat "$one" third.tfy
check "of several runs, the one that is named decides" ended 0
check "... the other is told" printed "; 1 of 2 unfinished runs of the old program can continue"
run tfy compat loop.tfy third.tfy --db loop.db
check "... without one, each counts" ended 1
run tfy resume "$one" --dry-run
check "--dry-run goes with --with: 64" ended 64 "--dry-run goes with --with FILE.tfy"
run tfy compat last ahead.tfy more
check "a third program is too much: 64" ended 64 "compat takes two programs, not 'more' too"
check "nothing was written by any of this" [ "$(records Moved loop.db)" = 0 ]
unset TFY_DB

# What cannot be taken over leaves everything as it was.
records=$(sql "select count(*) from wal where tid>0")
run tfy resume last --with asks.tfy
check "another question is another step: 65" ended 65 "nothing was changed"
run tfy resume last --with gone.tfy
check "a recorded step that is gone: 65" ended 65 "main/tool/book/1 (line 21), and the new program has no such point"
run tfy resume last --with types.tfy
check "a type that was changed: 65" ended 65 "cannot continue with types.tfy"
run tfy resume last --with missing.tfy
check "a program that is not there: 69" ended 69
run tfy resume --all --with better.tfy
check "one run at a time: 64" ended 64 "name it instead of --all"
check "nothing was written of the run" [ "$(sql 'select count(*) from wal where tid>0')" = "$records" ]
run tfy approve last
run tfy resume last # and comes to the second question
run tfy resume last --with slots.tfy
check "a variable that would have no value: 65" ended 65 "middle would have no value"

# And what can.
before=$(sqlite3 .tfy/runs.db 'select max(lsn) from wal')
lines() { sqlite3 .tfy/runs.db "select lsn, line from history where lsn<=$before and line>0"; }
lines_before=$(lines)
run tfy resume last --with better.tfy
check "resume --with goes on with the new program" ended 75 "really?"
check "... the move is recorded" [ "$(records Moved)" = 1 ]
check "... nothing was done again" [ "$(cat booked)" = Rome ]
run tfy inspect last
check "inspect shows the new program's lines" printed 'line 14: let second = yield approve("really?")'
run tfy resume last
check "a later resume stays with it" ended 75 "really?"
check "... without another move" [ "$(records Moved)" = 1 ]
run tfy resume last --with better.tfy
check "taken over to the program it has: nothing is to be done" [ "$(records Moved)" = 1 ]
run tfy approve last
run tfy resume last
check "it ends as the new program says" printed '"new Rome ok"'
check "... with its output" printed "new code"
run tfy replay last
check "it replays" printed " 0 divergences, 0 effects performed"
run tfy replay last --program old.tfy
check "... but not under the old program" ended 65
run tfy verify
check "the database is as it should be" ended 0
check "lines of records before the move are those of the old program" [ "$(lines)" = "$lines_before" ]
run tfy wal export last -o moved
run tfy wal import moved/*.run --db other.db
check "a run that was moved goes into another database" ended 0 "of 2 tasks"
run tfy verify --db other.db
check "... a sound one" ended 0
tfy wal export last -o again --db other.db >out 2>err
alike() { for file in moved/*.wal; do sed 's/"lsn":[0-9]*//' "$file" >left; sed 's/"lsn":[0-9]*//' "again/${file#*/}" | diff left - || return 1; done; }
check "... with the same history" alike
run tfy replay last --db other.db
check "... that replays" printed " 0 divergences"
check "... with both programs" [ "$(sqlite3 other.db 'select count(*), (select moved>0 from run) from program')" = "2|1" ]
bad() # EDIT FILE…: an export that was changed so is refused
{
    edit=$1 && shift
    rm -rf bad && cp -r moved bad
    (cd bad && sed -i "$edit" $*)
    tfy wal import bad/*.run --db none.db >out 2>err
    [ $? = 65 ] && [ ! -e none.db ] && grep -q "nothing was imported" err
}
check "an old program that was changed is refused" bad '/"before"/,$s/go to/fly to/' '*.run'
check "... and one that is not there" bad 's/"before"/"behind"/' '*.run'
check "... and a move from another one" bad 's/"from":"./"from":"x/' '*.wal'
check "... and an end that it had not" bad 's/"state": 12,/"state": 2,/' '*.run'

# Out of a damaged database too, as long as both programs can be read.
run tfy salvage .tfy/runs.db whole.db
check "salvage takes out a run that was moved" ended 0
check "... with both programs" [ "$(sqlite3 whole.db 'select count(*), (select moved>0 from run) from program')" = "2|1" ]
run tfy replay last --db whole.db
check "... and it replays" printed " 0 divergences"
cp .tfy/runs.db less.db
sqlite3 less.db "update program set source=source || ' ' where id=1"
run tfy salvage less.db part.db --json
check "without the old program it ends before the move" printed '"cut": true'
check "... which is not in it" [ "$(sqlite3 part.db 'select count(*) from wal where type=35')" = 0 ]
run tfy verify --db part.db
check "... and what is left is sound" ended 0

# Taken out into an archive, it is there as it was here.
run tfy gc --keep 0 --archive old.db
run tfy replay last --db old.db
check "a moved run replays from an archive" printed " 0 divergences"
run tfy verify --db old.db
check "... which is sound" ended 0

# Several versions side by side, each run with its own.
rm -rf .tfy booked
run tfy run old.tfy
old=$(sql "select lower(hex(uuid)) from run where id=1" | sed -E 's/(.{8})(.{4})(.{4})(.{4})/\1-\2-\3-\4-/')
run tfy run better.tfy
run tfy ps
check "ps shows which program each run has" [ "$(awk 'NR>1 {print $(NF-1)}' out | sort -u | grep -c .)" = 2 ]
tfy approve "$old" 2>/dev/null
tfy approve last 2>/dev/null
run tfy resume --all
check "resume --all takes each with its own" ended 75
tfy approve "$old" 2>/dev/null
tfy approve last 2>/dev/null
run tfy resume --all
check "... to its own end" [ "$(sql "select group_concat(payload->>'value') from wal where type=7 order by lsn")" = "went,new Rome ok" ]

# A fork keeps the program it had at that step.
rm -rf .tfy booked
run tfy run old.tfy
tfy approve last 2>/dev/null
run tfy resume last --with better.tfy
tfy wal export last -o half >out 2>err
run tfy wal import half/*.run --db third.db
run tfy resume last --yes --db third.db
check "a moved run goes on where it was imported" printed '"new Rome ok"'
run tfy gc --keep 0
run tfy replay last
check "gc keeps the programs that a live run had" printed " 0 divergences"
first=$(tfy ps --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["run"])')
tfy fork last --at 1 >made 2>/dev/null
run tfy resume "$(cat made)" --yes
check "a fork from before the move has the old program" printed '"went"'
tfy approve "$first" 2>/dev/null
tfy fork "$first" --at "$(sql "select max(step) from wal where tid=1 and type=23")" >made 2>/dev/null
run tfy resume "$(cat made)" --yes
check "one from behind it the new one" printed '"new Rome ok"'
run tfy replay "$(cat made)"
check "... and replays" printed " 0 divergences"

# Killed at any commit of a fork or of a move: all of it, or nothing.
PLACES="before:1 after:1 before:2 after:2 before:3"
taken_up() # the newest run is sound, goes on to its second question, and replays
{
    tfy verify >said 2>&1 && { tfy resume last >said 2>&1; [ $? = 75 ]; } && tfy replay last >said 2>&1 && return 0
    cat said >&2
    return 1
}
fresh()
{
    rm -rf .tfy booked
    tfy run old.tfy >said 2>&1
    tfy approve last 2>said
}
killed_fork()
{
    fresh
    for at in $PLACES; do
        runs=$(sql "select count(*) from run")
        TFY_TEST_KILL=$at tfy fork 1 --at 3 >said 2>&1
        taken_up || return 1
        echo $(($(sql "select count(*) from run") - runs))
    done >made
    [ "$(sort -u made | tr '\n' ' ')" = "0 1 " ] || { cat made >&2; return 1; }
}
check "a fork that is killed is whole or absent" killed_fork
killed_move()
{
    for at in $PLACES; do
        fresh
        TFY_TEST_KILL=$at tfy resume last --with better.tfy >said 2>&1
        taken_up || return 1
        sql "select (select count(*) from history where type='Moved'), program, moved>0 from run"
    done >made
    [ "$(sort -u made | tr '\n' ' ')" = "0|1|0 1|2|1 " ] || { cat made >&2; return 1; }
}
check "a move that is killed is whole or absent" killed_move
