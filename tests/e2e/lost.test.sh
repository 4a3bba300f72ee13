#!/bin/sh
# A database that is deleted, moved away or replaced under the process that writes it: the process stops at once, with 74, and says where the records are.
. "$here/lib.sh"
cat >work.tfy <<'END2'
workflow main(rests: bool = false) -> int {
    var beat = 0
    while beat < 100000 {
        beat = beat + 1
        print("${beat}")
        if rests {
            yield sleep(1h)
        } else {
            yield sleep(5ms)
        }
    }
    return beat
}
END2
tfy build work.tfy -o work >/dev/null
mkdir spare
tfy build work.tfy -o spare/work >/dev/null
(cd spare && TFY_TEST_INLINE=1 TFY_TEST_KILL=before:4 ./work run --db spare.db >out 2>&1)

# hit NAME RESTS COMMAND: the command is run beside a run that writes, or rests; then the run ends by itself.
hit()
{
    name=$1
    rm -rf db else
    mkdir db else
    start timeout 30 ./work run --db db/runs.db "--rests=$2" # ended, where nobody notices
    check "$name: the run is under way" within 20 test -s out
    sh -c "$3"
    begun=$(date +%s%N)
    finish
    took=$((($(date +%s%N) - begun) / 1000000))
    cp out shown
    check "$name: the process stops" ended 74
    check "... soon" [ "$took" -lt 5000 ] # a second is promised; the rest is for a machine that is busy
}
says() { grep -Eq "^work: $1" err; }
acknowledged='records up to [1-9][0-9]* were acknowledged'

# keeps DB: each line that was shown is recorded in this file.
holds_all() { [ "$(records Output "$1")" -ge "$(wc -l <shown)" ]; }
keeps()
{
    check "... all that was acknowledged is there" holds_all "$1"
    run tfy verify --db "$1"
    check "... and sound" ended 0
}

# goes_on DB: behind the last line that was shown.
follows() { [ "$(head -n 1 out)" -gt "$(tail -n 1 shown)" ]; }
goes_on()
{
    start ./work resume last --db "$1"
    check "... the run goes on" within 20 test -s out
    kill -TERM "$pid"
    finish
    check "... behind what was shown" follows
}

for rests in false true; do
    hit "deleted, rests=$rests" $rests "rm db/runs.db"
    check "... it says so" says "db/runs.db was deleted while it was written; $acknowledged, and are lost with it: restore it from a copy"
    hit "deleted with its directory, rests=$rests" $rests "rm -r db"
    check "... it says so" says "db/runs.db was deleted"
    check "... and makes nothing anew" [ ! -e db ]

    hit "moved away, rests=$rests" $rests "mv db/runs.db else"
    check "... it says so" says "db/runs.db was moved away while it was written; $acknowledged, and are in the file that was moved away: put it back"
    mv else/runs.db db
    keeps db/runs.db
    [ $rests = true ] || goes_on db/runs.db

    hit "-wal removed, rests=$rests" $rests "rm db/runs.db-wal"
    check "... it says so" says "db/runs.db-wal was removed while the database was written; $acknowledged, and all of them are in the main file"
    keeps db/runs.db
    [ $rests = true ] || goes_on db/runs.db
    hit "-shm replaced, rests=$rests" $rests "mv db/runs.db-shm else && : >db/runs.db-shm"
    check "... it says so" says "db/runs.db-shm was (removed|replaced)"
    keeps db/runs.db
done

hit "another one in its place" false "mv db/runs.db else && cp spare/spare.db db/runs.db"
check "... it says so" says "db/runs.db was (replaced|moved away) while it was written; $acknowledged, and are in the file that was moved away: put it back"
check "... the other one is as it was" cmp spare/spare.db db/runs.db
mv else/runs.db db
keeps db/runs.db
goes_on db/runs.db

# A directory that gets another name takes its database along; nothing of it is lost.
rm -rf db else
mkdir db
start ./work run --db db/runs.db --rests=false
within 20 test -s out
mv db else
lines=$(wc -l <out)
goes_further() { [ "$(wc -l <out)" -gt $((lines + 300)) ]; } # long enough for a look
check "a directory with another name: the run goes on" within 60 goes_further
kill -TERM "$pid"
finish
check "... and is recorded there" ended 130
cp out shown
keeps else/runs.db
