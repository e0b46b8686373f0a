/* SPDX-License-Identifier: Apache-2.0 */
/* Schemas: the first line is a schema to add, the second a type; what is
 * accepted prints and reads back as the same type, and calls are resolved. */
#include <stdlib.h>

#include "fuzz/mutators/mutator.h"
#include "fuzz/seed.h"
#include "ir/schema_match.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
FUZZ_INPUTS(fuzz_mutate_text, 0);

static void check_type(bsm_ir_ctx *cx, bsm_str text) {
  const bsm_type *type, *again;
  bsm_status status = bsm_type_parse(cx->types, text, &type);
  if (!status) {
    const char *printed = bsm_type_str(cx->arena, type);
    if (bsm_type_parse(cx->types, bsm_str_of(printed), &again)) abort();
    if (again != type || !bsm_type_is_subtype(type, type)) abort();
  }
  bsm_status_free(status);
}

/* Calls the schema with arguments of its own types, as keywords. */
static void check_call(bsm_ir_ctx *cx, const bsm_schema *schema) {
  bsm_match_arg *args =
      BSM_NEW_ARRAY(cx->arena, bsm_match_arg, schema->arg_count + 1);
  for (size_t i = 0; i < schema->arg_count; i++) {
    args[i] =
        (bsm_match_arg){schema->args[i].name, schema->args[i].type, i % 3 == 0};
  }
  const bsm_match_call call = {cx->types, cx->arena, args, schema->arg_count};
  bsm_schema_match match;
  bsm_status_free(bsm_schema_match_overloads(&call, &schema, 1, &match));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  bsm_arena arena;
  bsm_ir_ctx *cx;
  bsm_arena_init(&arena, NULL);
  if (bsm_ir_ctx_create(&arena, NULL, NULL, &cx)) abort();
  const char *text = (const char *)data;
  const char *line = size ? memchr(text, '\n', size) : NULL;
  size_t first = line ? (size_t)(line - text) : size;
  bsm_schema *schema;
  bsm_status status =
      bsm_schema_parse(cx->types, &arena, (bsm_str){text, first}, &schema);
  if (!status) check_call(cx, schema);
  fuzz_done(status);
  if (line) check_type(cx, (bsm_str){line + 1, size - first - 1});
  bsm_arena_destroy(&arena);
  return 0;
}
