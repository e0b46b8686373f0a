/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of one step, made by hand as the conformance suite makes them, and the
 * time that the step takes: what the programs of this folder time steps with.
 *
 *   one_step s;
 *   one_step_start(&s, BSM_STEP_COPY);
 *   one_step_add(&s, false, BSM_DTYPE_FLOAT, dims, NULL);
 *   one_step_add(&s, true, BSM_DTYPE_FLOAT, dims, strides);
 *   one_step_time(&s, &how, "default", &seconds, &tactic);
 *   one_step_free(&s);
 *
 * Tensors have small positive values. Memory that is not there ends the
 * program. */
#ifndef BENCH_ONE_STEP_H_
#define BENCH_ONE_STEP_H_

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aten/tensor.h"
#include "backend/device.h"
#include "base/caches.h"
#include "builder/target.h"

#define ONE_STEP_TENSORS 8
#define ONE_STEP_UNUSED __attribute__((unused))

typedef struct one_step {
  bsm_plan plan;
  bsm_plan_tensor tensors[ONE_STEP_TENSORS];
  bsm_plan_step step;
  bsm_step_params params;
  bsm_plan_weights weights[BSM_STEP_MAX_WEIGHTS];
  void *data[ONE_STEP_TENSORS], *inputs[ONE_STEP_TENSORS];
  void *outputs[ONE_STEP_TENSORS];
  uint32_t input_ids[ONE_STEP_TENSORS], output_ids[ONE_STEP_TENSORS];
  void *weight_data[BSM_STEP_MAX_WEIGHTS];
  /* weights[0] before packing: their target, values and dtype. */
  const bsm_target *target;
  void *values;
  bsm_dtype values_dtype;
  int64_t in_maps;
} one_step;

static ONE_STEP_UNUSED void *one_step_allocate(size_t size) {
  void *p = aligned_alloc(64, (size + 63) / 64 * 64 + 64);
  if (!p) abort();
  return p;
}

static ONE_STEP_UNUSED void one_step_start(one_step *s, bsm_step_kind kind) {
  memset(s, 0, sizeof(*s));
  s->plan.tensors = s->tensors;
  s->plan.steps = &s->step;
  s->plan.step_count = 1;
  s->plan.weights = s->weights;
  s->step.kind = kind;
  s->step.name = s->step.tactic = "";
  s->step.params = &s->params;
  s->step.inputs = s->input_ids;
  s->step.outputs = s->output_ids;
  for (int i = 0; i < BSM_STEP_MAX_WEIGHTS; i++) {
    s->step.weights[i] = BSM_NO_WEIGHTS;
  }
}

/* Some numbers from 0.5 to 2.1, and whole ones from 1 to 17. */
static ONE_STEP_UNUSED void one_step_fill(bsm_dtype dtype, void *data,
                                          size_t bytes) {
  const size_t size = bsm_dtype_size(dtype), all = bytes / size;
  const size_t n = all < 4096 ? all : 4096;
  for (size_t i = 0; i < n; i++) {
    const int k = (int)((i * 7 + i / 31) % 17);
    const double x = (double)k * 0.1 + 0.5;
    switch (dtype) {
      case BSM_DTYPE_FLOAT:
        ((float *)data)[i] = (float)x;
        break;
      case BSM_DTYPE_DOUBLE:
        ((double *)data)[i] = x;
        break;
      case BSM_DTYPE_HALF: /* of 1 to 2 */
        ((uint16_t *)data)[i] = (uint16_t)(0x3c00 + (k << 5));
        break;
      case BSM_DTYPE_BFLOAT16:
        ((uint16_t *)data)[i] = (uint16_t)(0x3f80 + (k << 2));
        break;
      case BSM_DTYPE_INT64:
        ((int64_t *)data)[i] = k + 1;
        break;
      case BSM_DTYPE_INT32:
        ((int32_t *)data)[i] = k + 1;
        break;
      case BSM_DTYPE_INT16:
        ((int16_t *)data)[i] = (int16_t)(k + 1);
        break;
      case BSM_DTYPE_BOOL:
        ((uint8_t *)data)[i] = k % 3 == 0;
        break;
      default:
        ((uint8_t *)data)[i] = (uint8_t)(k + 1);
        break;
    }
  }
  for (size_t i = n; i < all;) { /* the same again */
    const size_t more = all - i < n ? all - i : n;
    memcpy((char *)data + i * size, data, more * size);
    i += more;
  }
}

/* Adds an input or output and returns its data. `strides` NULL: row-major. */
static ONE_STEP_UNUSED void *one_step_add(one_step *s, bool output,
                                          bsm_dtype dtype, bsm_dims dims,
                                          const int64_t *strides) {
  const uint32_t id = s->plan.tensor_count++;
  bsm_plan_tensor *t = &s->tensors[id];
  uint64_t extent;
  if (id >= ONE_STEP_TENSORS) abort();
  *t = (bsm_plan_tensor){.name = "",
                         .dtype = dtype,
                         .dims = dims,
                         .place = output ? BSM_PLACE_OUTPUT : BSM_PLACE_INPUT};
  if (strides) {
    memcpy(t->strides, strides, (size_t)dims.rank * sizeof(*strides));
  } else {
    bsm_contiguous_strides(dims, t->strides);
  }
  if (!bsm_plan_tensor_extent(t, &extent)) abort();
  void *data = s->data[id] = one_step_allocate((size_t)extent);
  one_step_fill(dtype, data, (size_t)extent);
  if (output) {
    t->index = s->step.output_count;
    s->outputs[t->index] = data;
    s->step.outputs[s->step.output_count++] = id;
    s->plan.output_count = s->step.output_count;
  } else {
    t->index = s->step.input_count;
    s->inputs[t->index] = data;
    s->step.inputs[s->step.input_count++] = id;
    s->plan.input_count = s->step.input_count;
  }
  return data;
}

static ONE_STEP_UNUSED void one_step_channels_last(bsm_dims d,
                                                   int64_t *strides) {
  int64_t step = d.d[1];
  strides[1] = 1;
  for (int32_t i = d.rank - 1; i >= 2; i--) {
    strides[i] = step;
    step *= d.d[i];
  }
  strides[0] = step;
}

/* `size` bytes of weights in slot `slot`. */
static ONE_STEP_UNUSED void *one_step_add_weights(one_step *s, int slot,
                                                  size_t size) {
  const uint32_t id = s->plan.weights_count++;
  void *data = s->weight_data[id] = one_step_allocate(size);
  s->weights[id] = (bsm_plan_weights){.data = data, .size = size};
  s->step.weights[slot] = id;
  return data;
}

/* Packs weights[0] as the parameters say: again for another form. */
static ONE_STEP_UNUSED bsm_status one_step_pack(one_step *s) {
  const bsm_target_ops *ops = s->target->ops;
  const size_t element = bsm_dtype_size(s->values_dtype);
  uint64_t size;
  BSM_TRY(ops->pack(s->target, &s->step, s->in_maps, s->values, element, false,
                    NULL, &size));
  const uint32_t id = s->step.weights[0];
  free(s->weight_data[id]);
  s->weight_data[id] = one_step_allocate((size_t)size);
  s->weights[id] = (bsm_plan_weights){.data = s->weight_data[id], .size = size};
  return ops->pack(s->target, &s->step, s->in_maps, s->values, element, false,
                   s->weight_data[id], &size);
}

/* `count` values of weights[0], which the target packs. */
static ONE_STEP_UNUSED bsm_status one_step_add_packed(one_step *s,
                                                      const bsm_target *target,
                                                      bsm_dtype dtype,
                                                      int64_t in_maps,
                                                      size_t count) {
  const size_t bytes = count * bsm_dtype_size(dtype);
  s->target = target;
  s->values = one_step_allocate(bytes);
  s->values_dtype = dtype;
  s->in_maps = in_maps;
  one_step_fill(dtype, s->values, bytes);
  one_step_add_weights(s, 0, 64);
  return one_step_pack(s);
}

static ONE_STEP_UNUSED void one_step_free(one_step *s) {
  for (int i = 0; i < ONE_STEP_TENSORS; i++) free(s->data[i]);
  for (int i = 0; i < BSM_STEP_MAX_WEIGHTS; i++) free(s->weight_data[i]);
  free(s->values);
}

/* ---- time ---- */

typedef struct one_step_how {
  bsm_stream *stream;
  /* CLOCK_THREAD_CPUTIME_ID: with one thread, other programs do not count. */
  clockid_t clock;
  double seconds; /* all runs together, but that there is one */
  bool cold;      /* takes the weights out of the caches before each run */
} one_step_how;

static ONE_STEP_UNUSED double one_step_now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The shortest run. */
static ONE_STEP_UNUSED bsm_status one_step_best(const one_step *s,
                                                const one_step_how *how,
                                                const bsm_prepared_step *p,
                                                double *best) {
  uint8_t *scratch = one_step_allocate(p->scratch_size);
  const bsm_run run = {.stream = how->stream,
                       .inputs = (void *const *)s->inputs,
                       .outputs = (void *const *)s->outputs,
                       .scratch = scratch};
  const double end = one_step_now(how->clock) + how->seconds;
  bsm_status status;
  double now;
  *best = 1e9;
  do {
    if (how->cold && s->weight_data[0]) {
      bsm_evict_from_caches(s->weight_data[0], (size_t)s->weights[0].size);
    }
    const double start = one_step_now(how->clock);
    status = p->enqueue(p, &run);
    now = one_step_now(how->clock);
    if (now - start < *best) *best = now - start;
  } while (!status && now < end);
  free(scratch);
  return status;
}

/* Times the step with a tactic, whose form of weights it gets. `description`
 * has room for 64 characters: what the device calls the tactic. */
static ONE_STEP_UNUSED bsm_status one_step_time(one_step *s,
                                                const one_step_how *how,
                                                const char *tactic,
                                                double *best,
                                                char *description) {
  const bsm_device_ops *ops = how->stream->device->ops;
  bsm_arena arena;
  bsm_prepared_step prepared;
  s->step.tactic = tactic;
  if (s->step.kind == BSM_STEP_CONVOLUTION && s->target) {
    s->target->ops->adopt(s->target, &s->step, tactic, &s->params);
    BSM_TRY(one_step_pack(s));
  }
  bsm_arena_init(&arena, NULL);
  bsm_status status =
      ops->prepare(how->stream, &s->plan, &s->step, NULL, &arena, &prepared);
  if (!status) {
    snprintf(description, 64, "%s", ops->describe(&prepared));
    status = one_step_best(s, how, &prepared, best);
  }
  bsm_arena_destroy(&arena);
  return status;
}

#endif /* BENCH_ONE_STEP_H_ */
