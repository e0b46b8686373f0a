/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering: the graph of a method becomes a flat, functional graph of tensor
 * ops with known shapes, ready for conversion.
 *
 * Input:  a method's graph (self first), the root object, and what is known of
 *         each argument: a meta tensor (dtype, dims), or a concrete value.
 * Output: a graph without self, whose inputs are the tensor leaves of the
 *         arguments; weights are prim::Constant; no calls, objects, in-place
 *         ops. Control flow and containers stay only where they depend on data.
 *         A method that shares memory in ways that cannot be resolved keeps its
 *         writes: see bsm_lowered.literal. */
#ifndef BSM_LOWERING_LOWERING_H_
#define BSM_LOWERING_LOWERING_H_

#include "aten/op.h"
#include "ir/graph.h"

/* A number that is known only when the engine runs. An argument, or a part of
 * one, stands for such a number when it is a BSM_IVALUE_CONTAINER that points
 * to this struct. It becomes a graph input of rank 0. */
typedef struct bsm_lowering_number {
  bsm_type_kind kind; /* BSM_TYPE_INT, FLOAT or BOOL */
  bsm_dtype dtype;    /* of the input */
} bsm_lowering_number;

/* A symbol is a size that dims of several inputs may follow. A dim that follows
 * one is scale * symbol + offset; without a symbol (NULL) it ranges by itself.
 */
typedef struct bsm_lowering_symbol {
  uint32_t id; /* unique among the inputs of a method */
  int64_t min, opt, max;
} bsm_lowering_symbol;
typedef struct bsm_lowering_dim {
  const bsm_lowering_symbol *symbol;
  int64_t scale, offset;
} bsm_lowering_dim;

/* A tensor whose dims range, also given as a BSM_IVALUE_CONTAINER; `kind` is
 * BSM_TYPE_TENSOR. Every shape between `min` and `max` is possible in which the
 * dims that follow the same symbol agree. */
typedef struct bsm_lowering_range {
  bsm_type_kind kind;
  bsm_dtype dtype;
  bsm_dims min, opt, max;
  const bsm_lowering_dim *dims; /* NULL: all range by themselves */
} bsm_lowering_range;

/* One argument of the method, after self. Tensors of the ivalue (also inside
 * tuples, lists, dicts) that are meta, and the two structs above, become graph
 * inputs in depth-first order. Everything else is known and folds. */
typedef struct bsm_lowering_input {
  const char *name; /* parameter name */
  bsm_ivalue value;
} bsm_lowering_input;

typedef struct bsm_lowering_options {
  const bsm_aten_library *aten;
  /* Called with the graph before the first pass (pass "input") and after each
   * pass; NULL: none. */
  bsm_status (*after_pass)(void *user, const char *pass,
                           const bsm_graph *graph);
  void *user;
  /* Whether sizes that depend on data get a bound: passes/bound_sizes.c. */
  bool bounds_sizes;
} bsm_lowering_options;

/* A tensor, number, string, ... of the result. */
typedef struct bsm_lowered_leaf {
  bool is_output; /* else: a constant of the model */
  size_t output;  /* index into the graph's outputs */
  /* The output is neither a tensor nor a number, and its value is known only
   * when the engine runs: a list of any length, a dict, a string, an optional.
   */
  bool is_value;
  /* Of an output: Tensor, or the type of a number or value that is known only
   * when the engine runs. */
  const bsm_type *type;
  /* Of a tensor whose IR type does not say the dims: what is known of them. A
   * size of -1 depends on the inputs' shapes; a rank of -1 is unknown. */
  bsm_dims dims;
  bsm_ivalue constant;
} bsm_lowered_leaf;

/* A value of the result's structure; its children follow it, depth first. */
typedef struct bsm_lowered_node {
  /* LIST, TUPLE, DICT or OBJECT. Any other tag: the value is the next leaf
   * (CONTAINER: it is known only when the engine runs). */
  bsm_ivalue_tag tag;
  const bsm_type *type; /* of a NamedTuple or object */
  size_t child_count;
  bsm_ivalue key; /* in a parent that is a dict */
} bsm_lowered_node;

typedef struct bsm_lowered {
  bsm_graph *graph;
  /* The graph still writes to tensors, lists and dicts, as the program does
   * (ir/memory_sets.h), so its nodes may not be moved past each other. In all
   * other graphs values never change. */
  bool literal;
  bsm_lowered_leaf *leaves; /* the flattened result, in order */
  size_t leaf_count;
  bsm_lowered_node *nodes; /* the result around its leaves: the root first */
  size_t node_count;
  const char *
      *input_names; /* of the graph's inputs: "x", "x.0" in containers */
  /* Of the graph's inputs; NULL where the dims are fixed. */
  const bsm_lowering_range *const *input_ranges;
  /* A shape of the range that the model does not take, and why. NULL: the model
   * takes all shapes that were tried. */
  const char *refusal;
  const bsm_type *result_type;
} bsm_lowered;

/* `root` may be NULL for a free-standing graph (IR text), whose inputs are
 * then exactly `inputs`. */
BSM_NODISCARD bsm_status bsm_lower(bsm_graph *method, bsm_object *root,
                                   const bsm_lowering_input *inputs,
                                   size_t input_count,
                                   const bsm_lowering_options *options,
                                   bsm_lowered *out);

/* The names of the passes in order, for --dump-after: NULL-terminated. */
const char *const *bsm_lowering_pass_names(void);

#endif /* BSM_LOWERING_LOWERING_H_ */
