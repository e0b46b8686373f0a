# SPDX-License-Identifier: Apache-2.0
"""`compile` with the arguments of Torch-TensorRT, so that scripts change one
import. Each argument is followed, or refused with a message that says what to
do; none is passed over."""
import os

import torch

from .. import _compile, _engine, _inputs
from .._errors import InvalidArgumentError, UnsupportedError
from .ptq import CacheCalibrator, DataLoaderCalibrator


class Input(_inputs.Input):
    """As torch_tensorrt.Input: a shape, or three, and a dtype."""
    __slots__ = ()

    def __init__(self, shape=None, *, min_shape=None, opt_shape=None,
                 max_shape=None, dtype=torch.float32, format=None,
                 tensor_domain=None, name=None, torch_tensor=None):
        if format not in (None, torch.contiguous_format):
            raise UnsupportedError("Input(format=...): engines take contiguous "
                                   "tensors")
        for given, what in ((tensor_domain, "tensor_domain"), (name, "name")):
            if given not in (None, ""):
                raise UnsupportedError(f"Input({what}=...) is not supported")
        if torch_tensor is not None:
            shape, dtype = tuple(torch_tensor.shape), torch_tensor.dtype
        ranges = (min_shape, opt_shape, max_shape)
        if shape is None and None in ranges:
            raise InvalidArgumentError("Input needs a shape, or min_shape, "
                                       "opt_shape and max_shape")
        if shape is not None and ranges != (None, None, None):
            raise InvalidArgumentError("Input takes a shape or a range, not "
                                       "both")
        if shape is not None:
            super().__init__(shape, dtype=dtype)
        else:
            super().__init__(min_shape, opt_shape, max_shape, dtype)


class Device:
    """As torch_tensorrt.Device: where engines run."""

    def __init__(self, spec=None, *, gpu_id=0, dla_core=-1,
                 allow_gpu_fallback=False):
        if dla_core not in (-1, None) or allow_gpu_fallback:
            raise UnsupportedError("Device: there is no DLA")
        kind, _, index = str(spec or "cuda").partition(":")
        self.kind = "cuda" if kind == "gpu" else kind
        self.gpu_id = int(index or gpu_id)


class EngineModule(torch.nn.Module):
    """An engine as a module of PyTorch. `engine` is the bessemer.Engine."""

    def __init__(self, engine):
        super().__init__()
        self.engine = engine

    def forward(self, *args, **kwargs):
        return self.engine(*args, **kwargs)


# Arguments that say what holds for every engine, or that only one value of is
# true here: the values that are taken, and what to do instead of others.
_ONLY = {
    "assume_dynamic_shape_support": ((False, True), ""),
    "sparse_weights": ((False,), "no kernel makes use of sparsity"),
    "engine_capability": ((None, "standard"), "engines have one kind"),
    "make_refittable": ((False, True), ""),  # module.engine.refit(model, ...)
    "refit": ((False, True), ""),
    "immutable_weights": ((True,), "an engine keeps its weights: "
                          "Engine.refit makes another"),
    "refit_identical_engine_weights": ((False,), "an engine keeps its weights: "
                                       "Engine.refit makes another"),
    "strip_engine_weights": ((False,), "an engine holds its weights"),
    "enable_weight_streaming": ((False,), "weights stay in memory"),
    "debug": ((False, None), "set the level of the logger \"bessemer\""),
    "num_avg_timing_iters": ((1,), "how often tactics are timed is fixed"),
    "workspace_size": ((0,), "it is as large as the plan needs: "
                       "Engine.memory"),
    "dla_sram_size": ((1048576,), "there is no DLA"),
    "dla_local_dram_size": ((1073741824,), "there is no DLA"),
    "dla_global_dram_size": ((536870912,), "there is no DLA"),
    "max_aux_streams": ((None, 0), "an engine works in one stream"),
    "version_compatible": ((False,), "engines run in every later version of "
                           "the same major format"),
    "optimization_level": ((None,), "timing=False is the quick way of "
                           "bessemer.compile"),
    "use_python_runtime": ((False, None), "engines run in C"),
    "use_fast_partitioner": ((True,), "there is one partitioner"),
    "enable_experimental_decompositions": ((False,), "there are none"),
    "dryrun": ((False,), "use bessemer.check_support"),
    "hardware_compatible": ((False,), "give the machine as target to "
                            "bessemer.compile"),
    "lazy_engine_init": ((False,), "engines are loaded at once"),
    "cache_built_engines": ((False,), "save the engine"),
    "reuse_cached_engines": ((False,), "save the engine"),
    "engine_cache_dir": ((None,), "save the engine"),
    "engine_cache_size": ((None,), "save the engine"),
    "custom_engine_cache": ((None,), "save the engine"),
    "use_explicit_typing": ((False,), "give enabled_precisions"),
    "use_fp32_acc": ((False, True), ""),  # sums are always of float32
    "enable_cross_compile_for_windows": ((False,), "engines run on Linux"),
    "tiling_optimization_level": (("none", None), "tiles are chosen by "
                                  "timing"),
    "l2_limit_for_tiling": ((-1,), "tiles are chosen by timing"),
    "offload_module_to_cpu": ((False,), "the model stays where it is"),
    "use_distributed_mode_trace": ((False,), "an engine runs on one device"),
    "allow_shape_tensors": ((False, True), ""),
}


def _check_only(name, value):
    if name not in _ONLY:
        raise TypeError(f"compile() has no argument {name!r}")
    taken, instead = _ONLY[name]
    plain = getattr(value, "name", value)
    plain = plain.lower() if isinstance(plain, str) else plain
    if not any(plain is one or plain == one for one in taken):
        raise UnsupportedError(
            f"compile({name}={value!r}) is not supported: {instead}")


def _operator(value):
    """The name of an operator that is given as Torch-TensorRT takes it."""
    if isinstance(value, str) and "::" in value:
        return value
    text = str(value)
    text = text[len("torch.ops."):] if text.startswith("torch.ops.") else text
    namespace, _, name = text.partition(".")
    if not name:
        raise InvalidArgumentError(f"{value!r} is no operator, such as "
                                   "\"aten::add\"")
    return f"{namespace}::{name}"


def _module_name(value):
    return value if isinstance(value, str) else (
        f"{value.__module__}.{value.__qualname__}")


def _target(device):
    """The target of a device; None: that of the model."""
    if device is None:
        return None
    if not isinstance(device, Device):
        device = Device(str(device))
    if device.gpu_id:
        raise UnsupportedError("compile(device=...): engines are compiled for "
                               "the first GPU; bessemer.load takes the index "
                               "of the one to run on")
    return device.kind


def _tf32(disable_tf32, target):
    """TensorFloat-32 is used where it is asked for."""
    return disable_tf32 is False and (target or "").startswith("cuda")


def _target_of(module):
    tensors = list(getattr(module, "parameters", list)())
    on_device = any(value.device.type == "cuda" for value in tensors)
    return "cuda" if on_device else None


def compile(module, ir="default", inputs=None, *, arg_inputs=None,
            kwarg_inputs=None, enabled_precisions=None, device=None,
            disable_tf32=None, truncate_long_and_double=False,
            truncate_double=False, require_full_compilation=False,
            min_block_size=None, torch_executed_ops=(),
            torch_executed_modules=(), pass_through_build_failures=False,
            timing_cache_path=None, calibrator=None, **others):
    """Compiles a module as torch_tensorrt.compile does; returns a module.

    ir                          "default", "dynamo": by torch.export, or else
                                TorchScript; "ts": TorchScript;
                                "torch_compile": torch.compile with the backend
    inputs, arg_inputs          Inputs or examples for the arguments
    kwarg_inputs                the same by name
    enabled_precisions          {torch.float32, torch.half, torch.bfloat16, ...}
    device                      "cpu", "cuda", a torch.device or a Device; None:
                                where the module's weights are
    disable_tf32                False: GPUs may use TensorFloat-32
    truncate_long_and_double    compute in int32 and float32
    require_full_compilation    raise rather than leave operators to the
                                reference library, or regions to PyTorch
    min_block_size              least operators of a part that is compiled
    torch_executed_ops          operators left to the reference library
    torch_executed_modules      submodules left to it
    pass_through_build_failures raise when a region does not compile
    timing_cache_path           a file to keep timings in
    calibrator                  of `ptq`, for enabled_precisions with torch.int8

    All other arguments of Torch-TensorRT are taken with the value that holds
    here, and refused with any other.
    """
    for name, value in others.items():
        _check_only(name, value)
    if inputs is not None and arg_inputs is not None:
        raise InvalidArgumentError("compile() takes inputs or arg_inputs, "
                                   "which are the same")
    target = _target(device) or _target_of(module)
    precisions = [str(value) for value in (enabled_precisions or ())]
    precisions = [name[6:] if name.startswith("torch.") else
                  name.rpartition(".")[2] for name in precisions]
    if _tf32(disable_tf32, target):
        precisions.append("tf32")
    options = dict(
        precision=precisions or None, target=target,
        truncate_long_and_double=truncate_long_and_double or truncate_double,
        fallback_ops=[_operator(value) for value in torch_executed_ops],
        timing_cache=timing_cache_path)
    _check_calibrator(calibrator, precisions, ir)
    if ir == "torch_compile":
        return _by_torch_compile(module, options, inputs or arg_inputs,
                                 torch_executed_modules,
                                 require_full_compilation
                                 or pass_through_build_failures,
                                 min_block_size)
    frontends = {"default": "auto", "dynamo": "auto", "ts": "script",
                 "torchscript": "script"}
    if ir not in frontends:
        raise UnsupportedError(f"compile(ir={ir!r}) is not supported: there "
                               "are default, dynamo, ts, torch_compile")
    inputs = inputs if inputs is not None else arg_inputs
    if calibrator is not None:
        options["calibration"] = calibrator.calibration(
            module, inputs, kwarg_inputs, frontends[ir])
    engine = _compile.compile(
        module, inputs=inputs, kwarg_inputs=kwarg_inputs,
        frontend=frontends[ir],
        require_full_compilation=require_full_compilation,
        fallback_modules=[_module_name(m) for m in torch_executed_modules],
        min_block_size=min_block_size or 0, **options)
    return EngineModule(engine)


def _check_calibrator(calibrator, precisions, ir):
    if calibrator is None:
        return
    if not isinstance(calibrator, (DataLoaderCalibrator, CacheCalibrator)):
        raise InvalidArgumentError("compile(calibrator=...) takes one of "
                                   "bessemer.torch.ptq")
    if "int8" not in precisions:
        raise InvalidArgumentError("compile(calibrator=...) is for "
                                   "enabled_precisions with torch.int8")
    if ir == "torch_compile":
        raise UnsupportedError("compile(ir=\"torch_compile\", "
                               "calibrator=...): regions are not calibrated")


def _by_torch_compile(module, options, inputs, modules, full, min_block_size):
    if inputs is not None:
        raise UnsupportedError("compile(ir=\"torch_compile\", inputs=...): "
                               "regions are compiled when they are called")
    if modules:
        raise UnsupportedError("compile(ir=\"torch_compile\", "
                               "torch_executed_modules=...): use "
                               "torch.compiler.disable on them")
    if options["target"] is None:
        del options["target"]
    options["require_full_compilation"] = bool(full)
    if min_block_size is not None:
        options["min_block_size"] = min_block_size
    return torch.compile(module, backend="bessemer", options=options)


def save(module, path):
    """Saves what `compile` returned as an engine file."""
    if not isinstance(module, EngineModule):
        raise InvalidArgumentError(f"a {type(module).__name__} has no engine "
                                   "to save")
    module.engine.save(os.fspath(path))


def load(path, **options):
    """Loads an engine file as a module; `options` as bessemer.load's."""
    return EngineModule(_engine.load(path, **options))
