#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make_engine_seeds.sh BESSEMER OUT: compiles the models of
# tests/data/fuzz_engines into OUT: the seeds of engine_fuzz, in the format that
# this build writes. One is signed.
set -eu
bessemer=$1
out=$2
here=$(cd "$(dirname "$0")/.." && pwd)
models=$here/tests/data/fuzz_engines
mkdir -p "$out"
make() {
  name=$1
  shift
  make_as "$name" "$name" "$@"
}
make_as() { # engine model options...
  engine=$1 name=$2
  shift 2
  "$bessemer" compile "$models/$name.ir" -o "$out/$engine.engine" \
    --no-timing --target cpu:avx2 -t1 "$@" >"$out.log" 2>&1 || {
    cat "$out.log" >&2
    exit 1
  }
}
make attention '(1,2,4,8)' '(1,2,4,8)' '(1,2,4,8)'
make_as bfloat16 convs --precision=bf16 --prefer-size '(1,2,6,6)'
make branch '(1,4)'
make chain --target cpu:avx2,l2=1K '(1,4,6,6)' # as if its rows did not fit
make conv '(1,4,6,6)'
make convs '[(1,2,4,4);(1,2,6,6);(2,2,8,8)]'
make depthwise '(1,4,6,6)'
make embedding '(2,3)' '(4)@i64'
make found '(3,4)' '(3)'
make_as half convs --precision=fp16 --prefer-size '(1,2,6,6)'
make matmul '(2,3)' '(2,3)'
make quantized '(1,4,6,6)'
make range '[(1,4);(2,4);(8,4)]'
make recurrent '(2,1,4)'
make reference '(2,3)'
make region '[(1,4);(2,4);(8,4)]'
make regions --fallback-op=aten::matmul '[(2,2);(3,3);(4,4)]'
make results '(1,4)'
make rows '(2,3)'
make samples '(1,2,4,5)' '(1,3,2,2)' '(1,2,3,4,3)'
make scans '(2,5)'
make scatters '(3,4)' '(2,3)@i64' '(2,3)'
make writes '(2,4)'
key=$out.key # that nobody else may read
install -m 600 "$here/tests/data/trust/ed25519_secret.pem" "$key"
"$bessemer" sign --key="$key" -o "$out/signed.engine" "$out/matmul.engine"
