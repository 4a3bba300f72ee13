#!/bin/sh
# tfy db adopt: a backup that was restored becomes a database of its own. tfy db upgrade: one of an older format gets the tables of this
# version. A worker of an older version ends by itself.
. "$here/lib.sh"
. "$here/postgres_lib.sh"
cat >shop.tfy <<'EOT'
tool ship(n: int) -> string once = exec ["sh", "-c", "echo \"$TFY_FENCE\" >>shipped; while [ -e waits ]; do sleep 0.1; done; printf sent"]
workflow ships(n: int) -> string {
    let first = yield ship(n)
    let second = yield ship(n)
    return first + second
}
workflow naps() { yield sleep(1h) }
EOT
tfy db create "$TFY_DB" --lease 6s >/dev/null
tfy deploy shop.tfy >/dev/null
begin() { # NAME: $worker, and NAME.log
    tfy worker shop.tfy --name "$1" --drain 2s 2>>"$1.log" &
    worker=$!
}
touch waits
run_id=$(tfy start shop.ships --n 1)
begin one
check "a tool works" within 20 test -s shipped

# ---- a backup ----

(cd "$pg" && "$pg_bin/pg_dump" -h "$pg" -U tfy tfy) >backup
tree=$(pgrep -P $worker) # a machine that is lost says nothing
kill -KILL $worker
for pid in $tree; do kill -KILL "$pid"; done
wait $worker 2>/dev/null
rm waits
psql -h "$pg" -U tfy -d postgres -qc "drop database tfy with (force)" -c "create database tfy"
psql -h "$pg" -U tfy -d tfy -qX -v ON_ERROR_STOP=1 -f backup >restored 2>&1
sql "create role guest login"
run tfy db adopt "postgresql:///tfy?host=$pg&user=guest"
check "only the owner may adopt a database" ended 65 "only the owner of the tables may do this: role tfy"
run tfy db adopt "$TFY_DB"
check "a restored database is adopted" printed "1 session is ended, and 1 run that they had can be claimed"
check "... with another id" [ "$(sql "select count(*) from tfy.meta where db::text = '$(sed -n 's/^the database is \(.*\) now;.*/\1/p' out)'")" = 1 ]
begin two
doubtful() { tfy ps | grep -q doubt; }
check "the once step that was under way is in doubt" within 20 doubtful
tfy resolve "$run_id" 1 --done '"found"' >/dev/null
ended_well() { [ "$(tfy result "$run_id")" = '"foundsent"' ]; }
check "... and the run continues when a person has said what became of it" within 20 ended_well
check "tools have numbers that were never given before" awk 'NR == 1 { first = $1 } END { exit !(NR == 2 && $1 > first + 1000) }' shipped
run tfy db adopt "$TFY_DB" --json
check "the same as JSON" sh -c 'python3 -c "import json; r = json.load(open(\"out\")); assert len(r[\"db\"]) == 36 and (r[\"sessions\"], r[\"runs\"]) == (1, 0), r"'
check "sessions that know it by its former id end" within 20 sh -c 'grep -q "has ended" two.log'

# ---- formats ----

kill $worker
wait $worker
sql "drop index tfy.run_tenant; alter view tfy.history reset (security_invoker); alter table tfy.meta drop column least_claims, drop column roles; drop table tfy.limiter, tfy.permit_use, tfy.permit, tfy.question; drop index tfy.run_state, tfy.run_workflow; alter table tfy.run drop column program_name, drop column workflow, drop column by, drop column labels, drop column error, drop column tokens_in, drop column tokens_out, drop column cost; create table tfy.question(run int8, task int4, step int8, text text, type text, asked int8, primary key (run, task, step)); create table tfy.permit(name text, session int8, n int4, at int8); update tfy.meta set format = 1, reads_from = 1"
run tfy ps
check "an older format is refused, and named: 65" ended 65 "run \`tfy db upgrade\`"
run tfy db upgrade "postgresql:///tfy?host=$pg&user=guest"
check "only the owner may upgrade it" ended 65 "only the owner of the tables may do this: role tfy"
run tfy db upgrade "$TFY_DB"
check "it is upgraded" printed "the tables had format 1, and have format 2 now"
run tfy db upgrade "$TFY_DB"
check "... once" printed "the tables have format 2 already"
run tfy result "$run_id"
check "... and has what it had" printed_exactly '"foundsent"'
run tfy db upgrade "postgresql:///postgres?host=$pg&user=tfy"
check "a database without tables: 69" ended 69 "tfy db create"
run tfy db upgrade runs.db
check "a file has no formats to upgrade: 64" ended 64 "PostgreSQL"
tfy start shop.naps >/dev/null
begin three
check "a worker works" within 20 grep -q "executes the runs" three.log
sql "update tfy.meta set format = 9, reads_from = 9"
status=0
wait $worker || status=$?
check "a worker drains when the tables are for newer programs: 65" [ "$status" = 65 ]
check "... and says so" grep -q "was upgraded for a newer Tiffany than" three.log
check "... and its session ends in order" [ "$(sql "select count(*) from tfy.session where state = 0 or (worker = 'three' and state <> 8)")" = 0 ]
