/* SPDX-License-Identifier: Apache-2.0 */
/* The checks that all devices share: a good step of each kind passes, and each
 * single change that makes it wrong is refused. No device is there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "aten/tensor.h"
#include "backend/checks/checks.h"

#define TENSORS 6

/* A plan of one step: inputs first, then outputs. */
typedef struct fixture {
  bsm_plan plan;
  bsm_plan_step step;
  bsm_step_params params;
  bsm_plan_tensor tensors[TENSORS];
  bsm_plan_weights weights[2];
  uint32_t ids[TENSORS];
} fixture;

static void start(fixture *f, bsm_step_kind kind) {
  memset(f, 0, sizeof(*f));
  f->plan.tensors = f->tensors;
  f->plan.steps = &f->step;
  f->plan.step_count = 1;
  f->plan.weights = f->weights;
  f->step.kind = kind;
  f->step.name = "step";
  f->step.tactic = "";
  f->step.params = &f->params;
  f->step.inputs = f->ids;
  f->step.outputs = f->ids;
  for (int i = 0; i < BSM_STEP_MAX_WEIGHTS; i++) {
    f->step.weights[i] = BSM_NO_WEIGHTS;
  }
}

static bsm_plan_tensor *add(fixture *f, bool output, bsm_dtype dtype, int rank,
                            ...) {
  const uint32_t id = f->plan.tensor_count++;
  bsm_plan_tensor *t = &f->tensors[id];
  va_list sizes;
  assert_true(id < TENSORS);
  t->dtype = dtype;
  t->name = "t";
  t->dims.rank = rank;
  t->place = output ? BSM_PLACE_OUTPUT : BSM_PLACE_INPUT;
  va_start(sizes, rank);
  for (int i = 0; i < rank; i++) t->dims.d[i] = va_arg(sizes, int);
  va_end(sizes);
  bsm_contiguous_strides(t->dims, t->strides);
  f->ids[id] = id;
  if (output) {
    f->step.output_count++;
  } else {
    f->step.input_count++;
    f->step.outputs = f->ids + f->step.input_count;
  }
  return t;
}

static void add_bias(fixture *f, uint64_t size) {
  f->plan.weights_count = 2;
  f->weights[1].size = size;
  f->step.weights[1] = 1;
}

static bsm_status check_kind(const fixture *f) {
  const bsm_plan *p = &f->plan;
  const bsm_plan_step *s = &f->step;
  const bsm_dtype dtype = bsm_step_output(p, s, 0)->dtype;
  switch (s->kind) {
    case BSM_STEP_ELEMENT_WISE:
      return bsm_check_element_wise(p, s);
    case BSM_STEP_COPY:
      return bsm_check_copy(p, s);
    case BSM_STEP_FILL:
      return bsm_check_fill(p, s);
    case BSM_STEP_CONVOLUTION:
      return bsm_check_convolution(p, s, dtype, false);
    case BSM_STEP_DECONVOLUTION:
      return bsm_check_convolution(p, s, dtype, true);
    case BSM_STEP_POOLING:
      return bsm_check_pooling(p, s);
    case BSM_STEP_MATRIX_MULTIPLY:
      return bsm_check_matrices(p, s, dtype);
    case BSM_STEP_ATTENTION:
      return bsm_check_attention(p, s, dtype);
    case BSM_STEP_SOFTMAX:
      return bsm_check_softmax(p, s);
    case BSM_STEP_NORMALIZATION:
      return bsm_check_normalization(p, s);
    case BSM_STEP_REDUCE:
      return bsm_check_reduce(p, s);
    case BSM_STEP_TOP_K:
      return bsm_check_top_k(p, s);
    case BSM_STEP_SCAN:
      return bsm_check_scan(p, s);
    case BSM_STEP_NON_ZERO:
      return bsm_check_non_zero(p, s);
    case BSM_STEP_NMS:
      return bsm_check_nms(p, s);
    case BSM_STEP_REGIONS:
      return bsm_check_regions(p, s);
    case BSM_STEP_GATHER:
      return bsm_check_gather(p, s);
    case BSM_STEP_SCATTER:
      return bsm_check_scatter(p, s);
    case BSM_STEP_PAD:
      return bsm_check_pad(p, s);
    case BSM_STEP_RESIZE:
      return bsm_check_resize(p, s);
    case BSM_STEP_SAMPLE:
      return bsm_check_sample(p, s);
    default:
      return BSM_OK;
  }
}

static bsm_status check(const fixture *f) {
  bsm_status status = bsm_check_step(&f->plan, &f->step);
  return status ? status : check_kind(f);
}

static void expect_good(const fixture *f) {
  bsm_status status = check(f);
  if (status) fail_msg("%s", bsm_status_message(status));
}

static void expect_bad(const fixture *f, const char *change) {
  bsm_status status = check(f);
  if (bsm_status_code(status) != BSM_CORRUPT) {
    fail_msg("%s: %s", change, bsm_status_message(status));
  }
  assert_true(strlen(bsm_status_message(status)) > 5);
  bsm_status_free(status);
}

/* The step with one change is refused, and good again without it. */
#define BAD(f, place, value)            \
  do {                                  \
    __typeof__(place) kept_ = place;    \
    place = (value);                    \
    expect_bad(f, #place " = " #value); \
    place = kept_;                      \
    expect_good(f);                     \
  } while (0)

static void test_all_steps(void **state) {
  fixture f;
  (void)state;
  start(&f, BSM_STEP_COPY);
  bsm_plan_tensor *x = add(&f, false, BSM_DTYPE_FLOAT, 2, 3, 4);
  bsm_plan_tensor *y = add(&f, true, BSM_DTYPE_FLOAT, 2, 3, 4);
  expect_good(&f);
  BAD(&f, f.step.params, NULL);
  BAD(&f, f.step.output_count, 0u);
  BAD(&f, x->dims.rank, -1);
  BAD(&f, x->dims.rank, BSM_MAX_RANK + 1);
  BAD(&f, x->dims.d[0], -1);
  BAD(&f, x->dims.d[0], (int64_t)1 << 60);
  BAD(&f, x->strides[1], -1);
  BAD(&f, x->dtype, (bsm_dtype)77);
  BAD(&f, y->place, BSM_PLACE_INPUT);
  BAD(&f, y->place, BSM_PLACE_WEIGHTS);
  BAD(&f, y->strides[0], 3); /* elements share a place */
  BAD(&f, y->strides[0], INT64_MAX / 2);
  x->dtype = y->dtype = BSM_DTYPE_COMPLEX_FLOAT; /* moved, not computed with */
  expect_good(&f);
  BAD(&f, y->dtype, BSM_DTYPE_FLOAT);
}

static void test_elements(void **state) {
  fixture f;
  (void)state;
  start(&f, BSM_STEP_COPY);
  bsm_plan_tensor *x = add(&f, false, BSM_DTYPE_FLOAT, 2, 3, 4);
  add(&f, true, BSM_DTYPE_HALF, 2, 3, 4);
  expect_good(&f);
  BAD(&f, x->dims.d[1], 1);
  start(&f, BSM_STEP_FILL);
  add(&f, true, BSM_DTYPE_FLOAT, 1, 5);
  expect_good(&f);
  start(&f, BSM_STEP_ELEMENT_WISE);
  bsm_plan_tensor *a = add(&f, false, BSM_DTYPE_FLOAT, 2, 3, 4);
  bsm_plan_tensor *b = add(&f, false, BSM_DTYPE_INT64, 1, 4);
  add(&f, true, BSM_DTYPE_FLOAT, 2, 3, 4);
  bsm_step_element_wise *p = &f.params.element_wise;
  bsm_step_ew_instruction *i = &p->program[0];
  p->instruction_count = 1;
  p->result = 2;
  *i = (bsm_step_ew_instruction){.kind = BSM_STEP_EW_BINARY,
                                 .code = BSM_ELEMENT_WISE_SUM,
                                 .dst = 2,
                                 .a = 0,
                                 .b = 1,
                                 .dtype = BSM_DTYPE_FLOAT};
  expect_good(&f);
  BAD(&f, a->dims.d[0], 2);
  BAD(&f, b->dims.d[0], 3);
  BAD(&f, p->instruction_count, -1);
  BAD(&f, p->instruction_count, BSM_EW_MAX_INSTRUCTIONS + 1);
  BAD(&f, p->result, 3);
  BAD(&f, p->result, -1);
  BAD(&f, p->result, BSM_EW_MAX_REGISTERS);
  BAD(&f, i->kind, 9);
  BAD(&f, i->code, -1);
  BAD(&f, i->code, BSM_ELEMENT_WISE_SHIFT_RIGHT + 1);
  BAD(&f, i->dst, BSM_EW_MAX_REGISTERS);
  BAD(&f, i->a, 5);
  BAD(&f, i->b, -1);
  BAD(&f, i->dtype, BSM_DTYPE_COMPLEX_FLOAT);
}

static void set_window(bsm_step_window *w) {
  *w = (bsm_step_window){.spatial = 2,
                         .kernel = {1, 3, 3},
                         .stride = {1, 1, 1},
                         .dilation = {1, 1, 1},
                         .pre_padding = {0, 1, 1},
                         .post_padding = {0, 1, 1}};
}

static void test_convolution(void **state) {
  fixture f;
  (void)state;
  start(&f, BSM_STEP_CONVOLUTION);
  bsm_plan_tensor *x = add(&f, false, BSM_DTYPE_HALF, 4, 2, 8, 5, 6);
  bsm_plan_tensor *r = add(&f, false, BSM_DTYPE_HALF, 4, 2, 12, 5, 6);
  bsm_plan_tensor *y = add(&f, true, BSM_DTYPE_HALF, 4, 2, 12, 5, 6);
  bsm_step_convolution *p = &f.params.convolution;
  *p = (bsm_step_convolution){
      .groups = 4, .out_maps = 12, .epilogue = {.has_residual = 1}};
  set_window(&p->window);
  add_bias(&f, 24);
  expect_good(&f);
  BAD(&f, p->groups, 0);
  BAD(&f, p->groups, 3);
  BAD(&f, p->out_maps, 13);
  BAD(&f, p->epilogue.activation, 99);
  BAD(&f, p->epilogue.has_residual, 0);
  BAD(&f, p->window.spatial, 3);
  BAD(&f, p->window.kernel[1], 0);
  BAD(&f, p->window.kernel[1], 4);
  BAD(&f, p->window.kernel[0], 2); /* of a dimension that is not there */
  BAD(&f, p->window.stride[2], 0);
  BAD(&f, p->window.stride[2], 2);
  BAD(&f, p->window.dilation[2], 0);
  BAD(&f, p->window.pre_padding[1], -1);
  BAD(&f, p->window.post_padding[1], (int64_t)1 << 40);
  BAD(&f, x->dims.d[0], 3);
  BAD(&f, x->dims.d[1], 9);
  BAD(&f, x->dtype, BSM_DTYPE_FLOAT);
  BAD(&f, y->dims.d[3], 7);
  BAD(&f, r->dims.d[3], 7);
  BAD(&f, r->dtype, BSM_DTYPE_FLOAT);
  BAD(&f, f.weights[1].size, 23u);
  BAD(&f, f.step.weights[1], 2u);
}

static void test_pooling(void **state) {
  fixture f;
  (void)state;
  start(&f, BSM_STEP_POOLING);
  bsm_plan_tensor *x = add(&f, false, BSM_DTYPE_FLOAT, 4, 2, 8, 5, 6);
  bsm_plan_tensor *y = add(&f, true, BSM_DTYPE_FLOAT, 4, 2, 8, 5, 6);
  bsm_step_pooling *p = &f.params.pooling;
  set_window(&p->window);
  expect_good(&f);
  BAD(&f, p->type, 2);
  BAD(&f, x->dims.d[1], 7);
  BAD(&f, y->dims.d[2], 7);
  p->adaptive = 1;
  y->dims.d[2] = y->dims.d[3] = 2;
  bsm_contiguous_strides(y->dims, y->strides);
  expect_good(&f);
  BAD(&f, x->dims.d[2], 0);
}

static void test_matrices(void **state) {
  fixture f;
  (void)state;
  start(&f, BSM_STEP_MATRIX_MULTIPLY);
  bsm_plan_tensor *a = add(&f, false, BSM_DTYPE_FLOAT, 3, 2, 3, 4);
  bsm_plan_tensor *b = add(&f, false, BSM_DTYPE_FLOAT, 2, 4, 5);
  bsm_plan_tensor *c = add(&f, true, BSM_DTYPE_FLOAT, 3, 2, 3, 5);
  bsm_step_matrix_multiply *p = &f.params.matrix_multiply;
  p->scale = 1;
  add_bias(&f, 20);
  expect_good(&f);
  BAD(&f, a->dims.d[0], 3);
  BAD(&f, a->dims.d[2], 3);
  BAD(&f, a->dims.rank, 1);
  BAD(&f, b->dims.d[1], 4);
  BAD(&f, b->dtype, BSM_DTYPE_HALF);
  BAD(&f, c->strides[2], 2);
  BAD(&f, p->epilogue.activation, -1);
  BAD(&f, p->epilogue.has_residual, 1);
  BAD(&f, p->constant_b, 1);
  BAD(&f, f.weights[1].size, 16u);
}

static void test_attention(void **state) {
  fixture f;
  (void)state;
  start(&f, BSM_STEP_ATTENTION);
  bsm_plan_tensor *q = add(&f, false, BSM_DTYPE_HALF, 3, 2, 3, 4);
  bsm_plan_tensor *k = add(&f, false, BSM_DTYPE_HALF, 3, 2, 5, 4);
  bsm_plan_tensor *v = add(&f, false, BSM_DTYPE_HALF, 3, 2, 5, 6);
  bsm_plan_tensor *m = add(&f, false, BSM_DTYPE_BOOL, 3, 2, 3, 5);
  bsm_plan_tensor *y = add(&f, true, BSM_DTYPE_HALF, 3, 2, 3, 6);
  bsm_step_attention *p = &f.params.attention;
  p->mask = BSM_ATTENTION_KEEP;
  expect_good(&f);
  BAD(&f, p->mask, 3);
  BAD(&f, p->mask, BSM_ATTENTION_NO_MASK);
  BAD(&f, p->biases, -1);
  BAD(&f, p->biases, 1);
  BAD(&f, q->dims.d[2], 3);
  BAD(&f, k->dims.d[1], 4);
  BAD(&f, k->dims.rank, 2);
  BAD(&f, k->strides[1], 0); /* keys share a place */
  BAD(&f, v->dims.d[2], 5);
  BAD(&f, m->dtype, BSM_DTYPE_HALF);
  BAD(&f, m->dims.d[2], 4);
  BAD(&f, y->dims.d[0], 1);
}

static void test_rows(void **state) {
  fixture f;
  (void)state;
  start(&f, BSM_STEP_SOFTMAX);
  bsm_plan_tensor *x = add(&f, false, BSM_DTYPE_FLOAT, 2, 3, 4);
  bsm_plan_tensor *y = add(&f, true, BSM_DTYPE_HALF, 2, 3, 4);
  f.params.softmax.axis = 1;
  expect_good(&f);
  BAD(&f, f.params.softmax.axis, 2);
  BAD(&f, f.params.softmax.axis, -1);
  BAD(&f, x->dtype, BSM_DTYPE_INT64);
  BAD(&f, y->dims.d[1], 1);
  start(&f, BSM_STEP_NORMALIZATION);
  x = add(&f, false, BSM_DTYPE_FLOAT, 2, 6, 4);
  bsm_plan_tensor *scale = add(&f, false, BSM_DTYPE_FLOAT, 1, 4);
  add(&f, true, BSM_DTYPE_FLOAT, 2, 6, 4);
  f.params.normalization =
      (bsm_step_normalization){.axes = 2, .has_scale = 1, .groups = 1};
  expect_good(&f);
  BAD(&f, f.params.normalization.axes, 4u);
  BAD(&f, f.params.normalization.groups, 0);
  BAD(&f, f.params.normalization.groups, 3); /* axis 1 has 4 */
  BAD(&f, f.params.normalization.has_bias, 1);
  BAD(&f, scale->dims.d[0], 3);
  BAD(&f, scale->dtype, BSM_DTYPE_INT32);
  start(&f, BSM_STEP_REDUCE);
  x = add(&f, false, BSM_DTYPE_FLOAT, 2, 3, 4);
  y = add(&f, true, BSM_DTYPE_FLOAT, 1, 3);
  f.params.reduce.axes = 2;
  expect_good(&f);
  BAD(&f, f.params.reduce.operation, 99);
  BAD(&f, f.params.reduce.axes, 4u);
  BAD(&f, f.params.reduce.axes, 1u);
  BAD(&f, f.params.reduce.keep_dims, 1);
  start(&f, BSM_STEP_TOP_K);
  x = add(&f, false, BSM_DTYPE_FLOAT, 2, 3, 4);
  y = add(&f, true, BSM_DTYPE_FLOAT, 2, 3, 2);
  bsm_plan_tensor *i = add(&f, true, BSM_DTYPE_INT64, 2, 3, 2);
  f.params.top_k = (bsm_step_top_k){.axis = 1, .k = 2};
  expect_good(&f);
  BAD(&f, f.params.top_k.k, 5);
  BAD(&f, f.params.top_k.k, -1);
  BAD(&f, f.params.top_k.axis, 2);
  BAD(&f, i->dtype, BSM_DTYPE_INT32);
  BAD(&f, y->dtype, BSM_DTYPE_HALF);
  start(&f, BSM_STEP_SCAN);
  x = add(&f, false, BSM_DTYPE_FLOAT, 2, 3, 4);
  y = add(&f, true, BSM_DTYPE_FLOAT, 2, 3, 4);
  f.params.scan = (bsm_step_scan){.axis = 1};
  expect_good(&f);
  BAD(&f, f.params.scan.operation, BSM_SCAN_MAX);
  BAD(&f, f.params.scan.operation, 5);
  BAD(&f, f.params.scan.operation, -1);
  BAD(&f, f.params.scan.axis, 2);
  BAD(&f, y->dtype, BSM_DTYPE_HALF);
  BAD(&f, y->dims.d[1], 5);
  f.params.scan.operation = BSM_SCAN_MIN;
  i = add(&f, true, BSM_DTYPE_INT64, 2, 3, 4);
  expect_good(&f);
  BAD(&f, i->dtype, BSM_DTYPE_INT32);
  BAD(&f, i->dims.d[0], 2);
  f.params.scan.operation = BSM_SCAN_LOG_SUM_EXP;
  f.step.output_count = 1;
  expect_good(&f);
  x->dtype = y->dtype = BSM_DTYPE_INT32;
  expect_bad(&f, "integers");
  start(&f, BSM_STEP_NON_ZERO);
  x = add(&f, false, BSM_DTYPE_FLOAT, 2, 3, 4);
  y = add(&f, true, BSM_DTYPE_INT64, 1, 12);
  expect_good(&f);
  BAD(&f, y->dims.d[0], 11);
  BAD(&f, y->dtype, BSM_DTYPE_INT32);
  BAD(&f, y->strides[0], 2);
  BAD(&f, x->strides[0], 5);
  start(&f, BSM_STEP_NMS);
  x = add(&f, false, BSM_DTYPE_FLOAT, 2, 3, 4);
  y = add(&f, true, BSM_DTYPE_BOOL, 1, 3);
  expect_good(&f);
  BAD(&f, y->dims.d[0], 4);
  BAD(&f, y->dtype, BSM_DTYPE_UINT8);
  BAD(&f, x->dims.d[1], 5);
  BAD(&f, x->dtype, BSM_DTYPE_INT64);
  BAD(&f, x->strides[0], 5);
}

static void test_regions(void **state) {
  fixture f;
  (void)state;
  start(&f, BSM_STEP_REGIONS);
  bsm_plan_tensor *x = add(&f, false, BSM_DTYPE_FLOAT, 4, 2, 12, 5, 6);
  bsm_plan_tensor *r = add(&f, false, BSM_DTYPE_DOUBLE, 2, 3, 5);
  bsm_plan_tensor *y = add(&f, true, BSM_DTYPE_FLOAT, 4, 3, 12, 2, 3);
  bsm_step_regions *p = &f.params.regions;
  *p = (bsm_step_regions){.scale = 1, .dtype = BSM_DTYPE_FLOAT};
  expect_good(&f);
  BAD(&f, p->samples, 257);
  BAD(&f, p->dtype, BSM_DTYPE_INT32);
  BAD(&f, p->dtype, -1);
  BAD(&f, p->grouped, 1);
  BAD(&f, p->whole, 1);
  BAD(&f, x->dtype, BSM_DTYPE_HALF);
  BAD(&f, x->dims.rank, 3);
  BAD(&f, r->dtype, BSM_DTYPE_FLOAT);
  BAD(&f, r->dims.d[1], 4);
  BAD(&f, r->strides[0], 6);
  BAD(&f, y->dims.d[0], 4);
  BAD(&f, y->dims.d[1], 11);
  BAD(&f, y->strides[3], 2);
  p->grouped = 1;
  y->dims.d[1] = 2;
  bsm_contiguous_strides(y->dims, y->strides);
  expect_good(&f);
  BAD(&f, y->dims.d[2], 1);
  p->whole = 1;
  expect_good(&f);
  p->grouped = 0;
  y->dims.d[1] = 12;
  bsm_contiguous_strides(y->dims, y->strides);
  bsm_plan_tensor *places = add(&f, true, BSM_DTYPE_INT32, 4, 3, 12, 2, 3);
  expect_good(&f);
  BAD(&f, places->dtype, BSM_DTYPE_INT64);
  BAD(&f, places->dims.d[3], 2);
}

static void test_sample(void **state) {
  fixture f;
  (void)state;
  start(&f, BSM_STEP_SAMPLE);
  bsm_plan_tensor *x = add(&f, false, BSM_DTYPE_FLOAT, 4, 2, 3, 5, 6);
  bsm_plan_tensor *g = add(&f, false, BSM_DTYPE_FLOAT, 4, 2, 7, 8, 2);
  bsm_plan_tensor *y = add(&f, true, BSM_DTYPE_FLOAT, 4, 2, 3, 7, 8);
  bsm_step_sample *p = &f.params.sample;
  p->mode = BSM_RESIZE_CUBIC;
  expect_good(&f);
  BAD(&f, p->mode, BSM_RESIZE_NEAREST_EXACT);
  BAD(&f, p->mode, -1);
  BAD(&f, p->padding, 3);
  BAD(&f, p->padding, -1);
  BAD(&f, x->dtype, BSM_DTYPE_HALF);
  BAD(&f, x->dims.d[2], 0);
  BAD(&f, x->dims.d[3], BSM_SAMPLE_MAX_SIZE);
  BAD(&f, g->dtype, BSM_DTYPE_DOUBLE);
  BAD(&f, g->dims.d[3], 3);
  BAD(&f, g->dims.d[1], 6);
  BAD(&f, g->strides[2], 3);
  BAD(&f, y->dims.d[0], 1);
  BAD(&f, y->dims.d[1], 4);
  BAD(&f, y->dims.rank, 3);
  start(&f, BSM_STEP_SAMPLE);
  add(&f, false, BSM_DTYPE_FLOAT, 5, 2, 3, 4, 5, 6);
  g = add(&f, false, BSM_DTYPE_FLOAT, 5, 2, 7, 8, 9, 3);
  add(&f, true, BSM_DTYPE_FLOAT, 5, 2, 3, 7, 8, 9);
  p->mode = BSM_RESIZE_LINEAR;
  expect_good(&f);
  BAD(&f, p->mode, BSM_RESIZE_CUBIC);
  BAD(&f, g->dims.d[4], 2);
}

static void test_indices(void **state) {
  fixture f;
  (void)state;
  start(&f, BSM_STEP_GATHER);
  add(&f, false, BSM_DTYPE_FLOAT, 2, 3, 4);
  bsm_plan_tensor *i = add(&f, false, BSM_DTYPE_INT64, 1, 5);
  bsm_plan_tensor *y = add(&f, true, BSM_DTYPE_FLOAT, 2, 3, 5);
  f.params.gather.axis = 1;
  expect_good(&f);
  BAD(&f, f.params.gather.axis, 2);
  BAD(&f, f.params.gather.mode, 7);
  BAD(&f, i->dtype, BSM_DTYPE_FLOAT);
  BAD(&f, y->dims.d[1], 4);
  BAD(&f, y->dtype, BSM_DTYPE_HALF);
  start(&f, BSM_STEP_SCATTER);
  add(&f, false, BSM_DTYPE_FLOAT, 2, 3, 4);
  i = add(&f, false, BSM_DTYPE_INT64, 2, 3, 2);
  bsm_plan_tensor *u = add(&f, false, BSM_DTYPE_FLOAT, 2, 3, 2);
  y = add(&f, true, BSM_DTYPE_FLOAT, 2, 3, 4);
  f.params.scatter.axis = 1;
  expect_good(&f);
  BAD(&f, f.params.scatter.axis, 2);
  BAD(&f, f.params.scatter.reduction, 9);
  BAD(&f, f.params.scatter.mode, 9);
  BAD(&f, u->dims.d[1], 3);
  BAD(&f, i->dims.d[0], 4);
  BAD(&f, i->dtype, BSM_DTYPE_UINT8);
}

static void test_moves(void **state) {
  fixture f;
  (void)state;
  start(&f, BSM_STEP_PAD);
  add(&f, false, BSM_DTYPE_FLOAT, 1, 4);
  bsm_plan_tensor *y = add(&f, true, BSM_DTYPE_FLOAT, 1, 8);
  f.params.pad = (bsm_step_pad){.mode = BSM_PADDING_REFLECT, .start = {-2}};
  expect_good(&f);
  BAD(&f, f.params.pad.mode, 9);
  BAD(&f, f.params.pad.start[0], -4);
  BAD(&f, f.params.pad.start[0], INT64_MIN);
  BAD(&f, y->dims.d[0], 12);
  BAD(&f, y->dtype, BSM_DTYPE_HALF);
  start(&f, BSM_STEP_RESIZE);
  add(&f, false, BSM_DTYPE_FLOAT, 3, 2, 4, 4);
  y = add(&f, true, BSM_DTYPE_FLOAT, 3, 2, 8, 8);
  f.params.resize.spatial = 2;
  expect_good(&f);
  BAD(&f, f.params.resize.mode, -1);
  BAD(&f, f.params.resize.spatial, 0);
  BAD(&f, f.params.resize.spatial, 1);
  BAD(&f, f.params.resize.scales[0], -1.0);
  BAD(&f, y->dims.d[0], 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_steps),   cmocka_unit_test(test_elements),
      cmocka_unit_test(test_convolution), cmocka_unit_test(test_pooling),
      cmocka_unit_test(test_matrices),    cmocka_unit_test(test_attention),
      cmocka_unit_test(test_rows),        cmocka_unit_test(test_regions),
      cmocka_unit_test(test_indices),     cmocka_unit_test(test_moves),
      cmocka_unit_test(test_sample)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
