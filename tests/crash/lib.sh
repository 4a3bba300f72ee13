# lib.sh: the programs the kill harness is used on, and how. Sourced by run.sh and by tests/soak/run.sh, which set
#   build    a build, absolute
#   root     of the repository, absolute
#   scratch  a directory for programs and trials

# crash_build BUILD: sets $build, and the environment of the trials.
crash_build()
{
    build=$(cd "$1" && pwd)
    # Dead slots of generated code hold a pattern; repositories are made without anybody's settings.
    export CFLAGS="${CFLAGS:-} -DTFY_POISON" GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 XDG_CACHE_HOME="$scratch/cache" NO_COLOR=1
    unset TFY_DB TFY_LLM_URL TFY_LLM_MODEL TFY_LLM_KEY TFY_LLM_KEY_FILE
}

# crash NAME HARNESS-OPTIONS -- ARGUMENTS: the harness on $scratch/NAME in CRASH_JOBS (2) processes, since trials mostly wait; adds to $passed and
# $failed.
passed=0
failed=0
crash()
{
    program=$1
    shift
    jobs=${CRASH_JOBS:-2}
    shards=$(seq 0 $((jobs - 1)))
    for shard in $shards; do
        mkdir -p "$scratch/$program-$shard"
        "$build/tests/crash/crash_harness" --name "$program${label:-}" --program "$scratch/$program" --tfy "$build/tfy" \
            --call-killer "$build/tests/crash/call_killer" --scratch "$scratch/$program-$shard" --shard "$shard/$jobs" \
            "$@" >"$scratch/$program-$shard.log" 2>&1 </dev/null &
        eval "pid$shard=\$!"
    done
    for shard in $shards; do
        eval "wait \$pid$shard" || true
        log=$scratch/$program-$shard.log
        counts=$(sed -n 's/^\([0-9][0-9]*\) passed, \([0-9][0-9]*\) failed$/\1 \2/p' "$log" | tail -n 1)
        if [ -z "$counts" ]; then
            echo "not ok $program: the harness stopped"
            failed=$((failed + 1))
        fi
        grep -v '^[0-9][0-9]* passed, ' "$log"
        set -- ${counts:-0 0}
        echo "$program, part $((shard + 1)) of $jobs: $1 trials passed, $2 failed"
        passed=$((passed + $1))
        failed=$((failed + $2))
    done
}

# compiled NAME FILE.tfy [FILE.c…]: makes $scratch/NAME, once for a build. False after a message: that counts as a failure.
compiled()
{
    name=$1
    shift
    [ "$(cat "$scratch/$name.build" 2>/dev/null)" != "$build" ] || return 0
    "$build/tfy" build "$@" -o "$scratch/$name" && echo "$build" >"$scratch/$name.build" && return 0
    echo "not ok $name: it does not compile"
    failed=$((failed + 1))
    return 1
}

# ---- the programs; each takes further options of the harness ----

crash_ledger()
{
    compiled books "$root/tests/crash/ledger.tfy" || return 0
    crash books --setup "cp '$build/tests/crash/ledger_tool' ledger_tool" --effects "touch ledger; cut -f 1,3- ledger" --again --yes \
        "$@" -- --yes
}

# The run sends itself a signal, by the command that anybody would use; that one tool has a runner in the place of a sandbox.
crash_team()
{
    compiled team "$root/tests/crash/team.tfy" || return 0
    crash team --setup "cp '$build/tests/crash/ledger_tool' ledger_tool && ln -s '$build/tfy' tfy" \
        --effects "touch ledger; cut -f 1,3- ledger" "$@" -- --runners
}

# The tools' work is done by what they leave behind, which only its descent ties to them.
crash_orphans()
{
    compiled orphans "$root/tests/crash/orphans.tfy" || return 0
    crash orphans --setup "cp '$build/tests/crash/ledger_tool' ledger_tool" --effects "touch ledger; cut -f 1,3- ledger" "$@" --
}

# A model chooses the steps.
crash_desk()
{
    compiled desk "$root/tests/crash/desk.tfy" 2>/dev/null || return 0
    crash desk --setup "cp '$build/tests/crash/ledger_tool' ledger_tool" --effects "touch ledger; cut -f 1,3- ledger" \
        --again --yes --again "--llm=cassette:$root/tests/crash/desk.jsonl" "$@" \
        -- --yes "--llm=cassette:$root/tests/crash/desk.jsonl"
}

# … and what is older in its conversation is summarised.
crash_reader()
{
    compiled reader "$root/tests/crash/reader.tfy" 2>/dev/null || return 0
    crash reader --setup "cp '$build/tests/crash/ledger_tool' ledger_tool" --effects "touch ledger; cut -f 1,3- ledger" \
        --again "--llm=cassette:$root/tests/crash/reader.jsonl" "$@" -- "--llm=cassette:$root/tests/crash/reader.jsonl"
}

crash_code_agent()
{
    agent=$root/examples/code_agent
    compiled code_agent "$agent/code_agent.tfy" || return 0
    crash code_agent \
        --setup "cp -R '$agent/sample/.' . && git init -q && git config user.name T && git config user.email t@localhost &&
            git add -A && git commit -q -m first" \
        --effects 'git log --branches="tiffany/*" --format=%B --name-only; git log --format=%s; git status --porcelain; git branch; cat people.c people.h; find .git -name "*.lock"' \
        --again --yes --again "--llm=cassette:$agent/session.jsonl" "$@" \
        -- --yes "--llm=cassette:$agent/session.jsonl" --instruction "Make the parser reject negative ages"
}

# A model chooses the steps, and the work lands on the branch that is checked out.
crash_coder()
{
    compiled coder "$root/examples/coder/coder.tfy" || return 0
    export TFY_DISPOSABLE=1 # so that --yolo answers also as root
    crash coder \
        --setup "cp -R '$root/examples/code_agent/sample/.' . && git init -q -b main && git config user.name T &&
            git config user.email t@localhost && git add -A && git commit -q -m first" \
        --effects 'git log main --format=%B --name-only; git log --branches="tiffany/*" --format=%B --name-only; git status --porcelain; git diff --cached --name-only; git branch --show-current; cat people.c people.h; find .git -name "*.lock"' \
        --again --yolo --again "--llm=cassette:$root/examples/coder/session.jsonl" "$@" \
        -- --yolo "--llm=cassette:$root/examples/coder/session.jsonl" --goal "Make the parser refuse ages that nobody can have"
}

# A customer writes to it, and money goes back. What is sent and paid stands in the ledger, which knows what was done.
crash_support()
{
    shop=$root/examples/support
    { sed -e '/^test /,$d' -e 's/^workflow main(/workflow desk(/' -e 's/-> ExecResult once/-> int once/' -e 's/ stdin .*//' \
        -e 's/"tee", "-a", "refunds",/".\/ledger_tool", "ledger", "1", "refund", "--", order, "${cents}",/' \
        -e 's/"tee", "-a", "outbox"/".\/ledger_tool", "ledger", "1", "send", "--", text/' "$shop/support.tfy"
        cat "$root/tests/crash/customer.tfy"; } >"$scratch/customer.tfy"
    compiled customer "$scratch/customer.tfy" || return 0
    export TFY_DISPOSABLE=1 # so that --yolo answers also as root
    crash customer --setup "cp '$build/tests/crash/ledger_tool' ledger_tool && ln -s '$build/tfy' tfy && cp -R '$shop/orders' ." \
        --effects "touch ledger; cut -f 1,3- ledger" --again --yolo --again "--llm=cassette:$shop/session.jsonl" "$@" \
        -- --yolo --runners "--llm=cassette:$shop/session.jsonl"
}

# What a person changed and staged meanwhile stays as it is, and no lock is left.
crash_land()
{
    compiled land "$root/tests/crash/land.tfy" || return 0
    crash land \
        --setup "git init -q -b main && git config user.name T && git config user.email t@localhost &&
            printf '1\\n2\\n3\\n4\\n5\\n' >a.txt && echo x >gone.txt && echo x >mine.txt && echo x >staged.txt && git add . &&
            git commit -q -m first && echo more >>mine.txt && echo more >>staged.txt && git add staged.txt" \
        --effects 'git log main --format=%B --name-only; git log --branches="tiffany/*" --format=%B; git status --porcelain -uno; git diff; git diff --cached; find .git -name "*.lock"' \
        --again --yes "$@" -- --yes
}

# An example whose effects, if it has any, are files in its working root.
crash_example()
{
    example=$root/examples/$1
    name=$1
    shift
    compiled "$name" "$example/$name.tfy" $(find "$example" -maxdepth 1 -name '*.c') || return 0
    case $name in
    ledger) # its probe knows what was booked, by the key that begins each line
        crash ledger --effects "touch ledger.txt; cut -d ' ' -f 2- ledger.txt" "$@" -- --to ann --cents 250 ;;
    adr3)
        crash adr3 --effects 'find . -type f ! -path "./.git/*" | sort | xargs -r cksum' --again --yes \
            --again "--llm=cassette:$example/session.jsonl" "$@" -- --yes "--llm=cassette:$example/session.jsonl" ;;
    research) # two tasks at a time: which of them is first depends on the clock
        crash research --loose --effects 'sort notes.md' --again "--llm=cassette:$example/session.jsonl" "$@" -- \
            "--llm=cassette:$example/session.jsonl" ;;
    build_loop)
        crash build_loop --setup "cp -R '$example/project' ." --effects 'cat project/sum.c' \
            --again "--llm=cassette:$example/session.jsonl" "$@" -- "--llm=cassette:$example/session.jsonl" ;;
    rag)
        crash rag --setup "cp -R '$example/notes' ." --again "--llm=cassette:$example/session.jsonl" "$@" -- \
            "--llm=cassette:$example/session.jsonl" --question "How long is a backup kept?" ;;
    triage) # four messages at a time
        crash triage --loose --setup "cp -R '$example/inbox' ." --again --yes --again "--llm=cassette:$example/session.jsonl" "$@" -- \
            --yes "--llm=cassette:$example/session.jsonl" ;;
    approval_chain) # its rows say when somebody decided
        crash approval_chain --loose --again --yes "$@" -- --yes --what "ten chairs" --cents 180000 ;;
    kill | sleep) crash "$name" --loose "$@" -- ;; # what is first depends on the clock
    *) crash "$name" "$@" -- ;;
    esac
}
