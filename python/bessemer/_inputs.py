# SPDX-License-Identifier: Apache-2.0
"""What is known of a model's inputs when it is compiled: `Input` and examples
become the C API's specs (bsm_input_spec), as tuples that the extension reads:

    (kind, name, dtype, (min, opt, max), value, items, key)
"""
import numpy as np

from . import _dtypes
from ._arrays import know_torch

# bsm_input_kind
(TENSOR, INT, FLOAT, BOOL, NONE, CONSTANT, STRING, LIST, TUPLE, DICT,
 NAMED_TUPLE, DEFAULT_VALUE) = range(12)
_FLOAT32 = 6


class Input:
    """A tensor that is given when the engine runs: its shape, or the least,
    the best and the greatest one, and its dtype.

        Input((1, 3, 224, 224))
        Input(min=(1, 16), opt=(8, 128), max=(16, 512), dtype="int64")

    The engine runs all shapes between `min` and `max`, and is fastest with
    `opt`. `dtype` is PyTorch's name, or a dtype of PyTorch or NumPy. The shape
    () is for numbers: an argument that is an int, float or bool in the model is
    given when running then, instead of being fixed.
    """
    __slots__ = ("min", "opt", "max", "dtype")

    def __init__(self, min, opt=None, max=None, dtype="float32"):
        self.min = _shape(min)
        self.opt = self.min if opt is None and max is None else _shape(
            max if opt is None else opt)
        self.max = self.opt if max is None else _shape(max)
        self.dtype = _dtypes.name_of(_dtypes.number_of(dtype))
        sizes = zip(self.min, self.opt, self.max)
        if not len(self.min) == len(self.opt) == len(self.max):
            raise ValueError(f"{self!r}: the shapes differ in rank")
        if any(not 0 <= low <= best <= high for low, best, high in sizes):
            raise ValueError(f"{self!r}: not min <= opt <= max everywhere")

    @property
    def is_fixed(self):
        """Whether there is only one shape."""
        return self.min == self.max

    def __repr__(self):
        if self.min == self.opt == self.max:
            return f"Input({self.min}, dtype={self.dtype!r})"
        return (f"Input(min={self.min}, opt={self.opt}, max={self.max}, "
                f"dtype={self.dtype!r})")

    def __eq__(self, other):
        return isinstance(other, Input) and self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def _key(self):
        return self.min, self.opt, self.max, self.dtype


class Constant:
    """An argument that is folded into the engine: it cannot be given later."""
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


class _Default:
    def __repr__(self):
        return "bessemer.DEFAULT"


#: The parameter's default value.
DEFAULT = _Default()


def _shape(sizes):
    if isinstance(sizes, int):
        sizes = (sizes,)
    return tuple(int(size) for size in sizes)


def is_tensor(value):
    """Whether `value` is an array of some library."""
    torch = know_torch()
    return (isinstance(value, np.ndarray) or hasattr(value, "__dlpack__")
            or (torch is not None and isinstance(value, torch.Tensor)))


def is_named_tuple(value):
    """Whether `value` is an instance of a NamedTuple."""
    return isinstance(value, tuple) and hasattr(value, "_fields")


def as_input(array):
    """The Input that an example stands for."""
    return Input(tuple(array.shape), dtype=array.dtype)


def _spec(kind, name=None, dtype=_FLOAT32, dims=None, value=None, items=None,
          key=None):
    return (kind, name, dtype, dims, value, items, key)


def _number(value, name, key):
    if isinstance(value, bool):
        return _spec(BOOL, name, value=value, key=key)
    if isinstance(value, int):
        return _spec(INT, name, value=value, key=key)
    return _spec(FLOAT, name, value=value, key=key)


def _container(value, name, key):
    if is_named_tuple(value):
        items = [spec(item, field) for field, item in zip(value._fields, value)]
        return _spec(NAMED_TUPLE, name, items=items, key=key)
    if isinstance(value, dict):
        items = [spec(item, key=its) for its, item in value.items()]
        return _spec(DICT, name, items=items, key=key)
    kind = TUPLE if isinstance(value, tuple) else LIST
    return _spec(kind, name, items=[spec(item) for item in value], key=key)


def spec(value, name=None, key=None):
    """The spec of an argument, or of a part of one with its name or key."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Input):
        return _spec(TENSOR, name, _dtypes.number_of(value.dtype),
                     (value.min, value.opt, value.max), key=key)
    if isinstance(value, Constant):
        return _spec(CONSTANT, name, value=value.value, key=key)
    if value is None:
        return _spec(NONE, name, key=key)
    if value is DEFAULT:
        return _spec(DEFAULT_VALUE, name, key=key)
    if isinstance(value, str):
        return _spec(STRING, name, value=value, key=key)
    if isinstance(value, (bool, int, float)):
        return _number(value, name, key)
    if is_tensor(value):
        return spec(as_input(value), name, key)
    if isinstance(value, (list, tuple, dict)):
        return _container(value, name, key)
    raise TypeError(f"an input cannot be given as a {type(value).__name__}: "
                    "give an Input, an array, a value, or a list, tuple or "
                    "dict of these")


def split(inputs, kwarg_inputs=None):
    """`inputs` as positional and named arguments: a sequence is positional, a
    dict named, anything else the one argument. None: nothing is known."""
    if inputs is None and kwarg_inputs is None:
        return None
    if isinstance(inputs, dict) and kwarg_inputs is None:
        return (), dict(inputs)
    if inputs is None:
        inputs = ()
    elif is_named_tuple(inputs) or not isinstance(inputs, (list, tuple)):
        inputs = (inputs,)
    return tuple(inputs), dict(kwarg_inputs or {})


def specs(inputs):
    """The specs of what `split` returned."""
    if inputs is None:
        return None
    positional, named = inputs
    return [spec(value) for value in positional] + [
        spec(value, name) for name, value in named.items()]
