#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# plugin_test.sh BESSEMER SOURCES: the example plug-in on the command line. It
# lies beside the command in the build folder.
set -u
bessemer=$1
plugin=$(dirname "$1")/swish_clamp.so
data=$2/tests/data/plugin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0
. "$2/tests/tools/cli_kit.sh"

# close A B: two .npy files of float32 differ by less than 1e-5.
close() {
  od -An -v -tf4 -w4 -j128 "$1" >a
  od -An -v -tf4 -w4 -j128 "$2" >b
  paste a b | awk '{ d = $1 - $2; if (d > 1e-5 || d < -1e-5) bad = 1 }
    END { exit bad || NR == 0 }' || fail "$1 and $2 differ"
}

expect 0 "model.bsm:" compile --plugin "$plugin" "$data/swish_model.ts" \
  -o model.bsm "(2,3,6,5)"
for threads in 1 2; do
  expect 0 "" run --plugin "$plugin" model.bsm --input "$data/swish_x.npy" \
    -o y.npy --threads $threads
  close y.npy "$data/swish_y.npy"
done
expect 0 "" run --plugin "$plugin" "$data/swish_model.ts" \
  --input "$data/swish_x.npy" -o direct.npy
close direct.npy "$data/swish_y.npy"
expect 0 "demo::swish_clamp" ops --plugin "$plugin" "$data/swish_model.ts" \
  "(2,3,6,5)"
expect 0 "demo::swish_clamp version 1" bench --plugin "$plugin" --profile \
  model.bsm --iterations 2

# Engines hold names, no paths.
grep -q swish_clamp.so model.bsm && fail "the engine names a path"

# Without the plug-in.
expect 1 "custom layer demo::swish_clamp version 1 is not registered" \
  run model.bsm --input "$data/swish_x.npy"
expect 0 "demo::swish_clamp version 1 (not registered" inspect model.bsm
expect 0 '"registered": false' inspect --json model.bsm
expect 0 "memory:" inspect --plugin "$plugin" model.bsm
expect 1 "operator 'demo::swish_clamp': a plug-in that has it must be given" \
  compile "$data/swish_model.ts" -o x.bsm "(2,3,6,5)"

# IR text, and the operator's own checks.
cat >op.txt <<'END'
graph(%x : Float(3)):
  %limit : float = prim::Constant[value=-1.]()
  %y : Tensor = demo::swish_clamp(%x, %limit)
  return (%y)
END
expect 1 "limit <= 0" compile --plugin "$plugin" op.txt -o x.bsm
sed -i 's/-1\./1./' op.txt
expect 0 "x.bsm:" compile --plugin "$plugin" op.txt -o x.bsm

# What is no plug-in.
expect 1 "cannot be opened" run --plugin missing.so model.bsm
expect 1 "cannot be opened" run --plugin "$data/swish_x.npy" model.bsm
expect 1 "registered already" run --plugin "$plugin" --plugin "$plugin" model.bsm

[ $failures -eq 0 ] || exit 1
echo ok
