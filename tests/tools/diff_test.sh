#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# diff_test.sh BESSEMER SOURCES: bessemer diff finds the one layer of fifty whose
# weights differ, from both sides, in models, engines and arrays.
set -u
bessemer=$1
digits=$2/examples/digits
data=$2/tests/data
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0
. "$2/tests/tools/cli_kit.sh"

# Fifty layers; their weights are arrays that another graph computes.
awk 'BEGIN {
  file = "net.ir"
  printf "graph(%%x : Float(4, 16)" >file
  for (i = 0; i < 50; i++) printf ", %%out_%d : Float(16, 16)", i >file
  print "):" >file
  print "  %y0 : Tensor = aten::tanh(%x) # net.py:1:0" >file
  for (i = 0; i < 50; i++) {
    printf "  %%p%d : Tensor = aten::matmul(%%y%d, %%out_%d) # net.py:%d:0\n", \
      i + 1, i, i, 10 * (i + 1) >file
    printf "  %%y%d : Tensor = aten::tanh(%%p%d) # net.py:%d:0\n", i + 1, \
      i + 1, 10 * (i + 1) + 1 >file
  }
  print "  return (%y50)" >file
  for (odd = 0; odd < 2; odd++) {
    file = odd ? "odd.ir" : "weights.ir"
    print "graph(%x : Float(16, 16)):" >file
    print "  %one : int = prim::Constant[value=1]()" >file
    print "  %little : float = prim::Constant[value=0.01]()" >file
    for (i = 0; i < 50; i++) {
      printf "  %%f%d : float = prim::Constant[value=%d.5]()\n", i, i >file
      printf "  %%a%d : Tensor = aten::add(%%x, %%f%d, %%one)\n", i, i >file
      printf "  %%s%d : Tensor = aten::sin(%%a%d)\n", i, i >file
      if (odd && i == 23) {
        printf "  %%t%d : Tensor = aten::add(%%s%d, %%little, %%one)\n", i, \
          i >file
      }
    }
    printf "  return (" >file
    for (i = 0; i < 50; i++) {
      printf "%s%%%s%d", i ? ", " : "", odd && i == 23 ? "t" : "s", i >file
    }
    print ")" >file
  }
}'
cat >numbers.ir <<'END'
graph():
  %end : int = prim::Constant[value=256]()
  %none : NoneType = prim::Constant()
  %six : int = prim::Constant[value=6]()
  %sizes : int[] = prim::Constant[value=[16, 16]]()
  %four : int[] = prim::Constant[value=[4, 64]]()
  %a : Tensor = aten::arange(%end, %six, %none, %none, %none)
  %b : Tensor = aten::reshape(%a, %sizes)
  return (%b)
END
expect 0 "" run numbers.ir -o x.npy
sed 's/=256/=64/; s/=\[16, 16\]/=[4, 16]/' numbers.ir >numbers4.ir
expect 0 "" run numbers4.ir -o x4.npy
expect 0 "" run weights.ir --input x.npy -o good.npz
expect 0 "" run odd.ir --input x.npy -o bad.npz
expect 0 "" compile net.ir -o good.bsm "(4,16)" --weights good.npz --no-timing
expect 0 "" compile net.ir -o bad.bsm "(4,16)" --weights bad.npz --no-timing

# finds ARGUMENT...: layer 24 departs, and the report names its line.
finds() {
  expect 3 "" diff "$@"
  grep -q "the first is that of p24 + y24$" out || fail "not layer 24: $*"
  grep -q "before it, p23 + y23 agrees" out || fail "no layer before: $*"
  grep -q "aten::matmul -> %p24 at net.py:240" out || fail "no line: $*"
}
expect 0 "no layer departs" diff good.bsm good.bsm
expect 0 "no layer departs" diff net.ir good.bsm --weights good.npz
expect 0 "no layer departs" diff net.ir --inputs "f32[4,16]" \
  --weights good.npz --reference
finds good.bsm bad.bsm
finds bad.bsm good.bsm
finds net.ir bad.bsm --weights good.npz
finds bad.bsm net.ir --weights good.npz
finds net.ir bad.bsm --weights good.npz --reference
expect 0 "no layer departs" diff good.bsm bad.bsm --tolerance 3

# Machines read it, too.
expect 3 '"first": 24,' diff good.bsm bad.bsm --json
grep -q '"source": "net.py:240"' out || fail "JSON lacks the source"
expect 3 "" diff good.bsm bad.bsm --html report.html
grep -q '"first": 24,' report.html || fail "the page lacks its data"
grep -q "http" report.html && grep "http" report.html | grep -qv "w3.org" &&
  fail "the page reads from a network"

# Arrays that PyTorch has written, named as submodules, in a model of batch
# norms and activations that are fused into convolutions.
torch=$data/tools/digits_activations.npz
expect 0 "" compile "$digits/digits.ts" -o digits.bsm --no-timing
expect 0 "no layer departs" diff "$torch" digits.bsm --all
for module in features.2 features.5 features.6 classifier.2 classifier.4; do
  grep -q "$module\$" out || fail "$module was not compared"
done
expect 0 "no layer departs" diff digits.bsm "$torch"
expect 0 "no layer departs" diff "$torch" "$digits/digits.ts"
expect 3 "the first is that of features.0" diff "$torch" digits.bsm \
  --tolerance 1e-12

# What cannot be compared.
expect 1 "is no model" diff good.bsm
expect 1 "two files of arrays" diff "$torch" "$torch"
expect 1 "neither file is a model" diff good.bsm bad.bsm --reference
expect 1 "no value in common" diff good.npz good.bsm --input x4.npy
expect 2 "is not a number above 0" diff good.bsm bad.bsm --tolerance x
exit $failures
