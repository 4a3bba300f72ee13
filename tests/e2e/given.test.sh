#!/bin/sh
# What a resume is given (--yolo, --sandbox, --network, --grant, --sandbox-level) is recorded, shown, and holds for the resumes
# that follow; one that gives nothing new writes nothing more.
. "$here/lib.sh"
export TFY_DISPOSABLE=1
mkdir work outside && cd work || exit 1
cat >../given.tfy <<'EOF'
tool note(text: string) -> ExecResult idempotent = exec ["sh", "-c", "echo $0 >>notes", text]

workflow main() -> bool {
    let text = yield ask("which?")
    let done = yield note(text)
    return done.code == 0
}
EOF
tfy build ../given.tfy -o given || exit 1
mv given .. && given=$PWD/../given
log() { sqlite3 "${2:-.tfy/runs.db}" "$1"; }
given() { log "select count(*) from wal where type = 35" "$@"; }
records() { log "select count(*) from wal where type not in (8, 9)"; }
row() { run tfy ps --limit 1; printed "$1"; }
lacks() { ! printed "$1"; }
# begin OPTION…: a run that waits for the text of a person, who gives none yet.
begin() { rm -rf .tfy notes; run "$given" run "$@"; }
# again OPTION…: the same run in another process, until it waits again.
again() { run "$given" resume last "$@"; }

begin
check "a run waits for a person" ended 75 "which?"
records=$(records)
again
check "a resume that is given nothing writes nothing more" [ "$(records)" = "$records" ]
again --yolo
check "a resume is given --yolo" [ "$status" = 75 ]
check "... ps says so" row " main yolo"
run tfy ps --json
check "... as JSON" printed '"yolo":true'
run tfy inspect last
check "... inspect, too, though it has answered nothing" printed "yolo       every approval is answered with yes"
run tfy history last
check "... and the log says when" grep -q "Moved .*with .*--yolo" out
again --yolo
again
check "it is written once" [ "$(given)" = 1 ]
check "... and stays to be seen where a later resume was not given it" row " main yolo"
again --sandbox readonly
check "... or was given something else" row " main yolo --sandbox readonly"

begin --yolo
check "a run begins with --yolo" row " main yolo"
again
check "... and is seen to have, where its resume is not given it" row " main yolo"
run tfy inspect last
check "... by inspect, too" printed "yolo       every approval is answered with yes"
check "... without another record" [ "$(given)" = 0 ]

begin
again --sandbox readonly --network none --grant "note:reads=../outside"
check "what bounds tools is seen" row " main --sandbox readonly --network none --grant note:reads=$(realpath ../outside)"
run tfy ps
check "... and no --yolo, which was not given" lacks " yolo"
run tfy inspect last
check "... by inspect, too" printed " --sandbox readonly --network none --grant note:reads="
run tfy approve last here
again
check "it holds for a resume that is not told again" printed_exactly false
check "... whose tool wrote nothing" [ ! -e notes ]
check "... and which writes no other record of it" [ "$(given)" = 1 ]
run tfy replay last
check "the run replays" printed " 0 divergences"

begin --sandbox readonly
run tfy approve last here
again --sandbox workspace
check "a resume that is told loosens it" printed_exactly true
check "... and ps shows what holds" row " main --sandbox workspace"

begin --sandbox open
again --yolo
again --sandbox workspace
check "the newest one holds" row " main yolo --sandbox workspace"

# Killed as soon as it is recorded.
begin
start "$given" resume last --wait --yolo --network none
check "it is recorded while the run waits" within 10 sh -c \
    '[ "$(sqlite3 .tfy/runs.db "select count(*) from wal where type = 35")" = 1 ]'
kill -9 "$pid"
finish
check "a kill right after it loses nothing" row " main yolo --network none"
again --yolo --network none
check "... and the next resume has nothing to add" [ "$(given)" = 1 ]
check "verify knows it" tfy verify
check "... and so does a reader of the format" python3 "$here/read_log.py" .tfy/runs.db

# Copies have it, too.
tfy wal export last -o exported >said 2>&1
run tfy wal import exported/*.run --db imported.db
run tfy ps --db imported.db
check "an import has it" printed " main yolo --network none"
check "... in order" tfy verify --db imported.db
run tfy approve last here --db imported.db
run "$given" resume last --db imported.db
check "... and it bounds the run" printed_exactly true
run tfy fork last --at 1 --db imported.db
check "a fork has it" [ "$(given imported.db)" = 2 ]
run tfy ps --limit 1 --db imported.db
check "... to be seen" printed " main yolo --network none"
check "... in order" tfy verify --db imported.db

# A snapshot has it for the resumes that start there, and a compacted run keeps the record.
begin
export TFY_SNAPSHOT_EVERY=1
again --yolo --sandbox readonly
run tfy gc --compact
check "a compacted run keeps it" row " main yolo --sandbox readonly"
check "... in order" tfy verify
run tfy approve last here
again
unset TFY_SNAPSHOT_EVERY
check "a resume from a snapshot is bound by it" printed_exactly false
check "... and writes it once" [ "$(given)" = 1 ]

# A kernel that gives no namespaces: those of this user may have none for mounts.
fewer() { unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_mnt_namespaces && exec "$@"' sh "$@"; }
cat >../level.tfy <<'EOF'
tool note(text: string) -> ExecResult idempotent = exec ["sh", "-c", "echo $0 >>notes", text]

workflow main() -> string {
    yield note("first")
    let text = yield ask("which?")
    yield note(text)
    return text
}
EOF
tfy build ../level.tfy -o level || exit 1
mv level .. && level=$PWD/../level
rm -rf .tfy notes
fewer true 2>said && "$level" run --sandbox-level full >said 2>&1
if [ $? = 75 ]; then
    records=$(records)
    run fewer "$level" resume last
    check "a run that began in full sandboxes does not go on in partial ones" ended 69 "began with a full sandbox, and here it is only partial"
    check "... and is left as it was" [ "$(records)" = "$records" ]
    run tfy approve last second
    run fewer "$level" resume last --sandbox-level partial
    check "... unless that is said" printed_exactly '"second"'
    check "... and its tools run" [ "$(tr '\n' ' ' <notes)" = "first second " ]
else
    echo "skipped: no user namespaces, or no full sandbox here"
fi

# Damage.
begin
again --yolo
sqlite3 .tfy/runs.db "update run set options = options - 1"
check "a row that names another record is refused" sh -c '! tfy verify'
