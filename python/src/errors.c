/* SPDX-License-Identifier: Apache-2.0 */
/* Statuses become exceptions, and messages of the library records of the
 * module `logging`. */
#include "core.h"

enum { LAST_CODE = BSM_CANCELLED };
static PyObject *error_classes; /* a sequence, by code; 0: of unknown codes */
static PyObject *log_function;

PyObject *bsmpy_set_errors(PyObject *self, PyObject *classes) {
  (void)self;
  Py_INCREF(classes);
  Py_XDECREF(error_classes);
  error_classes = classes;
  Py_RETURN_NONE;
}

PyObject *bsmpy_raise(bsm_status status) {
  /* An exception of Python code that the library called is the cause. */
  if (PyErr_Occurred()) {
    bsm_status_free(status);
    return NULL;
  }
  const int code = (int)bsm_status_code(status);
  const char *text = bsm_status_message(status);
  PyObject *message =
      PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
  bsm_status_free(status);
  PyObject *class =
      error_classes
          ? PySequence_GetItem(error_classes, code <= LAST_CODE ? code : 0)
          : NULL;
  if (class && message) PyErr_SetObject(class, message);
  if (!class && !PyErr_Occurred()) {
    PyErr_SetString(PyExc_RuntimeError, "bessemer is not initialised");
  }
  Py_XDECREF(class);
  Py_XDECREF(message);
  return NULL;
}

PyObject *bsmpy_set_log(PyObject *self, PyObject *function) {
  (void)self;
  Py_INCREF(function);
  Py_XDECREF(log_function);
  log_function = function;
  Py_RETURN_NONE;
}

/* From any thread, with or without the GIL. Nobody can be told of an exception
 * that a handler raises, so it is printed; one that is being raised stays. */
static void write_log(void *user, bsm_log_level level, const char *message) {
  (void)user;
  PyGILState_STATE gil = PyGILState_Ensure();
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject *text =
      PyUnicode_DecodeUTF8(message, (Py_ssize_t)strlen(message), "replace");
  PyObject *done =
      text && log_function
          ? PyObject_CallFunction(log_function, "iO", (int)level, text)
          : NULL;
  if (PyErr_Occurred()) PyErr_WriteUnraisable(log_function);
  Py_XDECREF(done);
  Py_XDECREF(text);
  PyErr_Restore(type, value, trace);
  PyGILState_Release(gil);
}

bsm_logger bsmpy_logger(int level) {
  return (bsm_logger){(bsm_log_level)level, write_log, NULL};
}
