/* SPDX-License-Identifier: Apache-2.0 */
/* What the pass fuse_attention takes for attention, and what it leaves. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <string.h>

#include "builder/passes.h"
#include "builder/uses.h"
#include "tests/target_kit.h"

enum { B = 2, H = 3, L = 4, S = 5, E = 8, W = 6 };

typedef struct fixture {
  bsm_arena arena;
  bsm_network *net;
  bsm_itensor *q, *k, *v;
} fixture;

static fixture fx;

static bsm_itensor *input(const char *name, bsm_dtype dtype, bsm_dims dims) {
  bsm_itensor *t = bsm_network_add_input(fx.net, name, dtype, dims);
  assert_non_null(t);
  return t;
}

static int set_up(void **state) {
  (void)state;
  memset(&fx, 0, sizeof(fx));
  bsm_arena_init(&fx.arena, NULL);
  assert_null(bsm_network_create(&fx.arena, NULL, &fx.net));
  fx.q = input("q", BSM_DTYPE_FLOAT, (bsm_dims){4, {B, H, L, E}});
  fx.k = input("k", BSM_DTYPE_FLOAT, (bsm_dims){4, {B, H, S, E}});
  fx.v = input("v", BSM_DTYPE_FLOAT, (bsm_dims){4, {B, H, S, W}});
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  bsm_network_release(fx.net);
  bsm_arena_destroy(&fx.arena);
  return 0;
}

static bsm_itensor *out_of(bsm_layer *layer) {
  assert_non_null(layer);
  return bsm_layer_output(layer, 0);
}

static void mark(bsm_itensor *t) {
  const char *name =
      bsm_arena_printf(&fx.arena, "out_%zu", fx.net->outputs.len);
  assert_null(bsm_network_mark_output(fx.net, t, name));
}

static bsm_itensor *constant(bsm_dtype dtype, const void *values,
                             bsm_dims dims) {
  bsm_weights w = {.dtype = dtype, .count = 1, .shape = dims};
  for (int32_t i = 0; i < dims.rank; i++) w.count *= dims.d[i];
  const size_t size = (size_t)w.count * bsm_dtype_size(dtype);
  void *copy = bsm_arena_alloc(&fx.arena, size, 8);
  assert_non_null(copy);
  memcpy(copy, values, size);
  w.values = copy;
  return out_of(bsm_network_add_constant(fx.net, dims, &w));
}

static bsm_itensor *scalar(float value) {
  return constant(BSM_DTYPE_FLOAT, &value, (bsm_dims){0, {0}});
}

static bsm_itensor *binary(bsm_itensor *a, bsm_itensor *b,
                           bsm_element_wise_operation operation) {
  return out_of(bsm_network_add_element_wise(fx.net, a, b, operation));
}

static bsm_itensor *product(bsm_itensor *a, bsm_itensor *b, bool transposed) {
  return out_of(bsm_network_add_matrix_multiply(
      fx.net, a, BSM_MATRIX_NONE, b,
      transposed ? BSM_MATRIX_TRANSPOSE : BSM_MATRIX_NONE));
}

static bsm_itensor *scores(void) {
  return product(fx.q, fx.k, true);
}

static bsm_itensor *softmax(bsm_itensor *x) {
  return out_of(bsm_network_add_softmax(fx.net, x, x->dims.rank - 1, false));
}

static bsm_itensor *select_of(bsm_itensor *c, bsm_itensor *a, bsm_itensor *b) {
  return out_of(bsm_network_add_select(fx.net, c, a, b));
}

/* The rest of attention behind scores. */
static void finish(bsm_itensor *s) {
  mark(product(softmax(s), fx.v, false));
}

static void run_pass(void) {
  bsm_arena scratch;
  bsm_arena_init(&scratch, NULL);
  bsm_status status = bsm_pass_fuse_attention(test_target(1), fx.net, &scratch);
  if (!status) status = bsm_network_sweep(fx.net, &scratch);
  if (!status) status = bsm_network_verify(fx.net);
  bsm_arena_destroy(&scratch);
  if (status) fail_msg("%s", bsm_status_message(status));
}

static const bsm_layer *attention(void) {
  const bsm_layer *found = NULL;
  for (size_t i = 0; i < fx.net->layers.len; i++) {
    const bsm_layer *layer = fx.net->layers.items[i];
    if (layer->kind == BSM_LAYER_ATTENTION) {
      assert_null(found);
      found = layer;
    }
    assert_int_not_equal(layer->kind, BSM_LAYER_SOFTMAX);
    assert_int_not_equal(layer->kind, BSM_LAYER_MATRIX_MULTIPLY);
  }
  assert_non_null(found);
  return found;
}

static void expect_none(void) {
  run_pass();
  for (size_t i = 0; i < fx.net->layers.len; i++) {
    assert_int_not_equal(fx.net->layers.items[i]->kind, BSM_LAYER_ATTENTION);
  }
}

/* ---- what it takes ---- */

static void test_plain(void **state) {
  (void)state;
  finish(scores());
  run_pass();
  const bsm_layer *a = attention();
  assert_int_equal(a->inputs.len, 3);
  assert_ptr_equal(a->inputs.items[0], fx.q);
  assert_ptr_equal(a->inputs.items[1], fx.k);
  assert_ptr_equal(a->inputs.items[2], fx.v);
  assert_true(a->p.attention.scale == 1);
  assert_false(a->p.attention.causal);
  assert_int_equal(fx.net->layers.len, 1);
}

/* Scale of the scores and of the query; the key given as [E, S]. */
static void test_scales(void **state) {
  (void)state;
  bsm_itensor *k = input("k2", BSM_DTYPE_FLOAT, (bsm_dims){4, {B, H, E, S}});
  bsm_itensor *q = binary(fx.q, scalar(4), BSM_ELEMENT_WISE_DIV);
  bsm_itensor *s = product(q, k, false);
  finish(binary(scalar(0.5f), s, BSM_ELEMENT_WISE_PROD));
  run_pass();
  const bsm_layer *a = attention();
  assert_true(a->p.attention.scale == 0.125);
  assert_ptr_equal(a->inputs.items[0], fx.q);
  const bsm_layer *shuffle = a->inputs.items[1]->producer;
  assert_non_null(shuffle);
  assert_int_equal(shuffle->kind, BSM_LAYER_SHUFFLE);
  assert_ptr_equal(shuffle->inputs.items[0], k);
}

/* A bias, and before it another one; then a mask over both. */
static void test_masks(void **state) {
  (void)state;
  bsm_itensor *b0 = input("b0", BSM_DTYPE_FLOAT, (bsm_dims){3, {H, L, S}});
  bsm_itensor *b1 = input("b1", BSM_DTYPE_FLOAT, (bsm_dims){4, {B, 1, 1, S}});
  bsm_itensor *m = input("m", BSM_DTYPE_BOOL, (bsm_dims){4, {B, 1, L, S}});
  bsm_itensor *s = binary(scores(), b0, BSM_ELEMENT_WISE_SUM);
  s = binary(b1, s, BSM_ELEMENT_WISE_SUM);
  finish(select_of(m, scalar(-1e9f), s));
  run_pass();
  const bsm_layer *a = attention();
  assert_int_equal(a->inputs.len, 6);
  assert_ptr_equal(a->inputs.items[3], b0);
  assert_ptr_equal(a->inputs.items[4], b1);
  assert_ptr_equal(a->inputs.items[5], m);
  assert_int_equal(a->p.attention.biases, 2);
  assert_true(a->p.attention.hides);
  assert_true(a->p.attention.fill == (double)-1e9f);
}

/* As scaled_dot_product_attention is converted with a mask. */
static void test_cleared_rows(void **state) {
  (void)state;
  bsm_itensor *m = input("m", BSM_DTYPE_BOOL, (bsm_dims){2, {L, S}});
  bsm_itensor *s = select_of(m, scores(), scalar(-INFINITY));
  bsm_itensor *p = softmax(s);
  bsm_itensor *low = binary(s, scalar(-INFINITY), BSM_ELEMENT_WISE_EQUAL);
  bsm_itensor *all = out_of(
      bsm_network_add_reduce(fx.net, low, BSM_REDUCE_ALL, 1u << 3, true));
  mark(product(select_of(all, scalar(0), p), fx.v, false));
  run_pass();
  const bsm_layer *a = attention();
  assert_true(a->p.attention.clears_hidden);
  assert_false(a->p.attention.hides);
  assert_true(a->p.attention.has_mask);
  assert_true(a->p.attention.fill == -INFINITY);
}

/* As a decomposed program has it: no score is not -inf; zeros of every dim. */
static bsm_itensor *decomposed(float cleared, bool negate) {
  bsm_itensor *m = input("m", BSM_DTYPE_FLOAT, (bsm_dims){2, {L, S}});
  bsm_itensor *s = binary(scores(), m, BSM_ELEMENT_WISE_SUM);
  bsm_itensor *p = softmax(s), *t;
  t = binary(s, scalar(-INFINITY), BSM_ELEMENT_WISE_EQUAL);
  if (negate) t = out_of(bsm_network_add_unary(fx.net, t, BSM_UNARY_NOT));
  t = out_of(bsm_network_add_reduce(fx.net, t, BSM_REDUCE_ANY, 1u << 3, true));
  t = out_of(bsm_network_add_unary(fx.net, t, BSM_UNARY_NOT));
  float zeros[B * H * L * S] = {0};
  zeros[B * H * L * S - 1] = cleared;
  return select_of(
      t, constant(BSM_DTYPE_FLOAT, zeros, (bsm_dims){4, {B, H, L, S}}), p);
}

static void test_decomposed_cleared_rows(void **state) {
  (void)state;
  mark(product(decomposed(0, true), fx.v, false));
  run_pass();
  assert_true(attention()->p.attention.clears_hidden);
  assert_int_equal(attention()->inputs.len, 4);
}

static void test_other_than_zeros_stay(void **state) {
  (void)state;
  mark(product(decomposed(1, true), fx.v, false));
  expect_none();
}

/* not(any(x == -inf)) is another question. */
static void test_another_comparison_stays(void **state) {
  (void)state;
  mark(product(decomposed(0, false), fx.v, false));
  expect_none();
}

static void fill_causal(float *values, int64_t diagonal, float hidden) {
  for (int64_t i = 0; i < L; i++) {
    for (int64_t j = 0; j < S; j++) {
      values[i * S + j] = j <= i + diagonal ? 0 : hidden;
    }
  }
}

static void test_causal_constants(void **state) {
  float values[L * S];
  uint8_t keep[L * S];
  (void)state;
  fill_causal(values, 1, -3.4e38f);
  for (int i = 0; i < L * S; i++) keep[i] = values[i] == 0;
  finish(binary(scores(),
                constant(BSM_DTYPE_FLOAT, values, (bsm_dims){4, {1, 1, L, S}}),
                BSM_ELEMENT_WISE_SUM));
  run_pass();
  assert_int_equal(attention()->inputs.len, 3);
  assert_true(attention()->p.attention.causal);
  assert_int_equal(attention()->p.attention.diagonal, 1);
  tear_down(NULL);
  set_up(NULL);
  finish(select_of(constant(BSM_DTYPE_BOOL, keep, (bsm_dims){2, {L, S}}),
                   scores(), scalar(-INFINITY)));
  run_pass();
  assert_int_equal(attention()->inputs.len, 3);
  assert_true(attention()->p.attention.causal);
  assert_int_equal(attention()->p.attention.diagonal, 1);
}

/* Not a triangle; one with finite values beside another mask; one whose first
 * row sees nothing: they stay biases. */
static void test_constants_that_stay(void **state) {
  float values[L * S];
  const bsm_dims dims = {2, {L, S}};
  (void)state;
  fill_causal(values, 0, -INFINITY);
  values[S] = -INFINITY;
  finish(binary(scores(), constant(BSM_DTYPE_FLOAT, values, dims),
                BSM_ELEMENT_WISE_SUM));
  run_pass();
  assert_int_equal(attention()->p.attention.biases, 1);
  assert_false(attention()->p.attention.causal);
  tear_down(NULL);
  set_up(NULL);
  fill_causal(values, 0, -3.4e38f);
  bsm_itensor *s = binary(scores(), constant(BSM_DTYPE_FLOAT, values, dims),
                          BSM_ELEMENT_WISE_SUM);
  bsm_itensor *b = input("b", BSM_DTYPE_FLOAT, (bsm_dims){4, {B, 1, 1, S}});
  finish(binary(s, b, BSM_ELEMENT_WISE_SUM));
  run_pass();
  assert_int_equal(attention()->p.attention.biases, 2);
  assert_false(attention()->p.attention.causal);
  tear_down(NULL);
  set_up(NULL);
  fill_causal(values, -1, -INFINITY);
  finish(binary(scores(), constant(BSM_DTYPE_FLOAT, values, dims),
                BSM_ELEMENT_WISE_SUM));
  run_pass();
  assert_int_equal(attention()->p.attention.biases, 1);
}

/* Windows: [B, H, L, S] seen as [B / 2, 2, H, L, S] by a mask. */
static void test_split(void **state) {
  (void)state;
  bsm_itensor *b0 = input("b0", BSM_DTYPE_FLOAT, (bsm_dims){4, {1, H, L, S}});
  bsm_itensor *b1 =
      input("b1", BSM_DTYPE_FLOAT, (bsm_dims){5, {1, 2, 1, L, S}});
  bsm_itensor *s = binary(scores(), b0, BSM_ELEMENT_WISE_SUM);
  bsm_layer *wide = bsm_network_add_shuffle(fx.net, s);
  bsm_shuffle_set_reshape_dimensions(wide, (bsm_dims){5, {B / 2, 2, H, L, S}});
  s = binary(out_of(wide), b1, BSM_ELEMENT_WISE_SUM);
  bsm_layer *narrow = bsm_network_add_shuffle(fx.net, s);
  bsm_shuffle_set_reshape_dimensions(narrow, (bsm_dims){4, {B, H, L, S}});
  finish(out_of(narrow));
  run_pass();
  assert_int_equal(attention()->p.attention.split, 2);
  assert_int_equal(attention()->p.attention.biases, 2);
  assert_ptr_equal(attention()->inputs.items[3], b0);
}

/* ---- what it leaves ---- */

static void test_scores_read_twice(void **state) {
  (void)state;
  bsm_itensor *s = scores();
  finish(s);
  mark(s);
  expect_none();
}

static void test_weights_read_twice(void **state) {
  (void)state;
  bsm_itensor *p = softmax(scores());
  mark(product(p, fx.v, false));
  mark(p);
  expect_none();
}

static void test_other_axis(void **state) {
  (void)state;
  bsm_layer *layer = bsm_network_add_softmax(fx.net, scores(), 2, false);
  mark(product(out_of(layer), fx.v, false));
  expect_none();
}

/* A scale behind the mask scales the mask too. */
static void test_scaled_mask(void **state) {
  (void)state;
  bsm_itensor *b = input("b", BSM_DTYPE_FLOAT, (bsm_dims){2, {L, S}});
  bsm_itensor *s = binary(scores(), b, BSM_ELEMENT_WISE_SUM);
  finish(binary(s, scalar(0.5f), BSM_ELEMENT_WISE_PROD));
  expect_none();
}

/* A mask that repeats the scores for more batches. */
static void test_widening_mask(void **state) {
  (void)state;
  bsm_itensor *q = input("q1", BSM_DTYPE_FLOAT, (bsm_dims){4, {1, H, L, E}});
  bsm_itensor *k = input("k1", BSM_DTYPE_FLOAT, (bsm_dims){4, {1, H, S, E}});
  bsm_itensor *b = input("b", BSM_DTYPE_FLOAT, (bsm_dims){4, {B, 1, L, S}});
  finish(binary(product(q, k, true), b, BSM_ELEMENT_WISE_SUM));
  expect_none();
}

static void test_other_dtype(void **state) {
  (void)state;
  const bsm_dims q = {2, {L, E}}, k = {2, {S, E}}, v = {2, {S, W}};
  bsm_itensor *s = product(input("dq", BSM_DTYPE_DOUBLE, q),
                           input("dk", BSM_DTYPE_DOUBLE, k), true);
  mark(product(softmax(s), input("dv", BSM_DTYPE_DOUBLE, v), false));
  expect_none();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_plain),
      TEST(test_scales),
      TEST(test_masks),
      TEST(test_cleared_rows),
      TEST(test_decomposed_cleared_rows),
      TEST(test_other_than_zeros_stay),
      TEST(test_another_comparison_stays),
      TEST(test_causal_constants),
      TEST(test_constants_that_stay),
      TEST(test_split),
      TEST(test_scores_read_twice),
      TEST(test_weights_read_twice),
      TEST(test_other_axis),
      TEST(test_scaled_mask),
      TEST(test_widening_mask),
      TEST(test_other_dtype),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
