/* SPDX-License-Identifier: Apache-2.0 */
/* Options and messages that the sub-commands share. */
#include "tools/cli.h"
#include "base/errno_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/isa.h"
#include "base/near_name.h"
#include "tools/input_spec.h"
#include "tools/terminal.h"

/* ---- messages ---- */

static void write_log(void *user, bsm_log_level level, const char *message) {
  static const char *const names[] = {"error", "warning", "info", "debug",
                                      "graph"};
  bsm_cli *cli = user;
  bsm_cli_progress_clear(&cli->progress);
  fprintf(stderr, "%s: ", cli->command);
  if (level == BSM_LOG_LEVEL_ERROR) {
    bsm_write_coloured(BSM_RED, names[level]);
  } else if (level == BSM_LOG_LEVEL_WARNING) {
    bsm_write_coloured(BSM_YELLOW, names[level]);
  } else {
    fputs(names[level], stderr);
  }
  fprintf(stderr, ": %s\n", message);
}

int bsm_cli_finish(const bsm_cli *cli, bsm_status status) {
  if (!status && (fflush(stdout) || ferror(stdout))) {
    status = BSM_FAIL(BSM_IO, "cannot write to the standard output");
  }
  if (!status) return 0;
  fflush(stdout);
  bsm_write_coloured(BSM_RED, cli->command);
  fprintf(stderr, ": %s\n", bsm_status_message(status));
  bsm_status_free(status);
  return BSM_EXIT_FAILED;
}

double bsm_cli_milliseconds(void) {
  return 1e3 * bsm_clock_seconds();
}

bsm_size_text bsm_cli_size(uint64_t bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  bsm_size_text result;
  double value = (double)bytes;
  int unit = 0;
  while (value >= 1024 && unit < 4) {
    value /= 1024;
    unit++;
  }
  snprintf(result.text, sizeof(result.text), unit ? "%.1f %s" : "%.0f %s",
           value, units[unit]);
  return result;
}

/* ---- options ---- */

static int parse_int(const struct argp_state *state, const char *option,
                     const char *text, int min, int max) {
  int64_t value = 0;
  if (!bsm_parse_i64(bsm_str_of(text), &value) || value < min || value > max) {
    argp_error(state, "--%s: '%s' is not a number from %d to %d", option, text,
               min, max);
  }
  return (int)value;
}

/* A number above zero. */
static uint64_t parse_limit(const struct argp_state *state, const char *option,
                            const char *text) {
  int64_t value = 0;
  if (!bsm_parse_i64(bsm_str_of(text), &value) || value < 1) {
    argp_error(state, "--%s: '%s' is not a number above 0", option, text);
  }
  return (uint64_t)value;
}

static uint64_t parse_seed(const struct argp_state *state, const char *text) {
  int64_t value = 0;
  if (!bsm_parse_i64(bsm_str_of(text), &value)) {
    argp_error(state, "--seed: '%s' is not a number", text);
  }
  return (uint64_t)value;
}

static uint32_t parse_isa(const struct argp_state *state, const char *name) {
  if (strcmp(name, "native") == 0) return 0;
  uint32_t mask = 0;
  if (!bsm_isa_parse(name, &mask)) {
    argp_error(state,
               "--isa: '%s' is none of native, scalar, avx2, avx2_vnni, "
               "avx512, avx512_vnni, avx512_bf16, amx, neon, neon_i8mm",
               name);
  }
  const uint32_t present = bsm_isa_detect();
  if (mask & ~present) {
    argp_failure(state, BSM_EXIT_FAILED, 0, "--isa: this CPU has %s only",
                 bsm_isa_name(present));
  }
  return mask ? mask : BSM_CONTEXT_ISA_SCALAR;
}

static void list_passes(void) {
  const char *pass;
  for (size_t i = 0; (pass = bsm_pass_name(i)); i++) puts(pass);
}

/* Ends the program, with the name that was meant, when there is no such pass.
 */
static void check_pass(const struct argp_state *state, const char *name) {
  const char *pass;
  bsm_near_name near = {.wanted = bsm_str_of(name)};
  for (size_t i = 0; (pass = bsm_pass_name(i)); i++) {
    if (strcmp(name, pass) == 0) return;
    bsm_near_name_look(&near, pass);
  }
  argp_error(state,
             "--dump-after: no pass is called '%s'%s%s%s; "
             "--dump-after=list names them",
             name, BSM_NEAR_NAME_ARGS(near, "'"));
}

static void add_string(const struct argp_state *state, bsm_cli *cli,
                       bsm_string_vec *vec, const char *text) {
  if (!bsm_vec_push(&cli->arena, vec, text)) {
    argp_failure(state, BSM_EXIT_FAILED, 0, "out of memory");
  }
}

/* One precision by its name. */
static bsm_precision parse_precision(const struct argp_state *state,
                                     const char *option, bsm_str name) {
  for (uint32_t bit = 1; bit <= BSM_PRECISION_FP8; bit <<= 1) {
    if (bsm_str_eq(name, bsm_str_of(bsm_precision_name((bsm_precision)bit)))) {
      return (bsm_precision)bit;
    }
  }
  argp_error(state, "--%s: '%.*s' is not fp32, tf32, fp16, bf16, int8 or fp8",
             option, (int)name.len, name.data);
  return BSM_PRECISION_NONE;
}

/* "fp16,bf16" */
static void add_precisions(const struct argp_state *state, bsm_cli *cli,
                           const char *list) {
  for (const char *at = list;;) {
    const size_t length = strcspn(at, ",");
    cli->precisions |=
        parse_precision(state, "precision", (bsm_str){at, length});
    if (!at[length]) return;
    at += length + 1;
  }
}

/* "NAME=fp16"; the name of a layer may have signs of equality itself. */
static void add_override(const struct argp_state *state, bsm_cli *cli,
                         const char *option, const char *text, bool layer) {
  const char *sign = strrchr(text, '=');
  bsm_precision_override override = {0};
  if (!sign || sign == text) {
    argp_error(state, "--%s: '%s' is not NAME=PRECISION", option, text);
    return;
  }
  override.precision = parse_precision(state, option, bsm_str_of(sign + 1));
  const char *name =
      bsm_arena_printf(&cli->arena, "%.*s", (int)(sign - text), text);
  *(layer ? &override.layer : &override.module) = name;
  if (!name ||
      !bsm_vec_push(&cli->arena, &cli->precision_overrides, override)) {
    argp_failure(state, BSM_EXIT_FAILED, 0, "out of memory");
  }
}

/* "int8", "int4" or "int4:GROUP" */
static void set_weight_only(const struct argp_state *state, bsm_cli *cli,
                            const char *text) {
  static const char *const formats[] = {"int8", "int4", "int4:32", "int4:64",
                                        "int4:128"};
  static const int groups[] = {0, 0, 32, 64, 128};
  for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
    if (strcmp(text, formats[i]) != 0) continue;
    cli->weight_bits = i == 0 ? 8 : 4;
    cli->weight_group = groups[i];
    return;
  }
  argp_error(state,
             "--weight-only: '%s' is not int8, int4, int4:32, int4:64 or "
             "int4:128",
             text);
}

/* "KEY=TEXT" */
static void add_metadata(const struct argp_state *state, bsm_cli *cli,
                         const char *text) {
  const char *sign = strchr(text, '=');
  if (!sign || sign == text) {
    argp_error(state, "--metadata: '%s' is not KEY=TEXT", text);
    return;
  }
  const bsm_metadata row = {
      bsm_arena_printf(&cli->arena, "%.*s", (int)(sign - text), text),
      sign + 1};
  if (!row.key || !bsm_vec_push(&cli->arena, &cli->metadata, row)) {
    argp_failure(state, BSM_EXIT_FAILED, 0, "out of memory");
  }
}

static void add_dump(const struct argp_state *state, bsm_cli *cli,
                     const char *name) {
  if (strcmp(name, "list") == 0) {
    list_passes();
    exit(fflush(stdout) ? BSM_EXIT_FAILED : 0);
  }
  check_pass(state, name);
  add_string(state, cli, &cli->dump_after, name);
}

static void add_spec(const struct argp_state *state, bsm_cli *cli,
                     const char *text) {
  bsm_input_spec spec;
  bsm_status status = bsm_input_spec_parse(&cli->arena, text, &spec);
  if (status) argp_error(state, "%s", bsm_status_message(status));
  if (!bsm_vec_push(&cli->arena, &cli->specs, spec)) {
    argp_failure(state, BSM_EXIT_FAILED, 0, "out of memory");
  }
}

/* --inputs: several. */
static void add_specs(const struct argp_state *state, bsm_cli *cli,
                      const char *text) {
  bsm_spec_items items = {0};
  bsm_status status = bsm_input_specs_parse(&cli->arena, text, &items);
  if (status) argp_error(state, "%s", bsm_status_message(status));
  for (size_t i = 0; i < items.len; i++) {
    if (!bsm_vec_push(&cli->arena, &cli->specs, items.items[i])) {
      argp_failure(state, BSM_EXIT_FAILED, 0, "out of memory");
    }
  }
}

/* "4x3x224x224,1x128" */
static void add_shapes(const struct argp_state *state, bsm_cli *cli,
                       const char *text) {
  for (const char *at = text;; at++) {
    bsm_dims dims = {0};
    while (*at && *at != ',') {
      const size_t length = strcspn(at, "x,");
      int64_t size = 0;
      if (dims.rank == BSM_MAX_RANK ||
          !bsm_parse_i64((bsm_str){at, length}, &size) || size < 0) {
        argp_error(state, "--shapes: '%s' is not as 4x3x224x224,1x128", text);
      }
      dims.d[dims.rank++] = size;
      at += length + (at[length] == 'x');
    }
    if (!bsm_vec_push(&cli->arena, &cli->shapes, dims)) {
      argp_failure(state, BSM_EXIT_FAILED, 0, "out of memory");
    }
    if (!*at) return;
  }
}

static error_t compile_option(int key, char *arg, struct argp_state *state) {
  bsm_cli *cli = state->input;
  switch (key) {
    case BSM_KEY_INPUTS_FROM:
      cli->inputs_from = arg;
      return 0;
    case BSM_KEY_WEIGHTS:
      cli->weights = arg;
      return 0;
    case BSM_KEY_METHOD:
      cli->method = arg;
      return 0;
    case BSM_KEY_MODEL:
      cli->model_name = arg;
      return 0;
    case BSM_KEY_STATE_AS_OUTPUT:
      cli->state_as_output = true;
      return 0;
    case BSM_KEY_TIMING_CACHE:
      cli->timing_cache = arg;
      return 0;
    case BSM_KEY_INPUTS:
      add_specs(state, cli, arg);
      return 0;
    case BSM_KEY_TARGET:
      cli->target = arg;
      return 0;
    case BSM_KEY_TRUST_CODE:
      cli->trust_code = true;
      return 0;
    case BSM_KEY_PUBLIC_KEY_FILE:
      add_string(state, cli, &cli->public_keys, arg);
      return 0;
    case BSM_KEY_IGNORE_BUILT:
      cli->ignore_built = true;
      return 0;
    case BSM_KEY_NO_MAP:
      cli->no_map = true;
      return 0;
    case BSM_KEY_UNRECORDED:
      cli->unrecorded = true;
      return 0;
    case BSM_KEY_KEY:
      cli->secret_key = arg;
      return 0;
    case BSM_KEY_DEVICE:
      cli->device = parse_int(state, "device", arg, 0, 1000);
      return 0;
    case BSM_KEY_NO_TIMING:
      cli->no_timing = true;
      return 0;
    case BSM_KEY_FULL:
      cli->full = true;
      return 0;
    case BSM_KEY_FALLBACK_OP:
      add_string(state, cli, &cli->fallback_ops, arg);
      return 0;
    case BSM_KEY_FALLBACK_MODULE:
      add_string(state, cli, &cli->fallback_modules, arg);
      return 0;
    case BSM_KEY_PRECISION:
      add_precisions(state, cli, arg);
      return 0;
    case BSM_KEY_LAYER_PRECISION:
      add_override(state, cli, "layer-precision", arg, true);
      return 0;
    case BSM_KEY_MODULE_PRECISION:
      add_override(state, cli, "module-precision", arg, false);
      return 0;
    case BSM_KEY_STRIP:
      cli->strip = true;
      return 0;
    case BSM_KEY_OBEY_PRECISION:
      cli->obey_precision = true;
      return 0;
    case BSM_KEY_LABELS:
      cli->labels = arg;
      return 0;
    case BSM_KEY_WEIGHT_ONLY:
      set_weight_only(state, cli, arg);
      return 0;
    case BSM_KEY_WEIGHT_ROWS:
      cli->weight_rows = parse_int(state, "weight-rows", arg, 1, INT32_MAX);
      return 0;
    case BSM_KEY_CALIBRATION:
      cli->calibration = arg;
      return 0;
    case BSM_KEY_MIN_BLOCK_SIZE:
      cli->min_block_size =
          parse_int(state, "min-block-size", arg, 1, 1000000000);
      return 0;
    case BSM_KEY_MAX_LOOP_TRIPS:
      cli->limits.max_loop_trips = parse_limit(state, "max-loop-trips", arg);
      return 0;
    case BSM_KEY_MAX_UNROLLED_NODES:
      cli->limits.max_unrolled_nodes =
          parse_limit(state, "max-unrolled-nodes", arg);
      return 0;
    case BSM_KEY_MAX_MEMORY:
      cli->limits.max_memory_bytes = parse_limit(state, "max-memory", arg);
      return 0;
    case BSM_KEY_MAX_WORK:
      cli->limits.max_work = parse_limit(state, "max-work", arg);
      return 0;
    case BSM_KEY_MAX_NODES:
      cli->limits.max_nodes = parse_limit(state, "max-nodes", arg);
      return 0;
    case BSM_KEY_TRUNCATE:
      cli->truncate = true;
      return 0;
    case BSM_KEY_PLUGIN:
      add_string(state, cli, &cli->plugins, arg);
      return 0;
    case BSM_KEY_DUMP_AFTER:
      add_dump(state, cli, arg);
      return 0;
    default:
      return ARGP_ERR_UNKNOWN;
  }
}

/* A file that holds what is piped into the command, which readers map as any
 * other. */
static const char *piped_file(const struct argp_state *state, bsm_cli *cli) {
  char piece[65536];
  const int fd = memfd_create("stdin", MFD_CLOEXEC);
  ssize_t n = 0;
  while (fd >= 0 && (n = read(STDIN_FILENO, piece, sizeof(piece))) != 0) {
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 || write(fd, piece, (size_t)n) != n) break;
  }
  const char *path = bsm_arena_printf(&cli->arena, "/proc/self/fd/%d", fd);
  if (fd < 0 || n || !path) {
    argp_failure(state, BSM_EXIT_FAILED, 0, "cannot read the standard input");
  }
  return path;
}

static error_t data_option(int key, char *arg, struct argp_state *state) {
  bsm_cli *cli = state->input;
  switch (key) {
    case BSM_KEY_INPUT:
      add_string(state, cli, &cli->inputs,
                 strcmp(arg, "-") == 0 ? piped_file(state, cli) : arg);
      return 0;
    case BSM_KEY_INPUT_DIR:
      cli->input_dir = arg;
      return 0;
    case 'o':
      cli->output = arg;
      return 0;
    case BSM_KEY_NAMED:
      cli->named = true;
      return 0;
    case BSM_KEY_OUTPUT_DIR:
      cli->output_dir = arg;
      return 0;
    case BSM_KEY_MAX_INSTRUCTIONS:
      cli->max_instructions = parse_limit(state, "max-instructions", arg);
      return 0;
    case BSM_KEY_MAX_RUN_BYTES:
      cli->max_run_bytes = parse_limit(state, "max-run-bytes", arg);
      return 0;
    case BSM_KEY_NO_GRAPHS:
      cli->no_graphs = true;
      return 0;
    case BSM_KEY_METADATA:
      add_metadata(state, cli, arg);
      return 0;
    case BSM_KEY_PREFER_SIZE:
      cli->prefer_size = true;
      return 0;
    case BSM_KEY_SEED:
      cli->seed = parse_seed(state, arg);
      return 0;
    case BSM_KEY_TOP:
      cli->top = parse_int(state, "top", arg, 1, 1000000);
      return 0;
    case BSM_KEY_ITERATIONS:
      cli->iterations = parse_int(state, "iterations", arg, 1, 100000000);
      return 0;
    case BSM_KEY_WARMUP:
      cli->warmup = parse_int(state, "warmup", arg, 0, 100000000);
      return 0;
    default:
      return compile_option(key, arg, state);
  }
}

error_t bsm_cli_option(int key, char *arg, struct argp_state *state) {
  bsm_cli *cli = state->input;
  switch (key) {
    case 'v':
      cli->logger.level = BSM_LOG_LEVEL_DEBUG;
      return 0;
    case 'i':
      cli->logger.level = BSM_LOG_LEVEL_INFO;
      return 0;
    case 'w':
      cli->logger.level = BSM_LOG_LEVEL_ERROR;
      return 0;
    case 't':
      cli->threads = parse_int(state, "threads", arg, 1, 4096);
      return 0;
    case BSM_KEY_ISA:
      cli->isa = parse_isa(state, arg);
      return 0;
    case BSM_KEY_JSON:
      cli->json = true;
      return 0;
    case BSM_KEY_PROFILE:
      cli->profile = true;
      return 0;
    case BSM_KEY_TIMES:
      cli->times = true;
      return 0;
    case BSM_KEY_SHAPES:
      add_shapes(state, cli, arg);
      return 0;
    case BSM_KEY_TRACE:
      cli->trace = arg;
      return 0;
    case BSM_KEY_PLAN:
      cli->plan = true;
      return 0;
    default:
      return data_option(key, arg, state);
  }
}

error_t bsm_cli_argument(int key, char *arg, struct argp_state *state,
                         bool with_specs, bool optional) {
  bsm_cli *cli = state->input;
  if (key == ARGP_KEY_ARG) {
    if (!cli->path) {
      cli->path = strcmp(arg, "-") == 0 ? piped_file(state, cli) : arg;
    } else if (with_specs) {
      add_spec(state, cli, arg);
    } else {
      argp_error(state, "unexpected argument '%s'", arg);
    }
    return 0;
  }
  if (key == ARGP_KEY_END) {
    if (!cli->path && !optional) argp_error(state, "no file given");
    return 0;
  }
  return bsm_cli_option(key, arg, state);
}

void bsm_cli_parse(bsm_cli *cli, const char *command, const struct argp *argp,
                   int argc, char **argv) {
  *cli = (bsm_cli){.command = command, .iterations = 100, .warmup = 5};
  cli->limits = (bsm_limits)BSM_LIMITS_INIT;
  bsm_arena_init(&cli->arena, NULL);
  cli->logger = (bsm_logger){BSM_LOG_LEVEL_WARNING, write_log, cli};
  /* argp prints the first word as the name of the program. */
  argv[0] = bsm_arena_strdup(&cli->arena, command);
  argp_err_exit_status = BSM_EXIT_USAGE;
  if (!argv[0] || argp_parse(argp, argc, argv, 0, NULL, cli)) {
    fprintf(stderr, "%s: out of memory\n", command);
    bsm_cli_close(cli);
    exit(BSM_EXIT_FAILED);
  }
}

void bsm_cli_close(bsm_cli *cli) {
  bsm_arena_destroy(&cli->arena);
}

static bool is_same_file(const struct stat *a, const char *path) {
  struct stat b;
  return path && !stat(path, &b) && a->st_dev == b.st_dev &&
         a->st_ino == b.st_ino;
}

bsm_status bsm_cli_check_output(const bsm_cli *cli) {
  struct stat output;
  if (!cli->output || stat(cli->output, &output)) return BSM_OK;
  if (!S_ISREG(output.st_mode)) return BSM_OK;
  const char *const single[] = {cli->path, cli->inputs_from, cli->weights};
  bool same = false;
  for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++) {
    same = same || is_same_file(&output, single[i]);
  }
  for (size_t i = 0; i < cli->inputs.len; i++) {
    same = same || is_same_file(&output, cli->inputs.items[i]);
  }
  if (!same) return BSM_OK;
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "%s: the output would replace a file that is read",
                  cli->output);
}

bsm_status bsm_cli_is_engine(const char *path, bool *out) {
  static const char magic[8] = {'B', 'S', 'M', 'E', 'N', 'G', 'I', 'N'};
  char start[sizeof(magic)];
  *out = false;
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    return BSM_FAIL(BSM_IO, "%s: cannot open: %s", path, BSM_ERRNO_TEXT(errno));
  }
  /* A cut engine is still one: its loader says what is wrong with it. */
  size_t length = 0;
  while (length < sizeof(start)) {
    const ssize_t got = read(fd, start + length, sizeof(start) - length);
    if (got == 0 || (got < 0 && errno != EINTR)) break;
    length += got > 0 ? (size_t)got : 0;
  }
  close(fd);
  *out = length > 0 && memcmp(start, magic, length) == 0;
  return BSM_OK;
}
