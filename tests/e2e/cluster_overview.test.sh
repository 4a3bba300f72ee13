#!/bin/sh
# tfy cluster: who works on a PostgreSQL, on what, what waits there, and what nobody would take.
. "$here/lib.sh"
. "$here/postgres_lib.sh"
cat >shop.tfy <<'EOF'
tool ship(n: int) -> string once = exec ["sh", "-c", "touch shipping; sleep 60"]
workflow naps(n: int) {
    yield sleep(1h)
}
workflow ships(n: int) -> string { return yield ship(n) }
EOF
sed 's/1h/2h/' shop.tfy >newer.tfy
tfy db create "$TFY_DB" --lease 6s >/dev/null
run tfy cluster
check "a database without workers says so" printed "no worker is there"
run tfy cluster --db runs.db
check "a file has none" ended 64 "PostgreSQL"
tfy deploy shop.tfy >/dev/null
seq 3 | xargs -I{} tfy start shop.naps --n {} >started
tfy start shop.naps --n 4 --pool defualt >lost
run tfy cluster
check "what waits in a pool that nobody serves is named" ended 0 "no worker serves pool 'defualt', which has 1 run of shop"
check "... and each queue" sh -c 'grep -Eq "^default +shop +[0-9a-f]{12} +3 +[0-9.]+m?s +0 +0 +0 +0 +0$" out'
TFY_PARK_AFTER=500 tfy worker shop.tfy --name one --drain 1s 2>one.log &
worker=$!
waiting() { tfy cluster | grep -Eq "^default +shop +[0-9a-f]{12} +0 +- +0 +3 +0 +0 +1$"; }
check "runs that wait are counted" within 20 waiting
tfy hold "$(head -1 started)" >/dev/null
tfy start shop.ships --n 5 >shipped
owned() { tfy cluster | grep -Eq "^default +shop +[0-9a-f]{12} +0 +- +1 +2 +1 +0 +1$"; }
check "... and those that are held, and that a session has" within 10 owned
run tfy cluster
check "a worker is named, with its program, pool, runs and room" \
    sh -c 'grep -Eq "^one +shop +[0-9a-f]{12} +default +[0-9]+ +1 +1000 +[0-9.ms]+ +[0-9.ms]+$" out'
check "... and what is deployed" sh -c 'grep -Eq "^shop +[0-9a-f]{12} +100% +1$" out'
check "a tool works" within 10 test -e shipping
pkill -KILL -P $worker
doubtful() { tfy cluster | grep -Eq "^default +shop +[0-9a-f]{12} +0 +- +0 +3 +1 +1 +1$"; }
check "runs in doubt are counted" within 30 doubtful
tfy deploy newer.tfy --name shop >/dev/null
tfy start shop.naps --n 6 >/dev/null
run tfy cluster --json
python3 - out >said 2>&1 <<'EOF'
import json, sys
report = json.load(open(sys.argv[1]))
(worker,) = report["workers"]
assert worker["worker"] == "one" and worker["program"] == "shop" and worker["pool"] == "default", worker
assert worker["capacity"] == 1000 and worker["runs"] == 0 and 0 <= worker["silent_ms"] < 6000 <= worker["age_ms"] + 6000, worker
old, new, lost = [next(q for q in report["queues"] if q["pool"] == pool and q["deployed"] == new)
                  for pool, new in (("default", False), ("default", True), ("defualt", False))]
assert (old["ready"], old["waiting"], old["held"], old["in_doubt"], old["workers"]) == (0, 3, 1, 1, 1), old
assert (new["ready"], new["workers"], new["pool_workers"]) == (1, 0, 1) and new["oldest_ms"] >= 0, new
assert (lost["ready"], lost["workers"], lost["pool_workers"], lost["program"]) == (1, 0, 0, "shop"), lost
assert worker["version"] == old["version"] != new["version"]
assert [(p["program"], p["version"], p["workers"]) for p in report["programs"]] == [("shop", new["version"], 0)], report
EOF
check "the same as JSON" [ ! -s said ]
run tfy cluster
check "a version that no worker has is named" sh -c 'grep -q "no worker of pool .default. has version [0-9a-f]\{12\} of shop, which has 1 run" err'

# ---- queues that are paused ----

run tfy pause none
check "a program without queues is not paused" ended 69 "no queue of program none"
run tfy pause shop --pool default
check "queues are paused, of all versions of a program" sh -c '[ "$(grep -Ec "^default shop [0-9a-f]{12}: paused$" out)" = 2 ] && [ "$(wc -l <out)" = 2 ]'
run tfy cluster
check "... as cluster shows" [ "$(grep -c "  paused$" out)" = 2 ]
tfy deploy shop.tfy --name shop >/dev/null
tfy start shop.naps --n 7 >/dev/null
sleep 3
check "... and nobody claims their runs" [ "$(sql "select count(*) from tfy.run where claims = 0 and queue = (select min(id) from tfy.queue)")" = 1 ]
run tfy unpause --pool default
check "... until they are paused no longer" ended 0
check "... which cluster says, too" [ "$(tfy cluster 2>/dev/null | grep -c "  paused$")" = 0 ]
check "... and then they are executed" within 20 sh -c '[ "$(psql -h "$0" -U tfy -d tfy -qAtc "select count(*) from tfy.run where claims = 0 and queue = 1")" = 0 ]' "$pg"

kill -TERM $worker
wait $worker
check "a worker that has ended is not shown" sh -c 'tfy cluster 2>/dev/null | grep -q "no worker is there"'
