/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a GPU: launches whose functions were found, and whose addresses are
 * put in when they are enqueued. */
#include <inttypes.h>
#include <string.h>

#include "backend/checks/checks.h"
#include "backend/cuda/cuda_internal.h"
#include "backend/cuda/cuda_map.h"
#include "backend/cuda/steps/cuda_steps.h"

/* Of CUDA: since then graphs have what launches may overlap. */
#define OVERLAP_VERSION 12030
/* Of a multiprocessor; some kinds have fewer. */
#define THREADS 2048
#define SHARED_BYTES ((uint64_t)228 << 10)

typedef struct prepared {
  bsm_cuda_device *device;
  const bsm_plan *plan;
  const bsm_plan_step *step;
  const void *const *weights;
  bsm_cuda_fault *fault;
  uint32_t count, joined;
  int64_t rounds;
  bool overlaps; /* kernels may begin before those ahead of them have ended */
  bsm_cuda_launch *launches;
  bsm_cu_function *functions;
} prepared;

bsm_status bsm_cuda_check(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_cuda_step_kind *kind = bsm_cuda_step_kind_of(step->kind);
  const char *name = bsm_step_kind_name(step->kind);
  if (!name) return BSM_FAIL(BSM_CORRUPT, "step kind %d", (int)step->kind);
  if (!kind) {
    return BSM_FAIL(BSM_UNSUPPORTED, "GPUs have no steps of kind %s", name);
  }
  BSM_TRY(bsm_cuda_check_dtypes(plan, step));
  bsm_status status = bsm_check_step(plan, step);
  if (!status) status = kind->check(plan, step);
  return bsm_check_note(status, step);
}

/* ---- enqueueing ---- */

static uint64_t base_of(const prepared *p, const bsm_run *run,
                        const bsm_cuda_slot *slot) {
  switch (slot->kind) {
    case BSM_CUDA_SLOT_TENSOR:
      return (uint64_t)(uintptr_t)bsm_run_address(run, p->plan,
                                                  (uint32_t)slot->index);
    case BSM_CUDA_SLOT_WEIGHTS:
      return (uint64_t)(uintptr_t)p->weights[slot->index];
    case BSM_CUDA_SLOT_SCRATCH:
      return (uint64_t)(uintptr_t)(run->scratch + slot->index);
    case BSM_CUDA_SLOT_FAULT:
      return (uint64_t)(uintptr_t)p->fault;
    case BSM_CUDA_SLOT_COUNTERS:
      return ((const bsm_cuda_stream *)run->stream)->counters +
             run->lane * BSM_CUDA_COUNTERS * sizeof(uint32_t);
    case BSM_CUDA_SLOT_ROUND:
      break;
  }
  return 0;
}

static uint64_t value_of(const prepared *p, const bsm_run *run,
                         const bsm_cuda_slot *slot, int64_t round) {
  if (slot->kind == BSM_CUDA_SLOT_ROUND) return (uint64_t)round;
  return base_of(p, run, slot) + (uint64_t)slot->bytes +
         (uint64_t)round * (uint64_t)slot->advance;
}

static bsm_status launch(const prepared *p, const bsm_run *run, uint32_t i,
                         int64_t round) {
  const bsm_cuda_launch *l = &p->launches[i];
  _Alignas(16) uint8_t params[BSM_CUDA_MAX_PARAMS];
  void *values[] = {params};
  memcpy(params, l->params, l->params_size);
  for (uint32_t k = 0; k < l->slot_count; k++) {
    const uint64_t value = value_of(p, run, &l->slots[k], round);
    memcpy(params + l->slots[k].offset, &value, sizeof(value));
    if (l->slots[k].kind == BSM_CUDA_SLOT_FAULT) {
      const uint64_t step = (uint64_t)(uintptr_t)p;
      memcpy(params + l->slots[k].offset + sizeof(value), &step, sizeof(step));
    }
  }
  for (uint32_t k = 0; k < l->tiles_count; k++) {
    BSM_TRY(bsm_cuda_write_map(&p->device->driver, l->tiles[k], params));
  }
  /* Kernels of these GPUs wait for those before them (kernels/device.cuh). */
  bsm_cu_launch_attribute overlap = {
      .id = BSM_CU_LAUNCH_PROGRAMMATIC_SERIALIZATION, .value.flag = 1};
  const bsm_cu_launch_config config = {
      .attributes = &overlap,
      .attribute_count = p->overlaps,
      .grid = {l->grid[0], l->grid[1], l->grid[2]},
      .block = {l->block[0], l->block[1], l->block[2]},
      .shared_bytes = l->shared_bytes,
      .stream = ((const bsm_cuda_stream *)run->stream)->stream};
  return bsm_cuda_status(
      &p->device->driver,
      p->device->driver.launch(&config, p->functions[i], values, NULL),
      "launch");
}

static bsm_status launch_all(const prepared *p, const bsm_run *run) {
  for (int64_t round = 0; round < p->rounds; round++) {
    for (uint32_t i = 0; i < p->count; i++) {
      const bsm_cuda_rounds *in = &p->launches[i].rounds;
      if (round < in->first || round >= in->end ||
          (round - in->first) % in->every != 0) {
        continue;
      }
      BSM_TRY(launch(p, run, i, round));
    }
  }
  return BSM_OK;
}

static bsm_status enqueue(const bsm_prepared_step *step, const bsm_run *run) {
  const prepared *p = step->impl;
  BSM_TRY(bsm_cuda_enter(p->device));
  bsm_status status = launch_all(p, run);
  bsm_cuda_leave(p->device);
  return status;
}

/* ---- preparing ---- */

static bool has_all(const bsm_code_image *code, const bsm_cuda_launches *l) {
  bool has = true;
  for (uint32_t i = 0; i < l->count && has; i++) {
    has = bsm_cuda_code_has(code, &l->items[i].kernel);
  }
  for (uint32_t i = 0; l->ahead && i < l->other_count && has; i++) {
    has = bsm_cuda_code_has(code, &l->others[i]);
  }
  return has;
}

/* With the kernels that are the most special ones of those that the engine
 * carries: plans for the shapes of a run may need what no plan of the engine
 * has. */
static bsm_status make_launches(const prepared *p, const bsm_code_image *code,
                                bsm_arena *arena, bsm_cuda_launches *l) {
  const int sm = bsm_cuda_code_sm(code, p->device);
  for (int scope = BSM_CUDA_FOR_SIZES; scope <= BSM_CUDA_FOR_KIND; scope++) {
    BSM_TRY(bsm_cuda_make_launches(p->plan, p->step, (bsm_cuda_scope)scope, sm,
                                   arena, l));
    if (has_all(code, l)) return BSM_OK;
  }
  /* The most special ones, which the message is about. */
  return bsm_cuda_make_launches(p->plan, p->step, BSM_CUDA_FOR_SIZES, sm, arena,
                                l);
}

static bsm_status find_functions(prepared *p, bsm_code_image *code,
                                 bsm_arena *arena) {
  p->functions = BSM_NEW_ARRAY(arena, bsm_cu_function, p->count + (size_t)1);
  BSM_TRY_ALLOC(p->functions);
  for (uint32_t i = 0; i < p->count; i++) {
    const bsm_cuda_launch *l = &p->launches[i];
    BSM_TRY(bsm_cuda_code_find(code, &l->kernel, l->shared_bytes,
                               &p->functions[i]));
  }
  return BSM_OK;
}

/* Whether some launch has more threads, or more shared memory, than the GPU has
 * at a time. */
static bool fills(const prepared *p, int multiprocessors) {
  const uint64_t count = (uint64_t)multiprocessors;
  for (uint32_t i = 0; i < p->count; i++) {
    const bsm_cuda_launch *l = &p->launches[i];
    const uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    const unsigned threads = l->block[0] * l->block[1] * l->block[2];
    if (blocks * threads > count * THREADS ||
        blocks * l->shared_bytes > count * SHARED_BYTES) {
      return true;
    }
  }
  return false;
}

static bool counts(const prepared *p) {
  for (uint32_t i = 0; i < p->count; i++) {
    for (uint32_t k = 0; k < p->launches[i].slot_count; k++) {
      if (p->launches[i].slots[k].kind == BSM_CUDA_SLOT_COUNTERS) return true;
    }
  }
  return false;
}

static bsm_status prepare(bsm_cuda_stream *s, prepared *p, bsm_arena *arena,
                          size_t *scratch_size) {
  bsm_cuda_launches *l = BSM_NEW(arena, bsm_cuda_launches);
  BSM_TRY_ALLOC(l);
  BSM_TRY(make_launches(p, s->code, arena, l));
  p->overlaps = l->sm >= 90 && p->device->driver.version >= OVERLAP_VERSION;
  p->count = l->count;
  p->rounds = l->rounds;
  p->launches = l->items;
  p->joined = l->joined;
  *scratch_size = l->scratch_size;
  if (counts(p)) BSM_TRY(bsm_cuda_stream_count(&s->base));
  return find_functions(p, s->code, arena);
}

bsm_status bsm_cuda_prepare(bsm_stream *stream, const bsm_plan *plan,
                            const bsm_plan_step *step,
                            const void *const *weights, bsm_arena *arena,
                            bsm_prepared_step *out) {
  bsm_cuda_stream *s = (bsm_cuda_stream *)stream;
  prepared *p = BSM_NEW(arena, prepared);
  BSM_TRY_ALLOC(p);
  *p = (prepared){.device = bsm_cuda_device_of(stream->device),
                  .plan = plan,
                  .step = step,
                  .weights = weights,
                  .fault = s->fault};
  size_t scratch_size = 0;
  BSM_TRY(bsm_cuda_enter(p->device));
  bsm_status status = prepare(s, p, arena, &scratch_size);
  bsm_cuda_leave(p->device);
  BSM_TRY(status);
  *out = (bsm_prepared_step){.enqueue = enqueue,
                             .plan = plan,
                             .step = step,
                             .impl = p,
                             .scratch_size = scratch_size,
                             .joined = p->joined,
                             .counts = counts(p),
                             .fills = fills(p, s->multiprocessors)};
  return BSM_OK;
}

const char *bsm_cuda_describe(const bsm_prepared_step *step) {
  const prepared *p = step->impl;
  return p->count ? p->launches[0].kernel.name : "nothing";
}

/* ---- faults ---- */

/* Kernels may run meanwhile: the record is complete when it says what it is
 * about, and theirs again when it is not taken. */
bsm_status bsm_cuda_take_fault(bsm_cuda_fault *fault) {
  if (!__atomic_load_n(&fault->what, __ATOMIC_ACQUIRE)) return BSM_OK;
  const bsm_cuda_fault f = *fault;
  const prepared *p = (const prepared *)(uintptr_t)f.step;
  fault->what = 0;
  __atomic_store_n(&fault->taken, 0, __ATOMIC_RELEASE);
  const bsm_prepared_step step = {.plan = p->plan, .step = p->step};
  bsm_status status =
      f.dimension < 0
          ? BSM_FAIL(BSM_OUT_OF_RANGE,
                     "index %" PRId64 " is out of range for size %" PRId64,
                     f.value, f.limit)
          : BSM_FAIL(BSM_OUT_OF_RANGE,
                     "index %" PRId64 " is out of range for dimension %" PRId64
                     " with size %" PRId64,
                     f.value, f.dimension, f.limit);
  return bsm_note_step(status, &step);
}
