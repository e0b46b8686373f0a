/* SPDX-License-Identifier: Apache-2.0 */
/* Constants from text: see literal.h for the forms. */
#include "aten/element.h"
#include "ir/literal.h"

typedef struct reader {
  bsm_cursor *c;
  bsm_ir_ctx *cx;
} reader;

typedef BSM_VEC(bsm_ivalue) value_vec;

static bsm_status read_value(reader *r, const bsm_type *type, bsm_ivalue *out);

static const bsm_type *unwrap(const bsm_type *type) {
  return type && type->kind == BSM_TYPE_OPTIONAL ? type->args[0] : type;
}

static bsm_status push(reader *r, value_vec *items, bsm_ivalue value) {
  return bsm_vec_push(r->cx->arena, items, value) ? BSM_OK : BSM_FAIL_OOM();
}

/* ---- tensors ---- */

/* Elements of a tensor of `dtype`, whose dims are known (or one dimension of
 * as many as there are). */
static bsm_status make_tensor(reader *r, bsm_dtype dtype, bsm_dims dims,
                              const value_vec *items, bsm_ivalue *out) {
  int64_t numel;
  if (!bsm_dims_numel(dims, &numel) || (uint64_t)numel != items->len) {
    return bsm_cursor_fail(r->c, BSM_CORRUPT, "%zu elements for a tensor of %s",
                           items->len, bsm_dims_str(dims));
  }
  if (!bsm_dtype_has_rows(dtype)) {
    return bsm_cursor_fail(r->c, BSM_UNSUPPORTED, "constant tensor of %s",
                           bsm_dtype_name(dtype));
  }
  bsm_tensor *tensor;
  BSM_TRY(bsm_tensor_new(r->cx->arena, dtype, dims, false, &tensor));
  char *data = bsm_tensor_data(tensor);
  size_t size = bsm_dtype_size(dtype);
  for (size_t i = 0; i < items->len; i++) {
    const bsm_ivalue *item = &items->items[i];
    if (item->tag == BSM_IVALUE_DOUBLE) {
      bsm_store1_f64(dtype, data + i * size, item->u.d);
    } else {
      bsm_store1_i64(dtype, data + i * size, item->u.i);
    }
  }
  *out = bsm_iv_tensor(tensor);
  return BSM_OK;
}

/* "{1., 2.}" after its type, or PyTorch's "{1}". */
static bsm_status read_elements(reader *r, value_vec *items) {
  BSM_TRY(bsm_cursor_expect(r->c, "{"));
  if (bsm_cursor_accept(r->c, "}")) return BSM_OK;
  do {
    bsm_ivalue item;
    BSM_TRY(bsm_cursor_number(r->c, &item));
    BSM_TRY(push(r, items, item));
  } while (bsm_cursor_accept(r->c, ","));
  return bsm_cursor_expect(r->c, "}");
}

/* PyTorch's "{1}": dtype and rank are those of the place. */
static bsm_status read_single(reader *r, const bsm_type *type,
                              bsm_ivalue *out) {
  value_vec items = {0};
  BSM_TRY(read_elements(r, &items));
  bool real = items.len && items.items[0].tag == BSM_IVALUE_DOUBLE;
  bsm_dtype dtype = type->has_dtype ? type->dtype
                    : real          ? BSM_DTYPE_FLOAT
                                    : BSM_DTYPE_INT64;
  bsm_dims dims = {0};
  if (bsm_type_has_sizes(type)) dims = type->dims;
  return make_tensor(r, dtype, dims, &items, out);
}

/* "CPUFloatType{2,2} ]" after the "[". */
static bsm_status read_printed_type(reader *r, bsm_dtype *dtype,
                                    bsm_dims *dims) {
  bsm_str name = bsm_cursor_name(r->c, false);
  bsm_str part = name;
  for (int i = 0; i < 2; i++) {
    bsm_str prefix = i ? BSM_STR("CUDA") : BSM_STR("CPU");
    if (bsm_str_starts_with(part, prefix)) {
      part = (bsm_str){part.data + prefix.len, part.len - prefix.len};
    }
  }
  if (bsm_str_ends_with(part, BSM_STR("Type"))) part.len -= strlen("Type");
  if (!bsm_dtype_from_ir_name(part, dtype)) {
    return bsm_cursor_fail(r->c, BSM_CORRUPT, "unknown tensor type '%.*s'",
                           (int)(name.len < 64 ? name.len : 64), name.data);
  }
  BSM_TRY(bsm_cursor_expect(r->c, "{"));
  while (!bsm_cursor_accept(r->c, "}")) {
    if (dims->rank == BSM_MAX_RANK) {
      return bsm_cursor_fail(r->c, BSM_LIMIT, "tensor of rank above %d",
                             BSM_MAX_RANK);
    }
    BSM_TRY(bsm_cursor_int(r->c, &dims->d[dims->rank++]));
    (void)bsm_cursor_accept(r->c, ",");
  }
  return bsm_cursor_expect(r->c, "]");
}

/* "(1,.,.) =": the plane that the following rows belong to. */
static bsm_status skip_plane(reader *r) {
  do {
    int64_t index;
    if (bsm_cursor_accept(r->c, ".")) continue;
    BSM_TRY(bsm_cursor_int(r->c, &index));
  } while (bsm_cursor_accept(r->c, ","));
  BSM_TRY(bsm_cursor_expect(r->c, ")"));
  return bsm_cursor_expect(r->c, "=");
}

/* A tensor as PyTorch prints it: "0.01 *  1  2  3 [ CPUFloatType{3} ]". The
 * digits are those that were printed, about five. */
static bsm_status read_printed(reader *r, bsm_ivalue *out) {
  value_vec items = {0};
  double scale = 1;
  while (!bsm_cursor_accept(r->c, "[")) {
    if (bsm_cursor_accept(r->c, "(")) {
      BSM_TRY(skip_plane(r));
      continue;
    }
    bsm_ivalue item;
    if (bsm_cursor_word(r->c, "Columns")) {
      return bsm_cursor_fail(r->c, BSM_UNSUPPORTED,
                             "tensor that is printed in groups of columns");
    }
    BSM_TRY(bsm_cursor_number(r->c, &item));
    if (bsm_cursor_accept(r->c, "*")) {
      scale = item.tag == BSM_IVALUE_INT ? (double)item.u.i : item.u.d;
    } else {
      BSM_TRY(push(r, &items, item));
    }
  }
  for (size_t i = 0; scale != 1 && i < items.len; i++) {
    const bsm_ivalue item = items.items[i];
    double value = item.tag == BSM_IVALUE_INT ? (double)item.u.i : item.u.d;
    items.items[i] = bsm_iv_double(value * scale);
  }
  bsm_dtype dtype;
  bsm_dims dims = {0};
  BSM_TRY(read_printed_type(r, &dtype, &dims));
  return make_tensor(r, dtype, dims, &items, out);
}

/* "Float(2, 2){..}": the cursor stands at a ScalarType's name. */
static bsm_status read_typed_tensor(reader *r, bsm_ivalue *out) {
  const bsm_type *type;
  BSM_TRY(bsm_cursor_type(r->c, r->cx->types, &type));
  if (type->kind != BSM_TYPE_TENSOR || !type->has_dtype ||
      !bsm_type_has_sizes(type)) {
    return bsm_cursor_fail(r->c, BSM_CORRUPT, "expected a tensor's full type");
  }
  value_vec items = {0};
  BSM_TRY(read_elements(r, &items));
  return make_tensor(r, type->dtype, type->dims, &items, out);
}

/* ---- containers ---- */

static bsm_status read_list(reader *r, const bsm_type *type, bsm_ivalue *out) {
  const bsm_type *elem = NULL;
  if (type && type->kind == BSM_TYPE_LIST) elem = type->args[0];
  bsm_list *list;
  BSM_TRY(bsm_list_new(r->cx->arena, elem, 0, &list));
  while (!bsm_cursor_accept(r->c, "]")) {
    bsm_ivalue item;
    BSM_TRY(read_value(r, elem, &item));
    BSM_TRY(bsm_list_append(list, item));
    if (!bsm_cursor_accept(r->c, ",")) {
      BSM_TRY(bsm_cursor_expect(r->c, "]"));
      break;
    }
  }
  *out = bsm_iv_list(list);
  return BSM_OK;
}

static bsm_status read_tuple(reader *r, const bsm_type *type, bsm_ivalue *out) {
  bool typed = type && type->kind == BSM_TYPE_TUPLE;
  value_vec items = {0};
  while (!bsm_cursor_accept(r->c, ")")) {
    bsm_ivalue item;
    const bsm_type *elem =
        typed && items.len < type->arg_count ? type->args[items.len] : NULL;
    BSM_TRY(read_value(r, elem, &item));
    BSM_TRY(push(r, &items, item));
    if (!bsm_cursor_accept(r->c, ",")) {
      BSM_TRY(bsm_cursor_expect(r->c, ")"));
      break;
    }
  }
  bsm_tuple *tuple;
  BSM_TRY(bsm_tuple_new(r->cx->arena, items.len, &tuple));
  for (size_t i = 0; i < items.len; i++) tuple->items[i] = items.items[i];
  if (typed && type->name && type->arg_count == items.len) tuple->type = type;
  *out = bsm_iv_tuple(tuple);
  return BSM_OK;
}

static bsm_status read_dict(reader *r, const bsm_type *type, bsm_ivalue *out) {
  bool typed = type && type->kind == BSM_TYPE_DICT;
  const bsm_type *key_type = typed ? type->args[0] : NULL;
  const bsm_type *value_type = typed ? type->args[1] : NULL;
  bsm_dict *dict;
  BSM_TRY(bsm_dict_new(r->cx->arena, key_type, value_type, &dict));
  while (!bsm_cursor_accept(r->c, "}")) {
    bsm_ivalue key, value;
    BSM_TRY(read_value(r, key_type, &key));
    if (key.tag != BSM_IVALUE_INT && key.tag != BSM_IVALUE_DOUBLE &&
        key.tag != BSM_IVALUE_BOOL && key.tag != BSM_IVALUE_STRING) {
      return bsm_cursor_fail(r->c, BSM_CORRUPT, "%s as the key of a dict",
                             bsm_iv_tag_name(key.tag));
    }
    BSM_TRY(bsm_cursor_expect(r->c, ":"));
    BSM_TRY(read_value(r, value_type, &value));
    BSM_TRY(bsm_dict_set(dict, key, value));
    if (!bsm_cursor_accept(r->c, ",")) {
      BSM_TRY(bsm_cursor_expect(r->c, "}"));
      break;
    }
  }
  *out = bsm_iv_dict(dict);
  return BSM_OK;
}

/* ---- scalars and words ---- */

/* "cpu", "cuda:0". */
static bsm_status read_device(reader *r, bsm_str text, bsm_ivalue *out) {
  const char *colon = memchr(text.data, ':', text.len);
  bsm_str name = {text.data, colon ? (size_t)(colon - text.data) : text.len};
  int64_t index = -1;
  if (colon) {
    bsm_str rest = {colon + 1, text.len - name.len - 1};
    if (!bsm_parse_i64(rest, &index) || index < 0 || index > 127) {
      return bsm_cursor_fail(r->c, BSM_CORRUPT, "malformed device");
    }
  }
  int8_t kind = 2;
  if (bsm_str_eq(name, BSM_STR("cpu"))) kind = 0;
  if (bsm_str_eq(name, BSM_STR("cuda"))) kind = 1;
  *out =
      (bsm_ivalue){.tag = BSM_IVALUE_DEVICE, .u.device = {kind, (int8_t)index}};
  return BSM_OK;
}

/* A number: the type of the place makes an integer a float or a bool. */
static bsm_status read_number(reader *r, const bsm_type *type,
                              bsm_ivalue *out) {
  BSM_TRY(bsm_cursor_number(r->c, out));
  bsm_cursor *c = r->c;
  char next = c->pos < c->text.len ? c->text.data[c->pos] : '\0';
  double re = out->tag == BSM_IVALUE_INT ? (double)out->u.i : out->u.d;
  if (next == 'j') {
    c->pos++;
    *out = (bsm_ivalue){.tag = BSM_IVALUE_COMPLEX, .u.c = {0, re}};
    return BSM_OK;
  }
  if (next == '+' || next == '-') {
    bsm_ivalue im;
    if (next == '+') c->pos++;
    BSM_TRY(bsm_cursor_number(c, &im));
    BSM_TRY(bsm_cursor_expect(c, "j"));
    *out = (bsm_ivalue){
        .tag = BSM_IVALUE_COMPLEX,
        .u.c = {re, im.tag == BSM_IVALUE_INT ? (double)im.u.i : im.u.d}};
    return BSM_OK;
  }
  if (out->tag != BSM_IVALUE_INT || !type) return BSM_OK;
  if (type->kind == BSM_TYPE_FLOAT) *out = bsm_iv_double(re);
  if (type->kind == BSM_TYPE_BOOL) *out = bsm_iv_bool(out->u.i != 0);
  return BSM_OK;
}

static bsm_status read_complex(reader *r, bsm_ivalue *out) {
  bsm_ivalue parts[2];
  BSM_TRY(bsm_cursor_expect(r->c, "("));
  BSM_TRY(bsm_cursor_number(r->c, &parts[0]));
  BSM_TRY(bsm_cursor_expect(r->c, ","));
  BSM_TRY(bsm_cursor_number(r->c, &parts[1]));
  BSM_TRY(bsm_cursor_expect(r->c, ")"));
  double v[2];
  for (int i = 0; i < 2; i++) {
    v[i] = parts[i].tag == BSM_IVALUE_INT ? (double)parts[i].u.i : parts[i].u.d;
  }
  *out = (bsm_ivalue){.tag = BSM_IVALUE_COMPLEX, .u.c = {v[0], v[1]}};
  return BSM_OK;
}

static bsm_status read_annotate(reader *r, bsm_ivalue *out) {
  const bsm_type *type;
  BSM_TRY(bsm_cursor_expect(r->c, "("));
  BSM_TRY(bsm_cursor_type(r->c, r->cx->types, &type));
  BSM_TRY(bsm_cursor_expect(r->c, ","));
  BSM_TRY(read_value(r, type, out));
  return bsm_cursor_expect(r->c, ")");
}

/* "__torch__.Color.RED": an item of an enum that this context knows. */
static bsm_status read_enum(reader *r, bsm_str name, bsm_ivalue *out) {
  size_t dot = name.len;
  while (dot > 0 && name.data[dot - 1] != '.') dot--;
  if (dot < 2) {
    r->c->pos -= name.len;
    return bsm_cursor_fail(r->c, BSM_CORRUPT, "expected a value");
  }
  const char *cls = bsm_arena_strndup(r->cx->arena, name.data, dot - 1);
  const char *item =
      bsm_arena_strndup(r->cx->arena, name.data + dot, name.len - dot);
  const bsm_type *type = cls ? bsm_type_class(r->cx->types, cls) : NULL;
  if (!item || !type) return BSM_FAIL_OOM();
  const bsm_ivalue *value = bsm_class_find_constant(type->cls, item);
  if (!value) {
    return bsm_cursor_fail(r->c, BSM_UNSUPPORTED,
                           "'%s.%s' is not known without its model", cls, item);
  }
  *out = *value;
  return BSM_OK;
}

/* A value that starts with a letter. */
static bsm_status read_word(reader *r, const bsm_type *type, bsm_ivalue *out) {
  size_t start = r->c->pos;
  bsm_str word = bsm_cursor_name(r->c, true);
  bsm_dtype dtype;
  if (bsm_str_eq(word, BSM_STR("None"))) {
    *out = bsm_iv_none();
  } else if (bsm_str_eq(word, BSM_STR("True")) ||
             bsm_str_eq(word, BSM_STR("False"))) {
    *out = bsm_iv_bool(word.len == 4);
  } else if (bsm_str_eq(word, BSM_STR("inf")) ||
             bsm_str_eq(word, BSM_STR("nan"))) {
    r->c->pos = start;
    return type && type->kind == BSM_TYPE_TENSOR ? read_printed(r, out)
                                                 : read_number(r, type, out);
  } else if (bsm_str_eq(word, BSM_STR("complex"))) {
    return read_complex(r, out);
  } else if (bsm_str_eq(word, BSM_STR("annotate"))) {
    return read_annotate(r, out);
  } else if (bsm_dtype_from_ir_name(word, &dtype)) {
    r->c->pos = start;
    return read_typed_tensor(r, out);
  } else {
    return read_enum(r, word, out);
  }
  return BSM_OK;
}

static bsm_status read_bare(reader *r, const bsm_type *type, bsm_ivalue *out) {
  char ch = bsm_cursor_peek(r->c);
  bool tensor = type && type->kind == BSM_TYPE_TENSOR;
  if (ch == '"' || ch == '\'') {
    bsm_str text;
    BSM_TRY(bsm_cursor_string(r->c, &text));
    if (type && type->kind == BSM_TYPE_DEVICE) return read_device(r, text, out);
    return bsm_iv_string(r->cx->arena, text, out);
  }
  if ((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_') {
    return read_word(r, type, out);
  }
  if (tensor && ch == '{') return read_single(r, type, out);
  if (tensor) return read_printed(r, out);
  if (bsm_cursor_accept(r->c, "[")) return read_list(r, type, out);
  if (bsm_cursor_accept(r->c, "(")) return read_tuple(r, type, out);
  if (bsm_cursor_accept(r->c, "{")) return read_dict(r, type, out);
  return read_number(r, type, out);
}

static bsm_status read_value(reader *r, const bsm_type *type, bsm_ivalue *out) {
  BSM_TRY(bsm_cursor_enter(r->c));
  if (bsm_cursor_peek(r->c) == '<') {
    return bsm_cursor_fail(r->c, BSM_UNSUPPORTED,
                           "value whose data the text does not hold");
  }
  BSM_TRY(read_bare(r, unwrap(type), out));
  bsm_cursor_leave(r->c);
  return BSM_OK;
}

/* "<Tensor: Float(3)>", or "<Tensor>" where the place tells dtype and dims. */
static bsm_status read_placeholder(reader *r, const bsm_type *type,
                                   const bsm_type **out) {
  if (bsm_cursor_accept(r->c, ":")) {
    BSM_TRY(bsm_cursor_type(r->c, r->cx->types, &type));
  }
  BSM_TRY(bsm_cursor_expect(r->c, ">"));
  if (!type || type->kind != BSM_TYPE_TENSOR) {
    return bsm_cursor_fail(r->c, BSM_CORRUPT, "expected a tensor's type");
  }
  *out = type;
  return BSM_OK;
}

bsm_status bsm_literal_read(bsm_cursor *c, bsm_ir_ctx *cx, const bsm_type *type,
                            bsm_ivalue *out, const bsm_type **placeholder) {
  reader r = {c, cx};
  *placeholder = NULL;
  *out = bsm_iv_none();
  if (bsm_cursor_accept(c, "<Tensor")) {
    return read_placeholder(&r, unwrap(type), placeholder);
  }
  return read_value(&r, type, out);
}
