#!/bin/sh
# Do Prometheus' own tools like /metrics?
#
#   tests/metrics/check.sh build/release
#
# Starts a server of its own and does a little of everything. promtool must find nothing in a scrape;
# then Debian's prometheus scrapes it over TLS with the bearer token of a key with the scope ops.read
# and nothing else, and must have stored what the server counted.
set -eu

build=${1:?usage: tests/metrics/check.sh build/release}
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$build" && pwd)
# shellcheck source=tests/environment.sh
. "$here/../environment.sh"
PATH=$build:$PATH
export PATH

tmp=$(mktemp -d "${TMPDIR:-/tmp}/bigtent-metrics.XXXXXX")
data=$tmp/data
prometheus=

fail() {
    printf 'metrics: %s\n' "$*" >&2
    for log in server prometheus; do
        [ ! -s "$tmp/$log.log" ] || tail -n 5 "$tmp/$log.log" >&2
    done
    exit 1
}

# shellcheck source=tests/support/serve.sh
. "$here/../support/serve.sh"

end() {
    code=$?
    [ -z "$prometheus" ] || kill -KILL "$prometheus" 2> /dev/null || :
    (exit "$code") || :
    cleanup
}
trap end EXIT

# --- a server that has done something --------------------------------------------------------------

bigtentd init --data "$data" > /dev/null || fail "bigtentd init"
serve

operator() {
    bigtent --key-file "$data/operator.key" "$@"
}

operator tenant create altostrat > /dev/null || fail "no tenant"
operator key create --tenant altostrat | sed -n 's/^key //p' > "$tmp/tenant.key"
operator key create --operator --scope ops.read --label prometheus | sed -n 's/^key //p' > "$tmp/ops.key"
[ -s "$tmp/tenant.key" ] && [ -s "$tmp/ops.key" ] || fail "no keys"
chmod 600 "$tmp/tenant.key" "$tmp/ops.key"
bigtent --key-file "$tmp/tenant.key" table create phone stats > /dev/null || fail "no table"
for row in 1 2 3; do
    bigtent --key-file "$tmp/tenant.key" row put phone "$row" stats:q=v > /dev/null || fail "no row"
done
bigtent --key-file "$tmp/tenant.key" row get phone none > /dev/null 2>&1 && fail "a row from nowhere"

# --- promtool ---------------------------------------------------------------------------------------

curl -sS --fail --cacert "$BIGTENT_CACERT" -H "Authorization: Bearer $(cat "$tmp/ops.key")" \
    -o "$tmp/metrics" "$BIGTENT_URL/metrics" || fail "no metrics"
promtool check metrics < "$tmp/metrics" > "$tmp/findings" 2>&1 || fail "promtool: $(cat "$tmp/findings")"
[ ! -s "$tmp/findings" ] || fail "promtool: $(cat "$tmp/findings")"
echo "metrics: promtool finds nothing in $(grep -vc '^#' "$tmp/metrics") samples"

# --- prometheus -------------------------------------------------------------------------------------

# A scrape has as long as its interval, and the first begins at a random moment of one: one is enough.
cat > "$tmp/prometheus.yml" << END
global: {scrape_interval: 30s, scrape_timeout: 30s}
scrape_configs:
  - job_name: bigtent
    scheme: https
    tls_config: {ca_file: "$BIGTENT_CACERT"}
    authorization: {credentials_file: "$tmp/ops.key"}
    static_configs: [{targets: ["${BIGTENT_URL#https://}"]}]
END
promtool check config "$tmp/prometheus.yml" > "$tmp/findings" 2>&1 || fail "$(cat "$tmp/findings")"
prometheus --config.file="$tmp/prometheus.yml" --storage.tsdb.path="$tmp/tsdb" \
    --web.listen-address=127.0.0.1:0 > "$tmp/prometheus.log" 2>&1 &
prometheus=$!

# wait_for TEXT COMMAND...: until its output has the text, for four minutes.
wait_for() {
    text=$1
    tries=0
    shift
    until "$@" 2> /dev/null | grep -qF -- "$text"; do
        kill -0 "$prometheus" 2> /dev/null || fail "prometheus ended"
        tries=$((tries + 1))
        [ "$tries" -lt 1200 ] || fail "no $text from: $*; last: $("$@" 2>&1 | tail -n 3)"
        sleep 0.2
    done
}

wait_for 'msg="Listening on"' cat "$tmp/prometheus.log"
address=$(sed -n 's/.*msg="Listening on" address=//p' "$tmp/prometheus.log")

query() {
    curl -sS --fail --get --data-urlencode "query=$1" "http://$address/api/v1/query"
}

wait_for ',"1"]' query 'up{job="bigtent"}'
wait_for ',"3"]' query 'bigtent_tenant_operations_total{tenant="altostrat",kind="write"}'
wait_for ',"3"]' query 'bigtent_tenant_stored_rows{tenant="altostrat"}'
wait_for ',"1"]' query 'sum(bigtent_errors_total{reason="not_found"})'
wait_for '"result":[{' query 'histogram_quantile(0.99, sum by (le) (bigtent_request_duration_seconds_bucket))'
echo "metrics: prometheus has what the server counted"

kill "$prometheus"
wait "$prometheus" || fail "prometheus ended with $?"
prometheus=
stop
