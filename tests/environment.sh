# tests/environment.sh - sourced by scripts that run tests: what the shell before had set changes nothing.
#
# Proxies, trusted certificates and every BIGTENT_* are unset, but those that say where the programs are
# and what to keep; messages and orders are those of the C locale. A script that downloads something does
# not source it.

unset http_proxy https_proxy all_proxy no_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY
unset CURL_CA_BUNDLE SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS
unset BIGTABLE_EMULATOR_HOST CDPATH LANGUAGE
for name in $(env | sed -n 's/^\(BIGTENT_[A-Za-z0-9_]*\)=.*/\1/p'); do
    case $name in
    BIGTENT_BIN_DIR | BIGTENT_TEST_KEEP | BIGTENT_CBT) ;;
    *) unset "$name" ;;
    esac
done
unset name
LC_ALL=C
export LC_ALL
