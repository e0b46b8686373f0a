/* SPDX-License-Identifier: Apache-2.0 */
/* as_strided of tensors whose dims range. Values of the residual graph have no
 * strides. The worlds' tensors have: from those follows which elements
 * PyTorch's strides reach, and these are read by their place in the order of
 * the storage. */
#include "lowering/specialize/worlds/world_strides.h"

#include "lowering/specialize/memory/alias.h"
#include "lowering/specialize/memory/container_aliases.h"
#include "lowering/specialize/memory/memory.h"
#include "lowering/specialize/values/interpreter.h"
#include "lowering/specialize/values/literal_policy.h"

static bool share_storage(const bsm_spec *s, const bsm_ivalue *a,
                          const bsm_ivalue *b) {
  for (size_t w = 0; w < s->worlds.count; w++) {
    const bsm_tensor *x = bsm_world_tensor(a, w), *y = bsm_world_tensor(b, w);
    if (bsm_world_is_possible(&s->worlds, w) &&
        (!x || !y || x->storage != y->storage)) {
      return false;
    }
  }
  return true;
}

/* The tensor that owns the storage. */
static bsm_ivalue root_of(const bsm_spec *s, bsm_ivalue v) {
  while (bsm_spec_is_symbol(&v) && bsm_spec_symbol_of(&v)->schema &&
         share_storage(s, &v, &bsm_spec_symbol_of(&v)->parent)) {
    v = bsm_spec_symbol_of(&v)->parent;
  }
  if (v.tag == BSM_IVALUE_TENSOR) {
    const bsm_spec_tensor *record = bsm_spec_tensor_find(s, v.u.tensor);
    if (record) {
      v = bsm_iv_tensor(record->storage->base->tensor);
    }
  }
  return v;
}

/* The dims from the widest stride to the narrowest. */
static void order_of(const bsm_tensor *t, int64_t *order) {
  for (int32_t i = 0; i < t->sizes.rank; i++) {
    int32_t at = i;
    while (at > 0 && t->strides[order[at - 1]] < t->strides[i]) {
      order[at] = order[at - 1];
      at--;
    }
    order[at] = i;
  }
}

/* Whether the elements in the order of those dims fill the storage. */
static bool is_dense(const bsm_tensor *t, const int64_t *order) {
  int64_t stride = 1;
  for (int32_t i = t->sizes.rank; i-- > 0;) {
    const int64_t dim = order[i];
    if (t->sizes.d[dim] != 1 && t->strides[dim] != stride) {
      return false;
    }
    stride *= t->sizes.d[dim];
  }
  return t->offset == 0;
}

static bool is_dense_everywhere(const bsm_spec *s, const bsm_ivalue *v,
                                const int64_t *order) {
  for (size_t w = 0; w < s->worlds.count; w++) {
    if (bsm_world_is_possible(&s->worlds, w) &&
        !is_dense(bsm_world_tensor(v, w), order)) {
      return false;
    }
  }
  return true;
}

/* The storage's elements as one row. */
static bsm_status row_of(bsm_spec *s, const bsm_ivalue *root, bsm_ivalue *out) {
  int64_t order[BSM_MAX_RANK];
  const int64_t all = -1;
  bool found = false;
  int32_t rank = 0;
  for (size_t w = 0; w < s->worlds.count && !found; w++) {
    const bsm_tensor *t = bsm_world_tensor(root, w);
    if (bsm_world_is_possible(&s->worlds, w)) {
      rank = t->sizes.rank;
      order_of(t, order);
      found = is_dense_everywhere(s, root, order);
    }
  }
  if (!found) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "as_strided of a tensor whose strides differ between "
                    "shapes: use slices, unfold or clone() before");
  }
  bsm_ivalue args[2] = {*root, {0}};
  BSM_TRY(bsm_iv_int_list(s->cx->arena, order, (size_t)rank, &args[1]));
  BSM_TRY(bsm_spec_op_named(s, "aten::permute", args, 2, &args[0]));
  BSM_TRY(bsm_iv_int_list(s->cx->arena, &all, 1, &args[1]));
  return bsm_spec_op_named(s, "aten::reshape", args, 2, out);
}

/* What one dim adds to the place of an element, in the rank of the result. */
static bsm_status places_of_dim(bsm_spec *s, const bsm_list *sizes, size_t dim,
                                const bsm_ivalue *stride, bsm_ivalue *out) {
  bsm_ivalue range[5] = {sizes->items[dim], bsm_iv_int(BSM_DTYPE_INT64),
                         bsm_iv_none(), bsm_iv_none(), bsm_iv_none()};
  bsm_ivalue args[2];
  bsm_list *shape = NULL;
  BSM_TRY(bsm_spec_op_named(s, "aten::arange", range, 5, &args[0]));
  args[1] = *stride;
  BSM_TRY(bsm_spec_op_named(s, "aten::mul.Scalar", args, 2, &args[0]));
  BSM_TRY(bsm_list_new(s->cx->arena, sizes->elem_type, sizes->len, &shape));
  for (size_t i = 0; i < sizes->len; i++) {
    shape->items[i] = i == dim ? sizes->items[dim] : bsm_iv_int(1);
  }
  args[1] = bsm_iv_list(shape);
  return bsm_spec_op_named(s, "aten::reshape", args, 2, out);
}

/* Where the elements are in the row, as one row. */
static bsm_status places_of(bsm_spec *s, const bsm_ivalue *args,
                            const bsm_ivalue *offset, bsm_ivalue *out) {
  const bsm_list *sizes = args[1].u.list, *strides = args[2].u.list;
  const int64_t all = -1;
  bsm_ivalue sum[3] = {*offset, {0}, bsm_iv_int(1)}, flat[2];
  bsm_ivalue start[5] = {*offset, bsm_iv_int(BSM_DTYPE_INT64), bsm_iv_none(),
                         bsm_iv_none(), bsm_iv_none()};
  bsm_list *one = NULL;
  BSM_TRY(bsm_list_new(s->cx->arena, sizes->elem_type, 0, &one));
  bsm_ivalue full[6] = {bsm_iv_list(one), start[0], start[1],
                        start[2],         start[3], start[4]};
  BSM_TRY(bsm_spec_op_named(s, "aten::full", full, 6, &sum[0]));
  for (size_t i = 0; i < sizes->len; i++) {
    BSM_TRY(places_of_dim(s, sizes, i, &strides->items[i], &sum[1]));
    BSM_TRY(bsm_spec_op_named(s, "aten::add.Tensor", sum, 3, &sum[0]));
  }
  flat[0] = sum[0];
  BSM_TRY(bsm_iv_int_list(s->cx->arena, &all, 1, &flat[1]));
  return bsm_spec_op_named(s, "aten::reshape", flat, 2, out);
}

/* The offset in elements: as given, or the tensor's own. */
static bsm_status offset_of(const bsm_spec *s, const bsm_ivalue *args,
                            bsm_ivalue *out) {
  bool first = true;
  *out = args[3];
  if (args[3].tag != BSM_IVALUE_NONE) {
    return BSM_OK;
  }
  for (size_t w = 0; w < s->worlds.count; w++) {
    if (!bsm_world_is_possible(&s->worlds, w)) {
      continue;
    }
    const bsm_ivalue own = bsm_iv_int(bsm_world_tensor(&args[0], w)->offset);
    if (!first && own.u.i != out->u.i) {
      return BSM_FAIL(BSM_UNSUPPORTED,
                      "as_strided of a part of a tensor that begins elsewhere "
                      "for other shapes: clone() it before");
    }
    *out = own;
    first = false;
  }
  return BSM_OK;
}

bsm_status bsm_spec_as_strided(bsm_spec *s, const bsm_schema *schema,
                               const bsm_ivalue *args, size_t n,
                               bsm_ivalue *outs, bool *done) {
  *done = false;
  if (!s->worlds.possible || bsm_spec_strides_matter(s) || n != 4 ||
      strcmp(schema->qualified, "aten::as_strided") != 0 ||
      args[1].tag != BSM_IVALUE_LIST || args[2].tag != BSM_IVALUE_LIST ||
      bsm_spec_dynamic_find(s, &args[1]) ||
      bsm_spec_dynamic_find(s, &args[2]) ||
      args[1].u.list->len != args[2].u.list->len) {
    return BSM_OK;
  }
  for (size_t w = 0; w < s->worlds.count; w++) {
    if (bsm_world_is_possible(&s->worlds, w) &&
        !bsm_world_tensor(&args[0], w)) {
      return BSM_OK;
    }
  }
  const bsm_ivalue root = root_of(s, args[0]);
  bsm_ivalue offset, pick[3] = {{0}, bsm_iv_int(0), {0}}, shaped[2];
  BSM_TRY(offset_of(s, args, &offset));
  BSM_TRY(row_of(s, &root, &pick[0]));
  BSM_TRY(places_of(s, args, &offset, &pick[2]));
  BSM_TRY(bsm_spec_op_named(s, "aten::index_select", pick, 3, &shaped[0]));
  shaped[1] = args[1];
  BSM_TRY(bsm_spec_op_named(s, "aten::reshape", shaped, 2, &outs[0]));
  /* The result is a copy, where PyTorch's is a view. */
  BSM_TRY(bsm_spec_note_shared(s, &root));
  BSM_TRY(bsm_spec_note_shared(s, &outs[0]));
  *done = true;
  return BSM_OK;
}
