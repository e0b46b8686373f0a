/* SPDX-License-Identifier: Apache-2.0 */
/* What a pickle may name: a fixed list, and the classes of the archive. A name
 * is compared, never resolved; there is nothing it could call. */
#include "quantized/packed_params.h"
#include "torchscript/pickle_internal.h"

typedef struct function_row {
  const char *module, *name;
  pickle_function function;
  size_t least, most; /* arguments */
} function_row;

static const function_row functions[] = {
    {"torch._utils", "_rebuild_tensor_v2", PICKLE_REBUILD_TENSOR, 6, 7},
    {"torch._utils", "_rebuild_qtensor", PICKLE_REBUILD_QTENSOR, 7, 7},
    {"torch._utils", "_rebuild_sparse_tensor", PICKLE_REBUILD_SPARSE, 2, 8},
    {"torch._utils", "_rebuild_parameter", PICKLE_REBUILD_PARAMETER, 3, 3},
    {"torch._utils", "_rebuild_parameter_with_state",
     PICKLE_REBUILD_PARAMETER_WITH_STATE, 4, 4},
    {"torch._tensor", "_rebuild_from_type_v2", PICKLE_REBUILD_FROM_TYPE, 4, 4},
    {"torch.jit._pickle", "build_intlist", PICKLE_INT_LIST, 1, 1},
    {"torch.jit._pickle", "build_doublelist", PICKLE_DOUBLE_LIST, 1, 1},
    {"torch.jit._pickle", "build_boollist", PICKLE_BOOL_LIST, 1, 1},
    {"torch.jit._pickle", "build_tensorlist", PICKLE_TENSOR_LIST, 1, 1},
    {"torch.jit._pickle", "restore_type_tag", PICKLE_TYPE_TAG, 2, 2},
    {"torch", "device", PICKLE_DEVICE, 1, 1},
    {"builtins", "complex", PICKLE_COMPLEX, 2, 2},
    {"collections", "OrderedDict", PICKLE_ORDERED_DICT, 0, 0},
};

/* Storage types of package "torch". */
static const struct {
  const char *name;
  bsm_dtype dtype;
} storages[] = {
    {"ByteStorage", BSM_DTYPE_UINT8},
    {"CharStorage", BSM_DTYPE_INT8},
    {"ShortStorage", BSM_DTYPE_INT16},
    {"IntStorage", BSM_DTYPE_INT32},
    {"LongStorage", BSM_DTYPE_INT64},
    {"HalfStorage", BSM_DTYPE_HALF},
    {"FloatStorage", BSM_DTYPE_FLOAT},
    {"DoubleStorage", BSM_DTYPE_DOUBLE},
    {"ComplexHalfStorage", BSM_DTYPE_COMPLEX_HALF},
    {"ComplexFloatStorage", BSM_DTYPE_COMPLEX_FLOAT},
    {"ComplexDoubleStorage", BSM_DTYPE_COMPLEX_DOUBLE},
    {"BoolStorage", BSM_DTYPE_BOOL},
    {"BFloat16Storage", BSM_DTYPE_BFLOAT16},
    {"QInt8Storage", BSM_DTYPE_QINT8},
    {"QUInt8Storage", BSM_DTYPE_QUINT8},
    {"QInt32Storage", BSM_DTYPE_QINT32},
    {"Float8_e5m2Storage", BSM_DTYPE_FLOAT8_E5M2},
    {"Float8_e4m3fnStorage", BSM_DTYPE_FLOAT8_E4M3FN},
};

/* Storage types that exist but have no dtype here. */
static const char *const foreign_storages[] = {
    "QUInt2x4Storage",       "UInt16Storage",          "UInt32Storage",
    "UInt64Storage",         "Float8_e5m2fnuzStorage", "Float8_e4m3fnuzStorage",
    "Float8_e8m0fnuStorage", "Float4_e2m1fn_x2Storage"};

static const struct {
  const char *name;
  pickle_qscheme scheme;
} qschemes[] = {
    {"per_tensor_affine", PICKLE_PER_TENSOR},
    {"per_channel_affine", PICKLE_PER_CHANNEL},
    {"per_channel_affine_float_qparams", PICKLE_PER_CHANNEL},
};

/* Classes of plain tensors, which torch.save names when a tensor has attributes
 * of Python's. */
static const struct {
  const char *module, *name;
} tensor_types[] = {
    {"torch", "Tensor"},
    {"torch.nn.parameter", "Parameter"},
    {"torch.nn.parameter", "Buffer"},
};

/* Names of known files that are not read, and why. */
static const struct {
  const char *module, *name, *why;
} refused[] = {
    {"torch.jit._pickle", "build_tensor_from_id",
     "tensor tables of torch 1.3 and older are not read; load the file with a "
     "newer torch and save it again"},
    {"__main__", "TensorID",
     "tensor tables of torch 1.2 and older are not read; load the file with a "
     "newer torch and save it again"},
    {"__main__", "IntList",
     "type tags of torch 1.2 and older are not read; load the file with a "
     "newer torch and save it again"},
    {"torch.distributed.rpc", "rref", "remote references cannot be loaded"},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool is(bsm_str text, const char *literal) {
  return bsm_str_eq(text, bsm_str_of(literal));
}

const char *bsm_pickle_function_arity(pickle_function function, size_t *least,
                                      size_t *most) {
  size_t i = 0;
  while (functions[i].function != function) i++;
  *least = functions[i].least;
  *most = functions[i].most;
  return functions[i].name;
}

/* At most 200 printable bytes of a name from the file. */
static const char *printable(pickle_machine *m, bsm_str name) {
  const size_t n = name.len < 200 ? name.len : 200;
  char *copy = bsm_arena_strndup(&m->scratch, name.data, n);
  if (!copy) return "";
  for (size_t i = 0; i < n; i++) {
    if (copy[i] < 0x20 || copy[i] > 0x7e) copy[i] = '?';
  }
  return copy;
}

/* A name of package "torch". */
static bsm_status torch_global(pickle_machine *m, bsm_str name, bool *found,
                               bsm_ivalue *out) {
  pickle_private *body = NULL;
  *found = true;
  for (size_t i = 0; i < COUNT(storages); i++) {
    if (!is(name, storages[i].name)) continue;
    BSM_TRY(bsm_pickle_private(m, PICKLE_DTYPE, out, &body));
    body->u.dtype = storages[i].dtype;
    return BSM_OK;
  }
  if (is(name, "QUInt4x2Storage")) { /* unpacked as it is read */
    BSM_TRY(bsm_pickle_private(m, PICKLE_DTYPE, out, &body));
    body->u.dtype = BSM_DTYPE_QUINT8;
    body->nibbles = true;
    return BSM_OK;
  }
  for (size_t i = 0; i < COUNT(qschemes); i++) {
    if (!is(name, qschemes[i].name)) continue;
    BSM_TRY(bsm_pickle_private(m, PICKLE_QSCHEME, out, &body));
    body->u.qscheme = qschemes[i].scheme;
    return BSM_OK;
  }
  for (size_t i = 0; i < COUNT(foreign_storages); i++) {
    if (!is(name, foreign_storages[i])) continue;
    return BSM_FAIL(BSM_UNSUPPORTED, "tensors with torch.%s are not supported",
                    foreign_storages[i]);
  }
  *found = false;
  return BSM_OK;
}

/* A class of the archive: "__torch__.pkg.mod" and "Name". */
static bsm_status class_global(pickle_machine *m, bsm_str module, bsm_str name,
                               bsm_ivalue *out) {
  bsm_text qualified;
  bsm_text_init(&qualified, &m->scratch);
  bsm_text_append(&qualified, module);
  bsm_text_puts(&qualified, ".");
  bsm_text_append(&qualified, name);
  if (qualified.failed) return BSM_FAIL_OOM();
  const bsm_str full = {qualified.data, qualified.len};
  if (memchr(full.data, '\0', full.len)) {
    return BSM_FAIL(BSM_CORRUPT, "a class name with a NUL in it: %s",
                    printable(m, full));
  }
  if (bsm_str_starts_with(full, BSM_STR("__torch__.torch.classes.")) &&
      !bsm_is_packed_class(full)) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "class %s is implemented in C++ (TorchBind) and cannot be "
                    "loaded",
                    printable(m, full));
  }
  if (!m->hooks->find_class) {
    return BSM_FAIL(BSM_CORRUPT, "class %s where no classes can be",
                    printable(m, full));
  }
  pickle_private *body = NULL;
  BSM_TRY(bsm_pickle_private(m, PICKLE_CLASS, out, &body));
  BSM_TRY(m->hooks->find_class(m->hooks->user, full, &body->u.cls));
  const bsm_type *type = body->u.cls;
  if (type->kind != BSM_TYPE_CLASS || !type->cls || type->cls->is_interface) {
    return BSM_FAIL(BSM_CORRUPT, "%s has no instances", printable(m, full));
  }
  return BSM_OK;
}

bsm_status bsm_pickle_global(pickle_machine *m, bsm_str module, bsm_str name,
                             bsm_ivalue *out) {
  pickle_private *body = NULL;
  for (size_t i = 0; i < COUNT(functions); i++) {
    if (!is(module, functions[i].module) || !is(name, functions[i].name)) {
      continue;
    }
    BSM_TRY(bsm_pickle_private(m, PICKLE_FUNCTION, out, &body));
    body->u.function = functions[i].function;
    return BSM_OK;
  }
  for (size_t i = 0; i < COUNT(tensor_types); i++) {
    if (is(module, tensor_types[i].module) && is(name, tensor_types[i].name)) {
      return bsm_pickle_private(m, PICKLE_TENSOR_TYPE, out, &body);
    }
  }
  if (is(module, "torch")) {
    bool found;
    BSM_TRY(torch_global(m, name, &found, out));
    if (found) return BSM_OK;
  }
  if (is(module, "__torch__") ||
      bsm_str_starts_with(module, BSM_STR("__torch__."))) {
    return class_global(m, module, name, out);
  }
  for (size_t i = 0; i < COUNT(refused); i++) {
    if (!is(module, refused[i].module) || !is(name, refused[i].name)) continue;
    return BSM_FAIL(BSM_UNSUPPORTED, "%s.%s: %s", refused[i].module,
                    refused[i].name, refused[i].why);
  }
  return BSM_FAIL(BSM_CORRUPT,
                  "names \"%s.%s\", which is not part of the TorchScript "
                  "format",
                  printable(m, module), printable(m, name));
}
