# ISO 3166 countries and subdivisions as NDJSON for POST /v1/tables/{table}:write.
#
#   awk -f places.awk continents.tsv iso_3166-1.json iso_3166-2.json
#
# Keys are made for prefix reads: continent#country#subdivision, so that one prefix is a continent,
# a longer one a country. The JSON of iso-codes is regular, one member a line; its strings are passed
# on as they are, escapes included.

# The raw JSON string of a line `"name": "value",`.
function value(line) {
    sub(/^[^:]*: "/, "", line)
    sub(/",?[ \t\r]*$/, "", line)
    return line
}

function slug(name) {
    name = tolower(name)
    gsub(/[ ,.()']+/, "-", name)
    sub(/^-/, "", name)
    sub(/-$/, "", name)
    return name
}

function fail(what) {
    print "places.awk: " what > "/dev/stderr"
    failed = 1
    exit 1
}

function add(cells, name, text) {
    if (text == "")
        return cells
    return cells (cells == "" ? "" : ",") "\"" name "\":\"" text "\""
}

function country() {
    if (!(m["alpha_2"] in continent))
        fail("no continent for " m["alpha_2"])
    key[m["alpha_2"]] = continent[m["alpha_2"]] "#" slug(m["name"])
    names = add(add("", "short", m["name"]), "official", m["official_name"])
    codes = add(add(add("", "alpha_2", m["alpha_2"]), "alpha_3", m["alpha_3"]), "numeric", m["numeric"])
    print "{\"op\":\"put\",\"key\":\"" key[m["alpha_2"]] "\",\"cells\":{\"name\":{" names "},\"code\":{" codes "}}}"
}

function subdivision() {
    alpha_2 = substr(m["code"], 1, 2)
    if (!(alpha_2 in key))
        fail("no country for " m["code"])
    names = add(add("", "short", m["name"]), "type", m["type"])
    codes = add(add("", "iso", m["code"]), "parent", m["parent"])
    print "{\"op\":\"put\",\"key\":\"" key[alpha_2] "#" tolower(m["code"]) "\",\"cells\":{\"name\":{" names "},\"code\":{" codes "}}}"
}

FILENAME ~ /continents/ {
    if ($0 !~ /^#/)
        continent[$1] = $2
    next
}

/^ *\{/ { split("", m) }
/^ *"[a-z_0-9]+": "/ {
    split($0, part, "\"")
    m[part[2]] = value($0)
}
/^ *\},?$/ {
    if ("alpha_2" in m)
        country()
    else if ("code" in m)
        subdivision()
    split("", m)
}

END { if (failed) exit 1 }
