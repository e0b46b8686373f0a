/* SPDX-License-Identifier: Apache-2.0 */
/* Non-maximum suppression of a GPU, in rounds: some boxes are compared with all
 * behind them by as many blocks as that takes, and one block then says which of
 * them are kept. */
#include "backend/cuda/kernels/params.h"
#include "backend/cuda/steps/cuda_steps.h"

#define ROWS 1024 /* boxes of a round */
#define WORD 64   /* boxes that a word has bits for */

static bsm_status add_phase(bsm_cuda_launches *l, bsm_cuda_nms *params,
                            bsm_cuda_nms_phase phase, const uint64_t *scratch) {
  params->phase = phase;
  BSM_TRY(bsm_cuda_add_launch(l, "nms", "nms", params, sizeof(*params),
                              "--fmad=false"));
  BSM_TRY(bsm_cuda_add_product_type(l, bsm_cuda_input(l, 0)->dtype));
  if (phase == BSM_CUDA_NMS_COMPARE) {
    bsm_cuda_set_block(l, WORD, 1, 1);
    bsm_cuda_set_grid(l, (uint64_t)params->words,
                      (uint64_t)(params->rows / WORD), 1);
  } else {
    bsm_cuda_set_block(l, 256, 1, 1);
    bsm_cuda_set_grid(l, 1, 1, 1);
  }
  bsm_cuda_set_rounds(l, 0, 1, l->rounds);
  BSM_TRY(bsm_cuda_add_slot(l, BSM_CUDA_SLOT_TENSOR, offsetof(bsm_cuda_nms, x),
                            l->step->inputs[0]));
  BSM_TRY(bsm_cuda_add_slot(l, BSM_CUDA_SLOT_TENSOR, offsetof(bsm_cuda_nms, y),
                            l->step->outputs[0]));
  BSM_TRY(bsm_cuda_add_slot(l, BSM_CUDA_SLOT_SCRATCH,
                            offsetof(bsm_cuda_nms, over), scratch[0]));
  BSM_TRY(bsm_cuda_add_slot(l, BSM_CUDA_SLOT_SCRATCH,
                            offsetof(bsm_cuda_nms, gone), scratch[1]));
  return bsm_cuda_add_slot(l, BSM_CUDA_SLOT_ROUND,
                           offsetof(bsm_cuda_nms, round), 0);
}

static bsm_status launches(bsm_cuda_launches *l) {
  const int64_t n = bsm_cuda_input(l, 0)->dims.d[0];
  bsm_cuda_nms params = {.n = n,
                         .words = (n + WORD - 1) / WORD,
                         .rows = n < ROWS ? (n + WORD - 1) / WORD * WORD : ROWS,
                         .threshold = l->step->params->nms.threshold};
  uint64_t scratch[2];
  if (n == 0) return BSM_OK;
  l->rounds = (n + params.rows - 1) / params.rows;
  const uint64_t words = (uint64_t)params.words * sizeof(uint64_t);
  BSM_TRY(bsm_cuda_add_scratch(l, (uint64_t)params.rows * words, &scratch[0]));
  BSM_TRY(bsm_cuda_add_scratch(l, words, &scratch[1]));
  BSM_TRY(add_phase(l, &params, BSM_CUDA_NMS_COMPARE, scratch));
  return add_phase(l, &params, BSM_CUDA_NMS_KEEP, scratch);
}

const bsm_cuda_step_kind bsm_cuda_NMS = {bsm_check_nms, launches};
