#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# cli_test.sh BESSEMER SOURCES: the command as a user sees it: results, exit
# codes, messages, and no files left behind by failures.
set -u
bessemer=$1
digits=$2/examples/digits
data=$2/tests/data
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

fail() {
  echo "FAILED: $*"
  sed 's/^/  out: /' out | head -20
  sed 's/^/  err: /' err | head -20
  failures=$((failures + 1))
}

# expect CODE TEXT ARGUMENT...: the command exits with CODE and prints TEXT, on
# the standard output when CODE is 0, else on the standard error alone.
expect() {
  code=$1 text=$2
  shift 2
  "$bessemer" "$@" >out 2>err
  got=$?
  [ $got -eq "$code" ] || fail "exit code $got, not $code: $*"
  if [ "$code" -eq 0 ]; then stream=out; else stream=err; fi
  [ -z "$text" ] || grep -qF -e "$text" $stream || fail "no '$text': $*"
}
absent() {
  [ ! -e "$1" ] || fail "$1 was left behind"
}

# Usage.
expect 2 "Usage: bessemer COMMAND"
expect 2 "no command 'frob'" frob
expect 0 "bessemer compile" --help
expect 0 "bessemer 0." --version
expect 0 "Usage: bessemer compile" compile --help
expect 2 "no file given" run
expect 2 "no output given" compile "$digits/digits.ts"
expect 2 "a dtype expected" compile "$digits/digits.ts" -o x.bsm "(1)@f33"
expect 2 "no pass is called 'frob'" compile x -o y --dump-after frob
expect 2 "is not a number from 1" run x --threads 0
expect 2 "is none of native" run x --isa sse9
expect 2 "exclude each other" compile x -o y --inputs-from z "(1)"
expect 0 "optimized" compile --dump-after=list
[ -z "$(sort out | uniq -d)" ] || fail "--dump-after=list names a pass twice"

# Compiling and running.
expect 0 "digits.bsm:" compile "$digits/digits.ts" -o digits.bsm --no-timing
expect 0 "again.bsm:" compile "$digits/digits.ts" -o again.bsm --no-timing
cmp -s digits.bsm again.bsm || fail "two builds without timing differ"
expect 0 "timed.bsm:" compile "$digits/digits.ts" -o timed.bsm "(4,1,8,8)"
images=$digits/digits_images.npy
expect 0 "out_0 float32 [360, 10]" run "$digits/digits.ts" --input "$images"
for threads in 1 2; do
  expect 0 "" run "$digits/digits.ts" --input "$images" --threads $threads \
    --output "y$threads.npy"
done
cmp -s y1.npy y2.npy || fail "one thread and two give different bits"
expect 0 "# 359" run "$digits/digits.ts" --input "$images" --top 1
expect 0 "" run "$digits/digits.ts" --input "$images" --isa scalar -o y.npz
mkdir in
cp "$images" in/in_0.npy
expect 0 "median_ms=" bench "$digits/digits.ts" --input-dir in --output-dir . \
  --iterations 3 --threads 1 --no-timing
[ -s out_0.npy ] || fail "bench wrote no output"
expect 0 '"median_ms":' bench digits.bsm --iterations 3 --json --profile
expect 0 "convolution" bench digits.bsm --iterations 3 --profile

# IR text: weights by name, a number from a 0-d array.
ir=$data/tools
expect 0 "" run "$ir/linear.ir" --input "$ir/linear_inputs.npz" \
  --weights "$ir/linear_weights.npz" -o linear.npy
cmp -s linear.npy "$ir/linear_output.npy" || fail "linear.ir differs from NumPy"
expect 0 "linear.bsm:" compile "$ir/linear.ir" "(3,4)" 2 -o linear.bsm \
  --weights "$ir/linear_weights.npz"
expect 0 "" run linear.bsm --input "$ir/linear_inputs.npz" -o again.npy
cmp -s again.npy "$ir/linear_output.npy" || fail "linear.bsm differs from NumPy"
expect 1 "no array for parameter 'w'" run "$ir/linear.ir" \
  --input "$ir/linear_inputs.npz"

# Looking.
expect 0 "inputs:" inspect digits.bsm
expect 0 '"metadata": {' inspect digits.bsm --json
expect 0 "parameters:" inspect "$digits/digits.ts"
expect 0 "graph(" inspect "$digits/digits.ts" --dump-after input
expect 0 "aten::relu" ops
expect 0 "aten::_convolution" ops "$digits/digits.ts"
expect 0 '"schema":' ops --json

# What goes wrong is said, and leaves nothing behind.
expect 1 "/nonexistent.ts" compile /nonexistent.ts -o x.bsm
absent x.bsm
expect 1 "/nonexistent/x.bsm" compile "$digits/digits.ts" -o /nonexistent/x.bsm
expect 1 "holds data" inspect "$images"
[ ! -s out ] || fail "inspect calls an array a model"
head -c 1000 "$digits/digits.ts" >cut.ts
expect 1 "cut.ts" compile cut.ts -o x.bsm
absent x.bsm
head -c 1000 digits.bsm >cut.bsm
expect 1 "cut.bsm" run cut.bsm --input "$images"
expect 1 "[1, 1, 8, 8]" run digits.bsm --input "$images" -o z.npy
absent z.npy
expect 1 "no array for" run digits.bsm
expect 1 "float64" run digits.bsm --input "$data/npy/float64.npy"
expect 1 "/nonexistent/y.npy" run "$digits/digits.ts" --input "$images" \
  -o /nonexistent/y.npy
cp "$digits/digits.ts" model.ts
expect 1 "would replace" compile model.ts -o ./model.ts
cmp -s "$digits/digits.ts" model.ts || fail "the model was replaced"
expect 1 "would replace" run model.ts --input in/in_0.npy -o in/in_0.npy
cmp -s "$images" in/in_0.npy || fail "the input was replaced"
expect 0 "" run model.ts --input "$images" --output-dir new
[ -s new/out_0.npy ] || fail "--output-dir was not made"
expect 0 "" bench timed.bsm "(9,9)" --iterations 1 --warmup 0
grep -q "no use for input specs" err || fail "no warning of useless specs"
expect 1 "in_0.npy" bench digits.bsm --input-dir /nonexistent
"$bessemer" inspect digits.bsm >/dev/full 2>err
[ $? -eq 1 ] || fail "a full standard output is not noticed"

echo "cli_test: $failures failures"
[ $failures -eq 0 ]
