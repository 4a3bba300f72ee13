#!/bin/sh
# tfy serve: ps, inspect, approve, deny, signal, kill and resolve of a server elsewhere.
. "$here/lib.sh"
. "$here/serve_lib.sh"
cat >shop.tfy <<'END'
tool slow() -> ExecResult once = exec ["sleep", "60"]
workflow order(who: string) -> string {
    let fine = yield approve("charge ${who}?")
    if !fine { return "nothing for ${who}" }
    let size: string = yield signal("size")
    return "${who} ${size}"
}
workflow two() -> bool {
    let a = spawn ask_one("a")
    let b = spawn ask_one("b")
    let x = yield join(a)
    let y = yield join(b)
    return x && y
}
workflow ask_one(what: string) -> bool { return yield approve("take ${what}?") }
workflow name() -> string { return yield ask("who?") }
workflow waits() -> ExecResult { return yield slow() }
END
serves shop.tfy --listen 127.0.0.1:0 || exit 1
url=$(sed -n 's/.* and \(http.*\)$/\1/p' served)
[ "$url" ] || { cat served; exit 1; }
(umask 077 && tfy token create op --roles operator,approver,viewer >op.token)
export TFY_TOKEN_FILE="$PWD/op.token"
mkdir away && cd away || exit 1
elsewhere() { remote=$1; shift; run env TFY_DB=none.db tfy "$remote" "$@" --server "$url"; }
asks() # RUN TEXT: until the run asks that
{
    tries=0
    until elsewhere inspect "$1" && grep -q "waits for an answer: $2" out || [ $((tries += 1)) -gt 60 ]; do sleep 0.05; done
    grep -q "waits for an answer: $2" out
}
start() { tfy start "$@" --server "$url"; }
ends_as() # RUN STATE
{
    tries=0
    until elsewhere ps --json && grep -q "\"id\":\"$1\".*\"state\":\"$2\"" out || [ $((tries += 1)) -gt 60 ]; do sleep 0.05; done
    grep -q "\"id\":\"$1\".*\"state\":\"$2\"" out
}
elsewhere ps
check "ps says that there are none" ended 0 "the server has no such runs"
one=$(start shop.order --who ann --label team=web)
check "inspect shows a run of a server elsewhere" asks "$one" "charge ann?"
check "... with its arguments" grep -qx 'arguments  {"who":"ann"}' out
elsewhere inspect "$one" --json
check "... as JSON" python3 -c 'import json; assert json.load(open("out"))["tasks"][0]["question"] == "charge ann?"'
elsewhere ps
check "ps lists it, with its labels" grep -Eq "^$one  running    [-0-9]{10} [:0-9]{8}  +shop.order asks team=web$" out
elsewhere approve "$(echo "$one" | cut -c1-20)"
check "approve answers" ended 0 "answered with yes"
elsewhere signal "$one" size '"big"' --id s1
check "signal sends" ended 0 "sent"
check "... and the run ends" ends_as "$one" completed
elsewhere inspect last
check "... with its result" grep -qx 'result     "ann big"' out
elsewhere signal "$one" size '"big"' --id s1
check "the same signal again is no other" ended 0 "sent"
elsewhere signal "$one" size '"big"'
check "one to a run that has ended is refused" ended 64 "has ended"
two=$(start shop.order --who bob)
asks "$two" "charge bob?"
elsewhere deny "$two"
check "deny answers" ended 0 "answered with no"
check "... and the run goes on" ends_as "$two" completed
three=$(start shop.two)
asks "$three" "take b?"
elsewhere approve "$three"
check "of two questions one is named" ended 64 "2 tasks of run $three wait for that; name one with --task"
elsewhere approve "$three" --task 1.1
check "... by its task" ended 0
elsewhere approve "$three" --task 1.7
check "... which waits for an answer" ended 64 "waits for no such thing in task 1.7"
elsewhere approve "$three"
check "the other one is the only one then" ended 0
check "... and both were answered" ends_as "$three" completed
four=$(start shop.name)
asks "$four" "who?"
elsewhere approve "$four" "Ann Lee"
check "a text is an answer" ended 0 "answered with Ann Lee"
check "... and the result" ends_as "$four" completed
five=$(start shop.order --who eve)
asks "$five" "charge eve?"
elsewhere ps --state unfinished --workflow order --limit 1
check "ps chooses" sh -c "[ \$(wc -l <out) = 2 ] && grep -q $five out"
elsewhere ps --limit some
check "... by what it knows" ended 64 "--limit"
elsewhere ps --state asleep
check "... alone" ended 64 "is not the state of a run"
elsewhere ps --state stopped
check "... and says what there cannot be" ended 64 "never stopped"
elsewhere kill "$five"
check "kill cancels" ended 0 "killed"
check "... the run" ends_as "$five" cancelled
elsewhere kill "$five"
check "... once" ended 64 "has ended"
elsewhere kill 01a2ffff
check "a run that there is not" ended 69 "there is no run"
elsewhere ps --json
check "ps prints JSON" python3 -c 'import json; assert len(json.load(open("out"))) == 5'

# ---- in doubt ----
six=$(start shop.waits)
tries=0
until elsewhere inspect "$six" && grep -q "waits for the result of slow" out || [ $((tries += 1)) -gt 60 ]; do sleep 0.05; done
kill -9 "$server"
cd ..
serves shop.tfy --listen 127.0.0.1:0 || exit 1
url=$(sed -n 's/.* and \(http.*\)$/\1/p' served)
[ "$url" ] || { cat served; exit 1; }
cd away || exit 1
tries=0
until elsewhere inspect "$six" && grep -q "in doubt: slow" out || [ $((tries += 1)) -gt 60 ]; do sleep 0.05; done
check "a step in doubt is seen" grep -q "in doubt: slow" out
elsewhere ps --state doubt
check "... and listed" grep -q "^$six  doubt " out
elsewhere resolve "$six" 1 --done '{"code":0,"out":"","err":"","truncated":false,"lossy":false}'
check "resolve says what happened" ended 0 "resolved"
check "... and the run ends" ends_as "$six" completed

# ---- who may ----
(umask 077 && cd .. && tfy token create seer --roles viewer >seer.token)
export TFY_TOKEN_FILE="$PWD/../seer.token"
elsewhere inspect "$six"
check "a viewer looks" ended 0
elsewhere kill "$six"
check "... and changes nothing" ended 64 "operator"
echo tfy_seer_00000000000000000000000000000000 >other.token
chmod 600 other.token
export TFY_TOKEN_FILE="$PWD/other.token"
elsewhere ps
check "a token that nobody knows" ended 64 "the token is not known"
unset TFY_TOKEN_FILE
elsewhere ps
check "without a token it says how" ended 69 TFY_TOKEN_FILE
