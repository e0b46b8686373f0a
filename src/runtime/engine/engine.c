/* SPDX-License-Identifier: Apache-2.0 */
/* Engines: loading, saving, what they tell of themselves. */
#include "runtime/engine/engine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"
#include "base/checked.h"
#include "base/options.h"
#include "engine/engine_file.h"
#include "engine/plan_work.h"
#include "engine/program.h"
#include "plugin/plugin_registry.h"
#include "runtime/steps/aten_step.h"
#include "runtime/steps/plugin_step.h"

#ifndef BSM_VERSION_STRING
#define BSM_VERSION_STRING "0.1.0"
#endif

#define DEFAULT_MAX_FILE_BYTES (UINT64_C(64) << 30)

const char *bsm_version(void) {
  return BSM_VERSION_STRING;
}

static bsm_status check_step(bsm_engine *engine, const bsm_plan *plan,
                             const bsm_plan_step *step) {
  if (step->kind == BSM_STEP_PLUGIN) {
    return bsm_plugin_step_check(engine->plugins, plan, step);
  }
  if (step->kind != BSM_STEP_ATEN_CALL) {
    return engine->device->ops->check(plan, step);
  }
  bsm_arena scratch;
  bsm_arena_init(&scratch, engine->allocator);
  bsm_status status = bsm_aten_step_check(engine->aten, plan, step, &scratch);
  bsm_arena_destroy(&scratch);
  return status;
}

/* Whether anything is left to the reference library. */
static bool calls_ops(const bsm_plan *plan) {
  bool calls = plan->program != NULL;
  for (uint32_t i = 0; i < plan->step_count && !calls; i++) {
    calls = plan->steps[i].kind == BSM_STEP_ATEN_CALL;
  }
  return calls;
}

static bsm_status check_steps(bsm_engine *engine, const bsm_plan *plan) {
  if (calls_ops(plan)) {
    bsm_aten_library *library;
    BSM_TRY(bsm_aten_library_create(&engine->arena, &library));
    engine->aten = library;
  }
  for (uint32_t k = 0; bsm_plan_part(plan, k); k++) {
    const bsm_plan *part = bsm_plan_part(plan, k);
    for (uint32_t i = 0; i < part->step_count; i++) {
      BSM_TRY_NOTE(check_step(engine, part, &part->steps[i]),
                   "in step %" PRIu32 " of the plan: %s (%s)", i,
                   bsm_step_kind_name(part->steps[i].kind),
                   part->steps[i].name);
    }
  }
  return BSM_OK;
}

static bsm_status open_device(const bsm_allocator *allocator,
                              bsm_device **out) {
  const bsm_device_options options = {.allocator = allocator};
  const bsm_device_ops *ops;
  *out = NULL;
  BSM_TRY(bsm_device_find(bsm_str_of("cpu"), &ops));
  return ops->open(&options, out);
}

static bsm_status new_engine(const bsm_allocator *allocator, bsm_engine **out) {
  bsm_engine *engine = bsm_allocate(allocator, sizeof(*engine), 64);
  BSM_TRY_ALLOC(engine);
  memset(engine, 0, sizeof(*engine));
  engine->allocator = allocator;
  bsm_arena_init(&engine->arena, allocator);
  bsm_status status = open_device(allocator, &engine->device);
  if (status) {
    bsm_deallocate(allocator, engine);
    return status;
  }
  *out = engine;
  return BSM_OK;
}

void bsm_engine_destroy(bsm_engine *engine) {
  if (!engine) return;
  engine->device->ops->close(engine->device);
  bsm_arena_destroy(&engine->arena);
  bsm_file_map_close(&engine->map);
  bsm_deallocate(engine->allocator, engine);
}

static bsm_status read_plan(bsm_engine *engine, const void *data, size_t size,
                            bool check_weights) {
  bsm_plan *plan;
  BSM_TRY(
      bsm_engine_file_read(&engine->arena, data, size, check_weights, &plan));
  BSM_TRY(check_steps(engine, plan));
  BSM_TRY(bsm_plugin_list_layers(plan, &engine->arena, &engine->layers,
                                 &engine->layer_count));
  engine->plan = plan;
  return BSM_OK;
}

/* The caller's options with every default filled in. */
static bsm_engine_load_options resolve(const bsm_engine_load_options *given) {
  bsm_engine_load_options options = BSM_ENGINE_LOAD_OPTIONS_INIT;
  bsm_options_copy(&options, sizeof(options), given);
  if (!options.max_file_bytes) options.max_file_bytes = DEFAULT_MAX_FILE_BYTES;
  return options;
}

bsm_status bsm_engine_load(const char *path,
                           const bsm_engine_load_options *given,
                           bsm_engine **out) {
  BSM_NEED(out);
  *out = NULL;
  BSM_NEED(path);
  const bsm_engine_load_options options = resolve(given);
  bsm_engine *engine;
  BSM_TRY(new_engine(options.allocator, &engine));
  engine->plugins = options.plugins;
  bsm_status status =
      bsm_file_map_open(path, options.max_file_bytes, &engine->map);
  if (!status) {
    status =
        bsm_status_note(read_plan(engine, engine->map.data, engine->map.size,
                                  !options.skip_checksum),
                        "in the engine %s", path);
  }
  if (status) {
    bsm_engine_destroy(engine);
    return status;
  }
  bsm_log(options.logger, BSM_LOG_LEVEL_INFO,
          "loaded engine %s: %" PRIu32 " steps", path,
          bsm_plan_total_steps(engine->plan));
  *out = engine;
  return BSM_OK;
}

bsm_status bsm_engine_load_memory(const void *data, size_t size,
                                  const bsm_engine_load_options *given,
                                  bsm_engine **out) {
  BSM_NEED(out);
  *out = NULL;
  BSM_NEED_ARRAY(data, size);
  const bsm_engine_load_options options = resolve(given);
  bsm_engine *engine;
  BSM_TRY(new_engine(options.allocator, &engine));
  engine->plugins = options.plugins;
  bsm_status status = BSM_OK;
  if (size > 0 && (uintptr_t)data % BSM_ALIGNMENT != 0) {
    void *copy = bsm_arena_alloc(&engine->arena, size, BSM_ALIGNMENT);
    if (copy) memcpy(copy, data, size);
    if (!copy) status = BSM_FAIL_OOM();
    data = copy;
  }
  if (!status) {
    status = read_plan(engine, data, size, !options.skip_checksum);
  }
  if (status) {
    bsm_engine_destroy(engine);
    return status;
  }
  *out = engine;
  return BSM_OK;
}

bsm_status bsm_engine_adopt(bsm_arena *arena, const bsm_plan *plan,
                            const bsm_allocator *allocator,
                            const bsm_plugin_registry *plugins,
                            bsm_engine **out) {
  *out = NULL;
  bsm_engine *engine;
  BSM_TRY_NOTE(bsm_plan_verify(plan), "in a plan just built");
  BSM_TRY(new_engine(allocator, &engine));
  engine->plan = plan;
  const bsm_arena empty = engine->arena;
  engine->arena = *arena;
  engine->plugins = plugins;
  bsm_status status = check_steps(engine, plan);
  if (!status) {
    status = bsm_plugin_list_layers(plan, &engine->arena, &engine->layers,
                                    &engine->layer_count);
  }
  if (status) {
    *arena = engine->arena;
    engine->arena = empty;
    bsm_engine_destroy(engine);
    return bsm_status_note(status, "in a plan just built");
  }
  bsm_arena_init(arena, arena->allocator);
  *out = engine;
  return BSM_OK;
}

bsm_status bsm_engine_save(const bsm_engine *engine, const char *path) {
  BSM_NEED(engine);
  BSM_NEED(path);
  return bsm_status_note(bsm_engine_file_write(engine->plan, path),
                         "while writing the engine %s", path);
}

size_t bsm_engine_input_count(const bsm_engine *engine) {
  return engine->plan->input_count;
}

size_t bsm_engine_output_count(const bsm_engine *engine) {
  return engine->plan->output_count;
}

static bsm_binding binding_of(const bsm_plan *plan, const bsm_plan_binding *b) {
  const bsm_plan_tensor *t = &plan->tensors[b->tensor];
  return (bsm_binding){b->name, t->dtype, t->dims};
}

bsm_status bsm_engine_input(const bsm_engine *engine, size_t index,
                            bsm_binding *out) {
  BSM_NEED(engine);
  if (index >= engine->plan->input_count) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "input %zu of an engine with %" PRIu32,
                    index, engine->plan->input_count);
  }
  *out = binding_of(engine->plan, &engine->plan->inputs[index]);
  return BSM_OK;
}

bsm_status bsm_engine_output(const bsm_engine *engine, size_t index,
                             bsm_binding *out) {
  BSM_NEED(engine);
  if (index >= engine->plan->output_count) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "output %zu of an engine with %" PRIu32,
                    index, engine->plan->output_count);
  }
  *out = binding_of(engine->plan, &engine->plan->outputs[index]);
  return BSM_OK;
}

bsm_status bsm_engine_input_range(const bsm_engine *engine, size_t index,
                                  bsm_dims *min, bsm_dims *opt, bsm_dims *max) {
  bsm_binding binding;
  BSM_TRY(bsm_engine_input(engine, index, &binding));
  const bsm_program *p = engine->plan->program;
  bsm_program_range range = {0, binding.dims, binding.dims, binding.dims};
  for (uint32_t i = 0; p && i < p->range_count; i++) {
    if (p->ranges[i].input == index) range = p->ranges[i];
  }
  if (min) *min = range.min;
  if (opt) *opt = range.opt;
  if (max) *max = range.max;
  return BSM_OK;
}

static bsm_status find_binding(const bsm_plan_binding *bindings, uint32_t count,
                               const char *what, const char *name,
                               size_t *out) {
  for (uint32_t i = 0; i < count; i++) {
    if (strcmp(bindings[i].name, name) != 0) continue;
    *out = i;
    return BSM_OK;
  }
  bsm_arena arena;
  bsm_text names;
  bsm_arena_init(&arena, NULL);
  bsm_text_init(&names, &arena);
  for (uint32_t i = 0; i < count && names.len < 1000; i++) {
    bsm_text_printf(&names, "%s%s", i ? ", " : "", bindings[i].name);
  }
  bsm_status status =
      BSM_FAIL(BSM_NOT_FOUND, "the engine has no %s \"%s\"; there are: %s",
               what, name, names.len ? names.data : "none");
  bsm_arena_destroy(&arena);
  return status;
}

bsm_status bsm_engine_find_input(const bsm_engine *engine, const char *name,
                                 size_t *out) {
  BSM_NEED(engine);
  BSM_NEED(name);
  BSM_NEED(out);
  return find_binding(engine->plan->inputs, engine->plan->input_count, "input",
                      name, out);
}

bsm_status bsm_engine_find_output(const bsm_engine *engine, const char *name,
                                  size_t *out) {
  BSM_NEED(engine);
  BSM_NEED(name);
  BSM_NEED(out);
  return find_binding(engine->plan->outputs, engine->plan->output_count,
                      "output", name, out);
}

const bsm_structure *bsm_engine_input_structure(const bsm_engine *engine) {
  return engine->plan->input_structure;
}

const bsm_structure *bsm_engine_output_structure(const bsm_engine *engine) {
  return engine->plan->output_structure;
}

bsm_status bsm_structure_text(const bsm_structure *node, char **out) {
  BSM_NEED(out);
  *out = NULL;
  BSM_NEED(node);
  bsm_arena arena;
  bsm_text text;
  bsm_arena_init(&arena, NULL);
  bsm_text_init(&text, &arena);
  bsm_structure_print(&text, node);
  if (!text.failed) *out = strdup(text.data);
  bsm_arena_destroy(&arena);
  return *out ? BSM_OK : BSM_FAIL_OOM();
}

const char *bsm_engine_metadata(const bsm_engine *engine, const char *key) {
  for (uint32_t i = 0; i < engine->plan->metadata_count; i++) {
    if (strcmp(engine->plan->metadata[i].key, key) == 0) {
      return engine->plan->metadata[i].value;
    }
  }
  return NULL;
}

bool bsm_engine_metadata_at(const bsm_engine *engine, size_t index,
                            const char **key, const char **value) {
  if (index >= engine->plan->metadata_count) return false;
  *key = engine->plan->metadata[index].key;
  *value = engine->plan->metadata[index].value;
  return true;
}

size_t bsm_engine_step_count(const bsm_engine *engine) {
  return bsm_plan_total_steps(engine->plan);
}

static bsm_status find_step(const bsm_engine *engine, size_t index,
                            const bsm_plan **plan, const bsm_plan_step **step) {
  const uint32_t count = bsm_plan_total_steps(engine->plan);
  if (index >= count) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "step %zu of an engine with %" PRIu32,
                    index, count);
  }
  uint32_t part, at;
  *plan = bsm_plan_find_step(engine->plan, (uint32_t)index, &part, &at);
  *step = &(*plan)->steps[at];
  return BSM_OK;
}

bsm_status bsm_engine_step(const bsm_engine *engine, size_t index,
                           bsm_step_info *out) {
  BSM_NEED(engine);
  const bsm_plan *plan;
  const bsm_plan_step *step;
  BSM_TRY(find_step(engine, index, &plan, &step));
  const bsm_work work = bsm_step_work(plan, step);
  *out = (bsm_step_info){step->name,   bsm_step_kind_name(step->kind),
                         step->tactic, work.flops,
                         work.bytes,   step->trial_count};
  return BSM_OK;
}

bsm_status bsm_engine_step_trial(const bsm_engine *engine, size_t step_index,
                                 size_t index, bsm_step_trial *out) {
  BSM_NEED(engine);
  const bsm_plan *plan;
  const bsm_plan_step *step;
  BSM_TRY(find_step(engine, step_index, &plan, &step));
  if (index >= step->trial_count) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "trial %zu of a step with %" PRIu32,
                    index, step->trial_count);
  }
  const bsm_plan_trial *trial = &step->trials[index];
  *out = (bsm_step_trial){trial->tactic, 1e-9 * (double)trial->nanoseconds};
  return BSM_OK;
}

size_t bsm_engine_layer_count(const bsm_engine *engine) {
  return engine->layer_count;
}

bsm_status bsm_engine_get_layer(const bsm_engine *engine, size_t index,
                                bsm_engine_layer *out) {
  BSM_NEED(engine);
  if (index >= engine->layer_count) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "custom layer %zu of an engine with %zu",
                    index, engine->layer_count);
  }
  *out = engine->layers[index];
  out->registered =
      bsm_plugin_find_layer(engine->plugins, out->name, out->version) != NULL;
  return BSM_OK;
}

bsm_status bsm_engine_dump(const bsm_engine *engine, char **out) {
  *out = NULL;
  BSM_NEED(engine);
  bsm_arena arena;
  bsm_text text;
  bsm_arena_init(&arena, engine->allocator);
  bsm_text_init(&text, &arena);
  bsm_plan_print(&text, engine->plan);
  if (!text.failed) *out = strdup(text.data);
  bsm_arena_destroy(&arena);
  return *out ? BSM_OK : BSM_FAIL_OOM();
}

void bsm_string_free(char *text) {
  free(text);
}
