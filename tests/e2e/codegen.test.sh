#!/bin/sh
# The generated C: no warnings, no leaks wherever a run breaks, and a compile time that grows with the program.
. "$here/lib.sh"
repository=$here/../..
CC=${CC:-cc}
case ${CFLAGS:-} in *-fsanitize*) ;; *) CFLAGS="-g -O1" ;; esac
libs="$build/runtime/libtfy.a -lsqlite3 -ljansson -lcurl -lpcre2-8 -lpthread -lm"

# Every program of the tests and examples, with each compiler that is there; where it costs more, those with every
# statement.
programs="$repository/tests/golden/lang/all_edges.tfy $(echo "$repository"/tests/golden/machine/*.tfy)"
clean_c()
{
    for source in $programs; do
        tfyc "$source" -o clean.c || return 1
        "$@" -std=gnu11 -Wall -Wextra -Werror -I "$build" -I "$repository/runtime" -c clean.c -o clean.o || return 1
    done
}
check "no warnings from gcc with sanitizers and poison" clean_c gcc -O1 -DTFY_POISON -fsanitize=address,undefined
programs="$(echo "$repository"/tests/golden/lang/all_*.tfy "$repository"/tests/golden/machine/*.tfy "$repository"/examples/*/*.tfy)"
check "no warnings from gcc -O2" clean_c gcc -O2
if command -v clang >/dev/null 2>&1; then check "no warnings from clang" clean_c clang -fsyntax-only; fi
if command -v tcc >/dev/null 2>&1; then check "no warnings from a plain C11 compiler" clean_c tcc; fi

# Breaks runs at every stop and at every allocation.
leaks()
{
    tfyc --no-main "$repository/tests/golden/lang/$1.tfy" -o leaks.c || return 1
    $CC $CFLAGS -std=gnu11 -D_GNU_SOURCE -DTFY_POISON -I "$repository/runtime" leaks.c "$here/codegen_leaks.c" -o leaks $libs || return 1
    ./leaks kill "$2" && ./leaks memory "$3"
}
check "values are given back" leaks all_values 10 400
check "control flow gives everything back" leaks all_control 60 400
check "edges give everything back" leaks all_edges 60 400

# Children's user time so far, in hundredths of a second.
spent() { times | awk 'NR == 2 { split($1, t, /[ms]/); printf "%d\n", t[1] * 6000 + t[2] * 100 }'; }
program()
{
    awk -v n="$1" 'BEGIN {
        print "workflow main() -> int {\n    var total = 0"
        for (i = 0; i < n; i++) printf "    let a%d = \"v%d\".trim()\n    yield\n    total += a%d.len()\n", i, i, i
        print "    return total\n}"
    }' >many.tfy
    tfyc many.tfy -o many.c
}
compile_time()
{
    program "$1"
    before=$(spent)
    gcc -std=gnu11 -O1 -I "$repository/runtime" -c many.c -o many.o || return 1
    echo $(($(spent) - before))
}
grows_gently()
{
    times >/dev/null
    compile_time 120 >small || return 1
    compile_time 1200 >large || return 1
    echo "120 yields: $(cat small) cs, 1,200 yields: $(cat large) cs"
    [ "$(cat large)" -le $((12 * $(cat small) + 12)) ]
}
check "1,200 yields compile in at most 12 times the time of 120" grows_gently

# The same input gives the same bytes, wherever it lies.
mkdir -p one two
cp "$repository/tests/golden/lang/all_edges.tfy" one/
cp one/all_edges.tfy two/
same_bytes() { (cd one && tfyc all_edges.tfy -o ../one.c) && (cd two && tfyc all_edges.tfy -o ../two.c) && cmp one.c two.c; }
check "the output depends on nothing but the input" same_bytes

# A line of source is a few lines of C.
lines_of_c()
{
    tfyc --no-line "$repository/tests/golden/lang/all_edges.tfy" -o lines.c || return 1
    echo "$(grep -c . "$repository/tests/golden/lang/all_edges.tfy") lines of source, $(grep -c . lines.c) lines of C"
    [ "$(grep -c . lines.c)" -le $((6 * $(grep -c . "$repository/tests/golden/lang/all_edges.tfy"))) ]
}
check "at most six lines of C for a line of source" lines_of_c

# The command line.
run tfyc
check "no arguments" ended 64 "no FILE.tfy"
run tfyc missing.tfy -o x.c
check "a missing file" ended 69 "missing.tfy"
run tfyc one/all_edges.tfy -o absent/x.c
check "an output that cannot be written" ended 74 "absent/x.c"
printf 'workflow main() {\n    let x = 1 +\n}\n' >bad.tfy
run tfyc bad.tfy -o bad.c
check "a bad program" ended 65 "bad.tfy:"
check "a bad program leaves no output" [ ! -e bad.c ]
run tfyc one/all_edges.tfy -o d.c --depfile d.d
check "a depfile" [ "$(cat d.d)" = "d.c: one/all_edges.tfy" ]
run tfyc --dump machine one/all_edges.tfy
check "a machine is printed" printed "workflow main"
