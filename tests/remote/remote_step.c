/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of the remote device. Each becomes a step of the CPU in a plan of its
 * own, whose tensors are those of the plan it is in, and whose weights are
 * where the device has them, packed again for the CPU. */
#include <stdlib.h>
#include <string.h>

#include "tests/remote/remote_internal.h"

typedef struct remote_step {
  bsm_prepared_step cpu;
  bsm_plan plan;
  bsm_plan_step step;
  void **inputs, **outputs; /* by binding */
  void *packed;             /* for the CPU */
  remote_device *device;
} remote_step;

/* ---- what is taken ---- */

static bool takes_kind(bsm_step_kind kind) {
  switch (kind) {
    case BSM_STEP_TOP_K:
    case BSM_STEP_SCAN:
    case BSM_STEP_NON_ZERO:
    case BSM_STEP_NMS:
    case BSM_STEP_REGIONS:
    case BSM_STEP_RESIZE:
    case BSM_STEP_SAMPLE:
    case BSM_STEP_RECURRENT:
    case BSM_STEP_SCATTER:
    case BSM_STEP_ATTENTION:
    case BSM_STEP_CONVOLUTION_CHAIN:
    case BSM_STEP_INT8_CONVOLUTION:
      return false;
    default:
      return true;
  }
}

static bool is_product(bsm_step_kind kind) {
  return kind == BSM_STEP_CONVOLUTION || kind == BSM_STEP_DECONVOLUTION ||
         kind == BSM_STEP_MATRIX_MULTIPLY;
}

/* What moves elements, or makes them, does so with those of any dtype. */
static bool only_moves(const bsm_plan *plan, const bsm_plan_step *step) {
  return step->kind == BSM_STEP_FILL || step->kind == BSM_STEP_PAD ||
         step->kind == BSM_STEP_GATHER || /* slices of negative steps, too */
         (step->kind == BSM_STEP_COPY && step->input_count == 1 &&
          step->output_count == 1 &&
          plan->tensors[step->inputs[0]].dtype ==
              plan->tensors[step->outputs[0]].dtype);
}

static bsm_status check_taken(const bsm_plan *plan, const bsm_plan_step *step) {
  if (!takes_kind(step->kind)) {
    return BSM_FAIL(BSM_UNSUPPORTED, "the remote device has no such steps");
  }
  if (only_moves(plan, step)) return BSM_OK;
  for (uint32_t i = 0; i < step->input_count + step->output_count; i++) {
    const uint32_t id = i < step->input_count
                            ? step->inputs[i]
                            : step->outputs[i - step->input_count];
    const bsm_dtype dtype = plan->tensors[id].dtype;
    if (!remote_takes_dtype(dtype) ||
        (is_product(step->kind) && dtype != BSM_DTYPE_FLOAT)) {
      const char *name = bsm_dtype_name(dtype);
      return BSM_FAIL(BSM_UNSUPPORTED, "the remote device has none of %s",
                      name ? name : "unknown dtypes");
    }
  }
  return BSM_OK;
}

/* ---- as a step of the CPU ---- */

static const bsm_target *cpu_target(void) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static bsm_arena arena;
  static const bsm_target *target;
  pthread_mutex_lock(&lock);
  if (!target) {
    const bsm_target_request request = {"cpu:scalar", 0, BSM_TARGET_ANY_ISA};
    bsm_arena_init(&arena, NULL);
    bsm_status_free(bsm_target_parse(&request, &arena, &target));
  }
  pthread_mutex_unlock(&lock);
  return target;
}

static int64_t in_maps_of(const bsm_plan *plan, const bsm_plan_step *step) {
  if (step->kind == BSM_STEP_MATRIX_MULTIPLY) return 1;
  if (step->input_count == 0) return 0;
  const bsm_dims *d = &plan->tensors[step->inputs[0]].dims;
  return d->rank > 1 ? d->d[1] : 0;
}

/* What both sides say the packed weights have: bytes. */
static bsm_status packed_sizes(const bsm_plan *plan, const bsm_plan_step *step,
                               uint64_t *remote, uint64_t *cpu) {
  const bsm_target *t = cpu_target();
  const int64_t in_maps = in_maps_of(plan, step);
  BSM_TRY_ALLOC(t);
  BSM_TRY(remote_packed_size(step, in_maps, sizeof(float), remote));
  return t->ops->pack(t, step, in_maps, NULL, sizeof(float), false, NULL, cpu);
}

/* Weights[0] must have the remote size; in `weights`, a copy of the plan's, it
 * gets the CPU's. */
static bsm_status check_packed(const bsm_plan *plan, const bsm_plan_step *step,
                               bsm_plan_weights *weights) {
  uint64_t remote, cpu;
  const uint32_t id = step->weights[0];
  if (step->kind == BSM_STEP_CONVOLUTION && step->params->convolution.form) {
    return BSM_FAIL(BSM_CORRUPT, "weights of form %d",
                    (int)step->params->convolution.form);
  }
  BSM_TRY(packed_sizes(plan, step, &remote, &cpu));
  if (id >= plan->weights_count || plan->weights[id].size != remote) {
    return BSM_FAIL(BSM_CORRUPT, "packed weights that are not %llu bytes",
                    (unsigned long long)remote);
  }
  if (step->weights[1] == id) {
    return BSM_FAIL(BSM_CORRUPT, "packed weights as a bias");
  }
  weights[id].size = cpu;
  return BSM_OK;
}

bsm_status remote_check(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_device_ops *cpu;
  BSM_TRY(check_taken(plan, step));
  BSM_TRY(bsm_device_find(bsm_str_of("cpu"), &cpu));
  if (!step->params || !remote_has_packed(step)) return cpu->check(plan, step);
  bsm_plan shadow = *plan;
  shadow.weights = calloc(plan->weights_count + 1u, sizeof(*shadow.weights));
  BSM_TRY_ALLOC(shadow.weights);
  if (plan->weights_count) {
    memcpy(shadow.weights, plan->weights,
           plan->weights_count * sizeof(*shadow.weights));
  }
  bsm_status status = check_packed(plan, step, shadow.weights);
  if (!status) status = cpu->check(&shadow, step);
  free(shadow.weights);
  return status;
}

/* ---- preparing ---- */

/* Packs weights[0] for the CPU. */
static bsm_status repack(remote_step *r, const bsm_plan *plan,
                         const void *near) {
  const bsm_target *t = cpu_target();
  const int64_t in_maps = in_maps_of(plan, &r->step);
  uint64_t remote, size;
  void *packed = NULL;
  BSM_TRY(packed_sizes(plan, &r->step, &remote, &size));
  void *values = malloc((size_t)remote);
  bsm_status status = BSM_OK;
  if (!values || posix_memalign(&packed, BSM_ALIGNMENT, (size_t)size + 1)) {
    status = BSM_FAIL_OOM();
  }
  if (!status) {
    status = remote_unpack(&r->step, in_maps, sizeof(float), near, values);
  }
  if (!status) {
    status = t->ops->pack(t, &r->step, in_maps, values, sizeof(float), false,
                          packed, &size);
  }
  free(values);
  if (status) {
    free(packed);
    return status;
  }
  r->packed = packed;
  r->plan.weights[r->step.weights[0]] =
      (bsm_plan_weights){.data = packed, .size = size};
  return BSM_OK;
}

static bsm_status use_weights(remote_step *r, const bsm_plan *plan,
                              const void *const *weights, uint32_t id) {
  uint8_t *near = NULL;
  if (id >= plan->weights_count) return BSM_OK; /* absent */
  if (plan->weights[id].size) {
    BSM_TRY(remote_near(r->device, weights[id], plan->weights[id].size, &near));
  }
  r->plan.weights[id].data = near;
  return BSM_OK;
}

static bsm_status find_weights(remote_step *r, const bsm_plan *plan,
                               const void *const *weights) {
  const bsm_plan_step *step = &r->step;
  for (int i = 0; i < BSM_STEP_MAX_WEIGHTS; i++) {
    BSM_TRY(use_weights(r, plan, weights, step->weights[i]));
  }
  for (uint32_t i = 0; i < step->input_count; i++) {
    const bsm_plan_tensor *t = &plan->tensors[step->inputs[i]];
    if (t->place == BSM_PLACE_WEIGHTS) {
      BSM_TRY(use_weights(r, plan, weights, t->index));
    }
  }
  return remote_has_packed(step)
             ? repack(r, plan, r->plan.weights[step->weights[0]].data)
             : BSM_OK;
}

/* Tables with room for every binding that the step names. */
static bsm_status make_tables(remote_step *r, bsm_arena *arena) {
  uint32_t count = 1;
  for (uint32_t i = 0; i < r->step.input_count + r->step.output_count; i++) {
    const uint32_t id = i < r->step.input_count
                            ? r->step.inputs[i]
                            : r->step.outputs[i - r->step.input_count];
    if (r->plan.tensors[id].index >= count) {
      count = r->plan.tensors[id].index + 1;
    }
  }
  r->inputs = BSM_NEW_ARRAY(arena, void *, count);
  r->outputs = BSM_NEW_ARRAY(arena, void *, count);
  return r->inputs && r->outputs ? BSM_OK : BSM_FAIL_OOM();
}

static bsm_status prepare(remote_step *r, bsm_stream *stream,
                          const bsm_plan *plan, const void *const *weights,
                          bsm_arena *arena) {
  bsm_stream *cpu = remote_cpu_stream(stream);
  r->plan.weights =
      BSM_NEW_ARRAY(arena, bsm_plan_weights, plan->weights_count + 1u);
  BSM_TRY_ALLOC(r->plan.weights);
  if (plan->weights_count) {
    memcpy(r->plan.weights, plan->weights,
           plan->weights_count * sizeof(*plan->weights));
  }
  for (uint32_t i = 0; i < plan->weights_count; i++) {
    r->plan.weights[i].data = NULL; /* the host's */
  }
  BSM_TRY(make_tables(r, arena));
  BSM_TRY(find_weights(r, plan, weights));
  return cpu->device->ops->prepare(cpu, &r->plan, &r->step, NULL, arena,
                                   &r->cpu);
}

bsm_status remote_prepare(bsm_stream *stream, const bsm_plan *plan,
                          const bsm_plan_step *step, const void *const *weights,
                          bsm_arena *arena, bsm_prepared_step *out) {
  if (remote_shall_fail(REMOTE_FAULT_PREPARE)) {
    return BSM_FAIL(BSM_OUT_OF_MEMORY, "the remote device prepares no more");
  }
  remote_step *r = BSM_NEW(arena, remote_step);
  BSM_TRY_ALLOC(r);
  r->plan = *plan;
  r->step = *step;
  r->step.tactic = "";
  r->device = (remote_device *)stream->device;
  bsm_status status = prepare(r, stream, plan, weights, arena);
  if (status) {
    free(r->packed);
    return status;
  }
  *out = (bsm_prepared_step){.enqueue = remote_push_step,
                             .plan = plan,
                             .step = step,
                             .impl = r,
                             .scratch_size = r->cpu.scratch_size};
  remote_count(1);
  return BSM_OK;
}

void remote_discard(bsm_prepared_step *prepared) {
  const remote_step *r = prepared->impl;
  const bsm_device_ops *cpu = r->device->cpu->ops;
  bsm_prepared_step inner = r->cpu;
  if (cpu->discard) cpu->discard(&inner);
  free(r->packed);
  remote_count(-1);
}

const char *remote_describe(const bsm_prepared_step *prepared) {
  const remote_step *r = prepared->impl;
  return r->device->cpu->ops->describe(&r->cpu);
}

/* ---- running ---- */

/* Where the device has a tensor: its base goes where the CPU looks for it. */
static bsm_status find_tensor(remote_step *r, const bsm_run *from, uint32_t id,
                              bsm_run *to) {
  const bsm_plan_tensor *t = &r->plan.tensors[id];
  uint64_t extent;
  uint8_t *near;
  if (!bsm_plan_tensor_extent(t, &extent)) {
    return BSM_FAIL(BSM_INTERNAL, "a tensor without an extent");
  }
  if (!extent || t->place == BSM_PLACE_WEIGHTS) return BSM_OK;
  BSM_TRY(remote_near(r->device, bsm_run_address(from, &r->plan, id), extent,
                      &near));
  near -= t->offset;
  if (t->place == BSM_PLACE_INPUT) r->inputs[t->index] = near;
  if (t->place == BSM_PLACE_OUTPUT) r->outputs[t->index] = near;
  if (t->place == BSM_PLACE_WORKSPACE) to->workspace = near;
  return BSM_OK;
}

bsm_status remote_run_step(const bsm_prepared_step *prepared,
                           const bsm_run *run) {
  remote_step *r = (remote_step *)(uintptr_t)prepared->impl;
  bsm_run inner = {.stream = remote_cpu_stream(run->stream),
                   .inputs = r->inputs,
                   .outputs = r->outputs};
  if (remote_shall_fail(REMOTE_FAULT_STEP)) {
    return BSM_FAIL(BSM_INTERNAL, "the remote device is out of order");
  }
  for (uint32_t i = 0; i < r->step.input_count; i++) {
    BSM_TRY_NOTE(find_tensor(r, run, r->step.inputs[i], &inner), "input %u", i);
  }
  for (uint32_t i = 0; i < r->step.output_count; i++) {
    BSM_TRY_NOTE(find_tensor(r, run, r->step.outputs[i], &inner), "output %u",
                 i);
  }
  if (r->cpu.scratch_size) {
    BSM_TRY_NOTE(remote_near(r->device, run->scratch, r->cpu.scratch_size,
                             &inner.scratch),
                 "scratch");
  }
  return r->cpu.enqueue(&r->cpu, &inner);
}
