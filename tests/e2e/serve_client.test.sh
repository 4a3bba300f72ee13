#!/bin/sh
# tfy start, tfy deploy and tfy drain: what asks a server, of the database here or at a URL elsewhere.
. "$here/lib.sh"
. "$here/serve_lib.sh"
cat >shop.tfy <<'END'
enum Size { small, big }
type Item { name: string, n: int }
error Refused { why: string }
workflow order(who: string, size: Size, items: list<Item>, gift: bool = false) -> string {
    if who == "eve" { fail Refused(why: "she owes") }
    return "${who} ${items.len()} ${gift} ${size == Size.big}"
}
workflow stock() -> int { return 3 }
END
mkdir -p app/lib
cat >app/ci.tfy <<'END'
import "lib/words.tfy" as words
workflow main(text: string) -> string { return words.twice(text) }
END
cat >app/lib/words.tfy <<'END'
fn twice(text: string) -> string { return "${text} ${text}" }
END
fails() { wanted=$1; shift; "$@" >out 2>err; [ $? = "$wanted" ]; }
told() { grep -qF -- "$1" err || { cat err; return 1; }; }

check "without a server" fails 69 tfy start shop.order
check "... says so" told "no server of"
check "... and what to type" told "tfy serve"

serves shop.tfy --listen 127.0.0.1:0
url=$(sed -n 's/.* and \(http.*\)$/\1/p' served)
tfy start shop.order --who ann --size big --items '[{"name": "tea", "n": 2}]' --gift true --label team=web --wait >out 2>err
check "a start waits for the result" test "$(cat out)" = '"ann 1 true true"'
run=$(tfy start shop.order --who ann --size small --items '[]' --id cart-1)
check "... or prints the run" settled "$run" completed
check "... and the same id is the same run" test "$(tfy start shop.order --who ann --size small --items '[]' --id cart-1)" = "$run"
check "... with other arguments it is refused" fails 64 tfy start shop.order --who bob --size small --items '[]' --id cart-1
ask "http://x/v1/runs?label.team=web"
check "a label finds it" is runs.0.labels.team web
tfy start shop.order --who eve --size small --items '[]' --wait >out 2>err
check "a run that fails is an exit status" test $? = 1
check "... with its error" told "Refused"
check "mistakes are told" fails 64 tfy start shop.order --size huge --items '[{"name": 1}]' --hwo ann
check "... all of them" told '$.args.who'
check "... each" told '$.args.items'
check "... with what was meant" told "did you mean 'who'"
check "what is no JSON is told here" fails 64 tfy start shop.order --items tea
check "... with the name" told '--items takes JSON'
check "a workflow has to be named" fails 64 tfy start shop
check "... of several" told "shop.order, stock"
check "a program that there is not" fails 69 tfy start shoop.order
check "... is told" told "no program 'shoop'"
check "a workflow that there is not" fails 69 tfy start shop.odrer
check "... is told" told "did you mean 'order'"

# ---- deploy ----
tfy deploy app/ci.tfy >out 2>err
check "a program of two files is deployed" grep -q '^ci: version [0-9a-f]* is active$' out
check "... and started by its only workflow" test "$(tfy start ci --text hi --wait)" = '"hi hi"'
tfy deploy app/ci.tfy >out 2>err
check "... the same again" grep -q 'is active, as before$' out
tfy deploy app/ci.tfy --name build >out 2>err
check "one source has one name" told "exactly this source"
cat >desk.tfy <<'END'
workflow main() -> string {
    let size: string = yield signal("size")
    return "one ${size}"
}
END
tfy deploy desk.tfy >out
run=$(tfy start desk)
sed 's/one/two/' desk.tfy >desk-2.tfy
tfy deploy desk-2.tfy --name desk >out
check "a deploy says what becomes of runs" grep -q '^1 run has version [0-9a-f]*; 1 of them can be moved$' out
sed 's/one/three/' desk.tfy >desk-3.tfy
tfy deploy desk-3.tfy --name desk --move >out
check "... and moves them" grep -q '^1 moved$' out
tfy signal "$run" size '"big"' >out 2>&1
check "... which end with the new version" settled "$run" completed
check "... indeed" is result "three big"
echo 'workflow main() -> int { return x }' >wrong.tfy
check "mistakes of a program are told" fails 64 tfy deploy wrong.tfy
check "... with their place" told "wrong.tfy:1:"

# ---- elsewhere ----
check "a server elsewhere wants a token" fails 69 tfy start shop.stock --server "$url"
check "... and says how" told TFY_TOKEN_FILE
tfy token create op --roles operator >op.token
export TFY_TOKEN_FILE="$PWD/op.token"
check "a token that others can read" fails 69 tfy start shop.stock --server "$url"
check "... is refused" told "chmod 600"
chmod 600 op.token
check "a server elsewhere is asked with a token" test "$(tfy start shop.stock --server "$url" --wait)" = 3
check "... which may not do everything" fails 64 tfy deploy desk.tfy --server "$url/"
check "a server that there is not" fails 69 tfy start shop.stock --server http://127.0.0.1:1
check "... is told" told "does not answer"
check "what is no URL" fails 69 tfy start shop.stock --server example.org
check "... is told" told "is not a URL"
unset TFY_TOKEN_FILE

# ---- drain ----
check "a drain ends the server" tfy drain
wait "$server"
check "... in order" test $? = 0
check "... and says who wanted it" grep -q 'asks it to end' served
check "a drain of a time" fails 64 tfy serve shop.tfy --no-tcp --drain soon
cat >slow.tfy <<'END'
tool slow() -> ExecResult once = exec ["sleep", "30"]
workflow main() -> int {
    let a = yield slow()
    return a.code
}
END
serves slow.tfy --no-tcp --drain 300ms
run=$(tfy start slow)
tries=0
until ask "http://x/v1/runs/$run/records?type=StepStart" && grep -q slow out || [ $((tries += 1)) -gt 200 ]; do sleep 0.02; done
sleep 0.2
tfy drain
wait "$server"
check "a drain that comes to its end has a status" test $? = 75
check "... and names what was under way" grep -q 'slow (task 1) did not finish in time' served
sed 's/"30"/"1"/' slow.tfy >short.tfy
serves short.tfy --no-tcp
run=$(tfy start short)
tries=0
until ask "http://x/v1/runs/$run/records?type=StepStart" && grep -q slow out || [ $((tries += 1)) -gt 200 ]; do sleep 0.02; done
kill -TERM "$server"
kill -TERM "$server" # as timeout(1) does
wait "$server"
check "two signals at once are one: what is under way ends" test $? = 0
tfy history "$run" >out
check "... by itself" grep -q ToolResult out
echo '{"drain": "20s"}' >serve.json
check "the configuration has it, too" tfy serve --check --config serve.json
echo '{"drain": 20}' >serve.json
check "... as a duration" fails 64 tfy serve --check --config serve.json
