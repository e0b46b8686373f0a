/* SPDX-License-Identifier: Apache-2.0 */
/* What the tactics of float convolutions share: one file for each family,
 * cpu_convolution_<family>.c, one line for each tactic in
 * cpu_convolution_tactics.inl. */
#ifndef BSM_BACKEND_CPU_CONVOLUTION_H_
#define BSM_BACKEND_CPU_CONVOLUTION_H_

#include "backend/cpu/cpu_window.h"

/* A convolution as a tactic sees it when it is asked whether it fits. */
typedef struct bsm_cpu_convolution_site {
  const bsm_step_convolution *params;
  bsm_image x, y;
  uint32_t isa;
} bsm_cpu_convolution_site;

typedef struct bsm_cpu_convolution_tactic bsm_cpu_convolution_tactic;

/* The first member of every tactic's prepared step. */
typedef struct bsm_cpu_convolution {
  bsm_cpu_impl base;
  const bsm_cpu_convolution_tactic *tactic;
  bsm_step_window w;
  bsm_image x, y, residual;
  bool has_residual;
  bsm_cpu_rows x_rows, y_rows, residual_rows; /* pixels */
  const float *kernel, *bias;
  bsm_cpu_epilogue epilogue;
} bsm_cpu_convolution;

/* The cost of a convolution that is done as a product, as it is defined. */
#define BSM_CPU_PLAIN_COST 2

struct bsm_cpu_convolution_tactic {
  const char *name;
  int32_t form; /* of the weights: bsm_cpu_form */
  /* An estimate of its time, in a unit that all tactics share; below 0: it does
   * not fit the convolution. Decides what is tried first, or what is taken when
   * nothing is timed. */
  double (*cost)(const bsm_cpu_convolution_site *site);
  bsm_status (*prepare)(const bsm_cpu_prepare *p, bsm_prepared_step *out);
  bsm_status (*run)(const bsm_prepared_step *prepared, const bsm_run *run);
  bool reads_planes;  /* the input's channels need not be innermost */
  bool writes_planes; /* nor the output's */
};

#define TACTIC(name) \
  extern const bsm_cpu_convolution_tactic bsm_cpu_convolution_##name;
#include "backend/cpu/cpu_convolution_tactics.inl"
#undef TACTIC

/* Fills what all tactics have; the step is checked. */
void bsm_cpu_convolution_init(const bsm_cpu_prepare *p, bsm_cpu_convolution *c);

/* A run, as the units of a tactic see it. */
typedef struct bsm_cpu_convolution_work {
  const void *impl;          /* the tactic's prepared step */
  const float *x, *residual; /* residual: NULL when there is none */
  float *y;
  uint8_t *scratch;
  size_t slot_size; /* bytes of scratch of one slot */
} bsm_cpu_convolution_work;

bsm_cpu_convolution_work bsm_cpu_convolution_work_of(
    const bsm_prepared_step *prepared, const bsm_run *run);
/* Runs fn(work, unit, slot) for every unit below `units`. */
void bsm_cpu_convolution_run(const bsm_prepared_step *prepared,
                             const bsm_run *run, int64_t units,
                             bsm_cpu_unit_fn *fn);

/* The tactic that a checked step uses: the one it names, or the cheapest, among
 * those whose form its weights have. */
const bsm_cpu_convolution_tactic *bsm_cpu_convolution_choose(
    const bsm_plan *plan, const bsm_plan_step *step, uint32_t isa);

/* The cost of the step with the tactic of that name, in any form; 0: not known.
 */
double bsm_cpu_convolution_cost(const bsm_plan *plan, const bsm_plan_step *step,
                                uint32_t isa, const char *tactic);

/* The form of weights that a tactic needs, by name; plain when unknown. */
int32_t bsm_cpu_convolution_form_of(const char *tactic);

#endif /* BSM_BACKEND_CPU_CONVOLUTION_H_ */
