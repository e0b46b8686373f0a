/* SPDX-License-Identifier: Apache-2.0 */
/* The code that an engine of ranging shapes has for steps that it meets while
 * it runs: kernels for any sizes, and kernels for all steps of a kind. Each
 * step of the suite runs with one of them alone, too, and gives the same bits
 * where the kernel for its sizes is no special one. */
#ifndef TESTS_CONFORMANCE_WIDE_CODE_H_
#define TESTS_CONFORMANCE_WIDE_CODE_H_

#include "backend/cuda/cuda_launch.h"
#include "backend/cuda/steps/cuda_mma.h"
#include "backend/cuda/target/cuda_target.h"
#include "tests/conformance/conformance.h"

#define WIDE_UNUSED __attribute__((unused))

/* Which code to run the next step with besides its own; 0: none. Kernels for
 * all steps of a kind are compiled once, so that they take three steps in four.
 */
static WIDE_UNUSED int wide_code_next(void) {
  static uint32_t met;
  if (!suite_is_for("cuda")) return 0;
  const uint32_t drawn = met++ * 2654435761u >> 29;
  return drawn > 1 ? BSM_CUDA_FOR_KIND
         : drawn   ? BSM_CUDA_FOR_STEP
                   : BSM_CUDA_FOR_RANGE;
}

/* Whether a step has the same kernels, compiled for less, as for its sizes;
 * special ones for a range of sizes may have other tiles. */
static WIDE_UNUSED bool wide_code_is_same(const bsm_plan *plan,
                                          const bsm_plan_step *step,
                                          int which) {
  const int sm = bsm_cuda_target_of(suite_target())->sm;
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  bsm_cuda_launches *own = BSM_NEW(&arena, bsm_cuda_launches);
  bsm_cuda_launches *wide = BSM_NEW(&arena, bsm_cuda_launches);
  assert_true(own && wide);
  assert_null(
      bsm_cuda_make_launches(plan, step, BSM_CUDA_FOR_SIZES, sm, &arena, own));
  assert_null(bsm_cuda_make_launches(plan, step, (bsm_cuda_scope)which, sm,
                                     &arena, wide));
  bool same = own->count == wide->count;
  for (uint32_t i = 0; same && i < own->count; i++) {
    const bsm_cuda_kernel *a = &own->items[i].kernel;
    const bsm_cuda_kernel *b = &wide->items[i].kernel;
    const bool special = strstr(b->options, "--fmad=false") == NULL;
    same = special ? strcmp(a->name, b->name) == 0
                   : strcmp(a->source, b->source) == 0 ||
                         strcmp(b->source, "interpreter") == 0;
  }
  bsm_arena_destroy(&arena);
  return same;
}

/* No GPU is asked for more shared memory than its blocks may have. */
static WIDE_UNUSED void wide_code_fits(const bsm_plan *plan) {
  static const int sms[] = {75, 80, 86, 87, 89, 90, 100, 103, 120};
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  bsm_cuda_launches *l = BSM_NEW(&arena, bsm_cuda_launches);
  assert_non_null(l);
  for (size_t k = 0; k < sizeof(sms) / sizeof(sms[0]); k++) {
    const bsm_arena_mark mark = bsm_arena_get_mark(&arena);
    assert_null(bsm_cuda_make_launches(plan, plan->steps, BSM_CUDA_FOR_SIZES,
                                       sms[k], &arena, l));
    for (uint32_t i = 0; i < l->count; i++) {
      const size_t most = bsm_cuda_most_shared(sms[k]);
      if (l->items[i].shared_bytes > most) {
        fail_msg("%s has %u bytes of shared memory on sm_%d",
                 l->items[i].kernel.name, (unsigned)l->items[i].shared_bytes,
                 sms[k]);
      }
    }
    bsm_arena_rewind(&arena, mark);
  }
  bsm_arena_destroy(&arena);
}

/* The kernels for all steps of a kind are made once. */
static WIDE_UNUSED const bsm_plan *wide_general_plan(void) {
  static bsm_arena arena;
  static bsm_plan plan;
  if (!arena.chunks) {
    bsm_arena_init(&arena, NULL);
    bsm_status status = bsm_cuda_add_scopes(
        suite_target(), 1u << BSM_CUDA_FOR_KIND, &plan, &arena, NULL);
    if (status) fail_msg("%s", bsm_status_message(status));
  }
  return &plan;
}

/* Adds to a plan the code that `which` says, or gives another that has it. */
static WIDE_UNUSED bsm_status wide_code(const bsm_target *target, int which,
                                        bsm_plan *plan, bsm_arena *arena,
                                        const bsm_plan **out) {
  *out = which == BSM_CUDA_FOR_KIND ? wide_general_plan() : plan;
  if (which == BSM_CUDA_FOR_KIND) return BSM_OK;
  if (!suite_is_for("cuda")) {
    return target->ops->add_code(target, plan, arena, NULL);
  }
  wide_code_fits(plan);
  /* PTX, for other GPUs, would take as long as the code that is run. */
  const int scope = which ? which : BSM_CUDA_FOR_SIZES;
  return bsm_cuda_add_scopes(target, 1u << scope | BSM_CUDA_CODE_ALONE, plan,
                             arena, NULL);
}

#endif /* TESTS_CONFORMANCE_WIDE_CODE_H_ */
