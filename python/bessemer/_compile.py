# SPDX-License-Identifier: Apache-2.0
"""Compiling, and asking whether a model can be compiled."""
import inspect
import os
import sys
from typing import List, NamedTuple, Optional

from . import _calibrate, _core, _export, _inputs, _log
from ._engine import Engine
from ._errors import (DataDependentError, Error, InvalidArgumentError,
                      RaisedError, UnsupportedError)
from ._log import logger

_PRECISIONS = {"fp32": 1, "tf32": 2, "fp16": 4, "bf16": 8, "int8": 16, "fp8": 32,
               "float": 1, "float32": 1, "float16": 4, "half": 4, "bfloat16": 8,
               "float8_e4m3fn": 32}
_ALL_PRECISIONS = 63


def _precision(value):
    name = str(value)
    name = name[6:] if name.startswith("torch.") else name
    if name not in _PRECISIONS:
        raise InvalidArgumentError(
            f"{value!r} is no precision; there are fp32, tf32, fp16, bf16, "
            "int8, fp8")
    return _PRECISIONS[name]


def _precisions(value):
    """Bits from one precision, several, or "all"."""
    if value is None:
        return 0
    if isinstance(value, str):
        if value in ("all", "best"):
            return _ALL_PRECISIONS
        value = value.replace("+", ",").split(",")
    elif not isinstance(value, (set, frozenset, list, tuple)):
        value = [value]
    bits = 0
    for item in value:
        bits |= _precision(item.strip() if isinstance(item, str) else item)
    return bits


def _overrides(layers, modules):
    rows = [(name, None, _precision(its)) for name, its in (layers or {}).items()]
    rows += [(None, name, _precision(its))
             for name, its in (modules or {}).items()]
    return rows


# ---- models ----

def _torch_kind(model):
    """"module", "script" or "exported" for what PyTorch made; else None."""
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    if isinstance(model, torch.jit.ScriptModule):
        return "script"
    exported = getattr(getattr(torch, "export", None), "ExportedProgram", None)
    if exported is not None and isinstance(model, exported):
        return "exported"
    return "module" if isinstance(model, torch.nn.Module) else None


def _open(source, name, state_as_output, model_name, limits):
    """A Module from a path or from bytes."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _core.Module(path="", data=bytes(source), name=name,
                            level=_log.level(), state_as_output=state_as_output,
                            model_name=model_name, **limits)
    return _core.Module(path=os.fspath(source), level=_log.level(),
                        state_as_output=state_as_output, model_name=model_name,
                        **limits)


_TRY_ANOTHER_WAY = (UnsupportedError, RaisedError, DataDependentError,
                    _export.FrontendError)


def _from_module(model, inputs, frontend, use):
    """Gives `use` the bytes of an nn.Module; the first way that gets there."""
    ways = _export.WAYS if frontend == "auto" else (frontend,)
    if frontend != "auto" and frontend not in _export.WAYS:
        raise InvalidArgumentError(f"{frontend!r} is no frontend; there are "
                                   + ", ".join(("auto",) + _export.WAYS))
    reasons = []
    for way in ways:
        try:
            made = use(_export.source_of(model, inputs, way).data)
            logger.info("the model was compiled by way of %s", _TITLES[way])
            return made
        except _TRY_ANOTHER_WAY as error:
            reasons.append(f"{_TITLES[way]}: {error}")
            if way != ways[-1]:
                logger.warning("%s does not do for the model: %s", _TITLES[way],
                               _export.reason_of(error))
            cause = error
    raise UnsupportedError("the model cannot be compiled\n"
                           + "\n".join(reasons)) from cause


_TITLES = {"export": "torch.export", "script": "torch.jit.script",
           "trace": "torch.jit.trace"}


def with_module(model, inputs, frontend, state_as_output, model_name, use,
                **limits):
    """Opens `model`, whatever it is, and gives the Module to `use`. `limits`:
    max_memory and max_work, 0 for the defaults."""
    def opened(source, name="the model"):
        return use(_open(source, name, state_as_output, model_name, limits))

    kind = _torch_kind(model)
    if kind == "script":
        return opened(_export.save_scripted(model), type(model).__name__)
    if kind == "exported":
        return opened(_export.save_exported(model))
    if kind == "module":
        return _from_module(
            model, inputs, frontend,
            lambda data: opened(data, type(model).__name__))
    if not isinstance(model, (str, os.PathLike, bytes, bytearray, memoryview)):
        raise TypeError(
            f"a {type(model).__name__} is no model: give a path, bytes, a "
            "ScriptModule, an ExportedProgram or an nn.Module")
    return opened(model)


def _reference(name):
    """The bits of bsm_reference."""
    bits = {None: 0, "library": 1, "float64": 3}
    if name not in bits:
        raise ValueError(f"reference is 'library' or 'float64', not {name!r}")
    return bits[name]


def _weight_format(name):
    groups = {None: (0, 0), "int8": (8, 0), "int4": (4, 0), "int4:32": (4, 32),
              "int4:64": (4, 64), "int4:128": (4, 128)}
    if name not in groups:
        raise ValueError("weight_only is 'int8', 'int4', 'int4:32', 'int4:64' "
                         f"or 'int4:128', not {name!r}")
    bits, group = groups[name]
    return dict(weight_bits=bits, weight_group=group)


def plain_options():
    """The options of the extension's functions, as they are by default."""
    return dict(method=None, target=None, precisions=0, overrides=(),
                obey_precisions=False, no_timing=True, timing_cache=None,
                truncate_long_and_double=False, require_full_compilation=False,
                fallback_ops=(), fallback_modules=(), min_block_size=0,
                threads=0, level=_log.level(), reference=0, weight_bits=0,
                weight_group=0, weight_rows=0, metadata=(), prefer_size=False,
                progress=None, calibration=None)


def _make(model, given, use):
    """An Engine of what use(module, options) gives, for the arguments of
    `compile` by name."""
    arguments = _inputs.split(given["inputs"], given["kwarg_inputs"])
    cache = given["timing_cache"]
    options = dict(
        precisions=_precisions(given["precision"]),
        overrides=_overrides(given["layer_precisions"],
                             given["module_precisions"]),
        no_timing=not given["timing"],
        timing_cache=None if cache is None else os.fspath(cache),
        fallback_ops=tuple(given["fallback_ops"]),
        fallback_modules=tuple(given["fallback_modules"]),
        level=_log.level(), reference=_reference(given["reference"]),
        metadata=[(str(k), str(v))
                  for k, v in (given["metadata"] or {}).items()],
        calibration=_calibrate.core_of(given["calibration"]),
        **_weight_format(given["weight_only"]))
    for name in ("method", "target", "obey_precisions",
                 "truncate_long_and_double", "require_full_compilation",
                 "min_block_size", "threads", "weight_rows", "prefer_size",
                 "progress"):
        options[name] = given[name]
    core = with_module(
        model, arguments, given["frontend"], given["state_as_output"],
        given["model_name"],
        lambda module: use(module, dict(
            options, inputs=_inputs.specs(arguments))),
        max_memory=given["max_memory"], max_work=given["max_work"])
    return Engine(core, given["threads"])


def refit(engine, model, inputs=None, **options):
    """What Engine.refit does."""
    given = {name: parameter.default for name, parameter
             in inspect.signature(compile).parameters.items()}
    del given["model"]
    for name in options:
        if name not in given:
            raise TypeError(f"refit() has no argument {name!r}; it takes those "
                            "of compile()")
    given.update(options, inputs=inputs)
    return _make(model, given,
                 lambda module, how: module.refit(engine, **how))


# ---- the functions of the package ----

def compile(model, inputs=None, precision=None, target=None, *,
            kwarg_inputs=None, method=None, threads=0, frontend="auto",
            timing=True, timing_cache=None, layer_precisions=None,
            module_precisions=None, obey_precisions=False,
            truncate_long_and_double=False, require_full_compilation=False,
            fallback_ops=(), fallback_modules=(), min_block_size=0,
            state_as_output=False, model_name=None, reference=None,
            weight_only=None, weight_rows=0, metadata=None,
            prefer_size=False, progress=None, calibration=None, max_memory=0,
            max_work=0):
    """Compiles a model into an Engine.

    model       the path or bytes of a TorchScript archive, of a program of
                torch.export or of IR text; a ScriptModule, an ExportedProgram;
                or an nn.Module, which is exported, or else scripted, or else
                traced, and the logger says which
    inputs      what is known of the arguments: a sequence with an Input, an
                example, or a value for each; or a dict by name. Tensors are
                given when the engine runs, other values are fixed. None: what
                the model's file says
    precision   what layers of float32 may compute in: "fp16", "bf16", "tf32",
                "int8", "fp8", several of them, or "all". None: float32
    target      "cpu", "cuda", or the whole text of one (`target_text`)

    kwarg_inputs                inputs by name, beside positional ones
    method                      "forward" unless given; "encoder.forward" of a
                                submodule
    threads                     of runs and of timing; 0: one for each CPU
    frontend                    "auto", "export", "script" or "trace"
    timing                      False: choose by a model of costs; builds are
                                reproducible then
    timing_cache                the path of a file to keep timings in
    layer_precisions            {pattern of layers' names: precision}
    module_precisions           {path or class of submodules: precision}
    obey_precisions             fail where the target has no such precision
    truncate_long_and_double    compute in int32 and float32 instead
    require_full_compilation    fail rather than run the reference library
    fallback_ops                operators to leave to it: "aten::add"
    fallback_modules            submodules to leave to it
    min_block_size              least nodes of a part that is compiled, in
                                models with parts
    state_as_output             results of programs that write to buffers become
                                (result, state)
    model_name                  which model of a package with several
    reference                   "library": compute with the reference library,
                                operator by operator; "float64": the same in
                                float64. Such engines are slow: `diff` is what
                                they are for
    weight_only                 hold the weights of products with few rows in
                                fewer bits: "int8", "int4" or "int4:GROUP", with
                                a scale for 32, 64 or 128 rows
    weight_rows                 for products with up to so many rows; 0: 32
    metadata                    {key: text} for `Engine.metadata`
    prefer_size                 small engines rather than fast ones
    progress                    progress(phase, done, total) is called on the
                                way; total 0: not known. The phases are
                                "lowering", "converting", "tactics", "weights"
                                and "kernels". False cancels (CancelledError),
                                and so do exceptions, which are raised. Ctrl-C
                                cancels, too, also without one
    calibration                 what `calibrate` made, or the path of its file:
                                layers compute in int8 by it, which `precision`
                                has to allow
    max_memory                  bytes that reading and compiling the model may
                                take; 0: 60 MiB and 64 times the file
    max_work                    multiply-adds, and visits of elements, for what
                                is constant; 0: 2^27 and 1000 for each byte

    UnsupportedError: something in the model cannot run in an engine; the
    message names all of it. InvalidArgumentError: inputs contradict the model.
    """
    given = dict(locals())
    return _make(given.pop("model"), given,
                 lambda module, options: module.compile(**options))


class Operator(NamedTuple):
    """An operator of a model and how its nodes would run. `runs` is "layers",
    "evaluator", "reference", "planned", "call", "program", "plugin" or
    "refused"; docs/operators.md explains them. `why` tells why it is not
    layers."""
    schema: str
    count: int
    runs: str
    places: List[str]
    limits: List[str]
    why: str
    unsupported: int


class Support(NamedTuple):
    """What `check_support` finds: true where the model compiles."""
    operators: List[Operator]
    failure: Optional[str]

    def __bool__(self):
        return self.failure is None

    @property
    def unsupported(self):
        """The operators that keep the model from compiling."""
        return [o for o in self.operators if o.unsupported]

    def __str__(self):
        rows = [f"{o.count:5}  {o.runs:10} {o.schema}" + (
            f"\n       {o.why}" if o.why else "") for o in self.operators]
        rows.append(self.failure or "the model compiles")
        return "\n".join(rows)


def check_support(model, inputs=None, target=None, *, kwarg_inputs=None,
                  method=None, frontend="auto", **options):
    """Which operators a model has, how each would run, and whether the model
    compiles: a Support, which is true if it does. Nothing is timed. Arguments
    as those of `compile`; failures of the model are in the result."""
    arguments = _inputs.split(inputs, kwarg_inputs)
    known = dict(precision=None, truncate_long_and_double=False,
                 fallback_ops=(), fallback_modules=(), min_block_size=0)
    for name in options:
        if name not in known:
            raise TypeError(f"check_support() has no argument {name!r}")
    known.update(options)

    def use(module):
        options = dict(
            plain_options(), method=method, target=target,
            precisions=_precisions(known["precision"]),
            truncate_long_and_double=known["truncate_long_and_double"],
            fallback_ops=tuple(known["fallback_ops"]),
            fallback_modules=tuple(known["fallback_modules"]),
            min_block_size=known["min_block_size"])
        rows, failure = module.operators(inputs=_inputs.specs(arguments),
                                         **options)
        operators = [Operator(row["schema"], row["count"], row["runs"],
                              row["places"].splitlines(),
                              row["limits"].splitlines(), row["why"],
                              row["unsupported"]) for row in rows]
        return Support(operators, failure)

    try:
        return with_module(model, arguments, frontend, False, None, use)
    except InvalidArgumentError:
        raise
    except Error as error:
        return Support([], str(error))
