#!/bin/sh
# Whatever the compiler is given, it answers within a second of its own time and 256 MiB. A build with sanitizers needs several times as
# much of both: there only the time is bounded, ten times as wide.
. "$here/lib.sh"
memory=262144
seconds=1
if ! (ulimit -v $memory && tfyc --version) >/dev/null 2>&1; then
    memory=unlimited
    seconds=10
fi

# bounded COMMAND…: like run, under the limits. A process that spends more than its seconds is killed by SIGXCPU or SIGKILL.
bounded()
{
    status=0
    (ulimit -v $memory && ulimit -t $seconds && exec timeout 120 "$@") >out 2>err </dev/null || status=$?
}
# repeat N TEXT: the text N times.
repeat() { awk -v n="$1" -v text="$2" 'BEGIN { for (i = 0; i < n; i++) printf "%s", text }'; }

# refuses NAME [MESSAGE]: input.tfy is refused in order. accepts NAME: it becomes C.
refuses()
{
    bounded tfyc --check input.tfy
    check "$1" ended 65 "${2:-error}"
}
accepts()
{
    bounded tfyc input.tfy -o input.c
    check "$1" ended 0
}

{ printf 'const A = '; repeat 1000000 '('; } >input.tfy
refuses "a million open brackets" "nested"
{ printf 'const A = '; repeat 1000000 '['; } >input.tfy
refuses "a million open lists" "nested"
{ printf 'fn f() { '; repeat 300000 'if x { '; } >input.tfy
refuses "300,000 open blocks" "nested"
{ printf 'fn f(x: '; repeat 300000 'list<'; } >input.tfy
refuses "300,000 open types" "nested"
{ printf 'const A = "'; repeat 100000 '${"'; } >input.tfy
refuses "100,000 open interpolations"
repeat 1000000 ')' >input.tfy
refuses "a million closing brackets"
repeat 100000 'let ' >input.tfy
refuses "100,000 reserved words"
{ printf 'const A = '; repeat 100000 '-'; printf '1\n'; } >input.tfy
refuses "100,000 signs"
{ printf 'const A = 1'; repeat 100000 ' + 1'; } >input.tfy
refuses "100,000 operators in one expression" "levels deep"
{ printf 'const A = a'; repeat 100000 '.a'; } >input.tfy
refuses "100,000 fields in one expression" "levels deep"
{ repeat 1000000 'a'; } >input.tfy
refuses "a name of a million letters"
{ printf 'const A = '; repeat 1000000 '9'; } >input.tfy
refuses "a number of a million digits"
{ printf 'const A = "'; repeat 500000 '\q'; printf '"\n'; } >input.tfy
refuses "half a million wrong escapes"
{ printf 'fn f(a: string) -> int {\n'; repeat 20000 '    let x = a + 1 + nope\n'; printf '    return 1\n}\n'; } >input.tfy
refuses "20,000 mistakes" "only the first 50 errors are shown"
head -c 1000000 /dev/urandom >input.tfy
refuses "a million bytes of noise"
awk 'BEGIN { for (i = 0; i < 20000; i++) printf "fn f%d() -> int { return g%d() }\n", i, i }' >input.tfy
refuses "20,000 unknown names"
awk 'BEGIN { for (i = 0; i < 10000; i++) printf "type T%d { next: T%d }\n", i, (i + 1) % 10000 }' >input.tfy
refuses "a circle of 10,000 records" "contains itself"
awk 'BEGIN { for (i = 0; i < 10000; i++) printf "const C%d = C%d\n", i, (i + 1) % 10000 }' >input.tfy
refuses "a circle of 10,000 constants"

awk 'BEGIN { for (i = 0; i < 5000; i++) printf "workflow w%d() { yield w%d() }\n", i, (i + 1) % 5000 }' >input.tfy
accepts "a circle of 5,000 workflows"
awk 'BEGIN { printf "enum E { c0"; for (i = 1; i < 3000; i++) printf ", c%d", i; printf " }\nfn f(e: E) -> int {\n    match e {\n"
    for (i = 0; i < 3000; i++) printf "        c%d => return %d\n", i, i; print "    }\n}" }' >input.tfy
accepts "a match of 3,000 cases"
awk 'BEGIN { print "type T {"; for (i = 0; i < 3000; i++) printf "    f%d: int = %d\n", i, i; print "}\nfn f() -> T { return T() }" }' >input.tfy
accepts "a record of 3,000 fields"
awk 'BEGIN { print "fn f(s: string?) -> int {"; for (i = 0; i < 5000; i++) printf "    let v%d = s\n    if v%d == null { return %d }\n", i, i, i
    print "    return 1\n}" }' >input.tfy
accepts "5,000 narrowed names"
awk 'BEGIN { print "workflow main() {\n    var x = 0"; for (i = 0; i < 5000; i++) printf "    x += 1\n    yield\n"; print "    print(\"${x}\")\n}" }' >input.tfy
accepts "5,000 yields in one workflow"
awk 'BEGIN { print "workflow main() {"; for (i = 0; i < 1500; i++) printf "    let v%d = yield llm(\"x\")\n", i
    printf "    print(\"\""; for (i = 0; i < 400; i++) printf " + v%d", i; print ")\n}" }' >input.tfy
accepts "1,500 values that live long"
awk 'BEGIN { print "workflow main() {"; for (i = 0; i < 60; i++) printf "%*stry {\n", i * 2, ""; print "yield"
    for (i = 0; i < 60; i++) print "} catch e { print(e.message) } finally { yield }"; print "}" }' >input.tfy
accepts "60 try blocks, one inside the other"
awk 'BEGIN { print "workflow main() {"; for (i = 0; i < 8000; i++) printf "    let v%d = %d\n", i, i; print "    let r = parallel { one: {"
    for (i = 0; i < 8000; i++) printf "        let u%d = v%d\n", i, 7999 - i; print "        give u0\n    } }\n    print(\"${r.one}\")\n}" }' >input.tfy
accepts "a body that takes 8,000 variables along"
awk 'BEGIN { print "workflow main() {\n    let r = parallel {"; for (i = 0; i < 2000; i++) printf "        b%d: { give %d }\n", i, i
    print "    }\n    print(\"${r.b0}\")\n}" }' >input.tfy
accepts "2,000 bodies side by side"
awk 'BEGIN { print "workflow main() {\n    let r = race {"; for (i = 0; i < 2000; i++) printf "        b%d: yield sleep(%ds)\n", i, i
    print "    }\n    match r {"; for (i = 0; i < 2000; i++) printf "        b%d => print(\"%d\")\n", i, i; print "    }\n}" }' >input.tfy
accepts "a race of 2,000"
awk 'BEGIN { print "workflow main() {"; for (i = 0; i < 3000; i++) printf "    let v%d = yield llm(\"x\") undo { print(v%d ?? \"\") } as \"l%d\"\n", i, i, i
    print "}" }' >input.tfy
accepts "3,000 steps that can be undone"
awk 'BEGIN { for (i = 0; i < 30; i++) printf "error E%d { }\n", i; for (i = 0; i < 1500; i++) {
    printf "workflow w%d(x: int) {\n    if x == %d { fail E%d(\"\") }\n    yield w%d(x)\n    yield w%d(x)\n}\n", i, i, i % 30, (i * 7 + 1) % 1500, (i * 13 + 5) % 1500 } }' >input.tfy
accepts "errors of 1,500 workflows that call each other"
awk 'BEGIN { for (i = 0; i < 3000; i++) printf "tool t%d(a: string) -> string once = exec [\"x\", \"${a}\"] probe p%d\ntool p%d(a: string, key: string) -> string? pure = exec [\"y\"]\n", i, i, i }' >input.tfy
accepts "6,000 tools"
awk 'BEGIN { print "fn f(x: int) -> int {"; for (i = 0; i < 90; i++) printf "if x > %d { ", i; printf "return 1"; for (i = 0; i < 90; i++) printf " }"; print "\nreturn 0 }" }' >input.tfy
accepts "90 blocks, one inside the other"
