/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the pickle machine share.
 *
 * Values on the stack are plain bsm_ivalue. What must never leave the machine
 * (functions, classes, storages, argument tuples with such in them) travels
 * as BSM_IVALUE_CONTAINER and is refused by every container.
 *
 * Cycles and shared mutation are ruled out by one rule: what was put into
 * another value is sealed and can no longer be changed. So the height of a
 * sealed value is final, and limiting heights limits every later recursion. */
#ifndef BSM_TORCHSCRIPT_PICKLE_INTERNAL_H_
#define BSM_TORCHSCRIPT_PICKLE_INTERNAL_H_

#include "torchscript/pickle.h"

/* Kept behind every container the machine makes. */
typedef struct pickle_meta {
  uint32_t height; /* 1: holds no containers */
  bool sealed;
} pickle_meta;

typedef struct pickle_list {
  bsm_list list;
  pickle_meta meta;
} pickle_list;

typedef struct pickle_tuple {
  bsm_tuple tuple;
  pickle_meta meta;
} pickle_tuple;

typedef struct pickle_dict {
  bsm_dict dict;
  pickle_meta meta;
  bsm_strmap *index; /* key -> position + 1; NULL while small */
} pickle_dict;

typedef struct pickle_object {
  bsm_object object;
  pickle_meta meta;
} pickle_object;

typedef enum pickle_function {
  PICKLE_REBUILD_TENSOR,
  PICKLE_REBUILD_QTENSOR,
  PICKLE_REBUILD_SPARSE,
  PICKLE_REBUILD_PARAMETER,
  PICKLE_REBUILD_PARAMETER_WITH_STATE,
  PICKLE_REBUILD_FROM_TYPE,
  PICKLE_INT_LIST,
  PICKLE_DOUBLE_LIST,
  PICKLE_BOOL_LIST,
  PICKLE_TENSOR_LIST,
  PICKLE_TYPE_TAG,
  PICKLE_DEVICE,
  PICKLE_COMPLEX,
  PICKLE_ORDERED_DICT
} pickle_function;

typedef enum pickle_private_kind {
  PICKLE_FUNCTION,    /* a global that REDUCE may apply */
  PICKLE_CLASS,       /* a class of the archive */
  PICKLE_NEW,         /* NEWOBJ of a class, before BUILD */
  PICKLE_DTYPE,       /* torch FloatStorage */
  PICKLE_STORAGE,     /* what BINPERSID gives */
  PICKLE_QSCHEME,     /* torch per_tensor_affine, ... */
  PICKLE_TENSOR_TYPE, /* torch Tensor, Parameter */
  PICKLE_ARGS         /* a tuple with one of these in it */
} pickle_private_kind;

typedef struct pickle_storage {
  bsm_storage *storage;
  bsm_dtype dtype;
  int64_t numel;
  bsm_torch_device device;
} pickle_storage;

typedef enum pickle_qscheme {
  PICKLE_PER_TENSOR = 0,
  PICKLE_PER_CHANNEL = 1
} pickle_qscheme;

typedef struct pickle_private {
  pickle_private_kind kind;
  pickle_meta meta; /* of PICKLE_ARGS */
  bool nibbles;     /* of PICKLE_DTYPE: a byte holds two elements */
  union {
    pickle_function function;
    const bsm_type *cls;
    bsm_dtype dtype;
    pickle_qscheme qscheme;
    pickle_storage storage;
    bsm_tuple args;
  } u;
} pickle_private;

/* A storage that was already read, by key. */
typedef struct pickle_record {
  bsm_storage *storage;
  bsm_storage *unpacked; /* with a byte for each half of one; NULL: not yet */
  bsm_dtype dtype;
} pickle_record;

typedef struct pickle_machine {
  bsm_arena *arena;  /* of the values */
  bsm_arena scratch; /* of the machine */
  bsm_type_table *types;
  const bsm_pickle_hooks *hooks;
  bsm_limits limits;
  bsm_str bytes;
  size_t pos;
  uint64_t steps; /* against max_pickle_ops */
  BSM_VEC(bsm_ivalue) stack;
  BSM_VEC(size_t) marks; /* stack heights */
  BSM_VEC(bsm_ivalue) memo;
  bsm_strmap records; /* storage key -> pickle_record */
} pickle_machine;

/* ---- pickle.c ---- */
/* A private value of `kind`, zeroed, as *out. */
bsm_status bsm_pickle_private(pickle_machine *m, pickle_private_kind kind,
                              bsm_ivalue *out, pickle_private **body);
/* The private value behind `v` when it is one of that kind, else NULL. */
pickle_private *bsm_pickle_as(const bsm_ivalue *v, pickle_private_kind kind);
/* "int", "List", "a storage": for messages. */
const char *bsm_pickle_kind(const bsm_ivalue *v);
/* Counts `n` steps of work. */
bsm_status bsm_pickle_charge(pickle_machine *m, size_t n);
/* Checks that `v` may go into a container, and seals it. Raises `*height` to
 * one above it. */
bsm_status bsm_pickle_put(pickle_machine *m, const bsm_ivalue *v,
                          uint32_t *height);
bsm_status bsm_pickle_new_dict(pickle_machine *m, bsm_ivalue *out);
/* Position of a key, or dict.len. */
size_t bsm_pickle_dict_find(const pickle_dict *d, const bsm_ivalue *key);

/* ---- pickle_globals.c ---- */
bsm_status bsm_pickle_global(pickle_machine *m, bsm_str module, bsm_str name,
                             bsm_ivalue *out);
/* How many arguments `function` takes, and its name. */
const char *bsm_pickle_function_arity(pickle_function function, size_t *least,
                                      size_t *most);

/* ---- pickle_tensor.c ---- */
bsm_status bsm_pickle_persistent_id(pickle_machine *m, const bsm_tuple *id,
                                    bsm_ivalue *out);
bsm_status bsm_pickle_rebuild_tensor(pickle_machine *m, const bsm_tuple *args,
                                     bsm_ivalue *out);
bsm_status bsm_pickle_rebuild_qtensor(pickle_machine *m, const bsm_tuple *args,
                                      bsm_ivalue *out);
/* "cpu", "cuda:1". */
bsm_status bsm_pickle_parse_device(bsm_str text, bsm_torch_device *out);

/* ---- pickle_build.c ---- */
/* Applies a function, or an enum class, to REDUCE's argument. */
bsm_status bsm_pickle_reduce(pickle_machine *m, const bsm_ivalue *callee,
                             const bsm_ivalue *arg, bsm_ivalue *out);
/* The object of class `cls` with that state. */
bsm_status bsm_pickle_build(pickle_machine *m, const bsm_type *cls,
                            const bsm_ivalue *state, bsm_ivalue *out);
/* Checks a value against a type and gives its lists, dicts and named tuples
 * their exact types. May replace `*v` by a tuple with a name. */
bsm_status bsm_pickle_apply_type(pickle_machine *m, bsm_ivalue *v,
                                 const bsm_type *type);

#endif /* BSM_TORCHSCRIPT_PICKLE_INTERNAL_H_ */
