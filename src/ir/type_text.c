/* SPDX-License-Identifier: Apache-2.0 */
/* Types as text: printing in two styles, and one reader for both styles and
 * for schemas, which write "(a!)" after types. */
#include "ir/cursor.h"
#include "ir/literal.h"

/* Names of the types without parts, in both styles. */
typedef struct simple_name {
  const char *name;
  bsm_type_kind kind;
} simple_name;

/* The first name of a kind is how IR text prints it. */
static const simple_name simple_names[] = {
    {"Tensor", BSM_TYPE_TENSOR},
    {"int", BSM_TYPE_INT},
    {"float", BSM_TYPE_FLOAT},
    {"bool", BSM_TYPE_BOOL},
    {"complex", BSM_TYPE_COMPLEX},
    {"Scalar", BSM_TYPE_NUMBER},
    {"number", BSM_TYPE_NUMBER},
    {"str", BSM_TYPE_STRING},
    {"Device", BSM_TYPE_DEVICE},
    {"NoneType", BSM_TYPE_NONE},
    {"None", BSM_TYPE_NONE},
    {"Any", BSM_TYPE_ANY},
    {"Function", BSM_TYPE_FUNCTION},
    {"Generator", BSM_TYPE_GENERATOR},
    {"Stream", BSM_TYPE_STREAM},
    {"Storage", BSM_TYPE_STORAGE},
    {"QScheme", BSM_TYPE_QSCHEME},
    {"Capsule", BSM_TYPE_CAPSULE},
    {"Layout", BSM_TYPE_INT},
    {"ScalarType", BSM_TYPE_INT},
    {"MemoryFormat", BSM_TYPE_INT},
    {"SymInt", BSM_TYPE_INT},
    {"SymFloat", BSM_TYPE_FLOAT},
    {"SymBool", BSM_TYPE_BOOL},
    {"Dimname", BSM_TYPE_STRING},
    {"DeviceIndex", BSM_TYPE_INT},
    {"DeviceObjType", BSM_TYPE_DEVICE},
    {"double", BSM_TYPE_FLOAT},
    {"long", BSM_TYPE_INT},
};

static const struct dtype_name {
  const char *name;
  bsm_dtype dtype;
} dtype_names[] = {
    {"Float", BSM_DTYPE_FLOAT},
    {"Double", BSM_DTYPE_DOUBLE},
    {"Half", BSM_DTYPE_HALF},
    {"BFloat16", BSM_DTYPE_BFLOAT16},
    {"Float8_e4m3fn", BSM_DTYPE_FLOAT8_E4M3FN},
    {"Float8_e5m2", BSM_DTYPE_FLOAT8_E5M2},
    {"Long", BSM_DTYPE_INT64},
    {"Int", BSM_DTYPE_INT32},
    {"Short", BSM_DTYPE_INT16},
    {"Char", BSM_DTYPE_INT8},
    {"Byte", BSM_DTYPE_UINT8},
    {"Bool", BSM_DTYPE_BOOL},
    {"ComplexHalf", BSM_DTYPE_COMPLEX_HALF},
    {"ComplexFloat", BSM_DTYPE_COMPLEX_FLOAT},
    {"ComplexDouble", BSM_DTYPE_COMPLEX_DOUBLE},
    {"QInt8", BSM_DTYPE_QINT8},
    {"QUInt8", BSM_DTYPE_QUINT8},
    {"QInt32", BSM_DTYPE_QINT32},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- printing ---- */

static const char *dtype_text(bsm_dtype dtype) {
  for (size_t i = 0; i < COUNT(dtype_names); i++) {
    if (dtype_names[i].dtype == dtype) return dtype_names[i].name;
  }
  return "Undefined";
}

static void print_tensor(bsm_text *text, const bsm_type *type) {
  bsm_text_puts(text, type->has_dtype ? dtype_text(type->dtype) : "Tensor");
  if (!type->has_dims) {
    if (type->has_dtype) bsm_text_puts(text, "Tensor");
    return;
  }
  bsm_text_puts(text, "(");
  for (int32_t i = 0; i < type->dims.rank; i++) {
    if (i) bsm_text_puts(text, ", ");
    if (type->dims.d[i] < 0) {
      bsm_text_puts(text, "*");
    } else {
      bsm_text_printf(text, "%lld", (long long)type->dims.d[i]);
    }
  }
  bsm_text_puts(text, ")");
}

static void print_args(bsm_text *text, const bsm_type *type,
                       bsm_type_style style, const char *open,
                       const char *close) {
  bsm_text_puts(text, open);
  for (size_t i = 0; i < type->arg_count; i++) {
    if (i) bsm_text_puts(text, ", ");
    if (type->field_names && style == BSM_TYPE_STYLE_IR) {
      bsm_text_printf(text, "%s : ", type->field_names[i]);
    }
    bsm_type_print(text, type->args[i], style);
  }
  bsm_text_puts(text, close);
}

static void print_ir(bsm_text *text, const bsm_type *type) {
  switch (type->kind) {
    case BSM_TYPE_TENSOR:
      print_tensor(text, type);
      return;
    case BSM_TYPE_LIST:
      bsm_type_print(text, type->args[0], BSM_TYPE_STYLE_IR);
      if (type->size > 0) {
        bsm_text_printf(text, "[%lld]", (long long)type->size);
      } else {
        bsm_text_puts(text, "[]");
      }
      return;
    case BSM_TYPE_OPTIONAL:
      bsm_type_print(text, type->args[0], BSM_TYPE_STYLE_IR);
      bsm_text_puts(text, "?");
      return;
    case BSM_TYPE_TUPLE:
      /* PyTorch leaves the tuple's name out; ours reads back. */
      if (type->name) bsm_text_printf(text, "NamedTuple[%s]", type->name);
      print_args(text, type, BSM_TYPE_STYLE_IR, "(", ")");
      return;
    case BSM_TYPE_DICT:
      print_args(text, type, BSM_TYPE_STYLE_IR, "Dict(", ")");
      return;
    case BSM_TYPE_UNION:
      print_args(text, type, BSM_TYPE_STYLE_IR, "Union(", ")");
      return;
    case BSM_TYPE_FUTURE:
      print_args(text, type, BSM_TYPE_STYLE_IR, "Future(", ")");
      return;
    case BSM_TYPE_RREF:
      print_args(text, type, BSM_TYPE_STYLE_IR, "RRef(", ")");
      return;
    case BSM_TYPE_AWAIT:
      print_args(text, type, BSM_TYPE_STYLE_IR, "Await(", ")");
      return;
    case BSM_TYPE_CLASS:
      bsm_text_printf(text, type->cls->is_enum ? "Enum<%s>" : "%s", type->name);
      return;
    default:
      bsm_text_puts(text, type->name ? type->name : "?");
      return;
  }
}

static void print_python(bsm_text *text, const bsm_type *type) {
  switch (type->kind) {
    case BSM_TYPE_TENSOR:
      bsm_text_puts(text, "Tensor");
      return;
    case BSM_TYPE_NUMBER:
      bsm_text_puts(text, "number");
      return;
    case BSM_TYPE_LIST:
      print_args(text, type, BSM_TYPE_STYLE_PYTHON, "List[", "]");
      return;
    case BSM_TYPE_OPTIONAL:
      print_args(text, type, BSM_TYPE_STYLE_PYTHON, "Optional[", "]");
      return;
    case BSM_TYPE_TUPLE:
      if (type->name) {
        bsm_text_puts(text, type->name);
      } else if (type->arg_count == 0) {
        bsm_text_puts(text, "Tuple[()]");
      } else {
        print_args(text, type, BSM_TYPE_STYLE_PYTHON, "Tuple[", "]");
      }
      return;
    case BSM_TYPE_DICT:
      print_args(text, type, BSM_TYPE_STYLE_PYTHON, "Dict[", "]");
      return;
    case BSM_TYPE_UNION:
      print_args(text, type, BSM_TYPE_STYLE_PYTHON, "Union[", "]");
      return;
    case BSM_TYPE_FUTURE:
      print_args(text, type, BSM_TYPE_STYLE_PYTHON, "Future[", "]");
      return;
    case BSM_TYPE_RREF:
      print_args(text, type, BSM_TYPE_STYLE_PYTHON, "RRef[", "]");
      return;
    case BSM_TYPE_AWAIT:
      print_args(text, type, BSM_TYPE_STYLE_PYTHON, "Await[", "]");
      return;
    default:
      bsm_text_puts(text, type->name ? type->name : "?");
      return;
  }
}

void bsm_type_print(bsm_text *text, const bsm_type *type,
                    bsm_type_style style) {
  if (!type) {
    bsm_text_puts(text, "?");
    return;
  }
  bool refined = type->kind == BSM_TYPE_TENSOR &&
                 (type->has_dtype || type->has_dims) &&
                 style == BSM_TYPE_STYLE_IR;
  if (type->arg_count == 0 && !type->name && !refined &&
      !(type->kind == BSM_TYPE_NUMBER && style == BSM_TYPE_STYLE_PYTHON)) {
    for (size_t i = 0; i < COUNT(simple_names); i++) {
      if (simple_names[i].kind == type->kind) {
        bsm_text_puts(text, simple_names[i].name);
        return;
      }
    }
  }
  if (style == BSM_TYPE_STYLE_IR) {
    print_ir(text, type);
  } else {
    print_python(text, type);
  }
}

const char *bsm_type_str(bsm_arena *arena, const bsm_type *type) {
  bsm_text text;
  bsm_text_init(&text, arena);
  bsm_type_print(&text, type, BSM_TYPE_STYLE_IR);
  return text.failed ? "?" : text.data;
}

/* ---- reading ---- */

typedef struct type_reader {
  bsm_cursor *c;
  bsm_type_table *types;
  bsm_alias_text *alias; /* NULL: not a schema */
} type_reader;

static bsm_status read_type(type_reader *r, const bsm_type **out);

/* A growing list of types, and names of fields, in the cursor's arena. */
typedef BSM_VEC(const bsm_type *) type_vec;
typedef BSM_VEC(const char *) name_vec;

/* Types up to `close`, which is consumed. With `names`, "x : int" fields. */
static bsm_status read_types(type_reader *r, const char *close, type_vec *out,
                             name_vec *names) {
  if (bsm_cursor_accept(r->c, close)) return BSM_OK;
  do {
    if (names) {
      bsm_str name = bsm_cursor_name(r->c, false);
      if (!name.len) {
        return bsm_cursor_fail(r->c, BSM_CORRUPT, "expected a field name");
      }
      const char *copy = bsm_arena_strndup(r->c->arena, name.data, name.len);
      if (!copy || !bsm_vec_push(r->c->arena, names, copy)) {
        return BSM_FAIL_OOM();
      }
      BSM_TRY(bsm_cursor_expect(r->c, ":"));
    }
    const bsm_type *type;
    BSM_TRY(read_type(r, &type));
    if (!bsm_vec_push(r->c->arena, out, type)) return BSM_FAIL_OOM();
    if (names && bsm_cursor_accept(r->c, "=")) {
      return bsm_cursor_fail(r->c, BSM_UNSUPPORTED,
                             "default of a NamedTuple's field");
    }
  } while (bsm_cursor_accept(r->c, ","));
  return bsm_cursor_expect(r->c, close);
}

/* "3, *, strides=[..], requires_grad=0, device=cpu)" after the "(". PyTorch
 * 1.6 wrote strides as "3:1". */
static bsm_status read_dims(type_reader *r, bsm_dims *dims) {
  bsm_cursor *c = r->c;
  dims->rank = 0;
  if (bsm_cursor_accept(c, ")")) return BSM_OK;
  do {
    char ch = bsm_cursor_peek(c);
    int64_t size = -1;
    if (ch == '*') {
      c->pos++;
    } else if (bsm_cursor_accept(c, "SS(")) { /* a symbolic dimension */
      BSM_TRY(bsm_cursor_int(c, &size));
      size = -1;
      BSM_TRY(bsm_cursor_expect(c, ")"));
    } else if (ch >= '0' && ch <= '9') {
      int64_t stride;
      BSM_TRY(bsm_cursor_int(c, &size));
      if (bsm_cursor_accept(c, ":")) BSM_TRY(bsm_cursor_int(c, &stride));
    } else if (bsm_cursor_word(c, "strides")) {
      BSM_TRY(bsm_cursor_expect(c, "="));
      BSM_TRY(bsm_cursor_expect(c, "["));
      while (!bsm_cursor_accept(c, "]")) {
        int64_t stride;
        BSM_TRY(bsm_cursor_int(c, &stride));
        (void)bsm_cursor_accept(c, ",");
      }
      continue;
    } else if (bsm_cursor_word(c, "requires_grad")) {
      int64_t flag;
      BSM_TRY(bsm_cursor_expect(c, "="));
      BSM_TRY(bsm_cursor_int(c, &flag));
      continue;
    } else if (bsm_cursor_word(c, "device")) {
      BSM_TRY(bsm_cursor_expect(c, "="));
      if (!bsm_cursor_name(c, false).len) {
        return bsm_cursor_fail(c, BSM_CORRUPT, "expected a device");
      }
      int64_t index;
      if (bsm_cursor_accept(c, ":")) BSM_TRY(bsm_cursor_int(c, &index));
      continue;
    } else {
      return bsm_cursor_fail(c, BSM_CORRUPT, "expected a dimension");
    }
    if (dims->rank == BSM_MAX_RANK) {
      return bsm_cursor_fail(c, BSM_LIMIT, "tensor of rank above %d",
                             BSM_MAX_RANK);
    }
    dims->d[dims->rank++] = size;
  } while (bsm_cursor_accept(c, ","));
  return bsm_cursor_expect(c, ")");
}

/* Whether "(" starts dimensions and not an alias annotation. */
static bool at_dims(type_reader *r) {
  if (r->alias) return false;
  return bsm_cursor_accept(r->c, "(");
}

/* "(requires_grad=0, device=cpu)" says nothing of the rank when there is no
 * dimension and the name had the suffix "Tensor": FloatTensor(device=cpu). */
static bsm_status read_tensor(type_reader *r, bsm_dtype dtype, bool ranked,
                              const bsm_type **out) {
  bsm_dims dims = {0};
  bool parens = at_dims(r);
  if (parens) BSM_TRY(read_dims(r, &dims));
  if (bsm_cursor_accept(r->c, "[Undefined]")) parens = false;
  if (parens && (ranked || dims.rank > 0)) {
    *out = bsm_type_tensor(r->types, dtype, dims);
  } else {
    *out = bsm_type_tensor_dtype(r->types, dtype);
  }
  return *out ? BSM_OK : BSM_FAIL_OOM();
}

bool bsm_dtype_from_ir_name(bsm_str name, bsm_dtype *out) {
  for (size_t i = 0; i < COUNT(dtype_names); i++) {
    if (bsm_str_eq(name, bsm_str_of(dtype_names[i].name))) {
      *out = dtype_names[i].dtype;
      return true;
    }
  }
  return false;
}

/* A ScalarType name, alone or with the suffix "Tensor"; false otherwise. */
static bool find_dtype(bsm_str name, bsm_dtype *dtype, bool *suffixed) {
  *suffixed = bsm_str_ends_with(name, BSM_STR("Tensor"));
  if (*suffixed) name.len -= strlen("Tensor");
  return bsm_dtype_from_ir_name(name, dtype);
}

static bsm_status tuple_of(type_reader *r, const type_vec *args,
                           const bsm_type **out) {
  *out = bsm_type_tuple(r->types, args->items, args->len);
  return *out ? BSM_OK : BSM_FAIL_OOM();
}

/* "NamedTuple(x : int)" as PyTorch prints it, "NamedTuple[name](..)" as we. */
static bsm_status read_named_tuple(type_reader *r, const bsm_type **out) {
  const char *name = "";
  if (bsm_cursor_accept(r->c, "[")) {
    bsm_str text = bsm_cursor_name(r->c, true);
    name = bsm_arena_strndup(r->c->arena, text.data, text.len);
    BSM_TRY_ALLOC(name);
    BSM_TRY(bsm_cursor_expect(r->c, "]"));
  }
  type_vec args = {0};
  name_vec names = {0};
  BSM_TRY(bsm_cursor_expect(r->c, "("));
  BSM_TRY(read_types(r, ")", &args, &names));
  *out =
      bsm_type_named_tuple(r->types, name, names.items, args.items, args.len);
  return *out ? BSM_OK : BSM_FAIL_OOM();
}

/* The containers that are written with a name; false when `name` is none. */
static bsm_status read_container(type_reader *r, bsm_str name, bool *found,
                                 const bsm_type **out) {
  static const char *const names[] = {"List",  "Optional",  "Dict", "Tuple",
                                      "Union", "Future",    "RRef", "Await",
                                      "Final", "NamedTuple"};
  enum { LIST, OPTIONAL, DICT, TUPLE, UNION, FUTURE, RREF, AWAIT, FINAL };
  size_t which = 0;
  while (which < COUNT(names) && !bsm_str_eq(name, bsm_str_of(names[which]))) {
    which++;
  }
  *found = which < COUNT(names);
  if (!*found) return BSM_OK;
  if (which == COUNT(names) - 1) return read_named_tuple(r, out);

  type_vec args = {0};
  if (bsm_cursor_accept(r->c, "[")) {
    if (which == TUPLE && bsm_cursor_accept(r->c, "()")) {
      BSM_TRY(bsm_cursor_expect(r->c, "]"));
    } else {
      BSM_TRY(read_types(r, "]", &args, NULL));
    }
  } else {
    BSM_TRY(bsm_cursor_expect(r->c, "("));
    BSM_TRY(read_types(r, ")", &args, NULL));
  }
  size_t want = which == DICT ? 2 : 1;
  if (which == TUPLE) return tuple_of(r, &args, out);
  if (which == UNION ? args.len == 0 : args.len != want) {
    return bsm_cursor_fail(r->c, BSM_CORRUPT, "%s of %zu types", names[which],
                           args.len);
  }
  switch (which) {
    case LIST:
      *out = bsm_type_list(r->types, args.items[0]);
      break;
    case OPTIONAL:
      *out = bsm_type_optional(r->types, args.items[0]);
      break;
    case DICT:
      *out = bsm_type_dict(r->types, args.items[0], args.items[1]);
      break;
    case UNION:
      *out = bsm_type_union(r->types, args.items, args.len);
      break;
    case FUTURE:
      *out = bsm_type_future(r->types, args.items[0]);
      break;
    case RREF:
      *out = bsm_type_rref(r->types, args.items[0]);
      break;
    case AWAIT:
      *out = bsm_type_await(r->types, args.items[0]);
      break;
    default:
      *out = args.items[0];
      break;
  }
  return *out ? BSM_OK : BSM_FAIL_OOM();
}

/* A class by its qualified name; lower-case names in schemas are variables. */
static bsm_status read_class_or_var(type_reader *r, bsm_str name,
                                    const bsm_type **out) {
  const char *copy = bsm_arena_strndup(r->c->arena, name.data, name.len);
  BSM_TRY_ALLOC(copy);
  bool dotted = memchr(name.data, '.', name.len) != NULL;
  bool any = bsm_str_starts_with(name, BSM_STR("Any")) &&
             bsm_str_ends_with(name, BSM_STR("Type"));
  if (dotted || any) {
    *out = bsm_type_class(r->types, copy);
  } else if (r->alias && name.data[0] >= 'a' && name.data[0] <= 'z') {
    *out = bsm_type_var(r->types, copy);
  } else {
    r->c->pos -= name.len;
    return bsm_cursor_fail(r->c, BSM_CORRUPT, "unknown type '%s'", copy);
  }
  return *out ? BSM_OK : BSM_FAIL_OOM();
}

/* A type without the "[]", "?" that may follow. */
static bsm_status read_base(type_reader *r, const bsm_type **out) {
  bsm_cursor *c = r->c;
  if (bsm_cursor_accept(c, "(")) {
    type_vec args = {0};
    BSM_TRY(read_types(r, ")", &args, NULL));
    return tuple_of(r, &args, out);
  }
  bsm_str name = bsm_cursor_name(c, true);
  if (!name.len) return bsm_cursor_fail(c, BSM_CORRUPT, "expected a type");
  bsm_dtype dtype;
  bool suffixed, found;
  if (find_dtype(name, &dtype, &suffixed)) {
    return read_tensor(r, dtype, !suffixed, out);
  }
  if (bsm_str_eq(name, BSM_STR("Tensor"))) {
    return read_tensor(r, BSM_DTYPE_UNDEFINED, false, out);
  }
  for (size_t i = 0; i < COUNT(simple_names); i++) {
    if (bsm_str_eq(name, bsm_str_of(simple_names[i].name))) {
      *out = bsm_type_simple(r->types, simple_names[i].kind);
      return BSM_OK;
    }
  }
  if (bsm_str_eq(name, BSM_STR("Enum")) && bsm_cursor_accept(c, "<")) {
    bsm_str cls = bsm_cursor_name(c, true);
    if (!cls.len) return bsm_cursor_fail(c, BSM_CORRUPT, "expected a class");
    const char *copy = bsm_arena_strndup(c->arena, cls.data, cls.len);
    *out = copy ? bsm_type_class(r->types, copy) : NULL;
    BSM_TRY_ALLOC(*out);
    (*out)->cls->is_enum = true;
    return bsm_cursor_expect(c, ">");
  }
  BSM_TRY(read_container(r, name, &found, out));
  return found ? BSM_OK : read_class_or_var(r, name, out);
}

/* "(a!)", "(a -> *)", "(*)" in schemas. */
static bsm_status read_alias(type_reader *r) {
  bsm_cursor *c = r->c;
  if (!r->alias || c->pos >= c->text.len || c->text.data[c->pos] != '(') {
    return BSM_OK;
  }
  size_t start = ++c->pos;
  while (c->pos < c->text.len && c->text.data[c->pos] != ')') {
    char ch = c->text.data[c->pos++];
    bool letter = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z');
    if (ch == '!') r->alias->write = true;
    if (!letter && (!ch || !strchr("!|*-> 0123456789_", ch))) {
      c->pos--;
      return bsm_cursor_fail(c, BSM_CORRUPT, "malformed alias annotation");
    }
  }
  if (!r->alias->any) {
    r->alias->text = (bsm_str){c->text.data + start, c->pos - start};
  }
  r->alias->any = true;
  return bsm_cursor_expect(c, ")");
}

static bsm_status read_type(type_reader *r, const bsm_type **out) {
  bsm_cursor *c = r->c;
  BSM_TRY(bsm_cursor_enter(c));
  BSM_TRY(read_base(r, out));
  BSM_TRY(read_alias(r));
  /* Each suffix wraps: bounded like any nesting. */
  for (size_t suffixes = 0;; suffixes++) {
    if (suffixes > c->max_depth) {
      return bsm_cursor_fail(c, BSM_LIMIT, "type nested more than %zu deep",
                             c->max_depth);
    }
    if (bsm_cursor_accept(c, "?")) {
      *out = bsm_type_optional(r->types, *out);
    } else if (bsm_cursor_accept(c, "[")) {
      int64_t size = 0;
      if (bsm_cursor_peek(c) != ']') BSM_TRY(bsm_cursor_int(c, &size));
      if (size < 0 || size > 1000) {
        return bsm_cursor_fail(c, BSM_CORRUPT, "list of size %lld",
                               (long long)size);
      }
      BSM_TRY(bsm_cursor_expect(c, "]"));
      *out = bsm_type_sized_list(r->types, *out, size);
    } else {
      break;
    }
    BSM_TRY_ALLOC(*out);
    BSM_TRY(read_alias(r));
  }
  bsm_cursor_leave(c);
  return BSM_OK;
}

bsm_status bsm_cursor_type(bsm_cursor *c, bsm_type_table *types,
                           const bsm_type **out) {
  type_reader r = {c, types, NULL};
  return read_type(&r, out);
}

bsm_status bsm_cursor_schema_type(bsm_cursor *c, bsm_type_table *types,
                                  bsm_alias_text *alias, const bsm_type **out) {
  type_reader r = {c, types, alias};
  return read_type(&r, out);
}

bsm_status bsm_type_parse(bsm_type_table *types, bsm_str text,
                          const bsm_type **out) {
  *out = NULL;
  bsm_cursor c = {.text = text,
                  .name = "type",
                  .max_depth = 200,
                  .max_string = 1u << 20,
                  .arena = bsm_type_table_arena(types)};
  const bsm_type *type;
  BSM_TRY(bsm_cursor_type(&c, types, &type));
  if (bsm_cursor_peek(&c) != '\0' || c.pos < text.len) {
    return bsm_cursor_fail(&c, BSM_CORRUPT, "text after the type");
  }
  *out = type;
  return BSM_OK;
}
