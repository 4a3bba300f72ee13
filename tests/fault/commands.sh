# commands.sh: the commands that change, copy or move databases, under faults. Each is given once more without one, and must then have come to
# what it comes to undisturbed. Sourced by run.sh.

# What the log holds, without what differs from one opening to the next.
state()
{
    sqlite3 -readonly "$1" "SELECT r.state, t.path, w.step, w.type, w.payload FROM wal w JOIN task t ON t.tid = w.tid JOIN run r ON r.id = t.run
        WHERE w.tid > 0 ORDER BY 2, 3, 4, 5" 2>/dev/null
}

sound() { "$tfy" verify --db "$1" >said 2>&1 || bad "$1 is not sound: $(cat said)"; }

# A database with three runs that have ended and one that has not, and exports of two of them.
make_base()
{
    rm -rf base && mkdir base && cd base || exit 1
    "$tfy" build "$here/rests.tfy" -o rests || exit 1
    for i in 1 2 3; do ./rests run --db db >out 2>err; done
    TFY_TEST_KILL=after:4 TFY_TEST_INLINE=1 ./rests run --db db >out 2>err </dev/null
    "$tfy" wal export 1 -o done --db db >out 2>err
    "$tfy" wal export 4 -o half --db db >out 2>err
    "$tfy" backup copy --db db >out 2>err || exit 1
    cd .. || exit 1
}

# Of each command: what is there before it, and itself, behind the words that run it.
prepare_adopt() { cp ../base/copy db; }
prepare_gc() { cp ../base/copy db && "$tfy" adopt --db db >said 2>&1; }
prepare_fork() { prepare_gc; }
prepare_import() { :; }
prepare_backup() { prepare_gc; }
command_adopt() { set -- "$@" adopt --db db && "$@"; }
command_gc() { set -- "$@" gc --keep 1 --archive old --db db && "$@"; }
command_fork() { set -- "$@" fork 1 --at 2 --db db && "$@"; }
command_import() { set -- "$@" wal import ../base/done/*.run ../base/half/*.run --db db && "$@"; }
command_backup() { set -- "$@" backup copy --db db && "$@"; }

# again COMMAND: without the fault. What says that it has been done already has been done.
again()
{
    status=0
    "command_$1" "$tfy" >>out 2>err.again </dev/null || status=$?
    [ "$status" = 0 ] || grep -q "already has run\|already exists\|is not a copy" err.again || bad "it cannot be done any more: $(cat err.again)"
}

command_trial() # FAULT NAME
{
    why=
    begin_trial
    "prepare_$2"
    command_$2 under "$1" "$faulty"
    told
    [ "$2" = fork ] && [ "$status" = 0 ] || again "$2"
    for file in db old copy; do
        [ -e "$file" ] || continue
        sound "$file"
        state "$file" >"state.$file"
        [ "$2" = fork ] || cmp -s "state.$file" "../state.$2.$file" || bad "$file holds something else"
    done
    cd .. || exit 1
    judged "tfy $2"
}

command_trials() # NAME SAMPLES
{
    begin_trial
    "prepare_$1"
    command_$1 under "count:$scratch/counts" "$faulty"
    for file in db old copy; do
        [ ! -e "$file" ] || state "$file" >"../state.$1.$file"
    done
    cd .. || exit 1
    faults counts "$2" command_trial "$1"
}

make_base
for command in adopt gc import backup fork; do
    command_trials "$command" "malloc=2 write=0 pwrite=1 sync=1 open=1"
done
