#!/bin/sh
# The language server, spoken to over its protocol: every tests/lsp/NAME.lsp is a script for the client, NAME.expected what it prints.
# UPDATE=1 writes those anew instead; read the diff.
. "$here/lib.sh"
scripts=$here/../lsp
repository=$here/../..
PATH=$build/tests:$PATH

follows_script()
(
    mkdir -p "$1" && cd "$1" || exit 1
    timeout 60 lsp_client "$scripts/$1.lsp" "$TFY" lsp >actual || exit 1
    [ "${UPDATE:-}" != 1 ] || cp actual "$scripts/$1.expected"
    diff -u "$scripts/$1.expected" actual
)
for script in "$scripts"/*.lsp; do
    name=$(basename "$script" .lsp)
    check "$name" follows_script "$name"
done

# Every program of the tests, broken ones too: each is opened, asked about at every line, and cut off in the middle.
sweep_script()
{
    echo 'send {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}'
    echo 'read 1'
    find "$repository/tests/golden" -name '*.tfy' -size -8k | LC_ALL=C sort | while read -r program; do
        LC_ALL=C grep -q '[^ -~	]' "$program" && continue # this client counts bytes
        echo "open a.tfy <<"
        awk 1 "$program"
        echo ">>"
        echo "symbols a.tfy"
        awk 'NR < 80 { for (at = 6; at < length($0); at += 9) {
                printf "hover a.tfy %d:%d\n", NR, at; if (at % 2) printf "definition a.tfy %d:%d\n", NR, at
                else printf "signature a.tfy %d:%d\nprepare a.tfy %d:%d\n", NR, at, NR, at } }
            NR % 7 == 3 { printf "references a.tfy %d:9\nrename a.tfy %d:9 another\n", NR, NR }
            NR % 9 == 5 { printf "complete a.tfy %d:%d nothing\n", NR, length($0) + 1 }
            END { printf "tokens a.tfy\nlenses a.tfy\nactions a.tfy 1:1-%d:1\nformat a.tfy\nchange a.tfy %d:3-%d:1 \".\"\ncomplete a.tfy %d:4 nothing\nclose a.tfy\n", NR + 1, NR / 2 + 1, NR + 9, NR / 2 + 1 }' "$program"
    done
    echo end
}
sweeps()
{
    sweep_script >sweep.lsp
    timeout 250 lsp_client sweep.lsp "$TFY" lsp >sweep.out || return 1
    tail -n 1 sweep.out
    [ "$(tail -n 1 sweep.out)" = "the server ended with 1" ] # nobody said shutdown
}
check "every program of the tests" sweeps

# Thousands of broken programs, one after the other: what is understood of a program with mistakes is checked on.
mutants()
{
    echo 'send {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}'
    echo 'read 1'
    find "$repository/tests/golden" -name '*.tfy' -size -6k | LC_ALL=C sort | while read -r program; do
        iconv -f utf-8 -t utf-8 "$program" >/dev/null 2>&1 && awk -v step=12 -f "$scripts/mutate.awk" "$program"
    done
    echo end
}
survives_mutants()
{
    mutants >mutants.lsp
    timeout 250 lsp_client mutants.lsp "$TFY" lsp >mutants.out || return 1
    grep -c '^change' mutants.lsp
    [ "$(tail -n 1 mutants.out)" = "the server ended with 1" ]
}
check "broken programs" survives_mutants
