/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU backend: the table of functions that the builder and the runtime
 * use, and the checks common to all steps. */
#include "backend/backend.h"

#include "aten/tensor.h"
#include "backend/cpu/cpu_convolution.h"
#include "backend/cpu/cpu_pack.h"
#include "backend/cpu/cpu_step.h"
#include "backend/cpu/kernels/kernel_isa.h"
#include "base/checked.h"
#include "base/isa.h"

_Static_assert(BSM_K_ISA_AVX2 == BSM_ISA_AVX2, "the ISA bits of the kernels");
_Static_assert(BSM_K_ISA_AVX512 == BSM_ISA_AVX512, "as above");

static const bsm_cpu_kind *kind_of(bsm_step_kind kind) {
  switch (kind) {
#define X(name, number, text, member) \
  case BSM_STEP_##name:               \
    return &bsm_cpu_##name;
    BSM_BACKEND_STEP_KINDS(X)
#undef X
    default:
      return NULL;
  }
}

/* A copy without conversion moves elements of any dtype. */
static bool only_moves(const bsm_plan *plan, const bsm_plan_step *step) {
  return step->kind == BSM_STEP_COPY && step->input_count == 1 &&
         step->output_count == 1 &&
         bsm_cpu_input(plan, step, 0)->dtype ==
             bsm_cpu_output(plan, step, 0)->dtype;
}

/* What every driver relies on: known dtypes, sizes whose products do not
 * overflow, strides that are not negative. */
static bsm_status check_tensor(const bsm_plan_tensor *t, bool any_dtype) {
  if (bsm_dtype_size(t->dtype) == 0 ||
      (!any_dtype && !bsm_dtype_is_floating(t->dtype) &&
       !bsm_dtype_is_integral(t->dtype, true))) {
    return BSM_FAIL(BSM_CORRUPT, "dtype %d cannot be computed with",
                    (int)t->dtype);
  }
  if (t->dims.rank < 0 || t->dims.rank > BSM_MAX_RANK) {
    return BSM_FAIL(BSM_CORRUPT, "rank %d", t->dims.rank);
  }
  int64_t n = 1;
  for (int32_t i = 0; i < t->dims.rank; i++) {
    const int64_t d = t->dims.d[i];
    if (d < 0 || t->strides[i] < 0 || d > BSM_CPU_MAX_ELEMENTS ||
        !bsm_i64_mul(n, d > 0 ? d : 1, &n) || n > BSM_CPU_MAX_ELEMENTS) {
      return BSM_FAIL(BSM_CORRUPT, "sizes %s are too large",
                      bsm_dims_str(t->dims));
    }
  }
  return BSM_OK;
}

/* An output has a place of its own for every element, so that threads never
 * write to the same one: taken by growing stride, each dimension steps over all
 * that the smaller ones reach. check_tensor has bounded the products. */
static bsm_status check_output(const bsm_plan_tensor *t) {
  if (t->region != BSM_REGION_OUTPUT && t->region != BSM_REGION_WORKSPACE) {
    return BSM_FAIL(BSM_CORRUPT, "output '%s' lies in read-only memory",
                    t->name ? t->name : "");
  }
  bool taken[BSM_MAX_RANK] = {false};
  int64_t reach = 0; /* of the dimensions taken, in elements */
  for (int32_t n = 0; n < t->dims.rank; n++) {
    int32_t next = -1;
    for (int32_t i = 0; i < t->dims.rank; i++) {
      if (t->dims.d[i] == 0) return BSM_OK;
      if (!taken[i] && t->dims.d[i] > 1 &&
          (next < 0 || t->strides[i] < t->strides[next])) {
        next = i;
      }
    }
    if (next < 0) break;
    int64_t span;
    if (t->strides[next] <= reach) {
      return BSM_FAIL(BSM_CORRUPT, "elements of the output share a place");
    }
    if (!bsm_i64_mul(t->dims.d[next] - 1, t->strides[next], &span) ||
        !bsm_i64_add(reach, span, &reach)) {
      return BSM_FAIL(BSM_CORRUPT, "strides of the output are too large");
    }
    taken[next] = true;
  }
  return BSM_OK;
}

static bsm_status cpu_check(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_cpu_kind *kind = kind_of(step->kind);
  if (!kind) return BSM_FAIL(BSM_CORRUPT, "step kind %d", (int)step->kind);
  if (!step->params || step->input_count > BSM_STEP_MAX_TENSORS ||
      step->output_count > BSM_STEP_MAX_TENSORS || step->output_count == 0) {
    return BSM_FAIL(BSM_CORRUPT, "a step without parameters or outputs");
  }
  const bool any = only_moves(plan, step);
  for (uint32_t i = 0; i < step->input_count; i++) {
    BSM_TRY_NOTE(check_tensor(bsm_cpu_input(plan, step, i), any), "input %u",
                 i);
  }
  for (uint32_t i = 0; i < step->output_count; i++) {
    BSM_TRY_NOTE(check_tensor(bsm_cpu_output(plan, step, i), any), "output %u",
                 i);
    BSM_TRY_NOTE(check_output(bsm_cpu_output(plan, step, i)), "output %u", i);
  }
  return kind->check(plan, step);
}

static bsm_status check_noted(const bsm_plan *plan, const bsm_plan_step *step) {
  BSM_TRY_NOTE(cpu_check(plan, step), "in %s step '%s'",
               bsm_step_kind_name(step->kind) ? bsm_step_kind_name(step->kind)
                                              : "an unknown",
               step->name ? step->name : "");
  return BSM_OK;
}

static size_t cpu_tactics(const bsm_plan *plan, const bsm_plan_step *step,
                          uint32_t isa, const char **names) {
  const bsm_cpu_kind *kind = kind_of(step->kind);
  if (kind && kind->tactics) return kind->tactics(plan, step, isa, names);
  names[0] = "default";
  return 1;
}

/* Tactics of other kinds are few, or not told apart by their cost. */
static double cpu_cost(const bsm_plan *plan, const bsm_plan_step *step,
                       uint32_t isa, const char *tactic) {
  return step->kind == BSM_STEP_CONVOLUTION
             ? bsm_cpu_convolution_cost(plan, step, isa, tactic)
             : 0;
}

/* Only convolutions have weights of several forms. */
static void cpu_adopt(const bsm_plan_step *step, const char *tactic,
                      bsm_step_params *params) {
  if (step->kind == BSM_STEP_CONVOLUTION) {
    params->convolution.form = bsm_cpu_convolution_form_of(tactic);
  }
}

static bsm_status cpu_prepare(const bsm_plan *plan, const bsm_plan_step *step,
                              uint32_t isa, int threads, bsm_arena *arena,
                              bsm_prepared_step *out) {
  const bsm_cpu_kind *kind = kind_of(step->kind);
  if (!kind) return BSM_FAIL(BSM_CORRUPT, "step kind %d", (int)step->kind);
  if (isa == BSM_ISA_DETECT) isa = bsm_isa_detect();
  *out = (bsm_prepared_step){.plan = plan, .step = step};
  const bsm_cpu_prepare prepare = {plan, step, isa, threads < 1 ? 1 : threads,
                                   arena};
  return kind->prepare(&prepare, out);
}

static bsm_status cpu_run(const bsm_prepared_step *prepared,
                          const bsm_run *run) {
  return kind_of(prepared->step->kind)->run(prepared, run);
}

static const char *cpu_describe(const bsm_prepared_step *prepared) {
  return ((const bsm_cpu_impl *)prepared->impl)->description;
}

static const bsm_backend cpu_backend = {
    .version = BSM_BACKEND_VERSION,
    .name = "cpu",
    .check = check_noted,
    .tactics = cpu_tactics,
    .cost = cpu_cost,
    .adopt = cpu_adopt,
    .pack = bsm_cpu_pack,
    .useful_threads = bsm_cpu_useful_threads,
    .prepare = cpu_prepare,
    .run = cpu_run,
    .describe = cpu_describe,
};

const bsm_backend *bsm_backend_cpu(void) {
  return &cpu_backend;
}
