#!/bin/sh
# The roles of a database of PostgreSQL: each command works under the least role that it needs, and another role is refused in one line that
# names the role.
. "$here/lib.sh"
. "$here/postgres_lib.sh"
cat >shop.tfy <<'EOT'
type Row { n: int }
workflow saves(n: int) -> int {
    yield save("sales", Row(n: n))
    return n + 1
}
workflow asks() -> string { return yield ask("Who?") }
workflow hears() -> string {
    let word: string = yield signal("go")
    return word
}
EOT
server() { psql -h "$pg" -U tfy -d postgres -qAtX -v ON_ERROR_STOP=1 "$@"; }
as() { # LOGIN COMMAND…
    login=$1
    shift
    run env TFY_DB="postgresql:///tfy?host=$pg&user=$login" "$@"
}
refused() { # ROLE: in one line that names it
    [ "$status" = 65 ] && [ "$(wc -l <err)" = 1 ] && grep -qF "GRANT $1 TO \"$login\"" err
}

# ---- made ----

run tfy db create "$TFY_DB" --lease 6s
check "the roles are made with the tables" [ "$(server -c "select count(*) from pg_roles where rolname like 'tfy\\_%' and not rolcanlogin")" = 5 ]
check "... and the owner's role owns these" [ "$(sql "select distinct tableowner from pg_tables where schemaname = 'tfy'")" = tfy_owner ]
for role in owner worker sender reader gc; do server -c "create role a_$role login in role tfy_$role"; done
server -c "create role nobody_s login"

as a_owner tfy deploy shop.tfy
check "the owner deploys" ended 0
for role in reader sender worker gc; do
    as a_$role tfy deploy shop.tfy
    check "... and a $role does not" refused tfy_owner
done
as a_sender tfy start shop.saves --n 1
saves=$(cat out)
check "a sender starts runs" ended 0
printf '{}\n{}\n' | TFY_DB="postgresql:///tfy?host=$pg&user=a_sender" tfy start shop.asks --many - --pool other >many
check "... many, in a pool of its own" [ "$(wc -l <many)" = 2 ]
as a_sender tfy start shop.asks --after "$saves"
check "... and one after another" ended 0
asks=$(cat out)
as a_sender tfy start shop.hears
hears=$(cat out)
as a_reader tfy start shop.saves --n 1
check "a reader starts none" refused tfy_sender
as a_reader tfy worker shop.tfy --name reader
check "... and executes none" sh -c '[ '"$status"' = 65 ] && grep -q "GRANT tfy_worker TO" err'
as a_sender tfy hold "$asks"
check "a sender holds no run" refused tfy_worker
as a_sender tfy pause
check "... and pauses nothing" refused tfy_worker
as a_worker tfy hold "$asks"
check "a worker's role holds a run" ended 0
as a_worker tfy release "$asks"
check "... and releases it" ended 0
as a_worker tfy pause shop
check "... pauses a program" ended 0
as a_worker tfy unpause
check "... and lets it go on" ended 0

# ---- executed ----

TFY_DB="postgresql:///tfy?host=$pg&user=a_worker" tfy worker shop.tfy --name one --drain 1s 2>one.log &
worker=$!
done_is() { [ "$(tfy result "$1")" = "$2" ]; }
check "a worker executes them, and saves rows" within 20 done_is "$saves" 2
waits() { tfy ps --state waiting | grep -q "$asks"; }
asked() { tfy inspect "$asks" | grep -q "Who?"; }
check "... and asks people" within 20 asked
as a_reader tfy approve "$asks" ann
check "a reader answers nobody" refused tfy_sender
as a_sender tfy approve "$asks" ann
check "a sender answers" ended 0
as a_sender tfy signal "$hears" go '"now"'
check "... and signals" ended 0
check "... which the runs hear" within 20 done_is "$hears" '"now"'
as a_sender tfy kill "$(head -1 many)"
check "... and kills" ended 75

# ---- looked at ----

for words in "ps" "inspect $saves" "output $saves" "result $saves" "history $saves" "timeline $saves" "tasks $saves" "costs" "stats" \
    "diff $asks $asks" "cluster" "db check" "graph $saves" "verify"; do
    # shellcheck disable=SC2086
    as a_reader tfy $words
    check "a reader: tfy ${words% *}" [ "$status" = 0 ]
    # shellcheck disable=SC2086
    as nobody_s tfy $words
    check "... and nobody else" sh -c '[ "$0" != 0 ] && grep -q "GRANT tfy_reader TO .nobody_s." err' "$status"
done
run psql -h "$pg" -U a_reader -d tfy -qAtX -c "select count(*) from tfy.history where workflow = 'saves'"
check "a reader reads the view" [ "$(cat out)" -gt 2 ]

# ---- what nobody may ----

for login in a_worker a_sender a_reader; do
    for text in "update tfy.record set payload = '{}'" "delete from tfy.record" "delete from tfy.run" "update tfy.meta set lossy = true" \
        "select count(*) from tfy.record_0"; do
        run psql -h "$pg" -U $login -d tfy -qAtX -c "$text"
        check "$login: no $text" sh -c '[ '"$status"' != 0 ] && grep -q "permission denied" err'
    done
done
run psql -h "$pg" -U a_sender -d tfy -qAtX -c "update tfy.run set owner = 1"
check "a sender takes no run" sh -c '[ '"$status"' != 0 ] && grep -q "permission denied" err'

# ---- carried and removed ----

as a_worker tfy wal export "$saves" -o carried
check "a worker's role exports a run, with its saved rows" ended 0
as a_reader tfy wal export "$saves" -o other
check "... which a reader does not" refused tfy_worker
as a_gc tfy gc --older-than 0s
check "a gc removes what has ended" ended 0
check "... three runs" [ "$(sql "select count(*) from tfy.run where state >= 12")" = 0 ]
as a_worker tfy gc --older-than 0s
check "a worker removes nothing" refused tfy_gc
as a_worker tfy wal import carried/*.run
check "a worker's role imports a run" ended 0
kill $worker
wait $worker
for role in reader sender worker gc; do
    as a_$role tfy db upgrade "$TFY_DB" # the address is the owner's …
    run tfy db upgrade "postgresql:///tfy?host=$pg&user=a_$role"
    check "a $role does not upgrade" ended 65 "only the owner of the tables may do this: role tfy_owner"
done
run tfy db upgrade "postgresql:///tfy?host=$pg&user=a_owner"
check "the owner does" ended 0
run tfy db adopt "postgresql:///tfy?host=$pg&user=a_owner"
check "... and adopts" ended 0

# ---- several databases of a server ----

server -c "create role ann login createdb"
PGHOST=$pg createdb -U ann hers
run tfy db create "postgresql:///hers?host=$pg&user=ann"
check "a second database shares the roles, and says so" ended 0 "roles tfy_worker and so on were there, and their members can use this database, too"
check "... and its tables are its owner's" [ "$(psql -h "$pg" -U ann -d hers -qAtXc "select distinct tableowner from pg_tables where schemaname = 'tfy'")" = ann ]
as_hers() { run env TFY_DB="postgresql:///hers?host=$pg&user=$1" tfy ps; }
as_hers a_reader
check "... which their members can read" ended 0
PGHOST=$pg createdb -U ann other
run tfy db create "postgresql:///other?host=$pg&user=ann" --roles other
check "whoever may not make roles makes tables without" ended 0 "there are no roles other_worker and so on"
run env TFY_DB="postgresql:///other?host=$pg&user=a_reader" tfy ps
check "... that only their owner can use" [ "$status" = 65 ]
run tfy db upgrade "postgresql:///other?host=$pg&user=tfy" --roles other
check "roles are made later" ended 0
server -c "create role o_reader login in role other_reader"
run env TFY_DB="postgresql:///other?host=$pg&user=o_reader" tfy ps
check "... and their members can use it" ended 0
run env TFY_DB="postgresql:///tfy?host=$pg&user=o_reader" tfy ps
check "... and no other one" ended 65 'GRANT tfy_reader TO "o_reader"'
server -c "create role eve login createrole createdb"
PGHOST=$pg createdb -U eve eves
run tfy db create "postgresql:///eves?host=$pg&user=eve" --roles eves
check "whoever may make roles need not be a superuser" sh -c '[ '"$status"' = 0 ] && [ ! -s err ]'
check "... and the owner's role owns the tables" [ "$(psql -h "$pg" -U tfy -d eves -qAtXc "select distinct tableowner from pg_tables where schemaname = 'tfy'")" = eves_owner ]
run tfy db create "$TFY_DB" --roles 'x"y'
check "a prefix is a word: 64" ended 64 "--roles takes"
