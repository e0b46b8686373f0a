/* SPDX-License-Identifier: Apache-2.0 */
/* Abstract values: ivalues whose leaves are known, meta or symbols.
 *
 *   known     a number, a string, a tensor with data
 *   meta      a tensor of known dtype and dims without data, standing for a
 *             value of the residual graph (memory/alias.h has its record)
 *   symbol    anything else that only the run will tell: a number read from a
 *             tensor, a tensor whose shape depends on data, the result of an op
 *             without a reference implementation: a BSM_IVALUE_CONTAINER that
 *             points to a bsm_spec_symbol
 *   dynamic   a list or dict with identity here, whose items only the run will
 *             tell: a bsm_dynamic_container (memory/dynamic_containers.h makes
 *             them)
 *
 * Lists, tuples, dicts and objects exist only here, with identity, and are
 * mutated for real. */
#ifndef BSM_LOWERING_SPECIALIZE_VALUES_ABSTRACT_VALUE_H_
#define BSM_LOWERING_SPECIALIZE_VALUES_ABSTRACT_VALUE_H_

#include "lowering/specialize/values/specializer.h"

typedef struct bsm_spec_symbol {
  bsm_value *value; /* NULL: prim::Uninitialized */
  const bsm_type *type;
  bool aliased; /* shares memory in ways not followed: must not be written to */
  uint64_t created;
  uint64_t version; /* of the last write; of a view: as of which `value` is */
  /* A view: what it is a view of, a symbol or a tensor (NONE: it is not), and
   * the op that made it. */
  bsm_ivalue parent;
  const bsm_schema *schema;
  bsm_ivalue *args; /* the first is the parent */
  size_t arg_count;
  /* What it is in each world, with dims and numbers instead of data; NULL: it
   * depends on more than the shapes of the inputs. */
  bsm_ivalue *worlds;
  /* Of a tensor: its range when it is an input; whether its dims, or those of
   * invariant_dims inside invariant_block, are the same for all shapes that get
   * there; whether its rank may depend on them. */
  const bsm_lowering_range *range;
  const bsm_block *invariant_block;
  uint32_t invariant_dims;
  bool fixed, rank_open;
  bool is_view;   /* of its parent; false: if it has one, it may be a copy */
  bool quantized; /* stands for integers and their grid, and has no value */
} bsm_spec_symbol;

/* Reading its items is an op on `value`; writing to it gives it a new one. */
typedef struct bsm_dynamic_container {
  bsm_ivalue container; /* its identity; what it holds is not looked at */
  const bsm_type *type;
  bsm_value *value;
} bsm_dynamic_container;

static inline bool bsm_spec_is_symbol(const bsm_ivalue *v) {
  return v->tag == BSM_IVALUE_CONTAINER;
}
static inline bsm_spec_symbol *bsm_spec_symbol_of(const bsm_ivalue *v) {
  return v->u.container;
}
/* prim::Uninitialized. */
static inline bool bsm_spec_is_undefined(const bsm_ivalue *v) {
  return bsm_spec_is_symbol(v) && !bsm_spec_symbol_of(v)->value;
}
/* None, or a known number or string. */
static inline bool bsm_spec_is_plain(const bsm_ivalue *v) {
  return v->tag <= BSM_IVALUE_DEVICE;
}
static inline bool bsm_spec_is_container(const bsm_ivalue *v) {
  return v->tag == BSM_IVALUE_LIST || v->tag == BSM_IVALUE_DICT;
}

/* The record of a dynamic list or dict; NULL: its items are known. */
bsm_dynamic_container *bsm_spec_dynamic_find(const bsm_spec *s,
                                             const bsm_ivalue *value);

/* A symbol that stands for `value` (NULL: for nothing that is ever read). */
BSM_NODISCARD bsm_status bsm_spec_new_symbol(bsm_spec *s, bsm_value *value,
                                             const bsm_type *type,
                                             bsm_ivalue *out);
/* A tuple like `tuple` whose items are undefined. */
BSM_NODISCARD bsm_status bsm_spec_spread_undefined(bsm_spec *s,
                                                   const bsm_ivalue *tuple,
                                                   bsm_ivalue *out);
/* The op that made a symbol, for messages: "aten::item". */
const char *bsm_spec_symbol_origin(const bsm_spec *s, const bsm_ivalue *v);

/* What the leaves of a value are. */
typedef struct bsm_spec_leaves {
  bool meta, symbol; /* a dynamic container is a symbol */
} bsm_spec_leaves;
/* Adds to *out what is in `value`; what is in it more than once is looked at
 * once. BSM_LIMIT: it is nested too deep. */
BSM_NODISCARD bsm_status bsm_spec_scan(bsm_spec *s, const bsm_ivalue *value,
                                       bsm_spec_leaves *out);

/* The type of a residual value that stands for the tensor; NULL: no memory. */
const bsm_type *bsm_spec_tensor_type(bsm_spec *s, const bsm_tensor *t);
/* The type of a value of any kind; a tensor's has dims. May be NULL. */
const bsm_type *bsm_spec_type_of(bsm_spec *s, const bsm_ivalue *v);

/* A meta tensor of the same shape, or the value itself; also inside a list. */
BSM_NODISCARD bsm_status bsm_spec_without_data(bsm_spec *s, bsm_ivalue *value);
/* Makes a tensor one of the same geometry without data; others stay. */
BSM_NODISCARD bsm_status bsm_spec_drop_data(bsm_spec *s, bsm_ivalue *v);

#endif /* BSM_LOWERING_SPECIALIZE_VALUES_ABSTRACT_VALUE_H_ */
