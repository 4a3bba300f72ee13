# The life of a server: what comes before initialize is refused, what comes after shutdown too.
send {"jsonrpc": "2.0", "id": 1, "method": "textDocument/hover", "params": {}}
send {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {}}
read 1
send {"jsonrpc": "2.0", "id": 2, "method": "initialize", "params": {"capabilities": {}, "processId": null, "rootUri": null}}
send {"jsonrpc": "2.0", "method": "initialized", "params": {}}
read 1
send {"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": {}}
send {"jsonrpc": "2.0", "id": "four", "method": "textDocument/unheardOf", "params": {}}
read 2

# Diagnostics while typing, with hints and second places.
open a.tfy <<
type Step { name: string }

workflow main() -> string {
    let step = Step(name: "a")
    return step.nmae
}
>>
change a.tfy 5:17-5:21 "name"
change a.tfy 4:27-4:30 "\"😀\", nmae: 1"
change a.tfy <<
workflow main() {
    let x =
}
>>
# A position behind a character of two units.
change a.tfy <<
const A = "😀é" + 1
>>
change a.tfy 9:9-9:9 "\nconst B = \"zzz\" + 2"
close a.tfy
send {"jsonrpc": "2.0", "id": 5, "method": "shutdown"}
send {"jsonrpc": "2.0", "id": 6, "method": "textDocument/hover", "params": {}}
send {"jsonrpc": "2.0", "method": "exit"}
end
