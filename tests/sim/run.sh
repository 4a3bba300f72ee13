#!/bin/sh
# Usage: run.sh BUILD [--tools BUILD] [--programs N | --source FILE] [--keep DIR] [options of tests/sim/main.c: --seeds A..B --time SECONDS --jobs N --first --trace --hashes --cuts --workers N]
# The simulation (sim.h says what it is): compiles N generated programs (120), work.tfy, sockets.tfy and agents.tfy, links them with the runtime of BUILD and the simulated
# world, and runs the seeds. FILE instead: programs that were made before. The last line is "N passed, N failed". A seed that fails is run again with --seeds N --trace.
set -u
build=$(cd "${1:?usage: run.sh BUILD [--seeds A..B]}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
shift
programs=120 makers=$build source= keep= options= others="sockets.tfy agents.tfy"
while [ $# -gt 0 ]; do
    case $1 in
    --programs) programs=$2; shift ;;
    --tools) makers=$(cd "$2" && pwd) || exit 1; shift ;; # where the generator is, when it is not in BUILD
    --source) source=$2; shift ;;
    --keep) mkdir -p "$2" && keep=$(cd "$2" && pwd); shift ;;
    --workers) others=cluster.tfy options="$options $1 ${2:?run.sh: $1 needs a value}"; shift ;;
    --first | --trace | --hashes | --cuts) options="$options $1" ;;
    *) options="$options $1 ${2:?run.sh: $1 needs a value}"; shift ;;
    esac
    shift
done
work=$keep
if [ -z "$work" ]; then
    work=$(mktemp -d) || exit 1
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' INT TERM
fi
wraps=
for call in open64 stat64 fstatat64 access rename unlink mkdir fsync pread64 pwrite64 close getpid getrandom socket bind listen accept4 connect recv send poll \
    getsockopt setsockopt getsockname getpeername time tfy__lease_ahead; do
    wraps="$wraps -Wl,--wrap=$call"
done
if [ ! -x "$work/sim" ]; then
    if [ -n "$source" ]; then
        cp "$source" "$work/programs.tfy" || exit 1
    else
        # shellcheck disable=SC2086
        { "$makers/tests/diff/diff_gen" --sim 1 "$programs" && cd "$here" && cat work.tfy $others; } >"$work/programs.tfy" || exit 1
    fi
    "$build/tfyc" "$work/programs.tfy" -o "$work/programs.c" --no-main || exit 1
    if [ -z "${CC:-}" ] && command -v clang >/dev/null; then CC=clang; fi
    # shellcheck disable=SC2086
    ${CC:-cc} ${CFLAGS:--O0} -w -DTFY_POISON -I"$build" -c "$work/programs.c" -o "$work/programs.o" &&
        ${CC:-cc} ${CFLAGS:--O0} $wraps -o "$work/sim" "$work/programs.o" "$build/tests/sim/libsim.a" \
            "$build/runtime/libtfy.a" -lsqlite3 -ljansson -lcurl -lpcre2-8 -lm -lpthread || exit 1
fi
# shellcheck disable=SC2086
"$work/sim" $options
