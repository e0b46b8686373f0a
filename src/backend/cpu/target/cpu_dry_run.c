/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and stand-ins of dry runs. */
#include "backend/cpu/target/cpu_dry_run.h"

#include <string.h>

#include "backend/cpu/cpu_pack.h"
#include "base/checked.h"
#include "base/thread_pool.h"

/* The bytes of stand-in weights: floats and doubles of them are small and
 * normal, so that arithmetic runs at its usual speed. */
#define STAND_IN_BYTE 0x3c

/* Zeroed memory for a binding. */
static bsm_status new_buffer(bsm_cpu_dry_run *t,
                             const bsm_plan_binding *binding, void **out) {
  const bsm_plan_tensor *tensor = &t->plan->tensors[binding->tensor];
  uint64_t bytes;
  if (!bsm_plan_tensor_extent(tensor, &bytes)) {
    return BSM_FAIL(BSM_LIMIT, "binding %s is too large", binding->name);
  }
  *out = bsm_arena_alloc(&t->arena, (size_t)bytes + 1, BSM_ALIGNMENT);
  BSM_TRY_ALLOC(*out);
  return BSM_OK;
}

/* Bytes of the greatest output of a convolution: what is put in the tail. */
static bsm_status tail_size(const bsm_plan *plan, uint64_t *out) {
  *out = 0;
  for (uint32_t i = 0; i < plan->step_count; i++) {
    const bsm_plan_step *step = &plan->steps[i];
    uint64_t bytes;
    if (step->kind != BSM_STEP_CONVOLUTION) continue;
    if (!bsm_plan_tensor_extent(&plan->tensors[step->outputs[0]], &bytes)) {
      return BSM_FAIL(BSM_LIMIT, "output of %s is too large", step->name);
    }
    if (bytes > *out) *out = bytes;
  }
  return BSM_OK;
}

static bsm_status open_stream(bsm_cpu_dry_run *t) {
  const bsm_device_options device = {0};
  const bsm_stream_options stream = {.pool = t->pool, .isa = t->isa};
  BSM_TRY(bsm_device_find(bsm_str_of("cpu"), &t->ops));
  BSM_TRY(t->ops->open(&device, &t->device));
  BSM_TRY(t->ops->stream_create(t->device, &stream, &t->stream));
  t->run.stream = t->stream;
  return BSM_OK;
}

static bsm_status make_memory(bsm_cpu_dry_run *t) {
  const bsm_plan *plan = t->plan;
  uint64_t tail;
  size_t size;
  void **inputs = BSM_NEW_ARRAY(&t->arena, void *, plan->input_count + 1u);
  void **outputs = BSM_NEW_ARRAY(&t->arena, void *, plan->output_count + 1u);
  if (!inputs || !outputs) return BSM_FAIL_OOM();
  for (uint32_t i = 0; i < plan->input_count; i++) {
    BSM_TRY(new_buffer(t, &plan->inputs[i], &inputs[i]));
  }
  for (uint32_t i = 0; i < plan->output_count; i++) {
    BSM_TRY(new_buffer(t, &plan->outputs[i], &outputs[i]));
  }
  t->run.inputs = inputs;
  t->run.outputs = outputs;
  BSM_TRY(tail_size(plan, &tail));
  if (!bsm_size_align((size_t)plan->workspace_size[BSM_SPACE_HOST],
                      BSM_ALIGNMENT, &size) ||
      !bsm_size_add(size, (size_t)tail + 1, &size)) {
    return BSM_FAIL(BSM_LIMIT, "the workspace is too large");
  }
  t->tail = size - tail - 1;
  t->run.workspace = bsm_arena_alloc(&t->arena, size, BSM_ALIGNMENT);
  BSM_TRY_ALLOC(t->run.workspace);
  BSM_TRY(bsm_thread_pool_create(t->threads, NULL, &t->pool));
  return open_stream(t);
}

bsm_status bsm_cpu_dry_run_open(const bsm_cpu_target *target, uint32_t isa,
                                int threads, bsm_plan *plan,
                                bsm_cpu_dry_run *out) {
  *out = (bsm_cpu_dry_run){.target = target,
                           .isa = isa,
                           .threads = threads,
                           .plan = plan,
                           .random = 1};
  bsm_arena_init(&out->arena, NULL);
  return make_memory(out);
}

void bsm_cpu_dry_run_close(bsm_cpu_dry_run *t) {
  if (t->stream) t->ops->stream_destroy(t->stream);
  if (t->device) t->ops->close(t->device);
  bsm_thread_pool_destroy(t->pool);
  bsm_arena_destroy(&t->arena);
}

bsm_status bsm_cpu_dry_run_prepare(bsm_cpu_dry_run *t,
                                   const bsm_plan_step *step,
                                   bsm_prepared_step *out) {
  return bsm_cpu_dry_run_prepare_in(t, &t->arena, step, out);
}

bsm_status bsm_cpu_dry_run_prepare_in(bsm_cpu_dry_run *t, bsm_arena *arena,
                                      const bsm_plan_step *step,
                                      bsm_prepared_step *out) {
  BSM_TRY(t->ops->prepare(t->stream, t->plan, step, NULL, arena, out));
  if (out->scratch_size <= t->scratch_size) return BSM_OK;
  t->run.scratch = bsm_arena_alloc(&t->arena, out->scratch_size, BSM_ALIGNMENT);
  BSM_TRY_ALLOC(t->run.scratch);
  t->scratch_size = out->scratch_size;
  return BSM_OK;
}

bsm_status bsm_cpu_dry_run_stand_in(bsm_cpu_dry_run *t,
                                    const bsm_packing *packing,
                                    bsm_plan_step *step) {
  uint64_t size;
  BSM_TRY(bsm_cpu_pack(step, packing->in_maps, NULL,
                       bsm_dtype_size(packing->dtype), packing->transposed,
                       NULL, &size));
  if (size > t->stand_in_size) {
    t->stand_in = bsm_arena_alloc(&t->arena, (size_t)size, BSM_ALIGNMENT);
    BSM_TRY_ALLOC(t->stand_in);
    memset(t->stand_in, STAND_IN_BYTE, (size_t)size);
    t->stand_in_size = size;
  }
  t->plan->weights[t->plan->weights_count] =
      (bsm_plan_weights){t->stand_in, size};
  step->weights[0] = t->plan->weights_count;
  return BSM_OK;
}

bool bsm_cpu_can_dry_run(const bsm_plan *plan) {
  for (uint32_t i = 0; i < plan->step_count; i++) {
    if (plan->steps[i].kind == BSM_STEP_ATEN_CALL ||
        plan->steps[i].kind == BSM_STEP_PLUGIN) {
      return false;
    }
  }
  return true;
}

/* The linear congruential generator of Knuth's MMIX. */
double bsm_cpu_dry_run_uniform(bsm_cpu_dry_run *t) {
  t->random =
      t->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(t->random >> 40) / (double)(1 << 24);
}

/* Irwin and Hall's, of 12. */
static float normal(bsm_cpu_dry_run *t) {
  double sum = -6;
  for (int i = 0; i < 12; i++) sum += bsm_cpu_dry_run_uniform(t);
  return (float)sum;
}

bsm_status bsm_cpu_dry_run_fill(bsm_cpu_dry_run *t, uint32_t tensor) {
  const bsm_plan_tensor *given = &t->plan->tensors[tensor];
  uint64_t bytes;
  if (given->dtype != BSM_DTYPE_FLOAT ||
      !bsm_plan_tensor_extent(given, &bytes)) {
    return BSM_OK;
  }
  float *to = bsm_run_address(&t->run, t->plan, tensor);
  for (uint64_t i = 0; i < bytes / sizeof(float); i++) to[i] = normal(t);
  return BSM_OK;
}
