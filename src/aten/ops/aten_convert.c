/* SPDX-License-Identifier: Apache-2.0 */
/* Copies and conversions: to, contiguous, clone, copy_, type_as. */
#include "aten/packed/aten_convert.h"
#include "aten/op_kit.h"

/* c10::MemoryFormat */
enum {
  FORMAT_CONTIGUOUS = 0,
  FORMAT_PRESERVE = 1,
  FORMAT_CHANNELS_LAST = 2,
  FORMAT_CHANNELS_LAST_3D = 3
};

/* Gives a fresh tensor the strides of a memory format. */
static bsm_status set_format(bsm_tensor *t, int64_t format) {
  static const int order4[] = {1, 3, 2, 0};
  static const int order5[] = {1, 4, 3, 2, 0};
  if (format != FORMAT_CHANNELS_LAST && format != FORMAT_CHANNELS_LAST_3D) {
    return BSM_OK;
  }
  const int32_t rank = format == FORMAT_CHANNELS_LAST ? 4 : 5;
  if (t->sizes.rank != rank) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "required rank %d tensor to use channels_last%s format",
                    (int)rank, rank == 5 ? "_3d" : "");
  }
  const int *order = rank == 4 ? order4 : order5;
  int64_t step = 1;
  for (int32_t k = 0; k < rank; k++) {
    const int64_t size = t->sizes.d[order[k]];
    t->strides[order[k]] = step;
    if (!bsm_i64_mul(step, size > 1 ? size : 1, &step)) step = 1;
  }
  return BSM_OK;
}

/* A copy of `t` in a dtype and a memory format. */
static bsm_status copy_as(bsm_op_ctx *cx, const bsm_tensor *t, bsm_dtype dtype,
                          int64_t format, bsm_tensor **out) {
  if (bsm_dtype_size(dtype) == 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "unknown dtype %d", (int)dtype);
  }
  if (format == FORMAT_PRESERVE) {
    BSM_TRY(bsm_op_new_like(cx, dtype, t, out));
  } else {
    BSM_TRY(bsm_op_new(cx, dtype, t->sizes, out));
    (*out)->device_type = t->device_type;
    (*out)->device_index = t->device_index;
    BSM_TRY(set_format(*out, format));
  }
  return cx->meta ? BSM_OK : bsm_tensor_copy(*out, t);
}

static bool has_format(const bsm_tensor *t, int64_t format) {
  switch (format) {
    case FORMAT_PRESERVE:
      return true;
    case FORMAT_CHANNELS_LAST:
      return t->sizes.rank == 4 && bsm_tensor_is_channels_last(t);
    case FORMAT_CHANNELS_LAST_3D:
      return t->sizes.rank == 5 && bsm_tensor_is_channels_last(t);
    default:
      return bsm_tensor_is_contiguous(t);
  }
}

typedef struct to_options {
  bsm_dtype dtype;
  const bsm_ivalue *device, *copy, *format;
} to_options;

/* `t` itself when nothing changes. A change of device is only a change of
 * name: everything runs on the CPU. */
static bsm_status convert(bsm_op_ctx *cx, bsm_tensor *t, to_options o,
                          bsm_ivalue *outs) {
  const int64_t format =
      o.format ? op_int_or(o.format, FORMAT_PRESERVE) : FORMAT_PRESERVE;
  bsm_torch_device device = {t->device_type, t->device_index};
  if (o.device && o.device->tag == BSM_IVALUE_DEVICE) {
    device = o.device->u.device;
  }
  const bool moved = device.type != t->device_type;
  const bool copy = o.copy && op_bool(o.copy);
  if (o.dtype == t->dtype && !moved && !copy && has_format(t, format)) {
    return op_return(outs, t);
  }
  bsm_tensor *out;
  BSM_TRY(copy_as(cx, t, o.dtype, format, &out));
  out->device_type = device.type;
  out->device_index = device.index;
  return op_return(outs, out);
}

enum {
  TO_DTYPE,
  TO_DTYPE_LAYOUT,
  TO_DEVICE,
  TO_OTHER,
  TO_PRIM_DEVICE,
  TO_PRIM_DTYPE,
  TO_PRIM_OTHER
};

static bsm_status op_to(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]);
  to_options o = {t->dtype, NULL, NULL, NULL};
  bsm_ivalue device;
  switch (self->variant) {
    case TO_DTYPE: /* self, dtype, non_blocking, copy, memory_format */
      o.dtype = op_dtype_or(&args[1], t->dtype);
      o.copy = &args[3];
      o.format = &args[4];
      break;
    case TO_DTYPE_LAYOUT: /* self, dtype, layout, device, pin, nb, copy, mf */
      o.dtype = op_dtype_or(&args[1], t->dtype);
      o.device = &args[3];
      o.copy = &args[6];
      o.format = &args[7];
      break;
    case TO_DEVICE: /* self, device, dtype, non_blocking, copy, mf */
      o.device = &args[1];
      o.dtype = op_dtype_or(&args[2], t->dtype);
      o.copy = &args[4];
      o.format = &args[5];
      break;
    case TO_OTHER: { /* self, other, non_blocking, copy, memory_format */
      const bsm_tensor *other = op_tensor(&args[1]);
      o.dtype = other->dtype;
      device =
          (bsm_ivalue){BSM_IVALUE_DEVICE,
                       {.device = {other->device_type, other->device_index}}};
      o.device = &device;
      o.copy = &args[3];
      o.format = &args[4];
      break;
    }
    case TO_PRIM_DEVICE: /* self, device?, dtype?, non_blocking, copy */
      o.device = &args[1];
      o.dtype = op_dtype_or(&args[2], t->dtype);
      o.copy = &args[4];
      break;
    case TO_PRIM_DTYPE: /* self, dtype?, non_blocking, copy */
      o.dtype = op_dtype_or(&args[1], t->dtype);
      o.copy = &args[3];
      break;
    default: /* self, non_blocking, copy */
      o.copy = &args[2];
      break;
  }
  return convert(cx, t, o, outs);
}

static bsm_status op_type_as(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]);
  const bsm_tensor *other = op_tensor(&args[1]);
  const to_options o = {other->dtype, NULL, NULL, NULL};
  return convert(cx, t, o, outs);
}

/* _cast_Float(self, non_blocking), Tensor.float(), ... by dtype. */
static bsm_status op_cast_to(OP_PARAMS) {
  const to_options o = {(bsm_dtype)self->variant, NULL, NULL, NULL};
  return convert(cx, op_tensor(&args[0]), o, outs);
}

/* cpu(self), cuda(self): names a device. */
static bsm_status op_move(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]);
  bsm_ivalue device = {
      BSM_IVALUE_DEVICE,
      {.device = {(int8_t)self->variant, self->variant ? 0 : -1}}};
  to_options o = {t->dtype, NULL, NULL, NULL};
  o.device = &device;
  return convert(cx, t, o, outs);
}

static bsm_status op_contiguous(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  const int64_t format = op_int(&args[1]);
  if (format == FORMAT_PRESERVE) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "preserve memory format is unsupported by the contiguous "
                    "operator");
  }
  if (has_format(t, format)) return op_return(outs, t);
  BSM_TRY(copy_as(cx, t, t->dtype, format, &out));
  return op_return(outs, out);
}

/* clone(self, *, memory_format) */
static bsm_status op_clone(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  BSM_TRY(copy_as(cx, t, t->dtype, op_int_or(&args[1], FORMAT_PRESERVE), &out));
  return op_return(outs, out);
}

/* lift_fresh_copy, detach_copy, ... */
static bsm_status op_plain_copy(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  BSM_TRY(copy_as(cx, t, t->dtype, FORMAT_PRESERVE, &out));
  return op_return(outs, out);
}

/* copy_(self, src): a tensor, or a number. */
static bsm_status op_copy_(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *src = op_tensor(&args[1]);
  if (!src) BSM_TRY(bsm_op_wrap(cx, &args[1], &src));
  outs[0] = args[0];
  bsm_tensor *same;
  BSM_TRY(bsm_op_expand(cx, src, t->sizes, &same));
  BSM_TRY(bsm_op_writable(cx, t));
  if (cx->meta) return BSM_OK;
  if (src->storage == t->storage) {
    BSM_TRY(bsm_tensor_clone(cx->arena, src, &src));
  }
  return bsm_tensor_copy(t, src);
}

/* copy(self, src): src in the shape and dtype of self. */
static bsm_status op_copy(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *src = op_tensor(&args[1]), *out;
  bsm_tensor *same;
  BSM_TRY(bsm_op_expand(cx, src, t->sizes, &same));
  BSM_TRY(bsm_op_new_like(cx, t->dtype, t, &out));
  if (!cx->meta) BSM_TRY(bsm_tensor_copy(out, src));
  return op_return(outs, out);
}

static const bsm_aten_op rows[] = {
    OP("aten::to.dtype(Tensor(a) self, ScalarType dtype, bool "
       "non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) "
       "-> Tensor(a)",
       op_to, TO_DTYPE, 0),
    OP("aten::to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, "
       "Layout? "
       "layout=None, Device? device=None, bool? pin_memory=None, bool "
       "non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) "
       "-> Tensor(a)",
       op_to, TO_DTYPE_LAYOUT, 0),
    OP("aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool "
       "non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) "
       "-> Tensor(a)",
       op_to, TO_DEVICE, 0),
    OP("aten::to.other(Tensor(a) self, Tensor other, bool non_blocking=False, "
       "bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
       op_to, TO_OTHER, 0),
    OP("aten::to.prim_Device(Tensor(a) self, Device? device, int? dtype=None, "
       "bool non_blocking=False, bool copy=False) -> Tensor(b|a)",
       op_to, TO_PRIM_DEVICE, 0),
    OP("aten::to.prim_dtype(Tensor(a) self, int? dtype=None, bool "
       "non_blocking=False, bool copy=False) -> Tensor(b|a)",
       op_to, TO_PRIM_DTYPE, 0),
    OP("aten::to.prim_other(Tensor(a) self, bool non_blocking=False, bool "
       "copy=False) -> Tensor(b|a)",
       op_to, TO_PRIM_OTHER, 0),
    OP("aten::type_as(Tensor self, Tensor other) -> Tensor", op_type_as, 0, 0),
    OP("aten::_cast_Byte(Tensor self, bool non_blocking=False) -> Tensor",
       op_cast_to, BSM_DTYPE_UINT8, 0),
    OP("aten::_cast_Char(Tensor self, bool non_blocking=False) -> Tensor",
       op_cast_to, BSM_DTYPE_INT8, 0),
    OP("aten::_cast_Short(Tensor self, bool non_blocking=False) -> Tensor",
       op_cast_to, BSM_DTYPE_INT16, 0),
    OP("aten::_cast_Int(Tensor self, bool non_blocking=False) -> Tensor",
       op_cast_to, BSM_DTYPE_INT32, 0),
    OP("aten::_cast_Long(Tensor self, bool non_blocking=False) -> Tensor",
       op_cast_to, BSM_DTYPE_INT64, 0),
    OP("aten::_cast_Half(Tensor self, bool non_blocking=False) -> Tensor",
       op_cast_to, BSM_DTYPE_HALF, 0),
    OP("aten::_cast_Float(Tensor self, bool non_blocking=False) -> Tensor",
       op_cast_to, BSM_DTYPE_FLOAT, 0),
    OP("aten::_cast_Double(Tensor self, bool non_blocking=False) -> Tensor",
       op_cast_to, BSM_DTYPE_DOUBLE, 0),
    OP("aten::cpu(Tensor(a) self) -> Tensor(b|a)", op_move, 0, 0),
    OP("aten::cuda(Tensor(a) self) -> Tensor(b|a)", op_move, 1, 0),
    OP("aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> "
       "Tensor(a)",
       op_contiguous, 0, 0),
    OP("aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> "
       "Tensor",
       op_clone, 0, 0),
    OP("aten::detach_copy(Tensor self) -> Tensor", op_plain_copy, 0, 0),
    OP("aten::alias_copy(Tensor self) -> Tensor", op_plain_copy, 0, 0),
    OP("aten::lift_fresh_copy(Tensor self) -> Tensor", op_plain_copy, 0, 0),
    OP("aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> "
       "Tensor(a!)",
       op_copy_, 0, BSM_ATEN_INPLACE),
    OP("aten::copy_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       op_copy_, 0, BSM_ATEN_INPLACE),
    OP("aten::copy_.int(Tensor(a!) self, int other) -> Tensor(a!)", op_copy_, 0,
       BSM_ATEN_INPLACE),
    OP("aten::copy_.float(Tensor(a!) self, float other) -> Tensor(a!)",
       op_copy_, 0, BSM_ATEN_INPLACE),
    OP("aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
       op_copy, 0, 0),
};
BSM_ATEN_TABLE(convert, rows);
