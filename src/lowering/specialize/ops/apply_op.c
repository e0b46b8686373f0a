/* SPDX-License-Identifier: Apache-2.0 */
/* Ops by schema on abstract values: computed when everything is known, run for
 * their shapes and written down when not. */
#include "lowering/specialize/specialize.h"

int64_t bsm_schema_find_arg(const bsm_schema *schema, const char *name) {
  for (size_t i = 0; i < schema->arg_count; i++) {
    if (strcmp(schema->args[i].name, name) == 0) {
      return (int64_t)i;
    }
  }
  return -1;
}

const bsm_aten_op *bsm_spec_find_op(const bsm_spec *s,
                                    const bsm_schema *schema) {
  return bsm_aten_find(s->aten, bsm_str_of(schema->qualified));
}

bsm_status bsm_spec_call(bsm_spec *s, const bsm_aten_op *op,
                         const bsm_ivalue *args, size_t n, bsm_ivalue *outs,
                         size_t n_outs) {
  bsm_op_ctx cx = {.arena = s->cx->arena,
                   .logger = s->logger,
                   .max_tensor_bytes = s->cx->limits.max_tensor_bytes};
  return bsm_aten_call(&cx, op, args, n, outs, n_outs);
}

static bool name_in(const char *name, const char *const *list) {
  for (; *list; list++) {
    if (strcmp(name, *list) == 0) {
      return true;
    }
  }
  return false;
}

/* ---- what the arguments are ---- */

static bool is_open(const bsm_type *type) {
  return type->kind == BSM_TYPE_VAR || type->kind == BSM_TYPE_ANY;
}

/* Ops that look inside values their schema leaves open. */
static bool looks_inside(const bsm_schema *schema) {
  static const char *const names[] = {
      "aten::str",           "aten::format",    "aten::hash",
      "aten::percentFormat", "aten::sorted",    "aten::sort",
      "aten::tensor",        "aten::as_tensor", NULL};
  return name_in(schema->name, names);
}

/* What depends on how the elements of a tensor lie in memory. */
static bool tells_strides(const bsm_schema *schema) {
  static const char *const names[] = {"aten::stride", "aten::is_contiguous",
                                      "aten::storage_offset", NULL};
  return name_in(schema->name, names);
}

/* x is None, x is not None. */
static bool tests_none(const bsm_schema *schema) {
  static const char *const names[] = {"aten::__is__", "aten::__isnot__", NULL};
  return name_in(schema->name, names);
}

static bool may_be_none(const bsm_spec_symbol *symbol) {
  switch (symbol->type ? symbol->type->kind : BSM_TYPE_ANY) {
    case BSM_TYPE_ANY:
    case BSM_TYPE_NONE:
    case BSM_TYPE_OPTIONAL:
    case BSM_TYPE_UNION:
    case BSM_TYPE_VAR:
      return true;
    default:
      return false;
  }
}

typedef struct arg_kinds {
  bool meta;   /* a tensor without data somewhere */
  bool symbol; /* a symbol that the op itself would have to look at */
} arg_kinds;

/* A list or dict of open element type may hold symbols: the op passes them
 * along without looking. */
static bsm_status scan_args(bsm_spec *s, const bsm_schema *schema,
                            const bsm_ivalue *args, size_t n, arg_kinds *out) {
  const bool inside = looks_inside(schema), test = tests_none(schema);
  for (size_t i = 0; i < n; i++) {
    const bsm_type *type = i < schema->arg_count ? schema->args[i].type : NULL;
    const bool symbol = bsm_spec_is_symbol(&args[i]);
    if (type && type->kind == BSM_TYPE_OPTIONAL) {
      type = type->args[0];
    }
    bsm_spec_leaves leaves = {false, false};
    BSM_TRY(bsm_spec_scan(s, &args[i], 0, &leaves));
    out->meta = out->meta || leaves.meta;
    bool open = type && !inside && is_open(type);
    if (type && !inside && !symbol && type->arg_count &&
        is_open(type->args[type->arg_count - 1])) {
      open = true;
    }
    /* The items of a box are not here, so what reads them has to wait. */
    open = open && (is_open(type) || !bsm_spec_box_find(s, &args[i]));
    out->symbol = out->symbol || (leaves.symbol && !open) ||
                  (inside && leaves.meta) ||
                  (test && symbol && may_be_none(bsm_spec_symbol_of(&args[i])));
  }
  return BSM_OK;
}

static bool is_random(const bsm_aten_op *op) {
  return op && (op->flags & BSM_ATEN_RANDOM) != 0;
}

/* ---- results ---- */

static bsm_tensor *find_storage(const bsm_ivalue *args, size_t n,
                                const bsm_tensor *t) {
  for (size_t i = 0; i < n; i++) {
    if (args[i].tag == BSM_IVALUE_TENSOR &&
        args[i].u.tensor->storage == t->storage) {
      return args[i].u.tensor;
    }
    if (args[i].tag == BSM_IVALUE_LIST) {
      bsm_tensor *found =
          find_storage(args[i].u.list->items, args[i].u.list->len, t);
      if (found) {
        return found;
      }
    }
  }
  return NULL;
}

/* Notes views; *fresh when there is a new tensor without data. */
static bsm_status note_result(bsm_spec *s, const bsm_schema *schema,
                              const bsm_ivalue *args, size_t n,
                              const bsm_ivalue *out, size_t depth,
                              bool *fresh) {
  const bsm_ivalue *items = NULL;
  size_t len = 0;
  if (out->tag == BSM_IVALUE_LIST) {
    items = out->u.list->items;
    len = out->u.list->len;
  } else if (out->tag == BSM_IVALUE_TUPLE) {
    items = out->u.tuple->items;
    len = out->u.tuple->len;
  } else if (out->tag == BSM_IVALUE_TENSOR) {
    bsm_tensor *t = out->u.tensor;
    if (bsm_spec_tensor_find(s, t)) {
      return BSM_OK;
    }
    bsm_tensor *parent = find_storage(args, n, t);
    if (parent && parent != t) {
      return bsm_spec_note_view(s, t, parent, schema, args, n);
    }
    *fresh = *fresh || (!parent && bsm_tensor_is_meta(t));
    /* A tensor is as old as its record: a block that writes to it later must
     * know that it was there before. */
    bsm_spec_tensor *record = NULL;
    return bsm_spec_tensor_of(s, t, &record);
  }
  if (len && depth > s->cx->limits.max_depth) {
    return BSM_FAIL(BSM_LIMIT, "a result is nested too deep");
  }
  for (size_t i = 0; i < len; i++) {
    BSM_TRY(note_result(s, schema, args, n, &items[i], depth + 1, fresh));
  }
  return BSM_OK;
}

/* Ops whose new tensor has the elements of the first argument: values of the
 * residual graph never change, so the copy is the value itself. */
static bsm_status bind_copy(bsm_spec *s, const bsm_schema *schema,
                            const bsm_ivalue *args, bsm_ivalue *outs,
                            bool *done) {
  static const char *const copies[] = {"aten::clone",
                                       "aten::contiguous",
                                       "aten::lift_fresh",
                                       "aten::lift_fresh_copy",
                                       "aten::alias_copy",
                                       "aten::detach_copy",
                                       "aten::_to_copy",
                                       "aten::to",
                                       "aten::type_as",
                                       "aten::positive",
                                       "aten::cpu",
                                       "aten::cuda",
                                       "aten::float",
                                       "aten::double",
                                       "aten::half",
                                       "aten::int",
                                       "aten::long",
                                       "aten::_autocast_to_reduced_precision",
                                       "aten::_autocast_to_full_precision",
                                       NULL};
  static const char *const reshapes[] = {
      "aten::reshape",      "aten::view",  "aten::reshape_as",
      "aten::_unsafe_view", "aten::ravel", NULL};
  *done = false;
  if (outs[0].tag != BSM_IVALUE_TENSOR || args[0].tag != BSM_IVALUE_TENSOR) {
    return BSM_OK;
  }
  const bsm_tensor *from = args[0].u.tensor;
  bsm_tensor *to = outs[0].u.tensor;
  const bool copy = name_in(schema->name, copies);
  const bool reshape = name_in(schema->name, reshapes);
  if (!(copy && bsm_dims_equal(from->sizes, to->sizes)) &&
      !(reshape && from->dtype == to->dtype)) {
    return BSM_OK;
  }
  const bsm_emitter e = bsm_spec_emitter(s);
  bsm_value *value = NULL;
  BSM_TRY(bsm_spec_tensor_value(s, args[0].u.tensor, &value));
  if (reshape && !bsm_dims_equal(from->sizes, to->sizes)) {
    BSM_TRY(bsm_ir_reshape(&e, value, to->sizes, &value));
  } else if (from->dtype != to->dtype) {
    BSM_TRY(bsm_ir_cast(&e, value, to->dtype, &value));
  }
  *done = true;
  return bsm_spec_bind_base(s, to, value);
}

/* new_zeros, ones_like ...: the data of the argument do not matter, only its
 * dims and dtype, so the result is known. `outs` tells the shape. */
static bsm_status fold_factory(bsm_spec *s, const bsm_schema *schema,
                               const bsm_ivalue *args, bsm_ivalue *outs,
                               bool *done) {
  static const char *const zeros[] = {"aten::zeros_like", "aten::new_zeros",
                                      "aten::empty_like", "aten::new_empty",
                                      NULL};
  static const char *const ones[] = {"aten::ones_like", "aten::new_ones", NULL};
  static const char *const fulls[] = {"aten::full_like", "aten::new_full",
                                      NULL};
  bsm_ivalue value = bsm_iv_int(0);
  *done = false;
  if (outs[0].tag != BSM_IVALUE_TENSOR) {
    return BSM_OK;
  }
  if (name_in(schema->name, ones)) {
    value = bsm_iv_int(1);
  } else if (name_in(schema->name, fulls)) {
    const int64_t i = bsm_schema_find_arg(schema, "fill_value");
    if (i < 0 || bsm_spec_is_symbol(&args[i])) {
      return BSM_OK;
    }
    value = args[i];
  } else if (!name_in(schema->name, zeros)) {
    return BSM_OK;
  }
  const bsm_tensor *like = outs[0].u.tensor;
  bsm_ivalue full[6] = {{0}};
  BSM_TRY(bsm_iv_int_list(s->cx->arena, like->sizes.d, (size_t)like->sizes.rank,
                          &full[0]));
  full[1] = value;
  full[2] = bsm_iv_int((int64_t)like->dtype);
  const bsm_schema *of_full = NULL;
  BSM_TRY(
      bsm_schema_table_find(s->cx->schemas, BSM_STR("aten::full"), &of_full));
  if (!of_full || !bsm_spec_find_op(s, of_full)) {
    return BSM_OK;
  }
  *done = true;
  return bsm_spec_op(s, of_full, full, 6, outs, 1);
}

/* Writes the call down. Tensors that came out with data, although others have
 * none (the sizes of a packed sequence), are known and stay as they are: the
 * call gives others in their place, which nothing reads. */
static bsm_status emit_unknown(bsm_spec *s, const bsm_schema *schema,
                               const bsm_ivalue *args, size_t n,
                               bsm_ivalue *outs, size_t n_outs) {
  bsm_ivalue *written = BSM_NEW_ARRAY(s->stack, bsm_ivalue, n_outs + 1);
  bool *known = BSM_NEW_ARRAY(s->stack, bool, n_outs + 1);
  BSM_TRY_ALLOC(written && known);
  for (size_t i = 0; i < n_outs; i++) {
    bsm_tensor *t = outs[i].tag == BSM_IVALUE_TENSOR ? outs[i].u.tensor : NULL;
    known[i] = t && !bsm_tensor_is_meta(t) && !find_storage(args, n, t);
    written[i] = outs[i];
    if (known[i]) {
      bsm_tensor *unread = NULL;
      BSM_TRY(bsm_tensor_new(s->scratch, t->dtype, t->sizes, true, &unread));
      written[i] = bsm_iv_tensor(unread);
    }
  }
  BSM_TRY(bsm_spec_emit(s, schema, args, n, written, n_outs));
  for (size_t i = 0; i < n_outs; i++) {
    if (!known[i]) {
      outs[i] = written[i];
    }
  }
  return BSM_OK;
}

bool bsm_spec_is_new_container(const bsm_schema *schema, size_t i,
                               const bsm_ivalue *args, size_t n,
                               const bsm_ivalue *out) {
  if ((out->tag != BSM_IVALUE_LIST && out->tag != BSM_IVALUE_DICT) ||
      i >= schema->return_count || is_open(schema->returns[i].type)) {
    return false;
  }
  for (size_t k = 0; k < n; k++) {
    if (args[k].tag == out->tag && args[k].u.container == out->u.container) {
      return false;
    }
  }
  return true;
}

/* Results of a run for shapes: known ones stand, the rest is written down. */
static bsm_status finish(bsm_spec *s, const bsm_schema *schema,
                         const bsm_ivalue *args, size_t n, bsm_ivalue *outs,
                         size_t n_outs) {
  bool fresh = false, done = false;
  if (s->literal) {
    return bsm_spec_literal_emit(s, schema, args, n, outs, n_outs);
  }
  for (size_t i = 0; i < n_outs; i++) {
    BSM_TRY(note_result(s, schema, args, n, &outs[i], 0, &fresh));
    if (bsm_spec_is_new_container(schema, i, args, n, &outs[i])) {
      BSM_TRY(bsm_spec_note_birth(s, &outs[i]));
    }
  }
  if (!fresh) {
    return BSM_OK;
  }
  if (n_outs == 1 && n > 0) {
    BSM_TRY(bind_copy(s, schema, args, outs, &done));
    if (!done) {
      BSM_TRY(fold_factory(s, schema, args, outs, &done));
    }
    if (done) {
      return BSM_OK;
    }
  }
  return emit_unknown(s, schema, args, n, outs, n_outs);
}

/* ---- what only the run can tell ---- */

/* Results that share the memory of the arguments. */
static bsm_status note_aliases(bsm_spec *s, const bsm_schema *schema,
                               const bsm_ivalue *args, size_t n,
                               const bsm_ivalue *outs, size_t n_outs) {
  bool any = false;
  if (s->literal) { /* they do, when it runs */
    return BSM_OK;
  }
  for (size_t i = 0; i < n_outs && i < schema->return_count; i++) {
    any = any || schema->returns[i].has_alias;
  }
  if (any && n && n_outs == 1 && schema->arg_count &&
      schema->args[0].has_alias &&
      schema->returns[0].type->kind == BSM_TYPE_TENSOR &&
      bsm_spec_is_symbol(&outs[0])) {
    return bsm_spec_symbol_view(s, &outs[0], schema, args, n);
  }
  for (size_t i = 0; any && i < n && i < schema->arg_count; i++) {
    if (schema->args[i].has_alias && bsm_spec_is_symbol(&args[i])) {
      bsm_spec_alias_symbol(s, &args[i]);
    }
    BSM_TRY(bsm_spec_note_items(s, &args[i]));
  }
  for (size_t i = 0; any && i < n_outs; i++) {
    if (bsm_spec_is_symbol(&outs[i])) {
      bsm_spec_symbol_of(&outs[i])->aliased = true;
    }
  }
  return BSM_OK;
}

/* Ops that give as many tensors as an argument lists: the rest of their results
 * may depend on data, but not how many there are. -1: another op, or a list
 * whose length is not known either. */
static int64_t result_length(const bsm_spec *s, const bsm_schema *schema,
                             const bsm_ivalue *args, size_t n) {
  static const struct {
    const char *op;
    size_t list; /* the argument */
    int64_t more;
  } rows[] = {
      {"aten::split.sizes", 1, 0},
      {"aten::split_with_sizes", 1, 0},
      {"aten::split_with_sizes_copy", 1, 0},
      {"aten::unsafe_split_with_sizes", 1, 0},
      {"aten::tensor_split.indices", 1, 1},
      {"aten::broadcast_tensors", 0, 0},
      {"aten::meshgrid", 0, 0},
      {"aten::meshgrid.indexing", 0, 0},
      {"aten::atleast_1d.Sequence", 0, 0},
      {"aten::atleast_2d.Sequence", 0, 0},
      {"aten::atleast_3d.Sequence", 0, 0},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    if (strcmp(schema->qualified, rows[i].op) == 0 && rows[i].list < n) {
      const bsm_ivalue *list = &args[rows[i].list];
      return list->tag == BSM_IVALUE_LIST && !bsm_spec_box_find(s, list)
                 ? (int64_t)list->u.list->len + rows[i].more
                 : -1;
    }
  }
  return -1;
}

/* Every result becomes a symbol; a list of known length one of symbols. */
static bsm_status opaque(bsm_spec *s, const bsm_schema *schema,
                         const bsm_ivalue *args, size_t n, bsm_ivalue *outs,
                         size_t n_outs) {
  for (size_t i = 0; i < n_outs; i++) {
    outs[i] = bsm_iv_none();
  }
  BSM_TRY(bsm_spec_emit(s, schema, args, n, outs, n_outs));
  BSM_TRY(note_aliases(s, schema, args, n, outs, n_outs));
  const int64_t len = result_length(s, schema, args, n);
  if (len >= 0 && n_outs == 1) {
    bsm_value *list = bsm_spec_symbol_of(&outs[0])->value;
    return bsm_spec_unpack(s, list, schema->returns[0].type->args[0],
                           (size_t)len, true, &outs[0]);
  }
  for (size_t i = 0; i < n_outs; i++) {
    const bsm_spec_symbol *symbol = bsm_spec_symbol_of(&outs[i]);
    if (bsm_spec_is_symbol(&outs[i]) && !symbol->aliased && symbol->type &&
        (symbol->type->kind == BSM_TYPE_LIST ||
         symbol->type->kind == BSM_TYPE_DICT)) {
      BSM_TRY(bsm_spec_box_new(s, symbol->type, symbol->value, &outs[i]));
    }
  }
  return BSM_OK;
}

/* A stand-in for a symbol where only its type matters for the result's shape
 * and dtype: a Scalar or float operand. */
static bool stand_in(const bsm_type *formal, const bsm_spec_symbol *symbol,
                     bsm_ivalue *out) {
  while (formal && formal->kind == BSM_TYPE_OPTIONAL) {
    formal = formal->args[0];
  }
  if (!formal ||
      (formal->kind != BSM_TYPE_NUMBER && formal->kind != BSM_TYPE_FLOAT)) {
    return false;
  }
  switch (symbol->type ? symbol->type->kind : BSM_TYPE_ANY) {
    case BSM_TYPE_INT:
      *out = bsm_iv_int(1);
      return true;
    case BSM_TYPE_FLOAT:
      *out = bsm_iv_double(1.0);
      return true;
    case BSM_TYPE_BOOL:
      *out = bsm_iv_bool(true);
      return true;
    default:
      return false;
  }
}

bsm_status bsm_spec_without_data(bsm_spec *s, bsm_ivalue *value) {
  if (value->tag == BSM_IVALUE_TENSOR) {
    const bsm_tensor *t = value->u.tensor;
    bsm_tensor *meta = NULL;
    if (s->literal && bsm_tensor_is_meta(t)) {
      return BSM_OK; /* with the strides that it has */
    }
    BSM_TRY(bsm_tensor_new(s->scratch, t->dtype, t->sizes, true, &meta));
    meta->wrapped_number = t->wrapped_number;
    *value = bsm_iv_tensor(meta);
  } else if (value->tag == BSM_IVALUE_LIST) {
    const bsm_list *from = value->u.list;
    bsm_list *list = NULL;
    BSM_TRY(bsm_list_new(s->scratch, from->elem_type, from->len, &list));
    for (size_t i = 0; i < from->len; i++) {
      list->items[i] = from->items[i];
      if (from->items[i].tag == BSM_IVALUE_TENSOR) {
        BSM_TRY(bsm_spec_without_data(s, &list->items[i]));
      }
    }
    *value = bsm_iv_list(list);
  }
  return BSM_OK;
}

/* A list with stand-ins for the numbers in it that only the run will tell; its
 * length is that of the tensor made of it. */
static bsm_status stand_in_list(bsm_spec *s, bsm_ivalue *value, size_t depth,
                                bool *done) {
  const bsm_type *number = bsm_type_simple(s->cx->types, BSM_TYPE_NUMBER);
  bsm_list *list = NULL;
  if (bsm_spec_is_symbol(value)) {
    *done = stand_in(number, bsm_spec_symbol_of(value), value);
    return BSM_OK;
  }
  if (value->tag != BSM_IVALUE_LIST) {
    return BSM_OK;
  }
  if (bsm_spec_box_find(s, value) || depth > BSM_MAX_RANK) {
    *done = false;
    return BSM_OK;
  }
  const bsm_list *from = value->u.list;
  BSM_TRY(bsm_list_new(s->scratch, from->elem_type, from->len, &list));
  for (size_t i = 0; *done && i < from->len; i++) {
    list->items[i] = from->items[i];
    BSM_TRY(stand_in_list(s, &list->items[i], depth + 1, done));
  }
  *value = bsm_iv_list(list);
  return BSM_OK;
}

/* The shapes of the results when they do not depend on the unknown scalars;
 * *known is false when they may. */
static bsm_status shapes_without_data(bsm_spec *s, const bsm_schema *schema,
                                      const bsm_aten_op *op,
                                      const bsm_ivalue *args, size_t n,
                                      bsm_ivalue *outs, size_t n_outs,
                                      bool *known) {
  static const char *const from_numbers[] = {
      "prim::NumToTensor", "aten::scalar_tensor", "aten::full", NULL};
  static const char *const from_lists[] = {"aten::tensor", "aten::as_tensor",
                                           NULL};
  const bool of_list = name_in(schema->name, from_lists) && n > 0 &&
                       args[0].tag == BSM_IVALUE_LIST;
  bool tensors = of_list || name_in(schema->name, from_numbers);
  bsm_ivalue *meta = BSM_NEW_ARRAY(s->stack, bsm_ivalue, n + 1);
  BSM_TRY_ALLOC(meta);
  *known = false;
  for (size_t i = 0; i < n; i++) {
    bsm_spec_leaves leaves = {false, false};
    meta[i] = args[i];
    if (bsm_spec_is_symbol(&args[i])) {
      if (i >= schema->arg_count ||
          !stand_in(schema->args[i].type, bsm_spec_symbol_of(&args[i]),
                    &meta[i])) {
        return BSM_OK;
      }
      continue;
    }
    if (of_list && i == 0) {
      bool done = true;
      BSM_TRY(stand_in_list(s, &meta[i], 0, &done));
      if (!done) {
        return BSM_OK;
      }
      continue;
    }
    BSM_TRY(bsm_spec_scan(s, &args[i], 0, &leaves));
    if (leaves.symbol) {
      return BSM_OK;
    }
    tensors = tensors || args[i].tag == BSM_IVALUE_TENSOR || leaves.meta;
    BSM_TRY(bsm_spec_without_data(s, &meta[i]));
  }
  if (!tensors) {
    return BSM_OK;
  }
  bsm_status st = bsm_spec_call(s, op, meta, n, outs, n_outs);
  if (bsm_status_code(st) == BSM_DATA_DEPENDENT) {
    bsm_status_free(st);
    return BSM_OK;
  }
  BSM_TRY(st);
  *known = true;
  for (size_t i = 0; i < n_outs; i++) {
    if (outs[i].tag != BSM_IVALUE_TENSOR) {
      *known = false;
      return BSM_OK;
    }
    BSM_TRY(bsm_spec_without_data(s, &outs[i])); /* a storage of its own */
  }
  return BSM_OK;
}

static bsm_status unknown_operands(bsm_spec *s, const bsm_schema *schema,
                                   const bsm_aten_op *op,
                                   const bsm_ivalue *args, size_t n,
                                   bsm_ivalue *outs, size_t n_outs) {
  bool known = false, done = false;
  BSM_TRY(bsm_spec_as_strided(s, schema, args, n, outs, &done));
  if (done) {
    return BSM_OK;
  }
  BSM_TRY(bsm_spec_worlds_op(s, schema, op, args, n, outs, n_outs, &done));
  if (done) {
    return note_aliases(s, schema, args, n, outs, n_outs);
  }
  if (op && n_outs == 1) {
    BSM_TRY(bsm_spec_select_symbol(s, schema, args, n, outs, &done));
  }
  if (done) {
    return BSM_OK;
  }
  if (op) {
    BSM_TRY(shapes_without_data(s, schema, op, args, n, outs, n_outs, &known));
  }
  if (known && s->literal) {
    return bsm_spec_literal_emit(s, schema, args, n, outs, n_outs);
  }
  return known ? bsm_spec_emit(s, schema, args, n, outs, n_outs)
               : opaque(s, schema, args, n, outs, n_outs);
}

/* ---- all of it ---- */

/* In place on known data, with known data. */
static bsm_status write_known(bsm_spec *s, const bsm_aten_op *op,
                              const bsm_ivalue *args, size_t n, size_t which,
                              bsm_ivalue *outs, size_t n_outs) {
  bsm_tensor *self = args[which].u.tensor;
  BSM_TRY(bsm_spec_make_writable(s, self));
  BSM_TRY(bsm_spec_call(s, op, args, n, outs, n_outs));
  return bsm_spec_touch(s, self);
}

bsm_status bsm_spec_op(bsm_spec *s, const bsm_schema *schema, bsm_ivalue *args,
                       size_t n, bsm_ivalue *outs, size_t n_outs) {
  const bsm_aten_op *op = bsm_spec_find_op(s, schema);
  arg_kinds kinds = {false, false};
  size_t which = 0;
  bool nested = false;
  BSM_TRY(bsm_spec_nested_op(s, schema, args, n, outs, &nested));
  if (nested) return BSM_OK;
  BSM_TRY(scan_args(s, schema, args, n, &kinds));
  if (bsm_spec_writes_container(schema, &which) && which < n) {
    const bool symbol = bsm_spec_is_symbol(&args[which]);
    if (!symbol) {
      BSM_TRY(kinds.symbol ? bsm_spec_box_up(s, &args[which])
                           : bsm_spec_check_write(s, &args[which]));
    }
    if (s->literal && (symbol || bsm_spec_box_find(s, &args[which]))) {
      return bsm_spec_literal_box_write(s, schema, args, n, which, outs,
                                        n_outs);
    }
    if (symbol || bsm_spec_box_find(s, &args[which])) {
      return bsm_spec_box_write(s, schema, args, n, which, outs, n_outs);
    }
  }
  if (bsm_spec_writes_tensor(schema, &which) && which < n &&
      args[which].tag != BSM_IVALUE_NONE) {
    bool done = false;
    if (s->literal) {
      return bsm_spec_literal_write(s, schema, args, n, which, outs, n_outs);
    }
    BSM_TRY(bsm_spec_reshape_in_place(s, schema, args, n, outs, &done));
    if (done) {
      return BSM_OK;
    }
    const bool known = op && !kinds.meta && !kinds.symbol && !is_random(op) &&
                       s->branch_depth == 0 &&
                       args[which].tag == BSM_IVALUE_TENSOR;
    return known ? write_known(s, op, args, n, which, outs, n_outs)
                 : bsm_spec_mutate(s, schema, args, n, outs, n_outs);
  }
  if (s->literal && kinds.meta && tells_strides(schema)) {
    return opaque(s, schema, args, n, outs, n_outs);
  }
  if (kinds.symbol || !op) {
    return unknown_operands(s, schema, op, args, n, outs, n_outs);
  }
  if (is_random(op) && !kinds.meta) {
    bsm_status st = bsm_spec_call(s, op, args, n, outs, n_outs);
    if (!st && n_outs == 1 && n > 0 && outs[0].tag == BSM_IVALUE_TENSOR &&
        args[0].tag == BSM_IVALUE_TENSOR &&
        outs[0].u.tensor == args[0].u.tensor) {
      return BSM_OK; /* dropout of an evaluated model */
    }
    bsm_status_free(st);
    return unknown_operands(s, schema, op, args, n, outs, n_outs);
  }
  bsm_status st = bsm_spec_call(s, op, args, n, outs, n_outs);
  if (bsm_status_code(st) == BSM_DATA_DEPENDENT) {
    bsm_status_free(st);
    return opaque(s, schema, args, n, outs, n_outs);
  }
  BSM_TRY(st);
  return finish(s, schema, args, n, outs, n_outs);
}

bsm_status bsm_spec_op_named(bsm_spec *s, const char *qualified,
                             const bsm_ivalue *args, size_t n,
                             bsm_ivalue *out) {
  const bsm_schema *schema = NULL;
  BSM_TRY(
      bsm_schema_table_find(s->cx->schemas, bsm_str_of(qualified), &schema));
  if (!schema || schema->arg_count != n) {
    return BSM_FAIL(BSM_INTERNAL, "lowering: no schema %s of %zu arguments",
                    qualified, n);
  }
  bsm_ivalue *own = BSM_NEW_ARRAY(s->stack, bsm_ivalue, n + 1);
  BSM_TRY_ALLOC(own);
  memcpy(own, args, n * sizeof(*args));
  return bsm_spec_op(s, schema, own, n, out, 1);
}
