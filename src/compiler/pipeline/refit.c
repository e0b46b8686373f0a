/* SPDX-License-Identifier: Apache-2.0 */
/* bsm_engine_refit: a compilation that takes its choices from an engine. */
#include <inttypes.h>
#include <string.h>

#include "base/options.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/compile_options.h"
#include "runtime/engine/engine.h"

/* ---- what the engine knows ---- */

/* Specs for all inputs; none when the arguments are more than tensors. */
static bsm_status specs_of(const bsm_engine *engine, bsm_arena *arena,
                           bsm_compile_options *options) {
  const bsm_plan *plan = engine->plan;
  const bsm_structure *root = plan->input_structure;
  const size_t count = plan->input_count;
  if (!root || root->info.child_count != count) return BSM_OK;
  bsm_input_spec *specs = BSM_NEW_ARRAY(arena, bsm_input_spec, count + 1);
  BSM_TRY_ALLOC(specs);
  for (size_t i = 0; i < count; i++) {
    const bsm_structure_info *child = &root->children[i].info;
    bsm_dims min, opt, max;
    if (child->kind != BSM_STRUCTURE_TENSOR || child->binding != i) {
      return BSM_OK;
    }
    BSM_TRY(bsm_engine_input_range(engine, i, &min, &opt, &max));
    specs[i] = (bsm_input_spec)BSM_INPUT_SPEC_INIT;
    specs[i].dtype = plan->tensors[plan->inputs[i].tensor].dtype;
    specs[i].rank = opt.rank;
    memcpy(specs[i].min, min.d, sizeof(specs[i].min));
    memcpy(specs[i].opt, opt.d, sizeof(specs[i].opt));
    memcpy(specs[i].max, max.d, sizeof(specs[i].max));
  }
  options->inputs = specs;
  options->input_count = count;
  return BSM_OK;
}

static bsm_status complete(const bsm_engine *engine, bsm_arena *arena,
                           bsm_compile_options *options) {
  if (!options->method) {
    options->method = bsm_engine_metadata(engine, "source.method");
  }
  if (!options->target && !options->isa && !options->threads) {
    options->target = bsm_engine_metadata(engine, "builder.target");
  }
  return options->inputs ? BSM_OK : specs_of(engine, arena, options);
}

/* ---- whether it is the same model ---- */

static bool is_choice(const char *key) {
  return strncmp(key, "options.", 8) == 0 ||
         strcmp(key, "builder.target") == 0 ||
         strcmp(key, "source.method") == 0;
}

/* Targets of engines that are not quantized said it, too, when they were told:
 * it makes no difference there. */
static bool is_former_target(const char *key, const char *old,
                             const bsm_engine *made) {
  static const char said[] = ",vnni=no";
  const char *now = bsm_engine_metadata(made, key);
  const size_t size = strlen(now ? now : "");
  return now && strcmp(key, "builder.target") == 0 &&
         !bsm_engine_metadata(made, "options.calibration") &&
         strncmp(old, now, size) == 0 && strcmp(old + size, said) == 0;
}

/* What `a` was built with, `b` was, too. */
static bsm_status check_options(const bsm_engine *a, const bsm_engine *b,
                                bool a_is_old) {
  const char *key, *value;
  for (size_t i = 0; bsm_engine_metadata_at(a, i, &key, &value); i++) {
    const char *other = is_choice(key) ? bsm_engine_metadata(b, key) : value;
    if (other && strcmp(value, other) == 0) continue;
    if (other &&
        is_former_target(key, a_is_old ? value : other, a_is_old ? b : a)) {
      continue;
    }
    other = other ? other : "nothing";
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "the engine was built with %s: %s, and is refitted with "
                    "%s: give the options that it was built with",
                    key, a_is_old ? value : other, a_is_old ? other : value);
  }
  return BSM_OK;
}

static bsm_status check_bindings(const char *what, const bsm_plan *a,
                                 const bsm_plan_binding *as, uint32_t a_count,
                                 const bsm_plan *b, const bsm_plan_binding *bs,
                                 uint32_t b_count) {
  if (a_count != b_count) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "it is another model: the engine has %" PRIu32
                    " %ss, the model %" PRIu32,
                    a_count, what, b_count);
  }
  for (uint32_t i = 0; i < a_count; i++) {
    const bsm_plan_tensor *x = &a->tensors[as[i].tensor];
    const bsm_plan_tensor *y = &b->tensors[bs[i].tensor];
    if (strcmp(as[i].name, bs[i].name) == 0 && x->dtype == y->dtype &&
        bsm_dims_equal(x->dims, y->dims)) {
      continue;
    }
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "it is another model: %s %" PRIu32
                    " of the engine is %s, %s%s, and of the model %s, %s%s",
                    what, i, as[i].name, bsm_dtype_name(x->dtype),
                    bsm_dims_str(x->dims), bs[i].name, bsm_dtype_name(y->dtype),
                    bsm_dims_str(y->dims));
  }
  return BSM_OK;
}

/* Weights may decide what is fused, so other steps are no failure. */
static void tell_steps(const bsm_engine *a, const bsm_engine *b,
                       const bsm_logger *logger) {
  const size_t count = bsm_engine_step_count(a);
  if (count == bsm_engine_step_count(b)) return;
  bsm_log(logger, BSM_LOG_LEVEL_WARNING,
          "the engine has %zu steps, with the new weights %zu: it may be "
          "another model, or other choices may be faster now",
          count, bsm_engine_step_count(b));
}

static bsm_status check_same(const bsm_engine *old, const bsm_engine *made) {
  const bsm_plan *a = old->plan, *b = made->plan;
  BSM_TRY(check_options(old, made, true));
  BSM_TRY(check_options(made, old, false));
  BSM_TRY(check_bindings("input", a, a->inputs, a->input_count, b, b->inputs,
                         b->input_count));
  return check_bindings("output", a, a->outputs, a->output_count, b, b->outputs,
                        b->output_count);
}

bsm_status bsm_engine_refit(const bsm_engine *engine, bsm_module *module,
                            const bsm_compile_options *given,
                            bsm_engine **out) {
  BSM_NEED(out);
  *out = NULL;
  BSM_NEED(engine);
  BSM_NEED(module);
  bsm_compile_options options;
  bsm_engine *made = NULL;
  bsm_arena arena;
  BSM_TRY(bsm_compile_options_resolve(module, given, &options));
  bsm_arena_init(&arena, NULL);
  bsm_status status = complete(engine, &arena, &options);
  if (!status) {
    status = bsm_compile_like(module, &options, engine->plan, &made);
  }
  bsm_arena_destroy(&arena);
  if (!status) status = check_same(engine, made);
  if (status) {
    bsm_engine_destroy(made);
    return status;
  }
  tell_steps(engine, made, options.logger);
  *out = made;
  return BSM_OK;
}
