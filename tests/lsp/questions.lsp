# What editors ask about a program: hover, definition, outline, completion.
send {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}
read 1
open a.tfy <<
/// How often.
const MAX: int = 5
type Step { name: string, argv: list<string>, note: string? }
enum Verdict { keep, redo(reason: string) }
error StepFailed { step: string }

/// Run a program in Git.
/// It is never repeated.
tool git(args: list<string>) -> string once = exec ["git"].concat(args) probe git_done
tool git_done(args: list<string>, key: string) -> string? pure = exec ["git", "log"]

fn label(s: Step) -> string { return "step ${s.name}" }

prompt plan(goal: string) -> Step {
    user """Goal: ${goal}"""
}

workflow build(goal: string) -> int fails StepFailed {
    let step: Step = yield plan(goal)
    if step.note != null {
        print(step.note)
    }
    var total = 0
    for i, word in step.argv {
        let out = yield git(args: [word, label(step)]) timeout 5s
        total += out.len() + i
    }
    try {
        yield git([])
    } catch e: ToolError {
        fail StepFailed("no", step: e.message)
    }
    let v: Verdict = yield approve("keep ${label(step)}?", details: null)
    match v {
        keep => print("kept ${total}")
        redo(why) => { log(why) }
    }
    let again = Verdict.redo(reason: "x")
    let patch = yield preview("a", "b")
    print(patch.diff)
    return MAX
}

workflow main() -> int {
    return yield build("go")
}
>>
open docs.tfy <<
type Step {
    /// What it is called.
    name: string
}
enum Verdict {
    keep
    /// Once more.
    redo(
        /// Why.
        reason: string
    )
}
workflow main(step: Step) -> string {
    let v = Verdict.redo(reason: "x")
    if v == Verdict.keep { return "" }
    return step.name
}
>>
open catching.tfy <<
error Broken {
    /// Where.
    step: string
    code: int
}
workflow work() fails Broken { fail Broken("no", step: "s", code: 3) }
workflow main() -> string {
    try {
        yield work() retry 2 on Broken | Timeout
    } catch Broken(step, code: c) {
        return "${step} ${c}"
    }
    return ""
}
>>
# the fields behind catch, and the errors behind on
hover catching.tfy 9:35
hover catching.tfy 9:44
hover catching.tfy 10:14
hover catching.tfy 10:22
hover catching.tfy 10:28
hover catching.tfy 10:34
definition catching.tfy 10:28
references catching.tfy 4:6
references catching.tfy 3:6
rename catching.tfy 4:6 number
rename catching.tfy 3:6 place
rename catching.tfy 11:27 d
close catching.tfy
# doc comments of fields and cases
hover docs.tfy 14:22
hover docs.tfy 16:18
close docs.tfy
# the declarations themselves
hover a.tfy 2:7
hover a.tfy 3:6
hover a.tfy 3:14
hover a.tfy 4:6
hover a.tfy 4:16
hover a.tfy 4:22
hover a.tfy 4:29
hover a.tfy 5:8
hover a.tfy 9:6
hover a.tfy 9:10
definition a.tfy 9:80
hover a.tfy 12:4
hover a.tfy 14:8
hover a.tfy 18:10
# uses: types, locals, narrowed fields, calls, named arguments
hover a.tfy 18:45
definition a.tfy 18:45
hover a.tfy 19:9
hover a.tfy 19:17
definition a.tfy 19:17
definition a.tfy 19:29
definition a.tfy 19:33
hover a.tfy 20:14
hover a.tfy 21:20
hover a.tfy 21:10
definition a.tfy 21:20
hover a.tfy 23:9
hover a.tfy 24:12
hover a.tfy 25:25
hover a.tfy 25:29
definition a.tfy 25:29
hover a.tfy 26:22
hover a.tfy 30:13
hover a.tfy 30:16
hover a.tfy 31:33
hover a.tfy 31:41
hover a.tfy 33:28
hover a.tfy 33:62
hover a.tfy 35:10
hover a.tfy 36:14
definition a.tfy 36:14
hover a.tfy 36:24
hover a.tfy 38:17
hover a.tfy 38:26
definition a.tfy 38:31
hover a.tfy 40:18
definition a.tfy 41:12
hover a.tfy 45:18
# blanks, keywords and literals are nothing
hover a.tfy 11:1
definition a.tfy 41:5
hover a.tfy 900:1
symbols a.tfy

# completion, in lines that do not parse yet
change a.tfy 41:12-41:15 "step."
complete a.tfy 41:17 n
change a.tfy 41:12-41:17 "step.argv."
complete a.tfy 41:22 le
change a.tfy 41:12-41:22 "Verdict."
complete a.tfy 41:20
change a.tfy 41:12-41:20 "pa"
complete a.tfy 41:14 pa
complete a.tfy 25:9 i
complete a.tfy 30:19 ex
complete a.tfy 31:9 ret
complete a.tfy 18:22 st
change a.tfy 41:5-41:14 "for x in 1.."
complete a.tfy 41:17 tota
change a.tfy 41:5-41:17 "e."
complete a.tfy 41:7
send {"jsonrpc": "2.0", "id": 90, "method": "shutdown"}
send {"jsonrpc": "2.0", "method": "exit"}
end
