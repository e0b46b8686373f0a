/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of inputs, for compiling: trees of bsm_input_spec from tuples
 *
 *   (kind, name, dtype, (min, opt, max), value, items, key)
 *
 * where `name` and the dims may be None, `value` is an int, float, bool, str,
 * or array as the kind wants it, `items` is a sequence of such tuples, and
 * `key` that of an item of a dict. */
#include <stdlib.h>

#include "numpy_api.h"

const char *bsmpy_text(PyObject *string, PyObject *kept, size_t *length) {
  char *data;
  Py_ssize_t size;
  PyObject *bytes = PyUnicode_AsUTF8String(string);
  if (!bytes) return NULL;
  const bool failed = PyBytes_AsStringAndSize(bytes, &data, &size) < 0 ||
                      PyList_Append(kept, bytes) < 0;
  Py_DECREF(bytes); /* the list has it */
  if (failed) return NULL;
  if (length) *length = (size_t)size;
  return data;
}

static void *new_block(bsmpy_specs *specs, size_t count, size_t size) {
  void **blocks =
      realloc(specs->blocks, (specs->block_count + 1) * sizeof(void *));
  if (blocks) specs->blocks = blocks;
  void *block = blocks ? calloc(count ? count : 1, size) : NULL;
  if (!block) {
    PyErr_NoMemory();
    return NULL;
  }
  specs->blocks[specs->block_count++] = block;
  return block;
}

static bool read_dims(PyObject *dims, int64_t *out, int32_t *rank) {
  const Py_ssize_t size = PySequence_Size(dims);
  if (size < 0) return false;
  if (size > BSM_MAX_RANK) {
    PyErr_Format(PyExc_ValueError, "a shape of %zd dimensions: at most %d",
                 size, BSM_MAX_RANK);
    return false;
  }
  *rank = (int32_t)size;
  for (Py_ssize_t i = 0; i < size; i++) {
    PyObject *item = PySequence_GetItem(dims, i);
    if (!item) return false;
    out[i] = PyLong_AsLongLong(item);
    Py_DECREF(item);
    if (out[i] == -1 && PyErr_Occurred()) return false;
  }
  return true;
}

static bool read_ranges(PyObject *ranges, bsm_input_spec *out) {
  PyObject *min, *opt, *max;
  if (ranges == Py_None) return true;
  return PyArg_ParseTuple(ranges, "OOO", &min, &opt, &max) &&
         read_dims(min, out->min, &out->rank) &&
         read_dims(opt, out->opt, &out->rank) &&
         read_dims(max, out->max, &out->rank);
}

/* An array of NumPy, as it is: it outlives the specs. */
static bool read_array(bsmpy_specs *specs, PyObject *value,
                       bsm_input_spec *out) {
  bsmpy_array taken;
  if (!bsmpy_array_take(value, &taken)) {
    bsmpy_array_release(&taken);
    return false;
  }
  bsm_array *array = new_block(specs, 1, sizeof(*array));
  const bool kept = array && PyList_Append(specs->kept, taken.owner) == 0;
  if (kept) {
    *array = taken.array;
    array->strides = NULL;
    out->array = array;
  }
  bsmpy_array_release(&taken);
  return kept;
}

static bool read_value(bsmpy_specs *specs, PyObject *value,
                       bsm_input_spec *out) {
  switch (out->kind) {
    case BSM_INPUT_INT:
      out->int_value = PyLong_AsLongLong(value);
      break;
    case BSM_INPUT_FLOAT:
      out->float_value = PyFloat_AsDouble(value);
      break;
    case BSM_INPUT_BOOL:
      out->bool_value = PyObject_IsTrue(value) == 1;
      break;
    case BSM_INPUT_STRING:
      out->string = bsmpy_text(value, specs->kept, &out->string_length);
      break;
    case BSM_INPUT_CONSTANT_TENSOR:
    case BSM_INPUT_EXAMPLE:
      return read_array(specs, value, out);
    default:
      break;
  }
  return !PyErr_Occurred();
}

static bool read_key(bsmpy_specs *specs, PyObject *key, bsm_input_spec *out) {
  if (key == Py_None) return true;
  if (PyUnicode_Check(key)) {
    out->key_kind = BSM_INPUT_KEY_NAME;
    out->name = bsmpy_text(key, specs->kept, NULL);
  } else if (PyBool_Check(key)) {
    out->key_kind = BSM_INPUT_KEY_BOOL;
    out->int_key = key == Py_True;
  } else if (PyFloat_Check(key)) {
    out->key_kind = BSM_INPUT_KEY_FLOAT;
    out->float_key = PyFloat_AsDouble(key);
  } else {
    out->key_kind = BSM_INPUT_KEY_INT;
    out->int_key = PyLong_AsLongLong(key);
  }
  return !PyErr_Occurred();
}

static bool read_specs(bsmpy_specs *specs, PyObject *sequence,
                       bsm_input_spec **out, size_t *count);

static bool read_spec(bsmpy_specs *specs, PyObject *tuple,
                      bsm_input_spec *out) {
  int kind, dtype;
  PyObject *name, *ranges, *value, *items, *key;
  bsm_input_spec *children;
  if (!PyArg_ParseTuple(tuple, "iOiOOOO", &kind, &name, &dtype, &ranges, &value,
                        &items, &key)) {
    return false;
  }
  out->kind = (bsm_input_kind)kind;
  out->dtype = (bsm_dtype)dtype;
  if (name != Py_None && !(out->name = bsmpy_text(name, specs->kept, NULL))) {
    return false;
  }
  if (!read_ranges(ranges, out) || !read_value(specs, value, out) ||
      !read_key(specs, key, out) ||
      !read_specs(specs, items, &children, &out->item_count)) {
    return false;
  }
  out->items = children;
  return true;
}

static bool read_specs(bsmpy_specs *specs, PyObject *sequence,
                       bsm_input_spec **out, size_t *count) {
  *out = NULL;
  *count = 0;
  if (sequence == Py_None) return true;
  const Py_ssize_t size = PySequence_Size(sequence);
  if (size < 0 || Py_EnterRecursiveCall(" while reading inputs")) return false;
  *out = new_block(specs, (size_t)size, sizeof(bsm_input_spec));
  bool good = *out != NULL;
  for (Py_ssize_t i = 0; good && i < size; i++) {
    PyObject *item = PySequence_GetItem(sequence, i);
    good = item && read_spec(specs, item, &(*out)[i]);
    Py_XDECREF(item);
  }
  Py_LeaveRecursiveCall();
  *count = (size_t)size;
  return good;
}

bool bsmpy_specs_read(PyObject *sequence, bsmpy_specs *out) {
  *out = (bsmpy_specs){.kept = PyList_New(0)};
  return out->kept && read_specs(out, sequence, &out->items, &out->count);
}

void bsmpy_specs_release(bsmpy_specs *specs) {
  for (size_t i = 0; i < specs->block_count; i++) free(specs->blocks[i]);
  free(specs->blocks);
  Py_CLEAR(specs->kept);
}
