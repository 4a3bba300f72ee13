#!/bin/sh
# conformance_client.sh URL: the client that the MCP conformance suite runs, over `tfy mcp`. TFY names the command.
#   conformance client --command 'sh tests/mcp/conformance_client.sh' --requirements 2026-07-28
set -u
tfy=${TFY:-tfy}
for url; do :; done

# call TOOL JSON: answers every question of the server with its defaults.
call()
{
    printf '%s\n' '{"confirmed":true}' '{"confirmed":true}' '{"confirmed":true}' | "$tfy" mcp call "$1" "$2" "$url"
}

# The calls that the scenario wants, a line for each: its tool and its arguments.
calls_of_context()
{
    python3 -c '
import json, os
for call in json.loads(os.environ["MCP_CONFORMANCE_CONTEXT"])["toolCalls"]:
    print(call["name"], json.dumps(call["arguments"]), sep="\t")'
}

case ${MCP_CONFORMANCE_SCENARIO:-} in
tools_call) call add_numbers '{"a": 1, "b": 2}' ;;
sse-retry) call test_reconnection '{}' ;;
http-custom-headers)
    calls_of_context | while IFS="$(printf '\t')" read -r name arguments; do call "$name" "$arguments"; done
    ;;
http-standard-headers | http-invalid-tool-headers | sep-2322-client-request-state | elicitation-sep1034-client-defaults)
    "$tfy" mcp tools --json "$url" | python3 -c 'import json, sys
for tool in json.load(sys.stdin): print(tool["name"])' | while read -r name; do call "$name" '{}' </dev/null; done
    ;;
json-schema-2020-12-preservation)
    call json_schema_echo "$("$tfy" mcp tools --json "$url" | python3 -c 'import json, sys
print(json.dumps({"schema": next(t["inputSchema"] for t in json.load(sys.stdin) if t["name"] == "json_schema_2020_12_tool")}))')"
    ;;
*) "$tfy" mcp tools "$url" ;;
esac
