#!/bin/sh
# TfyHost: the example of docs/embedding.md executes runs in two threads, beside a worker, and is killed and stopped.
. "$here/lib.sh"
. "$here/postgres_lib.sh"
top=$here/../..
mkdir blocks
awk -v dir=blocks -f "$top/tests/docs/blocks.awk" "$top/docs/embedding.md"
for info in blocks/*.info; do
    case $(cat "$info") in
    *primes*) cp "${info%.info}.text" "$(sed 's/.* //' "$info")" ;;
    esac
done
tfyc primes.tfy -o primes.c --no-main
check "the example is compiled" sh -c "${CC:-cc} $CFLAGS -I'$build' -I'$top/runtime' -o primes primes_host.c primes.c '$build/runtime/libtfy.a' \
    -lsqlite3 -ljansson -lcurl -lpcre2-8 -lpthread -lm"
run ./primes "$TFY_DB"
check "a database without tables is refused" ended 1 "tfy db create"
tfy db create "$TFY_DB" --lease 3s >/dev/null
run timeout 60 ./primes "$TFY_DB"
check "a host executes what it has started" printed_exactly "1007 primes"
check "... ends in order" [ $status = 0 ]
check "... and so does its session" [ "$(sql "select string_agg(state::text, ' ') from tfy.session")" = 8 ]
check "... and nothing is left of its runs" [ "$(sql "select count(*) from tfy.run where state = 12")" = 8 ]

tfy deploy primes.tfy >/dev/null
tfy start primes --from 0 --to 400000 >long
timeout 60 ./primes "$TFY_DB" >killed.out 2>&1 &
host=$!
owned() { [ -n "$(sql "select owner from tfy.run where uuid = '$(cat long)'")" ]; }
check "a host executes what others have started" within 20 owned
pkill -KILL -P $host # timeout's child
wait $host
tfy worker primes.tfy --threads 2 2>worker.log &
worker=$!
check "a worker does what a host that was killed has left" within 40 sh -c 'test "$(tfy result "$(cat long)")" = 33860'
run timeout 60 ./primes "$TFY_DB"
check "a host and a worker share the runs" printed_exactly "1007 primes"
kill -TERM $worker
wait $worker
check "no run is left" [ "$(sql "select count(*) from tfy.run where state <> 12")" = 0 ]
