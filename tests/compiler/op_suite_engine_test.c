/* SPDX-License-Identifier: Apache-2.0 */
/* The reference library's suite through the whole back half: each call that
 * PyTorch answers with tensors becomes a graph of one node with its tensors as
 * inputs, is converted, built into an engine and run. Nothing may be turned
 * away but for results whose shapes only the data tells. */
#include "base/isa.h"
#include "bessemer/engine.h"
#include "builder/builder.h"
#include "runtime/engine/engine.h"
#include "tests/conversion/op_call.h"
#include "tests/target_kit.h"

enum { MAX_OUTPUTS = 64 };

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

static bsm_status array_of(fixture *f, bsm_tensor *tensor, bsm_array *out) {
  bsm_tensor *t;
  BSM_TRY(bsm_tensor_contiguous(&f->arena, tensor, &t));
  *out = (bsm_array){bsm_tensor_data(t), t->dtype, t->sizes, NULL};
  return BSM_OK;
}

static bsm_status run_engine(fixture *f, const call *c, bsm_engine *engine,
                             bsm_tensor *const *results, size_t count) {
  bsm_array inputs[MAX_INPUTS], outputs[MAX_OUTPUTS];
  bsm_context *context;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  options.threads = 1;
  for (size_t i = 0; i < c->input_count; i++) {
    BSM_TRY(array_of(f, c->inputs[i], &inputs[i]));
  }
  for (size_t i = 0; i < count; i++) {
    BSM_TRY(array_of(f, results[i], &outputs[i]));
  }
  BSM_TRY(bsm_context_create(engine, &options, &context));
  bsm_status status =
      bsm_context_run(context, inputs, c->input_count, outputs, count);
  bsm_context_destroy(context);
  return status;
}

/* *refused: the call was turned away when it was converted. */
static bsm_status run_case(fixture *f, const op_case *oc, bool *refused) {
  call c = {.outputs = oc->out_count};
  bsm_network *net;
  bsm_engine *engine;
  bsm_tensor *results[MAX_OUTPUTS];
  *refused = false;
  BSM_TRY(make_graph(f, oc, &c));
  bsm_status status = convert_graph(f, c.graph, &net);
  *refused = bsm_status_code(status) == BSM_UNSUPPORTED;
  if (status) return status;
  const size_t count = net->outputs.len;
  if (count > MAX_OUTPUTS) return BSM_FAIL(BSM_LIMIT, "too many outputs");
  for (size_t i = 0; i < count; i++) {
    const bsm_itensor *t = net->outputs.items[i];
    BSM_TRY(bsm_tensor_new(&f->arena, t->dtype, t->dims, false, &results[i]));
  }
  BSM_TRY(build_engine(net, &engine));
  status = run_engine(f, &c, engine, results, count);
  bsm_engine_destroy(engine);
  if (!status) status = compare_results(f, oc, oc->out_count, results);
  return status;
}

/* as_strided reads memory that the engine's inputs, which are row-major, need
 * not have. */
static bool reads_strides(const op_case *oc) {
  return bsm_str_starts_with(oc->name, BSM_STR("aten::as_strided"));
}

/* Computes tensors from tensors, and does nothing else. */
static bool is_wanted(const fixture *f, const op_case *oc) {
  const bsm_aten_op *op = bsm_aten_find(f->aten, oc->name);
  const uint32_t others = BSM_ATEN_INPLACE | BSM_ATEN_RANDOM | BSM_ATEN_EFFECT;
  bool wanted = oc->outcome == OP_RETURNS && oc->out_count > 0 &&
                !oc->has_after && op && !(op->flags & others) &&
                !reads_strides(oc);
  bool any = false;
  for (size_t i = 0; wanted && i < oc->out_count; i++) {
    wanted = is_tensors(&oc->outs[i]);
  }
  for (size_t i = 0; i < oc->arg_count; i++) any |= is_tensors(&oc->args[i]);
  return wanted && any;
}

static void test_suite(void **state) {
  fixture *f = *state;
  op_case_reader reader;
  bsm_arena cases;
  op_case oc;
  size_t right = 0, refused = 0, wrong = 0;
  f->logger.level = BSM_LOG_LEVEL_ERROR;
  bsm_arena_init(&cases, NULL);
  assert_true(op_cases_open(&reader));
  while (op_cases_next(&reader, &cases, &oc)) {
    bool no = false;
    if (is_wanted(f, &oc)) {
      bsm_status status = run_case(f, &oc, &no);
      if (!status) {
        right++;
      } else if (no) {
        /* The op itself said that it needs the data. */
        refused++;
        assert_non_null(strstr(bsm_status_message(status),
                               "the reference library cannot take it either"));
      } else {
        wrong++;
        print_error("%.*s: %s\n", (int)oc.name.len, oc.name.data,
                    bsm_status_message(status));
      }
      bsm_status_free(status);
    }
  }
  op_cases_close(&reader);
  bsm_arena_destroy(&cases);
  print_message("%zu calls right, %zu refused\n", right, refused);
  assert_true(right > 6000);
  assert_true(refused < right / 20);
  assert_int_equal(wrong, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_suite, fixture_setup,
                                      fixture_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
