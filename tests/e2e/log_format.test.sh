#!/bin/sh
# docs/log-format.md: what it says is enough to read and verify the log with Python's sqlite3 alone, and a flipped byte shows.
. "$here/lib.sh"
cat >team.tfy <<'END'
workflow child(text: string) -> int {
    print(text)
    return 1
}
workflow main() -> int {
    var text = "äöü"
    for _ in 1..9 {
        let a = spawn child(text)
        let _x = yield join(a)
        text = text + text
    }
    return 2
}
END
tfy run team.tfy >out 2>err
tfy run team.tfy >out 2>err
read_log() { python3 "$here/read_log.py" "$@"; }
run read_log .tfy/runs.db
check "the script finds it sound" ended 0
check "... and counts what verify counts" [ "$(sed 's/.*: \([0-9]* records of [0-9]* tasks in [0-9]* runs\).*/\1/' out)" = \
    "$(tfy verify | sed 's/.*: \([0-9]* records of [0-9]* tasks in [0-9]* runs\).*/\1/')" ]
run read_log .tfy/runs.db --dump
check "it prints the records" printed '"workflow":"child"'
tfy gc --keep 1 >out 2>err
run read_log .tfy/runs.db
check "... and sound after retention" ended 0
# Every byte that stands for something: not the unused middle of a page.
cat >flip.py <<'END'
import random, subprocess, sys
data = open('.tfy/runs.db', 'rb').read()
used = [at for at in range(100, len(data)) if data[at]]
random.seed(7)
silent = 0
for at in random.sample(used, 12):
    with open('flipped.db', 'wb') as file:
        file.write(data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1:])
    silent += subprocess.run([sys.executable, sys.argv[1], 'flipped.db'], capture_output=True).returncode == 0
print(silent, 'silent')
END
run python3 flip.py "$here/read_log.py"
check "a flipped byte shows" printed_exactly "0 silent"
# With the sums of pages made anew, the records' own have to tell.
triggers=$(sqlite3 .tfy/runs.db "select sql || ';' from sqlite_schema where type='trigger'")
spoiled()
{
    cp .tfy/runs.db bad.db
    sqlite3 bad.db "drop trigger wal_never_updates; drop trigger wal_never_deletes; $2; $triggers"
    run read_log bad.db
    check "$1" ended 1 "is damaged"
}
spoiled "a changed payload" "update wal set payload=replace(payload,'child','CHILD')"
spoiled "a changed step" "update wal set step=step+1 where lsn=(select max(lsn) from wal where step>0)"
spoiled "a lost record" "delete from wal where lsn=(select min(lsn) from wal where tid>0)"
spoiled "a changed mark" "update mark set gone_rows=gone_rows+1"
spoiled "a changed task" "update task set state=3 where tid>0"
spoiled "a changed run" "update run set ended=ended+1"
spoiled "a changed program" "update program set layout='{}'"
spoiled "a changed meta" "update meta set epoch=9"
