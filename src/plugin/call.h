/* SPDX-License-Identifier: Apache-2.0 */
/* Calls: the arguments, inputs and outputs that a plug-in's functions see.
 *
 * A call is made from boxed values (while compiling) or from the parameters of
 * a layer. Arguments of an operator travel as bytes, in the network, the plan
 * and the engine file:
 *
 *   u32 magic, u32 count, then for each argument: u32 tag, u32 n, payload
 *     int, bool, float   8 bytes
 *     string             n bytes with a NUL, padded to a multiple of 8
 *     int list           n int64, then n double of the same values
 *     float list         n double
 *     tensor             n: which input; tensor list: n, u64 first input
 *
 * Everything is a multiple of 8 bytes, so that values are read in place. */
#ifndef BSM_PLUGIN_CALL_H_
#define BSM_PLUGIN_CALL_H_

#include "aten/op.h"
#include "base/thread_pool.h"
#include "bessemer/plugin.h"

typedef enum bsm_call_tag {
  BSM_CALL_NONE = 0,
  BSM_CALL_INT = 1,
  BSM_CALL_BOOL = 2,
  BSM_CALL_DOUBLE = 3,
  BSM_CALL_STRING = 4,
  BSM_CALL_INT_LIST = 5,
  BSM_CALL_DOUBLE_LIST = 6,
  BSM_CALL_TENSOR = 7,
  BSM_CALL_TENSOR_LIST = 8
} bsm_call_tag;

typedef struct bsm_call_arg {
  bsm_call_tag tag;
  uint32_t count; /* of a list */
  union {
    int64_t i; /* INT, BOOL */
    double d;
    const char *s;
    const int64_t *ints;
    uint32_t input; /* TENSOR; TENSOR_LIST: the first one */
  } u;
  const double *doubles; /* of both kinds of lists */
} bsm_call_arg;

typedef enum bsm_call_phase {
  BSM_CALL_SHAPE = 0,
  BSM_CALL_RUN = 1,
  BSM_CALL_EVALUATE = 2
} bsm_call_phase;

struct bsm_call {
  const char *what; /* for messages */
  bsm_call_phase phase;
  const bsm_call_arg *args;
  size_t arg_count;
  bsm_array inputs[BSM_PLUGIN_MAX_INPUTS];
  size_t input_count;
  bsm_array outputs[BSM_PLUGIN_MAX_OUTPUTS]; /* rank -1: not set */
  size_t output_count;
  const void *params;
  size_t params_size;
  void *workspace;
  bsm_thread_pool *pool;
  bsm_status error; /* the first wrong reading */
  /* EVALUATE */
  bsm_op_ctx *op;
  bsm_ivalue *results;
};

/* An empty call with `outputs` outputs that are not set. */
void bsm_call_init(bsm_call *call, const char *what, size_t outputs);

/* Calls `fn`; fails with its failure or with the first wrong reading. */
BSM_NODISCARD bsm_status bsm_call_do(bsm_call *call, bsm_call_fn fn);
/* The shape function; fails when it leaves an output without a shape. */
BSM_NODISCARD bsm_status bsm_call_shape(bsm_call *call,
                                        const bsm_layer_plugin *layer);
/* The bytes of workspace that the layer wants. */
BSM_NODISCARD bsm_status bsm_call_workspace_size(bsm_call *call,
                                                 const bsm_layer_plugin *layer,
                                                 size_t *out);

/* From boxed values: lists and strings are copied into `arena`; tensors become
 * inputs in order, contiguous, without data when they are meta. */
BSM_NODISCARD bsm_status bsm_call_from_ivalues(bsm_call *call,
                                               const bsm_ivalue *args,
                                               size_t count, bsm_arena *arena);

/* The bytes of arguments, in `arena`. */
BSM_NODISCARD bsm_status bsm_call_args_encode(const bsm_call_arg *args,
                                              size_t count, bsm_arena *arena,
                                              const void **out, size_t *size);
/* From bytes that may be hostile (8-byte aligned, which must outlive the
 * call); `inputs` tensors exist, each of which one argument must name, in
 * order. The types are those of `schema`. */
BSM_NODISCARD bsm_status bsm_call_args_decode(bsm_call *call,
                                              const char *schema,
                                              const void *bytes, size_t size,
                                              size_t inputs, bsm_arena *arena);

#endif /* BSM_PLUGIN_CALL_H_ */
