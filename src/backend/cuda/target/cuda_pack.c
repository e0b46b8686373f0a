/* SPDX-License-Identifier: Apache-2.0 */
/* Weights as kernels of GPUs read them: the sum of a product runs over what is
 * innermost, channels first of all. */
#include <inttypes.h>
#include <string.h>

#include "backend/cuda/steps/cuda_few_bits.h"
#include "backend/cuda/steps/cuda_int8.h"
#include "backend/cuda/steps/cuda_products.h"
#include "backend/cuda/steps/cuda_recurrent.h"
#include "backend/cuda/target/cuda_target.h"
#include "base/checked.h"
#include "base/copy_matrix.h"

/* The kernel of a convolution in two dimensions: windows and channels. */
typedef struct shape {
  int64_t groups, out, window, in; /* of one group but `groups` */
} shape;

static bsm_status shape_of(const bsm_plan_step *step, int64_t in_maps,
                           shape *out) {
  const bsm_step_convolution *p = &step->params->convolution;
  if (p->groups < 1 || in_maps < 1 || p->out_maps < 1 || in_maps % p->groups ||
      p->out_maps % p->groups) {
    return BSM_FAIL(BSM_CORRUPT,
                    "%" PRId64 " and %" PRId64 " maps in %" PRId64 " groups",
                    in_maps, p->out_maps, p->groups);
  }
  *out = (shape){p->groups, p->out_maps / p->groups, 1, in_maps / p->groups};
  for (int i = 0; i < 3; i++) {
    if (p->window.kernel[i] < 1 ||
        !bsm_i64_mul(out->window, p->window.kernel[i], &out->window)) {
      return BSM_FAIL(BSM_CORRUPT, "a window of %" PRId64, p->window.kernel[i]);
    }
  }
  return BSM_OK;
}

static bsm_status total(int64_t a, int64_t b, int64_t c, int64_t d,
                        size_t element, uint64_t *size) {
  int64_t count;
  if (a < 0 || b < 0 || c < 0 || d < 0 || !bsm_i64_mul(a, b, &count) ||
      !bsm_i64_mul(count, c, &count) || !bsm_i64_mul(count, d, &count) ||
      count > (int64_t)1 << 40) {
    return BSM_FAIL(BSM_CORRUPT, "weights of a size that makes no sense");
  }
  *size = (uint64_t)count * element;
  return BSM_OK;
}

/* [rows, columns] gives [columns, rows], `count` times. */
static void transpose(const uint8_t *from, uint8_t *to, int64_t count,
                      int64_t rows, int64_t columns, size_t element) {
  const int64_t size = (int64_t)element, matrix = rows * columns * size;
  for (int64_t i = 0; i < count; i++, from += matrix, to += matrix) {
    bsm_copy_matrix(to, rows * size, from, size, columns * size, columns, rows,
                    element);
  }
}

/* To 11 bits, nearest, ties away from zero, as kernels round what is no weight.
 * Infinities and what is no number stay. */
static void round_to_tf32(uint8_t *floats, uint64_t size) {
  for (uint64_t at = 0; at < size; at += sizeof(float)) {
    uint32_t bits;
    memcpy(&bits, floats + at, sizeof(bits));
    if ((bits >> 23 & 0xffu) == 0xffu) continue;
    bits = (bits + 0x1000u) & ~(uint32_t)0x1fff;
    memcpy(floats + at, &bits, sizeof(bits));
  }
}

/* [k, n], or `transposed` [n, k], gives [k, n], or for tf32 [n, k], with rows
 * that are as far apart as kernels have them, and zeros between them. */
static bsm_status pack_matrix(const bsm_step_matrix_multiply *p,
                              const void *values, size_t element,
                              bool transposed, uint8_t *packed,
                              uint64_t *size) {
  const bool turned = p->form == BSM_CUDA_MATRIX_TF32;
  const int64_t rows = turned ? p->n : p->k, columns = turned ? p->k : p->n;
  const int64_t row = bsm_cuda_matrix_row(columns);
  const size_t bytes = (size_t)row * element;
  BSM_TRY(total(rows, row, 1, 1, element, size));
  if (!packed) return BSM_OK;
  if (row != columns) memset(packed, 0, (size_t)*size);
  const int64_t one = (int64_t)element;
  const bool along = transposed == turned; /* its rows are rows here */
  bsm_copy_matrix(packed, (int64_t)bytes, values, along ? columns * one : one,
                  along ? one : rows * one, rows, columns, element);
  if (turned && element == sizeof(float)) round_to_tf32(packed, *size);
  return BSM_OK;
}

/* The CPU beside the GPU has few_bits_form, and packs so. */
static bsm_status pack_few_bits(const bsm_target *host,
                                const bsm_plan_step *step, const void *values,
                                size_t element, bool transposed, void *packed,
                                uint64_t *size) {
  bsm_cuda_few_bits_layout layout;
  BSM_TRY(bsm_cuda_few_bits_layout_of(&step->params->matrix_multiply, &layout));
  BSM_TRY(host->ops->pack(host, step, 0, values, element, transposed, packed,
                          size));
  return *size == layout.size
             ? BSM_OK
             : BSM_FAIL(BSM_INTERNAL, "the host packs few bits otherwise");
}

/* The raw weights have the form already. */
static bsm_status pack_recurrent(const bsm_step_recurrent *p,
                                 const void *values, size_t element,
                                 void *packed, uint64_t *size) {
  bsm_cuda_recurrent_layout layout;
  BSM_TRY(bsm_cuda_recurrent_layout_of(p, &layout));
  BSM_TRY(total(layout.size, p->directions, 1, 1, element, size));
  if (packed) memcpy(packed, values, (size_t)*size);
  return BSM_OK;
}

/* [out, in, window] of bytes. */
static bsm_status pack_bytes(const bsm_step_convolution *p, int64_t in_maps,
                             const uint8_t *values, uint8_t *packed,
                             uint64_t *size) {
  bsm_cuda_int8_layout layout;
  BSM_TRY(bsm_cuda_int8_layout_of(p, in_maps, &layout));
  *size = layout.size;
  if (!packed) return BSM_OK;
  memset(packed, 0, (size_t)layout.size);
  const int64_t maps = in_maps / p->groups;
  for (int64_t o = 0; o < p->out_maps; o++) {
    for (int64_t i = 0; i < layout.depth; i++) {
      const int64_t k = i % layout.taps * maps + i / layout.taps;
      packed[o * layout.map + k / layout.line * layout.next_line +
             k % layout.line * layout.k] = values[o * layout.depth + i];
    }
  }
  return BSM_OK;
}

bsm_status bsm_cuda_pack(const bsm_target *target, const bsm_plan_step *step,
                         int64_t in_maps, const void *values, size_t element,
                         bool transposed, void *packed, uint64_t *size) {
  shape s;
  if (step->kind == BSM_STEP_MATRIX_MULTIPLY &&
      bsm_cuda_has_few_bits(&step->params->matrix_multiply)) {
    return pack_few_bits(target->host, step, values, element, transposed,
                         packed, size);
  }
  if (step->kind == BSM_STEP_MATRIX_MULTIPLY) {
    return pack_matrix(&step->params->matrix_multiply, values, element,
                       transposed, packed, size);
  }
  if (step->kind == BSM_STEP_RECURRENT) {
    return pack_recurrent(&step->params->recurrent, values, element, packed,
                          size);
  }
  if (step->kind == BSM_STEP_INT8_CONVOLUTION && element == 1) {
    return pack_bytes(&step->params->int8_convolution.convolution, in_maps,
                      values, packed, size);
  }
  if (step->kind != BSM_STEP_CONVOLUTION &&
      step->kind != BSM_STEP_DECONVOLUTION) {
    return BSM_FAIL(BSM_UNSUPPORTED, "%s: GPUs pack no weights",
                    bsm_step_kind_name(step->kind));
  }
  BSM_TRY(shape_of(step, in_maps, &s));
  BSM_TRY(total(s.groups, s.out, s.window, s.in, element, size));
  if (!packed) return BSM_OK;
  if (step->kind == BSM_STEP_CONVOLUTION) {
    /* [out, in, window] */
    transpose(values, packed, s.groups * s.out, s.in, s.window, element);
  } else {
    /* [in, out, window] of each group */
    transpose(values, packed, s.groups, s.in, s.out * s.window, element);
  }
  if (step->params->convolution.form == BSM_CUDA_KERNEL_TF32 &&
      element == sizeof(float)) {
    round_to_tf32(packed, *size);
  }
  return BSM_OK;
}
