// SPDX-License-Identifier: Apache-2.0
// The matrix that a convolution multiplies its kernels with: a row for each
// window, of the maps of its first tap, then those of the next. K_IMAGE and
// K_TRANSPOSED are as in gemm.cuh, T is the type of elements; with K_IMAGE 0 it
// is a matrix already.
#pragma once

// The dimensions of images that are looked at: the last ones.
enum { FIRST_DIM = K_IMAGE == 3 ? 0 : 1 };

// Which tap of the window and which map a number of k is.
struct tap {
  int map, at[3];
};

DEVICE tap find_tap(const bsm_cuda_mma &p, int k) {
  tap t = {k, {0, 0, 0}};
  if constexpr (K_IMAGE) {
    int place = k / p.maps;
    t.map = k - place * p.maps;
#pragma unroll
    for (int d = 2; d >= FIRST_DIM; d--) {
      t.at[d] = place % p.kernel[d];
      place /= p.kernel[d];
    }
  }
  return t;
}

DEVICE void advance(const bsm_cuda_mma &p, tap &t, int k) {
  t.map += k;
  if constexpr (K_IMAGE) {
    while (t.map >= p.maps) {
      t.map -= p.maps;
      if (++t.at[2] < p.kernel[2]) continue;
      t.at[2] = 0;
      if (++t.at[1] < p.kernel[1] || K_IMAGE < 3) continue;
      t.at[1] = 0;
      t.at[0]++;
    }
  }
}

// A row of the matrix. `at`: K_IMAGE: where the window begins, which may be outside; of
// a deconvolution, the pixel and its padding.
struct row_of_a {
  const T *base;
  int at[3];
  bool exists;
};

DEVICE row_of_a make_row(const bsm_cuda_mma &p, const T *a, int m) {
  row_of_a row;
  row.exists = m < p.m;
  if constexpr (K_IMAGE) {
    int pixel = m;
#pragma unroll
    for (int d = 2; d >= FIRST_DIM; d--) {
      const int at = pixel % p.out[d];
      pixel /= p.out[d];
      row.at[d] = K_TRANSPOSED ? at + p.pre[d] : at * p.stride[d] - p.pre[d];
    }
    row.base = a + pixel * p.image_stride;
  } else {
    row.base = a + m * p.a_row;
  }
  return row;
}

// The address of a tap; NULL: it is outside.
DEVICE const T *find(const bsm_cuda_mma &p, const row_of_a &row, const tap &t) {
  bool inside = row.exists;
  const T *from = row.base + t.map * p.a_column;
  if constexpr (K_IMAGE) {
    int offset = 0;
#pragma unroll
    for (int d = FIRST_DIM; d < 3; d++) {
      int at = K_TRANSPOSED ? row.at[d] - t.at[d] * p.dilation[d]
                            : row.at[d] + t.at[d] * p.dilation[d];
      if constexpr (K_TRANSPOSED) {
        inside = inside && at % p.stride[d] == 0 && at >= 0;
        at /= p.stride[d];
      }
      inside = inside && (u32)at < (u32)p.in[d];
      offset += at * p.in_stride[d];
    }
    from += offset;
  }
  return inside ? from : 0;
}
