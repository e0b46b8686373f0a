/* SPDX-License-Identifier: Apache-2.0 */
/* Packed sequences: the rows of samples of different lengths, step by step,
 * without padding. The longest sample comes first. */
#include "aten/packed/aten_packed_sequence.h"
#include "aten/op_kit.h"

/* The lengths, checked as PyTorch does. */
static bsm_status read_lengths(bsm_op_ctx *cx, const bsm_tensor *lengths,
                               int64_t batch, const int64_t **out) {
  if (lengths->dtype != BSM_DTYPE_INT64 || lengths->sizes.rank != 1) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "'lengths' argument should be a 1D CPU int64 tensor, but "
                    "got %dD cpu %s tensor",
                    lengths->sizes.rank, bsm_op_type_name(lengths->dtype));
  }
  if (lengths->sizes.d[0] != batch) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Expected `len(lengths)` to be equal to batch_size, but "
                    "got %lld (batch_size=%lld)",
                    (long long)lengths->sizes.d[0], (long long)batch);
  }
  if (bsm_tensor_is_meta(lengths)) {
    return BSM_FAIL(BSM_DATA_DEPENDENT,
                    "the lengths of a packed sequence are known only when the "
                    "model runs, and the size of its data depends on them: "
                    "compile with constant lengths, or without packing");
  }
  int64_t *values = BSM_NEW_ARRAY(cx->arena, int64_t, (size_t)batch + 1);
  BSM_TRY_ALLOC(values);
  for (int64_t i = 0; i < batch; i++) {
    values[i] = bsm_tensor_get_int(lengths, i);
  }
  if (batch > 0 && values[batch - 1] <= 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Length of all samples has to be greater than 0, but found "
                    "an element in 'lengths' that is <= 0");
  }
  for (int64_t i = 1; i < batch; i++) {
    if (values[i] > values[i - 1]) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "`lengths` array must be sorted in decreasing order when "
                      "`enforce_sorted` is True. You can pass "
                      "`enforce_sorted=False` to pack_padded_sequence and/or "
                      "pack_sequence to sidestep this requirement if you do "
                      "not need ONNX exportability.");
    }
  }
  *out = values;
  return BSM_OK;
}

/* A tensor with data even when others are meta: sizes of steps and lengths
 * are numbers that shapes depend on. */
static bsm_status new_numbers(bsm_op_ctx *cx, int64_t count, int64_t **values,
                              bsm_tensor **out) {
  BSM_TRY(
      bsm_tensor_new(cx->arena, BSM_DTYPE_INT64, op_dims1(count), false, out));
  *values = bsm_tensor_data(*out);
  return BSM_OK;
}

/* Copies the row of each (step, sample), the rest of `from`'s dims, to or from
 * the packed rows. */
static void copy_rows(const bsm_tensor *padded, const bsm_tensor *packed,
                      const int64_t *sizes, int64_t length, bool pack) {
  const size_t item = bsm_dtype_size(padded->dtype);
  const int32_t rank = padded->sizes.rank;
  int64_t row_size = 1, index[BSM_MAX_RANK];
  for (int32_t i = 2; i < rank; i++) row_size *= padded->sizes.d[i];
  char *a = bsm_tensor_data(padded), *b = bsm_tensor_data(packed);
  for (int64_t t = 0, row = 0; t < length; t++) {
    for (int64_t s = 0; s < sizes[t]; s++, row++) {
      for (int64_t k = 0; k < row_size; k++) {
        int64_t rest = k, at = t * padded->strides[0] + s * padded->strides[1];
        int64_t to = row * packed->strides[0];
        for (int32_t i = rank - 1; i >= 2; i--) {
          index[i] = rest % padded->sizes.d[i];
          rest /= padded->sizes.d[i];
          at += index[i] * padded->strides[i];
          to += index[i] * packed->strides[i - 1];
        }
        char *p = a + (size_t)at * item, *q = b + (size_t)to * item;
        memcpy(pack ? q : p, pack ? p : q, item);
      }
    }
  }
}

/* _pack_padded_sequence(input, lengths, batch_first) -> (data, batch_sizes) */
static bsm_status op_pack(OP_PARAMS) {
  bsm_tensor *input = op_tensor(&args[0]), *data, *sizes;
  const int64_t *lengths;
  int64_t *counts;
  OP_UNUSED;
  if (input->sizes.rank < 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Dimension out of range (expected to be in range of [%d, "
                    "%d], but got 1)",
                    -input->sizes.rank, input->sizes.rank - 1);
  }
  if (op_bool(&args[2])) BSM_TRY(bsm_op_transpose(cx, input, 0, 1, &input));
  if (bsm_tensor_numel(input) == 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "Cannot pack empty tensors.");
  }
  const int64_t batch = input->sizes.d[1];
  BSM_TRY(read_lengths(cx, op_tensor(&args[1]), batch, &lengths));
  if (lengths[0] > input->sizes.d[0]) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "a sequence of length %lld in an input of %lld steps",
                    (long long)lengths[0], (long long)input->sizes.d[0]);
  }
  BSM_TRY(new_numbers(cx, lengths[0], &counts, &sizes));
  int64_t rows = 0, active = batch;
  for (int64_t t = 0; t < lengths[0]; t++) {
    while (active > 0 && lengths[active - 1] <= t) active--;
    counts[t] = active;
    rows += active;
  }
  bsm_dims dims = {.rank = input->sizes.rank - 1, .d = {rows}};
  for (int32_t i = 1; i < dims.rank; i++) dims.d[i] = input->sizes.d[i + 1];
  BSM_TRY(bsm_op_new(cx, input->dtype, dims, &data));
  if (!cx->meta) copy_rows(input, data, counts, lengths[0], true);
  outs[0] = bsm_iv_tensor(data);
  outs[1] = bsm_iv_tensor(sizes);
  return BSM_OK;
}

static bsm_status check_sizes(const bsm_tensor *sizes, int64_t rows) {
  if (sizes->dtype != BSM_DTYPE_INT64 || sizes->sizes.rank != 1 ||
      sizes->sizes.d[0] == 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "expected a 1D Long tensor of batch sizes, got %s of %s",
                    bsm_dims_str(sizes->sizes), bsm_op_type_name(sizes->dtype));
  }
  if (bsm_tensor_is_meta(sizes)) {
    return BSM_FAIL(BSM_DATA_DEPENDENT,
                    "the lengths of a packed sequence are known only when the "
                    "model runs");
  }
  int64_t sum = 0, last = INT64_MAX;
  for (int64_t t = 0; t < sizes->sizes.d[0]; t++) {
    const int64_t n = bsm_tensor_get_int(sizes, t);
    if (n < 1 || n > last || n > rows - sum) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "batch size %lld of step %lld, after %lld of %lld rows",
                      (long long)n, (long long)t, (long long)sum,
                      (long long)rows);
    }
    last = n;
    sum += n;
  }
  return BSM_OK;
}

/* All elements of a contiguous tensor. */
static void fill(const bsm_tensor *t, const bsm_ivalue *value) {
  const size_t item = bsm_dtype_size(t->dtype);
  const int64_t count = bsm_tensor_numel(t);
  char *at = bsm_tensor_data(t);
  for (int64_t i = 0; i < count; i++, at += item) {
    if (bsm_dtype_is_floating(t->dtype)) {
      bsm_store1_f64(t->dtype, at, op_double(value));
    } else {
      const bool is_true = t->dtype == BSM_DTYPE_BOOL && op_double(value) != 0;
      bsm_store1_i64(t->dtype, at, is_true ? 1 : op_int(value));
    }
  }
}

/* _pad_packed_sequence(data, batch_sizes, batch_first, padding_value,
 * total_length) -> (padded, lengths) */
static bsm_status op_pad(OP_PARAMS) {
  bsm_tensor *data = op_tensor(&args[0]), *sizes = op_tensor(&args[1]);
  bsm_tensor *out, *lengths;
  const int64_t total = op_int(&args[4]);
  int64_t *counts, *values;
  OP_UNUSED;
  if (data->sizes.rank < 1 || data->sizes.rank >= BSM_MAX_RANK) {
    return BSM_FAIL(data->sizes.rank < 1 ? BSM_INVALID_ARGUMENT : BSM_LIMIT,
                    "packed data of shape %s", bsm_dims_str(data->sizes));
  }
  BSM_TRY(bsm_op_real(data));
  BSM_TRY(check_sizes(sizes, data->sizes.d[0]));
  const int64_t length = sizes->sizes.d[0];
  const int64_t batch = bsm_tensor_get_int(sizes, 0);
  if (total > 0 && total < length) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Expected total_length to be at least the length of the "
                    "longest sequence in input, but got total_length=%lld and "
                    "max sequence length being %lld",
                    (long long)total, (long long)length);
  }
  BSM_TRY(new_numbers(cx, batch, &values, &lengths));
  counts = BSM_NEW_ARRAY(cx->arena, int64_t, (size_t)length);
  BSM_TRY_ALLOC(counts);
  for (int64_t t = 0; t < length; t++) {
    counts[t] = bsm_tensor_get_int(sizes, t);
    for (int64_t b = 0; b < counts[t]; b++) values[b] = t + 1;
  }
  bsm_dims dims = {.rank = data->sizes.rank + 1,
                   .d = {total > 0 ? total : length, batch}};
  for (int32_t i = 2; i < dims.rank; i++) dims.d[i] = data->sizes.d[i - 1];
  BSM_TRY(bsm_op_new(cx, data->dtype, dims, &out));
  if (!cx->meta) {
    fill(out, &args[3]);
    copy_rows(out, data, counts, length, false);
  }
  if (op_bool(&args[2])) BSM_TRY(bsm_op_transpose(cx, out, 0, 1, &out));
  outs[0] = bsm_iv_tensor(out);
  outs[1] = bsm_iv_tensor(lengths);
  return BSM_OK;
}

static const bsm_aten_op rows[] = {
    OP("aten::_pack_padded_sequence(Tensor input, Tensor lengths, bool "
       "batch_first) -> (Tensor, Tensor)",
       op_pack, 0, 0),
    OP("aten::_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool "
       "batch_first, Scalar padding_value, int total_length) -> (Tensor, "
       "Tensor)",
       op_pad, 0, 0),
};
BSM_ATEN_TABLE(packed_sequence, rows);
