#!/bin/sh
# tfy verify: a sound database is told as such, beside a live writer too; whatever is changed or missing is named.
. "$here/lib.sh"
cat >team.tfy <<'END'
workflow child(n: int) -> int {
    print("child ${n}")
    return n
}
workflow main(n: int = 3, pause: duration = 0s) -> int {
    let a = spawn child(n)
    let b = spawn child(n + 1)
    yield sleep(pause)
    let x = yield join(a)
    let y = yield join(b)
    return x + y
}
END
run tfy verify
check "no database: 69" ended 69 "there is no database"
for n in 1 2 3; do tfy run team.tfy --n $n >out 2>err; done
run tfy verify
check "a sound database" ended 0
check "... and what was checked" printed "of 9 tasks in 3 runs"
run tfy verify --json
check "--json" printed '"sound": true'
start tfy run team.tfy --pause 60s
within 20 sh -c '[ "$(sqlite3 -readonly .tfy/runs.db "select count(*) from run")" = 4 ]'
sh -c 'tfy verify >beside 2>&1; echo $? >>beside'
check "beside a live writer" grep -qx 0 beside
kill -KILL "$pid"
finish
run tfy verify
check "after a crash" ended 0
check "... nothing is lost" printed "in 4 runs"

# spoiled NAME SQL TEXT: the same database after the statement is refused, and why.
spoiled()
{
    rm -f bad.db*
    sqlite3 .tfy/runs.db ".backup bad.db"
    triggers=$(sqlite3 bad.db "select sql || ';' from sqlite_schema where type='trigger'")
    "$build/tests/tamper" bad.db "drop trigger wal_never_updates; drop trigger wal_never_deletes; $2; $triggers"
    run tfy verify --db bad.db
    check "$1" ended 65 "$3"
}
first=$(sqlite3 .tfy/runs.db "select min(lsn) from wal where type=28")
last=$(sqlite3 .tfy/runs.db "select max(lsn) from mark")
spoiled "a changed payload" "update wal set payload=replace(payload,'child','CHILD') where lsn=$first" "record $first (run"
check "... what to type" grep -q "tfy salvage bad.db NEW.db" err
spoiled "a changed time" "update wal set ts=ts+1 where lsn=$first" "was changed since it was written"
spoiled "a lost record" "delete from wal where lsn=$first" "record $first is missing"
spoiled "a lost record, hidden as if retention had taken it" \
    "delete from wal where lsn=$first; update mark set gone_rows=1 where lsn=(select min(lsn) from mark where lsn>=$first)" "does not follow"
spoiled "a run taken away as a whole" \
    "delete from wal where tid in (select tid from task where run=2); delete from task where run=2; delete from run where id=2" "missing"
spoiled "a lost mark" "delete from mark where lsn=(select max(lsn) from mark)" "mark"
spoiled "a changed mark" "update mark set sum=sum+1 where lsn=(select max(lsn) from mark)" "the mark at record"
spoiled "a lost task" "delete from task where tid=2" "belongs to a task that is not in the file"
spoiled "a changed task" "update task set path='1.7' where tid=2" "task 2 was changed"
spoiled "a task that stands elsewhere" "update task set head=base, chain=base_chain where tid=2" "task 2"
spoiled "a changed run" "update run set state=3 where id=1" "run 1 was changed"
spoiled "a lost run" "delete from run where id=1" "is missing"
spoiled "a changed program" "update program set source=source||' '" "program 1 was changed"
spoiled "a task without its newest record" "delete from wal where lsn=$last" "record $last is missing"
run tfy verify --db bad.db --json
check "--json names the record" printed '"record": '
run tfy signal last nobody # takes the database and closes it
cp .tfy/runs.db page.db
printf 'xyz' | dd of=page.db bs=1 seek=$((8192 * 2 + 8000)) conv=notrunc 2>dd
run tfy verify --db page.db
check "a changed page" ended 65 "page 3 was changed"
