/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <ftw.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/isa.h"
#include "base/thread_pool.h"

typedef struct fixture {
  char root[64];
} fixture;

static int set_up(void **state) {
  fixture *self = calloc(1, sizeof(*self));
  if (!self) return -1;
  strcpy(self->root, "/tmp/bsm-cpus-test-XXXXXX");
  *state = self;
  return mkdtemp(self->root) ? 0 : -1;
}

static int remove_entry(const char *path, const struct stat *info, int type,
                        struct FTW *where) {
  (void)info, (void)type, (void)where;
  return remove(path);
}

static int tear_down(void **state) {
  fixture *self = *state;
  const int failed = nftw(self->root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
  free(self);
  return failed;
}

/* Writes root/path, making the folders on the way. */
static void put(const fixture *self, const char *path, const char *text) {
  char full[256];
  snprintf(full, sizeof(full), "%s/%s", self->root, path);
  for (char *p = full + strlen(self->root) + 1; *p; p++) {
    if (*p != '/') continue;
    *p = '\0';
    mkdir(full, 0700);
    *p = '/';
  }
  FILE *file = fopen(full, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static void version_2_quotas_are_read(void **state) {
  const fixture *self = *state;
  const char *own = "0::/app/web\n";
  assert_int_equal(bsm_cgroup_cpus(own, self->root), 0);
  put(self, "app/web/cpu.max", "max 100000\n");
  assert_int_equal(bsm_cgroup_cpus(own, self->root), 0);
  put(self, "app/web/cpu.max", "250000 100000\n");
  assert_int_equal(bsm_cgroup_cpus(own, self->root), 3); /* rounded up */
  put(self, "app/cpu.max", "150000 100000\n");
  assert_int_equal(bsm_cgroup_cpus(own, self->root), 2); /* an ancestor */
  put(self, "cpu.max", "1000 100000\n");
  assert_int_equal(bsm_cgroup_cpus(own, self->root), 1); /* never zero */
}

static void invisible_groups_count_by_their_ancestors(void **state) {
  const fixture *self = *state;
  put(self, "cpu.max", "200000 100000\n");
  assert_int_equal(bsm_cgroup_cpus("0::/not/mounted/here\n", self->root), 2);
  assert_int_equal(bsm_cgroup_cpus("0::/../../outside\n", self->root), 2);
  assert_int_equal(bsm_cgroup_cpus("0::/\n", self->root), 2);
}

static void version_1_quotas_are_read(void **state) {
  const fixture *self = *state;
  const char *own =
      "12:memory:/docker/x\n4:cpu,cpuacct:/docker/x\n1:name=systemd:/\n";
  put(self, "cpu,cpuacct/docker/x/cpu.cfs_quota_us", "-1\n");
  put(self, "cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000\n");
  assert_int_equal(bsm_cgroup_cpus(own, self->root), 0);
  put(self, "cpu,cpuacct/docker/x/cpu.cfs_quota_us", "400000\n");
  assert_int_equal(bsm_cgroup_cpus(own, self->root), 4);
  put(self, "cpu/cpu.cfs_quota_us", "100000\n");
  put(self, "cpu/cpu.cfs_period_us", "50000\n");
  assert_int_equal(bsm_cgroup_cpus(own, self->root), 2);
  /* Another controller's quota is none of ours. */
  assert_int_equal(bsm_cgroup_cpus("4:cpuacct:/docker/x\n", self->root), 0);
}

static void odd_texts_mean_no_limit(void **state) {
  const fixture *self = *state;
  static const char *const contents[] = {
      "",      "\n",          "x y",     "100000",
      "0 100", "100000 0",    "-5 100",  "99999999999999999999 1",
      "1 -1",  "100000 oops", "1e5 1e5",
  };
  for (size_t i = 0; i < sizeof(contents) / sizeof(contents[0]); i++) {
    put(self, "cpu.max", contents[i]);
    assert_int_equal(bsm_cgroup_cpus("0::/\n", self->root), 0);
  }
  put(self, "cpu.max", "100000 100000");
  static const char *const memberships[] = {
      "", "\n", "0", "0:", ":", "x\n\ny", "0:/"};
  for (size_t i = 0; i < sizeof(memberships) / sizeof(memberships[0]); i++) {
    assert_int_equal(bsm_cgroup_cpus(memberships[i], self->root), 0);
  }
  char long_path[10000];
  memset(long_path, 'a', sizeof(long_path) - 1);
  memcpy(long_path, "0::/", 4);
  long_path[sizeof(long_path) - 1] = '\0';
  assert_int_equal(bsm_cgroup_cpus(long_path, self->root), 0);
}

static void the_affinity_mask_counts(void **state) {
  (void)state;
  cpu_set_t before, one;
  assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
  const int all = bsm_available_cpus();
  assert_true(all >= 1 && all <= CPU_COUNT(&before));
  CPU_ZERO(&one);
  for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (CPU_ISSET(cpu, &before)) {
      CPU_SET(cpu, &one);
      break;
    }
  }
  assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
  assert_int_equal(bsm_available_cpus(), 1);
  assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

static void isa_names_parse(void **state) {
  (void)state;
  static const char *const names[] = {"scalar",      "avx2",        "avx512",
                                      "avx512_vnni", "avx512_bf16", "amx"};
  uint32_t previous = 0;
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    uint32_t mask = 99;
    assert_true(bsm_isa_parse(names[i], &mask));
    assert_string_equal(bsm_isa_name(mask), names[i]);
    assert_int_equal(mask & previous, previous); /* implies the ones before */
    previous = mask;
  }
  uint32_t mask = 99;
  assert_true(bsm_isa_parse("avx2_vnni", &mask)); /* beside AVX-512 */
  assert_int_equal(mask, BSM_ISA_AVX2 | BSM_ISA_AVX_VNNI);
  assert_string_equal(bsm_isa_name(mask), "avx2_vnni");
  assert_true(bsm_isa_parse("neon_i8mm", &mask)); /* another machine's */
  assert_int_equal(mask, BSM_ISA_NEON | BSM_ISA_I8MM);
  assert_string_equal(bsm_isa_name(mask), "neon_i8mm");
  assert_string_equal(bsm_isa_name(BSM_ISA_NEON), "neon");
  mask = 99;
  assert_false(bsm_isa_parse("sse9", &mask));
  assert_false(bsm_isa_parse("", &mask));
  assert_int_equal(mask, 99);
  assert_string_equal(bsm_isa_name(BSM_ISA_AVX512), "scalar"); /* no AVX2 */
}

static void detection_agrees_with_the_kernel(void **state) {
  (void)state;
  FILE *file = fopen("/proc/cpuinfo", "r");
  if (!file) skip();
  char line[8192];
  bool avx2 = false, avx512 = false, vnni = false, avx512_vnni = false;
  bool neon = false, i8mm = false, amx = false;
  while (fgets(line, sizeof(line), file)) {
    if (strncmp(line, "Features", 8) == 0) { /* ARM's name of them */
      neon = strstr(line, " asimd");
      i8mm = strstr(line, " i8mm");
      break;
    }
    if (strncmp(line, "flags", 5) != 0) continue;
    avx2 =
        strstr(line, " avx2") && strstr(line, " fma") && strstr(line, " f16c");
    avx512 = avx2 && strstr(line, " avx512f") && strstr(line, " avx512dq") &&
             strstr(line, " avx512bw") && strstr(line, " avx512vl");
    vnni = avx2 && strstr(line, " avx_vnni");
    avx512_vnni = avx512 && strstr(line, " avx512_vnni");
    amx = avx512_vnni && strstr(line, " avx512_bf16") &&
          strstr(line, " amx_tile") && strstr(line, " amx_int8") &&
          strstr(line, " amx_bf16");
    break;
  }
  fclose(file);
  const uint32_t mask = bsm_isa_detect();
#if defined(__aarch64__) /* qemu-user shows the host's features */
  if (!neon) skip();
#endif
  assert_int_equal((mask & BSM_ISA_AVX2) != 0, avx2);
  assert_int_equal((mask & BSM_ISA_AVX512) != 0, avx512);
  assert_int_equal((mask & BSM_ISA_AVX_VNNI) != 0, vnni);
  assert_int_equal((mask & BSM_ISA_AVX512_VNNI) != 0, avx512_vnni);
  if (!amx) assert_int_equal(mask & BSM_ISA_AMX, 0); /* or not permitted */
  assert_int_equal((mask & BSM_ISA_NEON) != 0, neon);
  assert_int_equal((mask & BSM_ISA_I8MM) != 0, i8mm);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(version_2_quotas_are_read),
      TEST(invisible_groups_count_by_their_ancestors),
      TEST(version_1_quotas_are_read),
      TEST(odd_texts_mean_no_limit),
      cmocka_unit_test(the_affinity_mask_counts),
      cmocka_unit_test(isa_names_parse),
      cmocka_unit_test(detection_agrees_with_the_kernel),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
