#!/bin/sh
# Behind the question of an `approve` policy is the call, and where its untrusted values come from; --yes and --yolo.
. "$here/lib.sh"
mine=$PWD

cat >tidy.tfy <<'END'
type Plan { name: string }

tool plan(goal: string) -> Plan pure = exec ["printf", "%s", goal]
tool drop(name: string) -> ExecResult once dangerous sandbox open = exec ["echo", "rm", "-r", "--", name] env { "TOKEN": secret("TOKEN") }
tool note(text: string) -> string once dangerous = http "POST http://localhost:1/a/${text}?k=1" body "hi ${text}"

workflow remove(name: string) -> string {
    let done = yield drop(name) approve "remove?"
    return done.out
}

workflow main(goal: string) -> string {
    yield drop("old logs") approve "safe?"
    let p = yield plan(goal)
    return yield remove(p.name)
}

workflow others(goal: string) {
    let p = yield plan(goal)
    yield note(p.name) approve "post?" else ""
    yield exec(["cat", "-"], stdin: p.name, cwd: ".") approve "read?"
    yield sleep(1ms) approve "sleep?"
}

workflow direct(name: string) -> string {
    let done = yield drop(name) approve "remove it?"
    return done.out
}
END
export TFY_SECRET_TOKEN=very-secret
export TFY_DISPOSABLE=1

run tfy run tidy.tfy --goal '{"name": "it'"'"'s\n  runs  true\u001b[2J"}' --yes
check "--yes answers a call with trusted arguments, and no other: 75" ended 75 "line 8 asks: remove?"
check "... the question shows the argv, quoted" grep -Fxq "  runs      echo rm -r -- \$'it\\'s\\n  runs  true\\u{1b}[2J'   (no sandbox)" err
check "... the environment, with the secret's name" grep -Fxq "  env       TOKEN=secret:TOKEN" err
check "... where the untrusted value comes from, through the workflow" grep -Fxq "  name      from the tool 'plan', line 14" err
check "... and why --yes does not answer" grep -Fxq "  --yes does not answer this: 'name' comes from the tool 'plan'" err
check "no value of a secret is in the log" sh -c '! grep -aq very-secret .tfy/runs.db*'
run tfy inspect last
check "inspect shows the call, too" grep -Fxq "      runs      echo rm -r -- \$'it\\'s\\n  runs  true\\u{1b}[2J'   (no sandbox)" out
check "... and its origin" grep -Fxq "      name      from the tool 'plan', line 14" out
run tfy inspect last --json
check "... as JSON" grep -q '"origins"' out
check "--yes is in the log" [ "$(sqlite3 .tfy/runs.db "select count(*) from wal where payload like '%\"by\":\"--yes\"%'")" = 1 ]

# Another argv asks anew; the same one does not.
sed 's/"rm", "-r"/"rm", "-rf"/' tidy.tfy >other.tfy
tfy approve last 2>said
run tfy resume last --with other.tfy
check "an answer is not one for another command: 75" ended 75 "runs      echo rm -rf --"
tfy approve last 2>said
run tfy resume last
check "... whose answer counts" printed "rm -rf --"
run tfy replay last
check "... and which replays" printed " 0 divergences, 0 effects performed"
run tfy run tidy.tfy --goal '{"name": "x"}' --yes
tfy approve last 2>said
sed 's/line 13/&/; 1i // a line more' tidy.tfy >moved.tfy
run tfy resume last --with moved.tfy
check "a line more changes no call: the answer holds" printed "rm -r -- x"

run tfy run tidy.tfy --workflow direct --name x --yes
check "what a person passes is trusted" printed "rm -r -- x"

# Long ones are cut.
long=$(printf 'd%.0s' $(seq 3000))
run tfy run tidy.tfy --workflow direct --name "$long"
check "a long argument is cut in its middle, with its length" grep -Eq 'runs      echo rm -r -- d{80}…\(3000 bytes, sha256 [0-9a-f]{16}\)…d{40}   \(no sandbox\)$' err
run tfy inspect last --details
check "--details shows all" grep -q "runs      echo rm -r -- $long   (no sandbox)\$" out
run tfy run tidy.tfy --workflow direct --name "$long" --details
check "... of run and resume, too" grep -q "runs      echo rm -r -- $long   (no sandbox)\$" err

huge=$(printf 'd%.0s' $(seq 100000))
run tfy run tidy.tfy --workflow direct --name "$huge"
sum=$(printf %s "$huge" | sha256sum | cut -c 1-16)
check "one that is too long for the log, too" grep -Eq "d{80}…\(100000 bytes, sha256 $sum\)…d{40}   \(no sandbox\)\$" err
run tfy inspect last --details
check "... of which --details shows what is there" grep -Eq "d{24576}…\(100000 bytes, sha256 $sum\)…d{24576}   " out

# A question that nobody could read, with what would clear the screen at its end.
cat >flood.tfy <<'END'
workflow main() -> bool {
    let text = yield read_file("flood")
    return yield approve(text, "details: ${text}")
}
END
{ head -c 10485760 /dev/zero | tr '\0' q; printf '\033[2J\033]0;x\007\342\200\256'; } >flood
run tfy run flood.tfy
check "a question of 10 MiB is cut, and so are its details" [ "$(wc -c <err)" -lt 200000 ]
check "... with their lengths" [ "$(grep -o "([0-9]* bytes, --details" err | grep -o "[0-9]*" | xargs)" = "10485773 10485782" ]
run tfy inspect last
check "inspect cuts it" [ "$(wc -c <out)" -lt 200000 ]
run tfy inspect last --details
check "... and shows all of it on demand" [ "$(wc -c <out)" -gt 10000000 ]
TERM=dumb TYPED=y python3 "$here/on_terminal.py" tfy run flood.tfy >screen 2>&1
check "on a terminal it is text" sh -c '[ "$(wc -c <screen)" -lt 200000 ] && grep -Fq "\\u{1b}[2J\\u{1b}]0;x\\u{7}\\u{202e}" screen'

# Each kind of call.
run tfy run tidy.tfy --workflow others --goal '{"name": "a/b"}'
check "http: method, address and body" grep -Fxq "  sends     POST http://localhost:1/a/a%2Fb?k=1" err
check "... its body" grep -Fxq "  body      'hi a/b'" err
tfy approve last 2>said
run tfy resume last
check "exec: its sandbox" grep -Fxq "  runs      cat -   (sandbox workspace)" err
check "... where it runs" grep -Fxq "  in        ." err
check "... and its input" grep -Fxq "  stdin     a/b" err
tfy approve last 2>said
run tfy resume last
check "others: the name and the arguments" grep -Fxq '  calls     sleep(d: "1ms")' err

# --yolo
run tfy run tidy.tfy --goal '{"name": "x"}' --yolo
check "--yolo answers all" printed "rm -r -- x"
check "... which the log says" [ "$(sqlite3 .tfy/runs.db "select count(*) from wal where payload like '%\"by\":\"--yolo\"%'")" = 2 ]
run tfy ps
check "... and ps" printed "main yolo --goal"
run tfy ps --json
check "... as JSON" printed '"yolo":true'
run tfy inspect last
check "... and inspect" printed "yolo       every approval is answered with yes"
if [ "$(id -u)" = 0 ]; then
    run env -u TFY_DISPOSABLE tfy run tidy.tfy --goal '{"name": "x"}' --yolo
    check "--yolo as root: 64" ended 64 "--yolo is refused as root: run it as another user; TFY_DISPOSABLE=1"
    as() { setpriv --reuid 65534 --regid 65534 --clear-groups env -u TFY_DISPOSABLE HOME="$PWD/home" "$@"; }
else
    as() { env -u TFY_DISPOSABLE HOME="$PWD/home" "$@"; }
fi
dir=$(mktemp -d /tmp/tfy-yolo-XXXXXX)
tfy build tidy.tfy -o "$dir/tidy" >/dev/null
mkdir "$dir/home"
chmod 777 "$dir" "$dir/home"
cd "$dir" || exit 1
as mkdir repo
as git -C repo init -q
run as ./tidy --db home/a.db --root / --workflow direct --name x --yolo
check "... in the root directory: 64" ended 64 "--yolo is refused in /: give --root"
run as ./tidy --db home/a.db --root home --workflow direct --name x --yolo
check "... in the home directory: 64" ended 64 "--yolo is refused in your home directory"
as touch repo/new
run as ./tidy --db home/a.db --root repo --workflow direct --name x --yolo
check "... where something is not committed: 64" ended 64 "--yolo is refused in a git work tree with uncommitted changes: commit them first"
rm -f repo/new
run as ./tidy --db home/a.db --root repo --workflow direct --name x --yolo
check "... and nowhere else" printed "rm -r -- x"
run as ./tidy --db home/a.db --root repo --workflow direct --name x --yolo --sandbox open
check "... beside --sandbox open: 64" ended 64 "--yolo is refused with --sandbox open: leave out one of the two"
run as ./tidy --db home/a.db --root repo --workflow direct --name x --sandbox open
run as ./tidy resume --db home/a.db --yolo
check "... for a run that began with it, too: 64" ended 64 "began with --sandbox open, where --yolo is refused"
run as ./tidy resume --db home/a.db --yolo --sandbox workspace
check "... which a stricter sandbox continues" ended 0
cd / && rm -rf "$dir"

# ---- a no with its reason ----

cd "$mine" || exit 1
cat >reason.tfy <<'END'
tool mail(to: string) -> ExecResult once dangerous = exec ["echo", to]
workflow main() -> string {
    try {
        let _ = yield mail("ann") approve "mail ann?"
        return "sent"
    } catch e: Denied {
        return e.message
    }
}
workflow plain() -> bool {
    let yes = yield approve("really?")
    return yes
}
END
export TFY_DB="$PWD/reason.db"
run tfy run reason.tfy
check "a question is left open" ended 75
run tfy deny last --why "she is on holiday,
until \"May\""
check "a no takes a reason" ended 0 "answered with no"
run tfy history last --type Approval
check "... which the log has" grep -q 'she is on holiday' out
run tfy resume last
check "... and the program is told" printed '"mail was not approved: she is on holiday,\nuntil \"May\""'
run tfy replay last
check "... again in a replay" printed " 0 divergences"
start tfy run reason.tfy --wait
tries=0
until tfy deny last --why "not now" >/dev/null 2>&1 || [ $((tries += 1)) -gt 200 ]; do sleep 0.05; done
finish
check "a live run is told, too" printed '"mail was not approved: not now"'
run tfy run reason.tfy
run tfy deny last
run tfy resume last
check "without a reason there is none" printed '"mail was not approved"'
run tfy run reason.tfy --workflow plain
run tfy deny last --why "no"
check "a question of its own takes no reason" ended 64 "a reason is given with a no to a question of 'approve'"
run tfy deny last --why "$(printf %5000s x)"
check "... and none takes a long one" ended 64 "--why takes 4096 bytes at most, not 5000"
run tfy deny last
check "... and it can still be answered" ended 0
unset TFY_DB
