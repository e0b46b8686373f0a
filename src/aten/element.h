/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of tensors: typed loads and stores of strided rows, and an iterator
 * that walks several broadcast tensors row by row.
 *
 * Ops compute in double (all floating dtypes) or in int64 (integers and bool)
 * on rows of a few hundred elements. half, bfloat16 and float results are
 * rounded once when they are stored; half and bfloat16 through float, as
 * PyTorch does. */
#ifndef BSM_ATEN_ELEMENT_H_
#define BSM_ATEN_ELEMENT_H_

#include "aten/tensor.h"

/* The conversion of x86: what does not fit, and NaN, gives INT64_MIN. */
static inline int64_t bsm_double_to_i64(double v) {
  if (v >= -9223372036854775808.0 && v < 9223372036854775808.0) {
    return (int64_t)v;
  }
  return INT64_MIN;
}

/* Rows of `n` elements, `step` bytes apart. Complex and quantized dtypes are
 * not rows of real numbers: bsm_dtype_has_rows tells. */
bool bsm_dtype_has_rows(bsm_dtype d);
/* Whether the elements are numbers, complex ones too: not quantized. */
bool bsm_dtype_is_number(bsm_dtype d);
void bsm_load_f64(bsm_dtype d, const void *row, int64_t step, size_t n,
                  double *out);
void bsm_load_i64(bsm_dtype d, const void *row, int64_t step, size_t n,
                  int64_t *out);
void bsm_store_f64(bsm_dtype d, void *row, int64_t step, size_t n,
                   const double *in);
void bsm_store_i64(bsm_dtype d, void *row, int64_t step, size_t n,
                   const int64_t *in);
/* Rounds values to what `d` can hold (as a cast there and back). */
void bsm_round_f64(bsm_dtype d, size_t n, double *values);
void bsm_wrap_i64(bsm_dtype d, size_t n, int64_t *values);

/* Any number as a complex one, and back: what is stored in a real dtype loses
 * its imaginary part; a bool is whether it is not zero. */
typedef struct bsm_c128 {
  double re, im;
} bsm_c128;
void bsm_load_c128(bsm_dtype d, const void *row, int64_t step, size_t n,
                   bsm_c128 *out);
void bsm_store_c128(bsm_dtype d, void *row, int64_t step, size_t n,
                    const bsm_c128 *in);
void bsm_round_c128(bsm_dtype d, size_t n, bsm_c128 *values);

static inline double bsm_load1_f64(bsm_dtype d, const void *p) {
  double v;
  bsm_load_f64(d, p, 0, 1, &v);
  return v;
}
static inline int64_t bsm_load1_i64(bsm_dtype d, const void *p) {
  int64_t v;
  bsm_load_i64(d, p, 0, 1, &v);
  return v;
}
static inline void bsm_store1_f64(bsm_dtype d, void *p, double v) {
  bsm_store_f64(d, p, 0, 1, &v);
}
static inline void bsm_store1_i64(bsm_dtype d, void *p, int64_t v) {
  bsm_store_i64(d, p, 0, 1, &v);
}

#define BSM_ITER_MAX 6
/* Elements an op handles at once. */
#define BSM_ROW 256

/* Walks up to BSM_ITER_MAX tensors of one broadcast shape in row-major order:
 *
 *   bsm_iter_init(&it, shape, tensors, n);
 *   while (bsm_iter_next(&it)) {   it.count elements at it.ptr[k],
 *   }                              it.step[k] bytes apart
 */
typedef struct bsm_iter {
  int64_t count;
  int64_t step[BSM_ITER_MAX];
  char *ptr[BSM_ITER_MAX];
  /* private */
  int operands;
  int32_t rank; /* outer dimensions */
  bool started, empty;
  int64_t sizes[BSM_MAX_RANK], index[BSM_MAX_RANK];
  int64_t strides[BSM_ITER_MAX][BSM_MAX_RANK]; /* bytes */
} bsm_iter;

/* The tensors must broadcast to `shape` and must not be meta. */
void bsm_iter_init(bsm_iter *it, bsm_dims shape,
                   const bsm_tensor *const *tensors, int n);
bool bsm_iter_next(bsm_iter *it);

#endif /* BSM_ATEN_ELEMENT_H_ */
