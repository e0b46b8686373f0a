#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# calibrate_test.sh BESSEMER SOURCES: calibrating and compiling in int8 as a user
# does it, what is refused, and the commands of docs/quantization.md.
set -u
bessemer=$1
digits=$2/examples/digits
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0
. "$2/tests/tools/cli_kit.sh"

# right: how many answers were right, of the line about the accuracy in `out`.
right() {
  sed -n 's/^accuracy: .* (\([0-9]*\) of .*/\1/p' out
}

# zeros COUNT: so many bytes.
zeros() {
  dd if=/dev/zero bs=1 count="$1" 2>/dev/null
}

# npy DTYPE SHAPE: the first 128 bytes of a file of an array.
npy() {
  printf '\223NUMPY\001\000v\000%-117s\n' \
    "{'descr': '$1', 'fortran_order': False, 'shape': $2, }"
}

# Usage.
expect 0 "Usage: bessemer calibrate" calibrate --help
expect 2 "no output given" calibrate "$digits/digits.ts" --data .
expect 2 "no data given" calibrate "$digits/digits.ts" -o x.calib
expect 2 "not entropy, min-max" calibrate x -o y --data . --calibrator best
expect 2 "--percentile: '101'" calibrate x -o y --data . --percentile 101
expect 2 "--max-loss: '-1'" calibrate x -o y --data . --max-loss -1
expect 2 "--max-batches: '0'" calibrate x -o y --data . --max-batches 0

# The digits: every calibrator keeps nine answers of ten thousand.
expect 0 "accuracy" run "$digits/digits.ts" --labels "$digits/digits_labels.npy" \
  --input "$digits/digits_images.npy"
plain=$(right)
for calibrator in entropy min-max percentile mse; do
  for more in "" --equalize --dynamic-products; do
    expect 0 "5 of 5 layers in int8" calibrate "$digits/digits.ts" \
      --data "$digits/digits_images.npy" -o d.calib --max-batches 100 \
      --calibrator $calibrator $more
    grep -q "^method $calibrator" d.calib || fail "another method"
    expect 0 "d.bsm:" compile "$digits/digits.ts" -o d.bsm --no-timing \
      "(360,1,8,8)" --precision int8 --calibration d.calib
    expect 0 "accuracy" run d.bsm --input "$digits/digits_images.npy" \
      --labels "$digits/digits_labels.npy"
    [ $((plain - $(right))) -le 1 ] ||
      fail "$calibrator $more: $(right) answers are right, not $plain"
  done
done
expect 0 "options.calibration: mse, 100 batches" inspect d.bsm

# The same in fp8, which this machine computes in float.
expect 0 ", in fp8" calibrate "$digits/digits.ts" -o d.calib \
  --data "$digits/digits_images.npy" --precision fp8 --measure-layers
expect 0 "d.bsm:" compile "$digits/digits.ts" -o d.bsm --no-timing \
  "(360,1,8,8)" --precision fp8 --calibration d.calib --target cpu:scalar
grep -q "no products in fp8" err || fail "no warning of fp8"
expect 0 "accuracy" run d.bsm --input "$digits/digits_images.npy" \
  --labels "$digits/digits_labels.npy"
[ $((plain - $(right))) -le 1 ] ||
  fail "fp8: $(right) answers are right, not $plain"

# A file is the same for the same data, and the engine that is built with it.
for i in 1 2; do
  expect 0 "" calibrate "$digits/digits.ts" -o $i.calib --max-batches 10 \
    --data "$digits/digits_images.npy" --tensorrt $i.cache --report $i.json \
    --measure-layers
  expect 0 "" compile "$digits/digits.ts" -o $i.bsm --no-timing --precision int8 \
    --calibration $i.calib
done
cmp -s 1.calib 2.calib || fail "two calibrations differ"
cmp -s 1.bsm 2.bsm || fail "two engines differ"
for key in layer kind module computes input low high sqnr loss operations; do
  [ "$(grep -c "\"$key\": " 1.json)" -ge 5 ] || fail "no $key in the report"
done
grep -q "^TRT-[0-9]*-EntropyCalibration2$" 1.cache || fail "no cache"
expect 0 "t.bsm:" compile "$digits/digits.ts" -o t.bsm \
  --no-timing --precision int8 --calibration 1.cache --info \
  --target cpu:avx2,vnni=yes
grep -q "5 layers compute in int8" err || fail "TensorRT's cache is of no use"

# Where int8 is slower nothing is quantized, unless the engine is to be small.
expect 0 "n.bsm:" compile "$digits/digits.ts" -o n.bsm --info \
  --no-timing --precision int8 --calibration 1.calib --target cpu:avx512,vnni=no
grep -q "5 layers stay in fp32, which is faster" err ||
  fail "layers are slower in int8"
[ "$(grep -c "stays in fp32: int8 is expected to take" err)" = 5 ] ||
  fail "the layers do not tell why they stay in fp32"
expect 0 "n.bsm:" compile "$digits/digits.ts" -o n.bsm --info --prefer-size \
  --no-timing --precision int8 --calibration 1.calib --target cpu:avx512,vnni=no
grep -q "5 layers compute in int8" err || fail "the engine is not small"

# The search leaves some layers in float32.
expect 0 "layers in int8" calibrate "$digits/digits.ts" -o s.calib \
  --data "$digits/digits_images.npy" --max-loss 0.0008 --max-batches 50
grep -q "^fp32" out || fail "nothing was left in float32"
grep -q "^int8" out || fail "everything was left in float32"
grep -q "^layer .* fp32 " s.calib || fail "the file does not have it"
expect 0 "5 of 5 layers in int8" calibrate "$digits/digits.ts" -o s.calib \
  --data "$digits/digits_images.npy" --max-loss 0.005 \
  --labels "$digits/digits_labels.npy"
mkdir twice
cp "$digits/digits_images.npy" twice/a.npy
cp "$digits/digits_images.npy" twice/b.npy
expect 1 "there are 360 labels" calibrate "$digits/digits.ts" -o s.calib \
  --data twice --max-loss 0.005 --labels "$digits/digits_labels.npy"

# Data that is of no use.
mkdir empty some
expect 1 "there is no calibration data" calibrate "$digits/digits.ts" \
  -o x.calib --data empty
expect 1 "none: No such file" calibrate "$digits/digits.ts" -o x.calib \
  --data none
{ npy '<f4' '(1, 1, 8, 8)' && zeros 252 && printf '\000\000\300\177'; } \
  >some/nan.npy
expect 1 "value 63 is NaN" calibrate "$digits/digits.ts" -o x.calib --data some
grep -q "in batch 0" err || fail "the batch is not named"
{ npy '<f4' '(1, 1, 8, 8)' && zeros 256; } >some/nan.npy
expect 0 "layers in int8" calibrate "$digits/digits.ts" -o z.calib --data some
grep -q "x is zero in all calibration data" err || fail "no warning of zeros"
{ npy '<f8' '(1, 1, 8, 8)' && zeros 512; } >some/nan.npy
expect 1 "is float64" calibrate "$digits/digits.ts" -o x.calib --data some
{ npy '<f4' '(1, 1, 8, 7)' && zeros 224; } >some/nan.npy
expect 1 "[1, 1, 8, 7]" calibrate "$digits/digits.ts" -o x.calib --data some
printf 'nothing' >some/nan.npy
expect 1 "in some/nan.npy" calibrate "$digits/digits.ts" -o x.calib --data some
[ ! -e x.calib ] || fail "x.calib was left behind"

# Models and calibrations that do not belong together.
cat >whole.ir <<'END'
graph(%x : Long(2, 3)):
  %y : Tensor = aten::mul(%x, %x)
  return (%y)
END
{ npy '<i8' '(2, 3)' && zeros 48; } >some/nan.npy
expect 1 "no layer that int8 could compute" calibrate whole.ir -o x.calib \
  --data some
expect 1 "the calibration is of another model" compile whole.ir -o x.bsm \
  --precision int8 --calibration 1.calib
expect 1 "precisions do not allow int8" compile "$digits/digits.ts" -o x.bsm \
  --calibration 1.calib
expect 1 "not a calibration" compile "$digits/digits.ts" -o x.bsm \
  --precision int8 --calibration whole.ir
expect 1 "takes shapes that are fixed" compile "$digits/digits.ts" -o x.bsm \
  --precision int8 --calibration 1.calib "[(1,1,8,8);(4,1,8,8);(8,1,8,8)]"
[ ! -e x.bsm ] || fail "x.bsm was left behind"

# The commands of the page on the digits: lines of its blocks.
ln -s "$digits/digits.ts" "$digits/digits_qat.ts" \
  "$digits/digits_images.npy" "$digits/digits_labels.npy" .
sed -n '/^## The digits, step/,/^## Data/s/^    bessemer /bessemer /p' \
  "$2/docs/quantization.md" >commands
[ "$(wc -l <commands)" -ge 9 ] || fail "there are no commands in the page"
while read -r line; do
  # shellcheck disable=SC2086
  eval "set -- ${line#bessemer }"
  "$bessemer" "$@" >out 2>err </dev/null || fail "of the page: $line"
done <commands
# The last one runs the network that was trained for int8.
[ "$(right)" -ge $((plain - 1)) ] || fail "$(right) answers are right"
expect 1 "no layer that int8 could compute" calibrate digits_qat.ts -o x.calib \
  --data digits_images.npy

[ $failures -eq 0 ] && echo "calibrate_test: ok"
exit $((failures > 0))
