/* SPDX-License-Identifier: Apache-2.0 */
/* Which permutations the pass move_permutations moves, and where they are then.
 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "builder/passes.h"
#include "builder/uses.h"
#include "tests/target_kit.h"

typedef struct fixture {
  bsm_arena arena;
  bsm_network *net;
} fixture;

static fixture fx;

static int set_up(void **state) {
  (void)state;
  bsm_arena_init(&fx.arena, NULL);
  assert_null(bsm_network_create(&fx.arena, NULL, &fx.net));
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  bsm_network_release(fx.net);
  bsm_arena_destroy(&fx.arena);
  return 0;
}

static bsm_itensor *input(const char *name, bsm_dims dims) {
  bsm_itensor *t = bsm_network_add_input(fx.net, name, BSM_DTYPE_FLOAT, dims);
  assert_non_null(t);
  return t;
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

static bsm_itensor *permuted(bsm_itensor *x, bsm_dims permutation) {
  bsm_layer *layer = bsm_network_add_shuffle(fx.net, x);
  assert_non_null(layer);
  bsm_shuffle_set_first_transpose(layer, permutation);
  return out_of(layer);
}

static bsm_itensor *reshaped(bsm_itensor *x, bsm_dims dims) {
  bsm_layer *layer = bsm_network_add_shuffle(fx.net, x);
  assert_non_null(layer);
  bsm_shuffle_set_reshape_dimensions(layer, dims);
  return out_of(layer);
}

/* By a matrix of as many columns as x, and rows. */
static bsm_itensor *product(bsm_itensor *x, int64_t rows) {
  static float values[64];
  const int64_t columns = x->dims.d[x->dims.rank - 1];
  const bsm_weights w = {.dtype = BSM_DTYPE_FLOAT,
                         .values = values,
                         .count = rows * columns,
                         .shape = {2, {rows, columns}}};
  assert_true(w.count <= 64);
  bsm_itensor *b = out_of(bsm_network_add_constant(fx.net, w.shape, &w));
  return out_of(bsm_network_add_matrix_multiply(fx.net, x, BSM_MATRIX_NONE, b,
                                                BSM_MATRIX_TRANSPOSE));
}

static void run_pass(void) {
  bsm_arena scratch;
  bsm_arena_init(&scratch, NULL);
  bsm_status status =
      bsm_pass_move_permutations(test_target(1), fx.net, &scratch);
  if (!status) status = bsm_network_sweep(fx.net, &scratch);
  if (!status) status = bsm_network_verify(fx.net);
  bsm_arena_destroy(&scratch);
  if (status) fail_msg("%s", bsm_status_message(status));
}

/* The layer that makes a tensor, which has these dims, if it is of that kind.
 */
static const bsm_layer *made(const bsm_itensor *t, bsm_layer_kind kind,
                             bsm_dims dims) {
  assert_non_null(t->producer);
  assert_int_equal(t->producer->kind, kind);
  assert_true(bsm_dims_equal(t->dims, dims));
  return t->producer;
}

/* The tensor that was permuted to this one. */
static const bsm_itensor *before(const bsm_itensor *t, bsm_dims permutation,
                                 bsm_dims dims) {
  const bsm_layer *layer = made(t, BSM_LAYER_SHUFFLE, dims);
  assert_true(layer->p.shuffle.has_first && !layer->p.shuffle.has_reshape);
  assert_true(bsm_dims_equal(layer->p.shuffle.first_transpose, permutation));
  return layer->inputs.items[0];
}

static const bsm_itensor *output(void) {
  return fx.net->outputs.items[0];
}

/* matrix multiply(permute(x)) */
static void test_a_permutation_of_rows_sinks(void **state) {
  (void)state;
  bsm_itensor *x = input("x", (bsm_dims){3, {2, 5, 4}});
  mark(product(permuted(x, (bsm_dims){3, {1, 0, 2}}), 3));
  run_pass();
  const bsm_itensor *y =
      before(output(), (bsm_dims){3, {1, 0, 2}}, (bsm_dims){3, {5, 2, 3}});
  const bsm_layer *layer =
      made(y, BSM_LAYER_MATRIX_MULTIPLY, (bsm_dims){3, {2, 5, 3}});
  assert_ptr_equal(layer->inputs.items[0], x);
}

static void test_a_permutation_of_columns_stays(void **state) {
  (void)state;
  bsm_itensor *x = input("x", (bsm_dims){3, {2, 5, 4}});
  mark(product(permuted(x, (bsm_dims){3, {0, 2, 1}}), 3));
  run_pass();
  const bsm_layer *layer =
      made(output(), BSM_LAYER_MATRIX_MULTIPLY, (bsm_dims){3, {2, 4, 3}});
  assert_ptr_equal(before(layer->inputs.items[0], (bsm_dims){3, {0, 2, 1}},
                          (bsm_dims){3, {2, 4, 5}}),
                   x);
}

/* permute(matrix multiply(reshape(permute(x)))), as heads come out of
 * attention: [batch, head, token, number] is read as [token, batch, head and
 * number]. */
static void test_permutations_around_a_product_become_one(void **state) {
  (void)state;
  bsm_itensor *x = input("x", (bsm_dims){4, {3, 2, 5, 4}});
  bsm_itensor *y = permuted(x, (bsm_dims){4, {2, 0, 1, 3}});
  y = product(reshaped(y, (bsm_dims){3, {5, 3, 8}}), 6);
  mark(permuted(y, (bsm_dims){3, {1, 0, 2}}));
  run_pass();
  const bsm_layer *layer =
      made(output(), BSM_LAYER_MATRIX_MULTIPLY, (bsm_dims){3, {3, 5, 6}});
  const bsm_layer *joins =
      made(layer->inputs.items[0], BSM_LAYER_SHUFFLE, (bsm_dims){3, {3, 5, 8}});
  assert_true(joins->p.shuffle.has_reshape && !joins->p.shuffle.has_first);
  assert_ptr_equal(before(joins->inputs.items[0], (bsm_dims){4, {0, 2, 1, 3}},
                          (bsm_dims){4, {3, 5, 2, 4}}),
                   x);
  assert_int_equal(fx.net->layers.len, 4);
}

/* Another reader wants the product as it is. */
static void test_a_product_that_is_read_twice_keeps_its_rows(void **state) {
  (void)state;
  bsm_itensor *x = input("x", (bsm_dims){4, {3, 2, 5, 4}});
  bsm_itensor *y = permuted(x, (bsm_dims){4, {2, 0, 1, 3}});
  y = product(reshaped(y, (bsm_dims){3, {5, 3, 8}}), 6);
  mark(permuted(y, (bsm_dims){3, {1, 0, 2}}));
  mark(y);
  run_pass();
  const bsm_itensor *from =
      before(output(), (bsm_dims){3, {1, 0, 2}}, (bsm_dims){3, {3, 5, 6}});
  made(from, BSM_LAYER_MATRIX_MULTIPLY, (bsm_dims){3, {5, 3, 6}});
}

/* reshape(permute(reshape(x))): batches and heads as one dimension. */
static void test_what_is_split_again_is_not_joined(void **state) {
  (void)state;
  bsm_itensor *x = input("x", (bsm_dims){4, {1, 5, 3, 8}});
  bsm_itensor *y = reshaped(x, (bsm_dims){3, {5, 6, 4}});
  y = permuted(y, (bsm_dims){3, {1, 0, 2}});
  mark(reshaped(y, (bsm_dims){4, {3, 2, 5, 4}}));
  run_pass();
  const bsm_itensor *split = before(output(), (bsm_dims){4, {1, 2, 0, 3}},
                                    (bsm_dims){4, {3, 2, 5, 4}});
  const bsm_layer *layer =
      made(split, BSM_LAYER_SHUFFLE, (bsm_dims){4, {5, 3, 2, 4}});
  assert_true(layer->p.shuffle.has_reshape && !layer->p.shuffle.has_first);
  assert_ptr_equal(layer->inputs.items[0], x);
}

/* Ones go with what follows them, or with the last. */
static void test_ones_are_split_off(void **state) {
  (void)state;
  bsm_itensor *x = input("x", (bsm_dims){2, {5, 24}});
  bsm_itensor *y = reshaped(x, (bsm_dims){3, {5, 6, 4}});
  y = permuted(y, (bsm_dims){3, {1, 0, 2}});
  mark(reshaped(y, (bsm_dims){5, {6, 1, 5, 4, 1}}));
  run_pass();
  const bsm_itensor *split = before(output(), (bsm_dims){5, {2, 0, 1, 3, 4}},
                                    (bsm_dims){5, {6, 1, 5, 4, 1}});
  assert_ptr_equal(
      made(split, BSM_LAYER_SHUFFLE, (bsm_dims){5, {1, 5, 6, 4, 1}})
          ->inputs.items[0],
      x);
}

static void test_what_is_joined_otherwise_stays(void **state) {
  (void)state;
  bsm_itensor *x = input("x", (bsm_dims){2, {5, 24}});
  bsm_itensor *y = reshaped(x, (bsm_dims){3, {5, 6, 4}});
  y = permuted(y, (bsm_dims){3, {1, 0, 2}});
  mark(reshaped(y, (bsm_dims){2, {30, 4}}));
  run_pass();
  const bsm_layer *layer =
      made(output(), BSM_LAYER_SHUFFLE, (bsm_dims){2, {30, 4}});
  assert_true(layer->p.shuffle.has_reshape);
  before(layer->inputs.items[0], (bsm_dims){3, {1, 0, 2}},
         (bsm_dims){3, {6, 5, 4}});
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_a_permutation_of_rows_sinks),
      TEST(test_a_permutation_of_columns_stays),
      TEST(test_permutations_around_a_product_become_one),
      TEST(test_a_product_that_is_read_twice_keeps_its_rows),
      TEST(test_what_is_split_again_is_not_joined),
      TEST(test_ones_are_split_off),
      TEST(test_what_is_joined_otherwise_stays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
