/* SPDX-License-Identifier: Apache-2.0 */
/* The type Calibration: what is known for computing in int8; and how a model
 * is calibrated, with data that a function of Python gives. */
#include <stdlib.h>

#include "core.h"

PyTypeObject *bsmpy_calibration_type;

typedef struct calibration {
  PyObject_HEAD bsm_calibration *calibration;
} calibration;

static PyObject *wrap(bsm_calibration *made) {
  allocfunc allocate =
      (allocfunc)PyType_GetSlot(bsmpy_calibration_type, Py_tp_alloc);
  PyObject *self = allocate(bsmpy_calibration_type, 0);
  if (!self) {
    bsm_calibration_destroy(made);
    return NULL;
  }
  ((calibration *)self)->calibration = made;
  return self;
}

static void calibration_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  bsm_calibration_destroy(((calibration *)self)->calibration);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

bool bsmpy_calibration_read(PyObject *object, const bsm_calibration **out) {
  *out = NULL;
  if (object == Py_None) return true;
  const int is =
      PyObject_IsInstance(object, (PyObject *)bsmpy_calibration_type);
  if (is == 0) PyErr_SetString(PyExc_TypeError, "that is no calibration");
  if (is <= 0) return false;
  *out = ((calibration *)object)->calibration;
  return true;
}

/* ---- calibrating ---- */

/* What callbacks use. The arrays are those of the last batch. */
typedef struct calibrating {
  PyObject *next, *metric;
  bsmpy_array *arrays;
  size_t count;
} calibrating;

static void drop_batch(calibrating *c) {
  for (size_t i = 0; i < c->count; i++) bsmpy_array_release(&c->arrays[i]);
  free(c->arrays);
  c->arrays = NULL;
  c->count = 0;
}

/* The exception stays, and is what calibrating raises. */
static bsm_status failed(void) {
  return BSM_FAIL(BSM_RAISED, "a function of Python raised an exception");
}

static PyObject *names_of(const bsm_binding *inputs, size_t count) {
  PyObject *names = PyList_New(0);
  for (size_t i = 0; names && i < count; i++) {
    PyObject *name = PyUnicode_FromString(inputs[i].name);
    if (!name || PyList_Append(names, name) < 0) Py_CLEAR(names);
    Py_XDECREF(name);
  }
  return names;
}

/* Takes the arrays of a batch, a sequence of `count`. */
static bool take_batch(calibrating *c, PyObject *batch, size_t count,
                       bsm_array *arrays) {
  drop_batch(c);
  c->arrays = calloc(count ? count : 1, sizeof(*c->arrays));
  if (!c->arrays) return PyErr_NoMemory() != NULL;
  for (size_t i = 0; i < count; i++) {
    PyObject *item = PySequence_GetItem(batch, (Py_ssize_t)i);
    c->count = i + 1;
    const bool good = item && bsmpy_array_take(item, &c->arrays[i]);
    Py_XDECREF(item);
    if (!good) return false;
    arrays[i] = c->arrays[i].array;
  }
  return true;
}

static bsm_status next_batch(void *user, size_t number,
                             const bsm_binding *inputs, size_t count,
                             bsm_array *arrays, bool *end) {
  calibrating *c = user;
  (void)number;
  PyGILState_STATE gil = PyGILState_Ensure();
  PyObject *names = names_of(inputs, count);
  PyObject *batch =
      names ? PyObject_CallFunctionObjArgs(c->next, names, NULL) : NULL;
  bool good = batch != NULL;
  *end = batch == Py_None;
  if (good && !*end) good = take_batch(c, batch, count, arrays);
  Py_XDECREF(batch);
  Py_XDECREF(names);
  PyGILState_Release(gil);
  return good ? BSM_OK : failed();
}

/* The function gets the engine as bytes, as this one is only lent. */
static bsm_status measure(void *user, bsm_engine *engine, double *out) {
  calibrating *c = user;
  void *data;
  size_t size;
  bsm_engine_save_options options = BSM_ENGINE_SAVE_OPTIONS_INIT;
  options.unrecorded = true;
  BSM_TRY(bsm_engine_save_memory(engine, &options, &data, &size));
  PyGILState_STATE gil = PyGILState_Ensure();
  PyObject *made =
      PyObject_CallFunction(c->metric, "y#", data, (Py_ssize_t)size);
  *out = made ? PyFloat_AsDouble(made) : 0;
  Py_XDECREF(made);
  const bool good = !PyErr_Occurred();
  PyGILState_Release(gil);
  bsm_bytes_free(data);
  return good ? BSM_OK : failed();
}

PyObject *bsmpy_calibrate(bsm_module *module,
                          const bsm_compile_options *compiling,
                          PyObject *settings) {
  calibrating c = {0};
  bsm_calibrate_options o = BSM_CALIBRATE_OPTIONS_INIT;
  bsm_calibration *made = NULL;
  int method, equalize, layers, dynamic;
  Py_ssize_t most;
  bsm_status status;
  if (!PyArg_ParseTuple(settings, "OOidnppdp", &c.next, &c.metric, &method,
                        &o.percentile, &most, &equalize, &layers, &o.max_loss,
                        &dynamic)) {
    return NULL;
  }
  o.method = (bsm_calibration_method)method;
  o.max_batches = most > 0 ? (size_t)most : 0;
  o.equalize = equalize;
  o.measure_layers = layers;
  o.dynamic_products = dynamic;
  o.next = next_batch;
  o.next_user = &c;
  if (c.metric != Py_None) {
    o.metric = measure;
    o.metric_user = &c;
  }
  Py_BEGIN_ALLOW_THREADS status = bsm_calibrate(module, compiling, &o, &made);
  Py_END_ALLOW_THREADS drop_batch(&c);
  return status ? bsmpy_raise(status) : wrap(made);
}

PyObject *bsmpy_load_calibration(PyObject *self, PyObject *args) {
  PyObject *path;
  bsm_calibration *made = NULL;
  (void)self;
  if (!PyArg_ParseTuple(args, "O&", PyUnicode_FSConverter, &path)) return NULL;
  bsm_status status = bsm_calibration_load(PyBytes_AsString(path), &made);
  Py_DECREF(path);
  return status ? bsmpy_raise(status) : wrap(made);
}

/* ---- methods ---- */

/* save(path, tensorrt) */
static PyObject *calibration_save(PyObject *self, PyObject *args) {
  PyObject *path;
  int tensorrt;
  const bsm_calibration *c = ((calibration *)self)->calibration;
  if (!PyArg_ParseTuple(args, "O&p", PyUnicode_FSConverter, &path, &tensorrt)) {
    return NULL;
  }
  const char *file = PyBytes_AsString(path);
  bsm_status status = tensorrt ? bsm_calibration_save_tensorrt(c, file)
                               : bsm_calibration_save(c, file);
  Py_DECREF(path);
  if (status) return bsmpy_raise(status);
  Py_RETURN_NONE;
}

/* Appends `row`, which may be NULL, to `rows`, which is released then. */
static PyObject *with_row(PyObject *rows, PyObject *row) {
  if (!row || PyList_Append(rows, row) < 0) Py_CLEAR(rows);
  Py_XDECREF(row);
  return rows;
}

static PyObject *calibration_ranges(PyObject *self, PyObject *unused) {
  const bsm_calibration *c = ((calibration *)self)->calibration;
  PyObject *rows = PyList_New(0);
  (void)unused;
  for (size_t i = 0; rows && i < bsm_calibration_range_count(c); i++) {
    bsm_calibration_range r = BSM_CALIBRATION_RANGE_INIT;
    bsm_status status = bsm_calibration_get_range(c, i, &r);
    rows = with_row(rows, status ? bsmpy_raise(status)
                                 : Py_BuildValue("(sdddd)", r.tensor, r.low,
                                                 r.high, r.least, r.greatest));
  }
  return rows;
}

static PyObject *calibration_layers(PyObject *self, PyObject *unused) {
  const bsm_calibration *c = ((calibration *)self)->calibration;
  PyObject *rows = PyList_New(0);
  (void)unused;
  for (size_t i = 0; rows && i < bsm_calibration_layer_count(c); i++) {
    bsm_calibration_layer l = BSM_CALIBRATION_LAYER_INIT;
    bsm_status status = bsm_calibration_get_layer(c, i, &l);
    rows = with_row(
        rows, status ? bsmpy_raise(status)
                     : Py_BuildValue("(sssssNddd)", l.name, l.kind, l.module,
                                     l.input, bsm_precision_name(l.precision),
                                     PyBool_FromLong(l.dynamic), l.operations,
                                     l.sqnr, l.loss));
  }
  return rows;
}

/* (calibrator, batches, loss) */
static PyObject *calibration_info(PyObject *self, PyObject *unused) {
  bsm_calibration_info info = BSM_CALIBRATION_INFO_INIT;
  (void)unused;
  bsm_status status =
      bsm_calibration_describe(((calibration *)self)->calibration, &info);
  if (status) return bsmpy_raise(status);
  return Py_BuildValue("(sKd)", bsm_calibration_method_name(info.method),
                       (unsigned long long)info.batches, info.loss);
}

static PyObject *calibration_untie(PyObject *self, PyObject *unused) {
  (void)unused;
  bsm_calibration_untie(((calibration *)self)->calibration);
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"untie", calibration_untie, METH_NOARGS, NULL},
    {"save", calibration_save, METH_VARARGS, NULL},
    {"ranges", calibration_ranges, METH_NOARGS, NULL},
    {"layers", calibration_layers, METH_NOARGS, NULL},
    {"info", calibration_info, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

static int no_init(PyObject *self, PyObject *args, PyObject *kwargs) {
  (void)self;
  (void)args;
  (void)kwargs;
  PyErr_SetString(PyExc_TypeError, "calibrations are made or loaded");
  return -1;
}

static PyType_Slot slots[] = {{Py_tp_init, (void *)no_init},
                              {Py_tp_dealloc, (void *)calibration_dealloc},
                              {Py_tp_methods, methods},
                              {0, NULL}};
PyType_Spec bsmpy_calibration_spec = {"bessemer._core.Calibration",
                                      sizeof(calibration), 0,
                                      Py_TPFLAGS_DEFAULT, slots};
