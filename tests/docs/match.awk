# match.awk: does a transcript (first file) fit what was printed (second file)? A line `...` fits any lines, none too. Exit status 0: yes.
FNR == NR {
    wanted[++want_count] = $0
    next
}

{
    actual[++count] = $0
}

function fits(w, a, next_a)
{
    for (; w <= want_count; w++) {
        if (wanted[w] == "...") {
            for (next_a = a; next_a <= count + 1; next_a++)
                if (fits(w + 1, next_a)) return 1
            return 0
        }
        if (a > count || wanted[w] != actual[a++]) return 0
    }
    return a == count + 1
}

END {
    exit !fits(1, 1)
}
