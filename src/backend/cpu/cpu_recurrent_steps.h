/* SPDX-License-Identifier: Apache-2.0 */
/* A prepared recurrent step at work: cpu_recurrent.c prepares it and computes
 * the products of the inputs, cpu_recurrent_steps.c takes the steps. */
#ifndef BSM_BACKEND_CPU_RECURRENT_STEPS_H_
#define BSM_BACKEND_CPU_RECURRENT_STEPS_H_

#include "backend/cpu/cpu_gemm.h"
#include "backend/cpu/cpu_recurrent.h"
#include "backend/cpu/kernels/recurrent/recurrent_f32.h"

typedef struct bsm_cpu_recurrent {
  bsm_cpu_impl base;
  bsm_cpu_recurrent_shape shape;
  bsm_k_cell_fn *cell;
  bsm_k_recurrent_step_fn *fused; /* the steps of few samples; NULL: products
                                     and cells follow each other */
  bool has_cell, is_gru, projects;
  int64_t length, batch, input, hidden, directions;
  int64_t chunk; /* steps */
  bsm_cpu_gemm from_x, from_h, project;
  bsm_cpu_rows x_rows; /* (step, sample) */
  int64_t x_k;
  int64_t project_blocks; /* of columns */
  int64_t row_block;      /* samples of a task */
  bool splits_columns;    /* tasks are columns; else samples */
  int64_t column_tasks;   /* of a direction, when it splits them */
  const void *weights;
  const int64_t *lengths; /* of the samples; NULL: all steps */
  int64_t y_step, y_row;  /* strides of the output */
  int64_t state_stride;   /* floats of a row of the state */
  int64_t unit_stride;    /* of a row of cells, and of states to project */
  int64_t product_stride; /* of a row of state products */
  /* Floats into the shared scratch memory. */
  int64_t states, cells, unprojected, products; /* products: of the inputs */
  uint64_t shared_size, gemm_size;
} bsm_cpu_recurrent;

/* One run. */
typedef struct bsm_cpu_recurrent_work {
  const bsm_cpu_recurrent *r;
  const float *x, *weights;
  float *y, *shared;
  uint8_t *scratch;
  size_t slot_size;
  int64_t first, count; /* the chunk: steps, in the order of each direction */
} bsm_cpu_recurrent_work;

/* The step of the sequence that comes first in the chunk, in memory. */
static inline int64_t bsm_cpu_recurrent_chunk_start(
    const bsm_cpu_recurrent_work *w, int64_t direction) {
  return direction ? w->r->length - w->first - w->count : w->first;
}

/* The products of the chunk's inputs. */
static inline float *bsm_cpu_recurrent_products(const bsm_cpu_recurrent_work *w,
                                                int64_t direction) {
  const bsm_cpu_recurrent *r = w->r;
  return w->shared + r->products +
         direction * r->chunk * r->batch * r->shape.columns;
}

static inline const float *bsm_cpu_recurrent_weights(
    const bsm_cpu_recurrent_work *w, int64_t direction) {
  return w->weights + direction * w->r->shape.size;
}

/* The states before a step. */
static inline float *bsm_cpu_recurrent_state(const bsm_cpu_recurrent_work *w,
                                             int64_t direction, int64_t step) {
  const bsm_cpu_recurrent *r = w->r;
  return w->shared + r->states +
         (direction * 2 + (step & 1)) * r->batch * r->state_stride;
}

/* All steps of the chunk for some samples in one direction: `arg` is the
 * work. */
void bsm_cpu_recurrent_samples(void *arg, int64_t unit, int slot);
/* Phases of the chunk, each for some columns in one direction: one phase for a
 * step, or two where states are projected. */
void bsm_cpu_recurrent_columns(void *arg, int64_t unit, int slot);

#endif /* BSM_BACKEND_CPU_RECURRENT_STEPS_H_ */
