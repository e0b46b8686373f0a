/* SPDX-License-Identifier: Apache-2.0 */
/* Abstract locations and the log of writes to them. */
#include "lowering/specialize/memory/locations.h"

#include "lowering/specialize/memory/allocation.h"

bsm_spec_content bsm_spec_content_of(bsm_spec_place place) {
  bsm_spec_content content = {.place = place};
  switch (place.kind) {
    case BSM_PLACE_STORAGE:
      content.value = place.u.storage->value;
      content.version = place.u.storage->version;
      break;
    case BSM_PLACE_BOX:
      content.value = place.u.box->value;
      break;
    case BSM_PLACE_SYMBOL:
      content.value = place.u.symbol->value;
      content.version = place.u.symbol->version;
      break;
    case BSM_PLACE_SLOT:
      content.slot = *place.u.slot;
      break;
  }
  return content;
}

void bsm_spec_content_restore(const bsm_spec_content *content) {
  switch (content->place.kind) {
    case BSM_PLACE_STORAGE:
      content->place.u.storage->value = content->value;
      content->place.u.storage->version = content->version;
      break;
    case BSM_PLACE_BOX:
      content->place.u.box->value = content->value;
      break;
    case BSM_PLACE_SYMBOL:
      content->place.u.symbol->value = content->value;
      content->place.u.symbol->version = content->version;
      break;
    case BSM_PLACE_SLOT:
      *content->place.u.slot = content->slot;
      break;
  }
}

const bsm_type *bsm_spec_place_type(bsm_spec *s, bsm_spec_place place) {
  switch (place.kind) {
    case BSM_PLACE_STORAGE:
      return bsm_spec_tensor_type(s, place.u.storage->base->tensor);
    case BSM_PLACE_BOX:
      return place.u.box->type;
    case BSM_PLACE_SYMBOL:
      return place.u.symbol->type;
    default:
      return NULL;
  }
}

void bsm_spec_place_set(bsm_spec *s, bsm_spec_place place, bsm_value *value) {
  switch (place.kind) {
    case BSM_PLACE_STORAGE:
      place.u.storage->value = value;
      place.u.storage->version = bsm_spec_tick(s);
      break;
    case BSM_PLACE_BOX:
      place.u.box->value = value;
      break;
    case BSM_PLACE_SYMBOL:
      place.u.symbol->value = value;
      place.u.symbol->version = bsm_spec_tick(s);
      break;
    case BSM_PLACE_SLOT:
      break;
  }
}

bsm_status bsm_spec_log(bsm_spec *s, bsm_spec_place place) {
  if (s->residual.block_depth > 0) {
    BSM_TRY_ALLOC(
        bsm_vec_push(s->scratch, &s->memory->undo, bsm_spec_content_of(place)));
  }
  return BSM_OK;
}

bool bsm_spec_place_is_newer(const bsm_spec *s, bsm_spec_place place,
                             uint64_t stamp) {
  switch (place.kind) {
    case BSM_PLACE_STORAGE:
      return place.u.storage->birth > stamp;
    case BSM_PLACE_SYMBOL:
      return place.u.symbol->birth > stamp;
    case BSM_PLACE_BOX:
      return bsm_spec_was_made_after(s, &place.u.box->container, stamp);
    case BSM_PLACE_SLOT:
      break; /* attributes of new objects are not logged */
  }
  return false;
}
