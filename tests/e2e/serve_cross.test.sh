#!/bin/sh
# What other pages can do to tfy serve through a browser, Chromium, that is logged in: read, start, frame, and a name that leads here.
. "$here/lib.sh"
. "$here/serve_lib.sh"
modules=$here/../../build/npm/node_modules
if [ ! -d "$modules/playwright-core" ] || ! command -v chromium >/dev/null; then
    echo "skipped: the browser, which './dev test' installs"
    exit 0
fi
cat >shop.tfy <<'END'
workflow order(n: int) -> int { return n }
END
serves shop.tfy --listen 127.0.0.1:0
run tfy token login
check "a login has an address" printed '#login='
timeout 120 node "$here/page/cross.mjs" "$(cat out)" "$TFY_DB-live/http" "$modules" || check "the browser's part ends" false
check "what they tried came here, and was refused" grep -q '403 for' served
ends
check "the server ends in order" [ $? = 0 ]
