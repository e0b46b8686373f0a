/* SPDX-License-Identifier: Apache-2.0 */
/* The converters' short forms; see emit.h. */
#include "conversion/emit.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bsm_itensor *bsm_emit(bsm_conversion_ctx *ctx, bsm_layer *layer) {
  if (!layer) return NULL;
  if (ctx->impl->node && !layer->name) {
    layer->name = bsm_node_info(ctx, ctx->impl->node);
  }
  return bsm_layer_output(layer, 0);
}

bsm_status bsm_emit_output(bsm_conversion_ctx *ctx, const bsm_node *node,
                           size_t index, bsm_itensor *tensor) {
  if (!tensor) {
    bsm_status status = bsm_ctx_take_error(ctx);
    if (status) return status;
    return BSM_FAIL(BSM_INTERNAL, "the converter made no tensor");
  }
  bsm_associate_value_and_tensor(ctx, bsm_node_output(node, index), tensor);
  return BSM_OK;
}

bsm_itensor *bsm_emit_fail(bsm_conversion_ctx *ctx, bsm_code code,
                           const char *format, ...) {
  char buffer[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(buffer, sizeof buffer, format, args);
  va_end(args);
  bsm_ctx_fail(ctx, BSM_FAIL(code, "%s", buffer));
  return NULL;
}

/* ---- dims ---- */

bool bsm_wrap_dim(bsm_conversion_ctx *ctx, int64_t dim, int32_t rank,
                  int32_t *out) {
  int32_t range = rank > 0 ? rank : 1;
  if (dim < -range || dim >= range) {
    bsm_emit_fail(ctx, BSM_OUT_OF_RANGE,
                  "Dimension out of range (expected to be in range of [%d, "
                  "%d], but got %lld)",
                  (int)-range, (int)(range - 1), (long long)dim);
    *out = 0;
    return false;
  }
  *out = (int32_t)(dim < 0 ? dim + range : dim);
  return true;
}

bool bsm_wrap_dims(bsm_conversion_ctx *ctx, const int64_t *dims, size_t count,
                   int32_t rank, uint32_t *out) {
  uint32_t bits = 0;
  *out = 0;
  for (size_t i = 0; i < count; i++) {
    int32_t dim;
    if (!bsm_wrap_dim(ctx, dims[i], rank, &dim)) return false;
    if (bits >> (unsigned)dim & 1u) {
      bsm_emit_fail(ctx, BSM_INVALID_ARGUMENT,
                    "dim %d appears multiple times in the list of dims",
                    (int)dim);
      return false;
    }
    bits |= 1u << (unsigned)dim;
  }
  *out = rank == 0 ? 0 : count == 0 ? (1u << (unsigned)rank) - 1 : bits;
  return true;
}

bsm_dims bsm_dims_of(const int64_t *values, size_t count) {
  bsm_dims dims = {0};
  dims.rank = (int32_t)(count <= BSM_MAX_RANK ? count : BSM_MAX_RANK);
  for (int32_t i = 0; i < dims.rank; i++) dims.d[i] = values[i];
  return dims;
}

bool bsm_spatial_dims(bsm_conversion_ctx *ctx, const int64_t *values,
                      size_t count, int32_t spatial, const char *what,
                      bsm_dims *out) {
  *out = (bsm_dims){0};
  out->rank = spatial;
  if (!values || (count != 1 && count != (size_t)spatial)) {
    bsm_emit_fail(ctx, BSM_INVALID_ARGUMENT,
                  "%s has %zu values, 1 or %d are needed", what, count,
                  (int)spatial);
    return false;
  }
  for (int32_t i = 0; i < spatial; i++) {
    out->d[i] = values[count == 1 ? 0 : i];
  }
  return true;
}

int64_t bsm_itensor_numel(const bsm_itensor *x) {
  int64_t count = 1; /* cannot overflow: checked when the tensor was made */
  for (int32_t i = 0; i < bsm_rank(x); i++) count *= x->dims.d[i];
  return count;
}

/* ---- layers ---- */

bsm_itensor *bsm_emit_cast(bsm_conversion_ctx *ctx, bsm_itensor *x,
                           bsm_dtype dtype) {
  if (!x || x->dtype == dtype) return x;
  return bsm_emit(ctx, bsm_network_add_cast(ctx->net, x, dtype));
}

bsm_itensor *bsm_emit_unary(bsm_conversion_ctx *ctx, bsm_itensor *x,
                            bsm_unary_operation operation) {
  if (!x) return NULL;
  return bsm_emit(ctx, bsm_network_add_unary(ctx->net, x, operation));
}

bsm_itensor *bsm_emit_binary(bsm_conversion_ctx *ctx, bsm_itensor *a,
                             bsm_itensor *b,
                             bsm_element_wise_operation operation) {
  if (!a || !b) return NULL;
  return bsm_emit(ctx, bsm_network_add_element_wise(ctx->net, a, b, operation));
}

bsm_itensor *bsm_emit_activation(bsm_conversion_ctx *ctx, bsm_itensor *x,
                                 bsm_activation_type type, double alpha,
                                 double beta) {
  if (!x) return NULL;
  bsm_layer *layer = bsm_network_add_activation(ctx->net, x, type);
  bsm_activation_set_alpha(layer, alpha);
  bsm_activation_set_beta(layer, beta);
  return bsm_emit(ctx, layer);
}

bsm_itensor *bsm_emit_reshape(bsm_conversion_ctx *ctx, bsm_itensor *x,
                              bsm_dims dims) {
  if (!x || bsm_dims_equal(x->dims, dims)) return x;
  bsm_layer *layer = bsm_network_add_shuffle(ctx->net, x);
  bsm_shuffle_set_reshape_dimensions(layer, dims);
  return bsm_emit(ctx, layer);
}

bsm_itensor *bsm_emit_permute(bsm_conversion_ctx *ctx, bsm_itensor *x,
                              bsm_dims perm) {
  bool identity = true;
  if (!x) return NULL;
  for (int32_t i = 0; i < perm.rank; i++) identity &= perm.d[i] == i;
  if (identity && perm.rank == x->dims.rank) return x;
  bsm_layer *layer = bsm_network_add_shuffle(ctx->net, x);
  bsm_shuffle_set_first_transpose(layer, perm);
  return bsm_emit(ctx, layer);
}

bsm_itensor *bsm_emit_transpose(bsm_conversion_ctx *ctx, bsm_itensor *x,
                                int32_t a, int32_t b) {
  bsm_dims perm = {0};
  perm.rank = bsm_rank(x);
  for (int32_t i = 0; i < perm.rank; i++) perm.d[i] = i;
  if (perm.rank > 0) {
    perm.d[a] = b;
    perm.d[b] = a;
  }
  return bsm_emit_permute(ctx, x, perm);
}

bsm_itensor *bsm_emit_unsqueeze(bsm_conversion_ctx *ctx, bsm_itensor *x,
                                int32_t axis) {
  bsm_dims dims = {0};
  if (!x) return NULL;
  if (x->dims.rank >= BSM_MAX_RANK) {
    return bsm_emit_fail(ctx, BSM_UNSUPPORTED,
                         "rank %d is above the limit of %d",
                         (int)x->dims.rank + 1, BSM_MAX_RANK);
  }
  for (int32_t i = 0; i < x->dims.rank; i++) {
    if (i == axis) dims.d[dims.rank++] = 1;
    dims.d[dims.rank++] = x->dims.d[i];
  }
  if (axis == x->dims.rank) dims.d[dims.rank++] = 1;
  return bsm_emit_reshape(ctx, x, dims);
}

bsm_itensor *bsm_emit_squeeze(bsm_conversion_ctx *ctx, bsm_itensor *x,
                              uint32_t axes) {
  bsm_dims dims = {0};
  if (!x) return NULL;
  for (int32_t i = 0; i < x->dims.rank; i++) {
    if (!(axes >> (unsigned)i & 1u)) dims.d[dims.rank++] = x->dims.d[i];
  }
  return bsm_emit_reshape(ctx, x, dims);
}

bsm_itensor *bsm_emit_reduce(bsm_conversion_ctx *ctx, bsm_itensor *x,
                             bsm_reduce_operation operation, uint32_t axes,
                             bool keep_dims) {
  if (!x) return NULL;
  return bsm_emit(
      ctx, bsm_network_add_reduce(ctx->net, x, operation, axes, keep_dims));
}

bsm_itensor *bsm_emit_slice(bsm_conversion_ctx *ctx, bsm_itensor *x,
                            int32_t axis, int64_t start, int64_t size,
                            int64_t step) {
  bsm_dims starts = {0}, strides = {0};
  if (!x || (start == 0 && step == 1 && size == x->dims.d[axis])) return x;
  bsm_dims sizes = x->dims;
  starts.rank = strides.rank = sizes.rank;
  for (int32_t i = 0; i < sizes.rank; i++) strides.d[i] = 1;
  starts.d[axis] = start;
  sizes.d[axis] = size;
  strides.d[axis] = step;
  return bsm_emit(ctx,
                  bsm_network_add_slice(ctx->net, x, starts, sizes, strides));
}

bsm_itensor *bsm_emit_concat(bsm_conversion_ctx *ctx, bsm_itensor *const *xs,
                             size_t count, int32_t axis) {
  for (size_t i = 0; i < count; i++) {
    if (!xs[i]) return NULL;
  }
  if (count == 1) return xs[0];
  return bsm_emit(ctx,
                  bsm_network_add_concatenation(ctx->net, xs, count, axis));
}

bsm_itensor *bsm_emit_expand(bsm_conversion_ctx *ctx, bsm_itensor *x,
                             bsm_dims dims) {
  if (!x || bsm_dims_equal(x->dims, dims)) return x;
  return bsm_emit(ctx, bsm_network_add_expand(ctx->net, x, dims));
}

bsm_itensor *bsm_emit_gather(bsm_conversion_ctx *ctx, bsm_itensor *data,
                             bsm_itensor *indices, bsm_gather_mode mode,
                             int32_t axis) {
  if (!data || !indices) return NULL;
  return bsm_emit(ctx,
                  bsm_network_add_gather(ctx->net, data, indices, mode, axis));
}

bsm_itensor *bsm_emit_select(bsm_conversion_ctx *ctx, bsm_itensor *condition,
                             bsm_itensor *a, bsm_itensor *b) {
  if (!condition || !a || !b) return NULL;
  return bsm_emit(ctx, bsm_network_add_select(ctx->net, condition, a, b));
}

static bsm_itensor *lerp_from_a(bsm_conversion_ctx *ctx, bsm_itensor *a,
                                bsm_itensor *gap, bsm_itensor *weight) {
  return bsm_emit_binary(
      ctx, a, bsm_emit_binary(ctx, weight, gap, BSM_ELEMENT_WISE_PROD),
      BSM_ELEMENT_WISE_SUM);
}

static bsm_itensor *lerp_from_b(bsm_conversion_ctx *ctx, bsm_itensor *b,
                                bsm_itensor *gap, bsm_itensor *rest) {
  return bsm_emit_binary(ctx, b,
                         bsm_emit_binary(ctx, gap, rest, BSM_ELEMENT_WISE_PROD),
                         BSM_ELEMENT_WISE_SUB);
}

static bsm_itensor *lerp_gap(bsm_conversion_ctx *ctx, bsm_itensor *a,
                             bsm_itensor *b) {
  return bsm_emit_binary(ctx, b, a, BSM_ELEMENT_WISE_SUB);
}

bsm_itensor *bsm_emit_lerp(bsm_conversion_ctx *ctx, bsm_itensor *a,
                           bsm_itensor *b, bsm_itensor *weight) {
  if (!weight) return NULL;
  const bsm_dtype dtype = weight->dtype;
  bsm_itensor *gap = lerp_gap(ctx, a, b);
  bsm_itensor *rest = bsm_emit_binary(ctx, bsm_emit_scalar(ctx, dtype, 1),
                                      weight, BSM_ELEMENT_WISE_SUB);
  bsm_itensor *near =
      bsm_emit_binary(ctx, bsm_emit_unary(ctx, weight, BSM_UNARY_ABS),
                      bsm_emit_scalar(ctx, dtype, 0.5), BSM_ELEMENT_WISE_LESS);
  return bsm_emit_select(ctx, near, lerp_from_a(ctx, a, gap, weight),
                         lerp_from_b(ctx, b, gap, rest));
}

bsm_itensor *bsm_emit_lerp_by(bsm_conversion_ctx *ctx, bsm_itensor *a,
                              bsm_itensor *b, double weight) {
  if (!a || !b) return NULL;
  const bool wide = a->dtype == BSM_DTYPE_DOUBLE;
  const double w = wide ? weight : (double)(float)weight;
  const double rest = wide ? 1 - w : (double)(1 - (float)w);
  bsm_itensor *gap = lerp_gap(ctx, a, b);
  return fabs(w) < 0.5
             ? lerp_from_a(ctx, a, gap, bsm_emit_scalar(ctx, a->dtype, w))
             : lerp_from_b(ctx, b, gap, bsm_emit_scalar(ctx, a->dtype, rest));
}

bsm_itensor *bsm_emit_softmax(bsm_conversion_ctx *ctx, bsm_itensor *x,
                              int32_t axis, bool log) {
  if (!x) return NULL;
  return bsm_emit(ctx, bsm_network_add_softmax(ctx->net, x, axis, log));
}

bsm_itensor *bsm_emit_matmul(bsm_conversion_ctx *ctx, bsm_itensor *a,
                             bool transpose_a, bsm_itensor *b,
                             bool transpose_b) {
  if (!a || !b) return NULL;
  return bsm_emit(
      ctx,
      bsm_network_add_matrix_multiply(
          ctx->net, a, transpose_a ? BSM_MATRIX_TRANSPOSE : BSM_MATRIX_NONE, b,
          transpose_b ? BSM_MATRIX_TRANSPOSE : BSM_MATRIX_NONE));
}

bsm_itensor *bsm_emit_fill(bsm_conversion_ctx *ctx, bsm_dtype dtype,
                           bsm_dims dims, double value) {
  return bsm_emit(ctx, bsm_network_add_fill(ctx->net, dtype, dims, value));
}

/* Freezes a tensor made here, or records why it could not be made. */
static bsm_itensor *freeze_made(bsm_conversion_ctx *ctx, bsm_status status,
                                const bsm_tensor *tensor) {
  if (!status) return bsm_freeze_tensor(ctx, tensor);
  bsm_ctx_fail(ctx, status);
  return NULL;
}

bsm_itensor *bsm_emit_scalar(bsm_conversion_ctx *ctx, bsm_dtype dtype,
                             double value) {
  bsm_tensor *tensor = NULL;
  bsm_status status =
      bsm_tensor_from_double(ctx->impl->arena, dtype, value, &tensor);
  return freeze_made(ctx, status, tensor);
}

bsm_itensor *bsm_emit_int_scalar(bsm_conversion_ctx *ctx, bsm_dtype dtype,
                                 int64_t value) {
  bsm_tensor *tensor = NULL;
  bsm_status status =
      bsm_tensor_from_int(ctx->impl->arena, dtype, value, &tensor);
  return freeze_made(ctx, status, tensor);
}

bsm_itensor *bsm_emit_int64s(bsm_conversion_ctx *ctx, const int64_t *values,
                             bsm_dims dims) {
  bsm_tensor *tensor = NULL;
  bsm_status status =
      bsm_tensor_new(ctx->impl->arena, BSM_DTYPE_INT64, dims, false, &tensor);
  if (!status && bsm_tensor_numel(tensor) > 0) {
    memcpy(bsm_tensor_data(tensor), values,
           (size_t)bsm_tensor_numel(tensor) * sizeof *values);
  }
  return freeze_made(ctx, status, tensor);
}

bsm_itensor *bsm_emit_arange(bsm_conversion_ctx *ctx, int64_t start,
                             int64_t count, int64_t step) {
  bsm_dims dims = {1, {count}};
  bsm_tensor *tensor = NULL;
  bsm_status status =
      bsm_tensor_new(ctx->impl->arena, BSM_DTYPE_INT64, dims, false, &tensor);
  for (int64_t i = 0; !status && i < count; i++) {
    ((int64_t *)bsm_tensor_data(tensor))[i] = start + i * step;
  }
  return freeze_made(ctx, status, tensor);
}
