/* SPDX-License-Identifier: Apache-2.0 */
/* softmax and log_softmax. */
#include <math.h>

#include "conversion/emit.h"

/* `variant`: log, plus HALF_TO_FLOAT when argument 2 is that flag. SAFE: rows
 * of nothing but -inf become zeros. */
enum { LOG = 1, HALF_TO_FLOAT = 2, SAFE = 4 };

static bsm_itensor *clear_empty_rows(bsm_conversion_ctx *ctx, bsm_itensor *x,
                                     bsm_itensor *y, int32_t axis) {
  if (!x || !y) return NULL;
  bsm_itensor *hidden =
      bsm_emit_binary(ctx, x, bsm_emit_scalar(ctx, x->dtype, -INFINITY),
                      BSM_ELEMENT_WISE_EQUAL);
  bsm_itensor *all =
      bsm_emit_reduce(ctx, hidden, BSM_REDUCE_ALL, 1u << (unsigned)axis, true);
  return bsm_emit_select(ctx, all, bsm_emit_scalar(ctx, y->dtype, 0), y);
}

static bsm_status convert_softmax(bsm_conversion_ctx *ctx, const bsm_node *node,
                                  const bsm_args *args) {
  enum { SELF, DIM, DTYPE };
  int variant = bsm_args_variant(args);
  int32_t axis;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  if (!x || !bsm_wrap_dim(ctx, bsm_arg_unwrap_to_int(args, DIM), bsm_rank(x),
                          &axis)) {
    return bsm_ctx_take_error(ctx);
  }
  bsm_dtype dtype = x->dtype;
  if (!(variant & HALF_TO_FLOAT)) {
    dtype = bsm_arg_dtype_or(args, DTYPE, dtype);
  } else if (bsm_arg_unwrap_to_bool(args, DTYPE)) {
    dtype = BSM_DTYPE_FLOAT;
  }
  x = bsm_emit_cast(ctx, x, dtype);
  bool scalar = bsm_rank(x) == 0;
  if (scalar) x = bsm_emit_unsqueeze(ctx, x, 0);
  bsm_itensor *y = bsm_emit_softmax(ctx, x, axis, variant & LOG);
  x = variant & SAFE ? clear_empty_rows(ctx, x, y, axis) : y;
  if (scalar) x = bsm_emit_squeeze(ctx, x, 1);
  return bsm_emit_output(ctx, node, 0, x);
}

static const bsm_conversion_pattern patterns[] = {
    {"aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> "
     "Tensor",
     convert_softmax, 0},
    {"aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> "
     "Tensor",
     convert_softmax, LOG},
    {"aten::special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> "
     "Tensor",
     convert_softmax, 0},
    {"aten::special_log_softmax(Tensor self, int dim, *, ScalarType? "
     "dtype=None) -> Tensor",
     convert_softmax, LOG},
    {"aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> "
     "Tensor",
     convert_softmax, SAFE},
    {"aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
     convert_softmax, HALF_TO_FLOAT},
    {"aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
     convert_softmax, LOG | HALF_TO_FLOAT},
};
BSM_CONVERTER_TABLE(softmax, patterns);
