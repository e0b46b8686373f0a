# SPDX-License-Identifier: Apache-2.0
"""The backend "bessemer" of torch.compile.

PyTorch cuts a program into regions and gives each to `backend` as a graph. A
region is compiled when it is first called, as its arguments are known then;
weights are folded into its engine. What cannot be compiled, or would not be the
same as in PyTorch, runs in PyTorch, and the logger says why.
"""
import torch

from .. import _compile, _export
from .._errors import UnsupportedError
from .._log import logger

# What `options` may have, and its defaults; the rest goes to bessemer.compile.
_OWN_OPTIONS = {"min_block_size": 1, "require_full_compilation": False,
                "max_shapes": 8, "max_weight_changes": 4}
_COMPILE_OPTIONS = {"precision", "target", "threads", "timing", "timing_cache",
                    "truncate_long_and_double", "fallback_ops",
                    "layer_precisions", "obey_precisions", "weight_only",
                    "weight_rows"}


class _Refused(Exception):
    """Why a region runs in PyTorch."""


def backend(graph_module, example_inputs, *, mode=None, options=None):
    """What torch.compile calls for each region.

    `options` of torch.compile may have: precision, target, threads, timing,
    timing_cache, truncate_long_and_double, fallback_ops, layer_precisions,
    obey_precisions, weight_only and weight_rows, as bessemer.compile takes them;
    and

    min_block_size            regions of fewer operators run in PyTorch (1)
    require_full_compilation  raise rather than run a region in PyTorch (False)
    max_shapes                sets of shapes that a region is compiled for,
                              before the others run in PyTorch (8)
    max_weight_changes        how often a region is compiled again because its
                              weights have changed (4)
    """
    if mode is not None:
        raise ValueError(f"the backend bessemer has no modes, such as {mode!r}; "
                         "options are given as options={...}")
    given = dict(options or {})
    unknown = set(given) - set(_OWN_OPTIONS) - _COMPILE_OPTIONS
    if unknown:
        raise ValueError(
            f"the backend bessemer has no option {sorted(unknown)}; it has "
            + ", ".join(sorted(set(_OWN_OPTIONS) | _COMPILE_OPTIONS)))
    del example_inputs  # may be without data
    return Region(graph_module, given)


def _is_weight(node, value):
    """Whether a parameter of the graph is one of the model, or a buffer."""
    notes = node.meta.get("tensor_dict") or {}
    return isinstance(value, torch.nn.Parameter) or (
        "_dynamo_static_input_type" in notes)


def _version(tensor):
    """Changes when the tensor is written to."""
    return 0 if tensor.is_inference() else tensor._version


class _Frozen(torch.nn.Module):
    """A graph some of whose arguments are fixed: weights and sizes."""

    def __init__(self, graph_module, fixed, count):
        super().__init__()
        self.graph_module = graph_module
        self.plain = {}
        self.count = count
        self.tensors = []
        for i, value in fixed.items():
            if isinstance(value, torch.Tensor):
                self.register_buffer(f"weight_{i}", value.detach())
                self.tensors.append(i)
            else:
                self.plain[i] = value

    def forward(self, *args):
        rest = iter(args)
        merged = []
        for i in range(self.count):
            if i in self.plain:
                merged.append(self.plain[i])
            elif i in self.tensors:
                merged.append(getattr(self, f"weight_{i}"))
            else:
                merged.append(next(rest))
        return self.graph_module(*merged)


class Region:
    """A region of a program, and its engines: one for each set of shapes."""

    def __init__(self, graph_module, options):
        self.graph_module = graph_module
        self.own = {name: options.get(name, default)
                    for name, default in _OWN_OPTIONS.items()}
        self.options = {name: value for name, value in options.items()
                        if name in _COMPILE_OPTIONS}
        self.placeholders = [node for node in graph_module.graph.nodes
                             if node.op == "placeholder"]
        self.operators = sum(node.op.startswith("call_")
                             for node in graph_module.graph.nodes)
        self.given = None  # indices of the arguments that engines take
        self.weights = []  # (index, tensor, version)
        self.changes = 0
        self.engines = {}  # by the shapes and numbers of a call
        self.in_pytorch = False

    def __call__(self, *args):
        if self.in_pytorch:
            return self.graph_module(*args)
        if self.given is None or self._weights_changed(args):
            self._look_at(args)
        key = self._key(args)
        engine = self.engines.get(key)
        if engine is None:
            engine = self._make(args, key)
        if engine is None:
            return self.graph_module(*args)
        return engine(*[args[i].detach() for i in self.given])

    def _look_at(self, args):
        """Sets what of the arguments is fixed."""
        self.weights = [
            (i, value, _version(value))
            for i, (node, value) in enumerate(zip(self.placeholders, args))
            if isinstance(value, torch.Tensor) and _is_weight(node, value)]
        fixed = {i for i, _, _ in self.weights}
        self.given = [i for i, value in enumerate(args)
                      if isinstance(value, torch.Tensor) and i not in fixed]
        self.engines = {}

    def _weights_changed(self, args):
        for i, tensor, version in self.weights:
            if args[i] is not tensor or _version(tensor) != version:
                self.changes += 1
                return True
        return False

    def _key(self, args):
        return tuple(tuple(value.shape) if isinstance(value, torch.Tensor)
                     else value for i, value in enumerate(args)
                     if i in self.given or not isinstance(value, torch.Tensor))

    # ---- compiling ----

    def _make(self, args, key):
        """The engine for these arguments; None: PyTorch runs the region."""
        try:
            self._check_counts()
            engine = self._compile(args)
        except Exception as error:  # exporting raises nearly everything
            if self.own["require_full_compilation"]:
                raise UnsupportedError(
                    f"a region of {self.operators} operators cannot be "
                    f"compiled, and require_full_compilation is set\n"
                    f"{error}") from error
            self.in_pytorch = True
            logger.log(20 if isinstance(error, _TooSmall) else 30,
                       "a region of %d operators runs in PyTorch: %s",
                       self.operators, _reason(error))
            return None
        logger.info("a region of %d operators was compiled: %r",
                    self.operators, engine)
        self.engines[key] = engine
        return engine

    def _check_counts(self):
        own = self.own
        if self.operators < max(own["min_block_size"], 1):
            raise _TooSmall("min_block_size is "
                            f"{own['min_block_size']}")
        if len(self.engines) >= own["max_shapes"]:
            raise _Refused(f"it was called with more than {own['max_shapes']} "
                           "sets of shapes (max_shapes); bessemer.compile "
                           "takes ranges of shapes")
        if self.changes > own["max_weight_changes"]:
            raise _Refused("its weights keep changing (max_weight_changes is "
                           f"{own['max_weight_changes']})")

    def _compile(self, args):
        if not self.given:
            raise _Refused("it takes no tensor")
        self._check_gradients(args)
        fixed = {i: value for i, value in enumerate(args)
                 if i not in self.given}
        frozen = _Frozen(self.graph_module, fixed, len(args))
        inputs = tuple(args[i].detach() for i in self.given)
        _check_effects(self.graph_module, args)
        with torch.no_grad():
            program = torch.export.export(frozen.eval(), inputs, strict=False)
        options = dict(self.options)
        on_device = any(value.device.type == "cuda" for value in inputs)
        options.setdefault("target", "cuda" if on_device else "cpu")
        return _compile.compile(_export.save_exported(program), **options)

    def _check_gradients(self, args):
        if torch.is_grad_enabled() and any(
                args[i].requires_grad for i in self.given):
            raise _Refused("gradients of its arguments are wanted; engines "
                           "have none")


class _TooSmall(_Refused):
    pass


def _reason(error):
    return (str(error) if isinstance(error, _Refused)
            else _export.reason_of(error))


def _leaves(value):
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


def _fake(mode, value):
    """A tensor without data that is like `value`, in memory of its own."""
    if not isinstance(value, torch.Tensor):
        return value
    with mode:
        return torch.empty_strided(value.shape, value.stride(),
                                   dtype=value.dtype, device=value.device)


def _storage(tensor):
    return tensor.untyped_storage()._cdata


def _check_effects(graph_module, args):
    """Refuses what an engine cannot do, by a run without data: to write to
    arguments or weights, or to return their memory, where the program may
    write afterwards."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    with torch.inference_mode(False), torch.no_grad():
        fakes = [_fake(mode, value) for value in args]
        state = {name: _fake(mode, value) for name, value in
                 graph_module.state_dict(keep_vars=True).items()}
        tensors = [value for value in (*fakes, *state.values())
                   if isinstance(value, torch.Tensor)]
        versions = [value._version for value in tensors]
        with mode:
            outputs = _leaves(torch.func.functional_call(
                graph_module, state, tuple(fakes)))
        if versions != [value._version for value in tensors]:
            raise _Refused("it writes to its arguments or to buffers")
        memory = {_storage(value) for value in tensors}
        if any(_storage(value) in memory for value in outputs
               if isinstance(value, torch.Tensor)):
            raise _Refused("it returns memory of its arguments, which may be "
                           "written to afterwards")
