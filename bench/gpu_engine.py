# SPDX-License-Identifier: Apache-2.0
"""Engines whose arrays are tensors of PyTorch in the memory of a GPU."""
import ctypes

from engine_calls import MAX_RANK, Array, Dims

DEVICE = 1  # BSM_SPACE_DEVICE


class LoadOptions(ctypes.Structure):
    """The first members of bsm_engine_load_options."""
    _fields_ = [("struct_size", ctypes.c_size_t), ("logger", ctypes.c_void_p),
                ("allocator", ctypes.c_void_p),
                ("max_file_bytes", ctypes.c_uint64),
                ("skip_checksum", ctypes.c_bool), ("plugins", ctypes.c_void_p),
                ("device", ctypes.c_int32), ("trust_code", ctypes.c_bool)]


class StreamOptions(ctypes.Structure):
    """The members of bsm_context_options up to the stream."""
    _fields_ = [("struct_size", ctypes.c_size_t), ("threads", ctypes.c_int),
                ("pool", ctypes.c_void_p), ("isa", ctypes.c_uint32),
                ("logger", ctypes.c_void_p), ("allocator", ctypes.c_void_p),
                ("workspace", ctypes.c_void_p),
                ("workspace_size", ctypes.c_size_t), ("profile", ctypes.c_bool),
                ("output_allocate", ctypes.c_void_p),
                ("output_user", ctypes.c_void_p),
                ("max_instructions", ctypes.c_uint64),
                ("max_run_bytes", ctypes.c_uint64),
                ("max_plans", ctypes.c_size_t), ("stream", ctypes.c_void_p)]


class Engine:
    """An engine file with a context in a stream of the GPU."""

    def __init__(self, library, path, stream):
        self.library, self.c = library, library.c
        self.engine, self.context = ctypes.c_void_p(), ctypes.c_void_p()
        for name in ("bsm_context_enqueue", "bsm_context_synchronize"):
            getattr(self.c, name).restype = ctypes.c_void_p
        load = LoadOptions(struct_size=ctypes.sizeof(LoadOptions),
                           trust_code=True)
        options = StreamOptions(struct_size=ctypes.sizeof(StreamOptions),
                                stream=stream)
        library.check(self.c.bsm_engine_load(
            path.encode(), ctypes.byref(load), ctypes.byref(self.engine)))
        library.check(self.c.bsm_context_create(
            self.engine, ctypes.byref(options), ctypes.byref(self.context)))

    def bind(self, inputs, outputs):
        """Tensors of PyTorch, which have to live as long as they are bound."""
        self.inputs = (Array * max(len(inputs), 1))(*map(array_of, inputs))
        self.outputs = (Array * max(len(outputs), 1))(*map(array_of, outputs))
        self.counts = (ctypes.c_size_t(len(inputs)),
                       ctypes.c_size_t(len(outputs)))

    def enqueue(self):
        self.library.check(self.c.bsm_context_enqueue(
            self.context, self.inputs, self.counts[0], self.outputs,
            self.counts[1]))

    def synchronize(self):
        self.library.check(self.c.bsm_context_synchronize(self.context))

    def close(self):
        self.c.bsm_context_destroy(self.context)
        self.c.bsm_engine_destroy(self.engine)
        self.engine, self.context = ctypes.c_void_p(), ctypes.c_void_p()


def array_of(tensor):
    numbers = {"uint8": 0, "int8": 1, "int16": 2, "int32": 3, "int64": 4,
               "float16": 5, "float32": 6, "float64": 7, "bool": 11,
               "bfloat16": 15}
    dims = Dims(tensor.dim(), (ctypes.c_int64 * MAX_RANK)(*tensor.shape))
    dtype = numbers[str(tensor.dtype).replace("torch.", "")]
    return Array(tensor.data_ptr(), dtype, dims, None, DEVICE,
                 tensor.device.index or 0)
