/* SPDX-License-Identifier: Apache-2.0 */
/* The body of sample_f32.h, over the vocabulary of simd/simd_<isa>.h. The
 * taps of all places are found first, for a vector of places at once; then each
 * place is summed, a vector of channels at once. */
#include <math.h>

#include "backend/cpu/kernels/sample/sample_f32.h"
#include "backend/cpu/kernels/simd/unroll.h"

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define STRING_(a) #a
#define STRING(a) STRING_(a)

#define PLACES BSM_K_SAMPLE_PLACES
#define MAX_TAPS 4
#define MAX_ROWS 4 /* taps of all axes but the last */

/* The taps of all places along one axis. An index may be outside. */
typedef struct axis_taps {
  int32_t index[MAX_TAPS][PLACES];
  float weight[MAX_TAPS][PLACES];
} axis_taps;

/* The taps of one place that are inside. */
typedef struct tap {
  int64_t offset;
  float weight;
} tap;

/* Into 0 .. n - 1; NaN becomes 0. */
static vf clip(vf x, vf last) {
  return vf_min(vf_max(x, vf_zero()), last);
}

/* Reflects at the centres of the outer pixels, or at their edges. */
static vf reflect(vf x, int64_t n, int32_t align) {
  const vf low = vf_set(align ? 0.0f : 0.5f);
  const vf twice = vf_set((float)(2 * (align ? n - 1 : n)));
  if (align && n == 1) return vf_zero();
  x = vf_abs(vf_add(x, low));
  x = vf_fnma(vf_trunc(vf_div(x, twice)), twice, x);
  x = vf_sub(vf_min(x, vf_sub(twice, x)), low);
  return clip(x, vf_set((float)(n - 1)));
}

static vf into_range(const bsm_k_sample_args *a, vf x, int64_t n) {
  if (a->padding == BSM_K_SAMPLE_ZEROS) return x;
  if (a->padding == BSM_K_SAMPLE_REFLECTION) return reflect(x, n, a->align);
  return clip(x, vf_set((float)(n - 1)));
}

/* -1 and n stand for all that is outside, -1 for NaN. */
static void put_index(vf x, int64_t n, int32_t *index) {
  x = vf_min(vf_max(x, vf_set(-1.0f)), vf_set((float)n));
  vi_store(index, vf_to_int(x));
}

/* Keys' kernel with A = -0.75, 0 to 1 and 1 to 2 away. */
static vf cubic_near(vf t) {
  const vf y = vf_fma(vf_set(1.25f), t, vf_set(-2.25f));
  return vf_fma(vf_mul(y, t), t, vf_set(1.0f));
}

static vf cubic_far(vf t) {
  vf y = vf_fma(vf_set(-0.75f), t, vf_set(3.75f));
  y = vf_fma(y, t, vf_set(-6.0f));
  return vf_fma(y, t, vf_set(3.0f));
}

static void cubic_taps(const bsm_k_sample_args *a, vf x, int64_t n, int64_t p,
                       axis_taps *out) {
  const vf base = vf_floor(x), t = vf_sub(x, base), one = vf_set(1.0f);
  const vf rest = vf_sub(one, t);
  vf_store(out->weight[0] + p, cubic_far(vf_add(t, one)));
  vf_store(out->weight[1] + p, cubic_near(t));
  vf_store(out->weight[2] + p, cubic_near(rest));
  vf_store(out->weight[3] + p, cubic_far(vf_add(rest, one)));
  for (int i = 0; i < 4; i++) {
    const vf at = vf_add(base, vf_set((float)(i - 1)));
    put_index(into_range(a, at, n), n, out->index[i] + p);
  }
}

/* The taps of the places p .. p + VF_W - 1, whose coordinates are `g`. */
static void find_taps(const bsm_k_sample_args *a, vf g, int64_t n, int64_t p,
                      axis_taps *out) {
  const vf one = vf_set(1.0f);
  vf x = vf_mul(vf_add(g, one), vf_set((float)(a->align ? n - 1 : n) / 2.0f));
  if (!a->align) x = vf_sub(x, vf_set(0.5f));
  if (a->mode == BSM_K_SAMPLE_CUBIC) {
    cubic_taps(a, x, n, p, out);
    return;
  }
  x = into_range(a, x, n);
  if (a->mode == BSM_K_SAMPLE_NEAREST) {
    put_index(vf_round(x), n, out->index[0] + p);
    vf_store(out->weight[0] + p, one);
    return;
  }
  const vf base = vf_floor(x), t = vf_sub(x, base);
  put_index(base, n, out->index[0] + p);
  put_index(vf_add(base, one), n, out->index[1] + p);
  vf_store(out->weight[0] + p, vf_sub(one, t));
  vf_store(out->weight[1] + p, t);
}

static void find_axis(const bsm_k_sample_args *a, int32_t axis,
                      axis_taps *out) {
  float coordinate[PLACES];
  const float *g = a->grid + (a->axes - 1 - axis);
  vf_store(coordinate + (a->count - 1) / VF_W * VF_W, vf_zero());
  for (int64_t p = 0; p < a->count; p++) coordinate[p] = g[p * a->axes];
  for (int64_t p = 0; p < a->count; p += VF_W) {
    find_taps(a, vf_load(coordinate + p), a->size[axis], p, out);
  }
}

/* Those of place p that are inside. */
static __attribute__((noinline)) int inner_taps(const bsm_k_sample_args *a,
                                                int32_t axis, int taps,
                                                const axis_taps *all, int64_t p,
                                                tap *out) {
  int count = 0;
  for (int i = 0; i < taps; i++) {
    const int32_t index = all->index[i][p];
    out[count].offset = index * a->stride[axis];
    out[count].weight = all->weight[i][p];
    count += index >= 0 && index < a->size[axis];
  }
  return count;
}

/* The combinations of the taps of all axes but the last. */
static int inner_rows(const bsm_k_sample_args *a, int taps,
                      const axis_taps *all, int64_t p, tap *out) {
  tap first[MAX_TAPS], second[MAX_TAPS];
  if (a->axes == 2) return inner_taps(a, 0, taps, &all[0], p, out);
  const int outer = inner_taps(a, 0, taps, &all[0], p, first);
  const int inner = inner_taps(a, 1, taps, &all[1], p, second);
  int count = 0;
  for (int i = 0; i < outer; i++) {
    for (int k = 0; k < inner; k++, count++) {
      out[count].offset = first[i].offset + second[k].offset;
      out[count].weight = first[i].weight * second[k].weight;
    }
  }
  return count;
}

/* n channels from x on. */
VF_INLINE vf sum_taps(const float *x, const tap *rows, int row_count,
                      const tap *columns, int column_count, int64_t n) {
  vf sum = vf_zero();
  for (int r = 0; r < row_count; r++) {
    const float *row = x + rows[r].offset;
    vf line = vf_zero();
    for (int k = 0; k < column_count; k++) {
      const float *at = row + columns[k].offset;
      const vf v = n == VF_W ? vf_load(at) : vf_load_n(at, n);
      line = vf_fma(v, vf_set(columns[k].weight), line);
    }
    sum = vf_fma(line, vf_set(rows[r].weight), sum);
  }
  return sum;
}

/* Whether a place of an image has a coordinate that is no number, or infinite:
 * its weights are NaN then, which PyTorch multiplies what is outside by, too.
 * Of volumes it leaves that out. */
static int is_nowhere(const bsm_k_sample_args *a, int taps,
                      const axis_taps *all, int64_t p) {
  if (a->axes != 2 || taps == 1) return 0;
  const float sum = all[0].weight[0][p] + all[1].weight[0][p];
  return sum != sum;
}

VF_INLINE void store_channels(float *y, vf sum, int64_t n) {
  float rest[VF_W]; /* stores by masks are slow for few channels */
  vf_store(rest, sum);
  for (int64_t i = 0; i < n; i++) y[i] = rest[i];
}

static void sum_place(const bsm_k_sample_args *a, int taps,
                      const axis_taps *all, int64_t p) {
  tap rows[MAX_ROWS], columns[MAX_TAPS];
  const int32_t last = a->axes - 1;
  const int row_count = inner_rows(a, taps, all, p, rows);
  const int column_count = inner_taps(a, last, taps, &all[last], p, columns);
  float *y = a->y + a->y_at[p];
  int64_t c = 0;
  if (is_nowhere(a, taps, all, p)) {
    while (c < a->channels) y[c++] = NAN;
    return;
  }
  for (; c + VF_W <= a->channels; c += VF_W) {
    vf_store(y + c,
             sum_taps(a->x + c, rows, row_count, columns, column_count, VF_W));
  }
  if (c == a->channels) return;
  const int64_t n = a->channels - c;
  store_channels(
      y + c, sum_taps(a->x + c, rows, row_count, columns, column_count, n), n);
}

/* Whether an index is inside, as a mask of bits. */
VF_INLINE int64_t if_inside(int64_t index, int64_t size) {
  return -(int64_t)(index >= 0 && index < size);
}

/* Two taps of two axes, as sum_place sums them. Less than a vector of channels
 * needs no branches: of pixels that are outside none are loaded. */
static void sum_four(const bsm_k_sample_args *a, const axis_taps *all,
                     int64_t p) {
  /* Of each axis the first; the second that is inside is the next one. */
  const int64_t row = all[0].index[0][p], column = all[1].index[0][p];
  const int64_t down = a->stride[0], right = a->stride[1];
  const int64_t in[2] = {if_inside(row, a->size[0]),
                         if_inside(all[0].index[1][p], a->size[0])};
  const int64_t left = if_inside(column, a->size[1]);
  const int64_t next = if_inside(all[1].index[1][p], a->size[1]);
  if (a->channels >= VF_W && !(in[0] & in[1] & left & next)) {
    sum_place(a, 2, all, p);
    return;
  }
  const vf w0 = vf_set(all[1].weight[0][p]), w1 = vf_set(all[1].weight[1][p]);
  const float *x = a->x + row * down + column * right;
  float *y = a->y + a->y_at[p];
  for (int64_t c = 0; c < a->channels; c += VF_W) {
    const int64_t n = a->channels - c;
    vf sum = vf_zero();
    UNROLL for (int r = 0; r < 2; r++) {
      const float *at = x + r * down + c;
      vf v0, v1;
      if (n >= VF_W) {
        v0 = vf_load(at);
        v1 = vf_load(at + right);
      } else {
        v0 = vf_load_n(at, n & in[r] & left);
        v1 = vf_load_n(at + right, n & in[r] & next);
      }
      const vf line = vf_fma(v1, w1, vf_fma(v0, w0, vf_zero()));
      sum = vf_fma(line, vf_set(all[0].weight[r][p]), sum);
    }
    if (n >= VF_W) {
      vf_store(y + c, sum);
    } else {
      store_channels(y + c, sum, n);
    }
  }
}

static void places(const bsm_k_sample_args *a) {
  axis_taps all[BSM_K_SAMPLE_AXES];
  const int taps = a->mode == BSM_K_SAMPLE_CUBIC    ? 4
                   : a->mode == BSM_K_SAMPLE_LINEAR ? 2
                                                    : 1;
  for (int32_t i = 0; i < a->axes; i++) find_axis(a, i, &all[i]);
  const int four = taps == 2 && a->axes == 2;
  for (int64_t p = 0; p < a->count; p++) {
    if (four) {
      sum_four(a, all, p);
    } else {
      sum_place(a, taps, all, p);
    }
  }
}

const bsm_k_sample PASTE(bsm_k_sample_, BSM_K_SUFFIX) = {
    .name = STRING(BSM_K_SUFFIX), .places = places};
