/* SPDX-License-Identifier: Apache-2.0 */
/* Which products of one tensor become one, and what is packed for them. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/isa.h"
#include "builder/builder.h"
#include "tests/target_kit.h"

enum { ROWS = 5, K = 6, HEADS = 2, DEPTH = 10, N = HEADS * DEPTH };

/* Matrices of [K, N] or [N, K], one after the other, and biases. */
static _Alignas(BSM_ALIGNMENT) float constants[8 * K * N];
static float biases[2][N];

static bsm_arena arena;
static bsm_network *net;
static bsm_itensor *x;
static bsm_weights_store store;

static void new_network(void) {
  if (net) bsm_network_release(net);
  assert_null(bsm_network_create(&arena, NULL, &net));
  x = bsm_network_add_input(net, "x", BSM_DTYPE_FLOAT,
                            (bsm_dims){3, {1, ROWS, K}});
  assert_non_null(x);
}

static int set_up(void **state) {
  (void)state;
  for (int i = 0; i < 8 * K * N; i++) constants[i] = (float)(i * 37 % 101) / 7;
  for (int i = 0; i < 2 * N; i++) biases[i / N][i % N] = (float)i / 3;
  bsm_arena_init(&arena, NULL);
  bsm_weights_store_init(&store, NULL);
  assert_null(
      bsm_weights_store_add_constant(&store, 1, constants, sizeof(constants)));
  new_network();
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  bsm_network_release(net);
  net = NULL;
  bsm_arena_destroy(&arena);
  bsm_weights_store_destroy(&store);
  return 0;
}

static bsm_itensor *out_of(bsm_layer *layer) {
  assert_non_null(layer);
  return bsm_layer_output(layer, 0);
}

/* x times matrix number `which`; bias: number of one, or -1. */
static bsm_itensor *project(int which, bool transposed, int bias) {
  const bsm_dims dims = {2, {transposed ? N : K, transposed ? K : N}};
  const bsm_weights w = {.dtype = BSM_DTYPE_FLOAT,
                         .values = constants + which * K * N,
                         .count = K * N,
                         .shape = dims};
  bsm_itensor *b = out_of(bsm_network_add_constant(net, dims, &w));
  bsm_layer *layer = bsm_network_add_matrix_multiply(
      net, x, BSM_MATRIX_NONE, b,
      transposed ? BSM_MATRIX_TRANSPOSE : BSM_MATRIX_NONE);
  assert_non_null(layer);
  if (bias >= 0) {
    layer->p.matrix_multiply.bias = (bsm_weights){.dtype = BSM_DTYPE_FLOAT,
                                                  .values = biases[bias],
                                                  .count = N,
                                                  .shape = {1, {N}}};
  }
  return out_of(layer);
}

static bsm_itensor *heads_of(bsm_itensor *t) {
  bsm_layer *layer = bsm_network_add_shuffle(net, t);
  bsm_shuffle_set_reshape_dimensions(layer,
                                     (bsm_dims){4, {1, ROWS, HEADS, DEPTH}});
  bsm_shuffle_set_second_transpose(layer, (bsm_dims){4, {0, 2, 1, 3}});
  return out_of(layer);
}

static void attend(bsm_itensor *q, bsm_itensor *k, bsm_itensor *v) {
  bsm_itensor *s = out_of(bsm_network_add_matrix_multiply(
      net, heads_of(q), BSM_MATRIX_NONE, heads_of(k), BSM_MATRIX_TRANSPOSE));
  s = out_of(bsm_network_add_softmax(net, s, 3, false));
  bsm_itensor *y = out_of(bsm_network_add_matrix_multiply(
      net, s, BSM_MATRIX_NONE, heads_of(v), BSM_MATRIX_NONE));
  assert_null(bsm_network_mark_output(net, y, "y"));
}

static bsm_plan *build(bsm_weights_store *with) {
  bsm_plan *plan = NULL;
  const bsm_build_options options = {
      .target = test_target(1), .no_timing = true, .store = with};
  bsm_status status = bsm_build(net, &options, &arena, &plan);
  if (status) fail_msg("%s", bsm_status_message(status));
  return plan;
}

static size_t count_kind(const bsm_plan *plan, bsm_step_kind kind) {
  size_t count = 0;
  for (uint32_t i = 0; i < plan->step_count; i++) {
    count += plan->steps[i].kind == kind;
  }
  return count;
}

/* The weights of the only product: columns of `parts` matrices side by side, in
 * panels of 16; those of the first one times `factor`, if there is one. */
static void check_scaled(const bsm_plan *plan, const int *parts, int count,
                         bool transposed, const float *factor) {
  const bsm_plan_step *step = NULL;
  for (uint32_t i = 0; i < plan->step_count; i++) {
    if (plan->steps[i].kind == BSM_STEP_MATRIX_MULTIPLY) {
      assert_null(step);
      step = &plan->steps[i];
    }
  }
  assert_non_null(step);
  assert_int_equal(step->params->matrix_multiply.k, K);
  assert_int_equal(step->params->matrix_multiply.n, count * N);
  const float *packed = plan->weights[step->weights[0]].data;
  for (int n = 0; n < count * N; n++) {
    for (int k = 0; k < K; k++) {
      const float *b = constants + parts[n / N] * K * N;
      const float plain = transposed ? b[n % N * K + k] : b[k * N + n % N];
      const float expected =
          factor && n < N ? (float)((double)plain * (double)factor[n]) : plain;
      assert_true(packed[n / 16 * 16 * K + k * 16 + n % 16] == expected);
    }
  }
}

static void check_packed(const bsm_plan *plan, const int *parts, int count,
                         bool transposed) {
  check_scaled(plan, parts, count, transposed, NULL);
}

static void test_three_become_one(void **state) {
  (void)state;
  for (int transposed = 0; transposed < 2; transposed++) {
    new_network();
    bsm_itensor *q = project(3, transposed, 0), *k = project(0, transposed, -1);
    attend(q, k, project(1, transposed, 1));
    const bsm_plan *plan = build(NULL);
    /* No copies: attention reads the views. */
    assert_int_equal(plan->step_count, 2);
    assert_int_equal(count_kind(plan, BSM_STEP_ATTENTION), 1);
    check_packed(plan, (const int[]){3, 0, 1}, 3, transposed);
    const uint32_t id = plan->steps[0].weights[1];
    assert_int_not_equal(id, BSM_NO_WEIGHTS);
    assert_int_equal(plan->weights[id].size, 3 * N * sizeof(float));
    const float *bias = plan->weights[id].data;
    for (int n = 0; n < N; n++) {
      assert_true(bias[n] == biases[0][n]);
      assert_true(bias[N + n] == 0);
      assert_true(bias[2 * N + n] == biases[1][n]);
    }
  }
}

/* What multiplies the columns of one goes into its part of the weights. */
static void test_scaled_parts(void **state) {
  (void)state;
  for (int transposed = 0; transposed < 2; transposed++) {
    new_network();
    const bsm_dims row = {1, {N}};
    const bsm_weights w = {.dtype = BSM_DTYPE_FLOAT,
                           .values = biases[1],
                           .count = N,
                           .shape = row};
    bsm_itensor *q = project(3, transposed, 0);
    q = out_of(bsm_network_add_element_wise(
        net, q, out_of(bsm_network_add_constant(net, row, &w)),
        BSM_ELEMENT_WISE_PROD));
    bsm_itensor *k = project(0, transposed, -1);
    attend(q, k, project(1, transposed, 1));
    const bsm_plan *plan = build(NULL);
    assert_int_equal(plan->step_count, 2);
    check_scaled(plan, (const int[]){3, 0, 1}, 3, transposed, biases[1]);
    const float *bias = plan->weights[plan->steps[0].weights[1]].data;
    for (int n = 0; n < N; n++) {
      assert_true(bias[n] ==
                  (float)((double)biases[0][n] * (double)biases[1][n]));
      assert_true(bias[2 * N + n] == biases[1][n]);
    }
  }
}

/* The product computes in what its parts were to compute in. */
static void test_precision_is_kept(void **state) {
  (void)state;
  attend(project(0, true, 0), project(1, true, -1), project(2, true, -1));
  for (size_t i = 0; i < net->layers.len; i++) {
    net->layers.items[i]->precision = BSM_PRECISION_TF32;
  }
  const bsm_plan *plan = build(NULL);
  assert_int_equal(count_kind(plan, BSM_STEP_MATRIX_MULTIPLY), 1);
  assert_int_equal(plan->steps[0].kind, BSM_STEP_MATRIX_MULTIPLY);
  assert_int_equal(plan->steps[0].precision, BSM_PRECISION_TF32);
}

/* Attention over three projections, made in this order. */
static void attend_to(const int *parts, bool transposed) {
  bsm_itensor *t[3];
  for (int i = 0; i < 3; i++) t[i] = project(parts[i], transposed, -1);
  attend(t[0], t[1], t[2]);
}

/* A plan for other shapes finds the matrix where the first one left it. */
static void test_packed_once(void **state) {
  (void)state;
  const int parts[] = {4, 1, 2};
  attend_to(parts, true);
  const bsm_plan *first = build(&store);
  const uint64_t misses = store.misses;
  new_network();
  attend_to(parts, true);
  const bsm_plan *second = build(&store);
  assert_int_equal(store.misses, misses);
  assert_ptr_equal(first->weights[first->steps[0].weights[0]].data,
                   second->weights[second->steps[0].weights[0]].data);
  check_packed(second, parts, 3, true);
}

/* One that is read by others as well stays, the other two go together. */
static void test_an_output_stays(void **state) {
  (void)state;
  bsm_itensor *q = project(0, true, 0);
  attend(q, project(1, true, -1), project(2, true, -1));
  assert_null(bsm_network_mark_output(net, q, "q"));
  const bsm_plan *plan = build(NULL);
  assert_int_equal(count_kind(plan, BSM_STEP_MATRIX_MULTIPLY), 2);
}

/* Readers that want rows of their own. */
static void test_other_readers(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    bsm_itensor *t = project(i, true, -1);
    bsm_layer *layer =
        bsm_network_add_normalization(net, t, NULL, NULL, 1u << 2);
    assert_null(bsm_network_mark_output(net, out_of(layer), i ? "a" : "b"));
  }
  const bsm_plan *plan = build(NULL);
  assert_int_equal(count_kind(plan, BSM_STEP_MATRIX_MULTIPLY), 2);
}

/* A reshape over rows and columns would copy a view. */
static void test_reshape_across_rows(void **state) {
  (void)state;
  bsm_itensor *two[2];
  for (int i = 0; i < 2; i++) {
    bsm_layer *layer = bsm_network_add_shuffle(net, project(i, true, -1));
    bsm_shuffle_set_reshape_dimensions(layer, (bsm_dims){2, {10, 10}});
    two[i] = out_of(layer);
  }
  bsm_itensor *y = out_of(bsm_network_add_matrix_multiply(
      net, two[0], BSM_MATRIX_NONE, two[1], BSM_MATRIX_NONE));
  assert_null(bsm_network_mark_output(net, y, "y"));
  assert_int_equal(count_kind(build(NULL), BSM_STEP_MATRIX_MULTIPLY), 3);
}

/* Different orders of their matrices. */
static void test_unequal_products(void **state) {
  (void)state;
  attend(project(0, true, -1), project(1, false, -1), project(2, true, -1));
  assert_int_equal(count_kind(build(NULL), BSM_STEP_MATRIX_MULTIPLY), 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_three_become_one),    TEST(test_scaled_parts),
      TEST(test_precision_is_kept),   TEST(test_packed_once),
      TEST(test_an_output_stays),     TEST(test_other_readers),
      TEST(test_reshape_across_rows), TEST(test_unequal_products),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
