#!/bin/sh
# The manual pages: they hold every command and option of the help and what docs/runtime.md says of statuses and variables, and man accepts them.
. "$here/lib.sh"
top=$here/../..

# plain PAGE: its text without the marks of roff, each term and each heading on a line of its own.
plain()
{
    sed -e 's/^\.SS "\(.*\)"$/\1/' -e 's/\\f[BIR]//g' -e 's/\\-/-/g' -e 's/\\(dq/"/g' -e "s/\\\\(aq/'/g" -e 's/\\(ti/~/g' -e 's/\\(ha/^/g' \
        -e 's/\\(ga/`/g' -e 's/\\&//g' -e 's/\\e/\\/g' "$1"
}
for page in tfy tfyc; do
    plain "$build/$page.1" >$page.txt
    if command -v man >/dev/null 2>&1; then
        run env LC_ALL=C.UTF-8 MANROFFSEQ= MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$build/$page.1"
        check "man has nothing to say against $page.1" [ "$status" = 0 -a ! -s err ]
        rm out
    else
        echo "skipped: man is not installed, so nothing was asked of $page.1"
    fi
done

# What a command's own help says, in the section of that command.
tfy --help | sed -n 's/^  \(wal [a-z]*\|db [a-z]*\|mcp [a-z]*\|[a-z]*\) .*/\1/p' >names
check "there are commands" [ "$(wc -l <names)" -ge 35 ]
while read -r name; do
    # shellcheck disable=SC2086 # one word or two
    tfy $name --help >help
    usage=$(sed -n '1s/^usage: //p' help)
    check "tfy.1 has the usage of $name" grep -qxF -- "$usage" tfy.txt
    awk -v usage="$usage" '$0 == usage { on = 1; next } /^\.SH / || /^tfy .* \[options\]$/ { on = 0 } on' tfy.txt >section
    sed '1,2d; s/^  //; s/   *.*//; /^--help$/d' help >options
    missing=$(grep -vxFf section options)
    check "... and each of its options" [ -z "$missing" ]
done <names
tfyc --options >options
check "tfyc has options" [ "$(wc -l <options)" -gt 20 ]
awk -F '\t' '{ print ($1 != "" ? "-" $1 : "") ($1 != "" && $2 != "" ? ", " : "") ($2 != "" ? "--" $2 : "") ($3 != "" ? " " $3 : "") }' options >terms
while read -r term; do check "tfyc.1 has $term" grep -qxF -- "$term" tfyc.txt; done <terms

# What no table of the program says is that of the documents.
terms_of() { sed -n "/^## $1\$/,/^## /s/^| \([^|]*\) | [^|]* |\$/\1/p" "$top/docs/runtime.md" | grep -v -e '^---' -e '^status$' -e '^variable$' | tr -d '\140'; }
for part in "Exit statuses" Environment; do
    terms_of "$part" >terms
    check "docs/runtime.md has a table of $part" [ "$(wc -l <terms)" -ge 8 ]
    missing=$(grep -vxFf tfy.txt terms)
    check "tfy.1 has each row of it" [ -z "$missing" ]
done
