/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that depend on data become tensors of rank 0: x * y.max().item() is
 * x * y.max(). A result that is such a number becomes a tensor of float64,
 * int64 or bool.
 *
 * Requires:    refined types of the tensors concerned.
 * Establishes: add, sub, mul, div and comparisons by such numbers take tensors;
 *              no output of the graph is a number, where bsm_scalar_tensor can
 *              follow it.
 * Breaks:      leaves item() and its like dead. */
#include "lowering/pass.h"
#include "lowering/scalar_tensor.h"

static bool is_number(const bsm_value *value) {
  switch (value->type ? value->type->kind : BSM_TYPE_ANY) {
    case BSM_TYPE_INT:
    case BSM_TYPE_FLOAT:
    case BSM_TYPE_BOOL:
    case BSM_TYPE_NUMBER:
      return true;
    default:
      return false;
  }
}

/* A Python number does not take part in type promotion, but a tensor of rank 0
 * does. So the tensor gets a dtype that does not change the result's. */
static bsm_status harmless(const bsm_node_emitter *e, bsm_dtype self,
                           bsm_value *x, bsm_value **out) {
  bsm_dims dims;
  bsm_dtype dtype;
  *out = x;
  if (!bsm_value_dims(x, &dims, &dtype) || !bsm_dtype_is_floating(dtype)) {
    return BSM_OK;
  }
  const bsm_dtype to = bsm_dtype_is_floating(self) ? self : BSM_DTYPE_FLOAT;
  return to == dtype ? BSM_OK : bsm_ir_cast(e, x, to, out);
}

/* op.Scalar(self, number, ...) -> op.Tensor(self, tensor, ...) */
static bsm_status by_tensor(const bsm_node_emitter *e, bsm_node *node,
                            bsm_value **outs) {
  bsm_value *in[3] = {NULL, NULL, NULL}, *number = bsm_node_in(node, 1);
  bsm_dims dims;
  bsm_dtype dtype;
  if (bsm_value_constant(number) || node->inputs.len > 3 ||
      !bsm_value_dims(bsm_node_in(node, 0), &dims, &dtype)) {
    return BSM_OK;
  }
  for (size_t i = 0; i < node->inputs.len; i++) {
    in[i] = bsm_node_in(node, i);
  }
  BSM_TRY(bsm_scalar_tensor(e, number, &in[1]));
  if (!in[1]) {
    return BSM_OK;
  }
  BSM_TRY(harmless(e, dtype, in[1], &in[1]));
  bsm_arena *arena = node->graph->cx->arena;
  const char *name = bsm_arena_printf(
      arena, "%s.%s", node->schema->name,
      strcmp(node->schema->name, "aten::pow") == 0 ? "Tensor_Tensor"
                                                   : "Tensor");
  BSM_TRY_ALLOC(name);
  return bsm_ir_op(e, name, in, node->inputs.len, &outs[0]);
}

static const bsm_rewrite rules[] = {
    {"aten::add.Scalar", by_tensor},        {"aten::sub.Scalar", by_tensor},
    {"aten::mul.Scalar", by_tensor},        {"aten::div.Scalar", by_tensor},
    {"aten::gt.Scalar", by_tensor},         {"aten::lt.Scalar", by_tensor},
    {"aten::ge.Scalar", by_tensor},         {"aten::le.Scalar", by_tensor},
    {"aten::eq.Scalar", by_tensor},         {"aten::ne.Scalar", by_tensor},
    {"aten::pow.Tensor_Scalar", by_tensor},
};

static bsm_dtype dtype_of_number(const bsm_type *type, bsm_dtype of_tensor) {
  switch (type->kind) {
    case BSM_TYPE_INT:
      return BSM_DTYPE_INT64;
    case BSM_TYPE_FLOAT:
      return BSM_DTYPE_DOUBLE;
    case BSM_TYPE_BOOL:
      return BSM_DTYPE_BOOL;
    default: /* a Scalar: the tensor that item() was called on */
      return bsm_dtype_is_floating(of_tensor) ? BSM_DTYPE_DOUBLE
             : of_tensor == BSM_DTYPE_BOOL    ? BSM_DTYPE_BOOL
                                              : BSM_DTYPE_INT64;
  }
}

static bsm_status outputs(bsm_graph *graph, const bsm_aten_library *aten) {
  const bsm_node_emitter e = {
      .graph = graph, .block = graph->block, .aten = aten};
  bsm_node *returns = graph->block->returns;
  for (size_t i = 0; i < returns->inputs.len; i++) {
    bsm_value *number = bsm_node_in(returns, i), *x = NULL;
    bsm_dims dims;
    bsm_dtype dtype;
    if (!is_number(number) || bsm_value_constant(number)) {
      continue;
    }
    BSM_TRY(bsm_scalar_tensor(&e, number, &x));
    if (!x || !bsm_value_dims(x, &dims, &dtype)) {
      continue;
    }
    const bsm_dtype to = dtype_of_number(number->type, dtype);
    if (to != dtype) {
      BSM_TRY(bsm_ir_cast(&e, x, to, &x));
    }
    BSM_TRY(bsm_node_set_input(returns, i, x));
  }
  return BSM_OK;
}

bsm_status bsm_lower_tensorize_scalars(bsm_graph *graph,
                                       const bsm_aten_library *aten) {
  BSM_TRY(
      bsm_rewrite_graph(graph, aten, rules, sizeof(rules) / sizeof(rules[0])));
  return outputs(graph, aten);
}
