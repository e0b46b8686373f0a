/* SPDX-License-Identifier: Apache-2.0 */
/* A table of entries that is searched from end to end: there are few. Shapes
 * are told apart by a list of words: the region, dtypes and dims of tensors,
 * values of numbers. Shapes that cannot be planned have an entry, too, so that
 * planning is not tried again on every run. Plans are made with the weights
 * that the engine has packed; what they and the making of them take is bounded.
 */
#include "runtime/shapes/shape_plans.h"

#include <inttypes.h>
#include <string.h>

#include "base/allocate.h"
#include "base/block_cache.h"
#include "base/hash.h"

/* Plans for each region, when the options do not say; and for all of them. */
#define DEFAULT_CAPACITY 16
#define MAX_DEFAULT_CAPACITY 512
#define MAX_CAPACITY ((size_t)1 << 16)
/* What all plans together may take, on top of twice the engine's weights. */
#define MAX_PLAN_BYTES ((size_t)1 << 30)
/* A workspace beyond it is refused, when the options do not say. */
#define MAX_RUN_BYTES ((uint64_t)16 << 30)
/* Weights that a region packs because the engine has them not: no more than the
 * engine's weights, and so much. */
#define EXTRA_PACKED_BYTES ((uint64_t)64 << 20)
/* Planning may take what a run may, and so much for its own tables. */
#define PLANNING_BYTES ((size_t)64 << 20)

/* What tells shapes apart: words, see describe(). */
typedef struct entry {
  uint64_t *words;
  size_t word_count;
  uint64_t hash;
  uint64_t used; /* the time of the last use; 0: empty */
  bool refused;
  bsm_arena arena;
  bsm_shape_plan plan;
} entry;

struct bsm_shape_plans {
  const bsm_engine *engine;
  const bsm_allocator *allocator;
  bsm_block_cache blocks; /* memory of making plans, and of plans */
  bsm_execution *execution;
  bsm_run_limits limits;
  bsm_arena arena;
  bsm_region_planner *planner; /* NULL until a plan is made */
  bool broken;                 /* the engine does not allow for one */
  entry *entries;
  size_t capacity;
  size_t max_bytes; /* of all entries' plans */
  uint64_t clock, made;
  BSM_VEC(uint64_t) words; /* of the shapes asked for */
};

/* ---- making and destroying ---- */

bsm_status bsm_shape_plans_create(bsm_execution *execution,
                                  const bsm_run_limits *limits, size_t capacity,
                                  bsm_shape_plans **out) {
  const bsm_engine *engine = execution->engine;
  const bsm_allocator *allocator = execution->allocator;
  *out = NULL;
  bsm_shape_plans *plans =
      bsm_allocate(allocator, sizeof(*plans), _Alignof(bsm_shape_plans));
  BSM_TRY_ALLOC(plans);
  *plans = (bsm_shape_plans){.engine = engine,
                             .allocator = allocator,
                             .execution = execution,
                             .limits = *limits};
  const size_t regions = bsm_program_region_count(engine->plan->program);
  plans->capacity = capacity ? capacity
                    : regions < MAX_DEFAULT_CAPACITY / DEFAULT_CAPACITY
                        ? DEFAULT_CAPACITY * regions
                        : MAX_DEFAULT_CAPACITY;
  if (plans->capacity > MAX_CAPACITY) plans->capacity = MAX_CAPACITY;
  bsm_block_cache_init(&plans->blocks, allocator);
  bsm_arena_init(&plans->arena, allocator);
  plans->entries = BSM_NEW_ARRAY(&plans->arena, entry, plans->capacity + 1);
  if (!plans->entries) {
    bsm_shape_plans_destroy(plans);
    return BSM_FAIL_OOM();
  }
  *out = plans;
  return BSM_OK;
}

/* Forgets a plan. */
static void clear(entry *e) {
  bsm_plan_runner_destroy(&e->plan.runner);
  bsm_arena_destroy(&e->arena);
  *e = (entry){.arena = e->arena};
}

void bsm_shape_plans_destroy(bsm_shape_plans *plans) {
  if (!plans) return;
  for (size_t i = 0; plans->entries && i < plans->capacity; i++) {
    clear(&plans->entries[i]);
  }
  if (plans->planner) bsm_linked_region_planner->destroy(plans->planner);
  bsm_arena_destroy(&plans->arena);
  bsm_block_cache_destroy(&plans->blocks);
  bsm_deallocate(plans->allocator, plans);
}

/* ---- the planner ---- */

static bsm_status find_planner(const bsm_region_planner_ops **out) {
  *out = bsm_linked_region_planner;
  if (!*out) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "the engine brings no plan for inputs of these shapes, and "
                    "libbessemer-runtime makes none: link "
                    "libbessemer-runtime-shapes instead, or compile the model "
                    "for these shapes");
  }
  if ((*out)->version == BSM_REGION_PLANNER_VERSION) return BSM_OK;
  return BSM_FAIL(BSM_INTERNAL,
                  "the planner has version %" PRIu32
                  " of the interface, this runtime %d",
                  (*out)->version, BSM_REGION_PLANNER_VERSION);
}

static uint64_t weights_bytes(const bsm_plan *plan) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < plan->weights_count; i++) {
    bytes += plan->weights[i].size;
  }
  return bytes;
}

/* What went wrong once goes wrong again, but for want of memory. */
static bsm_status make_planner(bsm_shape_plans *plans) {
  if (plans->planner) return BSM_OK;
  const bsm_region_planner_ops *ops;
  const bsm_engine *engine = plans->engine;
  const uint64_t bytes = weights_bytes(engine->plan);
  bsm_region_planner_options options = {
      .plan = engine->plan,
      .aten = engine->aten,
      .allocator = &plans->blocks.allocator,
      .max_packed_bytes = bytes + EXTRA_PACKED_BYTES};
  const bsm_run_limits *limits = &plans->limits;
  if (limits->max_bytes < SIZE_MAX - PLANNING_BYTES && limits->max_bytes) {
    options.max_bytes = limits->max_bytes + PLANNING_BYTES;
    options.max_tensor_bytes = limits->max_bytes;
  }
  if (limits->max_instructions < SIZE_MAX) {
    options.max_instructions = (size_t)limits->max_instructions;
  }
  plans->max_bytes =
      bytes < SIZE_MAX / 4 ? 2 * (size_t)bytes + MAX_PLAN_BYTES : SIZE_MAX;
  BSM_TRY(find_planner(&ops));
  bsm_status status = ops->create(&options, &plans->planner);
  plans->broken = status && bsm_status_code(status) != BSM_OUT_OF_MEMORY;
  return status;
}

/* The plan that has the tactics for the best shapes. */
static const bsm_plan *best_plan(const bsm_plan *plan,
                                 const bsm_instruction *region) {
  return region->segment ? plan->program->segments[region->segment - 1] : plan;
}

/* The workspaces and the outputs. */
static bsm_status check_memory(const bsm_shape_plans *plans,
                               const bsm_plan *plan) {
  uint64_t bytes = 0;
  for (int i = 0; i < BSM_MEMORY_SPACES; i++) {
    if (bytes + plan->workspace_size[i] < bytes) {
      return BSM_FAIL(BSM_LIMIT, "workspaces that no memory has");
    }
    bytes += plan->workspace_size[i];
  }
  for (uint32_t i = 0; i < plan->output_count; i++) {
    uint64_t extent;
    if (!bsm_plan_tensor_extent(&plan->tensors[plan->outputs[i].tensor],
                                &extent) ||
        bytes + extent < bytes) {
      return BSM_FAIL(BSM_LIMIT, "outputs that no memory has");
    }
    bytes += extent;
  }
  const uint64_t most =
      plans->limits.max_bytes ? plans->limits.max_bytes : MAX_RUN_BYTES;
  return bytes <= most
             ? BSM_OK
             : BSM_FAIL(BSM_LIMIT,
                        "a workspace and outputs of %" PRIu64 " bytes", bytes);
}

static bsm_status make_plan(bsm_shape_plans *plans,
                            const bsm_instruction *region,
                            const bsm_ivalue *inputs, entry *e) {
  const bsm_engine *engine = plans->engine;
  bsm_region_plan *made = &e->plan.planned;
  bsm_memory_need need = {{0}, {0}};
  BSM_TRY(make_planner(plans));
  BSM_TRY(bsm_linked_region_planner->plan(plans->planner, region, inputs,
                                          best_plan(engine->plan, region),
                                          &e->arena, made));
  BSM_TRY(check_memory(plans, made->plan));
  BSM_TRY(bsm_plan_runner_init(made->plan, plans->execution, &e->arena, &need,
                               &e->plan.runner));
  if (e->arena.total > plans->max_bytes) {
    return BSM_FAIL(BSM_LIMIT, "a plan of %zu bytes", e->arena.total);
  }
  return bsm_execution_reserve(plans->execution, &need);
}

/* ---- the cache ---- */

static bsm_status put_word(bsm_shape_plans *plans, uint64_t word) {
  BSM_TRY_ALLOC(bsm_vec_push(&plans->arena, &plans->words, word));
  return BSM_OK;
}

/* The region, and of each input all that a plan depends on. */
static bsm_status describe(bsm_shape_plans *plans,
                           const bsm_instruction *region,
                           const bsm_ivalue *inputs) {
  plans->words.len = 0;
  BSM_TRY(put_word(plans, region->blocks[0]));
  for (uint32_t i = 0; i < region->input_count; i++) {
    const bsm_ivalue *v = &inputs[i];
    uint64_t word = 0;
    BSM_TRY(put_word(plans, (uint64_t)v->tag));
    if (v->tag == BSM_IVALUE_TENSOR) {
      const bsm_tensor *t = v->u.tensor;
      BSM_TRY(put_word(plans, (uint64_t)t->dtype << 8 | t->wrapped_number));
      BSM_TRY(put_word(plans, (uint64_t)t->sizes.rank));
      for (int32_t d = 0; d < t->sizes.rank; d++) {
        BSM_TRY(put_word(plans, (uint64_t)t->sizes.d[d]));
      }
      continue;
    }
    if (v->tag == BSM_IVALUE_INT) word = (uint64_t)v->u.i;
    if (v->tag == BSM_IVALUE_BOOL) word = v->u.b;
    if (v->tag == BSM_IVALUE_DOUBLE) memcpy(&word, &v->u.d, sizeof(word));
    BSM_TRY(put_word(plans, word));
  }
  return BSM_OK;
}

static entry *look_up(bsm_shape_plans *plans, uint64_t hash) {
  const size_t bytes = plans->words.len * sizeof(uint64_t);
  for (size_t i = 0; i < plans->capacity; i++) {
    entry *e = &plans->entries[i];
    if (e->used && e->hash == hash && e->word_count == plans->words.len &&
        memcmp(e->words, plans->words.items, bytes) == 0) {
      return e;
    }
  }
  return NULL;
}

/* Frees the entry that was used longest ago, or finds an empty one. */
static entry *make_room(bsm_shape_plans *plans) {
  entry *oldest = &plans->entries[0];
  for (size_t i = 1; i < plans->capacity && oldest->used; i++) {
    if (plans->entries[i].used < oldest->used) oldest = &plans->entries[i];
  }
  clear(oldest);
  bsm_arena_init(&oldest->arena, &plans->blocks.allocator);
  return oldest;
}

/* Plans with weights of their own are large: those used longest ago go until
 * the rest is within the bound. */
static void bound_bytes(bsm_shape_plans *plans, const entry *keep) {
  for (;;) {
    size_t bytes = 0;
    entry *oldest = NULL;
    for (size_t i = 0; i < plans->capacity; i++) {
      entry *e = &plans->entries[i];
      bytes += e->arena.total;
      if (e == keep || !e->used) continue;
      if (!oldest || e->used < oldest->used) oldest = e;
    }
    if (bytes <= plans->max_bytes || !oldest) return;
    clear(oldest);
  }
}

static bsm_status add(bsm_shape_plans *plans, const bsm_instruction *region,
                      const bsm_ivalue *inputs, uint64_t hash, entry **out) {
  /* A failure of what runs meanwhile is not one of planning. */
  BSM_TRY(bsm_execution_wait(plans->execution));
  entry *e = make_room(plans);
  plans->made++;
  bsm_status status = make_plan(plans, region, inputs, e);
  if (bsm_status_code(status) == BSM_OUT_OF_MEMORY) {
    clear(e);
    return status;
  }
  if (!status) bound_bytes(plans, e);
  if (status) {
    bsm_log(plans->execution->env.logger, BSM_LOG_LEVEL_INFO,
            "these shapes run without a plan: %s", bsm_status_message(status));
    bsm_status_free(status);
    clear(e);
    e->refused = true;
  }
  e->words = BSM_NEW_ARRAY(&e->arena, uint64_t, plans->words.len + 1);
  BSM_TRY_ALLOC(e->words);
  memcpy(e->words, plans->words.items, plans->words.len * sizeof(uint64_t));
  e->word_count = plans->words.len;
  e->hash = hash;
  e->used = ++plans->clock;
  *out = e;
  return BSM_OK;
}

bsm_status bsm_shape_plans_find(bsm_shape_plans *plans,
                                const bsm_instruction *region,
                                const bsm_ivalue *inputs,
                                bsm_shape_plan **out) {
  const bsm_region_planner_ops *ops;
  *out = NULL;
  BSM_TRY(find_planner(&ops));
  if (plans->broken) return BSM_OK;
  for (uint32_t i = 0; i < region->input_count; i++) {
    if (!bsm_region_takes(&inputs[i])) return BSM_OK;
  }
  BSM_TRY(describe(plans, region, inputs));
  const uint64_t hash =
      bsm_hash64(plans->words.items, plans->words.len * sizeof(uint64_t), 0);
  entry *e = look_up(plans, hash);
  if (!e) BSM_TRY(add(plans, region, inputs, hash, &e));
  e->used = ++plans->clock;
  if (!e->refused) *out = &e->plan;
  return BSM_OK;
}

uint64_t bsm_shape_plans_cost(const bsm_shape_plans *plans) {
  return plans->planner
             ? bsm_linked_region_planner->instructions(plans->planner)
             : 0;
}

uint64_t bsm_shape_plans_made(const bsm_shape_plans *plans) {
  return plans->made;
}

/* 0 when the plan is not there, or was not profiled. */
static size_t count_steps(const entry *e) {
  const bsm_plan_runner *r = &e->plan.runner;
  return e->used && !e->refused && r->times ? r->plan->step_count : 0;
}

size_t bsm_shape_plans_step_count(const bsm_shape_plans *plans) {
  size_t count = 0;
  for (size_t i = 0; i < plans->capacity; i++) {
    count += count_steps(&plans->entries[i]);
  }
  return count;
}

void bsm_shape_plans_profile(const bsm_shape_plans *plans, size_t index,
                             bsm_step_profile *out) {
  const entry *e = plans->entries;
  for (; index >= count_steps(e); e++) index -= count_steps(e);
  bsm_plan_runner_profile(&e->plan.runner, (uint32_t)index, out);
}
