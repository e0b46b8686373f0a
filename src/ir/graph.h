/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of the JIT IR: nodes in order in blocks, values with uses.
 *
 * Everything lives in the arena of the graph's module. Nodes and values are
 * unlinked, never freed. A node has the complete list of its schema's
 * arguments as inputs: defaults are constants, keywords are in place. */
#ifndef BSM_IR_GRAPH_H_
#define BSM_IR_GRAPH_H_

#include "base/progress.h"
#include "base/work_budget.h"
#include "bessemer/limits.h"
#include "bessemer/log.h"
#include "ir/schema.h"
#include "ir/type.h"

typedef struct bsm_value bsm_value;
typedef struct bsm_node bsm_node;
typedef struct bsm_block bsm_block;
typedef struct bsm_graph bsm_graph;
typedef struct bsm_function bsm_function;

/* Where a node comes from: the archive's code and, when debug files tell, the
 * Python source. Any part may be unknown (NULL, 0). */
typedef struct bsm_source {
  const char *code_file; /* "code/__torch__.py" or the IR text's name */
  uint32_t code_line, code_col;
  const char *python_file;
  uint32_t python_line;
  const char *scope; /* "layer1.0.conv1": path of the submodule, or NULL */
} bsm_source;

typedef struct bsm_use {
  bsm_node *user;
  size_t index; /* which input of `user` */
} bsm_use;

struct bsm_value {
  const bsm_type *type;
  bsm_node *node; /* the producer: for graph and block inputs, its param node */
  size_t index;   /* which output */
  const char *debug_name;  /* unique in the graph, or NULL: printed by number */
  const char *number_name; /* of an input that text calls by a number, "0" */
  uint32_t id;             /* unique in the graph */
  BSM_VEC(bsm_use) uses;
};

/* An attribute of a node: a constant's `value`, a GetAttr's `name`. */
typedef struct bsm_node_attr {
  const char *name;
  bsm_ivalue value;
} bsm_node_attr;

struct bsm_node {
  const char *kind; /* interned: "aten::add", "prim::If"; "" for params */
  const bsm_schema *schema; /* NULL for prim structure nodes */
  BSM_VEC(bsm_value *) inputs;
  BSM_VEC(bsm_value *) outputs;
  BSM_VEC(bsm_block *) blocks;
  BSM_VEC(size_t) use_slots; /* where each input stands in its value's uses */
  BSM_VEC(bsm_node_attr) attrs;
  bsm_source source;
  bsm_block *block; /* owner; NULL when unlinked */
  bsm_node *prev, *next;
  bsm_graph *graph;
};

/* A block's `params` node holds its inputs as outputs; its `returns` node
 * holds its outputs as inputs. The nodes between run from `first` (NULL when
 * empty) along `next`. */
struct bsm_block {
  bsm_node *params, *returns;
  bsm_node *first, *last;
  bsm_node *owner; /* the node it belongs to; NULL for the top block */
  bsm_graph *graph;
};

/* What all graphs of one compilation share. */
typedef struct bsm_ir_ctx {
  bsm_arena *arena;
  bsm_type_table *types;
  bsm_schema_table *schemas;
  bsm_interner names;
  bsm_limits limits;    /* resolved: no zero left */
  bsm_work_budget work; /* of constants; without a limit where max_work is 0 */
  const bsm_logger *logger;
  bsm_progress *progress; /* of the compilation that is under way, or NULL */
} bsm_ir_ctx;
BSM_NODISCARD bsm_status bsm_ir_ctx_create(bsm_arena *arena,
                                           const bsm_limits *limits,
                                           const bsm_logger *logger,
                                           bsm_ir_ctx **out);

struct bsm_graph {
  bsm_ir_ctx *cx;
  bsm_block *block;
  uint32_t next_value_id;
  size_t node_count;        /* linked and unlinked, for the limit */
  bsm_strmap value_names;   /* name -> bsm_value *, NULL when free again */
  bsm_strmap name_suffixes; /* base -> the last ".N" given */
};

/* A function or method. `graph` is NULL until compiled; `compile` does it on
 * the first bsm_function_graph(). Graph inputs start with self for methods. */
struct bsm_function {
  const char *name;         /* "forward" */
  const char *qualified;    /* "__torch__.M.forward" */
  const bsm_schema *schema; /* parameters with defaults, return type; may be
                               NULL until compiled */
  bsm_graph *graph;
  bsm_status (*compile)(bsm_function *fn);
  void *impl;     /* of the front end */
  bool compiling; /* recursion guard */
};
BSM_NODISCARD bsm_status bsm_function_graph(bsm_function *fn, bsm_graph **out);

/* ---- building ---- */
BSM_NODISCARD bsm_status bsm_graph_create(bsm_ir_ctx *cx, bsm_graph **out);
/* A node of `kind` ("aten::relu"), not yet linked, with no outputs. */
BSM_NODISCARD bsm_status bsm_node_create(bsm_graph *graph, const char *kind,
                                         bsm_node **out);
/* By schema: kind, schema, and one output for each return, typed; a type
 * variable becomes Tensor. */
BSM_NODISCARD bsm_status bsm_node_create_schema(bsm_graph *graph,
                                                const bsm_schema *schema,
                                                bsm_node **out);
BSM_NODISCARD bsm_status bsm_node_add_input(bsm_node *node, bsm_value *value);
BSM_NODISCARD bsm_status bsm_node_add_output(bsm_node *node,
                                             const bsm_type *type,
                                             bsm_value **out);
BSM_NODISCARD bsm_status bsm_node_add_block(bsm_node *node, bsm_block **out);
BSM_NODISCARD bsm_status bsm_block_add_input(bsm_block *block,
                                             const bsm_type *type,
                                             bsm_value **out);
BSM_NODISCARD bsm_status bsm_block_add_output(bsm_block *block,
                                              bsm_value *value);
/* Where a node is linked. A block's `params` or `returns` node may stand for
 * the beginning or the end of the block. */
void bsm_node_append(bsm_block *block, bsm_node *node);
void bsm_node_insert_before(bsm_node *node, bsm_node *position);
void bsm_node_insert_after(bsm_node *node, bsm_node *position);
/* Unlinks and drops its uses of inputs; its outputs must be unused. */
void bsm_node_destroy(bsm_node *node);
void bsm_node_move_before(bsm_node *node, bsm_node *position);
BSM_NODISCARD bsm_status bsm_node_set_input(bsm_node *node, size_t index,
                                            bsm_value *value);
void bsm_node_remove_input(bsm_node *node, size_t index);
void bsm_node_remove_output(bsm_node *node, size_t index); /* unused */
BSM_NODISCARD bsm_status bsm_node_set_attr(bsm_node *node, const char *name,
                                           bsm_ivalue value);
/* NULL when absent. */
const bsm_ivalue *bsm_node_attr_get(const bsm_node *node, const char *name);
BSM_NODISCARD bsm_status bsm_value_replace_all_uses(bsm_value *from,
                                                    bsm_value *to);
/* Gives the value this name, made unique by a ".N" suffix. Characters that IR
 * text cannot hold become '_'; a name of digits alone is no name. */
BSM_NODISCARD bsm_status bsm_value_set_name(bsm_graph *graph, bsm_value *value,
                                            const char *name);
/* A prim::Constant, unlinked; type from the value when `type` is NULL. */
BSM_NODISCARD bsm_status bsm_node_create_constant(bsm_graph *graph,
                                                  bsm_ivalue value,
                                                  const bsm_type *type,
                                                  bsm_node **out);

/* ---- reading ---- */
bool bsm_node_is(const bsm_node *node, const char *kind); /* by text */
static inline bsm_value *bsm_node_in(const bsm_node *n, size_t i) {
  return n->inputs.items[i];
}
static inline bsm_value *bsm_node_out(const bsm_node *n, size_t i) {
  return n->outputs.items[i];
}
/* The constant behind a value, or NULL. */
const bsm_ivalue *bsm_value_constant(const bsm_value *value);
/* "%12" or "%x.1", in `buffer` of 128 bytes. */
const char *bsm_value_label(const bsm_value *value, char *buffer);
/* "models/resnet.py:84 (layer1.0)" or "code/__torch__.py:12". */
void bsm_source_print(bsm_text *text, const bsm_source *source);
/* Reads what bsm_source_print wrote; any other text is a file without a line.
 * *out refers to copies in `arena`. */
BSM_NODISCARD bsm_status bsm_source_parse(const char *text, bsm_arena *arena,
                                          bsm_source *out);

/* ---- text ---- */
typedef struct bsm_print_options {
  bool sources; /* "# file:line" after each node */
} bsm_print_options;
void bsm_graph_print(bsm_text *text, const bsm_graph *graph,
                     const bsm_print_options *options);
/* Reads IR text as bsm_graph_print and PyTorch write it. `name` is for
 * messages. Constants `<Tensor>` become graph inputs' weights by name only
 * when bound later: see docs/ir.md. */
BSM_NODISCARD bsm_status bsm_graph_parse(bsm_ir_ctx *cx, bsm_str text,
                                         const char *name, bsm_graph **out);

/* Checks structure, uses, order, types against schemas. */
BSM_NODISCARD bsm_status bsm_graph_verify(const bsm_graph *graph);

#endif /* BSM_IR_GRAPH_H_ */
