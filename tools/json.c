/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON writer. */
#include "tools/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static void write_string(const bsm_json *json, const char *text) {
  FILE *file = json->file;
  fputc('"', file);
  for (const char *p = text; *p; p++) {
    const unsigned char c = (unsigned char)*p;
    if (c == '"' || c == '\\') {
      fprintf(file, "\\%c", c);
    } else if (c == '\n') {
      fputs("\\n", file);
    } else if (c < 0x20 || c > 0x7e || (c == '<' && json->in_page)) {
      /* Names may be any bytes: each is written as the code point of its
       * value, which keeps the document valid. */
      fprintf(file, "\\u%04x", c);
    } else {
      fputc(c, file);
    }
  }
  fputc('"', file);
}

/* The comma, the line and the key in front of a value. */
static void start_value(bsm_json *json, const char *key) {
  if (json->after_value) fputc(',', json->file);
  if (json->depth && !json->in_page) {
    fprintf(json->file, "\n%*s", 2 * json->depth, "");
  }
  if (key) {
    write_string(json, key);
    fputs(": ", json->file);
  }
  json->after_value = true;
}

void bsm_json_open(bsm_json *json, const char *key, char bracket) {
  start_value(json, key);
  fputc(bracket, json->file);
  json->depth++;
  json->after_value = false;
}

void bsm_json_close(bsm_json *json, char bracket) {
  json->depth--;
  if (json->after_value && !json->in_page) {
    fprintf(json->file, "\n%*s", 2 * json->depth, "");
  }
  fputc(bracket, json->file);
  json->after_value = true;
  if (json->depth == 0 && !json->in_page) fputc('\n', json->file);
}

void bsm_json_string(bsm_json *json, const char *key, const char *value) {
  start_value(json, key);
  write_string(json, value);
}

void bsm_json_int(bsm_json *json, const char *key, int64_t value) {
  start_value(json, key);
  fprintf(json->file, "%" PRId64, value);
}

void bsm_json_double(bsm_json *json, const char *key, double value) {
  start_value(json, key);
  if (isfinite(value)) {
    char text[40];
    int digits = 9; /* as few as tell the number apart from all others */
    do {
      snprintf(text, sizeof(text), "%.*g", digits, value);
    } while (digits++ < 17 &&
             (strtod(text, NULL) < value || strtod(text, NULL) > value));
    fputs(text, json->file);
  } else {
    fputs("null", json->file);
  }
}

void bsm_json_bool(bsm_json *json, const char *key, bool value) {
  start_value(json, key);
  fputs(value ? "true" : "false", json->file);
}

void bsm_json_dims(bsm_json *json, const char *key, bsm_dims dims) {
  start_value(json, key);
  fputs(dims.rank < 0 ? "null" : bsm_dims_str(dims), json->file);
}
