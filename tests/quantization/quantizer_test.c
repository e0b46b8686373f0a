/* SPDX-License-Identifier: Apache-2.0 */
/* The quantizer's passes on networks: equalization, and where QUANTIZE and
 * DEQUANTIZE layers come. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/cpu/target/cpu_target.h"
#include "quantization/equalize.h"
#include "quantization/quantize_network.h"
#include "quantization/quantize_weights.h"

static bsm_arena arena;
static const bsm_target *target;

static void check(bsm_status status) {
  if (status) fail_msg("%s", bsm_status_message(status));
}

static int set_up(void **state) {
  (void)state;
  bsm_arena_init(&arena, NULL);
  const bsm_target_request request = {.text = "cpu:avx2,threads=1,l2=256K",
                                      .isa = BSM_TARGET_ANY_ISA};
  check(bsm_target_parse(&request, &arena, &target));
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  bsm_arena_destroy(&arena);
  return 0;
}

static bsm_network *new_network(void) {
  bsm_network *net;
  check(bsm_network_create(&arena, NULL, &net));
  return net;
}

/* Uneven numbers, some of which are negative. */
static bsm_weights numbers(int64_t count, uint32_t seed) {
  float *values = BSM_NEW_ARRAY(&arena, float, (size_t)count);
  for (int64_t i = 0; i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    values[i] =
        (float)((double)(seed >> 8) / (1 << 23) - 1) * (float)(1 + i % 5);
  }
  return (bsm_weights){
      .dtype = BSM_DTYPE_FLOAT, .values = values, .count = count};
}

static bsm_itensor *convolution(bsm_network *net, bsm_itensor *x, int64_t outs,
                                int64_t groups, int64_t kernel,
                                const char *name) {
  const int64_t ins = bsm_itensor_dims(x).d[1] / groups;
  const bsm_weights k = numbers(outs * ins * kernel * kernel, (uint32_t)outs);
  const bsm_weights b = numbers(outs, 99);
  bsm_layer *layer = bsm_network_add_convolution_nd(
      net, x, outs, (bsm_dims){2, {kernel, kernel}}, &k, &b);
  bsm_layer_set_groups(layer, groups);
  bsm_layer_set_padding_nd(layer, (bsm_dims){2, {kernel / 2, kernel / 2}});
  check(bsm_network_take_error(net));
  bsm_itensor_set_name(bsm_layer_output(layer, 0), name);
  return bsm_layer_output(layer, 0);
}

static bsm_itensor *activation(bsm_network *net, bsm_itensor *x,
                               bsm_activation_type type) {
  return bsm_layer_output(bsm_network_add_activation(net, x, type), 0);
}

static bsm_itensor *input(bsm_network *net) {
  return bsm_network_add_input(net, "x", BSM_DTYPE_FLOAT,
                               (bsm_dims){4, {1, 3, 5, 5}});
}

/* ---- equalization ---- */

static const bsm_convolution_params *kernel_of(const bsm_itensor *t) {
  return &t->producer->p.convolution;
}

static double most(const float *values, int64_t count) {
  double m = 0;
  for (int64_t i = 0; i < count; i++) m = fmax(m, fabs((double)values[i]));
  return m;
}

static bool near(double x, double y, double part) {
  return fabs(x - y) <= part * fabs(y);
}

/* a of six channels, b of one weight of 3 x 3 for each, c of four outputs in
 * two groups: of three channels each. */
enum { A_ROW = 27, B_ROW = 9, C_ROW = 3, CHANNELS = 6 };

/* How much the weights of c that read a channel are. */
static double read_by_c(const float *c, int64_t channel) {
  double m = 0;
  for (int64_t o = 0; o < 2; o++) {
    const int64_t out = channel / C_ROW * 2 + o;
    m = fmax(m, fabs((double)c[out * C_ROW + channel % C_ROW]));
  }
  return m;
}

static void channels_are_equally_great(void **state) {
  (void)state;
  bsm_network *net = new_network();
  bsm_itensor *a = convolution(net, input(net), CHANNELS, 1, 3, "a");
  bsm_itensor *b = convolution(net, activation(net, a, BSM_ACTIVATION_RELU),
                               CHANNELS, CHANNELS, 3, "b");
  bsm_itensor *c = convolution(net, b, 4, 2, 1, "c");
  bsm_itensor *d =
      convolution(net, activation(net, c, BSM_ACTIVATION_TANH), 4, 1, 1, "d");
  bsm_itensor *all[4] = {a, b, c, d};
  const float *was[4], *bias[4], *is[4];
  size_t pairs;
  check(bsm_network_mark_output(net, d, "y"));
  for (int i = 0; i < 4; i++) {
    was[i] = kernel_of(all[i])->kernel.values;
    bias[i] = kernel_of(all[i])->bias.values;
  }
  check(bsm_equalize(net, &arena, &pairs));
  assert_int_equal(pairs, 2); /* tanh is no way through */
  for (int i = 0; i < 4; i++) is[i] = kernel_of(all[i])->kernel.values;
  assert_ptr_equal(is[3], was[3]);
  for (int64_t i = 0; i < CHANNELS; i++) {
    const double first = most(is[0] + i * A_ROW, A_ROW);
    const double second = most(is[1] + i * B_ROW, B_ROW);
    const double third = read_by_c(is[2], i);
    const double by_a = first / most(was[0] + i * A_ROW, A_ROW);
    const double by_b = second / most(was[1] + i * B_ROW, B_ROW);
    const double by_c = third / read_by_c(was[2], i);
    assert_true(near(first, second, 1e-2) && near(second, third, 1e-2));
    /* What passes the channel is as before. */
    assert_true(near(by_a * by_b * by_c, 1, 1e-5));
    assert_true(!near(by_a, 1, 1e-3) || !near(by_b, 1, 1e-3));
    for (int64_t k = 0; k < B_ROW; k++) {
      assert_true(near((double)is[1][i * B_ROW + k],
                       by_b * (double)was[1][i * B_ROW + k], 1e-5));
    }
    const float *bias_a = kernel_of(a)->bias.values;
    const float *bias_b = kernel_of(b)->bias.values;
    assert_true(near((double)bias_a[i], by_a * (double)bias[0][i], 1e-5));
    assert_true(near((double)bias_b[i], (double)bias[1][i] / by_c, 1e-5));
  }
  assert_ptr_equal(kernel_of(c)->bias.values, bias[2]);
  bsm_network_release(net);
}

static void other_readers_keep_their_scale(void **state) {
  (void)state;
  bsm_network *net = new_network();
  bsm_itensor *a = convolution(net, input(net), 4, 1, 3, "a");
  bsm_itensor *b = convolution(net, a, 4, 1, 3, "b");
  size_t pairs;
  check(bsm_network_mark_output(net, a, "seen"));
  check(bsm_network_mark_output(net, b, "y"));
  check(bsm_equalize(net, &arena, &pairs));
  assert_int_equal(pairs, 0);
  bsm_network_release(net);
}

/* ---- places ---- */

static size_t count_kind(const bsm_network *net, bsm_layer_kind kind) {
  size_t n = 0;
  for (size_t i = 0; i < net->layers.len; i++) {
    n += !net->layers.items[i]->removed && net->layers.items[i]->kind == kind;
  }
  return n;
}

static bool reads_quantized(const bsm_itensor *made, size_t index) {
  const bsm_itensor *t = made->producer->inputs.items[index];
  return t->producer && t->producer->kind == BSM_LAYER_DEQUANTIZE;
}

static float scale_read_by(const bsm_itensor *made, size_t index) {
  const bsm_layer *back = made->producer->inputs.items[index]->producer;
  const bsm_weights *w = &back->inputs.items[1]->producer->p.constant.weights;
  return ((const float *)w->values)[0];
}

/* x -> a -> relu -> pool -> b; b + pool -> concat with pool -> c; softmax. */
static void movers_share_a_range(void **state) {
  (void)state;
  bsm_network *net = new_network();
  bsm_itensor *a = convolution(net, input(net), 4, 1, 3, "a");
  bsm_itensor *r = activation(net, a, BSM_ACTIVATION_RELU);
  bsm_layer *pooling = bsm_network_add_pooling_nd(net, r, BSM_POOLING_MAX,
                                                  (bsm_dims){2, {2, 2}});
  bsm_itensor *p = bsm_layer_output(pooling, 0);
  bsm_itensor *b = convolution(net, p, 4, 1, 3, "b");
  bsm_itensor *s = bsm_layer_output(
      bsm_network_add_element_wise(net, b, p, BSM_ELEMENT_WISE_SUM), 0);
  bsm_itensor *parts[] = {s, p};
  bsm_itensor *joined =
      bsm_layer_output(bsm_network_add_concatenation(net, parts, 2, 1), 0);
  bsm_itensor *c = convolution(net, joined, 2, 1, 1, "c");
  bsm_itensor *y =
      bsm_layer_output(bsm_network_add_softmax(net, c, 1, false), 0);
  check(bsm_network_mark_output(net, y, "y"));
  bsm_itensor_set_name(r, "r");
  bsm_itensor_set_name(p, "p");
  bsm_itensor_set_name(s, "s");
  bsm_itensor_set_name(joined, "joined");
  bsm_calibration *calibration = NULL;
  check(bsm_calibration_create(&calibration));
  check(bsm_calibration_set_range(calibration, "x", -1, 1));
  check(bsm_calibration_set_range(calibration, "r", 0, 2));
  check(bsm_calibration_set_range(calibration, "p", 0, 2));
  check(bsm_calibration_set_range(calibration, "s", -3, 4));
  check(bsm_calibration_set_range(calibration, "joined", -3, 4));
  check(bsm_prepare_quantization(net, target, false, NULL));
  const bsm_quantize_options options = {.calibration = calibration,
                                        .target = target,
                                        .precision = BSM_PRECISION_INT8};
  size_t count;
  check(bsm_quantize_network(net, &options, &count));
  assert_int_equal(count, 3);
  /* x, r, p, s, joined */
  assert_int_equal(count_kind(net, BSM_LAYER_QUANTIZE), 5);
  assert_true(reads_quantized(p, 0)); /* pooling works on integers */
  assert_true(reads_quantized(b, 0) && reads_quantized(c, 0));
  assert_true(reads_quantized(joined, 0) && reads_quantized(joined, 1));
  assert_true(reads_quantized(s, 1)); /* the way around */
  assert_false(reads_quantized(s, 0));
  assert_false(reads_quantized(y, 0));
  /* What is concatenated has one range, that of all: and pooling keeps it. */
  const float scale = (float)(7.0 / 255);
  assert_true(scale_read_by(p, 0) == scale);
  assert_true(scale_read_by(joined, 0) == scale);
  assert_true(scale_read_by(joined, 1) == scale);
  assert_true(scale_read_by(c, 0) == scale);
  assert_true(scale_read_by(a, 0) == (float)(2.0 / 255));
  assert_non_null(kernel_of(a)->kernel_scale);
  bsm_calibration_destroy(calibration);
  bsm_network_release(net);
}

/* Each quantized kernel is whole numbers of its scale. */
static void weights_are_multiples_of_scales(void **state) {
  (void)state;
  bsm_network *net = new_network();
  bsm_itensor *a = convolution(net, input(net), 4, 1, 3, "a");
  const bsm_weights before = kernel_of(a)->kernel;
  bsm_calibration *calibration = NULL;
  size_t count;
  check(bsm_network_mark_output(net, a, "y"));
  check(bsm_calibration_create(&calibration));
  check(bsm_calibration_set_range(calibration, "x", -1, 1));
  const bsm_quantize_options options = {.calibration = calibration,
                                        .target = target,
                                        .precision = BSM_PRECISION_INT8};
  check(bsm_quantize_network(net, &options, &count));
  const bsm_convolution_params *p = kernel_of(a);
  const float *w = p->kernel.values, *was = before.values;
  for (int64_t i = 0; i < p->kernel.count; i++) {
    const double scale = (double)p->kernel_scale[i / (p->kernel.count / 4)];
    const double whole = (double)w[i] / scale;
    assert_true(fabs(whole - rint(whole)) < 1e-4 && fabs(whole) < 127.01);
    assert_true(fabs((double)w[i] - (double)was[i]) <= 0.5001 * scale);
  }
  bsm_calibration_destroy(calibration);
  bsm_network_release(net);
}

/* What multiplies columns comes before the bias, and so does what rounding the
 * weights takes from it. */
static void bias_is_corrected_behind_factors(void **state) {
  enum { DEPTH = 5, COLUMNS = 3 };
  static const double factor[COLUMNS] = {0.001, -1, 100};
  static const double means[DEPTH] = {3, -1, 0.5, 2, -4};
  (void)state;
  bsm_network *net = new_network();
  bsm_itensor *x = bsm_network_add_input(net, "x", BSM_DTYPE_FLOAT,
                                         (bsm_dims){2, {4, DEPTH}});
  const bsm_weights w = numbers(DEPTH * COLUMNS, 7), b = numbers(COLUMNS, 8);
  bsm_itensor *matrix = bsm_layer_output(
      bsm_network_add_constant(net, (bsm_dims){2, {DEPTH, COLUMNS}}, &w), 0);
  bsm_layer *product = bsm_network_add_matrix_multiply(net, x, BSM_MATRIX_NONE,
                                                       matrix, BSM_MATRIX_NONE);
  check(bsm_network_take_error(net));
  product->p.matrix_multiply.bias = b;
  product->p.matrix_multiply.factor = factor;
  product->p.matrix_multiply.scale = 0.5;
  const bsm_site site = {.layer = product, .input = x, .matrix = matrix};
  bsm_itensor *back = NULL;
  check(bsm_quantize_matrix(&site, BSM_DTYPE_INT8, means, &back));
  assert_non_null(back);
  const bsm_layer *dequantize = back->producer;
  const bsm_weights *bytes =
      &dequantize->inputs.items[0]->producer->p.constant.weights;
  const bsm_weights *scales =
      &dequantize->inputs.items[1]->producer->p.constant.weights;
  const float *bias = product->p.matrix_multiply.bias.values;
  for (int o = 0; o < COLUMNS; o++) {
    const double scale = (double)((const float *)scales->values)[o];
    double lost = 0;
    for (int k = 0; k < DEPTH; k++) {
      const int at = k * COLUMNS + o;
      const double was = (double)((const float *)w.values)[at];
      lost += means[k] * (((const int8_t *)bytes->values)[at] * scale - was);
    }
    const double want =
        (double)((const float *)b.values)[o] - lost * 0.5 * factor[o];
    assert_true(fabs(lost) > 1e-4);
    assert_true(fabs((double)bias[o] - want) <= 1e-6 * fmax(1, fabs(want)));
  }
  bsm_network_release(net);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(channels_are_equally_great),
      cmocka_unit_test(other_readers_keep_their_scale),
      cmocka_unit_test(movers_share_a_range),
      cmocka_unit_test(weights_are_multiples_of_scales),
      cmocka_unit_test(bias_is_corrected_behind_factors),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
