/* SPDX-License-Identifier: Apache-2.0 */
/* Each pass on small networks: what fuses, what must not, and the folded
 * numbers. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>

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

static bsm_weights weights(const float *values, bsm_dims shape) {
  bsm_weights w = {.dtype = BSM_DTYPE_FLOAT, .values = values, .count = 1};
  w.shape = shape;
  for (int32_t i = 0; i < shape.rank; i++) w.count *= shape.d[i];
  w.num_input_maps = shape.rank > 1 ? shape.d[1] : 1;
  w.num_output_maps = shape.rank > 0 ? shape.d[0] : 1;
  w.kernel_shape.rank = shape.rank > 2 ? shape.rank - 2 : 0;
  for (int32_t i = 2; i < shape.rank; i++) {
    w.kernel_shape.d[i - 2] = shape.d[i];
  }
  return w;
}

static const float kernel_values[4] = {1, 2, 3, 4};
static const float bias_values[2] = {10, 20};
static const float scale_values[2] = {2, 0.5f};
static const float shift_values[2] = {1, -1};

/* x [1, 2, 4, 4] through a 1x1 convolution to two channels. */
static bsm_layer *add_conv(bsm_itensor *x) {
  const bsm_weights kernel =
      weights(kernel_values, (bsm_dims){4, {2, 2, 1, 1}});
  const bsm_weights bias = weights(bias_values, (bsm_dims){1, {2}});
  return bsm_network_add_convolution_nd(fx.net, x, 2, (bsm_dims){2, {1, 1}},
                                        &kernel, &bias);
}

static const bsm_dims image = {4, {1, 2, 4, 4}};

static void run_all(void) {
  bsm_status status = bsm_run_passes(fx.net, test_target(1), NULL, NULL);
  if (status) fail_msg("%s", bsm_status_message(status));
}

static size_t count_kind(bsm_layer_kind kind) {
  size_t count = 0;
  for (size_t i = 0; i < fx.net->layers.len; i++) {
    count += fx.net->layers.items[i]->kind == kind;
  }
  return count;
}

static bsm_layer *only_layer(bsm_layer_kind kind) {
  assert_int_equal(count_kind(kind), 1);
  for (size_t i = 0; i < fx.net->layers.len; i++) {
    if (fx.net->layers.items[i]->kind == kind) return fx.net->layers.items[i];
  }
  return NULL;
}

static void test_scale_and_activation_fold(void **state) {
  (void)state;
  const bsm_weights scale = weights(scale_values, (bsm_dims){1, {2}});
  const bsm_weights shift = weights(shift_values, (bsm_dims){1, {2}});
  bsm_itensor *y = out_of(add_conv(input("x", image)));
  y = out_of(bsm_network_add_scale(fx.net, y, &shift, &scale, NULL));
  mark(out_of(bsm_network_add_activation(fx.net, y, BSM_ACTIVATION_RELU)));
  run_all();
  assert_int_equal(fx.net->layers.len, 1);
  const bsm_convolution_params *p =
      &only_layer(BSM_LAYER_CONVOLUTION)->p.convolution;
  assert_int_equal(p->epilogue.activation, BSM_ACTIVATION_RELU);
  const float *k = p->kernel.values, *b = p->bias.values;
  const double expected_factor[2] = {2, 0.5};
  const float expected_bias[2] = {21, 9};
  assert_memory_equal(k, kernel_values, sizeof(kernel_values));
  assert_memory_equal(p->deferred.factor, expected_factor,
                      sizeof(expected_factor));
  assert_memory_equal(b, expected_bias, sizeof(expected_bias));
  assert_ptr_equal(fx.net->outputs.items[0],
                   only_layer(BSM_LAYER_CONVOLUTION)->outputs.items[0]);
}

static void test_scale_stays_when_read_twice(void **state) {
  (void)state;
  const bsm_weights scale = weights(scale_values, (bsm_dims){1, {2}});
  bsm_itensor *y = out_of(add_conv(input("x", image)));
  mark(out_of(bsm_network_add_scale(fx.net, y, NULL, &scale, NULL)));
  mark(y);
  run_all();
  assert_memory_equal(
      only_layer(BSM_LAYER_CONVOLUTION)->p.convolution.kernel.values,
      kernel_values, sizeof(kernel_values));
  assert_int_equal(count_kind(BSM_LAYER_FUSED_ELEMENT_WISE), 1);
}

/* relu(conv(x) + conv(y)): the first convolution moves behind the second. */
static void test_residual(void **state) {
  (void)state;
  bsm_itensor *a = out_of(add_conv(input("x", image)));
  bsm_itensor *b = out_of(add_conv(input("y", image)));
  bsm_itensor *sum =
      out_of(bsm_network_add_element_wise(fx.net, a, b, BSM_ELEMENT_WISE_SUM));
  mark(out_of(bsm_network_add_activation(fx.net, sum, BSM_ACTIVATION_RELU)));
  run_all();
  assert_int_equal(fx.net->layers.len, 2);
  const bsm_layer *last = fx.net->layers.items[1];
  assert_int_equal(last->kind, BSM_LAYER_CONVOLUTION);
  assert_true(last->p.convolution.epilogue.has_residual);
  assert_int_equal(last->p.convolution.epilogue.activation,
                   BSM_ACTIVATION_RELU);
  assert_ptr_equal(last->inputs.items[1], b);
}

/* A broadcast operand is no residual. */
static void test_broadcast_is_no_residual(void **state) {
  (void)state;
  bsm_itensor *a = out_of(add_conv(input("x", image)));
  bsm_itensor *b = input("y", (bsm_dims){4, {1, 2, 1, 1}});
  mark(
      out_of(bsm_network_add_element_wise(fx.net, a, b, BSM_ELEMENT_WISE_SUM)));
  run_all();
  assert_false(
      only_layer(BSM_LAYER_CONVOLUTION)->p.convolution.epilogue.has_residual);
  assert_int_equal(count_kind(BSM_LAYER_FUSED_ELEMENT_WISE), 1);
}

static bsm_itensor *constant(const float *values, bsm_dims dims) {
  const bsm_weights w = weights(values, dims);
  return out_of(bsm_network_add_constant(fx.net, dims, &w));
}

/* gelu(x W * 0.5 + b): scale, bias and activation all go in. */
static void test_matrix_multiply_epilogue(void **state) {
  (void)state;
  static const float half = 0.5f;
  bsm_itensor *x = input("x", (bsm_dims){2, {3, 2}});
  bsm_itensor *w = constant(kernel_values, (bsm_dims){2, {2, 2}});
  bsm_itensor *y = out_of(bsm_network_add_matrix_multiply(
      fx.net, x, BSM_MATRIX_NONE, w, BSM_MATRIX_TRANSPOSE));
  y = out_of(bsm_network_add_element_wise(
      fx.net, y, constant(&half, (bsm_dims){0}), BSM_ELEMENT_WISE_PROD));
  y = out_of(bsm_network_add_element_wise(
      fx.net, constant(bias_values, (bsm_dims){1, {2}}), y,
      BSM_ELEMENT_WISE_SUM));
  mark(out_of(bsm_network_add_activation(fx.net, y, BSM_ACTIVATION_GELU_ERF)));
  run_all();
  const bsm_layer *m = only_layer(BSM_LAYER_MATRIX_MULTIPLY);
  assert_true(m->p.matrix_multiply.scale == 0.5);
  assert_int_equal(m->p.matrix_multiply.bias.count, 2);
  assert_int_equal(m->p.matrix_multiply.epilogue.activation,
                   BSM_ACTIVATION_GELU_ERF);
  assert_int_equal(count_kind(BSM_LAYER_FUSED_ELEMENT_WISE), 0);
}

/* A factor after the bias would scale the bias too: it must stay outside. */
static void test_scale_after_bias_stays(void **state) {
  (void)state;
  static const float half = 0.5f;
  bsm_itensor *x = input("x", (bsm_dims){2, {3, 2}});
  bsm_itensor *w = constant(kernel_values, (bsm_dims){2, {2, 2}});
  bsm_itensor *y = out_of(bsm_network_add_matrix_multiply(
      fx.net, x, BSM_MATRIX_NONE, w, BSM_MATRIX_NONE));
  y = out_of(bsm_network_add_element_wise(
      fx.net, y, constant(bias_values, (bsm_dims){1, {2}}),
      BSM_ELEMENT_WISE_SUM));
  mark(out_of(bsm_network_add_element_wise(
      fx.net, y, constant(&half, (bsm_dims){0}), BSM_ELEMENT_WISE_PROD)));
  run_all();
  assert_true(only_layer(BSM_LAYER_MATRIX_MULTIPLY)->p.matrix_multiply.scale ==
              1.0);
  assert_int_equal(count_kind(BSM_LAYER_FUSED_ELEMENT_WISE), 1);
}

static void test_silu_is_recognized(void **state) {
  (void)state;
  bsm_itensor *x = input("x", image);
  bsm_itensor *gate =
      out_of(bsm_network_add_activation(fx.net, x, BSM_ACTIVATION_SIGMOID));
  mark(out_of(
      bsm_network_add_element_wise(fx.net, gate, x, BSM_ELEMENT_WISE_PROD)));
  run_all();
  const bsm_layer *f = only_layer(BSM_LAYER_FUSED_ELEMENT_WISE);
  assert_int_equal(f->p.fused_element_wise.program.len, 1);
  assert_int_equal(f->p.fused_element_wise.program.items[0].code,
                   BSM_ACTIVATION_SILU);
  assert_int_equal(f->inputs.len, 1);
}

static bsm_itensor *scalar(const float *value) {
  return constant(value, (bsm_dims){0});
}

static bsm_itensor *binary(bsm_itensor *a, bsm_itensor *b,
                           bsm_element_wise_operation operation) {
  return out_of(bsm_network_add_element_wise(fx.net, a, b, operation));
}

/* The activation that a network of one program has become, or NONE. */
static int32_t only_activation(void) {
  run_all();
  const bsm_layer *f = only_layer(BSM_LAYER_FUSED_ELEMENT_WISE);
  const bsm_ew_instruction *op = &f->p.fused_element_wise.program.items[0];
  return f->p.fused_element_wise.program.len == 1 &&
                 op->kind == BSM_EW_ACTIVATION
             ? op->code
             : BSM_ACTIVATION_NONE;
}

/* 0.5 x (1 + tanh(a (x + b x^3))), the cube as x^2 x or as a power. */
static bsm_itensor *spelled_gelu(bsm_itensor *x, const float *a, bool power) {
  static const float half = 0.5f, one = 1, three = 3, b = 0.044715f;
  bsm_itensor *cube =
      power ? binary(x, scalar(&three), BSM_ELEMENT_WISE_POW)
            : binary(out_of(bsm_network_add_unary(fx.net, x, BSM_UNARY_SQUARE)),
                     x, BSM_ELEMENT_WISE_PROD);
  bsm_itensor *t = binary(cube, scalar(&b), BSM_ELEMENT_WISE_PROD);
  t = binary(x, t, BSM_ELEMENT_WISE_SUM);
  t = binary(t, scalar(a), BSM_ELEMENT_WISE_PROD);
  t = out_of(bsm_network_add_activation(fx.net, t, BSM_ACTIVATION_TANH));
  t = binary(t, scalar(&one), BSM_ELEMENT_WISE_SUM);
  return binary(binary(x, scalar(&half), BSM_ELEMENT_WISE_PROD), t,
                BSM_ELEMENT_WISE_PROD);
}

static void test_gelu_is_recognized(void **state) {
  (void)state;
  static const float a = 0.7978845608f;
  mark(spelled_gelu(input("x", image), &a, false));
  assert_int_equal(only_activation(), BSM_ACTIVATION_GELU_TANH);
}

static void test_gelu_with_a_power_is_recognized(void **state) {
  (void)state;
  static const float a = 0.7978845608f;
  mark(spelled_gelu(input("x", image), &a, true));
  assert_int_equal(only_activation(), BSM_ACTIVATION_GELU_TANH);
}

/* A constant that is off by a thousandth makes another function. */
static void test_almost_gelu_is_not(void **state) {
  (void)state;
  static const float a = 0.7986824f;
  mark(spelled_gelu(input("x", image), &a, false));
  assert_int_equal(only_activation(), BSM_ACTIVATION_NONE);
}

/* x clip(x + 3, 0, 6) / 6 */
static void test_hard_swish_is_recognized(void **state) {
  (void)state;
  static const float three = 3, six = 6;
  bsm_itensor *x = input("x", image);
  bsm_itensor *t = binary(x, scalar(&three), BSM_ELEMENT_WISE_SUM);
  bsm_layer *clip = bsm_network_add_activation(fx.net, t, BSM_ACTIVATION_CLIP);
  bsm_activation_set_alpha(clip, 0);
  bsm_activation_set_beta(clip, 6);
  t = binary(out_of(clip), x, BSM_ELEMENT_WISE_PROD);
  mark(binary(t, scalar(&six), BSM_ELEMENT_WISE_DIV));
  assert_int_equal(only_activation(), BSM_ACTIVATION_HARD_SWISH);
}

static void test_hard_sigmoid(void **state) {
  (void)state;
  static const float three = 3, six = 6;
  bsm_itensor *x = input("x", image);
  bsm_itensor *t = binary(x, scalar(&three), BSM_ELEMENT_WISE_SUM);
  bsm_layer *clip = bsm_network_add_activation(fx.net, t, BSM_ACTIVATION_CLIP);
  bsm_activation_set_alpha(clip, 0);
  bsm_activation_set_beta(clip, 6);
  mark(binary(out_of(clip), scalar(&six), BSM_ELEMENT_WISE_DIV));
  assert_int_equal(only_activation(), BSM_ACTIVATION_HARD_SIGMOID);
}

/* A gate of another tensor is a product of two. */
static void test_a_gate_of_another_tensor_stays(void **state) {
  (void)state;
  bsm_itensor *gate = out_of(bsm_network_add_activation(
      fx.net, input("y", image), BSM_ACTIVATION_SIGMOID));
  mark(binary(input("x", image), gate, BSM_ELEMENT_WISE_PROD));
  assert_int_equal(only_activation(), BSM_ACTIVATION_NONE);
}

/* Rows flattened before a product and given back behind it: no reshape is
 * left, and what follows goes into the product. */
static void test_reshapes_of_rows_go(void **state) {
  (void)state;
  static float w[6 * 5];
  bsm_itensor *x = input("x", (bsm_dims){3, {2, 3, 6}});
  bsm_itensor *residual = input("r", (bsm_dims){3, {2, 3, 5}});
  bsm_layer *flat = bsm_network_add_shuffle(fx.net, x);
  bsm_shuffle_set_reshape_dimensions(flat, (bsm_dims){2, {6, 6}});
  bsm_itensor *y = out_of(bsm_network_add_matrix_multiply(
      fx.net, out_of(flat), BSM_MATRIX_NONE, constant(w, (bsm_dims){2, {6, 5}}),
      BSM_MATRIX_NONE));
  bsm_layer *back = bsm_network_add_shuffle(fx.net, y);
  bsm_shuffle_set_reshape_dimensions(back, (bsm_dims){3, {2, 3, 5}});
  mark(binary(out_of(back), residual, BSM_ELEMENT_WISE_SUM));
  run_all();
  assert_int_equal(count_kind(BSM_LAYER_SHUFFLE), 0);
  const bsm_layer *product = only_layer(BSM_LAYER_MATRIX_MULTIPLY);
  assert_true(product->p.matrix_multiply.epilogue.has_residual);
  assert_ptr_equal(product->inputs.items[0], x);
  assert_int_equal(product->outputs.items[0]->dims.rank, 3);
}

/* One that splits columns stays. */
static void test_a_reshape_of_columns_stays(void **state) {
  (void)state;
  static float w[6 * 6];
  bsm_itensor *x = input("x", (bsm_dims){2, {4, 6}});
  bsm_itensor *y = out_of(bsm_network_add_matrix_multiply(
      fx.net, x, BSM_MATRIX_NONE, constant(w, (bsm_dims){2, {6, 6}}),
      BSM_MATRIX_NONE));
  bsm_layer *back = bsm_network_add_shuffle(fx.net, y);
  bsm_shuffle_set_reshape_dimensions(back, (bsm_dims){3, {4, 2, 3}});
  mark(out_of(back));
  run_all();
  assert_int_equal(count_kind(BSM_LAYER_SHUFFLE), 1);
  assert_int_equal(
      only_layer(BSM_LAYER_MATRIX_MULTIPLY)->outputs.items[0]->dims.rank, 2);
}

static bsm_itensor *reshaped(bsm_itensor *x, bsm_dims dims) {
  bsm_layer *layer = bsm_network_add_shuffle(fx.net, x);
  bsm_shuffle_set_reshape_dimensions(layer, dims);
  return out_of(layer);
}

/* Batches joined before a product and split behind it, as bmm has them. */
static void batched_product(bsm_dims behind) {
  bsm_itensor *a = input("x", (bsm_dims){4, {2, 3, 4, 5}});
  bsm_itensor *b = input("y", (bsm_dims){4, {2, 3, 5, 7}});
  bsm_itensor *y = out_of(bsm_network_add_matrix_multiply(
      fx.net, reshaped(a, (bsm_dims){3, {6, 4, 5}}), BSM_MATRIX_NONE,
      reshaped(b, (bsm_dims){3, {6, 5, 7}}), BSM_MATRIX_NONE));
  mark(reshaped(y, behind));
  run_all();
}

static void test_reshapes_of_batches_go(void **state) {
  (void)state;
  batched_product((bsm_dims){4, {2, 3, 4, 7}});
  assert_int_equal(count_kind(BSM_LAYER_SHUFFLE), 0);
  const bsm_layer *product = only_layer(BSM_LAYER_MATRIX_MULTIPLY);
  assert_int_equal(product->outputs.items[0]->dims.rank, 4);
  assert_int_equal(product->inputs.items[1]->dims.rank, 4);
}

/* Split in another way, or in the rows. */
static void test_other_batches_stay(void **state) {
  (void)state;
  batched_product((bsm_dims){4, {3, 2, 4, 7}});
  assert_int_equal(count_kind(BSM_LAYER_SHUFFLE), 3);
}

static void test_split_rows_of_batches_stay(void **state) {
  (void)state;
  batched_product((bsm_dims){4, {6, 2, 2, 7}});
  assert_int_equal(count_kind(BSM_LAYER_SHUFFLE), 3);
}

/* Rows joined and dimensions of size 1 exchanged, one after the other, as
 * multi-head attention of one image does. */
static void test_moved_ones_are_reshapes(void **state) {
  (void)state;
  static float w[6 * 6];
  bsm_itensor *x = input("x", (bsm_dims){3, {1, 4, 6}});
  bsm_layer *turn = bsm_network_add_shuffle(fx.net, x);
  bsm_shuffle_set_first_transpose(turn, (bsm_dims){3, {1, 0, 2}});
  bsm_itensor *y = out_of(bsm_network_add_matrix_multiply(
      fx.net, reshaped(out_of(turn), (bsm_dims){2, {4, 6}}), BSM_MATRIX_NONE,
      constant(w, (bsm_dims){2, {6, 6}}), BSM_MATRIX_NONE));
  turn = bsm_network_add_shuffle(fx.net, reshaped(y, (bsm_dims){3, {4, 1, 6}}));
  bsm_shuffle_set_first_transpose(turn, (bsm_dims){3, {1, 0, 2}});
  mark(binary(out_of(turn), x, BSM_ELEMENT_WISE_SUM));
  run_all();
  assert_int_equal(count_kind(BSM_LAYER_SHUFFLE), 0);
  assert_true(only_layer(BSM_LAYER_MATRIX_MULTIPLY)
                  ->p.matrix_multiply.epilogue.has_residual);
}

/* sqrt(|a - b| * 2) with a diamond: one program, two inputs. */
static void test_chain_becomes_one_program(void **state) {
  (void)state;
  static const float two = 2;
  bsm_itensor *a = input("a", image), *b = input("b", image);
  bsm_itensor *d =
      out_of(bsm_network_add_element_wise(fx.net, a, b, BSM_ELEMENT_WISE_SUB));
  bsm_itensor *abs = out_of(bsm_network_add_unary(fx.net, d, BSM_UNARY_ABS));
  bsm_itensor *twice = out_of(bsm_network_add_element_wise(
      fx.net, abs, constant(&two, (bsm_dims){0}), BSM_ELEMENT_WISE_PROD));
  bsm_itensor *root =
      out_of(bsm_network_add_unary(fx.net, twice, BSM_UNARY_SQRT));
  mark(out_of(
      bsm_network_add_element_wise(fx.net, root, abs, BSM_ELEMENT_WISE_SUM)));
  run_all();
  assert_int_equal(fx.net->layers.len, 1);
  const bsm_layer *f = only_layer(BSM_LAYER_FUSED_ELEMENT_WISE);
  assert_int_equal(f->inputs.len, 2);
  assert_true(f->p.fused_element_wise.program.len >= 5);
  for (size_t i = 0; i < f->p.fused_element_wise.program.len; i++) {
    const bsm_ew_instruction *op = &f->p.fused_element_wise.program.items[i];
    assert_int_equal(op->dst, (int32_t)(2 + i));
    assert_true(op->a < op->dst && op->b < op->dst && op->c < op->dst);
  }
}

/* A small result that is broadcast is computed once, not for each element. */
static void test_smaller_program_stays_apart(void **state) {
  (void)state;
  bsm_itensor *x = input("x", image);
  bsm_itensor *s = input("s", (bsm_dims){4, {1, 2, 1, 1}});
  bsm_itensor *gate =
      out_of(bsm_network_add_activation(fx.net, s, BSM_ACTIVATION_SIGMOID));
  mark(out_of(
      bsm_network_add_element_wise(fx.net, x, gate, BSM_ELEMENT_WISE_PROD)));
  run_all();
  assert_int_equal(count_kind(BSM_LAYER_FUSED_ELEMENT_WISE), 2);
}

static void test_identities_and_dead_layers_go(void **state) {
  (void)state;
  bsm_itensor *x = input("x", image);
  bsm_itensor *y = out_of(bsm_network_add_identity(fx.net, x));
  y = out_of(bsm_network_add_cast(fx.net, y, BSM_DTYPE_FLOAT));
  assert_non_null(bsm_network_add_unary(fx.net, x, BSM_UNARY_EXP));
  mark(out_of(bsm_network_add_unary(fx.net, y, BSM_UNARY_NEG)));
  run_all();
  assert_int_equal(fx.net->layers.len, 1);
  assert_ptr_equal(fx.net->layers.items[0]->inputs.items[0], x);
}

/* What a watch sees: the passes as they are listed, and what each left. */
typedef struct seen_passes {
  size_t count;
  size_t layers_converted, layers_without_identities;
} seen_passes;

static void see_pass(void *user, const char *pass, const bsm_network *net) {
  seen_passes *seen = user;
  assert_string_equal(pass, bsm_builder_pass_name(seen->count));
  if (seen->count++ == 0) seen->layers_converted = net->layers.len;
  if (strcmp(pass, "remove_identities") == 0) {
    seen->layers_without_identities = net->layers.len;
  }
}

static void test_a_watch_sees_every_pass(void **state) {
  (void)state;
  bsm_itensor *x = input("x", image);
  bsm_itensor *y = out_of(bsm_network_add_identity(fx.net, x));
  mark(out_of(bsm_network_add_unary(fx.net, y, BSM_UNARY_NEG)));
  seen_passes seen = {0};
  const bsm_pass_watch watch = {see_pass, &seen};
  assert_null(bsm_run_passes(fx.net, test_target(1), &watch, NULL));
  assert_true(seen.count > 5);
  assert_string_equal(bsm_builder_pass_name(seen.count - 1), "optimized");
  assert_null(bsm_builder_pass_name(seen.count));
  assert_null(bsm_builder_pass_name(SIZE_MAX));
  assert_int_equal(seen.layers_converted, 2);
  assert_int_equal(seen.layers_without_identities, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_scale_and_activation_fold),
      TEST(test_scale_stays_when_read_twice),
      TEST(test_residual),
      TEST(test_broadcast_is_no_residual),
      TEST(test_matrix_multiply_epilogue),
      TEST(test_scale_after_bias_stays),
      TEST(test_silu_is_recognized),
      TEST(test_gelu_is_recognized),
      TEST(test_gelu_with_a_power_is_recognized),
      TEST(test_almost_gelu_is_not),
      TEST(test_hard_swish_is_recognized),
      TEST(test_hard_sigmoid),
      TEST(test_a_gate_of_another_tensor_stays),
      TEST(test_reshapes_of_rows_go),
      TEST(test_a_reshape_of_columns_stays),
      TEST(test_moved_ones_are_reshapes),
      TEST(test_reshapes_of_batches_go),
      TEST(test_other_batches_stay),
      TEST(test_split_rows_of_batches_stay),
      TEST(test_chain_becomes_one_program),
      TEST(test_smaller_program_stays_apart),
      TEST(test_identities_and_dead_layers_go),
      TEST(test_a_watch_sees_every_pass),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
