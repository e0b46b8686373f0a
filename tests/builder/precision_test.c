/* SPDX-License-Identifier: Apache-2.0 */
/* What layers compute in: what is allowed, what rules say, what the target has,
 * and the casts that follow. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdio.h>
#include <string.h>

#include "builder/precision.h"
#include "tests/target_kit.h"

typedef struct fixture {
  bsm_arena arena;
  bsm_network *net;
  bsm_layer *first, *second; /* products, one after the other */
  bsm_layer *relu;
  bsm_target_ops ops;
  bsm_target target;
  char warnings[2048];
  bsm_logger logger;
} fixture;

static fixture fx;

static void hear(void *user, bsm_log_level level, const char *message) {
  (void)user;
  if (level != BSM_LOG_LEVEL_WARNING) return;
  strncat(fx.warnings, message, sizeof(fx.warnings) - strlen(fx.warnings) - 1);
}

/* Products in float16 and bfloat16, the rest in float32. */
static uint32_t some(const bsm_target *target, const bsm_layer *layer) {
  (void)target;
  return layer->kind == BSM_LAYER_MATRIX_MULTIPLY
             ? BSM_PRECISION_FP32 | BSM_PRECISION_FP16 | BSM_PRECISION_BF16
         : layer->kind == BSM_LAYER_CONSTANT ? BSM_PRECISION_NONE
                                             : BSM_PRECISION_FP32;
}

static bsm_layer *product(bsm_itensor *x, const char *name, const char *scope) {
  static const float values[4] = {1, 2, 3, 4};
  const bsm_dims dims = {2, {2, 2}};
  const bsm_weights w = {
      .dtype = BSM_DTYPE_FLOAT, .values = values, .count = 4, .shape = dims};
  bsm_layer *b = bsm_network_add_constant(fx.net, dims, &w);
  bsm_layer *y = bsm_network_add_matrix_multiply(
      fx.net, x, BSM_MATRIX_NONE, bsm_layer_output(b, 0), BSM_MATRIX_NONE);
  assert_non_null(y);
  bsm_layer_set_name(y, name);
  y->scope = scope;
  return y;
}

static int set_up(void **state) {
  (void)state;
  memset(&fx, 0, sizeof(fx));
  bsm_arena_init(&fx.arena, NULL);
  assert_null(bsm_network_create(&fx.arena, NULL, &fx.net));
  bsm_itensor *x = bsm_network_add_input(fx.net, "x", BSM_DTYPE_FLOAT,
                                         (bsm_dims){2, {2, 2}});
  fx.first = product(x, "body.first", "body.0");
  fx.second = product(bsm_layer_output(fx.first, 0), "body.second", "body.10");
  fx.relu = bsm_network_add_activation(fx.net, bsm_layer_output(fx.second, 0),
                                       BSM_ACTIVATION_RELU);
  bsm_layer_set_name(fx.relu, "relu");
  assert_null(
      bsm_network_mark_output(fx.net, bsm_layer_output(fx.relu, 0), "y"));
  fx.ops = *test_target(1)->ops;
  fx.ops.precisions = some;
  fx.ops.gains = NULL;
  fx.target = *test_target(1);
  fx.target.ops = &fx.ops;
  fx.target.text = "test";
  fx.target.host = &fx.target;
  fx.logger = (bsm_logger){.write = hear, .level = BSM_LOG_LEVEL_WARNING};
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  bsm_network_release(fx.net);
  bsm_arena_destroy(&fx.arena);
  return 0;
}

static void decide(bsm_precision_policy *policy) {
  bsm_status status =
      bsm_decide_precision(policy, &fx.target, fx.net, &fx.logger);
  if (status) fail_msg("%s", bsm_status_message(status));
  status = bsm_network_verify(fx.net);
  if (status) fail_msg("%s", bsm_status_message(status));
}

static size_t count_casts(void) {
  size_t count = 0;
  for (size_t i = 0; i < fx.net->layers.len; i++) {
    count += fx.net->layers.items[i]->kind == BSM_LAYER_CAST;
  }
  return count;
}

static void test_nothing_is_asked(void **state) {
  (void)state;
  decide(NULL);
  bsm_precision_policy policy = {.allowed = BSM_PRECISION_FP32};
  decide(&policy);
  assert_int_equal(count_casts(), 0);
  assert_int_equal(bsm_layer_precision(&fx.target, fx.first),
                   BSM_PRECISION_FP32);
  assert_string_equal(fx.warnings, "");
}

/* The fastest that is allowed, and what is float16 on both sides stays it. */
static void test_the_fastest_is_taken(void **state) {
  (void)state;
  bsm_precision_policy policy = {.allowed =
                                     BSM_PRECISION_BF16 | BSM_PRECISION_FP16};
  decide(&policy);
  assert_int_equal(fx.first->precision, BSM_PRECISION_FP16);
  assert_int_equal(fx.second->precision, BSM_PRECISION_FP16);
  assert_int_equal(fx.relu->precision, BSM_PRECISION_FP32);
  assert_int_equal(fx.first->outputs.items[0]->dtype, BSM_DTYPE_HALF);
  assert_ptr_equal(fx.second->inputs.items[0], fx.first->outputs.items[0]);
  assert_int_equal(fx.relu->inputs.items[0]->dtype, BSM_DTYPE_FLOAT);
  assert_int_equal(fx.net->outputs.items[0]->dtype, BSM_DTYPE_FLOAT);
  /* Of the input, and of both results. */
  assert_int_equal(count_casts(), 3);
  assert_string_equal(fx.warnings, "");
}

/* What cancels keeps float32, though less is allowed, but not against a rule.
 */
static void test_what_cancels(void **state) {
  (void)state;
  bsm_precision_rule rule = {.pattern = "body.second",
                             .precision = BSM_PRECISION_BF16};
  bsm_precision_policy policy = {
      .allowed = BSM_PRECISION_FP16, .rules = &rule, .rule_count = 1};
  fx.first->cancels = fx.second->cancels = true;
  decide(&policy);
  assert_int_equal(fx.first->precision, BSM_PRECISION_FP32);
  assert_int_equal(fx.second->precision, BSM_PRECISION_BF16);
}

static void test_rules_go_first(void **state) {
  (void)state;
  const char *paths[] = {"body.1", "body.10"};
  bsm_precision_rule rules[] = {
      {.given = "a", .pattern = "body.*", .precision = BSM_PRECISION_FP16},
      {.given = "b",
       .paths = paths,
       .path_count = 2,
       .precision = BSM_PRECISION_BF16},
      {.given = "c", .pattern = "?ody.first", .precision = BSM_PRECISION_FP32},
      {.given = "d", .pattern = "body", .precision = BSM_PRECISION_FP16}};
  bsm_precision_policy policy = {
      .allowed = BSM_PRECISION_FP16, .rules = rules, .rule_count = 4};
  decide(&policy);
  assert_int_equal(fx.first->precision, BSM_PRECISION_FP32);
  assert_int_equal(fx.second->precision, BSM_PRECISION_BF16);
  assert_int_equal(rules[0].matched, 2);
  assert_int_equal(rules[1].matched, 1); /* body.10 is not inside body.1 */
  assert_int_equal(rules[2].matched, 1);
  assert_int_equal(rules[3].matched, 0);
}

static void test_what_the_target_has_not(void **state) {
  (void)state;
  bsm_precision_rule rule = {
      .given = "relu=fp16", .pattern = "relu", .precision = BSM_PRECISION_FP16};
  bsm_precision_policy policy = {.rules = &rule, .rule_count = 1};
  decide(&policy);
  assert_non_null(strstr(fx.warnings, "does not compute layer relu"));
  assert_non_null(strstr(fx.warnings, "it is computed in fp32"));
  policy.obey = true;
  bsm_status status =
      bsm_decide_precision(&policy, &fx.target, fx.net, &fx.logger);
  assert_int_equal(bsm_status_code(status), BSM_UNSUPPORTED);
  assert_non_null(strstr(bsm_status_message(status), "\"relu=fp16\""));
  bsm_status_free(status);
}

static void decide_for_the_cpu(const char *text, uint32_t allowed) {
  bsm_precision_policy policy = {.allowed = allowed};
  bsm_status status = bsm_decide_precision(
      &policy, test_target_of(text, 0, BSM_TARGET_ANY_ISA), fx.net, &fx.logger);
  assert_null(status);
}

/* The CPU has nothing beside float32 but what is stored in 16 bits, and says
 * so. */
static void test_the_cpu(void **state) {
  (void)state;
  decide_for_the_cpu("cpu:amx", BSM_PRECISION_TF32);
  assert_int_equal(count_casts(), 0);
  assert_int_equal(fx.first->precision, BSM_PRECISION_FP32);
  assert_non_null(strstr(fx.warnings, "precision tf32 is allowed"));
  assert_non_null(strstr(fx.warnings, "3 layers are computed in fp32"));
}

/* Casts stand before and behind products by constants and what follows them;
 * what reads two tensors, and its neighbours, stay in float32. */
static void test_half_on_the_cpu(void **state) {
  (void)state;
  bsm_itensor *relu = bsm_layer_output(fx.relu, 0);
  bsm_layer *scores = bsm_network_add_matrix_multiply(
      fx.net, relu, BSM_MATRIX_NONE, relu, BSM_MATRIX_TRANSPOSE);
  bsm_layer *softmax =
      bsm_network_add_softmax(fx.net, bsm_layer_output(scores, 0), 1, false);
  assert_null(
      bsm_network_mark_output(fx.net, bsm_layer_output(softmax, 0), "z"));
  decide_for_the_cpu("cpu:amx", BSM_PRECISION_BF16);
  assert_ptr_equal(fx.second->inputs.items[0], fx.first->outputs.items[0]);
  assert_int_equal(fx.first->precision, BSM_PRECISION_BF16);
  assert_int_equal(fx.second->precision, BSM_PRECISION_BF16);
  assert_int_equal(fx.relu->precision, BSM_PRECISION_BF16);
  assert_int_equal(fx.second->outputs.items[0]->dtype, BSM_DTYPE_BFLOAT16);
  assert_int_equal(scores->precision, BSM_PRECISION_FP32);
  assert_int_equal(softmax->precision, BSM_PRECISION_FP32);
  assert_string_equal(fx.warnings, "");
}

/* Without tiles nothing is faster in bfloat16 but what reads a constant that no
 * cache holds, by instructions for pairs. */
static void test_bfloat_without_tiles(void **state) {
  static const char *const targets[] = {"cpu:scalar", "cpu:avx2", "cpu:avx512",
                                        "cpu:neon", "cpu:avx512_bf16"};
  (void)state;
  for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
    fx.warnings[0] = 0;
    decide_for_the_cpu(targets[i], BSM_PRECISION_BF16);
    assert_int_equal(count_casts(), 0);
    assert_int_equal(fx.second->precision, BSM_PRECISION_FP32);
    assert_non_null(strstr(fx.warnings, "bf16 is not faster on the target"));
  }
}

static bsm_precision large_precision(const char *target, int64_t rows) {
  static float values[512 * 600];
  const bsm_dims dims = {3, {1, 512, 600}};
  const bsm_weights w = {.dtype = BSM_DTYPE_FLOAT,
                         .values = values,
                         .count = 512 * 600,
                         .shape = dims};
  char name[24];
  snprintf(name, sizeof(name), "rows%d", (int)rows);
  bsm_itensor *x = bsm_network_add_input(fx.net, name, BSM_DTYPE_FLOAT,
                                         (bsm_dims){3, {1, rows, 512}});
  bsm_layer *b = bsm_network_add_constant(fx.net, dims, &w);
  bsm_layer *y = bsm_network_add_matrix_multiply(
      fx.net, x, BSM_MATRIX_NONE, bsm_layer_output(b, 0), BSM_MATRIX_NONE);
  assert_non_null(y);
  decide_for_the_cpu(target, BSM_PRECISION_BF16);
  return y->precision;
}

static void test_bfloat_of_few_rows(void **state) {
  static const char small[] = "cpu:avx512_bf16,l2=1M";
  (void)state;
  assert_int_equal(large_precision(small, 5), BSM_PRECISION_FP32);
  assert_int_equal(large_precision("cpu:avx512_bf16,l2=2M", 1),
                   BSM_PRECISION_FP32);
  assert_int_equal(large_precision("cpu:avx512,l2=1M", 2), BSM_PRECISION_FP32);
  assert_int_equal(large_precision(small, 4), BSM_PRECISION_BF16);
}

static bool gains_in_part(const bsm_target *target, const bsm_layer *layer,
                          bsm_precision precision) {
  (void)target;
  return precision != BSM_PRECISION_FP16 || layer == fx.second;
}

/* A precision that is slower for a layer is not taken for it, and is told,
 * unless memory is what counts; rules are followed anyway. */
static void test_what_is_slower(void **state) {
  (void)state;
  fx.ops.gains = gains_in_part;
  bsm_precision_policy policy = {.allowed = BSM_PRECISION_FP16};
  decide(&policy);
  assert_int_equal(fx.first->precision, BSM_PRECISION_FP32);
  assert_int_equal(fx.second->precision, BSM_PRECISION_FP16);
  assert_non_null(strstr(fx.warnings, "fp16 is not faster on the target"));
}

static void test_what_is_smaller(void **state) {
  (void)state;
  fx.ops.gains = gains_in_part;
  bsm_precision_policy policy = {.allowed = BSM_PRECISION_FP16,
                                 .narrows = true};
  decide(&policy);
  assert_int_equal(fx.first->precision, BSM_PRECISION_FP16);
  assert_string_equal(fx.warnings, "");
}

static uint32_t all(const bsm_target *target, const bsm_layer *layer) {
  (void)target;
  (void)layer;
  return BSM_PRECISION_FP32 | BSM_PRECISION_FP16;
}

/* A kernel that is narrowed when it is packed keeps the factor that a scale has
 * left with it; a scale that stays is narrowed as other layers are. */
static void test_scaled_kernels(void **state) {
  (void)state;
  static float kernel[16 * 16 * 9], factors[16];
  static const double factor[16] = {2};
  bsm_itensor *x = bsm_network_add_input(fx.net, "image", BSM_DTYPE_FLOAT,
                                         (bsm_dims){4, {1, 16, 4, 4}});
  const bsm_weights w = {.dtype = BSM_DTYPE_FLOAT,
                         .values = kernel,
                         .count = 16 * 16 * 9,
                         .shape = {4, {16, 16, 3, 3}}};
  const bsm_weights by = {.dtype = BSM_DTYPE_FLOAT,
                          .values = factors,
                          .count = 16,
                          .shape = {1, {16}}};
  bsm_layer *convolution = bsm_network_add_convolution_nd(
      fx.net, x, 16, (bsm_dims){2, {3, 3}}, &w, NULL);
  assert_non_null(convolution);
  convolution->p.convolution.deferred.factor = factor;
  bsm_layer *scale = bsm_network_add_scale(
      fx.net, bsm_layer_output(convolution, 0), NULL, &by, NULL);
  assert_non_null(scale);
  assert_null(bsm_network_mark_output(fx.net, bsm_layer_output(scale, 0), "z"));
  fx.ops.precisions = all;
  bsm_precision_policy policy = {.allowed = BSM_PRECISION_FP16};
  decide(&policy);
  const bsm_convolution_params *p = &convolution->p.convolution;
  assert_ptr_equal(p->deferred.factor, factor);
  assert_true(p->deferred.cast);
  assert_int_equal(p->deferred.held, BSM_DTYPE_FLOAT);
  assert_int_equal(p->kernel.dtype, BSM_DTYPE_HALF);
  assert_int_equal(scale->p.scale.scale.dtype, BSM_DTYPE_HALF);
  assert_ptr_equal(scale->inputs.items[0], convolution->outputs.items[0]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_nothing_is_asked),
      TEST(test_the_fastest_is_taken),
      TEST(test_what_is_slower),
      TEST(test_what_is_smaller),
      TEST(test_what_cancels),
      TEST(test_rules_go_first),
      TEST(test_what_the_target_has_not),
      TEST(test_the_cpu),
      TEST(test_half_on_the_cpu),
      TEST(test_bfloat_without_tiles),
      TEST(test_bfloat_of_few_rows),

      TEST(test_scaled_kernels),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
