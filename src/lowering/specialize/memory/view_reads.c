/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a view from its parent's value: the op that made it once more, or by
 * its geometry. */
#include "lowering/specialize/memory/view_reads.h"

#include "lowering/specialize/values/interpreter.h"

bsm_node_emitter bsm_spec_view_emitter(const bsm_spec *s,
                                       const bsm_spec_tensor *view) {
  bsm_node_emitter e = bsm_spec_emitter(s);
  e.source = view->source;
  return e;
}

static int64_t dense_numel(bsm_dims dims) {
  int64_t n = 0;
  return bsm_dims_numel(dims, &n) ? n : 0;
}

/* Calls visit(index of the element in the storage) in row-major order. */
typedef void (*visit_fn)(int64_t *map, int64_t linear, int64_t at);

static void walk(const bsm_tensor *t, int64_t *map, visit_fn visit) {
  const int64_t numel = bsm_tensor_numel(t);
  int64_t index[BSM_MAX_RANK] = {0}, at = t->offset;
  for (int64_t i = 0; i < numel; i++) {
    visit(map, i, at);
    for (int32_t d = t->sizes.rank - 1; d >= 0; d--) {
      at += t->strides[d];
      if (++index[d] < t->sizes.d[d]) {
        break;
      }
      at -= index[d] * t->strides[d];
      index[d] = 0;
    }
  }
}

static void note_place(int64_t *map, int64_t linear, int64_t at) {
  map[at] = linear;
}

static void note_element(int64_t *map, int64_t linear, int64_t at) {
  map[linear] = at;
}

/* For each element of the view, its row-major index in the base. */
bsm_status bsm_spec_view_indices(bsm_spec *s, const bsm_spec_tensor *view,
                                 bsm_value **out) {
  const bsm_tensor *t = view->tensor, *base = view->storage->base->tensor;
  const size_t item = bsm_dtype_size(t->dtype);
  if (view->moving) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "a view whose place depends on data is viewed again in a "
                    "way that cannot be followed");
  }
  if (item == 0 || t->dtype != base->dtype) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "a view as %s of a tensor of %s is written to or read "
                    "after a write",
                    bsm_dtype_name(t->dtype), bsm_dtype_name(base->dtype));
  }
  const bsm_dims dims = {1, {bsm_tensor_numel(t)}};
  const size_t places = view->storage->storage->size / item;
  bsm_tensor *index = NULL;
  BSM_TRY(bsm_tensor_new(s->cx->arena, BSM_DTYPE_INT64, dims, false, &index));
  int64_t *elements = bsm_tensor_data(index);
  walk(t, elements, note_element);
  if (base->offset != 0 || !bsm_tensor_is_contiguous(base)) {
    int64_t *places_to_linear = BSM_NEW_ARRAY(s->scratch, int64_t, places + 1);
    BSM_TRY_ALLOC(places_to_linear);
    for (size_t i = 0; i <= places; i++) {
      places_to_linear[i] = -1;
    }
    walk(base, places_to_linear, note_place);
    for (int64_t i = 0; i < dims.d[0]; i++) {
      elements[i] = places_to_linear[elements[i]];
      if (elements[i] < 0) {
        return BSM_FAIL(BSM_UNSUPPORTED,
                        "a view reaches outside the tensor it was made from");
      }
    }
  }
  bsm_node_emitter e = bsm_spec_view_emitter(s, view);
  e.block = s->residual.graph->block;
  return bsm_ir_constant(&e, bsm_iv_tensor(index),
                         bsm_spec_tensor_type(s, index), out);
}

static bsm_status gather(bsm_spec *s, const bsm_spec_tensor *view,
                         bsm_value *base, bsm_value **out) {
  const bsm_node_emitter e = bsm_spec_view_emitter(s, view);
  const bsm_dims flat = {1, {dense_numel(view->storage->base->tensor->sizes)}};
  bsm_value *in[3] = {NULL, NULL, NULL}, *picked = NULL;
  BSM_TRY(bsm_ir_reshape(&e, base, flat, &in[0]));
  BSM_TRY(bsm_ir_int(&e, 0, &in[1]));
  BSM_TRY(bsm_spec_view_indices(s, view, &in[2]));
  BSM_TRY(bsm_ir_op(&e, "aten::index_select", in, 3, &picked));
  return bsm_ir_reshape(&e, picked, view->tensor->sizes, out);
}

/* Sizes with 1 where the view repeats, to be expanded. */
static bsm_status read_expand(const bsm_node_emitter *e,
                              const bsm_spec_tensor *view, bsm_value *parent,
                              bsm_value **out) {
  const bsm_tensor *t = view->tensor;
  bsm_dims sizes = t->sizes;
  for (int32_t i = 0; i < sizes.rank; i++) {
    if (t->strides[i] == 0) {
      sizes.d[i] = 1;
    }
  }
  bsm_value *x = parent;
  if (!bsm_dims_equal(sizes, view->parent->tensor->sizes)) {
    BSM_TRY(bsm_ir_reshape(e, parent, sizes, &x));
  }
  return bsm_ir_expand(e, x, t->sizes, out);
}

static bsm_status read_by_geometry(bsm_spec *s, const bsm_spec_tensor *view,
                                   bsm_value *parent, bsm_value **out) {
  const bsm_node_emitter e = bsm_spec_view_emitter(s, view);
  switch (view->kind) {
    case BSM_VIEW_RESHAPE:
      return bsm_ir_reshape(&e, parent, view->tensor->sizes, out);
    case BSM_VIEW_PERMUTE:
      return bsm_ir_permute(&e, parent, view->perm,
                            (size_t)view->tensor->sizes.rank, out);
    case BSM_VIEW_SELECT:
      return bsm_ir_select(&e, parent, view->dim, view->start, out);
    case BSM_VIEW_SLICE:
      return bsm_ir_slice(&e, parent, view->dim, view->start, view->end,
                          view->step, out);
    case BSM_VIEW_EXPAND:
      return read_expand(&e, view, parent, out);
    case BSM_VIEW_GATHER:
      return gather(s, view, parent, out);
    default:
      return BSM_FAIL(BSM_UNSUPPORTED, "a view of another dtype");
  }
}

/* Replays the op that made the view, on the parent's value. */
static bsm_status replay(bsm_spec *s, const bsm_spec_tensor *view,
                         bsm_value *parent, bsm_value **out) {
  const bsm_node_emitter e = bsm_spec_view_emitter(s, view);
  const bsm_schema *schema = view->schema;
  bsm_value **inputs =
      BSM_NEW_ARRAY(s->scratch, bsm_value *, schema->arg_count + 1);
  BSM_TRY_ALLOC(inputs);
  for (size_t i = 0; i < schema->arg_count; i++) {
    if (i == view->parent_arg) {
      inputs[i] = parent;
    } else {
      BSM_TRY(bsm_spec_residual(s, &view->args[i], schema->args[i].type,
                                &inputs[i]));
    }
  }
  bsm_node *node = NULL;
  BSM_TRY(bsm_node_create_schema(s->residual.graph, schema, &node));
  for (size_t i = 0; i < schema->arg_count; i++) {
    BSM_TRY(bsm_node_add_input(node, inputs[i]));
  }
  bsm_ir_link(&e, node);
  *out = bsm_node_out(node, 0);
  (*out)->type = bsm_spec_tensor_type(s, view->tensor);
  BSM_TRY_ALLOC((*out)->type);
  return BSM_OK;
}

/* view() asks for strides that a value of the residual graph need not have;
 * the _as ops would keep a tensor alive for its shape. */
static bool read_as_reshape(const bsm_spec_tensor *view) {
  static const char *const names[] = {"aten::view",
                                      "aten::_unsafe_view",
                                      "aten::view_as",
                                      "aten::reshape_as",
                                      "aten::_reshape_alias",
                                      "aten::contiguous",
                                      "aten::atleast_1d",
                                      "aten::atleast_2d",
                                      "aten::atleast_3d",
                                      "aten::ravel",
                                      NULL};
  if (view->kind != BSM_VIEW_RESHAPE) {
    return false;
  }
  for (const char *const *n = names; *n; n++) {
    if (strcmp(view->schema->name, *n) == 0) {
      return true;
    }
  }
  return false;
}

bsm_status bsm_spec_read_view(bsm_spec *s, bsm_spec_tensor *view,
                              bsm_value *parent, bsm_value **out) {
  if (view->kind == BSM_VIEW_IDENTITY) {
    *out = parent;
    return BSM_OK;
  }
  if (!view->schema || view->kind == BSM_VIEW_EXPAND || read_as_reshape(view)) {
    BSM_TRY(read_by_geometry(s, view, parent, out));
  } else {
    BSM_TRY(replay(s, view, parent, out));
  }
  if (*out != parent && view->name) {
    return bsm_value_set_name(s->residual.graph, *out, view->name);
  }
  return BSM_OK;
}
