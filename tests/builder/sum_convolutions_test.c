/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of one tensor whose results are only added are one, with the
 * same values, computed here by plain loops before and after the pass; what
 * must not be added stays. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <string.h>

#include "builder/constants.h"
#include "builder/passes.h"
#include "builder/uses.h"
#include "tests/target_kit.h"

enum { MAPS = 4, SIDE = 7, MAX_BRANCHES = 6 };

static bsm_arena arena;
static bsm_network *net;
static uint32_t seed;

static int set_up(void **state) {
  (void)state;
  bsm_arena_init(&arena, NULL);
  assert_null(bsm_network_create(&arena, NULL, &net));
  seed = 1;
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  bsm_network_release(net);
  bsm_arena_destroy(&arena);
  return 0;
}

static void start_again(void) {
  tear_down(NULL);
  set_up(NULL);
}

static float draw(void) {
  seed = seed * 1664525u + 1013904223u;
  return (float)(seed >> 8) / 8388608.0f - 1;
}

static bsm_weights draw_weights(bsm_dims shape) {
  bsm_weights w = {.dtype = BSM_DTYPE_FLOAT, .shape = shape, .count = 1};
  for (int32_t i = 0; i < shape.rank; i++) w.count *= shape.d[i];
  float *values = BSM_NEW_ARRAY(&arena, float, (size_t)w.count);
  assert_non_null(values);
  for (int64_t i = 0; i < w.count; i++) values[i] = draw();
  w.values = values;
  w.num_output_maps = shape.d[0];
  w.num_input_maps = shape.rank > 1 ? shape.d[1] : 1;
  w.kernel_shape.rank = shape.rank > 2 ? shape.rank - 2 : 0;
  for (int32_t i = 2; i < shape.rank; i++) {
    w.kernel_shape.d[i - 2] = shape.d[i];
  }
  return w;
}

static bsm_itensor *out_of(bsm_layer *layer) {
  assert_non_null(layer);
  return bsm_layer_output(layer, 0);
}

static bsm_itensor *sum_of(bsm_itensor *a, bsm_itensor *b) {
  return out_of(bsm_network_add_element_wise(net, a, b, BSM_ELEMENT_WISE_SUM));
}

/* ---- branches ---- */

/* One term of a sum: a convolution, or with kernel[0] 0 a scale or x itself. */
typedef struct branch {
  int64_t kernel[2], padding[2], stride, dilation, groups;
  bool has_bias, scales;
  bool has_norm; /* a scale behind the convolution */
} branch;

static const branch same = {{0}, {0}, 0, 0, 0, false, false, false};
static const branch scaled = {{0}, {0}, 0, 0, 0, false, true, false};
static const branch three = {{3, 3}, {1, 1}, 1, 1, 1, true, false, false};
static const branch pixel = {{1, 1}, {0, 0}, 1, 1, 1, false, false, false};
static const branch normed = {{3, 3}, {1, 1}, 1, 1, 1, false, false, true};

static bsm_itensor *add_scale(bsm_itensor *x) {
  const bsm_weights by = draw_weights((bsm_dims){1, {MAPS}});
  const bsm_weights shift = draw_weights((bsm_dims){1, {MAPS}});
  return out_of(bsm_network_add_scale(net, x, &shift, &by, NULL));
}

static bsm_layer *add_convolution(bsm_itensor *x, const branch *b) {
  const bsm_weights kernel = draw_weights(
      (bsm_dims){4, {MAPS, MAPS / b->groups, b->kernel[0], b->kernel[1]}});
  const bsm_weights bias = draw_weights((bsm_dims){1, {MAPS}});
  bsm_layer *layer = bsm_network_add_convolution_nd(
      net, x, MAPS, (bsm_dims){2, {b->kernel[0], b->kernel[1]}}, &kernel,
      b->has_bias ? &bias : NULL);
  assert_non_null(layer);
  bsm_layer_set_groups(layer, b->groups);
  bsm_layer_set_stride_nd(layer, (bsm_dims){2, {b->stride, b->stride}});
  bsm_layer_set_dilation_nd(layer, (bsm_dims){2, {b->dilation, b->dilation}});
  bsm_layer_set_padding_nd(layer,
                           (bsm_dims){2, {b->padding[0], b->padding[1]}});
  return layer;
}

static bsm_itensor *add_branch(bsm_itensor *x, const branch *b) {
  if (b->kernel[0] == 0) return b->scales ? add_scale(x) : x;
  bsm_itensor *y = out_of(add_convolution(x, b));
  return b->has_norm ? add_scale(y) : y;
}

static bsm_itensor *add_input(void) {
  bsm_itensor *x = bsm_network_add_input(net, "x", BSM_DTYPE_FLOAT,
                                         (bsm_dims){4, {1, MAPS, SIDE, SIDE}});
  assert_non_null(x);
  return x;
}

static void mark(bsm_itensor *t) {
  const char *name = bsm_arena_printf(&arena, "out_%zu", net->outputs.len);
  assert_null(bsm_network_mark_output(net, t, name));
}

/* ---- values ---- */

static double *values[64]; /* by tensor */

static double at(const bsm_itensor *t, int64_t c, int64_t h, int64_t w) {
  const int64_t *d = t->dims.d;
  if (h < 0 || w < 0 || h >= d[2] || w >= d[3]) return 0;
  return values[t->id][(c * d[2] + h) * d[3] + w];
}

/* One output of a convolution. */
static double convolve(const bsm_layer *layer, int64_t c, int64_t h,
                       int64_t w) {
  const bsm_convolution_params *p = &layer->p.convolution;
  const bsm_window_params *win = &p->window;
  const bsm_itensor *x = layer->inputs.items[0];
  const int64_t inputs = x->dims.d[1] / p->groups;
  const int64_t first = c / (p->out_maps / p->groups) * inputs;
  double sum = 0;
  int64_t k = c * inputs * win->kernel[0] * win->kernel[1];
  for (int64_t i = 0; i < inputs; i++) {
    for (int64_t r = 0; r < win->kernel[0]; r++) {
      for (int64_t s = 0; s < win->kernel[1]; s++, k++) {
        sum +=
            bsm_constant_number(&p->kernel, k) *
            at(x, first + i,
               h * win->stride[0] - win->pre_padding[0] + r * win->dilation[0],
               w * win->stride[1] - win->pre_padding[1] + s * win->dilation[1]);
      }
    }
  }
  if (p->deferred.factor) sum *= p->deferred.factor[c];
  return p->bias.count ? sum + bsm_constant_number(&p->bias, c) : sum;
}

static double value_of(const bsm_layer *layer, int64_t c, int64_t h,
                       int64_t w) {
  const bsm_itensor *x = layer->inputs.items[0];
  switch (layer->kind) {
    case BSM_LAYER_CONVOLUTION:
      return convolve(layer, c, h, w);
    case BSM_LAYER_SCALE:
      return at(x, c, h, w) * bsm_constant_number(&layer->p.scale.scale, c) +
             bsm_constant_number(&layer->p.scale.shift, c);
    case BSM_LAYER_ELEMENT_WISE:
      return at(x, c, h, w) + at(layer->inputs.items[1], c, h, w);
    default:
      fail();
      return 0;
  }
}

/* Computes all tensors; the values of an output. */
static const double *evaluate(size_t output) {
  memset(values, 0, sizeof(values));
  for (size_t i = 0; i < net->tensors.len; i++) {
    const int64_t *d = net->tensors.items[i]->dims.d;
    assert_true(i < 64);
    values[i] = BSM_NEW_ARRAY(&arena, double, (size_t)(d[1] * d[2] * d[3]));
    assert_non_null(values[i]);
  }
  const bsm_itensor *x = net->inputs.items[0];
  for (int i = 0; i < MAPS * SIDE * SIDE; i++) {
    values[x->id][i] = sin(i * 1.7);
  }
  for (size_t i = 0; i < net->layers.len; i++) {
    const bsm_layer *layer = net->layers.items[i];
    const bsm_itensor *y = layer->outputs.items[0];
    double *to = values[y->id];
    for (int64_t c = 0; c < y->dims.d[1]; c++) {
      for (int64_t h = 0; h < y->dims.d[2]; h++) {
        for (int64_t w = 0; w < y->dims.d[3]; w++) {
          *to++ = value_of(layer, c, h, w);
        }
      }
    }
  }
  return values[net->outputs.items[output]->id];
}

/* ---- the pass ---- */

static size_t count_kind(bsm_layer_kind kind) {
  size_t count = 0;
  for (size_t i = 0; i < net->layers.len; i++) {
    count += net->layers.items[i]->kind == kind;
  }
  return count;
}

static void run_pass(void) {
  bsm_arena scratch;
  bsm_arena_init(&scratch, NULL);
  assert_null(bsm_pass_fold_scale(test_target(1), net, &scratch));
  assert_null(bsm_pass_sum_convolutions(test_target(1), net, &scratch));
  assert_null(bsm_network_sweep(net, &scratch));
  bsm_arena_destroy(&scratch);
  assert_null(bsm_network_take_error(net));
}

/* Runs the pass: so many layers are left, and the outputs have the same values
 * but for roundings of weights. */
static void check(size_t convolutions, size_t layers) {
  const double *before[4];
  for (size_t i = 0; i < net->outputs.len; i++) before[i] = evaluate(i);
  run_pass();
  assert_int_equal(count_kind(BSM_LAYER_CONVOLUTION), convolutions);
  assert_int_equal(net->layers.len, layers);
  for (size_t i = 0; i < net->outputs.len; i++) {
    const int64_t *d = net->outputs.items[i]->dims.d;
    const double *after = evaluate(i);
    for (int64_t k = 0; k < d[1] * d[2] * d[3]; k++) {
      assert_true(fabs(before[i][k] - after[k]) < 1e-5);
    }
  }
}

/* The sum of branches of x, the first two first or the last two. */
static void add_sum(const branch *const *branches, size_t count, bool last) {
  bsm_itensor *x = add_input(), *terms[MAX_BRANCHES];
  for (size_t i = 0; i < count; i++) terms[i] = add_branch(x, branches[i]);
  bsm_itensor *y = terms[last ? count - 1 : 0];
  for (size_t i = 1; i < count; i++) {
    y = last ? sum_of(terms[count - 1 - i], y) : sum_of(y, terms[i]);
  }
  mark(y);
}

static void check_sum(const branch *const *branches, size_t count,
                      size_t convolutions, size_t layers) {
  for (int last = 0; last < 2; last++) {
    start_again();
    add_sum(branches, count, last);
    check(convolutions, layers);
  }
}

static void test_branches_become_one(void **state) {
  (void)state;
  const branch *const all[] = {&pixel, &same, &three, &scaled, &normed, &same};
  check_sum(all, 6, 1, 1);
  const branch *const pixels[] = {&pixel, &scaled, &pixel};
  check_sum(pixels, 3, 1, 1);
}

static void test_residual_of_itself(void **state) {
  (void)state;
  const branch *const two[] = {&same, &normed};
  check_sum(two, 2, 1, 1);
}

static void test_names_and_outputs(void **state) {
  (void)state;
  bsm_itensor *x = add_input();
  bsm_layer *a = add_convolution(x, &pixel), *b = add_convolution(x, &three);
  bsm_layer *sum = bsm_network_add_element_wise(net, out_of(a), out_of(b),
                                                BSM_ELEMENT_WISE_SUM);
  a->name = "a";
  b->name = "b";
  sum->name = "sum";
  out_of(sum)->name = "y";
  mark(out_of(sum));
  check(1, 1);
  assert_string_equal(bsm_layer_full_name(net->layers.items[0]), "a + b + sum");
  assert_string_equal(net->outputs.items[0]->name, "y");
}

/* Depthwise ones, with their diagonal; and groups of two maps. */
static void test_groups(void **state) {
  (void)state;
  for (int64_t groups = 2; groups <= MAPS; groups += 2) {
    branch small = pixel, large = normed;
    small.groups = large.groups = groups;
    const branch *const all[] = {&large, &small, &same, &scaled};
    check_sum(all, 4, 1, 1);
    const branch *const mixed[] = {&large, &pixel};
    check_sum(mixed, 2, 2, 3);
  }
}

/* Lines of taps in a square; the windows of two lines alone have no cover. */
static void test_windows(void **state) {
  (void)state;
  branch row = three, column = three, far = three, wide = three;
  row.kernel[0] = 1;
  row.padding[0] = 0;
  column.kernel[1] = 1;
  column.padding[1] = 0;
  const branch *const cross[] = {&row, &column, &three};
  check_sum(cross, 3, 1, 1);
  const branch *const lines[] = {&row, &column, &pixel};
  check_sum(lines, 3, 2, 3);
  far.dilation = 2;
  far.padding[0] = far.padding[1] = 2;
  const branch *const dilated[] = {&far, &pixel, &three};
  check_sum(dilated, 3, 2, 3);
  wide.kernel[0] = wide.kernel[1] = 5;
  wide.padding[0] = wide.padding[1] = 2;
  const branch *const nested[] = {&far, &three, &wide};
  check_sum(nested, 3, 1, 1);
}

/* Strides have no diagonal; a pixel lies anywhere in the window. */
static void test_strides(void **state) {
  (void)state;
  branch small = pixel, large = three;
  small.stride = large.stride = 2;
  const branch *const two[] = {&small, &large};
  check_sum(two, 2, 1, 1);
  large.kernel[0] = large.kernel[1] = 2; /* the pixel is the last tap */
  const branch *const corner[] = {&small, &large};
  check_sum(corner, 2, 1, 1);
}

/* What something else reads is not added, nor what follows an activation. */
static void test_results_that_are_read(void **state) {
  (void)state;
  bsm_itensor *x = add_input();
  bsm_itensor *a = out_of(add_convolution(x, &pixel));
  bsm_itensor *b = out_of(add_convolution(x, &three));
  mark(sum_of(a, b));
  mark(a);
  check(2, 3);
}

static void test_inner_sum_is_an_output(void **state) {
  (void)state;
  bsm_itensor *x = add_input();
  bsm_itensor *inner = sum_of(out_of(add_convolution(x, &pixel)),
                              out_of(add_convolution(x, &three)));
  mark(inner);
  mark(sum_of(inner, out_of(add_convolution(x, &three))));
  check(2, 3);
}

/* Terms of other tensors stay, wherever they are. */
static void test_other_terms(void **state) {
  (void)state;
  bsm_itensor *x = add_input();
  bsm_itensor *z = add_scale(x);
  bsm_itensor *a = out_of(add_convolution(x, &three));
  bsm_itensor *b = out_of(add_convolution(z, &three));
  bsm_itensor *c = out_of(add_convolution(x, &pixel));
  bsm_itensor *d = out_of(add_convolution(z, &pixel));
  mark(sum_of(sum_of(sum_of(a, z), sum_of(d, x)), sum_of(b, c)));
  mark(z);
  check(2, 4);
}

/* A scale behind a sum goes into it, which can be a term then. */
static void test_scaled_sums(void **state) {
  (void)state;
  bsm_itensor *x = add_input();
  bsm_itensor *inner = sum_of(out_of(add_convolution(x, &pixel)),
                              out_of(add_convolution(x, &three)));
  mark(sum_of(add_scale(inner), out_of(add_convolution(x, &three))));
  check(1, 1);
}

static void test_numbers_are_rounded_once(void **state) {
  (void)state;
  bsm_itensor *x = add_input();
  bsm_layer *a = add_convolution(x, &pixel), *b = add_convolution(x, &pixel);
  const double third = 1.0 / 3, factors[MAPS] = {third, third, third, third};
  const float *first = a->p.convolution.kernel.values;
  const float *second = b->p.convolution.kernel.values;
  b->p.convolution.deferred.factor = factors;
  mark(sum_of(sum_of(out_of(a), out_of(b)), x));
  check(1, 1);
  const bsm_convolution_params *p = &net->layers.items[0]->p.convolution;
  const float *kernel = p->kernel.values;
  assert_null(p->deferred.factor);
  for (int i = 0; i < MAPS * MAPS; i++) {
    const double sum = (double)first[i] + third * (double)second[i] +
                       (i / MAPS == i % MAPS ? 1 : 0);
    assert_true(kernel[i] == (float)sum);
  }
}

static void test_kernels_that_are_not_finite(void **state) {
  (void)state;
  static const float bad[] = {INFINITY, NAN, 3e38f};
  for (int i = 0; i < 3; i++) {
    start_again();
    bsm_itensor *x = add_input();
    bsm_layer *layers[2] = {add_convolution(x, &pixel),
                            add_convolution(x, &three)};
    float kernel[MAPS * MAPS * 9];
    for (int k = 0; k < MAPS * MAPS * 9; k++) kernel[k] = bad[i];
    layers[0]->p.convolution.kernel.values = kernel;
    layers[1]->p.convolution.kernel.values = kernel;
    mark(sum_of(out_of(layers[0]), out_of(layers[1])));
    run_pass();
    assert_int_equal(net->layers.len, 3);
    assert_ptr_equal(layers[0]->p.convolution.kernel.values, kernel);
  }
}

/* Products of bytes have scales of their own. */
static void test_quantized_kernels(void **state) {
  (void)state;
  static const float scales[MAPS] = {1, 1, 1, 1};
  bsm_itensor *x = add_input();
  bsm_layer *a = add_convolution(x, &pixel), *b = add_convolution(x, &three);
  a->p.convolution.kernel_scale = scales;
  mark(sum_of(out_of(a), out_of(b)));
  check(2, 3);
}

/* Beside ones, kernels of bfloat16 would lose what they have. */
static void test_diagonals_of_narrow_kernels(void **state) {
  (void)state;
  bsm_itensor *x = add_input();
  bsm_layer *a = add_convolution(x, &three);
  a->precision = BSM_PRECISION_BF16;
  mark(sum_of(out_of(a), x));
  check(1, 2);
}

/* A constant added to maps is part of the bias; +0 of a trace, too. */
static void test_constants_are_biases(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    start_again();
    const bsm_dims dims = i ? (bsm_dims){3, {MAPS, 1, 1}} : (bsm_dims){0};
    bsm_weights w = draw_weights((bsm_dims){1, {MAPS}});
    w.count = i ? MAPS : 1;
    w.shape = dims;
    bsm_itensor *x = add_input();
    bsm_layer *a = add_convolution(x, &pixel), *b = add_convolution(x, &three);
    const float *bias = b->p.convolution.bias.values;
    bsm_itensor *c = out_of(bsm_network_add_constant(net, dims, &w));
    mark(sum_of(sum_of(c, out_of(a)), out_of(b)));
    run_pass();
    assert_int_equal(net->layers.len, 1);
    const float *sums = net->layers.items[0]->p.convolution.bias.values;
    for (int k = 0; k < MAPS; k++) {
      const float added = ((const float *)w.values)[i ? k : 0];
      assert_true(sums[k] == (float)((double)bias[k] + (double)added));
    }
  }
}

/* Terms that read nothing. */
static void test_constant_terms(void **state) {
  (void)state;
  const bsm_dims dims = {4, {1, MAPS, SIDE, SIDE}};
  const bsm_weights w = draw_weights(dims);
  bsm_itensor *x = add_input();
  bsm_itensor *c = out_of(bsm_network_add_constant(net, dims, &w));
  mark(sum_of(sum_of(out_of(add_convolution(x, &pixel)), c),
              out_of(add_convolution(x, &three))));
  run_pass();
  assert_int_equal(count_kind(BSM_LAYER_CONVOLUTION), 1);
  assert_int_equal(net->layers.len, 3);
}

/* More terms than are looked at together. */
static void test_long_sums(void **state) {
  (void)state;
  bsm_itensor *x = add_input(), *y = x;
  for (int i = 0; i < 300; i++) y = sum_of(y, x);
  y = sum_of(out_of(add_convolution(x, &pixel)), y);
  mark(y);
  run_pass();
  assert_int_equal(count_kind(BSM_LAYER_CONVOLUTION), 1);
  assert_true(net->layers.len < 300);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_branches_become_one),
      TEST(test_residual_of_itself),
      TEST(test_names_and_outputs),
      TEST(test_groups),
      TEST(test_windows),
      TEST(test_strides),
      TEST(test_results_that_are_read),
      TEST(test_inner_sum_is_an_output),
      TEST(test_other_terms),
      TEST(test_scaled_sums),
      TEST(test_numbers_are_rounded_once),
      TEST(test_kernels_that_are_not_finite),
      TEST(test_quantized_kernels),
      TEST(test_diagonals_of_narrow_kernels),
      TEST(test_constants_are_biases),
      TEST(test_constant_terms),
      TEST(test_long_sums),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
