/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over strided tensors. */
#include "backend/cpu/cpu_space.h"

static void swap_dims(bsm_cpu_space *s, int32_t i, int32_t j) {
  const int64_t d = s->dims[i];
  s->dims[i] = s->dims[j];
  s->dims[j] = d;
  for (int k = 0; k < s->operands; k++) {
    const int64_t t = s->strides[k][i];
    s->strides[k][i] = s->strides[k][j];
    s->strides[k][j] = t;
  }
}

static bool mergeable(const bsm_cpu_space *s, int32_t i) {
  for (int k = 0; k < s->operands; k++) {
    if (s->strides[k][i] != s->strides[k][i + 1] * s->dims[i + 1]) return false;
  }
  return true;
}

static void drop_dim(bsm_cpu_space *s, int32_t i) {
  s->rank--;
  for (int32_t j = i; j < s->rank; j++) {
    s->dims[j] = s->dims[j + 1];
    for (int k = 0; k < s->operands; k++) {
      s->strides[k][j] = s->strides[k][j + 1];
    }
  }
}

void bsm_cpu_space_reduce(bsm_cpu_space *s, bool sort) {
  s->count = 1;
  for (int32_t i = 0; i < s->rank; i++) s->count *= s->dims[i];
  for (int32_t i = s->rank - 1; i >= 0; i--) {
    if (s->dims[i] == 1) drop_dim(s, i);
  }
  for (int32_t i = 1; sort && i < s->rank; i++) { /* insertion sort: stable */
    for (int32_t j = i; j > 0 && s->strides[0][j - 1] < s->strides[0][j]; j--) {
      swap_dims(s, j - 1, j);
    }
  }
  for (int32_t i = s->rank - 2; i >= 0; i--) {
    if (!mergeable(s, i)) continue;
    s->dims[i + 1] *= s->dims[i];
    drop_dim(s, i);
  }
  if (s->rank == 0) {
    s->rank = 1;
    s->dims[0] = 1;
    for (int k = 0; k < s->operands; k++) s->strides[k][0] = 1;
  }
}

void bsm_cpu_space_init(bsm_cpu_space *s, const bsm_plan_tensor *const *tensors,
                        int operands) {
  const bsm_dims *dims = &tensors[0]->dims;
  s->rank = dims->rank;
  s->operands = operands;
  for (int32_t i = 0; i < s->rank; i++) s->dims[i] = dims->d[i];
  for (int k = 0; k < operands; k++) {
    const bsm_plan_tensor *t = tensors[k];
    const int32_t shift = s->rank - t->dims.rank;
    for (int32_t i = 0; i < s->rank; i++) {
      const bool walks = i >= shift && t->dims.d[i - shift] != 1;
      s->strides[k][i] = walks ? t->strides[i - shift] : 0;
    }
  }
  bsm_cpu_space_reduce(s, true);
}

void bsm_cpu_seek(const bsm_cpu_space *s, int64_t linear, bsm_cpu_cursor *c) {
  for (int k = 0; k < s->operands; k++) c->offset[k] = 0;
  for (int32_t i = s->rank - 1; i >= 0; i--) {
    const int64_t d = s->dims[i] > 0 ? s->dims[i] : 1;
    c->index[i] = linear % d;
    linear /= d;
    for (int k = 0; k < s->operands; k++) {
      c->offset[k] += c->index[i] * s->strides[k][i];
    }
  }
}

void bsm_cpu_move(const bsm_cpu_space *s, bsm_cpu_cursor *c, int32_t i,
                  int64_t n) {
  c->index[i] += n;
  for (int k = 0; k < s->operands; k++) c->offset[k] += n * s->strides[k][i];
  while (c->index[i] == s->dims[i] && i > 0) {
    for (int k = 0; k < s->operands; k++) {
      c->offset[k] += s->strides[k][i - 1] - s->dims[i] * s->strides[k][i];
    }
    c->index[i] = 0;
    c->index[--i]++;
  }
}

void bsm_cpu_advance(const bsm_cpu_space *s, bsm_cpu_cursor *c, int64_t n) {
  bsm_cpu_move(s, c, s->rank - 1, n);
}

void bsm_cpu_advance_rows(const bsm_cpu_space *s, bsm_cpu_cursor *c,
                          int64_t n) {
  bsm_cpu_move(s, c, s->rank - 2, n);
}
