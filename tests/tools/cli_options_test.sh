#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# cli_options_test.sh BESSEMER SOURCES: each option reaches what it is for, by
# itself and beside others. (Other compilers of models have had one option hang
# on another, and read the number of one from the flag of the next.)
set -u
bessemer=$1
digits=$2/examples/digits
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

# shows TEXT ARGUMENT...: the command succeeds and prints TEXT.
shows() {
  text=$1
  shift
  "$bessemer" "$@" >out 2>&1 || { echo "FAILED: $*"; cat out; failures=$((failures + 1)); }
  grep -qF -e "$text" out && return
  echo "FAILED: no '$text': $*"
  head -20 out
  failures=$((failures + 1))
}
lacks() {
  text=$1
  shift
  "$bessemer" "$@" >out 2>&1
  grep -qF -e "$text" out || return
  echo "FAILED: '$text' is printed: $*"
  failures=$((failures + 1))
}

"$bessemer" compile "$digits/digits.ts" -o digits.bsm --no-timing >out 2>&1 ||
  { cat out; exit 1; }

# Numbers, each option alone and all together, in either order.
shows '"iterations": 3' bench digits.bsm --iterations 3 --json
shows '"threads": 2' bench digits.bsm --iterations 1 --threads 2 --json
shows '"iterations": 4' bench digits.bsm --warmup 0 --iterations 4 --threads 1 \
  --json
shows '"threads": 1' bench digits.bsm --threads 1 --iterations 4 --warmup 2 \
  --json

# Flags need no other flag beside them, and set nothing else.
shows "convolution" bench digits.bsm --iterations 1 --profile
lacks "convolution" bench digits.bsm --iterations 1
shows "graph(" compile "$digits/digits.ts" -o x.bsm --no-timing \
  --dump-after input
lacks "graph(" compile "$digits/digits.ts" -o x.bsm --no-timing
shows "scalar" bench digits.bsm --iterations 1 --isa scalar --profile

# Packages of torch.export with several models, and programs with state.
exported=$2/tests/data/exported
lacks "float32" inspect "$exported/two.pt2"
grep -qF '"first", "second"' out ||
  { echo "FAILED: the models are not named"; failures=$((failures + 1)); }
shows "float32 [2]" inspect "$exported/two.pt2" --model second
shows "float32 [2]" inspect "$exported/default.pt2"
lacks "state.count" inspect "$exported/functional.pt2"
shows "state.count" inspect "$exported/functional.pt2" --state-as-output
shows "no use for --model" inspect digits.bsm --model first

# What is left to the reference library, and what is too small.
model=$2/tests/data/compiler/options.ts
shows "5 aten_call" inspect "$model" "(2,8)" --fallback-op aten::relu \
  --fallback-op aten::add.Tensor
shows "options.fallback_ops: aten::relu, aten::add.Tensor" inspect "$model" \
  "(2,8)" --fallback-op aten::relu --fallback-op aten::add.Tensor
lacks "aten_call" inspect "$model" "(2,8)"
shows "3 aten_call" inspect "$model" "(2,8)" --fallback-module backbone.layer1
shows "6 aten_call" inspect "$model" "(2,8)" --fallback-module Block
shows "segment 2" inspect "$model" "(2,8)" --method steps --plan
lacks "segment 2" inspect "$model" "(2,8)" --method steps --plan \
  --min-block-size 3
shows "options.min_block_size: 3" inspect "$model" "(2,8)" --method steps \
  --min-block-size 3
lacks "compiled in" compile "$model" "(2,8)" --method steps -o z.bsm \
  --require-full-compilation
shows "left to the reference library by the option aten::relu" ops "$model" \
  "(2,8)" --fallback-op aten::relu
shows '"reference_calls": 3' ops "$model" "(2,8)" --fallback-op aten::relu --json
"$bessemer" ops "$model" "(2,8)" --method gradient >out 2>&1
[ $? -eq 1 ] && grep -q "refused .*aten::_standard_gamma_grad" out ||
  { echo "FAILED: ops of a model that does not compile"; failures=$((failures + 1)); }

# Names that nothing has are refused, with those that were meant.
refuses() {
  text=$1
  shift
  "$bessemer" "$@" >out 2>&1
  [ $? -eq 1 ] && grep -qF -e "$text" out && return
  echo "FAILED: not refused with '$text': $*"
  head -20 out
  failures=$((failures + 1))
}
for command in ops inspect; do
  refuses "near are aten::relu," $command "$model" "(2,8)" --fallback-op aten::relue
  refuses "near is aten::relu" $command "$model" "(2,8)" --torch-executed-op relu
  refuses "near are aten::add.Tensor," $command "$model" "(2,8)" \
    --fallback-op aten::add.Tensr
  refuses "near are backbone.layer1 and backbone.layer2" $command "$model" "(2,8)" \
    --fallback-module backbone.layr1
  refuses "near are Linear and" $command "$model" "(2,8)" --torch-executed-mod nn.Linear
done

# What layers compute in: recorded, shown, and refused by name.
shows ") in fp32" inspect "$model" "(2,8)" --plan
shows "copy(" inspect "$2/tests/data/models/dense-trace.ts" --plan # which only moves
grep -q "copy(t[0-9]*) in" out &&
  { echo "FAILED: a copy computes"; failures=$((failures + 1)); }
shows "options.precisions: fp16,bf16" inspect "$model" "(2,8)" \
  --precision bf16,fp16
shows ") in bf16" inspect "$model" "(2,8)" --plan --precision bf16 --target cpu:amx
shows "bf16 is not faster on the target cpu:avx512," inspect "$model" "(2,8)" \
  --precision bf16 --target cpu:avx512
shows "precision tf32 is allowed, but the target cpu:" inspect "$model" "(2,8)" \
  --precision tf32
lacks "warning" inspect "$model" "(2,8)" --precision fp32
shows "options.module_precisions: backbone.layer1=fp32" inspect "$model" "(2,8)" \
  --module-precision backbone.layer1=fp32 --obey-precision
shows "it is computed in fp32" inspect "$model" "(2,8)" \
  --layer-precision "*aten::linear*=tf32"
refuses "aten::linear*=tf32\": the target cpu:" inspect "$model" "(2,8)" \
  --layer-precision "*aten::linear*=tf32" --obey-precision
refuses "precision \"nothing*=fp32\": no layer" inspect "$model" "(2,8)" \
  --layer-precision "nothing*=fp32"
refuses "near are backbone.layer1 and backbone.layer2" inspect "$model" "(2,8)" \
  --module-precision backbone.layr1=fp32
for wrong in --precision=fp12 --layer-precision=x --module-precision==fp16; do
  "$bessemer" inspect "$model" "(2,8)" $wrong >out 2>&1 &&
    { echo "FAILED: $wrong is taken"; failures=$((failures + 1)); }
done

# Limits: of unrolling, of a graph, of a run.
cat >turns.ir <<'END'
graph(%x : Tensor):
  %n : int = prim::Constant[value=200]()
  %t : bool = prim::Constant[value=1]()
  %y : Tensor = prim::Loop(%n, %t, %x)
    block0(%i : int, %a : Tensor):
      %b : Tensor = aten::sin(%a)
      -> (%t, %b)
  return (%y)
END
lacks "= loop(" inspect turns.ir "(2,8)" --plan
shows "= loop(" inspect turns.ir "(2,8)" --plan --max-loop-trips 199
shows "options.max_loop_trips: 199" inspect turns.ir "(2,8)" --max-loop-trips 199
shows "at turns.ir:4 becomes one of the engine: unrolled, it goes beyond the limit max_loop_trips" \
  inspect turns.ir "(2,8)" --info --max-loop-trips 199
lacks "= loop(" inspect turns.ir "(2,8)" --plan --max-loop-trips 200
shows "= loop(" inspect turns.ir "(2,8)" --plan --max-unrolled-nodes 100
shows "options.max_unrolled_nodes: 100" inspect turns.ir "(2,8)" \
  --max-unrolled-nodes 100
refuses "the limit max_nodes" inspect turns.ir "(2,8)" --max-nodes 100
"$bessemer" compile turns.ir "(2,8)" -o turns.bsm --max-loop-trips 199 >out 2>&1 ||
  { cat out; failures=$((failures + 1)); }
shows "mean" bench turns.bsm --iterations 1 --max-instructions 500
refuses "max_instructions" bench turns.bsm --iterations 1 --max-instructions 100
refuses "max_run_bytes" bench turns.bsm --iterations 1 --max-run-bytes 8
shows "no use for --max-nodes" bench turns.bsm --iterations 1 --max-nodes 100

# What was narrowed is recorded, and that it was asked for.
shows "options.truncate_long_and_double: yes" inspect "$model" "(2,8)" --truncate
lacks "truncate" inspect "$model" "(2,8)"

# An option that does not exist is no prefix of luck: it is refused.
for option in --calibration-cache=x --dla-core=1; do
  "$bessemer" compile "$digits/digits.ts" -o y.bsm $option >out 2>&1
  [ $? -eq 2 ] && [ ! -e y.bsm ] && continue
  echo "FAILED: $option is accepted"
  failures=$((failures + 1))
done

# Lines of the source are in an engine unless they are left out; submodules stay.
shows "whole.bsm: 9 steps" compile "$digits/digits.ts" -o whole.bsm --no-timing
shows "strip.bsm: 9 steps" compile "$digits/digits.ts" -o strip.bsm \
  --no-timing --strip
grep -q "conv\.py:" whole.bsm || {
  echo "FAILED: no line of the source in an engine"
  failures=$((failures + 1))
}
! grep -q "\.py" strip.bsm && grep -q "(features\.3)" strip.bsm || {
  echo "FAILED: --strip"
  failures=$((failures + 1))
}

# The same weights make the same engine, by the options that it was built with.
shows "again.bsm: 9 steps with new weights" refit "$digits/digits.ts" \
  --engine digits.bsm -o again.bsm --no-timing
cmp -s digits.bsm again.bsm || { echo "FAILED: refit"; failures=$((failures + 1)); }
"$bessemer" refit "$digits/digits.ts" --engine digits.bsm -o again.bsm \
  --prefer-size >out 2>&1 && { echo "FAILED: refit with other options"; failures=$((failures + 1)); }
grep -q "give the options that it was built with" out ||
  { echo "FAILED: refit says why"; cat out; failures=$((failures + 1)); }

# The seed of what a run draws: PyTorch's numbers, and the same each time.
draws=$2/tests/data/draws/draws.ts
noise() {
  "$bessemer" run "$draws" "(4,4)" --method of_sizes --input "$work/ones.npy" \
    "$@" >out 2>&1 || { echo "FAILED: run $*"; cat out; failures=$((failures + 1)); }
  cat out
}
printf '\223NUMPY\001\000\166\000%-117s\n' \
  "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 4), }" >ones.npy
head -c 64 /dev/zero >>ones.npy
[ "$(noise)" = "$(noise --seed 0)" ] && [ "$(noise)" != "$(noise --seed 7)" ] &&
  [ "$(noise --seed 7)" = "$(noise --seed 7)" ] ||
  { echo "FAILED: --seed"; failures=$((failures + 1)); }

# Each command's help has examples, of commands and options that there are.
commands=$("$bessemer" --help | awk '/^  bessemer / { print $2 }')
[ "$(echo "$commands" | wc -l)" -ge 17 ] ||
  { echo "FAILED: commands: $commands"; failures=$((failures + 1)); }
for command in $commands; do
  shows "Example" "$command" --help
  tr '|' '\n' <out | sed -n 's/^.*  *\(bessemer [a-z-]* \)/\1/p' |
    grep -v '^bessemer [a-z-]* \[' >examples
  while read -r _ used rest; do
    for word in --help $rest; do
      case $word in --*) shows " $word" "$used" --help ;; esac
    done
  done <examples
done

[ $failures -eq 0 ] || exit 1
echo "all options reach what they are for"
