/* SPDX-License-Identifier: Apache-2.0 */
/* Making an ONNX graph of a network: names of values, nodes, constants.
 *
 * Functions that make a value return its name, or NULL after a failure, which
 * stays in the emitter; they take such NULLs and do nothing. So a layer is
 * written as one expression, and its failure is looked at once. */
#ifndef BSM_ONNX_ONNX_EMITTER_H_
#define BSM_ONNX_ONNX_EMITTER_H_

#include "base/strings.h"
#include "bessemer/onnx.h"
#include "network/layer.h"

#define BSM_ONNX_OPSET 18

typedef struct bsm_onnx_emitter {
  bsm_arena *arena;
  const bsm_network *net;
  const bsm_layer *layer; /* that is being written */
  BSM_VEC(bsm_onnx_node) nodes;
  BSM_VEC(bsm_onnx_value) initializers;
  const char **names; /* by tensor id; NULL: not written yet */
  bsm_strmap used;    /* names of values -> themselves */
  size_t made;        /* values so far, for new names */
  size_t layer_nodes; /* of this layer so far */
  bsm_status status;  /* the first failure */
} bsm_onnx_emitter;

/* Attributes, for the lists below. */
bsm_onnx_attribute bsm_onnx_int(const char *name, int64_t value);
bsm_onnx_attribute bsm_onnx_float(const char *name, double value);
bsm_onnx_attribute bsm_onnx_string(const char *name, const char *value);
bsm_onnx_attribute bsm_onnx_list(const char *name, const int64_t *values,
                                 size_t count);

/* A node with one new output, whose name is returned. `attributes` are copied,
 * lists in them too. */
const char *bsm_onnx_op(bsm_onnx_emitter *e, const char *op,
                        const char *const *inputs, size_t input_count,
                        const bsm_onnx_attribute *attributes,
                        size_t attribute_count);
/* A node whose outputs are named by the caller: NULL becomes a new name. */
void bsm_onnx_op_to(bsm_onnx_emitter *e, const char *op,
                    const char *const *inputs, size_t input_count,
                    const bsm_onnx_attribute *attributes,
                    size_t attribute_count, const char **outputs,
                    size_t output_count);
/* Ops without attributes. */
const char *bsm_onnx_op1(bsm_onnx_emitter *e, const char *op, const char *a);
const char *bsm_onnx_op2(bsm_onnx_emitter *e, const char *op, const char *a,
                         const char *b);
const char *bsm_onnx_op3(bsm_onnx_emitter *e, const char *op, const char *a,
                         const char *b, const char *c);

/* ---- constants ---- */

/* One element of a dtype, of rank 0. */
const char *bsm_onnx_scalar(bsm_onnx_emitter *e, bsm_dtype dtype, double value);
const char *bsm_onnx_ints(bsm_onnx_emitter *e, const int64_t *values,
                          size_t count);
const char *bsm_onnx_dims(bsm_onnx_emitter *e, bsm_dims dims);
/* Borrowed memory, of these dims. */
const char *bsm_onnx_initializer(bsm_onnx_emitter *e, bsm_dtype dtype,
                                 bsm_dims dims, const void *data);
/* Weights in the dims that they came with. */
const char *bsm_onnx_weights(bsm_onnx_emitter *e, const bsm_weights *w);
/* The same with other dims of as many elements. */
const char *bsm_onnx_weights_as(bsm_onnx_emitter *e, const bsm_weights *w,
                                bsm_dims dims);

/* ---- values of the network ---- */

/* The name of input `index` of the layer. */
const char *bsm_onnx_in(bsm_onnx_emitter *e, size_t index);
/* Says that output `index` of the layer is the value of that name. */
void bsm_onnx_out(bsm_onnx_emitter *e, size_t index, const char *name);
const char *bsm_onnx_cast(bsm_onnx_emitter *e, const char *x, bsm_dtype dtype);

/* ---- of bits and truth values; NULL: not one of those ---- */

const char *bsm_onnx_compare_truth(bsm_onnx_emitter *e, const char *a,
                                   const char *b,
                                   bsm_element_wise_operation operation);
const char *bsm_onnx_shift(bsm_onnx_emitter *e, const char *a, const char *b,
                           bsm_element_wise_operation operation);

/* Fails with BSM_UNSUPPORTED: ONNX has nothing like it. */
void bsm_onnx_refuse(bsm_onnx_emitter *e, const char *reason);

/* ---- layers; each writes all outputs of e->layer ---- */

void bsm_onnx_convolution(bsm_onnx_emitter *e); /* and deconvolution */
void bsm_onnx_pooling(bsm_onnx_emitter *e);
void bsm_onnx_resize(bsm_onnx_emitter *e);
void bsm_onnx_sample(bsm_onnx_emitter *e);
void bsm_onnx_activation(bsm_onnx_emitter *e);
void bsm_onnx_unary(bsm_onnx_emitter *e);
void bsm_onnx_element_wise(bsm_onnx_emitter *e);
void bsm_onnx_reduce(bsm_onnx_emitter *e);
void bsm_onnx_scan(bsm_onnx_emitter *e);
void bsm_onnx_normalization(bsm_onnx_emitter *e);
void bsm_onnx_matrix_multiply(bsm_onnx_emitter *e);
void bsm_onnx_scale(bsm_onnx_emitter *e);
void bsm_onnx_shuffle(bsm_onnx_emitter *e);
void bsm_onnx_slice(bsm_onnx_emitter *e);
void bsm_onnx_gather(bsm_onnx_emitter *e);
void bsm_onnx_scatter(bsm_onnx_emitter *e);
void bsm_onnx_quantize(bsm_onnx_emitter *e); /* and dequantize */
void bsm_onnx_recurrent(bsm_onnx_emitter *e);

/* ---- all of it ---- */

/* The graph, in `arena`; weights stay where the network has them. */
BSM_NODISCARD bsm_status bsm_onnx_from_network(const bsm_network *net,
                                               const char *name,
                                               bsm_arena *arena,
                                               bsm_onnx_graph *out);

#endif /* BSM_ONNX_ONNX_EMITTER_H_ */
