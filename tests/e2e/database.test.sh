#!/bin/sh
# Databases that are not there, not ours, damaged or in the way: refused with a sentence, never modified.
. "$here/lib.sh"
printf 'workflow main() -> int {\n    print("x")\n    return 1\n}\n' >one.tfy

run tfy ps
check "no database: 69" ended 69 ".tfy/runs.db"
check "... and none is made" [ ! -e .tfy/runs.db ]
run tfy run one.tfy
check "a database is made" [ -f .tfy/runs.db ]
check "its directory is private" [ "$(stat -c %a .tfy)" = 700 ]
check "it is private" [ "$(stat -c %a .tfy/runs.db)" = 600 ]
check "history is readable" [ "$(records TaskComplete)" = 1 ]
env TFY_DB="$PWD/env.db" tfy run one.tfy >out 2>err
check "TFY_DB names the database" [ -f env.db ]

# refused NAME FILE STATUS: run and ps refuse the file and leave it as it is.
refused()
{
    sum=$(cksum <"$2")
    run tfy run one.tfy --db "$2"
    check "$1: $3" ended "$3" "$2"
    check "$1: nothing was printed" [ ! -s out ]
    run tfy ps --db "$2"
    check "$1: ps refuses it too" ended "$3" "$2"
    check "$1: it is as it was" [ "$(cksum <"$2")" = "$sum" ]
}

echo "this is no database at all, only some text that is long enough to be looked at" >text.db
refused "a text file" text.db 65
sqlite3 foreign.db 'create table t(x); insert into t values(1)'
refused "another program's database" foreign.db 65
cp .tfy/runs.db newer.db
sqlite3 newer.db 'pragma user_version=99'
refused "a newer version" newer.db 65
head -c 3000 .tfy/runs.db >cut.db
refused "a truncated file" cut.db 65
head -c 20000 .tfy/runs.db >half.db
refused "half a file" half.db 65
cp .tfy/runs.db flipped.db
lsn=$(sqlite3 .tfy/runs.db "select max(lsn) from wal where payload like '%\"x%'")
[ -n "$lsn" ] && sqlite3 flipped.db "drop trigger if exists wal_no_update" 2>/dev/null
mkdir folder.db
run tfy run one.tfy --db folder.db
check "a directory" [ "$status" != 0 ]
run tfy run one.tfy --db no/such/folder/x.db
check "a folder that is not there" [ "$status" != 0 ]
check "... is named" grep -q "no/such/folder" err
run tfy run one.tfy --db /proc/x.db
check "a place where nothing can be written" [ "$status" != 0 ]

run tfy inspect last
check "inspect" ended 0
run tfy output last
check "output" printed_exactly x
run tfy wal export last -o exported
check "wal export" ended 0
run tfy ps --json
check "ps --json" printed '"'
