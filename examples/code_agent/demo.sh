#!/bin/sh
# The agent on a real repository: started, killed with SIGKILL in the middle of a step, resumed, inspected, replayed. `./dev demo` builds and
# calls this. With TFY_LLM_URL set the model is asked; otherwise its answers come from the recorded session beside this file.
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

say() { printf '\n==> %s\n' "$*"; }
show() { # a command as the reader would type it, then its output
    printf '\n$ tfy %s\n' "$*"
    "$tfy" "$@"
}
fail() {
    printf 'demo: %s\n' "$*" >&2
    exit 1
}

instruction='Make the parser reject negative ages'
say "A small C project with failing tests, in a fresh git repository"
cp -r "$here/sample" "$work/project"
cd "$work/project"
git init -q
git config user.name "Demo"
git config user.email "demo@localhost"
git add -A
git commit -q -m "A parser that believes everything"
make -s test || true

if [ -n "${TFY_LLM_URL:-}" ]; then
    model=
    say "The model is ${TFY_LLM_MODEL:-the default one} at $TFY_LLM_URL"
else
    model="--llm cassette:$here/session.jsonl"
    say "No model endpoint is set (TFY_LLM_URL): the model's answers come from a recorded session"
fi

export TFY_DB="$work/runs.db"
say "The agent is told: $instruction"
true >"$work/events"
# shellcheck disable=SC2086 # model is two words or none
"$tfy" run "$here/code_agent.tfy" $model --yes --events --instruction "$instruction" 2>"$work/events" &
pid=$!

# The kill falls while the project's tests run for the second time: a step is under way, one round of work is behind it.
tries=0
while [ "$(grep -c '"stage":"ToolExecutionStart","message":"run_tests"' "$work/events" 2>/dev/null)" -lt 2 ]; do
    kill -0 "$pid" 2>/dev/null || break
    tries=$((tries + 1))
    [ $tries -lt 12000 ] || fail "the agent does not get to its tests"
    sleep 0.01
done
if kill -9 "$pid" 2>/dev/null; then
    wait "$pid" 2>/dev/null || true
    pid=
    say "Killed with SIGKILL while the tests ran. What the database knows:"
    show inspect last
    say "Going on where it was"
    # shellcheck disable=SC2086
    show resume last $model --yes
else
    wait "$pid" || { cat "$work/events" >&2; fail "the agent failed"; }
    pid=
fi

run=$("$tfy" ps --json | sed -n 's/.*"run": *"\([0-9a-f-]*\)".*/\1/p' | head -n 1)
[ -n "$run" ] || fail "no run is in the database"
say "The finished run"
show inspect "$run"
say "What it left in git"
printf '\n$ git log --oneline --all --decorate\n'
git --no-pager log --oneline --all --decorate
printf '\n$ git status --short --branch\n'
git status --short --branch
[ -z "$(git diff --cached --name-only)" ] || fail "the person's index was changed"
[ "$(git rev-list --count HEAD)" = 1 ] || fail "what was checked out was moved"
printf '\n$ make test\n'
make -s test
twice=$(git log --all --format=%B | grep '^Tiffany-Step:' | sort | uniq -d)
[ -z "$twice" ] || fail "a commit was made twice: $twice"
say "The recorded run, once more, without performing anything"
printf '\n$ tfy replay %s\n' "$run"
"$tfy" replay "$run" >"$work/replay" 2>&1 || { cat "$work/replay" >&2; fail "the replay differs"; }
tail -n 1 "$work/replay"
grep -q '0 divergences, 0 effects performed' "$work/replay" || fail "the replay did not say that nothing differs"
say "The log, as anybody can read it (every record: select * from history)"
query="select lsn, task, step, line, type, what, substr(replace(detail, char(10), ' '), 1, 60) as detail from history limit 20"
printf '\n$ sqlite3 -header -column runs.db "%s"\n' "$query"
sqlite3 -header -column "$TFY_DB" "$query"
