/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that have a kernel of a family which this program has not met: a source
 * and an entry of kernels/ and the types that it is compiled for, whatever the
 * numbers are. With BSM_TEST_FAMILIES=1 a sample of the suite has each of them
 * once besides: tools that slow kernels down a hundred times can see all
 * kernels so (scripts/check_gpu.sh). */
#ifndef TESTS_CONFORMANCE_KERNEL_FAMILIES_H_
#define TESTS_CONFORMANCE_KERNEL_FAMILIES_H_

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/cuda_launch.h"
#include "backend/cuda/target/cuda_target.h"
#include "tests/conformance/conformance.h"

#define FAMILIES_UNUSED __attribute__((unused))

enum { FAMILIES = 1024, FAMILY_NAME = 256 };

/* "mma_gemm mma_gemm -DK_T=f16", of a kernel with more options than that. */
static FAMILIES_UNUSED void family_name(const bsm_cuda_kernel *kernel,
                                        char *name) {
  const char *option = kernel->options;
  int used =
      snprintf(name, FAMILY_NAME, "%s %s", kernel->source, kernel->entry);
  while (used < FAMILY_NAME && (option = strstr(option, "-D")) != NULL) {
    const int length = (int)strcspn(option, " ");
    const char *value = memchr(option, '=', (size_t)length);
    if (value && isalpha((unsigned char)value[1])) {
      used += snprintf(name + used, (size_t)(FAMILY_NAME - used), " %.*s",
                       length, option);
    }
    option += length;
  }
}

/* Notes a family; false: it was known. */
static FAMILIES_UNUSED bool family_is_new(const char *name) {
  static char known[FAMILIES][FAMILY_NAME];
  static size_t count;
  for (size_t i = 0; i < count; i++) {
    if (strcmp(known[i], name) == 0) return false;
  }
  if (count == FAMILIES) fail_msg("more than %d families", FAMILIES);
  strcpy(known[count++], name);
  return true;
}

/* The step as the device gets it: float may be another dtype there. */
static FAMILIES_UNUSED bool families_meet(const bsm_plan *plan,
                                          const bsm_plan_step *step) {
  bsm_arena arena;
  bool found = false;
  bsm_arena_init(&arena, NULL);
  bsm_plan copy = *plan;
  bsm_plan_tensor *tensors =
      BSM_NEW_ARRAY(&arena, bsm_plan_tensor, plan->tensor_count);
  bsm_cuda_launches *launches = BSM_NEW(&arena, bsm_cuda_launches);
  assert_true(tensors && launches);
  for (uint32_t i = 0; i < plan->tensor_count; i++) {
    tensors[i] = plan->tensors[i];
    if (suite.is_narrow && tensors[i].dtype == BSM_DTYPE_FLOAT) {
      tensors[i].dtype = suite.dtype;
      tensors[i].offset /= 2;
    }
  }
  copy.tensors = tensors;
  bsm_status status = bsm_cuda_make_launches(
      &copy, step, BSM_CUDA_FOR_SIZES, bsm_cuda_target_of(suite_target())->sm,
      &arena, launches);
  for (uint32_t i = 0; !status && i < launches->count; i++) {
    char name[FAMILY_NAME];
    family_name(&launches->items[i].kernel, name);
    found |= family_is_new(name);
  }
  bsm_status_free(status); /* what GPUs do not take is skipped elsewhere */
  bsm_arena_destroy(&arena);
  return found;
}

/* Whether families count here. */
static FAMILIES_UNUSED bool families_are_met(void) {
  const char *text = getenv("BSM_TEST_FAMILIES");
  return text && atoi(text) > 0 && suite_is_for("cuda");
}

#endif /* TESTS_CONFORMANCE_KERNEL_FAMILIES_H_ */
