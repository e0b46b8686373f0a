/* SPDX-License-Identifier: Apache-2.0 */
/* What a device offers to the builder and the runtime.
 *
 * Builder: pack weights, list the tactics of a step, time one.
 * Runtime: check steps (hostile engines), prepare them once, run them.
 *
 * A step is prepared for an ISA mask and a thread pool size; a prepared step
 * holds only pointers to kernels and precomputed numbers, lives as long as the
 * executable, and is shared by contexts. Running takes addresses and scratch
 * memory and allocates nothing. */
#ifndef BSM_BACKEND_BACKEND_H_
#define BSM_BACKEND_BACKEND_H_

#include "base/thread_pool.h"
#include "engine/plan.h"

#define BSM_BACKEND_VERSION 1
#define BSM_MAX_TACTICS 16

/* A prepared step; `impl` belongs to the backend, allocated in the arena given
 * to prepare. */
typedef struct bsm_prepared_step {
  const bsm_plan *plan;
  const bsm_plan_step *step;
  const void *impl;
  size_t scratch_size; /* bytes of scratch that run needs */
} bsm_prepared_step;

/* The addresses of one execution: buffers[region] for INPUT and OUTPUT is an
 * array of binding addresses. */
typedef struct bsm_run {
  void *const *inputs;
  void *const *outputs;
  uint8_t *workspace;
  uint8_t *scratch;      /* aligned to BSM_ALIGNMENT */
  bsm_thread_pool *pool; /* NULL: single thread */
} bsm_run;

typedef struct bsm_backend {
  uint32_t version;
  const char *name; /* "cpu" */

  /* Checks parameters, shapes and strides of a step against what the kernels
   * rely on: after it, run cannot leave its buffers. Also checks the sizes of
   * the step's weights. */
  bsm_status (*check)(const bsm_plan *plan, const bsm_plan_step *step);

  /* The tactics for a step on `isa`, best guess first; returns the count, at
   * most BSM_MAX_TACTICS. Names are static strings. */
  size_t (*tactics)(const bsm_plan *plan, const bsm_plan_step *step,
                    uint32_t isa, const char **names);

  /* How long a tactic may take beside the others of the step, an estimate in
   * any unit; 0 when there is none. */
  double (*cost)(const bsm_plan *plan, const bsm_plan_step *step, uint32_t isa,
                 const char *tactic);

  /* Sets in `params`, those of a step that is being built, the form of weights
   * that a tactic needs: before pack. The tactics of a step are listed for all
   * forms; once packed, only those of its form can run. */
  void (*adopt)(const bsm_plan_step *step, const char *tactic,
                bsm_step_params *params);

  /* Packs the kernel or matrix of a step's weights[0]: CONVOLUTION: `values`
   * is [out, in/groups, spatial...]; DECONVOLUTION: [in, out/groups,
   * spatial...]; MATRIX_MULTIPLY: [K, N], or [N, K] with `transposed`; of the
   * step's dtype, `element` bytes each. With `packed` NULL only *size is set.
   * Depends on the parameters alone, not on the ISA. */
  bsm_status (*pack)(const bsm_plan_step *step, int64_t in_maps,
                     const void *values, size_t element, bool transposed,
                     void *packed, uint64_t *size);

  /* How many of `threads` a step is worth, at least 1: what to prepare it for,
   * so that small steps wake nobody. */
  int (*useful_threads)(const bsm_plan *plan, const bsm_plan_step *step,
                        int threads);

  /* Resolves kernels for `isa`. An unknown or unavailable tactic name falls
   * back to the best one. `threads`: of the pool that will run it. */
  bsm_status (*prepare)(const bsm_plan *plan, const bsm_plan_step *step,
                        uint32_t isa, int threads, bsm_arena *arena,
                        bsm_prepared_step *out);

  /* Runs a prepared step. The only failures are data errors, such as an index
   * out of range. */
  bsm_status (*run)(const bsm_prepared_step *prepared, const bsm_run *run);

  /* The tactic that a prepared step uses, with its kernel: for profiles. */
  const char *(*describe)(const bsm_prepared_step *prepared);
} bsm_backend;

const bsm_backend *bsm_backend_cpu(void);

/* The address of a tensor in one execution. */
void *bsm_run_address(const bsm_run *run, const bsm_plan *plan,
                      uint32_t tensor);

#endif /* BSM_BACKEND_BACKEND_H_ */
