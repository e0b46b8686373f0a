// SPDX-License-Identifier: Apache-2.0
// Where the outputs of resizing are in the input: PyTorch's coordinates, each
// operation rounded by itself.
#pragma once

enum { NEAREST, LINEAR, CUBIC, NEAREST_EXACT };

DEVICE float times(float a, float b) { return __fmul_rn(a, b); }
DEVICE double times(double a, double b) { return __dmul_rn(a, b); }
DEVICE float plus(float a, float b) { return __fadd_rn(a, b); }
DEVICE double plus(double a, double b) { return __dadd_rn(a, b); }

DEVICE i64 clamp_index(double x, i64 size) {
  if (!(x > 0)) return 0;
  return x >= (double)(size - 1) ? size - 1 : (i64)x;
}
template <class R>
DEVICE R coordinate(bool corners, R scale, i64 i, bool cubic) {
  if (corners) return times(scale, (R)i);
  const R x = plus(times(scale, plus((R)i, (R)0.5)), (R)-0.5);
  return !cubic && x < 0 ? 0 : x;
}
