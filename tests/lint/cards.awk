# tests/lint/cards.awk - every header opens with a room card, and "May use" tells the truth.
#
# A card's "May use" names folders (base/), headers (base/err.h), libraries (not checked here) or
# says "nothing". It covers what the header and the source of the same name include. A header's own
# folder is always allowed, unless the card says "nothing"; so are the header itself and
# base/banned.h.

BEGIN {
    keys = split("Does|Owns|May use|Knows no|Threads|Blocks|Fails by|Limits|Promises", key, "|")
}

FNR == 1 {
    if (in_card)
        close_card(file)
    file = FILENAME
    is_header = FILENAME ~ /\.h$/
    stem = FILENAME
    sub(/\.(c|cc|h)$/, "", stem)
    in_card = is_header
    current = ""
    split("", has)
    if (is_header) {
        is_carded[stem] = 1
        may_use[stem] = ""
        if ($0 != "/*") {
            finding(FILENAME, 1, "does not open with a room card")
            in_card = 0
        }
    }
}

in_card && FNR == 2 && index($0, " * " FILENAME " - ") != 1 {
    finding(FILENAME, 2, "the card does not begin with \" * " FILENAME " - \"")
}

in_card {
    read_card_line($0)
    if ($0 ~ /\*\//)
        close_card(FILENAME)
}

{
    code = code_of($0)
    if (code ~ /^[ \t]*#[ \t]*include/) {
        included = include_of($0)
        if (substr(included, 1, 1) == "\"") {
            n++
            include_stem[n] = stem
            include_path[n] = substr(included, 2)
            include_at[n] = FILENAME
            include_line[n] = FNR
        }
    }
}

END {
    if (in_card)
        close_card(FILENAME)
    for (i = 1; i <= n; i++)
        check_covered(include_stem[i], include_path[i], include_at[i], include_line[i])
}

function read_card_line(line,    i) {
    for (i = 1; i <= keys; i++) {
        if (index(line, " * " key[i] ":") == 1) {
            current = key[i]
            has[current] = 1
            line = substr(line, length(" * " key[i] ":") + 1)
            if (line ~ /^[ \t]*$/)
                finding(FILENAME, FNR, "the card's \"" current ":\" says nothing")
            break
        }
    }
    if (current == "May use") {
        sub(/^ \*/, "", line)
        may_use[stem] = may_use[stem] " " line
    }
}

function close_card(path,    i) {
    for (i = 1; i <= keys; i++) {
        if (!(key[i] in has))
            finding(path, 1, "the room card lacks \"" key[i] ":\"")
    }
    in_card = 0
}

function check_covered(stem, path, at, line,    words, count, word, i) {
    if (!(stem in is_carded) || path == stem ".h" || path == "base/banned.h")
        return
    count = split(may_use[stem], words, /[ \t,;()]+/)
    for (i = 1; i <= count; i++) {
        word = words[i]
        sub(/\.$/, "", word)
        if (word == "nothing") {
            finding(at, line, "the card of " stem ".h may use nothing, here is " path)
            return
        }
        if (word == path || (word ~ /\/$/ && index(path, word) == 1))
            return
    }
    if (dir_of(path) != dir_of(stem))
        finding(at, line, path " is not under \"May use\" in the card of " stem ".h")
}
