# SPDX-License-Identifier: Apache-2.0
"""From models in memory to the bytes of a file that Bessemer reads.

An nn.Module is exported; where torch.export does not take it, it is scripted,
and else traced."""
import inspect
import io
from typing import NamedTuple

from ._errors import Error
from ._inputs import DEFAULT, Constant, Input, is_named_tuple, is_tensor
from ._log import logger


class Source(NamedTuple):
    """The bytes of a model, and how they came about."""
    data: bytes
    how: str  # "export", "script" or "trace"


class FrontendError(RuntimeError):
    """PyTorch cannot write the model in one of its forms; says why."""


def reason_of(error):
    """What an exception says in a message: all of Bessemer's, the first line
    of others, which go on about how it came about."""
    if isinstance(error, (Error, FrontendError)):
        return str(error)
    for line in str(error).splitlines():
        if line.strip():
            return f"{type(error).__name__}: {line.strip()}"
    return type(error).__name__


# ---- example arguments ----

def _size_of_example(low, best, high):
    """PyTorch takes sizes of 0 and 1 as fixed, whatever else it is told."""
    if low == high or best > 1:
        return best
    return min(high, 2) if high > 1 else best


def _example(torch, value):
    """An argument of the kind that `value` describes."""
    if isinstance(value, Constant):
        return torch.as_tensor(value.value)
    if isinstance(value, Input):
        shape = [_size_of_example(*sizes)
                 for sizes in zip(value.min, value.opt, value.max)]
        dtype = getattr(torch, value.dtype)
        if dtype.is_floating_point or dtype.is_complex:
            return torch.rand(shape).to(dtype)
        return torch.zeros(shape, dtype=dtype)
    if is_tensor(value):
        return value if isinstance(value, torch.Tensor) else torch.as_tensor(
            value)
    if is_named_tuple(value):
        return type(value)(*(_example(torch, item) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(_example(torch, item) for item in value)
    if isinstance(value, dict):
        return {key: _example(torch, item) for key, item in value.items()}
    return value


def examples(inputs):
    """Positional and named example arguments for inputs as `split` gives
    them."""
    import torch
    positional, named = inputs
    return (tuple(_example(torch, value) for value in positional
                  if value is not DEFAULT),
            {name: _example(torch, value) for name, value in named.items()
             if value is not DEFAULT})


# ---- torch.export ----

def _dynamic(torch, value):
    """What torch.export is told of the sizes of an argument that range."""
    if isinstance(value, Input) and not value.is_fixed:
        if not hasattr(torch.export.Dim, "AUTO"):
            raise FrontendError("shapes that range need PyTorch 2.6 for "
                                "torch.export")
        return {i: torch.export.Dim.AUTO(min=low, max=high)
                for i, (low, high) in enumerate(zip(value.min, value.max))
                if low != high}
    if isinstance(value, dict):
        return {key: _dynamic(torch, item) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and not is_tensor(value):
        parts = [_dynamic(torch, item) for item in value]
        return parts if isinstance(value, list) else tuple(parts)
    return None


def _ranges(value):
    if isinstance(value, dict):
        return any(_ranges(item) for item in value.values())
    if isinstance(value, (list, tuple)):
        return any(_ranges(item) for item in value)
    return isinstance(value, Input) and not value.is_fixed


def _dynamic_shapes(torch, model, inputs):
    """By the names of the parameters; None where nothing ranges."""
    positional, named = inputs
    if not any(map(_ranges, positional)) and not any(
            map(_ranges, named.values())):
        return None
    names = list(inspect.signature(model.forward).parameters)
    shapes = {names[i]: _dynamic(torch, value)
              for i, value in enumerate(positional)}
    shapes.update((name, _dynamic(torch, value))
                  for name, value in named.items())
    return shapes


def save_exported(program):
    """The bytes of an ExportedProgram."""
    import torch
    out = io.BytesIO()
    torch.export.save(program, out)
    return out.getvalue()


def _register_named_tuples(torch, value):
    """Lets torch.export write the classes of NamedTuples among arguments."""
    if is_named_tuple(value):
        pytree, kind = torch.utils._pytree, type(value)
        register = getattr(pytree, "_register_namedtuple", None)
        if register and kind not in _registered:
            _registered.add(kind)
            register(kind, serialized_type_name=(
                f"{kind.__module__}.{kind.__qualname__}"))
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (list, tuple)):
        for item in value:
            _register_named_tuples(torch, item)


_registered = set()


def _export(model, inputs):
    import torch
    if not hasattr(torch, "export") or not hasattr(torch.export, "export"):
        raise FrontendError("this version of PyTorch has no torch.export")
    args, kwargs = examples(inputs)
    _register_named_tuples(torch, (args, kwargs))
    with torch.no_grad():
        program = torch.export.export(
            model, args, kwargs or None,
            dynamic_shapes=_dynamic_shapes(torch, model, inputs))
    return save_exported(program)


# ---- TorchScript ----

def save_scripted(module):
    """The bytes of a ScriptModule."""
    import torch
    out = io.BytesIO()
    torch.jit.save(module, out)
    return out.getvalue()


def _script(model, inputs):
    import torch
    del inputs
    return save_scripted(torch.jit.script(model))


def _trace(model, inputs):
    import torch
    args, kwargs = examples(inputs)
    with torch.no_grad():
        if kwargs:
            names = list(inspect.signature(model.forward).parameters)
            args += tuple(kwargs[name] for name in names[len(args):]
                          if name in kwargs)
        return save_scripted(
            torch.jit.trace(model, args, check_trace=False, strict=False))


_HOW = {"export": _export, "script": _script, "trace": _trace}
WAYS = tuple(_HOW)


def source_of(model, inputs, how):
    """`model`, an nn.Module, written by one of WAYS.
    FrontendError: PyTorch refuses it, for whatever reason."""
    if inputs is None and how != "script":
        raise FrontendError("inputs are needed")
    training = model.training
    if training:
        logger.warning("the model is in training mode: it is compiled as "
                       "model.eval() has it")
    modes = [(module, module.training) for module in model.modules()]
    try:
        model.eval()
        return Source(_HOW[how](model, inputs), how)
    except FrontendError:
        raise
    except Exception as error:  # PyTorch raises nearly everything
        raise FrontendError(reason_of(error)) from error
    finally:
        for module, mode in modes:
            module.training = mode
