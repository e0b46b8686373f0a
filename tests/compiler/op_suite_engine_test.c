/* SPDX-License-Identifier: Apache-2.0 */
/* The reference library's suite through the whole back half: each call that
 * PyTorch answers with tensors becomes a graph of one node with its tensors as
 * inputs, is converted, built into an engine and run. Nothing may be turned
 * away but for results whose shapes only the data tells.
 *
 * The target is the first that is linked in. Where it is of a device other than
 * the host, a call that needs the host is built again with all of its tensors
 * known but the first, as networks have their weights; the summary says how
 * many calls ran where.
 *
 *   op_suite_engine_test [SAMPLE[/FIRST] [OWN]]
 *
 * A sample of the calls is run (tests/sample.h). GPUs run them by the kernels
 * for all steps of a kind, which are compiled once; one call in OWN also by
 * kernels of its own (64). */
#include "backend/cuda/cuda_launch.h"
#include "backend/cuda/target/cuda_target.h"
#include "tests/conversion/op_engine.h"
#include "tests/sample.h"

static test_sample sample;
static size_t own_code = 64;

typedef struct counts {
  size_t right, refused;
  size_t device, host, own;
} counts;

static const bsm_target *the_target(void) {
  static const bsm_target *target;
  if (!target) target = test_target_of(NULL, 1, BSM_TARGET_ANY_ISA);
  return target;
}

static bool has_device(void) {
  return the_target()->host != the_target();
}

/* Open all the time: opening a GPU for each call takes long. */
static bsm_device *keep_device(void) {
  const bsm_device_ops *ops;
  bsm_device *device;
  if (!has_device()) return NULL;
  assert_ok(bsm_device_find(bsm_str_of(the_target()->ops->name), &ops));
  assert_ok(ops->open(&(bsm_device_options){0}, &device));
  return device;
}

/* ---- machine code ---- */

/* The kernels of GPUs for all steps of a kind. */
static const bsm_plan *general_plan(void) {
  static bsm_arena arena;
  static bsm_plan plan;
  if (!arena.chunks) {
    bsm_arena_init(&arena, NULL);
    assert_ok(bsm_cuda_add_scopes(the_target(), 1u << BSM_CUDA_FOR_KIND, &plan,
                                  &arena, NULL));
  }
  return &plan;
}

/* Adds them to a plan, of which they are no copy. */
static bsm_status add_general_code(bsm_plan *plan, bsm_arena *arena) {
  const bsm_plan *general = general_plan();
  const uint32_t before = plan->weights_count;
  bsm_plan_weights *weights =
      BSM_NEW_ARRAY(arena, bsm_plan_weights, before + general->weights_count);
  bsm_plan_code *code =
      BSM_NEW_ARRAY(arena, bsm_plan_code, general->code_count);
  if (!weights || !code) return BSM_FAIL_OOM();
  for (uint32_t i = 0; i < before; i++) weights[i] = plan->weights[i];
  for (uint32_t i = 0; i < general->weights_count; i++) {
    weights[before + i] = general->weights[i];
  }
  for (uint32_t i = 0; i < general->code_count; i++) {
    code[i] = general->code[i];
    code[i].weights += before;
  }
  plan->weights = weights;
  plan->weights_count += general->weights_count;
  plan->code = code;
  plan->code_count = general->code_count;
  return BSM_OK;
}

static bsm_status add_code(bsm_plan *plan, bsm_arena *arena, bool own) {
  const bsm_target *target = the_target();
  if (!target->ops->add_code) return BSM_OK;
  return own ? target->ops->add_code(target, plan, arena, NULL)
             : add_general_code(plan, arena);
}

/* ---- calls ---- */

/* One way to run a call, and what became of it. */
typedef struct attempt {
  bool only_first, own_code;
  bool refused; /* turned away when it was converted */
  bool host;    /* a step computes there */
} attempt;

static bsm_status try_call(fixture *f, const op_case *oc, attempt *a) {
  call c = {.outputs = oc->out_count, .only_first = a->only_first};
  bsm_plan *plan;
  bsm_arena arena;
  a->host = true;
  a->refused = false;
  BSM_TRY(make_graph(f, oc, &c));
  bsm_arena_init(&arena, NULL);
  bsm_status status = op_plan(f, &c, the_target(), &arena, &a->refused, &plan);
  if (!status) {
    a->host = op_step_of_host(plan) != NULL;
    status = add_code(plan, &arena, a->own_code);
  }
  if (!status) status = op_run_plan(f, oc, &c, plan, &arena);
  bsm_arena_destroy(&arena);
  return status;
}

/* A call that needs the host, again with weights. */
static bsm_status try_with_weights(fixture *f, const op_case *oc, attempt *a) {
  attempt again = {.only_first = true};
  bsm_status status = try_call(f, oc, &again);
  if (again.refused) {
    bsm_status_free(status);
    return BSM_OK;
  }
  if (!status) *a = again;
  return status;
}

static bsm_status run_case(fixture *f, const op_case *oc, counts *n) {
  attempt a = {0};
  bsm_status status = try_call(f, oc, &a);
  if (status && a.refused) {
    /* The op itself said that it needs the data. */
    const char *reason = "the reference library cannot take it either";
    if (!strstr(bsm_status_message(status), reason)) return status;
    bsm_status_free(status);
    n->refused++;
    if (!has_device()) return BSM_OK;
  } else if (status) {
    return status;
  } else {
    n->right++;
  }
  if (!has_device()) return BSM_OK;
  if (a.host) BSM_TRY(try_with_weights(f, oc, &a));
  *(a.host ? &n->host : &n->device) += 1;
  if (a.host || !the_target()->ops->add_code) return BSM_OK;
  if (own_code == 0 || n->device % own_code) return BSM_OK;
  a.own_code = true;
  n->own++;
  return bsm_status_note(try_call(f, oc, &a), "with kernels of its own");
}

/* as_strided reads memory that the engine's inputs, which are row-major, need
 * not have. */
static bool reads_strides(const op_case *oc) {
  return bsm_str_starts_with(oc->name, BSM_STR("aten::as_strided"));
}

static bsm_status visit(fixture *f, const op_case *oc, void *user) {
  counts *n = user;
  /* Plans do not draw random numbers: programs do. */
  if (!op_computes_tensors(f, oc) || reads_strides(oc) || oc->has_seed ||
      op_count_tensors(oc) < oc->out_count || !test_sample_takes(&sample)) {
    return BSM_OK;
  }
  return run_case(f, oc, n);
}

static void test_suite(void **state) {
  counts n = {0};
  bsm_device *device = keep_device();
  const size_t wrong = op_cases_visit(*state, visit, &n);
  if (device) device->ops->close(device);
  print_message("%zu calls right, %zu refused, %zu wrong\n", n.right, n.refused,
                wrong);
  if (has_device()) {
    print_message(
        "%s: %zu ran on the device, %zu with kernels of their own; "
        "%zu needed the host\n",
        the_target()->text, n.device, n.own, n.host);
    assert_true(sample.late || n.device > 0);
  }
  test_sample_tell(&sample);
  assert_true(sample.late || n.right > 6000 / sample.every);
  assert_true(sample.every > 8 || n.refused < n.right / 20);
  assert_int_equal(wrong, 0);
}

/* "SAMPLE[/FIRST]" and "OWN"; false: they are wrong. */
static bool read_arguments(int argc, char **argv) {
  if (!test_sample_init(&sample, argc > 1 ? argv[1] : NULL)) return false;
  if (argc > 2 && sscanf(argv[2], "%zu", &own_code) != 1) return false;
  return argc <= 3;
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_suite, fixture_setup,
                                      fixture_teardown),
  };
  if (!read_arguments(argc, argv)) {
    fprintf(stderr, "usage: %s [SAMPLE[/FIRST] [OWN]]\n", argv[0]);
    return 1;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
