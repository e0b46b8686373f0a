/* SPDX-License-Identifier: Apache-2.0 */
/* Models as ONNX: the operators, weights and names of an ONNX graph as plain
 * structs, to be written by whatever writes protobuf. `bessemer export` does.
 *
 * What is written is the network of a model as it is before the builder
 * optimizes it, for inputs of fixed shapes. */
#ifndef BESSEMER_ONNX_H_
#define BESSEMER_ONNX_H_

#include "bessemer/compiler.h"

BSM_EXTERN_C_BEGIN

/* The numbers are AttributeProto.AttributeType. */
typedef enum bsm_onnx_attribute_kind {
  BSM_ONNX_FLOAT = 1,
  BSM_ONNX_INT = 2,
  BSM_ONNX_STRING = 3,
  BSM_ONNX_INTS = 7,
  BSM_ONNX_STRINGS = 8
} bsm_onnx_attribute_kind;

typedef struct bsm_onnx_attribute {
  const char *name;
  bsm_onnx_attribute_kind kind;
  float f;
  int64_t i;
  const char *s;
  const int64_t *ints;
  const char *const *strings;
  size_t count; /* of ints or strings */
} bsm_onnx_attribute;

typedef struct bsm_onnx_node {
  const char *op;            /* of the domain "" */
  const char *name;          /* unique; says which layer of the model it is */
  const char *const *inputs; /* names of values; "": an optional one, absent */
  size_t input_count;
  const char *const *outputs;
  size_t output_count;
  const bsm_onnx_attribute *attributes;
  size_t attribute_count;
} bsm_onnx_node;

/* An input or output of the graph, or an initializer, which has data. */
typedef struct bsm_onnx_value {
  const char *name;
  bsm_dtype dtype;
  bsm_dims dims;
  const void *data; /* row-major */
  size_t bytes;
} bsm_onnx_value;

typedef struct bsm_onnx_graph {
  size_t struct_size;
  const char *name;           /* of the model's file */
  int opset;                  /* that the operators are of */
  const bsm_onnx_node *nodes; /* in an order in which they can run */
  size_t node_count;
  const bsm_onnx_value *initializers, *inputs, *outputs;
  size_t initializer_count, input_count, output_count;
} bsm_onnx_graph;

typedef struct bsm_onnx bsm_onnx;

/* Lowers a method and makes an ONNX graph of it; `options` as for bsm_compile.
 * The module has to outlive *out, which the caller destroys.
 * BSM_UNSUPPORTED: the model branches on data or its shapes range; or ONNX has
 * no operators for some layers, all of which are named. */
BSM_API BSM_NODISCARD bsm_status bsm_module_onnx(
    bsm_module *module, const bsm_compile_options *options, bsm_onnx **out);
/* Lives as long as `onnx`. */
BSM_API const bsm_onnx_graph *bsm_onnx_get_graph(const bsm_onnx *onnx);
/* The number that ONNX has for a dtype (TensorProto.DataType); 0: none. */
BSM_API int bsm_onnx_dtype(bsm_dtype dtype);
/* NULL is allowed. */
BSM_API void bsm_onnx_destroy(bsm_onnx *onnx);

BSM_EXTERN_C_END

#endif /* BESSEMER_ONNX_H_ */
