/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a tensor: select, slice, narrow, the split family, unbind, and
 * gathers along one dimension. */
#include <string.h>

#include "conversion/emit.h"

/* Arg 0 and the dim of arg `i`. */
static bool self_and_dim(bsm_conversion_ctx *ctx, const bsm_args *args,
                         size_t i, bsm_itensor **x, int32_t *axis) {
  *x = bsm_arg_itensor_or_freeze(ctx, args, 0);
  int64_t dim = bsm_arg_unwrap_to_int(args, i);
  if (!*x) return false;
  if (bsm_rank(*x) == 0) {
    bsm_emit_fail(ctx, BSM_INVALID_ARGUMENT,
                  "this op cannot be applied to a 0-dim tensor");
    return false;
  }
  return bsm_wrap_dim(ctx, dim, bsm_rank(*x), axis);
}

/* x[.., index, ..] without the dimension. */
static bsm_itensor *pick(bsm_conversion_ctx *ctx, bsm_itensor *x, int32_t axis,
                         int64_t index) {
  return bsm_emit_squeeze(ctx, bsm_emit_slice(ctx, x, axis, index, 1, 1),
                          1u << (unsigned)axis);
}

static bsm_status convert_select(bsm_conversion_ctx *ctx, const bsm_node *node,
                                 const bsm_args *args) {
  enum { SELF, DIM, INDEX };
  bsm_itensor *x;
  int32_t axis;
  int64_t index = bsm_arg_unwrap_to_int(args, INDEX);
  if (!self_and_dim(ctx, args, DIM, &x, &axis)) return bsm_ctx_take_error(ctx);
  int64_t size = x->dims.d[axis];
  BSM_CHECK(index >= -size && index < size,
            "select(): index %lld out of range for tensor of size %s at "
            "dimension %d",
            (long long)index, bsm_dims_str(x->dims), (int)axis);
  return bsm_emit_output(ctx, node, 0,
                         pick(ctx, x, axis, index < 0 ? index + size : index));
}

/* Python's rules for a slice with a positive step. */
typedef struct range {
  int64_t start, size, step;
} range;

static range python_range(int64_t start, int64_t end, int64_t step,
                          int64_t size) {
  range r = {start, 0, step};
  if (r.start < 0) r.start += size;
  if (end < 0) end += size;
  if (r.start < 0) r.start = 0;
  if (r.start > size) r.start = size;
  if (end < r.start) end = r.start;
  if (end > size) end = size;
  r.size = (end - r.start + step - 1) / step;
  return r;
}

/* The range of args start, end, step at `i`. */
static bsm_status range_of(const bsm_args *args, size_t i, int64_t size,
                           range *out) {
  int64_t start = bsm_arg_unwrap_to_int_or(args, i, 0);
  int64_t end = bsm_arg_unwrap_to_int_or(args, i + 1, INT64_MAX);
  int64_t step = bsm_arg_unwrap_to_int_or(args, i + 2, 1);
  BSM_CHECK(step > 0, "slice step must be positive");
  if (step > size) step = size > 0 ? size : 1; /* one element either way */
  *out = python_range(start, end, step, size);
  return BSM_OK;
}

static bsm_status convert_slice(bsm_conversion_ctx *ctx, const bsm_node *node,
                                const bsm_args *args) {
  enum { SELF, DIM, START, END, STEP };
  bsm_itensor *x;
  int32_t axis;
  range r;
  if (!self_and_dim(ctx, args, DIM, &x, &axis)) return bsm_ctx_take_error(ctx);
  BSM_TRY(range_of(args, START, x->dims.d[axis], &r));
  return bsm_emit_output(ctx, node, 0,
                         bsm_emit_slice(ctx, x, axis, r.start, r.size, r.step));
}

static bsm_status convert_narrow(bsm_conversion_ctx *ctx, const bsm_node *node,
                                 const bsm_args *args) {
  enum { SELF, DIM, START, LENGTH };
  bsm_itensor *x;
  int32_t axis;
  int64_t start = bsm_arg_unwrap_to_int(args, START);
  int64_t length = bsm_arg_unwrap_to_int(args, LENGTH);
  if (!self_and_dim(ctx, args, DIM, &x, &axis)) return bsm_ctx_take_error(ctx);
  int64_t size = x->dims.d[axis];
  if (start < 0) start += size;
  BSM_CHECK(
      start >= 0 && length >= 0 && start <= size && length <= size - start,
      "start (%lld) + length (%lld) exceeds dimension size (%lld).",
      (long long)start, (long long)length, (long long)size);
  return bsm_emit_output(ctx, node, 0,
                         bsm_emit_slice(ctx, x, axis, start, length, 1));
}

/* ---- lists of parts ---- */

/* Cuts `axis` at `bounds[0 .. count]`. */
static bsm_status cut(bsm_conversion_ctx *ctx, const bsm_node *node,
                      bsm_itensor *x, int32_t axis, const int64_t *bounds,
                      size_t count, bool squeeze) {
  bsm_itensor **parts =
      bsm_conversion_alloc(ctx, (count ? count : 1) * sizeof *parts);
  BSM_TRY_ALLOC(parts);
  for (size_t i = 0; i < count; i++) {
    parts[i] =
        bsm_emit_slice(ctx, x, axis, bounds[i], bounds[i + 1] - bounds[i], 1);
    if (squeeze)
      parts[i] = bsm_emit_squeeze(ctx, parts[i], 1u << (unsigned)axis);
    if (!parts[i]) return bsm_ctx_take_error(ctx);
  }
  return bsm_associate_value_and_itensor_list(ctx, bsm_node_output(node, 0),
                                              parts, count);
}

/* A limit on the length of lists that a file may ask for. */
#define MAX_PARTS (1 << 20)

static bsm_status allocate_bounds(bsm_conversion_ctx *ctx, int64_t count,
                                  int64_t **bounds) {
  if (count < 0 || count > MAX_PARTS) {
    return BSM_FAIL(BSM_LIMIT, "a tensor split into %lld parts",
                    (long long)count);
  }
  *bounds = bsm_conversion_alloc(ctx, ((size_t)count + 1) * sizeof **bounds);
  BSM_TRY_ALLOC(*bounds);
  return BSM_OK;
}

/* split by one size, and chunk, which is split by a rounded up size. */
enum { BY_SIZE, BY_CHUNKS };

static bsm_status convert_split(bsm_conversion_ctx *ctx, const bsm_node *node,
                                const bsm_args *args) {
  enum { SELF, HOW, DIM };
  bsm_itensor *x;
  int32_t axis;
  int64_t how = bsm_arg_unwrap_to_int(args, HOW), *bounds, part = how;
  if (!self_and_dim(ctx, args, DIM, &x, &axis)) return bsm_ctx_take_error(ctx);
  int64_t size = x->dims.d[axis], count;
  if (bsm_args_variant(args) == BY_CHUNKS) {
    BSM_CHECK(how > 0, "chunk expects `chunks` to be greater than 0, got: %lld",
              (long long)how);
    part = size / how + (size % how != 0);
    if (part == 0) {
      count = how; /* empty chunks */
    } else {
      count = size / part + (size % part != 0);
    }
  } else {
    BSM_CHECK(how > 0 || (how == 0 && size == 0),
              "split expects split_size be non-negative, but got "
              "split_size=%lld",
              (long long)how);
    count = how == 0 ? 1 : size / how + (size % how != 0);
    if (count == 0) count = 1;
  }
  BSM_TRY(allocate_bounds(ctx, count, &bounds));
  for (int64_t i = 0; i <= count; i++) {
    bounds[i] = i * part < size ? i * part : size;
  }
  return cut(ctx, node, x, axis, bounds, (size_t)count, false);
}

static bsm_status convert_split_sizes(bsm_conversion_ctx *ctx,
                                      const bsm_node *node,
                                      const bsm_args *args) {
  enum { SELF, SIZES, DIM };
  bsm_itensor *x;
  int32_t axis;
  size_t count;
  int64_t *bounds, total = 0;
  const int64_t *sizes = bsm_arg_unwrap_to_int_list(args, SIZES, &count);
  if (!sizes || !self_and_dim(ctx, args, DIM, &x, &axis)) {
    return bsm_ctx_take_error(ctx);
  }
  BSM_TRY(allocate_bounds(ctx, (int64_t)count, &bounds));
  for (size_t i = 0; i < count; i++) {
    BSM_CHECK(sizes[i] >= 0 && sizes[i] <= x->dims.d[axis] - total,
              "split_with_sizes expects split_sizes have only non-negative "
              "entries that sum exactly to %lld",
              (long long)x->dims.d[axis]);
    total += sizes[i];
    bounds[i + 1] = total;
  }
  BSM_CHECK(total == x->dims.d[axis],
            "split_with_sizes expects split_sizes to sum exactly to %lld "
            "(input tensor's size at dimension %d), but they sum to %lld",
            (long long)x->dims.d[axis], (int)axis, (long long)total);
  return cut(ctx, node, x, axis, bounds, count, false);
}

/* The first size % sections parts get one more element. */
static bsm_status convert_tensor_split(bsm_conversion_ctx *ctx,
                                       const bsm_node *node,
                                       const bsm_args *args) {
  enum { SELF, SECTIONS, DIM };
  bsm_itensor *x;
  int32_t axis;
  int64_t *bounds, sections = bsm_arg_unwrap_to_int(args, SECTIONS);
  if (!self_and_dim(ctx, args, DIM, &x, &axis)) return bsm_ctx_take_error(ctx);
  BSM_CHECK(sections > 0, "number of sections must be larger than 0, got %lld",
            (long long)sections);
  int64_t size = x->dims.d[axis];
  BSM_TRY(allocate_bounds(ctx, sections, &bounds));
  for (int64_t i = 0; i < sections; i++) {
    bounds[i + 1] = bounds[i] + size / sections + (i < size % sections ? 1 : 0);
  }
  return cut(ctx, node, x, axis, bounds, (size_t)sections, false);
}

static bsm_status convert_tensor_split_indices(bsm_conversion_ctx *ctx,
                                               const bsm_node *node,
                                               const bsm_args *args) {
  enum { SELF, INDICES, DIM };
  bsm_itensor *x;
  int32_t axis;
  size_t count;
  int64_t *bounds;
  const int64_t *at = bsm_arg_unwrap_to_int_list(args, INDICES, &count);
  if (!at || !self_and_dim(ctx, args, DIM, &x, &axis)) {
    return bsm_ctx_take_error(ctx);
  }
  BSM_TRY(allocate_bounds(ctx, (int64_t)count + 1, &bounds));
  int64_t size = x->dims.d[axis];
  bsm_itensor **parts = bsm_conversion_alloc(ctx, (count + 1) * sizeof *parts);
  BSM_TRY_ALLOC(parts);
  int64_t start = 0;
  for (size_t i = 0; i <= count; i++) {
    int64_t end = i < count ? at[i] : size;
    range r = python_range(start, end, 1, size);
    parts[i] = bsm_emit_slice(ctx, x, axis, r.start, r.size, 1);
    if (!parts[i]) return bsm_ctx_take_error(ctx);
    start = end;
  }
  return bsm_associate_value_and_itensor_list(ctx, bsm_node_output(node, 0),
                                              parts, count + 1);
}

static bsm_status convert_unbind(bsm_conversion_ctx *ctx, const bsm_node *node,
                                 const bsm_args *args) {
  enum { SELF, DIM };
  bsm_itensor *x;
  int32_t axis;
  int64_t *bounds;
  if (!self_and_dim(ctx, args, DIM, &x, &axis)) return bsm_ctx_take_error(ctx);
  int64_t size = x->dims.d[axis];
  BSM_TRY(allocate_bounds(ctx, size, &bounds));
  for (int64_t i = 0; i <= size; i++) bounds[i] = i;
  return cut(ctx, node, x, axis, bounds, (size_t)size, true);
}

/* ---- gathers ---- */

static bsm_itensor *as_index(bsm_conversion_ctx *ctx, bsm_itensor *index) {
  if (!index || index->dtype == BSM_DTYPE_INT32) return index;
  return bsm_emit_cast(ctx, index, BSM_DTYPE_INT64);
}

static bsm_status convert_embedding(bsm_conversion_ctx *ctx,
                                    const bsm_node *node,
                                    const bsm_args *args) {
  enum { WEIGHT, INDICES };
  bsm_itensor *weight = bsm_arg_itensor_or_freeze(ctx, args, WEIGHT);
  bsm_itensor *indices = bsm_arg_itensor_or_freeze(ctx, args, INDICES);
  if (!weight || !indices) return bsm_ctx_take_error(ctx);
  BSM_CHECK(bsm_rank(weight) == 2, "'weight' must be 2-D");
  BSM_CHECK(
      indices->dtype == BSM_DTYPE_INT64 || indices->dtype == BSM_DTYPE_INT32,
      "Expected tensor for argument #1 'indices' to have one of the "
      "following scalar types: Long, Int; but got %s instead",
      bsm_dtype_name(indices->dtype));
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_gather(ctx, weight, indices, BSM_GATHER_SELECT, 0));
}

static bsm_status convert_index_select(bsm_conversion_ctx *ctx,
                                       const bsm_node *node,
                                       const bsm_args *args) {
  enum { SELF, DIM, INDEX };
  int32_t axis;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  bsm_itensor *index =
      as_index(ctx, bsm_arg_itensor_or_freeze(ctx, args, INDEX));
  if (!x || !index ||
      !bsm_wrap_dim(ctx, bsm_arg_unwrap_to_int(args, DIM), bsm_rank(x),
                    &axis)) {
    return bsm_ctx_take_error(ctx);
  }
  BSM_CHECK(bsm_rank(index) <= 1,
            "index_select(): Index is supposed to be a vector");
  if (bsm_rank(index) == 0) index = bsm_emit_unsqueeze(ctx, index, 0);
  bool scalar = bsm_rank(x) == 0;
  BSM_CHECK(!scalar || bsm_itensor_numel(index) == 1,
            "index_select(): Index to scalar can have only 1 value");
  if (scalar) x = bsm_emit_unsqueeze(ctx, x, 0);
  bsm_itensor *out = bsm_emit_gather(ctx, x, index, BSM_GATHER_SELECT, axis);
  if (scalar) out = bsm_emit_squeeze(ctx, out, 1);
  return bsm_emit_output(ctx, node, 0, out);
}

static bsm_status convert_gather(bsm_conversion_ctx *ctx, const bsm_node *node,
                                 const bsm_args *args) {
  enum { SELF, DIM, INDEX };
  int32_t axis;
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  bsm_itensor *index =
      as_index(ctx, bsm_arg_itensor_or_freeze(ctx, args, INDEX));
  if (!x || !index ||
      !bsm_wrap_dim(ctx, bsm_arg_unwrap_to_int(args, DIM), bsm_rank(x),
                    &axis)) {
    return bsm_ctx_take_error(ctx);
  }
  if (bsm_itensor_numel(index) == 0) { /* of any dims */
    return bsm_emit_output(ctx, node, 0,
                           bsm_emit_fill(ctx, x->dtype, index->dims, 0));
  }
  bool scalar = bsm_rank(index) == 0;
  if (bsm_rank(x) == 0) x = bsm_emit_unsqueeze(ctx, x, 0);
  if (scalar) index = bsm_emit_unsqueeze(ctx, index, 0);
  bsm_itensor *out = bsm_emit_gather(ctx, x, index, BSM_GATHER_ELEMENT, axis);
  if (scalar) out = bsm_emit_squeeze(ctx, out, 1);
  return bsm_emit_output(ctx, node, 0, out);
}

/* ---- scatters of a slice, by putting the pieces together ---- */

static bsm_status convert_select_scatter(bsm_conversion_ctx *ctx,
                                         const bsm_node *node,
                                         const bsm_args *args) {
  enum { SELF, SRC, DIM, INDEX };
  bsm_itensor *x, *parts[3];
  int32_t axis;
  size_t count = 0;
  bsm_itensor *src = bsm_arg_itensor_or_freeze(ctx, args, SRC);
  int64_t index = bsm_arg_unwrap_to_int(args, INDEX);
  if (!src || !self_and_dim(ctx, args, DIM, &x, &axis)) {
    return bsm_ctx_take_error(ctx);
  }
  int64_t size = x->dims.d[axis];
  BSM_CHECK(index >= -size && index < size,
            "select_scatter: index %lld of %lld", (long long)index,
            (long long)size);
  if (index < 0) index += size;
  bsm_dims one = x->dims;
  one.d[axis] = 1;
  src = bsm_emit_unsqueeze(ctx, bsm_emit_cast(ctx, src, x->dtype), axis);
  if (index > 0) parts[count++] = bsm_emit_slice(ctx, x, axis, 0, index, 1);
  parts[count++] = bsm_emit_expand(ctx, src, one);
  if (index + 1 < size) {
    parts[count++] =
        bsm_emit_slice(ctx, x, axis, index + 1, size - index - 1, 1);
  }
  return bsm_emit_output(ctx, node, 0,
                         bsm_emit_concat(ctx, parts, count, axis));
}

/* With a step: src is appended, and a gather takes each element from where it
 * now is. */
static bsm_itensor *scatter_step(bsm_conversion_ctx *ctx, bsm_itensor *x,
                                 bsm_itensor *src, int32_t axis, range r) {
  int64_t size = x->dims.d[axis];
  bsm_itensor *both[2] = {x, src};
  int64_t *from = bsm_conversion_alloc(ctx, (size_t)size * sizeof *from);
  if (!from) {
    bsm_ctx_fail(ctx, BSM_FAIL_OOM());
    return NULL;
  }
  for (int64_t i = 0; i < size; i++) from[i] = i;
  for (int64_t i = 0; i < r.size; i++) from[r.start + i * r.step] = size + i;
  return bsm_emit_gather(ctx, bsm_emit_concat(ctx, both, 2, axis),
                         bsm_emit_int64s(ctx, from, (bsm_dims){1, {size}}),
                         BSM_GATHER_DEFAULT, axis);
}

static bsm_status convert_slice_scatter(bsm_conversion_ctx *ctx,
                                        const bsm_node *node,
                                        const bsm_args *args) {
  enum { SELF, SRC, DIM, START, END, STEP };
  bsm_itensor *x, *parts[3], *out;
  int32_t axis;
  range r;
  size_t count = 0;
  bsm_itensor *src = bsm_arg_itensor_or_freeze(ctx, args, SRC);
  if (!src || !self_and_dim(ctx, args, DIM, &x, &axis)) {
    return bsm_ctx_take_error(ctx);
  }
  int64_t size = x->dims.d[axis];
  BSM_TRY(range_of(args, START, size, &r));
  if (r.size == 0) return bsm_emit_output(ctx, node, 0, x);
  bsm_dims part = x->dims;
  part.d[axis] = r.size;
  src = bsm_emit_expand(ctx, bsm_emit_cast(ctx, src, x->dtype), part);
  if (!src) return bsm_ctx_take_error(ctx);
  if (r.step != 1) {
    out = scatter_step(ctx, x, src, axis, r);
  } else {
    int64_t end = r.start + r.size;
    if (r.start > 0) {
      parts[count++] = bsm_emit_slice(ctx, x, axis, 0, r.start, 1);
    }
    parts[count++] = src;
    if (end < size) {
      parts[count++] = bsm_emit_slice(ctx, x, axis, end, size - end, 1);
    }
    out = bsm_emit_concat(ctx, parts, count, axis);
  }
  return bsm_emit_output(ctx, node, 0, out);
}

static const bsm_conversion_pattern patterns[] = {
    {"aten::select.int(Tensor(a) self, int dim, int index) -> Tensor(a)",
     convert_select, 0},
    {"aten::slice.Tensor(Tensor(a) self, int dim=0, int? start=None, int? "
     "end=None, int step=1) -> Tensor(a)",
     convert_slice, 0},
    {"aten::select_copy.int(Tensor self, int dim, int index) -> Tensor",
     convert_select, 0},
    {"aten::slice_copy.Tensor(Tensor self, int dim=0, int? start=None, int? "
     "end=None, int step=1) -> Tensor",
     convert_slice, 0},
    {"aten::narrow(Tensor(a) self, int dim, int start, int length) -> "
     "Tensor(a)",
     convert_narrow, 0},
    {"aten::narrow_copy(Tensor self, int dim, int start, int length) -> Tensor",
     convert_narrow, 0},
    {"aten::narrow.Tensor(Tensor(a) self, int dim, Tensor start, int length) "
     "-> Tensor(a)",
     convert_narrow, 0},
    {"aten::split.Tensor(Tensor(a -> *) self, int split_size, int dim=0) -> "
     "Tensor(a)[]",
     convert_split, BY_SIZE},
    {"aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]",
     convert_split, BY_CHUNKS},
    {"aten::split(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> "
     "Tensor(a)[]",
     convert_split_sizes, 0},
    {"aten::split.sizes(Tensor(a -> *) self, int[] split_size, int dim=0) -> "
     "Tensor(a)[]",
     convert_split_sizes, 0},
    {"aten::split_with_sizes(Tensor(a -> *) self, int[] split_sizes, int "
     "dim=0) -> Tensor(a)[]",
     convert_split_sizes, 0},
    {"aten::split_with_sizes_copy(Tensor self, int[] split_sizes, int dim=0) "
     "-> Tensor[]",
     convert_split_sizes, 0},
    {"aten::unsafe_split_with_sizes(Tensor self, int[] split_sizes, int dim=0) "
     "-> Tensor[]",
     convert_split_sizes, 0},
    {"aten::split_copy.Tensor(Tensor self, int split_size, int dim=0) -> "
     "Tensor[]",
     convert_split, BY_SIZE},
    {"aten::unsafe_split.Tensor(Tensor self, int split_size, int dim=0) -> "
     "Tensor[]",
     convert_split, BY_SIZE},
    {"aten::unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]",
     convert_split, BY_CHUNKS},
    {"aten::tensor_split.sections(Tensor(a -> *) self, int sections, int "
     "dim=0) -> Tensor(a)[]",
     convert_tensor_split, 0},
    {"aten::tensor_split.indices(Tensor(a -> *) self, int[] indices, int "
     "dim=0) -> Tensor(a)[]",
     convert_tensor_split_indices, 0},
    {"aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]",
     convert_unbind, 0},
    {"aten::unbind_copy.int(Tensor self, int dim=0) -> Tensor[]",
     convert_unbind, 0},
    {"aten::embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool "
     "scale_grad_by_freq=False, bool sparse=False) -> Tensor",
     convert_embedding, 0},
    {"aten::index_select(Tensor self, int dim, Tensor index) -> Tensor",
     convert_index_select, 0},
    {"aten::gather(Tensor self, int dim, Tensor index, *, bool "
     "sparse_grad=False) -> Tensor",
     convert_gather, 0},
    {"aten::select_scatter(Tensor self, Tensor src, int dim, int index) -> "
     "Tensor",
     convert_select_scatter, 0},
    {"aten::slice_scatter(Tensor self, Tensor src, int dim=0, int? start=None, "
     "int? end=None, int step=1) -> Tensor",
     convert_slice_scatter, 0},
};
BSM_CONVERTER_TABLE(select, patterns);
