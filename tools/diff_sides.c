/* SPDX-License-Identifier: Apache-2.0 */
/* The two sides of a diff: models are compiled, engines are run, arrays are
 * read. */
#include <string.h>

#include "tools/diff.h"

/* Kept of one run, at most. */
#define MAX_KEPT (UINT64_C(64) << 30)

static bool ends_in(const char *path, const char *ending) {
  const size_t length = strlen(path), n = strlen(ending);
  return length >= n && strcmp(path + length - n, ending) == 0;
}

bsm_status bsm_side_find_kind(const char *path, bsm_side_kind *out) {
  bool is_engine;
  *out = BSM_SIDE_ARRAYS;
  if (ends_in(path, ".npz") || ends_in(path, ".npy")) return BSM_OK;
  BSM_TRY(bsm_cli_is_engine(path, &is_engine));
  *out = is_engine ? BSM_SIDE_ENGINE : BSM_SIDE_MODEL;
  return BSM_OK;
}

/* ---- opening ---- */

/* Opens what runs. The specs of the command line are for models; a model that
 * is compiled later takes its shapes from the inputs. */
static bsm_status open_engine(bsm_cli *cli, bsm_diff_side *side,
                              const bsm_array_set *inputs) {
  const bsm_spec_vec specs = cli->specs;
  cli->path = side->path;
  cli->reference = side->reference;
  side->session.inputs = (bsm_array_set){NULL, 0, inputs->items, inputs->count};
  if (side->kind == BSM_SIDE_ENGINE) cli->specs = (bsm_spec_vec){0};
  bsm_status status = bsm_session_open_engine(cli, &side->session, true);
  cli->specs = specs;
  return bsm_status_note(status, "for %s", side->path);
}

/* Inputs that are made up for an engine, with the names of its bindings. */
static bsm_status make_inputs(bsm_cli *cli, const bsm_engine *engine,
                              bsm_array_set *out) {
  bsm_array *arrays;
  const size_t count = bsm_engine_input_count(engine);
  BSM_TRY(bsm_make_inputs(&cli->arena, engine, &arrays));
  *out = (bsm_array_set){0};
  out->items = BSM_NEW_ARRAY(&cli->arena, bsm_npy_array, count + 1);
  BSM_TRY_ALLOC(out->items);
  for (size_t i = 0; i < count; i++) {
    bsm_binding binding = BSM_BINDING_INIT;
    BSM_TRY(bsm_engine_input(engine, i, &binding));
    out->items[i] = (bsm_npy_array){.name = binding.name, .array = arrays[i]};
  }
  out->count = count;
  return BSM_OK;
}

/* Engines first: their inputs are fixed, and models are compiled for them. */
static bsm_status open_sides(bsm_cli *cli, bsm_diff *diff,
                             bsm_array_set *inputs) {
  bsm_diff_side *const sides[] = {&diff->expected, &diff->actual};
  for (int i = 0; i < 2; i++) {
    if (sides[i]->kind != BSM_SIDE_ARRAYS) continue;
    BSM_TRY(bsm_array_set_open(&cli->arena, &sides[i]->path, 1, NULL,
                               &sides[i]->arrays));
    if (!inputs->count) *inputs = sides[i]->arrays;
  }
  for (int pass = 0; pass < 2; pass++) {
    for (int i = 0; i < 2; i++) {
      const bool now =
          sides[i]->kind == (pass ? BSM_SIDE_MODEL : BSM_SIDE_ENGINE);
      if (!now) continue;
      BSM_TRY(open_engine(cli, sides[i], inputs));
      if (!inputs->count) {
        BSM_TRY(make_inputs(cli, sides[i]->session.engine, inputs));
      }
    }
  }
  return BSM_OK;
}

/* ---- running ---- */

static bsm_status add(bsm_cli *cli, bsm_diff_side *side, bsm_diff_value value) {
  return bsm_vec_push(&cli->arena, &side->values, value) ? BSM_OK
                                                         : BSM_FAIL_OOM();
}

static bsm_status list_values(bsm_cli *cli, bsm_diff_side *side) {
  const bsm_context *context = side->session.context;
  for (size_t i = 0; i < bsm_context_tensor_count(context); i++) {
    bsm_kept_tensor t = BSM_KEPT_TENSOR_INIT;
    BSM_TRY(bsm_context_tensor(context, i, &t));
    BSM_TRY(add(
        cli, side,
        (bsm_diff_value){t.name, t.layers, t.kind, t.tactic, t.array, false}));
  }
  for (size_t i = 0; i < bsm_context_output_count(context); i++) {
    bsm_binding binding = BSM_BINDING_INIT;
    bsm_array array;
    BSM_TRY(bsm_context_output_binding(side->session.context, i, &binding));
    BSM_TRY(bsm_context_output(side->session.context, i, &array));
    BSM_TRY(add(cli, side,
                (bsm_diff_value){binding.name, "", "output", "", array, true}));
  }
  return BSM_OK;
}

static bsm_status run_side(bsm_cli *cli, bsm_diff_side *side,
                           const bsm_array_set *inputs) {
  bsm_array *arrays;
  const bsm_engine *engine = side->session.engine;
  cli->keep_tensors = MAX_KEPT;
  BSM_TRY(bsm_session_open_context(cli, &side->session));
  BSM_TRY(bsm_bind_inputs(&cli->arena, engine, inputs, &arrays));
  BSM_TRY(bsm_context_run_keep(side->session.context, arrays,
                               bsm_engine_input_count(engine)));
  return list_values(cli, side);
}

static bsm_status list_arrays(bsm_cli *cli, bsm_diff_side *side) {
  for (size_t i = 0; i < side->arrays.count; i++) {
    const bsm_npy_array *item = &side->arrays.items[i];
    if (!item->array.data) continue;
    BSM_TRY(
        add(cli, side,
            (bsm_diff_value){item->name, "", "array", "", item->array, false}));
  }
  return BSM_OK;
}

bsm_status bsm_diff_run(bsm_cli *cli, bsm_diff *diff) {
  bsm_array_set given, inputs;
  bsm_diff_side *const sides[] = {&diff->expected, &diff->actual};
  BSM_TRY(bsm_array_set_open(&cli->arena, cli->inputs.items, cli->inputs.len,
                             cli->input_dir, &given));
  inputs = given;
  bsm_status status = open_sides(cli, diff, &inputs);
  for (int i = 0; i < 2 && !status; i++) {
    status = sides[i]->kind == BSM_SIDE_ARRAYS
                 ? list_arrays(cli, sides[i])
                 : bsm_status_note(run_side(cli, sides[i], &inputs), "for %s",
                                   sides[i]->path);
  }
  bsm_array_set_close(&given);
  return status;
}

void bsm_diff_close(bsm_diff *diff) {
  bsm_diff_side *const sides[] = {&diff->expected, &diff->actual};
  for (int i = 0; i < 2; i++) {
    bsm_session_close(&sides[i]->session);
    bsm_array_set_close(&sides[i]->arrays);
  }
}
