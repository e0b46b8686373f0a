/* SPDX-License-Identifier: Apache-2.0 */
/* Along a dimension: binary search in sorted rows, elements taken, differences.
 */
#include <string.h>

#include "aten/element.h"
#include "conversion/conversion_internal.h"
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

/* ---- constants in order ---- */

/* The elements that must be in order, when the model has them as a constant. */
static const bsm_tensor *constant_order(bsm_conversion_ctx *ctx,
                                        const bsm_args *args, size_t i) {
  const bsm_tensor *t =
      bsm_arg_is_tensor(args, i) ? bsm_operand_of(ctx, args, i).tensor : NULL;
  if (!t || t->sizes.rank != 1 || t->sizes.d[0] == 0) return NULL;
  const bool integers = bsm_dtype_is_integral(t->dtype, true);
  if (!integers && !bsm_dtype_is_floating(t->dtype)) return NULL;
  for (int64_t k = 0; k < t->sizes.d[0]; k++) {
    const int64_t before = k > 0 ? k - 1 : 0;
    const bool ordered =
        integers ? bsm_tensor_get_int(t, before) <= bsm_tensor_get_int(t, k)
                 : bsm_tensor_get_double(t, before) <=
                       bsm_tensor_get_double(t, k); /* false for NaN */
    if (!ordered) return NULL;
  }
  return t;
}

/* A constant of `count` elements, the last one again where there are fewer. */
static bsm_itensor *emit_longer(bsm_conversion_ctx *ctx, const bsm_tensor *t,
                                int64_t count) {
  const bsm_dtype d = t->dtype;
  const int64_t last = t->sizes.d[0] - 1;
  bsm_tensor *made = NULL;
  const bsm_status status =
      bsm_tensor_new(ctx->impl->arena, d, (bsm_dims){1, {count}}, false, &made);
  if (status) {
    bsm_ctx_fail(ctx, status);
    return NULL;
  }
  char *to = bsm_tensor_data(made);
  for (int64_t i = 0; i < count; i++, to += bsm_dtype_size(d)) {
    const int64_t k = i < last ? i : last;
    if (bsm_dtype_is_integral(d, true)) {
      bsm_store1_i64(d, to, bsm_tensor_get_int(t, k));
    } else {
      bsm_store1_f64(d, to, bsm_tensor_get_double(t, k));
    }
  }
  return bsm_freeze_tensor(ctx, made);
}

/* The same search of 2^n - 1 elements in order: all values look at the middle
 * one first, and then half of what is left away from it, so that a step is a
 * comparison and a sum. What is behind all of them is behind the given ones. */
static bsm_itensor *search_constant(bsm_conversion_ctx *ctx, const search *s,
                                    const bsm_tensor *order) {
  int64_t count = 1, half = 1;
  while (count < s->size) {
    count = 2 * count + 1;
    half *= 2;
  }
  bsm_itensor *sorted = emit_longer(ctx, order, count);
  if (sorted) sorted = bsm_emit_cast(ctx, sorted, s->values->dtype);
  bsm_itensor *at = bsm_emit_int_scalar(ctx, BSM_DTYPE_INT64, half - 1);
  for (bool more = true; more && sorted && at;) {
    more = half > 1;
    half /= 2;
    bsm_itensor *behind = bsm_emit_binary(
        ctx, at_places(ctx, sorted, at), s->values,
        s->right ? BSM_ELEMENT_WISE_GREATER : BSM_ELEMENT_WISE_GREATER_EQUAL);
    bsm_itensor *less = bsm_emit_int_scalar(ctx, BSM_DTYPE_INT64, -half);
    bsm_itensor *step =
        bsm_emit_int_scalar(ctx, BSM_DTYPE_INT64, more ? half : 1);
    at = bsm_emit_binary(ctx, at, bsm_emit_select(ctx, behind, less, step),
                         BSM_ELEMENT_WISE_SUM);
  }
  if (count == s->size || !at) return at;
  return bsm_emit_binary(ctx, at,
                         bsm_emit_int_scalar(ctx, BSM_DTYPE_INT64, s->size),
                         BSM_ELEMENT_WISE_MIN);
}

/* ---- the operators ---- */

/* searchsorted and bucketize: `variant` is which. Of a number, in the dtype
 * that it and the sorted elements promote to. */
enum { SORTED, BUCKETS };

static void take_number(bsm_conversion_ctx *ctx, const bsm_args *args, size_t i,
                        search *s) {
  bsm_operand both[2] = {bsm_operand_of_itensor(s->sorted),
                         bsm_operand_of(ctx, args, i)};
  const bsm_dtype dtype = bsm_operands_dtype(both, 2);
  s->sorted = bsm_emit_cast(ctx, s->sorted, dtype);
  s->values = bsm_operand_emit(ctx, &both[1], dtype);
}

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
  const size_t value = buckets ? 0 : 1;
  if (!s.sorted) return bsm_ctx_take_error(ctx);
  if (bsm_arg_is_itensor(args, value) || bsm_arg_is_tensor(args, value)) {
    s.values = bsm_arg_itensor_or_freeze(ctx, args, value);
  } else {
    take_number(ctx, args, value, &s);
  }
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
  const bsm_tensor *order = buckets || bsm_arg_is_none(args, SORTER)
                                ? constant_order(ctx, args, buckets ? 1 : 0)
                                : NULL;
  bsm_itensor *found =
      order ? search_constant(ctx, &s, order) : run_search(ctx, &s);
  return bsm_emit_output(
      ctx, node, 0,
      bsm_emit_cast(ctx, found,
                    bsm_arg_unwrap_to_bool(args, OUT_INT32) ? BSM_DTYPE_INT32
                                                            : BSM_DTYPE_INT64));
}

/* ---- what is made of searches ---- */

/* Whether any of few elements is equal. */
static bsm_itensor *is_among_few(bsm_conversion_ctx *ctx, bsm_itensor *x,
                                 bsm_itensor *few) {
  const int32_t rank = bsm_rank(x);
  return bsm_emit_reduce(ctx,
                         bsm_emit_binary(ctx, bsm_emit_unsqueeze(ctx, x, rank),
                                         few, BSM_ELEMENT_WISE_EQUAL),
                         BSM_REDUCE_ANY, 1u << (unsigned)rank, false);
}

/* Whether the element that a search ends at is equal. NaN, which is the
 * greatest, is equal to nothing. */
static bsm_itensor *is_among(bsm_conversion_ctx *ctx, bsm_itensor *x,
                             bsm_itensor *all) {
  enum { FEW = 32 };
  const int64_t size = bsm_itensor_numel(all);
  if (size <= FEW && bsm_rank(x) < BSM_MAX_RANK) {
    return is_among_few(ctx, x, all);
  }
  if (all->dtype == BSM_DTYPE_BOOL) {
    all = bsm_emit_cast(ctx, all, BSM_DTYPE_UINT8);
    x = bsm_emit_cast(ctx, x, BSM_DTYPE_UINT8);
  }
  if (!all || !x) return NULL;
  bsm_layer *sort = bsm_network_add_top_k(ctx->net, all, false, size, 0);
  const search s = {.sorted = bsm_emit(ctx, sort), .values = x, .size = size};
  if (!s.sorted) return NULL;
  bsm_itensor *at =
      bsm_emit_binary(ctx, run_search(ctx, &s),
                      bsm_emit_int_scalar(ctx, BSM_DTYPE_INT64, size - 1),
                      BSM_ELEMENT_WISE_MIN);
  return bsm_emit_binary(ctx, at_places(ctx, s.sorted, at), x,
                         BSM_ELEMENT_WISE_EQUAL);
}

static bsm_status convert_isin(bsm_conversion_ctx *ctx, const bsm_node *node,
                               const bsm_args *args) {
  enum { ELEMENTS, TESTED, UNIQUE, INVERT };
  bsm_operand both[2] = {bsm_operand_of(ctx, args, ELEMENTS),
                         bsm_operand_of(ctx, args, TESTED)};
  const bsm_dtype dtype = bsm_operands_dtype(both, 2);
  bsm_itensor *x = bsm_operand_emit(ctx, &both[0], dtype);
  bsm_itensor *all = bsm_operand_emit(ctx, &both[1], dtype);
  if (!x || !all) return bsm_ctx_take_error(ctx);
  const bool invert = bsm_arg_unwrap_to_bool(args, INVERT);
  const int64_t size = bsm_itensor_numel(all);
  if (size == 0 || bsm_itensor_numel(x) == 0) {
    return bsm_emit_output(ctx, node, 0,
                           bsm_emit_fill(ctx, BSM_DTYPE_BOOL, x->dims, invert));
  }
  all = bsm_emit_reshape(ctx, all, (bsm_dims){1, {size}});
  if (!all) return bsm_ctx_take_error(ctx);
  bsm_itensor *found = is_among(ctx, x, all);
  if (invert) found = bsm_emit_unary(ctx, found, BSM_UNARY_NOT);
  return bsm_emit_output(ctx, node, 0, found);
}

/* Each number as often as `repeats` says: the place of element i is the first
 * whose sum of repeats is greater than i. */
static bsm_status convert_repeats(bsm_conversion_ctx *ctx, const bsm_node *node,
                                  const bsm_args *args) {
  enum { REPEATS, OUTPUT_SIZE };
  bsm_itensor *repeats = bsm_arg_itensor_or_freeze(ctx, args, REPEATS);
  if (!repeats) return bsm_ctx_take_error(ctx);
  BSM_CHECK(!bsm_arg_is_none(args, OUTPUT_SIZE),
            "repeat_interleave without output_size: the shape of the result "
            "would depend on the data");
  BSM_CHECK(bsm_rank(repeats) == 1 && repeats->dims.d[0] > 0,
            "repeat_interleave by %s", bsm_dims_str(repeats->dims));
  const bsm_dtype dtype = repeats->dtype;
  bsm_layer *sums = bsm_network_add_scan(
      ctx->net, bsm_emit_cast(ctx, repeats, BSM_DTYPE_INT64), BSM_SCAN_SUM, 0);
  const search s = {.sorted = bsm_emit(ctx, sums),
                    .values = bsm_emit_arange(
                        ctx, 0, bsm_arg_unwrap_to_int(args, OUTPUT_SIZE), 1),
                    .right = true,
                    .size = repeats->dims.d[0]};
  if (!s.sorted || !s.values) return bsm_ctx_take_error(ctx);
  return bsm_emit_output(ctx, node, 0,
                         bsm_emit_cast(ctx, run_search(ctx, &s), dtype));
}

/* Both broadcast to each other, but along the dim, modulo whose size indices
 * are taken. */
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
    both[1] = bsm_emit_binary(
        ctx, both[1],
        bsm_emit_int_scalar(ctx, both[1]->dtype, both[0]->dims.d[axis]),
        BSM_ELEMENT_WISE_REMAINDER);
    if (!both[1]) return bsm_ctx_take_error(ctx);
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
    {"aten::searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool "
     "out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) "
     "-> Tensor",
     convert_search, SORTED},
    {"aten::bucketize.Scalar(Scalar self, Tensor boundaries, *, bool "
     "out_int32=False, bool right=False) -> Tensor",
     convert_search, BUCKETS},
    {"aten::isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool "
     "assume_unique=False, bool invert=False) -> Tensor",
     convert_isin, 0},
    {"aten::isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool "
     "assume_unique=False, bool invert=False) -> Tensor",
     convert_isin, 0},
    {"aten::isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool "
     "assume_unique=False, bool invert=False) -> Tensor",
     convert_isin, 0},
    {"aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? "
     "output_size=None) -> Tensor",
     convert_repeats, 0},
    {"aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> "
     "Tensor",
     convert_take_along_dim, 0},
};
BSM_CONVERTER_TABLE(search, patterns);
