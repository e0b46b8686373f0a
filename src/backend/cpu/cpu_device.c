/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU as a device: memory, streams, events, and the checks common to all
 * steps. */
#include "backend/cpu/cpu_device.h"

#include <string.h>

#include "aten/tensor.h"
#include "backend/cpu/cpu_step.h"
#include "backend/cpu/kernels/kernel_isa.h"
#include "base/allocate.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/isa.h"
#include "base/thread_pool.h"

_Static_assert(BSM_K_ISA_AVX2 == BSM_ISA_AVX2, "the ISA bits of the kernels");
_Static_assert(BSM_K_ISA_AVX512 == BSM_ISA_AVX512, "as above");

typedef struct cpu_device {
  bsm_device base;
  const bsm_allocator *allocator;
} cpu_device;

typedef struct cpu_event {
  bsm_event base;
  const bsm_allocator *allocator;
  double seconds; /* of the host's clock */
} cpu_event;

/* ---- devices and memory ---- */

static bsm_status cpu_open(const bsm_device_options *options,
                           bsm_device **out) {
  *out = NULL;
  if (options->index != 0) {
    return BSM_FAIL(BSM_NOT_FOUND, "there is no CPU device %d, only 0",
                    (int)options->index);
  }
  cpu_device *device =
      bsm_allocate(options->allocator, sizeof(*device), _Alignof(cpu_device));
  BSM_TRY_ALLOC(device);
  *device = (cpu_device){{&bsm_cpu_device_ops}, options->allocator};
  *out = &device->base;
  return BSM_OK;
}

static void cpu_close(bsm_device *device) {
  if (device) bsm_deallocate(((cpu_device *)device)->allocator, device);
}

static bsm_status cpu_allocate(bsm_device *device, const bsm_allocator *host,
                               size_t bytes, size_t alignment, void **out) {
  (void)device;
  *out = bsm_allocate_large(host, bytes ? bytes : 1, alignment);
  BSM_TRY_ALLOC(*out);
  return BSM_OK;
}

static void cpu_release(bsm_device *device, const bsm_allocator *host,
                        void *memory) {
  (void)device;
  bsm_deallocate(host, memory);
}

/* ---- streams ---- */

static bsm_status cpu_stream_create(bsm_device *device,
                                    const bsm_stream_options *options,
                                    bsm_stream **out) {
  bsm_cpu_stream *s =
      bsm_allocate(options->allocator, sizeof(*s), _Alignof(bsm_cpu_stream));
  *out = NULL;
  BSM_TRY_ALLOC(s);
  *s = (bsm_cpu_stream){
      .base = {device},
      .allocator = options->allocator,
      .pool = options->pool,
      .isa = options->isa == BSM_ISA_DETECT ? bsm_isa_detect() : options->isa,
      .every_thread = options->every_thread};
  *out = &s->base;
  return BSM_OK;
}

static void cpu_stream_destroy(bsm_stream *stream) {
  if (stream) bsm_deallocate(((bsm_cpu_stream *)stream)->allocator, stream);
}

static bsm_status cpu_synchronize(bsm_stream *stream) {
  (void)stream;
  return BSM_OK;
}

static bsm_status cpu_copy(bsm_stream *stream, void *to, const void *from,
                           size_t bytes) {
  (void)stream;
  if (bytes) memcpy(to, from, bytes);
  return BSM_OK;
}

static bsm_status cpu_fill_zero(bsm_stream *stream, void *to, size_t bytes) {
  (void)stream;
  if (bytes) memset(to, 0, bytes);
  return BSM_OK;
}

/* ---- events ---- */

static bsm_status cpu_event_create(bsm_stream *stream, bsm_event **out) {
  const bsm_allocator *allocator = ((bsm_cpu_stream *)stream)->allocator;
  cpu_event *event =
      bsm_allocate(allocator, sizeof(*event), _Alignof(cpu_event));
  *out = NULL;
  BSM_TRY_ALLOC(event);
  *event = (cpu_event){{stream->device}, allocator, 0};
  *out = &event->base;
  return BSM_OK;
}

static void cpu_event_destroy(bsm_event *event) {
  if (event) bsm_deallocate(((cpu_event *)event)->allocator, event);
}

static bsm_status cpu_event_record(bsm_stream *stream, bsm_event *event) {
  (void)stream;
  ((cpu_event *)event)->seconds = bsm_clock_seconds();
  return BSM_OK;
}

static bsm_status cpu_event_wait(bsm_event *event) {
  (void)event;
  return BSM_OK;
}

static double cpu_event_seconds(const bsm_event *from, const bsm_event *to) {
  return ((const cpu_event *)to)->seconds - ((const cpu_event *)from)->seconds;
}

/* ---- steps ---- */

const bsm_cpu_kind *bsm_cpu_kind_of(bsm_step_kind kind) {
  switch (kind) {
#define X(name, number, text, member) \
  case BSM_STEP_##name:               \
    return &bsm_cpu_##name;
    BSM_BACKEND_STEP_KINDS(X)
#undef X
    default:
      return NULL;
  }
}

/* A copy without conversion moves elements of any dtype. */
static bool only_moves(const bsm_plan *plan, const bsm_plan_step *step) {
  return step->kind == BSM_STEP_COPY && step->input_count == 1 &&
         step->output_count == 1 &&
         bsm_cpu_input(plan, step, 0)->dtype ==
             bsm_cpu_output(plan, step, 0)->dtype;
}

/* What every driver relies on: known dtypes, sizes whose products do not
 * overflow, strides that are not negative. */
static bsm_status check_tensor(const bsm_plan_tensor *t, bool any_dtype) {
  if (bsm_dtype_size(t->dtype) == 0 ||
      (!any_dtype && !bsm_dtype_is_floating(t->dtype) &&
       !bsm_dtype_is_integral(t->dtype, true))) {
    return BSM_FAIL(BSM_CORRUPT, "dtype %d cannot be computed with",
                    (int)t->dtype);
  }
  if (t->dims.rank < 0 || t->dims.rank > BSM_MAX_RANK) {
    return BSM_FAIL(BSM_CORRUPT, "rank %d", t->dims.rank);
  }
  int64_t n = 1;
  for (int32_t i = 0; i < t->dims.rank; i++) {
    const int64_t d = t->dims.d[i];
    if (d < 0 || t->strides[i] < 0 || d > BSM_CPU_MAX_ELEMENTS ||
        !bsm_i64_mul(n, d > 0 ? d : 1, &n) || n > BSM_CPU_MAX_ELEMENTS) {
      return BSM_FAIL(BSM_CORRUPT, "sizes %s are too large",
                      bsm_dims_str(t->dims));
    }
  }
  return BSM_OK;
}

/* An output has a place of its own for every element, so that threads never
 * write to the same one: taken by growing stride, each dimension steps over all
 * that the smaller ones reach. check_tensor has bounded the products. */
static bsm_status check_output(const bsm_plan_tensor *t) {
  if (t->place != BSM_PLACE_OUTPUT && t->place != BSM_PLACE_WORKSPACE) {
    return BSM_FAIL(BSM_CORRUPT, "output '%s' lies in read-only memory",
                    t->name ? t->name : "");
  }
  bool taken[BSM_MAX_RANK] = {false};
  int64_t reach = 0; /* of the dimensions taken, in elements */
  for (int32_t n = 0; n < t->dims.rank; n++) {
    int32_t next = -1;
    for (int32_t i = 0; i < t->dims.rank; i++) {
      if (t->dims.d[i] == 0) return BSM_OK;
      if (!taken[i] && t->dims.d[i] > 1 &&
          (next < 0 || t->strides[i] < t->strides[next])) {
        next = i;
      }
    }
    if (next < 0) break;
    int64_t span;
    if (t->strides[next] <= reach) {
      return BSM_FAIL(BSM_CORRUPT, "elements of the output share a place");
    }
    if (!bsm_i64_mul(t->dims.d[next] - 1, t->strides[next], &span) ||
        !bsm_i64_add(reach, span, &reach)) {
      return BSM_FAIL(BSM_CORRUPT, "strides of the output are too large");
    }
    taken[next] = true;
  }
  return BSM_OK;
}

static bsm_status cpu_check(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_cpu_kind *kind = bsm_cpu_kind_of(step->kind);
  if (!kind) return BSM_FAIL(BSM_CORRUPT, "step kind %d", (int)step->kind);
  if (!step->params || step->input_count > BSM_STEP_MAX_TENSORS ||
      step->output_count > BSM_STEP_MAX_TENSORS || step->output_count == 0) {
    return BSM_FAIL(BSM_CORRUPT, "a step without parameters or outputs");
  }
  const bool any = only_moves(plan, step);
  for (uint32_t i = 0; i < step->input_count; i++) {
    BSM_TRY_NOTE(check_tensor(bsm_cpu_input(plan, step, i), any), "input %u",
                 i);
  }
  for (uint32_t i = 0; i < step->output_count; i++) {
    BSM_TRY_NOTE(check_tensor(bsm_cpu_output(plan, step, i), any), "output %u",
                 i);
    BSM_TRY_NOTE(check_output(bsm_cpu_output(plan, step, i)), "output %u", i);
  }
  return kind->check(plan, step);
}

static bsm_status check_noted(const bsm_plan *plan, const bsm_plan_step *step) {
  BSM_TRY_NOTE(cpu_check(plan, step), "in %s step '%s'",
               bsm_step_kind_name(step->kind) ? bsm_step_kind_name(step->kind)
                                              : "an unknown",
               step->name ? step->name : "");
  return BSM_OK;
}

static bsm_status cpu_prepare(bsm_stream *stream, const bsm_plan *plan,
                              const bsm_plan_step *step,
                              const void *const *weights, bsm_arena *arena,
                              bsm_prepared_step *out) {
  const bsm_cpu_kind *kind = bsm_cpu_kind_of(step->kind);
  const bsm_cpu_stream *s = (const bsm_cpu_stream *)stream;
  const int threads = bsm_thread_pool_size(s->pool);
  if (!kind) return BSM_FAIL(BSM_CORRUPT, "step kind %d", (int)step->kind);
  *out = (bsm_prepared_step){.enqueue = kind->run, .plan = plan, .step = step};
  const bsm_cpu_prepare prepare = {
      .plan = plan,
      .step = step,
      .weights = weights,
      .isa = s->isa,
      .threads = s->every_thread ? threads
                                 : bsm_cpu_useful_threads(plan, step, threads),
      .arena = arena};
  return kind->prepare(&prepare, out);
}

/* The instruction set of "cpu:ISA,..." when the stream does not have it. */
static const char *cpu_lacks(const bsm_stream *stream, const char *target) {
  const char *colon = strchr(target, ':');
  char name[16] = {0};
  uint32_t isa;
  if (!colon) return NULL;
  const size_t length = strcspn(colon + 1, ",");
  if (length >= sizeof(name)) return NULL;
  memcpy(name, colon + 1, length);
  if (!bsm_isa_parse(name, &isa)) return NULL;
  const bool has = (isa & ~((const bsm_cpu_stream *)stream)->isa) == 0;
  return has ? NULL : bsm_isa_name(isa);
}

static const char *cpu_describe(const bsm_prepared_step *prepared) {
  return ((const bsm_cpu_impl *)prepared->impl)->description;
}

const bsm_device_ops bsm_cpu_device_ops = {
    .version = BSM_DEVICE_VERSION,
    .name = "cpu",
    .host_accessible = true,
    .open = cpu_open,
    .close = cpu_close,
    .allocate = cpu_allocate,
    .release = cpu_release,
    .stream_create = cpu_stream_create,
    .stream_destroy = cpu_stream_destroy,
    .synchronize = cpu_synchronize,
    .upload = cpu_copy,
    .download = cpu_copy,
    .copy = cpu_copy,
    .fill_zero = cpu_fill_zero,
    .event_create = cpu_event_create,
    .event_destroy = cpu_event_destroy,
    .event_record = cpu_event_record,
    .event_wait = cpu_event_wait,
    .event_seconds = cpu_event_seconds,
    .check = check_noted,
    .prepare = cpu_prepare,
    .lacks = cpu_lacks,
    .describe = cpu_describe,
};
