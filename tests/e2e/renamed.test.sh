#!/bin/sh
# No file names a member of a payload or of a snapshot by a string of its own: where every member has another name
# than in the tables of wal/rows, other topics hold as before.
. "$here/lib.sh"
top=$here/../..
mkdir -p other/runtime
cp "$build/tfyc" "$top/runtime/tfy.h" "$top/runtime/tfy_task.h" "$top/runtime/tfy_program.h" other/
renamed()
{
    # shellcheck disable=SC2086,SC2046
    ${CC:-cc} ${CFLAGS:-} -std=gnu11 -D_GNU_SOURCE -fPIC '-DNAME(Text)="m_" Text' -I"$top/runtime" -c "$top/runtime/wal/rows/payload.c" -o other/payload.o &&
        cp "$build/runtime/libtfy.a" other/runtime/libtfy.a && ar d other/runtime/libtfy.a wal_rows_payload.c.o &&
        ar r other/runtime/libtfy.a other/payload.o &&
        ${CC:-cc} ${CFLAGS:-} -o other/tfy "$build"/tfy.p/*.o -Wl,--as-needed other/runtime/libtfy.a \
            $(pkg-config --libs sqlite3 jansson libxxhash libcurl libpcre2-8) -pthread -lm
}
check "a build whose members have other names" renamed
# Topics that ask the log's own readers alone: they write snapshots, restore and map them, compact, fork and move runs.
for topic in snapshots mapped compact fork import signals; do
    sh "$here/run.sh" other "$topic" >said 2>&1
    check "... has all that $topic asks for" sh -c 'cat said; tail -n 1 said | grep -q "^[1-9][0-9]* passed, 0 failed"'
done

# The reader of histories in crashtest is another one. A result or a resume that it misread would differ.
cat >kills.tfy <<'END'
tool say(text: string) -> string once = exec ["echo", text]

workflow main() -> string {
    let first = yield say("one")
    let second = yield say("two")
    return first + second
}
END
killed() { TMPDIR=$PWD other/tfy crashtest kills.tfy >killed.out 2>&1; }
check "... and all that crashtest compares" killed
