/* SPDX-License-Identifier: Apache-2.0 */
/* The sizes of caches, and eviction. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/caches.h"

/* What Linux says of a cache of the first CPU; 0 when it does not. */
static size_t size_of_index(int index, int *level, int *is_data) {
  char path[96], text[32];
  size_t size = 0;
  for (int i = 0; i < 3; i++) {
    static const char *const names[3] = {"level", "type", "size"};
    snprintf(path, sizeof(path),
             "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, names[i]);
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    const int got = fscanf(file, "%31s", text);
    fclose(file);
    if (got != 1) return 0;
    if (i == 0) *level = text[0] - '0';
    if (i == 1) *is_data = strcmp(text, "Instruction") != 0;
    if (i == 2) sscanf(text, "%zu", &size);
  }
  return size << 10;
}

static void test_as_linux_says(void **state) {
  (void)state;
  const bsm_caches caches = bsm_detect_caches();
  assert_true(caches.l1 >= 4096 && caches.l1 <= caches.l2);
  assert_true(caches.l2 <= caches.l3);
  for (int i = 0; i < 8; i++) {
    int level = 0, is_data = 0;
    const size_t size = size_of_index(i, &level, &is_data);
    if (!size || !is_data) continue;
    if (level == 1) assert_int_equal(caches.l1, size);
    if (level == 2) assert_int_equal(caches.l2, size);
    if (level == 3) assert_int_equal(caches.l3, size);
  }
}

static void test_eviction_keeps_data(void **state) {
  (void)state;
  uint8_t data[1000];
  for (size_t i = 0; i < sizeof(data); i++) data[i] = (uint8_t)(i * 7);
  bsm_evict_from_caches(data, sizeof(data));
  bsm_evict_from_caches(data, 0);
  for (size_t i = 0; i < sizeof(data); i++) {
    assert_int_equal(data[i], (uint8_t)(i * 7));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_as_linux_says),
      cmocka_unit_test(test_eviction_keeps_data),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
