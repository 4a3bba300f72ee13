#!/bin/sh
# Tests and mocks in the language: what they mean (the interpreter of tests/interp says so too), and what `tfy test` tells of them: to people,
# as TAP, as JSON lines. UPDATE=1 writes the expected report anew; read the diff.
. "$here/lib.sh"
cp "$here"/mocks/*.tfy .

# ---- what they mean ----

run tfy test meaning.tfy --tap
check "meaning: some fail" ended 1
check "meaning: TAP says its version" [ "$(head -n 1 out)" = "TAP version 14" ]
check "meaning: TAP counts" [ "$(tail -n 1 out)" = "1..$(grep -c '^ok \|^not ok ' out)" ]
check "meaning: every test comes out as its name says" sh -c \
    '! grep -E "^ok [0-9]+ - meaning.tfy: failed|^not ok [0-9]+ - meaning.tfy: ok" out'
# ok NAME, and failed NAME: MESSAGE without what is told of the call that nobody answered
sed -n -e 's/^ok [0-9]* - meaning.tfy: /ok /p' -e 's/^not ok [0-9]* - meaning.tfy: /failed /p' -e 's/^  message: /: /p' out |
    awk '/^: / { message = substr($0, 4, length($0) - 4); gsub(/\\"/, "\"", message); sub(/^no mock answers [a-z]*/, "&\n", message)
                 sub(/\n.*/, "", message); last = last ": " message; next }
         NR > 1 { print last } { last = $0 } END { print last }' >compiled
"$build/tests/interp/interp" meaning.tfy --tests >interpreted
check "meaning: the interpreter says the same" diff interpreted compiled

# ---- answers that take time ----

run tfy test late.tfy --tap
check "late: every test comes out as its name says" sh -c \
    '! grep -E "^ok [0-9]+ - late.tfy: failed|^not ok [0-9]+ - late.tfy: [^f]" out && grep -q "^1..13$" out'
check "late: a wait without an end is told" printed "waits for approve in line"
check "late: ... that of a workflow too" printed "waits for slow in line"
cat >wrong.tfy <<'END'
workflow main() { yield approve("x") }
test "late" {
    mock approve(_) => after 3 => true
    mock approve(_) => after 3s
    yield main()
}
test "late" {
    mock approve(_) => never true
}
END
run tfy check wrong.tfy
check "late: an answer is behind the delay" ended 65 "unexpected 'yield'; expected '=>'"
check "late: never is all" ended 65 "wrong.tfy:8:30: error: unexpected 'true'; expected end of line"
cat >wrong.tfy <<'END'
workflow main() { yield approve("x") }
test "late" {
    mock approve(_) => after 3 => true
    yield main()
}
END
run tfy check wrong.tfy
check "late: the delay is a duration" ended 65 "wrong.tfy:3:30: error: expected duration, got int"

# ---- what is told ----

run tfy test report.tfy
[ "${UPDATE:-}" != 1 ] || cp out "$here/mocks/report.expected"
check "report: fails" ended 1
check "report: says what it did" diff "$here/mocks/report.expected" out
check "report: says nothing else" [ ! -s err ]
run tfy test report.tfy --filter passes
check "filter: what passes passes" ended 0
check "filter: only that" printed "1 test: 1 passed, 0 failed"
run tfy test report.tfy --filter passes -v
check "verbose: what was answered and printed" sh -c 'grep -q "^        touch(\"b\")$" out && grep -q "^        well$" out'
run tfy test report.tfy --filter nothing
check "filter: nothing is not passed" ended 65 "no test has 'nothing' in its name"
run tfy test report.tfy --filter answered --json
check "json: a line for each test, and one for all" [ "$(wc -l <out)" = 2 ]
check "json: what failed" printed '"test":"what was answered and printed"'
check "json: why" printed '"message":"assertion failed: calls(touch) == 3"'
check "json: the values" printed '"left":"2","right":"3"'
check "json: the sum" printed '{"tests":1,"passed":0,"failed":1}'

# ---- several files, and files that are no programs ----

mkdir lib
cat >lib/text.tfy <<'END'
tool up(s: string) -> string pure = exec ["tr", "a-z", "A-Z"] stdin "${s}"

workflow shout(s: string) -> string {
    let t = yield up(s)
    assert t != "B"
    return "${t}!"
}

test "its own" {
    mock up(_) => "x"
    let s = yield shout("a")
    assert s == "x!"
}
END
cat >several.tfy <<'END'
import "lib/text.tfy" as text

test "what is imported is mocked by its full name" {
    mock text.up("a") => "A"
    let r = parallel { x: yield text.shout("a"), y: yield text.shout("a") }
    assert r.x == r.y
    assert calls(text.up) == 2
}

test "a failure elsewhere is shown there" {
    mock text.up(_) => "B"
    yield text.shout("a")
}
END
run tfy test several.tfy lib/text.tfy
check "several: one failed" ended 1
check "several: tests of a file are run for that file alone" printed "3 tests: 2 passed, 1 failed"
check "several: the failing line is the other file's" printed "lib/text.tfy:5: assertion failed: t != \"B\""
echo 'test "a" {' >broken.tfy
run tfy test broken.tfy several.tfy --filter imported
check "broken: the other files are run" printed "1 test: 1 passed, 0 failed"
check "broken: status 65" ended 65 "broken.tfy:"
run tfy test missing.tfy
check "missing: status 69" ended 69 "missing.tfy"
run tfy test
check "no file: those of the directory, without the ones that have no tests" printed "meaning.tfy"
echo 'workflow main() { print("a") }' >none.tfy
run tfy test none.tfy
check "no tests: status 65" ended 65 "there are no tests"

# ---- the compiled program without its tests ----

run tfyc several.tfy -o plain.c
check "plain: tests are not in the program" sh -c '! grep -q "tfy_mock(" plain.c'
run tfyc several.tfy --tests -o tests.c
check "tests: tests are" grep -q "tfy_mock(" tests.c

# ---- the examples ----

# With sanitizers their compilation takes longer than all the rest, and the programs are run that way elsewhere.
case " ${CFLAGS:-} " in
*sanitize*) ;;
*)
    cp -r "$EXAMPLES" examples
    run tfy test examples/*/*.tfy
    check "examples: all tests pass" ended 0
    check "examples: there are tests" grep -q " passed, 0 failed$" out
    ;;
esac
