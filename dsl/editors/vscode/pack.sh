#!/bin/sh
# pack.sh FILE.vsix: packs the extension with vsce, which must be in the PATH (npm install -g @vscode/vsce).
# The grammar is the one that all editors use; it is put in here, so there is no copy of it in the repository.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
cp "$here"/*.js "$here"/*.json "$here/README.md" "$here/../tfy.tmLanguage.json" "$stage/"
cp "$here/../../../LICENSE" "$stage/LICENSE.txt"
case $1 in /*) to=$1 ;; *) to=$PWD/$1 ;; esac
cd "$stage"
vsce package --no-dependencies --allow-missing-repository --out "$to"
