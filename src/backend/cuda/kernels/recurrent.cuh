// SPDX-License-Identifier: Apache-2.0
// What steps in time of recurrent networks share: a warp has one unit and some
// samples. Its lanes share the sums, and then each has those of one sample.
// However many samples there are, a sum has the same order.
#pragma once

typedef element<K_T>::value value;

enum { SAMPLES = 8, STEP_THREADS = 256 };

// Where a warp is: a direction, and samples from `first` on.
struct place {
  i64 direction, unit, first, time;
};

DEVICE const K_T *weights_of(const bsm_cuda_recurrent &p, const place &at) {
  return (const K_T *)p.weights + at.direction * p.direction;
}

// The states before (0) and after (1) the step, of one direction.
DEVICE value *states_of(const bsm_cuda_recurrent &p, const place &at,
                        int after) {
  const i64 which = (p.round + after) % 2 * (i64)gridDim.z + at.direction;
  return (value *)p.states + which * p.batch * p.state;
}

// Adds up each of N values, a power of two, over 2 LANES neighbouring lanes.
// With each exchange a lane keeps half of its values: called with all 32, v[0]
// of lane l is in the end the sum of value l N / 32.
template <int N, int LANES>
DEVICE void spread_sums(value *v) {
  if constexpr (N > 1) {
    const bool upper = threadIdx.x & LANES;
#pragma unroll
    for (int i = 0; i < N / 2; i++) {
      const value give = upper ? v[i] : v[i + N / 2];
      const value keep = upper ? v[i + N / 2] : v[i];
      v[i] = keep + shuffle_xor(give, LANES);
    }
    spread_sums<N / 2, LANES / 2>(v);
  } else if constexpr (LANES > 0) {
    v[0] += shuffle_xor(v[0], LANES);
    spread_sums<1, LANES / 2>(v);
  }
}

// Sums over k of ROWS rows of a matrix, `apart` elements from each other, with
// COUNT samples of x, whose rows have `depth` elements. Lane s < COUNT gets those
// of sample s.
template <int ROWS, int COUNT>
DEVICE void multiply_rows(const K_T *matrix, i64 apart, const value *x,
                          const place &at, i64 batch, i64 depth,
                          value (&mine)[ROWS]) {
  enum { PLACES = ROWS == 3 ? 4 : ROWS, ALL = PLACES * COUNT };
  const int lane = threadIdx.x % 32;
  const value *rows[COUNT];
  value sums[ALL] = {};
#pragma unroll
  for (int s = 0; s < COUNT; s++) {
    const i64 sample = at.first + s < batch ? at.first + s : batch - 1;
    rows[s] = x + sample * depth;
  }
#pragma unroll(COUNT == 1 ? 4 : 1)
  for (i64 k = lane; k < depth; k += 32) {
    value a[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      a[r] = element<K_T>::load(matrix[r * apart + k]);
    }
#pragma unroll
    for (int s = 0; s < COUNT; s++) {
      const value b = rows[s][k];
#pragma unroll
      for (int r = 0; r < ROWS; r++) {
        sums[r * COUNT + s] = add_product(sums[r * COUNT + s], a[r], b);
      }
    }
  }
  spread_sums<ALL, 16>(sums);
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    mine[r] = shuffle(sums[0], (r * COUNT + lane % COUNT) * (32 / ALL));
  }
}

DEVICE bool is_over(const bsm_cuda_recurrent &p, const place &at, i64 sample) {
  return p.lengths && at.time >= ((const i64 *)p.lengths)[sample];
}

// Stores a state of a sample, or passes on the one before.
DEVICE void finish(const bsm_cuda_recurrent &p, const place &at, i64 sample,
                   value state) {
  const i64 i = sample * p.state + at.unit;
  const bool over = is_over(p, at, sample);
  states_of(p, at, 1)[i] = over ? states_of(p, at, 0)[i] : state;
  store<K_T>(p.y,
             at.time * p.y_step + sample * p.y_row + at.direction * p.state +
                 at.unit,
             over ? (value)0 : state);
}

// All units and samples; few samples need fewer sums.
template <template <int> class STEP>
DEVICE void run_step(const bsm_cuda_recurrent &p, i64 units) {
  place at;
  at.direction = blockIdx.z;
  at.time = blockIdx.z ? p.length - 1 - p.round : p.round;
  at.unit = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (at.unit >= units) return;
  for (at.first = (i64)blockIdx.y * SAMPLES; at.first < p.batch;
       at.first += (i64)gridDim.y * SAMPLES) {
    const i64 left = p.batch - at.first;
    if (left > 4) {
      STEP<8>::run(p, at);
    } else if (left > 1) {
      STEP<4>::run(p, at);
    } else {
      STEP<1>::run(p, at);
    }
  }
}
