#!/bin/sh
# Unpacks h2o's source with Debian's patches and ours.
#
#   deps/h2o/fetch.sh DOWNLOADS SOURCE
#
# The files are those of Debian 12's source package. A file that is not in DOWNLOADS yet is downloaded
# from the pool of the first mirror that has it: the machine's own Debian mirrors, then deb.debian.org;
# or those of H2O_MIRRORS. Nothing is unpacked whose SHA-256 is not the one below.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
downloads=${1:?usage: deps/h2o/fetch.sh DOWNLOADS SOURCE}
source=${2:?usage: deps/h2o/fetch.sh DOWNLOADS SOURCE}

upstream=h2o_2.2.5+dfsg2.orig.tar.xz
upstream_sha256=a46894bd85da6528d4ad90ce0443b48118718296175061a1a1156e9e3af60a0d
debian=h2o_2.2.5+dfsg2-7.debian.tar.xz
debian_sha256=cdac721373a73bd6a94707cfa90ea0ac25cf33898727f7137dd9acdb351f2964

fail() {
    printf 'h2o: %s\n' "$@" >&2
    exit 1
}

mirrors() {
    if [ -n "${H2O_MIRRORS:-}" ]; then
        printf '%s\n' $H2O_MIRRORS
        return
    fi
    {
        # shellcheck disable=SC2016
        apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 'Created-By: Packages' 2> /dev/null |
            sed -n -e '/security/d' -e 's|^Debian \(https\{0,1\}://.*[^/]\)/*$|\1|p'
        echo http://deb.debian.org/debian
    } | awk '!seen[$0]++'
}

# sum_is SHA256 FILE
sum_is() {
    echo "$1  $2" | sha256sum --check --status
}

# download NAME SHA256: to $downloads
download() {
    if [ -f "$downloads/$1" ]; then
        sum_is "$2" "$downloads/$1" ||
            fail "$downloads/$1 has the wrong SHA-256:" "  expected $2" \
                "  found    $(sha256sum < "$downloads/$1" | cut -d ' ' -f 1)" \
                "Delete the file and run \`make deps\` again."
        return
    fi
    command -v curl > /dev/null || fail "needs curl to download $1: run \`make deps\`"
    # A proxy that apt is configured with.
    apt_proxy=
    eval "$(apt-config shell apt_proxy Acquire::http::Proxy 2> /dev/null)"
    export http_proxy="${http_proxy:-$apt_proxy}"
    tried=
    for mirror in $(mirrors); do
        url=$mirror/pool/main/h/h2o/$1
        echo "h2o: downloading $url"
        if ! curl -fsSL --connect-timeout 20 --speed-time 60 --speed-limit 1000 --retry 2 \
            -o "$downloads/$1.part" "$url"; then
            tried="$tried $mirror"
            continue
        fi
        if sum_is "$2" "$downloads/$1.part"; then
            mv "$downloads/$1.part" "$downloads/$1"
            return
        fi
        echo "h2o: refused $url: its SHA-256 is $(sha256sum < "$downloads/$1.part" | cut -d ' ' -f 1)," \
            "not $2" >&2
        tried="$tried $mirror"
    done
    rm -f "$downloads/$1.part"
    fail "h2o is built from source (no package libh2o-evloop-dev, or H2O=source), but could not be downloaded from:" \
        $(printf ' %s' "$tried") \
        "Run \`make deps\` again with a network, with H2O_MIRRORS=URL for another Debian mirror, or put" \
        "  $upstream and $debian" \
        "into $downloads yourself. When mirrors no longer have them, they are at" \
        "  https://snapshot.debian.org/package/h2o/2.2.5+dfsg2-7/ and https://archive.debian.org/debian/pool/main/h/h2o/"
}

for tool in patch xz; do
    command -v $tool > /dev/null || fail "needs $tool to unpack h2o's source: run \`make deps\`"
done
mkdir -p "$downloads"
downloads=$(cd "$downloads" && pwd)
download "$upstream" "$upstream_sha256"
download "$debian" "$debian_sha256"

work=$source.new
rm -rf "$source" "$work"
mkdir -p "$work/package"
tar -xJf "$downloads/$upstream" -C "$work/package" --strip-components=1
tar -xJf "$downloads/$debian" -C "$work"
(
    cd "$work/package"
    for name in $(grep -v '^#' ../debian/patches/series); do
        patch -p1 -s -N < "../debian/patches/$name" || fail "Debian's $name does not apply"
    done
    patch -p1 -s -N < "$here/bigtent.patch" || fail "deps/h2o/bigtent.patch does not apply"
    # As cmake makes it from version.h.in.
    sed -e 's/@VERSION@/2.2.5/' -e 's/@VERSION_MAJOR@/2/' -e 's/@VERSION_MINOR@/2/' \
        -e 's/@VERSION_PATCH@/5/' -e 's/@LIBRARY_VERSION_MAJOR@/0/' \
        -e 's/@LIBRARY_VERSION_MINOR@/13/' -e 's/@LIBRARY_VERSION_PATCH@/5/' \
        version.h.in > include/h2o/version.h
)
# The rest of the 56 MB is not compiled.
mkdir -p "$source/deps"
for part in LICENSE include lib deps/cloexec deps/golombset deps/klib deps/libyrmcds deps/picohttpparser \
    deps/ssl-conservatory deps/yoml; do
    mv "$work/package/$part" "$source/$part"
done
rm -rf "$work"
