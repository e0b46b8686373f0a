/* SPDX-License-Identifier: Apache-2.0 */
/* Types of the JIT IR. Structural types are hash-consed in a bsm_type_table,
 * so equal types have equal addresses; class types are unique by name. */
#ifndef BSM_IR_TYPE_H_
#define BSM_IR_TYPE_H_

#include "aten/ivalue.h"
#include "bessemer/status.h"

typedef enum bsm_type_kind {
  BSM_TYPE_ANY = 0,
  BSM_TYPE_TENSOR,
  BSM_TYPE_INT,
  BSM_TYPE_FLOAT,
  BSM_TYPE_BOOL,
  BSM_TYPE_COMPLEX,
  BSM_TYPE_NUMBER, /* Scalar: int, float, complex (and bool in schemas) */
  BSM_TYPE_STRING,
  BSM_TYPE_DEVICE,
  BSM_TYPE_GENERATOR,
  BSM_TYPE_STREAM,
  BSM_TYPE_STORAGE,
  BSM_TYPE_QSCHEME,
  BSM_TYPE_CAPSULE,
  BSM_TYPE_NONE,
  BSM_TYPE_FUNCTION,
  BSM_TYPE_OPTIONAL, /* args[0] */
  BSM_TYPE_LIST,     /* args[0]; `size` > 0 for int[2] in schemas */
  BSM_TYPE_DICT,     /* args[0], args[1] */
  BSM_TYPE_TUPLE,    /* args; NamedTuple also has name and field_names */
  BSM_TYPE_UNION,
  BSM_TYPE_FUTURE,
  BSM_TYPE_RREF,
  BSM_TYPE_AWAIT,
  BSM_TYPE_VAR,  /* schema type variable: t, tKey, tVal */
  BSM_TYPE_CLASS /* module, class, interface, enum: see bsm_class */
} bsm_type_kind;

struct bsm_class;

typedef struct bsm_type {
  bsm_type_kind kind;
  const struct bsm_type **args;
  size_t arg_count;
  int64_t size;             /* lists in schemas: int[2]; 0: any */
  const char *name;         /* VAR, NamedTuple, CLASS: qualified name */
  const char **field_names; /* NamedTuple */
  struct bsm_class *cls;    /* CLASS */
  /* TENSOR: what is known of it; refined tensor types are separate types. */
  bool has_dtype, has_dims;
  bsm_dtype dtype;
  bsm_dims dims; /* -1: unknown size */
  /* How deep and how large the type is as a tree: see BSM_TYPE_MAX_DEPTH. */
  uint32_t depth, weight;
} bsm_type;

/* A container type that would nest deeper, or be larger as a tree, becomes Any:
 * so recursion over types is bounded whatever a file builds. */
#define BSM_TYPE_MAX_DEPTH 256
#define BSM_TYPE_MAX_WEIGHT 65536

typedef struct bsm_type_table bsm_type_table;
BSM_NODISCARD bsm_status bsm_type_table_create(bsm_arena *arena,
                                               bsm_type_table **out);
bsm_arena *bsm_type_table_arena(bsm_type_table *t);

/* All return NULL only when out of memory. */
const bsm_type *bsm_type_simple(bsm_type_table *t, bsm_type_kind kind);
const bsm_type *bsm_type_optional(bsm_type_table *t, const bsm_type *elem);
const bsm_type *bsm_type_list(bsm_type_table *t, const bsm_type *elem);
const bsm_type *bsm_type_sized_list(bsm_type_table *t, const bsm_type *elem,
                                    int64_t size);
const bsm_type *bsm_type_dict(bsm_type_table *t, const bsm_type *key,
                              const bsm_type *value);
const bsm_type *bsm_type_tuple(bsm_type_table *t, const bsm_type *const *args,
                               size_t count);
const bsm_type *bsm_type_named_tuple(bsm_type_table *t, const char *name,
                                     const char *const *field_names,
                                     const bsm_type *const *args, size_t count);
const bsm_type *bsm_type_union(bsm_type_table *t, const bsm_type *const *args,
                               size_t count);
const bsm_type *bsm_type_future(bsm_type_table *t, const bsm_type *elem);
const bsm_type *bsm_type_rref(bsm_type_table *t, const bsm_type *elem);
const bsm_type *bsm_type_await(bsm_type_table *t, const bsm_type *elem);
const bsm_type *bsm_type_var(bsm_type_table *t, const char *name);
/* A refined tensor type; BSM_DTYPE_UNDEFINED: dtype unknown. */
const bsm_type *bsm_type_tensor(bsm_type_table *t, bsm_dtype dtype,
                                bsm_dims dims);
/* Of known dtype and unknown dims. */
const bsm_type *bsm_type_tensor_dtype(bsm_type_table *t, bsm_dtype dtype);
/* Of known dtype and rank, and unknown sizes. */
const bsm_type *bsm_type_tensor_rank(bsm_type_table *t, bsm_dtype dtype,
                                     int32_t rank);
/* Whether a type is one of tensors whose sizes are all known. */
bool bsm_type_has_sizes(const bsm_type *type);
/* The class type of that qualified name, created empty when new. */
const bsm_type *bsm_type_class(bsm_type_table *t, const char *qualified_name);

/* Whether a value of type `a` may stand where `b` is asked (TorchScript's
 * isSubtypeOf; see docs/ir.md). */
bool bsm_type_is_subtype(const bsm_type *a, const bsm_type *b);
/* The join of two branches, or NULL when there is none. */
const bsm_type *bsm_type_unify(bsm_type_table *t, const bsm_type *a,
                               const bsm_type *b);
/* The most precise type of a value. */
const bsm_type *bsm_type_of_value(bsm_type_table *t, const bsm_ivalue *value);

typedef enum bsm_type_style {
  BSM_TYPE_STYLE_IR,    /* int[], Tensor?, Float(1, 3) */
  BSM_TYPE_STYLE_PYTHON /* List[int], Optional[Tensor] */
} bsm_type_style;
void bsm_type_print(bsm_text *text, const bsm_type *type, bsm_type_style style);
/* For messages: the text in `arena`, "?" when out of memory. */
const char *bsm_type_str(bsm_arena *arena, const bsm_type *type);

/* ---- type variables of schemas ---- */
bool bsm_type_has_vars(const bsm_type *type);
/* Bindings of the variables of one schema. Zero-initialise. */
typedef struct bsm_type_env {
  const char *names[8];
  const bsm_type *types[8];
  size_t count;
} bsm_type_env;
/* Binds the variables of `formal` so that `actual` fits its structure; false
 * when they contradict. Without variables there is nothing to bind: true. */
bool bsm_type_match_vars(bsm_type_table *t, const bsm_type *formal,
                         const bsm_type *actual, bsm_type_env *env);
/* `type` with its variables replaced and list sizes dropped; NULL when one is
 * not bound. */
const bsm_type *bsm_type_eval_vars(bsm_type_table *t, const bsm_type *type,
                                   const bsm_type_env *env);
/* As above, but what nothing binds is a Tensor; NULL only out of memory. */
const bsm_type *bsm_type_eval_vars_or_tensor(bsm_type_table *t,
                                             const bsm_type *type,
                                             const bsm_type_env *env);

/* Reads a type in either style: "Dict(str, int)[]?", "List[Optional[int]]",
 * "__torch__.M", "Float(1, 3, strides=[3, 1], device=cpu)". BSM_CORRUPT with
 * the position on anything else. */
BSM_NODISCARD bsm_status bsm_type_parse(bsm_type_table *types, bsm_str text,
                                        const bsm_type **out);

/* A class, module, interface or enum. Methods are compiled when first asked. */
typedef struct bsm_attribute {
  const char *name;
  const bsm_type *type;
} bsm_attribute;

typedef struct bsm_class_constant {
  const char *name;
  bsm_ivalue value;
} bsm_class_constant;

typedef struct bsm_class {
  const char *name; /* qualified */
  bool is_module, is_interface, is_enum;
  BSM_VEC(bsm_attribute) attributes;     /* slot order */
  BSM_VEC(bsm_class_constant) constants; /* Final[...] and enum items */
  BSM_VEC(struct bsm_function *) methods;
  BSM_VEC(const char *) forward_hooks;
  BSM_VEC(const char *) forward_pre_hooks;
} bsm_class;

/* Slot index, or -1. */
int64_t bsm_class_find_attribute(const bsm_class *cls, const char *name);
struct bsm_function *bsm_class_find_method(const bsm_class *cls,
                                           const char *name);
const bsm_ivalue *bsm_class_find_constant(const bsm_class *cls,
                                          const char *name);

#endif /* BSM_IR_TYPE_H_ */
