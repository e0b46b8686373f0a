/* SPDX-License-Identifier: Apache-2.0 */
/* The extension module bessemer._core: the C API as a few Python types, with no
 * more than what Python code cannot do, or not fast enough. What users see is
 * the Python code around it.
 *
 *   errors.c      statuses become exceptions, messages go to `logging`
 *   arrays.c      arrays of NumPy and of DLPack, in place, for the C API
 *   results.c     memory of outputs becomes arrays of NumPy or tensors
 *   structures.c  structures of arguments and results become tuples
 *   specs.c       what is known of inputs, for compiling
 *   module.c      the type Module: models that are compiled
 *   calibration.c the type Calibration, and calibrating
 *   engine.c      the type Engine
 *   context.c     the type Context: runs
 *   core.c        the module
 *
 * It is built once for all Python versions from 3.9 on (the limited API). */
#ifndef BSM_PYTHON_CORE_H_
#define BSM_PYTHON_CORE_H_

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>

#include "bessemer/bessemer.h"

/* ---- errors.c ---- */

/* Consumes a failed status and raises its exception; returns NULL. */
PyObject *bsmpy_raise(bsm_status status);
/* set_errors(classes): the class of exceptions for each code, and for 0. */
PyObject *bsmpy_set_errors(PyObject *self, PyObject *classes);
/* set_log(function): function(level, message) gets what the library logs. */
PyObject *bsmpy_set_log(PyObject *self, PyObject *function);
/* A logger that calls it, for messages up to `level`. Thread-safe. */
bsm_logger bsmpy_logger(int level);

/* ---- arrays.c ---- */

/* Whose arrays they are; the results of a run are of the same kind. */
typedef enum bsmpy_kind { BSMPY_NUMPY = 0, BSMPY_TORCH = 1 } bsmpy_kind;

/* An array of the caller's, and what keeps its memory. */
typedef struct bsmpy_array {
  bsm_array array;
  int64_t strides[BSM_MAX_RANK];
  bsmpy_kind kind;
  PyObject *owner;
} bsmpy_array;

bool bsmpy_arrays_import(void); /* loads NumPy; false: an exception is set */
/* Fills *out from `object`, in place where it is contiguous. What is neither
 * NumPy's nor PyTorch's is given to the function of set_adapter first. False:
 * an exception is set. Release it in either case. */
bool bsmpy_array_take(PyObject *object, bsmpy_array *out);
/* The same for an array that is written to: it is never copied. */
bool bsmpy_array_take_output(PyObject *object, bsmpy_array *out);
void bsmpy_array_release(bsmpy_array *array);
/* set_adapter(function), set_bfloat16(array), set_torch(...) */
PyObject *bsmpy_set_adapter(PyObject *self, PyObject *function);
PyObject *bsmpy_set_bfloat16(PyObject *self, PyObject *sample);
PyObject *bsmpy_set_torch(PyObject *self, PyObject *args);
/* The part of set_torch that is about arguments: PyTorch's class of tensors,
 * and what gives a capsule of DLPack for one. */
void bsmpy_set_torch_exporter(PyObject *tensor, PyObject *to_dlpack);

/* ---- results.c ---- */

/* Memory of one output, allocated by the library's wish. */
typedef struct bsmpy_result {
  void *data; /* NULL: taken, or none */
  bsm_dtype dtype;
  bsm_dims dims;
} bsmpy_result;

/* Memory for a result, aligned for every kernel. It never is NULL but when
 * there is none, also for 0 bytes. */
void *bsmpy_result_allocate(size_t bytes);
/* An array or tensor that owns the memory of `result` from then on. */
PyObject *bsmpy_result_array(bsmpy_result *result, bsmpy_kind kind);
/* The number of NumPy's type; -1: NumPy has none, and an exception is set. */
int bsmpy_numpy_type(bsm_dtype dtype);

/* ---- structures.c ---- */

/* A structure as nested tuples (see bessemer/_structures.py); None for NULL. */
PyObject *bsmpy_structure(const bsm_structure *node);
/* Dims as a tuple of ints; None for a rank that is not known. */
PyObject *bsmpy_dims(const bsm_dims *dims);

/* ---- specs.c ---- */

/* The memory of specs: blocks, and objects whose text is borrowed. */
typedef struct bsmpy_specs {
  bsm_input_spec *items;
  size_t count;
  void **blocks;
  size_t block_count;
  PyObject *kept; /* a list */
} bsmpy_specs;
/* Reads a sequence of specs as bessemer/_inputs.py writes them. False: an
 * exception is set. Release it in either case. */
bool bsmpy_specs_read(PyObject *sequence, bsmpy_specs *out);
void bsmpy_specs_release(bsmpy_specs *specs);
/* The UTF-8 text of a str, kept by `kept`, a list; NULL: an exception. */
const char *bsmpy_text(PyObject *string, PyObject *kept, size_t *length);

/* ---- types ---- */

typedef struct bsmpy_engine {
  PyObject_HEAD bsm_engine *engine;
  PyObject *bytes; /* what it was loaded from, or NULL */
} bsmpy_engine;

/* The calibration of a Calibration; NULL of None. False: an exception is set.
 */
bool bsmpy_calibration_read(PyObject *object, const bsm_calibration **out);
/* Calibrates: settings are (next, metric or None, method, percentile,
 * max_batches, equalize, measure_layers, max_loss, dynamic_products), where
 * next(names) gives a sequence of arrays or None, and metric(bytes of an
 * engine) a number. */
PyObject *bsmpy_calibrate(bsm_module *module,
                          const bsm_compile_options *compiling,
                          PyObject *settings);
/* load_calibration(path) */
PyObject *bsmpy_load_calibration(PyObject *self, PyObject *args);
extern PyType_Spec bsmpy_calibration_spec;
extern PyTypeObject *bsmpy_calibration_type;

extern PyType_Spec bsmpy_module_spec, bsmpy_engine_spec, bsmpy_context_spec;
extern PyTypeObject *bsmpy_engine_type;

/* An Engine that owns `engine` and a reference to `bytes`, which may be NULL.
 */
PyObject *bsmpy_engine_wrap(bsm_engine *engine, PyObject *bytes);
/* load(path, bytes, ...) */
PyObject *bsmpy_engine_load(PyObject *self, PyObject *args, PyObject *kwargs);

#endif /* BSM_PYTHON_CORE_H_ */
