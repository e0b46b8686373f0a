/* SPDX-License-Identifier: Apache-2.0 */
/* Which views of memory have bytes in common, against all of their bytes; and
 * which steps follow which. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/step_order.h"

/* ---- views ---- */

static bsm_memory_view view(uint64_t offset, uint64_t element, bsm_dims dims,
                            const int64_t *strides) {
  bsm_memory_view v = {.memory = BSM_MEMORY_WORKSPACE,
                       .offset = offset,
                       .element = element,
                       .layout.dims = dims};
  for (int32_t i = 0; i < dims.rank; i++) v.layout.strides[i] = strides[i];
  return v;
}

enum { ROOM = 4096 };

/* Marks the bytes of a view; whether one was marked already. */
static bool mark(const bsm_memory_view *v, uint8_t *bytes) {
  int64_t at[BSM_MAX_RANK] = {0};
  bool met = false;
  for (;;) {
    uint64_t place = v->offset;
    int32_t i = v->layout.dims.rank;
    for (int32_t k = 0; k < i; k++) {
      place += (uint64_t)(at[k] * v->layout.strides[k]) * v->element;
    }
    for (uint64_t k = 0; k < v->element; k++) {
      assert_true(place + k < ROOM);
      met = met || bytes[place + k];
      bytes[place + k] = 1;
    }
    while (i > 0 && ++at[i - 1] == v->layout.dims.d[i - 1]) at[--i] = 0;
    if (i == 0) return met;
  }
}

static bool have_common_bytes(const bsm_memory_view *a,
                              const bsm_memory_view *b) {
  uint8_t bytes[ROOM] = {0}, others[ROOM] = {0};
  bool common = false;
  (void)mark(a, bytes);
  (void)mark(b, others);
  for (int i = 0; i < ROOM; i++) common = common || (bytes[i] && others[i]);
  return common;
}

static void assert_overlap(const bsm_memory_view *a, const bsm_memory_view *b,
                           bool overlap) {
  assert_int_equal(bsm_memory_views_overlap(a, b), overlap);
  assert_int_equal(bsm_memory_views_overlap(b, a), overlap);
}

/* Parts of a concatenation of maps, channels last, wherever the whole begins;
 * and all pairs of some views: never told apart when they are not. */
static void test_views(void **state) {
  (void)state;
  const int64_t maps[4] = {4 * 3 * 10, 1, 3 * 10, 10};
  for (uint64_t start = 0; start < 64; start += 2) {
    const bsm_memory_view a = view(start, 2, (bsm_dims){4, {1, 6, 4, 3}}, maps);
    const bsm_memory_view b =
        view(start + 12, 2, (bsm_dims){4, {1, 4, 4, 3}}, maps);
    const bsm_memory_view all =
        view(start, 2, (bsm_dims){4, {1, 10, 4, 3}}, maps);
    assert_overlap(&a, &b, false);
    assert_overlap(&a, &all, true);
    assert_overlap(&b, &all, true);
  }
  uint32_t seed = 7, apart = 0;
  for (int i = 0; i < 4000; i++) {
    bsm_memory_view v[2];
    for (int k = 0; k < 2; k++) {
      int64_t size[3], stride[3];
      for (int j = 0; j < 3; j++) {
        static const int64_t strides[] = {0, 1, 2, 4, 5, 8, 16, 24, 40};
        seed = seed * 1664525u + 1013904223u;
        size[j] = 1 + (seed >> 28) % 5;
        stride[j] = strides[(seed >> 20) % 9];
      }
      seed = seed * 1664525u + 1013904223u;
      v[k] = view((seed >> 16) % 64, (uint64_t)1 << (seed >> 30),
                  (bsm_dims){3, {size[0], size[1], size[2]}}, stride);
    }
    const bool overlap = bsm_memory_views_overlap(&v[0], &v[1]);
    assert_int_equal(overlap, bsm_memory_views_overlap(&v[1], &v[0]));
    if (have_common_bytes(&v[0], &v[1])) assert_true(overlap);
    apart += !overlap;
  }
  assert_true(apart > 400);
}

static void test_memories(void **state) {
  (void)state;
  const int64_t one[1] = {1};
  bsm_memory_view a = view(0, 4, (bsm_dims){1, {8}}, one), b = a;
  assert_overlap(&a, &b, true);
  b.memory = BSM_MEMORY_CALLERS; /* and the workspace */
  assert_overlap(&a, &b, false);
  a.memory = BSM_MEMORY_CALLERS + 1; /* an output in the caller's memory */
  assert_overlap(&a, &b, true);
  b.memory = BSM_MEMORY_CALLERS + 2; /* another output */
  assert_overlap(&a, &b, false);
  b = a;
  b.element = 0;
  assert_overlap(&a, &b, false);
  b = a;
  b.layout.dims.d[0] = 0;
  assert_overlap(&a, &b, false);
}

/* ---- orders ---- */

enum { STEPS = 70 };

/* Step i reads tensor in[i] and writes tensor i + 1. */
typedef struct sample {
  bsm_plan_step steps[STEPS];
  uint32_t in[STEPS], out[STEPS];
  bsm_memory_view views[STEPS + 1];
  bsm_arena arena;
  bsm_step_order order;
} sample;

static void make(sample *s, uint32_t count, const uint32_t *in,
                 const uint64_t *places) {
  static const int64_t one[1] = {1};
  memset(s, 0, sizeof(*s));
  bsm_arena_init(&s->arena, NULL);
  for (uint32_t i = 0; i <= count; i++) {
    s->views[i] = view(64 * places[i], 4, (bsm_dims){1, {16}}, one);
  }
  for (uint32_t i = 0; i < count; i++) {
    s->in[i] = in[i];
    s->out[i] = i + 1;
    s->steps[i] = (bsm_plan_step){.input_count = 1,
                                  .output_count = 1,
                                  .inputs = &s->in[i],
                                  .outputs = &s->out[i]};
  }
  assert_null(
      bsm_step_order_init(&s->order, s->steps, count, s->views, &s->arena));
  for (uint32_t i = 0; i < count; i++) {
    bsm_step_order_add_memory(&s->order, i, i, 0);
  }
}

/* What is written is read; what was read is written; what was written is
 * written again. */
static void test_order(void **state) {
  (void)state;
  sample s;
  /* Steps 1 and 2 read what 0 wrote; 3 writes what 1 read into: step 1's
   * result; 4 reads step 2's. */
  make(&s, 5, (uint32_t[]){0, 1, 1, 0, 3}, (uint64_t[]){0, 1, 2, 3, 2, 4});
  const bool follows[5][5] = {{false},
                              {true},
                              {true, false},
                              {true, true, false},
                              {true, false, true, false}};
  for (uint32_t i = 0; i < 5; i++) {
    for (uint32_t j = 0; j < i; j++) {
      assert_int_equal(bsm_step_order_follows(&s.order, i, j), follows[i][j]);
    }
  }
  bsm_arena_destroy(&s.arena);
}

/* A chain of more steps than a word has bits, and a step beside its end. */
static void test_long_order(void **state) {
  (void)state;
  sample s;
  uint32_t in[STEPS];
  uint64_t places[STEPS + 1];
  for (uint32_t i = 0; i < STEPS; i++) in[i] = i;
  for (uint32_t i = 0; i <= STEPS; i++) places[i] = i;
  in[STEPS - 1] = 1;
  make(&s, STEPS, in, places);
  for (uint32_t i = 0; i < STEPS - 1; i++) {
    for (uint32_t j = 0; j < i; j++) {
      assert_true(bsm_step_order_follows(&s.order, i, j));
    }
    assert_int_equal(bsm_step_order_follows(&s.order, STEPS - 1, i), i == 0);
  }
  bsm_step_order_add(&s.order, STEPS - 1, 66);
  assert_true(bsm_step_order_follows(&s.order, STEPS - 1, 65));
  assert_true(bsm_step_order_follows(&s.order, STEPS - 1, 66));
  assert_false(bsm_step_order_follows(&s.order, STEPS - 1, 67));
  bsm_arena_destroy(&s.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_views), cmocka_unit_test(test_memories),
      cmocka_unit_test(test_order), cmocka_unit_test(test_long_order)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
