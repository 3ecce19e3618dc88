#!/bin/sh
# The whole story, step by step, against a server of its own.
#
#   tests/demo/demo.sh build/release
#
# Two tenants move in, load real data (ISO 3166 and the time zone database), read it by prefix and
# range, run into each other's walls, a quota and a rate limit; one of them is offboarded, with proof,
# and the other notices nothing. Every number is compared with one counted from the source files by
# other means. Stops with a message and a non-zero status at the first thing that is not as it should
# be. Needs sh, awk, curl; ISO_CODES and ZONEINFO say where the data is.
set -eu

build=${1:?usage: tests/demo/demo.sh build/release}
here=$(dirname "$0")
build=$(cd "$build" && pwd)
iso=${ISO_CODES:-/usr/share/iso-codes/json}
zones=${ZONEINFO:-/usr/share/zoneinfo}
# shellcheck source=tests/environment.sh
. "$here/../environment.sh"
PATH=$build:$PATH
export PATH

tmp=$(mktemp -d "${TMPDIR:-/tmp}/bigtent-demo.XXXXXX")
data=$tmp/data
steps=0

# --- telling ------------------------------------------------------------------------------------

ok() {
    steps=$((steps + 1))
    printf 'ok  %s\n' "$*"
}

fail() {
    printf 'NOT OK  %s\n' "$*" >&2
    [ ! -s "$tmp/server.log" ] || { echo "--- end of the server's log" >&2; tail -n 5 "$tmp/server.log" >&2; }
    exit 1
}

# same WHAT WANTED GOT
same() {
    [ "$2" = "$3" ] || fail "$1: expected $2, got $3"
}

# 5127 -> 5,127
nice() {
    printf '%s\n' "$1" | awk '{ n = $1
        while (length(n) > 3) { s = "," substr(n, length(n) - 2) s; n = substr(n, 1, length(n) - 3) }
        print n s }'
}

# shellcheck source=tests/support/serve.sh
. "$here/../support/serve.sh"

for needed in "$iso/iso_3166-1.json" "$iso/iso_3166-2.json" "$zones/zone1970.tab" "$zones/tzdata.zi"; do
    [ -r "$needed" ] || fail "$needed is missing (packages iso-codes and tzdata)"
done

# --- asking -------------------------------------------------------------------------------------

# As WHO COMMAND...: the command line with that key.
as() {
    who=$1
    shift
    bigtent --key-file "$tmp/$who.key" --retry 0 "$@"
}

# status KEYFILE METHOD PATH [BODY [HEADER]]: the status code; head and body in $tmp.
status() {
    set -- "$1" "$2" "$3" "${4-}" "${5-X-Demo: 1}"
    printf 'header = "Authorization: Bearer %s"\n' "$(cat "$tmp/$1.key")" > "$tmp/curlrc"
    if [ -n "$4" ]; then
        set -- "$@" --data-binary "$4" -H "Content-Type: application/json"
    fi
    method=$2 path=$3 header=$5
    shift 5
    curl -sS -K "$tmp/curlrc" --cacert "$data/ca.pem" -X "$method" -H "$header" "$@" \
        -D "$tmp/head" -o "$tmp/body" -w '%{http_code}' "$BIGTENT_URL$path" ||
        fail "curl $method $path"
}

# writes_at_once N: N times altostrat's write of $row, by one process on one connection, for starting one may take
# longer than a rate lets it; prints the status of the last.
writes_at_once() {
    {
        printf 'header = "Authorization: Bearer %s"\n' "$(cat "$tmp/altostrat.key")"
        seq "$1" | awk -v url="$BIGTENT_URL$row" -v body="$tmp/body" '{
            printf "url = \"%s\"\noutput = \"%s\"\n", url, body }'
    } > "$tmp/curlrc"
    curl -sS -K "$tmp/curlrc" --cacert "$data/ca.pem" -X PUT -H "Content-Type: application/json" \
        --data-binary '{"stats_summary":{"os_build":"PQ2A.190405.003"}}' -D "$tmp/head" -w '%{http_code}\n' |
        tail -n 1
}

# field NAME: the first number or string called NAME in the JSON of the last answer.
field() {
    awk -v name="$1" '{ all = all $0 } END {
        if (match(all, "\"" name "\":(\"[^\"]*\"|[0-9]+|null|true|false)")) {
            v = substr(all, RSTART + length(name) + 3, RLENGTH - length(name) - 3)
            gsub(/"/, "", v); print v } }' "${2:-$tmp/body}"
}

# rows WHO TABLE [OPTION]...: how many rows a scan gives.
rows() {
    who=$1
    shift
    as "$who" scan "$@" --json > "$tmp/scan" || fail "$who: scan $*"
    awk 'END { print NR }' "$tmp/scan"
}

# load WHO TABLE FILE WANTED WHAT
load() {
    as "$1" row load "$2" "$3" > "$tmp/load" 2>&1 || fail "$1 cannot load $3: $(cat "$tmp/load")"
    same "rows of $2" "$4" "$(rows "$1" "$2")"
    ok "$1 loads $(nice "$4") $5"
}

usage_of() {
    [ "$(status "$1" GET /v1/usage)" = 200 ] || fail "usage of $1: $(cat "$tmp/body")"
    echo "$(field stored_bytes) $(field rows) $(field cells)"
}

# --- moving in ----------------------------------------------------------------------------------

bigtentd init --data "$data" > "$tmp/init" || fail "bigtentd init"
cp "$data/operator.key" "$tmp/operator.key"
serve
bigtent health > /dev/null || fail "the server is not ready"
ok "a new server is ready on $BIGTENT_URL"

for tenant in altostrat examplepetstore; do
    as operator tenant create "$tenant" --name "$tenant" > /dev/null || fail "no tenant $tenant"
    as operator key create --tenant "$tenant" --label demo > "$tmp/key" || fail "no key for $tenant"
    (umask 077 && sed -n 's/^key //p' "$tmp/key" > "$tmp/$tenant.key")
    [ -s "$tmp/$tenant.key" ] || fail "no key was shown for $tenant"
done
ok "two tenants move in: altostrat and examplepetstore"

as altostrat table create places name code > /dev/null || fail "table places"
as examplepetstore table create time place rule > /dev/null || fail "table time"
for tenant in altostrat examplepetstore; do
    as "$tenant" table create phone stats_summary:max_versions=1 > /dev/null || fail "table phone"
done
ok "both make their tables, one of them of the same name"

# --- loading ------------------------------------------------------------------------------------

awk -f "$here/places.awk" "$here/continents.tsv" "$iso/iso_3166-1.json" "$iso/iso_3166-2.json" \
    > "$tmp/places.ndjson" || fail "places.awk"
grep '"alpha_2":' "$tmp/places.ndjson" > "$tmp/countries.ndjson"
grep '"iso":' "$tmp/places.ndjson" > "$tmp/subdivisions.ndjson"
countries=$(grep -c '"alpha_2"' "$iso/iso_3166-1.json")
subdivisions=$(grep -c '"code"' "$iso/iso_3166-2.json")
load altostrat places "$tmp/countries.ndjson" "$countries" "countries of ISO 3166-1"
as altostrat row load places "$tmp/subdivisions.ndjson" > "$tmp/load" 2>&1 ||
    fail "subdivisions: $(cat "$tmp/load")"
same "rows of places" $((countries + subdivisions)) "$(rows altostrat places)"
ok "altostrat loads $(nice "$subdivisions") subdivisions of ISO 3166-2"

awk -f "$here/zones.awk" "$zones/zone1970.tab" "$zones/tzdata.zi" > "$tmp/time.ndjson" ||
    fail "zones.awk"
lines=$(cat "$zones/zone1970.tab" "$zones/tzdata.zi" | grep -vc '^#')
load examplepetstore time "$tmp/time.ndjson" "$lines" "rows of the time zone database"

# The phone rows of the Bigtable guide; both tenants keep the same keys, with builds of their own.
phones() {
    while read -r key cell wifi os; do
        printf '{"op":"put","key":"%s","cells":{"stats_summary":{"connected_cell":"%s","connected_wifi":"%s","os_build":"%s%s"}}}\n' \
            "$key" "$cell" "$wifi" "$1" "$os"
    done << END
phone#4c410523#20190501 1 1 PQ2A.190405.003
phone#4c410523#20190502 1 1 PQ2A.190405.004
phone#4c410523#20190505 0 1 PQ2A.190406.000
phone#5c10102#20190501 1 1 PQ2A.190401.002
phone#5c10102#20190502 1 0 PQ2A.190406.000
END
}
phones "" > "$tmp/phone.altostrat"
phones "PET." > "$tmp/phone.examplepetstore"
load altostrat phone "$tmp/phone.altostrat" 5 "phone rows of the Bigtable guide"
load examplepetstore phone "$tmp/phone.examplepetstore" 5 "phone rows with the same keys"

# --- reading ------------------------------------------------------------------------------------

total=0
for continent in africa antarctica asia europe north-america oceania south-america; do
    wanted=$(awk -v c="$continent" 'NR == FNR { if ($2 == c) in_c[$1] = 1; next }
        /"alpha_2": "/ { split($0, p, "\""); n += p[4] in in_c }
        /"code": "/ { split($0, p, "\""); n += substr(p[4], 1, 2) in in_c }
        END { print n + 0 }' "$here/continents.tsv" "$iso/iso_3166-1.json" "$iso/iso_3166-2.json")
    same "rows of $continent" "$wanted" "$(rows altostrat places --prefix "$continent#")"
    total=$((total + wanted))
done
same "rows of all continents" $((countries + subdivisions)) "$total"
ok "seven continents, read by prefix, add up to $(nice "$total")"

for pair in south-america#chile#:CL africa#guinea#:GN africa#guinea-bissau#:GW europe#france#:FR asia#japan#:JP; do
    prefix=${pair%:*}
    wanted=$(grep -c "\"code\": \"${pair#*:}-" "$iso/iso_3166-2.json")
    same "rows of $prefix" "$wanted" "$(rows altostrat places --prefix "$prefix")"
done
ok "countries, read by prefix: Chile, Guinea without Guinea-Bissau, France, Japan"

wanted=$(awk -F '"' '{ if ($8 >= "europe" && $8 < "north-america#canada") n++ } END { print n }' "$tmp/places.ndjson")
same "rows of a range" "$wanted" \
    "$(rows altostrat places --start europe --end north-america#canada)"
ok "a range read from europe to north-america#canada gives $(nice "$wanted") rows"

same "rules of the EU" "$(grep -c '^R E ' "$zones/tzdata.zi")" "$(rows examplepetstore time --prefix rule#E#)"
same "links" "$(grep -c '^L ' "$zones/tzdata.zi")" "$(rows examplepetstore time --prefix link#)"
same "zones" "$(grep -vc '^#' "$zones/zone1970.tab")" "$(rows examplepetstore time --prefix zone#)"
ok "zones, links and summer time rules of examplepetstore, read by prefix"

for tenant in altostrat examplepetstore; do
    same "days of one phone" 3 "$(rows "$tenant" phone --prefix 'phone#4c410523#')"
    same "a range over phones" 3 "$(rows "$tenant" phone --start 'phone#4c410523#20190502' --end 'phone#5c10102#20190502')"
done
ok "phones by prefix and by range, as in the guide"

# Pages until there is no token.
pages=0
seen=0
token=
while :; do
    [ "$(status altostrat GET "/v1/tables/places/rows?limit=1000$token")" = 200 ] || fail "page: $(cat "$tmp/body")"
    seen=$((seen + $(grep -o '"key":' "$tmp/body" | awk 'END { print NR }')))
    pages=$((pages + 1))
    token=$(field next_page_token)
    [ -n "$token" ] || break
    token="&page_token=$token"
done
same "rows over all pages" $((countries + subdivisions)) "$seen"
ok "$pages pages of at most 1,000 rows hold all $(nice "$seen")"

# --- walls --------------------------------------------------------------------------------------

row=/v1/tables/phone/rows/phone%234c410523%2320190501
same "altostrat's phone" 200 "$(status altostrat GET "$row")"
grep -q '"PQ2A.190405.003"' "$tmp/body" || fail "altostrat's row: $(cat "$tmp/body")"
same "examplepetstore's phone" 200 "$(status examplepetstore GET "$row")"
grep -q '"PET.PQ2A.190405.003"' "$tmp/body" || fail "examplepetstore's row: $(cat "$tmp/body")"
ok "the same row key in both tenants is two rows"

same "naming the other tenant" 403 "$(status altostrat GET "$row" '' 'Bigtent-Tenant: examplepetstore')"
same "the other's table" 404 "$(status altostrat GET /v1/tables/time)"
same "operator on data" 403 "$(status operator GET "$row" '' 'Bigtent-Tenant: altostrat')"
same "tenant on administration" 403 "$(status altostrat GET /v1/admin/tenants)"
echo btt_0000000000000000000000000000000000000000000000000000000 > "$tmp/nobody.key"
same "a key nobody made" 401 "$(status nobody GET "$row")"
ok "a tenant's key is refused on the other's data, an operator's on anybody's, a made-up one everywhere"

before=$(usage_of examplepetstore)
as operator usage --tenant altostrat --recount > /dev/null || fail "altostrat's counters drifted"
as operator usage --tenant examplepetstore --recount > /dev/null || fail "examplepetstore's counters drifted"
ok "usage counters of both tenants equal a recount"

# --- limits -------------------------------------------------------------------------------------

as operator tenant quota altostrat --bytes "$(usage_of altostrat | awk '{ print $1 + 10 }')" > /dev/null || fail "quota"
same "a write over the quota" 403 "$(status altostrat PUT /v1/tables/phone/rows/new '{"stats_summary":{"os_build":"too much"}}')"
same "code of the refusal" quota "$(field code)"
same "a delete over the quota" 204 "$(status altostrat DELETE "$row")"
same "a write after the delete" 201 "$(status altostrat PUT "$row" '{"stats_summary":{"os_build":"PQ2A.190405.003"}}')"
as operator tenant quota altostrat --none > /dev/null || fail "no quota"
ok "a full byte quota answers 403 and lets deletes through"

as operator tenant quota altostrat --writes-per-s 2 > /dev/null || fail "rate"
tries=0
until [ "$(writes_at_once 20)" = 429 ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 50 ] || fail "1000 writes at once pass a limit of 2 a second"
done
wait_s=$(awk 'tolower($1) == "retry-after:" { last = $2 + 0 } END { print last }' "$tmp/head")
[ "${wait_s:-0}" -ge 1 ] || fail "429 without Retry-After: $(cat "$tmp/head")"
sleep "$wait_s"
same "a write after waiting" 200 "$(status altostrat PUT "$row" '{"stats_summary":{"os_build":"PQ2A.190405.003"}}')"
as operator tenant quota altostrat --none > /dev/null || fail "no rate"
ok "writing too fast answers 429 with Retry-After: $wait_s, and passes after it"

# --- moving out ---------------------------------------------------------------------------------

rows examplepetstore time > /dev/null
mv "$tmp/scan" "$tmp/time.before"
as operator tenant offboard altostrat --confirm altostrat --wait > "$tmp/offboard" 2>&1 || fail "offboarding: $(cat "$tmp/offboard")"
job=$(status operator GET /v1/admin/tenants/altostrat > /dev/null && field job)
same "the tenant's state" purged "$(field state)"
ok "altostrat is offboarded"

same "reads of a gone tenant" 410 "$(status altostrat GET "$row")"
same "scans of a gone tenant" 410 "$(status altostrat GET /v1/tables/places/rows)"
same "writes of a gone tenant" 410 "$(status altostrat PUT "$row" '{"stats_summary":{"os_build":"1"}}')"
same "the ID again" 409 "$(status operator POST /v1/admin/tenants '{"id":"altostrat"}')"
ok "its reads and writes answer 410, and its ID is never given out again"

same "the job" 200 "$(status operator GET "/v1/admin/jobs/$job")"
sed 's/.*"audit":{/{/' "$tmp/body" > "$tmp/audit"
keys_before=$(sed 's/.*"audit_before":{/{/' "$tmp/body" > "$tmp/audit_before" && field physical_keys "$tmp/audit_before")
[ "$keys_before" -gt "$countries" ] || fail "audit before: $keys_before physical keys"
same "physical keys" 0 "$(field physical_keys "$tmp/audit")"
same "files inside its range" 0 "$(field live_files_inside "$tmp/audit")"
same "counters" 0 "$(field counters "$tmp/audit")"
ok "the audit looked at the files: $(nice "$keys_before") physical keys before, 0 now"

same "usage of examplepetstore" "$before" "$(usage_of examplepetstore)"
same "rows of time" "$lines" "$(rows examplepetstore time)"
cmp -s "$tmp/scan" "$tmp/time.before" || fail "rows of examplepetstore changed"
as operator usage --tenant examplepetstore --recount > /dev/null || fail "counters drifted"
ok "examplepetstore still counts the same, byte for byte"

stop
serve
same "usage after a restart" "$before" "$(usage_of examplepetstore)"
same "a gone tenant after a restart" 410 "$(status altostrat GET "$row")"
kill -KILL "$server_pid"
wait "$server_pid" 2> /dev/null || :
serve
same "usage after kill -9" "$before" "$(usage_of examplepetstore)"
same "rows after kill -9" "$lines" "$(rows examplepetstore time)"
stop
ok "a restart and a kill -9 change nothing"

echo "demo: $steps steps, all as they should be"
