/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU as a device: memory, streams, events, and the checks common to all
 * steps. */
#include "backend/cpu/cpu_device.h"

#include <string.h>

#include "aten/tensor.h"
#include "backend/cpu/cpu_half.h"
#include "backend/cpu/cpu_linked.h"
#include "backend/cpu/cpu_strided.h"
#include "backend/cpu/cpu_typed_gemm.h"
#include "backend/cpu/kernels/kernel_isa.h"
#include "base/allocate.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/isa.h"
#include "base/linked.h"
#include "base/thread_pool.h"

_Static_assert(BSM_K_ISA_AVX2 == BSM_ISA_AVX2, "the ISA bits of the kernels");
_Static_assert(BSM_K_ISA_AVX512 == BSM_ISA_AVX512, "as above");
_Static_assert(BSM_K_ISA_AVX512_VNNI == BSM_ISA_AVX512_VNNI, "as above");
_Static_assert(BSM_K_ISA_AVX512_BF16 == BSM_ISA_AVX512_BF16, "as above");
_Static_assert(BSM_K_ISA_AVX_VNNI == BSM_ISA_AVX_VNNI, "as above");
_Static_assert(BSM_K_ISA_NEON == BSM_ISA_NEON, "as above");
_Static_assert(BSM_K_ISA_I8MM == BSM_ISA_I8MM, "as above");
_Static_assert(BSM_K_ISA_AMX == BSM_ISA_AMX, "as above");

typedef struct cpu_device {
  bsm_device base;
  const bsm_allocator *allocator;
} cpu_device;

typedef struct cpu_event {
  bsm_event base;
  const bsm_allocator *allocator;
  double seconds; /* of the host's clock */
} cpu_event;

/* Takes from `isa` what no kernels are linked for. */
static bsm_status limit_isa(uint32_t *isa) {
  const unsigned row = bsm_k_isa_row(*isa);
  if (row == BSM_K_ISA_COUNT) {
    return bsm_fail_not_linked("kernels for", bsm_isa_name(*isa));
  }
  *isa &= ~BSM_ISA_SELECTING | bsm_k_isa_needs(row);
  return BSM_OK;
}

/* ---- devices and memory ---- */

static bsm_status cpu_open(const bsm_device_options *options,
                           bsm_device **out) {
  *out = NULL;
  if (options->index != 0) {
    return BSM_FAIL(BSM_NOT_FOUND, "there is no CPU device %d, only 0",
                    (int)options->index);
  }
  /* Where plain C is linked, building for other machines asks nothing of this
   * one. */
  if (bsm_k_isa_row(BSM_ISA_SCALAR) == BSM_K_ISA_COUNT) {
    uint32_t isa = bsm_isa_detect();
    BSM_TRY(limit_isa(&isa));
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
  *out = NULL;
  if (options->native) {
    return BSM_FAIL(BSM_UNSUPPORTED, "the CPU has no streams of a caller");
  }
  uint32_t isa =
      options->isa == BSM_ISA_DETECT ? bsm_isa_detect() : options->isa;
  BSM_TRY(limit_isa(&isa));
  bsm_cpu_stream *s =
      bsm_allocate(options->allocator, sizeof(*s), _Alignof(bsm_cpu_stream));
  BSM_TRY_ALLOC(s);
  *s = (bsm_cpu_stream){.base = {device},
                        .allocator = options->allocator,
                        .pool = options->pool,
                        .isa = isa,
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

/* Elements of 16 bytes are two of 8. */
static bsm_status cpu_copy_strided(bsm_stream *stream,
                                   const bsm_strided_copy *copy) {
  const int64_t parts = copy->element > 8 ? 2 : 1;
  const int64_t size = (int64_t)copy->element / parts;
  const int32_t rank = copy->dims.rank;
  bsm_cpu_space s = {
      .rank = rank ? rank : 1, .operands = 2, .count = 1, .dims = {1}};
  (void)stream;
  for (int32_t i = 0; i < rank; i++) {
    s.dims[i] = copy->dims.d[i];
    s.count *= s.dims[i];
    s.strides[0][i] = copy->to_strides[i] * parts;
    s.strides[1][i] = copy->from_strides[i] * parts;
  }
  for (int64_t k = 0; s.count && k < parts * size; k += size) {
    bsm_cpu_copy_space(&s, size, (const char *)copy->from + k,
                       (char *)copy->to + k);
  }
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

/* Whether a step of products has the driver for double and integers. */
static bool is_typed(const bsm_plan *plan, const bsm_plan_step *step) {
  switch (step->kind) {
#define X(name, driver) case BSM_STEP_##name:
    BSM_CPU_TYPED_KINDS(X)
#undef X
    return step->output_count > 0 && bsm_cpu_is_typed(plan, step);
    default:
      return false;
  }
}

/* Whether it has the driver for half and bfloat16. */
static bool is_half(const bsm_plan *plan, const bsm_plan_step *step) {
  switch (step->kind) {
#define X(name, driver) case BSM_STEP_##name:
    BSM_CPU_HALF_KINDS(X)
#undef X
    return step->output_count > 0 &&
           bsm_cpu_is_half(bsm_step_output(plan, step, 0)->dtype);
    default:
      return false;
  }
}

/* Whether a product has the driver for matrices of few bits. */
static bool is_few_bits(const bsm_plan_step *step) {
  return step->kind == BSM_STEP_MATRIX_MULTIPLY &&
         step->params->matrix_multiply.form != BSM_CPU_MATRIX_PLAIN;
}

const bsm_cpu_kind *bsm_cpu_kind_of(const bsm_plan *plan,
                                    const bsm_plan_step *step) {
  if ((unsigned)step->kind >= BSM_STEP_KIND_END) return NULL;
  if (is_few_bits(step)) return bsm_linked_cpu_few_bits_kinds[step->kind];
  if (is_half(plan, step)) return bsm_linked_cpu_half_kinds[step->kind];
  return is_typed(plan, step) ? bsm_linked_cpu_typed_kinds[step->kind]
                              : bsm_linked_cpu_kinds[step->kind];
}

static bsm_status no_kind(const bsm_plan *plan, const bsm_plan_step *step) {
  const char *name = bsm_step_kind_name(step->kind);
  if (!name) return BSM_FAIL(BSM_CORRUPT, "step kind %d", (int)step->kind);
  return bsm_fail_not_linked(is_few_bits(step)     ? "step of few bits"
                             : is_half(plan, step) ? "step of half or bfloat16"
                             : is_typed(plan, step)
                                 ? "step of double or integers"
                                 : "step",
                             name);
}

static bsm_status check_kind(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_cpu_kind *kind = bsm_cpu_kind_of(plan, step);
  if (!kind) return no_kind(plan, step);
  BSM_TRY(bsm_check_step(plan, step));
  return kind->check(plan, step);
}

static bsm_status cpu_check(const bsm_plan *plan, const bsm_plan_step *step) {
  return bsm_check_note(check_kind(plan, step), step);
}

static bsm_status cpu_prepare(bsm_stream *stream, const bsm_plan *plan,
                              const bsm_plan_step *step,
                              const void *const *weights, bsm_arena *arena,
                              bsm_prepared_step *out) {
  const bsm_cpu_kind *kind = bsm_cpu_kind_of(plan, step);
  const bsm_cpu_stream *s = (const bsm_cpu_stream *)stream;
  const int threads = bsm_thread_pool_size(s->pool);
  if (!kind) return no_kind(plan, step);
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
    .copy_strided = cpu_copy_strided,
    .fill_zero = cpu_fill_zero,
    .event_create = cpu_event_create,
    .event_destroy = cpu_event_destroy,
    .event_record = cpu_event_record,
    .event_wait = cpu_event_wait,
    .event_seconds = cpu_event_seconds,
    .check = cpu_check,
    .prepare = cpu_prepare,
    .lacks = cpu_lacks,
    .describe = cpu_describe,
};
