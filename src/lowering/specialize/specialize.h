/* SPDX-License-Identifier: Apache-2.0 */
/* The specialiser: an abstract interpreter that runs a method in program order
 * and writes down, in a new flat graph, only what has to be computed when the
 * engine runs.
 *
 * An abstract value is an ivalue whose leaves are of three kinds:
 *   known     a number, a string, a tensor with data: ops on known values are
 *             computed at once by the reference library;
 *   meta      a tensor of known dtype and dims without data, standing for a
 *             value of the residual graph;
 *   symbol    anything else that only the run will tell: a number read from a
 *             tensor, a tensor whose shape depends on data, the result of an
 *             op without a reference implementation. A BSM_IVALUE_CONTAINER
 *             that points to a bsm_spec_symbol.
 * Lists, tuples, dicts and objects exist only here, with identity, and are
 * mutated for real. Objects of the module are copied on first sight
 * (shadow.c), so the module itself never changes.
 *
 * Mutation of tensors (alias.c, mutate.c): every tensor belongs to a storage,
 * which has one base tensor with a current residual value and a version; other
 * tensors of the storage are views, each made from its parent by a view op.
 * Writing through a view computes a new value for the base; a read of any
 * alias replays its view chain when its own value is older than the storage.
 *
 * Literally (literal.c): a method that shares memory in ways that the above
 * does not follow is run a second time. Then nothing is resolved: the residual
 * graph has the views, the in-place writes and the lists and dicts of the
 * program, and its values have identity, as in PyTorch.
 *
 * Files: run_nodes.c (state, frames, nodes), shadow.c (values of the module),
 * calls.c (calls, attributes, objects), container_nodes.c (prim:: container
 * ops), dynamic_containers.c (containers whose items only the run will tell),
 * reachable.c (who else has a container), prim_nodes.c (other prim:: ops),
 * control_flow.c (If, Loop), unroll.c (how far), residual_block.c (blocks of
 * the residual graph), symbol_views.c (views of symbols), nested_tensors.c
 * (nested tensors), branch.c (If on unknown conditions), loop.c (loops whose
 * length is unknown), apply_op.c (ops by schema), residual.c (values and nodes
 * of the residual graph), alias.c (storages and views), write_back.c (writing
 * through views), mutate.c (in-place ops), literal.c (memory as the program
 * shares it), container_aliases.c (lists that others have), residual_outputs.c
 * (inputs and results), world_ops.c (shapes that range), world_shapes.c (which
 * are looked at), world_checks.c (that others are refused), world_strides.c
 * (as_strided of them), counterexamples.c (looking for more). */
#ifndef BSM_LOWERING_SPECIALIZE_SPECIALIZE_H_
#define BSM_LOWERING_SPECIALIZE_SPECIALIZE_H_

#include "lowering/lowering.h"
#include "lowering/node_emitter.h"

typedef struct bsm_spec_symbol {
  bsm_value *value;
  const bsm_type *type;
  bool aliased; /* shares memory in ways not followed: must not be written to */
  uint64_t birth;
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
   * sure_dims inside sure_block, are the same for all shapes that get there;
   * whether its rank may depend on them. */
  const bsm_lowering_range *range;
  const bsm_block *sure_block;
  uint32_t sure_dims;
  bool fixed, rank_open;
  bool is_view; /* of its parent; false: if it has one, it may be a copy */
} bsm_spec_symbol;

/* Worlds: an input whose dims range is looked at in several shapes at once -
 * the optimal, the smallest, the largest, others that differ in how dims
 * compare, and samples. What is the same in all of them is taken as known, and
 * checked when the engine runs. */
#define BSM_FIRST_WORLDS 8
#define BSM_MAX_WORLDS 64
/* How the message begins when a check fails. */
#define BSM_WORLD_CHECK \
  "the inputs have shapes that the engine was not built for"

/* Further shapes to look at, by number from BSM_FIRST_WORLDS on. */
typedef struct bsm_world_samples {
  uint32_t shapes[BSM_MAX_WORLDS - BSM_FIRST_WORLDS];
  size_t count;
} bsm_world_samples;

/* How a view's elements lie in its parent: what writing through it needs. */
typedef enum bsm_view_kind {
  BSM_VIEW_BASE = 0, /* not a view */
  BSM_VIEW_IDENTITY, /* same elements, same shape */
  BSM_VIEW_RESHAPE,  /* same elements in the same order */
  BSM_VIEW_PERMUTE,
  BSM_VIEW_SELECT,
  BSM_VIEW_SLICE,
  BSM_VIEW_EXPAND, /* readable, not writable */
  BSM_VIEW_GATHER, /* any other geometry: elements by linear index */
  BSM_VIEW_OTHER   /* another dtype: written back only for complex parts */
} bsm_view_kind;

typedef struct bsm_spec_storage bsm_spec_storage;
typedef struct bsm_spec_tensor bsm_spec_tensor;

struct bsm_spec_storage {
  bsm_storage *storage;
  bsm_spec_tensor *base;
  bsm_value *value; /* of the base now; NULL: known data, or not yet made */
  uint64_t version; /* of the last write */
  uint64_t birth;   /* stamp when it was first seen */
  bool joined;      /* came out of an If: may alias what the branches saw */
};

struct bsm_spec_tensor {
  bsm_tensor *tensor;
  bsm_spec_storage *storage;
  bsm_spec_tensor *parent; /* NULL for the base */
  uint32_t depth;          /* length of the chain to the base */
  bsm_view_kind kind;
  /* The op that made it, to be replayed; NULL: made by geometry alone. */
  const bsm_schema *schema;
  bsm_ivalue *args;
  size_t parent_arg; /* which of them is the parent */
  /* SELECT, SLICE. */
  int64_t dim, start, end, step;
  bsm_ivalue index; /* SELECT: when it is a symbol, instead of `start` */
  bool moving;      /* its place depends on such an index */
  int64_t perm[BSM_MAX_RANK]; /* PERMUTE: dim i is the parent's dim perm[i] */
  bsm_value *value;           /* the residual value as of `version`, or NULL */
  uint64_t version;
  /* Literally: a tensor of the module, which is `tensor` without its data. */
  const bsm_tensor *known;
  bool loose;       /* literally: its strides are not those of `tensor` */
  const char *name; /* for the residual value; may be NULL */
  bsm_source source;
};

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

/* A list or dict whose items only the run will tell: reading it is an op on
 * its residual value, writing to it gives it a new one. */
typedef struct bsm_spec_box {
  bsm_ivalue container; /* its identity; what it holds is not looked at */
  const bsm_type *type;
  bsm_value *value;
} bsm_spec_box;

/* Something that a residual block may write to though it is older. */
typedef enum bsm_spec_place_kind {
  BSM_PLACE_STORAGE, /* of tensors: its value and version */
  BSM_PLACE_BOX,     /* its value */
  BSM_PLACE_SYMBOL,  /* its value and version */
  BSM_PLACE_SLOT     /* an attribute of an object */
} bsm_spec_place_kind;

typedef struct bsm_spec_place {
  bsm_spec_place_kind kind;
  union {
    void *key; /* tells places apart */
    bsm_spec_storage *storage;
    bsm_spec_box *box;
    bsm_spec_symbol *symbol;
    bsm_ivalue *slot;
  } u;
} bsm_spec_place;

/* What a place holds. */
typedef struct bsm_spec_content {
  bsm_spec_place place;
  bsm_value *value;
  uint64_t version;
  bsm_ivalue slot;
} bsm_spec_content;

struct bsm_spec_region;

/* What was found out about loops by trying to specialise the method. */
typedef struct bsm_spec_unroller {
  bsm_arena *arena;
  bsm_ptrmap loops; /* prim::Loop of the method -> the limit, by name */
  bool again;       /* the method has to be specialised again */
  /* Why the loops are unrolled all the same; NULL: they are not. */
  const char *reason;
} bsm_spec_unroller;

/* A loop that is being unrolled. */
typedef struct bsm_spec_turns {
  struct bsm_spec_turns *outer, *outermost;
  const bsm_node *node;
  uint64_t turns;
  uint64_t trips;      /* that it will have; 0: not known */
  uint64_t first_node; /* how many the graph had before */
  bool has_inner;
} bsm_spec_turns;

typedef struct bsm_spec {
  bsm_ir_ctx *cx;
  bsm_arena *scratch; /* records: dies with the specialiser */
  bsm_arena *stack;   /* frames, arguments: rewound after each node */
  const bsm_aten_library *aten;
  const bsm_logger *logger;
  bsm_graph *graph;                 /* the residual graph */
  bsm_block *block;                 /* where its nodes go now */
  BSM_VEC(bsm_block *) open_blocks; /* around `block`, and itself */
  bsm_spec_frame *frame;
  const bsm_node *node; /* of the original graph, being run */
  bool own_objects;     /* interpret: mutate objects in place, no shadows */
  bool literal;         /* memory is shared as the program does: literal.c */
  bool sharing;         /* the failure is one that this would not have */
  size_t depth;         /* of calls and blocks */
  uint64_t steps, trips;
  bsm_spec_unroller *unroller; /* NULL: loops can only be unrolled */
  bsm_spec_turns *turns;       /* the innermost loop */
  uint64_t unrolled_nodes;     /* of loops that have ended */
  uint64_t clock;              /* versions and stamps: never repeats */

  bsm_ptrmap tensors;  /* bsm_tensor -> bsm_spec_tensor */
  bsm_ptrmap storages; /* bsm_storage -> bsm_spec_storage */
  bsm_ptrmap shadows;  /* of the module -> ours: tensors, lists, objects ... */
  bsm_ptrmap loaded;   /* shadow bsm_object -> bool[]: slots that are ours */
  bsm_ptrmap paths;    /* bsm_object -> "layer1.0" */
  bsm_ptrmap
      nested; /* tensors, symbols -> bsm_spec_nested (nested_tensors.c) */
  struct bsm_spec_nested *aligned; /* the last that was asked for; NULL: none */
  bsm_ptrmap births; /* containers made inside a branch -> stamp */

  bsm_ptrmap boxes;  /* bsm_list, bsm_dict -> bsm_spec_box */
  bsm_ptrmap shared; /* bsm_list, bsm_dict that may be one of several */

  size_t branch_depth;   /* > 0 inside a block of a residual If or Loop */
  uint64_t branch_birth; /* stamp when the innermost such block began */
  BSM_VEC(bsm_spec_content) undo; /* what places held before each write */
  /* A container that has to become a box before the block that failed for it
   * is tried again; NULL: none. */
  const bsm_ivalue *escape;
  /* The worlds that are possible here, a bit each; 0: inputs do not range. */
  uint64_t worlds;
  size_t world_count;
  const bsm_world_samples *samples;                 /* NULL: none */
  BSM_VEC(const bsm_lowering_range *) input_ranges; /* of the graph's inputs */
  /* The residual values of tensors and boxes are those that this closed
   * region left; NULL: the present ones. */
  const struct bsm_spec_region *reading;
} bsm_spec;

/* ---- run_nodes.c ---- */
BSM_NODISCARD bsm_status bsm_spec_init(bsm_spec *s, bsm_ir_ctx *cx,
                                       bsm_arena *scratch, bsm_arena *stack,
                                       const bsm_aten_library *aten);
/* The value of an IR value in the current frame. */
BSM_NODISCARD bsm_status bsm_spec_get(bsm_spec *s, const bsm_value *value,
                                      bsm_ivalue *out);
BSM_NODISCARD bsm_status bsm_spec_set(bsm_spec *s, const bsm_value *value,
                                      bsm_ivalue what);
/* Runs the nodes of a block. */
BSM_NODISCARD bsm_status bsm_spec_run_block(bsm_spec *s,
                                            const bsm_block *block);
/* Runs a graph in a new frame; `outs` has room for all its outputs. */
BSM_NODISCARD bsm_status bsm_spec_run_graph(bsm_spec *s, const bsm_graph *graph,
                                            const bsm_function *function,
                                            const char *scope,
                                            const bsm_ivalue *args, size_t n,
                                            bsm_ivalue *outs, size_t n_outs);
/* The source of the current node, with the scope of the frame. */
bsm_source bsm_spec_source(const bsm_spec *s);
/* "models/x.py:12", for messages; lives in the scratch arena. */
const char *bsm_spec_where(bsm_spec *s);
bsm_emitter bsm_spec_emitter(const bsm_spec *s);
/* The next stamp. */
uint64_t bsm_spec_tick(bsm_spec *s);

/* What the leaves of a value are. */
typedef struct bsm_spec_leaves {
  bool meta, symbol; /* a box is a symbol */
} bsm_spec_leaves;
BSM_NODISCARD bsm_status bsm_spec_scan(const bsm_spec *s,
                                       const bsm_ivalue *value, size_t depth,
                                       bsm_spec_leaves *out);
static inline bool bsm_spec_is_symbol(const bsm_ivalue *v) {
  return v->tag == BSM_IVALUE_CONTAINER;
}
static inline bsm_spec_symbol *bsm_spec_symbol_of(const bsm_ivalue *v) {
  return v->u.container;
}
BSM_NODISCARD bsm_status bsm_spec_new_symbol(bsm_spec *s, bsm_value *value,
                                             const bsm_type *type,
                                             bsm_ivalue *out);
/* The op that made a symbol, for messages: "aten::item". */
const char *bsm_spec_symbol_origin(const bsm_spec *s, const bsm_ivalue *v);

/* ---- world_ops.c ---- */
/* An input of dims that range. */
BSM_NODISCARD bsm_status bsm_spec_range_input(bsm_spec *s,
                                              const bsm_lowering_range *range,
                                              bsm_value *value,
                                              bsm_ivalue *out);
/* An op on values that differ between worlds, but are known in each. *done is
 * false when some are not. */
BSM_NODISCARD bsm_status bsm_spec_worlds_op(bsm_spec *s,
                                            const bsm_schema *schema,
                                            const bsm_aten_op *op,
                                            const bsm_ivalue *args, size_t n,
                                            bsm_ivalue *outs, size_t n_outs,
                                            bool *done);
/* The dims of a symbol that is a tensor; -1 where they differ between worlds.
 * Rank -1: not known. */
bsm_dims bsm_spec_worlds_dims(const bsm_spec *s, const bsm_ivalue *symbol);
/* The worlds in which a condition holds. */
uint64_t bsm_spec_worlds_where(const bsm_spec *s, const bsm_ivalue *condition,
                               bool value);
/* After an If on `condition`: the merged symbol is what either side was. */
BSM_NODISCARD bsm_status bsm_spec_worlds_merge(bsm_spec *s,
                                               const bsm_ivalue *condition,
                                               const bsm_ivalue *x,
                                               const bsm_ivalue *y,
                                               bsm_ivalue *merged);

/* ---- world_shapes.c ---- */
/* The dims of an input in shape number `shape`: BSM_FIRST_WORLDS of them are
 * chosen with care, all others are samples. */
int64_t bsm_world_size(const bsm_lowering_range *range, int32_t dim,
                       uint32_t shape);
bsm_dims bsm_world_dims(const bsm_lowering_range *range, uint32_t shape);
/* Whether dims that range alike have the same size in it. */
bool bsm_is_even_shape(uint32_t shape);

/* ---- world_data.c ---- */
/* Tensors of more elements are looked at without data. */
#define BSM_WORLD_DATA 65536
/* Takes the data from a value that has much of it. */
BSM_NODISCARD bsm_status bsm_world_lighten(bsm_arena *arena, bsm_ivalue *v);
/* Calls an op as bsm_aten_call does; large tensors come without data. */
BSM_NODISCARD bsm_status bsm_world_call(bsm_op_ctx *cx, const bsm_aten_op *op,
                                        const bsm_ivalue *args, size_t n,
                                        bsm_ivalue *outs, size_t n_outs);

/* ---- counterexamples.c ---- */
/* Shapes for which a check of the specialised graph fails, to be among the
 * worlds of the next time: adds them to `samples`. *found: there were any. What
 * is told of the results' dims is made to hold for all that were tried. */
BSM_NODISCARD bsm_status bsm_find_worlds(bsm_lowered *lowered,
                                         const bsm_aten_library *aten,
                                         bsm_world_samples *samples,
                                         bool *found);

/* ---- world_checks.c ---- */
/* Whether a value is of a kind that the engine can compare. */
bool bsm_spec_can_check(const bsm_ivalue *known);
/* The engine refuses shapes for which `value` is not `known`. */
BSM_NODISCARD bsm_status bsm_spec_check_value(bsm_spec *s, bsm_value *value,
                                              const bsm_ivalue *known);
/* ... for which the tensor has other dims. */
BSM_NODISCARD bsm_status bsm_spec_check_dims(bsm_spec *s, bsm_value *value,
                                             bsm_dims dims);
/* Whether what an op says of its first argument - item `item` of it - needs no
 * check. When it does, the caller emits it: it is not asked for again. */
bool bsm_spec_is_sure(bsm_spec *s, const bsm_schema *schema,
                      const bsm_ivalue *args, size_t n, size_t item);
/* Of the tensor that an op makes: whether its rank depends on dims, and whether
 * its own dims follow from those of arguments that are known. */
void bsm_spec_trust(const bsm_schema *schema, const bsm_ivalue *args, size_t n,
                    bool *rank_open, bool *dims_follow);

/* ---- world_strides.c ---- */
/* as_strided of a tensor whose dims range. *done is false when the op is
 * another, or the tensor's strides are not known. */
BSM_NODISCARD bsm_status bsm_spec_as_strided(bsm_spec *s,
                                             const bsm_schema *schema,
                                             const bsm_ivalue *args, size_t n,
                                             bsm_ivalue *outs, bool *done);

/* ---- symbol_views.c ---- */
/* The residual value of a symbol now: that of a view may have to be read from
 * its parent again. */
BSM_NODISCARD bsm_status bsm_spec_symbol_value(bsm_spec *s,
                                               const bsm_ivalue *symbol,
                                               bsm_value **out);
/* Notes that `view`, a symbol just made by the schema from args, shares the
 * memory of args[0]. */
BSM_NODISCARD bsm_status bsm_spec_symbol_view(bsm_spec *s,
                                              const bsm_ivalue *view,
                                              const bsm_schema *schema,
                                              const bsm_ivalue *args, size_t n);
/* Other values may be the symbol, or share its memory: neither it nor what it
 * is a view of may be written to any more. */
void bsm_spec_alias_symbol(bsm_spec *s, const bsm_ivalue *symbol);
/* What the worlds know of a symbol's data is no longer so once its memory was
 * written to: its tensors become such without data, where that happened. */
BSM_NODISCARD bsm_status bsm_spec_forget_data(bsm_spec *s,
                                              const bsm_ivalue *symbol);
/* Makes a tensor one of the same geometry without data; others stay. */
BSM_NODISCARD bsm_status bsm_spec_drop_data(bsm_spec *s, bsm_ivalue *v);
/* The symbol's new value is `value`, and so is its part of what it views. */
BSM_NODISCARD bsm_status bsm_spec_symbol_write(bsm_spec *s,
                                               const bsm_ivalue *symbol,
                                               bsm_value *value);
/* x[i] of a tensor, i a symbol: a view whose dims are known. *done is false
 * when the op is another. */
BSM_NODISCARD bsm_status bsm_spec_select_symbol(bsm_spec *s,
                                                const bsm_schema *schema,
                                                const bsm_ivalue *args,
                                                size_t n, bsm_ivalue *outs,
                                                bool *done);

/* ---- nested_tensors.c ---- */
/* An op that makes or takes a nested tensor; *done is false when it does not.
 */
BSM_NODISCARD bsm_status bsm_spec_nested_op(bsm_spec *s,
                                            const bsm_schema *schema,
                                            const bsm_ivalue *args, size_t n,
                                            bsm_ivalue *outs, bool *done);

/* ---- shadow.c ---- */
/* Our version of a value of the module. `name` for a tensor's residual value
 * (may be NULL). */
BSM_NODISCARD bsm_status bsm_spec_shadow(bsm_spec *s, bsm_ivalue value,
                                         const char *name, bsm_ivalue *out);

/* ---- calls.c, container_nodes.c, prim_nodes.c, control_flow.c ---- */
/* Each runs a prim:: node when it is one of its own; else *done is false. */
BSM_NODISCARD bsm_status bsm_spec_call_node(bsm_spec *s, const bsm_node *node,
                                            bool *done);
BSM_NODISCARD bsm_status bsm_spec_container_node(bsm_spec *s,
                                                 const bsm_node *node,
                                                 bool *done);
BSM_NODISCARD bsm_status bsm_spec_prim_node(bsm_spec *s, const bsm_node *node,
                                            bool *done);
BSM_NODISCARD bsm_status bsm_spec_control_node(bsm_spec *s,
                                               const bsm_node *node,
                                               bool *done);

/* ---- unroll.c ---- */
void bsm_spec_turns_begin(bsm_spec *s, const bsm_node *node,
                          const bsm_ivalue *trips, bsm_spec_turns *loop);
void bsm_spec_turns_end(bsm_spec *s, const bsm_spec_turns *loop);
/* Before each turn. BSM_LIMIT: this is one too many. */
BSM_NODISCARD bsm_status bsm_spec_count_turn(bsm_spec *s, bsm_spec_turns *loop);
/* The limit for which the loop is one of the engine's; NULL: it is unrolled. */
BSM_NODISCARD bsm_status bsm_spec_is_rolled(bsm_spec *s, const bsm_node *node,
                                            const bsm_ivalue *trips,
                                            const char **limit);
/* Whether to specialise the method again, after a failure that another choice
 * may avoid; frees it then. */
bool bsm_spec_unroll_again(bsm_spec_unroller *u, bsm_status *status);

/* Whether a container that is not a box may be written to here: when it is
 * not, asks for it to become one. */
BSM_NODISCARD bsm_status bsm_spec_check_write(bsm_spec *s,
                                              const bsm_ivalue *container);
/* Notes a new container or object. */
BSM_NODISCARD bsm_status bsm_spec_note_birth(bsm_spec *s,
                                             const bsm_ivalue *container);
/* Whether it is older than the innermost residual block. */
bool bsm_spec_is_older(const bsm_spec *s, const bsm_ivalue *container);

/* ---- dynamic_containers.c ---- */
/* The box of a list or dict; NULL: its items are known. */
bsm_spec_box *bsm_spec_box_find(const bsm_spec *s, const bsm_ivalue *value);
/* Whether it was there before the block that began at that stamp. */
bool bsm_spec_was_there(const bsm_spec *s, const bsm_ivalue *container,
                        uint64_t stamp);
/* A new, empty container of that type, whose items are in `value`. */
BSM_NODISCARD bsm_status bsm_spec_box_new(bsm_spec *s, const bsm_type *type,
                                          bsm_value *value, bsm_ivalue *out);
/* The container becomes a box. When it is older than the innermost residual
 * block, fails and asks for it in s->escape. */
BSM_NODISCARD bsm_status bsm_spec_box_up(bsm_spec *s,
                                         const bsm_ivalue *container);
/* An op that writes to its argument `which`, a box or an unaliased symbol. */
BSM_NODISCARD bsm_status bsm_spec_box_write(bsm_spec *s,
                                            const bsm_schema *schema,
                                            const bsm_ivalue *args, size_t n,
                                            size_t which, bsm_ivalue *outs,
                                            size_t n_outs);
/* A value inside a box, or that another may be from now on, is reached in ways
 * that are not followed: its tensors, lists and dicts must not be written to
 * any more. */
BSM_NODISCARD bsm_status bsm_spec_note_shared(bsm_spec *s,
                                              const bsm_ivalue *item);
/* The same of what a list or dict holds. */
BSM_NODISCARD bsm_status bsm_spec_note_items(bsm_spec *s,
                                             const bsm_ivalue *container);
/* Before `box` gets a new value. */
BSM_NODISCARD bsm_status bsm_spec_box_set(bsm_spec *s, bsm_spec_box *box,
                                          bsm_value *value);
/* A list of `len` symbols, the items of a residual list of that length.
 * `aliased`: they are views of something. */
BSM_NODISCARD bsm_status bsm_spec_unpack(bsm_spec *s, bsm_value *value,
                                         const bsm_type *item, size_t len,
                                         bool aliased, bsm_ivalue *out);
/* Whether the failure only asks for a box that can be made here: makes it,
 * frees *status and answers true: try again. */
bool bsm_spec_box_retry(bsm_spec *s, bsm_status *status);

/* The container may be the same as another one, depending on data: it must not
 * be written to any more. */
BSM_NODISCARD bsm_status bsm_spec_box_share(bsm_spec *s,
                                            const bsm_ivalue *container);
BSM_NODISCARD bsm_status bsm_spec_check_shared(bsm_spec *s,
                                               const bsm_ivalue *container);
bool bsm_spec_is_shared(const bsm_spec *s, const bsm_ivalue *container);

/* ---- reachable.c ---- */
/* Whether the list or dict behind `value`, a result of one side of the If
 * `node`, can be got at after it in another way than by the If's result. */
bool bsm_spec_is_reachable(const bsm_value *value, const bsm_node *node);

/* ---- container_aliases.c ---- */
/* Which lists and dicts the results of a block hold, and how often: a block
 * gives each of its results a new identity. */
typedef struct bsm_spec_held {
  bsm_ptrmap counts; /* container -> how often */
} bsm_spec_held;
BSM_NODISCARD bsm_status bsm_spec_hold(bsm_spec *s, bsm_spec_held *held,
                                       const bsm_ivalue *value);
/* Whether somebody else has a list or dict that is in `value`: another result,
 * something that keeps it, or (`stamp` > 0) what was there before. */
BSM_NODISCARD bsm_status bsm_spec_is_held_twice(bsm_spec *s,
                                                const bsm_spec_held *held,
                                                const bsm_ivalue *value,
                                                uint64_t stamp, bool *out);
/* No list or dict in `value` may be written to. */
BSM_NODISCARD bsm_status bsm_spec_share_all(bsm_spec *s,
                                            const bsm_ivalue *value);

/* ---- residual_block.c ---- */
/* A block of a residual If or Loop while it is filled, and what it did. */
typedef struct bsm_spec_region {
  bsm_block *block;
  uint64_t birth; /* stamp when it began */
  bool raised;    /* it always ends with an exception */
  bool may_fail;  /* other shapes do not get here: a failure is an exception */
  bsm_ptrmap values;        /* tensors, boxes -> residual value at its end */
  bsm_spec_content *writes; /* older places, with their new content */
  size_t write_count;
  size_t mark; /* of the undo log */
  bsm_block *outer;
  uint64_t outer_birth;
} bsm_spec_region;
/* Opens a new block of `node`, which is not linked yet. */
BSM_NODISCARD bsm_status bsm_spec_region_open(bsm_spec *s, bsm_node *node,
                                              bsm_spec_region *region);
/* Runs the nodes of `from` in it. An exception becomes a
 * prim::RaiseException. */
BSM_NODISCARD bsm_status bsm_spec_region_run(bsm_spec *s,
                                             bsm_spec_region *region,
                                             const bsm_block *from);
/* Remembers the residual values of all tensors and boxes in `value`. */
BSM_NODISCARD bsm_status bsm_spec_region_capture(bsm_spec *s,
                                                 bsm_spec_region *region,
                                                 const bsm_ivalue *value);
/* Ends it and takes back what it wrote; keeps the first failure. */
BSM_NODISCARD bsm_status bsm_spec_region_close(bsm_spec *s,
                                               bsm_spec_region *region,
                                               bsm_status status);
/* The residual value of a leaf that was captured, or of a symbol or constant,
 * in the closed region. `type`: what it is used as; may be NULL. */
BSM_NODISCARD bsm_status bsm_spec_region_value(bsm_spec *s,
                                               const bsm_spec_region *region,
                                               const bsm_ivalue *value,
                                               const bsm_type *type,
                                               bsm_value **out);
/* What the region left in the place; NULL: it did not write there. */
const bsm_spec_content *bsm_spec_region_find(const bsm_spec_region *region,
                                             bsm_spec_place place);
/* The content of a place now. */
bsm_spec_content bsm_spec_content_of(bsm_spec_place place);
/* The type of its values; NULL for a slot, which has any. */
const bsm_type *bsm_spec_place_type(bsm_spec *s, bsm_spec_place place);
/* Gives a place that is not a slot its new value. */
void bsm_spec_place_set(bsm_spec *s, bsm_spec_place place, bsm_value *value);
/* Before a write to a place: so that an enclosing region can take it back. */
BSM_NODISCARD bsm_status bsm_spec_log(bsm_spec *s, bsm_spec_place place);
/* A value that is never read, in the place of one like `like`. */
BSM_NODISCARD bsm_status bsm_spec_filler(bsm_spec *s, bsm_block *block,
                                         const bsm_ivalue *like,
                                         const bsm_type *type, bsm_value **out);
/* prim::Uninitialized. */
static inline bool bsm_spec_is_undefined(const bsm_ivalue *v) {
  return bsm_spec_is_symbol(v) && !bsm_spec_symbol_of(v)->value;
}
/* None, or a known number or string. */
static inline bool bsm_spec_is_plain(const bsm_ivalue *v) {
  return v->tag <= BSM_IVALUE_DEVICE;
}
/* A tuple like `tuple` whose items are undefined. */
BSM_NODISCARD bsm_status bsm_spec_spread_undefined(bsm_spec *s,
                                                   const bsm_ivalue *tuple,
                                                   bsm_ivalue *out);
/* The type of a value of any kind; a tensor's has dims. */
const bsm_type *bsm_spec_type_of(bsm_spec *s, const bsm_ivalue *v);

/* ---- branch.c, loop.c ---- */
/* prim::If on a symbol. */
BSM_NODISCARD bsm_status bsm_spec_branch(bsm_spec *s, const bsm_node *node,
                                         const bsm_ivalue *condition);
/* prim::Loop from turn `first` on, when the number of turns or the condition is
 * a symbol, or unrolling it goes beyond `limit` (which the residual loop has as
 * its attribute; NULL: none). The carried values are those bound to the inputs
 * of its body; binds them to the outputs of `node`. */
BSM_NODISCARD bsm_status bsm_spec_loop(bsm_spec *s, const bsm_node *node,
                                       int64_t first, const bsm_ivalue *trips,
                                       const bsm_ivalue *condition,
                                       const char *limit);
/* isinstance(value, type) on an abstract value. */
bool bsm_spec_value_is(const bsm_spec *s, const bsm_ivalue *value,
                       const bsm_type *type);

/* ---- apply_op.c ---- */
/* Runs an op of the schema on abstract values. */
BSM_NODISCARD bsm_status bsm_spec_op(bsm_spec *s, const bsm_schema *schema,
                                     bsm_ivalue *args, size_t n,
                                     bsm_ivalue *outs, size_t n_outs);
/* By qualified name, with all args given; one output. */
BSM_NODISCARD bsm_status bsm_spec_op_named(bsm_spec *s, const char *qualified,
                                           const bsm_ivalue *args, size_t n,
                                           bsm_ivalue *out);
/* Whether result `i` is a container that the op has made: items that it passes
 * on were there before. */
bool bsm_spec_is_new_container(const bsm_schema *schema, size_t i,
                               const bsm_ivalue *args, size_t n,
                               const bsm_ivalue *out);
/* A meta tensor of the same shape, or the value itself; also inside a list. */
BSM_NODISCARD bsm_status bsm_spec_without_data(bsm_spec *s, bsm_ivalue *value);
/* Calls the reference implementation alone. */
BSM_NODISCARD bsm_status bsm_spec_call(bsm_spec *s, const bsm_aten_op *op,
                                       const bsm_ivalue *args, size_t n,
                                       bsm_ivalue *outs, size_t n_outs);
const bsm_aten_op *bsm_spec_find_op(const bsm_spec *s,
                                    const bsm_schema *schema);
/* The index of the argument of that name, or -1. */
int64_t bsm_schema_find_arg(const bsm_schema *schema, const char *name);

/* ---- residual.c ---- */
/* The residual value of an abstract value, as an argument of type `type`
 * (NULL: any). BSM_UNSUPPORTED for what a graph cannot hold (objects). */
BSM_NODISCARD bsm_status bsm_spec_residual(bsm_spec *s, const bsm_ivalue *value,
                                           const bsm_type *type,
                                           bsm_value **out);
/* A container as an argument of an op that does not keep it: made for this use
 * alone. */
BSM_NODISCARD bsm_status bsm_spec_residual_items(bsm_spec *s,
                                                 const bsm_ivalue *container,
                                                 const bsm_type *type,
                                                 bsm_value **out);
/* Emits a node of the schema for new tensors and symbols. `outs` holds tensors
 * with their shapes (they become bases of their storages), or None where the
 * result is not known: such are replaced by symbols. */
BSM_NODISCARD bsm_status bsm_spec_emit(bsm_spec *s, const bsm_schema *schema,
                                       const bsm_ivalue *args, size_t n,
                                       bsm_ivalue *outs, size_t n_outs);
/* The type of a residual value that stands for the tensor. */
const bsm_type *bsm_spec_tensor_type(bsm_spec *s, const bsm_tensor *t);
/* Whether `value` may be used at the current place of the residual graph. */
bool bsm_spec_visible(const bsm_spec *s, const bsm_value *value);

/* ---- alias.c ---- */
/* The record of a tensor, made on first sight as the base of its storage, or
 * as a view by geometry of a storage already known. */
BSM_NODISCARD bsm_status bsm_spec_tensor_of(bsm_spec *s, bsm_tensor *t,
                                            bsm_spec_tensor **out);
/* The record if there is one. */
bsm_spec_tensor *bsm_spec_tensor_find(const bsm_spec *s, const bsm_tensor *t);
/* Notes that `t`, made by the schema from args, is a view of `parent`. `schema`
 * NULL: by geometry alone. */
BSM_NODISCARD bsm_status bsm_spec_note_view(bsm_spec *s, bsm_tensor *t,
                                            bsm_tensor *parent,
                                            const bsm_schema *schema,
                                            const bsm_ivalue *args, size_t n);
/* A new base whose value is `value`. */
BSM_NODISCARD bsm_status bsm_spec_bind_base(bsm_spec *s, bsm_tensor *t,
                                            bsm_value *value);
/* The same of one that may be any of several. */
BSM_NODISCARD bsm_status bsm_spec_bind_joined(bsm_spec *s, bsm_tensor *t,
                                              bsm_value *value);
/* The residual value of a tensor now: a constant, or the replayed views. */
BSM_NODISCARD bsm_status bsm_spec_tensor_value(bsm_spec *s, bsm_tensor *t,
                                               bsm_value **out);
/* Before a write with known data: the storage gets memory of its own. */
BSM_NODISCARD bsm_status bsm_spec_make_writable(bsm_spec *s, bsm_tensor *t);
/* After such a write. */
BSM_NODISCARD bsm_status bsm_spec_touch(bsm_spec *s, bsm_tensor *t);
/* Before a write with unknown data: a storage with data becomes meta, its base
 * a constant. */
BSM_NODISCARD bsm_status bsm_spec_materialize(bsm_spec *s, bsm_tensor *t);

/* ---- write_back.c ---- */
/* Emits the read of a view from its parent's value. */
BSM_NODISCARD bsm_status bsm_spec_read_view(bsm_spec *s, bsm_spec_tensor *view,
                                            bsm_value *parent, bsm_value **out);
/* The tensor's new value is `value`: rewrites its base. */
BSM_NODISCARD bsm_status bsm_spec_write(bsm_spec *s, bsm_tensor *t,
                                        bsm_value *value);

/* ---- mutate.c ---- */
/* The new content of what the op writes to: the op without its write. */
BSM_NODISCARD bsm_status bsm_spec_twin(bsm_spec *s, const bsm_schema *schema,
                                       const bsm_ivalue *args, bsm_ivalue *out);
/* Dropout of an evaluated model. */
bool bsm_spec_writes_nothing(const bsm_schema *schema, const bsm_ivalue *args);
bool bsm_spec_overlaps_itself(const bsm_tensor *t);
/* Whether the op may write a result of this dtype and shape to `self`. */
BSM_NODISCARD bsm_status bsm_spec_check_content(const bsm_tensor *self,
                                                const bsm_tensor *content);
/* unsqueeze_, t_, ... */
bool bsm_spec_is_geometric(const bsm_schema *schema);
/* Whether the schema writes to a tensor or to a container argument. */
bool bsm_spec_writes_tensor(const bsm_schema *schema, size_t *which);
bool bsm_spec_writes_container(const bsm_schema *schema, size_t *which);
/* An op that writes to a tensor, on values that are not all known. */
BSM_NODISCARD bsm_status bsm_spec_mutate(bsm_spec *s, const bsm_schema *schema,
                                         bsm_ivalue *args, size_t n,
                                         bsm_ivalue *outs, size_t n_outs);
/* unsqueeze_, t_, ...: the tensor's own geometry changes. *done is false when
 * the schema is none of them. */
BSM_NODISCARD bsm_status bsm_spec_reshape_in_place(bsm_spec *s,
                                                   const bsm_schema *schema,
                                                   bsm_ivalue *args, size_t n,
                                                   bsm_ivalue *outs,
                                                   bool *done);

/* ---- literal.c: each only when s->literal ---- */
/* The shadow of a tensor of the module: without its data, which the run may
 * change. */
BSM_NODISCARD bsm_status bsm_spec_literal_tensor(bsm_spec *s, bsm_tensor *own,
                                                 const bsm_tensor *from);
/* The residual value of a tensor. */
BSM_NODISCARD bsm_status bsm_spec_literal_value(bsm_spec *s, bsm_tensor *t,
                                                bsm_value **out);
/* The residual value of an argument of an op: a container is made for this use,
 * unless the op may keep it. */
BSM_NODISCARD bsm_status bsm_spec_literal_argument(bsm_spec *s,
                                                   const bsm_ivalue *value,
                                                   const bsm_type *type,
                                                   bsm_value **out);
/* After a run for shapes: writes the op down if it makes tensors. */
BSM_NODISCARD bsm_status bsm_spec_literal_emit(bsm_spec *s,
                                               const bsm_schema *schema,
                                               const bsm_ivalue *args, size_t n,
                                               bsm_ivalue *outs, size_t n_outs);
/* Notes for segments, which give contiguous tensors, that PyTorch's may not be:
 * the output of a node, made from `args`, that `t` stands for. */
BSM_NODISCARD bsm_status bsm_spec_literal_strides(bsm_spec *s, bsm_tensor *t,
                                                  const bsm_ivalue *args,
                                                  size_t n);
/* An op that writes to the tensor `which`. */
BSM_NODISCARD bsm_status bsm_spec_literal_write(
    bsm_spec *s, const bsm_schema *schema, const bsm_ivalue *args, size_t n,
    size_t which, bsm_ivalue *outs, size_t n_outs);
/* An op that writes to the container `which`, a box or a symbol. */
BSM_NODISCARD bsm_status bsm_spec_literal_box_write(
    bsm_spec *s, const bsm_schema *schema, const bsm_ivalue *args, size_t n,
    size_t which, bsm_ivalue *outs, size_t n_outs);

/* ---- residual_outputs.c ---- */
BSM_NODISCARD bsm_status bsm_specialize(bsm_graph *method, bsm_object *root,
                                        const bsm_lowering_input *inputs,
                                        size_t input_count,
                                        const bsm_aten_library *aten,
                                        bool literal, bsm_lowered *out);

#endif /* BSM_LOWERING_SPECIALIZE_SPECIALIZE_H_ */
