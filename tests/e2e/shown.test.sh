#!/bin/sh
# Text from outside on a terminal: it is shown and not obeyed, whichever command prints it. Pipes and files get the bytes.
. "$here/lib.sh"
escape=$(printf '\033')
export TERM=xterm NO_COLOR=1
mkdir "a${escape}[5mb"
export TFY_DB="$PWD/a${escape}[5mb/runs.db"
cat >show.tfy <<'END'
tool say() -> string once = exec ["printf", "said \\033[7m \\342\\200\\256txet\\n"]

/// What can be made of text.
workflow main() -> string {
    let said = yield say()
    print("printed \u{1b}[31m${said}")
    log("logged \u{9b}31m")
    let yes = yield approve("asked \u{1b}]0;title\u{7}?", "details \u{1b}[2J\r\u{200b}")
    if !yes { fail ToolError("failed \u{1b}[41m\u{feff}", tool: "say", code: 1) }
    return "result \u{7f}\u{2066}"
}
END
tfy build show.tfy -o show

# shown COMMAND…: on a terminal; in ./screen with one kind of line end, the exit status in $status.
shown()
{
    status=0
    timeout 60 python3 "$here/on_terminal.py" "$@" >screen.raw 2>err || status=$?
    tr -d '\r' <screen.raw >screen
}
# harmless [TEXT…]: the terminal was sent nothing that it obeys, and these texts.
harmless()
{
    ! LC_ALL=C grep -q "[^[:print:][:space:]]" screen || { cat -v screen; return 1; }
    for text in "$@"; do
        grep -qF -- "$text" screen || { echo "not shown: $text"; cat screen; return 1; }
    done
}

TERM=dumb TYPED=y shown ./show
check "a run ends well on a terminal" [ "$status" = 0 ]
check "print, and what a tool said" harmless 'printed \u{1b}[31msaid \u{1b}[7m \u{202e}txet'
check "log" harmless 'logged \u{9b}31m'
check "a question and its details" harmless 'asked \u{1b}]0;title\u{7}?' 'details \u{1b}[2J\r\u{200b}'
check "the result" harmless 'result \u{7f}\u{2066}'
TERM=dumb TYPED=n shown ./show
check "a failure" harmless 'failed \u{1b}[41m\u{feff}'

shown tfy inspect last
check "inspect" harmless 'asked \u{1b}]0;title\u{7}?'
shown tfy inspect last --output
check "inspect --output" harmless 'printed \u{1b}[31msaid'
shown tfy output last
check "output" harmless 'printed \u{1b}[31msaid \u{1b}[7m \u{202e}txet'
shown tfy tasks last
check "tasks" harmless 'main'
shown tfy diff 1 2
check "diff" harmless 'failed \u001b[41m\u{feff}'
shown tfy stats
check "stats" harmless
shown env LC_ALL=C tfy timeline last
check "timeline" harmless 'main'
shown env LC_ALL=C tfy history last
check "history" harmless 'asked \u{1b}]0;title\u{7}?' 'printed \u{1b}[31msaid'
shown tfy ps
check "ps" harmless 'main'
shown tfy result last
check "result of a failed run" harmless 'failed \u{1b}[41m\u{feff}'
shown tfy doctor
check "doctor, with the database's name" harmless 'a\u{1b}[5mb/runs.db'
shown tfy inspect "no${escape}[1mrun"
check "an error that quotes a word" harmless 'no\u{1b}[1mrun'
shown tfy "in${escape}[1mspect"
check "... or a command" harmless 'in\u{1b}[1mspect'

# The compiler: names of files, and what stands in them.
cp show.tfy "na${escape}[5mme.tfy"
printf 'workflow main() {\n    let \303\244 = "\033[31m\342\200\256" + 1\n}\n' >"na${escape}[5mme.tfy"
shown tfyc --check "na${escape}[5mme.tfy"
sed -i 's/\xc3\xa4/a/g' screen
check "tfyc: a mistake in a file" harmless 'na\u{1b}[5mme.tfy:2:' '\u{1b}[31m\u{202e}'
shown tfyc --check "no${escape}[5mne.tfy"
check "tfyc: a file that is not there" harmless 'no\u{1b}[5mne.tfy'
shown env -u NO_COLOR tfyc --check "na${escape}[5mme.tfy"
check "its own colours reach the terminal" grep -qF "${escape}[1;31merror:${escape}[0m" screen
check "... and nothing else does" sh -c 'sed "s/$1\[[0-9;]*m//g; s/\xc3\xa4/a/g" screen.raw | tr -d "\r" >screen; ! LC_ALL=C grep -q "[^[:print:][:space:]]" screen && grep -qF "a\\u{1b}[5mme" screen' sh "$escape"

# Pipes and files: every byte as it is.
printf 'printed \033[31msaid \033[7m \342\200\256txet\n\n' >expected
run tfy output last
check "into a file go the bytes" cmp expected out
tfy output last 2>err | cat >out
check "into a pipe too" cmp expected out
start ./show
within 20 grep -q 'asked' err
tfy approve last --yes 2>err2
finish
check "of a program as well" sh -c 'head -n 2 out | cmp - expected'
check "its messages too" sh -c 'grep -qF "$(printf "asked \033]0;title\007?")" err'
