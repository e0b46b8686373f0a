/* SPDX-License-Identifier: Apache-2.0 */
/* Products of quantized values: which become layers of int8, with what in them,
 * and which stay as they are. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <string.h>

#include "builder/passes.h"
#include "builder/precision.h"
#include "tests/target_kit.h"

#define MAPS 8
#define SCALE 0.0625f

static bsm_arena arena;
static bsm_network *net;
static float kernel[MAPS * MAPS];
static int8_t whole[MAPS * MAPS];
static const float bias[MAPS] = {1, 2, 3, 4, 5, 6, 7, 8};

static int set_up(void **state) {
  (void)state;
  bsm_arena_init(&arena, NULL);
  assert_null(bsm_network_create(&arena, NULL, &net));
  for (int i = 0; i < MAPS * MAPS; i++) {
    const float scale = 0.01f * (float)(1 + i / MAPS);
    whole[i] = (int8_t)(i % MAPS == 0 ? 127 : i * 37 % 255 - 127);
    kernel[i] = (float)whole[i] * scale;
  }
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  bsm_network_release(net);
  bsm_arena_destroy(&arena);
  return 0;
}

static bsm_itensor *out_of(bsm_layer *layer) {
  assert_non_null(layer);
  return bsm_layer_output(layer, 0);
}

static bsm_itensor *number(float value) {
  float *data = BSM_NEW(&arena, float);
  *data = value;
  const bsm_weights w = {.dtype = BSM_DTYPE_FLOAT, .values = data, .count = 1};
  return out_of(bsm_network_add_constant(net, (bsm_dims){0}, &w));
}

static bsm_itensor *quantize(bsm_itensor *x, float scale, float zero,
                             bsm_dtype dtype) {
  return out_of(
      bsm_network_add_quantize(net, x, number(scale), number(zero), -1, dtype));
}

static bsm_itensor *dequantize(bsm_itensor *q, float scale, float zero) {
  return out_of(bsm_network_add_dequantize(net, q, number(scale), number(zero),
                                           -1, BSM_DTYPE_FLOAT));
}

static bsm_itensor *both(bsm_itensor *x, float scale, float zero,
                         bsm_dtype dtype) {
  return dequantize(quantize(x, scale, zero, dtype), scale, zero);
}

static bsm_itensor *image(const char *name) {
  bsm_itensor *x = bsm_network_add_input(net, name, BSM_DTYPE_FLOAT,
                                         (bsm_dims){4, {1, MAPS, 5, 5}});
  assert_non_null(x);
  return x;
}

static bsm_itensor *convolve(bsm_itensor *x) {
  const bsm_weights w = {.dtype = BSM_DTYPE_FLOAT,
                         .values = kernel,
                         .count = MAPS * MAPS,
                         .shape = {4, {MAPS, MAPS, 1, 1}},
                         .num_input_maps = MAPS,
                         .num_output_maps = MAPS,
                         .kernel_shape = {2, {1, 1}}};
  const bsm_weights b = {
      .dtype = BSM_DTYPE_FLOAT, .values = bias, .count = MAPS};
  return out_of(bsm_network_add_convolution_nd(net, x, MAPS,
                                               (bsm_dims){2, {1, 1}}, &w, &b));
}

static bsm_itensor *relu(bsm_itensor *x) {
  return out_of(bsm_network_add_activation(net, x, BSM_ACTIVATION_RELU));
}

static void run_for(const bsm_target *target, bsm_itensor *y) {
  assert_null(bsm_network_mark_output(net, y, "y"));
  bsm_status status = bsm_run_passes(net, target, NULL, NULL);
  if (status) fail_msg("%s", bsm_status_message(status));
  status = bsm_network_verify(net);
  if (status) fail_msg("%s", bsm_status_message(status));
}

static void run(bsm_itensor *y) {
  run_for(test_target(1), y);
}

/* The n-th layer of a kind; NULL: there are fewer. */
static const bsm_layer *find(bsm_layer_kind kind, size_t n) {
  for (size_t i = 0; i < net->layers.len; i++) {
    if (net->layers.items[i]->kind == kind && n-- == 0) {
      return net->layers.items[i];
    }
  }
  return NULL;
}

static const bsm_layer *only_int8(void) {
  const bsm_layer *layer = find(BSM_LAYER_INT8_CONVOLUTION, 0);
  assert_non_null(layer);
  assert_null(find(BSM_LAYER_INT8_CONVOLUTION, 1));
  assert_null(find(BSM_LAYER_CONVOLUTION, 0));
  assert_null(find(BSM_LAYER_MATRIX_MULTIPLY, 0));
  return layer;
}

static void assert_kernel(const bsm_layer *layer) {
  const float *columns = layer->p.int8_convolution.columns;
  assert_memory_equal(layer->p.int8_convolution.kernel, whole, sizeof(whole));
  for (int o = 0; o < MAPS; o++) {
    const double scale = (double)SCALE * (double)(0.01f * (float)(1 + o));
    assert_true(columns[o] > scale * 0.999999 && columns[o] < scale * 1.000001);
    assert_true(columns[MAPS + o] == bias[o]);
  }
}

/* int8 becomes uint8, and all between two quantizers is one layer. */
static void test_convolution(void **state) {
  (void)state;
  bsm_itensor *x = both(image("x"), SCALE, -3, BSM_DTYPE_INT8);
  run(both(relu(convolve(x)), 0.5f, 7, BSM_DTYPE_UINT8));
  const bsm_layer *layer = only_int8();
  assert_int_equal(layer->inputs.items[0]->dtype, BSM_DTYPE_UINT8);
  assert_int_equal(layer->outputs.items[0]->dtype, BSM_DTYPE_UINT8);
  assert_int_equal(layer->p.int8_convolution.x_zero, 125);
  assert_int_equal(layer->p.int8_convolution.y_zero, 7);
  assert_int_equal(layer->p.int8_convolution.epilogue.activation,
                   BSM_ACTIVATION_RELU);
  assert_true(layer->p.int8_convolution.y_inverse == 2);
  int32_t sum = 0;
  for (int i = 0; i < MAPS; i++) sum += whole[i];
  assert_int_equal(layer->p.int8_convolution.offset[0], -125 * sum);
  assert_kernel(layer);
}

/* Nothing quantizes the output. */
static void test_float_output(void **state) {
  (void)state;
  run(relu(convolve(both(image("x"), SCALE, 0, BSM_DTYPE_UINT8))));
  assert_int_equal(only_int8()->outputs.items[0]->dtype, BSM_DTYPE_FLOAT);
}

/* A residual is read as bytes where it is dequantized. */
static void test_residual(void **state) {
  (void)state;
  bsm_itensor *x = both(image("x"), SCALE, 0, BSM_DTYPE_UINT8);
  bsm_itensor *r = both(image("r"), 0.25f, 9, BSM_DTYPE_UINT8);
  bsm_layer *sum =
      bsm_network_add_element_wise(net, convolve(x), r, BSM_ELEMENT_WISE_SUM);
  run(both(relu(out_of(sum)), 0.5f, 0, BSM_DTYPE_UINT8));
  const bsm_layer *layer = only_int8();
  assert_int_equal(layer->inputs.len, 2);
  assert_int_equal(layer->inputs.items[1]->dtype, BSM_DTYPE_UINT8);
  assert_int_equal(layer->p.int8_convolution.residual_zero, 9);
  assert_true(layer->p.int8_convolution.residual_scale == 0.25);
}

/* Several readers of one grid are quantized once. */
static void test_shared_quantizer(void **state) {
  (void)state;
  bsm_itensor *x = image("x");
  bsm_itensor *a = convolve(both(x, SCALE, 3, BSM_DTYPE_UINT8));
  bsm_itensor *b = convolve(both(x, SCALE, 3, BSM_DTYPE_UINT8));
  assert_null(bsm_network_mark_output(net, b, "b"));
  run(a);
  const bsm_layer *first = find(BSM_LAYER_INT8_CONVOLUTION, 0);
  const bsm_layer *second = find(BSM_LAYER_INT8_CONVOLUTION, 1);
  assert_non_null(second);
  assert_ptr_equal(first->inputs.items[0], second->inputs.items[0]);
}

/* The kernel is on no grid. */
static void test_other_kernels_stay(void **state) {
  (void)state;
  kernel[3] += 0.003f;
  run(convolve(both(image("x"), SCALE, 3, BSM_DTYPE_UINT8)));
  assert_non_null(find(BSM_LAYER_CONVOLUTION, 0));
  assert_null(find(BSM_LAYER_INT8_CONVOLUTION, 0));
}

/* More than 8 bits. */
static void test_wide_grids_stay(void **state) {
  (void)state;
  run(convolve(both(image("x"), SCALE, 3, BSM_DTYPE_INT16)));
  assert_non_null(find(BSM_LAYER_CONVOLUTION, 0));
}

static bsm_itensor *matrix(bsm_dtype dtype, const void *values) {
  const bsm_weights w = {
      .dtype = dtype, .values = values, .count = MAPS * MAPS};
  return out_of(bsm_network_add_constant(net, (bsm_dims){2, {MAPS, MAPS}}, &w));
}

static bsm_itensor *row(void) {
  const bsm_weights w = {
      .dtype = BSM_DTYPE_FLOAT, .values = bias, .count = MAPS};
  return out_of(bsm_network_add_constant(net, (bsm_dims){1, {MAPS}}, &w));
}

/* A matrix of floats on grids; one of int8 that is dequantized, transposed; one
 * of floats that is quantized on the way. */
static void test_matrices(void **state) {
  (void)state;
  float scale[MAPS], zeros[MAPS] = {0}, by_columns[MAPS * MAPS];
  for (int o = 0; o < MAPS; o++) scale[o] = 0.01f * (float)(1 + o);
  for (int i = 0; i < MAPS * MAPS; i++) {
    by_columns[i % MAPS * MAPS + i / MAPS] = kernel[i];
  }
  const bsm_weights s = {
      .dtype = BSM_DTYPE_FLOAT, .values = scale, .count = MAPS};
  const bsm_weights z = {
      .dtype = BSM_DTYPE_FLOAT, .values = zeros, .count = MAPS};
  for (int way = 0; way < 3; way++) {
    bsm_itensor *x = bsm_network_add_input(net, "x", BSM_DTYPE_FLOAT,
                                           (bsm_dims){3, {2, 3, MAPS}});
    bsm_itensor *b = way == 0   ? matrix(BSM_DTYPE_FLOAT, by_columns)
                     : way == 1 ? matrix(BSM_DTYPE_INT8, whole)
                                : matrix(BSM_DTYPE_FLOAT, kernel);
    bsm_itensor *scales =
        out_of(bsm_network_add_constant(net, (bsm_dims){1, {MAPS}}, &s));
    bsm_itensor *zero =
        out_of(bsm_network_add_constant(net, (bsm_dims){1, {MAPS}}, &z));
    if (way == 2) {
      b = out_of(
          bsm_network_add_quantize(net, b, scales, zero, 0, BSM_DTYPE_INT8));
    }
    if (way) {
      b = out_of(
          bsm_network_add_dequantize(net, b, scales, zero, 0, BSM_DTYPE_FLOAT));
    }
    x = both(x, SCALE, 100, BSM_DTYPE_UINT8);
    bsm_layer *product = bsm_network_add_matrix_multiply(
        net, x, BSM_MATRIX_NONE, b,
        way ? BSM_MATRIX_TRANSPOSE : BSM_MATRIX_NONE);
    run(out_of(bsm_network_add_element_wise(net, out_of(product), row(),
                                            BSM_ELEMENT_WISE_SUM)));
    const bsm_layer *layer = only_int8();
    assert_int_equal(layer->p.int8_convolution.window.spatial, 0);
    assert_kernel(layer);
    bsm_network_release(net);
    assert_null(bsm_network_create(&arena, NULL, &net));
  }
}

static bsm_itensor *max_pool(bsm_itensor *x) {
  return out_of(bsm_network_add_pooling_nd(net, x, BSM_POOLING_MAX,
                                           (bsm_dims){2, {2, 2}}));
}

/* A quantizer comes to the product through what only chooses and moves. */
static void test_moves(void **state) {
  (void)state;
  bsm_itensor *x = both(image("x"), SCALE, 3, BSM_DTYPE_UINT8);
  bsm_layer *turned = bsm_network_add_shuffle(net, max_pool(relu(convolve(x))));
  bsm_shuffle_set_first_transpose(turned, (bsm_dims){4, {0, 2, 3, 1}});
  run(both(out_of(turned), 0.5f, 0, BSM_DTYPE_UINT8));
  assert_int_equal(only_int8()->outputs.items[0]->dtype, BSM_DTYPE_UINT8);
  const bsm_layer *pool = find(BSM_LAYER_POOLING, 0);
  assert_int_equal(pool->outputs.items[0]->dtype, BSM_DTYPE_UINT8);
}

/* It goes to every part of a concatenation, and vanishes where a part is
 * quantized so already. */
static void test_moves_to_parts(void **state) {
  (void)state;
  bsm_itensor *x = both(image("x"), SCALE, 3, BSM_DTYPE_UINT8);
  bsm_itensor *parts[] = {max_pool(x), max_pool(relu(convolve(x)))};
  bsm_itensor *joined = out_of(bsm_network_add_concatenation(net, parts, 2, 1));
  run(both(joined, SCALE, 3, BSM_DTYPE_UINT8));
  const bsm_layer *layer = only_int8();
  const bsm_layer *cat = find(BSM_LAYER_CONCATENATION, 0);
  assert_int_equal(layer->outputs.items[0]->dtype, BSM_DTYPE_UINT8);
  assert_int_equal(cat->outputs.items[0]->dtype, BSM_DTYPE_UINT8);
  const bsm_layer *pool = cat->inputs.items[0]->producer;
  assert_int_equal(pool->kind, BSM_LAYER_POOLING);
  assert_ptr_equal(pool->inputs.items[0], layer->inputs.items[0]);
}

/* Others read what is between: it stays. */
static void test_shared_numbers_stay(void **state) {
  (void)state;
  bsm_itensor *pooled =
      max_pool(convolve(both(image("x"), SCALE, 3, BSM_DTYPE_UINT8)));
  assert_null(bsm_network_mark_output(net, pooled, "pooled"));
  run(both(pooled, 0.5f, 0, BSM_DTYPE_UINT8));
  assert_int_equal(only_int8()->outputs.items[0]->dtype, BSM_DTYPE_FLOAT);
}

static const bsm_target *gpu(void) {
  return test_target_of("cuda:sm_80", 0, BSM_TARGET_ANY_ISA);
}

static void narrow(const bsm_target *target, bsm_precision precision) {
  bsm_precision_policy policy = {.allowed = (uint32_t)precision};
  const bsm_logger logger = {0};
  bsm_status status = bsm_decide_precision(&policy, target, net, &logger);
  if (status) fail_msg("%s", bsm_status_message(status));
}

/* What is around a product computes in half: it reads and leaves that on GPUs,
 * float on CPUs, and its weights are those that they were. */
static void test_halves_around(void **state) {
  (void)state;
  for (int way = 0; way < 2; way++) {
    const bsm_target *target = way ? test_target(1) : gpu();
    bsm_itensor *x = both(relu(image("x")), SCALE, 3, BSM_DTYPE_UINT8);
    bsm_itensor *y = relu(convolve(x));
    narrow(target, BSM_PRECISION_FP16);
    run_for(target, y);
    const bsm_layer *layer = only_int8();
    assert_int_equal(layer->outputs.items[0]->dtype,
                     way ? BSM_DTYPE_FLOAT : BSM_DTYPE_HALF);
    assert_kernel(layer);
    bsm_network_release(net);
    assert_null(bsm_network_create(&arena, NULL, &net));
  }
}

static bsm_itensor *multiply(bsm_itensor *x, bsm_itensor *b) {
  return out_of(bsm_network_add_matrix_multiply(net, x, BSM_MATRIX_NONE, b,
                                                BSM_MATRIX_TRANSPOSE));
}

/* Products of one tensor become one, as their readers take views. */
static void test_products_side_by_side(void **state) {
  static float other[MAPS * MAPS];
  (void)state;
  for (int i = 0; i < MAPS * MAPS; i++) other[i] = (float)whole[i] * 0.5f;
  bsm_itensor *x = bsm_network_add_input(net, "x", BSM_DTYPE_FLOAT,
                                         (bsm_dims){2, {3, MAPS}});
  x = both(x, SCALE, 100, BSM_DTYPE_UINT8);
  bsm_itensor *a = multiply(x, matrix(BSM_DTYPE_FLOAT, kernel));
  bsm_itensor *b = multiply(x, matrix(BSM_DTYPE_FLOAT, other));
  bsm_itensor *last = matrix(BSM_DTYPE_FLOAT, other);
  assert_null(bsm_network_mark_output(net, multiply(b, last), "z"));
  run(multiply(a, last));
  const bsm_layer *layer = find(BSM_LAYER_INT8_CONVOLUTION, 0);
  assert_non_null(layer);
  assert_null(find(BSM_LAYER_INT8_CONVOLUTION, 1));
  assert_int_equal(layer->p.int8_convolution.out_maps, 2 * MAPS);
  for (int i = 0; i < 2; i++) {
    assert_memory_equal(layer->p.int8_convolution.kernel + i * MAPS * MAPS,
                        whole, sizeof(whole));
  }
  assert_true(layer->p.int8_convolution.columns[MAPS] == SCALE * 0.5f);
}

/* A norm quantizes what it makes on GPUs; others read its floats. */
static void test_norms(void **state) {
  (void)state;
  for (int way = 0; way < 2; way++) {
    bsm_itensor *y = out_of(
        bsm_network_add_normalization(net, image("x"), NULL, NULL, 1u << 3));
    assert_null(bsm_network_mark_output(net, y, "norm"));
    run_for(way ? test_target(1) : gpu(),
            convolve(both(y, SCALE, 100, BSM_DTYPE_UINT8)));
    const bsm_layer *norm = find(BSM_LAYER_NORMALIZATION, 0);
    assert_int_equal(norm->outputs.len, way ? 1 : 2);
    if (!way) {
      assert_ptr_equal(only_int8()->inputs.items[0], norm->outputs.items[1]);
      const float *grid =
          norm->inputs.items[1]->producer->p.constant.weights.values;
      assert_true(grid[0] == 16 && grid[1] == 100 && grid[3] == 255);
    }
    bsm_network_release(net);
    assert_null(bsm_network_create(&arena, NULL, &net));
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_convolution),
      TEST(test_float_output),
      TEST(test_residual),
      TEST(test_shared_quantizer),
      TEST(test_other_kernels_stay),
      TEST(test_wide_grids_stay),
      TEST(test_matrices),
      TEST(test_moves),
      TEST(test_moves_to_parts),
      TEST(test_shared_numbers_stay),
      TEST(test_halves_around),
      TEST(test_products_side_by_side),
      TEST(test_norms),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
