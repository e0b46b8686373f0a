// SPDX-License-Identifier: Apache-2.0
// Reductions over any axes: K_GROUP threads for each output. Options: K_FROM,
// K_TO; of the step: K_OPERATION (bsm_reduce_operation); of sizes: K_OUTER,
// K_INNER (loops), K_GROUP.
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "loops.cuh"

#ifndef K_OPERATION
#define K_OPERATION (int)p.operation
#endif
#ifndef K_OUTER
#define K_OUTER p.outer_loops
#define K_INNER p.inner_loops
#endif

enum { SUM, PROD, MAX, MIN, AVG, ANY, ALL, L2, L1, VARIANCE };

typedef element<K_FROM>::value loaded;
typedef sum_of<loaded>::type value;

template <class T>
struct is_integer {
  static const bool value = false;
};
template <>
struct is_integer<i64> {
  static const bool value = true;
};

template <class T>
DEVICE T absolute(T x) { return x < 0 ? multiply(x, (T)-1) : x; }

DEVICE value start(int operation) {
  return (value)(operation == PROD || operation == ALL ? 1 : 0);
}
DEVICE value map(int operation, value x, value mean) {
  switch (operation) {
    case ANY: case ALL: return (value)(x != 0);
    case L2: return multiply(x, x);
    case L1: return absolute(x);
    case VARIANCE: return multiply(add(x, multiply(mean, (value)-1)),
                                  add(x, multiply(mean, (value)-1)));
    default: return x;
  }
}
DEVICE value join(int operation, value a, value b) {
  switch (operation) {
    case PROD: return multiply(a, b);
    case MAX: return a != a || a > b ? a : b;
    case MIN: return a != a || a < b ? a : b;
    case ANY: return (value)(a != 0 || b != 0);
    case ALL: return (value)(a != 0 && b != 0);
    default: return add(a, b);
  }
}

struct sum {
  DEVICE value operator()(value a, value b) const { return add(a, b); }
};
struct joining {
  int operation;
  DEVICE value operator()(value a, value b) const {
    return join(operation, a, b);
  }
};

DEVICE value load_at(const bsm_cuda_nested &p, const i64 *outer, i64 i) {
  i64 offset[2] = {outer[0], outer[1]};
  seek<2>(K_INNER, i, p.inner_sizes, p.inner_strides, offset);
  return convert<value>::from(load<K_FROM>(p.address[1], offset[1]));
}

template <int GROUP>
DEVICE void run(const bsm_cuda_nested &p) {
  const grouped<GROUP> g;
  for (i64 o = g.first; o < p.outer_count; o += g.step) {
    i64 outer[2] = {0, 0};
    seek<2>(K_OUTER, o, p.outer_sizes, p.outer_strides, outer);
    value mean = 0;
    if (K_OPERATION == VARIANCE) {
      value total = 0;
      for (i64 i = g.rank; i < p.inner_count; i += GROUP) {
        total = add(total, load_at(p, outer, i));
      }
      mean = combine<GROUP>(total, sum()) / (value)p.inner_count;
    }
    value a = start(K_OPERATION);
    if (K_OPERATION == MAX || K_OPERATION == MIN) a = load_at(p, outer, 0);
    for (i64 i = g.rank; i < p.inner_count; i += GROUP) {
      a = join(K_OPERATION, a, map(K_OPERATION, load_at(p, outer, i), mean));
    }
    a = combine<GROUP>(a, joining{K_OPERATION});
    if (g.rank) continue;
    if (K_OPERATION == AVG) {
      a = is_integer<value>::value && p.inner_count == 0 ? a : a / (value)p.inner_count;
    }
    if (K_OPERATION == L2 && !is_integer<value>::value) a = (value)sqrt((double)a);
    if (K_OPERATION == VARIANCE) {
      // Of no elements it is NaN, whatever the correction.
      const double d = p.inner_count ? (double)p.inner_count - p.number : 0;
      a = a / (value)(d > 0 ? d : 0);
    }
    store<K_TO>(p.address[0], outer[0], a);
  }
}

KERNEL(reduce, bsm_cuda_nested) { RUN_GROUPED(run, p); }
