#!/bin/sh
# tfy serve on a disk that is full for a while: changes are refused, reads go on, and nothing that was answered is lost.
. "$here/lib.sh"
. "$here/serve_lib.sh"
cat >shop.tfy <<'END'
workflow order(text: string) -> int { return text.len() }
END
tfy build --shared shop.tfy -o shop.so || exit 1
# A file system of 24 MB in a name space of its own; all but a little of it is taken meanwhile.
cat >full.sh <<'END'
mkdir -p small && mount -t tmpfs -o size=24m none small || exit 99
. "$here/lib.sh"
. "$here/serve_lib.sh"
export TFY_DB="$PWD/small/runs.db"
serves shop.so --no-tcp
text=$(head -c 60000 /dev/zero | tr '\0' x)
printf '{"args":{"text":"%s"}}' "$text" >body
order() { ask -X POST -H 'Content-Type: application/json' --data-binary @body --max-time 5 "$@" http://x/v1/programs/shop/workflows/order/runs; }
order -H 'Prefer: wait=5' -H 'Idempotency-Key: first'
check "a start on a disk with room" says 200
head -c 23400k /dev/zero >small/ballast 2>/dev/null
tries=0
until order && [ "$status" = 503 ] || [ $((tries += 1)) -gt 200 ]; do [ "$status" = 201 ] && member id >>started; done
check "a full disk refuses starts" says 503 '"type":"/problems/log-full"'
check "... and says when to ask again" has_header 'Retry-After: [0-9]+'
post /v1/bulk '{"do":"again","filter":{"state":"completed"}}'
check "... and many at once" says 503 '"type":"/problems/log-full"'
ask http://x/readyz
check "the server is not ready then" says 503 /problems/log-full
ask http://x/v1/runs
check "... but reads go on" says 200 '"state":"completed"'
order -H 'Idempotency-Key: first'
check "... also a start that is there already is not told again" says 503
rm small/ballast
tries=0
until order -H 'Idempotency-Key: later' && [ "$status" = 201 -o "$status" = 200 ] || [ $((tries += 1)) -gt 100 ]; do sleep 0.1; done
check "with room it goes on" says 201
settled "$(member id)" completed
while read -r id; do settled "$id" completed >/dev/null || echo "not ok $id is lost"; done <started
ends
check "the server ends in order" [ $? = 0 ]
check "the log is whole" tfy verify
END
unshare -rm sh full.sh 2>&1
[ $? != 99 ] || echo "skipped: no name spaces here"
