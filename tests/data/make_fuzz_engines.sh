#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make_fuzz_engines.sh BESSEMER: makes those seeds of fuzz/corpus/engine that are
# programs, again after a change of their layout. The others stay as format 8.0
# had them, which the fuzz target writes into their headers.
set -eu
bessemer=$(realpath "$1")
cd "$(dirname "$0")/fuzz_engines"
make() {
  name=$1
  shift
  "$bessemer" compile "$name.ir" -o "../../../fuzz/corpus/engine/$name.engine" \
    --no-timing --target cpu:avx2 "$@"
}
make branch '(1,4)'
make range '[(1,4);(2,4);(8,4)]'
make results '(1,4)'
make writes '(2,4)'
make region '[(1,4);(2,4);(8,4)]'
make regions --fallback-op=aten::matmul '[(2,2);(3,3);(4,4)]'
make convs '[(1,2,4,4);(1,2,6,6);(2,2,8,8)]'
