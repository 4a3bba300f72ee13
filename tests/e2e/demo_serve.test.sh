#!/bin/sh
# What ./dev demo --serve shows: a server with example programs, whose page a browser opens with the address that is printed.
. "$here/lib.sh"
TFY="$(command -v tfy)" sh "$EXAMPLES/serve.sh" --listen 127.0.0.1:0 >shown 2>&1 &
demo=$!
tries=0
until grep -q '#login=' shown || [ $((tries += 1)) -gt 600 ]; do kill -0 "$demo" 2>/dev/null || break; sleep 0.1; done
url=$(sed -n 's/^ *\(http:[^#]*\)#login=.*/\1/p' shown)
code=$(sed -n 's/.*#login=\(.*\)$/\1/p' shown)
curl -sS -c jar -H 'Content-Type: application/json' -d "{\"code\":\"$code\"}" "${url}v1/session" >out
check "the address logs a browser in" grep -q '"name"' out
curl -sS -b jar "${url}v1/programs" >out
check "... who sees the programs" grep -q '"name":"approval_chain"' out
tries=0
until curl -sS -b jar "${url}v1/questions" >out && grep -q 'ten chairs' out || [ $((tries += 1)) -gt 100 ]; do sleep 0.1; done
check "... and the questions" grep -q 'ten chairs' out
tries=0
until curl -sS -b jar "${url}v1/runs?state=failed" >out && grep -q TooManyDeaths out || [ $((tries += 1)) -gt 100 ]; do sleep 0.1; done
check "... and a run that failed" grep -q TooManyDeaths out
curl -sS -b jar "${url}v1/schedules" >out
check "... and schedules that are on" sh -c 'grep -q "\"off\":null" out && ! grep -q "\"off\":\"" out'
db=$(sed -n 's/^ *tfy ps --db //p' shown)
kill -TERM "$demo"
wait "$demo"
check "a signal ends it" test $? = 130
check "... and leaves nothing behind" test -n "$db" -a ! -e "${db%/*}"
