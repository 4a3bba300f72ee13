#!/bin/sh
# Tools in their sandboxes: what each may read and write, what a program and a command line can add, and what stays shut whatever they say. The attacks on
# the sandbox itself are in tests/cell.
. "$here/lib.sh"
"$build/tests/http_server" --log requests >address 2>/dev/null &
server=$!
export no_proxy="*" NO_PROXY="*"
trap 'kill "$server"' EXIT
within 10 [ -s address ]
base=$(cat address) port=${base##*:}

mkdir outside src && echo hidden >outside/text
git init -q work && cd work && mkdir sub
cat >sub/part.tfy <<'END'
fn part() -> int { return 1 }
END
cat >cells.tfy <<'END'
import "sub/part.tfy"

sandbox wide {
    writes ["made/here"]
    reads ["/nowhere/at/all", "../outside"]
}
sandbox git { writes [".git"] }
sandbox caught {
    writes ["made"]
    reads ["made/link"]
}

sandbox web { network ["127.0.0.1:PORT", "*.example:443"] }

tool any(script: string) -> ExecResult pure = exec ["sh", "-c", script]
tool reading(script: string) -> ExecResult pure sandbox readonly = exec ["sh", "-c", script]
tool more(script: string) -> ExecResult pure sandbox wide = exec ["sh", "-c", script]
tool repository() -> ExecResult pure sandbox git = exec ["true"]
tool trap(script: string) -> ExecResult pure sandbox caught = exec ["sh", "-c", script]
tool bare(script: string) -> ExecResult once dangerous sandbox open = exec ["sh", "-c", script]
tool fetch(url: string) -> ExecResult pure sandbox web = exec ["curl", "-sS", "--noproxy", "", "-m", "5", "--", url]
tool page(url: string) -> string pure sandbox web = exec ["curl", "-sSf", "--noproxy", "", "-m", "5", "--", url]
tool lost() -> ExecResult pure = exec ["only-outside"]

workflow main(script: string) -> int {
    let done = yield any(script)
    return done.code + part.part() - 1
}
workflow reads(script: string) -> int {
    let done = yield reading(script)
    return done.code
}
workflow writes(script: string) -> int {
    let done = yield more(script)
    return done.code
}
workflow traps(script: string) -> int {
    let done = yield trap(script)
    return done.code
}
workflow opens(script: string) -> int {
    let done = yield bare(script) approve "go?"
    return done.code
}
workflow fetches(script: string) -> string {
    let got = yield fetch(script)
    return got.out
}
workflow asks(script: string) -> string { return yield page(script) }
workflow gets(script: string) -> int {
    let got = yield http("GET", script)
    return got.status
}
workflow dials(script: string) { yield connect(script) }
workflow commits() -> int {
    let done = yield repository()
    return done.code
}
workflow loses() -> int {
    let done = yield lost()
    return done.code
}
END
sed -i "s|, \"../outside\"||; s|PORT|$port|" cells.tfy
tfy build cells.tfy -o ../cells || exit 1
try() { rm -rf .tfy; run ../cells run --workflow "$1" --script "$2" $3; }
refused() { [ "$(cat out)" != 0 ] && [ "$status" = 0 ]; }

try main 'echo x >new && cat cells.tfy >/dev/null && ls /usr/bin >/dev/null && [ "$(pwd)" = "'"$PWD"'" ]'
check "a tool reads and writes the root, and reads the system" [ "$(cat out)" = 0 ]
for what in 'cat ../outside/text' 'echo x >../outside/more' 'echo x >.git/config' 'mv .git gone' 'ls .tfy/runs.db' 'rm -r .tfy' 'echo x >cells.tfy' 'rm sub/part.tfy' \
    'mv sub elsewhere' 'cat /etc/shadow | grep -q .' 'cat /proc/1/environ | grep -q PATH' 'kill -9 '$$ 'echo x >/etc/x'; do
    try main "$what"
    check "it cannot: $what" refused
done
try reads 'cat cells.tfy >/dev/null'
check "readonly reads the root" [ "$(cat out)" = 0 ]
try reads 'echo x >new'
check "... and does not write it" refused
try writes 'echo x >made/here/new'
check "what a sandbox writes is made beforehand, and what it reads may lack" [ "$(cat out)" = 0 ]
try main 'mkdir -p made && rm -rf made/link && ln -s "'"$(realpath ../outside)"'" made/link'
try traps 'cat made/link/text'
check "a link that a tool made does not widen the next one's sandbox" ended 1 "the sandbox 'caught' of 'trap' cannot be built: 'made/link' leads out of what it is in"
try main 'echo "{}" >.mcp.json'
check "a name that could not be protected fails the step that made it" ended 1 "'any' made '.mcp.json', from which programs outside the sandbox take commands"
rm -f .mcp.json
for what in 'cat here.db | grep -q SQLite' 'mv here.db gone' 'cat here.db-tfy | grep -q tfy'; do
    rm -f here.db* && run ../cells run --db here.db --workflow main --script "$what"
    check "the log in the root is shut: $what" refused
done
run ../cells run --db here.db --workflow main --script 'echo x >here.db-journal'
check "a journal beside the log fails the step" ended 1 "here.db-journal', from which programs outside the sandbox take commands"
run tfy ps --db here.db
check "... and nobody reads it into the log" ended 65 "here.db-journal is not a part of the log"
rm -f here.db*
mkdir -p ../bin && printf '#!/bin/sh\n' >../bin/only-outside && chmod +x ../bin/only-outside
rm -rf .tfy && run env PATH="$(realpath ../bin):$PATH" ../cells run --workflow loses
check "a program outside is found and named" ended 1 "cannot run 'only-outside': its sandbox cannot read '$(realpath ../bin)/only-outside'"

rm -rf .tfy && run ../cells run --workflow commits --sandbox-level partial
check "a partial sandbox opens no repository, which is said" ended 1 "'.git' can be written only in a full sandbox"

# The command line.
try main 'cat "'"$(realpath ../outside)"'/text"' --grant=any:reads=../outside
check "--grant adds to one tool" [ "$(cat out)" = 0 ]
run tfy inspect last
check "... and is recorded" printed "--grant any:reads=$(realpath ../outside)"
run tfy ps --limit 1
check "... which ps shows, too" printed " main --grant any:reads=$(realpath ../outside) --"
run tfy ps --limit 1 --json
check "... as JSON" printed "\"ceiling\":{\"grants\":\"any:reads="
try reads 'cat "'"$(realpath ../outside)"'/text"' --grant=any:reads=../outside
check "... not to another" refused
try main 'echo x >new' --sandbox=readonly
check "--sandbox readonly narrows" refused
try main 'cat "'"$(realpath ../outside)"'/text"' --sandbox=open
check "--sandbox open lifts the default" [ "$(cat out)" = 0 ]
try reads 'echo x >new' --sandbox=open
check "... and no sandbox that a tool names" refused
try opens 'cat ../outside/text' --yes
check "a tool that says open has our rights" [ "$(cat out)" = 0 ]
try opens 'cat ../outside/text' '--yes --sandbox=workspace'
check "... unless --sandbox workspace is said" refused
try opens 'true' '--yes --network=none'
check "a network is not promised to be shut for it" ended 1 "it has none, so '--network none' cannot hold it"
try main 'echo x >../outside/p || echo x >cells.tfy || echo x >.git/config || cat .tfy/runs.db' --sandbox-level=partial
check "a partial sandbox refuses the same" refused
run ../cells run --workflow main --script x --grant=ayn:reads=x
check "a grant names a tool of the program" ended 64 "runs no tool 'ayn'; did you mean 'any'?"
run ../cells run --workflow main --script x --network=http://x
check "a network is named by hosts" ended 64 "names no host"
rm -rf .tfy && run env HOME="$PWD" ../cells run --workflow main --script true
check "the home directory is no root for tools" ended 64 "the working root is your home directory"

# The network.
try fetches "http://127.0.0.1:$port/text"
check "a listed host is reached" [ "$status" = 0 ]
check "... by the proxy" [ "$(cat out)" != '""' ]
try fetches "http://127.0.0.1:$((port + 1))/text"
check "another is not, which is said" ended 0 "the sandbox of 'fetch' refused 127.0.0.1:$((port + 1))"
try asks "http://127.0.0.1:$((port + 1))/text"
check "... and named in the error" ended 1 "'page' exited with status 22; the sandbox refused 127.0.0.1:$((port + 1))"
try asks "http://127.0.0.1:$port/text" --network=a.example:443
check "--network narrows the list" ended 1 "the sandbox refused 127.0.0.1:$port"
try asks "http://127.0.0.1:$port/text" --network=none
check "... to nothing" ended 1 "'page' exited with status 7"
try fetches "http://127.0.0.1:$port/text" --sandbox-level=partial
check "a partial sandbox has no lists" ended 1 "a list of hosts needs a full sandbox"
try gets "http://127.0.0.1:$port/text" "--network=127.0.0.1:$port"
check "http() reaches what --network allows" [ "$(cat out)" = 200 ]
try gets "http://127.0.0.1:$port/text" --network=none
check "... and nothing else" ended 1 "'--network none' does not allow 127.0.0.1:$port"
try dials "127.0.0.1:$port" --network=a.example:443
check "nor does connect()" ended 1 "'--network' does not allow it"
try dials "127.0.0.1:$port" "--network=127.0.0.1:$port"
check "... but what is allowed" [ "$status" = 0 ]
