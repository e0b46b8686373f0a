/* SPDX-License-Identifier: Apache-2.0 */
/* The builder: runs the passes, emits layers, plans memory, chooses tactics and
 * packs weights. */
#include "builder/builder.h"
#include "builder/compute_wide.h"

#include <inttypes.h>
#include <string.h>

#include "builder/emitter.h"
#include "builder/passes.h"
#include "builder/uses.h"

/* Room for what most plans have: vectors that grow leave their old memory
 * behind until the plan is done. */
static bsm_status make_room(bsm_emitter *e) {
  size_t tensors = e->net->inputs.len + e->net->outputs.len, steps = 0;
  for (size_t i = 0; i < e->net->layers.len; i++) {
    const bsm_layer *layer = e->net->layers.items[i];
    if (layer->removed) continue;
    tensors += layer->outputs.len;
    steps++;
  }
  e->tensors.items = BSM_NEW_ARRAY(e->scratch, bsm_build_tensor, tensors + 8);
  e->buffers.items = BSM_NEW_ARRAY(e->scratch, bsm_buffer, tensors + 8);
  e->steps.items = BSM_NEW_ARRAY(e->scratch, bsm_plan_step, steps + 8);
  if (!e->tensors.items || !e->buffers.items || !e->steps.items) {
    return BSM_FAIL_OOM();
  }
  e->tensors.cap = e->buffers.cap = tensors + 8;
  e->steps.cap = steps + 8;
  return BSM_OK;
}

static bsm_status init_emitter(bsm_emitter *e) {
  BSM_TRY(make_room(e));
  const size_t n = e->net->tensors.len + 1;
  for (int s = 0; s < BSM_MEMORY_SPACES; s++) {
    uint32_t **tables[] = {&e->values[s], &e->relaids[s][0], &e->relaids[s][1]};
    for (int k = 0; k < 3; k++) {
      *tables[k] = BSM_NEW_ARRAY(e->scratch, uint32_t, n);
      BSM_TRY_ALLOC(*tables[k]);
      for (size_t i = 0; i < n; i++) (*tables[k])[i] = BSM_NO_TENSOR;
    }
  }
  bsm_build_enter(e, BSM_SPACE_HOST);
  return bsm_uses_compute(e->net, e->scratch, &e->uses);
}

/* A contiguous tensor over a new buffer of a binding. */
static bsm_status new_binding(bsm_emitter *e, bsm_memory_place place,
                              uint32_t binding, const bsm_itensor *t,
                              bsm_dims dims, uint32_t *out) {
  BSM_TRY(
      bsm_build_new(e, t->name, t->dtype, bsm_layout_contiguous(dims), out));
  bsm_buffer *buffer = &e->buffers.items[bsm_build_tensor_at(e, *out)->buffer];
  buffer->place = place;
  buffer->index = binding;
  return BSM_OK;
}

/* The binding of an input, and the value that is read there. */
static bsm_status emit_input(bsm_emitter *e, uint32_t index, uint32_t *out) {
  const bsm_itensor *t = e->net->inputs.items[index];
  const bsm_layout *given = e->options->input_layouts;
  bsm_build_enter(e, bsm_build_input_space(e, t));
  if (!given || bsm_layout_is_contiguous(&given[index])) {
    BSM_TRY(new_binding(e, BSM_PLACE_INPUT, index, t, t->dims, out));
    e->value[t->id] = *out;
    return BSM_OK;
  }
  bsm_plan_tensor reach = {.dtype = t->dtype, .dims = t->dims};
  uint64_t bytes;
  memcpy(reach.strides, given[index].strides, sizeof(reach.strides));
  if (!bsm_plan_tensor_extent(&reach, &bytes)) {
    return BSM_FAIL(BSM_LIMIT, "strides of input %" PRIu32 " overflow", index);
  }
  const bsm_dims memory = {1, {(int64_t)(bytes / bsm_dtype_size(t->dtype))}};
  BSM_TRY(new_binding(e, BSM_PLACE_INPUT, index, t, memory, out));
  return bsm_build_view(e, *out, given[index], 0, &e->value[t->id]);
}

/* Whether a tensor is a whole workspace buffer, in row-major order unless
 * outputs may have any, so that the caller's memory can take the buffer's
 * place. */
static bool can_be_output(const bsm_emitter *e, const bsm_build_tensor *t) {
  const bsm_buffer *buffer = &e->buffers.items[t->buffer];
  uint64_t bytes = bsm_dtype_size(t->dtype);
  for (int32_t i = 0; i < t->layout.dims.rank; i++) {
    bytes *= (uint64_t)t->layout.dims.d[i];
  }
  return buffer->place == BSM_PLACE_WORKSPACE && t->offset == 0 &&
         bytes == buffer->size &&
         (bsm_layout_is_contiguous(&t->layout) ||
          (e->options->output_layouts && bsm_layout_is_dense(&t->layout)));
}

/* Gives the buffer of a value to an output. */
static bsm_status hand_over(bsm_emitter *e, uint32_t index, uint32_t id,
                            uint32_t *out) {
  const bsm_build_tensor tensor = e->tensors.items[id];
  bsm_layout plain = bsm_layout_contiguous(tensor.layout.dims);
  bsm_buffer *buffer = &e->buffers.items[tensor.buffer];
  buffer->place = BSM_PLACE_OUTPUT;
  buffer->index = index;
  if (!bsm_layout_is_contiguous(&tensor.layout)) {
    const int64_t count =
        (int64_t)(buffer->size / bsm_dtype_size(tensor.dtype));
    e->options->output_layouts[index] =
        bsm_layout_like(tensor.layout.dims, &tensor.layout);
    plain = bsm_layout_contiguous((bsm_dims){1, {count}});
  }
  *out = id;
  return memcmp(plain.strides, tensor.layout.strides, sizeof(plain.strides))
             ? bsm_build_view(e, id, plain, 0, out)
             : BSM_OK;
}

/* Brings the network's outputs to their bindings. A step writes to the binding
 * directly where possible. */
static bsm_status emit_outputs(bsm_emitter *e, uint32_t *outputs) {
  for (uint32_t i = 0; i < e->net->outputs.len; i++) {
    const bsm_itensor *t = e->net->outputs.items[i];
    bsm_build_enter_value(e, t);
    const uint32_t id = bsm_build_value(e, t);
    if (id == BSM_NO_TENSOR) {
      return BSM_FAIL(BSM_INTERNAL, "output %" PRIu32 " has no value", i);
    }
    if (e->options->output_layouts) {
      e->options->output_layouts[i] = bsm_layout_contiguous(t->dims);
    }
    if (can_be_output(e, &e->tensors.items[id])) {
      BSM_TRY(hand_over(e, i, id, &outputs[i]));
    } else {
      BSM_TRY(new_binding(e, BSM_PLACE_OUTPUT, i, t, t->dims, &outputs[i]));
      BSM_TRY(bsm_build_copy(e, t->name, id, outputs[i]));
    }
  }
  return BSM_OK;
}

/* Whether a name is one that the network made up, by its address. */
static bsm_status find_made_up(const bsm_emitter *e, bsm_ptrmap *out) {
  for (size_t i = 0; i < e->net->tensors.len; i++) {
    bsm_itensor *t = e->net->tensors.items[i];
    if (!t->made_up) continue;
    BSM_TRY_ALLOC(bsm_ptrmap_set(e->scratch, out, t->made_up, t));
  }
  return BSM_OK;
}

static bsm_status finish_tensors(bsm_emitter *e, bsm_plan *plan) {
  bsm_ptrmap made_up = {0};
  BSM_TRY(find_made_up(e, &made_up));
  plan->tensor_count = (uint32_t)e->tensors.len;
  plan->tensors =
      BSM_NEW_ARRAY(e->arena, bsm_plan_tensor, plan->tensor_count + 1u);
  BSM_TRY_ALLOC(plan->tensors);
  for (uint32_t i = 0; i < plan->tensor_count; i++) {
    const bsm_build_tensor *t = &e->tensors.items[i];
    const bsm_buffer *buffer = &e->buffers.items[t->buffer];
    bsm_plan_tensor *out = &plan->tensors[i];
    const bool given = t->name && !bsm_ptrmap_get(&made_up, t->name);
    out->name = bsm_arena_strdup(e->arena, given ? t->name : "");
    BSM_TRY_ALLOC(out->name);
    out->dtype = t->dtype;
    out->dims = t->layout.dims;
    memcpy(out->strides, t->layout.strides, sizeof(out->strides));
    out->space = buffer->space;
    out->place = buffer->place;
    out->index =
        buffer->place == BSM_PLACE_WEIGHTS ? buffer->weights : buffer->index;
    out->offset = (uint64_t)t->offset * bsm_dtype_size(t->dtype) +
                  (buffer->place == BSM_PLACE_WORKSPACE ? buffer->offset : 0);
    for (int32_t d = 0; d < out->dims.rank; d++) {
      if (out->dims.d[d] == 0) out->offset = 0; /* there is no element */
    }
  }
  return BSM_OK;
}

/* Drops tensors that no step and no binding uses, because memory was not
 * planned for them. */
static bsm_status drop_unused_tensors(bsm_emitter *e, bsm_plan *plan) {
  uint32_t *map = BSM_NEW_ARRAY(e->scratch, uint32_t, plan->tensor_count + 1u);
  BSM_TRY_ALLOC(map);
  for (uint32_t i = 0; i < plan->step_count; i++) {
    const bsm_plan_step *s = &plan->steps[i];
    for (uint32_t k = 0; k < s->input_count; k++) map[s->inputs[k]] = 1;
    for (uint32_t k = 0; k < s->output_count; k++) map[s->outputs[k]] = 1;
  }
  for (uint32_t i = 0; i < plan->input_count; i++) {
    map[plan->inputs[i].tensor] = 1;
  }
  for (uint32_t i = 0; i < plan->output_count; i++) {
    map[plan->outputs[i].tensor] = 1;
  }
  uint32_t kept = 0;
  for (uint32_t i = 0; i < plan->tensor_count; i++) {
    if (!map[i]) continue;
    plan->tensors[kept] = plan->tensors[i];
    map[i] = kept++;
  }
  plan->tensor_count = kept;
  for (uint32_t i = 0; i < plan->step_count; i++) {
    bsm_plan_step *s = &plan->steps[i];
    for (uint32_t k = 0; k < s->input_count; k++) {
      s->inputs[k] = map[s->inputs[k]];
    }
    for (uint32_t k = 0; k < s->output_count; k++) {
      s->outputs[k] = map[s->outputs[k]];
    }
  }
  for (uint32_t i = 0; i < plan->input_count; i++) {
    plan->inputs[i].tensor = map[plan->inputs[i].tensor];
  }
  for (uint32_t i = 0; i < plan->output_count; i++) {
    plan->outputs[i].tensor = map[plan->outputs[i].tensor];
  }
  return BSM_OK;
}

static bsm_status finish_bindings(bsm_emitter *e, const uint32_t *inputs,
                                  const uint32_t *outputs, bsm_plan *plan) {
  const bsm_network *net = e->net;
  plan->input_count = (uint32_t)net->inputs.len;
  plan->output_count = (uint32_t)net->outputs.len;
  plan->inputs =
      BSM_NEW_ARRAY(e->arena, bsm_plan_binding, plan->input_count + 1u);
  plan->outputs =
      BSM_NEW_ARRAY(e->arena, bsm_plan_binding, plan->output_count + 1u);
  if (!plan->inputs || !plan->outputs) return BSM_FAIL_OOM();
  for (uint32_t i = 0; i < plan->input_count; i++) {
    plan->inputs[i].tensor = inputs[i];
    plan->inputs[i].name =
        bsm_arena_strdup(e->arena, net->inputs.items[i]->name);
    BSM_TRY_ALLOC(plan->inputs[i].name);
  }
  for (uint32_t i = 0; i < plan->output_count; i++) {
    plan->outputs[i].tensor = outputs[i];
    plan->outputs[i].name =
        bsm_arena_strdup(e->arena, net->output_names.items[i]);
    BSM_TRY_ALLOC(plan->outputs[i].name);
  }
  return BSM_OK;
}

static bsm_status copy_metadata(bsm_emitter *e, bsm_plan *plan) {
  plan->metadata_count = e->options->metadata_count;
  plan->metadata =
      BSM_NEW_ARRAY(e->arena, bsm_plan_metadata, plan->metadata_count + 1u);
  BSM_TRY_ALLOC(plan->metadata);
  for (uint32_t i = 0; i < plan->metadata_count; i++) {
    plan->metadata[i].key =
        bsm_arena_strdup(e->arena, e->options->metadata[i].key);
    plan->metadata[i].value =
        bsm_arena_strdup(e->arena, e->options->metadata[i].value);
    if (!plan->metadata[i].key || !plan->metadata[i].value) {
      return BSM_FAIL_OOM();
    }
  }
  return BSM_OK;
}

static bsm_status finish_steps(bsm_emitter *e, bsm_plan *plan) {
  plan->step_count = (uint32_t)e->steps.len;
  plan->steps = BSM_NEW_ARRAY(e->arena, bsm_plan_step, plan->step_count + 1u);
  BSM_TRY_ALLOC(plan->steps);
  if (plan->step_count) {
    memcpy(plan->steps, e->steps.items,
           plan->step_count * sizeof(*plan->steps));
  }
  return BSM_OK;
}

/* Copies the weights so far, with room for the pending ones and one more. */
static bsm_status finish_weights(bsm_emitter *e, bsm_plan *plan) {
  const size_t room = e->weights.len + e->pending.len + 1;
  plan->weights_count = (uint32_t)e->weights.len;
  plan->weights = BSM_NEW_ARRAY(e->arena, bsm_plan_weights, room);
  BSM_TRY_ALLOC(plan->weights);
  if (plan->weights_count) {
    memcpy(plan->weights, e->weights.items,
           plan->weights_count * sizeof(*plan->weights));
  }
  return BSM_OK;
}

static bsm_status emit_network(bsm_emitter *e, bsm_plan *plan) {
  const bsm_network *net = e->net;
  uint32_t *inputs = BSM_NEW_ARRAY(e->scratch, uint32_t, net->inputs.len + 1);
  uint32_t *outputs = BSM_NEW_ARRAY(e->scratch, uint32_t, net->outputs.len + 1);
  if (!inputs || !outputs) return BSM_FAIL_OOM();
  for (uint32_t i = 0; i < net->inputs.len; i++) {
    BSM_TRY(emit_input(e, i, &inputs[i]));
  }
  for (size_t i = 0; i < net->layers.len; i++) {
    bsm_layer *layer = net->layers.items[i];
    layer->name = bsm_layer_full_name(layer);
    BSM_TRY_ALLOC(layer->name);
    layer->names_before = layer->names_after = NULL;
    BSM_TRY(bsm_build_layer(e, layer));
  }
  BSM_TRY(emit_outputs(e, outputs));
  BSM_TRY(bsm_plan_memory(e, plan->workspace_size));
  BSM_TRY(finish_steps(e, plan));
  BSM_TRY(finish_weights(e, plan));
  BSM_TRY(finish_tensors(e, plan));
  BSM_TRY(finish_bindings(e, inputs, outputs, plan));
  BSM_TRY(drop_unused_tensors(e, plan));
  plan->target = bsm_arena_strdup(e->arena, e->options->target->text);
  BSM_TRY_ALLOC(plan->target);
  return copy_metadata(e, plan);
}

/* Packs pending weights: those in approximate forms, or all others. */
static bsm_status pack_pending(bsm_emitter *e, bsm_plan *plan,
                               bool approximate) {
  for (size_t i = 0; i < e->pending.len; i++) {
    const bsm_pending_pack *pending = &e->pending.items[i];
    bsm_plan_step *step = &plan->steps[pending->step];
    bsm_build_enter(e, step->space);
    if (step->weights[0] == BSM_NO_WEIGHTS &&
        e->target->ops->is_approximate(e->target, step) == approximate) {
      BSM_TRY(bsm_progress_report(e->options->progress, "weights", e->packed++,
                                  e->pending.len));
      BSM_TRY(bsm_build_pending(e, pending, step));
    }
  }
  return finish_weights(e, plan);
}

/* Chooses tactics, then packs weights in the forms that these need. */
static bsm_status choose_and_pack(bsm_emitter *e, bsm_plan *plan) {
  const bsm_plan_draft draft = {.plan = plan,
                                .pending = e->pending.items,
                                .pending_count = e->pending.len,
                                .arena = e->arena,
                                .scratch = e->scratch,
                                .trial_work = e->options->trial_work,
                                .trial_bytes = e->options->trial_bytes,
                                .logger = e->options->logger};
  BSM_TRY(bsm_choose_tactics(e->options, &draft));
  BSM_TRY(pack_pending(e, plan, false));
  /* Tactics taken from another plan were checked when that one was built. */
  const bsm_target *target = e->options->target;
  if (target->ops->check_accuracy && !e->options->like) {
    BSM_TRY(target->ops->check_accuracy(target, &draft));
  }
  BSM_TRY(pack_pending(e, plan, false));
  BSM_TRY(pack_pending(e, plan, true));
  return bsm_plan_verify(plan);
}

/* Before layers are narrowed, formulas become norms, which square in float, and
 * activations: rounded constants are no longer those of any. And scales go into
 * the weights of products, past reshapes: they are rounded once, and nothing is
 * left between a product and its activation. */
static bsm_status prepare_narrowing(const bsm_target *target, bsm_network *net,
                                    bsm_arena *scratch) {
  static bsm_status (*const passes[])(const bsm_target *, bsm_network *,
                                      bsm_arena *) = {
      bsm_pass_recognize_norms, bsm_pass_recognize_activations,
      bsm_pass_lift_reshapes, bsm_pass_fold_scale};
  for (size_t i = 0; i < sizeof(passes) / sizeof(passes[0]); i++) {
    BSM_TRY(passes[i](target, net, scratch));
    BSM_TRY(bsm_network_sweep(net, scratch));
  }
  return BSM_OK;
}

static bsm_status decide_precision(bsm_network *net,
                                   const bsm_build_options *options) {
  if (!options->precision) return BSM_OK;
  bsm_arena scratch;
  bsm_arena_init(&scratch, net->arena->allocator);
  bsm_status status = prepare_narrowing(options->target, net, &scratch);
  bsm_arena_destroy(&scratch);
  BSM_TRY(status);
  return bsm_decide_precision(options->precision, options->target, net,
                              options->logger);
}

bsm_status bsm_build(bsm_network *net, const bsm_build_options *options,
                     bsm_arena *arena, bsm_plan **out) {
  *out = NULL;
  if (!options->narrows) {
    BSM_TRY(bsm_compute_wide(options->target, net));
  }
  BSM_TRY(decide_precision(net, options));
  BSM_TRY(
      bsm_run_passes(net, options->target, options->watch, options->logger));
  bsm_plan *plan = BSM_NEW(arena, bsm_plan);
  BSM_TRY_ALLOC(plan);
  bsm_arena scratch;
  bsm_arena_init_like(&scratch, arena);
  bsm_emitter e = {
      .net = net, .options = options, .arena = arena, .scratch = &scratch};
  bsm_status status = init_emitter(&e);
  if (!status) status = emit_network(&e, plan);
  if (!status) status = choose_and_pack(&e, plan);
  bsm_arena_destroy(&scratch);
  if (!status) *out = plan;
  return status;
}
