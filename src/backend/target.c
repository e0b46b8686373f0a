/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a target by its text. */
#include "builder/target.h"

#include <string.h>

static bsm_status no_target(bsm_str name) {
  bsm_arena arena;
  bsm_text names;
  size_t count;
  const bsm_target_ops *const *table = bsm_target_table(&count);
  bsm_arena_init(&arena, NULL);
  bsm_text_init(&names, &arena);
  for (size_t i = 0; i < count; i++) {
    bsm_text_printf(&names, "%s%s", i ? ", " : "", table[i]->name);
  }
  bsm_status status = BSM_FAIL(
      BSM_INVALID_ARGUMENT, "there is no target \"%.*s\"; there are: %s",
      name.len < 64 ? (int)name.len : 64, name.data, names.data);
  bsm_arena_destroy(&arena);
  return status;
}

bsm_status bsm_target_parse(const bsm_target_request *request, bsm_arena *arena,
                            const bsm_target **out) {
  static const bsm_target_request this_machine = {.isa = BSM_TARGET_ANY_ISA};
  *out = NULL;
  if (!request) request = &this_machine;
  size_t count;
  const bsm_target_ops *const *table = bsm_target_table(&count);
  const char *text = request->text ? request->text : table[0]->name;
  const char *colon = strchr(text, ':');
  const bsm_str name = {text, colon ? (size_t)(colon - text) : strlen(text)};
  for (size_t i = 0; i < count; i++) {
    if (!bsm_str_eq(bsm_str_of(table[i]->name), name)) continue;
    if (table[i]->version != BSM_TARGET_VERSION) {
      return BSM_FAIL(BSM_INTERNAL,
                      "the target %s has version %u of the interface, this "
                      "builder %u",
                      table[i]->name, (unsigned)table[i]->version,
                      (unsigned)BSM_TARGET_VERSION);
    }
    BSM_TRY_NOTE(table[i]->parse(request, colon ? colon + 1 : NULL, arena, out),
                 "in the target %.200s", text);
    return BSM_OK;
  }
  return no_target(name);
}
