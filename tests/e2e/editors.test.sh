#!/bin/sh
# What editors are given: the grammar (it is JSON, its patterns are patterns, its words are the lexer's), and the files for vim and Neovim.
. "$here/lib.sh"
repository=$here/../..
cp "$repository/dsl/editors/tfy.tmLanguage.json" grammar.json

# query EXPRESSION [CONDITION]: of all values in the grammar.
query() { sqlite3 :memory: "select $1 from json_tree(cast(readfile('grammar.json') as text)) where ${2:-true}"; }
check "it is JSON" test "$(query "count(*) > 50")" = 1

query value "key in ('match', 'begin', 'end')" >patterns
good_patterns()
{
    while read -r pattern; do
        printf 'let x = 1\n' | grep -qP -e "$pattern"
        [ $? -lt 2 ] || { echo "bad: $pattern"; return 1; }
    done <patterns
}
check "every pattern is one" good_patterns
check "every included rule is there" test -z "$(query "substr(value, 2)" "key = 'include'" | sort -u | while read -r rule; do
    query 1 "fullkey = '\$.repository.$rule'" | grep -q 1 || echo "$rule"; done)"

# Words stand between bars in the rules under "keywords".
query value "fullkey like '\$.repository.keywords.%' and key = 'match'" | sed 's/^[^(]*(?:\([a-z|]*\)).*/\1/' | tr '|' '\n' | sort >words
sed -n "s/.*{TOK_[A-Z]*, \"\(.*\)\", 'w'}.*/\1/p" "$repository/dsl/token.c" | sort >lexer
check "its words are the lexer's" diff lexer words
check "no word stands twice" test -z "$(uniq -d words)"

# The same words in the syntax of vim.
vim_files=$repository/dsl/editors/vim
sed -n '/contained\|tfyType /d; s/^syntax keyword [A-Za-z]* //p' "$vim_files/syntax/tfy.vim" | tr ' ' '\n' | sort >vim_words
check "vim's words are the lexer's" diff lexer vim_words

cat >shown.tfy <<'END'
/// Says hello.
workflow main(name: string = "x ${1 + 2} y") -> int {
    let step = 5s
    yield sleep(step)
    return 1_000 // words
}

test "it works" { assert true }
END
sed 's/return 1_000/return nmae/' shown.tfy >wrong.tfy
cat >shown.vim <<'END'
let places = [[1, 1], [2, 1], [2, 15], [2, 21], [2, 31], [2, 36], [3, 5], [3, 16], [4, 5], [4, 11], [5, 5], [5, 12], [5, 19], [8, 1]]
call writefile([&filetype . ' ' . &shiftwidth] + map(places, 'synIDattr(synID(v:val[0], v:val[1], 1), "name")'), 'shown')
qall!
END
cat >expected <<'END'
tfy 4
tfyDoc
tfyDeclare
tfyArgument
tfyType
tfyString
tfyInterpolation
tfyDeclare
tfyNumber
tfySuspend
tfyCall
tfyControl
tfyNumber
tfyComment
tfyDeclare
END
colours_by()
{
    rm -f shown
    HOME=$PWD timeout 30 "$@" -i NONE -u NONE --cmd "set nocompatible runtimepath^=$vim_files" --cmd 'filetype plugin on' \
        --cmd 'syntax on' -S shown.vim shown.tfy </dev/null >vim.out 2>&1
    diff expected shown
}
if vim --version 2>/dev/null | grep -q '+syntax'; then
    check "vim's colours" colours_by vim -es
else
    echo "skipped vim: it is not installed, or has no syntax"
fi

# Neovim with the server: mistakes arrive, a name is found and changed, a test can be run.
cat >server.lua <<'END'
vim.opt.runtimepath:prepend(vim.env.VIM_FILES)
require('tfy').setup()
vim.cmd('filetype plugin on')
vim.cmd('edit wrong.tfy')
local lines = {}
local function ask(method, more)
    local params = vim.tbl_extend('force', vim.lsp.util.make_position_params(), more or {})
    for _, answer in pairs(vim.lsp.buf_request_sync(0, 'textDocument/' .. method, params, 20000) or {}) do return answer.result end
end
vim.wait(20000, function() return #vim.diagnostic.get(0) > 0 end, 20)
table.insert(lines, (vim.diagnostic.get(0)[1] or {}).message)
vim.cmd('edit! shown.tfy')
vim.wait(20000, function() return #vim.lsp.buf_get_clients(0) > 0 end, 20)
vim.api.nvim_win_set_cursor(0, { 3, 9 })
table.insert(lines, #ask('references', { context = { includeDeclaration = true } }) .. ' uses')
vim.lsp.util.apply_workspace_edit(ask('rename', { newName = 'pause' }), 'utf-16')
table.insert(lines, vim.api.nvim_buf_get_lines(0, 3, 4, true)[1])
local lens = ask('codeLens')[1].command
table.insert(lines, lens.title)
vim.lsp.commands[lens.command](lens)
vim.wait(20000, function() return vim.fn.search('passed', 'nw') > 0 end, 20)
table.insert(lines, vim.fn.getline(vim.fn.search('passed', 'nw')))
vim.fn.writefile(lines, 'told')
vim.cmd('qall!')
END
cat >expected_told <<'END'
unknown name 'nmae'; did you mean 'name'?
2 uses
    yield sleep(pause)
run test
1 test: 1 passed, 0 failed
END
told_by_server()
{
    HOME=$PWD VIM_FILES=$vim_files timeout 60 nvim --headless -i NONE -u NONE -c 'luafile server.lua' </dev/null >nvim.out 2>&1
    cat nvim.out
    diff expected_told told
}
if command -v nvim >/dev/null; then
    check "Neovim's colours" colours_by nvim --headless
    check "Neovim and the server" told_by_server
else
    echo "skipped Neovim: it is not installed"
fi
