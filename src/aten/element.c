/* SPDX-License-Identifier: Apache-2.0 */
/* Typed rows and the broadcasting iterator. */
#include "aten/element.h"

#include <string.h>

bool bsm_dtype_has_rows(bsm_dtype d) {
  return d == BSM_DTYPE_BOOL || d == BSM_DTYPE_BFLOAT16 ||
         bsm_dtype_is_float8(d) ||
         (d >= BSM_DTYPE_UINT8 && d <= BSM_DTYPE_DOUBLE);
}

bool bsm_dtype_is_number(bsm_dtype d) {
  return bsm_dtype_has_rows(d) || bsm_dtype_is_complex(d);
}

#define LOAD_CASE(D, T, EXPR)                   \
  case D:                                       \
    for (size_t k = 0; k < n; k++, p += step) { \
      const T v = *(const T *)(const void *)p;  \
      out[k] = EXPR;                            \
    }                                           \
    break;
#define STORE_CASE(D, T, EXPR)                  \
  case D:                                       \
    for (size_t k = 0; k < n; k++, p += step) { \
      *(T *)(void *)p = EXPR;                   \
    }                                           \
    break;

void bsm_load_f64(bsm_dtype d, const void *row, int64_t step, size_t n,
                  double *out) {
  const char *p = row;
  switch (d) {
    LOAD_CASE(BSM_DTYPE_UINT8, uint8_t, (double)v)
    LOAD_CASE(BSM_DTYPE_INT8, int8_t, (double)v)
    LOAD_CASE(BSM_DTYPE_INT16, int16_t, (double)v)
    LOAD_CASE(BSM_DTYPE_INT32, int32_t, (double)v)
    LOAD_CASE(BSM_DTYPE_INT64, int64_t, (double)v)
    LOAD_CASE(BSM_DTYPE_HALF, uint16_t, (double)bsm_half_to_float(v))
    LOAD_CASE(BSM_DTYPE_FLOAT, float, (double)v)
    LOAD_CASE(BSM_DTYPE_DOUBLE, double, v)
    LOAD_CASE(BSM_DTYPE_BOOL, uint8_t, v ? 1.0 : 0.0)
    LOAD_CASE(BSM_DTYPE_BFLOAT16, uint16_t, (double)bsm_bfloat16_to_float(v))
    case BSM_DTYPE_FLOAT8_E5M2:
    case BSM_DTYPE_FLOAT8_E4M3FN:
      for (size_t k = 0; k < n; k++, p += step) {
        out[k] = (double)bsm_float8_to_float(d, *(const uint8_t *)p);
      }
      break;
    default:
      memset(out, 0, n * sizeof(*out));
  }
}

void bsm_load_i64(bsm_dtype d, const void *row, int64_t step, size_t n,
                  int64_t *out) {
  const char *p = row;
  switch (d) {
    LOAD_CASE(BSM_DTYPE_UINT8, uint8_t, v)
    LOAD_CASE(BSM_DTYPE_INT8, int8_t, v)
    LOAD_CASE(BSM_DTYPE_INT16, int16_t, v)
    LOAD_CASE(BSM_DTYPE_INT32, int32_t, v)
    LOAD_CASE(BSM_DTYPE_INT64, int64_t, v)
    LOAD_CASE(BSM_DTYPE_HALF, uint16_t,
              bsm_double_to_i64((double)bsm_half_to_float(v)))
    LOAD_CASE(BSM_DTYPE_FLOAT, float, bsm_double_to_i64((double)v))
    LOAD_CASE(BSM_DTYPE_DOUBLE, double, bsm_double_to_i64(v))
    LOAD_CASE(BSM_DTYPE_BOOL, uint8_t, v ? 1 : 0)
    LOAD_CASE(BSM_DTYPE_BFLOAT16, uint16_t,
              bsm_double_to_i64((double)bsm_bfloat16_to_float(v)))
    case BSM_DTYPE_FLOAT8_E5M2:
    case BSM_DTYPE_FLOAT8_E4M3FN:
      for (size_t k = 0; k < n; k++, p += step) {
        out[k] = bsm_double_to_i64(
            (double)bsm_float8_to_float(d, *(const uint8_t *)p));
      }
      break;
    default:
      memset(out, 0, n * sizeof(*out));
  }
}

void bsm_store_f64(bsm_dtype d, void *row, int64_t step, size_t n,
                   const double *in) {
  char *p = row;
  switch (d) {
    STORE_CASE(BSM_DTYPE_UINT8, uint8_t, (uint8_t)bsm_double_to_i64(in[k]))
    STORE_CASE(BSM_DTYPE_INT8, int8_t, (int8_t)bsm_double_to_i64(in[k]))
    STORE_CASE(BSM_DTYPE_INT16, int16_t, (int16_t)bsm_double_to_i64(in[k]))
    STORE_CASE(BSM_DTYPE_INT32, int32_t, (int32_t)bsm_double_to_i64(in[k]))
    STORE_CASE(BSM_DTYPE_INT64, int64_t, bsm_double_to_i64(in[k]))
    STORE_CASE(BSM_DTYPE_HALF, uint16_t, bsm_float_to_half((float)in[k]))
    STORE_CASE(BSM_DTYPE_FLOAT, float, (float)in[k])
    STORE_CASE(BSM_DTYPE_DOUBLE, double, in[k])
    STORE_CASE(BSM_DTYPE_BOOL, uint8_t, in[k] != 0.0)
    STORE_CASE(BSM_DTYPE_BFLOAT16, uint16_t,
               bsm_float_to_bfloat16((float)in[k]))
    case BSM_DTYPE_FLOAT8_E5M2:
    case BSM_DTYPE_FLOAT8_E4M3FN:
      for (size_t k = 0; k < n; k++, p += step) {
        *(uint8_t *)p = bsm_float_to_float8(d, (float)in[k]);
      }
      break;
    default:
      break;
  }
}

void bsm_store_i64(bsm_dtype d, void *row, int64_t step, size_t n,
                   const int64_t *in) {
  char *p = row;
  switch (d) {
    STORE_CASE(BSM_DTYPE_UINT8, uint8_t, (uint8_t)in[k])
    STORE_CASE(BSM_DTYPE_INT8, int8_t, (int8_t)in[k])
    STORE_CASE(BSM_DTYPE_INT16, int16_t, (int16_t)in[k])
    STORE_CASE(BSM_DTYPE_INT32, int32_t, (int32_t)in[k])
    STORE_CASE(BSM_DTYPE_INT64, int64_t, in[k])
    STORE_CASE(BSM_DTYPE_HALF, uint16_t, bsm_float_to_half((float)in[k]))
    STORE_CASE(BSM_DTYPE_FLOAT, float, (float)in[k])
    STORE_CASE(BSM_DTYPE_DOUBLE, double, (double)in[k])
    STORE_CASE(BSM_DTYPE_BOOL, uint8_t, in[k] != 0)
    STORE_CASE(BSM_DTYPE_BFLOAT16, uint16_t,
               bsm_float_to_bfloat16((float)in[k]))
    case BSM_DTYPE_FLOAT8_E5M2:
    case BSM_DTYPE_FLOAT8_E4M3FN:
      for (size_t k = 0; k < n; k++, p += step) {
        *(uint8_t *)p = bsm_float_to_float8(d, (float)in[k]);
      }
      break;
    default:
      break;
  }
}

void bsm_round_f64(bsm_dtype d, size_t n, double *values) {
  if (d == BSM_DTYPE_FLOAT) { /* the common one, without a switch for each */
    for (size_t k = 0; k < n; k++) values[k] = (double)(float)values[k];
    return;
  }
  for (size_t k = 0; k < n; k++) {
    const float f = (float)values[k];
    switch (d) {
      case BSM_DTYPE_HALF:
        values[k] = (double)bsm_half_to_float(bsm_float_to_half(f));
        break;
      case BSM_DTYPE_BFLOAT16:
        values[k] = (double)bsm_bfloat16_to_float(bsm_float_to_bfloat16(f));
        break;
      case BSM_DTYPE_FLOAT8_E5M2:
      case BSM_DTYPE_FLOAT8_E4M3FN:
        values[k] = (double)bsm_float8_to_float(d, bsm_float_to_float8(d, f));
        break;
      default:
        return;
    }
  }
}

void bsm_wrap_i64(bsm_dtype d, size_t n, int64_t *values) {
  for (size_t k = 0; k < n; k++) {
    switch (d) {
      case BSM_DTYPE_UINT8:
        values[k] = (uint8_t)values[k];
        break;
      case BSM_DTYPE_INT8:
        values[k] = (int8_t)values[k];
        break;
      case BSM_DTYPE_INT16:
        values[k] = (int16_t)values[k];
        break;
      case BSM_DTYPE_INT32:
        values[k] = (int32_t)values[k];
        break;
      case BSM_DTYPE_BOOL:
        values[k] = values[k] != 0;
        break;
      default:
        return;
    }
  }
}

/* The two parts of complex elements are rows of a real dtype. */
void bsm_load_c128(bsm_dtype d, const void *row, int64_t step, size_t n,
                   bsm_c128 *out) {
  double parts[BSM_ROW];
  const bool is_complex = bsm_dtype_is_complex(d);
  const bsm_dtype part = bsm_dtype_value_type(d);
  const char *p = row;
  if (d == BSM_DTYPE_COMPLEX_FLOAT) { /* the common one, in one go */
    for (size_t i = 0; i < n; i++, p += step) {
      float v[2];
      memcpy(v, p, sizeof(v));
      out[i] = (bsm_c128){(double)v[0], (double)v[1]};
    }
    return;
  }
  for (size_t at = 0; at < n; at += BSM_ROW) {
    const size_t k = n - at < BSM_ROW ? n - at : BSM_ROW;
    bsm_load_f64(part, p, step, k, parts);
    for (size_t i = 0; i < k; i++) {
      out[at + i] = (bsm_c128){parts[i], 0.0};
    }
    if (is_complex) {
      bsm_load_f64(part, p + bsm_dtype_size(part), step, k, parts);
      for (size_t i = 0; i < k; i++) out[at + i].im = parts[i];
    }
    p += (int64_t)k * step;
  }
}

void bsm_store_c128(bsm_dtype d, void *row, int64_t step, size_t n,
                    const bsm_c128 *in) {
  double parts[BSM_ROW];
  const bool is_complex = bsm_dtype_is_complex(d);
  const bsm_dtype part = bsm_dtype_value_type(d);
  char *p = row;
  if (d == BSM_DTYPE_COMPLEX_FLOAT) {
    for (size_t i = 0; i < n; i++, p += step) {
      const float v[2] = {(float)in[i].re, (float)in[i].im};
      memcpy(p, v, sizeof(v));
    }
    return;
  }
  for (size_t at = 0; at < n; at += BSM_ROW) {
    const size_t k = n - at < BSM_ROW ? n - at : BSM_ROW;
    for (size_t i = 0; i < k; i++) {
      const bsm_c128 v = in[at + i];
      parts[i] = d == BSM_DTYPE_BOOL && v.im != 0.0 ? 1.0 : v.re;
    }
    bsm_store_f64(part, p, step, k, parts);
    if (is_complex) {
      for (size_t i = 0; i < k; i++) parts[i] = in[at + i].im;
      bsm_store_f64(part, p + bsm_dtype_size(part), step, k, parts);
    }
    p += (int64_t)k * step;
  }
}

void bsm_round_c128(bsm_dtype d, size_t n, bsm_c128 *values) {
  const bsm_dtype part = bsm_dtype_value_type(d);
  if (n > 0) bsm_round_f64(part, 2 * n, &values->re);
}

/* Merges dimension `inner` + 1 into `inner` where every operand allows it. */
static bool can_merge(const bsm_iter *it, int32_t outer, int32_t inner) {
  for (int k = 0; k < it->operands; k++) {
    if (it->strides[k][outer] != it->strides[k][inner] * it->sizes[inner]) {
      return false;
    }
  }
  return true;
}

static void coalesce(bsm_iter *it) {
  int32_t out = 0;
  for (int32_t i = 1; i < it->rank; i++) {
    if (it->sizes[i] == 1) continue;
    if (it->sizes[out] == 1 || can_merge(it, out, i)) {
      it->sizes[out] *= it->sizes[i];
    } else {
      out++;
      it->sizes[out] = it->sizes[i];
    }
    for (int k = 0; k < it->operands; k++) {
      it->strides[k][out] = it->strides[k][i];
    }
  }
  if (it->rank > 0) it->rank = out + 1;
}

void bsm_iter_init(bsm_iter *it, bsm_dims shape,
                   const bsm_tensor *const *tensors, int n) {
  memset(it, 0, sizeof(*it));
  it->operands = n;
  it->rank = shape.rank;
  for (int32_t i = 0; i < shape.rank; i++) {
    it->sizes[i] = shape.d[i];
    if (shape.d[i] == 0) it->empty = true;
  }
  /* Sizes and strides beside a size of zero may be anything. */
  if (it->empty) return;
  for (int k = 0; k < n; k++) {
    const bsm_tensor *t = tensors[k];
    const int64_t size = (int64_t)bsm_dtype_size(t->dtype);
    const int32_t lead = shape.rank - t->sizes.rank;
    for (int32_t i = 0; i < shape.rank; i++) {
      const bool real = i >= lead && t->sizes.d[i - lead] != 1;
      it->strides[k][i] = real ? t->strides[i - lead] * size : 0;
    }
    it->ptr[k] = bsm_tensor_data(t);
  }
  coalesce(it);
  it->count = 1;
  if (it->rank > 0) {
    it->rank--;
    it->count = it->sizes[it->rank];
    for (int k = 0; k < n; k++) it->step[k] = it->strides[k][it->rank];
  }
}

bool bsm_iter_next(bsm_iter *it) {
  if (it->empty) return false;
  if (!it->started) {
    it->started = true;
    return true;
  }
  for (int32_t i = it->rank - 1; i >= 0; i--) {
    it->index[i]++;
    if (it->index[i] < it->sizes[i]) {
      for (int k = 0; k < it->operands; k++) it->ptr[k] += it->strides[k][i];
      return true;
    }
    it->index[i] = 0;
    for (int k = 0; k < it->operands; k++) {
      it->ptr[k] -= it->strides[k][i] * (it->sizes[i] - 1);
    }
  }
  return false;
}
