#!/bin/sh
# Programs are deployed to a database of PostgreSQL, and runs of them are started there.
. "$here/lib.sh"
. "$here/postgres_lib.sh"
export XDG_CACHE_HOME="$PWD/cache"
uuid='^[0-9a-f]\{8\}-[0-9a-f]\{4\}-[0-9a-f]\{4\}-[0-9a-f]\{4\}-[0-9a-f]\{12\}$'
birth() { sql "select payload from tfy.record r join tfy.run u on u.id = r.run where u.uuid = '$1' and r.lsn = 1"; }
says() { case "$1" in *"$2"*) ;; *) echo "it says: $1"; return 1 ;; esac; }
same() { [ "$1" = "$2" ] || { echo "$1 is not $2"; return 1; }; }
error() { run "$@"; cat err; }

cat >shop.tfy <<'END'
import "prices.tfy"

enum Size { small, big(n: int) }
type Item { name: string, count: int = 1 }
error TooMany { n: int }

/// Orders something.
workflow order(item: Item, times: int = 2 + 3, pause: duration = 1ms, size: Size = Size.small) -> string fails TooMany {
    yield sleep(pause)
    if times > 9 { fail TooMany("no", n: times) }
    match size {
        small => { return prices.priced("${times} ${item.count} ${item.name}") }
        big(n) => { return prices.priced("${times} of ${n}") }
    }
}

workflow audit() -> int { return 1 }
END
cat >prices.tfy <<'END'
fn priced(text: string) -> string { return "${text} for 3" }
END

# ---- a database without tables, and without programs ----

run tfy deploy shop.tfy
check "deploying to a database without tables says how to make them" ended 69 'tfy db create'
run tfy start shop.order
check "and so does starting" ended 69 'tfy db create'
tfy db create "$TFY_DB" >/dev/null
run tfy start shop.order --item '{"name": "tea"}'
check "a program that nobody has deployed is missing" ended 69 "the database has no program 'shop'; 'tfy deploy FILE.tfy --name shop'"

# ---- deploying ----

run tfy deploy shop.tfy
check "a program is deployed" ended 0
check "and its version is printed" grep -q '^shop: version [0-9a-f]\{12\} is active$' out
version=$(sed 's/.*version \([0-9a-f]*\) .*/\1/' out)
check "its row has the hash that was printed" same "$(sql "select left(encode(hash, 'hex'), 12) from tfy.program")" "$version"
run tfy deploy shop.tfy
check "again it is the same" printed 'is active, as before'
check "with one row" same "$(sql 'select count(*) from tfy.program')" 1
sed 's/type Item/type/' shop.tfy >broken.tfy
run tfy deploy broken.tfy
check "mistakes are found before it is deployed" ended 65 'broken.tfy:4'
run tfy deploy shop.tfy --name Shop
check "not everything is a name" ended 64 'starts with a small letter'
run tfy deploy shop.tfy --move
check "runs are not moved" ended 64 'runs keep the version'
run tfy deploy missing.tfy
check "a file that is not there is missing" ended 69 'missing.tfy'

# ---- starting ----

run tfy start shop.order --item '{"name": "tea"}' --label team=a1 --label x.y=
first=$(cat out)
check "a run starts" ended 0
check "and its uuid is printed alone" grep -q "$uuid" out
check "the arguments are complete" says "$(birth "$first")" '"args":{"item":{"name":"tea","count":1},"times":5,"pause":"1ms","size":"small"}'
check "with its labels" says "$(birth "$first")" '"labels":{"team":"a1","x.y":""}'
check "and who started it, and what" says "$(birth "$first")" "\"by\":\"$(id -un)\",\"labels\""
check "... under which name" says "$(birth "$first")" '"program_name":"shop"'
check "... and no directory of this machine" sh -c 'case "$1" in *\"root\":*) exit 1 ;; esac' sh "$(birth "$first")"
check "it is ready, and nobody's" same "$(sql "select owner is null, due, state from tfy.run where uuid = '$first'")" 't|0|1'
check "in the pool default" same "$(sql 'select pool from tfy.queue')" default
run tfy start shop.audit --pool gpu
check "or in another one" same "$(sql "select q.pool from tfy.queue q join tfy.run r on r.queue = q.id where r.uuid = '$(cat out)'")" gpu

# ---- what does not fit ----

check "several workflows are listed" says "$(error tfy start shop)" 'name one as in shop.WORKFLOW:'
check "a workflow that is meant is named" says "$(error tfy start shop.oder)" "shop.tfy has no workflow 'oder'; did you mean order?"
check "a parameter of another type is refused" says "$(error tfy start shop.order --item '{"name": "a"}' --times x)" "--times takes an int, not 'x'"
check "with the usage of the workflow" grep -q '^usage: tfy start shop.order --item Item \[--times int\]' err
check "so is a value that does not fit inside" says "$(error tfy start shop.order --item '{"name": 1}')" '--item.name: expected string'
check "a missing parameter is named" says "$(error tfy start shop.order)" 'missing parameter --item (Item)'
check "an unknown one, too" says "$(error tfy start shop.order --item '{"name": "a"}' --tims 1)" "order has no parameter 'tims'; did you mean --times?"
run tfy start shop.audit --label Team=a
check "a label has a name" ended 64 "not 'Team=a'"
run tfy start shop.audit --label tfy.x=a
check "which is not one of ours" ended 64 "Tiffany's own"
run tfy start shop.audit --id 'a b'
check "a run's name is visible" ended 64 '--id takes 1 to 255'
run tfy start ../shop
check "a program's name is no path" ended 64 'not '"'../shop'"
check "none of these is a run" same "$(sql 'select count(*) from tfy.run')" 2

# ---- once ----

run tfy start shop.order --item '{"name": "tea"}' --id k1
named=$(cat out)
check "a run with a name starts" grep -q "$uuid" out
run tfy start shop.order --item '{"count": 1, "name": "tea"}' --times 5 --id k1
check "again it is the same run" printed_exactly "$named"
run tfy start shop.order --item '{"name": "coffee"}' --id k1
check "with other arguments it is refused" ended 65 "run $named has that name and other arguments"
check "and nothing was started" same "$(sql 'select count(*) from tfy.run')" 3
for i in 1 2 3 4; do tfy start shop.audit --id together >"at_once.$i" & pids="${pids:-} $!"; done
wait $pids
check "four at once are one run" same "$(cat at_once.? | sort -u | wc -l)" 1

# ---- a worker executes them ----

tfy worker shop.tfy >worker.out 2>&1 &
worker=$!
run tfy start shop.order --item '{"name": "milk", "count": 7}' --times 2 --wait
check "one waits for the result" ended 0
check "which is printed alone" printed_exactly '"2 7 milk for 3"'
run tfy start shop.order --item '{"name": "milk"}' --size '{"case": "big", "n": 4}' --pause 20ms --wait
check "cases and durations arrive" printed_exactly '"5 of 4 for 3"'
run tfy start shop.order --item '{"name": "milk"}' --times 12 --wait
check "a run that fails ends with 1" ended 1 'TooMany'
run tfy start shop.order --item '{"name": "tea"}' --id k1 --wait
check "a run that has ended is waited for, too" printed_exactly '"5 1 tea for 3"'
check "all runs of the worker's pool end" within 20 sh -c '[ "$(psql -h "$1" -U tfy -d tfy -qAtc "select count(*) from tfy.run r join tfy.queue q on q.id = r.queue where r.state < 12 and q.pool = '\''default'\''")" = 0 ]' sh "$pg"
check "and that of the other pool waits" same "$(sql 'select count(*) from tfy.run where state < 12')" 1

# ---- a new version ----

sed -i 's/for 3/for 4/' prices.tfy
tfy start shop.order --item '{"name": "old"}' --pause 3s >old.out
run tfy deploy shop.tfy
check "a new version replaces the old one" printed 'is active'
check "for new runs" same "$(sql 'select count(*) from tfy.deployment')" 1
tfy start shop.order --item '{"name": "new"}' >new.out
run tfy start shop.audit
check "each run has the program that was active" same "$(sql "select string_agg(program::text, ',' order by id) from tfy.run where uuid in ('$(cat old.out)', '$(cat new.out)')")" 1,2
check "the old one is executed by the old worker" within 20 sh -c '[ "$(psql -h "$1" -U tfy -d tfy -qAtc "select state from tfy.run where uuid = '\''$2'\''")" = 12 ]' sh "$pg" "$(cat old.out)"
kill $worker
wait $worker
check "the new one by a worker of the new version" sh -c 'tfy worker shop.tfy >worker2.out 2>&1 & w=$!; tfy start shop.audit --wait; s=$?; kill $w; wait $w; exit $s'

# ---- versions side by side ----

old=$(sql "select encode(p.hash, 'hex') from tfy.deployment d join tfy.program p on p.id = d.program where d.name = 'shop'")
sed -i 's/for 4/for 5/' prices.tfy
run tfy deploy shop.tfy --share 25
check "a new version gets a share of the new runs" printed 'is active for 25 of 100 new runs'
new=$(sql "select encode(p.hash, 'hex') from tfy.deployment d join tfy.program p on p.id = d.program where d.name = 'shop' and encode(p.hash, 'hex') <> '$old'")
run tfy cluster
check "cluster shows both" printed "$(printf 'shop              %.12s      25%%' "$new")"
check "... and what is left" printed "$(printf 'shop              %.12s      75%%' "$old")"
count_new() { sql "select count(*) from (select p.hash, row_number() over (partition by n order by -ln(1 - random()) / d.share) as place from generate_series(1, 4000) n, tfy.deployment d join tfy.program p on p.id = d.program where d.name = 'shop') x where place = 1 and encode(hash, 'hex') = '$new'"; }
drawn=$(count_new)
check "a draw is as the shares say" [ "$drawn" -gt 850 -a "$drawn" -lt 1150 ]
n=0
while [ $n -lt 24 ]; do tfy start shop.audit; n=$((n + 1)); done >audits
check "runs get both" [ "$(sql "select count(distinct program) from tfy.run where uuid = any(string_to_array('$(paste -sd, audits)', ',')::uuid[])")" = 2 ]
run tfy deploy "shop@$(printf %.12s "$new")" --share 50
check "a version that is kept gets another share" printed 'is active for 50 of 100 new runs'
check "... and the other one the rest" [ "$(sql "select string_agg(share::text, ' ') from tfy.deployment where name = 'shop'")" = "500000 500000" ]
run tfy deploy "shop@$(printf %.12s "$old")"
check "back to the former one" printed "version $(printf %.12s "$old") is active"
check "... alone" [ "$(sql "select count(*) from tfy.deployment where name = 'shop'")" = 1 ]
sed -i 's/for 5/for 4/' prices.tfy
run tfy deploy shop@123456
check "a version that is not kept: 69" ended 69 'no program of version 123456'
run tfy deploy shop@12
check "... and what is none: 64" ended 64 'from six digits on'
run tfy deploy shop.tfy --share 0
check "a share from 1 to 100: 64" ended 64 '--share'
run tfy deploy shop.tfy --share 101
check "... not more: 64" ended 64 '--share'

# ---- without its C ----

cat >weigh.tfy <<'END'
tool weigh(grams: int) -> int = extern "weigh"
workflow main(grams: int = 2) -> int { return yield weigh(grams) }
END
run tfy deploy weigh.tfy
check "a program is deployed without the C of its tools" ended 0
run tfy start weigh --grams 5
check "and started" grep -q "$uuid" out
cat >weigh.c <<'END'
#include "weigh.h"

bool weigh(TfyTask *task, int64_t grams, int64_t *out)
{
    (void)task;
    *out = 2 * grams;
    return true;
}
END
tfy build --shared weigh.tfy weigh.c -o weigh.so >/dev/null
tfy worker weigh.so >worker4.out 2>&1 &
worker=$!
run timeout 8 tfy start weigh --wait # well below a third of the lease, at which an idle worker wakes
check "a worker that has the C executes it" printed_exactly 4
kill $worker
wait $worker

# ---- a database that is away ----

tfy start shop.audit --wait >waited.out 2>waited.err &
waiting=$!
check "a run is waited for" within 10 grep -q 'run ' waited.err
pg_stops
sleep 1
pg_starts
tfy worker shop.tfy >worker3.out 2>&1 &
worker=$!
wait $waiting
check "also while the database is away" same "$?,$(cat waited.out)" 0,1
kill $worker
wait $worker
pg_stops
run tfy start shop.audit
check "a database that is away is named" ended 74 "host=$pg"
