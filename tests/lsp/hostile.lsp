# What a server must survive: heads and bodies that make no sense, pieces, cancellation, ranges beyond the text.
raw "Content-Length: abc\r\n\r\n{}"
raw "Content-Length: 52\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n"
raw "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}      "
read 3
# not JSON, not an object, no method, a wrong id, an answer to nothing
send {"jsonrpc": "2.0", "id": 
send [1, 2]
send {"jsonrpc": "2.0", "id": 7}
send {"jsonrpc": "2.0", "id": 7.5, "method": "shutdown"}
send {"jsonrpc": "2.0", "id": 7, "result": null}
read 4
# a head that never ends, one with two lengths, one that is negative, one that is absurd
fill 5000 x
raw "\r\n\r\n"
read 2
raw "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}Content-Length: -5\r\n\r\nContent-Length: 99999999999999999999\r\n\r\n"
send {"jsonrpc": "2.0", "id": 8, "method": "nothing"}
read 5
# a body of nine million bytes is passed over
raw "Content-Length: 9000000\r\n\r\n"
fill 900000 0123456789
send {"jsonrpc": "2.0", "id": 9, "method": "nothing"}
read 2
# a body nested too deep
raw "Content-Length: 100000\r\n\r\n"
fill 100000 [
read 1
# requests whose parameters make no sense
send {"jsonrpc": "2.0", "id": 10, "method": "textDocument/hover"}
send {"jsonrpc": "2.0", "id": 11, "method": "textDocument/hover", "params": {"textDocument": {"uri": "file:///absent"}, "position": {"line": 0, "character": 0}}}
send {"jsonrpc": "2.0", "id": 12, "method": "textDocument/documentSymbol", "params": [1]}
send {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": {"uri": 5}}}
send {"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {}}
send {"jsonrpc": "2.0", "method": "textDocument/didClose", "params": {}}
send {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 999}}
send {"jsonrpc": "2.0", "method": "unheardOf/notification", "params": {}}
read 3
# two messages at once, of which the second is cancelled before its turn
open a.tfy <<
workflow main() { print("x") }
>>
send {"jsonrpc": "2.0", "id": 20, "method": "textDocument/hover", "params": {"textDocument": {"uri": "file:///a.tfy"}, "position": {"line": 0, "character": 19}}}
send {"jsonrpc": "2.0", "id": 21, "method": "textDocument/documentSymbol", "params": {"textDocument": {"uri": "file:///a.tfy"}}}
send {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 21}}
read 2
# positions beyond the text are its end, negative ones are none; a range that ends before it begins changes nothing
hover a.tfy 1:99999
hover a.tfy 99999:1
hover a.tfy 0:1
send {"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {"textDocument": {"uri": "file:///a.tfy"}, "contentChanges": [{"range": {"start": {"line": 0, "character": 9}, "end": {"line": 0, "character": 1}}, "text": "gone"}]}}
change a.tfy 99:1-99:1 "workflow main() { }"
send {"jsonrpc": "2.0", "id": 30, "method": "textDocument/documentSymbol", "params": {"textDocument": {"uri": "file:///a.tfy"}}}
read 1
# NUL, half a pair
change a.tfy 1:1-2:1 "\u0000"
change a.tfy 1:1-1:2 "let x = “quotes”"
# Requests whose parameters make no sense.
send {"jsonrpc": "2.0", "id": 300, "method": "textDocument/rename", "params": {"textDocument": {"uri": "file:///a.tfy"}, "position": {"line": 0, "character": 9}}}
send {"jsonrpc": "2.0", "id": 301, "method": "textDocument/rename", "params": {"textDocument": {"uri": "file:///a.tfy"}, "position": {"line": 0, "character": 9}, "newName": 5}}
send {"jsonrpc": "2.0", "id": 302, "method": "textDocument/rename", "params": {"textDocument": {"uri": "file:///a.tfy"}, "position": {"line": 0, "character": 9}, "newName": "a\u0000b"}}
send {"jsonrpc": "2.0", "id": 303, "method": "textDocument/rename", "params": {"textDocument": {"uri": "file:///a.tfy"}, "newName": "x"}}
send {"jsonrpc": "2.0", "id": 304, "method": "textDocument/prepareRename", "params": {"textDocument": {"uri": "file:///a.tfy"}, "position": {"line": -1, "character": 0}}}
send {"jsonrpc": "2.0", "id": 305, "method": "textDocument/references", "params": {"textDocument": {"uri": "file:///a.tfy"}, "position": {"line": 0, "character": 9}, "context": 7}}
send {"jsonrpc": "2.0", "id": 306, "method": "textDocument/references", "params": []}
send {"jsonrpc": "2.0", "id": 307, "method": "textDocument/signatureHelp", "params": {"textDocument": {"uri": "file:///a.tfy"}}}
send {"jsonrpc": "2.0", "id": 308, "method": "textDocument/codeAction", "params": {"textDocument": {"uri": "file:///a.tfy"}, "range": {"start": {"line": 5, "character": 0}}}}
send {"jsonrpc": "2.0", "id": 309, "method": "textDocument/codeAction", "params": {"textDocument": {"uri": "file:///a.tfy"}, "range": {"start": {"line": 9, "character": 9}, "end": {"line": 0, "character": 0}}, "context": {"only": [1, {}]}}}
send {"jsonrpc": "2.0", "id": 310, "method": "textDocument/codeLens", "params": null}
send {"jsonrpc": "2.0", "id": 311, "method": "textDocument/semanticTokens/full", "params": {"textDocument": {"uri": 1}}}
send {"jsonrpc": "2.0", "id": 312, "method": "textDocument/semanticTokens/full", "params": {"textDocument": {"uri": "file:///other.tfy"}}}
send {"jsonrpc": "2.0", "id": 313, "method": "workspace/symbol", "params": {"query": ["a"]}}
read 14
# a body that is cut off by the end of the input
raw "Content-Length: 500\r\n\r\n{\"jsonrpc\""
end
