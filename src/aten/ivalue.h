/* SPDX-License-Identifier: Apache-2.0 */
/* IValue: any value of TorchScript, boxed.
 *
 * Scalars are stored inline; everything else is a pointer into an arena.
 * Lists, dicts and objects have identity: two IValues that point at the same
 * bsm_list see each other's mutations, as in TorchScript. */
#ifndef BSM_ATEN_IVALUE_H_
#define BSM_ATEN_IVALUE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aten/tensor.h"
#include "base/strings.h"

/* Types belong to the IR (ir/type.h); values only carry them along. */
struct bsm_type;

typedef enum bsm_ivalue_tag {
  BSM_IVALUE_NONE = 0,
  BSM_IVALUE_INT,
  BSM_IVALUE_DOUBLE,
  BSM_IVALUE_BOOL,
  BSM_IVALUE_COMPLEX,
  BSM_IVALUE_STRING,
  BSM_IVALUE_DEVICE,
  BSM_IVALUE_TENSOR,
  BSM_IVALUE_LIST,
  BSM_IVALUE_TUPLE,
  BSM_IVALUE_DICT,
  BSM_IVALUE_OBJECT,   /* module or class instance */
  BSM_IVALUE_ENUM,     /* enum item: an object with name and value */
  BSM_IVALUE_FUNCTION, /* struct bsm_function of the IR */
  BSM_IVALUE_CONTAINER /* opaque to aten: the converters' TensorContainer */
} bsm_ivalue_tag;

typedef struct bsm_list bsm_list;
typedef struct bsm_tuple bsm_tuple;
typedef struct bsm_dict bsm_dict;
typedef struct bsm_object bsm_object;

/* What programs call a device; all of it is one place to us. */
typedef struct bsm_torch_device {
  int8_t type;  /* 0 cpu, 1 cuda, 2 other */
  int8_t index; /* -1: none */
} bsm_torch_device;

typedef struct bsm_ivalue {
  bsm_ivalue_tag tag;
  union {
    int64_t i;
    double d;
    bool b;
    struct {
      double re, im;
    } c;
    const bsm_str *s;
    bsm_torch_device device;
    bsm_tensor *tensor;
    bsm_list *list;
    bsm_tuple *tuple;
    bsm_dict *dict;
    bsm_object *object;
    const void *function;
    void *container;
  } u;
} bsm_ivalue;

/* Copies may share `items` until one of them is written to: `used` counts what
 * is filled in, and whoever has that many may append. NULL: nothing is shared.
 */
struct bsm_list {
  const struct bsm_type *elem_type; /* may be NULL: unknown */
  bsm_ivalue *items;
  size_t len, cap;
  bsm_arena *arena; /* where it grows */
  size_t *used;
};

struct bsm_tuple {
  const struct bsm_type *type; /* NamedTuple type, or NULL */
  bsm_ivalue *items;
  size_t len;
};

/* Insertion-ordered, as Python's. A long one has an index, in which keys are
 * found by their hash: `index[h & (index_size - 1)]` and what follows have the
 * places of keys plus one, 0 where it is free. It holds for `indexed` keys;
 * when these are not all, keys are looked at one by one. */
struct bsm_dict {
  const struct bsm_type *key_type, *value_type; /* may be NULL */
  bsm_ivalue *keys, *values;
  size_t len, cap;
  bsm_arena *arena;
  uint32_t *index;
  size_t index_size, indexed;
};

/* An instance of a class or module type; slots in the order of the type's
 * attributes. */
struct bsm_object {
  const struct bsm_type *type;
  bsm_ivalue *slots;
  size_t len;
};

static inline bsm_ivalue bsm_iv_none(void) {
  return (bsm_ivalue){0};
}
static inline bsm_ivalue bsm_iv_int(int64_t v) {
  return (bsm_ivalue){BSM_IVALUE_INT, {.i = v}};
}
static inline bsm_ivalue bsm_iv_double(double v) {
  return (bsm_ivalue){BSM_IVALUE_DOUBLE, {.d = v}};
}
static inline bsm_ivalue bsm_iv_bool(bool v) {
  return (bsm_ivalue){BSM_IVALUE_BOOL, {.b = v}};
}
static inline bsm_ivalue bsm_iv_tensor(bsm_tensor *v) {
  return (bsm_ivalue){BSM_IVALUE_TENSOR, {.tensor = v}};
}
static inline bsm_ivalue bsm_iv_list(bsm_list *v) {
  return (bsm_ivalue){BSM_IVALUE_LIST, {.list = v}};
}
static inline bsm_ivalue bsm_iv_tuple(bsm_tuple *v) {
  return (bsm_ivalue){BSM_IVALUE_TUPLE, {.tuple = v}};
}
static inline bsm_ivalue bsm_iv_dict(bsm_dict *v) {
  return (bsm_ivalue){BSM_IVALUE_DICT, {.dict = v}};
}
static inline bsm_ivalue bsm_iv_object(bsm_object *v) {
  return (bsm_ivalue){BSM_IVALUE_OBJECT, {.object = v}};
}

/* Makers in an arena; all fail only with out of memory. */
BSM_NODISCARD bsm_status bsm_iv_string(bsm_arena *arena, bsm_str text,
                                       bsm_ivalue *out);
BSM_NODISCARD bsm_status bsm_list_new(bsm_arena *arena,
                                      const struct bsm_type *elem_type,
                                      size_t len, bsm_list **out);
BSM_NODISCARD bsm_status bsm_list_append(bsm_list *list, bsm_ivalue item);
/* A copy in the list's own arena, which takes no time until it is written to:
 * appending to a copy of a copy is how programs fill lists. */
BSM_NODISCARD bsm_status bsm_list_copy(bsm_list *list, bsm_list **out);
/* To be called before items are written to in place: they are the list's own
 * then. */
BSM_NODISCARD bsm_status bsm_list_own(bsm_list *list);
BSM_NODISCARD bsm_status bsm_tuple_new(bsm_arena *arena, size_t len,
                                       bsm_tuple **out);
BSM_NODISCARD bsm_status bsm_dict_new(bsm_arena *arena,
                                      const struct bsm_type *key_type,
                                      const struct bsm_type *value_type,
                                      bsm_dict **out);
/* Inserts or replaces. */
BSM_NODISCARD bsm_status bsm_dict_set(bsm_dict *dict, bsm_ivalue key,
                                      bsm_ivalue value);
/* NULL when absent. Keys: int, double, bool, string, tensor identity. */
bsm_ivalue *bsm_dict_find(const bsm_dict *dict, bsm_ivalue key);
bool bsm_dict_delete(bsm_dict *dict, bsm_ivalue key);
/* Keeps the first `len` entries. */
void bsm_dict_truncate(bsm_dict *dict, size_t len);
/* Makes the index of a dict that was filled otherwise. */
BSM_NODISCARD bsm_status bsm_dict_make_index(bsm_dict *dict);
BSM_NODISCARD bsm_status bsm_object_new(bsm_arena *arena,
                                        const struct bsm_type *type, size_t len,
                                        bsm_object **out);

/* Lists of plain values. */
BSM_NODISCARD bsm_status bsm_iv_int_list(bsm_arena *arena, const int64_t *v,
                                         size_t n, bsm_ivalue *out);
BSM_NODISCARD bsm_status bsm_iv_tensor_list(bsm_arena *arena,
                                            bsm_tensor *const *v, size_t n,
                                            bsm_ivalue *out);

/* Python's == on values without tensors; identity for objects and tensors. */
bool bsm_iv_equal(const bsm_ivalue *a, const bsm_ivalue *b);
/* Python's `is`: containers, objects and tensors by address, plain values and
 * enum items by value. */
bool bsm_iv_is(const bsm_ivalue *a, const bsm_ivalue *b);
/* "int", "Tensor", "List", ...: for messages. */
const char *bsm_iv_tag_name(bsm_ivalue_tag tag);
/* Appends Python's str() of the value (print, format, error messages). */
void bsm_iv_print(bsm_text *text, const bsm_ivalue *value);

#endif /* BSM_ATEN_IVALUE_H_ */
