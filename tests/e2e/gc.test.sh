#!/bin/sh
# tfy gc: runs that have ended go, by age, number or size; what stays is sound, whenever the process dies.
. "$here/lib.sh"
cat >team.tfy <<'END'
workflow child(n: int) -> int {
    print("child ${n}")
    return n
}
workflow main(n: int = 1) -> int {
    let a = spawn child(n)
    let x = yield join(a)
    return x
}
END
cat >ask.tfy <<'END'
workflow main() -> string {
    let _yes = yield approve("go on?")
    return "done"
}
END
run tfy gc
check "gc without a database is usage first: 64" ended 64 "say which runs may go"
run tfy gc --keep 1
check "no database: 69" ended 69 "there is no database"
for n in 1 2 3 4; do tfy run team.tfy --n $n >out 2>err; done
tfy run ask.tfy >out 2>err
for n in 5 6; do tfy run team.tfy --n $n >out 2>err; done
runs() { sqlite3 "${1:-.tfy/runs.db}" 'select count(*) from run'; }
cp -r .tfy whole
run tfy gc --older-than soon
check "no time: 64" ended 64 "takes a time such as 30d"
run tfy gc --max-size huge
check "no size: 64" ended 64 "takes a size such as"
run tfy gc --older-than 1d
check "nothing is that old" ended 0 "0 runs"
run tfy gc --keep 2 --dry-run
check "--dry-run says what would go" ended 0 "4 runs with"
check "... and takes nothing out" [ "$(runs)" = 7 ]
oldest=$(sed -n '1s/ .*//p' out)
run tfy gc --keep 2 --archive old.db
check "gc" ended 0 "4 runs with"
check "... the newest two and the unfinished one stay" [ "$(runs)" = 3 ]
check "... what went is told in the log" sh -c "sqlite3 .tfy/runs.db \"select payload from history where type='Compacted'\" | grep -q $oldest"
run tfy verify
check "... the database is sound" ended 0
check "... and says what is gone" printed "records were deleted by tfy gc"
run tfy verify --db old.db
check "the archive is sound" ended 0
check "... and has them" [ "$(runs old.db)" = 4 ]
run tfy replay "$oldest" --db old.db
check "... they replay" printed " 0 divergences"
run tfy inspect "$oldest"
check "a run that is gone: 69" ended 69
check "records cannot be deleted otherwise" sh -c '! sqlite3 .tfy/runs.db "delete from wal" 2>/dev/null'
run tfy approve "$(sqlite3 .tfy/runs.db "select run from history where type='StepStart'")"
run tfy resume last
run tfy resume "$(sqlite3 .tfy/runs.db "select run from history where type='Approval'")"
check "the unfinished run goes on" printed '"done"'
run tfy gc --max-size 1 --json
check "gc by size takes all that have ended" printed '"bytes_after"'
check "... and programs that nobody needs" [ "$(sqlite3 .tfy/runs.db 'select count(*) from run, program')" = 0 ]
check "... marks and records that seal nothing go too" [ "$(sqlite3 .tfy/runs.db 'select count(*) from mark')" -le 3 ]
run tfy run team.tfy
check "the database is used on" ended 0
run tfy verify
check "... and sound" ended 0

# What would go is measured, not guessed.
cat >clock.tfy <<'END'
workflow main() -> int {
    for _ in 0..6000 {
        let time = yield now()
        assert time > time - 1s
    }
    return 1
}
END
run tfy run clock.tfy
bytes() { sed -n "s/.*\"bytes_$1\": *\(-*[0-9]*\).*/\1/p" out; }
run tfy gc --keep 0 --dry-run --json
then=$(bytes after)
run tfy gc --keep 0 --json
missed=$(($(bytes after) - then))
check "--dry-run says how much the database needs then: $then, in truth $(bytes after)" [ "${missed#-}" -lt 32000 ]

# Killed around each commit: what is there is sound, the archive has all that is gone, and the next gc finishes it.
killed()
{
    rm -rf .tfy trial.db*
    cp -r whole .tfy
    mv .tfy/runs.db moved && cp moved .tfy/runs.db && tfy adopt >/dev/null 2>&1
    TFY_TEST_KILL=$1 tfy gc --keep 2 --archive trial.db >out 2>&1 && return 1
    tfy verify >out 2>&1 || return 1
    tfy gc --keep 2 --archive trial.db >out 2>&1 || return 1
    tfy verify >out 2>&1 && tfy verify --db trial.db >out 2>&1 && [ "$(runs)" = 3 ] && [ "$(runs trial.db)" = 4 ]
}
for place in before:2 after:4 before:8 after:8; do check "killed $place" killed $place; done
# A run that a key or --id names stays for a day: the same start finds it.
rm -rf .tfy
for n in 1 2; do tfy run team.tfy --n $n --id "order-$n" >out 2>err; done
tfy run team.tfy --n 3 >out 2>err
run tfy gc --keep 0 --json
check "a run that was named stays for a day" printed '"kept": 2'
check "... others go at once" [ "$(runs)" = 2 ]
run tfy run team.tfy --n 2 --id order-2
check "... and the same start finds it" sh -c '[ "$(cat out)" = 2 ] && [ "$(sqlite3 .tfy/runs.db "select count(*) from run")" = 2 ]'
run tfy gc --max-size 1
check "... which gc says" ended 0 "2 runs stay: a start with the same key or --id must find a run for a day"
run tfy verify
check "... and the database is sound" ended 0
case ${CFLAGS:-} in
*sanitize*) ;; # a library before the sanitizer's own is not to be had
*)
    ${CC:-cc} -O1 -fPIC -shared -o clock.so "$here/../fault/inject.c" -lpthread
    run env CLOCK=86500 LD_PRELOAD="$PWD/clock.so" tfy gc --keep 1
    check "a day later it goes like any other" ended 0 "1 run with"
    check "... and gc says nothing of keys" sh -c '! grep -q key err'
    ;;
esac
