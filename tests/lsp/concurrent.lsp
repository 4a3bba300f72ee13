# Names in parallel, race, with, undo and channels.
send {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
read 1
open a.tfy <<
workflow one(topic: string) -> string {
    return yield llm(topic)
}

workflow main() {
    let topics = ["a", "b"]
    let both = parallel { left: yield one("x"), right: yield one("y") }
    print(both.left)
    let all = parallel for i, topic in topics limit 2 {
        give yield one("${i} ${topic}")
    }
    let first = race { draft: yield llm("write"), late: yield sleep(2m) }
    match first {
        draft(text) => print(text)
        late => print("late")
    }
    let jobs: channel<string> = channel(8)
    yield jobs.send("x")
    with lock("repo") {
        let sha = yield commit("m") undo { print(sha ?? "unknown") }
    }
}
>>
hover a.tfy 7:10
definition a.tfy 8:17
hover a.tfy 8:17
hover a.tfy 9:28
definition a.tfy 10:33
hover a.tfy 10:28
hover a.tfy 12:10
hover a.tfy 14:10
definition a.tfy 14:10
hover a.tfy 14:16
hover a.tfy 18:17
hover a.tfy 19:11
definition a.tfy 20:52
hover a.tfy 20:52
change a.tfy 10:9-10:40 "to"
complete a.tfy 10:11 to
change a.tfy 18:16-18:25 ""
complete a.tfy 18:16
end
