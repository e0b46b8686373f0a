/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution of channels-last tensors: float here, other dtypes in
 * cpu_typed_convolution.c. The tactics are in a file for each family; this one
 * checks, lists them and chooses. */
#include "backend/cpu/cpu_convolution.h"

#include <string.h>

#include "backend/cpu/cpu_linked.h"
#include "backend/cpu/cpu_pack.h"
#include "backend/cpu/cpu_typed_gemm.h"
#include "base/isa.h"
#include "base/linked.h"

static bsm_cpu_convolution_site site_of(const bsm_plan *plan,
                                        const bsm_plan_step *step,
                                        uint32_t isa) {
  const bsm_step_convolution *p = &step->params->convolution;
  const int32_t spatial = p->window.spatial;
  return (bsm_cpu_convolution_site){
      p, bsm_image_of(bsm_step_input(plan, step, 0), spatial),
      bsm_image_of(bsm_step_output(plan, step, 0), spatial), isa};
}

/* A tactic's cost; below 0 when it does not fit the convolution. */
static double cost_of(const bsm_cpu_convolution_tactic *tactic,
                      const bsm_cpu_convolution_site *site) {
  const bool reads = site->x.c > 1 && site->x.c_stride != 1;
  const bool writes = site->y.c > 1 && site->y.c_stride != 1;
  return (reads && !tactic->reads_planes) || (writes && !tactic->writes_planes)
             ? -1
             : tactic->cost(site);
}

static const bsm_cpu_convolution_tactic *find(const char *name) {
  for (size_t i = 0; bsm_linked_cpu_convolutions[i]; i++) {
    if (strcmp(bsm_linked_cpu_convolutions[i]->name, name) == 0) {
      return bsm_linked_cpu_convolutions[i];
    }
  }
  return NULL;
}

typedef struct candidate {
  const bsm_cpu_convolution_tactic *tactic;
  double cost;
} candidate;

/* Those that fit, the cheapest first; equals as in the table. */
static size_t list(const bsm_cpu_convolution_site *site, candidate *out) {
  size_t n = 0;
  for (size_t i = 0; bsm_linked_cpu_convolutions[i]; i++) {
    const bsm_cpu_convolution_tactic *tactic = bsm_linked_cpu_convolutions[i];
    const double cost = cost_of(tactic, site);
    if (cost < 0) continue;
    size_t at = n++;
    for (; at > 0 && out[at - 1].cost > cost; at--) out[at] = out[at - 1];
    out[at] = (candidate){tactic, cost};
  }
  return n;
}

const bsm_cpu_convolution_tactic *bsm_cpu_convolution_choose(
    const bsm_plan *plan, const bsm_plan_step *step, uint32_t isa) {
  const bsm_cpu_convolution_site site = site_of(plan, step, isa);
  const bsm_cpu_convolution_tactic *first = NULL;
  candidate found[BSM_CPU_MAX_TACTICS];
  const size_t n = list(&site, found);
  for (size_t i = 0; i < n; i++) {
    const bsm_cpu_convolution_tactic *t = found[i].tactic;
    if (t->form != site.params->form) continue;
    if (step->tactic && strcmp(step->tactic, t->name) == 0) return t;
    if (!first) first = t;
  }
  return first;
}

static bsm_status check(const bsm_plan *plan, const bsm_plan_step *step) {
  BSM_TRY(bsm_cpu_check_any_convolution(plan, step, BSM_DTYPE_FLOAT, false));
  if (!bsm_cpu_convolution_choose(plan, step, BSM_ISA_SCALAR)) {
    if (bsm_linked.engines) {
      return bsm_fail_not_linked("tactic of convolutions", step->tactic);
    }
    return BSM_FAIL(BSM_CORRUPT,
                    "no tactic for weights of form %d and channels %lld and "
                    "%lld apart",
                    step->params->convolution.form,
                    (long long)bsm_step_input(plan, step, 0)->strides[1],
                    (long long)bsm_step_output(plan, step, 0)->strides[1]);
  }
  return BSM_OK;
}

static size_t tactics(const bsm_plan *plan, const bsm_plan_step *step,
                      uint32_t isa, const char **names) {
  const bsm_cpu_convolution_site site = site_of(plan, step, isa);
  candidate found[BSM_CPU_MAX_TACTICS];
  const size_t n = list(&site, found);
  for (size_t i = 0; i < n; i++) names[i] = found[i].tactic->name;
  return n;
}

double bsm_cpu_convolution_cost(const bsm_plan *plan, const bsm_plan_step *step,
                                uint32_t isa, const char *tactic) {
  if (bsm_cpu_is_typed(plan, step)) return 0;
  const bsm_cpu_convolution_site site = site_of(plan, step, isa);
  const bsm_cpu_convolution_tactic *found = find(tactic);
  return found ? cost_of(found, &site) : 0;
}

int32_t bsm_cpu_convolution_form_of(const char *tactic) {
  const bsm_cpu_convolution_tactic *found = find(tactic);
  return found ? found->form : BSM_CPU_FORM_PLAIN;
}

static void pixel_rows(bsm_cpu_rows *rows, const bsm_image *i) {
  bsm_cpu_rows_init(
      rows, 4, (int64_t[]){i->n, i->size[0], i->size[1], i->size[2]},
      (int64_t[]){i->n_stride, i->stride[0], i->stride[1], i->stride[2]});
}

void bsm_cpu_convolution_init(const bsm_cpu_prepare *p,
                              bsm_cpu_convolution *c) {
  const bsm_step_convolution *params = &p->step->params->convolution;
  const int32_t spatial = params->window.spatial;
  c->base.slots = p->threads;
  c->tactic = bsm_cpu_convolution_choose(p->plan, p->step, p->isa);
  c->w = params->window;
  c->x = bsm_image_of(bsm_step_input(p->plan, p->step, 0), spatial);
  c->y = bsm_image_of(bsm_step_output(p->plan, p->step, 0), spatial);
  c->has_residual = params->epilogue.has_residual != 0;
  if (c->has_residual) {
    c->residual = bsm_image_of(bsm_step_input(p->plan, p->step, 1), spatial);
    pixel_rows(&c->residual_rows, &c->residual);
  }
  pixel_rows(&c->x_rows, &c->x);
  pixel_rows(&c->y_rows, &c->y);
  c->kernel = bsm_cpu_weights(p, 0);
  c->bias = bsm_cpu_weights(p, 1);
  c->epilogue =
      bsm_cpu_make_epilogue(&params->epilogue, bsm_k_math_select(p->isa));
}

bsm_cpu_convolution_work bsm_cpu_convolution_work_of(
    const bsm_prepared_step *prepared, const bsm_run *run) {
  const bsm_cpu_convolution *c = prepared->impl;
  return (bsm_cpu_convolution_work){
      .impl = c,
      .x = bsm_cpu_input_address(prepared, run, 0),
      .residual =
          c->has_residual ? bsm_cpu_input_address(prepared, run, 1) : NULL,
      .y = bsm_cpu_output_address(prepared, run, 0),
      .scratch = run->scratch,
      .slot_size = prepared->scratch_size / (size_t)c->base.slots};
}

void bsm_cpu_convolution_run(const bsm_prepared_step *prepared,
                             const bsm_run *run, int64_t units,
                             bsm_cpu_unit_fn *fn) {
  const bsm_cpu_convolution *c = prepared->impl;
  bsm_cpu_convolution_work w = bsm_cpu_convolution_work_of(prepared, run);
  bsm_cpu_parallel(run, c->base.slots, units, fn, &w);
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  return bsm_cpu_convolution_choose(p->plan, p->step, p->isa)->prepare(p, out);
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const bsm_cpu_convolution *c = prepared->impl;
  return c->tactic->run(prepared, r);
}

const bsm_cpu_kind bsm_cpu_CONVOLUTION = {check, tactics, prepare, run};
