/* SPDX-License-Identifier: Apache-2.0 */
/* Models that PyTorch has quantized (tests/data/quantized), compiled and run on
 * every instruction set of this machine with one and two threads. Outputs on a
 * grid have PyTorch's integers, but for one in sixteen that may be the next;
 * others agree within 1e-4 of the largest value. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/isa.h"
#include "bessemer/bessemer.h"
#include "tools/npy.h"

enum { MAX_ARRAYS = 64 };

static void check(bsm_status status, const char *what) {
  if (!status) return;
  fprintf(stderr, "%s: %s\n", what, bsm_status_message(status));
  bsm_status_free(status);
  fail();
}

static size_t count_of(bsm_dims dims) {
  size_t count = 1;
  for (int32_t i = 0; i < dims.rank; i++) count *= (size_t)dims.d[i];
  return count;
}

typedef struct model {
  bsm_npy_file file;
  bsm_array inputs[MAX_ARRAYS];
  size_t input_count, output_count;
  bsm_engine *engine;
} model;

static const bsm_array *find(const model *m, const char *kind, size_t i) {
  char name[32];
  snprintf(name, sizeof name, "%s_%zu", kind, i);
  return bsm_npy_find(&m->file, name);
}

static void compare(const model *m, size_t index, const bsm_array *got) {
  const bsm_array *want = find(m, "out", index);
  const float *g = got->data, *w = want->data;
  const double step = *(const double *)find(m, "step", index)->data;
  double scale = 0, worst = 0;
  const size_t count = count_of(want->dims);
  size_t others = 0;
  assert_int_equal(got->dtype, BSM_DTYPE_FLOAT);
  assert_int_equal(want->dtype, BSM_DTYPE_FLOAT);
  assert_int_equal(got->dims.rank, want->dims.rank);
  assert_int_equal(count_of(got->dims), count);
  for (size_t i = 0; i < count; i++) {
    const double error = fabs((double)g[i] - (double)w[i]);
    scale = fmax(scale, fabs((double)w[i]));
    if (!(error <= worst)) worst = error;
    others += error > 0.5 * step;
  }
  const double most = step > 0 ? 1.001 * step : 1e-4 * scale;
  if (!(worst <= most) || (step > 0 && others > count / 16 + 1)) {
    fail_msg(
        "output %zu differs by %g, %zu of %zu elements, at scale %g and "
        "steps of %g",
        index, worst, others, count, scale, step);
  }
}

static void run(const model *m, uint32_t isa, int threads, bsm_array *out) {
  bsm_context *context = NULL;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  options.threads = threads;
  options.isa = isa;
  for (size_t i = 0; i < m->output_count; i++) {
    const bsm_array *want = find(m, "out", i);
    out[i] = *want;
    out[i].data = calloc(count_of(want->dims) + 1, sizeof(float));
    assert_non_null(out[i].data);
  }
  check(bsm_context_create(m->engine, &options, &context), "context");
  check(
      bsm_context_run(context, m->inputs, m->input_count, out, m->output_count),
      "run");
  bsm_context_destroy(context);
}

static void run_everywhere(const model *m) {
  static const uint32_t isas[] = {BSM_CONTEXT_ISA_SCALAR, BSM_ISA_AVX2,
                                  BSM_ISA_AVX2 | BSM_ISA_AVX512};
  const uint32_t have = bsm_isa_detect();
  for (size_t k = 0; k < sizeof(isas) / sizeof(isas[0]); k++) {
    bsm_array one[MAX_ARRAYS], two[MAX_ARRAYS];
    if (k > 0 && (isas[k] & ~have)) continue;
    run(m, isas[k], 1, one);
    run(m, isas[k], 2, two);
    for (size_t i = 0; i < m->output_count; i++) {
      compare(m, i, &one[i]);
      assert_memory_equal(one[i].data, two[i].data,
                          count_of(one[i].dims) * sizeof(float));
      free(one[i].data);
      free(two[i].data);
    }
  }
}

/* `ranges`: the first dim of each input may be anything up to three times as
 * large. */
static void compile(model *m, const char *name, bool ranges) {
  char path[512];
  bsm_module *module = NULL;
  bsm_input_spec specs[MAX_ARRAYS];
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  const bool exported =
      strncmp(name, "torchao", 7) == 0 || strncmp(name, "pt2e", 4) == 0;
  snprintf(path, sizeof path, "%s/quantized/%s.%s", BSM_TEST_DATA_DIR, name,
           exported ? "pt2" : "ts");
  check(bsm_module_load(path, NULL, &module), path);
  for (size_t i = 0; i < m->input_count; i++) {
    specs[i] = (bsm_input_spec)BSM_INPUT_SPEC_INIT;
    specs[i].dtype = m->inputs[i].dtype;
    specs[i].rank = m->inputs[i].dims.rank;
    memcpy(specs[i].min, m->inputs[i].dims.d, sizeof specs[i].min);
    if (!ranges) continue;
    memcpy(specs[i].opt, specs[i].min, sizeof specs[i].opt);
    memcpy(specs[i].max, specs[i].min, sizeof specs[i].max);
    specs[i].min[0] = 1;
    specs[i].opt[0] = 3 * m->inputs[i].dims.d[0];
    specs[i].max[0] = specs[i].opt[0];
  }
  options.inputs = specs;
  options.input_count = m->input_count;
  options.no_timing = true;
  options.threads = 1;
  check(bsm_compile(module, &options, &m->engine), path);
  bsm_module_destroy(module);
}

static void open_model(model *m, const char *name) {
  char path[512];
  *m = (model){0};
  snprintf(path, sizeof path, "%s/quantized/%s.npz", BSM_TEST_DATA_DIR, name);
  check(bsm_npy_open(path, NULL, &m->file), path);
  for (const bsm_array *a; (a = find(m, "in", m->input_count)) != NULL;) {
    assert_true(m->input_count < MAX_ARRAYS);
    m->inputs[m->input_count++] = *a;
  }
  while (find(m, "out", m->output_count)) m->output_count++;
  assert_true(m->input_count > 0 && m->output_count > 0 &&
              m->output_count <= MAX_ARRAYS);
}

static void test_model(void **state) {
  model m;
  open_model(&m, *state);
  compile(&m, *state, false);
  run_everywhere(&m);
  bsm_engine_destroy(m.engine);
  bsm_npy_close(&m.file);
}

/* Shapes that range: a plan is made for the one that comes. */
static void test_ranging(void **state) {
  model m;
  bsm_array out[MAX_ARRAYS];
  open_model(&m, *state);
  compile(&m, *state, true);
  run(&m, 0, 1, out);
  for (size_t i = 0; i < m.output_count; i++) {
    compare(&m, i, &out[i]);
    free(out[i].data);
  }
  bsm_engine_destroy(m.engine);
  bsm_npy_close(&m.file);
}

#define MODEL(name) \
  { name, test_model, NULL, NULL, (void *)(uintptr_t)name }
#define RANGING(name) \
  { name " ranging", test_ranging, NULL, NULL, (void *)(uintptr_t)name }

int main(void) {
  const struct CMUnitTest tests[] = {
      MODEL("residual_script"),
      MODEL("residual_trace"),
      MODEL("residual_fbgemm"),
      MODEL("residual_qnnpack"),
      MODEL("residual_onednn"),
      MODEL("mobile_script"),
      MODEL("mobile_trace"),
      MODEL("layers_trace"),
      MODEL("operators_trace"),
      MODEL("fx_script"),
      MODEL("fx_trace"),
      MODEL("qat_fake"),
      MODEL("qat_converted"),
      MODEL("dynamic_script"),
      MODEL("dynamic_trace"),
      MODEL("dynamic_half"),
      MODEL("cells"),
      MODEL("words_8bit"),
      MODEL("words_4bit"),
      MODEL("torchao_weights"),
      MODEL("torchao_dynamic"),
      MODEL("torchao_4bit"),
      MODEL("pt2e_static"),
      MODEL("v113_quant_trace"),
      MODEL("v113_quant_script"),
      MODEL("v211_quant_trace"),
      MODEL("v211_quant_script"),
      MODEL("v215_quant_trace"),
      MODEL("v215_quant_script"),
      RANGING("torchao_dynamic"),
      RANGING("torchao_4bit"),
      RANGING("pt2e_static"),
      RANGING("residual_script"),
      RANGING("mobile_trace"),
      RANGING("fx_script"),
      RANGING("cells"),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
