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
