#!/bin/sh
# tfy publish to Redis: every record once, whatever is killed; whose stream it is; what Redis refuses.
. "$here/lib.sh"
. "$here/publish_lib.sh"
run tfy publish --to redis://127.0.0.1:1
if grep -q "built without" err; then
    echo "skipped: this build has no hiredis"
    exit 0
fi
command -v redis-server >/dev/null || { echo "skipped: redis-server is not installed"; exit 0; }
port=$(python3 -c 'import socket
with socket.socket() as one:
    one.bind(("127.0.0.1", 0))
    print(one.getsockname()[1])')
redis() { redis-cli -p "$port" "$@" 2>/dev/null; }
redis_starts() { # OPTIONS…
    redis-server --port "$port" --bind 127.0.0.1 --dir "$PWD" --save "" --appendonly yes "$@" >>redis.log 2>&1 &
    redis=$!
    within 20 sh -c "redis-cli -p $port ping 2>/dev/null | grep -q 'PONG\|NOAUTH\|LOADING'"
}
redis_dies() { kill -KILL $redis; wait $redis 2>/dev/null; }
trap 'kill -KILL $redis $follower 2>/dev/null' EXIT
ids() { redis --raw xrange "${1:-tfy}" - + | sed -n 's/^\([0-9]*\)-0$/\1/p'; }
whole() { [ "$(ids "$1" | xargs)" = "$(seq 1 "$(head_of)" | xargs)" ]; }
to=redis://127.0.0.1:$port

redis_starts
order --customer ann >/dev/null
follows --to "$to"
check "a stream gets every record" within 20 whole tfy
redis --raw xrange tfy - + | grep '^{' >events
check "... as CloudEvents whose ids are the numbers" python3 -c '
import json
events = [json.loads(line) for line in open("events")]
assert [event["data"]["lsn"] for event in events] == [int(event["id"].split("/")[1]) for event in events] == list(range(1, len(events) + 1))'
order --customer bob >/dev/null
check "what follows comes when it is durable" within 5 whole tfy
check "... and the cursor is there" within 5 reaches_head redis
unfollows
run tfy publish --to "$to/1?stream=x" --name redis --type Toolresult
check "an unknown type is refused" ended 64 "did you mean 'ToolResult'?"

# ---- kills ----

order --customer eve --times 3000 >/dev/null
for i in 1 2 3 4 5 6; do
    follows --to "$to?stream=killed" --name killed
    sleep 0.0$i
    unfollows KILL
done
follows --to "$to?stream=killed" --name killed
check "whenever the follower is killed, every record is there once" within 20 whole killed
unfollows
follows --to "$to?stream=broken" --name broken
for i in 1 2 3; do
    sleep 0.1
    redis_dies
    redis_starts
done
check "... and whenever Redis is" within 60 whole broken
check "... which was said" said "cannot be reached"
check "... and that it is well again" within 10 said "takes messages again"
redis_dies
rm -rf appendonlydir
redis_starts
check "what Redis lost comes again" within 60 whole broken
unfollows

# ---- bounds, and whose stream it is ----

follows --to "$to?stream=short&max=100" --name short
check "a stream is trimmed" within 20 sh -c "n=\$(redis-cli -p $port xlen short); [ \$n -ge 100 ] && [ \$n -lt 400 ] && redis-cli -p $port xinfo stream short | grep -qx '$(head_of)-0'"
unfollows
follows --to "$to?stream=short&max=100" --name short
within 10 said "short: publishing"
order --customer dan >/dev/null
check "... and what was trimmed does not come again" within 10 sh -c "redis-cli -p $port xinfo stream short | grep -qx '$(head_of)-0'"
unfollows
follows --to "$to?stream=few" --name few --type TaskComplete
check "only what is wanted" within 10 sh -c "[ \$(redis-cli -p $port xlen few) = 4 ]"
unfollows
TFY_DB="$PWD/other.db" order --customer fox >/dev/null
run tfy publish --db other.db --to "$to?stream=broken"
check "a stream of another database stops the follower" ended 65 "has entries of another database or of somebody else: name another stream"
redis xadd mine 5-1 a b >/dev/null
run tfy publish --to "$to?stream=mine" --name mine
check "... and one of somebody else" ended 65 "the stream 'mine' of redis://127.0.0.1:$port"
redis set text x >/dev/null
run tfy publish --to "$to?stream=text" --name text
check "... and what is not a stream" ended 65 "answered: WRONGTYPE"
tfy backup older.db >/dev/null
order --customer gil >/dev/null
follows --to "$to?stream=broken" --name broken
within 10 whole broken
unfollows
run tfy publish --db older.db --to "$to?stream=broken"
check "a stream ahead of the log stops the follower" ended 65 "redis://127.0.0.1:$port has record $(head_of) of this database, which the log has not: the database is an older copy"

# ---- what Redis refuses ----

: >said
redis config set maxmemory 1 >/dev/null
follows --to "$to?stream=full" --name full
check "no memory in Redis" within 10 said "answered: OOM command not allowed"
redis config set maxmemory 0 >/dev/null
check "... holds everything up, and nothing is lost" within 20 whole full
unfollows
redis config set requirepass geheim >/dev/null
run tfy publish --to "$to?stream=closed" --name closed
check "a password is wanted" ended 65 "answered: NOAUTH"
echo falsch >redis.key
run tfy publish --to "$to?stream=closed" --name closed --secret-file redis.key
check "... the right one" ended 65 "answered: WRONGPASS"
check "... and is not told" sh -c '! grep -rq "falsch" err runs.db-follow'
echo geheim >redis.key
: >said
follows --to "$to/3?stream=closed" --name closed --secret-file redis.key
check "... which a file has" within 10 sh -c "[ \"\$(redis-cli -a geheim -n 3 -p $port xlen closed 2>/dev/null)\" = $(head_of) ]"
unfollows
run tfy publish --to "$to?steam=x"
check "an unknown parameter is refused" ended 64 "'steam' is not known; did you mean 'stream'?"
run tfy publish --to "$to?max=0"
check "... and a bound that is none" ended 64 "'max' is not a number from 1 to"
run tfy publish --to "$to/x"
check "... and a database without a number" ended 64 "such as redis://127.0.0.1:6379/0?stream=tfy"
