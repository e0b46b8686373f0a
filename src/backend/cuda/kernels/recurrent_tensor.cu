// SPDX-License-Identifier: Apache-2.0
// All steps in time of a chunk of a level of a recurrent network in one kernel,
// as recurrent_cluster.cu does them, on tensor cores: for networks of 16 bits
// whose weights the registers and the shared memory of a cluster of blocks hold.
// A warp has all gates of 8 units, as tiles of 16 rows, two gates in each; the
// columns are samples. Tensor cores leave all gates of a unit in the same
// thread. States, which are floats, are sums of two numbers of 16 bits in shared
// memory, whose products are added: of half 22 bits of a state count, of bfloat16
// 16. After a step every warp tells all blocks the states of its units, 16 bytes
// at a time. Options: K_T; K_CELL (bsm_recurrent_operation: LSTM, GRU or TANH);
// K_HIDDEN (units); K_TILES (of 8 samples, that a cluster has); K_INSIDE (parts
// of 32 k whose weights are in registers; those of the others are in shared
// memory).
// grid: (8, groups of samples, directions)
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#define FAST_GATES
#include "recurrent_cell.cuh"

typedef K_T T;

enum {
  BLOCKS = 8,
  GATES = gates_of<K_CELL>::COUNT,
  PAIRS = (GATES + 1) / 2,              // tiles of rows
  WARPS = (K_HIDDEN + 63) / 64,         // of 8 units
  UNITS = WARPS * 8,                    // of a block
  THREADS = WARPS * 32,
  PARTS = (K_HIDDEN + 31) / 32,         // of k
  OUTSIDE = PARTS - K_INSIDE,
  SAMPLES = K_TILES * 8,
  // Elements of a state: lanes read 16 bytes of 2 samples each at a time from
  // banks of their own.
  PITCH = WARPS * 64 + 32,
  STATES = SAMPLES * PITCH,
  // Where there are few sums, those of both parts of the states are apart, so
  // that products wait less for each other.
  CHAINS = K_TILES == 1 ? 2 : 1
};

static_assert(K_CELL != RELU, "states that no 16 bits hold");

#include "recurrent_place.cuh"

// ---- weights ----

// Of a thread: of each part and gate those of its unit and of 8 k.
struct weights_of_unit {
  uint4 inside[K_INSIDE ? K_INSIDE : 1][GATES];
  uint4 *outside;  // [OUTSIDE][GATES][THREADS], from this thread on

  DEVICE uint4 get(int part, int gate) const {
    return part < K_INSIDE
               ? inside[part][gate]
               : outside[((part - K_INSIDE) * GATES + gate) * THREADS];
  }
};

DEVICE uint4 load_eight(const T *row, int k, bool is_there) {
  uint4 v = make_uint4(0, 0, 0, 0);
  if (!is_there) return v;
  if constexpr (K_HIDDEN % 8 == 0) {
    if (k < K_HIDDEN) v = *(const uint4 *)(row + k);
  } else {
    u32 words[4] = {0, 0, 0, 0};
#pragma unroll
    for (int i = 0; i < 8; i++) {
      if (k + i < K_HIDDEN) words[i / 2] |= (u32)row[k + i].bits << i % 2 * 16;
    }
    v = make_uint4(words[0], words[1], words[2], words[3]);
  }
  return v;
}

DEVICE void load_weights(const bsm_cuda_recurrent &p, const place &at,
                         weights_of_unit &w) {
  const int lane = (int)threadIdx.x % 32;
  const int number = at.block * UNITS + (int)threadIdx.x / 32 * 8 + lane / 4;
  const T *matrix = (const T *)p.weights + at.direction * p.direction +
                    p.recurrent + (i64)number * K_HIDDEN;
#pragma unroll
  for (int part = 0; part < PARTS; part++) {
#pragma unroll
    for (int g = 0; g < GATES; g++) {
      const uint4 eight =
          load_eight(matrix + (i64)g * K_HIDDEN * K_HIDDEN,
                     part * 32 + lane % 4 * 8, number < K_HIDDEN);
      if (part < K_INSIDE) {
        w.inside[part][g] = eight;
      } else {
        w.outside[((part - K_INSIDE) * GATES + g) * THREADS] = eight;
      }
    }
  }
}

// ---- states ----

// A float as the sum of two elements.
struct two_elements {
  T high, low;
};

DEVICE two_elements split(float x) {
  two_elements v;
  v.high = from_float<T>(x);
  const float rest = x - to_float(v.high);
  v.low = from_float<T>(rest == rest ? rest : 0.0f);  // infinite ones have none
  return v;
}

// [2][high, low][SAMPLES][PITCH]
DEVICE T *states_of(char *memory, int which) {
  return (T *)memory + which * 2 * STATES;
}

DEVICE void put_state(T *states, int sample, int number, float x) {
  const two_elements v = split(x);
  states[sample * PITCH + number] = v.high;
  states[STATES + sample * PITCH + number] = v.low;
}

// What a thread has of its unit: samples 2 l and 2 l + 1 of each tile, where l
// is its lane among four.
struct unit_state {
  float state[K_TILES][2], cell[K_TILES][2];
};

DEVICE int sample_of(int tile, int i) {
  return tile * 8 + (int)threadIdx.x % 4 * 2 + i;
}

DEVICE void begin(const bsm_cuda_recurrent &p, char *memory, const place &at,
                  int number, unit_state &own) {
  const float *states = states_between(p, at, p.round);
  const float *cells =
      (const float *)p.cells + (at.direction * p.batch + at.first) * K_HIDDEN;
  for (int i = (int)threadIdx.x; i < SAMPLES * WARPS * 64; i += THREADS) {
    const int sample = i / (WARPS * 64), k = i % (WARPS * 64);
    const bool is_there = sample < at.samples && k < K_HIDDEN;
    put_state(states_of(memory, 0), sample, k,
              is_there ? states[sample * K_HIDDEN + k] : 0.0f);
  }
#pragma unroll
  for (int t = 0; t < K_TILES; t++) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const int sample = sample_of(t, i), place = sample * K_HIDDEN + number;
      const bool is_there = sample < at.samples && number < K_HIDDEN;
      own.state[t][i] = is_there ? states[place] : 0.0f;
      own.cell[t][i] = is_there && K_CELL == LSTM ? cells[place] : 0.0f;
    }
  }
}

DEVICE void end(const bsm_cuda_recurrent &p, const place &at, int number,
                const unit_state &own) {
  float *states = states_between(p, at, p.round + at.steps);
  float *cells =
      (float *)p.cells + (at.direction * p.batch + at.first) * K_HIDDEN;
#pragma unroll
  for (int t = 0; t < K_TILES; t++) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const int sample = sample_of(t, i), place = sample * K_HIDDEN + number;
      if (sample >= at.samples || number >= K_HIDDEN) continue;
      states[place] = own.state[t][i];
      if (K_CELL == LSTM) cells[place] = own.cell[t][i];
    }
  }
}

// This warp's new states, which its own block has, to all others: a lane has 8
// units of a sample.
DEVICE void tell(T *states, int block) {
  const int lane = (int)threadIdx.x % 32, piece = lane % 16;
  const int first = block * UNITS + (int)threadIdx.x / 32 * 8;
#pragma unroll
  for (int t = 0; t < K_TILES; t++) {
    const T *from = states + piece / 8 * STATES +
                    (t * 8 + piece % 8) * PITCH + first;
    const uint4 eight = *(const uint4 *)from;
    const u32 words[4] = {eight.x, eight.y, eight.z, eight.w};
    const u32 address = shared_address(from);
#pragma unroll
    for (int i = 0; i < BLOCKS; i += 2) {
      const int to = i + lane / 16;
      if (to != block) ptx_cluster_store16(address, (u32)to, words);
    }
  }
}

// ---- a step ----

typedef float gate_sums[CHAINS][K_TILES][PAIRS][4];

DEVICE void multiply_states(const weights_of_unit &w, const T *states,
                            gate_sums &sums) {
  const int lane = (int)threadIdx.x % 32;
#pragma unroll
  for (int c = 0; c < CHAINS; c++) {
#pragma unroll
    for (int i = 0; i < K_TILES * PAIRS * 4; i++) {
      sums[c][i / (PAIRS * 4)][i / 4 % PAIRS][i % 4] = 0;
    }
  }
#pragma unroll
  for (int part = 0; part < PARTS; part++) {
    uint4 a[2 * PAIRS];
#pragma unroll
    for (int g = 0; g < 2 * PAIRS; g++) {
      a[g] = g < GATES ? w.get(part, g) : make_uint4(0, 0, 0, 0);
    }
#pragma unroll
    for (int t = 0; t < K_TILES; t++) {
#pragma unroll
      for (int low = 0; low < 2; low++) {
        const uint4 x =
            *(const uint4 *)(states + low * STATES +
                             (t * 8 + lane / 4) * PITCH + part * 32 +
                             lane % 4 * 8);
        const u32 first[2] = {x.x, x.y}, second[2] = {x.z, x.w};
#pragma unroll
        for (int pair = 0; pair < PAIRS; pair++) {
          const uint4 &u = a[2 * pair], &v = a[2 * pair + 1];
          const u32 rows[4] = {u.x, v.x, u.y, v.y};
          const u32 next_rows[4] = {u.z, v.z, u.w, v.w};
          float *to = sums[low % CHAINS][t][pair];
          multiply<T>(to, rows, first);
          multiply<T>(to, next_rows, second);
        }
      }
    }
  }
}

// What a thread has of the products of the inputs.
typedef float input_sums[K_TILES][2][GATES];

DEVICE void load_inputs(const bsm_cuda_recurrent &p, const place &at, int unit,
                        bool is_unit, input_sums &x) {
#pragma unroll
  for (int t = 0; t < K_TILES; t++) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const int sample = sample_of(t, i);
      if (is_unit && sample < at.samples) {
        load_products(p, at, sample, unit, x[t][i]);
      }
    }
  }
}

// The gates of this thread's unit, whose states go to `states`; the results are
// what the output has.
DEVICE void finish(const bsm_cuda_recurrent &p, const place &at, int number,
                   const gate_sums &sums, const input_sums &x,
                   const float (&bias)[GATES], T *states, unit_state &own,
                   float (&y)[K_TILES][2]) {
#pragma unroll
  for (int t = 0; t < K_TILES; t++) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const int sample = sample_of(t, i);
      const bool is_there = sample < at.samples && number < K_HIDDEN;
      float h[GATES], state = 0, memory = own.cell[t][i];
#pragma unroll
      for (int g = 0; g < GATES; g++) {
        h[g] = bias[g];
#pragma unroll
        for (int c = 0; c < CHAINS; c++) {
          h[g] += sums[c][t][g / 2][g % 2 * 2 + i];
        }
      }
      y[t][i] = 0;
      if (is_there) {
        const float before = own.state[t][i];
        state = next_state<K_CELL, GATES>(x[t][i], h, before, memory);
        if (is_over(p, at, sample)) {
          state = before;
        } else {
          own.cell[t][i] = memory;
          y[t][i] = state;
        }
        own.state[t][i] = state;
      }
      put_state(states, sample, number, state);
    }
  }
}

CLUSTER_KERNEL_OF(THREADS, BLOCKS, recurrent_tensor, bsm_cuda_recurrent) {
  DYNAMIC_SHARED(memory);
  const int room = (int)((p.batch + gridDim.y - 1) / gridDim.y);
  place at;
  at.direction = (int)blockIdx.z;
  at.block = (int)blockIdx.x;
  at.first = (int)blockIdx.y * room;
  const i64 left = p.batch - at.first;
  at.samples = left < room ? (int)left : room;
  const i64 rest = p.length - p.round;
  at.steps = (int)(rest < p.chunk ? rest : p.chunk);
  at.step = 0;
  const int unit = (int)threadIdx.x / 32 * 8 + (int)threadIdx.x % 32 / 4;
  const int number = at.block * UNITS + unit;
  const bool is_unit = number < K_HIDDEN;

  weights_of_unit w;
  w.outside = (uint4 *)(memory + 4 * STATES * sizeof(T)) + threadIdx.x;
  load_weights(p, at, w);
  float bias[GATES] = {0};
  if (is_unit) load_bias(p, at, unit, bias);
  wait_for_previous();
  unit_state own;
  input_sums x;
  begin(p, memory, at, number, own);
  load_inputs(p, at, unit, is_unit, x);
  ptx_cluster_arrive();
  ptx_cluster_wait();
  for (; at.step < at.steps; at.step++) {
    const int which = at.step % 2;
    gate_sums sums;
    float y[K_TILES][2];
    multiply_states(w, states_of(memory, which), sums);
    finish(p, at, number, sums, x, bias, states_of(memory, 1 - which), own, y);
    __syncwarp();
    tell(states_of(memory, 1 - which), at.block);
    // What is stored before arriving, all wait for.
    ptx_cluster_arrive();
#pragma unroll
    for (int i = 0; i < 2 * K_TILES; i++) {
      const int sample = sample_of(i / 2, i % 2);
      if (is_unit && sample < at.samples) {
        put_output(p, at, sample, unit, y[i / 2][i % 2]);
      }
    }
    if (at.step + 1 < at.steps) {
      place next = at;
      next.step++;
      load_inputs(p, next, unit, is_unit, x);
    }
    ptx_cluster_wait();
  }
  end(p, at, number, own);
}
