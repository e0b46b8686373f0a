/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of a residual If or Loop. Each is filled from the same state: what it
 * writes to older locations - storages, dynamic containers, attributes - is
 * taken back when it ends, and kept as what the block did. */
#include "lowering/specialize/control/residual_block.h"

#include "aten/ivalue_parts.h"
#include "lowering/specialize/memory/locations.h"
#include "lowering/specialize/memory/memory.h"
#include "lowering/specialize/memory/symbol_views.h"
#include "lowering/specialize/memory/tensor_values.h"
#include "lowering/specialize/values/interpreter.h"
#include "lowering/specialize/values/literal_policy.h"

const bsm_spec_content *bsm_residual_block_find(
    const bsm_residual_block *filled, bsm_spec_location location) {
  for (size_t i = 0; i < filled->write_count; i++) {
    if (filled->writes[i].location.u.key == location.u.key) {
      return &filled->writes[i];
    }
  }
  return NULL;
}

bsm_status bsm_residual_block_open(bsm_spec *s, bsm_node *node,
                                   bsm_residual_block *filled) {
  *filled = (bsm_residual_block){.mark = s->memory->undo.len,
                                 .outer = s->residual.block,
                                 .outer_created = s->residual.block_created};
  BSM_TRY(bsm_node_add_block(node, &filled->block));
  BSM_TRY_ALLOC(
      bsm_vec_push(s->scratch, &s->residual.open_blocks, filled->block));
  s->residual.block = filled->block;
  s->residual.block_depth++;
  filled->left.created = s->residual.block_created = bsm_spec_tick(s);
  return BSM_OK;
}

/* The exception, when the block gets there. */
static bsm_status emit_raise(bsm_spec *s, const char *message) {
  const bsm_node_emitter e = bsm_spec_emitter(s);
  bsm_ivalue text;
  bsm_value *value = NULL;
  bsm_node *node = NULL;
  BSM_TRY(bsm_iv_string(s->cx->arena, bsm_str_of(message), &text));
  BSM_TRY(bsm_ir_constant(&e, text, NULL, &value));
  BSM_TRY(bsm_node_create(s->residual.graph, "prim::RaiseException", &node));
  BSM_TRY(bsm_node_add_input(node, value));
  bsm_ir_link(&e, node);
  return BSM_OK;
}

/* Whether the engine should report the failure, when it gets there. */
static bool is_exception(const bsm_spec *s, const bsm_residual_block *filled,
                         bsm_status st) {
  const bsm_code code = bsm_status_code(st);
  if (!st || code == BSM_RAISED) {
    return st != BSM_OK;
  }
  /* Another attempt, without a limit or literal, may succeed. */
  if (bsm_spec_may_succeed_literally(s) || s->memory->must_be_dynamic) {
    return false;
  }
  /* What PyTorch's ops raise for such arguments. */
  if (filled->on_data &&
      (code == BSM_INVALID_ARGUMENT || code == BSM_OUT_OF_RANGE)) {
    return true;
  }
  return filled->may_fail && code != BSM_OUT_OF_MEMORY && code != BSM_LIMIT;
}

bsm_status bsm_residual_block_run(bsm_spec *s, bsm_residual_block *filled,
                                  const bsm_block *from) {
  bsm_status st = bsm_spec_run_block(s, from);
  if (!is_exception(s, filled, st)) {
    return st;
  }
  const char *message = bsm_status_message(st);
  const bool raised = bsm_status_code(st) == BSM_RAISED;
  if (!raised && !filled->may_fail) {
    bsm_log(s->logger, BSM_LOG_LEVEL_WARNING,
            "a branch or loop fails whenever it runs: %s", message);
  } else if (!raised) {
    bsm_log(s->logger, BSM_LOG_LEVEL_INFO,
            "some shapes in range are refused when running: %s", message);
    message = bsm_arena_printf(
        s->scratch,
        "the model does not take shapes that get here; for one of them: %s",
        message);
  }
  filled->raised = true;
  bsm_status emitted = message ? emit_raise(s, message) : BSM_FAIL_OOM();
  bsm_status_free(st);
  return emitted;
}

static bsm_status capture(bsm_spec *s, bsm_residual_block *filled,
                          const bsm_ivalue *value, bsm_visited *visited,
                          size_t depth) {
  const bsm_dynamic_container *dynamic = bsm_spec_dynamic_find(s, value);
  bsm_value *residual = NULL;
  if (dynamic) {
    residual = dynamic->value;
  } else if (value->tag == BSM_IVALUE_TENSOR) {
    BSM_TRY(bsm_spec_tensor_value(s, value->u.tensor, &residual));
  } else if (bsm_spec_is_symbol(value) && !bsm_spec_is_undefined(value)) {
    BSM_TRY(bsm_spec_symbol_value(s, value, &residual));
  }
  if (residual) {
    BSM_TRY_ALLOC(bsm_ptrmap_set(s->scratch, &filled->left.values,
                                 value->u.container, residual));
    return BSM_OK;
  }
  if (depth > s->cx->limits.max_depth) {
    return BSM_FAIL(BSM_LIMIT, "a result of a block is nested too deep");
  }
  bool before;
  BSM_TRY(bsm_visit(visited, value, depth, &before));
  const bsm_iv_parts parts = bsm_iv_parts_of(value);
  for (size_t i = 0; i < parts.len && !before; i++) {
    BSM_TRY(capture(s, filled, &parts.items[i], visited, depth + 1));
  }
  return BSM_OK;
}

bsm_status bsm_residual_block_capture(bsm_spec *s, bsm_residual_block *filled,
                                      const bsm_ivalue *value) {
  bsm_visited visited;
  bsm_visited_init(&visited, s->scratch);
  bsm_status status = capture(s, filled, value, &visited, 0);
  bsm_visited_destroy(&visited);
  return status;
}

/* Attributes hold values, whose tensors have residual values only now. */
static bsm_status capture_slots(bsm_spec *s, bsm_residual_block *filled) {
  for (size_t i = filled->mark; i < s->memory->undo.len; i++) {
    const bsm_spec_location location = s->memory->undo.items[i].location;
    if (location.kind == BSM_LOCATION_SLOT) {
      BSM_TRY(bsm_residual_block_capture(s, filled, location.u.slot));
    }
  }
  return BSM_OK;
}

static bsm_status undo_writes(bsm_spec *s, bsm_residual_block *filled) {
  filled->writes = BSM_NEW_ARRAY(s->scratch, bsm_spec_content,
                                 s->memory->undo.len - filled->mark + 1);
  bsm_status st = filled->writes ? BSM_OK : BSM_FAIL_OOM();
  while (s->memory->undo.len > filled->mark) {
    const bsm_spec_content old = s->memory->undo.items[--s->memory->undo.len];
    if (!st &&
        !bsm_spec_location_is_newer(s, old.location, filled->left.created) &&
        !bsm_residual_block_find(filled, old.location)) {
      filled->writes[filled->write_count++] = bsm_spec_content_of(old.location);
    }
    bsm_spec_content_restore(&old);
  }
  return st;
}

bsm_status bsm_residual_block_close(bsm_spec *s, bsm_residual_block *filled,
                                    bsm_status status) {
  if (!filled->block) { /* it was never opened */
    return status;
  }
  if (!status) {
    status = capture_slots(s, filled);
  }
  s->residual.block_created = filled->outer_created;
  s->residual.block_depth--;
  s->residual.block = filled->outer;
  s->residual.open_blocks.len--;
  return bsm_status_join(status, undo_writes(s, filled));
}

bsm_status bsm_residual_block_value(bsm_spec *s,
                                    const bsm_residual_block *filled,
                                    const bsm_ivalue *value,
                                    const bsm_type *type, bsm_value **out) {
  bsm_block *outer = s->residual.block;
  const bsm_spec_snapshot *reading = s->memory->reading;
  s->residual.block = filled->block;
  s->memory->reading = &filled->left;
  bsm_status st = bsm_spec_residual(s, value, type, out);
  s->memory->reading = reading;
  s->residual.block = outer;
  return st;
}

bsm_status bsm_spec_placeholder(bsm_spec *s, bsm_block *block,
                                const bsm_ivalue *like, const bsm_type *type,
                                bsm_value **out) {
  bsm_ivalue filler = bsm_iv_none();
  bsm_node_emitter e = bsm_spec_emitter(s);
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
    BSM_TRY(bsm_node_create(s->residual.graph, "prim::Uninitialized", &node));
    BSM_TRY(bsm_node_add_output(node, type, out));
    bsm_ir_link(&e, node);
    return BSM_OK;
  }
  return bsm_ir_constant(&e, filler, NULL, out);
}
