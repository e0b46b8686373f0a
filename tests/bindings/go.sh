#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# go.sh BUILD_DIR SOURCES CC: builds the Go package without a network against
# the shared libraries of the build folder, and runs its tests. Exits with 77
# where there is no Go.
set -eu
build=$1 sources=$2 cc=$3
command -v go >/dev/null 2>&1 || {
  echo "skipped: no go (Debian: apt-get install golang-go)"
  exit 77
}
work=$(mktemp -d)
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT
# Compiled packages of Go itself are kept where the user has them.
[ -n "${HOME:-}" ] || export GOCACHE="$work/cache"
export GOPROXY=off GOFLAGS=-mod=mod GOPATH="$work/path" CGO_ENABLED=1 CC="$cc"
export CGO_CFLAGS="-I$sources/include" CGO_LDFLAGS="-L$build"
export LD_LIBRARY_PATH="$build" BESSEMER_SOURCE="$sources"
cp -r "$sources/bindings/go" "$work/go"
cd "$work/go"
[ -z "$(gofmt -l .)" ] || {
  gofmt -d .
  exit 1
}
go vet -tags nopkgconfig ./...
go test -tags nopkgconfig -count=1 ./...
