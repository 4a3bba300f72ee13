#!/bin/sh
# A run that was compacted goes on with another program: its snapshot is mapped by name. What the layouts cannot tell apart is refused.
. "$here/lib.sh"
db=.tfy/runs.db
sql() { sqlite3 "$db" "$1"; }
export TFY_SNAPSHOT_EVERY=1

# Everything that lies in a snapshot by number: frames of several workflows with variables that share values and names, loops and what they keep,
# undos, bodies of a group, a message nobody has taken, an error that is at hand, a task that has ended and one that waits.
cat >old.tfy <<'TFY'
error Odd { n: int }
type Item { name: string, left: int? }

tool act(what: string) -> string once = exec ["sh", "-c", "echo \$1 >>done; echo did", "act", what]

workflow square(n: int) -> int {
    yield
    return n * n
}

workflow odd(n: int) fails Odd {
    yield
    fail Odd("odd one", n: n)
}

workflow deep(items: list<Item>, name: string) -> string {
    let first = items[0]
    var seen = ""
    for item in items {
        for i in 1..2 {
            let part = "${item.name}${i}"
            let room = yield act("room ${part}") undo { yield act("leave ${part} of ${first.name}") }
            seen = "${seen}${part} ${room.trim()},"
        }
    }
    let word: string = yield signal("go")
    if word == "back" { fail ToolError("sent back", tool: "deep", code: 1) }
    return "${seen}${word} ${name} ${first.left ?? 0}"
}

workflow main() -> string {
    let early = spawn square(7)
    let notes: channel<Item> = channel(4)
    let shared = Item(name: "a", left: 1)
    yield notes.send(shared)
    var caught = "nothing"
    let items = [shared, Item(name: "b", left: null)]
    var said = ""
    try {
        yield odd(3)
    } catch e: Odd {
        let word: string = yield signal("error")
        caught = "${word}: ${e.message} ${e.n}"
    }
    with lock("book") {
        let both = parallel {
            left: yield deep(items, "x")
            right: { let word: string = yield signal("right"); give word }
        }
        said = "${both.left} ${both.right}"
    }
    let note = yield notes.recv()
    let squared = yield join(early)
    return "${said} / ${caught} / ${squared} / ${if note == null { "none" } else { note.name }}"
}
TFY
cp old.tfy first.tfy
run tfy run old.tfy
check "it waits in a catch" ended 75 "waits for signal error"
cp -r .tfy caught
tfy signal last error '"met"' 2>said
run tfy resume last
check "it waits in a loop, a group and a lock" ended 75 "waits for signal go"
cp -r .tfy whole
cp done done.whole

# Other numbers for everything, and another end: a workflow, a type and comments before, an undo and groups where nobody is, steps that are not
# taken (so that slots are given out otherwise), a variable that is not needed any more.
awk '
    NR == 1 { print "// Grown since.\ntype More { n: int }\nworkflow before(n: int) -> int {\n    let all = parallel for i in 1..n { yield; give i }\n    return all.len()\n}\n" }
    /^workflow (deep|main)/ { print; print "    if \"zz\".len() > 3 {\n        let zz = More(n: 1)\n        for zi in 1..zz.n { let zy = yield before(zi + zz.n) }\n    }"; next }
    /fail Odd/ { print "    if n > 100 { yield act(\"odd\") undo { yield act(\"even\") } }" }
    /room = yield act/ { print "            // the room" }
    /return "\$\{seen\}/ { print "    yield act(\"end of ${name}\")\n    return \"${seen}${word} anew\""; next }
    /let note = / { print "    let twice = yield square(9)\n    said = \"${said} ${twice}\"" }
    { print }' old.tfy >better.tfy
# The same with all its variables, so that it can go back.
sed 's/${word} anew"/${word} ${name} ${first.left ?? 0}"/; /let twice/d; /${twice}/d; /end of/d' better.tfy >wide.tfy

put() # DIRECTORY: this is the database now; no copy gets the number of its file, and so passes for it
{
    [ -e kept ] && rm -rf .tfy || mv .tfy kept
    cp -r "$1" .tfy && cp done.whole done
    mv $db moved && mv moved $db.new && cp $db.new $db && tfy adopt >said 2>&1
}
ends() # WORD WITH…: what is told, done and printed behind the signals
{
    word=$1
    shift
    tfy resume last "$@" >told 2>said
    { tfy signal last right '"r"' && tfy signal last go "\"$word\""; } 2>said
    { tfy resume last 2>&1 | grep -v '^tfy: run'; cat done; } | sed -e 's/[0-9a-f]\{8\}-[0-9a-f-]\{27\}/RUN/g'
}
compacted() { tfy gc --compact >said 2>&1 && [ "$(sql 'select base>0 from run')" = 1 ]; }

for word in on back; do
    put whole
    ends $word --with better.tfy >full.$word
    check "taken over with all its history ($word)" [ "$(sql 'select moved>0 and base=0 from run')" = 1 ]
    put whole
    check "without its beginning" compacted
    ends $word --with better.tfy >short.$word
    check "... it is taken over" [ "$(sql 'select moved>base from run')" = 1 ]
    check "... and ends the same" diff full.$word short.$word
    run tfy replay last
    check "... and replays" printed " 0 divergences, 0 effects performed"
    run tfy verify
    check "... in a sound database" ended 0
done
check "the new program went on" grep -q "on anew r 81 / met: odd one 3 / 49 / a" short.on
check "undos had what they need" [ "$(grep -c '^leave b1 of a$\|^leave a1 of a$' short.back)" = 2 ]

# Moved, compacted again, moved back.
put whole
compacted
run tfy resume last --with wide.tfy
run tfy gc --compact
check "a run that moved is compacted at its first snapshot there" ended 0
run tfy resume last --with first.tfy
check "it goes back to the program it had" [ "$(sql "select count(*) from wal where type=35")" = 2 ]
run tfy replay last
check "... and replays" printed " 0 divergences"
run tfy verify
check "... and is sound" ended 0
ends on >back.on
put whole
ends on >own.on
check "... and ends as if it had stayed" diff own.on back.on

# Who moves before the next snapshot, and back, begins where it was.
put whole
compacted
TFY_SNAPSHOT_EVERY=1000 tfy resume last --with wide.tfy >told 2>said
TFY_SNAPSHOT_EVERY=1000 tfy resume last --with first.tfy >told 2>said
check "two moves behind one snapshot" [ "$(sql "select sum(type=35), (select base from run)<min(iif(type=35,lsn,null)) from wal")" = "2|1" ]
run tfy replay last
check "... replay" printed " 0 divergences"
ends on >back.on
check "... and end the same" diff own.on back.on

# Killed at each commit of the move: it has the one program or the other.
for at in before:1 after:2 before:3; do
    put whole
    compacted
    TFY_TEST_KILL=$at tfy resume last --with better.tfy >told 2>said
    check "killed $at" tfy verify
    sql "select (select count(*) from wal where type=35), moved>0 from run" >>killed
    ends on --with better.tfy >killed.on
    check "... it can be taken over" diff full.on killed.on
done
check "killed, a move is whole or absent" [ "$(sort -u killed | tr '\n' ' ')" = "0|0 1|1 " ]

# A copy of it goes on, elsewhere and here.
put whole
compacted
TFY_SNAPSHOT_EVERY=1000 tfy resume last --with better.tfy >told 2>said
tfy wal export last -o lines >said 2>&1
run tfy wal import lines/*.run --db there.db
check "a run that moved goes into another database" ended 0
run tfy replay last --db there.db
check "... and replays there" printed " 0 divergences"
tfy fork last --task 1 --at 6 >made 2>said
run tfy resume "$(cat made)"
check "a fork of it goes on" ended 75 "waits for signal go"

# What is refused, and why. Nothing is written.
put whole
compacted
refused() # WHY EDIT: the snapshot cannot be taken up by old.tfy edited so
{
    sed -E "$2" old.tfy >other.tfy && ! cmp -s old.tfy other.tfy || return 1
    tfy compat last other.tfy >out 2>err
    [ $? = 1 ] && grep -qF -- "$1" out
}
allowed() { sed -E "$1" old.tfy >other.tfy && ! cmp -s old.tfy other.tfy && tfy compat last other.tfy >out 2>err; }
check "nothing is changed by comments, blanks and strings behind" allowed 's/ = yield act/  =  yield act/; s/sent back/sent home/; s/^    yield$/    yield \/\/ a pause/'
check "another signal" refused "the statement there, or one around it, was changed" 's/signal\("go"\)/signal("went")/'
check "a lock that is held" refused "main/parallel/1 (line 46 of the program it has)" 's/with lock\("book"\)/if said == ""/'
check "a lock of another name" refused "or one around it, was changed" 's/with lock\("book"\)/with lock("page")/'
check "a step that has to be undone" refused "has a step to undo at deep/tool/act/1" 's/act\("room /act("roam /'
check "an undo that needs more" refused "has no value for name, which deep.undo needs now" 's/leave \$\{part\}/& \$\{name\}/'
check "a body more" refused "its result was" 's/^        let both = parallel \{/&\n            more: yield square(2)/'
check "a type that was changed" refused "and that type was changed" 's/left: int\?/left: float?/; s/left: 1/left: 1.0/; s/\?\? 0/?? 0.0/'
check "another class of a tool" refused "or its repeat class, were changed" 's/-> string once/-> string pure/'
check "a variable that is new there" refused "would have no value: it is new here" 's/var seen = ""/&\n    let length = items.len()/; s/return "\$\{seen\}/&\${length}/'
check "a workflow of another result" refused "early was task<int> and is task<float>" 's/square\(n: int\) -> int/square(n: int) -> float/; s/return n \* n/return 1.5/'
check "a workflow that is gone" refused "the new program has no such point" 's/deep/dive/'
run tfy compat last other.tfy --json
check "--json says so, too" python3 -c 'import json; r = json.load(open("out"))["refused_runs"]; exit(len(r) != 1 or "task 1.2" not in r[0]["reason"])'
records=$(sql 'select count(*) from wal where tid>0')
sed 's/signal("go")/signal("went")/' old.tfy >other.tfy
run tfy resume last --with other.tfy
check "resume --with refuses it" ended 65 "task 1.2 is at deep/effect/signal/1 (line 26 of the program it has), where it cannot continue"
check "... and writes nothing" [ "$(sql 'select count(*) from wal where tid>0')" = "$records" ]
ends on >stayed.on
check "... and the run continues with its own" diff own.on stayed.on
put whole
compacted
sed 's/square(n: int) -> int/square(n: int) -> float/; s/return n \* n/return 1.5/; s/let squared = .*/let squared = 49/' old.tfy >other.tfy
run tfy resume last --with other.tfy
check "one that has ended with a result of another type" ended 65 "task 1.1 (square) has ended, another task may still join it"
put caught
compacted
check "an error that was met" refused "and that type was changed" 's/n: int \}/n: int, by: int }/; s/n: n\)/n: n, by: 1)/'

# Where a finally goes on behind itself is a number, which every way out of its try decides.
cat >old.tfy <<'TFY'
workflow main() -> int {
    var sum = 0
    let ends = [1, 2, 3]
    print("begins")
    print("goes on")
    for i in 1..ends.len() {
        try {
            if i == 2 { break }
            sum = sum + i
        } finally {
            let word: string = yield signal("f")
            print(word)
        }
    }
    return sum
}
TFY
rm -rf .tfy
run tfy run old.tfy
check "it waits in a finally" ended 75
check "... without its beginning" compacted
check "another way out of its try" refused "a statement around it that keeps a value there was changed" 's/if i == 2/if i == 9 { continue }\n            &/'
check "the same out of the finally" refused "or one around it, was changed" '/\} finally/d; s/^        try/        if i > 0/; s/print\(word\)/print("x")/'
check "what stands before and behind it may be changed" allowed 's/print\(word\)/print("${word}!")/; s/var sum = 0/&\n    if "zz".len() > 3 { yield }/; s/return sum$/return sum * 2/'
