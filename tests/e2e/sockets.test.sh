#!/bin/sh
# Servers written in the language against real clients: many at once, slow ones, ones that reset, ones that never end a line; with both
# pollers; a server that is killed and resumed; five thousand connections in one process.
. "$here/lib.sh"
client=$build/tests/net_client
spam=$EXAMPLES/spam_server/spam_server.tfy

# The address a server printed, once it has.
serving() { grep -q 'serving' out && address=$(sed -n 's/.* at //p' out | tail -n 1); }
told() { [ "$(printf "$1" | "$client" "$address" talk)" = "$(printf "$2")" ]; }
gone() { grep -q "a client is gone: $1" err; }
stop()
{
    kill -TERM "$pid"
    finish
    ended 130
}
replays()
{
    run tfy replay last
    printed ' 0 divergences, 0 effects performed'
}

# ---- the spam server ----

for poller in epoll poll; do
    rm -rf .tfy
    TFY_POLLER=$poller start tfy run "$spam" --address 127.0.0.1:0
    within 60 serving
    check "spam is served as asked ($poller)" told 'SPAM 3\n' \
        '100 SPAM FOLLOWS\nspam glorious spam\nspam glorious spam\nspam glorious spam'
    bad='400 WE ONLY SERVE SPAM'
    check "bad requests are refused ($poller)" told 'EGGS\n\nSPAM\nSPAM 0\nSPAM -1\nSPAM x\nSPAM 1 2\nspam 1\nSPAM1\n' \
        "$bad\n$bad\n$bad\n$bad\n$bad\n$bad\n$bad\n$bad\n$bad"
    check "blanks and the end of a line as they come ($poller)" told '  SPAM \t 1 \r\nSPAM 1' \
        '100 SPAM FOLLOWS\nspam glorious spam\n100 SPAM FOLLOWS\nspam glorious spam'
    check "a client that says nothing ($poller)" told '' ''
    "$client" "$address" stall 'SPAM 1' 20000 &
    stalling=$!
    printf 'SPAM 1\n' | "$client" "$address" talk 20 >slow &
    slow=$!
    "$client" "$address" reset 'SPAM 100000\n' &
    resetting=$!
    "$client" "$address" flood >flooded 2>&1 &
    flooding=$!
    check "many clients beside bad ones ($poller)" "$client" "$address" many 100 'SPAM 2\n' \
        '100 SPAM FOLLOWS\nspam glorious spam\nspam glorious spam\n'
    wait "$slow" "$resetting" "$flooding"
    check "a byte at a time is a request, too ($poller)" [ "$(head -n 1 slow)" = '100 SPAM FOLLOWS' ]
    check "a reset ends its client only ($poller)" within 20 gone 'cannot write'
    check "a line that never ends is cut ($poller)" within 20 gone 'cannot read_line: the line is longer than 65536 bytes'
    check "its sender is sent away soon ($poller)" [ "$(cat flooded)" -lt 65536 ]
    kill "$stalling" 2>/dev/null
    wait "$stalling"
    check "the server ends when it is interrupted ($poller)" stop
    check "its history replays ($poller)" replays
done

rm -rf .tfy
start tfy run "$spam" --address '[::1]:0'
if within 60 serving; then
    check "IPv6 is served" told 'SPAM 1\n' '100 SPAM FOLLOWS\nspam glorious spam'
    check "and ends" stop
else
    finish
    echo "skipped IPv6: this machine has none: $(cat err)"
fi

# ---- killed, and back ----

rm -rf .tfy
start tfy run "$spam" --address unix:spam.sock
within 60 serving
address=unix:spam.sock
check "a Unix socket serves" told 'SPAM 1\n' '100 SPAM FOLLOWS\nspam glorious spam'
"$client" "$address" stall 'SPAM ' 20000 &
stalling=$!
sleep 0.3
kill -9 "$pid"
finish
wait "$stalling" 2>/dev/null
back() { [ "$(grep -c 'serving spam at' out)" = 1 ] && grep -q 'back again' out; }
start tfy resume last
check "a server that was killed listens again" within 20 back
check "and serves" told 'SPAM 1\n' '100 SPAM FOLLOWS\nspam glorious spam'
lost() { [ "$(sqlite3 .tfy/runs.db "select count(*) from history where detail like 'it was opened by an earlier process%'")" -ge 1 ]; }
check "what was lost is in the log" lost
check "it ends when it is interrupted" stop
check "the history of both replays" replays
check "the socket is gone with its server" [ ! -e spam.sock ]

# ---- what goes wrong ----

cat >wrong.tfy <<'END'
workflow attempt(address: string) {
    try {
        let link = yield connect(address) timeout 20s
        let line = yield read_line(link) timeout 200ms
        print("${address}: ${line ?? "the end"}")
        let peer = yield link.address()
        print(peer)
    } catch e {
        print("${e.message}")
    }
}

workflow once(listener: listener) {
    let first = yield accept(listener)
    close(first)
    let second = yield accept(listener)
    yield write(second, "half a line")
    close(second)
    let third = yield accept(listener)
    yield sleep(400ms)
    close(third)
    close(listener)
}

workflow reader(link: stream) -> string {
    try {
        let _line = yield read_line(link)
        return "not closed"
    } catch e {
        return e.message
    }
}

workflow main() {
    yield attempt("unix:nobody.sock")
    yield attempt("127.0.0.1:1")
    yield attempt("no-such-host.invalid:80")
    yield attempt("localhost")
    yield attempt("::1:80")
    yield attempt("localhost:99999")
    yield attempt(":80")
    let listener = yield listen("unix:once.sock")
    spawn once(listener)
    yield attempt("unix:once.sock")
    yield attempt("unix:once.sock")
    yield attempt("unix:once.sock")
    let here = yield listen("localhost:0")
    let address = yield here.address()
    try {
        yield listen(address)
    } catch e {
        print(e.message)
    }
    let link = yield connect(address)
    let other = yield accept(here)
    close(here)
    let waiting = spawn reader(link)
    yield sleep(10ms)
    close(link)
    let told = yield join(waiting)
    print(told)
    try {
        yield read(link)
    } catch e {
        print(e.message)
    }
    yield write(other, "x") else 0
    try {
        yield write(other, "y".repeat(4000000))
        print("written")
    } catch _ {
        print("the other side is gone")
    }
    try {
        yield read(other, most: 0)
    } catch e {
        print(e.message)
    }
}
END
cat >wrong.expected <<'END'
cannot connect to unix:nobody.sock: there is no such socket
cannot connect to 127.0.0.1:1: connection refused: nothing listens there
cannot connect to no-such-host.invalid:80: NAME
cannot connect to localhost: write host:port, [ipv6]:port, :port or unix:path
cannot connect to ::1:80: an IPv6 address needs brackets: [::1]:4200
cannot connect to localhost:99999: the port after the last ':' must be a number up to 65535
cannot connect to :80: the host is missing
unix:once.sock: the end
unix:PATH/once.sock
unix:once.sock: half a line
unix:PATH/once.sock
read_line had no answer in time
cannot listen at HERE: the address is already in use
cannot read_line: the stream was closed meanwhile
cannot read: the descriptor is closed
the other side is gone
cannot read 0 bytes: a size must be from 1 to 16777216
END
for poller in epoll poll; do
    run env TFY_POLLER=$poller tfy run wrong.tfy
    sed -e 's/invalid:80: .*/invalid:80: NAME/' -e "s|unix:$PWD/|unix:PATH/|" -e 's/listen at [^ ]*:/listen at HERE:/' out >said
    check "failures have clear words ($poller)" diff wrong.expected said
    check "and end nothing ($poller)" ended 0
    check "and replay ($poller)" replays
done

# ---- text that comes in pieces, and what is no text ----

cat >pieces.tfy <<'END'
workflow main() {
    let input = yield stdin()
    while true {
        let piece = yield read(input)
        if piece == null { return }
        print("[${piece}]")
    }
}
END
mkfifo pieces
replaced=$(printf '\357\277\275')
gives() { # BYTES TEXT: what is read of these bytes, before there are any more
    printf "$1" >&9
    within 20 printed "[$2]"
}
start sh -c 'exec tfy run pieces.tfy <pieces'
exec 9>pieces
check "bytes that are no text are read as they come" gives 'a\377' "a$replaced"
check "and so is what no character begins with" gives 'b\355\240' "b$replaced$replaced"
check "half a character waits" gives 'c\342\202' c
check "for its other half" gives '\254d' '€d'
printf '\303' >&9
exec 9>&-
finish
check "or for the end" printed "[$replaced]"
check "which ends the program" ended 0
check "it replays" replays
sed 's/read(input)/read(input, most: 2)/' pieces.tfy >few.tfy
printf 'ab€c\303x\360\237\230' >text
run sh -c 'exec tfy run few.tfy <text'
check "a character is given whole, also where less is asked for" printed_exactly "$(printf '[ab]\n[€]\n[c]\n[%sx]\n[%s]' "$replaced" "$replaced")"

# ---- tools in C that wait for a descriptor of their own ----

cat >fifo.c <<'END'
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tfy.h"

bool fifo_hear(TfyTask *task, TfyObj *path, TfyObj **out);

static void stop(void *state)
{
    int *fd = state;
    close(*fd);
    free(fd);
    if (write(STDERR_FILENO, "stopped\n", 8) < 0) return;
}

/* Three letters make a word; they may come one by one. */
static bool ready(void *state, TfyTask *task, TfyValue *out)
{
    int *fd = state;
    static char word[4];
    ssize_t len = read(*fd, word + strlen(word), 3 - strlen(word));
    if (len == 0 || (len < 0 && errno != EAGAIN)) {
        stop(state);
        return tfy_tool_fail(task, errno, "nobody is there any more");
    }
    if (strlen(word) < 3) return tfy_wait_fd(task, *fd, TFY_WAIT_READ, ready, stop, state);
    out->o = tfy_string_of(task, word, 3);
    memset(word, 0, sizeof word);
    close(*fd);
    free(fd);
    return out->o != NULL;
}

bool fifo_hear(TfyTask *task, TfyObj *path, TfyObj **out)
{
    int *fd = malloc(sizeof *fd);
    (void)out;
    if (!fd) return tfy_tool_fail(task, ENOMEM, "no memory");
    *fd = open(((TfyString *)path)->bytes, O_RDONLY | O_NONBLOCK);
    return tfy_wait_fd(task, *fd, TFY_WAIT_READ, ready, stop, fd);
}
END
cat >fifo.tfy <<'END'
tool hear(path: string) -> string pure = extern "fifo_hear"

workflow clock(names: channel<string>) {
    for _ in 0..3 {
        yield sleep(20ms)
        yield names.send("tick")
    }
    names.close()
}

workflow main() -> string {
    let ticks: channel<string> = channel(8)
    spawn clock(ticks)
    let heard = yield hear("fifo") timeout 20s
    let tick = yield ticks.recv()
    let none = yield hear("quiet") timeout 50ms else "nothing"
    return "${heard} ${tick ?? "no tick"} ${none}"
}
END
mkfifo fifo quiet
(exec sleep 60 >quiet) & # a writer that says nothing
quiet=$!
(printf a; sleep 0.2; printf b; sleep 0.2; printf c; exec sleep 60) >fifo &
speaks=$!
for poller in epoll poll; do
    [ $poller = epoll ] || { (printf abc; exec sleep 60) >fifo & }
    run env TFY_POLLER=$poller tfy run fifo.tfy fifo.c
    check "a tool in C waits and keeps nobody waiting ($poller)" printed '"abc tick nothing"'
    check "and is told when its time is up ($poller)" ended 0 stopped
done
kill "$quiet" "$speaks" $!

# ---- five thousand at once, beside a hundred thousand that sleep ----

cat >hold.tfy <<'END'
workflow echo(client: stream) {
    try {
        while true {
            let line = yield read_line(client)
            if line == null { return }
            yield write(client, "${line}\n")
        }
    } finally {
        close(client)
    }
}

workflow sleeper() { yield sleep(1h) }

workflow main() {
    for _ in 0..100000 { spawn sleeper() }
    let listener = yield listen("127.0.0.1:0")
    let address = yield listener.address()
    print("serving at ${address}")
    while true {
        let client = yield accept(listener)
        spawn echo(client)
    }
}
END
ulimit -n "$(ulimit -H -n)"
if [ "$(ulimit -n)" -lt 6000 ]; then
    echo "skipped five thousand connections: only $(ulimit -n) files may be open"
else
    rm -rf .tfy
    start tfy run hold.tfy
    within 60 serving
    asleep() { [ "$(records TaskYield)" = 100000 ]; }
    check "a hundred thousand workflows sleep" within 60 asleep
    check "five thousand connections in the same process" "$client" "$address" many 5000 'hello\n' 'hello\n'
    check "it is still there" told 'a\n' 'a'
    check "and ends when it is interrupted" stop
fi
