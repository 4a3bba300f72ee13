#!/bin/sh
# A program carries only what it uses: its size and its libraries are held here, whatever else the runtime learns.
. "$here/lib.sh"
# This is about what people get: built by the usual linker and not by the one of the tests, which is faster.
unset COMPILER_PATH
export XDG_CACHE_HOME="$PWD/cache"
cp "$EXAMPLES/hello/hello.tfy" .
tfy build hello.tfy -o hello >/dev/null
cp hello stripped && strip stripped
at_most() { [ "$1" -le "$2" ] || { echo "$1 is more than $2"; return 1; }; }
libraries() { ldd "$1" | grep -c '=>.*/'; }

check "a program that only sleeps and prints has 560 kB at most, stripped" at_most "$(stat -c %s stripped)" 560000
check "... and 9 shared libraries, the loader among them" at_most "$(($(libraries hello) + 1))" 9
check "... of which none speaks HTTP or reads patterns" sh -c '! ldd hello | grep -E "curl|ssl|pcre"'
check "... and nothing of the debugger" sh -c 'nm hello | grep -q " tfy_main$" && ! nm hello | grep -E " tfy__(debugger|debug_screen|view)"'
tfy build --debug hello.tfy -o stepped >/dev/null
check "... which one built with --debug has" sh -c 'nm stepped | grep -q " tfy__debugger$"'

# ---- what it holds while it waits ----

cat >waits.tfy <<'END'
workflow main() {
    yield sleep(1h)
}
END
tfy build waits.tfy -o waits >/dev/null
./waits >waits.out 2>&1 &
waits=$!
own() { sed -n 's/^RssAnon:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$waits/status"; }
gives_back() { for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do [ "$(own)" -le 510 ] && return; sleep 0.3; done; own; return 1; }
check "a process that waits gives memory back, and keeps 510 kB of its own at most" gives_back
kill "$waits"
wait "$waits" 2>/dev/null

cat >asks.tfy <<'END'
workflow main() -> string {
    let found = "a1".find_match("[0-9]")
    if found == null { return "" }
    let answer = yield http("GET", "http://localhost:1/")
    return "${found.text}${answer.body}"
}
END
tfy build asks.tfy -o asks >/dev/null
check "one that sends requests and matches patterns has the libraries for it" sh -c 'ldd asks | grep -q curl && ldd asks | grep -q pcre'
