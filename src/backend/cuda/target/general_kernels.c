/* SPDX-License-Identifier: Apache-2.0 */
/* The list of the kernels for all of a kind: what the functions of steps/ ask
 * for in that scope. The conformance suite runs steps with these alone. */
#include "backend/cuda/target/general_kernels.h"

#define HELD "any_f32", "any_f64", "any_i64", "any_bool"
#define HELD_FLOATS "any_f32", "any_f64"
#define FLOATS "float", "double", "f16", "bf16"

typedef struct row {
  const char *source; /* and entry */
  const char *options;
  const char *types[6]; /* each for all %s of the options; none: one kernel */
} row;

static const row rows[] = {
    {"attention", "-DK_T=%s", {FLOATS}},
    {"convolution", "-DK_T=%s", {FLOATS, "any_i64"}},
    {"few_bits", "-DK_T=%s", {"float", "f16", "bf16"}},
    {"gather", "-DK_T=%s -DK_I=%s", {"any_i64"}},
    {"int8_convolution", "", {NULL}},
    {"int8_convolution", "-DK_FP8=1", {NULL}},
    {"interpreter", "", {NULL}},
    {"nms", "-DK_T=%s", {FLOATS}},
    {"non_zero", "-DK_T=%s", {HELD}},
    {"normalization",
     "-DK_OUT=%s -DK_IN=%s -DK_SCALE=%s -DK_BIAS=%s",
     {HELD_FLOATS}},
    {"pad", "-DK_T=%s", {HELD}},
    {"pooling", "-DK_FROM=%s -DK_TO=%s", {HELD}},
    {"product", "-DK_T=%s", {FLOATS, "any_i64"}},
    /* Products of the inputs of a recurrent step are in float. */
    {"product", "-DK_T=%s -DK_Y=float", {"f16", "bf16"}},
    {"projection", "-DK_T=%s", {FLOATS}},
    {"recurrent", "-DK_T=%s", {FLOATS}},
    {"reduce", "-DK_FROM=%s -DK_TO=%s", {HELD}},
    {"regions", "-DK_T=%s", {FLOATS}},
    {"resize", "-DK_T=%s", {HELD}},
    {"scatter", "-DK_T=%s -DK_I=any_i64", {HELD}},
    {"scan", "-DK_T=%s", {"any_f32", "any_f64", "any_i64"}},
    {"softmax", "-DK_FROM=%s -DK_TO=%s", {HELD_FLOATS}},
    {"states", "-DK_T=%s", {HELD_FLOATS}},
    {"top_k", "-DK_T=%s", {HELD}},
};

static bsm_status add_one(const row *r, const char *type, bsm_arena *arena,
                          bsm_status (*add)(void *user,
                                            const bsm_cuda_kernel *kernel),
                          void *user) {
  bsm_text options;
  bsm_text_init(&options, arena);
  bsm_text_puts(&options, "--fmad=false");
  if (*r->options) bsm_text_puts(&options, " ");
  for (const char *at = r->options; *at; at++) {
    if (at[0] == '%' && at[1] == 's') {
      bsm_text_puts(&options, type);
      at++;
    } else {
      bsm_text_printf(&options, "%c", *at);
    }
  }
  if (options.failed) return BSM_FAIL_OOM();
  bsm_cuda_kernel kernel = {
      .source = r->source, .entry = r->source, .options = options.data};
  BSM_TRY(bsm_cuda_name_kernel(arena, &kernel));
  return add(user, &kernel);
}

bsm_status bsm_cuda_each_general_kernel(
    bsm_arena *arena,
    bsm_status (*add)(void *user, const bsm_cuda_kernel *kernel), void *user) {
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    const row *r = &rows[i];
    if (!r->types[0]) BSM_TRY(add_one(r, NULL, arena, add, user));
    for (int k = 0; r->types[k]; k++) {
      BSM_TRY(add_one(r, r->types[k], arena, add, user));
    }
  }
  return BSM_OK;
}
