/* SPDX-License-Identifier: Apache-2.0 */
/* Overload resolution: from the arguments of a call to a schema.
 *
 * Serialized code and printed graphs name an operator ("aten::add") but not
 * the overload. The overload is the first schema of that name, in the order of
 * the schema table, that accepts the static types of the arguments; which one
 * is chosen changes results, so this follows PyTorch's rules exactly:
 *
 *   one candidate: it is matched with conversions allowed;
 *   several: all are tried without conversions, then all with conversions.
 *
 * A schema is matched by walking its formals from left to right. A formal gets
 *   1. the next positional argument, unless it is keyword-only. With
 *      conversions, when it is the last positional formal, of type T[] without
 *      a size (and T not a type variable), and the argument is neither a list
 *      nor a tuple of T, it takes ALL remaining positional arguments as a list;
 *   2. else the keyword argument of its name ("input" also stands for "self"
 *      of an aten operator);
 *   3. else its default; else the match fails.
 * Left-over arguments fail, except positional ones of a schema with "...".
 *
 * An argument fits its formal by
 *   always: int or float for int[N] or float[N] (repeated N times, also when
 *     optional); a tuple whose elements all are T for T[]; a tuple for a tuple,
 *     element by element; the literal [] for any list; T or None for T?; a
 *     type variable is bound to the argument's type;
 *   with conversions: Tensor for float, complex, int, Scalar; Scalar for
 *     float, complex, int; bool for int, Scalar; str for Device.
 *
 * Matching looks at types only and builds nothing: the result is a recipe.
 * bsm_schema_match_build turns it into nodes. */
#ifndef BSM_IR_SCHEMA_MATCH_H_
#define BSM_IR_SCHEMA_MATCH_H_

#include "ir/graph.h"

/* One argument of the call. Positional arguments come first, in order, then
 * keyword arguments in any order. */
typedef struct bsm_match_arg {
  const char *name; /* NULL: positional */
  const bsm_type *type;
  bool empty_list; /* the bare literal []: fits any list (type: Tensor[]) */
} bsm_match_arg;

/* How an input of the node comes from the arguments: a small tree. */
typedef enum bsm_match_op {
  /* args[index], as it is. */
  BSM_MATCH_ACTUAL = 0,
  /* The default of the formal: schema->args[index].default_value. */
  BSM_MATCH_DEFAULT = 1,
  /* prim::ListConstruct of `items`: arguments collected into a list, an int
   * repeated for int[N] (N items of the same argument), or no item for a bare
   * []. `type` is the list's type. */
  BSM_MATCH_LIST = 2,
  /* items[0] is a tuple: prim::TupleUnpack, then prim::ListConstruct. */
  BSM_MATCH_TUPLE_TO_LIST = 3,
  /* items[0] is a tuple: prim::TupleUnpack; items[1 ..] say what becomes of
   * each element (in them BSM_MATCH_ELEMENT stands for element `index`); then
   * prim::TupleConstruct. */
  BSM_MATCH_TUPLE = 4,
  BSM_MATCH_ELEMENT = 5,
  /* A call of the operator `call` on items[0]: "aten::IntImplicit",
   * "aten::FloatImplicit", "aten::ComplexImplicit", "aten::ScalarImplicit",
   * "aten::Int", "aten::Float", "aten::Complex", "aten::device". */
  BSM_MATCH_CALL = 6
} bsm_match_op;

typedef struct bsm_match_value {
  bsm_match_op op;
  size_t index;
  const char *call; /* CALL: an overload's qualified name, "aten::Int.bool" */
  const bsm_type *type; /* of the value this makes */
  const struct bsm_match_value *items;
  size_t item_count;
} bsm_match_value;

typedef struct bsm_schema_match {
  const bsm_schema *schema;
  /* One for each formal, in order; after them the extra arguments of "...". */
  bsm_match_value *inputs;
  size_t input_count;
  /* One for each return of the schema, type variables replaced. A variable
   * that nothing binds is Tensor. */
  const bsm_type **return_types;
} bsm_schema_match;

/* The arguments of a call, and where the result and messages are made. */
typedef struct bsm_match_call {
  bsm_type_table *types;
  bsm_arena *arena;
  const bsm_match_arg *args; /* positional ones first */
  size_t arg_count;
  /* A bool is a Scalar as it is: so programs of torch.export call operators.
   * TorchScript makes an int of it. */
  bool truth_is_number;
} bsm_match_call;

/* Matches one schema. `conversions`: the second pass. On success *out is
 * filled and *matched is true. Fails only with out of memory. */
BSM_NODISCARD bsm_status bsm_schema_match_one(const bsm_match_call *call,
                                              const bsm_schema *schema,
                                              bool conversions,
                                              bsm_schema_match *out,
                                              bool *matched);

/* The whole algorithm over `candidates`, in their order. BSM_UNSUPPORTED
 * when none fits: the message lists every candidate with the reason. */
BSM_NODISCARD bsm_status bsm_schema_match_overloads(
    const bsm_match_call *call, const bsm_schema *const *candidates,
    size_t candidate_count, bsm_schema_match *out);

/* As above over all overloads of `name` ("aten::add") in `schemas`.
 * BSM_NOT_FOUND when there is no operator of that name. */
BSM_NODISCARD bsm_status bsm_schema_match_name(const bsm_match_call *call,
                                               bsm_schema_table *schemas,
                                               bsm_str name,
                                               bsm_schema_match *out);

/* The overload of a node that already has the complete list of its inputs, in
 * order, keyword-only ones too (printed graphs; PyTorch's Node::matches): the
 * first candidate whose formals accept `types`, and where there is none the
 * first for which a bool is a Scalar. *out is NULL when none does.
 * `return_types` (may be NULL) gets as in bsm_schema_match. */
BSM_NODISCARD bsm_status bsm_schema_match_node(
    bsm_type_table *table, bsm_arena *arena, const bsm_type *const *types,
    size_t count, const bsm_schema *const *candidates, size_t candidate_count,
    const bsm_schema **out, const bsm_type ***return_types);

/* The recipe made real: conversions, lists and default constants are inserted
 * before `position` (at the end of `block` when NULL), then the node itself
 * with its outputs typed by match->return_types. `actuals` are the values of
 * call->args, in the same order; one whose recipe does not use it (a bare []
 * for a typed list) may be NULL. All new nodes get `source` (may be NULL). */
BSM_NODISCARD bsm_status bsm_schema_match_build(
    bsm_graph *graph, const bsm_schema_match *match, bsm_value *const *actuals,
    bsm_block *block, bsm_node *position, const bsm_source *source,
    bsm_node **out);

#endif /* BSM_IR_SCHEMA_MATCH_H_ */
