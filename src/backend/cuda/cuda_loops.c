/* SPDX-License-Identifier: Apache-2.0 */
/* Merging loops. */
#include "backend/cuda/cuda_loops.h"

static bool mergeable(const bsm_cuda_elements *e, int operands, int i) {
  for (int k = 0; k < operands; k++) {
    if (e->strides[k][i] != e->strides[k][i + 1] * e->sizes[i + 1]) {
      return false;
    }
  }
  return true;
}

static void drop(bsm_cuda_elements *e, int operands, int loops, int i) {
  for (int j = i; j + 1 < loops; j++) {
    e->sizes[j] = e->sizes[j + 1];
    for (int k = 0; k < operands; k++) {
      e->strides[k][j] = e->strides[k][j + 1];
    }
  }
}

static void swap(bsm_cuda_elements *e, int operands, int i, int j) {
  const int64_t size = e->sizes[i];
  e->sizes[i] = e->sizes[j];
  e->sizes[j] = size;
  for (int k = 0; k < operands; k++) {
    const int64_t stride = e->strides[k][i];
    e->strides[k][i] = e->strides[k][j];
    e->strides[k][j] = stride;
  }
}

int bsm_cuda_loops_init(bsm_cuda_elements *e,
                        const bsm_plan_tensor *const *tensors, int operands) {
  const bsm_dims *dims = &tensors[0]->dims;
  int loops = dims->rank;
  *e = (bsm_cuda_elements){.count = 1};
  for (int i = 0; i < loops; i++) {
    e->sizes[i] = dims->d[i];
    e->count *= dims->d[i];
    for (int k = 0; k < operands; k++) {
      const bsm_plan_tensor *t = tensors[k];
      const int own = i - (loops - t->dims.rank);
      const bool walks = own >= 0 && t->dims.d[own] != 1;
      e->strides[k][i] = walks ? t->strides[own] : 0;
    }
  }
  for (int i = loops - 1; i >= 0; i--) {
    if (e->sizes[i] == 1) drop(e, operands, loops--, i);
  }
  for (int i = 1; i < loops; i++) { /* the output's order; stable */
    for (int j = i; j > 0 && e->strides[0][j - 1] < e->strides[0][j]; j--) {
      swap(e, operands, j - 1, j);
    }
  }
  for (int i = loops - 2; i >= 0; i--) {
    if (!mergeable(e, operands, i)) continue;
    e->sizes[i + 1] *= e->sizes[i];
    drop(e, operands, loops--, i);
  }
  if (loops == 0) {
    e->sizes[0] = 1;
    loops = 1;
  }
  e->loops = loops;
  return loops;
}

const char *bsm_cuda_index_type(const bsm_cuda_elements *e, int operands,
                                int loops) {
  /* A stride of the grid is added to a number below the count. */
  const int64_t most = INT32_MAX - (1 << 27);
  if (e->count > most) return "i64";
  for (int k = 0; k < operands; k++) {
    int64_t reach = 0;
    for (int i = 0; i < loops; i++) {
      if (e->sizes[i] > 0) reach += (e->sizes[i] - 1) * e->strides[k][i];
      if (reach > most) return "i64";
    }
  }
  return "u32";
}
