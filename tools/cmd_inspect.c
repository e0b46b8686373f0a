/* SPDX-License-Identifier: Apache-2.0 */
/* bessemer inspect: what is in a model or an engine. */
#include <inttypes.h>
#include <string.h>

#include "tools/json.h"
#include "tools/session.h"
#include "tools/step_table.h"
#include "tools/structure_print.h"

static const struct argp_option options[] = {
    {"plan", BSM_KEY_PLAN, 0, 0,
     "Print each step with its time when built, and the whole plan: tensors, "
     "steps, memory",
     1},
    {"json", BSM_KEY_JSON, 0, 0, "Print JSON", 1},
    BSM_OPTIONS_MACHINE,
    BSM_OPTIONS_COMPILE,
    BSM_OPTIONS_LOG,
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state) {
  return bsm_cli_argument(key, arg, state, true, false);
}

const struct argp bsm_argp_inspect = {
    .options = options,
    .parser = parse,
    .args_doc = "ENGINE|MODEL [SPEC...]",
    .doc =
        "Shows the parameters of a model and what it compiles to, or the "
        "inputs, outputs, steps and memory of an engine. Graphs and "
        "networks are shown by --dump-after."
        "\v"
        "Examples:\n"
        "  bessemer inspect model.bsm --plan\n"
        "  bessemer inspect model.ts --dump-after network"};

/* ---- a model's parameters ---- */

/* Whether the file says that they do. */
static bool dims_range(const bsm_parameter *p) {
  bool ranges = false;
  for (int32_t i = 0; p->has_example && i < p->min_dims.rank; i++) {
    ranges = ranges || p->min_dims.d[i] != p->max_dims.d[i];
  }
  return ranges;
}

static void print_parameter(const bsm_parameter *p) {
  printf("  %s: %s%s", p->name, p->type,
         p->has_default ? " (has a default)" : "");
  if (p->has_example && p->is_tensor) {
    printf("  example %s %s", bsm_dtype_name(p->example_dtype),
           bsm_dims_str(p->example_dims));
  }
  if (dims_range(p)) {
    printf(" from %s", bsm_dims_str(p->min_dims));
    printf(" to %s", bsm_dims_str(p->max_dims));
  }
  putchar('\n');
}

static void json_parameter(bsm_json *json, const bsm_parameter *p) {
  bsm_json_open(json, NULL, '{');
  bsm_json_string(json, "name", p->name);
  bsm_json_string(json, "type", p->type);
  bsm_json_bool(json, "has_default", p->has_default);
  if (p->has_example && p->is_tensor) {
    bsm_json_string(json, "example_dtype", bsm_dtype_name(p->example_dtype));
    bsm_json_dims(json, "example_dims", p->example_dims);
  }
  if (dims_range(p)) {
    bsm_json_dims(json, "min_dims", p->min_dims);
    bsm_json_dims(json, "max_dims", p->max_dims);
  }
  bsm_json_close(json, '}');
}

/* The methods of the root, when there is more than forward. */
static void show_methods(const bsm_cli *cli, const bsm_module *module,
                         bsm_json *json) {
  const char *name;
  if (cli->json) {
    bsm_json_open(json, "methods", '[');
  } else if (bsm_module_method_name(module, 1)) {
    fputs("methods: ", stdout);
  }
  for (size_t i = 0; (name = bsm_module_method_name(module, i)); i++) {
    if (cli->json) {
      bsm_json_string(json, NULL, name);
    } else if (bsm_module_method_name(module, 1)) {
      printf("%s%s", i ? ", " : "", name);
    }
  }
  if (cli->json) {
    bsm_json_close(json, ']');
  } else if (bsm_module_method_name(module, 1)) {
    putchar('\n');
  }
}

/* Prints the parameters; *ready tells whether the archive has an example for
 * each tensor. */
static bsm_status show_parameters(bsm_cli *cli, bsm_module *module,
                                  bsm_json *json, bool *ready) {
  size_t count;
  BSM_TRY(bsm_module_parameter_count(module, cli->method, &count));
  if (cli->json) {
    bsm_json_open(json, "parameters", '[');
  } else {
    puts("parameters:");
  }
  *ready = true;
  for (size_t i = 0; i < count; i++) {
    bsm_parameter parameter = BSM_PARAMETER_INIT;
    BSM_TRY(bsm_module_parameter(module, cli->method, i, &parameter));
    *ready = *ready && (parameter.has_example || parameter.has_default);
    if (cli->json) {
      json_parameter(json, &parameter);
    } else {
      print_parameter(&parameter);
    }
  }
  if (cli->json) bsm_json_close(json, ']');
  return BSM_OK;
}

/* ---- an engine ---- */

typedef bsm_status (*get_binding)(const bsm_engine *engine, size_t index,
                                  bsm_binding *out);

/* Between what the dims of an input range, when they do. */
static bsm_status show_range(const bsm_cli *cli, const bsm_engine *engine,
                             size_t input, bsm_json *json) {
  bsm_dims min, opt, max;
  bool ranges = false;
  BSM_TRY(bsm_engine_input_range(engine, input, &min, &opt, &max));
  for (int32_t i = 0; i < min.rank; i++) {
    ranges = ranges || min.d[i] != max.d[i];
  }
  if (!ranges) return BSM_OK;
  if (cli->json) {
    bsm_json_dims(json, "min", min);
    bsm_json_dims(json, "opt", opt);
    bsm_json_dims(json, "max", max);
    return BSM_OK;
  }
  printf(" from %s", bsm_dims_str(min));
  printf(" to %s", bsm_dims_str(max));
  printf(", best %s", bsm_dims_str(opt));
  return BSM_OK;
}

static bsm_status show_bindings(const bsm_cli *cli, const bsm_engine *engine,
                                const char *title, size_t count,
                                get_binding get, bsm_json *json) {
  if (cli->json) {
    bsm_json_open(json, title, '[');
  } else {
    printf("%s:\n", title);
  }
  for (size_t i = 0; i < count; i++) {
    bsm_binding binding = BSM_BINDING_INIT;
    BSM_TRY(get(engine, i, &binding));
    if (!cli->json) {
      printf("  %s: %s %s", binding.name, bsm_dtype_name(binding.dtype),
             bsm_dims_str(binding.dims));
      if (get == bsm_engine_input) {
        BSM_TRY(show_range(cli, engine, i, json));
      }
      printf("\n");
      continue;
    }
    bsm_json_open(json, NULL, '{');
    bsm_json_string(json, "name", binding.name);
    bsm_json_string(json, "dtype", bsm_dtype_name(binding.dtype));
    bsm_json_dims(json, "dims", binding.dims);
    if (get == bsm_engine_input) BSM_TRY(show_range(cli, engine, i, json));
    bsm_json_close(json, '}');
  }
  if (cli->json) bsm_json_close(json, ']');
  return BSM_OK;
}

/* The layers of plug-ins that the engine calls; *missing when one of them is
 * not registered. */
static bsm_status show_layers(const bsm_cli *cli, const bsm_engine *engine,
                              bsm_json *json, bool *missing) {
  const size_t count = bsm_engine_layer_count(engine);
  *missing = false;
  if (!count) return BSM_OK;
  if (cli->json) {
    bsm_json_open(json, "plugin_layers", '[');
  } else {
    puts("layers of plug-ins:");
  }
  for (size_t i = 0; i < count; i++) {
    bsm_engine_layer layer = BSM_ENGINE_LAYER_INIT;
    BSM_TRY(bsm_engine_get_layer(engine, i, &layer));
    *missing = *missing || !layer.registered;
    if (!cli->json) {
      printf("  %s version %" PRIu32 "%s\n", layer.name, layer.version,
             layer.registered ? "" : " (not registered: --plugin)");
      continue;
    }
    bsm_json_open(json, NULL, '{');
    bsm_json_string(json, "name", layer.name);
    bsm_json_int(json, "version", layer.version);
    bsm_json_bool(json, "registered", layer.registered);
    bsm_json_close(json, '}');
  }
  if (cli->json) bsm_json_close(json, ']');
  return BSM_OK;
}

/* What inputs and outputs make up, where that is more than the lists tell. */
static bsm_status show_structures(const bsm_cli *cli, const bsm_engine *engine,
                                  bsm_json *json) {
  const bsm_structure *arguments = bsm_engine_input_structure(engine);
  const bsm_structure *result = bsm_engine_output_structure(engine);
  if (!arguments || !result) return BSM_OK;
  if (cli->json) {
    bsm_structure_json(json, "arguments", arguments, NULL);
    bsm_structure_json(json, "result", result, NULL);
    return BSM_OK;
  }
  if (!bsm_structure_is_plain(arguments)) {
    BSM_TRY(bsm_structure_show("arguments", arguments));
  }
  return bsm_structure_is_plain(result) ? BSM_OK
                                        : bsm_structure_show("result", result);
}

static bsm_status show_memory(const bsm_cli *cli, const bsm_engine *engine,
                              bsm_json *json) {
  bsm_engine_memory_info memory = BSM_ENGINE_MEMORY_INFO_INIT;
  BSM_TRY(bsm_engine_memory(engine, cli->threads, &memory));
  if (cli->json) {
    bsm_json_open(json, "memory", '{');
    bsm_json_int(json, "weights", (int64_t)memory.weights);
    bsm_json_int(json, "workspace", (int64_t)memory.workspace);
    bsm_json_int(json, "scratch", (int64_t)memory.scratch);
    bsm_json_int(json, "host_workspace", (int64_t)memory.host_workspace);
    bsm_json_int(json, "host_scratch", (int64_t)memory.host_scratch);
    bsm_json_int(json, "device_weights", (int64_t)memory.device_weights);
    bsm_json_close(json, '}');
  } else {
    printf(
        "memory: %s of weights, shared; %s of workspace and %s of scratch "
        "for each context\n",
        bsm_cli_size(memory.weights).text, bsm_cli_size(memory.workspace).text,
        bsm_cli_size(memory.scratch).text);
    if (memory.host_workspace || memory.host_scratch || memory.device_weights) {
      printf(
          "memory of the host beside it: %s of workspace and %s of scratch for "
          "each context; %s of the weights are on the device\n",
          bsm_cli_size(memory.host_workspace).text,
          bsm_cli_size(memory.host_scratch).text,
          bsm_cli_size(memory.device_weights).text);
    }
  }
  return BSM_OK;
}

static void show_metadata(const bsm_cli *cli, const bsm_engine *engine,
                          bsm_json *json) {
  const char *key, *value;
  if (cli->json) {
    bsm_json_open(json, "metadata", '{');
  } else if (bsm_engine_metadata_at(engine, 0, &key, &value)) {
    puts("built from:");
  }
  for (size_t i = 0; bsm_engine_metadata_at(engine, i, &key, &value); i++) {
    if (cli->json) {
      bsm_json_string(json, key, value);
    } else {
      printf("  %s: %s\n", key, value);
    }
  }
  if (cli->json) bsm_json_close(json, '}');
}

/* How many steps there are of each kind, in order of first appearance. */
static bsm_status print_steps(bsm_cli *cli, const bsm_engine *engine) {
  typedef struct kind_count {
    const char *kind;
    size_t count;
  } kind_count;
  BSM_VEC(kind_count) kinds = {0};
  const size_t count = bsm_engine_step_count(engine);
  for (size_t i = 0; i < count; i++) {
    bsm_step_info step = BSM_STEP_INFO_INIT;
    BSM_TRY(bsm_engine_step(engine, i, &step));
    size_t k = 0;
    while (k < kinds.len && strcmp(kinds.items[k].kind, step.kind) != 0) k++;
    if (k == kinds.len &&
        !bsm_vec_push(&cli->arena, &kinds, (kind_count){step.kind, 0})) {
      return BSM_FAIL_OOM();
    }
    kinds.items[k].count++;
  }
  printf("steps: %zu", count);
  for (size_t k = 0; k < kinds.len; k++) {
    printf("%s%zu %s", k ? ", " : " (", kinds.items[k].count,
           kinds.items[k].kind);
  }
  puts(kinds.len ? ")" : "");
  return BSM_OK;
}

static bsm_status show_engine(bsm_cli *cli, const bsm_engine *engine,
                              bsm_json *json) {
  show_metadata(cli, engine, json);
  BSM_TRY(show_bindings(cli, engine, "inputs", bsm_engine_input_count(engine),
                        bsm_engine_input, json));
  BSM_TRY(show_bindings(cli, engine, "outputs", bsm_engine_output_count(engine),
                        bsm_engine_output, json));
  BSM_TRY(show_structures(cli, engine, json));
  bool missing;
  BSM_TRY(show_layers(cli, engine, json, &missing));
  /* What a layer needs is for its plug-in to say. */
  if (!missing) BSM_TRY(show_memory(cli, engine, json));
  if (cli->json) {
    BSM_TRY(bsm_json_built_steps(cli, engine, json));
  } else {
    BSM_TRY(print_steps(cli, engine));
  }
  if (!cli->plan) return BSM_OK;
  if (!cli->json) BSM_TRY(bsm_print_built_steps(cli, engine));
  char *text = NULL;
  BSM_TRY(bsm_engine_dump(engine, &text));
  if (cli->json) {
    bsm_json_string(json, "plan", text);
  } else {
    printf("%s", text);
  }
  bsm_string_free(text);
  return BSM_OK;
}

/* ---- both ---- */

typedef struct dump_to_json {
  const bsm_cli *cli;
  bsm_json *json;
} dump_to_json;

static void json_dump(void *user, const char *pass, const char *text) {
  const dump_to_json *self = user;
  for (size_t i = 0; i < self->cli->dump_after.len; i++) {
    if (strcmp(self->cli->dump_after.items[i], pass) != 0) continue;
    bsm_json_string(self->json, pass, text);
    return;
  }
}

static bsm_status inspect_model(bsm_cli *cli, bsm_session *session,
                                bsm_json *json) {
  bool ready;
  show_methods(cli, session->module, json);
  BSM_TRY(show_parameters(cli, session->module, json, &ready));
  const bool given = cli->specs.len || cli->inputs_from;
  if (!given && !ready) {
    if (cli->plan || cli->dump_after.len) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "the archive has no example inputs: give input specs or "
                      "--inputs-from");
    }
    if (!cli->json) {
      puts("Give input specs or --inputs-from to see what it compiles to.");
    }
    return BSM_OK;
  }
  bsm_compile_options compile_options;
  BSM_TRY(bsm_session_options(cli, session, &compile_options));
  if (!compile_options.timing_cache) compile_options.no_timing = true;
  dump_to_json dump = {cli, json};
  if (cli->json && cli->dump_after.len) {
    compile_options.dump = json_dump;
    compile_options.dump_user = &dump;
    bsm_json_open(json, "dumps", '{');
  }
  BSM_TRY(bsm_session_compile(cli, session, &compile_options));
  if (cli->json && cli->dump_after.len) bsm_json_close(json, '}');
  return show_engine(cli, session->engine, json);
}

static bsm_status inspect(bsm_cli *cli, bsm_session *session) {
  bool is_engine;
  session->without_device = true;
  BSM_TRY(bsm_cli_is_engine(cli->path, &is_engine));
  BSM_TRY(is_engine ? bsm_session_open_engine(cli, session, true)
                    : bsm_session_load_module(cli, session));
  bsm_json json = {.file = stdout};
  if (cli->json) {
    bsm_json_open(&json, NULL, '{');
    bsm_json_string(&json, "file", cli->path);
    bsm_json_string(&json, "kind", is_engine ? "engine" : "model");
  } else {
    printf("%s: %s\n", cli->path, is_engine ? "engine" : "model");
  }
  if (is_engine) {
    BSM_TRY(show_engine(cli, session->engine, &json));
  } else {
    BSM_TRY(inspect_model(cli, session, &json));
  }
  if (cli->json) bsm_json_close(&json, '}');
  return BSM_OK;
}

int bsm_cmd_inspect(int argc, char **argv) {
  bsm_cli cli;
  bsm_session session = {0};
  bsm_cli_parse(&cli, "bessemer inspect", &bsm_argp_inspect, argc, argv);
  const int code = bsm_cli_finish(&cli, inspect(&cli, &session));
  bsm_session_close(&session);
  bsm_cli_close(&cli);
  return code;
}
