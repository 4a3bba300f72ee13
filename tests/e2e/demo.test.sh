#!/bin/sh
# What ./dev demo shows, in a pipe: a killed agent goes on, a person lets its work land, and nothing happens twice.
. "$here/lib.sh"

run env TFY="$TFY" sh "$EXAMPLES/coder/demo.sh"
check "the demo ends well" ended 0
check "... the agent was killed in a step of the model's choice" printed "Killed with SIGKILL while the tests ran"
check "... --yes left the landing to a person, and said why" printed "--yes does not answer this: 'message' comes from the prompt 'coder'"
check "... its work landed, and the tests pass" sh -c 'grep -q "(HEAD -> main) Refuse ages" out && grep -qx "all passed" out'
check "... the replay performed nothing" printed "0 divergences, 0 effects performed"
check "... it said nothing else" sh -c '! grep -v -e "^make: " -e "^tfy: answered with yes" err'
check "... in a pipe it has no colors" sh -c '! grep -q "$(printf "\033")" out'
check "... and its headings fit 80 columns" sh -c '! grep "^==>" out | grep -q ".\{81\}"'
