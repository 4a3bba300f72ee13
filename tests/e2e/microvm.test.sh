#!/bin/sh
# The example `microvm`: a runner that is a virtual machine, booted by emulation with Debian's own kernel, which is downloaded once and never installed.
. "$here/lib.sh"
for needed in qemu-system-x86_64 busybox unshare dpkg-deb apt-get; do
    command -v "$needed" >/dev/null || { echo "skipped: no $needed"; exit 0; }
done
[ -x /usr/lib/qemu/virtiofsd ] || [ -x /usr/libexec/virtiofsd ] || { echo "skipped: no virtiofsd"; exit 0; }
[ "$(uname -m)" = x86_64 ] || { echo "skipped: this machine is not x86_64"; exit 0; }
sh "$EXAMPLES/microvm/kernel" "$build/kernel" 2>why || { echo "skipped: $(cat why)"; exit 0; }
unshare $([ "$(id -u)" = 0 ] || echo --user --map-root-user) --mount true 2>/dev/null || { echo "skipped: no namespaces for virtiofsd"; exit 0; }

mkdir microvm
cp -R "$EXAMPLES/microvm/." microvm
rm -rf microvm/machine
ln -s "$build/kernel" microvm/machine
cd microvm || exit 1
run sh ./command
check "it ends with 0" ended 0
check "it prints its golden output" diff expected out
check "... and says nothing else" [ ! -s err ]
run tfy replay last
check "it replays without starting a machine" grep -q ' 0 divergences, 0 effects performed' out

# Words, status and both outputs come through as they are; nothing of the machine is left behind.
box() { TMPDIR=$PWD/temp sh ./box "$PWD/work" "$PWD/work" "$@"; }
mkdir temp
printf 'a line\nwithout end' >stdin
box sh -c 'cat; printf "%s|" "$@" >&2; cat /root/.ssh/id /work /dev/vda 2>/dev/null; ls /work 2>/dev/null; exit 42' sh "" "two
lines" "it's \$HOME" >out 2>err <stdin
status=$?
check "the status is that of the command" ended 42
check "stdin and stdout are those of the command" cmp stdin out
check "its words may hold anything" [ "$(cat err)" = "|two
lines|it's \$HOME|" ]
check "nothing is left in the directory for temporary files" [ -z "$(ls -A temp)" ]
rm machine
mkdir machine
cp "$build"/kernel/*.ko machine
echo "not a kernel" >machine/image
box true >out 2>err </dev/null
status=$?
check "a machine that does not start is said to" ended 125 "the virtual machine did not come to its end"
