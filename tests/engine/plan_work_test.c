/* SPDX-License-Identifier: Apache-2.0 */
/* The work of steps: counted by hand for small ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/plan_work.h"

/* A plan of one step over up to four tensors; the last is the output. */
typedef struct sample {
  bsm_plan plan;
  bsm_plan_step step;
  bsm_step_params params;
  bsm_plan_tensor tensors[4];
  bsm_plan_weights weights[2];
  uint32_t ids[4];
} sample;

static void start(sample *s, bsm_step_kind kind) {
  *s = (sample){.step = {.kind = kind}};
  for (int i = 0; i < BSM_STEP_MAX_WEIGHTS; i++) {
    s->step.weights[i] = BSM_NO_WEIGHTS;
  }
  s->plan.tensors = s->tensors;
  s->plan.weights = s->weights;
  s->step.params = &s->params;
  s->step.inputs = s->ids;
}

/* The next tensor, contiguous; the last one added becomes the output. */
static bsm_plan_tensor *add(sample *s, bsm_dims dims) {
  const uint32_t id = s->plan.tensor_count++;
  bsm_plan_tensor *t = &s->tensors[id];
  *t = (bsm_plan_tensor){.dtype = BSM_DTYPE_FLOAT, .dims = dims};
  int64_t stride = 1;
  for (int32_t i = dims.rank - 1; i >= 0; i--) {
    t->strides[i] = stride;
    stride *= dims.d[i];
  }
  s->ids[id] = id;
  s->step.input_count = id;
  s->step.outputs = &s->ids[id];
  s->step.output_count = 1;
  return t;
}

static void add_weights(sample *s, uint64_t size) {
  const uint32_t id = s->plan.weights_count++;
  s->weights[id].size = size;
  s->step.weights[id] = id;
}

static void expect(const sample *s, double flops, double bytes) {
  const bsm_work work = bsm_step_work(&s->plan, &s->step);
  assert_true(work.flops >= flops && work.flops <= flops);
  assert_true(work.bytes >= bytes && work.bytes <= bytes);
}

static bsm_step_window window(int64_t height, int64_t width) {
  return (bsm_step_window){.spatial = 2, .kernel = {1, height, width}};
}

static void test_convolution(void **state) {
  (void)state;
  sample s;
  start(&s, BSM_STEP_CONVOLUTION);
  s.params.convolution.window = window(3, 2);
  s.params.convolution.groups = 2;
  s.params.convolution.out_maps = 4;
  add(&s, (bsm_dims){4, {1, 6, 5, 5}});
  add(&s, (bsm_dims){4, {1, 4, 3, 4}});
  add_weights(&s, 320);
  add_weights(&s, 16);
  /* 48 outputs, each a sum over 3 maps of 3 x 2. */
  expect(&s, 48 * 18 * 2, 150 * 4 + 48 * 4 + 336);
  s.step.kind = BSM_STEP_DECONVOLUTION;
  /* 150 inputs, each spread over 2 maps of 3 x 2. */
  expect(&s, 150 * 12 * 2, 150 * 4 + 48 * 4 + 336);
}

static void test_matrix_multiply(void **state) {
  (void)state;
  sample s;
  start(&s, BSM_STEP_MATRIX_MULTIPLY);
  add(&s, (bsm_dims){3, {2, 3, 5}});
  bsm_plan_tensor *b = add(&s, (bsm_dims){3, {2, 5, 7}});
  b->strides[0] = 0; /* both batches read one matrix */
  add(&s, (bsm_dims){3, {2, 3, 7}});
  expect(&s, 2 * 42 * 5, 4 * (30 + 35 + 42));
}

static void test_recurrent(void **state) {
  (void)state;
  sample s;
  start(&s, BSM_STEP_RECURRENT);
  s.params.recurrent = (bsm_step_recurrent){.operation = BSM_RECURRENT_LSTM,
                                            .directions = 2,
                                            .input = 3,
                                            .hidden = 4};
  add(&s, (bsm_dims){3, {6, 2, 3}});
  add(&s, (bsm_dims){3, {6, 2, 8}});
  /* 12 samples, 2 directions, 4 gates of 4 units over 3 + 4 numbers. */
  expect(&s, 12 * 2 * (2 * 16 * 7), 4 * (36 + 96));
  s.params.recurrent.projection = 2;
  expect(&s, 12 * 2 * 2 * (16 * 5 + 8), 4 * (36 + 96));
}

static void test_attention(void **state) {
  (void)state;
  sample s;
  start(&s, BSM_STEP_ATTENTION);
  add(&s, (bsm_dims){3, {2, 5, 3}});
  add(&s, (bsm_dims){3, {2, 7, 3}});
  add(&s, (bsm_dims){3, {2, 7, 4}});
  add(&s, (bsm_dims){3, {2, 5, 4}});
  /* 70 scores: sums over 3, a softmax, and their part of 4 sums. */
  expect(&s, 70 * (2 * 3 + 5 + 2 * 4), 4 * (30 + 42 + 56 + 40));
}

static void test_others(void **state) {
  (void)state;
  sample s;
  start(&s, BSM_STEP_POOLING);
  s.params.pooling.window = window(2, 2);
  add(&s, (bsm_dims){4, {1, 3, 4, 4}});
  add(&s, (bsm_dims){4, {1, 3, 2, 2}});
  expect(&s, 12 * 4, 4 * (48 + 12));
  start(&s, BSM_STEP_ELEMENT_WISE);
  s.params.element_wise.instruction_count = 3;
  s.params.element_wise.program[1].kind = BSM_STEP_EW_CONSTANT;
  bsm_plan_tensor *row = add(&s, (bsm_dims){2, {4, 8}});
  row->strides[0] = 0;
  add(&s, (bsm_dims){2, {4, 8}});
  expect(&s, 2 * 32, 4 * (8 + 32));
  /* A table of 1000 rows of which two are taken. */
  start(&s, BSM_STEP_GATHER);
  add(&s, (bsm_dims){2, {1000, 8}});
  add(&s, (bsm_dims){1, {2}});
  add(&s, (bsm_dims){2, {2, 8}});
  expect(&s, 0, 4 * (16 + 2 + 16));
}

/* Numbers that only a hostile file has: any result, no crash. */
static void test_hostile(void **state) {
  (void)state;
  for (int kind = 0; kind < 32; kind++) {
    sample s;
    start(&s, (bsm_step_kind)kind);
    for (size_t i = 0; i < sizeof(s.params); i++) {
      ((uint8_t *)&s.params)[i] = 0x7f;
    }
    bsm_work work = bsm_step_work(&s.plan, &s.step);
    assert_true(work.bytes >= 0 && work.bytes <= 0);
    add(&s, (bsm_dims){0, {0}});
    s.tensors[0].dims.rank = -1;
    add(&s, (bsm_dims){2, {INT32_MAX, INT32_MAX}});
    s.step.weights[0] = 7;
    work = bsm_step_work(&s.plan, &s.step);
    assert_true(work.bytes >= 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_convolution),
      cmocka_unit_test(test_matrix_multiply),
      cmocka_unit_test(test_recurrent),
      cmocka_unit_test(test_attention),
      cmocka_unit_test(test_others),
      cmocka_unit_test(test_hostile),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
