#!/bin/sh
# The agent on a real repository: killed with SIGKILL while a command that the model chose is running, resumed, asked for, landed, replayed.
# `./dev demo` builds and calls this. With TFY_LLM_URL set a model is asked; otherwise its answers come from the recorded session beside this file.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tfy=${TFY:-$here/../../build/tfy}
work=$(mktemp -d "${TMPDIR:-/tmp}/tfy-demo.XXXXXX")
pid=
finish() {
    [ -z "$pid" ] || kill -9 "$pid" 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

# Colors are for terminals, and for people who want them.
bold= dim= plain=
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
    bold=$(printf '\033[1;36m') dim=$(printf '\033[2m') plain=$(printf '\033[0m')
fi
say() { printf '\n%s==> %s%s\n' "$bold" "$*" "$plain"; }
typed() { printf '%s$ %s%s\n' "$dim" "$*" "$plain"; }
show() { # a command as the reader would type it, then its output
    typed "tfy $*"
    "$tfy" "$@"
}
fail() {
    printf 'demo: %s\n' "$*" >&2
    exit 1
}

goal="Make the parser refuse ages that nobody can have"
say "A small C project in a git repository. Two of its tests fail."
cp -R "$here/../code_agent/sample" "$work/project"
cd "$work/project"
git init -q -b main
git config user.name "Demo"
git config user.email "demo@localhost"
git add -A
git commit -q -m "A parser that believes everything"
typed "make test"
make -s test || true

model=
if [ -z "${TFY_LLM_URL:-}" ]; then
    cp "$here/session.jsonl" "$work/session.jsonl"
    model="--llm cassette:../session.jsonl"
fi
cp "$here/coder.tfy" "$work/coder.tfy"
export TFY_DB="$work/runs.db"

say "An agent is to mend it: examples/coder/coder.tfy, 75 lines with its tests."
if [ -z "$model" ]; then
    echo "It asks ${TFY_LLM_MODEL:-the model} at $TFY_LLM_URL."
else
    echo "No model is set (TFY_LLM_URL), so its answers come from a recorded session."
fi
typed "tfy run coder.tfy --goal \"$goal\""
: >"$work/events"
# shellcheck disable=SC2086 # model is two words or none
"$tfy" run ../coder.tfy $model --events --goal "$goal" 2>"$work/events" </dev/null &
pid=$!

# The kill falls while the tests run for the second time: the model chose so, and has changed a file before.
tries=0
while [ "$(grep -c '"stage":"ToolExecutionStart","message":"run_tests"' "$work/events" 2>/dev/null)" -lt 2 ]; do
    kill -0 "$pid" 2>/dev/null || break
    tries=$((tries + 1))
    [ $tries -lt 60000 ] || fail "the agent does not get to its tests"
    sleep 0.01
done
if kill -9 "$pid" 2>/dev/null; then
    wait "$pid" 2>/dev/null || true
    say "Killed with SIGKILL while the tests ran, a step of the model's choice:"
    show inspect last
    say "It goes on where it was. Nothing is done or asked twice."
else
    wait "$pid" || true
    say "It was faster than the kill, and waits."
fi
pid=

# resume OPTION…: the run until it ends, or waits for a person.
resume() {
    status=0
    # shellcheck disable=SC2086
    "$tfy" resume last $model "$@" 2>"$work/said" || status=$?
    cat "$work/said"
    [ "$status" = 0 ] || [ "$status" = 75 ] || fail "the agent failed"
}
typed "tfy resume last --yes"
resume --yes </dev/null
while [ "$status" = 75 ] && ! grep -q ' land(' "$work/said"; do
    [ -t 0 ] || fail "the agent asks something that only you can answer; run the demo in a terminal"
    say "The agent asks you:"
    resume
done

if [ "$status" = 75 ]; then
    say "Its work is on a branch of its own. Yours moves only when you agree:"
    echo "--yes does not do it, because the words in the question are the model's."
    show approve last
    typed "tfy resume last"
    resume </dev/null
fi
[ "$status" = 0 ] || fail "the agent still waits"

say "It landed as one commit. Nothing is left to commit, and the tests pass."
typed "git log --oneline --graph --all"
git --no-pager log --oneline --graph --decorate ${plain:+--color} --all
typed "git diff --unified=0 HEAD~1"
git --no-pager diff --unified=0 ${plain:+--color} HEAD~1
typed "git status --short; make test"
git status --short | grep -v '?? ' || true
make -s test
[ -z "$(git diff --name-only HEAD)" ] || fail "what is checked out differs from what landed"
twice=$(git log --all --format=%B | grep '^Tiffany-Step:' | sort | uniq -d)
[ -z "$twice" ] || fail "a commit was made twice: $twice"

say "The recorded run once more, without performing anything:"
typed "tfy replay last"
"$tfy" replay last >"$work/replay" 2>&1 || { cat "$work/replay" >&2; fail "the replay differs"; }
tail -n 1 "$work/replay"
grep -q '0 divergences, 0 effects performed' "$work/replay" || fail "the replay did not say that nothing differs"

[ -n "$model" ] || exit 0
say "The same with a model of your own:"
typed "TFY_LLM_URL=http://localhost:8080 TFY_LLM_MODEL=my-model ./dev demo"
