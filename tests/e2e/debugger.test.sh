#!/bin/sh
# Going through a recorded run: tfy replay --step, --until, --print-locals.
. "$here/lib.sh"
cat >shop.tfy <<'END'
error OutOfStock { item: string }
tool stamp(text: string) -> string pure = exec ["printf", "%s", text]
tool broken() -> string pure = exec ["false"]

workflow pick(item: string, count: int) -> string fails OutOfStock {
    let label = "${item} x${count}"
    let out = yield stamp(label)
    return out
}

workflow main(goal: string = "buy") -> int {
    var done = 0
    let items = ["apple", "pear"]
    print("goal: ${goal}")
    for n, item in items {
        let unused = n * 10
        let got = yield pick(item, n + 2)
        done += 1
        print(got)
    }
    try {
        yield broken()
    } catch e: ToolError {
        print("no luck")
    }
    let child = spawn tick(2)
    yield join(child)
    let ok = yield approve("fine?")
    return done
}

workflow tick(n: int) {
    for i in 0..n {
        yield sleep(1ms)
        log("tick ${i}")
    }
}
END
tfy run shop.tfy >/dev/null 2>&1 # it waits for an answer

# say COMMAND…: goes through the last run with these commands, each a line.
say()
{
    printf '%s\n' "$@" >commands
    status=0
    tfy replay last --step <commands >out 2>err || status=$?
}

say quit
check "stepping begins with the first record" printed "record 1 of "
check "... and ends with 0" ended 0
say n '' next
check "next: n, an empty line, the word" printed "record 4 of "
check "a mark knows the variables, those too that nobody reads any more" printed "  unused: int = 0"
check "... in the frame that called it too" printed "called from main, line 17: let got = yield pick(item, n + 2)"
check "what the effect asked" printed 'asked stamp(text: "apple x2")'
check "... and got" printed '  value: "apple x2"'
cp out forward
say 'goto end' 'goto 4'
sed -n '/^record 4 /,$p' forward >want
sed -n '/^record 4 /,$p' out >got
check "going back shows what going forward showed" cmp want got
say 'goto end'
check "the end of the log shows where an unfinished run stands" printed "main, line 28: approve"
check "... with its variables" printed "  done: int = 2"
say failure 'back failure' 
check "the next failure" printed "  error: ToolError: "
check "there is none before it: said, and the status tells" ended 69 "no earlier record is at 'failure'"
say 'goto line:34' 'locals i' 'task 1.1' n n where 'where 1' source print
check "a line, a task and its records, one variable" printed "  i: int = 0"
check "where: all tasks" printed "1        waiting(join)      main, line 27: join"
check "where PATH: the frames of one" printed "in main, line 27: yield join(child)"
check "source: the lines around" printed '>   35          log("tick ${i}")'
check "print: JSON" sh -c 'grep "^{" out | grep -q "\"frames\""'
say 'goto 999' 'goto lsn:99999' 'goto 1.7/1' 'goto nowhere' frob 'quit now' 'locals nobody' 'task 7' 'where 9'
for words in "the run has no record 999" "no record with 'lsn:99999'" "no step '1.7/1'" "'nowhere' is not a place" \
    "no command 'frob'" "quit takes no argument" "no variable 'nobody'" "no task '7'" "no task '9' is alive"; do
    check "refused: $words" grep -qF "$words" err
done
check "... once each, and all commands were read" [ "$(wc -l <err)" = 9 ]

printf 'fr\033[2Job\n' >commands
run sh -c 'tfy replay last --step <commands'
check "what is typed cannot steer the terminal by a message" sh -c "! grep -q \"\$(printf '\\033')\" err"
run tfy replay last --until 1/4 --print-locals --json
check "--until a step, --print-locals --json: one object" python3 -c '
import json
stop = json.load(open("out"))
local = {l["name"]: l for l in stop["frames"][-1]["locals"]}
assert stop["task"] == "1" and stop["step"] == 4 and stop["asked"]["tool"] == "stamp", stop
assert local["n"] == {"name": "n", "type": "int", "value": 1} and local["items"]["type"] == "list<string>", local
assert [t["task"] for t in stop["tasks"]] == ["1"]'
run tfy replay last --print-locals --json
check "without --until: every record, and the end" python3 -c '
import json
stops = [json.loads(line) for line in open("out")]
assert [s["record"] for s in stops] == list(range(1, stops[0]["of"] + 2))
assert all("locals" in f for s in stops for f in s["frames"])'
run tfy replay last --until 3
check "--until alone: the stop in words" printed 'asked stamp(text: "apple x2")'
run tfy replay last --until main/nothing/1
check "--until a place that is none: 64, with places" ended 64 "did you mean 'main/"
run tfy approve last --step
check "--step of other commands still takes a number" ended 64 "option '--step' needs a value: N"

# A built program carries the debugger when it was built for that.
tfy build shop.tfy -o plain >/dev/null
run ./plain replay last --until 3
check "a program built without --debug cannot be stepped through: 69, with what to type" ended 69 "type 'tfy replay RUN --step'"
run ./plain replay last
check "... but replays" printed " 0 divergences, 0 effects performed"
tfy build --debug shop.tfy -o stepped >/dev/null
run ./stepped replay last --until 3
check "... and one built with it can" printed 'asked stamp(text: "apple x2")'

# Another program: the first difference is a stop like the others, and one can go back from there.
sed 's/x${count}/of ${count}/' shop.tfy >other.tfy
printf 'goto end\nn\nb\nq\n' >commands
run sh -c 'tfy replay last --program other.tfy --step <commands'
check "a difference is shown where it is met" printed "the program differs here"
check "... with both sides" printed 'it asks for stamp({"text":"apple of 2"})'
check "... nothing lies behind it" ended 65 "the program does not reach the records after this one"
check "... and one can go back" printed "record 3 of "
run tfy replay last --program other.tfy --until end
check "--until finds it too, and ends with 65" ended 65

# What was told then is told again, and marked.
run tfy run shop.tfy --yes --events
cp err live
run tfy replay last --events
check "ghosts: a replay tells what was told live, in the time of its records" python3 -c '
import datetime, json
def events(name):
    return [json.loads(line) for line in open(name) if line.startswith("{")]
def told(events):
    return sorted((e["task_id"], e["stage"], e["message"], e.get("line", 0)) for e in events)
live, ghosts = events("live"), events("err")
assert len(live) > 15 and told(live) == told(ghosts), (told(live), told(ghosts))
assert all(e["ghost"] for e in ghosts) and not any("ghost" in e for e in live)
assert [e["seq"] for e in ghosts] == list(range(1, len(ghosts) + 1))
when = lambda event: datetime.datetime.strptime(event["ts"], "%Y-%m-%dT%H:%M:%S.%fZ")
assert when(ghosts[-1]) - when(live[-1]) < datetime.timedelta(milliseconds=20) # records have their own reading of the clock'
run tfy replay last --events --until 3
check "... but not to who stops on the way: 64" ended 64 "--events goes with a replay that does not stop"

# On a terminal: keys.
if script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    {
        sleep 1
        printf 'nnn'
        sleep 0.3
        printf 'g1.1/2\r'
        sleep 0.3
        printf 'wq'
    } | TERM=xterm timeout 60 script -qfec "stty cols 80 rows 24; tfy replay 1 --step" /dev/null >screen 2>err
    check "on a terminal: the page" grep -q "record 4 of " screen
    check "... keys that ask go where they are told" grep -q "task 1.1, step 2" screen
    check "... tasks instead of variables" grep -q "waiting(join)" screen
    check "... and the terminal is given back" grep -qF "$(printf '\033[?1049l')" screen
    check "... without colours when nobody wants them" sh -c "! grep -q \"\$(printf '\\033\\[36m')\" screen"
fi
