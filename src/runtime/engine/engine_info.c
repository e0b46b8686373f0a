/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine tells of itself: bindings, structures, metadata, steps. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/near_name.h"
#include "base/options.h"
#include "base/strings.h"
#include "engine/plan_work.h"
#include "engine/program.h"
#include "plugin/plugin_registry.h"
#include "runtime/engine/engine.h"

size_t bsm_engine_input_count(const bsm_engine *engine) {
  return engine ? engine->plan->input_count : 0;
}

size_t bsm_engine_output_count(const bsm_engine *engine) {
  return engine ? engine->plan->output_count : 0;
}

static bsm_status describe_binding(const bsm_plan *plan,
                                   const bsm_plan_binding *b,
                                   bsm_binding *out) {
  const bsm_plan_tensor *t = &plan->tensors[b->tensor];
  const bsm_binding binding = {
      .name = b->name, .dtype = t->dtype, .dims = t->dims, .space = t->space};
  return BSM_OUT(bsm_binding, out, binding);
}

bsm_status bsm_engine_input(const bsm_engine *engine, size_t index,
                            bsm_binding *out) {
  BSM_NEED(engine);
  if (index >= engine->plan->input_count) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "input %zu of an engine with %" PRIu32,
                    index, engine->plan->input_count);
  }
  return describe_binding(engine->plan, &engine->plan->inputs[index], out);
}

bsm_status bsm_engine_output(const bsm_engine *engine, size_t index,
                             bsm_binding *out) {
  BSM_NEED(engine);
  if (index >= engine->plan->output_count) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "output %zu of an engine with %" PRIu32,
                    index, engine->plan->output_count);
  }
  return describe_binding(engine->plan, &engine->plan->outputs[index], out);
}

bsm_status bsm_engine_input_range(const bsm_engine *engine, size_t index,
                                  bsm_dims *min, bsm_dims *opt, bsm_dims *max) {
  bsm_binding binding = BSM_BINDING_INIT;
  BSM_TRY(bsm_engine_input(engine, index, &binding));
  const bsm_program *p = engine->plan->program;
  bsm_program_range range = {0, binding.dims, binding.dims, binding.dims};
  for (uint32_t i = 0; p && i < p->range_count; i++) {
    if (p->ranges[i].input == index) range = p->ranges[i];
  }
  if (min) *min = range.min;
  if (opt) *opt = range.opt;
  if (max) *max = range.max;
  return BSM_OK;
}

static bsm_status find_binding(const bsm_plan_binding *bindings, uint32_t count,
                               const char *what, const char *name,
                               size_t *out) {
  for (uint32_t i = 0; i < count; i++) {
    if (strcmp(bindings[i].name, name) != 0) continue;
    *out = i;
    return BSM_OK;
  }
  bsm_arena arena;
  bsm_text names;
  bsm_arena_init(&arena, NULL);
  bsm_text_init(&names, &arena);
  bsm_near_name near = {.wanted = bsm_str_of(name)};
  for (uint32_t i = 0; i < count; i++) {
    bsm_near_name_look(&near, bindings[i].name);
    if (names.len >= 1000) continue;
    bsm_text_printf(&names, "%s%s", i ? ", " : "", bindings[i].name);
  }
  bsm_status status = BSM_FAIL(
      BSM_NOT_FOUND, "the engine has no %s \"%s\"%s%s%s; there are: %s", what,
      name, BSM_NEAR_NAME_ARGS(near, "\""), names.len ? names.data : "none");
  bsm_arena_destroy(&arena);
  return status;
}

bsm_status bsm_engine_find_input(const bsm_engine *engine, const char *name,
                                 size_t *out) {
  BSM_NEED(engine);
  BSM_NEED(name);
  BSM_NEED(out);
  return find_binding(engine->plan->inputs, engine->plan->input_count, "input",
                      name, out);
}

bsm_status bsm_engine_find_output(const bsm_engine *engine, const char *name,
                                  size_t *out) {
  BSM_NEED(engine);
  BSM_NEED(name);
  BSM_NEED(out);
  return find_binding(engine->plan->outputs, engine->plan->output_count,
                      "output", name, out);
}

const bsm_structure *bsm_engine_input_structure(const bsm_engine *engine) {
  return engine ? engine->plan->input_structure : NULL;
}

const bsm_structure *bsm_engine_output_structure(const bsm_engine *engine) {
  return engine ? engine->plan->output_structure : NULL;
}

bsm_status bsm_structure_text(const bsm_structure *node, char **out) {
  BSM_NEED(out);
  *out = NULL;
  BSM_NEED(node);
  bsm_arena arena;
  bsm_text text;
  bsm_arena_init(&arena, NULL);
  bsm_text_init(&text, &arena);
  bsm_structure_print(&text, node);
  if (!text.failed) *out = strdup(text.data);
  bsm_arena_destroy(&arena);
  return *out ? BSM_OK : BSM_FAIL_OOM();
}

const char *bsm_engine_metadata(const bsm_engine *engine, const char *key) {
  if (!engine || !key) return NULL;
  for (uint32_t i = 0; i < engine->plan->metadata_count; i++) {
    if (strcmp(engine->plan->metadata[i].key, key) == 0) {
      return engine->plan->metadata[i].value;
    }
  }
  return NULL;
}

bool bsm_engine_metadata_at(const bsm_engine *engine, size_t index,
                            const char **key, const char **value) {
  if (!engine || index >= engine->plan->metadata_count) return false;
  if (key) *key = engine->plan->metadata[index].key;
  if (value) *value = engine->plan->metadata[index].value;
  return true;
}

size_t bsm_engine_step_count(const bsm_engine *engine) {
  return engine ? bsm_plan_total_steps(engine->plan) : 0;
}

static bsm_status find_step(const bsm_engine *engine, size_t index,
                            const bsm_plan **plan, const bsm_plan_step **step,
                            uint32_t *part) {
  const uint32_t count = bsm_plan_total_steps(engine->plan);
  if (index >= count) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "step %zu of an engine with %" PRIu32,
                    index, count);
  }
  uint32_t at;
  *plan = bsm_plan_find_step(engine->plan, (uint32_t)index, part, &at);
  *step = &(*plan)->steps[at];
  return BSM_OK;
}

/* The number of tensors in the parts before one. */
static size_t tensors_before(const bsm_plan *plan, uint32_t part) {
  size_t count = 0;
  for (uint32_t i = 0; i < part && bsm_plan_part(plan, i); i++) {
    count += bsm_plan_part(plan, i)->tensor_count;
  }
  return count;
}

static uint64_t weights_of(const bsm_plan *plan, const bsm_plan_step *step) {
  uint64_t bytes = 0;
  for (int i = 0; i < BSM_STEP_MAX_WEIGHTS; i++) {
    const uint32_t id = step->weights[i];
    if (id != BSM_NO_WEIGHTS) bytes += plan->weights[id].size;
  }
  return bytes;
}

bsm_status bsm_engine_step(const bsm_engine *engine, size_t index,
                           bsm_step_info *out) {
  BSM_NEED(engine);
  const bsm_plan *plan;
  const bsm_plan_step *step;
  uint32_t part;
  BSM_TRY(find_step(engine, index, &plan, &step, &part));
  const bsm_work work = bsm_step_work(plan, step);
  const bsm_step_info info = {
      .name = step->name,
      .kind = bsm_step_kind_name(step->kind),
      .tactic = step->tactic,
      .flops = work.flops,
      .bytes = work.bytes,
      .trial_count = step->trial_count,
      .inputs = step->inputs,
      .outputs = step->outputs,
      .input_count = step->input_count,
      .output_count = step->output_count,
      .first_tensor = tensors_before(engine->plan, part),
      .part = part,
      .weight_bytes = weights_of(plan, step),
      .precision = step->precision,
      .space = step->space};
  return BSM_OUT(bsm_step_info, out, info);
}

size_t bsm_engine_tensor_count(const bsm_engine *engine) {
  return engine ? tensors_before(engine->plan, UINT32_MAX) : 0;
}

static const bsm_plan_tensor *find_tensor(const bsm_plan *plan, size_t index) {
  for (uint32_t i = 0; bsm_plan_part(plan, i); i++) {
    const bsm_plan *part = bsm_plan_part(plan, i);
    if (index < part->tensor_count) return &part->tensors[index];
    index -= part->tensor_count;
  }
  return NULL;
}

bsm_status bsm_engine_tensor(const bsm_engine *engine, size_t index,
                             bsm_tensor_info *out) {
  BSM_NEED(engine);
  const bsm_plan_tensor *t = find_tensor(engine->plan, index);
  if (!t) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "tensor %zu of an engine with %zu", index,
                    bsm_engine_tensor_count(engine));
  }
  bsm_tensor_info info = {.name = t->name,
                          .dtype = t->dtype,
                          .dims = t->dims,
                          .strides = t->strides,
                          .place = (bsm_tensor_place)t->place,
                          .space = t->space,
                          .index = t->index,
                          .offset = t->offset};
  /* Of bindings whose sizes only a run knows there is no extent. */
  if (!bsm_plan_tensor_extent(t, &info.bytes)) info.bytes = 0;
  return BSM_OUT(bsm_tensor_info, out, info);
}

bsm_status bsm_engine_step_trial(const bsm_engine *engine, size_t step_index,
                                 size_t index, bsm_step_trial *out) {
  BSM_NEED(engine);
  const bsm_plan *plan;
  const bsm_plan_step *step;
  uint32_t part;
  BSM_TRY(find_step(engine, step_index, &plan, &step, &part));
  if (index >= step->trial_count) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "trial %zu of a step with %" PRIu32,
                    index, step->trial_count);
  }
  const bsm_plan_trial *trial = &step->trials[index];
  const bsm_step_trial made = {.tactic = trial->tactic,
                               .seconds = 1e-9 * (double)trial->nanoseconds};
  return BSM_OUT(bsm_step_trial, out, made);
}

size_t bsm_engine_layer_count(const bsm_engine *engine) {
  return engine ? engine->layer_count : 0;
}

bsm_status bsm_engine_get_layer(const bsm_engine *engine, size_t index,
                                bsm_engine_layer *out) {
  BSM_NEED(engine);
  if (index >= engine->layer_count) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "custom layer %zu of an engine with %zu",
                    index, engine->layer_count);
  }
  bsm_engine_layer layer = engine->layers[index];
  layer.registered =
      bsm_plugin_find_layer(engine->plugins, layer.name, layer.version) != NULL;
  return BSM_OUT(bsm_engine_layer, out, layer);
}

bsm_status bsm_engine_dump(const bsm_engine *engine, char **out) {
  BSM_NEED(out);
  *out = NULL;
  BSM_NEED(engine);
  bsm_arena arena;
  bsm_text text;
  bsm_arena_init(&arena, engine->allocator);
  bsm_text_init(&text, &arena);
  bsm_plan_print(&text, engine->plan);
  if (!text.failed) *out = strdup(text.data);
  bsm_arena_destroy(&arena);
  return *out ? BSM_OK : BSM_FAIL_OOM();
}

void bsm_string_free(char *text) {
  free(text);
}
