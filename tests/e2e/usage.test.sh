#!/bin/sh
# Commands, options and parameters: what is refused, how, and with which status.
. "$here/lib.sh"

run tfy
check "no command: usage, 64" ended 64 "usage: tfy COMMAND"
run tfy --help
check "--help goes to stdout, 0" ended 0
check "--help names the commands" printed "resume"
run tfy help
check "help without a command is --help" printed "usage: tfy COMMAND"
for command in run kill "wal import"; do
    # shellcheck disable=SC2086
    run tfy $command --help
    mv out want
    # shellcheck disable=SC2086
    run tfy help $command
    check "help $command" sh -c '[ "$1" = 0 ] && cmp out want' sh "$status"
done
run tfy help resmue
check "help for an unknown command: 64" ended 64 "did you mean 'resume'?"
run tfy help wal
check "help for half of a command: 64" ended 64 "'export' or 'import'"
run tfy --version
check "--version" printed "tfy "
run tfy resmue
check "an unknown command is nearly known" ended 64 "did you mean 'resume'?"
run tfy wal
check "half of a command" ended 64 "'export' or 'import'"
run tfy frobnicate
check "an unknown command" ended 64 "there is no command 'frobnicate'"
for command in run build check graph fmt completions ps inspect resume replay output approve deny kill resolve "wal export" "wal import" verify backup adopt doctor; do
    # shellcheck disable=SC2086
    run tfy $command --help
    check "$command --help" ended 0
    check "$command --help shows its usage" printed "usage: tfy $command"
done
run tfy approve
check "a missing operand: usage, 64" ended 64 "approve needs RUN"
run tfy kill a b
check "one operand too many" ended 64 "does not take 'b'"
run tfy ps --jsno
check "an unknown option is nearly known" ended 64 "did you mean '--json'?"
run tfy ps --db
check "an option without its value" ended 64 "needs a value"
run tfy approve last --yes --no
check "two answers at once" ended 64 "give one of"
run tfy resolve last x --retry
check "a step that is no number" ended 64 "a step is a number"
run tfy resolve last 1
check "resolve without an outcome" ended 64 "say what became of the step"
run tfy resolve last 1 --done '{'
check "resolve with broken JSON" ended 64 "result as JSON"
run tfy run
check "run without a file" ended 64 "run needs FILE.tfy"
run tfy run missing.tfy
check "run of a file that is not there" ended 69 "missing.tfy"
run tfy run --colour x.tfy
check "an unknown option before the file" ended 64 "'--colour' is before FILE.tfy"
mkdir folder.tfy
run tfy run folder.tfy
check "run of a directory" ended 69 "folder.tfy is a directory; name a file in it"

for command in "build -o x" graph "crashtest" "check --"; do
    # shellcheck disable=SC2086
    case $command in "check --") run "$build/tfyc" --check folder.tfy ;; *) run tfy $command folder.tfy ;; esac
    check "$command of a directory" ended 69 "folder.tfy is a directory; name a file in it"
done

# Directories, and the whole project: every .tfy file in them.
mkdir -p project/lib/deep project/.hidden project/node_modules/x project/empty
printf 'import "lib/text.tfy"\nworkflow main() { print(text.twice("a")) }\ntest "it" { yield main() }\n' >project/app.tfy
printf 'fn twice(s: string) -> string { return s + s }\n' >project/lib/text.tfy
printf 'fn  odd( )->int{ return 1 }\n' >project/lib/deep/odd.tfy
printf 'not a program\n' | tee project/.hidden/a.tfy project/node_modules/x/b.tfy >project/notes.txt
ln -s .. project/lib/loop
cd project || exit 1
run tfy check
check "check of the project" ended 0
run tfy fmt --check
check "fmt --check of the project" ended 1
check "... names the files that are not formatted" printed_exactly lib/deep/odd.tfy
run tfy fmt lib
check "fmt of a directory" ended 0
check "... changes what is in it" grep -q '^fn odd() -> int {' lib/deep/odd.tfy
run tfy test
check "test of the project" ended 0
check "... runs its tests, and does not name files without any" [ "$(cat out)" = "app.tfy
  ok      it
1 test: 1 passed, 0 failed" ]
printf 'workflow main() {\n' >lib/broken.tfy
run tfy check lib app.tfy
check "a mistake in a directory" ended 65 "lib/broken.tfy:"
check "... is counted among all files" ended 65 "1 of 4 files has mistakes"
run tfy check empty
check "a directory without programs" ended 69 "there is no .tfy file in empty"
run tfy check nowhere
check "a directory that is not there" ended 69 "nowhere"
cd .. || exit 1

# A program that is a command.
printf '#!/usr/bin/env -S tfy run\nworkflow main(name: string) { print("hello ${name}") }\n' >hello
chmod +x hello
run ./hello --name ann
check "a first line '#!' makes a program a command" printed_exactly "hello ann"
run tfy output last
check "... whose runs are as any others" printed "hello ann"
cp hello hello.tfy
run tfy fmt hello.tfy
check "fmt keeps the line" [ "$(head -n 1 hello.tfy)" = "#!/usr/bin/env -S tfy run" ]
run tfy resume last
check "a stored program has it" ended 0

printf 'workflow main( {\n' >broken.tfy
run tfy run broken.tfy
check "a malformed program: 65" ended 65 "broken.tfy:1:"
run tfy check broken.tfy
check "check of a malformed program: 65" ended 65 "broken.tfy:1:"
printf 'workflow main() {\n    let x: int = "a"\n}\n' >wrong.tfy
run tfy run wrong.tfy
check "a program that does not check: 65" ended 65 "wrong.tfy:2:"
printf 'fn f() -> int { return 1 }\n' >none.tfy
run tfy run none.tfy
check "a program without a workflow" ended 64 "has no workflow"
printf '\377\376' >bytes.tfy
run tfy run bytes.tfy
check "a program that is not UTF-8: 65" ended 65

cat >params.tfy <<'END'
enum Mode { fast, careful }
type Pair { a: int, b: string = "x" }

/// Takes one of everything.
workflow main(name: string, count: int = 2, ratio: float = 0.5, loud: bool = false, pause: duration = 1ms, mode: Mode = Mode.fast,
    pair: Pair? = null, tags: list<string> = [], note: string? = null) -> string {
    return "${name} ${count} ${ratio} ${loud} ${pause} ${mode} ${pair == null} ${tags} ${note ?? "-"}"
}

workflow other(n: int) -> int {
    return n
}
END
run tfy run params.tfy --name ann
check "defaults" printed_exactly '"ann 2 0.5 false 1ms fast true [] -"'
run tfy run params.tfy --name=ann --count -7 --ratio 2 --loud --pause 90s --mode careful --pair '{"a": 1}' --tags '["x"]' --note hi
check "every kind of value" printed_exactly '"ann -7 2.0 true 90s careful false [\"x\"] hi"'
run tfy run --db other.db params.tfy --name b
check "options before the file" [ -f other.db ]
run tfy run params.tfy -- --name --odd
check "a value that looks like an option is written with =" ended 64
run tfy run params.tfy -- --name=--odd
check "behind -- all are parameters" printed '"--odd '
run tfy run params.tfy
check "a missing parameter: 64" ended 64 "missing parameter --name (string)"
check "... and the workflow's usage" grep -q "usage: tfy run params.tfy --name string" err
check "... and its doc comment" grep -q "Takes one of everything" err
run tfy run params.tfy --name a --cuont 3
check "an unknown parameter: 64" ended 64 "did you mean --count?"
run tfy run params.tfy --name a --count 3.5
check "a wrong int: 64" ended 64 "--count takes an int, not '3.5'"
run tfy run params.tfy --name a --count 99999999999999999999
check "an int out of range: 64" ended 64 "--count takes an int"
run tfy run params.tfy --name a --ratio nan
check "a float that is no number: 64" ended 64 "--ratio takes a float"
run tfy run params.tfy --name a --pause 5
check "a duration without its unit: 64" ended 64 "such as 90s"
run tfy run params.tfy --name a --mode slow
check "an enum case that is none: 64" ended 64
run tfy run params.tfy --name a --pair '{"b": "y"}'
check "a record without a field: 64" ended 64
run tfy run params.tfy --name a --tags 'x'
check "a list that is no JSON: 64" ended 64 "written as JSON"
run tfy run params.tfy --name a --name b
check "a parameter given twice: 64" ended 64 "given twice"
run tfy run params.tfy --name
check "a parameter without a value: 64" ended 64 "--name needs a value"

# Parameters that are called like options, with dashes, and what --help says of them.
cat >flags.tfy <<'END'
enum Mode {
    fast
    /// Twice the time,
    /// half the errors.
    careful
    other(n: int)
}
workflow main(
    /// Who it is for.
    /// Any name.
    name: string,
    max_count: int = 3 * 2, pause: duration = 90s, mode: Mode = Mode.careful, db: string = "none",
    max_tasks: int = 1, wait: bool = false, rest: Mode? = null, at: int = 0, yes: bool = false) -> string {
    return "${name} ${max_count} ${pause} ${mode} ${db} ${max_tasks} ${wait} ${rest == null} ${at} ${yes}"
}
END
run tfy run flags.tfy --help
check "--help of a program" ended 0
check "... has doc comments" sh -c 'grep -A2 "^  --name  *string$" out | tail -n 2 | tr -s " " | tr "\n" "|" | grep -q "^ Who it is for.| Any name.|$"'
check "... and defaults" grep -q '^  --max_count  *int, default 6$' out
check "... as they are typed" grep -q '^  --pause  *duration, default 90s$' out
check "... and cases" sh -c 'grep -A4 "^  --mode  *Mode, default careful$" out | tail -n 4 | tr -s " " | tr "\n" "|" | grep -q "^ fast| careful: Twice the time,| half the errors.| other {…}|$"'
check "... and how to give what is called like an option" grep -q '^  --param.db  *string, default "none"$' out
check "... and what need not be given" grep -q '^  --rest  *Mode?, may be left out$' out
tfy build flags.tfy -o flags 2>/dev/null
./flags --help >built
check "... a built program says the same" sh -c 'sed -n "2,/^$/p" out >a; sed -n "2,/^$/p" built >b; cmp a b'
run tfy run flags.tfy --name a --max-count 3 --param.db q --param.wait --param.max-tasks=4 --db flags.db
check "--param.NAME, and dashes in names" printed_exactly '"a 3 90s careful q 4 true true 0 false"'
check "... --db is still the database" [ -f flags.db ]
run tfy run flags.tfy --name a -- --db z --wait --max_tasks 7
check "behind -- the parameters are the program's alone" printed_exactly '"a 6 90s careful z 7 true true 0 false"'
run tfy run flags.tfy --name a --max-count 1 --max_count 2
check "both ways to write a name are one" ended 64 "--max_count was given twice"
run tfy run flags.tfy --name a --param.at 5 --param.yes
check "--param.at and --param.yes" printed_exactly '"a 6 90s careful none 1 false true 5 true"'
run tfy run flags.tfy --name a --at=-4
check "... where 'at' is no option, it is a parameter" printed_exactly '"a 6 90s careful none 1 false true -4 false"'
./flags run --name a --param.at 6 --yes >out 2>err
check "... a built program says the same" printed_exactly '"a 6 90s careful none 1 false true 6 false"'
run tfy run flags.tfy --name a --param.dbb q
check "an unknown name behind --param." ended 64 "did you mean --db?"
run tfy crashtest flags.tfy --at 9 --name a --param.db q --param.at 4
check "crashtest passes them on, and keeps its own --at" ended 0
run tfy crashtest flags.tfy --at 9 --name a --param.at x
check "... the other one is an int" ended 65 "--at takes an int, not 'x'"
run tfy check flags.tfy
check "the compiler warns" ended 0 "warning: the parameter 'db' is called like the option --db of 'tfy run'"
check "... and says how to give it" ended 0 "give it as --param.db, or after --"
check "... whether it has dashes or not" ended 0 "the parameter 'max_tasks' is called like the option --max-tasks"
tfy run --help | sed -n 's/^  --\([a-z-]*\).*/\1/p' | tr - _ >names
split -n l/2 names names- # warnings are shown up to a limit
known=0
for half in names-aa names-ab; do
    { echo 'workflow main('; sed 's/.*/&: string,/' $half; echo ') {'; echo '    return'; echo '}'; } >all.tfy
    run tfy check all.tfy
    known=$((known + $(grep -c "is called like the option" err)))
done
check "every option of 'tfy run' is known" [ $known = "$(wc -l <names)" ]
for wrong in TFY_SNAPSHOT_EVERY=often TFY_SNAPSHOT_EVERY=4294967296 TFY_PARK_AFTER=-1 TFY_PARK_AFTER=5s TFY_PARK_AFTER=99999999999999999999 TFY_POLLER=pol; do
    run env "$wrong" tfy run params.tfy --name a
    check "$wrong: 64" ended 64 "${wrong%=*} must be"
done
run env TFY_PARK_AFTER= TFY_SNAPSHOT_EVERY= tfy run params.tfy --name a
check "what is empty is not set" ended 0
run tfy run params.tfy stray --name a
check "a stray word: 64" ended 64 "unexpected 'stray'"
run tfy run params.tfy --help
check "--help behind the file is the workflow's" printed "usage: tfy run params.tfy --name string"
run tfy run params.tfy --workflow other --n 4
check "another workflow" printed_exactly 4
run tfy run params.tfy --workflow othr --n 4
check "a workflow that is not there: 64" ended 64 "did you mean other?"
printf 'workflow a() { yield }\nworkflow b() { yield }\n' >two.tfy
run tfy run two.tfy
check "several workflows and no main: 64" ended 64 "choose one with --workflow"
run tfy build params.tfy
check "build without -o: 64" ended 64 "needs -o PROGRAM"
run tfy build params.tfy -o program
check "build" ended 0
run ./program --name z --count 1
check "a built program runs by itself" printed '"z 1 '
run ./program --nmae z
check "a built program's own name in its usage" ended 64 "usage: program --name string"

# A source of model answers that cannot be read is refused before anything runs.
run tfy run "$EXAMPLES/adr3/adr3.tfy" --llm cassette:nowhere.jsonl
check "a recorded session that is not there: 69" ended 69 "nowhere.jsonl"
echo garbage >session.jsonl
run tfy run "$EXAMPLES/adr3/adr3.tfy" --llm cassette:session.jsonl
check "... that is none: 65" ended 65 "session.jsonl:1"
run tfy run "$EXAMPLES/adr3/adr3.tfy" --llm tape:session.jsonl
check "... and a source of another kind: 64" ended 64 "cassette:FILE"
