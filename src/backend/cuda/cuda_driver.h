/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA driver, opened when it is needed: one binary serves machines with
 * and without a GPU.
 *
 * A driver is a table of functions; it is read only once it is open, so threads
 * share it. Every call's result goes through bsm_cuda_status, which names the
 * call, the driver's own name of the error, and what a user can do. */
#ifndef BSM_BACKEND_CUDA_DRIVER_H_
#define BSM_BACKEND_CUDA_DRIVER_H_

#include <stdbool.h>

#include "backend/cuda/cuda_types.h"
#include "base/arena.h"

/* The least driver: that of CUDA 12.0, numbered as the driver does. */
#define BSM_CUDA_MIN_VERSION 12000

typedef struct bsm_cuda_driver {
#define FUNCTION(member, symbol, parameters) bsm_cu_result(*member) parameters;
#include "backend/cuda/cuda_driver_functions.inl"
#undef FUNCTION
  void *library;
  int version; /* of CUDA that the driver supports: 1000 major + 10 minor */
} bsm_cuda_driver;

/* Opens and initialises the driver; `path` NULL: libcuda.so.1 where the system
 * finds it. Close it in any case.
 * BSM_NOT_FOUND: no driver, or no device. BSM_VERSION: the driver is too old.
 * The messages say what to install. */
BSM_NODISCARD bsm_status bsm_cuda_driver_open(const char *path,
                                              bsm_cuda_driver *out);
void bsm_cuda_driver_close(bsm_cuda_driver *driver);

/* NULL for success, else a status that names `call`, such as "cuMemAlloc". */
BSM_NODISCARD bsm_status bsm_cuda_status(const bsm_cuda_driver *driver,
                                         bsm_cu_result result,
                                         const char *call);
/* Whether after such an error every further call of the context fails too: the
 * process has to open the device anew. */
bool bsm_cuda_is_sticky(bsm_cu_result result);

#define BSM_TRY_CUDA(driver, member, ...) \
  BSM_TRY(bsm_cuda_status((driver), (driver)->member(__VA_ARGS__), #member))

#endif /* BSM_BACKEND_CUDA_DRIVER_H_ */
