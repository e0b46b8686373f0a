/* SPDX-License-Identifier: Apache-2.0 */
/* The op index, checked calls, and the rows that the op suite cannot have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "aten/op.h"
#include "base/file.h"

typedef struct fixture {
  bsm_arena arena;
  bsm_aten_library *library;
  int warnings;
} fixture;

static void ok(bsm_status st) {
  if (st) {
    fprintf(stderr, "%s\n", bsm_status_message(st));
    bsm_status_free(st);
    fail();
  }
}

static int set_up(void **state) {
  static fixture f;
  f = (fixture){0};
  bsm_arena_init(&f.arena, NULL);
  ok(bsm_aten_library_create(&f.arena, &f.library));
  *state = &f;
  return 0;
}

static int tear_down(void **state) {
  fixture *f = *state;
  bsm_arena_destroy(&f->arena);
  return 0;
}

static bsm_status call(fixture *f, const char *name, const bsm_ivalue *args,
                       size_t n, bsm_ivalue *outs, size_t m) {
  const bsm_aten_op *op = bsm_aten_find(f->library, bsm_str_of(name));
  assert_non_null(op);
  bsm_op_ctx cx = {.arena = &f->arena};
  return bsm_aten_call(&cx, op, args, n, outs, m);
}

static void expect_failure(bsm_status st, bsm_code code, const char *part) {
  assert_non_null(st);
  assert_int_equal(bsm_status_code(st), code);
  assert_non_null(strstr(bsm_status_message(st), part));
  bsm_status_free(st);
}

static bsm_tensor *floats(fixture *f, const float *v, bsm_dims dims) {
  bsm_tensor *t;
  ok(bsm_tensor_new(&f->arena, BSM_DTYPE_FLOAT, dims, false, &t));
  memcpy(bsm_tensor_data(t), v, (size_t)bsm_tensor_numel(t) * sizeof(float));
  return t;
}

static void test_index(void **state) {
  fixture *f = *state;
  assert_null(bsm_aten_find(f->library, BSM_STR("aten::add.Tenso")));
  assert_null(bsm_aten_find(f->library, BSM_STR("")));
  for (size_t i = 0; i < bsm_aten_library_count(f->library); i++) {
    const bsm_aten_op *op = bsm_aten_library_at(f->library, i);
    bsm_schema_text room;
    const bsm_str name = bsm_aten_name(op, &room);
    assert_ptr_equal(bsm_aten_find(f->library, name), op);
  }
}

/* Each row's schema is PyTorch's text: schemas.txt has them. */
static void test_schemas(void **state) {
  fixture *f = *state;
  bsm_file_map map;
  ok(bsm_file_map_open(BSM_TEST_DATA_DIR "/aten/schemas.txt", NULL, &map));
  bsm_strmap known = {0};
  const char *p = (const char *)map.data, *end = p + map.size;
  while (p < end) {
    const char *line_end = memchr(p, '\n', (size_t)(end - p));
    assert_non_null(line_end);
    assert_true(bsm_strmap_set(&f->arena, &known,
                               (bsm_str){p, (size_t)(line_end - p)}, f));
    p = line_end + 1;
  }
  int unknown = 0;
  for (size_t i = 0; i < bsm_aten_library_count(f->library); i++) {
    bsm_schema_text room;
    const char *schema =
        bsm_aten_schema(bsm_aten_library_at(f->library, i), &room);
    if (bsm_strmap_get(&known, bsm_str_of(schema))) continue;
    fprintf(stderr, "not PyTorch's: %s\n", schema);
    unknown++;
  }
  bsm_file_map_close(&map);
  assert_int_equal(unknown, 0);
}

static void test_wrong_arguments(void **state) {
  fixture *f = *state;
  const float v[] = {1, 2};
  bsm_ivalue t = bsm_iv_tensor(floats(f, v, (bsm_dims){1, {2}})), out[2];
  const bsm_ivalue number[] = {bsm_iv_int(1)};
  expect_failure(call(f, "aten::relu", number, 1, out, 1), BSM_UNSUPPORTED,
                 "wrong type");
  expect_failure(call(f, "aten::relu", number, 0, out, 1), BSM_UNSUPPORTED,
                 "missing argument");
  const bsm_ivalue two[] = {t, t};
  expect_failure(call(f, "aten::relu", two, 2, out, 1), BSM_UNSUPPORTED,
                 "expected 1");
  expect_failure(call(f, "aten::relu", &t, 1, out, 2), BSM_UNSUPPORTED,
                 "2 results asked");
  const bsm_ivalue null_tensor = bsm_iv_tensor(NULL);
  expect_failure(call(f, "aten::relu", &null_tensor, 1, out, 1),
                 BSM_UNSUPPORTED, "wrong type");
  bsm_list *mixed;
  ok(bsm_list_new(&f->arena, NULL, 2, &mixed));
  mixed->items[0] = t;
  mixed->items[1] = bsm_iv_int(3);
  const bsm_ivalue cat[] = {bsm_iv_list(mixed), bsm_iv_int(0)};
  expect_failure(call(f, "aten::cat", cat, 2, out, 1), BSM_UNSUPPORTED,
                 "wrong type (List)");
}

static bsm_tensor *ones(fixture *f, int32_t rank) {
  const float one = 1;
  bsm_dims dims = {rank, {0}};
  for (int32_t i = 0; i < rank; i++) dims.d[i] = 1;
  return floats(f, &one, dims);
}

/* `n` is beyond a limit of ours, or (`bad`) what PyTorch refuses. */
static void test_own_limits(void **state) {
  static const struct {
    const char *name;
    int rank, tensor_at, count; /* of the arguments, all of them numbers */
    int64_t n, bad;
  } rows[] = {
      {"aten::tensor_split.sections", 1, 0, 3, 2000000, 0},
      {"aten::polygamma", 1, 1, 2, 200000, -1},
      {"aten::mvlgamma", 1, 0, 2, 200000, 0},
      {"aten::pixel_shuffle", 3, 0, 2, 1 << 16, 0},
      {"aten::adaptive_avg_pool1d", 3, 0, 2, INT64_C(1) << 32, -1},
      {"aten::combinations", 1, 0, 3, 100, -1},
  };
  fixture *f = *state;
  for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
    for (int bad = 0; bad < 2; bad++) {
      const bsm_ivalue n = bsm_iv_int(bad ? rows[i].bad : rows[i].n);
      bsm_ivalue args[3] = {n, n, bsm_iv_int(0)}, out;
      args[rows[i].tensor_at] = bsm_iv_tensor(ones(f, rows[i].rank));
      if (i == 4) ok(bsm_iv_int_list(&f->arena, &n.u.i, 1, &args[1]));
      if (i == 5) args[2] = bsm_iv_bool(false);
      bsm_status st =
          call(f, rows[i].name, args, (size_t)rows[i].count, &out, 1);
      expect_failure(st, bad ? BSM_INVALID_ARGUMENT : BSM_LIMIT, "");
    }
  }
}

/* More dimensions than we take, and what we lack, are no errors of a model
 * either. */
static void test_own_refusals(void **state) {
  fixture *f = *state;
  const bsm_ivalue none = bsm_iv_none(), no = bsm_iv_bool(false);
  const bsm_ivalue wide = bsm_iv_tensor(ones(f, BSM_MAX_RANK));
  const bsm_ivalue four = bsm_iv_tensor(ones(f, 4)), zero = bsm_iv_double(0);
  bsm_ivalue out[2];
  bsm_ivalue attention[] = {wide, wide, wide, none, zero, no, none, no};
  expect_failure(
      call(f, "aten::scaled_dot_product_attention", attention, 8, out, 1),
      BSM_LIMIT, "dimensions");
  attention[0] = bsm_iv_tensor(ones(f, 1));
  expect_failure(
      call(f, "aten::scaled_dot_product_attention", attention, 8, out, 1),
      BSM_INVALID_ARGUMENT, "at least 2 dimensional");
  const bsm_ivalue two[] = {wide, wide};
  expect_failure(call(f, "aten::inner", two, 2, out, 1), BSM_LIMIT,
                 "dimensions");
  bsm_ivalue quantile[] = {wide, bsm_iv_double(0.5), none, no, none};
  ok(bsm_iv_string(&f->arena, BSM_STR("linear"), &quantile[4]));
  expect_failure(call(f, "aten::quantile.scalar", quantile, 5, out, 1),
                 BSM_LIMIT, "dimensions");
  const bsm_ivalue fused[] = {four, four, four, bsm_iv_double(0.5),
                              no,   none, none};
  expect_failure(call(f, "aten::_scaled_dot_product_flash_attention_for_cpu",
                      fused, 7, out, 2),
                 BSM_UNSUPPORTED, "dropout");
}

static bsm_ivalue of_dtype(fixture *f, bsm_dtype dtype, bsm_dims dims) {
  bsm_tensor *t;
  ok(bsm_tensor_new(&f->arena, dtype, dims, false, &t));
  return bsm_iv_tensor(t);
}

/* Dtypes that PyTorch computes with, and we do not. */
static void test_lacking_dtypes(void **state) {
  fixture *f = *state;
  const bsm_dims one = {1, {2}}, two = {2, {2, 2}};
  const bsm_ivalue complex = of_dtype(f, BSM_DTYPE_COMPLEX_FLOAT, one);
  const bsm_ivalue half = of_dtype(f, BSM_DTYPE_HALF, two);
  const bsm_ivalue bytes = of_dtype(f, BSM_DTYPE_INT8, two);
  const bsm_ivalue ints = of_dtype(f, BSM_DTYPE_INT64, one);
  const bsm_ivalue none = bsm_iv_none(), no = bsm_iv_bool(false);
  const bsm_ivalue p = bsm_iv_double(2), n = bsm_iv_int(1);
  const bsm_ivalue complexes[] = {complex, complex};
  const bsm_ivalue cdist[] = {half, half, p, none};
  const bsm_ivalue dist[] = {ints, ints, p};
  const bsm_ivalue attention[] = {bytes, bytes, bytes, none, p, no, none, no};
  const bsm_ivalue floats2 = of_dtype(f, BSM_DTYPE_FLOAT, one);
  const bsm_ivalue floats1 = of_dtype(f, BSM_DTYPE_FLOAT, (bsm_dims){1, {1}});
  const bsm_ivalue ints1 = of_dtype(f, BSM_DTYPE_INT64, (bsm_dims){1, {1}});
  const int64_t first = 0;
  bsm_ivalue out, dims0;
  ok(bsm_iv_int_list(&f->arena, &first, 1, &dims0));
  const bsm_ivalue tensordot[] = {floats2, floats1, dims0, dims0};
  const bsm_ivalue nll[] = {floats1, ints1, none, n, bsm_iv_int(-100)};
  const struct {
    const char *name;
    const bsm_ivalue *args;
    size_t count;
  } rows[] = {{"aten::silu", complexes, 1},
              {"aten::logaddexp", complexes, 2},
              {"aten::_cdist_forward", cdist, 4},
              {"aten::dist", dist, 3},
              {"aten::lerp.Scalar", dist, 3},
              {"aten::tensordot", tensordot, 4},
              {"aten::nll_loss_nd", nll, 5},
              {"aten::scaled_dot_product_attention", attention, 8}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
    expect_failure(call(f, rows[i].name, rows[i].args, rows[i].count, &out, 1),
                   BSM_UNSUPPORTED, "");
  }
  /* What PyTorch refuses, too. */
  expect_failure(call(f, "aten::_softmax",
                      (bsm_ivalue[]){bytes, bsm_iv_int(0), no}, 3, &out, 1),
                 BSM_INVALID_ARGUMENT, "not implemented for");
}

/* Refusals that PyTorch makes of elements, not of tensors that have none; and
 * odd calls that it takes. */
static void test_empty_tensors(void **state) {
  fixture *f = *state;
  const bsm_dims one = {1, {3}}, two = {2, {3, 0}}, full = {2, {3, 2}};
  const bsm_ivalue none = bsm_iv_none(), no = bsm_iv_bool(false);
  const bsm_ivalue yes = bsm_iv_bool(true), n = bsm_iv_int(0);
  const bsm_ivalue p = bsm_iv_double(1);
  const bsm_ivalue empty = of_dtype(f, BSM_DTYPE_INT32, two);
  const bsm_ivalue void2 = of_dtype(f, BSM_DTYPE_FLOAT, two);
  const bsm_ivalue ints = of_dtype(f, BSM_DTYPE_INT32, full);
  const bsm_ivalue line = of_dtype(f, BSM_DTYPE_FLOAT, one);
  const bsm_ivalue plane = of_dtype(f, BSM_DTYPE_FLOAT, full);
  const bsm_ivalue images =
      of_dtype(f, BSM_DTYPE_INT64, (bsm_dims){4, {0, 2, 3, 3}});
  const bsm_ivalue bytes =
      of_dtype(f, BSM_DTYPE_BOOL, (bsm_dims){4, {1, 2, 3, 3}});
  const int64_t units[] = {1, 1}, threes[] = {3, 3};
  bsm_ivalue ones1, ones2, threes2, out;
  ok(bsm_iv_int_list(&f->arena, units, 1, &ones1));
  ok(bsm_iv_int_list(&f->arena, units, 2, &ones2));
  ok(bsm_iv_int_list(&f->arena, threes, 2, &threes2));
  const struct {
    const char *name;
    bsm_ivalue args[9];
    size_t count;
    bsm_code code;
  } rows[] = {
      {"aten::_softmax", {empty, n, no}, 3, BSM_UNSUPPORTED},
      {"aten::_softmax", {ints, n, no}, 3, BSM_INVALID_ARGUMENT},
      {"aten::log_softmax.int", {empty, n, none}, 3, BSM_UNSUPPORTED},
      {"aten::log_softmax.int", {ints, n, none}, 3, BSM_INVALID_ARGUMENT},
      {"aten::batch_norm",
       {empty, none, none, none, none, no, p, p, no},
       9,
       BSM_UNSUPPORTED},
      {"aten::batch_norm",
       {plane, none, none, none, none, no, p, p, no},
       9,
       BSM_INVALID_ARGUMENT},
      {"aten::adaptive_avg_pool2d", {images, threes2}, 2, BSM_UNSUPPORTED},
      {"aten::adaptive_avg_pool2d", {bytes, threes2}, 2, BSM_INVALID_ARGUMENT},
      {"aten::adaptive_avg_pool2d", {plane, ones2}, 2, BSM_UNSUPPORTED},
      {"aten::adaptive_avg_pool2d", {plane, threes2}, 2, BSM_INVALID_ARGUMENT},
      {"aten::take_along_dim", {void2, void2, none}, 3, BSM_UNSUPPORTED},
      {"aten::take_along_dim", {plane, plane, none}, 3, BSM_INVALID_ARGUMENT},
      {"aten::expand", {plane, ones1, yes}, 3, BSM_UNSUPPORTED},
      {"aten::expand", {plane, ones1, no}, 3, BSM_INVALID_ARGUMENT},
      {"aten::feature_alpha_dropout", {line, p, yes}, 3, BSM_CODE_OK},
      {"aten::_upsample_bicubic2d_aa",
       {bytes, threes2, yes, none, none},
       5,
       BSM_UNSUPPORTED},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
    bsm_status st = call(f, rows[i].name, rows[i].args, rows[i].count, &out, 1);
    if (bsm_status_code(st) != rows[i].code) {
      fail_msg("%s, row %zu: %s", rows[i].name, i, bsm_status_message(st));
    }
    bsm_status_free(st);
  }
}

static void test_size_limit(void **state) {
  fixture *f = *state;
  bsm_ivalue size, out;
  const int64_t dims[] = {1 << 20, 1 << 20};
  ok(bsm_iv_int_list(&f->arena, dims, 2, &size));
  const bsm_ivalue args[] = {size, bsm_iv_none(), bsm_iv_none(), bsm_iv_none(),
                             bsm_iv_none()};
  bsm_op_ctx cx = {.arena = &f->arena, .max_tensor_bytes = 1 << 20};
  const bsm_aten_op *op = bsm_aten_find(f->library, BSM_STR("aten::zeros"));
  expect_failure(bsm_aten_call(&cx, op, args, 5, &out, 1), BSM_LIMIT,
                 "exceeds the limit");
}

/* In place on borrowed memory: the memory stays, all views see the change. */
static void test_read_only_storage(void **state) {
  fixture *f = *state;
  const float v[] = {-1, 2, -3, 4};
  const bsm_array array = {
      (void *)(uintptr_t)v, BSM_DTYPE_FLOAT, {1, {4}}, NULL};
  bsm_tensor *t, *view;
  ok(bsm_tensor_from_array(&f->arena, &array, true, &t));
  const int64_t stride = 2;
  ok(bsm_tensor_view(&f->arena, t, (bsm_dims){1, {2}}, &stride, 0, &view));
  const bsm_ivalue arg = bsm_iv_tensor(view);
  bsm_ivalue out;
  ok(call(f, "aten::relu_", &arg, 1, &out, 1));
  assert_true(v[0] == -1 && v[2] == -3);
  assert_true(bsm_tensor_get_double(t, 0) == 0.0);
  assert_true(bsm_tensor_get_double(t, 1) == 2.0);
  assert_true(bsm_tensor_get_double(t, 2) == 0.0);
}

static void test_overlapping_in_place(void **state) {
  fixture *f = *state;
  const float v[] = {1, 2, 3, 4};
  bsm_tensor *t = floats(f, v, (bsm_dims){1, {4}}), *low, *high;
  const int64_t one = 1, zero = 0;
  ok(bsm_tensor_view(&f->arena, t, (bsm_dims){1, {3}}, &one, 0, &low));
  ok(bsm_tensor_view(&f->arena, t, (bsm_dims){1, {3}}, &one, 1, &high));
  const bsm_ivalue add[] = {bsm_iv_tensor(high), bsm_iv_tensor(low),
                            bsm_iv_int(1)};
  bsm_ivalue out;
  expect_failure(call(f, "aten::add_.Tensor", add, 3, &out, 1),
                 BSM_INVALID_ARGUMENT, "single memory location");
  ok(bsm_tensor_view(&f->arena, t, (bsm_dims){1, {3}}, &zero, 0, &low));
  const bsm_ivalue wide[] = {bsm_iv_tensor(low), bsm_iv_tensor(high),
                             bsm_iv_int(1)};
  expect_failure(call(f, "aten::add_.Tensor", wide, 3, &out, 1),
                 BSM_INVALID_ARGUMENT, "more than one element");
}

static void test_meta_needs_values(void **state) {
  fixture *f = *state;
  bsm_tensor *t;
  ok(bsm_tensor_new(&f->arena, BSM_DTYPE_FLOAT, (bsm_dims){0}, true, &t));
  const bsm_ivalue arg = bsm_iv_tensor(t);
  bsm_ivalue out;
  expect_failure(call(f, "aten::item", &arg, 1, &out, 1), BSM_DATA_DEPENDENT,
                 "aten::item");
  ok(call(f, "aten::dim", &arg, 1, &out, 1));
  assert_int_equal(out.u.i, 0);
}

/* ---- rows without a case ---- */

static void test_tolist(void **state) {
  fixture *f = *state;
  const float v[] = {1, 2, 3, 4};
  const bsm_ivalue args[] = {bsm_iv_tensor(floats(f, v, (bsm_dims){2, {2, 2}})),
                             bsm_iv_int(2), bsm_iv_int(1)};
  bsm_ivalue out;
  ok(call(f, "prim::tolist", args, 3, &out, 1));
  bsm_text text;
  bsm_text_init(&text, &f->arena);
  bsm_iv_print(&text, &out);
  assert_string_equal(text.data, "[[1., 2.], [3., 4.]]");
}

static void test_tensor_keys(void **state) {
  fixture *f = *state;
  const float v[] = {1};
  bsm_dict *dict;
  ok(bsm_dict_new(&f->arena, NULL, NULL, &dict));
  const bsm_ivalue d = bsm_iv_dict(dict);
  const bsm_ivalue a = bsm_iv_tensor(floats(f, v, (bsm_dims){0}));
  const bsm_ivalue b = bsm_iv_tensor(floats(f, v, (bsm_dims){0}));
  bsm_ivalue out;
  const bsm_ivalue set[] = {d, a, bsm_iv_int(7)}, has_a[] = {d, a},
                   has_b[] = {d, b};
  ok(call(f, "aten::_set_item.Tensor", set, 3, NULL, 0));
  ok(call(f, "aten::len.Dict_Tensor", &d, 1, &out, 1));
  assert_int_equal(out.u.i, 1);
  ok(call(f, "aten::__contains__.Tensor", has_a, 2, &out, 1));
  assert_true(out.u.b);
  ok(call(f, "aten::__contains__.Tensor", has_b, 2, &out, 1));
  assert_false(out.u.b); /* equal values, another tensor */
  ok(call(f, "aten::__getitem__.Dict_Tensor", has_a, 2, &out, 1));
  assert_int_equal(out.u.i, 7);
  expect_failure(call(f, "aten::__getitem__.Dict_Tensor", has_b, 2, &out, 1),
                 BSM_RAISED, "KeyError");
  ok(call(f, "aten::get.Tensor", has_b, 2, &out, 1));
  assert_int_equal(out.tag, BSM_IVALUE_NONE);
  ok(call(f, "aten::keys.Tensor", &d, 1, &out, 1));
  assert_ptr_equal(out.u.list->items[0].u.tensor, a.u.tensor);
  ok(call(f, "aten::values.Tensor", &d, 1, &out, 1));
  assert_int_equal(out.u.list->items[0].u.i, 7);
  ok(call(f, "aten::items.Tensor", &d, 1, &out, 1));
  assert_int_equal(out.u.list->items[0].u.tuple->items[1].u.i, 7);
  ok(call(f, "aten::Delete.Dict_Tensor", has_a, 2, NULL, 0));
  assert_int_equal(dict->len, 0);
}

static void test_enums(void **state) {
  fixture *f = *state;
  bsm_object red = {0}, blue = {0};
  const bsm_ivalue r = {BSM_IVALUE_ENUM, {.object = &red}};
  const bsm_ivalue b = {BSM_IVALUE_ENUM, {.object = &blue}};
  const bsm_ivalue same[] = {r, r}, other[] = {r, b};
  bsm_ivalue out;
  ok(call(f, "aten::eq.enum", same, 2, &out, 1));
  assert_true(out.u.b);
  ok(call(f, "aten::eq.enum", other, 2, &out, 1));
  assert_false(out.u.b);
  ok(call(f, "aten::ne.enum", other, 2, &out, 1));
  assert_true(out.u.b);
}

static void count_warning(void *user, bsm_log_level level,
                          const char *message) {
  fixture *f = user;
  if (level == BSM_LOG_LEVEL_WARNING && strstr(message, "careful")) {
    f->warnings++;
  }
}

static void test_the_rest(void **state) {
  fixture *f = *state;
  const float v[] = {1, 2};
  const bsm_ivalue t = bsm_iv_tensor(floats(f, v, (bsm_dims){1, {2}}));
  bsm_ivalue out;
  ok(call(f, "aten::_version", &t, 1, &out, 1));
  assert_int_equal(out.u.i, 0);
  ok(call(f, "aten::_nnpack_available", NULL, 0, &out, 1));
  assert_false(out.u.b);
  ok(call(f, "aten::_use_cudnn_rnn_flatten_weight", NULL, 0, &out, 1));
  assert_false(out.u.b);
  ok(call(f, "aten::cuda", &t, 1, &out, 1));
  assert_int_equal(out.u.tensor->device_type, 1);
  assert_true(bsm_tensor_get_double(out.u.tensor, 1) == 2.0);
  const bsm_ivalue power[] = {bsm_iv_int(-3), bsm_iv_int(3)};
  ok(call(f, "aten::pow.int_to_int", power, 2, &out, 1));
  assert_int_equal(out.u.i, -27);
  bsm_ivalue warn[] = {bsm_iv_none(), bsm_iv_int(2)};
  ok(bsm_iv_string(&f->arena, BSM_STR("careful"), &warn[0]));
  const bsm_logger logger = {BSM_LOG_LEVEL_WARNING, count_warning, f};
  bsm_op_ctx cx = {.arena = &f->arena, .logger = &logger};
  ok(bsm_aten_call(&cx, bsm_aten_find(f->library, BSM_STR("aten::warn")), warn,
                   2, NULL, 0));
  assert_int_equal(f->warnings, 1);
}

static void test_token(void **state) {
  fixture *f = *state;
  const bsm_ivalue none = bsm_iv_none();
  const bsm_ivalue args[] = {none, none, none, none, none};
  bsm_ivalue out;
  ok(call(f, "aten::_make_dep_token", args, 5, &out, 1));
  assert_int_equal(bsm_tensor_numel(out.u.tensor), 0);
}

/* Work grows with what is given and what comes out, not with its square. */
static void test_large_median(void **state) {
  enum { N = 1 << 20 };
  fixture *f = *state;
  bsm_tensor *t;
  bsm_ivalue out[2];
  ok(bsm_tensor_new(&f->arena, BSM_DTYPE_FLOAT, (bsm_dims){1, {N}}, false, &t));
  for (int i = 0; i < N; i++) {
    ((float *)bsm_tensor_data(t))[i] = (float)((N - 1 - i) / 2);
  }
  const bsm_ivalue args[] = {bsm_iv_tensor(t), bsm_iv_int(0),
                             bsm_iv_bool(false)};
  ok(call(f, "aten::median.dim", args, 3, out, 2));
  assert_true(bsm_tensor_get_double(out[0].u.tensor, 0) == N / 4 - 1);
  /* Of two equal elements the second is the lower median. */
  assert_int_equal(bsm_tensor_get_int(out[1].u.tensor, 0), N / 2 + 1);
}

static void test_corner_of_a_large_triangle(void **state) {
  enum { N = 1 << 20 };
  fixture *f = *state;
  const bsm_ivalue none = bsm_iv_none();
  bsm_ivalue args[] = {
      bsm_iv_int(N), bsm_iv_int(N), bsm_iv_int(2 - N), none, none, none, none};
  bsm_ivalue out;
  const int64_t lower[] = {N - 2, N - 1, N - 1, 0, 0, 1};
  const int64_t upper[] = {0, 0, 1, N - 2, N - 1, N - 1};
  for (int i = 0; i < 2; i++) {
    args[2] = bsm_iv_int(i ? N - 2 : 2 - N);
    ok(call(f, i ? "aten::triu_indices" : "aten::tril_indices", args, 7, &out,
            1));
    assert_int_equal(bsm_tensor_numel(out.u.tensor), 6);
    assert_memory_equal(bsm_tensor_data(out.u.tensor), i ? upper : lower,
                        sizeof(lower));
  }
}

/* Values of PyTorch 2.11: rows along the last of three dimensions are compared
 * with the others in their order. */
static void test_unique_along_the_last(void **state) {
  static const float x[24] = {1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0,
                              1, 1, 0, 1, 1, 0, 1, 0, 0, 0, 0, 1};
  static const float want[24] = {0, 0, 1, 1, 0, 1, 0, 0, 1, 0, 0, 0,
                                 0, 1, 1, 1, 1, 0, 0, 1, 0, 0, 1, 0};
  static const int64_t inverse[4] = {3, 1, 0, 2};
  fixture *f = *state;
  bsm_tensor *t;
  bsm_ivalue out[3];
  ok(bsm_tensor_new(&f->arena, BSM_DTYPE_FLOAT, (bsm_dims){3, {3, 2, 4}}, false,
                    &t));
  memcpy(bsm_tensor_data(t), x, sizeof(x));
  const bsm_ivalue args[] = {bsm_iv_tensor(t), bsm_iv_int(2), bsm_iv_bool(true),
                             bsm_iv_bool(true), bsm_iv_bool(true)};
  ok(call(f, "aten::unique_dim", args, 5, out, 3));
  for (int i = 0; i < 24; i++) {
    assert_true(bsm_tensor_get_double(out[0].u.tensor, i) == (double)want[i]);
  }
  assert_memory_equal(bsm_tensor_data(out[1].u.tensor), inverse,
                      sizeof(inverse));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_index, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_schemas, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_wrong_arguments, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_own_limits, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_own_refusals, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_lacking_dtypes, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_empty_tensors, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_size_limit, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_read_only_storage, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_overlapping_in_place, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_meta_needs_values, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_tolist, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_tensor_keys, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_enums, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_the_rest, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_large_median, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_unique_along_the_last, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_corner_of_a_large_triangle, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_token, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
