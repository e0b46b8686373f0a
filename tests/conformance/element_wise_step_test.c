/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise programs: every operation and dtype against PyTorch's results,
 * and shapes, strides and programs against plain loops. */
#include "tests/conformance/step_harness.h"

/* ---- PyTorch's results ---- */

static void store_text(bsm_dtype dtype, void *to, const char *text);
static double load_value(bsm_dtype dtype, const void *from);

static float half_value(uint16_t h, bool bfloat) {
  union {
    uint32_t u;
    float f;
  } v = {.u = (uint32_t)h << 16};
  if (bfloat) return v.f;
  const int e = (h >> 10) & 31, m = h & 1023;
  const float x = e == 31  ? (m ? NAN : INFINITY)
                  : e == 0 ? ldexpf((float)m, -24)
                           : ldexpf((float)(m + 1024), e - 25);
  return h & 0x8000 ? -x : x;
}

/* The half that has exactly this value: by search, to be independent. */
static uint16_t half_of(double v, bool bfloat) {
  for (uint32_t i = 0; i < 65536; i++) {
    const double x = (double)half_value((uint16_t)i, bfloat);
    if ((isnan(x) && isnan(v)) || (x == v && signbit(x) == signbit(v))) {
      return (uint16_t)i;
    }
  }
  fail_msg("%a is not a half", v);
  return 0;
}

static void store_text(bsm_dtype dtype, void *to, const char *text) {
  const double d = strtod(text, NULL);
  const int64_t i = strtoll(text, NULL, 10);
  switch (dtype) {
    case BSM_DTYPE_FLOAT:
      *(float *)to = (float)d;
      break;
    case BSM_DTYPE_DOUBLE:
      *(double *)to = d;
      break;
    case BSM_DTYPE_HALF:
    case BSM_DTYPE_BFLOAT16:
      *(uint16_t *)to = half_of(d, dtype == BSM_DTYPE_BFLOAT16);
      break;
    default:
      memcpy(to, &i, bsm_dtype_size(dtype)); /* little endian */
      break;
  }
}

static int64_t load_integer(bsm_dtype dtype, const void *from) {
  switch (dtype) {
    case BSM_DTYPE_UINT8:
    case BSM_DTYPE_BOOL:
      return *(const uint8_t *)from;
    case BSM_DTYPE_INT8:
      return *(const int8_t *)from;
    case BSM_DTYPE_INT16:
      return *(const int16_t *)from;
    case BSM_DTYPE_INT32:
      return *(const int32_t *)from;
    default:
      return *(const int64_t *)from;
  }
}

static bool is_floating(bsm_dtype d) {
  return d == BSM_DTYPE_FLOAT || d == BSM_DTYPE_DOUBLE || d == BSM_DTYPE_HALF ||
         d == BSM_DTYPE_BFLOAT16;
}

static double load_value(bsm_dtype dtype, const void *from) {
  switch (dtype) {
    case BSM_DTYPE_FLOAT:
      return (double)*(const float *)from;
    case BSM_DTYPE_DOUBLE:
      return *(const double *)from;
    case BSM_DTYPE_HALF:
    case BSM_DTYPE_BFLOAT16:
      return (double)half_value(*(const uint16_t *)from,
                                dtype == BSM_DTYPE_BFLOAT16);
    default:
      return (double)load_integer(dtype, from);
  }
}

typedef struct wanted {
  bsm_dtype dtype;
  const char *text, *line;
} wanted;

static void compare_text(harness *h, uint32_t isa, void *arg) {
  const wanted *w = arg;
  (void)isa;
  if (!is_floating(w->dtype)) {
    const int64_t got = load_integer(w->dtype, h->outputs[0]);
    if (got != strtoll(w->text, NULL, 10)) {
      fail_msg("%s: %lld", w->line, (long long)got);
    }
    return;
  }
  const double got = load_value(w->dtype, h->outputs[0]);
  const double expected = strtod(w->text, NULL);
  /* A unit of the last place, or two for elementary functions. */
  const double unit = w->dtype == BSM_DTYPE_DOUBLE  ? 0x1p-51
                      : w->dtype == BSM_DTYPE_FLOAT ? 0x1p-22
                      : w->dtype == BSM_DTYPE_HALF  ? 0x1p-10
                                                    : 0x1p-7;
  assert_close(got, expected, fabs(expected) * unit + 1e-45, w->line);
  /* Of two zeros either is the greater one. */
  const bool extreme = strncmp(w->line, "binary 2 ", 9) == 0 ||
                       strncmp(w->line, "binary 3 ", 9) == 0;
  if (expected == 0 && got == 0 && !extreme &&
      signbit(expected) != signbit(got)) {
    fail_msg("%s: the sign of zero", w->line);
  }
}

/* binary CODE DTYPE A B OUT RESULT | unary CODE DTYPE A OUT RESULT |
 * cast DTYPE A OUT RESULT */
static void run_line(const char *line) {
  char kind[8], a[40], b[40] = "", y[40];
  int code = 0, from, to;
  harness h;
  harness_init(&h, BSM_STEP_ELEMENT_WISE);
  bsm_step_element_wise *p = &h.params.element_wise;
  int n = 0;
  if (line[0] == 'b') {
    n = sscanf(line, "%7s %d %d %39s %39s %d %39s", kind, &code, &from, a, b,
               &to, y) == 7;
    p->program[0].kind = BSM_STEP_EW_BINARY;
  } else if (line[0] == 'u') {
    n = sscanf(line, "%7s %d %d %39s %d %39s", kind, &code, &from, a, &to, y) ==
        6;
    p->program[0].kind = BSM_STEP_EW_UNARY;
  } else {
    n = sscanf(line, "%7s %d %39s %d %39s", kind, &from, a, &to, y) == 5;
    p->program[0].kind = BSM_STEP_EW_CAST;
  }
  assert_true(n);
  store_text((bsm_dtype)from, add_input(&h, (bsm_dtype)from, dims_of(0), NULL),
             a);
  if (b[0]) {
    store_text((bsm_dtype)from,
               add_input(&h, (bsm_dtype)from, dims_of(0), NULL), b);
  }
  add_output(&h, (bsm_dtype)to, dims_of(0), NULL);
  p->instruction_count = 1;
  p->result = p->program[0].dst = 4;
  p->program[0].code = code;
  p->program[0].a = 0;
  p->program[0].b = 1;
  p->program[0].dtype = to;
  wanted w = {(bsm_dtype)to, y, line};
  uint32_t isas[8];
  const int count = harness_isas(isas);
  for (int i = 0; i < count; i++) {
    if (!harness_runs(&h, isas[i], 1)) break;
    compare_text(&h, isas[i], &w);
  }
  harness_free(&h);
}

static void test_pytorch(void **state) {
  FILE *f = fopen(BSM_TEST_DATA_DIR "/backend/element_wise.txt", "r");
  char line[256];
  int count = 0;
  (void)state;
  suite_needs(BSM_STEP_ELEMENT_WISE);
  assert_non_null(f);
  while (fgets(line, sizeof(line), f)) {
    line[strcspn(line, "\n")] = '\0';
    run_line(line);
    count++;
  }
  fclose(f);
  assert_true(count > 1000);
}

/* ---- shapes and strides ---- */

/* out = relu(a * b + c), or parts of that, over broadcast and permuted tensors.
 */
enum { PRODUCT = 1, SUM = 2, RELU = 4, SIGMOID = 8, OVERWRITES = 16 };
typedef struct layout {
  int form;
  bsm_dims dims[3]; /* of a, b, c */
  bsm_dims out;
  int order; /* 0: row-major output, 1: channels-last, 2: gaps */
} layout;

static void layout_strides(bsm_dims d, int order, int64_t *s) {
  bsm_contiguous_strides(d, s);
  if (order == 1 && d.rank >= 3) channels_last(d, 0, s);
  if (order == 2) {
    for (int32_t i = 0; i < d.rank; i++) s[i] = s[i] * 3;
  }
}

static float broadcast_at(const harness *h, uint32_t i, bsm_dims out,
                          const int64_t *index) {
  const bsm_plan_tensor *t = &h->tensors[h->step.inputs[i]];
  int64_t own[BSM_MAX_RANK];
  for (int32_t k = 0; k < t->dims.rank; k++) {
    own[k] = t->dims.d[k] == 1 ? 0 : index[k + out.rank - t->dims.rank];
  }
  return ((const float *)h->inputs[i])[offset_of(t, own)];
}

static void compare_program(harness *h, uint32_t isa, void *arg) {
  const bsm_plan_tensor *y = &h->tensors[h->step.outputs[0]];
  int64_t index[BSM_MAX_RANK] = {0};
  const int form = *(const int *)arg;
  (void)isa;
  do {
    double v = (double)broadcast_at(h, 0, y->dims, index);
    if (form & PRODUCT) v *= (double)broadcast_at(h, 1, y->dims, index);
    if (form & SUM) v += (double)broadcast_at(h, 2, y->dims, index);
    if (form & RELU) v = v > 0 ? v : 0;
    if (form & SIGMOID) v = 1 / (1 + exp(-v));
    assert_close((double)((float *)h->outputs[0])[offset_of(y, index)], v, 1e-6,
                 "program");
  } while (next_index(y->dims, index));
}

static bsm_step_element_wise program_of(int form) {
  const bsm_step_ew_instruction all[4] = {
      {.kind = BSM_STEP_EW_BINARY, .code = BSM_ELEMENT_WISE_PROD, .b = 1},
      {.kind = BSM_STEP_EW_BINARY, .code = BSM_ELEMENT_WISE_SUM, .b = 2},
      {.kind = BSM_STEP_EW_ACTIVATION, .code = BSM_ACTIVATION_RELU},
      {.kind = BSM_STEP_EW_ACTIVATION, .code = BSM_ACTIVATION_SIGMOID}};
  bsm_step_element_wise p = {.result = 0};
  for (int k = 0; k < 4; k++) {
    if (!(form >> k & 1)) continue;
    bsm_step_ew_instruction *op = &p.program[p.instruction_count];
    *op = all[k];
    op->dtype = BSM_DTYPE_FLOAT;
    op->a = p.result;
    /* Either into fresh registers, or over the first input now and then. */
    op->dst = form & OVERWRITES && p.instruction_count == 1
                  ? 0
                  : 3 + p.instruction_count;
    p.result = op->dst;
    p.instruction_count++;
  }
  return p;
}

static void run_layout(const layout *l, harness_rng *r) {
  harness h;
  int64_t strides[BSM_MAX_RANK];
  harness_init(&h, BSM_STEP_ELEMENT_WISE);
  for (uint32_t i = 0; i < 3; i++) {
    layout_strides(l->dims[i], (l->order + (int)i) % 3, strides);
    add_input(&h, BSM_DTYPE_FLOAT, l->dims[i], strides);
    fill_input(&h, r, i);
  }
  layout_strides(l->out, l->order, strides);
  add_output(&h, BSM_DTYPE_FLOAT, l->out, strides);
  h.params.element_wise = program_of(l->form);
  harness_run_all(&h, compare_program, (void *)(uintptr_t)&l->form);
  harness_free(&h);
}

static void test_layouts(void **state) {
  harness_rng r = {21};
  (void)state;
  suite_needs(BSM_STEP_ELEMENT_WISE);
  for (int i = 0; i < 300; i++) {
    layout l = {.order = rng_range(&r, 0, 2)};
    l.form = rng_range(&r, 1, 3) | (rng_range(&r, 0, 2) << 2) |
             (rng_range(&r, 0, 2) ? 0 : OVERWRITES);
    l.out.rank = rng_range(&r, 0, 5);
    for (int32_t d = 0; d < l.out.rank; d++) {
      l.out.d[d] = rng_range(&r, 1, rng_range(&r, 0, 3) ? 7 : 40);
    }
    if (l.out.rank > 0 && i % 5 == 0)
      l.out.d[rng_range(&r, 0, l.out.rank - 1)] = 700;
    int64_t count = 1;
    for (int32_t d = 0; d < l.out.rank; d++) {
      if (count * l.out.d[d] > 100000) l.out.d[d] = 2;
      count *= l.out.d[d];
    }
    for (int t = 0; t < 3; t++) {
      const int drop = rng_range(&r, 0, l.out.rank);
      l.dims[t].rank = l.out.rank - (rng_range(&r, 0, 1) ? drop : 0);
      for (int32_t d = 0; d < l.dims[t].rank; d++) {
        const int64_t n = l.out.d[d + l.out.rank - l.dims[t].rank];
        l.dims[t].d[d] = rng_range(&r, 0, 2) ? n : 1;
      }
    }
    run_layout(&l, &r);
  }
}

/* ---- mixed dtypes ---- */

/* y (float) = where(a (int64) > 3, half(x) + 1, constant), all in one. */
static void compare_mixed(harness *h, uint32_t isa, void *arg) {
  (void)isa;
  (void)arg;
  for (int i = 0; i < 1000; i++) {
    const int64_t a = ((const int64_t *)h->inputs[0])[i];
    const uint8_t x = ((const uint8_t *)h->inputs[1])[i];
    const float expected = a > 3 ? (float)x + 1.0f : -2.5f;
    assert_true(((const float *)h->outputs[0])[i] == expected);
  }
}

static void test_mixed_dtypes(void **state) {
  harness h;
  (void)state;
  suite_needs(BSM_STEP_ELEMENT_WISE);
  harness_init(&h, BSM_STEP_ELEMENT_WISE);
  int64_t *a = add_input(&h, BSM_DTYPE_INT64, dims_of(1, 1000), NULL);
  uint8_t *x = add_input(&h, BSM_DTYPE_UINT8, dims_of(1, 1000), NULL);
  add_output(&h, BSM_DTYPE_FLOAT, dims_of(1, 1000), NULL);
  for (int i = 0; i < 1000; i++) {
    a[i] = i % 9;
    x[i] = (uint8_t)i;
  }
  h.params.element_wise = (bsm_step_element_wise){
      .instruction_count = 7,
      .result = 0,
      .program = {
          {.kind = BSM_STEP_EW_CONSTANT,
           .dst = 2,
           .dtype = BSM_DTYPE_INT64,
           .integer = 3},
          {.kind = BSM_STEP_EW_BINARY,
           .code = BSM_ELEMENT_WISE_GREATER,
           .dst = 3,
           .a = 0,
           .b = 2,
           .dtype = BSM_DTYPE_BOOL},
          {.kind = BSM_STEP_EW_CAST, .dst = 1, .a = 1, .dtype = BSM_DTYPE_HALF},
          {.kind = BSM_STEP_EW_CONSTANT,
           .dst = 4,
           .dtype = BSM_DTYPE_HALF,
           .alpha = 1.0},
          {.kind = BSM_STEP_EW_BINARY,
           .code = BSM_ELEMENT_WISE_SUM,
           .dst = 1,
           .a = 1,
           .b = 4,
           .dtype = BSM_DTYPE_HALF},
          {.kind = BSM_STEP_EW_CONSTANT,
           .dst = 5,
           .dtype = BSM_DTYPE_FLOAT,
           .alpha = -2.5},
          {.kind = BSM_STEP_EW_SELECT,
           .dst = 0,
           .a = 3,
           .b = 1,
           .c = 5,
           .dtype = BSM_DTYPE_FLOAT}}};
  harness_run_all(&h, compare_mixed, NULL);
  harness_free(&h);
}

/* ---- powers, programs without instructions, in place ---- */

static void compare_power(harness *h, uint32_t isa, void *arg) {
  const double exponent = *(const double *)arg;
  (void)isa;
  for (int i = 0; i < 100; i++) {
    const double x = (double)((const float *)h->inputs[0])[i];
    const double y = pow(x, exponent);
    assert_close((double)((const float *)h->outputs[0])[i], y, fabs(y) * 3e-7,
                 "pow");
  }
}

static void test_powers(void **state) {
  double exponents[] = {2, 3, 0.5, -0.5, -1, 1.7, 0, 4};
  (void)state;
  suite_needs(BSM_STEP_ELEMENT_WISE);
  for (size_t e = 0; e < sizeof(exponents) / sizeof(exponents[0]); e++) {
    harness h;
    harness_init(&h, BSM_STEP_ELEMENT_WISE);
    float *x = add_input(&h, BSM_DTYPE_FLOAT, dims_of(1, 100), NULL);
    add_output(&h, BSM_DTYPE_FLOAT, dims_of(1, 100), NULL);
    for (int i = 0; i < 100; i++) x[i] = (float)(i + 1) * 0.13f;
    h.params.element_wise =
        (bsm_step_element_wise){.instruction_count = 2,
                                .result = 2,
                                .program = {{.kind = BSM_STEP_EW_CONSTANT,
                                             .dst = 1,
                                             .dtype = BSM_DTYPE_FLOAT,
                                             .alpha = exponents[e]},
                                            {.kind = BSM_STEP_EW_BINARY,
                                             .code = BSM_ELEMENT_WISE_POW,
                                             .dst = 2,
                                             .a = 0,
                                             .b = 1,
                                             .dtype = BSM_DTYPE_FLOAT}}};
    harness_run_all(&h, compare_power, &exponents[e]);
    harness_free(&h);
  }
}

static void test_in_place(void **state) {
  uint32_t isas[8];
  const int count = harness_isas(isas);
  (void)state;
  suite_needs(BSM_STEP_ELEMENT_WISE);
  for (int i = 0; i < count; i++) {
    harness h;
    harness_init(&h, BSM_STEP_ELEMENT_WISE);
    float *y = add_output(&h, BSM_DTYPE_FLOAT, dims_of(1, 5000), NULL);
    add_input(&h, BSM_DTYPE_FLOAT, dims_of(1, 5000), NULL);
    h.inputs[0] = y;
    for (int k = 0; k < 5000; k++) y[k] = (float)k;
    h.params.element_wise =
        (bsm_step_element_wise){.instruction_count = 2,
                                .result = 0,
                                .program = {{.kind = BSM_STEP_EW_BINARY,
                                             .code = BSM_ELEMENT_WISE_SUM,
                                             .dst = 1,
                                             .a = 0,
                                             .b = 0,
                                             .dtype = BSM_DTYPE_FLOAT},
                                            {.kind = BSM_STEP_EW_BINARY,
                                             .code = BSM_ELEMENT_WISE_SUM,
                                             .dst = 0,
                                             .a = 1,
                                             .b = 0,
                                             .dtype = BSM_DTYPE_FLOAT}}};
    assert_null(harness_run(&h, isas[i], 2));
    for (int k = 0; k < 5000; k++) assert_true(y[k] == 3.0f * (float)k);
    harness_free(&h);
  }
}

/* Of integers, as PyTorch has it; one zero in any place is enough. On a GPU
 * PyTorch says nothing, either. */
static void test_division_by_zero(void **state) {
  static const int32_t codes[] = {
      BSM_ELEMENT_WISE_FLOOR_DIV, BSM_ELEMENT_WISE_TRUNC_DIV,
      BSM_ELEMENT_WISE_REMAINDER, BSM_ELEMENT_WISE_FMOD};
  static const bsm_dtype dtypes[] = {BSM_DTYPE_INT64, BSM_DTYPE_UINT8,
                                     BSM_DTYPE_FLOAT};
  enum { COUNT = 5000, ZERO = 4321 };
  (void)state;
  if (suite_is_for("cuda")) skip();
  suite_needs(BSM_STEP_ELEMENT_WISE);
  for (int i = 0; i < 24; i++) {
    const bsm_dtype dtype = dtypes[i % 3];
    const bool divides_one = i >= 12; /* a table, if there were no zeros */
    harness h;
    harness_init(&h, BSM_STEP_ELEMENT_WISE);
    char *b = add_input(&h, dtype, dims_of(1, COUNT), NULL);
    add_output(&h, dtype, dims_of(1, COUNT), NULL);
    for (int k = 0; k < COUNT; k++) {
      store_text(dtype, b + (size_t)k * bsm_dtype_size(dtype), "3");
    }
    h.params.element_wise =
        (bsm_step_element_wise){.instruction_count = 2,
                                .result = 1,
                                .program = {{.kind = BSM_STEP_EW_CONSTANT,
                                             .dst = 1,
                                             .alpha = 1,
                                             .integer = 1,
                                             .dtype = (int32_t)dtype},
                                            {.kind = BSM_STEP_EW_BINARY,
                                             .code = codes[i / 3 % 4],
                                             .dst = 1,
                                             .a = divides_one,
                                             .b = 0,
                                             .dtype = (int32_t)dtype}}};
    bsm_status st = harness_run(&h, bsm_isa_detect(), 2);
    if (bsm_status_code(st) == BSM_UNSUPPORTED) {
      assert_false(suite_is_for("cpu"));
      bsm_status_free(st);
      harness_free(&h);
      continue;
    }
    assert_null(st);
    store_text(dtype, b + (size_t)ZERO * bsm_dtype_size(dtype), "0");
    st = harness_run(&h, bsm_isa_detect(), 2);
    if (dtype == BSM_DTYPE_FLOAT) {
      assert_null(st);
    } else {
      assert_int_equal(bsm_status_code(st), BSM_INVALID_ARGUMENT);
      assert_non_null(strstr(bsm_status_message(st), "ZeroDivisionError"));
      bsm_status_free(st);
    }
    harness_free(&h);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pytorch),
      cmocka_unit_test(test_layouts),
      cmocka_unit_test(test_mixed_dtypes),
      cmocka_unit_test(test_powers),
      cmocka_unit_test(test_in_place),
      cmocka_unit_test(test_division_by_zero),
  };
  return suite_run(argc, argv, tests);
}
