#!/bin/sh
# Is the page of a certificate whole in a real browser, on screens and on paper?
#
#   tests/page/check.sh build/release RESULTS
#
# Tenants of a server of its own leave: one that is in no backup; one that is in two, which are then deleted; one
# with the longest names, many holds and many backups; one in a backup that has no end. check.py opens the pages of
# their certificates in Chromium. Pictures and PDF stay in RESULTS.
set -eu

usage="usage: tests/page/check.sh build/release RESULTS"
build=${1:?$usage}
results=${2:?$usage}
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$build" && pwd)
# shellcheck source=tests/environment.sh
. "$here/../environment.sh"
PATH=$build:$PATH
export PATH

tmp=$(mktemp -d "${TMPDIR:-/tmp}/bigtent-page.XXXXXX")
data=$tmp/data

fail() {
    printf 'page: %s\n' "$*" >&2
    [ ! -s "$tmp/server.log" ] || tail -n 5 "$tmp/server.log" >&2
    exit 1
}

# shellcheck source=tests/support/serve.sh
. "$here/../support/serve.sh"

# needs PACKAGE COMMAND...: the command works, or the package of Debian is missing
needs() {
    package=$1
    shift
    "$@" > /dev/null 2>&1 || fail "$package is missing, which draws or reads pages: apt-get install $package"
}

python=/usr/bin/python3 # Debian's, as python3-pil is for it
needs chromium command -v chromium
needs poppler-utils command -v pdftotext
needs python3-pil "$python" -c 'import PIL'
mkdir -p "$results"
results=$(cd "$results" && pwd)
rm -f "$results"/*.png "$results"/*.pdf

operator() {
    bigtent --key-file "$data/operator.key" "$@"
}

backup() { # backup KEEP: its ID
    id=$(operator backup create --keep "$1" --wait | sed -n 's/^id //p')
    [ -n "$id" ] || fail "no backup was made"
    echo "$id"
}

enter() { # enter TENANT: it has a row
    operator tenant create "$1" > /dev/null || fail "no tenant $1"
    operator key create --tenant "$1" | sed -n 's/^key //p' > "$tmp/key"
    chmod 600 "$tmp/key"
    bigtent --key-file "$tmp/key" table create phone stats > /dev/null || fail "no table of $1"
    bigtent --key-file "$tmp/key" row put phone 4c410523#20190501 stats:os=PQ2A > /dev/null || fail "no row of $1"
}

leave() { # leave TENANT [OPTION...]
    operator tenant offboard "$1" --confirm "$@" --wait > /dev/null || fail "$1 does not leave"
}

page_of() { # page_of TENANT NAME [OPTION...]: $tmp/NAME.html
    id=$1
    name=$2
    shift 2
    operator certificate get "$id" "$@" > "$tmp/$name.json" || fail "$id has no certificate"
    operator certificate html "$tmp/$name.json" --pubkey "$tmp/key.pub" > "$tmp/$name.html" || fail "$id has no page"
}

letters() { # letters COUNT: a word of that length
    printf "%$1s" '' | tr ' ' w
}

bigtentd init --data "$data" > /dev/null || fail "bigtentd init"
serve
operator certificate key > "$tmp/key.pub"

enter altostrat
leave altostrat
page_of altostrat plain

enter cirrus
week=$(backup 7d)
month=$(backup 30d)
leave cirrus --reason "contract ended, notice of 1 November"
page_of cirrus backups

# As much as a certificate may hold, in words that do not break.
long=$(letters 63)
enter "$long"
for n in 1 2 3 4 5 6 7 8 9; do
    operator tenant hold "$long" --reason "file $n" > /dev/null
    operator tenant release "$long" > /dev/null
done
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    backup "${n}d" > /dev/null
done
leave "$long" --reason "$(letters 200)" --deep
page_of "$long" long

# A backup has no end, so a check does not pass.
enter stratus
backup ever > /dev/null
leave stratus
page_of stratus open

operator backup delete "$week" > /dev/null
operator backup delete "$month" > /dev/null
tries=0
until operator certificate get cirrus --event expired > /dev/null 2>&1; do
    tries=$((tries + 1))
    [ "$tries" -lt 1200 ] || fail "no second certificate, four minutes after the last backup is gone"
    sleep 0.2
done
page_of cirrus second --event expired

"$python" -B "$here/check.py" chromium "$results" "$tmp"/plain.html "$tmp"/backups.html "$tmp"/long.html \
    "$tmp"/open.html "$tmp"/second.html
stop
