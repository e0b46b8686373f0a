/* SPDX-License-Identifier: Apache-2.0 */
/* The emitter: a function's syntax tree becomes a graph.
 *
 * Values are in SSA form from the start: assignments only rebind names. An
 * `if` gives a prim::If whose outputs are the names that its branches leave
 * different; a loop gives a prim::Loop that carries the names its body assigns.
 * Operator calls go through overload resolution with the static types of their
 * arguments.
 *
 * Nodes besides those of PyTorch's compiler: prim::CallMethod has the attribute
 * "name", prim::CallFunction "function"; both have all arguments with defaults
 * as inputs, and one output. prim::isinstance has the attribute "types", a
 * tuple without items whose type lists the alternatives. Forked functions are
 * called where they are forked and awaiting is nothing, so the type Future[T]
 * is T. An assignment `x : T = e` that widens the type of e is a
 * prim::unchecked_cast.
 *
 * Names begin with bsm_se_ ("script emitter").
 *
 * script_emit.c: functions and statements; script_emit_control.c: if, loops,
 * with; script_emit_expr.c: expressions; script_emit_call.c: calls;
 * script_emit_special.c: annotate, isinstance, int and other forms that look
 * like calls. */
#ifndef BSM_TORCHSCRIPT_SCRIPT_EMIT_H_
#define BSM_TORCHSCRIPT_SCRIPT_EMIT_H_

#include "ir/schema_match.h"
#include "torchscript/scope.h"
#include "torchscript/script_internal.h"

typedef struct bsm_script_emitter {
  bsm_script *script;
  bsm_script_file *file;
  bsm_ir_ctx *cx;
  bsm_arena *arena;
  bsm_graph *graph;
  bsm_block *block; /* nodes go to its end */
  bsm_scope *scope;
  const bsm_scope *top;   /* where `return` may stand */
  const bsm_type *result; /* of the function; NULL: not annotated */
  bsm_value *returned;    /* NULL until there was a return */
} bsm_script_emitter;

/* ---- script_emit.c ---- */
BSM_NODISCARD bsm_status bsm_se_stmts(bsm_script_emitter *e,
                                      const bsm_stmts *stmts);
BSM_NODISCARD bsm_status bsm_se_bind(bsm_script_emitter *e, const char *name,
                                     bsm_code_pos pos, bsm_sugar sugar);
/* Calls a closure by emitting its body here. */
BSM_NODISCARD bsm_status bsm_se_closure(bsm_script_emitter *e,
                                        const bsm_def *def, bsm_code_pos pos,
                                        bsm_value **out);

/* ---- script_emit_control.c ---- */
BSM_NODISCARD bsm_status bsm_se_if(bsm_script_emitter *e, const bsm_stmt *stmt);
BSM_NODISCARD bsm_status bsm_se_while(bsm_script_emitter *e,
                                      const bsm_stmt *stmt);
BSM_NODISCARD bsm_status bsm_se_for(bsm_script_emitter *e,
                                    const bsm_stmt *stmt);
BSM_NODISCARD bsm_status bsm_se_with(bsm_script_emitter *e,
                                     const bsm_stmt *stmt);

/* ---- script_emit_expr.c ---- */
/* `hint`: the type that is wanted, for literals without a type of their own;
 * NULL: none. */
BSM_NODISCARD bsm_status bsm_se_sugar(bsm_script_emitter *e,
                                      const bsm_expr *expr,
                                      const bsm_type *hint, bsm_sugar *out);
BSM_NODISCARD bsm_status bsm_se_value(bsm_script_emitter *e,
                                      const bsm_expr *expr,
                                      const bsm_type *hint, bsm_value **out);
/* The one value that a sugar is; several results become a tuple. */
BSM_NODISCARD bsm_status bsm_se_as_value(bsm_script_emitter *e, bsm_sugar sugar,
                                         bsm_code_pos pos, bsm_value **out);
BSM_NODISCARD bsm_status bsm_se_attribute(bsm_script_emitter *e,
                                          bsm_value *value, const char *name,
                                          bsm_code_pos pos, bsm_sugar *out);

/* ---- script_emit_call.c ---- */
typedef struct bsm_se_args {
  bsm_match_arg *args;
  bsm_value **values;
  size_t count;
} bsm_se_args;

BSM_NODISCARD bsm_status bsm_se_call(bsm_script_emitter *e,
                                     const bsm_expr *call, bsm_sugar *out);
/* The arguments of a call, behind `self` (may be NULL). */
BSM_NODISCARD bsm_status bsm_se_gather(bsm_script_emitter *e,
                                       const bsm_expr *call, bsm_value *self,
                                       bsm_se_args *out);
/* Positional arguments that are values already. */
BSM_NODISCARD bsm_status bsm_se_pack(bsm_script_emitter *e,
                                     bsm_value *const *values, size_t count,
                                     bsm_se_args *out);
BSM_NODISCARD bsm_status bsm_se_operator(bsm_script_emitter *e,
                                         const char *name, bsm_code_pos pos,
                                         bsm_se_args *args, bsm_sugar *out);
/* A call of a function, or of a method when `method` is its name. */
BSM_NODISCARD bsm_status bsm_se_invoke(bsm_script_emitter *e, bsm_function *fn,
                                       const char *method, bsm_code_pos pos,
                                       bsm_se_args *args, bsm_value **out);
/* `value` as a `type`: itself when it is one, else converted. */
BSM_NODISCARD bsm_status bsm_se_convert(bsm_script_emitter *e, bsm_code_pos pos,
                                        bsm_value *value, const bsm_type *type,
                                        bsm_value **out);

/* ---- script_emit_special.c ---- */
typedef struct bsm_script_special bsm_script_special;
struct bsm_script_special {
  const char *name;
  bsm_status (*emit)(bsm_script_emitter *e, const bsm_expr *call,
                     const bsm_script_special *self, bsm_sugar *out);
  const char *op;     /* the operator it stands for, or NULL */
  bsm_type_kind cast; /* of casts: what they give */
};
const bsm_script_special *bsm_special_find(const char *name);
/* Whether `value` is true, as a bool. */
BSM_NODISCARD bsm_status bsm_se_condition(bsm_script_emitter *e,
                                          const bsm_expr *expr,
                                          bsm_value **out);

/* ---- nodes ---- */
BSM_NODISCARD bsm_status bsm_se_error(const bsm_script_emitter *e,
                                      bsm_code_pos pos, bsm_code code,
                                      const char *format, ...) BSM_PRINTF(4, 5);
BSM_NODISCARD bsm_status bsm_se_source(const bsm_script_emitter *e,
                                       bsm_code_pos pos, bsm_source *out);
/* A node at the end of the block; with one output when `type` is not NULL. */
BSM_NODISCARD bsm_status bsm_se_node(bsm_script_emitter *e, bsm_code_pos pos,
                                     const char *kind, bsm_value *const *inputs,
                                     size_t count, const bsm_type *type,
                                     bsm_node **out);
/* Such a node's output. */
BSM_NODISCARD bsm_status bsm_se_simple(bsm_script_emitter *e, bsm_code_pos pos,
                                       const char *kind,
                                       bsm_value *const *inputs, size_t count,
                                       const bsm_type *type, bsm_value **out);
BSM_NODISCARD bsm_status bsm_se_constant(bsm_script_emitter *e,
                                         bsm_code_pos pos, bsm_ivalue value,
                                         const bsm_type *type, bsm_value **out);
BSM_NODISCARD bsm_status bsm_se_tuple(bsm_script_emitter *e, bsm_code_pos pos,
                                      bsm_value *const *values, size_t count,
                                      bsm_value **out);
/* The elements of a tuple (all of them) or list (`count`). */
BSM_NODISCARD bsm_status bsm_se_unpack(bsm_script_emitter *e, bsm_code_pos pos,
                                       bsm_value *value, size_t count,
                                       bsm_value ***out);

static inline bsm_sugar bsm_sugar_value(bsm_value *value) {
  return (bsm_sugar){.kind = BSM_SUGAR_VALUE, .value = value};
}

#endif /* BSM_TORCHSCRIPT_SCRIPT_EMIT_H_ */
