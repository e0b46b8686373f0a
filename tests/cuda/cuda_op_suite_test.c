/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the reference library's suite on a GPU, by its stand-in: those of
 * operators whose kernels, or whose way to them, GPUs have alone. Each call is
 * a graph of one node, built into an engine for the GPU and run there; what
 * PyTorch says of it is expected, and no step may be the host's. */
#include "bessemer/engine.h"
#include "builder/builder.h"
#include "cuda/cuda_kit.h"
#undef assert_ok
#include "runtime/engine/engine.h"
#include "tests/conversion/op_call.h"
#include "tests/target_kit.h"

enum { MAX_OUTPUTS = 8 };

static standin gpu;

/* What is asked for. */
typedef struct selection {
  const char *name;
  bool only_first; /* all other tensors are constants: weights */
  bool no_float;   /* what is of float32 runs on the CPU too */
} selection;

typedef struct counts {
  size_t ran, wrong;
} counts;

static bsm_status array_of(fixture *f, bsm_tensor *tensor, bsm_array *out) {
  bsm_tensor *t;
  BSM_TRY(bsm_tensor_contiguous(&f->arena, tensor, &t));
  *out = (bsm_array){bsm_tensor_data(t), t->dtype, t->sizes, NULL};
  return BSM_OK;
}

static bsm_status check_places(const bsm_plan *plan) {
  for (uint32_t i = 0; i < plan->step_count; i++) {
    const bsm_plan_step *step = &plan->steps[i];
    if (step->space == BSM_SPACE_HOST && step->kind != BSM_STEP_TRANSFER) {
      return BSM_FAIL(BSM_INTERNAL, "step '%s' of kind %s is the host's",
                      step->name, bsm_step_kind_name(step->kind));
    }
  }
  return BSM_OK;
}

static bsm_status build_engine(fixture *f, const call *c, bsm_engine **out) {
  const bsm_target *target = test_target_of("cuda", 1, BSM_TARGET_ANY_ISA);
  const bsm_build_options options = {.target = target, .no_timing = true};
  const bsm_convert_options converting = {.takes = bsm_target_takes,
                                          .takes_user = target};
  bsm_network *net;
  bsm_plan *plan;
  bsm_arena arena;
  BSM_TRY(bsm_convert_graph_with(c->graph, f->aten, f->registry, &f->arena,
                                 &f->logger, &converting, &net));
  bsm_arena_init(&arena, NULL);
  bsm_status status = bsm_build(net, &options, &arena, &plan);
  if (!status) status = check_places(plan);
  if (!status) status = target->ops->add_code(target, plan, &arena, NULL);
  if (!status) status = bsm_engine_adopt(&arena, plan, NULL, NULL, out);
  bsm_arena_destroy(&arena);
  return status;
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

static bsm_status run_case(fixture *f, const op_case *oc, bool only_first) {
  call c = {.outputs = oc->out_count, .only_first = only_first};
  bsm_engine *engine;
  bsm_tensor *results[MAX_OUTPUTS];
  BSM_TRY(make_graph(f, oc, &c));
  BSM_TRY(build_engine(f, &c, &engine));
  const bsm_plan *plan = engine->plan;
  bsm_status status = BSM_OK;
  for (uint32_t i = 0; i < plan->output_count && !status; i++) {
    const bsm_plan_tensor *t = &plan->tensors[plan->outputs[i].tensor];
    assert_true(i < MAX_OUTPUTS);
    status = bsm_tensor_new(&f->arena, t->dtype, t->dims, false, &results[i]);
  }
  if (!status) status = run_engine(f, &c, engine, results, plan->output_count);
  bsm_engine_destroy(engine);
  if (!status) status = compare_results(f, oc, oc->out_count, results);
  return status;
}

static bool is_selected(const op_case *oc, const selection *s) {
  const bsm_ivalue *first = oc->args;
  if (!bsm_str_eq(oc->name, bsm_str_of(s->name)) || oc->outcome != OP_RETURNS ||
      oc->has_after || !is_tensors(&oc->outs[0])) {
    return false;
  }
  return first->tag == BSM_IVALUE_TENSOR &&
         !bsm_dtype_is_complex(first->u.tensor->dtype) &&
         (!s->no_float || first->u.tensor->dtype != BSM_DTYPE_FLOAT);
}

static void run_selected(fixture *f, const selection *all, size_t count,
                         size_t least) {
  op_case_reader reader;
  bsm_arena cases;
  op_case oc;
  counts n = {0};
  f->logger.level = BSM_LOG_LEVEL_ERROR;
  bsm_arena_init(&cases, NULL);
  assert_true(op_cases_open(&reader));
  while (op_cases_next(&reader, &cases, &oc)) {
    for (size_t i = 0; i < count; i++) {
      if (!is_selected(&oc, &all[i])) continue;
      bsm_status status = run_case(f, &oc, all[i].only_first);
      n.ran++;
      n.wrong += status != BSM_OK;
      if (status) {
        print_error("%s: %s\n", all[i].name, bsm_status_message(status));
      }
      bsm_status_free(status);
    }
  }
  op_cases_close(&reader);
  bsm_arena_destroy(&cases);
  print_message("%zu calls\n", n.ran);
  assert_true(n.ran >= least);
  assert_int_equal(n.wrong, 0);
  assert_int_equal(standin_count_left(&gpu), 0);
}

#define RUN(f, selected, least) \
  run_selected(f, selected, sizeof(selected) / sizeof((selected)[0]), least)

/* Layers of other dtypes than float32. */
static void recurrent_networks(void **state) {
  static const selection selected[] = {{"aten::lstm.input", true, true},
                                       {"aten::lstm.data", true, true},
                                       {"aten::gru.input", true, true},
                                       {"aten::gru.data", true, true},
                                       {"aten::rnn_tanh.input", true, true},
                                       {"aten::rnn_relu.input", true, true}};
  RUN(*state, selected, 16);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(recurrent_networks, fixture_setup,
                                      fixture_teardown),
  };
#ifndef BSM_HAS_EMULATION
  print_message("skipped: no C++ compiler was found\n");
  return 0;
#endif
  gpu = standin_open(1);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
