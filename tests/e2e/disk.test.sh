#!/bin/sh
# The disk under a database: full for a while, of the network, and files that were copied, lost or cut behind tfy's back.
. "$here/lib.sh"
cat >work.tfy <<'END'
workflow main(n: int = 3, pause: duration = 0s) -> int {
    let text = "0123456789abcdef".repeat(400)
    for i in 0..n {
        let _t = yield now()
        print("${i} ${text}")
        yield sleep(pause)
    }
    return n
}
END
tfyc work.tfy -o work.c >/dev/null && ${CC:-cc} ${CFLAGS:-} -w -I"$build" -o work work.c "$build/runtime/libtfy.a" \
    $(pkg-config --libs sqlite3 jansson libxxhash libcurl libpcre2-8) -lm -lpthread 2>cc.err || cat cc.err

# A file system of 24 MB, in a name space of its own: nearly all of it is taken, and given back when the run has said that it waits.
cat >full.sh <<'END'
mkdir -p small && mount -t tmpfs -o size=24m none small || exit 99
./work --db small/runs.db --n 1 >/dev/null || exit 1
head -c 23900k /dev/zero >small/ballast 2>/dev/null
timeout 60 ./work --db small/runs.db --n 300 >shown 2>err &
for i in $(seq 200); do grep -q "the disk is full" err && break; sleep 0.1; done
grep -q "the disk is full: runs pause" err || { kill $!; exit 2; }
kill -0 $! || exit 3
rm small/ballast
wait $! || exit 4
grep -q "runs continue" err || exit 5
[ "$(grep -c 0123456789 shown)" = 300 ] || exit 6
tfy verify --db small/runs.db >/dev/null
END
unshare -rm sh full.sh >full.log 2>&1
status=$?
if [ $status = 99 ] || grep -q "unshare\|Operation not permitted" full.log; then
    echo "ok a full disk (no name spaces here: not tried)"
else
    check "a full disk: the run says so, waits, and goes on" [ $status = 0 ]
fi

run tfy run work.tfy --db runs.db
cat >statfs.c <<'END'
#include <string.h>
#include <sys/vfs.h>
int statfs64(const char *path, struct statfs64 *system)
{
    memset(system, 0, sizeof *system);
    system->f_type = 0x6969; /* NFS */
    return 0;
}
END
${CC:-cc} -D_GNU_SOURCE -shared -fPIC -o statfs.so statfs.c
case ${CFLAGS:-} in
*sanitize*) ;; # a library before the sanitizer's own is not to be had
*)
    run env LD_PRELOAD="$PWD/statfs.so" tfy resume last --db runs.db
    run env LD_PRELOAD="$PWD/statfs.so" ./work --db fresh/runs.db
    check "a database on NFS is not written" ended 74 "is on a network file system"
    check "... and nothing is made there" [ ! -e fresh/runs.db-tfy ]
    run env LD_PRELOAD="$PWD/statfs.so" tfy ps --db runs.db
    check "... and can be read" ended 0
    ;;
esac

# A run that was killed, so that its records are in the -wal file.
start ./work --db live.db --n 1000 --pause 10ms
within 20 sh -c 'grep -q "^5 " out'
kill -KILL "$pid"
finish
mkdir copy && cp live.db live.db-wal live.db-tfy copy
run ./work resume last --db copy/live.db
check "a copy is not gone on with" ended 65 "is a copy"
run tfy inspect last --db copy/live.db
check "... but can be inspected" ended 0
cp live.db-wal kept && : >live.db-wal
run tfy inspect last --db live.db
check "a -wal file that was emptied" ended 65 "were written: its -wal file is missing"
cp kept live.db-wal
printf x | dd of=live.db-wal bs=1 seek=10000 conv=notrunc 2>dd
run ./work resume last --db live.db
check "a -wal file with rot" ended 65 "its frame 2 is not what was written"
cat kept >live.db-wal
mv live.db-tfy away
run ./work resume last --db live.db
check "without the witness" ended 65 "which says how far the log goes, is missing"
mv away live.db-tfy
sqlite3 live.db "select count(*) from wal" >count
run tfy verify --db live.db
check "sqlite3 has looked on and moved the pages" ended 0
rm -f live.db-tfy
run tfy ps --db live.db
check "reading needs no witness" ended 0
