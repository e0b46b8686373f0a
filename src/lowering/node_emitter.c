/* SPDX-License-Identifier: Apache-2.0 */
/* Emitting nodes of the lowered graph. */
#include "lowering/node_emitter.h"

#include "base/strings.h"

bsm_node_emitter bsm_node_emitter_before(bsm_node *node,
                                         const bsm_aten_library *aten) {
  return (bsm_node_emitter){node->graph, node->block, node, aten, node->source};
}

void bsm_ir_link(const bsm_node_emitter *e, bsm_node *node) {
  node->source = e->source;
  if (e->before) {
    bsm_node_insert_before(node, e->before);
  } else {
    bsm_node_append(e->block, node);
  }
}

bsm_status bsm_ir_constant(const bsm_node_emitter *e, bsm_ivalue value,
                           const bsm_type *type, bsm_value **out) {
  bsm_node *node = NULL;
  BSM_TRY(bsm_node_create_constant(e->graph, value, type, &node));
  bsm_ir_link(e, node);
  *out = bsm_node_out(node, 0);
  return BSM_OK;
}

bsm_status bsm_ir_none(const bsm_node_emitter *e, bsm_value **out) {
  return bsm_ir_constant(e, bsm_iv_none(), NULL, out);
}

bsm_status bsm_ir_int(const bsm_node_emitter *e, int64_t v, bsm_value **out) {
  return bsm_ir_constant(e, bsm_iv_int(v), NULL, out);
}

bsm_status bsm_ir_double(const bsm_node_emitter *e, double v, bsm_value **out) {
  return bsm_ir_constant(e, bsm_iv_double(v), NULL, out);
}

bsm_status bsm_ir_bool(const bsm_node_emitter *e, bool v, bsm_value **out) {
  return bsm_ir_constant(e, bsm_iv_bool(v), NULL, out);
}

bsm_status bsm_ir_ints(const bsm_node_emitter *e, const int64_t *v, size_t n,
                       bsm_value **out) {
  bsm_type_table *types = e->graph->cx->types;
  const bsm_type *type =
      bsm_type_list(types, bsm_type_simple(types, BSM_TYPE_INT));
  BSM_TRY_ALLOC(type);
  bsm_ivalue list;
  BSM_TRY(bsm_iv_int_list(e->graph->cx->arena, v, n, &list));
  list.u.list->elem_type = type->args[0];
  return bsm_ir_constant(e, list, type, out);
}

bsm_status bsm_ir_dims(const bsm_node_emitter *e, bsm_dims dims,
                       bsm_value **out) {
  return bsm_ir_ints(e, dims.d, (size_t)dims.rank, out);
}

bsm_status bsm_ir_node(const bsm_node_emitter *e, const char *qualified,
                       bsm_value *const *inputs, size_t n, bsm_node **out) {
  const bsm_schema *schema = NULL;
  BSM_TRY(bsm_schema_table_find(e->graph->cx->schemas, bsm_str_of(qualified),
                                &schema));
  if (!schema) {
    return BSM_FAIL(BSM_INTERNAL, "lowering: no schema named %s", qualified);
  }
  if (schema->arg_count != n) {
    return BSM_FAIL(BSM_INTERNAL, "lowering: %s takes %zu arguments, %zu given",
                    qualified, schema->arg_count, n);
  }
  bsm_node *node = NULL;
  BSM_TRY(bsm_node_create_schema(e->graph, schema, &node));
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(bsm_node_add_input(node, inputs[i]));
  }
  bsm_ir_link(e, node);
  *out = node;
  return BSM_OK;
}

bsm_status bsm_ir_op(const bsm_node_emitter *e, const char *qualified,
                     bsm_value *const *inputs, size_t n, bsm_value **out) {
  bsm_node *node = NULL;
  BSM_TRY(bsm_ir_node(e, qualified, inputs, n, &node));
  BSM_TRY(bsm_infer_types(node, e->aten));
  *out = bsm_node_out(node, 0);
  return BSM_OK;
}

bsm_status bsm_ir_reshape(const bsm_node_emitter *e, bsm_value *x,
                          bsm_dims sizes, bsm_value **out) {
  bsm_value *in[2] = {x, NULL};
  BSM_TRY(bsm_ir_dims(e, sizes, &in[1]));
  return bsm_ir_op(e, "aten::reshape", in, 2, out);
}

bsm_status bsm_ir_permute(const bsm_node_emitter *e, bsm_value *x,
                          const int64_t *perm, size_t n, bsm_value **out) {
  bsm_value *in[2] = {x, NULL};
  BSM_TRY(bsm_ir_ints(e, perm, n, &in[1]));
  return bsm_ir_op(e, "aten::permute", in, 2, out);
}

bsm_status bsm_ir_transpose(const bsm_node_emitter *e, bsm_value *x, int64_t a,
                            int64_t b, bsm_value **out) {
  bsm_value *in[3] = {x, NULL, NULL};
  BSM_TRY(bsm_ir_int(e, a, &in[1]));
  BSM_TRY(bsm_ir_int(e, b, &in[2]));
  return bsm_ir_op(e, "aten::transpose.int", in, 3, out);
}

bsm_status bsm_ir_expand(const bsm_node_emitter *e, bsm_value *x,
                         bsm_dims sizes, bsm_value **out) {
  bsm_value *in[3] = {x, NULL, NULL};
  BSM_TRY(bsm_ir_dims(e, sizes, &in[1]));
  BSM_TRY(bsm_ir_bool(e, false, &in[2]));
  return bsm_ir_op(e, "aten::expand", in, 3, out);
}

bsm_status bsm_ir_cast(const bsm_node_emitter *e, bsm_value *x, bsm_dtype dtype,
                       bsm_value **out) {
  bsm_value *in[5] = {x, NULL, NULL, NULL, NULL};
  BSM_TRY(bsm_ir_int(e, (int64_t)dtype, &in[1]));
  BSM_TRY(bsm_ir_bool(e, false, &in[2]));
  in[3] = in[2];
  BSM_TRY(bsm_ir_none(e, &in[4]));
  return bsm_ir_op(e, "aten::to.dtype", in, 5, out);
}

bsm_status bsm_ir_slice(const bsm_node_emitter *e, bsm_value *x, int64_t dim,
                        int64_t start, int64_t end, int64_t step,
                        bsm_value **out) {
  bsm_value *in[5] = {x, NULL, NULL, NULL, NULL};
  const int64_t ints[4] = {dim, start, end, step};
  for (int i = 0; i < 4; i++) {
    BSM_TRY(bsm_ir_int(e, ints[i], &in[i + 1]));
  }
  return bsm_ir_op(e, "aten::slice.Tensor", in, 5, out);
}

bsm_status bsm_ir_select(const bsm_node_emitter *e, bsm_value *x, int64_t dim,
                         int64_t index, bsm_value **out) {
  bsm_value *in[3] = {x, NULL, NULL};
  BSM_TRY(bsm_ir_int(e, dim, &in[1]));
  BSM_TRY(bsm_ir_int(e, index, &in[2]));
  return bsm_ir_op(e, "aten::select.int", in, 3, out);
}

bool bsm_value_is_none(const bsm_value *value) {
  const bsm_ivalue *c = bsm_value_constant(value);
  return c && c->tag == BSM_IVALUE_NONE;
}

bool bsm_value_int(const bsm_value *value, int64_t *out) {
  const bsm_ivalue *c = bsm_value_constant(value);
  if (!c || c->tag != BSM_IVALUE_INT) {
    return false;
  }
  *out = c->u.i;
  return true;
}

bool bsm_value_double(const bsm_value *value, double *out) {
  const bsm_ivalue *c = bsm_value_constant(value);
  if (c && c->tag == BSM_IVALUE_DOUBLE) {
    *out = c->u.d;
    return true;
  }
  if (c && c->tag == BSM_IVALUE_INT) {
    *out = (double)c->u.i;
    return true;
  }
  return false;
}

bool bsm_value_bool(const bsm_value *value, bool *out) {
  const bsm_ivalue *c = bsm_value_constant(value);
  if (!c || c->tag != BSM_IVALUE_BOOL) {
    return false;
  }
  *out = c->u.b;
  return true;
}

const bsm_tensor *bsm_value_tensor(const bsm_value *value) {
  const bsm_ivalue *c = bsm_value_constant(value);
  return c && c->tag == BSM_IVALUE_TENSOR ? c->u.tensor : NULL;
}

bool bsm_value_ints(const bsm_value *value, int64_t *out, size_t *count) {
  if (bsm_value_int(value, out)) {
    *count = 1;
    return true;
  }
  const bsm_ivalue *c = bsm_value_constant(value);
  if (!c || c->tag != BSM_IVALUE_LIST || c->u.list->len > BSM_MAX_RANK) {
    return false;
  }
  for (size_t i = 0; i < c->u.list->len; i++) {
    if (c->u.list->items[i].tag != BSM_IVALUE_INT) {
      return false;
    }
    out[i] = c->u.list->items[i].u.i;
  }
  *count = c->u.list->len;
  return true;
}

bool bsm_value_dims(const bsm_value *value, bsm_dims *dims, bsm_dtype *dtype) {
  return bsm_value_rank(value, dims, dtype) &&
         (bsm_value_tensor(value) || bsm_type_has_sizes(value->type));
}

bool bsm_value_rank(const bsm_value *value, bsm_dims *dims, bsm_dtype *dtype) {
  const bsm_type *type = value->type;
  if (type && type->kind == BSM_TYPE_TENSOR && type->has_dims &&
      type->has_dtype) {
    *dims = type->dims;
    *dtype = type->dtype;
    return true;
  }
  const bsm_tensor *t = bsm_value_tensor(value);
  if (!t) return false;
  *dims = t->sizes;
  *dtype = t->dtype;
  return true;
}

bsm_node *bsm_value_list_node(const bsm_value *value) {
  bsm_node *node = value->node;
  return node && bsm_node_is(node, "prim::ListConstruct") ? node : NULL;
}

bool bsm_ir_wrap_dim(int64_t *dim, int32_t rank) {
  const int64_t r = rank > 0 ? rank : 1;
  if (*dim < -r || *dim >= r) {
    return false;
  }
  if (*dim < 0) {
    *dim += r;
  }
  return true;
}
