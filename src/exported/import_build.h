/* SPDX-License-Identifier: Apache-2.0 */
/* Making nodes while importing: constants, containers, calls of operators, and
 * the blocks of control flow. Names begin with bsm_xi_ ("exported, import"). */
#ifndef BSM_EXPORTED_IMPORT_BUILD_H_
#define BSM_EXPORTED_IMPORT_BUILD_H_

#include "exported/exported_program.h"
#include "ir/schema_match.h"

typedef struct bsm_importer {
  const bsm_exported_program *program;
  bsm_ir_ctx *cx;
  bsm_arena *arena;
  bsm_graph *graph;
  bsm_block *block;  /* nodes go to its end */
  bsm_source source; /* they get this */
  size_t depth;      /* of graphs in graphs */
  bool autocast;     /* in a region of torch.autocast("cpu") */
  size_t node_count; /* imported so far; graphs that are inlined count again */
  /* Operators that nobody has declared, and calls of them. */
  bsm_strmap undeclared;
  BSM_VEC(bsm_node *) undeclared_calls;
} bsm_importer;

typedef BSM_VEC(bsm_value *) bsm_xi_values;

const bsm_type *bsm_xi_type(const bsm_importer *im, bsm_type_kind kind);
bool bsm_xi_is_number(const bsm_type *type); /* int, float, bool, Scalar, ... */

/* ---- constants ---- */
/* `type` NULL: that of the value. */
BSM_NODISCARD bsm_status bsm_xi_constant(bsm_importer *im, bsm_ivalue value,
                                         const bsm_type *type, bsm_value **out);
BSM_NODISCARD bsm_status bsm_xi_none(bsm_importer *im, bsm_value **out);
BSM_NODISCARD bsm_status bsm_xi_int(bsm_importer *im, int64_t value,
                                    bsm_value **out);
BSM_NODISCARD bsm_status bsm_xi_bool(bsm_importer *im, bool value,
                                     bsm_value **out);
BSM_NODISCARD bsm_status bsm_xi_string(bsm_importer *im, const char *text,
                                       bsm_value **out);

/* ---- nodes ---- */
/* A node without schema, with one output of `type` (NULL: none), linked. */
BSM_NODISCARD bsm_status bsm_xi_node(bsm_importer *im, const char *kind,
                                     bsm_value *const *inputs, size_t count,
                                     const bsm_type *type, bsm_node **out);
BSM_NODISCARD bsm_status bsm_xi_list(bsm_importer *im, const bsm_type *elem,
                                     bsm_value *const *items, size_t count,
                                     bsm_value **out);
/* The items of a list or tuple; `elem` is the type of a list's. */
BSM_NODISCARD bsm_status bsm_xi_unpack(bsm_importer *im, bsm_value *container,
                                       size_t count, bsm_value **out);
/* The first overload of `name` ("aten::mul") that takes these values. */
BSM_NODISCARD bsm_status bsm_xi_call(bsm_importer *im, const char *name,
                                     bsm_value *const *args, size_t count,
                                     bsm_value **out);
/* One overload, "aten::pow.int_to_int"; defaults may be left out. */
BSM_NODISCARD bsm_status bsm_xi_op(bsm_importer *im, const char *qualified,
                                   bsm_value *const *args, size_t count,
                                   bsm_value **out);
BSM_NODISCARD bsm_status bsm_xi_append(bsm_importer *im, bsm_value *list,
                                       bsm_value *item);

/* ---- conversions ---- */
/* Whether a tensor, bool or number is true. */
BSM_NODISCARD bsm_status bsm_xi_truth(bsm_importer *im, bsm_value *value,
                                      bsm_value **out);
/* A number or tensor as what an exported value of the kind is. */
BSM_NODISCARD bsm_status bsm_xi_as_kind(bsm_importer *im, bsm_value *value,
                                        bsm_sym_kind kind, bsm_value **out);

/* ---- checks ---- */
/* prim::If: raises `message` unless `condition` (a bool) holds. */
BSM_NODISCARD bsm_status bsm_xi_check(bsm_importer *im, bsm_value *condition,
                                      const char *message);

/* ---- symbolic expressions ---- */
/* The value of `expr`, where symbol k is symbols[k]; *out NULL: a symbol has
 * none, or the expression holds an operation that is not imported. */
BSM_NODISCARD bsm_status bsm_xi_expr(bsm_importer *im, const bsm_sym_expr *expr,
                                     bsm_value *const *symbols,
                                     size_t symbol_count, bsm_value **out);

#endif /* BSM_EXPORTED_IMPORT_BUILD_H_ */
