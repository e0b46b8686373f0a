# SPDX-License-Identifier: Apache-2.0
"""What is no array of NumPy is made one that the extension can read. PyTorch's
tensors, and ml_dtypes' bfloat16, become known to it when they are first seen:
nothing is imported for them."""
import sys

import numpy as np

from . import _core

_DLPACK_HOST = (1, 3)  # the CPU, and memory of the host that a GPU can see
_DLPACK_CUDA = (2, 13)
# CUDA's default stream: as DLPack numbers it, and CU_STREAM_LEGACY.
LEGACY_STREAM = 1


def know_torch():
    """Teaches the extension PyTorch, once it is imported; returns it."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "Tensor"):
        return None
    if not know_torch.done:
        capsule = torch._C._to_dlpack
        try:
            capsule(torch.zeros(1, dtype=torch.bool))
            has_bool = True
        except (RuntimeError, BufferError):
            has_bool = False
        _core.set_torch(torch.Tensor, capsule if has_bool else _old_export,
                        torch._C._from_dlpack, torch.from_numpy, has_bool)
        know_torch.done = True
    return torch


know_torch.done = False


def _old_export(tensor):
    """For versions of PyTorch whose DLPack has no bools."""
    import torch
    if tensor.dtype == torch.bool:
        raise TypeError("this version of PyTorch cannot hand out bools: "
                        "give the engine tensor.numpy()")
    return torch._C._to_dlpack(tensor)


def _know_bfloat16():
    """Teaches the extension the bfloat16 of ml_dtypes, where that is there."""
    try:
        import ml_dtypes
    except ImportError:
        return
    _core.set_bfloat16(np.empty(0, ml_dtypes.bfloat16))


def adapt(value):
    """`value` as an array of NumPy, a tensor, or a capsule of DLPack."""
    torch = know_torch()
    if torch is not None and isinstance(value, torch.Tensor):
        return value
    if hasattr(value, "__dlpack__"):
        device = value.__dlpack_device__()[0]
        if device in _DLPACK_HOST:
            return np.from_dlpack(value)
        if device in _DLPACK_CUDA:
            return value.__dlpack__(stream=LEGACY_STREAM)
    if isinstance(value, (np.generic, memoryview, bytearray)) or any(
            hasattr(value, name) for name in
            ("__array__", "__array_interface__", "__array_struct__")):
        return np.asarray(value)
    raise TypeError(f"a {type(value).__name__} is no array: give an array of "
                    "NumPy, a tensor of PyTorch, or anything with DLPack")


_core.set_adapter(adapt)
_know_bfloat16()
