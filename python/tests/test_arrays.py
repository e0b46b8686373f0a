# SPDX-License-Identifier: Apache-2.0
"""Arrays in and out: which are taken, what is copied, what is refused."""
import array

import numpy as np
import pytest

import bessemer

ADD = b"""graph(%x : Float(2, 3), %z : Float(2, 3)):
  %one : int = prim::Constant[value=1]()
  %y : Float(2, 3) = aten::add(%x, %z, %one)
  return (%y)
"""
X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture(scope="module")
def add():
    return bessemer.compile(ADD, timing=False, threads=1)


@pytest.mark.parametrize("x", [
    np.asfortranarray(X), np.repeat(X, 2, 1)[:, ::2], X.astype(">f4"),
    X[::-1], np.broadcast_to(X[0], (2, 3))])
def test_any_layout_of_numpy(add, x):
    assert (np.asarray(add(x, X)) == np.asarray(x) + X).all()


def test_read_only_and_misaligned(add):
    fixed = X.copy()
    fixed.flags.writeable = False
    assert (add(fixed, fixed) == 2 * X).all()
    crooked = np.empty(25, np.uint8)[1:].view(np.float32).reshape(2, 3)
    crooked[:] = X
    assert not crooked.flags.aligned
    assert (add(crooked, X) == 2 * X).all()


class OnlyDlpack:
    """An array of a library that only has DLPack."""

    def __init__(self, values):
        self.values = values
        self.exports = 0

    def __dlpack__(self, **options):
        self.exports += 1
        return self.values.__dlpack__()

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


@pytest.mark.skipif(not hasattr(np, "from_dlpack"), reason="an old NumPy")
def test_dlpack(add):
    x = OnlyDlpack(X.copy())
    assert (add(x, X) == 2 * X).all()
    assert x.exports == 1


def test_buffers(add):
    view = memoryview(array.array("f", X.ravel())).cast("B").cast(
        "f", shape=(2, 3))
    assert (add(view, X) == 2 * X).all()


def test_outputs_in_place(add):
    out = np.zeros((2, 3), np.float32)
    assert add.run_into([out], X, X) is None
    assert (out == 2 * X).all()
    with pytest.raises(ValueError, match="contiguous and writable"):
        add.run_into([np.zeros((3, 2), np.float32).T], X, X)
    with pytest.raises(bessemer.InvalidArgumentError, match="float64"):
        add.run_into([np.zeros((2, 3))], X, X)
    with pytest.raises(bessemer.InvalidArgumentError, match="2 outputs"):
        add.run_into([out, out], X, X)
    with pytest.raises(TypeError, match="array to write to"):
        add.run_into([[0.0]], X, X)


def test_results_are_aligned_for_the_next_engine(add):
    results = [add(X, X) for _ in range(20)]
    assert all(r.ctypes.data % 64 == 0 for r in results)


def test_what_is_no_array(add):
    for wrong in ("text", [1.0, 2.0], object(), {}):
        with pytest.raises(TypeError, match="is no array"):
            add(wrong, X)
    with pytest.raises(TypeError, match="None"):
        add(None, z=X)
    with pytest.raises(TypeError, match="dtype"):
        add(X.astype("U3"), X)
    with pytest.raises(ValueError, match="dimensions"):
        add(np.zeros((1,) * 13, np.float32), X)


def test_wrong_dtypes_and_shapes_are_named(add):
    with pytest.raises(bessemer.InvalidArgumentError,
                       match=r"input 1 \(z\) has dtype float64, not float32"):
        add(X, X.astype(np.float64))
    with pytest.raises(bessemer.InvalidArgumentError, match="shape"):
        add(X, X.T)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64",
                                   "float16", "float32", "float64", "bool",
                                   "complex64", "complex128"])
def test_dtypes_go_through(dtype):
    names = {"uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int",
             "int64": "Long", "float16": "Half", "float32": "Float",
             "float64": "Double", "bool": "Bool", "complex64": "ComplexFloat",
             "complex128": "ComplexDouble"}
    text = f"graph(%x : {names[dtype]}(2, 2)):\n" \
           f"  %y : {names[dtype]}(2, 2) = aten::t(%x)\n  return (%y)\n"
    engine = bessemer.compile(text.encode(), timing=False)
    x = np.arange(4).reshape(2, 2).astype(dtype)
    y = engine(x)
    assert y.dtype == x.dtype and (y == x.T).all()


def test_bfloat16_needs_a_library_that_has_it():
    text = b"graph(%x : BFloat16(2, 2)):\n" \
           b"  %y : BFloat16(2, 2) = aten::relu(%x)\n  return (%y)\n"
    engine = bessemer.compile(text, timing=False)
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.array([[1, -2], [3, -4]], ml_dtypes.bfloat16)
    y = engine(x)
    assert y.dtype == x.dtype and (y == np.maximum(x, 0)).all()


class OnDevice(OnlyDlpack):
    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, **options):
        raise AssertionError("the memory must not be touched")


def test_engines_of_the_cpu_refuse_memory_of_gpus(add):
    with pytest.raises((bessemer.InvalidArgumentError, AssertionError)):
        add(OnDevice(X), X)


def test_many_arguments():
    count = 20
    names = [f"%x{i}" for i in range(count)]
    text = "graph(" + ", ".join(f"{n} : Float(2)" for n in names) + "):\n"
    text += "  %l : Tensor[] = prim::ListConstruct(" + ", ".join(names) + ")\n"
    text += "  %d : int = prim::Constant[value=0]()\n"
    text += "  %y : Tensor = aten::stack(%l, %d)\n  return (%y)\n"
    engine = bessemer.compile(text.encode(), timing=False)
    xs = [np.full(2, i, np.float32) for i in range(count)]
    assert (engine(*xs) == np.stack(xs)).all()
