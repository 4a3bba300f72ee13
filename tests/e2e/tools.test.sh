#!/bin/sh
# Tools that misbehave.
. "$here/lib.sh"
cat >tools.tfy <<'END'
tool call(argv: list<string>) -> ExecResult idempotent = exec argv

/// Runs a command and tells what it gave.
workflow main(argv: list<string>, bound: duration = 20s) -> string {
    try {
        let r = yield call(argv) timeout bound
        return "code ${r.code}, ${r.out.len()} out, truncated ${r.truncated}, lossy ${r.lossy}"
    } catch _: Timeout {
        return "timeout"
    } catch e: ToolError {
        return "error: ${e.message}"
    }
}

workflow files(path: string) -> string {
    try {
        let text = yield read_file(path)
        return text
    } catch e {
        return "error: ${e.message}"
    }
}
END
tool() { run tfy run tools.tfy "$@"; }
tool --argv '["true"]'
check "a tool" printed_exactly '"code 0, 0 out, truncated false, lossy false"'
tool --argv '["sh", "-c", "exit 3"]'
check "an exit code" printed "code 3"
tool --argv '["no-such-tool"]'
check "a tool that is missing" printed "error: "
check "... is named" printed "no-such-tool"
tool --argv '[]'
check "no command at all" printed "error: "
tool --argv '["sleep", "60.0417"]' --bound 300ms
check "a tool that hangs" printed_exactly '"timeout"'
check "... is gone" sh -c '! pgrep -fx "sleep 60.0417"'
tool --argv '["sh", "-c", "trap \"\" TERM; sleep 61.0417 & sleep 61.0417"]' --bound 300ms
check "a tool that ignores SIGTERM and leaves grandchildren" printed_exactly '"timeout"'
check "... all gone" within 5 sh -c '! pgrep -fx "sleep 61.0417"'
tool --argv '["sh", "-c", "head -c 200000000 /dev/zero"]'
check "200 MB of output" printed "truncated true"
tool --argv '["printf", "\\377\\376"]'
check "invalid UTF-8" printed "lossy true"
tool --argv '["cat"]'
check "no input" printed "code 0, 0 out"
tool --workflow files --path ../secret
check "a file outside the root" printed "error: "
mkdir inside && echo text >inside/a
tool --root inside --workflow files --path a
check "a file in the root" printed_exactly '"text\n"'
run tfy run tools.tfy --root nowhere --argv '["true"]'
check "a root that is not there" [ "$status" != 0 ]
check "... is named" grep -q nowhere err

# The root disappears while the run is under way.
cat >gone.tfy <<'END'
workflow main() -> string {
    print("begun")
    yield sleep(1s)
    try {
        let text = yield read_file("a")
        return text
    } catch _: ToolError {
        return "error"
    }
}
END
mkdir vanishing && echo text >vanishing/a
start tfy run gone.tfy --root vanishing
within 20 grep -q begun out
rm -rf vanishing
finish
check "a root that disappears is a ToolError" printed '"error"'

# A text from outside would be an option of the program.
cat >words.tfy <<'END'
tool said(text: string) -> string pure = exec ["printf", "%s", text]
tool touched(name: string) -> ExecResult once = exec ["touch", name]
tool safe(name: string) -> ExecResult once = exec ["touch", "--", name]

workflow main(text: string) {
    let name = yield said(text)
    yield safe(name)
    yield touched(name)
}

workflow trusted(text: string) { yield touched(text) }
END
mkdir words
run tfy run words.tfy --text=--version --root words
check "a word that would be an option" ended 1 "'touched' was not started: 'name' begins with '-' and would be read as an option; put \"--\" before it (words.tfy:8)"
check "behind -- it is a word" test -e words/--version
run tfy replay last
check "it replays" ended 0
run tfy run words.tfy --text=-- --root words
check "-- itself is one" ended 1 "'touched' was not started"
run tfy run words.tfy --text=plain --root words
check "another word is none" test "$status" = 0 -a -e words/plain
run tfy run words.tfy --workflow trusted --text=--version --root words
check "a person gives what a person likes" test "$status" = 0
"$build/tfyc" --no-warnings --no-line words.tfy -o words.c
check "the words stand at their points, and nowhere else" test "$(grep -c 'TfyWord' words.c) $(grep -c '{{1, .*name.*, false}, {0, NULL, false}}' words.c)" = "1 1"
