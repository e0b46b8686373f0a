/* SPDX-License-Identifier: Apache-2.0 */
/* The type Engine: what was compiled or loaded, as far as it needs no run. */
#include <stdlib.h>

#include "core.h"

PyTypeObject *bsmpy_engine_type;

PyObject *bsmpy_engine_wrap(bsm_engine *engine, PyObject *bytes) {
  allocfunc allocate =
      (allocfunc)PyType_GetSlot(bsmpy_engine_type, Py_tp_alloc);
  bsmpy_engine *self = (bsmpy_engine *)allocate(bsmpy_engine_type, 0);
  if (!self) {
    bsm_engine_destroy(engine);
    return NULL;
  }
  self->engine = engine;
  Py_XINCREF(bytes);
  self->bytes = bytes;
  return (PyObject *)self;
}

static void engine_dealloc(PyObject *self) {
  bsmpy_engine *e = (bsmpy_engine *)self;
  PyTypeObject *type = Py_TYPE(self);
  bsm_engine_destroy(e->engine);
  Py_XDECREF(e->bytes);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

/* ---- loading ---- */

/* The keys, 32 bytes each, one behind the other; NULL for none. */
static bool read_keys(PyObject *keys, bsm_engine_load_options *out) {
  char *data;
  Py_ssize_t size;
  if (keys == Py_None) return true;
  if (PyBytes_AsStringAndSize(keys, &data, &size) < 0) return false;
  if (size % BSM_PUBLIC_KEY_BYTES) {
    PyErr_SetString(PyExc_ValueError, "a public key has 32 bytes");
    return false;
  }
  out->public_keys = (const uint8_t(*)[BSM_PUBLIC_KEY_BYTES])(void *)data;
  out->public_key_count = (size_t)size / BSM_PUBLIC_KEY_BYTES;
  return true;
}

PyObject *bsmpy_engine_load(PyObject *self, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"path",           "data",        "level",
                          "trust_code",     "public_keys", "device",
                          "without_device", "no_map",      NULL};
  bsm_engine_load_options options = BSM_ENGINE_LOAD_OPTIONS_INIT;
  PyObject *path = NULL, *data, *keys;
  int level, trust, device, without, no_map;
  bsm_engine *engine = NULL;
  bsm_status status = BSM_OK;
  (void)self;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&OipOipp", names,
                                   PyUnicode_FSConverter, &path, &data, &level,
                                   &trust, &keys, &device, &without, &no_map)) {
    return NULL;
  }
  const bsm_logger logger = bsmpy_logger(level);
  options.logger = &logger;
  options.trust_code = trust;
  options.device = device;
  options.without_device = without;
  options.no_map = no_map;
  const bool in_memory = data != Py_None;
  char *start = PyBytes_AsString(path);
  Py_ssize_t size = 0;
  bool good = read_keys(keys, &options) &&
              (!in_memory || PyBytes_AsStringAndSize(data, &start, &size) == 0);
  if (good) {
    Py_BEGIN_ALLOW_THREADS status =
        in_memory
            ? bsm_engine_load_memory(start, (size_t)size, &options, &engine)
            : bsm_engine_load(start, &options, &engine);
    Py_END_ALLOW_THREADS
  }
  Py_DECREF(path);
  if (status) return bsmpy_raise(status);
  return good ? bsmpy_engine_wrap(engine, in_memory ? data : NULL) : NULL;
}

/* ---- saving ---- */

static PyObject *engine_save(PyObject *self, PyObject *args) {
  PyObject *path = NULL;
  int level;
  bsm_engine_save_options options = BSM_ENGINE_SAVE_OPTIONS_INIT;
  bsm_status status;
  if (!PyArg_ParseTuple(args, "O&i", PyUnicode_FSConverter, &path, &level)) {
    return NULL;
  }
  const bsm_logger logger = bsmpy_logger(level);
  const char *file = PyBytes_AsString(path);
  options.logger = &logger;
  Py_BEGIN_ALLOW_THREADS status =
      bsm_engine_save_with(((bsmpy_engine *)self)->engine, file, &options);
  Py_END_ALLOW_THREADS Py_DECREF(path);
  if (status) return bsmpy_raise(status);
  Py_RETURN_NONE;
}

static PyObject *engine_to_bytes(PyObject *self, PyObject *args) {
  int level;
  void *data;
  size_t size;
  bsm_engine_save_options options = BSM_ENGINE_SAVE_OPTIONS_INIT;
  bsm_status status;
  if (!PyArg_ParseTuple(args, "i", &level)) return NULL;
  const bsm_logger logger = bsmpy_logger(level);
  options.logger = &logger;
  Py_BEGIN_ALLOW_THREADS status = bsm_engine_save_memory(
      ((bsmpy_engine *)self)->engine, &options, &data, &size);
  Py_END_ALLOW_THREADS if (status) return bsmpy_raise(status);
  PyObject *bytes = PyBytes_FromStringAndSize(data, (Py_ssize_t)size);
  bsm_bytes_free(data);
  return bytes;
}

/* ---- what it is ---- */

/* (name, dtype, dims, space, min, opt, max), the last three of inputs. */
static PyObject *input_row(const bsm_engine *engine, size_t i) {
  bsm_binding b = BSM_BINDING_INIT;
  bsm_dims min, opt, max;
  bsm_status status = bsm_engine_input(engine, i, &b);
  if (!status) status = bsm_engine_input_range(engine, i, &min, &opt, &max);
  if (status) return bsmpy_raise(status);
  return Py_BuildValue("(siNiNNN)", b.name, (int)b.dtype, bsmpy_dims(&b.dims),
                       (int)b.space, bsmpy_dims(&min), bsmpy_dims(&opt),
                       bsmpy_dims(&max));
}

static PyObject *output_row(const bsm_engine *engine, size_t i) {
  bsm_binding b = BSM_BINDING_INIT;
  bsm_status status = bsm_engine_output(engine, i, &b);
  if (status) return bsmpy_raise(status);
  return Py_BuildValue("(siNi)", b.name, (int)b.dtype, bsmpy_dims(&b.dims),
                       (int)b.space);
}

static PyObject *rows_of(const bsm_engine *engine, size_t count,
                         PyObject *(*row)(const bsm_engine *, size_t)) {
  PyObject *rows = PyTuple_New((Py_ssize_t)count);
  for (size_t i = 0; rows && i < count; i++) {
    PyObject *item = row(engine, i);
    if (!item || PyTuple_SetItem(rows, (Py_ssize_t)i, item)) Py_CLEAR(rows);
  }
  return rows;
}

static PyObject *engine_inputs(PyObject *self, PyObject *unused) {
  const bsm_engine *engine = ((bsmpy_engine *)self)->engine;
  (void)unused;
  return rows_of(engine, bsm_engine_input_count(engine), input_row);
}

static PyObject *engine_outputs(PyObject *self, PyObject *unused) {
  const bsm_engine *engine = ((bsmpy_engine *)self)->engine;
  (void)unused;
  return rows_of(engine, bsm_engine_output_count(engine), output_row);
}

static PyObject *engine_structures(PyObject *self, PyObject *unused) {
  const bsm_engine *engine = ((bsmpy_engine *)self)->engine;
  (void)unused;
  PyObject *arguments = bsmpy_structure(bsm_engine_input_structure(engine));
  if (!arguments) return NULL;
  PyObject *result = bsmpy_structure(bsm_engine_output_structure(engine));
  if (!result) {
    Py_DECREF(arguments);
    return NULL;
  }
  return Py_BuildValue("(NN)", arguments, result);
}

static PyObject *engine_metadata(PyObject *self, PyObject *unused) {
  const char *key, *value;
  PyObject *all = PyDict_New();
  (void)unused;
  for (size_t i = 0;
       all &&
       bsm_engine_metadata_at(((bsmpy_engine *)self)->engine, i, &key, &value);
       i++) {
    PyObject *text =
        PyUnicode_DecodeUTF8(value, (Py_ssize_t)strlen(value), "replace");
    if (!text || PyDict_SetItemString(all, key, text) < 0) Py_CLEAR(all);
    Py_XDECREF(text);
  }
  return all;
}

static PyObject *engine_memory(PyObject *self, PyObject *args) {
  int threads;
  bsm_engine_memory_info info = BSM_ENGINE_MEMORY_INFO_INIT;
  if (!PyArg_ParseTuple(args, "i", &threads)) return NULL;
  bsm_status status =
      bsm_engine_memory(((bsmpy_engine *)self)->engine, threads, &info);
  if (status) return bsmpy_raise(status);
  return Py_BuildValue("(KKKKKK)", (unsigned long long)info.weights,
                       (unsigned long long)info.workspace,
                       (unsigned long long)info.scratch,
                       (unsigned long long)info.host_workspace,
                       (unsigned long long)info.host_scratch,
                       (unsigned long long)info.device_weights);
}

static PyObject *engine_dump(PyObject *self, PyObject *unused) {
  char *text;
  (void)unused;
  bsm_status status = bsm_engine_dump(((bsmpy_engine *)self)->engine, &text);
  if (status) return bsmpy_raise(status);
  PyObject *string =
      PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
  bsm_string_free(text);
  return string;
}

static PyMethodDef methods[] = {
    {"save", engine_save, METH_VARARGS, NULL},
    {"to_bytes", engine_to_bytes, METH_VARARGS, NULL},
    {"inputs", engine_inputs, METH_NOARGS, NULL},
    {"outputs", engine_outputs, METH_NOARGS, NULL},
    {"structures", engine_structures, METH_NOARGS, NULL},
    {"metadata", engine_metadata, METH_NOARGS, NULL},
    {"memory", engine_memory, METH_VARARGS, NULL},
    {"dump", engine_dump, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

/* Engines come from load and from modules. */
static int no_init(PyObject *self, PyObject *args, PyObject *kwargs) {
  (void)self;
  (void)args;
  (void)kwargs;
  PyErr_SetString(PyExc_TypeError, "engines are compiled or loaded");
  return -1;
}

static PyType_Slot slots[] = {{Py_tp_init, (void *)no_init},
                              {Py_tp_dealloc, (void *)engine_dealloc},
                              {Py_tp_methods, methods},
                              {0, NULL}};
PyType_Spec bsmpy_engine_spec = {"bessemer._core.Engine", sizeof(bsmpy_engine),
                                 0, Py_TPFLAGS_DEFAULT, slots};
