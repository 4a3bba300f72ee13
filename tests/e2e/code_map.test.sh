#!/bin/sh
# The code map over a small repository in several languages: what is found, what changes, what is no code, and what ctags may do in its cell.
. "$here/lib.sh"
unset GIT_DIR GIT_WORK_TREE
if ! command -v ctags >/dev/null 2>&1; then
    echo "skipped: there is no ctags here"
    exit 0
fi
mkdir project
cd project || exit 1
git init -q .
# What the test itself puts here is not of the project.
printf '%s\n' out err check.out wanted by_line first before replayed '*.tfy' m slow >.git/info/exclude
mkdir src lib web
cat >src/tree.h <<'END'
struct tree {
    struct tree *left, *right;
};
int count_nodes(const struct tree *t);
END
cat >src/tree.c <<'END'
#include "tree.h"

int count_nodes(const struct tree *t)
{
    return t ? 1 + count_nodes(t->left) + count_nodes(t->right) : 0;
}
END
cat >src/main.c <<'END'
#include "tree.h"

int main(void)
{
    return count_nodes(0);
}
END
cat >lib/load.py <<'END'
class Parser:
    def run(self, text):
        return count_nodes(text)

def load(path):
    return Parser().run(path)
END
cat >web/show.js <<'END'
export function show(path) {
  return load(path);
}
END
echo 'build/' >.gitignore
mkdir build
echo 'int hidden_in_build;' >build/made.c
git add src lib web .gitignore
cat >m.tfy <<'END'
workflow main(focus: list<string> = [], tokens: int? = null) {
    let map = yield code_map(focus, tokens)
    print(map)
}

workflow symbols(query: string, limit: int? = null) {
    let found = yield code_symbols(query, limit)
    for s in found { print("${s.path}:${s.line} ${s.kind} ${s.scope.or("")} ${s.name}") }
}

workflow outline(path: string) {
    let found = yield code_outline(path)
    for s in found { print("${s.line}-${s.end} ${s.kind} ${s.name}${s.signature.or("")}") }
}

workflow uses(name: string, limit: int? = null) {
    let found = yield code_references(name, limit)
    for p in found { print("${p.path}:${p.line}: ${p.text}") }
}
END
tfy build m.tfy -o m || exit 1
said() { [ "$(cat out)" = "$(cat wanted)" ] || { diff wanted out; return 1; }; }

# ---- what is found ----

run ./m --tokens 500
cat >wanted <<'END'
src/tree.c
  3: int count_nodes(const struct tree *t)
src/tree.h
  1: struct tree {
src/main.c
  3: int main(void)
web/show.js
  1: export function show(path) {
lib/load.py
  1: class Parser:
  2: def run(self, text):
  5: def load(path):
END
check "a map: definitions by file, what is used most first" said
run ./m --tokens 45
check "... only so many tokens" sh -c '[ "$(head -n 2 wanted)" = "$(head -n 2 out)" ] && [ "$(wc -c <out)" -le 136 ]'
check "... and it says how much more there is" printed "… 6 more definitions"
run ./m --tokens 0
check "a number of tokens from 1" ended 1 "BadValue: tokens is a number from 1 to 100000"
# files: the files of the map, in their order.
files() { grep -v "^ " out | tr '\n' ' '; }
files_are() { [ "$(files)" = "$1 " ] || { files; return 1; }; }
run ./m --focus '["web"]'
check "a focus on a directory draws what it uses" files_are "web/show.js lib/load.py src/tree.c src/tree.h src/main.c"
run ./m --focus '["show"]'
check "... on a definition" files_are "web/show.js lib/load.py src/tree.c src/tree.h src/main.c"
run ./m --focus '["webb"]'
check "... on nothing is said" ended 1 "focus: there is no file, directory or definition 'webb'"

run ./m --workflow symbols --query count
printf 'src/tree.c:3 function  count_nodes\n' >wanted
check "symbols by a part of their name" said
run ./m --workflow symbols --query parser.run
printf 'lib/load.py:2 member Parser run\n' >wanted
check "... with their scope" said
run ./m --workflow symbols --query e --limit 2
check "... so many" sh -c '[ "$(wc -l <out)" = 2 ]'
run ./m --workflow symbols --query e --limit 1001
check "... at most" ended 1 "BadValue: limit is a number from 1 to 1000"

run ./m --workflow outline --path lib/load.py
cat >wanted <<'END'
1-3 class Parser
2-3 member run(self, text)
5-6 function load(path)
END
check "the outline of a file, by line" said
run ./m --workflow outline --path "$PWD/lib/load.py"
check "... by its absolute path" said
run ./m --workflow outline --path build/made.c
check "... of one that git ignores" printed "hidden_in_build"
run ./m --workflow outline --path nowhere.c
check "... that does not exist" ended 1 "cannot outline 'nowhere.c': there is no such file or directory"
run ./m --workflow outline --path ../../../etc/passwd
check "... outside of the root" ended 1 "cannot outline '../../../etc/passwd': it leads outside the working root"
run ./m --workflow outline --path .tfy/runs.db
check "... of the log" ended 1 "cannot outline '.tfy/runs.db': it belongs to the runtime"

run ./m --workflow uses --name count_nodes
cat >wanted <<'END'
src/tree.c:3: int count_nodes(const struct tree *t)
src/tree.c:5: return t ? 1 + count_nodes(t->left) + count_nodes(t->right) : 0;
src/tree.h:4: int count_nodes(const struct tree *t);
lib/load.py:3: return count_nodes(text)
src/main.c:5: return count_nodes(0);
END
sort wanted >by_line
run ./m --workflow uses --name count_nodes
check "references: the lines with an identifier" sh -c 'sort out | cmp - by_line'
check "... of the file that matters most first" sh -c 'head -n 1 out | grep -q "^src/tree.c:3:"'
run ./m --workflow uses --name count_node
check "... not with a part of it" printed_exactly ""
run ./m --workflow uses --name count_nodes --limit 2
check "... so many" sh -c '[ "$(wc -l <out)" = 2 ]'

# ---- replay and the derived file ----

run ./m --tokens 500
cp out first
check "a replay has the recorded map" sh -c 'rm -f .tfy/code-map && tfy replay last >replayed 2>&1 && grep -q "0 divergences" replayed'
run ./m --tokens 500
check "the derived file is made anew" cmp out first
check "... readable by its owner alone" sh -c '[ "$(stat -c %a .tfy/code-map)" = 600 ]'
printf 'garbage' >.tfy/code-map
run ./m --tokens 500
check "... also if it is damaged" cmp out first
sleep 1.2
run ./m --tokens 500
stat -c %i .tfy/code-map >before
run ./m --tokens 500
check "nothing is written where nothing changed" sh -c '[ "$(stat -c %i .tfy/code-map)" = "$(cat before)" ]'
ln -sf /etc/passwd .tfy/code-map
run ./m --tokens 500
check "a link in its place is replaced, not followed" sh -c 'cmp out first && [ ! -L .tfy/code-map ] && grep -q root: /etc/passwd'

# ---- changes ----

sed -i 's/count_nodes/count_leaves/' src/tree.c
run ./m --workflow symbols --query count
check "a changed file is read again" printed_exactly "src/tree.c:3 function  count_leaves"
git mv src/tree.c src/wood.c
run ./m --workflow symbols --query count
check "... a renamed one" printed_exactly "src/wood.c:3 function  count_leaves"
echo 'int fresh(void) { return 1; }' >src/fresh.c
run ./m --workflow symbols --query fresh
check "... a new one that git does not know yet" printed_exactly "src/fresh.c:1 function  fresh"
rm src/fresh.c
run ./m --workflow symbols --query fresh
check "... and a removed one is gone" printed_exactly ""
run ./m --workflow symbols --query hidden
check "what git ignores is not in the map" printed_exactly ""

# ---- what is no code ----

{ printf 'int long_line = "'; head -c 10000000 /dev/zero | tr '\0' x; printf '";\n'; } >long.c
{ printf 'int medium_line = "'; head -c 500000 /dev/zero | tr '\0' x; printf '";\n'; } >medium.c
printf 'int with_nul;\n\0\n' >binary.c
printf 'int latin; /* \344 */\n' >latin.c
printf 'int windows_lines;\r\nint second_line;\r\n' >crlf.c
: >empty.c
printf 'int odd_name;\n' >"$(printf 'odd\nname.c')"
printf 'int bad_name;\n' >"$(printf 'bad\377name.c')"
printf 'int spaced_name;\n' >'a name with spaces.c'
mkdir -p sub && (cd sub && git init -q . && echo 'int nested;' >nested.c)
ln -s /etc/passwd outside.c
ln -s src/main.c inside.c
mkfifo pipe.c
none_of() { for word in "$@"; do ./m --workflow symbols --query "$word" >out 2>err || return 1; [ ! -s out ] || { cat out; return 1; }; done; }
check "a line of 10 MB, a binary, other encodings, odd names, links: no symbols, no failure" \
    none_of long_line medium_line with_nul latin odd_name bad_name nested
run ./m --workflow symbols --query second_line
check "... but lines as Windows ends them" printed_exactly "crlf.c:2 variable  second_line"
run ./m --workflow symbols --query spaced_name
check "... and names with spaces" printed_exactly "a name with spaces.c:1 variable  spaced_name"
run ./m --workflow outline --path long.c
check "... in an outline, too" sh -c '[ "$0" = 0 ] && [ ! -s out ]' "$status"
run ./m --workflow outline --path pipe.c
check "... and a FIFO is not opened" ended 1 "cannot outline 'pipe.c': it is not a regular file"
run ./m --workflow uses --name main
check "links are not read a second time" printed_exactly "src/main.c:3: int main(void)"
rm -rf long.c medium.c binary.c latin.c crlf.c empty.c odd* bad* 'a name with spaces.c' sub outside.c inside.c pipe.c

# ---- ctags: none, another, hostile ----

# with NAME SCRIPT: a directory with git and a program of this name.
with()
{
    rm -rf ../bin && mkdir ../bin && ln -s "$(command -v git)" ../bin/git
    [ $# = 1 ] || { printf '#!/bin/sh\n%s\n' "$2" >../bin/ctags && chmod +x ../bin/ctags; }
    rm -f .tfy/code-map
}
alone() { run env PATH="$PWD/../bin" TFY_DB="$PWD/.tfy/runs.db" ./m "$@" --sandbox open; }
with none
alone
check "without ctags the package is named" ended 1 "the code map needs Universal Ctags: install the package universal-ctags"
with ctags 'echo "Exuberant Ctags 5.8: unknown option" >&2; exit 1'
alone
check "another ctags is refused" ended 1 "'ctags' is not Universal Ctags with JSON"
hello='{"_type": "program", "name": "Universal Ctags"}'
with ctags "cat >/dev/null; echo '$hello'; kill -SEGV \$\$"
alone --workflow symbols --query a
check "one that each text ends gives no symbols" sh -c '[ "$0" = 0 ] && [ ! -s out ]' "$status"
with ctags "/bin/cat >/dev/null; echo '$hello'; /usr/bin/yes '{\"_type\": \"tag\", \"name\": \"x\", \"kind\": \"function\", \"line\": 1}' | /usr/bin/head -n 20000; echo '{\"_type\": \"completed\"}'"
alone --workflow symbols --query x --limit 5
check "... that says the same again and again is bounded" sh -c '[ "$(wc -l <out)" = 5 ]'
mv .git ../git-away
run ./m
check "without a repository it says so" ended 1 "the working root is not in a git repository"
run ./m --workflow outline --path lib/load.py
check "... but a file has its outline" printed "class Parser"
mv ../git-away .git

# ---- what a source cannot do ----

# A ctags that the project brings along is not one of the system's: no cell runs it.
mkdir tools
printf '#!/bin/sh\ntouch "%s/pwned"\nexec %s "$@"\n' "$PWD" "$(command -v ctags)" >tools/ctags && chmod +x tools/ctags
rm -f .tfy/code-map
run env PATH="$PWD/tools:$PATH" ./m --workflow symbols --query main
check "a ctags of the project does not run" sh -c '[ ! -e pwned ] && grep -q "main$" out'
rm -rf tools
# The repository names commands: git runs none of them.
printf '#!/bin/sh\ntouch "%s/../monitor-ran"\n' "$PWD" >../monitor && chmod +x ../monitor
git config core.fsmonitor "$PWD/../monitor"
run ./m --workflow symbols --query main
check "git runs no command that the repository names" sh -c '[ ! -e ../monitor-ran ] && grep -q main out'
git config --unset core.fsmonitor
echo '--langdef=evil' >.ctags
mkdir -p .ctags.d && echo '--output-format=evil' >.ctags.d/a.ctags
run ./m --workflow symbols --query main
check "ctags reads no options of the project" printed_exactly "src/main.c:3 function  main"
rm -rf .ctags .ctags.d

# ---- side by side, killed ----

cat >many.tfy <<'END'
workflow main() -> int {
    let all = parallel for _ in 0..8 limit 8 {
        give yield code_references("count_nodes")
    }
    return all.map(places => places.len()).sum()
}
END
rm -f .tfy/code-map
run tfy run many.tfy
check "eight at a time agree" printed_exactly "32"
cat >slow.tfy <<'END'
workflow main() -> string {
    let map = yield code_map()
    yield sleep(100ms)
    return "${map.len() > 10}"
}
END
tfy build slow.tfy -o slow
killed_anywhere()
{
    for pause in 0.01 0.02 0.04 0.06 0.09 0.12 0.2; do
        rm -f .tfy/code-map
        ./slow >/dev/null 2>&1 &
        killed=$!
        sleep "$pause"
        kill -9 "$killed" 2>/dev/null
        wait "$killed" 2>/dev/null
        tfy resume last >out 2>err || grep -qE "no run|has finished|nothing" err || { cat err; return 1; }
    done
    ! ls .tfy/code-map.*.part >/dev/null 2>&1 || [ "$(ls .tfy/code-map.*.part | wc -l)" -le 7 ]
}
check "killed at any time, it is resumed" killed_anywhere
run ./slow timeout
cat >late.tfy <<'END'
workflow main() -> string {
    return yield code_map() timeout 1ms else "late"
}
END
rm -f .tfy/code-map
run tfy run late.tfy
check "a call that takes too long is left" sh -c '[ "$0" = 0 ]' "$status"

# ---- agents, mocks, types ----

cat >agent.tfy <<'END'
prompt reader(goal: string) -> string {
    user goal
    tools { code_map, code_symbols, code_outline, code_references times 3, read_file }
}

workflow main(goal: string) -> string { return yield reader(goal) }

fn places(all: list<Place>) -> string { return all.map(p => "${p.path}:${p.line}").join(" ") }

test "a model looks around" {
    mock reader.next(_) => [reader.Call.code_map(), reader.Call.code_map(focus: ["a.c"]), reader.Call.code_symbols("x", 5)]
    mock reader.next(_) => [reader.Call.code_outline("a.c"), reader.Call.code_references("main")]
    mock reader.next(_) => reader.Call.answer("seen")
    mock code_map(null, null) => "a.c\n  1: int main(void)\n"
    mock code_map(_, _) => "b.c\n"
    mock code_symbols("x", 5) => [Symbol(name: "x", kind: "function", path: "a.c", line: 1, end: 2)]
    mock code_outline(_) => []
    mock code_references("main", null) => [Place(path: "a.c", line: 1, text: "int main(void)")]
    let said = yield reader("look")
    assert said == "seen"
    assert calls(code_map) == 2
    assert places([Place(path: "a.c", line: 1, text: "")]) == "a.c:1"
}
END
run tfy test agent.tfy
check "an agent can be offered all four" printed "1 test: 1 passed, 0 failed"
cat >own.tfy <<'END'
type Symbol { ticker: string }
type Place { city: string }

fn code_map(at: Place) -> string { return at.city }

workflow main() -> string {
    let s = Symbol(ticker: "tfy")
    return "${s.ticker} ${code_map(Place(city: "Bonn"))}"
}
END
run tfy run own.tfy
check "a program may have these names for itself" printed_exactly '"tfy Bonn"'
