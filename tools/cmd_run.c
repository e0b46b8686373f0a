/* SPDX-License-Identifier: Apache-2.0 */
/* bessemer run: arrays in, arrays out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/accuracy.h"
#include "tools/session.h"
#include "tools/structure_print.h"

static const struct argp_option options[] = {
    {"input", BSM_KEY_INPUT, "FILE", 0,
     "An .npz, whose arrays bind by name (x; batch.image in a container) or as "
     "in_0, in_1, ..., or an .npy, the next input; repeatable",
     1},
    {"input-dir", BSM_KEY_INPUT_DIR, "DIR", 0,
     "Take DIR/in_0.npy, DIR/in_1.npy, ...", 1},
    {"output", 'o', "FILE", 0,
     "Write the outputs to an .npz as out_0, out_1, ..., or the only one to "
     "a file of any other name, as an .npy; - is the standard output",
     1},
    {"output-dir", BSM_KEY_OUTPUT_DIR, "DIR", 0,
     "Write DIR/out_0.npy, DIR/out_1.npy, ...", 1},
    {"named", BSM_KEY_NAMED, 0, 0,
     "Name the arrays by their place in the result, as inspect shows it "
     "(logits, boxes.0), instead of out_0, ...",
     1},
    {"json", BSM_KEY_JSON, 0, 0,
     "Print the result's structure, with its numbers, as JSON", 1},
    {"top", BSM_KEY_TOP, "K", 0,
     "For a classifier: print the K best classes with their probabilities", 1},
    {"labels", BSM_KEY_LABELS, "FILE", 0,
     "For a classifier: print how many answers are those of this .npy", 1},
    {"seed", BSM_KEY_SEED, "N", 0,
     "For a model that draws random numbers: draw what PyTorch does after "
     "torch.manual_seed(N) (0)",
     1},
    BSM_OPTIONS_MACHINE,
    BSM_OPTIONS_RUN,
    BSM_OPTIONS_COMPILE,
    BSM_OPTIONS_LOG,
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state) {
  return bsm_cli_argument(key, arg, state, true, false);
}

const struct argp bsm_argp_run = {
    .options = options,
    .parser = parse,
    .args_doc = "ENGINE|MODEL [SPEC...]",
    .doc =
        "Runs an engine, or compiles a model in memory for the shapes of "
        "the inputs and runs that. Without --output, prints what the "
        "outputs look like."
        "\v"
        "Examples:\n"
        "  bessemer run model.bsm --input x.npy --output-dir out\n"
        "  bessemer run model.ts --input x.npz --json\n"
        "  bessemer run digits.bsm --input images.npy --labels labels.npy"};

/* ---- the best classes ---- */

typedef struct scored {
  double value;
  size_t index;
} scored;

static int compare(const void *a, const void *b) {
  const scored *x = a, *y = b;
  if (x->value > y->value) return -1;
  if (x->value < y->value) return 1;
  return (x->index > y->index) - (x->index < y->index);
}

/* Scores become probabilities, unless they are already: none negative and the
 * sum is one. */
static void normalise(scored *row, size_t count) {
  double sum = 0, highest = -INFINITY;
  bool negative = false;
  for (size_t i = 0; i < count; i++) {
    sum += row[i].value;
    negative = negative || row[i].value < 0;
    if (row[i].value > highest) highest = row[i].value;
  }
  if (!negative && fabs(sum - 1) < 1e-3) return;
  sum = 0;
  for (size_t i = 0; i < count; i++) {
    row[i].value = exp(row[i].value - highest);
    sum += row[i].value;
  }
  for (size_t i = 0; i < count; i++) row[i].value /= sum;
}

static bsm_status print_top(bsm_cli *cli, const bsm_array *array) {
  if (array->dims.rank < 1) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "--top: the output is a number, not scores of classes");
  }
  size_t count;
  BSM_TRY(bsm_dims_count(array->dims, &count));
  const size_t classes = (size_t)array->dims.d[array->dims.rank - 1];
  scored *row = BSM_NEW_ARRAY(&cli->arena, scored, classes);
  BSM_TRY_ALLOC(row);
  for (size_t start = 0; start + classes <= count && classes;
       start += classes) {
    if (count > classes) printf("# %zu\n", start / classes);
    for (size_t i = 0; i < classes; i++) {
      row[i] = (scored){bsm_array_element(array, start + i), i};
    }
    normalise(row, classes);
    qsort(row, classes, sizeof(*row), compare);
    for (size_t i = 0; i < classes && i < (size_t)cli->top; i++) {
      printf("%6zu  %.6f\n", row[i].index, row[i].value);
    }
  }
  return BSM_OK;
}

static bsm_status print_accuracy(const char *path, const bsm_array *scores) {
  bsm_accuracy a;
  BSM_TRY(bsm_accuracy_open(path, &a));
  bsm_status status = bsm_accuracy_add(&a, scores);
  if (!status) {
    printf("accuracy: %.2f %% (%zu of %zu)\n",
           100.0 * (double)a.right / (double)a.seen, a.right, a.seen);
  }
  bsm_accuracy_close(&a);
  return status;
}

/* ---- a look at the outputs ---- */

static bsm_status print_look(const bsm_npy_array *output, const char *path) {
  enum { SHOWN = 10 };
  const bsm_array *array = &output->array;
  size_t count;
  BSM_TRY(bsm_dims_count(array->dims, &count));
  printf("%s ", output->name);
  if (path && strcmp(path, output->name) != 0) printf("(%s) ", path);
  printf("%s %s", bsm_dtype_name(array->dtype), bsm_dims_str(array->dims));
  if (count > SHOWN) {
    double low = INFINITY, high = -INFINITY, sum = 0;
    for (size_t i = 0; i < count; i++) {
      const double value = bsm_array_element(array, i);
      if (value < low) low = value;
      if (value > high) high = value;
      sum += value;
    }
    printf("  min %.6g max %.6g mean %.6g", low, high, sum / (double)count);
  }
  putchar('\n');
  for (size_t i = 0; i < count && i < SHOWN; i++) {
    printf("%s%.6g", i ? " " : "  ", bsm_array_element(array, i));
  }
  if (count) puts(count > SHOWN ? " ..." : "");
  return BSM_OK;
}

/* The outputs of a run. */
typedef struct run_outputs {
  bsm_context *context;
  const bsm_structure *result; /* NULL: the engine has no structure */
  bsm_npy_array *items;
  bsm_array *arrays;
  size_t count;
} run_outputs;

static bsm_status print_json(const run_outputs *o) {
  bsm_json json = {.file = stdout};
  bsm_json_open(&json, NULL, '{');
  if (o->result) bsm_structure_json(&json, "result", o->result, o->arrays);
  bsm_json_open(&json, "outputs", '[');
  for (size_t i = 0; i < o->count; i++) {
    bsm_binding binding = BSM_BINDING_INIT;
    BSM_TRY(bsm_context_output_binding(o->context, i, &binding));
    bsm_json_open(&json, NULL, '{');
    bsm_json_string(&json, "array", o->items[i].name);
    bsm_json_string(&json, "name", binding.name);
    bsm_json_string(&json, "dtype", bsm_dtype_name(binding.dtype));
    bsm_json_dims(&json, "dims", binding.dims);
    bsm_json_close(&json, '}');
  }
  bsm_json_close(&json, ']');
  bsm_json_close(&json, '}');
  return BSM_OK;
}

/* The outputs one by one, then what they make up, if there is more to it. */
static bsm_status print_outputs(const run_outputs *o) {
  const bool plain = !o->result || bsm_structure_is_plain(o->result);
  for (size_t i = 0; i < o->count; i++) {
    bsm_binding binding = BSM_BINDING_INIT;
    BSM_TRY(bsm_context_output_binding(o->context, i, &binding));
    BSM_TRY(print_look(&o->items[i], plain ? NULL : binding.name));
  }
  return plain ? BSM_OK : bsm_structure_show("result", o->result);
}

static bsm_status report(bsm_cli *cli, const run_outputs *o) {
  if (cli->output) BSM_TRY(bsm_save_outputs(cli->output, o->items, o->count));
  if (cli->output_dir) {
    BSM_TRY(bsm_save_outputs_in(cli->output_dir, o->items, o->count));
  }
  if (cli->json) return print_json(o);
  if (cli->top || cli->labels) {
    if (!o->count) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "there is no output");
    }
    if (cli->top) BSM_TRY(print_top(cli, &o->arrays[0]));
    return cli->labels ? print_accuracy(cli->labels, &o->arrays[0]) : BSM_OK;
  }
  if (cli->output || cli->output_dir) return BSM_OK;
  return print_outputs(o);
}

static bsm_status run(bsm_cli *cli, bsm_session *session) {
  bsm_array *inputs;
  run_outputs o = {0};
  BSM_TRY(bsm_cli_check_output(cli));
  BSM_TRY(bsm_session_open_inputs(cli, session));
  BSM_TRY(bsm_session_open_engine(cli, session, true));
  const size_t input_count = bsm_engine_input_count(session->engine);
  const size_t output_count = bsm_engine_output_count(session->engine);
  if (cli->output && strcmp(cli->output, "-") != 0 &&
      !bsm_npy_is_npz_path(cli->output) && output_count > 1) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%s: the model has %zu outputs and an .npy holds one; name "
                    "an .npz",
                    cli->output, output_count);
  }
  BSM_TRY(bsm_session_open_context(cli, session));
  BSM_TRY(
      bsm_bind_inputs(&cli->arena, session->engine, &session->inputs, &inputs));
  o.context = session->context;
  BSM_TRY(bsm_context_seed(o.context, cli->seed));
  BSM_TRY(bsm_context_run_keep(o.context, inputs, input_count));
  BSM_TRY(
      bsm_take_outputs(&cli->arena, o.context, cli->named, &o.items, &o.count));
  BSM_TRY(bsm_context_output_structure(o.context, &o.result));
  o.arrays = BSM_NEW_ARRAY(&cli->arena, bsm_array, o.count + 1);
  BSM_TRY_ALLOC(o.arrays);
  for (size_t i = 0; i < o.count; i++) o.arrays[i] = o.items[i].array;
  return report(cli, &o);
}

int bsm_cmd_run(int argc, char **argv) {
  bsm_cli cli;
  bsm_session session = {0};
  bsm_cli_parse(&cli, "bessemer run", &bsm_argp_run, argc, argv);
  const int code = bsm_cli_finish(&cli, run(&cli, &session));
  bsm_session_close(&session);
  bsm_cli_close(&cli);
  return code;
}
