/* SPDX-License-Identifier: Apache-2.0 */
/* bessemer calibrate: a model runs on sample data, and the ranges of its values
 * become a file that compile takes. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "tools/accuracy.h"
#include "tools/data_folder.h"
#include "tools/json.h"
#include "tools/session.h"

enum {
  KEY_DATA = 0x800,
  KEY_METHOD,
  KEY_PERCENTILE,
  KEY_MAX_BATCHES,
  KEY_EQUALIZE,
  KEY_MEASURE,
  KEY_MAX_LOSS,
  KEY_DYNAMIC,
  KEY_TENSORRT,
  KEY_REPORT
};

typedef struct calibrate_cli {
  bsm_cli cli; /* the first member: what the shared parser sees */
  bsm_calibrate_options calibrating;
  const char *data, *tensorrt, *report;
} calibrate_cli;

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "The calibration file to write; required", 1},
    {"data", KEY_DATA, "PATH", 0,
     "A folder of .npz and .npy files, or one of them; required. An array with "
     "more rows than the model takes is divided into batches",
     1},
    {"calibrator", KEY_METHOD, "NAME", 0,
     "How ranges follow from values: entropy, min-max, percentile, mse "
     "(entropy)",
     1},
    {"percentile", KEY_PERCENTILE, "P", 0,
     "Of that calibrator: how many values of a hundred are not clipped (99.99)",
     1},
    {"max-batches", KEY_MAX_BATCHES, "N", 0, "Read no more batches", 1},
    {"equalize", KEY_EQUALIZE, 0, 0,
     "Scale channels between convolutions so that their weights are alike", 1},
    {"dynamic-products", KEY_DYNAMIC, 0, 0,
     "Products find the ranges of their inputs when they run, for each row", 1},
    {"measure-layers", KEY_MEASURE, 0, 0,
     "Measure what each layer costs in accuracy", 1},
    {"max-loss", KEY_MAX_LOSS, "X", 0,
     "Leave as few layers in float32 as it takes so that the error of the "
     "outputs is at most this part of them: 0.01 is 40 dB",
     1},
    {"labels", BSM_KEY_LABELS, "FILE", 0,
     "With --max-loss: of a classifier, an .npy with the class of each row of "
     "the data; the loss is what int8 takes off the share of right answers",
     1},
    {"report", KEY_REPORT, "FILE", 0,
     "Write what is known of each layer as JSON", 1},
    {"tensorrt", KEY_TENSORRT, "FILE", 0,
     "Write the ranges as a calibration cache of TensorRT, too", 1},
    BSM_OPTIONS_MACHINE,
    BSM_OPTIONS_COMPILE,
    BSM_OPTIONS_LOG,
    {0}};

static double parse_number(struct argp_state *state, const char *option,
                           const char *text, double most) {
  double value = 0;
  if (!bsm_parse_double(bsm_str_of(text), &value) ||
      !(value > 0 && value <= most)) {
    argp_error(state, "--%s: '%s' is not a number above 0 and up to %g", option,
               text, most);
  }
  return value;
}

static bsm_calibration_method parse_method(struct argp_state *state,
                                           const char *text) {
  for (int i = 0; i <= BSM_CALIBRATION_MSE; i++) {
    const bsm_calibration_method method = (bsm_calibration_method)i;
    if (strcmp(text, bsm_calibration_method_name(method)) == 0) return method;
  }
  argp_error(state,
             "--calibrator: '%s' is not entropy, min-max, percentile or mse",
             text);
  return BSM_CALIBRATION_ENTROPY;
}

static error_t parse_own(calibrate_cli *c, int key, char *arg,
                         struct argp_state *state) {
  int64_t count = 0;
  switch (key) {
    case KEY_DATA:
      c->data = arg;
      return 0;
    case KEY_METHOD:
      c->calibrating.method = parse_method(state, arg);
      return 0;
    case KEY_PERCENTILE:
      c->calibrating.percentile = parse_number(state, "percentile", arg, 100);
      return 0;
    case KEY_MAX_BATCHES:
      if (!bsm_parse_i64(bsm_str_of(arg), &count) || count < 1) {
        argp_error(state, "--max-batches: '%s' is not a number above 0", arg);
      }
      c->calibrating.max_batches = (size_t)count;
      return 0;
    case KEY_EQUALIZE:
      c->calibrating.equalize = true;
      return 0;
    case KEY_DYNAMIC:
      c->calibrating.dynamic_products = true;
      return 0;
    case KEY_MEASURE:
      c->calibrating.measure_layers = true;
      return 0;
    case KEY_MAX_LOSS:
      c->calibrating.max_loss =
          parse_number(state, "max-loss", arg, (double)INFINITY);
      return 0;
    case KEY_REPORT:
      c->report = arg;
      return 0;
    case KEY_TENSORRT:
      c->tensorrt = arg;
      return 0;
    default:
      return ARGP_ERR_UNKNOWN;
  }
}

static error_t parse(int key, char *arg, struct argp_state *state) {
  calibrate_cli *c = state->input;
  if (parse_own(c, key, arg, state) == 0) return 0;
  if (key == ARGP_KEY_END && c->cli.path && !c->cli.output) {
    argp_error(state, "no output given: -o FILE");
  }
  if (key == ARGP_KEY_END && c->cli.path && !c->data) {
    argp_error(state, "no data given: --data PATH");
  }
  return bsm_cli_argument(key, arg, state, true, false);
}

const struct argp bsm_argp_calibrate = {
    .options = options,
    .parser = parse,
    .args_doc = "MODEL [SPEC...]",
    .doc =
        "Runs a model on sample data and writes the ranges of its values, with "
        "which compile --precision int8 --calibration FILE lets layers compute "
        "in int8, and with fp8 in that. With --precision fp8 layers are "
        "measured so."
        "\v"
        "A layer's loss is the part of the model's outputs that is noise when "
        "that layer alone computes in int8, by root mean squares; its SQNR "
        "compares the layer's own output, in dB. docs/quantization.md tells "
        "the rest. SPEC as for bessemer compile.\n\n"
        "Examples:\n"
        "  bessemer calibrate m.ts --data batches -o m.calib\n"
        "  bessemer compile m.ts -o m.bsm --precision int8 --calibration "
        "m.calib"};

/* ---- the report ---- */

static void put_measured(double value, const char *format) {
  if (isnan(value)) {
    printf("  %8s", "-");
  } else {
    printf(format, value);
  }
}

static const char *precision_text(const bsm_calibration_layer *l) {
  return l->dynamic && l->precision == BSM_PRECISION_INT8
             ? "dynamic"
             : bsm_precision_name(l->precision);
}

/* The range of a layer's input; false when it has none. */
static bool range_of(const bsm_calibration *calibration, const char *tensor,
                     bsm_calibration_range *out) {
  const size_t count = bsm_calibration_range_count(calibration);
  for (size_t i = 0; i < count; i++) {
    bsm_status status = bsm_calibration_get_range(calibration, i, out);
    bsm_status_free(status);
    if (!status && strcmp(out->tensor, tensor) == 0) return true;
  }
  return false;
}

/* `fp8`: layers were measured in that. */
static bsm_status print_report(const bsm_calibration *calibration, bool fp8) {
  const size_t count = bsm_calibration_layer_count(calibration);
  size_t narrow = 0;
  double all = 0, done = 0;
  bsm_calibration_info info = BSM_CALIBRATION_INFO_INIT;
  BSM_TRY(bsm_calibration_describe(calibration, &info));
  for (size_t i = 0; i < count; i++) {
    bsm_calibration_layer l = BSM_CALIBRATION_LAYER_INIT;
    BSM_TRY(bsm_calibration_get_layer(calibration, i, &l));
    all += l.operations;
  }
  printf("%-8s  %6s  %8s  %8s  %10s  %10s  %-15s  %s\n", "computes", "share",
         "SQNR", "loss", "low", "high", "kind", "layer");
  for (size_t i = 0; i < count; i++) {
    bsm_calibration_layer l = BSM_CALIBRATION_LAYER_INIT;
    bsm_calibration_range r = BSM_CALIBRATION_RANGE_INIT;
    BSM_TRY(bsm_calibration_get_layer(calibration, i, &l));
    const bool is_narrow = l.precision == BSM_PRECISION_INT8;
    narrow += is_narrow;
    done += is_narrow ? l.operations : 0;
    printf("%-8s  %5.1f%%", precision_text(&l), 100 * l.operations / all);
    put_measured(l.sqnr, "  %8.1f");
    put_measured(l.loss, "  %8.2g");
    if (range_of(calibration, l.input, &r)) {
      printf("  %10.4g  %10.4g", r.low, r.high);
    } else {
      printf("  %10s  %10s", "-", "-");
    }
    printf("  %-15s  %s%s%s\n", l.kind, l.name, *l.module ? " in " : "",
           l.module);
  }
  printf("%zu of %zu layers in int8, with %.1f%% of their operations", narrow,
         count, 100 * done / all);
  if (!isnan(info.loss)) {
    printf("; loss %.3g%s", info.loss, fp8 ? ", in fp8" : "");
  }
  printf("\n");
  return BSM_OK;
}

static void json_layer(bsm_json *json, const bsm_calibration *calibration,
                       const bsm_calibration_layer *l) {
  bsm_calibration_range r = BSM_CALIBRATION_RANGE_INIT;
  bsm_json_open(json, NULL, '{');
  bsm_json_string(json, "layer", l->name);
  bsm_json_string(json, "kind", l->kind);
  bsm_json_string(json, "module", l->module);
  bsm_json_string(json, "computes", precision_text(l));
  bsm_json_string(json, "input", l->input);
  if (range_of(calibration, l->input, &r)) {
    bsm_json_double(json, "low", r.low);
    bsm_json_double(json, "high", r.high);
    bsm_json_double(json, "least", r.least);
    bsm_json_double(json, "greatest", r.greatest);
  }
  if (isfinite(l->sqnr)) bsm_json_double(json, "sqnr", l->sqnr);
  if (isfinite(l->loss)) bsm_json_double(json, "loss", l->loss);
  bsm_json_double(json, "operations", l->operations);
  bsm_json_close(json, '}');
}

static bsm_status write_report(const char *path,
                               const bsm_calibration *calibration) {
  bsm_calibration_info info = BSM_CALIBRATION_INFO_INIT;
  BSM_TRY(bsm_calibration_describe(calibration, &info));
  FILE *file = fopen(path, "w");
  if (!file) return BSM_FAIL(BSM_IO, "%s: %s", path, strerror(errno));
  bsm_json json = {.file = file};
  bsm_json_open(&json, NULL, '{');
  bsm_json_string(&json, "calibrator",
                  bsm_calibration_method_name(info.method));
  bsm_json_int(&json, "batches", (int64_t)info.batches);
  bsm_json_bool(&json, "equalized", info.equalized);
  if (isfinite(info.loss)) bsm_json_double(&json, "loss", info.loss);
  bsm_json_open(&json, "layers", '[');
  bsm_status status = BSM_OK;
  const size_t count = bsm_calibration_layer_count(calibration);
  for (size_t i = 0; i < count && !status; i++) {
    bsm_calibration_layer l = BSM_CALIBRATION_LAYER_INIT;
    status = bsm_calibration_get_layer(calibration, i, &l);
    if (!status) json_layer(&json, calibration, &l);
  }
  bsm_json_close(&json, ']');
  bsm_json_close(&json, '}');
  fputc('\n', file);
  const bool failed = ferror(file) != 0;
  if ((fclose(file) || failed) && !status) {
    status = BSM_FAIL(BSM_IO, "%s: cannot be written", path);
  }
  return status;
}

/* ---- the command ---- */

/* The share of right answers, as the labels have it. */
static bsm_status run_data(const calibrate_cli *c, bsm_context *context,
                           bsm_engine *engine, bsm_data_folder *data,
                           bsm_accuracy *a) {
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  const size_t count = bsm_engine_input_count(engine);
  bsm_binding *inputs = BSM_NEW_ARRAY(&arena, bsm_binding, count + 1);
  bsm_array *arrays = BSM_NEW_ARRAY(&arena, bsm_array, count + 1);
  bsm_status status = inputs && arrays ? BSM_OK : BSM_FAIL_OOM();
  for (size_t i = 0; i < count && !status; i++) {
    inputs[i] = (bsm_binding)BSM_BINDING_INIT;
    status = bsm_engine_input(engine, i, &inputs[i]);
  }
  const size_t most = c->calibrating.max_batches;
  for (size_t batch = 0; !status && (!most || batch < most); batch++) {
    bool end = false;
    bsm_array scores;
    status = bsm_data_folder_next(data, batch, inputs, count, arrays, &end);
    if (end) break;
    if (!status) status = bsm_context_run_keep(context, arrays, count);
    if (!status) status = bsm_context_output(context, 0, &scores);
    if (!status) status = bsm_accuracy_add(a, &scores);
  }
  bsm_arena_destroy(&arena);
  return status;
}

static bsm_status measure_accuracy(void *user, bsm_engine *engine,
                                   double *out) {
  const calibrate_cli *c = user;
  bsm_data_folder data;
  bsm_accuracy a;
  bsm_context *context = NULL;
  bsm_context_options running = BSM_CONTEXT_OPTIONS_INIT;
  running.threads = c->cli.threads;
  BSM_TRY(bsm_accuracy_open(c->cli.labels, &a));
  bsm_status status = bsm_data_folder_open(c->data, &data);
  if (!status) status = bsm_context_create(engine, &running, &context);
  if (!status) status = run_data(c, context, engine, &data, &a);
  *out = a.seen ? (double)a.right / (double)a.seen : 0;
  bsm_context_destroy(context);
  bsm_data_folder_close(&data);
  bsm_accuracy_close(&a);
  return status;
}

static bsm_status calibrate_on(calibrate_cli *c, bsm_session *session,
                               bsm_data_folder *data) {
  bsm_compile_options compiling;
  bsm_calibration *made = NULL;
  BSM_TRY(bsm_session_load_module(&c->cli, session));
  BSM_TRY(bsm_session_options(&c->cli, session, &compiling));
  c->calibrating.next = bsm_data_folder_next;
  c->calibrating.next_user = data;
  if (c->cli.labels) {
    c->calibrating.metric = measure_accuracy;
    c->calibrating.metric_user = c;
  }
  bsm_session_tell(&c->cli, &compiling);
  BSM_TRY(bsm_cli_progress_end(
      &c->cli.progress,
      bsm_calibrate(session->module, &compiling, &c->calibrating, &made)));
  bsm_status status = bsm_calibration_save(made, c->cli.output);
  if (!status && c->tensorrt) {
    status = bsm_calibration_save_tensorrt(made, c->tensorrt);
  }
  if (!status && c->report) status = write_report(c->report, made);
  const uint32_t narrow = BSM_PRECISION_FP8 | BSM_PRECISION_INT8;
  const bool fp8 = (c->cli.precisions & narrow) == BSM_PRECISION_FP8;
  if (!status) status = print_report(made, fp8);
  if (!status && data->dropped) {
    bsm_log(&c->cli.logger, BSM_LOG_LEVEL_WARNING,
            "%llu rows were left out, as they do not fill a batch",
            (unsigned long long)data->dropped);
  }
  bsm_calibration_destroy(made);
  return status;
}

static bsm_status calibrate(calibrate_cli *c, bsm_session *session) {
  bsm_data_folder data;
  BSM_TRY(bsm_cli_check_output(&c->cli));
  bsm_status status = bsm_data_folder_open(c->data, &data);
  if (!status) status = calibrate_on(c, session, &data);
  bsm_data_folder_close(&data);
  return status;
}

int bsm_cmd_calibrate(int argc, char **argv) {
  calibrate_cli c = {.calibrating = BSM_CALIBRATE_OPTIONS_INIT};
  bsm_session session = {0};
  bsm_cli_parse(&c.cli, "bessemer calibrate", &bsm_argp_calibrate, argc, argv);
  const int code = bsm_cli_finish(&c.cli, calibrate(&c, &session));
  bsm_session_close(&session);
  bsm_cli_close(&c.cli);
  return code;
}
