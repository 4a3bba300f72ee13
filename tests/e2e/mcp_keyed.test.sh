#!/bin/sh
# A program that calls a workflow behind tfy mcp serve, either process killed at every commit: the workflow runs once.
. "$here/lib.sh"
cat >shop.tfy <<'TFY'
tool book(article: string) -> ExecResult idempotent = exec ["sh", "-c", "echo \"$0 $TFY_KEY\" >>placed", article]

/// Places an order.
workflow place(article: string) -> string {
    yield book(article)
    return "placed ${article}"
}
TFY
# The server; the file `kill` says at which commit its first process dies.
cat >shop.sh <<'SH'
if [ -s kill ] && mkdir died 2>/dev/null; then
    TFY_TEST_KILL=$(cat kill)
    export TFY_TEST_KILL
fi
exec tfy mcp serve shop.tfy --db shop.db
SH
cat >p.tfy <<'TFY'
mcp shop = exec ["sh", "shop.sh"] sandbox open { place: once }
workflow main() -> string { return yield shop.place("tea") }
TFY
run tfy mcp pull p.tfy
check "the server is pulled" ended 0
check "... which knows calls by their keys" grep -q '"keyed": true' shop.mcp.json
rm -rf shop.db* placed
once() { [ "$(sort -u placed | wc -l)" = 1 ] && [ "$(sqlite3 shop.db "SELECT count(*) FROM wal WHERE type = 1")" = 1 ]; }

# The server dies.
repeats=0
for moment in before after; do
    for n in 1 2 3 4 5 6; do
        rm -rf .tfy shop.db* placed died
        echo "$moment:$n" >kill
        run timeout 60 tfy run p.tfy
        check "the server dies $moment its commit $n" printed_exactly '"placed tea"'
        check "... and the workflow ran once" once
        [ "$(records TaskYield)" -eq 0 ] || repeats=$((repeats + 1))
    done
done
check "calls were made again" [ "$repeats" -ge 4 ]

# The client dies, and its server with it.
rm -f kill
kills=0
for moment in before after; do
    for n in 1 2 3 4; do
        rm -rf .tfy shop.db* placed
        TFY_TEST_KILL=$moment:$n run timeout 60 tfy run p.tfy
        [ "$status" = 0 ] || kills=$((kills + 1))
        [ "$status" = 0 ] || [ "$moment:$n" = before:1 ] || run timeout 60 tfy resume --db .tfy/runs.db
        [ "$moment:$n" != before:1 ] || run timeout 60 tfy run p.tfy
        check "the client dies $moment its commit $n" printed_exactly '"placed tea"'
        check "... and the workflow ran once" once
    done
done
check "the client was killed each time, but behind its end" [ "$kills" -ge 6 ]

# Who calls says in which span, and whoever is called hands the trace on.
cat >chain.sh <<'SH'
exec tfy mcp serve "$1.tfy" --db "$1.db"
SH
cat >depot.tfy <<'TFY'
/// Fetches an article.
workflow fetch(article: string) -> string { return "fetched ${article}" }
TFY
cat >counter.tfy <<'TFY'
mcp depot = exec ["sh", "chain.sh", "depot"] sandbox open { fetch: once }
/// Sells an article.
workflow sell(article: string) -> string { return yield depot.fetch(article) }
TFY
cat >buyer.tfy <<'TFY'
mcp counter = exec ["sh", "chain.sh", "counter"] sandbox open { sell: once }
workflow main() -> string { return yield counter.sell("tea") }
TFY
run tfy mcp pull counter.tfy
run tfy mcp pull buyer.tfy
run tfy run buyer.tfy --db buyer.db
check "a call that calls" printed_exactly '"fetched tea"'
label() { sqlite3 "$1.db" "SELECT payload->>'$.labels.traceparent' FROM wal WHERE type = 1"; }
run_id() { sqlite3 buyer.db "SELECT lower(hex(uuid)) FROM run"; }
check "the run that is called has the caller's span" sh -c 'echo "$1" | grep -qx "00-$2-[0-9a-f]\{16\}-01"' sh "$(label counter)" "$(run_id)"
check "... and so does the run that this one calls" sh -c 'echo "$1" | grep -qx "00-$2-[0-9a-f]\{16\}-01"' sh "$(label depot)" "$(run_id)"
check "... whose span is another one" [ "$(label depot)" != "$(label counter)" ]
