# conformance_suite.sh: what runs the MCP conformance suite, for a script that has set build and here. CONFORMANCE is the folder of
# the suite (else that of BUILD/npm), NODE a node of version 22 or newer (else BUILD/npm's). Without them the script ends.
suite=${CONFORMANCE:-$build/npm/node_modules/@modelcontextprotocol/conformance}
node=${NODE:-$(ls -d "$build"/npm/node_modules/node-linux-*/bin/node 2>/dev/null | head -n 1)}
if [ ! -f "$suite/dist/index.js" ] || ! "${node:-node}" --version >/dev/null 2>&1; then
    echo "skipped: the MCP conformance suite, which './dev test' installs"
    exit 0
fi

# both_revisions server|client OPTION…: what both revisions require of it, a summary of each on stdout. The script fails if
# anything does that conformance_baseline.yaml does not name.
both_revisions()
{
    failed=0
    for revision in 2026-07-28 2025-11-25; do
        timeout 300 "${node:-node}" "$suite/dist/index.js" "$@" --requirements $revision \
            --expected-failures "$here/conformance_baseline.yaml" >"$revision.log" 2>&1 || failed=1
        sed -n '/=== .*SUMMARY ===/,$p' "$revision.log" >summary
        echo "$revision: $(grep -c '^✓' summary) scenarios pass, $(grep -c '^✗' summary) do not"
        grep '^✗' summary
        sed -n '/^Total:/,$p' summary | sed 1d
    done
    exit $failed
}
