/* SPDX-License-Identifier: Apache-2.0 */
/* What every device shares. */
#include "backend/device.h"

#include <inttypes.h>

#include "base/linked.h"

/* The names of the devices, for messages; the caller destroys `arena`. */
static const char *list_names(bsm_arena *arena) {
  bsm_text names;
  size_t count;
  const bsm_device_ops *const *table = bsm_device_table(&count);
  bsm_text_init(&names, arena);
  for (size_t i = 0; i < count; i++) {
    bsm_text_printf(&names, "%s%s", i ? ", " : "", table[i]->name);
  }
  return names.len && !names.failed ? names.data : "none";
}

bsm_status bsm_device_find(bsm_str name, const bsm_device_ops **out) {
  size_t count;
  const bsm_device_ops *const *table = bsm_device_table(&count);
  *out = NULL;
  for (size_t i = 0; i < count; i++) {
    if (!bsm_str_eq(name, bsm_str_of(table[i]->name))) continue;
    if (table[i]->version != BSM_DEVICE_VERSION) {
      return BSM_FAIL(BSM_INTERNAL,
                      "the device %s has version %" PRIu32
                      " of the interface, this runtime %d",
                      table[i]->name, table[i]->version, BSM_DEVICE_VERSION);
    }
    *out = table[i];
    return BSM_OK;
  }
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  bsm_status status = BSM_FAIL(
      BSM_UNSUPPORTED, "this build has no device \"%.*s\"; there are: %s",
      (int)name.len, name.data, list_names(&arena));
  bsm_arena_destroy(&arena);
  return bsm_linked.engines ? bsm_status_note(status,
                                              "in a program whose link list "
                                              "(bessemer link-list) is for %s",
                                              bsm_linked.engines)
                            : status;
}

void *bsm_run_address(const bsm_run *run, const bsm_plan *plan,
                      uint32_t tensor) {
  const bsm_plan_tensor *t = &plan->tensors[tensor];
  uint8_t *base = NULL;
  switch (t->place) {
    case BSM_PLACE_INPUT:
      base = run->inputs[t->index];
      break;
    case BSM_PLACE_OUTPUT:
      base = run->outputs[t->index];
      break;
    case BSM_PLACE_WORKSPACE:
      base = run->workspace;
      break;
    case BSM_PLACE_WEIGHTS:
      /* Steps never write here: bsm_plan_verify refuses such outputs. */
      base = (uint8_t *)(uintptr_t)bsm_weights_address(run->weights, plan,
                                                       t->index);
      break;
  }
  return base ? base + t->offset : NULL;
}

bsm_status bsm_note_step(bsm_status status, const bsm_prepared_step *prepared) {
  if (!status) return status;
  return bsm_status_note(status, "while running step %td: %s",
                         prepared->step - prepared->plan->steps,
                         prepared->step->name);
}
