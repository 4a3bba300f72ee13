#!/bin/sh
# tests/fault/run.sh BUILD [I/N]: every allocation, write, sync and open of a run made to fail, once and for ever; and of a run that is taken up
# again, from its records or from a snapshot, that leaves memory and comes back; and of the commands that change or copy databases.
# The process has to end with a status and a sentence, never by a signal; and then the run goes on, without faults, to the end that it
# would have come to: the same result, everything once that is `once`, and nothing lost that was said. A sample; I/N: of all of them each N-th.
# With a build that has sanitizers, and their flags in $CFLAGS, nothing may be leaked either.
set -u
build=$(cd "${1:?usage: run.sh BUILD [I/N]}" && pwd)
dense=${2:-}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
export XDG_CACHE_HOME="$scratch/cache" NO_COLOR=1
unset TFY_DB TFY_LLM_URL
. "$here/lib.sh"
cd "$scratch" || exit 1
make_inject || exit 1
without_curl || exit 1
. "$here/clocks.sh"
. "$here/programs.sh"
. "$here/commands.sh"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
