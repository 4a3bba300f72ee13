#!/bin/sh
# tfy serve: versions of programs: a deploy over HTTP, runs that keep theirs, and what of it a restart keeps.
. "$here/lib.sh"
. "$here/serve_lib.sh"
cat >shop.tfy <<'END'
workflow order(who: string) -> string {
    let size: string = yield signal("size")
    return "one ${who} ${size}"
}
END
cat >second.tfy <<'END'
import "lib/words.tfy" as words
workflow order(who: string) -> string {
    let size: string = yield signal("size")
    return words.pair("two ${who}", size)
}
workflow stock() -> int { return 3 }
END
mkdir lib
cat >lib/words.tfy <<'END'
fn pair(a: string, b: string) -> string { return "${a} ${b}" }
END
# deploy NAME FILES…: the first one is the program.
deploy()
{
    deploy_name=$1
    shift
    python3 -c 'import json, sys
print(json.dumps({"files": [{"path": name, "text": open(name).read()} for name in sys.argv[1:]]}))' "$@" >body
    ask -X PUT -H 'Content-Type: application/json' --data-binary @body "http://x/v1/programs/$deploy_name"
}
order() { post /v1/programs/shop/workflows/order/runs '{"args":{"who":"ann"}}'; id=$(member id); }
go() { post "/v1/runs/$1/signals" '{"name":"size","value":"big"}'; settled "$1" completed; }
version() { ask http://x/v1/programs/shop && member version; }

serves shop.tfy --no-tcp
first=$(version)
check "a program has a version" is versions.0.version "$first"
check "... that new runs get" is versions.0.active true
order
old=$id
check "its run waits" test -n "$old"

# ---- a new version ----
deploy shop second.tfy lib/words.tfy
check "a new version is deployed from its source" says 201 '"program":"shop"'
check "... and is another one than before" is before "$first"
check "... with how many runs the one before has" is older.0.runs 1
check "... of which each can continue with it" is older.0.refused '[]'
second=$(member version)
check "... and durable when it is answered" has_header 'Tfy-Lsn: [0-9]+'
order
new=$id
check "new runs get it" is version "$second"
post /v1/programs/shop/workflows/stock/runs '{"args":{}}' -H 'Prefer: wait=10'
check "... with its new workflow" says 200 '"result":3'
ask http://x/openapi.json
check "... which the document knows" says 200 /v1/programs/shop/workflows/stock/runs
go "$old"
check "the old run ends with the version that it started with" is result "one ann big"
go "$new"
check "... the new one with the new" is result "two ann big"
ask 'http://x/v1/audit?limit=5'
check "who deployed is known" says 200 '"what":"deploy"'
ask http://x/v1/programs
check "the list has the active version" says 200 "\"version\":\"$second\""
deploy shop second.tfy lib/words.tfy
check "the same once more changes nothing" says 200 "\"version\":\"$second\""
check "... and leaves no record" test -z "$(tr -d '\r' <head | sed -n 's/^Tfy-Lsn: //p')"
deploy shop shop.tfy
check "the one before comes back in the same way" says 201 "\"version\":\"$first\""
order
check "... and new runs get it" is version "$first"
deploy shop second.tfy lib/words.tfy
check "... and the newer one again" says 201 "\"version\":\"$second\""

# ---- a body that is too large ----
deploy shop second.tfy lib/words.tfy
# padded BYTES: the same body with blanks behind it.
padded() { python3 -c 'import sys
body = open("body", "rb").read()
open("large", "wb").write(body + b" " * (int(sys.argv[1]) - len(body)))' "$1"; }
put_large() { ask -X PUT -H 'Content-Type: application/json' -H 'Expect:' --data-binary @large "$@" http://x/v1/programs/shop; }
padded 8388608
put_large
check "a deploy has 8 MiB" says 200 "\"version\":\"$second\""
padded 8388609
put_large
check "... and not a byte more" says 413 /problems/too-large
check "... by a sentence" says 413 "a body has 8388608 bytes at most"
put_large -H 'Transfer-Encoding: chunked'
check "... nor in chunks" says 413 /problems/too-large
check "... which changes nothing" test "$(version)" = "$second"

# ---- a new program ----
cat >ci.tfy <<'END'
workflow main() -> string { return "built" }
END
deploy ci ci.tfy
check "a program of a new name" says 201 '"before":null'
post /v1/programs/ci/workflows/main/runs '{"args":{}}' -H 'Prefer: wait=10'
check "... is served" says 200 '"result":"built"'
deploy again ci.tfy
check "two names for one source are refused" says 422 "exactly this source"

# ---- what is refused ----
echo 'workflow order(who: string) -> string { return sise }' >wrong.tfy
deploy shop wrong.tfy
check "what does not compile is refused" says 422 "it does not compile"
check "... with the compiler's messages" says 422 'wrong.tfy:1:48: error'
echo 'extern "C" { fn area(a: int) -> int }
workflow order(who: string) -> string { return "${area(1)}" }' >c.tfy
deploy shop c.tfy
check "C does not come over HTTP" says 422
order
check "... and none of it changes what new runs get" is version "$second"
put() { ask -X PUT -H 'Content-Type: application/json' -d "$2" "http://x/v1/programs/$1"; }
put shop '{"files":[{"path":"../x.tfy","text":""}]}'
check "a path that leaves" says 422 '$.files[0].path'
put shop '{"files":[{"path":"/etc/x.tfy","text":""}]}'
check "... one that is absolute" says 422 '$.files[0].path'
put shop '{"files":[{"path":"-x.tfy","text":""}]}'
check "... one that looks like an option" says 422 '$.files[0].path'
put shop '{"files":[{"path":"x.tfy","text":""},{"path":"x.tfy","text":""}]}'
check "... one that is there twice" says 422 'another file has this path'
put shop '{"files":[{"path":"x.tfy"}]}'
check "... a file without a text" says 422 '$.files[0].text'
put shop '{"files":[]}'
check "... no file" says 422 '$.files'
put shop '{"file":[]}'
check "... another member" says 422 "did you mean 'files'"
put Shop '{"files":[{"path":"x.tfy","text":""}]}'
check "... and a name that no program has" says 400 "small letter"
echo 'secret = 1' >"$PWD/outside.tfy"
printf '{"files":[{"path":"x.tfy","text":"import \\"%s/outside.tfy\\" as o\\nworkflow main() -> int { return 1 }"}]}' "$PWD" >body
ask -X PUT -H 'Content-Type: application/json' --data-binary @body http://x/v1/programs/shop
check "a file of the machine is not imported" says 422
check "... and nothing of it is told" sh -c "! grep -q secret out"

# ---- a restart ----
order
kept=$id
ends
serves shop.tfy --no-tcp
check "after a restart new runs get what was deployed" test "$(version)" = "$second"
ask http://x/v1/programs/ci
check "... and a program that no file names is there" says 200 '"name":"ci"'
go "$kept"
check "... and a run continues" is result "two ann big"
order
left=$id
ends

echo '// It says more.' >>shop.tfy
sed -i 's/one /three /' shop.tfy
serves shop.tfy --no-tcp
third=$(version)
check "a file that has changed is news" test "$third" != "$second"
ask http://x/v1/programs/shop
check "... and the version before is there for its runs" says 200 "{\"version\":\"$second\",\"active\":false,\"live\""
go "$left"
check "... which continue" is result "two ann big"
ends
serves shop.tfy --no-tcp
check "the same file is none" test "$(version)" = "$third"

# ---- kill -9 in between ----
deploy shop second.tfy lib/words.tfy
check "a deploy" says 201
kill -9 "$server"
wait "$server" 2>/dev/null
serves shop.tfy --no-tcp
check "... that was answered is there after kill -9" test "$(version)" = "$second"
ends

# ---- runs of older versions are moved ----
cat >desk.tfy <<'END'
tool note(text: string) -> string pure = exec ["echo", "--", "${text}"]
workflow main(who: string) -> string {
    let first = yield note("hello ${who}")
    yield sleep(1h)
    let size: string = yield signal("size")
    return "one ${who} ${size}"
}
workflow waits() -> string {
    let size: string = yield signal("size")
    return "one ${size}"
}
END
sed 's/one /two /' desk.tfy >desk-2.tfy
sed 's/one /four /; s/hello/bye/' desk.tfy >desk-4.tfy
cat >limits.json <<'END'
{"programs": {"desk": {"limits": {"waits": {"max_running": 1}}}}}
END
serves shop.tfy --no-tcp --config limits.json
deploy desk desk.tfy
check "a third program" says 201
desk() { post "/v1/programs/desk/workflows/$1/runs" "$2"; id=$(member id); }
desk main '{"args":{"who":"ann"}}'
asleep=$id
desk waits '{"args":{}}'
waits=$id
desk waits '{"args":{}}'
queued=$id
check "... of which a run is queued" is state queued
tries=0
until ask "http://x/v1/runs/$asleep/records?type=ToolResult" && grep -q hello out || [ $((tries += 1)) -gt 200 ]; do sleep 0.02; done
deploy desk desk-2.tfy
second=$(member version)
check "... and its second version could have all runs" is older.0.runs 3
post /v1/programs/desk/move '{"from":"ffffffffffff"}'
check "of another version there are none" is moved 0
post /v1/programs/desk/move '{}'
check "runs are moved to the active version" is moved 3
check "... all of them" is stayed '[]'
ask "http://x/v1/runs/$queued" -H "Tfy-After: $(tr -d '\r' <head | sed -n 's/^Tfy-Lsn: //p')"
check "... and have it from then on" is version "$second"
check "... one that is queued is so still" is state queued
ask http://x/v1/programs/desk
check "... and none is left of the one before" is versions '[{"version": "'"$second"'", "active": true, "live": 3}]'
go "$waits"
check "... and ends with it" is result "two big"
tries=0
until ask "http://x/v1/runs/$queued" && [ "$(member state)" = running ] || [ $((tries += 1)) -gt 200 ]; do sleep 0.02; done
go "$queued"
check "... also the one that was queued" is result "two big"
post /v1/programs/desk/move '{}'
check "once more there is nothing to move" is moved 0
check "... and no record of it" test -z "$(tr -d '\r' <head | sed -n 's/^Tfy-Lsn: //p')"
deploy desk desk-4.tfy
check "a version that asked for something else is no home for the run" says 201 '"refused":[{"run":"'"$asleep"
post /v1/programs/desk/move '{}'
check "... and it stays" says 200 '"moved":0,"stayed":[{"run":"'"$asleep"
check "... for a reason" says 200 'recorded'
ask "http://x/v1/runs/$asleep"
check "... where it was" is version "$second"
post /v1/programs/none/move '{}'
check "a program that there is not" says 404 "no program 'none'"
post /v1/programs/desk/move '{"form":"x"}'
check "a member that there is not" says 422 "did you mean 'from'"
ask 'http://x/v1/audit?limit=20'
check "who moved is known" says 200 '"what":"move"'
kill -9 "$server"
wait "$server" 2>/dev/null
serves shop.tfy --no-tcp
post "/v1/runs/$asleep/cancel" '{}'
check "a run that was moved is cancelled after kill -9" settled "$asleep" cancelled
tfy verify >/dev/null
check "... and the log is whole" test $? = 0
ends

# ---- files that are saved ----
mkdir app
cat >app/front.tfy <<'END'
import "words.tfy" as words
workflow main(text: string) -> string { return words.twice(text) }
END
cat >app/words.tfy <<'END'
fn twice(text: string) -> string { return "${text} ${text}" }
END
said() { tries=0; until grep -q "$1" served || [ $((tries += 1)) -gt 300 ]; do sleep 0.05; done; grep -q "$1" served; }
serves app/front.tfy --no-tcp --watch
first=$(ask http://x/v1/programs/front && member version)
sed -i 's/ \${text}"/, ${text}"/' app/words.tfy
check "a file that is saved is compiled" said '^tfy serve: front: version [0-9a-f]* is active$'
check "... also one that is imported" test "$(tfy start front --text hi --wait)" = '"hi, hi"'
ask http://x/v1/programs/front
check "... and is another version" test "$(member version)" != "$first"
ask 'http://x/v1/audit?limit=1'
check "... which is recorded" says 200 '"how":"file"'
echo 'workflow' >>app/front.tfy
check "what does not compile is told" said 'front.tfy:[0-9]*:[0-9]*: error'
check "... and changes nothing" said '^tfy serve: front stays as it was: it does not compile$'
check "... indeed" test "$(tfy start front --text ho --wait)" = '"ho, ho"'
sed -i '$d' app/front.tfy
sed -i 's/words.twice(text)/words.twice(text + "!")/' app/front.tfy
tries=0
until [ "$(tfy start front --text hi --wait)" = '"hi!, hi!"' ] || [ $((tries += 1)) -gt 40 ]; do sleep 0.1; done
check "... until it does" test "$(tfy start front --text hi --wait)" = '"hi!, hi!"'
ends
check "the server ends in order" test $? = 0

# ---- tokens ----
serves shop.tfy --listen 127.0.0.1:0
url=$(sed -n 's/.* and \(http.*\)$/\1/p' served)
token=$(tfy token create op --roles operator)
status=$(curl -sS -o out -w '%{http_code}' -X PUT -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -d '{"files":[]}' "$url/v1/programs/shop")
check "only an admin deploys" says 403
ends


# ---- what is retired ----
rm -f "$TFY_DB"*
cat >gone.tfy <<'XX'
workflow main() -> string { return "built" }
workflow waits() -> string {
    let size: string = yield signal("size")
    return size
}
XX
retire() { ask -X DELETE "http://x/v1/programs/$1/versions/$2"; }
gone() { post "/v1/programs/gone/workflows/$1/runs" '{"args":{}}' -H 'Prefer: wait=10'; }
serves shop.tfy --no-tcp
deploy gone gone.tfy
built=$(member version)
post /v1/programs/gone/workflows/waits/runs '{"args":{}}'
id=$(member id)
retire gone "$built"
check "a program with a run that has not ended is not retired" says 409 '"type":"/problems/in-use"'
go "$id"
retire gone ffffffffffff
check "... nor another version of it" says 404 "new runs of gone get $built"
retire nothing "$built"
check "... nor a program that is not there" says 404 "there is no program 'nothing'"
retire gone "$built"
check "one whose runs have ended is" says 200 "\"version\":\"$built\""
check "... durably" has_header 'Tfy-Lsn: [0-9]+'
gone main
check "... so that nothing starts of it" says 404 "there is no program 'gone'"
ask http://x/v1/programs
check "... nor is it listed" sh -c '! grep -q gone out'
ask "http://x/v1/runs/$id"
check "... but its runs are" is state completed
ask 'http://x/v1/audit?limit=1'
check "... and who did it" says 200 '"what":"retire"'
kill -9 "$server"
wait "$server" 2>/dev/null
serves shop.tfy --no-tcp
gone main
check "a restart keeps it so" says 404
ask http://x/v1/programs/shop
check "... and the others as they were" says 200 '"active":true'
deploy gone gone.tfy
check "it can be deployed again" says 201 "\"version\":\"$built\""
gone main
check "... and is served" says 200 '"result":"built"'
ends
serves shop.tfy --no-tcp
gone main
check "... after a restart, too" says 200 '"result":"built"'
ask http://x/v1/programs/shop
retire shop "$(member version)"
check "a program of the command line is retired" says 200
ends
serves shop.tfy --no-tcp
ask http://x/v1/programs/shop
check "... until its file is named again" says 200 '"active":true'
ends
