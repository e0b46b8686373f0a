/* SPDX-License-Identifier: Apache-2.0 */
/* Concatenation, in place where possible: the buffer of an input becomes part
 * of the buffer of the result, and the steps that write and read the input do
 * so there.
 *
 * Tensors are strides over buffers, so no step changes when a buffer B is moved
 * into its place. Runs of elements inside the concatenated dimension stay as
 * they are, and only the distance between runs grows. A tensor over B can be
 * moved along if each of its strides either stays within a run or counts whole
 * runs. Neighbours that share a buffer already are moved together. So a dense
 * block, which for each layer concatenates everything before it once more,
 * grows a single buffer. Inputs that cannot be moved are copied. */
#include "builder/emit_internal.h"

/* Inputs whose layouts a concatenation tries. */
#define MAX_TRIED 64

/* Inputs with shorter runs are copied: steps would write single elements far
 * apart. */
#define MIN_RUN_BYTES 16

/* How a buffer is spread: its runs of `run` elements are placed `step` apart,
 * in the buffer `to`. */
typedef struct spread {
  uint32_t buffer, to;
  int64_t run, step;
} spread;

/* Inputs that are adjacent in memory, as one tensor. */
typedef struct group {
  size_t count;
  bsm_build_tensor tensor;
} group;

/* ---- moving buffers ---- */

static bool spread_layout(const spread *s, const bsm_layout *from,
                          int64_t offset, bsm_layout *to, int64_t *to_offset) {
  int64_t inside = offset % s->run;
  *to = *from;
  *to_offset = offset / s->run * s->step + inside;
  for (int32_t i = 0; i < from->dims.rank; i++) {
    if (from->dims.d[i] <= 1) continue;
    if (from->strides[i] % s->run == 0) {
      to->strides[i] = from->strides[i] / s->run * s->step;
    } else {
      inside += (from->dims.d[i] - 1) * from->strides[i];
    }
  }
  return inside < s->run;
}

/* Whether a step takes any strides, except those that its kind requires to be
 * 1. Spreading does not change strides within a run. */
static bool takes_strides(const bsm_plan_step *step) {
  switch (step->kind) {
    case BSM_STEP_CONVOLUTION:
    case BSM_STEP_DECONVOLUTION:
    case BSM_STEP_CONVOLUTION_CHAIN:
    case BSM_STEP_INT8_CONVOLUTION:
    case BSM_STEP_POOLING:
    case BSM_STEP_RESIZE:
    case BSM_STEP_MATRIX_MULTIPLY:
    case BSM_STEP_ELEMENT_WISE:
    case BSM_STEP_SOFTMAX:
    case BSM_STEP_NORMALIZATION:
    case BSM_STEP_REDUCE:
    case BSM_STEP_TOP_K:
    case BSM_STEP_SCAN:
    case BSM_STEP_GATHER:
    case BSM_STEP_COPY:
    case BSM_STEP_FILL:
    case BSM_STEP_PAD:
    case BSM_STEP_RECURRENT:
    case BSM_STEP_ATEN_CALL:
      return true;
    default:
      return false;
  }
}

static bool touches(const bsm_emitter *e, const bsm_plan_step *step,
                    uint32_t buffer) {
  for (uint32_t i = 0; i < step->input_count; i++) {
    if (e->tensors.items[step->inputs[i]].buffer == buffer) return true;
  }
  for (uint32_t i = 0; i < step->output_count; i++) {
    if (e->tensors.items[step->outputs[i]].buffer == buffer) return true;
  }
  return false;
}

/* What a call of the reference library reads and writes may not lie between
 * each other. */
static bool would_interleave(const bsm_emitter *e, const bsm_plan_step *step,
                             const spread *s) {
  return step->kind == BSM_STEP_ATEN_CALL && touches(e, step, s->to);
}

static bool can_spread(const bsm_emitter *e, const spread *s) {
  const bsm_buffer *buffer = &e->buffers.items[s->buffer];
  for (size_t i = 0; i < e->tensors.len; i++) {
    const bsm_build_tensor *t = &e->tensors.items[i];
    bsm_layout layout;
    int64_t offset;
    if (t->buffer == s->buffer &&
        !spread_layout(s, &t->layout, t->offset, &layout, &offset)) {
      return false;
    }
  }
  for (uint32_t i = buffer->first; i <= buffer->last && i < e->steps.len; i++) {
    const bsm_plan_step *step = &e->steps.items[i];
    if (!touches(e, step, s->buffer)) continue;
    if (!takes_strides(step) || would_interleave(e, step, s)) return false;
  }
  return true;
}

/* Moves all tensors over the buffer to where it is spread, from element `at`
 * on. */
static void move_buffer(bsm_emitter *e, const spread *s, int64_t at) {
  for (size_t i = 0; i < e->tensors.len; i++) {
    bsm_build_tensor *t = &e->tensors.items[i];
    if (t->buffer != s->buffer) continue;
    spread_layout(s, &t->layout, t->offset, &t->layout, &t->offset);
    t->buffer = s->to;
    t->offset += at;
  }
  bsm_buffer *from = &e->buffers.items[s->buffer];
  bsm_buffer *target = &e->buffers.items[s->to];
  if (from->first < target->first) target->first = from->first;
  if (from->last > target->last) target->last = from->last;
  from->first = UINT32_MAX;
  from->last = 0;
}

/* ---- inputs ---- */

static const bsm_build_tensor *tensor_of(const bsm_emitter *e,
                                         const bsm_layer *layer, size_t i) {
  return bsm_build_tensor_at(e, bsm_build_value(e, layer->inputs.items[i]));
}

static bool continues(const bsm_build_tensor *a, const bsm_build_tensor *b,
                      int32_t axis) {
  if (a->buffer != b->buffer || a->dtype != b->dtype ||
      a->layout.dims.rank != b->layout.dims.rank ||
      b->offset !=
          a->offset + a->layout.dims.d[axis] * a->layout.strides[axis]) {
    return false;
  }
  for (int32_t i = 0; i < a->layout.dims.rank; i++) {
    if (i == axis) {
      if (a->layout.strides[i] != b->layout.strides[i]) return false;
    } else if (a->layout.dims.d[i] != b->layout.dims.d[i] ||
               (a->layout.dims.d[i] > 1 &&
                a->layout.strides[i] != b->layout.strides[i])) {
      return false;
    }
  }
  return true;
}

/* Finds the inputs from `first` on that are adjacent in memory. */
static group group_at(const bsm_emitter *e, const bsm_layer *layer,
                      size_t first) {
  const int32_t axis = layer->p.concatenation.axis;
  group g = {1, *tensor_of(e, layer, first)};
  while (first + g.count < layer->inputs.len) {
    const bsm_build_tensor *next = tensor_of(e, layer, first + g.count);
    if (!continues(&g.tensor, next, axis)) break;
    g.tensor.layout.dims.d[axis] += next->layout.dims.d[axis];
    g.count++;
  }
  return g;
}

static int64_t elements(bsm_dims dims) {
  int64_t count = 1;
  for (int32_t i = 0; i < dims.rank; i++) count *= dims.d[i];
  return count;
}

/* Whether the group is a whole workspace buffer, and how that is spread in a
 * result of `layout`, which is the buffer `to`. */
static bool find_spread(const bsm_emitter *e, const group *g,
                        const bsm_layout *layout, int32_t axis, uint32_t to,
                        spread *s) {
  const bsm_build_tensor *t = &g->tensor;
  const bsm_buffer *buffer = &e->buffers.items[t->buffer];
  const int64_t count = elements(t->layout.dims);
  if (buffer->place != BSM_PLACE_WORKSPACE || t->offset != 0 || count == 0 ||
      (uint64_t)count * bsm_dtype_size(t->dtype) != buffer->size ||
      !bsm_layout_is_dense(&t->layout)) {
    return false;
  }
  *s = (spread){t->buffer, to, t->layout.dims.d[axis] * layout->strides[axis],
                layout->dims.d[axis] * layout->strides[axis]};
  if (s->run < count &&
      s->run * (int64_t)bsm_dtype_size(t->dtype) < MIN_RUN_BYTES) {
    return false;
  }
  bsm_layout piece;
  int64_t offset;
  if (!spread_layout(s, &t->layout, 0, &piece, &offset)) return false;
  for (int32_t i = 0; i < piece.dims.rank; i++) {
    if (piece.dims.d[i] > 1 && piece.strides[i] != layout->strides[i]) {
      return false;
    }
  }
  return can_spread(e, s);
}

/* ---- the layout of the result ---- */

/* Whether both tensors have their elements in the same order in memory. */
static bool same_order(const bsm_layout *piece, const bsm_layout *layout) {
  bsm_layout wide = *layout;
  wide.dims = piece->dims;
  bsm_layout dense = bsm_layout_like(piece->dims, &wide);
  bsm_layout own = bsm_layout_like(piece->dims, piece);
  return bsm_layout_equal(&dense, &own);
}

/* The cost of a layout for the result: elements that readers want elsewhere, or
 * that are read from memory in another order. */
static int64_t cost_of(const bsm_emitter *e, const bsm_layer *layer,
                       const bsm_layout *layout) {
  const bsm_itensor *y = layer->outputs.items[0];
  const bool channels = bsm_layout_has_channels_inner(layout);
  int64_t cost = 0;
  bool needed = false;
  for (size_t i = 0; i < layer->inputs.len; i++) {
    const bsm_layout *in = &tensor_of(e, layer, i)->layout;
    if (in->dims.rank == y->dims.rank && !same_order(in, layout)) {
      cost += elements(in->dims);
    }
  }
  for (uint32_t i = 0; i < e->uses.reader_count[y->id]; i++) {
    needed =
        needed || bsm_build_wants_channels_last(e, e->uses.readers[y->id][i]);
  }
  if (needed && !channels) cost += elements(y->dims);
  if (e->uses.is_output[y->id] && !bsm_layout_is_contiguous(layout)) {
    cost += elements(y->dims);
  }
  return cost;
}

/* Chooses the cheapest layout: row-major, channels last, or the order of an
 * input: of the first ones, as each is compared with all inputs. */
static bsm_layout choose_layout(const bsm_emitter *e, const bsm_layer *layer) {
  const bsm_itensor *y = layer->outputs.items[0];
  bsm_layout best = bsm_layout_contiguous(y->dims);
  int64_t best_cost = cost_of(e, layer, &best);
  const size_t inputs = layer->inputs.len;
  const size_t tried = inputs < MAX_TRIED ? inputs : MAX_TRIED;
  for (size_t i = 0; i <= tried && best_cost > 0; i++) {
    bsm_layout layout;
    if (i == 0) {
      if (y->dims.rank < 3 || y->dims.rank > 5) continue;
      layout = bsm_layout_channels_last(y->dims);
    } else {
      const bsm_layout *in = &tensor_of(e, layer, i - 1)->layout;
      if (in->dims.rank != y->dims.rank) continue;
      layout = bsm_layout_like(y->dims, in);
    }
    const int64_t cost = cost_of(e, layer, &layout);
    if (cost < best_cost) {
      best = layout;
      best_cost = cost;
    }
  }
  return best;
}

/* ---- the layer ---- */

/* Makes a view when all inputs are where the result would have them. */
static bool is_view(const bsm_emitter *e, const bsm_layer *layer,
                    const group *g) {
  const bsm_itensor *y = layer->outputs.items[0];
  return g->count == layer->inputs.len &&
         bsm_dims_equal(g->tensor.layout.dims, y->dims) &&
         e->buffers.items[g->tensor.buffer].place == BSM_PLACE_WORKSPACE;
}

bsm_status bsm_build_concatenation(bsm_emitter *e, const bsm_layer *layer) {
  const bsm_itensor *y = layer->outputs.items[0];
  const int32_t axis = layer->p.concatenation.axis;
  const group all = group_at(e, layer, 0);
  if (is_view(e, layer, &all)) {
    return bsm_build_view(e, bsm_build_value(e, layer->inputs.items[0]),
                          all.tensor.layout, 0, &e->value[y->id]);
  }
  const bsm_layout layout = choose_layout(e, layer);
  uint32_t result;
  BSM_TRY(bsm_build_new(e, y->name, y->dtype, layout, &result));
  e->value[y->id] = result;
  const uint32_t buffer = bsm_build_tensor_at(e, result)->buffer;
  int64_t at = 0;
  for (size_t i = 0; i < layer->inputs.len;) {
    /* PyTorch lets empty 1-D tensors be concatenated with any others; they are
     * dropped. */
    if (layer->inputs.items[i]->dims.rank != y->dims.rank) {
      i++;
      continue;
    }
    group g = group_at(e, layer, i);
    spread s;
    if (find_spread(e, &g, &layout, axis, buffer, &s)) {
      move_buffer(e, &s, at * layout.strides[axis]);
    } else {
      g.count = 1;
      g.tensor.layout.dims = layer->inputs.items[i]->dims;
      bsm_layout piece = layout;
      piece.dims = g.tensor.layout.dims;
      uint32_t target;
      BSM_TRY(
          bsm_build_view(e, result, piece, at * layout.strides[axis], &target));
      BSM_TRY(bsm_build_copy(
          e, layer->name, bsm_build_value(e, layer->inputs.items[i]), target));
    }
    at += g.tensor.layout.dims.d[axis];
    i += g.count;
  }
  return BSM_OK;
}
