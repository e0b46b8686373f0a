# SPDX-License-Identifier: Apache-2.0
"""Bessemer turns PyTorch models into standalone inference engines.

    import bessemer

    engine = bessemer.compile(model, inputs=[bessemer.Input((1, 3, 224, 224))])
    result = engine(x)              # x: NumPy, PyTorch, anything with DLPack
    engine.save("model.bsm")

    engine = bessemer.load("model.bsm")

`compile` takes the path or the bytes of a TorchScript archive or of a program of
torch.export, a ScriptModule, an ExportedProgram, or an nn.Module. PyTorch is
needed for the last three alone; engines run without it.

`bessemer.torch` has what belongs into programs of PyTorch: the backend of
torch.compile, and a `compile` with the arguments of Torch-TensorRT.

Messages go to the logger "bessemer" of `logging`. Failures are exceptions,
`bessemer.Error`, with one class for each kind.
"""
from ._errors import (CancelledError, CorruptError, DataDependentError, DeviceError, Error,
                      InternalError, InvalidArgumentError, IoError, LimitError,
                      NotFoundError, OutOfMemoryError, OutOfRangeError,
                      RaisedError, UnsupportedError, UntrustedError,
                      VersionError)
from . import _arrays  # noqa: F401  (sets up what reads arrays)
from ._core import target_names as targets, target_text, version as _version
from ._calibrate import (CalibratedLayer, CalibratedRange, Calibration,
                         calibrate, load_calibration)
from ._compile import Operator, Support, check_support, compile
from ._diff import Difference, Differences, diff, record
from ._engine import (Binding, Engine, Memory, Profile, Step, Tensor, load,
                      public_key)
from ._inputs import DEFAULT, Constant, Input
from ._log import logger

__version__ = _version()

__all__ = [
    "Binding", "CalibratedLayer", "CalibratedRange", "Calibration",
    "CancelledError", "Constant", "CorruptError", "DEFAULT",
    "DataDependentError", "DeviceError", "Difference", "Differences",
    "Engine", "Error", "Input", "InternalError", "InvalidArgumentError",
    "IoError", "LimitError", "Memory", "NotFoundError", "Operator",
    "OutOfMemoryError", "OutOfRangeError", "Profile", "RaisedError", "Step",
    "Support", "Tensor", "UnsupportedError", "UntrustedError",
    "VersionError", "calibrate", "check_support", "compile", "diff", "load",
    "load_calibration", "logger", "public_key", "record", "target_text",
    "targets",
]
