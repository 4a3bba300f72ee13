#!/bin/sh
# The extension for Visual Studio Code: it can be packed, holds the grammar that all editors use, and does with the real server what
# the editor asks of it. What it uses of the editor is stood in for by tests/editors/vscode.js.
. "$here/lib.sh"
repository=$here/../..
if ! command -v node >/dev/null; then
    echo "skipped vscode: node is not installed"
    exit 0
fi
PATH=$build/npm/node_modules/.bin:$PATH

unpacked()
{
    sh "$repository/dsl/editors/vscode/pack.sh" tfy.vsix && python3 -m zipfile -e tfy.vsix package
}
if command -v vsce >/dev/null; then
    check "is packed" unpacked
else
    echo "skipped packing: vsce is not installed ('./dev test' installs it)"
    mkdir -p package/extension
    cp "$repository"/dsl/editors/vscode/*.js "$repository"/dsl/editors/vscode/*.json "$repository/dsl/editors/tfy.tmLanguage.json" package/extension
fi
check "the grammar is the one of all editors" cmp package/extension/tfy.tmLanguage.json "$repository/dsl/editors/tfy.tmLanguage.json"

# Every file that the manifest names is there.
names_files()
{
    node -e '
        const fs = require("fs"), path = require("path"), all = JSON.parse(fs.readFileSync("package/extension/package.json"));
        const named = [all.main, ...all.contributes.languages.map((l) => l.configuration), ...all.contributes.grammars.map((g) => g.path)];
        for (const file of named) fs.accessSync(path.join("package/extension", file));
        JSON.parse(fs.readFileSync("package/extension/language-configuration.json"));'
}
check "the manifest's files are there" names_files

cat >text.tfy <<'END'
fn slug(s: string) -> string { return s.trim() }
fn other() -> int { return 1 }
END
cat >main.tfy <<'END'
import "text.tfy"

workflow main(name: string) -> string {
    let short = text.slug(nmae)
    return short
}

test "it works" { assert true }
END
cat >expected <<'END'
mistakes: 4:27-4:31 0 unknown name 'nmae'; did you mean 'name'?
action: replace 'nmae' by 'name'
  edits main.tfy 4:27-4:31 name
mistakes after the edit: 0
hover: fn slug(s: string) -> string
definition: text.tfy 1:4-1:8
references: main.tfy 4:22-4:26, text.tfy 1:4-1:8
prepared: slug
  edits main.tfy 4:22-4:26 dashed
  edits text.tfy 1:4-1:8 dashed
refused: 'while' cannot be a name
refused: 'other' cannot be used here: text.tfy:2: 'other' is declared twice
signature: fn slug(s: string) -> string [8,17]
completions: slug 2, other 2
symbols: text 1, main 11, it works 5
found: slug
formatted: 0 edits
tokens: 7
task: test main.tfy --filter it works
providers left: 0
error shown: tfy: no such command; 'tfy.path' names the command
logged: the server ended with 0
END
runs()
{
    TFY=$build/tfy timeout 60 node "$repository/tests/editors/vscode.js" package/extension >actual 2>&1
    cat actual
    diff expected actual
}
check "works with the server" runs
