/* SPDX-License-Identifier: Apache-2.0 */
/* Products of half and bfloat16 by constants: matrix multiplies, and
 * convolutions, whose rows are the windows of the output's pixels. Sums are
 * floats, and what is stored is rounded once, behind the epilogue. */
#ifndef BSM_BACKEND_CPU_HALF_H_
#define BSM_BACKEND_CPU_HALF_H_

#include "backend/cpu/cpu_step.h"
#include "backend/cpu/kernels/convert/half_convert.h"

/* The drivers of such steps: BSM_CPU_HALF_KINDS. */
extern const bsm_cpu_kind bsm_cpu_half_convolution;
extern const bsm_cpu_kind bsm_cpu_half_deconvolution;
extern const bsm_cpu_kind bsm_cpu_half_matrix_multiply;

/* The first member of the impl of a step. */
typedef struct bsm_cpu_half_impl {
  bsm_cpu_impl base;
  bsm_status (*run)(const bsm_prepared_step *prepared, const bsm_run *run);
} bsm_cpu_half_impl;

/* Convolutions that are products, and those of few maps in a group. */
bsm_status bsm_cpu_half_product_prepare(const bsm_cpu_prepare *prepare,
                                        bsm_prepared_step *out);
bsm_status bsm_cpu_half_depthwise_prepare(const bsm_cpu_prepare *prepare,
                                          bsm_prepared_step *out);
/* Leaves no impl for convolutions that are not for it. */
bsm_status bsm_cpu_half_image_prepare(const bsm_cpu_prepare *prepare,
                                      bsm_prepared_step *out);

/* What the units of a run share. */
typedef struct bsm_cpu_half_work {
  const void *impl;
  const uint16_t *x, *residual; /* residual: or NULL */
  uint16_t *y;
  uint8_t *scratch;
  size_t slot_size;
} bsm_cpu_half_work;

static inline bsm_cpu_half_work bsm_cpu_half_work_of(
    const bsm_prepared_step *prepared, const bsm_run *run, bool has_residual) {
  const bsm_cpu_half_impl *impl = prepared->impl;
  return (bsm_cpu_half_work){
      .impl = impl,
      .x = bsm_cpu_input_address(prepared, run, 0),
      .residual = has_residual ? bsm_cpu_input_address(prepared, run, 1) : NULL,
      .y = bsm_cpu_output_address(prepared, run, 0),
      .scratch = run->scratch,
      .slot_size = prepared->scratch_size / (size_t)impl->base.slots};
}

static inline bool bsm_cpu_is_half(bsm_dtype dtype) {
  return dtype == BSM_DTYPE_HALF || dtype == BSM_DTYPE_BFLOAT16;
}

/* From and to floats. */
typedef struct bsm_cpu_halves {
  bsm_k_widen *widen;
  bsm_k_narrow *narrow;
  bsm_k_widen_rows *widen_rows;
  bsm_k_narrow_rows *narrow_rows;
} bsm_cpu_halves;

static inline bsm_cpu_halves bsm_cpu_halves_of(bsm_dtype dtype, uint32_t isa) {
  const bsm_k_convert *k = bsm_k_convert_select(isa);
  return dtype == BSM_DTYPE_HALF
             ? (bsm_cpu_halves){k->half_to_float, k->float_to_half,
                                k->widen_half_rows, k->narrow_half_rows}
             : (bsm_cpu_halves){k->bfloat_to_float, k->float_to_bfloat,
                                k->widen_bfloat_rows, k->narrow_bfloat_rows};
}

#endif /* BSM_BACKEND_CPU_HALF_H_ */
