/* SPDX-License-Identifier: Apache-2.0 */
/* Batched products whose matrices are all the same constant.
 *
 * PyTorch decomposes matmul(x, w), where x is a batch of matrices and w is one
 * matrix, into bmm(x, expand(w)). Left as that, the constant would be stored
 * once for each matrix of the batch and could not be the weight of a linear
 * layer. So the product becomes matmul(x, w) again.
 *
 * Requires:    nothing; without refined types less is found.
 * Establishes: no bmm by a constant that is the same in its first dimension.
 * Breaks:      may leave dead nodes. */
#include "lowering/pass.h"

/* The matrix that a tensor of rank 3 repeats along dimension 0; NULL: there is
 * none. */
static bsm_status first_matrix(const bsm_node_emitter *e, const bsm_tensor *t,
                               bsm_tensor **out) {
  *out = NULL;
  if (t->sizes.rank != 3 || t->sizes.d[0] < 1 ||
      (t->strides[0] != 0 && t->sizes.d[0] != 1)) {
    return BSM_OK;
  }
  bsm_tensor *matrix = BSM_NEW(e->graph->cx->arena, bsm_tensor);
  BSM_TRY_ALLOC(matrix);
  *matrix = *t;
  matrix->sizes = (bsm_dims){2, {t->sizes.d[1], t->sizes.d[2]}};
  matrix->strides[0] = t->strides[1];
  matrix->strides[1] = t->strides[2];
  *out = matrix;
  return BSM_OK;
}

/* Whether the last two sizes given to a reshape or expand are these; the others
 * may be anything. */
static bool ends_in(const bsm_value *sizes, const int64_t last[2]) {
  int64_t known[BSM_MAX_RANK];
  size_t count = 0;
  if (bsm_value_ints(sizes, known, &count)) {
    return count >= 2 && known[count - 2] == last[0] &&
           known[count - 1] == last[1];
  }
  const bsm_node *list = sizes->node;
  if (!list || !bsm_node_is(list, "prim::ListConstruct")) return false;
  const size_t n = list->inputs.len;
  int64_t a, b;
  return n >= 2 && bsm_value_int(bsm_node_in(list, n - 2), &a) &&
         bsm_value_int(bsm_node_in(list, n - 1), &b) && a == last[0] &&
         b == last[1];
}

/* The constant matrix behind an expand, which reshapes of the batch follow. */
static bsm_status expanded_matrix(const bsm_value *value, bsm_value **out) {
  int64_t last[2];
  const bsm_value *outer = value;
  *out = NULL;
  while (value->node && (bsm_node_is(value->node, "aten::reshape") ||
                         bsm_node_is(value->node, "aten::view"))) {
    value = bsm_node_in(value->node, 0);
  }
  const bsm_node *expand = value->node;
  if (!expand || !bsm_node_is(expand, "aten::expand")) return BSM_OK;
  const bsm_tensor *t = bsm_value_tensor(bsm_node_in(expand, 0));
  if (!t || t->sizes.rank != 2) return BSM_OK;
  last[0] = t->sizes.d[0];
  last[1] = t->sizes.d[1];
  if (last[0] == 1 || last[1] == 1 || !ends_in(bsm_node_in(expand, 1), last)) {
    return BSM_OK; /* the expand may change these as well */
  }
  for (; outer != value; outer = bsm_node_in(outer->node, 0)) {
    if (!ends_in(bsm_node_in(outer->node, 1), last)) return BSM_OK;
  }
  *out = bsm_node_in(expand, 0);
  return BSM_OK;
}

static bsm_status bmm(const bsm_node_emitter *e, bsm_node *node,
                      bsm_value **outs) {
  const bsm_tensor *t = bsm_value_tensor(bsm_node_in(node, 1));
  bsm_value *in[2] = {bsm_node_in(node, 0), NULL};
  bsm_node *product;
  if (t) {
    bsm_tensor *matrix;
    BSM_TRY(first_matrix(e, t, &matrix));
    if (!matrix) return BSM_OK;
    const bsm_type *type =
        bsm_type_tensor(e->graph->cx->types, matrix->dtype, matrix->sizes);
    BSM_TRY_ALLOC(type);
    BSM_TRY(bsm_ir_constant(e, bsm_iv_tensor(matrix), type, &in[1]));
    const char *name = bsm_node_in(node, 1)->debug_name;
    if (name) BSM_TRY(bsm_value_set_name(e->graph, in[1], name));
  } else {
    BSM_TRY(expanded_matrix(bsm_node_in(node, 1), &in[1]));
    if (!in[1]) return BSM_OK;
  }
  BSM_TRY(bsm_ir_node(e, "aten::matmul", in, 2, &product));
  outs[0] = bsm_node_out(product, 0);
  outs[0]->type = bsm_node_out(node, 0)->type;
  return BSM_OK;
}

static const bsm_rewrite rules[] = {
    {"aten::bmm", bmm},
};

bsm_status bsm_lower_share_matrices(bsm_graph *graph,
                                    const bsm_aten_library *aten) {
  return bsm_rewrite_graph(graph, aten, rules,
                           sizeof(rules) / sizeof(rules[0]));
}
