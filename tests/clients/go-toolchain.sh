# Sourced by the `run` of each Go program here, with TOOLS_DIR set: a Go that is new enough, and
# every cache of it inside TOOLS_DIR.
#
# Debian 12's Go is older than what the client libraries need. From 1.21 on, Go fetches the version
# go.mod names by itself; an older one is asked once to download that version as the module
# golang.org/toolchain, which the checksum database vouches for like any other module. Modules lose
# the permission to execute, so it is given back.

GOPATH=$TOOLS_DIR/gopath
GOMODCACHE=$GOPATH/pkg/mod
GOCACHE=$TOOLS_DIR/gocache
GOFLAGS='-modcacherw -mod=readonly'
GOTOOLCHAIN=auto
GOBIN=$TOOLS_DIR/bin
unset GOROOT
export GOPATH GOMODCACHE GOCACHE GOFLAGS GOTOOLCHAIN GOBIN
mkdir -p "$GOMODCACHE" "$GOCACHE" "$GOBIN"

toolchain=v0.0.1-go1.26.8.linux-$(go env GOARCH)

if ! go version | awk '{ split(substr($3, 3), v, "."); exit !(v[1] > 1 || v[2] >= 21) }'; then
    root=$GOMODCACHE/golang.org/toolchain@$toolchain
    if [ ! -x "$root/bin/go" ]; then
        # Outside of any module: an old Go cannot read the go.mod of this one.
        (cd "$TOOLS_DIR" && GOFLAGS=-modcacherw go mod download "golang.org/toolchain@$toolchain")
        find "$root/bin" "$root/pkg/tool" -type f -exec chmod +x {} +
    fi
    PATH=$root/bin:$PATH
    export PATH
fi
