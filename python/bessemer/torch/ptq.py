# SPDX-License-Identifier: Apache-2.0
"""Calibrators with the names and arguments of torch_tensorrt.ptq. They say how
to calibrate; `compile(..., enabled_precisions={torch.int8}, calibrator=...)`
does it."""
import enum
import itertools
import os

from .. import _calibrate, _inputs
from .._errors import InvalidArgumentError

__all__ = ["CacheCalibrator", "CalibrationAlgo", "DataLoaderCalibrator"]


class CalibrationAlgo(enum.Enum):
    """How ranges follow from values, by TensorRT's names."""
    ENTROPY_CALIBRATION = "entropy"
    ENTROPY_CALIBRATION_2 = "entropy-2"
    LEGACY_CALIBRATION = "percentile"
    MINMAX_CALIBRATION = "min-max"

    @property
    def calibrator(self):
        """The name that `bessemer.calibrate` has for it."""
        return "entropy" if self.value == "entropy-2" else self.value


def _algorithm(value):
    if isinstance(value, CalibrationAlgo):
        return value
    raise InvalidArgumentError(f"algo_type={value!r} is no CalibrationAlgo")


def _full_batches(loader, count):
    """The first `count` arrays of every batch, as labels may follow. The end of
    the data may be too little for a batch, and is left out."""
    rows = None
    for batch in loader:
        arrays = batch if isinstance(batch, (list, tuple)) else [batch]
        size = arrays[0].shape[0] if arrays[0].ndim else 1
        rows = size if rows is None else rows
        if size < rows:
            return
        yield list(arrays[:count])


def _is_given(value):
    """Whether an argument is given when the engine runs."""
    return isinstance(value, _inputs.Input) or _inputs.is_tensor(value)


def _in_shapes_of(arrays, arguments):
    """Positional and named arguments, those that are tensors in the shapes of a
    batch, which may have more rows than the engine will take."""
    positional, named = arguments
    shapes = iter([_inputs.as_input(array) for array in arrays])

    def fixed(value):
        return next(shapes, value) if _is_given(value) else value
    return ([fixed(value) for value in positional],
            {name: fixed(value) for name, value in named.items()})


class DataLoaderCalibrator:
    """Calibrates on the batches of a DataLoader, or of anything that gives
    batches.

    dataloader   gives a tensor, or a list whose first ones are the inputs
    cache_file   the calibration is written there
    use_cache    read that file, of Bessemer or of TensorRT, and no data
    algo_type    a CalibrationAlgo
    device       is that of the calibration's runs, which are on the CPU
    """

    def __init__(self, dataloader, cache_file="", use_cache=False,
                 algo_type=CalibrationAlgo.ENTROPY_CALIBRATION_2, device=None):
        if use_cache and not cache_file:
            raise InvalidArgumentError("use_cache needs a cache_file")
        self._loader = dataloader
        self._file = os.fspath(cache_file or "")
        self._use_cache = use_cache
        self._algorithm = _algorithm(algo_type)
        self.device = device

    def calibration(self, module, inputs, kwarg_inputs, frontend):
        """The Calibration of a module."""
        if self._use_cache:
            return _calibrate.load_calibration(self._file)
        arguments = _inputs.split(inputs, kwarg_inputs) or ((), {})
        values = [*arguments[0], *arguments[1].values()]
        batches = _full_batches(self._loader, sum(map(_is_given, values)))
        first = next(batches, None)
        if not first:
            raise InvalidArgumentError("the calibrator's data has no batch, or "
                                       "compile() was given no inputs")
        positional, named = _in_shapes_of(first, arguments)
        made = _calibrate.calibrate(
            module, itertools.chain([first], batches), positional,
            kwarg_inputs=named, frontend=frontend,
            calibrator=self._algorithm.calibrator)
        if self._file:
            made.save(self._file)
        return made


class CacheCalibrator:
    """Takes the ranges of a calibration file, of Bessemer or of TensorRT. The
    file knows how they were found; `algo_type` is checked, and not used."""

    def __init__(self, cache_file,
                 algo_type=CalibrationAlgo.ENTROPY_CALIBRATION_2):
        _algorithm(algo_type)
        self._file = os.fspath(cache_file)

    def calibration(self, module, inputs, kwarg_inputs, frontend):
        """The Calibration of the file."""
        del module, inputs, kwarg_inputs, frontend
        return _calibrate.load_calibration(self._file)
