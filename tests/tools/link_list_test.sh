#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# link_list_test.sh BESSEMER SOURCES LIBRARY CC: programs that link what an
# engine needs run it as others do, are small, and refuse other engines.
set -u
bessemer=$1 sources=$2 library=$3 cc=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

fail() {
  echo "FAILED: $*"
  [ ! -e err ] || sed 's/^/  /' err | head -20
  failures=$((failures + 1))
}

# build NAME [FILE.c [EXAMPLE]]: an example, with a link list or without; sets
# `size`.
build() {
  # shellcheck disable=SC2086
  "$cc" -Os -Wall -Wextra -Wpedantic -Wno-missing-field-initializers -Werror \
    -ffunction-sections -fdata-sections -I"$sources/include" -o "$1" \
    "$sources/examples/${3:-small_program}.c" ${2:-} "$library" \
    -Wl,--gc-sections -lm -lpthread 2>err || fail "$1 does not link"
  strip "$1"
  size=$(wc -c <"$1")
  echo "$1: $size bytes"
}

# refuses NAME ENGINE TEXT: loading fails with a message that has TEXT.
refuses() {
  if "./$1" "$2" x.raw y.raw 2>err; then fail "$1 takes $2"; fi
  grep -qF -e "$3" err || fail "no '$3'"
}

# A whole model, against the command.
model=$sources/examples/digits/digits.ts
isa=$("$bessemer" targets | sed 's/^cpu:\([a-z0-9]*\).*/\1/;q')
"$bessemer" compile "$model" -o digits.bsm --no-timing >out || fail compile
"$bessemer" link-list digits.bsm -o all.c || fail "link-list"
"$bessemer" link-list digits.bsm -o one.c --isa "$isa" || fail "link-list --isa"
"$bessemer" link-list --isa "$isa" -o isa.c || fail "link-list without engines"
"$bessemer" link-list --isa avx512_vnni,avx2 -o levels.c 2>err ||
  [ "$(uname -m)" != x86_64 ] || fail "link-list of a level"
[ "$(uname -m)" != x86_64 ] || grep -q "bsm_k_linked_isas = 3;" levels.c ||
  fail "a level is not what it runs"
build full
full=$size
build all all.c
all=$size
build one one.c
one=$size
build isa isa.c
[ "$all" -lt $((full / 5 * 2)) ] || fail "all: $all bytes of $full"
[ "$one" -lt $((full / 4)) ] || fail "one: $one bytes of $full"
[ "$size" -lt $((full / 6 * 5)) ] || fail "isa: $size bytes of $full"

pixels=$("$bessemer" inspect digits.bsm | sed -n 's/.*float32 *\[1, 1, \([0-9]*\), .*/\1/p' |
  head -1)
[ -n "$pixels" ] || fail "no input in what inspect prints"
bytes=$((pixels * pixels * 4))
# Floats between 0 and 2 of any bits, and their header.
awk -v n="$((bytes / 4))" 'BEGIN { for (i = 0; i < n; i++)
  printf "%c%c%c%c", 1 + i % 97, 1 + i % 113, 1 + i % 59, 63 }' >x.raw
[ "$(wc -c <x.raw)" -eq "$bytes" ] || fail "x.raw has another size"
header="{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, $pixels, $pixels), }"
{
  printf '\223NUMPY\001\000\166\000'
  printf '%-117s\n' "$header"
  cat x.raw
} >x.npy
"$bessemer" run digits.bsm --input x.npy --output y.npy >out 2>err ||
  fail "bessemer run"
for program in full all one isa; do
  "./$program" digits.bsm x.raw "$program.raw" 2>err || fail "$program fails"
  tail -c 40 y.npy | cmp -s - "$program.raw" || fail "$program differs"
done

# Other engines. The reference library calls what is left to it.
cat >relu.ir <<'END'
graph(%x : Tensor):
  %y : Tensor = aten::relu(%x)
  return (%y)
END
cat >topk.ir <<'END'
graph(%x : Tensor):
  %k : int = prim::Constant[value=2]()
  %dim : int = prim::Constant[value=-1]()
  %yes : bool = prim::Constant[value=1]()
  %v : Tensor, %i : Tensor = aten::topk(%x, %k, %dim, %yes, %yes)
  return (%v)
END
cat >nonzero.ir <<'END'
graph(%x : Tensor):
  %y : Tensor = aten::nonzero(%x)
  return (%y)
END
cat >product.ir <<'END'
graph(%x : Tensor):
  %y : Tensor = aten::matmul(%x, %x)
  return (%y)
END
"$bessemer" compile relu.ir -o relu.bsm "(2,3)" --fallback-op aten::relu >out
"$bessemer" compile topk.ir -o topk.bsm "(2,3)" --fallback-op aten::topk >out
"$bessemer" compile nonzero.ir -o nonzero.bsm "(2,3)" >out
"$bessemer" compile product.ir -o float.bsm "(3,3)" --no-timing >out
"$bessemer" compile product.ir -o double.bsm "(3,3)@f64" --no-timing >out
refuses one relu.bsm "does not link the step aten_call"
refuses one nonzero.bsm "does not link the op aten::nonzero"
"$bessemer" link-list relu.bsm float.bsm -o relu.c || fail "link-list relu.bsm"
build relu relu.c
printf '\000\000\200\277\000\000\000\100%016d' 0 >x.raw
"./relu" relu.bsm x.raw y.raw 2>err || fail "relu fails"
printf '\000\000\000\000\000\000\000\100%016d' 0 | cmp -s - y.raw ||
  fail "relu differs"
refuses relu topk.bsm "does not link the op aten::topk"
refuses relu topk.bsm "its link list is for relu.bsm, float.bsm; make one"
refuses relu digits.bsm "does not link the step convolution"
refuses relu double.bsm \
  "does not link the step of double or integers matrix_multiply"
"$bessemer" link-list nonzero.bsm -o nonzero.c || fail "link-list nonzero.bsm"
build nonzero nonzero.c
refuses nonzero nonzero.bsm "has no fixed shape"
refuses nonzero relu.bsm "does not link"
# Programs: of data that nobody knows before, and of shapes that range.
build found nonzero.c run_engine
"./found" nonzero.bsm >out 2>err || fail "found fails"
grep -q "int64 \[0, 2\]" out || fail "found prints $(cat out)"
"$bessemer" compile "$sources/tests/data/dynamic/text.ts" -o text.bsm \
  "[(1,2);(2,8);(6,20)]@i64" "[(1,2);(2,8);(6,20)]@i64" --no-timing >out
"$bessemer" link-list text.bsm digits.bsm -o text.c || fail "link-list text.bsm"
build whole "" run_engine
build text text.c run_engine
for engine in text.bsm digits.bsm; do
  "./whole" $engine >whole.out 2>err || fail "whole fails"
  "./text" $engine >out 2>err || fail "text fails"
  cmp -s out whole.out || fail "text differs from whole"
done

# Lists of other versions, and wrong usage.
sed 's/"[0-9.]*"};/"0.0.0"};/' all.c >old.c
build old old.c
refuses old digits.bsm "link list is of version 0.0.0"
other=neon
[ "$(uname -m)" = x86_64 ] || other=amx
for isa in sse9 $other; do
  "$bessemer" link-list digits.bsm -o bad.c --isa $isa 2>err &&
    fail "an unknown instruction set"
  grep -q "no kernels for '$isa'" err || fail "no message about $isa"
done
[ ! -e bad.c ] || fail "bad.c was left behind"
"$bessemer" link-list digits.bsm -o digits.bsm 2>err && fail "wrote to its input"
"$bessemer" link-list -o x.c 2>err
[ $? -eq 2 ] || fail "no engine and no --isa"
"$bessemer" link-list "$model" -o x.c 2>err && fail "a model is no engine"

[ $failures -eq 0 ] && echo "link_list_test: ok"
[ $failures -eq 0 ]
