# SPDX-License-Identifier: Apache-2.0
"""Element types: the C API's numbers, and PyTorch's names for them."""
import numpy as np

# bsm_dtype, which is c10::ScalarType.
NAMES = ("uint8", "int8", "int16", "int32", "int64", "float16", "float32",
         "float64", "complex32", "complex64", "complex128", "bool", "qint8",
         "quint8", "qint32", "bfloat16")
_NUMBERS = {name: number for number, name in enumerate(NAMES)}
_NUMBERS.update(float8_e5m2=23, float8_e4m3fn=24)
_NAMES = {number: name for name, number in _NUMBERS.items()}
_NUMBERS.update(half=5, float=6, double=7, short=2, int=3, long=4, cfloat=9,
                cdouble=10)


def name_of(number):
    """PyTorch's name; "undefined" for what only a run knows."""
    return _NAMES.get(number, "undefined")


def number_of(dtype):
    """The number of a dtype given as PyTorch's name, as a dtype of PyTorch, or
    as anything that NumPy takes for a dtype."""
    text = dtype if isinstance(dtype, str) else str(dtype)
    text = text[6:] if text.startswith("torch.") else text
    number = _NUMBERS.get(text)
    if number is not None:
        return number
    try:
        return _NUMBERS[np.dtype(dtype).name]
    except (TypeError, KeyError):
        raise TypeError(f"{dtype!r} is no dtype that Bessemer has: "
                        + ", ".join(_NAMES.values())) from None


def numpy_of(number):
    """NumPy's dtype for the number of one that NumPy has."""
    return np.dtype(name_of(number))
