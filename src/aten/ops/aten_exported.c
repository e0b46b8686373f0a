/* SPDX-License-Identifier: Apache-2.0 */
/* What programs of torch.export call and TorchScript does not: checks of
 * numbers and of tensors' metadata, functional forms of views, indexing under
 * a mask, memory formats as permutations. */
#include "aten/packed/aten_exported.h"
#include "aten/op_compose.h"

/* ---- checks ---- */

static bsm_status raise_unless(bool holds, bsm_str message) {
  if (holds) return BSM_OK;
  return BSM_FAIL(BSM_RAISED, "%.*s", (int)message.len, message.data);
}

static bool is_true(const bsm_ivalue *a) {
  return op_is_integral(a) ? op_int(a) != 0 : op_double(a) != 0.0;
}

/* _assert_scalar(self, assert_msg); with a token of order, which is returned */
static bsm_status op_assert_scalar(OP_PARAMS) {
  (void)cx;
  BSM_TRY(raise_unless(is_true(&args[0]), op_str(&args[1])));
  if (self->variant) outs[0] = args[2];
  return BSM_OK;
}

/* _functional_assert_async.msg(self, assert_msg, dep_token) */
static bsm_status op_functional_assert(OP_PARAMS) {
  (void)self;
  outs[0] = args[2];
  return bsm_op_call(cx, "aten::_assert_async.msg", args, 2, NULL, 0);
}

static bsm_status op_token(OP_PARAMS) {
  (void)args;
  (void)self;
  bsm_tensor *out;
  BSM_TRY(bsm_op_new(cx, BSM_DTYPE_FLOAT, op_dims1(0), &out));
  return op_return(outs, out);
}

static bool differs(const bsm_ivalue *expected, const int64_t *values,
                    int32_t count) {
  if (op_none(expected)) return false;
  if (op_list_len(expected) != (size_t)count) return true;
  for (int32_t i = 0; i < count; i++) {
    if (op_list_int(expected, (size_t)i) != values[i]) return true;
  }
  return false;
}

/* _assert_tensor_metadata(a, size, stride, dtype, *, device, layout). A device
 * is where the model was exported, which does not matter here; strides are a
 * matter of memory, and a result of ours may have others. */
static bsm_status op_assert_metadata(OP_PARAMS) {
  OP_UNUSED;
  enum { A, SIZE, STRIDE, DTYPE, DEVICE, LAYOUT };
  const bsm_tensor *t = op_tensor(&args[A]);
  if (differs(&args[SIZE], t->sizes.d, t->sizes.rank)) {
    return BSM_FAIL(BSM_RAISED, "Tensor sizes mismatch! Got: %s",
                    bsm_dims_str(t->sizes));
  }
  const bsm_dtype expected = op_dtype_or(&args[DTYPE], t->dtype);
  if (expected != t->dtype) {
    return BSM_FAIL(BSM_RAISED, "Tensor dtype mismatch! Expected: %s, Got: %s",
                    bsm_op_type_name(expected), bsm_op_type_name(t->dtype));
  }
  if (!op_none(&args[LAYOUT]) && op_int(&args[LAYOUT]) != 0) {
    return BSM_FAIL(BSM_RAISED, "Tensor layout mismatch! Got: Strided");
  }
  return BSM_OK;
}

enum { RANGE = 0, RANGE_FOR_SIZE = 1, RANGE_FUNCTIONAL = 2 };

/* sym_constrain_range(size, *, min, max); for_size: min is 0; functional: a
 * token besides, which is returned */
static bsm_status op_constrain_range(OP_PARAMS) {
  (void)cx;
  const bool for_size = self->variant & RANGE_FOR_SIZE;
  const int64_t size = op_int(&args[0]);
  const int64_t low = op_int_or(&args[1], for_size ? 0 : INT64_MIN);
  const int64_t high = op_int_or(&args[2], INT64_MAX);
  if (for_size && high <= 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Max value to constrain_range_for_size must be greater "
                    "than 2. got: %lld",
                    (long long)high);
  }
  if (high < low) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Max must be greater than or equal to min. Got min=%lld "
                    "max=%lld",
                    (long long)low, (long long)high);
  }
  if (size < low || size > high) {
    return BSM_FAIL(BSM_RAISED,
                    "Invalid value range for %lld between [%lld, %lld].",
                    (long long)size, (long long)low, (long long)high);
  }
  if (self->variant & RANGE_FUNCTIONAL) outs[0] = args[3];
  return BSM_OK;
}

/* _linalg_check_errors(info, api_name, *, is_matrix) */
static bsm_status op_check_errors(OP_PARAMS) {
  (void)outs;
  (void)self;
  const bsm_tensor *info = op_tensor(&args[0]);
  const bsm_str name = op_str(&args[1]);
  for (int64_t i = 0; !cx->meta && i < bsm_tensor_numel(info); i++) {
    const int64_t code = (int64_t)bsm_tensor_get_double(info, i);
    if (code == 0) continue;
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%.*s: (Batch element %lld): the algorithm failed with "
                    "code %lld",
                    (int)name.len, name.data, (long long)i, (long long)code);
  }
  return BSM_OK;
}

/* ---- functional forms of views ---- */

enum {
  COPY_RESHAPE,
  COPY_STRIDED,
  COPY_AS_REAL,
  COPY_AS_COMPLEX,
  COPY_CONJ,
  COPY_NEG,
  COPY_ALL
};

static bsm_status op_view_copy(OP_PARAMS) {
  static const struct {
    const char *name;
    size_t args;
  } views[] = {
      [COPY_RESHAPE] = {"aten::reshape", 2},
      [COPY_STRIDED] = {"aten::as_strided", 3},
      [COPY_AS_REAL] = {"aten::view_as_real", 1},
      [COPY_AS_COMPLEX] = {"aten::view_as_complex", 1},
      [COPY_CONJ] = {"aten::_conj", 1},
      [COPY_NEG] = {"aten::neg", 1},
      [COPY_ALL] = {"aten::alias", 1},
  };
  const int kind = self->variant;
  bsm_ivalue call[4] = {args[0], NONE, NONE, NONE}, view;
  for (size_t i = 1; i < views[kind].args; i++) call[i] = args[i];
  BSM_TRY(bsm_op_call(cx, views[kind].name, call,
                      kind == COPY_STRIDED ? 4 : views[kind].args, &view, 1));
  bsm_tensor *out;
  BSM_TRY(bsm_tensor_clone(cx->arena, op_tensor(&view), &out));
  return op_return(outs, out);
}

/* ---- memory ---- */

/* empty_permuted(size, physical_layout, *, tail): zeros, with the dims in
 * memory in that order. */
static bsm_status op_empty_permuted(OP_PARAMS) {
  (void)self;
  bsm_dims dims, order, strides = {0};
  uint32_t seen = 0;
  int64_t step = 1;
  BSM_TRY(bsm_op_dims(&args[0], &dims));
  BSM_TRY(bsm_op_dims(&args[1], &order));
  if (order.rank != dims.rank) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Number of dimensions in size does not match the length of "
                    "the physical_layout; i.e. len(size) = %d is not equal to "
                    "len(physical_layout) = %d",
                    (int)dims.rank, (int)order.rank);
  }
  strides.rank = dims.rank;
  for (int32_t i = order.rank - 1; i >= 0; i--) {
    const int64_t d = order.d[i];
    if (d < 0 || d >= dims.rank || (seen & 1u << d)) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "Dimension out of range or twice");
    }
    seen |= 1u << d;
    strides.d[d] = step;
    if (!bsm_i64_mul(step, dims.d[d] > 1 ? dims.d[d] : 1, &step)) {
      return BSM_FAIL(BSM_LIMIT, "empty_permuted");
    }
  }
  bsm_ivalue list;
  BSM_TRY(op_ints(cx, strides, &list));
  const bsm_ivalue strided[] = {args[0], list,    args[2],
                                args[3], args[4], args[5]};
  return bsm_op_call(cx, "aten::empty_strided", strided, 6, outs, 1);
}

/* new_empty_strided(self, size, stride, *, tail) */
static bsm_status op_new_empty_strided(OP_PARAMS) {
  (void)self;
  const bsm_ivalue dtype =
      op_none(&args[3]) ? I(op_tensor(&args[0])->dtype) : args[3];
  const bsm_ivalue strided[] = {args[1], args[2], dtype,
                                args[4], args[5], args[6]};
  return bsm_op_call(cx, "aten::empty_strided", strided, 6, outs, 1);
}

/* ---- indexing ---- */

/* The indices, brought into the range of their dims. */
static bsm_status clamped(bsm_op_ctx *cx, const bsm_tensor *t,
                          const bsm_ivalue *indices, bsm_ivalue *out) {
  const size_t n = op_list_len(indices);
  bsm_list *list;
  BSM_TRY(bsm_list_new(cx->arena, indices->u.list->elem_type, n, &list));
  *out = bsm_iv_list(list);
  for (size_t i = 0; i < n; i++) {
    bsm_tensor *index = op_list_tensor(indices, i);
    list->items[i] = T(index);
    if (!index || i >= (size_t)t->sizes.rank) continue;
    const int64_t size = t->sizes.d[i];
    OP_CALL1(cx, &index, "aten::clamp", T(index), I(-size), I(size - 1));
    list->items[i] = T(index);
  }
  return BSM_OK;
}

/* _unsafe_masked_index(self, mask, indices, fill): where the mask is false, an
 * index may be anything, and the result is `fill`. */
static bsm_status op_masked_index(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *hidden, *out;
  bsm_ivalue indices;
  BSM_TRY(clamped(cx, t, &args[2], &indices));
  OP_CALL1(cx, &out, "aten::_unsafe_index.Tensor", T(t), indices);
  OP_CALL1(cx, &hidden, "aten::logical_not", args[1]);
  OP_CALL1(cx, &out, "aten::masked_fill.Scalar", T(out), T(hidden), args[3]);
  return op_return(outs, out);
}

/* _unsafe_masked_index_put_accumulate(self, mask, indices, values) */
static bsm_status op_masked_put(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *hidden, *values, *out;
  bsm_ivalue indices;
  if (bsm_tensor_numel(t) == 0) {
    BSM_TRY(bsm_tensor_clone(cx->arena, t, &out));
    return op_return(outs, out);
  }
  BSM_TRY(clamped(cx, t, &args[2], &indices));
  OP_CALL1(cx, &hidden, "aten::logical_not", args[1]);
  OP_CALL1(cx, &values, "aten::masked_fill.Scalar", args[3], T(hidden), I(0));
  OP_CALL1(cx, &out, "aten::_unsafe_index_put", T(t), indices, T(values),
           B(true));
  return op_return(outs, out);
}

/* ---- products ---- */

/* _trilinear(i1, i2, i3, expand1, expand2, expand3, sumdim, unroll_dim): the
 * product of the three with new dims put in, summed over sumdim. */
static bsm_status op_trilinear(OP_PARAMS) {
  (void)self;
  bsm_tensor *product = NULL;
  for (size_t i = 0; i < 3; i++) {
    bsm_tensor *t = op_tensor(&args[i]);
    for (size_t k = 0; k < op_list_len(&args[3 + i]); k++) {
      OP_CALL1(cx, &t, "aten::unsqueeze", T(t),
               I(op_list_int(&args[3 + i], k)));
    }
    if (product) BSM_TRY(bsm_op_mul(cx, product, t, &product));
    if (!product) product = t;
  }
  if (op_list_len(&args[6]) > 0) {
    OP_CALL1(cx, &product, "aten::sum.dim_IntList", T(product), args[6],
             B(false), NONE);
  }
  return op_return(outs, product);
}

/* _int_mm(self, mat2): int8 matrices, sums of int32 */
static bsm_status op_int_mm(OP_PARAMS) {
  (void)self;
  bsm_tensor *a = op_tensor(&args[0]), *b = op_tensor(&args[1]), *out;
  if (a->dtype != BSM_DTYPE_INT8 || b->dtype != BSM_DTYPE_INT8) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Expected self dtype to be of type int8 but got %s",
                    bsm_op_type_name(a->dtype));
  }
  BSM_TRY(bsm_op_cast(cx, a, BSM_DTYPE_INT32, &a));
  BSM_TRY(bsm_op_cast(cx, b, BSM_DTYPE_INT32, &b));
  OP_CALL1(cx, &out, "aten::mm", T(a), T(b));
  return op_return(outs, out);
}

/* _weight_int8pack_mm(self, mat2, scales): self . mat2^T, columns scaled */
static bsm_status op_int8pack_mm(OP_PARAMS) {
  (void)self;
  bsm_tensor *a = op_tensor(&args[0]), *b = op_tensor(&args[1]), *out;
  const bsm_dtype dtype = a->dtype;
  BSM_TRY(bsm_op_cast(cx, b, dtype, &b));
  OP_CALL1(cx, &b, "aten::t", T(b));
  BSM_TRY(bsm_op_matmul(cx, a, b, &out));
  BSM_TRY(bsm_op_mul(cx, out, op_tensor(&args[2]), &out));
  BSM_TRY(bsm_op_cast(cx, out, dtype, &out));
  return op_return(outs, out);
}

/* ---- norms ---- */

/* _fused_rms_norm(input, normalized_shape, weight, eps): also 1 / rms */
static bsm_status op_fused_rms_norm(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out, *wide, *squares;
  bsm_dims dims = {0};
  bsm_ivalue last;
  OP_CALL1(cx, &out, "aten::rms_norm", args[0], args[1], args[2], args[3]);
  const bsm_dtype dtype =
      t->dtype == BSM_DTYPE_DOUBLE ? BSM_DTYPE_DOUBLE : BSM_DTYPE_FLOAT;
  const double epsilon = t->dtype == BSM_DTYPE_DOUBLE ? 0x1p-52 : 0x1p-23;
  const double eps = op_none(&args[3]) ? epsilon : op_double(&args[3]);
  dims.rank = (int32_t)op_list_len(&args[1]);
  for (int32_t i = 0; i < dims.rank; i++) dims.d[i] = -1 - i;
  BSM_TRY(op_ints(cx, dims, &last));
  BSM_TRY(bsm_op_cast(cx, t, dtype, &wide));
  BSM_TRY(bsm_op_mul(cx, wide, wide, &squares));
  OP_CALL1(cx, &squares, "aten::mean.dim", T(squares), last, B(true), NONE);
  OP_CALL1(cx, &squares, "aten::add.Scalar", T(squares), D(eps), I(1));
  OP_CALL1(cx, &squares, "aten::rsqrt", T(squares));
  outs[0] = T(out);
  outs[1] = T(squares);
  return BSM_OK;
}

/* _batch_norm_no_update(input, weight, bias, running_mean, running_var,
 * momentum, eps): what a backward pass keeps is empty */
static bsm_status op_batch_norm_no_update(OP_PARAMS) {
  (void)self;
  bsm_tensor *reserve;
  const bsm_ivalue norm[] = {args[0], args[1],  args[2], args[3],
                             args[4], B(false), args[5], args[6]};
  BSM_TRY(bsm_op_call(cx, "aten::native_batch_norm", norm, 8, outs, 3));
  BSM_TRY(bsm_op_new(cx, BSM_DTYPE_UINT8, op_dims1(0), &reserve));
  outs[3] = T(reserve);
  return BSM_OK;
}

/* rrelu_with_noise_functional(self, noise, lower, upper, training, generator):
 * also the noise, which only training changes */
static bsm_status op_rrelu_functional(OP_PARAMS) {
  (void)self;
  bsm_tensor *out, *noise;
  if (op_bool(&args[4])) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "rrelu in training mode is not supported: call .eval() on "
                    "the model before saving it");
  }
  if (!bsm_dims_equal(op_tensor(&args[0])->sizes, op_tensor(&args[1])->sizes)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "noise tensor shape must match self tensor shape");
  }
  OP_CALL1(cx, &out, "aten::rrelu", args[0], args[2], args[3], B(false), NONE);
  BSM_TRY(bsm_tensor_clone(cx->arena, op_tensor(&args[1]), &noise));
  outs[0] = T(out);
  outs[1] = T(noise);
  return BSM_OK;
}

static const bsm_aten_op rows[] = {
    OP("aten::_assert_scalar(Scalar self, str assert_msg) -> ()",
       op_assert_scalar, 0, BSM_ATEN_EFFECT),
    OP("aten::_functional_assert_scalar(Scalar self, str assert_msg, Tensor "
       "dep_token) -> Tensor",
       op_assert_scalar, 1, BSM_ATEN_EFFECT),
    OP("aten::_functional_assert_async.msg(Tensor self, str assert_msg, Tensor "
       "dep_token) -> Tensor",
       op_functional_assert, 0, BSM_ATEN_EFFECT),
    OP("aten::_make_dep_token(*, ScalarType? dtype=None, Layout? layout=None, "
       "Device? device=None, bool? pin_memory=None, MemoryFormat? "
       "memory_format=None) -> Tensor",
       op_token, 0, 0),
    OP("aten::_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? "
       "stride=None, ScalarType? dtype=None, *, Device? device=None, Layout? "
       "layout=None) -> ()",
       op_assert_metadata, 0, 0),
    OP("aten::sym_constrain_range(Scalar size, *, int? min=None, int? "
       "max=None) "
       "-> ()",
       op_constrain_range, RANGE, BSM_ATEN_EFFECT),
    OP("aten::sym_constrain_range_for_size(Scalar size, *, int? min=None, int? "
       "max=None) -> ()",
       op_constrain_range, RANGE_FOR_SIZE, BSM_ATEN_EFFECT),
    OP("aten::_functional_sym_constrain_range(Scalar size, int? min, int? max, "
       "Tensor dep_token) -> Tensor",
       op_constrain_range, RANGE_FUNCTIONAL, BSM_ATEN_EFFECT),
    OP("aten::_functional_sym_constrain_range_for_size(Scalar size, int? min, "
       "int? max, Tensor dep_token) -> Tensor",
       op_constrain_range, RANGE_FUNCTIONAL + RANGE_FOR_SIZE, BSM_ATEN_EFFECT),
    OP("aten::_linalg_check_errors(Tensor info, str api_name, *, bool "
       "is_matrix) -> ()",
       op_check_errors, 0, BSM_ATEN_EFFECT),
    OP("aten::_reshape_copy(Tensor self, SymInt[] size) -> Tensor",
       op_view_copy, COPY_RESHAPE, 0),
    OP("aten::_reshape_alias_copy(Tensor self, SymInt[] size, SymInt[] stride) "
       "-> Tensor",
       op_view_copy, COPY_STRIDED, 0),
    OP("aten::view_as_real_copy(Tensor self) -> Tensor", op_view_copy,
       COPY_AS_REAL, 0),
    OP("aten::view_as_complex_copy(Tensor self) -> Tensor", op_view_copy,
       COPY_AS_COMPLEX, 0),
    OP("aten::_conj_copy(Tensor self) -> Tensor", op_view_copy, COPY_CONJ, 0),
    OP("aten::_neg_view_copy(Tensor self) -> Tensor", op_view_copy, COPY_NEG,
       0),
    OP("aten::_lazy_clone(Tensor self) -> Tensor", op_view_copy, COPY_ALL, 0),
    OP("aten::empty_permuted(SymInt[] size, int[] physical_layout, *, "
       "ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
       "bool? "
       "pin_memory=None) -> Tensor",
       op_empty_permuted, 0, 0),
    OP("aten::new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, "
       "*, "
       "ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
       "bool? "
       "pin_memory=None) -> Tensor",
       op_new_empty_strided, 0, 0),
    OP("aten::_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] "
       "indices, "
       "Scalar fill) -> Tensor",
       op_masked_index, 0, 0),
    OP("aten::_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, "
       "Tensor?[] indices, Tensor values) -> Tensor",
       op_masked_put, 0, 0),
    OP("aten::_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] "
       "expand2, int[] expand3, int[] sumdim, int unroll_dim=1) -> Tensor",
       op_trilinear, 0, 0),
    OP("aten::_int_mm(Tensor self, Tensor mat2) -> Tensor", op_int_mm, 0, 0),
    OP("aten::_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) -> "
       "Tensor",
       op_int8pack_mm, 0, 0),
    OP("aten::_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? "
       "weight, float? eps) -> (Tensor, Tensor)",
       op_fused_rms_norm, 0, 0),
    OP("aten::_batch_norm_no_update(Tensor input, Tensor? weight, Tensor? "
       "bias, "
       "Tensor? running_mean, Tensor? running_var, float momentum, float eps) "
       "-> "
       "(Tensor, Tensor, Tensor, Tensor)",
       op_batch_norm_no_update, 0, 0),
    OP("aten::rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar "
       "lower=0.125, Scalar upper=0.33333333333333331, bool training=False, "
       "Generator? generator=None) -> (Tensor, Tensor noise_out)",
       op_rrelu_functional, 0, 0),
};
BSM_ATEN_TABLE_CALLING(exported, rows, &bsm_aten_ops_activation,
                       &bsm_aten_ops_attribute, &bsm_aten_ops_binary,
                       &bsm_aten_ops_complex, &bsm_aten_ops_create,
                       &bsm_aten_ops_index, &bsm_aten_ops_matmul,
                       &bsm_aten_ops_norm, &bsm_aten_ops_reduce,
                       &bsm_aten_ops_unary, &bsm_aten_ops_view);
