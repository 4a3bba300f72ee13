#!/bin/sh
# `limit` and `rate` of tools hold for all workers of one PostgreSQL together. The tools have a ledger outside the database.
. "$here/lib.sh"
. "$here/postgres_lib.sh"
# A use of a tool, for so many seconds; its end is missing in the ledger if it is killed.
cat >use <<'EOF'
#!/usr/bin/env python3
import sys, time
name, key, seconds = sys.argv[1:]
def tell(what, at=None):
    with open("ledger.txt", "a") as ledger:
        ledger.write(f"{name} {what} {key} {at or time.clock_gettime(time.CLOCK_BOOTTIME):.6f}\n")
# Since when the process is there, in hundredths of a second: what it needs until it gets here is no matter of the rate.
tell("begin", int(open("/proc/self/stat").read().rpartition(")")[2].split()[19]) / 100)
until = time.monotonic() + float(seconds)
while time.monotonic() < until:
    time.sleep(0.01)
    tell("alive")
tell("end")
EOF
chmod +x use
cat >shop.tfy <<'EOF'
tool alone(n: int) -> string idempotent limit 1 = exec ["./use", "alone", "${n}", "0.15"]
tool paced(n: int) -> string idempotent rate 5/1s = exec ["./use", "paced", "${n}", "0"]
workflow one(n: int) { yield alone(n) }
workflow many(n: int) {
    let _done = parallel for i in 0..10 { give yield paced(n * 100 + i) }
}
EOF
# No two lives of `alone` overlap; one that was killed ends with the last word that was heard of it.
cat >overlaps.py <<'EOF'
import sys
lives, last = [], {}
for line in open("ledger.txt"):
    name, what, key, at = line.split()
    if name != "alone":
        continue
    if what == "begin":
        last[key] = [float(at), float(at), key]
        lives.append(last[key])
    else:
        last[key][1] = float(at)
lives.sort()
for one, two in zip(lives, lives[1:]):
    assert one[1] <= two[0] + 0.01, (one, two)
assert len(lives) >= int(sys.argv[1]), len(lives)
EOF
cat >paced.py <<'EOF'
at = sorted(float(line.split()[3]) for line in open("ledger.txt") if line.startswith("paced begin"))
for one, sixth in zip(at, at[5:]):
    assert sixth - one >= 0.98, (one, sixth)
assert len(at) == 20, at
EOF
tfy db create "$TFY_DB" --lease 3s >/dev/null
tfy deploy shop.tfy >/dev/null
# Each worker has a pool of its own, so that both have runs.
begin() { # NAME: $worker
    tfy worker shop.tfy --name "$1" --pool "$1" --drain 5s 2>>"$1.log" &
    worker=$!
}
unfinished() { [ "$(sql "select count(*) from tfy.run where state < 12")" = 0 ]; }
alive() { [ "$(sql "select count(*) from tfy.session where state = 0")" = "$1" ]; }

# ---- a limit ----

begin east
east=$worker
begin west
west=$worker
check "two workers are there" within 10 alive 2
start_alone() { # FIRST: twelve runs, six in each pool
    for pool in east west; do
        seq "$1" $(($1 + 5)) | xargs -P 2 -I{} tfy start shop.one --n "{}" --pool $pool >/dev/null
    done
}
start_alone 1 &
starts=$!
lent() { tfy cluster | grep -Eq "^shop.tfy/alone +1 +0 +[0-9]+$"; }
check "what is lent is shown" within 10 lent
wait "$starts"
check "all runs end" within 40 unfinished
check "a tool with limit 1 never works twice at a time" python3 overlaps.py 12

# ---- and a worker is lost ----

: >ledger.txt
start_alone 21
check "a tool works" within 10 grep -q "^alone begin" ledger.txt
kill -STOP "$east" # so that it cannot speak for its process
pkill -KILL -P "$east"
kill -KILL "$east"
wait "$east" 2>/dev/null
begin east
east=$worker
check "all runs end" within 40 unfinished
check "what it had came back when its tools were dead" python3 overlaps.py 12

# ---- a rate ----

check "two workers are there again" within 20 alive 2
: >ledger.txt
tfy start shop.many --n 1 --pool east >/dev/null
tfy start shop.many --n 2 --pool west >/dev/null
check "all runs end" within 60 unfinished
check "no more than five begin in any second" python3 paced.py
kill -TERM "$east" "$west"
wait "$east"
check "a worker ends in order" [ $? = 0 ]
wait "$west"
check "what those that have ended had is not shown" sh -c '! tfy cluster 2>&1 | grep -q shop.tfy/alone'
