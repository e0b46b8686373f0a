/* SPDX-License-Identifier: Apache-2.0 */
/* What a diff has found, as text and as JSON. */
#include <math.h>
#include <string.h>

#include "tools/diff.h"
#include "tools/json.h"
#include "tools/layer_text.h"

enum { SHOWN = 12 }; /* rows of a table without --all */

static const char *describe_side(bsm_cli *cli, const bsm_diff_side *side) {
  if (side->kind == BSM_SIDE_ARRAYS) return "arrays";
  const char *target =
      bsm_engine_metadata(side->session.engine, "builder.target");
  const char *how =
      side->kind == BSM_SIDE_ENGINE             ? "engine"
      : side->reference & BSM_REFERENCE_DOUBLE  ? "model, by the reference "
                                                  "library in float64"
      : side->reference & BSM_REFERENCE_LIBRARY ? "model, by the reference "
                                                  "library"
                                                : "model, compiled";
  const char *text = bsm_arena_printf(&cli->arena, "%s%s%s", how,
                                      side->reference || !target ? "" : " for ",
                                      side->reference || !target ? "" : target);
  return text ? text : how;
}

/* The name of the layer, for people. */
static const char *label(bsm_cli *cli, const bsm_diff_pair *pair) {
  const bsm_diff_value *v = pair->shown;
  if (v->is_output) {
    return bsm_arena_printf(&cli->arena, "output %s", v->name);
  }
  if (!v->layers[0]) return v->name;
  return bsm_layer_short_name(&cli->arena, v->layers);
}

static void print_row(const char *name, const bsm_diff_pair *pair) {
  const bsm_comparison *c = &pair->comparison;
  printf("%s %9.3g %9.3g %10.4g %10.4g  %-16s %-14s %s\n",
         pair->departs ? "*" : " ", c->relative, c->rms_error,
         c->expected.least, c->expected.greatest, pair->shown->kind,
         pair->shown->name, name);
}

/* ---- histograms ---- */

/* One line of blocks, the highest bin being the highest block. */
static void print_bars(const char *title, const size_t *bins, size_t count) {
  static const char *const blocks[] = {" ",      "\u2581", "\u2582",
                                       "\u2583", "\u2584", "\u2585",
                                       "\u2586", "\u2587", "\u2588"};
  size_t most = 1;
  for (size_t i = 0; i < count; i++) {
    if (bins[i] > most) most = bins[i];
  }
  printf("  %-9s |", title);
  for (size_t i = 0; i < count; i++) {
    const double share = (double)bins[i] / (double)most;
    const size_t height = bins[i] ? 1 + (size_t)(share * 7.0) : 0;
    fputs(blocks[height], stdout);
  }
  puts("|");
}

static void print_histograms(const bsm_comparison *c) {
  printf("values from %.4g to %.4g:\n", c->bins_from, c->bins_to);
  print_bars("expected", c->expected_bins, BSM_VALUE_BINS);
  print_bars("actual", c->actual_bins, BSM_VALUE_BINS);
  puts("errors, as shares of the largest value:");
  for (int i = 0; i < BSM_ERROR_BINS; i++) {
    if (!c->error_bins[i]) continue;
    printf("  %-14s %zu elements\n",
           i == 0   ? "equal"
           : i == 1 ? "below 1e-9"
           : i == BSM_ERROR_BINS - 1
               ? "1 and above"
               : (char[16]){'1', 'e', '-', (char)('0' + 11 - i), '+', 0},
           c->error_bins[i]);
  }
}

/* ---- one layer ---- */

static void print_stats(const char *title, const bsm_array_stats *s) {
  printf("  %-9s from %.6g to %.6g, mean %.6g, rms %.6g", title, s->least,
         s->greatest, s->mean, s->rms);
  if (s->nans) printf(", %zu NaN", s->nans);
  if (s->infinities) printf(", %zu infinite", s->infinities);
  putchar('\n');
}

static void print_sources(const bsm_diff_value *v) {
  bsm_layer_text part;
  for (const char *at = v->layers; bsm_layer_text_next(&at, &part);) {
    if (!part.op.len) continue;
    printf("  %.*s", (int)part.op.len, part.op.data);
    if (part.value.len)
      printf(" -> %%%.*s", (int)part.value.len, part.value.data);
    if (part.module.len) {
      printf(" in %.*s", (int)part.module.len, part.module.data);
    }
    if (part.source.len) {
      printf(" at %.*s", (int)part.source.len, part.source.data);
    }
    putchar('\n');
  }
}

static void print_layer(const char *name, const bsm_diff_pair *pair) {
  const bsm_comparison *c = &pair->comparison;
  const bsm_diff_value *v = pair->shown;
  printf("%s: %s%s%s%s%s %s\n", name, v->kind, v->tactic[0] ? ", " : "",
         v->tactic, v->name[0] ? ", value " : "", v->name,
         bsm_dims_str(v->array.dims));
  print_sources(v);
  printf(
      "  error %.4g of the largest value, rms %.4g; %zu of %zu elements "
      "differ\n"
      "  element %zu is %.9g, expected %.9g\n",
      c->relative, c->rms_error, c->differing, c->count, c->worst,
      c->worst_actual, c->worst_expected);
  print_stats("expected", &c->expected);
  print_stats("actual", &c->actual);
  print_histograms(c);
}

/* ---- all ---- */

static bsm_status print_table(bsm_cli *cli, const bsm_diff *diff, bool all) {
  size_t shown = 0;
  if (!all && !diff->departing) return BSM_OK;
  puts(
      "      error       rms      least   greatest  kind             value"
      "          layers");
  for (size_t i = 0; i < diff->pairs.len; i++) {
    const bsm_diff_pair *pair = &diff->pairs.items[i];
    if (!all && (!pair->departs || shown >= SHOWN)) continue;
    const char *name = label(cli, pair);
    BSM_TRY_ALLOC(name);
    print_row(name, pair);
    shown++;
  }
  if (!all && diff->departing > shown) {
    printf("  and %zu more: --all shows them\n", diff->departing - shown);
  }
  return BSM_OK;
}

bsm_status bsm_diff_print(bsm_cli *cli, const bsm_diff *diff, bool all) {
  printf("expected: %s (%s)\nactual:   %s (%s)\n", diff->expected.path,
         describe_side(cli, &diff->expected), diff->actual.path,
         describe_side(cli, &diff->actual));
  printf(
      "compared: %zu values; %zu of the expected and %zu of the actual have no "
      "counterpart, such as those inside of fused layers\n",
      diff->pairs.len, diff->alone[0], diff->alone[1]);
  BSM_TRY(print_table(cli, diff, all));
  const char *worst = label(cli, diff->worst);
  BSM_TRY_ALLOC(worst);
  if (!diff->first) {
    printf("no layer departs: the largest error is %.3g of %.3g, in %s\n",
           diff->worst->comparison.relative, diff->tolerance, worst);
    return BSM_OK;
  }
  const char *name = label(cli, diff->first);
  BSM_TRY_ALLOC(name);
  printf("%zu values depart by more than %.3g; the first is that of %s\n",
         diff->departing, diff->tolerance, name);
  if (diff->before) {
    const char *before = label(cli, diff->before);
    BSM_TRY_ALLOC(before);
    printf("before it, %s agrees: error %.3g\n", before,
           diff->before->comparison.relative);
  }
  print_layer(name, diff->first);
  return BSM_OK;
}

/* ---- JSON ---- */

static void json_stats(bsm_json *json, const char *key,
                       const bsm_array_stats *s, const size_t *bins) {
  bsm_json_open(json, key, '{');
  bsm_json_double(json, "min", s->least);
  bsm_json_double(json, "max", s->greatest);
  bsm_json_double(json, "mean", s->mean);
  bsm_json_double(json, "rms", s->rms);
  bsm_json_int(json, "nan", (int64_t)s->nans);
  bsm_json_int(json, "inf", (int64_t)s->infinities);
  bsm_json_open(json, "histogram", '[');
  for (int i = 0; i < BSM_VALUE_BINS; i++) {
    bsm_json_int(json, NULL, (int64_t)bins[i]);
  }
  bsm_json_close(json, ']');
  bsm_json_close(json, '}');
}

static bsm_status json_text(bsm_cli *cli, bsm_json *json, const char *key,
                            bsm_str text) {
  const char *copy = bsm_arena_strndup(&cli->arena, text.data, text.len);
  BSM_TRY_ALLOC(copy);
  bsm_json_string(json, key, copy);
  return BSM_OK;
}

/* An infinite error has no number in JSON: it is null. */
static bsm_status json_pair(bsm_cli *cli, bsm_json *json,
                            const bsm_diff_pair *pair) {
  const bsm_comparison *c = &pair->comparison;
  const bsm_diff_value *v = pair->shown;
  const char *name = label(cli, pair);
  BSM_TRY_ALLOC(name);
  const bsm_layer_text first = bsm_layer_text_first(v->layers);
  bsm_json_open(json, NULL, '{');
  bsm_json_string(json, "layer", name);
  bsm_json_string(json, "value", v->name);
  bsm_json_string(json, "kind", v->kind);
  bsm_json_string(json, "tactic", v->tactic);
  bsm_json_string(json, "name", v->layers);
  BSM_TRY(json_text(cli, json, "module", first.module));
  BSM_TRY(json_text(cli, json, "source", first.source));
  bsm_json_dims(json, "dims", v->array.dims);
  bsm_json_string(json, "dtype", bsm_dtype_name(v->array.dtype));
  bsm_json_bool(json, "departs", pair->departs);
  bsm_json_double(json, "error", c->relative);
  bsm_json_double(json, "max_abs_error", c->max_error);
  bsm_json_double(json, "rms_error", c->rms_error);
  bsm_json_int(json, "differing", (int64_t)c->differing);
  bsm_json_int(json, "elements", (int64_t)c->count);
  bsm_json_int(json, "worst", (int64_t)c->worst);
  bsm_json_double(json, "worst_expected", c->worst_expected);
  bsm_json_double(json, "worst_actual", c->worst_actual);
  bsm_json_double(json, "histogram_from", c->bins_from);
  bsm_json_double(json, "histogram_to", c->bins_to);
  json_stats(json, "expected", &c->expected, c->expected_bins);
  json_stats(json, "actual", &c->actual, c->actual_bins);
  bsm_json_open(json, "error_decades", '[');
  for (int i = 0; i < BSM_ERROR_BINS; i++) {
    bsm_json_int(json, NULL, (int64_t)c->error_bins[i]);
  }
  bsm_json_close(json, ']');
  bsm_json_close(json, '}');
  return BSM_OK;
}

static void json_side(bsm_cli *cli, bsm_json *json, const char *key,
                      const bsm_diff_side *side, size_t alone) {
  bsm_json_open(json, key, '{');
  bsm_json_string(json, "file", side->path);
  bsm_json_string(json, "what", describe_side(cli, side));
  bsm_json_int(json, "values", (int64_t)side->values.len);
  bsm_json_int(json, "without_counterpart", (int64_t)alone);
  bsm_json_close(json, '}');
}

bsm_status bsm_diff_json(bsm_cli *cli, const bsm_diff *diff, FILE *file,
                         bool in_page) {
  bsm_json json = {.file = file, .in_page = in_page};
  bsm_json_open(&json, NULL, '{');
  json_side(cli, &json, "expected", &diff->expected, diff->alone[0]);
  json_side(cli, &json, "actual", &diff->actual, diff->alone[1]);
  bsm_json_double(&json, "tolerance", diff->tolerance);
  bsm_json_int(&json, "departing", (int64_t)diff->departing);
  bsm_json_int(&json, "first",
               diff->first ? (int64_t)(diff->first - diff->pairs.items) : -1);
  bsm_json_int(&json, "worst", (int64_t)(diff->worst - diff->pairs.items));
  bsm_json_open(&json, "layers", '[');
  for (size_t i = 0; i < diff->pairs.len; i++) {
    BSM_TRY(json_pair(cli, &json, &diff->pairs.items[i]));
  }
  bsm_json_close(&json, ']');
  bsm_json_close(&json, '}');
  return BSM_OK;
}
