/* SPDX-License-Identifier: Apache-2.0 */
/* The other prim:: nodes: constants, casts, type tests, exceptions, text. */
#include "lowering/specialize/methods/node_handlers.h"

#include "lowering/specialize/memory/alias.h"
#include "lowering/specialize/memory/allocation.h"
#include "lowering/specialize/memory/container_aliases.h"
#include "lowering/specialize/memory/dynamic_containers.h"
#include "lowering/specialize/memory/shadow.h"
#include "lowering/specialize/memory/symbol_views.h"
#include "lowering/specialize/values/interpreter.h"
#include "lowering/specialize/values/literal_policy.h"

static bsm_status constant(bsm_spec *s, const bsm_node *node) {
  const bsm_ivalue *value = bsm_node_attr_get(node, "value");
  bsm_ivalue own = bsm_iv_none();
  if (value) {
    BSM_TRY(
        bsm_spec_shadow(s, *value, bsm_node_out(node, 0)->debug_name, &own));
  }
  return bsm_spec_set(s, bsm_node_out(node, 0), own);
}

static bsm_status pass_through(bsm_spec *s, const bsm_node *node) {
  bsm_ivalue value;
  BSM_TRY(bsm_spec_get(s, bsm_node_in(node, 0), &value));
  return bsm_spec_set(s, bsm_node_out(node, 0), value);
}

/* An optional value that is not None: a tensor gets back what is known of its
 * shape, a list or dict is a dynamic container. */
static bsm_status unwrap(bsm_spec *s, const bsm_node *node) {
  bsm_ivalue value;
  BSM_TRY(bsm_spec_get(s, bsm_node_in(node, 0), &value));
  const bsm_spec_symbol *symbol =
      bsm_spec_is_symbol(&value) ? bsm_spec_symbol_of(&value) : NULL;
  const bsm_type *type = symbol ? symbol->type : NULL;
  if (!type || !symbol->value || type->kind != BSM_TYPE_OPTIONAL) {
    return bsm_spec_set(s, bsm_node_out(node, 0), value);
  }
  type = type->args[0];
  const bsm_node_emitter e = bsm_spec_emitter(s);
  bsm_node *copy = NULL;
  bsm_value *inside = NULL;
  BSM_TRY(bsm_node_create(s->residual.graph, "prim::unchecked_unwrap_optional",
                          &copy));
  BSM_TRY(bsm_spec_symbol_value(s, &value, &inside));
  BSM_TRY(bsm_node_add_input(copy, inside));
  BSM_TRY(bsm_node_add_output(copy, type, &inside));
  bsm_ir_link(&e, copy);
  if (bsm_type_has_sizes(type)) {
    bsm_tensor *t = NULL;
    BSM_TRY(bsm_tensor_new(s->cx->arena, type->dtype, type->dims, true, &t));
    BSM_TRY(bsm_spec_bind_aliased(s, t, inside));
    value = bsm_iv_tensor(t);
  } else if (type->kind == BSM_TYPE_LIST || type->kind == BSM_TYPE_DICT) {
    BSM_TRY(bsm_spec_dynamic_new(s, type, inside, &value));
    if (bsm_spec_tracks_sharing(s))
      BSM_TRY(bsm_spec_share_container(s, &value));
  } else {
    BSM_TRY(bsm_spec_new_symbol(s, inside, type, &value));
    bsm_spec_symbol_of(&value)->aliased = true;
  }
  return bsm_spec_set(s, bsm_node_out(node, 0), value);
}

/* Never read on a path that runs: a symbol without a value. */
static bsm_status uninitialized(bsm_spec *s, const bsm_node *node) {
  bsm_ivalue symbol;
  BSM_TRY(bsm_spec_new_symbol(s, NULL, bsm_node_out(node, 0)->type, &symbol));
  return bsm_spec_set(s, bsm_node_out(node, 0), symbol);
}

/* ---- isinstance ---- */

static bool value_is(const bsm_spec *s, const bsm_ivalue *value,
                     const bsm_type *type);

static bool all_are(const bsm_spec *s, const bsm_ivalue *items, size_t n,
                    const bsm_type *type) {
  for (size_t i = 0; i < n; i++) {
    if (!value_is(s, &items[i], type)) {
      return false;
    }
  }
  return true;
}

/* isinstance(x, list) of an x that may be anything. */
static bool is_family(const bsm_type *type, const char *name) {
  return type->kind == BSM_TYPE_CLASS && strcmp(type->name, name) == 0;
}

static bool tuple_is(const bsm_spec *s, const bsm_tuple *tuple,
                     const bsm_type *type) {
  if (is_family(type, "AnyTupleType")) return true;
  if (type->kind != BSM_TYPE_TUPLE ||
      (type->name && (!tuple->type || tuple->type != type)) ||
      type->arg_count != tuple->len) {
    return false;
  }
  for (size_t i = 0; i < tuple->len; i++) {
    if (!value_is(s, &tuple->items[i], type->args[i])) {
      return false;
    }
  }
  return true;
}

/* Lists and dicts are invariant: the declared element type decides. */
static bool list_is(const bsm_spec *s, const bsm_list *list,
                    const bsm_type *type) {
  if (is_family(type, "AnyListType")) return true;
  if (type->kind != BSM_TYPE_LIST) {
    return false;
  }
  return list->elem_type ? list->elem_type == type->args[0] ||
                               type->args[0]->kind == BSM_TYPE_ANY
                         : all_are(s, list->items, list->len, type->args[0]);
}

static bool dict_is(const bsm_spec *s, const bsm_dict *dict,
                    const bsm_type *type) {
  if (type->kind != BSM_TYPE_DICT) {
    return false;
  }
  if (dict->key_type && dict->value_type) {
    return dict->key_type == type->args[0] && dict->value_type == type->args[1];
  }
  return all_are(s, dict->keys, dict->len, type->args[0]) &&
         all_are(s, dict->values, dict->len, type->args[1]);
}

static bool value_is(const bsm_spec *s, const bsm_ivalue *value,
                     const bsm_type *type) {
  switch (type->kind) {
    case BSM_TYPE_ANY:
      return true;
    case BSM_TYPE_OPTIONAL:
      return value->tag == BSM_IVALUE_NONE || value_is(s, value, type->args[0]);
    case BSM_TYPE_UNION:
      for (size_t i = 0; i < type->arg_count; i++) {
        if (value_is(s, value, type->args[i])) {
          return true;
        }
      }
      return false;
    case BSM_TYPE_NUMBER:
      return value->tag == BSM_IVALUE_INT || value->tag == BSM_IVALUE_DOUBLE ||
             value->tag == BSM_IVALUE_COMPLEX;
    default:
      break;
  }
  switch (value->tag) {
    case BSM_IVALUE_NONE:
      return type->kind == BSM_TYPE_NONE;
    case BSM_IVALUE_INT:
      return type->kind == BSM_TYPE_INT;
    case BSM_IVALUE_DOUBLE:
      return type->kind == BSM_TYPE_FLOAT;
    case BSM_IVALUE_BOOL:
      return type->kind == BSM_TYPE_BOOL;
    case BSM_IVALUE_COMPLEX:
      return type->kind == BSM_TYPE_COMPLEX;
    case BSM_IVALUE_STRING:
      return type->kind == BSM_TYPE_STRING;
    case BSM_IVALUE_DEVICE:
      return type->kind == BSM_TYPE_DEVICE;
    case BSM_IVALUE_TENSOR:
      return type->kind == BSM_TYPE_TENSOR;
    case BSM_IVALUE_FUNCTION:
      return type->kind == BSM_TYPE_FUNCTION;
    case BSM_IVALUE_LIST:
      return list_is(s, value->u.list, type);
    case BSM_IVALUE_DICT:
      return dict_is(s, value->u.dict, type);
    case BSM_IVALUE_TUPLE:
      return tuple_is(s, value->u.tuple, type);
    case BSM_IVALUE_OBJECT:
    case BSM_IVALUE_ENUM:
      return value->u.object->type &&
             bsm_type_is_subtype(value->u.object->type, type);
    case BSM_IVALUE_CONTAINER:
      return bsm_spec_symbol_of(value)->type &&
             bsm_type_is_subtype(bsm_spec_symbol_of(value)->type, type);
  }
  return false;
}

/* Whether a value can be a `type` when only its type `own` is known. */
static bool can_be(const bsm_type *own, const bsm_type *type) {
  switch (own ? own->kind : BSM_TYPE_ANY) {
    case BSM_TYPE_ANY:
    case BSM_TYPE_UNION:
      return true;
    case BSM_TYPE_OPTIONAL:
      return type->kind == BSM_TYPE_NONE || can_be(own->args[0], type);
    default:
      return bsm_type_is_subtype(own, type);
  }
}

/* The attribute "types" is a tuple whose type lists the alternatives. */
static bsm_status isinstance(bsm_spec *s, const bsm_node *node) {
  bsm_ivalue value;
  BSM_TRY(bsm_spec_get(s, bsm_node_in(node, 0), &value));
  const bsm_ivalue *types = bsm_node_attr_get(node, "types");
  if (!types || types->tag != BSM_IVALUE_TUPLE || !types->u.tuple->type) {
    return BSM_FAIL(BSM_UNSUPPORTED, "prim::isinstance without its types");
  }
  const bsm_type *list = types->u.tuple->type;
  bool is = false;
  for (size_t i = 0; i < list->arg_count && !is; i++) {
    is = value_is(s, &value, list->args[i]);
    if (!is && bsm_spec_is_symbol(&value) &&
        can_be(bsm_spec_symbol_of(&value)->type, list->args[i])) {
      return BSM_FAIL(BSM_UNSUPPORTED,
                      "isinstance of a value whose type depends on data");
    }
  }
  return bsm_spec_set(s, bsm_node_out(node, 0), bsm_iv_bool(is));
}

/* ---- exceptions and text ---- */

static void print_value(bsm_text *text, const bsm_ivalue *value) {
  if (value->tag == BSM_IVALUE_STRING) {
    bsm_text_append(text, *value->u.s);
  } else if (bsm_spec_is_symbol(value)) {
    bsm_text_puts(text, "<depends on data>");
  } else if (value->tag == BSM_IVALUE_TENSOR &&
             bsm_tensor_is_meta(value->u.tensor)) {
    bsm_text_printf(text, "<tensor %s>", bsm_dims_str(value->u.tensor->sizes));
  } else {
    bsm_iv_print(text, value);
  }
}

static bsm_status inputs_text(bsm_spec *s, const bsm_node *node, size_t count,
                              bsm_text *text) {
  bsm_text_init(text, s->stack);
  for (size_t i = 0; i < node->inputs.len && i < count; i++) {
    bsm_ivalue value;
    BSM_TRY(bsm_spec_get(s, bsm_node_in(node, i), &value));
    if (i) {
      bsm_text_puts(text, " ");
    }
    print_value(text, &value);
  }
  return text->failed ? BSM_FAIL_OOM() : BSM_OK;
}

static bsm_status raise_exception(bsm_spec *s, const bsm_node *node) {
  bsm_text text;
  bsm_ivalue cls = bsm_iv_none();
  BSM_TRY(inputs_text(s, node, 1, &text));
  if (node->inputs.len > 1) {
    BSM_TRY(bsm_spec_get(s, bsm_node_in(node, 1), &cls));
  }
  return BSM_FAIL(BSM_RAISED, "the model raises %s: %s",
                  cls.tag == BSM_IVALUE_STRING ? cls.u.s->data : "an exception",
                  text.data);
}

static bsm_status print(bsm_spec *s, const bsm_node *node) {
  bsm_text text;
  BSM_TRY(inputs_text(s, node, node->inputs.len, &text));
  bsm_log(s->logger, BSM_LOG_LEVEL_DEBUG,
          "the model prints while it is compiled (at %s): %s",
          bsm_spec_where(s), text.data);
  for (size_t i = 0; i < node->outputs.len; i++) {
    BSM_TRY(bsm_spec_set(s, bsm_node_out(node, i), bsm_iv_none()));
  }
  return BSM_OK;
}

static bsm_status warn(bsm_spec *s, const bsm_node *node) {
  bsm_text text;
  BSM_TRY(inputs_text(s, node, 1, &text));
  bsm_log(s->logger, BSM_LOG_LEVEL_DEBUG, "the model warns (at %s): %s",
          bsm_spec_where(s), text.data);
  for (size_t i = 0; i < node->outputs.len; i++) {
    BSM_TRY(bsm_spec_set(s, bsm_node_out(node, i), bsm_iv_none()));
  }
  return BSM_OK;
}

/* str.format with {} alone, as TorchScript has it. */
static bsm_status format(bsm_spec *s, const bsm_node *node) {
  bsm_ivalue pattern, result;
  BSM_TRY(bsm_spec_get(s, bsm_node_in(node, 0), &pattern));
  if (pattern.tag != BSM_IVALUE_STRING) {
    return BSM_FAIL(BSM_UNSUPPORTED, "format of a %s",
                    bsm_iv_tag_name(pattern.tag));
  }
  bsm_text text;
  bsm_text_init(&text, s->stack);
  const bsm_str p = *pattern.u.s;
  size_t used = 1;
  for (size_t i = 0; i < p.len; i++) {
    if (p.data[i] == '{' && i + 1 < p.len && p.data[i + 1] == '}') {
      bsm_ivalue value;
      if (used >= node->inputs.len) {
        return BSM_FAIL(BSM_RAISED, "Too few arguments for format string: %.*s",
                        (int)p.len, p.data);
      }
      BSM_TRY(bsm_spec_get(s, bsm_node_in(node, used++), &value));
      print_value(&text, &value);
      i++;
    } else {
      bsm_text_append(&text, (bsm_str){p.data + i, 1});
    }
  }
  if (text.failed) {
    return BSM_FAIL_OOM();
  }
  BSM_TRY(bsm_iv_string(s->cx->arena, (bsm_str){text.data, text.len}, &result));
  return bsm_spec_set(s, bsm_node_out(node, 0), result);
}

/* ---- others ---- */

static bsm_status tensor_to_list(bsm_spec *s, const bsm_tensor *t, int32_t dim,
                                 int64_t at, const bsm_type *type,
                                 bsm_ivalue *out) {
  if (dim == t->sizes.rank) {
    const bsm_type_kind kind = type->kind;
    *out = kind == BSM_TYPE_INT ? bsm_iv_int(bsm_tensor_get_int(t, at))
           : kind == BSM_TYPE_BOOL
               ? bsm_iv_bool(bsm_tensor_get_int(t, at) != 0)
               : bsm_iv_double(bsm_tensor_get_double(t, at));
    return BSM_OK;
  }
  if (type->kind != BSM_TYPE_LIST) {
    return BSM_FAIL(BSM_RAISED,
                    "Output annotation list dimension and runtime tensor "
                    "dimension must match for tolist()");
  }
  const size_t len = (size_t)t->sizes.d[dim];
  int64_t inner = 1;
  for (int32_t d = dim + 1; d < t->sizes.rank; d++) {
    inner *= t->sizes.d[d];
  }
  bsm_list *list = NULL;
  BSM_TRY(bsm_list_new(s->cx->arena, type->args[0], len, &list));
  for (size_t i = 0; i < len; i++) {
    BSM_TRY(tensor_to_list(s, t, dim + 1, at + (int64_t)i * inner,
                           type->args[0], &list->items[i]));
  }
  *out = bsm_iv_list(list);
  return BSM_OK;
}

/* tolist() of a tensor that only the run will tell. When its length is known,
 * so is the length of the list. */
static bsm_status tolist_when_run(bsm_spec *s, const bsm_node *node,
                                  const bsm_ivalue *tensor) {
  const bsm_node_emitter e = bsm_spec_emitter(s);
  const bsm_type *type = bsm_node_out(node, 0)->type;
  bsm_node *call = NULL;
  bsm_value *in = NULL, *out = NULL;
  bsm_ivalue result;
  BSM_TRY(bsm_node_create(s->residual.graph, "prim::tolist", &call));
  for (size_t i = 0; i < node->inputs.len; i++) {
    bsm_ivalue given = *tensor;
    if (i > 0) {
      BSM_TRY(bsm_spec_get(s, bsm_node_in(node, i), &given));
    }
    BSM_TRY(bsm_spec_residual(s, &given, NULL, &in));
    BSM_TRY(bsm_node_add_input(call, in));
  }
  BSM_TRY(bsm_node_add_output(call, type, &out));
  bsm_ir_link(&e, call);
  if (type->kind != BSM_TYPE_LIST) {
    BSM_TRY(bsm_spec_new_symbol(s, out, type, &result));
  } else if (tensor->tag == BSM_IVALUE_TENSOR &&
             tensor->u.tensor->sizes.rank == 1) {
    const size_t len = (size_t)tensor->u.tensor->sizes.d[0];
    BSM_TRY(bsm_spec_unpack(s, out, type->args[0], len, false, &result));
  } else {
    BSM_TRY(bsm_spec_dynamic_new(s, type, out, &result));
  }
  return bsm_spec_set(s, bsm_node_out(node, 0), result);
}

static bsm_status tolist(bsm_spec *s, const bsm_node *node) {
  bsm_ivalue value, result;
  BSM_TRY(bsm_spec_get(s, bsm_node_in(node, 0), &value));
  if (value.tag != BSM_IVALUE_TENSOR || bsm_tensor_is_meta(value.u.tensor)) {
    return tolist_when_run(s, node, &value);
  }
  BSM_TRY(tensor_to_list(s, value.u.tensor, 0, 0, bsm_node_out(node, 0)->type,
                         &result));
  BSM_TRY(bsm_spec_note_allocation(s, &result));
  return bsm_spec_set(s, bsm_node_out(node, 0), result);
}

static bsm_status enum_part(bsm_spec *s, const bsm_node *node) {
  bsm_ivalue value;
  const size_t slot = bsm_node_is(node, "prim::EnumName") ? 0 : 1;
  BSM_TRY(bsm_spec_get(s, bsm_node_in(node, 0), &value));
  if (value.tag != BSM_IVALUE_ENUM || value.u.object->len <= slot) {
    return BSM_FAIL(BSM_UNSUPPORTED, "%s of a %s", node->kind,
                    bsm_iv_tag_name(value.tag));
  }
  return bsm_spec_set(s, bsm_node_out(node, 0), value.u.object->slots[slot]);
}

static bsm_status if_then_else(bsm_spec *s, const bsm_node *node) {
  bsm_ivalue condition, value;
  BSM_TRY(bsm_spec_get(s, bsm_node_in(node, 0), &condition));
  if (condition.tag != BSM_IVALUE_BOOL) {
    return BSM_FAIL(BSM_UNSUPPORTED, "%s on data", node->kind);
  }
  BSM_TRY(bsm_spec_get(s, bsm_node_in(node, condition.u.b ? 1 : 2), &value));
  return bsm_spec_set(s, bsm_node_out(node, 0), value);
}

/* An engine computes no gradients. */
static bsm_status requires_grad(bsm_spec *s, const bsm_node *node) {
  return bsm_spec_set(s, bsm_node_out(node, 0), bsm_iv_bool(false));
}

bsm_status bsm_spec_prim_node(bsm_spec *s, const bsm_node *node, bool *done) {
  static const struct {
    const char *kind;
    bsm_status (*run)(bsm_spec *, const bsm_node *);
    size_t inputs, outputs; /* at least */
  } rows[] = {
      {"prim::Constant", constant, 0, 1},
      {"prim::unchecked_cast", unwrap, 1, 1},
      {"prim::unchecked_unwrap_optional", unwrap, 1, 1},
      {"prim::Guard", pass_through, 1, 1},
      {"prim::data", pass_through, 1, 1},
      {"aten::wait", pass_through, 1, 1},
      {"prim::Uninitialized", uninitialized, 0, 1},
      {"prim::isinstance", isinstance, 1, 1},
      {"prim::RaiseException", raise_exception, 1, 0},
      {"prim::Print", print, 0, 0},
      {"aten::warn", warn, 1, 0},
      {"aten::format", format, 1, 1},
      {"prim::tolist", tolist, 1, 1},
      {"prim::EnumName", enum_part, 1, 1},
      {"prim::EnumValue", enum_part, 1, 1},
      {"prim::IfThenElse", if_then_else, 3, 1},
      {"prim::requires_grad", requires_grad, 1, 1},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    if (!bsm_node_is(node, rows[i].kind)) {
      continue;
    }
    *done = true;
    if (node->inputs.len < rows[i].inputs ||
        node->outputs.len < rows[i].outputs) {
      return BSM_FAIL(BSM_CORRUPT, "%s with %zu inputs and %zu outputs",
                      node->kind, node->inputs.len, node->outputs.len);
    }
    return rows[i].run(s, node);
  }
  *done = false;
  return BSM_OK;
}
