/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that kernels take, against the reference library: shapes, strides,
 * dtypes, instruction sets, constants. */
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

#include "base/isa.h"
#include "base/thread_pool.h"
#include "runtime/program/fast_call.h"
#include "tests/target_kit.h"

typedef struct fixture {
  bsm_arena own, arena;
  bsm_aten_library *library;
  bsm_thread_pool *pool;
  bsm_device *device;
  bsm_stream *stream;
  bsm_fast_calls calls;
} fixture;

static void check_status(bsm_status status) {
  if (!status) return;
  fprintf(stderr, "%s\n", bsm_status_message(status));
  bsm_status_free(status);
  fail();
}

static int set_up(void **state) {
  static fixture f;
  memset(&f, 0, sizeof f);
  bsm_arena_init(&f.own, NULL);
  bsm_arena_init(&f.arena, NULL);
  check_status(bsm_aten_library_create(&f.own, &f.library));
  check_status(bsm_thread_pool_create(2, NULL, &f.pool));
  const bsm_device_ops *ops;
  check_status(bsm_device_find(bsm_str_of("cpu"), &ops));
  check_status(ops->open(&(bsm_device_options){0}, &f.device));
  check_status(ops->stream_create(
      f.device, &(bsm_stream_options){.pool = f.pool, .isa = BSM_ISA_DETECT},
      &f.stream));
  f.calls = (bsm_fast_calls){.target = test_target(1),
                             .stream = f.stream,
                             .own = &f.own,
                             .max_tensor_bytes = 1u << 28};
  *state = &f;
  return 0;
}

static int tear_down(void **state) {
  fixture *f = *state;
  f->device->ops->stream_destroy(f->stream);
  f->device->ops->close(f->device);
  bsm_thread_pool_destroy(f->pool);
  bsm_arena_destroy(&f->arena);
  bsm_arena_destroy(&f->own);
  return 0;
}

/* ---- values ---- */

static bsm_tensor *tensor(fixture *f, bsm_dims dims) {
  static uint32_t seed = 7;
  bsm_tensor *t;
  check_status(bsm_tensor_new(&f->arena, BSM_DTYPE_FLOAT, dims, false, &t));
  float *data = bsm_tensor_data(t);
  for (int64_t i = 0; i < bsm_tensor_numel(t); i++) {
    seed = seed * 1664525u + 1013904223u;
    data[i] = (float)(seed >> 8) / (float)(1u << 24) - 0.5f;
  }
  return t;
}

#define TENSOR(f, ...)                                                    \
  bsm_iv_tensor(tensor(                                                   \
      (f), (bsm_dims){sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), \
                      {__VA_ARGS__}}))

static bsm_ivalue swap_last(fixture *f, bsm_ivalue v) {
  bsm_tensor *t = v.u.tensor, *out;
  bsm_dims dims = t->sizes;
  int64_t strides[BSM_MAX_RANK];
  memcpy(strides, t->strides, sizeof strides);
  const int32_t r = dims.rank;
  dims.d[r - 1] = t->sizes.d[r - 2];
  dims.d[r - 2] = t->sizes.d[r - 1];
  strides[r - 1] = t->strides[r - 2];
  strides[r - 2] = t->strides[r - 1];
  check_status(bsm_tensor_view(&f->arena, t, dims, strides, 0, &out));
  return bsm_iv_tensor(out);
}

static bsm_ivalue ints(fixture *f, int32_t n, int64_t a, int64_t b, int64_t c) {
  bsm_ivalue v;
  check_status(bsm_iv_int_list(&f->arena, (int64_t[]){a, b, c}, (size_t)n, &v));
  return v;
}

static void make_constant(fixture *f, const bsm_ivalue *v) {
  void *data = bsm_tensor_data(v->u.tensor);
  assert_true(bsm_ptrmap_set(&f->own, &f->calls.constants, data, data));
}

/* ---- comparing ---- */

enum { TAKEN, LEFT, WRONG };

/* Runs both; TAKEN: the kernels took it, and agree. WRONG: the library fails,
 * and the kernels left it. */
static int compare(fixture *f, const char *name, const bsm_ivalue *args,
                   size_t n) {
  bsm_ivalue fast = bsm_iv_none(), slow = bsm_iv_none();
  bool done;
  const bsm_aten_op *op = bsm_aten_find(f->library, bsm_str_of(name));
  assert_non_null(op);
  assert_true(bsm_fast_call_knows(name));
  check_status(
      bsm_fast_call(&f->calls, name, args, n, &f->arena, &fast, &done));
  bsm_op_ctx cx = {.arena = &f->arena};
  bsm_status status = bsm_aten_call(&cx, op, args, n, &slow, 1);
  if (status) {
    bsm_status_free(status);
    assert_false(done);
    return WRONG;
  }
  if (!done) return LEFT;
  const bsm_tensor *a = fast.u.tensor, *b = slow.u.tensor;
  assert_true(bsm_dims_equal(a->sizes, b->sizes));
  for (int64_t i = 0; i < bsm_tensor_numel(a); i++) {
    const double x = bsm_tensor_get_double(a, i);
    const double y = bsm_tensor_get_double(b, i);
    if (!(fabs(x - y) < 1e-4 * (1 + fabs(y)))) {
      fail_msg("%s: element %lld is %g, not %g", name, (long long)i, x, y);
    }
  }
  return TAKEN;
}

/* On every instruction set. */
static int compare_all(fixture *f, const char *name, const bsm_ivalue *args,
                       size_t n) {
  const bsm_device_ops *ops = f->device->ops;
  const int result = compare(f, name, args, n);
  const bsm_stream_options plain = {.pool = f->pool, .isa = BSM_ISA_SCALAR};
  check_status(ops->stream_create(f->device, &plain, &f->calls.stream));
  assert_int_equal(compare(f, name, args, n), result);
  ops->stream_destroy(f->calls.stream);
  f->calls.stream = f->stream;
  return result;
}

/* ---- products ---- */

static void products_with_weights(void **state) {
  fixture *f = *state;
  for (int bias = 0; bias < 2; bias++) {
    bsm_ivalue args[3] = {TENSOR(f, 2, 9, 20), TENSOR(f, 33, 20),
                          bias ? TENSOR(f, 33) : bsm_iv_none()};
    assert_int_equal(compare_all(f, "aten::linear", args, 3), TAKEN);
    args[0] = swap_last(f, TENSOR(f, 5, 20, 9));
    assert_int_equal(compare_all(f, "aten::linear", args, 3), TAKEN);
    args[0] = TENSOR(f, 300, 20);
    assert_int_equal(compare_all(f, "aten::linear", args, 3), TAKEN);
    args[0] = TENSOR(f, 20); /* small */
    assert_int_equal(compare_all(f, "aten::linear", args, 3), LEFT);
    args[1] = TENSOR(f, 33, 21);
    assert_int_equal(compare_all(f, "aten::linear", args, 3), WRONG);
  }
  bsm_ivalue args[5] = {TENSOR(f, 40), TENSOR(f, 12, 30), TENSOR(f, 30, 40),
                        bsm_iv_int(1), bsm_iv_int(1)};
  assert_int_equal(compare_all(f, "aten::addmm", args, 5), TAKEN);
  args[3] = bsm_iv_double(0.5);
  assert_int_equal(compare_all(f, "aten::addmm", args, 5), LEFT);
  args[3] = bsm_iv_int(1);
  args[0] = TENSOR(f, 12, 40); /* not a bias */
  assert_int_not_equal(compare_all(f, "aten::addmm", args, 5), WRONG);
}

static void products_of_batches(void **state) {
  fixture *f = *state;
  bsm_ivalue args[2] = {TENSOR(f, 3, 1, 20, 16), TENSOR(f, 4, 16, 24)};
  assert_int_equal(compare_all(f, "aten::matmul", args, 2), TAKEN);
  args[0] = TENSOR(f, 20, 16);
  assert_int_equal(compare_all(f, "aten::matmul", args, 2), TAKEN);
  args[1] = swap_last(f, TENSOR(f, 4, 24, 16));
  assert_int_equal(compare_all(f, "aten::matmul", args, 2), TAKEN);
  args[0] = TENSOR(f, 2, 20, 16); /* 2 and 4 */
  assert_int_equal(compare_all(f, "aten::matmul", args, 2), WRONG);
  args[0] = TENSOR(f, 16);
  assert_int_equal(compare_all(f, "aten::matmul", args, 2), LEFT);
  args[0] = TENSOR(f, 4, 20, 16);
  assert_int_equal(compare_all(f, "aten::bmm", args, 2), TAKEN);
  assert_int_equal(compare_all(f, "aten::mm", args, 2), WRONG);
  args[0] = TENSOR(f, 1, 20, 16);
  assert_int_equal(compare_all(f, "aten::bmm", args, 2), WRONG);
  args[0] = TENSOR(f, 20, 16);
  args[1] = TENSOR(f, 16, 24);
  assert_int_equal(compare_all(f, "aten::mm", args, 2), TAKEN);
  bsm_tensor *wide;
  check_status(bsm_tensor_to_dtype(&f->arena, args[0].u.tensor,
                                   BSM_DTYPE_DOUBLE, &wide));
  args[0] = bsm_iv_tensor(wide);
  assert_int_not_equal(compare_all(f, "aten::mm", args, 2), TAKEN);
}

/* One constant in several forms: each is packed for its use. */
static void constants(void **state) {
  fixture *f = *state;
  const bsm_ivalue w = TENSOR(f, 32, 32);
  make_constant(f, &w);
  bsm_ivalue linear[3] = {TENSOR(f, 10, 32), w, bsm_iv_none()};
  bsm_ivalue matmul[2] = {TENSOR(f, 10, 32), w};
  for (int i = 0; i < 3; i++) {
    assert_int_equal(compare_all(f, "aten::linear", linear, 3), TAKEN);
    assert_int_equal(compare_all(f, "aten::matmul", matmul, 2), TAKEN);
  }
  bsm_tensor *view;
  check_status(bsm_tensor_view(&f->arena, w.u.tensor, (bsm_dims){2, {16, 64}},
                               (int64_t[]){64, 1}, 0, &view));
  linear[0] = TENSOR(f, 10, 64);
  linear[1] = bsm_iv_tensor(view);
  assert_int_equal(compare_all(f, "aten::linear", linear, 3), TAKEN);
  /* Packed once: nothing is kept from the second call on. */
  const size_t before = f->own.total;
  for (int i = 0; i < 200; i++) {
    assert_int_equal(compare(f, "aten::linear", linear, 3), TAKEN);
  }
  assert_int_equal(f->own.total, before);
}

/* ---- convolutions ---- */

static int convolve(fixture *f, int32_t spatial, bsm_ivalue x, bsm_ivalue w,
                    bool bias, int64_t stride, int64_t padding,
                    int64_t dilation, int64_t groups) {
  const char *names[] = {"aten::conv1d", "aten::conv2d", "aten::conv3d"};
  const int64_t maps = w.u.tensor->sizes.d[0];
  bsm_ivalue args[7] = {x,
                        w,
                        bias ? TENSOR(f, maps) : bsm_iv_none(),
                        ints(f, spatial, stride, 1, stride),
                        ints(f, spatial, padding, padding, 0),
                        ints(f, spatial, dilation, dilation, dilation),
                        bsm_iv_int(groups)};
  return compare_all(f, names[spatial - 1], args, 7);
}

static void convolutions(void **state) {
  fixture *f = *state;
  for (int bias = 0; bias < 2; bias++) {
    assert_int_equal(convolve(f, 1, TENSOR(f, 2, 8, 30), TENSOR(f, 20, 8, 3),
                              bias, 1, 1, 1, 1),
                     TAKEN);
    assert_int_equal(convolve(f, 2, TENSOR(f, 2, 6, 13, 11),
                              TENSOR(f, 10, 3, 3, 3), bias, 2, 1, 1, 2),
                     TAKEN);
    assert_int_equal(convolve(f, 2, TENSOR(f, 1, 12, 9, 9),
                              TENSOR(f, 12, 1, 3, 3), bias, 1, 2, 2, 12),
                     TAKEN);
    assert_int_equal(convolve(f, 3, TENSOR(f, 1, 4, 6, 7, 5),
                              TENSOR(f, 5, 4, 2, 3, 3), bias, 2, 1, 1, 1),
                     TAKEN);
  }
  const bsm_ivalue x = swap_last(f, TENSOR(f, 2, 6, 13, 11));
  assert_int_equal(convolve(f, 2, x, TENSOR(f, 10, 6, 1, 1), true, 1, 0, 1, 1),
                   TAKEN);
}

static void hostile_convolutions(void **state) {
  fixture *f = *state;
  const bsm_ivalue x = TENSOR(f, 1, 4, 9, 9), w = TENSOR(f, 4, 4, 3, 3);
  static const int64_t odd[][4] = {
      {0, 0, 1, 1},         {-1, 0, 1, 1},        {1, -1, 1, 1},
      {1, 0, 0, 1},         {1, 0, 1, 0},         {1, 0, 1, -4},
      {1, 0, 1, 3},         {1, 0, 1, INT64_MAX}, {INT64_MAX, INT64_MAX, 1, 1},
      {1, 0, INT64_MAX, 1}, {INT64_MIN, 0, 1, 1}, {1, INT64_MIN, 1, 1},
      {1, 0, 5, 1},         {1, 0, 1, 1LL << 62},
  };
  for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
    assert_int_not_equal(
        convolve(f, 2, x, w, false, odd[i][0], odd[i][1], odd[i][2], odd[i][3]),
        TAKEN);
  }
  /* Results above the limit are the library's to refuse. */
  f->calls.max_tensor_bytes = 1000;
  assert_int_equal(convolve(f, 2, x, w, false, 1, 1, 1, 1), LEFT);
  bsm_ivalue args[2] = {TENSOR(f, 40, 16), TENSOR(f, 16, 40)};
  assert_int_equal(compare_all(f, "aten::mm", args, 2), LEFT);
  f->calls.max_tensor_bytes = 1u << 28;
  /* Wrong ranks and types. */
  assert_int_not_equal(convolve(f, 2, TENSOR(f, 4, 9, 9), w, false, 1, 0, 1, 1),
                       TAKEN);
  assert_int_equal(convolve(f, 2, x, TENSOR(f, 4, 4, 3), false, 1, 0, 1, 1),
                   WRONG);
  assert_int_equal(
      convolve(f, 2, x, TENSOR(f, 4, 4, 10, 10), false, 1, 0, 1, 1), WRONG);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_with_weights),
      cmocka_unit_test(products_of_batches),
      cmocka_unit_test(constants),
      cmocka_unit_test(convolutions),
      cmocka_unit_test(hostile_convolutions),
  };
  return cmocka_run_group_tests_name("fast_call", tests, set_up, tear_down);
}
