#!/bin/sh
# Commands that make a file: killed anywhere, under its name there is nothing, what was there before, or all of it. Interrupted, nothing else is left either.
. "$here/lib.sh"
killer=$build/tests/crash/call_killer
cat >team.tfy <<'END2'
workflow child(n: int) -> int {
    print("child ${n}")
    return n
}
workflow main(n: int) -> int {
    var sum = 0
    for i in 0..n {
        let a = spawn child(i)
        let x = yield join(a)
        sum = sum + x
    }
    return sum
}
END2
for n in 1 2 3 4 5; do tfy run team.tfy --n $n >out 2>err; done
db=.tfy/runs.db
parts() { find . -name '*.part*'; }

# kill_everywhere NAME KILLS WHOLE COMMAND…: the command, which makes files below ./made, is killed at so many of its calls, and interrupted. WHOLE is a command that
# says whether ./made is as it may be.
kill_everywhere()
{
    what=$1 kills=$2 whole=$3
    shift 3
    fresh
    check "$what: undisturbed" "$killer" count:calls "$@"
    check "... it is whole" "$whole" all
    check "... and nothing else is left" [ -z "$(parts)" ]
    calls=$(cat calls) n=0 broken= left=
    while [ $n -lt "$kills" ]; do
        n=$((n + 1))
        # The last calls are those that give the file its name.
        at=$((calls - (calls * (n - 1) * (n - 1)) / (kills * kills)))
        for kind in enter leave interrupt; do
            fresh
            "$killer" $kind:$at "$@" >said 2>&1
            "$whole" >said 2>&1 || broken="$broken $kind:$at"
            [ $kind != interrupt ] || left="$left$(parts)"
            find . -name '*.part*' -exec rm -rf {} +
        done
    done
    check "... killed and interrupted at $n of its $calls calls, it is whole or not there" [ -z "$broken" ]
    check "... interrupted, it leaves nothing else" [ -z "$left" ]
}
fresh() { rm -rf made && mkdir made; }

# whole [all]: a database with all five runs, sound; without `all` it may be missing.
whole_database()
{
    [ "${1:-}" = all ] || [ -e made/copy.db ] || return 0
    [ "$(sqlite3 -readonly made/copy.db "select count(*) from run")" = 5 ] && tfy verify --db made/copy.db
}
kill_everywhere salvage 12 whole_database tfy salvage $db made/copy.db
kill_everywhere backup 8 whole_database tfy backup made/copy.db

# The files of an export come one by one; each of them is what it was to be.
tfy wal export last -o exported >out
whole_export()
{
    [ "${1:-}" != all ] || [ "$(ls made)" = "$(ls exported)" ] || return 1
    for file in made/*; do
        case $file in *.part | "made/*") continue ;; esac
        cmp "$file" "exported/${file#made/}" || return 1
    done
}
kill_everywhere export 10 whole_export tfy wal export last -o made

# What is written over is the old one or the new one.
over() # NAME WANTED [all]
{
    cmp "$1" "$2" || { [ "${3:-}" != all ] && cmp "$1" old; }
}
tfy build team.tfy -o wanted >out
printf '#!/bin/sh\necho old\n' >old
fresh() { rm -rf made && mkdir made && cp old made/program; }
whole_program() { over made/program wanted "$@"; }
kill_everywhere build 8 whole_program tfy build team.tfy -o made/program
tfy build team.tfy -o made/program >out
check "... it can be run" made/program --help

tfyc team.tfy -o wanted.c
fresh() { rm -rf made && mkdir made && cp old made/program.c; }
whole_c() { over made/program.c wanted.c "$@"; }
kill_everywhere tfyc 8 whole_c tfyc team.tfy -o made/program.c

printf 'workflow main()->int{return 1}\n' >old
tfyc --format - <old >formatted
fresh() { rm -rf made && mkdir made && cp old made/program.tfy && chmod 640 made/program.tfy; }
whole_format() { over made/program.tfy formatted "$@" && [ "$(stat -c %a made/program.tfy)" = 640 ]; }
kill_everywhere fmt 8 whole_format tfyc --format made/program.tfy

# Several at once to one name: one of them makes it, and the others say so.
for command in "salvage $db" "backup --db $db"; do
    rm -rf made && mkdir made
    for n in 1 2 3 4; do
        (
            status=0
            tfy $command made/copy.db >"said$n" 2>&1 || status=$?
            echo "$status" >"status$n"
        ) &
    done
    wait
    check "four at once, $command: one makes it" [ "$(cat status? | grep -c '^0$')" = 1 ]
    check "... the others are refused" [ "$(cat said? | grep -c 'already exists\|cannot be completed (File exists)')" = 3 ]
    check "... nothing else is left" [ "$(ls made)" = copy.db ]
    check "... and it is whole" whole_database all
done

# What stands beside the name of a copy would be taken for its own.
rm -rf made && mkdir made && echo x >made/copy.db-wal
for command in "salvage $db" "backup --db $db"; do
    run tfy $command made/copy.db
    check "$command beside another's -wal file" ended 64 "made/copy.db-wal already exists"
done
check "... nothing is made" [ "$(ls made)" = copy.db-wal ]
