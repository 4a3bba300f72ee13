#!/bin/sh
# A run that works on a repository: what somebody changed there while it was parked is explained on resume.
. "$here/lib.sh"
agent=$EXAMPLES/code_agent/code_agent.tfy
session=$EXAMPLES/code_agent/session.jsonl
TFY_DB=$PWD/runs.db
export TFY_DB
cp -r "$EXAMPLES/code_agent/sample" project
cd project
git init -q
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

git checkout -q people.c
rm -f "$TFY_DB"*
run tfy run "$agent" $steps --instruction "Make the parser reject negative ages"
for answer in 1 2; do
    run tfy approve last --yes
    run tfy resume last $steps
done
check "the first commit is made" [ "$(git log --all --format=%s | grep -c 'Refuse negative ages')" = 1 ]
git commit -q --allow-empty -m "somebody else"
run tfy approve last --yes
run tfy resume last $steps
check "a commit on top is explained" grep -q "ahead of the run's last commit" err
check "... and the run ends well" ended 0
