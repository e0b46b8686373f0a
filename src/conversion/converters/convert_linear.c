/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of every rank, with and without a bias. */
#include "conversion/emit.h"

/* A 1-D constant bias goes into the layer; anything else is added after. */
static bsm_itensor *with_bias(bsm_conversion_ctx *ctx, bsm_itensor *product,
                              const bsm_operand *bias) {
  if (!product || bias->missing) return product;
  bsm_layer *layer = product->producer;
  int64_t columns = product->dims.d[product->dims.rank - 1];
  if (bias->tensor && layer && layer->kind == BSM_LAYER_MATRIX_MULTIPLY &&
      bias->tensor->sizes.rank == 1 && bias->tensor->sizes.d[0] == columns &&
      bias->tensor->dtype == product->dtype && columns > 0) {
    layer->p.matrix_multiply.bias = bsm_weights_borrow(ctx, bias->tensor);
    return product;
  }
  return bsm_emit_binary(ctx, product,
                         bsm_operand_emit(ctx, bias, product->dtype),
                         BSM_ELEMENT_WISE_SUM);
}

static bsm_status convert_linear(bsm_conversion_ctx *ctx, const bsm_node *node,
                                 const bsm_args *args) {
  enum { INPUT, WEIGHT, BIAS };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, INPUT);
  bsm_itensor *w = bsm_arg_itensor_or_freeze(ctx, args, WEIGHT);
  bsm_operand bias = bsm_operand_of(ctx, args, BIAS);
  if (!x || !w) return bsm_ctx_take_error(ctx);
  BSM_CHECK(bsm_rank(x) >= 1 && bsm_rank(w) >= 1 && bsm_rank(w) <= 2,
            "linear: an input with dims %s and a weight with dims %s",
            bsm_dims_str(x->dims), bsm_dims_str(w->dims));
  bool vector = bsm_rank(x) == 1, single = bsm_rank(w) == 1;
  if (vector) x = bsm_emit_unsqueeze(ctx, x, 0);
  if (single) w = bsm_emit_unsqueeze(ctx, w, 0);
  bsm_itensor *out = bsm_emit_matmul(ctx, x, false, w, true);
  if (single && out) {
    out = bsm_emit_squeeze(ctx, out, 1u << (unsigned)(bsm_rank(out) - 1));
  }
  if (single && !bias.missing && out) {
    out = bsm_emit_binary(ctx, out, bsm_operand_emit(ctx, &bias, out->dtype),
                          BSM_ELEMENT_WISE_SUM);
  } else {
    out = with_bias(ctx, out, &bias);
  }
  if (vector) out = bsm_emit_squeeze(ctx, out, 1);
  return bsm_emit_output(ctx, node, 0, out);
}

/* A column times a row is their elements' products, which fuse with what is
 * around them; as a matrix product each batch is a call of a kernel. */
static bsm_itensor *multiply(bsm_conversion_ctx *ctx, bsm_itensor *a,
                             bsm_itensor *b) {
  const bool outer = a && b && a->dims.d[a->dims.rank - 1] == 1 &&
                     b->dims.d[b->dims.rank - 2] == 1 && a->dtype == b->dtype &&
                     bsm_dtype_is_floating(a->dtype);
  return outer ? bsm_emit_binary(ctx, a, b, BSM_ELEMENT_WISE_PROD)
               : bsm_emit_matmul(ctx, a, false, b, false);
}

bsm_itensor *bsm_emit_torch_matmul(bsm_conversion_ctx *ctx, bsm_itensor *a,
                                   bsm_itensor *b) {
  if (!a || !b) return NULL;
  bool left = bsm_rank(a) == 1, right = bsm_rank(b) == 1;
  if (bsm_rank(a) == 0 || bsm_rank(b) == 0) {
    return bsm_emit_fail(ctx, BSM_INVALID_ARGUMENT,
                         "both arguments to matmul need to be at least 1D, but "
                         "they are %dD and %dD",
                         (int)bsm_rank(a), (int)bsm_rank(b));
  }
  if (left) a = bsm_emit_unsqueeze(ctx, a, 0);
  if (right) b = bsm_emit_unsqueeze(ctx, b, 1);
  bsm_itensor *out = multiply(ctx, a, b);
  uint32_t drop = 0;
  if (!out) return NULL;
  if (left) drop |= 1u << (unsigned)(bsm_rank(out) - 2);
  if (right) drop |= 1u << (unsigned)(bsm_rank(out) - 1);
  return drop ? bsm_emit_squeeze(ctx, out, drop) : out;
}

/* matmul, mm, bmm, mv, dot; `variant`: ranks the op insists on, 10 * a + b,
 * or 0. */
static bsm_status convert_matmul(bsm_conversion_ctx *ctx, const bsm_node *node,
                                 const bsm_args *args) {
  enum { SELF, OTHER };
  int ranks = bsm_args_variant(args);
  bsm_itensor *a = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  bsm_itensor *b = bsm_arg_itensor_or_freeze(ctx, args, OTHER);
  if (!a || !b) return bsm_ctx_take_error(ctx);
  BSM_CHECK(ranks == 0 || 10 * bsm_rank(a) + bsm_rank(b) == ranks,
            "%s: operands with dims %s and %s", bsm_node_kind(node),
            bsm_dims_str(a->dims), bsm_dims_str(b->dims));
  return bsm_emit_output(ctx, node, 0, bsm_emit_torch_matmul(ctx, a, b));
}

/* x * number, nothing when it is 1. */
static bsm_itensor *times(bsm_conversion_ctx *ctx, bsm_itensor *x,
                          bsm_scalar by) {
  if (!x || (!(by.d < 1) && !(by.d > 1))) return x;
  bsm_operand operand = bsm_operand_of_scalar(by);
  return bsm_emit_binary(ctx, x, bsm_operand_emit(ctx, &operand, x->dtype),
                         BSM_ELEMENT_WISE_PROD);
}

/* beta * self + alpha * (a @ b). With beta 0, self is not even looked at: NaN
 * in it does not spread. */
static bsm_itensor *addmm(bsm_conversion_ctx *ctx, const bsm_args *args,
                          bool sum_over_batch) {
  enum { SELF, MAT1, MAT2, BETA, ALPHA };
  bsm_operand self = bsm_operand_of(ctx, args, SELF);
  bsm_scalar beta = bsm_arg_unwrap_to_scalar(args, BETA);
  bsm_scalar alpha = bsm_arg_unwrap_to_scalar(args, ALPHA);
  bsm_itensor *out =
      bsm_emit_torch_matmul(ctx, bsm_arg_itensor_or_freeze(ctx, args, MAT1),
                            bsm_arg_itensor_or_freeze(ctx, args, MAT2));
  if (sum_over_batch) {
    out = bsm_emit_reduce(ctx, out, BSM_REDUCE_SUM, 1, false);
  }
  out = times(ctx, out, alpha);
  if (!out || self.missing) return NULL;
  if (!(beta.d < 0) && !(beta.d > 0)) return out;
  if (!(beta.d < 1) && !(beta.d > 1)) return with_bias(ctx, out, &self);
  bsm_itensor *bias =
      times(ctx, bsm_operand_emit(ctx, &self, out->dtype), beta);
  return bsm_emit_binary(ctx, out, bias, BSM_ELEMENT_WISE_SUM);
}

enum { ADD_PRODUCT, ADD_SUM_OF_BATCH, ADD_ACTIVATE };

/* addmm, baddbmm, addmv, addbmm, and _addmm_activation. */
static bsm_status convert_addmm(bsm_conversion_ctx *ctx, const bsm_node *node,
                                const bsm_args *args) {
  enum { USE_GELU = 5 };
  const int variant = bsm_args_variant(args);
  bsm_itensor *out = addmm(ctx, args, variant == ADD_SUM_OF_BATCH);
  if (variant == ADD_ACTIVATE) {
    const bool gelu = bsm_arg_unwrap_to_bool(args, USE_GELU);
    out = bsm_emit_activation(
        ctx, out, gelu ? BSM_ACTIVATION_GELU_ERF : BSM_ACTIVATION_RELU, 0, 0);
  }
  return bsm_emit_output(ctx, node, 0, out);
}

/* _int_mm: of int8, in int32. */
static bsm_status convert_int_mm(bsm_conversion_ctx *ctx, const bsm_node *node,
                                 const bsm_args *args) {
  bsm_itensor *in[2];
  for (size_t i = 0; i < 2; i++) {
    in[i] = bsm_arg_itensor_or_freeze(ctx, args, i);
    if (!in[i]) return bsm_ctx_take_error(ctx);
    BSM_CHECK(in[i]->dtype == BSM_DTYPE_INT8 && bsm_rank(in[i]) == 2,
              "_int_mm of %s with dims %s", bsm_dtype_name(in[i]->dtype),
              bsm_dims_str(in[i]->dims));
    in[i] = bsm_emit_cast(ctx, in[i], BSM_DTYPE_INT32);
  }
  return bsm_emit_output(ctx, node, 0,
                         bsm_emit_matmul(ctx, in[0], false, in[1], false));
}

/* _weight_int8pack_mm(self, mat2, scales): self by int8 rows, each of which has
 * a scale. */
static bsm_status convert_int8pack_mm(bsm_conversion_ctx *ctx,
                                      const bsm_node *node,
                                      const bsm_args *args) {
  enum { SELF, MAT2, SCALES };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  bsm_itensor *w = bsm_arg_itensor_or_freeze(ctx, args, MAT2);
  bsm_itensor *scales = bsm_arg_itensor_or_freeze(ctx, args, SCALES);
  if (!x || !w || !scales) return bsm_ctx_take_error(ctx);
  BSM_CHECK(bsm_rank(x) == 2 && bsm_rank(w) == 2 &&
                bsm_dtype_is_floating(x->dtype) && scales->dtype == x->dtype,
            "_weight_int8pack_mm of dims %s and %s with scales of %s",
            bsm_dims_str(x->dims), bsm_dims_str(w->dims),
            bsm_dtype_name(scales->dtype));
  bsm_itensor *out =
      bsm_emit_matmul(ctx, x, false, bsm_emit_cast(ctx, w, x->dtype), true);
  return bsm_emit_output(
      ctx, node, 0, bsm_emit_binary(ctx, out, scales, BSM_ELEMENT_WISE_PROD));
}

/* self[:, None] * vec2[None, :] */
static bsm_status convert_outer(bsm_conversion_ctx *ctx, const bsm_node *node,
                                const bsm_args *args) {
  enum { SELF, VEC2 };
  bsm_operand both[2] = {bsm_operand_of(ctx, args, SELF),
                         bsm_operand_of(ctx, args, VEC2)};
  bsm_dtype dtype = bsm_operands_dtype(both, 2);
  bsm_itensor *a = bsm_operand_emit(ctx, &both[0], dtype);
  bsm_itensor *b = bsm_operand_emit(ctx, &both[1], dtype);
  BSM_CHECK(bsm_rank(a) == 1 && bsm_rank(b) == 1,
            "outer: Expected 1-D arguments");
  return bsm_emit_output(ctx, node, 0,
                         bsm_emit_binary(ctx, bsm_emit_unsqueeze(ctx, a, 1), b,
                                         BSM_ELEMENT_WISE_PROD));
}

#define ADD(name, first, second, variant)                          \
  {                                                                \
    "aten::" name "(Tensor self, Tensor " first ", Tensor " second \
    ", *, Scalar beta=1, Scalar alpha=1) -> Tensor",               \
        convert_addmm, variant                                     \
  }

static const bsm_conversion_pattern patterns[] = {
    {"aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
     convert_linear, 0},
    {"aten::matmul(Tensor self, Tensor other) -> Tensor", convert_matmul, 0},
    {"aten::linalg_matmul(Tensor self, Tensor other) -> Tensor", convert_matmul,
     0},
    {"aten::mm(Tensor self, Tensor mat2) -> Tensor", convert_matmul, 22},
    {"aten::bmm(Tensor self, Tensor mat2) -> Tensor", convert_matmul, 33},
    {"aten::mv(Tensor self, Tensor vec) -> Tensor", convert_matmul, 21},
    {"aten::dot(Tensor self, Tensor tensor) -> Tensor", convert_matmul, 11},
    {"aten::vdot(Tensor self, Tensor other) -> Tensor", convert_matmul, 11},
    ADD("addmm", "mat1", "mat2", ADD_PRODUCT),
    ADD("addmv", "mat", "vec", ADD_PRODUCT),
    ADD("baddbmm", "batch1", "batch2", ADD_PRODUCT),
    ADD("addbmm", "batch1", "batch2", ADD_SUM_OF_BATCH),
    {"aten::_addmm_activation(Tensor self, Tensor mat1, Tensor mat2, *, Scalar "
     "beta=1, Scalar alpha=1, bool use_gelu=False) -> Tensor",
     convert_addmm, ADD_ACTIVATE},
    {"aten::_int_mm(Tensor self, Tensor mat2) -> Tensor", convert_int_mm, 0},
    {"aten::_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) -> "
     "Tensor",
     convert_int8pack_mm, 0},
    {"aten::outer(Tensor self, Tensor vec2) -> Tensor", convert_outer, 0},
    {"aten::ger(Tensor self, Tensor vec2) -> Tensor", convert_outer, 0},
};
BSM_CONVERTER_TABLE(linear, patterns);
