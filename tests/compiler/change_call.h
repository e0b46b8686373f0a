/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of a call's arguments that its schema allows. */
#ifndef BSM_TESTS_COMPILER_CHANGE_CALL_H_
#define BSM_TESTS_COMPILER_CHANGE_CALL_H_

#include "ir/schema.h"
#include "tests/conversion/op_engine.h"

typedef struct change_random {
  uint64_t state;
} change_random;

static inline uint64_t change_below(change_random *r, uint64_t n) {
  r->state =
      r->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (r->state >> 33) % n;
}

/* ---- tensors ---- */

static inline bsm_dtype change_dtype(change_random *r) {
  static const bsm_dtype dtypes[] = {
      BSM_DTYPE_FLOAT, BSM_DTYPE_DOUBLE, BSM_DTYPE_HALF,  BSM_DTYPE_BFLOAT16,
      BSM_DTYPE_INT64, BSM_DTYPE_INT32,  BSM_DTYPE_INT16, BSM_DTYPE_INT8,
      BSM_DTYPE_UINT8, BSM_DTYPE_BOOL};
  return dtypes[change_below(r, sizeof(dtypes) / sizeof(dtypes[0]))];
}

static inline bsm_dims change_dims(bsm_dims dims, change_random *r) {
  static const int64_t sizes[] = {1, 1, 0, 2, 3, 5};
  const uint64_t how = change_below(r, 8);
  if (how == 0) return (bsm_dims){0};
  if (how == 1 && dims.rank > 0) { /* without the first */
    for (int32_t i = 1; i < dims.rank; i++) dims.d[i - 1] = dims.d[i];
    dims.rank--;
  } else if (how == 2 && dims.rank < 6) { /* with one more in front */
    for (int32_t i = dims.rank; i > 0; i--) dims.d[i] = dims.d[i - 1];
    dims.d[0] = sizes[change_below(r, 5)];
    dims.rank++;
  } else if (dims.rank > 0) {
    dims.d[change_below(r, (uint64_t)dims.rank)] = sizes[change_below(r, 6)];
  }
  return dims;
}

/* The elements of `from` over and over in new dims: indices stay valid. */
static inline bsm_status change_refill(bsm_arena *arena, const bsm_tensor *from,
                                       bsm_dims dims, bsm_tensor **out) {
  bsm_tensor *given, *t;
  BSM_TRY(bsm_tensor_contiguous(arena, from, &given));
  BSM_TRY(bsm_tensor_new(arena, from->dtype, dims, false, &t));
  const size_t size = bsm_dtype_size(from->dtype);
  const size_t have = (size_t)bsm_tensor_numel(given) * size;
  const size_t want = (size_t)bsm_tensor_numel(t) * size;
  for (size_t i = 0; have && i < want; i++) {
    ((uint8_t *)bsm_tensor_data(t))[i] =
        ((const uint8_t *)bsm_tensor_data(given))[i % have];
  }
  *out = t;
  return BSM_OK;
}

static inline bsm_status change_tensor(bsm_arena *arena, bsm_ivalue *v,
                                       change_random *r) {
  const bsm_tensor *from = v->u.tensor;
  bsm_tensor *t;
  const uint64_t how = change_below(r, 5);
  if (bsm_dtype_is_complex(from->dtype)) return BSM_OK;
  if (how < 2) {
    BSM_TRY(bsm_tensor_to_dtype(arena, from, change_dtype(r), &t));
  } else {
    BSM_TRY(change_refill(arena, from, change_dims(from->sizes, r), &t));
  }
  if (how == 4) BSM_TRY(bsm_tensor_to_dtype(arena, t, change_dtype(r), &t));
  *v = bsm_iv_tensor(t);
  return BSM_OK;
}

/* ---- numbers and lists ---- */

static inline bsm_ivalue change_int(int64_t value, change_random *r) {
  static const int64_t some[] = {0, 1, -1, 2, -2, 3, 5};
  switch (change_below(r, 4)) {
    case 0:
      return bsm_iv_int(value < INT64_MAX ? value + 1 : value);
    case 1:
      return bsm_iv_int(value > INT64_MIN ? value - 1 : value);
    default:
      return bsm_iv_int(some[change_below(r, 7)]);
  }
}

static inline bsm_ivalue change_double(change_random *r) {
  static const double some[] = {0, 1, -1, 0.5, 2.5, 1e-5, -0.25, 3};
  return bsm_iv_double(some[change_below(r, 8)]);
}

static inline bsm_ivalue change_number(const bsm_ivalue *v, change_random *r) {
  switch (change_below(r, 3)) {
    case 0:
      return change_double(r);
    case 1:
      return bsm_iv_bool(change_below(r, 2));
    default:
      return change_int(v->tag == BSM_IVALUE_INT ? v->u.i : 1, r);
  }
}

static inline bsm_status change_value(bsm_arena *arena, const bsm_type *type,
                                      bsm_ivalue *v, change_random *r);

static inline bsm_status change_list(bsm_arena *arena, const bsm_type *type,
                                     bsm_ivalue *v, change_random *r) {
  const bsm_list *from = v->u.list;
  const uint64_t how = change_below(r, 4);
  bsm_list *list;
  size_t len = from->len;
  if (how == 0 && len > 0) len--;
  if (how == 1 && len > 0) len++;
  BSM_TRY(bsm_list_new(arena, from->elem_type, len, &list));
  for (size_t i = 0; i < len; i++) {
    list->items[i] = from->items[i < from->len ? i : i - 1];
  }
  *v = bsm_iv_list(list);
  if (how < 2 || len == 0) return BSM_OK;
  return change_value(arena, type->args[0], &list->items[change_below(r, len)],
                      r);
}

static inline bsm_status change_value(bsm_arena *arena, const bsm_type *type,
                                      bsm_ivalue *v, change_random *r) {
  if (type->kind == BSM_TYPE_OPTIONAL) {
    if (v->tag == BSM_IVALUE_NONE || change_below(r, 4) == 0) {
      *v = bsm_iv_none();
      return BSM_OK;
    }
    type = type->args[0];
  }
  if (type->kind == BSM_TYPE_NUMBER && v->tag != BSM_IVALUE_TENSOR) {
    *v = change_number(v, r);
    return BSM_OK;
  }
  switch (v->tag) {
    case BSM_IVALUE_TENSOR:
      return change_tensor(arena, v, r);
    case BSM_IVALUE_INT:
      *v = change_int(v->u.i, r);
      return BSM_OK;
    case BSM_IVALUE_DOUBLE:
      *v = change_double(r);
      return BSM_OK;
    case BSM_IVALUE_BOOL:
      v->u.b = !v->u.b;
      return BSM_OK;
    case BSM_IVALUE_LIST:
      return type->kind == BSM_TYPE_LIST ? change_list(arena, type, v, r)
                                         : BSM_OK;
    default:
      return BSM_OK;
  }
}

/* ---- calls ---- */

/* An optional argument that was not given: another tensor of the call, or an
 * integer. */
static inline void change_give(const bsm_type *type, bsm_ivalue *args,
                               size_t count, size_t at, change_random *r) {
  const bsm_type *inner = type->args[0];
  const bsm_ivalue *other = &args[change_below(r, count)];
  if (inner->kind == BSM_TYPE_TENSOR && other->tag == BSM_IVALUE_TENSOR) {
    args[at] = *other;
  } else if (inner->kind == BSM_TYPE_INT) {
    args[at] = bsm_iv_int((int64_t)change_below(r, 8));
  } else if (inner->kind == BSM_TYPE_FLOAT || inner->kind == BSM_TYPE_NUMBER) {
    args[at] = change_double(r);
  }
}

/* One to three changes. The values that are changed are copies in `arena`. */
static inline bsm_status change_call(bsm_arena *arena, const bsm_schema *schema,
                                     bsm_ivalue *args, size_t count,
                                     change_random *r) {
  const uint64_t changes = 1 + change_below(r, 3);
  for (uint64_t k = 0; k < changes && count; k++) {
    const size_t at = change_below(r, count);
    const bsm_type *type = schema->args[at].type;
    if (type->kind == BSM_TYPE_OPTIONAL && args[at].tag == BSM_IVALUE_NONE) {
      change_give(type, args, count, at, r);
    } else {
      BSM_TRY(change_value(arena, type, &args[at], r));
    }
  }
  return BSM_OK;
}

/* Whether there are more outputs than an engine of these tests has. */
static inline bool change_is_too_large(const op_case *oc) {
  size_t outputs = 0, inputs = 0;
  for (size_t i = 0; i < oc->out_count; i++) {
    outputs += oc->outs[i].tag == BSM_IVALUE_LIST ? oc->outs[i].u.list->len : 1;
  }
  for (size_t i = 0; i < oc->arg_count; i++) {
    inputs += oc->args[i].tag == BSM_IVALUE_LIST ? oc->args[i].u.list->len : 1;
  }
  return outputs > MAX_OUTPUTS || inputs > 2 * (size_t)MAX_INPUTS;
}

static inline void change_print(const bsm_ivalue *v) {
  switch (v->tag) {
    case BSM_IVALUE_TENSOR:
      print_error(" %s%s", bsm_dtype_name(v->u.tensor->dtype),
                  bsm_dims_str(v->u.tensor->sizes));
      return;
    case BSM_IVALUE_INT:
      print_error(" %lld", (long long)v->u.i);
      return;
    case BSM_IVALUE_DOUBLE:
      print_error(" %g.", v->u.d);
      return;
    case BSM_IVALUE_BOOL:
      print_error(v->u.b ? " True" : " False");
      return;
    case BSM_IVALUE_STRING:
      print_error(" '%.*s'", (int)v->u.s->len, v->u.s->data);
      return;
    case BSM_IVALUE_LIST:
      print_error(" [");
      for (size_t i = 0; i < v->u.list->len; i++) {
        change_print(&v->u.list->items[i]);
      }
      print_error(" ]");
      return;
    default:
      print_error(" %s", bsm_iv_tag_name(v->tag));
  }
}

#endif /* BSM_TESTS_COMPILER_CHANGE_CALL_H_ */
