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

# An option that does not exist is no prefix of luck: it is refused.
for option in --min-block-size=3 --calibration-cache=x --dla-core=1; do
  "$bessemer" compile "$digits/digits.ts" -o y.bsm $option >out 2>&1
  [ $? -eq 2 ] && [ ! -e y.bsm ] && continue
  echo "FAILED: $option is accepted"
  failures=$((failures + 1))
done

[ $failures -eq 0 ] || exit 1
echo "all options reach what they are for"
