/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of integers and of truth values through operations of PyTorch:
 * integers wrap around. `y` may be `a` or `b` where the types are the same;
 * nothing outside is touched. All instruction sets give the same bits. */
#ifndef BSM_KERNELS_INTS_H_
#define BSM_KERNELS_INTS_H_

#include "backend/cpu/kernels/kernel_isa.h"

typedef enum bsm_k_ints_op {
  BSM_K_INTS_SUM,
  BSM_K_INTS_PROD,
  BSM_K_INTS_SUB,
  BSM_K_INTS_MAX,
  BSM_K_INTS_MIN,
  BSM_K_INTS_AND,
  BSM_K_INTS_OR,
  BSM_K_INTS_XOR
} bsm_k_ints_op;

typedef enum bsm_k_ints_test {
  BSM_K_INTS_EQUAL,
  BSM_K_INTS_LESS
} bsm_k_ints_test;

/* By zero: 0. By -1: the negative, which wraps around. */
typedef enum bsm_k_ints_division {
  BSM_K_INTS_TRUNC_DIV,
  BSM_K_INTS_FLOOR_DIV,
  BSM_K_INTS_FMOD,     /* the sign of the dividend */
  BSM_K_INTS_REMAINDER /* the sign of the divisor */
} bsm_k_ints_division;

typedef enum bsm_k_truth_op {
  BSM_K_TRUTH_AND,
  BSM_K_TRUTH_OR,
  BSM_K_TRUTH_XOR,
  BSM_K_TRUTH_NOT /* of a */
} bsm_k_truth_op;

/* What numbers become when they are to fit into few bits. */
typedef enum bsm_k_ints_width {
  BSM_K_INTS_U8,
  BSM_K_INTS_I8,
  BSM_K_INTS_I16,
  BSM_K_INTS_I32,
  BSM_K_INTS_I64
} bsm_k_ints_width;

/* Of integers as they are in memory. */
typedef enum bsm_k_narrow_op {
  BSM_K_NARROW_SUM, /* from here as bsm_k_ints_op */
  BSM_K_NARROW_PROD,
  BSM_K_NARROW_SUB,
  BSM_K_NARROW_MAX,
  BSM_K_NARROW_MIN,
  BSM_K_NARROW_AND,
  BSM_K_NARROW_OR,
  BSM_K_NARROW_XOR,
  BSM_K_NARROW_SELECT, /* k[i] is not 0 ? a[i] : b[i] */
  BSM_K_NARROW_NOT,    /* of a, as the next two, which int64 has not */
  BSM_K_NARROW_NEG,
  BSM_K_NARROW_ABS,   /* which bytes without a sign have not, either */
  BSM_K_NARROW_EQUAL, /* y: bytes of 1 and 0 */
  BSM_K_NARROW_LESS,
  BSM_K_NARROW_TRUTH, /* a[i] is not 0 */
  BSM_K_NARROW_MASK,  /* of bytes that are not 0: all bits */
  /* Of truth values as bsm_k_truth_op; `width` says nothing. */
  BSM_K_NARROW_BOTH,
  BSM_K_NARROW_EITHER,
  BSM_K_NARROW_ONE,
  BSM_K_NARROW_NEITHER,
  /* To and from the width; what does not fit into it is cut off. */
  BSM_K_NARROW_TO_I32, /* not from int64, nor the next one */
  BSM_K_NARROW_OF_I32,
  BSM_K_NARROW_TO_I64,
  BSM_K_NARROW_OF_I64,
  /* Of int32 that came from `width`, as the functions of bsm_k_ints; what is
   * shifted left is to be cut to it. */
  BSM_K_NARROW_SHIFT_LEFT,
  BSM_K_NARROW_SHIFT_RIGHT,
  /* Conversions; `width` says nothing. Floats to int32: the lower bits of what
   * `of_floats` gives. */
  BSM_K_NARROW_I32_TO_FLOAT,
  BSM_K_NARROW_FLOAT_TO_I32,
  BSM_K_NARROW_FLOAT_TO_TRUTH,
  BSM_K_NARROW_TRUTH_TO_FLOAT,
  BSM_K_NARROW_TRUTH_TO_I64
} bsm_k_narrow_op;

typedef struct bsm_k_ints {
  const char *name;
  void (*binary)(bsm_k_ints_op op, const int64_t *a, const int64_t *b,
                 int64_t *y, int64_t n);
  /* y[i] = 1 or 0, or the other one where `otherwise` is 1 */
  void (*test)(bsm_k_ints_test test, uint8_t otherwise, const int64_t *a,
               const int64_t *b, uint8_t *y, int64_t n);
  void (*divide)(bsm_k_ints_division division, const int64_t *a,
                 const int64_t *b, int64_t *y, int64_t n);
  /* By b[i] bits; by a number below 0, or of `bits` and more, nothing is left.
   */
  void (*shift_left)(const int64_t *a, const int64_t *b, int64_t *y, int64_t n,
                     int64_t bits);
  /* By `most` <= 63 bits where b[i] is below 0 or more. */
  void (*shift_right)(const int64_t *a, const int64_t *b, int64_t *y, int64_t n,
                      int64_t most);
  /* y[i] = k[i] is not 0 ? a[i] : b[i] */
  void (*select)(const uint8_t *k, const int64_t *a, const int64_t *b,
                 int64_t *y, int64_t n);
  /* Anything but 0 is true; y[i] = 1 or 0. */
  void (*truth)(bsm_k_truth_op op, const uint8_t *a, const uint8_t *b,
                uint8_t *y, int64_t n);
  void (*wrap)(bsm_k_ints_width width, const int64_t *a, int64_t *y, int64_t n);
  /* Conversions. Of floats: towards zero; the least int64 of what does not fit
   * into one, as of NaN. */
  void (*to_floats)(const int64_t *a, float *y, int64_t n);
  void (*of_floats)(const float *a, int64_t *y, int64_t n);
  void (*to_truth)(const int64_t *a, uint8_t *y, int64_t n);
  void (*of_truth)(const uint8_t *a, int64_t *y, int64_t n);
  void (*floats_of_truth)(const uint8_t *a, float *y, int64_t n);
  void (*truth_of_floats)(const float *a, uint8_t *y, int64_t n);
  void (*fill)(int64_t value, int64_t *y, int64_t n);
  /* Elements in memory to int64 and back, what does not fit cut off. */
  void (*load)(bsm_k_ints_width width, const void *from, int64_t *y, int64_t n);
  void (*store)(bsm_k_ints_width width, const int64_t *a, void *to, int64_t n);
  /* `b` and `k` may be NULL where they are not read. */
  void (*narrow)(bsm_k_narrow_op op, bsm_k_ints_width width, const uint8_t *k,
                 const void *a, const void *b, void *y, int64_t n);
} bsm_k_ints;

BSM_K_FAMILY(ints)

#endif /* BSM_KERNELS_INTS_H_ */
