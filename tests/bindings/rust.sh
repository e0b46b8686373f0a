#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rust.sh BUILD_DIR SOURCES CC: builds the crates without a network against the
# shared libraries of the build folder, and runs their tests and the example.
# Exits with 77 where there is no Rust.
set -eu
build=$1 sources=$2 cc=$3
command -v cargo >/dev/null 2>&1 || {
  echo "skipped: no cargo (Debian: apt-get install cargo)"
  exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Cargo writes beside Cargo.toml.
cp -r "$sources/bindings/rust" "$work/rust"
cd "$work/rust"
export BESSEMER_LIB_DIR="$build" LD_LIBRARY_PATH="$build"
export BESSEMER_SOURCE="$sources" BESSEMER_INCLUDE_DIR="$sources/include"
export CC="$cc" CARGO_TARGET_DIR="$work/target" RUSTFLAGS="-D warnings"
cargo test --offline --quiet >"$work/log" 2>&1 || {
  cat "$work/log"
  exit 1
}
# Of the runs that there were, none was of no test but the documentation's.
passed=$(sed -n 's/^test result: ok\. \([0-9]*\) passed.*/\1/p' "$work/log" |
  awk '{ sum += $1 } END { print sum + 0 }')
[ "$passed" -ge 6 ] || {
  cat "$work/log"
  echo "only $passed tests ran"
  exit 1
}
cargo run --offline --quiet --example digits -- "$sources/examples/digits" |
  tee "$work/output"
grep -qE "^35[0-9] of 360 are right" "$work/output"
# What only runs engines links the small library.
cargo build --offline --quiet --no-default-features -p bessemer
echo "rust: $passed tests passed"
