# Every use of a name: in one file, across files, in strings, patterns, mocks and named arguments. And other names for them.
file text.tfy <<
/// Lower case with dashes.
fn slug(s: string) -> string { return s.trim() }
type Page { title: string }
enum Kind { note, link(to: string) }
error Broken { page: string }
>>
file other.tfy <<
import "text.tfy" as words
fn twice(s: string) -> string { return words.slug(words.slug(s)) }
>>
file lib/deep.tfy <<
import "../text.tfy"
fn once_more(s: string) -> string { return text.slug(s) }
>>
send {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"rootUri": "file:///"}}
read 1
open main.tfy <<
import "text.tfy" as text

tool git(args: list<string>) -> string = exec ["git"].concat(args)

workflow main(limit: int = 3) -> int fails text.Broken {
    let page = text.Page(title: text.slug("A b"))
    print("${page.title} 😀 ${limit} ${text.slug("x")}")
    let kind: text.Kind = text.Kind.link(to: page.title)
    match kind {
        text.Kind.link(to) => print(to)
        note => print("${limit}")
    }
    var total = 0
    for i, word in ["a", "b"] {
        let out = yield git(args: [word]) timeout 5s undo { print(out ?? word) }
        total += out.len() + i
    }
    let both = parallel {
        one: yield git([])
        two: { give limit }
    }
    parallel for n in 0..limit {
        print("${n}")
    }
    try {
        yield
    } catch e: text.Broken {
        fail e
    }
    let lengths = ["x"].map(one => one.len() + limit)
    return total + both.two + both.one.len() + lengths.len()
}

test "git is asked" {
    mock git(args: _) => "x"
    let r = yield main(limit: 1)
    assert calls(git) == 3
    assert r == 9
}
>>
references main.tfy 3:6
references main.tfy 3:10
references main.tfy 5:15
references main.tfy 6:9
references main.tfy 6:26
references main.tfy 6:38
references main.tfy 8:38
references main.tfy 8:42
references main.tfy 10:24
references main.tfy 14:12
references main.tfy 15:14
references main.tfy 18:9
references main.tfy 19:9
references main.tfy 22:18
references main.tfy 27:13
references main.tfy 27:22
references main.tfy 30:29
references main.tfy 1:22
references main.tfy 7:5
references main.tfy 2:1
uses main.tfy 13:10
uses main.tfy 2:1

prepare main.tfy 6:10
prepare main.tfy 7:6
prepare main.tfy 2:1
prepare main.tfy 6:38
rename main.tfy 6:38 dashed
rename main.tfy 5:15 most
rename main.tfy 14:12 item
rename main.tfy 15:14 printed
rename main.tfy 19:9 first
rename main.tfy 8:38 url
rename main.tfy 1:22 words
rename main.tfy 8:42 target

# What would clash, cannot be a name, or belongs to nobody.
rename main.tfy 6:9 kind
rename main.tfy 6:9 text
rename main.tfy 6:9 while
rename main.tfy 6:9 two;words
rename main.tfy 6:9 _
rename main.tfy 6:9 page
rename main.tfy 6:38 Page
rename main.tfy 5:15 git
rename main.tfy 7:6 say
rename main.tfy 2:1 nothing

# The module that is named after its file has no name to change.
open lib/deep.tfy <<
import "../text.tfy"
fn once_more(s: string) -> string { return text.slug(s) }
>>
read 1
prepare lib/deep.tfy 2:44
rename lib/deep.tfy 2:44 words
rename lib/deep.tfy 2:49 dashed
# What is open counts before what is saved.
change main.tfy 6:33-6:42 "t"
read 1
rename lib/deep.tfy 2:49 dashed
close main.tfy
read 1
rename lib/deep.tfy 2:49 dashed
send {"jsonrpc": "2.0", "id": 90, "method": "shutdown"}
send {"jsonrpc": "2.0", "method": "exit"}
end
