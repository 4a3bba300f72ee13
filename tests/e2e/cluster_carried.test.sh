#!/bin/sh
# tfy wal export and import between files and PostgreSQL, both ways: a run begins in a file, ends in the cluster, and comes back.
. "$here/lib.sh"
. "$here/postgres_lib.sh"
cluster=$TFY_DB
unset TFY_DB
tfy db create "$cluster" --lease 3s >/dev/null
cat >team.tfy <<'EOF'
type Square {
    i: int,
    square: int,
}
tool large() -> string pure = exec ["sh", "-c", "head -c 400000 /dev/zero | tr '\\0' x"]
tool charge() -> string once = exec ["sh", "-c", "echo begun >>charged; sleep 60"]
workflow squares(upto: int, out: channel<int>) {
    for i in 1..upto {
        yield save("squares", Square(i: i, square: i * i))
        yield out.send(i * i)
    }
    out.close()
}
workflow main() -> string {
    let numbers: channel<int> = channel(2)
    let t = spawn squares(4, numbers)
    let first = yield numbers.recv()
    let text = yield large()
    print("got one, äöü \u{1F600} \"quoted\" ${first ?? 0}")
    let yes = yield approve("go on?")
    let second = yield numbers.recv()
    let third = yield numbers.recv()
    let fourth = yield numbers.recv()
    yield join(t)
    return "${yes} ${text.len()} ${(second ?? 0) + (third ?? 0) + (fourth ?? 0)}"
}
workflow pays() -> string {
    return yield charge()
}
EOF
TFY_SNAPSHOT_EVERY=3 tfy run team.tfy --yes >out 2>err
check "a run ends in a file" printed "true 400000 13"
TFY_SNAPSHOT_EVERY=3 tfy run team.tfy >out 2>err
check "another one waits there" [ "$(sqlite3 -readonly .tfy/runs.db "select count(*) from history where type = 'Snapshot'")" -gt 1 ]
tfy wal export 1 -o ended >/dev/null
tfy wal export 2 -o waiting >/dev/null
TFY_SNAPSHOT_EVERY=3 tfy run team.tfy >out 2>err
tfy gc --compact >out 2>err
check "a third one has lost its beginning" grep -q "start.* at .* snapshot" err
tfy wal export last -o compacted >/dev/null
uuid() { basename "$1"/*.run .run; }

# ---- into the cluster ----

run tfy wal import ended/*.run waiting/*.run compacted/*.run --db "$cluster"
check "all go into the cluster" ended 0 "of 2 tasks, 3 saved rows"
check "... with their payloads in pieces" [ "$(sql "select count(distinct run) from tfy.piece")" -ge 2 ]
check "... numbered within them" [ "$(sql "select count(*) from (select run, count(*) - max(lsn) as missing, min(lsn) as first from tfy.record group by run) as r where missing <> 0 or first <> 1")" = 0 ]
check "... and with their rows" [ "$(sql "select sum(square) from saved.squares where tfy_run = '$(uuid ended)'")" = 14 ]
check "nothing is left with the session, which has ended" [ "$(sql "select count(*) from tfy.run r, tfy.session s where r.owner is not null or s.state = 0")" = 0 ]
run tfy ps --db "$cluster" --json
check "the ended run has ended" jq -e ".[] | select(.run == \"$(uuid ended)\") | .state == \"completed\"" out
check "the other one is queued" jq -e ".[] | select(.run == \"$(uuid waiting)\") | .state == \"queued\"" out
run tfy wal import ended/*.run --db "$cluster"
check "a run goes there once: 1" ended 1 "the database already has run $(uuid ended); nothing was imported"

# The same, but for the numbers of records. same DIRECTORY RUN DB
same()
{
    rm -rf again
    tfy wal export "$2" -o again --db "$3" >out 2>err || return 1
    for file in "$1"/*.wal; do
        sed 's/"lsn":[0-9]*//' "$file" >left
        sed 's/"lsn":[0-9]*//' "again/$(basename "$file")" | cmp left - || return 1
    done
    [ "$(ls "$1" | wc -l)" = "$(ls again | wc -l)" ]
}
check "the ended run is the same" same ended "$(uuid ended)" "$cluster"
check "... and the waiting one" same waiting "$(uuid waiting)" "$cluster"
check "... and the compacted one" same compacted "$(uuid compacted)" "$cluster"

# ---- a worker continues ----

tfy worker team.tfy --db "$cluster" >worker.out 2>&1 &
worker=$!
stands() { [ "$(tfy ps --db "$cluster" --json | jq -r ".[] | select(.run == \"$1\") | .state")" = "$2" ]; }
for run in waiting compacted; do
    check "a worker takes up the run '$run'" within 20 stands "$(uuid $run)" running
    run tfy approve "$(uuid $run)" --db "$cluster"
    check "... a person answers" ended 0 "answered with yes"
    check "... and it ends" within 20 stands "$(uuid $run)" completed
    run tfy result "$(uuid $run)" --db "$cluster"
    check "... with its result" printed_exactly '"true 400000 13"'
done

# ---- a `once` step under way ----

tfy run team.tfy --workflow pays >out 2>err &
pid=$!
check "a once step begins" within 20 [ -s charged ]
kill -KILL $pid
wait $pid 2>/dev/null
tfy wal export last -o paying >/dev/null
run tfy wal import paying/*.run --db "$cluster" --json
check "it is in doubt in the cluster" jq -e '.in_doubt == 1' out
check "... and no worker repeats it" within 20 stands "$(uuid paying)" doubt
run tfy resolve "$(uuid paying)" 1 --done '"paid"' --db "$cluster"
check "a person says what happened" ended 0 resolved
check "... and it ends" within 20 stands "$(uuid paying)" completed
check "... having begun once" [ "$(wc -l <charged)" = 1 ]
kill "$worker"
wait "$worker"

# ---- a descriptor, of which another run has the number ----

cat >mixed.tfy <<'EOF'
workflow opens() -> string {
    let on = yield listen("127.0.0.1:0")
    yield sleep(5s)
    try {
        let _other = yield accept(on) timeout 1s
    } catch _: Lost {
        return "lost"
    }
    return "kept"
}
workflow later() -> string {
    let on = yield listen("127.0.0.1:0")
    yield sleep(7s)
    close(on)
    return "closed"
}
EOF
tfy deploy mixed.tfy --db "$cluster" >/dev/null
tfy run mixed.tfy --workflow opens --db mixed.db >out 2>err &
pid=$!
sleeps() { tfy inspect last --db mixed.db | grep -q "waits until"; }
within 20 sleeps
kill -KILL $pid
wait $pid 2>/dev/null
tfy wal export last -o mixed --db mixed.db >/dev/null
tfy wal import mixed/*.run --db "$cluster" >/dev/null
tfy start mixed.later --db "$cluster" >later
# The session has the number that the epoch had in the file.
sql "select setval('tfy.session_id_seq', $(sqlite3 mixed.db "select epoch from meta"), false); delete from tfy.session where state <> 0" >/dev/null
tfy worker mixed.tfy --db "$cluster" >worker.out 2>&1 &
worker=$!
within 30 stands "$(uuid mixed)" completed
run tfy result "$(uuid mixed)" --db "$cluster"
check "a descriptor of a file's run is lost, and not that of another run" printed_exactly '"lost"'
within 30 stands "$(cat later)" completed
run tfy result "$(cat later)" --db "$cluster"
check "... which keeps its own" printed_exactly '"closed"'
number() { tfy history "$1" --db "$cluster" | sed -n 's/.*listen -> //p'; }
check "... of the same number" [ "$(number "$(uuid mixed)")" = "$(number "$(cat later)")" ]
kill "$worker"
wait "$worker"

# ---- and back ----

for run in ended waiting compacted paying; do
    tfy wal export "$(uuid $run)" -o "$run.back" --db "$cluster" >/dev/null
    run tfy wal import "$run.back"/*.run --db back.db
    check "the run '$run' comes back" ended 0
    check "... as it was there" same "$run.back" "$(uuid $run)" back.db
    run tfy replay "$(uuid $run)" --db back.db
    check "... and is replayed" printed ", 0 divergences"
done
run tfy verify --db back.db
check "the file is sound" ended 0
check "... and has the saved rows" [ "$(sqlite3 -readonly back.db "select count(*), sum(square) from squares")" = "9|42" ]

# ---- killed in the middle ----

tfy run team.tfy --yes >out 2>err
tfy wal export last -o killed >/dev/null
psql -h "$pg" -U tfy -d tfy -qAtc "begin; lock table tfy.record in exclusive mode; select pg_sleep(2)" >/dev/null &
locker=$!
sleep 0.5
tfy wal import killed/*.run --db "$cluster" >out 2>err &
pid=$!
sleep 1
kill -KILL $pid
wait $pid 2>/dev/null
wait $locker
complete() { same killed "$(uuid killed)" "$cluster"; }
check "after a kill the cluster has nothing of it, or all" sh -c '[ "$1" = 0 ] || [ "$1" = 12 ]' - "$(sql "select coalesce(max(state), 0) from tfy.run where uuid = '$(uuid killed)'")"
tfy wal import killed/*.run --db "$cluster" >out 2>err || grep -q "already has run" err
check "... and a second import makes it all" complete
