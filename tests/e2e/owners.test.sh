#!/bin/sh
# Several processes want one database: one of them writes, the others hear who does, whoever is killed and whatever lies about.
. "$here/lib.sh"
cat >work.tfy <<'END'
tool book(n: int) -> int once = exec ["sh", "-c", "echo \$1 >>ledger; echo \$1", "book", "${n}"]
workflow main() -> int {
    let first = yield book(1)
    let go: int = yield signal("go")
    let second = yield book(2)
    return first + second + go
}
END
tfy build work.tfy -o work >/dev/null

# crowd COMMAND…: five processes at once; when four of them have ended, the one that is left is $owner, and its process $pid.
crowd()
{
    rm -f status.* pid.*
    for i in 1 2 3 4 5; do
        sh -c 'i=$1; shift; "$@" >out.$i 2>err.$i </dev/null & echo $! >pid.$i; wait $!; echo $? >status.$i' crowd "$i" "$@" &
    done
    within 20 sh -c '[ "$(cat status.? | wc -l)" = 4 ]'
    cat status.? >statuses
    for i in 1 2 3 4 5; do [ -e "status.$i" ] || owner=$i; done
    pid=$(cat "pid.$owner")
}
runs() { sqlite3 -readonly runs.db 'select count(*) from run'; }
held() # all but the owner; by name, unless they come before it has written that down
{
    [ "$(sort -u statuses)" = 75 ] && grep -q "is held by pid $pid (work)" err.? &&
        [ "$(grep -lE "is held by (pid $pid \(work\)|another process); wait until it exits, or stop it" err.? | wc -l)" = 4 ] ||
        { cat err.?; return 1; }
}

crowd ./work run --db runs.db --wait
check "of five that begin at once one has the database" held
within 20 grep -q 1 ledger
check "... and only that one's run is there" [ "$(runs)" = 1 ]
kill -KILL "$pid"
wait
crowd ./work resume last --db runs.db --wait
check "of five that take up a killed one's run one does" held
tfy signal last go 7 --db runs.db >said 2>&1
wait
check "... and ends it" [ "$(cat "status.$owner" "out.$owner")" = "$(printf '0\n10')" ]
check "what is once was done once" [ "$(cat ledger)" = "$(printf '1\n2')" ]
run tfy verify --db runs.db
check "the database is sound" ended 0

# What the lock's file says of an owner that is gone keeps nobody out.
printf 'pid 1 (init)\n' | dd of=runs.db-tfy conv=notrunc 2>dd
start ./work run --db runs.db --wait
check "a name that was left in the lock's file" within 20 sh -c '[ "$(wc -l <ledger)" = 3 ]'

# Somebody takes the file for a leftover and deletes it while its owner lives. The database itself is locked too.
rm runs.db-tfy
older=$pid
run tfy adopt --db runs.db
check "who wants the database then is kept out" ended 75 "is held by another process, which has it under another name, or its file runs.db-tfy was removed"
tfy signal last go 7 --db runs.db >said 2>&1
pid=$older
finish
check "... its owner goes on, and ends in order" ended 0
check "... what is once was done once" [ "$(cat ledger)" = "$(printf '1\n2\n1\n2')" ]
run tfy verify --db runs.db
check "... the database is sound" ended 0

# A child that its dead parent left behind has the lock too, until it closes the file: for a moment, or not.
sleep 0 & # a number that nobody has any more
gone=$!
wait
cat >holds.py <<'END'
import fcntl, os, struct, sys, time
fd = os.open("runs.db-tfy", os.O_RDWR)
fcntl.fcntl(fd, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 1, 0))
os.pwrite(fd, b"pid %s (work)\n" % sys.argv[1].encode(), 0)
open("holding", "w").close()
time.sleep(float(sys.argv[2]))
END
python3 holds.py "$gone" 0.3 & # what follows is well within the five seconds that are waited for
within 20 test -e holding
run tfy gc --keep 100 --db runs.db
check "who is only just left behind is waited for" ended 0
wait
rm holding
python3 holds.py "$gone" 1000 &
holder=$!
within 20 test -e holding
run tfy gc --keep 100 --db runs.db
check "who stays is named" ended 75 "is held by a process left behind by pid $gone (work)"
kill "$holder"
wait
run tfy gc --keep 100 --db runs.db
check "... until it goes" ended 0

# A command that answers holds the database for a moment: a resume waits for it, and a run that is under way is reported at once.
cat >waits.tfy <<'END'
workflow main() -> int {
    let value: int = yield signal("go")
    return value
}
END
tfy run waits.tfy --db brief.db </dev/null >out 2>&1
tfy signal last go 4 --db brief.db >out 2>&1
python3 - <<'END' &
import fcntl, time
with open("brief.db-tfy", "r+") as file:
    fcntl.lockf(file, fcntl.LOCK_EX, 1, 0, 0)
    open("holding", "w").close()
    time.sleep(0.4)
END
while [ ! -e holding ]; do sleep 0.02; done
run tfy resume last --db brief.db
check "a resume waits for a command that holds the database briefly" ended 0
check "... and goes on" printed 4
wait
