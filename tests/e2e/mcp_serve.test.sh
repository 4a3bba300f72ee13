#!/bin/sh
# tfy mcp serve: the workflows of a program as tools, for clients of all revisions over standard files.
. "$here/lib.sh"
export PYTHONDONTWRITEBYTECODE=1 TFY_DB="$PWD/runs.db"

cp "$here/mcp_offers.tfy" offers.tfy

# client SCENARIO [OPTION…]: with a server of its own, whose stderr is in ./log.
client()
{
    scenario=$1
    shift
    rm -f counted
    run timeout 100 python3 "$here/mcp_client.py" "$scenario" -- sh -c 'exec tfy mcp serve offers.tfy "$@" 2>>log' sh --hold 400ms "$@"
}
run tfy check offers.tfy
check "the program is one" ended 0
for scenario in discover refused garbage calls tasks task_questions questions forms without_forms keys many cancels killed killed_asking older older_asked; do
    client $scenario
    check "a client: $scenario" ended 0
done
for scenario in prompts resources tells listens older_told older_runs; do
    client $scenario --prompt hello --resource 'docs://{id}/page=page' --resource docs://cover=cover
    check "a client: $scenario" ended 0
done
refused() # WORDS SENTENCE
{
    run tfy mcp serve offers.tfy $1 </dev/null
    check "refused: $1" ended 69 "$2"
}
refused "--tool nothing" "offers.tfy has no workflow 'nothing'"
refused "--tool talks" "'talks' cannot be offered: not all that it takes and gives is JSON"
refused "--resource page" "'page' cannot be offered: a resource is ADDRESS=WORKFLOW"
refused "--resource docs://{number}=page" "'page' cannot be offered: the variables of its address are not its parameters of type string"
refused "--resource docs://x=begins" "'begins' cannot be offered"
check "the key is the owner's alone" sh -c '[ "$(stat -c %a runs.db-key)" = 600 ] && [ "$(stat -c %s runs.db-key)" = 32 ]'
check "nothing but the protocol is on stdout" sh -c '! grep -q "not a message" log'
