/* SPDX-License-Identifier: Apache-2.0 */
/* Engines: loading them, and the devices that they run on. */
#include "runtime/engine/engine.h"

#include <inttypes.h>
#include <string.h>

#include "base/allocate.h"
#include "base/linked.h"
#include "base/options.h"
#include "engine/engine_file.h"
#include "engine/program.h"
#include "runtime/engine/trusted_code.h"
#include "runtime/steps/plugin_step.h"
#include "trust/built_engines.h"

#define CPU "cpu" /* the name of its device, and of its targets */
#define DEFAULT_MAX_FILE_BYTES (UINT64_C(64) << 30)

/* Whether any step or instruction calls the reference library. */
static bool calls_ops(const bsm_plan *plan) {
  bool calls = plan->program != NULL;
  for (uint32_t i = 0; i < plan->step_count && !calls; i++) {
    calls = plan->steps[i].kind == BSM_STEP_ATEN_CALL;
  }
  return calls;
}

static bsm_status check_part(const bsm_step_env *env, const bsm_plan *part) {
  for (uint32_t i = 0; i < part->tensor_count; i++) {
    if (!env->ops[part->tensors[i].space]) {
      return BSM_FAIL(BSM_CORRUPT,
                      "tensor %" PRIu32
                      " of the plan is on a device, in an engine for the CPU",
                      i);
    }
  }
  for (uint32_t i = 0; i < part->step_count; i++) {
    const bsm_plan_step *step = &part->steps[i];
    const bsm_step_driver *driver = bsm_step_driver_of(step->kind);
    const char *kind = bsm_step_kind_name(step->kind);
    BSM_TRY_NOTE(driver ? driver->check(env, part, step)
                        : bsm_fail_not_linked("step", kind),
                 "in step %" PRIu32 " of the plan: %s (%s)", i, kind,
                 step->name);
  }
  return BSM_OK;
}

/* Whether there are the ops that a program calls; contexts check the rest. */
static bsm_status check_ops(const bsm_aten_library *aten,
                            const bsm_program *program) {
  for (uint32_t b = 0; b < program->block_count; b++) {
    const bsm_program_block *block = &program->blocks[b];
    for (uint32_t k = 0; k < block->instruction_count; k++) {
      const bsm_instruction *i = &block->instructions[k];
      if (i->kind == BSM_INSTRUCTION_CALL &&
          !bsm_aten_find(aten, bsm_str_of(i->name))) {
        return bsm_fail_not_linked("op", i->name);
      }
    }
  }
  return BSM_OK;
}

static bsm_status check_steps(bsm_engine *engine, const bsm_plan *plan) {
  if (calls_ops(plan)) {
    bsm_aten_library *library;
    BSM_TRY(bsm_aten_library_create(&engine->arena, &library));
    engine->aten = library;
  }
  if (plan->program) BSM_TRY(check_ops(engine->aten, plan->program));
  const bsm_step_env env = bsm_engine_step_env(engine);
  for (uint32_t k = 0; bsm_plan_part(plan, k); k++) {
    BSM_TRY(check_part(&env, bsm_plan_part(plan, k)));
  }
  return BSM_OK;
}

bsm_step_env bsm_engine_step_env(const bsm_engine *engine) {
  return (bsm_step_env){.allocator = engine->allocator,
                        .ops = {engine->ops[0], engine->ops[1]},
                        .aten = engine->aten,
                        .plugins = engine->plugins};
}

/* ---- devices ---- */

static bsm_str target_name(const bsm_plan *plan) {
  const char *text = plan->target ? plan->target : CPU;
  const char *colon = strchr(text, ':');
  return (bsm_str){text, colon ? (size_t)(colon - text) : strlen(text)};
}

static bsm_status open_cpu(bsm_engine *engine) {
  const bsm_device_options options = {.allocator = engine->allocator};
  const bsm_device_ops **ops = &engine->ops[BSM_SPACE_HOST];
  BSM_TRY(bsm_device_find(bsm_str_of(CPU), ops));
  return (*ops)->open(&options, &engine->devices[BSM_SPACE_HOST]);
}

/* The device that the plan was built for, when it is not the CPU. */
static bsm_status find_device(bsm_engine *engine, const bsm_plan *plan) {
  const bsm_str name = target_name(plan);
  if (bsm_str_eq(name, bsm_str_of(CPU))) return BSM_OK;
  return bsm_status_note(bsm_device_find(name, &engine->ops[BSM_SPACE_DEVICE]),
                         "in an engine for %s", plan->target);
}

static bsm_status open_device(bsm_engine *engine, const bsm_plan *plan,
                              int32_t index) {
  const bsm_device_options options = {.index = index,
                                      .allocator = engine->allocator};
  const bsm_device_ops *ops = engine->ops[BSM_SPACE_DEVICE];
  if (!ops && index == 0) return BSM_OK;
  if (!ops) {
    return BSM_FAIL(BSM_NOT_FOUND,
                    "there is no device %" PRId32
                    " for an engine for the CPU, only 0",
                    index);
  }
  bsm_device **device = &engine->devices[BSM_SPACE_DEVICE];
  engine->device_index = index;
  BSM_TRY_NOTE(ops->open(&options, device), "in an engine for %s",
               plan->target);
  if (ops->code_load) {
    BSM_TRY_NOTE(ops->code_load(*device, plan, &engine->code),
                 "in an engine for %s", plan->target);
  }
  if (ops->host_accessible) return BSM_OK;
  return bsm_device_weights_create(plan, *device, engine->allocator,
                                   &engine->weights);
}

static bsm_status new_engine(const bsm_allocator *allocator, bsm_engine **out) {
  BSM_TRY(bsm_check_linked());
  bsm_engine *engine = bsm_allocate(allocator, sizeof(*engine), 64);
  BSM_TRY_ALLOC(engine);
  memset(engine, 0, sizeof(*engine));
  engine->allocator = allocator;
  atomic_init(&engine->holders, 1);
  bsm_arena_init(&engine->arena, allocator);
  bsm_status status = open_cpu(engine);
  if (status) {
    bsm_deallocate(allocator, engine);
    return status;
  }
  *out = engine;
  return BSM_OK;
}

void bsm_engine_destroy(bsm_engine *engine) {
  if (!engine || atomic_fetch_sub(&engine->holders, 1) > 1) return;
  bsm_device_weights_destroy(engine->weights);
  if (engine->code) engine->ops[BSM_SPACE_DEVICE]->code_unload(engine->code);
  for (int i = 0; i < BSM_MEMORY_SPACES; i++) {
    if (engine->devices[i]) engine->ops[i]->close(engine->devices[i]);
  }
  bsm_arena_destroy(&engine->arena);
  bsm_file_map_close(&engine->map);
  bsm_deallocate(engine->allocator, engine->copy);
  bsm_deallocate(engine->allocator, engine);
}

static bsm_status read_plan(bsm_engine *engine, const void *data, size_t size,
                            const bsm_engine_load_options *options) {
  bsm_plan *plan;
  BSM_TRY(bsm_engine_file_read(&engine->arena, data, size,
                               !options->skip_checksum, &plan));
  BSM_TRY(find_device(engine, plan));
  if (plan->code_count && !options->without_device && !options->trust_code) {
    BSM_TRY(bsm_engine_trust_code(engine, data, size, options, &plan));
    /* It need not be the plan that was there before. */
    engine->ops[BSM_SPACE_DEVICE] = NULL;
    BSM_TRY(find_device(engine, plan));
  }
  BSM_TRY(check_steps(engine, plan));
  if (!options->without_device) {
    BSM_TRY(open_device(engine, plan, options->device));
  }
  BSM_TRY(bsm_plugin_list_layers(plan, &engine->arena, &engine->layers,
                                 &engine->layer_count));
  engine->plan = plan;
  return BSM_OK;
}

/* The caller's options with every default filled in. */
static bsm_status resolve(const bsm_engine_load_options *given,
                          bsm_engine_load_options *out) {
  *out = (bsm_engine_load_options)BSM_ENGINE_LOAD_OPTIONS_INIT;
  BSM_TRY(
      bsm_options_copy(out, sizeof(*out), given, "bsm_engine_load_options"));
  if (!out->max_file_bytes) out->max_file_bytes = DEFAULT_MAX_FILE_BYTES;
  BSM_NEED_ARRAY(out->public_keys, out->public_key_count);
  return BSM_OK;
}

bsm_status bsm_engine_load(const char *path,
                           const bsm_engine_load_options *given,
                           bsm_engine **out) {
  BSM_NEED(out);
  *out = NULL;
  BSM_NEED(path);
  bsm_engine_load_options options;
  BSM_TRY(resolve(given, &options));
  bsm_engine *engine;
  BSM_TRY(new_engine(options.allocator, &engine));
  engine->plugins = options.plugins;
  const bsm_file_map_options reading = {options.max_file_bytes, options.no_map,
                                        options.allocator};
  bsm_status status = bsm_file_map_open(path, &reading, &engine->map);
  if (!status) {
    status = bsm_status_note(
        read_plan(engine, engine->map.data, engine->map.size, &options),
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
  bsm_engine_load_options options;
  BSM_TRY(resolve(given, &options));
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
    status = read_plan(engine, data, size, &options);
  }
  if (status) {
    bsm_engine_destroy(engine);
    return status;
  }
  *out = engine;
  return BSM_OK;
}

/* Engines are built for devices that this machine may lack, or have of another
 * kind. */
static bsm_status try_device(bsm_engine *engine, const bsm_plan *plan) {
  bsm_device **device = &engine->devices[BSM_SPACE_DEVICE];
  bsm_status status = open_device(engine, plan, 0);
  const bsm_code code = bsm_status_code(status);
  if (code != BSM_NOT_FOUND && code != BSM_UNSUPPORTED) return status;
  bsm_status_free(status);
  if (*device) engine->ops[BSM_SPACE_DEVICE]->close(*device);
  *device = NULL;
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
  engine->record = bsm_built_engines_add;
  const bsm_arena empty = engine->arena;
  engine->arena = *arena;
  engine->plugins = plugins;
  bsm_status status = find_device(engine, plan);
  if (!status) status = check_steps(engine, plan);
  if (!status) status = try_device(engine, plan);
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
  bsm_arena_set_guard(&engine->arena, NULL);
  bsm_arena_init(arena, arena->allocator);
  *out = engine;
  return BSM_OK;
}
