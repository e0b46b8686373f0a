/* SPDX-License-Identifier: Apache-2.0 */
/* From the graph of an exported program to blocks of the IR.
 *
 * import_values.c: arguments; import_operator.c: calls of operators;
 * import_autocast.c: the dtypes they compute in;
 * import_python.c: Python's functions on symbolic numbers; import_checks.c:
 * assertions; import_control.c, import_loops.c, import_functionalized.c:
 * higher-order operators; import_node.c: which of them a node is, and whole
 * graphs. */
#ifndef BSM_EXPORTED_IMPORT_NODE_H_
#define BSM_EXPORTED_IMPORT_NODE_H_

#include "exported/import_build.h"

/* The values of one graph, by name. */
typedef struct bsm_import_scope {
  const bsm_exported_graph *graph;
  bsm_strmap values;
} bsm_import_scope;

/* ---- import_values.c ---- */
BSM_NODISCARD bsm_status bsm_xi_find(const bsm_importer *im,
                                     const bsm_import_scope *scope,
                                     const char *name, bsm_value **out);
/* Gives `value` the name; NULL or "": nothing uses it. */
BSM_NODISCARD bsm_status bsm_xi_bind(bsm_importer *im, bsm_import_scope *scope,
                                     const char *name, bsm_value *value);
/* An argument as a value; `formal` (may be NULL) is what is wanted: it gives
 * empty lists their type, and makes numbers floats. */
BSM_NODISCARD bsm_status bsm_xi_argument(bsm_importer *im,
                                         const bsm_import_scope *scope,
                                         const bsm_exported_arg *arg,
                                         const bsm_type *formal,
                                         bsm_value **out);
/* The items of a list of any kind, or the one value that is not a list. */
BSM_NODISCARD bsm_status bsm_xi_items(bsm_importer *im,
                                      const bsm_import_scope *scope,
                                      const bsm_exported_arg *arg,
                                      bsm_xi_values *out);
/* Binds what a node gives to the names of its outputs. */
BSM_NODISCARD bsm_status bsm_xi_bind_output(bsm_importer *im,
                                            bsm_import_scope *scope,
                                            const bsm_exported_arg *output,
                                            bsm_value *value);
/* The same for results that are no list, one for each name: the outputs of a
 * higher-order operator, however the file groups them. */
BSM_NODISCARD bsm_status bsm_xi_bind_outputs(bsm_importer *im,
                                             bsm_import_scope *scope,
                                             const bsm_exported_node *node,
                                             bsm_value *const *values,
                                             size_t count);
/* "a tensor", "a list of ints": for messages. */
const char *bsm_xi_tag_text(bsm_exported_tag tag);

/* ---- import_operator.c ---- */
/* "torch.ops.aten.add.Tensor" -> "aten::add.Tensor"; NULL when it is none. */
BSM_NODISCARD bsm_status bsm_xi_operator_name(bsm_importer *im,
                                              const char *target,
                                              const char **out);
/* A call of `qualified` with the arguments of the file, from number `first`. */
BSM_NODISCARD bsm_status bsm_xi_call_operator(
    bsm_importer *im, const bsm_import_scope *scope, const char *qualified,
    const bsm_exported_named_arg *args, size_t count, bsm_node **out);
/* That each call of an operator nobody has declared is needed for a result:
 * else lowering would leave it out, though it may write to its arguments. */
BSM_NODISCARD bsm_status bsm_xi_check_undeclared(const bsm_importer *im);
BSM_NODISCARD bsm_status bsm_xi_operator(bsm_importer *im,
                                         bsm_import_scope *scope,
                                         const bsm_exported_node *node,
                                         const char *qualified);

/* ---- import_autocast.c ---- */
/* The dtype that PyTorch casts the arguments of a call in a region of autocast
 * to, whose result the file says is `result`; UNDEFINED: it does not. */
bsm_dtype bsm_xi_autocast_dtype(const bsm_import_scope *scope,
                                const char *qualified,
                                const bsm_exported_named_arg *args,
                                size_t count, bsm_dtype result);
/* Casts the floating-point tensors of an argument, which is `*value`. */
BSM_NODISCARD bsm_status bsm_xi_autocast(bsm_importer *im,
                                         const bsm_import_scope *scope,
                                         const bsm_exported_arg *arg,
                                         bsm_dtype dtype, bsm_value **value);

/* ---- import_python.c ---- */
/* *done false: not a function that is known. */
BSM_NODISCARD bsm_status bsm_xi_python(bsm_importer *im,
                                       bsm_import_scope *scope,
                                       const bsm_exported_node *node,
                                       bool *done);

/* ---- import_checks.c ---- */
/* Assertions, and operators of exported programs that have another name, or
 * none, in TorchScript; *done false: any other. */
BSM_NODISCARD bsm_status bsm_xi_special(bsm_importer *im,
                                        bsm_import_scope *scope,
                                        const bsm_exported_node *node,
                                        const char *qualified, bool *done);

/* ---- import_control.c, import_loops.c, import_functionalized.c ---- */
BSM_NODISCARD bsm_status bsm_xi_higher_order(bsm_importer *im,
                                             bsm_import_scope *scope,
                                             const bsm_exported_node *node,
                                             const char *name);
BSM_NODISCARD bsm_status bsm_xi_while_loop(bsm_importer *im,
                                           bsm_import_scope *scope,
                                           const bsm_exported_node *node);
BSM_NODISCARD bsm_status bsm_xi_map(bsm_importer *im, bsm_import_scope *scope,
                                    const bsm_exported_node *node);
BSM_NODISCARD bsm_status bsm_xi_scan(bsm_importer *im, bsm_import_scope *scope,
                                     const bsm_exported_node *node);
BSM_NODISCARD bsm_status bsm_xi_associative_scan(bsm_importer *im,
                                                 bsm_import_scope *scope,
                                                 const bsm_exported_node *node);
BSM_NODISCARD bsm_status bsm_xi_functionalized(bsm_importer *im,
                                               bsm_import_scope *scope,
                                               const bsm_exported_node *node);
/* Argument `index` of a node as an operator, "aten::add.Tensor". */
BSM_NODISCARD bsm_status bsm_xi_operator_argument(bsm_importer *im,
                                                  const bsm_exported_node *node,
                                                  size_t index,
                                                  const char **out);
/* Argument `index` of a node as a graph, or as the items of a list. */
BSM_NODISCARD bsm_status bsm_xi_graph_argument(const bsm_exported_node *node,
                                               size_t index,
                                               const bsm_exported_graph **out);
BSM_NODISCARD bsm_status bsm_xi_list_argument(bsm_importer *im,
                                              const bsm_import_scope *scope,
                                              const bsm_exported_node *node,
                                              size_t index, bsm_xi_values *out);

/* ---- import_node.c ---- */
/* The nodes of `scope->graph`, whose inputs are bound, at the importer's
 * place. */
BSM_NODISCARD bsm_status bsm_xi_nodes(bsm_importer *im,
                                      bsm_import_scope *scope);
/* A graph inside a graph, applied to values: its results. */
BSM_NODISCARD bsm_status bsm_xi_apply(bsm_importer *im,
                                      const bsm_exported_graph *graph,
                                      bsm_value *const *args, size_t count,
                                      bsm_xi_values *out);

#endif /* BSM_EXPORTED_IMPORT_NODE_H_ */
