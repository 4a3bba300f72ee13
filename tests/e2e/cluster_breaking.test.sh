#!/bin/sh
# tfy worker in the hands of somebody who does not know it: wrong words, signals that come twice, and messages that nobody reads.
. "$here/lib.sh"
. "$here/postgres_lib.sh"
cat >work.tfy <<'END'
tool slow(seconds: float) -> string idempotent = exec ["sh", "-c", "echo begin >>tool.txt; sleep \$1; echo end >>tool.txt; echo done", "slow", "${seconds}"]
workflow main(seconds: float) -> string {
    let said = yield slow(seconds)
    return said.trim()
}
END
cat >in_c.tfy <<'END'
tool boom(n: int) -> int pure = extern "boom"
workflow main(n: int) -> int {
    let found = yield boom(n)
    return found
}
END
cat >boom.c <<'END'
#include <stdlib.h>
#include "tfy.h"
bool boom(TfyTask *task, int64_t n, int64_t *out);
bool boom(TfyTask *task, int64_t n, int64_t *out)
{
    abort();
}
END
alive() { [ "$(sql "select count(*) from tfy.session where state = 0")" = "$1" ]; }
begun() { [ "$(grep -c begin tool.txt)" -ge "$1" ]; }
gone() { ! kill -0 "$1" 2>/dev/null; }
begin() { # LOG WORDS…: $worker, which has a session
    begin_log=$1
    shift
    tfy worker "$@" 2>"$begin_log" &
    worker=$!
    within 15 alive 1
}

# ---- words ----

run tfy worker work.tfy
check "a worker before 'tfy db create' says what to do" ended 69 "tfy db create"
tfy db create "$TFY_DB" --lease 4s >/dev/null
tfy deploy work.tfy >/dev/null
tfy deploy in_c.tfy >/dev/null
run tfy db check
check "db check looks at \$TFY_DB" ended 0
run env -u TFY_DB tfy db check
check "... or says that it needs an address" ended 64 "or \$TFY_DB"
run tfy worker work.tfy --pool ""
check "a pool without a name is refused" ended 64 "the name of a pool starts with a small letter"
run tfy worker work.tfy --pool Big
check "... and one that no run can be started for" ended 64 "so 'Big' cannot be one"
run tfy worker work.tfy --name "two
lines"
check "a worker's name is one word" ended 64 "visible ASCII"
run tfy start work.tfy --seconds 1
check "start takes no file" ended 64 "not its file: tfy start work"
run tfy worker in_c.tfy
check "tools in C: the message says what to type" ended 69 "tfy build --shared in_c.tfy FILE.c -o FILE.so"

# ---- signals ----

begin one.log work.tfy --drain 20s
tfy start work --seconds 2 >first
check "a tool works" within 10 begun 1
kill -TERM $worker
kill -INT $worker
wait $worker
check "two signals that come together are one" [ $? = 0 ]
check "... and the tool has its time" sh -c "cat one.log tool.txt; grep -q end tool.txt"
check "... which was announced" grep -q "tools under way have 20s to finish; a second signal ends them" one.log
begin two.log work.tfy --drain 60s
check "... and the next worker does not repeat it" within 10 sh -c 'test "$(tfy result "$(cat first)")" = "\"done\""'
tfy start work --seconds 30 >second
check "another tool works" within 10 begun 2
kill -TERM $worker
sleep 0.5
kill -TERM $worker
check "a second signal ends it" within 15 gone $worker
wait $worker
check "... as was announced" grep -q "a second signal: tools under way are ended" two.log
tfy kill "$(cat second)" --timeout 1ms >/dev/null 2>&1

# ---- messages that nobody reads ----

mkfifo unread
sleep 100 <>unread &
reader=$!
begin unread work.tfy --drain 1s
head -c 200000 /dev/zero 2>/dev/null | timeout 1 dd of=unread bs=4096 2>/dev/null
pkill -KILL -P $worker
check "a worker whose messages nobody reads starts its programs again" within 15 sh -c 'tfy start work --seconds 0 --wait | grep -q done'
kill -TERM $worker
check "... and stops" within 10 gone $worker
wait $worker
kill $reader
mkfifo read_once
head -n 1 <read_once >line &
begin read_once work.tfy --drain 1s
check "a worker whose reader goes away" within 10 grep -q session line
pkill -KILL -P $worker
check "... is not ended by that" within 15 sh -c 'tfy start work --seconds 0 --wait | grep -q done'
kill -TERM $worker
check "... and stops in order" within 10 gone $worker
wait $worker

# ---- a program that always crashes, beside a good one ----

tfy build --shared in_c.tfy boom.c -o in_c.so
tfy worker work.tfy in_c.so --drain 1s 2>both.log &
worker=$!
tfy start in_c --n 1 >/dev/null
check "a program that crashes is started again and again" within 15 sh -c '[ "$(grep -c "killed (Aborted)" both.log)" -ge 3 ]'
check "... and does not keep the other one" within 10 sh -c 'tfy start work --seconds 0 --wait | grep -q done'
check "... and leaves no process behind" [ "$(ps --ppid $worker -o stat= | grep -c Z)" = 0 ]
check "... and no descriptor" [ "$(find /proc/$worker/fd -type l | wc -l)" -lt 16 ]
kill -TERM $worker
wait $worker
check "the worker ends with it" alive 0

# ---- a process that dies while the database is away ----

sql "update tfy.meta set lease_ms = 60000"
begin away.log work.tfy
: >tool.txt
tfy start work --seconds 30 >run
begun_again() { begun 1; }
within 20 begun_again
pg_stops
pkill -KILL -P "$worker"
sleep 2
pg_starts
killed() { [ "$(sql "select count(*) from tfy.session where why = 'its process was killed' and lease_ms = 60000")" = 1 ]; }
check "the database hears of a process that died while it was away" within 20 killed
taken() { [ "$(sql "select count(*) from tfy.run r join tfy.session s on s.id = r.owner and s.state = 0 where r.uuid = '$(cat run)'")" = 1 ]; }
check "... and its run is taken long before the end of the lease" within 20 taken
kill -TERM "$worker"
kill -TERM "$worker"
wait "$worker"
