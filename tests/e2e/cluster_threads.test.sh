#!/bin/sh
# tfy worker --threads: several loops of one process execute runs in one session. The process is killed, one of its loops hangs, and
# one dies of a run that it executes.
. "$here/lib.sh"
. "$here/postgres_lib.sh"
cat >shop.tfy <<'EOF'
/// Says which thread executes it. Goes wrong in the way that is named, while the file of that name is there.
tool odd(how: string) -> string idempotent = extern "shop_odd"
/// Is noted outside the database when it begins and when it ends.
tool charge() -> string once limit 4 = exec [
    "sh", "-c", "echo \"begin \$TFY_KEY \$TFY_FENCE\" >>ledger.txt; sleep 0.05; echo \"end \$TFY_KEY \$TFY_FENCE\" >>ledger.txt; echo charged"]

workflow thread() -> string {
    var said = ""
    for _ in 0..20 { said = yield odd("") }
    return said
}
workflow calls(how: string) -> string {
    yield sleep(10ms)
    return yield odd(how)
}
workflow hears() -> int {
    let n: int = yield signal("go")
    let m: int = yield signal("go")
    return 10 * n + m
}
workflow orders(n: int) -> int {
    yield charge()
    yield sleep(50ms)
    yield charge()
    return n
}
EOF
cat >shop.c <<'EOF'
#include "shop.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Without a word it takes so long that the other loop executes something meanwhile. */
bool shop_odd(TfyTask *task, TfyObj *how, TfyObj **out)
{
    const char *word = ((const TfyString *)how)->bytes;
    char name[32] = "?";
    const bool bad = *word && access(word, F_OK) == 0;
    if (!*word) usleep(5000);
    if (bad && strcmp(word, "aborts") == 0) abort();
    while (bad && access(word, F_OK) == 0) usleep(1000);
    pthread_getname_np(pthread_self(), name, sizeof name);
    *out = tfy_string_of(task, name, strlen(name));
    return *out != NULL;
}
EOF
tfy db create "$TFY_DB" --lease 3s >/dev/null
tfy build --shared shop.tfy shop.c -o shop.so >/dev/null
tfy deploy shop.tfy >/dev/null
begin() { # NAME: $worker, and NAME.log
    tfy worker shop.so --threads 2 --name "$1" --drain 5s 2>>"$1.log" &
    worker=$!
}
unfinished() { [ "$(sql "select count(*) from tfy.run where state < 12")" = "${1:-0}" ]; }
settled() # all have ended, or are in doubt
{
    [ "$(sql "select count(*) from tfy.run where state < 12")" = "$(tfy ps --state doubt --limit 1000 --json | grep -c '"run"')" ]
}
ulimit -c 0

for words in 0 65 two 2x ""; do
    run tfy worker shop.so --threads "$words"
    check "--threads '$words' is refused" ended 64 "from 1 to 64, not '$words'"
done

# ---- one session, two loops ----

seq 40 | xargs -P 4 -I{} tfy start shop.thread >started
begin one
check "the worker says in how many threads" within 10 grep -q "executes the runs of shop, in 2 threads" one.log
check "runs end" within 20 unfinished
for name in $(cat started); do tfy result "$name"; done >threads
check "... in both threads" [ "$(sort -u threads | wc -l)" = 2 ]
check "... of one session" [ "$(sql "select count(*) from tfy.session where state = 0")" = 1 ]
check "... which are about as busy" [ "$(sort threads | uniq -c | sort -n | awk 'NR == 1 { print $1 }')" -ge 10 ]
seq 30 | xargs -P 4 -I{} tfy start shop.hears >heard
while read -r name; do tfy signal "$name" go 4 && tfy signal "$name" go 2; done <heard >sent 2>&1
check "what is sent to runs arrives in both, in its order" within 20 unfinished
check "... once" [ "$(while read -r name; do tfy result "$name"; done <heard | sort | uniq -c | tr -s ' ')" = " 30 42" ]

# ---- the process is killed ----

ORDERS=40
seq $ORDERS | xargs -P 4 -I{} tfy start shop.orders --n {} >orders
begun() { [ "$(grep -c begin ledger.txt)" -ge "$1" ]; }
check "tools work" within 20 begun 12
pkill -KILL -P $worker
check "a process that is killed leaves its runs to the next one" within 30 settled
tfy ps --state doubt --limit 1000 --json | sed -n 's/.*"run": *"\([0-9a-f-]*\)".*/\1/p' >doubtful
while read -r name; do
    step=$(tfy inspect "$name" | sed -n 's/.*tfy resolve [^ ]* \([0-9]*\).*/\1/p' | head -1)
    if grep -q "^end $name/1/$step " ledger.txt; then tfy resolve "$name" "$step" --done '"charged"'; else tfy resolve "$name" "$step" --retry; fi
done <doubtful >resolved 2>&1
check "... and all end when a person has said what became of them" within 20 unfinished
check "... completed" [ "$(sql "select count(*) from tfy.run where state <> 12")" = 0 ]
resolved=$(sql "select count(*) from tfy.history where type = 'Resolved'")
check "no charge began twice but for those, and none beside a newer owner's" awk -v charges=$((2 * ORDERS)) -v resolved="$resolved" '
    $1 == "begin" { begun[$2]++ }
    $3 < fence[$2] { late++ }
    $3 > fence[$2] { fence[$2] = $3 }
    END {
        for (key in begun) { keys++; again += begun[key] - 1 }
        print keys, again, resolved, late + 0
        exit keys != charges || again > resolved || late > 0
    }' ledger.txt
check "each run is one chain without holes" tfy db check

# ---- a loop that hangs ----

touch hangs
tfy start shop.calls --how hangs >hanging
killed_again() { [ "$(grep -c "killed, as at the end of a lease" one.log)" = 2 ]; }
check "a loop that hangs loses the lease" within 20 killed_again
check "... as its process says before" grep -q "one of the loops of this process hangs" one.log
rm hangs
check "... and the run goes on elsewhere" within 30 unfinished

# ---- a run of which the process dies ----

touch aborts
seq 10 | xargs -P 4 -I{} tfy start shop.thread >others
tfy start shop.calls --how aborts >bad
check "a run of which processes die is held" within 40 sh -c 'tfy ps --state held | grep -q " calls (held: poison)"'
check "... and the others end meanwhile" within 20 unfinished 1
check "... none of which is blamed, though they were executed then" [ "$(sql "select count(*) from tfy.run where crashes > 0")" = 1 ]

kill -TERM $worker
wait $worker
check "it ends in order" [ $? = 0 ]
check "... and so does its session" [ "$(sql "select count(*) from tfy.session where state = 0")" = 0 ]
