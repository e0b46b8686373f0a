/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the reference library's suite on a GPU, by its stand-in: those of
 * operators whose kernels, or whose way to them, GPUs have alone. Each call is
 * a graph of one node, built into an engine for the GPU and run there; what
 * PyTorch says of it is expected, and no step may be the host's. */
#include "cuda/cuda_kit.h"
#undef assert_ok
#include "tests/conversion/op_engine.h"

#define Q "quantized_decomposed::"

static standin gpu;

/* What is asked for. */
typedef struct selection {
  const char *name;
  bool only_first; /* all other tensors are constants: weights */
  bool no_float;   /* what is of float32 runs on the CPU too */
  size_t every;    /* one call in so many; 0: all */
  bool only_float; /* converters refuse 16 bits */
} selection;

static bsm_status run_case(fixture *f, const op_case *oc, bool only_first) {
  call c = {.outputs = oc->out_count, .only_first = only_first};
  const bsm_target *target = test_target_of("cuda", 1, BSM_TARGET_ANY_ISA);
  bsm_plan *plan;
  bsm_arena arena;
  bool refused;
  BSM_TRY(make_graph(f, oc, &c));
  bsm_arena_init(&arena, NULL);
  bsm_status status = op_plan(f, &c, target, &arena, &refused, &plan);
  const bsm_plan_step *step = status ? NULL : op_step_of_host(plan);
  if (step) {
    status = BSM_FAIL(BSM_INTERNAL, "step '%s' of kind %s is the host's",
                      step->name, bsm_step_kind_name(step->kind));
  }
  if (!status) status = target->ops->add_code(target, plan, &arena, NULL);
  if (!status) status = op_run_plan(f, oc, &c, plan, &arena);
  bsm_arena_destroy(&arena);
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
         (!s->no_float || first->u.tensor->dtype != BSM_DTYPE_FLOAT) &&
         (!s->only_float || first->u.tensor->dtype == BSM_DTYPE_FLOAT);
}

/* What is asked for by a test, and how many calls that were. */
typedef struct selections {
  const selection *items;
  size_t count, seen, ran;
} selections;

static bsm_status visit(fixture *f, const op_case *oc, void *user) {
  selections *all = user;
  for (size_t i = 0; i < all->count; i++) {
    if (!is_selected(oc, &all->items[i])) continue;
    if (all->items[i].every && all->seen++ % all->items[i].every) break;
    all->ran++;
    return run_case(f, oc, all->items[i].only_first);
  }
  return BSM_OK;
}

static void run_selected(fixture *f, const selection *items, size_t count,
                         size_t least) {
  selections all = {items, count, 0, 0};
  const size_t wrong = op_cases_visit(f, visit, &all);
  print_message("%zu calls\n", all.ran);
  assert_true(all.ran >= least);
  assert_int_equal(wrong, 0);
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

/* Operators that are made of layers which GPUs have. */
static void compositions(void **state) {
  static const selection selected[] = {
      {Q "quantize_per_token", false, false, 16},
      {Q "quantize_per_channel_group", true, false, 16},
      {Q "dequantize_per_token", false, false, 16},
      {Q "dequantize_per_channel_group", false, false, 16},
      {Q "choose_qparams_per_token", false, false, 4},
      {Q "choose_qparams_per_token_asymmetric", false, false, 4, true},
      {Q "choose_qparams_symmetric.tensor", false, false, 0},
      {"aten::nanmean", false, true, 0},
      {"aten::_int_mm", false, false, 0},
      {"aten::_weight_int8pack_mm", false, false, 0},
      {"aten::_addmm_activation", false, false, 8},
      {"transformers::grouped_mm_fallback", false, false, 5},
      {"aten::as_strided", false, false, 6},
      {"aten::nll_loss_forward", false, false, 16},
      {"aten::log_sigmoid_forward", false, false, 4},
  };
  RUN(*state, selected, 16);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(recurrent_networks, fixture_setup,
                                      fixture_teardown),
      cmocka_unit_test_setup_teardown(compositions, fixture_setup,
                                      fixture_teardown),
  };
#ifndef BSM_HAS_EMULATION
  print_message("skipped: no C++ compiler was found\n");
  return 0;
#endif
  gpu = standin_open(1);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
