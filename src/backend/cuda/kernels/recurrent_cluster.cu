// SPDX-License-Identifier: Apache-2.0
// All steps in time of a chunk of a level of a recurrent network in one kernel,
// for networks whose weights the registers of a cluster of blocks hold. Each
// block has an eighth of the units, with all of their gates; a unit's lanes
// share its sums over k. After a step every block tells all others the states
// of its units: they are in the shared memory of all, twice, so that one barrier
// of the cluster for each step is enough. A cluster has some samples of one
// direction. Options: K_T; K_CELL (bsm_recurrent_operation); K_HIDDEN (units);
// K_LANES (of a unit); K_SAMPLES (whose sums a thread makes at once); K_PACKED
// (1: registers hold weights in pairs of 16 bits); K_OUTSIDE (gates whose weights
// are in shared memory instead, in such pairs).
// grid: (8, groups of samples, directions)
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "sums.cuh"
#define FAST_GATES
#include "recurrent_cell.cuh"

typedef K_T T;

enum {
  BLOCKS = 8,
  GATES = gates_of<K_CELL>::COUNT,
  UNITS = (K_HIDDEN + BLOCKS - 1) / BLOCKS,  // of a block
  THREADS = (UNITS * K_LANES + 31) / 32 * 32,
  PARTS = (K_HIDDEN + 4 * K_LANES - 1) / (4 * K_LANES),
  PADDED = PARTS * 4 * K_LANES,  // numbers of a state in shared memory
  HELD = PARTS * 4,              // weights of a gate in a thread
  INSIDE = GATES - K_OUTSIDE,    // gates whose weights are in registers
  SUMS = (GATES == 3 ? 4 : GATES) * K_SAMPLES
};

// ---- weights ----

template <bool PACKED>
struct row_of_weights {
  float at[HELD];
  DEVICE void set(int i, T x) { at[i] = to_float(x); }
  DEVICE float get(int i) const { return at[i]; }
};
#if K_PACKED
template <>
struct row_of_weights<true> {
  u32 at[HELD / 2];
  DEVICE void set(int i, T x) {
    at[i / 2] = i % 2 ? at[i / 2] | (u32)x.bits << 16 : (u32)x.bits;
  }
  DEVICE float get(int i) const { return to_float(unpack<T>(at[i / 2], i % 2)); }
};
#endif

#include "recurrent_place.cuh"

// ---- sums ----

// What a block has in shared memory, for `room` samples.
struct shared_state {
  float *states;  // [2][room][PADDED]
  float *sums;    // [GATES][room][UNITS]
  float *cells;   // [room][UNITS]
  float *outside;  // [K_OUTSIDE][PARTS][THREADS] of four weights
  int room;
  DEVICE float *states_of(int which) const {
    return states + which * room * PADDED;
  }
};

#if K_OUTSIDE
// Four weights of a part, which this thread alone reads.
DEVICE uint2 *part_outside(const shared_state &s, int gate, int part) {
  return (uint2 *)s.outside +
         ((gate - INSIDE) * PARTS + part) * THREADS + threadIdx.x;
}
#endif

// Those of a part, of all gates: what is in shared memory is read at once.
struct part_of_weights {
#if K_OUTSIDE
  uint2 outside[K_OUTSIDE];
#endif
  DEVICE part_of_weights(const shared_state &s, int part) {
#if K_OUTSIDE
#pragma unroll
    for (int g = 0; g < K_OUTSIDE; g++) {
      outside[g] = *part_outside(s, INSIDE + g, part);
    }
#endif
  }
  DEVICE float get(const row_of_weights<K_PACKED != 0> (&w)[INSIDE], int gate,
                   int part, int e) const {
#if K_OUTSIDE
    if (gate >= INSIDE) {
      const uint2 &four = outside[gate - INSIDE];
      return to_float(unpack<T>(e < 2 ? four.x : four.y, e % 2));
    }
#endif
    return w[gate].get(part * 4 + e);
  }
};

// The products of K_SAMPLES states from `first` on with this thread's weights.
DEVICE void multiply_states(const row_of_weights<K_PACKED != 0> (&w)[INSIDE],
                            const shared_state &s, int which, int first,
                            int samples) {
  const int lane = (int)threadIdx.x % K_LANES, unit = (int)threadIdx.x / K_LANES;
  float v[SUMS];
#pragma unroll
  for (int i = 0; i < SUMS; i++) v[i] = 0;
#pragma unroll
  for (int i = 0; i < K_SAMPLES; i++) {
    const int sample = first + i < samples ? first + i : samples - 1;
    const float *h = s.states_of(which) + sample * PADDED + 4 * lane;
#pragma unroll
    for (int part = 0; part < PARTS; part++) {
      const part_of_weights weights(s, part);
      const float4 x = *(const float4 *)(h + part * 4 * K_LANES);
      const float at[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
      for (int e = 0; e < 4; e++) {
#pragma unroll
        for (int g = 0; g < GATES; g++) {
          float &sum = v[g * K_SAMPLES + i];
          sum = fmaf(weights.get(w, g, part, e), at[e], sum);
        }
      }
    }
  }
  spread_sums<SUMS, K_LANES / 2, 1>(v);
#pragma unroll
  for (int i = 0; i < spread<SUMS, K_LANES>::OWN; i++) {
    const int at = spread_index<SUMS, K_LANES>(lane, i);
    const int gate = at / K_SAMPLES, sample = first + at % K_SAMPLES;
    if (unit < UNITS && gate < GATES && sample < samples) {
      s.sums[(gate * s.room + sample) * UNITS + unit] = v[i];
    }
  }
}

// ---- a step ----

// The gates of one unit of this block, whose state all blocks are told. The
// result is what the output has.
DEVICE float finish(const bsm_cuda_recurrent &p, const shared_state &s,
                    const place &at, int sample, int unit,
                    const float (&x)[GATES], const float (&bias)[GATES]) {
  const int number = at.block * UNITS + unit, which = at.step % 2;
  const bool over = is_over(p, at, sample);
  float h[GATES];
#pragma unroll
  for (int g = 0; g < GATES; g++) {
    h[g] = s.sums[(g * s.room + sample) * UNITS + unit] + bias[g];
  }
  const float before = s.states_of(which)[sample * PADDED + number];
  float *cell = s.cells + sample * UNITS + unit, memory = *cell;
  float state = next_state<K_CELL, GATES>(x, h, before, memory);
  if (over) {
    state = before;
  } else {
    *cell = memory;
  }
  const u32 to =
      shared_address(s.states_of(1 - which) + sample * PADDED + number);
#pragma unroll
  for (int block = 0; block < BLOCKS; block++) {
    ptx_cluster_store(to, (u32)block, state);
  }
  return over ? 0.0f : state;
}

DEVICE void begin(const bsm_cuda_recurrent &p, const shared_state &s,
                  const place &at) {
  const float *states = states_between(p, at, p.round);
  for (int i = (int)threadIdx.x; i < at.samples * PADDED; i += THREADS) {
    const int sample = i / PADDED, number = i % PADDED;
    s.states_of(0)[i] =
        number < K_HIDDEN ? states[sample * K_HIDDEN + number] : 0.0f;
    s.states_of(1)[i] = 0;  // for what is no unit
  }
  for (int i = (int)threadIdx.x; i < at.samples * UNITS; i += THREADS) {
    const int number = at.block * UNITS + i % UNITS;
    s.cells[i] = K_CELL == LSTM && number < K_HIDDEN
                     ? ((const float *)p.cells)[(at.direction * p.batch +
                                                 at.first + i / UNITS) *
                                                    K_HIDDEN +
                                                number]
                     : 0.0f;
  }
}

DEVICE void end(const bsm_cuda_recurrent &p, const shared_state &s,
                const place &at) {
  float *states = states_between(p, at, p.round + at.steps);
  for (int i = (int)threadIdx.x; i < at.samples * UNITS; i += THREADS) {
    const int sample = i / UNITS, number = at.block * UNITS + i % UNITS;
    if (number >= K_HIDDEN) continue;
    states[sample * K_HIDDEN + number] =
        s.states_of(at.steps % 2)[sample * PADDED + number];
    if (K_CELL != LSTM) continue;
    ((float *)p.cells)[(at.direction * p.batch + at.first + sample) * K_HIDDEN +
                       number] = s.cells[i];
  }
}

CLUSTER_KERNEL_OF(THREADS, BLOCKS, recurrent_cluster, bsm_cuda_recurrent) {
  DYNAMIC_SHARED(memory);
  const int thread = (int)threadIdx.x;
  place at;
  shared_state s;
  s.room = (int)((p.batch + gridDim.y - 1) / gridDim.y);
  s.states = (float *)memory;
  s.sums = s.states + 2 * s.room * PADDED;
  s.cells = s.sums + GATES * s.room * UNITS;
  // At a multiple of 16 bytes, as states are.
  s.outside = s.states + (2 * s.room * PADDED + (GATES + 1) * s.room * UNITS +
                          3) / 4 * 4;
  at.direction = (int)blockIdx.z;
  at.block = (int)blockIdx.x;
  at.first = (int)blockIdx.y * s.room;
  const i64 left = p.batch - at.first;
  at.samples = left < s.room ? (int)left : s.room;
  const i64 rest = p.length - p.round;
  at.steps = (int)(rest < p.chunk ? rest : p.chunk);
  at.step = 0;

  row_of_weights<K_PACKED != 0> w[INSIDE];
  const int unit = thread / K_LANES, number = at.block * UNITS + unit;
  const T *matrix = (const T *)p.weights + at.direction * p.direction +
                    p.recurrent + (i64)number * K_HIDDEN;
#pragma unroll
  for (int g = 0; g < GATES; g++) {
#pragma unroll
    for (int i = 0; i < HELD; i++) {
      const int k = (i / 4 * K_LANES + thread % K_LANES) * 4 + i % 4;
      const bool is = unit < UNITS && number < K_HIDDEN && k < K_HIDDEN;
      const T weight = is ? matrix[(i64)g * K_HIDDEN * K_HIDDEN + k]
                          : from_float<T>(0);
#if K_OUTSIDE
      if (g >= INSIDE) {
        uint2 &four = *part_outside(s, g, i / 4);
        u32 &pair = i % 4 < 2 ? four.x : four.y;
        pair = i % 2 ? pair | (u32)weight.bits << 16 : (u32)weight.bits;
        continue;
      }
#endif
      w[g].set(i, weight);
    }
  }
  // This thread's first sample and unit, whose products are asked for early.
  const int own = thread / UNITS, own_unit = thread % UNITS;
  const bool has_own =
      own < at.samples && at.block * UNITS + own_unit < K_HIDDEN;
  float x[GATES], bias[GATES], y = 0;
  if (has_own) load_bias(p, at, own_unit, bias);
  wait_for_previous();
  begin(p, s, at);
  if (has_own) load_products(p, at, own, own_unit, x);
  ptx_cluster_arrive();
  ptx_cluster_wait();
  for (; at.step < at.steps; at.step++) {
    for (int first = 0; first < at.samples; first += K_SAMPLES) {
      multiply_states(w, s, at.step % 2, first, at.samples);
    }
    __syncthreads();
    if (has_own) y = finish(p, s, at, own, own_unit, x, bias);
    for (int i = thread + THREADS; i < at.samples * UNITS; i += THREADS) {
      if (at.block * UNITS + i % UNITS >= K_HIDDEN) continue;
      const int sample = i / UNITS, other = i % UNITS;
      float later[GATES], its[GATES];
      load_products(p, at, sample, other, later);
      load_bias(p, at, other, its);
      put_output(p, at, sample, other,
                 finish(p, s, at, sample, other, later, its));
    }
    // What is stored before arriving, all wait for.
    ptx_cluster_arrive();
    if (has_own) put_output(p, at, own, own_unit, y);
    if (has_own && at.step + 1 < at.steps) {
      place next = at;
      next.step++;
      load_products(p, next, own, own_unit, x);
    }
    ptx_cluster_wait();
  }
  end(p, s, at);
}
