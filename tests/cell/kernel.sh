#!/bin/sh
# tests/cell/kernel.sh BUILD: the attacks of run.sh inside Debian's own kernel, an older one than most machines run: booted by emulation, without
# network or disk, from a package that is downloaded once (into BUILD/kernel) and never installed. Prints what run.sh prints there.
set -u
build=$(cd "${1:?usage: kernel.sh BUILD}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
limit_s=${KERNEL_LIMIT:-120}
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

skip()
{
    echo "skipped kernel: $1"
    echo "0 passed, 0 failed"
    exit 0
}

[ "$(uname -m)" = x86_64 ] || skip "this machine is no x86_64"
for needed in qemu-system-x86_64 busybox dash setpriv dpkg-deb apt-get git; do
    command -v "$needed" >/dev/null || skip "no $needed"
done
[ "$(id -u)" = 0 ] || skip "files of root and of another user can only be made by root"

# The cloud kernel has what an emulated machine needs, and little else.
sh "$here/../../examples/microvm/kernel" "$build/kernel" 2>"$scratch/why" || skip "$(cat "$scratch/why")"

# copy PROGRAM PLACE: with the libraries that it needs, at their own places.
copy()
{
    mkdir -p "$tree/$(dirname "$2")" && cp -L "$1" "$tree/$2"
    for library in $(ldd "$1" 2>/dev/null | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) (.*/\1/p'); do
        mkdir -p "$tree$(dirname "$library")" && cp -L "$library" "$tree$library"
    done
}

# A file system in memory: busybox, what is tested, and a git that makes one repository only.
tree=$scratch/tree
mkdir -p "$tree/usr/bin" "$tree/usr/lib" "$tree/usr/lib64" "$tree/usr/sbin" "$tree/etc/ssh" "$tree/root" "$tree/var/tmp" "$tree/tests" "$tree/repository"
for directory in bin sbin lib lib64; do ln -s "usr/$directory" "$tree/$directory"; done
copy "$(command -v busybox)" usr/bin/busybox
for applet in $(busybox --list); do [ -e "$tree/usr/bin/$applet" ] || ln -s busybox "$tree/usr/bin/$applet"; done
rm -f "$tree/usr/bin/setpriv"
copy "$(command -v setpriv)" usr/bin/setpriv
rm -f "$tree/usr/bin/sh"
copy "$(command -v dash)" usr/bin/sh # busybox's would take its own setpriv
copy "$build/tfy" build/tfy
for program in tfy-cell tests/cell/cell_attack tests/cell/cell_trials; do copy "$build/$program" "build/$program"; done
cp "$here/run.sh" "$tree/tests/run.sh"
git -C "$tree/repository" init -q
printf 'root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n' >"$tree/etc/passwd"
echo 'root:secret:1:0:99999:7:::' >"$tree/etc/shadow"
cp "$tree/etc/shadow" "$tree/etc/gshadow"
chmod 600 "$tree/etc/shadow" "$tree/etc/gshadow"
chmod 1777 "$tree/var/tmp"
chmod 700 "$tree/root"
cat >"$tree/usr/bin/git" <<'END'
#!/bin/sh
[ "$3" = init ] && exec cp -R /repository/.git "$2/.git"
END
# The first file system cannot be left behind as a cell leaves its own, so all moves into a second one.
cat >"$tree/init" <<'END'
#!/bin/busybox sh
mkdir /new && mount -t tmpfs -o mode=755 tmpfs /new && cp -a /bin /build /etc /lib /lib64 /repository /root /sbin /tests /usr /var /inside /new/ || reboot -f
cd /new && mkdir dev proc sys tmp && exec switch_root /new /inside
END
cat >"$tree/inside" <<'END'
#!/bin/sh
export PATH=/usr/bin HOME=/root
mount -t proc proc /proc && mount -t devtmpfs dev /dev && mkdir /dev/shm && mount -t tmpfs -o mode=1777 tmpfs /dev/shm && mount -t tmpfs -o mode=1777 tmpfs /tmp
ifconfig lo 127.0.0.1 up
echo 2048 >/proc/sys/kernel/pid_max # one attack looks at every number
echo "inside $(uname -r)"
sh /tests/run.sh /build attacks </dev/null
reboot -f
END
chmod 755 "$tree/init" "$tree/inside" "$tree/usr/bin/git"
(cd "$tree" && find . | busybox cpio -o -H newc >"$scratch/memory" 2>/dev/null) || skip "the file system cannot be packed"

timeout "$limit_s" qemu-system-x86_64 -M microvm,acpi=off -accel tcg -m 512 -nodefaults -nographic -no-reboot -serial stdio -kernel "$build/kernel/image" \
    -initrd "$scratch/memory" -append "console=ttyS0 quiet panic=-1 reboot=t rdinit=/init" </dev/null >"$scratch/serial" 2>&1
status=$?
tr -d '\r' <"$scratch/serial" | grep -v '^\[ *[0-9.]*\] ' >"$scratch/said"
if ! grep -q '^inside ' "$scratch/said" || ! grep -q '^[0-9]* passed, [0-9]* failed$' "$scratch/said"; then
    echo "not ok the emulated machine came to its end (status $status)"
    tail -n 20 "$scratch/said" | sed 's/^/    /'
    echo "0 passed, 1 failed"
    exit 1
fi
cat "$scratch/said"
grep -q ', 0 failed$' "$scratch/said"
