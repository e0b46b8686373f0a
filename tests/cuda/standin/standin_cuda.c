/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for NVIDIA's driver: a library with the functions of
 * cuda_driver_functions.inl that keeps books, and runs kernels on the host.
 *
 * Every handle is an entry of a table, so that a dead, foreign or doubly freed
 * one is seen. Any call can be made to fail. This file has the books, what
 * tests see, devices and contexts. */
#define _GNU_SOURCE
#include "cuda/standin_cuda.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/standin/standin.h"

#define MAX_DEPTH 16

standin_state standin = {.device_count = 1,
                         .driver_version = 13000,
                         .sm = 90,
                         .memory_limit = (size_t)1 << 30};
object objects[MAX_OBJECTS];

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t serials;
static __thread object *current[MAX_DEPTH];
static __thread int depth;

/* ---- books ---- */

void standin_lock(void) {
  pthread_mutex_lock(&mutex);
}

void standin_unlock(void) {
  pthread_mutex_unlock(&mutex);
}

static void lose_all(void) {
  for (int i = 0; i < MAX_OBJECTS; i++) {
    if (objects[i].kind == CONTEXT) objects[i].error = standin.fail_result;
  }
}

int standin_begin(void) {
  standin.report.calls++;
  if (standin.fail_at && --standin.fail_at == 0) {
    if (standin.fail_loses) lose_all();
    return standin.fail_result;
  }
  return standin.initialized ? BSM_CU_SUCCESS : BSM_CU_NOT_INITIALIZED;
}

int misuse(const char *format, ...) {
  va_list args;
  va_start(args, format);
  standin.report.misuses++;
  vsnprintf(standin.report.last_misuse, sizeof(standin.report.last_misuse),
            format, args);
  va_end(args);
  return BSM_CU_INVALID_VALUE;
}

void lose(object *context, int result, const char *text) {
  snprintf(standin.report.last_fault, sizeof(standin.report.last_fault), "%s",
           text);
  fprintf(stderr, "stand-in: %s\n", text);
  if (!context->error) context->error = result;
}

static int *count_of(kind k) {
  switch (k) {
    case CONTEXT:
      return &standin.report.contexts;
    case STREAM:
      return &standin.report.streams;
    case EVENT:
      return &standin.report.events;
    case MODULE:
      return &standin.report.modules;
    case POOL:
      return &standin.report.pools;
    case GRAPH:
      return &standin.report.graphs;
    case EXECUTABLE:
      return &standin.report.executables;
    default:
      return NULL;
  }
}

object *make(kind k, object *owner) {
  for (int i = 0; i < MAX_OBJECTS; i++) {
    if (objects[i].kind != NONE) continue;
    objects[i] = (object){.kind = k, .owner = owner, .serial = ++serials};
    if (count_of(k)) ++*count_of(k);
    return &objects[i];
  }
  return NULL;
}

bool is(const void *handle, kind k) {
  const object *o = handle;
  return o >= objects && o < objects + MAX_OBJECTS && o->kind == k;
}

int destroy(void *handle, kind k) {
  if (!is(handle, k)) return misuse("a dead handle of kind %d is destroyed", k);
  object *o = handle;
  if (count_of(k)) --*count_of(k);
  empty(&o->queue);
  free_wiring(o);
  close_module(o);
  o->kind = NONE;
  return BSM_CU_SUCCESS;
}

object *here(void) {
  return depth ? current[depth - 1] : NULL;
}

/* ---- for the tests ---- */

EXPORT standin_reset_fn standin_reset;
EXPORT standin_fail_fn standin_fail;
EXPORT standin_lose_fn standin_lose;
EXPORT standin_report_fn standin_get_report;
EXPORT standin_launches_fn standin_launches;
EXPORT standin_mode_fn standin_mode;

static uint64_t number_in(const char *variable) {
  const char *text = getenv(variable);
  return text ? strtoull(text, NULL, 10) : 0;
}

static void forget_objects(void) {
  for (int i = 0; i < MAX_OBJECTS; i++) {
    empty(&objects[i].queue);
    free_wiring(&objects[i]);
    close_module(&objects[i]);
    objects[i] = (object){0};
  }
}

void standin_reset(int devices, int version, size_t memory) {
  standin_lock();
  forget_objects();
  memory_reset();
  forget_captures();
  standin = (standin_state){.device_count = devices,
                            .driver_version = version,
                            .sm = 90,
                            .memory_limit = memory,
                            .delay = number_in("BSM_STANDIN_DELAY"),
                            .order = number_in("BSM_STANDIN_ORDER")};
  standin.random = standin.delay;
  depth = 0;
  standin_unlock();
}

void standin_fail(uint64_t n, int result) {
  standin.fail_at = n;
  standin.fail_result = result;
  standin.fail_loses = false;
}

void standin_lose(uint64_t n, int result) {
  standin_fail(n, result);
  standin.fail_loses = true;
}

void standin_mode(uint64_t delay, uint64_t order, int sm) {
  standin_lock();
  drain_all();
  standin.delay = standin.random = delay;
  standin.order = order;
  standin.sm = sm;
  standin_unlock();
}

void standin_get_report(standin_report *out) {
  standin_lock();
  *out = standin.report;
  standin_unlock();
}

int standin_launches(standin_launch *out, int room) {
  const int kept =
      standin.launch_count < MAX_LAUNCHES ? standin.launch_count : MAX_LAUNCHES;
  const int n = kept < room ? kept : room;
  memcpy(out, standin.launches, (size_t)n * sizeof(*out));
  return standin.launch_count;
}

__attribute__((destructor)) static void leave(void) {
  forget_objects();
  memory_free();
  grid_free();
}

/* ---- the driver ---- */

EXPORT int cuInit(unsigned flags);
int cuInit(unsigned flags) {
  standin_lock();
  int result_ = standin_begin();
  if (result_ && result_ != BSM_CU_NOT_INITIALIZED) goto end;
  result_ = BSM_CU_SUCCESS;
  NEED(!flags);
  if (standin.device_count == 0) {
    result_ = BSM_CU_NO_DEVICE;
    goto end;
  }
  standin.initialized = true;
  END();
}

EXPORT int cuDriverGetVersion(int *version);
int cuDriverGetVersion(int *version) {
  *version = standin.driver_version;
  return BSM_CU_SUCCESS;
}

EXPORT int cuGetErrorName(int error, const char **text);
int cuGetErrorName(int error, const char **text) {
  *text = error == BSM_CU_OUT_OF_MEMORY     ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == BSM_CU_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : error == BSM_CU_LAUNCH_FAILED   ? "CUDA_ERROR_LAUNCH_FAILED"
                                            : "CUDA_ERROR_STANDIN";
  return BSM_CU_SUCCESS;
}

EXPORT int cuGetErrorString(int error, const char **text);
int cuGetErrorString(int error, const char **text) {
  (void)error;
  *text = "the stand-in was told to fail";
  return BSM_CU_SUCCESS;
}

EXPORT int cuDeviceGetCount(int *count);
int cuDeviceGetCount(int *count) {
  BEGIN();
  *count = standin.device_count;
  END();
}

EXPORT int cuDeviceGet(int *device, int ordinal);
int cuDeviceGet(int *device, int ordinal) {
  BEGIN();
  if (ordinal < 0 || ordinal >= standin.device_count) {
    result_ = BSM_CU_INVALID_DEVICE;
    goto end;
  }
  *device = ordinal;
  END();
}

EXPORT int cuDeviceGetName(char *name, int size, int device);
int cuDeviceGetName(char *name, int size, int device) {
  BEGIN();
  snprintf(name, (size_t)size, "Stand-in %d", device);
  END();
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  BEGIN();
  NEED(device >= 0 && device < standin.device_count);
  switch (attribute) {
    case BSM_CU_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 132;
      break;
    case BSM_CU_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = standin.sm / 10;
      break;
    case BSM_CU_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = standin.sm % 10;
      break;
    case BSM_CU_ATTRIBUTE_L2_CACHE_SIZE:
      *value = 50 << 20;
      break;
    case BSM_CU_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
      *value = 48 << 10;
      break;
    case BSM_CU_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      *value = 227 << 10;
      break;
    case BSM_CU_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
      *value = 1;
      break;
    case BSM_CU_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS:
      *value = 0;
      break;
    default:
      result_ = misuse("attribute %d", attribute);
  }
  END();
}

EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device);
int cuDeviceTotalMem_v2(size_t *bytes, int device) {
  BEGIN();
  NEED(device >= 0 && device < standin.device_count);
  *bytes = standin.memory_limit;
  END();
}

EXPORT int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRetain(void **context, int device) {
  BEGIN();
  NEED(device >= 0 && device < standin.device_count);
  object *o = NULL;
  for (int i = 0; i < MAX_OBJECTS; i++) {
    if (objects[i].kind == CONTEXT && objects[i].device == device) {
      o = &objects[i];
    }
  }
  if (!o) o = make(CONTEXT, NULL);
  NEED(o);
  o->device = device;
  o->retained++;
  *context = o;
  END();
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int device);
int cuDevicePrimaryCtxRelease_v2(int device) {
  BEGIN();
  for (int i = 0; i < MAX_OBJECTS; i++) {
    if (objects[i].kind != CONTEXT || objects[i].device != device) continue;
    if (--objects[i].retained == 0) {
      drain_all();
      result_ = destroy(&objects[i], CONTEXT);
    }
    goto end;
  }
  result_ = misuse("a context that nobody retained is released");
  END();
}

EXPORT int cuCtxPushCurrent_v2(void *context);
int cuCtxPushCurrent_v2(void *context) {
  BEGIN();
  NEED(is(context, CONTEXT));
  NEED(depth < MAX_DEPTH);
  current[depth++] = context;
  END();
}

/* It is not made to fail, and not counted: nobody could make up for it. */
EXPORT int cuCtxPopCurrent_v2(void **context);
int cuCtxPopCurrent_v2(void **context) {
  standin_lock();
  int result_ = BSM_CU_SUCCESS;
  NEED(depth > 0);
  depth--;
  if (context) *context = current[depth];
  END();
}
