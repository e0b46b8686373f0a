/* SPDX-License-Identifier: Apache-2.0 */
/* Every op against PyTorch: each case of op_cases/ runs on real tensors and
 * on meta tensors; rows without a case are listed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aten/element.h"
#include "aten/generator.h"
#include "aten/op_cases.h"
#include "quantized/quantized_library.h"

enum { MAX_REPORTS = 60 };

typedef struct suite {
  bsm_arena library_arena;
  bsm_aten_library *library;
  op_case_reader reader;
  char *seen; /* one flag for each row */
  int cases, failures, data_dependent;
} suite;

static void report(suite *s, const op_case *c, const char *format, ...) {
  va_list args;
  s->failures++;
  const char *limit = getenv("BSM_SUITE_REPORTS");
  if (s->failures > (limit ? atoi(limit) : MAX_REPORTS)) return;
  bsm_text text;
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  bsm_text_init(&text, &arena);
  for (size_t i = 0; i < c->arg_count && text.len < 600; i++) {
    if (i > 0) bsm_text_puts(&text, ", ");
    const bsm_tensor *t =
        c->args[i].tag == BSM_IVALUE_TENSOR ? c->args[i].u.tensor : NULL;
    if (t && bsm_tensor_numel(t) > 8) {
      bsm_text_printf(&text, "%s%s", bsm_dtype_name(t->dtype),
                      bsm_dims_str(t->sizes));
    } else {
      if (t) bsm_text_printf(&text, "%s ", bsm_dtype_name(t->dtype));
      bsm_iv_print(&text, &c->args[i]);
    }
  }
  fprintf(stderr, "%s, case %d: %.*s(%.700s): ", op_cases_part(&s->reader),
          s->cases, (int)c->name.len, c->name.data, text.data);
  bsm_arena_destroy(&arena);
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
}

/* How far a result of this dtype may be from PyTorch's, relatively. */
static double tolerance(bsm_dtype d) {
  switch (d) {
    case BSM_DTYPE_DOUBLE:
      return 1e-7;
    case BSM_DTYPE_FLOAT:
      return 4e-6;
    case BSM_DTYPE_HALF:
      return 2e-3;
    case BSM_DTYPE_BFLOAT16:
      return 1.6e-2;
    default:
      return 0.0;
  }
}

static bsm_c128 complex_at(const bsm_tensor *t, int64_t index) {
  int64_t at = t->offset;
  for (int32_t i = t->sizes.rank - 1; i >= 0; i--) {
    at += index % t->sizes.d[i] * t->strides[i];
    index /= t->sizes.d[i];
  }
  bsm_c128 v;
  bsm_load_c128(
      t->dtype,
      (const char *)t->storage->data + (size_t)at * bsm_dtype_size(t->dtype), 0,
      1, &v);
  return v;
}

static bool close_enough(double got, double want, double scale, double tol) {
  if (isnan(got) || isnan(want)) return isnan(got) && isnan(want);
  if (isinf(got) || isinf(want)) return got == want;
  return fabs(got - want) <= tol * fabs(want) + tol * scale;
}

/* Complex tensors: part by part, an element's size being its scale. */
static const char *compare_complex(const bsm_tensor *got,
                                   const bsm_tensor *want) {
  static char text[200];
  const double tol = tolerance(bsm_dtype_value_type(got->dtype));
  const int64_t n = bsm_tensor_numel(got);
  double scale = 0.0;
  bsm_c128 g, w;
  for (int64_t i = 0; i < n; i++) {
    w = complex_at(want, i);
    const double size = hypot(w.re, w.im);
    if (isfinite(size) && size > scale) scale = size;
  }
  for (int64_t i = 0; i < n; i++) {
    g = complex_at(got, i);
    w = complex_at(want, i);
    if (close_enough(g.re, w.re, scale, tol) &&
        close_enough(g.im, w.im, scale, tol)) {
      continue;
    }
    snprintf(text, sizeof(text),
             "element %lld of %s is %.9g%+.9gj, not "
             "%.9g%+.9gj",
             (long long)i, bsm_dims_str(got->sizes), g.re, g.im, w.re, w.im);
    return text;
  }
  return NULL;
}

typedef struct rules {
  bool strides, values; /* count */
  bool bits;            /* no tolerance */
} rules;

static const char *compare_tensors(const bsm_tensor *got,
                                   const bsm_tensor *want, rules how);

/* A sum that lies between two steps of the grid goes to either of them: one
 * integer in sixteen, and one more, may be the next. */
static const char *compare_steps(const bsm_tensor *got,
                                 const bsm_tensor *want) {
  static char text[120];
  const int64_t n = bsm_tensor_numel(want);
  int64_t other = 0;
  for (int64_t i = 0; i < n; i++) {
    const int64_t g = bsm_tensor_get_int(got, i);
    const int64_t w = bsm_tensor_get_int(want, i);
    other += g != w;
    if (g - w >= -1 && g - w <= 1 && other <= n / 16 + 1) continue;
    snprintf(text, sizeof(text),
             "element %lld of %lld is %lld, not %lld; %lld others differ",
             (long long)i, (long long)n, (long long)g, (long long)w,
             (long long)other - 1);
    return text;
  }
  return NULL;
}

/* The grid, and the integers as tensors of their own dtype. */
static const char *compare_quantized(const bsm_tensor *got,
                                     const bsm_tensor *want, rules how) {
  const bsm_quantizer *g = got->quantizer, *w = want->quantizer;
  if (!g || !w || (g->scales != NULL) != (w->scales != NULL)) {
    return "another quantization scheme";
  }
  /* Packed parameters keep a scale in float32. */
  if (!g->scales && (fabs(g->scale - w->scale) > 6e-8 * fabs(w->scale) ||
                     g->zero_point != w->zero_point)) {
    return "another scale or zero point";
  }
  if (g->scales && g->axis != w->axis) return "another axis";
  for (int64_t i = 0; g->scales && i < bsm_tensor_numel(w->scales); i++) {
    const double scale = bsm_tensor_get_double(w->scales, i);
    if (fabs(bsm_tensor_get_double(g->scales, i) - scale) > 1e-12 * scale ||
        bsm_tensor_get_int(g->zero_points, i) !=
            bsm_tensor_get_int(w->zero_points, i)) {
      return "other scales or zero points";
    }
  }
  bsm_tensor a = *got, b = *want;
  a.dtype = b.dtype = got->dtype == BSM_DTYPE_QINT8    ? BSM_DTYPE_INT8
                      : got->dtype == BSM_DTYPE_QUINT8 ? BSM_DTYPE_UINT8
                                                       : BSM_DTYPE_INT32;
  how.values = false;
  const char *problem = compare_tensors(&a, &b, how);
  return problem ? problem : compare_steps(&a, &b);
}

static const char *compare_tensors(const bsm_tensor *got,
                                   const bsm_tensor *want, rules how) {
  static char text[200];
  if (got->dtype != want->dtype) {
    snprintf(text, sizeof(text), "dtype %s, not %s", bsm_dtype_name(got->dtype),
             bsm_dtype_name(want->dtype));
    return text;
  }
  if (!bsm_dims_equal(got->sizes, want->sizes)) {
    snprintf(text, sizeof(text), "shape %s, not %s", bsm_dims_str(got->sizes),
             bsm_dims_str(want->sizes));
    return text;
  }
  for (int i = 0; i < got->sizes.rank && how.strides; i++) {
    if (got->sizes.d[i] > 1 && got->strides[i] != want->strides[i]) {
      snprintf(text, sizeof(text), "stride %lld, not %lld, in dim %d of %s",
               (long long)got->strides[i], (long long)want->strides[i], i,
               bsm_dims_str(got->sizes));
      return text;
    }
  }
  if (!how.values) return NULL;
  if (got->dtype == BSM_DTYPE_QINT8 || got->dtype == BSM_DTYPE_QUINT8 ||
      got->dtype == BSM_DTYPE_QINT32) {
    return compare_quantized(got, want, how);
  }
  if (bsm_dtype_is_complex(got->dtype)) return compare_complex(got, want);
  const int64_t n = bsm_tensor_numel(got);
  double scale = 0.0;
  for (int64_t i = 0; i < n; i++) {
    const double w = bsm_tensor_get_double(want, i);
    if (isfinite(w) && fabs(w) > scale) scale = fabs(w);
  }
  const bool exact = bsm_dtype_is_integral(got->dtype, true);
  const double tol = how.bits ? 0.0 : tolerance(got->dtype);
  for (int64_t i = 0; i < n; i++) {
    const double g = bsm_tensor_get_double(got, i);
    const double w = bsm_tensor_get_double(want, i);
    const bool ok =
        exact ? bsm_tensor_get_int(got, i) == bsm_tensor_get_int(want, i)
              : close_enough(g, w, scale, tol);
    if (!ok) {
      snprintf(text, sizeof(text), "element %lld of %s is %.9g, not %.9g",
               (long long)i, bsm_dims_str(got->sizes), g, w);
      return text;
    }
  }
  return NULL;
}

static const char *compare(const bsm_ivalue *got, const bsm_ivalue *want,
                           rules how);

static const char *compare_items(const bsm_ivalue *got, size_t n,
                                 const bsm_ivalue *want, size_t m, rules how) {
  if (n != m) return "another number of items";
  for (size_t i = 0; i < n; i++) {
    const char *problem = compare(&got[i], &want[i], how);
    if (problem) return problem;
  }
  return NULL;
}

/* NULL when equal, else what differs. */
static const char *compare(const bsm_ivalue *got, const bsm_ivalue *want,
                           rules how) {
  static char text[120];
  if (got->tag != want->tag) {
    snprintf(text, sizeof(text), "a %s, not a %s", bsm_iv_tag_name(got->tag),
             bsm_iv_tag_name(want->tag));
    return text;
  }
  switch (got->tag) {
    case BSM_IVALUE_TENSOR:
      return compare_tensors(got->u.tensor, want->u.tensor, how);
    case BSM_IVALUE_LIST:
      return compare_items(got->u.list->items, got->u.list->len,
                           want->u.list->items, want->u.list->len, how);
    case BSM_IVALUE_TUPLE:
      return compare_items(got->u.tuple->items, got->u.tuple->len,
                           want->u.tuple->items, want->u.tuple->len, how);
    case BSM_IVALUE_OBJECT:
      return compare_items(got->u.object->slots, got->u.object->len,
                           want->u.object->slots, want->u.object->len, how);
    case BSM_IVALUE_DICT: {
      const char *problem =
          compare_items(got->u.dict->keys, got->u.dict->len, want->u.dict->keys,
                        want->u.dict->len, how);
      return problem
                 ? problem
                 : compare_items(got->u.dict->values, got->u.dict->len,
                                 want->u.dict->values, want->u.dict->len, how);
    }
    case BSM_IVALUE_DOUBLE:
      if (close_enough(got->u.d, want->u.d, 0.0, 1e-12)) return NULL;
      snprintf(text, sizeof(text), "%.17g, not %.17g", got->u.d, want->u.d);
      return text;
    case BSM_IVALUE_COMPLEX:
      if (close_enough(got->u.c.re, want->u.c.re, 1.0, 1e-12) &&
          close_enough(got->u.c.im, want->u.c.im, 1.0, 1e-12)) {
        return NULL;
      }
      snprintf(text, sizeof(text), "%.17g%+.17gj, not %.17g%+.17gj",
               got->u.c.re, got->u.c.im, want->u.c.re, want->u.c.im);
      return text;
    case BSM_IVALUE_INT:
      if (got->u.i == want->u.i) return NULL;
      snprintf(text, sizeof(text), "%lld, not %lld", (long long)got->u.i,
               (long long)want->u.i);
      return text;
    case BSM_IVALUE_STRING:
      if (bsm_iv_equal(got, want)) return NULL;
      snprintf(text, sizeof(text), "'%.40s', not '%.40s'", got->u.s->data,
               want->u.s->data);
      return text;
    default:
      return bsm_iv_equal(got, want) ? NULL : "another value";
  }
}

/* ---- meta ---- */

static bsm_tensor *meta_of(bsm_arena *arena, const bsm_tensor *t) {
  bsm_tensor *m = BSM_NEW(arena, bsm_tensor);
  assert_non_null(m);
  *m = *t;
  m->storage = BSM_NEW(arena, bsm_storage);
  assert_non_null(m->storage);
  m->storage->size = t->storage->size;
  m->storage->meta = true;
  return m;
}

static bsm_ivalue meta_value(bsm_arena *arena, const bsm_ivalue *v) {
  bsm_ivalue out = *v;
  if (v->tag == BSM_IVALUE_TENSOR) {
    out.u.tensor = meta_of(arena, v->u.tensor);
  } else if (v->tag == BSM_IVALUE_LIST) {
    bsm_list *list;
    bsm_status st = bsm_list_new(arena, NULL, v->u.list->len, &list);
    assert_null(st);
    for (size_t i = 0; i < v->u.list->len; i++) {
      list->items[i] = meta_value(arena, &v->u.list->items[i]);
    }
    out = bsm_iv_list(list);
  } else if (v->tag == BSM_IVALUE_DICT) {
    bsm_dict *dict;
    bsm_status st = bsm_dict_new(arena, NULL, NULL, &dict);
    assert_null(st);
    for (size_t i = 0; i < v->u.dict->len; i++) {
      st = bsm_dict_set(dict, v->u.dict->keys[i],
                        meta_value(arena, &v->u.dict->values[i]));
      assert_null(st);
    }
    out = bsm_iv_dict(dict);
  }
  return out;
}

static bool has_tensor(const bsm_ivalue *v) {
  if (v->tag == BSM_IVALUE_TENSOR) return true;
  for (size_t i = 0; v->tag == BSM_IVALUE_LIST && i < v->u.list->len; i++) {
    if (has_tensor(&v->u.list->items[i])) return true;
  }
  return false;
}

/* NULL for a case without a seed. */
static bsm_generator *start(const op_case *c, bsm_generator *g) {
  if (!c->has_seed) return NULL;
  bsm_generator_seed(g, c->seed);
  return g;
}

static void run_meta(suite *s, bsm_arena *arena, const bsm_aten_op *op,
                     const op_case *c, const bsm_ivalue *meta_args,
                     const bsm_ivalue *real) {
  bsm_ivalue outs[OP_CASE_MAX];
  bsm_generator generator;
  bsm_op_ctx cx = {.arena = arena, .generator = start(c, &generator)};
  bsm_status st =
      bsm_aten_call(&cx, op, meta_args, c->arg_count, outs, c->out_count);
  if (st) {
    if (bsm_status_code(st) == BSM_DATA_DEPENDENT) {
      s->data_dependent++;
    } else {
      report(s, c, "on meta tensors: %s", bsm_status_message(st));
    }
    bsm_status_free(st);
    return;
  }
  for (size_t i = 0; i < c->out_count; i++) {
    /* Plain values that need no data must be right as well. */
    const char *problem = compare(&outs[i], &real[i], (rules){.strides = true});
    if (problem) report(s, c, "meta output %zu: %s", i, problem);
  }
}

/* ---- real ---- */

static void check_after(suite *s, const op_case *c) {
  const char *problem;
  const rules how = {false, true, c->has_seed};
  if (c->args[0].tag == BSM_IVALUE_TENSOR) {
    bsm_tensor whole = *c->args[0].u.tensor;
    whole.sizes = c->after.u.tensor->sizes;
    whole.strides[0] = 1;
    whole.offset = 0;
    problem = compare_tensors(&whole, c->after.u.tensor, how);
  } else {
    problem = compare(&c->args[0], &c->after, how);
  }
  if (problem) report(s, c, "the first argument afterwards: %s", problem);
}

static void run_case(suite *s, bsm_arena *arena, const op_case *c) {
  const bsm_aten_op *op = bsm_aten_find(s->library, c->name);
  if (!op) {
    /* That part is for converters, which need no reference. */
    if (strcmp(op_cases_part(&s->reader), "converters.bin") != 0) {
      report(s, c, "no such op");
    }
    return;
  }
  for (size_t i = 0; i < bsm_aten_library_count(s->library); i++) {
    if (bsm_aten_library_at(s->library, i) == op) s->seen[i] = 1;
  }
  bool tensors = false;
  bsm_generator generator;
  const rules how = {c->strides, c->outcome == OP_RETURNS, c->has_seed};
  bsm_ivalue meta_args[OP_CASE_MAX], outs[OP_CASE_MAX];
  for (size_t i = 0; i < c->arg_count; i++) {
    tensors = tensors || has_tensor(&c->args[i]);
    meta_args[i] = meta_value(arena, &c->args[i]);
  }
  bsm_op_ctx cx = {.arena = arena, .generator = start(c, &generator)};
  bsm_status st =
      bsm_aten_call(&cx, op, c->args, c->arg_count, outs, c->out_count);
  if (c->outcome == OP_RAISES) {
    if (!st) report(s, c, "PyTorch raises, this returned");
    if (st && bsm_status_code(st) == BSM_INTERNAL) {
      report(s, c, "internal error: %s", bsm_status_message(st));
    }
    bsm_status_free(st);
    return;
  }
  if (st) {
    const bool random =
        c->outcome == OP_SHAPE_ONLY && bsm_status_code(st) == BSM_UNSUPPORTED;
    if (!random) report(s, c, "%s", bsm_status_message(st));
    bsm_status_free(st);
    if (random && tensors) run_meta(s, arena, op, c, meta_args, c->outs);
    return;
  }
  for (size_t i = 0; i < c->out_count; i++) {
    const char *problem = compare(&outs[i], &c->outs[i], how);
    if (problem) report(s, c, "output %zu: %s", i, problem);
    if (problem) return;
  }
  if ((op->flags & BSM_ATEN_INPLACE) &&
      outs[0].u.tensor != c->args[0].u.tensor) {
    report(s, c, "in place, but another tensor");
  }
  if ((op->flags & BSM_ATEN_VIEW) && outs[0].tag == BSM_IVALUE_TENSOR &&
      outs[0].u.tensor->storage != c->args[0].u.tensor->storage) {
    report(s, c, "a view with a storage of its own");
  }
  if (c->has_after) check_after(s, c);
  if (c->has_seed && (bsm_generator_u32(&generator) & INT32_MAX) != c->probe) {
    report(s, c, "another number of draws");
  }
  if (tensors) run_meta(s, arena, op, c, meta_args, outs);
}

static void test_cases(void **state) {
  suite *s = *state;
  bsm_arena arena;
  op_case *c = calloc(1, sizeof(*c));
  assert_non_null(c);
  bsm_arena_init(&arena, NULL);
  while (op_cases_next(&s->reader, &arena, c)) {
    s->cases++;
    run_case(s, &arena, c);
    bsm_arena_destroy(&arena);
    bsm_arena_init(&arena, NULL);
  }
  bsm_arena_destroy(&arena);
  free(c);
  assert_false(s->reader.bad);
  fprintf(stderr, "%d cases, %d failures, %d shapes depend on data\n", s->cases,
          s->failures, s->data_dependent);
  assert_true(s->cases > 1000);
  assert_int_equal(s->failures, 0);
}

/* Rows that PyTorch's binding cannot call, or whose answer depends on how it
 * was built; op_test.c has them. */
static bool tested_elsewhere(const bsm_aten_op *op) {
  static const char *const names[] = {"aten::_version",
                                      "prim::tolist",
                                      "aten::_nnpack_available",
                                      "aten::_use_cudnn_rnn_flatten_weight",
                                      "aten::len.Dict_Tensor",
                                      "aten::__getitem__.Dict_Tensor",
                                      "aten::_set_item.Tensor",
                                      "aten::Delete.Dict_Tensor",
                                      "aten::__contains__.Tensor",
                                      "aten::keys.Tensor",
                                      "aten::values.Tensor",
                                      "aten::items.Tensor",
                                      "aten::get.Tensor",
                                      "aten::cuda",
                                      "aten::pow.int_to_int",
                                      "aten::eq.enum",
                                      "aten::ne.enum",
                                      "aten::warn",
                                      "aten::_make_dep_token"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    if (bsm_aten_is_named(op, bsm_str_of(names[i]))) return true;
  }
  return false;
}

static void test_every_row_has_a_case(void **state) {
  suite *s = *state;
  int missing = 0;
  for (size_t i = 0; i < bsm_aten_library_count(s->library); i++) {
    if (s->seen[i] || tested_elsewhere(bsm_aten_library_at(s->library, i))) {
      continue;
    }
    bsm_schema_text room;
    fprintf(stderr, "no case: %s\n",
            bsm_aten_schema(bsm_aten_library_at(s->library, i), &room));
    missing++;
  }
  assert_int_equal(missing, 0);
}

static int set_up(void **state) {
  suite *s = calloc(1, sizeof(*s));
  if (!s) return -1;
  *state = s;
  bsm_arena_init(&s->library_arena, NULL);
  bsm_status st = bsm_aten_library_create(&s->library_arena, &s->library);
  if (!st) st = bsm_quantized_add_ops(&s->library_arena, s->library);
  if (st) {
    fprintf(stderr, "%s\n", bsm_status_message(st));
    bsm_status_free(st);
    return -1;
  }
  s->seen = calloc(bsm_aten_library_count(s->library), 1);
  if (!s->seen) return -1;
  return op_cases_open(&s->reader) ? 0 : -1;
}

static int tear_down(void **state) {
  suite *s = *state;
  op_cases_close(&s->reader);
  bsm_arena_destroy(&s->library_arena);
  free(s->seen);
  free(s);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cases),
      cmocka_unit_test(test_every_row_has_a_case),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
