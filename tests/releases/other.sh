#!/bin/sh
# This tree on the other Debian release: built from nothing in a fresh root, with its tests, and a data
# directory that goes from this machine's build to that one and back, and the other way round.
#
#   tests/releases/other.sh build/VARIANT      of this machine, with a bigtentd and a bigtent
#
# Needs root, mmdebstrap, and a network for Debian's packages. mmdebstrap calls this script again, with the
# root's directory as a second argument, and removes the root when it has ended.
set -eu
cd "$(dirname "$0")/../.."
build=$(cd "${1:?usage: tests/releases/other.sh build/VARIANT}" && pwd)
root=${2-}

if [ -z "$root" ]; then
    case $(. /etc/os-release && echo "${VERSION_CODENAME-}") in
    trixie) other=bookworm ;;
    *) other=trixie ;;
    esac
    echo "other.sh: $other"
    exec mmdebstrap --quiet --variant=apt --include=make,ca-certificates --format=null \
        --customize-hook="tests/releases/other.sh $build \"\$1\"" "$other" -
fi

mount -o remount,rw "$root/proc" # threads get their names there
mkdir "$root/src" "$root/programs"
git ls-files -z | tar --null -T - -c | tar -x -C "$root/src"
env -u MAKEFLAGS -u MAKELEVEL chroot "$root" sh -c 'cd /src && make deps && make -j2 DEV=1 && make -j2 DEV=1 test'

# The root's programs run here, with the root's libraries.
loader=$(cd "$root" && ls -d "$PWD"/lib64/ld-linux-*.so.* "$PWD"/lib/ld-linux-*.so.* 2> /dev/null | head -n 1)
libraries=$(dirname "$(find "$root/usr/lib" -name libc.so.6 | head -n 1)")
for program in bigtentd bigtent; do
    printf '#!/bin/sh\nexec %s --library-path %s %s "$@"\n' "$loader" "$libraries" \
        "$root/src/build/release/$program" > "$root/programs/$program"
    chmod +x "$root/programs/$program"
done
tests/releases/exchange.sh "$build" "$root/programs"
tests/releases/exchange.sh "$root/programs" "$build"
