#!/bin/sh
# tfy publish: webhooks, the cursor, who may follow, what is refused, and what a crash leaves.
. "$here/lib.sh"
. "$here/publish_lib.sh"
python3 "$here/publish_sink.py" hooked &
sink=$!
trap 'kill $sink $follower 2>/dev/null' EXIT
within 10 [ -e hooked.port ]
to=http://127.0.0.1:$(cat hooked.port)
{ printf whsec_; head -c 32 /dev/urandom | base64; } >hook.key
order --customer ann >/dev/null
# taken PATH: what arrived there: the ids' numbers, one on a line.
taken() { python3 - "$1" <<'END'
import json, sys
for line in open("hooked"):
    got = json.loads(line)
    if got["path"] == sys.argv[1] and got["status"] == 200: print(json.loads(got["body"])["id"].split("/")[1])
END
}
whole() { [ "$(taken "$1" | xargs)" = "$(seq "${2:-1}" "$(head_of)" | xargs)" ]; }
none_missing() { [ "$(taken "$1" | sort -nu | xargs)" = "$(seq 1 "$(head_of)" | xargs)" ]; }

# ---- webhooks ----

follows --to "$to/ok?key=geheim" --secret-file hook.key
check "a webhook gets every record" within 20 whole "/ok?key=geheim"
cat >signed.py <<'END'
import base64, hashlib, hmac, json, sqlite3, time, uuid
key = base64.b64decode(open("hook.key").read().strip()[len("whsec_"):])
stored = {lsn: payload for lsn, payload in sqlite3.connect("file:runs.db?mode=ro", uri=True).execute("select lsn, payload from wal")}
n = 0
for line in open("hooked"):
    got = json.loads(line)
    head, body = {name.lower(): value for name, value in got["headers"].items()}, got["body"]
    text = f"{head['webhook-id']}.{head['webhook-timestamp']}.{body}".encode()
    assert head["webhook-signature"] == "v1," + base64.b64encode(hmac.new(key, text, hashlib.sha256).digest()).decode()
    assert abs(time.time() - int(head["webhook-timestamp"])) < 60
    event = json.loads(body)
    db, lsn = event["id"].split("/")
    assert event["specversion"] == "1.0" and event["id"] == head["webhook-id"] and event["source"] == "/tfy/" + str(uuid.UUID(db))
    assert head["content-type"].startswith("application/cloudevents+json") and event["datacontenttype"] == "application/json"
    data = event["data"]
    assert data["lsn"] == int(lsn) and event["type"] == "tfy.record." + data["type"] and event["time"] == data["ts"]
    assert ("run" in data) == ("subject" in event) and event.get("subject") == (data["run"] + "/" + data["task"] if "run" in data else None)
    assert data["payload"] == json.loads(stored[int(lsn)])
    n += 1
assert n > 4
END
check "... signed, as CloudEvents, with what the log has" python3 signed.py
check "... and the cursor is at the last" within 10 reaches_head webhook
check "... of a file that others cannot read" sh -c '[ "$(stat -c %a runs.db-follow/webhook) $(stat -c %a runs.db-follow)" = "600 700" ]'
tfy events >events
check "the data is what tfy events prints" python3 -c '
import json
events = [json.loads(line) for line in open("events")]
assert events == [json.loads(json.loads(line)["body"])["data"] for line in open("hooked")]'
check "the secret in the query is not told" sh -c '! grep -rq geheim said runs.db-follow'

tfy run shop.tfy --workflow stays >/dev/null 2>&1 &
stays=$!
check "what follows is published while it happens" within 10 whole "/ok?key=geheim"
check "... and its process has it on its socket" within 10 sh -c 'ls -l "/proc/$(pgrep -f "^tfy-publish --db=$TFY_DB ")/fd" | grep -q socket:'
kill $stays
wait $stays
check "... to the last record" within 10 whole "/ok?key=geheim"
run tfy publish --to "$to/ok" --secret-file hook.key
check "a name in use is refused" ended 75 "runs.db-follow/webhook is in use by another process: end that one, or choose another --name"
unfollows
check "it ends in order" [ $? = 0 ]
run tfy publish --to "$to/other" --secret-file hook.key
check "a cursor of another address is not taken by accident" ended 65 "give this follower a --name of its own"

follows --to "$to/some" --name some --type ToolResult,TaskComplete --secret-file hook.key
check "only what is wanted" within 10 sh -c 'grep -q "\"/some\".*TaskComplete" hooked && ! grep "\"/some\"" hooked | grep -q InstructionStart'
check "... and the cursor passes the rest" within 10 reaches_head some
unfollows

# ---- targets that fail ----

: >said
follows --to "$to/busy" --name busy --secret-file hook.key
check "a target that fails is asked again" within 20 sh -c '[ "$(grep -c "\"/busy\"" hooked)" -ge 3 ]'
check "... which is said once" [ "$(grep -c 'busy answered 503; again in 1.0 s' said)" = 1 ]
check "... and noted" sh -c 'tail -c 5000 runs.db-follow/busy | grep -q "answered 503"'
check "... nothing is skipped" [ "$(cursor busy lsn)" = 0 ]
: >hooked.well
check "when it is well it gets all, in order" within 20 whole /busy
check "... which is said" said "takes messages again"
unfollows
: >said
follows --to "$to/moved" --name moved --secret-file hook.key
check "redirects are not followed" within 10 said "answered 302, and redirects are not followed"
unfollows
check "... by no request" sh -c '! grep -q elsewhere hooked'
follows --to http://127.0.0.1:1/ --name nobody --secret-file hook.key
check "nobody listens" within 10 said "http://127.0.0.1:1 cannot be reached: "
unfollows

# ---- crashes ----

order --customer bob --times 600 >/dev/null
for i in 1 2 3 4 5; do
    follows --to "$to/killed" --name killed --secret-file hook.key
    sleep 0.3
    unfollows KILL
done
follows --to "$to/killed" --name killed --secret-file hook.key
check "whenever it is killed, nothing is missing" within 30 reaches_head killed
check "... in the end" none_missing /killed
unfollows
dd if=/dev/zero of=runs.db-follow/killed bs=100 seek=1 count=1 conv=notrunc 2>/dev/null
follows --to "$to/killed" --name killed --secret-file hook.key
check "a torn save leaves the one before" within 10 reaches_head killed
unfollows
dd if=/dev/zero of=runs.db-follow/killed bs=8192 count=1 conv=notrunc 2>/dev/null
run tfy publish --to "$to/killed" --name killed --secret-file hook.key
check "a file without a valid place is refused" ended 65 "runs.db-follow/killed is damaged: remove it"

# ---- other databases ----

cp runs.db-follow/some kept
TFY_DB="$PWD/other.db" order --customer eve >/dev/null
mkdir -m 700 other.db-follow && cp kept other.db-follow/some
run tfy publish --db other.db --to "$to/some" --name some --secret-file hook.key
check "the cursor of another database is refused" ended 65 "is the cursor of another database: remove it"
tfy backup older.db >/dev/null
order --customer new >/dev/null
follows --to "$to/some" --name some --secret-file hook.key
within 10 reaches_head some
unfollows
mkdir -m 700 older.db-follow && cp runs.db-follow/some older.db-follow/some
run tfy publish --db older.db --to "$to/some" --name some --secret-file hook.key
check "a database that lacks what was published is refused" ended 65 "which the log has not: the database is an older copy"
run tfy gc --keep 1
: >said
follows --to "$to/late" --name late --secret-file hook.key
check "what retention removed before is said" within 10 said "records were removed by retention before they were published"
check "... to the target too" within 10 sh -c 'grep "\"/late\"" hooked | grep -q "tfy.gap.*from"'
check "... and the rest comes" within 10 reaches_head late
check "... and it is counted" [ "$(cursor late missed)" -gt 100 ]
unfollows

# ---- what is refused ----

refuses() { # TEXT OPTIONS…
    text=$1
    shift
    run tfy publish "$@"
    check "refused: $*" ended 64 "$text"
}
refuses "say where to, as in --to redis://127.0.0.1:6379"
refuses "'ftp://' is not a kind of target; there are https://, http://" --to ftp://127.0.0.1
refuses "it is not an address such as" --to 127.0.0.1:80
refuses "it is not an address such as" --to "http://127.0.0.1/ x"
refuses "http:// is for targets on this machine; use https://" --to http://example.org/hook --secret-file hook.key
refuses "webhooks are signed: write a secret into a file" --to "$to"
refuses "no.key has no secret: No such file" --to "$to" --secret-file no.key
echo short >short.key
refuses "the secret is not 24 to 64 bytes in base64" --to "$to" --secret-file short.key
refuses "starts with a small letter" --to "$to" --secret-file hook.key --name ../x
refuses "did you mean 'ToolResult'?" --to "$to" --secret-file hook.key --type Toolresult
refuses "the address has a password, which ps shows to everybody" --to https://ann:geheim@127.0.0.1/
check "... without the password" sh -c '! grep -q geheim err'
run tfy publish --db no.db --to "$to" --secret-file hook.key
check "a database that is not there" ended 69 "no.db"
