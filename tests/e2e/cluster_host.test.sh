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
sed 's/EACH = 1000 /EACH = 150000 /' primes_host.c >long_host.c
compiled() # NAME
{
    sh -c "${CC:-cc} $CFLAGS -I'$build' -I'$top/runtime' -o $1 $1_host.c primes.c '$build/runtime/libtfy.a' \
        -lsqlite3 -ljansson -lcurl -lpcre2-8 -lpthread -lm"
}
check "the example is compiled" compiled primes
check "... and a copy of which the runs take longer" compiled long
run ./primes "$TFY_DB"
check "a database without tables is refused" ended 1 "tfy db create"
tfy db create "$TFY_DB" --lease 3s >/dev/null
run timeout 60 ./primes "$TFY_DB"
check "a host executes what it has started" printed_exactly "1007 primes"
check "... ends in order" [ $status = 0 ]
check "... and so does its session" [ "$(sql "select string_agg(state::text, ' ') from tfy.session")" = 8 ]
check "... and nothing is left of its runs" [ "$(sql "select count(*) from tfy.run where state = 12")" = 8 ]

tfy deploy primes.tfy >/dev/null
tfy start primes --from 0 --to 100 >other
run timeout 60 ./primes "$TFY_DB"
check "it also executes what others have started" [ "$(tfy result "$(cat other)")" = 25 ]
timeout 60 ./long "$TFY_DB" >killed.out 2>&1 &
host=$!
owned() { [ "$(sql "select count(*) from tfy.run where owner is not null")" -gt 0 ]; }
check "a host executes long runs" within 20 owned
pkill -KILL -P $host # the child of timeout
wait $host
unfinished() { [ "$(sql "select count(*) from tfy.run where state < 12")" = "$1" ]; }
check "... and is killed" [ "$(sql "select count(*) from tfy.run where state < 12")" -gt 0 ]
tfy worker primes.tfy --threads 2 2>worker.log &
worker=$!
check "a worker does what it has left" within 60 unfinished 0
run timeout 60 ./primes "$TFY_DB"
check "a host and a worker share the runs" printed_exactly "1007 primes"
kill -TERM $worker
wait $worker
check "no run is left" [ "$(sql "select count(*) from tfy.run where state <> 12")" = 0 ]
