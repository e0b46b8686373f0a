/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of elements as they are brought to what computes: one element again and
 * again, to places that are aligned for their own size alone. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdio.h>
#include <string.h>

#include "backend/cpu/cpu_element.h"
#include "base/isa.h"

enum { N = 40, LONGEST = 19 };

/* Those under test: each instruction set in its turn. */
static bsm_cpu_elements elements;

/* Nothing but the n elements behind the first `before` of them is written. */
static void check_repeats(bsm_dtype dtype, const void *element, size_t size) {
  for (int64_t before = 0; before < 4; before++) {
    for (int64_t n = 2; n <= LONGEST; n++) {
      _Alignas(8) unsigned char made[N * 8], want[N * 8];
      memset(made, 0x5a, sizeof(made));
      memset(want, 0x5a, sizeof(want));
      bsm_cpu_load(&elements, dtype, element, 0, n,
                   made + (size_t)before * size);
      for (int64_t i = 0; i < n; i++) {
        memcpy(want + (size_t)(before + i) * size, element, size);
      }
      assert_memory_equal(made, want, sizeof(made));
    }
  }
}

static void elements_repeat_anywhere(void **state) {
  (void)state;
  const float f = -1.5f;
  const double d = 1e300;
  const int64_t i = INT64_C(-0x123456789abcdef);
  const uint8_t yes = 1;
  check_repeats(BSM_DTYPE_FLOAT, &f, sizeof(f));
  check_repeats(BSM_DTYPE_DOUBLE, &d, sizeof(d));
  check_repeats(BSM_DTYPE_INT64, &i, sizeof(i));
  check_repeats(BSM_DTYPE_BOOL, &yes, sizeof(yes));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(elements_repeat_anywhere),
  };
  int failed = 0;
  for (unsigned row = 0; row < BSM_K_ISA_COUNT; row++) {
    const uint32_t needs = bsm_k_isa_needs(row);
    if ((bsm_isa_detect() & needs) != needs) continue;
    elements = bsm_cpu_elements_of(needs);
    printf("isa %x\n", (unsigned)needs);
    failed += cmocka_run_group_tests(tests, NULL, NULL);
  }
  return failed;
}
