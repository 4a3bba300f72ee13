#!/bin/sh
# A program of several files: found, compiled when one of them changed, shown by file and line, and taken up again from the log alone.
. "$here/lib.sh"
XDG_CACHE_HOME=$PWD/cache
export XDG_CACHE_HOME
mkdir -p lib inc/std
cat >main.tfy <<'END'
import "lib/asks.tfy"
workflow main() -> string {
    let answer = yield asks.query("a")
    return answer
}
END
cat >lib/asks.tfy <<'END'
import "std/names.tfy"
workflow query(q: string) -> string {
    print("before ${names.WHO}")
    let ok = yield approve("go ${q}?")
    return "${ok} ${names.WHO}"
}
END
echo 'const WHO = "me"' >inc/std/names.tfy

run tfy check main.tfy
check "a file that is nowhere: 65" ended 65 "lib/asks.tfy:1:8: error: cannot find 'std/names.tfy'"
check "... with the places that were looked in" ended 65 "searched 'lib/'"
run tfy check -I inc main.tfy
check "... found with -I" [ "$status" = 0 ]
run tfy run -I inc main.tfy
check "it asks from an imported file" ended 75 "asks.query, line 4 of lib/asks.tfy asks: go a?"
run tfy inspect last
check "inspect shows file and line" grep -q '    line 4 of lib/asks.tfy: let ok = yield approve' out
run tfy inspect last --json
check "... also as JSON" grep -q '"file": *"lib/asks.tfy"' out
run sqlite3 .tfy/runs.db "select line from history where type = 'StepStart'"
check "the history view shows it" grep -qx 'lib/asks.tfy:4' out

mkdir elsewhere && mv lib inc main.tfy elsewhere && rm -rf cache
run tfy approve last --yes
run tfy resume
check "a run is taken up from the files in the log" printed_exactly '"true me"'
run tfy replay last
check "... and replayed" grep -q ' 0 divergences, 0 effects performed' out
mv elsewhere/* .
run tfy replay last --program main.tfy -I inc
check "... and compared with the files of today" grep -q ' 0 divergences, 0 effects performed' out

run tfy run -I inc --yes main.tfy
entries=$(ls cache/tfy | wc -l)
run tfy run main.tfy --yes -I inc
check "nothing changed, nothing is compiled" [ "$(ls cache/tfy | wc -l)" = "$entries" ]
echo 'const WHO = "you"' >inc/std/names.tfy
run tfy run main.tfy --yes -I inc
check "a changed import is compiled anew" grep -qx '"true you"' out
run tfy build -I inc main.tfy -o program
run ./program --yes
check "a built program" grep -qx '"true you"' out
run tfy run main.tfy --workflow asks.query --q b --yes -I inc
check "a workflow of another file by its full name" grep -qx '"true you"' out

run tfyc -I inc main.tfy -o out.c --depfile out.d
check "a make rule names every file" [ "$(cat out.d)" = "out.c: main.tfy lib/asks.tfy inc/std/names.tfy" ]
check "#line names every file" [ "$(awk '/^#line [0-9]+ "/ { file = $3 } file == "\"lib/asks.tfy\"" && /^#line 4/' out.c | wc -l)" -gt 0 ]
run tfyc --list-files -I inc main.tfy
check "the files as a list" printed_exactly 'main.tfy
lib/asks.tfy
inc/std/names.tfy'
printf '%s\n' '{"modules": [{"file": "a.tfy", "text": "import \"b.tfy\"\nworkflow main() {}\n", "imports": {"b.tfy": 7}}]}' >bad.json
run tfyc --bundle bad.json -o bad.c
check "a stored program that lacks a file: 65" ended 65 "does not hold 'b.tfy'"
echo '[]' >bad.json
run tfyc --bundle bad.json -o bad.c
check "what is not a stored program: 65" ended 65 "is not a stored program"

# Headers of the user's own are part of what decides the result.
cat >ext.tfy <<'END'
tool f() -> int pure = extern "c_f"
workflow main() -> int {
    let x = yield f()
    return x
}
END
printf '#include "tfy.h"\n#include "ext.h"\nbool c_f(TfyTask *task, int64_t *out);\nbool c_f(TfyTask *task, int64_t *out)\n{\n    (void)task;\n    *out = N;\n    return true;\n}\n' >ext.c
echo '#define N 41' >ext.h
run tfy run ext.tfy ext.c
check "a C file with a header of its own" printed_exactly 41
echo '#define N 42' >ext.h
run tfy run ext.tfy ext.c
check "a changed header is compiled anew" printed_exactly 42
