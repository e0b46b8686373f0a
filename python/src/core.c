/* SPDX-License-Identifier: Apache-2.0 */
/* The module bessemer._core; core.h tells what is in it. */
#include "core.h"

static PyObject *version(PyObject *self, PyObject *unused) {
  (void)self;
  (void)unused;
  return PyUnicode_FromString(bsm_version());
}

static PyObject *target_text(PyObject *self, PyObject *args) {
  const char *target = NULL;
  char *text;
  (void)self;
  if (!PyArg_ParseTuple(args, "|z", &target)) return NULL;
  bsm_status status = bsm_target_text(target, &text);
  if (status) return bsmpy_raise(status);
  PyObject *string = PyUnicode_FromString(text);
  bsm_string_free(text);
  return string;
}

static PyObject *target_names(PyObject *self, PyObject *unused) {
  PyObject *names = PyList_New(0);
  (void)self;
  (void)unused;
  for (size_t i = 0; names && bsm_target_name(i); i++) {
    PyObject *name = PyUnicode_FromString(bsm_target_name(i));
    if (!name || PyList_Append(names, name) < 0) Py_CLEAR(names);
    Py_XDECREF(name);
  }
  return names;
}

/* public_key(path): the 32 bytes of a key file. */
static PyObject *public_key(PyObject *self, PyObject *args) {
  PyObject *path;
  uint8_t key[BSM_PUBLIC_KEY_BYTES];
  (void)self;
  if (!PyArg_ParseTuple(args, "O&", PyUnicode_FSConverter, &path)) return NULL;
  bsm_status status = bsm_public_key_load(PyBytes_AsString(path), key);
  Py_DECREF(path);
  if (status) return bsmpy_raise(status);
  return PyBytes_FromStringAndSize((const char *)key, sizeof(key));
}

static PyMethodDef functions[] = {
    {"version", version, METH_NOARGS, NULL},
    {"target_text", target_text, METH_VARARGS, NULL},
    {"target_names", target_names, METH_NOARGS, NULL},
    {"public_key", public_key, METH_VARARGS, NULL},
    {"load", (PyCFunction)(void (*)(void))bsmpy_engine_load,
     METH_VARARGS | METH_KEYWORDS, NULL},
    {"load_calibration", bsmpy_load_calibration, METH_VARARGS, NULL},
    {"set_errors", bsmpy_set_errors, METH_O, NULL},
    {"set_log", bsmpy_set_log, METH_O, NULL},
    {"set_adapter", bsmpy_set_adapter, METH_O, NULL},
    {"set_bfloat16", bsmpy_set_bfloat16, METH_O, NULL},
    {"set_torch", bsmpy_set_torch, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL}};

static PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                 "bessemer._core",
                                 NULL,
                                 -1,
                                 functions,
                                 NULL,
                                 NULL,
                                 NULL,
                                 NULL};

/* Makes a type and adds it under `name`. */
static PyObject *add_type(PyObject *module, const char *name,
                          PyType_Spec *spec) {
  PyObject *type = PyType_FromSpec(spec);
  if (!type) return NULL;
  Py_INCREF(type);
  if (PyModule_AddObject(module, name, type) < 0) {
    Py_DECREF(type);
    Py_CLEAR(type);
  }
  return type;
}

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void) {
  if (!bsmpy_arrays_import()) return NULL;
  PyObject *module = PyModule_Create(&definition);
  if (!module) return NULL;
  bsmpy_engine_type =
      (PyTypeObject *)add_type(module, "Engine", &bsmpy_engine_spec);
  bsmpy_calibration_type =
      (PyTypeObject *)add_type(module, "Calibration", &bsmpy_calibration_spec);
  PyObject *context = add_type(module, "Context", &bsmpy_context_spec);
  PyObject *model = add_type(module, "Module", &bsmpy_module_spec);
  const bool good =
      bsmpy_engine_type && bsmpy_calibration_type && context && model;
  Py_XDECREF(context);
  Py_XDECREF(model);
  if (!good) Py_CLEAR(module);
  return module;
}
