#!/bin/sh
# The examples that talk MCP: `review` is offered to a client, `librarian` uses servers that others wrote.
. "$here/lib.sh"
export PYTHONDONTWRITEBYTECODE=1 GIT_AUTHOR_DATE="2026-01-01T00:00:00Z" GIT_COMMITTER_DATE="2026-01-01T00:00:00Z"

# A repository with a branch that changes two files.
mkdir review
cp "$EXAMPLES"/review/review.tfy "$EXAMPLES"/review/session.jsonl review
cd review || exit 1
git init -q -b main .
git config user.email ann@shop.example
git config user.name ann
mkdir src docs
printf 'int half(int x)\n{\n    return x / 2;\n}\n' >src/half.c
echo "# Halves" >docs/half.md
git add src docs
git commit -qm "halves"
git checkout -qb faster
sed -i 's,x / 2,x >> 1,' src/half.c
echo "Halves numbers, fast." >>docs/half.md
git commit -qam "faster"
git checkout -q main
run timeout 100 python3 "$here/mcp_client.py" review -- sh -c 'exec tfy mcp serve review.tfy --prompt about --llm cassette:session.jsonl 2>>log'
check "review asks, and is answered by a later process" ended 0
[ "$status" = 0 ] || cat log
check "... in one run" [ "$(tfy ps --db .tfy/runs.db | grep -c completed)" = 1 ]
run tfy replay last
check "... which replays" ended 0
run tfy mcp call review '{"branch": "--output=stolen"}' -- tfy mcp serve review.tfy --llm cassette:session.jsonl
check "a branch is no option of git" [ ! -e stolen ]
cd ..

modules=$here/../../build/npm/node_modules
if [ ! -d "$modules/@modelcontextprotocol/server-memory" ] || ! command -v node >/dev/null; then
    echo "skipped: the servers of 'librarian' are not installed ('./dev test' installs them)"
    exit 0
fi
cp -R "$EXAMPLES/librarian" .
cd librarian || exit 1
python3 "$here/../npm/closure.py" "$modules" node_modules @modelcontextprotocol/server-filesystem @modelcontextprotocol/server-memory
run tfy mcp pull librarian.tfy --check
check "the servers are as they were pulled" ended 0
run tfy test librarian.tfy
check "librarian passes its test" ended 0

# Answered by a person, and killed before that at commit $1.
answered()
{
    rm -rf .tfy notes.jsonl
    TFY_TEST_KILL=$1 run timeout 60 tfy run librarian.tfy --llm cassette:session.jsonl
    [ "$status" = 75 ] || run timeout 60 tfy resume last
    check "... it waits for a person ($1)" ended 75
    tfy approve last --yes >/dev/null 2>&1
    run timeout 60 tfy resume last
    check "librarian keeps its report, killed $1" printed '"kept 1 report"'
    check "... once" [ "$(grep -c . notes.jsonl)" = 1 ]
}
for moment in before:3 after:5 before:8 after:11 after:999; do answered $moment; done
check "... with what the papers say" grep -q '"A tide can be 16 metres high. (tides.md)"' notes.jsonl
run tfy replay last
check "... which replays without the servers" ended 0
