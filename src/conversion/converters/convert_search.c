/* SPDX-License-Identifier: Apache-2.0 */
/* Along a dimension: binary search in sorted rows, elements taken, differences.
 */
#include <string.h>

#include "conversion/emit.h"

/* A search: which elements are in front of a value, and where it goes on. */
typedef struct search {
  bsm_itensor *sorted, *values;
  bool right; /* behind equal elements */
  int64_t size;
} search;

static bsm_itensor *at_places(bsm_conversion_ctx *ctx, bsm_itensor *x,
                              bsm_itensor *places) {
  const int32_t rank = bsm_rank(x);
  return bsm_emit_gather(ctx, x, places,
                         rank == 1 ? BSM_GATHER_DEFAULT : BSM_GATHER_ELEMENT,
                         rank - 1);
}

/* One step of std::lower_bound, or upper_bound, for all values: the same
 * elements are looked at as PyTorch does, in whatever order they are. */
static void step(bsm_conversion_ctx *ctx, const search *s, bsm_itensor **start,
                 bsm_itensor **end) {
  bsm_itensor *one = bsm_emit_int_scalar(ctx, BSM_DTYPE_INT64, 1);
  bsm_itensor *middle =
      bsm_emit_binary(ctx, *end, *start, BSM_ELEMENT_WISE_SUB);
  middle = bsm_emit_binary(ctx, middle, one, BSM_ELEMENT_WISE_SHIFT_RIGHT);
  middle = bsm_emit_binary(ctx, *start, middle, BSM_ELEMENT_WISE_SUM);
  bsm_itensor *found = at_places(
      ctx, s->sorted,
      bsm_emit_binary(ctx, middle,
                      bsm_emit_int_scalar(ctx, BSM_DTYPE_INT64, s->size - 1),
                      BSM_ELEMENT_WISE_MIN));
  bsm_itensor *behind = bsm_emit_binary(
      ctx, found, s->values,
      s->right ? BSM_ELEMENT_WISE_GREATER : BSM_ELEMENT_WISE_GREATER_EQUAL);
  bsm_itensor *open = bsm_emit_binary(ctx, *start, *end, BSM_ELEMENT_WISE_LESS);
  bsm_itensor *goes_on =
      bsm_emit_binary(ctx, open, bsm_emit_unary(ctx, behind, BSM_UNARY_NOT),
                      BSM_ELEMENT_WISE_AND);
  bsm_itensor *ends = bsm_emit_binary(ctx, open, behind, BSM_ELEMENT_WISE_AND);
  bsm_itensor *next = bsm_emit_binary(ctx, middle, one, BSM_ELEMENT_WISE_SUM);
  *start = bsm_emit_select(ctx, goes_on, next, *start);
  *end = bsm_emit_select(ctx, ends, middle, *end);
}

static bsm_itensor *run_search(bsm_conversion_ctx *ctx, const search *s) {
  bsm_itensor *start = bsm_emit_fill(ctx, BSM_DTYPE_INT64, s->values->dims, 0);
  bsm_itensor *end =
      bsm_emit_fill(ctx, BSM_DTYPE_INT64, s->values->dims, (double)s->size);
  for (int64_t left = s->size; left > 0 && start && end; left /= 2) {
    step(ctx, s, &start, &end);
  }
  return start;
}

/* searchsorted and bucketize: `variant` is which. */
enum { SORTED, BUCKETS };

static bool same_rows(const bsm_itensor *sorted, const bsm_itensor *values) {
  const int32_t rank = bsm_rank(sorted);
  if (rank == 1) return true;
  bool same = rank > 1 && bsm_rank(values) == rank;
  for (int32_t i = 0; same && i + 1 < rank; i++) {
    same = sorted->dims.d[i] == values->dims.d[i];
  }
  return same;
}

static bsm_status convert_search(bsm_conversion_ctx *ctx, const bsm_node *node,
                                 const bsm_args *args) {
  enum { OUT_INT32 = 2, RIGHT, SIDE, SORTER };
  const bool buckets = bsm_args_variant(args) == BUCKETS;
  search s = {.right = bsm_arg_unwrap_to_bool(args, RIGHT)};
  s.sorted = bsm_arg_itensor_or_freeze(ctx, args, buckets ? 1 : 0);
  s.values = bsm_arg_itensor_or_freeze(ctx, args, buckets ? 0 : 1);
  if (!s.sorted || !s.values) return bsm_ctx_take_error(ctx);
  BSM_CHECK(
      same_rows(s.sorted, s.values),
      "boundaries tensor should be 1 dimension or the first N-1 "
      "dimensions of boundaries tensor and input value tensor must match");
  if (!buckets) {
    const char *side = bsm_arg_unwrap_to_string_or(args, SIDE, NULL);
    if (side) s.right = strcmp(side, "right") == 0;
    if (!bsm_arg_is_none(args, SORTER)) {
      s.sorted = at_places(ctx, s.sorted,
                           bsm_arg_itensor_or_freeze(ctx, args, SORTER));
    }
  }
  if (!s.sorted) return bsm_ctx_take_error(ctx);
  if (s.sorted->dtype != s.values->dtype) {
    s.sorted = bsm_emit_cast(ctx, s.sorted, BSM_DTYPE_DOUBLE);
    s.values = bsm_emit_cast(ctx, s.values, BSM_DTYPE_DOUBLE);
    if (!s.sorted || !s.values) return bsm_ctx_take_error(ctx);
  }
  s.size = s.sorted->dims.d[bsm_rank(s.sorted) - 1];
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_cast(ctx, run_search(ctx, &s),
                    bsm_arg_unwrap_to_bool(args, OUT_INT32) ? BSM_DTYPE_INT32
                                                            : BSM_DTYPE_INT64));
}

/* Both broadcast to each other, but along the dim. */
static bsm_status convert_take_along_dim(bsm_conversion_ctx *ctx,
                                         const bsm_node *node,
                                         const bsm_args *args) {
  enum { SELF, INDICES, DIM };
  bsm_itensor *both[2] = {bsm_arg_itensor_or_freeze(ctx, args, SELF),
                          bsm_arg_itensor_or_freeze(ctx, args, INDICES)};
  int32_t axis = 0;
  if (!both[0] || !both[1]) return bsm_ctx_take_error(ctx);
  if (bsm_arg_is_none(args, DIM)) {
    for (int i = 0; i < 2; i++) {
      both[i] = bsm_emit_reshape(ctx, both[i],
                                 (bsm_dims){1, {bsm_itensor_numel(both[i])}});
    }
  } else {
    const int32_t rank = bsm_rank(both[0]);
    BSM_CHECK(rank == bsm_rank(both[1]) && rank > 0,
              "take_along_dim: input and indices should have the same number "
              "of dimensions");
    if (!bsm_wrap_dim(ctx, bsm_arg_unwrap_to_int(args, DIM), rank, &axis)) {
      return bsm_ctx_take_error(ctx);
    }
    bsm_dims dims[2] = {both[0]->dims, both[1]->dims};
    for (int32_t i = 0; i < rank; i++) {
      for (int k = 0; k < 2 && i != axis; k++) {
        if (dims[k].d[i] == 1) dims[k].d[i] = dims[1 - k].d[i];
      }
    }
    for (int k = 0; k < 2; k++) {
      both[k] = bsm_emit_expand(ctx, both[k], dims[k]);
    }
  }
  if (!both[0] || !both[1]) return bsm_ctx_take_error(ctx);
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_gather(ctx, both[0], both[1], BSM_GATHER_ELEMENT, axis));
}

/* A tensor between others along a dim, all in the dtype that they promote to.
 */
static bsm_itensor *between(bsm_conversion_ctx *ctx, const bsm_args *args,
                            size_t before, size_t self, size_t behind,
                            int32_t axis) {
  const size_t order[3] = {before, self, behind};
  bsm_operand operands[3];
  bsm_itensor *parts[3];
  size_t count = 0;
  for (int i = 0; i < 3; i++) {
    if (bsm_arg_is_none(args, order[i])) continue;
    operands[count] = bsm_operand_of(ctx, args, order[i]);
    if (operands[count].missing) return NULL;
    count++;
  }
  const bsm_dtype dtype = bsm_operands_dtype(operands, count);
  for (size_t i = 0; i < count; i++) {
    parts[i] = bsm_operand_emit(ctx, &operands[i], dtype);
    if (!parts[i]) return NULL;
  }
  return count > 1 ? bsm_emit_concat(ctx, parts, count, axis) : parts[0];
}

/* Differences of neighbours along a dim, `n` times. */
static bsm_status convert_diff(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  enum { SELF, N, DIM, PREPEND, APPEND };
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  const int64_t times = bsm_arg_unwrap_to_int(args, N);
  int32_t axis;
  if (!x || !bsm_wrap_dim(ctx, bsm_arg_unwrap_to_int(args, DIM), bsm_rank(x),
                          &axis)) {
    return bsm_ctx_take_error(ctx);
  }
  BSM_CHECK(bsm_rank(x) > 0 && times >= 0,
            "diff expects input to be at least one-dimensional, and order to "
            "be non-negative");
  if (times > 0) x = between(ctx, args, PREPEND, SELF, APPEND, axis);
  for (int64_t i = 0; x && i < times && x->dims.d[axis] > 0; i++) {
    const int64_t left = x->dims.d[axis] - 1;
    x = bsm_emit_binary(ctx, bsm_emit_slice(ctx, x, axis, 1, left, 1),
                        bsm_emit_slice(ctx, x, axis, 0, left, 1),
                        x->dtype == BSM_DTYPE_BOOL ? BSM_ELEMENT_WISE_XOR
                                                   : BSM_ELEMENT_WISE_SUB);
  }
  return bsm_emit_output(ctx, node, 0, x);
}

static const bsm_conversion_pattern patterns[] = {
    {"aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, "
     "Tensor? append=None) -> Tensor",
     convert_diff, 0},
    {"aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool "
     "out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) "
     "-> Tensor",
     convert_search, SORTED},
    {"aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool "
     "out_int32=False, bool right=False) -> Tensor",
     convert_search, BUCKETS},
    {"aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> "
     "Tensor",
     convert_take_along_dim, 0},
};
BSM_CONVERTER_TABLE(search, patterns);
