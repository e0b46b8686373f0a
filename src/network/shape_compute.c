/* SPDX-License-Identifier: Apache-2.0 */
/* Shape and dtype rules of the kinds that compute element by element, reduce
 * or multiply. */
#include "aten/regions.h"
#include "base/checked.h"
#include "network/network_internal.h"

static bsm_status need_floating(const bsm_itensor *x, const char *what) {
  if (bsm_network_is_floating(x->dtype)) return BSM_OK;
  return BSM_FAIL(BSM_UNSUPPORTED, "%s of %s: floating point is needed", what,
                  bsm_dtype_name(x->dtype));
}

static bsm_status unary_dtype(bsm_unary_operation operation, bsm_dtype in,
                              bsm_dtype *out) {
  const char *name = bsm_unary_name(operation);
  *out = in;
  switch (operation) {
    case BSM_UNARY_ABS:
    case BSM_UNARY_NEG:
    case BSM_UNARY_SIGN:
    case BSM_UNARY_SQUARE:
      if (in != BSM_DTYPE_BOOL) return BSM_OK;
      break;
    case BSM_UNARY_NOT:
      if (in == BSM_DTYPE_BOOL) return BSM_OK;
      break;
    case BSM_UNARY_BITWISE_NOT:
      if (!bsm_network_is_floating(in)) return BSM_OK;
      break;
    case BSM_UNARY_ISINF:
    case BSM_UNARY_ISNAN:
      *out = BSM_DTYPE_BOOL;
      if (bsm_network_is_floating(in)) return BSM_OK;
      break;
    default:
      if ((unsigned)operation > BSM_UNARY_EXP2) {
        return BSM_FAIL(BSM_INVALID_ARGUMENT, "unary operation %d",
                        (int)operation);
      }
      if (bsm_network_is_floating(in)) return BSM_OK;
  }
  return BSM_FAIL(BSM_UNSUPPORTED, "%s of %s", name, bsm_dtype_name(in));
}

static bsm_status element_wise_dtype(bsm_element_wise_operation operation,
                                     bsm_dtype in, bsm_dtype *out) {
  bool floating = bsm_network_is_floating(in), boolean = in == BSM_DTYPE_BOOL;
  bool ok = true;
  *out = in;
  switch (operation) {
    case BSM_ELEMENT_WISE_SUM:
    case BSM_ELEMENT_WISE_PROD:
    case BSM_ELEMENT_WISE_MAX:
    case BSM_ELEMENT_WISE_MIN:
      break;
    case BSM_ELEMENT_WISE_SUB:
    case BSM_ELEMENT_WISE_POW:
    case BSM_ELEMENT_WISE_FLOOR_DIV:
    case BSM_ELEMENT_WISE_TRUNC_DIV:
    case BSM_ELEMENT_WISE_REMAINDER:
    case BSM_ELEMENT_WISE_FMOD:
      ok = !boolean;
      break;
    case BSM_ELEMENT_WISE_DIV:
    case BSM_ELEMENT_WISE_ATAN2:
      ok = floating;
      break;
    case BSM_ELEMENT_WISE_AND:
    case BSM_ELEMENT_WISE_OR:
    case BSM_ELEMENT_WISE_XOR:
      ok = boolean;
      break;
    case BSM_ELEMENT_WISE_EQUAL:
    case BSM_ELEMENT_WISE_GREATER:
    case BSM_ELEMENT_WISE_LESS:
    case BSM_ELEMENT_WISE_NOT_EQUAL:
    case BSM_ELEMENT_WISE_GREATER_EQUAL:
    case BSM_ELEMENT_WISE_LESS_EQUAL:
      *out = BSM_DTYPE_BOOL;
      break;
    case BSM_ELEMENT_WISE_BITWISE_AND:
    case BSM_ELEMENT_WISE_BITWISE_OR:
    case BSM_ELEMENT_WISE_BITWISE_XOR:
      ok = !floating;
      break;
    case BSM_ELEMENT_WISE_SHIFT_LEFT:
    case BSM_ELEMENT_WISE_SHIFT_RIGHT:
      ok = !floating && !boolean;
      break;
    default:
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "element-wise operation %d",
                      (int)operation);
  }
  if (!ok) {
    return BSM_FAIL(BSM_UNSUPPORTED, "%s of %s",
                    bsm_element_wise_name(operation), bsm_dtype_name(in));
  }
  return BSM_OK;
}

static bsm_status activation_dtype(bsm_activation_type type, bsm_dtype in) {
  bool any = type == BSM_ACTIVATION_RELU || type == BSM_ACTIVATION_CLIP ||
             type == BSM_ACTIVATION_THRESHOLD ||
             type == BSM_ACTIVATION_THRESHOLDED_RELU ||
             type == BSM_ACTIVATION_NONE;
  if ((unsigned)type > BSM_ACTIVATION_THRESHOLD) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "activation type %d", (int)type);
  }
  if (in == BSM_DTYPE_BOOL || (!any && !bsm_network_is_floating(in))) {
    return BSM_FAIL(BSM_UNSUPPORTED, "activation %s of %s",
                    bsm_activation_name(type), bsm_dtype_name(in));
  }
  return BSM_OK;
}

bsm_status bsm_infer_activation(bsm_layer *layer) {
  const bsm_itensor *x = layer->inputs.items[0];
  BSM_TRY(activation_dtype(layer->p.activation.type, x->dtype));
  return bsm_layer_set_output(layer, 0, x->dtype, x->dims);
}

static bsm_status check_scale(const bsm_weights *w, const char *what,
                              const bsm_itensor *x) {
  if (w->count == 0) return BSM_OK;
  if ((w->count != 1 && w->count != x->dims.d[1]) || !w->values ||
      w->dtype != x->dtype) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%s has %lld elements of %s for an input %s%s", what,
                    (long long)w->count, bsm_dtype_name(w->dtype),
                    bsm_dtype_name(x->dtype), bsm_dims_str(x->dims));
  }
  return BSM_OK;
}

bsm_status bsm_infer_scale(bsm_layer *layer) {
  const bsm_itensor *x = layer->inputs.items[0];
  BSM_TRY(need_floating(x, "scale"));
  if (x->dims.rank < 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "scale: input dims %s have no axis 1",
                    bsm_dims_str(x->dims));
  }
  BSM_TRY(check_scale(&layer->p.scale.shift, "the shift", x));
  BSM_TRY(check_scale(&layer->p.scale.scale, "the scale", x));
  BSM_TRY(check_scale(&layer->p.scale.power, "the power", x));
  return bsm_layer_set_output(layer, 0, x->dtype, x->dims);
}

bsm_status bsm_infer_softmax(bsm_layer *layer) {
  const bsm_itensor *x = layer->inputs.items[0];
  BSM_TRY(need_floating(x, "softmax"));
  if (layer->p.softmax.axis < 0 || layer->p.softmax.axis >= x->dims.rank) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "softmax: axis %d of dims %s",
                    (int)layer->p.softmax.axis, bsm_dims_str(x->dims));
  }
  return bsm_layer_set_output(layer, 0, x->dtype, x->dims);
}

bsm_status bsm_infer_element_wise(bsm_layer *layer) {
  const bsm_itensor *a = layer->inputs.items[0];
  const bsm_itensor *b = layer->inputs.items[1];
  bsm_element_wise_operation operation = layer->p.element_wise.operation;
  bsm_dtype dtype;
  bsm_dims dims;
  if (a->dtype != b->dtype) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "%s of %s and %s: cast one first",
                    bsm_element_wise_name(operation), bsm_dtype_name(a->dtype),
                    bsm_dtype_name(b->dtype));
  }
  BSM_TRY(element_wise_dtype(operation, a->dtype, &dtype));
  BSM_TRY(bsm_broadcast_dims(a->dims, b->dims, &dims));
  return bsm_layer_set_output(layer, 0, dtype, dims);
}

bsm_status bsm_infer_unary(bsm_layer *layer) {
  const bsm_itensor *x = layer->inputs.items[0];
  bsm_dtype dtype;
  BSM_TRY(unary_dtype(layer->p.unary.operation, x->dtype, &dtype));
  return bsm_layer_set_output(layer, 0, dtype, x->dims);
}

static bsm_status check_axes(uint32_t axes, const bsm_itensor *x) {
  if (x->dims.rank < 32 && axes >> (unsigned)x->dims.rank) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "axes 0x%x of a tensor with dims %s",
                    (unsigned)axes, bsm_dims_str(x->dims));
  }
  return BSM_OK;
}

static bsm_status reduce_dtype(bsm_reduce_operation operation, bsm_dtype in) {
  bool ok = true;
  switch (operation) {
    case BSM_REDUCE_SUM:
    case BSM_REDUCE_PROD:
    case BSM_REDUCE_MAX:
    case BSM_REDUCE_MIN:
      break;
    case BSM_REDUCE_ANY:
    case BSM_REDUCE_ALL:
      ok = in == BSM_DTYPE_BOOL;
      break;
    case BSM_REDUCE_AVG:
    case BSM_REDUCE_L1:
    case BSM_REDUCE_L2:
    case BSM_REDUCE_VARIANCE:
      ok = bsm_network_is_floating(in);
      break;
    default:
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "reduce operation %d",
                      (int)operation);
  }
  if (!ok) {
    return BSM_FAIL(BSM_UNSUPPORTED, "reduce %s of %s",
                    bsm_reduce_name(operation), bsm_dtype_name(in));
  }
  return BSM_OK;
}

bsm_status bsm_infer_reduce(bsm_layer *layer) {
  const bsm_itensor *x = layer->inputs.items[0];
  bsm_reduce_operation operation = layer->p.reduce.operation;
  bsm_dims out = {0};
  int64_t count;
  BSM_TRY(check_axes(layer->p.reduce.axes, x));
  BSM_TRY(reduce_dtype(operation, x->dtype));
  for (int32_t i = 0; i < x->dims.rank; i++) {
    bool reduced = layer->p.reduce.axes >> (unsigned)i & 1u;
    if (reduced && x->dims.d[i] == 0 &&
        (operation == BSM_REDUCE_MAX || operation == BSM_REDUCE_MIN) &&
        bsm_count_elements(x->dims, &count) && count == 0) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "%s over an empty dimension of %s",
                      bsm_reduce_name(operation), bsm_dims_str(x->dims));
    }
    if (!reduced) {
      out.d[out.rank++] = x->dims.d[i];
    } else if (layer->p.reduce.keep_dims) {
      out.d[out.rank++] = 1;
    }
  }
  return bsm_layer_set_output(layer, 0, x->dtype, out);
}

bsm_status bsm_infer_top_k(bsm_layer *layer) {
  const bsm_itensor *x = layer->inputs.items[0];
  int32_t axis = layer->p.top_k.axis;
  bsm_dims out = x->dims;
  if (axis < 0 || axis >= out.rank) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "top-k: axis %d of dims %s", (int)axis,
                    bsm_dims_str(x->dims));
  }
  if (x->dtype == BSM_DTYPE_BOOL) {
    return BSM_FAIL(BSM_UNSUPPORTED, "top-k of bool");
  }
  if (layer->p.top_k.k < 0 || layer->p.top_k.k > out.d[axis]) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "top-k: %lld of %lld elements",
                    (long long)layer->p.top_k.k, (long long)out.d[axis]);
  }
  out.d[axis] = layer->p.top_k.k;
  BSM_TRY(bsm_layer_set_output(layer, 0, x->dtype, out));
  return bsm_layer_set_output(layer, 1, BSM_DTYPE_INT64, out);
}

bsm_status bsm_infer_scan(bsm_layer *layer) {
  const bsm_itensor *x = layer->inputs.items[0];
  const bsm_scan_operation operation = layer->p.scan.operation;
  const int32_t axis = layer->p.scan.axis;
  const bool has_indices =
      operation == BSM_SCAN_MAX || operation == BSM_SCAN_MIN;
  if ((unsigned)operation > BSM_SCAN_LOG_SUM_EXP ||
      layer->outputs.len != (has_indices ? 2u : 1u)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "scan: operation %d, %zu outputs",
                    (int)operation, layer->outputs.len);
  }
  if (axis < 0 || axis >= x->dims.rank) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "scan: axis %d of dims %s", (int)axis,
                    bsm_dims_str(x->dims));
  }
  if (x->dtype == BSM_DTYPE_BOOL ||
      (operation == BSM_SCAN_LOG_SUM_EXP && !bsm_dtype_is_floating(x->dtype))) {
    return BSM_FAIL(BSM_UNSUPPORTED, "scan: %s of %s", bsm_scan_name(operation),
                    bsm_dtype_name(x->dtype));
  }
  BSM_TRY(bsm_layer_set_output(layer, 0, x->dtype, x->dims));
  return has_indices ? bsm_layer_set_output(layer, 1, BSM_DTYPE_INT64, x->dims)
                     : BSM_OK;
}

bsm_status bsm_infer_non_zero(bsm_layer *layer) {
  bsm_dims out = {1, {1}};
  if (!bsm_count_elements(layer->inputs.items[0]->dims, &out.d[0])) {
    return BSM_FAIL(BSM_LIMIT, "non-zero: too many elements");
  }
  return bsm_layer_set_output(layer, 0, BSM_DTYPE_INT64, out);
}

bsm_status bsm_infer_nms(bsm_layer *layer) {
  const bsm_itensor *x = layer->inputs.items[0];
  if (x->dims.rank != 2 || x->dims.d[1] != 4 ||
      !bsm_dtype_is_floating(x->dtype)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "nms: boxes are %s%s",
                    bsm_dtype_name(x->dtype), bsm_dims_str(x->dims));
  }
  return bsm_layer_set_output(layer, 0, BSM_DTYPE_BOOL,
                              (bsm_dims){1, {x->dims.d[0]}});
}

bsm_status bsm_infer_regions(bsm_layer *layer) {
  const bsm_region_pooling *p = &layer->p.regions;
  const bsm_itensor *x = layer->inputs.items[0], *r = layer->inputs.items[1];
  const bool has_places = p->whole && !p->grouped;
  const int64_t most = BSM_REGION_MAX_BINS;
  if (x->dims.rank != 4 || r->dims.rank != 2 || r->dims.d[1] != 5 ||
      !bsm_dtype_is_floating(x->dtype) || r->dtype != BSM_DTYPE_DOUBLE ||
      !bsm_dtype_is_floating(p->dtype) ||
      layer->outputs.len != (has_places ? 2u : 1u) || p->rows <= 0 ||
      p->columns <= 0 || p->rows > most || p->columns > most) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "regions: %s%s and %s%s in bins of %lld x %lld",
                    bsm_dtype_name(x->dtype), bsm_dims_str(x->dims),
                    bsm_dtype_name(r->dtype), bsm_dims_str(r->dims),
                    (long long)p->rows, (long long)p->columns);
  }
  const int64_t each = p->grouped ? p->rows * p->columns : 1;
  if (x->dims.d[1] % each != 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "regions: %lld channels in groups of %lld",
                    (long long)x->dims.d[1], (long long)each);
  }
  const bsm_dims out = {
      4, {r->dims.d[0], x->dims.d[1] / each, p->rows, p->columns}};
  BSM_TRY(bsm_layer_set_output(layer, 0, x->dtype, out));
  return has_places ? bsm_layer_set_output(layer, 1, BSM_DTYPE_INT32, out)
                    : BSM_OK;
}

/* The last two dims of an operand after its transposition; `batch` gets the
 * others. */
static bsm_status matrix_dims(const bsm_itensor *x, bsm_matrix_operation op,
                              bsm_dims *batch, int64_t *rows, int64_t *cols) {
  if (x->dims.rank < 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "matrix multiply: operand with dims %s, rank 2 is needed",
                    bsm_dims_str(x->dims));
  }
  bool flip = op == BSM_MATRIX_TRANSPOSE;
  *batch = x->dims;
  batch->rank -= 2;
  *rows = x->dims.d[x->dims.rank - (flip ? 1 : 2)];
  *cols = x->dims.d[x->dims.rank - (flip ? 2 : 1)];
  return BSM_OK;
}

/* Adds the columns of the other matrices that B consists of. */
static bsm_status add_parts(const bsm_layer *layer, size_t parts, int64_t k,
                            int64_t *n) {
  for (size_t i = 2; i <= parts; i++) {
    const bsm_itensor *b = layer->inputs.items[i];
    bsm_dims batch;
    int64_t rows, columns;
    BSM_TRY(
        matrix_dims(b, layer->p.matrix_multiply.op_b, &batch, &rows, &columns));
    if (b->dtype != layer->inputs.items[0]->dtype || batch.rank != 0 ||
        rows != k || !bsm_i64_add(*n, columns, n)) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "matrix multiply: %s%s cannot be a part of a matrix of "
                      "%lld rows",
                      bsm_dtype_name(b->dtype), bsm_dims_str(b->dims),
                      (long long)k);
    }
  }
  return BSM_OK;
}

bsm_status bsm_infer_matrix_multiply(bsm_layer *layer) {
  const bsm_itensor *a = layer->inputs.items[0], *b = layer->inputs.items[1];
  const bsm_epilogue *epilogue = &layer->p.matrix_multiply.epilogue;
  const bsm_weights *bias = &layer->p.matrix_multiply.bias;
  bsm_dims batch_a, batch_b, out;
  int64_t m, k, k2, n;
  if (a->dtype != b->dtype || a->dtype == BSM_DTYPE_BOOL) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "matrix multiply of %s and %s",
                    bsm_dtype_name(a->dtype), bsm_dtype_name(b->dtype));
  }
  BSM_TRY(matrix_dims(a, layer->p.matrix_multiply.op_a, &batch_a, &m, &k));
  BSM_TRY(matrix_dims(b, layer->p.matrix_multiply.op_b, &batch_b, &k2, &n));
  if (k != k2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "matrix multiply of %s and %s: %lld is not %lld",
                    bsm_dims_str(a->dims), bsm_dims_str(b->dims), (long long)k,
                    (long long)k2);
  }
  const size_t parts = layer->p.matrix_multiply.parts > 1
                           ? (size_t)layer->p.matrix_multiply.parts
                           : 1;
  const size_t inputs = 1 + parts + (epilogue->has_residual ? 1u : 0u);
  if (layer->inputs.len != inputs) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "matrix multiply of %zu inputs",
                    layer->inputs.len);
  }
  BSM_TRY(add_parts(layer, parts, k, &n));
  BSM_TRY(bsm_broadcast_dims(batch_a, batch_b, &out));
  if (out.rank + 2 > BSM_MAX_RANK) {
    return BSM_FAIL(BSM_LIMIT, "matrix multiply of rank %d",
                    (int)(out.rank + 2));
  }
  out.d[out.rank++] = m;
  out.d[out.rank++] = n;
  if (bias->count != 0 &&
      (bias->count != n || !bias->values || bias->dtype != a->dtype)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "a bias of %lld elements for %lld columns",
                    (long long)bias->count, (long long)n);
  }
  if (epilogue->has_residual &&
      !bsm_same_dims(layer->inputs.items[inputs - 1]->dims, out)) {
    return BSM_FAIL(
        BSM_INVALID_ARGUMENT, "the residual has dims %s, the output %s",
        bsm_dims_str(layer->inputs.items[inputs - 1]->dims), bsm_dims_str(out));
  }
  return bsm_layer_set_output(layer, 0, a->dtype, out);
}

bsm_status bsm_infer_parametric_relu(bsm_layer *layer) {
  const bsm_itensor *x = layer->inputs.items[0], *s = layer->inputs.items[1];
  BSM_TRY(need_floating(x, "parametric relu"));
  if (s->dtype != x->dtype || !bsm_dims_broadcast_to(s->dims, x->dims)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "parametric relu: slopes %s%s for an input %s%s",
                    bsm_dtype_name(s->dtype), bsm_dims_str(s->dims),
                    bsm_dtype_name(x->dtype), bsm_dims_str(x->dims));
  }
  return bsm_layer_set_output(layer, 0, x->dtype, x->dims);
}

bsm_status bsm_infer_select(bsm_layer *layer) {
  const bsm_itensor *c = layer->inputs.items[0], *a = layer->inputs.items[1],
                    *b = layer->inputs.items[2];
  bsm_dims dims;
  if (c->dtype != BSM_DTYPE_BOOL || a->dtype != b->dtype) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "select with a condition of %s between %s and %s",
                    bsm_dtype_name(c->dtype), bsm_dtype_name(a->dtype),
                    bsm_dtype_name(b->dtype));
  }
  BSM_TRY(bsm_broadcast_dims(a->dims, b->dims, &dims));
  BSM_TRY(bsm_broadcast_dims(c->dims, dims, &dims));
  return bsm_layer_set_output(layer, 0, a->dtype, dims);
}

/* What numbers on a grid are: the third one of the constant is the least of
 * them, which is below zero where they are floats. */
static bsm_dtype dtype_of_grid(const bsm_itensor *grid) {
  const bsm_layer *from = grid->producer;
  const bool known = from && from->kind == BSM_LAYER_CONSTANT &&
                     from->p.constant.weights.count == 4 &&
                     from->p.constant.weights.dtype == BSM_DTYPE_FLOAT;
  const float *numbers = known ? from->p.constant.weights.values : NULL;
  return numbers && numbers[2] < 0 ? BSM_DTYPE_FLOAT8_E4M3FN : BSM_DTYPE_UINT8;
}

bsm_status bsm_infer_normalization(bsm_layer *layer) {
  const bsm_itensor *x = layer->inputs.items[0];
  /* With a second output, of bytes, the last input is their grid. */
  const bool quantizes = layer->outputs.len > 1;
  size_t wanted = 1u + (layer->p.normalization.has_scale ? 1u : 0u) +
                  (layer->p.normalization.has_bias ? 1u : 0u);
  int64_t groups = layer->p.normalization.groups;
  BSM_TRY(need_floating(x, "normalization"));
  BSM_TRY(check_axes(layer->p.normalization.axes, x));
  if (layer->inputs.len != wanted + (quantizes ? 1 : 0)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "normalization of %zu inputs",
                    layer->inputs.len);
  }
  if (groups < 1 ||
      (groups > 1 && (x->dims.rank < 2 || x->dims.d[1] % groups != 0))) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "normalization: dims %s do not split into %lld groups",
                    bsm_dims_str(x->dims), (long long)groups);
  }
  if (!(layer->p.normalization.epsilon >= 0)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "normalization: epsilon %g",
                    layer->p.normalization.epsilon);
  }
  for (size_t i = 1; i < wanted; i++) {
    const bsm_itensor *w = layer->inputs.items[i];
    if (w->dtype != x->dtype || !bsm_dims_broadcast_to(w->dims, x->dims)) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "normalization: input %zu is %s%s, the data %s%s", i,
                      bsm_dtype_name(w->dtype), bsm_dims_str(w->dims),
                      bsm_dtype_name(x->dtype), bsm_dims_str(x->dims));
    }
  }
  if (quantizes) {
    const bsm_itensor *grid = layer->inputs.items[wanted];
    BSM_TRY(bsm_layer_set_output(layer, 1, dtype_of_grid(grid), x->dims));
  }
  return bsm_layer_set_output(layer, 0, x->dtype, x->dims);
}

/* The dtype of one instruction's result. */
static bsm_status instruction_dtype(const bsm_ew_instruction *in,
                                    const bsm_dtype *dtypes, bsm_dtype *out) {
  switch ((bsm_ew_opcode_kind)in->kind) {
    case BSM_EW_UNARY:
      return unary_dtype((bsm_unary_operation)in->code, dtypes[in->a], out);
    case BSM_EW_BINARY:
      if (dtypes[in->a] != dtypes[in->b]) break;
      return element_wise_dtype((bsm_element_wise_operation)in->code,
                                dtypes[in->a], out);
    case BSM_EW_ACTIVATION:
      *out = dtypes[in->a];
      return activation_dtype((bsm_activation_type)in->code, *out);
    case BSM_EW_CONSTANT:
    case BSM_EW_CAST:
      *out = (bsm_dtype)in->code;
      return BSM_OK;
    case BSM_EW_SELECT:
      if (dtypes[in->a] != BSM_DTYPE_BOOL || dtypes[in->b] != dtypes[in->c]) {
        break;
      }
      *out = dtypes[in->b];
      return BSM_OK;
  }
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "fused element-wise: instruction kind %d, code %d with "
                  "operands of unequal dtypes",
                  (int)in->kind, (int)in->code);
}

bsm_status bsm_infer_fused_element_wise(bsm_layer *layer) {
  int32_t registers = layer->p.fused_element_wise.registers;
  int32_t result = layer->p.fused_element_wise.result;
  bsm_dtype dtypes[64];
  bsm_dims dims = {0};
  if (registers < 1 || registers > 64 ||
      (size_t)registers < layer->inputs.len || result < 0 ||
      result >= registers) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "fused element-wise: %d registers",
                    (int)registers);
  }
  for (int32_t i = 0; i < registers; i++) dtypes[i] = BSM_DTYPE_UNDEFINED;
  for (size_t i = 0; i < layer->inputs.len; i++) {
    dtypes[i] = layer->inputs.items[i]->dtype;
    BSM_TRY(bsm_broadcast_dims(dims, layer->inputs.items[i]->dims, &dims));
  }
  for (size_t i = 0; i < layer->p.fused_element_wise.program.len; i++) {
    const bsm_ew_instruction *in =
        &layer->p.fused_element_wise.program.items[i];
    if (in->dst < 0 || in->dst >= registers || in->a < 0 ||
        in->a >= registers || in->b < 0 || in->b >= registers || in->c < 0 ||
        in->c >= registers) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "fused element-wise: instruction %zu names a register "
                      "out of range",
                      i);
    }
    BSM_TRY(instruction_dtype(in, dtypes, &dtypes[in->dst]));
  }
  return bsm_layer_set_output(layer, 0, dtypes[result], dims);
}
