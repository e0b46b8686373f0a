/* SPDX-License-Identifier: Apache-2.0 */
/* Timing the tactics of steps. The first step that is timed has the kernels of
 * all tactics of all steps compiled, beside each other. A tactic is run many
 * times in one CUDA graph, as steps follow each other in an engine, so that
 * neither the host nor the launch of the graph counts.
 *
 * Weights of a network that is larger than the L2 cache come from memory in
 * each run of it: there, each run of a step has others. Inputs have just been
 * written by the step before, so they are where they were. */
#include "backend/cuda/target/cuda_timer.h"

#include <string.h>

#include "backend/cuda/cuda_device.h"
#include "backend/cuda/cuda_internal.h"
#include "base/checked.h"

/* All runs in a graph together should take so long. */
#define GRAPH_SECONDS 6e-4
#define MOST_REPEATS 32
/* How often a graph is run; the shortest counts. */
#define GRAPH_RUNS 4
/* One run that takes longer tells enough. */
#define LONG_SECONDS 5e-3
/* After one run by itself, what is so much slower than another is out: what it
 * takes to launch a kernel is in that time. */
#define HOPELESS_TIMES 4.0
#define HOPELESS_SECONDS 1e-4

struct bsm_tactic_timer {
  const bsm_cuda_target *target;
  const bsm_plan_draft *draft;
  bsm_arena arena, prepared; /* of the timer; of the steps that are prepared */
  const bsm_device_ops *ops;
  bsm_device *device;
  bool in_memory;        /* where weights are */
  uint64_t cache;        /* bytes of L2 */
  uint64_t weights_room; /* bytes of the largest weights */
  /* Since the first step was timed. */
  bsm_plan trials; /* the steps, once with each tactic */
  bsm_code_image *code;
  bsm_stream *stream;
  bsm_event *from, *to;
  bsm_run run;
  const void **weights; /* by weights of the plan, and one that is pending */
  uint8_t *numbers;     /* that stand in for weights and inputs */
  uint64_t numbers_size, next;
  size_t scratch_size;
};

void bsm_cuda_machine_key(const bsm_target *target, bsm_text *text) {
  const bsm_device_options options = {0};
  bsm_device *device = NULL;
  bsm_text_puts(text, bsm_cuda_target_of(target)->architecture);
  bsm_status status = bsm_cuda_device_ops.open(&options, &device);
  if (!status) {
    bsm_text_printf(text, " %s", bsm_cuda_device_of(device)->name);
  }
  bsm_status_free(status);
  bsm_cuda_device_ops.close(device);
}

/* ---- opening ---- */

/* The sizes of all weights: of what is packed, and of what will be. */
static bsm_status find_weights(bsm_tactic_timer *t) {
  const bsm_plan *plan = t->draft->plan;
  uint64_t total = 0, size;
  for (uint32_t i = 0; i < plan->weights_count; i++) {
    size = plan->weights[i].size;
    total += size;
    if (size > t->weights_room) t->weights_room = size;
  }
  for (size_t i = 0; i < t->draft->pending_count; i++) {
    const bsm_pending_pack *p = &t->draft->pending[i];
    BSM_TRY(bsm_cuda_pack(
        &t->target->base, &plan->steps[p->step], p->packing.in_maps, NULL,
        bsm_dtype_size(p->packing.dtype), p->packing.transposed, NULL, &size));
    total += size;
    if (size > t->weights_room) t->weights_room = size;
  }
  t->in_memory = total > t->cache / 2;
  return BSM_OK;
}

static bsm_status find_cache(bsm_tactic_timer *t) {
  const bsm_cuda_device *d = bsm_cuda_device_of(t->device);
  int bytes = 0;
  BSM_TRY_CUDA(&d->driver, device_get_attribute, &bytes,
               BSM_CU_ATTRIBUTE_L2_CACHE_SIZE, d->device);
  t->cache = bytes > 0 ? (uint64_t)bytes : 0;
  return BSM_OK;
}

bsm_status bsm_cuda_timer_open(const bsm_target *target,
                               const bsm_plan_draft *draft,
                               bsm_tactic_timer **out) {
  const bsm_device_options options = {.logger = draft->logger};
  bsm_tactic_timer *t = BSM_NEW(draft->scratch, bsm_tactic_timer);
  *out = t;
  BSM_TRY_ALLOC(t);
  t->target = bsm_cuda_target_of(target);
  t->draft = draft;
  t->ops = &bsm_cuda_device_ops;
  bsm_arena_init(&t->arena, NULL);
  bsm_arena_init(&t->prepared, NULL);
  BSM_TRY(t->ops->open(&options, &t->device));
  BSM_TRY(find_cache(t));
  return find_weights(t);
}

int32_t bsm_cuda_timer_conditions(const bsm_tactic_timer *timer) {
  return timer->in_memory;
}

static void release(bsm_tactic_timer *t, const void *memory) {
  t->ops->release(t->device, NULL, (void *)(uintptr_t)memory);
}

void bsm_cuda_timer_close(bsm_tactic_timer *t) {
  if (!t) return;
  if (t->device) {
    t->ops->event_destroy(t->from);
    t->ops->event_destroy(t->to);
    t->ops->stream_destroy(t->stream);
    t->ops->code_unload(t->code);
    for (uint32_t i = 0; t->run.inputs && i < t->trials.input_count; i++) {
      release(t, t->run.inputs[i]);
    }
    for (uint32_t i = 0; t->run.outputs && i < t->trials.output_count; i++) {
      release(t, t->run.outputs[i]);
    }
    release(t, t->run.workspace);
    release(t, t->run.scratch);
    release(t, t->numbers);
    t->ops->close(t->device);
  }
  bsm_arena_destroy(&t->prepared);
  bsm_arena_destroy(&t->arena);
}

/* ---- code ---- */

static const bsm_pending_pack *pending_of(const bsm_tactic_timer *t,
                                          uint32_t step) {
  for (size_t i = 0; i < t->draft->pending_count; i++) {
    if (t->draft->pending[i].step == step) return &t->draft->pending[i];
  }
  return NULL;
}

/* Adds a step with each tactic that is going to be timed. */
static bsm_status add_trials(bsm_tactic_timer *t, uint32_t index) {
  const bsm_plan *plan = t->draft->plan;
  const char *names[BSM_MAX_TACTICS];
  const bsm_target *target = &t->target->base;
  const size_t count =
      bsm_target_competitive_tactics(target, plan, &plan->steps[index], names);
  for (size_t i = 0; i < count; i++) {
    bsm_plan_step *step = &t->trials.steps[t->trials.step_count++];
    *step = plan->steps[index];
    step->tactic = names[i];
    if (pending_of(t, index)) step->weights[0] = plan->weights_count;
  }
  return BSM_OK;
}

static bsm_status compile(bsm_tactic_timer *t) {
  const bsm_plan *plan = t->draft->plan;
  t->trials = *plan;
  t->trials.program = NULL;
  t->trials.code_count = 0;
  t->trials.step_count = 0;
  t->trials.steps = BSM_NEW_ARRAY(
      &t->arena, bsm_plan_step, (size_t)plan->step_count * BSM_MAX_TACTICS + 1);
  BSM_TRY_ALLOC(t->trials.steps);
  for (uint32_t i = 0; i < plan->step_count; i++) {
    if (plan->steps[i].space == BSM_SPACE_DEVICE &&
        bsm_step_kind_is_of_devices(plan->steps[i].kind)) {
      BSM_TRY(add_trials(t, i));
    }
  }
  BSM_TRY(bsm_cuda_add_scopes(&t->target->base,
                              1u << BSM_CUDA_FOR_SIZES | BSM_CUDA_CODE_ALONE,
                              &t->trials, &t->arena, t->draft->logger));
  return t->ops->code_load(t->device, &t->trials, &t->code);
}

/* ---- memory ---- */

static bsm_status allocate(bsm_tactic_timer *t, uint64_t bytes, void **out) {
  return t->ops->allocate(t->device, NULL, (size_t)bytes + 1, BSM_ALIGNMENT,
                          out);
}

static bsm_status bind(bsm_tactic_timer *t, const bsm_plan_binding *bindings,
                       uint32_t count, void ***out) {
  void **buffers = BSM_NEW_ARRAY(&t->arena, void *, count + (size_t)1);
  BSM_TRY_ALLOC(buffers);
  *out = buffers;
  for (uint32_t i = 0; i < count; i++) {
    uint64_t bytes;
    if (!bsm_plan_tensor_extent(&t->trials.tensors[bindings[i].tensor],
                                &bytes)) {
      return BSM_FAIL(BSM_LIMIT, "binding %s is too large", bindings[i].name);
    }
    BSM_TRY(allocate(t, bytes, &buffers[i]));
    BSM_TRY(t->ops->fill_zero(t->stream, buffers[i], (size_t)bytes));
  }
  return BSM_OK;
}

/* Bytes of which half, bfloat16, float and double all have numbers of a usual
 * size, and no two neighbours the same. */
#define PATTERN 65536
static bsm_status fill_numbers(bsm_tactic_timer *t) {
  uint8_t *pattern = bsm_arena_alloc(&t->arena, PATTERN, 16);
  uint32_t seed = 1;
  BSM_TRY_ALLOC(pattern);
  for (size_t i = 0; i < PATTERN; i++) {
    seed = seed * 1664525u + 1013904223u;
    pattern[i] = (uint8_t)((seed >> 24 & 0x8fu) | 0x30u);
  }
  for (uint64_t at = 0; at < t->numbers_size; at += PATTERN) {
    const uint64_t left = t->numbers_size - at;
    BSM_TRY(t->ops->upload(t->stream, t->numbers + at, pattern,
                           (size_t)(left < PATTERN ? left : PATTERN)));
  }
  return BSM_OK;
}

static bsm_status make_memory(bsm_tactic_timer *t) {
  const bsm_plan *plan = &t->trials;
  void *workspace, *numbers;
  const uint64_t size = plan->workspace_size[BSM_SPACE_DEVICE];
  BSM_TRY(bind(t, plan->inputs, plan->input_count, (void ***)&t->run.inputs));
  BSM_TRY(
      bind(t, plan->outputs, plan->output_count, (void ***)&t->run.outputs));
  BSM_TRY(allocate(t, size, &workspace));
  t->run.workspace = workspace;
  BSM_TRY(t->ops->fill_zero(t->stream, workspace, (size_t)size));
  t->numbers_size = t->weights_room + (t->in_memory ? 2 * t->cache : 0);
  BSM_TRY(allocate(t, t->numbers_size, &numbers));
  t->numbers = numbers;
  t->run.weights =
      BSM_NEW_ARRAY(&t->arena, const void *, plan->weights_count + (size_t)1);
  BSM_TRY_ALLOC(t->run.weights);
  t->weights = (const void **)(uintptr_t)t->run.weights;
  for (uint32_t i = 0; i <= plan->weights_count; i++) t->weights[i] = numbers;
  return fill_numbers(t);
}

/* What the first step that is timed needs, and all others. */
static bsm_status start(bsm_tactic_timer *t) {
  bsm_stream_options options = {.logger = t->draft->logger, .profile = true};
  BSM_TRY(compile(t));
  options.code = t->code;
  BSM_TRY(t->ops->stream_create(t->device, &options, &t->stream));
  BSM_TRY(t->ops->event_create(t->stream, &t->from));
  BSM_TRY(t->ops->event_create(t->stream, &t->to));
  t->run.stream = t->stream;
  BSM_TRY(make_memory(t));
  return t->ops->synchronize(t->stream);
}

/* ---- a step ---- */

/* Gives a step weights that were not read lately, if there are any. */
static void change_weights(bsm_tactic_timer *t, const bsm_plan_step *step) {
  for (int i = 0; i < BSM_STEP_MAX_WEIGHTS; i++) {
    if (step->weights[i] == BSM_NO_WEIGHTS) continue;
    if (t->next + t->weights_room > t->numbers_size) t->next = 0;
    t->weights[step->weights[i]] = t->numbers + t->next;
    const uint64_t size = step->weights[i] < t->draft->plan->weights_count
                              ? t->trials.weights[step->weights[i]].size
                              : t->weights_room;
    t->next += (size + BSM_ALIGNMENT - 1) / BSM_ALIGNMENT * BSM_ALIGNMENT;
  }
}

/* Inputs of floats have usual numbers, others zeros: indices that there are.
 * Those that are weights have numbers anyway. */
static bsm_status fill_inputs(bsm_tactic_timer *t, const bsm_plan_step *step) {
  for (uint32_t i = 0; i < step->input_count; i++) {
    const bsm_plan_tensor *tensor = &t->trials.tensors[step->inputs[i]];
    uint8_t *to = bsm_run_address(&t->run, &t->trials, step->inputs[i]);
    uint64_t bytes;
    if (!bsm_plan_tensor_extent(tensor, &bytes)) {
      return BSM_FAIL(BSM_LIMIT, "a tensor is too large");
    }
    if (tensor->place == BSM_PLACE_WEIGHTS) continue;
    if (!bsm_dtype_is_floating(tensor->dtype) || !t->numbers_size) {
      BSM_TRY(t->ops->fill_zero(t->stream, to, (size_t)bytes));
      continue;
    }
    for (uint64_t at = 0; at < bytes; at += t->numbers_size) {
      const uint64_t left = bytes - at;
      BSM_TRY(t->ops->copy(
          t->stream, to + at, t->numbers,
          (size_t)(left < t->numbers_size ? left : t->numbers_size)));
    }
  }
  return BSM_OK;
}

static bsm_status prepare(bsm_tactic_timer *t, const bsm_plan_step *step,
                          bsm_prepared_step *out) {
  void *scratch;
  BSM_TRY(t->ops->prepare(t->stream, &t->trials, step, t->weights, &t->prepared,
                          out));
  if (out->scratch_size <= t->scratch_size) return BSM_OK;
  BSM_TRY(allocate(t, out->scratch_size, &scratch));
  release(t, t->run.scratch);
  t->run.scratch = scratch;
  t->scratch_size = out->scratch_size;
  return BSM_OK;
}

static bsm_status enqueue(bsm_tactic_timer *t, const bsm_prepared_step *p) {
  change_weights(t, p->step);
  return p->enqueue(p, &t->run);
}

/* ---- measuring ---- */

/* Runs a graph, or else a step by itself. */
static bsm_status measure(bsm_tactic_timer *t, const bsm_recording *graph,
                          const bsm_prepared_step *p, double *seconds) {
  BSM_TRY(t->ops->event_record(t->stream, t->from));
  BSM_TRY(graph ? t->ops->replay(t->stream, graph) : enqueue(t, p));
  BSM_TRY(t->ops->event_record(t->stream, t->to));
  BSM_TRY(t->ops->event_wait(t->to));
  *seconds = t->ops->event_seconds(t->from, t->to);
  return BSM_OK;
}

static bsm_status record(bsm_tactic_timer *t, const bsm_prepared_step *p,
                         int repeats, bsm_recording **out) {
  BSM_TRY(t->ops->record_begin(t->stream));
  bsm_status status = BSM_OK;
  for (int i = 0; i < repeats && !status; i++) status = enqueue(t, p);
  bsm_status ended = t->ops->record_end(t->stream, out);
  if (!status) return ended;
  bsm_status_free(ended);
  t->ops->recording_destroy(*out);
  *out = NULL;
  return status;
}

static bsm_status measure_graph(bsm_tactic_timer *t, const bsm_recording *graph,
                                int repeats, double *seconds) {
  double once = 0, least = 0;
  for (int i = 0; i <= GRAPH_RUNS; i++) {
    BSM_TRY(measure(t, graph, NULL, &once));
    if (i == 1 || (i > 1 && once < least)) least = once;
  }
  *seconds = least / repeats;
  return BSM_OK;
}

/* `best`: the least so far, or 0. */
static bsm_status time_tactic(bsm_tactic_timer *t, const bsm_plan_step *step,
                              double best, double *seconds) {
  bsm_prepared_step p;
  bsm_recording *graph = NULL;
  BSM_TRY(prepare(t, step, &p));
  BSM_TRY(measure(t, NULL, &p, seconds)); /* loads the code */
  if (*seconds > LONG_SECONDS && best > 0 && *seconds > HOPELESS_TIMES * best) {
    return BSM_OK;
  }
  BSM_TRY(measure(t, NULL, &p, seconds));
  if (*seconds > LONG_SECONDS ||
      (best > 0 && *seconds > HOPELESS_TIMES * best + HOPELESS_SECONDS)) {
    return BSM_OK;
  }
  const double wanted = GRAPH_SECONDS / (*seconds > 0 ? *seconds : 1e-6);
  const int repeats = wanted < 2              ? 2
                      : wanted > MOST_REPEATS ? MOST_REPEATS
                                              : (int)wanted;
  BSM_TRY(record(t, &p, repeats, &graph));
  bsm_status status = measure_graph(t, graph, repeats, seconds);
  if (status) bsm_status_free(t->ops->synchronize(t->stream));
  t->ops->recording_destroy(graph);
  return status;
}

static bsm_status time_all(bsm_tactic_timer *t, bsm_plan_step *step,
                           const char *const *tactics, size_t count,
                           double *seconds) {
  double best = 0;
  BSM_TRY(fill_inputs(t, step));
  for (size_t i = 0; i < count; i++) {
    const bsm_arena_mark mark = bsm_arena_get_mark(&t->prepared);
    step->tactic = tactics[i];
    bsm_status status = time_tactic(t, step, best, &seconds[i]);
    bsm_arena_rewind(&t->prepared, mark);
    BSM_TRY(status);
    if (i == 0 || seconds[i] < best) best = seconds[i];
  }
  return BSM_OK;
}

bsm_status bsm_cuda_timer_run(bsm_tactic_timer *t, bsm_plan_step *step,
                              const bsm_pending_pack *pending,
                              const char *const *tactics, size_t count,
                              double *seconds) {
  memset(seconds, 0, count * sizeof(*seconds));
  if (!t->stream) BSM_TRY(start(t));
  if (pending) step->weights[0] = t->draft->plan->weights_count;
  bsm_status status = time_all(t, step, tactics, count, seconds);
  if (pending) step->weights[0] = BSM_NO_WEIGHTS;
  if (!status) return BSM_OK;
  bsm_log(t->draft->logger, BSM_LOG_LEVEL_INFO, "%s cannot be timed: %s",
          step->name, bsm_status_message(status));
  bsm_status_free(status);
  memset(seconds, 0, count * sizeof(*seconds));
  return BSM_OK;
}
