#!/bin/sh
# The command line of the MCP inspector, in each of its eras, takes tools of a served program to their results.
. "$here/lib.sh"
. "$here/serve_lib.sh"
modules=$here/../../build/npm/node_modules
inspector=$modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js
node=$(ls -d "$modules"/node-linux-*/bin/node 2>/dev/null | head -n 1)
if [ ! -f "$inspector" ] || ! "${node:-node}" --version >/dev/null 2>&1; then
    echo "skipped: the MCP inspector, which './dev test' installs"
    exit 0
fi
export HOME="$PWD/home" TFY_DB="$PWD/runs.db"
mkdir "$HOME"
cp "$here/mcp_offers.tfy" offers.tfy

# inspects ERA METHOD WORDS…: over standard files with a server of its own, or over HTTP at $url.
inspects()
{
    era=$1 method=$2
    shift 2
    if [ -n "${url:-}" ]; then
        run timeout 60 "${node:-node}" "$inspector" --cli --protocol-era "$era" --server-url "$url" \
            --header "Authorization: Bearer $(cat all)" --format json --method "$method" "$@" </dev/null
    else
        run timeout 60 "${node:-node}" "$inspector" --cli --protocol-era "$era" --format json --method "$method" "$@" \
            -- tfy mcp serve offers.tfy --db "$TFY_DB" --hold 400ms </dev/null
    fi
}
opens()
{
    serves offers.tfy --mcp --hold 400ms --listen 127.0.0.1:0
    url=$(sed -n 's,.*\(http://127.0.0.1:[0-9]*\)$,\1/mcp,p' served)
}

# A server that has just begun may not have taken the run up yet.
approved() { within 30 sh -c 'tfy approve last 2>>err'; }

for era in legacy auto modern; do
    inspects $era tools/list
    check "$era: the tools" printed "Doubles a number."
    inspects $era tools/call --tool-name double --tool-arg n=21
    check "$era: a call" printed '"structuredContent":{"result":42}'
    inspects $era tools/call --tool-name fails
    check "$era: an error" grep -q "Broken: it is broken" out err
done

opens
tfy token create all --roles operator,approver --rate none >all 2>>err
for era in legacy auto modern; do
    inspects $era tools/call --tool-name slow --tool-arg ms=1500
    check "$era, over HTTP: a run that takes longer than a call waits" printed '"slept"'
    (within 30 sh -c 'tfy inspect last | grep -q "really?"'; sleep 1; approved) &
    inspects $era tools/call --tool-name approved
    check "$era: a question that somebody else answers" printed '"done"'
    wait $!
done

# The client and the server end, and both come back. The key makes it the same run.
for era in legacy modern; do
    timeout 3 "${node:-node}" "$inspector" --cli --protocol-era $era --server-url "$url" --header "Authorization: Bearer $(cat all)" \
        --method tools/call --tool-name approved --metadata "tfy/key=$era/1/1" </dev/null >/dev/null 2>&1
    ends
    check "$era: the question is open when the server has ended" sh -c 'tfy inspect last | grep -q "really?"'
    opens
    approved
    inspects $era tools/call --tool-name approved --metadata "tfy/key=$era/1/1"
    check "$era: a question that is answered a process later" printed '"done"'
done
check "each was one run" [ "$(wc -l <approved)" = 5 ]
ends
