/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a view's new value back into its parent, up to the base of the
 * storage. */
#include "lowering/specialize/memory/write_back.h"

#include "lowering/specialize/memory/alias.h"
#include "lowering/specialize/memory/locations.h"
#include "lowering/specialize/memory/tensor_values.h"
#include "lowering/specialize/memory/view_reads.h"
#include "lowering/specialize/values/interpreter.h"
#include "lowering/specialize/values/literal_policy.h"

static int64_t dense_numel(bsm_dims dims) {
  int64_t n = 0;
  return bsm_dims_numel(dims, &n) ? n : 0;
}

static bsm_status scatter(bsm_spec *s, const bsm_spec_tensor *view,
                          bsm_value *base, bsm_value *value, bsm_value **out) {
  const bsm_node_emitter e = bsm_spec_view_emitter(s, view);
  const bsm_dims sizes = view->storage->base->tensor->sizes;
  const bsm_dims flat = {1, {dense_numel(sizes)}};
  const bsm_dims part = {1, {dense_numel(view->tensor->sizes)}};
  bsm_value *in[4] = {NULL, NULL, NULL, NULL}, *written = NULL;
  BSM_TRY(bsm_ir_reshape(&e, base, flat, &in[0]));
  BSM_TRY(bsm_ir_int(&e, 0, &in[1]));
  BSM_TRY(bsm_spec_view_indices(s, view, &in[2]));
  BSM_TRY(bsm_ir_reshape(&e, value, part, &in[3]));
  BSM_TRY(bsm_ir_op(&e, "aten::scatter.src", in, 4, &written));
  return bsm_ir_reshape(&e, written, sizes, out);
}

static bsm_status write_select(bsm_spec *s, const bsm_node_emitter *e,
                               const bsm_spec_tensor *view, bsm_value *parent,
                               bsm_value *value, bsm_value **out) {
  bsm_value *in[4] = {parent, value, NULL, NULL};
  BSM_TRY(bsm_ir_int(e, view->dim, &in[2]));
  BSM_TRY(bsm_spec_is_symbol(&view->index)
              ? bsm_spec_residual(s, &view->index, NULL, &in[3])
              : bsm_ir_int(e, view->start, &in[3]));
  return bsm_ir_op(e, "aten::select_scatter", in, 4, out);
}

static bsm_status write_slice(const bsm_node_emitter *e,
                              const bsm_spec_tensor *view, bsm_value *parent,
                              bsm_value *value, bsm_value **out) {
  const int64_t ints[4] = {view->dim, view->start, view->end, view->step};
  bsm_value *in[6] = {parent, value, NULL, NULL, NULL, NULL};
  if (bsm_dims_equal(view->tensor->sizes, view->parent->tensor->sizes)) {
    *out = value; /* all of it */
    return BSM_OK;
  }
  for (int i = 0; i < 4; i++) {
    BSM_TRY(bsm_ir_int(e, ints[i], &in[i + 2]));
  }
  return bsm_ir_op(e, "aten::slice_scatter", in, 6, out);
}

/* Complex numbers seen as real ones, or one of their parts, or the reverse. */
static bsm_status write_parts(const bsm_node_emitter *e,
                              const bsm_spec_tensor *view, bsm_value *parent,
                              bsm_value *value, bsm_value **out) {
  const char *name = view->schema ? view->schema->name : "";
  const bool real = strcmp(name, "aten::real") == 0;
  bsm_value *parts[2] = {value, value};
  if (strcmp(name, "aten::view_as_complex") == 0) {
    return bsm_ir_op(e, "aten::view_as_real", &value, 1, out);
  }
  if (real || strcmp(name, "aten::imag") == 0) {
    BSM_TRY(bsm_ir_op(e, real ? "aten::imag" : "aten::real", &parent, 1,
                      &parts[real ? 1 : 0]));
  } else if (strcmp(name, "aten::view_as_real") == 0) {
    for (int i = 0; i < 2; i++) {
      bsm_value *in[3] = {value, NULL, NULL};
      BSM_TRY(bsm_ir_int(e, -1, &in[1]));
      BSM_TRY(bsm_ir_int(e, i, &in[2]));
      BSM_TRY(bsm_ir_op(e, "aten::select.int", in, 3, &parts[i]));
    }
  } else {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "a tensor viewed as another dtype is written to");
  }
  return bsm_ir_op(e, "aten::complex", parts, 2, out);
}

/* The parent's new value when the view's is `value`. */
static bsm_status write_back(bsm_spec *s, const bsm_spec_tensor *view,
                             bsm_value *parent, bsm_value *value,
                             bsm_value **out) {
  const bsm_node_emitter e = bsm_spec_emitter(s);
  int64_t inverse[BSM_MAX_RANK];
  switch (view->kind) {
    case BSM_VIEW_IDENTITY:
      *out = value;
      return BSM_OK;
    case BSM_VIEW_RESHAPE:
      return bsm_ir_reshape(&e, value, view->parent->tensor->sizes, out);
    case BSM_VIEW_PERMUTE:
      for (int32_t i = 0; i < view->tensor->sizes.rank; i++) {
        inverse[view->perm[i]] = i;
      }
      return bsm_ir_permute(&e, value, inverse,
                            (size_t)view->tensor->sizes.rank, out);
    case BSM_VIEW_SELECT:
      return write_select(s, &e, view, parent, value, out);
    case BSM_VIEW_SLICE:
      return write_slice(&e, view, parent, value, out);
    case BSM_VIEW_EXPAND:
      if (bsm_tensor_numel(view->tensor) ==
          bsm_tensor_numel(view->parent->tensor)) {
        return bsm_ir_reshape(&e, value, view->parent->tensor->sizes, out);
      }
      return BSM_FAIL(BSM_RAISED,
                      "unsupported operation: more than one element of the "
                      "written-to tensor refers to a single memory location. "
                      "Please clone() the tensor before performing the "
                      "operation.");
    default:
      return write_parts(&e, view, parent, value, out);
  }
}

/* Whether the elements have to be put into the base one by one: a part of what
 * an expand repeats is written to, or the geometry is none of the others. */
static bool by_elements(const bsm_spec_tensor *r) {
  if (r->kind == BSM_VIEW_GATHER) return true;
  for (const bsm_spec_tensor *p = r->parent; p; p = p->parent) {
    if (p->kind == BSM_VIEW_EXPAND && bsm_spec_overlaps_itself(p->tensor)) {
      return true;
    }
  }
  return false;
}

static bsm_status update(bsm_spec *s, bsm_spec_tensor *r, bsm_value *value) {
  bsm_spec_storage *storage = r->storage;
  if (!bsm_type_has_sizes(value->type)) { /* an op that could not be inferred */
    value->type = bsm_spec_tensor_type(s, r->tensor);
    BSM_TRY_ALLOC(value->type);
  }
  if (storage->base == r) {
    const bsm_spec_location location = {BSM_LOCATION_STORAGE,
                                        {.storage = storage}};
    BSM_TRY(bsm_spec_log(s, location));
    storage->value = value;
    storage->version = bsm_spec_tick(s);
  } else {
    const bool scattered = by_elements(r);
    bsm_spec_tensor *parent = scattered ? storage->base : r->parent;
    bsm_value *before = NULL, *after = NULL;
    BSM_TRY(bsm_spec_tensor_value(s, parent->tensor, &before));
    BSM_TRY(scattered ? scatter(s, r, before, value, &after)
                      : write_back(s, r, before, value, &after));
    BSM_TRY(update(s, parent, after));
  }
  r->value = value;
  r->version = storage->version;
  return BSM_OK;
}

bsm_status bsm_spec_write(bsm_spec *s, bsm_tensor *t, bsm_value *value) {
  bsm_spec_tensor *record = NULL;
  BSM_TRY(bsm_spec_tensor_of(s, t, &record));
  if (record->storage->may_alias) {
    bsm_spec_needs_literal(s);
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "a tensor is written to in place that may be one of "
                    "several, depending on data (it comes out of an if, a loop "
                    "or a list)");
  }
  return update(s, record, value);
}
