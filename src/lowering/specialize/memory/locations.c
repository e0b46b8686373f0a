/* SPDX-License-Identifier: Apache-2.0 */
/* Abstract locations and the log of writes to them. */
#include "lowering/specialize/memory/locations.h"

#include "lowering/specialize/memory/allocation.h"

bsm_spec_content bsm_spec_content_of(bsm_spec_location location) {
  bsm_spec_content content = {.location = location};
  switch (location.kind) {
    case BSM_LOCATION_STORAGE:
      content.value = location.u.storage->value;
      content.version = location.u.storage->version;
      break;
    case BSM_LOCATION_CONTAINER:
      content.value = location.u.dynamic->value;
      break;
    case BSM_LOCATION_SYMBOL:
      content.value = location.u.symbol->value;
      content.version = location.u.symbol->version;
      break;
    case BSM_LOCATION_SLOT:
      content.slot = *location.u.slot;
      break;
  }
  return content;
}

void bsm_spec_content_restore(const bsm_spec_content *content) {
  switch (content->location.kind) {
    case BSM_LOCATION_STORAGE:
      content->location.u.storage->value = content->value;
      content->location.u.storage->version = content->version;
      break;
    case BSM_LOCATION_CONTAINER:
      content->location.u.dynamic->value = content->value;
      break;
    case BSM_LOCATION_SYMBOL:
      content->location.u.symbol->value = content->value;
      content->location.u.symbol->version = content->version;
      break;
    case BSM_LOCATION_SLOT:
      *content->location.u.slot = content->slot;
      break;
  }
}

const bsm_type *bsm_spec_location_type(bsm_spec *s,
                                       bsm_spec_location location) {
  switch (location.kind) {
    case BSM_LOCATION_STORAGE:
      return bsm_spec_tensor_type(s, location.u.storage->base->tensor);
    case BSM_LOCATION_CONTAINER:
      return location.u.dynamic->type;
    case BSM_LOCATION_SYMBOL:
      return location.u.symbol->type;
    default:
      return NULL;
  }
}

void bsm_spec_location_set(bsm_spec *s, bsm_spec_location location,
                           bsm_value *value) {
  switch (location.kind) {
    case BSM_LOCATION_STORAGE:
      location.u.storage->value = value;
      location.u.storage->version = bsm_spec_tick(s);
      break;
    case BSM_LOCATION_CONTAINER:
      location.u.dynamic->value = value;
      break;
    case BSM_LOCATION_SYMBOL:
      location.u.symbol->value = value;
      location.u.symbol->version = bsm_spec_tick(s);
      break;
    case BSM_LOCATION_SLOT:
      break;
  }
}

bsm_status bsm_spec_log(bsm_spec *s, bsm_spec_location location) {
  if (s->residual.block_depth > 0) {
    BSM_TRY_ALLOC(bsm_vec_push(s->scratch, &s->memory->undo,
                               bsm_spec_content_of(location)));
  }
  return BSM_OK;
}

bool bsm_spec_location_is_newer(const bsm_spec *s, bsm_spec_location location,
                                uint64_t stamp) {
  switch (location.kind) {
    case BSM_LOCATION_STORAGE:
      return location.u.storage->created > stamp;
    case BSM_LOCATION_SYMBOL:
      return location.u.symbol->created > stamp;
    case BSM_LOCATION_CONTAINER:
      return bsm_spec_was_made_after(s, &location.u.dynamic->container, stamp);
    case BSM_LOCATION_SLOT:
      break; /* attributes of new objects are not logged */
  }
  return false;
}
