/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the reference library's suite as engines: the calls are read, built
 * for a target and run, for the tests that ask what becomes of them there. */
#ifndef BSM_TESTS_CONVERSION_OP_ENGINE_H_
#define BSM_TESTS_CONVERSION_OP_ENGINE_H_

#include "bessemer/engine.h"
#include "builder/builder.h"
#include "runtime/engine/engine.h"
#include "tests/conversion/op_call.h"
#include "tests/target_kit.h"

#define MAX_OUTPUTS 64

/* ---- calls ---- */

/* What is done with each call: BSM_OK, or what is wrong about it. */
typedef bsm_status op_case_visit(fixture *f, const op_case *oc, void *user);

/* Reads the suite but for calls that lowering leaves none of; prints what is
 * wrong, and returns how many calls are. */
static inline size_t op_cases_visit(fixture *f, op_case_visit *visit,
                                    void *user) {
  op_case_reader reader;
  bsm_arena cases;
  op_case oc;
  size_t wrong = 0;
  f->logger.level = BSM_LOG_LEVEL_ERROR;
  bsm_arena_init(&cases, NULL);
  assert_true(op_cases_open(&reader));
  while (op_cases_next(&reader, &cases, &oc)) {
    if (op_case_is_quantized(&oc)) continue;
    bsm_status status = visit(f, &oc, user);
    if (!status) continue;
    wrong++;
    print_error("%.*s: %s\n", (int)oc.name.len, oc.name.data,
                bsm_status_message(status));
    bsm_status_free(status);
  }
  op_cases_close(&reader);
  bsm_arena_destroy(&cases);
  return wrong;
}

/* How many of the results, from the first on, are tensors. */
static inline size_t op_count_tensors(const op_case *oc) {
  size_t count = 0;
  while (count < oc->out_count && is_tensors(&oc->outs[count])) count++;
  return count;
}

/* Computes tensors from tensors, and does nothing else. */
static inline bool op_computes_tensors(const fixture *f, const op_case *oc) {
  const bsm_aten_op *op = bsm_aten_find(f->aten, oc->name);
  const uint32_t others = BSM_ATEN_INPLACE | BSM_ATEN_RANDOM | BSM_ATEN_EFFECT;
  bool any = false;
  for (size_t i = 0; i < oc->arg_count; i++) any |= is_tensors(&oc->args[i]);
  return any && oc->outcome == OP_RETURNS && op_count_tensors(oc) > 0 &&
         !oc->has_after && op && !(op->flags & others);
}

/* ---- plans ---- */

/* The plan of a call for a target, without code. *refused: conversion turned
 * the call away, with BSM_UNSUPPORTED. */
static inline bsm_status op_plan(fixture *f, const call *c,
                                 const bsm_target *target, bsm_arena *arena,
                                 bool *refused, bsm_plan **out) {
  const bsm_build_options options = {.target = target, .no_timing = true};
  const bsm_convert_options converting = {.takes = bsm_target_takes,
                                          .takes_user = target};
  bsm_network *net;
  bsm_status status = bsm_convert_graph_with(
      c->graph, f->aten, f->registry, &f->arena, &f->logger, &converting, &net);
  *refused = bsm_status_code(status) == BSM_UNSUPPORTED;
  if (!status) status = bsm_network_verify(net);
  if (status) return status;
  return bsm_status_note(bsm_build(net, &options, arena, out),
                         "while building");
}

/* What only moves data does so where the data is, which in a plan of nothing
 * else may be the host. */
static inline bool op_only_moves(const bsm_plan *plan,
                                 const bsm_plan_step *step) {
  return step->kind == BSM_STEP_TRANSFER ||
         (step->kind == BSM_STEP_COPY &&
          plan->tensors[step->inputs[0]].dtype ==
              plan->tensors[step->outputs[0]].dtype);
}

/* The first step that computes in the host's memory, or NULL. */
static inline const bsm_plan_step *op_step_of_host(const bsm_plan *plan) {
  for (uint32_t i = 0; i < plan->step_count; i++) {
    const bsm_plan_step *step = &plan->steps[i];
    if (step->space == BSM_SPACE_HOST && !op_only_moves(plan, step)) {
      return step;
    }
  }
  return NULL;
}

/* ---- engines ---- */

static inline bsm_status op_array_of(fixture *f, bsm_tensor *tensor,
                                     bsm_array *out) {
  bsm_tensor *t;
  BSM_TRY(bsm_tensor_contiguous(&f->arena, tensor, &t));
  *out = (bsm_array){bsm_tensor_data(t), t->dtype, t->sizes, NULL};
  return BSM_OK;
}

/* New tensors for what an engine gives. */
static inline bsm_status op_make_results(fixture *f, const bsm_plan *plan,
                                         bsm_tensor **results) {
  if (plan->output_count > MAX_OUTPUTS) {
    return BSM_FAIL(BSM_LIMIT, "too many outputs");
  }
  for (uint32_t i = 0; i < plan->output_count; i++) {
    const bsm_plan_tensor *t = &plan->tensors[plan->outputs[i].tensor];
    BSM_TRY(bsm_tensor_new(&f->arena, t->dtype, t->dims, false, &results[i]));
  }
  return BSM_OK;
}

/* Runs the engine of a call in a context of its own; `results` has room for
 * MAX_OUTPUTS. */
static inline bsm_status op_engine_run(fixture *f, const call *c,
                                       bsm_engine *engine,
                                       bsm_tensor **results) {
  bsm_array inputs[MAX_INPUTS], outputs[MAX_OUTPUTS];
  const size_t count = engine->plan->output_count;
  bsm_context *context;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  options.threads = 1;
  BSM_TRY(op_make_results(f, engine->plan, results));
  for (size_t i = 0; i < c->input_count; i++) {
    BSM_TRY(op_array_of(f, c->inputs[i], &inputs[i]));
  }
  for (size_t i = 0; i < count; i++) {
    BSM_TRY(op_array_of(f, results[i], &outputs[i]));
  }
  BSM_TRY(bsm_context_create(engine, &options, &context));
  bsm_status status =
      bsm_context_run(context, inputs, c->input_count, outputs, count);
  bsm_context_destroy(context);
  return status;
}

/* Makes an engine of a plan, which is in `arena`, runs it, and compares what it
 * gives with what PyTorch gave. */
static inline bsm_status op_run_plan(fixture *f, const op_case *oc,
                                     const call *c, bsm_plan *plan,
                                     bsm_arena *arena) {
  bsm_engine *engine;
  bsm_tensor *results[MAX_OUTPUTS];
  BSM_TRY(bsm_engine_adopt(arena, plan, NULL, NULL, &engine));
  bsm_status status = op_engine_run(f, c, engine, results);
  bsm_engine_destroy(engine);
  if (!status) status = compare_results(f, oc, c->outputs, results);
  return status;
}

#endif /* BSM_TESTS_CONVERSION_OP_ENGINE_H_ */
