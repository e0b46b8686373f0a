/* SPDX-License-Identifier: Apache-2.0 */
/* Networks that are quantized to float8: which products become layers of fp8
 * on which targets, by what scales, and what becomes of the others. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <string.h>

#include "aten/tensor.h"
#include "builder/passes.h"
#include "quantization/quantize_network.h"
#include "tests/target_kit.h"

#define E4M3 BSM_DTYPE_FLOAT8_E4M3FN
#define MAPS 8

static bsm_arena arena;
static bsm_network *net;
static bsm_calibration *calibration;
static float kernel[MAPS * MAPS];
static const float bias[MAPS] = {1, 2, 3, 4, 5, 6, 7, 8};

static void check(bsm_status status) {
  if (status) fail_msg("%s", bsm_status_message(status));
}

static int set_up(void **state) {
  (void)state;
  bsm_arena_init(&arena, NULL);
  check(bsm_network_create(&arena, NULL, &net));
  check(bsm_calibration_create(&calibration));
  for (int i = 0; i < MAPS * MAPS; i++) {
    kernel[i] = (float)(i * 37 % 101 - 50) / (float)(8 + i / MAPS);
  }
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  bsm_calibration_destroy(calibration);
  bsm_network_release(net);
  bsm_arena_destroy(&arena);
  return 0;
}

static bsm_itensor *out_of(bsm_layer *layer, const char *name) {
  assert_non_null(layer);
  bsm_itensor_set_name(bsm_layer_output(layer, 0), name);
  return bsm_layer_output(layer, 0);
}

static bsm_itensor *image(void) {
  return bsm_network_add_input(net, "x", BSM_DTYPE_FLOAT,
                               (bsm_dims){4, {1, MAPS, 6, 6}});
}

static bsm_itensor *convolve(bsm_itensor *x, int groups, const char *name) {
  const bsm_weights w = {.dtype = BSM_DTYPE_FLOAT,
                         .values = kernel,
                         .count = MAPS * MAPS / groups,
                         .shape = {4, {MAPS, MAPS / groups, 1, 1}},
                         .num_input_maps = MAPS / groups,
                         .num_output_maps = MAPS,
                         .kernel_shape = {2, {1, 1}}};
  const bsm_weights b = {
      .dtype = BSM_DTYPE_FLOAT, .values = bias, .count = MAPS};
  bsm_layer *layer = bsm_network_add_convolution_nd(
      net, x, MAPS, (bsm_dims){2, {1, 1}}, &w, &b);
  bsm_layer_set_groups(layer, groups);
  return out_of(layer, name);
}

static bsm_itensor *multiply(bsm_itensor *x, const char *name) {
  const bsm_weights w = {
      .dtype = BSM_DTYPE_FLOAT, .values = kernel, .count = MAPS * MAPS};
  bsm_itensor *b = out_of(
      bsm_network_add_constant(net, (bsm_dims){2, {MAPS, MAPS}}, &w), "w");
  return out_of(bsm_network_add_matrix_multiply(net, x, BSM_MATRIX_NONE, b,
                                                BSM_MATRIX_TRANSPOSE),
                name);
}

static bsm_itensor *relu(bsm_itensor *x, const char *name) {
  return out_of(bsm_network_add_activation(net, x, BSM_ACTIVATION_RELU), name);
}

static void range(const char *name, double low, double high) {
  check(bsm_calibration_set_range(calibration, name, low, high));
}

static size_t count_kind(bsm_layer_kind kind) {
  size_t count = 0;
  for (size_t i = 0; i < net->layers.len; i++) {
    count += net->layers.items[i]->kind == kind;
  }
  return count;
}

static const bsm_layer *find(bsm_layer_kind kind) {
  for (size_t i = 0; i < net->layers.len; i++) {
    if (net->layers.items[i]->kind == kind) return net->layers.items[i];
  }
  fail_msg("no layer of kind %s", bsm_layer_kind_name(kind));
  return NULL;
}

/* Quantizes and runs the passes; the number of layers that were quantized. */
static size_t build(const char *text, bsm_itensor *y) {
  const bsm_target *target = test_target_of(text, 1, BSM_TARGET_ANY_ISA);
  const bsm_quantize_options options = {.calibration = calibration,
                                        .target = target,
                                        .precision = BSM_PRECISION_FP8};
  size_t count;
  check(bsm_network_mark_output(net, y, "y"));
  check(bsm_prepare_quantization(net, target, false, NULL));
  check(bsm_quantize_network(net, &options, &count));
  check(bsm_run_passes(net, target, NULL, NULL));
  check(bsm_network_verify(net));
  return count;
}

/* The greatest weight of a map is the greatest number, and all are the nearest.
 */
static void assert_kernel(const bsm_layer *layer, double x_scale) {
  const float *columns = layer->p.int8_convolution.columns;
  for (int o = 0; o < MAPS; o++) {
    double most = 0;
    for (int k = 0; k < MAPS; k++) {
      most = fmax(most, fabs((double)kernel[o * MAPS + k]));
    }
    const double scale = most / 448;
    assert_true(fabs((double)columns[o] / (scale * x_scale) - 1) < 1e-5);
    assert_true(columns[MAPS + o] == bias[o] || columns[MAPS + o] == 0);
    for (int k = 0; k < MAPS; k++) {
      const uint8_t got =
          (uint8_t)layer->p.int8_convolution.kernel[o * MAPS + k];
      assert_int_equal(
          got, bsm_float_to_float8(E4M3, (float)((double)kernel[o * MAPS + k] /
                                                 (double)(float)scale)));
    }
  }
}

static void test_convolutions(void **state) {
  (void)state;
  bsm_itensor *a = relu(convolve(image(), 1, "a"), "r");
  range("x", -1, 3.5);
  range("r", 0, 7);
  assert_int_equal(build("cuda:sm_90a,avx2", convolve(a, 1, "b")), 2);
  assert_int_equal(count_kind(BSM_LAYER_INT8_CONVOLUTION), 2);
  assert_int_equal(count_kind(BSM_LAYER_CONVOLUTION), 0);
  const bsm_layer *first = find(BSM_LAYER_INT8_CONVOLUTION);
  assert_int_equal(first->precision, BSM_PRECISION_FP8);
  assert_int_equal(first->inputs.items[0]->dtype, E4M3);
  assert_int_equal(first->outputs.items[0]->dtype, E4M3);
  assert_true(first->p.int8_convolution.y_inverse == 64);
  assert_int_equal(first->p.int8_convolution.epilogue.activation,
                   BSM_ACTIVATION_RELU);
  assert_kernel(first, 3.5 / 448);
}

static void test_products(void **state) {
  (void)state;
  bsm_itensor *x = bsm_network_add_input(net, "x", BSM_DTYPE_FLOAT,
                                         (bsm_dims){2, {5, MAPS}});
  range("x", -4, 2);
  assert_int_equal(build("cuda:sm_89,avx2", multiply(x, "a")), 1);
  const bsm_layer *layer = find(BSM_LAYER_INT8_CONVOLUTION);
  assert_int_equal(layer->outputs.items[0]->dtype, BSM_DTYPE_FLOAT);
  assert_kernel(layer, 4.0 / 448);
}

/* Norms make float8 beside their floats. */
static void test_norms(void **state) {
  (void)state;
  bsm_itensor *x = bsm_network_add_input(net, "x", BSM_DTYPE_FLOAT,
                                         (bsm_dims){2, {5, MAPS}});
  bsm_itensor *n =
      out_of(bsm_network_add_normalization(net, x, NULL, NULL, 1u << 1), "n");
  range("n", -3.5, 3);
  assert_int_equal(build("cuda:sm_90a,avx2", multiply(n, "a")), 1);
  const bsm_layer *norm = find(BSM_LAYER_NORMALIZATION);
  const bsm_layer *product = find(BSM_LAYER_INT8_CONVOLUTION);
  assert_int_equal(norm->outputs.len, 2);
  assert_int_equal(norm->outputs.items[1]->dtype, E4M3);
  assert_ptr_equal(product->inputs.items[0], norm->outputs.items[1]);
}

/* What tensor cores do not multiply is not quantized. */
static void test_depthwise(void **state) {
  (void)state;
  range("x", -1, 1);
  range("a", -1, 1);
  bsm_itensor *a = convolve(image(), MAPS, "a");
  assert_int_equal(build("cuda:sm_90a,avx2", convolve(a, 2, "b")), 1);
  assert_int_equal(count_kind(BSM_LAYER_INT8_CONVOLUTION), 1);
  assert_int_equal(count_kind(BSM_LAYER_CONVOLUTION), 1);
}

/* Targets without such products compute them in float, of the same numbers. */
static void test_other_targets(void **state) {
  (void)state;
  static const char *const targets[] = {"cpu", "cuda:sm_80,avx2"};
  for (int i = 0; i < 2; i++) {
    range("x", -1, 1);
    assert_int_equal(build(targets[i], convolve(image(), 1, "a")), 1);
    assert_int_equal(count_kind(BSM_LAYER_INT8_CONVOLUTION), 0);
    assert_int_equal(count_kind(BSM_LAYER_QUANTIZE), 0);
    const bsm_layer *layer = find(BSM_LAYER_CONVOLUTION);
    const float *made = layer->p.convolution.kernel.values;
    const float scale = layer->p.convolution.kernel_scale[3];
    for (int k = 3 * MAPS; k < 4 * MAPS; k++) {
      const float number = made[k] / scale;
      const float nearest =
          bsm_float8_to_float(E4M3, bsm_float_to_float8(E4M3, number));
      assert_true(fabsf(number - nearest) <= 1e-5f * fabsf(number));
    }
    bsm_network_release(net);
    check(bsm_network_create(&arena, NULL, &net));
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_convolutions), TEST(test_products),      TEST(test_norms),
      TEST(test_depthwise),    TEST(test_other_targets),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
