/* SPDX-License-Identifier: Apache-2.0 */
/* The state of one run of the specialiser, and what every part of it needs:
 * where it is in the method, where it writes in the residual graph, the clock.
 *
 * Each concern keeps its own state behind a pointer that only its folder (and
 * those above it) can follow: memory/memory.h, ops/ops.h, control/control.h,
 * methods/methods.h. What is here is what the lowest folder knows.
 *
 * Memory: `scratch` holds records and dies with the run; `stack` holds frames
 * and arguments and is rewound after each node; what the residual graph refers
 * to is in `cx->arena`. Nothing is freed one by one. */
#ifndef BSM_LOWERING_SPECIALIZE_VALUES_SPECIALIZER_H_
#define BSM_LOWERING_SPECIALIZE_VALUES_SPECIALIZER_H_

#include "lowering/lowering.h"
#include "lowering/node_emitter.h"

typedef struct bsm_spec bsm_spec;

/* Where the specialiser calls itself. Lower folders need what higher ones do:
 * a view is read with arguments that are values in turn, an in-place op is
 * applied as another op, a branch runs the nodes of a block. The table is set
 * once, at the top (methods/specialize.c); values/interpreter.h calls it. */
typedef struct bsm_spec_interpreter {
  bsm_status (*residual)(bsm_spec *s, const bsm_ivalue *value,
                         const bsm_type *type, bsm_value **out);
  bsm_status (*apply)(bsm_spec *s, const bsm_schema *schema, bsm_ivalue *args,
                      size_t n, bsm_ivalue *outs, size_t n_outs);
  bsm_status (*run_block)(bsm_spec *s, const bsm_block *block);
} bsm_spec_interpreter;

/* One activation of a function. */
typedef struct bsm_spec_frame {
  struct bsm_spec_frame *caller;
  const bsm_function *function; /* NULL for the method itself */
  const bsm_node *call;         /* where the caller is */
  bsm_ivalue *values;           /* by value id */
  bool *bound;
  size_t count;
  const char *scope; /* "layer1.0", or NULL */
} bsm_spec_frame;

/* Where the run is in the method. */
typedef struct bsm_spec_position {
  bsm_spec_frame *frame;
  const bsm_node *node; /* of the method's graphs, being run */
  size_t depth;         /* of calls and blocks */
  uint64_t steps;       /* nodes that were run */
} bsm_spec_position;

/* The graph that is written, and where in it. */
typedef struct bsm_spec_residual_graph {
  bsm_graph *graph;
  bsm_block *block;                 /* where nodes go */
  BSM_VEC(bsm_block *) open_blocks; /* around `block`, and itself */
  size_t block_depth;     /* > 0 inside a block of a residual If or Loop */
  uint64_t block_created; /* stamp when the innermost such block began */
} bsm_spec_residual_graph;

/* How the method is specialised: values/literal_policy.h asks. */
typedef struct bsm_spec_policy {
  bool literal;
  /* The failure is one that a literal run would not have. */
  bool needs_literal;
  bool own_objects; /* interpret: mutate objects in place, no shadows */
} bsm_spec_policy;

struct bsm_world_samples;

/* The shapes that inputs are looked at in; bit w of `possible` is world w. */
typedef struct bsm_world_set {
  uint64_t possible; /* here; 0: inputs do not range */
  size_t count;
  const struct bsm_world_samples *samples; /* NULL: none */
} bsm_world_set;

struct bsm_spec {
  bsm_ir_ctx *cx;
  bsm_arena *scratch, *stack;
  const bsm_aten_library *aten;
  const bsm_logger *logger;
  const bsm_spec_interpreter *interpreter;
  bsm_spec_policy policy;
  bsm_spec_position at;
  bsm_spec_residual_graph residual;
  bsm_world_set worlds;
  bsm_ptrmap dynamic; /* bsm_list, bsm_dict -> bsm_dynamic_container */
  uint64_t clock;     /* versions and stamps: never repeats */
  struct bsm_spec_memory *memory;
  struct bsm_spec_ops *ops;
  struct bsm_spec_control *control;
  struct bsm_spec_methods *methods;
};

/* A new run with an empty residual graph; the states of the folders are NULL.
 * Borrows everything it is given until the run ends. */
BSM_NODISCARD bsm_status bsm_spec_init(bsm_spec *s, bsm_ir_ctx *cx,
                                       bsm_arena *scratch, bsm_arena *stack,
                                       const bsm_aten_library *aten,
                                       const bsm_spec_interpreter *interpreter);

/* The next stamp. */
uint64_t bsm_spec_tick(bsm_spec *s);
/* The source of the current node, with the scope of the frame. */
bsm_source bsm_spec_source(const bsm_spec *s);
/* "models/x.py:12", for messages; lives in the scratch arena. */
const char *bsm_spec_where(bsm_spec *s);
/* Emits at the current place of the residual graph. */
bsm_node_emitter bsm_spec_emitter(const bsm_spec *s);
/* Whether `value` may be used at the current place of the residual graph. */
bool bsm_spec_visible(const bsm_spec *s, const bsm_value *value);
/* Whether nodes go into the block, or into one inside of it. */
bool bsm_spec_is_open_block(const bsm_spec *s, const bsm_block *block);

/* The abstract value of an IR value in the current frame. BSM_INTERNAL: it has
 * none yet. */
BSM_NODISCARD bsm_status bsm_spec_get(bsm_spec *s, const bsm_value *value,
                                      bsm_ivalue *out);
BSM_NODISCARD bsm_status bsm_spec_set(bsm_spec *s, const bsm_value *value,
                                      bsm_ivalue what);

#endif /* BSM_LOWERING_SPECIALIZE_VALUES_SPECIALIZER_H_ */
