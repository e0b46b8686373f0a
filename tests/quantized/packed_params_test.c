/* SPDX-License-Identifier: Apache-2.0 */
/* Packed parameters: the states of all versions give the same object, and what
 * no engine of PyTorch's would write is refused with what is wrong. */
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

#include "quantized/packed_params.h"

static bsm_arena arena;

static void ok(bsm_status status) {
  if (!status) return;
  fprintf(stderr, "%s\n", bsm_status_message(status));
  bsm_status_free(status);
  fail();
}

static int set_up(void **state) {
  (void)state;
  bsm_arena_init(&arena, NULL);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  bsm_arena_destroy(&arena);
  return 0;
}

/* ---- values ---- */

static bsm_tensor *tensor(bsm_dtype dtype, bsm_dims dims) {
  bsm_tensor *t;
  ok(bsm_tensor_new(&arena, dtype, dims, false, &t));
  return t;
}

static bsm_ivalue iv(bsm_tensor *t) {
  return bsm_iv_tensor(t);
}

static bsm_ivalue numbers16(const int64_t *v, size_t n) {
  bsm_tensor *t = tensor(BSM_DTYPE_INT16, (bsm_dims){1, {(int64_t)n}});
  for (size_t i = 0; i < n; i++) {
    ((int16_t *)bsm_tensor_data(t))[i] = (int16_t)v[i];
  }
  return iv(t);
}

static bsm_ivalue list(size_t n, const bsm_ivalue *items) {
  bsm_list *l;
  ok(bsm_list_new(&arena, NULL, n, &l));
  if (n) memcpy(l->items, items, n * sizeof *items);
  return bsm_iv_list(l);
}

static bsm_ivalue tuple(size_t n, const bsm_ivalue *items) {
  bsm_tuple *t;
  ok(bsm_tuple_new(&arena, n, &t));
  memcpy(t->items, items, n * sizeof *items);
  return bsm_iv_tuple(t);
}

#define TUPLE(...)                                                \
  tuple(sizeof((bsm_ivalue[]){__VA_ARGS__}) / sizeof(bsm_ivalue), \
        (bsm_ivalue[]){__VA_ARGS__})
#define LIST(...)                                                \
  list(sizeof((bsm_ivalue[]){__VA_ARGS__}) / sizeof(bsm_ivalue), \
       (bsm_ivalue[]){__VA_ARGS__})
#define NONE bsm_iv_none()
#define INT(i) bsm_iv_int(i)

static bsm_ivalue text(const char *s) {
  bsm_ivalue v;
  ok(bsm_iv_string(&arena, bsm_str_of(s), &v));
  return v;
}

/* A weight with one scale. */
static bsm_ivalue weight(bsm_dims dims, double scale, int64_t zero) {
  bsm_tensor *t = tensor(BSM_DTYPE_QINT8, dims);
  bsm_quantizer *q = BSM_NEW(&arena, bsm_quantizer);
  assert_non_null(q);
  *q = (bsm_quantizer){.scale = scale, .zero_point = zero, .axis = -1};
  t->quantizer = q;
  return iv(t);
}

/* With a scale for each row, the last of which is `last`. */
static bsm_ivalue rows(bsm_dtype dtype, bsm_dims dims, int64_t count,
                       double last, double last_zero, bool floating) {
  bsm_tensor *t = tensor(dtype, dims);
  bsm_tensor *scales = tensor(BSM_DTYPE_DOUBLE, (bsm_dims){1, {count}});
  bsm_tensor *zeros = tensor(floating ? BSM_DTYPE_DOUBLE : BSM_DTYPE_INT64,
                             (bsm_dims){1, {count}});
  bsm_quantizer *q = BSM_NEW(&arena, bsm_quantizer);
  assert_non_null(q);
  for (int64_t i = 0; i < count; i++) {
    const bool is_last = i == count - 1;
    ((double *)bsm_tensor_data(scales))[i] = is_last ? last : 0.1;
    if (floating) {
      ((double *)bsm_tensor_data(zeros))[i] = is_last ? last_zero : 3.5;
    } else {
      ((int64_t *)bsm_tensor_data(zeros))[i] = is_last ? (int64_t)last_zero : 0;
    }
  }
  *q = (bsm_quantizer){.scales = scales,
                       .zero_points = zeros,
                       .axis = 0,
                       .float_zero_points = floating};
  t->quantizer = q;
  return iv(t);
}

static bsm_ivalue bias(int64_t n) {
  return iv(tensor(BSM_DTYPE_FLOAT, (bsm_dims){1, {n}}));
}

#define CLASS(name)                                 \
  {                                                 \
    "__torch__.torch.classes." name,                \
        sizeof("__torch__.torch.classes." name) - 1 \
  }
static const bsm_str conv2d = CLASS("quantized.Conv2dPackedParamsBase");
static const bsm_str conv3d = CLASS("quantized.Conv3dPackedParamsBase");
static const bsm_str linear = CLASS("quantized.LinearPackedParamsBase");
static const bsm_str embedding = CLASS("quantized.EmbeddingPackedParamsBase");
static const bsm_str cell = CLASS("rnn.CellParamsBase");

static const bsm_dims image = {4, {6, 2, 3, 3}};

static void refuse(bsm_str name, bsm_ivalue state, const char *why) {
  bsm_ivalue out = {0};
  const bsm_status st = bsm_packed_from_state(&arena, name, &state, &out);
  if (!st) fail_msg("was taken: %s", why);
  if (!strstr(bsm_status_message(st), why)) {
    fail_msg("\"%s\" is not \"%s\"", bsm_status_message(st), why);
  }
  bsm_status_free(st);
}

static const bsm_ivalue *take(bsm_str name, bsm_ivalue state,
                              bsm_packed_kind kind) {
  bsm_ivalue out;
  const bsm_ivalue *slots;
  ok(bsm_packed_from_state(&arena, name, &state, &out));
  ok(bsm_packed_read(&out, kind, &slots));
  return slots;
}

/* ---- convolutions ---- */

enum { NUMBERS = 11 };
static const int64_t numbers[NUMBERS] = {2, 1, 2, 3, 4, 5, 6, 0, 0, 2, 0};

static bsm_ivalue second(bsm_ivalue w, bsm_ivalue b, const int64_t *n,
                         size_t count) {
  return TUPLE(text("2"), LIST(numbers16(n, count), w), LIST(b));
}

static bsm_ivalue third(bsm_ivalue w, bsm_ivalue b, const int64_t *n,
                        size_t count) {
  bsm_ivalue ints;
  ok(bsm_iv_int_list(&arena, n, count, &ints));
  return TUPLE(INT(3), ints, LIST(NONE, w, b));
}

static bsm_ivalue one(int64_t n) {
  return numbers16(&n, 1);
}

static bsm_ivalue first(bsm_ivalue w, bsm_ivalue b) {
  return TUPLE(w, b, LIST(one(1), one(2)), LIST(one(3), one(4)),
               LIST(one(5), one(6)), one(2));
}

static int64_t at(const bsm_ivalue *slots, int slot, size_t i) {
  assert_int_equal(slots[slot].tag, BSM_IVALUE_LIST);
  assert_int_equal(slots[slot].u.list->len, 2);
  return slots[slot].u.list->items[i].u.i;
}

static void versions_of_convolutions_agree(void **state) {
  (void)state;
  const bsm_ivalue w = weight(image, 0.1, 3), b = bias(6);
  const bsm_ivalue states[] = {first(w, b), second(w, b, numbers, NUMBERS),
                               third(w, b, numbers, NUMBERS)};
  for (size_t i = 0; i < 3; i++) {
    const bsm_ivalue *slots = take(conv2d, states[i], BSM_PACKED_CONV);
    assert_ptr_equal(slots[BSM_PACKED_WEIGHT].u.tensor, w.u.tensor);
    assert_ptr_equal(slots[BSM_PACKED_BIAS].u.tensor, b.u.tensor);
    for (size_t k = 0; k < 2; k++) {
      assert_int_equal(at(slots, BSM_PACKED_STRIDE, k), 1 + k);
      assert_int_equal(at(slots, BSM_PACKED_PADDING, k), 3 + k);
      assert_int_equal(at(slots, BSM_PACKED_DILATION, k), 5 + k);
      assert_int_equal(at(slots, BSM_PACKED_OUTPUT_PADDING, k), 0);
    }
    assert_int_equal(slots[BSM_PACKED_GROUPS].u.i, 2);
    assert_false(slots[BSM_PACKED_TRANSPOSED].u.b);
  }
  /* without a bias, and the list for it left empty */
  take(conv2d, third(w, NONE, numbers, NUMBERS), BSM_PACKED_CONV);
  take(conv2d,
       TUPLE(text("2"), LIST(numbers16(numbers, NUMBERS), w), list(0, NULL)),
       BSM_PACKED_CONV);
}

static void numbers_of_convolutions_are_checked(void **state) {
  (void)state;
  static const struct {
    size_t place;
    int64_t value;
    const char *why;
  } cases[] = {
      {0, 3, "another number of dimensions"},
      {1, 0, "stride"},
      {3, -1, "padding"},
      {5, 0, "dilation"},
      {7, -2, "output_padding"},
      {9, 0, "in 0 groups"},
      {9, 4, "in 4 groups"},
      {9, -1, "in -1 groups"},
      {10, 2, "unknown flags"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    int64_t n[NUMBERS];
    memcpy(n, numbers, sizeof n);
    n[cases[i].place] = cases[i].value;
    const bsm_ivalue w = weight(image, 0.1, 3);
    refuse(conv2d, second(w, NONE, n, NUMBERS), cases[i].why);
    refuse(conv2d, third(w, NONE, n, NUMBERS), cases[i].why);
  }
  const bsm_ivalue w = weight(image, 0.1, 0);
  const int64_t many[40] = {2};
  refuse(conv2d, third(w, NONE, numbers, NUMBERS - 1), "another number");
  refuse(conv2d, third(w, NONE, many, 40), "too many numbers");
  refuse(conv2d, second(w, NONE, many, 40), "too many numbers");
  refuse(conv3d, third(w, NONE, numbers, NUMBERS), "another number");
}

static void states_of_other_kinds_are_refused(void **state) {
  (void)state;
  const bsm_ivalue w = weight(image, 0.1, 0);
  const bsm_ivalue n = numbers16(numbers, NUMBERS);
  refuse(conv2d, NONE, "unknown version");
  refuse(conv2d, INT(2), "unknown version");
  refuse(conv2d, list(0, NULL), "unknown version");
  refuse(conv2d, TUPLE(text("4"), LIST(n, w), LIST(NONE)), "unknown version");
  refuse(conv2d, TUPLE(INT(4), LIST(n, w), LIST(NONE)), "unknown version");
  refuse(conv2d, TUPLE(text("2"), LIST(w), LIST(NONE)), "other tensors");
  refuse(conv2d, TUPLE(text("2"), LIST(INT(1), w), LIST(NONE)), "no tensor");
  refuse(conv2d, TUPLE(text("2"), LIST(n, INT(1)), LIST(NONE)), "no tensor");
  refuse(conv2d, TUPLE(w, NONE, LIST(one(1)), LIST(one(1)), LIST(one(1)), w),
         "another length");
  refuse(conv2d, TUPLE(w, NONE), "another number of parts");
  refuse(BSM_STR("__torch__.torch.classes.x.Y"), NONE, "no packed parameters");
}

static void grids_are_checked(void **state) {
  (void)state;
  static const struct {
    double scale;
    int64_t zero;
    const char *why;
  } cases[] = {
      {0, 0, "the scale 0"},
      {-0.1, 0, "the scale -0.1"},
      {NAN, 0, "the scale"},
      {INFINITY, 0, "the scale inf"},
      {0.1, 128, "zero point 128"},
      {0.1, -129, "zero point -129"},
      {0.1, INT64_MAX, "zero point 9223372036854775807"},
  };
  const bsm_dims matrix = {2, {4, 3}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const double scale = cases[i].scale;
    const int64_t zero = cases[i].zero;
    refuse(linear, TUPLE(weight(matrix, scale, zero), NONE), cases[i].why);
    refuse(linear,
           TUPLE(rows(BSM_DTYPE_QINT8, matrix, 4, scale, (double)zero, false),
                 NONE),
           i == 6 ? "zero point" : cases[i].why);
    refuse(conv2d, third(weight(image, scale, zero), NONE, numbers, NUMBERS),
           cases[i].why);
  }
  refuse(linear, TUPLE(rows(BSM_DTYPE_QINT8, matrix, 3, 0.1, 0, false), NONE),
         "other numbers of scales");
  refuse(linear, TUPLE(rows(BSM_DTYPE_QINT8, matrix, 4, 0.1, 0, true), NONE),
         "no integers");
}

static void weights_and_biases_are_checked(void **state) {
  (void)state;
  const bsm_dims matrix = {2, {4, 3}};
  const bsm_ivalue w = weight(matrix, 0.1, 0);
  take(linear, TUPLE(w, bias(4)), BSM_PACKED_LINEAR);
  take(linear, TUPLE(w, NONE), BSM_PACKED_LINEAR);
  take(linear, TUPLE(iv(tensor(BSM_DTYPE_FLOAT, matrix)), bias(4)),
       BSM_PACKED_LINEAR);
  refuse(linear, TUPLE(w, bias(3)), "4 floats are needed");
  refuse(linear, TUPLE(w, iv(tensor(BSM_DTYPE_INT32, (bsm_dims){1, {4}}))),
         "4 floats are needed");
  refuse(linear, TUPLE(w, INT(1)), "the bias is no tensor");
  refuse(linear, TUPLE(w), "another number of parts");
  refuse(linear, TUPLE(NONE, NONE), "no tensor");
  refuse(linear, TUPLE(iv(tensor(BSM_DTYPE_INT8, matrix)), NONE),
         "not quantized");
  refuse(linear, TUPLE(iv(tensor(BSM_DTYPE_FLOAT, image)), NONE), "of shape");
  refuse(linear, TUPLE(weight(image, 0.1, 0), NONE), "2 dimensions of qint8");
  bsm_ivalue u8 = weight(matrix, 0.1, 0);
  u8.u.tensor->dtype = BSM_DTYPE_QUINT8;
  refuse(linear, TUPLE(u8, NONE), "2 dimensions of qint8");
  refuse(conv2d, third(w, NONE, numbers, NUMBERS), "4 dimensions of qint8");
}

/* ---- embeddings and cells ---- */

static void embeddings_are_checked(void **state) {
  (void)state;
  const bsm_dims matrix = {2, {4, 3}};
  const bsm_ivalue w = rows(BSM_DTYPE_QUINT8, matrix, 4, 0.1, 2.5, true);
  const bsm_ivalue no = list(0, NULL);
  take(embedding, TUPLE(INT(1), LIST(w), no, LIST(INT(8))),
       BSM_PACKED_EMBEDDING);
  refuse(embedding, TUPLE(INT(2), LIST(w), no, LIST(INT(8))),
         "unknown version");
  refuse(embedding, TUPLE(INT(1), LIST(w), no, LIST(INT(2))), "of 2 bits");
  refuse(embedding, TUPLE(INT(1), LIST(w, w), no, LIST(INT(8))),
         "another number of parts");
  refuse(embedding, TUPLE(INT(1), LIST(w), no, LIST(text("8"))),
         "another number of parts");
  refuse(embedding,
         TUPLE(INT(1), LIST(weight(matrix, 0.1, 0)), no, LIST(INT(8))),
         "a scale for each row");
  refuse(embedding,
         TUPLE(INT(1), LIST(rows(BSM_DTYPE_QUINT8, matrix, 4, 0.1, NAN, true)),
               no, LIST(INT(8))),
         "the zero point");
}

static void cells_are_checked(void **state) {
  (void)state;
  const bsm_ivalue dynamic = text("quantized_dynamic"), no = list(0, NULL);
  bsm_ivalue in, hidden, other;
  const bsm_ivalue w[] = {weight((bsm_dims){2, {8, 3}}, 0.1, 0),
                          weight((bsm_dims){2, {8, 2}}, 0.1, 0),
                          weight((bsm_dims){2, {4, 2}}, 0.1, 0)};
  const bsm_ivalue none = NONE;
  ok(bsm_packed_linear_new(&arena, &w[0], &none, &in));
  ok(bsm_packed_linear_new(&arena, &w[1], &none, &hidden));
  ok(bsm_packed_linear_new(&arena, &w[2], &none, &other));
  const bsm_ivalue b = LIST(bias(8), bias(8));
  const bsm_ivalue *slots =
      take(cell, TUPLE(dynamic, b, no, LIST(INT(1)), LIST(in, hidden)),
           BSM_PACKED_CELL);
  assert_true(slots[BSM_PACKED_REDUCE_RANGE].u.b);
  take(cell, TUPLE(text("quantized_fp16"), no, no, no, LIST(in, hidden)),
       BSM_PACKED_CELL);
  refuse(cell, TUPLE(text("quantized"), b, no, no, LIST(in, hidden)),
         "another kind");
  refuse(cell, TUPLE(dynamic, b, no, LIST(INT(1)), LIST(in)),
         "another number of parts");
  refuse(cell, TUPLE(dynamic, no, no, LIST(INT(1)), LIST(in, hidden)),
         "another number of parts");
  refuse(cell, TUPLE(dynamic, b, no, LIST(INT(1)), LIST(in, other)),
         "differ in their rows");
  refuse(cell, TUPLE(dynamic, b, no, LIST(INT(1)), LIST(in, INT(3))),
         "linear layers are needed");
  refuse(cell,
         TUPLE(dynamic, LIST(bias(8), bias(7)), no, LIST(INT(1)),
               LIST(in, hidden)),
         "8 floats are needed");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(versions_of_convolutions_agree),
      cmocka_unit_test(numbers_of_convolutions_are_checked),
      cmocka_unit_test(states_of_other_kinds_are_refused),
      cmocka_unit_test(grids_are_checked),
      cmocka_unit_test(weights_and_biases_are_checked),
      cmocka_unit_test(embeddings_are_checked),
      cmocka_unit_test(cells_are_checked),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
