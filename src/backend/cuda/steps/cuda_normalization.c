/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisation of a GPU: layer, RMS, group and instance norm. */
#include "backend/cuda/steps/cuda_group_norm.h"
#include "backend/cuda/steps/cuda_nested.h"

enum { OUT, IN, SCALE, BIAS, BYTES, OPERANDS };

/* Dimensions of the input, axis 1 split where there are groups. */
static bsm_cuda_nest nest_of(const bsm_step_normalization *p,
                             const bsm_plan_tensor *const *tensors) {
  const bsm_plan_tensor *x = tensors[IN];
  bsm_cuda_nest nest = {.operands = OPERANDS};
  for (int i = 0; i < x->dims.rank; i++) {
    const bool grouped = i == 1 && p->groups > 1;
    const int64_t size = grouped ? x->dims.d[i] / p->groups : x->dims.d[i];
    const int to = nest.rank;
    for (int k = 0; k < OPERANDS; k++) {
      const bsm_plan_tensor *t = tensors[k];
      const int own = t ? i - (x->dims.rank - t->dims.rank) : -1;
      const int64_t stride =
          own < 0 || t->dims.d[own] == 1 ? 0 : t->strides[own];
      if (grouped) nest.strides[k][to] = stride * size;
      nest.strides[k][to + grouped] = stride;
    }
    if (grouped) nest.dims[to] = p->groups;
    nest.dims[to + grouped] = size;
    if (grouped || (p->axes >> i & 1u)) nest.inner |= 1u << (to + grouped);
    nest.rank = to + grouped + 1;
  }
  return nest;
}

/* What is normalised together lies together, and is computed in float. */
static bool are_rows(const bsm_cuda_nested *n,
                     const bsm_plan_tensor *const *tensors) {
  for (int k = 0; k < BYTES; k++) {
    if (tensors[k] && !bsm_cuda_is_float(tensors[k]->dtype)) return false;
  }
  return n->inner_strides[OUT][0] == 1 && n->inner_strides[IN][0] == 1 &&
         (!tensors[BYTES] || n->inner_strides[BYTES][0] == 1);
}

/* Elements that can be loaded at once: 16 bytes of the narrowest type. */
static int piece_of(const bsm_cuda_nested *n,
                    const bsm_plan_tensor *const *tensors) {
  int piece = 4;
  for (int k = 0; k < OPERANDS; k++) {
    if (tensors[k] && bsm_dtype_size(tensors[k]->dtype) == 2) piece = 8;
  }
  if (n->inner_count % piece != 0) return 1;
  for (int k = 0; k < OPERANDS; k++) {
    if (!tensors[k]) continue;
    if (n->inner_strides[k][0] != 1 || tensors[k]->offset % 16 != 0) return 1;
    for (int64_t i = 0; i < n->outer_loops; i++) {
      if (n->outer_strides[k][i] % piece != 0) return 1;
    }
  }
  return piece;
}

/* Scale and bias are there before anything runs, and the same for all rows. */
static bool has_weights(const bsm_cuda_nested *n,
                        const bsm_plan_tensor *const *tensors) {
  for (int k = SCALE; k <= BIAS; k++) {
    if (!tensors[k]) continue;
    if (tensors[k]->place != BSM_PLACE_WEIGHTS) return false;
    for (int64_t i = 0; i < n->outer_loops; i++) {
      if (n->outer_sizes[i] != 1 && n->outer_strides[k][i] != 0) return false;
    }
  }
  return true;
}

static bsm_status launch_rows(bsm_cuda_launches *l, const bsm_cuda_nested *n,
                              const bsm_cuda_rows *rows,
                              const bsm_plan_tensor *const *tensors) {
  static const char *const names[] = {"K_OUT", "K_IN", "K_SCALE", "K_BIAS"};
  BSM_TRY(bsm_cuda_add_launch(
      l, "row_normalization", "row_normalization", n, sizeof(*n),
      "-DK_HAS_SCALE=%d -DK_HAS_BIAS=%d -DK_RMS=%d -DK_GROUP=%d -DK_HELD=%d "
      "-DK_PIECE=%d -DK_WEIGHTS=%d -DK_HAS_BYTES=%d",
      tensors[SCALE] != NULL, tensors[BIAS] != NULL,
      l->step->params->normalization.rms != 0, rows->group, rows->held,
      rows->piece, has_weights(n, tensors), tensors[BYTES] != NULL));
  BSM_TRY(bsm_cuda_add_options(l, BSM_CUDA_FOR_SIZES, "-DK_OUTER=%d",
                               (int)n->outer_loops));
  for (int k = 0; k < BYTES; k++) {
    BSM_TRY(bsm_cuda_add_type(
        l, names[k], tensors[k] ? tensors[k]->dtype : BSM_DTYPE_FLOAT));
  }
  bsm_cuda_rows_set_grid(l, n, rows);
  return BSM_OK;
}

static bsm_status launch_any(bsm_cuda_launches *l, const bsm_cuda_nested *n,
                             const bsm_plan_tensor *const *tensors) {
  static const char *const names[] = {"K_OUT", "K_IN", "K_SCALE", "K_BIAS"};
  BSM_TRY(bsm_cuda_add_launch(l, "normalization", "normalization", n,
                              sizeof(*n), "--fmad=false"));
  for (int k = 0; k < BYTES; k++) {
    BSM_TRY(bsm_cuda_add_second_type(
        l, names[k], tensors[k] ? tensors[k]->dtype : BSM_DTYPE_FLOAT,
        tensors[IN]->dtype));
  }
  BSM_TRY(bsm_cuda_add_options(l, BSM_CUDA_FOR_STEP,
                               "-DK_HAS_SCALE=%d -DK_HAS_BIAS=%d -DK_RMS=%d "
                               "-DK_HAS_BYTES=%d",
                               tensors[SCALE] != NULL, tensors[BIAS] != NULL,
                               l->step->params->normalization.rms != 0,
                               tensors[BYTES] != NULL));
  BSM_TRY(bsm_cuda_add_options(
      l, BSM_CUDA_FOR_SIZES, "-DK_OUTER=%d -DK_INNER=%d -DK_GROUP=%d",
      (int)n->outer_loops, (int)n->inner_loops, (int)n->group));
  bsm_cuda_nest_set_grid(l, n);
  return BSM_OK;
}

static bsm_status launches(bsm_cuda_launches *l) {
  if (bsm_cuda_takes_group_norm(l)) return bsm_cuda_launch_group_norm(l);
  const bsm_step_normalization *p = &l->step->params->normalization;
  uint32_t ids[OPERANDS] = {l->step->outputs[0], l->step->inputs[0]};
  uint32_t next = 1;
  if (p->has_scale) ids[SCALE] = l->step->inputs[next++];
  if (p->has_bias) ids[BIAS] = l->step->inputs[next];
  const bool quantizes = l->step->output_count > 1;
  if (quantizes) ids[BYTES] = l->step->outputs[1];
  const bool has[OPERANDS] = {true, true, p->has_scale != 0, p->has_bias != 0,
                              quantizes};
  const bsm_plan_tensor *tensors[OPERANDS];
  for (int k = 0; k < OPERANDS; k++) {
    tensors[k] = has[k] ? &l->plan->tensors[ids[k]] : NULL;
  }
  const bsm_cuda_nest nest = nest_of(p, tensors);
  bsm_cuda_nested n;
  BSM_TRY(bsm_cuda_nest_make(&nest, &n));
  if (n.outer_count == 0 || n.inner_count == 0) return BSM_OK;
  n.number = p->epsilon;
  n.operation = p->rms != 0;
  bsm_cuda_rows rows;
  BSM_TRY(are_rows(&n, tensors) &&
                  bsm_cuda_nest_hold(l, &n, piece_of(&n, tensors), &rows)
              ? launch_rows(l, &n, &rows, tensors)
              : launch_any(l, &n, tensors));
  if (quantizes) {
    BSM_TRY(bsm_cuda_add_slot(
        l, BSM_CUDA_SLOT_TENSOR,
        offsetof(bsm_cuda_nested, address) + BYTES * sizeof(uint64_t),
        ids[BYTES]));
    BSM_TRY(bsm_cuda_add_slot(l, BSM_CUDA_SLOT_TENSOR,
                              offsetof(bsm_cuda_nested, grid),
                              l->step->inputs[l->step->input_count - 1]));
  }
  for (size_t k = 0; k < BYTES; k++) {
    if (!has[k]) continue;
    BSM_TRY(bsm_cuda_add_typed_slot(
        l, offsetof(bsm_cuda_nested, address) + k * sizeof(uint64_t), ids[k]));
  }
  return BSM_OK;
}

const bsm_cuda_step_kind bsm_cuda_NORMALIZATION = {bsm_check_normalization,
                                                   launches};
