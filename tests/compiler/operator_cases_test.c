/* SPDX-License-Identifier: Apache-2.0 */
/* Operators through the whole back half: each case of
 * tests/data/conversion/cases.txt is converted, built into an engine, and run
 * with the best kernels and with the plain C ones; dtypes, shapes and numbers
 * are compared with what PyTorch computed. */
#include "base/isa.h"
#include "bessemer/engine.h"
#include "builder/builder.h"
#include "runtime/engine/engine.h"
#include "tests/conversion/case_reader.h"
#include "tests/target_kit.h"

static bsm_status build_engine(bsm_network *net, bsm_engine **out) {
  bsm_plan *plan;
  bsm_arena arena;
  const bsm_build_options options = {.target = test_target(1),
                                     .no_timing = true};
  bsm_arena_init(&arena, NULL);
  bsm_status status = bsm_status_note(bsm_build(net, &options, &arena, &plan),
                                      "while building");
  if (!status) status = bsm_engine_adopt(&arena, plan, NULL, NULL, out);
  bsm_arena_destroy(&arena);
  return status;
}

/* Views of tensors for a context. */
static bsm_status arrays_of(fixture *f, bsm_tensor *const *tensors,
                            size_t count, bsm_array *out) {
  for (size_t i = 0; i < count; i++) {
    bsm_tensor *t;
    BSM_TRY(bsm_tensor_contiguous(&f->arena, tensors[i], &t));
    out[i] = (bsm_array){bsm_tensor_data(t), t->dtype, t->sizes, NULL};
  }
  return BSM_OK;
}

static bsm_status run_engine(fixture *f, const op_case *c, bsm_engine *engine,
                             bsm_tensor *const *results, uint32_t isa) {
  bsm_context *context;
  bsm_array inputs[MAX_TENSORS], outputs[MAX_TENSORS];
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  options.threads = 1;
  options.isa = isa;
  BSM_TRY(arrays_of(f, c->inputs, c->input_count, inputs));
  BSM_TRY(arrays_of(f, results, c->output_count, outputs));
  BSM_TRY(bsm_context_create(engine, &options, &context));
  bsm_status status = bsm_context_run(context, inputs, c->input_count, outputs,
                                      c->output_count);
  bsm_context_destroy(context);
  return status;
}

static bsm_status run_case(fixture *f, const op_case *c) {
  static const uint32_t isas[] = {0, BSM_CONTEXT_ISA_SCALAR};
  bsm_network *net;
  bsm_engine *engine;
  bsm_tensor *results[MAX_TENSORS] = {0};
  BSM_TRY(convert_case(f, c, &net));
  if (net->outputs.len != c->output_count) {
    return BSM_FAIL(BSM_INTERNAL, "%zu outputs", net->outputs.len);
  }
  for (size_t i = 0; i < c->output_count; i++) {
    BSM_TRY(bsm_tensor_new(&f->arena, net->outputs.items[i]->dtype,
                           net->outputs.items[i]->dims, false, &results[i]));
  }
  BSM_TRY(build_engine(net, &engine));
  bsm_status status = BSM_OK;
  for (size_t i = 0; i < 2 && !status; i++) {
    status = run_engine(f, c, engine, results, isas[i]);
    if (!status) status = compare_case(c, results, c->output_count, 10);
    if (status) status = bsm_status_note(status, "with isa 0x%x", isas[i]);
  }
  bsm_engine_destroy(engine);
  return status;
}

static void test_cases(void **state) {
  for_each_case(*state, run_case);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_cases, fixture_setup,
                                      fixture_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
