#!/bin/sh
# Completions for shells: every command and every option that --help shows is offered, in bash by running it.
. "$here/lib.sh"

for shell in bash zsh fish; do
    run tfy completions $shell
    check "completions for $shell" ended 0
    cp out completions.$shell
    if command -v $shell >/dev/null 2>&1; then check "$shell can read them" $shell -n completions.$shell; fi
done
run tfy completions csh
check "other shells are refused" ended 64 "not for 'csh'"

# offers WORD…: what bash offers for the last word, which may be empty.
cat >offers.bash <<'END'
source ./completions.bash
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_$1
printf '%s\n' "${COMPREPLY[@]}"
END
offers() { bash offers.bash "$@"; }

offers tfy '' >commands
{ offers tfy wal ''; offers tfy mcp ''; offers tfy db ''; } >seconds
check "tfy --help lists eleven commands of two words" [ "$(tfy --help | grep -cE '^  (wal|mcp|db) ')" = 11 ]
tfy --help | sed -n 's/^  \(wal [a-z]*\|db [a-z]*\|mcp [a-z]*\|[a-z]*\) .*/\1/p' >names
while read -r first second; do
    check "bash: the command $first" grep -qx -- "$first" commands
    [ -z "$second" ] || check "bash: the command $first $second" grep -qx -- "$second" seconds
    # shellcheck disable=SC2086 # one word or two
    offers tfy $first $second - >options
    # shellcheck disable=SC2086
    tfy $first $second --help | sed -n 's/^  \(--*[a-zA-Z-]*\).*/\1/p' >told
    check "bash: the options of $first $second" sh -c 'test -s told && sort -u told >want && sort -u options | cmp - want'
done <names
check "bash: a command is offered once" sh -c '! sort commands | uniq -d | grep .'
tfyc --help | sed -n 's/^ *\(-[oI],*\).*/\1/p; s/^.* \(--[a-z-]*\)[ =].*/\1/p' | tr -d , | grep -v '^--$' | sort -u >told
offers tfyc - >options
check "bash: the options of tfyc" sh -c '! grep -vxFf options told'

touch 'a program.tfy' other.c
mkdir folder
check "bash: programs and directories" sh -c 'test "$1" = "$(printf "a program.tfy\nfolder")"' sh "$(offers tfy run '')"
check "bash: the words of an option" test "$(offers tfy graph --format d)" = dot
check "bash: a directory" test "$(offers tfy run -I '')" = folder
check "bash: a run" test "$(offers tfy inspect l)" = last
check "bash: the second word" sh -c 'test "$1 $2" = "export import"' sh "$(offers tfy wal e)" "$(offers tfy wal i)"
check "bash: nothing is known of a number" test -z "$(offers tfy kill --task 1)"
for shell in zsh fish; do
    check "$shell: commands of two words" \
        sh -c 'grep -q "wal.*export" "$1" && grep -q "wal.*import" "$1" && grep -q "mcp.*pull" "$1"' sh completions.$shell
done
if command -v fish >/dev/null 2>&1; then
    check "fish: the words of an option" sh -c "fish -c 'source completions.fish; complete -C\"tfy graph --format d\"' | grep -q dot"
fi
