#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# cli_pipes_test.sh BESSEMER SOURCES: pipes, summaries for programs, near names,
# completions, manual pages, and shapes that range.
set -u
bessemer=$1
digits=$2/examples/digits
data=$2/tests/data
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0
. "$2/tests/tools/cli_kit.sh"

# Pipes.
expect 0 "" compile "$digits/digits.ts" -o digits.bsm --no-timing
"$bessemer" compile - -o - --no-timing <"$digits/digits.ts" >piped.bsm 2>err ||
  fail "compile - -o -"
grep -q "^-: 9 steps" err || fail "no summary on the standard error"
expect 0 "steps: 9" inspect piped.bsm
"$bessemer" inspect - <digits.bsm >out 2>err || fail "inspect -"
grep -qF "x: float32 [1, 1, 8, 8]" out || fail "inspect - shows no input"
cat >numbers.ir <<'END'
graph():
  %end : int = prim::Constant[value=64]()
  %none : NoneType = prim::Constant()
  %six : int = prim::Constant[value=6]()
  %sizes : int[] = prim::Constant[value=[1, 1, 8, 8]]()
  %a : Tensor = aten::arange(%end, %six, %none, %none, %none)
  %b : Tensor = aten::reshape(%a, %sizes)
  return (%b)
END
expect 0 "" run numbers.ir -o x.npy
expect 0 "" run digits.bsm --input x.npy -o y.npy
"$bessemer" run numbers.ir -o - | "$bessemer" run digits.bsm --input - -o - \
  >out 2>err || fail "run with pipes"
cmp -s out y.npy || fail "another array through a pipe"
cat >two.ir <<'END'
graph(%x : Float(2)):
  %a : Tensor = aten::neg(%x)
  %b : Tensor = aten::exp(%x)
  return (%a, %b)
END
cat >pair.ir <<'END'
graph():
  %end : int = prim::Constant[value=2]()
  %none : NoneType = prim::Constant()
  %six : int = prim::Constant[value=6]()
  %a : Tensor = aten::arange(%end, %six, %none, %none, %none)
  return (%a)
END
expect 0 "" run pair.ir -o pair.npy
"$bessemer" run two.ir --input pair.npy -o - >two.npz 2>err || fail "run -o -"
expect 0 "" run two.ir --input pair.npy -o again.npz
cmp -s two.npz again.npz || fail "another .npz on the standard output"

# Summaries.
expect 0 '"steps": 9,' compile "$digits/digits.ts" -o d.bsm --no-timing --json
grep -q '"name": "output_0",' out || fail "no output in the JSON"

# Near names.
expect 2 "no command 'benhc', perhaps 'bench'" benhc
expect 1 "no command 'benh', perhaps 'bench'" man benh

# Shapes that range.
expect 0 "" compile two.ir -o range.bsm --no-timing "[(2);(3);(9)]"
expect 0 "throughput" bench range.bsm --iterations 2
expect 0 "throughput" bench range.bsm --iterations 2 --shapes 7
expect 1 "2 shapes were given" bench range.bsm --iterations 2 --shapes 7,8
expect 1 "" bench range.bsm --iterations 2 --shapes 10
expect 2 "is not as 4x3x224x224" bench range.bsm --shapes 4xa

# What shells complete, and manuals, have every command and its options.
for shell in bash zsh fish; do
  expect 0 "no-timing" completions $shell
done
expect 1 "is none of bash" completions csh
expect 0 "bessemer\\-compile" man
for command in $("$bessemer" --help | sed -n 's/^  bessemer \([a-z-]*\) .*/\1/p'); do
  expect 0 ".SH OPTIONS" man "$command"
  "$bessemer" "$command" --help >help
  grep -oE -e '^ +(-[a-z], )?--[a-z-]+' help | grep -oE -e '--[a-z-]+' |
    grep -vE 'help|usage' >told
  sed 's/\\f[BIR]//g; s/\\//g' out | grep -oE -e '--[a-z-]+' >manual
  while read -r option; do
    grep -qxF -e "$option" manual || fail "man $command lacks $option"
  done <told
done
if command -v bash >/dev/null; then
  expect 0 "" completions bash
  bash -n out || fail "bash cannot read its completions"
fi
exit $failures
