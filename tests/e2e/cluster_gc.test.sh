#!/bin/sh
# tfy gc on PostgreSQL: runs that have ended are removed or archived while a worker executes others.
. "$here/lib.sh"
. "$here/postgres_lib.sh"
tfy db create "$TFY_DB" --lease 3s >/dev/null
cat >short.tfy <<'EOF'
tool large(n: int) -> string pure = exec ["sh", "-c", "head -c 400000 /dev/zero | tr '\\0' x"]
error Broken {}
type Note {
    n: int,
}
workflow main(n: int) -> int {
    if n == 0 {
        fail Broken("it failed")
    }
    if n == 1 {
        let text = yield large(n)
        return text.len()
    }
    yield save("notes", Note(n: n))
    return n
}
workflow stays() -> bool {
    return yield approve("stay?")
}
EOF
tfy deploy short.tfy >/dev/null
tfy worker short.tfy --name one 2>worker.log &
worker=$!
for n in 0 1 2 3 4 5; do tfy start short --n $n; done >runs
tfy start short --n 7 --id once-a-day >named
tfy start short.stays >waits
have_ended() { [ "$(sql "select count(*) from tfy.run where state >= 12 and owner is null")" = "$1" ]; }
within 30 have_ended 7
check "runs have ended" have_ended 7
waits() { tfy ps --json | grep -q "$(cat waits)"; }
check "one has not" waits

run tfy gc
check "one has to say what may go" [ "$status" = 64 ]
for option in --compact "--max-size 1G" "--keep 1 short.c"; do
    run tfy gc $option
    check "gc $option is refused on PostgreSQL" [ "$status" = 64 ]
done
run tfy gc --older-than 1h
check "nothing is that old" grep -qF -- "0 runs with 0 records were dropped" err
run tfy gc --keep 2 --dry-run
check "a dry run names what would go" [ "$(grep -c records out)" = 5 ]
check "... and says that no key is lost" grep -qF -- "runs with" err
check "... and nothing is gone" have_ended 7
sql "insert into tfy.session(worker, state, lease_ms, ended) values ('old', 9, 3000, 1)"
sql "insert into tfy.inbox(run, n, body, at, verdict) values ((select id from tfy.run where uuid = '$(cat waits)'), 1, '{}', 1, 'taken')"

first=$(sql "select uuid from tfy.run where state >= 12 order by ended, id limit 1")
run tfy gc --keep 6 --archive old.db --json
check "the first that ended is archived" [ "$(grep -c '"run":' out)" = 1 ]
check "... it is named" grep -q "$first" out
check "... it is in the file" sh -c "TFY_DB=old.db tfy inspect $first"
check "... which is right" env TFY_DB=old.db tfy verify
check "... and not in the database" [ -z "$(sql "select 1 from tfy.run where uuid = '$first'")" ]
check "what ended sessions and old verdicts leave is removed" [ "$(sql "select (select count(*) from tfy.session where worker = 'old') + (select count(*) from tfy.inbox)")" = 0 ]

large=$(sed -n 2p runs)
tfy wal export "$large" -o before >/dev/null 2>&1
run tfy gc --older-than 0s --archive old.db
check "all that ended are archived, but for the named one" grep -qF -- "were archived and dropped" err
check "... it says why that one stays" grep -qF -- "the same key or --id" err
check "... it is there" have_ended 1
run env TFY_DB=old.db tfy ps --json
check "all six are in the file" [ "$(grep -c '"run":' out)" = 6 ]
TFY_DB=old.db tfy wal export "$large" -o after >/dev/null 2>&1
same() # but for the numbers of records
{
    for file in before/*.wal; do
        for side in before after; do sed 's/"lsn":[0-9]*//' "$side/$(basename "$file")" >"$side.wal" || return 1; done
        cmp before.wal after.wal || return 1
    done
}
check "... with the same history" same
run tfy result "$large" --db old.db
check "... and the same result" printed 400000
left() { sql "select (select count(*) from tfy.record where run in (select id from tfy.run) is false) + (select count(*) from tfy.piece) + (select count(*) from tfy.task where not exists (select 1 from tfy.run where id = task.run))"; }
check "nothing of them is left" [ "$(left)" = 0 ]
check "saved rows stay" [ "$(sql "select count(*) from saved.notes")" = 5 ]
run tfy start short --n 7 --id once-a-day
check "the named run is still that run" cmp -s out named
run tfy approve "$(cat waits)"
check "the run that waited is untouched" [ "$status" = 0 ]
within 20 have_ended 2
check "... and ends" have_ended 2

# A gc that is killed leaves whole runs; the next one does the rest.
sql "insert into tfy.run(uuid, program, queue, state, root, started, ended, sum) select ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 1, 1, 12, 1, 1, 1, 0 from generate_series(1, 5000) n"
sql "insert into tfy.record select id, 1, 1, 1, n, n - 1, 1, 1, 1, 1, '{}' from tfy.run, generate_series(1, 20) n where uuid::text like '00000000-0000-7000-8000-%'"
tfy gc --older-than 1h >killed 2>&1 &
gc=$!
some() { [ "$(sql "select count(*) from tfy.run where uuid::text like '00000000-0000-7000-8000-%'")" -lt 5000 ]; }
within 20 some
kill -KILL $gc 2>/dev/null
wait $gc 2>/dev/null
check "a killed gc leaves runs with all their records" [ "$(sql "select count(*) from (select run from tfy.record where run in (select id from tfy.run where uuid::text like '00000000-0000-7000-8000-%') group by run having count(*) <> 20) s")" = 0 ]
run tfy gc --older-than 1h
check "the next one removes the rest" [ "$(sql "select count(*) from tfy.run where ended = 1")" = 0 ]
check "... and their records" [ "$(left)" = 0 ]
run tfy db check
check "there is room for more runs" sh -c '! grep -q "more runs fit" err'
sql "select setval('tfy.run_id_seq', 19999000)" >/dev/null
run tfy db check
check "db check says when there is none" grep -qF -- "only 1000 more runs fit" err
kill -TERM $worker
wait $worker
check "the worker has seen nothing of all that" sh -c '! grep -qi "error\|damaged\|failed:" worker.log'
