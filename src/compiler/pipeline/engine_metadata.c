/* SPDX-License-Identifier: Apache-2.0 */
/* Metadata of engines. */
#include "compiler/pipeline/engine_metadata.h"

#include <inttypes.h>
#include <string.h>

#include "base/options.h"
#include "base/resolve_limits.h"
#include "compiler/pipeline/precision_options.h"
#include "quantization/calibration.h"

static bsm_status add(bsm_arena *arena, bsm_metadata_vec *out, const char *key,
                      const char *value) {
  const bsm_plan_metadata row = {key, bsm_arena_strdup(arena, value)};
  BSM_TRY_ALLOC(row.value);
  BSM_TRY_ALLOC(bsm_vec_push(arena, out, row));
  return BSM_OK;
}

static bsm_status add_number(bsm_arena *arena, bsm_metadata_vec *out,
                             const char *key, size_t value) {
  const char *text = bsm_arena_printf(arena, "%zu", value);
  BSM_TRY_ALLOC(text);
  return add(arena, out, key, text);
}

static bsm_status add_list(bsm_arena *arena, bsm_metadata_vec *out,
                           const char *key, const char *const *items,
                           size_t count) {
  bsm_text text;
  if (!count) return BSM_OK;
  bsm_text_init(&text, arena);
  for (size_t i = 0; i < count; i++) {
    bsm_text_printf(&text, "%s%s", i ? ", " : "", items[i]);
  }
  if (text.failed) return BSM_FAIL_OOM();
  return add(arena, out, key, text.data);
}

/* "NAME=fp16, ...", of layers and of modules. */
static bsm_status add_overrides(bsm_arena *arena, bsm_metadata_vec *out,
                                const bsm_compile_options *options) {
  bsm_text texts[2];
  for (int i = 0; i < 2; i++) bsm_text_init(&texts[i], arena);
  for (size_t i = 0; i < options->precision_override_count; i++) {
    const bsm_precision_override *o = &options->precision_overrides[i];
    bsm_text *text = &texts[o->layer ? 0 : 1];
    bsm_text_printf(text, "%s%s=%s", text->len ? ", " : "",
                    o->layer ? o->layer : o->module,
                    bsm_precision_name(o->precision));
  }
  if (texts[0].failed || texts[1].failed) return BSM_FAIL_OOM();
  if (texts[0].len) {
    BSM_TRY(add(arena, out, "options.layer_precisions", texts[0].data));
  }
  if (texts[1].len) {
    BSM_TRY(add(arena, out, "options.module_precisions", texts[1].data));
  }
  return options->obey_precisions
             ? add(arena, out, "options.obey_precisions", "yes")
             : BSM_OK;
}

/* "int8", "int4:64 for 16 rows" */
static bsm_status add_weights(bsm_arena *arena, bsm_metadata_vec *out,
                              const bsm_compile_options *options) {
  bsm_text text;
  if (!options->weight_bits) return BSM_OK;
  bsm_text_init(&text, arena);
  bsm_text_printf(&text, "int%d", options->weight_bits);
  if (options->weight_group) {
    bsm_text_printf(&text, ":%d", options->weight_group);
  }
  if (options->weight_rows) {
    bsm_text_printf(&text, " for %" PRId64 " rows", options->weight_rows);
  }
  if (text.failed) return BSM_FAIL_OOM();
  return add(arena, out, "options.weights", text.data);
}

static bsm_status add_reference(bsm_arena *arena, bsm_metadata_vec *out,
                                const bsm_compile_options *options) {
  static const char *const names[] = {NULL, "library", "double",
                                      "library, double"};
  const char *name = names[options->reference & 3];
  return name ? add(arena, out, "options.reference", name) : BSM_OK;
}

/* Limits that influence the engine, when they are not the defaults. */
static bsm_status add_limits(bsm_arena *arena, bsm_metadata_vec *out,
                             const bsm_limits *given) {
  const bsm_limits usual = bsm_resolve_limits(NULL);
  const struct {
    const char *key;
    uint64_t value, usual;
  } rows[] = {
      {"options.max_loop_trips", given->max_loop_trips, usual.max_loop_trips},
      {"options.max_unrolled_nodes", given->max_unrolled_nodes,
       usual.max_unrolled_nodes},
      {"options.max_work", given->max_work, usual.max_work}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    if (rows[i].value == rows[i].usual) continue;
    BSM_TRY(add_number(arena, out, rows[i].key, (size_t)rows[i].value));
  }
  return BSM_OK;
}

/* ---- the user's ---- */

bsm_status bsm_check_user_metadata(const bsm_compile_options *options) {
  static const char *const ours[] = {"builder.", "source.", "options.",
                                     "truncated"};
  BSM_NEED_ARRAY(options->metadata, options->metadata_count);
  for (size_t i = 0; i < options->metadata_count; i++) {
    const bsm_metadata *m = &options->metadata[i];
    if (!m->key || !m->value || !m->key[0]) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "metadata %zu: a key or value is missing", i);
    }
    for (size_t k = 0; k < sizeof(ours) / sizeof(ours[0]); k++) {
      if (strncmp(m->key, ours[k], strlen(ours[k])) != 0) continue;
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "metadata \"%s\": keys that begin with \"%s\" are the "
                      "compiler's",
                      m->key, ours[k]);
    }
    for (size_t k = 0; k < i; k++) {
      if (strcmp(options->metadata[k].key, m->key) != 0) continue;
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "metadata \"%s\" is given twice",
                      m->key);
    }
  }
  return BSM_OK;
}

static bsm_status add_users(bsm_arena *arena, bsm_metadata_vec *out,
                            const bsm_compile_options *options) {
  for (size_t i = 0; i < options->metadata_count; i++) {
    const char *key = bsm_arena_strdup(arena, options->metadata[i].key);
    BSM_TRY_ALLOC(key);
    BSM_TRY(add(arena, out, key, options->metadata[i].value));
  }
  return BSM_OK;
}

bsm_status bsm_engine_metadata_of(const bsm_module *module,
                                  const bsm_compile_options *options,
                                  const bsm_target *target,
                                  const char *truncated, bsm_arena *arena,
                                  bsm_metadata_vec *out) {
  const char *slash = strrchr(module->name, '/');
  *out = (bsm_metadata_vec){0};
  BSM_TRY(add(arena, out, "builder.version", bsm_version()));
  BSM_TRY(add(arena, out, "builder.target", target->text));
  BSM_TRY(add(arena, out, "builder.timing", options->no_timing ? "no" : "yes"));
  BSM_TRY(add(arena, out, "source.file", slash ? slash + 1 : module->name));
  BSM_TRY(add(arena, out, "source.method",
              options->method ? options->method : "forward"));
  if (truncated[0]) BSM_TRY(add(arena, out, "truncated", truncated));
  if (options->require_full_compilation) {
    BSM_TRY(add(arena, out, "options.require_full_compilation", "yes"));
  }
  BSM_TRY(add_list(arena, out, "options.fallback_ops", options->fallback_ops,
                   options->fallback_op_count));
  BSM_TRY(add_list(arena, out, "options.fallback_modules",
                   options->fallback_modules, options->fallback_module_count));
  if (options->min_block_size > 1) {
    BSM_TRY(add_number(arena, out, "options.min_block_size",
                       options->min_block_size));
  }
  if (options->truncate_long_and_double) {
    BSM_TRY(add(arena, out, "options.truncate_long_and_double", "yes"));
  }
  if (options->precisions) {
    const char *text = bsm_precisions_text(arena, options->precisions);
    BSM_TRY_ALLOC(text);
    BSM_TRY(add(arena, out, "options.precisions", text));
  }
  if (options->calibration) {
    const bsm_calibration *c = options->calibration;
    const char *text =
        bsm_arena_printf(arena, "%s, %" PRIu64 " batches",
                         bsm_calibration_method_name(c->method), c->batches);
    BSM_TRY_ALLOC(text);
    BSM_TRY(add(arena, out, "options.calibration", text));
  }
  BSM_TRY(add_overrides(arena, out, options));
  BSM_TRY(add_weights(arena, out, options));
  BSM_TRY(add_reference(arena, out, options));
  if (options->strip_sources) {
    BSM_TRY(add(arena, out, "options.strip_sources", "yes"));
  }
  if (options->prefer_size) {
    BSM_TRY(add(arena, out, "options.prefer_size", "yes"));
  }
  BSM_TRY(add_limits(arena, out, &module->cx->limits));
  return add_users(arena, out, options);
}

bsm_status bsm_set_metadata(const bsm_module *module,
                            const bsm_compile_options *options,
                            const bsm_target *target, bsm_arena *arena,
                            bsm_plan *plan) {
  bsm_metadata_vec rows;
  BSM_TRY(bsm_engine_metadata_of(module, options, target, "", arena, &rows));
  plan->metadata = rows.items;
  plan->metadata_count = (uint32_t)rows.len;
  return BSM_OK;
}
