/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion: a lowered graph becomes a network.
 *
 * Nodes are visited in order. A prim::Constant is a static value. A node that
 * an evaluator knows, or whose inputs are all static and that the reference
 * library can compute, is evaluated now. For all other nodes a converter adds
 * layers. When there is none, or when it returns BSM_UNSUPPORTED, the engine
 * will call the op of the reference library (fallback.c), provided that the
 * dtypes and dims of its results are known. Nodes that nothing can take are
 * reported together before anything is converted. */
#ifndef BSM_CONVERSION_CONVERT_H_
#define BSM_CONVERSION_CONVERT_H_

#include "aten/op.h"
#include "bessemer/conversion.h"
#include "ir/graph.h"
#include "network/layer.h"

/* Registers all built-in converters and evaluators. The registry and later
 * additions are in `arena`; `types` parses schemas; replaced converters are
 * logged to `logger`, which may be NULL. */
BSM_NODISCARD bsm_status bsm_converter_registry_create(
    bsm_arena *arena, bsm_type_table *types, const bsm_logger *logger,
    bsm_converter_registry **out);

/* What takes a node of an operator such as "aten::add.Tensor": an evaluator
 * always, a converter when the inputs are not all static. */
bool bsm_registry_has_converter(const bsm_converter_registry *registry,
                                const char *qualified_name);
bool bsm_registry_has_evaluator(const bsm_converter_registry *registry,
                                const char *qualified_name);
/* The converters in registration order, for listings. */
size_t bsm_registry_converter_count(const bsm_converter_registry *registry);
const char *bsm_registry_converter_schema(
    const bsm_converter_registry *registry, size_t index);
size_t bsm_registry_evaluator_count(const bsm_converter_registry *registry);
const char *bsm_registry_evaluator_name(const bsm_converter_registry *registry,
                                        size_t index);

/* The limits of a converter: the texts of its refusals, without numbers, which
 * the operator suite collects and checks (converter_limits.inl). The reference
 * library runs such calls where it can. NULL past the last one. */
const char *bsm_converter_limit(const char *qualified_name, size_t index);

/* Why the reference library of an engine cannot run an operator that it has;
 * NULL when it can. */
const char *bsm_op_refusal(const bsm_aten_op *op);

/* How a node of a lowered graph runs. */
typedef enum bsm_node_handler {
  BSM_NODE_UNSUPPORTED = 0,
  BSM_NODE_CONSTANT = 1,
  BSM_NODE_EVALUATED = 2, /* while compiling */
  BSM_NODE_CONVERTED = 3, /* as layers */
  BSM_NODE_REFERENCE = 4  /* by the reference library, in the engine */
} bsm_node_handler;

/* `why`: of BSM_NODE_REFERENCE and UNSUPPORTED, or NULL. */
typedef bsm_status bsm_node_visit(void *user, const bsm_node *node,
                                  bsm_node_handler handler, const char *why);

typedef struct bsm_convert_options {
  const char *const *input_names; /* NULL, or a name or NULL for each input */
  /* A node that would be left to the reference library is an error. */
  bool require_full_compilation;
  bsm_node_visit *visit; /* called with how each node runs; may be NULL */
  void *user;
  /* Returns why a node is left to the reference library though a converter may
   * take it, or NULL when it is not. The function may be NULL. */
  const char *(*must_fall_back)(void *fallback_user, const bsm_node *node);
  void *fallback_user;
  /* Whether what the network is for runs a layer that not everything runs; for
   * the others converters do not ask. NULL: it runs none of these. */
  bool (*takes)(const void *takes_user, const bsm_layer *layer);
  const void *takes_user;
} bsm_convert_options;

/* Converts `graph`, whose inputs have complete tensor types. The network and
 * the constants it refers to live in `arena` and in the graph's arena. Inputs
 * are named `input_names[i]`, or after the value when NULL; outputs are named
 * output_0, output_1, ... in order. On failure *out is NULL.
 * BSM_UNSUPPORTED: nodes that nothing takes; the message lists every operator
 * with its count and each place in the model. */
BSM_NODISCARD bsm_status
bsm_convert_graph_with(const bsm_graph *graph, const bsm_aten_library *aten,
                       bsm_converter_registry *registry, bsm_arena *arena,
                       const bsm_logger *logger,
                       const bsm_convert_options *options, bsm_network **out);
/* The same with no options but names. */
BSM_NODISCARD bsm_status bsm_convert_graph(const bsm_graph *graph,
                                           const bsm_aten_library *aten,
                                           bsm_converter_registry *registry,
                                           bsm_arena *arena,
                                           const bsm_logger *logger,
                                           const char *const *input_names,
                                           bsm_network **out);

/* Finds what would take each node of a lowered graph, without converting it; a
 * converter may still refuse. Calls `visit` for each node of the top block in
 * order, and stops at its first failure. */
BSM_NODISCARD bsm_status bsm_classify_nodes(
    const bsm_graph *graph, const bsm_aten_library *aten,
    const bsm_converter_registry *registry, bsm_node_visit *visit, void *user);

/* Whether a network can have the node: a converter, an evaluator or the
 * reference library takes it. A converter may still refuse. */
bool bsm_node_is_convertible(const bsm_aten_library *aten,
                             const bsm_converter_registry *registry,
                             const bsm_node *node);

/* Whether a program can call the op of a node. */
bool bsm_node_is_callable(const bsm_aten_library *aten, const bsm_node *node);

/* Why a program cannot call it; NULL: it can. */
const char *bsm_call_refusal(const bsm_aten_library *aten,
                             const bsm_node *node);

/* Checks that a program can call each of `nodes`. `all`: it may call none; the
 * failure lists them as nodes that only the reference library can run. */
BSM_NODISCARD bsm_status bsm_check_calls(const bsm_aten_library *aten,
                                         const bsm_node *const *nodes,
                                         size_t count, bool all);

#endif /* BSM_CONVERSION_CONVERT_H_ */
