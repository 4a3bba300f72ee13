# blocks.awk: writes every fenced block of a document into files: DIR/NNN.info (what stands behind the fence), DIR/NNN.line and DIR/NNN.text.
# Usage: awk -v dir=DIR -f blocks.awk DOCUMENT
{
    sub(/\r$/, "")
}

fence && /^ *```+ *$/ {
    close(base ".text")
    fence = 0
    next
}

fence {
    print >(base ".text")
    next
}

/^ *```/ {
    fence = 1
    base = sprintf("%s/%03d", dir, ++count)
    info = $0
    sub(/^ *```+/, "", info)
    print info >(base ".info")
    close(base ".info")
    print NR >(base ".line")
    close(base ".line")
    printf "" >(base ".text")
}
