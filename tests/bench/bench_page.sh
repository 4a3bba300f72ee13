#!/bin/sh
# bench_page SOURCES: the page of tfy serve in Chromium (page.mjs, in SOURCES), with a run of 100,000 steps. It runs in the build's
# directory, as all measurements do. Node and Chromium are for tests alone: without them it measures nothing, and says so.
set -eu
here=$(cd "$1" && pwd)
modules=$here/../../build/npm/node_modules
if [ ! -d "$modules/playwright-core" ] || ! command -v node >/dev/null || ! command -v chromium >/dev/null; then
    echo "bench_page: skipped: the browser, which './dev test' installs" >&2
    exit 0
fi
db=bench-page.db
rm -rf "$db"* bench-page.tfy
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null || true; rm -rf "$db"* bench-page.tfy' EXIT
echo 'workflow counting(n: int) { var i = 0; while i < n { yield sleep(0ms); i += 1 } }' >bench-page.tfy
./tfy serve bench-page.tfy --db "$db" --no-tcp >&2 &
server=$!
http() { curl -sS --max-time 90 --unix-socket "$db-live/http" -H 'Content-Type: application/json' "$@"; }
tries=0
until http -f http://x/readyz >/dev/null 2>&1 || [ $((tries += 1)) -gt 300 ]; do sleep 0.1; done
run=$(http -H 'Prefer: wait=60' -d '{"args": {"n": 100000}}' http://x/v1/programs/bench-page/workflows/counting/runs | sed 's/.*"id":"\([^"]*\)".*/\1/')
node "$here/page.mjs" "$db-live/http" "$run" "$modules"
