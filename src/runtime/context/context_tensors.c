/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the tensors that a run has computed on the way. */
#include <string.h>

#include "base/options.h"
#include "runtime/context/context_internal.h"

size_t bsm_context_tensor_count(const bsm_context *context) {
  return context ? context->execution.kept.items.len : 0;
}

bsm_status bsm_context_tensor(const bsm_context *context, size_t index,
                              bsm_kept_tensor *out) {
  BSM_NEED(context);
  const bsm_kept_tensors *kept = &context->execution.kept;
  if (index >= kept->items.len) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "tensor %zu of a run that kept %zu",
                    index, kept->items.len);
  }
  return BSM_OUT(bsm_kept_tensor, out, kept->items.items[index]);
}

static bsm_status not_found(const bsm_kept_tensors *kept, const char *name) {
  bsm_arena arena;
  bsm_text names;
  bsm_arena_init(&arena, NULL);
  bsm_text_init(&names, &arena);
  for (size_t i = 0; i < kept->items.len && names.len < 500; i++) {
    const char *other = kept->items.items[i].name;
    if (other[0]) bsm_text_printf(&names, "%s%s", names.len ? ", " : "", other);
  }
  bsm_status status =
      BSM_FAIL(BSM_NOT_FOUND, "the last run kept no tensor \"%s\"; it kept: %s",
               name, names.len ? names.data : "none");
  bsm_arena_destroy(&arena);
  return status;
}

bsm_status bsm_context_find_tensor(const bsm_context *context, const char *name,
                                   size_t *out) {
  BSM_NEED(context);
  BSM_NEED(name);
  BSM_NEED(out);
  const bsm_kept_tensors *kept = &context->execution.kept;
  for (size_t i = 0; i < kept->items.len; i++) {
    if (strcmp(kept->items.items[i].name, name) != 0) continue;
    *out = i;
    return BSM_OK;
  }
  return not_found(kept, name);
}
