#!/bin/sh
# What the process itself has too little of (descriptors, room for its files) is no outcome of a step: it waits, says so once, and goes on.
. "$here/lib.sh"
cat >steps.tfy <<'END'
tool act() -> string once = exec ["sh", "-c", "echo acted >>ledger; echo acted"]

workflow asks(what: string) -> string {
    try {
        if what == "http" {
            let r = yield http("POST", "http://127.0.0.1:1/")
            return "${r.status}"
        }
        let _s = yield connect("127.0.0.1:1")
        return "connected"
    } catch e: ToolError {
        return "${e.code}"
    }
}

workflow main() {
    print("ready")
    yield sleep(2s)
    let all = parallel {
        read: yield read_file("given")
        wrote: {
            yield write_file("made", "made")
            give "wrote"
        }
        acted: yield act()
        http: yield asks("http")
        connect: yield asks("connect")
        preview: {
            let p = yield preview("given", "other\n")
            give "${p.diff.len() > 0}"
        }
    }
    print("${all.read.trim()} ${all.wrote} ${all.acted.trim()} ${all.http} ${all.connect} ${all.preview}")
}
END
echo given >given
no_room() { grep -q "^tfy: no file descriptor is free for .* (RLIMIT_NOFILE is $1)" err; }
export no_proxy="*" NO_PROXY="*"

# Every descriptor that the process may have is taken while its steps begin, and some are given back later.
start tfy run steps.tfy
within 60 grep -q ready out
free=3
while [ -e "/proc/$pid/fd/$free" ]; do free=$((free + 1)); done
check "the limit is lowered" prlimit --pid "$pid" --nofile="$free:"
check "without a free descriptor the steps wait, and say so" within 60 no_room "$free"
prlimit --pid "$pid" --nofile=1024:
finish
check "... and go on when there is one" printed "given wrote acted 111 111 true"
check "... the run ends well" ended 0
check "... having said it once" [ "$(grep -c "no file descriptor is free" err) $(grep -c "there is room again" err)" = "1 1" ]
check "... and done what is done once, once" [ "$(cat ledger)" = acted ]
check "... nothing of it is in the log" sh -c '! sqlite3 .tfy/runs.db "select payload from wal" | grep -q "\"code\":2[34][,}]\|open files"'
run tfy replay last
check "... and it replays" printed " 0 divergences, 0 effects performed"

# More tools side by side than there are descriptors for: the later ones take their turn.
cat >many.tfy <<'END'
tool nap(n: int) -> string once = exec ["sh", "-c", "sleep 0.3; echo $1", "nap", "${n}"]

workflow main() {
    let all = parallel for i in 0..30 {
        give yield nap(i)
    }
    print("${all.len()} naps")
}
END
rm -rf .tfy
tfy build many.tfy -o many >/dev/null 2>&1
run sh -c 'ulimit -n 40; exec ./many'
check "thirty tools with forty descriptors: all are done" printed "30 naps"
check "... with no error in the log" sh -c '! sqlite3 .tfy/runs.db "select payload from wal" | grep -q "\"error\""'

# Too few to begin with.
run sh -c 'ulimit -n 10; exec ./many'
check "ten descriptors: one sentence that says what to type" ended 69 "RLIMIT_NOFILE allows this process 10 open files, and it needs"
check "... ulimit -n" ended 69 "type 'ulimit -n 1024'"
check "... and nothing else" [ "$(wc -l <err)" = 1 ]
run sh -c 'ulimit -n 10; exec tfy ps'
check "so does tfy itself" ended 69 "RLIMIT_NOFILE"

# A limit on the size of files stops the log like a full disk.
cat >grows.tfy <<'END'
workflow main(n: int = 300) -> int {
    let text = "0123456789abcdef".repeat(400)
    for i in 0..n {
        let _t = yield now()
        print("${i} ${text}")
        yield sleep(0s)
    }
    return n
}
END
rm -rf .tfy
tfy build grows.tfy -o grows >/dev/null 2>&1
# small COMMAND…: runs it where a file may not grow past 64 blocks, with the action of SIGXFSZ that a login has.
small() { run env --default-signal=XFSZ sh -c 'ulimit -S -f 64; exec "$@" >shown' sh "$@"; }
start env --default-signal=XFSZ sh -c 'ulimit -S -f 1024; exec ./grows >/dev/null'
check "a log that may not grow pauses its runs" within 60 grep -q "the log may not grow (RLIMIT_FSIZE): runs pause" err
check "... the process lives" kill -0 "$pid"
prlimit --pid "$pid" --fsize=unlimited:
finish
check "... and goes on when it may" ended 0 "runs continue"
run tfy verify
check "... with a log that is whole" ended 0
small tfy output last
check "standard output in a file that may not grow: one sentence, and no signal" ended 74 "cannot write to standard output: File too large"
small ./grows --db small.db
check "so is a database that cannot be created in files so small" ended 74 "small.db cannot be created"
