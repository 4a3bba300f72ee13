#!/bin/sh
# Programs in shared objects: built, loaded by a host that exports the runtime, run beside each other in one loop, unloaded; and what is refused, by which
# sentence.
. "$here/lib.sh"
top=$here/../..
CC=${CC:-cc}
CFLAGS="${CFLAGS:-} -g -O1"
# A library with sanitizers wants hosts and programs with them.
if nm "$build/runtime/libtfy.a" 2>/dev/null | grep -q __asan_init; then CFLAGS="$CFLAGS -fsanitize=address,undefined" CC=clang; fi
if nm "$build/runtime/libtfy.a" 2>/dev/null | grep -q __sanitizer_cov; then CFLAGS="$CFLAGS,fuzzer-no-link"; fi
export CC CFLAGS
libs="-lsqlite3 -ljansson -lcurl -lpcre2-8 -lpthread -lm"
host()
{
    name=$1
    shift
    $CC $CFLAGS -std=gnu11 -D_GNU_SOURCE -I "$top/runtime" "$here/shared_host.c" -o "$name" "$@" $libs
}
check "a host with all of libtfy, and its symbols for others" \
    host host -rdynamic -Wl,--whole-archive "$build/runtime/libtfy.a" -Wl,--no-whole-archive

# ---- two programs in one loop ----

# Both have a function of the same name behind a tool, and the host has it too: each calls its own.
for name in one two; do
    cat >$name.tfy <<END
tool mark(text: string) -> string pure = extern "mark"
tool shell(text: string) -> string pure = exec ["printf", "%s $name", text]

workflow main(text: string) -> string {
    let marked = yield mark(text)
    yield sleep(20ms)
    return yield shell(marked)
}
END
    cat >$name.c <<END
#include <stdio.h>
#include "$name.h"
static char buffer[64];
const char *tag(void);
const char *tag(void) { return "<$name>"; }
bool mark(TfyTask *task, TfyObj *text, TfyObj **out)
{
    int len = snprintf(buffer, sizeof buffer, "%s%s", ((TfyString *)text)->bytes, tag());
    *out = tfy_string_of(task, buffer, (size_t)len);
    return *out != NULL;
}
END
    run tfy build --shared $name.tfy $name.c -o $name.so
    check "a shared object of $name.tfy and $name.c" ended 0
done
run ./host runs.db one.so two.so one.so
check "a host runs both, and one of them twice" ended 0
check "... each with the C function that was built into it" printed_exactly '"a<one> one"
"a<two> two"
"a<one> one"
unloaded'
check "... and its runs are like any others" sh -c 'tfy --db runs.db replay last one.c | grep -q "0 divergences, 0 effects"'
exported() { nm -D --defined-only "$1" | sed "s,.* ,," | grep -vxE "__bss_start|_edata|_end" | sort | xargs; } # gold shows these of every object
check "an object shows one symbol" [ "$(exported one.so)" = tfy_program ]
check "... and does not have the runtime" sh -c '! nm -D one.so | grep -q " T tfy_" && [ "$(stat -c %s one.so)" -lt 200000 ]'
tfy build one.tfy one.c -o one
check "... which the executable has" sh -c './one run --text b | grep -q "b<one> one"'
cp one.so kept.so
run tfy build --shared one.tfy one.c -o one.so
check "the same object again comes from the cache" cmp one.so kept.so

# The file gets other content under its name while the first is loaded: that is another program.
cp two.so other.so
run ./host swap.db one.so =other.so one.so
check "a file that took the place of a loaded one is loaded anew" printed_exactly '"a<one> one"
"a<two> two"
unloaded'
cp kept.so one.so

# ---- what is refused, and how ----

refused()
{
    run ./host none.db "$1"
    ended 1 "$2" && ! grep -q /proc/ err
}
check "no such file" refused absent.so "cannot read absent.so: No such file or directory"
check "a directory" refused . ". is not a shared object; 'tfy build --shared' makes one"
check "a text" refused one.tfy "one.tfy is not a shared object"
mkfifo pipe.so
check "a pipe" refused pipe.so "pipe.so is not a shared object"
check "an executable" refused ./one "there is no program in ./one; 'tfy build --shared' makes one"
printf 'int answer(void);\nint answer(void) { return 42; }\n' >plain.c
$CC $CFLAGS -shared -fPIC plain.c -o plain.so
check "another shared object" refused plain.so "there is no program in plain.so"
version=$(tfyc --version | sed 's/.* //')
interface=$(sed 's/.*"\(.*\)"/\1/' "$build/interface.h")
altered()
{
    LC_ALL=C sed "s/$1/$2/" one.so >"$3"
    ! cmp -s one.so "$3" && refused "$3" "$4"
}
check "another version of tfyc" altered "Tiffany\\x00$version" "Tiffany\\x009${version#?}" old.so \
    "old.so was compiled by tfyc 9${version#?}, and this is Tiffany $version: build it again"
check "other headers" altered "$version\\x00$interface" "$version\\x00fedcba9876543210" headers.so \
    "headers.so was compiled by a tfyc whose tfy.h differs from that of this process: build it again"
check "another kind of machine" altered '^\x7fELF.' '\x7fELF\x01' small.so "small.so was built for another kind of machine"
check "a note that does not end its texts" altered "Tiffany\\x00$version\\x00$interface\\x00" "Tiffany\\x00$version\\x00${interface}x" torn.so \
    "there is no program in torn.so"
check "a note without a version" altered "Tiffany\\x00$version\\x00" "Tiffany\\x00$version " joined.so "there is no program in joined.so"
head -c 700 one.so >cut.so
check "a file that was cut off" refused cut.so "cut.so is not whole; build it again"

# Nothing in an object that is refused is run: not even what runs when it is loaded.
printf 'tool mark(n: int) -> int pure = extern "mark"\nworkflow main(text: string) -> int { return yield mark(text.len()) }\n' >eager.tfy
cat >eager.c <<'END'
#include <stdio.h>
#include "eager.h"
__attribute__((constructor)) static void begin(void)
{
    puts("it ran");
    fflush(stdout);
}
bool mark(TfyTask *task, int64_t n, int64_t *out)
{
    (void)task;
    *out = n;
    return true;
}
END
tfy build --shared eager.tfy eager.c -o eager.so
run ./host eager.db eager.so
check "what an object runs when it is loaded" printed_exactly 'it ran
1
unloaded'
LC_ALL=C sed "s/$version\\x00$interface/$version\\x00fedcba9876543210/" eager.so >stale.so
run ./host eager.db stale.so
check "... is not run where it is refused" [ "$status $(cat out)" = "1 " ]

# A host that has only what it uses itself.
check "a host with a part of libtfy" host poor -rdynamic "$build/runtime/libtfy.a"
run ./poor poor.db one.so
check "... cannot give a program what it needs, and says so" ended 1 "this process does not export all of libtfy"

# ---- building ----

run tfy build --shared one.tfy -o lone.so
check "a tool without its C file is found when the object is built" ended 69 "name the C files that have them as well"
run tfy build --shared one.tfy one.c
check "-o is needed" ended 64 "build --shared needs -o FILE.so"
tfy build --shared --debug one.tfy one.c -o debug.so
run ./host debug.db debug.so
check "with --debug" printed '"a<one> one"'
cat >uses.tfy <<'END'
prompt grade(text: string) -> int {
    user "Grade ${text}"
}

workflow main(text: string) -> string {
    let found = text.find_match("[a-z]")
    if found == null {
        let mark = yield grade(text)
        let page = yield http("GET", "http://localhost/")
        return "${mark}: ${page.body}"
    }
    let question = yield approve("go on?") timeout 10ms
    return "${question}"
}
END
run tfy build --shared uses.tfy -o uses.so
check "a program with models, questions and patterns" ended 0
run ./host uses.db uses.so
check "... is loaded and runs" printed "Timeout"
