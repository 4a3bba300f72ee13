#!/bin/sh
# tfy serve as a service: what it tells systemd, its unit file, and programs that the configuration names.
. "$here/lib.sh"
. "$here/serve_lib.sh"
cat >shop.tfy <<'END'
workflow main() -> string { return "from a file" }
END
cat >other.tfy <<'END'
workflow main() -> string { return "from an object" }
END
tfy build --shared other.tfy -o other.so
echo '{"programs": {"shop": {"file": "shop.tfy"}, "desk": {"file": "other.so"}}}' >serve.json
cat >listen.py <<'END'
import os, socket, sys
told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
told.bind("told.sock")
open("listening", "w").close()
while True:
    with open("told", "ab") as out: out.write(told.recv(4096) + b"\n")
END
python3 listen.py &
listener=$!
tries=0
until [ -e listening ] || [ $((tries += 1)) -gt 200 ]; do sleep 0.02; done
export NOTIFY_SOCKET="$PWD/told.sock" WATCHDOG_USEC=2000000
serves --config serve.json --no-tcp
unset NOTIFY_SOCKET WATCHDOG_USEC
has_told() { tries=0; until grep -qx "$1" told || [ $((tries += 1)) -gt 250 ]; do sleep 0.02; done; grep -qx "$1" told; }
check "it says when it serves" has_told READY=1
check "... and that its loop turns" has_told WATCHDOG=1
check "... once a second" sh -c '! kill -0 '"$server"' 2>/dev/null || { sleep 2.5; [ "$(grep -cx WATCHDOG=1 told)" -le 5 ]; }'
check "a program of the configuration is compiled" test "$(tfy start shop --wait)" = '"from a file"'
check "... or loaded" test "$(tfy start desk --wait)" = '"from an object"'
ends
check "it says when it ends" has_told STOPPING=1
kill "$listener"
wait "$listener" 2>/dev/null

serves shop.tfy --config serve.json --no-tcp
check "without anybody who listens it serves, too" test "$(tfy start desk --wait)" = '"from an object"'
ends
wrong() { echo "$1" >wrong.json; tfy serve --no-tcp --config wrong.json 2>err; [ $? != 0 ] && { grep -qF -- "$2" err || { cat err; return 1; }; }; }
check "a file that there is not" wrong '{"programs": {"shop": {"file": "none.so"}}}' "none.so"
echo 'workflow main() -> int { return x }' >broken.tfy
check "one that does not compile" wrong '{"programs": {"shop": {"file": "broken.tfy"}}}' "broken.tfy:1:33"
check "one that is no program" wrong '{"programs": {"shop": {"file": "shop.c"}}}' "it is not FILE.tfy"
check "a configuration without programs" wrong '{}' "name FILE.tfy"

unit=$(find "$(dirname "$(command -v tfy)")" -name tfy.service | head -n 1)
sed "s|^ExecStart=[^ ]*/tfy |ExecStart=$(command -v tfy) |" "$unit" >tfy.service
if command -v systemd-analyze >/dev/null 2>&1; then
    run systemd-analyze verify --man=no ./tfy.service
    check "systemd accepts the unit" [ "$status" = 0 -a ! -s err ]
else
    echo "skipped: systemd-analyze is not installed"
fi
check "... which waits longer than tools may take" test "$(sed -n 's/^TimeoutStopSec=//p' tfy.service)" -gt 30
