/* SPDX-License-Identifier: Apache-2.0 */
/* Attention steps against plain loops in double: sizes, strides, masks. */
#include "tests/conformance/step_harness.h"

typedef struct problem {
  int batch[2], queries, keys, depth, width;
  int biases, mask; /* mask: BSM_ATTENTION_* */
  bool causal, clears_hidden;
  int64_t diagonal;
  double scale, fill;
  /* Layouts: 0 row-major, 1 heads beside each other in a row, 2 columns of a
   * head adjacent (transposed). */
  int q_layout, k_layout, v_layout, y_layout;
  bool share_heads;     /* k and v are the same for all of batch[1] */
  unsigned mask_flat;   /* bits: dimensions that masks do not tell apart */
  bool hides_some_rows; /* masks hide all keys of some queries */
  float big;            /* the scores grow with the key by this */
  const char *tactic;   /* of GPUs; other targets have one each */
} problem;

static void layout_strides(int layout, const int *batch, int rows, int columns,
                           int64_t *s) {
  s[3] = layout == 2 ? rows : 1;
  s[2] = layout == 2 ? 1 : layout == 1 ? (int64_t)columns * batch[1] : columns;
  s[1] = layout == 1 ? columns : (int64_t)rows * columns;
  s[0] = (int64_t)rows * columns * batch[1];
}

typedef struct operands {
  const float *q, *k, *v, *bias[2];
  const uint8_t *mask;
  int64_t qs[4], ks[4], vs[4], bs[2][4], ms[4];
} operands;

static int64_t at(const int64_t *s, int64_t b0, int64_t b1, int64_t i,
                  int64_t j) {
  return b0 * s[0] + b1 * s[1] + i * s[2] + j * s[3];
}

static void mask_strides(const problem *p, int64_t *s) {
  const int64_t dims[4] = {p->batch[0], p->batch[1], p->queries, p->keys};
  int64_t step = 1;
  for (int i = 3; i >= 0; i--) {
    const bool flat = p->mask_flat >> i & 1;
    s[i] = flat ? 0 : step;
    if (!flat) step *= dims[i];
  }
}

static double score_of(const problem *p, const operands *o, int64_t b0,
                       int64_t b1, int64_t i, int64_t j) {
  double s = 0;
  for (int e = 0; e < p->depth; e++) {
    s += (double)o->q[at(o->qs, b0, b1, i, e)] *
         (double)o->k[at(o->ks, b0, b1, j, e)];
  }
  s *= p->scale;
  for (int n = 0; n < p->biases; n++) {
    s += (double)o->bias[n][at(o->bs[n], b0, b1, i, j)];
  }
  if (p->mask) {
    const bool set = o->mask[at(o->ms, b0, b1, i, j)] != 0;
    if (set == (p->mask == BSM_ATTENTION_HIDE)) s = p->fill;
  }
  if (p->causal && j > i + p->diagonal) s = -INFINITY;
  return s;
}

/* All outputs [b0, b1, queries, width] in double. */
static double *solve(const problem *p, const operands *o) {
  const size_t rows =
      (size_t)p->batch[0] * (size_t)p->batch[1] * (size_t)p->queries;
  double *y = malloc(rows * (size_t)p->width * sizeof(double) + 1);
  double *s = malloc((size_t)p->keys * sizeof(double) + 1);
  assert_non_null(y);
  assert_non_null(s);
  size_t done = 0;
  for (size_t r = 0; r < rows; r++) {
    const int64_t i = (int64_t)r % p->queries;
    const int64_t b1 = (int64_t)r / p->queries % p->batch[1];
    const int64_t b0 = (int64_t)r / p->queries / p->batch[1];
    double most = -INFINITY, sum = 0;
    for (int64_t j = 0; j < p->keys; j++) {
      s[j] = score_of(p, o, b0, b1, i, j);
      if (isnan(s[j]) || s[j] > most) most = s[j];
    }
    for (int64_t j = 0; j < p->keys; j++) sum += s[j] = exp(s[j] - most);
    for (int64_t c = 0; c < p->width; c++) {
      double v = 0;
      for (int64_t j = 0; j < p->keys; j++) {
        v += s[j] * (double)o->v[at(o->vs, b0, b1, j, c)];
      }
      v = p->keys == 0 ? 0 : v / sum;
      y[done++] = most == -INFINITY && p->clears_hidden ? 0 : v;
    }
  }
  free(s);
  return y;
}

typedef struct expected {
  const double *values;
  double tolerance;
} expected;

static void compare(harness *h, uint32_t isa, void *arg) {
  const expected *e = arg;
  const bsm_plan_tensor *y = &h->tensors[h->step.outputs[0]];
  const float *got = h->outputs[0];
  int64_t index[BSM_MAX_RANK] = {0};
  size_t i = 0;
  char what[64];
  snprintf(what, sizeof(what), "isa %u", isa);
  do {
    const double x = (double)got[offset_of(y, index)];
    if (isnan(x) != isnan(e->values[i])) {
      fail_msg("%s: element %zu is %g, expected %g", what, i, x, e->values[i]);
    }
    assert_close(x, e->values[i++], e->tolerance, what);
  } while (next_index(y->dims, index));
}

/* Bias and mask inputs. */
static void add_masks(harness *h, const problem *p, operands *o,
                      harness_rng *rng) {
  const bsm_dims d = dims_of(4, p->batch[0], p->batch[1], p->queries, p->keys);
  for (int n = 0; n < p->biases; n++) {
    mask_strides(p, o->bs[n]);
    o->bias[n] = add_input(h, BSM_DTYPE_FLOAT, d, o->bs[n]);
    const uint32_t id = h->step.input_count - 1;
    fill_input(h, rng, id);
    float *b = (float *)(void *)h->data[h->step.inputs[id]].data;
    const size_t count = h->data[h->step.inputs[id]].size / sizeof(float);
    for (size_t i = 0; i < count && p->hides_some_rows; i++) {
      if (rng_range(rng, 0, 2)) b[i] = -INFINITY;
    }
  }
  if (!p->mask) return;
  mask_strides(p, o->ms);
  o->mask = add_input(h, BSM_DTYPE_BOOL, d, o->ms);
  guarded *g = &h->data[h->step.inputs[h->step.input_count - 1]];
  for (size_t i = 0; i < g->size; i++) g->data[i] = rng_range(rng, 0, 3) == 0;
  if (!p->hides_some_rows) return;
  for (size_t i = 0; i < g->size; i++) {
    if (i / (size_t)p->keys % 3 == 0) {
      g->data[i] = p->mask == BSM_ATTENTION_HIDE;
    }
  }
}

/* Builds the step; the operands point into the harness. */
static void build(harness *h, const problem *p, operands *o, harness_rng *rng) {
  const int b0 = p->batch[0], b1 = p->batch[1];
  int64_t ys[4];
  harness_init(h, BSM_STEP_ATTENTION);
  h->params.attention = (bsm_step_attention){.biases = p->biases,
                                             .mask = p->mask,
                                             .causal = p->causal,
                                             .clears_hidden = p->clears_hidden,
                                             .diagonal = p->diagonal,
                                             .scale = p->scale,
                                             .fill = p->fill};
  layout_strides(p->q_layout, p->batch, p->queries, p->depth, o->qs);
  layout_strides(p->k_layout, p->batch, p->keys, p->depth, o->ks);
  layout_strides(p->v_layout, p->batch, p->keys, p->width, o->vs);
  layout_strides(p->y_layout, p->batch, p->queries, p->width, ys);
  if (p->share_heads) o->ks[1] = o->vs[1] = 0;
  o->q = add_input(h, BSM_DTYPE_FLOAT, dims_of(4, b0, b1, p->queries, p->depth),
                   o->qs);
  float *k = add_input(h, BSM_DTYPE_FLOAT,
                       dims_of(4, b0, b1, p->keys, p->depth), o->ks);
  o->k = k;
  o->v = add_input(h, BSM_DTYPE_FLOAT, dims_of(4, b0, b1, p->keys, p->width),
                   o->vs);
  for (uint32_t i = 0; i < 3; i++) fill_input(h, rng, i);
  for (int64_t j = 0; j < p->keys && p->big > 0; j++) {
    for (int64_t e = 0; e < p->depth; e++) {
      k[at(o->ks, 0, 0, j, e)] *= 1 + p->big * (float)j;
    }
  }
  add_masks(h, p, o, rng);
  add_output(h, BSM_DTYPE_FLOAT, dims_of(4, b0, b1, p->queries, p->width), ys);
}

static void run_problem(const problem *p, harness_rng *rng) {
  harness h;
  operands o = {0};
  build(&h, p, &o, rng);
  if (p->tactic && !suite_is_for("cpu")) h.step.tactic = p->tactic;
  double *y = solve(p, &o);
  expected e = {y, 2e-5};
  harness_run_all(&h, compare, &e);
  free(y);
  harness_free(&h);
}

static int pick(harness_rng *r, const int *values, int count) {
  return values[rng_range(r, 0, count - 1)];
}

static void random_problem(problem *p, harness_rng *r) {
  static const int lengths[] = {1,  2,  3,  4,  5,  7,   12,  13,
                                16, 17, 31, 49, 64, 100, 130, 197};
  static const int widths[] = {1, 3, 8, 15, 16, 17, 24, 32, 40, 64, 72};
  static const int layouts[] = {0, 0, 1, 1, 1, 2};
  *p = (problem){.batch = {rng_range(r, 1, 2), rng_range(r, 1, 3)},
                 .queries = pick(r, lengths, 16),
                 .keys = pick(r, lengths, 16),
                 .depth = pick(r, widths, 11),
                 .width = pick(r, widths, 11),
                 .biases = rng_range(r, 0, 3) ? 0 : rng_range(r, 1, 2),
                 .mask = rng_range(r, 0, 2) ? 0 : rng_range(r, 1, 2),
                 .causal = rng_range(r, 0, 2) == 0,
                 .clears_hidden = rng_range(r, 0, 1),
                 .diagonal = rng_range(r, -5, 20),
                 .scale = rng_range(r, 0, 3) ? 0.3 : 1,
                 .fill = rng_range(r, 0, 2) ? -INFINITY : -5.0,
                 .q_layout = pick(r, layouts, 6),
                 .k_layout = pick(r, layouts, 6),
                 .v_layout = pick(r, layouts, 6),
                 .y_layout = rng_range(r, 0, 1),
                 .share_heads = rng_range(r, 0, 3) == 0,
                 .mask_flat = (unsigned)rng_range(r, 0, 15),
                 .hides_some_rows = rng_range(r, 0, 2) == 0};
}

static void test_random(void **state) {
  harness_rng r = {71};
  (void)state;
  suite_needs(BSM_STEP_ATTENTION);
  for (int i = 0; i < 400; i++) {
    problem p;
    random_problem(&p, &r);
    run_problem(&p, &r);
  }
}

/* Each kernel of GPUs, whichever is the one that sizes ask for: with what hides
 * keys, and around the ends of tiles and of the room for columns. */
static void test_tactics(void **state) {
  static const char *const tactics[] = {"wgmma 64", "mma", "wgmma 128", "short",
                                        "tiles"};
  static const int lengths[] = {1, 15, 63, 64, 65, 100, 129, 197};
  static const int columns[] = {8, 24, 64, 72, 128, 136, 200, 256};
  harness_rng r = {77};
  (void)state;
  suite_needs(BSM_STEP_ATTENTION);
  for (int i = 0; i < 40; i++) {
    const int wide = i < 30 ? 4 : 8;
    const problem p = {.batch = {1, rng_range(&r, 1, 3)},
                       .queries = pick(&r, lengths, 8),
                       .keys = pick(&r, lengths, 8),
                       .depth = pick(&r, columns, wide),
                       .width = pick(&r, columns, wide),
                       .biases = i % 4 == 1   ? 1
                                 : i % 8 == 2 ? 2
                                              : 0,
                       .mask = i % 4 == 3 ? 1 + i / 4 % 2 : 0,
                       .causal = i % 3 == 2,
                       .clears_hidden = i % 2,
                       .diagonal = rng_range(&r, -5, 70),
                       .scale = 0.3,
                       .fill = i % 8 == 3 ? -INFINITY : -5.0,
                       .q_layout = i % 3 == 1,
                       .k_layout = i % 3 == 1,
                       .v_layout = i % 2,
                       .y_layout = 1,
                       .share_heads = i % 6 == 0,
                       .mask_flat = i % 2 ? 4u + (unsigned)rng_range(&r, 0, 3)
                                          : (unsigned)rng_range(&r, 0, 15),
                       .hides_some_rows = i % 5 == 3,
                       .tactic = tactics[i % 5]};
    run_problem(&p, &r);
  }
}

/* Keys in several blocks: the maximum grows from one to the next, or the first
 * blocks are hidden. */
static void test_many_keys(void **state) {
  static const int keys[] = {513, 700, 1024, 1300};
  harness_rng r = {72};
  (void)state;
  suite_needs(BSM_STEP_ATTENTION);
  for (int i = 0; i < 24; i++) {
    const problem p = {.batch = {1, 2},
                       .queries = i % 4 == 3 ? 2 : 30 + 7 * i,
                       .keys = keys[i % 4],
                       .depth = 16,
                       .width = 24,
                       .biases = i % 3 == 1,
                       .mask = i % 5 == 0 ? BSM_ATTENTION_KEEP : 0,
                       .causal = i % 2,
                       .clears_hidden = i % 3 == 0,
                       .diagonal = i % 4 == 1 ? -3 : 600,
                       .scale = 0.25,
                       .fill = i % 10 == 0 ? -INFINITY : -4,
                       .q_layout = 1,
                       .k_layout = 1,
                       .v_layout = 1,
                       .y_layout = 1,
                       .hides_some_rows = i % 2,
                       .big = i % 3 == 2 ? 0.01f : 0.0f};
    run_problem(&p, &r);
  }
}

/* The first two blocks of keys hidden from some queries, by -inf. */
static void test_hidden_blocks(void **state) {
  enum { L = 20, S = 1200 };
  harness_rng r = {73};
  harness h;
  operands o = {0};
  const problem p = {.batch = {1, 1},
                     .queries = L,
                     .keys = S,
                     .depth = 8,
                     .width = 16,
                     .biases = 1,
                     .scale = 0.5};
  (void)state;
  suite_needs(BSM_STEP_ATTENTION);
  build(&h, &p, &o, &r);
  float *bias = h.inputs[3];
  for (int i = 0; i < L; i++) {
    for (int j = 0; j < S - i; j++) {
      if (i % 2) bias[i * S + j] = -INFINITY;
    }
  }
  double *y = solve(&p, &o);
  expected e = {y, 2e-5};
  harness_run_all(&h, compare, &e);
  free(y);
  harness_free(&h);
}

/* No keys: zeros; no depth: the mean of the values. */
static void test_empty(void **state) {
  harness_rng r = {74};
  (void)state;
  suite_needs(BSM_STEP_ATTENTION);
  for (int queries = 2; queries < 30; queries += 20) {
    problem p = {.batch = {1, 2},
                 .queries = queries,
                 .depth = 5,
                 .width = 18,
                 .scale = 1};
    run_problem(&p, &r);
    p.keys = 9;
    p.depth = 0;
    run_problem(&p, &r);
  }
}

static void compare_specials(harness *h, uint32_t isa, void *arg) {
  compare(h, isa, arg);
  assert_true(isnan(((float *)h->outputs[0])[16]));
  assert_true(isnan(((float *)h->outputs[0])[0]) == 0);
}

/* NaN and infinities in a query reach its own row, and only that. */
static void test_specials(void **state) {
  static const float values[] = {NAN, INFINITY, -INFINITY};
  harness_rng r = {75};
  (void)state;
  suite_needs(BSM_STEP_ATTENTION);
  for (int which = 0; which < 6; which++) {
    harness h;
    operands o = {0};
    const problem p = {.batch = {1, 1},
                       .queries = which < 3 ? 3 : 40,
                       .keys = 37,
                       .depth = 16,
                       .width = 16,
                       .clears_hidden = which % 2,
                       .scale = 1};
    build(&h, &p, &o, &r);
    float *q = h.inputs[0];
    q[16] = values[which % 3];
    double *y = solve(&p, &o);
    expected e = {y, 2e-5};
    harness_run_all(&h, compare_specials, &e);
    free(y);
    harness_free(&h);
  }
}

/* Bits do not depend on how many threads share a head. */
static void test_threads(void **state) {
  enum { MOST = 7 };
  harness_rng r = {76};
  harness h;
  operands o = {0};
  const problem p = {.batch = {1, 1},
                     .queries = 700,
                     .keys = 600,
                     .depth = 20,
                     .width = 33,
                     .causal = true,
                     .diagonal = 3,
                     .scale = 0.5};
  uint32_t isas[8];
  const int count = harness_isas(isas);
  (void)state;
  suite_needs(BSM_STEP_ATTENTION);
  build(&h, &p, &o, &r);
  guarded *g = &h.data[h.step.outputs[0]];
  uint8_t *first = malloc(g->size);
  assert_non_null(first);
  for (int i = 0; i < count; i++) {
    for (int threads = 1; threads <= MOST; threads += 2) {
      memset(g->data, 0x5a, g->size);
      assert_null(harness_run(&h, isas[i], threads));
      if (threads == 1) memcpy(first, g->data, g->size);
      assert_memory_equal(first, g->data, g->size);
    }
  }
  free(first);
  harness_free(&h);
}

static void expect_refused(harness *h) {
  bsm_status st = harness_run(h, bsm_isa_detect(), 1);
  assert_int_equal(bsm_status_code(st), BSM_CORRUPT);
  bsm_status_free(st);
}

/* What the check must see before kernels run. */
static void test_refused(void **state) {
  harness_rng r = {77};
  harness h;
  operands o = {0};
  const problem p = {.batch = {1, 2},
                     .queries = 5,
                     .keys = 6,
                     .depth = 7,
                     .width = 8,
                     .biases = 1,
                     .mask = BSM_ATTENTION_KEEP,
                     .scale = 1};
  (void)state;
  suite_needs(BSM_STEP_ATTENTION);
  build(&h, &p, &o, &r);
  bsm_plan_tensor *t = h.tensors;
  assert_null(harness_run(&h, bsm_isa_detect(), 1));
  t[1].strides[2] = 0; /* keys that share a place */
  expect_refused(&h);
  t[1].strides[2] = 7;
  t[2].dims.d[2] = 5; /* fewer values than keys */
  expect_refused(&h);
  t[2].dims.d[2] = 6;
  t[5].strides[3] = 2; /* columns of the output apart */
  t[5].strides[2] = 16;
  expect_refused(&h);
  t[5].strides[3] = 1;
  t[5].strides[2] = 8;
  t[4].dtype = BSM_DTYPE_FLOAT; /* a mask of floats */
  expect_refused(&h);
  t[4].dtype = BSM_DTYPE_BOOL;
  h.params.attention.mask = 3;
  expect_refused(&h);
  h.params.attention.mask = BSM_ATTENTION_NO_MASK; /* an input too many */
  expect_refused(&h);
  h.params.attention.mask = BSM_ATTENTION_HIDE;
  h.params.attention.biases = 3;
  expect_refused(&h);
  h.params.attention.biases = -1;
  expect_refused(&h);
  harness_free(&h);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random),    cmocka_unit_test(test_tactics),
      cmocka_unit_test(test_many_keys), cmocka_unit_test(test_hidden_blocks),
      cmocka_unit_test(test_empty),     cmocka_unit_test(test_specials),
      cmocka_unit_test(test_threads),   cmocka_unit_test(test_refused),
  };
  return suite_run(argc, argv, tests);
}
