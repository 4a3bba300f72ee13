#!/bin/sh
# What models were sent is in the log: each text once, of a conversation only what is new, no secret; or its digest alone.
. "$here/lib.sh"
cat >prompts.tfy <<'END'
type Sum { total: int }

const half = "hunter2-"

prompt add(what: string) -> Sum {
    system "You add. ${half.repeat(2)} ${half.repeat(2).base64()}"
    user "Add ${what}"
    retry 1
}

workflow main(rounds: int = 4, person: bool = false) -> int {
    var talk = "The notes.\n"
    for i in 0..rounds {
        let answer = yield llm(talk, system: "Be short.")
        let more = "and so it went on, ".repeat(20)
        talk = "${talk}${answer}. Round ${i}: ${more}\n"
        if person && i == 1 {
            let _yes = yield approve("go on?")
        }
        let _sum = yield add("${i % 2} and one")
    }
    return talk.len()
}
END
cat >script <<'END'
{"match": "does not fit", "answer": "{\"total\": 2}", "times": 100000}
{"match": "Add ", "answer": "{\"total\": \"two\u001b[31m\"}", "times": 100000}
{"match": "notes", "answer": "ok", "times": 100000}
END
"$build/tests/scripted_server" script --log asked >address &
server=$!
trap 'kill $server' EXIT
await() { tries=0; until [ -s "$1" ] || [ $((tries += 1)) -gt 500 ]; do sleep 0.01; done; }
await address
TFY_LLM_URL=$(cat address) TFY_DB=$PWD/runs.db TFY_SECRET_PASS=hunter2-hunter2 TFY_LLM_KEY=sk-0123456789abcdef
export TFY_LLM_URL TFY_DB TFY_SECRET_PASS TFY_LLM_KEY no_proxy=127.0.0.1
sql() { sqlite3 "$TFY_DB" "$1"; }
last="(select root from run order by id desc limit 1)"
texts() { sql "select count(*) from wal where type=41 and tid=$last"; }
bytes() { sql "select sum(length(payload)) from wal where tid=$last and type in (2,41)"; }
# read_log.py refuses a text that is there twice, that is not there when it is named, or that its digest does not fit.
sound() { python3 "$here/read_log.py" "$TFY_DB" && tfy verify && tfy replay last | grep ' 0 divergences'; }

# ---- a whole run ----

run tfy run prompts.tfy
check "it runs" ended 0
check "the log is sound, and each text is there once" sound
check "... those of the loop, and those of the prompt" [ "$(texts)" = $((1 + 4 + 1 + 2 + 2)) ]
check "a further attempt names what it continues" \
    [ "$(sql "select count(*), sum(json_array_length(payload,'\$.texts')) from wal where payload->>'\$.after'=step-1")" = "4|8" ]
check "the answer follows its texts" \
    [ "$(sql "select count(*) from wal w where type=41 and (select type from wal where lsn=w.lsn+1) not in (2,41)")" = 0 ]
four=$(bytes)
run tfy run prompts.tfy --rounds 40
forty=$(bytes)
run tfy run prompts.tfy --rounds 76
check "a conversation twice as long needs twice the bytes" [ $((10 * ($(bytes) - forty))) -lt $((11 * (forty - four))) ]
run tfy replay last --until "lsn:$(sql "select max(lsn) from wal where payload->>'\$.tool'='llm'")" --json
check "... and its longest text is whole" [ "$(grep -o 'and so it went on, [^a]' out | wc -l)" -ge 75 ]

# ---- secrets ----

check "the model was sent the secret" grep -a -q 'hunter2-hunter2' asked
cat runs.db* >file
check "... and no secret is in the file" [ "$(grep -a -c 'hunter2-hunter2\|aHVudGVyMi1odW50ZXIy\|sk-0123456789' file)" = 0 ]
check "... but its name" grep -a -q 'You add. \[secret:PASS\]' file

# ---- what people see ----

run tfy inspect last
check "inspect: the newest message" printed 'asked      add, user: That answer does not fit: not valid JSON'
check "... a terminal obeys nothing of it" [ "$(grep -c "$(printf '\033')" out)" = 0 ]
run tfy inspect last --json
check "... all of them" [ "$(python3 -c "import json; a=json.load(open('out'))['asked']; print(a['whole'], *[m['role'] for m in a['messages']])")" = \
    "True system user assistant user" ]
run tfy history last
check "history: each text" printed "Text              Be short."
check "... of one that grew the new end" printed "Text              … ok. Round 1: and so"
run tfy history last --type Text --json
check "... and whole objects" printed '"type":"Text","payload":{"digest":'
printf 'goto 1/3\nmessages\nquit\n' >commands
tfy replay last --step <commands >out 2>err
check "replay --step: the messages" printed "  user: Add 0 and one"
check "... of an answer that did not fit" printed '  assistant: {"total": "two\u{1b}[31m"}'
run tfy wal export last -o exported
check "wal export: lines" grep -q '"type":"Text"' exported/*.wal
run env TFY_DB="$PWD/other.db" tfy wal import exported/*.run
check "... which can be imported" ended 0
check "... and stay sound" env TFY_DB="$PWD/other.db" python3 "$here/read_log.py" other.db

# ---- resumed, with and without a snapshot ----

for every in 0 8; do
    export TFY_SNAPSHOT_EVERY=$every
    [ $every != 0 ] || unset TFY_SNAPSHOT_EVERY
    run tfy run prompts.tfy --person
    check "it waits ($every)" ended 75
    before=$(texts)
    tfy approve last --yes >out 2>err
    run tfy resume last
    check "... resumed" ended 0
    check "... no text is written twice" sound
    check "... but what is new" [ "$before $(texts)" = "$((2 + 1 + 4)) 10" ]
    run tfy fork last --at 4
    fork=$(cat out)
    check "a fork has the texts of its steps" [ "$(texts)" = "$((2 + 1 + 4))" ]
    run tfy resume "$fork" --yes
    check "... and continues with them" sound
    check "... to the same" [ "$(texts)" = 10 ]
done
check "there were snapshots" [ "$(sql 'select count(*) from wal where type=33')" -ge 2 ]

# ---- retention and repair ----

run tfy gc --compact
check "compacted" ended 0 "2 runs now start at their snapshots"
check "... what is left has its texts" sound
tfy run prompts.tfy --person --rounds 12 >out 2>err
tfy gc --compact >out 2>err
tfy approve last --yes >out 2>err
run tfy resume last
check "... and a run continues with them" ended 0
check "... soundly" sound
run tfy inspect last --json
check "... all that was asked is there" [ "$(python3 -c "import json; a=json.load(open('out'))['asked']; print(a['whole'], *['text' in m for m in a['messages']])")" = \
    "True True True True True" ]
run tfy salvage runs.db saved.db
check "salvage takes them along" ended 0
check "... soundly" env TFY_DB="$PWD/saved.db" python3 "$here/read_log.py" saved.db
check "... each" [ "$(sqlite3 saved.db 'select count(*) from wal where type=41')" = "$(sql 'select count(*) from wal where type=41')" ]
unset TFY_SNAPSHOT_EVERY

# ---- only digests ----

run tfy run prompts.tfy --record-prompts=digest --person
check "a run without texts" ended 75
run tfy inspect last
check "... has nothing to show" [ "$(grep -c '^asked' out)" = 0 ]
tfy approve last --yes >out 2>err
tfy resume last >out 2>err
check "... nor after a resume" [ "$(texts)" = 0 ]
check "... its answers have the digest" [ "$(sql "select count(*) from wal where type=2 and tid=$last and payload->>'\$.request'<>'' and payload->>'\$.texts' is null")" = 12 ]
tfy run prompts.tfy --record-prompts=digest --person >out 2>err
tfy approve last --yes >out 2>err
run tfy resume last --record-prompts=full
check "... unless it is told" [ "$(texts)" = 8 ]
check "... soundly" sound
run tfy run prompts.tfy --record-prompts=none
check "another word is refused" ended 64 "'none' is not a way to record prompts; use full or digest"
