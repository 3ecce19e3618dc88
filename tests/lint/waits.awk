# tests/lint/waits.awk - no test sleeps, and none asserts that something was fast enough.
#
# Findings, in tests/**/*.{c,h}:
#   a call of a function that only waits (SLEEPS below);
#   an assertion that holds only while the time that has passed is small: an upper bound of a
#   difference of clock readings, of an answer's `seconds`, of a variable or a function of the file
#   that was computed from one; or an equality with a clock reading in it. A lower bound is none:
#   slowness can only make it pass.
# Not read: HELPERS, in which the others' waiting is done, and the folders of measurements.
# tests/lint/waits-allowed lists, with a reason each, what may stay: `FILE: reason` or
# `FILE:FUNCTION: reason`. An entry that allows nothing any more is a finding itself.

BEGIN {
    word = "(^|[^A-Za-z0-9_])"
    SLEEPS = word "(sleep|usleep|nanosleep|clock_nanosleep|thrd_sleep|process_sleep_ms|edge_sleep_ms|tent_pause_ms)[ ]*\\("
    EMPTY_POLL = word "(poll[ ]*\\([ ]*NULL|select[ ]*\\([ ]*0[ ]*,[ ]*NULL)"
    CLOCKS = word "(base_monotonic_ns|[a-z_]+_(ns|us|ms|s)_since)[ ]*\\("
    HELPERS = "^tests/support/(process|edge|edge_h2|rates)\\.c$"
    MEASURE = "^tests/(bench|hostile)/"
    list = "tests/lint/waits-allowed"
    read_list()
}

FNR == 1 {
    file = FILENAME
    read = file ~ /^tests\/.*\.[ch]$/ && file !~ HELPERS && file !~ MEASURE
    name = ""
    statement = ""
    split("", clock_functions)
    split("", elapsed_functions)
}

!read { next }

{
    code = code_of($0)
    if (code ~ /^[A-Za-z_]/) {
        if (match(code, /[A-Za-z_][A-Za-z0-9_]*\(/)) {
            name = substr(code, RSTART, RLENGTH - 1)
            if (name == "START_TEST" && match(code, /\([A-Za-z0-9_]+/))
                name = substr(code, RSTART + 1, RLENGTH - 1)
        }
        statement = ""
        split("", readings)
        split("", elapsed)
        next # a declaration, or the head of a function
    }
    if (code ~ SLEEPS || code ~ EMPTY_POLL)
        found(FNR, "a test waits for an event (process_await), it does not sleep")
    if (code ~ /^[ \t]*#/) {
        next
    }
    if (statement == "")
        begun = FNR
    statement = statement " " code
    if (code ~ /[;{}][ \t]*\\?[ \t]*$/ || code ~ /^[ \t]*$/) {
        check_statement(statement)
        statement = ""
    }
}

END {
    for (i = 1; i <= entries; i++)
        if (!used[entry[i]])
            finding(list, entry_line[i], "allows nothing any more: " entry[i])
}

function read_list(    line, n, at) {
    while ((getline line < list) > 0) {
        n++
        if (line ~ /^(#|$)/)
            continue
        if (!match(line, /^[^ :]+(:[A-Za-z0-9_]+)?: /) || length(line) == RLENGTH) {
            finding(list, n, "is not `FILE: reason` or `FILE:FUNCTION: reason`")
            continue
        }
        at = substr(line, 1, RLENGTH - 2)
        entry[++entries] = at
        entry_line[entries] = n
        allowed[at] = 1
    }
    close(list)
}

function found(line, what) {
    if ((file ":" name) in allowed)
        used[file ":" name] = 1
    else if (file in allowed)
        used[file] = 1
    else
        finding(file, line, what)
}

function has_name(text, names,    n) {
    for (n in names)
        if (text ~ word n "([^A-Za-z0-9_]|$)")
            return 1
    return 0
}

function has_call(text, names,    n) {
    for (n in names)
        if (text ~ word n "[ ]*\\(")
            return 1
    return 0
}

function reads_clock(text) {
    return text ~ CLOCKS || has_call(text, clock_functions)
}

# Is it a span of time that has passed, or (now < end) the moment itself?
function is_elapsed(text) {
    return text ~ /_(ns|us|ms|s)_since[ ]*\(/ || has_name(text, elapsed) ||
        has_call(text, elapsed_functions) || ((reads_clock(text) || has_name(text, readings)) && text ~ /-([^>]|$)/)
}

# Of two messages' `seconds`, neither is a bound of the other.
function is_answer_time(text, other) {
    return text ~ /[.]seconds([^A-Za-z0-9_]|$)/ && other !~ /seconds/
}

function is_now(text) {
    return reads_clock(text) || is_elapsed(text)
}

function check_statement(text,    target, value) {
    if (match(text, /ck_assert[a-z_]*[ ]*\(/))
        check_assertion(substr(text, RSTART, RLENGTH), substr(text, RSTART + RLENGTH))
    if (match(text, /(^|[ \t])return[ (]/)) {
        value = substr(text, RSTART + RLENGTH)
        if (is_elapsed(value))
            elapsed_functions[name] = 1
        else if (reads_clock(value))
            clock_functions[name] = 1
    } else if (match(text, /[A-Za-z_][A-Za-z0-9_]*(\[[^]=]*\])?[ ]*=[ ]/)) {
        target = substr(text, RSTART, RLENGTH)
        value = substr(text, RSTART + RLENGTH)
        sub(/[^A-Za-z0-9_].*/, "", target)
        if (is_elapsed(value))
            elapsed[target] = 1
        else if (reads_clock(value))
            readings[target] = 1
    }
}

# The arguments of a call, at the commas of its own level: argument[1], argument[2].
function split_arguments(text,    i, c, depth, n) {
    argument[1] = argument[2] = ""
    n = 1
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        if (c ~ /[([{]/)
            depth++
        else if (c ~ /[])}]/ && --depth < 0)
            return
        if (c == "," && depth == 0) {
            if (++n > 2)
                return
        } else
            argument[n] = argument[n] c
    }
}

function check_assertion(macro, text,    part, parts, i) {
    gsub(/->/, ".", text)
    split_arguments(text)
    if (macro ~ /_(lt|le)[ ]*\(/)
        check_upper_bound(argument[1], argument[2])
    else if (macro ~ /_(gt|ge)[ ]*\(/)
        check_upper_bound(argument[2], argument[1])
    else if (macro ~ /_eq[ ]*\(/) {
        if (reads_clock(argument[1]) || reads_clock(argument[2]))
            too_slow()
    } else if (macro ~ /^ck_assert(_msg)?[ ]*\(/) {
        parts = split(argument[1], part, /&&|\|\|/)
        for (i = 1; i <= parts; i++)
            check_comparison(part[i])
    }
}

function check_comparison(text) {
    if (match(text, /[^<]<=?[^<]/))
        check_upper_bound(substr(text, 1, RSTART), substr(text, RSTART + RLENGTH - 1))
    else if (match(text, /[^>]>=?[^>]/))
        check_upper_bound(substr(text, RSTART + RLENGTH - 1), substr(text, 1, RSTART))
}

function check_upper_bound(lesser, greater) {
    if (is_now(lesser) || is_answer_time(lesser, greater))
        too_slow()
}

function too_slow() {
    found(begun, "an assertion bounds the time that has passed: count what must be few instead")
}
