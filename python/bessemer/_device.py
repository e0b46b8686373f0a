# SPDX-License-Identifier: Apache-2.0
"""Runs on arrays that are in the memory of a device.

Work is put into the stream that the caller's library works in, and not waited
for: PyTorch's current stream, or CUDA's default one for other libraries. The
outputs are arrays of the caller's library, in the same memory."""
from . import _arrays, _dtypes, _structures
from ._arrays import know_torch
from ._errors import InvalidArgumentError, UnsupportedError


class _Torch:
    """Tensors of PyTorch in the memory of a GPU."""

    def __init__(self, torch, sample):
        self.torch = torch
        self.device = sample.device

    def stream(self):
        return self.torch.cuda.current_stream(
            self.device).cuda_stream or _arrays.LEGACY_STREAM

    def empty(self, shape, dtype):
        return self.torch.empty(shape, dtype=getattr(self.torch, dtype),
                                device=self.device)

    def bring(self, array):
        return array.to(self.device)

    def capsule(self, array):
        return array


class _Namespace:
    """Arrays of another library, by the standard of array libraries."""

    def __init__(self, sample):
        if not hasattr(sample, "__array_namespace__"):
            raise UnsupportedError(
                f"a {type(sample).__name__} in a device's memory: its library "
                "has no __array_namespace__, with which the outputs would be "
                "made; use Engine.run_into")
        self.library = sample.__array_namespace__()
        self.device = sample.device

    def stream(self):
        return _arrays.LEGACY_STREAM

    def empty(self, shape, dtype):
        return self.library.empty(shape, dtype=getattr(self.library, dtype),
                                  device=self.device)

    def bring(self, array):
        return self.library.asarray(array, device=self.device)

    def capsule(self, array):
        return array.__dlpack__(stream=_arrays.LEGACY_STREAM)


class _Capsules:
    """What was handed out already, for CUDA's default stream."""

    def stream(self):
        return _arrays.LEGACY_STREAM

    def capsule(self, array):
        return array


def _library(leaves):
    """What makes arrays like those among `leaves` that are on a device; None
    where no library's array is."""
    torch = know_torch()
    for leaf in leaves:
        if torch is not None and isinstance(leaf, torch.Tensor):
            if leaf.device.type != "cpu":
                return _Torch(torch, leaf)
        elif hasattr(leaf, "__dlpack_device__"):
            if leaf.__dlpack_device__()[0] not in (1, 3):
                return _Namespace(leaf)
    return None


def _context(engine, stream):
    """The context that works in `stream`: each has one."""
    if stream not in engine._streams:
        engine._streams[stream] = engine._make_context(stream=stream)
    return engine._streams[stream]


def _output_shapes(engine, context, leaves):
    """The shapes of the outputs; -1 where only the run knows."""
    rows = engine._core.outputs()
    shapes = [row[2] for row in rows]
    if all(shape is not None and -1 not in shape for shape in shapes):
        return shapes
    return context.output_shapes(tuple(tuple(leaf.shape) for leaf in leaves))


def run(engine, leaves):
    """Runs `engine` on inputs of which some are in a device's memory."""
    if engine.target.startswith("cpu"):
        raise InvalidArgumentError(
            "the engine runs on the CPU, and was given an array in the memory "
            "of another device: bring it to the host, or compile the model "
            "with target=\"cuda\"")
    library = _library(leaves)
    if library is None:
        raise InvalidArgumentError("no argument is in a device's memory")
    context = _context(engine, library.stream())
    if _structures.has_run_time_parts(engine._result):
        return _on_host(engine, library, leaves)
    shapes = _output_shapes(engine, context, leaves)
    if any(shape is None or -1 in shape for shape in shapes):
        return _on_host(engine, library, leaves)
    outputs = tuple(library.empty(shape, _dtypes.name_of(row[1]))
                    for shape, row in zip(shapes, engine._core.outputs()))
    # Arrays of the host may go when this returns, so they are waited for.
    context.run_into(tuple(_exported(library, leaf) for leaf in leaves),
                     tuple(_exported(library, out) for out in outputs),
                     any(map(_is_on_host, leaves)))
    if engine._result is not None and engine._result.kind == _structures.TENSOR:
        return outputs[0]
    return engine._build(outputs, None)


def run_into(engine, leaves, outputs):
    """Writes the outputs into arrays of which some are in a device's memory;
    false: neither they nor inputs are."""
    library = _library(leaves + outputs)
    if library is None:
        if not any(map(_is_capsule, leaves + outputs)):
            return False
        library = _Capsules()
    context = _context(engine, library.stream())
    context.run_into(tuple(_exported(library, leaf) for leaf in leaves),
                     tuple(_exported(library, out) for out in outputs),
                     any(map(_is_on_host, leaves + outputs)))
    return True


def _is_capsule(array):
    return type(array).__name__ == "PyCapsule"


def _is_on_host(array):
    if _is_capsule(array):
        return False
    return (not hasattr(array, "__dlpack_device__")
            or array.__dlpack_device__()[0] in (1, 3))


def _exported(library, array):
    if _is_on_host(array) or _is_capsule(array):
        return array
    return library.capsule(array)


def _on_host(engine, library, leaves):
    """What only the run knows the size of comes by way of the host."""
    hosts = tuple(_host(leaf) for leaf in leaves)
    signature = _structures.Signature(None, engine._signature.dtypes)
    if engine._by_host is None:
        engine._by_host = engine.context().seed(engine._seed)
        engine._by_host._signature = signature
    return _map(engine._by_host(*hosts), library.bring)


def _host(array):
    if hasattr(array, "cpu"):
        return array.cpu()
    return array.get() if hasattr(array, "get") else array


def _map(value, function):
    if hasattr(value, "__dlpack__"):
        return function(value)
    if isinstance(value, dict):
        return {key: _map(item, function) for key, item in value.items()}
    if hasattr(value, "_fields"):
        return type(value)(*(_map(item, function) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(_map(item, function) for item in value)
    return value
