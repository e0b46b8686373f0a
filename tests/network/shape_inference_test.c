/* SPDX-License-Identifier: Apache-2.0 */
/* Shape and dtype rules, each kind of layer: against sizes that PyTorch made
 * (tests/data/network/) and by hand. */
#include "tests/network/network_fixture.h"

#define F32 BSM_DTYPE_FLOAT
#define I64 BSM_DTYPE_INT64
#define BOOL BSM_DTYPE_BOOL

/* ---- PyTorch's tables ---- */

typedef struct window {
  char kind[16];
  long long size, kernel, stride, padding, dilation, extra, result;
} window;

static bsm_layer *add_window(fixture *f, const window *w) {
  bsm_itensor *x = input(f, F32, dims(1, 1, w->size));
  bsm_weights weights = zeros(f, dims(1, 1, w->kernel));
  bsm_layer *layer;
  if (strcmp(w->kind, "conv") == 0) {
    layer = bsm_network_add_convolution_nd(f->net, x, 1, dims(w->kernel),
                                           &weights, NULL);
  } else if (strcmp(w->kind, "deconv") == 0) {
    layer = bsm_network_add_deconvolution_nd(f->net, x, 1, dims(w->kernel),
                                             &weights, NULL);
    bsm_deconvolution_set_output_padding(layer, dims(w->extra));
  } else {
    layer = bsm_network_add_pooling_nd(
        f->net, x,
        strcmp(w->kind, "max") == 0 ? BSM_POOLING_MAX : BSM_POOLING_AVERAGE,
        dims(w->kernel));
    bsm_pooling_set_ceil_mode(layer, w->extra);
  }
  bsm_layer_set_stride_nd(layer, dims(w->stride));
  bsm_layer_set_padding_nd(layer, dims(w->padding));
  bsm_layer_set_dilation_nd(layer, dims(w->dilation));
  return layer;
}

static FILE *open_data(const char *name) {
  char path[512];
  snprintf(path, sizeof path, "%s/network/%s", BSM_TEST_DATA_DIR, name);
  FILE *file = fopen(path, "r");
  if (!file) fail_msg("cannot open %s", path);
  return file;
}

static void test_windows(void **state) {
  fixture *f = *state;
  FILE *file = open_data("windows.txt");
  char line[256];
  size_t count = 0, refused = 0;
  while (fgets(line, sizeof line, file)) {
    window w;
    if (*line == '#') continue;
    assert_int_equal(sscanf(line, "%15s %lld %lld %lld %lld %lld %lld %lld",
                            w.kind, &w.size, &w.kernel, &w.stride, &w.padding,
                            &w.dilation, &w.extra, &w.result),
                     8);
    bsm_layer *layer = add_window(f, &w);
    bsm_status status = bsm_network_take_error(f->net);
    count++;
    if (w.result < 0) {
      refused++;
      if (!status) fail_msg("not refused: %s", line);
      bsm_status_free(status);
      f->net->layers.len = 0; /* the stale layer */
      f->net->stale_count = 0;
      continue;
    }
    if (status) fail_msg("%s: %s", line, bsm_status_message(status));
    if (bsm_layer_output(layer, 0)->dims.d[2] != w.result) {
      fail_msg("%lld, PyTorch has: %s",
               (long long)bsm_layer_output(layer, 0)->dims.d[2], line);
    }
  }
  fclose(file);
  assert_true(count > 300);
  assert_true(refused > 20);
}

/* "[2,3]" */
static bsm_dims parse_dims(const char *text) {
  bsm_dims out = {0};
  for (const char *at = text + 1; *at && *at != ']';) {
    char *end;
    out.d[out.rank++] = strtoll(at, &end, 10);
    at = *end == ',' ? end + 1 : end;
  }
  return out;
}

static void check_result(fixture *f, bsm_layer *layer, const char *want) {
  bsm_status status = bsm_network_take_error(f->net);
  if (strcmp(want, "no") == 0) {
    assert_null(layer);
    assert_non_null(status);
    bsm_status_free(status);
    return;
  }
  if (status) fail_msg("%s", bsm_status_message(status));
  assert_shape(layer, F32, parse_dims(want));
}

static void test_broadcasts(void **state) {
  fixture *f = *state;
  FILE *file = open_data("broadcasts.txt");
  char line[256], a[64], b[64], sum[64], product[64];
  while (fgets(line, sizeof line, file)) {
    if (*line == '#') continue;
    assert_int_equal(sscanf(line, "%63s %63s %63s %63s", a, b, sum, product),
                     4);
    bsm_itensor *x = input(f, F32, parse_dims(a));
    bsm_itensor *y = input(f, F32, parse_dims(b));
    check_result(
        f, bsm_network_add_element_wise(f->net, x, y, BSM_ELEMENT_WISE_SUM),
        sum);
    if (strcmp(product, "-") == 0) continue;
    check_result(f,
                 bsm_network_add_matrix_multiply(f->net, x, BSM_MATRIX_NONE, y,
                                                 BSM_MATRIX_NONE),
                 product);
  }
  fclose(file);
  assert_ok(bsm_network_verify(f->net));
}

/* ---- by hand ---- */

static void test_convolution(void **state) {
  fixture *f = *state;
  bsm_network *net = f->net;
  bsm_itensor *x = input(f, F32, dims(2, 4, 5, 6));
  bsm_weights w = zeros(f, dims(6, 2, 3, 3)), b = zeros(f, dims(6));
  bsm_layer *layer =
      bsm_network_add_convolution_nd(net, x, 6, dims(3, 3), &w, &b);
  assert_non_null(layer); /* stale until the groups are set */
  bsm_layer_set_groups(layer, 2);
  assert_null(bsm_network_take_error(net));
  assert_shape(layer, F32, dims(2, 6, 3, 4));
  bsm_layer_set_pre_padding(layer, dims(1, 0));
  bsm_layer_set_post_padding(layer, dims(0, 3));
  assert_shape(layer, F32, dims(2, 6, 4, 7));
  bsm_layer_set_groups(layer, 3);
  assert_error(net, BSM_INVALID_ARGUMENT, "4 input channels do not split");
  bsm_layer_set_groups(layer, 1);
  assert_error(net, BSM_INVALID_ARGUMENT,
               "the kernel has 108 elements, 216 are needed");
  bsm_layer_set_groups(layer, 2);
  bsm_layer_set_stride_nd(layer, dims(1, 0));
  assert_error(net, BSM_INVALID_ARGUMENT, "stride 0");
  bsm_layer_set_stride_nd(layer, dims(1));
  assert_error(net, BSM_INVALID_ARGUMENT, "stride of 1 dimensions");
  bsm_layer_set_stride_nd(layer, dims(2, 2));
  assert_null(bsm_network_take_error(net));
  b.count = 5;
  layer = bsm_network_add_convolution_nd(net, x, 6, dims(3, 3), &w, &b);
  bsm_layer_set_groups(layer, 2);
  assert_error(net, BSM_INVALID_ARGUMENT,
               "the bias has 5 elements, 6 are needed");
  assert_null(
      bsm_network_add_convolution_nd(net, x, 6, dims(3, 3), NULL, NULL));
  assert_error(net, BSM_INVALID_ARGUMENT, "without weights");
  assert_null(
      bsm_network_add_convolution_nd(net, x, 6, dims(3, 3, 3, 3), &w, NULL));
  assert_error(net, BSM_UNSUPPORTED, "4 dimensions");
}

static void test_window_overflow(void **state) {
  fixture *f = *state;
  bsm_itensor *x = input(f, F32, dims(1, 1, 4));
  bsm_layer *layer =
      bsm_network_add_pooling_nd(f->net, x, BSM_POOLING_MAX, dims(2));
  bsm_layer_set_dilation_nd(layer, dims(INT64_MAX));
  assert_error(f->net, BSM_INVALID_ARGUMENT, "dilation");
  bsm_layer_set_dilation_nd(layer, dims((int64_t)1 << 40));
  assert_error(f->net, BSM_INVALID_ARGUMENT, "covers 1099511627777 elements");
  bsm_layer_set_dilation_nd(layer, dims(1));
  bsm_layer_set_padding_nd(layer, dims(2));
  assert_error(f->net, BSM_INVALID_ARGUMENT, "is not smaller than the window");
}

static void test_shuffle(void **state) {
  fixture *f = *state;
  bsm_itensor *x = input(f, F32, dims(2, 3, 4));
  bsm_layer *layer = bsm_network_add_shuffle(f->net, x);
  bsm_shuffle_set_first_transpose(layer, dims(2, 0, 1));
  assert_shape(layer, F32, dims(4, 2, 3));
  bsm_shuffle_set_reshape_dimensions(layer, dims(-1, 6));
  assert_shape(layer, F32, dims(4, 6));
  bsm_shuffle_set_second_transpose(layer, dims(1, 0));
  assert_shape(layer, F32, dims(6, 4));
  bsm_shuffle_set_reshape_dimensions(layer, dims(5, -1));
  assert_error(f->net, BSM_INVALID_ARGUMENT, "do not reshape to [5, -1]");
  layer = bsm_network_add_shuffle(f->net, x);
  bsm_shuffle_set_first_transpose(layer, dims(0, 0, 1));
  assert_error(f->net, BSM_INVALID_ARGUMENT, "is not a permutation");
  bsm_shuffle_set_first_transpose(layer, dims(0, 1, 2));
  /* 0 is a size. */
  bsm_itensor *empty = input(f, F32, dims(0, 3));
  layer = bsm_network_add_shuffle(f->net, empty);
  bsm_shuffle_set_reshape_dimensions(layer, dims(3, 0));
  assert_shape(layer, F32, dims(3, 0));
}

static void test_slice(void **state) {
  fixture *f = *state;
  bsm_itensor *x = input(f, F32, dims(4, 5));
  bsm_layer *layer =
      bsm_network_add_slice(f->net, x, dims(3, 1), dims(2, 2), dims(-2, 3));
  assert_shape(layer, F32, dims(2, 2));
  assert_null(bsm_network_take_error(f->net));
  layer = bsm_network_add_slice(f->net, x, dims(-1, 0), dims(6, 5), dims(1, 1));
  assert_non_null(layer);
  bsm_slice_set_mode(layer, BSM_PADDING_REFLECT, 0);
  assert_shape(layer, F32, dims(6, 5));
  assert_null(bsm_network_take_error(f->net));
  layer = bsm_network_add_slice(f->net, x, dims(-4, 0), dims(5, 5), dims(1, 1));
  assert_error(f->net, BSM_OUT_OF_RANGE, "reads -4 to 0 of dimension 0");
  bsm_slice_set_mode(layer, BSM_PADDING_REFLECT, 0);
  assert_error(f->net, BSM_OUT_OF_RANGE, "reflect padding of dimension 0");
  bsm_slice_set_mode(layer, BSM_PADDING_CIRCULAR, 0);
  assert_shape(layer, F32, dims(5, 5));
  layer = bsm_network_add_slice(f->net, x, dims(INT64_MAX, 0), dims(3, 5),
                                dims(INT64_MAX, 1));
  bsm_slice_set_mode(layer, BSM_PADDING_CONSTANT, 0);
  assert_error(f->net, BSM_LIMIT, "overflows");
}

static void test_scatter(void **state) {
  fixture *f = *state;
  bsm_itensor *data = input(f, F32, dims(4, 5, 6));
  bsm_itensor *row = input(f, I64, dims(7));
  /* Elements: the index may be smaller, along the axis also larger. */
  bsm_itensor *some = input(f, I64, dims(2, 9, 6));
  bsm_itensor *values = input(f, F32, dims(2, 9, 6));
  assert_shape(bsm_network_add_scatter(f->net, data, some, values,
                                       BSM_SCATTER_ELEMENT, 1),
               F32, dims(4, 5, 6));
  assert_null(bsm_network_add_scatter(f->net, data, some, values,
                                      BSM_SCATTER_ELEMENT, 0));
  assert_error(f->net, BSM_INVALID_ARGUMENT, "do not fit");
  /* Slices: [7, 1] names dimension 1, [2, 8, 2] dimensions 0 and 1. */
  assert_shape(
      bsm_network_add_scatter(f->net, data, input(f, I64, dims(7, 1)),
                              input(f, F32, dims(4, 7, 6)), BSM_SCATTER_ND, 1),
      F32, dims(4, 5, 6));
  assert_shape(
      bsm_network_add_scatter(f->net, data, input(f, I64, dims(2, 8, 2)),
                              input(f, F32, dims(2, 8, 6)), BSM_SCATTER_ND, 0),
      F32, dims(4, 5, 6));
  assert_null(bsm_network_add_scatter(
      f->net, data, row, input(f, F32, dims(4, 7, 6)), BSM_SCATTER_ND, 1));
  assert_error(f->net, BSM_INVALID_ARGUMENT, "name 7 dimensions");
  assert_null(bsm_network_add_scatter(f->net, data, input(f, I64, dims(7, 1)),
                                      input(f, F32, dims(4, 7, 5)),
                                      BSM_SCATTER_ND, 1));
  assert_error(f->net, BSM_INVALID_ARGUMENT, "updates have dims");
  assert_null(bsm_network_add_scatter(f->net, data, input(f, I64, dims(7, 1)),
                                      input(f, I64, dims(4, 7, 6)),
                                      BSM_SCATTER_ND, 1));
  assert_error(f->net, BSM_INVALID_ARGUMENT, "updates of int64");
}

static void test_gather(void **state) {
  fixture *f = *state;
  bsm_itensor *data = input(f, F32, dims(4, 5, 6));
  bsm_itensor *two = input(f, I64, dims(2, 3));
  assert_shape(bsm_network_add_gather(f->net, data, two, BSM_GATHER_DEFAULT, 1),
               F32, dims(4, 2, 3, 6));
  assert_shape(bsm_network_add_gather(f->net, data, input(f, I64, no_dims),
                                      BSM_GATHER_DEFAULT, 0),
               F32, dims(5, 6));
  assert_shape(
      bsm_network_add_gather(f->net, data, input(f, I64, dims(2, 5, 1)),
                             BSM_GATHER_ELEMENT, 2),
      F32, dims(2, 5, 1));
  assert_shape(bsm_network_add_gather(f->net, data, input(f, I64, dims(7, 2)),
                                      BSM_GATHER_ND, 0),
               F32, dims(7, 6));
  assert_null(bsm_network_add_gather(f->net, data, two, BSM_GATHER_ELEMENT, 0));
  assert_error(f->net, BSM_INVALID_ARGUMENT, "do not fit data");
  assert_null(
      bsm_network_add_gather(f->net, data, data, BSM_GATHER_DEFAULT, 0));
  assert_error(f->net, BSM_INVALID_ARGUMENT, "indices are float32");
  assert_null(bsm_network_add_gather(f->net, data, two, BSM_GATHER_DEFAULT, 3));
  assert_error(f->net, BSM_OUT_OF_RANGE, "axis 3");
}

static void test_reduce_and_top_k(void **state) {
  fixture *f = *state;
  bsm_itensor *x = input(f, F32, dims(2, 3, 4));
  assert_shape(bsm_network_add_reduce(f->net, x, BSM_REDUCE_AVG, 5, false), F32,
               dims(3));
  assert_shape(bsm_network_add_reduce(f->net, x, BSM_REDUCE_MAX, 5, true), F32,
               dims(1, 3, 1));
  assert_shape(bsm_network_add_reduce(f->net, x, BSM_REDUCE_SUM, 7, false), F32,
               no_dims);
  bsm_layer *layer = bsm_network_add_top_k(f->net, x, true, 2, 2);
  assert_shape(layer, F32, dims(2, 3, 2));
  assert_int_equal(bsm_layer_output(layer, 1)->dtype, I64);
  assert_null(bsm_layer_output(layer, 2));
  assert_null(bsm_network_add_top_k(f->net, x, true, 5, 2));
  assert_error(f->net, BSM_OUT_OF_RANGE, "5 of 4 elements");
  assert_null(bsm_network_add_reduce(f->net, x, BSM_REDUCE_SUM, 8, false));
  assert_error(f->net, BSM_OUT_OF_RANGE, "axes 0x8");
  assert_null(bsm_network_add_reduce(f->net, x, BSM_REDUCE_ANY, 1, false));
  assert_error(f->net, BSM_UNSUPPORTED, "reduce any of float32");
  assert_null(bsm_network_add_reduce(f->net, input(f, F32, dims(0, 2)),
                                     BSM_REDUCE_MAX, 1, false));
  assert_error(f->net, BSM_INVALID_ARGUMENT, "empty");
}

static void test_scan(void **state) {
  fixture *f = *state;
  bsm_itensor *x = input(f, F32, dims(2, 3));
  bsm_layer *layer = bsm_network_add_scan(f->net, x, BSM_SCAN_SUM, 1);
  assert_shape(layer, F32, dims(2, 3));
  assert_null(bsm_layer_output(layer, 1));
  layer = bsm_network_add_scan(f->net, x, BSM_SCAN_MAX, 0);
  assert_shape(layer, F32, dims(2, 3));
  assert_int_equal(bsm_layer_output(layer, 1)->dtype, I64);
  assert_null(bsm_network_add_scan(f->net, x, BSM_SCAN_SUM, 2));
  assert_error(f->net, BSM_OUT_OF_RANGE, "axis 2");
  assert_null(bsm_network_add_scan(f->net, input(f, I64, dims(2)),
                                   BSM_SCAN_LOG_SUM_EXP, 0));
  assert_error(f->net, BSM_UNSUPPORTED, "log_sum_exp of int64");
  assert_null(
      bsm_network_add_scan(f->net, input(f, BOOL, dims(2)), BSM_SCAN_MIN, 0));
  assert_error(f->net, BSM_UNSUPPORTED, "min of bool");
  assert_null(bsm_network_add_scan(f->net, x, (bsm_scan_operation)5, 0));
  assert_error(f->net, BSM_INVALID_ARGUMENT, "operation 5");
}

static void test_dtypes(void **state) {
  fixture *f = *state;
  bsm_network *net = f->net;
  bsm_itensor *x = input(f, F32, dims(2)), *n = input(f, I64, dims(2));
  bsm_itensor *b = input(f, BOOL, dims(2));
  assert_shape(bsm_network_add_element_wise(net, n, n, BSM_ELEMENT_WISE_LESS),
               BOOL, dims(2));
  assert_shape(bsm_network_add_unary(net, x, BSM_UNARY_ISNAN), BOOL, dims(2));
  assert_shape(bsm_network_add_cast(net, b, F32), F32, dims(2));
  assert_shape(bsm_network_add_select(net, b, n, n), I64, dims(2));
  assert_shape(bsm_network_add_shape(net, x), I64, dims(1));
  assert_shape(bsm_network_add_activation(net, n, BSM_ACTIVATION_RELU), I64,
               dims(2));
  assert_null(bsm_network_add_element_wise(net, x, n, BSM_ELEMENT_WISE_SUM));
  assert_error(net, BSM_INVALID_ARGUMENT, "sum of float32 and int64");
  assert_null(bsm_network_add_element_wise(net, n, n, BSM_ELEMENT_WISE_DIV));
  assert_error(net, BSM_UNSUPPORTED, "div of int64");
  assert_null(bsm_network_add_unary(net, n, BSM_UNARY_EXP));
  assert_error(net, BSM_UNSUPPORTED, "exp of int64");
  assert_null(bsm_network_add_activation(net, n, BSM_ACTIVATION_SIGMOID));
  assert_error(net, BSM_UNSUPPORTED, "activation sigmoid of int64");
  assert_null(bsm_network_add_select(net, x, n, n));
  assert_error(net, BSM_INVALID_ARGUMENT, "condition of float32");
  assert_null(bsm_network_add_cast(net, x, BSM_DTYPE_COMPLEX_FLOAT));
  assert_error(net, BSM_UNSUPPORTED, "complex");
  assert_null(bsm_network_add_softmax(net, n, 0, false));
  assert_error(net, BSM_UNSUPPORTED, "softmax of int64");
}

static void test_others(void **state) {
  fixture *f = *state;
  bsm_network *net = f->net;
  bsm_itensor *x = input(f, F32, dims(2, 4, 3, 3));
  bsm_weights four = zeros(f, dims(4)), one = zeros(f, no_dims);
  assert_shape(bsm_network_add_scale(net, x, &four, &one, NULL), F32,
               dims(2, 4, 3, 3));
  four.count = 3;
  assert_null(bsm_network_add_scale(net, x, &four, NULL, NULL));
  assert_error(net, BSM_INVALID_ARGUMENT, "the shift has 3 elements");
  bsm_itensor *slope = input(f, F32, dims(4, 1, 1));
  assert_shape(bsm_network_add_parametric_relu(net, x, slope), F32,
               dims(2, 4, 3, 3));
  assert_null(
      bsm_network_add_parametric_relu(net, x, input(f, F32, dims(5, 1, 1))));
  assert_error(net, BSM_INVALID_ARGUMENT, "slopes");
  assert_shape(bsm_network_add_resize(net, x, BSM_RESIZE_LINEAR, dims(6, 7)),
               F32, dims(2, 4, 6, 7));
  assert_null(bsm_network_add_resize(net, x, BSM_RESIZE_LINEAR, dims(6, 0)));
  assert_error(net, BSM_INVALID_ARGUMENT, "must be positive");
  bsm_layer *norm = bsm_network_add_normalization(net, x, slope, NULL, 14);
  bsm_normalization_set_groups(norm, 2);
  assert_shape(norm, F32, dims(2, 4, 3, 3));
  bsm_normalization_set_groups(norm, 3);
  assert_error(net, BSM_INVALID_ARGUMENT, "do not split into 3 groups");
  bsm_normalization_set_groups(norm, 1);
  assert_shape(bsm_network_add_expand(net, slope, dims(2, 4, 3, 3)), F32,
               dims(2, 4, 3, 3));
  assert_null(bsm_network_add_expand(net, x, dims(4, 3, 3)));
  assert_error(net, BSM_INVALID_ARGUMENT, "do not expand");
  assert_shape(bsm_network_add_fill(net, I64, dims(2), 3), I64, dims(2));
  assert_null(bsm_network_add_fill(net, I64, dims(INT64_MAX, 2), 3));
  assert_error(net, BSM_LIMIT, "too large");
  bsm_itensor *parts[] = {x, input(f, F32, dims(2, 1, 3, 3))};
  assert_shape(bsm_network_add_concatenation(net, parts, 2, 1), F32,
               dims(2, 5, 3, 3));
  assert_null(bsm_network_add_concatenation(net, parts, 2, 0));
  assert_error(net, BSM_INVALID_ARGUMENT, "input 1 is float32[2, 1, 3, 3]");
  bsm_weights w = zeros(f, dims(2, 2));
  assert_shape(bsm_network_add_constant(net, dims(2, 2), &w), F32, dims(2, 2));
  assert_null(bsm_network_add_constant(net, dims(2, 3), &w));
  assert_error(net, BSM_INVALID_ARGUMENT, "has 4 elements");
  assert_shape(bsm_network_add_adaptive_pooling_nd(net, x, BSM_POOLING_AVERAGE,
                                                   dims(2, 1)),
               F32, dims(2, 4, 2, 1));
  assert_ok(bsm_network_verify(net));
}

static bsm_layer *add_lstm(fixture *f, bsm_itensor *const *in,
                           const bsm_recurrent_weights *w, size_t directions) {
  return bsm_network_add_recurrent(f->net, in[0], in[1], in[2],
                                   BSM_RECURRENT_LSTM, w, directions);
}

static void test_quantization(void **state) {
  fixture *f = *state;
  bsm_network *net = f->net;
  bsm_itensor *x = input(f, F32, dims(2, 3, 4));
  bsm_itensor *half = input(f, BSM_DTYPE_HALF, dims(2, 3, 4));
  bsm_itensor *wide = input(f, BSM_DTYPE_DOUBLE, dims(2));
  bsm_itensor *one = input(f, F32, dims(1)), *three = input(f, F32, dims(3));
  bsm_itensor *whole = input(f, BSM_DTYPE_INT32, dims(3));
  const bsm_dtype i8 = BSM_DTYPE_INT8, u8 = BSM_DTYPE_UINT8;
  bsm_layer *q = bsm_network_add_quantize(net, x, one, NULL, -1, i8);
  assert_shape(q, i8, dims(2, 3, 4));
  bsm_itensor *y = bsm_layer_output(q, 0);
  assert_shape(bsm_network_add_quantize(net, half, three, three, 1, u8), u8,
               dims(2, 3, 4));
  assert_shape(bsm_network_add_quantize(net, half, one, one, -1, F32), F32,
               dims(2, 3, 4));
  assert_shape(
      bsm_network_add_dequantize(net, y, three, whole, 1, BSM_DTYPE_BFLOAT16),
      BSM_DTYPE_BFLOAT16, dims(2, 3, 4));
  assert_ok(bsm_network_verify(net));
  assert_null(bsm_network_add_quantize(net, wide, one, one, -1, i8));
  assert_error(net, BSM_INVALID_ARGUMENT, "float64 is needed");
  assert_null(bsm_network_add_quantize(net, y, one, NULL, -1, i8));
  assert_error(net, BSM_UNSUPPORTED, "quantize of int8 to int8");
  assert_null(bsm_network_add_quantize(net, x, one, NULL, -1, BSM_DTYPE_HALF));
  assert_error(net, BSM_UNSUPPORTED, "quantize of float32 to float16");
  assert_null(bsm_network_add_quantize(net, x, three, NULL, 2, i8));
  assert_error(net, BSM_INVALID_ARGUMENT, "a scale of dims [3]");
  assert_null(bsm_network_add_quantize(net, x, one, three, -1, i8));
  assert_error(net, BSM_INVALID_ARGUMENT, "a zero point of dims [3]");
  assert_null(bsm_network_add_quantize(net, x, three, NULL, 3, i8));
  assert_error(net, BSM_OUT_OF_RANGE, "axis 3 of dims [2, 3, 4]");
  assert_null(bsm_network_add_quantize(net, x, whole, NULL, 1, i8));
  assert_error(net, BSM_INVALID_ARGUMENT, "a scale of int32");
  assert_null(bsm_network_add_dequantize(net, y, one, NULL, -1, i8));
  assert_error(net, BSM_UNSUPPORTED, "dequantize of int8 to int8");
  bsm_itensor *narrow = input(f, BSM_DTYPE_HALF, dims(1));
  assert_null(bsm_network_add_dequantize(net, y, one, narrow, -1, F32));
  assert_error(net, BSM_INVALID_ARGUMENT,
               "a zero point of float16 for a scale of float32");
  q = bsm_network_add_quantize(net, x, one, NULL, -1, i8); /* read by none */
  bsm_quantize_set_range(q, -8, 128);
  assert_error(net, BSM_INVALID_ARGUMENT, "the range -8 to 128 of int8");
  bsm_quantize_set_range(q, -8, 6.5);
  assert_error(net, BSM_INVALID_ARGUMENT, "the range -8 to 6.5 of int8");
  bsm_quantize_set_range(q, -8, 7);
  bsm_quantize_set_nan(q, (bsm_quantize_nan)9);
  assert_error(net, BSM_INVALID_ARGUMENT, "treatment 9 of NaN");
  bsm_quantize_set_nan(q, BSM_QUANTIZE_NAN_LEAST);
  bsm_quantize_set_rounds_last(q, true);
  bsm_quantize_set_nan(bsm_network_add_identity(net, x),
                       BSM_QUANTIZE_NAN_LEAST);
  assert_error(net, BSM_INVALID_ARGUMENT, "treatment of NaN of layer identity");
  assert_ok(bsm_network_verify(net));
}

/* Layers take any floating dtype; what a target computes is its own matter. */
static void test_floating_dtypes(void **state) {
  fixture *f = *state;
  const bsm_dtype dtypes[] = {BSM_DTYPE_HALF, BSM_DTYPE_BFLOAT16, F32,
                              BSM_DTYPE_DOUBLE};
  for (size_t i = 0; i < 4; i++) {
    bsm_itensor *x = input(f, dtypes[i], dims(4, 2, 3));
    bsm_itensor *h = input(f, dtypes[i], dims(1, 2, 5));
    bsm_recurrent_weights w = {.input = zeros(f, dims(5, 3)),
                               .recurrent = zeros(f, dims(5, 5)),
                               .input_bias = zeros(f, dims(5))};
    w.input.dtype = w.recurrent.dtype = w.input_bias.dtype = dtypes[i];
    assert_shape(bsm_network_add_recurrent(f->net, x, h, NULL,
                                           BSM_RECURRENT_TANH, &w, 1),
                 dtypes[i], dims(4, 2, 5));
    w.input_bias.dtype = dtypes[(i + 1) % 4];
    assert_null(bsm_network_add_recurrent(f->net, x, h, NULL,
                                          BSM_RECURRENT_TANH, &w, 1));
    assert_error(f->net, BSM_INVALID_ARGUMENT, "the input bias has 5");
    bsm_itensor *qkv[3] = {x, x, x};
    bsm_layer *attention;
    assert_ok(bsm_network_new_layer(f->net, BSM_LAYER_ATTENTION, qkv, 3, 1,
                                    &attention));
    assert_ok(bsm_layer_infer(attention));
    assert_shape(attention, dtypes[i], dims(4, 2, 3));
  }
  assert_ok(bsm_network_verify(f->net));
}

static void assert_output(const bsm_layer *layer, size_t i, bsm_dims want) {
  const bsm_dims have = bsm_itensor_dims(bsm_layer_output(layer, i));
  assert_string_equal(bsm_dims_str(have), bsm_dims_str(want));
}

/* T 5, B 3, I 4, H 6, P 2. */
static void test_recurrent(void **state) {
  fixture *f = *state;
  bsm_network *net = f->net;
  bsm_itensor *in[] = {input(f, F32, dims(5, 3, 4)),
                       input(f, F32, dims(2, 3, 2)),
                       input(f, F32, dims(2, 3, 6))};
  bsm_recurrent_weights w[2] = {{.input = zeros(f, dims(24, 4)),
                                 .recurrent = zeros(f, dims(24, 2)),
                                 .input_bias = zeros(f, dims(24)),
                                 .recurrent_bias = zeros(f, dims(24)),
                                 .projection = zeros(f, dims(2, 6))}};
  w[1] = w[0];
  w[1].input_bias = (bsm_weights){0};
  bsm_layer *lstm = add_lstm(f, in, w, 2);
  assert_int_equal(bsm_layer_output_count(lstm), 3);
  assert_output(lstm, 0, dims(5, 3, 4));
  assert_output(lstm, 1, dims(2, 3, 2));
  assert_output(lstm, 2, dims(2, 3, 6));
  int64_t lengths[] = {5, 0, 2};
  bsm_weights steps = {
      .dtype = I64, .values = lengths, .count = 3, .shape = dims(3)};
  bsm_recurrent_set_lengths(lstm, &steps);
  assert_ok(bsm_network_verify(net));
  bsm_text text;
  bsm_text_init(&text, &f->arena);
  bsm_network_print(&text, net);
  assert_non_null(strstr(text.data,
                         "recurrent(%in0, %in1, %in2) lstm "
                         "lengths=int64[3]{5, 0, 2}"));

  assert_null(add_lstm(f, in, w, 1));
  assert_error(net, BSM_INVALID_ARGUMENT, "hidden state is float32[2, 3, 2]");
  assert_null(add_lstm(f, in, w, 3));
  assert_error(net, BSM_INVALID_ARGUMENT, "3 directions");
  bsm_itensor *swapped[] = {in[0], in[2], in[1]};
  assert_null(add_lstm(f, swapped, w, 2));
  assert_error(net, BSM_INVALID_ARGUMENT, "not float32[2, 3, 2]");
  w[1].projection = (bsm_weights){0};
  assert_null(add_lstm(f, in, w, 2));
  assert_error(net, BSM_INVALID_ARGUMENT, "projections");
  w[1] = w[0];
  w[1].recurrent = zeros(f, dims(24, 3));
  assert_null(add_lstm(f, in, w, 2));
  assert_error(net, BSM_INVALID_ARGUMENT, "recurrent weights");
  w[1] = w[0];
  w[1].recurrent_bias = zeros(f, dims(23));
  assert_null(add_lstm(f, in, w, 2));
  assert_error(net, BSM_INVALID_ARGUMENT, "recurrent bias has 23");
  w[1] = w[0];
  w[1].input.dtype = BSM_DTYPE_DOUBLE;
  assert_null(add_lstm(f, in, w, 2));
  assert_error(net, BSM_INVALID_ARGUMENT, "input weights are float64");
  w[0].input = zeros(f, dims(25, 4));
  assert_null(add_lstm(f, in, w, 1));
  assert_error(net, BSM_INVALID_ARGUMENT, "[25, 4]");

  bsm_recurrent_weights gru = {.input = zeros(f, dims(9, 4)),
                               .recurrent = zeros(f, dims(9, 3))};
  bsm_itensor *h = input(f, F32, dims(1, 3, 3));
  bsm_layer *layer = bsm_network_add_recurrent(net, in[0], h, NULL,
                                               BSM_RECURRENT_GRU, &gru, 1);
  assert_int_equal(bsm_layer_output_count(layer), 2);
  assert_output(layer, 0, dims(5, 3, 3));
  assert_null(
      bsm_network_add_recurrent(net, in[0], h, h, BSM_RECURRENT_GRU, &gru, 1));
  assert_error(net, BSM_INVALID_ARGUMENT, "with a cell state");
  bsm_itensor *none = input(f, F32, dims(0, 3, 4));
  assert_null(bsm_network_add_recurrent(net, none, h, NULL, BSM_RECURRENT_GRU,
                                        &gru, 1));
  assert_error(net, BSM_INVALID_ARGUMENT, "one or more steps");
  lengths[1] = 6;
  bsm_recurrent_set_lengths(layer, &steps);
  assert_true(layer->stale);
  lengths[1] = 1;
  bsm_recurrent_set_lengths(layer, &steps);
  assert_false(layer->stale);
  assert_ok(bsm_network_verify(net));
}

#define TEST(name) \
  cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_windows),          TEST(test_broadcasts),
      TEST(test_convolution),      TEST(test_window_overflow),
      TEST(test_shuffle),          TEST(test_slice),
      TEST(test_scatter),          TEST(test_gather),
      TEST(test_reduce_and_top_k), TEST(test_scan),
      TEST(test_dtypes),           TEST(test_others),
      TEST(test_recurrent),        TEST(test_quantization),
      TEST(test_floating_dtypes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
