/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as JSON. Every value of what is taken is looked at, and every key
 * is found where it stands. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/resolve_limits.h"
#include "exported/json_reader.h"
#include "fuzz/mutators/mutator.h"
#include "fuzz/seed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
FUZZ_INPUTS(fuzz_mutate_json, 0);

/* What is nested is as deep as the default of max_depth allows. */
static size_t look_at(const bsm_json *value) {
  size_t seen = 1;
  switch (value->kind) {
    case BSM_JSON_NULL:
    case BSM_JSON_BOOL:
    case BSM_JSON_INT:
      break;
    case BSM_JSON_REAL:
      seen += isfinite(value->u.d) != 0;
      break;
    case BSM_JSON_STRING:
      seen += strlen(value->u.string);
      break;
    case BSM_JSON_ARRAY:
      for (size_t i = 0; i < value->u.array.len; i++) {
        seen += look_at(&value->u.array.items[i]);
      }
      break;
    case BSM_JSON_OBJECT:
      for (size_t i = 0; i < value->u.object->len; i++) {
        const bsm_json_member *m = &value->u.object->members[i];
        if (bsm_json_find(value->u.object, m->key) != &m->value) abort();
        seen += strlen(m->key) + look_at(&m->value);
      }
      break;
  }
  return seen;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const bsm_limits limits = bsm_resolve_limits(NULL);
  bsm_arena arena;
  const bsm_json *root;
  bsm_arena_init(&arena, NULL);
  const bsm_status status = bsm_json_read(
      &arena, (bsm_str){(const char *)data, size}, "text", &limits, &root);
  /* A value takes a byte of the text, and its content no more than it has. */
  if (!status && look_at(root) > 2 * size) abort();
  fuzz_done(status);
  bsm_arena_destroy(&arena);
  return 0;
}
