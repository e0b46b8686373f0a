/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that are wrong fail as on a GPU, and say where. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda/kernel_kit.h"

typedef struct args {
  bsm_cu_address out, in;
  int n;
} args;

#define BYTES 1024

typedef struct bench {
  device d;
  bsm_cu_module module;
  args args;
} bench;

static void open_bench(bench *b) {
  device_open(&b->d);
  b->module =
      load_kernels(&b->d, "emulation_kernels.cu", test_kernels(&b->d), NULL);
  b->args.in = put(&b->d, NULL, BYTES);
  b->args.out = put(&b->d, NULL, BYTES);
}

/* A lost context takes everything back, and says each time that it is lost. */
static void close_bench(bench *b) {
  (void)b->d.driver.memory_free(b->args.in);
  (void)b->d.driver.memory_free(b->args.out);
  (void)b->d.driver.module_unload(b->module);
  device_close(&b->d);
}

typedef struct wrong {
  const char *kernel;
  int n;
  unsigned threads, shared_bytes;
  bsm_cu_result result;
  const char *text;
} wrong;

static void fails(const wrong *w) {
  bench b;
  open_bench(&b);
  b.args.n = w->n;
  bsm_cu_function f = find_kernel(&b.d, b.module, w->kernel);
  assert_cu(launch(&b.d, f, 2, w->threads, w->shared_bytes, &b.args));
  assert_int_equal(synchronize(&b.d), w->result);
  const standin_report r = report_of(&b.d);
  if (!strstr(r.last_fault, w->text) || !strstr(r.last_fault, w->kernel)) {
    fail_msg("%s: %s", w->kernel, r.last_fault);
  }
  /* The context is lost. */
  bsm_cu_address more = 0;
  assert_int_equal(b.d.driver.memory_allocate(&more, 16), w->result);
  assert_int_equal(b.d.driver.memory_free(b.args.in), w->result);
  assert_int_equal(b.d.driver.memory_free(b.args.out), w->result);
  assert_int_equal(b.d.driver.module_unload(b.module), w->result);
  device_close(&b.d);
}

static void says_what_is_wrong(void **state) {
  (void)state;
  static const wrong all[] = {
      {"beyond", BYTES / 4 - 3, 32, 0, BSM_CU_ILLEGAL_ADDRESS,
       "block (0, 0, 0), thread (3, 0, 0): address"},
      {"reads_beyond", BYTES / 4 - 3, 32, 0, BSM_CU_ILLEGAL_ADDRESS,
       "1024 bytes behind the start of a block of 1024"},
      {"before", 1, 32, 0, BSM_CU_ILLEGAL_ADDRESS, "before a block"},
      {"before", 5000, 32, 0, BSM_CU_ILLEGAL_ADDRESS, "thread (0, 0, 0)"},
      {"null", 0, 1, 0, BSM_CU_ILLEGAL_ADDRESS, "none of the device's"},
      {"null", 4096, 1, 0, BSM_CU_ILLEGAL_ADDRESS, "none of the device's"},
      {"misaligned", 0, 1, 0, BSM_CU_MISALIGNED_ADDRESS,
       "emulation_kernels.cu"},
      {"shared_beyond", 256, 1, 256, BSM_CU_ILLEGAL_ADDRESS,
       "dynamic shared memory"},
      {"shared_beyond", 100, 1, 100, BSM_CU_ILLEGAL_ADDRESS,
       "dynamic shared memory"},
      {"index_beyond", 8, 1, 0, BSM_CU_ILLEGAL_ADDRESS,
       "an index beyond its array"},
      {"overflow", 0x7fffffff, 2, 0, BSM_CU_LAUNCH_FAILED,
       "a signed product overflows"},
      {"by_zero", 32, 32, 0, BSM_CU_LAUNCH_FAILED, "a division by zero"},
      {"asserts", 4, 32, 0, 710, "an assertion fails: p.n == 3"},
      {"deep", 1, 1, 0, BSM_CU_LAUNCH_FAILED, "stack is full"},
      {"half_block", 0, 64, 0, BSM_CU_LAUNCH_FAILED,
       "32 threads, the first is 0: waits at a barrier; 32 threads, the first "
       "is 32: has ended"},
      {"half_warp", 0, 32, 0, BSM_CU_LAUNCH_FAILED,
       "16 threads, the first is 0: waits for lanes of its warp (mask "
       "ffffffff); 16 threads, the first is 16: waits at a barrier"},
      {"sleeper", 0, 64, 0, BSM_CU_LAUNCH_FAILED,
       "threads sleep for what never comes"},
  };
  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) fails(&all[i]);
}

static void runs_again_in_a_new_context(void **state) {
  (void)state;
  bench b;
  for (int i = 0; i < 2; i++) {
    open_bench(&b);
    b.args.n = 1000;
    const char *kernel = i ? "add_one" : "beyond";
    if (i) b.args.n = 32;
    bsm_cu_function f = find_kernel(&b.d, b.module, kernel);
    assert_cu(launch(&b.d, f, 1, 32, 0, &b.args));
    assert_int_equal(synchronize(&b.d), i ? 0 : BSM_CU_ILLEGAL_ADDRESS);
    close_bench(&b);
  }
}

static void refuses_launches(void **state) {
  (void)state;
  bench b;
  open_bench(&b);
  bsm_cu_function f = find_kernel(&b.d, b.module, "small_blocks");
  assert_cu(launch(&b.d, f, 1, 64, 0, &b.args));
  assert_int_equal(launch(&b.d, f, 1, 65, 0, &b.args),
                   BSM_CU_LAUNCH_OUT_OF_RESOURCES);
  assert_int_equal(b.d.driver.module_get_function(&f, b.module, "nothing"),
                   BSM_CU_NOT_FOUND);
  close_bench(&b);

  open_bench(&b);
  assert_cu(b.d.driver.module_get_function(&f, b.module, "reverse"));
  assert_int_equal(launch(&b.d, f, 1, 32, (48 << 10) + 1, &b.args),
                   BSM_CU_INVALID_VALUE);
  assert_non_null(strstr(report_of(&b.d).last_misuse, "max_dynamic_shared"));
  b.d.standin.reset(1, 13000, 1 << 20);
  bsm_nvrtc_close(b.d.nvrtc);
  bsm_cuda_driver_close(&b.d.driver);
  bsm_arena_destroy(&b.d.arena);
  dlclose(b.d.standin.library);
}

/* An address of the device is none for the host, while kernels have run. */
static void keeps_the_host_out(void **state) {
  (void)state;
  bench b;
  open_bench(&b);
  bsm_cu_function f = find_kernel(&b.d, b.module, "add_one");
  b.args.n = 32;
  assert_cu(launch(&b.d, f, 1, 32, 0, &b.args));
  assert_cu(synchronize(&b.d));
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    (void)signal(SIGSEGV, SIG_DFL);
    const volatile char *p = (const volatile char *)(uintptr_t)b.args.out;
    _exit(*p == 1 ? 1 : 2);
  }
  int how = 0;
  assert_int_equal(waitpid(child, &how, 0), child);
  assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGSEGV);
  close_bench(&b);
}

/* ---- the compiler of kernels ---- */

static void gives_the_compilers_errors(void **state) {
  (void)state;
  device d;
  bsm_str code;
  device_open(&d);
  assert_fails_with(try_compile(&d, "bad.cu",
                                "#include \"device.cuh\"\n"
                                "struct args { int n; };\n"
                                "KERNEL(bad, args) { p.n = nothing; }\n",
                                NULL, "sm_90a", &code),
                    BSM_INTERNAL, "bad.cu:3:");
  const char *const fast[] = {"--use_fast_math", NULL};
  assert_fails_with(try_compile(&d, "fast.cu", "", fast, "sm_90a", &code),
                    BSM_INTERNAL, "does not take the option --use_fast_math");
  assert_true(bsm_nvrtc_supports(d.nvrtc, 90));
  assert_false(bsm_nvrtc_supports(d.nvrtc, 50));
  device_close(&d);
}

static bsm_cu_result loads(device *d, const char *architecture) {
  bsm_str code;
  bsm_cu_module module = NULL;
  assert_ok(try_compile(d, "empty.cu",
                        "#include \"device.cuh\"\n"
                        "struct args { u32 *out; };\n"
                        "KERNEL(sm, args) { *p.out = __CUDA_ARCH__; }\n",
                        NULL, architecture, &code));
  const bsm_cu_result result =
      d->driver.module_load(&module, code.data, 0, NULL, NULL);
  if (result) return result;
  struct {
    bsm_cu_address out;
  } parameter = {put(d, NULL, 4)};
  int seen = 0;
  bsm_cu_function f = find_kernel(d, module, "sm");
  assert_cu(launch(d, f, 1, 1, 0, &parameter));
  fetch(d, &seen, parameter.out, 4);
  const char *digits = strchr(architecture, '_') + 1;
  assert_int_equal(seen, 10 * strtol(digits, NULL, 10));
  drop(d, parameter.out);
  assert_cu(d->driver.module_unload(module));
  return BSM_CU_SUCCESS;
}

static void loads_code_of_its_architecture(void **state) {
  (void)state;
  device d;
  device_open(&d);
  assert_cu(loads(&d, "sm_90"));
  assert_cu(loads(&d, "sm_90a"));
  assert_cu(loads(&d, "compute_75"));
  assert_int_equal(loads(&d, "sm_80"), BSM_CU_NO_BINARY_FOR_GPU);
  assert_int_equal(loads(&d, "sm_100"), BSM_CU_NO_BINARY_FOR_GPU);
  assert_int_equal(loads(&d, "compute_100"), BSM_CU_INVALID_PTX);
  d.standin.mode(0, 0, 89);
  assert_cu(loads(&d, "sm_86"));
  assert_int_equal(loads(&d, "sm_90a"), BSM_CU_NO_BINARY_FOR_GPU);
  device_close(&d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(says_what_is_wrong),
      cmocka_unit_test(runs_again_in_a_new_context),
      cmocka_unit_test(refuses_launches),
      cmocka_unit_test(keeps_the_host_out),
      cmocka_unit_test(gives_the_compilers_errors),
      cmocka_unit_test(loads_code_of_its_architecture),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
