/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded into the programs of the GPU suite before all else (LD_PRELOAD): keeps
 * the context of the first GPU that the process sees. An engine retains it
 * while it is there; so a program that has one engine after the other would
 * make and destroy a context for each, in which the driver lets all other
 * processes wait.
 */
#include <dlfcn.h>
#include <stddef.h>

__attribute__((constructor)) static void keep_gpu(void) {
  void *const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!driver) return;
  int (*init)(unsigned flags), (*get)(int *device, int index);
  int (*retain)(void **context, int device);
  *(void **)&init = dlsym(driver, "cuInit");
  *(void **)&get = dlsym(driver, "cuDeviceGet");
  *(void **)&retain = dlsym(driver, "cuDevicePrimaryCtxRetain");
  int device = 0;
  void *context = NULL;
  /* What fails here fails in the program too, which says so. */
  if (init && get && retain && !init(0) && !get(&device, 0)) {
    (void)retain(&context, device);
  }
}
