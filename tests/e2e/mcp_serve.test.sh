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
client traced
check "a client: traced" ended 0
for scenario in discover refused garbage calls tasks task_questions questions forms without_forms keys many cancels killed killed_often killed_asking older older_asked; do
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

# What clients say is untrusted, declared so or not.
cat >pushes.tfy <<'END'
tool push(branch: trusted string) -> ExecResult once = exec ["git", "push", "origin", branch]

/// Pushes a branch.
workflow pushes(branch: string) -> int {
    let pushed = yield push(branch)
    return pushed.code
}
END
run tfy check pushes.tfy
check "a program that trusts its own callers" ended 0
run tfy mcp serve pushes.tfy
check "... is not offered to strangers" ended 65 "'branch' takes only what is trusted, and this comes from a stranger"
run tfy build pushes.tfy --shared -o pushes.so
run tfy serve pushes.so --mcp --no-tcp --tool pushes
check "... nor as an object that was not made for it" ended 69 "'pushes' cannot be offered: build the program with --offer"
sed -i 's/push(branch)$/push("main")/' pushes.tfy
run tfy build pushes.tfy --shared --offer - -o pushes.so
check "an object that is offered" ended 0
run timeout 60 sh -c 'tfy mcp tools -- tfy mcp serve pushes.tfy'
check "... by its documented workflows" printed "Pushes a branch."

check "the key is the owner's alone" sh -c '[ "$(stat -c %a runs.db-key)" = 600 ] && [ "$(stat -c %s runs.db-key)" = 32 ]'
check "nothing but the protocol is on stdout" sh -c '! grep -q "not a message" log'

# A client that is gone before the server runs: each thread begins long before what opened it goes on.
cat >late.c <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*work)(void *), void *arg)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = dlsym(RTLD_NEXT, "pthread_create");
    int code = real(thread, attributes, work, arg);
    usleep(100000);
    return code;
}
END
case ${CFLAGS:-} in
*sanitize*) ;; # a library before the sanitizer's own is not to be had
*)
    ${CC:-cc} -D_GNU_SOURCE -shared -fPIC -o late.so late.c
    run timeout 60 env LD_PRELOAD="$PWD/late.so" tfy mcp serve offers.tfy </dev/null
    check "a client that is gone at once ends the server" ended 0
    ;;
esac
