#!/bin/sh
# Usage: lang.sh BUILD [NAME…]
# Runs the language from end to end: every lang/NAME.tfy is compiled by BUILD/tfyc and the C compiler with -Wall -Wextra -Werror, run, and
# replayed. NAME.expected has what it prints, then its messages behind "err: ", then `exit N`. Replay must find 0 divergences.
#
# In the program's first lines, `// args: --n 3` gives arguments, `// no replay` says that nothing was recorded that could be replayed;
# NAME.c beside it has its extern tools, the directory NAME the files it imports. With KILL_AT ("point:7 after:3") every program is also killed at these stops and commits,
# resumed, and must have told the same in the end (`// kill at: point:4` names further ones, `// no kill` says that the clock or a tool of the program does not allow that). COMPACT=1: before
# it is resumed it loses the records behind its snapshot, and must end the same without them; COMPACT=carry: in another database, COMPACT=fork: as a fork that is made then. MOVE=1: it is resumed with
# another program, which has more in every workflow and before all of them, so that points, routines and slots have other numbers, and does the same.
#
# Prints the difference for each failing test, then "N passed, N failed". UPDATE=1 writes the expected files anew; read the diff.
set -u
build=$(cd "${1:?usage: lang.sh BUILD [NAME...]}" && pwd)
shift
cd "$(dirname "$0")/lang" || exit 1
here=$(pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
export build here work XDG_CACHE_HOME="$work/cache" NO_COLOR=1 CFLAGS="-Wall -Wextra -Werror ${CFLAGS--g0 -Wl,-S}" TFY="$build/tfy"
unset TFY_DB TFY_LLM_URL TFY_LLM_MODEL TFY_LLM_KEY TFY_LLM_KEY_FILE TFY_TEST_KILL
# LSAN cannot look for leaks in a process that was killed; others must not leak.
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_stack_use_after_return=1}" UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export kills=no
if [ -n "${KILL_AT:-}" ]; then kills=yes; fi

# One program, in a directory of its own; its status and what is to be said about it end in $work.
cat >"$work/one.sh" <<'END'
set -u
name=$1
mkdir "$work/$name" && cd "$work/$name" || exit 1
cp "$here/$name.tfy" . || exit 1
extra=
if [ -e "$here/$name.c" ]; then cp "$here/$name.c" . && extra=$name.c; fi
if [ -d "$here/$name" ]; then cp -r "$here/$name" .; fi
args=$(sed -n '1,5s|^// args: ||p' "$name.tfy")
yes= # a resumed run is told again who answers
case " $args " in *" --yes "*) yes=--yes ;; esac
# Messages name no run and no directory.
said() { sed -e 's/[0-9a-f]\{8\}-[0-9a-f-]\{27\}/RUN/g' -e 's/^/err: /' "$1"; }
problem() { echo "not ok - $name: $*"; bad=1; }
replayed() { # what was done before
    timeout 120 "$TFY" replay last $extra --db runs.db >replay.out 2>replay.err </dev/null
    status=$?
    if [ $status != 0 ] || ! grep -q ' 0 divergences, 0 effects performed' replay.out; then
        problem "$1replay ended with $status"
        head -n 6 replay.out replay.err
    fi
}
compacted() {
    timeout 120 "$TFY" gc --compact $extra --db runs.db >gc.out 2>gc.err </dev/null
    status=$?
    [ $status = 69 ] && grep -q 'no database' gc.err && return # killed before there was anything
    if [ $status != 0 ] || grep 'stays as it is' gc.err; then problem "gc --compact ended with $status: $(cat gc.err)"; fi
    "$TFY" verify --db runs.db >verified 2>&1 || problem "compacted: $(cat verified)"
    case $COMPACT in
    carry) carried ;;
    fork) forked ;;
    esac
}
carried() { # into another database, unless a step that is under way would be in doubt there
    "$TFY" wal export last -o lines --db runs.db >export.out 2>&1 || { grep -q 'no runs yet' export.out || problem "exported: $(cat export.out)"; return; }
    "$TFY" wal import lines/*.run --db there.db --json >import.out 2>&1 || { problem "imported: $(cat import.out)"; return; }
    grep -q '"in_doubt":0' import.out || return
    rm -rf runs.db runs.db-*
    for file in there.db*; do mv "$file" "runs${file#there}"; done
}
forked() { # where its root stands; a step under way is done again
    step=$(sqlite3 -readonly runs.db "select max(step) from wal where tid=(select root from run order by id desc limit 1) and type not in (7,8,11,12,13,24,33,35)")
    [ -n "$step" ] || return
    "$TFY" fork last --at "$step" --db runs.db >fork.out 2>fork.err || { problem "forked at $step: $(cat fork.err)"; return; }
    sed -n 's/.* resolve \([0-9a-f-]*\) \([0-9]*\) --task \([0-9.]*\) .*/\1 \2 --task \3 --retry/p' fork.err >doubts
    while read -r doubt; do "$TFY" resolve $doubt --db runs.db >resolved 2>&1 || problem "resolve $doubt: $(cat resolved)"; done <doubts
}
# On the lines that are there, for messages name them.
changed() {
    mkdir changed && cp -r "$here/$name"* changed && rm changed/*.expected
    awk 'NR == 1 { printf "%s", "workflow zz_more(n: int) -> int { let all = parallel for i in 1..n { yield; give i * 2 }; return all.len() } " }
        /^workflow .*[{]$/ { $0 = $0 " if \"zz\".len() > 3 { let zz = 3; let zy = yield zz_more(zz) }" }
        { print }' "$here/$name.tfy" >"changed/$name.tfy"
}
killed_at() {
    eval TFY_TEST_KILL=$1 timeout 120 '"$TFY"' run '"$name.tfy"' $extra --db runs.db "$args" >k.out 2>k.err </dev/null
    status=$?
    [ $status = 137 ] || return
    [ -z "${COMPACT:-}" ] || compacted
    with=
    [ -z "${MOVE:-}" ] || { changed && with="--with changed/$name.tfy"; }
    timeout 120 "$TFY" resume last $with $extra $yes --db runs.db >r.out 2>r.err </dev/null
    status=$?
    # What a kill at the first commit leaves may be nothing.
    if [ $status = 69 ] && grep -q 'no run\|no database' r.err; then return; fi
    "$TFY" output last --db runs.db >resumed 2>/dev/null
    echo "exit $status" >r.end
    grep '^exit' ../actual >end
    if ! grep -q 'has already ended' r.err; then # a run that ended before the kill only says so
        grep '^tfy: ' r.err | sed 's/[0-9a-f]\{8\}-[0-9a-f-]\{27\}/RUN/g' >>r.end # other lines are news of what happened meanwhile
        grep '^tfy: ' ../err | sed 's/[0-9a-f]\{8\}-[0-9a-f-]\{27\}/RUN/g' >>end
    fi
    if [ -n "${COMPACT:-}" ]; then # not all is told that was printed before
        "$TFY" verify --db runs.db >verified 2>&1 || problem "killed at $1, compacted and resumed: $(cat verified)"
        grep -Fvxf ../whole resumed >other && problem "killed at $1, compacted and resumed, it prints: $(cat other)"
        cp ../whole resumed
    fi
    if ! cmp -s ../whole resumed || ! cmp -s end r.end; then
        problem "killed at $1 and resumed, it ends otherwise"
        diff -u ../whole resumed | head -n 20 | cut -c1-200
        diff -u end r.end | head -n 20 | cut -c1-200
    fi
    replayed "killed at $1 and resumed, "
}
bad=0
eval timeout 120 '"$TFY"' run '"$name.tfy"' $extra --db runs.db "$args" >out 2>err </dev/null
status=$?
{ cat out; said err; echo "exit $status"; } >actual
if [ "${UPDATE:-}" = 1 ]; then cp actual "$here/$name.expected"; fi
if ! cmp -s "$here/$name.expected" actual; then
    problem "other output"
    diff -u "$here/$name.expected" actual 2>&1 | head -n 25 | cut -c1-200
fi
grep -q '^// no replay' "$name.tfy" || replayed ""
if [ "$kills" = yes ] && ! grep -q '^// no replay\|^// no kill' "$name.tfy"; then
    "$TFY" output last --db runs.db >whole 2>/dev/null
    for at in $KILL_AT $(sed -n '1,5s|^// kill at: ||p' "$name.tfy"); do
        # In a directory of its own, so that it finds no files of another.
        mkdir "at.$at" && cd "at.$at" || exit 1
        cp -r ../"$name"* .
        killed_at "$at"
        cd ..
    done
fi
[ -z "${KEEP:-}" ] && rm -rf "$work/$name"
exit $bad
END

if [ $# = 0 ]; then
    for file in *.tfy; do set -- "$@" "${file%.tfy}"; done
fi
printf '%s\n' "$@" | xargs -n 1 -P "${JOBS:-2}" sh -c 'sh "$work/one.sh" "$1" >"$work/$1.said" 2>&1; echo $? >"$work/$1.status"' sh

passed=0
failed=0
for name in "$@"; do
    if [ "$(cat "$work/$name.status")" = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        cat "$work/$name.said"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
