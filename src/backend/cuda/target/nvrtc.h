/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's run-time compiler of CUDA C++, opened when an engine is built. It
 * comes with the CUDA toolkit, or as a wheel of PyPI (nvidia-cuda-nvrtc); no
 * GPU and no driver are needed to compile. */
#ifndef BSM_BACKEND_CUDA_TARGET_NVRTC_H_
#define BSM_BACKEND_CUDA_TARGET_NVRTC_H_

#include "base/arena.h"
#include "base/strings.h"

typedef struct bsm_nvrtc bsm_nvrtc;

/* Opens the library in `arena`; close it in any case that *out is set. `path`:
 * the library's file, or NULL: where the system finds it, then the toolkit
 * (CUDA_HOME, CUDA_PATH, /usr/local/cuda), then wheels in Python's folders.
 * BSM_NOT_FOUND: with what was tried and how to install it. */
BSM_NODISCARD bsm_status bsm_nvrtc_open(const char *path, bsm_arena *arena,
                                        bsm_nvrtc **out);
/* NULL is allowed. */
void bsm_nvrtc_close(bsm_nvrtc *nvrtc);
/* 1000 major + 10 minor. */
int bsm_nvrtc_version(const bsm_nvrtc *nvrtc);
/* Whether it compiles for compute capability `sm`, such as 90. */
bool bsm_nvrtc_supports(const bsm_nvrtc *nvrtc, int sm);

typedef struct bsm_nvrtc_source {
  const char *name; /* for messages: "gemm.cu" */
  const char *text;
  const char *const *header_names; /* what it can include */
  const char *const *headers;
  int header_count;
  const char *const *options; /* "-DK=64", ... */
  int option_count;
} bsm_nvrtc_source;

/* For an architecture: machine code of a real one, "sm_90a", and PTX of any,
 * "compute_90" too, whose text ends with a NUL that counts. What is not asked
 * for is NULL. In `arena`. Threads may compile at once.
 * BSM_INTERNAL: the source has errors; the message has the compiler's log. */
BSM_NODISCARD bsm_status bsm_nvrtc_compile(const bsm_nvrtc *nvrtc,
                                           const bsm_nvrtc_source *source,
                                           const char *architecture,
                                           bsm_arena *arena, bsm_str *code,
                                           bsm_str *ptx);

#endif /* BSM_BACKEND_CUDA_TARGET_NVRTC_H_ */
