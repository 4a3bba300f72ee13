# Odd but lawful: URIs with escapes and of other schemes, a document opened twice, line ends of Windows, mistakes two files away.
file deep.tfy <<
fn f() -> int { return "x" }
>>
file middle.tfy <<
import "deep.tfy" as deep
fn g() -> int { return deep.f() }
>>
send {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
read 1
send {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": {"uri": "untitled:Untitled-1", "version": 1, "text": "fn f() -> int { return g() }"}}}
read 1
send {"jsonrpc": "2.0", "id": 2, "method": "textDocument/definition", "params": {"textDocument": {"uri": "untitled:Untitled-1"}, "position": {"line": 0, "character": 3}}}
read 1
send {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": {"uri": "file:///a%20b%2etfy", "version": 1, "text": "const A = 1\r\nconst B = A\r\nconst C = nope\r\n"}}}
read 1
send {"jsonrpc": "2.0", "id": 4, "method": "textDocument/hover", "params": {"textDocument": {"uri": "file:///a%20b%2etfy"}, "position": {"line": 1, "character": 99}}}
send {"jsonrpc": "2.0", "id": 5, "method": "textDocument/hover", "params": {"textDocument": {"uri": "file:///a%20b%2etfy"}, "position": {"line": 1, "character": "x"}}}
send {"jsonrpc": "2.0", "id": 6, "method": "textDocument/hover", "params": {"textDocument": {"uri": "file:///a%20b%2etfy"}, "position": {"line": 1}}}
send {"jsonrpc": "2.0", "id": 7, "method": "textDocument/completion", "params": {}}
send {"jsonrpc": "2.0", "id": 8, "method": "textDocument/formatting", "params": {}}
send {"jsonrpc": "2.0", "id": 9, "method": "textDocument/definition", "params": {}}
send {"jsonrpc": "2.0", "id": 10, "method": "textDocument/didOpen", "params": {}}
read 7
# opened again with another text, which is then one it was told of; URIs that decode to nothing sensible
send {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": {"uri": "file:///a%20b%2etfy", "version": 2, "text": "import \"middle.tfy\" as me\n"}}}
read 1
send {"jsonrpc": "2.0", "method": "textDocument/didClose", "params": {"textDocument": {"uri": "file:///a%20b%2etfy"}}}
read 1
send {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": {"uri": "file://host", "version": 1, "text": "const A = 1\n"}}}
send {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": {"uri": "FILE:///%zz%4Z%00%C3%A9", "version": 1}}}
send {"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {"textDocument": {"uri": "file://host", "version": 2}, "contentChanges": [{"text": 5}]}}
send {"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {"textDocument": {"uri": "file://host", "version": 3}, "contentChanges": [{"text": "x", "range": {}}]}}
send {"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {"textDocument": {"uri": "file://host", "version": 3}, "contentChanges": [{"text": "x", "range": {"start": {"line": 0, "character": -1}, "end": {"line": 0, "character": 1}}}]}}
send {"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {"textDocument": {"uri": "file://host", "version": 4}, "contentChanges": [{"text": "const A = 1\n"}, {"text": "2", "range": {"start": {"line": 0, "character": 10}, "end": {"line": 0, "character": 11}}}, {"text": "nope + ", "range": {"start": {"line": 0, "character": 10}, "end": {"line": 0, "character": 10}}}]}}
read 1
# a mistake two files away is told at the import that leads there
open main.tfy <<
import "middle.tfy" as middle
fn h() -> int { return middle.g() }
>>
definition main.tfy 2:32
# a narrowed name keeps its declared type beside the one it has here; what is not understood is nothing
change main.tfy <<
type T { next: T?, name: string }
fn last(t: T) -> string {
    if t.next == null { return t.name }
    return t.next.name.zzz.yyy
}
fn more(xs: list<T>, m: map<string, int>) -> list<string> {
    let names = xs.map(x => x.name)
    let all = { "a": 1, ["b"]: m["c"] }
    let t: T = { next: null, name: "n" }
    for key, value in all { let sum = value + all[key] }
    return if names.len() > 1 { names } else { [t.name] }
}
>>
hover main.tfy 4:14
hover main.tfy 4:19
hover main.tfy 4:24
hover main.tfy 7:25
hover main.tfy 7:29
hover main.tfy 8:32
hover main.tfy 9:18
hover main.tfy 10:14
hover main.tfy 10:51
hover main.tfy 11:33
hover main.tfy 11:51
complete main.tfy 10:29 v
complete main.tfy 7:31 na
send {"jsonrpc": "2.0", "id": 99, "method": "shutdown"}
send {"jsonrpc": "2.0", "method": "textDocument/didClose", "params": {"textDocument": {"uri": "file://host"}}}
end
