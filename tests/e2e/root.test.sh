#!/bin/sh
# The working root is part of a run: it goes on where it worked, from wherever it is resumed, or not at all until somebody says where.
. "$here/lib.sh"
GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
TFY_DB=$PWD/runs.db
export GIT_CONFIG_GLOBAL GIT_CONFIG_NOSYSTEM TFY_DB
top=$PWD
sql() { sqlite3 -readonly "$TFY_DB" "$1"; }
# A repository with the same file in each of the directories.
for dir in one two; do
    mkdir $dir
    (cd $dir && git init -q && git config user.name T && git config user.email t@localhost && echo a >file &&
        git add file && git commit -q -m first)
done
cat >work.tfy <<'TFY'
workflow main(name: string = "x") -> string {
    yield write_file("file", "${name} began\n")
    let word: string = yield signal("go")
    yield write_file("done", word)
    let _sha = yield commit("by ${name}")
    return "done"
}
TFY

# in DIR COMMAND…: run, there.
in_dir()
{
    dir=$1
    shift
    (cd "$dir" && run "$@"; mv out "$top/.out"; mv err "$top/.err"; echo "$status" >"$top/status")
    mv .out out
    mv .err err
    status=$(cat status)
}
files() { [ "$(cat one/done two/done 2>/dev/null | tr '\n' ' ')" = "$1" ]; }
commits() { git -C "$1" log --all --format=%s | grep -c "$2"; }

in_dir one tfy run "$top/work.tfy" --name first
check "a run waits" ended 75
check "its first record says where it works" [ "$(sql "select payload->>'\$.root.path' from wal where type=1")" = "$top/one" ]
check "... and in which directory" [ "$(sql "select payload->>'\$.root.ino' from wal where type=1")" = "$(stat -c %i one)" ]

run tfy signal last go '"1"'
in_dir two tfy resume last
check "a resume from another directory ends well" ended 0
check "... and says where it goes on" ended 0 "continues in $top/one, where it worked before"
check "the file came into its own directory" files 1
check "the commit came into its own repository" [ "$(commits one 'by first')" = 1 ]
check "... and into no other" [ "$(commits two 'by first')" = 0 ]
rm -f one/done

# Options on the command line stay those of the place where it is typed.
TFY_DB=
in_dir one tfy run "$top/work.tfy" --db ../far.db --name far
in_dir two tfy signal last go '"far"' --db ../far.db
in_dir two tfy resume last --db ../far.db
check "--db is relative to where it is typed" ended 0 "continues in $top/one"
check "... and the effects are not" [ "$(cat one/done)" = far ]
rm -f one/done
TFY_DB=$top/runs.db

# A directory that was moved: both paths, and how to go on.
in_dir one tfy run "$top/work.tfy" --name moved
tfy signal last go '"2"' 2>said
mv one three
in_dir two tfy resume last
check "a root that is gone is refused" ended 69 "worked in $top/one, No such file or directory; this is $top/two"
check "... naming --root" ended 69 "--root DIR"
check "nothing was done" files ""
mkdir one
in_dir two tfy resume last
check "another directory of that name is refused" ended 65 "worked in $top/one, but another directory is there now; this is $top/two"
in_dir one tfy resume last
check "... also from there" ended 65 "another directory is there"
check "nothing was done there" [ -z "$(ls one)" ]
rmdir one
in_dir two tfy resume last --root "$top/nowhere"
check "--root must be there" ended 69 "nowhere"
check "... and what cannot be opened is not recorded" [ "$(records Moved runs.db)" = 0 ]
in_dir two tfy resume last --root ../three
check "--root moves the run" ended 0 "worked in $top/one; from now on it works in $top/three"
check "... it goes on there" [ "$(cat three/done)" = 2 ]
check "... and commits there" [ "$(commits three 'by moved')" = 1 ]
check "the log says so" [ "$(sql "select payload->>'\$.root.path' from wal where type=35")" = "$top/three" ]
run tfy replay last
check "replay needs no directory" printed " 0 divergences, 0 effects performed"
run tfy verify
check "the log is sound" ended 0
rm -f three/done
mv three one

# A move holds for every later resume, from a snapshot too.
export TFY_SNAPSHOT_EVERY=1
cat >steps.tfy <<'TFY'
workflow main() -> string {
    for i in 1..5 {
        let word: string = yield signal("go")
        yield write_file("step${i}", word)
    }
    return "done"
}
TFY
in_dir one tfy run "$top/steps.tfy"
tfy signal last go '"a"' 2>said
in_dir two tfy resume last
check "from a snapshot it goes on in its root" [ "$(cat one/step1)" = a ]
check "... a snapshot has it" [ "$(sql "select payload->>'\$.root.path' from wal where type=33 order by lsn desc limit 1")" = "$top/one" ]
tfy signal last go '"b"' 2>said
in_dir one tfy resume last --root ../two
check "moved from a snapshot" [ "$(cat two/step2)" = b ]
tfy signal last go '"c"' 2>said
in_dir one tfy resume last
check "the move holds behind the next snapshot" [ "$(cat two/step3)" = c ]
tfy gc --compact >said 2>&1
tfy signal last go '"d"' 2>said
in_dir one tfy resume last
check "... and when its beginning is dropped" ended 0 "continues in $top/two"
check "... it does" [ "$(cat two/step4)" = d ]
check "nothing of that came elsewhere" [ "$(ls one)" = "file
step1" ]
run tfy verify
check "and the log is sound" ended 0
rm -f one/step1 two/step?
unset TFY_SNAPSHOT_EVERY

# --all: one program, two directories; a run in each.
in_dir one tfy run "$top/work.tfy" --name all1
tfy signal last go '"all1"' 2>said
in_dir two tfy run "$top/work.tfy" --name all2
tfy signal last go '"all2"' 2>said
mkdir elsewhere
in_dir elsewhere tfy resume --all
check "resume --all goes to each directory" ended 0 "continuing runs that work in $top/one"
check "... and says both" ended 0 "continuing runs that work in $top/two"
check "each file is in its own" [ "$(cat one/done) $(cat two/done)" = "all1 all2" ]
check "nothing is where it was typed" [ -z "$(ls elsewhere)" ]
check "each commit is in its own" [ "$(commits one 'by all1') $(commits one 'by all2') $(commits two 'by all1') $(commits two 'by all2')" = "1 0 0 1" ]
rm -f one/done two/done

tfy build work.tfy -o own 2>said
in_dir one tfy run "$top/work.tfy" --name left
tfy signal last go '"left"' 2>said
in_dir two "$top/own" resume --all
check "a program's own --all leaves runs of other directories" ended 0 "1 run is in other directories and not resumed"
check "... untouched" files ""
in_dir elsewhere tfy resume --all --root ../two
check "--all --root takes only those of that directory" ended 0 "runs of directories other than ../two stay as they are"
check "... also untouched" files ""
in_dir elsewhere "$top/own" resume --all --root "$top/one"
check "... and those of it" files left
rm -f one/done

# A parked run is woken by a process of its own directory only.
cat >nap.tfy <<'TFY'
workflow main(name: string) -> string {
    yield sleep(4s)
    yield write_file("nap", name)
    return "done"
}
TFY
export TFY_PARK_AFTER=1
parked() { [ "$(sql "select count(*) from run where parked>0")" = "$1" ]; }
for name in 1 2; do
    dir=$([ $name = 1 ] && echo one || echo two)
    start sh -c "cd $dir && exec tfy run '$top/nap.tfy' --name p$name"
    check "run $name leaves memory" within 60 parked $name
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
done
in_dir elsewhere tfy resume --all
check "parked runs are woken" ended 0
check "... each in its own directory" [ "$(cat one/nap) $(cat two/nap) $(ls elsewhere)" = "p1 p2 " ]
unset TFY_PARK_AFTER

# A path may have any byte.
odd=$(printf 'odd\377"dir')
mkdir "$odd"
in_dir "$odd" tfy run "$top/work.tfy" --name odd
tfy signal last go '"odd"' 2>said
in_dir two tfy resume last
check "a path that is no text is found again" [ "$(cat "$odd/done")" = odd ]

# A link that was put where the directory was leads to it.
in_dir one tfy run "$top/work.tfy" --name linked
tfy signal last go '"linked"' 2>said
mv one away
ln -s away one
in_dir two tfy resume last
check "a link in its place leads to it" ended 0 "continues in $top/one"
check "... and it goes on there" [ "$(cat away/done)" = linked ]
rm one
mv away one

# Another machine has no such directory.
in_dir one tfy run "$top/work.tfy" --name carried
tfy signal last go '"carried"' 2>said
tfy wal export last -o export 2>said
rm -f one/done
(cd "$top" && tfy wal import export/*.run --db other.db) >said 2>&1
mv one gone
in_dir two tfy resume last --db ../other.db
check "an imported run asks for its directory" ended 69 "worked in $top/one"
in_dir two tfy resume last --db ../other.db --root .
check "... and takes the one it is given" [ "$(cat two/done)" = carried ]
mv gone one
rm -f two/done

# A run of an older version does not say where it works, and goes on where it is resumed, as before.
cat >later.tfy <<'TFY'
workflow main() -> string {
    let word: string = yield signal("go")
    yield write_file("later", word)
    return "done"
}
TFY
in_dir one tfy run "$top/later.tfy" --db ../old.db
tfy wal export last -o old --db old.db 2>said
root=$(sqlite3 -readonly old.db "select payload->'$.root' from wal where type=1")
check "an old log is made" python3 "$here/forge.py" old/*.run ",\"root\":$root" ""
rm -f old.db*
tfy wal import old/*.run --db old.db 2>said
check "it says nothing of a root" [ "$(sqlite3 -readonly old.db "select count(*) from wal where payload like '%root%'")" = 0 ]
tfy signal last go '"later"' --db old.db 2>said
in_dir two tfy resume last --db ../old.db
check "... and the run goes on where it is resumed" [ "$(cat two/later)" = later ]
