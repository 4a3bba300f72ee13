#!/bin/sh
# What ./dev demo --cluster shows: runs on two workers over one PostgreSQL, of which one worker is killed and one is frozen.
. "$here/lib.sh"
[ -n "$(ls /usr/lib/postgresql/*/bin/initdb 2>/dev/null)" ] || { echo "skipped: PostgreSQL is not installed"; exit 0; }
run env ORDERS=120 TMPDIR=/tmp TFY="$(command -v tfy)" sh "$EXAMPLES/cluster/demo.sh"
check "the demo of many machines ends" [ "$status" = 0 ]
check "... all orders are charged" grep -q "120 orders, 120 charged" out
check "... none by a former owner" grep -q " 0 by a former owner" out
check "... and all runs completed" grep -q "120 runs have ended, 120 of them completed" out
check "a worker was frozen, and killed at its deadline" grep -q "of west: its process was killed" out
check "a worker was killed, and missed" grep -q "of east: it committed nothing" out
check "nothing is left" [ -z "$(ls -d /tmp/tfy-cluster.* 2>/dev/null)" ]
