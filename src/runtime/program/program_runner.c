/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter of programs. */
#include "runtime/program/program_runner.h"

#include <inttypes.h>
#include <string.h>

#include "aten/ivalue_parts.h"
#include "base/allocate.h"
#include "base/checked.h"
#include "engine/program_constants.h"
#include "engine/program_values.h"
#include "engine/program_walker.h"
#include "engine/region_planner.h"
#include "runtime/program/collector.h"
#include "runtime/program/fast_call.h"
#include "runtime/program/liveness.h"
#include "runtime/program/residency.h"

/* A file of few bytes can ask for tensors of any size. As in aten_step.c, a
 * tensor may be TIMES_LARGER times as large as the inputs and weights together,
 * or SMALL_TENSOR_BYTES if that is more, but never larger than
 * MAX_TENSOR_BYTES. */
#define SMALL_TENSOR_BYTES ((size_t)1 << 30)
#define TIMES_LARGER 64
#define MAX_TENSOR_BYTES ((size_t)16 << 30)
/* The defaults of the options. */
#define MAX_RUN_BYTES ((size_t)16 << 30)
#define MAX_INSTRUCTIONS UINT64_C(1000000000)
/* Calls of fewer elements are not worth a plan. */
#define MIN_ELEMENTS 1024
/* Memory of a run before garbage is collected, and by how much it may grow. */
#define COLLECT_BYTES ((size_t)64 << 20)

struct bsm_program_runner {
  bsm_program_walker walker; /* its arena is that of the run */
  const bsm_engine *engine;
  bsm_plan_runner *segments;
  bsm_shape_plans *shapes; /* NULL: regions are run one by one */
  const bsm_logger *logger;
  bsm_arena *own;      /* of constants */
  bsm_allocator guard; /* of the two below: keeps the limit */
  bool refused;        /* it has refused memory in this run */
  bsm_arena arenas[2]; /* of the run, and to collect into */
  size_t collect_at;   /* bytes */
  size_t weights_bytes;
  size_t wanted_bytes, max_bytes, max_tensor_bytes; /* of a run */
  uint64_t max_instructions;                        /* of a run */
  bsm_ivalue *constants;
  bsm_tensor *constant_tensors;
  const bsm_aten_op ***ops;  /* by block and instruction; NULL: no call */
  bool **plannable;          /* whether a plan may stand for the call */
  bsm_dead_registers **dead; /* after it */
  bsm_fast_calls fast;
  bsm_residency residency; /* used when the engine has a device */
  bool has_device;
  bool ran;
};

static bsm_arena *heap(bsm_program_runner *r) {
  return r->walker.arena;
}

static bsm_arena *other_heap(bsm_program_runner *r) {
  return &r->arenas[r->walker.arena == &r->arenas[0]];
}

static size_t most(size_t a, size_t b) {
  return a > b ? a : b;
}

static void get_registers(const bsm_program_runner *r, const uint32_t *from,
                          size_t n, bsm_ivalue *out) {
  for (size_t i = 0; i < n; i++) out[i] = r->walker.registers[from[i]];
}

static void set_registers(bsm_program_runner *r, const uint32_t *to, size_t n,
                          const bsm_ivalue *values) {
  for (size_t i = 0; i < n; i++) r->walker.registers[to[i]] = values[i];
}

/* ---- memory ---- */

/* While garbage is collected there are two copies of live values, each up to
 * the limit. A single op may ask for any size. */
static void *guarded_alloc(void *user, size_t size, size_t alignment) {
  bsm_program_runner *r = user;
  const size_t used = r->arenas[0].total + r->arenas[1].total;
  size_t room;
  if (!bsm_size_mul(r->max_bytes, 2, &room) ||
      !bsm_size_add(room, COLLECT_BYTES, &room)) {
    room = SIZE_MAX;
  }
  if (used > room || size > room - used) {
    r->refused = true;
    return NULL;
  }
  return bsm_allocate(r->own->allocator, size, alignment);
}

static void guarded_free(void *user, void *pointer) {
  bsm_program_runner *r = user;
  bsm_deallocate(r->own->allocator, pointer);
}

static bsm_status too_much_memory(const bsm_program_runner *r) {
  return BSM_FAIL(BSM_LIMIT,
                  "the run needs more than %zu bytes: raise max_run_bytes in "
                  "the options of the context",
                  r->max_bytes);
}

/* ---- constants ---- */

static bsm_status read_constants(bsm_program_runner *r) {
  bsm_program_constants constants;
  BSM_TRY(bsm_program_read_constants(r->engine->plan, r->own, &constants));
  r->constants = constants.values;
  r->constant_tensors = constants.tensors;
  for (size_t i = 0; i < r->walker.program->constant_tensor_count; i++) {
    void *data = constants.tensors[i].storage->data;
    BSM_TRY_ALLOC(bsm_ptrmap_set(r->own, &r->fast.constants, data, data));
  }
  return BSM_OK;
}

/* ---- calls ---- */

/* Whether all results are new. The schema of an op whose result may share
 * memory with an argument says so after the arrow. */
static bool makes_values(const bsm_aten_op *op) {
  const uint32_t other =
      BSM_ATEN_INPLACE | BSM_ATEN_VIEW | BSM_ATEN_RANDOM | BSM_ATEN_EFFECT;
  const char *results = strstr(op->schema, "->");
  return !(op->flags & other) && results && !strstr(results, "(a");
}

static bsm_status find_ops(bsm_program_runner *r) {
  const bsm_program *p = r->walker.program;
  r->ops = BSM_NEW_ARRAY(r->own, const bsm_aten_op **, p->block_count);
  r->plannable = BSM_NEW_ARRAY(r->own, bool *, p->block_count);
  if (!r->ops || !r->plannable) return BSM_FAIL_OOM();
  for (uint32_t b = 0; b < p->block_count; b++) {
    const bsm_program_block *block = &p->blocks[b];
    r->ops[b] = BSM_NEW_ARRAY(r->own, const bsm_aten_op *,
                              block->instruction_count + (size_t)1);
    r->plannable[b] =
        BSM_NEW_ARRAY(r->own, bool, block->instruction_count + (size_t)1);
    if (!r->ops[b] || !r->plannable[b]) return BSM_FAIL_OOM();
    for (uint32_t k = 0; k < block->instruction_count; k++) {
      const bsm_instruction *i = &block->instructions[k];
      if (i->kind != BSM_INSTRUCTION_CALL) continue;
      const bsm_aten_op *op =
          bsm_aten_find(r->engine->aten, bsm_str_of(i->name));
      if (!op) {
        return BSM_FAIL(BSM_UNSUPPORTED,
                        "this version has no op %s: compile the model again",
                        i->name);
      }
      if ((op->flags & BSM_ATEN_RANDOM) ||
          ((op->flags & BSM_ATEN_INPLACE) && !bsm_aten_only_writes(op))) {
        return BSM_FAIL(BSM_CORRUPT, "%s in a program", i->name);
      }
      r->ops[b][k] = op;
      r->plannable[b][k] = makes_values(op);
    }
  }
  return BSM_OK;
}

/* An op may write only to a tensor whose memory this run has made. */
static bsm_status check_target(const bsm_instruction *i,
                               const bsm_ivalue *args) {
  return i->input_count && args->tag == BSM_IVALUE_TENSOR &&
                 !args->u.tensor->storage->read_only
             ? BSM_OK
             : BSM_FAIL(BSM_CORRUPT, "%s of an input or a constant", i->name);
}

/* An op may change only a container that this run has made. */
static bsm_status check_written(bsm_program_runner *r, const bsm_instruction *i,
                                const bsm_ivalue *args) {
  const bsm_arena *arena = i->input_count ? bsm_iv_arena_of(args) : NULL;
  return !arena || arena == heap(r)
             ? BSM_OK
             : BSM_FAIL(BSM_CORRUPT, "%s of a constant", i->name);
}

/* Ops read and write the host's memory only. A device's copy is stale after a
 * write. */
static bsm_status bring_home(bsm_program_runner *r, const bsm_aten_op *op,
                             const bsm_ivalue *args, size_t n) {
  BSM_TRY(bsm_residency_fetch(&r->residency, heap(r), args, n));
  return (op->flags & BSM_ATEN_INPLACE) && n && args->tag == BSM_IVALUE_TENSOR
             ? bsm_residency_write(&r->residency, args->u.tensor)
             : BSM_OK;
}

static size_t count_elements(const bsm_ivalue *values, size_t n) {
  size_t count = 0;
  for (size_t i = 0; i < n && count < MIN_ELEMENTS; i++) {
    if (values[i].tag == BSM_IVALUE_TENSOR) {
      count += (size_t)bsm_tensor_numel(values[i].u.tensor);
    } else if (values[i].tag == BSM_IVALUE_LIST) {
      count += count_elements(values[i].u.list->items, values[i].u.list->len);
    }
  }
  return count;
}

/* Making a plan counts as instructions, because a loop may ask for one each
 * turn. */
static void charge(bsm_program_runner *r, uint64_t instructions) {
  r->walker.budget -=
      instructions < r->walker.budget ? instructions : r->walker.budget;
}

static bsm_status run_planned(bsm_program_runner *r, const bsm_instruction *i,
                              const bsm_ivalue *args, bsm_shape_plan *found);

/* Runs a call by a plan of its own, when it has been seen with the same shapes
 * before and is large enough; otherwise *done is false. */
static bsm_status plan_call(bsm_program_runner *r, const bsm_instruction *i,
                            const bsm_aten_op *op, const bsm_ivalue *args,
                            bool *done) {
  bsm_shape_plan *found;
  *done = false;
  if (!r->shapes || count_elements(args, i->input_count) < MIN_ELEMENTS) {
    return BSM_OK;
  }
  BSM_TRY(bsm_aten_check_args(op, args, i->input_count));
  const uint64_t before = bsm_shape_plans_cost(r->shapes);
  BSM_TRY(bsm_shape_plans_find_call(r->shapes, i, args, &found));
  charge(r, bsm_shape_plans_cost(r->shapes) - before);
  if (!found) return BSM_OK;
  *done = true;
  return run_planned(r, i, args, found);
}

static size_t index_in_block(const bsm_program_walker *w,
                             const bsm_instruction *i) {
  return (size_t)(i - w->program->blocks[w->block].instructions);
}

static bsm_status run_call(bsm_program_runner *r, const bsm_instruction *i,
                           const bsm_ivalue *args) {
  const size_t index = index_in_block(&r->walker, i);
  const bsm_aten_op *op = r->ops[r->walker.block][index];
  bsm_ivalue *outs =
      BSM_NEW_ARRAY(heap(r), bsm_ivalue, i->output_count + (size_t)1);
  BSM_TRY_ALLOC(outs);
  BSM_TRY(bsm_program_check_nested(args, i->input_count));
  if (r->has_device) BSM_TRY(bring_home(r, op, args, i->input_count));
  if (op->flags & BSM_ATEN_EFFECT) BSM_TRY(check_written(r, i, args));
  if (op->flags & BSM_ATEN_INPLACE) BSM_TRY(check_target(i, args));
  if (i->output_count == 1 && r->fast.target && bsm_fast_call_knows(i->name)) {
    bool done;
    BSM_TRY(bsm_aten_check_args(op, args, i->input_count));
    BSM_TRY(bsm_fast_call(&r->fast, i->name, args, i->input_count, heap(r),
                          &r->walker.registers[i->outputs[0]], &done));
    if (done) return BSM_OK;
  }
  if (r->plannable[r->walker.block][index]) {
    bool done;
    BSM_TRY(plan_call(r, i, op, args, &done));
    if (done) return BSM_OK;
  }
  bsm_op_ctx cx = {.arena = heap(r),
                   .logger = r->logger,
                   .max_tensor_bytes = r->max_tensor_bytes};
  BSM_TRY(bsm_aten_call(&cx, op, args, i->input_count, outs, i->output_count));
  for (uint32_t k = 0; k < i->output_count; k++) {
    r->walker.registers[i->outputs[k]] = outs[k];
  }
  return BSM_OK;
}

/* ---- segments ---- */

/* A plan's tables are in use until its last run is over. */
static bsm_status claim(bsm_program_runner *r, const bsm_plan_runner *runner) {
  return bsm_plan_runner_is_in_flight(runner)
             ? bsm_residency_wait(&r->residency)
             : BSM_OK;
}

static bsm_status segment_input(bsm_program_runner *r, const bsm_plan *plan,
                                uint32_t index, const bsm_ivalue *value,
                                void **out) {
  const bsm_plan_binding *binding = &plan->inputs[index];
  const bsm_plan_tensor *t = &plan->tensors[binding->tensor];
  if (value->tag != BSM_IVALUE_TENSOR) {
    return BSM_FAIL(BSM_CORRUPT, "input %s is a %s", binding->name,
                    bsm_iv_tag_name(value->tag));
  }
  bsm_tensor *x = value->u.tensor;
  if (x->dtype != t->dtype || !bsm_dims_equal(x->sizes, t->dims)) {
    return BSM_FAIL(
        BSM_DATA_DEPENDENT, "%s is %s%s where the engine was built for %s%s",
        binding->name, bsm_dtype_name(x->dtype), bsm_dims_str(x->sizes),
        bsm_dtype_name(t->dtype), bsm_dims_str(t->dims));
  }
  if (t->space == BSM_SPACE_DEVICE) {
    return bsm_residency_to_device(&r->residency, heap(r), x, out);
  }
  if (r->has_device) {
    BSM_TRY(bsm_residency_fetch(&r->residency, heap(r), value, 1));
  }
  BSM_TRY(bsm_tensor_contiguous(heap(r), x, &x));
  *out = bsm_tensor_data(x);
  return BSM_OK;
}

/* A tensor for an output of a plan, in memory of the run. */
static bsm_status new_output(bsm_program_runner *r, const bsm_plan_tensor *t,
                             bsm_tensor **out, void **address) {
  if (t->space == BSM_SPACE_DEVICE) {
    return bsm_residency_new(&r->residency, heap(r), t->dtype, t->dims, out,
                             address);
  }
  BSM_TRY(bsm_tensor_new(heap(r), t->dtype, t->dims, false, out));
  *address = bsm_tensor_data(*out);
  return BSM_OK;
}

/* Runs a plan whose inputs are set; the outputs get memory of the run. Outputs
 * on the host may come from a device, so they are waited for. */
static bsm_status run_plan(bsm_program_runner *r, bsm_plan_runner *runner,
                           bsm_ivalue *outputs) {
  const bsm_plan *plan = runner->plan;
  bool home = false;
  for (uint32_t k = 0; k < plan->output_count; k++) {
    const bsm_plan_tensor *t = &plan->tensors[plan->outputs[k].tensor];
    bsm_tensor *y;
    BSM_TRY(new_output(r, t, &y, &runner->outputs[k]));
    outputs[k] = bsm_iv_tensor(y);
    home = home || t->space == BSM_SPACE_HOST;
  }
  BSM_TRY(bsm_plan_runner_enqueue(runner));
  r->residency.pending = r->has_device;
  return home ? bsm_residency_wait(&r->residency) : BSM_OK;
}

static bsm_status run_segment(bsm_program_runner *r, const bsm_instruction *i,
                              const bsm_ivalue *args) {
  bsm_plan_runner *segment = &r->segments[i->segment];
  const bsm_plan *plan = segment->plan;
  bsm_ivalue *outputs =
      BSM_NEW_ARRAY(heap(r), bsm_ivalue, plan->output_count + (size_t)1);
  BSM_TRY_ALLOC(outputs);
  BSM_TRY(claim(r, segment));
  for (uint32_t k = 0; k < plan->input_count; k++) {
    BSM_TRY(segment_input(r, plan, k, &args[k], &segment->inputs[k]));
  }
  BSM_TRY(run_plan(r, segment, outputs));
  set_registers(r, i->outputs, plan->output_count, outputs);
  return BSM_OK;
}

/* ---- collecting garbage ---- */

/* May be called between any two instructions: all live values are in registers.
 */
static bsm_status collect(bsm_program_runner *r) {
  const bsm_program *p = r->walker.program;
  BSM_TRY(bsm_residency_wait(&r->residency)); /* values are about to move */
  bsm_residency_forget_all(&r->residency);
  bsm_collector c = {.from = heap(r),
                     .to = other_heap(r),
                     .constants = r->constant_tensors,
                     .constant_count = p->constant_tensor_count};
  for (uint32_t i = 0; i < p->constant_count; i++) {
    r->walker.registers[p->constant_registers[i]] = bsm_iv_none();
  }
  BSM_TRY(bsm_collector_move(&c, r->walker.registers, p->register_count));
  for (uint32_t i = 0; i < p->constant_count; i++) {
    r->walker.registers[p->constant_registers[i]] = r->constants[i];
  }
  bsm_arena_destroy(heap(r));
  r->walker.arena = other_heap(r);
  bsm_residency_sweep(&r->residency);
  const size_t live = heap(r)->total + r->residency.bytes;
  r->collect_at = 2 * live + COLLECT_BYTES;
  if (r->collect_at > r->max_bytes) r->collect_at = r->max_bytes;
  r->collect_at = most(r->collect_at, live + live / 4);
  return live > r->max_bytes ? too_much_memory(r) : BSM_OK;
}

/* ---- control ---- */

static bsm_status too_many_instructions(const bsm_program_walker *w) {
  const bsm_program_runner *r = (const bsm_program_runner *)w;
  return BSM_FAIL(BSM_LIMIT,
                  "the run takes more than %" PRIu64
                  " instructions: raise max_instructions in the options of the "
                  "context",
                  r->max_instructions);
}

static bsm_status find_plan(bsm_program_runner *r, const bsm_instruction *i,
                            const bsm_ivalue *args, bsm_shape_plan **out) {
  const uint64_t before = bsm_shape_plans_cost(r->shapes);
  BSM_TRY(bsm_shape_plans_find(r->shapes, i, args, out));
  charge(r, bsm_shape_plans_cost(r->shapes) - before);
  return BSM_OK;
}

/* Binds the tensors of one input, a tensor or a list, to the plan's inputs from
 * number `at` on. */
static bsm_status bind_tensors(bsm_program_runner *r, bsm_plan_runner *runner,
                               const bsm_ivalue *value, uint32_t *at) {
  if (value->tag == BSM_IVALUE_LIST) {
    for (size_t k = 0; k < value->u.list->len; k++) {
      BSM_TRY(bind_tensors(r, runner, &value->u.list->items[k], at));
    }
  }
  if (value->tag != BSM_IVALUE_TENSOR) return BSM_OK;
  const uint32_t index = (*at)++;
  return segment_input(r, runner->plan, index, value, &runner->inputs[index]);
}

/* Runs a region or a call by the plan for its shapes. */
static bsm_status run_planned(bsm_program_runner *r, const bsm_instruction *i,
                              const bsm_ivalue *args, bsm_shape_plan *found) {
  const bool *constant = bsm_shape_plans_constants(r->shapes);
  const bsm_region_plan *planned = &found->planned;
  const bsm_plan *plan = planned->plan;
  bsm_ivalue *outputs =
      BSM_NEW_ARRAY(heap(r), bsm_ivalue, plan->output_count + (size_t)1);
  BSM_TRY_ALLOC(outputs);
  BSM_TRY(claim(r, &found->runner));
  for (uint32_t k = 0, at = 0; k < i->input_count; k++) {
    if (!bsm_region_binds(i, k, constant)) continue;
    BSM_TRY(bind_tensors(r, &found->runner, &args[k], &at));
  }
  BSM_TRY(run_plan(r, &found->runner, outputs));
  for (uint32_t k = 0; k < i->output_count; k++) {
    r->walker.registers[i->outputs[k]] = planned->outputs[k] == BSM_NO_OUTPUT
                                             ? planned->values[k]
                                             : outputs[planned->outputs[k]];
  }
  return BSM_OK;
}

/* Runs a region by the plan for these shapes, or instruction by instruction
 * when there is none. */
static bsm_status run_region(bsm_program_runner *r, const bsm_instruction *i,
                             const bsm_ivalue *args) {
  bsm_shape_plan *found = NULL;
  if (r->shapes) BSM_TRY(find_plan(r, i, args, &found));
  return found ? run_planned(r, i, args, found)
               : bsm_walk_inner(&r->walker, i, i->blocks[0]);
}

static bsm_status compute(bsm_program_walker *w, const bsm_instruction *i,
                          const bsm_ivalue *args) {
  bsm_program_runner *r = (bsm_program_runner *)w;
  switch (i->kind) {
    case BSM_INSTRUCTION_CALL:
      return run_call(r, i, args);
    case BSM_INSTRUCTION_SEGMENT:
      return run_segment(r, i, args);
    default:
      return run_region(r, i, args);
  }
}

/* Drops values that nothing reads later. */
static bsm_status let_go(bsm_program_runner *r,
                         const bsm_dead_registers *dead) {
  for (size_t i = 0; i < dead->count; i++) {
    r->walker.registers[dead->ids[i]] = bsm_iv_none();
  }
  return heap(r)->total + r->residency.bytes > r->collect_at ? collect(r)
                                                             : BSM_OK;
}

static bsm_status finish(bsm_program_walker *w, const bsm_instruction *i,
                         bsm_status status) {
  bsm_program_runner *r = (bsm_program_runner *)w;
  if (!status) {
    status = let_go(r, &r->dead[w->block][index_in_block(w, i)]);
  }
  /* A failure of earlier work on a device is not this instruction's. */
  if (status && !i->block_count && !r->residency.failed) {
    status = bsm_status_note(
        status, "while running %s%s%s",
        i->name[0] ? i->name : bsm_instruction_kind_name(i->kind),
        i->source[0] ? " at " : "", i->source);
  }
  return status;
}

static const bsm_program_policy policy = {
    .compute = compute, .finish = finish, .refuse = too_many_instructions};

/* ---- the whole ---- */

bsm_status bsm_program_runner_create(bsm_execution *execution,
                                     bsm_plan_runner *segments,
                                     bsm_shape_plans *shapes,
                                     const bsm_run_limits *limits,
                                     bsm_arena *arena,
                                     bsm_program_runner **out) {
  bsm_program_runner *r = BSM_NEW(arena, bsm_program_runner);
  BSM_TRY_ALLOC(r);
  const bsm_engine *engine = execution->engine;
  *r = (bsm_program_runner){
      .walker = {.program = engine->plan->program,
                 .policy = &policy,
                 .arena = &r->arenas[0]},
      .engine = engine,
      .segments = segments,
      .shapes = shapes,
      .logger = execution->env.logger,
      .own = arena,
      .wanted_bytes = limits->max_bytes,
      .max_instructions = limits->max_instructions ? limits->max_instructions
                                                   : MAX_INSTRUCTIONS,
      .fast = {.stream = execution->env.streams[BSM_SPACE_HOST], .own = arena}};
  r->guard = (bsm_allocator){guarded_alloc, guarded_free, r};
  bsm_arena_init(&r->arenas[0], &r->guard);
  bsm_arena_init(&r->arenas[1], &r->guard);
  bsm_residency_init(&r->residency, execution, arena->allocator);
  r->has_device = engine->ops[BSM_SPACE_DEVICE] != NULL;
  *out = r;
  if (bsm_linked_region_planner) {
    BSM_TRY(bsm_linked_region_planner->target(arena, &r->fast.target));
  }
  r->walker.registers = BSM_NEW_ARRAY(
      arena, bsm_ivalue, r->walker.program->register_count + (size_t)1);
  BSM_TRY_ALLOC(r->walker.registers);
  for (uint32_t k = 0; bsm_plan_part(engine->plan, k); k++) {
    const bsm_plan *part = bsm_plan_part(engine->plan, k);
    for (uint32_t i = 0; i < part->weights_count; i++) {
      r->weights_bytes += (size_t)part->weights[i].size;
    }
  }
  BSM_TRY(read_constants(r));
  BSM_TRY(bsm_program_liveness(r->walker.program, arena, &r->dead));
  return find_ops(r);
}

void bsm_program_runner_destroy(bsm_program_runner *r) {
  if (!r) return;
  bsm_residency_destroy(&r->residency);
  bsm_arena_destroy(&r->arenas[0]);
  bsm_arena_destroy(&r->arenas[1]);
}

static void set_limits(bsm_program_runner *r, const bsm_array *inputs) {
  size_t given = r->weights_bytes; /* all of it is in memory, so the sum does
                                      not overflow */
  for (uint32_t i = 0; i < r->engine->plan->input_count; i++) {
    int64_t n;
    if (!bsm_dims_numel(inputs[i].dims, &n)) continue;
    given += (size_t)n * bsm_dtype_size(inputs[i].dtype);
  }
  size_t times;
  if (!bsm_size_mul(given, TIMES_LARGER, &times)) times = SIZE_MAX;
  r->max_bytes = r->wanted_bytes ? r->wanted_bytes : most(MAX_RUN_BYTES, times);
  r->max_tensor_bytes = most(SMALL_TENSOR_BYTES, times);
  if (r->max_tensor_bytes > MAX_TENSOR_BYTES) {
    r->max_tensor_bytes = MAX_TENSOR_BYTES;
  }
  if (r->max_tensor_bytes > r->max_bytes) r->max_tensor_bytes = r->max_bytes;
  r->fast.max_tensor_bytes = r->max_tensor_bytes;
  r->residency.max_bytes = r->max_bytes;
  r->residency.refused = r->residency.failed = false;
  r->walker.budget = r->max_instructions;
  r->collect_at = r->max_bytes < COLLECT_BYTES ? r->max_bytes : COLLECT_BYTES;
}

/* Releases the memory of the last run. */
static void reset(bsm_program_runner *r) {
  const bsm_program *p = r->walker.program;
  bsm_residency_forget_all(&r->residency);
  bsm_residency_sweep(&r->residency);
  bsm_arena_destroy(other_heap(r));
  bsm_arena_destroy(heap(r));
  for (uint32_t i = 0; i < p->register_count; i++) {
    r->walker.registers[i] = bsm_iv_none();
  }
  set_registers(r, p->constant_registers, p->constant_count, r->constants);
}

static bsm_status run(bsm_program_runner *r, const bsm_array *inputs) {
  const bsm_program_block *main = &r->walker.program->blocks[0];
  for (uint32_t i = 0; i < main->param_count; i++) {
    bsm_tensor *t;
    bsm_array dense = inputs[i];
    dense.strides = NULL;
    BSM_TRY(dense.space == BSM_SPACE_DEVICE
                ? bsm_residency_borrow(&r->residency, heap(r), &dense, &t)
                : bsm_tensor_from_array(heap(r), &dense, true, &t));
    r->walker.registers[main->params[i]] = bsm_iv_tensor(t);
  }
  return bsm_walk_block(&r->walker, 0);
}

/* After a run nothing is in flight, and results are on the host. */
static bsm_status end_run(bsm_program_runner *r, bsm_status status) {
  const bsm_program_block *main = &r->walker.program->blocks[0];
  if (!r->has_device) return status;
  for (uint32_t i = 0; !status && i < main->result_count; i++) {
    status = bsm_residency_fetch(&r->residency, heap(r),
                                 &r->walker.registers[main->results[i]], 1);
  }
  r->residency.pending = false;
  return status ? bsm_execution_fail(r->residency.execution, status)
                : bsm_execution_wait(r->residency.execution);
}

bsm_status bsm_program_runner_run(bsm_program_runner *r,
                                  const bsm_array *inputs) {
  reset(r);
  set_limits(r, inputs);
  r->refused = false;
  bsm_status status = run(r, inputs);
  status = end_run(r, status);
  r->ran = !status;
  if ((r->refused || r->residency.refused) &&
      bsm_status_code(status) == BSM_OUT_OF_MEMORY) {
    bsm_status_free(status);
    return too_much_memory(r);
  }
  return status;
}

bsm_status bsm_program_runner_output(bsm_program_runner *r, uint32_t index,
                                     bsm_array *out) {
  const bsm_plan *plan = r->engine->plan;
  const bsm_plan_binding *binding = &plan->outputs[index];
  const bsm_plan_tensor *t = &plan->tensors[binding->tensor];
  if (!r->ran) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "there are no outputs: the last run failed, or there was "
                    "none");
  }
  bsm_ivalue *v =
      &r->walker.registers[r->walker.program->blocks[0].results[index]];
  if (v->tag != BSM_IVALUE_TENSOR) {
    return BSM_FAIL(BSM_DATA_DEPENDENT, "output %s is a %s", binding->name,
                    bsm_iv_tag_name(v->tag));
  }
  bsm_tensor *x = v->u.tensor;
  bool fits = (x->dtype == t->dtype || t->dtype == BSM_DTYPE_UNDEFINED) &&
              (x->sizes.rank == t->dims.rank || t->dims.rank == -1);
  for (int32_t i = 0; fits && i < t->dims.rank; i++) {
    fits = t->dims.d[i] < 0 || t->dims.d[i] == x->sizes.d[i];
  }
  if (!fits) {
    return BSM_FAIL(BSM_DATA_DEPENDENT,
                    "output %s is %s%s where the engine was built for %s%s",
                    binding->name, bsm_dtype_name(x->dtype),
                    bsm_dims_str(x->sizes), bsm_dtype_name(t->dtype),
                    bsm_dims_str(t->dims));
  }
  /* Inputs and weights may be gone before the next run. */
  if (x->storage->read_only) BSM_TRY(bsm_tensor_clone(heap(r), x, &x));
  BSM_TRY(bsm_tensor_contiguous(heap(r), x, &x));
  *v = bsm_iv_tensor(x); /* the output may be asked for again */
  *out = (bsm_array){bsm_tensor_data(x), x->dtype, x->sizes, NULL};
  return BSM_OK;
}

bsm_status bsm_program_runner_result(bsm_program_runner *r,
                                     const bsm_array *outputs,
                                     bsm_run_result *out) {
  const bsm_plan *plan = r->engine->plan;
  const uint32_t count = bsm_plan_value_count(plan);
  bsm_ivalue *values = BSM_NEW_ARRAY(heap(r), bsm_ivalue, count + (size_t)1);
  bsm_status status = values ? BSM_OK : BSM_FAIL_OOM();
  if (!status) {
    get_registers(r, r->walker.program->blocks[0].results + plan->output_count,
                  count, values);
    status = bsm_run_result_make(plan, outputs, values, heap(r), out);
  }
  if (r->refused && bsm_status_code(status) == BSM_OUT_OF_MEMORY) {
    bsm_status_free(status);
    return too_much_memory(r);
  }
  return status;
}
