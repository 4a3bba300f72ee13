#!/bin/sh
# gdb on a compiled program: it stops at lines of the .tfy file and shows what the language's variables hold.
. "$here/lib.sh"
unset CFLAGS # gdb reads the debug information
command -v gdb >/dev/null || { echo "skipped: no gdb"; exit 0; }
cat >pets.tfy <<'END'
type Pet { name: string, ages: list<int> }
enum Mood { calm, cross(why: string) }

workflow feed(pet: Pet, mood: Mood) -> int {
    let weights = { "a": 1.5, "b": 2.0 }
    let nobody: Pet? = null
    yield
    print("fed ${pet.name}")
    return pet.ages.len()
}

workflow main() -> int {
    let helper = spawn rest()
    let happy = true
    let n = yield feed({ name: "Rex \"the\" dog", ages: [3, 4] }, Mood.cross(why: "hungry"))
    yield join(helper)
    return n
}

workflow rest() {
    yield sleep(50ms)
}
END
tfy build --debug pets.tfy -o pets
stop_at() # FILE:LINE COMMAND…
{
    line=$1
    shift
    set -- "$@" -ex kill
    timeout 60 gdb -nx -batch -iex 'set debuginfod enabled off' -x "$here/../../runtime/gdb/tfy-gdb.py" -ex "break $line" -ex run "$@" ./pets >out 2>err </dev/null
    status=$?
}
stop_at pets.tfy:8 -ex 'tfy locals' -ex 'print F->mood' -ex 'tfy tasks'
if grep -qi 'ptrace\|cannot trace' err; then
    echo "skipped: processes cannot be traced here"
    exit 0
fi
check "a breakpoint at a line of the program" sh -c 'grep -q "pets.tfy:8" out && grep -q "^8.*print(\"fed" out'
check "tfy locals: the frame whose code runs" printed 'in feed, pets.tfy:8'
check "... records and lists" printed '  pet: slot = { name: "Rex \"the\" dog", ages: [3, 4] }'
check "... maps and floats" printed '  weights: slot = {"a": 1.5, "b": 2.0}'
check "... null" printed '  nobody: slot = null'
check "... and the frame that called it, by its point" printed 'called from main, pets.tfy:15'
check "... with types" printed '  happy: bool = true'
check "print shows an object as the language writes it" printed '= cross { why: "hungry" }'
check "tfy tasks" sh -c 'grep -q "^  1 .*running .*feed, pets.tfy" out && grep -q "^  1.1 .*sleeping .*rest, pets.tfy:21: sleep" out'
check "nothing went wrong" sh -c '! grep -q "Python Exception" out err'
