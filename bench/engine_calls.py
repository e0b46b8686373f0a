# SPDX-License-Identifier: Apache-2.0
"""Runs engines from Python through the C API of the shared library."""
import ctypes
import os

import numpy as np

MAX_RANK = 12
DTYPES = {0: np.uint8, 1: np.int8, 2: np.int16, 3: np.int32, 4: np.int64,
          5: np.float16, 6: np.float32, 7: np.float64, 9: np.complex64,
          10: np.complex128, 11: np.bool_}
NUMBERS = {np.dtype(t): n for n, t in DTYPES.items()}


class Dims(ctypes.Structure):
    _fields_ = [("rank", ctypes.c_int32), ("d", ctypes.c_int64 * MAX_RANK)]


class Array(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int),
                ("dims", Dims), ("strides", ctypes.c_void_p),
                ("space", ctypes.c_int), ("device", ctypes.c_int32)]


class ContextOptions(ctypes.Structure):
    """The first members of bsm_context_options; the rest are defaults."""
    _fields_ = [("struct_size", ctypes.c_size_t), ("threads", ctypes.c_int)]


class Failure(RuntimeError):
    """A bsm_status, with its message."""


def array_of(value):
    dims = Dims(value.ndim, (ctypes.c_int64 * MAX_RANK)(*value.shape))
    return Array(value.ctypes.data, NUMBERS[value.dtype], dims, None)


def copy_of(array):
    shape = tuple(array.dims.d[:array.dims.rank])
    dtype = np.dtype(DTYPES[array.dtype])
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    data = ctypes.string_at(array.data, size) if size else b""
    return np.frombuffer(data, dtype).reshape(shape)


class Library:
    """libbessemer, or libbessemer-runtime."""

    def __init__(self, path):
        self.c = ctypes.CDLL(os.path.abspath(path))
        for name in ("bsm_engine_load", "bsm_context_create",
                     "bsm_context_run_keep", "bsm_context_output"):
            getattr(self.c, name).restype = ctypes.c_void_p
        self.c.bsm_status_message.restype = ctypes.c_char_p
        self.c.bsm_engine_output_count.restype = ctypes.c_size_t

    def check(self, status):
        if status:
            status = ctypes.c_void_p(status)
            message = self.c.bsm_status_message(status).decode()
            self.c.bsm_status_free(status)
            raise Failure(message)


class Engine:
    """An engine file with one context."""

    def __init__(self, library, path, threads=1):
        self.library, self.c = library, library.c
        self.engine, self.context = ctypes.c_void_p(), ctypes.c_void_p()
        options = ContextOptions(ctypes.sizeof(ContextOptions), threads)
        library.check(self.c.bsm_engine_load(path.encode(), None,
                                             ctypes.byref(self.engine)))
        library.check(self.c.bsm_context_create(
            self.engine, ctypes.byref(options), ctypes.byref(self.context)))

    def run(self, inputs):
        inputs = [np.array(x, order="C") for x in inputs]
        arrays = (Array * max(len(inputs), 1))(*map(array_of, inputs))
        self.library.check(self.c.bsm_context_run_keep(
            self.context, arrays, ctypes.c_size_t(len(inputs))))
        outputs = []
        for i in range(self.c.bsm_engine_output_count(self.engine)):
            out = Array()
            self.library.check(self.c.bsm_context_output(
                self.context, ctypes.c_size_t(i), ctypes.byref(out)))
            outputs.append(copy_of(out))
        return outputs

    def close(self):
        self.c.bsm_context_destroy(self.context)
        self.c.bsm_engine_destroy(self.engine)
        self.engine, self.context = ctypes.c_void_p(), ctypes.c_void_p()
