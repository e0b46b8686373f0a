// SPDX-License-Identifier: Apache-2.0
// Resizing images of two dimensions whose maps lie together: a thread for 16
// bytes of maps of each output pixel. Options: K_T (float, f16 or bf16), K_MODE
// (bsm_resize_mode: nearest ones, or linear), K_CORNERS (they are aligned).
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "loops.cuh"
#include "resize_taps.cuh"
#include "pieces.cuh"

typedef K_T T;
enum { MAPS = 16 / sizeof(T), TAPS = K_MODE == LINEAR ? 2 : 1 };

struct taps {
  int offset[TAPS];
  float weight[TAPS];
};

DEVICE int clamp_to(float x, int size) {
  return !(x > 0) ? 0 : x >= (float)(size - 1) ? size - 1 : (int)x;
}

DEVICE taps find_taps(int i, int in, int stride, float scale) {
  taps t;
  if constexpr (K_MODE == LINEAR) {
    const float x = coordinate(K_CORNERS, scale, i, false);
    const int low = clamp_to(floorf(x), in), high = low + (low < in - 1);
    float l = plus(x, -(float)low);
    l = l < 0 ? 0 : l > 1 ? 1 : l;
    t.offset[0] = low * stride;
    t.weight[0] = plus(1.0f, -l);
    t.offset[TAPS - 1] = high * stride;
    t.weight[TAPS - 1] = l;
  } else {
    const float half = K_MODE == NEAREST_EXACT ? 0.5f : 0.0f;
    t.offset[0] =
        clamp_to(floorf(times(plus((float)i, half), scale)), in) * stride;
    t.weight[0] = 1;
  }
  return t;
}

KERNEL_OF(256, resize_maps, bsm_cuda_resize) {
  u32 rest = blockIdx.x * 256 + threadIdx.x;
  // Loops of the rest: pieces of maps, and images.
  const u32 piece_at = divide_by(rest, (u32)p.e.sizes[1]);
  const int x = (int)divide_by(rest, (u32)p.out[2]);
  const int y = (int)divide_by(rest, (u32)p.out[1]);
  if (rest >= (u32)p.e.sizes[0]) return;
  const T *from = (const T *)p.e.address[1] + rest * p.e.strides[1][0] +
                  piece_at * MAPS;
  T *to = (T *)p.e.address[0] + rest * p.e.strides[0][0] + y * p.y_stride[1] +
          x * p.y_stride[2] + piece_at * MAPS;
  const taps rows = find_taps(y, (int)p.in[1], (int)p.x_stride[1],
                              (float)p.scale[1]);
  const taps columns = find_taps(x, (int)p.in[2], (int)p.x_stride[2],
                                 (float)p.scale[2]);
  piece<T, MAPS> in[TAPS * TAPS], out;
#pragma unroll
  for (int i = 0; i < TAPS * TAPS; i++) {
    in[i].load(from + rows.offset[i / TAPS] + columns.offset[i % TAPS]);
  }
  if (TAPS == 1) {
    in[0].store(to);
    return;
  }
#pragma unroll
  for (int e = 0; e < MAPS; e++) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < TAPS * TAPS; i++) {
      const float w = rows.weight[i / TAPS] * columns.weight[i % TAPS];
      if (w != 0) sum += w * in[i].get(e);
    }
    out.set(e, sum);
  }
  out.store(to);
}
