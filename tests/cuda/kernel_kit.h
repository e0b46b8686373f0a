/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels in tests: compiled by the stand-in of NVRTC, run by that of the
 * driver. Every function fails the test instead of giving a status. */
#ifndef TESTS_CUDA_KERNEL_KIT_H_
#define TESTS_CUDA_KERNEL_KIT_H_

#include "backend/cuda/target/nvrtc.h"
#include "cuda/cuda_kit.h"

typedef struct device {
  standin standin;
  bsm_cuda_driver driver;
  bsm_cu_context context;
  bsm_cu_stream stream;
  bsm_arena arena;
  bsm_nvrtc *nvrtc;
} device;

/* One device of compute capability 9.0, its context current. Skips the test
 * where no C++ compiler is. */
void device_open(device *d);
/* Nothing may be alive but `d`, and nothing done wrong. */
void device_close(device *d);

/* A file of src/backend/cuda/kernels, in the arena. */
const char *kernel_file(device *d, const char *name);
/* tests/cuda/emulation_kernels.cu */
const char *test_kernels(device *d);
/* Compiles `text`, with all headers of the kernels; the options' last is NULL,
 * or `options` is. */
BSM_NODISCARD bsm_status try_compile(device *d, const char *name,
                                     const char *text,
                                     const char *const *options,
                                     const char *architecture, bsm_str *code);
bsm_cu_module load_kernels(device *d, const char *name, const char *text,
                           const char *const *options);
bsm_cu_function find_kernel(device *d, bsm_cu_module module, const char *name);

/* Memory of the device with `bytes` of `from`, or with what new memory has. */
bsm_cu_address put(device *d, const void *from, size_t bytes);
void fetch(device *d, void *to, bsm_cu_address from, size_t bytes);
void drop(device *d, bsm_cu_address address);

/* A launch of one dimension; more are launched by hand. */
bsm_cu_result launch(device *d, bsm_cu_function function, unsigned blocks,
                     unsigned threads, unsigned shared_bytes, void *parameter);
bsm_cu_result synchronize(device *d);
standin_report report_of(const device *d);

#define assert_cu(result) assert_int_equal((result), BSM_CU_SUCCESS)

#endif /* TESTS_CUDA_KERNEL_KIT_H_ */
