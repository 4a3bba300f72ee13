#!/bin/sh
# conformance_clients.sh BUILD: runs the MCP conformance suite against the client, conformance_client.sh over `tfy mcp`, by what both
# revisions require. It passes if nothing fails but what conformance_baseline.yaml names.
set -u
build=$(cd "${1:?usage: conformance_clients.sh BUILD}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/conformance_suite.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
export PATH="$build:$PATH" TFY="$build/tfy" NO_COLOR=1 no_proxy='*'
both_revisions client --command "sh $here/conformance_client.sh"
