#!/bin/sh
# Usage: run.sh BUILD [DOCUMENT…]
# Runs what the documents show (README.md and docs/*.md by default). What is done with a fenced block stands behind its fence:
#
#   ```tfy              a whole file: tfyc must accept it
#   ```tfy refused      tfyc must refuse it with exit status 65
#   ```tfy NAME.tfy     the same two (`NAME.tfy refused`), and the file is kept under that name for the blocks behind it
#   ```c NAME, ```make NAME, ```meson NAME, ```json NAME, ```yaml NAME, ```conf NAME, ```ini NAME, ```script NAME    kept under that name
#   ```sh               commands that must succeed; what they print is not compared
#   ```console          a transcript: lines with `$ ` are commands, the others what they print on stdout and stderr
#   ```text             only to be read
#
# A name with a directory (examples/hello/hello.tfy) is a file of the repository, and the block must be its text. A fence with nothing behind
# it fails, so that no example escapes by accident. All blocks of a document run in one scratch directory, in order, where `build` and
# `examples` lead to the build and to a copy of the examples; the files of tests/docs/with are there too. In transcripts a line `...` stands for any lines; ids of runs, digests, times and
# durations are not compared. Prints the difference for each failing block, then "N passed, N failed".
set -u
build=$(cd "${1:?usage: run.sh BUILD [DOCUMENT...]}" && pwd)
shift
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
[ $# -gt 0 ] || set -- "$root/README.md" "$root"/docs/*.md
# Nobody's own settings are read, or changed.
mkdir "$scratch/home"
export build here root scratch HOME="$scratch/home" XDG_CACHE_HOME="$scratch/cache" NO_COLOR=1 CFLAGS="${CFLAGS--g0 -Wl,-S}" PATH="$build:$PATH"
unset TFY_DB TFY_LLM_URL TFY_LLM_MODEL TFY_LLM_KEY TFY_LLM_KEY_FILE

cat >"$scratch/one.sh" <<'ONE'
# One document, in a directory of its own.
set -u
document=$1
name=$(basename "$document")
blocks=$scratch/$name.blocks
mkdir "$blocks" "$scratch/$name.dir" && cd "$scratch/$name.dir" || exit 1
ln -s "$build" build
cp -r "$root/examples" examples
cp "$here"/with/* .
awk -v dir="$blocks" -f "$here/blocks.awk" "$document"

ok() { echo "ok $name:$line"; }
not_ok() { echo "not ok $name:$line: $*"; }

# What differs from one run to the next, made equal on both sides.
plain() {
    sed -E -e 's/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/RUN/g' \
        -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z?/TIME/g' \
        -e 's/ +[0-9]+(\.[0-9]+)? (ms|s|min)( |$)/ TOOK\3/g' -e 's/\b[0-9a-f]{16}\b/DIGEST/g' -e 's/\b[0-9a-f]{40}\b/SHA/g' -e 's/\b[0-9a-f]{12}\b/HASH/g' \
        -e 's/"(due|pid)":[0-9]+/"\1":N/g' -e 's/(index )[0-9a-f]+\.\.[0-9a-f]+/\1A..B/'
}

keep() { # FILE: keeps the block, or compares it with what is there
    case $1 in
    examples/*)
        if ! diff -u "$1" "$text" >"$blocks/diff"; then
            not_ok "differs from $1"
            cat "$blocks/diff"
            return 1
        fi ;;
    *) cp "$text" "$1" ;;
    esac
}

compile() { # FILE, WANTED STATUS
    "$build/tfyc" --check "$1" >"$blocks/said" 2>&1
    status=$?
    if [ "$status" = "$2" ]; then
        ok
    else
        not_ok "tfyc --check ended with $status instead of $2"
        cat "$blocks/said"
    fi
}

commands() {
    timeout -k 5 120 sh -eu "$text" >"$blocks/said" 2>&1 </dev/null
    status=$?
    if [ $status = 0 ]; then
        ok
    else
        not_ok "the commands ended with $status"
        cat "$blocks/said"
    fi
}

# Makes a script that prints each command as the transcript shows it, runs it, and keeps its status for the next one's $?.
transcript() {
    awk '/^\$ / || more {
            command = more ? command "\n" $0 : substr($0, 3)
            more = /\\$/
            if (more) next
            quoted = command
            gsub(/\047/, "\047\\\047\047", quoted)
            printf "status=$?\nprintf \047$ %%s\\n\047 \047%s\047\n(exit $status)\n%s\n", quoted, command
            # What was killed takes a moment to be gone, and holds its lock until then.
            if (command ~ /kill -(9|KILL) \$!/) print "status=$?; wait $! 2>/dev/null; (exit $status)"
        }' "$text" >"$blocks/script"
    timeout -k 5 120 sh "$blocks/script" >"$blocks/said" 2>&1 </dev/null
    plain <"$text" >"$blocks/wanted"
    plain <"$blocks/said" >"$blocks/actual"
    if awk -f "$here/match.awk" "$blocks/wanted" "$blocks/actual"; then
        ok
    else
        not_ok "prints something else"
        diff -u "$blocks/wanted" "$blocks/actual"
    fi
}

for info in "$blocks"/*.info; do
    [ -e "$info" ] || break
    text=${info%.info}.text
    line=$(cat "${info%.info}.line")
    set -f
    # shellcheck disable=SC2046 # words behind the fence
    set -- $(cat "$info")
    set +f
    case ${1:-} in
    tfy)
        file=$(basename "$blocks")-$line.tfy wanted=0
        for word in "$@"; do
            case $word in
            *.tfy) file=$word ;;
            refused) wanted=65 ;;
            esac
        done
        keep "$file" && compile "$file" $wanted ;;
    c | make | meson | json | yaml | conf | ini | script) keep "${2:?a block of $1 needs a name}" ;;
    sh) commands ;;
    console) transcript ;;
    text) ;;
    *) not_ok "nothing says what is to be done with a block '${1:-}'" ;;
    esac
done
exit 0
ONE

# Where no sandbox can be built, what is shown of one cannot be run.
confined=yes
"$build/tfy" doctor --sandbox >/dev/null 2>&1 || confined=no

for document in "$@"; do
    case $document in *safety.md) [ "$confined" = yes ] || { echo "skipped safety.md: no sandbox can be built here" >&2; continue; } ;; esac
    case $document in /*) echo "$document" ;; *) echo "$(pwd)/$document" ;; esac
done | xargs -n 1 -P 2 sh -c 'sh "$scratch/one.sh" "$1" >"$scratch/$(basename "$1").said" 2>&1 ||
    echo "not ok $(basename "$1"): its blocks could not be run" >>"$scratch/$(basename "$1").said"' sh

cat /dev/null "$scratch"/*.said >"$scratch/all" 2>/dev/null
passed=$(grep -c '^ok ' "$scratch/all")
failed=$(grep -c '^not ok ' "$scratch/all")
grep -v '^ok ' "$scratch/all"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
