/* SPDX-License-Identifier: Apache-2.0 */
/* Integers of few bits in their own form. What they become goes by way of
 * int32, which has vectors twice as wide as int64. */
#include "backend/cpu/cpu_held.h"

#include <string.h>

#include "aten/tensor.h"

size_t bsm_cpu_held_size(bsm_dtype dtype) {
  return bsm_cpu_is_narrow(dtype) ? bsm_dtype_size(dtype)
                                  : bsm_cpu_class_size(bsm_cpu_class_of(dtype));
}

/* Strides are of elements. */
#define COPY(type)                                                    \
  {                                                                   \
    const type *p = from;                                             \
    type *o = to;                                                     \
    for (int64_t i = 0; i < n; i++) o[i * to_stride] = p[i * stride]; \
    return;                                                           \
  }

static void copy_elements(bsm_dtype dtype, const void *from, int64_t stride,
                          int64_t n, void *to, int64_t to_stride) {
  const size_t size = bsm_dtype_size(dtype);
  if (stride == 1 && to_stride == 1) {
    if (n > 0) memcpy(to, from, (size_t)n * size);
    return;
  }
  if (size == 1) COPY(uint8_t)
  if (size == 2) COPY(uint16_t)
  COPY(uint32_t)
}

void bsm_cpu_hold(const bsm_cpu_elements *k, bsm_dtype dtype, const void *from,
                  int64_t stride, int64_t n, void *to) {
  if (!bsm_cpu_is_narrow(dtype)) {
    bsm_cpu_load(k, dtype, from, stride, n, to);
  } else {
    copy_elements(dtype, from, stride, n, to, 1);
  }
}

void bsm_cpu_put(const bsm_cpu_elements *k, bsm_dtype dtype, void *to,
                 int64_t stride, int64_t n, const void *from) {
  if (!bsm_cpu_is_narrow(dtype)) {
    bsm_cpu_store(k, dtype, to, stride, n, from);
  } else {
    copy_elements(dtype, from, 1, n, to, stride);
  }
}

void bsm_cpu_held_to_class(const bsm_cpu_elements *k, bsm_dtype from,
                           const void *x, bsm_cpu_class c, void *to,
                           int64_t n) {
  const int width = bsm_cpu_narrow_width(from);
  const bsm_k_ints *ints = k->ints;
  if (width < 0) {
    bsm_cpu_convert(k, bsm_cpu_class_of(from), x, c, to, n);
  } else if (c == BSM_CPU_U8) {
    ints->narrow(BSM_K_NARROW_TRUTH, (bsm_k_ints_width)width, NULL, x, NULL, to,
                 n);
  } else if (c == BSM_CPU_F32) {
    if (width != BSM_K_INTS_I32) {
      ints->narrow(BSM_K_NARROW_TO_I32, (bsm_k_ints_width)width, NULL, x, NULL,
                   to, n);
      x = to;
    }
    ints->narrow(BSM_K_NARROW_I32_TO_FLOAT, BSM_K_INTS_I32, NULL, x, NULL, to,
                 n);
  } else {
    ints->load((bsm_k_ints_width)width, x, to, n);
    if (c == BSM_CPU_F64) bsm_cpu_convert(k, BSM_CPU_I64, to, c, to, n);
  }
}

/* int32 to a narrow dtype. */
static void cut(const bsm_k_ints *ints, const void *x, bsm_dtype dtype,
                void *to, int64_t n) {
  ints->narrow(BSM_K_NARROW_OF_I32, bsm_cpu_width_of(dtype), NULL, x, NULL, to,
               n);
}

void bsm_cpu_class_to_held(const bsm_cpu_elements *k, bsm_cpu_class c,
                           const void *x, bsm_dtype dtype, void *to, int64_t n,
                           void *room) {
  const bsm_k_ints *ints = k->ints;
  if (!bsm_cpu_is_narrow(dtype)) {
    bsm_cpu_cast(k, c, x, dtype, to, n);
    return;
  }
  void *wide = dtype == BSM_DTYPE_INT32 ? to : room;
  if (c == BSM_CPU_F32) {
    ints->narrow(BSM_K_NARROW_FLOAT_TO_I32, BSM_K_INTS_I32, NULL, x, NULL, wide,
                 n);
    if (wide != to) cut(ints, wide, dtype, to, n);
    return;
  }
  if (c != BSM_CPU_I64) {
    bsm_cpu_convert(k, c, x, BSM_CPU_I64, room, n);
    x = room;
  }
  ints->store(bsm_cpu_width_of(dtype), x, to, n);
}

void bsm_cpu_cast_held(const bsm_cpu_elements *k, bsm_dtype from, const void *x,
                       bsm_dtype dtype, void *to, int64_t n, void *room) {
  if (!bsm_cpu_is_narrow(from)) {
    bsm_cpu_class_to_held(k, bsm_cpu_class_of(from), x, dtype, to, n, room);
  } else if (!bsm_cpu_is_narrow(dtype)) {
    bsm_cpu_held_to_class(k, from, x, bsm_cpu_class_of(dtype), to, n);
    bsm_cpu_narrow(k, dtype, to, n);
  } else if (bsm_dtype_size(from) == bsm_dtype_size(dtype)) {
    memmove(to, x, (size_t)n * bsm_dtype_size(dtype));
  } else {
    if (from != BSM_DTYPE_INT32) {
      void *wide = dtype == BSM_DTYPE_INT32 ? to : room;
      k->ints->narrow(BSM_K_NARROW_TO_I32, bsm_cpu_width_of(from), NULL, x,
                      NULL, wide, n);
      x = wide;
    }
    if (dtype != BSM_DTYPE_INT32) cut(k->ints, x, dtype, to, n);
  }
}

/* ---- operations ---- */

/* How a comparison is one of two, or of its operands the other way round, or
 * its negation. */
typedef struct operation {
  int code;
  bool swaps, negates;
} operation;

static operation operation_of(int32_t code) {
  switch (code) {
    case BSM_ELEMENT_WISE_SUM:
      return (operation){BSM_K_NARROW_SUM, false, false};
    case BSM_ELEMENT_WISE_PROD:
      return (operation){BSM_K_NARROW_PROD, false, false};
    case BSM_ELEMENT_WISE_SUB:
      return (operation){BSM_K_NARROW_SUB, false, false};
    case BSM_ELEMENT_WISE_MAX:
      return (operation){BSM_K_NARROW_MAX, false, false};
    case BSM_ELEMENT_WISE_MIN:
      return (operation){BSM_K_NARROW_MIN, false, false};
    case BSM_ELEMENT_WISE_BITWISE_AND:
      return (operation){BSM_K_NARROW_AND, false, false};
    case BSM_ELEMENT_WISE_BITWISE_OR:
      return (operation){BSM_K_NARROW_OR, false, false};
    case BSM_ELEMENT_WISE_BITWISE_XOR:
      return (operation){BSM_K_NARROW_XOR, false, false};
    case BSM_ELEMENT_WISE_SHIFT_LEFT:
      return (operation){BSM_K_NARROW_SHIFT_LEFT, false, false};
    case BSM_ELEMENT_WISE_SHIFT_RIGHT:
      return (operation){BSM_K_NARROW_SHIFT_RIGHT, false, false};
    case BSM_ELEMENT_WISE_EQUAL:
      return (operation){BSM_K_NARROW_EQUAL, false, false};
    case BSM_ELEMENT_WISE_NOT_EQUAL:
      return (operation){BSM_K_NARROW_EQUAL, false, true};
    case BSM_ELEMENT_WISE_LESS:
      return (operation){BSM_K_NARROW_LESS, false, false};
    case BSM_ELEMENT_WISE_GREATER_EQUAL:
      return (operation){BSM_K_NARROW_LESS, false, true};
    case BSM_ELEMENT_WISE_GREATER:
      return (operation){BSM_K_NARROW_LESS, true, false};
    case BSM_ELEMENT_WISE_LESS_EQUAL:
      return (operation){BSM_K_NARROW_LESS, true, true};
    default:
      return (operation){-1, false, false};
  }
}

bool bsm_cpu_narrow_has_binary(int32_t code) {
  return operation_of(code).code >= 0;
}

bool bsm_cpu_narrow_has_unary(int32_t code) {
  return code == BSM_UNARY_ABS || code == BSM_UNARY_NEG ||
         code == BSM_UNARY_BITWISE_NOT || code == BSM_UNARY_SQUARE;
}

void bsm_cpu_narrow_unary(const bsm_k_ints *ints, int32_t code, bsm_dtype dtype,
                          const void *a, void *y, int64_t n) {
  if (code == BSM_UNARY_ABS && dtype == BSM_DTYPE_UINT8) {
    memmove(y, a, (size_t)n);
    return;
  }
  const bsm_k_narrow_op op = code == BSM_UNARY_ABS      ? BSM_K_NARROW_ABS
                             : code == BSM_UNARY_NEG    ? BSM_K_NARROW_NEG
                             : code == BSM_UNARY_SQUARE ? BSM_K_NARROW_PROD
                                                        : BSM_K_NARROW_NOT;
  ints->narrow(op, bsm_cpu_width_of(dtype), NULL, a, a, y, n);
}

static const void *widened(const bsm_k_ints *ints, bsm_dtype dtype,
                           const void *x, int32_t *room, int64_t n) {
  if (dtype == BSM_DTYPE_INT32) return x;
  ints->narrow(BSM_K_NARROW_TO_I32, bsm_cpu_width_of(dtype), NULL, x, NULL,
               room, n);
  return room;
}

void bsm_cpu_narrow_binary(const bsm_k_ints *ints, int32_t code,
                           bsm_dtype dtype, const void *a, const void *b,
                           void *y, int64_t n, int32_t *room_a,
                           int32_t *room_b) {
  const operation o = operation_of(code);
  const bsm_k_narrow_op op = (bsm_k_narrow_op)o.code;
  const bsm_k_ints_width width = bsm_cpu_width_of(dtype);
  if (op == BSM_K_NARROW_SHIFT_LEFT || op == BSM_K_NARROW_SHIFT_RIGHT) {
    void *wide = dtype == BSM_DTYPE_INT32 ? y : room_a;
    ints->narrow(op, width, NULL, widened(ints, dtype, a, room_a, n),
                 widened(ints, dtype, b, room_b, n), wide, n);
    if (wide != y) cut(ints, wide, dtype, y, n);
    return;
  }
  ints->narrow(op, width, NULL, o.swaps ? b : a, o.swaps ? a : b, y, n);
  if (o.negates) ints->truth(BSM_K_TRUTH_NOT, y, y, y, n);
}
