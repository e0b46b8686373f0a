/* SPDX-License-Identifier: Apache-2.0 */
/* Windows as slices, one for each element of the window; see windows.h. */
#include "conversion/windows.h"

/* The largest window; more layers than this make no sense. */
#define PLACES_MAX 4096

bool bsm_windows_count(bsm_conversion_ctx *ctx, const bsm_windows *windows,
                       bsm_dims x, bsm_dims *out) {
  const bsm_windows *w = windows;
  int32_t first = x.rank - w->kernel.rank;
  *out = w->kernel;
  for (int32_t i = 0; i < w->kernel.rank; i++) {
    int64_t limit = INT32_MAX, k = w->kernel.d[i], s = w->stride.d[i];
    int64_t p = w->padding.d[i], q = w->post_padding.d[i];
    int64_t d = w->dilation.d[i];
    if (k < 1 || k > limit || s < 1 || s > limit || d < 1 || d > limit ||
        p < 0 || p > limit || q < 0 || q > limit) {
      bsm_emit_fail(ctx, BSM_INVALID_ARGUMENT,
                    "a window of %lld, stride %lld, padding %lld and %lld, "
                    "dilation %lld",
                    (long long)k, (long long)s, (long long)p, (long long)q,
                    (long long)d);
      return false;
    }
    int64_t room = x.d[first + i] + p + q - (d * (k - 1) + 1);
    if (room < 0) {
      bsm_emit_fail(ctx, BSM_INVALID_ARGUMENT,
                    "a window of %lld with dilation %lld does not fit into "
                    "%lld",
                    (long long)k, (long long)d,
                    (long long)(x.d[first + i] + p + q));
      return false;
    }
    out->d[i] = room / s + 1;
  }
  return true;
}

static bsm_itensor *padded(bsm_conversion_ctx *ctx, bsm_itensor *x,
                           const bsm_windows *w, double fill) {
  bsm_dims start = {0}, size = x->dims, stride = {0};
  int32_t first = x->dims.rank - w->kernel.rank;
  bool any = false;
  start.rank = stride.rank = size.rank;
  for (int32_t i = 0; i < size.rank; i++) stride.d[i] = 1;
  for (int32_t i = 0; i < w->kernel.rank; i++) {
    start.d[first + i] = -w->padding.d[i];
    size.d[first + i] += w->padding.d[i] + w->post_padding.d[i];
    any |= w->padding.d[i] > 0 || w->post_padding.d[i] > 0;
  }
  if (!any) return x;
  bsm_layer *layer = bsm_network_add_slice(ctx->net, x, start, size, stride);
  bsm_slice_set_mode(layer, BSM_PADDING_CONSTANT, fill);
  return bsm_emit(ctx, layer);
}

/* The elements of the padded input that place `at` of every window covers. */
static bsm_itensor *place(bsm_conversion_ctx *ctx, bsm_itensor *x,
                          const bsm_windows *w, bsm_dims count,
                          const int64_t *at) {
  bsm_dims start = {0}, stride = {0};
  if (!x) return NULL;
  bsm_dims size = x->dims;
  int32_t first = x->dims.rank - count.rank;
  start.rank = stride.rank = size.rank;
  for (int32_t i = 0; i < size.rank; i++) stride.d[i] = 1;
  for (int32_t i = 0; i < count.rank; i++) {
    start.d[first + i] = at[i] * w->dilation.d[i];
    stride.d[first + i] = w->stride.d[i];
    size.d[first + i] = count.d[i];
  }
  return bsm_emit(ctx, bsm_network_add_slice(ctx->net, x, start, size, stride));
}

bsm_itensor *bsm_emit_windows(bsm_conversion_ctx *ctx, bsm_itensor *x,
                              const bsm_windows *windows, double fill) {
  bsm_dims count;
  int64_t places = 1, at[BSM_MAX_RANK] = {0};
  int32_t rank = windows->kernel.rank, axis = bsm_rank(x) - rank;
  if (!x || !bsm_windows_count(ctx, windows, x->dims, &count)) return NULL;
  for (int32_t i = 0; i < rank; i++) {
    places = places > PLACES_MAX ? places : places * windows->kernel.d[i];
  }
  if (places > PLACES_MAX || axis < 1) {
    return bsm_emit_fail(ctx, BSM_UNSUPPORTED, "windows of %s over dims %s",
                         bsm_dims_str(windows->kernel), bsm_dims_str(x->dims));
  }
  bsm_itensor **parts =
      bsm_conversion_alloc(ctx, (size_t)places * sizeof(bsm_itensor *));
  if (!parts) return bsm_emit_fail(ctx, BSM_OUT_OF_MEMORY, "out of memory");
  x = padded(ctx, x, windows, fill);
  for (int64_t k = 0; k < places; k++) {
    parts[k] = bsm_emit_unsqueeze(ctx, place(ctx, x, windows, count, at), axis);
    for (int32_t i = rank - 1; i >= 0 && ++at[i] == windows->kernel.d[i]; i--) {
      at[i] = 0;
    }
  }
  return bsm_emit_concat(ctx, parts, (size_t)places, axis);
}
