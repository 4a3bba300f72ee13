#!/bin/sh
# The language server, spoken to over its protocol: every tests/lsp/NAME.lsp is a script for the client, NAME.expected what it prints.
. "$here/lib.sh"
scripts=$here/../lsp

follows_script()
{
    mkdir -p "$1" && cd "$1" || return 1
    timeout 60 lsp_client "$scripts/$1.lsp" "$TFY" lsp >"$1.actual" || return 1
    if [ "${UPDATE:-}" = 1 ]; then cp "$1.actual" "$scripts/$1.expected"; fi
    diff -u "$scripts/$1.expected" "$1.actual"
}
PATH=$build/tests:$PATH
for script in "$scripts"/*.lsp; do
    name=$(basename "$script" .lsp)
    (check "$name" follows_script "$name")
done
