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
    let yes = yield approve("go on?")
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
check "nothing is overwritten: 64" ended 64 "is there already"
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
