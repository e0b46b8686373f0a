/* SPDX-License-Identifier: Apache-2.0 */
/* The converter system: what a converter is given and what it must do.
 *
 * A converter is a function registered by schema string. It is called for each
 * node of that schema with one arg for each argument of the schema, in order,
 * defaults filled in, each an ITensor (known when the engine runs) or an IValue
 * (known now). It adds layers to ctx->net and associates every output of the
 * node with an ITensor or an IValue. See docs/writing-converters.md.
 *
 * Accessors cannot fail halfway: an unwrap of the wrong type records an error
 * in the context and returns a zero value; the compiler checks for it when the
 * converter returns and fails with the node's place in the model. */
#ifndef BESSEMER_CONVERSION_H_
#define BESSEMER_CONVERSION_H_

#include "bessemer/log.h"
#include "bessemer/network.h"
#include "bessemer/status.h"
#include "bessemer/types.h"

BSM_EXTERN_C_BEGIN

/* IR, read-only here. */
typedef struct bsm_node bsm_node;
typedef struct bsm_value bsm_value;
typedef struct bsm_tensor bsm_tensor; /* a host tensor: constants, weights */
typedef struct bsm_ivalue bsm_ivalue;

typedef struct bsm_args bsm_args;
typedef struct bsm_conversion_impl bsm_conversion_impl;

/* `net` is the network under construction. Memory from bsm_conversion_alloc
 * lives until conversion ends and the engine is built. */
typedef struct bsm_conversion_ctx {
  bsm_network *net;
  const bsm_logger *logger;
  bsm_conversion_impl *impl;
} bsm_conversion_ctx;

typedef bsm_status (*bsm_converter_fn)(bsm_conversion_ctx *ctx,
                                       const bsm_node *node,
                                       const bsm_args *args);

/* A row of a converter table. `variant` tells the members of a family that
 * share a function apart (bsm_args_variant). */
typedef struct bsm_conversion_pattern {
  const char *schema;
  bsm_converter_fn convert;
  int variant;
} bsm_conversion_pattern;

typedef struct bsm_converter_registry bsm_converter_registry;

/* Adds patterns; a later one for the same operator and overload replaces an
 * earlier one, and the replacement is logged. The table is borrowed and must
 * outlive the registry. BSM_INVALID_ARGUMENT: a schema does not parse. */
BSM_API BSM_NODISCARD bsm_status bsm_register_conversion_patterns(
    bsm_converter_registry *registry, const bsm_conversion_pattern *patterns,
    size_t count);

/* ---- node ---- */
/* "%out = aten::relu(%in) at model.py:12": names layers. Lives as long as the
 * conversion. */
BSM_API const char *bsm_node_info(bsm_conversion_ctx *ctx,
                                  const bsm_node *node);
BSM_API const char *bsm_node_kind(const bsm_node *node);
BSM_API size_t bsm_node_output_count(const bsm_node *node);
BSM_API const bsm_value *bsm_node_output(const bsm_node *node, size_t index);

/* ---- args ---- */
BSM_API size_t bsm_args_count(const bsm_args *args);
BSM_API int bsm_args_variant(const bsm_args *args);
BSM_API bool bsm_arg_is_itensor(const bsm_args *args, size_t i);
BSM_API bool bsm_arg_is_ivalue(const bsm_args *args, size_t i);
BSM_API bool bsm_arg_is_none(const bsm_args *args, size_t i);
BSM_API bool bsm_arg_is_int(const bsm_args *args, size_t i);
BSM_API bool bsm_arg_is_double(const bsm_args *args, size_t i);
BSM_API bool bsm_arg_is_bool(const bsm_args *args, size_t i);
BSM_API bool bsm_arg_is_string(const bsm_args *args, size_t i);
/* A host tensor. */
BSM_API bool bsm_arg_is_tensor(const bsm_args *args, size_t i);
BSM_API bool bsm_arg_is_list(const bsm_args *args, size_t i);

/* The ITensor; NULL with an error recorded when the arg is not one. */
BSM_API bsm_itensor *bsm_arg_itensor(const bsm_args *args, size_t i);
/* The ITensor, or the constant tensor or scalar as a constant layer. */
BSM_API bsm_itensor *bsm_arg_itensor_or_freeze(bsm_conversion_ctx *ctx,
                                               const bsm_args *args, size_t i);

/* Unwraps; the `_or` forms return `fallback` for None. A Scalar unwraps as
 * int or double whichever it is; a double with a fraction does not unwrap as
 * an int. */
BSM_API double bsm_arg_unwrap_to_double(const bsm_args *args, size_t i);
BSM_API double bsm_arg_unwrap_to_double_or(const bsm_args *args, size_t i,
                                           double fallback);
BSM_API int64_t bsm_arg_unwrap_to_int(const bsm_args *args, size_t i);
BSM_API int64_t bsm_arg_unwrap_to_int_or(const bsm_args *args, size_t i,
                                         int64_t fallback);
BSM_API bool bsm_arg_unwrap_to_bool(const bsm_args *args, size_t i);
BSM_API bool bsm_arg_unwrap_to_bool_or(const bsm_args *args, size_t i,
                                       bool fallback);
/* A Scalar (int, double or bool) with its own type. */
typedef struct bsm_scalar {
  bsm_dtype dtype; /* INT64, DOUBLE or BOOL */
  int64_t i;
  double d; /* always set */
} bsm_scalar;
BSM_API bsm_scalar bsm_arg_unwrap_to_scalar(const bsm_args *args, size_t i);
BSM_API bsm_scalar bsm_arg_unwrap_to_scalar_or(const bsm_args *args, size_t i,
                                               bsm_scalar fallback);
/* "" with an error recorded when not a string. */
BSM_API const char *bsm_arg_unwrap_to_string(const bsm_args *args, size_t i);
BSM_API const char *bsm_arg_unwrap_to_string_or(const bsm_args *args, size_t i,
                                                const char *fallback);
/* Lists: *count is set; the memory lives until conversion ends. An int unwraps
 * as a list of one. The `_or` forms return NULL and *count 0 for None. */
BSM_API const int64_t *bsm_arg_unwrap_to_int_list(const bsm_args *args,
                                                  size_t i, size_t *count);
BSM_API const int64_t *bsm_arg_unwrap_to_int_list_or_none(const bsm_args *args,
                                                          size_t i,
                                                          size_t *count);
BSM_API const double *bsm_arg_unwrap_to_double_list(const bsm_args *args,
                                                    size_t i, size_t *count);
BSM_API const double *bsm_arg_unwrap_to_double_list_or_none(
    const bsm_args *args, size_t i, size_t *count);
BSM_API const bool *bsm_arg_unwrap_to_bool_list(const bsm_args *args, size_t i,
                                                size_t *count);
BSM_API const bsm_tensor *bsm_arg_unwrap_to_tensor(const bsm_args *args,
                                                   size_t i);
BSM_API const bsm_tensor *bsm_arg_unwrap_to_tensor_or_none(const bsm_args *args,
                                                           size_t i);
BSM_API const bsm_tensor *const *bsm_arg_unwrap_to_tensor_list(
    const bsm_args *args, size_t i, size_t *count);
/* A TensorList whose elements may be ITensors or constants: constants are
 * frozen; an element that is None is NULL. */
BSM_API bsm_itensor *const *bsm_arg_unwrap_to_itensor_list(
    bsm_conversion_ctx *ctx, const bsm_args *args, size_t i, size_t *count);

/* ---- results ---- */
/* Binds an output value to a tensor, names the tensor after the value, returns
 * `tensor` (NULL stays NULL, with an error recorded). */
BSM_API bsm_itensor *bsm_associate_value_and_tensor(bsm_conversion_ctx *ctx,
                                                    const bsm_value *value,
                                                    bsm_itensor *tensor);
/* Binds an output value to a static value, which must live until conversion
 * ends. */
BSM_API BSM_NODISCARD bsm_status bsm_associate_value_and_ivalue(
    bsm_conversion_ctx *ctx, const bsm_value *value, const bsm_ivalue *ivalue);
/* Binds an output value of type Tensor[] to a list of tensors (each in a
 * TensorContainer). */
BSM_API BSM_NODISCARD bsm_status bsm_associate_value_and_itensor_list(
    bsm_conversion_ctx *ctx, const bsm_value *value,
    bsm_itensor *const *tensors, size_t count);

/* ---- weights and memory ---- */
/* Copies a host tensor, contiguous, into the context; metadata as TRTorch's
 * Weights. Empty with an error recorded on failure. */
BSM_API bsm_weights bsm_weights_from_tensor(bsm_conversion_ctx *ctx,
                                            const bsm_tensor *tensor);
/* One element of `dtype`. */
BSM_API bsm_weights bsm_weights_from_scalar(bsm_conversion_ctx *ctx,
                                            bsm_dtype dtype, double value);
/* The same as adders take them; the struct lives as long as the memory. NULL
 * for a NULL tensor, as a layer without bias has it, and with an error recorded
 * on failure. */
BSM_API const bsm_weights *bsm_weights_of_tensor(bsm_conversion_ctx *ctx,
                                                 const bsm_tensor *tensor);
BSM_API const bsm_weights *bsm_weights_of_scalar(bsm_conversion_ctx *ctx,
                                                 bsm_dtype dtype, double value);
/* Zeroed memory until the engine is built; NULL when out of memory. */
BSM_API void *bsm_conversion_alloc(bsm_conversion_ctx *ctx, size_t size);

BSM_API bsm_dims bsm_tensor_dims(const bsm_tensor *tensor);
BSM_API bsm_dtype bsm_tensor_dtype(const bsm_tensor *tensor);

/* ---- logging: use a variable named ctx ---- */
#define BSM_LOG_DEBUG(...) \
  bsm_log(ctx->logger, BSM_LOG_LEVEL_DEBUG, __VA_ARGS__)
#define BSM_LOG_INFO(...) bsm_log(ctx->logger, BSM_LOG_LEVEL_INFO, __VA_ARGS__)
#define BSM_LOG_WARNING(...) \
  bsm_log(ctx->logger, BSM_LOG_LEVEL_WARNING, __VA_ARGS__)

BSM_EXTERN_C_END

#endif /* BESSEMER_CONVERSION_H_ */
