/* SPDX-License-Identifier: Apache-2.0 */
/* Types: construction (hash-consing), subtyping, unification, variables.
 *
 * Every structural type is looked up by a key of its own bytes (kind, addresses
 * of its parts, size, name) in one map, so equal types are one object and
 * comparing types is comparing addresses. */
#include "ir/type.h"

#include "ir/graph.h"

#define SIMPLE_KINDS (BSM_TYPE_FUNCTION + 1)

struct bsm_type_table {
  bsm_arena *arena;
  bsm_interner names;
  bsm_strmap types; /* key bytes -> bsm_type * */
  const bsm_type *simple[SIMPLE_KINDS];
};

bsm_status bsm_type_table_create(bsm_arena *arena, bsm_type_table **out) {
  *out = NULL;
  bsm_type_table *t = BSM_NEW(arena, bsm_type_table);
  BSM_TRY_ALLOC(t);
  t->arena = arena;
  bsm_interner_init(&t->names, arena);
  for (int kind = 0; kind < SIMPLE_KINDS; kind++) {
    bsm_type *type = BSM_NEW(arena, bsm_type);
    BSM_TRY_ALLOC(type);
    type->kind = (bsm_type_kind)kind;
    type->depth = type->weight = 1;
    t->simple[kind] = type;
  }
  *out = t;
  return BSM_OK;
}

bsm_arena *bsm_type_table_arena(bsm_type_table *t) {
  return t->arena;
}

/* ---- hash-consing ---- */

/* What identifies a type; copied byte for byte into the key. */
typedef struct key_head {
  int64_t size;
  const char *name;
  int32_t kind;
  int32_t dtype; /* -1: unknown */
  int64_t rank;  /* -1: unknown */
} key_head;

/* The bytes that identify `model`, in `key`; false when out of memory. */
static bool make_key(bsm_text *key, const bsm_type *model) {
  key_head head;
  memset(&head, 0, sizeof head);
  head.size = model->size;
  head.name = model->name;
  head.kind = (int32_t)model->kind;
  head.dtype = model->has_dtype ? (int32_t)model->dtype : -1;
  head.rank = model->has_dims ? model->dims.rank : -1;
  bsm_text_append(key, (bsm_str){(const char *)&head, sizeof head});
  if (model->arg_count) {
    bsm_text_append(key, (bsm_str){(const char *)model->args,
                                   model->arg_count * sizeof *model->args});
  }
  if (model->field_names) {
    bsm_text_append(key,
                    (bsm_str){(const char *)model->field_names,
                              model->arg_count * sizeof *model->field_names});
  }
  if (model->has_dims && model->dims.rank > 0) {
    bsm_text_append(
        key, (bsm_str){(const char *)model->dims.d,
                       (size_t)model->dims.rank * sizeof model->dims.d[0]});
  }
  return !key->failed;
}

/* Copies `model` and what it points at into the table's arena. */
static const bsm_type *copy_type(bsm_type_table *t, const bsm_type *model) {
  bsm_type *type = BSM_NEW(t->arena, bsm_type);
  if (!type) return NULL;
  *type = *model;
  if (model->arg_count) {
    type->args = BSM_NEW_ARRAY(t->arena, const bsm_type *, model->arg_count);
    if (!type->args) return NULL;
    memcpy(type->args, model->args, model->arg_count * sizeof *type->args);
  }
  if (model->field_names) {
    type->field_names = BSM_NEW_ARRAY(t->arena, const char *, model->arg_count);
    if (!type->field_names) return NULL;
    memcpy(type->field_names, model->field_names,
           model->arg_count * sizeof *type->field_names);
  }
  if (model->kind == BSM_TYPE_CLASS) {
    type->cls = BSM_NEW(t->arena, bsm_class);
    if (!type->cls) return NULL;
    type->cls->name = type->name;
  }
  return type;
}

/* The one type equal to `model`; its names must be interned. */
static const bsm_type *intern_type(bsm_type_table *t, bsm_type *model) {
  uint32_t depth = 0;
  uint64_t weight = 1;
  for (size_t i = 0; i < model->arg_count; i++) {
    if (!model->args[i]) return NULL;
    if (model->args[i]->depth > depth) depth = model->args[i]->depth;
    weight += model->args[i]->weight;
    if (weight > BSM_TYPE_MAX_WEIGHT) break;
  }
  if (depth >= BSM_TYPE_MAX_DEPTH || weight > BSM_TYPE_MAX_WEIGHT) {
    return t->simple[BSM_TYPE_ANY];
  }
  model->depth = depth + 1;
  model->weight = (uint32_t)weight;

  bsm_arena_mark mark = bsm_arena_get_mark(t->arena);
  bsm_text key;
  bsm_text_init(&key, t->arena);
  if (!make_key(&key, model)) return NULL;
  const bsm_type *type =
      bsm_strmap_get(&t->types, (bsm_str){key.data, key.len});
  if (type) {
    bsm_arena_rewind(t->arena, mark);
    return type;
  }
  type = copy_type(t, model);
  if (!type || !bsm_strmap_set(t->arena, &t->types,
                               (bsm_str){key.data, key.len}, (void *)type)) {
    return NULL;
  }
  return type;
}

const bsm_type *bsm_type_simple(bsm_type_table *t, bsm_type_kind kind) {
  if (kind == BSM_TYPE_TENSOR || (unsigned)kind < SIMPLE_KINDS) {
    return t->simple[kind];
  }
  return t->simple[BSM_TYPE_ANY];
}

/* A container of one element type. */
static const bsm_type *unary_type(bsm_type_table *t, bsm_type_kind kind,
                                  const bsm_type *elem, int64_t size) {
  if (!elem) return NULL;
  bsm_type model = {.kind = kind, .args = &elem, .arg_count = 1, .size = size};
  return intern_type(t, &model);
}

const bsm_type *bsm_type_optional(bsm_type_table *t, const bsm_type *elem) {
  if (!elem) return NULL;
  if (elem->kind == BSM_TYPE_OPTIONAL || elem->kind == BSM_TYPE_NONE) {
    return elem;
  }
  return unary_type(t, BSM_TYPE_OPTIONAL, elem, 0);
}

const bsm_type *bsm_type_list(bsm_type_table *t, const bsm_type *elem) {
  return unary_type(t, BSM_TYPE_LIST, elem, 0);
}

const bsm_type *bsm_type_sized_list(bsm_type_table *t, const bsm_type *elem,
                                    int64_t size) {
  return unary_type(t, BSM_TYPE_LIST, elem, size);
}

const bsm_type *bsm_type_future(bsm_type_table *t, const bsm_type *elem) {
  return unary_type(t, BSM_TYPE_FUTURE, elem, 0);
}

const bsm_type *bsm_type_rref(bsm_type_table *t, const bsm_type *elem) {
  return unary_type(t, BSM_TYPE_RREF, elem, 0);
}

const bsm_type *bsm_type_await(bsm_type_table *t, const bsm_type *elem) {
  return unary_type(t, BSM_TYPE_AWAIT, elem, 0);
}

const bsm_type *bsm_type_dict(bsm_type_table *t, const bsm_type *key,
                              const bsm_type *value) {
  const bsm_type *args[2] = {key, value};
  if (!key || !value) return NULL;
  bsm_type model = {.kind = BSM_TYPE_DICT, .args = args, .arg_count = 2};
  return intern_type(t, &model);
}

const bsm_type *bsm_type_tuple(bsm_type_table *t, const bsm_type *const *args,
                               size_t count) {
  bsm_type model = {.kind = BSM_TYPE_TUPLE,
                    .args = (const bsm_type **)args,
                    .arg_count = count};
  return intern_type(t, &model);
}

const bsm_type *bsm_type_named_tuple(bsm_type_table *t, const char *name,
                                     const char *const *field_names,
                                     const bsm_type *const *args,
                                     size_t count) {
  const char **names = BSM_NEW_ARRAY(t->arena, const char *, count + 1);
  if (!names) return NULL;
  for (size_t i = 0; i < count; i++) {
    names[i] = bsm_intern(&t->names, bsm_str_of(field_names[i]));
    if (!names[i]) return NULL;
  }
  bsm_type model = {.kind = BSM_TYPE_TUPLE,
                    .args = (const bsm_type **)args,
                    .arg_count = count,
                    .field_names = names};
  model.name = bsm_intern(&t->names, bsm_str_of(name));
  return model.name ? intern_type(t, &model) : NULL;
}

/* Adds `type` to the set `items` of `*count`, unless a member covers it. */
static void union_add(const bsm_type **items, size_t *count,
                      const bsm_type *type) {
  size_t kept = 0;
  for (size_t i = 0; i < *count; i++) {
    if (bsm_type_is_subtype(type, items[i])) return;
  }
  for (size_t i = 0; i < *count; i++) {
    if (!bsm_type_is_subtype(items[i], type)) items[kept++] = items[i];
  }
  items[kept++] = type;
  *count = kept;
}

const bsm_type *bsm_type_union(bsm_type_table *t, const bsm_type *const *args,
                               size_t count) {
  size_t room = 1;
  for (size_t i = 0; i < count; i++) {
    const bsm_type *arg = args[i];
    if (!arg) return NULL;
    if (arg->kind == BSM_TYPE_OPTIONAL) arg = arg->args[0];
    room += arg->kind == BSM_TYPE_UNION ? arg->arg_count : 1;
  }
  const bsm_type **items = BSM_NEW_ARRAY(t->arena, const bsm_type *, room);
  if (!items) return NULL;
  size_t n = 0;
  bool none = false;
  for (size_t i = 0; i < count; i++) {
    const bsm_type *arg = args[i];
    if (arg->kind == BSM_TYPE_OPTIONAL) {
      none = true;
      arg = arg->args[0];
    }
    if (arg->kind == BSM_TYPE_NONE) {
      none = true;
    } else if (arg->kind == BSM_TYPE_UNION) {
      for (size_t j = 0; j < arg->arg_count; j++) {
        if (arg->args[j]->kind == BSM_TYPE_NONE) {
          none = true;
        } else {
          union_add(items, &n, arg->args[j]);
        }
      }
    } else {
      union_add(items, &n, arg);
    }
  }
  if (n == 0) return t->simple[BSM_TYPE_NONE];
  if (n == 1) return none ? bsm_type_optional(t, items[0]) : items[0];
  if (none) items[n++] = t->simple[BSM_TYPE_NONE];
  bsm_type model = {.kind = BSM_TYPE_UNION, .args = items, .arg_count = n};
  return intern_type(t, &model);
}

const bsm_type *bsm_type_var(bsm_type_table *t, const char *name) {
  bsm_type model = {.kind = BSM_TYPE_VAR};
  model.name = bsm_intern(&t->names, bsm_str_of(name));
  return model.name ? intern_type(t, &model) : NULL;
}

const bsm_type *bsm_type_class(bsm_type_table *t, const char *qualified_name) {
  bsm_type model = {.kind = BSM_TYPE_CLASS};
  model.name = bsm_intern(&t->names, bsm_str_of(qualified_name));
  return model.name ? intern_type(t, &model) : NULL;
}

const bsm_type *bsm_type_tensor(bsm_type_table *t, bsm_dtype dtype,
                                bsm_dims dims) {
  bsm_type model = {.kind = BSM_TYPE_TENSOR,
                    .has_dtype = dtype != BSM_DTYPE_UNDEFINED,
                    .dtype = dtype,
                    .has_dims = true,
                    .dims = dims};
  for (int32_t i = dims.rank; i < BSM_MAX_RANK; i++) model.dims.d[i] = 0;
  return intern_type(t, &model);
}

const bsm_type *bsm_type_tensor_dtype(bsm_type_table *t, bsm_dtype dtype) {
  if (dtype == BSM_DTYPE_UNDEFINED) return t->simple[BSM_TYPE_TENSOR];
  bsm_type model = {.kind = BSM_TYPE_TENSOR, .has_dtype = true, .dtype = dtype};
  return intern_type(t, &model);
}

const bsm_type *bsm_type_tensor_rank(bsm_type_table *t, bsm_dtype dtype,
                                     int32_t rank) {
  bsm_dims dims = {.rank = rank};
  for (int32_t i = 0; i < rank; i++) dims.d[i] = -1;
  return bsm_type_tensor(t, dtype, dims);
}

bool bsm_type_has_sizes(const bsm_type *type) {
  if (!type || type->kind != BSM_TYPE_TENSOR || !type->has_dims) return false;
  for (int32_t i = 0; i < type->dims.rank; i++) {
    if (type->dims.d[i] < 0) return false;
  }
  return true;
}

/* ---- classes ---- */

int64_t bsm_class_find_attribute(const bsm_class *cls, const char *name) {
  for (size_t i = 0; i < cls->attributes.len; i++) {
    if (strcmp(cls->attributes.items[i].name, name) == 0) return (int64_t)i;
  }
  return -1;
}

bsm_function *bsm_class_find_method(const bsm_class *cls, const char *name) {
  for (size_t i = 0; i < cls->methods.len; i++) {
    if (strcmp(cls->methods.items[i]->name, name) == 0) {
      return cls->methods.items[i];
    }
  }
  return NULL;
}

const bsm_ivalue *bsm_class_find_constant(const bsm_class *cls,
                                          const char *name) {
  for (size_t i = 0; i < cls->constants.len; i++) {
    if (strcmp(cls->constants.items[i].name, name) == 0) {
      return &cls->constants.items[i].value;
    }
  }
  return NULL;
}

/* Whether `a` has every method that the interface `b` asks for. */
static bool implements(const bsm_class *a, const bsm_class *b) {
  if (!b->is_interface) return false;
  for (size_t i = 0; i < b->methods.len; i++) {
    const bsm_function *want = b->methods.items[i];
    const bsm_function *have = bsm_class_find_method(a, want->name);
    if (!have) return false;
    if (have->schema && want->schema &&
        have->schema->arg_count != want->schema->arg_count) {
      return false;
    }
  }
  return true;
}

/* ---- subtyping ---- */

/* Equal except for the sizes of lists, which only schemas have, and for what
 * is known of tensors inside mutable containers. */
static bool same_type(const bsm_type *a, const bsm_type *b) {
  if (a == b) return true;
  if (a->kind != b->kind || a->arg_count != b->arg_count) return false;
  switch (a->kind) {
    case BSM_TYPE_TENSOR:
      return true;
    case BSM_TYPE_TUPLE:
      if (a->name != b->name) return false;
      break;
    case BSM_TYPE_LIST:
    case BSM_TYPE_OPTIONAL:
    case BSM_TYPE_DICT:
    case BSM_TYPE_UNION:
    case BSM_TYPE_FUTURE:
    case BSM_TYPE_RREF:
    case BSM_TYPE_AWAIT:
      break;
    default:
      return false;
  }
  for (size_t i = 0; i < a->arg_count; i++) {
    if (!same_type(a->args[i], b->args[i])) return false;
  }
  return true;
}

static bool tensor_is_subtype(const bsm_type *a, const bsm_type *b) {
  if (b->has_dtype && !(a->has_dtype && a->dtype == b->dtype)) return false;
  if (!b->has_dims) return true;
  if (!a->has_dims || a->dims.rank != b->dims.rank) return false;
  for (int32_t i = 0; i < b->dims.rank; i++) {
    if (b->dims.d[i] >= 0 && a->dims.d[i] != b->dims.d[i]) return false;
  }
  return true;
}

static bool tuple_is_subtype(const bsm_type *a, const bsm_type *b) {
  if (a->arg_count != b->arg_count) return false;
  if (b->name) { /* only a NamedTuple with these fields stands for one */
    if (!a->name) return false;
    for (size_t i = 0; i < a->arg_count; i++) {
      if (a->field_names[i] != b->field_names[i]) return false;
    }
  }
  for (size_t i = 0; i < a->arg_count; i++) {
    if (!bsm_type_is_subtype(a->args[i], b->args[i])) return false;
  }
  return true;
}

/* Names that PyTorch uses for families of types. */
static bool class_is_subtype(const bsm_type *a, const bsm_type *b) {
  if (a->kind == BSM_TYPE_CLASS) {
    if (strcmp(b->name, "AnyEnumType") == 0) return a->cls->is_enum;
    if (strcmp(b->name, "AnyClassType") == 0) return true;
    return implements(a->cls, b->cls);
  }
  if (a->kind == BSM_TYPE_LIST) return strcmp(b->name, "AnyListType") == 0;
  if (a->kind == BSM_TYPE_TUPLE) return strcmp(b->name, "AnyTupleType") == 0;
  return false;
}

bool bsm_type_is_subtype(const bsm_type *a, const bsm_type *b) {
  if (a == b || b->kind == BSM_TYPE_ANY) return true;
  if (a->kind == BSM_TYPE_UNION) { /* every member must fit */
    for (size_t i = 0; i < a->arg_count; i++) {
      if (!bsm_type_is_subtype(a->args[i], b)) return false;
    }
    return true;
  }
  switch (b->kind) {
    case BSM_TYPE_TENSOR:
      return a->kind == BSM_TYPE_TENSOR && tensor_is_subtype(a, b);
    case BSM_TYPE_NUMBER:
      return a->kind == BSM_TYPE_INT || a->kind == BSM_TYPE_FLOAT ||
             a->kind == BSM_TYPE_COMPLEX;
    case BSM_TYPE_OPTIONAL:
      if (a->kind == BSM_TYPE_NONE) return true;
      if (a->kind == BSM_TYPE_OPTIONAL) a = a->args[0];
      return bsm_type_is_subtype(a, b->args[0]);
    case BSM_TYPE_UNION:
      if (a->kind == BSM_TYPE_OPTIONAL) {
        bool none = false;
        for (size_t i = 0; i < b->arg_count; i++) {
          none |= b->args[i]->kind == BSM_TYPE_NONE;
        }
        return none && bsm_type_is_subtype(a->args[0], b);
      }
      for (size_t i = 0; i < b->arg_count; i++) {
        if (bsm_type_is_subtype(a, b->args[i])) return true;
      }
      return false;
    case BSM_TYPE_TUPLE:
      return a->kind == BSM_TYPE_TUPLE && tuple_is_subtype(a, b);
    case BSM_TYPE_CLASS:
      return class_is_subtype(a, b);
    default: /* mutable containers are invariant */
      return same_type(a, b);
  }
}

/* ---- unification ---- */

/* What two tensor types have in common. */
static const bsm_type *merge_tensors(bsm_type_table *t, const bsm_type *a,
                                     const bsm_type *b) {
  bsm_type model = {.kind = BSM_TYPE_TENSOR};
  if (a->has_dtype && b->has_dtype && a->dtype == b->dtype) {
    model.has_dtype = true;
    model.dtype = a->dtype;
  }
  if (a->has_dims && b->has_dims && a->dims.rank == b->dims.rank) {
    model.has_dims = true;
    model.dims.rank = a->dims.rank;
    for (int32_t i = 0; i < a->dims.rank; i++) {
      model.dims.d[i] = a->dims.d[i] == b->dims.d[i] ? a->dims.d[i] : -1;
    }
  }
  if (!model.has_dtype && !model.has_dims) return t->simple[BSM_TYPE_TENSOR];
  if (!model.has_dtype) model.dtype = BSM_DTYPE_UNDEFINED;
  return intern_type(t, &model);
}

static const bsm_type *unify_tuples(bsm_type_table *t, const bsm_type *a,
                                    const bsm_type *b) {
  if (a->arg_count != b->arg_count) return NULL;
  const bsm_type **args =
      BSM_NEW_ARRAY(t->arena, const bsm_type *, a->arg_count + 1);
  if (!args) return NULL;
  for (size_t i = 0; i < a->arg_count; i++) {
    args[i] = bsm_type_unify(t, a->args[i], b->args[i]);
    if (!args[i]) return NULL;
  }
  return bsm_type_tuple(t, args, a->arg_count);
}

const bsm_type *bsm_type_unify(bsm_type_table *t, const bsm_type *a,
                               const bsm_type *b) {
  if (bsm_type_is_subtype(a, b)) return b;
  if (bsm_type_is_subtype(b, a)) return a;
  if (a->kind == BSM_TYPE_TENSOR && b->kind == BSM_TYPE_TENSOR) {
    return merge_tensors(t, a, b);
  }
  if (a->kind == BSM_TYPE_NONE) return bsm_type_optional(t, b);
  if (b->kind == BSM_TYPE_NONE) return bsm_type_optional(t, a);
  if (a->kind == BSM_TYPE_OPTIONAL || b->kind == BSM_TYPE_OPTIONAL) {
    const bsm_type *inner =
        bsm_type_unify(t, a->kind == BSM_TYPE_OPTIONAL ? a->args[0] : a,
                       b->kind == BSM_TYPE_OPTIONAL ? b->args[0] : b);
    return inner ? bsm_type_optional(t, inner) : NULL;
  }
  if (a->kind == BSM_TYPE_TUPLE && b->kind == BSM_TYPE_TUPLE) {
    return unify_tuples(t, a, b);
  }
  if (a->kind == BSM_TYPE_FUTURE && b->kind == BSM_TYPE_FUTURE) {
    const bsm_type *inner = bsm_type_unify(t, a->args[0], b->args[0]);
    return inner ? bsm_type_future(t, inner) : NULL;
  }
  return NULL;
}

/* ---- type variables ---- */

bool bsm_type_has_vars(const bsm_type *type) {
  if (type->kind == BSM_TYPE_VAR) return true;
  if (type->kind == BSM_TYPE_CLASS) return false;
  for (size_t i = 0; i < type->arg_count; i++) {
    if (bsm_type_has_vars(type->args[i])) return true;
  }
  return false;
}

static bool bind_var(bsm_type_table *t, const char *name,
                     const bsm_type *actual, bsm_type_env *env) {
  for (size_t i = 0; i < env->count; i++) {
    if (strcmp(env->names[i], name) == 0) {
      /* The first binding stays; the argument is checked against it later. */
      return bsm_type_unify(t, env->types[i], actual) != NULL;
    }
  }
  if (env->count == sizeof env->names / sizeof env->names[0]) return false;
  env->names[env->count] = name;
  env->types[env->count++] = actual;
  return true;
}

/* The element type that a tuple has as a list, or NULL. */
static const bsm_type *unify_all(bsm_type_table *t, const bsm_type *tuple) {
  if (tuple->arg_count == 0) return NULL;
  const bsm_type *all = tuple->args[0];
  for (size_t i = 1; i < tuple->arg_count && all; i++) {
    all = bsm_type_unify(t, all, tuple->args[i]);
  }
  return all;
}

bool bsm_type_match_vars(bsm_type_table *t, const bsm_type *formal,
                         const bsm_type *actual, bsm_type_env *env) {
  if (!bsm_type_has_vars(formal)) return true;
  if (formal->kind == BSM_TYPE_VAR) {
    return bind_var(t, formal->name, actual, env);
  }
  if (formal->kind == BSM_TYPE_OPTIONAL) {
    if (actual->kind == BSM_TYPE_NONE) return false; /* of what? */
    return bsm_type_match_vars(
        t, formal->args[0],
        actual->kind == BSM_TYPE_OPTIONAL ? actual->args[0] : actual, env);
  }
  if (formal->kind == BSM_TYPE_LIST && actual->kind == BSM_TYPE_TUPLE) {
    const bsm_type *elem = unify_all(t, actual);
    return elem && bsm_type_match_vars(t, formal->args[0], elem, env);
  }
  if (formal->kind != actual->kind || formal->arg_count != actual->arg_count) {
    return false;
  }
  for (size_t i = 0; i < formal->arg_count; i++) {
    if (!bsm_type_match_vars(t, formal->args[i], actual->args[i], env)) {
      return false;
    }
  }
  return true;
}

/* `type` with other parts. */
static const bsm_type *rebuild(bsm_type_table *t, const bsm_type *type,
                               const bsm_type **args) {
  switch (type->kind) {
    case BSM_TYPE_OPTIONAL:
      return bsm_type_optional(t, args[0]);
    case BSM_TYPE_LIST:
      return bsm_type_list(t, args[0]);
    case BSM_TYPE_UNION:
      return bsm_type_union(t, args, type->arg_count);
    default: {
      bsm_type model = *type;
      model.args = args;
      return intern_type(t, &model);
    }
  }
}

const bsm_type *bsm_type_eval_vars(bsm_type_table *t, const bsm_type *type,
                                   const bsm_type_env *env) {
  if (type->kind == BSM_TYPE_VAR) {
    for (size_t i = 0; i < env->count; i++) {
      if (strcmp(env->names[i], type->name) == 0) return env->types[i];
    }
    return NULL;
  }
  if (type->arg_count == 0) return type;
  const bsm_type *few[4];
  const bsm_type **args = few;
  if (type->arg_count > 4) {
    args = BSM_NEW_ARRAY(t->arena, const bsm_type *, type->arg_count);
    if (!args) return NULL;
  }
  bool changed = type->size != 0;
  for (size_t i = 0; i < type->arg_count; i++) {
    args[i] = bsm_type_eval_vars(t, type->args[i], env);
    if (!args[i]) return NULL;
    changed |= args[i] != type->args[i];
  }
  return changed ? rebuild(t, type, args) : type;
}

/* The first variable in `type` that `env` does not bind. */
static const char *first_unbound(const bsm_type *type,
                                 const bsm_type_env *env) {
  if (type->kind == BSM_TYPE_VAR) {
    for (size_t i = 0; i < env->count; i++) {
      if (strcmp(env->names[i], type->name) == 0) return NULL;
    }
    return type->name;
  }
  const char *name = NULL;
  for (size_t i = 0; i < type->arg_count && !name; i++) {
    name = first_unbound(type->args[i], env);
  }
  return name;
}

const bsm_type *bsm_type_eval_vars_or_tensor(bsm_type_table *t,
                                             const bsm_type *type,
                                             const bsm_type_env *env) {
  bsm_type_env bound = *env;
  const size_t room = sizeof bound.names / sizeof bound.names[0];
  const char *name;
  while (bound.count < room && (name = first_unbound(type, &bound))) {
    bound.names[bound.count] = name;
    bound.types[bound.count++] = t->simple[BSM_TYPE_TENSOR];
  }
  return bsm_type_eval_vars(t, type, &bound);
}

/* ---- types of values ---- */

/* Bounds a walk over values, which may be shared, deep, or cyclic. */
typedef struct value_walk {
  uint32_t left;  /* values that may still be visited */
  uint32_t depth; /* of the current one */
} value_walk;

static const bsm_type *value_type(bsm_type_table *t, const bsm_ivalue *value,
                                  value_walk *walk);

/* The common type of `n` values; Any when there is none, `empty` for none. */
static const bsm_type *values_type(bsm_type_table *t, const bsm_ivalue *items,
                                   size_t n, bsm_type_kind empty,
                                   value_walk *walk) {
  if (n == 0) return t->simple[empty];
  const bsm_type *all = value_type(t, &items[0], walk);
  for (size_t i = 1; i < n && all; i++) {
    const bsm_type *next = value_type(t, &items[i], walk);
    if (!next) return NULL;
    all = bsm_type_unify(t, all, next);
    if (!all) return t->simple[BSM_TYPE_ANY];
  }
  return all;
}

static const bsm_type *tuple_value_type(bsm_type_table *t,
                                        const bsm_tuple *tuple,
                                        value_walk *walk) {
  if (tuple->type) return tuple->type;
  const bsm_type **args =
      BSM_NEW_ARRAY(t->arena, const bsm_type *, tuple->len + 1);
  if (!args) return NULL;
  for (size_t i = 0; i < tuple->len; i++) {
    args[i] = value_type(t, &tuple->items[i], walk);
    if (!args[i]) return NULL;
  }
  return bsm_type_tuple(t, args, tuple->len);
}

static const bsm_type *container_type(bsm_type_table *t,
                                      const bsm_ivalue *value,
                                      value_walk *walk) {
  switch (value->tag) {
    case BSM_IVALUE_LIST: {
      const bsm_list *list = value->u.list;
      const bsm_type *elem = list->elem_type;
      if (!elem) {
        elem = values_type(t, list->items, list->len, BSM_TYPE_TENSOR, walk);
      }
      return bsm_type_list(t, elem);
    }
    case BSM_IVALUE_TUPLE:
      return tuple_value_type(t, value->u.tuple, walk);
    case BSM_IVALUE_DICT: {
      const bsm_dict *dict = value->u.dict;
      const bsm_type *key = dict->key_type, *item = dict->value_type;
      if (!key) {
        key = values_type(t, dict->keys, dict->len, BSM_TYPE_STRING, walk);
      }
      if (!item) {
        item = values_type(t, dict->values, dict->len, BSM_TYPE_TENSOR, walk);
      }
      return bsm_type_dict(t, key, item);
    }
    default:
      return t->simple[BSM_TYPE_ANY];
  }
}

static const bsm_type *value_type(bsm_type_table *t, const bsm_ivalue *value,
                                  value_walk *walk) {
  switch (value->tag) {
    case BSM_IVALUE_NONE:
      return t->simple[BSM_TYPE_NONE];
    case BSM_IVALUE_INT:
      return t->simple[BSM_TYPE_INT];
    case BSM_IVALUE_DOUBLE:
      return t->simple[BSM_TYPE_FLOAT];
    case BSM_IVALUE_BOOL:
      return t->simple[BSM_TYPE_BOOL];
    case BSM_IVALUE_COMPLEX:
      return t->simple[BSM_TYPE_COMPLEX];
    case BSM_IVALUE_STRING:
      return t->simple[BSM_TYPE_STRING];
    case BSM_IVALUE_DEVICE:
      return t->simple[BSM_TYPE_DEVICE];
    case BSM_IVALUE_TENSOR:
      return t->simple[BSM_TYPE_TENSOR];
    case BSM_IVALUE_FUNCTION:
      return t->simple[BSM_TYPE_FUNCTION];
    case BSM_IVALUE_LIST:
    case BSM_IVALUE_TUPLE:
    case BSM_IVALUE_DICT: {
      if (walk->left == 0 || walk->depth == BSM_TYPE_MAX_DEPTH) break;
      walk->left--;
      walk->depth++;
      const bsm_type *type = container_type(t, value, walk);
      walk->depth--;
      return type;
    }
    case BSM_IVALUE_OBJECT:
    case BSM_IVALUE_ENUM:
      if (value->u.object->type) return value->u.object->type;
      return t->simple[BSM_TYPE_ANY];
    case BSM_IVALUE_CONTAINER:
      break;
  }
  return t->simple[BSM_TYPE_ANY];
}

const bsm_type *bsm_type_of_value(bsm_type_table *t, const bsm_ivalue *value) {
  value_walk walk = {.left = 100000};
  return value_type(t, value, &walk);
}
