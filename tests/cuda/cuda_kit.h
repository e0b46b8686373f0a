/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in of the driver, for the tests of this folder. */
#ifndef TESTS_CUDA_CUDA_KIT_H_
#define TESTS_CUDA_CUDA_KIT_H_

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <string.h>

#include "backend/cuda/cuda_internal.h"
#include "cuda/standin_cuda.h"

typedef struct standin {
  void *library;
  standin_reset_fn *reset;
  standin_fail_fn *fail_call;
  standin_report_fn *report;
  standin_launches_fn *launches;
  standin_mode_fn *mode;
} standin;

/* Opens the stand-in, as a machine with `devices` GPUs. */
static inline standin standin_open(int devices) {
  standin s = {.library = dlopen(BSM_STANDIN_CUDA, RTLD_NOW | RTLD_LOCAL)};
  assert_non_null(s.library);
  void *f[] = {
      dlsym(s.library, "standin_reset"), dlsym(s.library, "standin_fail"),
      dlsym(s.library, "standin_get_report"),
      dlsym(s.library, "standin_launches"), dlsym(s.library, "standin_mode")};
  memcpy(&s.reset, &f[0], sizeof(f[0]));
  memcpy(&s.fail_call, &f[1], sizeof(f[1]));
  memcpy(&s.report, &f[2], sizeof(f[2]));
  memcpy(&s.launches, &f[3], sizeof(f[3]));
  memcpy(&s.mode, &f[4], sizeof(f[4]));
  s.reset(devices, 13000, (size_t)1 << 30);
  return s;
}

/* Misuses of the driver, which are printed, and all that was not released. */
static inline int standin_count_left(const standin *s) {
  standin_report r;
  bsm_cuda_let_go(-1);
  s->report(&r);
  if (r.misuses) print_message("%s\n", r.last_misuse);
  return r.misuses + r.contexts + r.streams + r.events + r.modules +
         r.device_blocks + r.host_blocks;
}

static inline void assert_fails_with(bsm_status status, bsm_code code,
                                     const char *text) {
  assert_non_null(status);
  if (bsm_status_code(status) != code ||
      !strstr(bsm_status_message(status), text)) {
    fail_msg("%s: %s", bsm_code_name(bsm_status_code(status)),
             bsm_status_message(status));
  }
  bsm_status_free(status);
}

#define assert_ok(expr)                               \
  do {                                                \
    bsm_status ok_ = (expr);                          \
    if (ok_) fail_msg("%s", bsm_status_message(ok_)); \
  } while (0)

#endif /* TESTS_CUDA_CUDA_KIT_H_ */
