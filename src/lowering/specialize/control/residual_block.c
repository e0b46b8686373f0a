/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of a residual If or Loop. Each is filled from the same state: what it
 * writes to older places - storages, boxes, attributes - is taken back when it
 * ends, and kept as what the block did. */
#include "lowering/specialize/specialize.h"

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

static void restore(const bsm_spec_content *content) {
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
  if (s->branch_depth > 0) {
    BSM_TRY_ALLOC(
        bsm_vec_push(s->scratch, &s->undo, bsm_spec_content_of(place)));
  }
  return BSM_OK;
}

const bsm_spec_content *bsm_spec_region_find(const bsm_spec_region *region,
                                             bsm_spec_place place) {
  for (size_t i = 0; i < region->write_count; i++) {
    if (region->writes[i].place.u.key == place.u.key) {
      return &region->writes[i];
    }
  }
  return NULL;
}

bsm_status bsm_spec_region_open(bsm_spec *s, bsm_node *node,
                                bsm_spec_region *region) {
  *region = (bsm_spec_region){
      .mark = s->undo.len, .outer = s->block, .outer_birth = s->branch_birth};
  BSM_TRY(bsm_node_add_block(node, &region->block));
  BSM_TRY_ALLOC(bsm_vec_push(s->scratch, &s->open_blocks, region->block));
  s->block = region->block;
  s->branch_depth++;
  region->birth = s->branch_birth = bsm_spec_tick(s);
  return BSM_OK;
}

/* The exception, when the block gets there. */
static bsm_status emit_raise(bsm_spec *s, const char *message) {
  const bsm_emitter e = bsm_spec_emitter(s);
  bsm_ivalue text;
  bsm_value *value = NULL;
  bsm_node *node = NULL;
  BSM_TRY(bsm_iv_string(s->cx->arena, bsm_str_of(message), &text));
  BSM_TRY(bsm_ir_constant(&e, text, NULL, &value));
  BSM_TRY(bsm_node_create(s->graph, "prim::RaiseException", &node));
  BSM_TRY(bsm_node_add_input(node, value));
  bsm_ir_link(&e, node);
  return BSM_OK;
}

/* Whether a failure is one for the engine to report, when it gets there. */
static bool is_exception(const bsm_spec *s, const bsm_spec_region *region,
                         bsm_status st) {
  const bsm_code code = bsm_status_code(st);
  if (!st || code == BSM_RAISED) {
    return st != BSM_OK;
  }
  /* Another attempt may do without a limit, or literally. */
  if (s->sharing && !s->literal) {
    return false;
  }
  return region->may_fail && !s->escape && code != BSM_OUT_OF_MEMORY &&
         code != BSM_LIMIT;
}

bsm_status bsm_spec_region_run(bsm_spec *s, bsm_spec_region *region,
                               const bsm_block *from) {
  bsm_status st = bsm_spec_run_block(s, from);
  if (!is_exception(s, region, st)) {
    return st;
  }
  const char *message = bsm_status_message(st);
  if (bsm_status_code(st) != BSM_RAISED) {
    bsm_log(s->logger, BSM_LOG_LEVEL_INFO,
            "some shapes in range are refused when running: %s", message);
    message = bsm_arena_printf(
        s->scratch,
        "the model does not take shapes that get here; for one of them: %s",
        message);
  }
  region->raised = true;
  bsm_status emitted = message ? emit_raise(s, message) : BSM_FAIL_OOM();
  bsm_status_free(st);
  return emitted;
}

static bsm_status capture_items(bsm_spec *s, bsm_spec_region *region,
                                const bsm_ivalue *items, size_t n) {
  if (++s->depth > s->cx->limits.max_depth) {
    s->depth--;
    return BSM_FAIL(BSM_LIMIT, "a result of a block is nested too deep");
  }
  bsm_status st = BSM_OK;
  for (size_t i = 0; i < n && !st; i++) {
    st = bsm_spec_region_capture(s, region, &items[i]);
  }
  s->depth--;
  return st;
}

bsm_status bsm_spec_region_capture(bsm_spec *s, bsm_spec_region *region,
                                   const bsm_ivalue *value) {
  const bsm_spec_box *box = bsm_spec_box_find(s, value);
  bsm_value *residual = NULL;
  if (bsm_spec_is_symbol(value) && !bsm_spec_is_undefined(value)) {
    BSM_TRY(bsm_spec_symbol_value(s, value, &residual));
    BSM_TRY_ALLOC(bsm_ptrmap_set(s->scratch, &region->values,
                                 value->u.container, residual));
    return BSM_OK;
  }
  if (box) {
    BSM_TRY_ALLOC(bsm_ptrmap_set(s->scratch, &region->values,
                                 value->u.container, box->value));
    return BSM_OK;
  }
  switch (value->tag) {
    case BSM_IVALUE_TENSOR:
      BSM_TRY(bsm_spec_tensor_value(s, value->u.tensor, &residual));
      BSM_TRY_ALLOC(bsm_ptrmap_set(s->scratch, &region->values, value->u.tensor,
                                   residual));
      return BSM_OK;
    case BSM_IVALUE_LIST:
      return capture_items(s, region, value->u.list->items, value->u.list->len);
    case BSM_IVALUE_TUPLE:
      return capture_items(s, region, value->u.tuple->items,
                           value->u.tuple->len);
    case BSM_IVALUE_DICT:
      return capture_items(s, region, value->u.dict->values,
                           value->u.dict->len);
    default:
      return BSM_OK;
  }
}

/* Attributes hold values, whose tensors have residual values only now. */
static bsm_status capture_slots(bsm_spec *s, bsm_spec_region *region) {
  for (size_t i = region->mark; i < s->undo.len; i++) {
    const bsm_spec_place place = s->undo.items[i].place;
    if (place.kind == BSM_PLACE_SLOT) {
      BSM_TRY(bsm_spec_region_capture(s, region, place.u.slot));
    }
  }
  return BSM_OK;
}

/* Whether the place was made in the region. */
static bool is_own(const bsm_spec *s, const bsm_spec_region *region,
                   bsm_spec_place place) {
  const uint64_t *stamp;
  switch (place.kind) {
    case BSM_PLACE_STORAGE:
      return place.u.storage->birth > region->birth;
    case BSM_PLACE_SYMBOL:
      return place.u.symbol->birth > region->birth;
    case BSM_PLACE_BOX:
      stamp = bsm_ptrmap_get(&s->births, place.u.box->container.u.container);
      return stamp && *stamp > region->birth;
    case BSM_PLACE_SLOT:
      break; /* attributes of new objects are not logged */
  }
  return false;
}

static bsm_status undo_writes(bsm_spec *s, bsm_spec_region *region) {
  region->writes = BSM_NEW_ARRAY(s->scratch, bsm_spec_content,
                                 s->undo.len - region->mark + 1);
  bsm_status st = region->writes ? BSM_OK : BSM_FAIL_OOM();
  while (s->undo.len > region->mark) {
    const bsm_spec_content old = s->undo.items[--s->undo.len];
    if (!st && !is_own(s, region, old.place) &&
        !bsm_spec_region_find(region, old.place)) {
      region->writes[region->write_count++] = bsm_spec_content_of(old.place);
    }
    restore(&old);
  }
  return st;
}

bsm_status bsm_spec_region_close(bsm_spec *s, bsm_spec_region *region,
                                 bsm_status status) {
  if (!region->block) { /* it was never opened */
    return status;
  }
  if (!status) {
    status = capture_slots(s, region);
  }
  s->branch_birth = region->outer_birth;
  s->branch_depth--;
  s->block = region->outer;
  s->open_blocks.len--;
  return bsm_status_join(status, undo_writes(s, region));
}

bsm_status bsm_spec_region_value(bsm_spec *s, const bsm_spec_region *region,
                                 const bsm_ivalue *value, const bsm_type *type,
                                 bsm_value **out) {
  bsm_block *outer = s->block;
  const bsm_spec_region *reading = s->reading;
  s->block = region->block;
  s->reading = region;
  bsm_status st = bsm_spec_residual(s, value, type, out);
  s->reading = reading;
  s->block = outer;
  return st;
}

bsm_status bsm_spec_filler(bsm_spec *s, bsm_block *block,
                           const bsm_ivalue *like, const bsm_type *type,
                           bsm_value **out) {
  bsm_ivalue filler = bsm_iv_none();
  bsm_emitter e = bsm_spec_emitter(s);
  e.block = block;
  if (like->tag == BSM_IVALUE_TENSOR) {
    const bsm_tensor *t = like->u.tensor;
    const int64_t strides[BSM_MAX_RANK] = {0};
    bsm_tensor *one = NULL, *all = NULL;
    BSM_TRY(bsm_tensor_from_int(s->cx->arena, t->dtype, 0, &one));
    BSM_TRY(bsm_tensor_view(s->cx->arena, one, t->sizes, strides, 0, &all));
    return bsm_ir_constant(&e, bsm_iv_tensor(all), bsm_spec_tensor_type(s, t),
                           out);
  } else if (like->tag == BSM_IVALUE_INT || like->tag == BSM_IVALUE_DOUBLE ||
             like->tag == BSM_IVALUE_BOOL || like->tag == BSM_IVALUE_STRING) {
    filler = *like;
  } else {
    bsm_node *node = NULL;
    BSM_TRY(bsm_node_create(s->graph, "prim::Uninitialized", &node));
    BSM_TRY(bsm_node_add_output(node, type, out));
    bsm_ir_link(&e, node);
    return BSM_OK;
  }
  return bsm_ir_constant(&e, filler, NULL, out);
}

bsm_status bsm_spec_spread_undefined(bsm_spec *s, const bsm_ivalue *tuple,
                                     bsm_ivalue *out) {
  bsm_tuple *own = NULL;
  BSM_TRY(bsm_tuple_new(s->cx->arena, tuple->u.tuple->len, &own));
  own->type = tuple->u.tuple->type;
  for (size_t i = 0; i < own->len; i++) {
    BSM_TRY(bsm_spec_new_symbol(s, NULL,
                                bsm_spec_type_of(s, &tuple->u.tuple->items[i]),
                                &own->items[i]));
  }
  *out = bsm_iv_tuple(own);
  return BSM_OK;
}

/* With the types of symbols inside. */
static const bsm_type *tuple_type(bsm_spec *s, const bsm_tuple *tuple) {
  const bsm_type *named = tuple->type;
  const bsm_type **types =
      BSM_NEW_ARRAY(s->scratch, const bsm_type *, tuple->len + 1);
  if (!types || ++s->depth > s->cx->limits.max_depth) {
    if (types) s->depth--;
    return NULL;
  }
  bool failed = false;
  for (size_t i = 0; i < tuple->len && !failed; i++) {
    types[i] = bsm_spec_type_of(s, &tuple->items[i]);
    failed = !types[i];
  }
  s->depth--;
  if (failed) return NULL;
  return named && named->field_names && named->arg_count == tuple->len
             ? bsm_type_named_tuple(s->cx->types, named->name,
                                    named->field_names, types, tuple->len)
             : bsm_type_tuple(s->cx->types, types, tuple->len);
}

const bsm_type *bsm_spec_type_of(bsm_spec *s, const bsm_ivalue *v) {
  const bsm_spec_box *box = bsm_spec_box_find(s, v);
  if (box) {
    return box->type;
  }
  if (bsm_spec_is_symbol(v)) {
    return bsm_spec_symbol_of(v)->type;
  }
  if (v->tag == BSM_IVALUE_TUPLE) {
    const bsm_type *type = tuple_type(s, v->u.tuple);
    if (type) return type;
  }
  return v->tag == BSM_IVALUE_TENSOR ? bsm_spec_tensor_type(s, v->u.tensor)
                                     : bsm_type_of_value(s->cx->types, v);
}
