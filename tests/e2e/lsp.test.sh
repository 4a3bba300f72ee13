#!/bin/sh
# The language server, spoken to over its protocol: every tests/lsp/NAME.lsp is a script for the client, NAME.expected what it prints.
# UPDATE=1 writes those anew instead; read the diff.
. "$here/lib.sh"
scripts=$here/../lsp
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
