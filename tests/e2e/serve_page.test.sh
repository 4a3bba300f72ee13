#!/bin/sh
# The page of tfy serve in Chromium: every screen, wide and narrow, light and dark, by keyboard, in two languages; hostile texts; one stream
# for all tabs.
. "$here/lib.sh"
export TFY_DB="$PWD/runs.db"
unset TFY_TENANT
. "$here/serve_lib.sh"
modules=$here/../../build/npm/node_modules
if [ ! -d "$modules/playwright-core" ] || ! command -v chromium >/dev/null; then
    echo "skipped: the browser, which './dev test' installs"
    exit 0
fi
cat >shop.tfy <<'END'
/// One article of an order.
type Item { name: string, n: int }
error Declined { why: string }
tool price(name: string) -> int pure = exec ["echo", "450"]
/// Places an order: prices each article, and asks before it charges.
workflow order(customer: string, articles: list<Item>, express: bool = false) -> string {
    var sum = 0
    for item in articles {
        let cents = yield price(item.name)
        sum += cents * item.n
        print("${item.name}: ${sum}")
    }
    if yield approve("Charge ${customer} ${sum} cents?") { return "charged ${customer}" }
    fail Declined(why: "the customer said no")
}
/// Two sides of the same work.
workflow pair(n: int) -> int {
    let r = parallel {
        left: { var sum = 0; for i in 0..n { let cents = yield price("l${i}"); sum += cents }; give sum }
        right: { var sum = 0; for i in 0..n { let cents = yield price("r${i}"); sum += cents }; give sum }
    }
    return r.left + r.right
}
/// Says five million letters.
workflow loud() -> string {
    var text = "0123456789"
    while text.len() < 5000000 { text = text + text }
    print(text)
    yield sleep(0ms)
    return text
}
workflow counting(n: int) -> int {
    var i = 0
    while i < n { yield sleep(0ms); i += 1 }
    return i
}
END
cat >serve.json <<'END'
{"schedules": {"nightly": {"cron": "30 2 * * *", "zone": "Europe/Berlin", "start": "shop.counting", "args": {"n": 1}},
               "gone": {"cron": "@daily", "start": "shop.nothing"}}}
END
serves shop.tfy --config serve.json
ask http://x/
check "the page is there" has_header 'content-type: text/html'
check "... packed" has_header 'content-encoding: gzip'
etag=$(tr -d '\r' <head | sed -n 's/^[Ee][Tt]ag: //p')
ask -H "If-None-Match: $etag" http://x/
check "... and not sent twice" [ "$status" = 304 ]
ask http://x/web/views/nosuch.js
check "a file that is none is not found" says 404
timeout 280 node "$here/page/page.mjs" "$TFY_DB-live/http" "$modules" || check "the browser's part ends" false
ends
check "the server ends in order" [ $? = 0 ]
