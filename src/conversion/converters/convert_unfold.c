/* SPDX-License-Identifier: Apache-2.0 */
/* unfold and fold (im2col and col2im): windows side by side, and summed. */
#include "conversion/windows.h"

/* The arguments kernel_size, dilation, padding, stride from `first` on. */
static bool window_args(bsm_conversion_ctx *ctx, const bsm_args *args,
                        size_t first, bsm_windows *out) {
  static const char *const names[] = {"kernel_size", "dilation", "padding",
                                      "stride"};
  bsm_dims *const fields[] = {&out->kernel, &out->dilation, &out->padding,
                              &out->stride};
  for (size_t i = 0; i < 4; i++) {
    size_t count;
    const int64_t *values = bsm_arg_unwrap_to_int_list(args, first + i, &count);
    if (!bsm_spatial_dims(ctx, values, count, 2, names[i], fields[i])) {
      return false;
    }
  }
  out->post_padding = out->padding;
  return true;
}

/* [N, C, H, W] -> [N, C * K, L]; unbatched without N. */
static bsm_status convert_im2col(bsm_conversion_ctx *ctx, const bsm_node *node,
                                 const bsm_args *args) {
  enum { SELF, KERNEL_SIZE };
  bsm_windows w;
  bsm_dims count;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  if (!x || !window_args(ctx, args, KERNEL_SIZE, &w)) {
    return bsm_ctx_take_error(ctx);
  }
  BSM_CHECK(bsm_rank(x) == 3 || bsm_rank(x) == 4,
            "unfold of an input with dims %s", bsm_dims_str(x->dims));
  bool single = bsm_rank(x) == 3;
  if (single) x = bsm_emit_unsqueeze(ctx, x, 0);
  if (!x || !bsm_windows_count(ctx, &w, x->dims, &count)) {
    return bsm_ctx_take_error(ctx);
  }
  bsm_dims out = {3,
                  {x->dims.d[0], x->dims.d[1] * w.kernel.d[0] * w.kernel.d[1],
                   count.d[0] * count.d[1]}};
  x = bsm_emit_reshape(ctx, bsm_emit_windows(ctx, x, &w, 0), out);
  if (single) x = bsm_emit_squeeze(ctx, x, 1);
  return bsm_emit_output(ctx, node, 0, x);
}

/* ---- fold ----
 *
 * Windows are folded as [B, taps, phase, taps, phase, count, count]: a place of
 * a window of stride s is s * tap + phase, and window l adds it to element
 * s * (l + tap) + phase of its dimension. So taps are summed, each moved on by
 * one more than the tap before it, and phases then lie between the sums. */

enum { TAPS = 1, COUNT = 5 }; /* axes; TAPS + 2 and COUNT + 1 of the second */

/* The elements of x from `start` on, and zeros outside of it. */
static bsm_itensor *cut(bsm_conversion_ctx *ctx, bsm_itensor *x, bsm_dims start,
                        bsm_dims size) {
  bsm_dims stride = size;
  bool whole = true, inside = true;
  if (!x) return NULL;
  for (int32_t i = 0; i < size.rank; i++) {
    const int64_t at = start.d[i], room = x->dims.d[i] - at;
    stride.d[i] = 1;
    inside = inside && at >= 0 && size.d[i] <= room;
    whole = whole && at == 0 && size.d[i] == room;
  }
  if (whole) return x;
  bsm_layer *layer = bsm_network_add_slice(ctx->net, x, start, size, stride);
  if (!inside) bsm_slice_set_mode(layer, BSM_PADDING_CONSTANT, 0);
  return bsm_emit(ctx, layer);
}

/* The same of one dimension. */
static bsm_itensor *grow(bsm_conversion_ctx *ctx, bsm_itensor *x, int32_t axis,
                         int64_t before, int64_t size) {
  if (!x || x->dims.d[axis] == size) return x;
  bsm_dims rows = {3, {1, x->dims.d[axis], 1}}, grown = x->dims;
  for (int32_t i = 0; i < grown.rank; i++) {
    if (i != axis) rows.d[i < axis ? 0 : 2] *= grown.d[i];
  }
  grown.d[axis] = size;
  x = bsm_emit_reshape(ctx, x, rows);
  rows.d[1] = size;
  x = cut(ctx, x, (bsm_dims){3, {0, -before}}, rows);
  return bsm_emit_reshape(ctx, x, grown);
}

/* Taps of dimension `i` of x, of which each moves by `step` from the one before
 * it, so that element `l` of tap `k` is added to sum l + k * step. */
typedef struct tap_row {
  bsm_itensor *x;
  int32_t i;
  int64_t step;
} tap_row;

/* n sums from sum `from` on, to which taps `first` to `last` add; none where
 * the last comes before the first. */
static bsm_itensor *sum_taps(bsm_conversion_ctx *ctx, const tap_row *t,
                             int64_t from, int64_t n, int64_t first,
                             int64_t last) {
  const bool is_bool = t->x->dtype == BSM_DTYPE_BOOL;
  bsm_dims start = {t->x->dims.rank, {0}}, size = t->x->dims;
  bsm_itensor *sum = NULL;
  size.d[TAPS + 2 * t->i] = 1;
  size.d[COUNT + t->i] = n;
  if (first > last) return bsm_emit_fill(ctx, t->x->dtype, size, 0);
  for (int64_t k = first; k <= last; k++) {
    start.d[TAPS + 2 * t->i] = k;
    start.d[COUNT + t->i] = from - k * t->step;
    bsm_itensor *tap = cut(ctx, t->x, start, size);
    sum = k == first ? tap
                     : bsm_emit_binary(ctx, sum, tap,
                                       is_bool ? BSM_ELEMENT_WISE_OR
                                               : BSM_ELEMENT_WISE_SUM);
  }
  return sum;
}

/* Sums `from` to `end`: pieces by which taps add to them, so that nothing is
 * copied. Of many taps x gets ends of zeros, so that there is one piece. */
static bsm_itensor *overlap(bsm_conversion_ctx *ctx, bsm_itensor *x, int32_t i,
                            int64_t step, int64_t from, int64_t end) {
  enum { MANY = 8 };
  bsm_itensor *pieces[2 * MANY];
  size_t pieces_made = 0;
  const int64_t count = x->dims.d[TAPS + 2 * i], reach = (count - 1) * step;
  if (count > MANY || step > x->dims.d[COUNT + i]) {
    x = grow(ctx, x, COUNT + i, reach, x->dims.d[COUNT + i] + 2 * reach);
    from += reach;
    end += reach;
  }
  if (!x) return NULL;
  const tap_row t = {x, i, step};
  for (int64_t to; from < end; from = to) {
    const int64_t begun = from / step, past = from - x->dims.d[COUNT + i];
    const int64_t last = begun < count ? begun : count - 1;
    const int64_t first = past < 0 ? 0 : past / step + 1;
    to = first * step + x->dims.d[COUNT + i];
    if (last + 1 < count && to > (last + 1) * step) to = (last + 1) * step;
    if (to > end) to = end;
    pieces[pieces_made] = sum_taps(ctx, &t, from, to - from, first, last);
    if (!pieces[pieces_made++]) return NULL;
  }
  return bsm_emit_concat(ctx, pieces, pieces_made, COUNT + i);
}

/* [B, K, K, L, L] in the form above. Zeros fill a window up to whole strides,
 * and stand between its places where both stride and dilation are more than 1.
 */
static bsm_itensor *to_phases(bsm_conversion_ctx *ctx, bsm_itensor *x,
                              const bsm_dims *stride, const bsm_dims *spread) {
  if (!x) return NULL;
  bsm_dims d = x->dims;
  bsm_dims split = {7, {d.d[0], d.d[1], 1, d.d[2], 1, d.d[3], d.d[4]}};
  x = bsm_emit_reshape(ctx, x, split);
  for (int32_t i = 0; i < 2; i++) {
    x = grow(ctx, x, TAPS + 2 * i + 1, 0, spread->d[i]);
    d.d[1 + i] *= spread->d[i];
  }
  x = bsm_emit_reshape(ctx, x, d);
  for (int32_t i = 0; i < 2; i++) {
    const int64_t s = stride->d[i], taps = (d.d[1 + i] + s - 1) / s;
    x = grow(ctx, x, 1 + i, 0, taps * s);
    split.d[TAPS + 2 * i] = taps;
    split.d[TAPS + 2 * i + 1] = s;
  }
  return bsm_emit_reshape(ctx, x, split);
}

/* Sums the windows [N, C * K, L] into [N, C, H, W]. Where there are fewer
 * windows than taps, they change places. */
static bsm_itensor *fold(bsm_conversion_ctx *ctx, bsm_itensor *x,
                         const bsm_windows *w, bsm_dims size, bsm_dims count) {
  const bsm_dims k = w->kernel;
  const int64_t n = x->dims.d[0], c = x->dims.d[1] / (k.d[0] * k.d[1]);
  bsm_dims stride = w->stride, spread = {2, {1, 1}}, step = spread;
  bsm_dims start = {3, {0}}, sums = {3, {n * c}}, ends = sums;
  const bsm_dims out = {4, {n, c, size.d[0], size.d[1]}};
  if (n * c == 0) return bsm_emit_fill(ctx, x->dtype, out, 0);
  for (int32_t i = 0; i < 2; i++) {
    const int64_t dilation = k.d[i] == 1 ? 1 : w->dilation.d[i];
    if (count.d[i] == 1 && k.d[i] > 1) stride.d[i] = k.d[i] * dilation;
    (stride.d[i] == 1 ? &step : &spread)->d[i] = dilation;
  }
  x = bsm_emit_reshape(
      ctx, x, (bsm_dims){5, {n * c, k.d[0], k.d[1], count.d[0], count.d[1]}});
  x = to_phases(ctx, x, &stride, &spread);
  for (int32_t i = 0; x && i < 2; i++) {
    const int64_t *taps = &x->dims.d[TAPS + 2 * i], pad = w->padding.d[i];
    if (step.d[i] == 1 && x->dims.d[COUNT + i] < *taps) {
      x = bsm_emit_transpose(ctx, x, TAPS + 2 * i, COUNT + i);
      if (!x) return NULL;
      taps = &x->dims.d[TAPS + 2 * i];
    }
    ends.d[1 + i] = size.d[i];
    if (stride.d[i] == 1) {
      x = overlap(ctx, x, i, step.d[i], pad, pad + size.d[i]);
      sums.d[1 + i] = size.d[i];
    } else {
      const int64_t all = x->dims.d[COUNT + i] + *taps - 1;
      x = overlap(ctx, x, i, 1, 0, all);
      sums.d[1 + i] = all * stride.d[i];
      start.d[1 + i] = pad;
    }
  }
  x = bsm_emit_permute(ctx, x, (bsm_dims){7, {0, 1, 3, 5, 2, 6, 4}});
  x = cut(ctx, bsm_emit_reshape(ctx, x, sums), start, ends);
  return bsm_emit_reshape(ctx, x, out);
}

static bsm_status convert_col2im(bsm_conversion_ctx *ctx, const bsm_node *node,
                                 const bsm_args *args) {
  enum { SELF, OUTPUT_SIZE, KERNEL_SIZE };
  bsm_windows w;
  bsm_dims size, count;
  size_t n;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  const int64_t *sizes = bsm_arg_unwrap_to_int_list(args, OUTPUT_SIZE, &n);
  if (!x || !bsm_spatial_dims(ctx, sizes, n, 2, "output_size", &size) ||
      !window_args(ctx, args, KERNEL_SIZE, &w) ||
      !bsm_windows_count(ctx, &w, size, &count)) {
    return bsm_ctx_take_error(ctx);
  }
  bool single = bsm_rank(x) == 2;
  if (single) x = bsm_emit_unsqueeze(ctx, x, 0);
  if (!x) return bsm_ctx_take_error(ctx);
  BSM_CHECK(w.kernel.d[0] <= 4096 && w.kernel.d[1] <= 4096 &&
                w.kernel.d[0] * w.kernel.d[1] <= 4096,
            "fold of windows of %s", bsm_dims_str(w.kernel));
  BSM_CHECK(bsm_rank(x) == 3 && size.d[0] > 0 && size.d[1] > 0 &&
                x->dims.d[1] % (w.kernel.d[0] * w.kernel.d[1]) == 0 &&
                x->dims.d[2] == count.d[0] * count.d[1],
            "fold of dims %s: %lld x %lld windows of %lld x %lld make %s",
            bsm_dims_str(x->dims), (long long)count.d[0], (long long)count.d[1],
            (long long)w.kernel.d[0], (long long)w.kernel.d[1],
            bsm_dims_str(size));
  x = fold(ctx, x, &w, size, count);
  if (single) x = bsm_emit_squeeze(ctx, x, 1);
  return bsm_emit_output(ctx, node, 0, x);
}

static const bsm_conversion_pattern patterns[] = {
    {"aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] "
     "padding, int[2] stride) -> Tensor",
     convert_im2col, 0},
    {"aten::col2im(Tensor self, int[2] output_size, int[2] kernel_size, int[2] "
     "dilation, int[2] padding, int[2] stride) -> Tensor",
     convert_col2im, 0},
};
BSM_CONVERTER_TABLE(unfold, patterns);
