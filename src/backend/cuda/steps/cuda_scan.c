/* SPDX-License-Identifier: Apache-2.0 */
/* Scans of a GPU: a long row, of which there are few, is cut into chunks. Their
 * totals come first, then those of all chunks before each, then the elements.
 */
#include "backend/cuda/steps/cuda_nested.h"

#define CHUNK 4096
#define MANY_ROWS 2048
#define TOTAL 16 /* bytes of the total of a chunk: a number and an index */

static bsm_status add_phase(bsm_cuda_launches *l, bsm_cuda_scan *params,
                            bsm_cuda_scan_phase phase, uint64_t totals) {
  params->phase = phase;
  const bsm_plan_step *step = l->step;
  const bsm_dtype dtype = bsm_cuda_input(l, 0)->dtype;
  BSM_TRY(bsm_cuda_add_launch(l, "scan", "scan", params, sizeof(*params),
                              "--fmad=false"));
  BSM_TRY(bsm_cuda_add_type(l, "K_T", dtype));
  BSM_TRY(bsm_cuda_add_options(l, BSM_CUDA_FOR_STEP, "-DK_OPERATION=%d",
                               step->params->scan.operation));
  BSM_TRY(bsm_cuda_add_options(
      l, BSM_CUDA_FOR_SIZES, "-DK_OUTER=%d -DK_GROUP=%d",
      (int)params->rows.outer_loops, (int)params->rows.group));
  const bool of_rows = phase == BSM_CUDA_SCAN_PREFIX;
  bsm_cuda_nested shared = params->rows;
  if (!of_rows) shared.outer_count *= params->chunks;
  if (of_rows) shared.group = 32;
  bsm_cuda_nest_set_grid(l, &shared);
  const size_t address = offsetof(bsm_cuda_scan, rows.address);
  BSM_TRY(bsm_cuda_add_typed_slot(l, address, step->outputs[0]));
  BSM_TRY(
      bsm_cuda_add_typed_slot(l, address + sizeof(uint64_t), step->inputs[0]));
  if (step->output_count > 1) {
    BSM_TRY(bsm_cuda_add_slot(l, BSM_CUDA_SLOT_TENSOR,
                              address + 2 * sizeof(uint64_t),
                              step->outputs[1]));
  }
  return params->chunks > 1
             ? bsm_cuda_add_slot(l, BSM_CUDA_SLOT_SCRATCH,
                                 offsetof(bsm_cuda_scan, totals), totals)
             : BSM_OK;
}

static bsm_status launches(bsm_cuda_launches *l) {
  const bsm_step_scan *p = &l->step->params->scan;
  const bsm_plan_tensor *x = bsm_cuda_input(l, 0), *y = bsm_cuda_output(l, 0);
  const bsm_plan_tensor *i =
      l->step->output_count > 1 ? bsm_cuda_output(l, 1) : y;
  bsm_cuda_nest nest = {
      .rank = x->dims.rank, .operands = 3, .inner = 1u << p->axis};
  for (int d = 0; d < x->dims.rank; d++) {
    nest.dims[d] = x->dims.d[d];
    nest.strides[0][d] = y->strides[d];
    nest.strides[1][d] = x->strides[d];
    nest.strides[2][d] = i->strides[d];
  }
  bsm_cuda_scan params = {.chunks = 1};
  bsm_cuda_nested *n = &params.rows;
  BSM_TRY(bsm_cuda_nest_make(&nest, n));
  if (n->outer_count == 0 || n->inner_count == 0) return BSM_OK;
  n->operation = p->operation;
  /* Rows side by side are read together by threads side by side. */
  const bool is_adjacent = n->outer_strides[1][n->outer_loops - 1] == 1;
  n->group = n->inner_count <= 8 || (is_adjacent && n->outer_count >= MANY_ROWS)
                 ? 1
                 : 32;
  params.chunk = n->inner_count;
  if (n->inner_count < 2 * CHUNK || n->outer_count >= MANY_ROWS) {
    return add_phase(l, &params, BSM_CUDA_SCAN_ROWS, 0);
  }
  params.chunk = CHUNK;
  params.chunks = (n->inner_count + CHUNK - 1) / CHUNK;
  uint64_t totals;
  BSM_TRY(bsm_cuda_add_scratch(
      l, (uint64_t)n->outer_count * (uint64_t)params.chunks * TOTAL, &totals));
  BSM_TRY(add_phase(l, &params, BSM_CUDA_SCAN_TOTALS, totals));
  BSM_TRY(add_phase(l, &params, BSM_CUDA_SCAN_PREFIX, totals));
  return add_phase(l, &params, BSM_CUDA_SCAN_CHUNKS, totals);
}

const bsm_cuda_step_kind bsm_cuda_SCAN = {bsm_check_scan, launches};
