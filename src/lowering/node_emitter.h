/* SPDX-License-Identifier: Apache-2.0 */
/* Emitting nodes of the lowered graph: by qualified schema name, with
 * constants made on the way and output types inferred by running the
 * reference op on meta tensors. Used by the specialiser and by the passes. */
#ifndef BSM_LOWERING_NODE_EMITTER_H_
#define BSM_LOWERING_NODE_EMITTER_H_

#include "aten/op.h"
#include "ir/graph.h"

/* Where nodes go: before `before`, or at the end of `block` when it is NULL. */
typedef struct bsm_node_emitter {
  bsm_graph *graph;
  bsm_block *block;
  bsm_node *before;
  const bsm_aten_library *aten;
  bsm_source source; /* given to every node */
} bsm_node_emitter;

/* Emits in front of `node`, with its source. */
bsm_node_emitter bsm_node_emitter_before(bsm_node *node,
                                         const bsm_aten_library *aten);

/* Links an unlinked node at the place of the emitter, with its source. */
void bsm_ir_link(const bsm_node_emitter *e, bsm_node *node);

BSM_NODISCARD bsm_status bsm_ir_constant(const bsm_node_emitter *e,
                                         bsm_ivalue value, const bsm_type *type,
                                         bsm_value **out);
BSM_NODISCARD bsm_status bsm_ir_none(const bsm_node_emitter *e,
                                     bsm_value **out);
BSM_NODISCARD bsm_status bsm_ir_int(const bsm_node_emitter *e, int64_t v,
                                    bsm_value **out);
BSM_NODISCARD bsm_status bsm_ir_double(const bsm_node_emitter *e, double v,
                                       bsm_value **out);
BSM_NODISCARD bsm_status bsm_ir_bool(const bsm_node_emitter *e, bool v,
                                     bsm_value **out);
BSM_NODISCARD bsm_status bsm_ir_ints(const bsm_node_emitter *e,
                                     const int64_t *v, size_t n,
                                     bsm_value **out);
BSM_NODISCARD bsm_status bsm_ir_dims(const bsm_node_emitter *e, bsm_dims dims,
                                     bsm_value **out);

/* Makes a node of a schema such as "aten::reshape"; all inputs must be given,
 * and the outputs get the schema's types. BSM_INTERNAL when the schema table
 * has no such schema. */
BSM_NODISCARD bsm_status bsm_ir_node(const bsm_node_emitter *e,
                                     const char *qualified,
                                     bsm_value *const *inputs, size_t n,
                                     bsm_node **out);
/* The same, and infers the types of the outputs; returns output 0. */
BSM_NODISCARD bsm_status bsm_ir_op(const bsm_node_emitter *e,
                                   const char *qualified,
                                   bsm_value *const *inputs, size_t n,
                                   bsm_value **out);

/* Common ops. */
BSM_NODISCARD bsm_status bsm_ir_reshape(const bsm_node_emitter *e, bsm_value *x,
                                        bsm_dims sizes, bsm_value **out);
BSM_NODISCARD bsm_status bsm_ir_permute(const bsm_node_emitter *e, bsm_value *x,
                                        const int64_t *perm, size_t n,
                                        bsm_value **out);
BSM_NODISCARD bsm_status bsm_ir_transpose(const bsm_node_emitter *e,
                                          bsm_value *x, int64_t a, int64_t b,
                                          bsm_value **out);
BSM_NODISCARD bsm_status bsm_ir_expand(const bsm_node_emitter *e, bsm_value *x,
                                       bsm_dims sizes, bsm_value **out);
BSM_NODISCARD bsm_status bsm_ir_cast(const bsm_node_emitter *e, bsm_value *x,
                                     bsm_dtype dtype, bsm_value **out);
BSM_NODISCARD bsm_status bsm_ir_slice(const bsm_node_emitter *e, bsm_value *x,
                                      int64_t dim, int64_t start, int64_t end,
                                      int64_t step, bsm_value **out);
BSM_NODISCARD bsm_status bsm_ir_select(const bsm_node_emitter *e, bsm_value *x,
                                       int64_t dim, int64_t index,
                                       bsm_value **out);

/* What stands for a typed IR value in shape inference: its constant, a meta
 * tensor of its type, or a list of these. *known is false when the type does
 * not say enough. */
BSM_NODISCARD bsm_status bsm_infer_argument(const bsm_value *value,
                                            bsm_arena *arena, bsm_ivalue *out,
                                            bool *known);
/* Refines the types of the outputs of `node` where shapes can be computed, and
 * leaves the others alone. Returns an error of the op itself. */
BSM_NODISCARD bsm_status bsm_infer_types(bsm_node *node,
                                         const bsm_aten_library *aten);

/* ---- reading constants, for passes ---- */
bool bsm_value_is_none(const bsm_value *value);
bool bsm_value_int(const bsm_value *value, int64_t *out);
bool bsm_value_double(const bsm_value *value, double *out); /* or an int */
bool bsm_value_bool(const bsm_value *value, bool *out);
/* A constant tensor, or NULL. */
const bsm_tensor *bsm_value_tensor(const bsm_value *value);
/* A constant int[] of at most BSM_MAX_RANK items (an int counts as one). */
bool bsm_value_ints(const bsm_value *value, int64_t *out, size_t *count);
/* The dims and dtype of a tensor value; false when not fully known. */
bool bsm_value_dims(const bsm_value *value, bsm_dims *dims, bsm_dtype *dtype);
/* The same when a size that is not known is -1. */
bool bsm_value_rank(const bsm_value *value, bsm_dims *dims, bsm_dtype *dtype);
/* The items of a Tensor[] made by prim::ListConstruct; NULL when another node
 * made it. */
bsm_node *bsm_value_list_node(const bsm_value *value);
/* `dim` counted from the front; false when out of range. */
bool bsm_ir_wrap_dim(int64_t *dim, int32_t rank);

#endif /* BSM_LOWERING_NODE_EMITTER_H_ */
