/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a run, and where it is. */
#include "lowering/specialize/values/specializer.h"

bsm_status bsm_spec_init(bsm_spec *s, bsm_ir_ctx *cx, bsm_arena *scratch,
                         bsm_arena *stack, const bsm_aten_library *aten,
                         const bsm_spec_interpreter *interpreter) {
  *s = (bsm_spec){.cx = cx,
                  .scratch = scratch,
                  .stack = stack,
                  .aten = aten,
                  .logger = cx->logger,
                  .interpreter = interpreter,
                  .clock = 1};
  BSM_TRY(bsm_graph_create(cx, &s->residual.graph));
  s->residual.block = s->residual.graph->block;
  BSM_TRY_ALLOC(
      bsm_vec_push(scratch, &s->residual.open_blocks, s->residual.block));
  return BSM_OK;
}

uint64_t bsm_spec_tick(bsm_spec *s) {
  return ++s->clock;
}

bsm_source bsm_spec_source(const bsm_spec *s) {
  bsm_source source = {0};
  if (s->at.node) {
    source = s->at.node->source;
  }
  if (s->at.frame && s->at.frame->scope && s->at.frame->scope[0]) {
    source.scope = s->at.frame->scope;
  }
  return source;
}

const char *bsm_spec_where(bsm_spec *s) {
  bsm_text text;
  bsm_text_init(&text, s->scratch);
  const bsm_source source = bsm_spec_source(s);
  bsm_source_print(&text, &source);
  return text.failed || text.len == 0 ? "an unknown place" : text.data;
}

bsm_node_emitter bsm_spec_emitter(const bsm_spec *s) {
  return (bsm_node_emitter){.graph = s->residual.graph,
                            .block = s->residual.block,
                            .aten = s->aten,
                            .source = bsm_spec_source(s)};
}

bsm_status bsm_spec_get(bsm_spec *s, const bsm_value *value, bsm_ivalue *out) {
  const bsm_spec_frame *f = s->at.frame;
  if (value->id >= f->count || !f->bound[value->id]) {
    char label[128];
    return BSM_FAIL(BSM_INTERNAL, "%s is used before it is computed",
                    bsm_value_label(value, label));
  }
  *out = f->values[value->id];
  return BSM_OK;
}

bsm_status bsm_spec_set(bsm_spec *s, const bsm_value *value, bsm_ivalue what) {
  bsm_spec_frame *f = s->at.frame;
  if (value->id >= f->count) {
    return BSM_FAIL(BSM_INTERNAL, "value %u is not of this graph", value->id);
  }
  f->values[value->id] = what;
  f->bound[value->id] = true;
  return BSM_OK;
}

bool bsm_spec_is_open_block(const bsm_spec *s, const bsm_block *block) {
  for (size_t i = s->residual.open_blocks.len; i-- > 0;) {
    if (s->residual.open_blocks.items[i] == block) {
      return true;
    }
  }
  return false;
}

bool bsm_spec_visible(const bsm_spec *s, const bsm_value *value) {
  return !value->node || value->node->block == s->residual.graph->block ||
         bsm_spec_is_open_block(s, value->node->block);
}
