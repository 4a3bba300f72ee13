#!/bin/sh
# What we send to models' endpoints means what the SDKs of their makers send in the same conversation.
. "$here/lib.sh"
modules=$here/../../build/npm/node_modules
node=$(ls "$modules"/node-linux-*/bin/node 2>/dev/null | head -n 1)
if [ -z "$node" ]; then
    echo "skipped: the SDKs are not installed ('./dev test' installs them)"
    exit 0
fi
cat >sdks.tfy <<'END'
type Report { summary: string, files: list<string> }

/// Twice as much.
fn double(n: int) -> int { return 2 * n }

/// Finds a word.
fn find(
    /// as it is written
    word: string,
    limit: int = 3,
) -> string { return "${word}: line 1" }

prompt helper(goal: string) -> string {
    system "You help."
    user goal
    tools { double, find }
}

prompt typed(goal: string) -> Report {
    system "You help."
    user goal
}

workflow main(goal: string) -> string {
    let said = yield helper(goal)
    let report = yield typed(goal)
    return "${said} ${report.summary}"
}
END
unset TFY_MODELS
export NODE_PATH="$modules"
for api in chat responses messages; do
    for how in whole streamed; do check "$api, $how" "$node" "$here/../llm/sdks.js" $api "$TFY" $how; done
done
