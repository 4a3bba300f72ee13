#!/bin/sh
# pictures.sh BUILD DIRECTORY [NAMES]: pictures of the page of tfy serve, made with the server of ./dev demo --serve; NAMES are those of
# pictures.mjs, with commas between them. It prints what pictures.mjs prints.
set -u
build=$(cd "$1" && pwd) directory=$2 names=${3:-}
root=$(cd "$(dirname "$0")/../../.." && pwd)
shown=$(mktemp)
TFY=$build/tfy sh "$root/examples/serve.sh" --listen 127.0.0.1:0 >"$shown" 2>&1 &
server=$!
trap 'kill -TERM "$server" 2>/dev/null; wait "$server"; rm -f "$shown"' EXIT
tries=0
until grep -q '#login=' "$shown" || [ $((tries += 1)) -gt 600 ]; do kill -0 "$server" 2>/dev/null || break; sleep 0.1; done
node "$root/tests/e2e/page/pictures.mjs" "$(sed -n 's/^ *\(http:.*#login=.*\)$/\1/p' "$shown")" "$root/build/npm/node_modules" "$directory" $names
