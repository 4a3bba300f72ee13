#!/bin/sh
# A tool cannot read the secrets of the process that started it, and no spelling of one comes back.
. "$here/lib.sh"
cat >peek.tfy <<'END'
workflow spell(what: string) -> string {
    let r = yield exec(["sh", "-c", "printf %s \"$1\"; printf %s \"$1\" >&2", "sh", what])
    return "${r.out}|${r.err}"
}

tool failing(what: string) -> string = exec ["sh", "-c", "printf '%s' \"$1\" >&2; exit 3", "sh", what]

workflow fails(what: string) {
    yield failing(what)
}
END
TFY_SECRET_TOKEN=secret-value-1
TFY_LLM_KEY=model-key-12345
export TFY_SECRET_TOKEN TFY_LLM_KEY
run tfy build peek.tfy -o peek
check "it is built" ended 0

run ./peek --workflow spell --what secret-value-1
check "a value that the tool was not given is masked all the same" printed_exactly '"[secret:TOKEN]|[secret:TOKEN]"'
run ./peek --workflow spell --what "x $(printf secret-value-1 | base64) y"
check "base64" printed '[secret:TOKEN]'
run ./peek --workflow spell --what "$(printf secret-value-1 | od -An -tx1 | tr -d ' \n')"
check "hex" printed_exactly '"[secret:TOKEN]|[secret:TOKEN]"'
run ./peek --workflow spell --what "key=model-key-12345"
check "the model's key" printed_exactly '"key=[key]|key=[key]"'
run ./peek --workflow fails --what "it is secret-value-1"
check "an error" ended 1 'it is [secret:TOKEN]'

# The initial environment of the process, as the kernel shows it to others of the same user.
cat >wait.tfy <<'END'
workflow main() {
    yield sleep(1h)
}
END
run tfy build wait.tfy -o wait
env TFY_SECRET_DEEP=deeper-than-deep ./wait >out 2>err </dev/null &
pid=$!
wiped() { ! tr '\0' '\n' <"/proc/$pid/environ" | grep -q deeper-than-deep; }
if [ "$(id -u)" = 0 ]; then
    check "the environment is wiped where the kernel shows it" within 30 wiped
else
    refused() { ! cat "/proc/$pid/environ" >/dev/null 2>&1; }
    check "nobody of the same user may look" within 30 refused
fi
kill "$pid"
wait "$pid" || true

# A key in the log would be there for ever.
cat >log.tfy <<'END'
workflow main() -> string {
    let r = yield exec(["sh", "-c", "printf 'secret-%s' value-1"])
    return r.out
}
END
rm -rf .tfy
run tfy run log.tfy
check "it is masked in the answer" printed_exactly '"[secret:TOKEN]"'
check "... and in the log" sh -c '! grep -qaF secret-value-1 .tfy/runs.db .tfy/runs.db-wal'
unset TFY_SECRET_TOKEN TFY_LLM_KEY

# ---- where values come from ----

cat >use.tfy <<'END'
tool fed(text: string) -> ExecResult pure = exec ["cat"] stdin text
sandbox web {
    network ["192.0.2.1:80"]
}
tool get(host: string) -> string pure sandbox web = exec ["sh", "-c", "curl -sf http://$0.example/", host]
tool print_file(path: string) -> ExecResult pure = exec ["cat", "--", path]

workflow main(say: string = "ask") -> string {
    let got = yield fed("${secret("TOKEN")}|")
    let more = yield print_file(say)
    return "${got.out}${if more.out != "" { "read" } else { "refused" }}"
}

workflow idle(say: string) -> string {
    let said = yield print_file(say)
    return said.out
}

workflow waits() {
    yield fed(secret("SLOW"))
}

workflow quick() {
    let slow = spawn waits()
    yield sleep(100ms)
    print("not blocked")
    yield join(slow)
}

workflow leaks(say: string) {
    yield get(say)
}

workflow reads(path: string) -> string {
    return yield read_file(path)
}
END
run tfy build use.tfy -o use
check "one with sources is built" ended 0
mkdir -m 700 dir credentials && umask 077
printf 'from-a-directory\n' >dir/TOKEN
printf 'from-systemd\n' >credentials/TOKEN
printf '# comment\nTOKEN=from-a-file\n' >file
cat >ask <<'END'
#!/bin/sh
[ "$1" != SLOW ] || exec sleep 30
[ -z "${TFY_SECRET_OTHER:-}" ] || exit 4
printf 'asked-for-%s\nmore\n' "$1"
END
chmod 755 ask
mkdir slow
(cd slow && ../use --workflow quick --secrets-from ../ask >out 2>err </dev/null) &
slow=$!

run ./use --secrets dir
check "a directory has a file for each" printed_exactly '"[secret:TOKEN]|read"'
run env CREDENTIALS_DIRECTORY="$PWD/credentials" ./use
check "systemd's credentials" printed_exactly '"[secret:TOKEN]|read"'
run env CREDENTIALS_DIRECTORY="$PWD/credentials" ./use --secrets file
check "the option comes first" printed_exactly '"[secret:TOKEN]|read"'
run env TFY_SECRET_TOKEN=from-env ./use --secrets-from ./ask
check "then the environment" printed_exactly '"[secret:TOKEN]|read"'
run env TFY_SECRET_OTHER=other ./use --secrets-from ./ask --events
check "then a command, which gets no other secret: its first line" printed_exactly '"[secret:TOKEN]|read"'
check "... as an event with its name, the tool and the task" grep -q '"stage":"SecretUsed","message":"TOKEN by fed"' err
run tfy history last
check "... and as a record" printed 'TOKEN by fed, step 1/1'
check "... never with its value" sh -c '! grep -qaF asked-for-TOKEN .tfy/runs.db .tfy/runs.db-wal err'
run ./use replay last
check "... which a replay passes over" ended 0
run ./use --secrets-from "false x"
check "a command that fails" ended 1 "the secret TOKEN is missing: 'false x TOKEN' exited with status 1"
run ./use --secrets-from "true"
check "one that prints nothing" ended 1 "'true TOKEN' printed nothing"
run ./use --secrets-from "./missing"
check "one that is not there" ended 1 "cannot start './missing': No such file or directory"
chmod 644 dir/TOKEN
run ./use --secrets dir
check "a file that others can read is refused" ended 1 'dir/TOKEN can be read by others; chmod 600 it'
chmod 600 dir/TOKEN && chmod 755 dir
run ./use --secrets dir
check "... and such a directory" ended 1 'the directory of secrets dir can be read by others; chmod 700 it'
chmod 700 dir

# ---- tools do not read where they come from ----

cp file said
run ./use --workflow idle --say said --secrets file
check "what this process has not used is masked, too" printed_exactly '"# comment\nTOKEN=[secret:TOKEN]\n"'
run ./use --workflow leaks --say from-a-file --secrets file
if [ "$status" = 1 ] && ! grep -q 'needs a full sandbox' err; then
    check "... and the name of a host that the proxy refused" ended 1 'the sandbox refused [secret:TOKEN].example:80'
    check "... everywhere" sh -c '! grep -F from-a-file err'
else
    echo "skipped: a list of hosts needs a full sandbox"
fi
for level in full partial; do
    run ./use --say dir/TOKEN --secrets dir --sandbox-level $level
    [ "$status" = 69 ] && { echo "skipped: $level: no such sandbox here"; continue; }
    check "$level: a directory in the root cannot be read" printed_exactly '"[secret:TOKEN]|refused"'
done
run ./use --workflow reads --path dir/TOKEN --secrets dir
check "... by effects neither" ended 1 'a file of secrets'
run ./use --secrets .
check "the root does not lie in it" ended 64 'the working root is in the directory of secrets'
if [ "$(id -u)" = 0 ] && place=$(mktemp -d /opt/tfy-secrets.XXXXXX); then
    echo TOKEN=not-to-be-read >"$place/file"
    for level in full partial; do
        run ./use --say "$place/file" --secrets "$place/file" --sandbox-level $level
        [ "$status" = 69 ] && { echo "skipped: $level: no such sandbox here"; continue; }
        check "$level: nor where every tool reads the system" printed_exactly '"[secret:TOKEN]|refused"'
    done
    rm -rf "$place"
else
    echo "skipped: only root puts secrets into /opt"
fi

wait "$slow"
check "a command has 10 s" grep -q "'../ask SLOW' did not end within 10 s" slow/err
check "... in which others go on" grep -q 'not blocked' slow/out
