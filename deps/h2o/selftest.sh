#!/bin/sh
# See that fetch.sh refuses what it must, in words that help. Nothing here needs a network.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT INT TERM
failed=0
cases=0

# A mirror whose file of the right name has other bytes.
mkdir -p "$work/mirror/pool/main/h/h2o"
echo 'not h2o' > "$work/mirror/pool/main/h/h2o/h2o_2.2.5+dfsg2.orig.tar.xz"

# refuses NAME MIRROR PATTERN...: fetch.sh fails, prints a line like each pattern, and unpacks nothing
refuses() {
    cases=$((cases + 1))
    name=$1
    H2O_MIRRORS=$2 "$here/fetch.sh" "$work/downloads" "$work/source" > "$work/out" 2>&1
    got=$?
    shift 2
    for pattern; do
        if [ $got -ne 1 ] || ! grep -q -e "$pattern" "$work/out" || [ -e "$work/source" ]; then
            echo "$name: expected status 1, no source and \"$pattern\"; got $got:"
            sed 's/^/    /' "$work/out"
            failed=$((failed + 1))
        fi
    done
}

refuses 'a mirror with other bytes' "file://$work/mirror" \
    "^h2o: refused file://.*orig.tar.xz: its SHA-256 is " 'no package libh2o-evloop-dev'
refuses 'what was refused is not kept' "file://$work/mirror" '^h2o: refused '
refuses 'no mirror' "file://$work/none http://127.0.0.1:9/debian" 'could not be downloaded from:' \
    '127.0.0.1:9' "into $work/downloads yourself" 'snapshot.debian.org'
mkdir -p "$work/downloads"
echo 'not h2o' > "$work/downloads/h2o_2.2.5+dfsg2.orig.tar.xz"
refuses 'a file that was put there' "file://$work/none" 'orig.tar.xz has the wrong SHA-256' 'Delete the file'

echo "deps/h2o selftest: $cases cases, $failed failed"
[ $failed -eq 0 ]
