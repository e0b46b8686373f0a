/* SPDX-License-Identifier: Apache-2.0 */
/* What names stand for while a function is emitted.
 *
 * A name is bound to a value of the graph or to something that exists only
 * while compiling (a function, a class, a namespace): a "sugar", as PyTorch's
 * compiler calls it. Every block has a scope; the binding of a name in a scope
 * hides those outside. After the block, the scope's own bindings say what the
 * block assigned, which is what phis are made of. */
#ifndef BSM_TORCHSCRIPT_SCOPE_H_
#define BSM_TORCHSCRIPT_SCOPE_H_

#include "ir/graph.h"
#include "torchscript/syntax.h"

typedef enum bsm_sugar_kind {
  BSM_SUGAR_VALUE = 0, /* value */
  BSM_SUGAR_VALUES,    /* values: the results of one operator, none or many */
  BSM_SUGAR_FUNCTION,  /* fn */
  BSM_SUGAR_METHOD,    /* name of value, fn */
  BSM_SUGAR_OPERATOR, /* name: "aten::add"; value: its first argument or NULL */
  BSM_SUGAR_NAMESPACE, /* name: of operators, "aten"; NULL for `ops` */
  BSM_SUGAR_MODULE,    /* name: of the archive's code, "__torch__.a" */
  BSM_SUGAR_CLASS,     /* type */
  BSM_SUGAR_NEW,       /* type: its __new__ */
  BSM_SUGAR_SPECIAL,   /* special: annotate, int, isinstance, ... */
  BSM_SUGAR_CONSTANTS, /* CONSTANTS */
  BSM_SUGAR_CLOSURE,   /* def: a function inside a function */
  BSM_SUGAR_UNUSABLE   /* name: why; branches disagree about the type */
} bsm_sugar_kind;

typedef struct bsm_sugar {
  bsm_sugar_kind kind;
  bsm_value *value;
  bsm_value **values;
  size_t count;
  bsm_function *fn;
  const char *name;
  const bsm_type *type;
  const struct bsm_script_special *special;
  const bsm_def *def;
} bsm_sugar;

typedef struct bsm_binding {
  const char *name; /* interned */
  bsm_sugar sugar;
} bsm_binding;

typedef struct bsm_scope {
  struct bsm_scope *parent;
  bsm_ptrmap map;               /* name -> bsm_binding */
  BSM_VEC(bsm_binding *) order; /* of first assignment */
} bsm_scope;

/* Names are interned: compared by address. NULL when not bound. */
bsm_binding *bsm_scope_find_own(const bsm_scope *scope, const char *name);
bsm_binding *bsm_scope_find(const bsm_scope *scope, const char *name);
BSM_NODISCARD bsm_status bsm_scope_bind(bsm_arena *arena, bsm_scope *scope,
                                        const char *name, bsm_sugar sugar);

/* The names that statements assign, in order of first assignment. */
typedef struct bsm_assigned {
  bsm_ptrmap seen;
  BSM_VEC(const char *) names;
} bsm_assigned;
BSM_NODISCARD bsm_status bsm_assigned_add(bsm_arena *arena,
                                          const bsm_stmts *stmts,
                                          bsm_assigned *out);
BSM_NODISCARD bsm_status bsm_assigned_name(bsm_arena *arena, const char *name,
                                           bsm_assigned *out);

#endif /* BSM_TORCHSCRIPT_SCOPE_H_ */
