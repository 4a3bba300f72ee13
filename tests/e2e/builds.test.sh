#!/bin/sh
# The worked example of builds, against an installed prefix: make, meson and CMake find it by pkg-config, build, run, build anew what changed, and
# a C function that does not fit its tool is refused where it stands.
. "$here/lib.sh"
DESTDIR="$PWD/stage" meson install -C "$build" --no-rebuild >install.log 2>&1
prefix=$PWD/stage/usr/local
check "pkg-config finds what was installed" [ -s "$prefix/lib/pkgconfig/tfy.pc" ]
sed -i "s|^prefix=.*|prefix=$prefix|" "$prefix/lib/pkgconfig/tfy.pc" # it was staged, not installed where it belongs
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
wanted="\"9 words, the longest is 'quick'\""
# A library with sanitizers wants programs with them.
export CFLAGS="${CFLAGS:-} -Wall -Wextra -Werror"
if nm "$build/runtime/libtfy.a" 2>/dev/null | grep -q __asan_init; then CFLAGS="$CFLAGS -fsanitize=address,undefined" CC=${CC:-clang}; fi
if nm "$build/runtime/libtfy.a" 2>/dev/null | grep -q __sanitizer_cov; then CFLAGS="$CFLAGS,fuzzer-no-link"; fi
export LDFLAGS="${LDFLAGS:-} $(printf '%s\n' $CFLAGS | grep '^-fsanitize' | tr '\n' ' ')" CC="${CC:-cc}"

# try NAME BUILD PROGRAM: BUILD is a command that builds what must be built.
try()
{
    mkdir "$1" && cp -R "$EXAMPLES/build/." "$1" && cd "$1" || return
    run sh -c "$2"
    check "$1 builds" ended 0
    run "$3"
    check "... and what it built runs" printed_exactly "$wanted"
    sleep 1 # some file systems and make count seconds
    sed -i "s/'\${word}'/<\${word}>/" lib/words.tfy
    run sh -c "$2"
    run "$3"
    check "... an imported file that changed is compiled anew" printed_exactly '"9 words, the longest is <quick>"'
    sleep 1
    sed -i 's/bool words_count(TfyTask \*task, TfyObj \*text, int64_t \*out)/bool words_count(TfyTask *task, TfyObj *text, TfyObj **out)/' words.c
    run sh -c "$2"
    check "... a C function that does not fit is refused" [ "$status" != 0 ]
    check "... at its line" sh -c "cat out err | grep -q 'words.c:8:6:.*words_count'"
    check "... with the line of its tool" sh -c "cat out err | grep -q 'words.tfy:2'"
    cd ..
}

try make 'make -s' ./report
try meson 'test -d made || meson setup made >/dev/null && ninja -C made' made/report
try cmake 'test -d made || cmake -B made >/dev/null && cmake --build made' made/report

# Headers by hand.
mkdir headers
run "$prefix/bin/tfyc" "$EXAMPLES/build/report.tfy" --headers headers
check "headers alone" ended 0
check "... only for files with extern tools" [ "$(ls headers)" = words.h ]
check "... with #line" grep -q '^#line 2 ".*lib/words.tfy"$' headers/words.h
run tfy run "$EXAMPLES/build/report.tfy" "$EXAMPLES/build/words.c" --text "one three"
check "tfy run has the headers too" printed_exactly "\"2 words, the longest is 'three'\""
