#!/bin/sh
# land: the run's commit into the branch on which it began, once, with what is checked out there left as it is.
. "$here/lib.sh"

cat >lander.tfy <<'END'
workflow put(name: string, text: string) {
    if text == "" {
        yield remove_file(name)
    } else if text == "binary" {
        yield write_bytes(name, "AP8KAA==".from_base64())
    } else {
        yield write_file(name, text)
    }
}

workflow main(names: list<string>, texts: list<string>, how: Land = Land.squash, ask: bool = false) -> string fails Denied {
    for i, name in names { yield put(name, texts[i]) }
    let sha = yield commit("write ${names.join(", ")}")
    if ask { yield approve("go on?") }
    try {
        return yield land("land ${names[0]}", how) approve "land ${sha.slice(0, 7)}?"
    } catch e: Conflict {
        print("conflict in ${e.paths.join(" ")}: ${e.message}")
    }
    return "nothing"
}

/// Each half follows the other in the file, so that a merge from where the run began would be in conflict with itself.
workflow twice() -> list<string> fails Denied {
    yield write_file("a.txt", "1\n2\nA\n4\n5\n")
    yield commit("first half")
    let one = yield land("first") approve "land?"
    yield write_file("a.txt", "1\n2\nA\nB\n5\n")
    yield commit("second half")
    let two = yield land("second") approve "land?"
    return [one, two]
}

workflow early() -> string fails Denied {
    return yield land("nothing yet") approve "land?"
}

workflow told(text: untrusted string) -> string fails Denied {
    yield write_file("a.txt", "told\n")
    yield commit("told")
    return yield land(text) approve "land it?"
}

test "a landing is mocked like every step" {
    mock write_file(_) => null
    mock commit(_) => "abc1234567"
    mock approve("land abc1234?") => true
    mock land("land a", Land.merge) => fail Conflict("both", paths: ["a", "b"])
    let landed = yield main(["a"], ["x"], how: Land.merge)
    assert landed == "nothing"
    assert output().contains("conflict in a b: both")
    assert calls(land) == 1
}
END
program=$PWD/lander.tfy
tree=$PWD

# repository NAME: a new one, with the files a.txt, b.txt and c.txt on the branch main, which is entered.
repository()
{
    rm -rf "$tree/$1"
    mkdir "$tree/$1"
    cd "$tree/$1"
    git init -q -b main
    git config user.name Ann
    git config user.email ann@localhost
    printf '.tfy\n/out\n/err\n/check.out\n/said\n' >.git/info/exclude
    printf '1\n2\n3\n4\n5\n' >a.txt
    echo b >b.txt
    echo c >c.txt
    git add .
    git commit -q -m start
}
land() { run tfy run "$program" "$@" --yes; }
# go NAMES TEXTS [OPTION]…: as JSON lists
go()
{
    names=$1 texts=$2
    shift 2
    land --names "$names" --texts "$texts" "$@"
}
landed() { ended 0 && [ "$(git rev-parse "${1:-main}")" = "$(tr -d '"' <out)" ]; }
clean() { [ -z "$(git status --porcelain)" ] || { git status --porcelain; return 1; }; }
status_is() { git status --porcelain >said; [ "$(cat said)" = "$1" ] || { cat said; return 1; }; }
says() { [ "$(git show "$1")" = "$2" ]; }
# wait_there …: the run stops at its question before it lands.
wait_there()
{
    names=$1 texts=$2
    shift 2
    run tfy run "$program" --names "$names" --texts "$texts" --ask "$@"
}
go_on()
{
    tfy approve last >said 2>&1
    run tfy resume last --yes
}

run tfy test lander.tfy
check "a test mocks a landing, its enum and its error" ended 0

repository squash
git config core.logAllRefUpdates true
echo more >>b.txt
echo mine >>c.txt
git add b.txt
git diff >before
git diff --cached >>before
go '["a.txt"]' '["1\n2\ntwo\n4\n5\n"]'
check "a squash is one commit on the branch" landed
check "... with one parent, and the trailers of run and step" \
    sh -c '[ "$(git rev-list --count main)" = 2 ] && git log -1 --format=%B | grep -q "^Tiffany-Run: " && git log -1 --format=%B | grep -q "^Tiffany-Step: "'
check "... the branch's log says so" sh -c 'git reflog main | head -n 1 | grep -q "land: land a.txt"'
git diff >after
git diff --cached >>after
check "... what the person changed and staged is as it was" cmp before after
rm before after
check "... and nothing else differs" status_is "M  b.txt
 M c.txt"
run tfy replay last
check "a replay performs nothing" ended 0

repository merge
go '["a.txt"]' '["two\n"]' --how merge
check "a merge has the run's commit as its second parent" sh -c 'git rev-parse main^2 | grep -q "$(git rev-parse "$(git branch --list --format="%(refname)" "tiffany/*")")"'
check "... and nothing is left to commit" clean

repository kinds
mkdir d
echo exe >d/run.sh
chmod +x d/run.sh
echo old >d/old.txt
git add .
git commit -q -m more
go '["d/old.txt", "d/new name.txt", "d/run.sh", "bin", "a.txt"]' '["", "old\n", "changed\n", "binary", ""]'
check "deleted, renamed, executable and binary files land" landed
check "... and what is checked out is what landed" clean
check "... with their modes" sh -c 'git ls-tree main d/run.sh | grep -q ^100755 && [ -z "$(git ls-tree main a.txt)" ]'
go '["bin", "bin/inside.txt"]' '["", "a directory now\n"]'
check "a file becomes a directory" landed
check "... clean" clean

repository moved
wait_there '["a.txt"]' '["1\n2\n3\n4\nfive\n"]'
echo other >b.txt
git commit -q -m "the person goes on" b.txt
go_on
check "a branch that moved on is merged" landed
check "... with both changes, in a line" sh -c '[ "$(git rev-list --count main)" = 3 ] && [ "$(cat b.txt)" = other ]'
check "... clean" clean

repository conflict
wait_there '["a.txt", "new.txt"]' '["1\n2\nthe run\n4\n5\n", "new\n"]'
git stash -q
printf '1\n2\nthe person\n4\n5\n' >a.txt
git commit -q -a -m "the same line"
before=$(git rev-parse main)
go_on
check "the same lines are a Conflict with its paths" printed "conflict in a.txt: cannot land on main: both sides changed the same lines: a.txt"
check "... and nothing has changed" sh -c "[ \$(git rev-parse main) = $before ] && grep -q person a.txt"

repository edited
wait_there '["a.txt"]' '["two\n"]'
echo "a word of mine" >>a.txt
go_on
check "a file that the person changed since is a Conflict" printed "conflict in a.txt: cannot land on main: they are changed where it is checked out: a.txt"
check "... and is as it was" grep -q "a word of mine" a.txt
check "... so is the branch" [ "$(git rev-list --count main)" = 1 ]

repository staged
wait_there '["a.txt"]' '["two\n"]'
echo "staged only" >a.txt
git add a.txt
echo two >a.txt
go_on
check "other changes to the path that are staged are a Conflict" printed "other changes to them are staged: a.txt"
check "... and stay staged" sh -c 'git diff --cached | grep -q "staged only"'

repository detached
wait_there '["a.txt"]' '["two\n"]'
git checkout -q --detach
go_on
check "the branch moves where nothing of it is checked out" landed
check "... and what is checked out stays" status_is " M a.txt"
git checkout -q -f --detach main~1
go '["a.txt"]' '["three\n"]'
check "a run that began on no branch lands nowhere" ended 1 "cannot land: the run began on no branch; a commit was checked out"

repository gone
git checkout -q -b topic
wait_there '["a.txt"]' '["two\n"]'
git checkout -q main
git branch -q -D topic
git branch topic/below
go_on
check "a branch that is gone is not made again" ended 1 "cannot land: the branch topic, on which the run began, is gone"

repository other
wait_there '["a.txt"]' '["two\n"]'
git stash -q
git checkout -q -b elsewhere
git worktree add -q ../other-main main
go_on
check "the branch is found where another work tree has it" landed
check "... of whose files the run says that they are as before" ended 0 "landed on main, but 1 of the files in $(cd ../other-main && pwd -P) is as before the landing, beginning with 'a.txt'; 'git restore' brings the new text"
check "... which is all that differs there" sh -c 'cd ../other-main && [ "$(git status --porcelain)" = " M a.txt" ] && git restore . && [ "$(cat a.txt)" = two ]'

git worktree add -q -b linked ../linked
cd ../linked
go '["a.txt"]' '["linked\n"]'
check "a run in a linked work tree lands on its branch" landed linked
check "... clean" clean
cd "$tree/other"
git worktree remove --force ../linked
git worktree remove --force ../other-main

repository unborn
rm -rf .git
git init -q -b main
git config user.name Ann
git config user.email ann@localhost
printf '.tfy\n/out\n/err\n/check.out\n/said\n' >.git/info/exclude
git add b.txt
go '["a.txt"]' '["first\n"]'
check "the first commit of a repository lands" landed
check "... what was staged before stays staged" status_is "A  b.txt
?? c.txt"

git clone -q --depth 1 "file://$tree/moved" "$tree/shallow"
cd "$tree/shallow"
printf '.tfy\n/out\n/err\n/check.out\n/said\n' >.git/info/exclude
wait_there '["a.txt"]' '["shallow\n"]'
echo more >>b.txt
git -c user.name=Ann -c user.email=ann@localhost commit -q -m more b.txt
go_on
check "a clone without its history is enough" landed
check "... clean" clean

repository twice
land --workflow twice
check "a run lands twice, neighbouring lines too" ended 0
check "... each as a commit" [ "$(git rev-list --count main)" = 3 ]
check "... clean" clean
land --workflow early
check "without a commit there is nothing to land" ended 1 "nothing to land: the run has made no commit"

repository again
wait_there '["a.txt"]' '["two\n"]'
git merge -q --ff-only "$(git branch --list --format='%(refname)' 'tiffany/*')" 2>said || git -c core.editor=true reset -q --hard "$(git branch --list --format='%(refname)' 'tiffany/*')"
go_on
check "what the branch has already is not landed again" ended 1 "nothing to land: main has all that the run committed"

repository locked
wait_there '["a.txt"]' '["two\n"]'
: >.git/index.lock
tfy approve last >said 2>&1
start tfy resume last --yes
sleep 1
rm .git/index.lock
finish
check "a landing waits for the git that has the index" landed
check "... clean" clean

# The person's own filter makes the comparison of files slow, and the branch moves meanwhile.
repository race
mkdir home
printf '[filter "slow"]\n\tclean = "sleep 2; cat"\n[user]\n\tname = Ann\n\temail = ann@localhost\n' >home/.gitconfig
echo 'a.txt filter=slow' >>.git/info/attributes
echo /home >>.git/info/exclude
wait_there '["a.txt"]' '["two\n"]'
tfy approve last >said 2>&1
start env HOME="$PWD/home" tfy resume last --yes
sleep 1
moved=$(git commit-tree 'main^{tree}' -p main -m "moved meanwhile")
git update-ref refs/heads/main "$moved"
finish
rm .git/info/attributes
check "a branch that moves while a landing is made is merged anew" landed
check "... its commit is the landing's parent" [ "$(git rev-parse main~1)" = "$moved" ]
check "... clean" clean

repository killed
wait_there '["a.txt"]' '["two\n"]'
tfy approve last >said 2>&1
cp -r .tfy saved
cp .git/index index.saved
run tfy resume last --yes
check "a landing" landed
first=$(git rev-parse main)
cp saved/* .tfy
rm -r saved
cp .git/index .git/index.lock
mv index.saved .git/index
run tfy resume last --yes
check "a landing whose record a crash lost is found again" landed
check "... and is the same commit" [ "$(git rev-parse main)" = "$first" ]
check "... the index follows, by its own lock from before the crash" clean
check "... which is gone" [ ! -e .git/index.lock ]

repository asked
land --workflow told --text "words of a stranger"
check "--yes leaves a message of a stranger to a person" ended 75 "--yes does not answer this: 'message' comes from 'text', which is declared untrusted"
check "... the question shows the call" grep -q "calls     land" err
cd "$tree"

cat >unasked.tfy <<'END'
workflow main() {
    yield land("on my own", Land.rebase)
}
END
run tfy check unasked.tfy
check "nobody lands without asking" grep -q "'land' is dangerous, and nobody is asked to approve it" out err
check "a case that is not there is named" grep -q "no case 'rebase' in Land" out err
cat >own.tfy <<'END'
enum Land { sea, shore }
error Conflict
workflow land(how: Land) -> string fails Conflict {
    match how {
        sea => { fail Conflict("wet") }
        Land.shore => { return "dry" }
    }
}
workflow main() -> string fails Conflict { return yield land(Land.shore) }
END
run tfy run own.tfy
check "a program's own names hide the new ones" printed_exactly '"dry"'
