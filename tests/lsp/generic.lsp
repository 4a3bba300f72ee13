# Generic fns and functions as parameters: what each name is, where it is used, its rename, its signature.
send {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}, "processId": null, "rootUri": null}}
read 1
open a.tfy <<
/// Each of them.
fn each<T, U>(xs: list<T>, f: fn(T) -> U) -> list<U> {
    var out: list<U> = []
    for x in xs { out = out.push(f(x)) }
    return out
}

fn slug(s: string) -> string { return s.trim() }

workflow main(k: int = 2) {
    print("${each([1], x => x + k)} ${each(["a"], slug)}")
    print("${each(xs: [1.5], f: x => x)}")
}
>>
hover a.tfy 2:5
hover a.tfy 2:9
hover a.tfy 2:15
hover a.tfy 2:28
hover a.tfy 2:34
hover a.tfy 3:9
hover a.tfy 4:34
hover a.tfy 11:16
hover a.tfy 11:24
hover a.tfy 11:51
hover a.tfy 12:26
definition a.tfy 11:16
definition a.tfy 4:34
references a.tfy 2:9
references a.tfy 2:5
references a.tfy 8:5
references a.tfy 4:34
rename a.tfy 2:9 Item
rename a.tfy 2:28 how
signature a.tfy 11:20
complete a.tfy 4:34 f
tokens a.tfy
close a.tfy
end
