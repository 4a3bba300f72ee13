#!/bin/sh
# /openapi.json with the tools that others read it with: redocly lints it, openapi-typescript and tsc make a client of it, and
# ajv compares every answer of every route with what it says.
. "$here/lib.sh"
. "$here/serve_lib.sh"
modules=$here/../../build/npm/node_modules
node=$(ls "$modules"/node-linux-*/bin/node 2>/dev/null | head -n 1)
if [ -z "$node" ] || [ ! -e "$modules/@redocly/cli" ]; then
    echo "skipped: redocly and the others are not installed ('./dev test' installs them)"
    exit 0
fi
cat >shop.tfy <<'END'
/// How large it is.
enum Size {
    /// fits a pocket
    small,
    large,
    made(width: int, note: string?),
}

/// One article of an order.
type Item {
    /// what it is called
    name: string,
    n: int,
    size: Size = Size.small,
    parts: list<Item> = [],
}

/// Places an order, and says what it comes to.
///
/// It has "quotes", <tags> and 100 %.
workflow order(
    /// who pays
    customer: string,
    articles: list<Item>,
    stock: map<string, int> = {},
    note: string?,
    weight: float = 1.0,
    due: time?,
    rest: json?,
) -> map<string, list<Size>> {
    print("${customer} ${stock.len()} ${weight} ${note == null} ${due == null} ${rest == null}")
    var sizes: list<Size> = []
    for item in articles { sizes = sizes.push(item.size) }
    return { "sizes": sizes }
}

workflow nothing() {
    print("nothing")
}
END
cat >desk.tfy <<'END'
/// What becomes of it.
enum Verdict { keep, drop }

workflow refund(who: string, cents: int) -> Verdict {
    let verdict: Verdict = yield approve("refund ${who} ${cents} cents?")
    return verdict
}

workflow waits() -> int {
    let n: int = yield signal("go")
    return n
}
END
echo 'a secret of a hook, long enough' >hook.key
chmod 600 hook.key
cat >serve.json <<'END'
{"schedules": {"nightly": {"cron": "30 2 * * *", "start": "shop.nothing"}},
 "hooks": {"github": {"scheme": "github", "secret_file": "hook.key", "dedupe": "X-GitHub-Delivery", "start": "shop.nothing"}},
 "followers": {"nowhere": {"to": "otlp+http://127.0.0.1:9"}}}
END
cp "$here/serve_openapi/"* .
ln -s "$modules" node_modules
serves shop.tfy desk.tfy --config serve.json --no-tcp
kill -0 "$server" || exit 1
ask http://x/openapi.json
mv out openapi.json
export PATH="${node%/*}:$PATH" REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true
lints() { node node_modules/@redocly/cli/bin/cli.js lint openapi.json --format json >lint 2>err && python3 -c '
import json
problems = json.load(open("lint"))["problems"]
assert not problems, problems[:5]'; }
check "redocly finds nothing to say" lints
check "openapi-typescript makes types of it" sh -c 'node node_modules/openapi-typescript/bin/cli.js openapi.json --default-non-nullable=false -o api.d.ts >said 2>&1 || { cat said; exit 1; }'
check "... with which a client compiles, and a wrong one does not" sh -c 'node node_modules/typescript/bin/tsc --noEmit --strict --skipLibCheck false --target es2022 --moduleResolution bundler --module esnext client.ts >said 2>&1 || { cat said; exit 1; }'
drives() { python3 drive.py "$TFY_DB-live/http" answers || { kill "$server"; return 1; }; }
check "every route answers, well and with a refusal" drives
check "... as the document says" node validate.mjs openapi.json answers
wait "$server"
check "drained by its route, it ends well" [ $? = 0 ]
