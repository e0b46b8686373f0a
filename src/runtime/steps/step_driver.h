/* SPDX-License-Identifier: Apache-2.0 */
/* How steps are run: a driver for each kind, in one table. The kinds of
 * devices share one (device_step.c); calls of the reference library, layers of
 * plug-ins and transfers have their own. */
#ifndef BSM_RUNTIME_STEPS_STEP_DRIVER_H_
#define BSM_RUNTIME_STEPS_STEP_DRIVER_H_

#include "aten/op.h"
#include "backend/device.h"
#include "bessemer/plugin.h"

/* The surroundings of steps. For checking them the first part is enough. */
typedef struct bsm_step_env {
  const bsm_allocator *allocator;
  const bsm_device_ops *ops[BSM_MEMORY_SPACES]; /* NULL: nothing is there */
  const bsm_aten_library *aten;       /* NULL unless a step calls an op */
  const bsm_plugin_registry *plugins; /* may be NULL */
  /* Of a context. */
  bsm_stream *streams[BSM_MEMORY_SPACES]; /* NULL where `ops` is */
  bsm_thread_pool *pool;                  /* for plug-ins */
  bsm_arena *step_arena; /* for what an op allocates; emptied after each step */
  const bsm_logger *logger;
  bsm_work_budget *work; /* of ops that are called */
} bsm_step_env;

typedef struct bsm_step_driver {
  /* Checks everything of a step that running it relies on. The plan has been
   * verified, but may come from a hostile file. */
  bsm_status (*check)(const bsm_step_env *env, const bsm_plan *plan,
                      const bsm_plan_step *step);
  /* Makes a checked step ready to run: fills *out, with memory of `arena`.
   * `runs`: by memory space, what the step will be enqueued with. They do not
   * move, but only their weights have been set. */
  bsm_status (*prepare)(const bsm_step_env *env, const bsm_run *runs,
                        const bsm_plan *plan, const bsm_plan_step *step,
                        bsm_arena *arena, bsm_prepared_step *out);
  /* Releases what prepare took outside of the arena; NULL: nothing. */
  void (*discard)(const bsm_step_env *env, bsm_prepared_step *prepared);
  /* Names what computes the step, for profiles. */
  const char *(*describe)(const bsm_step_env *env,
                          const bsm_prepared_step *prepared);
} bsm_step_driver;

extern const bsm_step_driver bsm_device_step_driver;
#define X(name, number, text, member) \
  extern const bsm_step_driver bsm_##member##_step_driver;
BSM_RUNTIME_STEP_KINDS(X)
#undef X

/* The drivers that are linked (base/linked.h), by step kind. */
extern const bsm_step_driver *const bsm_linked_step_drivers[BSM_STEP_KIND_END];

/* The driver of a kind that bsm_plan_verify lets through; NULL: not linked. */
const bsm_step_driver *bsm_step_driver_of(bsm_step_kind kind);

#endif /* BSM_RUNTIME_STEPS_STEP_DRIVER_H_ */
