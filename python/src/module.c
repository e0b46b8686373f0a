/* SPDX-License-Identifier: Apache-2.0 */
/* The type Module: a model that was read, to be compiled or looked at. */
#include <stdlib.h>
#include <time.h>

#include "core.h"

typedef struct module {
  PyObject_HEAD bsm_module *module;
  bsm_logger logger;
  PyObject *bytes; /* what it was read from, or NULL */
} module;

/* Module(path, data, name, level, state_as_output, model_name, max_memory,
 * max_work) */
static int module_init(PyObject *self, PyObject *args, PyObject *kwargs) {
  static char *names[] = {
      "path",       "data",       "name",     "level", "state_as_output",
      "model_name", "max_memory", "max_work", NULL};
  module *m = (module *)self;
  PyObject *path = NULL, *data = Py_None;
  const char *name = "the model", *model_name = NULL;
  int level = 1, state = 0;
  unsigned long long max_memory = 0, max_work = 0;
  bsm_limits limits = BSM_LIMITS_INIT;
  bsm_module_options options = BSM_MODULE_OPTIONS_INIT;
  bsm_status status;
  if (!PyArg_ParseTupleAndKeywords(
          args, kwargs, "O&|OsipzKK", names, PyUnicode_FSConverter, &path,
          &data, &name, &level, &state, &model_name, &max_memory, &max_work)) {
    return -1;
  }
  m->logger = bsmpy_logger(level);
  options.logger = &m->logger;
  options.state_as_output = state;
  options.model_name = model_name;
  limits.max_memory_bytes = max_memory;
  limits.max_work = max_work;
  options.limits = &limits;
  if (data == Py_None) {
    const char *file = PyBytes_AsString(path);
    Py_BEGIN_ALLOW_THREADS status = bsm_module_load(file, &options, &m->module);
    Py_END_ALLOW_THREADS
  } else {
    char *start = NULL;
    Py_ssize_t size = 0;
    if (PyBytes_AsStringAndSize(data, &start, &size) < 0) {
      Py_DECREF(path);
      return -1;
    }
    Py_INCREF(data);
    m->bytes = data;
    Py_BEGIN_ALLOW_THREADS status =
        bsm_module_load_memory(start, (size_t)size, name, &options, &m->module);
    Py_END_ALLOW_THREADS
  }
  Py_DECREF(path);
  if (!status) return 0;
  bsmpy_raise(status);
  return -1;
}

static void module_dealloc(PyObject *self) {
  module *m = (module *)self;
  PyTypeObject *type = Py_TYPE(self);
  bsm_module_destroy(m->module);
  Py_XDECREF(m->bytes);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

/* ---- options of a compilation ---- */

typedef struct compilation {
  bsm_compile_options options;
  bsmpy_specs specs;
  bsm_logger logger;
  const char **ops, **modules;
  bsm_precision_override *overrides;
  bsm_metadata *metadata;
  PyObject *progress;     /* a function, or None */
  struct timespec looked; /* for signals, last */
} compilation;

static void release_compilation(compilation *c) {
  bsmpy_specs_release(&c->specs);
  free(c->ops);
  free(c->modules);
  free(c->overrides);
  free(c->metadata);
}

/* A sequence of str; NULL for an empty one. */
static bool read_texts(compilation *c, PyObject *sequence, const char ***out,
                       size_t *count) {
  const Py_ssize_t size = PySequence_Size(sequence);
  if (size <= 0) return size == 0;
  *out = calloc((size_t)size, sizeof(**out));
  if (!*out) return PyErr_NoMemory();
  for (Py_ssize_t i = 0; i < size; i++) {
    PyObject *item = PySequence_GetItem(sequence, i);
    if (item) (*out)[i] = bsmpy_text(item, c->specs.kept, NULL);
    Py_XDECREF(item);
    if (!(*out)[i]) return false;
  }
  *count = (size_t)size;
  return true;
}

/* A sequence of (layer or None, module or None, precision). */
static bool read_overrides(compilation *c, PyObject *sequence) {
  const Py_ssize_t size = PySequence_Size(sequence);
  if (size <= 0) return size == 0;
  c->overrides = calloc((size_t)size, sizeof(*c->overrides));
  if (!c->overrides) return PyErr_NoMemory();
  for (Py_ssize_t i = 0; i < size; i++) {
    PyObject *layer, *path, *row = PySequence_GetItem(sequence, i);
    bsm_precision_override *o = &c->overrides[i];
    int precision;
    bool good = row && PyArg_ParseTuple(row, "OOi", &layer, &path, &precision);
    if (good && layer != Py_None) {
      good = (o->layer = bsmpy_text(layer, c->specs.kept, NULL)) != NULL;
    }
    if (good && path != Py_None) {
      good = (o->module = bsmpy_text(path, c->specs.kept, NULL)) != NULL;
    }
    Py_XDECREF(row);
    if (!good) return false;
    o->precision = (bsm_precision)precision;
  }
  c->options.precision_overrides = c->overrides;
  c->options.precision_override_count = (size_t)size;
  return true;
}

/* A sequence of (key, value). */
static bool read_metadata(compilation *c, PyObject *sequence) {
  const Py_ssize_t size = PySequence_Size(sequence);
  if (size <= 0) return size == 0;
  c->metadata = calloc((size_t)size, sizeof(*c->metadata));
  if (!c->metadata) return PyErr_NoMemory();
  for (Py_ssize_t i = 0; i < size; i++) {
    PyObject *key, *value, *row = PySequence_GetItem(sequence, i);
    bsm_metadata *m = &c->metadata[i];
    const bool good =
        row && PyArg_ParseTuple(row, "OO", &key, &value) &&
        (m->key = bsmpy_text(key, c->specs.kept, NULL)) != NULL &&
        (m->value = bsmpy_text(value, c->specs.kept, NULL)) != NULL;
    Py_XDECREF(row);
    if (!good) return false;
  }
  c->options.metadata = c->metadata;
  c->options.metadata_count = (size_t)size;
  return true;
}

/* Other threads may hold the GIL for 5 ms. */
static bool looked_lately(compilation *c) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const double seconds = (double)(now.tv_sec - c->looked.tv_sec) +
                         1e-9 * (double)(now.tv_nsec - c->looked.tv_nsec);
  if (seconds < 0.1) return true;
  c->looked = now;
  return false;
}

/* Tells the caller's function, and lets Ctrl-C through. An exception cancels,
 * and is raised when the library has returned. */
static bool tell_progress(void *user, const char *phase, size_t done,
                          size_t total) {
  compilation *c = user;
  if (c->progress == Py_None && looked_lately(c)) return true;
  PyGILState_STATE gil = PyGILState_Ensure();
  bool go_on = !PyErr_Occurred() && PyErr_CheckSignals() == 0;
  if (go_on && c->progress != Py_None) {
    PyObject *answer = PyObject_CallFunction(
        c->progress, "snn", phase, (Py_ssize_t)done, (Py_ssize_t)total);
    go_on = answer && answer != Py_False;
    Py_XDECREF(answer);
  }
  PyGILState_Release(gil);
  return go_on;
}

/* The options from keyword arguments; strings among them are borrowed. */
static bool read_options(PyObject *args, PyObject *kwargs, compilation *c) {
  static char *names[] = {"inputs",
                          "method",
                          "target",
                          "precisions",
                          "overrides",
                          "obey_precisions",
                          "no_timing",
                          "timing_cache",
                          "truncate_long_and_double",
                          "require_full_compilation",
                          "fallback_ops",
                          "fallback_modules",
                          "min_block_size",
                          "threads",
                          "level",
                          "reference",
                          "weight_bits",
                          "weight_group",
                          "weight_rows",
                          "metadata",
                          "prefer_size",
                          "progress",
                          "calibration",
                          NULL};
  PyObject *inputs = Py_None, *ops, *modules, *overrides, *metadata, *known;
  int obey, no_timing, truncate, full, threads, level, size;
  unsigned precisions, reference;
  Py_ssize_t block, rows;
  bsm_compile_options *o = &c->options;
  *c = (compilation){.options = BSM_COMPILE_OPTIONS_INIT};
  if (!PyArg_ParseTupleAndKeywords(
          args, kwargs, "OzzIOppzppOOniiIiinOpOO", names, &inputs, &o->method,
          &o->target, &precisions, &overrides, &obey, &no_timing,
          &o->timing_cache, &truncate, &full, &ops, &modules, &block, &threads,
          &level, &reference, &o->weight_bits, &o->weight_group, &rows,
          &metadata, &size, &c->progress, &known) ||
      !bsmpy_calibration_read(known, &o->calibration) ||
      !bsmpy_specs_read(inputs, &c->specs) || !read_overrides(c, overrides) ||
      !read_texts(c, ops, &c->ops, &o->fallback_op_count) ||
      !read_texts(c, modules, &c->modules, &o->fallback_module_count) ||
      !read_metadata(c, metadata)) {
    return false;
  }
  c->logger = bsmpy_logger(level);
  o->inputs = c->specs.count ? c->specs.items : NULL;
  o->input_count = c->specs.count;
  o->precisions = precisions;
  o->obey_precisions = obey;
  o->no_timing = no_timing;
  o->truncate_long_and_double = truncate;
  o->require_full_compilation = full;
  o->fallback_ops = c->ops;
  o->fallback_modules = c->modules;
  o->min_block_size = block > 0 ? (size_t)block : 0;
  o->threads = threads;
  o->weight_rows = rows;
  o->reference = reference;
  o->prefer_size = size;
  o->progress = tell_progress;
  o->progress_user = c;
  o->logger = &c->logger;
  return true;
}

/* Compiles, or gives `old` the weights of the module. */
static PyObject *make_engine(PyObject *self, PyObject *args, PyObject *kwargs,
                             const bsm_engine *old) {
  bsm_module *m = ((module *)self)->module;
  compilation c;
  bsm_engine *engine = NULL;
  bsm_status status = BSM_OK;
  const bool good = read_options(args, kwargs, &c);
  if (good) {
    Py_BEGIN_ALLOW_THREADS status =
        old ? bsm_engine_refit(old, m, &c.options, &engine)
            : bsm_compile(m, &c.options, &engine);
    Py_END_ALLOW_THREADS
  }
  release_compilation(&c);
  if (status) return bsmpy_raise(status);
  if (PyErr_Occurred()) { /* by the last report */
    bsm_engine_destroy(engine);
    return NULL;
  }
  return good ? bsmpy_engine_wrap(engine, NULL) : NULL;
}

static PyObject *module_compile(PyObject *self, PyObject *args,
                                PyObject *kwargs) {
  return make_engine(self, args, kwargs, NULL);
}

/* refit(engine, options...) */
static PyObject *module_refit(PyObject *self, PyObject *args,
                              PyObject *kwargs) {
  PyObject *old;
  if (!PyArg_ParseTuple(args, "O", &old)) return NULL;
  if (!PyObject_TypeCheck(old, bsmpy_engine_type)) {
    PyErr_SetString(PyExc_TypeError, "refit takes an engine");
    return NULL;
  }
  PyObject *none = PyTuple_New(0);
  if (!none) return NULL;
  PyObject *made =
      make_engine(self, none, kwargs, ((bsmpy_engine *)old)->engine);
  Py_DECREF(none);
  return made;
}

/* calibrate(settings, options...): settings as bsmpy_calibrate has them. */
static PyObject *module_calibrate(PyObject *self, PyObject *args,
                                  PyObject *kwargs) {
  compilation c;
  PyObject *none = PyTuple_New(0), *made = NULL;
  if (none && read_options(none, kwargs, &c)) {
    made = bsmpy_calibrate(((module *)self)->module, &c.options, args);
  }
  if (none) release_compilation(&c);
  Py_XDECREF(none);
  return made;
}

/* ---- operators ---- */

static PyObject *operator_row(const bsm_operator_info *info) {
  return Py_BuildValue(
      "{s:s,s:n,s:s,s:s,s:s,s:s,s:n,s:n,s:n,s:n,s:n,s:n,s:n}", "schema",
      info->schema, "count", (Py_ssize_t)info->count, "runs", info->runs,
      "places", info->places, "limits", info->limits, "why", info->why,
      "layers", (Py_ssize_t)info->layer_nodes, "evaluated",
      (Py_ssize_t)info->evaluated_nodes, "reference",
      (Py_ssize_t)info->reference_nodes, "unsupported",
      (Py_ssize_t)info->unsupported_nodes, "planned",
      (Py_ssize_t)info->planned_nodes, "called", (Py_ssize_t)info->called_nodes,
      "program", (Py_ssize_t)info->program_nodes);
}

/* (rows, why it does not compile or None) */
static PyObject *operator_rows(const bsm_operator_list *list) {
  PyObject *rows = PyList_New(0);
  for (size_t i = 0; rows && i < bsm_operator_list_count(list); i++) {
    bsm_operator_info info = BSM_OPERATOR_INFO_INIT;
    bsm_status status = bsm_operator_list_get(list, i, &info);
    PyObject *row = status ? bsmpy_raise(status) : operator_row(&info);
    if (!row || PyList_Append(rows, row) < 0) Py_CLEAR(rows);
    Py_XDECREF(row);
  }
  return rows ? Py_BuildValue("(Nz)", rows, bsm_operator_list_failure(list))
              : NULL;
}

static PyObject *module_operators(PyObject *self, PyObject *args,
                                  PyObject *kwargs) {
  compilation c;
  bsm_operator_list *list = NULL;
  bsm_status status = BSM_OK;
  const bool good = read_options(args, kwargs, &c);
  if (good) {
    Py_BEGIN_ALLOW_THREADS status =
        bsm_module_operators(((module *)self)->module, &c.options, &list);
    Py_END_ALLOW_THREADS
  }
  release_compilation(&c);
  if (status) return bsmpy_raise(status);
  PyObject *rows = good && !PyErr_Occurred() ? operator_rows(list) : NULL;
  bsm_operator_list_free(list);
  return rows;
}

/* ---- parameters ---- */

static PyObject *module_parameters(PyObject *self, PyObject *args) {
  const char *method = NULL;
  size_t count = 0;
  bsm_module *m = ((module *)self)->module;
  if (!PyArg_ParseTuple(args, "|z", &method)) return NULL;
  bsm_status status = bsm_module_parameter_count(m, method, &count);
  if (status) return bsmpy_raise(status);
  PyObject *rows = PyList_New(0);
  for (size_t i = 0; rows && i < count; i++) {
    bsm_parameter p = BSM_PARAMETER_INIT;
    status = bsm_module_parameter(m, method, i, &p);
    PyObject *row = status ? bsmpy_raise(status)
                           : Py_BuildValue("(ssNN)", p.name, p.type,
                                           PyBool_FromLong(p.has_default),
                                           PyBool_FromLong(p.has_example));
    if (!row || PyList_Append(rows, row) < 0) Py_CLEAR(rows);
    Py_XDECREF(row);
  }
  return rows;
}

static PyObject *module_methods(PyObject *self, PyObject *unused) {
  PyObject *names = PyList_New(0);
  (void)unused;
  for (size_t i = 0; names; i++) {
    const char *name = bsm_module_method_name(((module *)self)->module, i);
    if (!name) break;
    PyObject *text = PyUnicode_FromString(name);
    if (!text || PyList_Append(names, text) < 0) Py_CLEAR(names);
    Py_XDECREF(text);
  }
  return names;
}

#define WITH_KEYWORDS(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef methods[] = {
    {"compile", WITH_KEYWORDS(module_compile), METH_VARARGS | METH_KEYWORDS,
     NULL},
    {"refit", WITH_KEYWORDS(module_refit), METH_VARARGS | METH_KEYWORDS, NULL},
    {"calibrate", WITH_KEYWORDS(module_calibrate), METH_VARARGS | METH_KEYWORDS,
     NULL},
    {"operators", WITH_KEYWORDS(module_operators), METH_VARARGS | METH_KEYWORDS,
     NULL},
    {"parameters", module_parameters, METH_VARARGS, NULL},
    {"methods", module_methods, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_init, (void *)module_init},
                              {Py_tp_dealloc, (void *)module_dealloc},
                              {Py_tp_new, (void *)PyType_GenericNew},
                              {Py_tp_methods, methods},
                              {0, NULL}};
PyType_Spec bsmpy_module_spec = {"bessemer._core.Module", sizeof(module), 0,
                                 Py_TPFLAGS_DEFAULT, slots};
