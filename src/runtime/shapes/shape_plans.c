/* SPDX-License-Identifier: Apache-2.0 */
/* Regions and calls have a cache each. The key of a plan is a list of words:
 * the region or call, dtypes and dims of tensors, values of numbers. Shapes
 * that cannot be planned have an entry as well, so that planning is not tried
 * again in every run. Plans use the weights that the engine has packed. The
 * memory of plans, and of making them, is bounded. */
#include "runtime/shapes/shape_plans.h"

#include <inttypes.h>
#include <string.h>

#include "base/allocate.h"
#include "base/block_cache.h"
#include "base/hash.h"
#include "engine/program_strides.h"

/* The default number of plans for each region, and limits for all regions. */
#define DEFAULT_CAPACITY 16
#define MAX_DEFAULT_CAPACITY 512
#define MAX_CAPACITY ((size_t)1 << 16)
/* The number of plans for each call, and limits for all calls. */
#define CALL_CAPACITY 64
#define MIN_CALL_CAPACITY 256
#define MAX_CALL_CAPACITY 2048
/* Calls are remembered by their hash, in so many sets of so many. */
#define SEEN 1024
#define SEEN_WAYS 4
/* Making a plan takes as long as many calls. When there is no room left, plans
 * for calls that came again are made only after this many have found theirs. */
#define HITS_FOR_PLAN 256
/* An instruction that converters refuse so often, and never took, is not asked
 * for again. */
#define MOST_REFUSALS 8
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

/* What came of planning a call, with whatever arguments. */
typedef struct call_record {
  uint32_t planned, refused;
} call_record;

struct bsm_shape_plans {
  const bsm_engine *engine;
  const bsm_allocator *allocator;
  bsm_block_cache blocks; /* memory of plans, and of making them */
  bsm_execution *execution;
  bsm_run_limits limits;
  bsm_arena arena;
  bsm_region_planner *planner; /* NULL until a plan is made */
  bool broken;                 /* no planner can be made for this engine */
  bool any_input_strides;      /* of calls */
  bsm_plan_cache regions, calls;
  uint64_t *seen;     /* sets of the last hashes that are equal modulo SEEN */
  bsm_ptrmap records; /* of instructions -> call_record */
  uint64_t hits;      /* calls that found their plan */
  bool *constant;     /* by register */
  size_t max_bytes;   /* of all plans */
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
  if (calls > MAX_CALL_CAPACITY / CALL_CAPACITY) return MAX_CALL_CAPACITY;
  return calls * CALL_CAPACITY < MIN_CALL_CAPACITY ? MIN_CALL_CAPACITY
                                                   : calls * CALL_CAPACITY;
}

static size_t region_capacity(const bsm_program *p, size_t wanted) {
  const size_t regions = bsm_program_region_count(p);
  if (!wanted) {
    wanted = regions < MAX_DEFAULT_CAPACITY / DEFAULT_CAPACITY
                 ? DEFAULT_CAPACITY * regions
                 : MAX_DEFAULT_CAPACITY;
  }
  if (wanted > MAX_CAPACITY) return MAX_CAPACITY;
  return wanted ? wanted : 1;
}

static bsm_status make_tables(bsm_shape_plans *plans, size_t capacity) {
  const bsm_program *p = plans->engine->plan->program;
  bsm_arena *arena = &plans->arena;
  BSM_TRY(bsm_plan_cache_init(&plans->regions, arena,
                              region_capacity(p, capacity)));
  BSM_TRY(bsm_plan_cache_init(&plans->calls, arena, call_capacity(p)));
  plans->seen = BSM_NEW_ARRAY(arena, uint64_t, SEEN * SEEN_WAYS);
  plans->constant = BSM_NEW_ARRAY(arena, bool, p->register_count + (size_t)1);
  if (!plans->seen || !plans->constant) return BSM_FAIL_OOM();
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
  *plans =
      (bsm_shape_plans){.engine = engine,
                        .allocator = allocator,
                        .execution = execution,
                        .limits = *limits,
                        /* Devices hold row-major tensors. */
                        .any_input_strides = !engine->ops[BSM_SPACE_DEVICE]};
  bsm_block_cache_init(&plans->blocks, allocator);
  bsm_arena_init(&plans->arena, allocator);
  bsm_status status = make_tables(plans, capacity);
  if (status) {
    bsm_shape_plans_destroy(plans);
    return status;
  }
  *out = plans;
  return BSM_OK;
}

void bsm_shape_plans_destroy(bsm_shape_plans *plans) {
  if (!plans) return;
  bsm_plan_cache_destroy(&plans->regions);
  bsm_plan_cache_destroy(&plans->calls);
  if (plans->planner) bsm_linked_region_planner->destroy(plans->planner);
  bsm_arena_destroy(&plans->arena);
  bsm_block_cache_release(&plans->blocks);
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
      .max_packed_bytes = bytes + EXTRA_PACKED_BYTES,
      .any_input_strides = plans->any_input_strides,
      .any_output_strides =
          plans->any_input_strides &&
          bsm_program_hides_strides(engine->plan->program, engine->aten)};
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
                            const bsm_ivalue *inputs, bsm_plan_entry *e) {
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

/* ---- keys ---- */

static bsm_status put_word(bsm_shape_plans *plans, uint64_t word) {
  BSM_TRY_ALLOC(bsm_vec_push(&plans->arena, &plans->words, word));
  return BSM_OK;
}

static bsm_status put_tensor(bsm_shape_plans *plans, const bsm_tensor *t,
                             bool strides) {
  strides = strides && !bsm_tensor_is_contiguous(t);
  BSM_TRY(put_word(plans, (uint64_t)t->dtype << 8 | t->wrapped_number));
  BSM_TRY(put_word(plans, (uint64_t)t->sizes.rank << 1 | strides));
  for (int32_t d = 0; d < t->sizes.rank; d++) {
    BSM_TRY(put_word(plans, (uint64_t)t->sizes.d[d]));
    if (!strides || t->sizes.d[d] == 1) continue;
    BSM_TRY(put_word(plans, (uint64_t)t->strides[d]));
  }
  return BSM_OK;
}

/* Adds to the key everything of a value that a plan depends on. Only calls have
 * lists and strings; lists do not nest. */
static bsm_status put_value(bsm_shape_plans *plans, const bsm_ivalue *v,
                            bool strides) {
  uint64_t word = 0;
  BSM_TRY(put_word(plans, (uint64_t)v->tag));
  switch (v->tag) {
    case BSM_IVALUE_TENSOR:
      return put_tensor(plans, v->u.tensor, strides);
    case BSM_IVALUE_LIST:
      BSM_TRY(put_word(plans, v->u.list->len));
      for (size_t i = 0; i < v->u.list->len; i++) {
        BSM_TRY(put_value(plans, &v->u.list->items[i], strides));
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
                           const bsm_ivalue *inputs, bsm_plan_key *key) {
  const bool strides =
      i->kind == BSM_INSTRUCTION_CALL && plans->any_input_strides;
  plans->words.len = 0;
  BSM_TRY(put_word(plans, (uint64_t)(uintptr_t)i));
  for (uint32_t k = 0; k < i->input_count; k++) {
    if (!bsm_region_binds(i, k, plans->constant)) continue;
    BSM_TRY(put_value(plans, &inputs[k], strides));
  }
  key->words = plans->words.items;
  key->count = plans->words.len;
  key->hash = bsm_hash64(key->words, key->count * sizeof(uint64_t), 0);
  return BSM_OK;
}

/* ---- the caches ---- */

/* Plans with weights of their own are large. The least recently used ones are
 * dropped until the rest is within the limit. */
static void bound_bytes(bsm_shape_plans *plans, const bsm_plan_entry *keep) {
  bsm_plan_cache *r = &plans->regions, *c = &plans->calls;
  while (r->bytes + c->bytes > plans->max_bytes) {
    bsm_plan_entry *a = r->oldest, *b = c->oldest;
    if (a == keep) a = NULL;
    if (b == keep) b = NULL;
    if (!a && !b) return;
    if (a && (!b || a->used < b->used)) {
      bsm_plan_cache_drop(r, a);
    } else {
      bsm_plan_cache_drop(c, b);
    }
  }
}

static void note_refusal(bsm_shape_plans *plans, bsm_plan_entry *e,
                         bsm_status status) {
  bsm_log(plans->execution->env.logger, BSM_LOG_LEVEL_INFO,
          "these shapes run without a plan: %s", bsm_status_message(status));
  bsm_status_free(status);
  bsm_plan_runner_destroy(&e->plan.runner);
  bsm_arena_destroy(&e->arena);
  e->plan = (bsm_shape_plan){0};
  e->refused = true;
}

static bsm_status add(bsm_shape_plans *plans, bsm_plan_cache *cache,
                      const bsm_instruction *region, const bsm_ivalue *inputs,
                      const bsm_plan_key *key, bsm_plan_entry **out) {
  bsm_plan_entry *e;
  /* Waits first, so that a failure of running work is not taken for one of
   * planning. */
  BSM_TRY(bsm_execution_wait(plans->execution));
  BSM_TRY(bsm_plan_cache_take(cache, &plans->blocks.allocator, &e));
  plans->made++;
  bsm_status status = make_plan(plans, region, inputs, e);
  if (bsm_status_code(status) == BSM_OUT_OF_MEMORY) {
    bsm_plan_cache_drop(cache, e);
    return status;
  }
  if (status) note_refusal(plans, e, status);
  BSM_TRY(bsm_plan_cache_put(cache, e, key, ++plans->clock));
  bound_bytes(plans, e);
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
  bsm_plan_key key;
  BSM_TRY(describe(plans, region, inputs, &key));
  bsm_plan_entry *e =
      bsm_plan_cache_find(&plans->regions, &key, ++plans->clock);
  if (!e) BSM_TRY(add(plans, &plans->regions, region, inputs, &key, &e));
  if (!e->refused) *out = &e->plan;
  return BSM_OK;
}

/* ---- calls ---- */

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

static bsm_status record_of(bsm_shape_plans *plans, const bsm_instruction *call,
                            call_record **out) {
  *out = bsm_ptrmap_get(&plans->records, call);
  if (*out) return BSM_OK;
  *out = BSM_NEW(&plans->arena, call_record);
  BSM_TRY_ALLOC(*out);
  BSM_TRY_ALLOC(bsm_ptrmap_set(&plans->arena, &plans->records, call, *out));
  return BSM_OK;
}

/* Whether a call was seen before; it is from then on the last one seen of its
 * set. Hashes depend on addresses: with one place for each of them, two calls
 * of a program that happen to share one would never come again. */
static bool was_seen(bsm_shape_plans *plans, uint64_t hash) {
  uint64_t *set = &plans->seen[hash % SEEN * SEEN_WAYS];
  int at = 0;
  while (at < SEEN_WAYS - 1 && set[at] != hash) at++;
  const bool again = set[at] == hash;
  for (; at > 0; at--) set[at] = set[at - 1];
  set[0] = hash;
  return again;
}

/* Whether to plan a call that has no plan. Only what is sure to be taken is
 * planned the first time. */
static bool is_worth_it(bsm_shape_plans *plans, const call_record *record,
                        uint64_t hash, bool at_once) {
  const bool again = was_seen(plans, hash);
  if (record->refused >= MOST_REFUSALS && !record->planned) return false;
  return (at_once && !record->refused) ||
         (again && plans->hits >= HITS_FOR_PLAN * plans->calls.replaced);
}

/* *out is NULL when the call is not to be planned. */
static bsm_status add_call(bsm_shape_plans *plans, const bsm_instruction *call,
                           const bsm_ivalue *args, const bsm_plan_key *key,
                           bool at_once, bsm_plan_entry **out) {
  call_record *record;
  *out = NULL;
  BSM_TRY(record_of(plans, call, &record));
  if (!is_worth_it(plans, record, key->hash, at_once)) return BSM_OK;
  BSM_TRY(add(plans, &plans->calls, call, args, key, out));
  ++*((*out)->refused ? &record->refused : &record->planned);
  return BSM_OK;
}

bsm_status bsm_shape_plans_find_call(bsm_shape_plans *plans,
                                     const bsm_instruction *call,
                                     const bsm_ivalue *args, bool at_once,
                                     bsm_shape_plan **out) {
  bsm_plan_key key;
  *out = NULL;
  if (!bsm_linked_region_planner || plans->broken) return BSM_OK;
  for (uint32_t i = 0; i < call->input_count; i++) {
    if (!takes(&args[i], false)) return BSM_OK;
  }
  BSM_TRY(describe(plans, call, args, &key));
  bsm_plan_entry *e = bsm_plan_cache_find(&plans->calls, &key, ++plans->clock);
  if (e) {
    plans->hits++;
  } else {
    BSM_TRY(add_call(plans, call, args, &key, at_once, &e));
  }
  if (e && !e->refused) *out = &e->plan;
  return BSM_OK;
}

bool bsm_shape_plans_read_strides(const bsm_shape_plans *plans) {
  return plans->any_input_strides;
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
static size_t count_steps(const bsm_plan_entry *e) {
  const bsm_plan_runner *r = &e->plan.runner;
  return e->used && !e->refused && r->times ? r->plan->step_count : 0;
}

static size_t count_all_steps(const bsm_plan_cache *cache) {
  size_t count = 0;
  for (size_t i = 0; i < cache->entries.len; i++) {
    count += count_steps(cache->entries.items[i]);
  }
  return count;
}

size_t bsm_shape_plans_step_count(const bsm_shape_plans *plans) {
  return count_all_steps(&plans->regions) + count_all_steps(&plans->calls);
}

void bsm_shape_plans_profile(const bsm_shape_plans *plans, size_t index,
                             bsm_step_profile *out) {
  const size_t of_regions = count_all_steps(&plans->regions);
  const bool call = index >= of_regions;
  if (call) index -= of_regions;
  bsm_plan_entry **e = (call ? &plans->calls : &plans->regions)->entries.items;
  for (; index >= count_steps(*e); e++) index -= count_steps(*e);
  bsm_plan_runner_profile(&(*e)->plan.runner, (uint32_t)index, out);
}
