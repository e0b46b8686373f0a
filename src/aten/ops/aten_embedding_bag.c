/* SPDX-License-Identifier: Apache-2.0 */
/* embedding_bag: rows of a table, summed, averaged or maximised bag by bag;
 * embedding_renorm_. */
#include "aten/packed/aten_embedding_bag.h"
#include "aten/op_compose.h"

enum { BAG_SUM, BAG_MEAN, BAG_MAX };

typedef struct bags {
  bsm_tensor *weight, *indices, *offsets, *each; /* a weight for each index */
  int64_t mode, padding, count, n, width;
  bool last; /* the last offset is the end of the last bag */
} bags;

static bool is_index(const bsm_tensor *t) {
  return t->dtype == BSM_DTYPE_INT64 || t->dtype == BSM_DTYPE_INT32;
}

static bsm_status check_bags(const bags *b) {
  const char *problem = NULL;
  if (b->weight->sizes.rank != 2 || !bsm_dtype_is_floating(b->weight->dtype)) {
    problem = "weight has to be a 2D Tensor of floats";
  } else if (b->indices->sizes.rank != 1 || b->offsets->sizes.rank != 1) {
    problem = "input and offsets have to be 1D Tensors";
  } else if (!is_index(b->indices) || !is_index(b->offsets)) {
    problem = "expected scalar type Int or Long";
  } else if (b->mode < BAG_SUM || b->mode > BAG_MAX) {
    problem = "mode has to be 0, 1 or 2";
  } else if (b->each && (b->mode != BAG_SUM ||
                         !bsm_dims_equal(b->each->sizes, b->indices->sizes) ||
                         b->each->dtype != b->weight->dtype)) {
    problem =
        "per_sample_weights only go with mode='sum', and have the shape of the "
        "input and the dtype of the weight";
  } else if (b->last && bsm_tensor_numel(b->offsets) == 0) {
    problem = "include_last_offset: number of offset should be at least 1";
  } else if (b->padding < -1 || b->padding >= b->weight->sizes.d[0]) {
    problem = "padding_idx must be within the number of embeddings";
  }
  if (!problem) return BSM_OK;
  return BSM_FAIL(BSM_INVALID_ARGUMENT, "embedding_bag: %s", problem);
}

/* Index i belongs to the bag, and is no padding: *row is its row. */
static bsm_status bag_row(const bags *b, int64_t i, int64_t *row) {
  *row = bsm_tensor_get_int(b->indices, i);
  if (*row >= 0 && *row < b->weight->sizes.d[0]) return BSM_OK;
  return BSM_FAIL(BSM_OUT_OF_RANGE,
                  "embedding_bag: Expected idx >= 0 && idx < num_embeddings "
                  "but found idx to be %lld",
                  (long long)*row);
}

/* Bag `at` of indices [from, to) into y and (max) where. */
static bsm_status fill_bag(const bags *b, const double *table, int64_t from,
                           int64_t to, double *y, int64_t *where,
                           int64_t *size) {
  *size = 0;
  for (int64_t i = from; i < to; i++) {
    int64_t row;
    BSM_TRY(bag_row(b, i, &row));
    if (row == b->padding) continue;
    const double *x = table + row * b->width;
    const double w = b->each ? bsm_tensor_get_double(b->each, i) : 1.0;
    for (int64_t k = 0; k < b->width; k++) {
      if (b->mode != BAG_MAX) {
        y[k] += w * x[k];
      } else if (*size == 0 || x[k] > y[k]) {
        y[k] = x[k];
        where[k] = row;
      }
    }
    ++*size;
  }
  if (b->mode != BAG_MEAN || *size == 0) return BSM_OK;
  for (int64_t k = 0; k < b->width; k++) y[k] /= (double)*size;
  return BSM_OK;
}

static bsm_status run_bags(bsm_op_ctx *cx, const bags *b, bsm_tensor **out) {
  BSM_TRY(bsm_op_charge(cx, b->n + b->count, b->width, 2));
  const double *table = bsm_op_load_all(cx, b->weight);
  double *y = bsm_op_load_all(cx, out[0]);
  int64_t *where =
      BSM_NEW_ARRAY(cx->arena, int64_t, (size_t)(b->count * b->width) + 1);
  double *bag = BSM_NEW_ARRAY(cx->arena, double, (size_t)b->n + 1);
  double *sizes = BSM_NEW_ARRAY(cx->arena, double, (size_t)b->count + 1);
  BSM_TRY_ALLOC(table);
  BSM_TRY_ALLOC(y);
  BSM_TRY_ALLOC(where);
  BSM_TRY_ALLOC(bag);
  BSM_TRY_ALLOC(sizes);
  const int64_t offsets = b->offsets->sizes.d[0];
  for (int64_t i = 0; i < b->count; i++) {
    const int64_t from = bsm_tensor_get_int(b->offsets, i);
    const int64_t to =
        i + 1 < offsets ? bsm_tensor_get_int(b->offsets, i + 1) : b->n;
    if (from < 0 || to > b->n || from > to || (i == 0 && from != 0)) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "offsets[0] has to be 0, and offsets must go up to the "
                      "%lld indices; got a bag from %lld to %lld",
                      (long long)b->n, (long long)from, (long long)to);
    }
    int64_t size;
    BSM_TRY(fill_bag(b, table, from, to, y + i * b->width, where + i * b->width,
                     &size));
    sizes[i] = (double)size;
    for (int64_t k = from; k < to; k++) bag[k] = (double)i;
  }
  bsm_op_store_all(out[0], y);
  if (bsm_tensor_numel(out[1]) > 0) bsm_op_store_all(out[1], bag);
  if (b->mode != BAG_SUM) bsm_op_store_all(out[2], sizes);
  if (b->mode == BAG_MEAN) bsm_op_store_all(out[3], sizes);
  if (b->mode != BAG_MAX || b->count * b->width == 0) return BSM_OK;
  for (int64_t i = 0; i < b->count * b->width; i++) y[i] = (double)where[i];
  bsm_op_store_all(out[3], y);
  return BSM_OK;
}

enum { BAG_PLAIN, BAG_OPTIONAL_PADDING, BAG_PADDING, BAG_GRADIENTS };

/* embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse,
 * per_sample_weights, include_last_offset[, padding_idx]). Results: the bags,
 * the bag of each index (PyTorch leaves it empty on its fast path), their
 * sizes, where the maxima were. */
static bsm_status op_embedding_bag(OP_PARAMS) {
  bags b = {.weight = op_tensor(&args[0]),
            .indices = op_tensor(&args[1]),
            .offsets = op_tensor(&args[2]),
            .each = op_tensor(&args[6]),
            .mode = op_int(&args[4]),
            .padding = -1,
            .last = op_bool(&args[7])};
  if (self->variant && !op_none(&args[8])) {
    b.padding = op_int(&args[8]);
    if (b.padding < 0 && self->variant == BAG_OPTIONAL_PADDING)
      b.padding += b.weight->sizes.d[0];
  }
  BSM_TRY(check_bags(&b));
  b.n = b.indices->sizes.d[0];
  b.width = b.weight->sizes.d[1];
  b.count = b.offsets->sizes.d[0] - (b.last ? 1 : 0);
  const bsm_dtype dtype = b.weight->dtype;
  const bool quick = b.mode == BAG_SUM && dtype != BSM_DTYPE_DOUBLE &&
                     b.padding < 0 && b.weight->strides[1] == 1;
  const bsm_dtype index =
      b.indices->dtype == BSM_DTYPE_INT32 && b.offsets->dtype == BSM_DTYPE_INT32
          ? BSM_DTYPE_INT32
          : BSM_DTYPE_INT64;
  /* Without gradients PyTorch does not cut the sizes of sums. */
  const bool uncut = b.mode == BAG_SUM && self->variant != BAG_GRADIENTS;
  const int64_t sizes = uncut ? b.offsets->sizes.d[0] : b.count;
  bsm_tensor *out[4];
  BSM_TRY(bsm_op_new(cx, dtype, op_dims2(b.count, b.width), &out[0]));
  BSM_TRY(bsm_op_new(cx, index, op_dims1(quick ? 0 : b.n), &out[1]));
  BSM_TRY(bsm_op_new(cx, index, op_dims1(sizes), &out[2]));
  BSM_TRY(bsm_op_new(
      cx, index,
      b.mode == BAG_MAX ? op_dims2(b.count, b.width) : op_dims1(sizes),
      &out[3]));
  for (int i = 0; i < 4; i++) outs[i] = bsm_iv_tensor(out[i]);
  return cx->meta ? BSM_OK : run_bags(cx, &b, out);
}

enum { RENORM, RENORM_IN_PLACE };

/* What a row takes that has no elements. */
enum { ROW_WORK = 512 };

/* embedding_renorm(self, indices, max_norm, norm_type): rows longer than
 * max_norm are shortened */
static bsm_status op_embedding_renorm(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *index = op_tensor(&args[1]);
  const double max = op_double(&args[2]), p = op_double(&args[3]);
  const bool in_place = self->variant == RENORM_IN_PLACE;
  if (t->sizes.rank != 2 || !is_index(index) ||
      !bsm_dtype_is_floating(t->dtype)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "embedding_renorm_ of %s with indices of dtype %s",
                    bsm_dims_str(t->sizes), bsm_op_type_name(index->dtype));
  }
  if (in_place) {
    BSM_TRY(bsm_op_writable(cx, t));
  } else {
    const bsm_tensor *from = t;
    BSM_TRY(bsm_op_new_like(cx, from->dtype, from, &t));
    if (!cx->meta) BSM_TRY(bsm_tensor_copy(t, from));
  }
  outs[0] = bsm_iv_tensor(t);
  if (cx->meta) return BSM_OK;
  const int64_t n = bsm_tensor_numel(index);
  bool *done = BSM_NEW_ARRAY(cx->arena, bool, (size_t)t->sizes.d[0] + 1);
  BSM_TRY_ALLOC(done);
  const int64_t count = t->sizes.d[0], most = n < count ? n : count;
  BSM_TRY(bsm_op_charge(cx, most, ROW_WORK + 48 * t->sizes.d[1], 1));
  bsm_op_ctx charged = *cx; /* all of it, as a part may not be written */
  charged.work = NULL;
  for (int64_t i = 0; i < n; i++) {
    const int64_t row = bsm_tensor_get_int(index, i);
    bsm_tensor *view, *norm, *scaled;
    if (row < 0 || row >= count) {
      return BSM_FAIL(BSM_OUT_OF_RANGE, "index out of range in self");
    }
    if (done[row]) continue;
    done[row] = true;
    BSM_TRY(bsm_op_select(cx, t, 0, row, &view));
    OP_CALL1(&charged, &norm, "aten::norm.Scalar", T(view), D(p));
    const double length = bsm_tensor_get_double(norm, 0);
    if (!(length > max)) continue;
    OP_CALL1(&charged, &scaled, "aten::mul.Scalar", T(view),
             D(max / (length + 1e-7)));
    BSM_TRY(bsm_tensor_copy(view, scaled));
  }
  return BSM_OK;
}

static const bsm_aten_op rows[] = {
    OP("aten::embedding_bag(Tensor weight, Tensor indices, Tensor offsets, "
       "bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? "
       "per_sample_weights=None, bool include_last_offset=False) -> (Tensor, "
       "Tensor, Tensor, Tensor)",
       op_embedding_bag, BAG_PLAIN, 0),
    OP("aten::embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor "
       "offsets, bool scale_grad_by_freq, int mode, bool sparse, Tensor? "
       "per_sample_weights, bool include_last_offset, int? padding_idx) -> "
       "(Tensor, Tensor, Tensor, Tensor)",
       op_embedding_bag, BAG_OPTIONAL_PADDING, 0),
    OP("aten::_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, "
       "bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? "
       "per_sample_weights=None, bool include_last_offset=False, int "
       "padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
       op_embedding_bag, BAG_GRADIENTS, 0),
    OP("aten::_embedding_bag_forward_only(Tensor weight, Tensor indices, "
       "Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool "
       "sparse=False, Tensor? per_sample_weights=None, bool "
       "include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, "
       "Tensor, Tensor)",
       op_embedding_bag, BAG_PADDING, 0),
    OP("aten::embedding_renorm_(Tensor(a!) self, Tensor indices, float "
       "max_norm, float norm_type) -> Tensor(a!)",
       op_embedding_renorm, RENORM_IN_PLACE, BSM_ATEN_INPLACE),
    OP("aten::embedding_renorm(Tensor self, Tensor indices, float max_norm, "
       "float norm_type) -> Tensor",
       op_embedding_renorm, RENORM, 0),
};
BSM_ATEN_TABLE_CALLING(embedding_bag, rows, &bsm_aten_ops_binary,
                       &bsm_aten_ops_reduce);
