/* SPDX-License-Identifier: Apache-2.0 */
/* The type Context: calls of an engine. A call takes the arrays in place, runs
 * without the GIL, and makes arrays of the memory that the run wrote.
 *
 * One thread at a time runs a context; the others wait. */
#include <stdlib.h>

#include "core.h"

/* Arrays of a call up to this number are on the stack. */
enum { FEW = 8 };

/* What the run that holds the lock has written. */
typedef struct outcome {
  bsmpy_result few[FEW], *items;
  size_t count, room;
} outcome;

typedef struct context {
  PyObject_HEAD PyObject *engine; /* a bsmpy_engine */
  bsm_context *context;
  bsm_logger logger;
  PyThread_type_lock lock;
  outcome *outcome;
  size_t input_count;
  /* bind(*args, **kwargs) gives the inputs as a tuple; not called when the
   * arguments are the inputs (`flat`). build(outputs, tree) makes the result;
   * not called when the result is one tensor (`single`). run_device(inputs)
   * is for arrays in the memory of a device. */
  PyObject *bind, *build, *run_device;
  bool flat, single, run_time;
} context;

/* ---- memory of outputs ---- */

static bsmpy_result *result_at(outcome *o, size_t index) {
  if (index >= o->room) {
    const size_t room = 2 * index + FEW;
    bsmpy_result *items = calloc(room, sizeof(*items));
    if (!items) return NULL;
    memcpy(items, o->items, o->count * sizeof(*items));
    if (o->items != o->few) free(o->items);
    o->items = items;
    o->room = room;
  }
  for (; o->count <= index; o->count++) o->items[o->count].data = NULL;
  return &o->items[index];
}

static void *allocate(void *user, size_t index, const char *name,
                      bsm_dtype dtype, const bsm_dims *dims, size_t bytes) {
  bsmpy_result *r = result_at(((context *)user)->outcome, index);
  (void)name;
  if (!r) return NULL;
  free(r->data);
  r->dtype = dtype;
  r->dims = *dims;
  return r->data = bsmpy_result_allocate(bytes);
}

static void release_outcome(outcome *o) {
  for (size_t i = 0; i < o->count; i++) free(o->items[i].data);
  if (o->items != o->few) free(o->items);
}

/* ---- arrays of a call ---- */

typedef struct operands {
  bsmpy_array few[FEW], *items;
  bsm_array few_arrays[FEW], *arrays;
  size_t count; /* that were taken, or failed to be */
  bsmpy_kind kind;
  bool on_device;
} operands;

static void release_operands(operands *o) {
  for (size_t i = 0; i < o->count; i++) bsmpy_array_release(&o->items[i]);
  if (o->items != o->few) free(o->items);
  if (o->arrays != o->few_arrays) free(o->arrays);
}

/* `take` is for inputs or for outputs. */
static bool take_operands(PyObject *tuple,
                          bool (*take)(PyObject *, bsmpy_array *),
                          operands *o) {
  const Py_ssize_t size = PyTuple_Size(tuple);
  o->count = 0;
  o->kind = BSMPY_NUMPY;
  o->on_device = false;
  o->items = o->few;
  o->arrays = o->few_arrays;
  if (size < 0) return false;
  if (size > FEW) {
    o->items = calloc((size_t)size, sizeof(*o->items));
    o->arrays = calloc((size_t)size, sizeof(*o->arrays));
    if (!o->items || !o->arrays) return PyErr_NoMemory();
  }
  for (Py_ssize_t i = 0; i < size; i++) {
    bsmpy_array *item = &o->items[o->count++];
    if (!take(PyTuple_GetItem(tuple, i), item)) return false;
    o->arrays[i] = item->array;
    if (item->kind == BSMPY_TORCH) o->kind = BSMPY_TORCH;
    if (item->array.space == BSM_SPACE_DEVICE) o->on_device = true;
  }
  return true;
}

/* ---- calls ---- */

static void take_lock(context *c) {
  if (PyThread_acquire_lock(c->lock, NOWAIT_LOCK)) return;
  Py_BEGIN_ALLOW_THREADS PyThread_acquire_lock(c->lock, WAIT_LOCK);
  Py_END_ALLOW_THREADS
}

/* Runs, and gives the structure of this run's result where only that knows it.
 */
static bsm_status run_keep(context *c, const operands *inputs, outcome *o,
                           PyObject **tree) {
  bsm_status status;
  const bsm_structure *structure;
  *tree = NULL;
  take_lock(c);
  c->outcome = o;
  Py_BEGIN_ALLOW_THREADS status =
      bsm_context_run_keep(c->context, inputs->arrays, inputs->count);
  Py_END_ALLOW_THREADS if (!status && c->run_time) {
    status = bsm_context_output_structure(c->context, &structure);
    if (!status) *tree = bsmpy_structure(structure);
  }
  c->outcome = NULL;
  PyThread_release_lock(c->lock);
  return status;
}

static PyObject *make_result(const context *c, outcome *o, bsmpy_kind kind,
                             PyObject *tree) {
  if (c->single && o->count == 1) return bsmpy_result_array(o->items, kind);
  PyObject *arrays = PyTuple_New((Py_ssize_t)o->count);
  for (size_t i = 0; arrays && i < o->count; i++) {
    PyObject *array = bsmpy_result_array(&o->items[i], kind);
    if (!array || PyTuple_SetItem(arrays, (Py_ssize_t)i, array)) {
      Py_CLEAR(arrays);
    }
  }
  if (!arrays) return NULL;
  PyObject *result = PyObject_CallFunctionObjArgs(c->build, arrays,
                                                  tree ? tree : Py_None, NULL);
  Py_DECREF(arrays);
  return result;
}

static PyObject *run_on_host(context *c, const operands *inputs) {
  PyObject *tree, *result = NULL;
  outcome o;
  o.items = o.few;
  o.count = 0;
  o.room = FEW;
  bsm_status status = run_keep(c, inputs, &o, &tree);
  if (status) {
    bsmpy_raise(status);
  } else if (!PyErr_Occurred()) {
    result = make_result(c, &o, inputs->kind, tree);
  }
  Py_XDECREF(tree);
  release_outcome(&o);
  return result;
}

static PyObject *context_call(PyObject *self, PyObject *args,
                              PyObject *kwargs) {
  context *c = (context *)self;
  operands inputs;
  PyObject *result = NULL, *leaves = args;
  if (c->flat && !kwargs && PyTuple_Size(args) == (Py_ssize_t)c->input_count) {
    Py_INCREF(leaves);
  } else {
    leaves = PyObject_Call(c->bind, args, kwargs);
    if (!leaves) return NULL;
  }
  const bool taken = take_operands(leaves, bsmpy_array_take, &inputs);
  if (taken && !inputs.on_device) result = run_on_host(c, &inputs);
  release_operands(&inputs);
  if (taken && inputs.on_device) {
    result = PyObject_CallFunctionObjArgs(c->run_device, leaves, NULL);
  }
  Py_DECREF(leaves);
  return result;
}

/* run_into(inputs, outputs, wait): into arrays of the caller's. */
static PyObject *context_run_into(PyObject *self, PyObject *args) {
  context *c = (context *)self;
  PyObject *in, *out;
  operands inputs, outputs;
  int wait;
  bsm_status status = BSM_OK;
  if (!PyArg_ParseTuple(args, "OOp", &in, &out, &wait)) return NULL;
  bool good = take_operands(in, bsmpy_array_take, &inputs);
  outputs.count = 0;
  outputs.items = outputs.few;
  outputs.arrays = outputs.few_arrays;
  good = good && take_operands(out, bsmpy_array_take_output, &outputs);
  if (good) {
    bsm_status (*run)(bsm_context *, const bsm_array *, size_t,
                      const bsm_array *, size_t) =
        wait ? bsm_context_run : bsm_context_enqueue;
    take_lock(c);
    Py_BEGIN_ALLOW_THREADS status = run(c->context, inputs.arrays, inputs.count,
                                        outputs.arrays, outputs.count);
    Py_END_ALLOW_THREADS PyThread_release_lock(c->lock);
  }
  release_operands(&inputs);
  release_operands(&outputs);
  if (status) return bsmpy_raise(status);
  if (!good) return NULL;
  Py_RETURN_NONE;
}

static PyObject *context_synchronize(PyObject *self, PyObject *unused) {
  context *c = (context *)self;
  bsm_status status;
  (void)unused;
  take_lock(c);
  Py_BEGIN_ALLOW_THREADS status = bsm_context_synchronize(c->context);
  Py_END_ALLOW_THREADS PyThread_release_lock(c->lock);
  if (status) return bsmpy_raise(status);
  Py_RETURN_NONE;
}

/* seed(number): of what later runs draw. */
static PyObject *context_seed(PyObject *self, PyObject *args) {
  context *c = (context *)self;
  unsigned long long seed;
  if (!PyArg_ParseTuple(args, "K", &seed)) return NULL;
  take_lock(c);
  bsm_status status = bsm_context_seed(c->context, seed);
  PyThread_release_lock(c->lock);
  if (status) return bsmpy_raise(status);
  Py_RETURN_NONE;
}

/* output_shapes(input dims): the dims of the outputs, -1 for what only a run
 * knows. */
static PyObject *context_output_shapes(PyObject *self, PyObject *args) {
  context *c = (context *)self;
  PyObject *shapes;
  if (!PyArg_ParseTuple(args, "O", &shapes)) return NULL;
  const bsm_engine *engine = ((bsmpy_engine *)c->engine)->engine;
  const size_t count = bsm_engine_output_count(engine);
  PyObject *rows = PyTuple_New((Py_ssize_t)count);
  bsm_status status = BSM_OK;
  if (!rows) return NULL;
  take_lock(c);
  for (size_t i = 0; !status && i < c->input_count; i++) {
    PyObject *shape = PySequence_GetItem(shapes, (Py_ssize_t)i);
    bsm_dims dims = {.rank = shape ? (int32_t)PyTuple_Size(shape) : -1};
    for (int32_t k = 0; k < dims.rank && k < BSM_MAX_RANK; k++) {
      dims.d[k] = PyLong_AsLongLong(PyTuple_GetItem(shape, k));
    }
    Py_XDECREF(shape);
    if (PyErr_Occurred()) break;
    status = bsm_context_set_input_shape(c->context, i, &dims);
  }
  for (size_t i = 0; !status && !PyErr_Occurred() && i < count; i++) {
    bsm_dims dims;
    status = bsm_context_output_shape(c->context, i, &dims);
    PyObject *row = status ? NULL : bsmpy_dims(&dims);
    if (row && PyTuple_SetItem(rows, (Py_ssize_t)i, row)) break;
  }
  PyThread_release_lock(c->lock);
  if (!status && !PyErr_Occurred()) return rows;
  Py_DECREF(rows);
  return status ? bsmpy_raise(status) : NULL;
}

static PyObject *context_profile(PyObject *self, PyObject *unused) {
  context *c = (context *)self;
  PyObject *rows = PyList_New(0);
  (void)unused;
  take_lock(c);
  for (size_t i = 0; rows && i < bsm_context_profile_count(c->context); i++) {
    bsm_step_profile p = BSM_STEP_PROFILE_INIT;
    bsm_status status = bsm_context_profile(c->context, i, &p);
    PyObject *row = status
                        ? bsmpy_raise(status)
                        : Py_BuildValue("(sssdKddd)", p.name, p.kind, p.tactic,
                                        p.seconds, (unsigned long long)p.runs,
                                        p.least, p.flops, p.bytes);
    if (!row || PyList_Append(rows, row) < 0) Py_CLEAR(rows);
    Py_XDECREF(row);
  }
  PyThread_release_lock(c->lock);
  return rows;
}

/* NumPy has no bfloat16: it becomes float32, which holds all its values. */
static void copy_elements(const bsm_array *from, void *to, size_t count) {
  if (from->dtype != BSM_DTYPE_BFLOAT16) {
    memcpy(to, from->data, count * bsm_dtype_size(from->dtype));
    return;
  }
  for (size_t i = 0; i < count; i++) {
    ((uint32_t *)to)[i] = (uint32_t)((const uint16_t *)from->data)[i] << 16;
  }
}

static PyObject *kept_row(const bsm_kept_tensor *t) {
  const bool widens = t->array.dtype == BSM_DTYPE_BFLOAT16;
  const bsm_dtype dtype = widens ? BSM_DTYPE_FLOAT : t->array.dtype;
  size_t count = 1;
  for (int32_t i = 0; i < t->array.dims.rank; i++) {
    count *= (size_t)t->array.dims.d[i];
  }
  bsmpy_result copy = {
      .data = bsmpy_result_allocate(count * bsm_dtype_size(dtype)),
      .dtype = dtype,
      .dims = t->array.dims};
  if (!copy.data) return PyErr_NoMemory();
  copy_elements(&t->array, copy.data, count);
  PyObject *array = bsmpy_result_array(&copy, BSMPY_NUMPY);
  free(copy.data); /* unless the array has it */
  if (!array) return NULL;
  return Py_BuildValue(
      "(ssssnN)", t->name, t->layers, t->kind, t->tactic,
      t->step == SIZE_MAX ? (Py_ssize_t)-1 : (Py_ssize_t)t->step, array);
}

/* What the last run has computed on the way, copied. */
static PyObject *context_tensors(PyObject *self, PyObject *unused) {
  context *c = (context *)self;
  PyObject *rows = PyList_New(0);
  (void)unused;
  take_lock(c);
  for (size_t i = 0; rows && i < bsm_context_tensor_count(c->context); i++) {
    bsm_kept_tensor t = BSM_KEPT_TENSOR_INIT;
    bsm_status status = bsm_context_tensor(c->context, i, &t);
    PyObject *row = status ? bsmpy_raise(status) : kept_row(&t);
    if (!row || PyList_Append(rows, row) < 0) Py_CLEAR(rows);
    Py_XDECREF(row);
  }
  PyThread_release_lock(c->lock);
  return rows;
}

/* ---- life ---- */

static bool create(context *c, bsm_context_options *options, int level) {
  bsm_status status;
  const bsm_engine *engine = ((bsmpy_engine *)c->engine)->engine;
  c->logger = bsmpy_logger(level);
  c->lock = PyThread_allocate_lock();
  if (!c->lock) return PyErr_NoMemory();
  c->input_count = bsm_engine_input_count(engine);
  options->logger = &c->logger;
  options->output_allocate = allocate;
  options->output_user = c;
  Py_BEGIN_ALLOW_THREADS status =
      bsm_context_create(engine, options, &c->context);
  Py_END_ALLOW_THREADS return status ? bsmpy_raise(status) != NULL : true;
}

static int context_init(PyObject *self, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"engine",           "bind",         "build",
                          "run_device",       "flat",         "single",
                          "run_time",         "threads",      "level",
                          "profile",          "stream",       "max_run_bytes",
                          "max_instructions", "keep_tensors", NULL};
  context *c = (context *)self;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  int flat, single, run_time, level, profile;
  unsigned long long stream, bytes, instructions, keep;
  if (c->context) {
    PyErr_SetString(PyExc_TypeError, "a context is made once");
    return -1;
  }
  if (!PyArg_ParseTupleAndKeywords(
          args, kwargs, "O!OOOpppiipKKKK", names, bsmpy_engine_type, &c->engine,
          &c->bind, &c->build, &c->run_device, &flat, &single, &run_time,
          &options.threads, &level, &profile, &stream, &bytes, &instructions,
          &keep)) {
    c->engine = c->bind = c->build = c->run_device = NULL;
    return -1;
  }
  Py_INCREF(c->engine);
  Py_INCREF(c->bind);
  Py_INCREF(c->build);
  Py_INCREF(c->run_device);
  c->flat = flat;
  c->single = single;
  c->run_time = run_time;
  options.profile = profile;
  options.stream = (void *)(uintptr_t)stream;
  options.max_run_bytes = bytes;
  options.max_instructions = instructions;
  options.keep_tensors = keep;
  return create(c, &options, level) ? 0 : -1;
}

static int context_traverse(PyObject *self, visitproc visit, void *arg) {
  context *c = (context *)self;
  Py_VISIT(c->bind);
  Py_VISIT(c->build);
  Py_VISIT(c->run_device);
  Py_VISIT(Py_TYPE(self));
  return 0;
}

static int context_clear(PyObject *self) {
  context *c = (context *)self;
  Py_CLEAR(c->bind);
  Py_CLEAR(c->build);
  Py_CLEAR(c->run_device);
  return 0;
}

static void context_dealloc(PyObject *self) {
  context *c = (context *)self;
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  context_clear(self);
  Py_BEGIN_ALLOW_THREADS /* its threads may be about to log */
      bsm_context_destroy(c->context);
  Py_END_ALLOW_THREADS if (c->lock) PyThread_free_lock(c->lock);
  Py_XDECREF(c->engine);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"run_into", context_run_into, METH_VARARGS, NULL},
    {"seed", context_seed, METH_VARARGS, NULL},
    {"synchronize", context_synchronize, METH_NOARGS, NULL},
    {"output_shapes", context_output_shapes, METH_VARARGS, NULL},
    {"profile", context_profile, METH_NOARGS, NULL},
    {"tensors", context_tensors, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_init, (void *)context_init},
                              {Py_tp_new, (void *)PyType_GenericNew},
                              {Py_tp_dealloc, (void *)context_dealloc},
                              {Py_tp_traverse, (void *)context_traverse},
                              {Py_tp_clear, (void *)context_clear},
                              {Py_tp_call, (void *)context_call},
                              {Py_tp_methods, methods},
                              {0, NULL}};
PyType_Spec bsmpy_context_spec = {"bessemer._core.Context", sizeof(context), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
                                  slots};
