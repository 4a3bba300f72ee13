#!/bin/sh
# Tenants of a database of PostgreSQL: many runs of one do not delay those of another, weights, and how many may be ready.
. "$here/lib.sh"
. "$here/postgres_lib.sh"
cat >shop.tfy <<'EOT'
workflow adds(n: int) -> int { return n + 1 }
EOT
tfy db create "$TFY_DB" --lease 6s >/dev/null
tfy deploy shop.tfy >/dev/null
lines() { seq "$1" | sed 's/.*/{"n": &}/'; }
run tfy start shop.adds --n 1 --tenant ann
check "a tenant that is not there: 69, and how it is made" ended 69 "'tfy db tenant ann' makes one"
run tfy start shop.adds --n 1 --tenant 'Ann B'
check "a name that none can have: 64" ended 64 "the name of a tenant starts with a small letter"
check "... and nothing started" [ "$(sql "select count(*) from tfy.run")" = 0 ]
for tenant in ann bob cat; do tfy db tenant $tenant; done
tfy db tenant cat --weight 3
run tfy db tenant cat --weight 0
check "a weight is a number of turns: 64" ended 64 "--weight takes"

# ---- in turn ----

order() { sql "select string_agg(coalesce(t.name, 'none'), ' ' order by r.rank, r.id) from (select * from tfy.run where owner is null order by rank, id limit $1) r left join tfy.tenant t on t.id = r.tenant"; }
lines 1500 | tfy start shop.adds --many - --tenant ann >ann
lines 3 | tfy start shop.adds --many - --tenant bob >bob
check "runs of another tenant do not wait for all of the first" [ "$(order 7)" = "ann ann bob ann bob ann bob" ]
lines 6 | tfy start shop.adds --many - --tenant cat >cat
check "... nor for those of their turn, if it has a greater weight" [ "$(sql "select count(*) from tfy.run r join tfy.tenant t on t.id = r.tenant where name = 'ann' and rank < (select max(rank) from tfy.run r join tfy.tenant t on t.id = r.tenant where name = 'cat')")" -le 4 ]
run tfy start shop.adds --n 1
check "a run without a tenant starts as before" [ "$(sql "select rank = id << 16 from tfy.run where tenant is null")" = t ]
run tfy db tenant
check "tenants are listed" [ "$(sed -n 's/ \+/ /gp' out)" = "ann weight 1 1500 ready, 0 owned
bob weight 1 3 ready, 0 owned
cat weight 3 6 ready, 0 owned" ]
explained=$(sql "set enable_seqscan = off; explain select id from tfy.run where queue = 1 and due = 0 and owner is null and state < 12 and held is null and not solo order by rank limit 100")
check "claims find them in the order of their ranks, by their index" sh -c 'echo "$0" | grep -q "Index Scan using run_ready" && ! echo "$0" | grep -q Sort' "$explained"

# ---- limits ----

tfy db tenant bob --max-ready 5
lines 2 | tfy start shop.adds --many - --tenant bob --id more >more
check "so many ready runs as a tenant may have" [ "$(wc -l <more)" = 2 ]
run tfy start shop.adds --n 1 --tenant bob
check "... and no more: 75" ended 75 "tenant 'bob' has as many ready runs as it may"
lines 2 | tfy start shop.adds --many - --tenant bob --id more >again
check "... but a start may be repeated" cmp more again
check "... and its place in the order stays" [ "$(sql "select vt from tfy.tenant where name = 'bob'")" = "$(sql "select max(rank) from tfy.run r join tfy.tenant t on t.id = r.tenant where name = 'bob'")" ]
tfy db tenant bob --max-ready none
run tfy start shop.adds --n 1 --tenant bob
check "a limit can be taken away" ended 0
tfy db tenant bob --max-ready 1
tfy worker shop.tfy --name one --drain 1s 2>one.log &
worker=$!
over() { [ "$(sql "select count(*) from tfy.run where state < 12")" = 0 ]; }
check "a worker executes all of them" within 60 over
run tfy start shop.adds --n 1 --tenant bob --wait
check "a tenant whose runs have ended may start others" ended 0
kill $worker
wait $worker
server() { psql -h "$pg" -U tfy -d postgres -qAtX -v ON_ERROR_STOP=1 "$@"; }
server -c "create role ann login in role tfy_sender"
run env TFY_DB="postgresql:///tfy?host=$pg&user=ann" tfy start shop.adds --n 1 --tenant ann
check "a sender starts runs of tenants" ended 0
run env TFY_DB="postgresql:///tfy?host=$pg&user=ann" tfy db tenant ann --weight 9
check "... and makes none" ended 65 'GRANT tfy_owner TO "ann"'
