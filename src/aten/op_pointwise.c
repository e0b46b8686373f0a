/* SPDX-License-Identifier: Apache-2.0 */
/* The elementwise driver: promotion, broadcasting, in-place checks, rows. */
#include "aten/op_kit.h"

enum {
  MAX_OPERANDS = 4,
  ELEMENT_WORK = 8 /* loading, computing and storing an element */
};

static bool integral(bsm_dtype d) {
  return bsm_dtype_is_integral(d, true);
}

/* Whether the byte ranges of two tensors of one storage meet. */
static bool ranges_meet(const bsm_tensor *a, const bsm_tensor *b) {
  const int64_t ia = (int64_t)bsm_dtype_size(a->dtype);
  const int64_t ib = (int64_t)bsm_dtype_size(b->dtype);
  const int64_t a0 = a->offset * ia, a1 = a0 + bsm_tensor_numel(a) * ia;
  const int64_t b0 = b->offset * ib, b1 = b0 + bsm_tensor_numel(b) * ib;
  return a0 < b1 && b0 < a1;
}

static bool same_place(const bsm_tensor *a, const bsm_tensor *b) {
  if (a->offset != b->offset || a->dtype != b->dtype ||
      !bsm_dims_equal(a->sizes, b->sizes)) {
    return false;
  }
  for (int32_t i = 0; i < a->sizes.rank; i++) {
    if (a->sizes.d[i] > 1 && a->strides[i] != b->strides[i]) return false;
  }
  return true;
}

/* An operand that shares memory with the destination is refused as PyTorch
 * does, or copied where PyTorch does not look closely enough. */
static bsm_status separate(bsm_op_ctx *cx, const bsm_tensor *dst,
                           bsm_tensor **operand) {
  bsm_tensor *t = *operand;
  if (t->storage != dst->storage || same_place(t, dst)) return BSM_OK;
  if (bsm_op_is_dense(t) && bsm_op_is_dense(dst)) {
    if (!ranges_meet(t, dst)) return BSM_OK;
    return BSM_FAIL(
        BSM_INVALID_ARGUMENT,
        "unsupported operation: some elements of the input tensor and the "
        "written-to tensor refer to a single memory location. Please clone() "
        "the tensor before performing the operation.");
  }
  return bsm_tensor_clone(cx->arena, t, operand);
}

static bsm_status prepare_dst(bsm_op_ctx *cx, bsm_tensor *dst, bsm_dims shape,
                              bsm_dtype result, bsm_tensor **in, int n) {
  if (!bsm_dims_equal(dst->sizes, shape)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "output with shape %s doesn't match the broadcast shape %s",
                    bsm_dims_str(dst->sizes), bsm_dims_str(shape));
  }
  if (!bsm_op_can_cast(result, dst->dtype)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "result type %s can't be cast to the desired output type "
                    "%s",
                    bsm_op_type_name(result), bsm_op_type_name(dst->dtype));
  }
  BSM_TRY(bsm_op_writable(cx, dst));
  for (int k = 0; k < n; k++) BSM_TRY(separate(cx, dst, &in[k]));
  return BSM_OK;
}

typedef struct pw_plan {
  const bsm_pointwise *pw;
  bsm_dtype common, types[MAX_OPERANDS + 1];
  bool keep[MAX_OPERANDS]; /* not rounded to the common dtype */
  int n;
} pw_plan;

static void run_f64(const pw_plan *plan, bsm_iter *it, int64_t at, size_t k) {
  double buffer[MAX_OPERANDS][BSM_ROW], out[BSM_ROW];
  const double *in[MAX_OPERANDS];
  for (int i = 0; i < plan->n; i++) {
    in[i] = buffer[i];
    /* One that all elements share is converted once. */
    const size_t own = it->step[i + 1] == 0 ? 1 : k;
    bsm_load_f64(plan->types[i + 1], it->ptr[i + 1] + at * it->step[i + 1],
                 it->step[i + 1], own, buffer[i]);
    if (!plan->keep[i]) bsm_round_f64(plan->common, own, buffer[i]);
    for (size_t j = own; j < k; j++) buffer[i][j] = buffer[i][0];
  }
  plan->pw->f(out, in, k, plan->pw->params);
  bsm_store_f64(plan->types[0], it->ptr[0] + at * it->step[0], it->step[0], k,
                out);
}

static void run_i64(const pw_plan *plan, bsm_iter *it, int64_t at, size_t k) {
  int64_t buffer[MAX_OPERANDS][BSM_ROW], out[BSM_ROW];
  const int64_t *in[MAX_OPERANDS];
  for (int i = 0; i < plan->n; i++) {
    in[i] = buffer[i];
    bsm_load_i64(plan->types[i + 1], it->ptr[i + 1] + at * it->step[i + 1],
                 it->step[i + 1], k, buffer[i]);
    if (!plan->keep[i]) bsm_wrap_i64(plan->common, k, buffer[i]);
  }
  plan->pw->i(out, in, k, plan->pw->params);
  bsm_store_i64(plan->types[0], it->ptr[0] + at * it->step[0], it->step[0], k,
                out);
}

static void run_c128(const pw_plan *plan, bsm_iter *it, int64_t at, size_t k) {
  bsm_c128 buffer[MAX_OPERANDS][BSM_ROW], out[BSM_ROW];
  const bsm_c128 *in[MAX_OPERANDS];
  for (int i = 0; i < plan->n; i++) {
    in[i] = buffer[i];
    /* One that all elements share is converted once. */
    const size_t own = it->step[i + 1] == 0 ? 1 : k;
    bsm_load_c128(plan->types[i + 1], it->ptr[i + 1] + at * it->step[i + 1],
                  it->step[i + 1], own, buffer[i]);
    if (!plan->keep[i]) bsm_round_c128(plan->common, own, buffer[i]);
    for (size_t j = own; j < k; j++) buffer[i][j] = buffer[i][0];
  }
  plan->pw->c(out, in, k, plan->pw->params);
  bsm_store_c128(plan->types[0], it->ptr[0] + at * it->step[0], it->step[0], k,
                 out);
}

static void run(const pw_plan *plan, bsm_tensor *dst, bsm_tensor *const *in) {
  const bsm_tensor *all[MAX_OPERANDS + 1] = {dst};
  for (int i = 0; i < plan->n; i++) all[i + 1] = in[i];
  bsm_iter it;
  bsm_iter_init(&it, dst->sizes, all, plan->n + 1);
  const bool floating = bsm_dtype_is_floating(plan->common);
  while (bsm_iter_next(&it)) {
    for (int64_t at = 0; at < it.count; at += BSM_ROW) {
      const int64_t left = it.count - at;
      const size_t k = (size_t)(left < BSM_ROW ? left : BSM_ROW);
      if (bsm_dtype_is_complex(plan->common)) {
        run_c128(plan, &it, at, k);
      } else if (floating) {
        run_f64(plan, &it, at, k);
      } else {
        run_i64(plan, &it, at, k);
      }
    }
  }
}

static bsm_status choose_common(const bsm_pointwise *pw, bsm_tensor *const *in,
                                int n, bsm_dtype *common) {
  *common = pw->has_common ? pw->common : bsm_op_result_type(in, n);
  if ((pw->flags & BSM_PW_FLOAT) && integral(*common)) {
    *common = BSM_DTYPE_FLOAT;
  }
  for (int i = 0; i < n; i++) BSM_TRY(bsm_op_number(in[i]));
  if (!bsm_dtype_is_number(*common)) {
    return BSM_FAIL(BSM_UNSUPPORTED, "dtype %s is not supported by this op",
                    bsm_dtype_name(*common));
  }
  const bool known = bsm_dtype_is_complex(*common) ? pw->c != NULL
                     : integral(*common)           ? pw->i != NULL
                                                   : pw->f != NULL;
  if (!known) {
    /* PyTorch has some for complex numbers that we lack; of other dtypes it has
     * what we have. */
    const bool lacking = bsm_dtype_is_complex(*common);
    return BSM_FAIL(lacking ? BSM_UNSUPPORTED : BSM_INVALID_ARGUMENT,
                    "\"%s\" not implemented for '%s'", pw->name,
                    bsm_op_type_name(*common));
  }
  return BSM_OK;
}

bsm_status bsm_op_pointwise(bsm_op_ctx *cx, const bsm_pointwise *pw,
                            bsm_tensor *const *operands, int n, bsm_tensor *dst,
                            bsm_tensor **out) {
  pw_plan plan = {.pw = pw, .n = n};
  bsm_tensor *in[MAX_OPERANDS];
  bsm_dims shape = operands[0]->sizes;
  BSM_TRY(choose_common(pw, operands, n, &plan.common));
  for (int i = 0; i < n; i++) {
    in[i] = operands[i];
    BSM_TRY(bsm_op_broadcast(shape, in[i]->sizes, &shape));
  }
  const bsm_dtype result = pw->flags & BSM_PW_BOOL ? BSM_DTYPE_BOOL
                           : pw->flags & BSM_PW_REAL
                               ? bsm_dtype_value_type(plan.common)
                               : plan.common;
  if (dst) {
    /* A comparison in place keeps the dtype of the tensor. */
    BSM_TRY(prepare_dst(cx, dst, shape, result, in, n));
  } else {
    BSM_TRY(bsm_op_new_elementwise(cx, result, shape, in, n, &dst));
  }
  *out = dst;
  if (cx->meta) return BSM_OK;
  BSM_TRY(bsm_op_charge(cx, bsm_tensor_numel(dst), ELEMENT_WORK + pw->work, 1));
  plan.types[0] = dst->dtype;
  for (int i = 0; i < n; i++) {
    plan.types[i + 1] = in[i]->dtype;
    plan.keep[i] =
        in[i]->dtype == plan.common ||
        ((pw->flags & BSM_PW_OPMATH) && i > 0 &&
         plan.common != BSM_DTYPE_FLOAT && bsm_dtype_is_floating(plan.common) &&
         bsm_tensor_numel(in[i]) == 1 && in[i]->sizes.rank == 0) ||
        ((pw->flags & BSM_PW_NO_CAST) && i == 0);
  }
  run(&plan, dst, in);
  return BSM_OK;
}
