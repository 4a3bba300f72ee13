#!/bin/sh
# tfy fork: a new run from what another one had done up to a step.
. "$here/lib.sh"
cat >trip.tfy <<'TFY'
type Offer { city: string, price: int? }

tool find(what: string) -> Offer pure = exec ["sh", "-c", "echo '{\"city\":\"Rome\",\"price\":3}'"]
tool book(city: string, pause: string) -> string once = exec [
    "sh", "-c", "echo \$1 >>booked; echo \$TFY_KEY >>keys; sleep \$2; echo ok", "book", city, pause
]

workflow guest(about: channel<string>, name: string) -> string {
    with lock("desk") {
        yield sleep(1ms)
        yield about.send(name)
    }
    return name
}

workflow main(pause: string = "0") -> string {
    let offer = yield find("trip")
    let about: channel<string> = channel(2)
    let first = spawn guest(about, "ann")
    let second = spawn guest(about, "bob")
    let said = yield book(offer.city, pause)
    let number = yield uuid()
    print("number ${number}")
    let names = [yield_name(yield about.recv()), yield_name(yield about.recv())]
    yield join(first)
    yield join(second)
    with lock("desk") {
        let sure = yield approve("go to ${offer.city} with ${names.len()}?")
        return if sure { "${offer.city} ${said.trim()}" } else { "home" }
    }
}

fn yield_name(name: string?) -> string {
    return name ?? "nobody"
}
TFY
sed -i 's/    let names = .*/    let one = yield about.recv()\n    let other = yield about.recv()\n    let names = [yield_name(one), yield_name(other)]/' trip.tfy
forked() { tail -n 1 out; }
sql() { sqlite3 .tfy/runs.db "$1"; }

run tfy run trip.tfy --yes
check "the run that is forked" printed_exactly "$(printf '%s\n"Rome ok"' "$(grep number out)")"
from=$(sql "select lower(substr(h,1,8)||'-'||substr(h,9,4)||'-'||substr(h,13,4)||'-'||substr(h,17,4)||'-'||substr(h,21)) from (select hex(uuid) as h from run)")
number=$(grep number out)
newest=$(sql "select max(step) from task where path='1'")

# At every step: the fork goes on from there to the same end, and replays.
every_step()
{
    for path in 1 1.1; do
        for step in $(sql "select distinct step from wal where tid=(select tid from task where run=1 and path='$path') and type not in (7,11) order by 1"); do
            tfy fork "$from" --task $path --at "$step" >made 2>said || { echo "step $step: $(cat said)"; return 1; }
            book=$(sed -n 's/^step \([0-9]*\) (book).*/\1/p' said) # under way at that moment
            [ -z "$book" ] || tfy resolve "$(cat made)" "$book" --done '"ok"' >said 2>&1
            tfy resume "$(cat made)" --yes >said 2>&1
            grep -q '"Rome ok"' said || { echo "step $step: $(cat said)"; return 1; }
            tfy replay "$(cat made)" >said 2>&1 && grep -q ' 0 divergences' said || { echo "step $step: $(cat said)"; return 1; }
        done
    done
}
check "a fork at every step goes on from there, and replays" every_step
check "a once step that was copied is not done again" [ "$(grep -c . booked)" = "$(sort -u keys | grep -c .)" ]
check "keys of what is done again are the fork's own" [ "$(grep -c "^$from" keys)" = 1 ]
check "so are its random numbers" [ "$(sql "select count(distinct payload) from wal where type=28 and payload like '%number%'")" -gt 3 ]
check "... and what was copied of them stays" [ "$(sql "select count(*) from wal where type=28 and payload like '%$number%'")" -gt 3 ]
check "the run names its origin" [ "$(sql "select count(*) from run where origin is not null and substr(origin,1,16)=(select uuid from run where id=1)")" -gt 9 ]
run tfy verify
check "the database is as it should be" ended 0

# Another result.
run tfy fork "$from" --at 1 --set-result '{"city": "Oslo"}'
check "fork --set-result: 0" ended 0 "continue with: tfy resume"
run tfy resume "$(forked)" --yes
check "... goes on with it" printed '"Oslo ok"'
run tfy replay last
check "... and replays" printed " 0 divergences"
run tfy fork "$from" --at "$(sql "select step from wal where type=23 and tid=1")" --set-result false
run tfy resume "$(forked)"
check "a person's answer can be another" printed '"home"'
runs=$(sql "select count(*) from run")
run tfy fork "$from" --at 1 --set-result '{"town": "Oslo"}'
check "a result of the wrong type is refused" ended 65 "step 1 returns Offer: \$.city: expected string, but it is missing"
run tfy fork "$from" --at 2 --set-result 3
check "what is not a result cannot be set" ended 1 "step 2 of task 1 has no result of a tool"
run tfy fork "$from" --at 0 --set-result 3
check "the beginning has no result" ended 64 "step 0 is the beginning"
run tfy fork "$from" --at 1 --set-result '{'
check "what is no JSON is refused" ended 64 "--set-result takes a result as JSON"
run tfy fork "$from" --at 999
check "a step that is not there: 69" ended 69 "its newest is step $newest"
run tfy fork "$from" --at 1 --task 7
check "a task that is not there: 69" ended 69 "has no task 7"
run tfy fork "$from" --at two
check "a step is a number" ended 64 "a step is a number from 0"
run tfy fork "$from"
check "without --at: 64" ended 64 "fork needs --at STEP"
check "what was refused left nothing" [ "$(sql "select count(*) from run")" = "$runs" ]

# A live run with a step under way.
rm -rf .tfy booked keys
start tfy run trip.tfy --pause 5
within 20 grep -qs Rome booked
step=$(sql "select step from wal where type=3 and payload like '%\"book\"%'")
tfy fork last --at "$step" >made 2>said
check "a live run can be forked" grep -q "when the process that has the database has ended" said
check "... what is under way is in doubt" grep -q "tfy resolve $(cat made) $step --task 1 --done" said
tfy fork last --at "$step" --set-result '"by hand"' >set 2>said
check "... unless its result is given" [ "$?" = 0 ]
kill -KILL "$pid"
finish
run tfy resume "$(cat made)" --yes
check "the fork waits for a person, and nobody is asked whether it happened" ended 75 "tfy resolve"
check "... the step was not done again" [ "$(cat booked)" = Rome ]
run tfy resolve "$(cat made)" "$step" --retry
run tfy resume "$(cat made)" --yes
check "... until somebody says so" printed '"Rome ok"'
run tfy resume "$(cat set)" --yes
check "a result that was given is taken" printed '"Rome by hand"'

# A result may have the letters of another decision in it.
run tfy resume "$(sql "select run from history where type='InstructionStart' limit 1")"
check "the run that was killed is in doubt" ended 75 "tfy resolve"
killed=$(sed -n 's/.* tfy resolve \([^ ]*\) .*/\1/p' err | head -n 1)
run tfy resolve "$killed" "$step" --done '"retry"'
check "... and is resolved with the text \"retry\"" ended 0
run tfy fork "$killed" --at "$step" --set-result '"again"'
check "... which a fork takes for a result" ended 0 "continue with: tfy resume"
run tfy resume "$(forked)" --yes
check "... that can be another" printed '"Rome again"'

# Connections belong to the process that made them.
cat >listens.tfy <<'TFY'
workflow main() -> string {
    let on = yield listen("127.0.0.1:0")
    let sure = yield approve("go on?")
    try {
        let _other = yield accept(on)
    } catch _: Lost {
        return "lost, ${sure}"
    }
    return "kept"
}
TFY
run tfy run listens.tfy
run tfy fork last --at 1
run tfy resume "$(forked)" --yes
check "handles are lost" printed '"lost, true"'
