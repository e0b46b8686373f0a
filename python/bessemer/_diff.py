# SPDX-License-Identifier: Apache-2.0
"""Where two computations of a model depart, as `bessemer diff` tells it."""
from typing import NamedTuple, Optional, Tuple

import numpy as np

from ._engine import Engine

_TOLERANCES = {"tf32": 5e-3, "fp16": 1e-2, "bf16": 5e-2, "int8": 0.2,
               "fp8": 0.2}


class Difference(NamedTuple):
    """A value of both computations. `error` is the largest difference, divided
    by the largest expected element."""
    layer: str
    value: str
    kind: str
    source: str
    shape: Tuple[int, ...]
    error: float
    rms_error: float
    departs: bool
    expected: "np.ndarray"
    actual: "np.ndarray"


class Differences(list):
    """The values of both, in the order in which they are computed."""

    tolerance: float

    @property
    def first(self) -> Optional[Difference]:
        """The first that departs, or None."""
        return next((d for d in self if d.departs), None)

    @property
    def worst(self) -> Optional[Difference]:
        """The one with the largest error."""
        return max(self, key=lambda d: d.error, default=None)

    def __str__(self):
        rows = [f"{'error':>10}  layer"]
        for d in self:
            rows.append(f"{d.error:10.3g} {'*' if d.departs else ' '}{d.layer} "
                        f"({d.kind}, {d.value or 'no name'}) {d.source}")
        first = self.first
        rows.append(f"no layer departs by more than {self.tolerance:g}"
                    if first is None else
                    f"the first to depart is {first.layer} {first.source}")
        return "\n".join(rows)


# ---- names of steps ----

def _parts(layers):
    """(value, module, source) of each layer that a step runs."""
    for text in layers.split(" + ") if layers else ():
        value = text[1:].split(" = ")[0].split(",")[0] \
            if text.startswith("%") and " = " in text else ""
        place = text.rsplit(" at ", 1)[1] if " at " in text else ""
        module = ""
        if place.endswith(")") and "(" in place:
            place, module = place[:-1].rsplit("(", 1)
        yield value, module, place.rstrip()


def _label(tensor):
    shown = []
    for value, module, _ in _parts(tensor.layers):
        name = module or value
        if name and (not shown or shown[-1] != name):
            shown.append(name)
    return " + ".join(shown) or tensor.layers or tensor.name


def _source(tensor):
    return next((source for _, _, source in _parts(tensor.layers) if source),
                "")


# ---- arrays ----

def _is_torch_module(value):
    return any(t.__module__.split(".")[0] == "torch" and t.__name__ == "Module"
               for t in type(value).__mro__)


def record(module, *args, **kwargs):
    """Runs an nn.Module, and returns what its submodules compute: a dict of
    arrays by the submodules' paths, with "out_0", "out_1", ... for the result.
    `numpy.savez(path, **record(...))` makes a file for `bessemer diff`. Of a
    submodule that is called several times, the last result."""
    import torch

    arrays, hooks = {}, []

    def keep(name):
        def hook(_module, _args, result):
            if isinstance(result, torch.Tensor):
                arrays[name] = _to_numpy(result)
        return hook

    for name, child in module.named_modules():
        if name:
            hooks.append(child.register_forward_hook(keep(name)))
    try:
        with torch.no_grad():
            result = module(*args, **kwargs)
    finally:
        for hook in hooks:
            hook.remove()
    for i, leaf in enumerate(_leaves(result)):
        if isinstance(leaf, torch.Tensor):
            arrays[f"out_{i}"] = _to_numpy(leaf)
    return arrays


def _to_numpy(tensor):
    tensor = tensor.detach().cpu()
    if str(tensor.dtype) == "torch.bfloat16":
        tensor = tensor.float()
    return tensor.numpy().copy()


def _leaves(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


def _merged(shape):
    """Where products of sizes meet: the places that merging dims removes."""
    points, product = set(), 1
    for size in shape:
        product *= size
        points.add(product)
    return points | {1}


def _same_order(a, b):
    if a.size != b.size:
        return False
    x, y = _merged(a.shape), _merged(b.shape)
    return not a.size or x <= y or y <= x


def _errors(expected, actual):
    e = np.asarray(expected).reshape(-1)
    a = np.asarray(actual).reshape(-1)
    kind = complex if "c" in (e.dtype.kind, a.dtype.kind) else float
    e, a = e.astype(kind), a.astype(kind)
    if not e.size:
        return 0.0, 0.0
    good = np.isfinite(e) & np.isfinite(a)
    same = (e == a) | (np.isnan(e) & np.isnan(a))
    if not (good | same).all():
        return float("inf"), float("inf")
    distance = np.abs(np.where(good, e, 0) - np.where(good, a, 0))
    finite = np.abs(e[np.isfinite(e)])
    scale = float(finite.max()) if finite.size else 0.0
    norm = float(np.sqrt((finite ** 2).mean())) if finite.size else 0.0
    rms = float(np.sqrt((distance ** 2).mean()))
    return float(distance.max()) / (scale or 1.0), rms / (norm or 1.0)


# ---- matching ----

class _Values:
    """Values by name, each to be taken once."""

    def __init__(self, tensors):
        self._by_name = {}
        self.tensors = tensors
        for tensor in tensors:
            key = tensor.name or tensor.layers
            self._by_name.setdefault(key, []).append(tensor)

    def take(self, name, array):
        rest = self._by_name.get(name, [])
        for i, tensor in enumerate(rest):
            if _same_order(tensor.array, array):
                return rest.pop(i)
        return None

    def last_of(self, module, array):
        for tensor in reversed(self.tensors):
            path = ([m for _, m, _ in _parts(tensor.layers)] or [""])[-1]
            inside = path == module or path.startswith((module + ".",
                                                        module + "/"))
            if module and inside and _same_order(tensor.array, array):
                return tensor
        return None


def _pairs_of_runs(expected, actual):
    values = _Values(actual)
    for tensor in expected:
        found = values.take(tensor.name or tensor.layers, tensor.array)
        if found is not None:
            shown = found if tensor.kind == "aten_call" else tensor
            yield shown, tensor.array, found.array


def _pairs_of_arrays(tensors, arrays):
    """(tensor, array) in the order of the run."""
    values, found = _Values(tensors), {}
    for name, array in arrays.items():
        tensor = values.take(name, array)
        if tensor is None:
            tensor = values.last_of(name, array)
        if tensor is not None:
            found[id(tensor)] = array
    return [(t, found[id(t)]) for t in tensors if id(t) in found]


def _tolerance(engines, arrays):
    found = [1e-4]
    for engine in engines:
        names = engine.metadata.get("options.precisions", "")
        found += [t for name, t in _TOLERANCES.items() if name in names]
    if any(a.dtype == np.float16 for a in arrays):
        found.append(1e-2)
    return max(found)


def diff(expected, actual, *args, tolerance=None, **kwargs):
    """Compares what two computations of a model compute on the way, on the same
    arguments, and returns Differences.

    expected, actual   each an Engine, of which `compile(..., reference=...)`
                       makes those that are slow and right; an nn.Module, which
                       PyTorch runs; or a dict of arrays by the names of values
                       or submodules, as `record` makes it
    tolerance          the error from which a layer departs; None: 1e-4, more
                       for narrow precisions
    """
    sides = []
    for side in (expected, actual):
        if isinstance(side, Engine):
            sides.append(side.tensors(*args, **kwargs))
        elif isinstance(side, dict):
            sides.append({k: np.asarray(v) for k, v in side.items()})
        elif _is_torch_module(side):
            sides.append(record(side, *args, **kwargs))
        else:
            raise TypeError(f"a {type(side).__name__} cannot be compared: give "
                            "an Engine, an nn.Module or a dict of arrays")
    if isinstance(sides[0], dict) and isinstance(sides[1], dict):
        raise TypeError("one of the two has to be an Engine")
    if isinstance(sides[0], dict):
        pairs = [(t, a, t.array)
                 for t, a in _pairs_of_arrays(sides[1], sides[0])]
    elif isinstance(sides[1], dict):
        pairs = [(t, t.array, a)
                 for t, a in _pairs_of_arrays(sides[0], sides[1])]
    else:
        pairs = list(_pairs_of_runs(*sides))
    result = Differences()
    result.tolerance = tolerance or _tolerance(
        [s for s in (expected, actual) if isinstance(s, Engine)],
        [a for pair in pairs for a in pair[1:]])
    for tensor, wanted, got in pairs:
        error, rms = _errors(wanted, got)
        result.append(Difference(
            _label(tensor), tensor.name, tensor.kind, _source(tensor),
            tuple(tensor.array.shape), error, rms,
            not error <= result.tolerance, wanted, got))
    return result
