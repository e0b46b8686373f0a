/* SPDX-License-Identifier: Apache-2.0 */
/* Operands and PyTorch's type promotion over tensors, 0-dim tensors and Python
 * numbers (c10's result_type). */
#include "conversion/emit.h"

bsm_itensor *bsm_emit_to_floating(bsm_conversion_ctx *ctx, bsm_itensor *x) {
  if (!x || bsm_dtype_is_floating(x->dtype)) return x;
  return bsm_emit_cast(ctx, x, BSM_DTYPE_FLOAT);
}

bsm_dtype bsm_arg_dtype_or(const bsm_args *args, size_t i, bsm_dtype fallback) {
  int64_t value = bsm_arg_unwrap_to_int_or(args, i, (int64_t)fallback);
  switch (value) {
    case BSM_DTYPE_UINT8:
    case BSM_DTYPE_INT8:
    case BSM_DTYPE_INT16:
    case BSM_DTYPE_INT32:
    case BSM_DTYPE_INT64:
    case BSM_DTYPE_HALF:
    case BSM_DTYPE_FLOAT:
    case BSM_DTYPE_DOUBLE:
    case BSM_DTYPE_BOOL:
    case BSM_DTYPE_BFLOAT16:
    case BSM_DTYPE_FLOAT8_E4M3FN:
      return (bsm_dtype)value;
    default:
      bsm_emit_fail(args->ctx, BSM_UNSUPPORTED, "dtype number %lld (%s)",
                    (long long)value, bsm_dtype_name((bsm_dtype)value));
      return fallback;
  }
}

bsm_operand bsm_operand_of_itensor(bsm_itensor *x) {
  bsm_operand operand = {0};
  operand.itensor = x;
  operand.dtype = x ? x->dtype : BSM_DTYPE_UNDEFINED;
  operand.priority = bsm_rank(x) > 0 ? 0 : 1;
  operand.missing = !x;
  return operand;
}

bsm_operand bsm_operand_of_scalar(bsm_scalar scalar) {
  bsm_operand operand = {0};
  operand.scalar = scalar;
  operand.dtype =
      scalar.dtype == BSM_DTYPE_DOUBLE ? BSM_DTYPE_FLOAT : scalar.dtype;
  operand.priority = 2;
  return operand;
}

bsm_operand bsm_operand_of(bsm_conversion_ctx *ctx, const bsm_args *args,
                           size_t i) {
  bsm_operand operand = {0};
  if (bsm_arg_is_itensor(args, i)) {
    return bsm_operand_of_itensor(bsm_arg_itensor(args, i));
  }
  if (bsm_arg_is_none(args, i)) {
    operand.missing = true;
    return operand;
  }
  if (bsm_arg_is_int(args, i) || bsm_arg_is_double(args, i) ||
      bsm_arg_is_bool(args, i)) {
    return bsm_operand_of_scalar(bsm_arg_unwrap_to_scalar(args, i));
  }
  operand.tensor = bsm_arg_unwrap_to_tensor(args, i);
  if (!operand.tensor) {
    operand.missing = true;
    return operand;
  }
  operand.dtype = operand.tensor->dtype;
  operand.priority = operand.tensor->sizes.rank > 0 ? 0 : 1;
  if (operand.tensor->wrapped_number) {
    operand.priority = 2;
    if (operand.dtype == BSM_DTYPE_DOUBLE) operand.dtype = BSM_DTYPE_FLOAT;
  }
  if (bsm_dtype_is_complex(operand.dtype)) {
    bsm_emit_fail(ctx, BSM_UNSUPPORTED, "complex tensors");
    operand.missing = true;
  }
  return operand;
}

/* Promotes two dtypes; UNDEFINED stands for none. */
static bsm_dtype promote(bsm_dtype a, bsm_dtype b) {
  if (a == BSM_DTYPE_UNDEFINED) return b;
  if (b == BSM_DTYPE_UNDEFINED) return a;
  return bsm_promote_types(a, b);
}

/* A dtype of lower priority counts only when it is of a higher category. */
static bsm_dtype combine(bsm_dtype higher, bsm_dtype lower) {
  if (higher == BSM_DTYPE_UNDEFINED) return lower;
  if (bsm_dtype_is_floating(higher)) return higher;
  if (higher == BSM_DTYPE_BOOL ||
      (lower != BSM_DTYPE_UNDEFINED && bsm_dtype_is_floating(lower))) {
    return promote(higher, lower);
  }
  return higher;
}

bsm_dtype bsm_operands_dtype(const bsm_operand *operands, size_t count) {
  bsm_dtype results[3] = {BSM_DTYPE_UNDEFINED, BSM_DTYPE_UNDEFINED,
                          BSM_DTYPE_UNDEFINED};
  for (size_t i = 0; i < count; i++) {
    if (operands[i].missing) continue;
    bsm_dtype *result = &results[operands[i].priority];
    *result = promote(*result, operands[i].dtype);
  }
  return combine(results[0], combine(results[1], results[2]));
}

bsm_itensor *bsm_freeze_as(bsm_conversion_ctx *ctx, const bsm_tensor *tensor,
                           bsm_dtype dtype) {
  bsm_tensor *converted;
  if (!tensor) return NULL;
  if (tensor->dtype == dtype) return bsm_freeze_tensor(ctx, tensor);
  bsm_status status =
      bsm_tensor_to_dtype(ctx->impl->arena, tensor, dtype, &converted);
  if (!status) return bsm_freeze_tensor(ctx, converted);
  bsm_ctx_fail(ctx, status);
  return NULL;
}

bsm_itensor *bsm_operand_emit(bsm_conversion_ctx *ctx,
                              const bsm_operand *operand, bsm_dtype dtype) {
  if (operand->missing) return NULL;
  if (operand->itensor) return bsm_emit_cast(ctx, operand->itensor, dtype);
  if (operand->tensor) return bsm_freeze_as(ctx, operand->tensor, dtype);
  if (operand->scalar.dtype == BSM_DTYPE_DOUBLE) {
    return bsm_emit_scalar(ctx, dtype, operand->scalar.d);
  }
  return bsm_emit_int_scalar(ctx, dtype, operand->scalar.i);
}

bsm_itensor *bsm_arg_emit_or_none(bsm_conversion_ctx *ctx, const bsm_args *args,
                                  size_t i, bsm_dtype dtype) {
  bsm_operand operand = bsm_operand_of(ctx, args, i);
  return operand.missing ? NULL : bsm_operand_emit(ctx, &operand, dtype);
}
