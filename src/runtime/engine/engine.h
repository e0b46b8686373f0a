/* SPDX-License-Identifier: Apache-2.0 */
/* The engine object behind the public handle: a verified plan and what keeps
 * its memory alive. */
#ifndef BSM_RUNTIME_ENGINE_ENGINE_H_
#define BSM_RUNTIME_ENGINE_ENGINE_H_

#include "aten/op.h"
#include "backend/device.h"
#include "base/file.h"
#include "bessemer/engine.h"
#include "engine/plan.h"

struct bsm_engine {
  const bsm_allocator *allocator; /* NULL: malloc */
  bsm_device *device;             /* that runs the plan's steps */
  bsm_arena arena; /* the plan, and weights that are not in `map` */
  bsm_file_map map;
  const bsm_plan *plan;
  const bsm_aten_library *aten;       /* NULL unless a step calls an op */
  const bsm_plugin_registry *plugins; /* may be NULL */
  bsm_engine_layer *layers;           /* the custom layers of the plan */
  size_t layer_count;
};

/* An engine around a plan that the builder made. On success the engine owns
 * the memory of `arena` (which is left empty); on failure the caller keeps
 * it. The plan is verified and checked by the backend, or with `plugins` (may
 * be NULL). */
BSM_NODISCARD bsm_status bsm_engine_adopt(bsm_arena *arena,
                                          const bsm_plan *plan,
                                          const bsm_allocator *allocator,
                                          const bsm_plugin_registry *plugins,
                                          bsm_engine **out);

#endif /* BSM_RUNTIME_ENGINE_ENGINE_H_ */
