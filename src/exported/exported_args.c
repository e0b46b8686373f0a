/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments: the union that the inputs and outputs of graphs and nodes are
 * made of. One row for each tag of the schema. */
#include "exported/exported_reader.h"

typedef bsm_status (*arg_reader)(bsm_xr *r, const bsm_place *at,
                                 bsm_exported_arg *out);

/* ---- names ---- */

bsm_status bsm_xr_name(bsm_xr *r, const bsm_place *at, const char **out) {
  const char *text = NULL;
  *out = "";
  BSM_TRY(bsm_place_string(at, &text));
  *out = bsm_intern(&r->cx->names, bsm_str_of(text));
  BSM_TRY_ALLOC(*out);
  return BSM_OK;
}

bsm_status bsm_xr_field_name(bsm_xr *r, const bsm_place *at, const char *key,
                             const char **out) {
  bsm_place field;
  *out = "";
  BSM_TRY(bsm_place_field(at, key, &field));
  return bsm_xr_name(r, &field, out);
}

bsm_status bsm_xr_names_read(bsm_xr *r, const bsm_place *at,
                             bsm_xr_names *out) {
  size_t len = 0;
  *out = (bsm_xr_names){0};
  BSM_TRY(bsm_place_array(at, &len));
  const char **names = BSM_NEW_ARRAY(r->arena, const char *, len + 1);
  BSM_TRY_ALLOC(names);
  for (size_t i = 0; i < len; i++) {
    const bsm_place item = bsm_place_item(at, i);
    BSM_TRY(bsm_xr_name(r, &item, &names[i]));
  }
  *out = (bsm_xr_names){names, len};
  return BSM_OK;
}

/* ---- unions ---- */

bsm_status bsm_xr_union(const bsm_place *at, bsm_place *out) {
  size_t count = 0, present = 0;
  bsm_place item;
  BSM_TRY(bsm_place_check_object(at, &count));
  /* Older files write all alternatives, null but for one. */
  for (bsm_place_iterator it = {0}; bsm_place_next(at, &it, &item);) {
    if (count > 1 && bsm_place_is_null(&item)) continue;
    *out = item;
    present++;
  }
  if (present == 1) return BSM_OK;
  return bsm_place_fail(at, BSM_CORRUPT,
                        "has %zu alternatives of a union instead of one",
                        present);
}

bsm_status bsm_xr_unknown_tag(const bsm_xr *r, const bsm_place *at) {
  return bsm_place_fail(at, BSM_CORRUPT,
                        "is not known to schema 8.20, the newest that can be "
                        "read; the file's is %lld.%lld",
                        (long long)r->program->schema_major,
                        (long long)r->program->schema_minor);
}

/* ---- plain values ---- */

static bsm_status read_none(bsm_xr *r, const bsm_place *at,
                            bsm_exported_arg *out) {
  (void)r;
  (void)at;
  (void)out;
  return BSM_OK;
}

static bsm_status read_int(bsm_xr *r, const bsm_place *at,
                           bsm_exported_arg *out) {
  (void)r;
  return bsm_place_int(at, &out->u.i);
}

static bsm_status read_float(bsm_xr *r, const bsm_place *at,
                             bsm_exported_arg *out) {
  (void)r;
  return bsm_place_double(at, &out->u.d);
}

static bsm_status read_bool(bsm_xr *r, const bsm_place *at,
                            bsm_exported_arg *out) {
  (void)r;
  return bsm_place_bool(at, &out->u.b);
}

static bsm_status read_string(bsm_xr *r, const bsm_place *at,
                              bsm_exported_arg *out) {
  return bsm_xr_name(r, at, &out->u.s);
}

static bsm_status read_complex(bsm_xr *r, const bsm_place *at,
                               bsm_exported_arg *out) {
  bsm_place real, imag;
  (void)r;
  BSM_TRY(bsm_place_field(at, "real", &real));
  BSM_TRY(bsm_place_field(at, "imag", &imag));
  BSM_TRY(bsm_place_double(&real, &out->u.c.re));
  return bsm_place_double(&imag, &out->u.c.im);
}

static bsm_status read_scalar_type(bsm_xr *r, const bsm_place *at,
                                   bsm_exported_arg *out) {
  (void)r;
  return bsm_xr_dtype(at, &out->u.dtype.dtype, &out->u.dtype.name);
}

static bsm_status read_memory_format(bsm_xr *r, const bsm_place *at,
                                     bsm_exported_arg *out) {
  (void)r;
  return bsm_xr_memory_format(at, &out->u.i);
}

static bsm_status read_layout(bsm_xr *r, const bsm_place *at,
                              bsm_exported_arg *out) {
  bsm_exported_layout layout;
  (void)r;
  BSM_TRY(bsm_xr_layout(at, &layout));
  out->u.i = layout;
  return BSM_OK;
}

static bsm_status read_device(bsm_xr *r, const bsm_place *at,
                              bsm_exported_arg *out) {
  (void)r;
  return bsm_xr_device(at, &out->u.device);
}

/* ---- values of the graph ---- */

static bsm_status read_tensor(bsm_xr *r, const bsm_place *at,
                              bsm_exported_arg *out) {
  return bsm_xr_field_name(r, at, "name", &out->u.s);
}

/* {"as_tensor": {"name": ...}} or {"as_none": ...}: NULL. */
static bsm_status optional_name(bsm_xr *r, const bsm_place *at,
                                const char **out) {
  bsm_place item;
  *out = NULL;
  BSM_TRY(bsm_xr_union(at, &item));
  if (strcmp(item.key, "as_none") == 0) return BSM_OK;
  if (strcmp(item.key, "as_tensor") != 0) return bsm_xr_unknown_tag(r, &item);
  return bsm_xr_field_name(r, &item, "name", out);
}

static bsm_status read_optional_tensor(bsm_xr *r, const bsm_place *at,
                                       bsm_exported_arg *out) {
  return optional_name(r, at, &out->u.s);
}

static bsm_status read_custom_obj(bsm_xr *r, const bsm_place *at,
                                  bsm_exported_arg *out) {
  BSM_TRY(bsm_xr_field_name(r, at, "name", &out->u.custom_obj.name));
  return bsm_xr_field_name(r, at, "class_fqn", &out->u.custom_obj.class_name);
}

static bsm_status read_graph(bsm_xr *r, const bsm_place *at,
                             bsm_exported_arg *out) {
  const char *name = "";
  bsm_place graph;
  BSM_TRY(bsm_xr_field_name(r, at, "name", &name));
  BSM_TRY(bsm_place_field(at, "graph", &graph));
  return bsm_xr_graph(r, &graph, name, &out->u.graph);
}

/* {"as_name": "sym_size_int"} or {"as_int": 3}. */
static bsm_status sym_arg(bsm_xr *r, const bsm_place *at, bsm_sym_kind kind,
                          bsm_exported_sym_arg *out) {
  bsm_place item;
  *out = (bsm_exported_sym_arg){.number.kind = kind};
  BSM_TRY(bsm_xr_union(at, &item));
  if (strcmp(item.key, "as_name") == 0)
    return bsm_xr_name(r, &item, &out->name);
  if (kind == BSM_SYM_KIND_INT && strcmp(item.key, "as_int") == 0) {
    return bsm_place_int(&item, &out->number.i);
  }
  if (kind == BSM_SYM_KIND_FLOAT && strcmp(item.key, "as_float") == 0) {
    return bsm_place_double(&item, &out->number.d);
  }
  if (kind == BSM_SYM_KIND_BOOL && strcmp(item.key, "as_bool") == 0) {
    bool value = false;
    BSM_TRY(bsm_place_bool(&item, &value));
    out->number.i = value;
    return BSM_OK;
  }
  return bsm_xr_unknown_tag(r, &item);
}

static bsm_status sym_args(bsm_xr *r, const bsm_place *at, bsm_sym_kind kind,
                           bsm_exported_arg *out) {
  size_t len = 0;
  BSM_TRY(bsm_place_array(at, &len));
  bsm_exported_sym_arg *items =
      BSM_NEW_ARRAY(r->arena, bsm_exported_sym_arg, len + 1);
  BSM_TRY_ALLOC(items);
  for (size_t i = 0; i < len; i++) {
    const bsm_place item = bsm_place_item(at, i);
    BSM_TRY(sym_arg(r, &item, kind, &items[i]));
  }
  out->u.syms.items = items;
  out->u.syms.len = len;
  return BSM_OK;
}

static bsm_status read_sym_int(bsm_xr *r, const bsm_place *at,
                               bsm_exported_arg *out) {
  return sym_arg(r, at, BSM_SYM_KIND_INT, &out->u.sym);
}

static bsm_status read_sym_ints(bsm_xr *r, const bsm_place *at,
                                bsm_exported_arg *out) {
  return sym_args(r, at, BSM_SYM_KIND_INT, out);
}

static bsm_status read_sym_float(bsm_xr *r, const bsm_place *at,
                                 bsm_exported_arg *out) {
  return sym_arg(r, at, BSM_SYM_KIND_FLOAT, &out->u.sym);
}

static bsm_status read_sym_floats(bsm_xr *r, const bsm_place *at,
                                  bsm_exported_arg *out) {
  return sym_args(r, at, BSM_SYM_KIND_FLOAT, out);
}

static bsm_status read_sym_bool(bsm_xr *r, const bsm_place *at,
                                bsm_exported_arg *out) {
  return sym_arg(r, at, BSM_SYM_KIND_BOOL, &out->u.sym);
}

static bsm_status read_sym_bools(bsm_xr *r, const bsm_place *at,
                                 bsm_exported_arg *out) {
  return sym_args(r, at, BSM_SYM_KIND_BOOL, out);
}

/* ---- lists ---- */

static bsm_status read_ints(bsm_xr *r, const bsm_place *at,
                            bsm_exported_arg *out) {
  size_t len = 0;
  BSM_TRY(bsm_place_array(at, &len));
  int64_t *items = BSM_NEW_ARRAY(r->arena, int64_t, len + 1);
  BSM_TRY_ALLOC(items);
  for (size_t i = 0; i < len; i++) {
    const bsm_place item = bsm_place_item(at, i);
    BSM_TRY(bsm_place_int(&item, &items[i]));
  }
  out->u.ints.items = items;
  out->u.ints.len = len;
  return BSM_OK;
}

static bsm_status read_floats(bsm_xr *r, const bsm_place *at,
                              bsm_exported_arg *out) {
  size_t len = 0;
  BSM_TRY(bsm_place_array(at, &len));
  double *items = BSM_NEW_ARRAY(r->arena, double, len + 1);
  BSM_TRY_ALLOC(items);
  for (size_t i = 0; i < len; i++) {
    const bsm_place item = bsm_place_item(at, i);
    BSM_TRY(bsm_place_double(&item, &items[i]));
  }
  out->u.floats.items = items;
  out->u.floats.len = len;
  return BSM_OK;
}

static bsm_status read_bools(bsm_xr *r, const bsm_place *at,
                             bsm_exported_arg *out) {
  size_t len = 0;
  BSM_TRY(bsm_place_array(at, &len));
  bool *items = BSM_NEW_ARRAY(r->arena, bool, len + 1);
  BSM_TRY_ALLOC(items);
  for (size_t i = 0; i < len; i++) {
    const bsm_place item = bsm_place_item(at, i);
    BSM_TRY(bsm_place_bool(&item, &items[i]));
  }
  out->u.bools.items = items;
  out->u.bools.len = len;
  return BSM_OK;
}

static bsm_status read_strings(bsm_xr *r, const bsm_place *at,
                               bsm_exported_arg *out) {
  bsm_xr_names names;
  BSM_TRY(bsm_xr_names_read(r, at, &names));
  out->u.strings.items = names.items;
  out->u.strings.len = names.len;
  return BSM_OK;
}

/* Names of tensors; each as `{"name": ...}`, or a union with none. */
static bsm_status tensor_names(bsm_xr *r, const bsm_place *at, bool optional,
                               bsm_exported_arg *out) {
  size_t len = 0;
  BSM_TRY(bsm_place_array(at, &len));
  const char **names = BSM_NEW_ARRAY(r->arena, const char *, len + 1);
  BSM_TRY_ALLOC(names);
  for (size_t i = 0; i < len; i++) {
    const bsm_place item = bsm_place_item(at, i);
    if (optional) {
      BSM_TRY(optional_name(r, &item, &names[i]));
    } else {
      BSM_TRY(bsm_xr_field_name(r, &item, "name", &names[i]));
    }
  }
  out->u.strings.items = names;
  out->u.strings.len = len;
  return BSM_OK;
}

static bsm_status read_tensors(bsm_xr *r, const bsm_place *at,
                               bsm_exported_arg *out) {
  return tensor_names(r, at, false, out);
}

static bsm_status read_optional_tensors(bsm_xr *r, const bsm_place *at,
                                        bsm_exported_arg *out) {
  return tensor_names(r, at, true, out);
}

/* ---- lists of lists ---- */

static bsm_status read_lists(bsm_xr *r, const bsm_place *at,
                             bsm_exported_tag tag, arg_reader read,
                             bsm_exported_arg *out) {
  size_t len = 0;
  BSM_TRY(bsm_place_array(at, &len));
  bsm_exported_arg *items = BSM_NEW_ARRAY(r->arena, bsm_exported_arg, len + 1);
  BSM_TRY_ALLOC(items);
  for (size_t i = 0; i < len; i++) {
    const bsm_place item = bsm_place_item(at, i);
    items[i].tag = tag;
    BSM_TRY(read(r, &item, &items[i]));
  }
  out->u.list.items = items;
  out->u.list.len = len;
  return BSM_OK;
}

static bsm_status read_nested_tensors(bsm_xr *r, const bsm_place *at,
                                      bsm_exported_arg *out) {
  return read_lists(r, at, BSM_EXPORTED_TENSORS, read_tensors, out);
}

static bsm_status read_int_lists(bsm_xr *r, const bsm_place *at,
                                 bsm_exported_arg *out) {
  return read_lists(r, at, BSM_EXPORTED_INTS, read_ints, out);
}

static bsm_status read_float_lists(bsm_xr *r, const bsm_place *at,
                                   bsm_exported_arg *out) {
  return read_lists(r, at, BSM_EXPORTED_FLOATS, read_floats, out);
}

static bsm_status read_dict(bsm_xr *r, const bsm_place *at,
                            bsm_exported_arg *out) {
  size_t len = 0, i = 0;
  BSM_TRY(bsm_place_check_object(at, &len));
  bsm_exported_arg *items = BSM_NEW_ARRAY(r->arena, bsm_exported_arg, len + 1);
  const char **keys = BSM_NEW_ARRAY(r->arena, const char *, len + 1);
  BSM_TRY_ALLOC(items);
  BSM_TRY_ALLOC(keys);
  bsm_place item;
  for (bsm_place_iterator it = {0}; bsm_place_next(at, &it, &item); i++) {
    keys[i] = bsm_intern(&r->cx->names, bsm_str_of(item.key));
    BSM_TRY_ALLOC(keys[i]);
    BSM_TRY(bsm_xr_arg(r, &item, &items[i]));
  }
  out->u.list.items = items;
  out->u.list.keys = keys;
  out->u.list.len = len;
  return BSM_OK;
}

/* ---- all ---- */

static const struct {
  const char *name;
  bsm_exported_tag tag;
  arg_reader read;
} tags[] = {
    {"as_none", BSM_EXPORTED_NONE, read_none},
    {"as_tensor", BSM_EXPORTED_TENSOR, read_tensor},
    {"as_tensors", BSM_EXPORTED_TENSORS, read_tensors},
    {"as_int", BSM_EXPORTED_INT, read_int},
    {"as_ints", BSM_EXPORTED_INTS, read_ints},
    {"as_float", BSM_EXPORTED_FLOAT, read_float},
    {"as_floats", BSM_EXPORTED_FLOATS, read_floats},
    {"as_string", BSM_EXPORTED_STRING, read_string},
    {"as_strings", BSM_EXPORTED_STRINGS, read_strings},
    {"as_sym_int", BSM_EXPORTED_SYM_INT, read_sym_int},
    {"as_sym_ints", BSM_EXPORTED_SYM_INTS, read_sym_ints},
    {"as_scalar_type", BSM_EXPORTED_SCALAR_TYPE, read_scalar_type},
    {"as_memory_format", BSM_EXPORTED_MEMORY_FORMAT, read_memory_format},
    {"as_layout", BSM_EXPORTED_LAYOUT, read_layout},
    {"as_device", BSM_EXPORTED_DEVICE, read_device},
    {"as_bool", BSM_EXPORTED_BOOL, read_bool},
    {"as_bools", BSM_EXPORTED_BOOLS, read_bools},
    {"as_sym_bool", BSM_EXPORTED_SYM_BOOL, read_sym_bool},
    {"as_sym_bools", BSM_EXPORTED_SYM_BOOLS, read_sym_bools},
    {"as_graph", BSM_EXPORTED_GRAPH, read_graph},
    {"as_optional_tensors", BSM_EXPORTED_OPTIONAL_TENSORS,
     read_optional_tensors},
    {"as_custom_obj", BSM_EXPORTED_CUSTOM_OBJ, read_custom_obj},
    {"as_operator", BSM_EXPORTED_OPERATOR, read_string},
    {"as_sym_float", BSM_EXPORTED_SYM_FLOAT, read_sym_float},
    {"as_sym_floats", BSM_EXPORTED_SYM_FLOATS, read_sym_floats},
    {"as_optional_tensor", BSM_EXPORTED_OPTIONAL_TENSOR, read_optional_tensor},
    {"as_complex", BSM_EXPORTED_COMPLEX, read_complex},
    {"as_nested_tensors", BSM_EXPORTED_NESTED_TENSORS, read_nested_tensors},
    {"as_int_lists", BSM_EXPORTED_INT_LISTS, read_int_lists},
    {"as_float_lists", BSM_EXPORTED_FLOAT_LISTS, read_float_lists},
    {"as_string_to_argument", BSM_EXPORTED_STRING_TO_ARGUMENT, read_dict},
};

bsm_status bsm_xr_arg(bsm_xr *r, const bsm_place *at, bsm_exported_arg *out) {
  bsm_place item;
  *out = (bsm_exported_arg){0};
  BSM_TRY(bsm_xr_union(at, &item));
  for (size_t i = 0; i < sizeof(tags) / sizeof(*tags); i++) {
    if (strcmp(item.key, tags[i].name) != 0) continue;
    out->tag = tags[i].tag;
    return tags[i].read(r, &item, out);
  }
  return bsm_xr_unknown_tag(r, &item);
}

bsm_status bsm_xr_args(bsm_xr *r, const bsm_place *at,
                       const bsm_exported_arg **out, size_t *len) {
  *out = NULL;
  BSM_TRY(bsm_place_array(at, len));
  bsm_exported_arg *args = BSM_NEW_ARRAY(r->arena, bsm_exported_arg, *len + 1);
  BSM_TRY_ALLOC(args);
  for (size_t i = 0; i < *len; i++) {
    const bsm_place item = bsm_place_item(at, i);
    BSM_TRY(bsm_xr_arg(r, &item, &args[i]));
  }
  *out = args;
  return BSM_OK;
}
