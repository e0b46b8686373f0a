/* SPDX-License-Identifier: Apache-2.0 */
/* The shapes that inputs have in the worlds. */
#include "lowering/specialize/worlds/world_shapes.h"

/* A size that as many dims of the input as possible can have. */
static int64_t common_size(const bsm_lowering_range *r, int32_t dim) {
  int64_t size = r->min.d[dim];
  for (int32_t i = 0; i < r->min.rank; i++) {
    const bool ranges = r->min.d[i] != r->max.d[i];
    if (ranges && r->min.d[i] > size && r->min.d[i] <= r->max.d[dim]) {
      size = r->min.d[i];
    }
  }
  return size;
}

static uint64_t mix(uint64_t x) {
  x ^= x >> 31;
  x *= UINT64_C(0x9e3779b97f4a7c15);
  x ^= x >> 29;
  x *= UINT64_C(0xbf58476d1ce4e5b9);
  return x ^ x >> 32;
}

/* A size that ranges, at its place among others. */
typedef struct size_range {
  int64_t low, opt, high;
  uint32_t place;
  int64_t common; /* what as many of them as possible can be */
} size_range;

/* Any shape: by turns every size of the dim after the other and one at random;
 * by turns dims are apart from each other, or the same where they range alike,
 * such as the batch at different places of several inputs. */
static int64_t sampled_size(const size_range *r, uint32_t sample) {
  const uint64_t low = (uint64_t)r->low;
  const uint64_t sizes = (uint64_t)r->high - low + 1;
  const uint64_t turn = sample / 4;
  const uint64_t place = sample % 2 ? (uint64_t)r->place + 1 : 0;
  if (!sizes) { /* all of them */
    return r->opt;
  }
  if (sample % 4 < 2) {
    return (int64_t)(low + mix(turn * 8191 + place * 31 + low + sizes) % sizes);
  }
  const uint64_t step = sizes > 64 ? sizes / 8 * 5 + 1 : 1;
  return (int64_t)(low + (turn * step + place * (sizes / 3 + 1)) % sizes);
}

static int64_t size_in(const size_range *r, uint32_t shape) {
  const int64_t low = r->low, high = r->high, span = high - low;
  switch (shape) {
    case 0:
      return r->opt;
    case 1:
      return low;
    case 2:
      return high;
    case 3:
      return r->place % 2 ? high : low;
    case 4:
      return r->place % 2 ? low : high;
    case 5:
      return r->common;
    case 6:
    case 7: {
      /* Apart from each other, and for each dim; one of them odd. */
      const int64_t step = 13 * (int64_t)(r->place % 7);
      const int64_t part = shape == 6 ? 7 + step : 94 - step;
      const int64_t size = low + span / 100 * part + span % 100 * part / 100;
      return shape == 6 && size < high ? size | 1 : size;
    }
    default:
      return sampled_size(r, shape - BSM_FIRST_WORLDS);
  }
}

int64_t bsm_world_size(const bsm_lowering_range *r, int32_t dim,
                       uint32_t shape) {
  const bsm_lowering_dim *follows = r->dims ? &r->dims[dim] : NULL;
  if (follows && follows->symbol) {
    const bsm_lowering_symbol *s = follows->symbol;
    const size_range of_symbol = {s->min, s->opt, s->max, s->id, s->min};
    return follows->scale * size_in(&of_symbol, shape) + follows->offset;
  }
  const size_range own = {r->min.d[dim], r->opt.d[dim], r->max.d[dim],
                          (uint32_t)dim, common_size(r, dim)};
  return size_in(&own, shape);
}

bool bsm_is_even_shape(uint32_t shape) {
  return shape < BSM_FIRST_WORLDS ? shape < 3
                                  : (shape - BSM_FIRST_WORLDS) % 2 == 0;
}

bsm_dims bsm_world_dims(const bsm_lowering_range *r, uint32_t shape) {
  bsm_dims dims = {.rank = r->opt.rank};
  for (int32_t i = 0; i < dims.rank; i++) {
    dims.d[i] = bsm_world_size(r, i, shape);
  }
  return dims;
}
