#!/bin/sh
# The word `sandbox` of programs, down to the processes: which tool runs in which, when files name theirs alike, and what the compiled program says.
. "$here/lib.sh"
mkdir project && cd project || exit 1
cat >walls.tfy <<'END'
const CACHE = "/opt/cache"
sandbox same { writes [CACHE, "out/"] }
sandbox wide { root workspace }
tool noted() -> ExecResult idempotent sandbox wide = exec ["sh", "-c", "echo walls >>book"]
tool usual() -> ExecResult idempotent = exec ["sh", "-c", "echo usual >>book"]
END
cat >main.tfy <<'END'
import "walls.tfy"
const PORT = 443

sandbox default { root readonly }
sandbox same {
    reads ["~/.cargo/bin", "/opt//a \"b\"/./c/"]
    writes [".git", "~/.cargo/" + "registry"]
    network ["Crates.io:${PORT}", "*.crates.io:443", "[::1]:80"]
    memory "2 GiB"
    files "512 MiB"
    output "64 KiB"
    processes 200
    cpu 10m
}
sandbox wide { root readonly }

tool ours() -> ExecResult idempotent sandbox wide = exec ["sh", "-c", "echo ours >>book"]
tool theirs() -> ExecResult idempotent sandbox walls.wide = exec ["sh", "-c", "echo theirs >>book"]
tool given() -> ExecResult idempotent sandbox workspace = exec ["sh", "-c", "echo given >>book"]
tool looks() -> ExecResult idempotent sandbox readonly = exec ["sh", "-c", "echo looks >>book"]
tool both() -> ExecResult idempotent sandbox same = exec ["true"]
tool other() -> ExecResult idempotent sandbox walls.same = exec ["true"]
tool outside() -> ExecResult once dangerous sandbox open = exec ["sh", "-c", "echo open >>book"]

workflow main() -> list<int> {
    let a = yield ours()
    let b = yield theirs()
    let c = yield given()
    let d = yield looks()
    let e = yield walls.noted()
    let f = yield walls.usual()
    let g = yield exec(["sh", "-c", "echo exec >>book"])
    let h = yield outside() approve "write?"
    return [a.code, b.code, c.code, d.code, e.code, f.code, g.code, h.code].map(code => if code == 0 { 0 } else { 1 })
}

workflow unused() {
    yield both()
    yield other()
}
END
: >book
run tfy run main.tfy --workflow main --yes
check "each tool runs in the sandbox that it names, and others in the default" printed_exactly "[1,0,0,1,0,1,1,0]"
check "... and writes where that lets it" [ "$(tr '\n' ' ' <book)" = "theirs given walls open " ]

run tfyc main.tfy -o -
cp out main.c
says() { grep -qF -- "$1" main.c; }
check "the compiled program has each sandbox once" [ "$(grep -c '^static const TfySandbox ' main.c)" = 8 ]
check "... its paths without detours" says 'tfyg_reads_same[] = {"~/.cargo/bin", "/opt/a \"b\"/c", NULL};'
check "... texts that are joined" says 'tfyg_writes_same[] = {".git", "~/.cargo/registry", NULL};'
check "... hosts in small letters" says 'tfyg_hosts_same[] = {"crates.io:443", "*.crates.io:443", "[::1]:80", NULL};'
check "... and limits as numbers" says '.memory = 2147483648, .files = 536870912, .output = 65536, .processes = 200, .cpu_ms = 600000};'
check "one of another file has the name of that file" says '{.name = "walls.same", .root = TFY_ROOT_WORKSPACE, .network = TFY_NETWORK_NONE, .writes = tfyg_writes_1m_same};'
check "the program names its default" says '.sandbox = &tfyg_sandbox_default,'
run tfyc --layout main.tfy
check "the layout shows them" grep -q '"callee":"theirs","class":"idempotent","sandbox":"walls.wide"' out

# `tfy sandbox` with a name: a command in the sandbox that a program declares.
mkdir -p ../try/sub && cp main.tfy walls.tfy ../try && cd ../try || exit 1
cat >named.tfy <<'END'
import "walls.tfy"
sandbox builds {
    reads ["~/seen"]
    writes ["made/here"]
    files "2 KiB"
    cpu 1m
}
sandbox keeps { writes [".git"] }
sandbox looks {
    root readonly
    writes ["sub"]
}
sandbox boxed { runner ["sh", "./box", "{root}"] }
sandbox web { network ["a.example:443"] }
workflow main() {}
END
tfy build named.tfy -o named && strip named || exit 1
mkdir -p "$HOME/seen" && echo hidden >"$HOME/seen/text"
for program in named.tfy named; do
    run tfy sandbox builds --program "$program" -- sh -c 'cat "$0" && echo x >made/here/x && echo y >y && ulimit -f && ulimit -t' "$HOME/seen/text"
    check "a command runs in a sandbox of $program: what it reads, writes, and its limits" printed_exactly "hidden
4
60"
    run tfy sandbox builds --program "$program" --files 4K --network none -- sh -c 'ulimit -f'
    check "... where an option takes the place of a row" printed_exactly 8
    run tfy sandbox builds --program "$program" --sandbox readonly -- sh -c 'cat made/here/x; echo z >made/here/x'
    check "... and --sandbox narrows what it writes" printed_exactly x
    run tfy sandbox looks --program "$program" --sandbox workspace -- sh -c 'echo x >sub/x || echo x >x || echo shut'
    check "... and does not widen it" printed_exactly shut
    run tfy sandbox builds --program "$program" --sandbox open -- sh -c "echo x >>$program || echo shut"
    check "... nor does open; its own file is shut" printed_exactly shut
    run tfy sandbox bulds --program "$program" -- true
    check "... an unknown name is told, with those that there are" ended 64 "there is no sandbox 'bulds' in $program; did you mean 'builds'?
there are: workspace, readonly, open, "
    run tfy sandbox walls.wide --program "$program" -- sh -c 'echo x >wide && cat wide'
    check "... those of an imported file have its name" printed_exactly x
    run tfy sandbox boxed --program "$program" -- true
    check "... one with a runner is refused" ended 69 "the tools of 'boxed' are run by 'sh', which no sandbox holds"
    run tfy sandbox keeps --program "$program" -- true
    check "... one that writes a repository needs one" ended 69 "'.git', which the command may write, is not a repository's"
    run tfy sandbox web --program "$program" --sandbox-level partial -- true
    check "... and a list of hosts a full one" ended 64 "a partial sandbox has no list of hosts"
done
git init -q .
run tfy sandbox keeps --program named --sandbox-level partial -- true
check "a partial sandbox does not open a repository" ended 64 "a partial sandbox does not open '.git'"
if tfy sandbox --sandbox-level full -- true 2>said; then
    run tfy sandbox keeps --program named -- sh -c 'echo x >.git/x && ! echo x >>.git/config'
    check "a full one does, without its settings" ended 0 ''
    run tfy sandbox keeps --program named -- sh -c 'echo x >.git/commondir'
    check "... and says what came to be in it" ended 1 "'sh' made '.git/commondir', from which programs outside take commands"
    rm -f .git/commondir
    run tfy sandbox web --program named -- sh -c 'env | grep -c "^http_proxy="'
    check "the hosts of a sandbox are reached by a proxy" printed_exactly 1
else
    echo "# skipped: no full sandbox here, so neither a repository nor a list of hosts: $(cat said)"
fi
run tfy sandbox --program main.tfy -- sh -c 'echo x >x || echo shut'
check "without a name it is the program's default" printed_exactly shut
run tfy sandbox readonly -- sh -c 'echo x >x || echo shut'
check "without a program the given ones have their names" printed_exactly shut
run tfy sandbox builds -- true
check "... and there are no others" ended 64 "there is no sandbox 'builds'
there are: workspace, readonly, open; --program FILE adds those that a program declares"
run tfy sandbox open -- sh -c 'echo "$HOME"'
check "... open is none" printed_exactly "$HOME"
run tfy sandbox open --network a.b:443 -- true
check "... and has no list of hosts" ended 64 "'open' has no list of hosts"
run tfy sandbox one two -- true
check "there is one name" ended 64 "sandbox takes one NAME before --, not 'two' too"
run tfy sandbox readonly --
check "... and a command after it" ended 64 "sandbox needs a command after --"
ln -s "$HOME/seen" leads && printf 'sandbox links { writes ["leads"] }\nworkflow main() {}\n' >links.tfy
run tfy sandbox links --program links.tfy -- true
check "a link does not widen it" ended 64 "'leads' leads out of what it is in, to '"
run tfy sandbox --program "$(command -v sh)" -- true
check "a program is one that tfy built" ended 65 "is neither FILE.tfy nor a program that tfy built"
run tfy sandbox --program absent -- true
check "... and there" ended 69 "cannot read absent: No such file or directory"
