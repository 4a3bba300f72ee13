#!/bin/sh
# run --id NAME: a run that its starter names is started once; and --result-only.
. "$here/lib.sh"
cat >pay.tfy <<'END'
tool book(n: int) -> int once = exec ["sh", "-c", "echo \$1 >>ledger; echo \$1", "book", "${n}"]

workflow main(n: int, to: string = "ann") -> string {
    print("pays ${to}")
    let done = yield book(n)
    if n == 7 {
        let _go: int = yield signal("go")
    }
    if n == 8 {
        print("${1 / (n - 8)}")
    }
    return "${done} to ${to}"
}
END
tfy build pay.tfy -o pay >/dev/null
# The uuid as docs/log-format.md says it.
named()
{
    printf '\0pay\0main\0%s\0' "$1" | sha256sum | python3 -c '
import sys, uuid
b = bytearray.fromhex(sys.stdin.read()[:32])
b[6] = 0x80 | b[6] & 15
b[8] = 0x80 | b[8] & 63
print(uuid.UUID(bytes=bytes(b)))'
}

run ./pay --n 5 --id inv-5
check "a run with a name" ended 0 "pay: run $(named inv-5)"
check "... runs" printed_exactly "$(printf 'pays ann\n"5 to ann"')"
run ./pay --n 5 --to ann --id inv-5
check "the same name and arguments: the same run" ended 0 "pay: run $(named inv-5)"
check "... its result" printed_exactly '"5 to ann"'
check "... and nothing is done again" [ "$(cat ledger)" = 5 ]
run ./pay --n 6 --id inv-5
check "the same name and other arguments: 65" ended 65 "run $(named inv-5) has that name and other arguments; 'tfy inspect"
check "... and nothing is done" [ "$(cat ledger)" = 5 ]
check "one run is in the log, with its name" [ "$(sqlite3 .tfy/runs.db "select payload from wal where type=1" | grep -o '"id":.*')" = '"id":"inv-5"}' ]
run ./pay --n x --id inv-9
check "arguments that do not fit are a mistake as ever: 64" ended 64 "--n takes an int, not 'x'"
run ./pay --n 5 --id "inv 5"
check "a name with a blank: 64" ended 64 "--id takes 1 to 255 visible ASCII characters"
run ./pay --n 8 --id inv-8
check "a run that fails" ended 1 "main failed"
run ./pay --n 8 --id inv-8
check "... fails no second time, and says the same" ended 1 "main failed: Panic"
check "... the ledger has one line more" [ "$(wc -l <ledger)" = 2 ]

run ./pay --n 7 --id inv-7
check "a run that waits: 75" ended 75 "continue with: tfy resume $(named inv-7)"
run tfy signal "$(named inv-7)" go 1
run ./pay --n 7 --id inv-7
check "started again it goes on" printed_exactly '"7 to ann"'
check "... without a second booking" [ "$(grep -c 7 ledger)" = 1 ]
run tfy replay "$(named inv-7)"
check "... and replays: 0 divergences" printed " 0 divergences"

start ./pay --n 7 --id inv-77 --wait
waits() { tfy inspect "$(named inv-77)" 2>/dev/null | grep -q "waits for signal go"; }
within 20 waits
run ./pay --n 7 --id inv-77
check "while its process lives: 75, with its id" ended 75 "is held by pid $pid"
check "... the id" grep -q "run $(named inv-77)" err
run ./pay --n 1 --id inv-1
check "a new name belongs to runs.db too: 75" ended 75 "is held by pid $pid"
run ./pay --n 5 --id inv-5
check "the result of one that has ended needs no lock" printed_exactly '"5 to ann"'
kill -KILL "$pid"
finish
tfy signal "$(named inv-77)" go 1 >said 2>&1
sed 's/pays/now pays/' pay.tfy >new.tfy && mv new.tfy pay.tfy
tfy build pay.tfy -o pay2 && mv pay2 pay
run ./pay --n 7 --id inv-77
check "an unfinished run of another version: 75, and how to go on" ended 75 "it was started by another version of pay.tfy; continue with: tfy resume $(named inv-77)"
run tfy resume "$(named inv-77)"
check "... with its own code" printed_exactly '"7 to ann"'
run ./pay --n 5 --id inv-5
check "one that has ended is its result, whichever version asks" printed_exactly '"5 to ann"'

run tfy run pay.tfy --n 3 --result-only
check "--result-only: stdout has the result" printed_exactly '"3 to ann"'
check "... and stderr what was printed" grep -qx "now pays ann" err
run tfy output last
check "... which the log has as ever" printed "now pays ann"
run tfy run pay.tfy --n 7 --result-only --id inv-700
tfy signal last go 1 >said 2>&1
run tfy resume last --result-only
check "... with resume too" printed_exactly '"7 to ann"'
