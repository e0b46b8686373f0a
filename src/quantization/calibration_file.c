/* SPDX-License-Identifier: Apache-2.0 */
/* Calibration files: text, a record on each line, its words separated by one
 * blank.
 *
 *   bessemer calibration 1
 *   model 9f86d081884c7d65         hash of the model's file; 0: any
 *   method entropy                 or min-max, percentile 99.99, mse
 *   batches 12
 *   equalized                      when it is
 *   loss 0.0021                    when it was measured
 *   tensor NAME LOW HIGH LEAST GREATEST
 *   means NAME COUNT MEAN...       of the channels of a tensor above
 *   layer NAME KIND MODULE INPUT PRECISION OPERATIONS SQNR LOSS
 *   end
 *
 * PRECISION is int8, dynamic (int8, the range found when it runs) or fp32. In
 * names, bytes up to the blank, "%" and those above "~" are %XX, and an empty
 * name is "%". */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "quantization/calibration.h"

static const char first_line[] = "bessemer calibration ";
#define VERSION 1
#define MAX_NAME 4096
#define MAX_RECORDS 1000000
#define MAX_MEANS (INT64_C(1) << 20)

/* ---- writing ---- */

static void put_name(bsm_text *text, const char *name) {
  bsm_text_puts(text, " ");
  if (!*name) bsm_text_puts(text, "%");
  for (; *name; name++) {
    const unsigned char c = (unsigned char)*name;
    if (c <= ' ' || c == '%' || c > '~') {
      bsm_text_printf(text, "%%%02X", (unsigned)c);
    } else {
      bsm_text_append(text, (bsm_str){name, 1});
    }
  }
}

static void put_number(bsm_text *text, double value) {
  bsm_text_puts(text, " ");
  bsm_text_double(text, value);
}

static void put_tensor(bsm_text *text, const bsm_calibrated_tensor *t) {
  bsm_text_puts(text, "tensor");
  put_name(text, t->name);
  put_number(text, t->low);
  put_number(text, t->high);
  put_number(text, t->least);
  put_number(text, t->greatest);
  bsm_text_puts(text, "\n");
  if (!t->mean_count) return;
  bsm_text_puts(text, "means");
  put_name(text, t->name);
  bsm_text_printf(text, " %zu", t->mean_count);
  for (size_t i = 0; i < t->mean_count; i++) put_number(text, t->means[i]);
  bsm_text_puts(text, "\n");
}

static const char *precision_word(const bsm_calibrated_layer *l) {
  return l->precision != BSM_PRECISION_INT8 ? "fp32"
         : l->dynamic                       ? "dynamic"
                                            : "int8";
}

static void put_layer(bsm_text *text, const bsm_calibrated_layer *l) {
  bsm_text_puts(text, "layer");
  put_name(text, l->name);
  put_name(text, l->kind);
  put_name(text, l->module);
  put_name(text, l->input);
  bsm_text_printf(text, " %s", precision_word(l));
  put_number(text, l->operations);
  put_number(text, l->sqnr);
  put_number(text, l->loss);
  bsm_text_puts(text, "\n");
}

void bsm_calibration_print(bsm_text *text, const bsm_calibration *c) {
  bsm_text_printf(text, "%s%d\nmodel %016" PRIx64 "\n", first_line, VERSION,
                  c->model);
  bsm_text_printf(text, "method %s", bsm_calibration_method_name(c->method));
  if (c->method == BSM_CALIBRATION_PERCENTILE) put_number(text, c->percentile);
  bsm_text_printf(text, "\nbatches %" PRIu64 "\n", c->batches);
  if (c->equalized) bsm_text_puts(text, "equalized\n");
  if (!isnan(c->loss)) {
    bsm_text_puts(text, "loss");
    put_number(text, c->loss);
    bsm_text_puts(text, "\n");
  }
  for (size_t i = 0; i < c->tensors.len; i++) {
    put_tensor(text, c->tensors.items[i]);
  }
  for (size_t i = 0; i < c->layers.len; i++) {
    put_layer(text, c->layers.items[i]);
  }
  bsm_text_puts(text, "end\n");
}

/* ---- reading ---- */

typedef struct parser {
  bsm_calibration *c;
  bsm_str rest; /* of the text */
  bsm_str line; /* what is left of it */
  bsm_arena *arena;
} parser;

static bool next_line(parser *p) {
  if (!p->rest.len) return false;
  const char *end = memchr(p->rest.data, '\n', p->rest.len);
  const size_t length = end ? (size_t)(end - p->rest.data) : p->rest.len;
  p->line = (bsm_str){p->rest.data, length};
  const size_t taken = length + (end != NULL);
  p->rest = (bsm_str){p->rest.data + taken, p->rest.len - taken};
  return true;
}

static bsm_str word(parser *p) {
  const char *end = p->line.len ? memchr(p->line.data, ' ', p->line.len) : NULL;
  const size_t length = end ? (size_t)(end - p->line.data) : p->line.len;
  const bsm_str found = {p->line.data, length};
  const size_t taken = length + (end != NULL);
  p->line = (bsm_str){p->line.data + taken, p->line.len - taken};
  return found;
}

static bsm_status number(parser *p, const char *what, double *out) {
  const bsm_str text = word(p);
  if (bsm_parse_double(text, out)) return BSM_OK;
  return BSM_FAIL(BSM_CORRUPT, "%s: \"%.*s\" is no number", what,
                  (int)(text.len < 40 ? text.len : 40), text.data);
}

static bsm_status whole(parser *p, const char *what, int64_t most,
                        int64_t *out) {
  const bsm_str text = word(p);
  if (!bsm_parse_i64(text, out) || *out < 0) {
    return BSM_FAIL(BSM_CORRUPT, "%s: \"%.*s\" is no count", what,
                    (int)(text.len < 40 ? text.len : 40), text.data);
  }
  if (*out > most) {
    return BSM_FAIL(BSM_LIMIT, "%s: %" PRId64 " are more than %" PRId64, what,
                    *out, most);
  }
  return BSM_OK;
}

static int hex_digit(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                : -1;
}

/* A name, in the calibration's memory. */
static bsm_status name_word(parser *p, const char **out) {
  const bsm_str text = word(p);
  if (!text.len) return BSM_FAIL(BSM_CORRUPT, "a name is missing");
  if (text.len > 3 * MAX_NAME) { /* each byte may be %XX */
    return BSM_FAIL(BSM_LIMIT, "a name of %zu bytes", text.len);
  }
  char *name = bsm_arena_alloc(p->arena, text.len + 1, 1);
  BSM_TRY_ALLOC(name);
  size_t length = 0;
  const bool empty = text.len == 1 && text.data[0] == '%';
  for (size_t i = 0; !empty && i < text.len; i++) {
    char c = text.data[i];
    if (c == '%') {
      const int high = i + 2 < text.len ? hex_digit(text.data[i + 1]) : -1;
      const int low = i + 2 < text.len ? hex_digit(text.data[i + 2]) : -1;
      if (high < 0 || low < 0 || (high == 0 && low == 0)) {
        return BSM_FAIL(BSM_CORRUPT, "a %% without two digits in a name");
      }
      c = (char)(high * 16 + low);
      i += 2;
    }
    name[length++] = c;
  }
  *out = name;
  return BSM_OK;
}

static bsm_status read_tensor(parser *p) {
  bsm_calibrated_tensor *t;
  const char *name;
  BSM_TRY(name_word(p, &name));
  if (p->c->tensors.len >= MAX_RECORDS) {
    return BSM_FAIL(BSM_LIMIT, "more than %d tensors", MAX_RECORDS);
  }
  BSM_TRY(bsm_calibration_add_tensor(p->c, bsm_str_of(name), &t));
  BSM_TRY(number(p, "low", &t->low));
  BSM_TRY(number(p, "high", &t->high));
  BSM_TRY(number(p, "least", &t->least));
  BSM_TRY(number(p, "greatest", &t->greatest));
  if (!bsm_is_range(t->low, t->high)) {
    return BSM_FAIL(BSM_CORRUPT, "tensor \"%s\": %g to %g is no range", name,
                    t->low, t->high);
  }
  return BSM_OK;
}

static bsm_status read_means(parser *p) {
  const char *name;
  int64_t count;
  BSM_TRY(name_word(p, &name));
  bsm_calibrated_tensor *t = bsm_calibration_tensor(p->c, name);
  if (!t || t->mean_count) {
    return BSM_FAIL(BSM_CORRUPT, "means of \"%s\" %s", name,
                    t ? "come twice" : "come before its range");
  }
  BSM_TRY(whole(p, "means", MAX_MEANS, &count));
  /* Each takes two bytes of the line at least. */
  if ((uint64_t)count > p->line.len) {
    return BSM_FAIL(BSM_CORRUPT, "means of \"%s\": fewer than %" PRId64, name,
                    count);
  }
  t->means = BSM_NEW_ARRAY(p->arena, double, (size_t)count + 1);
  BSM_TRY_ALLOC(t->means);
  for (int64_t i = 0; i < count; i++) {
    BSM_TRY(number(p, "mean", &t->means[i]));
    if (!isfinite(t->means[i])) {
      return BSM_FAIL(BSM_CORRUPT, "mean %" PRId64 " of \"%s\" is not finite",
                      i, name);
    }
  }
  t->mean_count = (size_t)count;
  return BSM_OK;
}

static bsm_status read_precision(parser *p, bsm_calibrated_layer *l) {
  const bsm_str text = word(p);
  if (bsm_str_eq(text, BSM_STR("fp32"))) {
    l->precision = BSM_PRECISION_FP32;
    return BSM_OK;
  }
  l->precision = BSM_PRECISION_INT8;
  l->dynamic = bsm_str_eq(text, BSM_STR("dynamic"));
  if (l->dynamic || bsm_str_eq(text, BSM_STR("int8"))) return BSM_OK;
  return BSM_FAIL(BSM_CORRUPT, "layer \"%s\": the precision is \"%.*s\"",
                  l->name, (int)(text.len < 40 ? text.len : 40), text.data);
}

static bsm_status read_layer(parser *p) {
  bsm_calibrated_layer *l;
  const char *name;
  BSM_TRY(name_word(p, &name));
  if (p->c->layers.len >= MAX_RECORDS) {
    return BSM_FAIL(BSM_LIMIT, "more than %d layers", MAX_RECORDS);
  }
  BSM_TRY(bsm_calibration_add_layer(p->c, bsm_str_of(name), &l));
  BSM_TRY(name_word(p, &l->kind));
  BSM_TRY(name_word(p, &l->module));
  BSM_TRY(name_word(p, &l->input));
  BSM_TRY(read_precision(p, l));
  BSM_TRY(number(p, "operations", &l->operations));
  BSM_TRY(number(p, "sqnr", &l->sqnr));
  return number(p, "loss", &l->loss);
}

static bsm_status read_model(parser *p) {
  const bsm_str text = word(p);
  uint64_t hash = 0;
  for (size_t i = 0; i < text.len; i++) {
    const int digit = hex_digit(text.data[i]);
    if (digit < 0 || text.len != 16) {
      return BSM_FAIL(BSM_CORRUPT, "the model is no hash of 16 digits");
    }
    hash = hash << 4 | (uint64_t)digit;
  }
  p->c->model = hash;
  return BSM_OK;
}

static bsm_status read_method(parser *p) {
  const bsm_str text = word(p);
  for (int i = 0; i <= BSM_CALIBRATION_MSE; i++) {
    const bsm_calibration_method method = (bsm_calibration_method)i;
    if (!bsm_str_eq(text, bsm_str_of(bsm_calibration_method_name(method)))) {
      continue;
    }
    p->c->method = method;
    return method == BSM_CALIBRATION_PERCENTILE
               ? number(p, "percentile", &p->c->percentile)
               : BSM_OK;
  }
  return BSM_FAIL(BSM_CORRUPT, "there is no method \"%.*s\"",
                  (int)(text.len < 40 ? text.len : 40), text.data);
}

static bsm_status read_batches(parser *p) {
  int64_t batches;
  BSM_TRY(whole(p, "batches", INT64_MAX, &batches));
  p->c->batches = (uint64_t)batches;
  return BSM_OK;
}

static bsm_status read_equalized(parser *p) {
  p->c->equalized = true;
  return BSM_OK;
}

static bsm_status read_loss(parser *p) {
  return number(p, "loss", &p->c->loss);
}

static bsm_status read_record(parser *p) {
  static const struct {
    const char *word;
    bsm_status (*read)(parser *p);
  } records[] = {{"tensor", read_tensor},       {"means", read_means},
                 {"layer", read_layer},         {"model", read_model},
                 {"method", read_method},       {"batches", read_batches},
                 {"equalized", read_equalized}, {"loss", read_loss}};
  const bsm_str first = word(p);
  for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
    if (!bsm_str_eq(first, bsm_str_of(records[i].word))) continue;
    BSM_TRY(records[i].read(p));
    return p->line.len ? BSM_FAIL(BSM_CORRUPT, "more words than a %s has",
                                  records[i].word)
                       : BSM_OK;
  }
  return BSM_FAIL(BSM_CORRUPT, "unknown record \"%.*s\"",
                  (int)(first.len < 40 ? first.len : 40), first.data);
}

static bsm_status read_first(parser *p) {
  int64_t version;
  if (!next_line(p) || !bsm_str_starts_with(p->line, bsm_str_of(first_line))) {
    return BSM_FAIL(BSM_CORRUPT,
                    "not a calibration: the first line is not \"%s%d\"",
                    first_line, VERSION);
  }
  const size_t length = sizeof(first_line) - 1;
  const bsm_str text = {p->line.data + length, p->line.len - length};
  if (!bsm_parse_i64(text, &version) || version < 1) {
    return BSM_FAIL(BSM_CORRUPT, "the first line has no version");
  }
  if (version > VERSION) {
    return BSM_FAIL(BSM_VERSION,
                    "version %" PRId64 "; this library reads up to %d", version,
                    VERSION);
  }
  return BSM_OK;
}

bsm_status bsm_calibration_parse(bsm_calibration *c, bsm_str text) {
  parser p = {.c = c, .rest = text, .arena = &c->arena};
  BSM_TRY(read_first(&p));
  for (size_t line = 2; next_line(&p); line++) {
    if (bsm_str_eq(p.line, BSM_STR("end"))) {
      return p.rest.len ? BSM_FAIL(BSM_CORRUPT, "text after the end") : BSM_OK;
    }
    BSM_TRY_NOTE(read_record(&p), "in line %zu", line);
  }
  return BSM_FAIL(BSM_CORRUPT, "it ends before its last line, \"end\"");
}
