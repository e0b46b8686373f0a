/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates sizes, rank and dtype of a tensor of the network. Host tensors are
 * left to the reference library. */
#include "conversion/emit.h"

enum {
  SIZE,
  SIZE_AT,
  DIM,
  NUMEL,
  LEN,
  DTYPE,
  IS_FLOATING,
  DEVICE,
  LAYOUT,
  IS_COMPLEX,
  NO
};

static bsm_status sizes(bsm_conversion_ctx *ctx, const bsm_itensor *x,
                        bsm_ivalue *out) {
  return bsm_iv_int_list(ctx->impl->arena, x->dims.d, (size_t)x->dims.rank,
                         out);
}

/* The size of one dim, whose number is input 1. */
static bsm_status size_at(bsm_conversion_ctx *ctx, const bsm_node *node,
                          const bsm_itensor *x, bsm_ivalue *out) {
  bsm_var dim = bsm_ctx_var(ctx, bsm_node_in(node, 1));
  int32_t axis;
  if (!dim.ivalue || dim.ivalue->tag != BSM_IVALUE_INT) {
    return BSM_FAIL(BSM_DATA_DEPENDENT,
                    "the dimension of aten::size is computed at run time");
  }
  if (x->dims.rank == 0 ||
      !bsm_wrap_dim(ctx, dim.ivalue->u.i, x->dims.rank, &axis)) {
    return bsm_status_join(
        bsm_ctx_take_error(ctx),
        BSM_FAIL(BSM_OUT_OF_RANGE, "size of dimension %lld of dims %s",
                 (long long)dim.ivalue->u.i, bsm_dims_str(x->dims)));
  }
  *out = bsm_iv_int(x->dims.d[axis]);
  return BSM_OK;
}

static bsm_status of_tensor(bsm_conversion_ctx *ctx, const bsm_node *node,
                            int variant, bool *done) {
  bsm_ivalue out = bsm_iv_none();
  if (node->inputs.len == 0) return BSM_OK;
  bsm_itensor *x = bsm_ctx_var(ctx, bsm_node_in(node, 0)).itensor;
  if (!x) return BSM_OK;
  switch (variant) {
    case SIZE:
      BSM_TRY(sizes(ctx, x, &out));
      break;
    case SIZE_AT:
      BSM_TRY(size_at(ctx, node, x, &out));
      break;
    case DIM:
      out = bsm_iv_int(x->dims.rank);
      break;
    case NUMEL:
      out = bsm_iv_int(bsm_itensor_numel(x));
      break;
    case LEN:
      if (x->dims.rank == 0) {
        return BSM_FAIL(BSM_INVALID_ARGUMENT, "len() of a 0-d tensor");
      }
      out = bsm_iv_int(x->dims.d[0]);
      break;
    case DTYPE:
      out = bsm_iv_int((int64_t)x->dtype);
      break;
    case IS_FLOATING:
      out = bsm_iv_bool(bsm_dtype_is_floating(x->dtype));
      break;
    case IS_COMPLEX:
    case NO:
      out = bsm_iv_bool(false);
      break;
    case DEVICE:
      out.tag = BSM_IVALUE_DEVICE;
      out.u.device = (bsm_torch_device){0, -1};
      break;
    case LAYOUT:
      out = bsm_iv_int(0);
      break;
    default:
      return BSM_OK;
  }
  *done = true;
  return bsm_associate_ivalue(ctx, bsm_node_out(node, 0), out);
}

static const bsm_evaluator_pattern patterns[] = {
    {"aten::size", of_tensor, SIZE, true},
    {"aten::size.int", of_tensor, SIZE_AT, true},
    {"prim::shape", of_tensor, SIZE, true},
    {"aten::dim", of_tensor, DIM, true},
    {"aten::numel", of_tensor, NUMEL, true},
    {"aten::len.Tensor", of_tensor, LEN, true},
    {"prim::dtype", of_tensor, DTYPE, true},
    {"prim::device", of_tensor, DEVICE, true},
    {"prim::layout", of_tensor, LAYOUT, true},
    {"prim::is_cuda", of_tensor, NO, true},
    {"prim::requires_grad", of_tensor, NO, true},
    {"aten::is_floating_point", of_tensor, IS_FLOATING, true},
    {"aten::is_complex", of_tensor, IS_COMPLEX, true},
};
BSM_EVALUATOR_TABLE(shapes, patterns);
