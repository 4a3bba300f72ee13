#!/bin/sh
# What tfyc writes and where: devices, full disks, names that are too long, make rules, headers, colours; options that do not go together.
. "$here/lib.sh"
unset NO_COLOR

printf 'workflow main() -> int { return 1 }\n' >fine.tfy
printf 'workflow main() -> int { return "a" }\n' >wrong.tfy
printf 'fn f( ) -> int { return 1 }\n' >loose.tfy

run tfyc fine.tfy -o -
check "C to standard output" printed "TFY_"
run tfyc fine.tfy -o /dev/null
check "a device is written to, not replaced" [ "$status" = 0 ] && [ -c /dev/null ]
mkfifo pipe
cat pipe >from.c &
run tfyc fine.tfy -o pipe
wait
check "so is a pipe" grep -q TFY_ from.c
run tfyc fine.tfy -o no/where.c
check "a directory that is not there" ended 74 "cannot write 'no/where.c'"
mkdir folder
run tfyc fine.tfy -o folder
check "a directory in the way" ended 74 "cannot write 'folder'"
check "... leaves nothing behind" [ "$(find . -name '*.tmp' | wc -l)" = 0 ]
run tfyc fine.tfy -o "$(printf '%04100d' 0)"
check "a name that is too long" ended 74 "File name too long"
if [ -c /dev/full ]; then
    ln -s /dev/full full.c
    run tfyc fine.tfy -o full.c
    check "a full disk" ended 74 "cannot write 'full.c'"
    for command in "--dump=tokens fine.tfy" "--dump=ast fine.tfy" "--dump=program fine.tfy" "--dump=machine fine.tfy" \
        "--graph=dot fine.tfy" "--report fine.tfy" "--list-files fine.tfy" "--format --check loose.tfy" "-o - fine.tfy"; do
        # shellcheck disable=SC2086
        run sh -c 'tfyc "$@" >/dev/full' tfyc $command
        check "a full disk behind standard output: $command" ended 74 "cannot write 'standard output'"
    done
    run sh -c 'tfyc --format --diff - <loose.tfy >/dev/full'
    check "... and a formatted text" ended 74 "cannot write 'standard output'"
fi
run tfyc --format --diff folder
check "a directory is no program" ended 69 "folder is a directory; name a file in it"
head -c 70000000 /dev/zero >huge.tfy
run tfyc --check huge.tfy
check "a file that is too large" ended 65 "'huge.tfy' is larger than"
rm huge.tfy
mkdir empty
run env PATH="$PWD/empty" "$build/tfyc" --format --diff loose.tfy
check "formatting is compared by diff, which may be missing" ended 74 "diff could not be run"

mkdir 'a b' && cp fine.tfy 'a b/c#d$e.tfy'
run tfyc 'a b/c#d$e.tfy' -o 'out $x.c' --depfile x.d
check "a make rule escapes blanks, # and dollars" grep -qxF 'out\ $$x.c: a\ b/c\#d$$e.tfy' x.d
run tfyc fine.tfy --depfile no/x.d -o x.c
check "a make rule that cannot be written" ended 74 "no/x.d"
printf 'tool t(a: int, b: string?) -> int = extern "a_b"\nworkflow main() { yield t(1, null) }\n' >tool.tfy
cp tool.tfy tool-more
mkdir headers
run tfyc tool.tfy --headers headers
check "a header for extern tools" grep -q 'a_b(' headers/tool.h
run tfyc tool.tfy --headers headers --no-line -o x.c
check "... without #line" sh -c '! grep -q "^#line" headers/tool.h'
run tfyc tool-more --headers headers
check "a program may have any name" [ -f headers/tool-more.h ]
cp tool.tfy tool.tfy.old
run tfyc tool.tfy.old --headers headers
check "... or another ending" [ -f headers/tool.tfy.old.h ]
printf 'import "tool.tfy" as tool\nworkflow main() { yield tool.t(1, null) }\n' >outer.tfy
rm headers/tool.h
run tfyc outer.tfy --headers headers --depfile headers.d
check "the headers of imported files" [ -f headers/tool.h ]
check "... and no others" [ ! -e headers/outer.h ]
check "a make rule without C" grep -q '^outer.tfy: ' headers.d
run tfyc --check wrong.tfy fine.tfy
check "one file has mistakes" ended 65 "1 of 2 files has mistakes"
run tfyc tool.tfy --headers no/where
check "headers that cannot be written" ended 74 "no/where/tool.h"

printf 'import "nowhere.tfy" as far\nimport "/no/where.tfy" as further\n' >lost.tfy
run tfyc --check -I folder -I empty lost.tfy
check "an import that is nowhere: where it was looked for" ended 65 "searched the current directory, 'folder', 'empty'; -I DIR adds a directory"

# refused TEXT OPTION…: a usage error that says so.
refused()
{
    text=$1
    shift
    run tfyc "$@"
    check "refused: $*" ended 64 "$text"
}
refused "no FILE.tfy was given"
refused "no FILE.tfy was given" --check
refused "one FILE.tfy at a time" fine.tfy wrong.tfy -o x.c
refused "--depfile is for one" --check fine.tfy wrong.tfy --depfile x.d
refused "--json goes with" fine.tfy --json -o x.c
refused "--diff goes with" fine.tfy --diff -o x.c
refused "-o goes with" fine.tfy --check -o x.c
refused "--headers goes with" fine.tfy --check --headers headers
refused "-o OUT.c is missing" fine.tfy
refused "--dump" fine.tfy --dump=nothing
run tfyc --schema zzzzzzzzzz tool.tfy
check "a schema of nothing alike" ended 64 "type 'zzzzzzzzzz'"

if script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    timeout 60 script -qec "$build/tfyc --check wrong.tfy" /dev/null >screen 2>&1 </dev/null
    check "colours on a terminal" grep -q "$(printf '\033\[1;31m')" screen
    NO_COLOR=1 timeout 60 script -qec "$build/tfyc --check wrong.tfy" /dev/null >screen 2>&1 </dev/null
    check "none when they are not wanted" sh -c '! grep -q "$(printf "\033")" screen'
fi
