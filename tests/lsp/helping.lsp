# What helps while writing: the signature of a call, the edits that mistakes bring with them, colours, tests to run, and names in the workspace.
file lib/text.tfy <<
/// Lower case with dashes.
fn slug(s: string) -> string { return s.trim() }
type Slug { text: string }
>>
file node_modules/x/other.tfy <<
fn slug_of_others() -> int { return 1 }
>>
file .hidden/other.tfy <<
fn slug_of_tools() -> int { return 1 }
>>
send {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"workspaceFolders": [{"uri": "file:///", "name": "x"}]}}
read 1
open a.tfy <<
import "lib/text.tfy"
/// Asks git.
tool git(args: list<string>, limit: int = 3) -> string = exec ["git"].concat(args)
type Step { name: string, after: duration? }
error Broken { step: string }
enum Verdict { keep, redo(reason: string, times: int) }

workflow main(goal: string) -> int fails Broken {
    let words = ["a"]
    var total = 0
    let out = yield git(args: words, limit: 2)
    print("😀 ${out.replace("a", "b")} ${words.len()}")
    let v = Verdict.redo(reason: "x", times: 2)
    let s = Step(name: "n", after: 5s)
    if total > 3 { fail Broken("no", step: s.name) }
    match v {
        keep => print(goal)
        redo(why, _) => print(text.slug(why))
    }
    return total
}

test "it works" {
    mock git(_, _) => "x"
    assert true
}
test "so does 😀 this" { assert true }
>>
tokens a.tfy
lenses a.tfy
signature a.tfy 11:25
signature a.tfy 11:31
signature a.tfy 11:45
signature a.tfy 12:29
signature a.tfy 12:34
signature a.tfy 12:41
signature a.tfy 13:26
signature a.tfy 13:42
signature a.tfy 14:18
signature a.tfy 15:37
signature a.tfy 15:44
signature a.tfy 18:43
signature a.tfy 24:14
signature a.tfy 8:20
signature a.tfy 20:12
# half-written calls
change a.tfy 20:5-20:17 "total = yield git("
signature a.tfy 20:23
change a.tfy 20:5-20:23 "let x = words.join("
signature a.tfy 20:24
change a.tfy 20:5-20:24 "let x = git(args: [\"a\", "
signature a.tfy 20:29
signature a.tfy 20:17
change a.tfy 20:5-20:29 "let x = Step(name: text.slug(\"é"
signature a.tfy 20:36
signature a.tfy 20:18
change a.tfy 20:5-20:36 "nobody(1, "
signature a.tfy 20:15
change a.tfy 20:5-20:15 "fail Timeout("
signature a.tfy 20:18

# Every mistake here can be mended by the edit.
change a.tfy <<
error Broken { step: string }
enum Verdict { keep, redo(reason: string) }
tool git(args: list<string>, limit: duration? = null) -> string = exec ["git"].concat(args)
tool page(name: strng) -> string = exec ["cat", name] stdn "x"

fn half(x: float) -> int { return x }
fn whole(x: int) -> float { return x }
fn plain() { return "x" }

workflow main(goal: string) -> int {
    let words = ["a"]
    let total = 0
    var list = words
    total = 1
    list.push("b")
    let text = git(args: words)
    git(words)
    let other = yield git(arg: words, limit: 5)
    print(gaol)
    print("${words.lenn()} ${words.length}")
    let v = Verdict.kep
    let w = Verdict.keep()
    for i in total { print("${i}") }
    for line in goal { print(line) }
    let sure = total ?? 1
    let kept: string? = null
    print("${kept.len()} ${words?.len()}")
    let value: json = total
    let s: string = total
    let up = words.map(plain)
    match v {
        keep => print("x")
        rdo(why) => print(why)
    }
    try { yield } catch e: Brokn { print(e) }
    return total
}
>>
actions a.tfy 1:1-99:1
actions a.tfy 19:11-19:11
change a.tfy <<
workflow main() {
    let a = 1
    if a == 1 and a > 0 { print("x") }
    whlie a > 1 { yield }
    a == 2
}
fun f() -> int { return 1 }
>>
actions a.tfy 1:1-99:1
# What is written for nothing.
change a.tfy <<
workflow main(name: string = "x") {
    let a = 1
    var b = 1
    b = 2
    for i in 0..2 { print("x") }
}
>>
actions a.tfy 1:1-99:1
# Only what is asked for.
send {"jsonrpc": "2.0", "id": 80, "method": "textDocument/codeAction", "params": {"textDocument": {"uri": "file:///a.tfy"}, "range": {"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}}, "context": {"diagnostics": [], "only": ["refactor"]}}}
read 1

find slug
find sl
find w
find
find it
find zzz
send {"jsonrpc": "2.0", "id": 90, "method": "shutdown"}
send {"jsonrpc": "2.0", "method": "exit"}
end
