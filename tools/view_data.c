/* SPDX-License-Identifier: Apache-2.0 */
/* Engines and dumps, as the viewer's page reads them. */
#include <string.h>

#include "tools/layer_text.h"
#include "tools/view.h"

/* ---- dumps ---- */

/* The lines of a graph without its constants, which may be long. */
static void take_graph(bsm_text *out, const char *text) {
  while (*text) {
    const size_t length = strcspn(text, "\n");
    if (!memmem(text, length, "= prim::Constant", 16)) {
      bsm_text_printf(out, "%.*s\n", (int)length, text);
    }
    text += length + (text[length] == '\n');
  }
}

void bsm_view_take_dump(void *user, const char *pass, const char *text) {
  bsm_view_dumps *dumps = user;
  /* Models in parts dump several networks. */
  if (strcmp(pass, "remove_dead_code") == 0 && !dumps->graph.len) {
    take_graph(&dumps->graph, text);
  } else if (strcmp(pass, "network") == 0) {
    bsm_text_puts(&dumps->network, text);
  }
}

/* ---- JSON ---- */

static void json_sizes(bsm_json *json, const char *key, const uint32_t *ids,
                       size_t count, size_t first) {
  bsm_json_open(json, key, '[');
  for (size_t i = 0; i < count; i++) {
    bsm_json_int(json, NULL, (int64_t)(first + ids[i]));
  }
  bsm_json_close(json, ']');
}

/* The time of the tactic when the engine was built; 0: it was not timed. */
static bsm_status built_seconds(const bsm_engine *engine, size_t index,
                                const bsm_step_info *step, double *out) {
  *out = 0;
  for (size_t i = 0; i < step->trial_count; i++) {
    bsm_step_trial trial = BSM_STEP_TRIAL_INIT;
    BSM_TRY(bsm_engine_step_trial(engine, index, i, &trial));
    if (strcmp(trial.tactic, step->tactic) == 0) *out = trial.seconds;
  }
  return BSM_OK;
}

static bsm_status json_trials(bsm_json *json, const bsm_engine *engine,
                              size_t index, size_t count) {
  if (!count) return BSM_OK;
  bsm_json_open(json, "trials", '[');
  for (size_t i = 0; i < count; i++) {
    bsm_step_trial trial = BSM_STEP_TRIAL_INIT;
    BSM_TRY(bsm_engine_step_trial(engine, index, i, &trial));
    bsm_json_open(json, NULL, '[');
    bsm_json_string(json, NULL, trial.tactic);
    bsm_json_double(json, NULL, trial.seconds * 1e3);
    bsm_json_close(json, ']');
  }
  bsm_json_close(json, ']');
  return BSM_OK;
}

static bsm_status json_step(bsm_json *json, const bsm_view_engine *view,
                            size_t index) {
  bsm_step_info step = BSM_STEP_INFO_INIT;
  double seconds;
  BSM_TRY(bsm_engine_step(view->engine, index, &step));
  BSM_TRY(built_seconds(view->engine, index, &step, &seconds));
  if (view->seconds) seconds = view->seconds[index];
  bsm_json_open(json, NULL, '{');
  bsm_json_string(json, "name", step.name);
  bsm_json_string(json, "kind", step.kind);
  bsm_json_string(json, "tactic", step.tactic);
  bsm_json_string(json, "precision", bsm_precision_name(step.precision));
  bsm_json_int(json, "space", step.space);
  bsm_json_int(json, "part", (int64_t)step.part);
  json_sizes(json, "inputs", step.inputs, step.input_count, step.first_tensor);
  json_sizes(json, "outputs", step.outputs, step.output_count,
             step.first_tensor);
  bsm_json_double(json, "flops", step.flops);
  bsm_json_double(json, "bytes", step.bytes);
  bsm_json_int(json, "weights", (int64_t)step.weight_bytes);
  if (seconds > 0) bsm_json_double(json, "ms", seconds * 1e3);
  BSM_TRY(json_trials(json, view->engine, index, step.trial_count));
  bsm_json_close(json, '}');
  return BSM_OK;
}

/* [name, dtype, dims, place, space, index, offset, bytes, strides] */
static bsm_status json_tensor(bsm_json *json, const bsm_engine *engine,
                              size_t index) {
  bsm_tensor_info t = BSM_TENSOR_INFO_INIT;
  BSM_TRY(bsm_engine_tensor(engine, index, &t));
  bsm_json_open(json, NULL, '[');
  bsm_json_string(json, NULL, t.name);
  bsm_json_string(json, NULL, bsm_dtype_name(t.dtype));
  bsm_json_dims(json, NULL, t.dims);
  bsm_json_int(json, NULL, t.place);
  bsm_json_int(json, NULL, t.space);
  bsm_json_int(json, NULL, (int64_t)t.index);
  bsm_json_int(json, NULL, (int64_t)t.offset);
  bsm_json_int(json, NULL, (int64_t)t.bytes);
  bsm_json_open(json, NULL, '[');
  for (int32_t i = 0; i < t.dims.rank; i++) {
    bsm_json_int(json, NULL, t.strides[i]);
  }
  bsm_json_close(json, ']');
  bsm_json_close(json, ']');
  return BSM_OK;
}

static bsm_status json_bindings(bsm_json *json, const bsm_engine *engine,
                                bool outputs) {
  const size_t count = outputs ? bsm_engine_output_count(engine)
                               : bsm_engine_input_count(engine);
  bsm_json_open(json, outputs ? "outputs" : "inputs", '[');
  for (size_t i = 0; i < count; i++) {
    bsm_binding binding = BSM_BINDING_INIT;
    BSM_TRY(outputs ? bsm_engine_output(engine, i, &binding)
                    : bsm_engine_input(engine, i, &binding));
    bsm_json_open(json, NULL, '{');
    bsm_json_string(json, "name", binding.name);
    bsm_json_string(json, "dtype", bsm_dtype_name(binding.dtype));
    bsm_json_dims(json, "dims", binding.dims);
    bsm_json_close(json, '}');
  }
  bsm_json_close(json, ']');
  return BSM_OK;
}

static bsm_status json_facts(bsm_json *json, const bsm_view_engine *view) {
  bsm_engine_memory_info memory = BSM_ENGINE_MEMORY_INFO_INIT;
  const char *key, *value;
  BSM_TRY(bsm_engine_memory(view->engine, 1, &memory));
  bsm_json_string(json, "file", view->path);
  bsm_json_open(json, "metadata", '{');
  for (size_t i = 0; bsm_engine_metadata_at(view->engine, i, &key, &value);
       i++) {
    bsm_json_string(json, key, value);
  }
  bsm_json_close(json, '}');
  bsm_json_int(json, "weights", (int64_t)memory.weights);
  bsm_json_int(json, "workspace", (int64_t)memory.workspace);
  bsm_json_int(json, "scratch", (int64_t)memory.scratch);
  bsm_json_double(json, "peak", view->peak);
  bsm_json_bool(json, "profiled", view->seconds != NULL);
  return BSM_OK;
}

bsm_status bsm_view_engine_json(bsm_json *json, const bsm_view_engine *view) {
  bsm_json_open(json, NULL, '{');
  BSM_TRY(json_facts(json, view));
  BSM_TRY(json_bindings(json, view->engine, false));
  BSM_TRY(json_bindings(json, view->engine, true));
  bsm_json_open(json, "tensors", '[');
  for (size_t i = 0; i < bsm_engine_tensor_count(view->engine); i++) {
    BSM_TRY(json_tensor(json, view->engine, i));
  }
  bsm_json_close(json, ']');
  bsm_json_open(json, "steps", '[');
  for (size_t i = 0; i < bsm_engine_step_count(view->engine); i++) {
    BSM_TRY(json_step(json, view, i));
  }
  bsm_json_close(json, ']');
  bsm_json_close(json, '}');
  return BSM_OK;
}

/* ---- Graphviz ---- */

static void dot_text(FILE *file, const char *text) {
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') fputc('\\', file);
    fputc((unsigned char)*text < 0x20 ? ' ' : *text, file);
  }
}

/* Who makes the memory at a place, by the tensors that share it. */
typedef struct maker {
  uint64_t from, to;
  size_t part;
  bsm_memory_space space;
  bsm_tensor_place place;
  size_t index, step;
} maker;

/* Bytes of a tensor whose maker is still to be found. Those of pieces begin at
 * places of their own, so what is missing is kept as one range that shrinks
 * from its ends. */
typedef struct missing {
  uint64_t from, to;
} missing;

static bool takes_from(const maker *m, const bsm_tensor_info *t, size_t part,
                       missing *rest) {
  if (m->part != part || m->place != t->place || m->space != t->space ||
      m->index != t->index || m->from >= rest->to || m->to <= rest->from) {
    return false;
  }
  if (m->from <= rest->from) {
    rest->from = m->to;
  } else if (m->to >= rest->to) {
    rest->to = m->from;
  }
  return true;
}

/* Edges from the last writers of what the step reads. */
static bsm_status dot_edges(FILE *file, const bsm_engine *engine, size_t index,
                            const maker *makers, size_t count) {
  bsm_step_info step = BSM_STEP_INFO_INIT;
  BSM_TRY(bsm_engine_step(engine, index, &step));
  for (size_t i = 0; i < step.input_count; i++) {
    bsm_tensor_info t = BSM_TENSOR_INFO_INIT;
    BSM_TRY(bsm_engine_tensor(engine, step.first_tensor + step.inputs[i], &t));
    bool made = false;
    missing rest = {t.offset, t.offset + t.bytes};
    for (size_t k = count; k-- > 0 && rest.from < rest.to;) {
      if (!takes_from(&makers[k], &t, step.part, &rest)) continue;
      made = true;
      fprintf(file, "  s%zu -> s%zu [label=\"%s%s\"];\n", makers[k].step, index,
              bsm_dtype_name(t.dtype), bsm_dims_str(t.dims));
    }
    if (!made && t.place == BSM_TENSOR_INPUT) {
      fprintf(file, "  \"input ");
      dot_text(file, t.name);
      fprintf(file, "\" -> s%zu [label=\"%s%s\"];\n", index,
              bsm_dtype_name(t.dtype), bsm_dims_str(t.dims));
    }
  }
  return BSM_OK;
}

static bsm_status note_makers(const bsm_engine *engine, size_t index,
                              maker *makers, size_t *count) {
  bsm_step_info step = BSM_STEP_INFO_INIT;
  BSM_TRY(bsm_engine_step(engine, index, &step));
  for (size_t i = 0; i < step.output_count; i++) {
    bsm_tensor_info t = BSM_TENSOR_INFO_INIT;
    BSM_TRY(bsm_engine_tensor(engine, step.first_tensor + step.outputs[i], &t));
    makers[(*count)++] = (maker){
        t.offset, t.offset + t.bytes, step.part, t.space, t.place, t.index,
        index};
  }
  return BSM_OK;
}

static bsm_status dot_step(bsm_cli *cli, FILE *file, const bsm_engine *engine,
                           size_t index, size_t *outputs) {
  bsm_step_info step = BSM_STEP_INFO_INIT;
  BSM_TRY(bsm_engine_step(engine, index, &step));
  const char *name = bsm_layer_short_name(&cli->arena, step.name);
  BSM_TRY_ALLOC(name);
  *outputs += step.output_count;
  fprintf(file, "  s%zu [label=\"", index);
  dot_text(file, name);
  fprintf(file, "\\n%s", step.kind);
  if (step.tactic[0]) fprintf(file, ", %s", step.tactic);
  fprintf(file, "\"%s];\n",
          step.space == BSM_SPACE_DEVICE ? ", style=filled" : "");
  return BSM_OK;
}

bsm_status bsm_view_dot(bsm_cli *cli, FILE *file, const bsm_view_engine *view) {
  const size_t steps = bsm_engine_step_count(view->engine);
  size_t outputs = 0, count = 0;
  fputs("digraph engine {\n  node [shape=box];\n", file);
  for (size_t i = 0; i < steps; i++) {
    BSM_TRY(dot_step(cli, file, view->engine, i, &outputs));
  }
  maker *makers = BSM_NEW_ARRAY(&cli->arena, maker, outputs + 1);
  BSM_TRY_ALLOC(makers);
  for (size_t i = 0; i < steps; i++) {
    BSM_TRY(dot_edges(file, view->engine, i, makers, count));
    BSM_TRY(note_makers(view->engine, i, makers, &count));
  }
  fputs("}\n", file);
  return BSM_OK;
}
