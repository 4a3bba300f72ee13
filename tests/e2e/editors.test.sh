#!/bin/sh
# The grammar for editors: it is JSON, its patterns are patterns, and its words are the lexer's.
. "$here/lib.sh"
repository=$here/../..
cp "$repository/dsl/editors/tfy.tmLanguage.json" grammar.json

# query EXPRESSION [CONDITION]: of all values in the grammar.
query() { sqlite3 :memory: "select $1 from json_tree(cast(readfile('grammar.json') as text)) where ${2:-true}"; }
check "it is JSON" test "$(query "count(*) > 50")" = 1

query value "key in ('match', 'begin', 'end')" >patterns
good_patterns()
{
    while read -r pattern; do
        printf 'let x = 1\n' | grep -qP -e "$pattern"
        [ $? -lt 2 ] || { echo "bad: $pattern"; return 1; }
    done <patterns
}
check "every pattern is one" good_patterns
check "every included rule is there" test -z "$(query "substr(value, 2)" "key = 'include'" | sort -u | while read -r rule; do
    query 1 "fullkey = '\$.repository.$rule'" | grep -q 1 || echo "$rule"; done)"

# Words stand between bars in the rules under "keywords".
query value "fullkey like '\$.repository.keywords.%' and key = 'match'" | sed 's/^[^(]*(?:\([a-z|]*\)).*/\1/' | tr '|' '\n' | sort >words
sed -n "s/.*{TOK_[A-Z]*, \"\(.*\)\", 'w'}.*/\1/p" "$repository/dsl/token.c" | sort >lexer
check "its words are the lexer's" diff lexer words
check "no word stands twice" test -z "$(uniq -d words)"
