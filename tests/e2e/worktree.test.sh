#!/bin/sh
# A run that works on a repository: what somebody changed there while it was parked is explained on resume.
. "$here/lib.sh"
agent=$EXAMPLES/code_agent/code_agent.tfy
session=$EXAMPLES/code_agent/session.jsonl
TFY_DB=$PWD/runs.db
export TFY_DB
cp -r "$EXAMPLES/code_agent/sample" project
cd project
git init -q -b main
git config user.name Tester
git config user.email tester@localhost
git add -A
git commit -q -m start
steps="--llm cassette:$session"

run tfy run "$agent" $steps --instruction "Make the parser reject negative ages"
check "the agent waits for a person: 75" ended 75 "tfy approve"
run tfy approve last --yes
run tfy resume last $steps
check "an untouched repository needs no word" [ "$(grep -c 'note:' err)" = 0 ]

# The first step's second attempt is asked for; somebody edits the file that was patched.
echo '/* mine */' >>people.c
sed 's/age < 0/age < -5/' people.c >edited && mv edited people.c
run tfy approve last --no
run tfy resume last $steps
check "an edited file is named" grep -q 'note: people.c is neither' err

git checkout -q people.c people.h
rm -f "$TFY_DB"*
run tfy run "$agent" $steps --instruction "Make the parser reject negative ages"
for answer in 1 2; do
    run tfy approve last --yes
    run tfy resume last $steps
done
check "the first commit is made" [ "$(git log --all --format=%s | grep -c 'Refuse negative ages')" = 1 ]
branch=$(git for-each-ref --format='%(refname:short)' refs/heads/tiffany)
check "the commit is on the run's branch" [ "$(git log --format=%s -1 "$branch")" = "Refuse negative ages" ]
check "... and what was checked out stays" [ "$(git branch --show-current) $(git log --format=%s -1)" = "main start" ]
check "... with its index" [ -z "$(git diff --cached --name-only)" ]
# What the person does beside the run is neither told nor committed.
git commit -q --allow-empty -m "somebody else"
echo KEY=1 >.env
echo half >half && git add half
run tfy approve last --yes
run tfy resume last $steps
check "a person's own commit needs no word" [ "$(grep -c 'note:' err)" = 0 ]
check "... and the run ends well" ended 0
check "the run's commits have only its files" [ "$(git log --format= --name-only "$branch" ^main | sort -u | tr '\n' ' ')" = "people.c people.h " ]
check "... and staged files stay staged" [ "$(git status --porcelain half .env | tr '\n' ' ')" = "A  half ?? .env " ]
check "the agent ran in $PWD with nothing of git's left locked" [ -z "$(find .git -name '*.lock')" ]

# On the run's branch, a commit of somebody else's is told, and so is a branch that is gone.
cat >two.tfy <<'END'
workflow main() -> string {
    yield write_file("one.txt", "1")
    yield commit("One")
    let _go: string = yield signal("go")
    yield write_file("two.txt", "2")
    return yield commit("Two")
}
END
move() { git update-ref "$branch" "$(git commit-tree "$branch^{tree}" -m "$1" $2)"; }
run tfy run two.tfy
branch=$(git for-each-ref --format='%(refname) %(subject)' refs/heads/tiffany | sed -n 's/ One$//p')
move "somebody else" "-p $branch"
run tfy resume last
check "a commit on top is explained" grep -q "ahead of the run's last commit" err
move rewritten ""
run tfy resume last
check "a rewritten branch is explained" grep -q "its history was rewritten" err
git update-ref -d "$branch"
tfy signal last go '"x"' 2>said
run tfy resume last
check "a branch that is gone is explained" ended 0 "is gone; its next commit makes it again"
check "... and is made again on the last commit" [ "$(git log --format=%s "$branch" | tr '\n' ' ')" = "Two One somebody else start " ]

# A fork goes on from the commit that it copied, on a branch of its own, and needs no word.
run tfy fork last --at 2
run tfy resume last
check "a fork's missing branch needs no word" [ "$(grep -c 'note:' err)" = 0 ]
tfy signal last go '"x"' 2>said
git branch -q -D "${branch#refs/heads/}"
run tfy resume last
fork=$(git for-each-ref --format='%(refname) %(subject)' refs/heads/tiffany | sed -n 's/ Two$//p')
check "a fork commits on what it copied" [ "$(git log --format=%s "$fork" | tr '\n' ' ')" = "Two One somebody else start " ]
check "... and still HEAD and index are the person's" [ "$(git branch --show-current) $(git log --format=%s -1) $(git diff --cached --name-only)" = "main somebody else half" ]
