#!/bin/sh
# tfy serve: a run whose program does not do what its log says is set aside: the server and all other runs go on, lists show it, what arrives for it is
# refused, a kill by force ends it, and the right program continues it.
. "$here/lib.sh"
. "$here/serve_lib.sh"
cat >shop.tfy <<'END'
workflow order(who: string) -> string {
    print("an order of ${who}")
    let size: string = yield signal("size")
    return "${who} ${size}"
}

workflow plain() -> string {
    let size: string = yield signal("size")
    return "plain ${size}"
}

/// Asks somebody, beside a child.
workflow asks(who: string) -> string {
    print("an order of ${who}")
    let child = spawn order(who)
    let _yes = yield approve("send it to ${who}?")
    return yield join(child)
}
END
cat >ci.tfy <<'END'
workflow main() -> string {
    print("an order of nobody")
    let size: string = yield signal("size")
    return "built ${size}"
}
END
CC=${CC:-cc}
# A library with sanitizers wants programs with them.
if nm "$build/runtime/libtfy.a" 2>/dev/null | grep -q __asan_init; then export CFLAGS="${CFLAGS:-} -fsanitize=address,undefined" CC=clang; fi
if nm "$build/runtime/libtfy.a" 2>/dev/null | grep -q __sanitizer_cov; then CFLAGS="$CFLAGS,fuzzer-no-link"; fi
# A compiler that makes other code of a program that prints an order.
cat >other_cc <<END
#!/bin/sh
for word; do
    case \$word in *.c) sed -i '/^TFY__LITERAL/s/an order of /the order of/' "\$word" ;; esac
done
exec $CC "\$@"
END
chmod +x other_cc
right() { CC=$CC tfy build --shared "$1.tfy" -o "$1.so"; }
wrong() { CC=$PWD/other_cc tfy build --shared "$1.tfy" -o "$1.so"; }
order() # PROGRAM WORKFLOW ARGS: $id
{
    post "/v1/programs/$1/workflows/$2/runs" "{\"args\":$3}"
    id=$(member id)
}
records() { tfy --db "$TFY_DB" history "$1" --json | wc -l; }
# listed QUERY: the ids of the runs, oldest first.
listed() { ask "http://x/v1/runs?sort=started&$1" && python3 -c 'import json; print(*[run["id"] for run in json.load(open("out"))["runs"]])'; }
lists() # QUERY IDS…: soon
{
    query=$1
    shift
    tries=0
    until [ "$(listed "$query")" = "$*" ] || [ $((tries += 1)) -gt 200 ]; do sleep 0.02; done
    [ "$(listed "$query")" = "$*" ] || { listed "$query"; return 1; }
}
signals() { post "/v1/runs/$1/signals" '{"name":"size","value":"big"}'; }
has_figure() { ask http://x/metrics && grep -qx "$1" out; }

right shop && right ci
serves shop.so ci.so --no-tcp
order shop order '{"who":"ann"}'
one=$id
order shop asks '{"who":"bob"}'
two=$id
order ci main '{}'
fine=$id
check "runs of two programs wait" sh -c "test -n '$one' && test -n '$two' && test -n '$fine'"
check "... and none is set aside" lists attention=diverged
check "... by the figures, too" has_figure 'tfy_runs_diverged 0'
check "one asks a question" lists attention=question "$two"
ends
before=$(records "$one")

# ---- the same version, with other code ----

wrong shop
serves shop.so ci.so --listen 127.0.0.1:0
check "the server starts" grep -q "^tfy serve: serving" served
check "... and says which run is set aside" grep -q "set aside: task 1 of $one differs from its log. recorded: record .*an order of ann.* now (line 2): it says .*the order ofann" served
check "... and what can be done" grep -q "start it with the program that it began with, or move it .* 'tfy replay $one' shows the place, and 'tfy kill $one --force' ends it" served
check "both are in the list" lists attention=diverged "$one" "$two"
check "... and among those that need somebody" lists attention=any "$one" "$two"
ask "http://x/v1/runs/$one"
check "a run says so" is attention diverged
check "... goes on in the log" is state running
check "... and has the difference" says 200 '"difference":"task 1 of '
check "... with another ETag" has_header 'etag: "[0-9]*d"'
ask "http://x/v1/runs/$two"
check "also one that asks a question" is attention diverged
check "the figures have their number" has_figure 'tfy_runs_diverged 2'
url=$(sed -n 's/^tfy serve: serving .* and \(http.*\)$/\1/p' served)
(umask 077 && tfy token create onlooker --roles viewer >onlooker.token)
elsewhere() { run env TFY_DB=none.db TFY_TOKEN_FILE="$PWD/onlooker.token" tfy "$@" --server "$url"; }
elsewhere ps
check "ps of a server elsewhere shows them so" sh -c "grep -c '^\($one\|$two\)  diverged  ' out | grep -qx 2"
check "... and the others as they are" grep -q "^$fine  running  " out
elsewhere ps --json
check "... as JSON with the difference" python3 -c '
import json, sys
runs = {run["id"]: run for run in json.load(open("out"))}
assert all(runs[id]["attention"] == "diverged" and "differs from its log" in runs[id]["difference"] for id in sys.argv[1:])' "$one" "$two"
signals "$fine"
check "a run of another program ends" settled "$fine" completed
check "... with its result" is result "built big"
order shop order '{"who":"eve"}'
signals "$id"
check "a new run of the same one, too" settled "$id" completed
check "... with the new code" sh -c "tfy --db '$TFY_DB' output $id | grep -q 'the order ofeve'"

# ---- what arrives for it ----

signals "$one"
check "a signal is refused" says 409 /problems/diverged
check "... by a sentence" says 409 "differs from its log and is set aside"
post "/v1/questions/$two/1/2/answer" '{"answer":"yes"}'
check "an answer, too" says 409 /problems/diverged
post "/v1/runs/$one/cancel" '{}'
check "... and a cancellation, whose cleanup cannot run" says 409 "its cleanup cannot run"
run tfy signal "$one" size '"big"'
check "the command line is told the same" sh -c 'grep -q "set aside" err'
post /v1/bulk "{\"do\":\"cancel\",\"runs\":[\"$one\"]}"
check "many at once leave it" says 200 "a kill by force ends it"
check "nothing was recorded for it" [ "$(records "$one")" = "$before" ]
post "/v1/runs/$one/fork" '{"step":0}'
fork=$(member id)
check "a run that is made from it goes on" says 201
signals "$fork"
check "... since it has the new code from its start" settled "$fork" completed

# ---- the right program ----

ends
right shop
serves shop.so ci.so --no-tcp
check "with the right program none is set aside" lists attention=diverged
ask "http://x/v1/runs/$two"
check "... and the question is one again" is attention question
signals "$one"
check "a run goes on" settled "$one" completed
check "... to its end" is result "ann big"
check "... and replays" sh -c "tfy --db '$TFY_DB' replay $one | grep -q ' 0 divergences'"
ends

# ---- an end without its program ----

wrong shop
serves shop.so ci.so --no-tcp
check "the other is set aside again" lists attention=diverged "$two"
run tfy kill "$two" --force
check "a kill by force ends it" settled "$two" cancelled
check "... with the task that it had" sh -c "tfy --db '$TFY_DB' history $two --json | grep -c TaskAbort | grep -qx 2"
check "... and it needs nobody" lists attention=any
check "... by the figures, too" has_figure 'tfy_runs_diverged 0'
signals "$two"
check "... and has ended for all" says 409 /problems/ended
ends
check "its log is whole" tfy --db "$TFY_DB" verify
check "... and replays with the right program" sh -c "tfy --db '$TFY_DB' replay $two | grep -q ' 0 divergences'"

# ---- a version that fits ----

right shop
serves shop.so ci.so --no-tcp
order shop order '{"who":"dan"}'
ends
wrong shop
serves shop.so ci.so --no-tcp
check "a third is set aside" lists attention=diverged "$id"
sed 's/^workflow asks/\n&/' shop.tfy >next.tfy
run tfy deploy next.tfy --name shop --move --db "$TFY_DB"
check "a version that does what its log says takes it over" lists attention=diverged
signals "$id"
check "... and continues it" settled "$id" completed
check "... to its end" is result "dan big"
ends

# ---- a process for one run ----

tfy build shop.tfy -o shop
run ./shop run --workflow order --who fay --db own.db
CC=$PWD/other_cc tfy build shop.tfy -o shop
run ./shop resume last --db own.db
check "a process of one run ends with it" ended 65 "differs from its log. recorded: record"
check "... and says no more" sh -c "! grep -q 'set aside' err"
run ./shop run --workflow plain --db own.db
run tfy signal last size '"big"' --db own.db
run ./shop resume --all --db own.db
check "one that continues many sets it aside" ended 65 "set aside: task 1 of"
check "... and continues the others" sh -c "tfy result last --db own.db | grep -q 'plain big'"

# ---- in a browser ----

modules=$here/../../build/npm/node_modules
if [ ! -d "$modules/playwright-core" ] || ! command -v chromium >/dev/null; then
    echo "skipped: the browser, which './dev test' installs"
    exit 0
fi
export TFY_DB="$PWD/page.db"
right shop
serves shop.so --no-tcp
order shop order '{"who":"gus"}'
one=$id
order shop order '{"who":"hal"}'
two=$id
ends
wrong shop
serves shop.so --no-tcp
timeout 150 node "$here/page/diverged.mjs" "$TFY_DB-live/http" "$modules" "$one" "$two" || check "the browser's part ends" false
check "the run that the page ended has no task left" sh -c "tfy --db '$TFY_DB' history $one --json | grep -c TaskAbort | grep -qx 1"
ends
