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
kill -TERM $worker
wait $worker
check "the worker ends in order" [ $? = 0 ]

# ---- memory ----

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
check "a run that takes all memory is held" within 60 held 4
check "... and the others of its program are done" within 20 sh -c 'test "$(tfy result "$(cat little)")" = 16'
check "... once more with words" grep -q "run $(cat much) is held: 3 processes" two.log
kill -TERM $worker
wait $worker
