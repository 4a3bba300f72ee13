# lib.sh: making calls of a process fail. Sourced by run.sh, which sets $build, $here, $root, $scratch and $dense (empty, or "I/N").

passed=0
failed=0
inject=$scratch/inject.so
tfy=$build/tfy
faulty=$tfy # the command, where it can be made to fail

# With sanitizers a library before theirs is not to be had, so it is linked in; and what is lost on the way out of a fault counts: exit status 99.
sanitized=
case ${CFLAGS:-} in *sanitize*) sanitized=yes ;; esac
make_inject()
{
    if [ -z "$sanitized" ]; then
        ${CC:-cc} -O1 -fPIC -shared -o "$inject" "$here/inject.c" -lpthread
        return
    fi
    inject=
    ${CC:-cc} -O1 -DSANITIZED -c -o "$scratch/inject.o" "$here/inject.c" || return
    export CFLAGS="$CFLAGS $scratch/inject.o" ASAN_OPTIONS="${ASAN_OPTIONS:-}:exitcode=99"
    faulty=$scratch/tfy
    ${CC:-cc} $CFLAGS -o "$faulty" "$build"/tfy.p/*.o "$build/runtime/libtfy.a" $(pkg-config --libs sqlite3 jansson libxxhash libcurl libpcre2-8) -lpthread -lm
}

# Nothing here speaks HTTP, but libcurl and the thirty libraries behind it are what most of a process's start is spent on. A library with the
# same names and nothing in it takes its place; who calls it after all is ended by a signal, which no trial passes.
without_curl()
{
    ldd "$tfy" | grep -q libcurl || return 0 # it carries none, and neither do programs that ask for nothing of the kind
    mkdir "$scratch/lib"
    nm -D --undefined-only "$tfy" | sed -n 's/.* \(curl_[a-z_]*\)@.*/void \1(void);\nvoid \1(void) { __builtin_trap(); }/p' >"$scratch/lib/curl.c"
    version=$(nm -D --undefined-only "$tfy" | sed -n 's/.* curl_easy_init@//p')
    soname=$(ldd "$tfy" | sed -n 's/^[^a-z]*\(libcurl[^ ]*\) .*/\1/p')
    echo "$version { global: curl_*; };" >"$scratch/lib/curl.map"
    ${CC:-cc} -shared -fPIC -Wl,-soname,"$soname" -Wl,--version-script="$scratch/lib/curl.map" -o "$scratch/lib/$soname" "$scratch/lib/curl.c" || return
    export LD_LIBRARY_PATH="$scratch/lib"
}

# A trial happens in a directory of its own.
begin_trial() { rm -rf trial && mkdir trial && cd trial || exit 1; }

# loaded VARIABLE=VALUE COMMAND…: with the library, told so; its status is $status.
loaded()
{
    told_it=$1
    shift
    status=0
    timeout 60 env "$told_it" ${inject:+LD_PRELOAD="$inject"} "$@" >>out 2>err </dev/null || status=$?
}

# under FAULT COMMAND…: with the fault.
under()
{
    fault=$1
    shift
    loaded "FAULT=$fault" "$@"
}

bad() # WHAT
{
    [ -n "$why" ] || why=$1
}

# A process that failed says so, and in the documented way.
told()
{
    case $status in
    0 | 1 | 64 | 65 | 69 | 70 | 74 | 75) ;;
    *) bad "it ended with $status" ;;
    esac
    [ "$status" = 0 ] || grep -q ': .' err || [ "${fault%%:*}" = write ] || bad "it ended with $status and said nothing"
    # A sync that failed while the log was written: how far it is safe. While a new one was made, there was nothing yet.
    case $fault in sync:*) [ "$status" != 74 ] || grep -qE 'the last record (that is safe|on disk) is|cannot be' err || bad "it does not say what is safe" ;; esac
}

# judged NAME: counts what a trial has come to; $why says what is wrong with it.
judged()
{
    if [ -z "$why" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "not ok $1 $fault: $why"
        sed 's/^/    /' trial/err | head -n "${sanitized:+3}5"
    fi
}

# places KIND TOTAL SAMPLE: numbers from 1 to TOTAL, all of them or about as many as SAMPLE, closer at the beginning of each stretch.
places()
{
    awk -v total="$2" -v sample="$3" -v dense="$dense" 'BEGIN {
        if (dense == "" && sample == 0) exit
        split(dense, part, "/")
        step = dense != "" ? part[2] : total <= sample ? 1 : total / sample
        for (at = dense != "" ? part[1] : 1; at <= total; at += step) print int(at)
    }'
}

# faults COUNTS SAMPLES TRIAL [ARGUMENT…]: calls `TRIAL FAULT ARGUMENT…` for all kinds, once and for ever: in a sample in turn.
faults()
{
    counts=$1
    samples=$2
    trial=$3
    shift 3
    while read -r kind total; do
        sample=$(echo "$samples" | tr ' ' '\n' | sed -n "s/^$kind=//p")
        # Without descriptors for ever a step waits for ever; and only where it says so.
        if [ "$kind" = files ]; then
            for number in $(places "$kind" "$total" "${sample:-0}"); do "$trial" "$kind:$number" "$@"; done
            continue
        fi
        turn=0
        for number in $(places "$kind" "$total" "${sample:-3}"); do
            turn=$((turn + 1))
            if [ -n "$dense" ] || [ $((turn % 2)) = 1 ]; then "$trial" "$kind:$number" "$@"; fi
            if [ -n "$dense" ] || [ $((turn % 2)) = 0 ]; then "$trial" "$kind:$number:ever" "$@"; fi
        done
    done <"$counts"
}
