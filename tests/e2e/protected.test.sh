#!/bin/sh
# What is in the working root and is not a program's: the log, what programs outside take commands from, the program itself.
. "$here/lib.sh"
cat >touch.tfy <<'END'
workflow fetch(path: string) -> string {
    return yield read_file(path)
}

workflow put(path: string) {
    yield write_file(path, "mine")
}

workflow patch(path: string) {
    let change = yield preview(path, "mine\n")
    yield apply(change)
}

workflow call(path: string) {
    let to = yield connect("unix:${path}")
    yield write(to, "x")
}

workflow commit_all() -> string {
    yield write_file("new.txt", "x")
    return yield commit("all")
}
END
printf 'x\n' >plain.txt
run tfy run touch.tfy --workflow put --path plain.txt
check "other files are written" ended 0

# refused WORKFLOW PATH TEXT: the run fails and says why, and goes into the log all the same.
refused()
{
    run tfy run touch.tfy --workflow "$1" --path "$2"
    check "$1 $2 is refused" ended 1 "'$2': $3"
}
runtimes="it belongs to the runtime"
commands="programs outside the sandbox take commands from it"
for path in .tfy/runs.db .tfy/runs.db-wal .tfy/runs.db-tfy ./plain/../.tfy/runs.db; do
    mkdir -p plain
    refused fetch "$path" "$runtimes"
    refused put "$path" "$runtimes"
done
refused put .tfy/anything "$runtimes"
refused patch .tfy/runs.db "$runtimes"
ln -s .tfy there
refused put there/runs.db "$runtimes"
rm there
check "the log is whole" tfy verify
for path in .git/config .GIT/config sub/.git/hooks/pre-commit .envrc .vscode/tasks.json .claude/settings.json; do
    refused put "$path" "$commands"
    refused patch "$path" "$commands"
done
refused put touch.tfy "it is the source of this program"
run tfy run touch.tfy --workflow call --path .tfy/runs.db-live/owner
check "the owner's socket is not called" ended 1 "$runtimes"
TFY_DB=$PWD/elsewhere.db
export TFY_DB
run tfy run touch.tfy --workflow put --path plain.txt
refused fetch elsewhere.db "$runtimes"
refused put elsewhere.db-wal "$runtimes"
check "a log of another name is whole too" tfy verify

# Somebody else wrote a command into the repository's settings: the runtime's git does not run it.
git init -q repo
cp touch.tfy repo
cd repo
git config user.name Ann
git config user.email ann@example.invalid
git config core.fsmonitor "touch $PWD/ran; false"
git config filter.x.clean "touch $PWD/ran; cat"
printf '#!/bin/sh\ntouch "%s/ran"\n' "$PWD" >.git/hooks/post-commit
chmod +x .git/hooks/post-commit
run tfy run touch.tfy --workflow commit_all
check "a commit" ended 0
branch=$(git for-each-ref --format='%(refname)' refs/heads/tiffany)
check "... has what the run wrote" [ "$(git -c core.fsmonitor=false show --name-only --format=%an "$branch" | tr '\n' ' ')" = "Ann  new.txt " ]
check "... and there is still no index, and nothing is checked out" [ ! -e .git/index ] && ! git rev-parse --verify --quiet HEAD >out
rm -f ran
echo '* filter=x' >.gitattributes
echo more >>new.txt
run tfy run touch.tfy --workflow commit_all
check "a filter of the repository's is not run" ended 1 "a filter that only the repository's settings define is not run"
check "nothing the repository names was run" [ ! -e ran ]

# Nor is it by the look at the repository when a run is resumed: a filter would let it see another text.
git config filter.x.clean "echo other"
cat >later.tfy <<'END'
workflow main() {
    let change = yield preview("new.txt", "changed\n")
    yield apply(change)
    let _go: string = yield signal("go")
}
END
run tfy run later.tfy
check "a run that waits" ended 75
run tfy resume last
check "what is as it was needs no word" [ "$(grep -c 'note:' err)" = 0 ]
echo mine >new.txt
run tfy resume last
check "what was edited meanwhile is told" ended 75 "note: new.txt is neither as it was before"
check "... and nothing was run" [ ! -e ran ]

# A compiled program in the root is started again by somebody, with that person's rights: a tool that replaced it would have them.
mkdir own own/bin own/beside
cd own || exit 1
cat >own.tfy <<'X'
tool shell(script: string) -> ExecResult pure = exec ["sh", "-c", script]
workflow main(script: string) -> int {
    let ran = yield shell(script)
    return ran.code
}
workflow put(path: string) { yield write_file(path, "mine") }
workflow remove(path: string) { yield remove_file(path) }
X
run tfy build own.tfy -o bin/agent
check "a program in the root" ended 0
cp bin/agent ../agent
replaced='echo x >bin/agent || rm -f bin/agent || mv bin/agent gone || mv bin gone || ln bin/agent linked || cp /bin/true bin/agent'
for level in full partial; do
    run bin/agent --sandbox-level $level --script "$replaced"
    [ "$status" = 69 ] && { echo "skipped: $level: no such sandbox here"; continue; }
    check "$level: its tools do not replace it" sh -c '[ "$(cat out)" = 1 ] && cmp -s bin/agent ../agent'
    run bin/agent --sandbox-level $level --script "cp /bin/true beside/set && chmod u+s beside/set || exit 1"
    check "$level: nor do they make a file that gives away a user" sh -c '[ "$(cat out)" = 1 ] && [ ! -u beside/set ]'
done
run bin/agent --workflow put --path bin/agent
check "nor do its effects" ended 1 "cannot write 'bin/agent': it is this program"
run bin/agent --workflow remove --path bin/../bin/agent
check "... whatever they do" ended 1 "cannot remove 'bin/../bin/agent': it is this program"

# What this process obeys outside of every sandbox, while it runs.
cd .. && mkdir obeyed && cd obeyed || exit 1
cat >obey.tfy <<'X'
sandbox box { runner ["sh", "{root}/box", "--"] }

tool spoil(path: string) -> ExecResult pure = exec ["sh", "-c", "echo x >>\"$0\" || mv \"$0\" gone", path]
tool boxed() -> string pure sandbox box = exec ["echo", "in the box"]
tool keep(key: string) -> string pure = exec ["cat"] stdin key

workflow main() -> string {
    for path in ["models.json", "ask", "box"] {
        let spoiled = yield spoil(path)
        try {
            yield write_file(path, "x")
        } catch e: ToolError {
            print("${spoiled.code != 0} ${e.message}")
        }
    }
    let kept = yield keep(secret("K"))
    return yield boxed()
}
X
printf '#!/bin/sh\necho long-enough-a-value\n' >ask
printf 'shift && exec "$@"\n' >box
echo '{"models": {"default": {"api": "chat", "url": "http://127.0.0.1:9", "model": "m"}}}' >models.json
chmod 755 ask
for level in full partial; do
    run tfy run obey.tfy --sandbox-level "$level" --models models.json --secrets-from ./ask --runners
    [ "$status" = 69 ] && { echo "skipped: $level: no such sandbox here"; continue; }
    check "$level: the models, the command of secrets and the program of a runner are not written" printed "true cannot write 'models.json': $commands
true cannot write 'ask': $commands
true cannot write 'box': $commands"
    check "... and they still work" [ "$status" = 0 ]
    check "... and are as before" [ "$(cat ask box models.json | grep -c '^x$')" = 0 ]
done
TFY_MODELS=models.json
export TFY_MODELS
run tfy run obey.tfy --runners --secrets-from 'sh ask'
check "so is what the environment names" printed "true cannot write 'models.json': $commands
true cannot write 'ask': $commands"
unset TFY_MODELS
