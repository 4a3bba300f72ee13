#!/bin/sh
# Clients of the live-owner socket that are slow, rude or many do not hold up the run.
. "$here/lib.sh"
cat >live.tfy <<'END'
workflow main() -> string {
    let ticker = spawn tick()
    let yes = yield approve("live?")
    kill(ticker)
    return if yes { "yes" } else { "no" }
}

workflow tick() {
    for i in 0..400 {
        yield sleep(50ms)
        log("tick ${i}")
    }
}
END
# client PERL: runs a program with $s connected to the socket, and prints what it prints.
client()
{
    timeout 20 perl -MIO::Socket::UNIX -e '
        my $s = IO::Socket::UNIX->new(Type => SOCK_STREAM, Peer => ".tfy/runs.db-live/owner") or die "no socket";
        $SIG{PIPE} = "IGNORE"; '"$1"
}
start tfy run live.tfy
within 20 grep -q 'live?' err

check "no JSON" sh -c 'echo "$1" | grep -q "\"code\":-2"' sh "$(client 'print $s "hello\n"; print scalar <$s>;')"
check "an unknown request" sh -c 'echo "$1" | grep -q "not understood"' sh "$(client 'print $s "{\"do\":\"dance\"}\n"; print scalar <$s>;')"
check "a list" sh -c 'echo "$1" | grep -q "not understood"' sh "$(client 'print $s "[1]\n"; print scalar <$s>;')"
check "an answer of another type" sh -c 'echo "$1" | grep -q "not understood"' sh \
    "$(client 'print $s "{\"do\":\"approve\",\"run\":\"last\",\"answer\":{}}\n"; print scalar <$s>;')"
check "an unknown run" sh -c 'echo "$1" | grep -q "\"code\":-6"' sh \
    "$(client 'print $s "{\"do\":\"kill\",\"run\":\"12345678\"}\n"; print scalar <$s>;')"
client 'close $s;'
client 'print $s "x" x 3000000; print "sent";' >/dev/null
client 'print $s "\n" x 1000; print scalar <$s>;' >/dev/null
client 'print $s "{\"do\":\"approve\""; sleep 7; my $n = sysread($s, my $b, 1); exit($n ? 1 : 0);' &
slow=$!
perl -MIO::Socket::UNIX -e 'my @all; for (1..60) { push @all, IO::Socket::UNIX->new(Type => SOCK_STREAM, Peer => ".tfy/runs.db-live/owner"); } sleep 1;'
ticks=$(grep -c tick err)
check "the run goes on meanwhile" within 5 sh -c '[ "$(grep -c tick err)" -gt '"$((ticks + 3))"' ]'
status=0
wait "$slow" || status=$?
check "a client that does not end its line is let go" [ "$status" = 0 ]
status=0
timeout 20 tfy approve last >out2 2>err2 </dev/null || status=$?
check "who asks properly is heard" [ "$status" = 0 ]
finish
check "... and the run ends" printed_exactly '"yes"'

if [ "$(id -u)" = 0 ]; then
    start tfy run live.tfy
    within 20 grep -q 'live?' err
    status=0
    setpriv --reuid 65534 --clear-groups timeout 10 "$TFY" approve last --db "$PWD/.tfy/runs.db" >out2 2>err2 </dev/null || status=$?
    check "another user is not heard" [ "$status" != 0 ]
    tfy deny last 2>/dev/null
    finish
    check "... and changed nothing" printed_exactly '"no"'
fi
