/* SPDX-License-Identifier: Apache-2.0 */
/* Several products of one tensor become one:
 *   matrix multiply(x, a), matrix multiply(x, b), ..
 *     -> slices of matrix multiply(x, [a b ..])
 * for constants a, b, .. of rank 2: the projections to queries, keys and values
 * of attention. x is then read once, and threads share one larger product. The
 * same of what fuse_int8 has made of products (merge_int8).
 *
 * The results become views whose rows are as far apart as all columns together.
 * So their readers must be able to read such views: attention and other
 * products do, through shuffles that stay views. The products are not merged
 * when a reader would have to copy its view, or when something other than a
 * bias and a scale has been fused into one. Runs after fusion into products. */
#include <string.h>

#include "builder/layout.h"
#include "builder/packing.h"
#include "builder/passes.h"
#include "builder/uses.h"

typedef struct merging {
  const bsm_target *target;
  bsm_network *net;
  bsm_arena *scratch;
  bsm_uses uses;
  bsm_layer_kind kind; /* of the products */
  bool *placed; /* by layer id: it is in the new order, or was before the pass
                   began */
  BSM_VEC(bsm_layer *) layers; /* the new order */
} merging;

/* How many readers in a row are followed. */
#define MAX_DEPTH 8

/* A product of rows, the results of which are no bytes. */
static bool is_int8_candidate(const bsm_layer *layer) {
  const bsm_epilogue *e = &layer->p.int8_convolution.epilogue;
  return layer->p.int8_convolution.window.spatial == 0 &&
         !layer->p.int8_convolution.quantizes && !e->has_residual &&
         e->activation == BSM_ACTIVATION_NONE &&
         layer->outputs.items[0]->dims.rank >= 2;
}

static bool is_candidate(const merging *m, const bsm_layer *layer) {
  const bsm_target *target = m->target;
  if (layer->removed || layer->kind != m->kind) return false;
  if (m->kind == BSM_LAYER_INT8_CONVOLUTION) return is_int8_candidate(layer);
  const bsm_itensor *b = layer->inputs.items[1];
  return layer->p.matrix_multiply.op_a == BSM_MATRIX_NONE &&
         layer->p.matrix_multiply.parts <= 1 &&
         !layer->p.matrix_multiply.epilogue.has_residual &&
         layer->p.matrix_multiply.epilogue.activation == BSM_ACTIVATION_NONE &&
         target->ops->fuses(target, BSM_FUSION_MERGE,
                            layer->outputs.items[0]->dtype) &&
         b->dims.rank == 2 && b->producer &&
         b->producer->kind == BSM_LAYER_CONSTANT &&
         layer->outputs.items[0]->dims.rank >= 2;
}

static bool may_join(const bsm_layer *a, const bsm_layer *b) {
  if (a->inputs.items[0] != b->inputs.items[0] ||
      a->precision != b->precision) {
    return false;
  }
  if (a->kind == BSM_LAYER_INT8_CONVOLUTION) {
    return a->p.int8_convolution.x_zero == b->p.int8_convolution.x_zero &&
           a->p.int8_convolution.dtype == b->p.int8_convolution.dtype;
  }
  return a->p.matrix_multiply.op_b == b->p.matrix_multiply.op_b &&
         a->p.matrix_multiply.scale == b->p.matrix_multiply.scale;
}

/* ---- who reads a view ---- */

static bool reads_views(const merging *m, const bsm_itensor *t,
                        const bsm_layout *layout, int depth);

/* The layout of a shuffle's result when it is a view. */
static bool shuffled(const bsm_layer *layer, const bsm_layout *from,
                     bsm_layout *out) {
  const bsm_dims dims = layer->outputs.items[0]->dims;
  *out = *from;
  if (layer->p.shuffle.has_first) {
    *out = bsm_layout_permute(out, layer->p.shuffle.first_transpose);
  }
  if (layer->p.shuffle.has_reshape) {
    bsm_dims shape = dims;
    const bsm_layout in = *out;
    for (int32_t i = 0; layer->p.shuffle.has_second && i < dims.rank; i++) {
      shape.d[layer->p.shuffle.second_transpose.d[i]] = dims.d[i];
    }
    if (!bsm_layout_reshape(&in, shape, out)) return false;
  }
  if (layer->p.shuffle.has_second) {
    *out = bsm_layout_permute(out, layer->p.shuffle.second_transpose);
  }
  return true;
}

static bool reader_takes(const merging *m, const bsm_layer *reader,
                         const bsm_itensor *t, const bsm_layout *layout,
                         int depth) {
  bsm_layout view;
  switch (reader->kind) {
    case BSM_LAYER_ATTENTION: /* reads it as query, key or value */
      for (size_t i = 3; i < reader->inputs.len; i++) {
        if (reader->inputs.items[i] == t) return false;
      }
      return true;
    case BSM_LAYER_MATRIX_MULTIPLY:
      return reader->inputs.items[0] == t &&
             reader->inputs.items[reader->inputs.len - 1] != t &&
             reader->p.matrix_multiply.op_a == BSM_MATRIX_NONE &&
             layout->strides[layout->dims.rank - 1] == 1;
    case BSM_LAYER_SHUFFLE:
      return shuffled(reader, layout, &view) &&
             reads_views(m, reader->outputs.items[0], &view, depth + 1);
    default:
      return false;
  }
}

static bool reads_views(const merging *m, const bsm_itensor *t,
                        const bsm_layout *layout, int depth) {
  const uint32_t count = m->uses.reader_count[t->id];
  if (depth > MAX_DEPTH || m->uses.is_output[t->id] || count == 0) {
    return false;
  }
  for (uint32_t i = 0; i < count; i++) {
    if (!reader_takes(m, m->uses.readers[t->id][i], t, layout, depth)) {
      return false;
    }
  }
  return true;
}

/* Whether the readers of a result take rows that are `columns` apart. */
static bool can_be_view(const merging *m, const bsm_layer *layer,
                        int64_t columns) {
  const bsm_itensor *y = layer->outputs.items[0];
  bsm_layout wide = {.dims = y->dims};
  wide.dims.d[y->dims.rank - 1] = columns;
  wide = bsm_layout_contiguous(wide.dims);
  wide.dims = y->dims;
  return reads_views(m, y, &wide, 0);
}

/* ---- the edit ---- */

/* Puts a layer of the old order into the new one, unless it is there. */
static bsm_status place(merging *m, bsm_layer *layer) {
  if (m->placed[layer->id]) return BSM_OK;
  m->placed[layer->id] = true;
  BSM_TRY_ALLOC(bsm_vec_push(m->scratch, &m->layers, layer));
  return BSM_OK;
}

/* Puts the layer that was appended last into the new order. */
static bsm_status place_last(merging *m) {
  bsm_layer *layer = m->net->layers.items[--m->net->layers.len];
  BSM_TRY_ALLOC(bsm_vec_push(m->scratch, &m->layers, layer));
  return BSM_OK;
}

/* Joins the biases, with zeros for a product that has none. */
static bsm_status join_biases(merging *m, bsm_layer *const *group, size_t count,
                              int64_t columns, bsm_weights *out) {
  bool any = false;
  *out = (bsm_weights){0};
  for (size_t i = 0; i < count; i++) {
    any = any || group[i]->p.matrix_multiply.bias.count;
  }
  if (!any) return BSM_OK;
  const bsm_dtype dtype = group[0]->outputs.items[0]->dtype;
  const size_t element = bsm_dtype_size(dtype);
  uint8_t *values = bsm_arena_alloc_array(m->net->arena, (size_t)columns,
                                          element, BSM_ALIGNMENT);
  BSM_TRY_ALLOC(values);
  *out = (bsm_weights){.dtype = dtype,
                       .values = values,
                       .count = columns,
                       .shape = {1, {columns}},
                       .num_input_maps = 1,
                       .num_output_maps = columns};
  for (size_t i = 0; i < count; i++) {
    const bsm_itensor *y = group[i]->outputs.items[0];
    const bsm_weights *bias = &group[i]->p.matrix_multiply.bias;
    const size_t n = (size_t)y->dims.d[y->dims.rank - 1];
    if (bias->count) memcpy(values, bias->values, n * element);
    values += n * element;
  }
  return BSM_OK;
}

/* The same of what columns are multiplied by, with ones. */
static bsm_status join_factors(merging *m, bsm_layer *const *group,
                               size_t count, int64_t columns,
                               const double **out) {
  bool any = false;
  for (size_t i = 0; i < count; i++) {
    any = any || group[i]->p.matrix_multiply.factor;
  }
  if (!any) return BSM_OK;
  double *factors = BSM_NEW_ARRAY(m->net->arena, double, (size_t)columns);
  BSM_TRY_ALLOC(factors);
  *out = factors;
  for (size_t i = 0; i < count; i++) {
    const bsm_itensor *y = group[i]->outputs.items[0];
    const double *own = group[i]->p.matrix_multiply.factor;
    const int64_t n = y->dims.d[y->dims.rank - 1];
    for (int64_t k = 0; k < n; k++) *factors++ = own ? own[k] : 1;
  }
  return BSM_OK;
}

/* Replaces one of the results by a slice of the product. */
static bsm_status add_slice(merging *m, bsm_itensor *all, bsm_layer *old,
                            int64_t column) {
  bsm_itensor *y = old->outputs.items[0];
  bsm_dims start = {.rank = y->dims.rank}, step = start;
  for (int32_t i = 0; i < y->dims.rank; i++) step.d[i] = 1;
  start.d[y->dims.rank - 1] = column;
  bsm_layer *slice = bsm_network_add_slice(m->net, all, start, y->dims, step);
  BSM_TRY(bsm_network_take_error(m->net));
  if (!slice) return BSM_FAIL_OOM();
  slice->name = old->name;
  slice->source = old->source;
  slice->outputs.items[0] = y;
  y->producer = slice;
  old->removed = true;
  return place_last(m);
}

/* Puts the maps of all one behind the other. */
static bsm_status join_int8(const merging *m, bsm_layer *const *group,
                            size_t count, int64_t columns, bsm_layer *to) {
  const bsm_dims x = to->inputs.items[0]->dims;
  const size_t depth = (size_t)x.d[x.rank - 1], all = (size_t)columns;
  bsm_arena *arena = m->net->arena;
  int8_t *kernel = BSM_NEW_ARRAY(arena, int8_t, all * depth + 1);
  float *factors = BSM_NEW_ARRAY(arena, float, 2 * all + 1);
  int32_t *offset = BSM_NEW_ARRAY(arena, int32_t, all + 1);
  if (!kernel || !factors || !offset) return BSM_FAIL_OOM();
  to->p = group[0]->p;
  for (size_t i = 0, at = 0; i < count; i++) {
    const bsm_layer *from = group[i];
    const size_t maps = (size_t)from->p.int8_convolution.out_maps;
    const float *own = from->p.int8_convolution.columns;
    memcpy(kernel + at * depth, from->p.int8_convolution.kernel, maps * depth);
    memcpy(factors + at, own, maps * sizeof(*own));
    memcpy(factors + all + at, own + maps, maps * sizeof(*own));
    memcpy(offset + at, from->p.int8_convolution.offset,
           maps * sizeof(*offset));
    at += maps;
  }
  to->p.int8_convolution.kernel = kernel;
  to->p.int8_convolution.columns = factors;
  to->p.int8_convolution.offset = offset;
  to->p.int8_convolution.out_maps = columns;
  bsm_dims *dims = &to->p.int8_convolution.dims;
  dims->d[dims->rank - 1] = columns;
  return BSM_OK;
}

static bsm_status join_matrices(merging *m, bsm_layer *const *group,
                                size_t count, int64_t columns, bsm_layer *to) {
  for (size_t i = 0; i < count; i++) {
    bsm_itensor *matrix = group[i]->inputs.items[1];
    BSM_TRY(place(m, matrix->producer));
    BSM_TRY_ALLOC(bsm_vec_push(m->net->arena, &to->inputs, matrix));
  }
  to->p.matrix_multiply.op_b = group[0]->p.matrix_multiply.op_b;
  to->p.matrix_multiply.scale = group[0]->p.matrix_multiply.scale;
  to->p.matrix_multiply.parts = (int32_t)count;
  BSM_TRY(
      join_factors(m, group, count, columns, &to->p.matrix_multiply.factor));
  return join_biases(m, group, count, columns, &to->p.matrix_multiply.bias);
}

static bsm_status merge(merging *m, bsm_layer *const *group, size_t count,
                        int64_t columns) {
  bsm_itensor *inputs[1] = {group[0]->inputs.items[0]};
  bsm_layer *layer;
  BSM_TRY(bsm_network_new_layer(m->net, m->kind, inputs, 1, 1, &layer));
  layer->name = group[0]->name;
  layer->source = group[0]->source;
  layer->precision = group[0]->precision;
  layer->outputs.items[0]->name = group[0]->outputs.items[0]->name;
  BSM_TRY(m->kind == BSM_LAYER_INT8_CONVOLUTION
              ? join_int8(m, group, count, columns, layer)
              : join_matrices(m, group, count, columns, layer));
  BSM_TRY(bsm_layer_infer(layer));
  BSM_TRY(place_last(m));
  int64_t column = 0;
  for (size_t i = 0; i < count; i++) {
    const bsm_itensor *y = group[i]->outputs.items[0];
    BSM_TRY(add_slice(m, layer->outputs.items[0], group[i], column));
    column += y->dims.d[y->dims.rank - 1];
  }
  return BSM_OK;
}

/* Finds the products that can be merged with `first`, which is one of them. How
 * far apart rows are depends on the whole group. So when a product cannot be in
 * it, it is taken out, and the others are checked again. */
static size_t find_group(const merging *m, bsm_layer *first, bsm_layer **group,
                         int64_t *columns) {
  const bsm_itensor *x = first->inputs.items[0];
  size_t count = 0;
  for (uint32_t i = 0; i < m->uses.reader_count[x->id]; i++) {
    bsm_layer *layer = m->uses.readers[x->id][i];
    bool seen = false;
    for (size_t k = 0; k < count; k++) seen = seen || group[k] == layer;
    if (!seen && count < BSM_PACKING_MAX_RAW && !m->placed[layer->id] &&
        is_candidate(m, layer) && may_join(first, layer)) {
      group[count++] = layer;
    }
  }
  for (bool changed = true; changed && count > 1;) {
    changed = false;
    *columns = 0;
    for (size_t i = 0; i < count; i++) {
      const bsm_itensor *y = group[i]->outputs.items[0];
      *columns += y->dims.d[y->dims.rank - 1];
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
      if (can_be_view(m, group[i], *columns)) {
        group[kept++] = group[i];
      } else {
        changed = true;
      }
    }
    count = kept;
  }
  return count > 1 ? count : 0;
}

static bsm_status merge_all(const bsm_target *target, bsm_network *net,
                            bsm_arena *scratch, bsm_layer_kind kind) {
  merging m = {.target = target, .net = net, .scratch = scratch, .kind = kind};
  const size_t layers = net->layers.len;
  bool found = false;
  BSM_TRY(bsm_uses_compute(net, scratch, &m.uses));
  m.placed = BSM_NEW_ARRAY(scratch, bool, net->next_layer_id + (size_t)1);
  BSM_TRY_ALLOC(m.placed);
  for (size_t i = 0; i < layers; i++) {
    bsm_layer *layer = net->layers.items[i], *group[BSM_PACKING_MAX_RAW];
    int64_t columns = 0;
    if (layer->removed) continue;
    if (is_candidate(&m, layer)) {
      const size_t count = find_group(&m, layer, group, &columns);
      if (count) {
        found = true;
        BSM_TRY_NOTE(merge(&m, group, count, columns), "in layer %s",
                     layer->name ? layer->name : "?");
      }
    }
    if (!layer->removed) BSM_TRY(place(&m, layer));
  }
  if (!found) return BSM_OK;
  net->layers.len = 0;
  for (size_t i = 0; i < m.layers.len; i++) {
    BSM_TRY_ALLOC(bsm_vec_push(net->arena, &net->layers, m.layers.items[i]));
  }
  return BSM_OK;
}

bsm_status bsm_pass_merge_products(const bsm_target *target, bsm_network *net,
                                   bsm_arena *scratch) {
  return merge_all(target, net, scratch, BSM_LAYER_MATRIX_MULTIPLY);
}

bsm_status bsm_pass_merge_int8(const bsm_target *target, bsm_network *net,
                               bsm_arena *scratch) {
  return merge_all(target, net, scratch, BSM_LAYER_INT8_CONVOLUTION);
}
