# What the topics about followers share: a program with records, a follower in the background, and what became of it.
export TFY_DB="$PWD/runs.db"
cat >shop.tfy <<'END'
tool price(name: string) -> string pure = exec ["sh", "-c", "echo 5"]
workflow order(customer: string, times: int = 1) -> string {
    var i = 0
    while i < times {
        yield sleep(0ms)
        i += 1
    }
    let p = yield price(customer)
    return "${customer}: ${p}"
}
workflow stays() { yield sleep(1h) }
END
order() { tfy run shop.tfy --workflow order "$@"; }
head_of() { sqlite3 -readonly "$TFY_DB" "select max(lsn) from wal"; }
follower=
follows() { # OPTIONS…: in the background; its words are in ./said
    tfy publish "$@" >/dev/null 2>>said &
    follower=$!
}
unfollows() { # [SIGNAL]
    kill "-${1:-TERM}" "$follower"
    wait "$follower" 2>/dev/null
}
# cursor NAME MEMBER: of the newer place of the cursor's file.
cursor()
{
    python3 - "$TFY_DB-follow/$1" "$2" <<'END'
import json, sys
places = []
for line in open(sys.argv[1]).read().split("\n"):
    if "\0" not in line and line: places.append(json.loads(line[:-16]))
print(max(places, key=lambda place: place["seq"])[sys.argv[2]])
END
}
reaches_head() { [ "$(cursor "$1" lsn)" = "$(head_of)" ]; }
said() { grep -qF -- "$1" said; }
