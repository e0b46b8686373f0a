/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the conversion layer share: the context behind the public
 * one, args, the registry's entries. */
#ifndef BSM_CONVERSION_CONVERSION_INTERNAL_H_
#define BSM_CONVERSION_CONVERSION_INTERNAL_H_

#include "conversion/convert.h"

/* What a value of the graph stands for. One of the two is set; neither is when
 * the value has not been associated. */
typedef struct bsm_var {
  bsm_itensor *itensor;
  const bsm_ivalue *ivalue;
} bsm_var;

/* Lets tensors of the network live inside list and tuple ivalues. */
typedef struct bsm_tensor_container {
  bsm_itensor *tensor;
} bsm_tensor_container;

/* A node that falls back, and why. */
typedef struct bsm_fallback {
  const bsm_node *node;
  const char *reason;
} bsm_fallback;

struct bsm_conversion_impl {
  bsm_arena *arena;
  const bsm_graph *graph;
  const bsm_aten_library *aten;
  bsm_converter_registry *registry;
  bsm_status error; /* first failure of an accessor, until the node ends */
  bsm_ptrmap value_tensor_map;    /* bsm_value -> bsm_itensor */
  bsm_ptrmap evaluated_value_map; /* bsm_value -> const bsm_ivalue */
  bsm_ptrmap frozen;              /* bsm_tensor -> bsm_itensor */
  bsm_ptrmap named;               /* tensors that have a value's name */
  bsm_ptrmap infos;               /* bsm_node -> its text */
  const bsm_node *node;           /* being converted, or NULL */
  const bsm_convert_options *options;
  BSM_VEC(bsm_fallback) fallbacks; /* nodes that the reference library runs */
};

struct bsm_args {
  bsm_conversion_ctx *ctx;
  const bsm_node *node;
  const bsm_schema *schema; /* of the converter */
  bsm_var *items;
  size_t count;
  int variant;
};

/* ---- registry ---- */
typedef struct bsm_converter_entry {
  const bsm_conversion_pattern *pattern;
  const bsm_schema *schema;
} bsm_converter_entry;

/* Evaluates `node`, or leaves *done false when it cannot and a converter
 * should. */
typedef bsm_status (*bsm_evaluator_fn)(bsm_conversion_ctx *ctx,
                                       const bsm_node *node, int variant,
                                       bool *done);
/* `name`: a kind ("prim::ListConstruct") for all its overloads, or one
 * overload ("aten::size.int"). */
typedef struct bsm_evaluator_pattern {
  const char *name;
  bsm_evaluator_fn evaluate;
  int variant;
  bool always_static; /* its results are known for any inputs */
} bsm_evaluator_pattern;

typedef struct bsm_converter_table {
  const bsm_conversion_pattern *patterns;
  size_t count;
} bsm_converter_table;

typedef struct bsm_evaluator_table {
  const bsm_evaluator_pattern *patterns;
  size_t count;
} bsm_evaluator_table;

/* Ends a file of converters; the name is listed in converter_tables.inl. */
#define BSM_CONVERTER_TABLE(name, array)              \
  const bsm_converter_table bsm_converters_##name = { \
      (array), sizeof(array) / sizeof((array)[0])}
#define BSM_EVALUATOR_TABLE(name, array)              \
  const bsm_evaluator_table bsm_evaluators_##name = { \
      (array), sizeof(array) / sizeof((array)[0])}

#define CONVERTERS(name) extern const bsm_converter_table bsm_converters_##name;
#define EVALUATORS(name) extern const bsm_evaluator_table bsm_evaluators_##name;
#include "conversion/converter_tables.inl"
#undef CONVERTERS
#undef EVALUATORS

/* The qualified name of a node's operator: "aten::add.Tensor", or its kind
 * when it has no schema. */
const char *bsm_node_qualified(const bsm_node *node);
/* NULL when there is none. */
const bsm_converter_entry *bsm_registry_find_converter(
    const bsm_converter_registry *registry, const bsm_node *node);
const bsm_evaluator_pattern *bsm_registry_find_evaluator(
    const bsm_converter_registry *registry, const bsm_node *node);

/* ---- context ---- */
/* Records the first failure of a node; frees later ones. */
void bsm_ctx_fail(bsm_conversion_ctx *ctx, bsm_status status);
/* Whether a layer that not everything runs may stay (bsm_convert_options). */
bool bsm_ctx_takes(const bsm_conversion_ctx *ctx, const bsm_layer *layer);
/* Takes the recorded failure: an accessor's, or else a layer's. */
BSM_NODISCARD bsm_status bsm_ctx_take_error(bsm_conversion_ctx *ctx);
/* What the value stands for; both members are NULL when it has not been
 * associated. */
bsm_var bsm_ctx_var(bsm_conversion_ctx *ctx, const bsm_value *value);
/* A static copy in the arena of the conversion. */
BSM_NODISCARD bsm_status bsm_associate_ivalue(bsm_conversion_ctx *ctx,
                                              const bsm_value *value,
                                              bsm_ivalue ivalue);
/* Binds a value to the same as another one. */
BSM_NODISCARD bsm_status bsm_associate_var(bsm_conversion_ctx *ctx,
                                           const bsm_value *value, bsm_var var);
/* An ivalue around a tensor of the network. */
BSM_NODISCARD bsm_status bsm_iv_container(bsm_conversion_ctx *ctx,
                                          bsm_itensor *tensor, bsm_ivalue *out);
/* The tensor of a container ivalue, or NULL. */
bsm_itensor *bsm_container_tensor(const bsm_ivalue *ivalue);
/* Whether a value contains no tensor of the network. */
bool bsm_ivalue_is_static(const bsm_ivalue *ivalue);

/* The value of a graph by its text, "%x" or "%12". */
const char *bsm_value_text(bsm_conversion_ctx *ctx, const bsm_value *value);

/* ---- weights ---- */
/* As bsm_weights_from_tensor, but refers to the tensor's memory when it is
 * contiguous: for tensors that outlive the network. */
bsm_weights bsm_weights_borrow(bsm_conversion_ctx *ctx,
                               const bsm_tensor *tensor);
/* A constant layer for a host tensor; the same tensor gives the same layer. */
bsm_itensor *bsm_freeze_tensor(bsm_conversion_ctx *ctx,
                               const bsm_tensor *tensor);

/* ---- evaluation ---- */
/* Runs a reference op on static values. *done is false when the library does
 * not have the op, or when it may not run during conversion (random numbers,
 * effects). */
BSM_NODISCARD bsm_status bsm_evaluate_node(bsm_conversion_ctx *ctx,
                                           const bsm_node *node, bool *done);
/* Calls a reference op by its qualified name: converters compute on weights
 * and indices with the same library. Fails when it does not exist. */
BSM_NODISCARD bsm_status bsm_host_call(bsm_conversion_ctx *ctx,
                                       const char *qualified_name,
                                       const bsm_ivalue *args, size_t n_args,
                                       bsm_ivalue *outs, size_t n_outs);
/* Whether the library could compute the node if its inputs were static. */
bool bsm_node_is_evaluable(const bsm_aten_library *aten, const bsm_node *node);

/* ---- fallback ---- */
/* Why a node can never become a call of the reference library; NULL when it
 * may. */
const char *bsm_fallback_refusal(const bsm_aten_library *aten,
                                 const bsm_node *node);
/* Adds a call of the node's op in the reference library, and associates the
 * outputs. BSM_UNSUPPORTED, BSM_DATA_DEPENDENT: the op cannot be called, and
 * the message says why; constants may have been added. */
BSM_NODISCARD bsm_status bsm_convert_by_reference(bsm_conversion_ctx *ctx,
                                                  const bsm_node *node);

/* ---- unsupported.c: what nothing takes, as one message ---- */
/* Called before conversion. BSM_UNSUPPORTED: there are nodes that no evaluator,
 * no converter and (unless full compilation is required) not the reference
 * library takes. */
BSM_NODISCARD bsm_status bsm_check_support(bsm_conversion_ctx *ctx,
                                           const bsm_graph *graph);
/* Called after conversion: logs the nodes that fell back. BSM_UNSUPPORTED: full
 * compilation is required; the message lists these nodes. */
BSM_NODISCARD bsm_status bsm_report_fallbacks(bsm_conversion_ctx *ctx);

/* ---- args ---- */
BSM_NODISCARD bsm_status bsm_args_init(bsm_conversion_ctx *ctx,
                                       const bsm_node *node,
                                       const bsm_converter_entry *entry,
                                       bsm_args *args);

#endif /* BSM_CONVERSION_CONVERSION_INTERNAL_H_ */
