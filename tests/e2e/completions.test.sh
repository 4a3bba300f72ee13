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
for command in $(tfy --help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
    check "bash: the command $command" grep -qx -- "$command" commands
    words=$command
    [ "$command" != wal ] || words="wal export"
    # shellcheck disable=SC2086 # two words
    offers tfy $words - >options
    # shellcheck disable=SC2086
    tfy $words --help | sed -n 's/^  \(--*[a-zA-Z-]*\).*/\1/p' >told
    check "bash: the options of $command" sh -c 'test -s told && ! grep -vxFf options told'
done
tfyc --help | sed -n 's/^ *\(-[oI],*\).*/\1/p; s/^.* \(--[a-z-]*\)[ =].*/\1/p' | tr -d , | grep -v '^--$' | sort -u >told
offers tfyc - >options
check "bash: the options of tfyc" sh -c '! grep -vxFf options told'

touch 'a program.tfy' other.c
mkdir folder
check "bash: programs and directories" sh -c 'test "$1" = "$(printf "a program.tfy\nfolder")"' sh "$(offers tfy run '')"
check "bash: the words of an option" test "$(offers tfy graph --format d)" = dot
check "bash: a directory" test "$(offers tfy run -I '')" = folder
check "bash: a run" test "$(offers tfy inspect l)" = last
check "bash: the second word" test "$(offers tfy wal e)" = export
check "bash: nothing is known of a number" test -z "$(offers tfy kill --task 1)"
if command -v fish >/dev/null 2>&1; then
    check "fish: the words of an option" sh -c "fish -c 'source completions.fish; complete -C\"tfy graph --format d\"' | grep -q dot"
fi
