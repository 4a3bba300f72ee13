#!/bin/sh
# One database, several names: links are followed, a file with two names is refused, and so is what stands in the place of its companions.
. "$here/lib.sh"
cat >work.tfy <<'END2'
tool book() -> int once = exec ["sh", "-c", "echo x >>ledger; echo 1"]
workflow main() -> int {
    let go: int = yield signal("go")
    let booked = yield book()
    return go + booked
}
END2
tfy build work.tfy -o work >/dev/null
mkdir real
ln -s real/runs.db link.db
ln -s link.db again.db
companions() { ls -d ./*-tfy ./*-wal ./*-shm ./*-live ./*-new 2>/dev/null; }
booked() { wc -l <ledger; }
lives() { within 20 sh -c 'tfy ps --db real/runs.db | grep -q "running"'; } # the newest run has begun, and is recorded

# A link to nothing names the file that is made.
start ./work run --db again.db --wait
check "a link to nothing: the file is made where it points" lives
check "... the link is still one" [ -L link.db ]
check "... and nothing stands beside it" [ -z "$(companions)" ]
owner=$pid
for name in link.db real/runs.db "$PWD/again.db"; do
    run ./work resume last --db "$name"
    check "a second process is kept out by $name" ended 75 "real/runs.db is held by pid $owner (work)"
done
run tfy ps --db link.db
check "who only looks may" printed "running"
mv real moved
run ./work resume last --db moved/runs.db
check "... kept out by the name of a directory that was renamed" ended 75 "moved/runs.db is held by pid $owner (work)"
mv moved real
run tfy signal last go 3 --db link.db
check "an answer finds the owner by the link" ended 0 "sent"
pid=$owner
finish
check "... it goes on and ends" ended 0
check "... what is once was done once" [ "$(booked)" = 1 ]
run tfy verify --db real/runs.db
check "... the database is sound by its own name" ended 0
run tfy replay last --db again.db
check "... and by the link's" ended 0

# Killed under one name, taken up under another.
start ./work run --db link.db --wait
lives
kill -KILL "$pid"
finish
run tfy signal last go 4 --db again.db
run ./work resume last --db real/runs.db
check "what was killed under a link is taken up under its name" printed_exactly 5
check "... done once" [ "$(booked)" = 2 ]

# A mount gives the same file a second name that no link shows.
if unshare -Urm true 2>/dev/null; then
    start ./work run --db link.db --wait
    lives
    mkdir else
    : >else/other.db
    sh=$(cat <<'END2'
mount --bind real/runs.db else/other.db || exit 99
"$@"
END2
    )
    run unshare -Urm sh -c "$sh" sh ./work resume last --db else/other.db
    check "a mounted second name is kept out" ended 75 "else/other.db is held by another process, which has it under another name"
    run unshare -Urm sh -c "$sh" sh tfy ps --db else/other.db
    check "... and who only looks, for the -wal file is elsewhere" ended 75 "under another name"
    tfy signal last go 3 --db real/runs.db >said 2>&1
    finish
    check "... the owner ends in order" ended 0
fi

# refused NAME TEXT COMMAND…: the commands that write and those that read say so, and change nothing.
refused()
{
    name=$1 text=$2
    sum=$(cat real/* precious 2>/dev/null | cksum)
    for command in "tfy run work.tfy" "tfy resume last" "tfy ps" "tfy inspect last" "tfy verify" "tfy adopt" "tfy gc --keep 1"; do
        run $command --db real/runs.db
        check "$name: $command" ended 65 "$text"
    done
    run tfy salvage real/runs.db taken_out.db
    check "$name: tfy salvage" ended 65 "$text"
    check "... makes nothing" [ ! -e taken_out.db ]
    check "$name: all is as it was" [ "$(cat real/* precious 2>/dev/null | cksum)" = "$sum" ]
}
ln real/runs.db second.db
refused "a hard link" "real/runs.db has 2 names (hard links)"
rm second.db
echo "something that is needed" >precious
for end in tfy wal shm; do
    mv "real/runs.db-$end" kept
    ln -s ../precious "real/runs.db-$end"
    refused "-$end is a link" "real/runs.db-$end is a symbolic link"
    rm "real/runs.db-$end"
    mv kept "real/runs.db-$end"
    ln "real/runs.db-$end" second
    refused "-$end has a second name" "real/runs.db-$end has a second name (a hard link)"
    rm second
done
mkdir fresh
ln -s ../precious fresh/runs.db-tfy
run tfy run work.tfy --db fresh/runs.db
check "a link in the place of a new database's companion" ended 65 "fresh/runs.db-tfy is a symbolic link"
check "... what it points at is as it was" [ "$(cat precious)" = "something that is needed" ]
check "... and no database is made" [ ! -e fresh/runs.db ]
rm fresh/runs.db-tfy
mkdir elsewhere
ln -s ../elsewhere fresh/runs.db-live
start ./work run --db fresh/runs.db --wait
check "a link in the place of the socket's directory is not gone through" within 20 grep -q "cannot be reached by approve" err
check "... nothing was made there" [ -z "$(ls elsewhere)" ]
kill -TERM "$pid"
finish

# What is not the name of a file.
for command in "tfy run work.tfy" "tfy ps" "tfy resume last" "./work run" "tfy signal last go 1"; do
    run $command --db ''
    check "$command --db ''" ended 64 "an empty name is not the name of a database"
    run $command --db :memory:
    check "$command --db :memory:" ended 64 "':memory:' is not the name of a file"
done
run env TFY_DB=:memory: tfy run work.tfy
check "TFY_DB=:memory:" ended 64 "':memory:' is not the name of a file"
check "none of them made a file" [ -z "$(ls -d :memory:* ./-* .tfy 2>/dev/null)" ]
