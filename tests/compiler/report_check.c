/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/compiler/report_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/program.h"

/* ---- what an engine runs ---- */

/* aten_call steps of one plan; `op` NULL: all. */
size_t plan_reference_steps(const bsm_plan *plan, const char *op) {
  size_t count = 0;
  for (uint32_t i = 0; i < plan->step_count; i++) {
    const bsm_plan_step *step = &plan->steps[i];
    if (step->kind != BSM_STEP_ATEN_CALL) continue;
    count += !op || strcmp(step->params->aten_call.op, op) == 0;
  }
  return count;
}

/* Whether an instruction runs it: the others are plans of regions for certain
 * shapes. */
static bool is_run(const bsm_program *p, uint32_t segment) {
  for (uint32_t b = 0; b < p->block_count; b++) {
    for (uint32_t i = 0; i < p->blocks[b].instruction_count; i++) {
      const bsm_instruction *it = &p->blocks[b].instructions[i];
      if (it->kind == BSM_INSTRUCTION_SEGMENT && it->segment == segment) {
        return true;
      }
    }
  }
  return false;
}

/* Of a plan, or of the segments of its program. */
size_t engine_reference_steps(const bsm_engine *engine, const char *op) {
  const bsm_program *p = engine->plan->program;
  size_t count = plan_reference_steps(engine->plan, op);
  for (uint32_t i = 0; p && i < p->segment_count; i++) {
    if (is_run(p, i)) count += plan_reference_steps(p->segments[i], op);
  }
  return count;
}

static size_t other_steps(const bsm_engine *engine) {
  const bsm_program *p = engine->plan->program;
  size_t count = engine->plan->step_count;
  for (uint32_t i = 0; p && i < p->segment_count; i++) {
    if (is_run(p, i)) count += p->segments[i]->step_count;
  }
  return count - engine_reference_steps(engine, NULL);
}

size_t engine_instructions(const bsm_engine *engine, bsm_instruction_kind kind,
                           const char *name) {
  const bsm_program *p = engine->plan->program;
  size_t count = 0;
  for (uint32_t b = 0; p && b < p->block_count; b++) {
    for (uint32_t i = 0; i < p->blocks[b].instruction_count; i++) {
      const bsm_instruction *it = &p->blocks[b].instructions[i];
      count += it->kind == kind && (!name || strcmp(it->name, name) == 0);
    }
  }
  return count;
}

/* The calls of a block, and of the blocks inside, that are in a region. */
static size_t planned_in(const bsm_program *p, uint32_t id, const char *name,
                         bool inside) {
  size_t count = 0;
  for (uint32_t i = 0; i < p->blocks[id].instruction_count; i++) {
    const bsm_instruction *it = &p->blocks[id].instructions[i];
    count += inside && it->kind == BSM_INSTRUCTION_CALL &&
             strcmp(it->name, name) == 0;
    for (uint32_t b = 0; b < it->block_count; b++) {
      count += planned_in(p, it->blocks[b], name,
                          inside || it->kind == BSM_INSTRUCTION_REGION);
    }
  }
  return count;
}

static size_t planned(const bsm_engine *engine, const char *name) {
  const bsm_program *p = engine->plan->program;
  return p ? planned_in(p, 0, name, false) : 0;
}

/* ---- the report ---- */

static bsm_operator_info item_of(const bsm_operator_list *list, size_t i) {
  bsm_operator_info info = BSM_OPERATOR_INFO_INIT;
  assert_null(bsm_operator_list_get(list, i, &info));
  return info;
}

const bsm_operator_info *report_find(const bsm_operator_list *list,
                                     const char *name) {
  static bsm_operator_info found[4];
  static size_t next;
  for (size_t i = 0; i < bsm_operator_list_count(list); i++) {
    const bsm_operator_info info = item_of(list, i);
    if (strlen(name) == strcspn(info.schema, "(") &&
        strncmp(info.schema, name, strlen(name)) == 0) {
      bsm_operator_info *out = &found[next++ % 4];
      *out = info;
      return out;
    }
  }
  return NULL;
}

/* Holds a report against the engine that was made with the same options. */
static void hold(const bsm_operator_list *list, const bsm_engine *engine) {
  const bsm_program *p = engine->plan->program;
  size_t calls = 0, reference = 0, layers = 0, optimal = 0;
  assert_null(bsm_operator_list_failure(list));
  assert_true(bsm_operator_list_count(list) > 0);
  for (size_t i = 0; i < bsm_operator_list_count(list); i++) {
    const bsm_operator_info info = item_of(list, i), *op = &info;
    char name[256];
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(op->schema, "("),
             op->schema);
    assert_int_equal(op->count, op->layer_nodes + op->evaluated_nodes +
                                    op->reference_nodes + op->planned_nodes +
                                    op->called_nodes + op->program_nodes);
    assert_int_equal(op->reference_nodes, engine_reference_steps(engine, name));
    const size_t own = engine_instructions(engine, BSM_INSTRUCTION_CALL, name);
    const size_t in_regions = planned(engine, name);
    if (op->planned_nodes != in_regions ||
        op->planned_nodes + op->called_nodes != own) {
      fail_msg(
          "%s at %s: told are %zu calls and %zu in regions, there are %zu "
          "with %zu in regions",
          name, op->source, op->called_nodes, op->planned_nodes, own,
          in_regions);
    }
    if (p && p->variant_count) {
      assert_int_equal(op->optimal_reference_nodes,
                       plan_reference_steps(p->segments[p->variants[0]], name));
    }
    assert_true((op->reference_nodes + op->called_nodes > 0) <=
                (op->why[0] != '\0'));
    assert_true(op->places[0] && op->source[0]);
    reference += op->reference_nodes;
    calls += op->called_nodes + op->planned_nodes;
    layers += op->layer_nodes;
    optimal += op->optimal_layer_nodes;
  }
  const bsm_operator_info *branch = report_find(list, "prim::If");
  const bsm_operator_info *loop = report_find(list, "prim::Loop");
  assert_int_equal(branch ? branch->program_nodes : 0,
                   engine_instructions(engine, BSM_INSTRUCTION_IF, NULL));
  assert_int_equal(loop ? loop->program_nodes : 0,
                   engine_instructions(engine, BSM_INSTRUCTION_LOOP, NULL));
  assert_int_equal(reference, engine_reference_steps(engine, NULL));
  assert_int_equal(calls,
                   engine_instructions(engine, BSM_INSTRUCTION_CALL, NULL));
  /* Of a segment, all layers may do nothing, and constants may be copied. */
  if (!p) assert_true((layers > 0) == (other_steps(engine) > 0));
  assert_true((optimal > 0) == (p && p->variant_count > 0));
}

/* ---- what a run does ---- */

static size_t bytes_of(const bsm_binding *b) {
  size_t n = bsm_dtype_size(b->dtype);
  for (int32_t i = 0; i < b->dims.rank; i++) n *= (size_t)b->dims.d[i];
  return n;
}

/* Inputs of zeros, with the optimal dims. */
static bsm_array *make_inputs(const bsm_engine *engine, size_t count) {
  bsm_array *arrays = calloc(count + 1, sizeof(*arrays));
  for (size_t i = 0; i < count; i++) {
    bsm_binding b = BSM_BINDING_INIT;
    assert_null(bsm_engine_input(engine, i, &b));
    assert_null(bsm_engine_input_range(engine, i, NULL, &b.dims, NULL));
    arrays[i] = (bsm_array){calloc(1, bytes_of(&b) + 1), b.dtype, b.dims, NULL};
  }
  return arrays;
}

/* Runs the engine, and holds what its profile says was run against the plan
 * that the report was compared with. A run of zeros may fail: false. */
static bool hold_profile(const bsm_operator_list *list,
                         const bsm_engine *engine) {
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  bsm_context *context = NULL;
  size_t reference = 0, calls = 0, steps = 0;
  const size_t count = bsm_engine_input_count(engine);
  bsm_array *inputs = make_inputs(engine, count);
  options.threads = 1;
  options.profile = true;
  bsm_status status = bsm_context_create(engine, &options, &context);
  if (status) fail_msg("%s", bsm_status_message(status));
  status = bsm_context_run_keep(context, inputs, count);
  const bool ran = !status;
  bsm_status_free(status);
  for (size_t i = 0; i < bsm_context_profile_count(context); i++) {
    bsm_step_profile step = BSM_STEP_PROFILE_INIT;
    assert_null(bsm_context_profile(context, i, &step));
    if (!step.runs) continue;
    calls += strcmp(step.kind, "aten_call") == 0;
    steps++;
  }
  for (size_t i = 0; i < bsm_operator_list_count(list); i++) {
    reference += item_of(list, i).reference_nodes;
  }
  /* A plan runs all its steps; of a program, what is reached. */
  if (ran && !engine->plan->program) {
    assert_int_equal(calls, reference);
    assert_int_equal(steps, engine->plan->step_count);
  }
  bsm_context_destroy(context);
  for (size_t i = 0; i < count; i++) free(inputs[i].data);
  free(inputs);
  return ran;
}

/* ---- both ---- */

bool report_check(bsm_module *module, const bsm_compile_options *options) {
  bsm_operator_list *list = NULL;
  bsm_engine *engine = NULL;
  bsm_status status = bsm_compile(module, options, &engine);
  bsm_status told = bsm_module_operators(module, options, &list);
  const bool compiles = !status;
  if (told) { /* it could not even be lowered */
    assert_non_null(status);
    assert_null(list);
    bsm_status_free(told);
  } else if ((bsm_operator_list_failure(list) == NULL) != compiles) {
    const char *failure = bsm_operator_list_failure(list);
    fail_msg("the report says \"%s\", the compiler \"%s\"",
             failure ? failure : "",
             compiles ? "" : bsm_status_message(status));
  }
  bsm_status_free(status);
  if (compiles) {
    hold(list, engine);
    (void)hold_profile(list, engine);
  }
  bsm_operator_list_free(list);
  bsm_engine_destroy(engine);
  return compiles;
}
