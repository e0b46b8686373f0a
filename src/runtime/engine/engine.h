/* SPDX-License-Identifier: Apache-2.0 */
/* The engine object behind the public handle: a verified plan and what keeps
 * its memory alive. */
#ifndef BSM_RUNTIME_ENGINE_ENGINE_H_
#define BSM_RUNTIME_ENGINE_ENGINE_H_

#include <stdatomic.h>

#include "aten/op.h"
#include "backend/device.h"
#include "base/file.h"
#include "bessemer/engine.h"
#include "engine/plan.h"
#include "runtime/engine/device_weights.h"
#include "runtime/steps/step_driver.h"

struct bsm_engine {
  const bsm_allocator *allocator; /* NULL: malloc */
  /* The devices of the memory spaces: the CPU, and the device of the plan's
   * target. For an engine for the CPU, `ops` of the second is NULL. Where the
   * machine lacks the device, only the device itself is NULL. */
  const bsm_device_ops *ops[BSM_MEMORY_SPACES];
  bsm_device *devices[BSM_MEMORY_SPACES];
  int32_t device_index; /* of the second one */
  bsm_device_weights
      *weights; /* in the device's memory; NULL: the device reads the host's */
  bsm_code_image *code; /* of the second one; NULL: it needs none */
  bsm_arena arena;      /* the plan, and weights that are not in `map` */
  bsm_file_map map;
  void *copy; /* of a file that others might change; or NULL */
  /* Notes that this user has built the file with this hash; NULL: this process
   * has not compiled the engine. Libraries that only load have no use for it.
   */
  bsm_status (*record)(const uint8_t digest[64]);
  const bsm_plan *plan;
  const bsm_aten_library *aten;       /* NULL unless a step calls an op */
  const bsm_plugin_registry *plugins; /* may be NULL */
  bsm_engine_layer *layers;           /* the custom layers of the plan */
  size_t layer_count;
  /* The caller, and each context: the last to go releases the engine. */
  atomic_size_t holders;
};

/* Keeps the engine until bsm_engine_destroy was called once more. */
static inline void bsm_engine_hold(const bsm_engine *engine) {
  atomic_fetch_add(&((bsm_engine *)(uintptr_t)engine)->holders, 1);
}

/* What the drivers of steps need of the engine. */
bsm_step_env bsm_engine_step_env(const bsm_engine *engine);
/* The memory space of the plan's target. */
static inline bsm_memory_space bsm_engine_space(const bsm_engine *engine) {
  return engine->ops[BSM_SPACE_DEVICE] ? BSM_SPACE_DEVICE : BSM_SPACE_HOST;
}

/* An engine around a plan that the builder made. On success the engine owns the
 * memory of `arena` (which is left empty); on failure the caller keeps it. The
 * plan is verified and its steps checked, with `plugins` (may be NULL). Where
 * the machine lacks the engine's device, the engine can be saved but not run.
 */
BSM_NODISCARD bsm_status bsm_engine_adopt(bsm_arena *arena,
                                          const bsm_plan *plan,
                                          const bsm_allocator *allocator,
                                          const bsm_plugin_registry *plugins,
                                          bsm_engine **out);

#endif /* BSM_RUNTIME_ENGINE_ENGINE_H_ */
