# SPDX-License-Identifier: Apache-2.0
"""Arrays in a GPU's memory by CUDA's driver alone: a small library that follows
DLPack and the standard of array libraries, for test_device.py. Run as a
program, it tests engines on the driver that the dynamic linker finds."""
import ctypes
import gc
import sys
import types

import numpy as np

CUDA = 2  # DLPack's device type
stream = ctypes.c_void_p(1)  # CUDA's default one; see find_stream


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16),
                ("dims", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p)]


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}
_driver = None


def driver():
    global _driver
    if _driver is None:
        _driver = ctypes.CDLL("libcuda.so.1")
        context = ctypes.c_void_p()
        check(_driver.cuInit(0))
        check(_driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
        check(_driver.cuCtxPushCurrent_v2(context))
    return _driver


def find_stream():
    """The stand-in has no default stream: one of its own stands for that."""
    from bessemer import _arrays
    if driver().cuStreamSynchronize(stream):
        check(driver().cuStreamCreate(ctypes.byref(stream), 1))
        _arrays.LEGACY_STREAM = stream.value


def check(result):
    if result:
        raise RuntimeError(f"the driver says {result}")


class DeviceArray:
    """An array in the memory of GPU 0; strides in elements, or None."""
    streams = []  # that __dlpack__ was asked for

    def __init__(self, shape, dtype):
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)
        self.size = int(np.prod(self.shape)) * self.dtype.itemsize
        self.address = ctypes.c_uint64()
        check(driver().cuMemAlloc_v2(ctypes.byref(self.address),
                                     ctypes.c_size_t(max(self.size, 1))))
        self.dims = (ctypes.c_int64 * len(self.shape))(*self.shape)
        self.strides = None
        self.device = "gpu0"
        self.exports = []

    @classmethod
    def of(cls, values):
        values = np.ascontiguousarray(values)
        made = cls(values.shape, values.dtype)
        check(driver().cuMemcpyHtoDAsync_v2(
            made.address, ctypes.c_void_p(values.ctypes.data),
            ctypes.c_size_t(made.size), stream))
        check(driver().cuStreamSynchronize(stream))
        return made

    def transposed(self):
        """A view with its dims the other way round."""
        made = object.__new__(DeviceArray)
        made.__dict__.update(self.__dict__, base=self)
        made.shape = self.shape[::-1]
        made.dims = (ctypes.c_int64 * 2)(*made.shape)
        made.strides = (ctypes.c_int64 * 2)(1, self.shape[1])
        return made

    def get(self):
        values = np.empty(self.shape, self.dtype)
        check(driver().cuMemcpyDtoHAsync_v2(
            ctypes.c_void_p(values.ctypes.data), self.address,
            ctypes.c_size_t(self.size), stream))
        check(driver().cuStreamSynchronize(stream))
        return values

    def __del__(self):
        if not hasattr(self, "base") and _driver and self.address.value:
            _driver.cuMemFree_v2(self.address)

    def __dlpack_device__(self):
        return CUDA, 0

    def __dlpack__(self, **options):
        DeviceArray.streams.append(options["stream"])
        managed = _Managed(_Tensor(
            self.address.value, CUDA, 0, len(self.shape),
            _CODES[self.dtype.kind], 8 * self.dtype.itemsize, 1,
            ctypes.cast(self.dims, ctypes.POINTER(ctypes.c_int64)),
            ctypes.cast(self.strides, ctypes.POINTER(ctypes.c_int64)), 0))
        self.exports.append(managed)  # as long as the array
        return _new_capsule(ctypes.addressof(managed), b"dltensor", None)

    def __array_namespace__(self):
        return namespace


namespace = types.SimpleNamespace(
    empty=lambda shape, dtype, device: DeviceArray(shape, dtype),
    asarray=lambda values, device: DeviceArray.of(values),
    float32=np.float32, int64=np.int64, bool=np.bool_)

ADD = b"""graph(%x : Float(2, 4), %z : Float(2, 4)):
  %one : int = prim::Constant[value=1]()
  %y : Float(2, 4) = aten::add(%x, %z, %one)
  %r : Float(2, 4) = aten::relu(%y)
  %t : (Tensor, Tensor) = prim::TupleConstruct(%r, %y)
  return (%t)
"""
RELU = b"graph(%x : Float(2, 4)):\n  %y : Float(2, 4) = aten::relu(%x)\n" \
       b"  return (%y)\n"
FEW = b"""graph(%x : Float(4)):
  %zero : int = prim::Constant[value=0]()
  %m : Bool(4) = aten::gt(%x, %zero)
  %n : Tensor = aten::nonzero(%m)
  return (%n)
"""


def main():
    import bessemer
    find_stream()
    x = np.arange(-4, 4, dtype=np.float32).reshape(2, 4)
    engine = bessemer.compile(ADD, target="cuda", timing=False)
    assert engine.target.startswith("cuda")
    assert {b.space for b in engine.inputs} == {"device"}

    on_host = engine(x, x)
    assert isinstance(on_host, tuple) and isinstance(on_host[0], np.ndarray)
    assert (on_host[0] == np.maximum(2 * x, 0)).all()

    there = DeviceArray.of(x)
    relu, both = engine(there, there)
    assert isinstance(relu, DeviceArray)
    assert (relu.get() == np.maximum(2 * x, 0)).all()
    assert (both.get() == 2 * x).all()
    assert set(DeviceArray.streams) == {stream.value}, DeviceArray.streams

    mixed = engine(there, x)  # one in each memory
    assert (mixed[1].get() == 2 * x).all()
    turned = DeviceArray.of(np.ascontiguousarray(x.T)).transposed()
    assert (engine(turned, there)[1].get() == 2 * x).all()

    outputs = [DeviceArray((2, 4), np.float32) for _ in range(2)]
    engine.run_into([out.__dlpack__(stream=1) for out in outputs], there, there)
    assert (outputs[1].get() == 2 * x).all()

    DeviceArray.streams.clear()
    outputs = [DeviceArray((2, 4), np.float32) for _ in range(2)]
    engine.run_into(outputs, there, there)
    assert set(DeviceArray.streams) == {stream.value}, DeviceArray.streams
    assert (outputs[0].get() == np.maximum(2 * x, 0)).all()
    plain = [np.zeros((2, 4), np.float32) for _ in range(2)]
    engine.run_into(plain, there, there)  # waits
    assert (plain[1] == 2 * x).all()
    engine.run_into(plain, -x, x)
    assert (plain[1] == 0).all()

    single = bessemer.compile(RELU, target="cuda", timing=False)
    assert (single(there).get() == np.maximum(x, 0)).all()
    few = bessemer.compile(FEW, target="cuda", timing=False)
    v = np.array([1, -1, 2, -2], np.float32)
    found = few(DeviceArray.of(v))
    assert found.get().tolist() == [[0], [2]], found.get()

    data = single.to_bytes()
    assert (bessemer.load(data)(there).get() == np.maximum(x, 0)).all()
    trusted = bessemer.load(data, trust_code=True)
    assert (trusted(x) == np.maximum(x, 0)).all()
    on_cpu = bessemer.compile(RELU, timing=False)
    try:
        on_cpu(there)
        raise AssertionError("an engine of the CPU took memory of a GPU")
    except bessemer.InvalidArgumentError as error:
        assert "runs on the CPU" in str(error)
    gc.collect()
    print("ok")


if __name__ == "__main__":
    sys.exit(main())
