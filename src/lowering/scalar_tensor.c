/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers read from tensors, as tensors of rank 0. */
#include "lowering/scalar_tensor.h"

#define MAX_DEPTH 64

static bsm_status convert(const bsm_node_emitter *e, bsm_value *scalar,
                          size_t depth, bsm_value **out);

static bsm_dtype dtype_of(const bsm_value *value) {
  bsm_dims dims;
  bsm_dtype dtype = BSM_DTYPE_UNDEFINED;
  (void)bsm_value_dims(value, &dims, &dtype);
  return dtype;
}

static bsm_status cast(const bsm_node_emitter *e, bsm_value *x, bsm_dtype dtype,
                       bsm_value **out) {
  *out = x;
  return dtype_of(x) == dtype ? BSM_OK : bsm_ir_cast(e, x, dtype, out);
}

/* A known number as a tensor of rank 0, in a dtype that fits `other`. */
static bsm_status number(const bsm_node_emitter *e, const bsm_value *constant,
                         bsm_dtype other, bsm_value **out) {
  const bsm_ivalue *c = bsm_value_constant(constant);
  bsm_tensor *t = NULL;
  const bool floating = bsm_dtype_is_floating(other);
  if (c->tag == BSM_IVALUE_DOUBLE) {
    BSM_TRY(bsm_tensor_from_double(
        e->graph->cx->arena, floating ? other : BSM_DTYPE_FLOAT, c->u.d, &t));
  } else if (c->tag == BSM_IVALUE_INT) {
    BSM_TRY(bsm_tensor_from_int(
        e->graph->cx->arena, floating ? other : BSM_DTYPE_INT64, c->u.i, &t));
  } else if (c->tag == BSM_IVALUE_BOOL) {
    BSM_TRY(
        bsm_tensor_from_int(e->graph->cx->arena, BSM_DTYPE_BOOL, c->u.b, &t));
  } else {
    *out = NULL;
    return BSM_OK;
  }
  return bsm_ir_constant(e, bsm_iv_tensor(t), NULL, out);
}

/* The tensor that a number was read from. */
static bsm_status from_tensor(const bsm_node_emitter *e, bsm_value *x,
                              bsm_value **out) {
  bsm_dims dims, scalar = {0, {0}};
  bsm_dtype dtype;
  *out = NULL;
  if (!bsm_value_dims(x, &dims, &dtype)) {
    return BSM_OK;
  }
  *out = x;
  return dims.rank == 0 ? BSM_OK : bsm_ir_reshape(e, x, scalar, out);
}

/* int(), float(), bool() of a tensor or of a scalar. */
static bsm_status conversion(const bsm_node_emitter *e, const bsm_node *node,
                             size_t depth, bsm_value **out) {
  static const struct {
    const char *name;
    bsm_dtype dtype; /* UNDEFINED: as it is */
  } rows[] = {
      {"aten::item", BSM_DTYPE_UNDEFINED},
      {"aten::ScalarImplicit", BSM_DTYPE_UNDEFINED},
      {"aten::IntImplicit", BSM_DTYPE_INT64},
      {"aten::FloatImplicit", BSM_DTYPE_FLOAT},
      {"aten::Int", BSM_DTYPE_INT64},
      {"aten::Float", BSM_DTYPE_DOUBLE},
      {"aten::Bool", BSM_DTYPE_BOOL},
  };
  *out = NULL;
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    if (strcmp(rows[i].name, node->schema->name) != 0) {
      continue;
    }
    bsm_value *from = bsm_node_in(node, 0), *x = NULL;
    if (from->type && from->type->kind == BSM_TYPE_TENSOR) {
      BSM_TRY(from_tensor(e, from, &x));
    } else {
      BSM_TRY(convert(e, from, depth + 1, &x));
    }
    if (!x) {
      return BSM_OK;
    }
    const bsm_dtype to = rows[i].dtype;
    const bool keep =
        to == BSM_DTYPE_UNDEFINED ||
        (bsm_dtype_is_floating(to) && bsm_dtype_is_floating(dtype_of(x)));
    *out = x;
    return keep ? BSM_OK : cast(e, x, to, out);
  }
  return BSM_OK;
}

/* Comparisons, logic and arithmetic of numbers. */
static bsm_status arithmetic(const bsm_node_emitter *e, const bsm_node *node,
                             size_t depth, bsm_value **out) {
  static const struct {
    const char *name, *tensor;
    size_t operands;
    bool alpha;
  } rows[] = {
      {"aten::gt", "aten::gt.Tensor", 2, false},
      {"aten::lt", "aten::lt.Tensor", 2, false},
      {"aten::ge", "aten::ge.Tensor", 2, false},
      {"aten::le", "aten::le.Tensor", 2, false},
      {"aten::eq", "aten::eq.Tensor", 2, false},
      {"aten::ne", "aten::ne.Tensor", 2, false},
      {"aten::add", "aten::add.Tensor", 2, true},
      {"aten::sub", "aten::sub.Tensor", 2, true},
      {"aten::mul", "aten::mul.Tensor", 2, false},
      {"aten::div", "aten::div.Tensor", 2, false},
      {"aten::__and__", "aten::logical_and", 2, false},
      {"aten::__or__", "aten::logical_or", 2, false},
      {"aten::__not__", "aten::logical_not", 1, false},
      {"aten::neg", "aten::neg", 1, false},
  };
  *out = NULL;
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    if (strcmp(rows[i].name, node->schema->name) != 0 ||
        node->inputs.len != rows[i].operands) {
      continue;
    }
    bsm_value *in[3] = {NULL, NULL, NULL};
    bsm_dtype dtype = BSM_DTYPE_UNDEFINED;
    for (size_t k = 0; k < rows[i].operands; k++) {
      if (!bsm_value_constant(bsm_node_in(node, k))) {
        BSM_TRY(convert(e, bsm_node_in(node, k), depth + 1, &in[k]));
        if (!in[k]) {
          return BSM_OK;
        }
        dtype = dtype_of(in[k]);
      }
    }
    for (size_t k = 0; k < rows[i].operands; k++) {
      if (!in[k]) {
        BSM_TRY(number(e, bsm_node_in(node, k), dtype, &in[k]));
      }
      if (!in[k]) {
        return BSM_OK;
      }
    }
    if (rows[i].alpha) {
      BSM_TRY(bsm_ir_int(e, 1, &in[2]));
    }
    return bsm_ir_op(e, rows[i].tensor, in,
                     rows[i].operands + (rows[i].alpha ? 1 : 0), out);
  }
  return BSM_OK;
}

static bsm_status convert(const bsm_node_emitter *e, bsm_value *scalar,
                          size_t depth, bsm_value **out) {
  const bsm_node *node = scalar->node;
  *out = NULL;
  if (depth > MAX_DEPTH || !node || !node->schema || node->inputs.len == 0 ||
      node->outputs.len != 1) {
    return BSM_OK;
  }
  BSM_TRY(conversion(e, node, depth, out));
  const bsm_type *type = bsm_node_in(node, 0)->type;
  if (*out || (type && type->kind == BSM_TYPE_TENSOR)) {
    return BSM_OK;
  }
  return arithmetic(e, node, depth, out);
}

bsm_status bsm_scalar_tensor(const bsm_node_emitter *e, bsm_value *scalar,
                             bsm_value **out) {
  return convert(e, scalar, 0, out);
}
