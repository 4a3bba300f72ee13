#!/bin/sh
# tfy start --many and --priority: many runs of one file, so many lines together or none, and which of them come first.
. "$here/lib.sh"
. "$here/postgres_lib.sh"
cat >shop.tfy <<'EOF'
type Item { name: string, price: int }
workflow order(item: Item, count: int = 1) -> int { return item.price * count }
workflow hears() -> int {
    let n: int = yield signal("go")
    return n
}
workflow note(text: string) -> string {
    print(text)
    return text
}
EOF
tfy db create "$TFY_DB" >/dev/null
tfy deploy shop.tfy >/dev/null
runs() { [ "$(sql "select count(*) from tfy.run")" = "$1" ]; }

run tfy start shop.order --many lines --count 2
check "parameters are in the file alone" ended 64 "has the parameters of each run"
run tfy start shop.order --many lines
check "a file that is not there is named" ended 69 "lines"
run tfy start shop.order --many lines --server x --db runs.db
check "a server does not do that" ended 64 "PostgreSQL"
run tfy start shop.note --text a --priority high
check "priorities are numbers" ended 64 "not 'high'"

seq 2500 | sed 's/.*/{"item": {"name": "tea", "price": &}, "count": 2}/' >lines
run tfy start shop.order --many lines --id june
check "each line is a run" ended 0
check "... of which it prints the ids" [ "$(sort -u out | wc -l)" = 2500 ]
check "... in the order of the lines" [ "$(sql "select string_agg(r.uuid::text, ' ' order by r.id) from tfy.run r where r.id <= 3")" = "$(head -3 out | xargs)" ]
cp out june
run tfy start shop.order --many lines --id june
check "a repetition under the same name starts nothing" runs 2500
check "... and prints the same ids" cmp -s out june
head -2400 lines >changed
echo '{"item": {"name": "tea", "price": 7}}' >>changed
run tfy start shop.order --many changed --id june
check "another run of that name is refused" ended 65 "other arguments"

sed '1500s/.*/{"item": 5}/' lines >wrong
run tfy start shop.order --many wrong
check "a line that is wrong is named" ended 65 "line 1500: "
check "... and what has started before" ended 65 "the 1000 runs of the lines before line 1001 have started"
check "... and nothing of its thousand" runs 3500
printf '{"text": "a"}\n\n{"text": "b"}\nnot json\n' >wrong
run tfy start shop.note --many wrong
check "a line that is not JSON" ended 65 "line 4: "
check "... starts none" ended 65 "no run has started"
printf '{"text": "low"}\n\n{"text": "low, too"}' | tfy start shop.note --many - >low
check "standard input is read, to its last line" [ "$(wc -l <low)" = 2 ]
tfy start shop.note --text high --priority 100 --label who=ann >high
rank() { sql "select rank from tfy.run where uuid = '$(head -1 "$1")'"; }
check "a priority goes before others" [ "$(rank high)" -lt "$(rank low)" ]
check "a run has all that it has when it is started alone" \
    [ "$(sql "select count(*) from tfy.run r join tfy.task t on t.run = r.id join tfy.record w on w.run = r.id and w.lsn = t.head")" = 3503 ]
tfy worker shop.tfy --drain 1s 2>worker.log &
worker=$!
ended_all() { [ "$(sql "select count(*) from tfy.run where state < 12")" = 0 ]; }
check "workers execute them" within 60 ended_all
check "... with their own parameters" [ "$(tfy result "$(sed -n 2000p june)")" = 4000 ]
check "... and their database is whole" [ "$(sql "select count(*) from tfy.run where state <> 12")" = 0 ]

# ---- one behind the other ----

tfy start shop.hears >first
tfy start shop.hears >second
run tfy start shop.note --text a --after none
check "a run that is not there is not waited for" ended 69 "none"
tfy start shop.note --text third --after "$(cat first)" --after "$(cat second)" >third
tfy start shop.note --text fourth --after "$(cat third)" >fourth
tfy signal "$(cat first)" go 1
done_as() { tfy result "$(cat "$1")" 2>/dev/null | grep -qx "\"$1\""; }
is_waiting() { [ "$(sql "select count(*) from tfy.run where state < 12 and owner is null and due > 0 and waits > 0")" = 2 ]; }
check "a run waits for the last one that it comes after" within 10 sh -c 'tfy result "$(cat first)" | grep -q 1'
check "... and so do those behind it" is_waiting
run tfy signal "$(cat third)" go 1 --timeout 100ms
check "what is sent to it waits, too" ended 75
check "... and does not let it begin" is_waiting
tfy signal "$(cat second)" go 2
check "it begins then" within 20 done_as third
check "... and the next one behind it" within 20 done_as fourth
tfy start shop.note --text fifth --after "$(cat third)" --after "$(cat first)" >fifth
check "a run that has ended is not waited for" within 20 done_as fifth
check "nothing is left of it" [ "$(sql "select count(*) from tfy.dep")" = 0 ]
tfy worker shop.tfy --name two --drain 1s 2>>worker.log &
other=$!
head -60 lines >few
for round in 1 2 3; do
    tfy start shop.order --many few >before
    tfy start shop.note --text last$round $(sed 's/^/--after /' before) >last$round
    check "a run begins behind 60 others that end in two workers at once" within 60 done_as last$round
done
kill -TERM $other
wait $other
kill -TERM $worker
wait $worker
