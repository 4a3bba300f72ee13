# Names in seldom places, and what is known of a program that is only half there.
send {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
read 1
file far.tfy <<
enum Mood { calm, loud(by: int) }
error Torn { at: int }
type Cell { n: int }
const ONE = 1
fn f(n: int) -> int { return n }
>>
open main.tfy <<
import "far.tfy" as far
enum Kind { one, two(n: int) }
type Box { kind: Kind, n: int? }
error Broken { part: string }
tool act(dir: string) -> string once = exec ["a"] stdin dir probe done
tool done(dir: string, key: string) -> string? pure = exec ["a"]
workflow w(b: Box, n: int) -> int fails Broken, far.Torn {
    let a = Kind.two(n: 1)
    let c = far.Mood.loud(by: far.ONE)
    let d = Broken("x", part: "y")
    let e = Box(kind: Kind.one, n: null)
    let g = far.Cell(n: far.f(n: 2))
    let h = yield act(dir: "a") retry 2 key "k" undo { let again = h }
    match c { calm => {}, far.Mood.loud(by) => print("${by}") }
    match b.kind { Kind.two(m) => print("${m}"), one => {} }
    let i = yield http("GET", url: "http://x")
    let j = parallel for cell in [g] { give cell.n }
    let k = parallel { left: { give n }, right: yield far.f(1) }
    try { yield } catch err: far.Torn { print("${err.at}") } catch other { print(other.message) } finally { print("end") }
    let o: Box = { kind: Kind.one, n: 3 }
    return n
}
test "a test" { mock act(dir: _) => "a"; mock far.f(_) => 1; assert calls(act) == 0 }
>>
hover main.tfy 1:21
definition main.tfy 1:21
hover main.tfy 2:18
definition main.tfy 2:18
hover main.tfy 2:2
definition main.tfy 2:2
hover main.tfy 5:10
definition main.tfy 5:10
hover main.tfy 5:61
definition main.tfy 5:61
hover main.tfy 5:67
definition main.tfy 5:67
hover main.tfy 7:53
definition main.tfy 7:53
hover main.tfy 8:18
definition main.tfy 8:18
hover main.tfy 8:22
definition main.tfy 8:22
hover main.tfy 9:17
definition main.tfy 9:17
hover main.tfy 9:22
definition main.tfy 9:22
hover main.tfy 9:27
definition main.tfy 9:27
hover main.tfy 9:35
definition main.tfy 9:35
hover main.tfy 10:25
definition main.tfy 10:25
hover main.tfy 11:17
definition main.tfy 11:17
hover main.tfy 12:17
definition main.tfy 12:17
hover main.tfy 12:22
definition main.tfy 12:22
hover main.tfy 13:23
definition main.tfy 13:23
hover main.tfy 13:60
definition main.tfy 13:60
hover main.tfy 14:15
definition main.tfy 14:15
hover main.tfy 14:31
definition main.tfy 14:31
hover main.tfy 14:41
definition main.tfy 14:41
hover main.tfy 15:29
definition main.tfy 15:29
hover main.tfy 15:50
definition main.tfy 15:50
hover main.tfy 16:31
definition main.tfy 16:31
hover main.tfy 17:45
definition main.tfy 17:45
hover main.tfy 18:24
definition main.tfy 18:24
hover main.tfy 18:42
definition main.tfy 18:42
hover main.tfy 19:25
definition main.tfy 19:25
hover main.tfy 19:34
definition main.tfy 19:34
hover main.tfy 19:68
definition main.tfy 19:68
hover main.tfy 20:20
definition main.tfy 20:20
hover main.tfy 23:22
definition main.tfy 23:22
hover main.tfy 23:26
definition main.tfy 23:26
hover main.tfy 23:51
definition main.tfy 23:51
# half a program
change main.tfy <<
import "far.tfy" as far
import
enum
enum Kind { one, two(n: ), (n: int), }
type Box { kind: Kind, : int, n }
error
tool act(dir: , : string) -> string = 
tool
const = 3
const X =
prompt p(a: string) { user }
workflow w(b: Box, : int, n: nope) -> {
    let = 3
    let a = far.
    let b2 = Kind.
    let c = b.
    let d = far.Mood.
    let e = Kind.two(n: 
    match b { two( => {} }
    for in [1] { }
    try { } catch { }
    mock
    return b.kind.
}
test
test "" { 
>>
symbols main.tfy
hover main.tfy 1:1
hover main.tfy 4:8
hover main.tfy 5:8
hover main.tfy 7:10
hover main.tfy 12:10
complete main.tfy 14:17 f
complete main.tfy 15:19 t
complete main.tfy 16:15 k
complete main.tfy 17:22 l
complete main.tfy 18:25 n
complete main.tfy 23:19 x
complete main.tfy 1:1 wor
format main.tfy
change main.tfy <<
>>
complete main.tfy 1:1 wor
symbols main.tfy
close main.tfy
end
