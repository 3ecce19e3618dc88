# The time zone database as NDJSON for POST /v1/tables/{table}:write.
#
#   awk -f zones.awk zone1970.tab tzdata.zi
#
# Keys: zone#NAME (where it is), era#NAME#NN (its offsets over time), rule#NAME#FROM#NNNN (summer
# time), link#TARGET#ALIAS. Every line of the sources that is not a comment becomes one row.

function text(s) {
    gsub(/\\/, "\\\\", s)
    gsub(/"/, "\\\"", s)
    return "\"" s "\""
}

function put(key, cells) {
    print "{\"op\":\"put\",\"key\":" text(key) ",\"cells\":{" cells "}}"
}

# The fields from number `first` on, as they stand.
function rest(first,    i, s) {
    for (i = first; i <= NF; i++)
        s = s (i == first ? "" : " ") $i
    return s
}

function era() {
    put(sprintf("era#%s#%02d", zone, eras++), "\"rule\":{\"text\":" text(rest(first)) "}")
}

/^#/ { next }

FILENAME ~ /\.tab$/ {
    n = split($0, column, "\t")
    put("zone#" column[3], "\"place\":{\"countries\":" text(column[1]) ",\"coordinates\":" text(column[2]) \
        (n > 3 ? ",\"comment\":" text(column[4]) : "") "}")
    next
}

$1 == "R" {
    put(sprintf("rule#%s#%s#%04d", $2, $3, rules[$2]++), "\"rule\":{\"text\":" text(rest(3)) "}")
    next
}
$1 == "L" {
    put("link#" $2 "#" $3, "\"place\":{\"target\":" text($2) "}")
    next
}
$1 == "Z" {
    zone = $2
    eras = 0
    first = 3
    era()
    next
}
{
    first = 1
    era()
}
