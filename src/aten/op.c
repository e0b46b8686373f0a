/* SPDX-License-Identifier: Apache-2.0 */
/* The library index, and calls with checked arguments. */
#include "aten/op.h"

#include <math.h>

#include "aten/ivalue_parts.h"
#include "base/hash.h"
#include "base/memory_guard.h"

struct bsm_aten_library {
  const bsm_aten_op **ops; /* in table order */
  size_t count;
  const bsm_aten_op **slots; /* open addressing, by qualified name */
  size_t mask;
};

static size_t find_slot(const bsm_aten_library *lib, bsm_str name) {
  size_t i = (size_t)bsm_hash64(name.data, name.len, 0) & lib->mask;
  while (lib->slots[i] && !bsm_aten_is_named(lib->slots[i], name)) {
    i = (i + 1) & lib->mask;
  }
  return i;
}

bsm_status bsm_aten_library_create(bsm_arena *arena, bsm_aten_library **out) {
  bsm_aten_library *lib = BSM_NEW(arena, bsm_aten_library);
  BSM_TRY_ALLOC(lib);
  const bsm_aten_table *const *tables = bsm_linked_aten_tables;
  size_t total = 0;
  for (size_t t = 0; tables[t]; t++) total += tables[t]->count;
  size_t slots = 16;
  while (slots < total * 2) slots *= 2;
  lib->mask = slots - 1;
  lib->ops = BSM_NEW_ARRAY(arena, const bsm_aten_op *, total);
  lib->slots = BSM_NEW_ARRAY(arena, const bsm_aten_op *, slots);
  BSM_TRY_ALLOC(lib->ops);
  BSM_TRY_ALLOC(lib->slots);
  bsm_schema_text room;
  for (size_t t = 0; tables[t]; t++) {
    for (size_t i = 0; i < tables[t]->count; i++) {
      const bsm_aten_op *op = &tables[t]->ops[i];
      const bsm_str name = bsm_aten_name(op, &room);
      const size_t slot = find_slot(lib, name);
      if (lib->slots[slot]) {
        return BSM_FAIL(BSM_INTERNAL, "two rows for %.*s", (int)name.len,
                        name.data);
      }
      lib->slots[slot] = op;
      lib->ops[lib->count++] = op;
    }
  }
  *out = lib;
  return BSM_OK;
}

bsm_status bsm_aten_library_add(bsm_arena *arena, bsm_aten_library *lib,
                                const bsm_aten_op *op) {
  bsm_schema_text room;
  size_t slot = find_slot(lib, bsm_aten_name(op, &room));
  if (lib->slots[slot]) {
    for (size_t i = 0; i < lib->count; i++) {
      if (lib->ops[i] == lib->slots[slot]) lib->ops[i] = op;
    }
    lib->slots[slot] = op;
    return BSM_OK;
  }
  const bsm_aten_op **ops =
      BSM_NEW_ARRAY(arena, const bsm_aten_op *, lib->count + 1);
  BSM_TRY_ALLOC(ops);
  memcpy(ops, lib->ops, lib->count * sizeof(*ops));
  lib->ops = ops;
  if ((lib->count + 1) * 2 > lib->mask + 1) { /* keep half of the slots free */
    const size_t slots = (lib->mask + 1) * 2;
    lib->slots = BSM_NEW_ARRAY(arena, const bsm_aten_op *, slots);
    BSM_TRY_ALLOC(lib->slots);
    lib->mask = slots - 1;
    for (size_t i = 0; i < lib->count; i++) {
      const bsm_str name = bsm_aten_name(ops[i], &room);
      lib->slots[find_slot(lib, name)] = ops[i];
    }
    slot = find_slot(lib, bsm_aten_name(op, &room));
  }
  lib->ops[lib->count++] = op;
  lib->slots[slot] = op;
  return BSM_OK;
}

bool bsm_aten_only_writes(const bsm_aten_op *op) {
  static const char *const names[] = {
      "aten::copy_", "aten::zero_", "aten::fill_.Scalar", "aten::fill_.Tensor"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    if (bsm_aten_is_named(op, bsm_str_of(names[i]))) return true;
  }
  return false;
}

const bsm_aten_op *bsm_aten_find(const bsm_aten_library *library,
                                 bsm_str name) {
  return library->slots[find_slot(library, name)];
}

size_t bsm_aten_library_count(const bsm_aten_library *library) {
  return library->count;
}

const bsm_aten_op *bsm_aten_library_at(const bsm_aten_library *library,
                                       size_t index) {
  return library->ops[index];
}

/* ---- argument checks ----
 *
 * Ops unwrap their args without looking at tags, so a call checks them against
 * the schema first. The schema is scanned again for each call: it is short, and
 * nothing has to be kept. */

typedef enum arg_kind {
  KIND_ANY, /* a type variable, an object, ...: the op itself looks */
  KIND_TENSOR,
  KIND_INT,
  KIND_FLOAT,
  KIND_BOOL,
  KIND_SCALAR,
  KIND_COMPLEX,
  KIND_STR,
  KIND_DEVICE,
  KIND_DICT,
  KIND_TUPLE
} arg_kind;

typedef struct arg_type {
  arg_kind kind;
  bool optional;      /* the type itself */
  bool is_list;       /* of `kind` */
  bool list_optional; /* the list may be None */
} arg_type;

static arg_kind kind_of(bsm_str name) {
  static const struct {
    const char *name;
    arg_kind kind;
  } kinds[] = {{"Tensor", KIND_TENSOR},   {"int", KIND_INT},
               {"SymInt", KIND_INT},      {"ScalarType", KIND_INT},
               {"Layout", KIND_INT},      {"MemoryFormat", KIND_INT},
               {"float", KIND_FLOAT},     {"bool", KIND_BOOL},
               {"Scalar", KIND_SCALAR},   {"number", KIND_SCALAR},
               {"complex", KIND_COMPLEX}, {"str", KIND_STR},
               {"Device", KIND_DEVICE},   {"Dict", KIND_DICT}};
  for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
    if (name.len && name.data[0] == kinds[i].name[0] &&
        bsm_str_eq(name, bsm_str_of(kinds[i].name))) {
      return kinds[i].kind;
    }
  }
  return KIND_ANY;
}

static const char *skip_parens(const char *p) {
  int depth = 0;
  do {
    if (*p == '(') depth++;
    if (*p == ')') depth--;
    p++;
  } while (*p && depth > 0);
  return p;
}

/* Reads one type, such as "int[2]?" or "Tensor(a!)[]"; returns its end. */
static const char *scan_type(const char *p, arg_type *type) {
  *type = (arg_type){KIND_ANY, false, false, false};
  if (*p == '(') {
    type->kind = KIND_TUPLE;
    p = skip_parens(p);
  } else {
    const size_t n = strcspn(p, "([? ,)");
    type->kind = kind_of((bsm_str){p, n});
    p += n;
    if (type->kind == KIND_DICT || (type->kind == KIND_ANY && *p == '(')) {
      if (*p == '(') p = skip_parens(p);
    }
  }
  for (;; p++) {
    if (*p == '(') {
      p = skip_parens(p) - 1; /* an alias */
    } else if (*p == '?') {
      if (type->is_list) {
        type->list_optional = true;
      } else {
        type->optional = true;
      }
    } else if (*p == '[') {
      if (type->is_list) type->kind = KIND_ANY; /* a list of lists */
      type->is_list = true;
      p += strcspn(p, "]");
    } else {
      return p;
    }
    if (!*p) return p;
  }
}

static bool tag_fits(const arg_type *type, const bsm_ivalue *v) {
  if (v->tag == BSM_IVALUE_NONE && type->optional) return true;
  switch (type->kind) {
    case KIND_ANY:
      return true;
    case KIND_TENSOR:
      return v->tag == BSM_IVALUE_TENSOR && v->u.tensor;
    case KIND_INT:
      return v->tag == BSM_IVALUE_INT || v->tag == BSM_IVALUE_BOOL;
    case KIND_FLOAT:
      return v->tag == BSM_IVALUE_DOUBLE || v->tag == BSM_IVALUE_INT;
    case KIND_BOOL:
      return v->tag == BSM_IVALUE_BOOL || v->tag == BSM_IVALUE_INT;
    case KIND_SCALAR:
      return v->tag == BSM_IVALUE_INT || v->tag == BSM_IVALUE_DOUBLE ||
             v->tag == BSM_IVALUE_BOOL || v->tag == BSM_IVALUE_COMPLEX;
    case KIND_COMPLEX:
      return v->tag == BSM_IVALUE_COMPLEX || v->tag == BSM_IVALUE_INT ||
             v->tag == BSM_IVALUE_DOUBLE || v->tag == BSM_IVALUE_BOOL;
    case KIND_STR:
      return v->tag == BSM_IVALUE_STRING;
    case KIND_DEVICE:
      return v->tag == BSM_IVALUE_DEVICE;
    case KIND_DICT:
      return v->tag == BSM_IVALUE_DICT;
    case KIND_TUPLE:
      return v->tag == BSM_IVALUE_TUPLE;
  }
  return false;
}

/* Sets *meta when there is a meta tensor inside. `passes`: what is in a list of
 * any type is not looked at (BSM_ATEN_PASSES_ON). */
static bool arg_fits(const arg_type *type, const bsm_ivalue *v, bool passes,
                     bool *meta) {
  if (v->tag == BSM_IVALUE_TENSOR && v->u.tensor &&
      bsm_tensor_is_meta(v->u.tensor)) {
    *meta = true;
  }
  if (passes && type->kind == KIND_ANY && v->tag == BSM_IVALUE_LIST) {
    return true;
  }
  if (v->tag == BSM_IVALUE_LIST) {
    for (size_t i = 0; i < v->u.list->len; i++) {
      const bsm_ivalue *item = &v->u.list->items[i];
      if (item->tag == BSM_IVALUE_TENSOR && item->u.tensor &&
          bsm_tensor_is_meta(item->u.tensor)) {
        *meta = true;
      }
    }
  }
  if (!type->is_list) return tag_fits(type, v);
  if (v->tag == BSM_IVALUE_NONE) return type->list_optional;
  if (v->tag != BSM_IVALUE_LIST) return false;
  for (size_t i = 0; i < v->u.list->len; i++) {
    if (!tag_fits(type, &v->u.list->items[i])) return false;
  }
  return true;
}

/* The name and the default, which may hold lists and strings. */
static const char *skip_name(const char *p) {
  int depth = 0;
  while (*p && (depth > 0 || (*p != ',' && *p != ')'))) {
    if (*p == '[') depth++;
    if (*p == ']') depth--;
    if (*p == '"') p += 1 + strcspn(p + 1, "\"");
    if (*p) p++;
  }
  return p;
}

/* Type-checks the args, and stops at the return arrow: *end is there. */
static bsm_status check_args(const bsm_aten_op *op, const char *schema,
                             const bsm_ivalue *args, size_t n_args, bool *meta,
                             const char **end) {
  const char *p = strchr(schema, '(');
  if (!p) return BSM_FAIL(BSM_INTERNAL, "bad schema");
  size_t i = 0;
  bool varargs = false;
  const bool passes = op->flags & BSM_ATEN_PASSES_ON;
  p++;
  while (*p && *p != ')') {
    p += strspn(p, " ,");
    if (p[0] == '*' && p[1] == ',') {
      p++;
      continue;
    }
    if (strncmp(p, "...", 3) == 0) {
      varargs = true;
      p += 3;
      continue;
    }
    arg_type type;
    p = scan_type(p, &type);
    if (i >= n_args) {
      return BSM_FAIL(BSM_UNSUPPORTED, "missing argument %zu", i);
    }
    if (!arg_fits(&type, &args[i], passes, meta)) {
      return BSM_FAIL(BSM_UNSUPPORTED,
                      "argument %zu has a value of the wrong type (%s)", i,
                      bsm_iv_tag_name(args[i].tag));
    }
    if (type.kind == KIND_SCALAR && args[i].tag == BSM_IVALUE_COMPLEX &&
        !(op->flags & BSM_ATEN_COMPLEX)) {
      return BSM_FAIL(BSM_UNSUPPORTED, "a complex number as argument %zu", i);
    }
    i++;
    p = skip_name(p);
  }
  if (i < n_args && !varargs) {
    return BSM_FAIL(BSM_UNSUPPORTED, "%zu arguments, expected %zu", n_args, i);
  }
  for (; i < n_args; i++) {
    const arg_type any = {KIND_ANY, true, false, false};
    (void)arg_fits(&any, &args[i], passes, meta);
  }
  *end = p;
  return BSM_OK;
}

/* The number of values behind "->"; -1 when it varies. */
static int return_count(const char *p) {
  p = strstr(p, "->");
  if (!p) return 0;
  p += 2;
  p += strspn(p, " ");
  if (*p != '(') return 1;
  int depth = 0, count = 0;
  for (p++; *p && (depth > 0 || *p != ')'); p++) {
    if (strncmp(p, "...", 3) == 0) return -1;
    if (count == 0 && *p != ' ') count = 1;
    if (*p == '(' || *p == '[') depth++;
    if (*p == ')' || *p == ']') depth--;
    if (*p == ',' && depth == 0) count++;
  }
  /* "(Tensor, Tensor)[]" is one list of tuples. */
  if (*p == ')' && p[1] == '[') return 1;
  return count;
}

bsm_status bsm_aten_check_args(const bsm_aten_op *op, const bsm_ivalue *args,
                               size_t n_args) {
  bool meta = false;
  const char *end = NULL;
  bsm_schema_text room;
  const char *schema = bsm_aten_schema(op, &room);
  return bsm_status_note(check_args(op, schema, args, n_args, &meta, &end),
                         "in %s", schema);
}

/* Whether the schema has an argument whose type the check above leaves to the
 * op, and the value is anything but None; or any number of arguments. */
static bool has_open_args(const char *schema, const bsm_ivalue *args,
                          size_t n_args) {
  const char *p = strchr(schema, '(') + 1;
  for (size_t i = 0; *p && *p != ')'; i++) {
    p += strspn(p, " ,");
    if (p[0] == '*' && p[1] == ',') {
      p += 2 + strspn(p + 2, " ");
    }
    if (strncmp(p, "...", 3) == 0) return true;
    arg_type type;
    p = scan_type(p, &type);
    const bool open = type.kind == KIND_ANY || type.kind == KIND_DICT ||
                      type.kind == KIND_TUPLE;
    if (open && i < n_args && args[i].tag != BSM_IVALUE_NONE) return true;
    p = skip_name(p);
  }
  return false;
}

bsm_status bsm_aten_check_call(const bsm_aten_op *op, const bsm_ivalue *args,
                               size_t n_args, size_t n_outs) {
  bool meta = false;
  const char *end = NULL;
  bsm_schema_text room;
  const char *schema = bsm_aten_schema(op, &room);
  BSM_TRY_NOTE(check_args(op, schema, args, n_args, &meta, &end), "in %s",
               schema);
  if (has_open_args(schema, args, n_args)) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "an argument of a type that cannot be checked, in %s",
                    schema);
  }
  const int returns = return_count(end);
  if (returns < 0 || (size_t)returns != n_outs) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "%zu results asked of an op with %d, in %s", n_outs,
                    returns, schema);
  }
  return BSM_OK;
}

/* Views repeat elements at no cost (expand), and meta tensors have none, but
 * whoever makes such a result contiguous pays for every one: it counts in
 * full. */
static bsm_status check_result(const bsm_op_ctx *cx, const bsm_ivalue *v) {
  if (v->tag == BSM_IVALUE_LIST && v->u.list) {
    for (size_t i = 0; i < v->u.list->len; i++) {
      if (v->u.list->items[i].tag != BSM_IVALUE_TENSOR) continue;
      BSM_TRY(check_result(cx, &v->u.list->items[i]));
    }
  }
  const bsm_tensor *t = v->tag == BSM_IVALUE_TENSOR ? v->u.tensor : NULL;
  if (!t) return BSM_OK;
  int64_t n;
  const size_t most = cx->max_tensor_bytes / (bsm_dtype_size(t->dtype) + 1);
  if (bsm_dims_numel(t->sizes, &n) && (uint64_t)n <= most) return BSM_OK;
  return BSM_FAIL(BSM_LIMIT,
                  "a tensor of shape %s exceeds the limit of %zu bytes",
                  bsm_dims_str(t->sizes), cx->max_tensor_bytes);
}

/* ---- work ---- */

/* What a call costs that has nothing to do, and a visit of an element, which
 * is converted, in multiply-adds. */
#define CALL_WORK 16
#define VISIT_WORK 4

/* The elements of a tensor that has them, the characters of a string, and what
 * is in a container directly: further down there may be much sharing. */
static double size_of(const bsm_ivalue *v, bool meta) {
  int64_t n;
  if (v->tag == BSM_IVALUE_STRING) return (double)v->u.s->len;
  if (v->tag != BSM_IVALUE_TENSOR || meta) {
    return 1.0 + (double)bsm_iv_parts_of(v).len;
  }
  return bsm_dims_numel(v->u.tensor->sizes, &n) ? (double)n : HUGE_VAL;
}

static double sizes_of(const bsm_ivalue *values, size_t n, bool meta) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += size_of(&values[i], meta);
  return sum;
}

/* What an op will look at. Views look at nothing, and where they have to copy
 * there is a result that is as large. */
static double visited(const bsm_aten_op *op, const bsm_ivalue *args, size_t n,
                      bool meta) {
  if (op->flags & (BSM_ATEN_VIEW | BSM_ATEN_ATTRIBUTE)) return 0;
  double sum = sizes_of(args, n, meta);
  for (size_t i = 0; i < n; i++) {
    const bsm_iv_parts parts = bsm_iv_parts_of(&args[i]);
    sum += sizes_of(parts.items, parts.len, meta);
    if (args[i].tag == BSM_IVALUE_DICT) {
      sum += sizes_of(args[i].u.dict->keys, parts.len, meta);
    }
  }
  return sum;
}

static bsm_status charge_call(bsm_op_ctx *cx, const bsm_aten_op *op,
                              const bsm_ivalue *args, size_t n) {
  if (!cx->work) return BSM_OK;
  double amount = CALL_WORK;
  if (!(op->flags & BSM_ATEN_PASSES_ON)) {
    amount += VISIT_WORK * visited(op, args, n, cx->meta);
  }
  return bsm_work_budget_charge(cx->work, amount);
}

bsm_status bsm_op_charge_items(bsm_op_ctx *cx, size_t n) {
  if (!cx->work) return BSM_OK;
  return bsm_work_budget_charge(cx->work, VISIT_WORK * (double)n);
}

bsm_status bsm_op_charge(bsm_op_ctx *cx, int64_t a, int64_t b, int64_t c) {
  if (!cx->work || cx->meta) return BSM_OK;
  return bsm_work_budget_charge(cx->work, (double)a * (double)b * (double)c);
}

/* `table`: of the op; NULL: to be found when it calls another. */
static bsm_status call(bsm_op_ctx *cx, const bsm_aten_table *table,
                       const bsm_aten_op *op, const bsm_ivalue *args,
                       size_t n_args, bsm_ivalue *outs, size_t n_outs) {
  bool meta = false;
  const char *end = NULL;
  bsm_schema_text room;
  const char *schema = bsm_aten_schema(op, &room);
  BSM_TRY_NOTE(check_args(op, schema, args, n_args, &meta, &end), "in %s",
               schema);
  const int returns = return_count(end);
  if (returns >= 0 && (size_t)returns != n_outs) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "%zu results asked of an op with %d, in %s", n_outs,
                    returns, schema);
  }
  for (size_t i = 0; i < n_outs; i++) outs[i] = bsm_iv_none();
  cx->meta = meta || cx->no_data;
  cx->arg_count = n_args;
  cx->op = op;
  cx->table = table;
  bsm_status st = charge_call(cx, op, args, n_args);
  if (!st) st = op->fn(cx, args, outs, op);
  const bool makes = !(op->flags & BSM_ATEN_PASSES_ON);
  for (size_t i = 0; !st && makes && cx->max_tensor_bytes > 0 && i < n_outs;
       i++) {
    st = check_result(cx, &outs[i]);
  }
  if (st) {
    const bsm_str name = bsm_aten_name(op, &room);
    return bsm_status_note(st, "in %.*s", (int)name.len, name.data);
  }
  return BSM_OK;
}

static double bytes_of(const bsm_ivalue *values, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    const bsm_ivalue *v = &values[i];
    if (v->tag == BSM_IVALUE_LIST) {
      sum += bytes_of(v->u.list->items, v->u.list->len);
    } else if (v->tag == BSM_IVALUE_TENSOR && v->u.tensor) {
      sum += size_of(v, false) * (double)bsm_dtype_size(v->u.tensor->dtype);
    }
  }
  return sum;
}

/* Notes that results are left to the engine, for which they are not too large.
 */
static bsm_status leave(bsm_work_budget *work, double bytes) {
  if (bytes > work->may_be_left) return BSM_FAIL_OOM();
  work->memory->refused = false;
  work->may_be_left -= bytes;
  work->refused = true;
  work->too_large++;
  return BSM_FAIL(BSM_LIMIT,
                  "its results take %.0f bytes: raise max_memory_bytes of the "
                  "limits",
                  bytes);
}

/* A call that ran out of memory, all of which was released: what would its
 * results have taken? */
static bsm_status leave_failed(bsm_op_ctx *cx, const bsm_aten_op *op,
                               const bsm_ivalue *args, size_t n_args,
                               bsm_ivalue *outs, size_t n_outs) {
  bsm_op_ctx shapes = *cx;
  shapes.no_data = true;
  bsm_status st = call(&shapes, NULL, op, args, n_args, outs, n_outs);
  /* Whatever it says, memory is what was lacking. */
  cx->work->memory->refused = true;
  if (!st) return leave(cx->work, bytes_of(outs, n_outs));
  bsm_status_free(st);
  return BSM_FAIL_OOM();
}

bsm_status bsm_aten_call(bsm_op_ctx *cx, const bsm_aten_op *op,
                         const bsm_ivalue *args, size_t n_args,
                         bsm_ivalue *outs, size_t n_outs) {
  const bsm_memory_guard *memory = cx->work ? cx->work->memory : NULL;
  if (!memory || !cx->may_leave || cx->no_data ||
      (op->flags & (BSM_ATEN_INPLACE | BSM_ATEN_EFFECT))) {
    return call(cx, NULL, op, args, n_args, outs, n_outs);
  }
  const bsm_arena_mark mark = bsm_arena_get_mark(cx->arena);
  const size_t used = memory->used;
  bsm_status st = call(cx, NULL, op, args, n_args, outs, n_outs);
  if (!st) {
    const double bytes = bytes_of(outs, n_outs);
    if (bsm_memory_guard_has_room(memory, memory->used - used) ||
        bytes > cx->work->may_be_left) {
      return BSM_OK;
    }
    bsm_arena_rewind(cx->arena, mark);
    for (size_t i = 0; i < n_outs; i++) outs[i] = bsm_iv_none();
    return leave(cx->work, bytes);
  }
  if (bsm_status_code(st) != BSM_OUT_OF_MEMORY || !memory->refused) return st;
  bsm_status_free(st);
  bsm_arena_rewind(cx->arena, mark);
  for (size_t i = 0; i < n_outs; i++) outs[i] = bsm_iv_none();
  return leave_failed(cx, op, args, n_args, outs, n_outs);
}

/* ---- calls between ops ---- */

/* An op of the linked tables. */
static const bsm_aten_table *table_of(const bsm_aten_op *op) {
  const bsm_aten_table *const *t = bsm_linked_aten_tables;
  while (*t && !(op >= (*t)->ops && op < (*t)->ops + (*t)->count)) t++;
  return *t;
}

static const bsm_aten_op *find_in(const bsm_aten_table *table,
                                  const char *name) {
  for (size_t i = 0; i < table->count; i++) {
    if (bsm_aten_is_named(&table->ops[i], bsm_str_of(name))) {
      return &table->ops[i];
    }
  }
  return NULL;
}

bsm_status bsm_op_call(bsm_op_ctx *cx, const char *name, const bsm_ivalue *args,
                       size_t n_args, bsm_ivalue *outs, size_t n_outs) {
  const bsm_op_ctx caller = *cx;
  const bsm_aten_table *home = cx->table ? cx->table : table_of(cx->op);
  const bsm_aten_table *table = home;
  const bsm_aten_op *op = home ? find_in(home, name) : NULL;
  for (size_t i = 0; !op && home && home->calls && home->calls[i]; i++) {
    table = home->calls[i];
    op = find_in(table, name);
  }
  if (!op) return BSM_FAIL(BSM_INTERNAL, "no op %s", name);
  bsm_status st = call(cx, table, op, args, n_args, outs, n_outs);
  cx->meta = caller.meta;
  cx->arg_count = caller.arg_count;
  cx->op = caller.op;
  cx->table = home;
  return st;
}

bsm_status bsm_op_new(bsm_op_ctx *cx, bsm_dtype dtype, bsm_dims sizes,
                      bsm_tensor **out) {
  int64_t n;
  if (!cx->meta && cx->max_tensor_bytes > 0 && bsm_dims_numel(sizes, &n) &&
      (uint64_t)n > cx->max_tensor_bytes / (bsm_dtype_size(dtype) + 1)) {
    return BSM_FAIL(BSM_LIMIT,
                    "a tensor of shape %s exceeds the limit of %zu bytes",
                    bsm_dims_str(sizes), cx->max_tensor_bytes);
  }
  BSM_TRY(bsm_tensor_new(cx->arena, dtype, sizes, cx->meta, out));
  return bsm_op_charge(cx, bsm_tensor_numel(*out), VISIT_WORK, 1);
}
