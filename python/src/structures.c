/* SPDX-License-Identifier: Apache-2.0 */
/* Structures of arguments and results as nested tuples. */
#include "core.h"

PyObject *bsmpy_dims(const bsm_dims *dims) {
  if (dims->rank < 0) Py_RETURN_NONE;
  PyObject *tuple = PyTuple_New(dims->rank);
  for (int32_t i = 0; tuple && i < dims->rank; i++) {
    PyObject *size = PyLong_FromLongLong(dims->d[i]);
    if (!size || PyTuple_SetItem(tuple, i, size)) Py_CLEAR(tuple);
  }
  return tuple;
}

/* Keys and strings of models are any bytes; all can be written back. */
static PyObject *text(const char *data, size_t length) {
  return PyUnicode_DecodeUTF8(data ? data : "", (Py_ssize_t)length,
                              "surrogateescape");
}

static PyObject *key_of(const bsm_structure_info *info) {
  switch (info->key_kind) {
    case BSM_STRUCTURE_KEY_POSITION:
    case BSM_STRUCTURE_KEY_INT:
      return PyLong_FromLongLong(info->int_key);
    case BSM_STRUCTURE_KEY_FLOAT:
      return PyFloat_FromDouble(info->float_key);
    case BSM_STRUCTURE_KEY_BOOL:
      return PyBool_FromLong(info->int_key != 0);
    case BSM_STRUCTURE_KEY_NONE:
    case BSM_STRUCTURE_KEY_TYPE:
      Py_RETURN_NONE;
    default:
      return text(info->key, info->key_length);
  }
}

static PyObject *value_of(const bsm_structure_info *info) {
  switch (info->kind) {
    case BSM_STRUCTURE_INT:
      return PyLong_FromLongLong(info->int_value);
    case BSM_STRUCTURE_FLOAT:
      return PyFloat_FromDouble(info->float_value);
    case BSM_STRUCTURE_BOOL:
      return PyBool_FromLong(info->bool_value);
    case BSM_STRUCTURE_STRING:
    case BSM_STRUCTURE_OTHER:
      return text(info->string, info->string_length);
    default:
      Py_RETURN_NONE;
  }
}

static PyObject *children_of(const bsm_structure *node, size_t count) {
  PyObject *children = PyTuple_New((Py_ssize_t)count);
  for (size_t i = 0; children && i < count; i++) {
    PyObject *child = bsmpy_structure(bsm_structure_child(node, i));
    if (!child || PyTuple_SetItem(children, (Py_ssize_t)i, child)) {
      Py_CLEAR(children);
    }
  }
  return children;
}

PyObject *bsmpy_structure(const bsm_structure *node) {
  bsm_structure_info info = BSM_STRUCTURE_INFO_INIT;
  if (!node) Py_RETURN_NONE;
  bsm_status status = bsm_structure_describe(node, &info);
  if (status) return bsmpy_raise(status);
  PyObject *binding = info.binding == BSM_NO_BINDING
                          ? PyLong_FromLong(-1)
                          : PyLong_FromSize_t(info.binding);
  const size_t path_length = info.path ? strlen(info.path) : 0;
  const size_t name_length = info.type_name ? strlen(info.type_name) : 0;
  return Py_BuildValue("(iNNNNNNN)", (int)info.kind,
                       text(info.type_name, name_length), key_of(&info),
                       text(info.path, path_length), binding,
                       PyBool_FromLong(info.is_fixed), value_of(&info),
                       children_of(node, info.child_count));
}
