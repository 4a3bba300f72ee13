#!/bin/sh
# tests/cell/run.sh BUILD [attacks]: attacks cells from inside: as root and as another user, full and partial; lets each system call of tfy-cell
# fail; kills cells at random and looks for what is left. Prints "ok NAME" and "not ok NAME" lines, then "N passed, N failed". What this machine
# cannot do is named in lines "skipped cell: …" and does not count. attacks: nothing else (kernel.sh).
set -u
build=$(cd "${1:?usage: run.sh BUILD}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
# A full cell empties /tmp: what is attacked has to lie where it would otherwise be seen.
scratch=$(mktemp -d /var/tmp/tfy-cell-test.XXXXXX) || exit 1
chmod 755 "$scratch"
hosts=
clean()
{
    for pid in $hosts; do kill "$pid" 2>/dev/null; done
    rm -rf "$scratch"
}
trap clean EXIT
trap 'exit 130' INT TERM
unset TFY_DB TMPDIR
mkdir "$scratch/bin"
cp "$build/tfy" "$build/tfy-cell" "$build/tests/cell/cell_attack" "$build/tests/cell/cell_trials" "$scratch/bin" || exit 1
PATH=$scratch/bin:$PATH

passed=0
failed=0
ok() { passed=$((passed + 1)); echo "ok $1"; }
not_ok() { failed=$((failed + 1)); echo "not ok $1"; shift; for line in "$@"; do echo "    $line"; done; }
is() { if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "wanted: $2" "was: $3"; fi; }
skipped() { echo "skipped cell: $1"; }

# as USER COMMAND…: "other" is nobody else's user, without groups.
as()
{
    case $1 in
    other) shift; setpriv --reuid 65534 --regid 65534 --clear-groups -- "$@" ;;
    *) shift; "$@" ;;
    esac
}

# make_world DIR USER: attack.c says what is in it.
make_world()
{
    mkdir -p "$1/root/sub" "$1/root/deep/er/settings" "$1/root/.tfy" "$1/shared" "$1/outside" "$1/home/.ssh"
    for file in home/.ssh/id outside/secret shared/file root/known root/.envrc root/.tfy/runs.db root/.tfy/runs.db-shm; do echo secret >"$1/$file"; done
    ln -s ../shared "$1/root/out"
    ln -s deep/er/settings "$1/root/.vscode"
    git -C "$1/root" init -q
    cp "$scratch/bin/cell_attack" "$1/root/attack"
    [ "$2" != other ] || chown -Rh 65534:65534 "$1"
}

# Everything that must not change, with what is in it; modes too, unless they may.
picture() # DIR LEVEL
{
    (cd "$1" && find shared outside home root/.git root/.tfy root/.envrc root/deep -type f -exec sha256sum {} +
        [ "$2" = partial ] || find shared outside home root/.git root/.envrc root/deep -exec stat -c '%A %u %n' {} +
        ls -ld root/.vscode | cut -c1-10) | sort
}

nothing_changed() # NAME DIR LEVEL: against the picture in before
{
    picture "$2" "$3" >"$scratch/after"
    if cmp -s "$scratch/before" "$scratch/after"; then ok "$1: nothing outside has changed"; else not_ok "$1: nothing outside has changed" "$(diff "$scratch/before" "$scratch/after" | head -n 5)"; fi
}

# What each attempt has to end with. A line of attack.c's output that is not named here must be "refused" or "works".
wanted() # LEVEL USER
{
    if [ "$1" = partial ]; then
        echo "chmod_outside OPEN|git_chmod OPEN|write_shm fails|serve fails|new_in_root fails|rename_in_root fails"
    else
        echo ""
    fi
}

judge() # WANTED FILE: prints what is not as it should be
{
    awk -v wanted="$1" '
        BEGIN { n = split(wanted, list, "|"); for (i = 1; i <= n; i++) { split(list[i], one, " "); want[one[1]] = one[2] } }
        { good = $1 in want ? $2 == want[$1] : $2 == "refused" || $2 == "works" }
        !good { print }' "$2"
}

# What is attacked: its $port and $pid.
begin_host() # USER WORLD
{
    rm -f "$scratch/host"
    as "$1" env CELL_SECRET=secret "$scratch/bin/cell_attack" host "$2" >"$scratch/host" 2>/dev/null &
    hosts=$!
    until [ -s "$scratch/host" ]; do kill -0 "$hosts" || exit 1; sleep 0.02; done
    read -r port pid <"$scratch/host"
}
end_host()
{
    { kill "$pid"; wait "$hosts"; } 2>/dev/null
    hosts=
}

# Where the kernel does not count processes, tfy does, and ends all that is over the limit: command_line tries that.
few() { [ "$2" = full ] && [ "$1" != root ] || echo few; }

attack() # USER LEVEL
{
    world=$scratch/$1-$2
    make_world "$world" "$1"
    begin_host "$1" "$world"
    picture "$world" "$2" >"$scratch/before"
    (cd "$world/root" && HOME=$world/home CELL_SECRET=secret as "$1" tfy sandbox --sandbox-level "$2" --reads "$world/shared" -- \
        ./attack try "$world" "$port" "$pid" $(few "$1" "$2")) >"$scratch/said" 2>"$scratch/err" </dev/null
    is "$1, $2: the attacks ran" "0, nothing said" "$?, $(head -c 300 "$scratch/err" | grep . || echo nothing said)"
    end_host
    # Signals are kept inside from ABI 6 on.
    if [ "$2" = partial ] && [ "${abi:-0}" -lt 6 ] && grep -q '^kill_runtime OPEN' "$scratch/said"; then
        skipped "signals in partial: Landlock has ABI $abi here"
        sed -i '/^kill_runtime /d; /^unix_abstract OPEN/d' "$scratch/said"
    fi
    wrong=$(judge "$(wanted "$2" "$1")" "$scratch/said")
    count=$(grep -c . "$scratch/said")
    if [ "$count" -lt 97 ]; then
        not_ok "$1, $2: all attacks were tried" "only $count were"
    else
        echo "$wrong" | grep . | while read -r line; do echo "not ok $1, $2: $line"; done
        bad=$(echo "$wrong" | grep -c .)
        failed=$((failed + bad)) passed=$((passed + count - bad))
    fi
    nothing_changed "$1, $2" "$world" "$2"
}

# The same attacks by a tool of a program, in partial: the runtime gives its cell a layer of rules that it made once, behind another tool.
tool_attack() # USER
{
    world=$scratch/$1-tool
    make_world "$world" "$1"
    begin_host "$1" "$world"
    picture "$world" partial >"$scratch/before"
    (cd "$world/root" && HOME=$world/home CELL_SECRET=secret as "$1" "$scratch/bin/attacker" --sandbox-level partial --grant "attack:reads=$world/shared" \
        --world "$world" --port "$port" --process "$pid" --db "$world/home/runs.db") >"$scratch/said" 2>"$scratch/err" </dev/null
    is "$1, a tool in partial: the attacks ran" "0" "$?"
    end_host
    rm -f "$world"/home/runs.db*
    [ "${abi:-0}" -ge 6 ] || sed -i '/^kill_runtime /d; /^unix_abstract OPEN/d' "$scratch/said"
    is "$1, a tool in partial: all attacks were tried" yes "$([ "$(grep -c . "$scratch/said")" -ge 97 ] && echo yes)"
    is "$1, a tool in partial: ... and refused" "" "$(judge "$(wanted partial "$1")" "$scratch/said")"
    nothing_changed "$1, a tool in partial" "$world" partial
}

# What tools of every day do. COMMAND runs in a cell in a directory with a program and a repository.
daily() # USER LEVEL
{
    dir=$scratch/daily-$1-$2
    mkdir -p "$dir/src"
    printf 'int main(void) { return 0; }\n' >"$dir/src/a.c"
    printf 'a: a.c\n\tgcc -o a a.c\n' >"$dir/src/Makefile"
    printf 'import multiprocessing as m\ndef f(x):\n    return x * x\nif __name__ == "__main__":\n    print(sum(m.Pool(2).map(f, range(4))))\n' >"$dir/src/pool.py"
    git -C "$dir" init -q
    [ "$1" != other ] || chown -R 65534:65534 "$dir"
    works "$1" "$2" gcc "make -C src && src/a" make gcc
    works "$1" "$2" git 'test "$(git status --porcelain)" = "?? src/"' git
    works "$1" "$2" node 'test "$(node -p "1 + 1")" = 2' /usr/bin/node
    dir=$scratch/tree-$1-$2
    as "$1" git -C "$scratch/daily-$1-$2" -c user.name=x -c user.email=x@example.invalid commit -q --allow-empty -m x
    mkdir "$dir"
    [ "$1" != other ] || chown 65534:65534 "$dir"
    as "$1" git -C "$scratch/daily-$1-$2" worktree add -q "$dir" 2>/dev/null
    works "$1" "$2" "git in a linked worktree" 'test -f .git && git log --oneline | grep -q x && ! echo x >>.git && ! echo x >>"$(git rev-parse --git-dir)/HEAD"' git
    dir=$scratch/daily-$1-$2
    if [ "$2" = full ]; then works "$1" "$2" "a pool of Python's" 'test "$(/usr/bin/python3 src/pool.py)" = 14' /usr/bin/python3; fi
}

works() # USER LEVEL NAME COMMAND NEEDED…
{
    user=$1 its_level=$2 title=$3 command=$4
    shift 4
    for needed in "$@"; do
        command -v "$needed" >/dev/null || { skipped "$title: no $needed"; return; }
    done
    if (cd "$dir" && as "$user" tfy sandbox --sandbox-level "$its_level" -- sh -c "$command") >"$scratch/out" 2>&1 </dev/null; then
        ok "$user, $its_level: $title works"
    else
        not_ok "$user, $its_level: $title works" "$(head -n 3 "$scratch/out")"
    fi
}

# run COMMAND…: stdout and stderr in $said, the status in $status.
run()
{
    status=0
    said=$("$@" 2>&1 </dev/null) || status=$?
}

# The command itself: statuses, messages, what it refuses, limits.
command_line()
{
    dir=$scratch/line
    mkdir -p "$dir/home" "$dir/w"
    cp "$scratch/bin/cell_attack" "$dir/w/attack"
    cd "$dir/w" || exit 1
    export HOME="$dir/home"
    run tfy sandbox -- sh -c 'exit 7'
    is "the command's status" "7 $partly" "$status $said"
    run tfy sandbox -- sh -c 'kill -9 $$'
    is "... and its signal" "137 $partly" "$status $said"
    run tfy sandbox --sandbox-level "$level" -- no-such-command
    is "a command that is not found" "127 tfy: 'no-such-command' was not found, or what runs it cannot be read in the sandbox" "$status $said"
    run tfy sandbox --sandbox-level "$level" -- ./known
    is "... by its path" "127 tfy: './known' was not found, or what runs it cannot be read in the sandbox" "$status $said"
    run tfy sandbox --sandbox everything -- true
    is "a kind of sandbox that there is not" "64 tfy: --sandbox takes readonly|workspace|open, not 'everything'" "$status $said"
    run tfy sandbox --network everything -- true
    is "a network that there is not" "64 tfy: --network everything: a host and a port, such as \"a.b:443\"" "$status $said"
    run tfy sandbox --network 'a.b:1,*:443' -- true
    is "... nor a list of all hosts" "64 tfy: --network *:443: '*' is every host; write: any" "$status $said"
    run tfy sandbox --sandbox-level partial --network a.b:1 -- true
    is "a partial sandbox has no list of hosts" "64 tfy: a partial sandbox has no list of hosts; leave --sandbox-level out" "$status $said"
    run tfy sandbox --sandbox open --network a.b:1 -- true
    is "... nor has open" "64 tfy: --sandbox open has no list of hosts" "$status $said"
    run tfy sandbox --writes /usr/share -- true
    is "the system is not written" "64 tfy: '/usr/share' is the system itself; a sandbox may not write there" "$status $said"
    run tfy sandbox --writes .. -- true
    is "... nor what is above the root" "64 tfy: '$dir' is above the working root; a sandbox may not write there" "$status $said"
    run tfy sandbox --reads "$dir/nowhere" -- true
    is "what is read has to exist" "69 tfy: --reads $dir/nowhere: No such file or directory" "$status $said"
    (cd / && run tfy sandbox -- true && is "the system is no root" "64 tfy: '/' is a part of the system; a sandbox is for a directory with a project in it" "$status $said"; exit "$failed")
    failed=$?
    run tfy sandbox --sandbox-level "$level" --sandbox readonly -- sh -c 'echo x >file'
    is "readonly writes nothing" "2 no" "$status $([ -e file ] && echo yes || echo no)"
    run tfy sandbox --sandbox-level "$level" --sandbox readonly --writes build -- sh -c 'echo x >build/file'
    is "... but what is said" "0 x" "$status$said $(cat build/file 2>/dev/null)"
    run tfy sandbox --writes "$HOME" -- true
    is "... nor the home directory" "64 tfy: '$HOME' is your home directory, or above it; a sandbox may not write there" "$status $said"
    mkdir "$dir/data"
    run tfy sandbox --sandbox-level "$level" --writes "$dir/data" -- sh -c "echo x >$dir/data/file"
    is "what is written outside" "0 x" "$status$said $(cat "$dir/data/file" 2>/dev/null)"
    run tfy sandbox --sandbox open -- sh -c "echo y >$dir/data/file"
    is "open is no sandbox" "0 y" "$status$said $(cat "$dir/data/file")"
    run tfy sandbox --sandbox-level "$level" --memory 32M -- sh -c 'x=$(head -c 64000000 /dev/zero | tr "\0" x); echo "$x" | wc -c'
    is "a limit of memory" "no" "$([ "$said" = 64000001 ] && echo yes || echo no)"
    for each in $levels; do
        run tfy sandbox --sandbox-level "$each" --memory 40M -- sh -c 'for i in 1 2 3; do head -c 20M /dev/zero | tail -c 20M | sleep 60 & done; wait'
        is "$each: ... of all processes together" "137 tfy: 'sh' was ended: it used more than 40 MiB of memory" "$status $said"
        run tfy sandbox --sandbox-level "$each" --processes 20 -- sh -c 'for i in $(seq 30); do sleep 60 & done; wait'
        if [ "$users" = own ] && [ "$each" = full ]; then
            skipped "$each: processes of all together: the kernel counts them for this user"
        else
            is "$each: ... and a limit of processes" "137 tfy: 'sh' was ended: it ran more than 20 processes" "$status $said"
        fi
    done
    run timeout 20 tfy sandbox --sandbox-level "$level" --cpu 1s -- sh -c 'while :; do :; done'
    is "a limit of processor time" "152" "$status"
    run env TFY_LLM_KEY=secret tfy sandbox --sandbox-level "$level" -- env
    is "variables are withheld, as from tools" "no" "$(echo "$said" | grep -q KEY && echo yes || echo no)"
    if [ "$level" = full ]; then
        run tfy sandbox -- sh -c 'echo x >.envrc'
        is "a protected name that is new" "1 tfy: 'sh' made '.envrc', from which programs outside take commands; look at it before you use them here" "$status $said"
        rm .envrc
    fi
    make_world "$dir/any" root
    begin_host own "$dir/any"
    run sh -c 'cd "$1/root" && exec tfy sandbox --sandbox-level "$2" --network any -- ./attack try "$1" "$3" "$4" few' sh "$dir/any" "$level" "$port" "$pid"
    is "network any leads to the host's servers, and not to its local sockets" "tcp_host OPEN unix_abstract refused unix_path refused " \
        "$(echo "$said" | grep -E '^(tcp_host|unix_)' | sort | cut -d ' ' -f 1,2 | tr '\n' ' ')"
    end_host
    tfy sandbox --sandbox-level "$level" -- ./attack left 1 "$dir/w/late" >/dev/null 2>&1
    run tfy doctor --sandbox
    is "doctor names the level" "0 sandbox        $level" "$status $(echo "$said" | head -n 1)"
    run tfy doctor --sandbox --json
    is "... in JSON too" "0 true" "$status $(echo "$said" | grep -q "\"level\": \"$level\"" && echo true)"
    cd / || exit 1
}

# The way to a list of hosts, in a network of its own where names lead to addresses of this machine.
in_network()
{
    dir=$scratch/hosts-$1
    mkdir -p "$dir/root"
    cp "$scratch/bin/cell_attack" "$dir/root/attack"
    chmod 755 "$dir" "$dir/root"
    [ "$1" != other ] || chown 65534:65534 "$dir/root"
    printf '127.0.0.1 localhost inside.example\n198.41.0.4 ok.example a.b.below.example\n198.41.0.5 evil.example\n' >"$dir/names"
    cat >"$dir/script" <<'END'
cell_attack web >"$2/web" &
web=$!
until [ -s "$2/web" ]; do kill -0 "$web" || exit 1; sleep 0.02; done
cd "$2/root" || exit 1
user=
[ "$1" != other ] || user="setpriv --reuid 65534 --regid 65534 --clear-groups --"
$user tfy sandbox --network 'ok.example:80,*.below.example:80,inside.example:80' -- sh -c '
    ./attack proxy
    curl -sS -m 10 http://ok.example/curl; echo " curl $?"
    curl -sS -m 10 --proxytunnel http://ok.example/tunnel; echo " tunnel $?"
    curl -sSf -m 10 http://evil.example/evil; echo "evil $?"
    curl -sS -m 10 --noproxy "*" http://198.41.0.4/evil; echo "around $?"' >"$2/said" 2>"$2/err"
echo "status $?" >>"$2/said"
{ kill "$web"; wait "$web"; } 2>/dev/null || :
END
    run cell_trials network "$dir/names" sh "$dir/script" "$1" "$dir"
    is "$1: what is asked of the proxy is answered or refused as it has to be" "0 21 right, none wrong, 5 others" \
        "$status $(grep -c ' right$' "$dir/said") right, $(grep ' WRONG$' "$dir/said" || echo none wrong), $(grep -vcE ' (right|WRONG)$' "$dir/said") others"
    is "$1: curl reaches a listed host, and no other" "web curl 0,web tunnel 0,evil 22,around 7,status 0," "$(grep -E 'curl|tunnel [0-9]|evil [0-9]|around|status' "$dir/said" | tr '\n' ',')"
    is "$1: ... and tfy says what was refused" "evil.example:80 ok.example:22 198.41.0.4:80 198.41.0.5:80 inside.example:80 127.0.0.1:880" \
        "$(sed -n 's/^tfy: the sandbox refused //p' "$dir/err" | xargs)"
    is "$1: nothing else came to a server" "below curl first first listed posted tunnel 198.41.0.4" \
        "$(sed -n 's|^[0-9.]*:[A-Z]* /\([a-z]*\) .*|\1|p' "$dir/web" | sort | xargs) $(sed -n 's/^\([0-9.]*\):.*/\1/p' "$dir/web" | sort -u | xargs)"
}

hosts()
{
    if [ "$level" != full ]; then
        skipped "a list of hosts: no full sandbox can be built here"
    elif [ "$(id -u)" != 0 ] || ! cell_trials network /etc/hosts true 2>/dev/null; then
        skipped "a list of hosts: no network of its own can be made here"
    elif ! command -v curl >/dev/null; then
        skipped "a list of hosts: no curl"
    else
        for user in $users; do in_network "$user"; done
    fi
}

# A partial cell as it is in most containers: a root directory that is no mount.
in_chroot()
{
    cat >"$scratch/chroot.sh" <<'END'
set -e
mkdir "$1" && cd "$1" && mkdir usr etc proc tmp dev root work
mount --bind /usr usr && mount --bind /etc etc && mount -t proc proc proc && mount --bind /dev dev
for link in bin sbin lib lib64; do [ ! -e /usr/$link ] || ln -s usr/$link $link; done
cp "$2/tfy" "$2/tfy-cell" work && echo known >work/known && echo secret >root/secret
exec chroot . /usr/bin/env HOME=/root sh -c 'cd work && exec ./tfy sandbox -- sh -c "echo more >>known; cat known; echo x >new || cat /etc/shadow || cat /root/secret || echo refused" 2>said'
END
    if [ "$(id -u)" != 0 ] || [ ! -L /bin ] || ! unshare -m mount --bind /usr /mnt 2>/dev/null; then
        skipped "a cell in a chroot: none can be made here"
        return
    fi
    run unshare -m sh "$scratch/chroot.sh" "$scratch/jail" "$scratch/bin"
    is "in a chroot, a cell is partial" "0 known more refused 1" "$status $(echo "$said" | xargs) $(grep -c '^tfy: sandbox is partial here' "$scratch/jail/work/said")"
}

# The runtime's git. A filter of the person's stands for whatever a repository could make it run; its output is what is committed.
runtime_git() # USER LEVEL
{
    world=$scratch/git-$1-$2
    make_world "$world" "$1"
    begin_host "$1" "$world"
    printf '[user]\nname = Ann\nemail = ann@example.invalid\n[filter "spy"]\nclean = ./attack try %s %s %s few\n' "$world" "$port" "$pid" >"$world/home/.gitconfig"
    echo 'spied filter=spy' >"$world/root/.gitattributes"
    printf '#!/bin/sh\necho ran >"%s/outside/ran"\n' "$world" >"$world/root/.git/hooks/reference-transaction"
    chmod 755 "$world/root/.git/hooks/reference-transaction"
    for file in objects refs/heads logs/refs/heads; do mkdir -p "$world/root/.git/$file"; done
    [ "$1" != other ] || chown -Rh 65534:65534 "$world/root" "$world/home"
    # What a commit may change: objects, and the branch of the run.
    unchanged() { picture "$world" "$2" | grep -v -e '/objects/' -e 'refs/heads/tiffany'; }
    unchanged "$1" "$2" >"$scratch/before"
    (cd "$world/root" && HOME=$world/home TFY_SECRET_X=secret as "$1" "$scratch/bin/committer" --sandbox-level "$2" --db "$world/runs.db") \
        >"$scratch/out" 2>"$scratch/err" </dev/null
    status=$?
    branch=$(git -C "$world/root" -c safe.directory='*' for-each-ref --format='%(refname)' refs/heads/tiffany)
    is "$1, $2: a commit, in the person's name" "0, nothing said, Ann" \
        "$status, $(head -c 300 "$scratch/err" | grep . || echo nothing said), $(git -C "$world/root" -c safe.directory='*' log -1 --format=%an "$branch")"
    git -C "$world/root" -c safe.directory='*' cat-file blob "$branch:spied" >"$scratch/said"
    end_host
    if [ "$2" = partial ] && [ "${abi:-0}" -lt 6 ]; then sed -i '/^kill_runtime /d; /^unix_abstract OPEN/d' "$scratch/said"; fi
    # Of the root, git reads what tools write.
    more="write_sub fails|move_sub fails|read_shared fails|write_known fails|rename_in_root fails|new_in_root fails|much_memory OPEN"
    [ "$2" = full ] || more="$more|chmod_outside OPEN|git_chmod OPEN|write_shm fails|serve fails"
    is "$1, $2: what the runtime's git runs is refused" "" "$(judge "$more" "$scratch/said")"
    count=$(grep -c . "$scratch/said")
    if [ "$count" -ge 96 ]; then ok "$1, $2: ... all of it"; else not_ok "$1, $2: ... all of it" "only $count were"; fi
    unchanged "$1" "$2" >"$scratch/after"
    if cmp -s "$scratch/before" "$scratch/after"; then ok "$1, $2: ... and nothing outside has changed"; else not_ok "$1, $2: ... and nothing outside has changed" "$(diff "$scratch/before" "$scratch/after" | head -n 5)"; fi
}

# A tool whose sandbox writes `.git`: in a work tree, in one that is linked to it, and what no mount can hold.
writes_git() # USER
{
    dir=$scratch/writes-$1
    mkdir "$dir"
    [ "$1" != other ] || chown 65534:65534 "$dir"
    as "$1" sh -ec 'cd "$1" && git init -q r && cd r && git config user.name Ann && git config user.email a@example.invalid && echo 1 >text && git add text && git commit -q -m one
        for tree in linked other; do git worktree add -q "../$tree" 2>/dev/null; done
        mkdir .git/modules && : >.git/config.worktree' - "$dir" || exit 1
    for tree in r linked; do
        run in_git "$1" "$tree" "$(cat "$here/git_attack.sh")"
        is "$1: what takes commands stays shut to a tool that writes .git, in $tree" "0 commits" "$status $(echo "$said" | sed 's/^"//; s/\\n/\n/g' | sed -n 's/ OPEN$//p' | xargs)"
        count=$(echo "$said" | sed 's/\\n/\n/g' | grep -c refused)
        if [ "$count" -ge 17 ]; then ok "$1: ... all was tried"; else not_ok "$1: ... all was tried" "$count" "$said"; fi
    done
    rmdir "$dir/r/.git/modules"
    rm "$dir/r/.git/config.worktree"
    for name in commondir config.worktree; do
        run in_git "$1" r "echo . >.git/$name"
        is "$1: a new $name fails the step" \
            "1 'keep' made '.git/$name', from which git outside would take its configuration; look at it before you use git here (gitter.tfy:3)" \
            "$status ${said#*ToolError: }"
        rm "$dir/r/.git/$name"
    done
    run in_git "$1" linked 'echo x >"$(git rev-parse --git-dir)/config.worktree"'
    is "$1: ... in a linked work tree, too" "1 1" "$status $(echo "$said" | grep -c "/r/.git/worktrees/linked/config.worktree', from which git outside would take")"
    run in_git "$1" r "mkdir .git/modules"
    is "$1: ... and so do new modules" "1 1" "$status $(echo "$said" | grep -c "made '.git/modules', from which programs outside the sandbox take commands")"
}

in_git() # USER TREE SCRIPT
{
    (cd "$dir/$2" && as "$1" "$scratch/bin/gitter" --script "$3" --db "$dir/runs.db" 2>&1 </dev/null)
}

# A program that commits, and starts nothing else; and one whose tool writes the repository.
all_gits()
{
    printf 'workflow main() -> string {\n    yield write_file("spied", "x")\n    return yield commit("One")\n}\n' >"$scratch/committer.tfy"
    printf 'sandbox git { writes [".git"] }\ntool keep(script: string) -> string pure sandbox git = exec ["sh", "-c", script]\nworkflow main(script: string) -> string { return yield keep(script) }\n' >"$scratch/gitter.tfy"
    for program in committer gitter; do
        "$build/tfy" build "$scratch/$program.tfy" -o "$scratch/bin/$program" >"$scratch/out" 2>&1 || break
    done
    if [ ! -x "$scratch/bin/gitter" ]; then
        not_ok "a program that commits" "$(head -n 3 "$scratch/out")"
        return
    fi
    for user in $users; do
        for each in $levels; do
            if [ "$each" != full ] || [ "$user" != other ] || [ "$(as other "$scratch/bin/cell_trials" probe full)" = yes ]; then
                runtime_git "$user" "$each"
                [ "$each" != full ] || writes_git "$user"
            fi
        done
    done
    mkdir "$scratch/bare" && cd "$scratch/bare" && git init -q && cp "$world/home/.gitconfig" "$scratch/.gitconfig" || exit 1
    run env HOME="$scratch" cell_trials without 444 "$scratch/bin/committer" --db "$scratch/bare.db"
    is "without Landlock no program that commits begins" "69 1 no" \
        "$status $(echo "$said" | grep -c 'tools cannot be confined here') $([ -e spied ] && echo yes || echo no)"
    run env HOME="$scratch" cell_trials without 444 "$scratch/bin/committer" --sandbox open --db "$scratch/bare.db"
    is "... unless git may have the person's rights" "0 One" "$status $(git log -1 --format=%s "$(git for-each-ref --format='%(refname)' refs/heads/tiffany)")"
    cd / || exit 1
}

# Where parts of /proc are covered, as in containers, the kernel refuses a new one: the given one stays, and Landlock guards it.
covered_proc()
{
    if [ "$users" != "root other" ] || [ "$level" != full ] || ! unshare -m mount -t tmpfs none /proc/sys 2>/dev/null; then
        skipped "a cell where /proc is covered: it cannot be covered here"
        return
    fi
    make_world "$scratch/covered" other
    begin_host other "$scratch/covered"
    cat >"$scratch/covered.sh" <<'END'
mount -t tmpfs none /proc/sys && cd "$1/root" || exit 1
HOME=$1/home exec setpriv --reuid 65534 --regid 65534 --clear-groups -- tfy sandbox --sandbox-level full --reads "$1/shared" -- ./attack try "$@"
END
    run unshare -m sh "$scratch/covered.sh" "$scratch/covered" "$port" "$pid"
    end_host
    echo "$said" >"$scratch/said"
    is "where /proc is covered, all attacks are refused, too" "0 yes " "$status $([ "$(echo "$said" | wc -l)" -ge 97 ] && echo yes) $(judge "$(wanted full other)" "$scratch/said")"
}

# What was a directory when the policy was written, and is a link now: another tool of the run was faster.
swapped()
{
    mkdir -p "$scratch/swap/root/sub/build" "$scratch/swap/outside"
    for each in $levels; do
        is "$each: a path that is written" yes "$(cell_trials probe "$each" "$scratch/swap/root" "$scratch/swap/root/sub/build")"
    done
    rmdir "$scratch/swap/root/sub/build" && ln -s ../../outside "$scratch/swap/root/sub/build"
    for each in $levels; do
        run cell_trials probe "$each" "$scratch/swap/root" "$scratch/swap/root/sub/build"
        is "$each: ... and is a link by now" "Too many levels of symbolic links" "${said#*: }"
    done
}

# Machines that have less: a kernel without Landlock, and one that refuses namespaces, are made of this one.
lesser()
{
    cd "$scratch/line/w" || exit 1
    run cell_trials without 444 tfy sandbox -- touch ran
    is "without Landlock nothing runs" "69 tfy: tools cannot be confined here: this kernel has no Landlock (Linux 5.13 or later, 'landlock' among its security modules)
  tfy doctor --sandbox   says what is missing
  tfy sandbox --sandbox open -- …   runs the command with your rights no" "$status $said $([ -e ran ] && echo yes || echo no)"
    run cell_trials without 444 tfy doctor --sandbox
    is "... and doctor says so" "69 sandbox        none
Landlock       Function not implemented" "$status $(echo "$said" | grep -E '^(sandbox|Landlock) ')"
    run cell_trials without 317 tfy sandbox --sandbox-level partial -- touch ran
    is "without filters of system calls nothing runs" "69 no" "$status $([ -e ran ] && echo yes || echo no)"
    if [ "$(uname -m)" != x86_64 ]; then
        skipped "a kernel without namespaces: the number of unshare is that of x86_64"
    else
        told="sandbox is partial here (user namespaces: Function not implemented): nothing new directly in the root, no list of hosts, no servers on 127.0.0.1 inside; permissions of files outside can be changed; tfy doctor --sandbox"
        run cell_trials without 272 tfy sandbox -- sh -c 'echo x >>attack && ! mkdir new 2>/dev/null'
        is "without namespaces it is partial, and says so" "0 tfy: $told" "$status $said"
        run cell_trials without 272 tfy sandbox --sandbox-level full -- touch ran
        is "... unless full is asked for" "69 tfy: the sandbox would only be partial here (user namespaces: Function not implemented); tfy doctor --sandbox no" "$status $said $([ -e ran ] && echo yes || echo no)"
        run cell_trials without 272 tfy sandbox --network a.b:1 -- touch ran
        is "... or a list of hosts" "69 tfy: the sandbox would only be partial here, without a list of hosts (user namespaces: Function not implemented); tfy doctor --sandbox no" "$status $said $([ -e ran ] && echo yes || echo no)"
        run cell_trials without 272 tfy doctor --sandbox
        is "... and doctor names the walls" "0 sandbox        partial
namespaces     Function not implemented
mounts         not tried
rights         yes
Landlock       yes
system calls   yes" "$status $(echo "$said" | grep -v ^advice)"
        is "... with advice" "1" "$(echo "$said" | grep -c '^advice         user namespaces: ')"
    fi
    is "the kernel refuses mounts" "69 no" "$(run cell_trials without 442 tfy sandbox --sandbox-level full -- touch ran; echo "$status $([ -e ran ] && echo yes || echo no)")"
    cd / || exit 1
}

abi=$(cell_trials abi) || abi=0
run cell_trials probe full
full=$said
run cell_trials probe partial
if [ "$said" != yes ]; then
    skipped "everything: no sandbox can be built here ($said)"
    echo "0 passed, 0 failed"
    exit 0
fi
levels=partial level=partial partly=
if [ "$full" = yes ]; then
    levels="full partial" level=full
else
    skipped "full cells: $full"
    partly=$(cd "$scratch/bin" && tfy sandbox -- true 2>&1)
fi
users=root
if [ "$(id -u)" != 0 ]; then
    users=own
    skipped "root and other users: this is neither"
elif as other "$scratch/bin/tfy" --version >/dev/null 2>&1; then
    users="root other"
else
    skipped "another user: setpriv cannot be used here"
fi

# Only those: for kernel.sh.
if [ "${2:-}" = attacks ]; then
    for user in $users; do for each in $levels; do attack "$user" "$each"; done; done
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
    exit
fi

is "tfy-cell is a static program" no "$(readelf -d "$scratch/bin/tfy-cell" 2>/dev/null | grep -q NEEDED && echo yes || echo no)"
"$build/runtime/cell/make_calls" >"$scratch/calls.h"
if cmp -s "$scratch/calls.h" "$build/runtime/cell/cell_calls.h"; then ok "the filters are those that libseccomp makes today"; else not_ok "the filters are those that libseccomp makes today"; fi
begun=$(date +%s)
for user in $users; do
    for each in $levels; do
        if [ "$each" = full ] && [ "$user" = other ]; then
            run as other "$scratch/bin/cell_trials" probe full
            [ "$said" = yes ] || { skipped "full as another user: $said"; continue; }
        fi
        attack "$user" "$each"
        daily "$user" "$each"
    done
done
command_line
hosts
swapped
lesser
all_gits
in_chroot
covered_proc
cat >"$scratch/attacker.tfy" <<'END'
sandbox small { memory "4 GiB" }
tool first() -> int pure = exec ["echo", "1"]
tool attack(world: string, port: string, process: string) -> ExecResult pure sandbox small = exec ["./attack", "try", world, port, process, "few"]
workflow main(world: string, port: string, process: string) {
    yield first()
    let said = yield attack(world, port, process)
    print(said.out)
}
END
if "$build/tfy" build "$scratch/attacker.tfy" -o "$scratch/bin/attacker" >"$scratch/out" 2>&1; then
    for user in $users; do tool_attack "$user"; done
else
    not_ok "a program that attacks" "$(head -n 3 "$scratch/out")"
fi
for each in $levels layered; do
    if cell_trials faults "$each" "$scratch/line/w" >"$scratch/out" 2>&1; then
        ok "$each: each system call that fails keeps the tool from starting ($(tail -n 1 "$scratch/out"))"
    else
        not_ok "$each: each system call that fails keeps the tool from starting" "$(tail -n 5 "$scratch/out")"
    fi
done
if (cd "$scratch/line/w" && cell_trials kills "$scratch/bin/tfy" "${CELL_KILLS:-100}") >"$scratch/out" 2>&1; then
    ok "nothing is left of ${CELL_KILLS:-100} cells that were killed ($(tail -n 1 "$scratch/out"))"
else
    not_ok "nothing is left of ${CELL_KILLS:-100} cells that were killed" "$(tail -n 5 "$scratch/out")"
fi
while [ $(($(date +%s) - begun)) -lt 2 ]; do sleep 0.1; done
is "a process that left its session ended with the cell" no "$([ -e "$scratch/line/w/late" ] && echo yes || echo no)"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
