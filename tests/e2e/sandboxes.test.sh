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
