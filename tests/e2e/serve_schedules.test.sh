#!/bin/sh
# tfy serve: schedules: their times, what is missed, overlaps, pauses, a workflow that is gone, and crashes.
. "$here/lib.sh"
. "$here/serve_lib.sh"
cat >shop.tfy <<'XX'
workflow report(what: string) -> string { return "all of ${what}" }

workflow slow() -> string {
    let value: string = yield signal("go")
    return value
}
XX
cat >serve.json <<'XX'
{"schedules": {
  "each": {"cron": "* * * * *", "start": "shop.report", "args": {"what": "each"}},
  "hourly": {"cron": "0 * * * *", "start": "shop.report", "args": {"what": "hourly"}, "catch_up": "5h"},
  "never": {"cron": "0 * * * *", "start": "shop.report", "args": {"what": "never"}, "catch_up": "0s"},
  "berlin": {"cron": "30 2 * * *", "zone": "Europe/Berlin", "start": "shop.report", "args": {"what": "x"}, "jitter": "5m"},
  "skips": {"cron": "0 * * * *", "start": "shop.slow", "catch_up": "5h"},
  "cancels": {"cron": "0 * * * *", "start": "shop.slow", "overlap": "cancel_old", "catch_up": "5h"},
  "allows": {"cron": "0 * * * *", "start": "shop.slow", "overlap": "allow", "catch_up": "5h"},
  "gone": {"cron": "0 * * * *", "start": "shop.gone"},
  "wrong": {"cron": "0 * * * *", "start": "shop.report", "args": {"why": "x"}}}}
XX
serve_it() { serves shop.tfy --no-tcp --config serve.json "$@"; }
list() { ask http://x/v1/schedules; }
# of NAME MEMBER: what the list says of a schedule.
of() { python3 -c 'import json, sys
for one in json.load(open("out"))["schedules"]:
    if one["name"] == sys.argv[1]:
        value = one
        for part in sys.argv[2].split("."): value = value[part] if value else None
        print(json.dumps(value) if not isinstance(value, str) else value)' "$1" "$2"; }
runs_of() { ask "http://x/v1/runs?label.tfy.schedule=$1&limit=200"; python3 -c 'import json; print(len(json.load(open("out"))["runs"]))'; }
until_runs() { tries=0; until [ "$(runs_of "$1")" -ge "$2" ] || [ $((tries += 1)) -gt 200 ]; do sleep 0.05; done; sleep 0.3; [ "$(runs_of "$1")" = "$2" ]; }

# ---- the configuration ----

refuses() { echo "{\"schedules\": {\"a\": $1}}" >wrong.json; run tfy serve --check --config wrong.json; shift; ended 64 "$@"; }
check "a configuration is checked" sh -c 'tfy serve --check --config serve.json'
check "a schedule has its times" refuses '{"start": "a.b"}' '$.schedules.a: a schedule has "cron" and "start"'
check "... which are cron's" refuses '{"cron": "61 * * * *", "start": "a.b"}' "\$.schedules.a.cron: '61' is not a minute: 0 to 59"
check "... and come" refuses '{"cron": "0 0 30 feb *", "start": "a.b"}' '$.schedules.a: there is no such time within nine years'
check "a zone is known" refuses '{"cron": "@daily", "zone": "Europe/Berlim", "start": "a.b"}' "there is no time zone 'Europe/Berlim'"
check "... and does not lead elsewhere" refuses '{"cron": "@daily", "zone": "../../etc/passwd", "start": "a.b"}' 'is not the name of a time zone'
check "a workflow has its program" refuses '{"cron": "@daily", "start": "shop"}' 'it is not PROGRAM.WORKFLOW'
check "an overlap is known" refuses '{"cron": "@daily", "start": "a.b", "overlap": "skips"}' 'it is not skip, queue, cancel_old or allow'
check "a duration is one" refuses '{"cron": "@daily", "start": "a.b", "catch_up": "soon"}' 'it is not a time such as 30s'
check "a member is known" refuses '{"cron": "@daily", "start": "a.b", "zones": "UTC"}' "it is not known here; did you mean 'zone'?"

# ---- what there is ----

serve_it
list
check "schedules are listed" is schedules.0.name each
check "... with their times" [ "$(of berlin cron) $(of berlin zone) $(of berlin jitter)" = "30 2 * * * Europe/Berlin 5m" ]
check "... the next one" sh -c 'case $1 in *T0[01]:3[0-5]:*Z) true ;; *) echo "$1"; false ;; esac' sh "$(of berlin next)"
check "... and nothing yet" [ "$(of berlin last)" = null ]
check "one whose workflow is gone is off" [ "$(of gone off)" = "shop has no workflow 'gone'" ]
check "... has no next time" [ "$(of gone next)" = null ]
check "... and is told of" grep -q "the schedule gone is off: shop has no workflow 'gone'" served
check "one with wrong arguments, too" sh -c 'case $1 in *what*|*why*) true ;; *) echo "$1"; false ;; esac' sh "$(of wrong off)"
ask http://x/readyz
check "... and it is ready" says 200
ask http://x/metrics
check "nothing is late" grep -qx 'tfy_schedule_late_seconds 0.000' out
each_before=$(date +%s)

# ---- by hand ----

post /v1/schedules/never/trigger '{}'
check "a person starts one now" says 201 '"labels":{"tfy.schedule":"never"}'
check "... as themselves" is by "$(id -un)"
check "... with its arguments" settled "$(member id)" completed
check "... which it had" is result 'all of never'
post /v1/schedules/nevr/trigger '{}'
check "an unknown one is not there" says 404 "did you mean 'never'?"
post /v1/schedules/never/trigger '{"args":{}}'
check "it takes nothing else" says 422 "it is not known here"
ask "http://x/v1/schedules/never/pause"
check "it is changed by POST" says 405
post /v1/programs/shop/workflows/report/runs '{"args":{"what":"x"},"labels":{"tfy.schedule":"never"}}'
check "nobody else says that they are a schedule" says 422 "the server's own"
tfy token create looks --roles viewer --db "$TFY_DB" >viewer.token
tfy token create part --roles operator --only 'shop.slow' --db "$TFY_DB" >part.token
ends

# ---- what was missed ----

for name in hourly never; do back $name 2.8; done
serve_it
check "what was missed is made good" until_runs hourly 3
ask "http://x/v1/runs?label.tfy.schedule=hourly"
check "... the oldest first" python3 -c '
import json
runs = json.load(open("out"))["runs"]
assert all(r["by"] == "schedule/hourly" for r in runs), runs
ids = [r["id"] for r in runs]
assert len(set(ids)) == 3'
run tfy history "$(member runs.2.id)" --json
first=$(sed -n 's/.*"id":"schedule\/hourly\/\([^"]*\)".*/\1/p' out)
check "... each with its own key" sh -c 'case $1 in *:00:00.000Z) true ;; *) echo "$1"; false ;; esac' sh "$first"
check "... and how it came" grep -q '"by":"schedule/hourly","via":{"how":"schedule"}' out
check "... but only within its time" [ "$(runs_of never)" = 1 ]
list
check "the list says what came of it" [ "$(of hourly last.skipped)" = null ]
ends
back hourly 2.8
serve_it
sleep 0.5
check "each time starts once, also after a crash" [ "$(runs_of hourly)" = 3 ]
list
check "... and is dealt with" sh -c 'case $1 in *:00:00.000Z) true ;; *) echo "$1"; false ;; esac' sh "$(of hourly last.time)"
ends
back hourly -3
serve_it
sleep 0.5
check "a clock that is set back starts nothing" [ "$(runs_of hourly)" = 3 ]
list
check "... until it is there again" python3 -c '
import sys, time, calendar
assert calendar.timegm(time.strptime(sys.argv[1][:19], "%Y-%m-%dT%H:%M:%S")) > time.time() + 3 * 3600 - 60' "$(of hourly next)"
ends

# ---- overlaps ----

for name in skips cancels allows; do back $name 2.8; done
serve_it
check "one that overlaps is skipped" until_runs skips 1
list
check "... and says so" [ "$(of skips last.skipped)" = "the run before it had not finished" ]
check "... or ends the one before" until_runs cancels 3
sleep 0.3
ask "http://x/v1/runs?label.tfy.schedule=cancels"
check "... so that one is left" [ "$(member runs.0.state) $(member runs.1.state) $(member runs.2.state)" = "running cancelled cancelled" ]
check "... or is started beside it" until_runs allows 3
ask "http://x/v1/runs?label.tfy.schedule=allows&state=running"
check "... and all run" [ "$(member runs.2.state)" = running ]

# ---- pauses ----

post /v1/schedules/skips/pause '{}'
check "a schedule is paused" is paused true
check "... and has no next time" is next null
kill -9 "$server"; wait "$server" 2>/dev/null
back skips 2.8
serve_it
sleep 0.5
check "... across a crash" [ "$(runs_of skips)" = 1 ]
post /v1/schedules/skips/unpause '{}'
check "it continues" is paused false
sleep 0.3
check "... and makes nothing good" [ "$(runs_of skips)" = 1 ]
ask http://x/v1/audit
check "the audit has both" python3 -c '
import json
values = [(e["record"]["payload"]["name"], e["record"]["payload"]["value"]) for e in json.load(open("out"))["audit"] if e["what"] == "schedule"]
assert values == [("skips", {"paused": False}), ("skips", {"paused": True})], values'
ends

# ---- who may ----

serves shop.tfy --listen 127.0.0.1:0 --config serve.json
base=$(sed -n 's/^tfy serve: serving .* and \(http.*\)$/\1/p' served)
web() { status=$(curl -sS --max-time 20 -o out -D head -w '%{http_code}' -H "Authorization: Bearer $1" -H 'Content-Type: application/json' "$base$2" ${3:+-d "$3"} 2>err); }
web "$(cat viewer.token)" /v1/schedules
check "a viewer sees them" is schedules.0.name each
web "$(cat viewer.token)" /v1/schedules/skips/pause '{}'
check "... and changes none" says 403
web "$(cat part.token)" /v1/schedules
check "who sees a part sees their schedules" python3 -c '
import json
assert [s["name"] for s in json.load(open("out"))["schedules"]] == ["skips", "cancels", "allows"]'
web "$(cat part.token)" /v1/schedules/hourly/trigger '{}'
check "... and changes no other" says 404
web "$(cat part.token)" /v1/schedules/skips/trigger '{}'
check "... but these" says 201

# ---- the configuration, again ----

sed -i '/"gone"/d; s/"0 \* \* \* \*", "start": "shop.report", "args": {"why"/"5 * * * *", "start": "shop.report", "args": {"what"/' serve.json
kill -HUP "$server"
tries=0
until web "$(cat viewer.token)" /v1/schedules && [ "$(of wrong off)" = null ] || [ $((tries += 1)) -gt 100 ]; do sleep 0.05; done
check "SIGHUP reads them again" [ "$(of wrong off) $(of wrong cron)" = "null 5 * * * *" ]
check "... and some are gone" [ -z "$(of gone name)" ]

# ---- by the clock ----

tries=0
until [ "$(($(date +%s) / 60))" -gt $((each_before / 60)) ] || [ $((tries += 1)) -gt 70 ]; do sleep 1; done
sleep 1
web "$(cat viewer.token)" "/v1/runs?label.tfy.schedule=each"
check "a minute starts a run" python3 -c '
import json
runs = json.load(open("out"))["runs"]
assert runs and all(r["result"] == "all of each" for r in runs), runs
assert len(set(r["started"][:16] for r in runs)) == len(runs), runs'
ends
