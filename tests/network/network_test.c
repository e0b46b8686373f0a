/* SPDX-License-Identifier: Apache-2.0 */
/* The network: kept errors, stale layers, late changes, verifier, dump. */
#include "tests/network/network_fixture.h"

#define F32 BSM_DTYPE_FLOAT

static void test_first_error_wins(void **state) {
  fixture *f = *state;
  bsm_itensor *x = input(f, F32, dims(2));
  assert_null(bsm_network_add_softmax(f->net, x, 4, false));
  assert_null(bsm_network_add_unary(f->net, NULL, BSM_UNARY_EXP));
  bsm_activation_set_alpha(NULL, 1); /* of an adder that failed: ignored */
  assert_error(f->net, BSM_OUT_OF_RANGE, "softmax: axis 4");
  assert_int_equal(f->net->layers.len, 0);
  assert_null(bsm_network_add_unary(f->net, NULL, BSM_UNARY_EXP));
  assert_error(f->net, BSM_INVALID_ARGUMENT, "unary: input 0 is NULL");
}

static void test_inputs(void **state) {
  fixture *f = *state;
  assert_non_null(bsm_network_add_input(f->net, "x", F32, dims(1, 2)));
  assert_null(bsm_network_add_input(f->net, "x", F32, dims(1, 2)));
  assert_error(f->net, BSM_INVALID_ARGUMENT, "two network inputs named \"x\"");
  assert_null(bsm_network_add_input(f->net, "y", F32, dims(-1, 2)));
  assert_error(f->net, BSM_INVALID_ARGUMENT, "[-1, 2]");
  assert_null(bsm_network_add_input(f->net, "y", F32, dims(INT64_MAX, 9)));
  assert_error(f->net, BSM_INVALID_ARGUMENT, "in range");
  assert_null(bsm_network_add_input(f->net, "y", BSM_DTYPE_UNDEFINED, dims(1)));
  assert_error(f->net, BSM_UNSUPPORTED, "undefined");
  /* Complex tensors move, and are not computed with. */
  bsm_itensor *c =
      bsm_network_add_input(f->net, "c", BSM_DTYPE_COMPLEX_FLOAT, dims(2));
  assert_non_null(c);
  assert_non_null(bsm_network_add_expand(f->net, c, dims(3, 2)));
  assert_null(bsm_network_add_unary(f->net, c, BSM_UNARY_NEG));
  assert_error(f->net, BSM_UNSUPPORTED, "unary of complex64");
  assert_null(bsm_network_add_cast(f->net, c, F32));
  assert_error(f->net, BSM_UNSUPPORTED, "cast of complex64");
  assert_null(bsm_network_add_input(f->net, "", F32, dims(1)));
  assert_error(f->net, BSM_INVALID_ARGUMENT, "no name");
}

static void test_other_network(void **state) {
  fixture *f = *state;
  bsm_network *other;
  assert_ok(bsm_network_create(&f->arena, NULL, &other));
  bsm_itensor *x = bsm_network_add_input(other, "x", F32, dims(1));
  assert_null(bsm_network_add_unary(f->net, x, BSM_UNARY_EXP));
  assert_error(f->net, BSM_INVALID_ARGUMENT, "belongs to another network");
  bsm_status status = bsm_network_mark_output(f->net, x, "y");
  assert_non_null(status);
  bsm_status_free(status);
  bsm_network_release(other);
}

/* A layer that does not fit yet may be repaired; used as it is, it fails. */
static void test_stale(void **state) {
  fixture *f = *state;
  bsm_itensor *x = input(f, F32, dims(1, 1, 2));
  bsm_layer *pool =
      bsm_network_add_pooling_nd(f->net, x, BSM_POOLING_MAX, dims(3));
  assert_non_null(pool);
  assert_null(
      bsm_network_add_unary(f->net, bsm_layer_output(pool, 0), BSM_UNARY_EXP));
  assert_error(f->net, BSM_INVALID_ARGUMENT, "the window covers 3 elements");
}

/* A late change reaches the layers after it. */
static void test_late_change(void **state) {
  fixture *f = *state;
  bsm_itensor *x = input(f, F32, dims(1, 1, 8));
  bsm_layer *pool =
      bsm_network_add_pooling_nd(f->net, x, BSM_POOLING_MAX, dims(2));
  bsm_layer *exp =
      bsm_network_add_unary(f->net, bsm_layer_output(pool, 0), BSM_UNARY_EXP);
  assert_shape(exp, F32, dims(1, 1, 7));
  bsm_layer_set_stride_nd(pool, dims(2));
  assert_shape(exp, F32, dims(1, 1, 4));
  assert_ok(bsm_network_verify(f->net));
  bsm_layer_set_dilation_nd(pool, dims(100));
  bsm_status status = bsm_network_take_error(f->net);
  assert_non_null(status);
  bsm_status_free(status);
  bsm_layer_set_dilation_nd(pool, dims(1));
  assert_null(bsm_network_take_error(f->net));
  assert_shape(exp, F32, dims(1, 1, 4));
}

static void test_wrong_kind(void **state) {
  fixture *f = *state;
  bsm_itensor *x = input(f, F32, dims(1, 1, 8));
  bsm_layer *exp = bsm_network_add_unary(f->net, x, BSM_UNARY_EXP);
  bsm_layer_set_name(exp, "my exp");
  bsm_activation_set_alpha(exp, 1);
  assert_error(f->net, BSM_INVALID_ARGUMENT, "alpha of layer unary \"my exp\"");
  bsm_layer_set_stride_nd(exp, dims(2));
  assert_error(f->net, BSM_INVALID_ARGUMENT, "stride of 1 dimensions");
}

static void test_outputs(void **state) {
  fixture *f = *state;
  bsm_itensor *x = input(f, F32, dims(2));
  assert_ok(bsm_network_mark_output(f->net, x, "a"));
  bsm_status status = bsm_network_mark_output(f->net, x, "a");
  assert_non_null(status);
  bsm_status_free(status);
  status = bsm_network_mark_output(f->net, NULL, "b");
  assert_non_null(status);
  bsm_status_free(status);
  assert_int_equal(f->net->outputs.len, 1);
}

static void test_verify(void **state) {
  fixture *f = *state;
  bsm_itensor *x = input(f, F32, dims(2));
  bsm_layer *a = bsm_network_add_unary(f->net, x, BSM_UNARY_EXP);
  bsm_layer *b =
      bsm_network_add_unary(f->net, bsm_layer_output(a, 0), BSM_UNARY_LOG);
  assert_ok(bsm_network_mark_output(f->net, bsm_layer_output(b, 0), "y"));
  assert_ok(bsm_network_verify(f->net));
  /* Out of order. */
  f->net->layers.items[0] = b;
  f->net->layers.items[1] = a;
  bsm_status status = bsm_network_verify(f->net);
  assert_non_null(status);
  assert_non_null(strstr(bsm_status_message(status), "not made before it"));
  bsm_status_free(status);
  f->net->layers.items[0] = a;
  f->net->layers.items[1] = b;
  /* Dims that no rule gives. */
  bsm_layer_output(a, 0)->dims.d[0] = 3;
  status = bsm_network_verify(f->net);
  assert_non_null(status);
  assert_non_null(strstr(bsm_status_message(status), "inferred as"));
  bsm_status_free(status);
  bsm_layer_output(a, 0)->dims.d[0] = 2;
  /* An output that nothing makes. */
  b->removed = true;
  status = bsm_network_verify(f->net);
  assert_non_null(status);
  assert_non_null(strstr(bsm_status_message(status), "output \"y\""));
  bsm_status_free(status);
}

static void test_print(void **state) {
  fixture *f = *state;
  bsm_itensor *x = input(f, F32, dims(1, 2, 4, 4));
  bsm_weights w = zeros(f, dims(3, 2, 3, 3)), b = zeros(f, dims(3));
  bsm_layer *conv =
      bsm_network_add_convolution_nd(f->net, x, 3, dims(3, 3), &w, &b);
  bsm_layer_set_padding_nd(conv, dims(1, 1));
  bsm_itensor_set_name(bsm_layer_output(conv, 0), "c");
  bsm_layer *clip = bsm_network_add_activation(
      f->net, bsm_layer_output(conv, 0), BSM_ACTIVATION_CLIP);
  bsm_activation_set_beta(clip, 6);
  bsm_itensor_set_name(bsm_layer_output(clip, 0), "y");
  assert_ok(bsm_network_mark_output(f->net, bsm_layer_output(clip, 0), "out"));
  bsm_text text;
  bsm_text_init(&text, &f->arena);
  bsm_network_print(&text, f->net);
  assert_string_equal(
      text.data,
      "input %in0: float32[1, 2, 4, 4]\n"
      "%c: float32[1, 3, 4, 4] = convolution(%in0) kernel=[3, 3] "
      "padding=[1, 1] weights=float32[3, 2, 3, 3] bias=float32[3]{0, 0, 0}\n"
      "%y: float32[1, 3, 4, 4] = activation(%c) clip alpha=0.0 beta=6.0\n"
      "output out: %y\n");
}

static void test_print_quantization(void **state) {
  fixture *f = *state;
  bsm_itensor *x = input(f, F32, dims(2, 3)), *s = input(f, F32, dims(3));
  bsm_layer *q = bsm_network_add_quantize(f->net, x, s, s, 1, BSM_DTYPE_INT8);
  bsm_quantize_set_range(q, -8, 7);
  bsm_quantize_set_nan(q, BSM_QUANTIZE_NAN_LEAST);
  bsm_quantize_set_rounds_last(q, true);
  bsm_itensor_set_name(bsm_layer_output(q, 0), "q");
  bsm_layer *y = bsm_network_add_dequantize(f->net, bsm_layer_output(q, 0), s,
                                            NULL, 1, F32);
  bsm_itensor_set_name(bsm_layer_output(y, 0), "y");
  bsm_text text;
  bsm_text_init(&text, &f->arena);
  bsm_network_print(&text, f->net);
  assert_string_equal(
      text.data,
      "input %in0: float32[2, 3]\n"
      "input %in1: float32[3]\n"
      "%q: int8[2, 3] = quantize(%in0, %in1, %in1) axis=1 least=-8.0 "
      "greatest=7.0 rounds_last nan=least\n"
      "%y: float32[2, 3] = dequantize(%q, %in1) axis=1\n");
}

static void test_names(void **state) {
  fixture *f = *state;
  (void)f;
  assert_string_equal(bsm_layer_kind_name(BSM_LAYER_CONVOLUTION),
                      "convolution");
  assert_string_equal(bsm_layer_kind_name(BSM_LAYER_FUSED_ELEMENT_WISE),
                      "fused_element_wise");
  assert_string_equal(bsm_layer_kind_name((bsm_layer_kind)99), "?");
}

#define TEST(name) \
  cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_first_error_wins),
      TEST(test_inputs),
      TEST(test_other_network),
      TEST(test_stale),
      TEST(test_late_change),
      TEST(test_wrong_kind),
      TEST(test_outputs),
      TEST(test_verify),
      TEST(test_print),
      TEST(test_print_quantization),
      TEST(test_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
