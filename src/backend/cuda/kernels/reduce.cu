// SPDX-License-Identifier: Apache-2.0
// Reductions over any axes: K_GROUP threads for each output. Options: K_FROM, K_TO,
// K_OPERATION (bsm_reduce_operation), K_OUTER, K_INNER (loops), K_GROUP.
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "loops.cuh"

enum { SUM, PROD, MAX, MIN, AVG, ANY, ALL, L2, L1, VARIANCE };

typedef element<K_FROM>::value loaded;
typedef sum_of<loaded>::type value;

template <class T>
DEVICE T absolute(T x) { return x < 0 ? multiply(x, (T)-1) : x; }

DEVICE value start() {
  return (value)(K_OPERATION == PROD || K_OPERATION == ALL ? 1 : 0);
}
DEVICE value map(value x, value mean) {
  switch (K_OPERATION) {
    case ANY: case ALL: return (value)(x != 0);
    case L2: return multiply(x, x);
    case L1: return absolute(x);
    case VARIANCE: return multiply(add(x, multiply(mean, (value)-1)),
                                  add(x, multiply(mean, (value)-1)));
    default: return x;
  }
}
DEVICE value join(value a, value b) {
  switch (K_OPERATION) {
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
  DEVICE value operator()(value a, value b) const { return join(a, b); }
};

DEVICE value load_at(const bsm_cuda_nested &p, const i64 *outer, i64 i) {
  i64 offset[2] = {outer[0], outer[1]};
  seek<K_INNER, 2>(i, p.inner_sizes, p.inner_strides, offset);
  return convert<value>::from(load<K_FROM>(p.address[1], offset[1]));
}

KERNEL(reduce, bsm_cuda_nested) {
  const grouped<K_GROUP> g;
  for (i64 o = g.first; o < p.outer_count; o += g.step) {
    i64 outer[2] = {0, 0};
    seek<K_OUTER, 2>(o, p.outer_sizes, p.outer_strides, outer);
    value mean = 0;
    if (K_OPERATION == VARIANCE) {
      value total = 0;
      for (i64 i = g.rank; i < p.inner_count; i += K_GROUP) {
        total = add(total, load_at(p, outer, i));
      }
      mean = combine<K_GROUP>(total, sum()) / (value)p.inner_count;
    }
    value a = start();
    if (K_OPERATION == MAX || K_OPERATION == MIN) a = load_at(p, outer, 0);
    for (i64 i = g.rank; i < p.inner_count; i += K_GROUP) {
      a = join(a, map(load_at(p, outer, i), mean));
    }
    a = combine<K_GROUP>(a, joining());
    if (g.rank) continue;
    if (K_OPERATION == AVG) {
      a = K_IS_INTEGER && p.inner_count == 0 ? a : a / (value)p.inner_count;
    }
    if (K_OPERATION == L2 && !K_IS_INTEGER) a = (value)sqrt((double)a);
    if (K_OPERATION == VARIANCE) {
      const double d = (double)p.inner_count - p.number;
      a = a / (value)(d > 0 ? d : 0);
    }
    store<K_TO>(p.address[0], outer[0], convert<element<K_TO>::value>::from(a));
  }
}
