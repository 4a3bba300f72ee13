#!/bin/sh
# What must hold for the repository itself, whatever is built.
. "$here/lib.sh"
top=$here/../..

check "every shell script is accepted by sh -n" sh -c 'cd "$1" && for f in dev .ci/run $(find tests examples -name "*.sh"); do sh -n "$f" || exit 1; done' sh "$top"
run sh "$top/dev" no-such-command
check "dev refuses an unknown command with 64" [ "$status" = 64 ]
run sh "$top/dev" help
check "dev help names every command" sh -c 'for c in build demo test bench soak fmt bare clean; do grep -q "^./dev $c " "$1" || exit 1; done' sh out
check "no line is left to be done" sh -c 'cd "$1" && ! grep -rnE "TO""DO|FIX""ME" --include="*.c" --include="*.h" --include="*.y" --include="*.re" dsl codegen runtime' sh "$top"

# The rooms of the runtime, in order: a room uses only those before it. The cell, a program of its own, uses none; others read its policy.h. tfy.h, tfy_task.h and tfy_program.h are between base and value.
# The log is five rooms.
cat >rooms.awk <<'END'
BEGIN {
    n = split("cell base top value wal/rows wal/store wal/log wal/history wal/keep observe core effects mcp load cli publish serve", names, " ")
    for (i = 1; i <= n; i++) rank[names[i]] = i
}
function room_of(first, second)
{
    return first == "wal" ? first "/" second : first
}
function uses(user, used, what)
{
    if (!(user in rank) || rank[used] <= rank[user]) return
    print user " uses " what ", which is in " used
}
# FILE:#include "NAME": the room is the folder under runtime/; a name without a room before it is of the same room.
/#include "/ {
    split($0, parts, /:#include "/)
    split(parts[1], path, "/")
    name = parts[2]
    sub(/".*/, "", name)
    sub(/^(\.\.\/)+/, "", name)
    split(name, used, "/")
    room = name ~ /^tfy(_program|_task)?\.h$/ ? "top" : room_of(used[1], used[2])
    if (room in rank) uses(room_of(path[2], path[3]), room, name)
    next
}
# nm -A -P: libtfy.a[room_file.c.o]: symbol type …
{
    object = $1
    sub(/.*\[/, "", object)
    split(object, path, "_")
    room = room_of(path[1], path[2])
    if ($3 ~ /^[A-TV-Z]$/) home[$2] = room
    if ($3 == "U") wanted[room " " $2] = 1
}
END {
    for (key in wanted) {
        split(key, pair, " ")
        if (pair[2] in home) uses(pair[1], home[pair[2]], pair[2])
    }
}
END
rooms()
{
    (cd "$top" && grep -rHo --include='*.[ch]' '^#include "[^"]*"' runtime) >uses
    nm -A -P "$1" >>uses 2>nm.err
    awk -f rooms.awk uses
}
none() { [ -z "$("$@" | tee found)" ] || { cat found; return 1; }; }
check "no room of the runtime uses one that stands behind it" none rooms "$build/runtime/libtfy.a"
outside_cell() { (cd "$1" && grep -rn '#include "' runtime/cell --include='*.[ch]' | grep -vE '"cell/(cell|policy|system)\.h"|"cell_calls\.h"'); }
check "... and tfy-cell uses nothing of the runtime's" none outside_cell "$top"
check "... and both includes and symbols were looked at" \
    sh -c '[ "$(grep -c "^runtime/.*#include" uses)" -gt 500 ] && [ "$(grep -c " U " uses)" -gt 1000 ]'
printf 'runtime/value/x.c:#include "../core/loop.h"\nlibtfy.a[wal_keep_x.c.o]: tfy__y U \nlibtfy.a[effects_y.c.o]: tfy__y T 0 1\nruntime/wal/store/x.c:#include "wal/log/log.h"\nruntime/cell/x.c:#include "base/buffer.h"\n' >wrong
check "... and one that did would be named" sh -c '[ "$(awk -f rooms.awk wrong | wc -l)" = 4 ]'

# What core is for the others stands in five headers.
core_inside()
{
    (cd "$1" && grep -rnE --include='*.[ch]' '#include "(\.\./)*core/' $(ls -d runtime/*/ | grep -v runtime/core) |
        grep -vE '"core/(world|effect|exchange|loop|served)\.h"')
}
check "other rooms include only five headers of core" none core_inside "$top"
mkdir -p core_inside/runtime/core core_inside/runtime/cli
printf '#include "core/loop.h"\n#include "core/loop/state.h"\n#include "../core/effect.h"\n#include "core/replay/run.h"\n' >core_inside/runtime/cli/x.c
check "... and each other one would be named" [ "$(core_inside core_inside | wc -l)" = 3 ]

# What lines and files may be long today; these numbers and names may only become fewer.
long_lines() { (cd "$top" && find runtime dsl codegen -name '*.[ch]' -exec awk 'length > 140' {} +); }
check "at most 20 lines are longer than 140 bytes: drawings and tables" [ "$(long_lines | wc -l)" -le 20 ]
long_files() { (cd "$top" && find runtime dsl codegen -name '*.[ch]' -exec wc -l {} + | awk '$1 > 900 && $2 != "total" { print $2 }'); }
check "no file is longer than 900 lines" none long_files
long_headers() { (cd "$top" && find runtime/core -name '*.h' -exec wc -l {} + | awk '$1 > 260 && $2 != "total" { print $2 }'); }
check "no header of core is longer than 260 lines" none long_headers

wide_lines() { (cd "$top" && LC_ALL=C.UTF-8 grep -rnE --include='*.[chy]' --include='*.re' --include=meson.build '^.{121,}' dsl codegen); }
check "no line of the compiler is longer than 120 columns" none wide_lines
check "... where a character is a column" [ "$(printf '%0120d\n%0119d…\n%0121d\n' 0 0 0 | LC_ALL=C.UTF-8 grep -cE '^.{121,}')" = 1 ]

# Lists, growing arrays and tables are runtime/base's.
by_hand()
{
    (cd "$top" && grep -rnE --include='*.[ch]' '\brealloc\(|(cap|room)[a-z_]* \? ([a-z>_.-]*(cap|room)[a-z_]* \* 2|2 \* )|\? &[a-z>_.-]*->next : &|last->[a-z_]*next = |while \(\*(end|link)\) (end|link) = &' runtime) |
        grep -vE '^runtime/(base/|value/heap\.c|core/task/fold\.c)'
}
check "no list, array or table of the runtime is written by hand" none by_hand

# Lists of the compiler are runtime/base's too; its arrays are dsl/arena's, its tables dsl/table's (docs/decisions.md).
compiler_by_hand()
{
    (cd "$1" && grep -rnE --include='*.[chy]' --include='*.re' '\brealloc\(|cap[a-z_]* \* 2|cap[a-z_]* - 1\)|(last[a-z_]*|1\])->[a-z_]*next = |^ *\*+(link|tail) = [a-z]|while \(\*[a-z]+\) [a-z]+ = &' dsl codegen) |
        grep -vE '^dsl/(arena|table)\.c:'
}
check "no list, array or table of the compiler is written by hand" none compiler_by_hand "$top"
mkdir -p by_hand/dsl by_hand/codegen
cat >by_hand/dsl/x.c <<'END'
    items = realloc(items, size);
    uint32_t cap = old_cap ? old_cap * 2 : 64;
    uint32_t at = hash & (table->cap - 1);
        list->last->next = item;
    if (l->count) l->modules[l->count - 1]->next = module;
        *link = arg;
    while (*tail) tail = &(*tail)->next;
END
check "... and each way of doing so would be named" [ "$(compiler_by_hand by_hand | wc -l)" = 7 ]

cannot_be_planted() { (cd "$top" && for patch in tests/planted/*.patch; do git apply --check "$patch" 2>&1 || echo "$patch"; done); }
check "every planted bug fits the code as it is" none cannot_be_planted

# docs/architecture.md: every file that it names exists, and every function of its tables is defined in the file beside it.
cat >named.awk <<'END'
{
    line = $0
    while (match(line, /`[a-z]+\/[a-z_\/]+(\.[a-z]+)+`/)) {
        print "file", substr(line, RSTART + 1, RLENGTH - 2)
        line = substr(line, RSTART + RLENGTH)
    }
}
/^\|.*\| `[a-z_]+` \| `|^\| `[a-z_]+` \| `/ {
    split($0, cells, "`")
    print "function", cells[2], cells[4]
}
END
misnamed()
{
    awk -f named.awk "$1" >named
    while read -r kind one two; do
        case $kind in
        file) # core/world.h is a file of a room
            [ -e "$top/$one" ] || [ -e "$top/runtime/$one" ] || echo "$one does not exist" ;;
        function) grep -qE "^[a-zA-Z].*[ *]$one\b" "$top/$two" || echo "$one is not defined in $two" ;;
        esac
    done <named
}
check "docs/architecture.md names files and functions that exist" none misnamed "$top/docs/architecture.md"
check "... many of them" sh -c '[ "$(grep -c ^function named)" -ge 25 ] && [ "$(grep -c ^file named)" -ge 40 ]'
printf '| x | `no_such_function` | `runtime/core/loop/sched.c` | y |\nin `runtime/core/no_such_file.c`\n' >wrong.md
misnamed wrong.md >wrong
check "... and others would be named" [ "$(wc -l <wrong)" = 2 ]

# Forms that read badly (plain_english.py lists them), in README.md, docs and all strings of the C sources. Its last line on
# stderr is the number of files that it read.
not_plain() { python3 "$here/plain_english.py" "$1" 2>plain.count; }
check "messages and documents avoid forms that read badly" none not_plain "$top"
check "... in all of them" [ "$(tail -n 1 plain.count)" -ge 400 ]
mkdir -p unplain/docs unplain/dsl unplain/runtime/core
printf 'Fine.\n\nEvery value\nis to be written.\n\n```\nit is no duration\n```\n' >unplain/docs/x.md
echo 'A step belongs into a run.' >unplain/README.md
printf '/* the step is no pause */ fail("the step takes " "up its work");\n' >unplain/runtime/core/x.c
printf 'report("%%s is no duration");\n' >unplain/dsl/x.re
not_plain unplain >wrong
check "... and wrong ones would be named" sh -c '[ "$(cut -d : -f 1-2 <wrong | xargs)" = "README.md:1 docs/x.md:3 runtime/core/x.c:1 dsl/x.re:1" ] ||
    { cat wrong; exit 1; }'
rm -r unplain/runtime unplain/dsl unplain/docs/x.md
cat >unplain/docs/y.md <<'END'
- One run was not taken up: it is elsewhere.
- A priority lies between 1 and 2.
- The word stands only in a test.
- The run goes on.
- Its timeout runs on, unseen.
- One run starts now at its snapshot.
- It reads the mark and the records behind it.
- Name the files behind RUN.
- The compiler warns of it.
- The sender hears so.
- This takes one run over.
- A program has been reading for long; stop it.
- Compared are the records.
- What was under way then is in doubt.
END
sed 's/$/\n/' unplain/docs/y.md >unplain/docs/z.md && mv unplain/docs/z.md unplain/docs/y.md
not_plain unplain >wrong
check "... of every form, once" [ "$(grep -c '^docs/y.md' wrong) $(grep '^docs/y.md' wrong | cut -d : -f 2 | uniq | wc -l)" = "14 14" ]
