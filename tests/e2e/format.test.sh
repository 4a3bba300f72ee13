#!/bin/sh
# tfy fmt: what it writes, what it leaves alone, and that it changes no program of ours.
. "$here/lib.sh"
repository=$here/../..

printf 'workflow  main( )->int{return 1}\n' >plain.tfy
formatted='workflow main() -> int { return 1 }'
cp plain.tfy before
run tfy fmt --check plain.tfy
check "--check ends with 1" ended 1
check "--check lists the file" printed_exactly plain.tfy
check "--check changes nothing" cmp -s before plain.tfy
run tfy fmt --diff plain.tfy
check "--diff shows the change" printed "+$formatted"
check "--diff changes nothing" cmp -s before plain.tfy
run sh -c 'tfy fmt - <plain.tfy'
check "standard input to standard output" printed_exactly "$formatted"
chmod 750 plain.tfy
ln -s plain.tfy link.tfy
run tfy fmt link.tfy
check "a file is written" ended 0
check "the text is the canonical one" test "$(cat plain.tfy)" = "$formatted"
check "its permissions are kept" test "$(stat -c %a plain.tfy)" = 750
check "a link stays a link" test -L link.tfy
check "nothing is left beside it" test "$(find . -name '*.tmp' | wc -l)" = 0
run tfy fmt --check plain.tfy
check "formatted once is formatted" ended 0

printf 'workflow  main( {\n' >broken.tfy
cp broken.tfy before
printf 'const  A = 1\n' >fine.tfy
run tfy fmt broken.tfy fine.tfy
check "a file with mistakes is refused" ended 65 "broken.tfy:1:"
check "and left alone" cmp -s before broken.tfy
check "the others are formatted" test "$(cat fine.tfy)" = "const A = 1"
run tfy fmt missing.tfy
check "a file that is not there" ended 69 "missing.tfy"
mkdir locked
cp before locked/x.tfy
printf 'const  A = 1\n' >locked/x.tfy
chmod 555 locked
if [ "$(id -u)" != 0 ]; then
    run tfy fmt locked/x.tfy
    check "a directory that cannot be written" ended 74 "cannot write"
fi
chmod 755 locked

run tfy fmt --check "$repository"/examples/*/*.tfy
check "the examples are formatted" ended 0

# Every program of the repository that can be parsed, and every snippet of the documents.
collect()
{
    mkdir all
    find "$repository/examples" "$repository/tests" -name '*.tfy' | while read -r file; do
        cp "$file" "all/$(echo "$file" | tr / _)" || return 1
    done
    for document in "$repository"/README.md "$repository"/docs/*.md; do
        name=$(basename "$document" .md)
        mkdir "blocks.$name"
        awk -v dir="blocks.$name" -f "$repository/tests/docs/blocks.awk" "$document"
        for block in "blocks.$name"/*.info; do
            case $(cat "$block") in tfy*) cp "${block%.info}.text" "all/$name.$(basename "$block" .info).tfy" ;; esac
        done
    done
}
check "all programs are found" collect
run tfy fmt all/*.tfy
check "no program is changed in its meaning" sh -c 'test "$1" != 70' sh "$status"
for file in all/*.tfy; do
    tfyc --dump ast "$file" >/dev/null 2>&1 && echo "$file"
done >parsed
check "most of them parse" test "$(wc -l <parsed)" -gt 100
run sh -c 'xargs tfy fmt --check <parsed'
check "formatted once, all are formatted" ended 0
check "and none is named" printed_exactly ""
