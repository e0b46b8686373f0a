/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments and results: from names and literals to values. */
#include "exported/import_node.h"

/* ---- names ---- */

bsm_status bsm_xi_find(const bsm_importer *im, const bsm_import_scope *scope,
                       const char *name, bsm_value **out) {
  (void)im;
  *out = bsm_strmap_get(&scope->values, bsm_str_of(name));
  return *out ? BSM_OK
              : BSM_FAIL(BSM_CORRUPT,
                         "value \"%s\" is used, but nothing before gives it",
                         name);
}

bsm_status bsm_xi_bind(bsm_importer *im, bsm_import_scope *scope,
                       const char *name, bsm_value *value) {
  if (!name || !name[0]) return BSM_OK;
  if (!value->debug_name) BSM_TRY(bsm_value_set_name(im->graph, value, name));
  BSM_TRY_ALLOC(
      bsm_strmap_set(im->arena, &scope->values, bsm_str_of(name), value));
  return BSM_OK;
}

const char *bsm_xi_tag_text(bsm_exported_tag tag) {
  static const char *const texts[] = {"None",
                                      "a tensor",
                                      "a list of tensors",
                                      "an int",
                                      "a list of ints",
                                      "a float",
                                      "a list of floats",
                                      "a string",
                                      "a list of strings",
                                      "a symbolic int",
                                      "a list of symbolic ints",
                                      "a dtype",
                                      "a memory format",
                                      "a layout",
                                      "a device",
                                      "a bool",
                                      "a list of bools",
                                      "a symbolic bool",
                                      "a list of symbolic bools",
                                      "a graph",
                                      "a list of optional tensors",
                                      "a custom object",
                                      "an operator",
                                      "a symbolic float",
                                      "a list of symbolic floats",
                                      "an optional tensor",
                                      "a complex number",
                                      "lists of tensors",
                                      "lists of ints",
                                      "lists of floats",
                                      "a dict"};
  return (size_t)tag < sizeof(texts) / sizeof(texts[0]) ? texts[tag] : "?";
}

/* ---- literals ---- */

static const bsm_type *without_optional(const bsm_type *type) {
  while (type && type->kind == BSM_TYPE_OPTIONAL) type = type->args[0];
  return type;
}

/* What an item of a list of type `formal` is; of a number, itself. */
static const bsm_type *item_type(const bsm_type *formal) {
  formal = without_optional(formal);
  if (formal && formal->kind == BSM_TYPE_LIST) formal = formal->args[0];
  return without_optional(formal);
}

/* Python takes an int where a float is asked for, and a bool for an int. */
static bsm_ivalue fit_number(bsm_ivalue value, const bsm_type *formal) {
  const bsm_type_kind kind = formal ? formal->kind : BSM_TYPE_ANY;
  if (kind == BSM_TYPE_FLOAT && value.tag == BSM_IVALUE_INT) {
    return bsm_iv_double((double)value.u.i);
  }
  if (kind == BSM_TYPE_FLOAT && value.tag == BSM_IVALUE_BOOL) {
    return bsm_iv_double(value.u.b ? 1 : 0);
  }
  if (kind == BSM_TYPE_INT && value.tag == BSM_IVALUE_BOOL) {
    return bsm_iv_int(value.u.b);
  }
  if (kind == BSM_TYPE_BOOL && value.tag == BSM_IVALUE_INT) {
    return bsm_iv_bool(value.u.i != 0);
  }
  return value;
}

static bsm_ivalue number_of(bsm_sym_number number) {
  return number.kind == BSM_SYM_KIND_FLOAT  ? bsm_iv_double(number.d)
         : number.kind == BSM_SYM_KIND_BOOL ? bsm_iv_bool(number.i != 0)
                                            : bsm_iv_int(number.i);
}

static bsm_type_kind item_kind(bsm_exported_tag tag) {
  switch (tag) {
    case BSM_EXPORTED_FLOATS:
    case BSM_EXPORTED_SYM_FLOATS:
      return BSM_TYPE_FLOAT;
    case BSM_EXPORTED_BOOLS:
    case BSM_EXPORTED_SYM_BOOLS:
      return BSM_TYPE_BOOL;
    case BSM_EXPORTED_STRINGS:
      return BSM_TYPE_STRING;
    default:
      return BSM_TYPE_INT;
  }
}

static size_t list_length(const bsm_exported_arg *arg) {
  switch (arg->tag) {
    case BSM_EXPORTED_INTS:
      return arg->u.ints.len;
    case BSM_EXPORTED_FLOATS:
      return arg->u.floats.len;
    case BSM_EXPORTED_BOOLS:
      return arg->u.bools.len;
    case BSM_EXPORTED_SYM_INTS:
    case BSM_EXPORTED_SYM_FLOATS:
    case BSM_EXPORTED_SYM_BOOLS:
      return arg->u.syms.len;
    case BSM_EXPORTED_NESTED_TENSORS:
    case BSM_EXPORTED_INT_LISTS:
    case BSM_EXPORTED_FLOAT_LISTS:
      return arg->u.list.len;
    default:
      return arg->u.strings.len;
  }
}

/* Item `i` of a list of numbers or strings; *known false: a value's name. */
static bsm_status list_item(const bsm_importer *im, const bsm_exported_arg *arg,
                            size_t i, bool *known, bsm_ivalue *out) {
  *known = true;
  switch (arg->tag) {
    case BSM_EXPORTED_INTS:
      *out = bsm_iv_int(arg->u.ints.items[i]);
      return BSM_OK;
    case BSM_EXPORTED_FLOATS:
      *out = bsm_iv_double(arg->u.floats.items[i]);
      return BSM_OK;
    case BSM_EXPORTED_BOOLS:
      *out = bsm_iv_bool(arg->u.bools.items[i]);
      return BSM_OK;
    case BSM_EXPORTED_STRINGS:
      return bsm_iv_string(im->arena, bsm_str_of(arg->u.strings.items[i]), out);
    default:
      *known = !arg->u.syms.items[i].name;
      *out = number_of(arg->u.syms.items[i].number);
      return BSM_OK;
  }
}

static bool is_item_list(bsm_exported_tag tag) {
  return tag == BSM_EXPORTED_INTS || tag == BSM_EXPORTED_FLOATS ||
         tag == BSM_EXPORTED_BOOLS || tag == BSM_EXPORTED_STRINGS ||
         tag == BSM_EXPORTED_SYM_INTS || tag == BSM_EXPORTED_SYM_FLOATS ||
         tag == BSM_EXPORTED_SYM_BOOLS;
}

/* A list of numbers or strings all of which are known. */
static bsm_status known_list(bsm_importer *im, const bsm_exported_arg *arg,
                             const bsm_type *formal, bool *all_known,
                             bsm_ivalue *out) {
  const bsm_type *item = item_type(formal);
  const size_t n = list_length(arg);
  const bool fits =
      item && (item->kind == BSM_TYPE_FLOAT || item->kind == BSM_TYPE_INT ||
               item->kind == BSM_TYPE_BOOL || item->kind == BSM_TYPE_NUMBER ||
               item->kind == BSM_TYPE_STRING);
  bsm_list *list;
  if (!fits) item = bsm_xi_type(im, item_kind(arg->tag));
  BSM_TRY(bsm_list_new(im->arena, item, n, &list));
  *out = bsm_iv_list(list);
  *all_known = true;
  for (size_t i = 0; i < n && *all_known; i++) {
    BSM_TRY(list_item(im, arg, i, all_known, &list->items[i]));
    list->items[i] = fit_number(list->items[i], item);
  }
  return BSM_OK;
}

/* ---- lists of values ---- */

static bsm_status sym_value(bsm_importer *im, const bsm_import_scope *scope,
                            const bsm_exported_sym_arg *sym,
                            const bsm_type *formal, bsm_value **out) {
  if (sym->name) return bsm_xi_find(im, scope, sym->name, out);
  return bsm_xi_constant(im, fit_number(number_of(sym->number), formal), NULL,
                         out);
}

static bsm_status value_list(bsm_importer *im, const bsm_import_scope *scope,
                             const bsm_exported_arg *arg,
                             const bsm_type *formal, bsm_value **out) {
  const bsm_type *const item = item_type(formal);
  const size_t n = list_length(arg);
  bsm_value **items = BSM_NEW_ARRAY(im->arena, bsm_value *, n + 1);
  BSM_TRY_ALLOC(items);
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(sym_value(im, scope, &arg->u.syms.items[i], item, &items[i]));
  }
  const bool floats = item && item->kind == BSM_TYPE_FLOAT;
  for (size_t i = 0; i < n && floats; i++) {
    BSM_TRY(bsm_xi_as_kind(im, items[i], BSM_SYM_KIND_FLOAT, &items[i]));
  }
  return bsm_xi_list(
      im, bsm_xi_type(im, floats ? BSM_TYPE_FLOAT : item_kind(arg->tag)), items,
      n, out);
}

/* Names, of which NULL is None. */
static bsm_status tensor_list(bsm_importer *im, const bsm_import_scope *scope,
                              const bsm_exported_arg *arg,
                              const bsm_type *formal, bsm_value **out) {
  const bsm_type *tensor = bsm_xi_type(im, BSM_TYPE_TENSOR);
  const size_t n = arg->u.strings.len;
  bsm_value **items = BSM_NEW_ARRAY(im->arena, bsm_value *, n + 1);
  formal = without_optional(formal);
  const bool optional = arg->tag != BSM_EXPORTED_TENSORS ||
                        (formal && formal->kind == BSM_TYPE_LIST &&
                         formal->args[0]->kind == BSM_TYPE_OPTIONAL);
  const bsm_type *elem =
      optional ? bsm_type_optional(im->cx->types, tensor) : tensor;
  BSM_TRY_ALLOC(items && elem);
  for (size_t i = 0; i < n; i++) {
    const char *name = arg->u.strings.items[i];
    BSM_TRY(name ? bsm_xi_find(im, scope, name, &items[i])
                 : bsm_xi_none(im, &items[i]));
  }
  return bsm_xi_list(im, elem, items, n, out);
}

static bsm_status list_of_lists(bsm_importer *im, const bsm_import_scope *scope,
                                const bsm_exported_arg *arg, bsm_value **out) {
  const size_t n = arg->u.list.len;
  bsm_value **items = BSM_NEW_ARRAY(im->arena, bsm_value *, n + 1);
  BSM_TRY_ALLOC(items);
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(bsm_xi_argument(im, scope, &arg->u.list.items[i], NULL, &items[i]));
  }
  const bsm_type *elem =
      n ? items[0]->type
        : bsm_type_list(im->cx->types, bsm_xi_type(im, BSM_TYPE_TENSOR));
  BSM_TRY_ALLOC(elem);
  return bsm_xi_list(im, elem, items, n, out);
}

/* ---- arguments ---- */

static bsm_status literal(bsm_importer *im, const bsm_exported_arg *arg,
                          bsm_ivalue *out) {
  switch (arg->tag) {
    case BSM_EXPORTED_NONE:
      *out = bsm_iv_none();
      return BSM_OK;
    case BSM_EXPORTED_INT:
    case BSM_EXPORTED_MEMORY_FORMAT:
    case BSM_EXPORTED_LAYOUT:
      *out = bsm_iv_int(arg->u.i);
      return BSM_OK;
    case BSM_EXPORTED_FLOAT:
      *out = bsm_iv_double(arg->u.d);
      return BSM_OK;
    case BSM_EXPORTED_BOOL:
      *out = bsm_iv_bool(arg->u.b);
      return BSM_OK;
    case BSM_EXPORTED_COMPLEX:
      *out =
          (bsm_ivalue){BSM_IVALUE_COMPLEX, {.c = {arg->u.c.re, arg->u.c.im}}};
      return BSM_OK;
    case BSM_EXPORTED_STRING:
      return bsm_iv_string(im->arena, bsm_str_of(arg->u.s), out);
    case BSM_EXPORTED_DEVICE:
      *out = (bsm_ivalue){BSM_IVALUE_DEVICE, {.device = arg->u.device}};
      return BSM_OK;
    case BSM_EXPORTED_SCALAR_TYPE:
      if (arg->u.dtype.dtype == BSM_DTYPE_UNDEFINED) {
        return BSM_FAIL(BSM_UNSUPPORTED, "dtype %s", arg->u.dtype.name);
      }
      *out = bsm_iv_int(arg->u.dtype.dtype);
      return BSM_OK;
    default:
      return BSM_FAIL(BSM_UNSUPPORTED, "%s as an argument",
                      bsm_xi_tag_text(arg->tag));
  }
}

bsm_status bsm_xi_argument(bsm_importer *im, const bsm_import_scope *scope,
                           const bsm_exported_arg *arg, const bsm_type *formal,
                           bsm_value **out) {
  bsm_ivalue value;
  bool known;
  switch (arg->tag) {
    case BSM_EXPORTED_TENSOR:
      return bsm_xi_find(im, scope, arg->u.s, out);
    case BSM_EXPORTED_OPTIONAL_TENSOR:
      return arg->u.s ? bsm_xi_find(im, scope, arg->u.s, out)
                      : bsm_xi_none(im, out);
    case BSM_EXPORTED_TENSORS:
    case BSM_EXPORTED_OPTIONAL_TENSORS:
      return tensor_list(im, scope, arg, formal, out);
    case BSM_EXPORTED_SYM_INT:
    case BSM_EXPORTED_SYM_FLOAT:
    case BSM_EXPORTED_SYM_BOOL:
      formal = without_optional(formal);
      BSM_TRY(sym_value(im, scope, &arg->u.sym, formal, out));
      return formal && formal->kind == BSM_TYPE_FLOAT &&
                     (*out)->type->kind == BSM_TYPE_INT
                 ? bsm_xi_as_kind(im, *out, BSM_SYM_KIND_FLOAT, out)
                 : BSM_OK;
    case BSM_EXPORTED_NESTED_TENSORS:
    case BSM_EXPORTED_INT_LISTS:
    case BSM_EXPORTED_FLOAT_LISTS:
      return list_of_lists(im, scope, arg, out);
    case BSM_EXPORTED_CUSTOM_OBJ:
      return BSM_FAIL(BSM_UNSUPPORTED, "custom object \"%s\" of class %s",
                      arg->u.custom_obj.name, arg->u.custom_obj.class_name);
    default:
      break;
  }
  if (is_item_list(arg->tag)) {
    BSM_TRY(known_list(im, arg, formal, &known, &value));
    if (!known) return value_list(im, scope, arg, formal, out);
    const bsm_type *type =
        bsm_type_list(im->cx->types, value.u.list->elem_type);
    BSM_TRY_ALLOC(type);
    return bsm_xi_constant(im, value, type, out);
  }
  BSM_TRY(literal(im, arg, &value));
  return bsm_xi_constant(im, fit_number(value, without_optional(formal)), NULL,
                         out);
}

bsm_status bsm_xi_items(bsm_importer *im, const bsm_import_scope *scope,
                        const bsm_exported_arg *arg, bsm_xi_values *out) {
  bsm_exported_arg one = {BSM_EXPORTED_TENSOR, {0}};
  bsm_value *value;
  const bool named = arg->tag == BSM_EXPORTED_TENSORS ||
                     arg->tag == BSM_EXPORTED_OPTIONAL_TENSORS;
  const bool list = named || is_item_list(arg->tag) ||
                    arg->tag == BSM_EXPORTED_NESTED_TENSORS ||
                    arg->tag == BSM_EXPORTED_INT_LISTS ||
                    arg->tag == BSM_EXPORTED_FLOAT_LISTS;
  const size_t n = list ? list_length(arg) : 1;
  for (size_t i = 0; i < n; i++) {
    bool known = true;
    bsm_ivalue item;
    if (named) {
      one.tag = BSM_EXPORTED_OPTIONAL_TENSOR;
      one.u.s = arg->u.strings.items[i];
      BSM_TRY(bsm_xi_argument(im, scope, &one, NULL, &value));
    } else if (is_item_list(arg->tag)) {
      BSM_TRY(list_item(im, arg, i, &known, &item));
      BSM_TRY(known
                  ? bsm_xi_constant(im, item, NULL, &value)
                  : bsm_xi_find(im, scope, arg->u.syms.items[i].name, &value));
    } else {
      BSM_TRY(bsm_xi_argument(im, scope, list ? &arg->u.list.items[i] : arg,
                              NULL, &value));
    }
    BSM_TRY_ALLOC(bsm_vec_push(im->arena, out, value));
  }
  return BSM_OK;
}

/* ---- results ---- */

static bsm_status bind_names(bsm_importer *im, bsm_import_scope *scope,
                             const bsm_exported_arg *output, bsm_value *list) {
  const bool syms = output->tag != BSM_EXPORTED_TENSORS &&
                    output->tag != BSM_EXPORTED_OPTIONAL_TENSORS;
  const size_t n = list_length(output);
  bsm_value **items = BSM_NEW_ARRAY(im->arena, bsm_value *, n + 1);
  BSM_TRY_ALLOC(items);
  BSM_TRY(bsm_xi_unpack(im, list, n, items));
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(bsm_xi_bind(
        im, scope,
        syms ? output->u.syms.items[i].name : output->u.strings.items[i],
        items[i]));
  }
  return BSM_OK;
}

bsm_status bsm_xi_bind_output(bsm_importer *im, bsm_import_scope *scope,
                              const bsm_exported_arg *output,
                              bsm_value *value) {
  switch (output->tag) {
    case BSM_EXPORTED_TENSOR:
    case BSM_EXPORTED_OPTIONAL_TENSOR:
      return bsm_xi_bind(im, scope, output->u.s, value);
    case BSM_EXPORTED_SYM_INT:
    case BSM_EXPORTED_SYM_FLOAT:
    case BSM_EXPORTED_SYM_BOOL:
      if (!output->u.sym.name) return BSM_OK;
      BSM_TRY(bsm_xi_as_kind(
          im, value,
          output->tag == BSM_EXPORTED_SYM_INT     ? BSM_SYM_KIND_INT
          : output->tag == BSM_EXPORTED_SYM_FLOAT ? BSM_SYM_KIND_FLOAT
                                                  : BSM_SYM_KIND_BOOL,
          &value));
      return bsm_xi_bind(im, scope, output->u.sym.name, value);
    case BSM_EXPORTED_TENSORS:
    case BSM_EXPORTED_OPTIONAL_TENSORS:
    case BSM_EXPORTED_SYM_INTS:
    case BSM_EXPORTED_SYM_FLOATS:
    case BSM_EXPORTED_SYM_BOOLS:
      return bind_names(im, scope, output, value);
    case BSM_EXPORTED_CUSTOM_OBJ:
      return BSM_FAIL(BSM_UNSUPPORTED, "a custom object as a result");
    default:
      return BSM_OK; /* a literal: nothing refers to it */
  }
}

bsm_status bsm_xi_bind_outputs(bsm_importer *im, bsm_import_scope *scope,
                               const bsm_exported_node *node,
                               bsm_value *const *values, size_t count) {
  size_t at = 0;
  for (size_t i = 0; i < node->output_count; i++) {
    const bsm_exported_arg *output = &node->outputs[i];
    const bool named = output->tag == BSM_EXPORTED_TENSORS ||
                       output->tag == BSM_EXPORTED_OPTIONAL_TENSORS;
    const size_t n = named ? output->u.strings.len : 1;
    if (n > count - at) {
      return BSM_FAIL(BSM_CORRUPT, "%s has more than its %zu results",
                      node->target, count);
    }
    for (size_t k = 0; k < n; k++, at++) {
      BSM_TRY(
          named ? bsm_xi_bind(im, scope, output->u.strings.items[k], values[at])
                : bsm_xi_bind_output(im, scope, output, values[at]));
    }
  }
  return BSM_OK;
}
