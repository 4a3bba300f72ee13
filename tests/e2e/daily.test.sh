#!/bin/sh
# Files, bytes, variables and time zones as programs use them every day: what golden/lang cannot hold (odd names, links, limits, mocks, old logs).
. "$here/lib.sh"
cat >list.tfy <<'END'
workflow main(glob: string) -> list<string> {
    return yield list_files(glob)
}

workflow check(path: string) -> bool {
    return yield exists(path)
}

workflow remove(path: string) {
    yield remove_file(path)
}

workflow make(path: string) {
    yield make_dir(path)
}

workflow copy(from: string, to: string) {
    let data = yield read_bytes(from)
    yield write_bytes(to, data)
}

workflow text(path: string) -> string {
    return yield read_file(path)
}
END
tfy build list.tfy -o list
mkdir -p data/a/b data/.secret outside ../daily_outside.$$
trap 'rm -rf ../daily_outside.$$' EXIT
echo 1 >data/one.txt
echo 2 >data/a/two.txt
echo 3 >data/a/b/three.txt
echo 4 >data/.secret/four.txt
echo 5 >outside/five.txt
ln -s .. data/a/up
ln -s ../outside data/way
ln -s one.txt data/link.txt
ln -s nowhere data/dangling
ln -s "$PWD/../daily_outside.$$" data/out
echo 6 >../daily_outside.$$/six.txt
run ./list --glob 'data/**'
check "** follows no links to directories, and lists links to files" \
    printed_exactly '["data/a/b/three.txt","data/a/two.txt","data/link.txt","data/one.txt"]'
run ./list --glob 'data/*/*.txt'
check "other components follow links that stay inside" printed_exactly '["data/a/two.txt","data/way/five.txt"]'
run ./list --glob 'data/out/*'
check "... and none that lead out" printed_exactly '[]'
run ./list --glob "$PWD/data/one.*"
check "an absolute pattern inside the root" printed_exactly '["data/one.txt"]'
run ./list --glob '**/runs.db*'
check "the log is not listed" printed_exactly '[]'
run ./list --glob '.tfy/*'
check "... when it is named either" printed_exactly '[]'
run ./list --workflow check --path .tfy/runs.db
check "... nor does it say that it exists" ended 1 "cannot look for '.tfy/runs.db': it belongs to the runtime"
run ./list --workflow remove --path .tfy/runs.db
check "... and it is not removed" ended 1 "it belongs to the runtime"
run ./list --workflow make --path .tfy/more
check "... and gets no directory" ended 1 "it belongs to the runtime"
run ./list --workflow check --path data/dangling
check "a link that leads nowhere does not exist" printed_exactly false
run ./list --workflow check --path data/out
check "what lies outside is an error" ended 1 "it leads outside the working root"
run ./list --workflow remove --path data/link.txt
check "a link is removed, and not where it leads" [ ! -L data/link.txt ] && [ -e data/one.txt ]
mkdir many
(cd many && seq -f 'f%05g' 1 10001 | xargs touch)
run ./list --glob 'many/*'
check "more than 10000 files are an error" ended 1 "cannot list 'many/*': more than 10000 files fit; narrow the pattern"
rm many/f10001
run ./list --glob 'many/*'
check "10000 are not" ended 0
mkdir odd && touch "odd/$(printf 'a\377')"
run ./list --glob 'odd/*'
check "a name that is not UTF-8 is an error" ended 1 "the name of a file there is not UTF-8"
run ./list --glob 'data/*'
check "... elsewhere it is none" ended 0
if [ "$(id -u)" != 0 ]; then
    mkdir closed && chmod 0 closed
    run ./list --glob 'closed/*'
    check "a directory that cannot be read is an error" ended 1 "cannot list 'closed/*': Permission denied"
    chmod 755 closed
fi

head -c 100000 /dev/urandom >noise
run ./list --workflow copy --from noise --to copied/noise
check "bytes come back as they were" cmp noise copied/noise
printf 'fine \303\244, then \351t\351\n' >latin.txt
run ./list --workflow text --path latin.txt
check "text that is not UTF-8 is refused: the file, the place and what to do" \
    ended 1 "cannot read 'latin.txt': byte 14 (0xE9) is not UTF-8; read_bytes reads any file, and read_file with lossy: true replaces such bytes"

# ---- logs of before: parameters that were added later change no digest ----

echo hi >name.txt
cat >old.tfy <<'END'
workflow main() -> string {
    return yield read_file("name.txt")
}
END
run tfy run old.tfy --db old.db
check "read_file(path) is the request that it was before it had more parameters" \
    [ "$(sqlite3 old.db "select json_extract(payload, '$.digest') from history where type='ToolResult'")" = 545bd3ae25c5c966 ]
cat >new.tfy <<'END'
workflow main() -> string {
    return yield read_file("name.txt", lossy: true)
}
END
run tfy run new.tfy --db new.db
check "... and another with one of them" \
    [ "$(sqlite3 new.db "select json_extract(payload, '$.digest') from history where type='ToolResult'")" != 545bd3ae25c5c966 ]

# ---- a zone's rules are recorded: what the system says of it later changes no replay ----

cat >clock.tfy <<'END'
workflow main() -> string {
    let berlin = yield zone("Europe/Berlin")
    let t = "2026-07-01T12:00:00Z".parse_time()
    if t == null { return "" }
    yield sleep(1ms)
    return t.format("%H:%M", berlin)
}
END
run tfy run clock.tfy --db clock.db
check "a zone by its name" printed_exactly '"14:00"'
mkdir -p zones/Europe && cp /usr/share/zoneinfo/Asia/Tokyo zones/Europe/Berlin
run env TZDIR="$PWD/zones" tfy run clock.tfy --db other.db
check "... from where TZDIR says" printed_exactly '"21:00"'
run env TZDIR="$PWD/zones" tfy replay last --db clock.db
check "... is recorded" printed " 0 divergences, 0 effects performed"
run env TZDIR="$PWD/nowhere" tfy run clock.tfy --db nowhere.db
check "a system without zones" ended 1 "there is no time zone 'Europe/Berlin' in $PWD/nowhere (No such file or directory)"
printf 'TZif2' >zones/Europe/Berlin
run env TZDIR="$PWD/zones" tfy run clock.tfy --db damaged.db
check "a damaged file" ended 1 "zones/Europe/Berlin does not hold the rules of a time zone"

# ---- mocks ----

cat >mocked.tfy <<'END'
workflow tidy() -> string {
    let user = yield env("USER")
    let zone = yield zone("Europe/Berlin")
    let files = yield list_files("*.txt")
    for file in files {
        let data = yield read_bytes(file)
        if data.len() == 0 { yield remove_file(file) }
    }
    let there = yield exists("out")
    if !there { yield make_dir("out") }
    yield write_bytes("out/copy", "x".to_bytes())
    let start = yield now()
    let nine = start.next("09:00", zone)
    return "${user ?? "nobody"} ${files.len()} ${nine.format("%H:%M %Z", zone)}"
}

test "every effect can be mocked" {
    mock env("USER") => "ann"
    mock zone(_) => TimeZone(name: "own", rules: "AAA-3")
    mock list_files("*.txt") => ["a.txt", "b.txt"]
    mock read_bytes("a.txt") => "".to_bytes()
    mock read_bytes("b.txt") => "full".to_bytes()
    mock remove_file("a.txt") => null
    mock exists("out") => false
    mock make_dir("out") => null
    mock write_bytes(_, _) => null
    let said = yield tidy()
    assert said == "ann 2 09:00 AAA"
    assert calls(remove_file) == 1
}

test "one that is missing is named" {
    mock env(_) => null
    yield tidy()
}
END
run tfy test mocked.tfy
check "mocks: one test passes" printed "2 tests: 1 passed, 1 failed"
check "mocks: what is missing" printed 'no mock answers zone("Europe/Berlin")'
