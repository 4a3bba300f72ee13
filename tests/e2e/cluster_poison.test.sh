#!/bin/sh
# Runs of which processes die: they are executed by a process of their own, then held, and the other runs of the program go on.
. "$here/lib.sh"
. "$here/postgres_lib.sh"
cat >shop.tfy <<'EOF'
/// Dies in the way that is named, while the file of that name is there.
tool fragile(how: string) -> string idempotent = extern "shop_fragile"
workflow calls(how: string) -> string {
    yield sleep(10ms)
    let said = yield fragile(how)
    return said
}
workflow naps() { yield sleep(4s) }
workflow sound(n: int) -> int {
    yield sleep(300ms)
    yield sleep(300ms)
    return n + 1
}
EOF
cat >shop.c <<'EOF'
#include "shop.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool shop_fragile(TfyTask *task, TfyObj *how, TfyObj **out)
{
    const char *word = ((const TfyString *)how)->bytes;
    const bool bad = access(word, F_OK) == 0;
    if (bad && strcmp(word, "aborts") == 0) abort();
    if (bad && strcmp(word, "exits") == 0) exit(3);
    if (bad && strcmp(word, "unlucky") == 0) unlink(word), abort();
    if (bad && strcmp(word, "leaves") == 0) raise(SIGKILL);
    if (bad) raise(SIGSEGV);
    *out = tfy_string_of(task, word, strlen(word));
    return *out != NULL;
}
EOF
tfy db create "$TFY_DB" --lease 3s >/dev/null
tfy build --shared shop.tfy shop.c -o shop.so >/dev/null
tfy deploy shop.tfy >/dev/null
begin() { # NAME: $worker, and NAME.log
    tfy worker shop.so --name "$1" --drain 5s 2>>"$1.log" &
    worker=$!
}
held() { [ "$(sql "select count(*) from tfy.run where held = 'poison'")" = "$1" ]; }
unfinished() { [ "$(sql "select count(*) from tfy.run where state < 12")" = "$1" ]; }
said() { [ "$(cat ./*.log | grep -cF -- "$2")" = "$1" ]; } # TIMES TEXT
ended_in_order() { [ "$(sql "select count(*) from tfy.session where state = 8")" = "$1" ]; }
ulimit -c 0

# ---- a bad run among good ones ----

touch aborts crashes exits
for how in aborts crashes exits; do tfy start shop.calls --how $how; done >bad
seq 20 | xargs -I{} tfy start shop.sound --n {} >good
begin one
check "runs of which processes die are held" within 40 held 3
check "... and the others end meanwhile" within 10 unfinished 3
check "... each after three processes" [ "$(sql "select string_agg(crashes::text, ' ') from tfy.run where held = 'poison'")" = "3 3 3" ]
check "... of which two had no other run" [ "$(sql "select count(*) from tfy.run where state = 12 and claims > 4")" = 0 ]
check "the worker says once that a run is held" said 3 "3 processes have died while they executed it"
check "... names it, and says what to do" grep -q "run $(head -1 bad) is held: .*'tfy release $(head -1 bad)'" one.log
check "... and says what happens before" said 6 "is continued by a process of its own"
check "a run that nothing is wrong with is not blamed" [ "$(sql "select count(*) from tfy.run where state = 12 and crashes > 0")" = 0 ]
touch unlucky
tfy start shop.calls --how unlucky >unlucky.run
check "a run of which one process died is done by a process of its own" within 20 sh -c 'tfy result "$(cat unlucky.run)" | grep -q unlucky'
check "... which ends in order when there are no such runs" within 30 ended_in_order 1
check "... and the other one stays" [ "$(sql "select count(*) from tfy.session where state = 0")" = 1 ]

# ---- kills that say nothing of a run ----

touch leaves
tfy start shop.calls --how leaves >left
child=$(pgrep -P $worker | head -1)
check "a process that is killed blames no run" within 20 sh -c '[ "$(psql -h "$0" -U tfy -d tfy -qAtc "select crashes from tfy.run where claims > 2 and held is null and state < 12")" = 0 ]' "$pg"
rm leaves
check "... which is done when nothing kills it" within 40 sh -c 'tfy result "$(cat left)" | grep -q leaves'
# ---- people ----

first=$(sed -n 1p bad) second=$(sed -n 2p bad)
run tfy inspect "$first"
check "inspect says that a run is held, why, and what to do" sh -c 'grep -q "^held  *poison: processes have died" out && grep -q "tfy .*release $0" out' "$first"
run tfy ps --state held --json
check "so does ps" [ "$(grep -c '"held":"poison"' out)" = 3 ]
run tfy ps --state held
check "... in its table" [ "$(grep -c ' (held: poison)' out)" = 3 ]
run tfy kill "$second"
check "what is sent to a held run is kept, and says so" ended 75 "run $second is held (poison): nobody takes it before"
rm aborts
run tfy release "$first" "$second"
check "a person releases runs" printed "$first: released (it was held: poison)"
check "... which are done then" within 20 sh -c 'tfy result "$0" | grep -q aborts' "$first"
check "... and hear what was sent meanwhile" within 20 sh -c 'tfy ps --state cancelled | grep -q " calls"'
check "... and are to blame for nothing any more" [ "$(sql "select crashes from tfy.run where uuid = '$first'")" = 0 ]
run tfy release "$first"
check "a run that has ended is not released" ended 1 "already ended"
tfy start shop.calls --how later --pool later >later
run tfy hold "$(cat later)"
check "a person holds a run" printed_exactly "$(cat later): held"
run tfy hold "$(cat later)"
check "... once" printed_exactly "$(cat later): is held already (person)"
run tfy release "$(cat later)"
check "... and lets it go" printed_exactly "$(cat later): released (it was held: person)"
run tfy release "$(cat later)"
check "... once" printed_exactly "$(cat later): is not held"
tfy start shop.naps >napping
owned() { [ -n "$(sql "select owner from tfy.run where uuid = '$(cat napping)'")" ]; }
check "a run is executed" within 10 owned
run tfy hold "$(cat napping)"
check "... and is held when its session leaves it" printed "held as soon as session"
run tfy inspect "$(cat napping)"
check "... as inspect says" printed "person, as soon as its session leaves it"
run tfy hold "$(cat napping)" none
check "a run that is not there" ended 69 "none"
run tfy hold "$(cat napping)" --db runs.db
check "a file has no such runs" ended 64 "PostgreSQL"
kill -TERM $worker
wait $worker
check "the worker ends in order" [ $? = 0 ]
check "... and what it left is held" sh -c 'tfy ps --state held | grep -q " naps (held: person)"'

# ---- records that are damaged ----

tfy start shop.sound --n 1 >damaged
tfy start shop.sound --n 2 >whole
sql "update tfy.record set payload = replace(payload, '\"n\":1', '\"n\":7') where run = (select id from tfy.run where uuid = '$(cat damaged)')"
begin three
check "a run whose records are damaged is held" within 20 sh -c 'tfy ps --state held | grep -q " sound (held: damaged)"'
check "... as the worker says" grep -q "set aside: .*tfy release" three.log
check "... whose process stays" sh -c '! grep -q "started again" three.log'
check "... with the others" within 20 sh -c 'test "$(tfy result "$(cat whole)")" = 3'
sql "update tfy.record set payload = replace(payload, '\"n\":7', '\"n\":1') where run = (select id from tfy.run where uuid = '$(cat damaged)')"
tfy release "$(cat damaged)" >/dev/null
check "... and which is done when it is mended and released" within 20 sh -c 'test "$(tfy result "$(cat damaged)")" = 2'
kill -TERM $worker
wait $worker

# ---- memory ----

if ! (ulimit -v 1500000 && tfyc --version) >/dev/null 2>&1; then
    echo "skipped memory that runs out: this build needs more than that by itself"
    exit 0
fi
cat >heap.tfy <<'EOF'
workflow main(until: int) -> int {
    yield sleep(10ms)
    var parts = ["0123456789abcdef"]
    for _ in 0..until { parts = parts.concat(parts) }
    return parts.len()
}
EOF
tfy deploy heap.tfy >/dev/null
tfy start heap --until 40 >much
tfy start heap --until 4 >little
(ulimit -v 1500000; exec tfy worker heap.tfy --name two --drain 5s) 2>>two.log &
worker=$!
check "a run that takes all memory is held" within 60 held 2
check "... and the others of its program are done" within 20 sh -c 'test "$(tfy result "$(cat little)")" = 16'
check "... once more with words" grep -q "run $(cat much) is held: 3 processes" two.log
kill -TERM $worker
wait $worker
