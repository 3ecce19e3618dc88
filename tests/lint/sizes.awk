# tests/lint/sizes.awk - lengths of lines, functions and files, and words of unfinished work.

BEGIN {
    # Written so that this file does not find itself.
    unfinished = "(^|[^A-Za-z0-9_])(TO" "DO|FIX" "ME|XX" "X)([^A-Za-z0-9_]|$)"
}

FNR == 1 {
    check_file()
    file = FILENAME
    is_c = file ~ /\.(c|cc|h)$/
    begun = 0
    says_why = 0
}

{
    lines = FNR
    if ($0 ~ unfinished)
        finding(file, FNR, "unfinished work is not committed")
}

is_c {
    if (FNR <= 30 && index($0, "lines because"))
        says_why = 1
    columns = $0
    gsub(/[\200-\277]/, "", columns) # a character of several bytes is one column
    if (length(columns) > 100)
        finding(file, FNR, length(columns) " columns; the limit is 100")
    if ($0 ~ /^\{/)
        begun = FNR
    if ($0 ~ /^\}/ && begun) {
        if (FNR - begun + 1 > 70)
            finding(file, begun, "function of " FNR - begun + 1 " lines; the limit is 70")
        begun = 0
    }
}

END {
    check_file()
}

function check_file() {
    if (!is_c)
        return
    if (lines > 800)
        finding(file, lines, "file of " lines " lines; the limit is 800")
    else if (lines > 500 && !says_why)
        finding(file, lines, "file of " lines " lines does not say why (\"... lines because ...\")")
}
