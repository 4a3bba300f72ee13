#!/bin/sh
# tests/crash/run.sh BUILD [quick]: SIGKILL at commits, at stops of a task and at system calls, in nine programs; after each the run is taken up
# again until it ends, and nothing may tell that anything happened. The ledger is killed at every commit and stop, the others at a sample, the same
# each time; `./dev soak crash calls` kills all of them everywhere. quick: a tenth of the places, for slow builds.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
. "$root/tests/crash/lib.sh"
crash_build "$1"

if [ "${2:-}" = quick ]; then
    crash_ledger --every 12 --kinds commit,point,double,drain,mouth,elsewhere
    crash_team --every 20 --kinds commit,point,double,drain,mouth,elsewhere
    crash_code_agent --every 20 --kinds commit,point,double,drain,mouth,elsewhere
    crash_desk --every 16 --kinds commit,point,double,drain,mouth,elsewhere
    crash_coder --every 24 --kinds commit,point,double
    crash_land --every 16 --kinds commit,point,double
    crash_support --every 18 --kinds commit,point,double,drain
    crash_reader --every 12 --kinds commit,point
    crash_orphans --every 6 --kinds family
else
    crash_ledger --kinds commit,point
    crash_ledger --kinds call,resume,double,drain,mouth,elsewhere --every 6
    crash_team --kinds commit,point --every 12
    TFY_SNAPSHOT_EVERY=1 crash_team --kinds commit,point --every 12 # taken up from a snapshot each time
    crash_team --kinds call,resume,double,drain,mouth,elsewhere --every 24
    crash_code_agent --kinds commit,point --every 3
    crash_code_agent --kinds double,drain,mouth,elsewhere --every 9
    crash_code_agent --kinds call,resume --every 50
    crash_coder --kinds commit,point --every 8
    TFY_SNAPSHOT_EVERY=1 crash_coder --kinds commit,point --every 24
    crash_coder --kinds call --every 120
    crash_land --kinds commit,point
    crash_land --kinds double --every 8
    crash_land --kinds call,resume --every 24
    crash_support --kinds commit,point,double --every 6
    crash_support --kinds call,resume --every 24
    crash_desk --kinds commit,point --every 4
    TFY_SNAPSHOT_EVERY=1 crash_desk --kinds commit,point --every 12
    crash_desk --kinds call,resume,double,drain,mouth,elsewhere --every 24
    crash_reader --kinds commit --every 2
    TFY_SNAPSHOT_EVERY=1 crash_reader --kinds point --every 10
    crash_orphans --kinds family --every 3
    crash_orphans --kinds commit,double --every 12
fi
[ "$failed" = 0 ] || trap - EXIT # what a failed trial left stays to be looked at
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
