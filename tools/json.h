/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON, indented by two blanks for each level. */
#ifndef BSM_TOOLS_JSON_H_
#define BSM_TOOLS_JSON_H_

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "bessemer/types.h"

typedef struct bsm_json {
  FILE *file;
  int depth;
  bool after_value; /* the next one needs a comma */
  bool in_page;     /* for HTML: no "<", and no blanks for people */
} bsm_json;

/* `key` is NULL inside lists and at the top. */
void bsm_json_open(bsm_json *json, const char *key, char bracket);
void bsm_json_close(bsm_json *json, char bracket);
void bsm_json_string(bsm_json *json, const char *key, const char *value);
void bsm_json_int(bsm_json *json, const char *key, int64_t value);
void bsm_json_double(bsm_json *json, const char *key, double value);
void bsm_json_bool(bsm_json *json, const char *key, bool value);
void bsm_json_dims(bsm_json *json, const char *key, bsm_dims dims);

#endif /* BSM_TOOLS_JSON_H_ */
