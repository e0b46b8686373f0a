/* SPDX-License-Identifier: Apache-2.0 */
/* Reads tests/data/conversion/cases.txt (tests/data/make_conversion.py says
 * what is in it) and compares results with what PyTorch computed. */
#ifndef BSM_TESTS_CONVERSION_CASE_READER_H_
#define BSM_TESTS_CONVERSION_CASE_READER_H_

#include <math.h>

#include "tests/conversion/conversion_fixture.h"

#define MAX_TENSORS 16

typedef struct op_case {
  const char *name;
  bsm_text graph;
  bsm_tensor *inputs[MAX_TENSORS], *consts[MAX_TENSORS], *outputs[MAX_TENSORS];
  size_t input_count, const_count, output_count;
} op_case;

static inline bsm_dtype dtype_named(bsm_str name) {
  for (int d = 0; d <= BSM_DTYPE_BFLOAT16; d++) {
    if (bsm_str_eq(name, bsm_str_of(bsm_dtype_name((bsm_dtype)d)))) {
      return (bsm_dtype)d;
    }
  }
  return BSM_DTYPE_UNDEFINED;
}

/* "float32[2, 3] 0.5 1 ..." */
static inline bsm_tensor *read_tensor(fixture *f, const char *text) {
  bsm_dims dims = {0};
  bsm_tensor *wide, *out;
  const char *bracket = strchr(text, '['), *at = bracket + 1;
  bsm_dtype dtype = dtype_named((bsm_str){text, (size_t)(bracket - text)});
  assert_int_not_equal(dtype, BSM_DTYPE_UNDEFINED);
  bool floating = bsm_dtype_is_floating(dtype);
  while (*at != ']') {
    char *end;
    dims.d[dims.rank++] = strtoll(at, &end, 10);
    at = end;
    while (*at == ',' || *at == ' ') at++;
  }
  at++;
  assert_ok(bsm_tensor_new(&f->arena,
                           floating ? BSM_DTYPE_DOUBLE : BSM_DTYPE_INT64, dims,
                           false, &wide));
  for (int64_t i = 0; i < bsm_tensor_numel(wide); i++) {
    char *end;
    if (floating) {
      ((double *)bsm_tensor_data(wide))[i] = strtod(at, &end);
    } else {
      ((int64_t *)bsm_tensor_data(wide))[i] = strtoll(at, &end, 10);
    }
    assert_ptr_not_equal(at, end);
    at = end;
  }
  assert_ok(bsm_tensor_to_dtype(&f->arena, wide, dtype, &out));
  return out;
}

static inline bool starts(const char *line, const char *word,
                          const char **rest) {
  size_t n = strlen(word);
  if (strncmp(line, word, n) != 0) return false;
  *rest = line + n;
  return true;
}

/* Reads the next case; moves *at past it. False at the end. */
static inline bool next_case(fixture *f, char **at, op_case *out) {
  bool started = false;
  *out = (op_case){0};
  bsm_text_init(&out->graph, &f->arena);
  while (**at) {
    char *line = *at, *end = strchr(line, '\n');
    const char *rest;
    if (starts(line, "case ", &rest) && started) return true;
    *end = '\0';
    *at = end + 1;
    if (starts(line, "case ", &rest)) {
      out->name = rest;
      started = true;
    } else if (starts(line, "input ", &rest)) {
      out->inputs[out->input_count++] = read_tensor(f, rest);
    } else if (starts(line, "const ", &rest)) {
      out->consts[out->const_count++] = read_tensor(f, rest);
    } else if (starts(line, "output ", &rest)) {
      out->outputs[out->output_count++] = read_tensor(f, rest);
    } else if (*line != '#') {
      bsm_text_printf(&out->graph, "%s\n", line);
    }
  }
  return started;
}

/* The first difference between a result and what PyTorch says. */
static inline bsm_status compare(const bsm_tensor *have, const bsm_tensor *want,
                                 double scale) {
  double largest = 0, limit;
  if (have->dtype != want->dtype || !bsm_dims_equal(have->sizes, want->sizes)) {
    return BSM_FAIL(BSM_INTERNAL, "%s%s, PyTorch has %s%s",
                    bsm_dtype_name(have->dtype), bsm_dims_str(have->sizes),
                    bsm_dtype_name(want->dtype), bsm_dims_str(want->sizes));
  }
  int64_t count = bsm_tensor_numel(want);
  for (int64_t i = 0; i < count; i++) {
    double b = fabs(bsm_tensor_get_double(want, i));
    if (b > largest && !isinf(b)) largest = b;
  }
  limit =
      bsm_dtype_is_floating(want->dtype) ? scale * (2e-6 * largest + 1e-7) : 0;
  if (want->dtype == BSM_DTYPE_HALF) limit = 1e-3 * largest;
  for (int64_t i = 0; i < count; i++) {
    double a = bsm_tensor_get_double(have, i);
    double b = bsm_tensor_get_double(want, i);
    bool same = (isnan(a) && isnan(b)) || (isinf(b) && !(a < b) && !(a > b)) ||
                fabs(a - b) <= limit;
    if (!same) {
      return BSM_FAIL(BSM_INTERNAL, "element %lld is %.9g, PyTorch has %.9g",
                      (long long)i, a, b);
    }
  }
  return BSM_OK;
}

/* The case's graph with its constants bound, converted. */
static inline bsm_status convert_case(fixture *f, const op_case *c,
                                      bsm_network **out) {
  bsm_graph *graph;
  BSM_TRY(parse_graph(f, c->graph.data, &graph));
  for (size_t i = c->const_count; i > 0; i--) {
    BSM_TRY(bind_constant(graph, c->input_count + i - 1, c->consts[i - 1]));
  }
  return convert_graph(f, graph, out);
}

/* Compares all outputs; `scale` multiplies what floats may differ by. */
static inline bsm_status compare_case(const op_case *c,
                                      bsm_tensor *const *results, size_t count,
                                      double scale) {
  if (count != c->output_count) {
    return BSM_FAIL(BSM_INTERNAL, "%zu outputs, PyTorch has %zu", count,
                    c->output_count);
  }
  for (size_t i = 0; i < count; i++) {
    BSM_TRY_NOTE(compare(results[i], c->outputs[i], scale), "in output %zu", i);
  }
  return BSM_OK;
}

/* Runs `run` on every case and fails with the list of those that failed. */
static inline void for_each_case(fixture *f,
                                 bsm_status (*run)(fixture *f,
                                                   const op_case *c)) {
  char *at = fixture_file(f, BSM_TEST_DATA_DIR "/conversion/cases.txt");
  size_t count = 0, failed = 0;
  op_case c;
  while (next_case(f, &at, &c)) {
    bsm_status status = run(f, &c);
    count++;
    if (!status) continue;
    failed++;
    print_error("%s: %s\n", c.name, bsm_status_message(status));
    bsm_status_free(status);
  }
  assert_true(count > 400);
  if (failed) fail_msg("%zu of %zu cases failed", failed, count);
}

#endif /* BSM_TESTS_CONVERSION_CASE_READER_H_ */
