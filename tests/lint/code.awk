# tests/lint/code.awk - what the other scripts share: reading C without its comments.

# The code of line $0: comments are gone, strings are empty. Reset by FNR == 1. `in_comment` is the
# state between lines.
function code_of(line,    out, c, two, quote, i, n) {
    if (FNR == 1)
        in_comment = 0
    out = ""
    quote = ""
    n = length(line)
    for (i = 1; i <= n; i++) {
        c = substr(line, i, 1)
        two = substr(line, i, 2)
        if (in_comment) {
            if (two == "*/") {
                in_comment = 0
                i++
            }
        } else if (quote != "") {
            if (c == "\\")
                i++
            else if (c == quote) {
                quote = ""
                out = out c
            }
        } else if (two == "/*") {
            in_comment = 1
            i++
        } else if (two == "//") {
            return out
        } else {
            if (c == "\"" || c == "'")
                quote = c
            out = out c
        }
    }
    return out
}

# The path in an #include line, with its < or " in front; "" for any other line.
function include_of(line) {
    if (line !~ /^[ \t]*#[ \t]*include[ \t]*[<"]/)
        return ""
    sub(/^[ \t]*#[ \t]*include[ \t]*/, "", line)
    sub(/[>"][^>"]*$/, "", line)
    return line
}

function dir_of(path) {
    return sub(/\/[^\/]*$/, "/", path) ? path : ""
}

function room_of(path) {
    return path ~ /\// ? substr(path, 1, index(path, "/") - 1) : ""
}

function finding(path, line, what) {
    print path ":" line ": " what
}
