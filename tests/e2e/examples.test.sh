#!/bin/sh
# Every example prints what its golden file says, and its history replays without a difference and without performing anything.
. "$here/lib.sh"

# The command of an example, run in a copy of its folder: `tfy run NAME.tfy` unless a file `command` says otherwise.
try_example()
{
    name=$1
    mkdir "$name"
    cp -R "$EXAMPLES/$name/." "$name"
    cd "$name" || return
    if [ -f command ]; then run sh ./command; else run tfy run "$name.tfy"; fi
    check "$name ends with 0" ended 0
    check "$name prints its golden output" diff expected out
    check "$name says nothing else" [ ! -s err ]
    files=$(ls ./*.c 2>/dev/null)
    run tfy replay last $files
    check "$name replays: 0 divergences, 0 effects performed" grep -q ' 0 divergences, 0 effects performed' out
    check "$name replays with status 0" ended 0
    cd ..
}

for folder in "$EXAMPLES"/*/; do
    [ ! -f "$folder/expected" ] || try_example "$(basename "$folder")"
done
