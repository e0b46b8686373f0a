/* SPDX-License-Identifier: Apache-2.0 */
/* What the drivers of the CPU backend share: one driver for each step kind,
 * in cpu_<kind>.c.
 *
 * A driver checks a step, resolves its kernels once (prepare), and runs it: it
 * computes addresses, cuts the work into units and calls kernels. Only drivers
 * know about steps, threads and scratch memory; kernels know about floats. */
#ifndef BSM_BACKEND_CPU_STEP_H_
#define BSM_BACKEND_CPU_STEP_H_

#include "backend/checks/checks.h"
#include "backend/cpu/cpu_device.h"
#include "backend/cpu/cpu_forms.h"
#include "backend/cpu/kernels/math/vector_math.h"
#include "base/thread_pool.h"

/* Tactics of one step. */
#define BSM_CPU_MAX_TACTICS 16

typedef struct bsm_cpu_prepare {
  const bsm_plan *plan;
  const bsm_plan_step *step;
  const void *const *weights; /* by weights of the plan; NULL: the plan's */
  uint32_t isa;
  int threads;
  bsm_arena *arena;
} bsm_cpu_prepare;

/* What loads, stores and converts elements (cpu_element.h). */
typedef struct bsm_cpu_elements {
  const struct bsm_k_ints *ints;
  const struct bsm_k_convert *halves;
} bsm_cpu_elements;

/* The first member of every prepared step's impl. */
typedef struct bsm_cpu_impl {
  const char *description;   /* the tactic, with its kernel */
  bsm_cpu_elements elements; /* of those who use them */
  int slots; /* tasks that may run at once; each has its own scratch */
} bsm_cpu_impl;

typedef struct bsm_cpu_kind {
  bsm_status (*check)(const bsm_plan *plan, const bsm_plan_step *step);
  /* NULL: one tactic, "default". */
  size_t (*tactics)(const bsm_plan *plan, const bsm_plan_step *step,
                    uint32_t isa, const char **names);
  bsm_status (*prepare)(const bsm_cpu_prepare *prepare, bsm_prepared_step *out);
  bsm_status (*run)(const bsm_prepared_step *prepared, const bsm_run *run);
} bsm_cpu_kind;

#define X(name, number, text, member) extern const bsm_cpu_kind bsm_cpu_##name;
BSM_BACKEND_STEP_KINDS(X)
#undef X
/* The driver of a step whose kind and tensors exist; NULL when none is linked.
 */
const bsm_cpu_kind *bsm_cpu_kind_of(const bsm_plan *plan,
                                    const bsm_plan_step *step);

/* ---- tensors ---- */

/* The address of a tensor in one execution, never NULL: a tensor without
 * elements may come without an address, and memcpy() and its like take none
 * even for no bytes. */
void *bsm_cpu_address(const bsm_run *run, const bsm_plan *plan,
                      uint32_t tensor);
static inline void *bsm_cpu_input_address(const bsm_prepared_step *p,
                                          const bsm_run *run, uint32_t index) {
  return bsm_cpu_address(run, p->plan, p->step->inputs[index]);
}
static inline void *bsm_cpu_output_address(const bsm_prepared_step *p,
                                           const bsm_run *run, uint32_t index) {
  return bsm_cpu_address(run, p->plan, p->step->outputs[index]);
}
/* The data of weights[index] of the step, or NULL when absent. */
const void *bsm_cpu_weights(const bsm_cpu_prepare *prepare, uint32_t index);
/* a in [0, b) rounded up: ceil(a / b) for a >= 0, b > 0. */
static inline int64_t bsm_cpu_div_up(int64_t a, int64_t b) {
  return a / b + (a % b != 0);
}
static inline int64_t bsm_cpu_round_up(int64_t a, int64_t b) {
  return bsm_cpu_div_up(a, b) * b;
}
static inline int64_t bsm_cpu_min(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static inline int64_t bsm_cpu_max(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* ---- scratch and threads ---- */

/* The scratch of one slot: `bytes` rounded up, times the slots, plus `shared`
 * bytes in front, in out->scratch_size. */
bsm_status bsm_cpu_set_scratch(bsm_prepared_step *out, uint64_t shared,
                               uint64_t bytes, int slots);
static inline uint64_t bsm_cpu_align(uint64_t bytes) {
  return (bytes + BSM_ALIGNMENT - 1) / BSM_ALIGNMENT * BSM_ALIGNMENT;
}

/* How many of the threads a step is worth: one for each microsecond and a half
 * that it takes. Waking one, and handing it data, costs a fraction of that. */
int bsm_cpu_useful_threads(const bsm_plan *plan, const bsm_plan_step *step,
                           int threads);

typedef bsm_unit_fn bsm_cpu_unit_fn;

/* Runs fn(arg, unit, slot) for every unit below `units`, on at most `slots`
 * threads, each with a slot of its own and a range of units; who is done helps
 * the others. */
void bsm_cpu_parallel(const bsm_run *run, int slots, int64_t units,
                      bsm_cpu_unit_fn *fn, void *arg);

/* ---- epilogues ---- */

typedef struct bsm_cpu_epilogue {
  bsm_k_unary_f32 *activation; /* after the clamp; NULL: none */
  float alpha, beta;
  float lo, hi; /* the clamp: ReLU and clip */
  bool clamps;
} bsm_cpu_epilogue;

bsm_cpu_epilogue bsm_cpu_make_epilogue(const bsm_step_epilogue *epilogue,
                                       const bsm_k_math *math);
/* The activation, when it is none of the clamps, on `pixels` of `channels`
 * floats that were just written, `pixel` floats apart. */
void bsm_cpu_activate_pixels(const bsm_cpu_epilogue *epilogue, float *y,
                             int64_t pixel, int64_t pixels, int64_t channels);
/* The array function of an activation; NULL when unknown or NONE. */
bsm_k_unary_f32 *bsm_cpu_activation(const bsm_k_math *math, int32_t type);

/* ---- rows: addresses of the vectors of a tensor ---- */

/* The sub-vectors of a tensor in row-major order of some of its dimensions,
 * merged where the strides allow. */
typedef struct bsm_cpu_rows {
  int32_t rank;
  int64_t dims[BSM_MAX_RANK], strides[BSM_MAX_RANK];
} bsm_cpu_rows;

void bsm_cpu_rows_init(bsm_cpu_rows *rows, int32_t rank, const int64_t *dims,
                       const int64_t *strides);
/* Offsets of rows first .. first + count - 1. */
void bsm_cpu_rows_offsets(const bsm_cpu_rows *rows, int64_t first, int count,
                          int64_t *offsets);

#endif /* BSM_BACKEND_CPU_STEP_H_ */
