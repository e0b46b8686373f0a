/* SPDX-License-Identifier: Apache-2.0 */
/* Short forms for converters: one call adds a layer, names it after the node
 * being converted, and returns its first output. After a recorded failure they
 * return NULL, and NULL arguments give NULL. So layers can be chained, and one
 * check at the end, bsm_emit_output, is enough. */
#ifndef BSM_CONVERSION_EMIT_H_
#define BSM_CONVERSION_EMIT_H_

#include "conversion/conversion_internal.h"

/* Names the layer and returns output 0; NULL for NULL. */
bsm_itensor *bsm_emit(bsm_conversion_ctx *ctx, bsm_layer *layer);

/* Ends a converter: binds output `index` of the node. */
BSM_NODISCARD bsm_status bsm_emit_output(bsm_conversion_ctx *ctx,
                                         const bsm_node *node, size_t index,
                                         bsm_itensor *tensor);
/* Whether output `index` is used; unused outputs need no tensor. */
static inline bool bsm_output_is_used(const bsm_node *node, size_t index) {
  return index < node->outputs.len && node->outputs.items[index]->uses.len > 0;
}
/* Records a failure with a message; returns NULL. */
bsm_itensor *bsm_emit_fail(bsm_conversion_ctx *ctx, bsm_code code,
                           const char *format, ...) BSM_PRINTF(3, 4);

/* ---- dims ---- */
static inline int32_t bsm_rank(const bsm_itensor *x) {
  return x ? x->dims.rank : 0;
}
/* PyTorch's rule for negative dims: -rank .. rank - 1, and a 0-dim tensor has
 * the dims -1 and 0. False with the failure recorded. */
bool bsm_wrap_dim(bsm_conversion_ctx *ctx, int64_t dim, int32_t rank,
                  int32_t *out);
/* A list of dims as bits; duplicates are an error; an empty list is all. */
bool bsm_wrap_dims(bsm_conversion_ctx *ctx, const int64_t *dims, size_t count,
                   int32_t rank, uint32_t *out);
/* Dims of `count` values: one value stands for all, as in int[2]. */
bool bsm_spatial_dims(bsm_conversion_ctx *ctx, const int64_t *values,
                      size_t count, int32_t spatial, const char *what,
                      bsm_dims *out);
bsm_dims bsm_dims_of(const int64_t *values, size_t count);
int64_t bsm_itensor_numel(const bsm_itensor *x);

/* ---- layers ---- */
bsm_itensor *bsm_emit_cast(
    bsm_conversion_ctx *ctx, bsm_itensor *x,
    bsm_dtype dtype); /* no layer when it has that dtype */
bsm_itensor *bsm_emit_unary(bsm_conversion_ctx *ctx, bsm_itensor *x,
                            bsm_unary_operation operation);
bsm_itensor *bsm_emit_binary(bsm_conversion_ctx *ctx, bsm_itensor *a,
                             bsm_itensor *b,
                             bsm_element_wise_operation operation);
bsm_itensor *bsm_emit_activation(bsm_conversion_ctx *ctx, bsm_itensor *x,
                                 bsm_activation_type type, double alpha,
                                 double beta);
bsm_itensor *bsm_emit_reshape(bsm_conversion_ctx *ctx, bsm_itensor *x,
                              bsm_dims dims); /* nothing when equal */
bsm_itensor *bsm_emit_permute(bsm_conversion_ctx *ctx, bsm_itensor *x,
                              bsm_dims perm); /* nothing when identity */
bsm_itensor *bsm_emit_transpose(bsm_conversion_ctx *ctx, bsm_itensor *x,
                                int32_t a, int32_t b);
/* Inserts a dimension of size 1 before `axis`. */
bsm_itensor *bsm_emit_unsqueeze(bsm_conversion_ctx *ctx, bsm_itensor *x,
                                int32_t axis);
/* Drops the dimensions of `axes`, which have size 1. */
bsm_itensor *bsm_emit_squeeze(bsm_conversion_ctx *ctx, bsm_itensor *x,
                              uint32_t axes);
bsm_itensor *bsm_emit_reduce(bsm_conversion_ctx *ctx, bsm_itensor *x,
                             bsm_reduce_operation operation, uint32_t axes,
                             bool keep_dims);
/* The p-norm over `axes` of a floating tensor. */
bsm_itensor *bsm_emit_p_norm(bsm_conversion_ctx *ctx, bsm_itensor *x, double p,
                             uint32_t axes, bool keep_dims);
bsm_itensor *bsm_emit_slice(bsm_conversion_ctx *ctx, bsm_itensor *x,
                            int32_t axis, int64_t start, int64_t size,
                            int64_t step); /* nothing when whole */
bsm_itensor *bsm_emit_concat(bsm_conversion_ctx *ctx, bsm_itensor *const *xs,
                             size_t count, int32_t axis);
bsm_itensor *bsm_emit_expand(bsm_conversion_ctx *ctx, bsm_itensor *x,
                             bsm_dims dims); /* nothing when equal */
bsm_itensor *bsm_emit_gather(bsm_conversion_ctx *ctx, bsm_itensor *data,
                             bsm_itensor *indices, bsm_gather_mode mode,
                             int32_t axis);
bsm_itensor *bsm_emit_select(bsm_conversion_ctx *ctx, bsm_itensor *condition,
                             bsm_itensor *a, bsm_itensor *b);
/* torch.lerp: a + weight * (b - a), from whichever end is nearer, so that a
 * weight of 1 gives b. */
bsm_itensor *bsm_emit_lerp(bsm_conversion_ctx *ctx, bsm_itensor *a,
                           bsm_itensor *b, bsm_itensor *weight);
/* The same by a number: only the nearer end is computed. */
bsm_itensor *bsm_emit_lerp_by(bsm_conversion_ctx *ctx, bsm_itensor *a,
                              bsm_itensor *b, double weight);
bsm_itensor *bsm_emit_softmax(bsm_conversion_ctx *ctx, bsm_itensor *x,
                              int32_t axis, bool log);
bsm_itensor *bsm_emit_matmul(bsm_conversion_ctx *ctx, bsm_itensor *a,
                             bool transpose_a, bsm_itensor *b,
                             bool transpose_b);
/* torch.matmul: vectors become matrices, batches broadcast. */
bsm_itensor *bsm_emit_torch_matmul(bsm_conversion_ctx *ctx, bsm_itensor *a,
                                   bsm_itensor *b);
bsm_itensor *bsm_emit_fill(bsm_conversion_ctx *ctx, bsm_dtype dtype,
                           bsm_dims dims, double value);
/* A 0-dim constant. Integers stay exact. */
bsm_itensor *bsm_emit_scalar(bsm_conversion_ctx *ctx, bsm_dtype dtype,
                             double value);
bsm_itensor *bsm_emit_int_scalar(bsm_conversion_ctx *ctx, bsm_dtype dtype,
                                 int64_t value);
/* A constant of int64 values. */
bsm_itensor *bsm_emit_int64s(bsm_conversion_ctx *ctx, const int64_t *values,
                             bsm_dims dims);
/* A 1-D int64 constant start, start + step, ... */
bsm_itensor *bsm_emit_arange(bsm_conversion_ctx *ctx, int64_t start,
                             int64_t count, int64_t step);

/* ---- dtypes ---- */
/* For ops with floating results: int and bool become float32. */
bsm_itensor *bsm_emit_to_floating(bsm_conversion_ctx *ctx, bsm_itensor *x);
/* The dtype of a ScalarType arg; `fallback` for None. Fails for dtypes that the
 * network does not have. */
bsm_dtype bsm_arg_dtype_or(const bsm_args *args, size_t i, bsm_dtype fallback);

/* An operand of an arithmetic op: a tensor of the network, a constant tensor
 * or a Python number, with its rank in type promotion. */
typedef struct bsm_operand {
  bsm_itensor *itensor;
  const bsm_tensor *tensor;
  bsm_scalar scalar; /* when neither */
  bsm_dtype dtype;   /* of a number: int64, float32 (the default) or bool */
  int priority;      /* 0 with dimensions, 1 0-dim, 2 wrapped number */
  bool missing;      /* None, or not an operand */
} bsm_operand;

/* Arg `i` as an operand. It is `missing` when the arg is None, and also, with
 * an error recorded, when it is no operand. */
bsm_operand bsm_operand_of(bsm_conversion_ctx *ctx, const bsm_args *args,
                           size_t i);
bsm_operand bsm_operand_of_itensor(bsm_itensor *x);
bsm_operand bsm_operand_of_scalar(bsm_scalar scalar);
/* PyTorch's result_type. */
bsm_dtype bsm_operands_dtype(const bsm_operand *operands, size_t count);
/* The operand in `dtype`: a cast layer, or a constant converted now. */
bsm_itensor *bsm_operand_emit(bsm_conversion_ctx *ctx,
                              const bsm_operand *operand, bsm_dtype dtype);
/* A host tensor in `dtype`, frozen. */
bsm_itensor *bsm_freeze_as(bsm_conversion_ctx *ctx, const bsm_tensor *tensor,
                           bsm_dtype dtype);
/* Arg `i`, frozen when static, in `dtype`; NULL without an error for None. */
bsm_itensor *bsm_arg_emit_or_none(bsm_conversion_ctx *ctx, const bsm_args *args,
                                  size_t i, bsm_dtype dtype);

#endif /* BSM_CONVERSION_EMIT_H_ */
