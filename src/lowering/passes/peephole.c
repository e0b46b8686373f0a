/* SPDX-License-Identifier: Apache-2.0 */
/* No-ops and pairs of ops that undo each other.
 *
 * Only exact rewrites are done. x + 0.0 changes -0.0, so it is not removed from
 * floating tensors; x * 1 is removed when it does not change the dtype.
 *
 * Requires:    refined types on the values concerned; others are left alone.
 * Establishes: no reshape, permute, expand, cast or slice that does nothing; no
 *              reshape of a reshape, no permute of a permute; no choice that
 *              one constant makes.
 * Breaks:      may leave dead nodes. */
#include "lowering/pass.h"

/* ---- helpers ---- */

/* Whether the node's output has the dims and dtype of `x`. */
static bool same_type(const bsm_node *node, const bsm_value *x) {
  bsm_dims a, b;
  bsm_dtype da, db;
  return bsm_value_dims(bsm_node_out(node, 0), &a, &da) &&
         bsm_value_dims(x, &b, &db) && da == db && bsm_dims_equal(a, b);
}

static bsm_node *producer(const bsm_value *x, const char *schema) {
  bsm_node *node = x->node;
  return node && node->schema && strcmp(node->schema->qualified, schema) == 0
             ? node
             : NULL;
}

/* The node does nothing when its output has the type of its input. */
static bsm_status same_shape(const bsm_node_emitter *e, bsm_node *node,
                             bsm_value **outs) {
  (void)e;
  if (same_type(node, bsm_node_in(node, 0))) {
    outs[0] = bsm_node_in(node, 0);
  }
  return BSM_OK;
}

/* ---- reshapes ---- */

static bool only_reshapes(const bsm_node *node) {
  static const char *const names[] = {"aten::reshape",
                                      "aten::view",
                                      "aten::flatten.using_ints",
                                      "aten::unsqueeze",
                                      "aten::squeeze",
                                      "aten::squeeze.dim",
                                      "aten::squeeze.dims",
                                      NULL};
  for (const char *const *n = names; node->schema && *n; n++) {
    if (strcmp(*n, node->schema->qualified) == 0) {
      return true;
    }
  }
  return false;
}

static bsm_status reshape(const bsm_node_emitter *e, bsm_node *node,
                          bsm_value **outs) {
  bsm_value *x = bsm_node_in(node, 0);
  bsm_dims dims;
  bsm_dtype dtype;
  if (same_type(node, x)) {
    outs[0] = x;
    return BSM_OK;
  }
  if (!x->node || !only_reshapes(x->node) ||
      !bsm_value_dims(bsm_node_out(node, 0), &dims, &dtype)) {
    return BSM_OK;
  }
  x = bsm_node_in(x->node, 0);
  if (same_type(node, x)) {
    outs[0] = x;
    return BSM_OK;
  }
  return bsm_ir_reshape(e, x, dims, &outs[0]);
}

/* ---- permutations ---- */

/* The permutation that a node does: dim i of its output is dim perm[i] of its
 * input. */
static bool permutation(const bsm_node *node, int64_t *perm, size_t *n) {
  bsm_dims dims;
  bsm_dtype dtype;
  if (!node || !node->schema ||
      !bsm_value_dims(bsm_node_out(node, 0), &dims, &dtype)) {
    return false;
  }
  const char *name = node->schema->qualified;
  int64_t a = 0, b = 1;
  *n = (size_t)dims.rank;
  if (strcmp(name, "aten::permute") == 0) {
    size_t count = 0;
    if (!bsm_value_ints(bsm_node_in(node, 1), perm, &count) || count != *n) {
      return false;
    }
    for (size_t i = 0; i < *n; i++) {
      if (!bsm_ir_wrap_dim(&perm[i], dims.rank)) {
        return false;
      }
    }
    return true;
  }
  if (strcmp(name, "aten::transpose.int") == 0) {
    if (!bsm_value_int(bsm_node_in(node, 1), &a) ||
        !bsm_value_int(bsm_node_in(node, 2), &b) ||
        !bsm_ir_wrap_dim(&a, dims.rank) || !bsm_ir_wrap_dim(&b, dims.rank)) {
      return false;
    }
  } else if (strcmp(name, "aten::t") != 0) {
    return false;
  } else if (dims.rank < 2) {
    b = 0;
  }
  for (size_t i = 0; i < *n; i++) {
    perm[i] = (int64_t)i;
  }
  if (*n > 0) {
    perm[a] = b;
    perm[b] = a;
  }
  return true;
}

static bool is_identity(const int64_t *perm, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (perm[i] != (int64_t)i) {
      return false;
    }
  }
  return true;
}

static bsm_status permute(const bsm_node_emitter *e, bsm_node *node,
                          bsm_value **outs) {
  int64_t outer[BSM_MAX_RANK], inner[BSM_MAX_RANK];
  size_t n = 0, m = 0;
  bsm_value *x = bsm_node_in(node, 0);
  if (!permutation(node, outer, &n)) {
    return BSM_OK;
  }
  if (is_identity(outer, n)) {
    outs[0] = x;
    return BSM_OK;
  }
  if (!permutation(x->node, inner, &m) || m != n) {
    return BSM_OK;
  }
  for (size_t i = 0; i < n; i++) {
    outer[i] = inner[outer[i]];
  }
  x = bsm_node_in(x->node, 0);
  if (is_identity(outer, n)) {
    outs[0] = x;
    return BSM_OK;
  }
  return bsm_ir_permute(e, x, outer, n, &outs[0]);
}

/* ---- arithmetic ---- */

static bsm_status times_one(const bsm_node_emitter *e, bsm_node *node,
                            bsm_value **outs) {
  double v = 0;
  const bsm_tensor *t = bsm_value_tensor(bsm_node_in(node, 1));
  (void)e;
  const bool one =
      (bsm_value_double(bsm_node_in(node, 1), &v) && v == 1.0) ||
      (t && bsm_tensor_numel(t) == 1 && bsm_tensor_get_double(t, 0) == 1.0);
  if (one && same_type(node, bsm_node_in(node, 0))) {
    outs[0] = bsm_node_in(node, 0);
  }
  return BSM_OK;
}

/* Adding zero keeps integers; subtracting 0.0 keeps every float too. */
static bsm_status plus_zero(const bsm_node_emitter *e, bsm_node *node,
                            bsm_value **outs) {
  double v = 1;
  bsm_dims dims;
  bsm_dtype dtype;
  (void)e;
  if (bsm_value_double(bsm_node_in(node, 1), &v) && v == 0.0 &&
      bsm_value_dims(bsm_node_in(node, 0), &dims, &dtype) &&
      bsm_dtype_is_integral(dtype, false) &&
      same_type(node, bsm_node_in(node, 0))) {
    outs[0] = bsm_node_in(node, 0);
  }
  return BSM_OK;
}

/* ---- others ---- */

static bsm_status single_cat(const bsm_node_emitter *e, bsm_node *node,
                             bsm_value **outs) {
  const bsm_node *list = bsm_value_list_node(bsm_node_in(node, 0));
  (void)e;
  if (list && list->inputs.len == 1 && same_type(node, bsm_node_in(list, 0))) {
    outs[0] = bsm_node_in(list, 0);
  }
  return BSM_OK;
}

/* A cast of a cast: the first may be dropped when it loses nothing. */
static bsm_status cast(const bsm_node_emitter *e, bsm_node *node,
                       bsm_value **outs) {
  bsm_value *x = bsm_node_in(node, 0);
  if (same_type(node, x)) {
    outs[0] = x;
    return BSM_OK;
  }
  const bsm_node *first = producer(x, "aten::to.dtype");
  bsm_dims dims;
  bsm_dtype from, middle, to;
  if (!first || !bsm_value_dims(bsm_node_in(first, 0), &dims, &from) ||
      !bsm_value_dims(x, &dims, &middle) ||
      !bsm_value_dims(bsm_node_out(node, 0), &dims, &to)) {
    return BSM_OK;
  }
  const bool exact = (from == BSM_DTYPE_BOOL && middle != BSM_DTYPE_BOOL) ||
                     (from == BSM_DTYPE_FLOAT && middle == BSM_DTYPE_DOUBLE) ||
                     (from == BSM_DTYPE_INT32 && middle == BSM_DTYPE_INT64);
  if (!exact) {
    return BSM_OK;
  }
  if (from == to) {
    outs[0] = bsm_node_in(first, 0);
    return BSM_OK;
  }
  return bsm_ir_cast(e, bsm_node_in(first, 0), to, &outs[0]);
}

static bsm_status no_dropout(const bsm_node_emitter *e, bsm_node *node,
                             bsm_value **outs) {
  bool train = true;
  (void)e;
  if (node->inputs.len == 3 && bsm_value_bool(bsm_node_in(node, 2), &train) &&
      !train) {
    outs[0] = bsm_node_in(node, 0);
  }
  return BSM_OK;
}

/* A choice that one constant makes. */
static bsm_status known_choice(const bsm_node_emitter *e, bsm_node *node,
                               bsm_value **outs) {
  const bsm_ivalue *v = bsm_value_constant(bsm_node_in(node, 0));
  (void)e;
  if (!v || v->tag != BSM_IVALUE_TENSOR || v->u.tensor->storage->meta ||
      v->u.tensor->dtype != BSM_DTYPE_BOOL ||
      bsm_tensor_numel(v->u.tensor) != 1) {
    return BSM_OK;
  }
  const bool first = bsm_tensor_get_int(v->u.tensor, 0) != 0;
  bsm_value *x = bsm_node_in(node, first ? 1 : 2);
  if (same_type(node, x)) outs[0] = x;
  return BSM_OK;
}

static const bsm_rewrite rules[] = {
    {"aten::reshape", reshape},
    {"aten::view", reshape},
    {"aten::flatten.using_ints", reshape},
    {"aten::unsqueeze", reshape},
    {"aten::squeeze", reshape},
    {"aten::squeeze.dim", reshape},
    {"aten::squeeze.dims", reshape},
    {"aten::permute", permute},
    {"aten::transpose.int", permute},
    {"aten::t", permute},
    {"aten::expand", same_shape},
    {"aten::slice.Tensor", same_shape},
    {"aten::narrow", same_shape},
    {"aten::repeat", same_shape},
    {"aten::contiguous", same_shape},
    {"aten::clone", same_shape},
    {"aten::detach", same_shape},
    {"aten::alias", same_shape},
    {"aten::positive", same_shape},
    {"aten::to.dtype", cast},
    {"aten::mul.Scalar", times_one},
    {"aten::mul.Tensor", times_one},
    {"aten::div.Scalar", times_one},
    {"aten::div.Tensor", times_one},
    {"aten::pow.Tensor_Scalar", times_one},
    {"aten::add.Scalar", plus_zero},
    {"aten::sub.Scalar", plus_zero},
    {"aten::where.self", known_choice},
    {"aten::cat", single_cat},
    {"aten::dropout", no_dropout},
    {"aten::feature_dropout", no_dropout},
    {"aten::alpha_dropout", no_dropout},
};

bsm_status bsm_lower_peephole(bsm_graph *graph, const bsm_aten_library *aten) {
  return bsm_rewrite_graph(graph, aten, rules,
                           sizeof(rules) / sizeof(rules[0]));
}
