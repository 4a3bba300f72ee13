#!/bin/sh
# conformance_client.sh URL: the client that the MCP conformance suite runs, over `tfy mcp`. TFY names the command.
#   conformance client --command 'sh tests/mcp/conformance_client.sh' --requirements 2026-07-28
# Logins go through as a person makes them: what a call says has to be typed is typed, and the browser is curl.
set -u
here=$(cd "$(dirname "$0")" && pwd)
tfy=${TFY:-tfy}
for url; do :; done

# call TOOL JSON: answers every question of the server with the same line; an empty one takes the defaults.
answer='{"confirmed":true}'
call() { printf '%s\n' "$answer" "$answer" "$answer" | "$tfy" mcp call "$1" "$2" "$url"; }

# The calls that the scenario wants, a line for each: its tool and its arguments.
calls_of_context()
{
    python3 -c '
import json, os
for call in json.loads(os.environ["MCP_CONFORMANCE_CONTEXT"])["toolCalls"]:
    print(call["name"], json.dumps(call["arguments"]), sep="\t")'
}

member() { python3 -c 'import json, os, sys; print(json.loads(os.environ["MCP_CONFORMANCE_CONTEXT"])[sys.argv[1]])' "$1"; }

# calls_with_login OPTION…: calls the only tool, and logs in with these options when the server wants that, three times at most.
calls_with_login()
{
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    export TFY_LOGINS="$scratch/logins.json" PATH="$here/browser:$PATH"
    logins=0
    until "$tfy" mcp call test-tool '{}' "$url" 2>"$scratch/err"; do
        cat "$scratch/err"
        words=$(sed -n 's/.* needs a login: tfy mcp login //p' "$scratch/err")
        [ -n "$words" ] && [ $((logins += 1)) -le 3 ] || exit 1
        eval "\"\$tfy\" mcp login \"\$@\" $words" || exit 1
    done
}

case ${MCP_CONFORMANCE_SCENARIO:-} in
auth/basic-cimd) calls_with_login --client-id https://conformance-test.local/client-metadata.json ;;
auth/pre-registration)
    export TFY_SECRET_CLIENT="$(member client_secret)"
    calls_with_login --client-id "$(member client_id)" --client-secret CLIENT --issuer "$(member issuer)"
    ;;
auth/*) calls_with_login ;;
tools_call) call add_numbers '{"a": 1, "b": 2}' ;;
sse-retry) call test_reconnection '{}' ;;
http-custom-headers)
    calls_of_context | while IFS="$(printf '\t')" read -r name arguments; do call "$name" "$arguments"; done
    ;;
elicitation-sep1034-client-defaults)
    answer=
    call test_client_elicitation_defaults '{}'
    ;;
http-standard-headers | http-invalid-tool-headers | sep-2322-client-request-state)
    "$tfy" mcp tools --json "$url" | python3 -c 'import json, sys
for tool in json.load(sys.stdin): print(tool["name"])' | while read -r name; do call "$name" '{}' </dev/null; done
    ;;
json-schema-2020-12-preservation)
    call json_schema_echo "$("$tfy" mcp tools --json "$url" | python3 -c 'import json, sys
print(json.dumps({"schema": next(t["inputSchema"] for t in json.load(sys.stdin) if t["name"] == "json_schema_2020_12_tool")}))')"
    ;;
*) "$tfy" mcp tools "$url" ;;
esac
