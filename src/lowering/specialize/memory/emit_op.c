/* SPDX-License-Identifier: Apache-2.0 */
/* Ops written down as nodes of the residual graph: arguments become residual
 * values, and results get the outputs of the node. */
#include "lowering/specialize/memory/emit_op.h"

#include "lowering/specialize/memory/alias.h"
#include "lowering/specialize/memory/residual_containers.h"
#include "lowering/specialize/values/interpreter.h"
#include "lowering/specialize/values/literal_policy.h"

static const char *output_name(const bsm_spec *s, size_t i, size_t n) {
  const bsm_node *node = s->at.node;
  if (!node || node->outputs.len != n || i >= n) {
    return NULL;
  }
  return bsm_node_out(node, i)->debug_name;
}

/* The outputs of a Tensor[] node, unpacked. */
static bsm_status bind_list(bsm_spec *s, bsm_value *value, bsm_list *list) {
  const bsm_node_emitter e = bsm_spec_emitter(s);
  bsm_node *unpack = NULL;
  BSM_TRY(bsm_node_create(s->residual.graph, "prim::ListUnpack", &unpack));
  BSM_TRY(bsm_node_add_input(unpack, value));
  for (size_t i = 0; i < list->len; i++) {
    if (list->items[i].tag != BSM_IVALUE_TENSOR) {
      return BSM_FAIL(BSM_INTERNAL, "a list of results holds a %s",
                      bsm_iv_tag_name(list->items[i].tag));
    }
    bsm_tensor *t = list->items[i].u.tensor;
    const bsm_type *type = bsm_spec_tensor_type(s, t);
    BSM_TRY_ALLOC(type);
    bsm_value *item = NULL;
    BSM_TRY(bsm_node_add_output(unpack, type, &item));
    BSM_TRY(bsm_spec_bind_base(s, t, item));
  }
  bsm_ir_link(&e, unpack);
  return BSM_OK;
}

/* The type of output `i` where nothing better is known. */
static const bsm_type *declared_type(const bsm_spec *s,
                                     const bsm_schema *schema, size_t i) {
  const bsm_type *type =
      i < schema->return_count ? schema->returns[i].type : NULL;
  if (s->at.node && s->at.node->schema == schema &&
      i < s->at.node->outputs.len) {
    const bsm_type *of_node = bsm_node_out(s->at.node, i)->type;
    if (of_node && (!type || type->kind != BSM_TYPE_TENSOR)) {
      return of_node;
    }
  }
  return type;
}

static bsm_status bind_output(bsm_spec *s, const bsm_schema *schema, size_t i,
                              size_t n, bsm_value *value, bsm_ivalue *out) {
  const char *name = output_name(s, i, n);
  if (name) {
    BSM_TRY(bsm_value_set_name(s->residual.graph, value, name));
  }
  if (out->tag == BSM_IVALUE_TENSOR) {
    value->type = bsm_spec_tensor_type(s, out->u.tensor);
    BSM_TRY_ALLOC(value->type);
    return bsm_spec_bind_base(s, out->u.tensor, value);
  }
  if (out->tag == BSM_IVALUE_LIST) {
    return bind_list(s, value, out->u.list);
  }
  value->type = declared_type(s, schema, i);
  if (!value->type) {
    value->type = bsm_type_simple(s->cx->types, BSM_TYPE_ANY);
  }
  return bsm_spec_new_symbol(s, value, value->type, out);
}

bsm_status bsm_spec_emit(bsm_spec *s, const bsm_schema *schema,
                         const bsm_ivalue *args, size_t n, bsm_ivalue *outs,
                         size_t n_outs) {
  const bsm_node_emitter e = bsm_spec_emitter(s);
  bsm_value **inputs = BSM_NEW_ARRAY(s->stack, bsm_value *, n + 1);
  BSM_TRY_ALLOC(inputs);
  for (size_t i = 0; i < n; i++) {
    const bsm_type *type = i < schema->arg_count ? schema->args[i].type : NULL;
    BSM_TRY(bsm_spec_argument(s, &args[i], type, &inputs[i]));
  }
  bsm_node *node = NULL;
  BSM_TRY(bsm_node_create_schema(s->residual.graph, schema, &node));
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(bsm_node_add_input(node, inputs[i]));
  }
  if (node->outputs.len != n_outs) {
    return BSM_FAIL(BSM_UNSUPPORTED, "%s has %zu results here, %zu expected",
                    schema->qualified, node->outputs.len, n_outs);
  }
  bsm_ir_link(&e, node);
  for (size_t i = 0; i < n_outs; i++) {
    BSM_TRY(bind_output(s, schema, i, n_outs, bsm_node_out(node, i), &outs[i]));
  }
  return BSM_OK;
}

static bool is_open(const bsm_type *type) {
  return !type || type->kind == BSM_TYPE_VAR || type->kind == BSM_TYPE_ANY ||
         type->kind == BSM_TYPE_UNION;
}

/* An op may keep what its schema leaves open; a list of tensors it reads. */
bsm_status bsm_spec_argument(bsm_spec *s, const bsm_ivalue *value,
                             const bsm_type *type, bsm_value **out) {
  const bsm_type *formal = type;
  while (formal && formal->kind == BSM_TYPE_OPTIONAL) {
    formal = formal->args[0];
  }
  return bsm_spec_containers_have_identity(s) && bsm_spec_is_container(value) &&
                 !is_open(formal) && !bsm_spec_dynamic_find(s, value)
             ? bsm_spec_residual_items(s, value, type, out)
             : bsm_spec_residual(s, value, type, out);
}
