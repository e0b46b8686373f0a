#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make_fuzz_engines.sh BESSEMER: makes those seeds of fuzz/corpus/engine that are
# programs, again after a change of their layout. Engines without programs only
# have another version then, which the fuzz target writes itself.
set -eu
bessemer=$(realpath "$1")
cd "$(dirname "$0")/fuzz_engines"
make() {
  "$bessemer" compile "$1.ir" -o "../../../fuzz/corpus/engine/$1.engine" \
    --no-timing "$2"
}
make branch '(1,4)'
make range '[(1,4);(2,4);(8,4)]'
make results '(1,4)'
