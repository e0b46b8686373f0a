/* SPDX-License-Identifier: Apache-2.0 */
/* Every operator charges the work that it does (bsm_op_charge). The suite's
 * calls run within what they charge and not within less, and what must be
 * refused leaves nothing behind.
 *
 *   op_work_test                of CI
 *   op_work_test measure [NAME] makes arguments large, one size and one number
 *                               at a time, and prints what takes more than
 *                               SLOW nanoseconds for a unit of what it charged
 */
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
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "aten/generator.h"
#include "aten/op_cases.h"
#include "quantized/quantized_library.h"

#define MAX_TENSOR_BYTES ((size_t)64 << 20)
#define MOST_WORK 2e9
#define SLOW 8.0

typedef struct world {
  bsm_arena own;
  const bsm_aten_library *aten;
} world;

static void begin(world *w) {
  bsm_aten_library *aten;
  bsm_arena_init(&w->own, NULL);
  assert_null(bsm_aten_library_create(&w->own, &aten));
  assert_null(bsm_quantized_add_ops(&w->own, aten));
  w->aten = aten;
}

/* Calls the case's op with a budget; *work is what it charged. */
static bsm_status call(const world *w, const op_case *c, const bsm_ivalue *args,
                       bsm_arena *arena, double limit, double *work) {
  bsm_generator generator;
  bsm_work_budget budget = {.limit = limit, .left = limit};
  bsm_ivalue outs[OP_CASE_MAX];
  bsm_generator_seed(&generator, c->seed);
  bsm_op_ctx cx = {.arena = arena,
                   .generator = &generator,
                   .max_tensor_bytes = MAX_TENSOR_BYTES,
                   .work = &budget};
  const bsm_aten_op *op = bsm_aten_find(w->aten, c->name);
  if (!op) return BSM_FAIL(BSM_UNSUPPORTED, "no op");
  bsm_status status =
      bsm_aten_call(&cx, op, args, c->arg_count, outs, c->out_count);
  *work = limit - budget.left;
  return status;
}

/* ---- the suite ---- */

static bool writes(const world *w, const op_case *c) {
  const bsm_aten_op *op = bsm_aten_find(w->aten, c->name);
  return !op || (op->flags & (BSM_ATEN_INPLACE | BSM_ATEN_EFFECT));
}

static void calls_take_what_they_charge(void **state) {
  (void)state;
  world w;
  op_case_reader reader;
  bsm_arena arena;
  op_case c;
  size_t count = 0;
  begin(&w);
  bsm_arena_init(&arena, NULL);
  assert_true(op_cases_open(&reader));
  const bsm_arena_mark mark = bsm_arena_get_mark(&arena);
  while (op_cases_next(&reader, &arena, &c)) {
    double work, again;
    if (!writes(&w, &c) && c.outcome != OP_RAISES) {
      bsm_status status = call(&w, &c, c.args, &arena, 1e15, &work);
      const bool failed = status != BSM_OK;
      bsm_status_free(status);
      if (!failed) {
        count++;
        status = call(&w, &c, c.args, &arena, work, &again);
        if (status || again != work) {
          fail_msg("%.*s charges %.0f and %.0f: %s", (int)c.name.len,
                   c.name.data, work, again, bsm_status_message(status));
        }
        status = call(&w, &c, c.args, &arena, work - 1, &again);
        if (bsm_status_code(status) != BSM_LIMIT ||
            !strstr(bsm_status_message(status), "max_work")) {
          fail_msg("%.*s within less than it charges: %s", (int)c.name.len,
                   c.name.data, bsm_status_message(status));
        }
        bsm_status_free(status);
      }
    }
    bsm_arena_rewind(&arena, mark);
  }
  op_cases_close(&reader);
  bsm_arena_destroy(&arena);
  bsm_arena_destroy(&w.own);
  assert_true(count > 5000);
}

/* ---- writing ---- */

/* Asking for dims costs the same whatever these are. */
static void attributes_visit_nothing(void **state) {
  (void)state;
  static const char *const names[] = {"aten::size", "aten::dim", "prim::dtype",
                                      "aten::is_contiguous",
                                      "aten::is_floating_point"};
  world w;
  begin(&w);
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    const bsm_aten_op *op = bsm_aten_find(w.aten, bsm_str_of(names[i]));
    assert_non_null(op);
    double work[2];
    for (int large = 0; large < 2; large++) {
      bsm_tensor *t;
      bsm_ivalue out;
      bsm_work_budget budget = {.limit = 1e6, .left = 1e6};
      bsm_op_ctx cx = {.arena = &w.own, .work = &budget};
      const bsm_dims dims = {1, {large ? 1000000 : 1}};
      assert_null(bsm_tensor_new(&w.own, BSM_DTYPE_UINT8, dims, true, &t));
      const bsm_ivalue self = bsm_iv_tensor(t);
      assert_null(bsm_aten_call(&cx, op, &self, 1, &out, 1));
      work[large] = budget.limit - budget.left;
    }
    if (work[0] != work[1]) fail_msg("%s: %g", names[i], work[1]);
  }
  bsm_arena_destroy(&w.own);
}

static void copy_args(const op_case *c, bsm_arena *arena, bsm_ivalue *out) {
  for (size_t i = 0; i < c->arg_count; i++) {
    out[i] = c->args[i];
    if (out[i].tag == BSM_IVALUE_TENSOR) {
      assert_null(bsm_tensor_clone(arena, out[i].u.tensor, &out[i].u.tensor));
    }
  }
}

static bool same_elements(const bsm_tensor *a, const bsm_tensor *b) {
  const size_t size = bsm_dtype_size(a->dtype);
  return a->dtype == b->dtype && bsm_dims_equal(a->sizes, b->sizes) &&
         memcmp(bsm_tensor_data(a), bsm_tensor_data(b),
                (size_t)bsm_tensor_numel(a) * size) == 0;
}

/* The engine does again from the start what was too much. */
static void refused_calls_write_nothing(void **state) {
  (void)state;
  world w;
  op_case_reader reader;
  bsm_arena arena;
  op_case c;
  size_t count = 0;
  begin(&w);
  bsm_arena_init(&arena, NULL);
  assert_true(op_cases_open(&reader));
  const bsm_arena_mark mark = bsm_arena_get_mark(&arena);
  while (op_cases_next(&reader, &arena, &c)) {
    const bsm_aten_op *op = bsm_aten_find(w.aten, c.name);
    double work;
    bsm_ivalue args[OP_CASE_MAX], before[OP_CASE_MAX];
    const bool applies = op && (op->flags & BSM_ATEN_INPLACE) && c.arg_count &&
                         c.args[0].tag == BSM_IVALUE_TENSOR;
    copy_args(&c, &arena, before);
    copy_args(&c, &arena, args);
    bsm_status status =
        applies ? call(&w, &c, args, &arena, 1e15, &work) : NULL;
    for (int part = 1; applies && !status && part <= 8; part++) {
      double again;
      copy_args(&c, &arena, args);
      status =
          call(&w, &c, args, &arena, work * part / 8 - (part == 8), &again);
      if (bsm_status_code(status) != BSM_LIMIT ||
          !same_elements(args[0].u.tensor, before[0].u.tensor)) {
        fail_msg("%.*s writes %d parts of 8: %s", (int)c.name.len, c.name.data,
                 part, bsm_status_message(status));
      }
      bsm_status_free(status);
      status = NULL;
      count++;
    }
    bsm_status_free(status);
    bsm_arena_rewind(&arena, mark);
  }
  op_cases_close(&reader);
  bsm_arena_destroy(&arena);
  bsm_arena_destroy(&w.own);
  assert_true(count > 1000);
}

/* ---- measuring ---- */

static double now(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* How a call is made large: sizes of `from` become `to`; the number of argument
 * `arg` becomes `number`. */
typedef struct change {
  int64_t from, to;
  bool numbers; /* `from` as a number, too */
  size_t arg;   /* SIZE_MAX: none */
  int64_t number;
} change;

static bool enlarge(bsm_arena *arena, const change *how, size_t index,
                    const bsm_ivalue *v, bsm_ivalue *out) {
  *out = *v;
  if (v->tag == BSM_IVALUE_TENSOR) {
    bsm_tensor *from = v->u.tensor, *given, *t;
    bsm_dims dims = from->sizes;
    double bytes = (double)bsm_dtype_size(from->dtype);
    bool same = true;
    for (int32_t i = 0; i < dims.rank; i++) {
      if (how->from && dims.d[i] == how->from) {
        dims.d[i] = how->to;
        same = false;
      }
      bytes *= (double)dims.d[i];
    }
    if (same) return true;
    if (bytes > MAX_TENSOR_BYTES / 4.0 || bsm_dtype_is_quantized(from->dtype) ||
        bsm_tensor_contiguous(arena, from, &given) ||
        bsm_tensor_new(arena, from->dtype, dims, false, &t)) {
      return false;
    }
    const size_t size = bsm_dtype_size(from->dtype);
    const size_t have = (size_t)bsm_tensor_numel(given) * size;
    const size_t want = (size_t)bsm_tensor_numel(t) * size;
    for (size_t i = 0; have && i < want; i++) {
      ((uint8_t *)bsm_tensor_data(t))[i] =
          ((const uint8_t *)bsm_tensor_data(given))[i % have];
    }
    *out = bsm_iv_tensor(t);
  } else if (v->tag == BSM_IVALUE_LIST) {
    bsm_list *list;
    if (bsm_list_new(arena, NULL, v->u.list->len, &list)) return false;
    for (size_t i = 0; i < list->len; i++) {
      if (!enlarge(arena, how, index, &v->u.list->items[i], &list->items[i])) {
        return false;
      }
    }
    *out = bsm_iv_list(list);
  } else if (v->tag == BSM_IVALUE_INT) {
    if (how->numbers && v->u.i == how->from) *out = bsm_iv_int(how->to);
    if (how->arg == index) *out = bsm_iv_int(how->number);
  } else if (v->tag == BSM_IVALUE_DOUBLE && how->arg == index) {
    *out = bsm_iv_double((double)how->number);
  }
  return true;
}

/* In a process of its own: it may take any time. */
static void try_change(const world *w, const op_case *c, const change *how) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    bsm_arena arena;
    bsm_ivalue args[OP_CASE_MAX];
    double work = 0;
    bool fits = true;
    bsm_arena_init(&arena, NULL);
    for (size_t i = 0; fits && i < c->arg_count; i++) {
      fits = enlarge(&arena, how, i, &c->args[i], &args[i]);
    }
    if (!fits) _exit(0);
    (void)setrlimit(RLIMIT_CPU, &(struct rlimit){20, 21});
    const double start = now();
    bsm_status status = call(w, c, args, &arena, MOST_WORK, &work);
    const double took = now() - start;
    if (took > 0.02 && took * 1e9 > SLOW * work) {
      printf(
          "%-44.*s %7.3f s, %12.0f units, %9.1f ns: %s%lld to %lld, "
          "argument %d = %lld %s\n",
          (int)c->name.len, c->name.data, took, work, took * 1e9 / work,
          how->numbers ? "numbers, too, " : "", (long long)how->from,
          (long long)how->to, (int)how->arg, (long long)how->number,
          status ? bsm_status_message(status) : "");
      fflush(stdout);
    }
    _exit(0);
  }
  int code = 0;
  (void)waitpid(child, &code, 0);
  if (WIFSIGNALED(code)) {
    printf("%-44.*s signal %d: %lld to %lld, argument %d = %lld\n",
           (int)c->name.len, c->name.data, WTERMSIG(code), (long long)how->from,
           (long long)how->to, (int)how->arg, (long long)how->number);
  }
}

static size_t add_sizes(const bsm_ivalue *v, int64_t *sizes, size_t n) {
  if (v->tag == BSM_IVALUE_LIST) {
    for (size_t i = 0; i < v->u.list->len; i++) {
      n = add_sizes(&v->u.list->items[i], sizes, n);
    }
  }
  if (v->tag != BSM_IVALUE_TENSOR) return n;
  for (int32_t d = 0; d < v->u.tensor->sizes.rank; d++) {
    bool known = n == 8;
    for (size_t i = 0; i < n && !known; i++) {
      known = sizes[i] == v->u.tensor->sizes.d[d];
    }
    if (!known) sizes[n++] = v->u.tensor->sizes.d[d];
  }
  return n;
}

static void measure_case(const world *w, const op_case *c) {
  static const int64_t large[] = {100, 1000, 30000, 1000000},
                       numbers[] = {100, 10000, 1000000};
  int64_t sizes[9] = {0};
  size_t n = 1;
  for (size_t i = 0; i < c->arg_count; i++)
    n = add_sizes(&c->args[i], sizes, n);
  for (size_t s = 0; s < n; s++) {
    for (size_t k = 0; k < (s ? 4 : 1); k++) {
      change how = {sizes[s], sizes[s] ? large[k] : 0, false, SIZE_MAX, 0};
      try_change(w, c, &how);
      how.numbers = true;
      if (sizes[s]) try_change(w, c, &how);
      for (size_t a = 0; a < c->arg_count; a++) {
        const bsm_ivalue *v = &c->args[a];
        const bool list = v->tag == BSM_IVALUE_LIST && v->u.list->len &&
                          v->u.list->items[0].tag == BSM_IVALUE_INT;
        if (v->tag != BSM_IVALUE_INT && v->tag != BSM_IVALUE_DOUBLE && !list) {
          continue;
        }
        how.arg = a;
        for (size_t m = 0; m < 3; m++) {
          how.number = numbers[m];
          try_change(w, c, &how);
        }
      }
    }
  }
}

static int measure(const char *only) {
  world w;
  op_case_reader reader;
  bsm_arena arena;
  op_case c;
  char last[128] = "";
  int times = 0;
  begin(&w);
  bsm_arena_init(&arena, NULL);
  if (!op_cases_open(&reader)) return 1;
  const bsm_arena_mark mark = bsm_arena_get_mark(&arena);
  while (op_cases_next(&reader, &arena, &c)) {
    const size_t length = c.name.len < 127 ? c.name.len : 127;
    times = strncmp(last, c.name.data, length) || last[length] ? 0 : times + 1;
    memcpy(last, c.name.data, length);
    last[length] = 0;
    if (c.outcome != OP_RAISES && times % 8 == 0 && times < 32 &&
        (!only || strstr(last, only)) && !op_case_is_quantized(&c)) {
      measure_case(&w, &c);
    }
    bsm_arena_rewind(&arena, mark);
  }
  op_cases_close(&reader);
  bsm_arena_destroy(&arena);
  bsm_arena_destroy(&w.own);
  return 0;
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(calls_take_what_they_charge),
      cmocka_unit_test(attributes_visit_nothing),
      cmocka_unit_test(refused_calls_write_nothing),
  };
  if (argc > 1) return measure(argc > 2 ? argv[2] : NULL);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
