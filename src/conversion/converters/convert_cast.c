/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of dtype, and tensors filled with one value. Devices are ignored:
 * there is one. */
#include "conversion/emit.h"

/* The `to` family; `variant` is the index of the dtype argument, -1: none. */
static bsm_status convert_to(bsm_conversion_ctx *ctx, const bsm_node *node,
                             const bsm_args *args) {
  enum { SELF };
  int index = bsm_args_variant(args);
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  if (x && index >= 0) {
    x = bsm_emit_cast(ctx, x, bsm_arg_dtype_or(args, (size_t)index, x->dtype));
  }
  return bsm_emit_output(ctx, node, 0, x);
}

/* _cast_Float and its like; `variant` is the dtype. */
static bsm_status convert_cast_to(bsm_conversion_ctx *ctx, const bsm_node *node,
                                  const bsm_args *args) {
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_cast(ctx, bsm_arg_itensor_or_freeze(ctx, args, 0),
                    (bsm_dtype)bsm_args_variant(args)));
}

/* to.other and type_as: the dtype of another tensor. */
static bsm_status convert_to_other(bsm_conversion_ctx *ctx,
                                   const bsm_node *node, const bsm_args *args) {
  enum { SELF, OTHER };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  bsm_dtype dtype =
      bsm_arg_is_itensor(args, OTHER)
          ? bsm_itensor_dtype(bsm_arg_itensor(args, OTHER))
          : bsm_tensor_dtype(bsm_arg_unwrap_to_tensor(args, OTHER));
  BSM_CHECK(dtype != BSM_DTYPE_UNDEFINED, "to(other): other is no tensor");
  return bsm_emit_output(ctx, node, 0, bsm_emit_cast(ctx, x, dtype));
}

/* A fill of `dims`, exact for integers. */
static bsm_itensor *filled(bsm_conversion_ctx *ctx, bsm_dtype dtype,
                           bsm_dims dims, bsm_scalar value) {
  bsm_operand operand = bsm_operand_of_scalar(value);
  if (value.dtype == BSM_DTYPE_INT64 &&
      (value.i > (int64_t)1 << 53 || value.i < -((int64_t)1 << 53))) {
    return bsm_emit_expand(ctx, bsm_operand_emit(ctx, &operand, dtype), dims);
  }
  return bsm_emit_fill(ctx, dtype, dims, value.d);
}

/* zeros_like, ones_like, full_like, empty_like: the shape of self. */
enum { LIKE_ZEROS, LIKE_ONES, LIKE_FULL };

static bsm_status convert_like(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  enum { SELF };
  int variant = bsm_args_variant(args);
  size_t dtype_at = variant == LIKE_FULL ? 2 : 1;
  bsm_itensor *x = bsm_arg_itensor(args, SELF);
  bsm_scalar value = {BSM_DTYPE_INT64, variant == LIKE_ONES,
                      variant == LIKE_ONES};
  if (variant == LIKE_FULL) value = bsm_arg_unwrap_to_scalar(args, 1);
  if (!x) return bsm_ctx_take_error(ctx);
  return bsm_emit_output(
      ctx, node, 0,
      filled(ctx, bsm_arg_dtype_or(args, dtype_at, x->dtype), x->dims, value));
}

/* new_zeros, new_ones, new_full, new_empty: the dtype of self. */
static bsm_status convert_new(bsm_conversion_ctx *ctx, const bsm_node *node,
                              const bsm_args *args) {
  enum { SELF, SIZE };
  int variant = bsm_args_variant(args);
  size_t count, dtype_at = variant == LIKE_FULL ? 3 : 2;
  bsm_itensor *x = bsm_arg_itensor(args, SELF);
  const int64_t *size = bsm_arg_unwrap_to_int_list(args, SIZE, &count);
  bsm_scalar value = {BSM_DTYPE_INT64, variant == LIKE_ONES,
                      variant == LIKE_ONES};
  if (variant == LIKE_FULL) value = bsm_arg_unwrap_to_scalar(args, 2);
  if (!x || !size) return bsm_ctx_take_error(ctx);
  BSM_CHECK(count <= BSM_MAX_RANK, "a tensor of %zu dimensions", count);
  return bsm_emit_output(ctx, node, 0,
                         filled(ctx, bsm_arg_dtype_or(args, dtype_at, x->dtype),
                                bsm_dims_of(size, count), value));
}

/* fill: all elements of self become one value. */
static bsm_status convert_fill(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  enum { SELF, VALUE };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  bsm_scalar zero = {BSM_DTYPE_INT64, 0, 0};
  if (!x) return bsm_ctx_take_error(ctx);
  if (bsm_args_count(args) <= VALUE) {
    return bsm_emit_output(ctx, node, 0, filled(ctx, x->dtype, x->dims, zero));
  }
  bsm_operand value = bsm_operand_of(ctx, args, VALUE);
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_expand(ctx, bsm_operand_emit(ctx, &value, x->dtype), x->dims));
}

/* copy_: the values of src, in the shape and dtype of self. */
static bsm_status convert_copy(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  enum { SELF, SRC };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  bsm_operand src = bsm_operand_of(ctx, args, SRC);
  if (!x) return bsm_ctx_take_error(ctx);
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_expand(ctx, bsm_operand_emit(ctx, &src, x->dtype), x->dims));
}

#define OPTIONS                                                              \
  "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? " \
  "pin_memory=None"
#define LIKE(name, args, variant)                     \
  {                                                   \
    "aten::" name "(Tensor self" args ", *, " OPTIONS \
    ", MemoryFormat? memory_format=None) -> Tensor",  \
        convert_like, variant                         \
  }
#define NEW(name, args, variant)                                  \
  {                                                               \
    "aten::" name "(Tensor self, int[] size" args ", *, " OPTIONS \
    ") -> Tensor",                                                \
        convert_new, variant                                      \
  }

#define CAST(name, dtype)                                                   \
  {                                                                         \
    "aten::_cast_" name "(Tensor self, bool non_blocking=False) -> Tensor", \
        convert_cast_to, BSM_DTYPE_##dtype                                  \
  }

static const bsm_conversion_pattern patterns[] = {
    CAST("Byte", UINT8),
    CAST("Char", INT8),
    CAST("Short", INT16),
    CAST("Int", INT32),
    CAST("Long", INT64),
    CAST("Half", HALF),
    CAST("Float", FLOAT),
    CAST("Double", DOUBLE),
    {"aten::to.dtype(Tensor(a) self, ScalarType dtype, bool "
     "non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) "
     "-> Tensor(a)",
     convert_to, 1},
    {"aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool "
     "non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) "
     "-> Tensor(a)",
     convert_to, 2},
    {"aten::to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None, bool "
     "non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) "
     "-> Tensor(a)",
     convert_to, 1},
    {"aten::to.prim_Device(Tensor(a) self, Device? device, int? dtype=None, "
     "bool non_blocking=False, bool copy=False) -> Tensor(b|a)",
     convert_to, 2},
    {"aten::to.prim_dtype(Tensor(a) self, int? dtype=None, bool "
     "non_blocking=False, bool copy=False) -> Tensor(b|a)",
     convert_to, 1},
    {"aten::to.prim_other(Tensor(a) self, bool non_blocking=False, bool "
     "copy=False) -> Tensor(b|a)",
     convert_to, -1},
    {"aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None, bool "
     "non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
     convert_to, 1},
    {"aten::to.other(Tensor(a) self, Tensor other, bool non_blocking=False, "
     "bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
     convert_to_other, 0},
    {"aten::type_as(Tensor self, Tensor other) -> Tensor", convert_to_other, 0},
    {"aten::cpu(Tensor(a) self) -> Tensor(b|a)", convert_to, -1},
    {"aten::cuda(Tensor(a) self) -> Tensor(b|a)", convert_to, -1},
    LIKE("zeros_like", "", LIKE_ZEROS),
    LIKE("empty_like", "", LIKE_ZEROS),
    LIKE("ones_like", "", LIKE_ONES),
    LIKE("full_like", ", Scalar fill_value", LIKE_FULL),
    NEW("new_zeros", "", LIKE_ZEROS),
    NEW("new_empty", "", LIKE_ZEROS),
    NEW("new_ones", "", LIKE_ONES),
    NEW("new_full", ", Scalar fill_value", LIKE_FULL),
    {"aten::fill.Scalar(Tensor self, Scalar value) -> Tensor", convert_fill, 0},
    {"aten::fill.Tensor(Tensor self, Tensor value) -> Tensor", convert_fill, 0},
    {"aten::fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)",
     convert_fill, 0},
    {"aten::fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)",
     convert_fill, 0},
    {"aten::zero(Tensor self) -> Tensor", convert_fill, 0},
    {"aten::zero_(Tensor(a!) self) -> Tensor(a!)", convert_fill, 0},
    {"aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
     convert_copy, 0},
    {"aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> "
     "Tensor(a!)",
     convert_copy, 0},
};
BSM_CONVERTER_TABLE(cast, patterns);
