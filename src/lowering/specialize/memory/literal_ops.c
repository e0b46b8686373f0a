/* SPDX-License-Identifier: Apache-2.0 */
/* Memory as the program shares it.
 *
 * Where tensors have identity (values/literal_policy.h), every op that makes
 * one is written down, views too, and every write is one at that place of the
 * residual graph.
 *
 *   tensors     a meta tensor has one residual value for ever; tensors of the
 *               module have no data, as the run may change them
 *   writes      aten::copy_ of what the op would give (its functional form),
 *               aten::fill_ or aten::zero_
 *   containers  known here until something keeps them that only the run knows;
 *               from then on dynamic (dynamic_containers.c): the value is the
 *               one list or dict of the run, a prim::CopyContainer, and is
 *               written to
 *
 * A write that changes the dims of a tensor is followed where nothing else can
 * have the tensor. */
#include "lowering/specialize/memory/literal_ops.h"

#include "lowering/specialize/memory/alias.h"
#include "lowering/specialize/memory/allocation.h"
#include "lowering/specialize/memory/emit_op.h"
#include "lowering/specialize/memory/mutate.h"
#include "lowering/specialize/memory/tensor_values.h"
#include "lowering/specialize/values/schema_query.h"

/* ---- ops that make tensors ---- */

/* Whether the schema says that tensors come out. Where it leaves that open, the
 * op passes on what it was given. */
static bool makes_tensors(const bsm_type *type) {
  while (type->kind == BSM_TYPE_OPTIONAL || type->kind == BSM_TYPE_LIST) {
    type = type->args[0];
  }
  return type->kind == BSM_TYPE_TENSOR;
}

/* A tensor that stands for a new result: no other value has it. */
static bsm_status fresh_tensor(bsm_spec *s, bsm_ivalue *v) {
  bsm_tensor *own = BSM_NEW(s->cx->arena, bsm_tensor);
  BSM_TRY_ALLOC(own);
  *own = *v->u.tensor;
  if (!own->storage->meta) {
    bsm_storage *storage = BSM_NEW(s->cx->arena, bsm_storage);
    BSM_TRY_ALLOC(storage);
    *storage = (bsm_storage){.size = own->storage->size, .meta = true};
    own->storage = storage;
  }
  *v = bsm_iv_tensor(own);
  return BSM_OK;
}

static bsm_status fresh_result(bsm_spec *s, bsm_ivalue *v) {
  if (v->tag == BSM_IVALUE_TENSOR) {
    return fresh_tensor(s, v);
  }
  if (v->tag == BSM_IVALUE_LIST) {
    const bsm_list *from = v->u.list;
    bsm_list *list = NULL;
    BSM_TRY(bsm_list_new(s->cx->arena, from->elem_type, from->len, &list));
    for (size_t i = 0; i < from->len; i++) {
      list->items[i] = from->items[i];
      if (from->items[i].tag == BSM_IVALUE_TENSOR) {
        BSM_TRY(fresh_tensor(s, &list->items[i]));
      }
    }
    *v = bsm_iv_list(list);
    return bsm_spec_note_allocation(s, v);
  }
  return BSM_OK;
}

/* Whether the strides of a tensor inside are not known. */
static bool has_unknown_strides(const bsm_spec *s, const bsm_ivalue *v) {
  if (v->tag == BSM_IVALUE_TENSOR) {
    const bsm_spec_tensor *record = bsm_spec_tensor_find(s, v->u.tensor);
    return record && record->strides_unknown;
  }
  if (bsm_spec_is_symbol(v)) {
    const bsm_type *type = bsm_spec_symbol_of(v)->type;
    return !type ||
           (type->kind != BSM_TYPE_INT && type->kind != BSM_TYPE_FLOAT &&
            type->kind != BSM_TYPE_BOOL);
  }
  for (size_t i = 0; v->tag == BSM_IVALUE_LIST && i < v->u.list->len; i++) {
    const bsm_ivalue *item = &v->u.list->items[i];
    if (item->tag == BSM_IVALUE_TENSOR && has_unknown_strides(s, item)) {
      return true;
    }
  }
  return bsm_spec_dynamic_find(s, v) != NULL;
}

bsm_status bsm_spec_literal_strides(bsm_spec *s, bsm_tensor *t,
                                    const bsm_ivalue *args, size_t n) {
  bsm_spec_tensor *record = NULL;
  BSM_TRY(bsm_spec_tensor_of(s, t, &record));
  for (size_t i = 0; i < n; i++) {
    record->strides_unknown =
        record->strides_unknown || has_unknown_strides(s, &args[i]);
  }
  bsm_node *node = record->value->node;
  if (bsm_node_is(node, "prim::ListUnpack")) {
    node = bsm_node_in(node, 0)->node;
  }
  record->strides_unknown = record->strides_unknown && t->sizes.rank > 0;
  return record->strides_unknown || !bsm_tensor_is_contiguous(t)
             ? bsm_node_set_attr(node, "strided", bsm_iv_bool(true))
             : BSM_OK;
}

static bsm_status note_strides(bsm_spec *s, const bsm_ivalue *v,
                               const bsm_ivalue *args, size_t n) {
  if (v->tag == BSM_IVALUE_TENSOR) {
    return bsm_spec_literal_strides(s, v->u.tensor, args, n);
  }
  for (size_t i = 0; v->tag == BSM_IVALUE_LIST && i < v->u.list->len; i++) {
    if (v->u.list->items[i].tag == BSM_IVALUE_TENSOR) {
      BSM_TRY(
          bsm_spec_literal_strides(s, v->u.list->items[i].u.tensor, args, n));
    }
  }
  return BSM_OK;
}

bsm_status bsm_spec_literal_emit(bsm_spec *s, const bsm_schema *schema,
                                 const bsm_ivalue *args, size_t n,
                                 bsm_ivalue *outs, size_t n_outs) {
  bool tensors = false;
  bsm_ivalue *written = BSM_NEW_ARRAY(s->stack, bsm_ivalue, n_outs + 1);
  BSM_TRY_ALLOC(written);
  for (size_t i = 0; i < n_outs; i++) {
    const bool made =
        i < schema->return_count && makes_tensors(schema->returns[i].type) &&
        (outs[i].tag == BSM_IVALUE_TENSOR || outs[i].tag == BSM_IVALUE_LIST);
    if (bsm_spec_is_new_container(schema, i, args, n, &outs[i])) {
      BSM_TRY(bsm_spec_note_allocation(s, &outs[i]));
    }
    tensors = tensors || made;
    written[i] = made ? outs[i] : bsm_iv_none();
    if (made) {
      BSM_TRY(fresh_result(s, &written[i]));
      outs[i] = written[i];
    }
  }
  if (!tensors) {
    return BSM_OK;
  }
  BSM_TRY(bsm_spec_emit(s, schema, args, n, written, n_outs));
  for (size_t i = 0; i < n_outs; i++) {
    BSM_TRY(note_strides(s, &outs[i], args, n));
  }
  return BSM_OK;
}

/* ---- writes to tensors ---- */

/* A node of the schema at this place, its results unread. */
static bsm_status emit_write(bsm_spec *s, const char *qualified,
                             const bsm_ivalue *args, size_t n) {
  const bsm_node_emitter e = bsm_spec_emitter(s);
  const bsm_schema *schema = NULL;
  bsm_value *in[4] = {NULL, NULL, NULL, NULL};
  bsm_node *node = NULL;
  BSM_TRY(
      bsm_schema_table_find(s->cx->schemas, bsm_str_of(qualified), &schema));
  if (!schema || schema->arg_count != n || n > 4) {
    return BSM_FAIL(BSM_INTERNAL, "lowering: no schema %s of %zu arguments",
                    qualified, n);
  }
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(bsm_spec_argument(s, &args[i], schema->args[i].type, &in[i]));
  }
  BSM_TRY(bsm_node_create_schema(s->residual.graph, schema, &node));
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(bsm_node_add_input(node, in[i]));
  }
  for (size_t i = 0; i < node->outputs.len; i++) {
    bsm_node_out(node, i)->type = in[0]->type;
  }
  bsm_ir_link(&e, node);
  return BSM_OK;
}

static bool is_op(const bsm_schema *schema, const char *qualified) {
  return strcmp(schema->qualified, qualified) == 0;
}

/* t_(), unsqueeze_(): from now on the tensor is a view of what it was. */
static bsm_status change_dims(bsm_spec *s, const bsm_schema *schema,
                              const bsm_ivalue *args, size_t which) {
  bsm_spec_tensor *record = NULL, *of_view = NULL;
  bsm_ivalue view = {0};
  if (strcmp(schema->name, "aten::detach_") == 0 ||
      strcmp(schema->name, "aten::requires_grad_") == 0) {
    return BSM_OK;
  }
  const bool tensor = args[which].tag == BSM_IVALUE_TENSOR;
  bsm_spec_symbol *symbol = tensor ? NULL : bsm_spec_symbol_of(&args[which]);
  if (tensor) {
    BSM_TRY(bsm_spec_tensor_of(s, args[which].u.tensor, &record));
  }
  if (tensor ? bsm_spec_has_old_memory(s, record) || record->storage->may_alias
             : s->residual.block_depth > 0 || symbol->aliased) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "%s changes the shape of a tensor in a block that depends "
                    "on data, or of one that other values may be",
                    schema->qualified);
  }
  BSM_TRY(bsm_spec_functional(s, schema, args, &view));
  if (symbol && bsm_spec_is_symbol(&view)) {
    *symbol = *bsm_spec_symbol_of(&view);
    return BSM_OK;
  }
  if (view.tag != BSM_IVALUE_TENSOR || !tensor) {
    return BSM_FAIL(BSM_UNSUPPORTED, "%s of such a tensor", schema->qualified);
  }
  BSM_TRY(bsm_spec_tensor_of(s, view.u.tensor, &of_view));
  BSM_TRY(bsm_spec_tensor_value(s, view.u.tensor, &record->value));
  *args[which].u.tensor = *view.u.tensor;
  return BSM_OK;
}

bsm_status bsm_spec_literal_write(bsm_spec *s, const bsm_schema *schema,
                                  const bsm_ivalue *args, size_t n,
                                  size_t which, bsm_ivalue *outs,
                                  size_t n_outs) {
  const bsm_ivalue self = args[which];
  const bsm_tensor *t = self.tag == BSM_IVALUE_TENSOR ? self.u.tensor : NULL;
  if (n_outs > 1 || (!t && !bsm_spec_is_symbol(&self))) {
    return BSM_FAIL(BSM_UNSUPPORTED, "%s writes to several tensors",
                    schema->qualified);
  }
  if (n_outs == 1) {
    outs[0] = self;
  }
  if (bsm_spec_is_geometric(schema)) {
    return change_dims(s, schema, args, which);
  }
  if (bsm_spec_writes_nothing(schema, args)) {
    return BSM_OK;
  }
  if (t && !bsm_spec_is_fill(schema) && bsm_spec_overlaps_itself(t)) {
    return BSM_FAIL(BSM_RAISED,
                    "unsupported operation: more than one element of the "
                    "written-to tensor refers to a single memory location. "
                    "Please clone() the tensor before performing the "
                    "operation.");
  }
  if (n <= 3 && (is_op(schema, "aten::copy_") || bsm_spec_is_fill(schema))) {
    return emit_write(s, schema->qualified, args, n);
  }
  bsm_ivalue copy[3] = {self, bsm_iv_none(), bsm_iv_bool(false)};
  BSM_TRY(bsm_spec_functional(s, schema, args, &copy[1]));
  if (t && copy[1].tag == BSM_IVALUE_TENSOR) {
    BSM_TRY(bsm_spec_check_content(t, copy[1].u.tensor));
  }
  if (copy[1].tag != BSM_IVALUE_TENSOR && !bsm_spec_is_symbol(&copy[1])) {
    return BSM_FAIL(BSM_UNSUPPORTED, "%s of such a tensor", schema->qualified);
  }
  return emit_write(s, "aten::copy_", copy, 3);
}
