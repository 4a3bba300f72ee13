# A server of a database of its own, and requests to its Unix socket.
export TFY_DB="$PWD/runs.db"
unset TFY_TENANT
export PYTHONPATH="$here" PYTHONDONTWRITEBYTECODE=1 # unix_http.py
serves() { # FILES…
    : >served
    tfy serve "$@" >served 2>&1 &
    server=$!
    tries=0
    until grep -q "^tfy serve: serving" served || [ $((tries += 1)) -gt 1000 ]; do kill -0 "$server" 2>/dev/null || break; sleep 0.02; done
}
ends() { kill -TERM "$server"; wait "$server"; }
# ask OPTIONS… PATH: ./out has the body, ./head the status line and the headers, $status the status.
ask()
{
    status=$(curl -sS --max-time 20 --unix-socket "$TFY_DB-live/http" -o out -D head -w '%{http_code}' "$@" 2>err)
}
post() # PATH BODY OPTIONS…
{
    post_path=$1 post_body=$2
    shift 2
    ask -X POST -H 'Content-Type: application/json' -d "$post_body" "$@" "http://x$post_path"
}
member() { python3 -c 'import json, sys; value = json.load(open("out"))
for part in sys.argv[1].split("."): value = value[int(part) if part.isdigit() else part]
print(json.dumps(value) if not isinstance(value, str) else value)' "$1"; }
is() { [ "$(member "$1")" = "$2" ] || { member "$1"; return 1; }; }
says() { [ "$status" = "$1" ] && { [ $# = 1 ] || grep -qF -- "$2" out; }; }
has_header() { tr -d '\r' <head | grep -qiE "^$1"; }
settled() # RUN STATE: waits until the run is in that state
{
    tries=0
    until ask "http://x/v1/runs/$1" && [ "$(member state)" = "$2" ] || [ $((tries += 1)) -gt 200 ]; do sleep 0.02; done
    is state "$2"
}
# back NAME HOURS: as if the server had not run since so many hours before the newest full one: how many times were missed
# does not depend on the minute.
back() { python3 - "$1" "$2" "$TFY_DB-serve" <<'XX'
import sqlite3, sys, time
name, hours, path = sys.argv[1:]
with sqlite3.connect(path) as db:
    assert db.execute("UPDATE schedule SET done_s=? WHERE name=?", (int(time.time() // 3600 * 3600 - 3600 * float(hours)), name)).rowcount == 1
XX
}
# shown NAME: keeps the block of that name of docs/serving.md.
shown() { awk -v name="$1" '/^```/ { inside = !inside && $2 == name; next } inside' "$here/../../docs/serving.md" >"$1"; [ -s "$1" ]; }
