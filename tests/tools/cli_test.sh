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
. "$2/tests/tools/cli_kit.sh"

absent() {
  [ ! -e "$1" ] || fail "$1 was left behind"
}

# Usage.
expect 2 "Usage: bessemer COMMAND"
expect 2 "no command 'frob'" frob
expect 0 "bessemer compile" --help
expect 0 "bessemer 0." --version
expect 0 "cpu:" targets
grep -q "^cuda:" out || fail "no line about cuda"
expect 0 "Usage: bessemer compile" compile --help
expect 2 "no file given" run
expect 2 "no output given" compile "$digits/digits.ts"
expect 2 "a dtype expected" compile "$digits/digits.ts" -o x.bsm "(1)@f33"
expect 2 "no pass is called 'frob'" compile x -o y --dump-after frob
expect 2 "is not a number from 1" run x --threads 0
expect 2 "is none of native" run x --isa sse9
expect 2 "at column 4" compile x -o y --inputs '[1 2]'
expect 2 "no pass is called 'fold_scales', perhaps 'fold_scale'" \
  compile x -o y --dump-after fold_scales
expect 0 "optimized" compile --dump-after=list
[ -z "$(sort out | uniq -d)" ] || fail "--dump-after=list names a pass twice"

# Narrow dtypes.
cat >wide.ir <<'END'
graph(%x : Tensor, %n : Tensor):
  %one : int = prim::Constant[value=1]()
  %half : float = prim::Constant[value=0.5]()
  %y : Tensor = aten::mul(%x, %half)
  %m : Tensor = aten::add(%n, %one, %one)
  return (%y, %m)
END
expect 0 "wide.bsm:" compile wide.ir -o wide.bsm "(2,3)@f64" "(3)@i64" \
  --truncate-long-and-double --info
grep -q "input x: float64\[2, 3\] becomes float32" err || fail "no list in the log"
expect 0 "truncated: input x float64[2, 3]" inspect wide.bsm
cat >large.ir <<'END'
graph(%n : Tensor):
  %one : int = prim::Constant[value=1]()
  %big : int = prim::Constant[value=4294967296]()
  %m : Tensor = aten::add(%n, %big, %one)
  return (%m)
END
expect 0 "large.bsm:" compile large.ir -o large.bsm "(3)@i64"
expect 1 "is 4294967296, which does not fit int32" compile large.ir \
  -o large2.bsm "(3)@i64" --truncate
absent large2.bsm

# Names from files do not reach the terminal as they are.
escape=$(printf '\033')
cat >"odd${escape}[2J.ir" <<'END'
graph(%x : Float(2, 3)):
  %y : Tensor = aten::relu(%x)
  return (%y)
END
expect 0 "" compile --no-timing "odd${escape}[2J.ir" -o odd.bsm --info
expect 0 "odd?[2J.ir" inspect odd.bsm
expect 1 "none?[2J.ir" inspect "none${escape}[2J.ir"
if grep -q "$escape" out err; then fail "an escape sequence is printed"; fi

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
expect 0 "median_ms=" bench digits.bsm --iterations 3 --no-graphs
expect 0 "convolution" bench digits.bsm --iterations 3 --profile
expect 0 "peak: " bench digits.bsm --iterations 3 --profile
expect 0 '"gflops_per_s":' bench digits.bsm --iterations 3 --json --profile

# What each step does: untimed, and timed when built.
expect 0 "not timed when the engine was built" inspect --plan digits.bsm
expect 0 '"flops":' inspect --json digits.bsm
if "$bessemer" inspect --json digits.bsm | grep -q '"tried":'; then
  fail "an engine built without timing has trials"
fi
expect 0 "steps as timed when the engine was built" inspect --plan timed.bsm
expect 0 "tried: " inspect --plan timed.bsm
expect 0 '"tried":' inspect --json timed.bsm

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

# Structured arguments and results.
st=$data/structured/structured.ts
npz=$data/structured
expect 0 "methods: forward, " inspect "$st"
expect 0 "nested.bsm:" compile "$st" --method nested -o nested.bsm \
  --no-timing --inputs 'batch={"a": [f32[2,3], (1)], b: [(4)]}, scale=1.5'
expect 0 "  batch.a.1: float32 [1]" inspect nested.bsm
expect 0 '{"a_scaled": [Tensor -> 0, Tensor -> 1], "b_scaled": [Tensor -> 2]}' \
  inspect nested.bsm
expect 0 '"kind": "named_tuple"' inspect "$st" --json --method named \
  '(left=(2,2), right=(2,2))'
expect 0 "" run nested.bsm --input "$npz/nested_paths.npz" --output-dir paths \
  --named
[ -s paths/b_scaled.0.npy ] || fail "--named does not name by path"
expect 0 "" run nested.bsm --input "$npz/nested_paths.npz" --output-dir paths
[ -s paths/out_2.npy ] || fail "outputs lost their order"
expect 0 "out_2 (b_scaled.0) float32 [4]" run "$st" --method nested \
  --input "$npz/nested_paths.npz"
cmp -s paths/out_2.npy paths/b_scaled.0.npy || fail "two names, two results"
expect 0 "" run "$st" --method nested --input "$npz/nested_paths.npz" \
  --output-dir direct
cmp -s paths/out_2.npy direct/out_2.npy || fail "engine and model differ"
expect 0 "" run "$st" --method tuples --input "$npz/tuples_order.npz" -o y.npz
expect 0 "out_1 (output_1.difference) float32 [2, 3]" \
  run "$npz/traced.ts" --input "$npz/traced_order.npz"
expect 0 '"value": "used tanh"' run "$st" --method choose --json \
  --input "$npz/choose.npz" 'mode="tanh"'
expect 0 '"value": "used relu"' run "$st" --method choose --json \
  --input "$npz/choose_text.npz"
expect 1 "no array for parameter 'mode'" run "$st" --method choose \
  --input "$npz/choose.npz"
expect 1 "was fixed at 1.5" run nested.bsm --input "$npz/nested_other.npz"
# The same by number, when there is an array for each tensor and number.
cat >four.ir <<'END'
graph(%x : Tensor):
  %k : int = prim::Constant[value=4]()
  %t : (Tensor, int) = prim::TupleConstruct(%x, %k)
  return (%t)
END
cat >plus.ir <<'END'
graph(%x : Tensor, %n : int):
  %1 : int = prim::Constant[value=1]()
  %y : Tensor = aten::add(%x, %n, %1)
  return (%y)
END
expect 0 "" bench four.ir 'f32[2]' --iterations 1 --output-dir numbers
mv numbers/out_0.npy numbers/in_0.npy
mv numbers/out_1.npy numbers/in_1.npy
expect 0 "" compile plus.ir 'f32[2]' 4 --no-timing -o plus4.bsm
expect 0 "" run plus4.bsm --input-dir numbers
expect 0 "" compile plus.ir 'f32[2]' 3 --no-timing -o plus3.bsm
expect 1 "'n' was fixed at 3" run plus3.bsm --input-dir numbers
expect 1 "input \"batch.a.0\" is of type Tensor, given int 1" compile "$st" \
  --method nested -o x.bsm '{a: [1]}' 1.0
absent x.bsm
expect 0 "constant float32 [2, 2]" inspect "$st" --method optional '(2,2)' \
  "mask=@$npz/tuples_order.npz:square"
expect 1 "has no array 'round'" inspect "$st" --method optional '(2,2)' \
  "mask=@$npz/tuples_order.npz:round"
expect 1 "name one array" inspect "$st" --method optional '(2,2)' \
  "mask=@$npz/tuples_order.npz"

# Results that only a run tells: listed, saved, as JSON.
results=$data/results
expect 0 "" compile "$results/results.ts" -o mixed.bsm --method mixed '(3,3)'
expect 0 'result: (Tensor -> 0, List[Tensor] -> ?, int -> 1, "rows"' \
  inspect mixed.bsm
expect 0 '"type": "List[Tensor]"' inspect mixed.bsm --json
expect 0 "out_2 (output_1.1) float32 [3]" run mixed.bsm \
  --input "$results/rows.npz"
expect 0 '[Tensor -> 1, Tensor -> 2], int -> 3 = 2, "rows"' run mixed.bsm \
  --input "$results/rows.npz"
expect 0 '"name": "output_4.rows.1"' run mixed.bsm --json \
  --input "$results/rows.npz"
expect 0 "" run mixed.bsm --input "$results/rows.npz" --output-dir mixed
[ -s mixed/out_6.npy ] && [ ! -e mixed/out_7.npy ] || fail "wrong outputs"
expect 0 "" run mixed.bsm --input "$results/rows.npz" --named -o mixed.npz
grep -q "output_4.rows.0" mixed.npz || fail "no array of that path"
expect 1 "there are 2 outputs and an .npy holds one" run \
  "$results/results.ts" --method forward --input "$results/rows.npz" -o rows.npy
absent rows.npy
expect 0 '{"k0": ["w0", "z"]' run "$results/results.ts" --method maybe_dict \
  --input "$results/rows.npz"
expect 0 "throughput" bench mixed.bsm --iterations 1 --warmup 0
expect 0 "output_1: float32 [-1]" inspect "$results/results.ts" \
  --method chunks '[(1,2);(3,3);(8,6)]'

# Looking.
expect 0 "inputs:" inspect digits.bsm
expect 0 '"metadata": {' inspect digits.bsm --json
expect 0 "parameters:" inspect "$digits/digits.ts"
expect 0 "graph(" inspect "$digits/digits.ts" --dump-after input

# Each pass is listed, dumped when asked for, and in that order; a graph that
# writes to nothing is not asked what it writes to, and one that is not for a
# device what bounds its sizes or is complex.
"$bessemer" compile --dump-after=list >names
expect 0 "# fuse_epilogues" inspect "$digits/digits.ts" \
  $(sed 's/^/--dump-after /' names)
sed -n 's/^# //p' out >dumped
grep -vx -e resolve_writes -e own_memory -e bound_sizes -e split_complex names |
  cmp - dumped ||
  fail "not every pass was dumped, or not in the order of the list"
expect 0 "output " inspect "$digits/digits.ts" --dump-after fuse_epilogues
! grep -q "graph(" out || fail "a pass of the builder dumps a graph"
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
# Outputs that are no files, and a limit on their size, which is no signal.
mkfifo pipe.bsm
expect 1 "not a regular file" compile "$digits/digits.ts" --no-timing -o pipe.bsm
[ -p pipe.bsm ] || fail "the pipe was replaced"
rm pipe.bsm
(ulimit -f 4 && "$bessemer" compile "$digits/digits.ts" --no-timing -o limited.bsm) \
  >out 2>err
[ $? -eq 1 ] || fail "a file above the limit of the shell is no error"
grep -q "File too large" err || fail "it does not say that the file is too large"
[ -z "$(ls limited.bsm* 2>/dev/null)" ] || fail "a part of a file was left"

echo "cli_test: $failures failures"
[ $failures -eq 0 ]
