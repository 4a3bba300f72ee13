# The wire and the documents, seldom ways: heads with other blanks and line ends, odd escapes, messages that nobody sends.
raw "content-length:   46  \n\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}"
read 1
raw "Content-Type: x\nContent-Length: 55\n\r\n{\"jsonrpc\":\"2.0\",\"id\":\"two\",\"method\":\"nothing/at/all\"}  "
read 1
raw "Content-Length: \r\n\r\nContent-Length: 2x\r\n\r\nContent-Length: 99999999999 \r\n\r\n"
read 3
send {"jsonrpc": "2.0", "id": 3, "error": {"code": 1, "message": "x"}}
send {"jsonrpc": "2.0", "id": 3, "method": 5}
send {"jsonrpc": "2.0", "method": 5}
send {"jsonrpc": "2.0", "id": null, "method": "shutdown"}
send "text"
send {"jsonrpc": "2.0", "method": "shutdown"}
send {"jsonrpc": "2.0", "method": "initialized", "params": {}}
send {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {}}
send {"jsonrpc": "2.0", "method": "$/cancelRequest"}
send {"jsonrpc": "2.0", "id": 4, "method": "$/nothing"}
read 6
# escapes of every kind in a URI, with a text and without
send {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": {"uri": "file:///a%2Fb%2g%gg%3A%7e%00%4.tfy", "text": "const A = nope\n", "version": 1}}}
read 1
send {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": {"text": "const A = 1\n"}}}
send {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": {"uri": "untitled:x"}}}
send {"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {"textDocument": {"uri": "file:///a%2Fb%2g%gg%3A%7e%00%4.tfy", "version": 2}, "contentChanges": []}}
send {"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {"textDocument": {"uri": "file:///a%2Fb%2g%gg%3A%7e%00%4.tfy", "version": 2}, "contentChanges": [{}]}}
send {"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {"textDocument": {"uri": "file:///a%2Fb%2g%gg%3A%7e%00%4.tfy", "version": 2}, "contentChanges": [{"text": "x", "range": {"start": {"line": 0, "character": 5}, "end": {"line": 0, "character": 2}}}]}}
send {"jsonrpc": "2.0", "method": "textDocument/didClose", "params": {"textDocument": {"uri": "file:///nowhere.tfy"}}}
send {"jsonrpc": "2.0", "id": 5, "method": "textDocument/documentSymbol", "params": {"textDocument": {"uri": "file:///a%2Fb%2g%gg%3A%7e%00%4.tfy"}}}
send {"jsonrpc": "2.0", "id": 6, "method": "textDocument/completion", "params": {"textDocument": {"uri": "file:///a%2Fb%2g%gg%3A%7e%00%4.tfy"}}}
read 2
# a file that cannot be read, a directory, one imported under two names, one with mistakes beside one without
file good.tfy <<
fn f() -> int { return 1 }
>>
file bad.tfy <<
fn g() -> int { return "x" }
>>
open main.tfy <<
import "good.tfy" as one
import "./good.tfy" as two
import "bad.tfy" as bad
import "." as here
fn h() -> int { return one.f() + two.f() + bad.g() }
>>
close main.tfy
# line ends of every kind, characters outside the plane, a carriage return alone
send {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": {"uri": "untitled:ends", "version": 1, "text": "const A = 1\rconst B = \"𝄞é\"\r\nconst C = A\r"}}}
send {"jsonrpc": "2.0", "id": 8, "method": "textDocument/hover", "params": {"textDocument": {"uri": "untitled:ends"}, "position": {"line": 1, "character": 6}}}
send {"jsonrpc": "2.0", "id": 9, "method": "textDocument/hover", "params": {"textDocument": {"uri": "untitled:ends"}, "position": {"line": 0, "character": 27}}}
send {"jsonrpc": "2.0", "id": 10, "method": "textDocument/formatting", "params": {"textDocument": {"uri": "untitled:ends"}}}
read 4
send {"jsonrpc": "2.0", "id": 11, "method": "shutdown"}
send {"jsonrpc": "2.0", "id": 12, "method": "textDocument/hover", "params": {}}
send {"jsonrpc": "2.0", "method": "textDocument/didClose", "params": {"textDocument": {"uri": "untitled:ends"}}}
read 2
send {"jsonrpc": "2.0", "method": "exit"}
end
