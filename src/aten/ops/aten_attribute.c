/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a tensor without its values, and single values of it. */
#include "aten/packed/aten_attribute.h"
#include "aten/op_kit.h"

enum {
  ATTR_DIM,
  ATTR_NUMEL,
  ATTR_LEN,
  ATTR_OFFSET,
  ATTR_ITEMSIZE,
  ATTR_NBYTES,
  ATTR_DTYPE,
  ATTR_LAYOUT,
  ATTR_VERSION,
  ATTR_GET_DEVICE
};

static bsm_status op_int_attribute(OP_PARAMS) {
  (void)cx;
  const bsm_tensor *t = op_tensor(&args[0]);
  int64_t v = 0;
  switch (self->variant) {
    case ATTR_DIM:
      v = t->sizes.rank;
      break;
    case ATTR_NUMEL:
      v = bsm_tensor_numel(t);
      break;
    case ATTR_LEN:
      if (t->sizes.rank == 0) {
        return BSM_FAIL(BSM_INVALID_ARGUMENT, "len() of a 0-d tensor");
      }
      v = t->sizes.d[0];
      break;
    case ATTR_OFFSET:
      v = t->offset;
      break;
    case ATTR_ITEMSIZE:
      v = (int64_t)bsm_dtype_size(t->dtype);
      break;
    case ATTR_NBYTES:
      v = bsm_tensor_numel(t) * (int64_t)bsm_dtype_size(t->dtype);
      break;
    case ATTR_DTYPE:
      v = t->dtype;
      break;
    case ATTR_GET_DEVICE:
      v = t->device_type ? t->device_index : -1;
      break;
    default: /* strided layout; version 0 */
      break;
  }
  outs[0] = bsm_iv_int(v);
  return BSM_OK;
}

enum { LIST_SIZE, LIST_STRIDE };

static bsm_status op_list_attribute(OP_PARAMS) {
  const bsm_tensor *t = op_tensor(&args[0]);
  return bsm_iv_int_list(cx->arena,
                         self->variant == LIST_SIZE ? t->sizes.d : t->strides,
                         (size_t)t->sizes.rank, &outs[0]);
}

static bsm_status op_dim_attribute(OP_PARAMS) {
  (void)cx;
  const bsm_tensor *t = op_tensor(&args[0]);
  int dim;
  if (t->sizes.rank == 0) {
    return BSM_FAIL(BSM_OUT_OF_RANGE,
                    "Dimension specified as %lld but tensor has no dimensions",
                    (long long)op_int(&args[1]));
  }
  BSM_TRY(bsm_op_wrap_dim(op_int(&args[1]), t->sizes.rank, &dim));
  outs[0] = bsm_iv_int(self->variant == LIST_SIZE ? t->sizes.d[dim]
                                                  : t->strides[dim]);
  return BSM_OK;
}

enum {
  BOOL_FLOATING,
  BOOL_COMPLEX,
  BOOL_SIGNED,
  BOOL_CPU,
  BOOL_CUDA,
  BOOL_CONTIGUOUS,
  BOOL_DENSE,
  BOOL_QUANTIZED,
  BOOL_LEAF,
  BOOL_FALSE
};

static bsm_status op_bool_attribute(OP_PARAMS) {
  (void)cx;
  const bsm_tensor *t = op_tensor(&args[0]);
  bool v = false;
  switch (self->variant) {
    case BOOL_FLOATING:
      v = bsm_dtype_is_floating(t->dtype);
      break;
    case BOOL_COMPLEX:
      v = bsm_dtype_is_complex(t->dtype);
      break;
    case BOOL_SIGNED:
      v = t->dtype != BSM_DTYPE_UINT8 && t->dtype != BSM_DTYPE_BOOL;
      break;
    case BOOL_CPU:
      v = t->device_type == 0;
      break;
    case BOOL_CUDA:
      v = t->device_type == 1;
      break;
    case BOOL_CONTIGUOUS:
      v = bsm_tensor_is_contiguous(t);
      break;
    case BOOL_DENSE:
      v = bsm_op_is_dense(t);
      break;
    case BOOL_LEAF:
      v = true;
      break;
    case BOOL_QUANTIZED:
      v = t->quantizer != NULL;
      break;
    default: /* what never holds here: sparse, requires_grad, ... */
      break;
  }
  outs[0] = bsm_iv_bool(v);
  return BSM_OK;
}

static bsm_status op_contiguous_format(OP_PARAMS) {
  (void)cx;
  (void)self;
  const bsm_tensor *t = op_tensor(&args[0]);
  outs[0] = bsm_iv_bool(op_int(&args[1]) == 0 ? bsm_tensor_is_contiguous(t)
                                              : bsm_tensor_is_channels_last(t));
  return BSM_OK;
}

static bsm_status op_same_size(OP_PARAMS) {
  (void)cx;
  (void)self;
  outs[0] = bsm_iv_bool(
      bsm_dims_equal(op_tensor(&args[0])->sizes, op_tensor(&args[1])->sizes));
  return BSM_OK;
}

static bsm_status op_device(OP_PARAMS) {
  (void)cx;
  (void)self;
  const bsm_tensor *t = op_tensor(&args[0]);
  outs[0] = (bsm_ivalue){BSM_IVALUE_DEVICE,
                         {.device = {t->device_type, t->device_index}}};
  return BSM_OK;
}

static bsm_status op_device_type(OP_PARAMS) {
  (void)self;
  static const char *const names[] = {"cpu", "cuda", "other"};
  const int type = args[0].u.device.type;
  return bsm_iv_string(
      cx->arena, bsm_str_of(names[type >= 0 && type < 3 ? type : 2]), &outs[0]);
}

static bsm_status op_device_index(OP_PARAMS) {
  (void)cx;
  (void)self;
  const int index = args[0].u.device.index;
  outs[0] = index < 0 ? bsm_iv_none() : bsm_iv_int(index);
  return BSM_OK;
}

/* device("cuda:0"), device("cuda", 0) */
static bsm_status op_make_device(OP_PARAMS) {
  (void)cx;
  (void)self;
  const bsm_str s = op_str(&args[0]);
  const char *colon = memchr(s.data, ':', s.len);
  const bsm_str name = {s.data, colon ? (size_t)(colon - s.data) : s.len};
  int64_t index = -1;
  bool ok = name.len > 0;
  if (colon) {
    ok =
        ok && bsm_parse_i64((bsm_str){colon + 1, s.len - name.len - 1}, &index);
  }
  if (self->variant) index = op_int(&args[1]);
  if (!ok || index < -1 || index > 127) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "Invalid device string: '%.*s'",
                    (int)s.len, s.data);
  }
  const int8_t type = bsm_str_eq(name, BSM_STR("cpu"))    ? 0
                      : bsm_str_eq(name, BSM_STR("cuda")) ? 1
                                                          : 2;
  outs[0] = (bsm_ivalue){BSM_IVALUE_DEVICE, {.device = {type, (int8_t)index}}};
  return BSM_OK;
}

/* ---- one value ---- */

enum {
  ITEM_SCALAR,
  ITEM_INT,
  ITEM_FLOAT,
  ITEM_BOOL,
  ITEM_IMPLICIT_INT,
  ITEM_IMPLICIT_FLOAT,
  ITEM_IMPLICIT_SCALAR
};

static bsm_ivalue number_of(const bsm_tensor *t) {
  if (bsm_dtype_is_complex(t->dtype)) {
    bsm_c128 v;
    bsm_load_c128(t->dtype, bsm_tensor_data(t), 0, 1, &v);
    return (bsm_ivalue){BSM_IVALUE_COMPLEX, {.c = {v.re, v.im}}};
  }
  if (t->dtype == BSM_DTYPE_BOOL) {
    return bsm_iv_bool(bsm_tensor_get_int(t, 0) != 0);
  }
  return bsm_dtype_is_integral(t->dtype, false)
             ? bsm_iv_int(bsm_tensor_get_int(t, 0))
             : bsm_iv_double(bsm_tensor_get_double(t, 0));
}

static bsm_status check_implicit(int32_t variant, const bsm_tensor *t) {
  if (variant < ITEM_IMPLICIT_INT) return BSM_OK;
  if (t->sizes.rank != 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Cannot input a tensor of dimension other than 0 as a "
                    "scalar argument");
  }
  if (variant == ITEM_IMPLICIT_INT && !bsm_dtype_is_integral(t->dtype, false)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Cannot input a tensor of type %s as an integral argument",
                    bsm_op_type_name(t->dtype));
  }
  return BSM_OK;
}

static bsm_status op_item(OP_PARAMS) {
  const bsm_tensor *t = op_tensor(&args[0]);
  const int64_t n = bsm_tensor_numel(t);
  if (n != 1) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    self->variant == ITEM_BOOL
                        ? "Boolean value of Tensor with %lld values is "
                          "ambiguous"
                        : "a Tensor with %lld elements cannot be converted to "
                          "Scalar",
                    (long long)n);
  }
  BSM_TRY(bsm_op_number(t));
  BSM_TRY(check_implicit(self->variant, t));
  if (cx->meta) {
    return BSM_FAIL(BSM_DATA_DEPENDENT, "the value of a tensor is not known");
  }
  const bsm_ivalue v = number_of(t);
  const bool imaginary = v.tag == BSM_IVALUE_COMPLEX && v.u.c.im != 0.0;
  if (imaginary && self->variant != ITEM_BOOL && self->variant != ITEM_SCALAR &&
      self->variant != ITEM_IMPLICIT_SCALAR) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "value cannot be converted to a real number without "
                    "overflow");
  }
  switch (self->variant) {
    case ITEM_INT:
    case ITEM_IMPLICIT_INT:
      outs[0] = bsm_iv_int(op_int(&v));
      break;
    case ITEM_FLOAT:
    case ITEM_IMPLICIT_FLOAT:
      outs[0] = bsm_iv_double(op_double(&v));
      break;
    case ITEM_BOOL:
      outs[0] = bsm_iv_bool(op_is_integral(&v) ? op_int(&v) != 0
                                               : v.u.d != 0.0 || imaginary);
      break;
    default:
      outs[0] = v;
  }
  return BSM_OK;
}

static bsm_status to_list(bsm_op_ctx *cx, const bsm_tensor *t, int32_t dim,
                          int64_t *at, bsm_ivalue *out) {
  if (dim == t->sizes.rank) {
    bsm_tensor one = *t;
    one.sizes.rank = 0;
    for (int32_t i = 0; i < dim; i++) one.offset += at[i] * t->strides[i];
    *out = number_of(&one);
    return BSM_OK;
  }
  bsm_list *list;
  BSM_TRY(bsm_list_new(cx->arena, NULL, (size_t)t->sizes.d[dim], &list));
  for (at[dim] = 0; at[dim] < t->sizes.d[dim]; at[dim]++) {
    BSM_TRY(to_list(cx, t, dim + 1, at, &list->items[at[dim]]));
  }
  *out = bsm_iv_list(list);
  return BSM_OK;
}

/* prim::tolist(tensor, dim, element type): nested lists of numbers. */
static bsm_status op_tolist(OP_PARAMS) {
  (void)self;
  const bsm_tensor *t = op_tensor(&args[0]);
  int64_t at[BSM_MAX_RANK];
  if (!t) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "tolist of something else than a "
                    "tensor");
  }
  BSM_TRY(bsm_op_number(t));
  if (cx->meta) {
    return BSM_FAIL(BSM_DATA_DEPENDENT, "the values of a tensor are not known");
  }
  return to_list(cx, t, 0, at, &outs[0]);
}

/* A number as a 0-dim tensor of int64, float64 or bool. */
static bsm_status op_num_to_tensor(OP_PARAMS) {
  (void)self;
  bsm_tensor *t;
  BSM_TRY(bsm_op_wrap(cx, &args[0], &t));
  t->wrapped_number = false;
  return op_return(outs, t);
}

static bsm_status op_data(OP_PARAMS) {
  (void)self;
  const bsm_tensor *t = op_tensor(&args[0]);
  bsm_tensor *out;
  BSM_TRY(bsm_tensor_view(cx->arena, t, t->sizes, t->strides, t->offset, &out));
  return op_return(outs, out);
}

static bsm_status op_same(OP_PARAMS) {
  (void)cx;
  (void)self;
  outs[0] = args[0];
  return BSM_OK;
}

/* Answers that are the same for every model that is run here. */
static bsm_status op_constant_bool(OP_PARAMS) {
  (void)cx;
  (void)args;
  outs[0] = bsm_iv_bool(self->variant != 0);
  return BSM_OK;
}

static bsm_status op_shape_as_tensor(OP_PARAMS) {
  (void)self;
  const bsm_tensor *t = op_tensor(&args[0]);
  bsm_tensor *out;
  /* A value that is known also of meta tensors. */
  BSM_TRY(bsm_tensor_new(cx->arena, BSM_DTYPE_INT64, op_dims1(t->sizes.rank),
                         false, &out));
  memcpy(bsm_tensor_data(out), t->sizes.d,
         sizeof(int64_t) * (size_t)t->sizes.rank);
  return op_return(outs, out);
}

static bsm_status op_promote(OP_PARAMS) {
  (void)cx;
  (void)self;
  outs[0] = bsm_iv_int(bsm_promote_types((bsm_dtype)op_int(&args[0]),
                                         (bsm_dtype)op_int(&args[1])));
  return BSM_OK;
}

static bsm_status op_can_cast(OP_PARAMS) {
  (void)cx;
  (void)self;
  outs[0] = bsm_iv_bool(bsm_op_can_cast((bsm_dtype)op_int(&args[0]),
                                        (bsm_dtype)op_int(&args[1])));
  return BSM_OK;
}

static bsm_status op_result_type(OP_PARAMS) {
  (void)self;
  bsm_tensor *in[2];
  for (int i = 0; i < 2; i++) {
    in[i] = op_tensor(&args[i]);
    if (!in[i]) BSM_TRY(bsm_op_wrap(cx, &args[i], &in[i]));
  }
  outs[0] = bsm_iv_int(bsm_op_result_type(in, 2));
  return BSM_OK;
}

/* _infer_size(a, b): the broadcast shape. */
static bsm_status op_infer_broadcast(OP_PARAMS) {
  (void)self;
  bsm_dims a, b;
  BSM_TRY(bsm_op_dims(&args[0], &a));
  BSM_TRY(bsm_op_dims(&args[1], &b));
  BSM_TRY(bsm_op_broadcast(a, b, &a));
  return bsm_iv_int_list(cx->arena, a.d, (size_t)a.rank, &outs[0]);
}

static bsm_status op_nothing(OP_PARAMS) {
  OP_UNUSED;
  return BSM_OK;
}

static bsm_status op_assert_async(OP_PARAMS) {
  (void)outs;
  const bsm_tensor *t = op_tensor(&args[0]);
  if (cx->meta) return BSM_OK;
  if (bsm_tensor_numel(t) != 1) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Boolean value of Tensor with %lld values is ambiguous",
                    (long long)bsm_tensor_numel(t));
  }
  if (bsm_tensor_get_double(t, 0) == 0.0) {
    const bsm_str text = self->variant
                             ? op_str(&args[1])
                             : BSM_STR(
                                   "Expected Tensor with single nonzero "
                                   "value, but got zero");
    return BSM_FAIL(BSM_RAISED, "%.*s", (int)text.len, text.data);
  }
  return BSM_OK;
}

#define ATTRIBUTE BSM_ATEN_ATTRIBUTE

static const bsm_aten_op rows[] = {
    OP("aten::dim(Tensor self) -> int", op_int_attribute, ATTR_DIM, ATTRIBUTE),
    OP("aten::numel(Tensor self) -> int", op_int_attribute, ATTR_NUMEL,
       ATTRIBUTE),
    OP("aten::len.Tensor(Tensor t) -> int", op_int_attribute, ATTR_LEN,
       ATTRIBUTE),
    OP("aten::storage_offset(Tensor self) -> int", op_int_attribute,
       ATTR_OFFSET, ATTRIBUTE),
    OP("aten::element_size(Tensor self) -> int", op_int_attribute,
       ATTR_ITEMSIZE, ATTRIBUTE),
    OP("prim::itemsize(Tensor a) -> int", op_int_attribute, ATTR_ITEMSIZE,
       ATTRIBUTE),
    OP("prim::nbytes(Tensor a) -> int", op_int_attribute, ATTR_NBYTES,
       ATTRIBUTE),
    OP("prim::dtype(Tensor a) -> int", op_int_attribute, ATTR_DTYPE, ATTRIBUTE),
    OP("prim::layout(Tensor a) -> Layout", op_int_attribute, ATTR_LAYOUT,
       ATTRIBUTE),
    OP("aten::_version(Tensor self) -> int", op_int_attribute, ATTR_VERSION,
       ATTRIBUTE),
    OP("aten::get_device(Tensor self) -> int", op_int_attribute,
       ATTR_GET_DEVICE, ATTRIBUTE),
    OP("aten::size(Tensor self) -> int[]", op_list_attribute, LIST_SIZE,
       ATTRIBUTE),
    OP("aten::stride(Tensor self) -> int[]", op_list_attribute, LIST_STRIDE,
       ATTRIBUTE),
    OP("aten::size.int(Tensor self, int dim) -> int", op_dim_attribute,
       LIST_SIZE, ATTRIBUTE),
    OP("aten::stride.int(Tensor self, int dim) -> int", op_dim_attribute,
       LIST_STRIDE, ATTRIBUTE),
    OP("aten::sym_numel(Tensor self) -> SymInt", op_int_attribute, ATTR_NUMEL,
       ATTRIBUTE),
    OP("aten::sym_storage_offset(Tensor self) -> SymInt", op_int_attribute,
       ATTR_OFFSET, ATTRIBUTE),
    OP("aten::sym_size(Tensor self) -> SymInt[]", op_list_attribute, LIST_SIZE,
       ATTRIBUTE),
    OP("aten::sym_stride(Tensor self) -> SymInt[]", op_list_attribute,
       LIST_STRIDE, ATTRIBUTE),
    OP("aten::sym_size.int(Tensor self, int dim) -> SymInt", op_dim_attribute,
       LIST_SIZE, ATTRIBUTE),
    OP("aten::sym_stride.int(Tensor self, int dim) -> SymInt", op_dim_attribute,
       LIST_STRIDE, ATTRIBUTE),
    OP("aten::is_floating_point(Tensor self) -> bool", op_bool_attribute,
       BOOL_FLOATING, ATTRIBUTE),
    OP("aten::is_complex(Tensor self) -> bool", op_bool_attribute, BOOL_COMPLEX,
       ATTRIBUTE),
    OP("aten::is_signed(Tensor self) -> bool", op_bool_attribute, BOOL_SIGNED,
       ATTRIBUTE),
    OP("aten::is_contiguous(Tensor self) -> bool", op_bool_attribute,
       BOOL_CONTIGUOUS, ATTRIBUTE),
    OP("aten::is_contiguous.memory_format(Tensor self, MemoryFormat "
       "memory_format) -> bool",
       op_contiguous_format, 0, ATTRIBUTE),
    OP("aten::sym_is_contiguous(Tensor self, MemoryFormat memory_format=0) -> "
       "SymBool",
       op_contiguous_format, 0, ATTRIBUTE),
    OP("aten::is_non_overlapping_and_dense(Tensor self) -> bool",
       op_bool_attribute, BOOL_DENSE, ATTRIBUTE),
    OP("aten::is_leaf(Tensor self) -> bool", op_bool_attribute, BOOL_LEAF,
       ATTRIBUTE),
    OP("aten::is_inference(Tensor self) -> bool", op_bool_attribute, BOOL_FALSE,
       ATTRIBUTE),
    OP("aten::is_conj(Tensor self) -> bool", op_bool_attribute, BOOL_FALSE,
       ATTRIBUTE),
    OP("aten::is_neg(Tensor self) -> bool", op_bool_attribute, BOOL_FALSE,
       ATTRIBUTE),
    OP("prim::is_cpu(Tensor a) -> bool", op_bool_attribute, BOOL_CPU,
       ATTRIBUTE),
    OP("prim::is_cuda(Tensor a) -> bool", op_bool_attribute, BOOL_CUDA,
       ATTRIBUTE),
    OP("prim::is_ipu(Tensor a) -> bool", op_bool_attribute, BOOL_FALSE,
       ATTRIBUTE),
    OP("prim::is_maia(Tensor a) -> bool", op_bool_attribute, BOOL_FALSE,
       ATTRIBUTE),
    OP("prim::is_meta(Tensor a) -> bool", op_bool_attribute, BOOL_FALSE,
       ATTRIBUTE),
    OP("prim::is_mkldnn(Tensor a) -> bool", op_bool_attribute, BOOL_FALSE,
       ATTRIBUTE),
    OP("prim::is_mps(Tensor a) -> bool", op_bool_attribute, BOOL_FALSE,
       ATTRIBUTE),
    OP("prim::is_mtia(Tensor a) -> bool", op_bool_attribute, BOOL_FALSE,
       ATTRIBUTE),
    OP("prim::is_nested(Tensor a) -> bool", op_bool_attribute, BOOL_FALSE,
       ATTRIBUTE),
    OP("prim::is_quantized(Tensor a) -> bool", op_bool_attribute,
       BOOL_QUANTIZED, ATTRIBUTE),
    OP("prim::is_sparse(Tensor a) -> bool", op_bool_attribute, BOOL_FALSE,
       ATTRIBUTE),
    OP("prim::is_sparse_csr(Tensor a) -> bool", op_bool_attribute, BOOL_FALSE,
       ATTRIBUTE),
    OP("prim::is_vulkan(Tensor a) -> bool", op_bool_attribute, BOOL_FALSE,
       ATTRIBUTE),
    OP("prim::is_xla(Tensor a) -> bool", op_bool_attribute, BOOL_FALSE,
       ATTRIBUTE),
    OP("prim::is_xpu(Tensor a) -> bool", op_bool_attribute, BOOL_FALSE,
       ATTRIBUTE),
    OP("prim::requires_grad(Tensor a) -> bool", op_bool_attribute, BOOL_FALSE,
       ATTRIBUTE),
    OP("aten::cudnn_is_acceptable(Tensor self) -> bool", op_bool_attribute,
       BOOL_FALSE, ATTRIBUTE),
    OP("aten::is_same_size(Tensor self, Tensor other) -> bool", op_same_size, 0,
       ATTRIBUTE),
    OP("prim::device(Tensor a) -> Device", op_device, 0, ATTRIBUTE),
    OP("prim::type(Device self) -> str", op_device_type, 0, 0),
    OP("prim::index(Device self) -> int?", op_device_index, 0, 0),
    OP("aten::device(str a) -> Device", op_make_device, 0, 0),
    OP("aten::device.with_index(str type, int index) -> Device", op_make_device,
       1, 0),
    OP("aten::item(Tensor self) -> Scalar", op_item, ITEM_SCALAR, ATTRIBUTE),
    OP("aten::_local_scalar_dense(Tensor self) -> Scalar", op_item, ITEM_SCALAR,
       ATTRIBUTE),
    OP("aten::Int.Tensor(Tensor a) -> int", op_item, ITEM_INT, ATTRIBUTE),
    OP("aten::Float.Tensor(Tensor a) -> float", op_item, ITEM_FLOAT, ATTRIBUTE),
    OP("aten::Bool.Tensor(Tensor a) -> bool", op_item, ITEM_BOOL, ATTRIBUTE),
    OP("aten::is_nonzero(Tensor self) -> bool", op_item, ITEM_BOOL, ATTRIBUTE),
    OP("aten::IntImplicit(Tensor a) -> int", op_item, ITEM_IMPLICIT_INT,
       ATTRIBUTE),
    OP("aten::FloatImplicit(Tensor a) -> float", op_item, ITEM_IMPLICIT_FLOAT,
       ATTRIBUTE),
    OP("aten::ScalarImplicit(Tensor a) -> Scalar", op_item,
       ITEM_IMPLICIT_SCALAR, ATTRIBUTE),
    OP("prim::tolist(...) -> ...", op_tolist, 0, 0),
    OP("prim::NumToTensor.Scalar(Scalar a) -> Tensor", op_num_to_tensor, 0, 0),
    OP("prim::NumToTensor.bool(bool a) -> Tensor", op_num_to_tensor, 0, 0),
    OP("prim::data(Tensor(a) a) -> Tensor(a)", op_data, 0, BSM_ATEN_VIEW),
    OP("aten::data(Tensor self) -> Tensor", op_data, 0, 0),
    OP("aten::requires_grad_(Tensor(a!) self, bool requires_grad=True) -> "
       "Tensor(a!)",
       op_same, 0, BSM_ATEN_INPLACE),
    OP("aten::is_grad_enabled() -> bool", op_constant_bool, 0, 0),
    OP("aten::is_autocast_enabled() -> bool", op_constant_bool, 0, 0),
    OP("aten::is_autocast_cpu_enabled() -> bool", op_constant_bool, 0, 0),
    OP("aten::is_scripting() -> bool", op_constant_bool, 1, 0),
    OP("aten::has_torch_function(...) -> bool", op_constant_bool, 0, 0),
    OP("aten::_get_tracing_state() -> bool", op_constant_bool, 0, 0),
    OP("aten::is_vulkan_available() -> bool", op_constant_bool, 0, 0),
    OP("aten::_nnpack_available() -> bool", op_constant_bool, 0, 0),
    OP("aten::_use_cudnn_rnn_flatten_weight() -> bool", op_constant_bool, 0, 0),
    OP("aten::set_grad_enabled(bool val) -> ()", op_nothing, 0,
       BSM_ATEN_EFFECT),
    OP("aten::_shape_as_tensor(Tensor self) -> Tensor", op_shape_as_tensor, 0,
       ATTRIBUTE),
    OP("aten::promote_types(ScalarType type1, ScalarType type2) -> ScalarType",
       op_promote, 0, 0),
    OP("aten::can_cast(ScalarType from_, ScalarType to) -> bool", op_can_cast,
       0, 0),
    OP("aten::result_type.Tensor(Tensor tensor, Tensor other) -> ScalarType",
       op_result_type, 0, ATTRIBUTE),
    OP("aten::result_type.Scalar(Tensor tensor, Scalar other) -> ScalarType",
       op_result_type, 0, ATTRIBUTE),
    OP("aten::result_type.Scalar_Tensor(Scalar scalar, Tensor tensor) -> "
       "ScalarType",
       op_result_type, 0, ATTRIBUTE),
    OP("aten::result_type.Scalar_Scalar(Scalar scalar1, Scalar scalar2) -> "
       "ScalarType",
       op_result_type, 0, ATTRIBUTE),
    OP("aten::_infer_size(int[] a, int[] b) -> int[]", op_infer_broadcast, 0,
       0),
    OP("aten::_assert_async(Tensor self) -> ()", op_assert_async, 0,
       BSM_ATEN_EFFECT),
    OP("aten::_assert_async.msg(Tensor self, str assert_msg) -> ()",
       op_assert_async, 1, BSM_ATEN_EFFECT),
};
BSM_ATEN_TABLE(attribute, rows);
