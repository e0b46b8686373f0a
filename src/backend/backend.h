/* SPDX-License-Identifier: Apache-2.0 */
/* What the CPU offers to the builder beyond what devices do (device.h): the
 * tactics of a step, the form of weights that each needs, packing. */
#ifndef BSM_BACKEND_BACKEND_H_
#define BSM_BACKEND_BACKEND_H_

#include "backend/device.h"

#define BSM_BACKEND_VERSION 1
#define BSM_MAX_TACTICS 16

typedef struct bsm_backend {
  uint32_t version;
  const char *name; /* "cpu" */

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
} bsm_backend;

const bsm_backend *bsm_backend_cpu(void);

#endif /* BSM_BACKEND_BACKEND_H_ */
