/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of unknown shape that share memory: views are read from their parents
 * again when those were written to, and writing to a view writes to its
 * parent. */
#include "lowering/specialize/memory/symbol_views.h"

#include "aten/ivalue_parts.h"
#include "lowering/specialize/memory/alias.h"
#include "lowering/specialize/memory/container_aliases.h"
#include "lowering/specialize/memory/locations.h"
#include "lowering/specialize/memory/tensor_values.h"
#include "lowering/specialize/memory/write_back.h"
#include "lowering/specialize/values/interpreter.h"
#include "lowering/specialize/values/literal_policy.h"
#include "lowering/specialize/values/world_set.h"

/* How a view is put back into its parent. */
typedef enum put_back {
  PUT_NOT = 0,  /* it is only read */
  PUT_RESHAPE,  /* the same elements in the same order */
  PUT_SELECT,   /* select_scatter */
  PUT_SLICE,    /* slice_scatter */
  PUT_TRANSPOSE /* the op once more */
} put_back;

static put_back how(const bsm_schema *schema) {
  static const struct {
    const char *name;
    put_back how;
  } rows[] = {
      {"aten::select.int", PUT_SELECT},
      {"aten::slice.Tensor", PUT_SLICE},
      {"aten::transpose.int", PUT_TRANSPOSE},
      {"aten::swapaxes", PUT_TRANSPOSE},
      {"aten::t", PUT_TRANSPOSE},
      {"aten::view", PUT_RESHAPE},
      {"aten::view_as", PUT_RESHAPE},
      {"aten::reshape", PUT_RESHAPE},
      {"aten::reshape_as", PUT_RESHAPE},
      {"aten::flatten.using_ints", PUT_RESHAPE},
      {"aten::unsqueeze", PUT_RESHAPE},
      {"aten::squeeze", PUT_RESHAPE},
      {"aten::squeeze.dim", PUT_RESHAPE},
      {"aten::alias", PUT_RESHAPE},
      {"aten::detach", PUT_RESHAPE},
      {"aten::contiguous", PUT_RESHAPE},
      {"aten::to.dtype", PUT_RESHAPE},
      {"aten::to.device", PUT_RESHAPE},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    if (strcmp(schema->qualified, rows[i].name) == 0) {
      return rows[i].how;
    }
  }
  return PUT_NOT;
}

/* Ops that give a view or a copy, depending on strides or dtypes: a write to
 * the result may or may not reach the argument. */
static bool may_copy(const bsm_schema *schema) {
  static const char *const names[] = {
      "aten::reshape",    "aten::reshape_as", "aten::flatten.using_ints",
      "aten::contiguous", "aten::to.dtype",   "aten::to.device"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    if (strcmp(schema->qualified, names[i]) == 0) {
      return true;
    }
  }
  return false;
}

/* Whether a symbol that an op made of `parent` is a view of it. */
typedef enum sharing { SHARE_UNKNOWN = 0, SHARE_NEVER, SHARE_ALWAYS } sharing;

static bool has_dtype(const bsm_type *type) {
  return type && type->kind == BSM_TYPE_TENSOR && type->has_dtype;
}

/* The worlds tell: tensors without data have strides and storages, too. */
static sharing shares(const bsm_spec *s, const bsm_ivalue *view,
                      const bsm_schema *schema, const bsm_ivalue *parent) {
  if (!may_copy(schema)) return SHARE_ALWAYS;
  size_t views = 0, copies = 0, unknown = 0;
  for (size_t w = 0; w < s->worlds.count; w++) {
    const bsm_tensor *t = bsm_world_tensor(view, w),
                     *of = bsm_world_tensor(parent, w);
    if (!(s->worlds.possible >> w & 1u)) continue;
    unknown += !t || !of;
    views += t && of && t->storage == of->storage;
    copies += t && of && t->storage != of->storage;
  }
  if (!unknown && views + copies) {
    return !copies ? SHARE_ALWAYS : !views ? SHARE_NEVER : SHARE_UNKNOWN;
  }
  const bsm_type *own = bsm_spec_symbol_of(view)->type;
  const bsm_type *other =
      bsm_spec_is_symbol(parent) ? bsm_spec_symbol_of(parent)->type : NULL;
  return has_dtype(own) && has_dtype(other) && own->dtype != other->dtype
             ? SHARE_NEVER
             : SHARE_UNKNOWN;
}

/* When the memory behind a value was last written to. */
static uint64_t version_of(bsm_spec *s, const bsm_ivalue *v) {
  if (v->tag == BSM_IVALUE_TENSOR) {
    const bsm_spec_tensor *record = bsm_spec_tensor_find(s, v->u.tensor);
    return record ? record->storage->version : 0;
  }
  const bsm_spec_symbol *symbol = bsm_spec_symbol_of(v);
  return symbol->schema ? version_of(s, &symbol->parent) : symbol->version;
}

/* Whether the symbol may be a copy, where the worlds do not tell. What an op
 * makes has its elements in order, so giving it another shape makes a view. */
static bool may_be_copied(const bsm_spec_symbol *symbol) {
  return strncmp(symbol->schema->name, "aten::to", 8) == 0 ||
         (bsm_spec_is_symbol(&symbol->parent) &&
          bsm_spec_symbol_of(&symbol->parent)->schema);
}

bsm_status bsm_spec_symbol_value(bsm_spec *s, const bsm_ivalue *v,
                                 bsm_value **out) {
  bsm_spec_symbol *symbol = bsm_spec_symbol_of(v);
  if (!symbol->value) {
    return BSM_FAIL(BSM_UNSUPPORTED, "a value that was never computed is used");
  }
  if (symbol->quantized) return bsm_spec_refuse_quantized();
  if (bsm_spec_tensors_have_identity(s)) {
    *out = symbol->value;
    return BSM_OK;
  }
  const bool written =
      symbol->schema && symbol->version != version_of(s, &symbol->parent);
  if (written && !symbol->is_view && may_be_copied(symbol)) {
    bsm_spec_needs_literal(s);
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "a tensor is read that %s made of one that was written to "
                    "in place since, and whether they share memory depends on "
                    "data: clone() it, or write before",
                    symbol->schema->qualified);
  }
  if (written || (symbol->schema && !bsm_spec_visible(s, symbol->value))) {
    const bsm_node_emitter e = bsm_spec_emitter(s);
    bsm_node *node = NULL;
    BSM_TRY(bsm_node_create_schema(s->residual.graph, symbol->schema, &node));
    for (size_t i = 0; i < symbol->arg_count; i++) {
      bsm_value *in = NULL;
      BSM_TRY(bsm_spec_residual(s, i ? &symbol->args[i] : &symbol->parent,
                                symbol->schema->args[i].type, &in));
      BSM_TRY(bsm_node_add_input(node, in));
    }
    bsm_ir_link(&e, node);
    symbol->value = bsm_node_out(node, 0);
    symbol->value->type = symbol->type;
    symbol->version = version_of(s, &symbol->parent);
  }
  *out = symbol->value;
  return BSM_OK;
}

/* Later reads of the view need the arguments as they are now. */
static bsm_status keep_args(bsm_spec *s, bsm_spec_symbol *symbol,
                            const bsm_ivalue *args, size_t n) {
  symbol->arg_count = n;
  symbol->args = BSM_NEW_ARRAY(s->scratch, bsm_ivalue, n);
  BSM_TRY_ALLOC(symbol->args);
  for (size_t i = 0; i < n; i++) {
    symbol->args[i] = args[i];
    if (i && args[i].tag == BSM_IVALUE_LIST) {
      const bsm_list *from = args[i].u.list;
      BSM_TRY(bsm_iv_list_of(s->cx->arena, from->elem_type, from->items,
                             from->len, &symbol->args[i]));
    }
  }
  return BSM_OK;
}

/* Whether the op can be called again with the same arguments. */
static bool is_repeatable(const bsm_spec *s, const bsm_schema *schema,
                          const bsm_ivalue *args, size_t n) {
  if ((args[0].tag != BSM_IVALUE_TENSOR && !bsm_spec_is_symbol(&args[0])) ||
      n != schema->arg_count) {
    return false;
  }
  for (size_t i = 1; i < n; i++) {
    if (bsm_spec_dynamic_find(s, &args[i])) return false;
  }
  return true;
}

bsm_status bsm_spec_symbol_view(bsm_spec *s, const bsm_ivalue *view,
                                const bsm_schema *schema,
                                const bsm_ivalue *args, size_t n) {
  bsm_spec_symbol *symbol = bsm_spec_symbol_of(view);
  const bool tensor = args[0].tag == BSM_IVALUE_TENSOR;
  const sharing how_much = shares(s, view, schema, &args[0]);
  if (how_much == SHARE_NEVER) {
    return BSM_OK;
  }
  if (!is_repeatable(s, schema, args, n)) {
    symbol->aliased = true;
    return bsm_spec_note_shared(s, &args[0]);
  }
  if (tensor) {
    BSM_TRY(bsm_spec_materialize(s, args[0].u.tensor));
  }
  symbol->aliased = !tensor && bsm_spec_symbol_of(&args[0])->aliased;
  symbol->parent = args[0];
  symbol->schema = schema;
  symbol->is_view = how_much == SHARE_ALWAYS;
  BSM_TRY(keep_args(s, symbol, args, n));
  symbol->version = version_of(s, &symbol->parent);
  return BSM_OK;
}

bsm_status bsm_spec_forget_data(bsm_spec *s, const bsm_ivalue *v) {
  bsm_spec_symbol *symbol = bsm_spec_symbol_of(v);
  if (!symbol->worlds || version_of(s, v) <= symbol->created) {
    return BSM_OK;
  }
  for (size_t w = 0; w < s->worlds.count; w++) {
    BSM_TRY(bsm_spec_drop_data(s, &symbol->worlds[w]));
  }
  return BSM_OK;
}

/* The parent's new value when its view is `value`. */
static bsm_status put(bsm_spec *s, const bsm_spec_symbol *view,
                      bsm_value *parent, bsm_value *value, bsm_value **out) {
  const bsm_node_emitter e = bsm_spec_emitter(s);
  const bsm_schema *schema = view->schema;
  const put_back kind = how(schema);
  bsm_value *in[8] = {parent, value};
  size_t n = 2;
  if (kind == PUT_RESHAPE) {
    in[0] = value;
    in[1] = parent;
    return bsm_ir_op(&e, "aten::reshape_as", in, 2, out);
  }
  if (kind == PUT_TRANSPOSE) {
    in[0] = value;
    n = 1;
  }
  for (size_t i = 1; i < view->arg_count && n < 8; i++) {
    BSM_TRY(
        bsm_spec_residual(s, &view->args[i], schema->args[i].type, &in[n++]));
  }
  return bsm_ir_op(&e,
                   kind == PUT_SELECT  ? "aten::select_scatter"
                   : kind == PUT_SLICE ? "aten::slice_scatter"
                                       : schema->qualified,
                   in, n, out);
}

bsm_status bsm_spec_symbol_write(bsm_spec *s, const bsm_ivalue *v,
                                 bsm_value *value) {
  bsm_spec_symbol *symbol = bsm_spec_symbol_of(v);
  if (symbol->aliased ||
      (symbol->schema && (!symbol->is_view || !how(symbol->schema)))) {
    bsm_spec_needs_literal(s);
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "a tensor whose shape is not known (from %s) is written to "
                    "in place, and other tensors may share its memory",
                    bsm_spec_symbol_origin(s, v));
  }
  if (!value->type->has_dtype && symbol->type) {
    value->type = symbol->type; /* writing in place keeps dtype and dims */
  }
  if (!symbol->schema) {
    const bsm_spec_location location = {BSM_LOCATION_SYMBOL,
                                        {.symbol = symbol}};
    BSM_TRY(bsm_spec_log(s, location));
    bsm_spec_location_set(s, location, value);
    return BSM_OK;
  }
  bsm_value *before = NULL, *after = NULL;
  BSM_TRY(bsm_spec_residual(s, &symbol->parent, NULL, &before));
  BSM_TRY(put(s, symbol, before, value, &after));
  if (symbol->parent.tag == BSM_IVALUE_TENSOR) {
    BSM_TRY(bsm_spec_write(s, symbol->parent.u.tensor, after));
  } else {
    BSM_TRY(bsm_spec_symbol_write(s, &symbol->parent, after));
  }
  symbol->value = value;
  symbol->version = version_of(s, &symbol->parent);
  return BSM_OK;
}
