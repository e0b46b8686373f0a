/* SPDX-License-Identifier: Apache-2.0 */
/* Segments are compiled to plans, everything else becomes instructions. */
#include <inttypes.h>
#include <string.h>

#include "aten/ivalue_parts.h"
#include "compiler/pipeline/build_program.h"
#include "engine/ivalue_bytes.h"
#include "engine/program.h"

typedef BSM_VEC(uint32_t) id_vec;

typedef struct program_builder {
  const bsm_program_source *source;
  bsm_arena *arena;   /* of the engine */
  bsm_arena *scratch; /* of the compilation */
  bsm_plan *plan;
  bsm_program *program;
  BSM_VEC(bsm_program_block) blocks;
  BSM_VEC(bsm_plan *) segments;
  BSM_VEC(bsm_plan_tensor) tensors;
  BSM_VEC(bsm_plan_weights) weights;
  BSM_VEC(bsm_ivalue) constants;
  BSM_VEC(bsm_tensor *) constant_tensors;
  id_vec constant_registers, constant_ids;
  id_vec alone;         /* first outputs of nodes that are to stand alone */
  bsm_ptrmap registers; /* bsm_value -> its register, plus 1 */
  bsm_ptrmap stored;    /* bsm_storage's data -> its weights, plus 1 */
} program_builder;

/* One block while it is filled. */
typedef struct block_builder {
  program_builder *b;
  BSM_VEC(bsm_instruction) instructions;
} block_builder;

/* ---- constants ---- */

/* The tensor among the weights, contiguous. */
static bsm_status store_tensor(program_builder *b, bsm_tensor *tensor,
                               uint32_t *id) {
  bsm_tensor *t;
  if (bsm_dtype_is_quantized(tensor->dtype)) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "a constant %s tensor in what depends on data or on shapes "
                    "that range",
                    bsm_dtype_name(tensor->dtype));
  }
  BSM_TRY(bsm_tensor_contiguous(b->arena, tensor, &t));
  const int64_t bytes = bsm_tensor_numel(t) * (int64_t)bsm_dtype_size(t->dtype);
  const void *from = bsm_tensor_data(t);
  uint32_t index = (uint32_t)(uintptr_t)bsm_ptrmap_get(&b->stored, from);
  if (!index || b->weights.items[index - 1].size != (uint64_t)bytes) {
    void *data = bsm_arena_alloc(b->arena, (size_t)bytes + 1, BSM_ALIGNMENT);
    BSM_TRY_ALLOC(data);
    if (bytes) memcpy(data, from, (size_t)bytes);
    const bsm_plan_weights w = {data, (uint64_t)bytes};
    BSM_TRY_ALLOC(bsm_vec_push(b->arena, &b->weights, w));
    index = (uint32_t)b->weights.len;
    if (from) {
      BSM_TRY_ALLOC(bsm_ptrmap_set(b->scratch, &b->stored, from,
                                   (void *)(uintptr_t)index));
    }
  }
  bsm_plan_tensor view = {.name = "",
                          .dtype = t->dtype,
                          .dims = t->sizes,
                          .place = BSM_PLACE_WEIGHTS,
                          .index = index - 1};
  bsm_contiguous_strides(t->sizes, view.strides);
  *id = (uint32_t)b->tensors.len;
  BSM_TRY_ALLOC(bsm_vec_push(b->arena, &b->tensors, view));
  return BSM_OK;
}

static bsm_status store_tensors(program_builder *b, const bsm_ivalue *v,
                                int depth) {
  const bsm_iv_parts parts = bsm_iv_items_of(v);
  uint32_t id;
  if (v->tag == BSM_IVALUE_TENSOR) {
    for (size_t i = 0; i < b->constant_tensors.len; i++) {
      if (b->constant_tensors.items[i] == v->u.tensor) return BSM_OK;
    }
    BSM_TRY(store_tensor(b, v->u.tensor, &id));
    if (!bsm_vec_push(b->arena, &b->constant_ids, id) ||
        !bsm_vec_push(b->scratch, &b->constant_tensors, v->u.tensor)) {
      return BSM_FAIL_OOM();
    }
  }
  if (parts.len && depth > BSM_IVALUE_BYTES_MAX_DEPTH) {
    return BSM_FAIL(BSM_LIMIT, "a constant is nested too deep");
  }
  for (size_t i = 0; i < parts.len; i++) {
    BSM_TRY(store_tensors(b, &parts.items[i], depth + 1));
  }
  return BSM_OK;
}

static bsm_status add_constant(program_builder *b, const bsm_node *node,
                               uint32_t reg) {
  const bsm_ivalue *value = bsm_node_attr_get(node, "value");
  const bsm_ivalue own = value ? *value : bsm_iv_none();
  BSM_TRY(store_tensors(b, &own, 0));
  if (!bsm_vec_push(b->scratch, &b->constants, own) ||
      !bsm_vec_push(b->arena, &b->constant_registers, reg)) {
    return BSM_FAIL_OOM();
  }
  return BSM_OK;
}

/* ---- registers ---- */

static uint32_t new_register(program_builder *b) {
  return b->program->register_count++;
}

static bsm_status register_of(block_builder *k, const bsm_value *value,
                              uint32_t *out);

static bsm_status registers_of(block_builder *k, bsm_value *const *values,
                               size_t n, uint32_t **out) {
  *out = BSM_NEW_ARRAY(k->b->arena, uint32_t, n + 1);
  BSM_TRY_ALLOC(*out);
  for (size_t i = 0; i < n; i++) BSM_TRY(register_of(k, values[i], &(*out)[i]));
  return BSM_OK;
}

static bsm_status new_registers(program_builder *b, bsm_value *const *values,
                                size_t n, uint32_t **out) {
  *out = BSM_NEW_ARRAY(b->arena, uint32_t, n + 1);
  BSM_TRY_ALLOC(*out);
  for (size_t i = 0; i < n; i++) {
    (*out)[i] = new_register(b);
    BSM_TRY_ALLOC(bsm_ptrmap_set(b->scratch, &b->registers, values[i],
                                 (void *)(uintptr_t)((*out)[i] + 1)));
  }
  return BSM_OK;
}

static bsm_status push(block_builder *k, bsm_instruction instruction) {
  if (!instruction.name) instruction.name = "";
  if (!instruction.source) instruction.source = "";
  BSM_TRY_ALLOC(bsm_vec_push(k->b->arena, &k->instructions, instruction));
  return BSM_OK;
}

/* A list of values is made anew at each place that needs it. */
static bsm_status make_list(block_builder *k, const bsm_node *node,
                            uint32_t *out) {
  bsm_instruction list = {.kind = BSM_INSTRUCTION_LIST,
                          .input_count = (uint32_t)node->inputs.len,
                          .output_count = 1};
  BSM_TRY(registers_of(k, node->inputs.items, node->inputs.len, &list.inputs));
  list.outputs = BSM_NEW(k->b->arena, uint32_t);
  BSM_TRY_ALLOC(list.outputs);
  *out = list.outputs[0] = new_register(k->b);
  return push(k, list);
}

static bsm_status register_of(block_builder *k, const bsm_value *value,
                              uint32_t *out) {
  program_builder *b = k->b;
  const uint32_t known =
      (uint32_t)(uintptr_t)bsm_ptrmap_get(&b->registers, value);
  if (known) {
    *out = known - 1;
    return BSM_OK;
  }
  if (bsm_node_is(value->node, "prim::ListConstruct")) {
    return make_list(k, value->node, out);
  }
  /* prim::Uninitialized is never read; it becomes None. */
  if (!bsm_node_is(value->node, "prim::Constant") &&
      !bsm_node_is(value->node, "prim::Uninitialized")) {
    return BSM_FAIL(BSM_INTERNAL, "%s is used before it is computed",
                    value->node->kind);
  }
  *out = new_register(b);
  BSM_TRY(add_constant(b, value->node, *out));
  BSM_TRY_ALLOC(bsm_ptrmap_set(b->scratch, &b->registers, value,
                               (void *)(uintptr_t)(*out + 1)));
  return BSM_OK;
}

/* ---- nodes ---- */

static bsm_status build_block(program_builder *b, const bsm_block *block,
                              uint32_t *out);

static bsm_status source_text(program_builder *b, const bsm_node *node,
                              const char **out) {
  bsm_text text;
  bsm_text_init(&text, b->arena);
  bsm_source_print(&text, &node->source);
  if (text.failed) return BSM_FAIL_OOM();
  *out = text.len ? text.data : "";
  return BSM_OK;
}

/* The kind of instruction for a prim:: node; CALL for all other nodes. */
static bsm_instruction_kind kind_of(const bsm_node *node, const char **name) {
  static const struct {
    const char *kind;
    bsm_instruction_kind instruction;
    const char *name;
  } rows[] = {
      {"prim::If", BSM_INSTRUCTION_IF, ""},
      {"prim::Loop", BSM_INSTRUCTION_LOOP, ""},
      {"prim::TupleConstruct", BSM_INSTRUCTION_TUPLE, ""},
      {"prim::DictConstruct", BSM_INSTRUCTION_DICT, ""},
      {"prim::ListUnpack", BSM_INSTRUCTION_UNPACK, ""},
      {"prim::TupleUnpack", BSM_INSTRUCTION_UNPACK, ""},
      {"prim::CopyContainer", BSM_INSTRUCTION_COPY, ""},
      {"prim::RaiseException", BSM_INSTRUCTION_RAISE, ""},
      {"prim::unchecked_unwrap_optional", BSM_INSTRUCTION_MOVE, "unwrap"},
      {"prim::unchecked_cast", BSM_INSTRUCTION_MOVE, ""},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    if (bsm_node_is(node, rows[i].kind)) {
      *name = rows[i].name;
      return rows[i].instruction;
    }
  }
  *name = node->schema ? node->schema->qualified : node->kind;
  return BSM_INSTRUCTION_CALL;
}

static bsm_status add_node(block_builder *k, const bsm_schedule_item *item) {
  program_builder *b = k->b;
  const bsm_node *node = item->node;
  bsm_instruction i = {.input_count = (uint32_t)node->inputs.len,
                       .output_count = (uint32_t)node->outputs.len,
                       .block_count = (uint32_t)node->blocks.len};
  const char *name;
  i.kind = kind_of(node, &name);
  i.name = bsm_arena_strdup(b->arena, name);
  BSM_TRY_ALLOC(i.name);
  BSM_TRY(source_text(b, node, &i.source));
  BSM_TRY(registers_of(k, node->inputs.items, node->inputs.len, &i.inputs));
  for (uint32_t n = 0; n < i.block_count && n < 2; n++) {
    BSM_TRY(build_block(b, node->blocks.items[n], &i.blocks[n]));
  }
  BSM_TRY(new_registers(b, node->outputs.items, node->outputs.len, &i.outputs));
  if (i.output_count && item->must_call) {
    BSM_TRY_ALLOC(bsm_vec_push(b->scratch, &b->alone, i.outputs[0]));
  }
  return push(k, i);
}

static bsm_status add_segment(block_builder *k, const bsm_segment *segment) {
  program_builder *b = k->b;
  bsm_instruction i = {.kind = BSM_INSTRUCTION_SEGMENT,
                       .segment = (uint32_t)b->segments.len,
                       .input_count = (uint32_t)segment->input_count,
                       .output_count = (uint32_t)segment->output_count};
  bsm_plan *plan;
  BSM_TRY(b->source->compile_segment(b->source->user, segment->graph, b->arena,
                                     &plan));
  BSM_TRY_ALLOC(bsm_vec_push(b->arena, &b->segments, plan));
  BSM_TRY(registers_of(k, segment->inputs, segment->input_count, &i.inputs));
  BSM_TRY(
      new_registers(b, segment->outputs, segment->output_count, &i.outputs));
  return push(k, i);
}

static bsm_status fill_block(block_builder *k, const bsm_block *block) {
  const bsm_schedule *schedule =
      bsm_partition_schedule(k->b->source->partition, block);
  if (!schedule) return BSM_FAIL(BSM_INTERNAL, "a block without a schedule");
  for (size_t i = 0; i < schedule->count; i++) {
    const bsm_schedule_item *item = &schedule->items[i];
    BSM_TRY(item->segment ? add_segment(k, item->segment) : add_node(k, item));
  }
  return BSM_OK;
}

/* Inner blocks get numbers after the block that they are in. */
static bsm_status build_block(program_builder *b, const bsm_block *block,
                              uint32_t *out) {
  const bsm_program_block empty = {0};
  block_builder k = {.b = b};
  bsm_program_block own = {
      .param_count = (uint32_t)block->params->outputs.len,
      .result_count = (uint32_t)block->returns->inputs.len};
  *out = (uint32_t)b->blocks.len;
  BSM_TRY_ALLOC(bsm_vec_push(b->arena, &b->blocks, empty));
  BSM_TRY(new_registers(b, block->params->outputs.items, own.param_count,
                        &own.params));
  BSM_TRY(fill_block(&k, block));
  BSM_TRY(registers_of(&k, block->returns->inputs.items, own.result_count,
                       &own.results));
  own.instructions = k.instructions.items;
  own.instruction_count = (uint32_t)k.instructions.len;
  b->blocks.items[*out] = own;
  return BSM_OK;
}

/* ---- the plan around the program ---- */

static bsm_status add_binding(program_builder *b, const bsm_value *value,
                              const char *name, bsm_memory_place place,
                              uint32_t index, bsm_plan_binding *out) {
  const bsm_type *type = value->type;
  const bool tensor = type && type->kind == BSM_TYPE_TENSOR;
  bsm_plan_tensor t = {.name = "",
                       .dtype = BSM_DTYPE_UNDEFINED,
                       .dims = {.rank = -1},
                       .place = place,
                       .index = index};
  if (!tensor) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "result %" PRIu32 " is not a tensor or number", index);
  }
  /* What may be of several dtypes may have any dims as well. */
  if (type->has_dtype) t.dtype = type->dtype;
  if (type->has_dtype && bsm_type_has_sizes(type)) {
    t.dims = type->dims;
    bsm_contiguous_strides(t.dims, t.strides);
  }
  *out = (bsm_plan_binding){bsm_arena_strdup(b->arena, name),
                            (uint32_t)b->tensors.len};
  BSM_TRY_ALLOC(out->name);
  BSM_TRY_ALLOC(bsm_vec_push(b->arena, &b->tensors, t));
  return BSM_OK;
}

/* Strides are those for open dims of 1; they are not used. */
static void set_strides(bsm_plan_tensor *t) {
  int64_t stride = 1;
  for (int32_t i = t->dims.rank - 1; i >= 0; i--) {
    t->strides[i] = stride;
    stride *= t->dims.d[i] < 1 ? 1 : t->dims.d[i];
  }
}

/* Dims of an input that range are -1; the range has their limits. */
static bsm_status add_range(program_builder *b, uint32_t input,
                            const bsm_lowering_range *range) {
  bsm_plan_tensor *t = &b->tensors.items[b->plan->inputs[input].tensor];
  bsm_program *p = b->program;
  t->dims = range->opt;
  for (int32_t i = 0; i < t->dims.rank; i++) {
    if (range->min.d[i] != range->max.d[i]) t->dims.d[i] = -1;
  }
  set_strides(t);
  p->ranges[p->range_count++] =
      (bsm_program_range){input, range->min, range->opt, range->max};
  return BSM_OK;
}

static bsm_status add_bindings(program_builder *b, const bsm_block *block) {
  bsm_plan *plan = b->plan;
  plan->input_count = (uint32_t)block->params->outputs.len;
  plan->output_count =
      (uint32_t)(block->returns->inputs.len - b->source->value_count);
  plan->inputs =
      BSM_NEW_ARRAY(b->arena, bsm_plan_binding, plan->input_count + 1u);
  plan->outputs =
      BSM_NEW_ARRAY(b->arena, bsm_plan_binding, plan->output_count + 1u);
  b->program->ranges =
      BSM_NEW_ARRAY(b->arena, bsm_program_range, plan->input_count + 1u);
  BSM_TRY_ALLOC(plan->inputs && plan->outputs && b->program->ranges);
  for (uint32_t i = 0; i < plan->input_count; i++) {
    BSM_TRY(add_binding(b, bsm_node_out(block->params, i),
                        b->source->input_names[i], BSM_PLACE_INPUT, i,
                        &plan->inputs[i]));
    if (b->source->input_ranges && b->source->input_ranges[i]) {
      BSM_TRY(add_range(b, i, b->source->input_ranges[i]));
    }
  }
  for (uint32_t i = 0; i < plan->output_count; i++) {
    BSM_TRY(add_binding(b, bsm_node_in(block->returns, i),
                        b->source->output_names[i], BSM_PLACE_OUTPUT, i,
                        &plan->outputs[i]));
    bsm_plan_tensor *t = &b->tensors.items[plan->outputs[i].tensor];
    if (t->dims.rank < 0) {
      t->dims = b->source->output_dims[i];
      set_strides(t);
    }
  }
  return BSM_OK;
}

static bsm_status finish(program_builder *b) {
  bsm_plan *plan = b->plan;
  bsm_program *p = b->program;
  bsm_text bytes;
  bsm_text_init(&bytes, b->arena);
  BSM_TRY(bsm_ivalues_to_bytes(&bytes, b->constants.items, b->constants.len,
                               b->constant_tensors.items,
                               b->constant_tensors.len));
  if (bytes.failed) return BSM_FAIL_OOM();
  if (bytes.len > UINT32_MAX) {
    return BSM_FAIL(BSM_LIMIT, "constants take %zu bytes", bytes.len);
  }
  p->constants = (const uint8_t *)bytes.data;
  p->constants_size = (uint32_t)bytes.len;
  p->constant_registers = b->constant_registers.items;
  p->constant_count = (uint32_t)b->constant_registers.len;
  p->constant_tensors = b->constant_ids.items;
  p->constant_tensor_count = (uint32_t)b->constant_ids.len;
  p->blocks = b->blocks.items;
  p->block_count = (uint32_t)b->blocks.len;
  p->segments = b->segments.items;
  p->segment_count = (uint32_t)b->segments.len;
  plan->tensors = b->tensors.items;
  plan->tensor_count = (uint32_t)b->tensors.len;
  plan->weights = b->weights.items;
  plan->weights_count = (uint32_t)b->weights.len;
  plan->program = p;
  /* All segments have the same metadata of the build. */
  if (p->segment_count) {
    plan->metadata = p->segments[0]->metadata;
    plan->metadata_count = p->segments[0]->metadata_count;
    plan->target = p->segments[0]->target;
  }
  for (uint32_t i = 0; i < p->segment_count; i++) {
    p->segments[i]->metadata_count = 0;
  }
  return BSM_OK;
}

bool bsm_program_calls_node(const bsm_node *node) {
  const char *name;
  return kind_of(node, &name) == BSM_INSTRUCTION_CALL;
}

/* As a set of registers. */
static bsm_status alone_registers(const program_builder *b, bool **out) {
  bool *alone =
      BSM_NEW_ARRAY(b->scratch, bool, b->program->register_count + (size_t)1);
  BSM_TRY_ALLOC(alone);
  for (size_t i = 0; i < b->alone.len; i++) alone[b->alone.items[i]] = true;
  *out = alone;
  return BSM_OK;
}

bsm_status bsm_build_program(const bsm_program_source *source,
                             bsm_arena *scratch, bsm_arena *arena,
                             bsm_plan **out, bsm_program_map *map) {
  const bsm_block *top = source->graph->block;
  uint32_t main;
  program_builder b = {.source = source,
                       .arena = arena,
                       .scratch = scratch,
                       .plan = BSM_NEW(arena, bsm_plan),
                       .program = BSM_NEW(arena, bsm_program)};
  *out = NULL;
  if (!b.plan || !b.program) return BSM_FAIL_OOM();
  BSM_TRY(add_bindings(&b, top));
  BSM_TRY(build_block(&b, top, &main));
  BSM_TRY(finish(&b));
  BSM_TRY(alone_registers(&b, &map->alone));
  map->registers = b.registers;
  *out = b.plan;
  return BSM_OK;
}
