/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that Python code hands in: of NumPy through its C API, tensors of
 * PyTorch through the function that exports DLPack, and capsules of DLPack. */
#define BSMPY_IMPORT_ARRAY
#include "dlpack.h"
#include "numpy_api.h"

int bsmpy_bfloat16 = -1;
static PyObject *adapter;

/* PyTorch, once a tensor has been seen. */
static struct {
  PyTypeObject *tensor;
  PyObject *to_dlpack, *is_conj, *is_neg;
} torch;

bool bsmpy_arrays_import(void) {
  import_array1(false);
  return true;
}

PyObject *bsmpy_set_adapter(PyObject *self, PyObject *function) {
  (void)self;
  Py_INCREF(function);
  Py_XDECREF(adapter);
  adapter = function;
  Py_RETURN_NONE;
}

PyObject *bsmpy_set_bfloat16(PyObject *self, PyObject *sample) {
  (void)self;
  if (!PyArray_Check(sample)) {
    PyErr_SetString(PyExc_TypeError, "not an array of NumPy");
    return NULL;
  }
  bsmpy_bfloat16 = PyArray_TYPE((PyArrayObject *)sample);
  Py_RETURN_NONE;
}

void bsmpy_set_torch_exporter(PyObject *tensor, PyObject *to_dlpack) {
  Py_INCREF(tensor);
  Py_INCREF(to_dlpack);
  torch.tensor = (PyTypeObject *)tensor;
  torch.to_dlpack = to_dlpack;
  torch.is_conj = PyUnicode_InternFromString("is_conj");
  torch.is_neg = PyUnicode_InternFromString("is_neg");
}

/* ---- NumPy ---- */

static bsm_dtype dtype_of_numpy(int type) {
  switch (type) {
    case NPY_UBYTE:
      return BSM_DTYPE_UINT8;
    case NPY_BYTE:
      return BSM_DTYPE_INT8;
    case NPY_SHORT:
      return BSM_DTYPE_INT16;
    case NPY_INT:
      return BSM_DTYPE_INT32;
    case NPY_LONG:
      return BSM_DTYPE_INT64;
    case NPY_LONGLONG:
      return BSM_DTYPE_INT64;
    case NPY_HALF:
      return BSM_DTYPE_HALF;
    case NPY_FLOAT:
      return BSM_DTYPE_FLOAT;
    case NPY_DOUBLE:
      return BSM_DTYPE_DOUBLE;
    case NPY_CFLOAT:
      return BSM_DTYPE_COMPLEX_FLOAT;
    case NPY_CDOUBLE:
      return BSM_DTYPE_COMPLEX_DOUBLE;
    case NPY_BOOL:
      return BSM_DTYPE_BOOL;
    default:
      return type == bsmpy_bfloat16 && type >= 0 ? BSM_DTYPE_BFLOAT16
                                                 : BSM_DTYPE_UNDEFINED;
  }
}

int bsmpy_numpy_type(bsm_dtype dtype) {
  switch (dtype) {
    case BSM_DTYPE_UINT8:
      return NPY_UBYTE;
    case BSM_DTYPE_INT8:
      return NPY_BYTE;
    case BSM_DTYPE_INT16:
      return NPY_SHORT;
    case BSM_DTYPE_INT32:
      return NPY_INT;
    case BSM_DTYPE_INT64:
      return NPY_LONG;
    case BSM_DTYPE_HALF:
      return NPY_HALF;
    case BSM_DTYPE_FLOAT:
      return NPY_FLOAT;
    case BSM_DTYPE_DOUBLE:
      return NPY_DOUBLE;
    case BSM_DTYPE_COMPLEX_FLOAT:
      return NPY_CFLOAT;
    case BSM_DTYPE_COMPLEX_DOUBLE:
      return NPY_CDOUBLE;
    case BSM_DTYPE_BOOL:
      return NPY_BOOL;
    case BSM_DTYPE_BFLOAT16:
      if (bsmpy_bfloat16 >= 0) return bsmpy_bfloat16;
      break;
    default:
      break;
  }
  PyErr_Format(PyExc_TypeError,
               "NumPy has no %s: give the engine tensors of PyTorch, which "
               "then are its results too%s",
               bsm_dtype_name(dtype),
               dtype == BSM_DTYPE_BFLOAT16 ? ", or install ml_dtypes" : "");
  return -1;
}

static bool too_many_dims(int rank) {
  if (rank <= BSM_MAX_RANK) return false;
  PyErr_Format(PyExc_ValueError, "an array of %d dimensions: at most %d", rank,
               BSM_MAX_RANK);
  return true;
}

/* Describes a contiguous array; takes the reference. */
static bool describe_numpy(PyArrayObject *array, bsmpy_array *out) {
  out->owner = (PyObject *)array;
  out->kind = BSMPY_NUMPY;
  out->array = (bsm_array){.data = PyArray_DATA(array),
                           .dtype = dtype_of_numpy(PyArray_TYPE(array))};
  if (too_many_dims(PyArray_NDIM(array))) return false;
  out->array.dims.rank = PyArray_NDIM(array);
  for (int i = 0; i < PyArray_NDIM(array); i++) {
    out->array.dims.d[i] = PyArray_DIM(array, i);
  }
  if (out->array.dtype == BSM_DTYPE_UNDEFINED) {
    PyErr_Format(PyExc_TypeError,
                 "arrays of this dtype cannot be given to engines: %R",
                 (PyObject *)array);
    return false;
  }
  return true;
}

static bool take_numpy(PyObject *object, bsmpy_array *out) {
  PyArrayObject *array = (PyArrayObject *)object;
  if (PyArray_ISCARRAY_RO(array)) {
    Py_INCREF(object);
  } else {
    array = (PyArrayObject *)PyArray_CheckFromAny(
        object, NULL, 0, 0, NPY_ARRAY_CARRAY_RO | NPY_ARRAY_NOTSWAPPED, NULL);
    if (!array) return false;
  }
  return describe_numpy(array, out);
}

/* ---- DLPack ---- */

static bsm_dtype dtype_of_dlpack(const dlpack_tensor *t) {
  static const struct {
    uint8_t code, bits;
    bsm_dtype dtype;
  } rows[] = {
      {DLPACK_FLOAT, 32, BSM_DTYPE_FLOAT},
      {DLPACK_INT, 64, BSM_DTYPE_INT64},
      {DLPACK_FLOAT, 16, BSM_DTYPE_HALF},
      {DLPACK_BFLOAT, 16, BSM_DTYPE_BFLOAT16},
      {DLPACK_FLOAT, 64, BSM_DTYPE_DOUBLE},
      {DLPACK_INT, 32, BSM_DTYPE_INT32},
      {DLPACK_INT, 16, BSM_DTYPE_INT16},
      {DLPACK_INT, 8, BSM_DTYPE_INT8},
      {DLPACK_UINT, 8, BSM_DTYPE_UINT8},
      {DLPACK_BOOL, 8, BSM_DTYPE_BOOL},
      {DLPACK_COMPLEX, 32, BSM_DTYPE_COMPLEX_HALF},
      {DLPACK_COMPLEX, 64, BSM_DTYPE_COMPLEX_FLOAT},
      {DLPACK_COMPLEX, 128, BSM_DTYPE_COMPLEX_DOUBLE},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    if (rows[i].code == t->code && rows[i].bits == t->bits && t->lanes == 1) {
      return rows[i].dtype;
    }
  }
  return BSM_DTYPE_UNDEFINED;
}

/* The tensor in a capsule, or NULL with an exception. */
static const dlpack_tensor *open_capsule(PyObject *capsule) {
  if (PyCapsule_IsValid(capsule, "dltensor")) {
    dlpack_managed *m = PyCapsule_GetPointer(capsule, "dltensor");
    return m ? &m->tensor : NULL;
  }
  if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    dlpack_versioned *m = PyCapsule_GetPointer(capsule, "dltensor_versioned");
    if (m && m->major == 1) return &m->tensor;
  }
  if (!PyErr_Occurred()) {
    PyErr_SetString(PyExc_TypeError, "no capsule of DLPack that can be read");
  }
  return NULL;
}

static bool set_space(const dlpack_tensor *t, bsm_array *out) {
  switch (t->device_type) {
    case DLPACK_CPU:
    case DLPACK_CUDA_HOST:
      return true;
    case DLPACK_CUDA:
    case DLPACK_CUDA_MANAGED:
      out->space = BSM_SPACE_DEVICE;
      out->device = t->device_id;
      return true;
    default:
      PyErr_Format(PyExc_TypeError,
                   "an array on a device that engines do not run on (DLPack's "
                   "device type %d)",
                   (int)t->device_type);
      return false;
  }
}

/* Describes what a capsule holds; takes the reference. The capsule is not
 * renamed: it gives the memory back when it goes, after the run. */
static bool describe_capsule(PyObject *capsule, bsmpy_array *out) {
  const dlpack_tensor *t = open_capsule(capsule);
  out->owner = capsule;
  if (!t || too_many_dims(t->rank)) return false;
  out->array = (bsm_array){.data = (char *)t->data + t->byte_offset,
                           .dtype = dtype_of_dlpack(t)};
  out->array.dims.rank = t->rank;
  for (int i = 0; i < t->rank; i++) {
    out->array.dims.d[i] = t->dims[i];
    if (t->strides) out->strides[i] = t->strides[i];
  }
  if (t->strides) out->array.strides = out->strides;
  if (out->array.dtype == BSM_DTYPE_UNDEFINED) {
    PyErr_Format(PyExc_TypeError,
                 "an array of a dtype that engines do not have (DLPack's code "
                 "%d, %d bits, %d lanes)",
                 t->code, t->bits, t->lanes);
    return false;
  }
  return set_space(t, &out->array);
}

static bool is_contiguous(const bsm_array *a) {
  int64_t step = 1;
  bool contiguous = true;
  if (!a->strides) return true;
  for (int32_t i = a->dims.rank - 1; i >= 0; i--) {
    if (a->dims.d[i] == 0) return true;
    contiguous = contiguous && (a->dims.d[i] == 1 || a->strides[i] == step);
    step *= a->dims.d[i];
  }
  return contiguous;
}

/* ---- PyTorch ---- */

/* Whether the method says True. */
static bool says_yes(PyObject *tensor, PyObject *method) {
  PyObject *answer = PyObject_CallMethodObjArgs(tensor, method, NULL);
  const bool yes = answer == Py_True;
  Py_XDECREF(answer);
  return yes;
}

static bool export_torch(PyObject *tensor, bsmpy_array *out) {
  PyObject *capsule =
      PyObject_CallFunctionObjArgs(torch.to_dlpack, tensor, NULL);
  return capsule && describe_capsule(capsule, out);
}

/* Tensors whose conjugation or sign is a note, which DLPack does not have. */
static bool is_lazy(PyObject *tensor, bsm_dtype dtype) {
  switch (dtype) {
    case BSM_DTYPE_COMPLEX_HALF:
    case BSM_DTYPE_COMPLEX_FLOAT:
    case BSM_DTYPE_COMPLEX_DOUBLE:
      return says_yes(tensor, torch.is_conj) || says_yes(tensor, torch.is_neg);
    case BSM_DTYPE_HALF:
    case BSM_DTYPE_BFLOAT16:
    case BSM_DTYPE_FLOAT:
    case BSM_DTYPE_DOUBLE:
      return says_yes(tensor, torch.is_neg);
    default:
      return false;
  }
}

static bool take_torch(PyObject *tensor, bsmpy_array *out) {
  out->kind = BSMPY_TORCH;
  if (!export_torch(tensor, out)) return false;
  const bool lazy = is_lazy(tensor, out->array.dtype);
  if (PyErr_Occurred()) return false;
  if (!lazy &&
      (is_contiguous(&out->array) || out->array.space == BSM_SPACE_DEVICE)) {
    return true;
  }
  PyObject *plain = tensor;
  Py_INCREF(plain);
  static const char *const methods[] = {"resolve_conj", "resolve_neg",
                                        "contiguous"};
  for (int i = lazy ? 0 : 2; plain && i < 3; i++) {
    PyObject *next = PyObject_CallMethod(plain, methods[i], NULL);
    Py_DECREF(plain);
    plain = next;
  }
  Py_CLEAR(out->owner);
  const bool taken = plain && export_torch(plain, out);
  Py_XDECREF(plain);
  return taken;
}

/* ---- all of them ---- */

/* Takes what needs no adapter; *known: whether it is of such a kind. */
static bool take_known(PyObject *object, bsmpy_array *out, bool *known) {
  *known = true;
  if (PyArray_Check(object)) return take_numpy(object, out);
  if (torch.tensor && PyObject_TypeCheck(object, torch.tensor)) {
    return take_torch(object, out);
  }
  if (PyCapsule_CheckExact(object)) {
    Py_INCREF(object);
    return describe_capsule(object, out);
  }
  return *known = false;
}

bool bsmpy_array_take(PyObject *object, bsmpy_array *out) {
  bool known;
  *out = (bsmpy_array){.owner = NULL};
  if (take_known(object, out, &known)) return true;
  if (known || !adapter) return false;
  PyObject *adapted = PyObject_CallFunctionObjArgs(adapter, object, NULL);
  if (!adapted) return false;
  const bool taken = take_known(adapted, out, &known);
  if (!known) {
    PyErr_Format(PyExc_TypeError, "not an array: %R", object);
  }
  Py_DECREF(adapted);
  return taken;
}

bool bsmpy_array_take_output(PyObject *object, bsmpy_array *out) {
  *out = (bsmpy_array){.owner = NULL};
  if (PyArray_Check(object)) {
    if (!PyArray_ISCARRAY((PyArrayObject *)object)) {
      PyErr_SetString(PyExc_ValueError,
                      "an output has to be contiguous and writable");
      return false;
    }
    Py_INCREF(object);
    return describe_numpy((PyArrayObject *)object, out);
  }
  if (torch.tensor && PyObject_TypeCheck(object, torch.tensor)) {
    out->kind = BSMPY_TORCH;
    if (!export_torch(object, out)) return false;
  } else if (PyCapsule_CheckExact(object)) {
    Py_INCREF(object);
    if (!describe_capsule(object, out)) return false;
  } else {
    PyErr_Format(PyExc_TypeError, "not an array to write to: %R", object);
    return false;
  }
  if (!is_contiguous(&out->array) && out->array.space == BSM_SPACE_HOST) {
    PyErr_SetString(PyExc_ValueError, "an output has to be contiguous");
    return false;
  }
  return true;
}

void bsmpy_array_release(bsmpy_array *array) {
  Py_CLEAR(array->owner);
}
