#!/bin/sh
# tfy publish to NATS JetStream: every record once, whatever is killed; subjects; what the server refuses.
. "$here/lib.sh"
. "$here/publish_lib.sh"
run tfy publish --to nats://127.0.0.1:1
if grep -q "built without" err; then
    echo "skipped: this build has no libnats"
    exit 0
fi
command -v nats-server >/dev/null || PATH=$PATH:/usr/sbin
command -v nats-server >/dev/null || { echo "skipped: nats-server is not installed"; exit 0; }
port=$(python3 -c 'import socket
with socket.socket() as one:
    one.bind(("127.0.0.1", 0))
    print(one.getsockname()[1])')
nats_starts() { # OPTIONS…
    nats-server -a 127.0.0.1 -p "$port" -js -sd "$PWD/stored" "$@" >>nats.log 2>&1 &
    nats=$!
    within 20 sh -c "echo PING | timeout 1 python3 -c '
import socket
with socket.create_connection((\"127.0.0.1\", $port)) as one: one.recv(100)'"
}
nats_dies() { kill -KILL $nats; wait $nats 2>/dev/null; }
trap 'kill -KILL $nats $follower 2>/dev/null' EXIT
stored() { python3 "$here/publish_nats.py" "$port" "$@"; }
lsns() { stored "$1" | cut -d ' ' -f 2 | cut -d / -f 2; }
whole() { [ "$(lsns "$1" | xargs)" = "$(seq 1 "$(head_of)" | xargs)" ]; }
to=nats://127.0.0.1:$port

nats_starts
order --customer ann >/dev/null
follows --to "$to"
check "a stream is made, and gets every record" within 20 whole tfy
check "... and the cursor is there" within 5 reaches_head nats
stored tfy >messages
check "a subject has the program, the workflow and the type" grep -q '^tfy\.shop\.order\.ToolResult ' messages
check "... or a place for those that there are none of" grep -q '^tfy\._\._\.Opened ' messages
check "the data are CloudEvents, with the same id" python3 -c '
import json
for line in open("messages"):
    subject, id, data = line.split(" ", 2)
    assert json.loads(data)["id"] == id'
order --customer bob >/dev/null
check "what follows comes when it is durable" within 5 whole tfy
unfollows

# ---- kills ----

order --customer eve --times 2000 >/dev/null
for i in 1 2 3 4 5 6; do
    follows --to "$to?stream=killed" --name killed
    sleep 0.0$i
    unfollows KILL
done
follows --to "$to?stream=killed" --name killed
check "whenever the follower is killed" within 20 reaches_head killed
check "... every record is there once" whole killed
unfollows
follows --to "$to?stream=broken" --name broken
for i in 1 2 3; do
    sleep 0.2
    nats_dies
    nats_starts
done
check "... and whenever the server is" within 60 reaches_head broken
check "... too" whole broken
unfollows

# ---- bounds, and what is refused ----

follows --to "$to?stream=short&max=100" --name short
check "a stream is bounded" within 20 reaches_head short
check "... to what was asked for" [ "$(lsns short | wc -l)" = 100 ]
unfollows
follows --to "$to?stream=few" --name few --type TaskComplete
within 10 reaches_head few
check "only what is wanted" [ "$(lsns few | wc -l)" = 3 ]
unfollows
run tfy publish --to "$to?stream=a.b"
check "a name that is none" ended 64 "where a stream has 1 to 64 of a-z"
run tfy publish --to "$to/x"
check "a path" ended 64 "such as nats://127.0.0.1:4222?stream=tfy"
run tfy publish --to "$to?streams=x"
check "an unknown parameter is refused" ended 64 "did you mean 'stream'?"
nats_dies
: >said
nats_starts --auth geheim
echo falsch >nats.key
run tfy publish --to "$to?stream=closed" --name closed --secret-file nats.key
check "a wrong token" ended 65 "$to refuses this follower"
check "... is not told" sh -c '! grep -rq falsch err runs.db-follow'
echo geheim >nats.key
follows --to "$to?stream=closed" --name closed --secret-file nats.key
check "the right one" within 10 reaches_head closed
unfollows
nats_dies
nats-server -a 127.0.0.1 -p "$port" >>nats.log 2>&1 &
nats=$!
follows --to "$to?stream=closed" --name closed
check "a server without JetStream" within 20 said "has no JetStream that takes messages (nats-server -js)"
unfollows
