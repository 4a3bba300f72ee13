#!/bin/sh
# A tool that fails because of its sandbox says so, with what to type. The words are those of real programs.
. "$here/lib.sh"

mkdir outside work && echo hidden >outside/text && cd work && git init -q . && echo one >held
cat >fails.tfy <<'END'
sandbox listed {
    reads ["/var/lib", "/var/log", "/var/cache", "/var/spool"]
    network ["example.com:443"]
}

tool any(line: string) -> string idempotent = exec ["sh", "-c", line]
tool still(line: string) -> string idempotent sandbox readonly = exec ["sh", "-c", line]
tool web(line: string) -> string idempotent sandbox listed = exec ["sh", "-c", line]
tool result(line: string) -> ExecResult idempotent = exec ["sh", "-c", line]

workflow text(kind: string, line: string) -> string {
    if kind == "any" { return yield any(line) }
    if kind == "still" { return yield still(line) }
    if kind == "web" { return yield web(line) }
    var last = 0
    for i in 0..3 {
        let end = yield result(line)
        last = end.code
    }
    return "code ${last}"
}

workflow main(kind: string, line: string) -> string {
    try {
        return yield text(kind, line)
    } catch e: ToolError {
        return e.message
    }
}
END
out=$(cd ../outside && pwd -P)
try() { run tfy run fails.tfy --kind "$1" --line "$2"; }
says() { printed "the sandbox of '$1' may have refused this: it reads $2"; }
silent() { ! grep -q 'the sandbox of' out err; }
none="the working root; writes the working root; network none"

try any "cat $out/text"
check "a file outside: the error says what may be read, and what to type" says any "$none; --grant any:reads=$out/text\""
run tfy run fails.tfy --kind any --line "cat $out/text" --grant "any:reads=$out/text"
check "... and what it says works" printed '"hidden'
echo hidden >"$out/a b's"
try any "cat '$out/a b'\\''s'"
check "a path that a shell would cut is quoted" says any "$none; --grant 'any:reads=$out/a b'"
try any "echo x >$out/new"
check "a new file outside: its directory" says any "$none; --grant any:writes=$out\""
run tfy run fails.tfy --kind any --line "echo x >$out/new" --grant "any:writes=$out"
check "... and what it says works" ended 0
try any 'echo x >/etc/x'
check "the system can be granted to nobody" says any "$none\""
try any 'cat /proc/$PPID/environ'
check "nor can other processes" says any "$none\""
for path in /proc/sys /sys/kernel /boot /dev/null; do
    run tfy run fails.tfy --kind any --line true --grant "any:writes=$path"
    check "... even if it is said: $path" printed "'$path' is the system itself; a sandbox may not write there"
    run tfy sandbox --writes "$path" -- true
    check "... or tried: $path" ended 64 "'$path' is the system itself; a sandbox may not write there"
done
try any 'echo x >.git/config'
check "nor can what is protected" says any "$none\""
try still 'echo x >new'
check "nor the root of a readonly sandbox" says still 'the working root; writes nothing; network none"'
try any "python3 -c 'open(\"$out/text\")'"
check "python" says any "$none; --grant any:reads=$out/text\""
try any "echo 'int main(void) { return 0; }' | gcc -o $out/made -x c -"
check "gcc" says any "$none; --grant any:writes=$out\""
try any 'curl -sS http://example.com/'
check "curl" says any "$none; --grant any:network=HOST:PORT\""
try web 'curl -sSf http://example.com/'
check "a host that the proxy refused" printed "the sandbox of 'web' refused example.com:80: it reads the working root, /var/lib, /var/log, /var/cache and 1 more; writes the working root; network example.com:443; --grant web:network=example.com:80"
try result "cat $out/text"
check "an ExecResult stays as it is" printed_exactly '"code 1"'
check "... and people are told once, not for each of three" [ "$(grep -c "the sandbox of 'result' may have refused" err)" = 1 ]

try any 'cat /nowhere'
check "what exists nowhere was not refused" silent
try any 'cat /tmp/nowhere/at/all'
check "nor what would be in a directory that exists nowhere" silent
try any 'grep x missing'
check "nor what is missing in the root" silent
try any 'chmod 0 held; ./held'
check "nor what the root's own permissions refuse" silent
try any 'echo "all is well: permission denied is only a word" >&2; exit 0'
check "nor anything in a tool that succeeded" silent
try any 'echo "cannot find module x" >&2; exit 3'
check "nor a failure of another kind" silent
run tfy run fails.tfy --kind any --line "cat $out/missing" --sandbox open
check "without a sandbox nothing is said" silent

# With --escalate a person is asked while the call is under way.
cat >asks.tfy <<'END'
tool first(path: string) -> string pure = exec ["cat", "--", path]
tool second(path: string) -> ExecResult idempotent = exec ["sh", "-c", "cat \"$1\" \"$2\" >copy && cat copy", "sh", path, "${path}-2"]
tool third(path: string) -> string once = exec ["cat", "--", path]

workflow main(path: string) -> string {
    let a = yield first(path)
    let b = yield first(path)
    return a + b
}

workflow two(path: string) -> int {
    let end = yield second(path)
    return end.code
}

workflow single(path: string) -> string { return yield third(path) }

workflow again(path: string) -> string {
    let a = yield first(path)
    let go = yield approve("on?")
    let b = yield first(path)
    return "${a}${go}${b}"
}
END
tfy build asks.tfy -o asks
echo more >"$out/text-2"
# asked ANSWERS [WORD…]: runs it on a terminal; the screen without \r, the exit status in $status.
asked()
{
    typed=$1 status=0
    shift
    TERM=dumb TYPED=$typed timeout 60 python3 "$here/on_terminal.py" ./asks run --path "$out/text" --escalate "$@" >screen 2>err || status=$?
}
asks() { [ "$(grep -c '(once, this run, no) > ' screen)" = "$1" ]; }

asked "once
once"
check "once is for one call" test "$status" = 0
check "... so that the next one is asked about, too" asks 2
check "the question says what the sandbox allows, and what is asked for" \
    grep -q "May 'first' have reads=$out/text?" screen
run tfy inspect last
check "inspect shows what was granted, and by whom" grep -q "^granted    first:reads=$out/text (once, by " out
run ./asks replay last
check "it replays without a question" ended 0
asked "this run"
check "this run is for all calls of the tool" test "$status" = 0
check "... one question" asks 1
asked "what
no"
check "another word is no answer" grep -q "'what' is not an answer to this question; it takes one of: once, this run, no" screen
check "no: the call fails as it does without a question" grep -q -- "--grant first:reads=$out/text (asks.tfy:6)" screen
check "... once" test "$status" = 1
asked "once
once" --workflow two
check "one call may need two grants" asks 2
check "... and has both in the end" test "$status $(cat copy)" = "0 $(cat "$out/text" "$out/text-2")"
asked "no" --workflow single
check "of a once tool nobody is asked" asks 0
run ./asks run --path "$out/text" --escalate </dev/null
check "without a terminal" ended 64 "--escalate asks a person on a terminal, and there is none; --grant is the other way"

TERM=dumb TYPED="this run" python3 "$here/on_terminal.py" ./asks run --workflow again --path "$out/text" --escalate >screen 2>err &
terminal=$!
on_asked() { tfy inspect last | grep -q 'approve("on?")'; }
within 20 on_asked
kill -KILL "$terminal"
wait "$terminal" 2>/dev/null || true
within 20 tfy approve last --yes
run ./asks resume last </dev/null
check "a grant for the run holds after it was killed" printed_exactly '"hidden\ntruehidden\n"'
tfy fork last --at 2 >forked
run tfy resume last
check "... and in its forks" printed "hidden"
