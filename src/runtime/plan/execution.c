/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing what plans run with, copies between memory spaces, and
 * waiting for a device. */
#include "runtime/plan/execution.h"

#include <math.h>

#include "base/isa.h"
#include "base/thread_pool.h"

static bsm_status check_device(const bsm_engine *engine) {
  return engine->devices[bsm_engine_space(engine)]
             ? BSM_OK
             : BSM_FAIL(BSM_NOT_FOUND,
                        "the engine was built for %s, which is not here: save "
                        "it and load it on a machine that has one",
                        engine->plan->target);
}

static bsm_status open_stream(bsm_execution *e,
                              const bsm_execution_options *options,
                              bsm_memory_space space) {
  bsm_device *device = e->engine->devices[space];
  const bool targets = space == bsm_engine_space(e->engine);
  const bsm_stream_options streaming = {
      .allocator = e->allocator,
      .logger = options->logger,
      .pool = e->env.pool,
      .isa = e->isa,
      .profile = options->profile || options->trace,
      .code = space == BSM_SPACE_DEVICE ? e->engine->code : NULL,
      .native = targets ? options->stream : NULL};
  if (!device) return BSM_OK;
  BSM_TRY(
      device->ops->stream_create(device, &streaming, &e->env.streams[space]));
  bsm_workspace_init(&e->workspaces[space], e->env.streams[space], e->allocator,
                     targets ? options->workspace : NULL,
                     targets ? options->workspace_size : 0);
  return BSM_OK;
}

static bsm_status make_event(bsm_execution *e) {
  bsm_stream *stream = e->env.streams[BSM_SPACE_DEVICE];
  if (!stream) return BSM_OK;
  BSM_TRY(stream->device->ops->event_create(stream, &e->transferred));
  return stream->device->ops->event_record(stream, e->transferred);
}

bsm_status bsm_execution_open(const bsm_engine *engine,
                              const bsm_execution_options *options,
                              bsm_execution *out) {
  *out = (bsm_execution){
      .engine = engine,
      .allocator = options->allocator,
      .env = bsm_engine_step_env(engine),
      .work = {.limit = HUGE_VAL, .left = HUGE_VAL},
      .isa = options->isa == BSM_ISA_DETECT ? bsm_isa_detect() : options->isa,
      .profile = options->profile || options->trace,
      .no_graphs =
          options->no_graphs || options->keep_tensors || options->trace};
  bsm_arena_init(&out->step_arena, options->allocator);
  bsm_kept_init(&out->kept, options->allocator, options->keep_tensors);
  BSM_TRY(check_device(engine));
  /* A first block is kept, so that calls with small results need not allocate.
   */
  if (engine->aten) BSM_TRY_ALLOC(bsm_arena_alloc(&out->step_arena, 1, 1));
  if (!options->pool) {
    BSM_TRY(bsm_thread_pool_create(options->threads, options->allocator,
                                   &out->own_pool));
  }
  bsm_run_trace_init(&out->trace, options->trace, options->trace_user,
                     out->own_pool);
  out->env.pool = options->pool ? options->pool : out->own_pool;
  out->env.step_arena = &out->step_arena;
  out->env.work = &out->work;
  out->env.logger = options->logger;
  BSM_TRY(open_stream(out, options, BSM_SPACE_HOST));
  BSM_TRY(open_stream(out, options, BSM_SPACE_DEVICE));
  return make_event(out);
}

void bsm_execution_close(bsm_execution *e) {
  if (e->transferred) {
    e->env.ops[BSM_SPACE_DEVICE]->event_destroy(e->transferred);
  }
  for (int i = 0; i < BSM_MEMORY_SPACES; i++) {
    if (!e->env.streams[i]) continue;
    bsm_status_free(e->env.ops[i]->synchronize(e->env.streams[i]));
    bsm_workspace_destroy(&e->workspaces[i]);
    e->env.ops[i]->stream_destroy(e->env.streams[i]);
  }
  bsm_thread_pool_destroy(e->own_pool);
  bsm_kept_clear(&e->kept);
  bsm_arena_destroy(&e->step_arena);
}

bsm_status bsm_execution_wait(bsm_execution *e) {
  bsm_stream *stream = e->env.streams[BSM_SPACE_DEVICE];
  e->waits++;
  /* Steps of the host have already run. */
  return stream ? e->env.ops[BSM_SPACE_DEVICE]->synchronize(stream) : BSM_OK;
}

bsm_status bsm_execution_look(const bsm_execution *e) {
  bsm_stream *stream = e->env.streams[BSM_SPACE_DEVICE];
  const bsm_device_ops *ops = e->env.ops[BSM_SPACE_DEVICE];
  return stream && ops->look ? ops->look(stream) : BSM_OK;
}

bsm_status bsm_execution_fail(bsm_execution *e, bsm_status status) {
  bsm_status earlier = bsm_execution_wait(e);
  if (!earlier) return status;
  bsm_status_free(status);
  return earlier;
}

bsm_status bsm_execution_copy(bsm_execution *e, void *to,
                              bsm_memory_space to_space, const void *from,
                              bsm_memory_space from_space, size_t bytes) {
  if (to_space == from_space) {
    return e->env.ops[to_space]->copy(e->env.streams[to_space], to, from,
                                      bytes);
  }
  bsm_stream *stream = e->env.streams[BSM_SPACE_DEVICE];
  const bsm_device_ops *ops = e->env.ops[BSM_SPACE_DEVICE];
  BSM_TRY(to_space == BSM_SPACE_DEVICE
              ? ops->upload(stream, to, from, bytes)
              : ops->download(stream, to, from, bytes));
  return ops->event_record(stream, e->transferred);
}

bsm_status bsm_execution_reserve(bsm_execution *e,
                                 const bsm_memory_need *need) {
  for (int i = 0; i < BSM_MEMORY_SPACES; i++) {
    if (!e->env.streams[i]) continue;
    BSM_TRY(bsm_workspace_reserve(&e->workspaces[i], need->workspace[i],
                                  need->scratch[i]));
  }
  return BSM_OK;
}
