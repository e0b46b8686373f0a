/* SPDX-License-Identifier: Apache-2.0 */
/* Opening the CUDA driver, and its errors. */
#include "backend/cuda/cuda_driver.h"

#include <dlfcn.h>
#include <string.h>

#define DEFAULT_PATH "libcuda.so.1"

/* ---- errors ---- */

typedef struct advice {
  bsm_cu_result result;
  bsm_code code;
  bool sticky; /* the context is lost with it */
  const char *text;
} advice;

static const advice advices[] = {
    {BSM_CU_OUT_OF_MEMORY, BSM_OUT_OF_MEMORY, false,
     "the device's memory is full: end other programs on it, use smaller "
     "shapes, or fewer contexts"},
    {BSM_CU_NOT_INITIALIZED, BSM_DEVICE, false,
     "a process that forks has to open the device after the fork"},
    {BSM_CU_DEINITIALIZED, BSM_DEVICE, false, "the process is ending"},
    {BSM_CU_STUB_LIBRARY, BSM_NOT_FOUND, false,
     "the toolkit's stub of libcuda was opened: install NVIDIA's driver, and "
     "leave the folder of stubs out of the library path"},
    {BSM_CU_DEVICE_UNAVAILABLE, BSM_DEVICE, false,
     "another process has the device for itself (compute mode exclusive)"},
    {BSM_CU_NO_DEVICE, BSM_NOT_FOUND, false,
     "the driver sees no GPU: nvidia-smi and CUDA_VISIBLE_DEVICES tell why"},
    {BSM_CU_INVALID_DEVICE, BSM_NOT_FOUND, false,
     "there is no device of that number"},
    {BSM_CU_INVALID_IMAGE, BSM_CORRUPT, false,
     "the engine's machine code is damaged: compile the model again"},
    {BSM_CU_NO_BINARY_FOR_GPU, BSM_UNSUPPORTED, false,
     "the engine was built for another GPU: compile the model for this one"},
    {BSM_CU_INVALID_PTX, BSM_UNSUPPORTED, false,
     "the engine was built for another GPU: compile the model for this one"},
    {BSM_CU_UNSUPPORTED_PTX_VERSION, BSM_VERSION, false,
     "the engine was built with a CUDA that is newer than this driver: install "
     "a newer driver, or compile the model on this machine"},
    {BSM_CU_ECC_UNCORRECTABLE, BSM_DEVICE, true,
     "the device's memory has an error: restart the process; nvidia-smi -q "
     "tells more"},
    {BSM_CU_OPERATING_SYSTEM, BSM_DEVICE, false,
     "the operating system refused: is the process allowed to use "
     "/dev/nvidia*?"},
    {BSM_CU_ILLEGAL_ADDRESS, BSM_DEVICE, true,
     "a kernel left its memory: is an array that was given to the run freed, "
     "or "
     "too small? The device has to be opened anew by a new process"},
    {BSM_CU_LAUNCH_OUT_OF_RESOURCES, BSM_DEVICE, false,
     "a kernel wants more of the device than it has: compile the model for it"},
    {BSM_CU_LAUNCH_TIMEOUT, BSM_DEVICE, true,
     "a kernel took longer than the system allows on a GPU with a display"},
    {BSM_CU_HARDWARE_STACK_ERROR, BSM_DEVICE, true, "restart the process"},
    {BSM_CU_ILLEGAL_INSTRUCTION, BSM_DEVICE, true, "restart the process"},
    {BSM_CU_MISALIGNED_ADDRESS, BSM_DEVICE, true,
     "is an array that was given to the run aligned to its elements?"},
    {BSM_CU_LAUNCH_FAILED, BSM_DEVICE, true,
     "the device was lost, or a kernel failed on it: restart the process"},
    {BSM_CU_SYSTEM_NOT_READY, BSM_DEVICE, false,
     "the system's NVIDIA services are not running (fabric manager)"},
    {BSM_CU_SYSTEM_DRIVER_MISMATCH, BSM_VERSION, false,
     "the driver's library and its kernel module differ: restart the machine "
     "after an update of the driver"},
    {BSM_CU_COMPAT_NOT_SUPPORTED, BSM_VERSION, false,
     "this GPU's driver is too old for the CUDA compatibility library"},
};

static const advice *advice_of(bsm_cu_result result) {
  for (size_t i = 0; i < sizeof(advices) / sizeof(advices[0]); i++) {
    if (advices[i].result == result) return &advices[i];
  }
  return NULL;
}

bool bsm_cuda_is_sticky(bsm_cu_result result) {
  const advice *a = advice_of(result);
  return a && a->sticky;
}

/* The symbol behind a member of the table, for messages. */
static const char *symbol_of(const char *member) {
#define FUNCTION(name, symbol, parameters) \
  if (strcmp(member, #name) == 0) return symbol;
#include "backend/cuda/cuda_driver_functions.inl"
#undef FUNCTION
  return member;
}

bsm_status bsm_cuda_status(const bsm_cuda_driver *driver, bsm_cu_result result,
                           const char *call) {
  if (result == BSM_CU_SUCCESS) return BSM_OK;
  const char *name = NULL, *text = NULL;
  if (driver->get_error_name) (void)driver->get_error_name(result, &name);
  if (driver->get_error_string) (void)driver->get_error_string(result, &text);
  const advice *a = advice_of(result);
  return BSM_FAIL(a ? a->code : BSM_DEVICE, "%s failed: %s (%d%s%s)%s%s",
                  symbol_of(call), name ? name : "an unknown error", result,
                  text ? ", " : "", text ? text : "", a ? ": " : "",
                  a ? a->text : "");
}

/* ---- opening ---- */

static bsm_status no_driver(const char *path) {
  const char *why = dlerror();
  return BSM_FAIL(BSM_NOT_FOUND,
                  "no NVIDIA driver: %s cannot be opened (%s); engines for "
                  "cuda need the driver of CUDA %d.%d or newer, and nothing "
                  "else",
                  path, why ? why : "no reason was given",
                  BSM_CUDA_MIN_VERSION / 1000,
                  BSM_CUDA_MIN_VERSION % 1000 / 10);
}

static bsm_status too_old(const bsm_cuda_driver *driver, const char *missing) {
  return BSM_FAIL(BSM_VERSION,
                  "the NVIDIA driver supports CUDA %d.%d%s%s; engines for cuda "
                  "need %d.%d: install a newer driver",
                  driver->version / 1000, driver->version % 1000 / 10,
                  missing ? " and lacks " : "", missing ? missing : "",
                  BSM_CUDA_MIN_VERSION / 1000,
                  BSM_CUDA_MIN_VERSION % 1000 / 10);
}

/* A function from its address: ISO C has no conversion between the two, POSIX
 * says that their representation is the same. */
#define LOAD(driver, member, symbol)                      \
  do {                                                    \
    void *address = dlsym((driver)->library, (symbol));   \
    memcpy(&(driver)->member, &address, sizeof(address)); \
  } while (0)

static bsm_status load_functions(bsm_cuda_driver *driver) {
  const char *missing = NULL;
#define FUNCTION(member, symbol, parameters) \
  LOAD(driver, member, symbol);              \
  if (!driver->member && !missing) missing = symbol;
#include "backend/cuda/cuda_driver_functions.inl"
#undef FUNCTION
  if (driver->driver_get_version) {
    (void)driver->driver_get_version(&driver->version);
  }
  if (missing || driver->version < BSM_CUDA_MIN_VERSION) {
    return too_old(driver, missing);
  }
  return BSM_OK;
}

bsm_status bsm_cuda_driver_open(const char *path, bsm_cuda_driver *out) {
  *out = (bsm_cuda_driver){0};
  if (!path) path = DEFAULT_PATH;
  out->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!out->library) return no_driver(path);
  BSM_TRY(load_functions(out));
  BSM_TRY_CUDA(out, init, 0);
  return BSM_OK;
}

void bsm_cuda_driver_close(bsm_cuda_driver *driver) {
  if (driver->library) dlclose(driver->library);
  *driver = (bsm_cuda_driver){0};
}
