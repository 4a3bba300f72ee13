#!/bin/sh
# A runner is put before the words of a tool; it starts only where the command line says so.
. "$here/lib.sh"
cat >box.tfy <<'END'
sandbox box {
    runner ["./runner", "root={root}", "{root}:{cwd}", "{{.ID}}", "--"]
    output "1 KiB"
}
sandbox gone {
    runner ["no-such-runner"]
}

tool inside(word: string) -> ExecResult pure sandbox box = exec ["printf", "%s", "-n ${word.len()}"] stdin word cwd "sub"
tool fails() -> string pure sandbox box = exec ["sh", "-c", "echo wrong >&2; exit 5"]
tool lost() -> string pure sandbox gone = exec ["true"]

workflow main() -> string {
    let seen = yield inside("some words")
    let answer = yield ask("go on?")
    let again = yield inside(answer)
    return "${seen.out}${again.out}"
}

workflow wrong() -> string {
    return yield fails()
}

workflow missing() -> string {
    return yield lost()
}
END
cat >runner <<'END'
#!/bin/sh
root=${1#root=}
printf '%s\n' "$@" >"$root/words"
[ ! -r /etc/passwd ] || ls "$root/.tfy" >"$root/seen"
shift 4
exec "$@"
END
chmod 755 runner && mkdir sub && ln -s ../runner sub/runner
here_real=$(pwd -P)

run tfy build box.tfy -o box
check "a program with runners is built" ended 0
run tfy check --trust box.tfy
check "the list of what is trusted names its runners" printed 'box: runner ./runner, root={root}'
run ./box
check "it does not start by itself" ended 69 "the tool 'inside' is run by './runner', which no sandbox holds; --runners allows that"
check "... and no run begins" sh -c '[ ! -e .tfy/runs.db ] || [ "$(tfy ps | wc -l)" -le 1 ]'
run ./box --runners
check "with --runners it does" ended 75
check "the words of the runner come first, with root and directory filled in" \
    sh -c "[ \"\$(cat words)\" = \"root=$here_real
$here_real:$here_real/sub
{{.ID}}
--
printf
%s
-n 10\" ]"
check "no sandbox holds it" test -s seen
run tfy inspect last
check "inspect says so" grep -q '^sandbox .* --runners' out
run tfy approve last --answer word
run ./box resume last
check "a resumed run keeps it" printed_exactly '"-n 10-n 4"'
run ./box --runners --workflow wrong
check "the tool's status and errors come through" ended 1 "'fails' exited with status 5"
check "..." grep -q wrong err
run ./box --runners --workflow missing
check "a runner that is not there is the tool's error" ended 1 "no-such-runner"
for option in --sandbox=readonly --sandbox=workspace --network=none; do
    run ./box --runners $option --workflow wrong
    check "$option does not hold it, so the tool does not start" ended 1 "cannot hold it"
done
