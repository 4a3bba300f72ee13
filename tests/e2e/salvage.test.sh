#!/bin/sh
# tfy salvage: whatever is damaged, what comes out is sound, and nothing in it was not there before.
. "$here/lib.sh"
cat >team.tfy <<'END'
workflow child(n: int) -> int {
    print("child ${n}")
    return n
}
workflow main(n: int = 1) -> int {
    var sum = 0
    for i in 1..40 {
        let a = spawn child(i)
        let x = yield join(a)
        sum = sum + x
    }
    return sum
}
END
cat >ask.tfy <<'END'
workflow main() -> string {
    let _yes = yield approve("go on?")
    return "done"
}
END
tfy run ask.tfy >out 2>err
for n in 1 2 3; do tfy run team.tfy --n $n >out 2>err; done
run tfy salvage .tfy/runs.db whole.db
check "a sound database comes out whole" ended 0 "has 4 runs, 0 of them cut"
run tfy verify --db whole.db
check "... and is sound" ended 0
whole() { sqlite3 "$1" "select type, step, payload, chain from wal where tid>0 order by lsn"; }
whole .tfy/runs.db >left
whole whole.db >right
check "... with the same records and chains" cmp left right
run tfy replay last --db whole.db
check "... its runs replay" printed " 0 divergences"
run tfy approve "$(sqlite3 whole.db "select run from history where type='StepStart'")" --db whole.db
run tfy resume "$(sqlite3 whole.db "select run from history where type='StepStart'")" --db whole.db
check "... and go on" printed '"done"'
run tfy salvage .tfy/runs.db whole.db
check "nothing is overwritten: 64" ended 64 "already exists"
run tfy salvage nothing.db x.db
check "no such database: 69" ended 69
echo "this is no database" >text.db
run tfy salvage text.db x.db
check "no database at all: 65" ended 65 "nothing of text.db can be read"
check "... and none is made" [ ! -e x.db ]

# Pages overwritten one after the other: what comes out is sound, and every record in it stood in the original.
cat >pages.py <<'END'
import os, sqlite3, subprocess, sys
data = open('.tfy/runs.db', 'rb').read()
rows = lambda name: set(sqlite3.connect(name).execute('select payload, chain from wal where tid>0 and type not in (12, 7)'))
original, best, pages = rows('.tfy/runs.db'), 0, len(data) // 8192
for page in range(1, pages, 2):
    with open('hurt.db', 'wb') as file:
        file.write(data[:8192 * page] + b'\xa5' * 8192 + data[8192 * (page + 1):])
    for name in ('out.db', 'out.db-tfy', 'out.db-wal', 'out.db-shm', 'hurt.db-wal', 'hurt.db-shm'):
        if os.path.exists(name):
            os.remove(name)
    done = subprocess.run(['tfy', 'salvage', 'hurt.db', 'out.db'], capture_output=True, text=True)
    if done.returncode == 65:
        continue
    if done.returncode or subprocess.run(['tfy', 'verify', '--db', 'out.db'], capture_output=True).returncode:
        print('page', page + 1, done.returncode, done.stderr)
        continue
    there = rows('out.db')
    if there - original:
        print('page', page + 1, 'brought', len(there - original), 'records that were not there')
    best += bool(there)
print('most pages' if best * 4 > pages else f'{best} of {pages} pages')
END
run python3 pages.py
check "damaged pages" printed_exactly "most pages"
cp .tfy/runs.db cut.db
triggers=$(sqlite3 cut.db "select sql || ';' from sqlite_schema where type='trigger'")
sqlite3 cut.db "drop trigger wal_never_deletes; drop trigger wal_never_updates; delete from wal where lsn=(select max(lsn)-40 from wal); $triggers"
run tfy salvage cut.db kept.db --json
check "a run that lost a record is cut" printed '"cut": true'
run tfy ps --db kept.db
check "... and ends as failed" printed "failed"
run tfy verify --db kept.db
check "... in a sound database" ended 0

# A run that was compacted, with what is left of it.
cat >long.tfy <<'END'
workflow asked() -> bool {
    return yield approve("go on?")
}
workflow child(n: int) -> int {
    print("child ${n}")
    return n
}
workflow main() -> int {
    let question = spawn asked()
    var sum = 0
    for i in 1..40 {
        let a = spawn child(i)
        let x = yield join(a)
        sum = sum + x
    }
    let _yes = yield join(question)
    return sum
}
END
TFY_SNAPSHOT_EVERY=16 tfy run long.tfy --db long.db >out 2>err
tfy gc --compact --db long.db >out 2>err
goes_on() { tfy verify --db "$1" && python3 "$here/read_log.py" "$1" && tfy replay last --db "$1" && tfy approve last --db "$1" && [ "$(tfy resume last --db "$1")" = 780 ]; }
run tfy salvage long.db all.db
check "a compacted run comes out as it is" ended 0 "has 1 runs, 0 of them cut"
check "... with its gaps" [ "$(sqlite3 all.db "select count(*), (select count(*) from gap) from wal where tid>0")" = "$(sqlite3 long.db "select count(*), (select count(*) from gap) from wal where tid>0")" ]
check "... and goes on" goes_on all.db
# hurt NAME SQL: what comes out of the database with that damage is sound; how many runs begin at a snapshot, and in which state they are.
hurt()
{
    rm -f hurt.db* out.db*
    sqlite3 long.db "vacuum into 'hurt.db'"
    sqlite3 hurt.db "drop trigger wal_never_deletes; drop trigger wal_never_updates; $1; $triggers"
    tfy salvage hurt.db out.db && tfy verify --db out.db || echo "not ok what comes out is not sound"
    sqlite3 out.db "select base>0, state from run"
}
base=$(sqlite3 long.db "select base from run")
check "what was lost behind its snapshot cuts it" [ "$(hurt "delete from wal where lsn=(select max(lsn)-3 from wal where type=10)" 2>&1 | tail -n 1)" = "1|13" ]
check "what was lost before it leaves its beginning" [ "$(hurt "delete from wal where lsn=(select max(lsn) from wal where lsn<$base)" 2>&1 | tail -n 1)" = "0|13" ]
check "... and so do its gaps" [ "$(hurt "delete from gap where lsn=(select max(lsn) from gap)" 2>&1 | tail -n 1)" = "0|13" ]
check "a gap that was changed is none" [ "$(hurt "update gap set chain=chain+1 where lsn=(select max(lsn) from gap)" 2>&1 | tail -n 1)" = "0|13" ]
hurt "update run set base=base-1" >out 2>&1
check "where it begins is found without its row" goes_on out.db
