# A program of several files, one of them open and not saved.
file text.tfy <<
/// Lower case with dashes.
fn slug(s: string) -> string { return s.trim() }
type Page { title: string }
enum Kind { note, link(to: string) }
error Broken { page: string }
const LIMIT: int = 3
>>
file broken.tfy <<
fn f() -> int { return "x" }
>>
send {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
read 1
open main.tfy <<
import "text.tfy" as text

workflow main() fails text.Broken {
    let p: text.Page = text.Page(title: text.slug("A b"))
    print(p.title)
    let kind: text.Kind = text.Kind.link(to: "x")
    match kind {
        text.Kind.link(to) => print(to)
        note => print("${text.LIMIT}")
    }
    try {
        yield
    } catch e: text.Broken {
        fail e
    }
}
>>
hover main.tfy 1:3
hover main.tfy 1:10
definition main.tfy 1:10
hover main.tfy 1:24
hover main.tfy 3:30
definition main.tfy 4:12
hover main.tfy 4:18
definition main.tfy 4:18
definition main.tfy 4:25
hover main.tfy 4:32
definition main.tfy 4:36
hover main.tfy 4:47
definition main.tfy 4:47
definition main.tfy 5:13
hover main.tfy 6:34
definition main.tfy 6:40
definition main.tfy 6:42
hover main.tfy 8:15
definition main.tfy 8:20
hover main.tfy 8:24
hover main.tfy 9:33
definition main.tfy 9:33
hover main.tfy 13:22
definition main.tfy 13:17
change main.tfy 5:5-5:19 "print(text.)"
complete main.tfy 5:16
change main.tfy 5:5-5:17 "print(text.Kind.)"
complete main.tfy 5:21
change main.tfy 5:5-5:22 "print(p.title)"

# What is open counts before what is saved: both files are told of it.
open text.tfy <<
type Page { name: string }
>>
read 1
close text.tfy
read 1
change main.tfy 1:9-1:17 "broken.tfy"
change main.tfy 1:9-1:19 "/dev/zero"
send {"jsonrpc": "2.0", "id": 90, "method": "shutdown"}
send {"jsonrpc": "2.0", "method": "exit"}
end
