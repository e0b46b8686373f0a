/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that a run wrote becomes arrays of NumPy or tensors of PyTorch, which
 * own it: nothing is copied. */
#include <stdlib.h>

#include "dlpack.h"
#include "numpy_api.h"

/* As kernels like it best. */
enum { ALIGNMENT = 64 };

static struct {
  PyObject *from_dlpack, *from_numpy;
  bool has_bool; /* PyTorch takes bools by DLPack */
} torch;

/* set_torch(tensor class, to_dlpack, from_dlpack, from_numpy, has_bool) */
PyObject *bsmpy_set_torch(PyObject *self, PyObject *args) {
  PyObject *tensor, *to_dlpack, *from_dlpack, *from_numpy;
  int has_bool;
  (void)self;
  if (!PyArg_ParseTuple(args, "OOOOp", &tensor, &to_dlpack, &from_dlpack,
                        &from_numpy, &has_bool)) {
    return NULL;
  }
  bsmpy_set_torch_exporter(tensor, to_dlpack);
  Py_INCREF(from_dlpack);
  Py_INCREF(from_numpy);
  torch.from_dlpack = from_dlpack;
  torch.from_numpy = from_numpy;
  torch.has_bool = has_bool;
  Py_RETURN_NONE;
}

void *bsmpy_result_allocate(size_t bytes) {
  void *data;
  return posix_memalign(&data, ALIGNMENT, bytes ? bytes : 1) ? NULL : data;
}

/* ---- NumPy ---- */

static void free_capsule(PyObject *capsule) {
  free(PyCapsule_GetPointer(capsule, NULL));
}

static PyObject *numpy_array(bsmpy_result *result) {
  npy_intp dims[BSM_MAX_RANK];
  const int type = bsmpy_numpy_type(result->dtype);
  if (type < 0) return NULL;
  for (int i = 0; i < result->dims.rank; i++) dims[i] = result->dims.d[i];
  PyObject *owner = PyCapsule_New(result->data, NULL, free_capsule);
  if (!owner) return NULL;
  void *data = result->data;
  result->data = NULL;
  PyObject *array = PyArray_New(&PyArray_Type, result->dims.rank, dims, type,
                                NULL, data, 0, NPY_ARRAY_CARRAY, NULL);
  if (!array) {
    Py_DECREF(owner);
    return NULL;
  }
  if (PyArray_SetBaseObject((PyArrayObject *)array, owner) < 0) {
    Py_DECREF(array);
    return NULL;
  }
  return array;
}

/* ---- DLPack ---- */

typedef struct exported {
  dlpack_managed managed;
  int64_t dims[BSM_MAX_RANK], strides[BSM_MAX_RANK];
} exported;

static void delete_exported(dlpack_managed *self) {
  free(self->tensor.data);
  free(self);
}

/* Of a capsule that nobody took. */
static void delete_capsule(PyObject *capsule) {
  if (!PyCapsule_IsValid(capsule, "dltensor")) return;
  dlpack_managed *m = PyCapsule_GetPointer(capsule, "dltensor");
  m->deleter(m);
}

static void set_dlpack_dtype(bsm_dtype dtype, dlpack_tensor *t) {
  t->lanes = 1;
  t->bits = (uint8_t)(8 * bsm_dtype_size(dtype));
  switch (dtype) {
    case BSM_DTYPE_UINT8:
      t->code = DLPACK_UINT;
      break;
    case BSM_DTYPE_INT8:
    case BSM_DTYPE_INT16:
    case BSM_DTYPE_INT32:
    case BSM_DTYPE_INT64:
      t->code = DLPACK_INT;
      break;
    case BSM_DTYPE_BFLOAT16:
      t->code = DLPACK_BFLOAT;
      break;
    case BSM_DTYPE_BOOL:
      t->code = DLPACK_BOOL;
      break;
    case BSM_DTYPE_COMPLEX_HALF:
    case BSM_DTYPE_COMPLEX_FLOAT:
    case BSM_DTYPE_COMPLEX_DOUBLE:
      t->code = DLPACK_COMPLEX;
      break;
    default:
      t->code = DLPACK_FLOAT;
      break;
  }
}

static PyObject *dlpack_capsule(bsmpy_result *result) {
  exported *e = malloc(sizeof(*e));
  if (!e) return PyErr_NoMemory();
  e->managed = (dlpack_managed){.deleter = delete_exported};
  dlpack_tensor *t = &e->managed.tensor;
  t->data = result->data;
  t->device_type = DLPACK_CPU;
  t->rank = result->dims.rank;
  t->dims = e->dims;
  t->strides = e->strides;
  set_dlpack_dtype(result->dtype, t);
  int64_t step = 1;
  for (int32_t i = t->rank - 1; i >= 0; i--) {
    e->dims[i] = result->dims.d[i];
    e->strides[i] = step;
    if (e->dims[i] > 1) step *= e->dims[i];
  }
  PyObject *capsule = PyCapsule_New(&e->managed, "dltensor", delete_capsule);
  if (!capsule) {
    free(e);
    return NULL;
  }
  result->data = NULL;
  return capsule;
}

PyObject *bsmpy_result_array(bsmpy_result *result, bsmpy_kind kind) {
  const bool by_numpy = kind == BSMPY_NUMPY ||
                        (result->dtype == BSM_DTYPE_BOOL && !torch.has_bool);
  PyObject *made = by_numpy ? numpy_array(result) : dlpack_capsule(result);
  if (!made || kind == BSMPY_NUMPY) return made;
  PyObject *tensor = PyObject_CallFunctionObjArgs(
      by_numpy ? torch.from_numpy : torch.from_dlpack, made, NULL);
  Py_DECREF(made);
  return tensor;
}
