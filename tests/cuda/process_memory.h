/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory of GPUs this process has, others' not counted: NVIDIA's
 * library of management tells it, which comes with the driver. */
#ifndef TESTS_CUDA_PROCESS_MEMORY_H_
#define TESTS_CUDA_PROCESS_MEMORY_H_

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { PROCESS_MEMORY_MOST = 1024 }; /* processes on one GPU */

typedef struct process_memory_row {
  unsigned pid;
  unsigned long long bytes;
  unsigned instances[2];
} process_memory_row;

typedef struct process_memory_library {
  int (*init)(void);
  int (*count)(unsigned *count);
  int (*device)(unsigned index, void **device);
  int (*processes)(void *device, unsigned *count, process_memory_row *rows);
} process_memory_library;

static inline bool process_memory_open(process_memory_library *out) {
  static const char *const names[] = {
      "nvmlInit_v2", "nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2",
      "nvmlDeviceGetComputeRunningProcesses_v3"};
  void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  void *found[4];
  for (int i = 0; i < 4; i++) {
    found[i] = library ? dlsym(library, names[i]) : NULL;
    if (!found[i]) return false;
  }
  memcpy(&out->init, &found[0], sizeof(found[0]));
  memcpy(&out->count, &found[1], sizeof(found[1]));
  memcpy(&out->device, &found[2], sizeof(found[2]));
  memcpy(&out->processes, &found[3], sizeof(found[3]));
  return out->init() == 0;
}

/* In bytes, of all GPUs; 0: nobody knows. */
static inline unsigned long long process_memory(void) {
  static process_memory_library nvml;
  static bool is_open, is_missing;
  static process_memory_row rows[PROCESS_MEMORY_MOST];
  unsigned long long bytes = 0;
  unsigned gpus = 0;
  if (!is_open && !is_missing) {
    is_open = process_memory_open(&nvml);
    is_missing = !is_open;
  }
  if (!is_open || nvml.count(&gpus)) return 0;
  for (unsigned g = 0; g < gpus; g++) {
    void *device;
    unsigned count = PROCESS_MEMORY_MOST;
    if (nvml.device(g, &device) || nvml.processes(device, &count, rows)) {
      return 0;
    }
    for (unsigned i = 0; i < count; i++) {
      const bool is_known = rows[i].bytes != ~0ull;
      if (rows[i].pid == (unsigned)getpid() && is_known) bytes += rows[i].bytes;
    }
  }
  return bytes;
}

#endif /* TESTS_CUDA_PROCESS_MEMORY_H_ */
