/* SPDX-License-Identifier: Apache-2.0 */
/* segment_reduce: one result for each run of consecutive elements of a dim. */
#include "aten/packed/aten_segment.h"
#include "aten/op_kit.h"

typedef enum reduction {
  REDUCE_MAX,
  REDUCE_MEAN,
  REDUCE_MIN,
  REDUCE_SUM,
  REDUCE_PROD
} reduction;

/* data(segments.., axis, inner..): `outer` rows of segments, each with lengths
 * or offsets of its own. */
typedef struct segments {
  reduction how;
  bool by_offset, has_initial;
  double initial;
  const bsm_tensor *bounds;
  int64_t outer, size, inner, count;
  bsm_dtype dtype;
} segments;

static bsm_status parse(const bsm_ivalue *name, reduction *out) {
  static const char *const names[] = {"max", "mean", "min", "sum", "prod"};
  const bsm_str text = op_str(name);
  for (size_t i = 0; i < OP_COUNT(names); i++) {
    if (strcmp(text.data, names[i]) == 0) {
      *out = (reduction)i;
      return BSM_OK;
    }
  }
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "segment_reduce(): unsupported reduction \"%s\", expected "
                  "max, mean, min, sum or prod",
                  text.data);
}

static double start_of(const segments *s) {
  if (s->has_initial) return s->initial;
  switch (s->how) {
    case REDUCE_MAX:
      return -(double)INFINITY;
    case REDUCE_MIN:
      return (double)INFINITY;
    case REDUCE_PROD:
      return 1.0;
    default:
      return 0.0;
  }
}

static double add_one(const segments *s, double sum, double x) {
  switch (s->how) {
    case REDUCE_MAX:
      return isnan(x) || x > sum ? x : sum;
    case REDUCE_MIN:
      return isnan(x) || x < sum ? x : sum;
    case REDUCE_PROD:
      sum *= x;
      break;
    default:
      sum += x;
      break;
  }
  bsm_round_f64(s->dtype, 1, &sum);
  return sum;
}

/* The elements [from, from + length) of one row, `at` inside of it. */
static double reduce(const segments *s, const double *at, int64_t length) {
  double sum = start_of(s);
  bsm_round_f64(s->dtype, 1, &sum);
  for (int64_t i = 0; i < length; i++) {
    if (!isnan(sum)) sum = add_one(s, sum, at[i * s->inner]);
  }
  if (s->how == REDUCE_MEAN && length == 0 && !s->has_initial) {
    return (double)NAN;
  }
  return s->how == REDUCE_MEAN && length > 0 ? sum / (double)length : sum;
}

/* Where segment `i` of row `row` is; *sum is that of the lengths so far. */
static bsm_status find(const segments *s, int64_t row, int64_t i, int64_t *sum,
                       int64_t *from, int64_t *length) {
  if (s->by_offset) {
    const int64_t at = row * (s->count + 1) + i;
    *from = bsm_tensor_get_int(s->bounds, at);
    *length = bsm_tensor_get_int(s->bounds, at + 1) - *from;
  } else {
    *from = *sum;
    *length = bsm_tensor_get_int(s->bounds, row * s->count + i);
  }
  if (*from < 0 || *length < 0 || *from > s->size ||
      *length > s->size - *from) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "segment_reduce(): segment %lld of %lld elements from %lld "
                    "on is not within the %lld of the data",
                    (long long)i, (long long)*length, (long long)*from,
                    (long long)s->size);
  }
  *sum += *length;
  return BSM_OK;
}

static bsm_status run_row(bsm_op_ctx *cx, const segments *s, int64_t row,
                          bool exact, const double *data, double *out) {
  int64_t sum = 0, from = 0, length = 0;
  for (int64_t i = 0; i < s->count; i++) {
    BSM_TRY(find(s, row, i, &sum, &from, &length));
    BSM_TRY(bsm_op_charge(cx, length, s->inner, 8)); /* offsets may overlap */
    for (int64_t k = 0; k < s->inner; k++) {
      out[(row * s->count + i) * s->inner + k] =
          reduce(s, data + (row * s->size + from) * s->inner + k, length);
    }
  }
  if (exact && !s->by_offset && sum != s->size) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "segment_reduce(): Expected all rows of lengths along axis "
                    "to sum to data.size(lengths.dim()-1) when !unsafe.");
  }
  return BSM_OK;
}

static bsm_status check(const bsm_ivalue *args, const bsm_tensor *data,
                        int *axis, segments *s) {
  const bsm_tensor *lengths = op_tensor(&args[2]);
  const bsm_tensor *offsets = op_tensor(&args[4]);
  if (!op_none(&args[3]) || (!lengths && !offsets)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "segment_reduce(): Either lengths or offsets must be "
                    "defined, and no indices");
  }
  s->by_offset = offsets != NULL;
  s->bounds = offsets ? offsets : lengths;
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[5]), data->sizes.rank, axis));
  bool fits = s->bounds->sizes.rank == *axis + 1 && data->sizes.rank > *axis &&
              (s->bounds->dtype == BSM_DTYPE_INT64 ||
               s->bounds->dtype == BSM_DTYPE_INT32);
  for (int32_t i = 0; fits && i < *axis; i++) {
    fits = s->bounds->sizes.d[i] == data->sizes.d[i];
  }
  if (!fits || (s->by_offset && s->bounds->sizes.d[*axis] < 1)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "segment_reduce(): Expected axis to be the last dimension "
                    "of %s, integers of %s, and the dimensions before to be "
                    "those of the data %s, but got %d",
                    s->by_offset ? "offsets" : "lengths",
                    bsm_dims_str(s->bounds->sizes), bsm_dims_str(data->sizes),
                    *axis);
  }
  if (!bsm_dtype_is_floating(data->dtype)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "\"segment_reduce_cpu\" not implemented for '%s'",
                    bsm_op_type_name(data->dtype));
  }
  return parse(&args[1], &s->how);
}

/* segment_reduce(data, reduce, *, lengths, indices, offsets, axis, unsafe,
 * initial) */
static bsm_status op_segment_reduce(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  segments s = {.outer = 1, .inner = 1, .dtype = t->dtype};
  int axis = 0;
  BSM_TRY(check(args, t, &axis, &s));
  bsm_dims shape = t->sizes;
  s.has_initial = !op_none(&args[7]);
  s.initial = s.has_initial ? op_double(&args[7]) : 0.0;
  s.size = shape.d[axis];
  s.count = shape.d[axis] = s.bounds->sizes.d[axis] - s.by_offset;
  for (int32_t i = 0; i < shape.rank; i++) {
    if (i < axis) s.outer *= shape.d[i];
    if (i > axis) s.inner *= shape.d[i];
  }
  BSM_TRY(bsm_op_new(cx, t->dtype, shape, &out));
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta) return BSM_OK;
  const double *data = bsm_op_load_all(cx, t);
  double *results = bsm_op_load_all(cx, out);
  BSM_TRY_ALLOC(data && results);
  for (int64_t row = 0; row < s.outer; row++) {
    BSM_TRY(run_row(cx, &s, row, !op_bool(&args[6]), data, results));
  }
  bsm_op_store_all(out, results);
  return BSM_OK;
}

static const bsm_aten_op rows[] = {
    OP("aten::segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, "
       "Tensor? indices=None, Tensor? offsets=None, int axis=0, bool "
       "unsafe=False, Scalar? initial=None) -> Tensor",
       op_segment_reduce, 0, 0),
};
BSM_ATEN_TABLE(segment, rows);
