#!/bin/sh
# docs/operation.md: its unit files are those that systemd accepts, and the numbers in its table of limits are those of the source.
. "$here/lib.sh"
top=$here/../..
awk '/^```ini / { name = $2; next } /^```/ { name = "" } name { print >name }' "$top/docs/operation.md"
check "the document has three unit files" [ "$(ls ./*.service ./*.timer | wc -l)" = 3 ]
# verify wants each program to be there.
sed -i -e "s|/usr/local/bin/tfy |$build/tfy |" ./*.service
if command -v systemd-analyze >/dev/null 2>&1; then
    run systemd-analyze verify --man=no ./shop.service ./shop-backup.service ./shop-backup.timer
    check "systemd accepts them" [ "$status" = 0 -a ! -s err ]
    sed 's/^KillMode=mixed/KillMode=mixd/' shop.service >wrong.service
    run systemd-analyze verify --man=no ./wrong.service
    check "... and would name a wrong word in them" grep -q mixd err
else
    echo "skipped: systemd-analyze is not installed"
fi
grace=$(sed -n 's/^TimeoutStopSec=//p' shop.service)
check "systemd waits longer than tools may take" [ "$grace" -gt 15 ]

cat >limits.py <<'END_PY'
import re, sys
top = sys.argv[1]
UNIT = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "s": 1000, "min": 60000, "h": 3600000}

def in_source(file, name):
    """The number of a #define or an enum constant; times in milliseconds."""
    text = open(f"{top}/{file}").read()
    found = re.search(r"#define " + name + r"\s+(.+?)\s*(?:/\*.*)?$", text, re.M) or re.search(r"\b" + name + r" = ([^,}\n]+)[,}]", text)
    if not found: raise SystemExit(f"{file} has no {name}")
    value = re.sub(r"\(size_t\)|INT64_C|(?<=\d)[uUlL]+", "", found.group(1))
    if not re.fullmatch(r"[\d\s<*()+-]+", value): raise SystemExit(f"{name} is not a number: {value}")
    value = eval(value)
    return value * 1000 if name.endswith("_S") else value // 1000000 if name.endswith("_NS") else value

rows = wrong = 0
for line in open(f"{top}/docs/operation.md"):
    row = re.fullmatch(r"\| (.+) \| ([\d,]+)(?: (\w+))?(?: each)? \| .+ \| `(\S+)` `(\S+)` \|\n", line)
    if not row: continue
    rows += 1
    said = int(row[2].replace(",", "")) * UNIT.get(row[3], 1)
    real = in_source(row[4], row[5])
    if said != real:
        wrong += 1
        print(f"{row[1]}: the document says {row[2]} {row[3] or ''}, {row[5]} is {real}")
table = re.search(r"## Limits\n.*?(\n\|.*?)\n\n", open(f"{top}/docs/operation.md").read(), re.S).group(1)
if rows != table.count("\n") - 2: raise SystemExit(f"{table.count(chr(10)) - 2} rows, of which {rows} can be read")
print(f"{rows} limits")
sys.exit(wrong > 0)
END_PY
run python3 limits.py "$top"
check "the limits in the table are those of the source" ended 0
check "... all of them" printed "48 limits"
mkdir -p other/docs other/runtime
cp -R "$top/runtime" other
sed 's/| 200 | further ones wait/| 201 | further ones wait/' "$top/docs/operation.md" >other/docs/operation.md
run python3 limits.py other
check "... and one that is not would be named" printed "TFY_PROCESS_AT_ONCE is 200"
