# Prompts with tools: what a row offers and reaches, what can be written in it, and the enum that the compiler makes.
file lib/mail.tfy <<
type Letter { to: string }
/// Sends a mail.
tool mail(to: string, text: string) -> ExecResult once = exec ["notify", "--", to, text]
/// Reads the box.
workflow box(n: int = 3) -> string {
    let text = yield read_file("box")
    return text
}
>>
send {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"workspaceFolders": [{"uri": "file:///", "name": "x"}]}}
read 1
open a.tfy <<
import "lib/mail.tfy"
type Report { summary: string }
error Stuck
const most_used = 3

/// Searches the web.
tool search(words: string) -> string pure = http "GET https://search.example/?q=${words}"

/// Twice as much.
fn double(n: int) -> int { return 2 * n }

/// Ends the work.
workflow give_up(why: string) fails Stuck { fail Stuck(why) }

/// Answers one question.
prompt plain(text: string) -> string { user text }

/// Finds out.
prompt research(question: string) -> Report fails Stuck {
    model "strong"
    system "You answer."
    user question
    tools {
        read_file, search timeout 10s times 20
        mail.mail approve "mail ${to.replace("a", "b")}?"
        mail.box
        give_up
        plain
        double
    }
    rounds 12
}

workflow main(question: string) -> string fails Stuck {
    let report = yield research(question) timeout 30m
    return report.summary
}

test "it answers" {
    mock research.next(_) => [research.Call.search("a"), research.Call.mail_box()]
    mock research.next(_) => research.Call.answer(Report(summary: "x"))
    mock search(_) => "found"
    let said = yield main("?")
    assert said == "x"
    assert calls(research.next) == 2
}
>>
# hover: a row, and what it reaches
hover a.tfy 24:10
hover a.tfy 24:22
hover a.tfy 25:10
hover a.tfy 25:15
hover a.tfy 25:35
hover a.tfy 26:15
hover a.tfy 27:10
hover a.tfy 28:10
hover a.tfy 29:10
hover a.tfy 19:10
hover a.tfy 35:26
# what the compiler makes
hover a.tfy 40:11
hover a.tfy 40:20
hover a.tfy 40:41
hover a.tfy 40:46
# places
definition a.tfy 24:10
definition a.tfy 24:22
definition a.tfy 25:15
definition a.tfy 26:10
definition a.tfy 40:46
definition a.tfy 40:72
references a.tfy 7:7
references a.tfy 13:12
references a.tfy 19:10
rename a.tfy 7:7 look
rename a.tfy 13:12 stop
rename a.tfy 19:10 agent
prepare a.tfy 40:46
prepare a.tfy 40:72
signature a.tfy 40:53
signature a.tfy 25:49
# completion: rows, what can be offered, policies, what the compiler makes
close a.tfy
open b.tfy <<
import "lib/mail.tfy"
/// Searches.
tool search(words: string) -> ExecResult pure = exec ["find", "--", words]
fn same<T>(x: T) -> T { return x }
type Other { n: int }
prompt research(
    question: string,
) -> string {
    user question
    tools {
        search
    }
}
workflow main() -> string {
    let text = yield research("x")
    return text
}
test "x" {
    mock research.next(_) => [research.Call.search("x")]
    assert calls(research.next) == 1
}
>>
complete b.tfy 11:11
complete b.tfy 9:5
complete b.tfy 3:60 se
complete b.tfy 19:20
complete b.tfy 19:45
complete b.tfy 19:40
complete b.tfy 20:28
change b.tfy 11:15-11:15 " t"
complete b.tfy 11:17
change b.tfy 11:15-11:17 " timeout 1m b"
complete b.tfy 11:28
change b.tfy 11:15-11:28 " timeout m"
complete b.tfy 11:25 sea
change b.tfy 11:15-11:25 " approve \"find ${w}?\""
complete b.tfy 11:33 w
change b.tfy 11:9-11:36 "mail."
complete b.tfy 11:14
change b.tfy 11:9-11:14 "search, "
complete b.tfy 11:17 s
change b.tfy 11:9-11:17 "search"
change b.tfy 9:18-9:18 "\n    m"
complete b.tfy 10:6
end
