# mutate.awk: from a program to a script for the language server's client (tests/lsp/client.c), in which the program is broken in one place after
# the other, the way people break programs: a line is missing or there twice, a word is another one. -v step=N takes every Nth line.
{ line[NR] = $0 }

function tell(at, text,   i) {
    if (text == line[at]) return
    print "change a.tfy <<"
    for (i = 1; i <= NR; i++) {
        if (i != at) print line[i]
        else if (text != "") print text
    }
    print ">>"
}

# Each entry is a regular expression and what stands in its place.
function swap(at, from, to,   text) {
    text = line[at]
    if (sub(from, to, text)) tell(at, text)
}

END {
    print "open a.tfy <<\n>>"
    for (at = 1; at <= NR; at++) {
        if (at % step || line[at] ~ /^ *(\/\/.*)?$/) continue
        tell(at, "")
        tell(at, line[at] "\n" line[at])
        swap(at, "int", "string"); swap(at, "string", "int?"); swap(at, "bool", "nope"); swap(at, ": [a-z<>]+", "")
        swap(at, "[0-9]+", "\"a\""); swap(at, "\"[^\"]*\"", "3"); swap(at, "\"[^\"]*\"", "null"); swap(at, "\"", "")
        swap(at, "yield ", ""); swap(at, "= ", "= yield "); swap(at, "workflow", "fn"); swap(at, "fn ", "workflow "); swap(at, "let ", "var ")
        swap(at, "var ", "let "); swap(at, "\\.", ".x."); swap(at, "[(]", "(3, "); swap(at, "[(]", "(x: "); swap(at, "[)]", ""); swap(at, "[{]", "")
        swap(at, "[}]", ""); swap(at, "==", "="); swap(at, "[+]", "&&"); swap(at, "&&", "+"); swap(at, "return", "give"); swap(at, "return [^ ]*", "return")
        swap(at, ", ", " "); swap(at, "if ", "while "); swap(at, "else", "catch e"); swap(at, "[a-z]+", "zz"); swap(at, "[a-z]+[(]", "qq("); swap(at, "[A-Z]", "Z")
    }
    print "close a.tfy"
}
