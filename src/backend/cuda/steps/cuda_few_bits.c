/* SPDX-License-Identifier: Apache-2.0 */
/* Products by matrices of few bits: their layout, and their launches. */
#include "backend/cuda/steps/cuda_few_bits.h"

#include "base/checked.h"

#define THREADS 256
#define MOST_ROWS 4 /* of a block */
#define MOST_BLOCKS 32768
#define ALIGNMENT 64

bsm_status bsm_cuda_few_bits_layout_of(const bsm_step_matrix_multiply *p,
                                       bsm_cuda_few_bits_layout *out) {
  const bool known =
      p->form >= BSM_CUDA_MATRIX_INT8 && p->form <= BSM_CUDA_MATRIX_INT4_128;
  const int64_t most = (int64_t)1 << 40;
  int64_t size = 0;
  *out = (bsm_cuda_few_bits_layout){.bits = 8};
  if (!known || !p->constant_b || p->k < 0 || p->n < 0 || p->k > most ||
      p->n > most) {
    return BSM_FAIL(BSM_CORRUPT, "a matrix of %lld x %lld, form %d",
                    (long long)p->k, (long long)p->n, (int)p->form);
  }
  int64_t scales = BSM_CUDA_PANEL * (int64_t)sizeof(float);
  out->codes = p->k * BSM_CUDA_PANEL;
  if (p->form != BSM_CUDA_MATRIX_INT8) {
    out->bits = 4;
    out->group = 32 << (p->form - BSM_CUDA_MATRIX_INT4_32);
    out->codes = (p->k + 7) / 8 * BSM_CUDA_PANEL * 4;
    scales = (p->k + out->group - 1) / out->group * BSM_CUDA_PANEL * 2;
  }
  out->panel = (out->codes + scales + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (!bsm_i64_mul(out->panel, (p->n + BSM_CUDA_PANEL - 1) / BSM_CUDA_PANEL,
                   &size) ||
      size > most) {
    return BSM_FAIL(BSM_CORRUPT, "a matrix of a size that makes no sense");
  }
  out->size = (uint64_t)size;
  return BSM_OK;
}

static int64_t rows_of(const bsm_cuda_product *p) {
  int64_t rows = p->m;
  for (int i = 0; i < p->loops; i++) rows *= p->batch_sizes[i];
  return rows;
}

bsm_status bsm_cuda_launch_few_bits(bsm_cuda_launches *l,
                                    const bsm_cuda_product *product) {
  const bsm_step_matrix_multiply *m = &l->step->params->matrix_multiply;
  bsm_cuda_few_bits_layout layout;
  BSM_TRY(bsm_cuda_few_bits_layout_of(m, &layout));
  const int64_t all = rows_of(product);
  int rows = l->scope == BSM_CUDA_FOR_SIZES ? 1 : MOST_ROWS;
  while (rows < all && rows < MOST_ROWS) rows *= 2;
  const bsm_cuda_few_bits params = {.product = *product,
                                    .panel = layout.panel,
                                    .codes = layout.codes,
                                    .bits = layout.bits,
                                    .group = layout.group};
  BSM_TRY(bsm_cuda_add_launch(l, "few_bits", "few_bits", &params,
                              sizeof(params), "--fmad=false"));
  BSM_TRY(bsm_cuda_add_product_type(l, bsm_cuda_output(l, 0)->dtype));
  BSM_TRY(bsm_cuda_add_options(l, BSM_CUDA_FOR_STEP,
                               "-DK_ACTIVATION=%d -DK_BITS=%d",
                               m->epilogue.activation, layout.bits));
  BSM_TRY(bsm_cuda_add_options(l, BSM_CUDA_FOR_SIZES, "-DK_ROWS=%d", rows));
  bsm_cuda_set_block(l, THREADS, 1, 1);
  bsm_cuda_set_grid(
      l, bsm_cuda_blocks((uint64_t)product->n, BSM_CUDA_PANEL, UINT32_MAX),
      bsm_cuda_blocks((uint64_t)all, (unsigned)rows, MOST_BLOCKS), 1);
  return BSM_OK;
}
