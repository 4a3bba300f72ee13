#!/bin/sh
# What `meson install` leaves is complete: the programs, the library, the headers, the manual pages.
. "$here/lib.sh"
DESTDIR="$PWD/stage" meson install -C "$build" --no-rebuild >install.log 2>&1
check "installs" [ "$?" = 0 ]
prefix=$PWD/stage/usr/local
for file in bin/tfy bin/tfyc bin/tfy-serve bin/tfy-worker bin/tfy-publish lib/libtfy.a lib/pkgconfig/tfy.pc include/tfy.h include/tfy_task.h include/tfy_program.h lib/systemd/system/tfy.service lib/systemd/system/tfy.socket share/man/man1/tfy.1 share/man/man1/tfyc.1 libexec/tfy/tfy-cell share/tfy/apparmor/tfy-cell; do
    check "$file" [ -s "$prefix/$file" ]
done
printf 'workflow main() -> int {\n    return 3\n}\n' >one.tfy
run env PATH=/usr/bin:/bin "$prefix/bin/tfy" run one.tfy
check "the installed tfy compiles and runs" printed_exactly 3
run "$prefix/bin/tfy" check one.tfy
check "the installed tfyc is found" ended 0
run "$prefix/bin/tfy" doctor --sandbox
check "the installed tfy finds its cell" grep -q '^sandbox ' out
check "AppArmor's rule names the installed cell" grep -qx 'profile tfy-cell /usr/local/libexec/tfy/tfy-cell flags=(unconfined) {' "$prefix/share/tfy/apparmor/tfy-cell"
nm -g --defined-only "$prefix/lib/libtfy.a" | awk 'NF == 3 { print $3 }' | grep -v '^tfy_' | grep -v '^__\(asan\|odr_asan\|sancov\|start\|stop\)' >names
check "the library exports nothing but tfy_ and tfy__" [ ! -s names ]
[ ! -s names ] || head -n 5 names | sed 's/^/    /'
