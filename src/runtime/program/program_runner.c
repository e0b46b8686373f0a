/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter of programs: a policy of the walker. */
#include <inttypes.h>

#include "engine/program_constants.h"
#include "runtime/program/program_state.h"

/* The default of the option. */
#define MAX_INSTRUCTIONS UINT64_C(1000000000)

/* ---- constants ---- */

static bsm_status read_constants(bsm_program_runner *r) {
  bsm_program_constants constants;
  BSM_TRY(bsm_program_read_constants(r->engine->plan, r->own, &constants));
  r->constants = constants.values;
  r->constant_tensors = constants.tensors;
  return BSM_OK;
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

static bsm_status compute(bsm_program_walker *w, const bsm_instruction *i,
                          const bsm_ivalue *args) {
  bsm_program_runner *r = (bsm_program_runner *)w;
  switch (i->kind) {
    case BSM_INSTRUCTION_CALL:
      return bsm_program_run_call(r, i, args);
    case BSM_INSTRUCTION_SEGMENT:
      return bsm_program_run_segment(r, i, args);
    default:
      return bsm_program_run_region(r, i, args);
  }
}

/* Drops values that nothing reads later. */
static bsm_status let_go(bsm_program_runner *r,
                         const bsm_dead_registers *dead) {
  for (size_t i = 0; i < dead->count; i++) {
    r->walker.registers[dead->ids[i]] = bsm_iv_none();
  }
  return bsm_program_heap(r)->total + r->residency.bytes > r->collect_at
             ? bsm_program_collect(r)
             : BSM_OK;
}

static bsm_status finish(bsm_program_walker *w, const bsm_instruction *i,
                         bsm_status status) {
  bsm_program_runner *r = (bsm_program_runner *)w;
  if (!status) {
    status = let_go(r, &r->dead[w->block][bsm_program_index(w, i)]);
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
      .walker = {.program = engine->plan->program, .policy = &policy},
      .engine = engine,
      .segments = segments,
      .shapes = shapes,
      .kept = &execution->kept,
      .trace = &execution->trace,
      .work = &execution->work,
      .logger = execution->env.logger,
      .own = arena,
      .wanted_bytes = limits->max_bytes,
      .counts_work = limits->max_instructions > 0,
      .max_instructions = limits->max_instructions ? limits->max_instructions
                                                   : MAX_INSTRUCTIONS};
  bsm_program_runner_seed(r, 0);
  bsm_program_memory_init(r);
  bsm_residency_init(&r->residency, execution, arena->allocator);
  r->has_device = engine->ops[BSM_SPACE_DEVICE] != NULL;
  *out = r;
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
  return bsm_program_find_ops(r);
}

void bsm_program_runner_seed(bsm_program_runner *r, uint64_t seed) {
  bsm_generator_seed(&r->generator, seed);
}

void bsm_program_runner_destroy(bsm_program_runner *r) {
  if (!r) return;
  bsm_residency_destroy(&r->residency);
  bsm_program_memory_destroy(r);
}

static bsm_status run(bsm_program_runner *r, const bsm_array *inputs) {
  const bsm_program_block *main = &r->walker.program->blocks[0];
  for (uint32_t i = 0; i < main->param_count; i++) {
    bsm_tensor *t;
    bsm_array dense = inputs[i];
    dense.strides = NULL;
    BSM_TRY(dense.space == BSM_SPACE_DEVICE
                ? bsm_residency_borrow(&r->residency, bsm_program_heap(r),
                                       &dense, &t)
                : bsm_tensor_from_array(bsm_program_heap(r), &dense, true, &t));
    r->walker.registers[main->params[i]] = bsm_iv_tensor(t);
  }
  return bsm_walk_block(&r->walker, 0);
}

/* After a run nothing is in flight, and results are on the host. */
static bsm_status end_run(bsm_program_runner *r, bsm_status status) {
  const bsm_program_block *main = &r->walker.program->blocks[0];
  if (!r->has_device) return status;
  for (uint32_t i = 0; !status && i < main->result_count; i++) {
    bsm_ivalue *result = &r->walker.registers[main->results[i]];
    if (result->tag == BSM_IVALUE_TENSOR) {
      status = bsm_residency_detach(&r->residency, bsm_program_heap(r),
                                    result->u.tensor);
    }
    if (!status) {
      status =
          bsm_residency_fetch(&r->residency, bsm_program_heap(r), result, 1);
    }
  }
  r->residency.pending = false;
  return status ? bsm_execution_fail(r->residency.execution, status)
                : bsm_execution_wait(r->residency.execution);
}

bsm_status bsm_program_runner_run(bsm_program_runner *r,
                                  const bsm_array *inputs) {
  bsm_program_reset(r);
  bsm_program_set_limits(r, inputs);
  r->refused = false;
  bsm_status status = run(r, inputs);
  status = end_run(r, status);
  r->ran = !status;
  if ((r->refused || r->residency.refused) &&
      bsm_status_code(status) == BSM_OUT_OF_MEMORY) {
    bsm_status_free(status);
    return bsm_program_memory_failure(r);
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
  if (x->storage->read_only)
    BSM_TRY(bsm_tensor_clone(bsm_program_heap(r), x, &x));
  BSM_TRY(bsm_tensor_contiguous(bsm_program_heap(r), x, &x));
  *v = bsm_iv_tensor(x); /* the output may be asked for again */
  *out = (bsm_array){bsm_tensor_data(x), x->dtype, x->sizes, NULL};
  return BSM_OK;
}

bsm_status bsm_program_runner_result(bsm_program_runner *r,
                                     const bsm_array *outputs,
                                     bsm_run_result *out) {
  const bsm_plan *plan = r->engine->plan;
  const uint32_t count = bsm_plan_value_count(plan);
  bsm_ivalue *values =
      BSM_NEW_ARRAY(bsm_program_heap(r), bsm_ivalue, count + (size_t)1);
  bsm_status status = values ? BSM_OK : BSM_FAIL_OOM();
  if (!status) {
    bsm_program_get_registers(
        r, r->walker.program->blocks[0].results + plan->output_count, count,
        values);
    status =
        bsm_run_result_make(plan, outputs, values, bsm_program_heap(r), out);
  }
  if (r->refused && bsm_status_code(status) == BSM_OUT_OF_MEMORY) {
    bsm_status_free(status);
    return bsm_program_memory_failure(r);
  }
  return status;
}
