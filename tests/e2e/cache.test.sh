#!/bin/sh
# What was compiled once starts at once, and nothing stale is ever run.
. "$here/lib.sh"
XDG_CACHE_HOME=$PWD/cache
export XDG_CACHE_HOME
entries() { find cache/tfy -mindepth 1 -maxdepth 1 -type d | wc -l; }

printf 'workflow main() -> int { return 1 }\n' >one.tfy
run tfy run one.tfy
check "the first run compiles" printed_exactly 1
check "... into one entry" [ "$(entries)" = 1 ]
check "... with the C file beside the program" [ -f cache/tfy/*/one.c ]

# A C compiler that counts its calls.
printf '#!/bin/sh\necho called >>"%s/calls"\nexec %s "$@"\n' "$PWD" "${CC:-cc}" >counting-cc
chmod +x counting-cc
calls() { wc -l <calls; }
run env CC="$PWD/counting-cc" tfy run one.tfy
check "another C compiler, another entry" [ "$(calls)" = 1 ]
run env CC="$PWD/counting-cc" tfy run one.tfy
check "an unchanged file starts without the C compiler" [ "$(calls)" = 1 ]
check "... and gives the same" printed_exactly 1
run env CC="$PWD/counting-cc" tfy replay last
check "the text in the database is the same program: replay starts it, too" [ "$(calls)" = 1 ]
check "... and compares" printed "0 divergences"
mkdir elsewhere && cp one.tfy elsewhere
run env CC="$PWD/counting-cc" tfy run elsewhere/one.tfy
check "... and so is a copy in another directory" [ "$(calls)" = 1 ]
printf 'workflow main() -> int { return 2 }\n' >one.tfy
run tfy run one.tfy
check "a changed file is compiled anew" printed_exactly 2
check "... into an entry of its own" [ "$(entries)" -ge 2 ]
run env CFLAGS="${CFLAGS:-} -O0" tfy run one.tfy
check "other flags, another entry" [ "$(entries)" -ge 3 ]

mkdir bin
run env -u CC PATH="$PWD/bin" "$TFY" run one.tfy
check "no C compiler: 69" ended 69 "install the package gcc"
run env CC=no-such-compiler tfy run one.tfy
check "a C compiler that is not there: 69" ended 69 "no C compiler is found"

printf 'tool f() -> int pure = extern "c_f"\nworkflow main() -> int {\n    let x = yield f()\n    return x\n}\n' >ext.tfy
printf '#include "tfy.h"\nbool c_f(TfyTask *task, int64_t *out);\nbool c_f(TfyTask *task, int64_t *out)\n{\n    (void)task;\n    *out = 41;\n    return true;\n}\n' >ext.c
run tfy run ext.tfy ext.c
check "an extern tool in a C file" printed_exactly 41
sed -i 's/41/42/' ext.c
run tfy run ext.tfy ext.c
check "a changed C file is compiled anew" printed_exactly 42
run tfy run ext.tfy
check "an extern tool without its C file is refused" ended 69 "name the C files"
printf 'this is no C\n' >bad.c
run tfy run ext.tfy bad.c
check "a C file with mistakes: 65" ended 65 "the C compiler refused"

rm -rf cache
tfy run one.tfy >a.out 2>&1 &
first=$!
run tfy run --db other.db one.tfy
wait "$first"
check "two builders at once do not disturb each other" printed_exactly 2
check "... and both ran" grep -qx 2 a.out
check "nothing half-done is left in the cache" [ "$(find cache/tfy -name '*.??????' | wc -l)" = 0 ]

# A damaged program is made again, and what was killed leaves nothing.
program=$(echo cache/tfy/*/one)
damaged_and_made_again()
{
    "$@" || return 1
    run tfy run one.tfy
    printed_exactly 2 && [ ! -s err ]
}
flip() { printf '\377\377\377\377' | dd of="$program" bs=1 seek="$1" conv=notrunc 2>check.out; }
check "a changed byte in a cached program: it is made again" damaged_and_made_again flip 20000
check "... also in its first page" damaged_and_made_again flip 0
check "one that was cut" damaged_and_made_again truncate -s 5000 "$program"
check "one that is empty" damaged_and_made_again truncate -s 0 "$program"
check "one whose hash is missing" damaged_and_made_again rm "$(dirname "$program")/.sum"
flip 20000
for i in 1 2 3 4; do
    { tfy run one.tfy --db "at once $i.db" >"once.$i" 2>&1 || echo failed >>"once.$i"; } &
done
wait
check "four that find it damaged at once do not disturb each other" [ "$(cat once.?)" = "$(printf '2\n2\n2\n2')" ]

printf '#!/bin/sh\ntouch "%s/compiling"\nexec sleep 60\n' "$PWD" >slow-cc
chmod +x slow-cc
left() { find cache/tfy -mindepth 1 -maxdepth 1 -name '*.??????' | wc -l; }
compile_slowly()
{
    rm -f compiling
    CC="$PWD/slow-cc" setsid "$build/tfy" run one.tfy >slow.out 2>&1 &
    slow=$!
    within 20 test -e compiling
}
compile_slowly
kill -KILL "-$slow"
wait "$slow" 2>/dev/null
check "a compilation that is killed leaves its directory" [ "$(left)" = 1 ]
printf 'workflow main() -> int { return 3 }\n' >one.tfy
run tfy run one.tfy
check "... which may still be another's for a minute" [ "$(left)" = 1 ]
find cache/tfy -name '*.??????' -exec touch -d '2 minutes ago' {} +
compile_slowly
find cache/tfy -name '*.??????' -exec touch -d '2 minutes ago' {} +
printf 'workflow main() -> int { return 4 }\n' >one.tfy
run tfy run one.tfy
check "... and is removed then; one that is at work is not" [ "$(left)" = 1 ]
kill -KILL "-$slow"
wait "$slow" 2>/dev/null
printf 'workflow main() -> int { return 5 }\n' >one.tfy
run tfy run one.tfy
check "... until it is killed, too" [ "$(left)" = 0 ]

if [ "$(id -u)" != 0 ]; then
    mkdir locked && chmod 500 locked
    run env XDG_CACHE_HOME="$PWD/locked" HOME=/nonexistent tfy run one.tfy
    check "a cache that cannot be written: beside the database" printed_exactly 2
fi
