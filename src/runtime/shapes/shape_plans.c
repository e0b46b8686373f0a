/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of plans is a table that is searched linearly, as it has few
 * entries. The key of an entry is a list of words: the region, dtypes and dims
 * of tensors, values of numbers. Shapes that cannot be planned have an entry as
 * well, so that planning is not tried again in every run. Plans use the weights
 * that the engine has packed. The memory of plans, and of making them, is
 * bounded. */
#include "runtime/shapes/shape_plans.h"

#include <inttypes.h>
#include <string.h>

#include "base/allocate.h"
#include "base/block_cache.h"
#include "base/hash.h"

/* The default number of plans for each region, and limits for all regions. */
#define DEFAULT_CAPACITY 16
#define MAX_DEFAULT_CAPACITY 512
#define MAX_CAPACITY ((size_t)1 << 16)
/* Limits of the plans for calls; between them, two for each call. */
#define MIN_CALL_CAPACITY 16
#define MAX_CALL_CAPACITY 256
/* Calls are remembered by their hash, in so many sets of so many. */
#define SEEN 256
#define SEEN_WAYS 4
/* Making a plan takes as long as many calls. When the table is full, a new plan
 * is made only after this many calls have found theirs. */
#define HITS_FOR_PLAN 256
/* The memory of all plans together, in addition to twice the engine's weights.
 */
#define MAX_PLAN_BYTES ((size_t)1 << 30)
/* The default limit of a workspace. */
#define MAX_RUN_BYTES ((uint64_t)16 << 30)
/* A region packs weights that the engine has not packed. They may take as much
 * as the engine's weights, and this much more. */
#define EXTRA_PACKED_BYTES ((uint64_t)64 << 20)
/* Planning may take as much memory as a run, and this much for its own tables.
 */
#define PLANNING_BYTES ((size_t)64 << 20)

/* One plan; `words` is its key, see describe(). */
typedef struct entry {
  uint64_t *words;
  size_t word_count;
  uint64_t hash;
  uint64_t used; /* the time of the last use; 0: empty */
  bool refused;
  bsm_arena arena;
  bsm_shape_plan plan;
} entry;

typedef struct seen_call {
  uint64_t hash;
  entry *entry; /* where its plan was found; NULL: there was none */
} seen_call;

struct bsm_shape_plans {
  const bsm_engine *engine;
  const bsm_allocator *allocator;
  bsm_block_cache blocks; /* memory of plans, and of making them */
  bsm_execution *execution;
  bsm_run_limits limits;
  bsm_arena arena;
  bsm_region_planner *planner; /* NULL until a plan is made */
  bool broken;                 /* no planner can be made for this engine */
  entry *entries;              /* of regions, then of calls */
  size_t regions;              /* number of entries of regions */
  size_t capacity;             /* number of all entries */
  seen_call *seen;             /* sets of the last ones of a hash modulo SEEN */
  uint64_t hits;               /* calls that found their plan */
  uint64_t replaced; /* plans of calls that were replaced by another */
  bool *constant;    /* by register */
  size_t max_bytes;  /* of all entries' plans */
  uint64_t clock, made;
  BSM_VEC(uint64_t) words; /* of the shapes asked for */
};

/* ---- making and destroying ---- */

static size_t call_capacity(const bsm_program *p) {
  size_t calls = 0;
  for (uint32_t b = 0; b < p->block_count; b++) {
    const bsm_program_block *block = &p->blocks[b];
    for (uint32_t k = 0; k < block->instruction_count; k++) {
      calls += block->instructions[k].kind == BSM_INSTRUCTION_CALL;
    }
  }
  if (calls < MIN_CALL_CAPACITY / 2) return MIN_CALL_CAPACITY;
  return calls < MAX_CALL_CAPACITY / 2 ? 2 * calls : MAX_CALL_CAPACITY;
}

static bsm_status make_tables(bsm_shape_plans *plans) {
  const bsm_program *p = plans->engine->plan->program;
  plans->entries = BSM_NEW_ARRAY(&plans->arena, entry, plans->capacity + 1);
  plans->seen = BSM_NEW_ARRAY(&plans->arena, seen_call, SEEN * SEEN_WAYS);
  plans->constant =
      BSM_NEW_ARRAY(&plans->arena, bool, p->register_count + (size_t)1);
  if (!plans->entries || !plans->seen || !plans->constant) {
    return BSM_FAIL_OOM();
  }
  for (uint32_t i = 0; i < p->constant_count; i++) {
    plans->constant[p->constant_registers[i]] = true;
  }
  return BSM_OK;
}

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
  plans->regions = capacity ? capacity
                   : regions < MAX_DEFAULT_CAPACITY / DEFAULT_CAPACITY
                       ? DEFAULT_CAPACITY * regions
                       : MAX_DEFAULT_CAPACITY;
  if (plans->regions > MAX_CAPACITY) plans->regions = MAX_CAPACITY;
  plans->capacity = plans->regions + call_capacity(engine->plan->program);
  bsm_block_cache_init(&plans->blocks, allocator);
  bsm_arena_init(&plans->arena, allocator);
  bsm_status status = make_tables(plans);
  if (status) {
    bsm_shape_plans_destroy(plans);
    return status;
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

/* A failure is not tried again, unless memory ran out. */
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
  if (region->kind == BSM_INSTRUCTION_CALL) return NULL;
  return region->segment ? plan->program->segments[region->segment - 1] : plan;
}

/* Counts the workspaces and the outputs. */
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

static bsm_status put_tensor(bsm_shape_plans *plans, const bsm_tensor *t) {
  BSM_TRY(put_word(plans, (uint64_t)t->dtype << 8 | t->wrapped_number));
  BSM_TRY(put_word(plans, (uint64_t)t->sizes.rank));
  for (int32_t d = 0; d < t->sizes.rank; d++) {
    BSM_TRY(put_word(plans, (uint64_t)t->sizes.d[d]));
  }
  return BSM_OK;
}

/* Adds to the key everything of a value that a plan depends on. Only calls have
 * lists and strings; lists do not nest. */
static bsm_status put_value(bsm_shape_plans *plans, const bsm_ivalue *v) {
  uint64_t word = 0;
  BSM_TRY(put_word(plans, (uint64_t)v->tag));
  switch (v->tag) {
    case BSM_IVALUE_TENSOR:
      return put_tensor(plans, v->u.tensor);
    case BSM_IVALUE_LIST:
      BSM_TRY(put_word(plans, v->u.list->len));
      for (size_t i = 0; i < v->u.list->len; i++) {
        BSM_TRY(put_value(plans, &v->u.list->items[i]));
      }
      return BSM_OK;
    case BSM_IVALUE_STRING:
      BSM_TRY(put_word(plans, v->u.s->len));
      word = bsm_hash64(v->u.s->data, v->u.s->len, 0);
      break;
    case BSM_IVALUE_INT:
      word = (uint64_t)v->u.i;
      break;
    case BSM_IVALUE_BOOL:
      word = v->u.b;
      break;
    case BSM_IVALUE_DOUBLE:
      memcpy(&word, &v->u.d, sizeof(word));
      break;
    default:
      break;
  }
  return put_word(plans, word);
}

static bsm_status describe(bsm_shape_plans *plans, const bsm_instruction *i,
                           const bsm_ivalue *inputs, uint64_t *hash) {
  plans->words.len = 0;
  BSM_TRY(put_word(plans, (uint64_t)(uintptr_t)i));
  for (uint32_t k = 0; k < i->input_count; k++) {
    if (!bsm_region_binds(i, k, plans->constant)) continue;
    BSM_TRY(put_value(plans, &inputs[k]));
  }
  *hash =
      bsm_hash64(plans->words.items, plans->words.len * sizeof(uint64_t), 0);
  return BSM_OK;
}

/* Whether the entry has the key that is looked for. */
static bool fits(const bsm_shape_plans *plans, const entry *e, uint64_t hash) {
  const size_t bytes = plans->words.len * sizeof(uint64_t);
  return e->used && e->hash == hash && e->word_count == plans->words.len &&
         memcmp(e->words, plans->words.items, bytes) == 0;
}

static entry *look_up(bsm_shape_plans *plans, uint64_t hash) {
  for (size_t i = 0; i < plans->capacity; i++) {
    if (fits(plans, &plans->entries[i], hash)) return &plans->entries[i];
  }
  return NULL;
}

/* Finds an empty entry for a region or call, or empties the least recently used
 * one. */
static entry *make_room(bsm_shape_plans *plans, const bsm_instruction *made) {
  const bool call = made->kind == BSM_INSTRUCTION_CALL;
  const size_t first = call ? plans->regions : 0;
  const size_t end = call ? plans->capacity : plans->regions;
  entry *oldest = &plans->entries[first];
  for (size_t i = first + 1; i < end && oldest->used; i++) {
    if (plans->entries[i].used < oldest->used) oldest = &plans->entries[i];
  }
  plans->replaced += call && oldest->used;
  clear(oldest);
  bsm_arena_init(&oldest->arena, &plans->blocks.allocator);
  return oldest;
}

/* Plans with weights of their own are large. The least recently used ones are
 * dropped until the rest is within the limit. */
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
  /* Waits first, so that a failure of running work is not taken for one of
   * planning. */
  BSM_TRY(bsm_execution_wait(plans->execution));
  entry *e = make_room(plans, region);
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
  uint64_t hash;
  BSM_TRY(describe(plans, region, inputs, &hash));
  entry *e = look_up(plans, hash);
  if (!e) BSM_TRY(add(plans, region, inputs, hash, &e));
  e->used = ++plans->clock;
  if (!e->refused) *out = &e->plan;
  return BSM_OK;
}

/* Whether calls with such an argument can be planned. */
static bool takes(const bsm_ivalue *v, bool in_list) {
  if (v->tag == BSM_IVALUE_STRING) return true;
  if (v->tag != BSM_IVALUE_LIST) return bsm_region_takes(v);
  bool all = !in_list;
  for (size_t i = 0; all && i < v->u.list->len; i++) {
    all = takes(&v->u.list->items[i], true);
  }
  return all;
}

/* The place of a call among those seen last, in front of its set; *again: the
 * call was there. Hashes depend on addresses: with one place for each of them,
 * two calls of a program that happen to share one would never come again. */
static seen_call *find_seen(bsm_shape_plans *plans, uint64_t hash,
                            bool *again) {
  seen_call *set = &plans->seen[hash % SEEN * SEEN_WAYS];
  int at = 0;
  while (at < SEEN_WAYS - 1 && set[at].hash != hash) at++;
  *again = set[at].hash == hash;
  const seen_call found = *again ? set[at] : (seen_call){hash, NULL};
  for (; at > 0; at--) set[at] = set[at - 1];
  set[0] = found;
  return set;
}

/* Finds the plan of a call; *out is NULL when there is none. A plan is made
 * when the call was seen before and plans of calls are hit often enough. */
static bsm_status find_call(bsm_shape_plans *plans, const bsm_instruction *call,
                            const bsm_ivalue *args, uint64_t hash,
                            entry **out) {
  bool again;
  seen_call *seen = find_seen(plans, hash, &again);
  *out = seen->entry;
  if (again && *out && fits(plans, *out, hash)) return BSM_OK;
  *out = look_up(plans, hash);
  if (!*out && again && plans->hits >= HITS_FOR_PLAN * plans->replaced) {
    BSM_TRY(add(plans, call, args, hash, out));
  }
  *seen = (seen_call){hash, *out};
  return BSM_OK;
}

bsm_status bsm_shape_plans_find_call(bsm_shape_plans *plans,
                                     const bsm_instruction *call,
                                     const bsm_ivalue *args,
                                     bsm_shape_plan **out) {
  uint64_t hash;
  entry *e;
  *out = NULL;
  if (!bsm_linked_region_planner || plans->broken) return BSM_OK;
  for (uint32_t i = 0; i < call->input_count; i++) {
    if (!takes(&args[i], false)) return BSM_OK;
  }
  BSM_TRY(describe(plans, call, args, &hash));
  BSM_TRY(find_call(plans, call, args, hash, &e));
  if (!e) return BSM_OK;
  e->used = ++plans->clock;
  plans->hits++;
  if (!e->refused) *out = &e->plan;
  return BSM_OK;
}

const bool *bsm_shape_plans_constants(const bsm_shape_plans *plans) {
  return plans->constant;
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
