// SPDX-License-Identifier: Apache-2.0
// Sums over lanes of a warp.
#pragma once

// Adds up each of N values, a power of two, over the lanes that differ in the
// bits from HALF down to LAST of their numbers. With each exchange a lane keeps
// half of its values, as long as it has several.
template <int N, int HALF, int LAST>
DEVICE void spread_sums(float *v) {
  if constexpr (HALF >= LAST && N > 1) {
    const bool upper = threadIdx.x & HALF;
#pragma unroll
    for (int i = 0; i < N / 2; i++) {
      const float give = upper ? v[i] : v[i + N / 2];
      const float keep = upper ? v[i + N / 2] : v[i];
      v[i] = keep + shuffle_xor(give, HALF);
    }
    spread_sums<N / 2, HALF / 2, LAST>(v);
  } else if constexpr (HALF >= LAST) {
    v[0] += shuffle_xor(v[0], HALF);
    spread_sums<1, HALF / 2, LAST>(v);
  }
}

// Which of N values is the i-th that lane `lane` of LANES has then: where there
// are fewer values than lanes, some lanes have the same one.
template <int N, int LANES>
DEVICE int spread_index(int lane, int i) {
  return lane * N / LANES + i;
}
template <int N, int LANES>
struct spread {
  enum { OWN = N > LANES ? N / LANES : 1 };
};
