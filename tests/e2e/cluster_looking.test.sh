#!/bin/sh
# Commands that make, check, read and answer a database of PostgreSQL.
. "$here/lib.sh"
. "$here/postgres_lib.sh"

# ---- making and checking ----

run tfy db check "$TFY_DB"
check "a database without tables: 69, and what to type" ended 69 "has no tables of Tiffany; run \`tfy db create\`"
run tfy db create runs.db
check "a file is not an address: 64" ended 64 "'runs.db' is not the address of a database of PostgreSQL"
run tfy db create "$TFY_DB" --lease 1s
check "a lease that is too short: 64" ended 64 "3 s to 5 min"
run tfy db create "$TFY_DB" --lease soon
check "... and one that is not a time: 64" ended 64 "--lease takes a time from 3s to 5m, not 'soon'"
run tfy db create "$TFY_DB" --lease 10s
check "the tables are made" ended 0
run tfy db create "$TFY_DB"
check "... once: 65" ended 65 "already"
run tfy db check "$TFY_DB"
check "a check says how it was made" printed "lease      10s"
check "... and that no session lives" printed "sessions   0 alive"
check "... and ends well" ended 0
check "... and warns that it does not sync" ended 0 "fsync is turned off"
run tfy db check "$TFY_DB" --json
check "as JSON" jq -e '.usable and .lease_ms == 10000 and .lossy == false and .sessions == [] and .standbys == 0' out
sql "insert into tfy.session(worker, lease_ms, beat) values ('w', 10000, 3)"
run tfy db check "$TFY_DB" --json
check "a session that lives" jq -e '.sessions == [{"session": 1, "commits": 3, "lease_ms": 10000}]' out
sql "update tfy.session set state = 9"
sql "alter table tfy.run set (autovacuum_enabled = off)"
run tfy db check "$TFY_DB"
check "autovacuum that is turned off is a warning" ended 0 "autovacuum is turned off"
sql "alter table tfy.run reset (autovacuum_enabled)"
sql "update tfy.meta set reads_from = 9, format = 9"
run tfy db check "$TFY_DB"
check "a format of the future: 65" ended 65 "tables have format 9"
sql "update tfy.meta set reads_from = 1, format = 1"
run tfy db check "postgresql:///tfy?host=$pg/nowhere&user=tfy"
check "a server that is not there: 74, in one line" ended 74 "failed: No such file or directory; Is the server running"
