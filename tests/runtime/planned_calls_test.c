/* SPDX-License-Identifier: Apache-2.0 */
/* What plans of calls compute, against the reference library: ops, dtypes,
 * shapes, strides, instruction sets, and arguments that nothing takes. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <string.h>

#include "base/isa.h"
#include "engine/ivalue_bytes.h"
#include "runtime/program/program_state.h"

enum { MAX_ARGS = 12, REGISTERS = 16 };

typedef struct fixture {
  bsm_arena arena, own;
  bsm_aten_library *aten;
  bsm_plan plan;
  bsm_program program;
  bsm_program_block block;
  bsm_instruction call;
  uint32_t ids[REGISTERS];
  bsm_engine engine;
  bsm_execution execution;
  bsm_shape_plans *plans;
  bsm_program_runner *runner;
  bsm_run_limits limits;
} fixture;

static void check(bsm_status status) {
  if (status) fail_msg("%s", bsm_status_message(status));
}

static int set_up(void **state) {
  static fixture f;
  memset(&f, 0, sizeof(f));
  bsm_arena_init(&f.arena, NULL);
  for (uint32_t i = 0; i < REGISTERS; i++) f.ids[i] = i;
  bsm_text none;
  bsm_text_init(&none, &f.arena);
  check(bsm_ivalues_to_bytes(&none, NULL, 0, NULL, 0));
  f.block = (bsm_program_block){0, 0, f.ids, f.ids, 1, &f.call};
  f.program = (bsm_program){.register_count = REGISTERS,
                            .blocks = &f.block,
                            .block_count = 1,
                            .constants = (const uint8_t *)none.data,
                            .constants_size = (uint32_t)none.len,
                            .constant_registers = f.ids,
                            .constant_tensors = f.ids};
  f.plan.program = &f.program;
  check(bsm_aten_library_create(&f.arena, &f.aten));
  f.engine = (bsm_engine){.plan = &f.plan, .aten = f.aten};
  const bsm_device_ops **ops = &f.engine.ops[BSM_SPACE_HOST];
  check(bsm_device_find(bsm_str_of("cpu"), ops));
  check((*ops)->open(&(bsm_device_options){0},
                     &f.engine.devices[BSM_SPACE_HOST]));
  *state = &f;
  return 0;
}

static int tear_down(void **state) {
  fixture *f = *state;
  bsm_device *device = f->engine.devices[BSM_SPACE_HOST];
  device->ops->close(device);
  bsm_arena_destroy(&f->arena);
  return 0;
}

/* A context of an engine that has this call alone; its output is the last
 * register. */
static void open_call(fixture *f, const char *name, uint32_t inputs,
                      uint32_t isa) {
  f->call = (bsm_instruction){.kind = BSM_INSTRUCTION_CALL,
                              .name = name,
                              .source = "",
                              .input_count = inputs,
                              .output_count = 1,
                              .inputs = f->ids,
                              .outputs = &f->ids[REGISTERS - 1]};
  bsm_arena_init(&f->own, NULL);
  check(bsm_execution_open(&f->engine,
                           &(bsm_execution_options){.threads = 2, .isa = isa},
                           &f->execution));
  check(bsm_shape_plans_create(&f->execution, &f->limits, 0, &f->plans));
  check(bsm_program_runner_create(&f->execution, NULL, f->plans, &f->limits,
                                  &f->own, &f->runner));
  bsm_program_set_limits(f->runner, NULL);
}

static void close_call(fixture *f) {
  bsm_program_runner_destroy(f->runner);
  bsm_shape_plans_destroy(f->plans);
  bsm_execution_close(&f->execution);
  bsm_arena_destroy(&f->own);
}

/* ---- values ---- */

static bsm_tensor *tensor_of(fixture *f, bsm_dtype dtype, bsm_dims dims) {
  static uint32_t seed = 7;
  bsm_tensor *t, *cast;
  check(bsm_tensor_new(&f->arena, BSM_DTYPE_FLOAT, dims, false, &t));
  float *data = bsm_tensor_data(t);
  for (int64_t i = 0; i < bsm_tensor_numel(t); i++) {
    seed = seed * 1664525u + 1013904223u;
    data[i] = (float)(seed >> 8) / (float)(1u << 24) - 0.5f;
  }
  check(bsm_tensor_to_dtype(&f->arena, t, dtype, &cast));
  return cast;
}

#define DIMS(...)                                                 \
  ((bsm_dims){sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), \
              {__VA_ARGS__}})
#define TYPED(f, dtype, ...) \
  bsm_iv_tensor(tensor_of((f), (dtype), DIMS(__VA_ARGS__)))
#define TENSOR(f, ...) TYPED(f, BSM_DTYPE_FLOAT, __VA_ARGS__)

static bsm_ivalue permute(fixture *f, bsm_ivalue v, bsm_dims order) {
  bsm_tensor *t = v.u.tensor, *out;
  bsm_dims dims = t->sizes;
  int64_t strides[BSM_MAX_RANK];
  for (int32_t i = 0; i < dims.rank; i++) {
    dims.d[i] = t->sizes.d[order.d[i]];
    strides[i] = t->strides[order.d[i]];
  }
  check(bsm_tensor_view(&f->arena, t, dims, strides, t->offset, &out));
  return bsm_iv_tensor(out);
}

static bsm_ivalue swap_last(fixture *f, bsm_ivalue v) {
  bsm_dims order = v.u.tensor->sizes;
  for (int32_t i = 0; i < order.rank; i++) order.d[i] = i;
  order.d[order.rank - 1] = order.rank - 2;
  order.d[order.rank - 2] = order.rank - 1;
  return permute(f, v, order);
}

/* [N, C, H, W] with the channels inside. */
static bsm_ivalue image(fixture *f, int64_t n, int64_t c, int64_t h,
                        int64_t w) {
  return permute(f, TENSOR(f, n, h, w, c), DIMS(0, 3, 1, 2));
}

/* Every other column, from the second on. */
static bsm_ivalue columns(fixture *f, bsm_ivalue v) {
  bsm_tensor *t = v.u.tensor, *out;
  bsm_dims dims = t->sizes;
  int64_t strides[BSM_MAX_RANK];
  memcpy(strides, t->strides, sizeof(strides));
  dims.d[dims.rank - 1] /= 2;
  strides[dims.rank - 1] *= 2;
  check(bsm_tensor_view(&f->arena, t, dims, strides, 1, &out));
  return bsm_iv_tensor(out);
}

static bsm_ivalue expand(fixture *f, bsm_ivalue v, int64_t rows) {
  bsm_tensor *t = v.u.tensor, *out;
  check(bsm_tensor_view(&f->arena, t, (bsm_dims){2, {rows, t->sizes.d[0]}},
                        (int64_t[]){0, 1}, 0, &out));
  return bsm_iv_tensor(out);
}

static bsm_ivalue ints(fixture *f, size_t n, int64_t a, int64_t b, int64_t c) {
  bsm_ivalue v;
  check(bsm_iv_int_list(&f->arena, (int64_t[]){a, b, c}, n, &v));
  return v;
}

/* ---- comparing ---- */

enum { PLANNED, LEFT, WRONG };

static double tolerance(bsm_dtype dtype) {
  switch (dtype) {
    case BSM_DTYPE_HALF:
      return 2e-3;
    case BSM_DTYPE_BFLOAT16:
      return 1.6e-2;
    case BSM_DTYPE_DOUBLE:
      return 1e-9;
    default:
      return 1e-4;
  }
}

static void compare_values(const char *name, const bsm_tensor *a,
                           const bsm_tensor *b) {
  assert_int_equal(a->dtype, b->dtype);
  assert_true(bsm_dims_equal(a->sizes, b->sizes));
  const double bound = tolerance(a->dtype);
  for (int64_t i = 0; i < bsm_tensor_numel(a); i++) {
    const double x = bsm_tensor_get_double(a, i);
    const double y = bsm_tensor_get_double(b, i);
    if (!(fabs(x - y) <= bound * (1 + fabs(y)))) {
      fail_msg("%s: element %lld is %g, not %g", name, (long long)i, x, y);
    }
  }
}

/* Calls it three times, and the library once. PLANNED: there is a plan, and all
 * agree. WRONG: the library fails, and so does every call. */
static int compare(fixture *f, const char *name, const bsm_ivalue *args,
                   uint32_t n, uint32_t isa) {
  bsm_ivalue want;
  const bsm_aten_op *op = bsm_aten_find(f->aten, bsm_str_of(name));
  assert_non_null(op);
  bsm_op_ctx cx = {.arena = &f->arena};
  bsm_status status = bsm_aten_call(&cx, op, args, n, &want, 1);
  const bool wrong = status != NULL;
  bsm_status_free(status);
  open_call(f, name, n, isa);
  for (int k = 0; k < 3; k++) {
    status = bsm_program_run_call(f->runner, &f->call, args);
    assert_int_equal(status != NULL, wrong);
    bsm_status_free(status);
    if (wrong) continue;
    compare_values(name, f->runner->walker.registers[REGISTERS - 1].u.tensor,
                   want.u.tensor);
  }
  bsm_shape_plan *found;
  check(bsm_shape_plans_find_call(f->plans, &f->call, args, false, &found));
  if (wrong) assert_null(found);
  const int result = wrong ? WRONG : found ? PLANNED : LEFT;
  close_call(f);
  return result;
}

/* On every instruction set. */
static int compare_all(fixture *f, const char *name, const bsm_ivalue *args,
                       uint32_t n) {
  const int result = compare(f, name, args, n, BSM_ISA_DETECT);
  assert_int_equal(compare(f, name, args, n, BSM_ISA_SCALAR), result);
  return result;
}
#define CHECK(f, want, name, ...)                                            \
  assert_int_equal(                                                          \
      compare_all((f), (name), (const bsm_ivalue[]){__VA_ARGS__},            \
                  sizeof((bsm_ivalue[]){__VA_ARGS__}) / sizeof(bsm_ivalue)), \
      (want))

static const bsm_dtype dtypes[] = {BSM_DTYPE_FLOAT, BSM_DTYPE_DOUBLE,
                                   BSM_DTYPE_HALF, BSM_DTYPE_BFLOAT16};
enum { DTYPES = sizeof(dtypes) / sizeof(dtypes[0]) };

/* ---- products ---- */

static void products_with_weights(void **state) {
  fixture *f = *state;
  for (int i = 0; i < DTYPES; i++) {
    const bsm_dtype t = dtypes[i];
    const bsm_ivalue w = TYPED(f, t, 33, 20), none = bsm_iv_none();
    CHECK(f, PLANNED, "aten::linear", TYPED(f, t, 2, 9, 20), w, none);
    CHECK(f, PLANNED, "aten::linear", TYPED(f, t, 300, 20), w, TYPED(f, t, 33));
    CHECK(f, PLANNED, "aten::linear", swap_last(f, TYPED(f, t, 5, 20, 9)), w,
          none);
    CHECK(f, PLANNED, "aten::linear", columns(f, TYPED(f, t, 9, 40)), w, none);
    CHECK(f, WRONG, "aten::linear", TYPED(f, t, 20), TYPED(f, t, 33, 21), none);
  }
  const bsm_ivalue one = bsm_iv_int(1);
  bsm_ivalue args[5] = {TENSOR(f, 40), TENSOR(f, 12, 30), TENSOR(f, 30, 40),
                        one, one};
  assert_int_equal(compare_all(f, "aten::addmm", args, 5), PLANNED);
  args[3] = bsm_iv_double(0.5);
  assert_int_equal(compare_all(f, "aten::addmm", args, 5), PLANNED);
  args[0] = TENSOR(f, 12, 40);
  assert_int_equal(compare_all(f, "aten::addmm", args, 5), PLANNED);
  args[2] = swap_last(f, TENSOR(f, 40, 30));
  assert_int_equal(compare_all(f, "aten::addmm", args, 5), PLANNED);
}

static void products_of_batches(void **state) {
  fixture *f = *state;
  for (int i = 0; i < DTYPES; i++) {
    const bsm_dtype t = dtypes[i];
    const bsm_ivalue b = TYPED(f, t, 4, 16, 24);
    CHECK(f, PLANNED, "aten::matmul", TYPED(f, t, 3, 1, 20, 16), b);
    CHECK(f, PLANNED, "aten::matmul", TYPED(f, t, 20, 16), b);
    CHECK(f, PLANNED, "aten::matmul", TYPED(f, t, 20, 16),
          swap_last(f, TYPED(f, t, 4, 24, 16)));
    CHECK(f, PLANNED, "aten::matmul", TYPED(f, t, 16), b);
    CHECK(f, PLANNED, "aten::matmul", columns(f, TYPED(f, t, 4, 20, 32)), b);
    CHECK(f, WRONG, "aten::matmul", TYPED(f, t, 2, 20, 16), b);
    CHECK(f, PLANNED, "aten::bmm", TYPED(f, t, 4, 20, 16), b);
    CHECK(f, WRONG, "aten::mm", TYPED(f, t, 4, 20, 16), b);
    CHECK(f, WRONG, "aten::bmm", TYPED(f, t, 1, 20, 16), b);
    CHECK(f, PLANNED, "aten::mm", TYPED(f, t, 20, 16), TYPED(f, t, 16, 24));
  }
  /* Heads that lie side by side. */
  const bsm_dims heads = DIMS(0, 2, 1, 3);
  CHECK(f, PLANNED, "aten::matmul", permute(f, TENSOR(f, 2, 10, 4, 16), heads),
        permute(f, TENSOR(f, 2, 12, 4, 16), DIMS(0, 2, 3, 1)));
}

static void attention(void **state) {
  fixture *f = *state;
  const bsm_dims heads = DIMS(0, 2, 1, 3);
  const bsm_ivalue none = bsm_iv_none(), no = bsm_iv_bool(false);
  const bsm_ivalue q = permute(f, TENSOR(f, 2, 10, 4, 16), heads);
  const bsm_ivalue k = permute(f, TENSOR(f, 2, 12, 4, 16), heads);
  const bsm_ivalue v = columns(f, TENSOR(f, 2, 4, 12, 48));
  for (int mask = 0; mask < 2; mask++) {
    CHECK(f, PLANNED, "aten::scaled_dot_product_attention", q, k, v,
          mask ? TENSOR(f, 10, 12) : none, bsm_iv_double(0), no, none, no);
  }
}

/* ---- convolutions ---- */

static int convolve(fixture *f, int32_t spatial, bsm_ivalue x, bsm_ivalue w,
                    bool bias, int64_t stride, int64_t padding,
                    int64_t dilation, int64_t groups) {
  const char *names[] = {"aten::conv1d", "aten::conv2d", "aten::conv3d"};
  const int64_t maps = w.u.tensor->sizes.d[0];
  const size_t n = (size_t)spatial;
  const bsm_ivalue args[7] = {
      x,
      w,
      bias ? TYPED(f, w.u.tensor->dtype, maps) : bsm_iv_none(),
      ints(f, n, stride, 1, stride),
      ints(f, n, padding, padding, 0),
      ints(f, n, dilation, dilation, dilation),
      bsm_iv_int(groups)};
  return compare_all(f, names[spatial - 1], args, 7);
}

static void convolutions(void **state) {
  fixture *f = *state;
  for (int i = 0; i < 2 * DTYPES; i++) {
    const bsm_dtype t = dtypes[i / 2];
    const bool bias = i % 2;
    assert_int_equal(convolve(f, 1, TYPED(f, t, 2, 8, 30),
                              TYPED(f, t, 20, 8, 3), bias, 1, 1, 1, 1),
                     PLANNED);
    assert_int_equal(convolve(f, 2, TYPED(f, t, 2, 6, 13, 11),
                              TYPED(f, t, 10, 3, 3, 3), bias, 2, 1, 1, 2),
                     PLANNED);
    assert_int_equal(convolve(f, 2, TYPED(f, t, 1, 12, 9, 9),
                              TYPED(f, t, 12, 1, 3, 3), bias, 1, 2, 2, 12),
                     PLANNED);
    assert_int_equal(convolve(f, 3, TYPED(f, t, 1, 4, 6, 7, 5),
                              TYPED(f, t, 5, 4, 2, 3, 3), bias, 2, 1, 1, 1),
                     PLANNED);
  }
  const bsm_ivalue xs[] = {swap_last(f, TENSOR(f, 2, 6, 13, 11)),
                           image(f, 2, 6, 13, 11),
                           columns(f, TENSOR(f, 2, 6, 13, 22))};
  for (int i = 0; i < 3; i++) {
    assert_int_equal(
        convolve(f, 2, xs[i], TENSOR(f, 10, 6, 3, 3), true, 1, 1, 1, 1),
        PLANNED);
  }
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
        PLANNED);
  }
  assert_int_equal(convolve(f, 2, x, TENSOR(f, 4, 4, 3), false, 1, 0, 1, 1),
                   WRONG);
  assert_int_equal(
      convolve(f, 2, x, TENSOR(f, 4, 4, 10, 10), false, 1, 0, 1, 1), WRONG);
}

/* Results above the limit are refused, with plans as without. */
static void limits(void **state) {
  fixture *f = *state;
  f->limits.max_bytes = 1 << 20;
  const bsm_ivalue args[2] = {TENSOR(f, 4000, 2), TENSOR(f, 2, 4000)};
  open_call(f, "aten::mm", 2, BSM_ISA_DETECT);
  for (int k = 0; k < 3; k++) {
    bsm_status status = bsm_program_run_call(f->runner, &f->call, args);
    assert_non_null(status);
    bsm_status_free(status);
  }
  bsm_shape_plan *found;
  check(bsm_shape_plans_find_call(f->plans, &f->call, args, true, &found));
  assert_null(found);
  close_call(f);
  memset(&f->limits, 0, sizeof(f->limits));
}

/* ---- element-wise, rows, windows ---- */

static void activations(void **state) {
  fixture *f = *state;
  static const char *const names[] = {
      "aten::relu", "aten::relu6", "aten::sigmoid",   "aten::tanh",
      "aten::silu", "aten::neg",   "aten::hardswish", "aten::hardsigmoid"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    for (int k = 0; k < DTYPES; k++) {
      const bsm_dtype t = dtypes[k];
      CHECK(f, PLANNED, names[i], TYPED(f, t, 20, 33));
      CHECK(f, PLANNED, names[i], swap_last(f, TYPED(f, t, 7, 20, 33)));
      CHECK(f, PLANNED, names[i], columns(f, TYPED(f, t, 20, 66)));
    }
    CHECK(f, PLANNED, names[i], expand(f, TENSOR(f, 33), 20));
    CHECK(f, PLANNED, names[i], image(f, 2, 5, 7, 9));
    CHECK(f, LEFT, names[i], TENSOR(f, 3, 33)); /* small */
  }
  const bsm_ivalue x = TENSOR(f, 20, 33);
  const bsm_str none = BSM_STR("none"), tanh_ = BSM_STR("tanh");
  bsm_ivalue how = {.tag = BSM_IVALUE_STRING};
  how.u.s = &none;
  CHECK(f, PLANNED, "aten::gelu", x, how);
  how.u.s = &tanh_;
  CHECK(f, PLANNED, "aten::gelu", swap_last(f, x), how);
  CHECK(f, PLANNED, "aten::leaky_relu", x, bsm_iv_double(0.2));
  CHECK(f, PLANNED, "aten::hardtanh", x, bsm_iv_double(-0.25),
        bsm_iv_double(0.25));
}

static void binary(void **state) {
  fixture *f = *state;
  const bsm_ivalue one = bsm_iv_int(1), two = bsm_iv_int(2);
  for (int k = 0; k < DTYPES; k++) {
    const bsm_dtype t = dtypes[k];
    const bsm_ivalue x = TYPED(f, t, 20, 33), y = TYPED(f, t, 33);
    const bsm_ivalue turned = swap_last(f, TYPED(f, t, 33, 20));
    CHECK(f, PLANNED, "aten::add.Tensor", x, y, one);
    CHECK(f, PLANNED, "aten::add.Tensor", x, turned, two);
    CHECK(f, PLANNED, "aten::sub.Tensor", turned, turned, one);
    CHECK(f, PLANNED, "aten::mul.Tensor", turned, y);
    CHECK(f, PLANNED, "aten::mul.Tensor", x, expand(f, y, 20));
    CHECK(f, PLANNED, "aten::mul.Tensor", TYPED(f, t, 20, 1), x);
  }
  const bsm_ivalue x = TENSOR(f, 20, 33), y = TENSOR(f, 20, 33);
  CHECK(f, WRONG, "aten::mul.Tensor", x, TENSOR(f, 20, 32));
  bsm_ivalue apart = {.tag = BSM_IVALUE_NONE};
  bsm_op_ctx cx = {.arena = &f->arena};
  const bsm_ivalue raise[] = {y, bsm_iv_double(2), bsm_iv_int(1)};
  check(bsm_aten_call(&cx, bsm_aten_find(f->aten, BSM_STR("aten::add.Scalar")),
                      raise, 3, &apart, 1));
  CHECK(f, PLANNED, "aten::div.Tensor", x, apart);
  CHECK(f, PLANNED, "aten::div.Tensor", image(f, 2, 5, 7, 9),
        bsm_iv_tensor(tensor_of(f, BSM_DTYPE_FLOAT, DIMS(9))));
}

static void norms_and_softmax(void **state) {
  fixture *f = *state;
  const bsm_ivalue none = bsm_iv_none(), no = bsm_iv_bool(false);
  const bsm_ivalue eps = bsm_iv_double(1e-3), momentum = bsm_iv_double(0.1);
  for (int k = 0; k < DTYPES; k++) {
    const bsm_dtype t = dtypes[k];
    const bsm_ivalue xs[] = {TYPED(f, t, 2, 15, 32),
                             swap_last(f, TYPED(f, t, 2, 32, 15)),
                             columns(f, TYPED(f, t, 2, 15, 64))};
    for (int i = 0; i < 3; i++) {
      CHECK(f, PLANNED, "aten::layer_norm", xs[i], ints(f, 1, 32, 0, 0),
            TYPED(f, t, 32), TYPED(f, t, 32), eps, no);
      CHECK(f, PLANNED, "aten::layer_norm", xs[i], ints(f, 2, 15, 32, 0), none,
            none, eps, no);
      for (int64_t dim = -1; dim < 3; dim++) {
        CHECK(f, PLANNED, "aten::softmax.int", xs[i], bsm_iv_int(dim), none);
        CHECK(f, PLANNED, "aten::log_softmax.int", xs[i], bsm_iv_int(dim),
              none);
      }
      CHECK(f, WRONG, "aten::softmax.int", xs[i], bsm_iv_int(3), none);
    }
  }
  bsm_ivalue variance;
  bsm_op_ctx cx = {.arena = &f->arena};
  const bsm_ivalue square = TENSOR(f, 6);
  check(bsm_aten_call(&cx, bsm_aten_find(f->aten, BSM_STR("aten::abs")),
                      &square, 1, &variance, 1));
  const bsm_ivalue images[] = {TENSOR(f, 2, 6, 7, 9), image(f, 2, 6, 7, 9)};
  for (int i = 0; i < 2; i++) {
    CHECK(f, PLANNED, "aten::batch_norm", images[i], TENSOR(f, 6), TENSOR(f, 6),
          TENSOR(f, 6), variance, no, momentum, eps, no);
    CHECK(f, PLANNED, "aten::batch_norm", images[i], none, none, TENSOR(f, 6),
          variance, no, momentum, eps, no);
  }
}

static void pooling(void **state) {
  fixture *f = *state;
  const bsm_ivalue images[] = {TENSOR(f, 2, 6, 13, 11), image(f, 2, 6, 13, 11),
                               swap_last(f, TENSOR(f, 2, 6, 11, 13)),
                               TENSOR(f, 6, 13, 11)};
  for (int i = 0; i < 4; i++) {
    for (int up = 0; up < 2; up++) {
      CHECK(f, PLANNED, "aten::max_pool2d", images[i], ints(f, 2, 3, 3, 0),
            ints(f, 2, 2, 2, 0), ints(f, 2, 1, 1, 0), ints(f, 2, 1, 1, 0),
            bsm_iv_bool(up));
    }
    CHECK(f, PLANNED, "aten::max_pool2d", images[i], ints(f, 2, 2, 3, 0),
          ints(f, 0, 0, 0, 0), ints(f, 1, 0, 0, 0), ints(f, 1, 1, 0, 0),
          bsm_iv_bool(false));
    CHECK(f, PLANNED, "aten::adaptive_avg_pool2d", images[i],
          ints(f, 2, 5, 4, 0));
  }
}

/* ---- shapes ---- */

static void lists_of_tensors(void **state) {
  fixture *f = *state;
  bsm_ivalue v;
  bsm_list *list;
  check(bsm_list_new(&f->arena, NULL, 3, &list));
  list->items[0] = TENSOR(f, 10, 33);
  list->items[1] = swap_last(f, TENSOR(f, 33, 20));
  list->items[2] = columns(f, TENSOR(f, 5, 66));
  v = bsm_iv_list(list);
  CHECK(f, PLANNED, "aten::cat", v, bsm_iv_int(0));
  CHECK(f, WRONG, "aten::cat", v, bsm_iv_int(1));
}

/* No rows, as after a mask that takes none, and no columns to add up. */
static void empty_tensors(void **state) {
  fixture *f = *state;
  const bsm_ivalue none = bsm_iv_none(), w = TENSOR(f, 33, 20);
  CHECK(f, PLANNED, "aten::linear", TENSOR(f, 0, 20), w, TENSOR(f, 33));
  CHECK(f, PLANNED, "aten::linear", swap_last(f, TENSOR(f, 3, 20, 0)), w, none);
  CHECK(f, PLANNED, "aten::matmul", TENSOR(f, 5, 0, 20), swap_last(f, w));
  assert_int_not_equal(
      compare_all(f, "aten::mm",
                  (bsm_ivalue[]){TENSOR(f, 300, 0), TENSOR(f, 0, 20)}, 2),
      WRONG);
  CHECK(f, LEFT, "aten::relu", TENSOR(f, 0, 20));
  assert_int_not_equal(convolve(f, 2, TENSOR(f, 0, 6, 9, 9),
                                TENSOR(f, 10, 6, 3, 3), true, 1, 1, 1, 1),
                       WRONG);
}

/* One call in turn with tensors that differ in their strides alone. */
static void strides_are_told_apart(void **state) {
  fixture *f = *state;
  const bsm_ivalue square = TENSOR(f, 24, 24);
  const bsm_ivalue xs[] = {square, swap_last(f, square),
                           columns(f, TENSOR(f, 24, 48)),
                           expand(f, TENSOR(f, 24), 24)};
  const bsm_aten_op *op = bsm_aten_find(f->aten, BSM_STR("aten::sigmoid"));
  open_call(f, "aten::sigmoid", 1, BSM_ISA_DETECT);
  for (int k = 0; k < 16; k++) {
    bsm_ivalue want;
    bsm_op_ctx cx = {.arena = &f->arena};
    check(bsm_aten_call(&cx, op, &xs[k % 4], 1, &want, 1));
    check(bsm_program_run_call(f->runner, &f->call, &xs[k % 4]));
    compare_values("aten::sigmoid",
                   f->runner->walker.registers[REGISTERS - 1].u.tensor,
                   want.u.tensor);
  }
  assert_int_equal(bsm_shape_plans_made(f->plans), 4);
  close_call(f);
}

/* What is planned stays as it lies: a permuted tensor is not turned around. */
static void results_lie_as_arguments_do(void **state) {
  fixture *f = *state;
  const bsm_ivalue x = image(f, 2, 6, 13, 11);
  open_call(f, "aten::relu", 1, BSM_ISA_DETECT);
  for (int k = 0; k < 2; k++) {
    check(bsm_program_run_call(f->runner, &f->call, &x));
  }
  const bsm_tensor *y = f->runner->walker.registers[REGISTERS - 1].u.tensor;
  assert_memory_equal(y->strides, x.u.tensor->strides, 4 * sizeof(int64_t));
  bsm_shape_plan *found;
  check(bsm_shape_plans_find_call(f->plans, &f->call, &x, false, &found));
  assert_non_null(found);
  assert_int_equal(found->planned.plan->step_count, 1);
  close_call(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_with_weights),
      cmocka_unit_test(products_of_batches),
      cmocka_unit_test(attention),
      cmocka_unit_test(convolutions),
      cmocka_unit_test(hostile_convolutions),
      cmocka_unit_test(limits),
      cmocka_unit_test(activations),
      cmocka_unit_test(binary),
      cmocka_unit_test(norms_and_softmax),
      cmocka_unit_test(pooling),
      cmocka_unit_test(lists_of_tensors),
      cmocka_unit_test(empty_tensors),
      cmocka_unit_test(strides_are_told_apart),
      cmocka_unit_test(results_lie_as_arguments_do),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
