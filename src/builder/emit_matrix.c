/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix multiply. Constant right operands are packed. Leading dimensions of
 * the left operand that share the right one become rows. */
#include <string.h>

#include "base/copy_matrix.h"
#include "builder/constants.h"
#include "builder/emit_internal.h"

static bsm_layout swap_last_two(bsm_layout layout) {
  const int32_t r = layout.dims.rank;
  const bsm_layout in = layout;
  layout.dims.d[r - 1] = in.dims.d[r - 2];
  layout.dims.d[r - 2] = in.dims.d[r - 1];
  layout.strides[r - 1] = in.strides[r - 2];
  layout.strides[r - 2] = in.strides[r - 1];
  return layout;
}

/* The value of an operand as [.., rows, columns], transposed if asked. */
static bsm_status operand(bsm_emitter *e, const bsm_itensor *t,
                          bsm_matrix_operation operation, uint32_t *out) {
  *out = bsm_build_value(e, t);
  if (operation == BSM_MATRIX_NONE) return BSM_OK;
  return bsm_build_view(
      e, *out, swap_last_two(bsm_build_tensor_at(e, *out)->layout), 0, out);
}

static int64_t leading_count(bsm_dims dims) {
  int64_t count = 1;
  for (int32_t i = 0; i < dims.rank - 2; i++) count *= dims.d[i];
  return count;
}

static int64_t rows_of(bsm_dims dims) {
  return leading_count(dims) * dims.d[dims.rank - 2];
}

/* The members of how[] that make_matrix reads. */
enum { K, N, STRIDED, ROW, COLUMN };

/* Multiplies the columns by their factors, from the dtype that the matrix has
 * in memory to the packing's: it is rounded once. */
static void scale_columns(const bsm_packing *p, void *to) {
  const int64_t k = p->how[K], n = p->how[N];
  const bsm_weights from = {.dtype = p->raw[0].dtype,
                            .values = p->raw[0].values};
  for (int64_t i = 0; i < k; i++) {
    for (int64_t j = 0; j < n; j++) {
      const int64_t dense = p->transposed ? j * k + i : i * n + j;
      const int64_t at =
          p->how[STRIDED] ? i * p->how[ROW] + j * p->how[COLUMN] : dense;
      bsm_constant_store(p->dtype, to, dense,
                         bsm_constant_number(&from, at) * p->factor[j]);
    }
  }
}

/* Makes a constant matrix [K, N] in row-major order from one with any strides.
 */
static bsm_status make_matrix(bsm_arena *scratch, const bsm_packing *p,
                              const void **values) {
  const size_t element = bsm_dtype_size(p->dtype);
  const int64_t k = p->how[K], n = p->how[N];
  const void *from;
  BSM_TRY(bsm_packing_cast(scratch, p, 0, &from));
  *values = from;
  if (!p->how[STRIDED] && !p->factor) return BSM_OK;
  uint8_t *copy = bsm_arena_alloc_array(scratch, (size_t)(k * n) + 1, element,
                                        _Alignof(double));
  BSM_TRY_ALLOC(copy);
  *values = copy;
  if (p->factor) {
    scale_columns(p, copy);
    return BSM_OK;
  }
  const int64_t size = (int64_t)element;
  bsm_copy_matrix(copy, n * size, from, p->how[ROW] * size,
                  p->how[COLUMN] * size, k, n, element);
  return BSM_OK;
}

/* Packs the constant matrix `b`: as it is, as its transpose, or copied; its
 * columns times their factors where there are any. */
static bsm_status pack_matrix(bsm_emitter *e, uint32_t b, const double *factor,
                              bsm_plan_step *step) {
  const bsm_build_tensor *t = bsm_build_tensor_at(e, b);
  const int32_t r = t->layout.dims.rank;
  const int64_t k = t->layout.dims.d[r - 2], n = t->layout.dims.d[r - 1];
  const int64_t row = t->layout.strides[r - 2], col = t->layout.strides[r - 1];
  bsm_raw_weights raw;
  if (!bsm_build_constant_raw(e, b, &raw)) {
    return BSM_FAIL(BSM_INTERNAL, "a matrix that is no constant");
  }
  /* Few bits are made of floats, whatever the product computes in. */
  const bsm_dtype dtype =
      step->params->matrix_multiply.form > 0 ? BSM_DTYPE_FLOAT : t->dtype;
  bsm_packing packing = {.in_maps = k,
                         .dtype = dtype,
                         .raw = &raw,
                         .raw_count = 1,
                         .factor = factor,
                         .factor_count = factor ? (size_t)n : 0,
                         .how = {[K] = k, [N] = n}};
  if (raw.dtype != dtype || factor) packing.make = make_matrix;
  if ((col == 1 || n == 1) && (row == n || k == 1)) {
    return bsm_build_pack(e, step, &packing);
  }
  if ((row == 1 || k == 1) && (col == k || n == 1)) {
    packing.transposed = true;
    return bsm_build_pack(e, step, &packing);
  }
  packing.how[STRIDED] = true;
  packing.how[ROW] = row;
  packing.how[COLUMN] = col;
  packing.make = make_matrix;
  return bsm_build_pack(e, step, &packing);
}

/* `rows` runs of numbers of raw[part], each of `run` numbers that go to places
 * `apart` from those before, times the factors of their columns: the first
 * `depth` of a run have the first one's. */
typedef struct part_runs {
  size_t rows, run, apart, depth;
  const double *factor;
} part_runs;

static void scale_part(const bsm_packing *p, size_t part, const part_runs *r,
                       void *to, size_t first) {
  const bsm_weights from = {.dtype = p->raw[part].dtype,
                            .values = p->raw[part].values};
  for (size_t row = 0; row < r->rows; row++) {
    for (size_t i = 0; i < r->run; i++) {
      const double number =
          bsm_constant_number(&from, (int64_t)(row * r->run + i));
      bsm_constant_store(p->dtype, to, (int64_t)(first + row * r->apart + i),
                         number * r->factor[i / r->depth]);
    }
  }
}

/* Puts together a B of several raw weights. Parts that are [N, K] follow each
 * other; otherwise their rows are put side by side. */
static bsm_status make_joined(bsm_arena *scratch, const bsm_packing *p,
                              const void **values) {
  const size_t element = bsm_dtype_size(p->dtype);
  const size_t k = (size_t)p->how[K], n = (size_t)p->how[N];
  uint8_t *joined =
      bsm_arena_alloc_array(scratch, k * n + 1, element, _Alignof(double));
  BSM_TRY_ALLOC(joined);
  *values = joined;
  size_t before = 0; /* columns */
  for (size_t i = 0; i < p->raw_count; i++) {
    const bsm_raw_weights *raw = &p->raw[i];
    const size_t columns =
        k ? (size_t)raw->size / bsm_dtype_size(raw->dtype) / k : 0;
    const void *from;
    const size_t run = p->transposed ? columns * k : columns;
    if (p->factor && k) {
      const part_runs runs = {.rows = p->transposed ? 1 : k,
                              .run = run,
                              .apart = n,
                              .depth = p->transposed ? k : 1,
                              .factor = p->factor + before};
      scale_part(p, i, &runs, joined, p->transposed ? before * k : before);
      before += columns;
      continue;
    }
    BSM_TRY(bsm_packing_cast(scratch, p, i, &from));
    for (size_t row = 0; row < (p->transposed ? 1 : k) && run; row++) {
      const size_t to = p->transposed ? before * k : row * n + before;
      memcpy(joined + to * element,
             (const uint8_t *)from + row * columns * element, run * element);
    }
    before += columns;
  }
  return BSM_OK;
}

/* Packs a B of several constants. */
static bsm_status pack_parts(bsm_emitter *e, const bsm_layer *layer, int64_t k,
                             int64_t n, bsm_plan_step *step) {
  const size_t parts = (size_t)layer->p.matrix_multiply.parts;
  bsm_raw_weights raw[BSM_PACKING_MAX_RAW];
  if (parts > BSM_PACKING_MAX_RAW) {
    return BSM_FAIL(BSM_INTERNAL, "a matrix of %zu parts", parts);
  }
  for (size_t i = 0; i < parts; i++) {
    if (!bsm_build_constant_raw(
            e, bsm_build_value(e, layer->inputs.items[1 + i]), &raw[i])) {
      return BSM_FAIL(BSM_INTERNAL, "a part of a matrix is no constant");
    }
  }
  const bsm_packing packing = {
      .in_maps = k,
      .dtype = step->params->matrix_multiply.form > 0
                   ? BSM_DTYPE_FLOAT
                   : layer->outputs.items[0]->dtype,
      .transposed = layer->p.matrix_multiply.op_b == BSM_MATRIX_TRANSPOSE,
      .raw = raw,
      .raw_count = parts,
      .factor = layer->p.matrix_multiply.factor,
      .factor_count = layer->p.matrix_multiply.factor ? (size_t)n : 0,
      .how = {[K] = k, [N] = n},
      .make = make_joined};
  return bsm_build_pack(e, step, &packing);
}

/* Makes a view of `id` whose leading dimensions are joined with the rows, when
 * its strides allow that; otherwise *out does not change. */
static bsm_status collapse_rows(bsm_emitter *e, uint32_t id, bool *done,
                                uint32_t *out) {
  const bsm_layout *layout = &bsm_build_tensor_at(e, id)->layout;
  const int32_t r = layout->dims.rank;
  bsm_layout flat;
  const bsm_dims dims = {2,
                         {leading_count(layout->dims) * layout->dims.d[r - 2],
                          layout->dims.d[r - 1]}};
  *done = bsm_layout_reshape(layout, dims, &flat);
  return *done ? bsm_build_view(e, id, flat, 0, out) : BSM_OK;
}

/* Turns a batch that shares a constant B into [M, K] x [K, N], when A, the
 * residual and the output all allow it. */
static bsm_status collapse(bsm_emitter *e, uint32_t *tensors, uint32_t count) {
  uint32_t flat[3];
  bool done = true;
  for (uint32_t i = 0; i < count && done; i++) {
    BSM_TRY(collapse_rows(e, tensors[i], &done, &flat[i]));
  }
  for (uint32_t i = 0; i < count && done; i++) tensors[i] = flat[i];
  return BSM_OK;
}

/* The residual with N innermost, as the step requires. */
static bsm_status residual_of(bsm_emitter *e, const bsm_layer *layer,
                              uint32_t *out) {
  const bsm_itensor *t = layer->inputs.items[layer->inputs.len - 1];
  *out = bsm_build_value(e, t);
  const bsm_layout *layout = &bsm_build_tensor_at(e, *out)->layout;
  const int32_t last = layout->dims.rank - 1;
  if (layout->strides[last] == 1) return BSM_OK;
  return bsm_build_as_contiguous(e, t, out);
}

/* Weights that take less memory are not worth a loss of accuracy. */
#define LEAST_FEW_BITS 32768

/* Whether the weights of a product are held in few bits, and in which form. */
static int32_t form_of(bsm_emitter *e, const bsm_layer *layer,
                       const bsm_step_matrix_multiply *p) {
  bsm_precision_policy *policy = e->options->precision;
  const bsm_target_ops *target = e->target->ops;
  const bsm_itensor *y = layer->outputs.items[0];
  if (!policy || !policy->few_bits.bits || !p->constant_b ||
      !target->few_bits_form || p->k * p->n < LEAST_FEW_BITS ||
      rows_of(y->dims) > policy->few_bits.rows ||
      bsm_precision_asked(policy, layer) == BSM_PRECISION_FP32) {
    return 0;
  }
  return target->few_bits_form(e->target, y->dtype, policy->few_bits.bits,
                               policy->few_bits.group);
}

bsm_status bsm_build_matrix_multiply(bsm_emitter *e, const bsm_layer *layer) {
  const bsm_itensor *y = layer->outputs.items[0];
  const size_t element = bsm_dtype_size(y->dtype);
  uint32_t a, b;
  BSM_TRY(
      operand(e, layer->inputs.items[0], layer->p.matrix_multiply.op_a, &a));
  BSM_TRY(
      operand(e, layer->inputs.items[1], layer->p.matrix_multiply.op_b, &b));
  const bsm_dims b_dims = bsm_build_tensor_at(e, b)->layout.dims;
  const bool joined = layer->p.matrix_multiply.parts > 1;
  bsm_raw_weights raw;
  const bool constant = joined || (bsm_build_constant_raw(e, b, &raw) &&
                                   leading_count(b_dims) == 1);
  bsm_step_matrix_multiply params = {
      .constant_b = constant,
      .k = b_dims.d[b_dims.rank - 2],
      .n = joined ? y->dims.d[y->dims.rank - 1] : b_dims.d[b_dims.rank - 1],
      .scale = layer->p.matrix_multiply.scale,
      .epilogue = bsm_build_epilogue(&layer->p.matrix_multiply.epilogue)};
  params.form = form_of(e, layer, &params);
  BSM_TRY(bsm_build_new(e, y->name, y->dtype, bsm_build_preferred(e, y),
                        &e->value[y->id]));
  /* The tensors of a product with a constant B: A, output [, residual]. They
   * may become matrices. */
  uint32_t tensors[3] = {a, e->value[y->id], 0};
  uint32_t count = 2;
  if (params.epilogue.has_residual) {
    BSM_TRY(residual_of(e, layer, &tensors[count++]));
  }
  if (constant) BSM_TRY(collapse(e, tensors, count));
  uint32_t inputs[3], input_count = 0;
  inputs[input_count++] = tensors[0];
  if (!constant) inputs[input_count++] = b;
  if (params.epilogue.has_residual) inputs[input_count++] = tensors[2];
  bsm_plan_step *step;
  BSM_TRY(bsm_build_step(
      e,
      &(bsm_step_spec){BSM_STEP_MATRIX_MULTIPLY, layer->name, inputs,
                       input_count, &tensors[1], 1, &params},
      &step));
  const bsm_weights *bias = &layer->p.matrix_multiply.bias;
  if (bias->count) {
    BSM_TRY(bsm_build_weights(e, bias->values, (uint64_t)bias->count * element,
                              &step->weights[1]));
  }
  if (joined) return pack_parts(e, layer, params.k, params.n, step);
  if (!constant) return BSM_OK;
  return pack_matrix(e, b, layer->p.matrix_multiply.factor, step);
}
